"""``bs.explore``: a page with a slider for beta, and the same slider for a report.

The core computes every number for each step of the slider. They are in the page as strings, and
its script looks them up. Cells of a matrix are in whole percent. Cells that are the same at all
steps are written once.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bistochastic import _core, measures
from bistochastic.arguments import items
from bistochastic.choose.tradeoff import attempt, makers
from bistochastic.errors import OutOfReachError, SingularMatrixError
from bistochastic.estimate.planning import mean_standard_error
from bistochastic.families import BY_BETA
from bistochastic.files import whole
from bistochastic.markup import Markup, element, facts, join, page, section, table
from bistochastic.markup.pictures import LARGEST, cell_size, cell_text, grid, heat_text, hundredths
from bistochastic.matrix import Matrix
from bistochastic.plan.run import package
from bistochastic.report.sentences import becomes, name, paragraph
from bistochastic.report.suspicion import STATED, odds, percent
from bistochastic.words import down, spoken, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from bistochastic.choose.tradeoff import Make

STEPS = 41
_NO_SCRIPT = (
    "The slider needs JavaScript, which is switched off here. Everything else on this page works "
    "without it."
)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Stands for a probability of exactly 0, next to the whole percents up to 100.
_NEVER = 101


def explore(
    size_or_categories: int | Iterable[object],
    path: str | PathLike[str],
    *,
    families: Iterable[str] | Mapping[str, Make] | None = None,
    records: int = 10_000,
) -> None:
    """Write a page with a slider for beta: the matrix and what it means follow at once.

    The page shows the matrix, epsilon, what a suspicion of 1% and of 10% becomes, the truthful
    probability, how far reported values are from true ones, and the standard error of an estimated
    proportion from ``records`` records. The core computes all numbers, for 41 values of beta.

    * ``size_or_categories`` is the number of categories, from 2 to 32, or a list of their names.
    * ``path`` is the file, which ends in ``.html``. It needs nothing else, and opens offline.
    * ``families`` are names or functions, as in :func:`bistochastic.tradeoff`; by default all that
      need only a size and a beta.

    >>> import bistochastic as bs, pathlib, tempfile
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "explore.html"
    >>> bs.explore(["never", "sometimes", "often"], page)
    >>> "sometimes" in page.read_text(encoding="utf-8")
    True
    """
    from bistochastic.report.document import validate_html_path

    target = validate_html_path(path)
    names = _names(size_or_categories)
    count = _core.as_whole("records", records, 1)
    made = makers(BY_BETA if families is None else families)
    n = len(names)
    found = laws(made, n, STEPS, count, drawn=True)
    intro = paragraph(
        "Beta is the part of perfect secrecy that a matrix gives: 0 hides nothing, 1 hides "
        "everything. Move the slider to see what a true category is reported as, what a reader can "
        "learn from a reported value, and how well proportions can still be estimated."
    )
    header = ["requested beta", *fact_names(count)]
    tables = []
    for each in found:
        rows = [[f"{step.asked:g}", *(step.facts or ["–"] * 7)] for step in each.steps]
        tables.append(table(header, rows, caption=f"{each.name}, {n} categories"))
    cell, size = cell_size(n)
    empty = element("g", id="x-cells", data_cell=cell, data_size=n, font_size=size)
    strikes = element("path", id="x-strikes", class_="bs-strike")
    picture = grid(names, [empty, strikes], None,
                   title="Probability of each reported category at the chosen beta",
                   description="The slider chooses the matrix.")  # fmt: skip
    text = page(
        f"Explorer: {n} categories",
        section("The slider", intro, panel(count, picture), id="slider"),
        section("All numbers", *tables, id="numbers"),
        lead="What each matrix hides, and what it leaves, at every beta.",
        contents=[("slider", "The slider"), ("numbers", "All numbers as tables")],
        footer=f"Made by bistochastic {package()}. Numbers are exact, rounded so that privacy is "
        "never overstated.",
        script=script(),
        data=data([Scene(f"{n} categories", n, found, round(0.6 * (STEPS - 1)))], count),
    )
    whole.write(target, "path", text)


class Step(NamedTuple):
    """One position of the slider: what is shown there, or why nothing is.

    ``picture`` says what the matrix looks like, and ``cells`` has its entries, if it is drawn.
    """

    asked: float
    facts: list[str]
    picture: str = ""
    cells: tuple[int, ...] = ()
    none: str = ""


class Law(NamedTuple):
    """One family at all positions."""

    name: str
    steps: list[Step]


class Scene(NamedTuple):
    """The choices of a page: a column of some size, its families, and the start of the slider."""

    name: str
    size: int
    laws: list[Law]
    start: int


def fact_names(records: int) -> list[str]:
    """Name what is shown at every step."""
    return [
        "beta",
        "epsilon",
        "a suspicion of 1% becomes at most",
        "a suspicion of 10% becomes at most",
        "truthful probability, mean",
        "mean distance from the true category, in categories",
        f"standard error of a proportion from {records:,} records, in percentage points",
    ]


def laws(
    made: Mapping[str, Make], size: int, many: int, records: int, *, drawn: bool = False
) -> list[Law]:
    """Compute families at betas from 0 to 1; a step says so if a family has no such matrix."""
    found = []
    for label, make in made.items():
        steps = []
        for beta in (step / (many - 1) for step in range(many)):
            matrix = attempt(make, size, beta)
            if isinstance(matrix, OutOfReachError):
                none = "This family has no matrix of this beta: with "
                none += f"{size} categories the most is {down(matrix.most or 0.0, 4)}."
                steps.append(Step(beta, [], none=none))
                continue
            if matrix.size != size:
                must = f"`families` must hold functions that return a matrix of size {size}"
                raise ValueError(f"{must}; got size {matrix.size}")
            steps.append(_step(beta, matrix, records, drawn))
        found.append(Law(spoken(str(label)), steps))
    return found


def _step(asked: float, matrix: Matrix, records: int, drawn: bool) -> Step:
    most = odds(matrix)
    truth, far = matrix.truthfulness, measures.mean_distance(matrix)
    try:
        error = mean_standard_error(matrix, records)
        points = "not computed" if error is None else f"{100 * error:.3g}"
    except SingularMatrixError:
        points = "cannot be estimated"
    facts = [
        down(matrix.beta, 4),
        "infinite" if most is None else up(matrix.epsilon, 4),
        *becomes(most, STATED[:2]),
        "not computed" if truth is None else percent(Fraction(truth)),
        "not computed" if far is None else f"{far:.3g}",
        points,
    ]
    if not drawn:
        return Step(asked, facts)
    dense = matrix.to_dense()
    # Most entries are equal to many others.
    values, places = np.unique(dense, return_inverse=True)
    codes = np.array([_NEVER if p == 0 else hundredths(p) for p in values.tolist()])
    return Step(asked, facts, heat_text(dense.tolist()), tuple(codes[places.reshape(-1)].tolist()))


def panel(records: int, picture: Markup | None = None) -> Markup:
    """Make the slider and what follows it; the script fills it and shows it."""
    column = element("label", "Column ", element("select", id="x-column"))
    family = element("label", "Family ", element("select", id="x-family"))
    slider = element(
        "p",
        element("label", "Requested beta: ", element("output", id="x-asked", for_="x-beta"),
                for_="x-beta"),
        element("input", type="range", id="x-beta", min="0", max="1", step="1", class_="bs-slider"),
        element("span", element("span", "0 hides nothing"), element("span", "1 hides everything"),
                class_="bs-ends"),
    )  # fmt: skip
    values = facts(
        (words[0].upper() + words[1:], element("span", id=f"x-fact-{i}", class_="bs-keep"))
        for i, words in enumerate(fact_names(records))
    )
    drawn = None if picture is None else element(
        "div", picture, id="x-matrix", class_="bs-wide", role="group", aria_label="The matrix",
        tabindex="0")  # fmt: skip
    return join(
        element(
            "div",
            element("p", column, " ", family),
            slider,
            values,
            element("p", id="x-said", role="status"),
            element("p", id="x-none", class_="bs-note", hidden=True),
            drawn,
            id="explorer",
            class_="bs-panel",
            hidden=True,
        ),
        element("noscript", element("p", _NO_SCRIPT, class_="bs-note")),
    )


def data(scenes: Sequence[Scene], records: int) -> dict[str, object]:
    """Collect what the script looks up. Scenes of one size share their families."""
    size = scenes[0].size
    # Proportions that are shown like all proportions with the same code.
    shares = [*(max(code / 100, 1e-9) for code in range(_NEVER)), 0.0]
    return {
        "betas": [f"{step.asked:g}" for step in scenes[0].laws[0].steps],
        "facts": fact_names(records),
        "texts": [cell_text(share, size) for share in shares],
        "scenes": [{"name": each.name, "size": each.size, "start": each.start} for each in scenes],
        "laws": {str(each.size): [_embedded(law) for law in each.laws] for each in scenes},
    }


def _embedded(law: Law) -> dict[str, object]:
    """Cells that are alike at all steps are a group, and every step has a number per group."""
    known = [step.cells for step in law.steps if not step.none]
    groups: dict[tuple[int, ...], int] = {}
    index = "".join(_two(groups.setdefault(c, len(groups))) for c in zip(*known, strict=True))
    shades = zip(*groups, strict=True) if groups else iter([()] * len(known))
    steps: list[object] = [
        step.none or [step.facts, step.picture, "".join(map(_two, next(shades)))]
        for step in law.steps
    ]
    return {"name": law.name, "index": index, "steps": steps}


def _two(number: int) -> str:
    """Write a number in two digits of base 36."""
    return _DIGITS[number // 36] + _DIGITS[number % 36]


def script() -> str:
    """Read the script of the slider."""
    return Path(__file__).with_name("explorer.js").read_text(encoding="utf-8")


def _names(given: object) -> list[str]:
    """List the names of the categories, or their codes if they have no names."""
    must = f"be a number from 2 to {LARGEST}, or a list of 2 to {LARGEST} names"
    if isinstance(given, str | bytes):
        raise TypeError(f"`size_or_categories` must {must}; got {type(given).__name__}")
    if hasattr(given, "__index__"):
        size = _core.as_whole("size_or_categories", given, 2)
        if size > LARGEST:
            raise ValueError(f"`size_or_categories` must {must}; got {size}")
        return [str(code) for code in range(size)]
    listed = items("size_or_categories", must, given)
    if not 2 <= len(listed) <= LARGEST:
        raise ValueError(f"`size_or_categories` must {must}; got {len(listed)}")
    names = [name(label) for label in listed]
    twice = next((each for i, each in enumerate(names) if each in names[:i]), None)
    if twice is not None:
        raise ValueError(f"`size_or_categories` must be distinct; got '{twice}' twice")
    return names
