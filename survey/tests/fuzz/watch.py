"""Children that run the cases, watched: crashes, hangs, and where to go on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from fuzz import case as cases
from fuzz import judge

HOME = Path(__file__).resolve().parent


@dataclass
class Failure:
    """All failures of one signature: how many, and the shortest."""

    number: int
    what: str
    source: str
    times: int = 1
    alone: str = ""


@dataclass
class Watch:
    """What a run is, and what it found."""

    seed: str
    limit: float = 20.0
    """Seconds of processor time that one call may take; thrice as many may pass."""
    until: float = float("inf")
    last: int = sys.maxsize
    found: dict[str, Failure] = field(default_factory=dict)
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, children: int) -> None:
        """Run all cases, each child every so manieth one."""
        with ThreadPoolExecutor(children) as pool:
            list(pool.map(self._follow, range(children), repeat(children)))

    def _follow(self, first: int, step: int) -> None:
        """One child after the other: a new one goes on behind a case that ended the last."""
        while first < self.last and time.monotonic() < self.until:
            reached = self._child(first, step, self.last)
            if reached is None:
                return
            first = reached + step

    def command(self, pipe: int, home: str, first: int, step: int, last: int) -> list[str]:
        """What a child is: it tells the pipe what it does, and writes into ``home``."""
        return [
            *(sys.executable, "-X", "utf8", str(HOME), "--child", str(pipe), "--home", home),
            *("--seed", self.seed, "--range", str(first), str(step), str(last)),
        ]

    def _child(self, first: int, step: int, last: int) -> int | None:
        """The case that ended the child before its time; None where it got to the end."""
        read, write = os.pipe()
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory(prefix="fuzz") as home:
            child = subprocess.Popen(
                self.command(write, home, first, step, last),
                pass_fds=[write],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
            os.close(write)
            at, doing, done = first, "start", False
            try:
                for message in self._messages(read, child.pid):
                    if "case" in message:
                        at, doing = int(message["case"]), "call"
                        self.count += 1
                    elif "law" in message:
                        doing = f"law {message['law']}"
                    elif "wrong" in message:
                        self._note(at, message["wrong"])
                    elif "hang" in message:
                        self._note(at, f"hang in {doing}")
                        child.kill()
                        break
                    elif "done" in message or "stop" in message:
                        done = True
                        break
            finally:
                os.close(read)
                end = self._end(child)
            if done:
                return None
            if end not in (0, -signal.SIGKILL):
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip()
                name = signal.Signals(-end).name if end < 0 else f"exit code {end}"
                self._note(at, f"crash in {doing}: {name}; {_last_words(said)}")
            return at

    def _end(self, child: subprocess.Popen[bytes]) -> int:
        """The exit code of a child, which is ended if it does not end by itself."""
        try:
            return child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()

    def _messages(self, read: int, pid: int) -> Iterator[dict[str, str]]:
        """What the child tells, and `hang` where it takes too long or `stop` where time is up."""
        rest = b""
        since, spent = time.monotonic(), _processor_time(pid)
        while True:
            ready, _, _ = select.select([read], [], [], 0.5)
            now = time.monotonic()
            if not ready:
                if self._hangs(now - since, _processor_time(pid), spent):
                    yield {"hang": "yes"}
                    return
                continue
            data = os.read(read, 1 << 16)
            if not data:
                return
            since, spent = now, _processor_time(pid)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield json.loads(line)
            if now > self.until:
                yield {"stop": "yes"}
                return

    def _hangs(self, passed: float, now: float | None, before: float | None) -> bool:
        """Whether a call takes too long: by its own time, since others share the machine."""
        if passed < self.limit:
            return False
        if now is None or before is None:
            return passed > self.limit
        return now - before > self.limit or passed > 3 * self.limit

    def _note(self, number: int, what: str) -> None:
        case = cases.make(self.seed, number)
        key = judge.signature(case, what)
        with self.lock:
            known = self.found.get(key)
            if known is None:
                self.found[key] = Failure(number, what, case.source)
                return
            known.times += 1
            if len(case.source) < len(known.source):
                known.number, known.what, known.source = number, what, case.source

    def again(self, most: int = 20) -> None:
        """Run what failed once more, alone, to say whether it depends on what came before."""
        for failure in list(self.found.values())[:most]:
            alone = Watch(self.seed, self.limit)
            alone._child(failure.number, 1, failure.number + 1)
            failure.alone = "fails alone" if alone.found else "does not fail alone"


def report(watch: Watch) -> str:
    """Every failure once, those that happened most often first, in words that can be typed."""
    said = []
    for signature, failure in sorted(watch.found.items(), key=lambda item: -item[1].times):
        alone = f", {failure.alone}" if failure.alone else ""
        lines = [
            f"{signature.split(': ')[0]}: {failure.what}",
            f"  {failure.times} times{alone}",
            f"  python survey/tests/fuzz --seed {watch.seed} --case {failure.number}",
            *(f"    {line[:1000]}" for line in failure.source.splitlines()),
        ]
        said.append("\n".join(lines))
    return "\n\n".join(said)


def _processor_time(pid: int) -> float | None:
    """Seconds of processor time that a process has used, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def _last_words(said: str) -> str:
    """The line of a crash that tells most."""
    lines = [line for line in said.splitlines() if line.strip()]
    for line in lines:
        if any(word in line for word in ("allocation", "panicked", "overflow", "Fatal", "Error")):
            return line[:200]
    return lines[-1][:200] if lines else "nothing said"
