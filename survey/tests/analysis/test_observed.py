"""Known noise of others: published references, and the analyses of a release without a plan."""

from __future__ import annotations

import os
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.analysis.protected_table import KNOWN

FORCED = bs.Channel(forced=[Fraction(1, 12), Fraction(3, 12)])
NO_YES = ["no", "yes"]
NIGERIA = {
    "Intercept": -0.34016723, "asset": 0.07896242, "married": -0.26742499, "age": -0.35282823,
    "I(age ** 2)": 0.04099253, "education": -0.00690752, "female": -0.55439455,
}  # fmt: skip


def forced_table() -> dict[str, list[Any]]:
    """In each group of 1,000 people 300 and 450 of them reported yes."""
    said = ["yes"] * 300 + ["no"] * 700 + ["yes"] * 450 + ["no"] * 550
    return {"q": said, "g": [0] * 1000 + [1] * 1000}


def test_a_logistic_regression_of_forced_answers() -> None:
    found = sv.Analysis(forced_table(), [sv.Observed("q", NO_YES, FORCED)], keep=["g"])
    for method in (None, "corrected"):
        fit = found.regress("q ~ g", model="logistic", method=method)
        assert fit.coefficients == pytest.approx([-2.51230562, 1.66500776], abs=1e-7)
        assert fit.standard_errors == pytest.approx([0.31332706, 0.33286844], rel=1e-3)
        assert KNOWN in fit.notes
    exact = found.regress("q ~ g", model="logistic")
    assert exact.standard_errors == pytest.approx([0.31332706, 0.33286844], abs=1e-7)


def test_the_regression_of_nigeria_is_the_published_one() -> None:
    path = Path(os.environ.get("BISTOCHASTIC_DATA", "")) / "nigeria.csv"
    if not path.exists():
        # Blair, Imai and Zhou (2015); https://cran.r-project.org/package=rr
        write = "in R, `data(nigeria, package = 'rr'); write.csv(nigeria, 'nigeria.csv')` writes it"
        pytest.skip(f"nigeria.csv is not in BISTOCHASTIC_DATA: {write}")
    data = pd.read_csv(path)
    columns = ["asset.index", "married", "age", "edu.level", "female"]
    data = data[["rr.q1", *columns]].dropna()
    data.columns = pd.Index(["q", "asset", "married", "age", "education", "female"])
    data["age"] /= 10
    answers = sv.Observed("q", [0, 1], bs.Channel(forced=[Fraction(1, 6)] * 2))
    found = sv.Analysis(data.astype({"q": int}), [answers], keep=list(data.columns[1:]))
    text = "q ~ asset + married + age + I(age ** 2) + education + female"
    fit = found.regress(text, model="logistic")
    assert dict(zip(fit.terms, fit.coefficients, strict=True)) == pytest.approx(NIGERIA, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(-1540.117850, abs=1e-4)


def test_a_bistochastic_channel_gives_what_the_plan_gives() -> None:
    rng = np.random.default_rng(7)
    n = 3000
    frame = {
        "q": np.array(NO_YES)[rng.integers(0, 2, n)], "x": rng.normal(size=n).round(1),
        "r": np.array(list("abc"))[rng.integers(0, 3, n)], "w": rng.uniform(1, 2, n),
    }  # fmt: skip
    law = bs.randomized_response(2, keep=Fraction(5, 6))
    plan = sv.Plan([sv.Categorical("q", NO_YES, matrix=law),
                    sv.Categorical("r", list("abc"), "randomized_response", epsilon=2)],
                   keep=["x", "w"])  # fmt: skip
    release = sv.Release(frame, plan)
    forced = sv.Observed("q", NO_YES, bs.Channel(forced=[Fraction(1, 6)] * 2))
    found = sv.Analysis(frame, [plan.attributes[1], forced], keep=["x", "w"])
    design = sv.Design(weights="w")
    one: Any
    two: Any
    methods: tuple[Any, ...] = ("inverse", "mle")
    for columns in (["q"], ["q", "r"], ["r"]):
        for method in methods:
            one, two = (each.estimate(*columns, method=method) for each in (found, release))
            np.testing.assert_allclose(one.frequencies, two.frequencies, rtol=1e-6)
            np.testing.assert_allclose(one.standard_errors, two.standard_errors, rtol=1e-6)
            assert one.notes.count(KNOWN) == ("q" in columns)
    pairs: list[Any] = [
        lambda it: it.count({"q": "yes", "r": "a"}),
        lambda it: it.ratio({"q": "yes"}, {"r": ["a", "b"]}, design=design),
        lambda it: it.mean("q", [0, 1], where={"r": "a"}),
        lambda it: it.covariance(["q", "x"], {"q": [0, 1]}),
        lambda it: it.correlation(["q", "x"], {"q": [0, 1]}),
    ]
    for call in pairs:
        one, two = call(found), call(release)
        assert one.value == pytest.approx(two.value)
        assert one.standard_error == pytest.approx(two.standard_error)
        assert set(one.notes) == {*two.notes, KNOWN}
    one, two = (each.test_independence("q", "r") for each in (found, release))
    assert (one.statistic, one.p_value) == pytest.approx((two.statistic, two.p_value))
    assert one.power_factor == pytest.approx(two.power_factor, rel=1e-4)
    models: Any = (("q ~ x", "logistic"), ("q ~ x + r", "logistic"), ("x ~ q", "linear"))
    for text, model in models:
        one, two = (each.regress(text, model=model) for each in (found, release))
        assert one.coefficients == pytest.approx(two.coefficients, rel=1e-5)
        assert one.standard_errors == pytest.approx(two.standard_errors, rel=1e-5)


@pytest.mark.parametrize("method", ["inverse", "mle"])
def test_estimates_through_a_channel_cover(method: Any) -> None:
    """A test with errors beside a protected column: 200 samples, false alarm below 1e-6."""
    rng, hits = np.random.default_rng(9), 0
    law = bs.Channel(sensitivity=0.9, specificity=0.8)
    attribute = sv.Categorical("g", ["a", "b"], "randomized_response", keep=0.8)
    for _ in range(200):
        ill, group = rng.random(800) < 0.3, rng.random(800) < 0.5
        positive = rng.random(800) < np.where(ill, 0.9, 0.2)
        said = group ^ (rng.random(800) < 0.2)
        frame = {"t": np.array(NO_YES)[positive.astype(int)], "g": np.array(["a", "b"])[said * 1]}
        found = sv.Analysis(frame, [sv.Observed("t", NO_YES, law), attribute])
        low, high = found.estimate("t", "g", method=method).interval()[3]
        hits += low <= 0.15 <= high
    assert hits >= 175, hits


def test_nobody_is_protected_by_what_is_observed() -> None:
    observed: Any = sv.Observed("q", NO_YES, FORCED)
    must = "`attributes` must hold Categorical, Joint, Binned and Numeric; got Observed"
    with pytest.raises(TypeError, match=must):
        sv.Plan([observed])
    for law in (FORCED, bs.Channel(bs.uniform(2))):
        with pytest.raises(TypeError, match="column `q`: `matrix` must hold a matrix; got Channel"):
            sv.Categorical("q", NO_YES, matrix=law)  # type: ignore[arg-type]
    found = sv.Analysis(forced_table(), [observed], keep="*")
    for name in ("certificate", "report", "transitions", "change", "calibration_weights"):
        assert not hasattr(found, name)
    with pytest.raises(TypeError, match="`release` must be a Release; got Analysis"):
        sv.audit(forced_table(), found)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="got a Channel, which is for analysis alone"):
        _ = observed.matrix.epsilon
    assert pickle.loads(pickle.dumps(observed)) == observed


def test_what_is_wrong_is_said() -> None:
    table = forced_table()
    good = sv.Observed("q", NO_YES, FORCED)
    wrong: Any = [[1, 0], [0, 1]]
    calls: list[tuple[Any, str]] = [
        (lambda: sv.Observed("q", ["a", "b", "c"], FORCED),
         "column `q`: `channel` must be of one column of 3 categories; got 2"),
        (lambda: sv.Observed("q", list("abcd"), bs.Channel.joint(FORCED, FORCED)),
         "column `q`: `channel` must be of one column of 4 categories; got a joint one"),
        (lambda: sv.Observed("q", NO_YES, wrong), "must be a Channel; got list"),
        (lambda: sv.Analysis(table, []), "`columns` must hold one or more, each once; got none"),
        (lambda: sv.Analysis(table, [good, good]), "each once; got one twice"),
        (lambda: sv.Analysis(table, wrong), "must hold Observed, and attributes of a plan"),
        (lambda: sv.Analysis({**table, "q": ["maybe"] * 2000}, [good]).estimate("q"),
         "column `q`: must hold declared categories only"),
        (lambda: sv.Analysis(table, [good]).estimate("x"), "`columns` must name observed columns"),
        (lambda: sv.Analysis(table, [good], keep=["w"]).count({"g": 1}),
         "`where` must name observed columns, or those of keep=; got `g`"),
        (lambda: sv.Analysis(table, [sv.Observed("q", NO_YES, bs.uniform(2))]).estimate("q"),
         "must be used with an invertible"),
    ]  # fmt: skip
    for call, said in calls:
        with pytest.raises((ValueError, TypeError), match=said):
            call()
    missing = sv.Observed("q", NO_YES, FORCED, missing="keep")
    found = sv.Analysis({"q": ["no", None, "yes", "no"]}, [missing]).estimate("q")
    assert found.records == 3
    assert found.notes == (KNOWN, "1 record without an answer left out")
    assert repr(sv.Analysis(table, [good])) == (
        "<Analysis of `q`: known noise, without a certificate>"
    )
