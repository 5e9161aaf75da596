"""The main job on sample data: plan, protect, certificate, estimate."""

from __future__ import annotations

import csv
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import families
from bistochastic.files.whole import new
from bistochastic.plan import Categorical, Plan
from bistochastic.samples import COUNTS, TITANIC, titanic
from bistochastic.words import down, table, up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

# How many people and combinations are shown, and columns that are estimated together.
_SHOWN = 6
_TOGETHER = ("class", "sex", "survived")


def marginal(column: str) -> list[int]:
    """Count the people in each category of a column.

    >>> marginal("survived")
    [1490, 711]
    """
    axis = list(TITANIC).index(column)
    whole = np.reshape(COUNTS, [len(categories) for categories in TITANIC.values()])
    others = tuple(i for i in range(whole.ndim) if i != axis)
    return [int(count) for count in whole.sum(axis=others)]


def write(path: Path) -> list[Path]:
    """Write the data as CSV, and a codebook with the categories of each column next to it."""
    people = titanic()
    codebook = path.with_name(f"{path.stem}.codebook.csv")
    book = [(column, category) for column, listed in TITANIC.items() for category in listed]
    rows: dict[Path, list[Sequence[str]]] = {
        path: [list(people), *zip(*people.values(), strict=True)],
        codebook: [("column", "category"), *book],
    }
    for target, lines in rows.items():
        try:
            with new(target, "data") as part, part.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
        except FileExistsError:
            raise ValueError("`data` must be a new file; got one that there is") from None
        except OSError as error:
            raise ValueError(f"`data` must be a file to write; got {error.strerror}") from None
    return list(rows)


def report(beta: float = 0.6) -> str:
    """Write what is planned, what is published, and what can be learned from it."""
    people = titanic()
    plan = Plan(
        [
            Categorical(name, categories, "randomized_response", beta=beta)
            for name, categories in TITANIC.items()
        ],
        name="titanic",
    )
    release = plan.protect(people, shuffle=False)
    parts = list(plan.by_attribute.values())
    laws = [
        families.randomized_response(len(categories), beta=beta) for categories in TITANIC.values()
    ]
    truly = [f"{100 * (law.truthfulness or 0.0):.0f}%" for law in laws]
    rows = [
        [each.name, str(each.size), share, down(each.beta or 0.0, 4), up(each.epsilon, 4)]
        for each, share in zip(parts, truly, strict=True)
    ]
    certificate = release.certificate
    return "\n".join(
        [
            f"A table of {len(people['class']):,} people on the Titanic: class, sex, age and who "
            "survived.",
            "You want to publish it without revealing anyone's true values.",
            "",
            "1. The plan. Every value is replaced at random, with known probabilities.",
            f"   Beta {beta:g}: an average, from 0 (nothing is hidden) to 1 (everything is).",
            "   Epsilon: the most that a reported value can reveal; smaller is safer.",
            "",
            table(["Column", "Categories", "Reported truthfully", "Beta", "Epsilon"], rows),
            "",
            f"   All four columns: beta {down(plan.beta, 4)}, epsilon {up(plan.epsilon, 4)}.",
            "",
            "2. The protected table has the same columns and rows. Some people, before -> after:",
            "",
            _some(people, release.data),
            "",
            "3. The certificate states what the table hides, and what it does not.",
            f"   {certificate._line[0].upper()}{certificate._line[1:]}.",
            f"   Published unchanged: {'; '.join(certificate.published_unchanged)}.",
            *(
                textwrap.fill(each, 92, initial_indent="   ", subsequent_indent="   ")
                for each in certificate.notes
            ),
            "",
            *_estimates(plan, release.data),
            "",
            "Do the same with your own file:",
            "   bistochastic plan FILE --codebook CODEBOOK --out plan.toml",
            "   bistochastic protect FILE PROTECTED --plan plan.toml --shuffle",
        ]
    )


def _some(before: dict[str, list[str]], after: dict[str, list[str]]) -> str:
    """Show a few people, before and after."""
    step = len(before["class"]) // _SHOWN
    records = []
    for i in range(0, _SHOWN * step, step):
        values = (f"{before[name][i]} -> {after[name][i]}" for name in TITANIC)
        records.append([str(i), *values])
    return table(["Person", *TITANIC], records, left=tuple(range(1, 1 + len(TITANIC))))


def _estimates(plan: Plan, data: dict[str, list[str]]) -> list[str]:
    """Estimate what the protected table reveals about all people together."""
    title = "4. Estimates. The probabilities are known, so the noise can be corrected"
    matrices = {
        attribute.columns[0]: attribute.matrix
        for attribute in plan.attributes
        if isinstance(attribute, Categorical) and attribute.matrix is not None
    }
    if any(matrix.is_singular for matrix in matrices.values()):
        return [
            f"{title}.",
            "   Not here: at beta 1, reported values reveal nothing about the original.",
        ]
    codes = {name: _codes(name, data[name]) for name in TITANIC}
    rows = [row for name in TITANIC for row in _estimate_column(name, matrices[name], codes[name])]
    header = ["Column", "Category", "True", "Published", "Estimated", "95% interval"]
    combined = ["Class, sex, survived", "True", "Published", "Estimated"]
    return [
        f"{title}:",
        "   published counts are biased, estimates are not, and intervals show their error.",
        "",
        table(header, rows, left=(0, 1)),
        "",
        "   Combinations, too, although each column was protected separately. The six largest:",
        "",
        table(combined, _jointly(matrices, codes), left=(0,)),
    ]


def _codes(name: str, values: list[str]) -> NDArray[np.uint8]:
    places = {category: code for code, category in enumerate(TITANIC[name])}
    return np.array([places[value] for value in values], np.uint8)


def _estimate_column(name: str, matrix: Matrix, reports: NDArray[np.uint8]) -> list[list[str]]:
    """List true, published and estimated counts of a column."""
    found = matrix.estimate(reports, population="fixed")
    counts = np.bincount(reports, minlength=matrix.size)
    bounds = found.interval() * found.records
    return [
        [name, category, *(f"{count:,.0f}" for count in row), f"{low:,.0f} to {high:,.0f}"]
        for category, *row, (low, high) in zip(
            TITANIC[name], marginal(name), counts, found.counts, bounds, strict=True
        )
    ]


def _jointly(matrices: dict[str, Matrix], reports: dict[str, NDArray[np.uint8]]) -> list[list[str]]:
    """Estimate several columns at once, without assuming that they are independent."""
    others = tuple(axis for axis, name in enumerate(TITANIC) if name not in _TOGETHER)
    original = np.reshape(COUNTS, [len(categories) for categories in TITANIC.values()]).sum(
        axis=others
    )
    published = np.zeros_like(original)
    np.add.at(published, tuple(reports[name] for name in _TOGETHER), 1)
    joint = families.kron(*(matrices[name] for name in _TOGETHER))
    likeliest = joint.estimate(counts=published, method="mle").counts
    cells = [
        ", ".join(TITANIC[name][code] for name, code in zip(_TOGETHER, codes, strict=True))
        for codes in np.ndindex(published.shape)
    ]
    numbers = zip(original.flat, published.flat, likeliest, strict=True)
    rows = sorted(zip(cells, numbers, strict=True), key=lambda row: -row[1][0])[:_SHOWN]
    return [[cell, *(f"{count:,.0f}" for count in row)] for cell, row in rows]
