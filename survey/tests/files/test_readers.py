"""One reader for all commands: they see the same cells of the same file, or refuse it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.files import csv_file
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.formats import open_source, read_table

SEX = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)


class Folder:
    """A folder in which commands are run on files by their names."""

    def __init__(self, path: Path, plan: sv.Plan) -> None:
        self.path = path
        (path / "plan.toml").write_text(plan.to_toml())
        name = f"{path.name} {plan.name}"
        bs.Key.from_bytes(hashlib.sha256(name.encode()).digest()).to_file(path / "key")

    def write(self, name: str, text: str | bytes, encoding: str = "utf-8") -> None:
        data = text.encode(encoding) if isinstance(text, str) else text
        (self.path / name).write_bytes(data)

    def invoke(self, command: str, *words: str) -> Any:
        given = [str(self.path / word) if "." in word[1:] or word == "key" else word
                 for word in words]  # fmt: skip
        return CliRunner().invoke(cli.main, [command, *given])

    def run(self, command: str, *words: str) -> str:
        done = self.invoke(command, *words)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    def refused(self, command: str, *words: str) -> str:
        before = {each.name: each.read_bytes() for each in self.path.iterdir()}
        done = self.invoke(command, *words)
        assert done.exit_code == 1, done.output
        assert isinstance(done.exception, SystemExit), done.exception
        assert {each.name: each.read_bytes() for each in self.path.iterdir()} == before
        [said] = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        assert "Mud" not in said
        return str(said).removeprefix("Error: ")

    def protect(self, source: str, out: str, *more: str) -> str:
        keyed = ("--key-file", "key", "--release-name", "2026")
        return self.run("protect", source, out, "--plan", "plan.toml", *keyed, *more)

    def estimate(self, file: str, *words: str) -> dict[Any, Any]:
        told = self.run("estimate", file, "--plan", "plan.toml", *words, "--format", "json")
        cells = json.loads(told)["cells"]
        return {tuple(v for k, v in cell.items() if k not in NUMBERS): cell for cell in cells}


NUMBERS = {"reported", "frequency", "count", "standard_error", "low", "high"}


def every_command(source: str) -> list[tuple[str, ...]]:
    plan = ("--plan", "plan.toml")
    return [
        ("plan", source, "--epsilon", "1"),
        ("plan", source, "--categories-from-data", "--epsilon", "1"),
        ("protect", source, "out.csv", *plan),
        ("protect", source, "out.parquet", *plan),
        ("estimate", source, *plan, "--by", "sex"),
        ("audit", source, "fine.csv", *plan),
        ("audit", "fine.csv", source, *plan),
    ]


FINE = [f"{'FM'[i % 2]},town{i % 7},{i % 3}" for i in range(2000)]
OPEN = "must end every quote in its line; got one that does not"


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(
    ("row", "line"),
    [
        (1000, 'F,"Mud Hut,1'),
        (1999, 'F,"Mud Hut,1'),
        (1999, 'F,town,"Mud'),
        (1999, 'F,"Mud ""Hut"",1'),
        (0, 'F,"Mud Hut,1'),
        (5, '"F,Mud,1'),
        (7, 'F,"Mud\nHut",1'),
        (7, 'F,"Mud\r\nHut",1'),
        (7, 'F,"Mud\rHut",1'),
        (7, 'F,"\n",1'),
        (7, 'F,"Mud""\nHut"x,1'),
        (7, '"F\n",Mud,1'),
        (1999, 'F,Mud,"Hut\n\n\n"'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_field_that_swallows_rows_is_refused_by_every_command(
    tmp_path: Path, row: int, line: str, end: str, drop: bool
) -> None:
    left = {"keep": ["c"], "drop": ["k"]} if drop else {"keep": ["k", "c"]}
    folder = Folder(tmp_path, sv.Plan([SEX], **left))  # type: ignore[arg-type]
    rows = [*FINE[:row], line, *FINE[row + 1 :]]
    folder.write("in.csv", end.join(["sex,k,c", *rows]) + end * (row < 1999))
    folder.write("fine.csv", "\n".join(["sex,k,c", *FINE, ""]))
    for words in every_command("in.csv"):
        found = folder.refused(*words)
        assert f"in row {row}" in found
        # A protected column is looked at first.
        assert OPEN in found or "column `sex`: must hold declared categories only" in found


@pytest.mark.parametrize("rows", [1, 300_000])
def test_a_quote_that_never_ends_is_found_however_much_it_swallows(
    tmp_path: Path, rows: int
) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["k"]))
    text = "sex,k\n" + "F,x\n" * 10 + 'F,"Mud Hut\n' + "M,town\n" * rows
    folder.write("in.csv", text)
    for command in (("estimate", "in.csv", "--by", "sex"), ("protect", "in.csv", "out.csv")):
        said = folder.refused(*command, "--plan", "plan.toml")
        assert f"{OPEN} in row 10, column `k`: fields with line ends go into a Parquet" in said


def test_a_quote_inside_a_field_is_a_character(tmp_path: Path) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["k"]))
    folder.write("in.csv", 'sex,k\nF,5" pipe\nM,a"b"\nF,"say ""so"""\n' + "M,x\n" * 300)
    folder.protect("in.csv", "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        towns = [row["k"] for row in csv.DictReader(file)]
    assert towns[:3] == ['5" pipe', 'a"b"', 'say "so"']


def truth(rows: list[str | None]) -> dict[tuple[Any, ...], float]:
    return {(each,): rows.count(each) / len(rows) for each in dict.fromkeys(rows)}


@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_an_empty_text_is_not_missing_in_any_command(
    tmp_path: Path, out: str, missing: Any
) -> None:
    words = ["", "x"]
    column = sv.Categorical("a", words, "randomized_response", beta=0.4, missing=missing)
    folder = Folder(tmp_path, sv.Plan([column], keep=["n"], name=missing + out))
    draw = np.random.default_rng(7)
    values: list[str | None] = [
        None if u < 0.2 and missing != "raise" else words[int(u < 0.4)] for u in draw.random(3000)
    ]
    shown = {None: "", "": '""', "x": "x"}
    folder.write("in.csv", "a,n\n" + "".join(f"{shown[v]},1\n" for v in values))
    folder.protect("in.csv", out)
    found = folder.estimate(out, "--by", "a", "--population", "fixed")
    known = truth([v for v in values if v is not None or missing == "category"])
    assert set(found) == set(known)
    for cell, share in known.items():
        # Five standard errors: beyond them once in two million.
        assert abs(found[cell]["frequency"] - share) <= 5 * found[cell]["standard_error"]
        assert found[cell]["standard_error"] > 0
    folder.run("audit", "in.csv", out, "--plan", "plan.toml")


def test_zeros_in_front_make_another_level(tmp_path: Path) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["zip", "plain", "mixed"]))
    # The zero comes late, far behind the first block.
    rows = ["F,1234,7,3", "M,1234,8,4"] * 100_000 + ["F,01234,9,2.5"] * 10
    folder.write("in.csv", "sex,zip,plain,mixed\n" + "".join(f"{row}\n" for row in rows))
    found = folder.estimate("in.csv", "--by", "zip")
    assert {key: cell["count"] for key, cell in found.items()} == {("01234",): 10,
                                                                   ("1234",): 200_000}  # fmt: skip
    assert set(folder.estimate("in.csv", "--by", "plain")) == {(7,), (8,), (9,)}
    assert set(folder.estimate("in.csv", "--by", "mixed")) == {(2.5,), (3.0,), (4.0,)}
    one = folder.estimate("in.csv", "--by", "sex", "--where", "zip=1234")
    assert sum(cell["count"] for cell in one.values()) == pytest.approx(200_000)
    one = folder.estimate("in.csv", "--by", "sex", "--where", "plain=9")
    assert sum(cell["count"] for cell in one.values()) == pytest.approx(10)
    one = folder.estimate("in.csv", "--by", "sex", "--where", "mixed=3")
    assert sum(cell["count"] for cell in one.values()) == pytest.approx(100_000)
    folder.protect("in.csv", "out.parquet")
    types = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "out.parquet")}
    assert types == {"sex": "string", "zip": "string", "plain": "int64", "mixed": "double"}
    told = folder.run("plan", "in.csv", "--categories-from-data", "--epsilon", "1")
    assert '"01234"' in told
    # Numbers are no categories in a first plan.
    assert '"7"' not in told


BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", str(BIG), str(-BIG - 1)], pa.int64()),
        (["1", str(BIG + 1)], pa.string()),
        (["1", "2.50", "-0.125", "1e-07", "3.0"], pa.float64()),
        ([str(2**53 + 1), "0.5"], pa.string()),
        ([str(2**53), "0.5"], pa.float64()),
        (["0.12345678901234567891"], pa.string()),
        (["0.1000000000000000055511151231257827"], pa.string()),
        (["0.30000000000000004", "123456789.12345678"], pa.float64()),
        (["1", "+2"], pa.string()),
        (["1", "-0"], pa.float64()),
        (["1", "2."], pa.string()),
        (["1", "NA"], pa.string()),
        (["1", "nan"], pa.string()),
        (["1", "1e999"], pa.string()),
        (["true", "false"], pa.string()),
        (["2020-01-01"], pa.string()),
        (["", ""], pa.string()),
        (["", "5"], pa.int64()),
    ],
)
def test_types_are_those_of_all_cells(tmp_path: Path, cells: list[str], kind: Any) -> None:
    """From CSV to Parquet, to `audit` and in `plan`; in both orders, and far apart."""
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["v"]))
    for turn, order in enumerate((cells, cells[::-1])):
        apart = [order[0]] * 150_000 if turn else []
        rows = ["F," + cell for cell in [*apart, *order, *order[-1:] * 300]]
        folder.write("in.csv", "\n".join(["sex,v", *rows, ""]))
        folder.protect("in.csv", "out.parquet")
        column = pq.read_table(tmp_path / "out.parquet")["v"]
        assert column.type == kind
        assert read_table(tmp_path / "in.csv", "in", {}).column("v").type == kind
        read = read_table(tmp_path / "in.csv", "in", {}, texts=["v"]).column("v")
        if kind == pa.int64():
            assert column.cast(pa.string()).equals(read)
        if kind == pa.float64():
            want = [float(cell) for cell in read.to_pylist()]
            assert column.to_pylist() == want


def test_numbers_of_19_digits_stay_exact(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Numeric("v", "k_anonymous", k=3)])
    folder = Folder(tmp_path, plan)
    values = [BIG - 2 * i for i in range(300)]
    folder.write("in.csv", "v\n" + "".join(f"{v}\n" for v in values))
    for out in ("out.csv", "out.parquet"):
        folder.protect("in.csv", out)
        assert sorted(read_table(tmp_path / out, "out", {}).column("v").to_pylist()) == sorted(
            values
        )
    early = [str(values[0])] + ["1"] * 700_000
    folder.write("bad.csv", "\n".join(["v", *early, "1e999", ""]))
    said = folder.refused("protect", "bad.csv", "out2.csv", "--plan", "plan.toml")
    assert said.endswith("must hold numbers; got 1 other value, the first in row 700001")
    # Without the large one, whole numbers of a block become floats with those of a later one.
    folder.write("fine.csv", "\n".join(["v", *early[1:], "0.5", ""]))
    folder.protect("fine.csv", "fine.parquet")
    found = pq.read_table(tmp_path / "fine.parquet")["v"]
    assert found.type == pa.float64()
    assert sorted(found.to_pylist())[:2] == [0.5, 1.0]


def spelled(rows: list[list[str | None]], mark: str, end: str) -> str:
    def field(cell: str | None) -> str:
        if cell is None:
            return ""
        if cell == "" or any(c in cell for c in f'"\r\n{mark}'):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    return "".join(mark.join(map(field, row)) + end for row in rows)


@pytest.mark.parametrize(
    ("mark", "encoding", "end", "decimal"),
    [
        (",", "utf-8", "\n", "."),
        (",", "utf-8-sig", "\r\n", "."),
        (";", "latin-1", "\r\n", ","),
        (",", "cp1252", "\n", ","),
        ("tab", "utf-16", "\r\n", "."),
        (";", "utf-16-le", "\r", ","),
        ("|", "utf-8", "\r", "."),
        ("tab", "utf-8", "\n", ","),
    ],
)
def test_all_commands_chain_over_files_of_any_dialect(
    tmp_path: Path, mark: str, encoding: str, end: str, decimal: str
) -> None:
    names = ["kön", "a,b;c", 'say "so"', "w", "zip"]
    kinds: list[str | None] = ["kvinna", "män", "", " x", 'a "b"', "a,b;c|d\te", "NA"]
    columns = [
        sv.Categorical("kön", [k for k in kinds if k is not None], "randomized_response",
                       beta=0.3, missing="category"),
        sv.Categorical("a,b;c", [1, 2, 3], "randomized_response", beta=0.3),
    ]  # fmt: skip
    plan = sv.Plan(columns, keep=names[2:], name=f"{mark} {encoding} {decimal}")
    folder = Folder(tmp_path, plan)
    draw = np.random.default_rng(11)
    every = [*kinds, None]
    rows = [[every[int(draw.integers(0, 8) * draw.random())], str(draw.integers(1, 4)),
             "é" if draw.random() < 0.5 else None, f"{draw.integers(1, 5)}{decimal}5",
             f"0{draw.integers(1, 4)}"] for _ in range(4000)]  # fmt: skip
    plain = "\t" if mark == "tab" else mark
    folder.write("in.csv", spelled([list(names), *rows], plain, end), encoding)
    how = ("--separator", mark, "--decimal", decimal)
    coded = (*how, "--encoding", encoding)
    first = ("--categories-from-data", "--epsilon", "1", "--missing", "category")
    drafted = folder.run("plan", "in.csv", *first, *coded)
    assert "kvinna" in drafted
    assert '"01"' in drafted
    reports = []
    for out in ("out.csv", "out.parquet"):
        folder.protect("in.csv", out, *coded)
        folder.run("inspect", f"{out}.certificate.json")
        folder.run("report", f"{out}.certificate.json", "--out", "page.html")
        by = ("--by", "kön", "--by", "a,b;c")
        found = folder.estimate(out, *by, *how, "--population", "fixed")
        weighted = folder.estimate(out, "--by", 'zip,"a,b;c"', "--weights", "w", *how)
        reports.append((found, weighted))
        for (one, two), cell in found.items():
            share = sum(row[0] == one and row[1] == str(two) for row in rows) / len(rows)
            assert abs(cell["frequency"] - share) <= 5.5 * cell["standard_error"] + 1e-9
        assert {key[0] for key in weighted} == {"01", "02", "03"}
        folder.run("audit", "in.csv", out, "--plan", "plan.toml", *coded)
    assert reports[0] == reports[1]
    # What is written has the separator and the decimal mark of what was read, in UTF-8.
    text = (tmp_path / "out.csv").read_bytes().decode("utf-8")
    read = list(csv.reader(io.StringIO(text, newline=""), delimiter=plain))
    assert read[0] == names
    assert [row[3] for row in read[1:]] == [row[3] for row in rows]
    assert "\r" not in text


def test_the_commands_do_not_care_which_file_a_table_is_in(tmp_path: Path) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["n", "t"]))
    table = pa.table({"sex": ["F", "M"] * 400, "n": [1, 2, 3, 4] * 200,
                      "t": ["1", "2"] * 400})  # fmt: skip
    pq.write_table(table, tmp_path / "in.parquet")
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, \
            pa.ipc.new_file(file, table.schema) as writer:  # fmt: skip
        writer.write_table(table, 100)
    (tmp_path / "in.feather").write_bytes((tmp_path / "in.arrow").read_bytes())
    folder.write("in.csv", "sex,n,t\n" + "".join(f"{'FM'[i % 2]},{i % 4 + 1},{i % 2 + 1}\n"
                                                  for i in range(800)))  # fmt: skip
    told, drafts = set(), set()
    for source in ("in.parquet", "in.arrow", "in.feather", "in.csv"):
        if source != "in.csv":
            # A CSV file does not say that digits are texts.
            drafts.add(folder.run("plan", source, "--categories-from-data", "--epsilon", "1"))
        for out in ("out.csv", "out.parquet"):
            folder.protect(source, out)
            told.add(folder.run("estimate", out, "--plan", "plan.toml", "--by", "sex,n"))
            folder.run("audit", source, out, "--plan", "plan.toml")
    assert len(told) == len(drafts) == 1


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("sex;k\nF;x\n", (), "got a header with `;` and no comma: use --separator ';'"),
        ("sex\tk\nF\tx\n", (), "got a header with a tab and no comma: use --separator tab"),
        ("sex;k\nF;x\n", ("--separator", ","), "column `sex`"),
        ("sex,k\nF\n", (), "must have 2 fields in every row; got 1 in row 0"),
        (f"sex,k\nF,a\nM,{'x' * 3_000_000}\n", (), "at most 1 MiB; got a longer one in row 1"),
        ("sex,sex\nF,M\n", (), "must name each column once; got `sex` twice"),
        ("", (), "must have a header; got none"),
        ('sex,"k\nF,x\n', (), "must end every quote in its line; got one in the header"),
        ("sex,k\nF,x\n", ("--separator", '"'), "`separator` must be one ASCII mark"),
        ("sex,k\nF,x\n", ("--encoding", "martian"), "`encoding` must be one that Python knows"),
        ("sex,k\nF,x\n", ("--encoding", "rot13"), "`encoding` must be one that Python knows"),
        ("sex,k\nF,x\n", ("--decimal", "x"), "`decimal` must be . or ,; got x"),
        ("sex,k\nF,xyz\n", ("--encoding", "ascii"), None),
        ("sex,k\nF,é\n", ("--encoding", "ascii"), "must be ascii; got other bytes in row 0"),
        ("sex,k\nF,x\n\n\n", ("--encoding", "utf-16"), "must be utf-16; got other bytes"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_sentence(
    tmp_path: Path, text: str, more: tuple[str, ...], said: str | None
) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["k"]))
    folder.write("in.csv", text)
    words = ("in.csv", "--plan", "plan.toml", "--by", "sex", *more)
    if said is None:
        folder.run("estimate", *words)
    else:
        assert said in folder.refused("estimate", *words)


def test_bytes_of_another_encoding_are_named_by_their_row(tmp_path: Path) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["k"]))
    early = b"sex,k\n" + b"F,x\n" * 500_000
    # Half a character at the end of the file, and none of cp1252 in the midst of it.
    folder.write("in.csv", (early.decode() + "F,y").encode("utf-16-le") + b"\n")
    words = ("estimate", "in.csv", "--plan", "plan.toml", "--by", "sex", "--encoding")
    assert "must be utf-16-le; got other bytes in" in folder.refused(*words, "utf-16-le")
    for wrong in (b"\xc3\x81", b"\x81\x8d", b"\x81"):
        folder.write("in.csv", early + b"F," + wrong + b"\n" + early[6:])
        assert "got other bytes in row 500000:" in folder.refused(*words, "cp1252")
    # Nobody asked for the column with these bytes.
    assert "must be UTF-8; got other bytes in row 500000:" in folder.refused(*words[:-1])
    folder.write("in.csv", early + "F,é\n".encode() + early[6:])
    folder.run(*words[:-1])
    assert "must be ascii; got other bytes in row 500000" in folder.refused(*words, "ascii")


CELLS = ["", None, '"', '""', 'a"b', ",", ";", "\t", " x ", "007", "é",
         "\ufeff", "\ufeffa", "'", "#", "NA", "null", "1,5", "=1+1", "\0", "x" * 5000]  # fmt: skip


def write(path: Path, table: pa.Table, dialect: Dialect) -> None:
    sink = csv_file.CsvSink(path, table.schema, dialect)
    for batch in table.to_batches(max_chunksize=7):
        sink.write(batch)
    sink.close()


@pytest.mark.parametrize("mark", [",", ";", "\t", " ", "-"])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_what_is_written_is_read_back_cell_by_cell(tmp_path: Path, mark: str, columns: int) -> None:
    draw = np.random.default_rng(5)
    names = ["\ufeffa", "b\u2028", 'c"', "d,;", " e"][:columns]
    dialect = Dialect.of(mark)
    for rows in (0, 1, 400):
        at = draw.integers(0, len(CELLS), (columns, rows))
        table = pa.table({name: pa.array([CELLS[i] for i in line], pa.string())
                          for name, line in zip(names, at, strict=True)})  # fmt: skip
        for turn in ("one.csv", "two.csv"):
            write(tmp_path / turn, table, dialect)
            read = read_table(tmp_path / turn, "file", {}, dialect=dialect, texts=names)
            assert read.to_pydict() == table.to_pydict()
            table = read
        # The file is a function of its cells.
        assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize("cell", ["a\rb", "\n", "x\r\n"])
def test_a_line_end_is_not_written(tmp_path: Path, cell: str) -> None:
    plan = sv.Plan([SEX], keep=["k"])
    folder = Folder(tmp_path, plan)
    pq.write_table(
        pa.table({"sex": ["F"] * 300, "k": ["x"] * 299 + [cell]}), tmp_path / "in.parquet"
    )
    said = folder.refused("protect", "in.parquet", "out.csv", "--plan", "plan.toml")
    assert said.startswith("column `k`: must hold no line ends for a CSV file; got one")


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("mark", [",", ";", "-", " ", "."])
def test_numbers_are_read_back_as_they_were(tmp_path: Path, mark: str, decimal: str) -> None:
    dialect = Dialect.of(mark, decimal=decimal)
    table = pa.table({"i": [1, -2, None, BIG], "x": [0.1, -2.0, 1e-300, None],
                      "y": [1e22, 1.5, 2.0, 1 / 3]})  # fmt: skip
    write(tmp_path / "a.csv", table, dialect)
    assert read_table(tmp_path / "a.csv", "file", {}, dialect=dialect).equals(table)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_ids_are_texts_in_either_format(tmp_path: Path, out: str) -> None:
    folder = Folder(tmp_path, sv.Plan([SEX], keep=["id"]))
    folder.write("in.csv", "sex,id\n" + "".join(f"{'FM'[i % 2]},{i}\n" for i in range(300)))
    ids = ("--id-column", "id", "--after", "first")
    folder.protect("in.csv", out, *ids, "--shuffle")
    read = read_table(tmp_path / out, "out", {"id": "text"}).column("id")
    assert sorted(read.to_pylist()) == sorted(map(str, range(300)))
    folder.run("audit", "in.csv", out, "--plan", "plan.toml")


def test_numbers_that_the_plan_declares_are_spelled_one_way(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("a", [1, 2], "randomized_response", beta=0.5)])
    folder = Folder(tmp_path, plan)
    for cell in ("01", "+1", "1.0", "9" * 19, "9" * 30, "9" * 5000, "x"):
        folder.write("in.csv", "a\n" + "1\n2\n" * 300 + f"{cell}\n")
        for words in (("protect", "in.csv", "out.csv"), ("estimate", "in.csv", "--by", "a")):
            said = folder.refused(*words, "--plan", "plan.toml")
            assert said.endswith("got 1 other value, the first in row 600"), said


@pytest.mark.parametrize("text", ["sex\nF\n\u00e9\n", "s\u00e9x\nF\n"])
def test_no_bytes_of_a_file_are_in_the_context_of_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.csv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match="must be ascii; got other bytes") as refused:
        list(
            open_source(tmp_path / "in.csv", "in", dialect=Dialect.of(encoding="ascii")).batches(
                ["sex"]
            )
        )
    assert refused.value.__context__ is None
