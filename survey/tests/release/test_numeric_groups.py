"""Numbers permuted within groups, with missing ones kept and ends coded; means with a bound."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from folded import designed


def key(name: str) -> bs.Key:
    return bs.Key.from_bytes(hashlib.sha256(name.encode()).digest())


def frame(rows: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(4)
    return pd.DataFrame({
        "income": np.where(random.random(rows) < 0.1, np.nan, random.lognormal(3, 1, rows)),
        "hours": random.integers(0, 90, rows).astype(float),
        "region": random.choice(["n", "s", "w"], rows, p=[0.2, 0.3, 0.5]),
        "sex": random.choice(["F", "M"], rows),
        "w": random.integers(1, 9, rows),
    })  # fmt: skip


def plan(**options: Any) -> sv.Plan:
    given = {"within": "region", "missing": "keep", "k": 5, **options}
    return sv.Plan(
        [sv.Numeric("income", "k_anonymous", **given)],
        keep=["region", "sex", "w", "hours"], units=[],
    )  # fmt: skip


def values(out: Any, name: str = "income") -> pd.Series:
    column = out[name]
    return pd.Series(column.to_pylist() if isinstance(out, pa.Table) else list(column), dtype=float)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, "dict"])
def test_groups_keep_their_numbers_and_missing_ones_stay(library: Any) -> None:
    data = frame()
    columns = {name: data[name].to_numpy() for name in data}
    given = columns if library == "dict" else library(columns)
    if library is not pd.DataFrame and library != "dict":
        income = [None if x != x else float(x) for x in data["income"]]
        given = library({**columns, "income": income})
    out = plan().protect(given).data
    found = values(out)
    assert (found.isna() == data["income"].isna()).all()
    assert not found.equals(data["income"])
    for _, rows in data.groupby("region").groups.items():
        assert sorted(found[rows].dropna()) == sorted(data["income"][rows].dropna())


def test_a_stored_key_draws_the_same_again_and_other_groups_share_nothing(tmp_path: Path) -> None:
    data = frame()
    options: Any = {"key": key("again"), "release_name": "may"}
    first = values(plan().protect(data, **options).data)
    assert first.equals(values(plan().protect(data, **options).data))
    # A file draws what memory does.
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    data.to_csv(tmp_path / "in.csv", index=False)
    data.to_parquet(tmp_path / "in.parquet")
    for name in ("in.csv", "in.parquet"):
        for form in (".csv", ".parquet"):
            out = tmp_path / f"out{form}"
            protect_file(
                plan(), tmp_path / name, out, tmp_path / "c", Options.of(plan(), **options)
            )
            read = pd.read_csv(out) if form == ".csv" else pd.read_parquet(out)
            assert read["income"].equals(first)
            assert read["region"].tolist() == data["region"].tolist()
    # Within ranks of 5, 4 of 5 records move: other groups or missing rows are another draw.
    other = data.assign(region=np.where(np.arange(len(data)) == 0, "w", data["region"]))
    moved = values(plan().protect(other, **options).data)
    assert (moved != first).mean() > 0.5


def test_ends_are_coded_before_the_draw() -> None:
    made = sv.Plan([sv.Numeric("hours", "k_anonymous", k=5, bottom=10, top=60)],
                   keep="*", units=[])  # fmt: skip
    data = frame()
    out = values(made.protect(data).data, "hours")
    assert sorted(out) == sorted(data["hours"].clip(10, 60))
    whole = sv.Plan([sv.Numeric("hours", "k_anonymous", k=5, top=60.5)], keep="*", units=[])
    with pytest.raises(TypeError, match="`top` must be whole for a column of integers"):
        whole.protect(data.assign(hours=data["hours"].astype(int)))


def test_stated_bits_are_the_least_of_any_group() -> None:
    for family, given in (("k_anonymous", {"k": 5}), ("randomized_response", {"keep": 0.3}),
                          ("randomized_response", {"epsilon": 2}), ("uniform", {})):  # fmt: skip
        number: Any = family
        for least in (10, 17):
            attribute = sv.Numeric("x", number, within="g", min_group=least, **given)
            found = sv.Plan([attribute], keep=["g"], units=[]).for_records(300)
            part = found.by_attribute["x"]
            each = [getattr(bs, family)(n, **given).entropy_rate for n in range(least, 301)]
            assert part.bits is not None
            assert part.bits <= min(each) + 1e-12
            # Classes of exactly k occur in the range.
            assert part.bits > min(each) - 1e-9
            assert part.beta is not None
            assert part.beta <= part.bits / math.log2(300) < part.beta + 1e-9


def test_what_groups_publish_is_listed() -> None:
    said = " ".join(plan().protect(frame()).certificate.published_unchanged)
    assert "the mean and the set of the numbers of `income` in every group of `region`" in said
    assert "who is missing in column `income`" in said
    made = plan()
    assert sv.Plan.from_json(made.to_json()) == made
    bound = made.for_records(600)
    assert sv.Plan.from_toml(bound.to_toml()) == bound
    certificate = made.protect(frame()).certificate
    assert sv.Certificate.from_json(certificate.to_json()) == certificate


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: plan(k=None, beta=0.3), "`beta` must not be given if the sizes of groups"),
    (lambda: plan(k=None, share=0.1), "`share` must not be given"),
    (lambda: sv.Numeric("x", matrix=bs.uniform(3), within="g"), "must be given by a family"),
    (lambda: sv.Numeric("x", "geometric", temperature=2, within="g"), "`family` must have k"),
    (lambda: plan(k=20), "`min_group` must be at least k; got 10"),
    (lambda: sv.Plan([sv.Numeric("x", "uniform", within="g")]), "`within` must be by a column"),
    (lambda: plan(min_group=150).protect(frame()),
     "must hold 150 or more numbers in each group of `region`, as min_group says; got"),
    (lambda: plan().protect(frame().assign(region=None)), "column `region`: must"),
    (lambda: plan(missing="raise").protect(frame()), "must hold no missing values"),
    (lambda: sv.Numeric("x", "uniform", top=1, bottom=2), "`bottom` must be below top"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_groups_that_make_no_sense_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


# Means with a stated bound.


@pytest.mark.parametrize("options", [
    {"k": 5}, {"k": 5, "within": None, "missing": "raise"}, {"k": 5, "how": "average"},
    {"k": 5, "how": "average", "within": None, "missing": "raise"},
])  # fmt: skip
def test_means_of_subgroups_and_weighted_means_lie_within_their_bounds(options: Any) -> None:
    data = frame()
    if options.get("missing") == "raise":
        data = data.dropna().reset_index(drop=True)
    made = plan(**options)
    out = made.protect(data, key=key("means"), release_name="m").data
    present = data.dropna()
    asked: list[tuple[dict[str, Any], float]] = [
        ({"where": {"sex": "F"}}, present["income"][present["sex"] == "F"].mean()),
        ({"weights": "w"}, float(np.average(present["income"], weights=present["w"]))),
        ({"where": {"region": "s", "sex": "M"}, "weights": "w"}, float(np.average(
            present.query("region == 's' and sex == 'M'")["income"],
            weights=present.query("region == 's' and sex == 'M'")["w"]))),
    ]  # fmt: skip
    for question, truth in asked:
        found = sv.Release(out, made).mean("income", **designed(question))
        low, high = found.value - found.shift[0], found.value + found.shift[1]
        # Not an estimate: the mean of the sample itself is always there.
        assert low - 1e-9 <= truth <= high + 1e-9
        assert any("of permuted numbers" in note for note in found.notes)
        assert found.original()[0] <= low
    fixed = sv.Release(out, made).mean("income", where={"sex": "F"}, population="fixed")
    assert fixed.standard_error == 0


def test_means_by_the_groups_themselves_are_exact() -> None:
    data, made = frame(), plan()
    out = made.protect(data).data
    for region, rows in data.groupby("region"):
        found = sv.Release(out, made).mean("income", where={"region": region})
        assert math.isclose(found.value, rows["income"].mean(), rel_tol=1e-12)
        assert found.shift == (0.0, 0.0)
    found = sv.Release(out, made).mean("income")
    assert math.isclose(found.value, data["income"].mean(), rel_tol=1e-12)


def test_class_means_at_the_ends_have_no_bound() -> None:
    data = frame().dropna().reset_index(drop=True)
    made = plan(how="average", within=None, missing="raise")
    out = made.protect(data).data
    top = data["income"].idxmax()
    flag = pd.DataFrame(out).assign(sex=np.where(np.arange(len(data)) == top, "T", "o"))
    found = sv.Release(flag, made).mean("income", where={"sex": "T"})
    assert found.shift[1] == math.inf
