"""``inspect``: a plan, a certificate or a matrix in tables."""

import json
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from click import argument, option

import bistochastic as bs
from bistochastic.backend import Family
from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main, say, say_json
from bistochastic_survey.cli.inputs import PLANS, json_option, number, read_law, text_of
from bistochastic_survey.wording import shown

# The parameters that are lists, also if one number is typed for them.
_LISTS = ("sizes", "targets", "first_row", "kernel", "weights")
_LONGEST = 60


@main.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Show a plan, a certificate or a matrix.",
)
@argument("target")
@argument("parameters", nargs=-1, type=click.UNPROCESSED, metavar="[--PARAMETER VALUE]...")
@option("--cost", help='Cost of each reported value, for the expected cost and for a Gibbs matrix: '
        '"ordinal" for abs(u - v), or a CSV file.')  # fmt: skip
@option("--prior", help="What an attacker believes first, e.g. 0.5,0.3,0.2.")
@option("--records", type=int, help="Number of records, for a plan with numeric columns.")
@option("--full", is_flag=True, help="Compute every measure, however long that takes.")
@json_option
def inspect(
    target: str,
    parameters: Sequence[str],
    cost: str | None,
    prior: str | None,
    records: int | None,
    full: bool,
    as_json: bool,
) -> None:
    """Show TARGET: a plan, a certificate, or all measures of one matrix.

    TARGET is a plan (TOML or JSON), a certificate (JSON), a CSV file with a matrix, or the name of
    a family. Its parameters are typed as options, under their names in Python: --size, --beta,
    --epsilon, --truthfulness, --temperature, --k, --sizes, --targets, --first-row, --alphas,
    --kernel and so on; --matrix is repeated for the components of kron, mix and product.

    \b
    bistochastic inspect plan.toml --records 1000
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect randomized_response --size 4 --truthfulness 2/3
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    bistochastic inspect mine.csv
    bistochastic inspect kron --matrix "uniform size=3" --matrix "k_anonymous size=12 k=3"
    bistochastic inspect geometric --size 12 --beta 0.6 --cost ordinal
    """
    if target.lower().endswith(PLANS):
        plan, certificate = read_law(Path(target), "target")
        found = certificate or plan.preview(records)
        say_json(found.to_dict()) if as_json else say(found)
        return
    if records is not None:
        raise Refused("records", "go with a plan", "a matrix")
    pairs = []
    words = iter(parameters)
    for word in words:
        name, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise Refused(shown(word), "be an option of a parameter, as --size 3", "another word")
        pairs.append((name, text if equals else next(words, "")))
    costs = None if cost is None else _value("cost", cost)
    matrix = _matrix(target, pairs, costs)
    belief = None if prior is None else _value("weights", prior)
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
    """Write parameters in a line: of long ones the beginning and the number."""
    texts = {name: str(value) for name, value in parameters.items()}
    for name, text in texts.items():
        if len(text) > _LONGEST and isinstance(parameters[name], list):
            texts[name] = f"{text[: _LONGEST // 2]}... ({len(parameters[name])} entries)"
    return ", ".join(f"{name}={text}" for name, text in texts.items()) or "nothing"


def _matrix(family: str, pairs: Sequence[tuple[str, str]], costs: Any = None) -> bs.Matrix:
    """Build a matrix from a family and the texts of its parameters, or read it from a file."""
    if family.lower().endswith(".csv"):
        return bs.dense(_table(family))
    given: dict[str, Any] = {}
    for typed, text in pairs:
        name = {"truthfulness": "keep"}.get(typed, typed).replace("-", "_")
        if name == "matrix":
            inner, *more = text.split() or [""]
            parts = [(x, y) for x, _equals, y in (part.partition("=") for part in more)]
            given.setdefault("matrices", []).append(_matrix(inner, parts))
        elif name in given:
            raise Refused(shown(typed), "be given once", "it twice")
        else:
            given[name] = _value(name, text)
    maker = getattr(bs, family, bs.build) if family in get_args(Family) else bs.build
    if costs is not None and "cost" in signature(maker).parameters:
        given["cost"] = costs
    return bs.build(family, **given)


def _value(name: str, text: str) -> Any:
    if text == "ordinal":
        return text
    if text.lower().endswith(".csv"):
        return _table(text)
    if name in _LISTS or "," in text:
        return [number(part) for part in text.split(",")]
    return number(text)


def _table(path: str) -> np.ndarray:
    name = shown(path)
    rows: list[list[Any]] = []
    # A mark at the beginning, as spreadsheets write it, is not a part of the first number.
    for line in filter(str.strip, text_of(Path(path), name).removeprefix("\ufeff").splitlines()):
        rows.append([])
        for part in line.split(","):
            try:
                rows[-1].append(number(part.strip()))
            except click.BadParameter:
                got = f"none in row {len(rows) - 1}, column {len(rows[-1])}"
                raise Refused(name, "hold numbers", got) from None
    if len({len(row) for row in rows}) != 1:
        raise Refused(name, "have rows of one length", "several or none")
    is_real = any(isinstance(each, float) for row in rows for each in row)
    return np.array(rows, float) if is_real else np.asarray(rows)
