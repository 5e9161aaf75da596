"""What every bench needs: the fastest of several runs, and peers in an environment of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = Path(sys.prefix) / "peers"


def best(call: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def peer(needs: list[str], script: str, *arguments: str) -> tuple[Any, str]:
    """What a script prints in the peers' environment, as JSON; or None, and why it was left out."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "numpy", *needs]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode == 0:
        done = subprocess.run(
            [str(python), "-c", script, *arguments], capture_output=True, text=True
        )
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1][:150]
    return json.loads(done.stdout.splitlines()[-1]), ""
