"""Logistic and multinomial regression by maximum likelihood, with the true values latent.

A record of row g has the true covariates c with probability ``pi_g(c)``, which can be anything,
and then the outcome m with ``p_m(g, c)``. Both are reported through known matrices: ``lambda_g =
P^T (pi_g p)``. If only the outcome is protected, pi is not needed.

The likelihood estimates the coefficients of the model if the model is true. If the model is an
approximation, its target differs from the result of the original table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.checks import Array
from bistochastic_survey.models.cells import Corrected
from bistochastic_survey.models.fitting import Fitted, coefficient_limits, maximize
from bistochastic_survey.models.formula import Terms
from bistochastic_survey.models.records import Records

# Protected cells of a row: beyond it, pi has too many unknowns.
_CELLS = 512
# Records for each unknown of pi: below it, standard errors were seen to be too small.
_ENOUGH = 30
_ROUNDS = 2000
_STARTS = 6
# A probability that is 0 except for rounding.
_ZERO = 1e-9


class Latent:
    """The likelihood of the data, for coefficients and, if covariates are protected, pi.

    Arrays have the axes outcome, row of the grid, cell.
    """

    def __init__(self, records: Records, terms: Terms, classes: Sequence[Function]) -> None:
        # The table of a model without correction has the moments that are needed.
        self.plain = Corrected(replace(records, raw=True), terms, classes)
        self.grid, self.classes = self.plain.grid, self.plain.classes
        self.size = self.plain.size
        if self.grid.cells > _CELLS:
            must = f"be corrected beyond {_CELLS} protected cells"
            raise Refused("method", must, f"likelihood with {self.grid.cells}")
        self.attribute, codes = _outcome(records, classes)
        shape = self.classes + 1, len(self.grid.across), self.grid.cells
        place = (codes * shape[1] + self.grid.rows) * shape[2] + self.grid.reported
        self._place = place
        weights = records.sample.sums
        self.counts = np.bincount(place, weights, minlength=math.prod(shape)).reshape(shape)
        self.totals = self.counts.sum(axis=(0, 2))
        self._groups = list(_matrices(records, self))

    def reported(self, tables: Array, *, back: bool = False) -> Array:
        """Tables of the original through all matrices; with ``back``, through the transposes."""
        found = np.empty_like(tables)
        for here, inside, outside in self._groups:
            one, other = (inside.T, outside) if back else (inside, outside.T)
            found[:, here] = np.tensordot(other, tables[:, here] @ one, 1)
        return found

    def chances(self, theta: Array) -> Array:
        """Return the probability of every outcome in every row and cell."""
        found = np.stack(self.plain.chances(theta, slice(0, len(self.grid.across)))[0])
        return np.concatenate([1 - found.sum(axis=0, keepdims=True), found])

    def log_likelihood(self, pi: Array, theta: Array) -> float:
        """Return the logarithm of the likelihood, given the unprotected columns."""
        expected = self.reported(pi * self.chances(theta))
        seen = self.counts > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((self.counts[seen] * np.log(expected[seen])).sum())

    # If only the outcome is protected, pi is 1 and theta is all there is.

    def value(self, theta: Array) -> float:
        """Compute the likelihood of only the coefficients."""
        return self.log_likelihood(np.ones((len(self.grid.across), 1)), theta)

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Compute the score and the expected information of only the coefficients."""
        rows, information = self.efficient(np.ones((len(self.grid.across), 1)), theta)
        return np.tensordot(rows, self.counts, 3), information

    def efficient(self, pi: Array, theta: Array) -> tuple[Array, Array]:
        """Compute the efficient score of a record in each reported cell, and the information.

        With pi eliminated: ``I = I_tt - sum over g of I_tg I_gg^+ I_gt``. Cells whose pi is 0 stay
        there, and are not unknowns.
        """
        chances, grid = self.chances(theta), self.grid
        expected = np.maximum(self.reported(pi * chances), 1e-300)
        k = len(self.plain.design.functions)
        moved = np.empty((self.classes, k, *chances.shape))
        for m in range(self.classes):
            # The slope of every probability by the predictor of class m.
            slope = -chances * chances[m + 1]
            slope[m + 1] += chances[m + 1]
            for j in range(k):
                tables = pi * slope * grid.inside[:, j] * grid.across[:, j, None]
                moved[m, j] = self.reported(tables)
        each = np.concatenate([self.plain.design.collect(block) for block in moved])
        if grid.cells > 1:
            for here, inside, outside in self._groups:
                for g in here.tolist():
                    free = np.flatnonzero(pi[g] > _ZERO)
                    # The part of each latent cell in a reported one: outcomes by reported by cells.
                    chance = outside.T @ chances[:, g][:, free]
                    own = chance[:, None, :] * inside[free].T
                    own = own.reshape(-1, len(free))
                    root = np.sqrt(expected[:, g].reshape(-1, 1))
                    theirs = each[:, :, g].reshape(self.size, -1).T
                    best = np.linalg.lstsq(own / root, theirs / root, rcond=1e-10)[0]
                    each[:, :, g] -= (own @ best).T.reshape(self.size, *expected[:, g].shape)
        scores = each / expected
        weighed = (each * self.totals[:, None]).reshape(self.size, -1)
        return scores, np.asarray(weighed @ scores.reshape(self.size, -1).T)

    def expect(self, pi: Array, theta: Array) -> tuple[Array, Array]:
        """Make one step of EM: expected counts of the original, their pi and a step of Newton."""
        tables = pi * self.chances(theta)
        reported = np.maximum(self.reported(tables), 1e-300)
        tables *= self.reported(self.counts / reported, back=True)
        whole = tables.sum(axis=0)
        pi = whole / np.maximum(self.totals, 1e-300)[:, None]
        gradient, information = self.plain.sums(theta, whole, slice(0, len(self.grid.across)))
        for m in range(self.classes):
            mine = np.einsum("ij,ij->j", tables[m + 1] @ self.grid.inside, self.grid.across)
            block = slice(m * self.plain.design.size, (m + 1) * self.plain.design.size)
            gradient[block] += self.plain.design.collect(mine)
        return pi, theta + np.linalg.lstsq(information, gradient, rcond=1e-12)[0]

    def scores(self, rows: Array) -> Array:
        """Return the scores of the cells that the rows of the sample report."""
        return np.asarray(rows.reshape(self.size, -1)[:, self._place])


def _outcome(records: Records, classes: Sequence[Function]) -> tuple[str | None, NDArray[np.intp]]:
    """Find the attribute of a protected outcome, and the outcome that each row reports."""
    ((name, _),) = classes[0].scores.items()
    scores = np.stack([each.scores[name] for each in classes])
    attribute = records.attributes.get(name)
    own = np.argmax(np.concatenate([0.5 * np.ones((1, scores.shape[1])), scores]), axis=0)
    if attribute is not None and own.tolist() != list(range(attribute.size)):
        must = "be corrected for an outcome that is not a protected column itself"
        raise Refused("method", must, "likelihood")
    return (None if attribute is None else name), own[records.responses.codes[name]]


def _matrices(records: Records, model: Latent) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Group the rows of the grid that share the matrices of the covariates and the outcome."""
    grid, name = model.grid, model.attribute
    kinds, which = grid.kinds
    mine = np.zeros(len(grid.across), np.intp) if name is None else grid.matrices(name)
    for k, kind in enumerate(kinds):
        inside = grid.dense(kind)
        for own in np.unique(mine[which == k]).tolist():
            outside = np.eye(model.classes + 1)
            if name is not None:
                outside = records.attributes[name].matrices[own].to_dense()
            yield np.flatnonzero((which == k) & (mine == own)), inside, outside


def fit_by_likelihood(
    records: Records, terms: Terms, classes: Sequence[Function], start: Array | None
) -> Fitted:
    """Fit by maximum likelihood, from the coefficients of the corrected score or from 0."""
    model = Latent(records, terms, classes)
    most = np.tile(coefficient_limits(model.grid.scales(model.plain.design)), len(classes))
    if model.grid.cells == 1:
        return _only_outcome(records, model, most)
    even = np.tile(model.grid.possible / model.grid.possible.sum(), (len(model.totals), 1))
    pi, theta = even, np.zeros(model.size) if start is None else start
    step = 0
    for step in range(_ROUNDS):
        pi, new = _accelerated(model, pi, theta)
        moved, theta = float(np.abs(new - theta).max()), new
        if moved < 1e-11 and step > 20:
            break
    rows, information = model.efficient(pi, theta)
    gradient = np.tensordot(rows, model.counts, 3)
    values = np.linalg.eigvalsh(information)
    far = values.min() <= 0 or float(gradient @ np.linalg.solve(information, gradient)) > 1e-6
    if far or not (np.abs(theta) <= most).all():
        must = "find a maximum of the likelihood"
        raise Refused("regress", must, f"none in {step + 1} rounds: use method='corrected'")
    zeros, unknown = int((pi <= _ZERO).sum()), pi.size
    notes = [f"{zeros} of {unknown} probabilities of true covariates are estimated as 0"]
    if model.totals.sum() < _ENOUGH * unknown:
        each = model.totals.sum() / unknown
        notes.append(f"{each:.3g} records for each of these: standard errors may be too small")
    scores = None if records.sample.is_plain else model.scores(rows)
    return Fitted(
        theta, information, scores, None, step + 1, log_likelihood=model.log_likelihood(pi, theta),
        notes=tuple(notes),
    )  # fmt: skip


def _accelerated(model: Latent, *here: Array) -> tuple[Array, Array]:
    """Make two steps of EM, and one further along their curve (SQUAREM) if it is more likely."""
    one = model.expect(*here)
    two = model.expect(*one)
    first = [new - old for new, old in zip(one, here, strict=True)]
    bend = [new - old - step for new, old, step in zip(two, one, first, strict=True)]
    below = math.hypot(*(float(np.linalg.norm(x)) for x in bend))
    above = math.hypot(*(float(np.linalg.norm(x)) for x in first))
    length = max(1.0, above / below) if below > 0 else 1.0
    pi, theta = (old + 2 * length * step + length**2 * curve
                 for old, step, curve in zip(here, first, bend, strict=True))  # fmt: skip
    pi = np.maximum(pi, 1e-14) * model.grid.possible
    pi /= pi.sum(axis=1, keepdims=True)
    further = model.expect(pi, theta)
    return max(two, further, key=lambda point: model.log_likelihood(*point))


def _only_outcome(records: Records, model: Latent, most: Array) -> Fitted:
    """Find the best maximum from several starts: a noisy outcome may cause several maxima."""
    rng = np.random.default_rng(0)
    starts = [np.zeros(model.size)]
    naive = maximize(model.plain, starts[0], most)
    starts += [] if naive is None else [naive[0]]
    scale = np.where(np.isfinite(most), most / 30, 1.0)
    starts += [rng.normal(size=model.size) * scale for _ in range(_STARTS - len(starts))]
    found = [each for each in (maximize(model, start, most) for start in starts) if each]
    if not found:
        must = "find a maximum at which the information is positive definite"
        raise Refused("regress", must, f"none from {len(starts)} starts: use more records")
    theta, information, steps = max(found, key=lambda each: model.value(each[0]))
    rows, information = model.efficient(np.ones((len(model.totals), 1)), theta)
    scores = None if records.sample.is_plain else model.scores(rows)
    return Fitted(theta, information, scores, None, steps, log_likelihood=model.value(theta))
