"""Tests of independence on protected tables: known statistics, levels, power and refusals."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.errors import Refused, RefusedType

TABLE = [[95, 60, 30, 20], [40, 60, 40, 25], [15, 30, 45, 40]]
JOINT = [125, 106, 89, 72, 96, 86, 75, 65, 82, 75, 68, 61]
ROWS, COLUMNS = list("abc"), list("wxyz")


def spread(counts: Any) -> dict[str, list[str]]:
    """The records of a table of counts."""
    table = np.reshape(counts, (3, 4))
    pairs = [(i, j) for (i, j), many in np.ndenumerate(table) for _ in range(many)]
    return {"one": [ROWS[i] for i, _ in pairs], "two": [COLUMNS[j] for _, j in pairs]}


def apart(epsilon: float = 1.0, **options: Any) -> sv.Plan:
    columns: dict[str, Any] = {"one": ROWS, "two": COLUMNS}
    return sv.Plan(
        [sv.Categorical(n, c, "randomized_response", epsilon=epsilon) for n, c in columns.items()],
        **options,
    )


def together(epsilon: float = 2.0) -> sv.Plan:
    joint = sv.Joint(["one", "two"], [ROWS, COLUMNS], "randomized_response", epsilon=epsilon)
    return sv.Plan([joint])


def test_separate_columns_have_the_plain_statistic() -> None:
    found = sv.Release(spread(TABLE), apart()).test_independence("one", "two")
    assert found.statistic == pytest.approx(74.31331084, abs=1e-8)
    assert found.degrees == 6
    assert found.p_value == pytest.approx(5.31469542e-14, rel=1e-8)
    assert found.records == 500
    turned = sv.Release(spread(TABLE), apart()).test_independence("two", "one")
    assert turned.statistic == pytest.approx(found.statistic, rel=1e-12)


def test_a_joint_is_fitted_through_its_matrix() -> None:
    for order in (("one", "two"), ("two", "one")):
        found = sv.Release(spread(TABLE), together()).test_independence(*order)
        assert found.statistic == pytest.approx(38.99979092, abs=1e-6)
        assert found.degrees == 6
        assert found.p_value == pytest.approx(7.15827707e-7, rel=1e-6)
    # Counts that are what a product law gives: the plain statistic would say otherwise.
    independent = sv.Release(spread(JOINT), together()).test_independence("one", "two")
    assert independent.statistic == pytest.approx(0.00921674, abs=1e-7)
    assert sv.Release(spread(JOINT), apart()).test_independence(
        "one", "two"
    ).statistic == pytest.approx(1.49483641, abs=1e-8)


def test_the_statistic_is_not_that_of_likelihood() -> None:
    """G is not built: in sparse tables it rejects 6 to 7% where 5 are promised."""
    counts = np.array(TABLE, float)
    shares = counts / 500
    product = np.outer(shares.sum(1), shares.sum(0))
    assert 2 * (counts * np.log(shares / product)).sum() == pytest.approx(74.65503531, abs=1e-8)
    # Of a Joint, through its matrix.
    rows, law = response(12, epsilon=2).to_dense(), np.full(12, 1 / 12)
    for _ in range(5000):
        moved = (law * (rows @ (shares.ravel() / (law @ rows)))).reshape(3, 4)
        law = np.outer(moved.sum(1), moved.sum(0)).ravel()
    g = 2 * (counts.ravel() * np.log(shares.ravel() / (law @ rows))).sum()
    assert g == pytest.approx(38.05701714, abs=1e-8)
    for plan, known in ((apart(), 74.65503531), (together(), 38.05701714)):
        found = sv.Release(spread(TABLE), plan).test_independence("one", "two")
        assert 0.3 < abs(found.statistic - known) < 1


def test_a_joint_of_three_columns_has_no_test_of_two() -> None:
    joint = sv.Joint(["one", "two", "sex"], [ROWS, COLUMNS, ["f", "m"]], "geometric", epsilon=2)
    frame: dict[str, Any] = {**spread(JOINT), "sex": ["f", "m"] * 500}
    with pytest.raises(
        Refused, match="`columns` must be tested in a `Joint` of two columns; got 3"
    ):
        sv.Release(frame, sv.Plan([joint])).test_independence("two", "one")


def titanic(**options: Any) -> sv.Plan:
    columns = {"class": ["1st", "2nd", "3rd", "crew"], "survived": ["no", "yes"]}
    return sv.Plan(
        [sv.Categorical(n, c, "randomized_response", **options) for n, c in columns.items()]
    )


def factor(true: np.ndarray, one: bs.Matrix, two: bs.Matrix) -> float | None:
    """The factor of a true table: the reported table as it is expected, in whole records."""
    law = one.to_dense().T @ (true / true.sum()) @ two.to_dense()
    counts = np.rint(law * 10**6).astype(int)
    columns = {"one": one, "two": two}
    codes = dict(zip(columns, np.indices(counts.shape).reshape(2, -1), strict=True))
    frame = {name: np.repeat(code, counts.ravel()) for name, code in codes.items()}
    plan = sv.Plan([sv.Categorical(n, range(m.size), matrix=m) for n, m in columns.items()])
    found = sv.Release(frame, plan).test_independence("one", "two", memoised=False)
    assert found.statistic / found.records == pytest.approx(phi2(law), rel=1e-3)
    return found.power_factor


def phi2(law: np.ndarray) -> float:
    """The noncentrality per record."""
    product = np.outer(law.sum(1), law.sum(0))
    return float(((law - product) ** 2 / product).sum())


def response(size: int, **options: float) -> bs.Matrix:
    return bs.randomized_response(size, **options)


@pytest.mark.parametrize(
    ("names", "one", "two", "known"),
    [
        (("class", "survived"), response(4, beta=0.6), response(2, beta=0.6), 0.185088),
        (("sex", "survived"), response(2, beta=0.6), response(2, beta=0.6), 0.188317),
        (("class", "survived"), response(4, epsilon=1), response(2, epsilon=1), 0.014119),
        (("class", "survived"), response(4, beta=0.6), bs.identity(2), 0.395858),
    ],
)
def test_what_the_noise_costs_in_power(
    names: tuple[str, str], one: bs.Matrix, two: bs.Matrix, known: float
) -> None:
    true = pd.crosstab(*(pd.Series(sv.titanic()[name]) for name in names)).to_numpy()
    assert factor(true, one, two) == pytest.approx(known, abs=2e-5)
    if known == 0.185088:
        assert phi2(true / true.sum()) == pytest.approx(0.086507, abs=1e-6)
        law = one.to_dense().T @ (true / true.sum()) @ two.to_dense()
        assert phi2(law) == pytest.approx(0.016011, abs=1e-6)


@pytest.mark.parametrize(
    ("names", "make", "known"),
    [
        (("race", "salary-class"), [lambda n: response(n, epsilon=1)] * 2, 0.006996),
        (("education", "occupation"), [lambda n: response(n, epsilon=2)] * 2, 0.010014),
        (
            ("education", "salary-class"),
            [lambda n: bs.geometric(n, beta=0.6), lambda n: response(n, beta=0.6)],
            0.090566,
        ),
    ],
)
def test_what_the_noise_costs_on_the_adult_census(
    names: tuple[str, str], make: list[Callable[[int], bs.Matrix]], known: float
) -> None:
    frame = pd.read_csv(adult(), skipinitialspace=True)
    true = pd.crosstab(frame[names[0]], frame[names[1]]).to_numpy()
    one, two = (each(size) for each, size in zip(make, true.shape, strict=True))
    assert factor(true, one, two) == pytest.approx(known, rel=5e-3)


def adult() -> Path:
    path = Path(os.environ.get("BISTOCHASTIC_DATA", ""), "adult.csv")
    if not path.is_file():
        pytest.skip("adult.csv is not in BISTOCHASTIC_DATA")
    return path


def test_a_kept_column_costs_less() -> None:
    plan = sv.Plan([sv.Categorical("a", [0, 1], "randomized_response", keep=0.75)], keep=["b"])
    rng = np.random.default_rng(5)
    b = rng.integers(0, 2, 5000)
    a = np.where(rng.random(5000) < 0.6, b, 1 - b)
    found = plan.protect({"a": a, "b": b}).test_independence("a", "b")
    # Two categories: the squared difference of the two rows is left, up to unequal margins.
    assert found.power_factor == pytest.approx(0.25, abs=0.01)
    assert found.p_value < 0.05


def test_groups_are_tested_inside() -> None:
    weak, strong = bs.randomized_response(3, epsilon=0.5), bs.randomized_response(3, epsilon=3)
    grouped = sv.Categorical("one", ROWS, groups=("town", {"A": weak, "B": strong}))
    two = sv.Categorical("two", COLUMNS, "randomized_response", epsilon=1)
    plan = sv.Plan([grouped, two], keep=["town"])
    frame: dict[str, Any] = spread(TABLE)
    frame["town"] = (["A", "B"] * 250)[:500]
    found = sv.Release(frame, plan).test_independence("one", "two")
    parts = []
    for town in ("A", "B"):
        here = [i for i, name in enumerate(frame["town"]) if name == town]
        part = {name: [frame[name][i] for i in here] for name in ("one", "two")}
        parts.append(sv.Release(part, apart()).test_independence("one", "two"))
    assert found.statistic == pytest.approx(sum(p.statistic for p in parts))
    assert found.degrees == sum(p.degrees for p in parts)


def rejections(seen: list[float], level: float = 0.05) -> int:
    return sum(p < level for p in seen)


@pytest.mark.parametrize("kind", ["separate", "joint", "clusters", "weights"])
def test_the_level_is_held(kind: str) -> None:
    """Independent columns, 300 releases: more than 37 rejections have probability below 1e-6."""
    rng = np.random.default_rng([48, len(kind)])
    plan = together(3) if kind == "joint" else apart(3)
    found = []
    for _ in range(300):
        n = 300
        one = np.array(ROWS)[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
        two = np.array(COLUMNS)[rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])]
        protected = dict(plan.protect({"one": one, "two": two}).data)
        design = None
        if kind == "clusters":
            # Each record twice: a test that takes them for two would reject far too often.
            protected = {name: np.repeat(each, 2) for name, each in protected.items()}
            protected["house"] = np.repeat(np.arange(n), 2)
            design = sv.Design(cluster="house")
        elif kind == "weights":
            protected["w"] = rng.lognormal(0, 0.8, n)
            design = sv.Design(weights="w")
        whole = sv.Plan(plan.attributes, keep=[c for c in ("house", "w") if c in protected])
        result = sv.Release(protected, whole).test_independence("one", "two", design=design)
        found.append(result.p_value)
    assert rejections(found) <= 37
    # It is a test: p-values of independent columns are spread out.
    assert rejections(found, 0.5) > 90


def test_the_plain_test_of_clusters_would_not_hold_it() -> None:
    frame = {name: np.repeat(each, 2) for name, each in spread(TABLE).items()}
    frame["house"] = np.repeat(np.arange(500), 2)
    plan = apart(keep=["house"])
    plain = sv.Release(frame, plan).test_independence("one", "two")
    clustered = sv.Release(frame, plan).test_independence(
        "one", "two", design=sv.Design(cluster="house")
    )
    assert plain.statistic == pytest.approx(2 * 74.31331084)
    assert clustered.p_value > plain.p_value
    assert clustered.notes[-1].startswith("statistic, degrees and p-value by Rao and Scott")


def test_equal_weights_are_close_to_none() -> None:
    frame: dict[str, Any] = spread(TABLE)
    frame["w"] = [2.0] * 500
    release = sv.Release(frame, apart(keep=["w"]))
    plain = release.test_independence("one", "two")
    weighted = release.test_independence("one", "two", design=sv.Design(weights="w"))
    assert weighted.degrees == pytest.approx(plain.degrees, rel=0.1)
    assert math.log(weighted.p_value) == pytest.approx(math.log(plain.p_value), rel=0.25)


def test_a_subgroup_by_an_unprotected_column() -> None:
    frame: dict[str, Any] = spread(TABLE)
    frame["town"] = (["A", "B"] * 250)[:500]
    release = sv.Release(frame, apart(keep=["town"]))
    part = {
        n: [v for v, t in zip(frame[n], frame["town"], strict=True) if t == "A"]
        for n in ("one", "two")
    }
    alone = sv.Release(part, apart()).test_independence("one", "two")
    inside = release.test_independence("one", "two", where={"town": "A"})
    assert inside.statistic == pytest.approx(alone.statistic)
    assert inside.records == 250


def test_refuses_two_waves_that_share_noise() -> None:
    """Independent values, and reports that depend on each other through the words of an id."""
    plan = sv.Plan([sv.Categorical("a", ROWS, "randomized_response", epsilon=1)])
    key, rng = bs.Key.generate(), np.random.default_rng(48)
    ids, waves = np.arange(2000), []
    after: Any = "first"
    for _ in range(2):
        true = np.array(ROWS)[rng.integers(0, 3, 2000)]
        wave = sv.Wave("id", after=after)
        released = plan.protect({"id": ids, "a": true}, key=key, ids=wave)
        after = released.certificate
        waves.append(released.data["a"])
    joined = sv.Plan(
        [sv.Categorical(n, ROWS, "randomized_response", epsilon=1) for n in ("a", "b")]
    )
    release = sv.Release(dict(zip(("a", "b"), waves, strict=True)), joined)
    why = "two waves that were drawn by the same ids share noise"
    with pytest.raises(Refused, match=rf"`memoised` must be False if both .*: {why}.*; got none"):
        release.test_independence("a", "b")
    with pytest.raises(Refused, match=rf"`memoised` must be False: {why}.*; got True"):
        release.test_independence("a", "b", memoised=True)
    with pytest.raises(RefusedType, match=r"`memoised` must be True or False; got str"):
        release.test_independence("a", "b", memoised="no")  # type: ignore[arg-type]
    # A wrong answer is what the refusal is for.
    assert release.test_independence("a", "b", memoised=False).p_value < 1e-6
    # The certificate of one release says that its columns have noise of their own.
    two = {name: np.array(ROWS)[rng.integers(0, 3, 2000)] for name in ("a", "b")}
    own = joined.protect({"id": ids, **two}, key=key, ids=sv.Wave("id", after="first"))
    assert own.test_independence("a", "b").p_value > 1e-6
    with pytest.raises(Refused, match=r"`memoised` must be False"):
        own.test_independence("a", "b", memoised=True)


def test_refuses_weights_that_were_made_of_the_reported_values() -> None:
    frame: dict[str, Any] = spread(TABLE)
    weights = sv.Release(frame, apart()).calibration_weights()
    plan = apart(keep=["w"])
    design = sv.Design(weights="w")
    for scale in (1, 250):
        release = sv.Release({**frame, "w": scale * weights}, plan)
        with pytest.raises(Refused, match="`design` must have weights of the sample, which know"):
            release.test_independence("one", "two", design=design)
    # They may start from those of the sample, as long as the table has them.
    sampled = {**frame, "own": np.random.default_rng(1).lognormal(size=500)}
    both = apart(keep=["own", "w"])
    raked = sv.Release(sampled, both).calibration_weights(weights="own")
    for scaled in (raked, 250 * raked):
        release = sv.Release(pa.table({**sampled, "w": scaled}), both)
        with pytest.raises(Refused, match="`design` must have weights of the sample, which know"):
            release.test_independence("one", "two", design=design)
    own = release.test_independence("one", "two", design=sv.Design(weights="own"))
    assert 0 < own.p_value < 1
    assert "Rao and Scott" in own.notes[-1]
    observed = [sv.Observed(c, a, bs.randomized_response(len(a), epsilon=1))
                for c, a in (("one", ROWS), ("two", COLUMNS))]  # fmt: skip
    analysis = sv.Analysis({**sampled, "w": raked}, observed, keep="*")
    with pytest.raises(Refused, match="`design` must have weights of the sample, which know"):
        analysis.test_independence("one", "two", design=design)
    # Few different weights are no reason.
    halves = sv.Release({**frame, "w": [1, 2] * 250}, plan)
    assert 0 < halves.test_independence("one", "two", design=design).p_value < 1


def test_refuses_what_has_no_valid_level() -> None:
    plan = sv.Plan([*apart().attributes, *titanic(epsilon=1).attributes], keep=["w"])
    frame: dict[str, Any] = {**spread(TABLE), "class": ["1st"] * 500, "survived": ["no"] * 500}
    release = sv.Release({**frame, "w": [1.0] * 500}, plan)
    with pytest.raises(Refused, match=r"`where` must be about unprotected columns"):
        release.test_independence("one", "two", where={"survived": "no"})
    with pytest.raises(Refused, match=r"`columns` must be different"):
        release.test_independence("one", "one")
    with pytest.raises(
        Refused, match=r"`design` must have weights, strata or cluster alone; got fpc"
    ):
        release.test_independence("one", "two", design=sv.Design(fpc=0.5))
    joint = sv.Plan(together().attributes, keep=["w"])
    weighted = sv.Release({**spread(TABLE), "w": [1.0] * 500}, joint)
    with pytest.raises(Refused, match=r"`design` must be left out for two columns of one `Joint`"):
        weighted.test_independence("one", "two", design=sv.Design(weights="w"))


def test_a_column_of_one_category_depends_on_nothing() -> None:
    frame = {"one": ["a"] * 50, "two": ["w", "x"] * 25}
    found = sv.Release(frame, apart()).test_independence("one", "two")
    assert (found.statistic, found.degrees, found.p_value) == (0.0, 0.0, 1.0)


def test_files_and_collectors_are_tested_too(tmp_path: Path) -> None:
    plan = apart()
    release = plan.protect(spread(TABLE))
    found = release.test_independence("one", "two")
    collector = plan.collector(["one", "two"])
    collector.update(release)
    counted = sv.Release(collector.counts("one", "two"), plan).test_independence("one", "two")
    assert counted.statistic == pytest.approx(found.statistic)
    assert counted.records == found.records == 500
    file = tmp_path / "protected.parquet"
    pq.write_table(plan.protect(pa.table(spread(TABLE))).data, file)
    opened = sv.open(file).test_independence("one", "two")
    assert opened.records == 500
