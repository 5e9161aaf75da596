"""Choosing against other packages: convex programs, difference sets, budgets."""

from __future__ import annotations

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


if __name__ == "__main__":
    optimal()
    sets()
    many_columns()
