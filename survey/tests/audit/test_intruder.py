"""Intruders, pooled records and several releases: exhaustive searches in fractions."""

from __future__ import annotations

import functools
import hashlib
import os
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from audit.test_audit import own_key
from bistochastic_survey.audit import attributes
from bistochastic_survey.audit.results import Scenario
from folded import waved

RR: Any = "randomized_response"
SEX = sv.Categorical("sex", ["F", "M"], RR, keep=Fraction(3, 4))
JOB = sv.Categorical("job", ["a", "b", "c"], RR, keep=Fraction(3, 5))


@functools.cache
def law(attribute: Any, true: str, said: str) -> Fraction:
    values = list(attribute.axes[0].values)
    found: Fraction = attribute.matrices[0].exact_row(values.index(true))[values.index(said)]
    return found


def shares(column: list[Any]) -> dict[Any, Fraction]:
    return {v: Fraction(column.count(v), len(column)) for v in sorted(set(column))}


def best(odds: dict[Any, Fraction], true: Any) -> Fraction:
    top = max(odds.values())
    winners = [value for value, each in odds.items() if each == top]
    return Fraction(true in winners, len(winners))


def place(scores: list[Fraction], row: int, few: int) -> Fraction:
    above = sum(s > scores[row] for s in scores)
    level = sum(s == scores[row] for s in scores)
    return min(Fraction(1), max(Fraction(0), Fraction(few - above, level)))


@functools.cache
def _ratio(column: str, true: str, seen: str) -> Fraction:
    attribute = {"sex": SEX, "job": JOB}[column]
    common = shares(FEW[column])
    return law(attribute, true, seen) / sum(common[u] * law(attribute, u, seen) for u in common)


def every_release(
    attribute: Any, column: list[str], units: list[int] | None = None
) -> list[tuple[Fraction, list[str]]]:
    """All that could have been released of a column, with its probability."""
    units = units or list(range(len(column)))
    drawn = sorted(set(units))
    values = list(attribute.axes[0].values)
    found = []
    for chosen in product(values, repeat=len(drawn)):
        said = dict(zip(drawn, chosen, strict=True))
        weight = prod(
            (law(attribute, column[units.index(u)], said[u]) for u in drawn), start=Fraction(1)
        )
        found.append((weight, [said[u] for u in units]))
    return found


@pytest.fixture
def many_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many new draws that a prediction is within 0.04 of the mean: four standard errors."""
    monkeypatch.setattr(attributes, "REDRAWN", 600)


def pooled_by_hand(
    attribute: Any, true: list[str], said: list[str], groups: list[int], share: Fraction
) -> Fraction:
    common = shares(true)
    anyone = {v: sum(common[u] * law(attribute, u, v) for u in common) for v in set(said)}
    hits = Fraction(0)
    for i, home in enumerate(groups):
        members = [j for j, other in enumerate(groups) if other == home]
        odds = {}
        for u in common:
            equal = prod((law(attribute, u, said[j]) for j in members), start=Fraction(1))
            others = prod((anyone[said[j]] for j in members if j != i), start=Fraction(1))
            own = law(attribute, u, said[i]) * others
            odds[u] = common[u] * (share * equal + (1 - share) * own)
        hits += best(odds, true[i])
    return hits / len(true)


def agreement_by_hand(true: list[str], groups: list[int]) -> Fraction:
    n = len(true)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and groups[i] == groups[j]]
    alike = Fraction(sum(true[i] == true[j] for i, j in pairs), len(pairs))
    alone = sum(p * p for p in shares(true).values())
    return max(Fraction(0), (alike - alone) / (1 - alone))


PEOPLE: dict[str, list[Any]] = {
    "job": ["a", "a", "b", "a", "c"],
    "home": [1, 1, 1, 2, 2],
}


def test_pooling_is_that_of_an_exhaustive_search_and_its_mean_is_predicted(
    many_draws: None,
) -> None:
    plan = sv.Plan([JOB], keep=["home"], name="small")
    true, homes = PEOPLE["job"], PEOPLE["home"]
    share = agreement_by_hand(true, homes)
    mean = Fraction(0)
    for number, (weight, said) in enumerate(every_release(JOB, true)):
        hits = pooled_by_hand(JOB, true, said, homes, share)
        mean += weight * hits
        if number % 120 == 0:
            [found] = sv.audit(PEOPLE, sv.Release({"job": said, "home": homes}, plan)).pooled
            assert found.rate.observed == pytest.approx(float(hits))
            assert found.agreement == pytest.approx(float(share))
    [found] = sv.audit(PEOPLE, sv.Release({"job": true, "home": homes}, plan)).pooled
    assert found.rate.predicted == pytest.approx(float(mean), abs=0.04)
    assert float(mean) <= found.bound + 1e-12


def test_noise_that_a_unit_shares_counts_once(many_draws: None) -> None:
    homes = [1, 1, 1, 2, 2, 3]
    roofs = ["a", "a", "a", "b", "b", "c"]
    attribute = sv.Categorical("roof", ["a", "b", "c"], RR, keep=Fraction(3, 5), unit="home")
    plan = sv.Plan([attribute], keep=["home"], name="small")
    mean = Fraction(0)
    for weight, said in every_release(attribute, roofs, homes):
        mean += weight * pooled_by_hand(attribute, roofs, said, list(range(6)), Fraction(1))
    table = {"roof": roofs, "home": homes}
    [found] = sv.audit(table, sv.Release(table, plan)).pooled
    assert found.rate.predicted == pytest.approx(float(mean), abs=0.06)
    assert found.rate.observed == found.single
    assert not found.beats_reported_value


def test_two_releases_are_two_reported_values(many_draws: None) -> None:
    plan = sv.Plan([SEX], name="twice")
    true = ["F", "M", "M", "F"]
    one, two = ["F", "M", "F", "F"], ["F", "M", "M", "M"]
    common = shares(true)
    hits = sum(
        best({u: common[u] * law(SEX, u, one[i]) * law(SEX, u, two[i]) for u in common}, true[i])
        for i in range(4)
    )
    [found] = sv.audit(
        {"sex": true}, sv.Release({"sex": one}, plan), also=[sv.Release({"sex": two}, plan)]
    ).pooled
    assert (found.by, found.units, found.largest) == ("several releases", 4, 2)
    assert found.rate.observed == pytest.approx(float(hits / 4))
    mean = sum(
        w * v * best({u: common[u] * law(SEX, u, a[i]) * law(SEX, u, b[i]) for u in common},
                     true[i]) / 4
        for w, a in every_release(SEX, true) for v, b in every_release(SEX, true) for i in range(4)
    )  # fmt: skip
    assert found.rate.predicted == pytest.approx(float(mean), abs=0.04)


def test_releases_by_ids_under_one_key_add_nothing_and_others_do() -> None:
    draw = np.random.default_rng(3)
    table = {"job": np.array(list("abc"))[draw.integers(0, 3, 3000)], "id": np.arange(3000)}
    plan = sv.Plan([JOB], keep=["id"], name="waves")
    options: Any = {"ids": sv.Wave("id", after="first")}
    key = own_key()
    one, same = (plan.protect(table, key=key, **options) for _ in range(2))
    [found] = sv.audit(table, one, also=[same]).pooled
    assert found.rate.observed == found.single
    keys = [bs.Key.from_bytes(hashlib.sha256(word).digest()) for word in (b"2", b"3", b"later")]
    others = [plan.protect(table, key=each, **options) for each in keys[:2]]
    [pooled] = sv.audit(table, one, also=others).pooled
    # Three values are right in 69.6% of the records, one in 60%: ten standard errors apart.
    assert pooled.rate.observed == pytest.approx(0.696, abs=0.045)
    assert pooled.rate.predicted == pytest.approx(0.696, abs=0.025)
    assert pooled.single == pytest.approx(0.6, abs=0.045)
    # A wave in which everyone has moved says less than a second draw of the same value.
    moved = {**table, "job": np.array(list("abc"))[draw.integers(0, 3, 3000)]}
    later = plan.protect(moved, key=keys[2], **options)
    [wave] = sv.audit(table, one, also=[(moved, later)]).pooled
    assert wave.agreement < 0.1
    assert wave.rate.observed < pooled.rate.observed


def test_rows_of_two_waves_are_linked_by_their_reported_values() -> None:
    """By hand: the row of the other wave that agrees in most, each value as far as it is rare."""
    n, draw = 300, np.random.default_rng(4)
    names = [f"c{i}" for i in range(4)]
    table: dict[str, Any] = {"id": np.arange(n), **{c: draw.integers(0, 5, n) for c in names}}
    plan = sv.Plan([sv.Categorical(c, range(5), RR, beta=0.8) for c in names], name="p")
    options: Any = {"key": own_key(), "id_column": "id"}
    one = plan.protect(table, **waved(options, after="first"))
    # Fewer people, in another order, and one column of theirs has changed.
    rows = draw.permutation(n)[:200]
    then = {c: column[rows] for c, column in table.items()}
    then["c0"] = (then["c0"] + 1) % 5
    two = plan.protect(then, **waved(options, after=one.certificate))
    link = sv.audit(table, one, also=[(then, two)]).linkages[-1]
    before, after = (np.stack([np.asarray(r.data[c]) for c in names]) for r in (one, two))
    found = 0.0
    for at, person in enumerate(rows.tolist()):
        agree = before[:, person, None] == after
        scores = (agree * -np.log(agree.mean(axis=1, keepdims=True).clip(1e-9))).sum(axis=0)
        best = scores >= scores.max() - 1e-9
        found += best[at] / best.sum()
    assert (link.attack, link.targets) == ("another release", 200)
    assert link.columns == tuple(names)
    assert abs(link.first.observed - found / 200) < 1e-9
    assert link.first.chance == 1 / 200
    assert link.first.observed <= link.five.observed


@pytest.mark.parametrize("output", ["interval", "number"])
def test_many_columns_by_ids_link_two_waves_and_one_column_does_not(output: Any) -> None:
    n, draw = 1000, np.random.default_rng(6)
    found = {}
    for many in (1, 8):
        names = [f"c{i}" for i in range(many)]
        table: dict[str, Any] = {"id": np.arange(n), **{c: draw.integers(0, 500, n) for c in names}}
        breaks = [0, 100, 200, 300, 400, 500]
        plan = sv.Plan([sv.Binned(c, breaks, RR, beta=0.8, output=output) for c in names], name="p")
        options: Any = {"key": own_key(), "id_column": "id"}
        one = plan.protect(table, **waved(options, after="first"), release_name="one")
        two = plan.protect(table, **waved(options, after=one.certificate), release_name="two")
        audit = sv.audit(table, one, also=[(table, two)], targets=300)
        found[many] = audit.linkages[-1].first.observed
        said = [str(each) for each in audit.findings if each.kind == "waves"]
        assert len(said) == (many == 8)
        assert all("links the rows of one person in both" in each for each in said)
        assert "Another release: rows are linked to rows of that release" in str(audit)
        assert audit.to_html()
    assert found[1] < 0.02 < 0.95 < found[8]


FEW: dict[str, list[Any]] = {
    "sex": ["F", "M", "M", "F"],
    "job": ["a", "b", "b", "c"],
    "age": [30, 31, 40, 40],
    "town": ["N", "N", "S", "N"],
}
PLAN = sv.Plan([SEX, JOB], keep=["age", "town"], name="few")


def scenario_by_hand(
    said: dict[str, list[Any]], knows: dict[str, int], wants: list[str]
) -> list[Fraction]:
    """Found first, among five, and each wanted column."""
    laws = ("sex", "job")

    def score(target: int, row: int, known: list[str]) -> Fraction:
        found = Fraction(1)
        for column in known:
            if column in laws:
                found *= _ratio(column, FEW[column][target], said[column][row])
            elif knows[column]:
                found *= abs(FEW[column][target] - FEW[column][row]) <= knows[column]
            else:
                found *= FEW[column][target] == FEW[column][row]
        return found

    totals = [Fraction(0)] * (2 + len(wants))
    for target in range(4):
        scores = [score(target, row, list(knows)) for row in range(4)]
        totals[0] += place(scores, target, 1)
        totals[1] += place(scores, target, 5)
        for i, column in enumerate(wants):
            odds: dict[Any, Fraction] = {}
            for value in sorted(set(FEW[column])):
                if column in laws:
                    odds[value] = shares(FEW[column])[value] * sum(
                        scores[row] * _ratio(column, value, said[column][row]) for row in range(4)
                    )
                else:
                    odds[value] = sum(
                        (scores[r] for r in range(4) if FEW[column][r] == value), Fraction(0)
                    )
            totals[2 + i] += best(odds, FEW[column][target])
    return [total / 4 for total in totals]


@pytest.mark.parametrize(
    ("knows", "wants"),
    [
        ({"sex": 0, "age": 0}, ["job"]),
        ({"sex": 0, "age": 2, "town": 0}, ["job"]),
        ({"job": 0}, ["sex", "town"]),
        ({}, ["sex"]),
    ],
)
def test_scenarios_are_those_of_an_exhaustive_search(
    knows: dict[str, int], wants: list[str], many_draws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers(found: Scenario, name: str) -> list[float]:
        rates = [found.first, found.five, *found.disclosed]
        return [getattr(rate, name) for rate in rates]

    mean = [Fraction(0)] * (2 + len(wants))
    used = {*knows, *wants}
    # What nobody asks for does not matter, so it need not be varied.
    sexes = every_release(SEX, FEW["sex"]) if "sex" in used else [(Fraction(1), FEW["sex"])]
    jobs = every_release(JOB, FEW["job"]) if "job" in used else [(Fraction(1), FEW["job"])]
    for number, ((one, sex), (two, job)) in enumerate(product(sexes, jobs)):
        hand = scenario_by_hand({"sex": sex, "job": job}, knows, wants)
        mean = [m + one * two * h for m, h in zip(mean, hand, strict=True)]
        if number % 431:
            continue
        released = {"sex": sex, "job": job, "age": FEW["age"], "town": FEW["town"]}
        asked = knows if any(knows.values()) else list(knows)
        with monkeypatch.context() as few:
            few.setattr(attributes, "REDRAWN", 1)
            [found] = sv.audit(FEW, sv.Release(released, PLAN), knows=asked, wants=wants).scenarios
        assert numbers(found, "observed") == pytest.approx([float(x) for x in hand])
    [found] = sv.audit(FEW, sv.Release(FEW, PLAN), knows=knows, wants=wants).scenarios
    assert numbers(found, "predicted") == pytest.approx([float(x) for x in mean], abs=0.04)


def test_columns_of_one_joint_attribute_are_compared_together() -> None:
    joint = sv.Joint(("sex", "job"), [["F", "M"], ["a", "b"]], RR, keep=Fraction(2, 3))
    plan = sv.Plan([joint], name="joint")
    table = {"sex": ["F", "M", "M"], "job": ["a", "b", "a"]}
    said = {"sex": ["F", "F", "M"], "job": ["a", "b", "a"]}
    [found] = sv.audit(table, sv.Release(said, plan), knows=["sex", "job"]).scenarios
    cells = [("F", "a"), ("F", "b"), ("M", "a"), ("M", "b")]
    true = list(zip(table["sex"], table["job"], strict=True))
    seen = list(zip(said["sex"], said["job"], strict=True))
    rows = [joint.matrices[0].exact_row(i) for i in range(4)]

    def chance(u: tuple[str, str], v: tuple[str, str]) -> Fraction:
        return Fraction(rows[cells.index(u)][cells.index(v)])

    hits = Fraction(0)
    for target in range(3):
        scores = [
            chance(true[target], v) / sum((chance(u, v) for u in true), Fraction(0)) for v in seen
        ]  # fmt: skip
        hits += place(scores, target, 1)
    assert found.first.observed == pytest.approx(float(hits / 3))


def test_missing_values_are_known_too() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], RR, keep=0.7, missing="keep")], keep=["id"])
    table = {"sex": ["F", None, "M", None], "id": [1, 2, 3, 4]}
    said = {"sex": ["M", None, "M", None], "id": [1, 2, 3, 4]}
    [found] = sv.audit(table, sv.Release(said, plan), knows=["sex"], wants=["id"]).scenarios
    # Two of the missing share two rows; the one M and the one F share two.
    assert found.first.observed == pytest.approx((0.5 * 2 + 0.5 * 2) / 4)


def survey() -> Any:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if not folder:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    import pandas as pd

    return pd.read_csv(Path(folder) / "sdcmicro_testdata.csv")


HOME = ["urbrur", "roof", "walls", "water", "electcon"]


def household_plan(frame: Any, unit: str | None) -> sv.Plan:
    made = [
        sv.Categorical(c, sorted(frame[c].unique().tolist()), RR, beta=0.6, unit=unit) for c in HOME
    ]
    kept = ["ori_hid", "sex", "age", "relat"]
    return sv.Plan(made, name="survey", keep=kept, units=["ori_hid"],
                   drop=[c for c in frame.columns if c not in (*HOME, *kept)])  # fmt: skip


def test_households_are_pooled_and_units_stop_it() -> None:
    frame = survey()
    plan = household_plan(frame, None)
    key = own_key()
    release = plan.protect(frame, key=key, release_name="person by person")
    audit = sv.audit(frame, release, targets=50)
    by = {p.column: p for p in audit.pooled if p.by == "ori_hid"}
    # 1,000 households: five standard errors are below 0.035.
    assert by["water"].rate.observed == pytest.approx(0.954, abs=0.035)
    assert by["roof"].rate.observed == pytest.approx(0.979, abs=0.025)
    for column, pooled in by.items():
        assert pooled.rate.predicted == pytest.approx(pooled.rate.observed, abs=0.04), column
        assert pooled.beats_reported_value, column
    [water] = [f for f in audit.findings if f.kind == "pooled" and f.columns == ("water",)]
    assert water.fix == "draw `water` once per `ori_hid` (unit=), or drop `ori_hid`"
    # What the page says to change is right: after it, pooling gains nothing over one value.
    fixed = household_plan(frame, "ori_hid")
    found = sv.audit(frame, fixed.protect(frame), targets=50)
    assert not any(finding.kind == "pooled" for finding in found.findings)
    for pooled in found.pooled:
        if pooled.by == "ori_hid":
            assert pooled.rate.observed == pooled.single


def test_findings_do_not_depend_on_the_type_of_a_column() -> None:
    frame = survey()
    plan = household_plan(frame, None)
    release = plan.protect(frame, key=own_key(), release_name="types")
    found = sv.audit(frame, release, targets=50)
    texts = {"ori_hid": str, "age": str, "sex": float}
    other = sv.audit(frame.astype(texts), sv.Release(release.data.astype(texts), plan), targets=50)
    assert other.findings == found.findings
    assert other.pooled == found.pooled


def test_a_shuffled_release_is_paired_by_columns_or_drawn_again() -> None:
    draw = np.random.default_rng(5)
    table: dict[str, Any] = {
        "job": np.array(list("abc"))[draw.integers(0, 3, 2000)],
        "age": draw.integers(0, 90, 2000),
        "row": np.arange(2000),
    }
    plan = sv.Plan([JOB], keep=["age", "row"], name="shuffled")
    key = own_key()
    plain = plan.protect(table, key=key, release_name="x")
    mixed = plan.protect(table, key=key, release_name="x", shuffle=True)
    paired = sv.audit(table, mixed, targets=100)
    assert paired.matched == "columns"
    assert paired.guesses == sv.audit(table, plain, targets=100).guesses
    less = sv.Plan([JOB], keep=["age"], drop=["row"], name="shuffled")
    release = less.protect(table, shuffle=True)
    only = sv.audit(table, release, targets=100, knows=["age"], wants=["job"])
    assert only.matched == "nothing"
    assert "All rates are of a new draw" in only.notes[0]
    exact = sv.audit(table, less.protect(table), targets=100).guesses[0].rate.predicted
    assert only.guesses[0].rate.predicted == exact
    for each in (only.guesses[0].rate, only.linkages[0].first, only.scenarios[0].disclosed[0]):
        # Of one draw, and so with an interval.
        assert each.low < each.observed < each.high
    assert only.guesses[0].rate.agrees
    assert not only.neighbours
    assert str(only)
    assert only.to_html()
    other = {**release.data, "age": np.zeros(2000, int)}
    with pytest.raises(ValueError, match="column `age`: must hold the same values in `original`"):
        sv.audit(table, sv.Release(other, less), shuffled=True)


def test_shuffling_hides_no_attack_on_numbers() -> None:
    """A release with permuted numbers fails or passes as its trial without a shuffle does."""
    draw = np.random.default_rng(8)
    table = {
        "income": draw.lognormal(10, 1, 500),
        "job": np.array(list("abc"))[draw.integers(0, 3, 500)],
    }
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=5), JOB], name="numbers")
    plain, mixed = (sv.audit(table, plan.protect(table, shuffle=each)) for each in (False, True))
    assert mixed.matched == "nothing"
    for found in (plain, mixed):
        assert "numbers" in {each.kind for each in found.above(0.5)}
        assert {link.attack for link in found.linkages} == {"protected columns", "by distance"}
    assert mixed.disclosures[2].rate.observed == plain.disclosures[2].rate.observed == 1.0
    other = {**table, "income": table["income"] * 2}
    with pytest.raises(ValueError, match="column `income`: must hold the numbers of `original`"):
        sv.audit(other, plan.protect(table, shuffle=True))


def test_people_with_several_rows_share_their_noise_in_a_new_draw() -> None:
    table = {"job": ["a", "b", "c"] * 200, "id": [i // 6 * 3 + i % 3 for i in range(600)]}
    plan = sv.Plan([JOB], name="ids")
    ids = sv.Wave("id", after="first", max_rows=2)
    found = sv.audit(table, plan.protect(table, key=own_key(), ids=ids, shuffle=True))
    assert found.matched == "nothing"
    assert found.guesses[0].rate.agrees


def test_findings_are_grouped_by_the_risks_of_the_law() -> None:
    table = {"sex": ["F", "M"] * 20, "title": ["Ms", "Mr"] * 20}
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], keep=["title"])
    found = sv.audit(table, plan.protect(table))
    assert found.risks == {"singling out": 0.0, "linkability": None, "inference": 1.0}
    assert [each.risk for each in found.findings] == ["inference", "inference"]
    text, page = str(found), found.to_html()
    for said in (
        "Singling out: no attack beats chance",
        "Linkability: not tried",
        "Inference: the best attack succeeds 100 percentage points above chance",
    ):
        assert said in text
        assert said in page


def test_a_shuffled_release_of_another_file_is_refused() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    people = {"sex": ["F", "M"] * 500}
    release = plan.protect(people, shuffle=True)
    sv.audit(people, release)
    # Counts of the release are looked at: uneven true values that noise evens out are no fault.
    even, uneven = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")]), ["F"] * 950 + ["M"] * 50
    assert sv.audit({"sex": uneven}, even.protect({"sex": uneven}, shuffle=True)).guesses
    # 854 of 1,000 women would be reported as such, not about 500: false alarms are below 1e-9.
    with pytest.raises(ValueError, match="got counts that the plan does not give: other data"):
        sv.audit({"sex": ["F"] * 1000}, release)


def test_pooling_one_draw_per_unit_is_no_finding_even_if_shuffled() -> None:
    homes = [i // 4 for i in range(800)]
    people = {"roof": [["tin", "clay"][h % 2] for h in homes], "home": homes}
    attributes = [sv.Categorical("roof", ["tin", "clay"], "randomized_response", beta=0.6,
                                 unit="home")]  # fmt: skip
    plan = sv.Plan(attributes, keep=["home"])
    for shuffle in (False, True):
        found = sv.audit(people, plan.protect(people, shuffle=shuffle))
        assert found.pooled
        assert not [each for each in found.findings if each.kind == "pooled"]
