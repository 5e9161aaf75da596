"""The library in a minute: ``python examples/library.py [codes]``. It needs NumPy alone.

1. Randomize 100,000,000 codes, and estimate how often each category is true.
2. Compute beta, the entropy rate and epsilon.
3. Recompute Table 1 of the paper.
4. Write a matrix of 300 x 300 as an exact sum of permutations (Theorem 1).

Each part prints its time. Memory stays below 1 GiB.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs

sys.path.append(str(Path(__file__).parents[1] / "docs" / "paper"))
import recompute as paper

_Found = TypeVar("_Found")


def timed(what: str, call: Callable[[], _Found]) -> _Found:
    """Call, and print what was done in how many seconds."""
    start = time.perf_counter()
    found = call()
    print(f"{what:<58}{time.perf_counter() - start:>8.3f} s")
    return found


def invent(records: int) -> NDArray[np.uint8]:
    """Invent codes of 12 categories: a million, again and again."""
    million = np.random.default_rng(1).binomial(11, 0.3, 10**6).astype(np.uint8)
    return np.resize(million, records)


def randomize(m: bs.Matrix, records: int) -> None:
    """Randomize codes and estimate from what is reported."""
    codes = invent(records)
    reported = timed(f"Randomize {records:,} codes (uint8)", lambda: m.randomize(codes))
    estimate = timed("Estimate the true frequencies from them", lambda: m.estimate(reported))
    truth = bs.backend.count(codes, m.size) / records
    share = bs.backend.count(reported, m.size) / records
    intervals = estimate.interval()
    print("\n  category     true  reported  estimated  95% interval")
    for v in range(0, m.size, 2):
        low, high = intervals[v]
        print(f"  {v:>8}  {truth[v]:.5f}   {share[v]:.5f}    {estimate.frequencies[v]:.5f}  "
              f"{low:.5f} to {high:.5f}")  # fmt: skip
    held = sum(low <= true <= high for true, (low, high) in zip(truth, intervals, strict=True))
    print(f"\n  {held} of {m.size} intervals hold the true frequency")


def measure() -> None:
    """Print the measures of a matrix of 1,000 x 1,000 numbers."""
    m = bs.geometric(1000, beta=0.6)
    array = m.to_dense()
    bits = timed("Entropy rate of a matrix of 1,000 x 1,000, from its array",
                 lambda: bs.entropy_rate(array))  # fmt: skip
    stated = timed("Entropy rate, beta and epsilon of the same, by its family",
                   lambda: bs.guarantee(bs.geometric(1000, beta=0.6)))  # fmt: skip
    print(f"\n  {bits:.6f} bits from the array\n  {stated}")


def recompute() -> None:
    """Print Table 1 of the paper, with another reading where its text gives another number."""
    cells = timed("Recompute Table 1 of the paper: beta of 12 matrices", paper.table1)
    print("\n  family                parameter    printed  computed")
    for cell in cells:
        why = "" if cell.agrees else f"  {100 * cell.read:.0f}% with {cell.reading}"
        print(f"  {cell.family:<20}  {cell.parameter:<11}  {cell.printed:>6}%  "
              f"{100 * cell.implied:>7.2f}%{why}")  # fmt: skip


def decompose() -> None:
    """Decompose a matrix without a closed form, and check that the sum is exact."""
    m = bs.balance(np.random.default_rng(2).random((300, 300)))
    d = timed("Decompose a matrix of 300 x 300 into permutations", m.decompose)
    same = timed("Add the permutations up again",
                 lambda: bool((d.reconstruct() == m.to_dense()).all()))  # fmt: skip
    assert same
    assert sum(d.exact_weights) == 1
    print(f"\n  {d.terms:,} permutations, equal to the matrix in all 90,000 entries; their weights "
          "sum to exactly 1")  # fmt: skip


def main(records: int = 10**8) -> None:
    """Run all parts."""
    m = bs.randomized_response(12, epsilon=1)
    print(f"{m}\n")
    randomize(m, records)
    print()
    measure()
    print()
    recompute()
    print()
    decompose()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
