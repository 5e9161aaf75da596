"""What tests of engines share: the release of one machine, and where secrets and sockets are found.

Processes that engines start inherit a mark in their environment, so that those of others on the
same machine are neither looked at nor killed.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import bistochastic as bs
import bistochastic_survey as sv
from release.test_batch_function import people, plan

ROWS = 6000
LOCAL = "127.0.0.1"
LOCAL_6 = "0000:0000:0000:0000:0000:0000:0000:0001"
MARK = uuid.uuid4().hex
os.environ["ENGINE_MARK"] = MARK
# Spark asks for this one, and so do its workers.
os.environ["SPARK_LOCAL_IP"] = LOCAL
# Ray then takes the loopback address, as it does where clusters are not supported.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
# Workers find what tests send to them.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
)


def options_for(folder: Path) -> dict[str, Any]:
    """Options of a release under a new key in a file."""
    path = folder / "survey.key"
    bs.Key.generate().to_file(path)
    return {
        "key": bs.KeySource.file(path),
        "ids": sv.Wave("person", after="first", pseudonym="who"),
    }


def secret_of(options: dict[str, Any]) -> str:
    return Path(options["key"].place).read_text().strip()


def release_of(options: dict[str, Any], rows: int = ROWS) -> list[dict[str, Any]]:
    """What one machine gives, in the order of the pseudonyms."""
    given = {**options, "key": options["key"].read()}
    return rows_of(plan().protect(people(rows), **given).data)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: row["who"])


def found_in(folder: Path, secret: str) -> list[Path]:
    """Files that hold the secret, as text or as bytes."""
    forms = (secret.encode(), bytes.fromhex(secret))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(form in path.read_bytes() for form in forms)]


def in_processes(secret: str) -> list[str]:
    """Processes that have it in their command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            if secret.encode() in _held(folder / name):
                found.append(f"{folder.name} {name}")
    return found


def _held(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def own_processes() -> Iterator[tuple[int, bytes]]:
    """Processes that this one started, by the mark, with their command lines."""
    for folder in Path("/proc").glob("[0-9]*"):
        if MARK.encode() in _held(folder / "environ"):
            yield int(folder.name), _held(folder / "cmdline")


def kill(*words: bytes) -> list[int]:
    """Kill own processes whose command line has one of the words."""
    killed = []
    for pid, line in list(own_processes()):
        if pid != os.getpid() and any(word in line for word in words):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    return killed


def listeners() -> dict[str, list[str]]:
    """Addresses that this process and what it started listen on, with who does."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                sockets[f"socket:[{fields[9]}]"] = _address(fields[1].split(":")[0])
    found: dict[str, list[str]] = {}
    for pid, words in [*own_processes(), (os.getpid(), b"the test itself")]:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target in sockets:
                found.setdefault(sockets[target], []).append(words.decode(errors="replace")[:60])
    return found


def _address(digits: str) -> str:
    """An address of the kernel's tables: words of four bytes, each turned round."""
    words = [bytes.fromhex(digits[i : i + 8])[::-1] for i in range(0, len(digits), 8)]
    if words[:-1] in ([], [bytes(4), bytes(4), b"\0\0\xff\xff"]):
        return ".".join(map(str, words[-1]))
    return b"".join(words).hex(":", 2)


def assert_local() -> None:
    """Refuse sockets that another machine could reach."""
    found = listeners()
    assert found
    strangers = {k: v for k, v in found.items() if k not in (LOCAL, LOCAL_6)}
    assert not strangers, strangers
