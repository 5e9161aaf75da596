"""Ratios against the best alternative, in one run on one machine: ``make bench``.

Machines are noisy, so what counts is the ratio, and of several repetitions the best.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import bistochastic as bs

REPEATS = 5


def best(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def row(what: str, ours: float, other: str, theirs: float, want: str) -> None:
    ratio = theirs / ours
    print(f"{what:<58} {1e3 * ours:10.3f} ms  {other:<26} {1e3 * theirs:10.3f} ms  "
          f"x {ratio:8.1f}  (wanted: {want})")  # fmt: skip


def limit(what: str, ours: float, milliseconds: float) -> None:
    print(f"{what:<58} {1e3 * ours:10.3f} ms  limit {milliseconds:g} ms")


def measure(matrix: bs.Matrix) -> tuple[float, float]:
    return matrix.beta, matrix.epsilon


def large_matrices() -> None:
    n = 10**7
    first_row = np.random.default_rng(0).random(n)
    first_row /= first_row.sum()
    build: dict[str, tuple[Callable[[], bs.Matrix], float]] = {
        "randomized_response(beta=0.6)": (lambda: bs.randomized_response(n, beta=0.6), 50),
        "uniform": (lambda: bs.uniform(n), 50),
        "k_anonymous(k=5)": (lambda: bs.k_anonymous(n, k=5), 200),
        "circulant": (lambda: bs.circulant(first_row), 500),
    }
    for name, (make, milliseconds) in build.items():
        limit(f"{name} at 10^7: build, beta, epsilon",
              best(lambda make=make: measure(make())), milliseconds)  # type: ignore[misc]  # fmt: skip


def plain_entropy() -> None:
    r = 4096
    p = np.random.default_rng(0).random((r, r))
    for _ in range(100):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    ours = best(lambda: bs.entropy_rate(p))
    numpy = best(lambda: -(p * np.log2(p)).sum() / r)
    row(
        "bs.entropy_rate of 4096 x 4096",
        ours,
        "-(P*np.log2(P)).sum()/r",
        numpy,
        "2.5 AVX2, 4 AVX-512",
    )
    row(
        "  the same against reading it once", ours, "P.sum()", best(lambda: p.sum()), "the limit, 1"
    )


def import_time() -> None:
    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 15)

    extra = run("import numpy, bistochastic") - run("import numpy")
    limit("import bistochastic beyond import numpy", extra, 30)


def memory() -> None:
    tracemalloc.start()
    bs.randomized_response(10**7, beta=0.6).epsilon  # noqa: B018
    print(f"{'randomized_response at 10^7: Python heap at its peak':<58} "
          f"{tracemalloc.get_traced_memory()[1]:10,d} bytes")  # fmt: skip
    tracemalloc.stop()


def main() -> None:
    print(f"bistochastic on {platform.machine()}, {os.cpu_count()} cores, "
          f"Python {platform.python_version()}, numpy {np.__version__}\n")  # fmt: skip
    large_matrices()
    plain_entropy()
    import_time()
    memory()


if __name__ == "__main__":
    main()
