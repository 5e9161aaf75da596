"""``inspect``: a plan, a certificate or a matrix in tables."""

import json
from pathlib import Path
from typing import Any

from click import argument, option

import bistochastic as bs
from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main, say, say_json
from bistochastic_survey.cli.inputs import FILE, json_option, read_law, text_of

# What a matrix in JSON begins with.
_MATRIX = '"bistochastic.matrix"'
_LONGEST = 60


@main.command(short_help="Show a plan, a certificate or a matrix.")
@argument("target", type=FILE)
@option("--records", type=int, help="Number of records, for a plan.")
@option("--full", is_flag=True, help="Compute every measure of a matrix, however long that takes.")
@json_option
def inspect(target: Path, records: int | None, full: bool, as_json: bool) -> None:
    """Show TARGET: a plan (TOML or JSON), a certificate, or all measures of a matrix (JSON).

    Python writes a matrix: Path("m.json").write_text(bs.uniform(3).to_json()).

    \b
    bistochastic inspect plan.toml --records 1000
    bistochastic inspect protected.csv.certificate.json
    bistochastic inspect m.json --full
    """
    if target.suffix.lower() != ".json" or _MATRIX not in text_of(target, "target")[:200]:
        plan, certificate = read_law(target, "target")
        found = certificate or plan.preview(records)
        say_json(found.to_dict()) if as_json else say(found)
        return
    if records is not None:
        raise Refused("records", "go with a plan", "a matrix")
    matrix = bs.Matrix.from_json(text_of(target, "target"))
    profile = matrix.profile(full=full)
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
