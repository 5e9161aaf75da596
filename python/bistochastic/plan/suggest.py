"""``bs.suggest``: a family for each column, by its name, its type and its declared categories."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import designs, families, measures
from bistochastic.plan.attributes import Categorical, about
from bistochastic.plan.draft import draft
from bistochastic.plan.plan import Plan
from bistochastic.words import Shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.labels import Label

# Scales whose order everyone knows, and those that come round again.
_SCALES = (
    "none low medium high", "very low low moderate high very high", "small medium large",
    "never rarely sometimes often always", "poor fair good very good excellent",
    "strongly disagree disagree neutral agree strongly agree", "very bad bad fair good very good",
    "no some much", "none primary secondary tertiary", "child adult elderly",
)  # fmt: skip
_CYCLES = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec", "spring summer autumn winter",
    "monday tuesday wednesday thursday friday saturday sunday", "mon tue wed thu fri sat sun",
)  # fmt: skip
_CYCLIC_NAMES = re.compile(r"(^|_)(month|weekday|day_of_week|hour|quarter)s?($|_)", re.I)
_CODED_NAMES = re.compile(r"(^|_)(id|ids|key|code|zip|postcode|region|weight|wgt)s?($|_)", re.I)
_NUMBER = re.compile(
    r"(?:[<>≤≥]=?|under|over|below|above|up to|less than|more than|grade|level|year|stage|age)? *"
    r"(\d+)"
)


@dataclass(frozen=True)
class Suggestion(Shown):
    """The suggestion for one column, with the reason.

    >>> import bistochastic as bs
    >>> bs.suggest({"smokes": bool}, beta=0.6)[0].family
    'randomized_response'
    """

    column: str
    kind: str
    family: str
    why: str


class Suggestions(tuple[Suggestion, ...]):
    """The suggestions of :func:`suggest`, and the ``plan`` that follows them.

    >>> import bistochastic as bs
    >>> bs.suggest({"smokes": bool}, beta=0.6).plan.by_attribute["smokes"].beta >= 0.6
    True
    """

    plan: Plan

    def __repr__(self) -> str:
        rows = [[each.column, each.kind, each.family, each.why] for each in self]
        return table(["column", "kind", "family", "why"], rows, left=(0, 1, 2, 3))

    _repr_html_ = Shown._repr_html_


def suggest(
    schema: object,
    *,
    beta: float | None = None,
    epsilon: float | None = None,
    min_beta: float | None = None,
    codebook: object = None,
) -> Suggestions:
    """Suggest a family for each column, with the reason, before any data are read.

    :meth:`Plan.for_frame` explains ``schema``, ``codebook``, ``beta``, ``epsilon`` and
    ``min_beta``: each column reaches them. Names, types and declared categories decide, never a
    value. Ordered categories are recognized by their numbers or as a well-known scale (never,
    sometimes, always). Which family is best depends on what you request:

    * bits (``beta``): :func:`geometric` for ordered categories, :func:`gibbs` on a circle for
      months and the like, :func:`randomized_response` for all others
    * the worst case (``epsilon``): :func:`difference_set` for many categories, the nearer of
      :func:`geometric` and :func:`randomized_response` for ordered categories, and
      :func:`randomized_response` for all others

    The result prints as a table. Its ``plan`` follows the suggestions: look at its
    :meth:`Plan.preview`, and change it as you need. Raises ``TypeError`` without a request.

    >>> import bistochastic as bs
    >>> columns = {"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"], "income": int}
    >>> found = bs.suggest(columns, beta=0.6)
    >>> [(each.column, each.kind, each.family) for each in found]
    [('sex', 'two categories', 'randomized_response'), ('age', 'ordered', 'geometric'),
     ('income', 'numbers', 'undecided')]
    >>> found.plan.undecided
    ('income',)
    """
    made = draft(schema, beta=beta, epsilon=epsilon, min_beta=min_beta, codebook=codebook)
    asked: dict[str, float | None] = {"beta": beta} if epsilon is None else {"epsilon": epsilon}
    if min_beta is not None and beta is not None:
        asked = {"beta": max(beta, min_beta)}
    reasons, attributes = [], []
    for attribute in made.plan.attributes:
        assert isinstance(attribute, Categorical)
        name, values = attribute.column, attribute.categories
        kind = _kind(name, values)
        family, why = _family(kind, len(values), asked)
        given = dict(asked)
        if family == "gibbs":
            places = np.arange(len(values))
            apart = abs(places[:, None] - places)
            given["cost"] = np.minimum(apart, len(values) - apart)
        with about([name]):
            chosen = Categorical(name, values, family, **given)  # type: ignore[arg-type]
        # Few categories need no set: the matrix says which family it is.
        reasons.append(Suggestion(name, kind, chosen.matrices[0].family, why))
        attributes.append(chosen)
    for column in made.plan.undecided:
        coded = _CODED_NAMES.search(column)
        kind = "id, code or weight" if coded else "numbers"
        why = ("name it in keep or drop, or declare its categories" if coded else
               "give breaks and use Binned with geometric, or permute it with Numeric")  # fmt: skip
        reasons.append(Suggestion(column, kind, "undecided", why))
    for column in made.plan.drop:
        why = "it has no declared categories: declare them, or leave the column out"
        reasons.append(Suggestion(column, "text", "drop", why))
    found = Suggestions(reasons)
    found.plan = Plan(attributes, undecided=made.plan.undecided, drop=made.plan.drop)
    return found


def _family(kind: str, size: int, asked: dict[str, float | None]) -> tuple[str, str]:
    """Choose the family for a kind of column, and give the reason in a sentence."""
    epsilon = asked.get("epsilon")
    if epsilon is not None:
        if kind == "ordered":
            both = [families.build(name, size=size, epsilon=epsilon)
                    for name in ("randomized_response", "geometric")]  # fmt: skip
            near = min(both, key=lambda m: measures.mean_distance(m) or math.inf)
            return near.family, "reported values are nearer to the true ones, at this epsilon"
        if size > 2 and designs.best(size, float(epsilon)).k > 1:
            return "difference_set", "many categories: the fewest records at this epsilon"
        return "randomized_response", "the most truthful matrix at this epsilon"
    if kind == "ordered":
        return "geometric", "reported values stay near the true ones, at the same beta"
    if kind == "circle":
        return "gibbs", "neighbours on a circle, the least expected distance at this beta"
    return "randomized_response", "the most truthful matrix at this beta"


def _kind(name: str, values: Sequence[Label]) -> str:
    if len(values) == 2:
        return "two categories"
    words = [str(value).casefold().strip() for value in values]
    numbers = [int(found[1]) for word in words if (found := _NUMBER.match(word))]
    rising = len(numbers) == len(words) and numbers == sorted(set(numbers))
    if _in_order(words, _CYCLES, whole=True) or (rising and _CYCLIC_NAMES.search(name)):
        return "circle"
    if (rising and not _CODED_NAMES.search(name)) or _in_order(words, _SCALES):
        return "ordered"
    return "many categories" if len(values) > 50 else "unordered"


def _in_order(words: list[str], scales: Sequence[str], *, whole: bool = False) -> bool:
    """Whether the words are in a known scale, in this order or reversed."""
    for scale in scales:
        for listed in (words, words[::-1]):
            found, at = True, 0
            for word in listed:
                place = f" {scale} ".find(f" {word} ", at)
                found &= place >= 0
                at = place + len(word) + 1
            if found and (not whole or " ".join(listed) == scale):
                return True
    return False
