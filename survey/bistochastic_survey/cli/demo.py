"""``demo``: the main job on sample data."""

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from click import option

import bistochastic_survey as sv
from bistochastic_survey.cli.group import main, say
from bistochastic_survey.cli.inputs import FILE, write_new
from bistochastic_survey.plan.preview import becomes
from bistochastic_survey.samples import COUNTS, TITANIC
from bistochastic_survey.wording import down, shown, table, up

# How many people are shown.
_SHOWN = 6
_HEADER = ["Column", "Category", "True", "Published", "Estimated", "95% interval"]


@main.command(name="demo", short_help="Plan, protect and estimate sample data.")
@option("--data", type=FILE, metavar="FILE.csv",
        help="Write the data to this new file, and a codebook next to it, instead.")  # fmt: skip
def _demo(data: Path | None) -> None:
    """Plan, protect and estimate the 2,201 people of the Titanic.

    \b
    bistochastic demo
    bistochastic demo --data titanic.csv
    """
    people = sv.titanic()
    if data is None:
        _show(people)
        return
    book = [(column, category) for column, listed in TITANIC.items() for category in listed]
    rows: dict[Path, list[Sequence[str]]] = {
        data: [list(people), *zip(*people.values(), strict=True)],
        data.parent / f"{data.stem}.codebook.csv": [("column", "category"), *book],
    }
    for target, lines in rows.items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(lines)
        write_new(target, "data", text.getvalue())
        say(f"Written to {shown(target)}")


def _show(people: dict[str, list[str]]) -> None:
    columns = [sv.Categorical(name, categories, "randomized_response", epsilon=1)
               for name, categories in TITANIC.items()]  # fmt: skip
    plan = sv.Plan(columns, name="titanic")
    release = plan.protect(people, shuffle=True)
    certificate = release.certificate
    central: Any = certificate.central
    matrices = {column.column: column.matrices[0] for column in columns}
    planned = [[name, str(m.size), f"{100 * (m.truthfulness or 0.0):.0f}%", down(m.beta, 4),
                up(m.epsilon, 4)] for name, m in matrices.items()]  # fmt: skip
    few = {name: people[name][:: len(people[name]) // _SHOWN][:_SHOWN] for name in TITANIC}
    drawn = plan.protect(few).data  # in the release, no row can be followed
    some = [[f"{before} -> {after}" for before, after in zip(few[name], drawn[name], strict=True)]
            for name in TITANIC]  # fmt: skip
    notes = "\n".join(textwrap.fill(each, 89) for each in certificate.notes)
    line = certificate._line
    say(f"""\
A table of {len(people["class"]):,} people on the Titanic: class, sex, age and who survived.
You want to publish it without revealing which of its values are true.

1. The plan. Every value is replaced at random, with known probabilities.
   You choose how much is hidden: here epsilon 1 of each column.
   Epsilon: the most that a reported value can reveal; smaller is safer.
   Beta: an average, from 0 (nothing is hidden) to 1 (everything is).

{table(["Column", "Categories", "Reported truthfully", "Beta", "Epsilon"], planned)}

   All four columns: beta {down(plan.beta, 4)}, epsilon {up(plan.epsilon, 4)}.
   A suspicion of 1% about a person can grow to {becomes(plan.epsilon)}, and to no more.

2. The protected table has the same columns and as many rows, in a random order.
   What another draw does to six people, before -> after:

{table(list(TITANIC), list(zip(*some, strict=True)), left=range(4))}

3. The certificate states what the table hides, and what it does not.
   {line[0].upper()}{line[1:]}.
   Published unchanged: {"; ".join(certificate.published_unchanged) or "nothing"}.
   If readers do not know which shuffled record is whose, they learn less:
   central epsilon at most {up(central.epsilon, 2)} (delta 1e{math.log10(central.delta):.0f}).
{textwrap.indent(notes, "   ")}

4. Estimates. The probabilities are known, so the noise can be corrected:
   published counts are biased, estimates are not, and intervals show their error.

{table(_HEADER, _estimates(release), left=(0, 1))}

Do the same with your own file:
   bistochastic plan FILE --codebook CODEBOOK --epsilon 1 --out plan.toml
   bistochastic protect FILE PROTECTED --plan plan.toml --shuffle""")


def _estimates(release: sv.Release[Any]) -> list[list[str]]:
    whole = np.reshape(COUNTS, [len(categories) for categories in TITANIC.values()])
    rows = []
    for axis, (name, categories) in enumerate(TITANIC.items()):
        found = release.estimate(name, population="fixed")
        true = whole.sum(axis=tuple({*range(whole.ndim)} - {axis}))
        bounds = (found.interval() * found.records).tolist()
        counts = zip(true, found.reports * found.records, found.counts, strict=True)
        for category, each, ends in zip(categories, counts, bounds, strict=True):
            numbers = [f"{count:,.0f}" for count in each]
            rows.append([name, category, *numbers, "{:,.0f} to {:,.0f}".format(*ends)])
    return rows
