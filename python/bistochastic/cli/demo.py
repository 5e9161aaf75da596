"""The main job on data that ships with the package: the Titanic's 2,201 people.

The table is the one of the British Board of Trade inquiry (1912) as published by Dawson, *The
"unusual episode" data revisited*, Journal of Statistics Education 3(3), 1995: 32 counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import families
from bistochastic.errors import OutOfReachError
from bistochastic.words import down, table, up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

DOMAINS: dict[str, tuple[str, ...]] = {
    "class": ("1st", "2nd", "3rd", "crew"),
    "sex": ("male", "female"),
    "age": ("child", "adult"),
    "survived": ("no", "yes"),
}

# In C order of the domains: survived runs fastest, class slowest.
COUNTS: tuple[int, ...] = (
    # male child, male adult, female child, female adult: each no, yes
    0, 5, 118, 57, 0, 1, 4, 140,
    0, 11, 154, 14, 0, 13, 13, 80,
    35, 13, 387, 75, 17, 14, 89, 76,
    0, 0, 670, 192, 0, 0, 3, 20,
)  # fmt: skip


def marginal(attribute: str) -> list[int]:
    """How many people fall into each category of an attribute.

    >>> marginal("survived")
    [1490, 711]
    """
    names = list(DOMAINS)
    stride = 1
    for name in names[names.index(attribute) + 1 :]:
        stride *= len(DOMAINS[name])
    size = len(DOMAINS[attribute])
    totals = [0] * size
    for cell, count in enumerate(COUNTS):
        totals[cell // stride % size] += count
    return totals


def _truthful(matrix: Matrix, counts: tuple[int, ...] | list[int]) -> float:
    """Expected number of people reported as they are."""
    return sum(count * matrix[u, u] for u, count in enumerate(counts))


def _matrices(size: int, beta: float) -> list[tuple[str, Matrix | None, str]]:
    """Every family that can be asked for a beta, or why it cannot reach it."""
    tried: list[tuple[str, Matrix | None, str]] = []
    for name in families.BY_BETA:
        try:
            tried.append((name, families.build(name, size=size, beta=beta), ""))
        except OutOfReachError as error:
            tried.append((name, None, str(error)))
    return tried


def report(beta: float = 0.6) -> str:
    """What each family costs at a given beta."""
    people = sum(COUNTS)
    lines = [
        f"{people:,} people on the Titanic by class, sex, age and survival ({len(COUNTS)} cells).",
        f"What a beta of {beta:g} costs, family by family, for each attribute and for all jointly:",
        "",
    ]
    rows: list[list[str]] = []
    refused: list[str] = []
    domains: list[tuple[str, tuple[int, ...] | list[int]]] = [
        *((name, marginal(name)) for name in DOMAINS),
        ("all jointly", COUNTS),
    ]
    each = [families.randomized_response(len(labels), beta=beta) for labels in DOMAINS.values()]
    for name, counts in domains:
        tried = _matrices(len(counts), beta)
        if counts is COUNTS:
            # Definition 2 is Definition 3 for the product of the attributes' matrices.
            tried.append(("kron of the four", families.kron(*each), ""))
        for family, matrix, why in tried:
            if matrix is None:
                refused.append(f"{name}, {family}: {why}")
                continue
            truthful = _truthful(matrix, counts)
            rows.append(
                [
                    name,
                    str(len(counts)),
                    family,
                    f"{down(matrix.entropy_rate, 4)} of {matrix.max_bits:.4g}",
                    down(matrix.beta, 4),
                    up(matrix.epsilon, 4),
                    f"{truthful:,.0f} ({100 * truthful / people:.0f} %)",
                ]
            )
    header = ["attribute", "size", "family", "bits", "beta", "epsilon", "expected true answers"]
    lines += [table(header, rows), ""]
    lines += ["Out of reach:", *(f"  {text}" for text in refused), ""] if refused else []
    lines += [
        "The release: every attribute of every person randomized, by randomized response,",
        "under a key that was drawn for it and forgotten. Another run gives another release.",
        "",
        "Beta is an average over categories; it bounds neither epsilon nor the worst category.",
        "Where epsilon is inf, a report excludes some truths for certain.",
        "",
        *_release(beta),
    ]
    return "\n".join(lines)


def people() -> dict[str, NDArray[np.uint8]]:
    """The codes of all people, a column an attribute.

    >>> {name: column[:3].tolist() for name, column in people().items()}
    {'class': [0, 0, 0], 'sex': [0, 0, 0], 'age': [0, 0, 0], 'survived': [1, 1, 1]}
    """
    cells = np.repeat(np.arange(len(COUNTS)), COUNTS)
    columns = np.unravel_index(cells, [len(labels) for labels in DOMAINS.values()])
    return {name: column.astype(np.uint8) for name, column in zip(DOMAINS, columns, strict=True)}


def _release(beta: float) -> list[str]:
    """The data before and after: some people, and the counts of every category."""
    before = people()
    matrices = {
        name: families.randomized_response(len(labels), beta=beta)
        for name, labels in DOMAINS.items()
    }
    after = {name: matrices[name].randomize(column) for name, column in before.items()}
    some = range(0, len(before["class"]), 440)
    records = [
        [
            str(i),
            *(
                f"{DOMAINS[name][before[name][i]]} -> {DOMAINS[name][after[name][i]]}"
                for name in DOMAINS
            ),
        ]
        for i in some
    ]
    told = [table(["person", *DOMAINS], records), ""]
    if any(matrix.is_singular for matrix in matrices.values()):
        return [*told, "Reports of perfect secrecy tell nothing of the original."]
    return [
        *told,
        "What the reports tell of the original: each attribute by the inverse of its matrix, with",
        "an interval of 95 % for these very people (a fixed population); then three at once,",
        "though each was randomized on its own.",
        "",
        table(
            ["attribute", "category", "original", "reported", "estimated", "95 %"],
            [row for name in DOMAINS for row in _estimated(name, matrices[name], after[name])],
        ),
        "",
        table(
            ["class, sex, survived", "original", "reported", "estimated", "likeliest"],
            _jointly(("class", "sex", "survived"), matrices, after),
        ),
    ]


def _estimated(name: str, matrix: Matrix, reports: NDArray[np.uint8]) -> list[list[str]]:
    """Original, reported and estimated counts of an attribute."""
    found = matrix.estimate(reports, population="fixed")
    counts = np.bincount(reports, minlength=matrix.size)
    bounds = found.interval() * found.records
    return [
        [name, label, *(f"{count:,.0f}" for count in row), f"{low:,.0f} to {high:,.0f}"]
        for label, *row, (low, high) in zip(
            DOMAINS[name], marginal(name), counts, found.counts, bounds, strict=True
        )
    ]


def _jointly(
    names: tuple[str, ...], matrices: dict[str, Matrix], reports: dict[str, NDArray[np.uint8]]
) -> list[list[str]]:
    """Several attributes at once: neither independence nor a joint randomization is needed."""
    others = tuple(axis for axis, name in enumerate(DOMAINS) if name not in names)
    original = np.reshape(COUNTS, [len(labels) for labels in DOMAINS.values()]).sum(axis=others)
    table = np.zeros_like(original)
    np.add.at(table, tuple(reports[name] for name in names), 1)
    joint = families.kron(*(matrices[name] for name in names))
    inverse = joint.estimate(counts=table).counts
    likeliest = joint.estimate(counts=table, method="mle").counts
    cells = [
        ", ".join(DOMAINS[name][code] for name, code in zip(names, codes, strict=True))
        for codes in np.ndindex(table.shape)
    ]
    numbers = zip(original.flat, table.flat, inverse, likeliest, strict=True)
    return [
        [cell, *(f"{count:,.0f}" for count in row)]
        for cell, row in zip(cells, numbers, strict=True)
    ]
