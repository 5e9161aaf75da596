"""Times of the central epsilon of shuffled files: ``make bench``.

An epsilon takes at most 2 s for 100,000 records and four columns, and 60 s for one dense matrix of
100 categories. Seconds are those of the processor, so other programs matter less. Exits with 1 if a
limit is not held. Rare large jumps (a beta of .6 on ordinal columns) need finer grids.
"""

from __future__ import annotations

import time

import bistochastic as bs

FEW = [bs.randomized_response(2, epsilon=1)] * 3
CASES: list[tuple[str, list[bs.Matrix], int, float]] = [
    ("Titanic, beta .6", [bs.randomized_response(r, beta=0.6) for r in (4, 2, 2, 2)], 10**5, 2),
    ("four circulant(5)", [bs.circulant([0.5, 0.3, 0.1, 0.06, 0.04])] * 4, 10**5, 2),
    ("four geometric(5)", [bs.geometric(5, epsilon=1)] * 4, 10**5, 2),
    ("geometric 10, 16, 7, 15", [bs.geometric(r, epsilon=0.5) for r in (10, 16, 7, 15)], 10**5, 2),
    ("geometric 30, 30, 2, 2", [bs.geometric(r, epsilon=0.5) for r in (30, 30, 2, 2)], 10**5, 2),
    ("geometric 100, three of 2", [bs.geometric(100, epsilon=0.5), *FEW], 10**5, 2),
    ("geometric 32, three of 2", [bs.geometric(32, epsilon=0.5), *FEW], 10**5, 2),
    ("difference_set(127)", [bs.difference_set(127, epsilon=1)], 10**5, 2),
    ("geometric(100), epsilon 1", [bs.geometric(100, epsilon=1)], 10**4, 60),
    ("geometric(100), epsilon 2", [bs.geometric(100, epsilon=2)], 10**5, 60),
    ("geometric(300), epsilon 1", [bs.geometric(300, epsilon=1)], 10**5, 60),
    ("geometric(500), epsilon 1", [bs.geometric(500, epsilon=1)], 10**5, 60),
]


def main() -> None:
    for name, matrices, records, limit in CASES:
        start = time.process_time()
        whole = bs.shuffled(matrices, records)
        found = whole.epsilon(1e-7)
        seconds = time.process_time() - start
        print(f"{name:<28} {records:>9,} records: epsilon {found:.7f} in {seconds:5.2f} s"
              f" (wanted: at most {limit:g})", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
