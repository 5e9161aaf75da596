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
from functools import partial

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
from common import best


def line(what: str, ours: float, unit: str, rest: str) -> None:
    print(f"{what:<56} {ours:10.3f} {unit:<3} {rest}")


def row(what: str, ours: float, other: str, theirs: float, want: str) -> None:
    """Against an alternative: how many times faster."""
    rest = f"{other} {1e3 * theirs:.3f} ms: {theirs / ours:.1f} times faster (wanted: {want})"
    line(what, 1e3 * ours, "ms", rest)


def cost(what: str, ours: float, other: str, theirs: float, most: float, more: str = "") -> None:
    """Against a unit of work: how many times its cost."""
    rest = f"{other} {1e3 * theirs:.3f} ms: {ours / theirs:.1f} times it (wanted: at most {most:g})"
    line(what, 1e3 * ours, "ms", rest + more)


def limit(what: str, ours: float, milliseconds: float) -> None:
    line(what, 1e3 * ours, "ms", f"(wanted: at most {milliseconds:g})")


def measure(make: Callable[[], bs.Matrix]) -> tuple[float, float]:
    matrix = make()
    return matrix.beta, matrix.epsilon


def bistochastic_table(size: int) -> NDArray[np.float64]:
    p = np.random.default_rng(0).random((size, size))
    for _ in range(60):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return p


def large_matrices() -> None:
    n = 10**7
    first_row = np.random.default_rng(0).random(n)
    first_row /= first_row.sum()
    build: dict[str, tuple[Callable[[], bs.Matrix], float]] = {
        "randomized_response(beta=0.6)": (partial(bs.randomized_response, n, beta=0.6), 50),
        "uniform": (partial(bs.uniform, n), 50),
        "k_anonymous(k=5)": (partial(bs.k_anonymous, n, k=5), 200),
        "circulant": (partial(bs.circulant, first_row), 500),
    }
    for name, (make, milliseconds) in build.items():
        seconds = best(partial(measure, make))
        limit(f"{name} at 10^7: build, beta, epsilon", seconds, milliseconds)


def tables() -> None:
    p = bistochastic_table(4096)
    ours = best(lambda: bs.entropy_rate(p))
    numpy = best(lambda: -(p * np.log2(p)).sum() / len(p))
    want = "2.5 with AVX2, 4 with AVX-512"
    row("bs.entropy_rate of 4096 x 4096", ours, "-(P*np.log2(P)).sum()/r", numpy, want)
    cost("  the same against reading it once", ours, "P.sum()", best(lambda: p.sum()), 1)
    sums = best(lambda: (p.sum(axis=0), p.sum(axis=1)))
    cost("dense of 4096 x 4096", best(lambda: bs.dense(p), 3), "P.sum(0), P.sum(1)", sums, 150)
    line("  its peak memory beside the array", peak_of_dense(), "", "arrays (wanted: at most 3)")
    scale = np.arange(1000)
    costs = np.abs(np.subtract.outer(scale, scale)) / 10
    exp = best(lambda: np.exp(-costs))
    start = time.perf_counter()
    m = bs.gibbs(costs, beta=0.6)
    tried = m.requested["temperatures_tried"]
    each = (time.perf_counter() - start) / tried
    what = "gibbs 1000 x 1000, |u-v|, beta 0.6, a temperature"
    cost(what, each, "np.exp", exp, 50, f"; {tried:.0f} temperatures tried")


def peak_of_dense() -> float:
    """Resident memory that `dense` adds at its peak, in arrays, in a fresh process (Linux)."""
    code = """
import pathlib, re, numpy as np, bistochastic as bs
status = pathlib.Path("/proc/self/status")
peak = lambda: 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1])
r = 3000
p = np.full((r, r), 1 / r)
before = peak()
m = bs.dense(p)
print((peak() - before) / p.nbytes)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def ordinal_and_joint() -> None:
    make = partial(bs.geometric, 10**5, beta=0.6)
    limit("geometric at 10^5, beta 0.6: build, beta", best(lambda: make().beta), 300)
    kernel = np.random.default_rng(2).random(20_001)
    kernel /= 2 * kernel.sum() - kernel[0] - kernel[-1]
    seconds = best(lambda: bs.reflected(kernel).beta, 2)
    each = f"{1e9 * seconds / (20_000**2 / 4):.2f} ns for each of the r^2/4 terms"
    line("reflected at 2 * 10^4, general kernel: build, beta", 1e3 * seconds, "ms", each)
    factors = [bs.randomized_response(n, beta=0.6) for n in range(2, 12)]
    for factor in factors:
        measure(lambda factor=factor: factor)  # type: ignore[misc]

    def many(name: str) -> None:
        for _ in range(100):
            getattr(bs.kron(*factors), name)

    for name in ("entropy_rate", "epsilon"):
        seconds = best(partial(many, name)) / 100
        line(f"kron of ten factors, 39,916,800 cells: {name}", 1e6 * seconds, "us", "")


def vectors() -> None:
    """Through a matrix and back, against copying the vector or NumPy's own way."""
    rng = np.random.default_rng(3)
    x = rng.random(10**6)
    copy = best(lambda: x.copy(), 30)
    steep = bs.tridiagonal(rng.random(10**6 - 1) / 5)
    flat = bs.tridiagonal(rng.random(10**6 - 1) / 2)
    for what, m, most in (
        ("randomized_response", bs.randomized_response(10**6, beta=0.6), 5.0),
        ("tridiagonal, no pivoting", steep, 30.0),
        ("tridiagonal, pivoting", flat, 100.0),
    ):
        y = m.apply(x)
        cost(f"{what} at 10^6: apply", best(partial(m.apply, x), 20), "copy", copy, most)
        cost(f"{what} at 10^6: solve", best(partial(m.solve, y), 20), "copy", copy, most)
    n = 2**20
    x, row = rng.random(n), rng.random(n)
    row = 0.5 * row / row.sum()
    row[0] += 0.5
    numpy = best(lambda: np.fft.irfft(np.fft.rfft(x) / np.fft.rfft(row), n))
    for what, m in (
        ("circulant", bs.circulant(row)),
        ("geometric", bs.geometric(n, temperature=5)),
    ):
        y = m.apply(x)
        cost(f"{what} at 2^20: apply", best(partial(m.apply, x)), "irfft(rfft/rfft)", numpy, 3)
        cost(f"{what} at 2^20: solve", best(partial(m.solve, y)), "irfft(rfft/rfft)", numpy, 3)
    dense = bs.dense(bistochastic_table(2000))
    p, y = dense.to_dense(), rng.random(2000)
    lapack = best(lambda: np.linalg.solve(p.T, y), 5)
    cost("dense 2000: solve", best(lambda: dense.solve(y), 5), "np.linalg.solve", lapack, 1.5)


def profiles() -> None:
    """A fresh matrix each time, so that nothing is remembered."""
    rng = np.random.default_rng(4)
    n = 10**6
    row, alphas, kernel = rng.random(n), rng.random(n - 1) / 2, rng.random(n + 1)
    row /= row.sum()
    kernel /= 2 * kernel.sum() - kernel[0] - kernel[-1]
    table = bistochastic_table(1000)
    made: dict[str, tuple[Callable[[], bs.Matrix], float]] = {
        "dense 1000 x 1000": (lambda: bs.dense(table), 5000),
        "randomized_response": (lambda: bs.randomized_response(n, beta=0.6), 1000),
        "k_anonymous": (lambda: bs.k_anonymous(n, k=5), 1000),
        "circulant": (lambda: bs.circulant(row), 1000),
        "tridiagonal, one alpha": (lambda: bs.tridiagonal(0.3, size=n), 1000),
        "tridiagonal, all alphas": (lambda: bs.tridiagonal(alphas), 1000),
        "geometric, temperature 20": (lambda: bs.geometric(n, temperature=20), 1000),
        "geometric, beta 0.6": (lambda: bs.geometric(n, beta=0.6), 1000),
        "geometric, temperature 1700": (lambda: bs.geometric(n, temperature=1700), 1000),
        "geometric, temperature 10^5": (lambda: bs.geometric(n, temperature=1e5), 1000),
        "reflected, any kernel": (lambda: bs.reflected(kernel), 1000),
    }
    for what, (make, most) in made.items():
        times = []
        for _ in range(3):
            m = make()
            times.append(best(m.profile, 1))
        found = [entry.status for entry in m.profile()]
        said = f"; {found.count('bound')} bounds, {found.count('not computed')} not computed"
        where = "" if "1000 x" in what else " at 10^6"
        line(f"profile: {what}{where}", 1e3 * min(times), "ms", f"(wanted: at most {most:g}){said}")


def import_time() -> None:
    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 1)

    # Taken in turn, so that a busy moment of the machine strikes both.
    pairs = [(run("import numpy, bistochastic"), run("import numpy")) for _ in range(20)]
    extra = min(pair[0] for pair in pairs) - min(pair[1] for pair in pairs)
    limit("import bistochastic beyond import numpy", extra, 30)


def memory() -> None:
    tracemalloc.start()
    bs.randomized_response(10**7, beta=0.6).epsilon  # noqa: B018
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    line("randomized_response at 10^7: Python heap at its peak", peak / 1024, "KiB", "")


def main() -> None:
    numpy = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"bistochastic on {platform.machine()}, {os.cpu_count()} cores, {numpy}\n")
    large_matrices()
    tables()
    ordinal_and_joint()
    vectors()
    profiles()
    import_time()
    memory()


if __name__ == "__main__":
    main()
