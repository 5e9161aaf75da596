"""``plan.sql``: what DuckDB and SQLite answer from a protected table, beside the package's own."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import bistochastic as bs


def random_plan(seed: int) -> tuple[bs.Plan, dict[str, Any]]:
    """A plan with every kind of attribute, and a table that looks protected by it."""
    rng = np.random.default_rng(seed)
    keep = float(rng.uniform(0.6, 0.95))
    laws = {"it's": bs.randomized_response(2, keep=keep), "s": bs.randomized_response(2, beta=0.4)}
    n = 500
    first = ["a", 'b"', "c' d"]
    plan = bs.Plan(
        [
            bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6, missing="category"),
            bs.Categorical("age", [10, 20, 40, 80], "geometric", beta=float(rng.uniform(0.2, 0.7))),
            bs.Joint(("x", "y"), [first, [1, 2]], "randomized_response", beta=0.5,
                     impossible=[("a", 2)]),
            bs.Categorical("vote", ["no", "yes"], groups=("region", laws)),
        ],
        keep=["region", "town"],
    )  # fmt: skip
    cells = [("a", 1), ('b"', 1), ('b"', 2), ("c' d", 1), ("c' d", 2)]
    joint = [cells[i] for i in rng.integers(0, 5, n)]
    frame = {
        "sex": [["F", "M", None][i] for i in rng.integers(0, 3, n)],
        "age": rng.choice([10, 20, 40, 80], n).tolist(),
        "x": [x for x, _ in joint],
        "y": [y for _, y in joint],
        "vote": rng.choice(["no", "yes"], n).tolist(),
        "region": rng.choice(["it's", "s"], n).tolist(),
        "town": rng.choice(["A", "B"], n).tolist(),
    }
    return plan, frame


@pytest.mark.parametrize("seed", range(4))
def test_duckdb_gives_the_counts_means_and_errors_of_the_package(seed: int) -> None:
    plan, frame = random_plan(seed)
    protected = pd.DataFrame(frame)
    connection = duckdb.connect()
    connection.register("seen", protected)
    connection.sql("CREATE TABLE protected AS SELECT * FROM seen")
    connection.execute(plan.sql("duckdb"))
    rows = connection.sql("""
        SELECT town, bs_count("sex=F"), bs_se("sex=F"), bs_mean("age score"),
               bs_mean_se("age score"), bs_count("sex=missing" * "vote=yes"),
               bs_se("sex=missing" * "vote=yes"), bs_ratio("sex=F" * "age=20", "age=20"),
               bs_ratio_se("sex=F" * "age=20", "age=20"), bs_count("x=a, y=1")
        FROM protected_corrected GROUP BY town ORDER BY town
    """).fetchall()
    assert len(rows) == 2
    for town, count, error, mean, mean_error, both, both_error, ratio, ratio_error, cell in rows:
        here = {"town": town}
        want = plan.count(protected, {"sex": "F", **here})
        assert (count, error) == pytest.approx((want.value, want.standard_error), abs=1e-9)
        found = plan.mean(protected, "age", where=here)
        assert (mean, mean_error) == pytest.approx((found.value, found.standard_error), abs=1e-9)
        want = plan.count(protected, {"sex": [None], "vote": "yes", **here})
        assert (both, both_error) == pytest.approx((want.value, want.standard_error), abs=1e-9)
        share = plan.ratio(protected, {"sex": "F"}, {"age": 20, **here})
        assert (ratio, ratio_error) == pytest.approx((share.value, share.standard_error), abs=1e-9)
        want = plan.count(protected, {"x": "a", "y": 1, **here})
        assert cell == pytest.approx(want.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_sqlite_sums_corrected_columns(seed: int) -> None:
    plan, frame = random_plan(seed)
    protected = pd.DataFrame(frame)
    connection = sqlite3.connect(":memory:")
    protected.to_sql("protected", connection, index=False)
    connection.executescript(plan.sql("sqlite"))
    question = """SELECT sum("vote=yes"), sum("age score"), sum("y=2" * "sex=M"), max(bs_n)
                  FROM protected_corrected WHERE town = 'A'"""
    yes, age, both, n = connection.execute(question).fetchone()
    here = {"town": "A"}
    assert n == 500
    assert yes == pytest.approx(plan.count(protected, {"vote": "yes", **here}).value, abs=1e-9)
    mean = plan.mean(protected, "age", where=here).value
    assert age == pytest.approx(mean * frame["town"].count("A"), rel=1e-9)
    want = plan.count(protected, {"y": 2, "sex": "M", **here}).value
    assert both == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_missing_values_that_stay_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = 400
    ages: list[list[Any]] = [[10, 20, 40], ["x", "y"]]
    plan = bs.Plan(
        [
            bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.5, missing="keep"),
            bs.Joint(("age", "job"), ages, "randomized_response", beta=0.4, missing="keep"),
            bs.Categorical("vote", ["no", "yes"], "randomized_response", beta=0.4),
        ],
        keep=["town"],
    )  # fmt: skip
    none = rng.random(rows) < 0.3
    frame = pd.DataFrame({
        "sex": [["F", "M", None][i] for i in rng.integers(0, 3, rows)],
        "age": pd.Series(rng.choice([10, 20, 40], rows)).mask(none).astype("Int64"),
        "job": pd.Series(rng.choice(["x", "y"], rows)).mask(none, None),
        "vote": rng.choice(["no", "yes"], rows),
        "town": rng.choice(["A", "B"], rows),
    })  # fmt: skip
    here = {"town": "A"}
    count = plan.count(frame, {"sex": "F", **here}).value
    cell = plan.count(frame, {"age": 10, "job": "y", **here}).value
    mean, share = (
        plan.mean(frame, "age", where=here),
        plan.ratio(frame, {"sex": "F"}, {"vote": "yes"}),
    )
    asked = {
        """bs_count("sex=F"), bs_count("age=10, job=y"), bs_mean("age score")
           FROM protected_corrected WHERE town = 'A'""": (count, cell, mean.value),
        """bs_ratio("sex=F" * "vote=yes", "vote=yes") FROM protected_corrected""": (share.value,),
    }
    connection = duckdb.connect()
    connection.register("protected", frame)
    connection.execute(plan.sql("duckdb"))
    for question, want in asked.items():
        found = connection.execute(f"SELECT {question}").fetchone()
        assert found == pytest.approx(want, abs=1e-9)
    # Errors count all records of the table here, and those with a value there.
    errors = (
        """bs_mean_se("age score") FROM protected_corrected WHERE town = 'A'""",
        """
        bs_ratio_se("sex=F" * "vote=yes", "vote=yes") FROM protected_corrected""",
    )
    known = rows - none.sum(), frame["sex"].notna().sum()
    own = mean.standard_error, share.standard_error
    for question, error, n in zip(errors, own, known, strict=True):
        exact = error * np.sqrt(rows / (rows - 1) / (n / (n - 1)))
        row = connection.execute(f"SELECT {question}").fetchone()
        assert row == pytest.approx((exact,), abs=1e-9)
    stored = sqlite3.connect(":memory:")
    frame.to_sql("protected", stored, index=False)
    stored.executescript(plan.sql("sqlite"))
    question = """SELECT sum("sex=F"), sum("age=10, job=y"), avg("age score")
                  FROM protected_corrected WHERE town = 'A'"""
    assert stored.execute(question).fetchone() == pytest.approx((count, cell, mean.value), abs=1e-9)


def test_what_sql_cannot_correct_raises() -> None:
    plain = bs.Plan([bs.Categorical("sex", ["F", "M"], "k_anonymous", k=2)])
    with pytest.raises(bs.errors.SingularMatrixError, match="column `sex`"):
        plain.sql("duckdb")
    with pytest.raises(ValueError, match="`dialect` must be one of"):
        plain.sql("oracle")  # type: ignore[arg-type]
