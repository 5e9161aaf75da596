"""Regressions and tables of moves against what ordinary software needs: ``make bench``.

The bars are those of the targets. A logistic model of a million rows, with 16 and 2 protected and
10 unprotected values, takes at most 3 times one joint bincount and a statsmodels fit of the grouped
table. One with a continuous unprotected covariate, 10^5 rows and 32 cells, takes less than 2
seconds. Moves of a million people between 16 categories take at most 5 times two bincounts and the
join.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

import bistochastic_survey as sv
from common import best


def people(n: int) -> pd.DataFrame:
    """True values of a known logistic model."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"x": rng.integers(0, 16, n), "s": rng.integers(0, 2, n), "z": rng.integers(0, 10, n)}
    )
    frame["c"] = rng.normal(size=n)
    eta = -1 + 0.05 * frame["x"] + 0.5 * frame["s"] + 0.1 * frame["z"] + 0.3 * frame["c"]
    frame["y"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    return frame


def grouped(frame: Any) -> Any:
    """One joint bincount, and a fit of statsmodels to the table."""
    code = ((frame["x"].to_numpy() * 2 + frame["s"].to_numpy()) * 10 + frame["z"].to_numpy()) * 2
    counts = np.bincount(code + frame["y"].to_numpy(), minlength=640).reshape(-1, 2)
    x, s, z = np.unravel_index(np.arange(320), (16, 2, 10))
    design = np.stack([np.ones(320), x, s, z], axis=1)
    seen = counts.sum(axis=1) > 0
    return sm.GLM(counts[seen][:, ::-1], design[seen], sm.families.Binomial()).fit()


def joined(one: Any, two: Any) -> Any:
    """The join of two waves and two bincounts."""
    order = np.argsort(two["id"], kind="stable")
    at = order[np.searchsorted(two["id"], one["id"], sorter=order)]
    moves = one["a"].astype(np.int64) * 16 + two["a"][at]
    return np.bincount(moves, minlength=256), np.bincount(one["a"], minlength=16)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    n, repeats = given.size, given.repeats
    plan = sv.Plan(
        [sv.Categorical("x", range(16), "randomized_response", beta=0.6),
         sv.Categorical("s", [0, 1], "randomized_response", beta=0.6)],
        keep=["z", "c", "y"],
    )  # fmt: skip
    data = plan.protect(people(n)).data
    text = "y ~ x + s + z"
    ours = best(lambda: sv.Release(data, plan).regress(text, model="logistic"), repeats)
    theirs = best(lambda: grouped(data), repeats)
    print(f"{'':34} {'seconds':>9} {'other':>9} {'times':>7} {'at most':>8}")
    print(f"{f'logistic, {n} rows':34} {ours:9.4f} {theirs:9.4f} {ours / theirs:7.2f} {3:8d}")
    some = data[: n // 10]
    ours = best(lambda: sv.Release(some, plan).regress("y ~ x + s + c", model="logistic"), repeats)
    print(f"{f'continuous covariate, {n // 10} rows':34} {ours:9.4f} {'':9} {'':7} {'2 s':>8}")
    panel = sv.Plan([sv.Categorical("a", range(16), "randomized_response", beta=0.6)], keep=["id"])
    rng = np.random.default_rng(2)
    ids = rng.permutation(n)
    one = {"id": np.arange(n), "a": rng.integers(0, 16, n).astype(np.uint8)}
    two = {"id": ids, "a": one["a"][ids]}
    first, later = sv.Release(one, panel), sv.Release(two, panel)
    moves: Any = {"id_column": "id", "memoised": True}
    ours = best(lambda: first.transitions(later, "a", **moves), repeats)
    theirs = best(lambda: joined(one, two), repeats)
    print(f"{f'moves of {n} people':34} {ours:9.4f} {theirs:9.4f} {ours / theirs:7.2f} {5:8d}")


if __name__ == "__main__":
    main()
