"""Accuracy of the release: proportions as reported and as estimated."""

from __future__ import annotations

import numpy as np

from bistochastic.errors import SingularMatrixError
from bistochastic_survey.analysis.request import digits, levels_of
from bistochastic_survey.audit.codes import Protected
from bistochastic_survey.audit.results import Marginal
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint

# Larger tables are left out.
_CELLS = 1 << 16


def distance(one: Array, other: Array) -> float:
    """Total variation."""
    return float(np.abs(one - other).sum() / 2)


def marginal(channel: Protected) -> Marginal | None:
    """One attribute: true, reported and estimated shares; None if there is nothing to show."""
    attribute, inside, size = channel.attribute, channel.answered, channel.size
    n = int(inside.sum())
    if not n or size > _CELLS:
        return None
    true = np.bincount(channel.occurring[channel.truths[inside]], minlength=size) / n
    counts = np.zeros((len(attribute.matrices), size))
    np.add.at(counts, (channel.groups[inside], channel.reports[inside]), 1.0)
    reported = counts.sum(axis=0) / n
    estimated, reason = None, ""
    try:
        solved = [m.solve(row) for m, row in zip(attribute.matrices, counts, strict=True)
                  if row.any()]  # fmt: skip
        estimated = np.sum(solved, axis=0) / n
    except SingularMatrixError:
        reason = "the reports do not tell some levels apart"
    return Marginal(
        channel.columns, _levels(attribute), tuple(true.tolist()), tuple(reported.tolist()),
        None if estimated is None else tuple(estimated.tolist()), distance(true, reported),
        None if estimated is None else distance(true, estimated), reason,
    )  # fmt: skip


def _levels(attribute: Categorical | Joint) -> tuple[object, ...]:
    """Name each code: a category, or the categories of several columns."""
    names = [levels_of(attribute, column) for column in attribute.columns]
    if len(names) == 1:
        return names[0]
    places = [place.tolist() for place in digits(attribute)]
    return tuple(
        tuple(levels[i] for levels, i in zip(names, cell, strict=True))
        for cell in zip(*places, strict=True)
    )
