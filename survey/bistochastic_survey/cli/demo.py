"""``demo``: the main job on sample data."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from click import option

import bistochastic_survey as sv
from bistochastic.errors import Refused, SingularMatrixError
from bistochastic_survey.cli.group import main, say
from bistochastic_survey.cli.options import FILE
from bistochastic_survey.files.atomic import new
from bistochastic_survey.plan.preview import becomes
from bistochastic_survey.samples import COUNTS, TITANIC
from bistochastic_survey.wording import down, shown, table, up

# How many people and combinations are shown, and columns that are estimated together.
_SHOWN = 6
_TOGETHER = ("class", "sex", "survived")


@main.command(name="demo", short_help="Plan, protect and estimate sample data.")
@option("--epsilon", type=float, help="Epsilon of every column; 1 without --beta.")
@option("--beta", type=float, help="Beta that every column reaches, instead of epsilon.")
@option(
    "--data",
    type=FILE,
    metavar="FILE.csv",
    help="Write the data to this new file, and a codebook next to it, instead.",
)
def _demo(epsilon: float | None, beta: float | None, data: Path | None) -> None:
    """Plan, protect and estimate the 2,201 people of the Titanic.

    \b
    bistochastic demo
    bistochastic demo --data titanic.csv
    """
    people = sv.titanic()
    if data is None:
        asked = {"epsilon": 1.0} if epsilon is beta is None else {"epsilon": epsilon, "beta": beta}
        say(_report(people, {name: x for name, x in asked.items() if x is not None}))
        return
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
        say(f"Written to {shown(target)}")


def _report(people: dict[str, list[str]], asked: dict[str, float]) -> str:
    """Write what is planned, what is published, and what can be learned from it."""
    columns = [sv.Categorical(name, categories, "randomized_response", **asked)
               for name, categories in TITANIC.items()]  # fmt: skip
    plan = sv.Plan(columns, name="titanic")
    [(chosen, number)] = asked.items()
    release = plan.protect(people, shuffle=False)
    certificate = release.certificate
    laws = [
        [name, str(m.size), f"{100 * (m.truthfulness or 0.0):.0f}%", down(m.beta, 4),
         up(m.epsilon, 4)]
        for name, m in zip(TITANIC, (column.matrices[0] for column in columns), strict=True)
    ]  # fmt: skip
    many = len(people["class"])
    some = [
        [str(i), *(f"{people[name][i]} -> {release.data[name][i]}" for name in TITANIC)]
        for i in range(0, many - many % _SHOWN, many // _SHOWN)
    ]
    filled = [textwrap.fill(each, 89) for each in certificate.notes]
    notes = textwrap.indent("\n".join(filled), "   ")
    return f"""\
A table of {many:,} people on the Titanic: class, sex, age and who survived.
You want to publish it without revealing which of its values are true.

1. The plan. Every value is replaced at random, with known probabilities.
   You choose how much is hidden: here {chosen} {number:g} of each column.
   Epsilon: the most that a reported value can reveal; smaller is safer.
   Beta: an average, from 0 (nothing is hidden) to 1 (everything is).

{table(["Column", "Categories", "Reported truthfully", "Beta", "Epsilon"], laws)}

   All four columns: beta {down(plan.beta, 4)}, epsilon {up(plan.epsilon, 4)}.
   A suspicion of 1% about a person can grow to {becomes(plan.epsilon)}, and to no more.

2. The protected table has the same columns and rows. Some people, before -> after:

{table(["Person", *TITANIC], some, left=(1, 2, 3, 4))}

3. The certificate states what the table hides, and what it does not.
   {certificate._line[0].upper()}{certificate._line[1:]}.
   Published unchanged: {"; ".join(certificate.published_unchanged)}.
{notes}

4. Estimates. The probabilities are known, so the noise can be corrected{_estimates(release)}

Do the same with your own file:
   bistochastic plan FILE --codebook CODEBOOK --epsilon 1 --out plan.toml
   bistochastic protect FILE PROTECTED --plan plan.toml --shuffle"""


def _estimates(release: sv.Release[Any]) -> str:
    """Estimate what the protected table reveals about all people together."""
    whole = np.reshape(COUNTS, [len(categories) for categories in TITANIC.values()])

    def numbers(found: Any, *columns: str) -> list[list[str]]:
        """The true, the published and the estimated number of people in each cell."""
        others = tuple(axis for axis, name in enumerate(TITANIC) if name not in columns)
        counts = whole.sum(axis=others).ravel(), found.reports * found.records, found.counts
        return [[f"{count:,.0f}" for count in row] for row in zip(*counts, strict=True)]

    rows = []
    try:
        for name, categories in TITANIC.items():
            found = release.estimate(name, population="fixed")
            bounds = (found.interval() * found.records).tolist()
            for category, row, ends in zip(categories, numbers(found, name), bounds, strict=True):
                rows.append([name, category, *row, "{:,.0f} to {:,.0f}".format(*ends)])
    except SingularMatrixError:
        return ".\n   Not here: at beta 1, reported values reveal nothing about the original."
    # Together, without assuming that the columns are independent.
    joint = numbers(release.estimate(*_TOGETHER, method="mle"), *_TOGETHER)
    cells = product(*(TITANIC[name] for name in _TOGETHER))
    listed = [[", ".join(cell), *row] for cell, row in zip(cells, joint, strict=True)]
    largest = sorted(listed, key=lambda row: -int(row[1].replace(",", "")))[:_SHOWN]
    header = ["True", "Published", "Estimated"]
    return f""":
   published counts are biased, estimates are not, and intervals show their error.

{table(["Column", "Category", *header, "95% interval"], rows, left=(0, 1))}

   Combinations, too, although each column was protected separately. The six largest:

{table([", ".join(_TOGETHER).capitalize(), *header], largest)}"""
