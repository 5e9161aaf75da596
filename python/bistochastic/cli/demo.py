"""The main job on data that ship with the package: plan, protect, certificate, estimate."""

from __future__ import annotations

import csv
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

# People that are shown before and after, and columns that are estimated together.
_SHOWN = 6
_TOGETHER = ("class", "sex", "survived")


def marginal(attribute: str) -> list[int]:
    """How many people fall into each category of an attribute.

    >>> marginal("survived")
    [1490, 711]
    """
    axis = list(TITANIC).index(attribute)
    whole = np.reshape(COUNTS, [len(levels) for levels in TITANIC.values()])
    others = tuple(i for i in range(whole.ndim) if i != axis)
    return [int(count) for count in whole.sum(axis=others)]


def write(path: Path) -> list[Path]:
    """The data as CSV and, beside it, a codebook with the levels of each column."""
    people = titanic()
    codebook = path.with_name(f"{path.stem}.codebook.csv")
    levels = [(column, level) for column, listed in TITANIC.items() for level in listed]
    rows: dict[Path, list[Sequence[str]]] = {
        path: [list(people), *zip(*people.values(), strict=True)],
        codebook: [("column", "category"), *levels],
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
    """The whole way: what is planned, what is published, and what can be learned from it."""
    people = titanic()
    plan = Plan(
        [
            Categorical(name, levels, "randomized_response", beta=beta)
            for name, levels in TITANIC.items()
        ],
        name="titanic",
    )
    release = plan.protect(people, shuffle=False)
    parts = list(plan.by_attribute.values())
    laws = [families.randomized_response(len(levels), beta=beta) for levels in TITANIC.values()]
    truly = [f"{100 * (law.truthfulness or 0.0):.0f} %" for law in laws]
    rows = [
        [each.name, str(each.size), share, down(each.beta or 0.0, 4), up(each.epsilon, 4)]
        for each, share in zip(parts, truly, strict=True)
    ]
    certificate = release.certificate
    return "\n".join(
        [
            f"A table of {len(people['class']):,} people on the Titanic: class, sex, age and who "
            "survived.",
            "It is to be published, and nobody's answers are to be given away.",
            "",
            "1. The plan. Every answer is kept or exchanged by chance, with known probabilities.",
            f"   beta {beta:g}: this share of what could be hidden is hidden (0 nothing, 1 all).",
            "   epsilon: how much a report can tell of one person, the smaller the less.",
            "",
            table(["column", "levels", "answers kept", "beta", "epsilon"], rows),
            "",
            f"   Over all four columns: beta {down(plan.beta, 4)}, epsilon {up(plan.epsilon, 4)}.",
            "",
            "2. The protected table has the same columns and rows. Some people, before -> after:",
            "",
            _some(people, release.data),
            "",
            "3. The certificate says what the table hides, and what it does not.",
            f"   {certificate._line[0].upper()}{certificate._line[1:]}.",
            f"   Published unchanged: {'; '.join(certificate.published_unchanged)}.",
            *(f"   {sentence}" for sentence in certificate.notes),
            "",
            *_learned(plan, release.data),
            "",
            "Do the same with your own file:",
            "   bistochastic plan FILE --codebook CODEBOOK --out plan.toml",
            "   bistochastic protect FILE PROTECTED --plan plan.toml",
        ]
    )


def _some(before: dict[str, list[str]], after: dict[str, list[str]]) -> str:
    """A few people, before and after."""
    step = len(before["class"]) // _SHOWN
    records = []
    for i in range(0, _SHOWN * step, step):
        told = (f"{before[name][i]} -> {after[name][i]}" for name in TITANIC)
        records.append([str(i), *told])
    return table(["person", *TITANIC], records, left=tuple(range(1, 1 + len(TITANIC))))


def _learned(plan: Plan, data: dict[str, list[str]]) -> list[str]:
    """What the protected table tells about all people together."""
    title = "4. What can still be learned. The noise is known, so its effect can be taken out"
    matrices = {
        attribute.columns[0]: attribute.matrix
        for attribute in plan.attributes
        if isinstance(attribute, Categorical) and attribute.matrix is not None
    }
    if any(matrix.is_singular for matrix in matrices.values()):
        return [f"{title}.", "   Here it cannot: at beta 1 reports tell nothing of the original."]
    codes = {name: _codes(name, data[name]) for name in TITANIC}
    rows = [row for name in TITANIC for row in _estimated(name, matrices[name], codes[name])]
    header = ["column", "level", "true", "published", "estimated", "95 % interval"]
    combined = ["class, sex, survived", "true", "published", "estimated"]
    return [
        f"{title}:",
        "   published counts are far off, estimates are near, and an interval says how near.",
        "",
        table(header, rows, left=(0, 1)),
        "",
        "   Combinations too, though each column was protected on its own:",
        "",
        table(combined, _jointly(matrices, codes), left=(0,)),
    ]


def _codes(name: str, values: list[str]) -> NDArray[np.uint8]:
    places = {level: code for code, level in enumerate(TITANIC[name])}
    return np.array([places[value] for value in values], np.uint8)


def _estimated(name: str, matrix: Matrix, reports: NDArray[np.uint8]) -> list[list[str]]:
    """True, published and estimated counts of an attribute."""
    found = matrix.estimate(reports, population="fixed")
    counts = np.bincount(reports, minlength=matrix.size)
    bounds = found.interval() * found.records
    return [
        [name, level, *(f"{count:,.0f}" for count in row), f"{low:,.0f} to {high:,.0f}"]
        for level, *row, (low, high) in zip(
            TITANIC[name], marginal(name), counts, found.counts, bounds, strict=True
        )
    ]


def _jointly(matrices: dict[str, Matrix], reports: dict[str, NDArray[np.uint8]]) -> list[list[str]]:
    """Several attributes at once: neither independence nor a joint randomization is needed."""
    others = tuple(axis for axis, name in enumerate(TITANIC) if name not in _TOGETHER)
    original = np.reshape(COUNTS, [len(levels) for levels in TITANIC.values()]).sum(axis=others)
    published = np.zeros_like(original)
    np.add.at(published, tuple(reports[name] for name in _TOGETHER), 1)
    joint = families.kron(*(matrices[name] for name in _TOGETHER))
    likeliest = joint.estimate(counts=published, method="mle").counts
    cells = [
        ", ".join(TITANIC[name][code] for name, code in zip(_TOGETHER, codes, strict=True))
        for codes in np.ndindex(published.shape)
    ]
    numbers = zip(original.flat, published.flat, likeliest, strict=True)
    return [
        [cell, *(f"{count:,.0f}" for count in row)]
        for cell, row in zip(cells, numbers, strict=True)
    ]
