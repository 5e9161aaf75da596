"""Which row of the original each released row is of.

Rows are matched by their order, by an id, by a pseudonym, or, if they were shuffled, by unprotected
columns that together are unique. The match is never stored.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic import backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.labels import key as key_of
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.release import Release
from bistochastic_survey.release.waves import RowIds, read_ids
from bistochastic_survey.table.frames import Table, opened

Places = NDArray[np.intp]
Listed = list[str] | backend.Ids

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Both tables. Released row ``i`` is of row ``places[i]`` of the original; None: of row i."""

    original: Table
    released: Table
    places: Places | None
    how: str
    people: Places | None
    """The number of the person that each released row is of, if ids say so."""
    id_column: str | None
    pseudonym: str | None
    memoised: bool = False
    """Whether one person with one value always has the same reported value."""
    key_used: str | None = None
    """The fingerprint of the key."""
    published: tuple[str, ...] = ()
    """The columns of the release, which a trial in its place may not have."""

    def moved(self, values: NDArray[T]) -> NDArray[T]:
        """Something of the original's rows, in the order of the release."""
        return values if self.places is None else values[self.places]


def pair_rows(
    original: object,
    release: Release[Any],
    *,
    id_column: object,
    pseudonym: object,
    key: object,
    shuffled: object,
) -> Pairs:
    """Both tables, row by row; an error if nothing matches the rows."""
    if isinstance(original, Release):
        must = "be the table before it was protected"
        raise RefusedType("original", must, "a Release: are the two swapped?")
    plan, certificate = release.plan, release._certificate
    if shuffled is not None:
        shuffled = checks.flag("shuffled", shuffled)
    if key is not None:
        key = backend.read_key(key, allow_insecure=True)
    before, after = open_table("original", original), open_table("release", release.data)
    name = None if id_column is None else named("id_column", id_column)
    hashed = None if pseudonym is None else named("pseudonym", pseudonym)
    mixed, memoised, used = False, False, None
    if certificate is not None:
        mixed = certificate.shuffled or certificate.engine is not None
        memoised, used = certificate.ids is not None, certificate.key_fingerprint
        if certificate.ids is not None and not certificate.ids.row_columns:
            name = name or certificate.ids.id_column
            hashed = hashed or certificate.ids.pseudonym
    mixed = mixed if shuffled is None else shuffled
    if before.rows != after.rows:
        must = "have as many rows as `original`"
        raise Refused("release", must, f"{after.rows}, where there are {before.rows}")
    if not before.rows:
        raise Refused("original", "have at least one row", "none")
    for given, at in ((name, before), (hashed, after)):
        if given is not None and given not in at.names:
            where = "`original`" if at is before else "`release`"
            raise Refused("", f"be in {where}", "none of that name", column=given)
    pairs = Pairs(
        before, after, None, "order", None, name, hashed, memoised, used, tuple(after.names)
    )
    if name is None:
        return _by_columns(pairs, plan) if mixed else pairs
    own = read_ids(before, name, 0)
    if name in after.names:
        return _by_ids(pairs, own, name, "id", mixed)
    if hashed is not None and key is not None:
        held = RowIds(backend.Ids([]), backend.pseudonyms(own, key, plan=plan.name)).pseudonyms()
        return _by_ids(pairs, held, hashed, "pseudonym", mixed)
    if mixed and hashed is not None:
        raise Refused("key", "be given to read the pseudonyms, as the rows were shuffled", "none")
    pairs = replace(pairs, people=number([own])[0])
    return _by_columns(pairs, plan) if mixed else pairs


def number(every: Iterable[Listed]) -> list[Places]:
    """Give the same number to the same id in all lists of ids."""
    known: dict[object, int] = {}
    return [np.array([known.setdefault(each, len(known))
                      for each in (ids if isinstance(ids, list) else ids.tolist())], np.intp)
            for ids in every]  # fmt: skip


def same_people(every: list[Pairs]) -> list[Places]:
    """The number of the person of each released row, the same for one person in all releases."""
    found = number(read_ids(pairs.original, str(pairs.id_column), 0) for pairs in every)
    return [pairs.moved(codes) for pairs, codes in zip(every, found, strict=True)]


def _by_columns(pairs: Pairs, plan: Plan) -> Pairs:
    """Match shuffled rows by their unprotected columns, if all rows differ in these."""
    before, after = pairs.original, pairs.released
    both = np.zeros((2, before.rows), np.int64)
    known = plan._protected
    for name in after.names:
        if name in known or name == pairs.pseudonym or name not in before.names:
            continue
        own, theirs, values = same_codes(before, after, name)
        if not np.array_equal(np.sort(own), np.sort(theirs)):
            must = "hold the same values in `original` and `release`, as it is unprotected"
            raise Refused("", must, "values of a different file", column=name)
        joined = both * len(values) + np.stack([own, theirs])
        both = np.unique(joined, return_inverse=True)[1].reshape(both.shape)
    own, theirs = both
    places = _match(own, theirs)
    if places is None:
        must = "hold the unprotected columns of `original`, in any order of rows"
        raise Refused("release", must, "other combinations of values: is it of a different file?")
    if len(np.unique(own)) < before.rows:
        return replace(pairs, how="nothing")
    people = None if pairs.people is None else pairs.people[places]
    return replace(pairs, places=places, how="columns", people=people)


def open_table(name: str, frame: object) -> Table:
    """Read a table that an argument of this name holds."""
    try:
        return opened(frame, any_index=True)
    except (Refused, RefusedType) as error:
        # There may be two tables here.
        error.name = name if error.name == "frame" else error.name
        raise


def list_names(name: str, given: object) -> list[str]:
    """Read a list of columns."""
    if isinstance(given, str):
        raise RefusedType(name, "be a list of columns", "str")
    listed = checks.items(name, "be a list of columns", given, unordered=True)
    return [named(name, each) for each in listed]


def _by_ids(pairs: Pairs, ids: Listed, column: str, how: str, mixed: bool) -> Pairs:
    """For each released row the row of the original; several rows of an id in their order."""
    own, theirs = number([ids, read_ids(pairs.released, column, 0)])
    people, known = int(own.max()) + 1, int(theirs.max()) + 1
    if known > people:
        row = int(np.argmax(theirs >= people))
        got = f"{known - people} others in the release, the first in row {row}"
        raise Refused("", "hold the same ids in both tables", got, column=column)
    places, counts = _match(own, theirs), np.bincount(own)
    if places is None:
        must = "have as many rows per id in both tables"
        count = int((counts != np.bincount(theirs, minlength=people)).sum())
        raise Refused("", must, f"{count} id{'s' * (count > 1)} with more or fewer", column=column)
    if mixed and int(counts.max()) > 1:
        several = int((counts > 1).sum())
        got = f"{several} id{'s' * (several > 1)} with several rows"
        raise Refused("", "tell rows apart, as they were shuffled", got, column=column)
    return replace(pairs, places=places, how=how, people=theirs)


def _match(own: Places, theirs: Places) -> Places | None:
    """Find a row with the same code for each of theirs, equal ones in their order, if all have."""
    order, other = np.argsort(own, kind="stable"), np.argsort(theirs, kind="stable")
    if not np.array_equal(own[order], theirs[other]):
        return None
    places = np.empty(len(own), np.intp)
    places[other] = order
    return places


def same_codes(one: Table, other: Table, name: str) -> tuple[Places, Places, list[object]]:
    """Codes of a column of two tables, and the value of each; -1 for what the first has not."""
    codes, values = one.levels(name)
    now, others = other.levels(name)
    if others != values:
        place = {key_of(value): i for i, value in enumerate(values)}
        now = np.array([place.get(key_of(value), -1) for value in others], dtype=np.intp)[now]
    return codes, now, values
