"""The facts of certificates about ids and units, and certificates from JSON: facts are read, what
follows from them is compared, sentences are not.

``docs/reference/compatibility.md`` has the rules.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

from bistochastic.errors import Refused, RefusedType
from bistochastic.measures import Displacement
from bistochastic_survey.json_fields import Fields, Here, parsed
from bistochastic_survey.plan import plan_json
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.central import Central, obstacle
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.wording import Shown, quoted, shown, visible

if TYPE_CHECKING:
    from bistochastic_survey.release.certificate import Certificate

Reader = Callable[[Here], "list[Unit] | list[str]"]
C = TypeVar("C", bound="Certificate")


VERSION = 1
# Integers up to here are the same for every reader of JSON.
MOST = 2**53
_SLACK = 1e-12
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}|insecure")
_KINDS = {"whole numbers", "texts", "bytes", "none"}
# Made again when a certificate is shown.
_SENTENCES = {"published_unchanged", "notes", "warnings", "epsilon_is_infinite_because"}
# Privacy that is claimed, and privacy that is lost.
_AT_MOST = {"beta", "min_beta", "bits", "worst_row_beta", "worst_column_beta"}
_AT_LEAST = {"epsilon", "max_leakage_bits"}
# Not known of matrices that are too large to be looked at, by the version that wrote them.
_MAY_LACK = {"worst_row_beta", "worst_column_beta", "max_leakage_bits"}


@dataclass(frozen=True, repr=False)
class ByIds(Shown):
    """The facts of a certificate about ids.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> release = plan.protect({"sex": ["F", "M"], "person": [7, 8]},
    ...                        ids=sv.Wave("person", after="first"), key=bs.Key.generate())
    >>> release.certificate.ids.kind, release.certificate.ids.rows_per_id_checked
    ('whole numbers', 1)
    """

    id_column: str
    kind: str
    kept: bool
    pseudonym: str | None
    max_rows_per_id: int
    rows_per_id_checked: int | None
    """More rows of an id would have been found; None if this was not checked."""
    after: str
    redrawn: tuple[str, ...]
    carried: tuple[Categorical | Joint, ...]
    """Attributes of earlier waves that this one lacks: a later one may bring them back."""
    row_columns: tuple[str, ...] = ()
    """The columns that identify rows, if the release has no id column."""
    redrawn_before: tuple[str, ...] = ()
    """The reasons why people were re-randomized in all waves before this one, the oldest first."""

    @property
    def _line(self) -> str:
        """How rows are addressed, in one line."""
        if self.row_columns:
            return f"by {quoted(self.row_columns)}, {self.kind}"
        wave = "the first wave" if self.after == "first" else f"after {self.after[:16]}"
        return f"by id `{shown(self.id_column)}`, {self.kind}, {wave}"

    def __repr__(self) -> str:
        redrawn = map(visible, (*self.redrawn_before, *self.redrawn))
        return f"<ByIds: rows {self._line}{''.join(f'; re-randomized: {x}' for x in redrawn)}>"


@dataclass(frozen=True, repr=False)
class Unit(Shown):
    """The facts of a certificate about the units of one column.

    >>> roof = sv.Categorical("roof", ["tin", "clay"], "randomized_response", beta=0.6, unit="home")
    >>> plan = sv.Plan([roof], drop=["home"])
    >>> release = plan.protect({"roof": ["tin", "tin"], "home": [7, 7]}, count_units=True)
    >>> release.certificate.units
    (<Unit `home`: whole numbers, 1 unit>,)
    """

    column: str
    kind: str
    """The types of the ids of the units."""
    checked: bool
    """Whether all records of every unit were compared; an engine compares those of a batch."""
    pseudonym: str | None = None
    """The column that holds a keyed hash of the unit."""
    count: int | None = None
    """The number of units, if it was requested."""

    @property
    def _line(self) -> str:
        many = "" if self.count is None else f", {self.count:,} unit{'s' * (self.count != 1)}"
        hashed = "" if self.pseudonym is None else f", replaced by `{shown(self.pseudonym)}`"
        return f"{self.kind}{many}{hashed}{', compared in batches' * (not self.checked)}"

    def __repr__(self) -> str:
        return f"<Unit `{shown(self.column)}`: {self._line}>"


def drawn_by(plan: Plan) -> tuple[str, ...]:
    """List the columns that attributes are drawn by, each once."""
    return tuple(dict.fromkeys(a.unit for a in plan._coded if a.unit is not None))


def _digests(here: Here) -> dict[str, str]:
    here.table()
    for name in here.value:
        if not name or "/" in name:
            raise here[name].refuse("be named by the base name of a file", "a name without one")
        if not _DIGEST.fullmatch(here[name].text()):
            raise here[name].refuse("be 64 hexadecimal digits", "a string of another form")
    return dict(here.value)


def _units(here: Here) -> list[Unit]:
    found = []
    for item in here.items():
        item.keys(tuple(field.name for field in fields(Unit)))
        kind, count = item["kind"].text(), item["count"]
        if not set(kind.split(" and ")) <= _KINDS:
            raise item["kind"].refuse(f"be made of {', '.join(sorted(_KINDS))}", _short(kind))
        many = None if count.value is None else count.whole(0, MOST)
        name, pseudonym = _name(item["column"]), _optional(item["pseudonym"])
        found.append(Unit(name, kind, item["checked"].flag(), pseudonym, many))
    return found


# Fields that came after format 1, in the order in which they are written, last and only if set.
# Each has a field of the same name in the class.
LATER: dict[str, Reader] = {"declared_categories": Here.texts, "units": _units}
# Behind them, and not in the digest.
BESIDE = ("central", "files")
LATER_IDS: dict[str, Reader] = {"redrawn_before": Here.texts}


def later(thing: object, names: dict[str, Reader]) -> Fields:
    """Return the fields that later versions added, if they are set, as plain data."""
    found = {name: getattr(thing, name) for name in names if getattr(thing, name)}
    return {n: [asdict(x) if isinstance(x, Unit) else x for x in v] for n, v in found.items()}


def _read_later(here: Here, names: dict[str, Reader]) -> Fields:
    return {name: tuple(read(here[name])) for name, read in names.items() if name in here}


def from_json(cls: type[C], given: str) -> C:
    """Read the certificate of a string."""
    data = parsed(given)
    must = "be a certificate that this package wrote"
    if not isinstance(data, dict) or "certificate_version" not in data:
        got = "no `certificate_version`" if isinstance(data, dict) else type(data).__name__
        raise Refused("text", must, got)
    version = data["certificate_version"]
    if type(version) is not int or version != VERSION:
        raise Refused("text", f"{must}, of version {VERSION}", f"version {_short(version)}")
    try:
        found = _certificate(cls, Here(data, ""))
        kept = plan_json.to_text({name: data[name] for name in data if name not in BESIDE})
        for text in (kept, *(found.files or ())):
            text.encode()
    except UnicodeEncodeError:
        raise Refused("text", "be Unicode", "half of a surrogate pair") from None
    except RecursionError:
        raise Refused("text", "be nested less deeply", "too many levels") from None
    except RefusedType as error:
        raise Refused(error.name, error.must, error.got, column=error.column) from None
    return replace(found, _source=(found, kept))


def _certificate(cls: type[C], here: Here) -> C:
    plan = plan_json.from_data(Plan, here["plan"].value, "plan")
    key = here["key"]
    key.keys(("stored", "fingerprint"))
    has_key, fingerprint = key["stored"].flag(), key["fingerprint"].value
    if not has_key and fingerprint is not None:
        raise key["fingerprint"].refuse("be null without a stored key", _short(fingerprint))
    if has_key and not _FINGERPRINT.fullmatch(key["fingerprint"].text()):
        raise key["fingerprint"].refuse("be the fingerprint of a key", _short(fingerprint))
    package = here["package"].text()
    if not package.removeprefix("bistochastic ") or not package.startswith("bistochastic "):
        raise here["package"].refuse("be bistochastic and a version", _short(package))
    ids = None if here["ids"].value is None else _ids(here["ids"], plan)
    if ids is not None and not has_key:
        raise here["ids"].refuse("be null without a stored key", "ids")
    found = cls(
        plan=plan,
        records=here["records"].whole(0, MOST),
        release_name=_optional(here["release_name"]),
        key_stored=has_key,
        key_fingerprint=fingerprint,
        unprotected_columns=_read_unprotected(here["unprotected_columns"], plan, ids),
        shuffled=here["shuffled"].flag(),
        ids=ids,
        package=package.removeprefix("bistochastic "),
        engine=_optional(here["engine"]),
        files=_digests(here["files"]) if "files" in here else None,
        **_read_later(here, LATER),
    )
    if "central" in here:
        found = replace(found, _central=_read_central(here["central"], found))
    for number in plan._numeric:
        size = None if number.matrix is None else number.matrix.size
        if size != found.records:
            among = "no number" if size is None else str(size)
            raise here["records"].refuse(
                f"be {among}, as the plan was made for", f"{found.records}"
            )
    if not set(found.declared_categories) <= set(found.unprotected_columns):
        must, got = "name columns that the plan keeps", "one of another name"
        raise here["declared_categories"].refuse(must, got)
    listed = [unit.column for unit in found.units]
    carried = [] if ids is None else [a.unit for a in ids.carried]
    known = {*(plan.units or ()), *carried}
    if len(set(listed)) < len(listed) or not set(drawn_by(plan)) <= set(listed) <= known:
        raise Refused("units", "name the units of the plan, each once", quoted(listed) or "none")
    # How far values move takes long for some matrices, and is not compared.
    given = found._data(moves=False)
    # The plan is the same if its digest is, under whatever names it was written.
    read_already = {"plan", "ids", "key", *LATER}
    here.keys(tuple(name for name in given if name not in LATER), (*LATER, *BESIDE))
    for name in given:
        if name not in read_already:
            _compare(here[name], name, given[name])
    return found


def _read_unprotected(here: Here, plan: Plan, ids: ByIds | None) -> tuple[str, ...]:
    columns = [_name(item) for item in here.items()]
    if len(set(columns)) < len(columns):
        raise here.refuse("name each column once", "one twice")
    if plan.keep != "*":
        wrong = set(plan.keep).symmetric_difference(columns)
    else:
        own = {*plan._protected, *plan.drop, "" if ids is None else ids.id_column}
        wrong = own.intersection(columns)
        # A column that groups are read from is in every table.
        groups = {a.groups.column for a in plan.attributes if a.groups is not None}
        wrong |= groups - own - set(columns)
    if wrong:
        raise here.refuse("hold what the plan keeps", f"a difference in `{shown(min(wrong))}`")
    return tuple(columns)


def _read_central(here: Here, found: Certificate) -> Central:
    """Read a central epsilon; it is not computed again, as that takes seconds."""
    here.keys(Central._fields)
    if why := obstacle(found.plan, found.records, **found._shuffling):
        raise here.refuse("not be given", why)
    delta, epsilon = _measure(here["delta"]), _measure(here["epsilon"])
    if not 0 < delta * found.records < 1:
        raise here["delta"].refuse("be above 0 and below 1 / records", repr(delta))
    if not epsilon <= found.epsilon * (1 + _SLACK):
        raise here["epsilon"].refuse("be at most that of one record", repr(epsilon))
    low = None if here["at_least"].value is None else _measure(here["at_least"])
    if low is not None and not low <= epsilon:
        raise here["at_least"].refuse("be at most epsilon", repr(low))
    return Central(delta, epsilon, low)


def _ids(here: Here, plan: Plan) -> ByIds:
    names = tuple(field.name for field in fields(ByIds))
    here.keys(tuple(name for name in names if name not in LATER_IDS), tuple(LATER_IDS))
    rows = tuple(_name(item) for item in here["row_columns"].items())
    column = here["id_column"].text()
    if bool(column) == bool(rows):
        raise here["id_column"].refuse("be named unless there are row_columns", _short(column))
    kind = here["kind"].text()
    if not set(re.split(r" and |, ", kind)) <= _KINDS:
        raise here["kind"].refuse(f"be made of {', '.join(sorted(_KINDS))}", _short(kind))
    kept = plan.keep != "*" and column in plan.keep
    _compare(here["kept"], "kept", kept)
    after = here["after"].text()
    if after != "first" and not _DIGEST.fullmatch(after):
        raise here["after"].refuse("be first or a digest", _short(after))
    checked = here["rows_per_id_checked"]
    carried = []
    for item in here["carried"].items():
        attribute = plan_json.read_attribute(item)
        if attribute.whole_column:
            raise item.refuse("be categorical or joint", "numeric")
        carried.append(attribute)
    return ByIds(
        id_column=column,
        kind=kind,
        kept=kept,
        pseudonym=_optional(here["pseudonym"]),
        max_rows_per_id=here["max_rows_per_id"].whole(1, MOST),
        rows_per_id_checked=None if checked.value is None else checked.whole(0, MOST),
        after=after,
        redrawn=tuple(here["redrawn"].texts()),
        carried=tuple(carried),
        row_columns=rows,
        **_read_later(here, LATER_IDS),
    )


def _name(here: Here) -> str:
    if not here.text():
        raise here.refuse("not be empty", "''")
    return here.text()


def _optional(here: Here) -> str | None:
    return None if here.value is None else _name(here)


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return type(value).__name__
    text = shown(value)
    return text if len(text) <= 64 else f"a string of {len(text)} characters"


def _compare(here: Here, name: str, given: object) -> None:
    """Raise an error for what does not follow from the facts of the certificate."""
    if name in _SENTENCES:
        here.texts()
    elif name == "reason":
        _ = here.value is None or here.text()
    elif name == "displacement":
        if here.value is not None:
            here.keys(tuple(field.name for field in fields(Displacement)))
            _ = [_measure(here[below]) for below, x in here.value.items() if x is not None]
    elif isinstance(given, dict):
        here.keys(tuple(given))
        for below, value in given.items():
            _compare(here[below], below, value)
    elif isinstance(given, list):
        items = here.items()
        if len(items) != len(given):
            raise here.refuse(f"hold {len(given)}, as the plan gives", str(len(items)))
        for item, value in zip(items, given, strict=True):
            _compare(item, "", value)
    elif given is not None and name in _AT_MOST | _AT_LEAST | {"max_bits"}:
        if here.value is not None or name not in _MAY_LACK:
            _compare_bound(here, name, _measure(Here(given, here.path)))
    elif type(here.value) is not type(given) or plan_json.current(name, here.value) != given:
        must = f"be {_short(given)}, as the plan and the options give"
        raise here.refuse(must, _short(here.value))


def _compare_bound(here: Here, name: str, given: float) -> None:
    value = _measure(here)
    if name in _AT_MOST and not value <= given + _SLACK:
        raise here.refuse(f"be at most {given!r}, as the plan gives", repr(value))
    if name in _AT_LEAST and not value >= given * (1 - _SLACK):
        raise here.refuse(f"be at least {given!r}, as the plan gives", repr(value))
    if name == "max_bits" and not abs(value - given) <= _SLACK * given:
        raise here.refuse(f"be {given!r}, as the plan gives", repr(value))


def _measure(here: Here) -> float:
    """Read a number that is not negative; infinity is a string."""
    value = math.inf if here.value == "inf" else here.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise here.refuse("be a number", here.kind)
    if not 0 <= value <= sys.float_info.max and here.value != "inf":
        raise here.refuse("be a number from 0 on", _short(value))
    return float(value)
