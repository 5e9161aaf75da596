"""What every bench needs: the fastest of several runs, peers in an environment of their own, pages.

What is published is stored as JSON in ``benches/stored``, and pages have tables written from there
between two comments, and a test compares them.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import bistochastic as bs

PEERS = Path(sys.prefix) / "peers"
ROOT = Path(__file__).parents[1]


def best(call: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def warn_if_busy() -> None:
    """Say so if other programs run: what is measured now is not worth publishing."""
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > 1:
        text = f"the load is {load:.1f}: if other programs run, measure again when they have ended"
        print(text, flush=True)


def in_peers(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the peers' environment."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    return subprocess.run([str(python), *words], capture_output=True, text=True)


@cache
def install(*needs: str) -> subprocess.CompletedProcess[str]:
    """Install peers, once."""
    return in_peers("-m", "pip", "install", "--quiet", "numpy", *needs)


def peer(needs: list[str], script: str, *arguments: str) -> tuple[Any, str]:
    """What a script prints in the peers' environment, as JSON; or None, and why it was left out."""
    done = install(*needs)
    if done.returncode == 0:
        done = in_peers("-c", script, *arguments)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1][:150]
    return json.loads(done.stdout.splitlines()[-1]), ""


def stamp(*peers: str) -> dict[str, str]:
    """Say when, where and with which versions was measured."""
    read = "import importlib.metadata as m, json, sys; "
    read += "print(json.dumps({x: m.version(x) for x in sys.argv[1:]}))"
    versions, _ = peer([], read, *peers) if peers else ({}, "")
    given = {"bistochastic": bs.__version__, "NumPy": np.__version__, **(versions or {})}
    info = Path("/proc/cpuinfo")
    name = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    where = f"{name[1].strip() if name else platform.machine()}, {os.cpu_count()} cores"
    when = datetime.date.today().strftime("%-d %B %Y")
    said = ", ".join(f"{package} {version}" for package, version in given.items())
    text = f"Measured on {when}: {where}; Python {platform.python_version()}, {said}."
    return {"measured": textwrap.fill(text, 120, break_on_hyphens=False)}


def digits(number: float) -> str:
    """Write a number in three digits."""
    return f"{float(f'{number:.3g}'):,.10g}"


def store(name: str, found: dict[str, Any]) -> None:
    """Keep what was measured."""
    path = ROOT / "benches" / "stored" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


def load(name: str) -> Any:
    """Read what was measured last."""
    return json.loads((ROOT / "benches" / "stored" / f"{name}.json").read_text())


def between(page: str, name: str, text: str) -> str:
    """Return a page with the text between the two comments of this name."""
    kept = (ROOT / page).read_text()
    marks = re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end of {name} -->)", flags=re.S)
    assert marks.search(kept), f"{page} has no comments for {name}"
    return marks.sub(lambda found: f"{found[1]}\n{text}\n\n{found[3]}", kept)


def write_between(page: str, name: str, text: str) -> None:
    """Write a text into a page, between the two comments of this name."""
    (ROOT / page).write_text(between(page, name, text))
