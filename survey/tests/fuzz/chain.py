"""A chain of commands over a random file and a random plan, with the truth known.

``plan``, ``protect``, ``inspect``, ``report``, ``estimate`` and ``audit`` read one file. What they
print is within its stated error, or they refuse. If the file is broken, all of them refuse.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import bistochastic as bs
import bistochastic_survey as sv
from fuzz.prelude import hold

Cell = str | None

_TEXTS = ["", "x", " x", "NA", "null", "nan", "01", "1", "1.0", "a,b", "a;b", 'say "so"', "'", "é",
          "true", "-", "=1", "\t", "a|b", "ß", "x" * 40]  # fmt: skip
_NUMBERS = {"reported", "frequency", "count", "standard_error", "low", "high"}
_SECRET = "Mud Hut"
# A bound that a chain exceeds by chance less often than once in a hundred million.
_ERRORS, _JUMPS = 7.0, 25.0


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@dataclass(frozen=True)
class _Dialect:
    mark: str
    encoding: str
    end: str
    decimal: str

    @property
    def words(self) -> list[str]:
        return ["--separator", self.mark, "--decimal", self.decimal]

    def field(self, cell: Cell, rng: Random) -> str:
        if cell is None:
            return ""
        must = cell == "" or any(c in cell for c in f'"\r\n{self.mark}')
        if must or rng.random() < 0.05:
            return _quoted(cell)
        return cell

    def bytes(self, rows: list[list[Cell]], rng: Random) -> bytes:
        lines = [self.mark.join(self.field(cell, rng) for cell in row) for row in rows]
        last = self.end if rng.random() < 0.8 else ""
        return (self.end.join(lines) + last).encode(self.encoding)


class Chain:
    """One file, one plan, and commands that are run on them in a folder."""

    def __init__(self, folder: Path, seed: str) -> None:
        self.rng = rng = Random(seed)
        self.folder = folder
        self.rows = rng.choice([300, 500, 900])
        self.dialect = _Dialect(rng.choice([",", ";", "\t", "|"]),
                                rng.choice(["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"]),
                                rng.choice(["\n", "\r\n", "\r"]), rng.choice(".,"))  # fmt: skip
        self.table: dict[str, list[Cell]] = {}
        self.protected: list[sv.Categorical] = []
        self.numeric: list[sv.Numeric] = []
        names = rng.sample(["sex", "a,b", "c;d", 'e"f', "g h", "kön", "i=j"], rng.randint(1, 3))
        groups = "group" if rng.random() < 0.3 else None
        if groups:
            self.table[groups] = [rng.choice(["n", "s"]) for _ in range(self.rows)]
        for name in names:
            self._category(name, groups)
        self.table["zip"] = [rng.choice(["01234", "1234", "1", "007"]) for _ in range(self.rows)]
        self.table["weight"] = [self._decimal(rng.randint(1, 999), 2) for _ in range(self.rows)]
        self.table["note"] = [rng.choice([*_TEXTS, None]) for _ in range(self.rows)]
        if rng.random() < 0.4:
            self._numeric()
        self.gone = ["note"] if rng.random() < 0.4 else []
        order = list(self.table)
        rng.shuffle(order)
        self.table = {name: self.table[name] for name in order}
        self.names = order

    def _category(self, name: str, groups: str | None) -> None:
        rng = self.rng
        kind = rng.choice(["text", "text", "integer", "boolean"])
        levels: list[Any] = [False, True]
        if kind == "text":
            levels = rng.sample(_TEXTS, rng.randint(2, 5))
        elif kind == "integer":
            levels = rng.sample([-3, 0, 1, 2, 7, 10**18], rng.randint(2, 4))
        missing: Any = rng.choice(["raise", "keep", "category"])
        cells = [str(level).lower() if kind == "boolean" else str(level) for level in levels]
        usual = rng.random()
        self.table[name] = [
            None if missing != "raise" and rng.random() < 0.15
            else cells[0] if rng.random() < usual else rng.choice(cells)
            for _ in range(self.rows)
        ]  # fmt: skip
        size = len(levels) + (missing == "category")

        def law() -> bs.Matrix:
            return bs.randomized_response(size, beta=rng.choice([0.1, 0.3, 0.5]))

        given: dict[str, Any] = {"matrix": law()}
        if groups is not None:
            given = {"groups": (groups, {"n": law(), "s": law()})}
        self.protected.append(sv.Categorical(name, levels, missing=missing, **given))

    def _numeric(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            values = [str(2**63 - 1 - rng.randrange(1000)) for _ in range(self.rows)]
        else:
            values = [self._decimal(rng.randrange(-(10**9), 10**9), rng.choice([0, 3]))
                      for _ in range(self.rows)]  # fmt: skip
        self.table["number"] = list(values)
        self.numeric.append(sv.Numeric("number", "k_anonymous", k=3))

    def _decimal(self, digits: int, places: int) -> str:
        text = f"{digits / 10**places:.{places}f}" if places else str(digits)
        return text.replace(".", self.dialect.decimal)

    @property
    def plan(self) -> sv.Plan:
        taken = {each.column for each in self.protected} | {each.column for each in self.numeric}
        keep = [name for name in self.names if name not in taken and name not in self.gone]
        return sv.Plan([*self.protected, *self.numeric], keep=keep, drop=self.gone, name="chain")

    def data(self) -> list[list[Cell]]:
        return [list(self.names), *map(list, zip(*self.table.values(), strict=True))]

    def invoke(self, command: str, *words: str) -> tuple[int, str, str]:
        from click.testing import CliRunner

        from bistochastic_survey.cli import main

        out = CliRunner().invoke(main, [command, *words])
        if out.exception is not None and not isinstance(out.exception, SystemExit):
            raise out.exception
        hold(out.exit_code in (0, 1), f"{command}: exit code {out.exit_code}")
        return out.exit_code, out.stdout, out.stderr

    def run(self, command: str, *words: str) -> str:
        code, told, error = self.invoke(command, *words)
        hold(code == 0, f"{command} refused: {error[-300:]}")
        return told

    def path(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def read(self) -> list[str]:
        return [*self.dialect.words, "--encoding", self.dialect.encoding]

    def commands(self) -> list[list[str]]:
        read, source, plan = self.read, self.path("in.csv"), ["--plan", self.path("plan.toml")]
        key = ["--key-file", self.path("key"), "--release-name", "2026"]
        return [
            [
                "plan",
                source,
                "--categories-from-data",
                "--beta",
                "0.6",
                "--missing",
                "category",
                *read,
            ],
            ["protect", source, self.path("out.csv"), *plan, *key, *read],
            ["protect", source, self.path("out.parquet"), *plan, *key, *read],
        ]

    def broken(self) -> bytes:
        """The file with one fault, in a row that is otherwise empty or in all of its fields."""
        rng, dialect, width = self.rng, self.dialect, len(self.names)
        lines = [dialect.mark.join(dialect.field(cell, rng) for cell in row) for row in self.data()]
        at = rng.randrange(1, len(lines))
        fields = ["x"] * width
        protected = self.names.index(self.protected[0].column)
        match rng.choice(["open", "open", "line", "few", "many", "bytes"]):
            case "open":
                fields[rng.randrange(width)] = f'"{_SECRET}'
            case "line":
                fields[protected] = f'"{_SECRET}{dialect.end}"'
            case "few":
                fields = [*fields[2:], _SECRET]
            case "many":
                fields.append(_SECRET)
            case "bytes":
                if dialect.encoding == "utf-8":
                    head = dialect.end.join(lines[:at]) + dialect.end
                    return head.encode() + b"\xff" + dialect.end.join(lines[at:]).encode()
                fields.pop()
        lines[at] = dialect.mark.join(fields)
        return dialect.end.join([*lines, ""]).encode(dialect.encoding)

    def go(self) -> None:
        """Run all commands; ``BrokenLawError`` if one of them is wrong."""
        data = self.dialect.bytes(self.data(), self.rng)
        (self.folder / "plan.toml").write_text(self.plan.to_toml(), encoding="utf-8")
        bs.Key.from_bytes(self.rng.randbytes(32)).to_file(self.folder / "key")
        if self.rng.random() < 0.25:
            self._refuse(self.broken())
            return
        (self.folder / "in.csv").write_bytes(data)
        for words in self.commands():
            self.run(*words)
        self._passed()
        told = []
        for out in ("out.csv", "out.parquet"):
            certificate = self.path(f"{out}.certificate.json")
            self.run("inspect", certificate)
            self.run("report", certificate, "--out", self.path("page.html"))
            told.append([self._estimated(out, each) for each in self.protected])
            told[-1].append(self._counted(out))
            words = [self.path("in.csv"), self.path(out), "--plan", certificate, *self.read]
            self.run("audit", *words)
        hold(told[0] == told[1], "CSV and Parquet of one release give different estimates")

    def _refuse(self, data: bytes) -> None:
        (self.folder / "in.csv").write_bytes(data)
        before = sorted(each.name for each in self.folder.iterdir())
        source, plan = self.path("in.csv"), ["--plan", self.path("plan.toml"), *self.read]
        by = _quoted(self.protected[0].column)
        more = [["estimate", source, "--by", by, *plan], ["audit", source, source, *plan]]
        for words in [*self.commands(), *more]:
            code, _told, error = self.invoke(*words)
            hold(code == 1, f"{words[0]} took a broken file")
            hold(_SECRET not in error, f"{words[0]} shows a cell")
        after = sorted(each.name for each in self.folder.iterdir())
        hold(before == after, "a refused command left a file")

    def _passed(self) -> None:
        """Unprotected cells are those of the original, cell by cell; numbers are the same set."""
        text = (self.folder / "out.csv").read_bytes().decode("utf-8")
        read = csv.reader(io.StringIO(text, newline=""), delimiter=self.dialect.mark)
        header, *rows = list(read)
        hold(header == [name for name in self.names if name not in self.gone], "other columns")
        hold(len(rows) == self.rows, "other rows")
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        for name in self.plan.keep:
            want = ["" if cell is None else cell for cell in self.table[name]]
            hold(list(columns[name]) == want, "an unprotected cell has changed")
        for each in self.numeric:

            def plain(cells: Any) -> list[Any]:
                texts = [str(cell).replace(",", ".") for cell in cells]
                return sorted(float(t) if "." in t else int(t) for t in texts)

            hold(plain(columns[each.column]) == plain(self.table[each.column]), "other numbers")

    def _ask(self, out: str, column: str, *more: str) -> list[dict[str, Any]]:
        by = self.rng.choice([_quoted(column), column])
        words = ["--plan", self.path("plan.toml"), "--by", by, "--population", "fixed"]
        words += self.dialect.words
        told = self.run("estimate", self.path(out), *words, "--format", "json", *more)
        cells: list[dict[str, Any]] = json.loads(told)["cells"]
        return cells

    def _estimated(self, out: str, attribute: sv.Categorical) -> list[Any]:
        """A protected column: the truth is within the stated error."""
        column = attribute.column
        cells = self._ask(out, column)
        truth = self.table[column]
        if attribute.missing == "keep":
            truth = [cell for cell in truth if cell is not None]
        widest = max(float(np.abs(np.linalg.inv(np.asarray(matrix))).max())
                     for matrix in attribute.matrices)  # fmt: skip
        for cell in cells:
            level = cell[column]
            word = str(level).lower() if isinstance(level, bool) else level
            spelled = None if level is None else str(word)
            share = sum(each == spelled for each in truth) / max(1, len(truth))
            room = _ERRORS * cell["standard_error"] + _JUMPS * 2 * widest / max(1, len(truth))
            off, error = abs(cell["frequency"] - share), cell["standard_error"]
            hold(off <= room, f"an estimate is {off:.3f} off, se {error:.4f}")
        hold(math.isclose(sum(cell["frequency"] for cell in cells), 1, abs_tol=1e-6), "no shares")
        return cells

    def _counted(self, out: str) -> list[Any]:
        """An unprotected column is counted as it is, by spelling, weighted or not."""
        cells = self._ask(out, "zip")
        found = {cell["zip"]: round(cell["count"]) for cell in cells}
        words = self.table["zip"]
        hold(found == {word: words.count(word) for word in set(words)}, "spellings fall together")
        weighted = self._ask(out, "zip", "--weights", "weight")
        weights = [float(str(cell).replace(",", ".")) for cell in self.table["weight"]]
        for cell in weighted:
            pairs = zip(words, weights, strict=True)
            share = sum(w for word, w in pairs if word == cell["zip"]) / sum(weights)
            hold(math.isclose(cell["frequency"], share, rel_tol=1e-9), "a weighted share is off")
        return [cells, weighted]


def run(folder: Path, seed: str) -> None:
    """One chain, which is a function of its seed."""
    Chain(folder, seed).go()
