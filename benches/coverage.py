"""How often intervals of tables cover the truth, over keys and resamples: ``make study``.

* ``fixed``: the file is everyone, and only the noise is drawn again.
* ``sampled`` and weighted: Adult is the target. Each round draws records with replacement (by the
  inverse of their weights where there are weights, in clusters where there are clusters) and
  protects them afresh.

Every line says how many intervals covered, of how many, and whether that is below the nominal level
by more than 4 Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bistochastic_survey as sv
from bistochastic_survey.models.regression import regress

Frame = dict[str, Any]
NOMINAL = 0.95


def read_columns(names: tuple[str, ...]) -> Frame:
    """Columns of the Adult census, as text."""
    path = Path(os.environ.get("BISTOCHASTIC_DATA", "")) / "adult.csv"
    if not path.is_file():
        sys.exit("BISTOCHASTIC_DATA must name the folder that holds adult.csv; it has none")
    with path.open(newline="") as file:
        rows = [[value.strip() for value in row] for row in csv.reader(file) if row]
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    return {name: np.array(columns[name]) for name in names}


def adult() -> Frame:
    """Sex, race, salary class, weight and hours of the Adult census."""
    columns = read_columns(("sex", "race", "salary-class", "fnlwgt", "hours-per-week"))
    return {
        "sex": columns["sex"],
        "race": columns["race"],
        "salary": columns["salary-class"],
        "weight": columns["fnlwgt"].astype(float),
        "hours": columns["hours-per-week"].astype(float),
    }


def plan_of(frame: Frame) -> sv.Plan:
    """Randomized response on all categories."""
    names = ("sex", "race", "salary")
    return sv.Plan(
        [sv.Categorical(name, sorted(set(frame[name].tolist())), "randomized_response", epsilon=2)
         for name in names],
        keep=["weight", "cluster", "hours"],
    )  # fmt: skip


def questions(plan: sv.Plan, frame: Frame) -> dict[str, tuple[Callable[..., Any], float]]:
    """What is asked, and the truth over everyone."""
    first = {name: min(frame[name].tolist()) for name in ("sex", "salary")}
    sex, salary = frame["sex"] == first["sex"], frame["salary"] == first["salary"]
    score = salary.astype(float)
    return {
        "share of a cell": (
            lambda data, **o: sv.Release(data, plan).estimate("sex", "salary", **o).interval()[0],
            float((sex & salary).mean()),
        ),
        "ratio": (
            lambda data, **o: (
                sv.Release(data, plan)
                .ratio({"salary": first["salary"]}, {"sex": first["sex"]}, **o)
                .interval()
            ),
            float((sex & salary).sum() / sex.sum()),
        ),
        "mean": (
            lambda data, **o: (
                sv.Release(data, plan)
                .mean("salary", [1, *[0] * (len(set(frame["salary"].tolist())) - 1)], **o)
                .interval()
            ),
            float(score.mean()),
        ),
        "covariance": (
            lambda data, **o: (
                sv.Release(data, plan)
                .covariance(
                    ["sex", "hours"],
                    {"sex": [1, *[0] * (len(set(frame["sex"].tolist())) - 1)]},
                    **o,
                )
                .interval()
            ),
            float(np.mean(sex * frame["hours"]) - sex.mean() * frame["hours"].mean()),
        ),
    }


def rows_of(frame: Frame, rows: Any) -> Frame:
    return {name: values[rows] for name, values in frame.items()}


def coverage(frame: Frame, rounds: int, records: int, seed: int) -> dict[str, tuple[int, int]]:
    """How many intervals covered, by design and question."""
    rng = np.random.default_rng(seed)
    n = len(frame["sex"])
    frame = {**frame, "cluster": np.arange(n) // 20}
    plan = plan_of(frame)
    asked = questions(plan, frame)
    chance = 1 / frame["weight"]
    chance = chance / chance.sum()
    clusters = int(frame["cluster"].max())
    found: dict[str, tuple[int, int]] = {}
    everyone = rows_of(frame, rng.integers(0, n, records))
    truths = {name: truth for name, (_, truth) in questions(plan, everyone).items()}
    for _ in range(rounds):
        drawn = rows_of(frame, rng.integers(0, n, records))
        # Drawn by the inverse of their weights, so that these weights put it right.
        unequal = rows_of(frame, rng.choice(n, records, p=chance))
        chosen = rng.integers(0, clusters, records // 20)
        whole = rows_of(frame, np.concatenate([np.arange(20 * c, 20 * c + 20) for c in chosen]))
        # A cluster that is drawn twice is two clusters.
        whole["cluster"] = np.repeat(np.arange(len(chosen)), 20)
        for design, people, options in (
            ("fixed", everyone, {"population": "fixed"}),
            ("sampled", drawn, {}),
            ("weighted", unequal, {"design": sv.Design(weights="weight")}),
            ("clusters", whole, {"design": sv.Design(cluster="cluster")}),
        ):
            data = plan.protect(people).data
            for name, (interval, truth) in asked.items():
                want = truths[name] if design == "fixed" else truth
                low, high = interval(data, **options)
                hits, tries = found.get(f"{design}, {name}", (0, 0))
                found[f"{design}, {name}"] = (hits + int(low <= want <= high), tries + 1)
    return found


def coefficients(rounds: int, seed: int) -> dict[str, tuple[int, int]]:
    """How many intervals cover the coefficients of all of Adult, over resamples and keys."""
    frame = {name: values for name, values in adult().items() if name in ("sex", "salary")}
    columns = read_columns(("education-num", "hours-per-week"))
    frame["education"] = columns["education-num"].astype(int)
    frame["hours"] = np.digitize(columns["hours-per-week"].astype(int), [35, 41, 51])
    n = len(frame["sex"])
    found: dict[str, tuple[int, int]] = {}
    for beta in (0.3, 0.6):
        plan = sv.Plan(
            [sv.Categorical("education", range(1, 17), "randomized_response", beta=beta),
             sv.Categorical("sex", ["Female", "Male"], "randomized_response", beta=beta)],
            keep=["hours", "salary"],
        )  # fmt: skip
        cases: tuple[tuple[Any, str], ...] = (
            ("logistic", "salary ~ education + sex + hours"),
            ("linear", "hours ~ education + sex"),
            ("multinomial", "hours ~ education + sex"),
        )
        truths = {
            kind: regress(sv.Release(frame, plan), text, kind, None, None, raw=True).coefficients
            for kind, text in cases
        }
        rng = np.random.default_rng(seed)
        for _ in range(rounds):
            data = plan.protect(rows_of(frame, rng.integers(0, n, n))).data
            for kind, text in cases:
                low, high = sv.Release(data, plan).regress(text, model=kind).interval().T
                for i, hit in enumerate((low <= truths[kind]) & (truths[kind] <= high)):
                    name = f"{kind} {i}, beta {beta}"
                    hits, tries = found.get(name, (0, 0))
                    found[name] = hits + int(hit), tries + 1
    return found


def is_below(hits: int, tries: int, errors: float = 4.0) -> bool:
    """Whether coverage is below the nominal level by so many Monte Carlo standard errors."""
    return hits / tries < NOMINAL - errors * math.sqrt(NOMINAL * (1 - NOMINAL) / tries)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = coverage(adult(), given.rounds, given.records, given.seed)
    found |= coefficients(given.rounds, given.seed)
    print(f"{'95 % intervals':30} {'covered':>8} {'of':>6} {'share':>7}")
    for name, (hits, tries) in found.items():
        word = "  too few" if is_below(hits, tries) else ""
        print(f"{name:30} {hits:8d} {tries:6d} {hits / tries:7.3f}{word}")


if __name__ == "__main__":
    main()
