"""Attacks on one's own release: against exhaustive search, against the law, and on Adult.

Statistical tests have a false-alarm rate of at most 1e-6 each, by the margins of the audit itself
or as said beside them. Their keys are hashed from the names of the tests.
"""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.audit.guesses import TIES
from bistochastic_survey.cli import main
from enumerated import worlds
from folded import own_key
from release.test_adult import adult

SECRET = "Zaphod-Q7"
RR: Final = "randomized_response"


def people(n: int = 400) -> dict[str, list[Any]]:
    """Columns that go together, in no order."""
    draw = np.random.default_rng(n)
    age = draw.integers(20, 70, n)
    sex = draw.integers(0, 2, n)
    job = np.minimum(4, draw.integers(0, 4, n) + (age > 50))
    return {
        "sex": np.array(["F", "M"])[sex].tolist(),
        "job": np.array(["a", "b", "c", "d", "e"])[job].tolist(),
        "town": np.array(["N", "S"])[(draw.random(n) < 0.3 + 0.3 * sex).astype(int)].tolist(),
        "age": age.tolist(),
        "income": (age * 1000 + draw.integers(0, 9000, n)).astype(float).tolist(),
    }


def plan_of(*attributes: Any, keep: Any = "*", drop: Any = ()) -> sv.Plan:
    return sv.Plan(list(attributes), name="survey", keep=keep, drop=drop)


SEX = sv.Categorical("sex", ["F", "M"], RR, beta=0.6)
JOB = sv.Categorical("job", list("abcde"), RR, beta=0.5)
INCOME = sv.Numeric("income", "k_anonymous", k=20)


def brute_rank(scores: list[float], true: int, few: int) -> float:
    """The chance to be among the first few in a random order of equals, by counting."""
    own = scores[true]
    above = sum(s > own * (1 + TIES) for s in scores)
    level = sum(own * (1 - TIES) <= s <= own * (1 + TIES) for s in scores)
    return min(1.0, max(0.0, (few - above) / level))


def brute_linkage(
    chances: list[list[float]], few: int
) -> tuple[float, float]:  # chances[row][person]
    """How many rows are traced, and how many the attacker expects to trace."""
    n = len(chances)
    found = sum(brute_rank(row, j, few) for j, row in enumerate(chances)) / n
    expected = sum(sum(sorted(row, reverse=True)[:few]) / sum(row) for row in chances) / n
    return found, expected


# One of everything: strata, a joint attribute with an impossible cell, both kinds of missing.
GROUPS = (
    "town",
    {"N": bs.randomized_response(2, keep=0.7), "S": bs.randomized_response(2, keep=0.9)},
)
MIXED = plan_of(
    sv.Categorical("sex", ["F", "M"], groups=GROUPS),
    sv.Joint(
        ("job", "level"), [["a", "b"], [1, 2]], RR, keep=0.6, impossible=[("a", 2)]
    ),
    sv.Categorical("smokes", ["no", "yes"], RR, keep=0.8, missing="keep"),
    sv.Categorical("drinks", ["no", "yes"], RR, keep=0.6, missing="category"),
    keep=["town", "age"],
)  # fmt: skip
# The fifth and the last differ in their age alone.
FEW_PEOPLE: dict[str, list[Any]] = {
    "sex": ["F", "M", "M", "F", "M", "M", "F", "M"],
    "job": ["a", "b", "b", "a", "b", "a", "b", "b"],
    "level": [1, 2, 1, 1, 2, 1, 1, 2],
    "smokes": ["no", None, "yes", "no", "no", None, "yes", "no"],
    "drinks": ["no", "no", None, "yes", "no", None, "no", "no"],
    "town": ["N", "N", "S", "S", "N", "S", "S", "N"],
    "age": [30, 30, 30, 40, 40, 40, 40, 30],
}


def chance(plan: sv.Plan, truth: dict[str, Any], report: dict[str, Any], clear: list[str]) -> float:
    """The chance of a row under the truth of a person, from exact fractions."""
    found = Fraction(1)
    for name in clear:
        found *= truth[name] == report[name]
    for attribute in plan.attributes:
        assert not isinstance(attribute, sv.Numeric)
        cells = [
            tuple(cell)
            for cell in np.ndindex(
                *[len(a) + (attribute.missing == "category") for a in attribute.axes]
            )
        ]
        labels = [
            tuple(
                axis.values[i] if i < len(axis) else None
                for axis, i in zip(attribute.axes, cell, strict=True)
            )
            for cell in cells
        ]
        labels = [label for label in labels if label not in attribute.impossible]
        own = tuple(truth[column] for column in attribute.columns)
        said = tuple(report[column] for column in attribute.columns)
        if attribute.missing == "keep" and (None in own or None in said):
            found *= own == said
            continue
        law = attribute.matrices[0]
        if attribute.groups is not None:
            found *= truth[attribute.groups.column] == report[attribute.groups.column]
            code = attribute.groups.labels.code(report[attribute.groups.column])
            law = attribute.matrices[code or 0]
        found *= law.exact_row(labels.index(own))[labels.index(said)]
    return float(found)


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_linkage_is_that_of_an_exhaustive_search(seed: int) -> None:
    release = MIXED.protect(FEW_PEOPLE)
    data = {name: list(column) for name, column in release.data.items()}
    found = sv.audit(FEW_PEOPLE, release, seed=seed)
    truths, reports = rows_of(FEW_PEOPLE), rows_of(data)
    for link, clear in zip(found.linkages, ([], ["town", "age"]), strict=True):
        chances = [[chance(MIXED, t, r, clear) for t in truths] for r in reports]
        for few, rate in ((1, link.first), (5, link.five)):
            observed, expected = brute_linkage(chances, few)
            assert rate.observed == pytest.approx(observed, abs=1e-12)
            assert rate.predicted == pytest.approx(expected, abs=1e-12)
            assert rate.chance == few / 8


# One truth is unlikely by two reports, the other as much by a third: 1/2 * 1/5 = 1/10. Rounding
# puts the first below the second, or above it.
@pytest.mark.parametrize(("one", "other"), [(2, 5), (2, 9)])
def test_equal_products_are_ties_in_spite_of_rounding(one: int, other: int) -> None:
    odds = {"a": one, "b": other, "c": one * other}
    plan = plan_of(
        *(sv.Categorical(x, ["0", "1"], RR, keep=Fraction(n, n + 1)) for x, n in odds.items())
    )
    original = {"a": ["1", "0"], "b": ["1", "0"], "c": ["0", "1"]}
    released = {"a": ["0", "0"], "b": ["0", "0"], "c": ["0", "1"]}
    # The first row is of either person, with the same chance; the second is the second's.
    assert sv.audit(original, sv.Release(released, plan)).linkages[0].first.observed == 0.75


def test_what_is_predicted_is_what_happens_on_average_over_all_releases() -> None:
    # All releases with their exact probabilities: no randomness at all.
    columns = {"sex": ["F", "M", "M"], "job": ["a", "b", "b"]}
    plan = plan_of(
        sv.Categorical("sex", ["F", "M"], RR, keep=0.625),
        sv.Categorical("job", ["a", "b", "c"], "geometric", beta=0.5),
    )
    hits: dict[str, float] = {}
    predicted: dict[str, float] = {}
    total = 0.0
    for p, released in worlds(plan, columns):
        found = sv.audit(columns, sv.Release(released, plan))
        rates = {g.columns[0]: g.rate for g in found.guesses}
        rates |= {"first": found.linkages[0].first, "five": found.linkages[0].five}
        for name, rate in rates.items():
            hits[name] = hits.get(name, 0.0) + float(p) * rate.observed
            assert rate.predicted is not None
            predicted[name] = predicted.get(name, 0.0) + float(p) * rate.predicted
        total += float(p)
    assert total == pytest.approx(1, abs=1e-12)
    for name, share in hits.items():
        assert share == pytest.approx(predicted[name], abs=1e-12), name
    # The best guess of a sex is M from either report, as 2 of 3 are and 2 * 0.375 > 0.625.
    assert hits["sex"] == pytest.approx(2 / 3)


def test_averages_alone_leave_nothing_to_predict_from_draws() -> None:
    table = {"year": [1999, 2000] * 6, "income": [float(i) for i in range(12)]}
    plan = plan_of(sv.Numeric("income", "k_anonymous", k=3, how="average"))
    found = sv.audit(table, plan.protect(table), knows={"year": 1}, wants=[])
    first = found.scenarios[0].first
    assert first.predicted == first.observed


def test_guesses_are_those_of_bayes() -> None:
    table = people(500)
    plan = plan_of(SEX, JOB)
    release = plan.protect(table, key=own_key(), release_name="w")
    found = sv.audit(table, release)
    for guess, attribute in zip(found.guesses, (SEX, JOB), strict=True):
        (column,) = attribute.columns
        levels = attribute.categories
        law = attribute.matrices[0].to_dense()
        counts = np.array([table[column].count(level) for level in levels])
        joint = counts[:, None] * law
        best = joint.argmax(axis=0)
        hits = sum(
            best[levels.index(said)] == levels.index(true)
            for true, said in zip(table[column], release.data[column], strict=True)
        )
        assert guess.rate.observed == pytest.approx(hits / 500)
        assert guess.rate.predicted == pytest.approx(joint.max(axis=0).sum() / 500)
        assert guess.rate.chance == counts.max() / 500
        assert guess.rate.agrees
        assert guess.rate.low < guess.rate.observed < guess.rate.high


def test_what_is_not_hidden_is_found_and_what_is_hidden_is_not() -> None:
    table = people(300)
    laws: tuple[Any, ...] = (("identity", 1.0, None), ("uniform", None, 1 / 300))
    for law, observed, first in laws:
        plan = plan_of(
            sv.Categorical("sex", ["F", "M"], law), sv.Categorical("job", list("abcde"), law),
            keep=["town"], drop=["age", "income"],
        )  # fmt: skip
        found = sv.audit(table, plan.protect(table))
        for guess in found.guesses:
            assert guess.rate.observed == (guess.rate.chance if observed is None else observed)
            assert guess.rate.predicted == pytest.approx(guess.rate.observed)
        link = found.linkages[0]
        if first is None:
            alike = pd.DataFrame(table).groupby(["sex", "job"])["age"].transform("size")
            first = float((1 / alike).mean())
        assert link.first.observed == pytest.approx(first)
        assert link.five.observed == pytest.approx(min(1.0, 5 * first))
        assert link.first.predicted == pytest.approx(link.first.observed)


def test_adult_agrees_with_the_law_and_a_bad_plan_is_caught() -> None:
    frame = adult()
    names = ("workclass", "education", "marital-status", "relationship", "race", "sex")
    attributes = [sv.Categorical(n, sorted(frame[n].unique()), RR, beta=0.6) for n in names]
    rest = [n for n in frame.columns if n not in (*names, "age", "education-num")]
    good = sv.Plan(attributes, keep=["age"], drop=[*rest, "education-num"], name="adult")
    bad = sv.Plan(attributes, keep=["age", "education-num"], drop=rest, name="adult")
    key = own_key()
    found = sv.audit(frame, good.protect(frame, key=key, release_name="good"), targets=500)
    # Each rate is outside of its margin once in a million releases, by Bernstein's bound.
    assert all(guess.rate.agrees for guess in found.guesses)
    assert len(found.guesses) == len(names)
    for link in found.linkages:
        assert link.first.agrees
        assert link.five.agrees
    assert not any(g.beats_reported_value for g in found.giveaways if g.column == "education")
    caught = sv.audit(frame, bad.protect(frame, key=key, release_name="bad"), targets=500)
    worst = caught.giveaways[0]
    assert (worst.seen, worst.column) == ("education-num", "education")
    assert worst.rate.observed == 1.0
    assert worst.beats_reported_value
    first = caught.findings[0]
    assert (first.kind, first.columns, first.found) == ("giveaway", ("education",), 1.0)
    assert str(first).startswith(
        "An attacker who sees `education-num` guesses `education`: 100% (by chance: "
    )
    assert first.fix == "drop `education-num`, or protect it and `education` as one Joint"
    gains = [finding.gain for finding in caught.findings]
    assert gains == sorted(gains, reverse=True)


def test_columns_without_repetitions_give_nothing_away() -> None:
    table: dict[str, Any] = people(300)
    table["number"] = list(range(1000, 1300))
    table["name"] = [f"{SECRET} {i}" for i in range(300)]
    table["copy"] = table["job"]
    plan = plan_of(SEX, JOB)
    found = sv.audit(table, plan.protect(table))
    by = {(g.seen, g.column): g for g in found.giveaways}
    # Names that few records share reveal nothing unless these records are pooled.
    assert ("name", "job") not in by
    assert not any(pooled.by == "name" for pooled in found.pooled)
    assert by["copy", "job"].rate.observed == 1.0
    assert by["copy", "job"].beats_reported_value
    # Long columns of numbers are cut into classes of ranks, which say nothing here.
    assert by["number", "job"].rate.observed < 0.5


def test_the_order_of_rows_is_a_column_in_clear() -> None:
    table = people(600)
    order = np.argsort(table["job"], kind="stable")
    sorted_table = {name: [column[i] for i in order] for name, column in table.items()}
    plan = plan_of(SEX, JOB, INCOME, drop=["age", "town"])
    plain = sv.audit(table, plan.protect(table))
    told = sv.audit(sorted_table, plan.protect(sorted_table))
    at = {n.columns[0]: n for n in told.neighbours}
    assert at["job"].observed > 0.99
    assert at["job"].is_telling
    # Deviations are about normal: five of them once in two million.
    assert not any(n.is_telling for n in plain.neighbours)
    [order_] = [finding for finding in told.findings if finding.kind == "order"]
    assert "job" in order_.columns
    assert order_.found > 0.99
    assert order_.fix.startswith("shuffle the rows")
    by_income = np.argsort(table["income"])
    sorted_table = {name: [column[i] for i in by_income] for name, column in table.items()}
    told = sv.audit(sorted_table, plan.protect(sorted_table))
    [order_] = [finding for finding in told.findings if finding.kind == "order"]
    assert "income" in order_.columns
    assert order_.found > 0.9 > 0.2 > order_.chance


def test_neighbours_have_the_moments_of_all_orders() -> None:
    from itertools import pairwise, permutations

    from bistochastic_survey.audit.unprotected import agreement

    codes = [0, 0, 0, 1, 1, 2]
    counts = [sum(a == b for a, b in pairwise(order)) for order in permutations(codes)]
    mean, deviation = float(np.mean(counts)), float(np.std(counts))
    observed, expected, far = agreement(np.array(codes))
    assert observed == 3 / 5
    assert expected * 5 == pytest.approx(mean)
    assert far == pytest.approx((3 - mean) / deviation)


def test_left_out_guesses_are_those_of_a_loop() -> None:
    from bistochastic_survey.audit.unprotected import left_out_hits

    draw = np.random.default_rng(5)
    for _ in range(30):
        n = int(draw.integers(2, 40))
        seen, truths = draw.integers(0, 6, n), draw.integers(0, 3, n)

        def share(i: int, others: list[int], truths: Any = truths) -> float:
            counts = np.bincount(truths[others], minlength=3) if others else np.zeros(3)
            best = np.flatnonzero(counts == counts.max()).tolist() if others else []
            return 1 / len(best) if truths[i] in best else 0.0

        hits = alone = 0.0
        for i in range(n):
            same = [j for j in range(n) if j != i and seen[j] == seen[i]]
            every = [j for j in range(n) if j != i]
            alone += share(i, every)
            hits += share(i, same or every)
        assert list(left_out_hits(seen, truths)) == pytest.approx([hits, alone])


def test_rows_of_one_person_are_pooled_unless_they_share_their_noise() -> None:
    table = people(400)
    eight = {name: [column[i - i % 8] for i in range(400)] for name, column in table.items()}
    eight["id"] = [i // 8 for i in range(400)]
    plan = plan_of(SEX, JOB, keep=["id"], drop=["age", "town", "income"])
    found = sv.audit(eight, plan.protect(eight), id_column="id")
    [pooled] = [f for f in found.findings if f.kind == "pooled" and f.columns == ("job",)]
    # Eight reported values leave less than one wrong guess in a hundred.
    assert pooled.found > 0.95
    assert pooled.fix == "draw `job` once per `id` (unit=), or drop `id`"
    linkability = found.risks["linkability"]
    assert linkability is not None
    assert linkability >= pooled.gain
    again = plan.protect(eight, key=own_key(), ids=sv.Wave("id", after="first", max_rows=8))
    memoised = sv.audit(eight, again)
    assert memoised.matched == "id"
    assert memoised.risks["linkability"] == 0.0
    assert not any(finding.kind == "pooled" for finding in memoised.findings)
    alone = plan_of(SEX, keep=["town"], drop=["job", "age", "income"])
    assert sv.audit(table, alone.protect(table)).risks["linkability"] is None


def test_numbers_are_attacked_by_interval_and_distance() -> None:
    table = people(200)
    table["hours"] = np.random.default_rng(8).integers(1, 9, 200).astype(float).tolist()
    plan = plan_of(
        INCOME, sv.Numeric("hours", "k_anonymous", k=10), drop=["sex", "job", "town", "age"]
    )
    release = plan.protect(table)
    found = sv.audit(table, release)
    true = np.array([table["income"], table["hours"]])
    said = np.array([release.data["income"], release.data["hours"]], dtype=float)
    scale = true.std(axis=1)
    hits = np.zeros(2)
    for j in range(200):
        distance = (((true - said[:, [j]]) / scale[:, None]) ** 2).sum(axis=0)
        close = 1e-9 + distance[j] * (1 + 1e-9)
        above = int((distance < distance[j] * (1 - 1e-9) - 1e-12).sum())
        level = int((distance <= close).sum()) - above
        hits += [min(1.0, max(0.0, (k - above) / level)) for k in (1, 5)]
    link = next(each for each in found.linkages if each.attack == "by distance")
    assert link.first.observed == pytest.approx(hits[0] / 200, abs=1e-9)
    assert link.five.observed == pytest.approx(hits[1] / 200, abs=1e-9)
    ranks = {d.interval: d for d in found.disclosures if d.column == "income"}
    # Twenty neighbours of 200: nobody moves by more than a tenth of the ranks.
    assert ranks["10% of the ranks"].rate.observed == 1.0
    assert ranks["10% of the ranks"].rate.chance < 0.25
    place, now = np.argsort(np.argsort(true[0])), np.searchsorted(np.sort(true[0]), said[0])
    assert ranks["1% of the ranks"].rate.observed == np.mean(np.abs(place - now) <= 2)
    pairs = np.abs(place[:, None] - now) <= 2
    assert ranks["1% of the ranks"].rate.chance == pytest.approx(pairs.mean())


def test_people_at_the_same_distance_are_ties_in_spite_of_rounding() -> None:
    # Numbers that are large beside their steps, so that rounding moves every distance a little.
    table = {"a": [918_273.0 + i for i in range(90)], "b": [60.5 + i * 37 % 90 for i in range(90)]}
    plan = plan_of(*(sv.Numeric(name, "k_anonymous", k=5) for name in table))
    release = plan.protect(table)
    said = {name: list(release.data[name]) for name in table}
    # Both columns are the same numbers but for a constant, and have the same deviation.
    hits = Fraction(0)
    for j in range(90):
        squares = [sum(Fraction(table[c][k] - said[c][j]) ** 2 for c in table) for k in range(90)]
        above, level = sum(s < squares[j] for s in squares), squares.count(squares[j])
        hits += max(Fraction(0), min(Fraction(1), Fraction(1 - above, level)))
    [link] = [e for e in sv.audit(table, release).linkages if e.attack == "by distance"]
    assert link.first.observed == pytest.approx(float(hits / 90), abs=1e-12)


def test_permuted_numbers_join_the_posterior() -> None:
    table = people(600)
    plan = plan_of(SEX, INCOME, drop=["job", "town", "age"])
    release = plan.protect(table)
    found = sv.audit(table, release)
    alone = sv.audit(table, sv.Release({"sex": release.data["sex"]}, plan_of(SEX)))
    first = found.linkages[0].first
    assert first.observed > 3 * alone.linkages[0].first.observed
    # Classes of twenty: the posterior knows about one in twenty of a class. Rows of a permutation
    # depend on each other, so that no margin is given; the means agree to a half.
    assert first.predicted == pytest.approx(first.observed, rel=0.5)
    assert first.margin is None


def test_rows_are_matched_by_id_and_by_pseudonym() -> None:
    table: dict[str, Any] = people(300)
    table["person"] = [f"p{(i * 7) % 300}" for i in range(300)]
    key = own_key()
    plan = plan_of(SEX, JOB, keep=["age", "person"], drop=["town", "income"])
    kept = plan.protect(table, shuffle=True)
    found = sv.audit(table, kept, id_column="person")
    assert found.matched == "id"
    assert all(guess.rate.agrees for guess in found.guesses)
    # Whoever is named in clear is found.
    assert found.linkages[1].first.observed == 1.0
    hidden = plan_of(SEX, JOB, keep=["age"], drop=["town", "income"])
    options: Any = {"key": key, "ids": sv.Wave("person", after="first", pseudonym="who")}
    release = hidden.protect(table, shuffle=True, **options)
    told = sv.audit(table, release, key=key)
    assert told.matched == "pseudonym"
    assert all(guess.rate.agrees for guess in told.guesses)
    # The same from a table alone, and the same numbers whatever the order.
    alone = sv.audit(
        table, sv.Release(release.data, hidden), id_column="person", pseudonym="who", key=key
    )
    assert alone.guesses == told.guesses
    unshuffled = sv.audit(table, hidden.protect(table, **options))
    assert unshuffled.guesses == told.guesses
    assert unshuffled.linkages == told.linkages
    with pytest.raises(ValueError, match="`key` must be given to read the pseudonyms"):
        sv.audit(table, release)
    with pytest.raises(ValueError, match="column `who`: must hold the same ids in both tables"):
        sv.audit(table, release, key=bs.Key.insecure(1))


def refused(pattern: str, original: Any, given: Any, plan: Any = None, **options: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=pattern) as error:
        sv.audit(original, given if plan is None else sv.Release(given, plan), **options)
    assert SECRET not in str(error.value)
    assert re.search(r" must .*; got .*[^.]$", str(error.value)), str(error.value)


def test_what_cannot_be_audited_is_refused_with_the_reason() -> None:
    table: dict[str, Any] = people(300)
    table["name"] = [SECRET] * 300
    plan = plan_of(SEX, JOB)
    release = plan.protect(table)
    data = release.data
    on_engine = sv.Release(data, dataclasses.replace(release.certificate, engine="spark 4"))
    assert sv.audit(table, on_engine).matched == "columns"
    assert sv.audit(table, on_engine, shuffled=False).matched == "order"
    backwards = {name: list(column)[::-1] for name, column in data.items()}
    refused("column `town`: must be the same in `original` and `release`", table, backwards, plan)
    bare = plan_of(SEX, JOB, keep=[], drop=["age", "town", "income", "name"])
    turned = {name: list(bare.protect(table).data[name])[::-1] for name in ("sex", "job")}
    refused("column `(sex|job)`: must hold reports of `original` under this plan, row by row",
            table, turned, bare)  # fmt: skip
    truthful = plan_of(sv.Categorical("sex", ["F", "M"], "identity"), JOB)
    refused("column `sex`: must hold reports of `original`", table, data, truthful)
    refused("`plan` must be a Plan, or the certificate of the table; got str", table, data, "plan")
    refused("`release` must be a Release; got dict", table, data)
    refused("`release` must have as many rows as `original`", table,
            {name: column[:5] for name, column in data.items()}, plan)  # fmt: skip
    refused("`original` must be a pandas", [1], data, plan)
    refused("`release` must be a pandas", table, 3, plan)
    refused("column `sex`: must be in `release`", table, {"job": data["job"]}, plan)
    refused("column `job`: must be in `original`", {"sex": table["sex"]}, data, plan)
    refused("column `id`: must be in `original`", table, data, plan, id_column="id")
    secret = {**data, "sex": [SECRET, *list(data["sex"])[1:]]}
    refused("must hold declared categories only in `release`; got 1", table, secret, plan)
    refused("must hold declared categories only in `original`; got 1",
            {**table, "sex": [SECRET, *table["sex"][1:]]}, data, plan)  # fmt: skip
    refused("`original` must be the table before it was protected; got a Release: are the two",
            release, release)  # fmt: skip
    moved = plan_of(INCOME, drop=["sex", "job"])
    other = {**moved.protect(table).data, "income": np.zeros(300)}
    refused("column `income`: must hold the numbers of `original`", table, other, moved)
    shy = plan_of(sv.Categorical("sex", ["F", "M"], RR, beta=0.6, missing="keep"))
    refused("must be missing in the same rows", table, {**data, "sex": [None, *data["sex"][1:]]},
            shy)  # fmt: skip
    refused("`original` must have at least one row", {"sex": []}, {"sex": []}, plan_of(SEX))


def test_columns_that_the_plan_does_not_release_are_found_first() -> None:
    table = people(400)
    plan = plan_of(sv.Categorical("sex", ["F", "M"], "uniform"), JOB, keep=["age"],
                   drop=["town", "income"])  # fmt: skip
    release = plan.protect(table)
    assert sv.audit(table, release).unforeseen == ()
    copied = sv.Release({**release.data, "sx": list(table["sex"])}, release.certificate)
    found = sv.audit(table, copied)
    assert found.findings[0].tried == "`sx` is in the release, but not in the original"
    worst = max((g for g in found.giveaways if g.column == "sex"), key=lambda g: g.rate.observed)
    assert (worst.seen, worst.rate.observed, worst.beats_reported_value) == ("sx", 1.0, True)
    assert any(
        str(s).startswith("An attacker who sees `sx` guesses `sex`: 100%") for s in found.findings
    )
    assert str(found).count("`sx`") >= 2
    left = {**release.data, "town": list(table["town"])}
    told = sv.audit(table, sv.Release(left, plan)).findings[0].tried
    assert told == "`town` is in the release, though the plan leaves it out"
    silent = plan_of(*plan.attributes, keep=["age"])
    told = sv.audit(table, sv.Release(left, silent)).findings[0].tried
    assert told == "`town` is in the release, though the plan does not keep it"


def test_shuffled_rows_of_one_id_are_refused() -> None:
    table = {**people(300), "id": [i // 3 for i in range(300)]}
    plan = plan_of(SEX, keep=["id"], drop=["job", "town", "age", "income"])
    refused("column `id`: must tell rows apart, as they were shuffled; got 100 ids", table,
            plan.protect(table, shuffle=True), id_column="id")  # fmt: skip


def test_tables_of_every_library_give_the_same() -> None:
    table = people(300)
    plan = plan_of(SEX, JOB, INCOME)
    released = plan.protect(table).data
    plain = {name: np.asarray(column).tolist() for name, column in released.items()}
    found = sv.audit(table, sv.Release(plain, plan))
    makers: list[Any] = [
        pd.DataFrame, pl.DataFrame, pa.table,
        lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
    ]  # fmt: skip
    for make in makers:
        assert sv.audit(make(table), sv.Release(make(plain), plan)) == found
    assert sv.audit(pd.DataFrame(table), sv.Release(pl.DataFrame(plain), plan)) == found


def test_nothing_of_a_respondent_is_shown() -> None:
    table: dict[str, Any] = people(300)
    table["name"] = [f"{SECRET}{i}" for i in range(300)]
    table["code"] = [918_273_000 + i for i in range(300)]
    plan = plan_of(SEX, JOB)
    release = plan.protect(table)
    before = (repr(release), str(release.certificate), release.certificate.to_json())
    found = sv.audit(table, release, id_column="name")
    shown = "".join(
        [str(found), repr(found), found.to_html(), found._repr_html_(), *map(str, found.findings)]
    )
    assert SECRET not in shown
    assert "918273" not in shown.replace(",", "")
    # The audit leaves nothing behind in what is published.
    assert before == (repr(release), str(release.certificate), release.certificate.to_json())


def test_labels_are_escaped_and_the_page_says_what_it_is(tmp_path: Path) -> None:
    levels = ["<script>alert(1)</script>", "b & c"]
    columns = {"<i>x</i>": levels * 50, "k<b>": [1, 2] * 50}
    plan = sv.Plan([sv.Categorical("<i>x</i>", levels, RR, beta=0.5)], keep=["k<b>"], name="<u>")
    found = sv.audit(columns, plan.protect(columns))
    found.report(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert page == found.to_html()
    for text in (page, found._repr_html_()):
        assert not re.search(r"<(script|i>|b>|u>)", text)
        assert "Contains information about the data: not for release" in text
    assert "&lt;i&gt;x&lt;/i&gt;" in page
    assert "http:" not in page
    assert "https:" not in page
    assert len(page) < 1_000_000
    assert str(found).startswith("Audit: contains information about the data: not for release")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.html"]


def test_targets_are_a_sample_that_a_seed_chooses() -> None:
    table = people(1000)
    plan = plan_of(SEX, JOB)
    release = plan.protect(table)
    some = sv.audit(table, release, targets=100, seed=1)
    assert {link.targets for link in some.linkages} == {100}
    assert sv.audit(table, release, targets=100, seed=1) == some
    assert sv.audit(table, release, targets=100, seed=2) != some
    every = sv.audit(table, release, targets=5000)
    assert every.linkages == sv.audit(table, release).linkages
    assert every.linkages[0].targets == 1000
    # The interval of the sample holds the share of all, but for once in a million.
    close = sv.audit(table, release, targets=100, seed=1, confidence=1 - 1e-6)
    assert close.linkages[0].first.low <= every.linkages[0].first.observed
    assert every.linkages[0].first.observed <= close.linkages[0].first.high


def test_people_are_found_by_columns_whose_chances_have_no_double() -> None:
    # Every other report is false, at odds of 1 to 49: a row has a chance of about e^-1000 under the
    # truth and e^-2000 under others, which are all 0 as doubles. That noise makes another person as
    # likely has a probability below 1e-60.
    draw = np.random.default_rng(5)
    table = {f"c{i}": draw.integers(0, 50, 4).tolist() for i in range(500)}
    plan = plan_of(*(sv.Categorical(name, range(50), RR, keep=0.5) for name in table))
    heard: list[float] = []
    release = plan.protect(table)
    found = sv.audit(table, release, progress=heard.append)
    rates = found.linkages[0].first
    assert rates.observed == 1.0
    assert rates.predicted == pytest.approx(1.0)
    assert sum(share < 0.1 for share in heard) > 100


def test_large_domains_are_said_not_to_be_attacked() -> None:
    n = 8000
    columns = {name: np.random.default_rng(2).permutation(n).tolist() for name in ("a", "b")}
    law = bs.randomized_response(8000, epsilon=9)
    plan = sv.Plan([sv.Categorical(name, range(n), matrix=law) for name in columns])
    left = sv.audit(columns, plan.protect(columns))
    assert left.guesses == ()
    assert "too many cells" in left.notes[0]


def test_the_shell_audits_files(tmp_path: Path) -> None:
    table = pd.DataFrame(people(400))
    table["person"] = [f"{SECRET}{i}" for i in range(400)]
    plan = plan_of(SEX, JOB, INCOME, keep=["age", "town"], drop=["person"])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    run = CliRunner().invoke
    for form in ("csv", "parquet"):
        source, out = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
        getattr(table, f"to_{form}")(source, index=False)
        words = ["protect", str(source), str(out), "--plan", str(tmp_path / "plan.toml")]
        assert run(main, words).exit_code == 0
        asked = ["audit", str(source), str(out), "--plan", str(tmp_path / "plan.toml")]
        done = run(main, asked)
        assert done.exit_code == 0, done.output
        assert "contains information about the data: not for release" in done.output
        assert "income" in done.output
        assert SECRET not in done.output
        by = run(main, [*asked[:-1], f"{out}.certificate.json", "--out", str(tmp_path / "a.html")])
        assert by.exit_code == 0, by.output
        assert "not for release" in (tmp_path / "a.html").read_text()
        again = [*words, "--shuffle"]
        assert run(main, again).exit_code == 0
        paired = run(main, asked)
        assert paired.exit_code == 0, paired.output
        assert "no columns pair them with the original" in " ".join(paired.output.split())
        failed = run(main, [*asked, "--fail-above", "0.01"])
        assert failed.exit_code == 1
        assert " beat chance by more than 0.01" in failed.output
        assert run(main, [*asked, "--fail-above", "0.99"]).exit_code == 0
        knows = run(main, [*asked, "--knows", "sex,age=2", "--knows", "", "--wants", "job"])
        assert knows.exit_code == 0, knows.output
        assert "sex, age within 2" in knows.output
    wrong = run(main, [*asked, "--out", str(tmp_path / "a.txt")])
    assert "`--out` must end in .html" in wrong.output
