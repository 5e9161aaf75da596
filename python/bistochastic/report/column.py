"""One attribute of a plan, and all that a report says of it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from bistochastic import _core, measures
from bistochastic.markup import Markup, element, heat, join, table
from bistochastic.markup.pictures import LARGEST
from bistochastic.plan.published import certain, of_attribute, phrases
from bistochastic.report.beliefs import even_odds, odds
from bistochastic.report.deeds import weakest
from bistochastic.report.levels import level, levels
from bistochastic.report.precision import Precision, precision
from bistochastic.report.sentences import becomes, before, beliefs, count, names, points, said
from bistochastic.words import down, shown, spoken, up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.matrix import Matrix
    from bistochastic.plan.attributes import Attribute, Categorical, Joint
    from bistochastic.plan.definitions import Measures


class Column:
    """One attribute: what it does to beliefs, what it hides, and what it leaves.

    ``law`` is the rule that a stranger learns most from, None for numbers. ``odds`` is the largest
    factor by which a report favours one answer over another, None where there is no such bound.
    """

    def __init__(self, attribute: Attribute, measured: Measures) -> None:
        self.attribute = attribute
        self.measured = measured
        self.law: Matrix | None = None
        self.odds: Fraction | None = None
        if not attribute.whole_column:
            self.law = weakest(attribute)
            each = [odds(matrix) for matrix in attribute.matrices]
            if None not in each:
                self.odds = max(part for part in each if part is not None)

    @property
    def name(self) -> Markup:
        """The columns, set apart."""
        return names(self.attribute.columns)

    @property
    def plain(self) -> str:
        """The columns, for the text of a picture."""
        return ", ".join(map(shown, self.attribute.columns))

    @property
    def has_groups(self) -> bool:
        """Whether the rule depends on another column."""
        return self.attribute.groups is not None

    @property
    def coded(self) -> Categorical | Joint:
        """The attribute, where it has levels."""
        assert not self.attribute.whole_column
        return self.attribute

    @property
    def is_open(self) -> bool:
        """Whether all of it is published unchanged."""
        return len(certain(self.attribute)) == len(self.attribute.columns)

    def sentence(self) -> Markup:
        """What a report of this column does to a belief."""
        if self.is_open:
            return said("The column is published unchanged: everyone knows the truth for certain.")
        if self.attribute.whole_column:
            if self.attribute.how == "average":
                return said("Someone who knows all values of a class but one knows that one, too.")
            return said(
                "All numbers are public, and only whose they are is hidden. There is no bound on "
                "what someone can learn who knows the numbers of others."
            )
        who = "Of those who gave an answer: " if self.attribute.missing == "keep" else ""
        if self.odds is None:
            text = "Someone may become certain that an answer is not the true one."
            kinds = ("column", "renamed", "categories", "sometimes")
            told = [fact for fact in of_attribute(self.attribute) if fact.kind in kinds]
            if told:
                text += f" Published unchanged: {'; '.join(phrases(told))}."
        else:
            text = beliefs(self.odds)
        return said(f"{who}{text}{self._even()}")

    def _even(self) -> str:
        """What holds on average over the other answers, where that is less than the worst case."""
        matrices = self.coded.matrices
        if matrices[0].size < 3:
            return ""
        each = [even_odds(matrix) for matrix in matrices]
        if None in each:
            return ""
        told = becomes(max(part for part in each if part is not None))
        if told == becomes(self.odds):
            return ""
        return (
            " That is the worst case. If all other answers seem equally likely, 1 % becomes at "
            f"most {told[0]}, 10 % at most {told[1]}, and 50 % at most {told[2]}."
        )

    def remark(self) -> str | None:
        """What has to be said beside the name."""
        if self.attribute.missing == "keep":
            return " (of those who gave an answer)"
        return None

    def reasons(self) -> list[str]:
        """What a report may make certain, a sentence each."""
        if self.is_open:
            return ["every answer is published unchanged, or so that everyone can undo it"]
        if self.attribute.whole_column:
            if self.attribute.how == "average":
                return [
                    "the means follow from the numbers without chance. Someone who knows all "
                    "numbers of a class but one can compute that one"
                ]
            return [
                "all numbers are published as they are. Everyone sees for certain which numbers "
                "occur in the file and which do not"
            ]
        found = []
        if self.attribute.missing == "keep":
            found.append("everyone sees who gave no answer")
        for matrix in dict.fromkeys(self.attribute.matrices):
            if math.isinf(matrix.epsilon):
                found.append(self._excluded(matrix))
        return found

    def _excluded(self, matrix: Matrix) -> str:
        found = measures.lines(matrix, [math.inf])
        where = ""
        groups = self.coded.groups
        if groups is not None:
            value = groups.labels.values[groups.matrices.index(matrix)]
            where = f"where `{shown(groups.column)}` is `{shown(value)}`, "
        if found is None or found.witness is None:
            return f"{where}some reports rule some answers out for certain"
        _, w, v = (level(self.coded, code) for code in found.witness)
        told = f"{where}a report of `{v}` rules out `{w}`, for example"
        left, exact = found.deniability[0]
        if left > 1:
            return f"{told}. Whatever is reported, {left:,} answers or more remain possible"
        return f"{told}. After some reports only one answer remains possible" if exact else told

    def picture(self) -> Markup | None:
        """The chances of every report, where they can be drawn."""
        if self.law is None or not 2 <= self.law.size <= LARGEST:
            return None
        rows = self.law.to_dense().tolist()
        drawn = heat(
            rows,
            levels(self.coded, LARGEST),
            title=f"The chances of every report of {self.plain}",
        )
        unit = "" if self.law.size <= 12 else " in percent"
        caption = f"A row for each true answer, a column for each report, its chance{unit} inside."
        if any(p == 0 for row in rows for p in row):
            caption += " A cell that is struck through never occurs."
        wrapped = element("div", drawn, class_="bs-wide", role="group", tabindex="0",
                          aria_label=f"Picture of {self.plain}")  # fmt: skip
        return element("figure", wrapped, element("figcaption", caption))

    def worst_row(self) -> tuple[float, str] | None:
        """The smallest beta of a row over all rules, and the level that it belongs to."""
        found = []
        for matrix in self.coded.matrices:
            lines = measures.lines(matrix, [])
            if lines is None:
                return None
            code, bits = lines.worst_row
            beta = bits / (matrix.max_bits or 1.0) * (1 - 2**-48) if matrix.size > 1 else 1.0
            # Where all rows are alike the worst is the mean; rounding would say another number.
            same = matrix.beta == 1 or beta >= matrix.beta * (1 - 2**-44)
            name = "all alike" if same else level(self.coded, code)
            found.append((matrix.beta if same else max(0.0, beta), name))
        return min(found, key=lambda each: each[0])

    def row(self) -> list[object]:
        """A row of the table of measures."""
        each = self.measured
        worst: object = "–"
        if self.law is not None and (row := self.worst_row()) is not None:
            level = row[1] if row[1] == "all alike" else element("code", row[1])
            worst = join(down(row[0], 4), " (", level, ")")
        family = each.family if self.has_groups else spoken(each.family)
        note = f" ({each.note})" if each.note else ""
        return [
            self.name,
            family + (" (no chance)" if each.deterministic else ""),
            self._size(),
            "–" if each.beta is None else down(each.beta, 4) + note,
            worst,
            epsilon(each.epsilon),
        ]

    def _size(self) -> str:
        if self.measured.size is None:
            return "records"
        if self.law is None:
            return count(self.measured.size, "record")
        return f"{self.measured.size:,}"

    def groups(self) -> Markup | None:
        """What each rule does, where there are several."""
        if self.attribute.groups is None:
            return None
        groups = self.attribute.groups
        header = [shown(groups.column), "rule", "beta", "epsilon", *before()]
        rows = [
            [element("code", shown(value)), spoken(matrix.family), down(matrix.beta, 4),
             epsilon(matrix.epsilon), *becomes(odds(matrix))]
            for value, matrix in zip(groups.labels.values, groups.matrices, strict=True)
        ]  # fmt: skip
        caption = f"{self.plain}: the rules by {shown(groups.column)}"
        return table(header, rows, caption=caption, left=(0, 1))

    def precision(self, records: int, design_effect: float = 1.0) -> Precision:
        """How well shares are estimated, under the rule that leaves least."""
        each = [precision(matrix, records, design_effect) for matrix in self.coded.matrices]
        noted = next((one for one in each if one.note), None)
        return noted or max(each, key=lambda one: one.error or 0.0)

    def kept(self) -> str:
        """What a column of numbers still tells."""
        assert self.attribute.whole_column
        if self.is_open:
            return "everything: it is published unchanged"
        if self.attribute.how == "average":
            return (
                "the mean is that of the original. The spread is smaller, because the "
                "values of a class are all alike"
            )
        return (
            "the mean, the quantiles and all that concerns this column alone are those of "
            "the original. What it has to do with other columns is weakened"
        )

    def digests(self) -> list[list[object]]:
        """The digest of every rule."""
        matrices: Sequence[Matrix | None] = (
            [self.attribute.matrix] if self.attribute.whole_column else self.attribute.matrices
        )
        return [[self.name, element("code", _core.digest_of(m))] for m in matrices if m is not None]


def epsilon(x: float) -> str:
    """An epsilon in four digits, infinity spelled out."""
    return "infinite" if math.isinf(x) else up(x, 4)


def errors(column: Column, records: int, design_effect: float = 1.0) -> list[object]:
    """A row of the table of errors, for a column of which shares can be estimated."""
    found = column.precision(records, design_effect)
    within = "–" if found.within is None else f"± {points(found.within)}"
    return [column.name, points(found.error or 0.0), within, count(found.alike or 0, "record")]
