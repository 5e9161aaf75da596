"""``demo``: the main job on sample data."""

from __future__ import annotations

import csv
import textwrap
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from click import option

from bistochastic.errors import Refused, SingularMatrixError
from bistochastic_survey.cli.group import main, say
from bistochastic_survey.cli.options import FILE
from bistochastic_survey.files.atomic import new
from bistochastic_survey.plan import Categorical, Plan, Release
from bistochastic_survey.samples import COUNTS, TITANIC, titanic
from bistochastic_survey.wording import down, shown, table, up

if TYPE_CHECKING:
    from collections.abc import Sequence

# How many people and combinations are shown, and columns that are estimated together.
_SHOWN = 6
_TOGETHER = ("class", "sex", "survived")


@main.command(name="demo", short_help="Plan, protect and estimate sample data.")
@option("--beta", default=0.6, show_default=True, help="Beta that every column reaches.")
@option(
    "--data",
    type=FILE,
    metavar="FILE.csv",
    help="Write the data to this new file, and a codebook next to it, instead.",
)
def _demo(beta: float, data: Path | None) -> None:
    """Plan, protect and estimate the 2,201 people of the Titanic.

    \b
    bistochastic demo
    bistochastic demo --data titanic.csv
    """
    if data is None:
        say(_report(beta))
        return
    people = titanic()
    book = [(column, category) for column, listed in TITANIC.items() for category in listed]
    rows: dict[Path, list[Sequence[str]]] = {
        data: [list(people), *zip(*people.values(), strict=True)],
        data.with_name(f"{data.stem}.codebook.csv"): [("column", "category"), *book],
    }
    for target, lines in rows.items():
        try:
            with new(target, "data") as part, part.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
        except FileExistsError:
            raise Refused("data", "be a new file", "one that there is") from None
        except OSError as error:
            raise Refused("data", "be a file to write", error.strerror) from None
    for path in rows:
        say(f"Written to {shown(path)}")


def true_counts(*columns: str) -> list[int]:
    """Count the people in each category of a column, or in each combination of several."""
    others = tuple(axis for axis, name in enumerate(TITANIC) if name not in columns)
    whole = np.reshape(COUNTS, [len(categories) for categories in TITANIC.values()])
    return [int(count) for count in whole.sum(axis=others).flat]


def _report(beta: float) -> str:
    """Write what is planned, what is published, and what can be learned from it."""
    people = titanic()
    columns = [Categorical(name, categories, "randomized_response", beta=beta)
               for name, categories in TITANIC.items()]  # fmt: skip
    plan = Plan(columns, name="titanic")
    release = plan.protect(people, shuffle=False)
    rows = [
        [name, str(m.size), f"{100 * (m.truthfulness or 0.0):.0f}%", down(m.beta, 4),
         up(m.epsilon, 4)]
        for name, m in zip(TITANIC, (column.matrices[0] for column in columns), strict=True)
    ]  # fmt: skip
    step = len(people["class"]) // _SHOWN
    some = [
        [str(i), *(f"{people[name][i]} -> {release.data[name][i]}" for name in TITANIC)]
        for i in range(0, _SHOWN * step, step)
    ]
    certificate = release.certificate
    return "\n".join(
        [
            f"A table of {len(people['class']):,} people on the Titanic: class, sex, age and who "
            "survived.",
            "You want to publish it without revealing which of its values are true.",
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
            table(["Person", *TITANIC], some, left=tuple(range(1, 1 + len(TITANIC)))),
            "",
            "3. The certificate states what the table hides, and what it does not.",
            f"   {certificate._line[0].upper()}{certificate._line[1:]}.",
            f"   Published unchanged: {'; '.join(certificate.published_unchanged)}.",
            *(
                textwrap.fill(each, 92, initial_indent="   ", subsequent_indent="   ")
                for each in certificate.notes
            ),
            "",
            *_estimates(release),
            "",
            "Do the same with your own file:",
            "   bistochastic plan FILE --codebook CODEBOOK --out plan.toml",
            "   bistochastic protect FILE PROTECTED --plan plan.toml --shuffle",
        ]
    )


def _estimates(release: Release[dict[str, list[str]]]) -> list[str]:
    """Estimate what the protected table reveals about all people together."""
    title = "4. Estimates. The probabilities are known, so the noise can be corrected"
    rows = []
    try:
        for name, categories in TITANIC.items():
            found = release.estimate(name, population="fixed")
            counts = true_counts(name), found.reports * found.records, found.counts
            bounds = found.interval() * found.records
            for category, *row, (low, high) in zip(categories, *counts, bounds, strict=True):
                said = [f"{count:,.0f}" for count in row]
                rows.append([name, category, *said, f"{low:,.0f} to {high:,.0f}"])
    except SingularMatrixError:
        return [
            f"{title}.",
            "   Not here: at beta 1, reported values reveal nothing about the original.",
        ]
    # Together, without assuming that the columns are independent.
    found = release.estimate(*_TOGETHER, method="mle")
    numbers = zip(true_counts(*_TOGETHER), found.reports * found.records, found.counts, strict=True)
    cells = product(*(TITANIC[name] for name in _TOGETHER))
    largest = sorted(zip(cells, numbers, strict=True), key=lambda row: -row[1][0])[:_SHOWN]
    jointly = [[", ".join(cell), *(f"{count:,.0f}" for count in row)] for cell, row in largest]
    header = ["Column", "Category", "True", "Published", "Estimated", "95% interval"]
    return [
        f"{title}:",
        "   published counts are biased, estimates are not, and intervals show their error.",
        "",
        table(header, rows, left=(0, 1)),
        "",
        "   Combinations, too, although each column was protected separately. The six largest:",
        "",
        table(["Class, sex, survived", "True", "Published", "Estimated"], jointly, left=(0,)),
    ]
