"""``release.estimate``: a labelled table of the original from a protected one."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from bistochastic import Channel, Matrix, identity, kron, structure
from bistochastic import estimate as estimation
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.analysis import protected_table
from bistochastic_survey.analysis.collector import Counts, read_data
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.request import Request, ask_table, part
from bistochastic_survey.checks import Array
from bistochastic_survey.files.tables import Source
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release

SILENT = "a replicate has no positive total in the domain: the standard error is not known"


def estimate(
    release: Release[Any],
    columns: Iterable[str],
    *,
    method: object = "inverse",
    where: object = None,
    population: object = "sampled",
    design: object = None,
    progress: object = None,
    gap: object = None,
    seconds: object = None,
) -> estimation.Estimate:
    """See :meth:`bistochastic_survey.Release.estimate`."""
    how = checks.one_of("method", method, estimation.METHODS)
    heard = progress if callable(progress) else None
    limits = estimation.Limits.of(how, heard, gap, seconds)
    drawn = Design._of(design, release.plan)
    who = people(population, drawn)
    with watched("estimating", progress):
        question = ask_table(release.plan, columns, where)
        coded, tallies, unanswered, notes = _read(question, release.data, drawn)
        back, axes = way_back(question, coded)
        estimated = of_tallies(question, back, axes, tallies, how, who, limits)
    notes = (*notes, *protected_table.noise_notes(release, question, drawn))
    if unanswered:
        plural = "s" * (unanswered > 1)
        notes = (f"{unanswered:,} record{plural} without an answer left out", *notes)
    return replace(estimated, notes=tuple(dict.fromkeys((*estimated.notes, *notes))))


def _read(question: Request, data: Any, design: Design) -> protected_table.Reported:
    """Count the reported values of a table, of an open file, or of a collector."""
    # Errors of strata, clusters and replicates need whole columns, which are then held.
    if isinstance(data, Source) and not (design._is_drawn or question.units):
        return protected_table.tally(question, data, design)
    sheet = read_data(data, question, design)
    unanswered = sheet.unanswered
    if isinstance(data, Counts):
        # They are in no cell, so it is unknown who of them is inside a domain.
        unanswered = 0 if question.where else data.unanswered
    return sheet.axes, sheet.tallies(), unanswered, sheet.notes


def people(population: object, design: Design) -> str:
    """Return the population: with a design, the people that the sample was drawn from."""
    who = checks.one_of("population", population, estimation.POPULATIONS)
    if who == "fixed" and design._is_drawn:
        must = "be sampled if strata, cluster, replicates or fpc are given"
        raise Refused("population", must, "fixed")
    return who


def refuse_fixed(who: str, sample: estimation.Sample) -> None:
    """Raise an error for a fixed population whose records share noise: no error is known for it."""
    if who == "fixed" and sample.clustered:
        raise Refused("population", "be sampled for columns that are drawn by unit", "fixed")


def way_back(
    question: Request, given: Sequence[protected_table.CodedAxis]
) -> tuple[estimation.Map, tuple[estimation.Axis, ...]]:
    """Make the map from reported tables to the requested one, and its columns."""
    where_is = {axis.name: i for i, axis in enumerate(given)}
    factors: list[estimation.Factor] = []
    names: list[str] = []
    levels: list[tuple[object, ...]] = []
    clear = len(given) - len(question.coded)
    for i, axis in enumerate(given[:clear]):
        # A column that only chooses matrices: its groups are added up.
        asked, ones = axis.name in question.columns, np.ones((1, axis.size))
        factors.append(estimation.Factor(i) if asked else estimation.Factor(i, (ones,), ones))
        names.append(axis.name if asked else "")
        levels.append(axis.values or () if asked else (None,))
    for i, attribute in enumerate(question.coded, clear):
        by = None if attribute.groups is None else where_is[attribute.groups.column]
        columns, categories, factor = part(question, attribute, i, by)
        factors.append(factor)
        names += columns
        levels += categories
    places = {name: i for i, name in enumerate(names) if name}
    order = [places[column] for column in question.columns]
    order += [i for i, name in enumerate(names) if not name]
    sizes = tuple(max(1, len(each)) for each in levels)
    axes = tuple(estimation.Axis(column, levels[places[column]]) for column in question.columns)
    shape = tuple(axis.size for axis in given)
    return estimation.Map(shape, tuple(factors), sizes, tuple(order)), axes


def of_tallies(
    question: Request,
    back: estimation.Map,
    axes: tuple[estimation.Axis, ...],
    tallies: estimation.Tallies,
    how: str,
    who: str,
    limits: estimation.Limits,
) -> estimation.Estimate:
    """Estimate from counts: by one matrix if there is one, else cell by cell."""
    refuse_fixed(who, tallies.sample)
    whole = all(factor.back is None for factor in back.factors)
    in_order = back.order == tuple(range(len(back.order)))
    if whole and in_order and tallies.sample.is_plain:
        matrix = _product(_matrices(question, back, ()))
        return estimation.of_counts(matrix, tallies.whole, how, who, limits, axes=axes)
    linear = estimation.Linear(back, tallies, fixed=who == "fixed", exact=question.is_exact)
    fit = None if how == "inverse" else _fit(question, back, tallies, how, limits)
    notes = []
    if not question.is_exact:
        notes.append(
            f"shares are of a domain estimated to hold {linear.total:,.6g}"
            if linear.total > 0
            else "the subgroup is estimated to be empty, so it has no proportions"
        )
    if tallies.sample.lost:
        notes.append(f"no standard errors: {tallies.sample.lost}")
    elif linear.silent:
        notes.append(SILENT)
    return estimation.of_linear(linear, how, who, limits, axes=axes, fit=fit, notes=tuple(notes))


def _matrices(question: Request, back: estimation.Map, at: tuple[int, ...]) -> list[Matrix]:
    """List the matrix of every axis that stays, inside the groups ``at``, one index per group."""
    groups = list(question.groups)
    clear = len(back.shape) - len(question.coded)
    found = [identity(size) for size in back.shape[len(at) if at else 0 : clear]]
    for attribute in question.coded:
        if attribute.groups is None:
            assert attribute.matrix is not None
            found.append(attribute.matrix)
        else:
            found.append(attribute.groups.matrices[at[groups.index(attribute.groups.column)]])
    return found


def _product(matrices: list[Matrix]) -> Matrix:
    if any(isinstance(each, Channel) for each in matrices):
        # An estimate asks no more of a channel than of a matrix.
        return cast(Matrix, Channel.joint(*matrices) if len(matrices) > 1 else matrices[0])
    return matrices[0] if len(matrices) == 1 else kron(*matrices)


def _fit(
    question: Request,
    back: estimation.Map,
    tallies: estimation.Tallies,
    how: str,
    limits: estimation.Limits,
) -> tuple[Array, float, int]:
    """Estimate by another method: the table of all codes, group by group, then the request."""
    sums = tallies.whole.reshape(back.shape)
    total, records = float(sums.sum()), tallies.sample.effective
    groups = len(question.groups)
    found = np.zeros(back.shape)
    gap, steps = 0.0, 0
    for at in np.ndindex(*back.shape[:groups]):
        here = sums[at].reshape(-1)
        part = float(here.sum())
        if not part > 0:
            continue
        matrix = _product(_matrices(question, back, at))
        shares, left, taken = estimation.fit_shares(
            matrix, here / part, records * part / total, how, limits
        )
        every = np.zeros(matrix.size)
        every[structure.true_codes(matrix)] = shares * (part / total)
        found[at] = every.reshape(back.shape[groups:])
        # In nats per record of the whole table.
        gap += left * part / total
        steps += taken
    cells = back.of(found[None], "told")[0]
    inside = math.fsum(cells)
    return (cells / inside if inside > 0 else np.full_like(cells, math.nan)), gap, steps
