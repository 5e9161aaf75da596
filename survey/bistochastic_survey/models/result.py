"""``Regression``: coefficients of the original, with their errors and the cost of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic_survey.analysis.request import between
from bistochastic_survey.table.results import framed
from bistochastic_survey.wording import shown, table, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic_survey.checks import Array
    from bistochastic_survey.table.results import Maker


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Coefficients that the original table would give, estimated from a protected one.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("x", ["a", "b"], "randomized_response", keep=0.9)],
    ...                keep=["y"])
    >>> frame = {"x": ["a", "b", "b", "a", "b"] * 20, "y": [1, 4, 2, 3, 3] * 20}
    >>> sv.Release(frame, plan).regress("y ~ x", model="linear")
    Linear regression by corrected moments: y ~ x
    outcome: y; records: 100
    <BLANKLINE>
                 coef  std err      z  P>|z|  [0.025  0.975]  no noise    cost
    ---------  ------  -------  -----  -----  ------  ------  --------  ------
    Intercept  1.8000   0.1971  9.133  0.000  1.4137  2.1863    0.1323  x 1.49
    x[T.b]     1.2800   0.2452  5.219  0.000  0.7993  1.7607    0.1673  x 1.47
    """

    formula: str
    model: str
    method: str
    """``"corrected"`` or ``"likelihood"``."""
    outcomes: tuple[str, ...]
    """The categories of the outcome, which are compared with the first; or its name."""
    terms: tuple[str, ...]
    """The columns of the design, as formulaic names them."""
    coefficients: Array
    """One for each of :attr:`names`."""
    covariance: Array
    """The covariance matrix of the coefficients."""
    without_noise: Array | None
    """Standard errors of the same model without noise; None if the design does not give them."""
    records: int
    degrees: float
    """Degrees of freedom of the intervals; infinite without a survey design."""
    steps: int
    negative: float
    """The negative part of the corrected table, relative to its total."""
    log_likelihood: float | None
    notes: tuple[str, ...] = ()
    _make: Maker | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.coefficients, self.covariance, self.without_noise):
            if array is not None:
                array.flags.writeable = False

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients; in a multinomial model with the category in front."""
        if self.model != "multinomial":
            return self.terms
        return tuple(f"{each}: {term}" for each in self.outcomes[1:] for term in self.terms)

    @property
    def standard_errors(self) -> Array:
        """The standard error of each coefficient."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def p_values(self) -> Array:
        """The p-value of each coefficient being 0, normal or Student's."""
        from scipy import special

        z = -np.abs(self.coefficients / self.standard_errors)
        if math.isinf(self.degrees):
            return np.asarray(2 * special.ndtr(z))
        return np.asarray(2 * special.stdtr(self.degrees, z))

    def interval(self, confidence: float = 0.95) -> Array:
        """Return lower and upper bounds of every coefficient, of shape ``(k, 2)``.

        They are normal, or Student's with :attr:`degrees` under a survey design.
        """
        from scipy import special

        alpha = 1 - between("confidence", confidence)
        times = math.inf
        if self.degrees == math.inf:
            times = -special.ndtri(alpha / 2)
        elif self.degrees >= 1:
            times = -special.stdtrit(self.degrees, alpha / 2)
        away = times * self.standard_errors
        return np.stack([self.coefficients - away, self.coefficients + away], axis=1)

    def to_frame(self, library: str | None = None) -> Any:
        """Return the coefficients as a DataFrame, of the same library as the protected table.

        The columns are ``term``, ``coefficient``, ``standard_error``, ``z``, ``p_value``, ``low``,
        ``high``, and ``without_noise`` if it is known. A multinomial model has ``outcome`` first.
        """
        return framed(self._columns(), self._make, library)

    def _columns(self) -> dict[str, Sequence[object] | np.ndarray]:
        return {**self._labels(), **self._numbers()}

    def _labels(self) -> dict[str, list[str]]:
        blocks = len(self.coefficients) // len(self.terms)
        names = {"term": list(self.terms) * blocks}
        if self.model == "multinomial":
            names = {"outcome": list(np.repeat(self.outcomes[1:], len(self.terms))), **names}
        return names

    def _numbers(self) -> dict[str, Array]:
        low, high = self.interval().T
        z = "z" if math.isinf(self.degrees) else "t"
        known = {} if self.without_noise is None else {"without_noise": self.without_noise}
        return {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            z: self.coefficients / self.standard_errors,
            "p_value": self.p_values,
            "low": low,
            "high": high,
            **known,
        }

    def summary(self) -> str:
        """Write a table in the style of statsmodels, with the cost of the noise.

        The last two columns have the standard error of the same model without noise, and how many
        times larger it is with noise.
        """
        numbers = self._numbers()
        z = list(numbers)[2]
        header = ["", "coef", "std err", z, f"P>|{z}|", "[0.025", "0.975]"]
        header += ["no noise", "cost"] * (self.without_noise is not None)
        rows = []
        for name, *given in zip(self.names, *numbers.values(), strict=True):
            digits = (4, 4, 3, 3, 4, 4)
            row = [f"{x:.{places}f}" for x, places in zip(given, digits, strict=False)]
            if self.without_noise is not None:
                error, plain = given[1], given[-1]
                row += (f"{plain:.4f}", f"x {error / plain:.2f}") if plain > 0 else ("", "")
            rows.append([shown(name), *row])
        return "\n".join([*self._facts(), "", table(header, rows, left=(0,)), *self._remarks()])

    def _facts(self) -> list[str]:
        how = "by the corrected score" if self.method == "corrected" else "by maximum likelihood"
        how = "by corrected moments" if self.model == "linear" else how
        what = shown(self.outcomes[0])
        if self.model == "logistic":
            what = f"{shown(self.outcomes[1])} rather than {what}"
        elif self.model == "multinomial":
            what = f"{len(self.outcomes)} categories, compared with {what}"
        lines = [
            f"{self.model.capitalize()} regression {how}: {visible(self.formula)}",
            f"outcome: {what}; records: {self.records:,}",
        ]
        if math.isfinite(self.degrees):
            lines[-1] += f"; degrees of freedom: {self.degrees:g}"
        if self.log_likelihood is not None:
            lines[-1] += f"; log-likelihood: {self.log_likelihood:.3f}"
        return lines

    def _remarks(self) -> list[str]:
        found = [f"note: {each}" for each in self.notes]
        if self.negative > 0:
            part = f"{self.negative:.2%} of the corrected table"
            found.append(f"note: {part} is negative, which noise can cause")
        return found

    __repr__ = summary

    def _repr_html_(self) -> str:
        from bistochastic_survey.pages import render

        names, numbers = self._labels(), self._numbers()
        cells = [[f"{each:.4g}" for each in column] for column in numbers.values()]
        caption, *facts = self._facts()
        table = {"caption": caption, "header": [*names, *numbers], "left": range(len(names)),
                 "rows": list(zip(*names.values(), *cells, strict=True))}  # fmt: skip
        return render("notebook", tables=[table], lines=[*facts, *self._remarks()])
