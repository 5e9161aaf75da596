"""One attribute of a plan, with everything that a report says about it."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from bistochastic import Matrix, measures
from bistochastic_survey.pages.pictures import LARGEST, Heat, heat
from bistochastic_survey.plan import preview
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.definitions import Measures
from bistochastic_survey.plan.numeric import Attribute
from bistochastic_survey.plan.published import certain
from bistochastic_survey.report.numbers import STATED, Precision, odds, precision
from bistochastic_survey.report.sentences import (
    becomes,
    categories,
    category,
    describe,
    names,
    truthful,
    weakest,
)
from bistochastic_survey.wording import down, shown, up

# The suspicions in the table of all columns.
TABLED = STATED[:2]


class DescribedColumn:
    """One attribute: its effect on a suspicion, what it hides, and how accurate estimates are.

    ``law`` is the matrix that reveals most, ``None`` for numbers. ``odds`` is the largest factor by
    which a reported value favours one true value over another, ``None`` without a limit. ``units``
    is the number of units that it is drawn by, ``None`` if it has none or the number is unknown.
    """

    def __init__(self, attribute: Attribute, measured: Measures, units: int | None = None) -> None:
        self.attribute = attribute
        self.measured = measured
        self.units = units
        self.law: Matrix | None = None
        self.odds: Fraction | None = None
        if not attribute.whole_column:
            self.law = weakest(attribute)
            each = [odds(matrix) for matrix in attribute.matrices]
            if None not in each:
                self.odds = max(part for part in each if part is not None)

    @property
    def name(self) -> str:
        """The columns, in a sentence."""
        return names(self.attribute.columns)

    @property
    def plain(self) -> str:
        """The columns, for the text of a picture."""
        return ", ".join(map(shown, self.attribute.columns))

    @property
    def coded(self) -> Categorical | Joint:
        """The attribute, if it has categories."""
        assert not self.attribute.whole_column
        return self.attribute

    @property
    def is_open(self) -> bool:
        """Whether all of it is published unchanged."""
        return len(certain(self.attribute)) == len(self.attribute.columns)

    @property
    def badness(self) -> tuple[bool, Fraction, float]:
        """The largest of all is the least protected column."""
        return self.odds is None, self.odds or Fraction(0), -(self.measured.beta or 0.0)

    def row(self) -> tuple[str, ...]:
        """Say what the table of all columns says, without the name."""
        each = self.measured
        size, often = "numbers", "–"
        if self.law is not None:
            size = f"{each.size:,}" + " combinations" * (len(self.attribute.columns) > 1)
            often = truthful(*self.coded.matrices) or "not computed"
        beta = "not known yet" if each.beta is None else down(each.beta, 4)
        note = f" ({each.note})" if each.note else " (no noise)" if each.deterministic else ""
        return (size, often, *becomes(self.odds, TABLED), beta + note, epsilon(each.epsilon))

    def least(self) -> tuple[str, str]:
        """Name the family, and the smallest beta of a category with that category."""
        each = self.measured
        family = each.family if self.attribute.groups is not None else _spoken(each.family)
        found: list[tuple[float, str]] = []
        for matrix in () if self.law is None else self.coded.matrices:
            lines = measures.lines(matrix, [])
            if lines is None:
                return family, "–"
            beta, _ = measures.line_betas(matrix, lines)
            same = beta >= matrix.beta * (1 - 2**-44)
            name = "all alike" if same else f"`{category(self.coded, lines.worst_row[0])}`"
            found.append((min(beta, matrix.beta), name))
        beta, name = min(found, key=lambda each: each[0], default=(0.0, ""))
        return family, f"{down(beta, 4)} ({name})" if found else "–"

    @property
    def action(self) -> list[str]:
        """Say what happens to it."""
        return [describe(self.attribute)]

    @property
    def reasons(self) -> list[str]:
        """Say what a reader can become certain of, one sentence per reason."""
        if self.is_open:
            return ["every value is published unchanged, or anyone can undo it"]
        if self.attribute.whole_column:
            if self.attribute.how == "average":
                return ["the means follow from the numbers without noise. A reader who knows all "
                        "numbers of a class but one can compute that one"]  # fmt: skip
            return ["all numbers are published. Anyone can see which numbers occur and which do not"
                    ]  # fmt: skip
        found = []
        if self.attribute.missing == "keep":
            found.append("anyone can see who is missing; the limits hold for all others")
        for matrix in dict.fromkeys(self.attribute.matrices):
            if math.isinf(matrix.epsilon):
                found.append(self._excluded(matrix))
        return found

    def group(self, matrix: Matrix) -> str:
        """Say which group has a matrix; nothing if there is one for all."""
        groups = self.coded.groups
        if groups is None:
            return ""
        value = groups.labels.values[groups.matrices.index(matrix)]
        return f" where `{shown(groups.column)}` is `{shown(value)}`"

    def _excluded(self, matrix: Matrix) -> str:
        found = measures.lines(matrix, [math.inf])
        where = f"{self.group(matrix)[1:]}, ".removeprefix(", ")
        if found is None or found.witness is None:
            return f"{where}some reported values rule out some true values"
        _, w, v = (category(self.coded, code) for code in found.witness)
        told = f"{where}a reported `{v}` rules out `{w}`, for example"
        left, exact = found.deniability[0]
        if left > 1:
            return f"{told}. At least {left:,} categories remain possible after any reported value"
        return told + ". After some reported values only one category is possible" * exact

    @property
    def by_group(self) -> list[list[str]]:
        """Tabulate the matrices, one per group."""
        groups = self.coded.groups
        assert groups is not None
        return [
            [f"`{shown(value)}`", _spoken(matrix.family), *becomes(odds(matrix), TABLED),
             down(matrix.beta, 4), epsilon(matrix.epsilon)]
            for value, matrix in zip(groups.labels.values, groups.matrices, strict=True)
        ]  # fmt: skip

    def precision(self, records: int, design_effect: float = 1.0) -> Precision:
        """Compute how well proportions are estimated, under the matrix that leaves least.

        Records of one unit have one true value and one draw, so units count in their place.
        """
        unit = self.coded.unit
        many = records if unit is None else self.units
        if many is None:
            like = f"proportions, as accurately as from one record per unit of `{shown(unit)}`"
            return Precision(note=like)
        each = [precision(matrix, many, design_effect) for matrix in self.coded.matrices]
        noted = next((one for one in each if one.note), None)
        return noted or max(each, key=lambda one: one.error or 0.0)

    @property
    def estimable(self) -> list[str]:
        """Say what can be estimated from a column of numbers."""
        assert self.attribute.whole_column
        if self.is_open:
            return ["everything: it is published unchanged"]
        if self.attribute.how == "average":
            return ["the mean is exact. The spread is too small, because a class has one value"]
        return ["mean, quantiles and everything else about this column only are exact. Its "
                "correlations with other columns are weakened"]  # fmt: skip


def epsilon(x: float) -> str:
    """Write an epsilon in four digits, infinity spelled out."""
    return "infinite" if math.isinf(x) else up(x, 4)


def pictures(columns: Sequence[DescribedColumn]) -> list[Heat]:
    """Draw each matrix of some columns once, unless it is too large."""
    found: dict[Matrix, list[DescribedColumn]] = {}
    for column in columns:
        for matrix in dict.fromkeys(column.coded.matrices):
            found.setdefault(matrix, []).append(column)
    return [_picture(*each) for each in found.items() if 2 <= each[0].size <= LARGEST]


def _picture(matrix: Matrix, columns: list[DescribedColumn]) -> Heat:
    first, *others = columns
    same = [
        f"{each.name}{each.group(matrix)} ("
        + ", ".join(f"`{name}`" for name in categories(each.coded))
        + ")"
        for each in others
    ]
    caption = first.name + first.group(matrix) + "; the same for " * bool(same) + "; ".join(same)
    title = f"Probability of each reported value of {first.plain}"
    return heat(matrix.to_dense().tolist(), categories(first.coded), title=title, caption=caption)


def grouped(columns: Iterable[DescribedColumn], what: str) -> list[str]:
    """Write each sentence of columns once, after the names of all of them."""
    return preview.grouped(
        (c.attribute.columns, text) for c in columns for text in getattr(c, what)
    )


def merged(rows: Sequence[tuple[DescribedColumn, tuple[str, ...]]]) -> list[list[str]]:
    """Merge rows that say the same of several columns, and put the columns first."""
    found: dict[tuple[str, ...], list[str]] = {}
    for column, row in rows:
        together = " together" * (len(column.attribute.columns) > 1)
        found.setdefault(row, []).append(column.name + together)
    return [[", ".join(columns), *row] for row, columns in found.items()]


# Families whose names are not words once the underscores are gone.
_SPOKEN = {
    "gibbs": "Gibbs", "k_anonymous": "k-anonymous", "kron": "Kronecker product",
    "mix": "mixture", "t_transform": "T-transform",
}  # fmt: skip


def _spoken(family: str) -> str:
    return _SPOKEN.get(family, family.replace("_", " "))
