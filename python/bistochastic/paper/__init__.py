"""The paper's tables, theorems and propositions, recomputed on the spot.

N. Ruiz and J. Domingo-Ferrer, "Bistochastic privacy", MDAI 2022. Every number that is shown comes
from the functions of this folder, one per statement. ``docs/paper.md`` is :func:`markdown`.

>>> [section.title for section in sections()][:2]
['Section 2.2: the two decompositions', 'Proposition 1: differential privacy']
"""

from __future__ import annotations

from bistochastic.paper.local import (
    Decomposition,
    Truth,
    decompositions,
    decompositions_section,
    proposition1,
    proposition1_section,
)
from bistochastic.paper.parameters import (
    Dominance,
    Filling,
    fillings,
    fillings_section,
    proposition3,
    proposition3_section,
)
from bistochastic.paper.section import Section
from bistochastic.paper.table import Cell, table1, table1_section
from bistochastic.paper.uncertainty import (
    Clear,
    Joint,
    Spread,
    average,
    average_section,
    proposition2,
    proposition2_section,
    theorem2,
    theorem2_section,
)

__all__ = [
    "Cell",
    "Clear",
    "Decomposition",
    "Dominance",
    "Filling",
    "Joint",
    "Section",
    "Spread",
    "Truth",
    "average",
    "decompositions",
    "fillings",
    "markdown",
    "proposition1",
    "proposition2",
    "proposition3",
    "report",
    "sections",
    "table1",
    "theorem2",
]


def sections() -> list[Section]:
    """Everything, in the paper's order."""
    return [
        decompositions_section(),
        proposition1_section(),
        theorem2_section(),
        average_section(),
        proposition2_section(),
        proposition3_section(),
        fillings_section(),
        table1_section(),
    ]


def report() -> str:
    """Everything as text for a terminal."""
    return "\n\n\n".join(section.text() for section in sections())


def markdown() -> str:
    """Everything as the page ``docs/paper.md``."""
    head = (
        "# The paper, recomputed\n\n"
        'N. Ruiz and J. Domingo-Ferrer, "Bistochastic privacy", MDAI 2022: what it states, what '
        "follows from it, and where the two differ. Written by `make paper`, which computes every "
        "number in the tables; a test holds this page to what is computed now.\n\n"
    )
    return head + "\n\n".join(section.markdown() for section in sections())
