"""Recoding before the draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv

RR: Literal["randomized_response"] = "randomized_response"


def sex(**options: Any) -> sv.Categorical:
    return sv.Categorical("sex", ["F", "M"], RR, **{"beta": 0.6, **options})


def pregnant(**options: Any) -> sv.Categorical:
    return sv.Categorical("pregnant", ["no", "yes"], RR, **{"beta": 0.6, **options})


# Recoding.


def test_values_become_categories_before_they_are_checked() -> None:
    made = sv.Plan(
        [sv.Categorical("region", ["north", "south"], "identity",
                        recode={"01": "north", "02": "north", "03": "south"})]
    )  # fmt: skip
    given, want = ["01", "02", "03", "south"], ["north", "north", "south", "south"]
    for frame in (
        {"region": given},
        {"region": np.array(given)},
        pd.DataFrame({"region": given}),
        pd.DataFrame({"region": pd.Categorical(given)}),
        pl.DataFrame({"region": given}),
        pa.table({"region": given}),
    ):
        out: Any = made.protect(frame).data["region"]
        assert (out.to_pylist() if hasattr(out, "to_pylist") else list(out)) == want
    with pytest.raises(ValueError, match="must hold declared categories only; got 1 other value"):
        made.protect({"region": ["04"]})


def test_numbers_become_texts_and_codes_become_missing(tmp_path: Path) -> None:
    made = sv.Plan(
        [sv.Categorical("water", ["tap", "well"], "identity", missing="keep",
                        recode={1: "tap", 2: "well", 3: "well", 9: None})]
    )  # fmt: skip
    given, want = [1, 2, 3, 9, 1], ["tap", "well", "well", None, "tap"]
    for frame in (
        {"water": given},
        {"water": np.array(given)},
        pd.DataFrame({"water": given}),
        pl.DataFrame({"water": given}),
        pa.table({"water": given}),
    ):
        out: Any = made.protect(frame).data["water"]
        found = out.to_pylist() if hasattr(out, "to_pylist") else list(out)
        assert [None if x is None or x != x else x for x in found] == want
    # Without missing values the text column is a plain one.
    assert list(made.protect({"water": np.array([1, 2])}).data["water"]) == ["tap", "well"]
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    (tmp_path / "in.csv").write_text("water\n" + "\n".join(map(str, given)) + "\n")
    for form in (".csv", ".parquet"):
        out_file = tmp_path / f"out{form}"
        protect_file(made, tmp_path / "in.csv", out_file, tmp_path / "c.json", Options.of(made))
        read = (
            pd.read_csv(out_file, skip_blank_lines=False)
            if form == ".csv"
            else pd.read_parquet(out_file)
        )
        assert [None if x != x else x for x in read["water"]] == want
    responder = made.responder(key=bs.Key.insecure(1), after="first", allow_insecure=True)
    assert responder.one({"water": 3}, id=1) == {"water": "well"}
    assert responder.one({"water": 9}, id=1) == {"water": None}


def test_a_release_is_read_by_its_categories() -> None:
    made = sv.Plan([sv.Categorical("x", ["a", "b"], RR, keep=0.8, recode={"b": "a", "c": "b"})])
    out = made.protect({"x": ["b", "c", "a"] * 40}).data
    assert set(out["x"]) <= {"a", "b"}
    assert sv.Release(out, made).estimate("x").records == 120
    # A `b` of the release is a `b`, though one of the original is an `a`.
    assert sv.Release({"x": ["b"] * 10}, made).estimate("x").reports.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("options", "message"), [
    ({"recode": {"x": "C"}}, "`recode` must lead to declared categories; got an undeclared one"),
    ({"recode": {"x": None}}, "got a missing value"),
    ({"recode": {"x": "A", 1: "B"}}, "all of one kind"),
    ({"recode": {1.5: "A"}}, "`recode` must be a list of"),
    ({"recode": pl.col("a")}, "`recode` must be a dict from values to categories; got Expr"),
])  # fmt: skip
def test_what_recodes_nothing_is_refused(options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        sv.Categorical("a", ["A", "B"], RR, beta=0.6, **options)


def test_recoding_is_in_the_file_of_the_plan() -> None:
    made = sv.Plan(
        [sex(recode={1: "M", 2: "F"}), pregnant(recode={"j": "yes", "n": "no", "?": None},
                                                missing="category")]
    )  # fmt: skip
    assert sv.Plan.from_json(made.to_json()) == made
    assert sv.Plan.from_toml(made.to_toml()).digest == made.digest
    assert sv.Plan([sex()]).digest != sv.Plan([sex(recode={1: "M", 2: "F"})]).digest
    text = made.to_toml().replace('["n", "no"]', '["j", "no"]')
    with pytest.raises(ValueError, match="name each value once"):
        sv.Plan.from_toml(text)
