"""``sv.cluster``: columns that depend on each other, protected together from the next release on.

RR-Clusters of multi-dimensional randomized response (Domingo-Ferrer and Soria-Comas, 2022): start
from single columns, and merge the two groups with the largest dependence between a column of one
and a column of the other, as long as it is significant and their combinations are few enough.
"""

import math
import warnings
from itertools import combinations
from typing import Any

from bistochastic_survey import checks
from bistochastic_survey.analysis.independence import phi_squared
from bistochastic_survey.analysis.request import between
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.release import Release
from bistochastic_survey.wording import up

Group = tuple[Categorical, ...]


def cluster(release: Release[Any], *, max_cells: int, level: float = 0.01) -> Plan:
    """Group dependent columns into joint attributes, from an earlier release.

    Two columns count as dependent if a test of independence on the *protected* table rejects it.
    ``level`` is the probability that independent columns are merged at all: the test is Pearson's,
    each of ``m`` pairs at ``level / m``. It holds for records that are independent, with rare
    categories taken together. No original is read.

    Dependent pairs are merged, the largest Cramer's V of the *estimated* table first, while a group
    has at most ``max_cells`` combinations and the plan meets its requirement. The new plan protects
    each group by randomized response over all its combinations, with the sum of the epsilons of its
    columns. So a record has the same epsilon as before. Everything else of the plan stays.

    Estimated joint tables become more precise, and single columns mostly less precise: compare the
    previews of both plans. The release that the new plan makes comes in addition to the earlier
    one. A warning states the epsilon of both.

    Columns with an infinite epsilon, with a singular matrix, with a matrix per group or unit, with
    impossible combinations or with codes that are never true stay as they are, and so do columns
    whose missing values are treated differently. Raises ``TypeError`` for a table that is not a
    release.

    >>> import bistochastic_survey as sv, warnings
    >>> sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=3)
    >>> job = sv.Categorical("job", ["a", "b"], "randomized_response", epsilon=3)
    >>> plan = sv.Plan([sex, job])
    >>> release = plan.protect({"sex": ["F", "M"] * 500, "job": ["a", "b"] * 500})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     new = sv.cluster(release, max_cells=4)
    >>> new.attributes
    (<Joint `sex`, `job`, 2 x 2 = 4 cells: randomized_response, beta ...>,)
    """
    checks.of_type("release", "be what `plan.protect` returns, never an original", release, Release)
    most, share = checks.whole("max_cells", max_cells, 1), between("level", level)
    plan = found = release.plan
    single = [a for a in plan.attributes if isinstance(a, Categorical) and _can_join(a)]
    pairs = [pair for pair in combinations(single, 2) if pair[0].missing == pair[1].missing]
    # A release, as `cluster` wants it, has noise of its own in each column.
    tests = [
        release.test_independence(one.column, other.column, memoised=False) for one, other in pairs
    ]
    level = share / max(1, len(pairs))
    dependent = [
        p for p, test in zip(pairs, tests, strict=True) if test.degrees > 0 and test.p_value < level
    ]
    groups: list[Group] = [(a,) for a in single]
    for one, other in sorted(dependent, key=lambda pair: -_strength(release, *pair)):
        first, second = (next(g for g in groups if a in g) for a in (one, other))
        merged = tuple(a for a in single if a in (*first, *second))
        if first is second or math.prod(a.size for a in merged) > most:
            continue
        trial = [merged if g is first else g for g in groups if g is not second]
        made = _joined(plan, trial)
        if made._unmet is None:
            groups, found = trial, made
    added = plan.epsilon
    if added == math.inf:
        added = math.fsum(a.matrices[0].epsilon for a in single)
    warnings.warn(
        f"`cluster` needs a second release of the same records: it adds epsilon {up(added, 4)} to "
        f"the {up(plan.epsilon, 4)} of the first one",
        UserWarning,
        stacklevel=2,
    )
    return found


def _can_join(attribute: Categorical) -> bool:
    if attribute.groups is not None or attribute.unit is not None or attribute.missing == "keep":
        return False
    matrix, is_plain = attribute.matrices[0], type(attribute) is Categorical
    return is_plain and math.isfinite(matrix.epsilon) and not (matrix.padding or matrix.is_singular)


def _joined(plan: Plan, groups: list[Group]) -> Plan:
    """Return the plan with one attribute per group, at the place of its first column."""
    place = {a.column: group for group in groups for a in group}
    attributes: list[Any] = []
    for attribute in plan.attributes:
        group = place.get(attribute.columns[0], ())
        if attribute not in group or len(group) < 2:
            attributes.append(attribute)
        elif attribute is group[0]:
            attributes.append(Joint(
                [a.column for a in group], [a.categories for a in group], "randomized_response",
                epsilon=math.fsum(a.matrices[0].epsilon for a in group), missing=group[0].missing,
                categories_from_data=any(a.categories_from_data for a in group),
                recode={a.column: dict(a.recode[0]) for a in group if a.recode},
            ))  # fmt: skip
    return plan._derived(attributes)


def _strength(release: Release[Any], one: Categorical, other: Categorical) -> float:
    """Cramer's V of the likeliest joint table: ``sqrt(chi^2 / (n (min(r, c) - 1)))``."""
    found = release.estimate(one.column, other.column, method="mle")
    joint: Array = found.frequencies.reshape(found.shape)
    sizes = [int((joint.sum(axis=axis) > 0).sum()) for axis in (0, 1)]
    return math.sqrt(phi_squared(joint) / (min(sizes) - 1)) if min(sizes) > 1 else 0.0
