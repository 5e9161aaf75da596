"""Permutations and averages of ten million individuals against NumPy, in one run: ``make bench``.

NumPy's way to move a column is ``values[rng.permutation(n)]``: it knows one law, the uniform one,
and reads memory at random. The bars are those of the targets: blocks and tridiagonal 5 times
faster, randomized response and uniform at least as fast; averages within 3 and 4 copies.
"""

from __future__ import annotations

import argparse
import resource

import numpy as np

import bistochastic as bs
from common import best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    n, repeats = given.size, given.repeats
    rng = np.random.default_rng(1)
    values = rng.lognormal(10, 0.5, n)
    numpy_time = best(lambda: values[rng.permutation(n)], repeats)
    copy_time = best(values.copy, repeats)
    print(f"{n} doubles: NumPy's random order {numpy_time:.3f} s, a copy {copy_time:.3f} s")
    print(f"{'permute':30} {'seconds':>9} {'times NumPy':>12} {'wanted':>8}")
    half = [n // 2 // 100 * 100, *[100] * 50]
    for name, m, wanted in (
        ("blocks of 5", bs.k_anonymous(n, k=5), 5.0),
        ("tridiagonal, alpha 0.3", bs.tridiagonal(0.3, size=n), 5.0),
        ("randomized response, keep 0.5", bs.randomized_response(n, keep=0.5), 1.0),
        ("uniform", bs.uniform(n), 1.0),
        ("blocks of 5 % of the ranks", bs.k_anonymous(n, share=0.05), None),
        ("blocks of several sizes", bs.blocks([*half, n - sum(half)]), None),
    ):
        taken = best(lambda m=m: m.permute(values), repeats)  # type: ignore[misc]
        bar = "" if wanted is None else f"{wanted:.0f}"
        print(f"{name:30} {taken:9.3f} {numpy_time / taken:12.2f} {bar:>8}")
    print(f"{'average':30} {'seconds':>9} {'copies':>12} {'at most':>8}")
    for name, m, most in (
        ("blocks of 5", bs.k_anonymous(n, k=5), 3.0),
        ("tridiagonal, alpha 0.3", bs.tridiagonal(0.3, size=n), 4.0),
        ("randomized response, keep 0.5", bs.randomized_response(n, keep=0.5), None),
        ("uniform", bs.uniform(n), None),
    ):
        taken = best(lambda m=m: m.average(values, allow_invertible=True), repeats)  # type: ignore[misc]
        bar = "" if most is None else f"{most:.0f}"
        print(f"{name:30} {taken:9.3f} {taken / copy_time:12.2f} {bar:>8}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"peak of memory {peak / 8 / n:.1f} columns of doubles, NumPy's turn included")


if __name__ == "__main__":
    main()
