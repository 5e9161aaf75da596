"""A table in, a protected table of the same kind out: by position."""

from __future__ import annotations

import json
import math
import random
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bistochastic as bs
import bistochastic_survey as sv
from tables import TABLES, Columns, kinds_of, values_of

every_table = pytest.mark.parametrize("name", sorted(TABLES))

KEY = bs.Key.from_bytes(bytes(range(32)))
BLOCK = 65_536


def plan(missing: Any = "raise") -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6, missing=missing),
            sv.Joint(
                ("year", "race"),
                [[3, 1, 2000], ["a", "b", "c"]],
                "randomized_response",
                beta=0.5,
                impossible=[(1, "b")],
                missing=missing,
            ),
            sv.Categorical(
                "votes",
                [True, False],
                matrix=None,
                groups=(
                    "region",
                    {
                        "n": bs.randomized_response(2 + (missing == "category"), beta=0.3),
                        "s": bs.randomized_response(2 + (missing == "category"), beta=0.9),
                    },
                ),
                missing=missing,
            ),
        ],
        name="survey",
        keep=["region"],
        drop=["name"],
    )


def people(rows: int, *, missing: bool = False, seed: int = 1) -> Columns:
    """So many rows; some missing, those of a joint attribute together."""
    rng = random.Random(seed)
    pairs = [(y, r) for y in (3, 1, 2000) for r in "abc" if (y, r) != (1, "b")]
    drawn = [rng.choice(pairs) for _ in range(rows)]
    columns: Columns = {
        "name": [f"person {i}" for i in range(rows)],
        "race": [race for _, race in drawn],
        "sex": [rng.choice("FM") for _ in range(rows)],
        "region": [rng.choice("ns") for _ in range(rows)],
        "year": [year for year, _ in drawn],
        "votes": [rng.random() < 0.5 for _ in range(rows)],
    }
    if missing:
        for name in ("sex", "votes", "race"):
            for i in rng.sample(range(rows), rows // 10):
                columns[name][i] = None
        columns["year"] = [
            None if race is None else year
            for year, race in zip(columns["year"], columns["race"], strict=True)
        ]
    return columns


# By position.


@every_table
@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
def test_every_table_gives_the_same_release_of_its_own_kind(name: str, missing: str) -> None:
    columns = people(700, missing=missing != "raise")
    want = values_of(
        plan(missing).protect(TABLES["lists"](columns), key=KEY, release_name="w").data
    )
    given = TABLES[name](columns)
    before = values_of(given)
    release = plan(missing).protect(given, key=KEY, release_name="w")
    assert type(release.data) is type(given)
    assert values_of(release.data) == want
    assert list(want) == ["race", "sex", "region", "year", "votes"]
    kinds, own = kinds_of(release.data), kinds_of(given)
    own.pop("name")
    assert kinds == own
    # What came in is as it was.
    assert values_of(given) == before
    assert want["region"] == columns["region"]
    assert want["sex"] != columns["sex"]
    if missing == "keep":
        for column in ("sex", "year", "race", "votes"):
            nones = [value is None for value in want[column]]
            assert nones == [value is None for value in columns[column]]
    if missing == "category":
        assert [v is None for v in want["sex"]] != [v is None for v in columns["sex"]]


def test_the_categories_of_the_release_are_those_of_the_plan() -> None:
    columns = people(300)
    frame = plan().protect(TABLES["pandas categories"](columns)).data
    assert frame["year"].cat.categories.tolist() == [3, 1, 2000]
    assert frame["votes"].cat.categories.tolist() == [True, False]
    ordered = pd.DataFrame(columns).assign(
        sex=pd.Categorical(columns["sex"], categories=["M", "F"], ordered=True)
    )
    found = plan().protect(ordered).data["sex"]
    assert found.cat.ordered
    assert found.cat.categories.tolist() == ["F", "M"]
    enums = plan().protect(TABLES["polars enums"](columns)).data
    assert enums.schema["sex"] == pl.Enum(["F", "M"])
    table = plan().protect(TABLES["arrow dictionaries"](columns)).data
    assert table["race"].combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]
    relation = plan().protect(TABLES["duckdb enums"](columns)).data
    assert str(dict(zip(relation.columns, relation.types, strict=True))["sex"]) == "ENUM('F', 'M')"


@settings(deadline=None)
@given(data=st.data())
def test_round_trips_over_types(data: st.DataObject) -> None:
    """Under the identity the release is the table, whatever its types; no key, any length."""
    kind = data.draw(st.sampled_from(["text", "integer", "boolean"]))
    pool: Any = {
        "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0'")),
        "integer": st.integers(-(2**31), 2**31 - 1),
        "boolean": st.booleans(),
    }[kind]
    labels = data.draw(st.lists(pool, min_size=1, max_size=6, unique=True))
    missing: Any = data.draw(st.sampled_from(["raise", "keep", "category"]))
    several = st.sampled_from(labels) if missing == "raise" else st.sampled_from([*labels, None])
    values = data.draw(st.lists(several, min_size=1, max_size=20))
    if all(value is None for value in values):
        values.append(labels[0])
    law = bs.identity(len(labels) + (missing == "category"))
    attribute = sv.Categorical("x", labels, matrix=law, missing=missing)
    name = data.draw(st.sampled_from(sorted(TABLES)))
    if name == "pandas" and kind != "text" and missing == "category":
        name = "pandas nullable"
    given_table = TABLES[name]({"x": values})
    found = sv.Plan([attribute]).protect(given_table).data
    assert values_of(found) == {"x": values}
    assert kinds_of(found) == kinds_of(given_table)


def agreement(attribute: sv.Categorical, code: int) -> float:
    """How often two independent reports of a code agree."""
    row = attribute.matrices[0].row(code)
    return float((row**2).sum())


def test_two_files_under_one_label_share_no_noise() -> None:
    """Whoever knows one file and sees both releases learns nothing of the other.

    The attack: where both files hold the same value, shared noise gives the same report. The second
    file differs from the first in one row of each block, in another column; false alarm 1e-9.
    """
    rows = 2 * BLOCK
    first = sv.Categorical("x", range(4), "randomized_response", beta=0.6)
    second = sv.Categorical("y", range(4), "randomized_response", beta=0.6)
    both = sv.Plan([first, second])
    x, y = np.full(rows, 2), np.arange(rows) % 4
    other = y.copy()
    other[[5, rows - 1]] = (other[[5, rows - 1]] + 1) % 4
    one = both.protect({"x": x, "y": y}, key=KEY, release_name="w").data["x"]
    two = both.protect({"x": x, "y": other}, key=KEY, release_name="w").data["x"]
    share, expected = float((one == two).mean()), agreement(first, 2)
    error = math.sqrt(expected * (1 - expected) / rows)
    assert abs(share - expected) < 6.2 * error
    # What the attack finds where noise is shared, as it is by the contract of `randomize`.
    m = first.matrices[0]
    shared = [m.randomize(codes, key=KEY, stream="x", start=0) for codes in (x, x)]
    assert (shared[0] == shared[1]).all()
    # One block changed: the other is seen to be unchanged, as the certificate says.
    later = y.copy()
    later[-1] = (later[-1] + 1) % 4
    third = both.protect({"x": x, "y": later}, key=KEY, release_name="w").data["x"]
    assert (third[:BLOCK] == one[:BLOCK]).all()
    assert (third[BLOCK:] != one[BLOCK:]).any()
    # The same file is the same release; under another label, key or name it is not.
    again = both.protect({"x": x, "y": y}, key=KEY, release_name="w").data["x"]
    assert (again == one).all()
    named = sv.Plan(both.attributes, name="other")
    for changed, key, release in (
        (both, KEY, "v"),
        (both, bs.Key.generate(), "w"),
        (named, KEY, "w"),
        (both, None, None),
    ):
        found = changed.protect({"x": x, "y": y}, key=key, release_name=release).data["x"]
        assert abs(float((found == one).mean()) - expected) < 6.2 * error


def test_what_is_missing_and_the_stratum_enter_the_noise() -> None:
    columns = people(1000, missing=True)
    base = plan("keep").protect(columns, key=KEY, release_name="w").data
    i = next(i for i, sex in enumerate(columns["sex"]) if sex is None)
    filled = {**columns, "sex": [*columns["sex"][:i], "F", *columns["sex"][i + 1 :]]}
    assert plan("keep").protect(filled, key=KEY, release_name="w").data["votes"] != base["votes"]
    moved = {**columns, "region": ["n", *columns["region"][1:]]}
    also = {**columns, "region": ["s", *columns["region"][1:]]}
    found = [plan("keep").protect(c, key=KEY, release_name="w").data["sex"] for c in (moved, also)]
    assert found[0] != found[1]
    # A column that only stays in clear does not.
    wide = sv.Plan(plan("keep").attributes, name="survey", keep=["region", "name"])
    renamed = {**columns, "name": ["x"] * 1000}
    found = [wide.protect(c, key=KEY, release_name="w").data["sex"] for c in (columns, renamed)]
    assert found[0] == found[1]


def test_reports_follow_the_law_of_each_stratum() -> None:
    """Chi-square over all cells of both groups; false alarm 1e-6 by a key from the name."""
    from scipy.stats import chi2

    rows = 40_000
    laws = {"n": bs.randomized_response(3, beta=0.3), "s": bs.geometric(3, beta=0.8)}
    attribute = sv.Categorical("x", ["a", "b", "c"], groups=("region", laws))
    rng = np.random.default_rng(3)
    regions = rng.choice(["n", "s"], rows)
    values = rng.choice(["a", "b", "c"], rows)
    key = bs.Key.insecure(sum(b"test_reports_follow_the_law_of_each_stratum"))
    release = sv.Plan([attribute], keep=["region"]).protect(
        {"x": values, "region": regions}, key=key, release_name="w", allow_insecure=True
    )
    total, freedom = 0.0, 0
    for region, law in laws.items():
        for u, label in enumerate("abc"):
            here = (regions == region) & (values == label)
            seen = [(release.data["x"][here] == other).sum() for other in "abc"]
            want = law.row(u) * here.sum()
            total += float(((np.array(seen) - want) ** 2 / want).sum())
            freedom += 2
    assert chi2.sf(total, freedom) > 1e-6


def test_shuffled_rows_are_the_same_rows_in_a_fresh_order() -> None:
    columns = people(500, missing=True)
    straight = plan("keep").protect(columns, key=KEY, release_name="w")
    before = list(zip(*straight.data.values(), strict=True))
    orders = [before]
    for name in ("lists", "pandas", "polars", "arrow chunks", "duckdb"):
        found = plan("keep").protect(TABLES[name](columns), key=KEY, release_name="w", shuffle=True)
        rows = list(zip(*values_of(found.data).values(), strict=True))
        assert sorted(rows, key=str) == sorted(before, key=str)
        assert rows not in orders
        orders.append(rows)
        assert "the order of the rows" not in found.certificate.published_unchanged
    assert "the order of the rows" in straight.certificate.published_unchanged


@pytest.mark.parametrize("rows", [0, 1, 2, 255, 256])
@pytest.mark.parametrize("name", ["polars", "pandas", "arrow", "arrow batch"])
def test_few_rows_need_no_key(name: str, rows: int) -> None:
    small = sv.Plan([sv.Categorical("x", ["a", "b"], "uniform")])
    table = pa.table({"x": pa.array(["a", "b"] * 128, pa.string())[:rows]})
    frames = {"polars": pl.from_arrow, "pandas": pa.Table.to_pandas,
              "arrow batch": lambda t: pa.record_batch(t.to_pydict(), t.schema)}  # fmt: skip
    frame: Any = frames.get(name, lambda t: t)(table)
    found = small.protect(frame)
    assert len(values_of(found.data)["x"]) == found.certificate.records == rows
    if rows == 256:
        small.protect(frame, key=KEY, release_name="w")
    else:
        must = "at least 256 rows by position under a key that is kept"
        with pytest.raises(ValueError, match=f"{must}; got {rows}: use ids, or key=None"):
            small.protect(frame, key=KEY, release_name="w")


def test_a_source_does_in_the_place_of_its_key(tmp_path: Path) -> None:
    KEY.to_file(tmp_path / "survey.key")
    source = bs.KeySource.file(tmp_path / "survey.key")
    table = pa.table({**people(300), "id": range(300)})
    by_ids: dict[str, Any] = {"ids": sv.Wave("id", after="first")}
    by_position: dict[str, Any] = {"release_name": "w"}
    for options in (by_position, by_ids):
        given = table if options is by_ids else table.drop_columns(["id"])
        want = plan().protect(given, key=KEY, **options)
        found = plan().protect(given, key=source, **options)
        assert found.data.equals(want.data)
        assert found.certificate == want.certificate
        assert found.certificate.key_fingerprint == source.fingerprint
        batches = plan().protect_batches(given, key=source, **options)
        assert batches.read_all().equals(want.data)
    person = table.drop_columns(["id"]).slice(7, 1).to_pylist()[0]
    del person["name"]
    there, here = (plan().responder(key=each, after="first") for each in (source, KEY))
    assert there.one(person, id=7) == here.one(person, id=7)


def test_a_source_of_another_key_or_of_an_insecure_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KEY.to_file(tmp_path / "survey.key")
    code = "import bistochastic as bs\nkey = lambda: bs.Key.insecure(1)\n"
    (tmp_path / "guessed_of_test.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    other = bs.KeySource.file(tmp_path / "survey.key", fingerprint="0" * 16)
    insecure = bs.KeySource.call("guessed_of_test:key")
    columns = people(300)
    must = "`key` must be the one with fingerprint 0000000000000000; got"
    for protect in (plan().protect, plan().protect_batches):
        table: Any = pa.table(columns)
        with pytest.raises(ValueError, match=must):
            protect(table, key=other, release_name="w")
        with pytest.raises(ValueError, match="allow_insecure=True be said; got one that anyone"):
            protect(table, key=insecure, release_name="w")
        protect(table, key=insecure, release_name="w", allow_insecure=True)
    with pytest.raises(ValueError, match=must):
        plan().responder(key=other, after="first").one({}, id=1)
    with pytest.raises(ValueError, match="allow_insecure=True be said; got one that anyone"):
        plan().responder(key=insecure, after="first").one({}, id=1)
    with pytest.raises(ValueError, match="must be in `record`; got none of that name"):
        plan().responder(key=insecure, after="first", allow_insecure=True).one({}, id=1)


# What is refused.


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"key": KEY}, "`release_name` must name what a key is used for; got none"),
        (
            {"key": bs.Key.insecure(1), "release_name": "w"},
            "allow_insecure=True be said; got one that anyone can guess",
        ),
        ({"shuffle": 1}, "`shuffle` must be True or False"),
        ({"ids": sv.Wave("name", after="first")}, "`key` must be given with ids; got none"),
        (
            {"ids": "name"},
            '`after` must be "first" or the certificate of the wave before; got none: '
            r'write ids=Wave\("name", after="first"\)',
        ),
        ({"ids": 3}, "`ids` must be a Wave or a column of ids; got int"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        plan().protect(people(300), **options)


@every_table
def test_columns_have_to_be_named(name: str) -> None:
    columns = people(300)
    table = TABLES[name]({**columns, "more": columns["sex"], "income": columns["year"]})
    match = "must hold columns that the plan protects, keeps or drops; got `more`, `income`$"
    with pytest.raises(ValueError, match=match):
        plan().protect(table)
    columns.pop("race")
    with pytest.raises(ValueError, match="column `race`: must be in `frame`; got none"):
        plan().protect(TABLES[name](columns))


def test_keep_all_keeps_all() -> None:
    columns = people(300)
    wide = sv.Plan(plan().attributes, keep="*", drop=["name"])
    found = wide.protect({**columns, "more": columns["sex"]})
    assert found.data["more"] == columns["sex"]
    assert found.certificate.unprotected_columns == ("region", "more")
    assert any("does not name" in warning for warning in found.certificate.warnings)


@every_table
@pytest.mark.parametrize("column", ["sex", "year", "race", "region"])
def test_an_undeclared_category_is_named_by_row(name: str, column: str) -> None:
    columns = people(400)
    other = 77_777 if column == "year" else "secret-77777"
    for row in (17, 318):
        columns[column][row] = other
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole sentence is compared
        plan().protect(TABLES[name](columns))
    got = "got 2 other values, the first in row 17"
    want = f"column `{column}`: must hold declared categories only; {got}"
    assert str(refused.value) == want
    assert "77777" not in "".join(traceback.format_exception(refused.value))


@every_table
def test_missing_values_are_refused_with_the_choice(name: str) -> None:
    columns = people(400)
    columns["sex"][31] = columns["sex"][40] = None
    with pytest.raises(
        ValueError, match="must hold no missing values; got 2, the first in row 31"
    ) as e:
        plan().protect(TABLES[name](columns))
    assert "column `sex`" in str(e.value)
    assert 'missing="keep" publishes who is missing' in str(e.value)
    assert 'missing="category" protects that' in str(e.value)


@pytest.mark.parametrize(
    ("missing", "changed", "match"),
    [
        ("keep", {"race": None}, "columns `year`, `race`: must be missing together .* row 9"),
        ("keep", {"region": None}, r"column `region`: must not be missing.*; got one in row 9"),
        ("raise", {"year": 1, "race": "b"},
         "columns `year`, `race`: must hold no combination declared impossible; got 1, .* row 9"),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit_are_named(missing: Any, changed: dict[str, Any], match: str) -> None:
    columns = people(400)
    for column, value in changed.items():
        columns[column][9] = value
    with pytest.raises(ValueError, match=match):
        plan(missing).protect(columns)
    if changed == {"race": None}:
        assert plan("category").protect(columns).certificate.records == 400
    for _ in range(20 if "year" in changed else 0):
        found = plan().protect(people(400)).data
        assert (1, "b") not in set(zip(found["year"], found["race"], strict=True))


@pytest.mark.parametrize(
    ("column", "values", "match"),
    [
        ("sex", np.ones(300), "column `sex`: must hold strings, as its .*; got dtype float64"),
        ("year", [True] * 300, "column `year`: must hold integers"),
        ("votes", [1] * 300, "column `votes`: must hold booleans"),
        ("sex", ["F"] * 299, "columns of one length; got 299, 300"),
        ("sex", np.array([["F"]] * 300), "arrays of one axis; got 2"),
    ],
)
def test_a_wrong_type_is_named(column: str, values: Any, match: str) -> None:
    table: Any = {**people(300), column: values}
    with pytest.raises((ValueError, TypeError), match=match):
        plan().protect(table)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (None, "a dict of arrays; got NoneType"),
        ([[1]], "got list"),
        (pl.LazyFrame({"x": [1]}), "got LazyFrame, which collect\\(\\) makes one"),
        (pd.Series([1]), "got Series"),
        ({1: [1]}, "must name its columns by text; got int"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "must name each column once; got `x` twice"),
        (pa.table([[1], [2]], names=["x", "x"]), "must name each column once; got `x` twice"),
        (pd.DataFrame({"x": [1]}, index=["secret"]), "reset_index\\(drop=True\\) leaves it out"),
        (pd.DataFrame({"x": [1, 2]}, index=[1, 0]), "must have the plain index"),
        (pd.DataFrame({"x": [1]}, index=pd.RangeIndex(1, name="id")), "must have the plain index"),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        sv.Plan([sv.Categorical("x", [1, 2], "uniform")]).protect(frame)
    assert "secret" not in str(refused.value)


def test_what_was_noted_about_a_table_is_left_out() -> None:
    frame = pd.DataFrame({"x": [1, 2]})
    frame.attrs["secret"] = "secret"
    one = sv.Plan([sv.Categorical("x", [1, 2], "uniform")])
    assert one.protect(frame).data.attrs == {}
    table = pa.table({"x": [1, 2]}).replace_schema_metadata({"secret": "secret"})
    assert b"secret" not in one.protect(table).data.schema.metadata


# The certificate.


def test_a_certificate_says_what_can_be_said() -> None:
    release = plan("keep").protect(people(300, missing=True), key=KEY, release_name="wave 1")
    certificate = release.certificate
    data = json.loads(certificate.to_json())
    assert data["records"] == 300
    assert data["release_name"] == "wave 1"
    assert data["key"] == {"stored": True, "fingerprint": KEY.fingerprint}
    assert data["plan"] == json.loads(plan("keep").to_json())
    assert data["plan_digest"] == plan("keep").digest
    assert data["definition"] == 2
    assert data["beta"] == plan("keep").beta
    assert data["epsilon"] == "inf"
    assert len(data["epsilon_is_infinite_because"]) == 3
    assert data["unprotected_columns"] == ["region"]
    assert data["columns_left_out"] == ["name"]
    assert [each["columns"] for each in data["attributes"]] == [
        ["sex"],
        ["year", "race"],
        ["votes"],
    ]
    digests = [m["digest"] for each in data["attributes"] for m in each["matrices"]]
    assert len(set(digests)) == 4
    groups = data["attributes"][2]["matrices"]
    assert [each["group"] for each in groups] == ["n", "s"]
    for each in data["attributes"]:
        assert each["worst_row_beta"] <= each["beta"]
        assert each["worst_column_beta"] <= each["beta"]
    # The matrices of the groups are in it, so that the release can be inverted.
    again = sv.Certificate.from_json(certificate.to_json())
    assert again == certificate
    assert again.plan.attributes[2].matrices == plan("keep").attributes[2].matrices  # type: ignore[union-attr]
    fresh = plan("keep").protect(people(300, missing=True)).certificate
    assert not fresh.key_stored
    assert fresh.key_fingerprint is None
    assert "The noise cannot be reproduced" in str(fresh)


def test_a_certificate_depends_on_no_value() -> None:
    """Other people, other values, the same certificate."""
    made = [
        plan("keep")
        .protect(people(300, missing=True, seed=seed), key=KEY, release_name="w")
        .certificate
        for seed in (1, 2)
    ]
    assert made[0] == made[1]
    assert made[0].to_json() == made[1].to_json()
    assert made[0].digest == made[1].digest


@every_table
def test_planted_secrets_are_in_no_message(name: str) -> None:
    """Secrets in every column; whatever is said, warned or written does not hold them."""
    heard = []
    good = people(300)
    cases: list[tuple[str, Any]] = [
        ("sex", "S3CRET"), ("race", "S3CRET"), ("region", "S3CRET"), ("year", 5318008)
    ]  # fmt: skip
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for column, secret in cases:
            columns = {**good, column: [secret, *good[column][1:]]}
            with pytest.raises((ValueError, TypeError)) as refused:
                plan().protect(TABLES[name](columns), key=KEY, release_name="w")
            heard += traceback.format_exception(refused.value)
            heard.append(repr(refused.value))
        columns = {**good, "name": ["S3CRET"] * 300}
        release = plan().protect(TABLES[name](columns), key=KEY, release_name="w")
        heard += [repr(release), str(release.certificate), release.certificate.to_json()]
        heard += [repr(release.certificate), repr(plan()), str(plan().preview())]
        heard += [str(values_of(release.data))]
    heard += [str(each.message) for each in warned]
    told = "\n".join(line for line in heard if "File " not in line)
    assert "S3CRET" not in told
    assert "5318008" not in told
    assert bytes(range(32)).hex() not in told


# Numeric columns.


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.array(["1"] * 300), "column `income`: must hold integers or floats; got dtype"),
        (np.full(300, np.nan), "column `income`: must hold no missing values; got 300"),
        (
            np.full(300, np.inf),
            "column `income`: must hold finite numbers; got an infinite one in row 0",
        ),
        ([True] * 300, "column `income`: must hold integers or floats"),
    ],
)
def test_numbers_that_cannot_be_permuted_are_refused(values: Any, match: str) -> None:
    numeric = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)])
    with pytest.raises((ValueError, TypeError), match=match):
        numeric.protect({"income": values})
