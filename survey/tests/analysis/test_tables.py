"""Protected tables analysed: labels, domains, weights, ratios, moments."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from enumerated import expected, samples, worlds
from folded import designed

RESPONSE = bs.randomized_response(2, keep=0.75)
PLAN = sv.Plan(
    [
        sv.Categorical("sex", ["F", "M"], matrix=RESPONSE),
        sv.Categorical(
            "job",
            ["x", "y", "z"],
            groups=("region", {"N": bs.dense([[4, 1, 1], [1, 4, 1], [1, 1, 4]]),
                               "S": bs.dense([[5, 1, 2], [1, 6, 1], [2, 1, 5]])}),
        ),
    ],
    keep=["region", "age", "w", "psu", "stratum"],
)  # fmt: skip
SMALL: dict[str, list[Any]] = {
    "sex": ["F", "M", "F"],
    "job": ["x", "z", "y"],
    "region": ["N", "S", "S"],
    "age": [20, 30, 40],
    "w": [1.0, 2.5, 3.0],
}
JOINT = sv.Plan(
    [
        sv.Joint(
            ("race", "edu"), [["a", "b"], [0, 1, 2]],
            matrix=bs.randomized_response(5, keep=0.6), impossible=[("b", 2)],
        ),
        sv.Categorical("sex", ["F", "M"], matrix=RESPONSE),
    ],
    keep=["age"],
)  # fmt: skip
PAIR: dict[str, list[Any]] = {
    "race": ["a", "b"], "edu": [2, 1], "sex": ["M", "F"], "age": [3, 7],
}  # fmt: skip


LEVELS: dict[str, list[Any]] = {
    "sex": ["F", "M"], "job": ["x", "y", "z"], "region": ["N", "S"], "age": [20, 30, 40],
    "psu": list(range(12)), "stratum": ["u", "v"],
}  # fmt: skip


def table(columns: Any, rows: int, seed: int) -> dict[str, Any]:
    """A random table with these columns."""
    rng = np.random.default_rng(seed)
    return {name: rng.choice(np.array(levels), rows) for name, levels in columns.items()}


def large(rows: int = 600, seed: int = 1) -> dict[str, Any]:
    found = table(LEVELS, rows, seed)
    found["w"] = np.random.default_rng(seed).uniform(0.5, 4, rows)
    return found


# Unbiased, by enumeration of every release.


@pytest.mark.parametrize(("plan", "small", "columns"), [
    *((PLAN, SMALL, each) for each in [("sex",), ("job",), ("job", "sex"), ("region", "job"),
                                       ("age", "sex"), ("sex", "region", "job")]),
    # Columns of a joint attribute may be asked for one by one.
    *((JOINT, PAIR, each) for each in [("race",), ("edu",), ("edu", "race"), ("race", "edu"),
                                       ("edu", "sex")]),
])  # fmt: skip
def test_estimated_shares_are_right_on_average(
    plan: sv.Plan, small: dict[str, list[Any]], columns: tuple[str, ...]
) -> None:
    names: dict[str, list[Any]] = {**LEVELS, "race": ["a", "b"], "edu": [0, 1, 2]}
    total = np.zeros([len(names[column]) for column in columns])
    for p, released in worlds(plan, small):
        found = sv.Release(released, plan).estimate(*columns)
        assert found.shape == total.shape
        total += float(p) * found.counts.reshape(total.shape)
    want = np.zeros_like(total)
    for i in range(len(small["sex"])):
        want[tuple(names[column].index(small[column][i]) for column in columns)] += 1
    assert np.allclose(total, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("where", [{"sex": "F"}, {"job": ["x", "z"]}, {"sex": "M", "job": "z"},
                                   {"job": "y", "age": [20, 40]}, {"region": "S"}])  # fmt: skip
def test_counts_and_their_variances_are_right_on_average(where: dict[str, Any]) -> None:
    met = [
        all(SMALL[k][i] in (v if isinstance(v, list) else [v]) for k, v in where.items())
        for i in range(3)
    ]
    found = [(p, sv.Release(released, PLAN).count(where, population="fixed"))
             for p, released in worlds(PLAN, SMALL)]  # fmt: skip
    mean = sum(p * Fraction(c.value) for p, c in found)
    assert float(mean) == pytest.approx(sum(met), abs=1e-12)
    variance = sum(p * (Fraction(c.value) - mean) ** 2 for p, c in found)
    # The estimated variance may be negative, and its root is then cut: here it never is.
    squares = sum(p * Fraction(c.standard_error) ** 2 for p, c in found)
    assert float(squares) >= float(variance) - 1e-12
    weighted = expected(
        PLAN, SMALL, lambda t: sv.Release(t, PLAN).count(where, design=sv.Design(weights="w")).value
    )
    want = sum(w for w, yes in zip(SMALL["w"], met, strict=True) if yes)
    assert weighted == pytest.approx(want, abs=1e-12)


def test_the_variance_of_a_count_of_a_sample_is_right_on_average() -> None:
    plan = sv.Plan([sv.Categorical("x", [0, 1, 2], matrix=bs.tridiagonal(0.25, size=3))])
    people = {"x": [0, 0, 1, 2]}
    found = [
        (p * q, sv.Release(released, plan).count({"x": [1, 2]}))
        for p, drawn in samples(people, 3)
        for q, released in worlds(plan, drawn)
    ]
    mean = sum(p * Fraction(c.value) for p, c in found)
    assert float(mean) == pytest.approx(3 / 2, abs=1e-12)
    variance = sum(p * (Fraction(c.value) - mean) ** 2 for p, c in found)
    squares = sum(p * Fraction(c.standard_error) ** 2 for p, c in found)
    assert float(squares) == pytest.approx(float(variance), rel=1e-12)


def test_means_are_right_on_average() -> None:
    scores = {"x": 1.0, "y": 4.0, "z": -2.0}
    # All, inside a domain in clear, and under weights.
    every: list[tuple[dict[str, Any], float]] = [
        ({"population": "fixed"}, (1 - 2 + 4) / 3),
        ({"where": {"region": "S"}}, (-2 + 4) / 2),
        ({"weights": "w"}, (1 - 2 * 2.5 + 4 * 3) / 6.5),
    ]
    for options, want in every:
        total = 0.0
        for p, released in worlds(PLAN, SMALL):
            total += (
                float(p) * sv.Release(released, PLAN).mean("job", scores, **designed(options)).value
            )
        assert total == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("columns", [("race", "edu"), ("edu", "sex"), ("edu", "age"),
                                     ("edu", "edu"), ("sex", "sex")])  # fmt: skip
def test_covariances_are_right_on_average(columns: tuple[str, str]) -> None:
    scores = {"race": [0, 1], "edu": [0, 2, 5], "sex": [0, 1]}
    given = {name: scores[name] for name in columns if name in scores}
    numbers = {
        "race": [0, 1], "edu": [5, 2], "sex": [1, 0], "age": PAIR["age"],
    }  # fmt: skip
    x, y = (np.array(numbers[name], float) for name in columns)
    want = np.mean(x * y) - np.mean(x) * np.mean(y)
    found = expected(
        JOINT, PAIR,
        lambda t: sv.Release(t, JOINT).covariance(columns, given, population="fixed").value,
    )  # fmt: skip
    assert found == pytest.approx(want, abs=1e-12)
    # A sample of two of the same people, divided by the records less 1.
    total = 0.0
    for p, drawn in samples(PAIR, 2):
        each = expected(
            JOINT, drawn, lambda t: sv.Release(t, JOINT).covariance(columns, given).value
        )
        total += float(p) * each
    assert total == pytest.approx(want, abs=1e-12)


def test_a_number_permuted_by_randomized_response_is_undone_on_average() -> None:
    law = bs.randomized_response(4, keep=0.7)
    plan = sv.Plan(
        [sv.Numeric("income", matrix=law), sv.Categorical("sex", ["F", "M"], matrix=RESPONSE)],
        keep=["age"],
    )
    incomes, ages = [10.0, 20.0, 60.0, 100.0], [1, 4, 2, 8]
    # Any law of permutations with these entries serves: identity, or one of the cyclic shifts.
    shifts = [[(i + k) % 4 for i in range(4)] for k in range(4)]
    weights = [law.exact_row(0)[k] for k in range(4)]
    total, inside = Fraction(0), Fraction(0)
    for shift, p in zip(shifts, weights, strict=True):
        moved = [0.0] * 4
        for u, v in enumerate(shift):
            moved[v] = incomes[u]
        frame = {"income": moved, "age": ages, "sex": ["F", "M", "F", "M"]}
        total += p * Fraction(
            sv.Release(frame, plan).covariance(["income", "age"], population="fixed").value
        )
        inside += p * Fraction(sv.Release(frame, plan).mean("income", where={"age": [1, 2]}).value)
    want = np.mean(np.array(incomes) * ages) - np.mean(incomes) * np.mean(ages)
    assert float(total) == pytest.approx(want, rel=1e-12)
    assert float(inside) == pytest.approx((10 + 60) / 2, rel=1e-12)


def test_what_a_permutation_keeps_is_told_as_it_is() -> None:
    rng = np.random.default_rng(5)
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)], keep=["age"])
    values = rng.lognormal(3, 1, 300)
    data = plan.protect({"income": values, "age": rng.integers(20, 60, 300)}).data
    found = sv.Release(data, plan).mean("income", population="fixed")
    assert found.value == pytest.approx(values.mean())
    assert found.standard_error == 0
    assert sv.Release(data, plan).mean("income").standard_error == pytest.approx(
        values.std(ddof=1) / math.sqrt(300)
    )
    assert sv.Release(data, plan).covariance(["income", "income"]).value == pytest.approx(
        values.var(ddof=1)
    )
    fixed = sv.Release(data, plan).covariance(["income", "income"], population="fixed")
    assert fixed.value == pytest.approx(values.var())
    assert sorted(data["income"]) == sorted(values)
    sentence = r"column `income`: .*; got k_anonymous, which cannot"
    with pytest.raises(ValueError, match=sentence):
        sv.Release(data, plan).covariance(["income", "age"])
    # A mean of some of them is within the classes that numbers were exchanged in.
    assert sv.Release(data, plan).mean("income", where={"age": 30}).shift[0] > 0


# Weights: with identity matrices, the results of survey statistics, computed by hand.

CLEAR = sv.Plan(
    [
        sv.Categorical("sex", ["F", "M"], "identity"),
        sv.Categorical("job", ["x", "y", "z"], "identity"),
    ],
    keep="*",
)


def linearised(z: Any, strata: Any, clusters: Any) -> float:
    """The variance of a total of z, with replacement between clusters within strata."""
    total = 0.0
    for h in np.unique(strata):
        inside = strata == h
        names = np.unique(clusters[inside])
        sums = np.array([z[inside & (clusters == c)].sum() for c in names])
        total += len(sums) / (len(sums) - 1) * ((sums - sums.mean()) ** 2).sum()
    return float(total)


def designs(frame: dict[str, Any]) -> dict[str, tuple[dict[str, Any], Any, Any, float]]:
    rows = np.arange(len(frame["w"]))
    one = np.zeros(len(rows))
    n = len(rows)
    return {
        "weights": ({"weights": "w"}, one, rows, n - 1),
        "strata": ({"weights": "w", "strata": "stratum"}, frame["stratum"], rows, n - 2),
        "clusters": ({"weights": "w", "cluster": "psu"}, one, frame["psu"], 11),
        "both": (
            {"weights": "w", "strata": "stratum", "cluster": "psu"},
            frame["stratum"], frame["psu"], 22,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["weights", "strata", "clusters", "both"])
def test_weighted_shares_in_clear_are_those_of_survey_statistics(name: str) -> None:
    frame = large()
    options, strata, clusters, degrees = designs(frame)[name]
    w = frame["w"]
    found = sv.Release(frame, CLEAR).estimate("sex", "job", **designed(options))
    assert found.degrees == degrees
    assert found.counts.sum() == pytest.approx(w.sum())
    for cell, (sex, job) in enumerate((s, j) for s in "FM" for j in "xyz"):
        y = ((frame["sex"] == sex) & (frame["job"] == job)).astype(float)
        p = (w * y).sum() / w.sum()
        error = math.sqrt(linearised(w * (y - p) / w.sum(), strata, clusters))
        assert found.frequencies[cell] == pytest.approx(p, rel=1e-12)
        assert found.standard_errors[cell] == pytest.approx(error, rel=1e-9)
    from scipy import stats

    t = stats.t.isf(0.025, degrees)
    away = np.stack([found.frequencies - t * found.standard_errors,
                     found.frequencies + t * found.standard_errors], axis=1)  # fmt: skip
    assert np.allclose(found.interval(), np.clip(away, 0, 1), rtol=0, atol=1e-12)
    assert np.allclose(np.sqrt(np.diag(found.covariance)), found.standard_errors, rtol=1e-9)


@pytest.mark.parametrize("name", ["weights", "strata", "clusters", "both"])
def test_weighted_domains_counts_ratios_and_means_are_those_of_survey_statistics(name: str) -> None:
    frame = large()
    options, strata, clusters, _ = designs(frame)[name]
    w = frame["w"]
    d = (frame["age"] == 30).astype(float)
    y = (frame["sex"] == "F").astype(float)

    def error(z: Any) -> float:
        return math.sqrt(linearised(z, strata, clusters))

    total = sv.Release(frame, CLEAR).count({"sex": "F", "age": 30}, **designed(options))
    assert total.value == pytest.approx((w * d * y).sum())
    assert total.standard_error == pytest.approx(error(w * d * y), rel=1e-9)
    p = (w * d * y).sum() / (w * d).sum()
    linear = error(w * d * (y - p) / (w * d).sum())
    share = sv.Release(frame, CLEAR).ratio({"sex": "F"}, {"age": 30}, **designed(options))
    assert share.value == pytest.approx(p)
    assert share.standard_error == pytest.approx(linear, rel=1e-9)
    domain = sv.Release(frame, CLEAR).estimate("sex", where={"age": 30}, **designed(options))
    assert domain.frequencies[0] == pytest.approx(p)
    assert domain.standard_errors[0] == pytest.approx(linear, rel=1e-9)
    s = np.array([{"x": 0.0, "y": 1.0, "z": 5.0}[j] for j in frame["job"]])
    m = (w * d * s).sum() / (w * d).sum()
    found = sv.Release(frame, CLEAR).mean("job", [0, 1, 5], where={"age": 30}, **designed(options))
    assert found.value == pytest.approx(m)
    assert found.standard_error == pytest.approx(error(w * d * (s - m) / (w * d).sum()), rel=1e-9)
    # A domain among categories: the same numbers, since the matrix is the identity.
    inner = sv.Release(frame, CLEAR).estimate("job", where={"sex": "F"}, **designed(options))
    p = (w * y * (frame["job"] == "z")).sum() / (w * y).sum()
    linear = error(w * y * ((frame["job"] == "z") - p) / (w * y).sum())
    assert inner.frequencies[2] == pytest.approx(p)
    assert inner.standard_errors[2] == pytest.approx(linear, rel=1e-9)


def test_equal_weights_are_records() -> None:
    frame = large()
    frame["one"] = np.ones(600)
    for columns in (("sex",), ("job",), ("sex", "job", "region")):
        plain, weighted = (
            sv.Release(frame, PLAN).estimate(*columns),
            sv.Release(frame, PLAN).estimate(*columns, design=sv.Design(weights="one")),
        )
        assert np.allclose(plain.frequencies, weighted.frequencies)
        assert np.allclose(plain.standard_errors, weighted.standard_errors)
        assert np.allclose(plain.covariance, weighted.covariance)
        fixed = sv.Release(frame, PLAN).estimate(*columns, population="fixed")
        same = sv.Release(frame, PLAN).estimate(
            *columns, population="fixed", design=sv.Design(weights="one")
        )
        assert np.allclose(fixed.standard_errors, same.standard_errors)
        assert np.allclose(fixed.covariance, same.covariance)
        assert np.allclose(np.diag(fixed.covariance), fixed.standard_errors**2)
    m = bs.kron(RESPONSE, bs.geometric(3, beta=0.4))
    codes = np.random.default_rng(2).integers(0, 6, 500).astype(np.uint8)
    for population in ("sampled", "fixed"):
        plain = m.estimate(codes, population=population)
        weighted = m.estimate(codes, weights=np.ones(500), population=population)
        assert np.allclose(plain.standard_errors, weighted.standard_errors)
        assert np.allclose(plain.covariance, weighted.covariance)


def test_other_methods_give_distributions_and_say_whose_errors_stand_there() -> None:
    frame = large(rows=60)
    for method in ("mle", "simplex", "shrunk"):
        for options in ({}, {"where": {"job": ["x", "y"]}}, {"weights": "w"}):
            found = sv.Release(frame, PLAN).estimate(
                "job", "sex", method=method, **designed(options)
            )
            assert found.frequencies.sum() == pytest.approx(1)
            assert (found.frequencies >= 0).all()
            assert "from the method inverse" in repr(found)
    # Where the inverse is a distribution in every stratum, it is the likeliest.
    frame = large(rows=5000)
    likely = sv.Release(frame, PLAN).estimate("job", method="mle")
    assert np.allclose(
        likely.frequencies, sv.Release(frame, PLAN).estimate("job").frequencies, atol=1e-8
    )


# Labels and libraries.


def makers(frame: dict[str, Any]) -> dict[str, Any]:
    arrow = pa.table(frame)
    pandas = pd.DataFrame(frame)
    return {
        "dict": frame,
        "pandas": pandas,
        "categories": pandas.astype({"sex": "category", "region": "category", "age": "category"}),
        "filtered": pd.concat([pandas, pandas]).iloc[: len(pandas)].set_index(pandas.index[::-1]),
        "polars": pl.DataFrame(frame),
        "polars categories": pl.DataFrame(frame).with_columns(
            pl.col("region").cast(pl.Categorical)
        ),
        "pyarrow": arrow,
        "batch": arrow.to_batches()[0],
        "dictionaries": arrow.set_column(2, "region", arrow["region"].dictionary_encode()),
        "duckdb": duckdb.connect().from_arrow(arrow),
    }


KINDS = sorted(makers({"sex": ["F"], "job": ["x"], "region": ["N"], "age": [20]}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_the_same_from_every_library(kind: str) -> None:
    frame = {k: v for k, v in large().items() if k != "stratum"}
    frame = {"sex": frame["sex"], "job": frame["job"], "region": frame["region"], **frame}
    given = makers(frame)[kind]
    found = sv.Release(given, PLAN).estimate("region", "sex", "age")
    plain = sv.Release(frame, PLAN).estimate("region", "sex", "age")
    assert np.array_equal(found.frequencies, plain.frequencies)
    assert [axis.name for axis in found.axes] == ["region", "sex", "age"]
    assert found.axes[2].categories == (20, 30, 40)
    long = found.to_columns()
    numbers = ["reported", "frequency", "count", "standard_error", "low", "high"]
    assert list(long) == ["region", "sex", "age", *numbers]
    assert [str(x) for x in long["sex"]][:4] == ["F", "F", "F", "M"]
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


def test_missing_values_are_a_level_or_left_out() -> None:
    law = bs.randomized_response(3, keep=0.8)
    plan = sv.Plan([sv.Categorical("a", ["x", "y"], matrix=law, missing="category")], keep=["b"])
    frame = {"a": ["x", None, "y", "x", None] * 20, "b": ["u", None, "u", "v", "v"] * 20}
    found = sv.Release(frame, plan).estimate("a", "b")
    assert [axis.categories for axis in found.axes] == [("x", "y", None), ("u", "v", None)]
    assert "(missing)" in repr(found)
    only = sv.Release(frame, plan).estimate("a", where={"a": [None, "x"]})
    assert only.axes[0].categories == ("x", None)
    whole = found.counts.reshape(3, 3).sum(axis=1)
    assert only.counts == pytest.approx(whole[[0, 2]])
    kept = sv.Plan([sv.Categorical("a", ["x", "y"], matrix=RESPONSE, missing="keep")])
    found = sv.Release({"a": frame["a"]}, kept).estimate("a")
    assert (found.records, found.counts.sum()) == (60, pytest.approx(60))
    assert "40 records without an answer left out" in repr(found)
    assert sv.Release({"a": frame["a"]}, kept).count({"a": "x"}).records == 60


def test_categories_of_a_matrix() -> None:
    m = bs.kron(RESPONSE, bs.randomized_response(3, keep=0.8))
    found = m.estimate(
        counts=[30, 20, 10, 10, 20, 30], categories={"sex": ["F", "M"], "age": [1, 2, 3]}
    )
    assert found.shape == (2, 3)
    assert repr(found).splitlines()[1].split() == [
        "sex", "age", "reported", "frequency", "count", "standard_error", "low", "high",
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"`categories` must hold 6 names, or .*; got 2 x 2"):
        m.estimate(counts=range(6), categories={"a": [1, 2], "b": [1, 2]})
    with pytest.raises(ValueError, match="`categories` must be distinct"):
        RESPONSE.estimate(counts=[1, 2], categories=["a", "a"])


def test_weighted_sums_are_not_taken_for_records() -> None:
    with pytest.raises(ValueError, match=r"`counts` must be numbers of records, 1000 .* 6.1e\+09"):
        RESPONSE.estimate(counts=[6.1e9, 1e3], records=1000)
    assert RESPONSE.estimate(counts=[600, 400], records=1000).records == 1000
    with pytest.raises(TypeError, match="`weights` must be given with codes"):
        RESPONSE.estimate(counts=[600, 400], weights=[1, 2])


def test_a_picture_shows_reported_and_estimated() -> None:
    found = sv.Release(large(), PLAN).estimate(
        "sex", "job", design=sv.Design(weights="w"), method="mle"
    )
    figure = found.plot()
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_yticklabels()][:2] == ["F, x", "F, y"]
    assert np.allclose(ax.lines[0].get_xdata(), found.frequencies)
    assert np.allclose(ax.lines[1].get_xdata(), found.reports)
    with pytest.raises(TypeError, match="`estimate` must be an estimate; got int"):
        bs.plot.estimate(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 200 cells to be drawn; got 1000"):
        bs.identity(1000).estimate(counts=np.ones(1000)).plot()


# Ratios.


def test_fieller_is_unbounded_where_the_denominator_may_be_zero() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1], "randomized_response", keep=0.55),
                    sv.Categorical("b", [0, 1], "randomized_response", keep=0.55)])  # fmt: skip
    rng = np.random.default_rng(1)
    frame = {"a": rng.integers(0, 2, 50), "b": rng.integers(0, 2, 50)}
    found = sv.Release(frame, plan).ratio({"a": 1}, {"b": 1})
    assert not found.is_bounded()
    assert found.interval() == (-math.inf, math.inf)
    assert "unbounded: what it is a share of may be 0" in repr(found)
    assert found.is_bounded(0.01)
    ((low, high),) = found.region(0.01)
    assert low <= found.value <= high


def test_fieller_covers_near_zero_denominators() -> None:
    # False alarm below 1e-6: a binomial of 2000 at 0.95 is below 0.92 with less than that.
    from bistochastic_survey.analysis.quantities import Ratio

    rng = np.random.default_rng(7)
    for below in (0.0, 0.5, 1.0, 3.0, 10.0):
        top, hits = 0.7 * below, 0
        for _ in range(2000):
            x, y = rng.normal(size=2)
            r = Ratio("ratio", 0.0, 0.0, 10**9, "sampled", 1e9, numerator=top + x,
                      denominator=below + 0.6 * x + 0.8 * y,
                      variances=(1.0, 0.6, 1.0))  # fmt: skip
            hits += any(a <= 0.7 <= b for a, b in r.region())
        assert hits >= 0.92 * 2000
        if below == 0.0:
            assert hits <= 0.98 * 2000


# Weights for other software, and searches that end early.


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
def test_raking_weights_have_the_likeliest_margins(kind: str) -> None:
    frame = large()
    found = np.asarray(sv.Release(makers(frame)[kind], PLAN).calibration_weights(), dtype=float)
    assert found.sum() == pytest.approx(600)
    assert (found >= 0).all()
    for name in ("sex", "job"):
        likely = sv.Release(frame, PLAN).estimate(name, method="mle")
        sums = [found[frame[name] == level].sum() for level in likely.axes[0].categories]
        assert sums == pytest.approx(likely.counts, rel=1e-6)
    # Within the strata, each of which has a law of its own.
    cells = sv.Release(frame, PLAN).estimate("region", "job", method="mle").counts.reshape(2, 3)
    south = found[(frame["region"] == "S") & (frame["job"] == "z")].sum()
    assert south == pytest.approx(cells[1, 2], rel=1e-6)
    weighted = sv.Release(frame, PLAN).calibration_weights(weights="w")
    assert weighted.sum() == pytest.approx(frame["w"].sum())
    share = weighted[frame["sex"] == "F"].sum() / weighted.sum()
    again = sv.Release(frame, PLAN).estimate("sex", method="mle", design=sv.Design(weights="w"))
    assert share == pytest.approx(again.frequencies[0], rel=1e-6)


def test_raking_leaves_alone_who_did_not_answer() -> None:
    plan = sv.Plan([sv.Categorical("a", ["x", "y"], matrix=RESPONSE, missing="keep")])
    found = sv.Release({"a": ["x"] * 60 + ["y"] * 40 + [None] * 10}, plan).calibration_weights()
    assert found[100:] == pytest.approx(np.ones(10))
    assert found[:60].sum() == pytest.approx(70)


def test_a_search_ends_at_its_gap_or_its_time_and_says_how_far_it_came() -> None:
    m = bs.geometric(3000, beta=0.5)
    counts = np.random.default_rng(1).poisson(2, 3000)
    heard: list[float] = []
    rough = m.estimate(counts=counts, method="mle", gap=0.05, progress=heard.append)
    assert 1e-6 < rough.gap <= 0.05
    assert heard == sorted(heard, reverse=True)
    assert f"gap {rough.gap:.1e} nats per record" in repr(rough)
    fine = m.estimate(counts=counts, method="mle", gap=1e-4)
    assert fine.gap <= 1e-4
    assert fine.steps > rough.steps
    hurried = m.estimate(counts=counts, method="mle", seconds=1e-9)
    assert hurried.gap > rough.gap
    assert hurried.frequencies.sum() == pytest.approx(1)
    heard.clear()
    drawn = m.estimate(counts=counts, method="shrunk", gap=0.01, progress=heard.append)
    assert heard
    assert drawn.frequencies.sum() == pytest.approx(1)
    quick = m.estimate(counts=counts, method="shrunk", seconds=1e-9)
    assert quick.steps <= drawn.steps
    wrongs: list[dict[str, Any]] = [{"gap": 0}, {"seconds": -1}, {"progress": 3}]
    for wrong in wrongs:
        with pytest.raises((ValueError, TypeError), match="must be a"):
            m.estimate(counts=counts, method="mle", **wrong)


# Bad input: one sentence, and never a value of the data.

FRAME = large(rows=40)


ANY: list[Any] = [3, "sex"]
D: Any = sv.Design


def given(**changes: Any) -> sv.Release[Any]:
    return sv.Release({**FRAME, **changes}, PLAN)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: given().estimate(), "`columns` must name one or more; got none"),
        (lambda: given().estimate("sex", "sex"),
         "`columns` must be different; got `sex` twice"),
        (lambda: given().estimate("tail"), "`frame` must have the column `tail`; got none"),
        (lambda: given().estimate(*ANY), "`columns` must be a string; got int"),
        (lambda: given().count({"tail": 1}), "`frame` must have the column `tail`"),
        (lambda: given().count({"sex": "X"}),
         "`where` must hold declared categories of `sex`; got 'X'"),
        (lambda: given().count({"sex": ["F", None]}), "declared categories of `sex`; got None"),
        (lambda: given().count(ANY[1]),
         "`where` must be a dict from columns to lists .*; got str"),
        (lambda: given().count({"sex": []}), "`where` must .*; got none for `sex`"),
        (lambda: given().count({}), "`where` must hold one or more conditions; got none"),
        (lambda: given().estimate("sex", where={"age": None}),
         "`where` must leave at least one"),
        (lambda: given().estimate("sex", where={"age": 99}),
         "categories that occur in column `age`"),
        (lambda: given().estimate("sex", design=D(weights="sex")),
         "`weights` must name unprotected columns"),
        (lambda: given().estimate("sex", design=D(weights="none")),
         "`weights` must have the column `none`"),
        (lambda: given(w=-FRAME["w"]).estimate("sex", design=D(weights="w")),
         "column `w`: `weights` must hold non-negative numbers; got a negative .* row 0"),
        (lambda: given(w=FRAME["w"] * np.inf).estimate("sex", design=D(weights="w")),
         "column `w`: `weights` must hold .*; got one that is missing or infinite in row 0"),
        (lambda: given(w=FRAME["w"] * np.nan).estimate("sex", design=D(weights="w")),
         "column `w`: `weights` must hold non-negative numbers; got 40 missing, the first in"),
        (lambda: given(w=FRAME["region"]).estimate("sex", design=D(weights="w")),
         "column `w`: `weights` must hold non-negative numbers; got dtype"),
        (lambda: given(w=FRAME["w"] * 0).estimate("sex", design=D(weights="w")),
         "`weights` must have a positive one inside the domain; got none"),
        (lambda: given().estimate("sex", design=D(replicates=["w", "age"])),
         "`replicates` must come with"),
        (lambda: given().estimate("sex", design=D(weights="w", replicates="w")),
         "must be a list of two"),
        (lambda: given().estimate("sex", design=D(weights="w", replicates=["w"])),
         "two or more .*; got 1"),
        (lambda: given(r=[1.0]).estimate("sex", design=D(weights="w", replicates=["r", "w"])),
         "`frame` must hold columns of one length; got 1, 40"),
        (lambda: given().estimate("sex", design=D(replicate_scale=1)), "must come with replicates"),
        (lambda: given().estimate("sex", design=sv.Design(cluster="psu"), population="fixed"),
         "must be sampled if strata, cluster, replicates or fpc are given; got fixed"),
        (lambda: given(s=list(range(40))).estimate("sex", design=D(strata="s")),
         "`strata` must have two or more records each; got 40 with one"),
        (lambda: given().estimate("sex", gap=1e-3), "`gap` must go with the method mle"),
        (lambda: given().mean("job"),
         "column `job`: `scores` must hold a number for each of 3"),
        (lambda: given().mean("job", [1, 2]), "`scores` must hold a number .*; got 2"),
        (lambda: given().mean("job", {"x": 1, "q": 2, "z": 1}),
         "`scores` must .*; got 1 names that are none"),
        (lambda: given().mean("age", [1]), "`scores` must be given only for columns of cat"),
        (lambda: given().mean("region"), "column `region`: must hold finite numbers"),
        (lambda: given().mean("age", where={"age": None}),
         "with a subgroup with records; got none"),
        (lambda: given().covariance(["age"]), "`columns` must be two names; got 1"),
        (lambda: given().covariance(["age", "w"], {"sex": [0, 1]}),
         "`scores` must be of the requested columns; got some for `sex`"),
        (lambda: RESPONSE.estimate([0, 1], weights=[1]),
         "`weights` must .*one for each of 2 records"),
        (lambda: RESPONSE.estimate([0, 1], weights=[1, -2]),
         "`weights` must .*; got a negative one"),
        (lambda: RESPONSE.estimate([0, 7], weights=[1, 2]),
         "`codes` must hold integers from 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    assert not text.endswith(".")


def test_columns_that_hold_something_else_than_the_plan_says_are_refused_without_the_value() -> (
    None
):
    with pytest.raises(ValueError, match="column `sex`: must hold declared categories only; got 1"):
        sv.Release({**FRAME, "sex": np.array(["F"] * 39 + ["secret"])}, PLAN).estimate("sex")
    classes = sv.Plan([sv.Categorical("a", [0, 1, 2, 3], "k_anonymous", k=2)])
    with pytest.raises(bs.errors.SingularMatrixError, match="only the totals of its 2 classes"):
        sv.Release({"a": [0, 1, 2, 3]}, classes).estimate("a")
    with pytest.raises(bs.errors.SingularMatrixError, match="`count` must be used with an inv"):
        sv.Release({"a": [0, 1, 2, 3]}, classes).count({"a": 0})


ON_THREADS = """
import hashlib
import numpy as np
import bistochastic as bs
import bistochastic_survey as sv
n = 300_000
rng = np.random.default_rng(1)
plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
                sv.Categorical("town", list(range(9)), "geometric", beta=0.5)], keep=["w"])
table = {"sex": np.array(["F", "M"])[rng.integers(0, 2, n)], "town": rng.integers(0, 9, n),
         "w": rng.lognormal(0, 1, n)}
data = plan.protect(table, key=bs.Key.insecure(1), release_name="r", allow_insecure=True).data
found = sv.Release(data, plan).estimate("sex", "town", design=sv.Design(weights="w"))
seen = b"".join(x.tobytes() for x in (*map(np.asarray, data.values()), found.frequencies,
                                      found.standard_errors))
print(hashlib.sha256(seen).hexdigest())
"""


def test_releases_and_weighted_tables_do_not_depend_on_the_threads() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", ON_THREADS],
            env={**os.environ, "BISTOCHASTIC_THREADS": threads},
            capture_output=True, text=True, check=True,
        ).stdout
        for threads in ("1", "2", "7")
    }  # fmt: skip
    assert len(found) == 1


LARGE = [1e51, 1e155, 1e300, 1.7e308]
TINY = [9e-51, 1e-170, 1e-300, 5e-324]


@pytest.mark.parametrize("weight", [*LARGE, *TINY])
def test_weights_whose_squares_no_number_holds_are_refused(weight: float) -> None:
    frame = large(rows=40)
    frame["w"][3] = weight
    said = r"must hold 0 or numbers from 1e-50 to 1e\+50; got one outside of that"
    calls: list[Any] = [
        lambda: sv.Release(frame, PLAN).estimate("sex", design=sv.Design(weights="w")),
        lambda: sv.Release(frame, PLAN).estimate(
            "sex", design=sv.Design(weights="w"), where={"job": "x"}
        ),
        lambda: sv.Release(frame, PLAN).mean("age", design=sv.Design(weights="w")),
        lambda: sv.Release(frame, PLAN).calibration_weights(weights="w"),
        lambda: sv.Release({**frame, "v": np.ones(40)}, PLAN).estimate(
            "sex", design=sv.Design(weights="v", replicates=["w", "v"])
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=rf"^column `w`: `\w+` {said} in row 3$"):
            call()
    with pytest.raises(ValueError, match=rf"^`weights` {said} at position 3$"):
        RESPONSE.estimate([0, 1] * 20, weights=frame["w"])


@pytest.mark.parametrize("scale", [1e-49, 1e-20, 1e20, 2e49])
def test_errors_do_not_depend_on_the_unit_of_weights(scale: float) -> None:
    frame = large(rows=40)
    every: list[dict[str, Any]] = [
        {}, {"where": {"age": 30}}, {"where": {"job": "x"}}, {"cluster": "psu"},
    ]  # fmt: skip
    for options in every:
        want = sv.Release(frame, PLAN).estimate("sex", **designed(options, weights="w"))
        found = sv.Release({**frame, "w": frame["w"] * scale}, PLAN).estimate(
            "sex", **designed(options, weights="w")
        )
        assert np.allclose(found.standard_errors, want.standard_errors, rtol=1e-9)
        assert np.allclose(found.interval(), want.interval(), rtol=1e-9)
    want = RESPONSE.estimate([0, 1, 1, 0, 1], weights=[1, 2, 3, 4, 5])
    found = RESPONSE.estimate([0, 1, 1, 0, 1], weights=np.arange(1, 6) * scale)
    assert np.allclose(found.interval(), want.interval(), rtol=1e-9)
