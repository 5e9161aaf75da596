"""``bs.explore``: a page with one slider for beta, and the same part of a report.

The core computes every number beforehand, for each step of the slider. They stand in the page as
text, and its script looks them up. Cells of a matrix are whole percents: those that are the same at
all steps are written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, measures
from bistochastic.arguments import items
from bistochastic.choose.tradeoff import makers
from bistochastic.errors import OutOfReachError, SingularMatrixError
from bistochastic.estimate.planning import mean_standard_error
from bistochastic.families import BY_BETA
from bistochastic.markup import Markup, element, facts, join, page, section, table
from bistochastic.markup.pictures import LARGEST, cell_text, hundredths, short_names, spans
from bistochastic.matrix import Matrix
from bistochastic.report.beliefs import after, odds, percent
from bistochastic.report.levels import name
from bistochastic.report.sentences import unbroken
from bistochastic.words import down, spoken, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from bistochastic.choose.tradeoff import Make

STEPS = 41
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Stands for a chance of exactly 0, beside the whole percents up to 100.
_NEVER = 101
_BELIEFS = (Fraction(1, 100), Fraction(1, 10))


def explore(
    size_or_categories: int | Iterable[object],
    path: str | PathLike[str],
    *,
    families: Iterable[str] | Mapping[str, Make] | None = None,
    records: int = 10_000,
) -> None:
    """Write a page with a slider for beta: the matrix and what it means follow at once.

    It shows the matrix, epsilon, what a report does to a belief of 1 % and of 10 %, how many
    reports are true, how far they are from the truth, and the standard error of an estimated share
    at so many ``records``. All numbers are of the exact core, for 41 values of beta.

    * ``size_or_categories`` is the number of levels, from 2 to 32, or a list of their names.
    * ``path`` is the file, which ends in ``.html``. It needs nothing else, and opens offline.
    * ``families`` are names or functions, as in :func:`bistochastic.tradeoff`; by default all that
      a size and a beta are enough for.

    >>> import bistochastic as bs, pathlib, tempfile
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "explore.html"
    >>> bs.explore(["never", "sometimes", "often"], page)
    >>> "sometimes" in page.read_text(encoding="utf-8")
    True
    """
    from bistochastic.report.document import checked, write

    target = checked(path)
    levels = _levels(size_or_categories)
    count = _core.as_whole("records", records, 1)
    made = makers(BY_BETA if families is None else families)
    n = len(levels)
    betas = spread(STEPS)
    found = [law(label, make, n, betas, count) for label, make in made.items()]
    scene = Scene(f"{n} levels", levels, found, betas.index(0.6))
    intro = element(
        "p",
        "Beta says how much of perfect secrecy a matrix buys: 0 hides nothing, 1 hides everything. "
        "Move the slider, and see what an answer is reported as, what a stranger can learn from a "
        "report, and how well shares can still be estimated.",
    )
    tables = [
        table(
            ["beta asked for", *fact_names(count)],
            [[f"{step.asked:g}", *(step.facts or ["–"] * 7)] for step in each.steps],
            caption=f"{each.name}, {n} levels",
        )
        for each in found
    ]
    text = page(
        f"Explorer: {n} levels",
        section("The slider", intro, panel(count), id="slider"),
        section("All numbers", *tables, id="numbers"),
        lead="What each matrix hides, and what it leaves, at every beta.",
        contents=[("slider", "The slider"), ("numbers", "All numbers as tables")],
        footer=f"Made by bistochastic {package()}. Numbers are of the exact laws, rounded so that "
        "privacy is never overstated.",
        script=script(),
        data=data([scene], count),
    )
    write(target, text)


@dataclass(frozen=True)
class Step:
    """One position of the slider: what is shown there, or why nothing is.

    ``picture`` has the chances of the truth and of other reports in words, and how many of those
    never occur.
    """

    asked: float
    facts: list[str]
    picture: list[str]
    cells: list[int]
    none: str = ""


@dataclass(frozen=True)
class Law:
    """One family at all positions."""

    name: str
    steps: list[Step]


@dataclass(frozen=True)
class Scene:
    """What can be chosen: the levels of a column, its laws, and where the slider starts."""

    name: str
    levels: list[str] | range
    laws: list[Law]
    start: int

    def names(self) -> list[str]:
        """What stands beside the rows and above the columns."""
        return short_names(self.levels)


def spread(many: int) -> list[float]:
    """Betas from 0 to 1."""
    return [step / (many - 1) for step in range(many)]


def fact_names(records: int) -> list[str]:
    """What is told of every step."""
    return [
        "beta",
        "epsilon",
        unbroken("a belief of 1 % becomes at most"),
        unbroken("a belief of 10 % becomes at most"),
        "true reports",
        "mean distance from the truth, in levels",
        f"standard error of a share at {records:,} records, in percentage points",
    ]


def laws(size: int, betas: Sequence[float], records: int) -> list[Law]:
    """All families that a size and a beta are enough for."""
    return [law(label, make, size, betas, records) for label, make in makers(BY_BETA).items()]


def law(label: str, make: Make, size: int, betas: Sequence[float], records: int) -> Law:
    """One family at every beta; a step says so where it has no such matrix."""
    steps = []
    for beta in betas:
        try:
            matrix = make(size, beta)
        except OutOfReachError as error:
            if error.most is None:
                raise
            most = down(error.most, 4)
            none = f"This family has no matrix of this beta: at {size} levels the most is {most}."
            steps.append(Step(beta, [], [], [], none))
            continue
        if not isinstance(matrix, Matrix):
            must = "`families` must hold functions that return a matrix"
            raise TypeError(f"{must}; got {type(matrix).__name__}")
        if matrix.size != size:
            must = f"`families` must hold functions that return a matrix of size {size}"
            raise ValueError(f"{must}; got size {matrix.size}")
        steps.append(_step(beta, matrix, records))
    return Law(spoken(str(label)), steps)


def _step(asked: float, matrix: Matrix, records: int) -> Step:
    dense = matrix.to_dense()
    # Most entries are equal to many others.
    values, places = np.unique(dense, return_inverse=True)
    most = odds(matrix)
    one, ten = (unbroken(percent(after(belief, most))) for belief in _BELIEFS)
    if most is None:
        one = ten = "certainty"
    beta = down(matrix.beta, 4)
    epsilon = "infinite" if most is None else up(matrix.epsilon, 4)
    truth, far = matrix.truthfulness, measures.mean_distance(matrix)
    try:
        error = mean_standard_error(matrix, records)
        points = "not computed" if error is None else f"{100 * error:.3g}"
    except SingularMatrixError:
        points = "cannot be estimated"
    facts = [
        beta,
        epsilon,
        one,
        ten,
        "not computed" if truth is None else unbroken(percent(Fraction(truth))),
        "not computed" if far is None else f"{far:.3g}",
        points,
    ]
    codes = [_NEVER if p == 0 else hundredths(p) for p in values.tolist()]
    cells = [codes[i] for i in places.reshape(-1).tolist()]
    return Step(asked, facts, list(spans(dense.tolist())), cells)


def panel(records: int, *, print_it: bool = True) -> Markup:
    """The slider and what follows it; the script fills it and shows it."""
    chosen = element(
        "p",
        element("label", "Column ", element("select", id="x-column")),
        " ",
        element("label", "Family ", element("select", id="x-family")),
    )
    slider = element(
        "p",
        element("label", "Beta asked for: ", element("output", id="x-asked", for_="x-beta"),
                for_="x-beta"),
        element("input", type="range", id="x-beta", min="0", max="1", step="1", class_="bs-slider"),
        element("span", element("span", "0 hides nothing"), element("span", "1 hides everything"),
                class_="bs-ends"),
    )  # fmt: skip
    told = facts(
        (words[0].upper() + words[1:], element("span", id=f"x-fact-{i}", class_="bs-keep"))
        for i, words in enumerate(fact_names(records))
    )
    return join(
        element(
            "div",
            chosen,
            slider,
            told,
            element("p", id="x-said", role="status"),
            element("p", id="x-none", class_="bs-note", hidden=True),
            element(
                "div",
                element("svg", id="x-matrix", class_="bs-picture", role="img"),
                class_="bs-wide",
                role="group",
                aria_label="The matrix",
                tabindex="0",
            ),
            id="explorer",
            class_="bs-panel" if print_it else "bs-panel bs-screen",
            hidden=True,
        ),
        element(
            "noscript",
            element("p", "The slider needs JavaScript, which is switched off here. All else on "
                         "this page works without it.", class_="bs-note"),
        ),
    )  # fmt: skip


def data(scenes: Sequence[Scene], records: int) -> dict[str, object]:
    """All that the script looks up. Scenes of one size share their laws."""
    laws: dict[str, Sequence[Law]] = {}
    for scene in scenes:
        laws.setdefault(str(len(scene.levels)), scene.laws)
    return {
        "betas": [f"{step.asked:g}" for step in scenes[0].laws[0].steps],
        "facts": fact_names(records),
        "texts": [[cell_text(_share(code), size) for code in range(_NEVER + 1)]
                  for size in (2, LARGEST)],
        "scenes": [
            {"name": scene.name, "size": len(scene.levels), "start": scene.start,
             "levels": scene.names()}
            for scene in scenes
        ],
        "laws": {size: [_embedded(law) for law in each] for size, each in laws.items()},
    }  # fmt: skip


def _share(code: int) -> float:
    """A share that is shown like all that are written as this code."""
    return 0.0 if code == _NEVER else max(code / 100, 1e-9)


def _embedded(law: Law) -> dict[str, object]:
    """Cells that are alike at all steps are a group, and every step has a number per group."""
    known = [step.cells for step in law.steps if not step.none]
    groups: dict[tuple[int, ...], int] = {}
    index = "".join(_two(groups.setdefault(c, len(groups))) for c in zip(*known, strict=True))
    shades = iter(zip(*groups, strict=True))
    steps: list[object] = [
        step.none or [step.facts, step.picture, "".join(map(_two, next(shades)))]
        for step in law.steps
    ]
    return {"name": law.name, "index": index, "steps": steps}


def _two(number: int) -> str:
    """Two digits of base 36."""
    return _DIGITS[number // 36] + _DIGITS[number % 36]


def script() -> str:
    """The script of the slider."""
    return Path(__file__).with_name("explorer.js").read_text(encoding="utf-8")


def package() -> str:
    """The version of this package."""
    from importlib.metadata import version

    return version("bistochastic")


def _levels(given: object) -> list[str] | range:
    """The names of the levels, or their codes where there are no names."""
    must = f"be a number from 2 to {LARGEST}, or a list of 2 to {LARGEST} names"
    if isinstance(given, str | bytes):
        raise TypeError(f"`size_or_categories` must {must}; got {type(given).__name__}")
    if hasattr(given, "__index__"):
        size = _core.as_whole("size_or_categories", given, 2)
        if size > LARGEST:
            raise ValueError(f"`size_or_categories` must {must}; got {size}")
        return range(size)
    listed = items("size_or_categories", must, given)
    if not 2 <= len(listed) <= LARGEST:
        raise ValueError(f"`size_or_categories` must {must}; got {len(listed)}")
    names = [name(label) for label in listed]
    twice = next((each for i, each in enumerate(names) if each in names[:i]), None)
    if twice is not None:
        raise ValueError(f"`size_or_categories` must be distinct; got '{twice}' twice")
    return names
