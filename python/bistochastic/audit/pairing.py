"""Which row of the original each released row is of.

Rows are matched by their order, by an id, by a pseudonym, or, if they were shuffled, by unprotected
columns that together are unique. The match is never stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.adapters.results import opened
from bistochastic.audit.evidence import same_codes
from bistochastic.plan.attributes import named, prefix
from bistochastic.plan.carried import certificate_of
from bistochastic.plan.protect import Release
from bistochastic.plan.waves import Ids, read_ids
from bistochastic.sources import key_of
from bistochastic.words import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Table
    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.plan import Plan

    Places = NDArray[np.intp]


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

    def moved(self, values: Any) -> Any:
        """Something of the original's rows, in the order of the release."""
        return values if self.places is None or values is None else values[self.places]

    @property
    def shows_people(self) -> bool:
        """Whether a reader of the release sees which rows are of one person."""
        names = self.released.names
        return self.id_column in names or self.pseudonym in names


def pair_rows(
    original: object,
    released: object,
    plan: Plan,
    *,
    id_column: object,
    pseudonym: object,
    key: object,
    shuffled: object,
) -> Pairs:
    """Both tables, row by row; an error if nothing matches the rows."""
    if isinstance(original, Release):
        must = "`original` must be the table before it was protected"
        raise TypeError(f"{must}; got a Release: are the two swapped?")
    certificate = certificate_of(released, plan)
    released = released.data if isinstance(released, Release) else released
    if shuffled is not None:
        shuffled = _core.as_flag("shuffled", shuffled)
    if key is not None:
        key = key_of(key)
    before, after = _open("original", original), _open("released", released)
    _check_order(before, after, plan)
    name = None if id_column is None else named("id_column", id_column)
    hashed = None if pseudonym is None else named("pseudonym", pseudonym)
    if certificate is not None and certificate.ids is not None and not certificate.ids.row_columns:
        name = name or certificate.ids.id_column
        hashed = hashed or certificate.ids.pseudonym
    if before.rows != after.rows:
        must = "`released` must have as many rows as `original`"
        raise ValueError(f"{must}; got {after.rows}, where there are {before.rows}")
    if not before.rows:
        raise ValueError("`original` must have at least one row; got none")
    for column, at in ((name, before), (hashed, after)):
        if column is not None and column not in at.names:
            where = "`original`" if at is before else "`released`"
            raise ValueError(f"{prefix([column])}must be in {where}; got none of that name")
    mixed = _is_shuffled(certificate) if shuffled is None else shuffled
    memoised = certificate is not None and certificate.ids is not None
    used = None if certificate is None else certificate.key_fingerprint
    if name is not None and name in after.names:
        own, theirs = _codes(read_ids(before, name, 0), read_ids(after, name, 0), name)
        places = _places(own, theirs, name, mixed)
        return Pairs(before, after, places, "id", theirs, name, hashed, memoised, used)
    if name is not None and hashed is not None and key is not None:
        texts = Ids([], _core.plan_pseudonyms(key, plan.name, read_ids(before, name, 0)))
        found = read_ids(after, hashed, 0)
        own, theirs = _codes(texts.pseudonyms(), found, hashed)
        places = _places(own, theirs, hashed, mixed)
        return Pairs(before, after, places, "pseudonym", theirs, name, hashed, memoised, used)
    people = None
    if name is not None:
        people = _codes(read_ids(before, name, 0), [], name)[0]
    if mixed and hashed is not None and name is not None and hashed in after.names:
        must = "`key` must be given to read the pseudonyms, as the rows were shuffled"
        raise ValueError(f"{must}; got none")
    if mixed:
        return _by_columns(
            Pairs(before, after, None, "nothing", people, name, hashed, memoised, used), plan
        )
    return Pairs(before, after, None, "order", people, name, hashed, memoised, used)


def same_people(every: list[Pairs]) -> list[Places]:
    """The number of the person of each released row, the same for one person in all releases."""
    known: dict[object, int] = {}
    found = []
    for pairs in every:
        ids = read_ids(pairs.original, str(pairs.id_column), 0)
        plain = ids if isinstance(ids, list) else np.asarray(ids).tolist()
        codes = np.array([known.setdefault(each, len(known)) for each in plain], np.intp)
        found.append(pairs.moved(codes))
    return found


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
            must = "must hold the same values in `original` and `released`, as it is unprotected"
            raise ValueError(f"{prefix([name])}{must}; got values of a different file")
        joined = both * len(values) + np.stack([own, theirs])
        both = np.unique(joined, return_inverse=True)[1].reshape(both.shape)
    own, theirs = both
    order, other = np.argsort(own, kind="stable"), np.argsort(theirs, kind="stable")
    if not np.array_equal(own[order], theirs[other]):
        must = "`released` must hold the unprotected columns of `original`, in any order of rows"
        raise ValueError(f"{must}; got other combinations of values: is it of a different file?")
    if len(np.unique(own)) < before.rows:
        return pairs
    places = np.empty(before.rows, np.intp)
    places[other] = order
    people = None if pairs.people is None else pairs.people[places]
    return replace(pairs, places=places, how="columns", people=people)


def _is_shuffled(certificate: Certificate | None) -> bool:
    """Whether rows may be in another order, as far as the certificate says."""
    return certificate is not None and (certificate.shuffled or certificate.engine is not None)


def _check_order(before: Table, after: Table, plan: Plan) -> None:
    """What a plan leaves out cannot be in the release alone."""
    for column in plan.drop:
        if column in after.names and column not in before.names:
            must = f"`original` must have `{shown(column)}`, which the plan leaves out"
            raise ValueError(f"{must}; got it in `released` alone: are the two swapped?")


def _open(name: str, frame: object) -> Table:
    try:
        return opened(frame)
    except (TypeError, ValueError) as error:
        # The sentence is about `frame`, and here there are two.
        error.args = (str(error).replace("`frame`", f"`{name}`", 1),)
        raise


def _codes(own: object, theirs: object, column: str) -> tuple[Places, Places]:
    """Numbers in the place of ids, the same for the same id."""
    known: dict[object, int] = {}

    def numbered(values: Any) -> Places:
        plain = values if isinstance(values, list) else values.tolist()
        found = [known.setdefault(value, len(known)) for value in plain]
        return np.array(found, dtype=np.intp)

    first = numbered(own)
    people = len(known)
    second = numbered(theirs)
    if len(known) > people:
        row = int(np.argmax(second >= people))
        must = "must hold the same ids in both tables"
        got = f"{len(known) - people} others in the release, the first in row {row}"
        raise ValueError(f"{prefix([column])}{must}; got {got}")
    return first, second


def _places(own: Places, theirs: Places, column: str, mixed: bool) -> Places:
    """For each released row the row of the original; several rows of an id in their order."""
    order, other = np.argsort(own, kind="stable"), np.argsort(theirs, kind="stable")
    if not np.array_equal(own[order], theirs[other]):
        must = "must have as many rows per id in both tables"
        count = int((np.bincount(own) != np.bincount(theirs, minlength=own.max() + 1)).sum())
        raise ValueError(f"{prefix([column])}{must}; got {count} ids with more or fewer")
    if mixed and int(np.bincount(own).max()) > 1:
        rows = int(np.bincount(np.bincount(own))[2:].sum())
        must = "must tell rows apart, as they were shuffled"
        raise ValueError(f"{prefix([column])}{must}; got {rows} ids with several rows")
    places = np.empty(len(own), np.intp)
    places[other] = order
    return places
