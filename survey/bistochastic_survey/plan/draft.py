"""``Plan.for_frame``: a first plan from names, types and declared categories.

Randomized response needs no order, and is the most truthful matrix at a beta. Nothing distinguishes
an income from a household id, a weight or the code of a region, of which only the first can be
permuted. Numbers that are permuted are exchanged inside classes of neighbouring ranks
(``k_anonymous``), of the smallest size that reaches the beta at any number of records. So every
column reaches the same beta, and every record gets a value of similar size.

A codebook declares categories. A CSV file has a header with ``column`` and ``category`` and a line
for each category, in order. A TOML file has a line such as ``sex = ["F", "M"]`` for each column. A
file of SPSS, Stata or SAS has value labels.
"""

import csv
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.files.formats import STATISTICAL, open_source
from bistochastic_survey.plan.attributes import MISSING, Categorical, every, named, names
from bistochastic_survey.plan.labels import Labels, spelled_as
from bistochastic_survey.plan.numeric import Attribute, Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.release.columns import Missing
from bistochastic_survey.table.schemas import Holds, SchemaColumn, columns_of
from bistochastic_survey.wording import about, meant, prefix, shown

ENDINGS = (".csv", ".toml", *STATISTICAL)
_PYTHON: dict[type, Holds] = {float: "numbers", int: "integers", str: "strings"}


def columns(schema: object, *, look: bool) -> list[SchemaColumn]:
    """Read the columns of a frame, a schema, a codebook or a dict."""
    if isinstance(schema, str | Path):
        return _read_codebook(schema)
    if isinstance(schema, list) and schema and all(isinstance(x, SchemaColumn) for x in schema):
        return schema
    if not isinstance(schema, dict) or hasattr(schema, "to_frame"):
        return columns_of(schema, look=look)
    found = []
    for column, given in schema.items():
        if given is bool:
            found.append(_declared(column, [False, True]))
        elif isinstance(given, type) and given in _PYTHON:
            found.append(SchemaColumn(column, _PYTHON[given], given.__name__))
        else:
            listed = given.tolist() if hasattr(given, "tolist") else given
            found.append(_declared(column, listed))
    return found


@watched("reading")
def draft(
    schema: object,
    *,
    beta: float | None = None,
    epsilon: float | None = None,
    truthfulness: float | None = None,
    categories_from_data: bool = False,
    codebook: object = None,
    ordinal: Iterable[str] = (),
    numeric: Iterable[str] | Literal["*"] = (),
    keep: Iterable[str] | Literal["*"] = (),
    drop: Iterable[str] = (),
    missing: object = "raise",
    name: str = "plan",
) -> tuple[Plan, tuple[str, ...]]:
    """Make the plan of :meth:`Plan.for_frame`; a sentence for each reason to leave columns out."""
    look = checks.flag("categories_from_data", categories_from_data)
    listed = columns(schema, look=look)
    book = () if codebook is None else columns(codebook, look=False)
    ordinal, numeric = names("ordinal", ordinal), every("numeric", numeric)
    keep, drop = every("keep", keep), names("drop", drop)
    both = beta is not None and epsilon is not None
    if both and not numeric:
        raise Refused("numeric", "name columns for beta if epsilon is given, too", "none")
    wanted = _read_target(beta=None if both else beta, epsilon=epsilon, truthfulness=truthfulness)
    of_numbers = _read_target(beta=beta) if both else wanted
    policy: Any = checks.one_of("missing", missing, MISSING)
    declared = {column.name: column for column in book}
    known = {column.name for column in listed}
    for each in sorted(declared.keys() - known):
        if near := meant(each, known - declared.keys()):
            raise Refused("codebook", "name columns of the schema", f"`{shown(each)}`{near}")
    kept = () if keep == "*" else keep
    permuted = () if numeric == "*" else numeric
    if numeric == keep == "*":
        raise Refused("numeric", 'name columns if keep="*"', '"*", too')
    for each in [*ordinal, *permuted, *kept, *drop]:
        if each not in known:
            cure = ": a dict of categories may hold its type, as in {'name': str}"
            got = f"none of that name{meant(each, known) or cure}"
            raise Refused("", "be in `schema`", got, column=each)
    for option, listing in (("numeric", permuted), ("keep", kept), ("drop", drop)):
        for each in ordinal:
            if each in listing:
                raise Refused("", "be named once", f"`ordinal` and `{option}`", column=each)
    attributes: list[Attribute] = []
    undecided: list[str] = []
    left_out: dict[str, list[str]] = {}
    for column in listed:
        if (column.name in kept or column.name in drop) and column.name not in permuted:
            continue
        own = _in_its_type(column, declared.get(column.name))
        numbers = own.holds in ("numbers", "integers")
        if column.name in ordinal:
            own = _in_order(own, policy)
        elif "epsilon" in wanted:
            # At an epsilon, randomized response gives the better estimates: only if it is asked.
            own = replace(own, ordered=False)
        if column.name in permuted and not numbers:
            got = "declared categories" if own.declared else shown(own.type)
            must = "hold numbers without declared categories to be in `numeric`"
            raise Refused("", must, got, column=column.name)
        if numbers:
            if column.name in permuted or numeric == "*":
                if "epsilon" in of_numbers:
                    must = "be given if numbers are permuted, as their epsilon is infinite"
                    raise Refused("beta", must, "epsilon", column=column.name)
                attributes.append(Numeric(column.name, "k_anonymous", **of_numbers))
            else:
                undecided.append(column.name)
        else:
            made = _attribute(own, wanted, look, policy)
            if isinstance(made, str) and column.name in ordinal:
                must = "have declared categories to be in `ordinal`"
                raise Refused("", must, made, column=column.name)
            if isinstance(made, str):
                left_out.setdefault(made, []).append(column.name)
            else:
                attributes.append(made)
    sentences = tuple(f"{prefix(names)}{why}" for why, names in left_out.items())
    # A star keeps all that is undecided.
    open_ones = () if keep == "*" else tuple(undecided)
    if not attributes and not open_ones:
        why = "; ".join(sentences) or "no other column"
        raise Refused("schema", "have a column that can be protected", why)
    rest = tuple(c.name for c in listed if any(c.name in some for some in left_out.values()))
    left = {*drop, *rest}
    leaving = [_in_its_type(c, declared.get(c.name)) for c in listed if c.name not in left]
    plan = Plan(
        attributes, name=name, keep=keep, drop=(*drop, *rest), undecided=open_ones,
        column_labels={c.name: c.label for c in leaving if c.label is not None},
        value_labels={c.name: dict(c.texts) for c in leaving if c.texts},
    )  # fmt: skip
    return plan, sentences


def _read_target(**asked: object) -> dict[str, Any]:
    """Read the request for every column: a beta, an epsilon or a truthfulness."""
    given = [name for name, limit in asked.items() if limit is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise RefusedType("beta", "be given, or epsilon or truthfulness", got)
    [name] = given
    return {name: asked[name] if name == "truthfulness" else checks.limit(name, asked[name])}


def _attribute(
    column: SchemaColumn, wanted: dict[str, Any], look: bool, missing: Missing
) -> Attribute | str:
    """Make the attribute of a column that is not numeric, or say why it is left out."""
    cure = "a codebook can declare them"
    if column.levels is not None and (column.declared or look):
        codes = [code for code in column.missing if type(code) is type(column.levels[0])]
        # Missing values are protected, too, if the file declares codes for them.
        if column.missing and missing == "raise":
            missing = "category"
        # A missing category has no place in an order.
        ordered = column.ordered and missing != "category"
        return Categorical(
            column.name,
            column.levels,
            "geometric" if ordered else "randomized_response",
            missing=missing,
            categories_from_data=not column.declared,
            recode=dict.fromkeys(codes) or None,
            **wanted,
        )
    if column.holds == "something else":
        return f"left out: {shown(column.type)} holds neither categories nor numbers"
    if column.holds == "levels" and column.levels is not None:
        return f"left out: its categories are only the values that occur; {cure}, and so can " \
               "categories_from_data=True"  # fmt: skip
    if look:
        return f"left out: free text or ids, and not a few categories; {cure}"
    more = "categories_from_data=True reads them from the data"
    return f"left out: no categories are declared; {cure}, and {more}"


def _in_order(column: SchemaColumn, missing: Missing) -> SchemaColumn:
    if column.levels is None or not (column.declared or column.ordered):
        must = "have declared categories, in their order, to be in `ordinal`"
        raise Refused("", must, shown(column.type), column=column.name)
    if column.missing or missing == "category":
        must = "be raise or keep for a column in `ordinal`, as missing has no place in an order"
        got = "codes for missing values" if column.missing else missing
        raise Refused("missing", must, got, column=column.name)
    return replace(column, ordered=True)


def _in_its_type(column: SchemaColumn, declared: SchemaColumn | None) -> SchemaColumn:
    """Give a column the categories of a codebook, as integers if the column holds integers."""
    if declared is None or declared.levels is None:
        return column
    levels: tuple[object, ...] = declared.levels
    if column.holds == "integers":
        with about([column.name]):
            whole = spelled_as(Labels.of("levels", levels), "integer")
        if whole is None:
            must = "categories of a codebook must be integers, as the column holds integers"
            wrong = sum(spelled_as(Labels.of("levels", [x]), "integer") is None for x in levels)
            got = f"{wrong} other{'s' * (wrong > 1)}"
            raise Refused(f"{must}; got {got}", column=column.name)
        levels = whole.values
    return replace(
        declared, type=column.type, holds="levels", levels=levels, declared=True,
        ordered=column.ordered,
    )  # fmt: skip


def _read_codebook(path: str | Path) -> list[SchemaColumn]:
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        raise Refused("codebook", f"end in {', '.join(ENDINGS)}", shown(file.suffix) or "no ending")
    if file.suffix.lower() in STATISTICAL:
        return open_source(file, "codebook").described()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused("codebook", "be UTF-8", f"none at byte {error.start}") from None
    except OSError as error:
        raise Refused("codebook", "be a file to read", error.strerror) from None
    columns = (_from_toml if file.suffix.lower() == ".toml" else _from_csv)(text)
    if not columns:
        raise Refused("codebook", "declare at least one column", "none")
    return columns


def _declared(name: str, levels: object) -> SchemaColumn:
    column = named("codebook", name)
    if not isinstance(levels, list | tuple) or not levels:
        got = "none" if isinstance(levels, list | tuple) else type(levels).__name__
        raise Refused("", "have a list of categories", got, column=column)
    kinds = {type(level) for level in levels}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        got = " and ".join(sorted(kind.__name__ for kind in kinds))
        must = "have categories that are strings, integers or booleans, of one kind"
        raise RefusedType("", must, got, column=column)
    if len(set(levels)) < len(levels):
        # Never which: a table handed in by mistake holds answers.
        twice = len(levels) - len(set(levels))
        must = "have each category once: categories are declared, data are not a schema"
        raise Refused("", must, f"{twice} of {len(levels)} again", column=column)
    return SchemaColumn(column, "levels", "codebook", tuple(levels), declared=True)


def _from_csv(text: str) -> list[SchemaColumn]:
    rows = list(csv.reader(text.splitlines(keepends=True)))
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    # Codebooks once had the header `level`.
    header = ["category" if name == "level" else name for name in header]
    if "column" not in header or "category" not in header:
        must = "have the columns `column` and `category` in its header"
        raise Refused("codebook", must, f"{len(header)} columns without them")
    at, category = header.index("column"), header.index("category")
    found: dict[str, list[str]] = {}
    for i, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            must = f"have {len(header)} fields in every line"
            raise Refused("codebook", must, f"{len(row)} in line {i}")
        found.setdefault(row[at], []).append(row[category])
    return [_declared(name, levels) for name, levels in found.items()]


def _from_toml(text: str) -> list[SchemaColumn]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Refused("codebook", "be TOML", "something else") from None
    return [_declared(name, levels) for name, levels in data.items()]
