"""Recoding before the draw, and edit rules: nothing impossible is ever published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
from bistochastic.plan.rules import joined

RR: Literal["randomized_response"] = "randomized_response"
RULE = {"sex": "M", "pregnant": "yes"}


def sex(**options: Any) -> bs.Categorical:
    return bs.Categorical("sex", ["F", "M"], RR, **{"beta": 0.6, **options})


def pregnant(**options: Any) -> bs.Categorical:
    return bs.Categorical("pregnant", ["no", "yes"], RR, **{"beta": 0.6, **options})


# Recoding.


def test_values_become_categories_before_they_are_checked() -> None:
    made = bs.Plan(
        [bs.Categorical("region", ["north", "south"], "identity",
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
    made = bs.Plan(
        [bs.Categorical("water", ["tap", "well"], "identity", missing="keep",
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
    from bistochastic.files.release import protect_file
    from bistochastic.plan.options import Options

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
    options: Any = {"key": bs.Key.insecure(1), "id": 1, "allow_insecure": True}
    assert made.respond({"water": 3}, **options) == {"water": "well"}
    assert made.respond({"water": 9}, **options) == {"water": None}


def test_a_release_is_read_by_its_categories() -> None:
    made = bs.Plan([bs.Categorical("x", ["a", "b"], RR, keep=0.8, recode={"b": "a", "c": "b"})])
    out = made.protect({"x": ["b", "c", "a"] * 40}).data
    assert set(out["x"]) <= {"a", "b"}
    assert made.estimate(out, "x").records == 120
    # A `b` of the release is a `b`, though one of the original is an `a`.
    assert made.estimate({"x": ["b"] * 10}, "x").reports.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("options", "message"), [
    ({"recode": {"x": "C"}}, "`recode` must lead to declared categories; got an undeclared one"),
    ({"recode": {"x": None}}, "got a missing value"),
    ({"recode": {"x": "A", 1: "B"}}, "all of one kind"),
    ({"recode": ["x"]}, "`recode` must be a dict"),
    ({"recode": {1.5: "A"}}, "`recode` must be a list of"),
    ({"recode": pl.col("a")}, "`recode` must be a dict from values to categories; got Expr"),
    ({"recode": pd.Series({"x": "A"})}, "`recode` must be a dict from values .*; got Series"),
    ({"recode": ""}, "`recode` must be a dict from values to categories; got str"),
])  # fmt: skip
def test_what_recodes_nothing_is_refused(options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        bs.Categorical("a", ["A", "B"], RR, beta=0.6, **options)


def test_recoding_is_in_the_file_of_the_plan() -> None:
    made = bs.Plan(
        [sex(recode={1: "M", 2: "F"}), pregnant(recode={"j": "yes", "n": "no", "?": None},
                                                missing="category")]
    )  # fmt: skip
    assert bs.Plan.from_json(made.to_json()) == made
    assert bs.Plan.from_toml(made.to_toml()).digest == made.digest
    assert bs.Plan([sex()]).digest != bs.Plan([sex(recode={1: "M", 2: "F"})]).digest
    text = made.to_toml().replace('["n", "no"]', '["j", "no"]')
    with pytest.raises(ValueError, match="name each value once"):
        bs.Plan.from_toml(text)


# Edit rules.


def test_the_columns_become_one_joint_with_the_largest_matrix_that_both_allow() -> None:
    made = two([RULE])
    [joint] = made.attributes
    assert isinstance(joint, bs.Joint)
    assert joint.impossible == (("M", "yes"),)
    [law] = joint.matrices
    # Two binary columns at beta 0.6: the figures of the two separate draws and of the joint one.
    assert round(law.epsilon, 2) == 2.02
    assert round(law.truthfulness or 0, 3) == 0.790
    assert round((sex().matrices[0].truthfulness or 0) ** 2, 3) == 0.729
    assert law.beta >= 0.6
    assert made == bs.Plan.from_json(made.to_json())
    rule = 'impossible = [{sex = "M", pregnant = ["yes"]}]'
    text = bs.Plan([sex(), pregnant()]).to_toml()
    by_hand = text.replace("\n\n[[attributes]]", f"\n{rule}\n\n[[attributes]]", 1)
    assert bs.Plan.from_toml(by_hand) == made


@pytest.mark.parametrize("betas", [(0.9, 0.9), (0.3, 0.9), (0.99, 0.1)])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (7, 2)])
def test_neither_epsilon_nor_beta_is_given_away(
    betas: tuple[float, float], sizes: tuple[int, int]
) -> None:
    parts = [
        bs.Categorical(name, range(size), RR, beta=beta)
        for name, size, beta in zip("ab", sizes, betas, strict=True)
    ]
    [joint] = bs.Plan(parts, impossible=[{"a": 0, "b": 1}]).attributes
    [law] = joint.matrices  # type: ignore[union-attr]
    total = sum(part.matrices[0].epsilon for part in parts)
    least = min(part.matrices[0].beta for part in parts)
    assert law.epsilon <= total
    assert law.beta >= least
    # One of the two is used up, so that no larger epsilon is allowed.
    assert law.epsilon > total - 1e-6 or law.beta < least + 1e-6


def test_a_million_draws_break_no_rule() -> None:
    levels = {"sex": ["F", "M"], "pregnant": ["no", "yes"], "age": ["child", "adult", "old"]}
    rules: list[dict[str, Any]] = [
        RULE,
        {"pregnant": "yes", "age": ["child", "old"]},
        {"age": "child", "work": ["full", "half"]},
    ]
    made = bs.Plan(
        [*(bs.Categorical(c, v, RR, beta=0.7) for c, v in levels.items()),
         bs.Categorical("work", ["none", "half", "full"], RR, beta=0.7),
         bs.Categorical("eyes", ["blue", "brown"], RR, beta=0.7)],
        impossible=rules,
    )  # fmt: skip
    assert [a.columns for a in made.attributes] == [("sex", "pregnant", "age", "work"), ("eyes",)]
    joint = made.attributes[0]
    good = [
        cell
        for cell in itertools.product(["F", "M"], ["no", "yes"], ["child", "adult", "old"],
                                      ["none", "half", "full"])
        if not any(_broken(dict(zip(joint.columns, cell, strict=True)), rule) for rule in rules)
    ]  # fmt: skip
    assert len(good) == joint.matrices[0].size  # type: ignore[union-attr]
    rows = np.random.default_rng(2).integers(0, len(good), 1_000_000)
    frame = pa.table({
        **{name: pa.array([cell[i] for cell in good]).take(pa.array(rows))
           for i, name in enumerate(joint.columns)},
        "eyes": pa.array(["blue", "brown"]).take(pa.array(rows % 2)),
    })  # fmt: skip
    out = made.protect(frame).data
    cells = {tuple(row.values()) for row in out.select(list(joint.columns)).group_by(
        list(joint.columns)).aggregate([]).to_pylist()}  # fmt: skip
    assert cells == set(good)


def _broken(cell: dict[str, Any], rule: dict[str, Any]) -> bool:
    return all(cell[c] in (v if isinstance(v, list) else [v]) for c, v in rule.items())


def test_a_record_that_breaks_a_rule_is_an_error_with_its_row() -> None:
    made = two([RULE])
    with pytest.raises(
        ValueError, match=r"columns `sex`, `pregnant`: .*impossible; got 1, the first in row 2"
    ):
        made.protect({"sex": ["F", "M", "M"], "pregnant": ["yes", "no", "yes"]})


def test_missing_is_a_category_of_rules() -> None:
    both = [sex(missing="category"), pregnant(missing="category")]
    made = bs.Plan(both, impossible=[RULE, {"sex": None, "pregnant": ["yes", None]}])
    [joint] = made.attributes
    assert isinstance(joint, bs.Joint)
    assert set(joint.impossible) == {("M", "yes"), (None, "yes"), (None, None)}
    frame: Any = {"sex": ["F", None, "M"] * 30, "pregnant": [None, "no", "no"] * 30}
    out = made.protect(frame).data
    assert not any(
        s is None and p != "no" for s, p in zip(out["sex"], out["pregnant"], strict=True)
    )


def test_rules_name_categories_after_recoding_and_units_go_on() -> None:
    both = [
        sex(recode={1: "M", 2: "F"}, unit="hid"),
        pregnant(recode={"1": "yes", "0": "no"}, unit="hid"),
    ]
    made = bs.Plan(both, impossible=[RULE], keep=["hid"])
    out: Any = made.protect({"sex": [1, 2], "pregnant": ["0", "1"], "hid": [1, 2]}).data
    assert set(out["sex"]) <= {"F", "M"}
    assert made.attributes[0].unit == "hid"
    assert bs.Plan.from_json(made.to_json()) == made


def test_the_preview_and_the_certificate_say_whose_bound_it_is() -> None:
    made = two([RULE])
    said = made.protect({"sex": ["F"], "pregnant": ["no"]}).certificate
    for text in (str(made.preview()), str(said)):
        assert "columns `sex`, `pregnant`: drawn together" in text
    # Analyses need nothing new.
    out = made.protect({"sex": ["F", "M"] * 50, "pregnant": ["yes", "no"] * 50}).data
    assert abs(made.estimate(out, "sex", "pregnant").frequencies.sum() - 1) < 1e-9


def chain(columns: int, size: int) -> list[bs.Categorical]:
    return [bs.Categorical(f"c{i}", range(size), RR, beta=0.6) for i in range(columns)]


WRONG: Any = 3
RULES: Any = RULE


def two(rules: Any) -> bs.Plan:
    return bs.Plan([sex(), pregnant()], impossible=rules)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: two([{"sex": "M"}]), "two columns or more; got 1"),
    (lambda: two([{"sex": "X", "pregnant": "yes"}]),
     "declared categories of `sex`; got an undeclared one at position 0"),
    (lambda: two([{"sex": None, "pregnant": "yes"}]),
     "declared categories of `sex`"),
    (lambda: two([{"sex": [], "pregnant": "yes"}]), "got none for `sex`"),
    (lambda: two([WRONG]), "got int at position 0"),
    (lambda: two(RULES), "must be a list of dicts"),
    (lambda: bs.Plan([sex()], impossible=[{"sex": "M", "age": 3}], keep=["age"]),
     "got `age`, which is not protected: protect the columns together"),
    (lambda: bs.Plan([sex(), bs.Numeric("age", "k_anonymous", k=3)],
                     impossible=[{"sex": "M", "age": 3}]),
     "got `age`, which is permuted"),
    (lambda: bs.Plan([sex(), bs.Binned("age", [0, 9], RR, beta=0.6)],
                     impossible=[{"sex": "M", "age": 3}]),
     "got `age`, which is binned: .*bin by recode"),
    (lambda: bs.Plan([sex(), bs.Joint(("a", "b"), [[0, 1], [0, 1]], RR, beta=0.6)],
                     impossible=[{"sex": "M", "a": 0}]), "got `a`, which is joined with others"),
    (lambda: bs.Plan([sex(), bs.Categorical("pregnant", ["no", "yes"], "identity")],
                     impossible=[RULE]),
     r"must be a randomized response of finite epsilon.*identity.*Joint\(matrix=\)"),
    (lambda: bs.Plan([sex(), bs.Categorical("pregnant", ["no", "yes"], groups=("g", {
        "a": bs.uniform(2)}))], impossible=[RULE], keep=["g"]), "got groups"),
    (lambda: bs.Plan([sex(missing="keep"), pregnant()], impossible=[RULE]), "one `missing`"),
    (lambda: bs.Plan([sex(unit="h"), pregnant()], impossible=[RULE], keep=["h"]), "one `unit`"),
    (lambda: two([RULE, {"sex": "M", "pregnant": "no"}]),
     "column `sex`: `impossible` must leave every category of a column possible; got none for M"),
    (lambda: two([{"sex": ["F", "M"], "pregnant": ["no", "yes"]}]),
     "must leave every category"),
    (lambda: bs.Plan(chain(4, 9), impossible=[{f"c{i}": 0, f"c{i + 1}": 1} for i in range(3)]),
     "columns `c0`, `c1`, `c2`, `c3`: must make at most 4,096 cells together .*; got 6,561"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_rules_that_cannot_be_held_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_rules_that_share_no_column_stay_apart() -> None:
    found = joined(chain(5, 2), [{"c0": 0, "c4": 1}, {"c1": 0, "c2": 1}])
    assert [a.columns for a in found] == [("c0", "c4"), ("c1", "c2"), ("c3",)]
    assert math.isclose(found[2].matrices[0].beta, 0.6)  # type: ignore[union-attr]
