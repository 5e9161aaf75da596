"""One category, however it is spelled: "2", 2 and 2.0. Ids are never matched so."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.plan.labels import Labels, spelled_as, spelling
from bistochastic_survey.table.results import opened
from folded import waved
from tables import TABLES, values_of

KEY = bs.Key.from_bytes(bytes(range(32)))
ROWS = 600
SPELLED = {"text": str, "integer": int, "float": float}
every_spelling = pytest.mark.parametrize("held", sorted(SPELLED))
every_category = pytest.mark.parametrize("declared", ["text", "integer"])


def people(held: str, *, missing: bool = True) -> dict[str, list[Any]]:
    """The same people, with codes that are held as that."""
    rng = random.Random(7)
    make = SPELLED[held]
    drawn = [rng.choice([-3, 0, 1, 2, 12]) for _ in range(ROWS)]
    regions = [rng.choice([1, 2]) for _ in range(ROWS)]
    codes: list[Any] = [make(code) for code in drawn]
    if missing:
        for row in rng.sample(range(ROWS), ROWS // 10):
            codes[row] = None
    return {"job": codes, "region": [make(code) for code in regions]}


def plan(declared: str, missing: Any = "keep") -> sv.Plan:
    """A law for each region, and categories that are declared as that."""
    make = SPELLED[declared]
    size = 5 + (missing == "category")
    laws = {
        make(1): bs.randomized_response(size, beta=0.2),
        make(2): bs.randomized_response(size, beta=0.4),
    }
    return sv.Plan(
        [sv.Categorical("job", [make(code) for code in (2, -3, 12, 0, 1)], matrix=None,
                        groups=("region", laws), missing=missing)],
        keep=["region"],
    )  # fmt: skip


def plainly(values: list[Any]) -> list[Any]:
    """Categories as strings of digits; None where one is missing."""
    return [None if value is None or value != value else spelling(value) for value in values]


def truth(missing: str = "keep") -> list[Any]:
    """What the same people report, spelled as their categories are."""
    frame: Any = people("integer")
    found = plan("integer", missing).protect(frame, key=KEY, release_name="w").data
    return plainly(found["job"])


@pytest.mark.parametrize("missing", ["keep", "category"])
@every_category
@every_spelling
@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_same_codes_get_the_same_noise(
    name: str, held: str, declared: str, missing: str
) -> None:
    table = TABLES[name](people(held))
    release = plan(declared, missing).protect(table, key=KEY, release_name="w")
    reports = values_of(release.data)
    assert plainly(reports["job"]) == truth(missing)
    given = {type(value) for value in values_of(table)["job"] if value == value} - {type(None)}
    got = {type(value) for value in reports["job"] if value == value} - {type(None)}
    assert got == given


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "Float64", "Int64", "int8", "string", "string[pyarrow]", "object", "str",
     "category", "int64[pyarrow]", "double[pyarrow]", "string[python]"],
)  # fmt: skip
@every_category
def test_types_of_pandas_stay(dtype: str, declared: str) -> None:
    frame = pd.DataFrame(people("integer", missing=False)).astype({"job": dtype})
    found = plan(declared).protect(frame, key=KEY, release_name="w").data["job"]
    if dtype == "category":
        assert found.dtype.categories.dtype == frame["job"].dtype.categories.dtype
    else:
        assert found.dtype == frame["job"].dtype
    again = pd.DataFrame(people("integer", missing=False))
    other = plan("integer").protect(again, key=KEY, release_name="w").data["job"]
    assert plainly(found.tolist()) == plainly(other.tolist())


@every_category
@every_spelling
def test_polars_with_nan_and_null(held: str, declared: str) -> None:
    columns = people(held)
    frame = pl.DataFrame(columns)
    if held == "float":
        # NaN and null are both missing, and cannot be told apart afterwards.
        frame = frame.with_columns(
            pl.when(pl.arange(ROWS) % 2 == 0).then(pl.col("job").fill_null(float("nan")))
            .otherwise(pl.col("job")).alias("job"))  # fmt: skip
    found = plan(declared).protect(frame, key=KEY, release_name="w").data["job"]
    assert found.dtype == frame["job"].dtype
    assert found.null_count() == plainly(columns["job"]).count(None)
    assert plainly(found.to_list()) == truth()


@every_category
@every_spelling
def test_batches_functions_and_files(held: str, declared: str, tmp_path: Path) -> None:
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    table = pa.table({**people(held), "person": list(range(ROWS))})
    own = sv.Plan(plan(declared).attributes, keep=["region"], drop=["person"])
    batches = own.protect_batches(table.to_reader(max_chunksize=77), key=KEY, release_name="w")
    found = batches.read_all()["job"]
    assert found.type == table["job"].type
    assert plainly(found.to_pylist()) == truth()
    reports = {}
    with bs.KeySource.temporary(tmp_path) as source:
        for kind in SPELLED:
            some = pa.record_batch({**people(kind), "person": list(range(ROWS))})
            f = plan(declared).batch_function(key=source, ids=sv.Wave("person", after="first"))
            reports[kind] = f.batch(some).column("job")
    assert reports[held].type == table["job"].type
    assert plainly(reports[held].to_pylist()) == plainly(reports["integer"].to_pylist())
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "in.parquet")
    options = Options.of(own, key=KEY, release_name="w")
    out = tmp_path / "out.parquet"
    protect_file(own, tmp_path / "in.parquet", out, tmp_path / "c.json", options)
    assert plainly(pq.read_table(out)["job"].to_pylist()) == truth()


@every_category
@every_spelling
def test_one_record(held: str, declared: str) -> None:
    make = SPELLED[held]
    own, other = plan(declared), plan("integer")
    for code in (2, -3, 12, 0, 1):
        for person in range(20):
            record = {"job": make(code), "region": make(2)}
            found = own.responder(key=KEY, after="first").one(record, id=person)
            assert type(found["job"]) is make
            again = other.responder(key=KEY, after="first").one(
                {"job": code, "region": 2}, id=person
            )
            assert spelling(found["job"]) == spelling(again["job"])


def test_one_record_that_cannot_be_written_so() -> None:
    own = sv.Plan([sv.Categorical("a", ["1", "x"], "randomized_response", beta=0.5)])
    with pytest.raises(TypeError, match=r"^column `a`: must hold strings, .*; got int$"):
        own.responder(key=KEY, after="first").one({"a": 1}, id=1)


@every_category
@every_spelling
def test_estimates_conditions_and_audits(held: str, declared: str) -> None:
    make = SPELLED[held]
    table = pl.DataFrame(people(held, missing=False))
    release = plan(declared).protect(table, key=KEY, release_name="w")
    plain = pl.DataFrame(people("integer", missing=False))
    other = plan("integer").protect(plain, key=KEY, release_name="w")
    for where in ({"job": [make(2), make(0)]}, {"region": make(1)}):
        one = release.estimate("job", where=where)
        two = other.estimate("job", where={
            k: [int(x) for x in (v if isinstance(v, list) else [v])] for k, v in where.items()
        })  # fmt: skip
        assert np.array_equal(one.frequencies, two.frequencies)
        assert plainly(list(one.axes[0].categories)) == plainly(list(two.axes[0].categories))
    share = release.ratio(where={"job": make(2)}, given={"region": make(2)})
    assert share == other.ratio(where={"job": 2}, given={"region": 2})
    scores = {make(code): code for code in (2, -3, 12, 0, 1)}
    assert release.mean("job", scores) == other.mean("job")
    found = sv.audit(table, sv.Release(other.data, plan(declared)), targets=50)
    assert (
        found.guesses
        == sv.audit(plain, sv.Release(other.data, plan("integer")), targets=50).guesses
    )


@every_category
@every_spelling
def test_waves_are_not_drawn_again(held: str, declared: str) -> None:
    def with_ids(kind: str) -> dict[str, Any]:
        return {**people(kind, missing=False), "person": list(range(ROWS))}

    first = plan("integer").protect(
        with_ids("integer"), key=KEY, ids=sv.Wave("person", after="first")
    )
    second = plan(declared).protect(
        with_ids(held), key=KEY, ids=sv.Wave("person", after=first.certificate)
    )
    assert second.certificate.ids is not None
    assert second.certificate.ids.redrawn == ()
    assert plainly(second.data["job"]) == plainly(first.data["job"])


def test_impossible_combinations_between_waves() -> None:
    def joint(make: Any) -> sv.Plan:
        return sv.Plan([sv.Joint(("a", "b"), [[make(0), make(1)]] * 2, "randomized_response",
                                 beta=0.5, impossible=[(1, "0")])])  # fmt: skip

    data = {"a": [0, 1], "b": [0, 1], "person": [1, 2]}
    options: dict[str, Any] = {"key": KEY, "id_column": "person"}
    first = joint(int).protect(data, **waved(options, after="first"))
    second = joint(str).protect(data, **waved(options, after=first.certificate))
    assert second.data == first.data


def test_row_columns_are_never_matched_so(tmp_path: Path) -> None:
    """Rows 7 and "7" have noise of their own."""
    reports = []
    with bs.KeySource.temporary(tmp_path) as source:
        for make in (int, str):
            rows = [make(row) for row in range(ROWS)]
            batch = pa.record_batch({**people("integer", missing=False), "row": rows})
            kept = sv.Plan(plan("integer").attributes, keep=["region", "row"])
            f = kept.batch_function(key=source, row_columns=["row"], release_name="w")
            reports.append(f.batch(batch).column("job").to_pylist())
    # Of 600 reports, 40 or more differ, but for a chance below 1e-20.
    assert sum(one != other for one, other in zip(*reports, strict=True)) > 40


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (2, "2", True), (2, 2.0, True), ("2", 2.0, True), (-3, "-3", True), (0, "0", True),
        (0, -0.0, True), (np.int8(2), "2", True), (np.float32(2), "2", True),
        (2**53 - 1, float(2**53 - 1), True), (2**53, float(2**53), False),
        (1, "01", False), (1, "+1", False), (0, "-0", False), (2, "2.0", False), (1, True, False),
        ("1", True, False), (1, " 1", False), (1, "1 ", False), (1, "١", False), (2, 2.5, False),
        (1, "1e0", False), (1, "1_0", False), (2, float("inf"), False),
    ],
)  # fmt: skip
def test_the_rule(one: Any, other: Any, equal: bool) -> None:
    category = one if isinstance(one, str) else int(one)
    second = "77" if isinstance(one, str) else 77
    own = sv.Plan([sv.Categorical("a", [category, second], "randomized_response", beta=0.5)])
    columns = [
        {"a": [other] * 300},
        {"a": np.array([other] * 300)},
        pd.DataFrame({"a": [other] * 9}),
    ]
    for frame in columns:
        if equal:
            assert own.protect(frame).certificate.records >= 9
        else:
            with pytest.raises((TypeError, ValueError)):
                own.protect(frame)
    if equal:
        one_level = sv.Release({"a": [other] * 2}, own).estimate("a", where={"a": other})
        assert one_level.axes[0].categories == (category,)
    else:
        with pytest.raises(ValueError, match="`where` must hold declared categories"):
            sv.Release({"a": [category]}, own).estimate("a", where={"a": [other]})


@given(st.integers(-(2**63), 2**63 - 1))
def test_digits_are_those_of_python(number: int) -> None:
    labels = Labels.of("categories", [number])
    text = spelled_as(labels, "text")
    assert text is not None
    assert text.values == (str(number),)
    assert spelled_as(text, "integer") == labels
    assert labels.code(f"0{number}") is None
    assert labels.code(f"+{number}") is None
    assert labels.code(float(number)) == (0 if abs(number) < 2**53 else None)


REFUSED: dict[str, tuple[list[Any], Any, str]] = {
    "texts and integers": (
        ["1", "2", "x"], [1, 2], "must hold strings, as its categories are; got int"),
    "digits and booleans": (
        ["0", "1"], [True, False],
        "must hold integers, or strings of their digits, as its categories are; got bool"),
    "large categories and floats": (
        [2**53, 0], np.array([0.0, 0.0]),
        "got float64, which cannot hold every category"),
    "narrow floats": (
        [2**24, 0], np.zeros(2, np.float32), "got float32, which cannot hold every category"),
    "narrow integers": (["300", "1"], np.ones(2, np.int8), "got int8, which cannot hold every"),
    "leading zeros": (
        [1, 2], ["01", "1"], r"got 1 other value, the first in row 0 \(the categories are spelled "
        r"as plain digits, such as 1\)"),
    "above, below and between": (
        [1, 5], [0, 3, 9, 1], "got 3 other values, the first in row 0$"),
    "halves": ([1, 2], [1.0, 2.5], "got 1 other value, the first in row 1$"),
    "blanks": (["1", "2"], [" 1", "2"], r"row 0 \(are there blanks around the values\?\)$"),
    "a mixture": (["1", "2"], [1, "2"], "strings of their digits, .*; got int and str$"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_does_not_match_says_what_was_expected(case: str) -> None:
    categories, values, match = REFUSED[case]
    own = sv.Plan([sv.Categorical("a", categories, "randomized_response", beta=0.5)])
    with pytest.raises((TypeError, ValueError), match=match) as refused:
        own.protect({"a": values})
    assert str(refused.value).startswith("column `a`: ")


# What occurs in a column that the plan does not protect.


def phantoms() -> dict[str, Any]:
    """Columns with values that nobody sees."""
    masked = np.ma.array([1.0, np.nan, 9.0, 2.0], mask=[False, False, True, False])
    return {
        "masked floats": {"a": masked},
        "masked integers": {"a": np.ma.array([1, 1, 9, 2], mask=[False, True, True, False])},
        "masked texts": {"a": np.ma.array(["1", "1", "9", "2"], mask=[False, True, True, False])},
        "masked objects": {"a": np.ma.array(
            [1, None, 9, 2], mask=[False, False, True, False], dtype=object)},
        "floats": {"a": np.array([1.0, np.nan, np.nan, 2.0])},
        "objects": {"a": np.array([1, None, np.nan, 2], dtype=object)},
        "list": {"a": [1, None, float("nan"), 2]},
        "pandas objects": pd.DataFrame({"a": pd.Series([1, None, np.nan, 2], dtype=object)}),
        "pandas floats": pd.DataFrame({"a": [1.0, np.nan, None, 2.0]}),
        "pandas nullable": pd.DataFrame({"a": pd.array([1, None, pd.NA, 2], dtype="Int64")}),
        "pandas nullable floats": pd.DataFrame({"a": pd.arrays.FloatingArray(
            np.array([1.0, np.nan, 9.0, 2.0]), np.array([False, False, True, False]))}),
        "pandas arrow": pd.DataFrame({"a": pd.Series(
            pa.array([1.0, float("nan"), None, 2.0]), dtype="double[pyarrow]")}),
        "pandas categories": pd.DataFrame({"a": pd.Categorical([1, None, None, 2], [9, 1, 2])}),
        "polars": pl.DataFrame({"a": [1.0, float("nan"), None, 2.0]}),
        "polars objects": pl.DataFrame({"a": ["1", None, None, "2"]}),
        "arrow": pa.table({"a": [1.0, float("nan"), None, 2.0]}),
        "arrow under a null": pa.table({"a": pa.Array.from_buffers(
            pa.int64(), 4, [pa.py_buffer(b"\x09"), pa.py_buffer(
                np.array([1, 9, 9, 2], np.int64))])}),
        "arrow dictionary": pa.table({"a": pa.DictionaryArray.from_arrays(
            pa.array([1, 3, None, 2]), pa.array([9.0, 1.0, 2.0, float("nan")]))}),
        "arrow dictionary with null": pa.table({"a": pa.DictionaryArray.from_arrays(
            pa.array([1, 3, None, 2]), pa.array([9, 1, 2, None]))}),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(phantoms()))
def test_no_phantom_levels(name: str) -> None:
    codes, values = opened(phantoms()[name]).levels("a")
    assert plainly(values) == ["1", "2", None]
    assert values[-1] is None
    assert codes.tolist() == [0, 2, 2, 1]
