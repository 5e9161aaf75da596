"""Files of SPSS, Stata and SAS, their labels, and one draw in several files."""

from __future__ import annotations

import datetime
import hashlib
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
from bistochastic_survey.files import statistical

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


def test_labels_leave_from_the_plan_alone(tmp_path: Path) -> None:
    plan = drafted(tmp_path)
    bare = sv.Plan(plan.attributes, keep=plan.keep, drop=plan.drop)
    outs = ["out.csv", "out.parquet"]
    for each, texts in ((plan, SECRETS), (bare, [*SECRETS, *LABELS.values(), "female", "straw"])):
        (tmp_path / "plan.toml").write_text(each.to_toml())
        protected(tmp_path, "in.sav", *outs)
        for name in (*outs, "out.csv.certificate.json"):
            content = (tmp_path / name).read_bytes()
            for text in texts:
                if text != "refused" or not name.endswith("json"):
                    assert text.encode() not in content, (name, text)


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
        for form in ("parquet", "csv"):
            certificate = protected(tmp_path, source, f"out.{form}")
            alone[f"out.{form}"] = (tmp_path / f"out.{form}").read_bytes()
        if source == "in.csv":
            # With other formats, numbers are numbers in all of them.
            alone["out.csv"] = alone["out.csv"].replace(b",1.50,", b",1.5,")
        # These runs left two certificates.
        found = protected(tmp_path, source, *alone)
        assert found == certificate
        names = sorted(path.name for path in tmp_path.glob("out.*"))
        assert names == sorted([*alone, "out.parquet.certificate.json"])
        assert {name: (tmp_path / name).read_bytes() for name in alone} == alone
        shas = {n: hashlib.sha256((tmp_path / n).read_bytes()).hexdigest() for n in alone}
        assert found.files == shas
        if source == "in.csv":
            lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
            assert all(",1.5,007," in line for line in lines)
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
    protected(tmp_path, path.name, "out.csv")
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
    words = ["protect", tmp_path / "in.sav", tmp_path / "x.csv", "--plan", tmp_path / "plan.toml"]
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


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_booleans_dates_and_missing_strings_are_read(tmp_path: Path, form: str) -> None:
    smokes = sv.Categorical("smokes", [False, True], "randomized_response", beta=0.6,
                            missing="keep")  # fmt: skip
    town = sv.Categorical("town", ["a", "b"], "randomized_response", beta=0.6, missing="category")
    born = sv.Binned("born", [f"{year}-01-01" for year in range(1990, 2001)],
                     "randomized_response", epsilon=1, output="midpoint")  # fmt: skip
    data = pd.DataFrame({
        "smokes": [[1.0, 0.0, np.nan][i % 3] for i in range(N)],
        "town": [["a", "b", ""][i % 3] for i in range(N)],
        "born": [datetime.date(1990 + i % 10, 3, 1) for i in range(N)],
    })  # fmt: skip
    getattr(pyreadstat, f"write_{form}")(data, tmp_path / f"in.{form}")
    plan = sv.Plan([smokes, town, born])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    protected(tmp_path, f"in.{form}", "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["smokes"].isna().tolist() == [i % 3 == 2 for i in range(N)]
    assert set(found["smokes"].dropna()) == {False, True}
    assert set(found["town"].dropna()) == {"a", "b"}
    assert found["born"].str.fullmatch(r"19\d\d-\d\d-\d\d").all()


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
    monkeypatch.setattr(statistical, "find_spec", lambda _name: None)
    assert protect("in.sav", "out.csv") == (
        "`pyreadstat` must be installed to read files of SPSS, Stata and SAS; got none: "
        'pip install "bistochastic-survey[stat]"'
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
