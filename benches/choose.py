"""Choosing against other packages: convex programs, difference sets, budgets and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import bistochastic as bs
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
            needs = ["multi-freq-ldpy", "pure-ldp", "xxhash<4", "scikit-learn", "statsmodels"]
        theirs, why = peer(needs, ORACLES, str(path), str(size))
    print(f"errors at {size:,} categories, {records:,} records (times the records):")
    for name, epsilon, error, width, micro in sorted(rows + (theirs or []), key=lambda r: r[1]):
        print(
            f"  epsilon {epsilon:<4} {name:<36} {error:10.1f}  {width:4.0f} bytes  {micro:9.4f} us"
        )
    if why:
        print(f"  others were left out: {why}")


if __name__ == "__main__":
    optimal()
    sets()
    many_columns()
    errors()
