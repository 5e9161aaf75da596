"""Two waves of the same people: the pair law, reference numbers, changes and bad input."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.models.panels import pair_responses
from folded import designed

RR: Any = "randomized_response"


def pair_law(matrix: bs.Matrix) -> np.ndarray:
    """The law of reported pairs, a row for each true pair: one draw for equal values, else two."""
    r = matrix.size
    rows = [matrix.exact_row(u) for u in range(r)]
    law = np.zeros((r, r, r, r))
    for u, w in itertools.product(range(r), repeat=2):
        for v, x in itertools.product(range(r), repeat=2):
            chance = rows[u][v] * Fraction(v == x) if u == w else rows[u][v] * rows[w][x]
            law[u, w, v, x] = float(chance)
    return law.reshape(r * r, r * r)


@pytest.mark.parametrize(
    "matrix",
    [
        bs.randomized_response(2, keep=0.75),
        bs.randomized_response(4, beta=0.6),
        bs.randomized_response(3, keep=0.1),
        bs.geometric(5, beta=0.5),
        bs.dense(np.array([[6, 3, 1], [1, 6, 3], [3, 1, 6]])),
    ],
)
def test_the_closed_form_is_the_inverse_of_the_pair_law(matrix: bs.Matrix) -> None:
    law = pair_law(matrix)
    found = pair_responses(matrix, matrix, True)
    # Over all releases of a pair, its pseudo-responses are on average the pair itself.
    np.testing.assert_allclose(law @ found.T, np.eye(len(law)), atol=1e-12)
    other = bs.randomized_response(matrix.size, beta=0.3)
    apart = np.kron(matrix.to_dense(), other.to_dense())
    np.testing.assert_allclose(
        apart @ pair_responses(matrix, other, False).T, np.eye(len(law)), atol=1e-11
    )


def test_drawn_pairs_follow_the_pair_law() -> None:
    plan = sv.Plan([sv.Categorical("x", [0, 1, 2], RR, beta=0.6)], keep=["person"], name="pairs")
    key = bs.Key.insecure(20)
    n = 90_000
    truth = np.arange(n) % 9
    waves = []
    after: Any = "first"
    for values in (truth // 3, truth % 3):
        release = plan.protect(
            {"person": np.arange(n), "x": values},
            key=key,
            ids=sv.Wave("person", after=after),
            allow_insecure=True,
        )
        waves.append(np.asarray(release.data["x"]))
        after = release.certificate
    law = pair_law(plan.attributes[0].matrix)  # type: ignore[arg-type]
    counts = np.zeros((9, 9))
    np.add.at(counts, (truth, waves[0] * 3 + waves[1]), 1)
    expected = law * (n // 9)
    assert (counts[expected == 0] == 0).all()
    some = expected > 0
    chi = ((counts - expected)[some] ** 2 / expected[some]).sum()
    # False alarm 1e-6.
    assert stats.chi2.sf(chi, int(some.sum()) - 9) > 1e-6


def test_reference_numbers() -> None:
    matrix = bs.randomized_response(3, beta=0.6)
    n = 3000
    first = np.arange(n) % 3
    second = np.where(np.arange(n) % 5 == 0, (first + 1) % 3, first)
    key, ids = bs.Key.insecure(1), np.arange(n)
    one, two = (matrix.randomize(each.astype(np.uint8), key=key, stream="w", ids=ids)
                for each in (first, second))  # fmt: skip
    plan = sv.Plan([sv.Categorical("x", [0, 1, 2], matrix=matrix)], keep=["id"])
    found = sv.Release({"x": one, "id": ids}, plan).transitions(
        sv.Release({"x": two, "id": ids}, plan), "x", id_column="id", memoised=True
    )
    reported = np.rint(found.table.reports.reshape(3, 3) * n)
    assert reported.tolist() == [[821, 133, 41], [34, 828, 118], [119, 40, 866]]
    np.testing.assert_allclose(
        found.counts,
        [[777.605, 203.841, 11.257], [2.398, 788.208, 180.208], [182.054, 9.410, 845.018]],
        atol=6e-4,
    )
    errors = found.table.standard_errors * n
    assert errors[0] == pytest.approx(35.297, abs=6e-4)
    assert errors[1] == pytest.approx(18.877, abs=6e-4)
    # V = (L^-T diag(lambda) L^-1 - t t^T) / (n - 1).
    back = pair_responses(matrix, matrix, True)
    share = found.table.frequencies
    spread = ((back * found.table.reports) @ back.T - np.outer(share, share)) / (n - 1)
    np.testing.assert_allclose(found.table.covariance, spread, atol=1e-15)


def two_waves(n: int, plan: sv.Plan, seed: int, *, later: sv.Plan | None = None) -> Any:
    """True values of two waves, and both protected waves by ids."""
    rng = np.random.default_rng(seed)
    one = pd.DataFrame({
        "person": np.arange(n), "a": rng.integers(0, 3, n), "b": rng.choice(["u", "v"], n),
        "town": rng.choice(["N", "S"], n),
    })  # fmt: skip
    two = one.copy()
    moves = rng.random(n) < 0.2
    two.loc[moves, "a"] = (two.loc[moves, "a"] + 1) % 3
    two.loc[rng.random(n) < 0.1, "b"] = "u"
    two.loc[rng.random(n) < 0.1, "town"] = "N"
    two = two.sample(frac=0.9, random_state=seed).reset_index(drop=True)
    key = bs.Key.insecure(seed)
    first = plan.protect(one, key=key, ids=sv.Wave("person", after="first"), allow_insecure=True)
    second = (later or plan).protect(
        two,
        key=key,
        ids=sv.Wave("person", after=first.certificate, redraw=True),
        allow_insecure=True,
    )
    return one, two, first, second


@pytest.mark.parametrize("case", ["alone", "both", "joint", "another matrix", "padded"])
def test_tables_of_moves_come_back_to_the_original(case: str) -> None:
    a: Any = sv.Categorical("a", [0, 1, 2], RR, beta=0.4)
    b = sv.Categorical("b", ["u", "v"], RR, beta=0.4)
    attributes: list[Any] = [a, b]
    if case == "joint":
        attributes = [sv.Joint(("a", "b"), [[0, 1, 2], ["u", "v"]], RR, beta=0.4)]
    elif case == "padded":
        # Seven codes are reported, three of which can be true.
        seven = bs.difference_set(3, epsilon=4, set=(7, [0, 1, 3]))
        assert seven.padding == 4
        attributes = [sv.Categorical("a", [0, 1, 2], matrix=seven), b]
    plan = sv.Plan(attributes, keep=["person", "town"], name="panel")
    later = None
    if case == "another matrix":
        later = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.2), b],
                        keep=["person", "town"], name="panel")  # fmt: skip
    one, two, first, second = two_waves(30_000, plan, 30, later=later)
    columns = ["b", "a"] if case == "both" else ["a"]
    found = first.transitions(second, columns, id_column="person")
    assert found.people == 27_000
    assert found.alone == (3000, 0)
    assert found.memoised == (case != "another matrix")
    both = one.merge(two, on="person")
    names = [f"{column}_{wave}" for wave in "xy" for column in columns]
    levels = {"a": [0, 1, 2], "b": ["u", "v"]}
    index = pd.MultiIndex.from_product([levels[name[0]] for name in names], names=names)
    truth = both.groupby(names).size().reindex(index, fill_value=0).to_numpy()
    away = (found.table.counts - truth) / (found.table.standard_errors * found.people)
    # Six standard errors each, of a sample, so of noise alone less: false alarm below 1e-6.
    assert np.abs(away[truth > 50]).max() < 6, away
    low, high = found.table.interval(1 - 1e-8).T * found.people
    assert ((low <= truth) & (truth <= high)).all()
    if case == "alone":
        # Unrelated draws, taken for granted, would count most people as movers.
        matrix = a.matrix
        wrong = (np.kron(np.linalg.inv(matrix.to_dense()), np.linalg.inv(matrix.to_dense())).T
                 @ found.table.reports)  # fmt: skip
        stayed = (both["a_x"] == both["a_y"]).mean()
        assert wrong.reshape(3, 3).trace() > stayed + 0.1
        assert abs(float(np.trace(found.counts)) / found.people - stayed) < 0.02
    weighted = first.transitions(
        sv.Release(second.data.assign(w=1.0), second.plan),
        columns,
        id_column="person",
        memoised=True,
        design=sv.Design(weights="w"),
    )
    np.testing.assert_allclose(weighted.counts, found.counts, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(
        weighted.table.standard_errors, found.table.standard_errors, rtol=1e-9
    )


def test_a_change_has_the_error_of_the_difference() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.4),
                    sv.Categorical("b", ["u", "v"], RR, beta=0.4)],
                   keep=["person", "town"], name="panel")  # fmt: skip
    one, two, first, second = two_waves(20_000, plan, 50)
    truth = two["a"].mean() - one["a"].mean()
    mean = first.change(second, column="a", id_column="person")
    assert abs(mean.value - truth) < 6 * mean.standard_error
    before = first.mean("a").standard_error
    after = second.mean("a").standard_error
    assert mean.standard_error < 0.8 * math.hypot(before, after)
    share = first.change(second, where={"b": "u"}, given={"a": [0, 1]}, id_column="person")
    inside = [wave[wave["a"] < 2] for wave in (one, two)]
    truth = (inside[1]["b"] == "u").mean() - (inside[0]["b"] == "u").mean()
    assert abs(share.value - truth) < 6 * share.standard_error
    ratios = [wave.ratio({"b": "u"}, {"a": [0, 1]}).value for wave in (first, second)]
    assert share.value == pytest.approx(ratios[1] - ratios[0], rel=1e-9)
    assert share.notes[0] == f"from {ratios[0]:.6g} to {ratios[1]:.6g}"
    clustered = first.change(
        second, column="a", id_column="person", design=sv.Design(cluster="town")
    )
    assert clustered.degrees == 1
    strata = first.change(second, column="a", id_column="person", design=sv.Design(strata="town"))
    assert strata.value == pytest.approx(mean.value)
    # People of one wave alone, and the same wave twice: no change, without an error.
    none = first.change(first, column="a", id_column="person")
    assert none.value == 0
    assert none.standard_error == 0


def test_changes_and_moves_are_covered() -> None:
    """Noise and people are drawn anew 80 times: false alarm below 1e-6 over all cells."""
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.5)], keep=["person"], name="cover")
    tries, n = 80, 1500
    rng = np.random.default_rng(60)
    truth = np.array([[0.25, 0.05, 0.02], [0.04, 0.3, 0.04], [0.03, 0.02, 0.25]])
    hits, change = np.zeros(9), 0
    for i in range(tries):
        cells = rng.choice(9, n, p=truth.ravel())
        one, two = (
            plan.protect(
                {"person": np.arange(n), "a": each},
                key=bs.Key.insecure(1000 + i),
                ids=sv.Wave("person", after="first"),
                allow_insecure=True,
            )
            for each in (cells // 3, cells % 3)
        )
        low, high = one.transitions(two, "a", id_column="person").table.interval().T
        hits += (low <= truth.ravel()) & (truth.ravel() <= high)
        low, high = one.change(two, column="a", id_column="person").interval()
        change += low <= truth.sum(axis=0) @ [0, 1, 2] - truth.sum(axis=1) @ [0, 1, 2] <= high
    assert (stats.binom.cdf([*hits, change], tries, 0.95) > 1e-7).all(), (hits, change)
    assert min(hits) < tries


def test_waves_drawn_by_position_are_not_taken_for_memoised() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.5)], keep=["person"], name="bare")
    n = 20_000
    rng = np.random.default_rng(70)
    first = rng.integers(0, 3, n)
    second = np.where(rng.random(n) < 0.05, (first + 1) % 3, first)
    waves = [plan.protect({"person": np.arange(n), "a": each}) for each in (first, second)]
    truth = int((first == second).sum())
    with pytest.raises(ValueError, match=r"^`memoised` must say whether both waves were drawn"):
        sv.Release(waves[0].data, plan).transitions(
            sv.Release(waves[1].data, plan), "a", id_column="person"
        )
    bare = sv.Release(waves[0].data, plan).transitions(
        sv.Release(waves[1].data, plan), "a", id_column="person", memoised=False
    )
    told = waves[0].transitions(waves[1], "a", id_column="person")
    for found in (bare, told):
        assert not found.memoised
        same = [0, 4, 8]
        error = n * math.sqrt(found.table.covariance[np.ix_(same, same)].sum())
        # Six standard errors: false alarm below 1e-8.
        assert abs(float(np.trace(found.counts)) - truth) < 6 * error
    with pytest.raises(ValueError, match=r"^`memoised` must agree with the certificates.*; got Tr"):
        waves[0].transitions(waves[1], "a", id_column="person", memoised=True)


def test_the_design_of_wave_2_follows_its_rows() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.4)],
                   keep=["person", "w", "half", "fraction"], name="order")  # fmt: skip
    n = 900
    rng = np.random.default_rng(71)
    one = pd.DataFrame({"person": np.arange(n), "a": rng.integers(0, 3, n)})
    one["half"] = np.arange(n) % 2
    one["fraction"] = np.where(one["half"] == 0, 0.9, 0.05)
    one["w"] = 1 / one["fraction"]
    one["sub"] = one["person"]
    mixed = one.sample(frac=1, random_state=1).reset_index(drop=True)
    options: Any = {"columns": "a", "id_column": "person", "memoised": True}
    for survey in (
        {"weights": "w", "strata": "half", "fpc": "fraction"},
        {"weights": "w", "cluster": "sub", "fpc": "fraction", "strata": "half"},
    ):
        sorted_, other = (
            sv.Release(one, plan).transitions(sv.Release(wave, plan), **designed(options, **survey))
            for wave in (one, mixed)
        )
        np.testing.assert_allclose(other.counts, sorted_.counts, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            other.table.standard_errors, sorted_.table.standard_errors, rtol=1e-9
        )


def test_tables_of_too_many_pairs_are_refused() -> None:
    plan = sv.Plan([sv.Categorical("a", range(100), RR, epsilon=4)], keep=["id"])
    wave = {"id": list(range(300)), "a": [i % 100 for i in range(300)]}
    with pytest.raises(ValueError, match=r"^`columns` must make at most 4,096 pairs .* 10,000"):
        sv.Release(wave, plan).transitions(
            sv.Release(wave, plan), "a", id_column="id", memoised=True
        )


def _homes(plan: sv.Plan, seed: int, homes: int) -> tuple[float, list[Any]]:
    """Two waves of people in homes of five with one roof each; some people move to another home."""
    rng = np.random.default_rng(seed)
    person, home = np.arange(5 * homes), np.arange(5 * homes) // 5
    roof = (rng.random(homes) < 0.4).astype(int)
    later = np.where(rng.random(homes) < 0.2, 1 - roof, roof)
    moved = np.where(rng.random(5 * homes) < 0.05, rng.permutation(home), home)
    waves = [{"person": person, "home": home, "roof": roof[home]},
             {"person": person, "home": moved, "roof": later[moved]}]  # fmt: skip
    key = bs.Key.insecure(seed)
    # Of the people that homes are drawn from: 0.4 + 0.2 (1 - 2 x 0.4) in the second wave.
    return 0.04, [
        plan.protect(
            wave,
            key=key,
            ids=sv.Wave("person", pseudonym="who", after="first"),
            allow_insecure=True,
        )
        for wave in waves
    ]


def test_a_change_of_what_is_drawn_by_unit_covers() -> None:
    roof = sv.Categorical("roof", [0, 1], RR, keep=0.8, unit="home")
    plan = sv.Plan([roof], keep=["home"], drop=["person"], units=["home"], name="homes")
    tries, hits = 80, 0
    for i in range(tries):
        truth, waves = _homes(plan, 2000 + i, 150)
        low, high = waves[0].change(waves[1], where={"roof": 1}, id_column="who").interval()
        hits += low <= truth <= high
    # False alarm 1e-6 if intervals cover 95%; by persons alone, 60% did.
    assert stats.binom.cdf(hits, tries, 0.95) > 1e-6, hits
    assert hits < tries


def test_a_unit_that_was_dropped_raises_in_every_analysis_of_errors() -> None:
    roof = sv.Categorical("roof", [0, 1], RR, keep=0.8, unit="home")
    plan = sv.Plan([roof], drop=["home", "person"], units=["home"], name="homes")
    _, waves = _homes(plan, 3000, 150)
    lost = r"^column `roof`: `cluster` must be given for standard errors, as the unit `home` is not"
    with pytest.raises(ValueError, match=lost):
        waves[0].change(waves[1], where={"roof": 1}, id_column="who")
    with pytest.raises(ValueError, match=lost):
        waves[0].ratio({"roof": 1})
    data = {**waves[0].data, "y": [float(i) for i in range(750)]}
    for model in ("linear", "logistic"):
        text = "y ~ roof" if model == "linear" else "roof ~ 1"
        with pytest.raises(ValueError, match=lost):
            sv.Release(data, plan).regress(text, model=model)
    drawn = r"^column `roof`: must be drawn by person for transitions; got one that is drawn by the"
    with pytest.raises(ValueError, match=drawn):
        waves[0].transitions(waves[1], "roof", id_column="who")


def test_bad_input_is_one_sentence() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1, 2], RR, beta=0.4),
                    sv.Categorical("c", [0, 1, 2], matrix=bs.circulant([0.5, 0, 0.5])),
                    sv.Categorical("d", [0, 1, 2], matrix=bs.uniform(3)),
                    sv.Categorical("g", [0, 1], groups=("c0", {0: bs.uniform(2)}))],
                   keep=["person", "c0"])  # fmt: skip
    frame = {"person": [1, 2, 3], "a": [0, 1, 2], "c": [0, 1, 2], "d": [0, 1, 2]}
    other = {**frame, "person": [4, 5, 6]}
    twice = {**frame, "person": [1, 1, 2]}
    bare = {name: values for name, values in frame.items() if name != "person"}
    calls: list[tuple[Any, Any, dict[str, Any], str]] = [
        (frame, other, {}, "`later` must have ids of the release; got 0 that match of 3 and 3"),
        (frame, twice, {}, "`later` must have one row per id; got 1 more row than ids"),
        (frame, bare, {}, "`later` must have the column `person` of ids; got none of that name: "),
        (frame, frame, {"columns": ["nobody"]}, "`columns` must name protected columns; got one"),
        (frame, frame, {"columns": ["g"]}, "column `g`: must have one matrix for transitions"),
        (frame, frame, {"columns": ["c"]}, "column `c`: `transitions` must be used with a matrix"),
        (frame, frame, {"columns": ["d"]}, "column `d`: `transitions` must be used with an inv"),
        (frame, frame, {"memoised": None}, "`memoised` must say whether both waves were drawn by "
         "ids with one key, as release has no certificate; got none"),
        (frame, frame, {"memoised": 1}, "`memoised` must be True or False; got int"),
    ]  # fmt: skip
    for one, two, more, wrong in calls:
        given = {"columns": ["a"], "id_column": "person", "memoised": True, **more}
        with pytest.raises((ValueError, TypeError), match=f"^{re.escape(wrong)}"):
            sv.Release(one, plan).transitions(sv.Release(two, plan), **designed(given))
    with pytest.raises(bs.errors.SingularMatrixError):
        sv.Release(frame, plan).transitions(
            sv.Release(frame, plan), ["c"], id_column="person", memoised=True
        )
    with pytest.raises(
        TypeError, match=r"^`change` must be used with where or column; got neither"
    ):
        sv.Release(frame, plan).change(sv.Release(frame, plan), id_column="person")
