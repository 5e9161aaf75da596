"""``plan.protect``: a table in, a protected table and its certificate out.

By position, the noise of a block of 65,536 rows depends on the key, the labels and on all that the
block holds, so that two files share nothing: ``src/draw/randomize/block.rs`` has it. By ids it
depends on the person and the value, so that every wave says the same of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import _core, families
from bistochastic.adapters.arrays import words
from bistochastic.adapters.frames import opened
from bistochastic.plan import columns as coding
from bistochastic.plan import waves
from bistochastic.plan.attributes import Categorical, Joint, Numeric, about, named, prefix
from bistochastic.plan.certificate import Certificate
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bistochastic.adapters.frames import Codes, Table
    from bistochastic.plan.columns import Encoded
    from bistochastic.plan.plan import Plan

# A file of one row would make its report a fixed function of the value, under a key that is kept.
LEAST_ROWS = 256


@dataclass(frozen=True)
class Release:
    """A protected table, and what can be said of it.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.protect({"sex": ["F", "M", "M"]})
    <Release of 3 records, 1 column: plan `plan`, beta 0.6>
    """

    data: Any
    certificate: Certificate

    def __repr__(self) -> str:
        return f"<Release {self.certificate.line}>"


def protect(
    plan: Plan,
    frame: Any,
    *,
    key: _core.Key | None,
    release: str | None,
    id_column: str | None,
    after: Certificate | Literal["first"] | None,
    redraw: bool,
    pseudonym: str | None,
    fresh: bool,
    shuffle: bool,
    max_rows_per_id: int,
    allow_insecure: bool,
) -> Release:
    """What :meth:`Plan.protect` does."""
    flags = {"redraw": redraw, "fresh": fresh, "shuffle": shuffle, "allow_insecure": allow_insecure}
    flags = {name: _core.as_flag(name, value) for name, value in flags.items()}
    check_key(key, release, id_column, flags["allow_insecure"])
    wave = None
    if id_column is None:
        waves.refuse_without_ids(after, flags["redraw"], pseudonym, flags["fresh"], max_rows_per_id)
    else:
        wave = waves.Wave.of(
            id_column, after, flags["redraw"], pseudonym, flags["fresh"], max_rows_per_id
        )
        wave.check_plan(plan, release)
    table = opened(frame)
    layout = arranged(plan, table.names, wave)
    rows = table.rows
    by_position = wave is None or any(isinstance(a, Numeric) for a in plan.attributes)
    if key is not None and by_position and rows < LEAST_ROWS:
        must = f"`frame` must have at least {LEAST_ROWS} rows by position under a key that is kept"
        raise ValueError(f"{must}; got {rows}: use ids, or key=None")
    numeric = [a for a in plan.attributes if isinstance(a, Numeric)]
    if numeric and not rows:
        must = "must hold at least one record to be permuted among"
        raise ValueError(f"{prefix(numeric[0].columns)}{must}; got none")
    bound = plan.for_records(rows) if numeric else plan
    coded = [a for a in bound.attributes if isinstance(a, Categorical | Joint)]
    encoded = [coding.encode(table, attribute) for attribute in coded]
    values = {a.column: coding.numbers(table, a) for a in numeric}
    ids = None if wave is None or key is None else wave.read(table, plan, key)
    # All has been looked at: from here on nothing is refused for what the table holds.
    new: dict[str, Any] = {}
    if wave is None or ids is None:
        drawn = by_blocks(bound, coded, encoded, key, release)
    else:
        assert key is not None
        drawn = [by_ids(bound, a, e, key, ids.values) for a, e in zip(coded, encoded, strict=True)]
    for attribute, codes, source in zip(coded, drawn, encoded, strict=True):
        new.update(coding.decode(table, attribute, codes, source.missing))
    for each in bound.attributes:
        if isinstance(each, Numeric):
            new[each.column] = _numeric(bound, each, table, values[each.column], key, release)
    if wave is not None and wave.pseudonym is not None and ids is not None:
        new[wave.pseudonym] = table.texts(ids.pseudonyms())
    order = families.uniform(rows).sample_permutation() if flags["shuffle"] and rows else None
    data = table.made({name: new.get(name) for name in layout}, order)
    clear = tuple(n for n in layout if n not in new)
    certificate = Certificate.of(
        bound,
        records=rows,
        release=release,
        key=key,
        columns_in_clear=clear,
        shuffled=flags["shuffle"],
        wave=None if wave is None or ids is None else wave.outcome(plan, key, ids),
    )
    return Release(data, certificate)


def check_key(
    key: object, release: object, id_column: object, allow_insecure: bool
) -> _core.Key | None:
    """What a key asks for, and what asks for a key."""
    if release is not None:
        named("release", release)
    if key is None:
        if id_column is not None:
            raise ValueError("`key` must be given with id_column; got none")
        return None
    if not isinstance(key, _core.Key):
        raise TypeError(f"`key` must be a Key; got {type(key).__name__}")
    if key.fingerprint == "insecure" and not allow_insecure:
        must = "`key` must be a secret, or allow_insecure=True be said"
        raise ValueError(f"{must}; got one that anyone can guess")
    if id_column is None and release is None:
        raise ValueError("`release` must name what a key is used for; got none")
    return key


def arranged(plan: Plan, names: list[str], wave: waves.Wave | None) -> list[str]:
    """The columns of the protected table, in order; every column has to be named by the plan."""
    protected = {column for attribute in plan.attributes for column in attribute.columns}
    own = None if wave is None else wave.id_column
    needed = [column for attribute in plan.attributes for column in attribute.columns]
    needed += plan.keep if plan.keep != "*" else []
    needed += plan.drop
    for attribute in plan.attributes:
        if not isinstance(attribute, Numeric) and attribute.strata is not None:
            needed.append(attribute.strata.column)
    needed += [] if own is None else [own]
    for column in needed:
        if column not in names:
            raise ValueError(f"{prefix([column])}must be in `frame`; got none of that name")
    if own in protected:
        raise ValueError(f"{prefix([own or ''])}must not be protected and an id; got both")
    layout, unknown = [], []
    for name in names:
        if name == own:
            if plan.keep != "*" and name in plan.keep:
                layout.append(name)
            if wave is not None and wave.pseudonym is not None:
                layout.append(wave.pseudonym)
        elif name in protected or (plan.keep == "*" and name not in plan.drop) or name in plan.keep:
            layout.append(name)
        elif name not in plan.drop:
            unknown.append(name)
    if unknown:
        listed = ", ".join(f"`{shown(name)}`" for name in unknown)
        must = "`frame` must hold columns that the plan protects, keeps or drops"
        raise ValueError(f"{must}; got {listed}")
    if len(set(layout)) < len(layout):
        raise ValueError("`pseudonym` must be the name of a new column; got one that there is")
    return layout


def by_blocks(
    plan: Plan,
    attributes: list[Categorical | Joint],
    encoded: list[Encoded],
    key: _core.Key | None,
    release: str | None,
) -> list[Codes]:
    """Reports by position. A key that is drawn here is forgotten."""
    if not attributes:
        return []
    given = [
        (list(a.columns), e.codes, e.missing, e.strata, list(a.matrices))
        for a, e in zip(attributes, encoded, strict=True)
    ]
    held = _core.Key.generate() if key is None else key
    return _core.plan_blocks(held, plan.name, release or "", given, 0, True)


def by_ids(
    plan: Plan, attribute: Categorical | Joint, encoded: Encoded, key: _core.Key, ids: Any
) -> Codes:
    """Reports by ids, those of each stratum by its own law."""
    columns = list(attribute.columns)

    def draw(matrix: Any, codes: Codes, some: Any) -> Any:
        with about(columns):
            return _core.plan_ids(key, plan.name, columns, matrix, codes, some)

    if encoded.strata is None:
        return draw(attribute.matrices[0], encoded.codes, ids)  # type: ignore[no-any-return]
    out = np.empty_like(encoded.codes)
    for stratum, matrix in enumerate(attribute.matrices):
        rows = np.flatnonzero(encoded.strata == stratum)
        some = ids[rows] if isinstance(ids, np.ndarray) else [ids[i] for i in rows.tolist()]
        out[rows] = draw(matrix, encoded.codes[rows], some)
    return out


def _numeric(
    plan: Plan, attribute: Numeric, table: Table, values: Any, key: Any, release: str | None
) -> Any:
    """A numeric column, permuted or averaged under a key that depends on all of it."""
    matrix: Any = attribute.matrix
    options: Mapping[str, Any] = {"order": attribute.order}
    if key is not None:
        kind, all_words = words(values)
        name = attribute.column
        own = _core.plan_column_key(key, plan.name, release or "", name, kind, all_words)
        options = {**options, "key": own, "stream": "plan"}
    with about([attribute.column]):
        if attribute.release == "average":
            found = matrix.average(values, **options)
        else:
            found = matrix.permute(values, **options)
    return table.numbered(attribute.column, np.asarray(found))
