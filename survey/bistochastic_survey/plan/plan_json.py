"""Plans as JSON and TOML, and back. ``schemas/plan.json`` describes both.

A matrix is written as in :meth:`Matrix.to_json`, with the request (``requested``) and the realized
``parameters``. The parameters decide, so a plan means the same matrix on every machine. By hand, a
family and a request are enough. Integers beyond 2^53 are strings, because some programs that read
JSON would round them; fractions are ``"1/3"``, infinity is ``"inf"``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from bistochastic import Matrix, build
from bistochastic.errors import OutOfMemoryError, Refused
from bistochastic_survey import checks
from bistochastic_survey.json_fields import OLDER, Fields, Here, parsed
from bistochastic_survey.plan.attributes import Categorical, Joint, make
from bistochastic_survey.plan.bins import Bins, Break
from bistochastic_survey.plan.file_labels import IdType
from bistochastic_survey.plan.labels import Label
from bistochastic_survey.plan.numeric import Attribute, Binned, Numeric, bound_to
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.wording import about, shown

if TYPE_CHECKING:
    from bistochastic_survey.plan.plan import Plan

    P = TypeVar("P", bound="Plan")

# The version of plans that is written.
VERSION = 1
# Fields of an attribute: the names under which a plan is written, and the names of format 1, under
# which it has its digest for ever: see `docs/reference/compatibility.md`.
FIELDS = {name: OLDER[name] for name in ("groups", "how", "categories_from_data")}
# Values of such fields, by the field's name in format 1.
VALUES = {"missing": {"raise": "refuse"}}
# Fields that came after format 1, in the order in which they are written: last, and only if set.
# Each has the name of an argument of Plan and of its attribute, and holds names of columns.
LATER: tuple[str, ...] = ("undecided",)
# Up to here every double is an integer of its own.
_EXACT = 2**53


# From values to plain data.


def number(value: Any) -> Any:
    """Convert a parameter to plain data."""
    if isinstance(value, Matrix):
        return _matrix_data(value)
    if isinstance(value, list | tuple):
        return [number(item) for item in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    beyond = type(value) is int and abs(value) > _EXACT
    infinite = isinstance(value, float) and not math.isfinite(value)
    return str(value) if beyond or infinite else value


def _matrix_data(matrix: Matrix) -> Fields:
    return dict(json.loads(matrix.to_json()))


def _label(value: object) -> object:
    if value is None:
        return {"missing": True}
    if type(value) is int and abs(value) > _EXACT:
        return {"integer": str(value)}
    return value


def attribute_data(attribute: Attribute) -> Fields:
    """Convert an attribute to plain data."""
    found = _numeric_data(attribute) if attribute.whole_column else _coded_data(attribute)
    if isinstance(attribute, Binned | Numeric):
        ends = {"bottom": attribute.bottom, "top": attribute.top}
        found |= {name: _day(x) for name, x in ends.items() if x is not None}
    if isinstance(attribute, Binned) and attribute.representatives is not None:
        found["representatives"] = list(attribute.representatives)
    return found


def _numeric_data(attribute: Numeric) -> Fields:
    found: Fields = {"kind": "numeric", "column": attribute.column}
    if attribute.family:
        found["family"] = attribute.family
        found["requested"] = {name: number(value) for name, value in attribute.given}
    if attribute.matrix is not None:
        found["matrix"] = _matrix_data(attribute.matrix)
    found |= {"order": attribute.order or "none", "how": attribute.how}
    more = {
        "within": attribute.within,
        "min_group": attribute.grouped and attribute.min_group,
        "missing": attribute.missing != "raise" and attribute.missing,
    }
    return found | {name: value for name, value in more.items() if value}


def _coded_data(attribute: Coded) -> Fields:
    lists = [[_label(value) for value in labels.values] for labels in attribute.axes]
    joint = len(attribute.columns) > 1
    if isinstance(attribute, Binned):
        breaks = [_day(x) for x in attribute._bins.breaks]
        found: Fields = {"kind": "binned", "column": attribute.column, "breaks": breaks}
    elif joint:
        found = {"kind": "joint", "columns": list(attribute.columns), "categories": lists}
    else:
        found = {"kind": "categorical", "column": attribute.columns[0], "categories": lists[0]}
    if attribute.groups is None:
        assert attribute.matrix is not None
        found["matrix"] = _matrix_data(attribute.matrix)
    else:
        pairs = zip(attribute.groups.labels.values, attribute.groups.matrices, strict=True)
        each = [{"value": _label(value), "matrix": _matrix_data(law)} for value, law in pairs]
        found["groups"] = {"column": attribute.groups.column, "matrices": each}
    found["missing"] = attribute.missing
    recode = [[[_label(x) for x in pair] for pair in each] for each in attribute.recode]
    more: Fields = {
        "padding": attribute.matrices[0].padding,
        "impossible": [[_label(value) for value in cell] for cell in attribute.impossible],
        "categories_from_data": attribute.categories_from_data,
        "unit": attribute.unit,
        "recode": any(recode) and (recode if joint else recode[0]),
    }
    if isinstance(attribute, Binned):
        more |= {"open": list(attribute._bins.open), "output": attribute.output,
                 "step": attribute.step}  # fmt: skip
    return found | {name: value for name, value in more.items() if value}


def _day(x: Break) -> int | float | str:
    return x.isoformat() if isinstance(x, date) else x


@contextmanager
def _deep() -> Iterator[None]:
    """Lists inside lists, until Python gives up."""
    try:
        yield
    except RecursionError:
        raise Refused("plan", "be nested less deeply", "too many levels") from None


@_deep()
def plain(plan: Plan) -> Fields:
    """Convert a plan to plain data."""
    labels = plan.value_labels.items()
    later = {
        **{name: list(getattr(plan, name)) or None for name in LATER},
        "units": None if plan.units is None else list(plan.units),
        "requirement": {n: number(x) for n, x in plan.requirement.items()} or None,
        "column_labels": plan.column_labels or None,
        "value_labels": {c: [[_label(v), text] for v, text in pairs.items()]
                         for c, pairs in labels} or None,
        "id_type": plan.id_type,
    }  # fmt: skip
    return {
        "version": VERSION,
        "name": plan.name,
        "attributes": [attribute_data(attribute) for attribute in plan.attributes],
        "keep": plan.keep if plan.keep == "*" else list(plan.keep),
        "drop": list(plan.drop),
        **{name: value for name, value in later.items() if value is not None},
    }


def format_1(plan: Fields) -> Fields:
    """Translate a plan's plain data to the names and values of format 1."""
    attributes = []
    for data in plan["attributes"]:
        named = {FIELDS.get(name, name): value for name, value in data.items()}
        named |= {n: v.get(named[n], named[n]) for n, v in VALUES.items() if n in named}
        attributes.append(named)
    return {**plan, "version": 1, "attributes": attributes}


def current(field: str, value: object) -> object:
    """Translate a value of format 1 to the value that is written today."""
    older = {old: new for new, old in VALUES.get(field, {}).items()}
    return older.get(value, value) if isinstance(value, str) else value


def to_text(data: Fields) -> str:
    """Write plain data as the text that digests are of."""
    return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)


def digest_of_plain(plan: Fields) -> str:
    """Compute the digest of a plan from its plain data."""
    return digest_of(format_1(plan))


def digests(plan: Plan) -> dict[str, str | None]:
    """Compute a plan's digest under each ``id_type``, which changes no draw, and say which."""
    types = (None, *get_args(IdType))
    bare = {name: value for name, value in plain(plan).items() if name != "id_type"}
    return {digest_of_plain(bare if t is None else {**bare, "id_type": t}): t for t in types}


def digest_of(data: Fields) -> str:
    """Compute the SHA-256 of plain data as 64 hexadecimal digits."""
    return sha256(to_text(data).encode()).hexdigest()


# From plain data to values.


_WHOLE = re.compile(r"-?[0-9]{1,39}")
_RATIO = re.compile(r"(-?[0-9]{1,39})/([0-9]{1,39})")


def _number(here: Here) -> Any:
    value = here.value
    if isinstance(value, list):
        return [_number(item) for item in here.items()]
    if isinstance(value, dict):
        return _matrix(here, None)
    if isinstance(value, str):
        if value in ("inf", "-inf"):
            return float(value)
        if _WHOLE.fullmatch(value):
            return int(value)
        ratio = _RATIO.fullmatch(value)
        if ratio and int(ratio[2]) > 0:
            return Fraction(int(ratio[1]), int(ratio[2]))
        raise here.refuse(
            'be a number, or a string like "7", "1/3" or "inf"', "a string of another form"
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise here.refuse("be a number", here.kind)
    return value


def _given(here: Here, readers: Mapping[str, Callable[[Here], Any]]) -> Fields:
    return {name: read(here[name]) for name, read in readers.items() if name in here}


def _matrix(here: Here, size: int | None) -> Matrix:
    """Read a matrix as :meth:`Matrix.to_json` writes it, or a family and a request."""
    if isinstance(here.value, dict) and ("parameters" in here or "format" in here):
        return _stored(here)
    here.keys(("family",), ("requested", "format", "version", "parameters", "parts"))
    for key in ("version", "parts"):
        if key in here:
            raise here[key].refuse("come with parameters", "none")
    family = here["family"].text()
    requested = _by_name(here["requested"], _number) if "requested" in here else {}
    if size is None:
        size = build(family, **requested).size
    return make(family, size, requested)


def _stored(here: Here) -> Matrix:
    """Read a matrix as :meth:`Matrix.to_json` writes it; an error names its place in this file."""
    try:
        return Matrix.from_json(json.dumps(here.value, default=str))
    except OutOfMemoryError:
        raise
    except Refused as error:
        if error.name.startswith("BISTOCHASTIC_"):
            raise
        place = here.path if error.name == "text" else f"{here.path}.{error.name}"
        raise Here(None, place).refuse(error.must, error.got) from None


def _labels(here: Here) -> list[Any]:
    def one(item: Here) -> Any:
        if not isinstance(item.value, dict):
            return item.value
        if "missing" in item.value:
            item.keys(("missing",))
            return None
        item.keys(("integer",))
        if not _WHOLE.fullmatch(item["integer"].text()):
            raise item.refuse("hold an integer", "a string of another form")
        return int(item["integer"].value)

    return [one(item) for item in here.items()]


def _missing(here: Here) -> str:
    return str(current("missing", here.text()))


_COMMON = ("matrix", "groups", "missing", "categories_from_data", "unit", "padding")


def _read_binned(here: Here) -> Binned:
    plain = ("open", "output", "step", "bottom", "top", "representatives")
    here.keys(("kind", "column", "breaks"), (*_COMMON[:3], "unit", *plain))
    column = here["column"].text()
    with about([column]):
        given = _given(here, dict.fromkeys(plain, _brk))
        bins = Bins.of(_brk(here["breaks"]), given.get("open", ()))
        given |= _given(here, {"missing": _missing})
        size = len(bins.names) + (given.get("missing") == "category")
        return Binned(column, bins.breaks, **given, **_law(here, size))


def _brk(here: Here) -> Any:
    """Read a number, a string, or a list of these; TOML has dates, too."""
    value = here.value
    if isinstance(value, list):
        return [_brk(item) for item in here.items()]
    if isinstance(value, bool) or not isinstance(value, int | float | str | date):
        raise here.refuse("be a number or a date", here.kind)
    return value


def _pairs(here: Here, what: str = "category") -> dict[Any, Any]:
    pairs = [_labels(pair) for pair in here.items()]
    for pair, item in zip(pairs, here.items(), strict=True):
        if len(pair) != 2:
            raise item.refuse(f"be a value and a {what}", f"{len(pair)}")
    found = dict(pairs)
    if len(found) < len(pairs):
        raise here.refuse("name each value once", "one twice")
    return found


def _read_coded(here: Here) -> Categorical | Joint:
    joint = here["kind"].value == "joint"
    name = "columns" if joint else "column"
    more = ("recode", "impossible") if joint else ("recode",)
    here.keys(("kind", name, "categories"), (*_COMMON, *more))
    columns = here["columns"].texts() if joint else [here["column"].text()]
    with about(columns):
        lists = here["categories"].items() if joint else [here["categories"]]
        axes = [_labels(each) for each in lists]
        cells = here["impossible"].items() if "impossible" in here else []
        impossible = [_labels(cell) for cell in cells]
        options = _given(here, {"missing": _missing, "categories_from_data": Here.flag})
        one_more = options.get("missing") == "category"
        size = math.prod(len(axis) + one_more for axis in axes) - len(impossible)
        options |= _law(here, size)
        if "recode" in here:
            by = here["recode"].items() if joint else [here["recode"]]
            if len(by) != len(columns):
                raise here["recode"].refuse("be a list for each column", f"{len(by)}")
            recode = dict(zip(columns, map(_pairs, by), strict=True))
            options["recode"] = recode if joint else recode[columns[0]]
        if joint:
            return Joint(columns, axes, impossible=impossible, **options)
        found = Categorical(columns[0], axes[0], **options)
        padding = found.matrices[0].padding
        if "padding" in here and here["padding"].whole(0, 2**53) != padding:
            must = f"be {padding}, as the matrix has codes that are never true"
            raise here["padding"].refuse(must, str(here["padding"].value))
        return found


def _law(here: Here, size: int) -> Fields:
    return _given(here, {
        "unit": Here.text,
        "matrix": lambda law: _matrix(law, size),
        "groups": lambda laws: _groups(laws, size),
    })  # fmt: skip


def _groups(here: Here, size: int) -> tuple[str, dict[Label, Matrix]]:
    here.keys(("column", "matrices"))
    chosen = {}
    for item in here["matrices"].items():
        item.keys(("value", "matrix"))
        [value] = _labels(Here([item["value"].value], item["value"].path))
        if value in chosen:
            raise item["value"].refuse("be another for each matrix", "one twice")
        chosen[value] = _matrix(item["matrix"], size)
    return here["column"].text(), chosen


def _read_numeric(here: Here) -> Numeric:
    readers: dict[str, Callable[[Here], Any]] = {
        "order": lambda order: None if order.text() == "none" else order.text(), "how": Here.text,
        "within": _brk, "min_group": _brk, "missing": _missing, "bottom": _brk, "top": _brk,
    }  # fmt: skip
    here.keys(("kind", "column"), ("family", "requested", "matrix", *readers))
    column = here["column"].text()
    with about([column]):
        options = _given(here, readers)
        law = _matrix(here["matrix"], None) if "matrix" in here else None
        if "family" not in here:
            return Numeric(column, matrix=law, **options)
        requested = _by_name(here["requested"], _number) if "requested" in here else {}
        family: Any = here["family"].text()
        found = Numeric(column, family, **options, **requested)
        return found if law is None else bound_to(found, law)


_READERS: dict[str, Callable[[Here], Attribute]] = {
    "categorical": _read_coded, "joint": _read_coded, "binned": _read_binned,
    "numeric": _read_numeric,
}  # fmt: skip


def read_attribute(item: Here) -> Attribute:
    """Read an attribute from plain data."""
    if not isinstance(item.value, dict) or "kind" not in item.value:
        raise item.refuse("be a table with a kind", item.kind)
    kind = item["kind"].text()
    if kind not in _READERS:
        raise item["kind"].refuse(f"be one of {', '.join(_READERS)}", f"`{shown(kind)}`")
    return _READERS[kind](item)


def from_data(kind: type[P], data: Any, path: str = "") -> P:
    """Read a plan from plain data at this path of a file."""
    if isinstance(data, dict) and data.get("undecided"):
        # In TOML, an empty list of attributes could not be extended, so it is left out.
        data = {"attributes": [], **data}
    here = Here(data, path)
    here.keys(("version", "attributes"), tuple(_OPTIONS))
    version = here["version"]
    if type(version.value) is not int or version.value != VERSION:
        raise version.refuse(f"be {VERSION}, the version this package reads")
    attributes = [read_attribute(item) for item in here["attributes"].items()]
    return kind(attributes, **_given(here, _OPTIONS))


def _by_name(here: Here, read: Callable[[Here], Any]) -> Fields:
    here.table()
    return {name: read(here[name]) for name in here.value}


# The arguments of a plan, in the order in which they are read.
_OPTIONS: dict[str, Callable[[Here], Any]] = {
    "name": Here.text,
    "keep": lambda here: "*" if here.value == "*" else here.texts(),
    "drop": Here.texts,
    **dict.fromkeys(LATER, Here.texts),
    "units": Here.texts,
    "requirement": lambda here: _by_name(here, _number),
    "column_labels": lambda here: _by_name(here, Here.text),
    "value_labels": lambda here: _by_name(here, lambda labels: _pairs(labels, "label")),
    "id_type": Here.text,
}


@_deep()
def from_json(kind: type[P], text: str) -> P:
    """Read a plan from JSON."""
    if isinstance(text, str):
        _refuse_path(text, ".json")
    return from_data(kind, parsed(text))


def _refuse_path(text: str, ending: str) -> None:
    """Raise an error for a path in place of the contents of a file."""
    if text.lower().endswith(ending) and "\n" not in text and "=" not in text:
        must = "be the text of a plan"
        raise Refused("text", must, "a path: pathlib.Path(path).read_text() reads it")


# TOML.


@_deep()
def from_toml(kind: type[P], text: str) -> P:
    """Read a plan from TOML."""
    import tomllib

    checks.of_type("text", "be a string", text, str)
    _refuse_path(text, ".toml")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+), column (\d+)", str(error))
        where = f" in line {found[1]}, column {found[2]}" if found else ""
        raise Refused("text", "be TOML", f"something else{where}") from None
    return from_data(kind, data)


# The comment below the columns that are undecided.
_CHOICES = """\
# The columns in `undecided` hold numbers, and nothing says what these are. They may be ids, weights
# or codes. The plan protects nothing until each is deleted there, and is named in `keep` or `drop`
# or is in an entry of its own. Numbers, permuted between records of similar rank:
#   [[attributes]]
#   kind = "numeric"
#   column = "COLUMN"
#   family = "k_anonymous"
#   requested = {beta = BETA}
# Codes (kind = "binned" with `breaks` in place of `categories` makes classes of numbers):
#   [[attributes]]
#   kind = "categorical"
#   column = "COLUMN"
#   categories = [1, 2, 3]
#   matrix = {family = "randomized_response", requested = {epsilon = 1}}"""


def to_toml(plan: Plan) -> str:
    """Write a plan as TOML."""
    data = plain(plan)
    attributes = data.pop("attributes")
    lines = [f"{name} = {_toml(value)}" for name, value in data.items()]
    if plan.undecided:
        lines += ["", *_CHOICES.splitlines()]
    for attribute in attributes:
        lines += ["", "[[attributes]]"]
        lines += [f"{name} = {_toml(value)}" for name, value in attribute.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # TOML's basic strings are JSON's, except that DEL has to be escaped. So are characters
        # that cannot be printed, because the text may go to a terminal.
        return "".join(
            c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
            for c in json.dumps(value, ensure_ascii=False)
        )
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    names = [n if re.fullmatch(r"[A-Za-z0-9_-]+", n) else _toml(n) for n in value]
    pairs = (f"{n} = {_toml(item)}" for n, item in zip(names, value.values(), strict=True))
    return f"{{{', '.join(pairs)}}}"
