"""Choosing against other packages: convex programs, difference sets, budgets and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import bistochastic as bs
import bistochastic_survey as sv
from common import best, peer

# The same problem as cvxpy writes it: column minima, 2 r^2 inequalities, entropies.
CVXPY = """
import json, sys, time
import cvxpy as cp, numpy as np
r, epsilon, beta = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
scale = np.arange(r)
cost = abs(scale[:, None] - scale)
def solve():
    p, low = cp.Variable((r, r)), cp.Variable(r)
    below = cp.vstack([low] * r)
    kept = [cp.sum(p, axis=0) == 1, cp.sum(p, axis=1) == 1, p >= below,
            p <= np.exp(epsilon) * below, cp.sum(cp.entr(p)) >= beta * r * np.log(r)]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, p)) / r), kept)
    problem.solve(solver=cp.CLARABEL)
    return problem.value
start = time.perf_counter()
value = solve()
print(json.dumps([value, time.perf_counter() - start]))
"""

# Unbiased estimates from the reports of other packages, by their own parameters.
ORACLES = """
import json, sys, time
import numpy as np
codes, size = np.load(sys.argv[1]), int(sys.argv[2])
true = np.bincount(codes, minlength=size) / len(codes)
found = []
def told(name, epsilon, seconds, estimate, size_of):
    error = len(codes) * float(((estimate - true) ** 2).sum())
    found.append([name, epsilon, error, size_of, 1e6 * seconds / len(codes)])
# A sum of a thousand squared errors varies by 4.5%: the mean of four runs by half of that.
for epsilon in (0.5, 1.0, 2.0) * 4:
    e = np.exp(epsilon)
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    SS_Client(0, size, epsilon)
    start = time.perf_counter()
    reports = [SS_Client(int(x), size, epsilon) for x in codes]
    seconds = time.perf_counter() - start
    w = len(reports[0])
    p = w * e / (w * e + size - w)
    q = ((w - 1) * w * e + (size - w) * w) / ((size - 1) * (w * e + size - w))
    seen = np.bincount(np.concatenate(reports), minlength=size) / len(codes)
    told("subset selection (multi-freq-ldpy)", epsilon, seconds, (seen - q) / (p - q), 2 * w)
    import xxhash
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    start = time.perf_counter()
    reports = [LH_Client(int(x), size, epsilon) for x in codes]
    seconds = time.perf_counter() - start
    g = int(round(e)) + 1
    words = [str(v) for v in range(size)]
    seen = np.zeros(size)
    for value, seed in reports:
        seen += [xxhash.xxh32(word, seed=int(seed)).intdigest() % g == value for word in words]
    p, q = e / (e + g - 1), 1 / g
    told("local hashing (multi-freq-ldpy)", epsilon, seconds, (seen / len(codes) - q) / (p - q), 9)
    from pure_ldp.frequency_oracles.hadamard_response import (
        HadamardResponseClient, HadamardResponseServer)
    server = HadamardResponseServer(epsilon, size)
    client = HadamardResponseClient(epsilon, size, server.get_hash_funcs())
    start = time.perf_counter()
    reports = [client.privatise(int(x) + 1) for x in codes]
    seconds = time.perf_counter() - start
    for report in reports:
        server.aggregate(report)
    estimate = np.array([server.estimate(v + 1, suppress_warnings=True) for v in range(size)])
    told("Hadamard response (pure-ldp)", epsilon, seconds, estimate / len(codes), 2)
grouped = {}
for name, epsilon, *numbers in found:
    grouped.setdefault((name, epsilon), []).append(numbers)
print(json.dumps([[*key, *np.mean(each, axis=0)] for key, each in grouped.items()]))
"""


def optimal() -> None:
    for size in (64, 128):
        scale = np.arange(size)
        cost = abs(scale[:, None] - scale)
        ours = best(lambda: bs.optimal(cost, epsilon=2, beta=0.6), 3)  # noqa: B023
        m = bs.optimal(cost, epsilon=2, beta=0.6)
        words = f"cost {m.requested['expected_cost']:.6f}, gap {m.requested['gap']:.1e}"
        print(f"optimal, size {size}, epsilon 2, beta 0.6: {ours:.2f} s, {words}")
        if size == 64:
            theirs, why = peer(["cvxpy", "clarabel"], CVXPY, str(size), "2", "0.6")
            print(f"  cvxpy with Clarabel: {why or f'{theirs[1]:.2f} s, cost {theirs[0]:.6f}'}")


def sets() -> None:
    size = 100_000
    print(f"difference_set of {size:,}: {best(lambda: bs.difference_set(size, epsilon=1), 3):.3f} s"
          " (wanted: at most 1)")  # fmt: skip
    m = bs.difference_set(size, epsilon=1)
    plain = bs.circulant(np.random.default_rng(0).dirichlet(np.ones(m.size)))
    codes = np.random.default_rng(1).integers(0, size, 10**6).astype(np.uint32)
    for name, matrix in (("difference_set", m), ("circulant", plain)):
        matrix.randomize(codes)
        seconds = best(lambda: matrix.randomize(codes))  # noqa: B023
        print(f"  a million records drawn from a {name}: {1e3 * seconds:.1f} ms")
    drawn = m.randomize(codes)
    print(f"  estimated by FFT: {1e3 * best(lambda: m.estimate(drawn).frequencies):.1f} ms")


def many_columns() -> None:
    columns = {f"c{i}": [f"{i}.{j}" for j in range(2 + i % 20)] for i in range(100)}
    plan = sv.Plan.for_frame(columns, beta=0.5)
    sizes = [len(levels) for levels in columns.values()]
    for name, call, most in (
        ("allocate, bits", lambda: sv.allocate(sizes, beta=0.5, min_beta=0.2), 200),
        ("allocate, epsilon", lambda: sv.allocate(sizes, epsilon=100, min_beta=0.2), 200),
        ("preview", lambda: str(plan.preview(10_000)), 200),
    ):
        print(f"100 columns, {name}: {1e3 * best(call, 3):.0f} ms (wanted: at most {most})")


def errors() -> None:
    """One thousand categories, the same data: errors summed over all, times the records."""
    import tempfile
    from pathlib import Path

    size, records = 1000, 20_000
    shares = 1 / np.arange(1, size + 1)
    codes = np.random.default_rng(2).choice(size, records, p=shares / shares.sum())
    true = np.bincount(codes, minlength=size) / records
    rows: list[Any] = []
    for epsilon in (0.5, 1.0, 2.0):
        for name, m in (
            ("difference_set", bs.difference_set(size, epsilon=epsilon)),
            ("randomized_response", bs.randomized_response(size, epsilon=epsilon)),
        ):
            given = codes.astype(np.uint16)
            m.randomize(given)
            seconds = best(lambda: m.randomize(given))  # noqa: B023
            every = [m.estimate(m.randomize(given)).frequencies for _ in range(10)]
            error = float(np.mean([records * ((x - true) ** 2).sum() for x in every]))
            width = math.ceil(math.log2(m.size) / 8)
            rows.append([name, epsilon, error, width, 1e6 * seconds / records])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, codes)
        needs = ["multi-freq-ldpy", "pure-ldp", "xxhash<4", "scikit-learn", "statsmodels"]
        theirs, why = peer(needs, ORACLES, str(path), str(size))
    print(f"errors at {size:,} categories, {records:,} records (times the records):")
    for name, epsilon, error, width, micro in sorted(rows + (theirs or []), key=lambda r: r[1]):
        sizes = f"{width:4.0f} bytes  {micro:9.4f} us"
        print(f"  epsilon {epsilon:<4} {name:<36} {error:10.1f}  {sizes}")
    if why:
        print(f"  others were left out: {why}")


if __name__ == "__main__":
    optimal()
    sets()
    many_columns()
    errors()
