"""Decompositions against a strong SciPy loop, in one run on one machine: ``make bench``.

Both sides get the same whole numbers and use one thread. The loop below leaves nothing out that is
known to help: thresholds that only fall, the smallest of the largest entries of all lines as a
first guess, and a galloping search where that misses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("BISTOCHASTIC_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import bistochastic as bs
from common import best

Whole = NDArray[np.int64]


def whole_numbers(size: int) -> Whole:
    """A random matrix, balanced, as whole numbers with line sums 2^53."""
    law = bs.balance(np.random.default_rng(size).random((size, size)) + 1e-6)
    return (law.to_dense() * 2.0**53).astype(np.int64)


def perfect(mask: NDArray[np.bool_]) -> Whole | None:
    """A perfect matching of a pattern, by Hopcroft and Karp."""
    degrees = mask.sum(axis=1)
    if not degrees.all() or not mask.any(axis=0).all():
        return None
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    columns = np.nonzero(mask)[1].astype(np.int32)
    shape = mask.shape
    graph = csr_array((np.ones(len(columns), dtype=np.int8), columns, starts), shape=shape)
    found: Whole = maximum_bipartite_matching(graph, perm_type="column")
    return None if (found < 0).any() else found


def widest(left: Whole, cap: int) -> Whole:
    """A perfect matching whose smallest entry is largest."""
    guess = min(cap, left.max(axis=1).min(), left.max(axis=0).min())
    found = perfect(left >= guess)
    if found is not None:
        return found
    levels = np.unique(left[(left > 0) & (left < guess)])
    low, high, step = 0, len(levels), 1
    at = high - 1
    while low < high:
        tried = perfect(left >= levels[at])
        if tried is None:
            high = at
            if found is None:
                at, step = max(low, high - step), 2 * step
                continue
        else:
            found, low = tried, at + 1
        at = (low + high) // 2
    assert found is not None
    return found


def scipy_loop(table: Whole) -> tuple[list[int], list[Whole]]:
    left, rows = table.copy(), np.arange(len(table))
    weights: list[int] = []
    permutations: list[Whole] = []
    rest, cap = int(table[0].sum()), int(table.max())
    while rest:
        found = widest(left, cap)
        weight = int(left[rows, found].min())
        left[rows, found] -= weight
        rest -= weight
        cap = weight
        weights.append(weight)
        permutations.append(found)
    return weights, permutations


def against_scipy() -> None:
    print("the same whole numbers, line sums 2^53, one thread for both")
    print(f"{'size':>5} {'ms':>10} {'terms':>7} {'SciPy ms':>10} {'terms':>7}  ratio")
    for size, ours, theirs in [(100, 25, 7), (300, 9, 3), (500, 5, 1), (1000, 3, 1)]:
        table = whole_numbers(size)
        matrix = bs.dense(table)
        seconds = best(matrix.decompose, ours)
        found = matrix.decompose()
        assert np.array_equal(found.reconstruct(), matrix.to_dense())
        other = best(lambda t=table: scipy_loop(t), theirs)  # type: ignore[misc]
        terms = len(scipy_loop(table)[0]) if size < 500 else None
        row = f"{size:>5} {1e3 * seconds:10.2f} {found.terms:7}"
        want = 8 if size == 100 else 12
        ratio = f"{other / seconds:6.1f} (wanted: at least {want})"
        print(f"{row} {1e3 * other:10.1f} {terms or '':>7} {ratio}")


def growth() -> None:
    print("\ngrowth at line sums 2^53: milliseconds, terms and terms a row")
    for size in (12, 30, 100, 300, 1000, 2000):
        matrix = bs.dense(whole_numbers(size))
        seconds = best(matrix.decompose, 9 if size <= 100 else 3 if size <= 300 else 1)
        terms = matrix.decompose().terms
        print(f"{size:>5} {1e3 * seconds:10.2f} ms {terms:8} terms {terms / size:7.2f} r")
    matrix = bs.balance(np.random.default_rng(1000).random((1000, 1000)))
    for mass in (0.5, 0.9, 0.99, 0.999):
        print(f"  {mass:g} of the whole at size 1000: {matrix.decompose(mass=mass).terms} terms")


# Means of plain bottleneck over six labellings, and of Birkhoff+ where it is published.
MEANS = {
    "dense": {5: 16.8, 6: 24.5, 7: 30.7, 8: 35.5, 9: 39.8, 10: 52.9},
    "sparse": {5: 4.9, 6: 6.4, 7: 7.6, 8: 9.6, 9: 13.6, 10: 14.6},
}
PUBLISHED = {("dense", 5): 16.7, ("dense", 6): 25.6, ("dense", 8): 37.0, ("dense", 10): 55.7}


def official() -> None:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None:
        print("\nQOBLIB: not measured, BISTOCHASTIC_DATA is not set")
        return
    print("\nQOBLIB, mean terms of ten: six labellings, restarts=32; plain bottleneck; Birkhoff+")
    for kind, means in MEANS.items():
        for n, mean in means.items():
            file = Path(folder) / "qoblib" / f"qbench_{n:02}_{kind}.json"
            found = [x for x in json.loads(file.read_text()).values() if isinstance(x, dict)]
            tables = [np.array(x["scaled_doubly_stochastic_matrix"]).reshape(n, n) for x in found]
            rng = np.random.default_rng(n)
            named = [
                bs.dense(table[rng.permutation(n)][:, rng.permutation(n)])
                for table in tables
                for _ in range(6)
            ]
            plain = float(np.mean([d.terms for d in bs.decompose_all(named)]))
            matrices = [bs.dense(table) for table in tables]
            start = time.perf_counter()
            least = [d.terms for d in bs.decompose_all(matrices, restarts=32)]
            each = 1e3 * (time.perf_counter() - start) / len(matrices)
            text = f"{n:>5} {kind:<7} {plain:6.2f} ({100 * (plain / mean - 1):+5.1f} %)"
            text += f" {np.mean(least):6.2f} in {each:5.1f} ms   {mean:5.1f}"
            print(f"{text} {PUBLISHED.get((kind, n), ''):>6}")


def the_rest() -> None:
    print("\nclosed forms, batches, samples")
    row = np.random.default_rng(0).random(10**6)
    shifts = bs.circulant(row / row.sum())
    print(f"circulant at 10^6: {1e3 * best(shifts.decompose, 5):.1f} ms")
    steps = bs.tridiagonal(0.3, size=10**6)
    print(f"tridiagonal at 10^6: {1e6 * best(steps.decompose, 5):.0f} us")
    code = (
        "import time, numpy as np, bistochastic as bs; r = np.random.default_rng(0);"
        "ms = [bs.balance(r.random((200, 200))) for _ in range(16)]; bs.decompose_all(ms[:2]);"
        "t = time.perf_counter(); bs.decompose_all(ms); print(time.perf_counter() - t)"
    )
    seconds = []
    for threads in ("1", "2"):
        environment = {**os.environ, "BISTOCHASTIC_THREADS": threads}
        command = [sys.executable, "-c", code]
        runs = [
            subprocess.run(command, check=True, capture_output=True, env=environment).stdout
            for _ in range(3)
        ]
        seconds.append(min(float(run) for run in runs))
    speed = seconds[0] / seconds[1]
    print(f"16 matrices of size 200 at once: {1e3 * seconds[1]:.0f} ms on 2 threads, {speed:.2f} x")
    for size in (100, 1000):
        matrix = bs.dense(whole_numbers(size))
        sample = best(matrix.sample_permutation, 3)
        print(f"one sample without decomposing, size {size}: {1e3 * sample:.1f} ms")


def main() -> None:
    against_scipy()
    growth()
    official()
    the_rest()


if __name__ == "__main__":
    main()
