"""Files of SPSS, Stata and SAS, their labels, and one draw in several files."""

from __future__ import annotations

import datetime
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")

N = 300
KEY = hashlib.sha256(Path(__file__).name.encode()).digest()
LABELS = {"sex": "Sex of person", "roof": "Roof of the house", "weight": "Weight"}
VALUES: dict[str, dict[Any, str]] = {
    "sex": {1: "male", 2: "female"},
    "roof": {1: "tin", 2: "clay", 3: "straw"},
    "region": {"N": "North", "S": "South"},
}
SECRETS = ["TheNote", "TheFile", "TheName", "refused", "nothing"]


def frame() -> pd.DataFrame:
    rows = np.arange(N)
    return pd.DataFrame(
        {
            "hid": rows // 3 + 1000,
            "sex": np.array([1.0, 2.0, 1.0, 9.0, 2.0])[rows % 5],
            "roof": rows // 3 % 3 + 1.0,
            "region": np.array(["N", "S"])[rows // 7 % 2],
            "weight": 1 + rows % 4 / 2,
            "income": np.where(rows % 50 == 0, 999.0, 100.0 + rows),
            "name": [f"person {i}" for i in rows],
            "day": [datetime.date(2026, 1, 1 + i % 28) for i in rows],
        }
    )


def write_sav(path: Path, **options: Any) -> None:
    more: dict[str, Any] = {
        "column_labels": {**LABELS, "name": "TheName"},
        "variable_value_labels": {
            **VALUES, "sex": {**VALUES["sex"], 9: "refused"}, "income": {0: "nothing"},
        },
        "missing_ranges": {"sex": [9], "income": [{"lo": 990, "hi": 999}]},
        "note": "TheNote", "file_label": "TheFile",
    }  # fmt: skip
    pyreadstat.write_sav(frame(), str(path), **{**more, **options})


def run(*words: object) -> Any:
    return CliRunner().invoke(cli.main, [str(word) for word in words])


def refused(folder: Path, *words: object) -> str:
    """The sentence about bad input, after which no file is new or changed."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*words)
    assert done.exit_code == 1, done.output
    assert done.stderr.count("\n") == 1, done.stderr
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    return str(done.stderr).removeprefix("Error: ").strip()


def drafted(folder: Path, **options: Any) -> sv.Plan:
    write_sav(folder / "in.sav", **options)
    more = ["--keep", "hid,weight,day", "--drop", "income,name", "--out", folder / "plan.toml"]
    done = run("plan", folder / "in.sav", "--beta", 0.6, *more)
    assert done.exit_code == 0, done.output
    return sv.Plan.from_toml((folder / "plan.toml").read_text())


def protected(folder: Path, source: str, *outs: str, key: bool = True) -> sv.Certificate:
    if key and not (folder / "key").exists():
        bs.Key.from_bytes(KEY).to_file(folder / "key")
    more = ["--key-file", folder / "key", "--release-name", "2026"] * key
    paths = [folder / out for out in outs]
    done = run("protect", folder / source, *paths, "--plan", folder / "plan.toml", *more)
    assert done.exit_code == 0, done.output
    return sv.Certificate.from_json((folder / f"{outs[0]}.certificate.json").read_text())


def test_a_first_plan_has_the_labels_and_missing_codes_of_a_file(tmp_path: Path) -> None:
    plan = drafted(tmp_path)
    sex, roof, region = plan.attributes
    assert isinstance(sex, sv.Categorical)
    assert (sex.axes[0].values, sex.missing, sex.recode) == ((1, 2), "category", (((9, None),),))
    assert (roof.axes[0].values, roof.missing) == ((1, 2, 3), "raise")
    assert region.axes[0].values == ("N", "S")
    # A column that is left out has no label in the plan, and a missing code has none.
    assert (plan.column_labels, plan.value_labels) == (LABELS, VALUES)
    assert sv.Plan.from_json(plan.to_json()) == plan
    assert plan.for_records(5).value_labels == VALUES
    assert plan != sv.Plan(plan.attributes, keep=plan.keep, drop=plan.drop)
    # The same by Python, and as the codebook of another file.
    from_file = sv.Plan.for_frame(
        tmp_path / "in.sav", beta=0.6, keep=["hid", "weight", "day"], drop=["income", "name"]
    )
    assert from_file == plan
    frame().drop(columns="day").to_csv(tmp_path / "in.csv", index=False)
    read = pd.read_csv(tmp_path / "in.csv", dtype={"sex": int, "roof": int})
    by_book = sv.Plan.for_frame(
        read.astype({"sex": int, "roof": int}), codebook=tmp_path / "in.sav", beta=0.6,
        keep=["hid", "weight"], drop=["income", "name"],
    )  # fmt: skip
    assert by_book.attributes == plan.attributes
    assert by_book.value_labels == VALUES


def test_missing_codes_come_from_ranges_and_letters(tmp_path: Path) -> None:
    labels = {"a": {1: "yes", 2: "no", 98: "unknown", 5000: "too many"}}
    data = pd.DataFrame({"a": [1.0, 2.0, 97.0, 5000.0]})
    # A file of SPSS has a range and one more code.
    ranges = {"a": [{"lo": 97, "hi": 99}, 5000]}
    path = tmp_path / "in.sav"
    pyreadstat.write_sav(data, path, variable_value_labels=labels, missing_ranges=ranges)
    a: Any = sv.Plan.for_frame(path, beta=0.6).attributes[0]
    assert a.recode == (((97, None), (98, None), (99, None), (5000, None)),)
    wide = {"a": [{"lo": 90, "hi": 10**6}]}
    pyreadstat.write_sav(data, path, variable_value_labels=labels, missing_ranges=wide)
    a = sv.Plan.for_frame(path, beta=0.6).attributes[0]
    assert a.recode == (((98, None), (5000, None)),)
    assert a.axes[0].values == (1, 2)
    letters = pd.DataFrame({"a": [1, 2, "a", 2]})
    pyreadstat.write_dta(
        letters, tmp_path / "in.dta", missing_user_values={"a": ["a"]},
        variable_value_labels={"a": {1: "yes", 2: "no", "a": "refused"}},
    )  # fmt: skip
    plan = sv.Plan.for_frame(tmp_path / "in.dta", beta=0.6)
    assert plan.attributes[0].missing == "category"
    assert plan.value_labels == {"a": {1: "yes", 2: "no"}}
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    assert protected(tmp_path, "in.dta", "out.csv", key=False).records == 4


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_a_file_with_labels_makes_a_round_trip(tmp_path: Path, form: str) -> None:
    plan = drafted(tmp_path)
    protected(tmp_path, "in.sav", f"one.{form}")
    read: Callable[..., Any] = getattr(pyreadstat, f"read_{form}")
    found, meta = read(tmp_path / f"one.{form}")
    memory, _ = pyreadstat.read_sav(tmp_path / "in.sav")
    same = plan.protect(memory, key=bs.Key.from_bytes(KEY), release_name="2026").data
    assert list(found) == list(same) == ["hid", "sex", "roof", "region", "weight", "day"]
    for name in found:
        np.testing.assert_array_equal(found[name].to_numpy(), same[name].to_numpy())
    assert found["sex"].isna().any()
    kept = {name: text for name, text in meta.column_names_to_labels.items() if text}
    assert kept == LABELS
    # Stata has labels of numbers alone.
    wanted = {name: texts for name, texts in VALUES.items() if form == "sav" or name != "region"}
    assert meta.variable_value_labels == wanted
    # What was written is read again: by a plan, by the same draw in another file, by estimates.
    (tmp_path / "again.toml").unlink(missing_ok=True)
    again = sv.Plan.for_frame(
        tmp_path / f"one.{form}", beta=0.6, keep=["hid", "region", "weight", "day"]
    )
    assert again.value_labels == wanted
    assert [a.columns for a in again.attributes] == [("sex",), ("roof",)]
    done = run(
        "estimate", tmp_path / f"one.{form}", "--plan", tmp_path / "plan.toml", "--by", "sex"
    )
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    table = sv.open(tmp_path / f"one.{form}").data
    assert table["roof"].to_pylist() == same["roof"].tolist()


def test_labels_leave_from_the_plan_alone(tmp_path: Path) -> None:
    plan = drafted(tmp_path)
    bare = sv.Plan(plan.attributes, keep=plan.keep, drop=plan.drop)
    outs = ["out.csv", "out.parquet", "out.sav", "out.dta"]
    for each, texts in ((plan, SECRETS), (bare, [*SECRETS, *LABELS.values(), "female", "straw"])):
        (tmp_path / "plan.toml").write_text(each.to_toml())
        protected(tmp_path, "in.sav", *outs)
        for name in (*outs, "out.csv.certificate.json"):
            content = (tmp_path / name).read_bytes()
            for text in texts:
                if text != "refused" or not name.endswith("json"):
                    assert text.encode() not in content, (name, text)
    for form in ("sav", "dta"):
        meta = getattr(pyreadstat, f"read_{form}")(tmp_path / f"out.{form}")[1]
        assert not meta.variable_value_labels
        assert not any(meta.column_names_to_labels.values())
        assert not meta.notes
        assert not meta.file_label


def test_one_draw_goes_to_several_files(tmp_path: Path) -> None:
    """Each file is what it would be alone; one certificate has them all, and no other is left."""
    drafted(tmp_path)
    whole = frame().astype({"sex": int, "roof": int})
    whole.assign(name="007", weight="1.50").to_csv(tmp_path / "in.csv", index=False)
    plan = sv.Plan.from_toml((tmp_path / "plan.toml").read_text())
    kept = ["hid", "weight", "day", "name"]
    plan = sv.Plan(plan.attributes, keep=kept, drop=["income"], value_labels=plan.value_labels)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    pq.write_table(pa.table(dict(whole.items())), tmp_path / "in.parquet")
    for source in ("in.csv", "in.parquet", "in.sav"):
        alone = {}
        for form in ("parquet", "csv", "sav", "dta"):
            certificate = protected(tmp_path, source, f"out.{form}")
            alone[f"out.{form}"] = _cells(tmp_path / f"out.{form}")
        # The last of these runs left four certificates.
        found = protected(tmp_path, source, *alone)
        assert found == certificate
        names = sorted(path.name for path in tmp_path.glob("out.*"))
        assert names == sorted([*alone, "out.parquet.certificate.json"])
        assert {name: _cells(tmp_path / name) for name in alone} == alone
        shas = {n: hashlib.sha256((tmp_path / n).read_bytes()).hexdigest() for n in alone}
        assert found.files == shas
        if source == "in.csv":
            lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
            assert all(",1.50,007," in line for line in lines)
            assert pq.read_table(tmp_path / "out.parquet")["weight"].to_pylist()[0] == 1.5
        # Any of the files leads to the certificate.
        for name in alone:
            release = sv.open(tmp_path / name)
            assert release.certificate == found
            assert release.plan.value_labels == VALUES
            assert run("verify", tmp_path / name).exit_code == 0
        # The plan of an output that is not the first is held against the same certificate.
        done = run(
            "estimate", tmp_path / "out.csv", "--plan", tmp_path / "plan.toml", "--by", "sex"
        )
        assert (done.exit_code, done.stderr) == (0, ""), done.output


def _cells(path: Path) -> Any:
    """What a file holds; those of SPSS and Stata hold the time of writing, too."""
    if path.suffix in (".csv", ".parquet"):
        return path.read_bytes()
    found, meta = getattr(pyreadstat, f"read_{path.suffix[1:]}")(path, output_format="dict")
    return dict(found), meta.variable_value_labels, meta.original_variable_types


@pytest.mark.parametrize("form", ["zsav", "dta", "xpt"])
def test_every_format_is_read(tmp_path: Path, form: str) -> None:
    data = frame()[["sex", "region", "weight"]]
    path = tmp_path / f"in.{form}"
    if form == "zsav":
        pyreadstat.write_sav(data, path, compress=True)
    else:
        (pyreadstat.write_dta if form == "dta" else pyreadstat.write_xport)(data, path)
    sex = sv.Categorical("sex", [1, 2, 9], "randomized_response", beta=0.6)
    plan = sv.Plan([sex], keep="*")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    protected(tmp_path, path.name, "out.csv", "out.dta")
    csv = pd.read_csv(tmp_path / "out.csv")
    same = plan.protect(data, key=bs.Key.from_bytes(KEY), release_name="2026").data
    assert csv["sex"].tolist() == same["sex"].tolist()
    assert csv["region"].tolist() == data["region"].tolist()
    assert csv["weight"].tolist() == data["weight"].tolist()


def test_user_missing_numbers_are_missing(tmp_path: Path) -> None:
    write_sav(tmp_path / "in.sav")
    drop = ["hid", "region", "weight", "name", "day", "sex"]
    roof = sv.Categorical("roof", [1, 2, 3], "randomized_response", beta=0.6)
    (tmp_path / "plan.toml").write_text(sv.Plan([roof], keep=["income"], drop=drop).to_toml())
    protected(tmp_path, "in.sav", "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["income"].isna().sum() == N // 50
    income = sv.Numeric("income", "k_anonymous", k=5)
    (tmp_path / "plan.toml").write_text(sv.Plan([roof, income], drop=drop).to_toml())
    words = ["protect", tmp_path / "in.sav", tmp_path / "x.sav", "--plan", tmp_path / "plan.toml"]
    said = refused(tmp_path, *words)
    assert said.startswith(
        "column `income`: must hold no missing values; got 6, the first in row 0"
    )


@pytest.mark.parametrize("source", ["in.sav", "in.csv"])
def test_means_of_integers_are_floats(tmp_path: Path, source: str) -> None:
    """A file of SPSS has no other numbers, and a CSV file does not say what they are."""
    data = pd.DataFrame({"income": np.arange(N)})
    pyreadstat.write_sav(data, tmp_path / "in.sav")
    data.to_csv(tmp_path / "in.csv", index=False)
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=4, how="average")])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    protected(tmp_path, source, "out.csv")
    means = pd.read_csv(tmp_path / "out.csv")["income"]
    assert means.tolist() == [i // 4 * 4 + 1.5 for i in range(N)]


def test_booleans_dates_and_missing_strings_are_read_as_written(tmp_path: Path) -> None:
    smokes = sv.Categorical("smokes", [False, True], "randomized_response", beta=0.6,
                            missing="keep")  # fmt: skip
    town = sv.Categorical("town", ["a", "b"], "randomized_response", beta=0.6, missing="category")
    born = sv.Binned("born", [f"{year}-01-01" for year in range(1990, 2001)],
                     "randomized_response", epsilon=1, output="midpoint")  # fmt: skip
    plan = sv.Plan([smokes, town, born], keep=["time"])
    days = [datetime.date(1990 + i % 10, 3, 1) for i in range(N)]
    table = pa.table({
        "smokes": [[True, False, None][i % 3] for i in range(N)],
        "town": [["a", "b", None][i % 3] for i in range(N)],
        "born": days,
        "time": [datetime.datetime(2026, 1, 1, 5, i % 60) for i in range(N)],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "in.parquet")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    protected(tmp_path, "in.parquet", "out.parquet", "out.sav", "out.dta")
    want = (
        sv.Release(pq.read_table(tmp_path / "out.parquet"), plan)
        .estimate("smokes", "town")
        .frequencies
    )
    for name in ("out.sav", "out.dta"):
        args = ["--plan", tmp_path / "plan.toml", "--by", "smokes,town", "--format", "json"]
        done = run("estimate", tmp_path / name, *args)
        assert done.exit_code == 0, done.output
        import json

        cells = json.loads(done.stdout)["cells"]
        assert [c["frequency"] for c in cells] == pytest.approx(want.ravel().tolist())


# Bad input: one sentence, and nothing is written.


def test_bad_labels_are_refused_with_a_sentence(tmp_path: Path) -> None:
    sex = sv.Categorical("sex", [1, 2], "randomized_response", beta=0.6, missing="category",
                         recode={9: None})  # fmt: skip
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "labels twice": ({"value_labels": {"sex": {1: "m", 2: "m"}}},
                         "column `sex`: `value_labels` must be distinct; got 1 again"),
        "missing code": ({"value_labels": {"sex": {1: "m", 9: "refused"}}},
                         "column `sex`: `value_labels` must be of declared categories; got a code "
                         "that is recoded as missing"),
        "no category": ({"value_labels": {"sex": {3: "x"}}},
                        "column `sex`: `value_labels` must be of declared categories; got a value "
                        "that is none"),
        "column": ({"column_labels": {"age": "Age"}},
                   "`column_labels` must be of columns that the plan names; got `age`, which is "
                   "none of them"),
    }  # fmt: skip
    for name, (options, sentence) in cases.items():
        with pytest.raises(ValueError, match="must") as found:
            sv.Plan([sex], **options)
        assert str(found.value) == sentence, name
    text = sv.Plan([sex], value_labels={"sex": {1: "m"}}).to_json()
    with pytest.raises(ValueError, match=r"`value_labels.sex` must name each value once; got one"):
        sv.Plan.from_json(text.replace('"m"\n', '"m"\n], [1, "f"\n'))
    # The same in a file: no plan is written.
    twice = {"sex": {1: "same", 2: "same"}}
    pyreadstat.write_sav(frame()[["sex"]], tmp_path / "in.sav", variable_value_labels=twice)
    said = refused(tmp_path, "plan", tmp_path / "in.sav", "--beta", "0.6", "--out",
                   tmp_path / "plan.toml")  # fmt: skip
    assert said == "column `sex`: `value_labels` must be distinct; got 1 again"


def test_bad_files_are_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafted(tmp_path)
    plan = ["--plan", tmp_path / "plan.toml"]

    def protect(source: str, *outs: str) -> str:
        return refused(
            tmp_path, "protect", tmp_path / source, *[tmp_path / out for out in outs], *plan
        )

    assert protect("in.sav", "out.csv", "in.sav") == (
        "`out` must be another file than `in`; got the same"
    )
    for form in ("sav", "zsav", "dta", "sas7bdat", "xpt"):
        (tmp_path / f"bad.{form}").write_bytes(b"TheName" * 50)
        assert protect(f"bad.{form}", "out.csv") == (
            f"`in` must be a .{form} file; got a broken one"
        )
    # A name that the format cannot hold is found before the draw, in whichever file it is.
    pq.write_table(pa.table({"sex": [1, 2], "my home": [1, 2]}), tmp_path / "in.parquet")
    sex = sv.Categorical("sex", [1, 2], "randomized_response", beta=0.6)
    (tmp_path / "plan.toml").write_text(sv.Plan([sex], keep="*").to_toml())
    said = protect("in.parquet", "out.csv", "out.sav")
    assert said == (
        "column `my home`: must have a name and labels that a .sav file can hold; got others, "
        "which pyreadstat rejects"
    )
    pq.write_table(pa.table({"sex": [1, 2], "id": [1, 2**60]}), tmp_path / "in.parquet")
    assert protect("in.parquet", "out.csv", "out.dta") == (
        "column `id`: must hold integers up to 2^53 in magnitude for a .dta file; got a larger one"
    )
    pq.write_table(pa.table({"sex": [1, 2], "name": ["a", "b\0c"]}), tmp_path / "in.parquet")
    assert protect("in.parquet", "out.csv", "out.sav") == (
        "column `name`: must hold strings without the character NUL for a .sav file; got one that "
        "has it"
    )
    pq.write_table(pa.table({"sex": [1, 2], "list": [[1], [2]]}), tmp_path / "in.parquet")
    assert protect("in.parquet", "out.sav") == (
        "column `list`: must hold strings, numbers, booleans or dates for a .sav file; got list"
    )
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    assert protect("in.sav", "out.csv") == (
        "`pyreadstat` must be installed to read and write files of SPSS, Stata and SAS; got none: "
        'pip install "bistochastic[stat]"'
    )


@pytest.mark.parametrize("form", ["sav", "zsav"])
def test_a_file_that_crashes_its_library_is_one_sentence(tmp_path: Path, form: str) -> None:
    drafted(tmp_path)
    path = tmp_path / f"bad.{form}"
    pyreadstat.write_sav(frame()[["sex"]], path, compress=form == "zsav")
    content = bytearray(path.read_bytes())
    # The type of the first variable: pyreadstat ends by SIGSEGV.
    content[180] = 255
    path.write_bytes(content)
    words = ["protect", path, tmp_path / "out.csv", "--plan", tmp_path / "plan.toml"]
    assert refused(tmp_path, *words) == f"`in` must be a .{form} file; got a broken one"


@pytest.mark.parametrize(("form", "names", "got"), [
    ("sav", ["a", "a "], "some that differ only by blanks at the end"),
    ("sav", ["", " "], "some that differ only by blanks at the end"),
    ("sav", [" ", None], "empty strings and missing values, which are the same there"),
    ("sav", ["", None], "empty strings and missing values, which are the same there"),
    ("dta", ["", None], "empty strings and missing values, which are the same there"),
])  # fmt: skip
def test_strings_that_a_format_makes_the_same_are_refused(
    tmp_path: Path, form: str, names: list[str | None], got: str
) -> None:
    sex = sv.Categorical("sex", [1, 2], "randomized_response", beta=0.6)
    (tmp_path / "plan.toml").write_text(sv.Plan([sex], keep=["name"]).to_toml())
    pq.write_table(pa.table({"sex": [1, 2], "name": names}), tmp_path / "in.parquet")
    words = [tmp_path / "in.parquet", tmp_path / f"out.{form}", "--plan", tmp_path / "plan.toml"]
    assert refused(tmp_path, "protect", *words) == (
        f"column `name`: must hold strings that a .{form} file can tell apart; got {got}: recode "
        "them, or write a .csv or .parquet file"
    )


@pytest.mark.parametrize(("form", "wrong"), [("sav", "a "), ("sav", ""), ("dta", "")])
def test_categories_that_a_format_changes_are_refused(
    tmp_path: Path, form: str, wrong: str
) -> None:
    plan = sv.Plan([sv.Categorical("x", ["a", wrong], "randomized_response", beta=0.6)])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    pq.write_table(pa.table({"x": ["a", "a"]}), tmp_path / "in.parquet")
    words = [tmp_path / "in.parquet", tmp_path / f"out.{form}", "--plan", tmp_path / "plan.toml"]
    said = refused(tmp_path, "protect", *words)
    assert said.startswith(f"column `x`: must have categories that a .{form} file keeps as they")


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_the_header_of_a_file_does_not_hold_the_time(tmp_path: Path, form: str) -> None:
    drafted(tmp_path)
    protected(tmp_path, "in.sav", f"out.{form}")
    meta = getattr(pyreadstat, f"read_{form}")(tmp_path / f"out.{form}")[1]
    assert meta.creation_time.year == 1970
