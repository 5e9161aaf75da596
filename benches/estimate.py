"""Estimating against the alternatives, in one run: ``make bench``.

Machines are noisy: what counts is the ratio, and of several repetitions the best. The joint table
of Adult needs ``adult.csv`` in the folder that BISTOCHASTIC_DATA names, and is left out without.
``BISTOCHASTIC_BENCH=small`` takes a tenth of the records.
"""

from __future__ import annotations

import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import adult
import bistochastic as bs
from bistochastic import _core
from common import best, peer

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
N = 10**7 if SMALL else 10**8


def codes_of(size: int, n: int, dtype: str) -> NDArray[Any]:
    return np.random.default_rng(1).integers(0, size, n, dtype=dtype)


def counting() -> None:
    print(f"counting {N:.0e} codes, against numpy.bincount")
    for dtype, size in (
        ("uint8", 12), ("uint8", 200), ("uint16", 1000), ("uint16", 10_000), ("uint16", 65_536),
        ("int32", 1000), ("int64", 1000),
    ):  # fmt: skip
        codes = codes_of(size, N, dtype)
        theirs = best(lambda: np.bincount(codes, minlength=size), 3)  # noqa: B023
        ours = best(lambda: _core.count(codes, size), 5)  # noqa: B023
        wanted = " (wanted: 5)" if dtype.startswith("uint") else ""
        each = f"{1e9 * ours / N:6.2f} ns a code"
        print(
            f"  {dtype:<6} {size:>6} {each}, {theirs / ours:5.1f} times faster{wanted}", flush=True
        )


def large() -> None:
    """The whole way from 10^7 codes to a million shares."""
    size, n = 10**6, 10**7
    row = np.random.default_rng(2).random(size)
    row /= 2 * row.sum()
    row[0] += 0.5
    codes = codes_of(size, n, "int64")
    floor = best(lambda: np.bincount(codes, minlength=size), 5)
    print(f"inverse estimate of 10^6 shares, against numpy.bincount of 10^7 codes ({floor:.3f} s)")
    for m in (
        bs.randomized_response(size, epsilon=14),
        bs.circulant(row),
        bs.tridiagonal(0.2, size=size),
        bs.tridiagonal(np.full(size - 1, 0.2)),
        bs.geometric(size, temperature=1.5),
    ):
        counts = np.bincount(codes, minlength=size)
        start = time.perf_counter()
        m.estimate(counts=counts)
        first = time.perf_counter() - start
        ours = best(lambda: m.estimate(codes), 5)  # noqa: B023
        alone = best(lambda: m.estimate(counts=counts), 5)  # noqa: B023
        print(
            f"  {m.family:<20} {ours / floor:5.2f} from codes, {alone / floor:5.2f} from counts,"
            f" {first / floor:5.2f} the first time (wanted: at most 10)",
            flush=True,
        )


IBU = r"""
import json, sys, time
import numpy as np
from multi_freq_ldpy.estimators.Histogram_estimator import IBU
given = np.load(sys.argv[1])
P, reports, goal = given["matrix"], given["reports"], float(given["goal"])
seen = reports > 0
def likelihood(pi):
    return float(reports[seen] @ np.log((pi @ P)[seen]))
IBU(len(P), P, reports, 1, 1e-300, "max_abs")
steps, before = 1000, 0.0
while True:
    start = time.perf_counter()
    found = likelihood(IBU(len(P), P, reports, steps, 1e-300, "max_abs"))
    took = time.perf_counter() - start
    if found >= goal or took > 60:
        break
    before = took
    steps *= 2
print(json.dumps([found >= goal, steps, took, before, goal - found]))
"""


def one_attribute() -> None:
    size, n = 500, 10**5
    m = bs.geometric(size, beta=0.5)
    x = np.arange(size)
    truth = np.exp(-(((x - 150) / 56) ** 2)) + 0.5 * np.exp(-(((x - 350) / 28) ** 2))
    law = m.apply(truth / truth.sum())
    counts = np.random.default_rng(3).multinomial(n, law / law.sum())
    ours = best(lambda: m.estimate(counts=counts, method="mle"), 5)
    found = m.estimate(counts=counts, method="mle")
    reports = counts / n
    dense = m.to_dense()
    seen = reports > 0
    reached = float(reports[seen] @ np.log((found.frequencies @ dense)[seen]))
    print(f"maximum likelihood, geometric 500 of beta 0.5, {n:.0e} records")
    print(f"  ours {1e3 * ours:.0f} ms, gap {found.gap:.1e} nats, {found.steps} steps")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.npz"
        np.savez(path, matrix=dense, reports=reports, goal=reached - 1e-10)
        theirs, why = peer(["multi-freq-ldpy", "scipy"], IBU, str(path))
    if theirs is None:
        print(f"  multi-freq-ldpy: left out: {why}")
        return
    enough, steps, took, before, short = theirs
    if enough:
        told = f"reaches it between {before:.2f} and {took:.2f} s ({steps:,} steps at most)"
        least = before
    else:
        told = f"is {short:.1e} nats below after {took:.1f} s and {steps:,} steps"
        least = took
    print(f"  multi-freq-ldpy's IBU {told}: at least {least / ours:.0f} times (wanted: 20)")


def joint() -> None:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None or not (Path(folder) / "adult.csv").exists():
        print("joint table of Adult: left out: BISTOCHASTIC_DATA names no folder with adult.csv")
        return
    columns, sizes = adult.records(), adult.SIZES
    for p in (Fraction(1, 2), Fraction(7, 10)):
        matrices = [adult.mechanism(size, p) for size in sizes]
        reports = [
            m.randomize(column, key=bs.Key.insecure(1), start=0, stream=name)
            for m, column, name in zip(matrices, columns, adult.ATTRIBUTES, strict=True)
        ]
        m = bs.kron(*matrices)
        counts = np.bincount(np.ravel_multi_index(reports, sizes), minlength=m.size)
        table = counts.astype(float)
        copy = best(lambda: table.copy(), 20)  # noqa: B023
        inverse = best(lambda: m.estimate(counts=table), 3)  # noqa: B023
        start = time.perf_counter()
        found = m.estimate(counts=table, method="mle")
        took = time.perf_counter() - start
        each = took / found.steps
        print(
            f"joint table of Adult, {m.size:,} cells, p = {float(p)}: likelihood {took:.1f} s,"
            f" {found.steps} steps, gap {found.gap:.1e} nats\n"
            f"  a step takes {1e3 * each:.1f} ms, {each / copy:.1f} times a copy of the table"
            f" (wanted: at most 40); inverse {inverse / copy:.1f} times",
            flush=True,
        )


def main() -> None:
    print(f"\nestimate, {os.cpu_count()} processors seen")
    counting()
    large()
    one_attribute()
    joint()


if __name__ == "__main__":
    main()
