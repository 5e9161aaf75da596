"""``bs.cluster``: columns that depend on each other, protected together from the next release on.

RR-Clusters of multi-dimensional randomized response (Domingo-Ferrer and Soria-Comas, 2022): start
from single columns, and merge the two groups with the largest dependence between a column of one
and a column of the other, as long as it is large enough and their combinations are few enough.
"""

from __future__ import annotations

import math
import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments
from bistochastic.plan.attributes import Categorical, Joint
from bistochastic.plan.plan import Plan
from bistochastic.plan.protect import Release
from bistochastic.words import up

if TYPE_CHECKING:
    from bistochastic.arguments import Array


def cluster(release: Release[Any], plan: Plan, *, max_cells: int, min_dependence: float) -> Plan:
    """Group dependent columns into joint attributes, from an earlier release.

    The dependence of two columns is Cramer's V of their *estimated* joint table: no original is
    read. Groups are merged while the largest dependence between them is at least ``min_dependence``
    and they have at most ``max_cells`` combinations. The new plan protects each group by randomized
    response over all its combinations, with the sum of the epsilons of its columns. So a record has
    the same epsilon as under ``plan``, and the estimated joint tables are more precise.

    The release that the new plan makes comes in addition to the earlier one. A warning states the
    epsilon of both.

    Columns with an infinite epsilon, with a matrix per group or unit, with impossible combinations
    or with codes that are never true stay as they are, and so do columns whose missing values are
    treated differently. Raises ``TypeError`` for a table that is not a release, and ``ValueError``
    for a release of a different plan.

    >>> import bistochastic as bs, warnings
    >>> sex = bs.Categorical("sex", ["F", "M"], "randomized_response", epsilon=3)
    >>> job = bs.Categorical("job", ["a", "b"], "randomized_response", epsilon=3)
    >>> plan = bs.Plan([sex, job])
    >>> release = plan.protect({"sex": ["F", "M"] * 500, "job": ["a", "b"] * 500})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     new = bs.cluster(release, plan, max_cells=4, min_dependence=0.3)
    >>> new.attributes
    (<Joint `sex`, `job`, 2 x 2 = 4 cells: randomized_response, beta ...>,)
    """
    if not isinstance(release, Release):
        must = "`release` must be what `plan.protect` returns, never an original"
        raise TypeError(f"{must}; got {type(release).__name__}")
    if not isinstance(plan, Plan):
        raise TypeError(f"`plan` must be a Plan; got {type(plan).__name__}")
    if release.certificate.plan.digest != plan.digest:
        raise ValueError("`plan` must be the plan of the release; got a different one")
    most = _core.as_whole("max_cells", max_cells, 1)
    least = arguments.share("min_dependence", min_dependence)
    single = [a for a in plan.attributes if isinstance(a, Categorical) and _can_join(a)]
    dependence = {
        (a.column, b.column): _dependence(plan, release, a.column, b.column)
        for a, b in combinations(single, 2)
        if a.missing == b.missing
    }
    groups = _merge([(a,) for a in single], dependence, most, least)
    named = {a.column: group for group in groups for a in group}
    attributes: list[Any] = []
    for attribute in plan.attributes:
        group = named.get(attribute.columns[0], ()) if attribute in single else ()
        if len(group) < 2:
            attributes.append(attribute)
        elif attribute is group[0]:
            attributes.append(Joint(
                [a.column for a in group], [a.categories for a in group], "randomized_response",
                epsilon=math.fsum(a.matrices[0].epsilon for a in group), missing=group[0].missing,
            ))  # fmt: skip
    added = plan.epsilon
    if added == math.inf:
        added = math.fsum(a.matrices[0].epsilon for a in single)
    warnings.warn(
        f"`cluster` needs a second release of the same records: it adds epsilon {up(added, 4)} to "
        f"the {up(plan.epsilon, 4)} of the first one",
        UserWarning,
        stacklevel=2,
    )
    return Plan(attributes, name=plan.name, keep=plan.keep, drop=plan.drop)


def _can_join(attribute: Categorical) -> bool:
    if attribute.groups is not None or attribute.unit is not None or attribute.missing == "keep":
        return False
    matrix = attribute.matrices[0]
    return math.isfinite(matrix.epsilon) and not matrix.padding and type(attribute) is Categorical


def _dependence(plan: Plan, release: Release[Any], one: str, other: str) -> float:
    """Cramer's V of the likeliest joint table: ``sqrt(chi^2 / (n (min(r, c) - 1)))``."""
    found = plan.estimate(release, one, other, method="mle")
    joint: Array = found.frequencies.reshape(found.shape)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = expected > 0
    chi = float(((joint - expected)[seen] ** 2 / expected[seen]).sum())
    sizes = [int((joint.sum(axis=axis) > 0).sum()) for axis in (0, 1)]
    return math.sqrt(chi / (min(sizes) - 1)) if min(sizes) > 1 else 0.0


def _merge(
    groups: list[tuple[Categorical, ...]],
    dependence: dict[tuple[str, str], float],
    most: int,
    least: float,
) -> list[tuple[Categorical, ...]]:
    """Merge the most dependent pair that is small enough, until none is dependent enough."""

    def between(one: tuple[Categorical, ...], other: tuple[Categorical, ...]) -> float:
        pairs = [(a.column, b.column) for a in one for b in other]
        return max(max(dependence.get(p, -1.0), dependence.get(p[::-1], -1.0)) for p in pairs)

    while True:
        small = [
            (between(one, other), one, other)
            for one, other in combinations(groups, 2)
            if math.prod(a.size for a in (*one, *other)) <= most
            and len({a.missing for a in (*one, *other)}) == 1
        ]
        value, one, other = max(small, key=lambda each: each[0], default=(-1.0, (), ()))
        if not small or value < least:
            return groups
        at = groups.index(one)
        groups = [group for group in groups if group is not one and group is not other]
        groups.insert(at, (*one, *other))
