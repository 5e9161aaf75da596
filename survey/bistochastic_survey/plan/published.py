"""Everything that readers of a release know with certainty: published unchanged, as facts.

A reported value ``v`` makes a true value certain if no other has it: column ``v`` of the matrix has
one entry that is not 0. Rows and columns sum to 1, so this entry is 1, and its row is certain, too.
A column of a joint attribute may be certain though the cell is not: if all cells that a reported
value leaves possible agree in that column. A permutation maps every true value to one reported
value, and anyone can undo it.

Facts are about the plan and the options, never about values. Sentences are made from them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bistochastic import Matrix, identity, kron, structure
from bistochastic_survey.plan.labels import Label
from bistochastic_survey.plan.numeric import Attribute, Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.wording import cut, quoted, shown

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Up to this size a matrix without a structure is looked at entry by entry.
_DENSE = 1024
# Up to this size every code is looked at.
_EVERY = 2**20
# The number of records that a numeric column is tried with while none is known.
_TRIED = 1000
# Categories and groups that a sentence names.
_NAMED = 6


@dataclass(frozen=True)
class Fact:
    """One thing that can be read from a release with certainty.

    ``kind`` says what:

    * ``"kept"``: a column that the plan keeps; ``"rest"``: all that it does not name;
    * ``"column"``: a column whose matrix changes nothing; ``"renamed"``: a column that it changes
      in a way that anyone can undo;
    * ``"categories"``: some categories of a column, whenever they are true; ``"sometimes"``: for
      some reported values;
    * ``"missing"``: who is missing; ``"units"``: records that belong to one unit of ``by``;
    * ``"groups"``: the mean of the numbers in every group of ``by``;
    * ``"values"``: the set of all numbers; ``"means"``: the means of classes; ``"places"``: whose
      number it is, in this many of the rows;
    * ``"order"``: the order of the rows;
    * ``"unchecked"``: a matrix that excludes some true values and is too large to be examined.

    ``groups`` are the values of ``by`` that it holds for; empty if it holds for all.
    """

    kind: str
    column: str = ""
    categories: tuple[Label | None, ...] = ()
    by: str = ""
    groups: tuple[Label, ...] = ()
    places: tuple[int, int] = (0, 0)


def facts(
    plan: Plan, *, kept: Sequence[str] | None = None, shuffled: bool = False
) -> tuple[Fact, ...]:
    """List everything that readers of a release by this plan know with certainty.

    ``kept`` are the columns of the release that the plan does not protect, if they are known.
    """
    found: list[Fact] = []
    if kept is None and plan.keep == "*":
        found.append(Fact("rest"))
    else:
        found += [Fact("kept", column) for column in (plan.keep if kept is None else kept)]
    for attribute in plan.attributes:
        found += of_attribute(attribute, shuffled)
    return tuple(found) if shuffled else (*found, Fact("order"))


def of_attribute(attribute: Attribute, shuffled: bool = False) -> list[Fact]:
    """List the facts of one attribute."""
    if attribute.whole_column:
        return _of_numbers(attribute, shuffled)
    units = [Fact("units", c, by=attribute.unit) for c in attribute.columns if attribute.unit]
    return [*_list_coded(attribute), *units]


def certain(attribute: Attribute) -> dict[str, str]:
    """List the columns of an attribute that are ``"column"`` (unchanged) or ``"renamed"``."""
    found = of_attribute(attribute)
    return {fact.column: fact.kind for fact in found if fact.kind in ("column", "renamed")}


def missing_is_seen(attribute: Coded) -> bool:
    """Whether it can be read from a release, always or sometimes, who is missing."""
    told = ("column", "renamed", "missing", "unchecked")
    return any(fact.kind in told or None in fact.categories for fact in _list_coded(attribute))


def unprotected(plan: Plan) -> tuple[str, ...]:
    """List the columns of attributes that are not protected: unchanged, or of beta 0."""
    return tuple(
        column
        for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        for column in attribute.columns
        if each.deterministic or (each.beta == 0 and each.size != 1) or column in certain(attribute)
    )


def protected(plan: Plan) -> tuple[str, ...]:
    """List the columns of attributes that are protected: all others."""
    none = set(unprotected(plan))
    return tuple(c for a in plan.attributes for c in a.columns if c not in none)


def linkable(plan: Plan, where: str) -> list[str]:
    """Say that noise by ids can link rows, in a phrase; none if all rows are reported alike.

    The number of records that can be reported is of the plan: the larger, the fewer rows look the
    same by chance. The place of a number inside its class is drawn for every row, and not counted.
    """
    sizes = [max(m.size for m in a.matrices) + (a.missing == "keep") for a in plan._coded]
    many = math.prod(sizes)
    if many == 1:
        return []
    # A plan of many columns has more than a number of digits that anyone reads.
    said = f"{many:,}" if many < 10**12 else f"more than 10^{math.ceil(math.log10(many)) - 1}"
    return [
        f"which rows may be of one person, {where}: unchanged values have the same reported "
        f"values, and {said} different records can be reported"
    ]


# Columns of numbers.


def _of_numbers(attribute: Numeric, shuffled: bool) -> list[Fact]:
    column = attribute.column
    average = attribute.how == "average"
    seen = Fact("means" if average else "values", column)
    if attribute.grouped:
        by = attribute.within or ""
        missing = [Fact("missing", column)] if attribute.missing == "keep" else []
        return [seen, *[Fact("groups", column, by=by)] * bool(by), *missing]
    tried = attribute.matrix is None
    try:
        matrix = attribute.for_records(_TRIED).matrix if tried else attribute.matrix
    except (ValueError, TypeError, MemoryError):
        return [seen]
    assert matrix is not None
    fixed, size = _count_fixed(matrix), matrix.size
    if fixed is None:
        return [seen, *[Fact("unchecked", column)] * (not tried)]
    many, same = fixed
    unordered = attribute.order is None and shuffled and not tried
    if unordered and not (same or average) and size > 2:
        # Places are positions of the original, which are no longer known.
        many = 0
    if many == size:
        return [Fact("column" if same else "renamed", column)]
    # A fact about some of the rows depends on the number of records.
    return [seen, *[Fact("places", column, places=(many, size))] * (many > 0 and not tried)]


def _count_fixed(matrix: Matrix) -> tuple[int, bool] | None:
    """Count the rows that are certain, and say whether all are and stay; None if unknown."""
    n = matrix.size
    if n <= _EVERY:
        found = targets(matrix)
        if found is None:
            return None
        return int((found >= 0).sum()), bool((found == np.arange(n)).all())
    if math.isfinite(matrix.epsilon):
        return 0, False
    if structure.is_certain(matrix):
        return n, structure.targets(matrix) is None
    classes = structure.classes(matrix)
    if classes is not None:
        return int(classes.many[classes.sizes == 1].sum()), False
    return None


# Columns of categories.


@dataclass(frozen=True)
class _Read:
    """What reported values reveal of one column: the categories that it has (``occurs``), those
    that are certain ``always`` and ``sometimes``, and whether all are reported as the ``same``."""

    occurs: Flags
    always: Flags
    sometimes: Flags
    same: bool

    @property
    def whole(self) -> bool:
        return bool(self.always[self.occurs].all())


def _list_coded(attribute: Coded) -> list[Fact]:
    shape, gone = attribute.shape, attribute.cells
    known = {matrix: _read(matrix, shape, gone) for matrix in dict.fromkeys(attribute.matrices)}
    each = [known[matrix] for matrix in attribute.matrices]
    found: list[Fact] = []
    for place, column in enumerate(attribute.columns):
        found += _of_column(attribute, column, [None if r is None else r[place] for r in each])
    return found


def _of_column(attribute: Coded, column: str, each: list[_Read | None]) -> list[Fact]:
    read = [one for one in each if one is not None]
    if not read or len(read) < len(each):
        seen = [Fact("missing", column)] if attribute.missing == "keep" else []
        return [Fact("unchecked", column), *seen]
    several = int(read[0].occurs.sum()) > 1
    if several and all(one.whole for one in read):
        return [Fact("column" if all(one.same for one in read) else "renamed", column)]
    found = [Fact("missing", column)] if attribute.missing == "keep" else []
    if not several:
        return found
    labels = attribute.axes[attribute.columns.index(column)].values
    names: tuple[Label | None, ...] = (*labels, *[None] * (attribute.missing == "category"))
    by_group = attribute.groups
    groups: Sequence[Label | None] = (None,) if by_group is None else by_group.labels.values
    told: dict[tuple[str, tuple[Label | None, ...]], list[Label | None]] = {}
    for group, one in zip(groups, read, strict=True):
        for kind, flags in (("categories", one.always), ("sometimes", one.sometimes & ~one.always)):
            some = tuple(names[i] for i in np.flatnonzero(flags))
            if kind == "categories" and None in some:
                told.setdefault(("missing", ()), []).append(group)
                some = tuple(name for name in some if name is not None)
            if some:
                told.setdefault((kind, some), []).append(group)
    for (kind, some), where in told.items():
        whole = by_group is None or len(where) == len(groups)
        by = "" if by_group is None or whole else by_group.column
        chosen = () if whole else tuple(group for group in where if group is not None)
        found.append(Fact(kind, column, some, by, chosen))
    return found


def _read(matrix: Matrix, shape: tuple[int, ...], gone: Codes) -> list[_Read] | None:
    """Find what reported values reveal of each column; None if that is not known.

    ``gone`` are the cells that cannot occur; the codes of the matrix are the others, in order.
    """
    hidden = matrix.size == 1 or math.isfinite(matrix.epsilon)
    none = [np.zeros(size, bool) for size in shape]
    if hidden and not len(gone):
        return [_Read(~each, each, each, False) for each in none]
    if len(shape) == 1:
        found = targets(matrix)
        if found is None:
            return None
        certain = found >= 0
        same = bool((found[certain] == np.flatnonzero(certain)).all())
        return [_Read(np.ones(len(found), bool), certain, certain, same)]
    digits: list[tuple[Codes, int]] | None = None
    if matrix.size <= _EVERY:
        cells = np.delete(np.arange(math.prod(shape)), gone)
        digits = list(zip(map(np.asarray, np.unravel_index(cells, shape)), shape, strict=True))
    if hidden:
        occur = none if digits is None else [np.bincount(d, minlength=s) == 0 for d, s in digits]
        return [_Read(~o, each, each, False) for o, each in zip(occur, none, strict=True)]
    if digits is not None and matrix.size <= _DENSE:
        possible = matrix.to_dense() != 0
        return [_by_support(possible, d, s) for d, s in digits]
    apart = _apart(matrix, shape)
    if apart is not None:
        parts = [_read(part, sizes, gone[:0]) for part, sizes in apart]
        known = [part for part in parts if part is not None]
        return list(chain(*known)) if len(known) == len(parts) else None
    classes = structure.classes(matrix)
    if digits is None or classes is None:
        return None
    return [_by_classes(classes.starts(), d, s) for d, s in digits]


def _apart(matrix: Matrix, shape: tuple[int, ...]) -> list[tuple[Matrix, tuple[int, ...]]] | None:
    """Split a product of matrices into independent parts with their columns; None if the matrix is
    not a product, or if its factors and the columns have no common borders."""
    left = list(structure.axes(matrix))
    if len(left) < 2:
        return None
    found: list[tuple[Matrix, tuple[int, ...]]] = []
    sizes: list[int] = []
    held: list[Matrix] = []
    for size in shape:
        sizes.append(size)
        while left and math.prod(m.size for m in held) < math.prod(sizes):
            held.append(left.pop(0))
        if math.prod(m.size for m in held) == math.prod(sizes):
            several = kron(*held) if held else identity(1)
            found.append((held[0] if len(held) == 1 else several, tuple(sizes)))
            sizes, held = [], []
    return found if not sizes and not left and len(found) > 1 else None


def _by_support(possible: Flags, digits: Codes, size: int) -> _Read:
    """Examine one column by the reported values that each true value can have."""
    mine = np.zeros((len(digits), size), bool)
    mine[np.arange(len(digits)), digits] = True
    # For every reported value, the categories that may be behind it.
    behind = np.stack([possible[mine[:, a]].any(axis=0) for a in range(size)], axis=1)
    certain = behind.sum(axis=1) == 1
    sometimes = behind[certain].any(axis=0)
    always = sometimes & ~behind[~certain].any(axis=0)
    same = bool((behind[certain] == mine[certain]).all())
    return _Read(np.asarray(mine.any(axis=0)), always, sometimes, same)


def _by_classes(starts: Codes, digits: Codes, size: int) -> _Read:
    """Do the same, if a reported value reveals the class of the true value and nothing else."""
    low = np.minimum.reduceat(digits, starts)
    certain = low == np.maximum.reduceat(digits, starts)
    lengths = np.diff(np.append(starts, len(digits)))
    told = np.repeat(certain, lengths)
    sometimes = np.bincount(digits[told], minlength=size) > 0
    always = sometimes & (np.bincount(digits[~told], minlength=size) == 0)
    return _Read(np.bincount(digits, minlength=size) > 0, always, sometimes, True)


def targets(matrix: Matrix) -> Codes | None:
    """Find the reported code of each true code if it is certain, else -1; None if unknown.

    Exact for composites of any depth: a product, a mixture and a Kronecker product are certain
    if all of their components are, and the components of a mixture agree.
    """
    return structure.by_parts(matrix, _targets)


def _targets(matrix: Matrix, found: Callable[[Matrix], Codes | None]) -> Codes | None:
    n = matrix.size
    if n == 1:
        return np.zeros(1, np.int64)
    if n > _EVERY:
        return None
    if math.isfinite(matrix.epsilon):
        return np.full(n, -1)
    made = structure.composition(matrix)
    if made is not None:
        wide = structure.wide_factors(made) if isinstance(made, structure.Kron) else made.parts
        parts = [found(part) for part in wide]
        known = [part for part in parts if part is not None]
        if any((part < 0).all() for part in known):
            return np.full(n, -1)
        if len(known) < len(parts):
            return None if n > _DENSE else _entries(matrix)
        return _compose(made, known)
    return _leaf(matrix)


def _compose(made: structure.Composition, parts: list[Codes]) -> Codes:
    whole = parts[0]
    for part in parts[1:]:
        if isinstance(made, structure.Kron):
            both = (whole[:, None] >= 0) & (part[None, :] >= 0)
            whole = np.where(both, whole[:, None] * len(part) + part[None, :], -1).ravel()
        elif isinstance(made, structure.Mixture):
            whole = np.where(whole == part, whole, -1)
        else:
            whole = np.where(whole >= 0, part[whole], -1)
    return whole


def _leaf(matrix: Matrix) -> Codes | None:
    """Do the same for a matrix that is not a composite, by its structure."""
    n = matrix.size
    everyone = np.arange(n)
    if structure.is_certain(matrix):
        given = structure.targets(matrix)
        return everyone if given is None else np.asarray(given, np.int64)
    classes = structure.classes(matrix)
    if classes is not None:
        return np.where(np.repeat(classes.each() == 1, classes.each()), everyone, -1)
    swap = structure.swap(matrix)
    if swap is not None:
        pair = [swap.i, swap.j]
        everyone[pair] = pair if swap.keep == 1 else pair[::-1] if swap.keep == 0 else -1
        return everyone
    if n <= _DENSE:
        return _entries(matrix)
    counts = structure.counts(matrix)
    if counts is not None:
        return np.where((counts != 0).sum(axis=1) == 1, (counts != 0).argmax(axis=1), -1)
    row, kernel = structure.first_row(matrix), structure.even_kernel(matrix)
    several = row is not None and int((row.counts != 0).sum()) > 1
    # A step of 1 to n - 1 leads to two places from everywhere.
    if several or (kernel is not None and bool((kernel.counts[1:n] != 0).any())):
        return np.full(n, -1)
    steps = structure.steps(matrix)
    if steps is not None:
        each = np.broadcast_to(steps.counts, n - 1)
        if not bool((each == steps.total).any()):
            moves = np.append(each, 0) + np.append(0, each)
            return np.where(moves == 0, everyone, -1)
    return None


def _entries(matrix: Matrix) -> Codes:
    possible = matrix.to_dense() != 0
    return np.where(possible.sum(axis=1) == 1, possible.argmax(axis=1), -1)


# Sentences.


def phrases(found: Iterable[Fact]) -> list[str]:
    """Facts in words, those that say the same of several columns as one."""
    grouped: dict[str, tuple[Fact, list[str]]] = {}
    for fact in found:
        # By what is written, as True and 1 are equal and read otherwise.
        _, columns = grouped.setdefault(repr(replace(fact, column="")), (fact, []))
        columns.append(fact.column)
    return [_phrase(fact, columns) for fact, columns in grouped.values()]


def _phrase(fact: Fact, columns: list[str]) -> str:
    kind, by, groups, places = fact.kind, fact.by, fact.groups, fact.places
    categories = fact.categories
    names = quoted(columns)
    s = "s" * (len(columns) > 1)
    its = "their matrices change" if len(columns) > 1 else "its matrix changes"
    where = f" where `{shown(by)}` is {_list_names(groups, ' or ')}" if groups else ""
    if kind in ("categories", "sometimes"):
        noun = "category" if len(categories) == 1 else "categories"
        after = ", for some reported values" if kind == "sometimes" else ""
        return f"{noun} {_list_names(categories)} of {names}{where}{after}"
    return {
        "kept": f"column{s} {names}",
        "rest": "every column that the plan does not name",
        "column": f"column{s} {names}: {its} nothing",
        "renamed": f"column{s} {names}: {its} values in a fixed way that everyone can undo",
        "units": f"which records may belong to one unit of `{shown(by)}`: all of a unit have the "
        f"same reported category in {names}",
        "missing": f"who is missing in column{s} {names}{where}",
        "values": f"the set of all numbers in {names}, and how often each occurs",
        "groups": f"the mean and the set of the numbers of {names} in every group of `{shown(by)}`",
        "means": f"the mean of every class of numbers in {names}",
        "places": f"whose number it is in {names}, for {places[0]:,} of {places[1]:,} places",
        "order": "the order of the rows",
        "unchecked": f"column{s} {names}: some reported values rule out some true values, and "
        "which categories that makes certain was not checked, as there are too many",
    }[kind]


def _list_names(items: Sequence[Label | None], between: str = ", ") -> str:
    """List names; if they are many, the first ones and the last."""
    # A category may be a whole paragraph.
    short = {text: text if len(text) <= 60 else text[:59] + "…" for text in map(shown, items)}
    names = ["(missing)" if item is None else f"`{short[shown(item)]}`" for item in items]
    return between.join(cut(names, _NAMED))
