"""Tables of ten million protected records against NumPy, in one run: ``make bench``.

The bars are those of the targets: a joint estimate within 3 times ``numpy.bincount`` of the joint
code, a weighted one within 4 times ``numpy.bincount`` with weights, a count over four attributes
within 4 times the NumPy sums of their columns.
"""

from __future__ import annotations

import argparse

import numpy as np

import bistochastic_survey as sv
from common import best

WEIGHTED = sv.Design(weights="weight")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    n, repeats = given.size, given.repeats
    rng = np.random.default_rng(1)
    sizes = {"sex": 2, "education": 16, "marital": 7, "race": 5}
    plan = sv.Plan(
        [sv.Categorical(name, range(size), "randomized_response", beta=0.6)
         for name, size in sizes.items()],
        keep=["weight"],
    )  # fmt: skip
    frame = {name: rng.integers(0, size, n).astype(np.uint8) for name, size in sizes.items()}
    frame["weight"] = rng.uniform(0.5, 2, n)
    joint = frame["education"].astype(np.int64) * 7 + frame["marital"]
    where = {"sex": [1], "education": [1, 2, 3], "marital": [0], "race": [2, 4]}
    columns = [frame[name] for name in sizes]
    print(f"{n} records{'':16} {'seconds':>9} {'NumPy':>9} {'times':>7} {'at most':>8}")
    for name, ours, theirs, most in (
        ("joint estimate", lambda: sv.Release(frame, plan).estimate("education", "marital"),
         lambda: np.bincount(joint, minlength=112), 3),
        ("weighted joint estimate",
         lambda: sv.Release(frame, plan).estimate("education", "marital", design=WEIGHTED),
         lambda: np.bincount(joint, frame["weight"], 112), 4),
        ("count over 4 attributes", lambda: sv.Release(frame, plan).count(where),
         lambda: [column.sum() for column in columns], 4),
    ):  # fmt: skip
        taken, numpy = best(ours, repeats), best(theirs, repeats)
        print(f"{name:32} {taken:9.4f} {numpy:9.4f} {taken / numpy:7.2f} {most:8d}")


if __name__ == "__main__":
    main()
