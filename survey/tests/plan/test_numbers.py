"""Numeric columns of a plan: permuted or averaged among the records."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from tables import TABLES, values_of

KEY = bs.Key.from_bytes(bytes(range(32)))


def plan(*given: Any, **options: Any) -> sv.Plan:
    return sv.Plan([sv.Numeric("income", *given, **options)])


def incomes(rows: int, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).lognormal(10, 1, rows)


@pytest.mark.parametrize("order", ["rank", None])
@pytest.mark.parametrize("family", [("k_anonymous", {"k": 5}), ("geometric", {"beta": 0.3})])
def test_a_permuted_column_has_the_same_values(order: Any, family: Any) -> None:
    values = incomes(600)
    own = plan(family[0], order=order, **family[1])
    release = own.protect({"income": values}, key=KEY, release_name="w")
    assert sorted(release.data["income"]) == sorted(values)
    assert (release.data["income"] != values).mean() > 0.4
    if order == "rank":
        # Neighbours in rank exchange values: ranks stay close.
        ranks = [np.argsort(np.argsort(x)) for x in (values, release.data["income"])]
        far = np.abs(ranks[0] - ranks[1]).max()
        assert far < (5 * 2 if family[0] == "k_anonymous" else 300)
    certificate = release.certificate
    assert certificate.plan.has_records
    assert certificate.plan.epsilon == math.inf
    assert certificate.plan.reasons == ("column `income`: the set of values is published",)
    assert certificate == sv.Certificate.from_json(certificate.to_json())


def test_sorted_files_under_one_label_share_no_permutation_and_no_ties() -> None:
    """Whoever knows one file must not read the other: ranks are the same, values are not."""
    rows = 4000
    own = plan("k_anonymous", k=10)
    values = np.sort(incomes(rows))
    options: dict[str, Any] = {"key": KEY, "release_name": "w"}
    one = own.protect({"income": values}, **options).data["income"]
    places = np.searchsorted(values, one)
    # All but the first value are the same: ranks do not change.
    changed = values.copy()
    changed[0] /= 2
    two = own.protect({"income": changed}, **options).data["income"]
    same = places == np.searchsorted(changed, two)
    # By chance one in ten stays: 400 expected, 19 a standard deviation; false alarm below 1e-6.
    assert same.sum() < 500
    again = own.protect({"income": values.copy()}, **options).data["income"]
    assert (again == one).all()
    # Ties are broken by the column, too: only their order could be shared.
    tied = np.repeat([1.0, 2.0], rows // 2)
    means = plan("k_anonymous", k=10, how="average")
    assert (means.protect({"income": tied}, **options).data["income"] == tied).all()


def test_class_means_are_deterministic_and_count_no_bits() -> None:
    values = incomes(300)
    own = plan("k_anonymous", k=3, how="average")
    release = own.protect({"income": values})
    again = own.protect({"income": values}, key=KEY, release_name="w")
    assert (release.data["income"] == again.data["income"]).all()
    ranked = np.sort(release.data["income"])
    assert np.allclose(ranked, np.repeat(np.sort(values).reshape(-1, 3).mean(axis=1), 3))
    [data] = json.loads(release.certificate.to_json())["attributes"]
    assert data["deterministic"] is True
    assert (data["bits"], data["beta"], data["epsilon"]) == (0, 0, "inf")
    assert data["max_bits"] == pytest.approx(math.log2(300))
    assert "class means are a fixed function" in data["reason"]
    with pytest.raises(TypeError, match=r"^column `income`: must hold floats where class means"):
        own.protect({"income": np.arange(300)})
    with pytest.raises(bs.errors.InvertibleReleaseError, match=r"^column `income`: "):
        plan("geometric", beta=0.3, how="average").protect({"income": values})


def test_a_mixture_hides_what_its_weakest_part_hides() -> None:
    """One permutation serves the whole column: with even odds it is the identity."""
    law = bs.mix([bs.uniform(300), bs.identity(300)], weights=[0.5, 0.5])
    own = plan(matrix=law)
    assert law.beta > 0.5
    assert own.beta == own.bits == 0
    with pytest.raises(bs.errors.GuaranteeError):
        own.require(beta=0.1)
    one = plan(matrix=bs.uniform(300))
    assert one.beta == 1
    assert one.bits == bs.uniform(300).entropy_rate


def test_a_certificate_says_how_far_values_move() -> None:
    own = sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            sv.Numeric("income", "k_anonymous", k=5),
        ]
    )
    sexes = np.array(["F", "M"])[np.arange(500) % 2]
    certificate = own.protect({"sex": sexes, "income": incomes(500)}).certificate
    data = json.loads(certificate.to_json())["attributes"][1]
    want = bs.k_anonymous(500, k=5).displacement()
    assert data["displacement"]["p90"] == want.p90
    assert data["displacement"]["unmoved"] == pytest.approx(0.2)
    half = round(want.p50 * want.size)
    assert f"half of the records move by at most {half} of {want.size} ranks" in str(certificate)
    assert "if many records have the same value, most keep theirs" in str(certificate)
    numbers = "the set of all numbers in `income`, and how often each occurs"
    assert certificate.published_unchanged == (numbers, "the order of the rows")
    assert numbers in str(own.preview())
    assert own.beta == own.categorical.beta  # type: ignore[union-attr]
    bound = own.for_records(500)
    assert bound.numeric is not None
    assert bound.numeric.max_bits == pytest.approx(math.log2(500))
    assert bound.min_beta <= bound.beta


@pytest.mark.parametrize("name", ["lists", "pandas nullable", "polars", "arrow", "duckdb"])
def test_missing_numbers_are_refused_by_row(name: str) -> None:
    values: list[Any] = incomes(300).tolist()
    values[17] = None if name != "lists" else math.nan
    with pytest.raises(ValueError, match=r"^column `income`: .*; got 1, the first in row 17: "):
        plan("k_anonymous", k=5).protect(TABLES[name]({"income": values}))


def test_classes_need_as_many_records_as_they_hold() -> None:
    with pytest.raises(ValueError, match=r"^column `income`: `k` must be "):
        plan("k_anonymous", k=5).protect({"income": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^column `income`: must hold at least one record"):
        plan("uniform").protect({"income": np.zeros(0)})
    with pytest.raises(ValueError, match=r"^column `income`: `matrix` must have a row for each"):
        plan(matrix=bs.uniform(9)).protect({"income": incomes(8)})
    one = plan("uniform").protect({"income": [5.0]})
    assert values_of(one.data) == {"income": [5.0]}
