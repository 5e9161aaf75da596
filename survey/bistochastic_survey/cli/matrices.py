"""``inspect``: a plan, a certificate or a matrix in tables."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from click import argument, option

import bistochastic as bs
from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main, say, say_json
from bistochastic_survey.cli.inputs import PLANS, read_law
from bistochastic_survey.cli.options import json_option, number
from bistochastic_survey.wording import shown

_FILES = (".csv", ".npy", ".npz")
# How the text of a parameter is read: a number, a vector, or a file with a table.
_NUMBERS = ("size", "k", "epsilon", "beta", "keep", "temperature", "i", "j", "alphas")
_VECTORS = ("sizes", "targets", "first_row", "kernel", "weights")
_TABLES = ("cost", "array")


class _Grouped(click.Command):
    """List the options of matrices under a heading of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        general = {"--records", "--full", "--json", "--help"}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for heading, own in (("Options", False), ("Options of a matrix", True)):
            listed = [each for each in options if general.isdisjoint(each.opts) is own]
            with formatter.section(heading):
                formatter.write_dl([each.get_help_record(ctx) or ("", "") for each in listed])


@main.command(cls=_Grouped, short_help="Show a plan, a certificate or a matrix.")
@argument("family", metavar="TARGET")
@option("--size", help="Number of categories.")
@option("--beta", help="Beta to reach: 0 hides nothing, 1 hides everything.")
@option("--epsilon", help="Largest epsilon of local differential privacy (inf is allowed).")
@option(
    "--truthfulness", "keep", help="Probability of reporting the true category, e.g. 0.65 or 2/3."
)
@option("--temperature", help="Temperature of a geometric or Gibbs matrix.")
@option("--k", help="Least number of codes per class.")
@option("--i", help="First of the two codes that a T-transform swaps.")
@option("--j", help="Second of the two codes that a T-transform swaps.")
@option("--sizes", help="Class sizes, e.g. 3,3,4.")
@option("--targets", help="Reported code of each code, e.g. 1,2,0.")
@option("--first-row", help="First row of a circulant, e.g. 0.6,0.3,0.1 or 3,1,1.")
@option("--alphas", help="One alpha with --size, or one per pair of neighbours, e.g. 0.1,0.2.")
@option("--kernel", help="Kernel of a reflected matrix, e.g. 0.5,0.25,0.")
@option(
    "--cost",
    help='Cost of each reported value: "ordinal" for abs(u - v), or a CSV, NPY or NPZ file. '
    "Adds the expected cost, and epsilon per unit of cost. A Gibbs matrix is made from it.",
)
@option("--array", help="Numbers to balance: a CSV, NPY or NPZ file.")
@option("--matrix", "matrices", multiple=True, help="A component of kron, mix or product.")
@option("--weights", help="Mixing weights, e.g. 0.9,0.1 or 2/3,1/3.")
@option("--prior", help="What an attacker believes first, e.g. 0.5,0.3,0.2.")
@option("--records", type=int, help="Number of records, for a plan with numeric columns.")
@option("--full", is_flag=True, help="Compute every measure, however long that takes.")
@json_option
def inspect(
    family: str,
    matrices: Sequence[str],
    cost: str | None,
    prior: str | None,
    records: int | None,
    full: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Show TARGET: a plan, a certificate, or all measures of one matrix.

    TARGET is a plan (TOML or JSON), a certificate (JSON), the name of a family with its
    parameters, or a CSV, NPY or NPZ file with a matrix.

    \b
    bistochastic inspect plan.toml --records 1000
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    bistochastic inspect mine.csv
    bistochastic inspect kron --matrix "uniform size=3" --matrix "k_anonymous size=12 k=3"
    bistochastic inspect geometric --size 12 --beta 0.6 --cost ordinal
    """
    if is_file(family, PLANS):
        plan, certificate = read_law(Path(family), "target")
        target = certificate or plan.preview(records)
        say_json(target.to_dict()) if as_json else say(target)
        return
    if records is not None:
        raise Refused("records", "go with a plan", "a matrix")
    costs = None if cost is None else value("cost", cost)
    if is_file(family):
        matrix = bs.dense(read_table(family))
    else:
        values = {name: value(name, text) for name, text in given.items() if text is not None}
        maker = getattr(bs, family, bs.build) if family in get_args(bs.backend.Family) else bs.build
        if costs is not None and "cost" in signature(maker).parameters:
            values["cost"] = costs
        if matrices:
            values["matrices"] = [from_words(words) for words in matrices]
        matrix = bs.build(family, **values)
    belief = None if prior is None else value("weights", prior)
    profile = matrix.profile(cost=costs, prior=belief, full=full)
    if as_json:
        say_json({"matrix": json.loads(matrix.to_json()), "profile": profile.to_dict()})
        return
    listed = {
        "family": matrix.family, "size": matrix.size,
        "status": "exact" if matrix.is_exact else "bound",
        "parameters": _short(matrix.parameters), "requested": _short(matrix.requested),
    }  # fmt: skip
    say("\n".join(f"{name:<12}{text}" for name, text in listed.items()))
    _, *rows = repr(profile).split("\n")
    say("\n" + "\n".join(rows))


def _short(parameters: dict[str, Any]) -> str:
    """Write parameters in a line: of long ones the ends and the number."""

    def value(x: Any) -> str:
        if isinstance(x, list) and x and isinstance(x[0], list):
            return f"{len(x)} x {len(x[0])} counts"
        if isinstance(x, list) and len(x) > 4 and not isinstance(x[0], bs.Matrix):
            return f"[{x[0]}, {x[1]}, ..., {x[-1]}] ({len(x)} numbers)"
        return str(x)

    return ", ".join(f"{name}={value(x)}" for name, x in parameters.items()) or "nothing"


def value(name: str, text: str) -> Any:
    """Read the value of a parameter from its text."""
    if name == "cost" and text == "ordinal":
        return text
    if name in _TABLES:
        return read_table(text)
    if name in _VECTORS or (name == "alphas" and "," in text):
        return [number(part) for part in text.split(",")]
    return number(text)


def is_file(words: str, endings: tuple[str, ...] = _FILES) -> bool:
    """Whether what was typed names a file rather than a family."""
    return words.lower().endswith(endings) and "=" not in words


def from_words(words: str) -> bs.Matrix:
    """Build a matrix from "family name=value name=value", or read it from a file."""
    if is_file(words):
        return bs.dense(read_table(words))
    family, *pairs = words.split() or [""]
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in (*_NUMBERS, *_VECTORS, *_TABLES) or name in given:
            got = "no =" if not equals else "a name twice" if name in given else "an unknown name"
            raise Refused(shown(pair), "be name=value, once for a name", got)
        given[name] = value(name, text)
    return bs.build(family, **given)


def read_table(path: str) -> np.ndarray:
    """Read a square table from a CSV, NPY or NPZ file."""
    file, name = Path(path), shown(path)
    kind = file.suffix.lower()
    if kind not in _FILES:
        raise Refused(name, f"end in {', '.join(_FILES)}", kind or "no ending")
    if not file.is_file():
        raise Refused(name, "be a file", "none there")
    if kind == ".csv":
        try:
            # A mark at the beginning, as spreadsheets write it, is not a part of the first number.
            text = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise Refused(name, "be readable", error.strerror) from None
        except UnicodeDecodeError as error:
            raise Refused(name, "be readable UTF-8 text", f"none at byte {error.start}") from None
        return _csv(name, text.splitlines())
    try:
        # A header is read as Python code, and what Python warns of in there says nothing to a user.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = np.load(file, allow_pickle=False)
            if kind == ".npy":
                return np.asarray(loaded)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise TypeError
            with loaded as arrays:
                found = [np.asarray(arrays[each]) for each in arrays.files]
    except MemoryError:
        raise
    except Exception as error:
        # NumPy's parser raises many errors for a broken header: all mean that it has no numbers.
        got = f"one that NumPy refuses ({type(error).__name__})"
        raise Refused(name, f"be a whole {kind} file of numbers", got) from None
    if len(found) != 1:
        raise Refused(name, "hold one array", len(found))
    return found[0]


def _csv(name: str, lines: list[str]) -> np.ndarray:
    rows: list[list[int | float | Fraction]] = []
    for line in filter(str.strip, lines):
        rows.append([])
        for part in line.split(","):
            try:
                rows[-1].append(number(part.strip()))
            except click.BadParameter:
                got = f"none in row {len(rows) - 1}, column {len(rows[-1])}"
                raise Refused(name, "hold numbers", got) from None
    if len({len(row) for row in rows}) != 1:
        raise Refused(name, "have rows of one length", "several or none")
    if any(isinstance(each, float) for row in rows for each in row):
        return np.array(rows, float)
    return np.asarray(rows)
