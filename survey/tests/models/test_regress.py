"""Regression on protected tables: reference numbers, other software, exact laws, bad input."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix
from scipy import stats

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.models import categories, formula, records
from bistochastic_survey.models.regression import regress

RR: Any = "randomized_response"
# A difference set of seven codes: those beyond the categories are reported and never true.
SEVEN: Any = (7, [0, 1, 3])


def key_of(name: str) -> bs.Key:
    """A key hashed from the name of a test."""
    return bs.Key.insecure(sum(ord(c) * 31**i for i, c in enumerate(name)) % 2**31)


@pytest.fixture(scope="module")
def adult() -> tuple[pd.DataFrame, sv.Plan, pd.DataFrame]:
    """The Adult census, the plan of the reference numbers, and the protected table."""
    path = Path(os.environ.get("BISTOCHASTIC_DATA", "")) / "adult.csv"
    if not path.is_file():
        pytest.skip("adult.csv is not in BISTOCHASTIC_DATA")
    frame = pd.read_csv(path, skipinitialspace=True)
    frame["hours"] = np.digitize(frame["hours-per-week"], [35, 41, 51])
    frame["rich"] = (frame["salary-class"] == ">50K").astype(int)
    columns = ["education-num", "sex", "salary-class", "hours", "hours-per-week", "rich"]
    frame = frame[columns]
    plan = sv.Plan(
        [
            sv.Categorical("education-num", range(1, 17), RR, beta=0.6),
            sv.Categorical("sex", ["Female", "Male"], RR, beta=0.6),
            sv.Categorical("salary-class", ["<=50K", ">50K"], RR, beta=0.3),
        ],
        name="adult",
        keep=columns[3:],
    )
    key = bs.Key.insecure(1)
    data = plan.protect(frame, key=key, release_name="r1", allow_insecure=True).data
    assert data["education-num"].sum() == 306992
    assert (data["sex"] == "Male").sum() == 20281
    assert (data["salary-class"] == ">50K").sum() == 8753
    return frame, plan, data


def assert_numbers(found: Any, coefficients: Any, errors: Any = None, atol: float = 6e-7) -> None:
    np.testing.assert_allclose(found.coefficients, coefficients, rtol=0, atol=atol)
    if errors is not None:
        np.testing.assert_allclose(found.standard_errors, errors, rtol=0, atol=atol)


def test_reference_numbers_of_the_corrected_score(adult: Any) -> None:
    _, plan, data = adult
    found = sv.Release(data, plan).regress("rich ~ `education-num` + sex + hours", model="logistic")
    assert_numbers(found, [-6.200563, 0.334672, 1.167291, 0.472028],
                   [0.239703, 0.021019, 0.069207, 0.021086])  # fmt: skip
    found = sv.Release(data, plan).regress(
        "`salary-class` ~ `education-num` + sex + hours", model="logistic"
    )
    assert_numbers(found, [-6.178898, 0.335324, 1.137887, 0.470654],
                   [0.277061, 0.024029, 0.080834, 0.023918])  # fmt: skip
    found = sv.Release(data, plan).regress("hours ~ `education-num` + sex", model="multinomial")
    assert_numbers(found, [0.111058, 0.061348, 0.773424, -3.439787, 0.245892, 1.544182,
                           -3.969967, 0.217062, 1.969043])  # fmt: skip
    assert found.names[3] == "2: Intercept"


def test_reference_numbers_of_corrected_moments(adult: Any) -> None:
    _, plan, data = adult
    found = sv.Release(data, plan).regress(
        "`hours-per-week` ~ `education-num` + sex", model="linear"
    )
    assert_numbers(found, [28.812610, 0.747096, 6.127384], [0.664031, 0.063751, 0.219691])
    found = sv.Release(data, plan).regress("`salary-class` ~ `education-num` + sex", model="linear")
    assert_numbers(found, [-0.418116, 0.052976, 0.189636], [0.029212, 0.002800, 0.009289])
    assert found.outcomes == (">50K",)


def test_reference_numbers_of_the_likelihood(adult: Any) -> None:
    frame, plan, data = adult
    # Only the outcome is protected: the likelihood of the reports, by default.
    part = sv.Plan([plan.attributes[2]], name="adult", keep="*")
    mixed = data.assign(**{name: frame[name] for name in ("education-num", "sex")})
    found = sv.Release(mixed, part).regress(
        "`salary-class` ~ `education-num` + sex + hours", model="logistic"
    )
    assert found.method == "likelihood"
    assert_numbers(found, [-6.463492, 0.355117, 1.200700, 0.478475],
                   [0.107370, 0.008048, 0.046056, 0.019725])  # fmt: skip


def test_reported_values_taken_as_true_ones_give_the_naive_numbers(adult: Any) -> None:
    frame, plan, data = adult
    text = "rich ~ `education-num` + sex + hours"
    naive = regress(sv.Release(data, plan), text, "logistic", None, None, raw=True)
    assert_numbers(naive, [-3.289602, 0.088849, 0.622063, 0.631114])
    original = regress(sv.Release(frame, plan), text, "logistic", None, None, raw=True)
    assert_numbers(original, [-6.428275, 0.351090, 1.189960, 0.490961])
    linear = regress(
        sv.Release(frame, plan),
        "`hours-per-week` ~ `education-num` + sex",
        "linear",
        None,
        None,
        raw=True,
    )
    assert_numbers(linear, [29.410572, 0.697486, 5.970891])


def made(n: int, seed: int) -> pd.DataFrame:
    """Records with a known model of every kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "x": rng.integers(0, 4, n), "s": rng.choice(["a", "b", "c"], n), "z": rng.normal(size=n),
        "town": rng.choice(["N", "S"], n),
    })  # fmt: skip
    eta = -0.5 + 0.4 * frame["x"] + 0.5 * (frame["s"] == "b") - 0.3 * frame["z"]
    frame["bit"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    frame["count"] = rng.poisson(np.exp(eta / 2))
    frame["three"] = (rng.random(n) < 0.5 / (1 + np.exp(-eta))).astype(int) + frame["bit"]
    frame["number"] = eta + rng.normal(size=n)
    return frame


def plan_of(frame: pd.DataFrame, how: Any) -> sv.Plan:
    """``how`` gives the matrix of so many categories."""
    sizes: dict[str, list[Any]] = {
        "x": [0, 1, 2, 3],
        "s": ["a", "b", "c"],
        "bit": [0, 1],
        "three": [0, 1, 2],
    }
    return sv.Plan(
        [sv.Categorical(name, each, matrix=how(len(each))) for name, each in sizes.items()],
        keep=[name for name in frame.columns if name not in sizes],
    )


@pytest.mark.parametrize(
    "rest", ["x + s + z", "C(x) * town", "s * z + x:town", "np.exp(z) + x:z", "I(z**2) + x"]
)
def test_identity_matrices_give_what_statsmodels_gives(rest: str) -> None:
    frame = made(1500, 3)
    plan = plan_of(frame, bs.identity)
    data = plan.protect(frame).data
    design = model_matrix(rest, frame)
    for kind, outcome, peer in (
        ("linear", "number", sm.OLS),
        ("logistic", "bit", sm.Logit),
        ("multinomial", "three", sm.MNLogit),
    ):
        found = sv.Release(data, plan).regress(f"{outcome} ~ {rest}", model=kind)  # type: ignore[arg-type]
        assert found.terms == tuple(design.columns)
        options = {} if kind == "linear" else {"disp": 0, "method": "newton", "tol": 1e-14}
        theirs = peer(frame[outcome], design).fit(cov_type="HC0", **options)
        params = np.asarray(theirs.params).T.ravel()
        np.testing.assert_allclose(found.coefficients, params, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.standard_errors, np.asarray(theirs.bse).T.ravel(), 1e-8)
        np.testing.assert_allclose(found.p_values, np.asarray(theirs.pvalues).T.ravel(), 0, 1e-8)


def test_the_likelihood_without_noise_is_the_ordinary_one() -> None:
    frame = made(1500, 4)
    plan = sv.Plan([sv.Categorical("bit", [0, 1], matrix=bs.identity(2))], keep="*")
    text = "bit ~ C(x) * town"
    theirs = sm.Logit(frame["bit"], model_matrix("C(x) * town", frame)).fit(disp=0)
    found = sv.Release(frame, plan).regress(text, model="logistic")
    assert found.method == "likelihood"
    np.testing.assert_allclose(found.coefficients, theirs.params, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors, theirs.bse, rtol=1e-5)


def fitted(plan: sv.Plan, frame: Any, text: str) -> tuple[records.Records, Any, Any]:
    """Rows of a table with the functions of both sides of a formula."""
    _, outcome, terms = formula.parse(text)
    columns = formula.needed_columns(outcome), formula.needed_columns(terms)
    rows = records.read_records(sv.Release(frame, plan), columns[0], columns[1], None)
    right = formula.terms_of(rows, terms, records.UNPROTECTED)
    return rows, right, formula.terms_of(rows, outcome, records.OUTCOME)


def releases(plan: sv.Plan, frame: dict[str, list[Any]]) -> Any:
    """All releases of a tiny file, with their probabilities: every record is drawn by itself."""
    n = len(next(iter(frame.values())))
    rows = []
    for i in range(n):
        options = []
        attribute: Any
        for attribute in plan.attributes:
            cells = list(itertools.product(*(axis.values for axis in attribute.axes)))
            law = attribute.matrices[0]
            if attribute.groups is not None:
                at = attribute.groups.labels.values.index(frame[attribute.groups.column][i])
                law = attribute.matrices[at]
            true = cells.index(tuple(frame[column][i] for column in attribute.columns))
            chances = law.exact_row(true)
            options.append([
                (chances[v], dict(zip(attribute.columns, cell, strict=True)))
                for v, cell in enumerate(cells)
            ])  # fmt: skip
        rows.append([
            (math.prod(chance for chance, _ in each),
             {k: v for _, cell in each for k, v in cell.items()})
            for each in itertools.product(*options)
        ])  # fmt: skip
    for each in itertools.product(*rows):
        reported = {name: list(values) for name, values in frame.items()}
        for i, (_, cell) in enumerate(each):
            for column, value in cell.items():
                reported[column][i] = value
        yield float(math.prod(chance for chance, _ in each)), reported


@pytest.mark.parametrize("case", ["two columns", "joint", "groups"])
def test_moments_are_exactly_unbiased_over_all_releases(case: str) -> None:
    a, b = ["p", "q"], [0, 1, 2]
    one = sv.Categorical("a", a, RR, keep=0.75)
    two = sv.Categorical("b", b, matrix=bs.dense(np.array([[6, 3, 1], [1, 6, 3], [3, 1, 6]])))
    if case == "joint":
        attributes: list[Any] = [sv.Joint(("a", "b"), [a, b], RR, keep=0.6)]
    elif case == "groups":
        laws = {"N": bs.randomized_response(3, keep=0.5), "S": bs.randomized_response(3, keep=0.8)}
        attributes = [one, sv.Categorical("b", b, groups=("town", laws))]
    else:
        attributes = [one, two]
    plan = sv.Plan(attributes, keep=["town", "z"])
    frame: dict[str, list[Any]] = {
        "a": ["p", "q"],
        "b": [2, 0],
        "town": ["N", "S"],
        "z": [0.5, 2.0],
    }
    identity = sv.Plan(
        [
            sv.Categorical("a", a, matrix=bs.identity(2)),
            sv.Categorical("b", b, matrix=bs.identity(3)),
        ],
        keep=["town", "z"],
    )
    text = "a ~ b * z + I(b * b) + np.log(z) + town"

    def moments(law: sv.Plan, table: Any) -> np.ndarray:
        rows, right, left = fitted(law, table, text)
        found = []
        for one, other in itertools.product([*right.values(), *left.values()], repeat=2):
            found.append(float(rows.of(one * other) @ rows.sample.sums))
        return np.array(found)

    truth = moments(identity, frame)
    mean, total = np.zeros_like(truth), 0.0
    for chance, reported in releases(plan, frame):
        mean += chance * moments(plan, reported)
        total += chance
    assert total == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mean, truth, rtol=1e-11, atol=1e-11)


def test_scores_are_exactly_unbiased_over_all_releases() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, keep=0.6),
                    sv.Categorical("y", [0, 1], RR, keep=0.8)], keep=["z"])  # fmt: skip
    plain = sv.Plan([sv.Categorical("a", [0, 1, 2], matrix=bs.identity(3)),
                     sv.Categorical("y", [0, 1], matrix=bs.identity(2))], keep=["z"])  # fmt: skip
    frame: dict[str, list[Any]] = {"a": [2, 0], "y": [1, 0], "z": [0.3, -1.0]}
    theta = np.array([0.2, -0.4, 0.7, 0.1])

    def score(law: sv.Plan, table: Any) -> np.ndarray:
        rows, right, left = fitted(law, table, "y ~ a * z")
        model = categories.Corrected(rows, list(right.values()), [*left.values()])
        gradient, information = model.slopes(theta)
        np.testing.assert_allclose(model.scores(theta) @ rows.sample.sums, gradient, atol=1e-12)
        return np.concatenate([[model.value(theta)], gradient, information.ravel()])

    mean = sum(chance * score(plan, table) for chance, table in releases(plan, frame))
    np.testing.assert_allclose(mean, score(plain, frame), rtol=1e-11, atol=1e-11)


def test_batches_give_what_the_whole_table_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = made(700, 5)
    plan = plan_of(frame, lambda size: bs.randomized_response(size, keep=0.8))
    data = plan.protect(frame).data
    text = "bit ~ x + s + z + s:z"
    whole = sv.Release(data, plan).regress(text, model="logistic")
    monkeypatch.setattr(categories, "_HELD", 100)
    parts = sv.Release(data, plan).regress(text, model="logistic")
    np.testing.assert_allclose(parts.coefficients, whole.coefficients, rtol=1e-9)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-7)


def test_every_kind_of_column_comes_back_to_the_original() -> None:
    frame = made(40_000, 6)
    rng = np.random.default_rng(6)
    frame["income"] = rng.gamma(2, 1, len(frame))
    frame["number"] += 0.5 * frame["income"]
    laws = {"N": bs.geometric(4, beta=0.4), "S": bs.randomized_response(4, beta=0.5)}
    plan = sv.Plan(
        [
            sv.Categorical("x", [0, 1, 2, 3], groups=("town", laws)),
            sv.Joint(("s", "bit"), [["a", "b", "c"], [0, 1]], RR, beta=0.4),
            sv.Categorical("three", [0, 1, 2], RR, beta=0.4),
            sv.Numeric("income", RR, keep=0.7),
        ],
        keep=["z", "town", "count", "number"],
    )
    data = plan.protect(frame, key=key_of("kinds"), release_name="r", allow_insecure=True).data
    # Six standard errors each: false alarm below 1e-6 in all, by the normal law.
    for kind, text in (
        ("linear", "number ~ x + s + z + income + s:income"),
        ("linear", "number ~ np.log(income) * z + C(x)"),
        ("logistic", "bit ~ x * town + s + z"),
        ("multinomial", "three ~ x + s"),
    ):
        found = sv.Release(data, plan).regress(text, model=kind)  # type: ignore[arg-type]
        truth = regress(sv.Release(frame, plan), text, kind, None, None, raw=True).coefficients
        away = np.abs(found.coefficients - truth) / found.standard_errors
        assert away.max() < 6, (text, away)
        naive = regress(sv.Release(data, plan), text, kind, None, None, raw=True).coefficients
        assert np.abs(naive - truth).max() > 3 * np.abs(found.coefficients - truth).max(), text


def test_bins_units_and_codes_that_are_never_true_come_back_to_the_original() -> None:
    rng = np.random.default_rng(21)
    n = 30_000
    frame = pd.DataFrame({
        "age": rng.integers(0, 90, n).astype(float), "house": np.arange(n) // 3,
        "x": rng.integers(0, 5, n),
    })  # fmt: skip
    frame["own"] = rng.choice(["no", "yes"], n // 3).repeat(3)
    frame["y"] = frame["age"] / 10 + 2 * (frame["own"] == "yes") + frame["x"] + rng.normal(size=n)
    frame["bit"] = (frame["y"] + rng.normal(size=n) > 8).astype(int)
    age = sv.Binned("age", breaks=[0, 30, 60, 90], family=RR, epsilon=3)
    plan = sv.Plan(
        [
            age,
            sv.Categorical("own", ["no", "yes"], RR, epsilon=3, unit="house"),
            sv.Categorical("x", range(5), matrix=bs.difference_set(5, epsilon=4, set=SEVEN)),
        ],
        keep=["y", "bit", "house"],
        units=["house"],
    )
    assert plan.attributes[2].matrices[0].padding == 2  # type: ignore[union-attr]
    data = plan.protect(frame).data
    middle = pd.cut(frame["age"], [0, 30, 60, 90], right=False, labels=False)
    known = frame.assign(age=middle * 30 + 15)
    found = sv.Release(data, plan).regress("y ~ age + own + x", model="linear")
    assert found.terms == ("Intercept", "age", "own[T.yes]", "x")
    # Noise is drawn once per house, so houses are the clusters.
    assert found.degrees == n // 3 - 1
    truth = sm.OLS(known["y"], model_matrix("age + own + x", known)).fit().params
    # Six standard errors each: false alarm below 1e-6 in all, by the normal law.
    assert (np.abs(found.coefficients - truth) < 6 * found.standard_errors).all()
    labels = np.array(age.categories)[middle]
    known = known.assign(age=pd.Categorical(labels, age.categories))
    design = model_matrix("age + own + x", known)
    found = sv.Release(data, plan).regress("bit ~ age + own + x", model="logistic")
    truth = sm.Logit(known["bit"], design).fit(disp=0).params
    assert (np.abs(found.coefficients - truth) < 6 * found.standard_errors).all()
    only = sv.Release(data, plan).regress("y ~ C(x)", model="linear")
    assert len(only.coefficients) == 5


def test_weights_strata_and_clusters() -> None:
    frame = made(1200, 7)
    rng = np.random.default_rng(7)
    frame["w"] = rng.integers(1, 4, len(frame)).astype(float)
    frame["village"] = rng.integers(0, 60, len(frame))
    frame["half"] = frame["village"] % 2
    plan = plan_of(frame, bs.identity)
    design = model_matrix("x + z", frame)
    found = sv.Release(frame, plan).regress(
        "bit ~ x + z", model="logistic", design=sv.Design(weights="w", cluster="village")
    )
    # The estimating equations of weights, and clusters by hand: m / (m - 1) sum of z z^T.
    theirs = sm.GLM(frame["bit"], design, sm.families.Binomial(), freq_weights=frame["w"]).fit(
        tol=1e-14
    )
    np.testing.assert_allclose(found.coefficients, theirs.params, atol=1e-9)
    chance = theirs.predict(design)
    x, w = design.to_numpy(), frame["w"].to_numpy()
    each = pd.DataFrame(x * (w * (frame["bit"] - chance)).to_numpy()[:, None])
    sums = each.groupby(frame["village"]).sum().to_numpy()
    bread = np.linalg.inv((x.T * (w * chance * (1 - chance)).to_numpy()) @ x)
    spread = bread @ (60 / 59 * sums.T @ sums) @ bread
    np.testing.assert_allclose(found.covariance, spread, rtol=1e-6, atol=1e-12)
    assert found.degrees == 59
    low, high = found.interval(0.9)[1]
    assert (high - low) / 2 == pytest.approx(
        stats.t.ppf(0.95, 59) * found.standard_errors[1], rel=1e-6
    )
    plan = sv.Plan([sv.Categorical("bit", [0, 1], matrix=bs.identity(2))], keep="*")
    likely = sv.Release(frame, plan).regress(
        "bit ~ x + town",
        model="logistic",
        method="likelihood",
        design=sv.Design(cluster="village", strata="half"),
    )
    score = sv.Release(frame, plan).regress(
        "bit ~ x + town",
        model="logistic",
        method="corrected",
        design=sv.Design(cluster="village", strata="half"),
    )
    assert likely.degrees == 58
    np.testing.assert_allclose(likely.coefficients, score.coefficients, atol=1e-6)
    np.testing.assert_allclose(likely.standard_errors, score.standard_errors, rtol=1e-4)
    # A weight of two is two records, and records outside of the answers are none.
    twice = pd.concat([frame, frame[frame["w"] == 2], *[frame[frame["w"] == 3]] * 2])
    for kind, outcome in (("linear", "number"), ("logistic", "bit")):
        asked: Any = {"formula": f"{outcome} ~ x + z", "model": kind}
        one = sv.Release(frame, plan).regress(**asked, design=sv.Design(weights="w"))
        other = sv.Release(twice, plan).regress(**asked)
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-9)


def test_missing_values_are_left_out_with_a_note() -> None:
    frame = made(300, 8)
    frame.loc[3, "z"] = None
    plan = sv.Plan([sv.Categorical("x", [0, 1, 2, 3], RR, keep=0.9, missing="keep")], keep="*")
    frame["x"] = frame["x"].astype("Int64")
    frame.loc[5, "x"] = None
    found = sv.Release(frame, plan).regress("number ~ x + z", model="linear")
    assert found.records == 298
    assert found.notes == ("2 records with missing values left out",)
    alone = sv.Release(frame.drop([3, 5]), plan).regress("number ~ x + z", model="linear")
    np.testing.assert_allclose(found.coefficients, alone.coefficients, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, alone.covariance, rtol=1e-10)
    kind = sv.Plan(
        [sv.Categorical("x", [0, 1, 2, 3], matrix=bs.identity(5), missing="category")], keep="*"
    )
    found = sv.Release(frame, kind).regress("number ~ x", model="linear")
    assert found.terms == ("Intercept", "x[T.1]", "x[T.2]", "x[T.3]", "x[T.(missing)]")


def test_bad_input_is_one_sentence() -> None:
    frame = made(400, 11)
    frame["income"] = np.arange(400.0)
    frame["word"] = "secret"
    frame.loc[7, "word"] = "hidden"
    plan = sv.Plan(
        [
            sv.Categorical("x", [0, 1, 2, 3], RR, keep=0.9),
            sv.Categorical("s", ["a", "b", "c"], matrix=bs.uniform(3)),
            sv.Numeric("income", "k_anonymous", k=5),
        ],
        keep=["z", "town", "number", "bit", "three", "word"],
        drop=["count"],
    )
    for text, model, wrong in (
        ("number ~ nobody", "linear", "`frame` must have the column `nobody`; got none"),
        ("number ~ count", "linear", "`columns` must name columns of the plan; got `count`"),
        ("number ~ income", "logistic", "column `income`: must not be a permuted number"),
        ("number ~ income", "linear", "column `income`: `regress` must .*; got k_anonymous"),
        ("number ~ s", "linear", "column `s`: `regress` must be used with an invertible"),
        ("bit ~ s", "logistic", "column `s`: `regress` must be used with an invertible"),
        ("number ~", "linear", None),
        ("number + bit ~ x", "linear", "`formula` must be like outcome ~ a . b; got one that"),
        ("number ~ np.log(word)", "linear", "`formula` must hold factors that can be computed"),
        ("number ~ np.log(x)", "linear",
         "`formula` must give finite numbers; got NaN or infinity in"),
        ("number ~ I(x * z)", "linear", "`formula` must combine columns that are not prot"),
        ("number:z ~ x", "linear", "`formula` must be like outcome ~ a . b; got one that"),
        ("three ~ x", "logistic", "`formula` must have an outcome of two categories; got 3"),
        ("number ~ x", "logistic", "`formula` must have an outcome of two categories; got "),
        ("C(three) ~ x", "linear", "`formula` must have an outcome of numbers or two cat.*; got 3"),
        ("number ~ z + I(2 * z)", "linear", "`regress` must find a moment matrix that"),
        ("bit ~ z + I(2 * z)", "logistic", "`regress` must find a maximum at which"),
    ):  # fmt: skip
        if wrong is None:
            assert sv.Release(frame, plan).regress(text, model=model).terms == ("Intercept",)  # type: ignore[arg-type]
            continue
        with pytest.raises(ValueError, match=f"^{wrong}") as error:
            sv.Release(frame, plan).regress(text, model=model)  # type: ignore[arg-type]
        assert "secret" not in str(error.value)
        assert "hidden" not in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(
        ValueError, match=r"^`method` must be corrected for a linear model; got like"
    ):
        sv.Release(frame, plan).regress("number ~ x", model="linear", method="likelihood")
    with pytest.raises(TypeError, match=r"^`formula` must be "):
        sv.Release(frame, plan).regress(3, model="linear")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code",
    [
        "{open(PATH, 'w')}", "{__import__('os').mkdir(PATH)}", "I(__import__('os').mkdir(PATH))",
        "open(PATH, 'w')", "np.save(PATH, x)", "x.to_csv(PATH)", "I(x).to_csv(PATH)",
        "I((lambda: open(PATH, 'w'))())", "I([open(PATH, 'w') for _ in x])",
        "I(open(PATH, 'w') if x else x)", "I(x)(PATH)", "x[open(PATH, 'w')]", "C(x, PATH)",
        "Q('x` + {open(PATH, 1)} + `x')", "I(f'{open(PATH, 1)}')", "x.__class__", "I(lambda: x)",
        "np.load(x)", "eval(x)", "poly(x, 2)", "getattr(x, x)", "I(x := 3)", "I(x for x in x)",
        "hashed(x)",
        "`x\\`", "x ; x", "x %in% x", "x @ x", "I(_state=x)", "x | x", "x)(",
        "ｅval(x)",
    ],
)  # fmt: skip
def test_a_formula_runs_no_python(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made"
    frame = {"x": [0, 1, 1, 0] * 9, "y": [0.0, 1.0, 2.0, 0.5] * 9}
    plan = sv.Plan([sv.Categorical("x", [0, 1], matrix=bs.identity(2))], keep=["y"])
    text = f"y ~ {code.replace('PATH', repr(str(path)))}"
    # Refused before formulaic reads it.
    monkeypatch.setattr("formulaic.Formula", lambda text: pytest.fail("formulaic saw it"))
    with pytest.raises(ValueError, match=r"^`formula` must hold only names of columns, numb"):
        sv.Release(frame, plan).regress(text, model="linear")
    assert not path.exists()


def test_every_listed_function_is_one_of_formulaic() -> None:
    from formulaic.transforms import TRANSFORMS

    for name in formula.FUNCTIONS:
        root, _, rest = name.partition(".")
        assert callable(getattr(TRANSFORMS[root], rest) if rest else TRANSFORMS[root])
    frame = made(300, 12)
    plan = plan_of(frame, bs.identity)
    for rest in ("0 + `x` + exp(z)", "I((z > 1) | (z == 0))",
                 "np.where(x >= 2, 1, -1.5e-1) - 1", "(x + z) ** 2",
                 "`x` + log(x + 1)"):  # fmt: skip
        found = sv.Release(frame, plan).regress(f"number ~ {rest}", model="linear")
        assert np.isfinite(found.coefficients).all()


def test_separated_outcomes_are_refused() -> None:
    frame = {"x": [0] * 50 + [1] * 50, "y": [0] * 50 + [1] * 50}
    plan = sv.Plan([sv.Categorical("x", [0, 1], matrix=bs.identity(2))], keep=["y"])
    with pytest.raises(ValueError, match=r"^`regress` must find a maximum"):
        sv.Release(frame, plan).regress("y ~ x", model="logistic")


def test_numbers_of_classes_are_noted_and_categories_are_not() -> None:
    rng = np.random.default_rng(90)
    income = rng.lognormal(8, 1, 3000).clip(0, 90_000)
    frame = {"income": income, "y": income / 1000 + rng.normal(size=3000)}
    binned = sv.Binned("income", [0, 1000, 3000, 8000, 90_000], RR, epsilon=4)
    plan = sv.Plan([binned], keep=["y"])
    data = plan.protect(frame).data
    said = "the numbers of `income` are the middles of its classes, not the original ones"
    for found in (
        sv.Release(data, plan).regress("y ~ income", model="linear"),
        sv.Release(data, plan).regress("income ~ y", model="linear"),
        sv.Release(data, plan).regress("y ~ C(income > 2500)", model="linear"),
        sv.Release(data, plan).covariance(["income", "y"]),
        sv.Release(data, plan).correlation(["income", "y"]),
    ):
        assert any(note.startswith(said) for note in found.notes), found
    assert "middles of classes" in sv.Release(data, plan).mean("income").notes[0]
    assert (
        sv.Release(data, plan).covariance(["income", "y"], scores={"income": [1, 2, 3, 4]}).notes
        == ()
    )
    found = sv.Release(data, plan).regress("y ~ C(income)", model="linear")
    assert found.notes == ()
    # The class as a category is right: six standard errors, false alarm below 1e-7.
    at = np.digitize(income, [1000, 3000, 8000])
    truth = np.array([frame["y"][at == i].mean() for i in range(4)])
    truth[1:] -= truth[0]
    assert (np.abs(found.coefficients - truth) < 6 * found.standard_errors).all()


def test_quasi_separated_outcomes_and_constant_columns_are_said() -> None:
    rng = np.random.default_rng(91)
    n = 2000
    x = rng.integers(0, 2, n)
    frame = {"x": x, "y": np.where(x == 1, 1, rng.random(n) < 0.4).astype(int), "c": np.ones(n)}
    x_plan, y_plan = (sv.Plan([sv.Categorical(name, [0, 1], matrix=bs.identity(2))], keep="*")
                      for name in "xy")  # fmt: skip
    cases: list[tuple[sv.Plan, Literal["corrected", "likelihood"]]]
    cases = [(x_plan, "corrected"), (y_plan, "likelihood")]
    for plan, method in cases:
        for text in ("y ~ x", "y ~ c", "y ~ c + x"):
            try:
                found = sv.Release(frame, plan).regress(text, model="logistic", method=method)
            except ValueError as error:
                assert str(error).startswith("`regress` must find a maximum")  # noqa: PT017
            else:
                assert any("may be separated" in note for note in found.notes), (text, found)
