"""Keys: secret, written once, never shown."""

from __future__ import annotations

import copy
import logging
import pickle
import stat
from pathlib import Path
from typing import Any

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
    for written in (COUNTING, COUNTING.hex().encode(), COUNTING.hex().upper().encode() + b"\r\n"):
        path.write_bytes(written)
        assert bs.Key.from_file(path) == bs.Key.from_bytes(COUNTING)


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
        with pytest.raises(error_type, match="`seed` must be a whole number"):
            loose.insecure(bad_seed)
    with pytest.raises(TypeError, match="`seed`"):
        loose.insecure(True)


def test_a_key_is_made_by_its_functions_only() -> None:
    with pytest.raises(TypeError):
        loose()
