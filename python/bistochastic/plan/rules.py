"""What a plan says of several columns: edit rules, and labels for files of SPSS and Stata.

Edit rules are combinations of several columns that nothing published may ever hold.
The columns that rules join become one :class:`Joint` attribute with impossible cells, when the plan
is made. Its matrix is randomized response over the cells that remain.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from bistochastic import arguments, families, structure
from bistochastic.labels import Label, Labels
from bistochastic.plan.attributes import Attribute, Binned, Categorical, Joint, named
from bistochastic.words import about, prefix, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bistochastic.matrix import Matrix
    from bistochastic.plan.columns import Coded

    Rule = dict[str, tuple[Label | None, ...]]

ColumnLabels = tuple[tuple[str, str], ...]
ValueLabels = tuple[tuple[str, tuple[tuple[Label, str], ...]], ...]

# Cells of a chain of columns, all of which are looked at.
_CELLS = 4096
_CURE = "protect the columns together by Joint(matrix=)"


def joined(attributes: Sequence[Attribute], impossible: object) -> list[Attribute]:
    """Join the attributes that rules connect into one, at the place of the first of them."""
    if isinstance(impossible, str | dict):
        must = "`impossible` must be a list of dicts from columns to categories"
        raise TypeError(f"{must}; got {type(impossible).__name__}")
    listed = arguments.items("impossible", "be a list of dicts", impossible)
    rules = [_rule(i, rule, attributes) for i, rule in enumerate(listed)]
    found: list[Attribute] = list(attributes)
    chains: list[set[str]] = []
    for rule in rules:
        chain = set(rule)
        for other in [other for other in chains if other & chain]:
            chains.remove(other)
            chain |= other
        chains.append(chain)
    for chain in chains:
        parts = [a for a in found if isinstance(a, Categorical) and a.column in chain]
        own = [rule for rule in rules if set(rule) <= chain]
        found[found.index(parts[0])] = _joint(parts, own)
        found = [a for a in found if a not in parts]
    return found


def _rule(number: int, given: Any, attributes: Sequence[Attribute]) -> Rule:
    """Read one rule: categories of two or more columns, each declared."""
    must = "`impossible` must hold dicts from columns to categories"
    if not hasattr(given, "items"):
        raise TypeError(f"{must}; got {type(given).__name__} at position {number}")
    if len(given) < 2:
        raise ValueError(f"{must}, two columns or more; got {len(given)} at position {number}")
    known = {a.column: a for a in attributes if isinstance(a, Categorical)}
    found: Rule = {}
    for key, value in given.items():
        column = named("impossible", key)
        attribute = known.get(column)
        if attribute is None or isinstance(attribute, Binned):
            what = "is not protected" if attribute is None else "is binned"
            for other in attributes:
                if attribute is None and column in other.columns:
                    what = "is permuted" if other.whole_column else "is joined with others"
            cure = f"{_CURE}, drop one, or bin by recode"
            must = "`impossible` must be about columns that the plan protects as categories"
            raise ValueError(f"{must}; got `{shown(column)}`, which {what}: {cure}")
        law = attribute.matrix
        if law is None or structure.two_valued(law) is None or not math.isfinite(law.epsilon):
            got = f"{'groups' if law is None else law.family}: {_CURE}"
            need = "must be a randomized response of finite epsilon, without groups, for edit rules"
            raise ValueError(f"{prefix([column])}{need}; got {got}")
        values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
        axis, none = attribute.axes[0], attribute.missing == "category"
        for one in values:
            if axis.code(one) is None and not (one is None and none):
                what = f"`impossible` must hold declared categories of `{shown(column)}`"
                raise ValueError(f"{what}; got an undeclared one at position {number}")
        if not values:
            raise ValueError(f"{must}; got none for `{shown(column)}` at position {number}")
        codes = (axis.code(one) for one in values)
        found[column] = tuple(None if c is None else axis.values[c] for c in codes)
    return found


def _joint(parts: list[Categorical], rules: list[Rule]) -> Joint:
    """Make one attribute over all columns of a chain."""
    columns = [a.column for a in parts]
    for name in ("missing", "unit"):
        values = {getattr(a, name) for a in parts}
        if len(values) > 1:
            got = " and ".join(sorted(f"{v}" for v in values))
            must = f"must have one `{name}` for edit rules"
            raise ValueError(f"{prefix(columns)}{must}; got {got}: {_CURE}")
    levels = [(*a.categories, *[None] * (a.missing == "category")) for a in parts]
    cells = math.prod(map(len, levels))
    if cells > _CELLS:
        must = f"must make at most {_CELLS:,} cells together for edit rules"
        raise ValueError(f"{prefix(columns)}{must}; got {cells:,}: {_CURE}")
    bad: list[tuple[Label | None, ...]] = []
    good: list[tuple[Label | None, ...]] = []
    for cell in itertools.product(*levels):
        held = dict(zip(columns, cell, strict=True))
        broken = any(all(_key(held[c]) in map(_key, v) for c, v in r.items()) for r in rules)
        (bad if broken else good).append(cell)
    for column, every, place in zip(columns, levels, range(len(columns)), strict=True):
        left = {_key(cell[place]) for cell in good}
        for value in every:
            if _key(value) not in left:
                must = "`impossible` must leave every category of a column possible"
                raise ValueError(f"{prefix([column])}{must}; got none for {shown(value)}")
    law = _matrix(len(good), parts)
    return Joint(
        columns, [a.categories for a in parts], matrix=law, missing=parts[0].missing,
        impossible=bad, unit=parts[0].unit,
        categories_from_data=any(a.categories_from_data for a in parts),
        recode={a.column: dict(a.recode[0]) for a in parts if a.recode},
    )  # fmt: skip


def _key(value: object) -> tuple[str, object]:
    return type(value).__name__, value


def _matrix(size: int, parts: list[Categorical]) -> Matrix:
    """Choose the matrix with the largest epsilon that is not above the sum of the epsilons.

    Its beta is at least the smallest beta of the attributes. Beta falls as epsilon grows: if the
    sum of the epsilons leaves too little beta, beta decides.
    """
    laws = [a.matrices[0] for a in parts]
    least = min(law.beta for law in laws)
    total = math.nextafter(math.fsum(m.epsilon for m in laws), 0.0)
    law = families.randomized_response(size, epsilon=total)
    return law if law.beta >= least else families.randomized_response(size, beta=least)


# Labels of columns and of their values.


def of_columns(given: object, known: Collection[str] | None) -> ColumnLabels:
    """Read a dict from columns to labels; ``known`` are the columns of the plan, None for any."""
    must = "`column_labels` must be a dict from columns to strings"
    found = []
    for column, text in _items(given, must):
        name = _column("column_labels", column, known)
        with about([name]):
            found.append((name, named("column_labels", text)))
    return tuple(found)


def of_values(
    given: object, attributes: Collection[Attribute], known: Collection[str] | None
) -> ValueLabels:
    """Read a dict from columns to dicts from values to labels.

    Values of a protected column are among its categories.
    """
    must = "`value_labels` must be a dict from columns to dicts from values to strings"
    found = []
    for column, pairs in _items(given, must):
        name = _column("value_labels", column, known)
        with about([name]):
            listed = _items(pairs, must)
            values = Labels.of("value_labels", [value for value, _text in listed]).values
            texts = tuple(named("value_labels", text) for _value, text in listed)
            twice = len(texts) - len(set(texts))
            if twice:
                raise ValueError(f"`value_labels` must be distinct; got {twice} again")
            for attribute in attributes:
                if name in attribute.columns and not attribute.whole_column:
                    _check_declared(attribute, name, values)
            found.append((name, tuple(zip(values, texts, strict=True))))
    return tuple(found)


def _check_declared(attribute: Coded, column: str, values: tuple[Label, ...]) -> None:
    at = attribute.columns.index(column)
    labels, recode = attribute.axes[at], dict(attribute.recode[at] if attribute.recode else ())
    for value in values:
        if labels.code(value) is None or type(value) is not type(labels.values[0]):
            is_missing = recode.get(value, value) is None
            got = "a code that is recoded as missing" if is_missing else "a value that is none"
            raise ValueError(f"`value_labels` must be of declared categories; got {got}")


def _items(given: object, must: str) -> list[tuple[object, object]]:
    if not hasattr(given, "items"):
        raise TypeError(f"{must}; got {type(given).__name__}")
    return list(given.items())


def _column(name: str, given: object, known: Collection[str] | None) -> str:
    column = named(name, given)
    if known is not None and column not in known:
        must = f"`{name}` must be of columns that the plan names"
        raise ValueError(f"{must}; got `{shown(column)}`, which is none of them")
    return column
