"""Keys: secret, written once, never shown."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

loose: Any = bs.Key
COUNTING = bytes(range(32))


def test_a_key_shows_its_fingerprint_and_nothing_else() -> None:
    key = bs.Key.from_bytes(COUNTING)
    assert key.fingerprint == "20aef655876fef61"
    for text in (repr(key), str(key), f"{key}", f"{[key]}"):
        assert "20aef655876fef61" in text
        assert COUNTING.hex()[:8] not in text
    assert not [name for name in dir(key) if "byte" in name and name != "from_bytes"]
    assert logging.makeLogRecord({"msg": key}).getMessage() == repr(key)


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_not_pickled_or_copied(use: Any) -> None:
    with pytest.raises(TypeError, match="`key` must be passed as a file"):
        use(bs.Key.generate())


def test_keys_are_equal_where_their_bytes_are() -> None:
    assert bs.Key.from_bytes(COUNTING) == bs.Key.from_bytes(bytearray(COUNTING))
    assert bs.Key.from_bytes(COUNTING) == bs.Key.from_bytes(memoryview(COUNTING))
    assert bs.Key.generate() != bs.Key.generate()
    assert bs.Key.insecure(1) == bs.Key.insecure(1) != bs.Key.insecure(2)
    assert bs.Key.from_bytes(COUNTING) != COUNTING
    with pytest.raises(TypeError, match="unhashable"):
        hash(bs.Key.generate())


def test_a_key_goes_to_a_new_file_and_back(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    bs.Key.from_bytes(COUNTING).to_file(path)
    assert path.read_text() == COUNTING.hex() + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert bs.Key.from_file(str(path)) == bs.Key.from_bytes(COUNTING)
    with pytest.raises(FileExistsError, match="`path` must be a new file"):
        bs.Key.generate().to_file(path)
    assert path.read_text() == COUNTING.hex() + "\n"
    for written in (COUNTING.hex().encode(), COUNTING.hex().upper().encode() + b"\r\n"):
        path.write_bytes(written)
        assert bs.Key.from_file(path) == bs.Key.from_bytes(COUNTING)


def test_raw_bytes_are_a_key_only_when_said_so(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    bs.Key.generate().to_file(path)
    digits = path.read_bytes()
    with pytest.raises(
        ValueError, match="hold 32 raw bytes; got 64 hexadecimal digits, which raw="
    ):
        bs.Key.from_file(path, raw=True)
    for sentence in (COUNTING, b"any 32 bytes of text would do..."):
        path.write_bytes(sentence)
        with pytest.raises(ValueError, match=r"`path` must hold 64 hex.*; got 32 bytes, .*raw=T"):
            bs.Key.from_file(path)
        assert bs.Key.from_file(path, raw=True) == bs.Key.from_bytes(sentence)
    for bad, got in (
        (COUNTING[:31], "31 bytes"),
        (b"", "0 bytes"),
        (digits + b"\n", "66 bytes"),
        (bytes(4096), "more than 127 bytes"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=f"`path` must hold 32 raw bytes; got {got}"):
            bs.Key.from_file(path, raw=True)
        with pytest.raises(ValueError, match=f"`path` must hold 64 hexadecimal digits; got {got}"):
            bs.Key.from_file(path)
    path.write_bytes(digits[:7] + b"g" + digits[8:])
    with pytest.raises(ValueError, match="got a character that is none at position 7"):
        bs.Key.from_file(path)


@pytest.mark.skipif(os.name != "posix", reason="no modes on this platform")
def test_a_file_that_others_can_read_gives_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    key = bs.Key.generate()
    key.to_file(path)
    for mode in (0o640, 0o604, 0o620, 0o644):
        path.chmod(mode)
        with pytest.warns(UserWarning, match="can be read by others than its owner") as caught:
            assert bs.Key.from_file(path) == key
        # Where it was asked for.
        assert caught[0].filename == __file__
    path.chmod(0o600)
    assert bs.Key.from_file(path) == key


# A child that uses a key from a file in every way, says so, and waits to be looked into.
_CHILD = """
import sys
import numpy as np
import bistochastic as bs

marker = bytes(range(231, 199, -1))
key = bs.Key.from_file(sys.argv[1])
m = bs.randomized_response(12, beta=0.6)
codes = np.arange(200_000) % 12
few = codes[:2000]
ids = [f"person {i}" for i in range(2000)]
m.randomize(codes, key=key, stream="income", start=0, threads=1)
m.randomize(codes, key=key, stream="income", ids=np.arange(200_000), threads=1)
m.randomize(few, key=key, stream="income", ids=ids, threads=1)
m.randomize(few, key=key, stream="income", ids=[i.encode() for i in ids], threads=1)
for id in (7, "person 7", b"person 7"):
    m.respond(3, key=key, stream="income", id=id)
m.sample_permutation(key=key, stream="income")
assert key == bs.Key.from_file(sys.argv[1])
key.fingerprint
del key
print("ready", flush=True)
sys.stdin.read()
"""


def _memory(pid: int) -> bytes:
    """All that a process can write to, but for the stack of its first thread."""
    parts = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, mode, *_ = line.split()
            if not mode.startswith("rw") or line.endswith("[stack]"):
                continue
            start, end = (int(edge, 16) for edge in where.split("-"))
            memory.seek(start)
            try:
                parts.append(memory.read(end - start))
            except OSError:
                continue
    return b"".join(parts)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no look into a process here")
def test_keys_leave_no_trace_on_the_heap(tmp_path: Path) -> None:
    from protocol import derive, response_digest

    path = tmp_path / "key"
    secret = np.random.default_rng(11).bytes(32)
    path.touch(mode=0o600)
    path.write_text(secret.hex())
    m = bs.randomized_response(12, beta=0.6)
    labels, digest = ["stream", "income"], response_digest(m.size, m.parameters["keep"])
    purposes = ["words", "more", "id integer", "id text", "id bytes"]
    derived = {
        purpose: derive(secret, f"randomize {purpose}", labels, [], digest) for purpose in purposes
    }
    derived["permutation"] = derive(secret, "permutation", labels, [], digest)
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        try:
            seen = _memory(child.pid)
        except PermissionError:
            child.stdin.close()
            pytest.skip("this process may not look into its child")
        child.stdin.close()
    # Half of a key is enough to be seen; its words in memory are its bytes. What is there is found.
    secrets = {"the key itself": secret, **derived, "the marker": bytes(range(231, 199, -1))}
    found = [
        name
        for name, whole in secrets.items()
        if any(half in seen for half in (whole[:16], whole[16:]))
    ]
    assert found == ["the marker"]


def test_insecure_keys_say_so_and_stay_out_of_files(tmp_path: Path) -> None:
    assert bs.Key.insecure(0).fingerprint == "insecure"
    with pytest.raises(ValueError, match="`key` must be a secret to be written"):
        bs.Key.insecure(0).to_file(tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_what_is_no_key_is_refused_without_being_quoted(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for bad in (b"", b"secret", b"0" * 65, b"g" * 64 + b"\n", b"0" * 1000):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"`path` must hold 64 hexadecimal digits") as error:
            bs.Key.from_file(path)
        assert "secret" not in str(error.value)
    with pytest.raises(FileNotFoundError):
        bs.Key.from_file(tmp_path / "none")
    with pytest.raises(ValueError, match="`key` must hold 32 bytes; got 31 bytes"):
        bs.Key.from_bytes(COUNTING[:31])
    for bad_type in ("0" * 32, 7, None, [0] * 32):
        with pytest.raises(TypeError, match="`key` must be 32 bytes"):
            loose.from_bytes(bad_type)
    for bad_seed, error_type in ((-1, ValueError), (2**64, ValueError), (1.5, TypeError)):
        with pytest.raises(error_type, match="`seed` must be an integer"):
            loose.insecure(bad_seed)
    with pytest.raises(TypeError, match="`seed`"):
        loose.insecure(True)


@pytest.mark.parametrize("bad", [1, True, np.int64(1), 2.0, b"a", None, "a\ud800", "a\0b"])
def test_what_is_no_path_is_one_sentence(bad: Any) -> None:
    # A whole number would be an open file of the process.
    found: Any = bs.uniform(3).decompose()
    for call in (loose.from_file, bs.Key.generate().to_file, found.to_npz):
        with pytest.raises((TypeError, ValueError), match="`path` must be the path of a file; got"):
            call(bad)


def test_a_variable_holds_digits_or_a_path_that_may_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = bs.Key.from_bytes(COUNTING)
    key.to_file(tmp_path / "own.key")
    monkeypatch.chdir(tmp_path)
    # What a file of a key holds, digits and a newline, is what a secret made of it holds.
    text = (tmp_path / "own.key").read_text()
    for value in (text, text.strip().upper(), "own.key", f"{tmp_path / 'own.key'}\n"):
        monkeypatch.setenv("OWN_KEY", value)
        assert bs.KeySource.env("OWN_KEY").read() == key
    assert bs.KeySource.file("own.key").place == str(tmp_path / "own.key")
    monkeypatch.setenv("OWN_KEY", "other.key")
    must = "`key` must be in the variable OWN_KEY, as 64 hexadecimal digits or a path; got"
    with pytest.raises(FileNotFoundError, match=f"{must} the path of no file.* from {tmp_path}$"):
        bs.KeySource.env("OWN_KEY")
    for wrong in (text[:63], text.strip() + "00", ""):
        monkeypatch.setenv("OWN_KEY", wrong)
        with pytest.raises(FileNotFoundError, match=f"{must} {len(wrong)} hexadecimal digits$"):
            bs.KeySource.env("OWN_KEY")
    monkeypatch.delenv("OWN_KEY")
    with pytest.raises(ValueError, match="64 hexadecimal digits or a path; got no such variable"):
        bs.KeySource.env("OWN_KEY")
