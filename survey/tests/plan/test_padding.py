"""Codes that are reported and never true, in plans: from categories to estimates and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import Release
from folded import tabulated

KEY = bs.Key.insecure(5)
TOWNS = [f"town {i}" for i in range(28)]
# At epsilon 1 the set has 40 codes, with a missing category as well.
UNUSED = tuple(f"(unused {i})" for i in range(1, 13))


def plan_of(missing: Any = "raise", categories: Any = TOWNS, **more: Any) -> sv.Plan:
    town = sv.Categorical("town", categories, "difference_set", epsilon=1, missing=missing)
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=2)
    return sv.Plan([town, sex], name="survey", keep=["region"], **more)


def table(records: int = 60_000, missing: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    shares = np.linspace(1, 3, 28)
    town = rng.choice(TOWNS, records, p=shares / shares.sum()).astype(object)
    town[rng.random(records) < missing] = None
    sex = np.where(rng.random(records) < 0.3 + 0.4 * (town == TOWNS[27]), "F", "M")
    return {"town": town, "sex": sex, "region": np.where(sex == "F", "n", "s")}


def protected(plan: sv.Plan, data: Any) -> Release[Any]:
    return plan.protect(data, key=KEY, release_name="w1", allow_insecure=True)


def test_padding_follows_the_categories_and_is_stored() -> None:
    plan = plan_of()
    attribute: Any = plan.attributes[0]
    assert attribute.reported[0].values == (*TOWNS, *UNUSED)
    assert '"padding": 12' in plan.to_json()
    assert sv.Plan.from_json(plan.to_json()) == plan
    assert sv.Plan.from_toml(plan.to_toml()) == plan
    with pytest.raises(ValueError, match=r"`attributes\[0\].padding` must be 12"):
        sv.Plan.from_json(plan.to_json().replace('"padding": 12', '"padding": 2'))
    # Bits are of the categories that can be true.
    measures = plan.by_attribute["town"]
    assert measures.size == 28
    assert measures.beta == attribute.matrix.beta
    assert plan.max_bits == pytest.approx(np.log2(56), abs=1e-12)
    integers = sv.Categorical("x", range(10, 38), "difference_set", epsilon=1)
    assert integers.reported[0].values[-13:] == tuple(range(37, 50))
    digits = sv.Categorical("x", [str(i) for i in range(28)], "difference_set", epsilon=1)
    assert digits.reported[0].values[-1] == "39"


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
def test_a_release_holds_them_and_an_original_must_not(library: Any, missing: Any) -> None:
    plan = plan_of(missing)
    data = table(4000, 0.0 if missing == "raise" else 0.2)
    release = protected(plan, library(data))
    reported = list(pd.Series(release.data["town"]).dropna().unique())
    assert "(unused 1)" in reported
    assert set(reported) <= {*TOWNS, *UNUSED}
    with pytest.raises(ValueError, match=r"column `town`: must hold declared categories only"):
        protected(plan, release.data)
    for method in ("inverse", "mle", "simplex", "shrunk"):
        found = release.estimate("town", method=method)
        many = 29 if missing == "category" else 28
        assert found.frequencies.shape == (many,)
        assert found.axes[0].categories[:28] == tuple(TOWNS)
    answered = pd.Series(data["town"]).notna().mean()
    if missing == "category":
        assert found.frequencies[28] == pytest.approx(1 - answered, abs=0.15)


def test_types_that_declare_categories_declare_them_all() -> None:
    plan, data = plan_of(), table(4000)
    ordered = pd.DataFrame(data)
    ordered["town"] = pd.Categorical(data["town"], categories=TOWNS, ordered=True)
    release = protected(plan, ordered)
    assert list(release.data["town"].cat.categories) == [*TOWNS, *UNUSED]
    enum = pl.DataFrame(data).with_columns(pl.col("town").cast(pl.Enum(TOWNS)))
    assert protected(plan, enum).data["town"].dtype == pl.Enum([*TOWNS, *UNUSED])
    coded = plan_of(categories=range(88, 116))
    numbers = np.array([88 + TOWNS.index(t) for t in data["town"]])
    wide = protected(coded, {**data, "town": numbers})
    assert wide.data["town"].max() == 127
    narrow = plan_of(categories=range(89, 117))
    with pytest.raises(TypeError, match="column `town`"):
        protected(narrow, {**data, "town": (numbers + 1).astype(np.int8)})


@pytest.mark.parametrize("missing", ["raise", "category"])
def test_estimates_are_those_of_the_truth(missing: Any) -> None:
    plan, data = plan_of(missing), table(60_000, 0.0 if missing == "raise" else 0.1)
    release = protected(plan, data)
    true = pd.Series(data["town"]).value_counts(normalize=True, dropna=False)
    names = [*TOWNS, *([None] if missing == "category" else [])]
    shares = np.array([true.get(name, true[true.index.isna()].sum()) for name in names])
    for method in ("inverse", "mle", "simplex"):
        found = release.estimate("town", method=method)
        # All intervals at once, of 1e-6 together, none missed.
        bounds = release.estimate("town").interval(1 - 1e-6, simultaneous=True)
        assert ((bounds[:, 0] <= shares) & (shares <= bounds[:, 1])).all()
        assert np.abs(found.frequencies - shares).max() < 6 * found.standard_errors.max()
    # Within a subgroup, crossed with another column, and by counts.
    women = pd.Series(data["town"])[data["sex"] == "F"].value_counts(normalize=True)
    inside = release.estimate("town", where={"sex": "F"})
    assert inside.frequencies[27] == pytest.approx(
        women[TOWNS[27]], abs=5 * inside.standard_errors[27]
    )
    crossed = release.estimate("town", "sex")
    assert crossed.shape == (len(names), 2)
    by_region = release.estimate("town", where={"region": "n"})
    assert by_region.frequencies[27] == pytest.approx(
        women[TOWNS[27]], abs=5 * by_region.standard_errors[27]
    )
    count = release.count({"town": TOWNS[27], "sex": "F"})
    exact = int(((data["town"] == TOWNS[27]) & (data["sex"] == "F")).sum())
    assert count.value == pytest.approx(exact, abs=6 * count.standard_error)
    rows = pd.DataFrame(release.data).groupby(["town", "sex"], dropna=False).size()
    counted = rows.rename("count").reset_index()
    again = sv.Release(tabulated(plan, counted, "town", "sex"), plan).estimate(
        *tabulated(plan, counted, "town", "sex").columns
    )
    assert again.frequencies == pytest.approx(crossed.frequencies, abs=1e-12)
    mean = release.mean("town", {**dict.fromkeys(TOWNS, 0), TOWNS[27]: 1}) if (
        missing == "raise") else None  # fmt: skip
    if mean is not None:
        assert mean.value == pytest.approx(shares[27], abs=6 * mean.standard_error)
    weighted = sv.Release(
        {**release.data, "w": np.ones(60_000), "s": np.arange(60_000) % 2}, plan
    ).estimate("town", design=sv.Design(weights="w", strata="s"))
    plain = release.estimate("town")
    assert weighted.frequencies == pytest.approx(plain.frequencies, abs=1e-12)
    assert weighted.standard_errors == pytest.approx(plain.standard_errors, rel=1e-3)


def test_groups_need_one_number_of_codes() -> None:
    own = (40, bs.difference_set(28, epsilon=1).parameters["residues"])
    laws = {"n": bs.difference_set(28, epsilon=1, set=own),
            "s": bs.difference_set(28, epsilon=2, set=own)}  # fmt: skip
    town = sv.Categorical("town", TOWNS, groups=("region", laws))
    plan = sv.Plan([town], keep=["region"], drop=["sex"])
    data = table(20_000)
    release = protected(plan, data)
    true = pd.Series(data["town"]).value_counts(normalize=True)
    for method in ("inverse", "mle"):
        found = release.estimate("town", method=method)
        assert found.frequencies[27] == pytest.approx(
            true[TOWNS[27]], abs=5 * found.standard_errors[27]
        )
    with pytest.raises(ValueError, match="matrices with one number of codes; got 28 and 40"):
        sv.Categorical("town", TOWNS, groups=("region", {**laws, "x": bs.uniform(28)}))


def test_joint_columns_numbers_and_weights_reject_it() -> None:
    m = bs.difference_set(28, epsilon=1)
    words = "must have codes that can all be true for several columns; got 12 that"
    with pytest.raises(ValueError, match=words):
        sv.Joint(("a", "b"), [range(4), range(7)], matrix=m)
    with pytest.raises(ValueError, match=words):
        sv.Joint(("a", "b"), [range(4), range(7)], "difference_set", epsilon=1)
    with pytest.raises(ValueError, match="for numbers; got"):
        sv.Numeric("income", matrix=m)
    with pytest.raises(ValueError, match="for numbers; got"):
        sv.Plan([sv.Numeric("income", "difference_set", epsilon=1)]).for_records(28)
    with pytest.raises(ValueError, match="`calibration_weights` must be used with codes"):
        protected(plan_of(), table(3000)).calibration_weights()
    with pytest.raises(ValueError, match=r"must be distinct; got '\(unused 1\)' twice"):
        sv.Categorical("x", ["(unused 1)", *TOWNS[1:]], "difference_set", epsilon=1)


def test_one_record_at_a_time_and_by_ids() -> None:
    plan = plan_of()
    data = {name: column[:300] for name, column in table(300).items()}
    ids = [f"p{i}" for i in range(300)]
    release = sv.Plan(plan.attributes, name="survey", keep=["region"]).protect(
        {**data, "id": ids}, key=KEY, ids=sv.Wave("id", after="first"), allow_insecure=True
    )
    assert "(unused 1)" in set(release.data["town"])
    for i in range(300):
        record = {"town": data["town"][i], "sex": data["sex"][i], "region": data["region"][i]}
        one = plan.responder(key=KEY, after="first", allow_insecure=True).one(record, id=ids[i])
        assert one["town"] == release.data["town"][i]
