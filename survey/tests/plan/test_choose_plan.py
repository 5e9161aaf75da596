"""Choosing for whole plans: by what users know, for a tolerance, and in clusters."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.errors import OutOfReachError
from bistochastic_survey import Release
from bistochastic_survey.cli import main

DATA = os.environ.get("BISTOCHASTIC_DATA")
SCALE = [[abs(u - v) for v in range(6)] for u in range(6)]


def column(family: Any, **asked: Any) -> bs.Matrix:
    return sv.Categorical("x", range(6), family, **asked).matrices[0]


@pytest.mark.parametrize("family", ["randomized_response", "geometric", "tridiagonal", "gibbs"])
@pytest.mark.parametrize("truth", [0.3, 0.6, 0.95])
def test_every_family_reaches_a_truthfulness(family: str, truth: float) -> None:
    more = {"cost": SCALE} if family == "gibbs" else {}
    m = column(family, truthfulness=truth, **more)
    assert m.truthfulness is not None
    assert m.truthfulness == pytest.approx(truth, abs=1e-9)
    assert m.truthfulness <= truth
    assert m.requested["truthfulness"] == truth
    assert bs.Matrix.from_json(m.to_json()).requested == m.requested


def test_epsilon_where_a_family_has_none_of_its_own() -> None:
    m = column("gibbs", cost=SCALE, epsilon=2)
    m.require(epsilon=2)
    assert m.epsilon == pytest.approx(2, abs=1e-9)
    assert column("k_anonymous", truthfulness=0.4).parameters["k"] == 3
    for family in ("k_anonymous", "tridiagonal"):
        for asked in ({"epsilon": 1}, {"suspicion": (0.01, 0.05)}):
            with pytest.raises(OutOfReachError, match=f"must be inf for {family}") as caught:
                column(family, **asked)
            assert caught.value.least == math.inf
    with pytest.raises(OutOfReachError, match="`truthfulness` must be at least") as caught:
        column("geometric", truthfulness=0.1)
    assert column("geometric", truthfulness=caught.value.least).size == 6
    with pytest.raises(TypeError, match="must be a parameter of uniform"):
        column("uniform", truthfulness=0.5)


def test_a_suspicion_is_an_epsilon() -> None:
    m = column("randomized_response", suspicion=(0.01, 0.05))
    assert m.requested["epsilon"] == pytest.approx(math.log(5.2105), abs=1e-4)
    # The worst case by Bayes: all other belief on the category that explains the report worst.
    high, low = m[0, 0], m[1, 0]
    assert 0.01 * high / (0.01 * high + 0.99 * low) == pytest.approx(0.05, abs=1e-9)
    assert 0.01 * high / (0.01 * high + 0.99 * low) <= 0.05
    for wrong in ((0.05, 0.01), (0, 0.5), (0.1, 1)):
        with pytest.raises(ValueError, match="column `x`: `suspicion` must be two prob"):
            column("geometric", suspicion=wrong)
    with pytest.raises(TypeError, match="must be given without epsilon; got both"):
        column("geometric", suspicion=(0.1, 0.2), epsilon=1)
    joint = sv.Joint(("a", "b"), [[0, 1], [0, 1]], "randomized_response", suspicion=(0.1, 0.2))
    assert joint.matrices[0].epsilon == pytest.approx(math.log(0.2 * 0.9 / (0.8 * 0.1)))


def test_a_first_plan_by_truthfulness(tmp_path: Path) -> None:
    plan = sv.Plan.for_frame({"sex": ["F", "M"], "job": list("abc")}, truthfulness=0.8)
    assert [a.matrices[0].truthfulness for a in plan._coded] == pytest.approx([0.8, 0.8])
    book = tmp_path / "codebook.csv"
    book.write_text("column,category\nsex,F\nsex,M\n")
    done = CliRunner().invoke(main, ["plan", "--codebook", str(book), "--truthfulness", "0.8"])
    assert done.exit_code == 0, done.output
    assert sv.Plan.from_toml(done.output).attributes == plan.attributes[:1]


def test_preview_says_what_to_expect_of_records() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)
    plan = sv.Plan([sex, sv.Categorical("job", range(3), "blocks", sizes=[2, 1])])
    assert "To expect" not in str(plan.preview())
    shown = str(plan.preview(records=1000, design_effect=4))
    expected = [line for line in shown.splitlines() if line.startswith("sex")][1].split()
    # Half of a half: standard error sqrt(1/4 / 1000) / (2 keep - 1), twice by the design.
    error = 2 * math.sqrt(0.25 / 1000) / 0.5
    assert expected == ["sex", "0.75", "0.25", f"{error:.4g}", f"{1.959964 * error:.4g}", "2.95%"]
    singular = [line for line in shown.splitlines() if line.startswith("job")][1].split()
    assert singular[-3:] == ["-", "-", "100%"]
    assert "To expect of 1,000 records" in plan.preview(1000)._repr_html_()
    with pytest.raises(ValueError, match="`design_effect` must be a positive number; got 0"):
        plan.preview(1000, design_effect=0)


def test_false_records_move_an_estimate_by_at_most_the_bound() -> None:
    sets = bs.difference_set(28, epsilon=1), bs.difference_set(6, epsilon=0.5)
    joint = bs.kron(bs.geometric(3, beta=0.3), sets[1])
    for m in (bs.randomized_response(4, epsilon=1), bs.geometric(5, beta=0.6), *sets, joint):
        rng = np.random.default_rng(m.size)
        honest = rng.multinomial(1000, np.full(m.size, 1 / m.size))
        honest[0] += 20
        base = m.estimate(counts=honest)
        bound = base.poisoning(20)
        worst = np.zeros_like(bound)
        for y in range(m.size):
            poisoned = honest.copy()
            poisoned[0] -= 20
            poisoned[y] += 20
            moved = np.abs(m.estimate(counts=poisoned).frequencies - base.frequencies)
            assert (moved <= bound + 1e-12).all()
            worst = np.maximum(worst, moved)
        # Reached by someone whose honest report was the least and whose false one is the largest.
        inverse = np.linalg.inv(m.to_dense())
        from bistochastic.structure import true_codes

        spread = (inverse.max(axis=0) - inverse.min(axis=0))[true_codes(m)]
        assert bound == pytest.approx(20 * spread / base.records, rel=1e-9)
    with pytest.raises(ValueError, match="`false_records` must be at most 1020"):
        base.poisoning(2000)
    weighted = bs.uniform(1).estimate([0, 0], weights=[1, 2])
    with pytest.raises(ValueError, match="records that count alike"):
        weighted.poisoning(1)


def cramer(table: np.ndarray) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = expected > 0
    chi = ((table - expected)[seen] ** 2 / expected[seen]).sum()
    sizes = [(table.sum(axis=axis) > 0).sum() for axis in (0, 1)]
    return math.sqrt(chi / (min(sizes) - 1))


def by_hand(names: list[str], sizes: dict[str, int], v: dict[Any, float], most: int
            ) -> set[frozenset[str]]:  # fmt: skip
    """The paper's rule: take pairs of clusters by dependence, merge or discard, until too weak."""
    clusters = [frozenset([name]) for name in names]
    discarded: set[frozenset[frozenset[str]]] = set()
    while True:
        pairs = [
            (max(v[frozenset((a, b))] for a in x for b in y), x, y)
            for x, y in combinations(clusters, 2)
            if frozenset((x, y)) not in discarded
        ]
        if not pairs:
            return set(clusters)
        value, x, y = max(pairs, key=lambda each: each[0])
        if not value:
            return set(clusters)
        if math.prod(sizes[name] for name in x | y) > most:
            discarded.add(frozenset((x, y)))
            continue
        clusters = [c for c in clusters if c not in (x, y)] + [x | y]


@pytest.mark.skipif(DATA is None, reason="BISTOCHASTIC_DATA is not set")
def test_clusters_on_adult_are_those_of_the_paper_by_hand() -> None:
    import pandas as pd
    from scipy import stats

    adult = pd.read_csv(Path(DATA or "") / "adult.csv", skipinitialspace=True)
    adult.columns = [name.strip().replace("-", "_").replace(".", "_") for name in adult.columns]
    names = ["workclass", "education", "marital_status", "occupation", "relationship", "race",
             "sex", "salary_class"]  # fmt: skip
    adult = adult[names].astype(str).apply(lambda each: each.str.strip())
    plan = sv.Plan([
        sv.Categorical(name, sorted(adult[name].unique()), "randomized_response", truthfulness=0.7)
        for name in names
    ])  # fmt: skip
    release = plan.protect(adult, key=bs.Key.insecure(3), release_name="pilot", allow_insecure=True)
    v = {}
    for one, other in combinations(names, 2):
        found = release.estimate(one, other, method="mle")
        table = pd.crosstab(release.data[one], release.data[other])
        p = stats.chi2_contingency(table, correction=False).pvalue
        v[frozenset((one, other))] = (p < 0.01 / 28) * cramer(
            found.frequencies.reshape(found.shape)
        )
    sizes = {name: adult[name].nunique() for name in names}
    for most in (50, 300, 10**6):
        with pytest.warns(UserWarning, match="^`cluster` "):
            new = sv.cluster(release, max_cells=most)
        groups = {frozenset(attribute.columns) for attribute in new.attributes}
        assert groups == by_hand(names, sizes, v, most)
        assert new.epsilon == pytest.approx(plan.epsilon, rel=1e-9)
        for attribute in new._coded:
            own = math.fsum(plan.by_attribute[name].epsilon for name in attribute.columns)
            assert attribute.matrices[0].epsilon == pytest.approx(own, rel=1e-9)
    assert any(len(attribute.columns) > 1 for attribute in new.attributes)


def columns_of(release: Release[Any], **options: Any) -> list[tuple[str, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [a.columns for a in sv.cluster(release, **options).attributes]


def test_clusters_come_from_a_release_alone() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=3)
    job = sv.Categorical("job", ["a", "b"], "randomized_response", epsilon=3)
    plan, data = sv.Plan([sex, job]), {"sex": ["F", "M"] * 500, "job": ["a", "b"] * 500}
    release = plan.protect(data)
    with pytest.raises(TypeError, match="never an original; got dict"):
        sv.cluster(data, max_cells=4)  # type: ignore[arg-type]
    for wrong in (0, 1, 2, math.nan):
        with pytest.raises(ValueError, match="`level` must be a number between 0 and 1; got"):
            sv.cluster(release, max_cells=4, level=wrong)
    with pytest.warns(UserWarning, match="^`cluster` ") as said:
        joined = sv.cluster(release, max_cells=4)
    assert re.search(r"it adds epsilon 6(\.0+1)? to the 6", str(said[0].message))
    assert [attribute.columns for attribute in joined.attributes] == [("sex", "job")]
    with pytest.warns(UserWarning, match="adds epsilon"):
        apart = sv.cluster(release, max_cells=3)
    assert apart.attributes == plan.attributes


def test_independent_columns_are_merged_as_rarely_as_the_level_says() -> None:
    # Rare categories and few records, at which the plain statistic is too large too often.
    plan = sv.Plan([
        sv.Categorical(name, range(r), "randomized_response", epsilon=2)
        for name, r in (("a", 2), ("b", 5), ("c", 12), ("d", 3))
    ])  # fmt: skip
    draw = np.random.default_rng(7)
    merged = 0
    for records in [150] * 40 + [2000] * 40:
        data = {a.columns[0]: (draw.random(records) ** 2 * a.size).astype(int) for a in plan._coded}
        merged += len(columns_of(plan.protect(data), max_cells=10**6, level=0.1)) < 4
    # 80 trials at 0.1: more than 24 have a probability below 1e-6.
    assert merged <= 24


def test_a_plan_of_clusters_keeps_all_else() -> None:
    missing: Any = "category"
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=3, missing=missing,
                         recode={"D": None}, categories_from_data=True)  # fmt: skip
    job = sv.Categorical("job", [1, 2], "randomized_response", epsilon=3, missing=missing,
                         recode={9: 1})  # fmt: skip
    plan = sv.Plan(
        [sex, job, sv.Numeric("income", "k_anonymous", k=5)], name="survey", keep=["home"],
        drop=["name"], units=["home"], requirement={"min_beta": 0.05},
        column_labels={"sex": "Sex"}, value_labels={"job": {1: "yes", 2: "no"}},
    )  # fmt: skip
    data: dict[str, Any] = {"sex": ["F", "M"] * 500, "job": [1, 2] * 500, "home": [1] * 1000,
                            "income": list(range(1000)), "name": ["x"] * 1000}  # fmt: skip
    release = plan.protect(data)
    with pytest.warns(UserWarning, match="^`cluster` "):
        new = sv.cluster(release, max_cells=9)
    joint, income = new.attributes
    assert joint.columns == ("sex", "job")
    assert income == release.plan.attributes[2]
    assert isinstance(joint, sv.Joint)
    assert joint.recode == ((("D", None),), ((9, 1),))
    assert joint.categories_from_data
    assert joint.missing == "category"
    for field in dataclasses.fields(new):
        if field.name != "attributes":
            assert getattr(new, field.name) == getattr(plan, field.name), field.name
    # What is recoded as missing is published as missing.
    again = new.protect({**data, "sex": ["F", "D"] * 500})
    assert "D" not in list(again.data["sex"])
    for field in dataclasses.fields(plan):
        if field.name != "attributes":
            assert getattr(plan.for_records(9), field.name) == getattr(plan, field.name)


def test_columns_are_not_merged_against_the_requirement() -> None:
    matrix = bs.randomized_response(8, epsilon=2)
    plan = sv.Plan([sv.Categorical(x, range(8), matrix=matrix) for x in "ab"],
                   requirement={"min_beta": round(matrix.beta - 0.01, 2)})  # fmt: skip
    data = {"a": list(range(8)) * 500, "b": list(range(8)) * 500}
    assert columns_of(plan.protect(data), max_cells=64) == [("a",), ("b",)]
    # Randomized once: the dependence is missed with a probability below 1e-9.
    free = sv.Plan(plan.attributes).protect(data)
    assert columns_of(free, max_cells=64, level=0.5) == [("a", "b")]
