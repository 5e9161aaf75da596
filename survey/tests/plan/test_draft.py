"""A first plan from names, types and declared levels."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from folded import designed

pytestmark = pytest.mark.filterwarnings("ignore:`for_frame` leaves columns out")

LEVELS = ["low", "middle", "high", "none"]
ROWS = {
    "degree": ["low", "high", "low", "middle"] * 5,
    "smokes": [True, False, False, True] * 5,
    "age": list(range(20)),
    "income": [0.5 * i for i in range(20)],
    "name": [f"secret {i}" for i in range(20)],
    "town": ["A", "B", "A", "B"] * 5,
}


def polars_frame(kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema_overrides={"degree": kind or pl.Enum(LEVELS)})


def kinds(plan: sv.Plan) -> dict[str, str]:
    return {a.columns[0]: a.kind for a in plan.attributes}


DECLARED: dict[str, Any] = {
    "a frame of polars": polars_frame,
    "a schema of polars": lambda: polars_frame().schema,
    "a lazy frame of polars": lambda: polars_frame().lazy(),
    "what polars hands to Arrow": lambda: polars_frame().to_arrow(),
    "a schema of Arrow with an Enum": lambda: polars_frame().to_arrow().schema,
    "a DuckDB relation": lambda: relation(),
}


def relation() -> Any:
    connection = duckdb.connect()
    connection.register("t", pa.table(ROWS))
    listed = ", ".join(f"'{level}'" for level in LEVELS)
    return connection.sql(f"SELECT * REPLACE (degree::ENUM({listed}) AS degree) FROM t")


@pytest.mark.parametrize("name", DECLARED)
def test_declared_levels_are_taken_from_types(name: str) -> None:
    plan = sv.Plan.for_frame(DECLARED[name](), beta=0.6, numeric="*")
    assert kinds(plan) == {
        "degree": "categorical", "smokes": "categorical", "age": "numeric", "income": "numeric",
    }  # fmt: skip
    degree = plan.attributes[0]
    assert isinstance(degree, sv.Categorical)
    assert degree.categories == tuple(LEVELS)
    assert not degree.categories_from_data
    assert plan.drop == ("name", "town")
    plan.for_records(1000).require(beta=0.6, min_beta=0.6)


def test_a_draft_protects_what_it_was_drafted_for() -> None:
    frame = polars_frame()
    release = sv.Plan.for_frame(frame, beta=0.6, numeric=["income", "age"]).protect(frame)
    assert release.data.columns == ["degree", "smokes", "age", "income"]
    assert release.data.schema == frame.drop("name", "town").schema


OCCURRING: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame(ROWS).astype({"degree": "category"}),
    "pandas, ordered": lambda: pd.DataFrame(ROWS).astype(
        {"degree": pd.CategoricalDtype(LEVELS, ordered=True)}
    ),
    "polars": lambda: polars_frame(pl.Categorical),
    "pyarrow": lambda: pa.table({**ROWS, "degree": pa.array(ROWS["degree"]).dictionary_encode()}),
}


@pytest.mark.parametrize("name", OCCURRING)
def test_levels_that_happen_to_occur_must_be_asked_for(name: str) -> None:
    frame = OCCURRING[name]()
    plan = sv.Plan.for_frame(frame, beta=0.6)
    assert "degree" in plan.drop
    asked = sv.Plan.for_frame(frame, beta=0.6, categories_from_data=True, numeric="*")
    assert kinds(asked)["degree"] == kinds(asked)["town"] == "categorical"
    degree, smokes = asked.attributes[:2]
    assert isinstance(degree, sv.Categorical)
    assert degree.categories_from_data
    assert isinstance(smokes, sv.Categorical)
    assert not smokes.categories_from_data
    assert "read from the data" in str(asked.preview())
    certificate = asked.protect(frame).certificate
    assert any("read from the data" in warning for warning in certificate.warnings)
    # Names are free text, so that no plan lists them.
    assert "name" in asked.drop
    assert "secret" not in asked.to_json() + certificate.to_json() + str(certificate)


def test_levels_in_a_dict() -> None:
    plan = sv.Plan.for_frame({"sex": ["F", "M"], "codes": np.array([3, 1]), "age": float}, beta=0.5)
    assert plan.undecided == ("age",)
    codes = plan.attributes[1]
    assert isinstance(codes, sv.Categorical)
    assert codes.categories == (3, 1)
    assert "age" not in kinds(plan)


CODEBOOKS = {
    "book.csv": 'column,category\ndegree,low\ndegree,"hi,gh"\nage,1\nage,2\n',
    "book.toml": 'degree = ["low", "hi,gh"]\nage = [1, 2]\n',
}


@pytest.mark.parametrize("name", CODEBOOKS)
def test_a_codebook_declares_levels(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(CODEBOOKS[name])
    schema = pa.schema({"degree": pa.string(), "age": pa.int8(), "name": pa.string()})
    plan = sv.Plan.for_frame(schema, beta=0.6, codebook=path)
    degree, age = plan.attributes
    assert isinstance(degree, sv.Categorical)
    assert isinstance(age, sv.Categorical)
    assert degree.categories == ("low", "hi,gh")
    # As the column has them, though a CSV file holds texts.
    assert age.categories == (1, 2)
    assert plan.drop == ("name",)
    alone = sv.Plan.for_frame(str(path), beta=0.6)
    assert [a.columns for a in alone.attributes] == [("degree",), ("age",)]


WRONG: dict[str, tuple[str, str]] = {
    "book.csv": ("column,code\nsex,F\n", "`column` and `category` in its header"),
    "twice.csv": ("column,category\nsex,secret\nsex,secret\n", "each category once"),
    "book.toml": ("sex = ", "must be TOML"),
    "kinds.toml": ('sex = ["F", 1]', "of one kind; got int and str"),
    "book.txt": ("", "must end in .csv, .toml, .sav, .zsav, .dta, .sas7bdat, .xpt; got"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_codebook_is_one_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = WRONG[name]
    (tmp_path / name).write_text(text)
    with pytest.raises((ValueError, TypeError)) as error:
        sv.Plan.for_frame(tmp_path / name, beta=0.6)
    assert sentence in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_blanks_around_levels_are_told(make: Any) -> None:
    frame = make({"sex": [" F", " M", " F"] * 9, "town": ["a", "b", "a"] * 9})
    declared = sv.Plan.for_frame({"sex": ["F", "M"], "town": ["a", "b"]}, beta=0.6)
    asked = r"declared categories only; got 27 other values, .*\(are there blanks around the values"
    with pytest.raises(ValueError, match=asked):
        declared.protect(frame)
    some = make({"sex": ["F", "M ", "F"] * 9, "town": ["a", "b", "a"] * 9})
    with pytest.raises(ValueError, match=r"got 9 other values, .*\(are there blanks"):
        declared.protect(some)
    other = make({"sex": ["F", "X", "F"] * 9, "town": ["a", "b", "a"] * 9})
    with pytest.raises(ValueError, match=r"got 9 other values, the first in row 1$"):
        declared.protect(other)


def test_missing_values_get_one_policy() -> None:
    levels = {"sex": ["F", "M"], "town": ["a", "b", "c"], "age": int}

    def of(missing: Any, **more: Any) -> dict[str, str]:
        plan = sv.Plan.for_frame(levels, beta=0.6, missing=missing, **more)
        return {a.column: a.missing for a in plan.attributes if isinstance(a, sv.Categorical)}

    assert sv.Plan.for_frame(levels, beta=0.6) == sv.Plan.for_frame(
        levels, beta=0.6, missing="raise"
    )
    assert of("keep") == {"sex": "keep", "town": "keep"}
    plan = sv.Plan.for_frame(levels, beta=0.6, missing="category", drop=["age"])
    assert [attribute.size for attribute in plan.attributes] == [3, 4]  # type: ignore[union-attr]
    assert plan.min_beta >= 0.6
    frame = pl.DataFrame({"sex": ["F", None], "town": [None, "b"], "age": [1, 2]})
    assert plan.protect(frame).data.columns == ["sex", "town"]
    for missing, kind, sentence in [
        ("none", ValueError, "`missing` must be one of raise, keep, category; got 'none'"),
        (None, TypeError, "`missing` must be one of raise, keep, category; got NoneType"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=sentence):
            of(missing)


def test_what_is_left_out_is_named_and_a_codebook_may_know_more(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("column,category\nsex,F\nsex,M\nother,x\n")
    schema = pa.schema({"sex": pa.string(), "name": pa.string()})
    with pytest.warns(UserWarning, match="`for_frame` leaves columns out: column `name`: left out"):
        plan = sv.Plan.for_frame(schema, beta=0.6, codebook=tmp_path / "b.csv")
    assert plan.drop == ("name",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = sv.Plan.for_frame(schema, beta=0.6, codebook=tmp_path / "b.csv", drop=["name"])
    assert named == plan


# Numbers without declared categories are undecided.


def test_each_column_is_decided_in_one_call() -> None:
    schema = {"sex": ["F", "M"], "age": int, "weight": float, "hh": int}
    plan = sv.Plan.for_frame(schema, beta=0.6)
    assert (plan.undecided, plan.keep, plan.drop) == (("age", "weight", "hh"), (), ())
    assert plan.beta == sv.Plan.for_frame({"sex": ["F", "M"]}, beta=0.6).beta
    assert plan.for_records(9).undecided == plan.undecided
    some = sv.Plan.for_frame(schema, beta=0.6, numeric=["age"], keep=["weight"])
    assert (kinds(some)["age"], some.keep, some.undecided) == ("numeric", ("weight",), ("hh",))
    whole = sv.Plan.for_frame(schema, beta=0.6, numeric=["age"], keep=["weight"], drop=["hh"])
    assert whole.undecided == ()
    assert set(kinds(sv.Plan.for_frame(schema, beta=0.6, numeric="*"))) == set(schema)
    star = sv.Plan.for_frame(schema, beta=0.6, keep="*")
    assert (star.undecided, star.keep) == ((), "*")
    frame = {"sex": ["F"] * 3, "age": [1, 2, 3], "weight": [0.5] * 3, "hh": [7, 8, 9]}
    released = star.protect(frame).data
    assert {name: released[name] for name in ("age", "weight", "hh")} == {
        name: frame[name] for name in ("age", "weight", "hh")
    }


UNDECIDED = sv.Plan(
    [sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)], undecided=["hh", "w"]
)
TABLE = {"sex": ["F", "M"] * 5, "hh": list(range(10)), "w": [1.0] * 10}
REFUSING: dict[str, Any] = {
    "protect": lambda: UNDECIDED.protect(TABLE),
    "protect_batches": lambda: UNDECIDED.protect_batches(pa.table(TABLE)),
    "respond": lambda: UNDECIDED.responder(key=bs.Key.insecure(1), after="first").one(
        {"sex": "F"}, id=1
    ),
    "function": lambda: UNDECIDED.batch_function(key=None),  # type: ignore[arg-type]
    "report": lambda: UNDECIDED.report("report.html"),
    "audit": lambda: sv.audit(TABLE, sv.Release(TABLE, UNDECIDED)),
    "require": lambda: UNDECIDED.require(beta=0.1),
}


@pytest.mark.parametrize("name", REFUSING)
def test_nothing_is_done_by_a_plan_with_undecided_columns(name: str) -> None:
    sentence = (
        "columns `hh`, `w`: must be decided first; got numbers without declared categories: "
        "permute a column as Numeric, name it in keep or drop, or declare its categories"
    )
    kind = bs.errors.GuaranteeError if name == "require" else ValueError
    with pytest.raises(kind) as refused:
        REFUSING[name]()
    assert str(refused.value) == sentence


def test_estimates_raise_for_undecided_columns_alone() -> None:
    assert sv.Release(TABLE, UNDECIDED).estimate("sex").records == 10
    for columns, options in [
        (["sex", "hh"], {}), (["sex"], {"where": {"hh": [1]}}), (["sex"], {"weights": "w"}),
        (["sex"], {"cluster": "hh"}),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"columns that the plan decides; got `(hh|w)`, which"):
            sv.Release(TABLE, UNDECIDED).estimate(*columns, **designed(options))
    with pytest.raises(ValueError, match="columns that the plan decides; got `w`, which is"):
        sv.Release(TABLE, UNDECIDED).mean("w")


def test_undecided_columns_are_written_shown_and_read() -> None:
    data = json.loads(UNDECIDED.to_json())
    assert list(data)[-1] == "undecided"
    assert data["undecided"] == ["hh", "w"]
    decided = sv.Plan(UNDECIDED.attributes)
    assert "undecided" not in decided.to_json()
    assert decided != UNDECIDED
    for plan in (UNDECIDED, sv.Plan([], undecided=["hh"])):
        text = plan.to_toml()
        assert sv.Plan.from_json(plan.to_json()) == sv.Plan.from_toml(text) == plan
        for word in ("numeric", "categorical", "`keep`", "`drop`"):
            assert any(word in line for line in text.splitlines() if line.startswith("#"))
        for shown in (str(plan.preview()), plan.preview()._repr_html_()):
            assert "Undecided, so nothing can be protected yet" in shown
            assert "hh" in shown
        assert f"{len(plan.undecided)} undecided>" in repr(plan)
        assert pickle.loads(pickle.dumps(plan)) == plan
    assert sv.Plan.from_toml(f"{decided.to_toml()}".replace("drop = []", "drop = []\nundecided=[]")
                             ) == decided  # fmt: skip
    empty = sv.Plan([], undecided=["hh"])
    for name in ("beta", "bits", "epsilon", "min_beta"):
        with pytest.raises(ValueError, match=r"^column `hh`: must be decided first; got numbers"):
            getattr(empty, name)


def test_the_choices_of_a_draft_can_be_pasted() -> None:
    """What stands in comments is a plan, once COLUMN and BETA are filled in."""
    lines = sv.Plan([], undecided=["hh"]).to_toml().splitlines()
    text = "\n".join(line.removeprefix("#   ") for line in lines if line.startswith("#   "))
    blocks = text.replace("BETA", "0.6").split("[[attributes]]")[1:]
    for block, kind in zip(blocks, (sv.Numeric, sv.Categorical), strict=True):
        block = block.replace("COLUMN", "hh")
        [made] = sv.Plan.from_toml(f"version = 1\n[[attributes]]\n{block}").attributes
        assert isinstance(made, kind)
        # Also at the end of the file itself, while another column is still undecided.
        whole = sv.Plan([], undecided=["w"]).to_toml()
        [again] = sv.Plan.from_toml(f"{whole}\n[[attributes]]\n{block}").attributes
        assert again == made


def test_the_schema_of_plans_knows_undecided_columns() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from plan_schema import schema

    check = jsonschema.Draft202012Validator(schema())
    for plan in (UNDECIDED, sv.Plan([], undecided=["hh"])):
        check.validate(json.loads(plan.to_json()))
    bad = {"version": 1, "attributes": [], "undecided": []}
    assert not check.is_valid(bad)
    with pytest.raises(ValueError, match="`attributes` must hold at least one; got none"):
        sv.Plan.from_json(json.dumps(bad))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"undecided": ["sex"]}, "column `sex`: must be named once; got an attribute and `undec"),
        ({"undecided": ["a"], "keep": ["a"]}, "must be named once; got `keep` and `undecided`"),
        ({"undecided": ["a"], "drop": ["a"]}, "must be named once; got `drop` and `undecided`"),
        ({"undecided": ["a"], "keep": "*"}, r"not be undecided if keep=\"\*\", which keeps it"),
    ],
)
def test_no_column_is_undecided_and_decided(options: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        sv.Plan(UNDECIDED.attributes, **options)


@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 2.5, float("inf")])
def test_a_plan_by_epsilon(epsilon: float) -> None:
    levels = {"sex": ["F", "M"], "town": list("abcde"), "smokes": bool}
    plan = sv.Plan.for_frame(levels, epsilon=epsilon)
    for attribute in plan.attributes:
        assert isinstance(attribute, sv.Categorical)
        assert attribute.matrix is not None
        assert attribute.matrix.epsilon <= epsilon
        assert attribute.matrix.epsilon == pytest.approx(epsilon)
    assert plan.epsilon == pytest.approx(3 * epsilon)


def test_epsilon_is_for_categories_and_beta_for_numbers() -> None:
    schema = {"sex": ["F", "M"], "age": int, "income": float, "hh": int}
    plan = sv.Plan.for_frame(schema, epsilon=1, beta=0.6, numeric=["age", "income"], drop=["hh"])
    sex, age, income = plan.attributes
    assert sex == sv.Plan.for_frame({"sex": ["F", "M"]}, epsilon=1).attributes[0]
    assert age == sv.Plan.for_frame({"age": int}, beta=0.6, numeric="*").attributes[0]
    assert isinstance(income, sv.Numeric)
    bound = plan.for_records(1000)
    assert bound.by_attribute["sex"].epsilon <= 1
    assert bound.by_attribute["age"].beta is not None
    assert bound.by_attribute["age"].beta >= 0.6
    assert sv.Plan.from_toml(plan.to_toml()) == plan
    starred = sv.Plan.for_frame(schema, epsilon=1, beta=0.6, numeric="*")
    assert len(starred.attributes) == 4


HEALTH = ["bad", "fair", "good", "best"]


def families(plan: sv.Plan) -> dict[str, str]:
    return {a.columns[0]: a.matrix.family for a in plan._coded if a.matrix is not None}


@pytest.mark.parametrize("target", [{"beta": 0.6}, {"epsilon": 1}, {"truthfulness": 0.5}])
def test_categories_whose_order_matters_get_a_geometric_matrix(target: dict[str, Any]) -> None:
    schema = {"sex": ["F", "M"], "health": HEALTH}
    plan = sv.Plan.for_frame(schema, ordinal=["health"], **target)
    assert families(plan) == {"sex": "randomized_response", "health": "geometric"}
    assert plan.attributes[1].categories == tuple(HEALTH)  # type: ignore[union-attr]
    row = plan.attributes[1].matrix.row(0)  # type: ignore[union-attr]
    assert (np.diff(row) < 0).all()
    health = plan.by_attribute["health"]
    assert health.beta is not None
    assert health.beta >= target.get("beta", 0)
    assert health.epsilon <= target.get("epsilon", np.inf)


def test_a_codebook_gives_the_order_of_codes(tmp_path: Path) -> None:
    book = tmp_path / "b.toml"
    book.write_text("health = [3, 1, 2]\n")
    schema = pa.schema({"health": pa.int8()})
    plan = sv.Plan.for_frame(schema, beta=0.6, codebook=book, ordinal=["health"])
    assert families(plan) == {"health": "geometric"}
    assert plan.attributes[0].categories == (3, 1, 2)  # type: ignore[union-attr]


def test_an_ordered_type_needs_no_name() -> None:
    ordered = pd.DataFrame({"health": pd.Categorical(["bad", "good"] * 5, HEALTH, ordered=True)})
    loose = pd.DataFrame({"health": pd.Categorical(["bad", "good"] * 5, HEALTH)})
    options: Any = {"beta": 0.6, "categories_from_data": True}
    plan = sv.Plan.for_frame(ordered, **options)
    assert families(plan) == {"health": "geometric"}
    assert plan.attributes[0].categories == tuple(HEALTH)  # type: ignore[union-attr]
    assert plan == sv.Plan.for_frame(ordered, ordinal=["health"], **options)
    assert families(sv.Plan.for_frame(loose, **options)) == {"health": "randomized_response"}
    # Arrow has the same order; an Enum is often used without one.
    for kind, family in ((True, "geometric"), (False, "randomized_response")):
        column = pa.DictionaryArray.from_arrays([0, 2] * 5, HEALTH, ordered=kind)
        table = pa.table({"health": column})
        assert families(sv.Plan.for_frame(table, **options)) == {"health": family}
    enum = polars_frame().select("degree")
    assert families(sv.Plan.for_frame(enum, beta=0.6)) == {"degree": "randomized_response"}
    named = sv.Plan.for_frame(enum, beta=0.6, ordinal=["degree"])
    assert families(named) == {"degree": "geometric"}
    # Missing has no place in an order, and at an epsilon the order costs too much.
    plan = sv.Plan.for_frame(ordered, missing="category", **options)
    assert families(plan) == {"health": "randomized_response"}
    plan = sv.Plan.for_frame(ordered, epsilon=1, categories_from_data=True)
    assert families(plan) == {"health": "randomized_response"}


def test_the_order_of_values_that_occur_is_none() -> None:
    must = "must have declared categories, in their order, to be in `ordinal`"
    for frame in (
        pd.DataFrame({"health": ["bad", "good", "fair"] * 5}),
        pd.DataFrame({"health": pd.Categorical(["bad", "good"] * 5, HEALTH)}),
        pl.DataFrame({"health": ["bad", "good"] * 5}, schema={"health": pl.Categorical}),
    ):
        with pytest.raises(ValueError, match=must):
            sv.Plan.for_frame(frame, beta=0.6, categories_from_data=True, ordinal=["health"])


def test_a_codebook_with_a_slip_of_a_name_is_refused() -> None:
    must = "`codebook` must name columns of the schema; got `Job`, did you mean job"
    with pytest.raises(ValueError, match=must):
        sv.Plan.for_frame({"job": str, "sex": ["F"]}, epsilon=1, codebook={"Job": ["a", "b"]})
    # A codebook may declare more than a table has.
    sv.Plan.for_frame({"sex": str}, epsilon=1, codebook={"sex": ["F"], "town": ["A"]})


def test_a_column_in_ordinal_is_never_left_out() -> None:
    ordered = pd.Categorical(["bad", "good"] * 5, HEALTH, ordered=True)
    frame = pd.DataFrame({"health": ordered, "sex": pd.array([True, False] * 5)})
    must = "column `health`: must have declared categories to be in `ordinal`; got left out"
    with pytest.raises(ValueError, match=must):
        sv.Plan.for_frame(frame, epsilon=1, ordinal=["health"])


def test_a_codebook_with_leading_zeros_is_none_of_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("column,category\nregion,01\nregion,old\n")
    must = "must be integers, as the column holds integers"
    with pytest.raises(ValueError, match=f"{must}; got 2 others"):
        sv.Plan.for_frame(pa.schema({"region": pa.int8()}), beta=0.6, codebook=tmp_path / "b.csv")
    plan = sv.Plan.for_frame({"region": ["1", "2"]}, beta=0.6)
    frame = pd.DataFrame({"region": [1.0, 2.0, 1.0]})
    assert plan.protect(frame).data["region"].dtype == np.float64


@pytest.mark.parametrize(
    ("schema", "options", "sentence"),
    [
        ({"sex": ["secret", "secret"]}, {}, "data are not a schema; got 1 of 2 again"),
        ({"sex": ["F"]}, {"keep": ["age"]}, "column `age`: must be in `schema`"),
        ({"age": int}, {"beta": float("nan")}, "`beta` must be from 0 to 1; got NaN"),
        ({"sex": ["F"]}, {"epsilon": 1},
         "`numeric` must name columns for beta if epsilon is given, too; got none"),
        ({"age": int}, {"truthfulness": 1}, "or truthfulness; got beta and truthfulness"),
        ({"age": int}, {"ordinal": ["age"]},
         "column `age`: must have declared categories, in their order, to be in `ordinal`; got "
         "int"),
        ({"name": str}, {"ordinal": ["name"]}, "to be in `ordinal`; got str"),
        ({"sex": ["F"]}, {"ordinal": ["age"]}, "column `age`: must be in `schema`"),
        ({"sex": ["F"]}, {"ordinal": "sex"}, "`ordinal` must be a list of names; got str"),
        ({"sex": ["F"]}, {"ordinal": ["sex"], "drop": ["sex"]},
         "column `sex`: must be named once; got `ordinal` and `drop`"),
        ({"sex": ["F"]}, {"ordinal": ["sex"], "missing": "category"},
         "column `sex`: `missing` must be raise or keep for a column in `ordinal`, as missing has "
         "no place in an order; got category"),
        ({"age": int}, {"beta": None, "epsilon": float("nan")}, "must be at least 0; got NaN"),
        ({"name": str}, {"numeric": ["name"]}, "column `name`: must hold numbers without"),
        ({"sex": [1, 2]}, {"numeric": ["sex"]}, "`numeric`; got declared categories"),
    ],
)  # fmt: skip
def test_what_makes_no_first_plan_is_refused(
    schema: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        sv.Plan.for_frame(schema, **{"beta": 0.6, **options})
    assert sentence in str(error.value)
    assert "secret" not in str(error.value)
