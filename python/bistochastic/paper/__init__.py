"""The paper's tables, theorems and propositions, recomputed on the spot.

N. Ruiz and J. Domingo-Ferrer, "Bistochastic privacy", MDAI 2022. ``statements`` computes every
number that is shown, ``page.md`` has the words around them, and ``docs/explanation/paper.md`` is
:func:`markdown`.

>>> markdown().splitlines()[4]
'## Section 2.2: the two decompositions'
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, SupportsFloat

from bistochastic import families
from bistochastic.paper.statements import (
    SIZE,
    average,
    decompositions,
    fillings,
    lies_equal,
    peak_alpha,
    proposition1,
    proposition2,
    proposition3,
    table1,
    theorem2,
)
from bistochastic.permutations.majorization import t_transforms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "average",
    "decompositions",
    "fillings",
    "markdown",
    "proposition1",
    "proposition2",
    "proposition3",
    "report",
    "table1",
    "theorem2",
]

_WIDTH = 92


def markdown() -> str:
    """Make everything as the page ``docs/explanation/paper.md``."""
    page = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    return page.rstrip("\n").format(**_tables(), **_numbers())


def report() -> str:
    """Make everything as text for a terminal."""
    from textwrap import fill

    from bistochastic.words import table

    found: list[str] = []
    for block in markdown().split("\n\n")[2:]:
        if block.startswith("## "):
            title = block[3:]
            found.append(f"{chr(10) * bool(found)}{title}\n{'=' * len(title)}")
        elif block.startswith("|"):
            header, _, *rows = ([c.strip() for c in line[1:-1].split("|")]
                                for line in block.split("\n"))  # fmt: skip
            found.append(table(header, rows))
        else:
            found.append(fill(block, _WIDTH))
    return "\n\n".join(found)


def _table(header: str, rows: Iterable[Sequence[str]]) -> str:
    names = header.split(", ")
    lines = ["| " + " | ".join(cell or " " for cell in line) + " |" for line in (names, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(names), *lines[1:]])


def _each(values: Iterable[SupportsFloat], form: str) -> str:
    return ", ".join(f"{float(value):{form}}" for value in values)


def _tables() -> dict[str, str]:
    """Make the tables of the page, by the names that it has for them."""
    cells = table1()
    return {
        "decompositions": _table("expression, weights, identity, adds up", (
            (d.what, _each(d.weights, ".4f"), f"{float(d.not_permuting):.4f}",
             "exactly" if d.is_exact else "no")
            for d in decompositions()
        )),
        "proposition1": _table("matrix, column sums, epsilon, trace, most at that epsilon", (
            (t.what, _each(t.columns, "g"), f"{t.epsilon:.4f}", f"{t.trace:.4f}", f"{t.most:.4f}")
            for t in proposition1()
        )),
        "theorem2": _table("matrix, before, after, bits before, bits after, majorized", (
            (s.what, _each(s.before, "g"), _each(s.after, "g"), f"{s.bits[0]:.4f}",
             f"{s.bits[1]:.4f}", "yes" if s.majorized else "no")
            for s in theorem2()
        )),
        "average": _table("categories, beta with one unchanged, unchanged at beta 0.9", (
            (str(c.size), f"{c.one:.3f}", str(c.many)) for c in average()
        )),
        "proposition2": _table("matrices, sum of bits, joint bits, sum of most, joint most, beta", (
            (j.what, *(f"{x:.4f}" for x in (*j[1:], j.joint_bits / j.joint_most)))
            for j in proposition2()
        )),
        "proposition3": _table("matrix, size, least diagonal, rank, condition", (
            (d.what, str(d.size), f"{d.least:.4g}", str(d.rank),
             f"{d.condition:.4g}" if math.isfinite(d.condition) else "singular")
            for d in proposition3()
        )),
        "fillings": _table(
            "gamma, rows sum to, beta if filled, beta if mixed, epsilon if mixed",
            ((f"{f.gamma:g}", *(f"{x:.3f}" for x in f[1:])) for f in fillings()),
        ),
        "table1": _table("family, parameter, printed, from its text, another reading, namely", (
            (c.family, c.parameter, f"{c.printed}%", f"{100 * c.implied:.3f}%",
             *(("", "") if c.agrees else (f"{100 * c.read:.3f}%", c.reading)))
            for c in cells
        )),
        "wrong": f"{sum(not cell.agrees for cell in cells)} of its {len(cells)}",
    }  # fmt: skip


def _numbers() -> dict[str, str]:
    """Compute the numbers inside sentences of the page, by the names that it has for them."""
    _strict, lax, swaps, _classes = decompositions()
    keeps = [families.randomized_response(12, epsilon=e).truthfulness for e in (3, 6)]
    first, clear, peak = theorem2()[0], families.identity(12), peak_alpha()
    steps = t_transforms(first.before, first.after)
    return {
        "stay": f"{float(lax.not_permuting):.4f}",
        "rounded": f"{float(lax.not_permuting):.2f}",
        "other": f"{float(swaps.not_permuting):.4f}",
        "keep3": f"{keeps[0]:.3f}",
        "keep6": f"{keeps[1]:.3f}",
        "steps": str(len(steps)),
        "listed": ", then ".join(f"{s.i} and {s.j} with keep {s.keep}" for s in steps),
        "exactly": "exactly" if steps.apply(first.before) == list(first.after) else "inexactly",
        "sides": f"{2**clear.max_bits:.0f}",
        "left": f"{2**clear.entropy_rate:.0f}",
        "epsilons": _each((lies_equal(keep).epsilon for keep in (0.9, 0.6, 0.2)), ".3f"),
        "peak": f"{peak:.4f}",
        "most": f"{100 * families.tridiagonal(peak, size=SIZE).beta:.3f}",
    }
