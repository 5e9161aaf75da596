"""``plan.client_json``: the plan of one device, in integers.

A device needs the columns, their categories and the probabilities that are really sampled, and
nothing else. ``docs/protocol.md`` says how a client draws from them; ``schemas/client.json`` is the
schema. Integers are decimal strings, because a JSON number of 2^53 or more is not exact everywhere.
"""

import json
from collections.abc import Iterable
from math import lcm
from typing import Any

from bistochastic import Matrix, structure
from bistochastic.errors import Refused
from bistochastic_survey.plan import file_labels
from bistochastic_survey.plan.labels import Labels, padded
from bistochastic_survey.plan.numeric import Binned
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.wording import about

PROTOCOL = 1
_TYPES = {"text": "string", "integer": "integer", "boolean": "boolean"}


def client_json(plan: Plan) -> str:
    """Write the plan for clients."""
    file_labels.refuse_others(plan, "for a client")
    written = {
        "protocol": PROTOCOL,
        "name": plan.name,
        "digest": plan.digest,
        "keep": plan.keep if plan.keep == "*" else list(plan.keep),
        "drop": list(plan.drop),
        "attributes": [_attribute(attribute) for attribute in plan._coded],
        **({} if plan.id_type is None else {"id_type": plan.id_type}),
    }
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"))


def _attribute(attribute: Coded) -> dict[str, Any]:
    pairs = zip(attribute.columns, attribute.axes, strict=True)
    written: dict[str, Any] = {"columns": [_column(*pair) for pair in pairs]}
    for column, raw, labels in zip(written["columns"], attribute._raw, attribute.axes, strict=True):
        if raw is not None:
            # All values that the column may hold, with the category of each.
            to = [*column["categories"], None]
            each = zip(_spellings(raw[0]), raw[1].tolist(), strict=True)
            column["recode"] = [[value, to[place]] for value, place in each]
            column |= {"relabelled": True} if raw[0].kind != labels.kind else {}
    written["missing"] = attribute.missing
    if isinstance(attribute, Binned):
        written["columns"][0] |= _describe_bins(attribute)
    padding = attribute.matrices[0].padding
    if padding:
        labels = attribute.axes[0]
        more = padded(labels, padding).values[len(labels) :]
        written["columns"][0]["padding"] = [str(value) for value in more]
    if attribute.impossible:
        written["impossible"] = _strings(attribute.cells.tolist())
    if attribute.groups is not None:
        written["groups"] = _column(attribute.groups.column, attribute.groups.labels)
    with about(attribute.columns):
        for matrix in attribute.matrices:
            if structure.composition(matrix) is not None:
                must = "be one table for a client"
                raise Refused("matrix", must, f"a {matrix.family} of several matrices")
        written["matrices"] = [
            {"digest": matrix.digest, "draw": draw_of(matrix)} for matrix in attribute.matrices
        ]
    return written


def _column(name: str, labels: Labels) -> dict[str, Any]:
    return {"name": name, "type": _TYPES[labels.kind], "categories": _spellings(labels)}


def _spellings(labels: Labels) -> list[str | bool]:
    return [value if isinstance(value, bool) else str(value) for value in labels.values]


def _describe_bins(attribute: Binned) -> dict[str, Any]:
    bins = attribute._bins
    spell = str if bins.dated else repr
    found: dict[str, Any] = {"type": "date" if bins.dated else "number"}
    found["breaks"] = [spell(x) for x in bins.breaks]
    if bins.open:
        found["open"] = list(bins.open)
    for end, value in (("bottom", attribute.bottom), ("top", attribute.top)):
        if value is not None:
            found[end] = spell(value)
    if attribute.output == "midpoint":
        found["midpoints"] = [spell(x) for x in bins.midpoints.tolist()]
    return found


def _strings(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers]


def draw_of(matrix: Matrix) -> dict[str, Any]:
    """Say how a client draws from a matrix: the form of the draw and its integers."""
    form: dict[str, Any] = {"form": "", "size": str(matrix.size)}
    made = structure.composition(matrix)
    if made is not None:
        kind = "mix" if isinstance(made, structure.Mixture) else type(made).__name__.lower()
        parts = matrix.parameters["matrices"]
        form |= {"form": kind, "components": [draw_of(part) for part in parts]}
        if kind == "mix":
            weights = matrix.parameters["weights"]
            total = lcm(*(weight.denominator for weight in weights))
            form["weights"] = _strings(int(weight * total) for weight in weights)
        return form
    if structure.is_certain(matrix):
        targets = structure.targets(matrix)
        form["form"] = "certain"
        return form if targets is None else form | {"targets": _strings(targets.tolist())}
    for name, found in (
        ("shift", structure.first_row(matrix)),
        ("fold", structure.even_kernel(matrix)),
    ):
        if found is not None:
            counts = _strings(found.counts.tolist())
            return form | {"form": name, "counts": counts, "total": str(found.total)}
    classes = structure.classes(matrix)
    if classes is not None:
        runs, first = [], 0
        for size, many in zip(classes.sizes.tolist(), classes.many.tolist(), strict=True):
            runs.append(_strings([first, size]))
            first += size * many
        return form | {"form": "classes", "runs": runs}
    steps = structure.steps(matrix)
    if steps is not None:
        alphas = _strings(steps.counts.tolist())
        return form | {"form": "neighbours", "alphas": alphas, "total": str(steps.total)}
    swap = structure.swap(matrix)
    if swap is not None:
        keep = swap.keep
        both = _strings([keep.numerator, keep.denominator - keep.numerator])
        return form | {"form": "swap", "codes": _strings([swap.i, swap.j]), "counts": both}
    rows = structure.counts(matrix)
    if rows is not None:
        listed = [_strings(row) for row in rows.tolist()]
        return form | {"form": "rows", "counts": listed, "total": str(int(rows[0].sum()))}
    # Only randomized response is left: the true category, or any other.
    keep = matrix.parameters["keep"]
    return form | {"form": "truth", "keep": _strings([keep.numerator, keep.denominator])}
