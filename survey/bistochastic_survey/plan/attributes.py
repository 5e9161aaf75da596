"""``Categorical``, ``Joint`` and ``Numeric``: what a plan does to one column, or to several.

An attribute is made without seeing any data: the categories are declared, and the number of records
of a numeric column comes later. All are frozen, and equal if they do the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

import bistochastic as bs
from bistochastic import Matrix, backend, build, structure
from bistochastic.choose import by_suspicion, reach
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan.bins import Bins, clipped
from bistochastic_survey.plan.labels import Label, Labels, padded
from bistochastic_survey.release.columns import Coded, Missing, Whole, read_numbers
from bistochastic_survey.wording import Shown, about, down, prefix, row, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from bistochastic.backend import Family
    from bistochastic_survey.plan.bins import Break
    from bistochastic_survey.release.columns import Places
    from bistochastic_survey.table.frames import Codes, Mask, Table

    Given = Mapping[str, object]
    Cells = tuple[tuple[Label | None, ...], ...]
    Recodes = tuple[tuple[tuple[Label, Label | None], ...], ...]
    # The fields of `Coded`, in their order.
    Axes = tuple[Labels, ...]
    Names = tuple[str, ...]
    Held = tuple[
        Names, Axes, Matrix | None, Missing, "Groups | None", Cells, bool, str | None, Recodes
    ]

MISSING = ("raise", "keep", "category")
FAMILIES: tuple[str, ...] = get_args(backend.Family)

# The codes of a joint attribute are drawn by the core, which counts them below this.
_CELLS = 2**53


def named(name: str, given: object) -> str:
    """Check the name of a column, a plan or a release."""
    if not isinstance(given, str):
        raise RefusedType(name, "be a string", type(given).__name__)
    if not given:
        raise Refused(name, "not be empty", "''")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise Refused(name, "be Unicode", "half of a surrogate pair") from None
    return given


def every(name: str, given: object) -> tuple[str, ...] | Literal["*"]:
    """Read names of columns, or a star for all."""
    return "*" if isinstance(given, str) and given == "*" else names(name, given)


def names(
    name: str, given: object, must: str = "be a list of names", *, ordered: bool = False
) -> tuple[str, ...]:
    """Read the names of columns, not a single name; a set is sorted, unless the order matters."""
    if isinstance(given, str | bytes):
        raise RefusedType(name, must, type(given).__name__)
    listed = checks.items(name, must, given, unordered=not ordered)
    return tuple(named(name, each) for each in listed)


def make(family: str, size: int, parameters: Given) -> Matrix:
    """Make the matrix of a family for this many categories."""
    if not isinstance(family, str):
        raise RefusedType("family", "be the name of one", type(family).__name__)
    if family not in FAMILIES:
        raise Refused("family", f"be one of {', '.join(FAMILIES)}", shown(family))
    given = dict(parameters)
    if "suspicion" in given:
        if "epsilon" in given:
            raise RefusedType("suspicion", "be given without epsilon", "both")
        given["epsilon"] = by_suspicion(given.pop("suspicion"))
    found = reach(family, size, given)
    if found is not None:
        return _check_size("matrix", found, size)
    maker = getattr(bs, family, None)
    names = _list_parameters(family, given)
    if "size" in names:
        given = {"size": size, **given}
    matrix = maker(**given) if names and maker is not None else build(family, **given)
    return _check_size("matrix", matrix, size)


def _list_parameters(family: str, given: Given) -> tuple[str, ...]:
    """List the parameters of a family, none if it is unknown; an unknown parameter raises."""
    maker = getattr(bs, family, None)
    names = () if maker is None else tuple(signature(maker).parameters)
    for name in given:
        if names and name not in names:
            takes = ", ".join(n for n in names if n != "size") or "none"
            must = f"be a parameter of {family} ({takes})"
            raise RefusedType(shown(name), must, "a name it does not have")
    return names


def _refuse_at_once(family: str, parameters: Given) -> None:
    """Raise an error for what no number of records can make right."""
    given = {n: value for n, value in parameters.items() if value is not None and n != "size"}
    names = _list_parameters(family, given)
    if "share" in names and set(given) != {"k"}:
        # Classes of records: a single record accepts whatever any number of them does.
        make(family, 1, given)
    for name, value in given.items():
        if name == "k":
            checks.whole("k", value, 1)
        elif name in ("beta", "keep", "epsilon", "temperature"):
            if not isinstance(value, list | tuple):
                checks.limit(name, value)
        elif name == "alphas" and not hasattr(value, "__len__"):
            make(family, 2, {name: value})


@dataclass(frozen=True, repr=False)
class Groups(Shown):
    """A matrix for each value of an unprotected column.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> laws = {"north": bs.uniform(2), "south": bs.randomized_response(2, beta=0.6)}
    >>> sv.Categorical("sex", ["F", "M"], groups=("region", laws)).groups.column
    'region'
    """

    column: str
    labels: Labels
    matrices: tuple[Matrix, ...]

    def __repr__(self) -> str:
        betas = [matrix.beta for matrix in self.matrices]
        span = " to ".join(dict.fromkeys([down(min(betas)), down(max(betas))]))
        return f"<Groups by `{shown(self.column)}`, {len(betas)} values: beta {span}>"


def _groups_of(given: object, size: int) -> Groups:
    """Read a caller's ``(column, {value: matrix})``."""
    if isinstance(given, Groups):
        given = (given.column, dict(zip(given.labels.values, given.matrices, strict=True)))
    if not (isinstance(given, tuple | list) and len(given) == 2 and hasattr(given[1], "items")):
        raise RefusedType("groups", "be (column, {value: matrix})", type(given).__name__)
    column, chosen = named("groups", given[0]), dict(given[1])
    labels = Labels.of("groups", list(chosen))
    for value, matrix in chosen.items():
        _check_size("groups", matrix, size, f" for {shown(repr(value))}")
    codes = sorted({matrix.size for matrix in chosen.values()})
    if len(codes) > 1:
        must = "hold matrices with one number of codes"
        raise Refused("groups", must, f"{codes[0]} and {codes[1]}")
    return Groups(column, labels, tuple(chosen.values()))


def _check_size(name: str, matrix: object, size: int, where: str = "") -> Matrix:
    if not isinstance(matrix, Matrix):
        raise RefusedType(name, f"hold a matrix{where}", type(matrix).__name__)
    if matrix.size - matrix.padding != size:
        raise Refused(name, f"have size {size}{where}", matrix.size - matrix.padding)
    return matrix


def _refuse_padding(what: str, matrices: Iterable[Matrix]) -> None:
    """Raise an error for codes that are never true if every code has a meaning of its own."""
    for matrix in matrices:
        if matrix.padding:
            must = f"have codes that can all be true for {what}"
            raise Refused("matrix", must, f"{matrix.padding} that are never true")


def _check_fields(
    columns: Names,
    axes: Axes,
    family: str | None,
    parameters: Given,
    *,
    matrix: Matrix | None,
    missing: Missing,
    groups: object,
    unit: str | None,
    impossible: Iterable[Sequence[Label | None]] = (),
    categories_from_data: bool = False,
    recode: object = None,
) -> Held:
    """Return the fields of an attribute, once all of them are checked."""
    checks.one_of("missing", missing, MISSING)
    shape = [len(labels) + (missing == "category") for labels in axes]
    cells = _impossible(columns, axes, missing, impossible)
    size = math.prod(shape) - len(cells)
    if size < 1:
        raise Refused("impossible", "leave at least one cell", "all of them")
    if size > _CELLS:
        raise Refused("categories", "make at most 2^53 cells", size)
    if [family is None, matrix is None, groups is None].count(False) != 1:
        got = [n for n, x in (("family", family), ("matrix", matrix), ("groups", groups))
               if x is not None]  # fmt: skip
        must = "be given by one of family, matrix and groups"
        raise Refused("matrix", must, " and ".join(got) or "none")
    if family is None and parameters:
        name = next(iter(parameters))
        raise RefusedType(shown(name), "come with a family", "none")
    held = None if groups is None else _groups_of(groups, size)
    if held is not None:
        every = held.matrices
    else:
        law = matrix if family is None else make(family, size, parameters)
        every = (_check_size("matrix", law, size),)
    if len(columns) > 1:
        _refuse_padding("several columns", every)
    elif every[0].padding:
        padded(axes[0], every[0].padding)
    if cells and any(map(_has_axes, every)):
        must = "go with one matrix over the remaining cells"
        raise Refused("impossible", must, "a product of matrices, which has all cells")
    flag = checks.flag("categories_from_data", categories_from_data)
    by = None if unit is None else named("unit", unit)
    if by in columns:
        raise Refused("unit", "be an unprotected column", "the column itself")
    recodes = _read_recodes(columns, axes, missing, recode)
    chosen = None if held is not None else every[0]
    return columns, axes, chosen, missing, held, cells, flag, by, recodes


def _read_recodes(columns: Names, axes: Axes, missing: str, given: Any) -> Recodes:
    """List, per column, values of the data and the categories that they become; None is missing."""
    if given is None:
        return ()
    must = "be a dict from values to categories"
    if not isinstance(given, Mapping):
        raise RefusedType("recode", must, type(given).__name__)
    unknown = [column for column in given if column not in columns]
    if unknown:
        raise Refused("recode", "be by column", f"`{shown(unknown[0])}`, which is none")
    found = []
    for column, labels in zip(columns, axes, strict=True):
        pairs = given.get(column)
        pairs = {} if pairs is None else pairs
        if not isinstance(pairs, Mapping):
            raise RefusedType("recode", must, type(pairs).__name__)
        codes = [None if to is None else labels.code(to) for to in pairs.values()]
        for code, to in zip(codes, pairs.values(), strict=True):
            if code is None and (to is not None or missing == "raise"):
                what = "a missing value" if to is None else "an undeclared one"
                raise Refused("recode", "lead to declared categories", what)
        raw = Labels.of("recode", list(pairs)).values if pairs else ()
        to_ = [None if code is None else labels.values[code] for code in codes]
        found.append(tuple(zip(raw, to_, strict=True)))
    return tuple(found) if any(found) else ()


def _has_axes(matrix: Matrix) -> bool:
    """Whether a matrix is a product over several columns, or made of such products."""
    stack, seen = [matrix], set()
    while stack:
        here = stack.pop()
        made = structure.composition(here)
        if isinstance(made, structure.Kron):
            return True
        if made is not None and here.digest not in seen:
            seen.add(here.digest)
            stack += made.parts
    return False


def _impossible(columns: Names, axes: Axes, missing: str, given: object) -> Cells:
    """Read declared cells in the order of their codes; None means missing."""
    if isinstance(given, str):
        raise RefusedType("impossible", "be a list of cells", "str")
    places: dict[tuple[int, ...], tuple[Label | None, ...]] = {}
    # Cells are put in the order of their codes below.
    for cell in checks.items("impossible", "be a list of cells", given, unordered=True):
        if not isinstance(cell, tuple | list) or len(cell) != len(columns):
            must = f"hold cells of {len(columns)} categories"
            got = f"{len(cell)}" if isinstance(cell, tuple | list) else type(cell).__name__
            raise Refused("impossible", must, f"{got} at position {len(places)}")
        codes = []
        for column, labels, value in zip(columns, axes, cell, strict=True):
            code = labels.code(value)
            if value is None and missing == "category":
                code = len(labels)
            if code is None:
                must = f"hold declared categories of `{shown(column)}`"
                raise Refused("impossible", must, f"an undeclared one at position {len(places)}")
            codes.append(code)
        key = tuple(codes)
        if key in places:
            raise Refused("impossible", "be distinct", f"one twice at {len(places)}")
        places[key] = tuple(
            None if code == len(labels) else labels.values[code]
            for code, labels in zip(codes, axes, strict=True)
        )
    return tuple(places[key] for key in sorted(places))


@dataclass(frozen=True, init=False, repr=False)
class Categorical(Coded):
    """A column of categories, each reported with the probabilities of its matrix row.

    ``categories`` are all categories that may occur, in the order of their codes: strings, integers
    or booleans. Give a family with its parameters, or a ``matrix``, or ``groups=(column, {value:
    matrix})``: a matrix for each value of another column, which the plan keeps unprotected.

    Request one parameter of the family, or ``epsilon``, ``beta`` or ``truthfulness`` (the mean
    truthful probability) if the family can reach that. Give ``suspicion=(0.01, 0.05)`` for the
    epsilon at which a suspicion of 1% grows to at most 5%.

    ``missing`` says what happens to missing values:

    * ``"raise"`` raises an error.
    * ``"keep"`` publishes them unchanged, so every reader sees which values are missing.
    * ``"category"`` makes them one more category, the last, which is protected like the others.

    ``unit`` names a column of units, such as households: the column is drawn once per unit, and all
    records of a unit must have the same value. ``recode={"01": "north", "99": None}`` maps values
    of the data to categories before anything is checked; None makes them missing. Other values
    stay.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    <Categorical `sex`, 2 categories: randomized_response, beta 0.6>
    >>> sv.Categorical("race", ["A", "B"], matrix=bs.uniform(3), missing="category").size
    3
    >>> sv.Categorical("sex", ["F", "M"], "randomized_response", beta=2)
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: column `sex`: `beta` must be from 0 to 1; got 2
    """

    def __init__(
        self,
        column: str,
        categories: Iterable[Label],
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        categories_from_data: bool = False,
        unit: str | None = None,
        recode: Mapping[Label, Label | None] | None = None,
        **parameters: Any,
    ) -> None:
        name = named("column", column)
        with about([name]):
            held = _check_fields(
                (name,), (Labels.of("categories", categories),), family, parameters, matrix=matrix,
                missing=missing, groups=groups, categories_from_data=categories_from_data,
                unit=unit, recode=None if recode is None else {name: recode},
            )  # fmt: skip
            super().__init__(*held)

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.columns[0]

    @property
    def categories(self) -> tuple[Label, ...]:
        """All categories, in the order of their codes."""
        return self.axes[0].values


@dataclass(frozen=True, init=False, repr=False)
class Joint(Coded):
    """Several columns reported together, by one matrix over all their combinations.

    ``categories`` has a list for each column. The code of a combination is in C order as in
    :func:`bistochastic.kron`: the last column changes fastest. A structured matrix over a million
    combinations costs no more than one over two.

    ``impossible`` lists combinations that cannot occur. The matrix is then over the remaining
    combinations, in the same order, and beta is divided by log2 of their number. An impossible
    combination in the data raises an error. ``missing="category"`` gives each column one more
    category. ``missing="keep"`` requires that all columns of a row are missing together. ``unit``
    is the same for all columns; ``recode`` is a dict by column.

    >>> import bistochastic_survey as sv
    >>> sv.Joint(("a", "b"), [["x", "y"], [1, 2, 3]], "randomized_response", beta=0.7)
    <Joint `a`, `b`, 2 x 3 = 6 cells: randomized_response, beta 0.7>
    >>> sv.Joint(("sex", "child"), [["F", "M"], ["yes", "no"]], "randomized_response", beta=0.5,
    ...          impossible=[("M", "yes")]).size
    3
    """

    def __init__(
        self,
        columns: Sequence[str],
        categories: Iterable[Iterable[Label]],
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        impossible: Iterable[Sequence[Label | None]] = (),
        categories_from_data: bool = False,
        unit: str | None = None,
        recode: Mapping[str, Mapping[Label, Label | None]] | None = None,
        **parameters: Any,
    ) -> None:
        listed = names("columns", columns, "be a list of two or more names", ordered=True)
        if len(listed) < 2 or len(set(listed)) < len(listed):
            got = f"{len(listed)}, {len(set(listed))} of them different"
            raise Refused("columns", "be two or more different names", got)
        with about(listed):
            lists = checks.items("categories", "be a list for each column", categories)
            if len(lists) != len(listed):
                must = f"be a list for each of {len(listed)} columns"
                raise Refused("categories", must, len(lists))
            axes = tuple(Labels.of("categories", each) for each in lists)
            held = _check_fields(
                listed, axes, family, parameters, matrix=matrix, missing=missing, groups=groups,
                impossible=impossible, categories_from_data=categories_from_data, unit=unit,
                recode=recode,
            )  # fmt: skip
            super().__init__(*held)

    @property
    def categories(self) -> tuple[tuple[Label, ...], ...]:
        """The categories of each column, in the order of their codes."""
        return tuple(labels.values for labels in self.axes)


@dataclass(frozen=True, kw_only=True, repr=False)
class BinnedFields(Coded):
    """The fields of ``Binned`` that a categorical column does not have."""

    _noun = "classes"
    _bins: Bins
    output: Literal["interval", "midpoint", "number"]
    step: int | float | None
    bottom: Break | None
    top: Break | None
    representatives: tuple[float, ...] | None


@dataclass(frozen=True, init=False, repr=False)
class Binned(Categorical, BinnedFields):
    """A column of numbers or dates in public classes, each reported with its own probabilities.

    Unlike :class:`Numeric`, every record is randomized by itself: epsilon is finite, and a binned
    column can be protected in batches, on engines, by ids and on clients.

    ``breaks`` are the ends of the classes, ``[low, high)``, the last one closed. In their place,
    ``width``, ``low`` and ``high`` make classes of equal width; for dates without a time zone
    ``width`` is ``"month"``, ``"quarter"`` or ``"year"``, and ``high`` is the day after the last
    class. ``open=("low", "high")`` adds classes beyond the breaks; other values outside raise an
    error. ``top`` and ``bottom`` replace larger and smaller values first. Give the matrix as for
    :class:`Categorical`. At a given beta, ordinal families such as ``"geometric"`` prefer classes
    that are near; at a given epsilon and few classes, ``"randomized_response"`` is nearer.

    ``output`` says what is published for a reported class:

    * ``"interval"``: its label, such as ``[18, 65)``;
    * ``"midpoint"``: the middle of the class;
    * ``"number"``: a random multiple of ``step`` in the class, all with the same probability. It
      is drawn for every row of every release, also by ids and by unit, so it reveals only the
      class. Open classes have none, nor has an answer without a row: ``respond``, clients, and
      engines by ids raise an error.

    ``representatives`` are public numbers, one for each class, such as class means. Means,
    covariances and linear regressions use them in place of the middles; dates have none.

    >>> import bistochastic_survey as sv
    >>> age = sv.Binned("age", breaks=[0, 18, 65, 120], family="randomized_response", epsilon=2)
    >>> age
    <Binned `age`, 3 classes: randomized_response, beta 0.60583>
    >>> age.categories
    ('[0, 18)', '[18, 65)', '[65, 120]')
    >>> sv.Binned("age", breaks=[0, 65, 18], family="randomized_response", epsilon=2)
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: column `age`: `breaks` must increase; got one that does not at 2
    """

    def __init__(
        self,
        column: str,
        breaks: Iterable[object] | None = None,
        family: Family | None = None,
        *,
        width: object = None,
        low: object = None,
        high: object = None,
        open: Iterable[str] = (),
        output: Literal["interval", "midpoint", "number"] = "interval",
        step: float | None = None,
        top: object = None,
        bottom: object = None,
        representatives: Iterable[float] | None = None,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        unit: str | None = None,
        **parameters: Any,
    ) -> None:
        name = named("column", column)
        with about([name]):
            bins = Bins.of(breaks, width, low, high, open)
            held = _check_fields(
                (name,), (Labels(bins.names, "text"),), family, parameters, matrix=matrix,
                missing=missing, groups=groups, unit=unit,
            )  # fmt: skip
            checks.one_of("output", output, ("interval", "midpoint", "number"))
            if output != "interval" and bins.open:
                must = 'be "interval" with open classes, which have no number'
                raise Refused(
                    "output", must, f"{output}: top and bottom code values beyond a break"
                )
            least, most = clipped(bottom, top, bins)
            BinnedFields.__init__(
                self, *held, _bins=bins, output=output, step=_step(step, output, bins),
                bottom=least, top=most, representatives=_representatives(representatives, bins),
            )  # fmt: skip
            _refuse_padding("bins", self.matrices)
            if output == "number":
                _ = self._places

    @property
    def breaks(self) -> tuple[Any, ...]:
        """The ends of the classes; infinite beyond open ones."""
        return self._bins.ends

    @cached
    def _places(self) -> tuple[np.ndarray, NDArray[np.int64], NDArray[np.int64]]:
        """All numbers that may be reported, and the first and the number of them per class."""
        assert self.step is not None
        return self._bins.numbers(self.step)

    def _part(
        self, at: int, table: Table, first: int | None, *, narrowed: bool, released: bool
    ) -> tuple[Codes, Mask | None]:
        if released and self.output == "interval":
            return super()._part(at, table, first, narrowed=narrowed, released=released)
        ends = (None, None) if released else (self.bottom, self.top)
        values, missing = read_numbers(table, self.column, first, ends, dated=self._bins.dated)
        codes, outside = self._bins.codes(values)
        if outside is not None and missing is not None:
            outside &= ~missing
        if outside is not None and outside.any():
            many, there = int(outside.sum()), row(int(outside.argmax()), first)
            got = f"{many} row{'s' * (many > 1)} outside, the first {there}"
            raise Refused("", "lie within the breaks", got, column=self.columns)
        return codes, missing

    def _holds(self, released: bool) -> dict[str, str]:
        if released and self.output == "interval":
            return super()._holds(released)
        return {self.column: "date" if self._bins.dated else "float"}

    @property
    def _has_numbers(self) -> bool:
        return self.output == "number"

    def _is_relabelled(self, name: str) -> bool:
        return self.output == "interval"

    def _made(
        self, table: Table, name: str, codes: Codes, missing: Mask | None, places: Places | None
    ) -> object:
        if self.output == "interval":
            return super()._made(table, name, codes, missing, places)
        found = self._bins.midpoints[codes] if places is None else self._places[0][places]
        return table.numbered(name, found, missing, own=not self._bins.dated)


def _representatives(given: object, bins: Bins) -> tuple[float, ...] | None:
    """Read a number inside each class."""
    if given is None:
        return None
    must = "hold a finite number inside each class, in order"
    listed = checks.items("representatives", must, given)
    found = tuple(checks.real("representatives", must, x) for x in listed)
    inside = len(found) == len(bins.names) and not bins.dated and all(map(math.isfinite, found))
    if inside:
        codes, outside = bins.codes(np.array(found))
        inside = outside is None and codes.tolist() == list(range(len(found)))
    if not inside:
        raise Refused("representatives", must, f"{len(found)} that do not")
    return found


def _step(given: object, output: str, bins: Bins) -> int | float | None:
    """Return the step between numbers inside a class, by default 1 for integers and days."""
    if output != "number":
        if given is not None:
            raise RefusedType("step", 'be given with output="number" only', f'output="{output}"')
        return None
    if given is None:
        if not bins.dated and not all(isinstance(x, int) for x in bins.breaks):
            raise RefusedType("step", "be given, as the breaks are not integers", "none")
        return 1
    step = checks.real("step", "be a positive number", given)
    if not 0 < step < math.inf or (bins.dated and step != int(step)):
        days = ", of whole days" * bins.dated
        raise Refused("step", f"be a positive number{days}", f"{step:g}")
    return int(step) if step == int(step) and step < 2**53 else step


@dataclass(frozen=True, init=False, repr=False)
class Numeric(Whole):
    """A column of numbers, permuted among the records or averaged in classes.

    The matrix has one row per record, so it is made when their number is known: by
    :meth:`Plan.for_records`, or with the data. With ``order="rank"`` neighbours are records of
    neighbouring values, so a family of small steps exchanges similar values.

    ``within="region"`` permutes inside the groups of an unprotected column: the mean of each group
    is published, and stays exact. ``missing="keep"`` publishes missing numbers as missing. In both
    cases a group with fewer than ``min_group`` numbers raises an error, and the stated bits are the
    least for a group of this size or larger. Request ``k``, ``keep`` or ``epsilon`` then, not
    ``beta``. ``top`` and ``bottom`` replace larger and smaller numbers first.

    ``how="permute"`` moves values between records: the set of values is published unchanged, so
    epsilon is infinite. ``how="average"`` gives class means; it is not random, so it hides no bits.

    >>> import bistochastic_survey as sv
    >>> income = sv.Numeric("income", "k_anonymous", k=5)
    >>> income
    <Numeric `income`, permute by rank: k_anonymous, k=5>
    >>> income.for_records(1000).matrix
    <Matrix k_anonymous 1000 x 1000: beta ...>
    """

    def __init__(
        self,
        column: str,
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        order: Literal["rank"] | None = "rank",
        how: Literal["permute", "average"] = "permute",
        within: str | None = None,
        min_group: int = 10,
        missing: Literal["raise", "keep"] = "raise",
        bottom: float | None = None,
        top: float | None = None,
        **parameters: Any,
    ) -> None:
        name = named("column", column)
        with about([name]):
            if (family is None) == (matrix is None):
                got = "none" if family is None else "both"
                raise Refused("matrix", "be given by one of family and matrix", got)
            if matrix is not None:
                if not isinstance(matrix, Matrix):
                    raise RefusedType("matrix", "be a matrix", type(matrix).__name__)
                _refuse_padding("numbers", [matrix])
                if parameters:
                    other = next(iter(parameters))
                    raise RefusedType(shown(other), "come with a family", "none")
            elif not isinstance(family, str) or family not in FAMILIES:
                make(family, 1, {})  # type: ignore[arg-type] # says what is known
            else:
                _refuse_at_once(family, parameters)
            if order is not None:
                checks.one_of("order", order, ("rank",))
            checks.one_of("how", how, ("permute", "average"))
            checks.one_of("missing", missing, ("raise", "keep"))
            by = None if within is None else named("within", within)
            least = checks.whole("min_group", min_group, 2)
            low, high = clipped(bottom, top)
            if by == name:
                raise Refused("within", "be an unprotected column", "the column itself")
            if by is not None or missing == "keep":
                _check_grouped(family, parameters, least)
        given = tuple((key, _frozen(value)) for key, value in sorted(parameters.items()))
        super().__init__(name, family, given, matrix, order, how, by, least, missing, low, high)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, as a tuple of one name."""
        return (self.column,)

    @property
    def kind(self) -> str:
        """The name of the class in a plan's file."""
        return "numeric"

    def for_records(self, n: int) -> Numeric:
        """Return the same attribute with its matrix over ``n`` records."""
        with about([self.column]):
            if self.matrix is not None and self.matrix.size == n:
                return self
            if self.family is None and self.matrix is not None:
                raise Refused("matrix", f"have a row for each of {n} records", self.matrix.size)
            return bound_to(self, self._matrix_for(n))

    def _matrix_for(self, n: int) -> Matrix:
        """Build the matrix over ``n`` records."""
        given = {key: list(value) if isinstance(value, tuple) else value
                 for key, value in self.given}  # fmt: skip
        matrix = make(self.family or "", n, given)
        _refuse_padding("numbers", [matrix])
        return matrix

    @property
    def _example(self) -> Matrix:
        """A matrix of the family, over its own records or a few."""
        return self.matrix or self._matrix_for(max(self.min_group, 100))

    @property
    def least_bits(self) -> float:
        """The bits of the smallest group, or of any larger one: see :func:`_check_grouped`."""
        k = dict(self.given).get("k")
        if k is not None:
            return bs.uniform(int(k)).entropy_rate
        return self._matrix_for(self.min_group).entropy_rate

    def _repr_html_(self) -> str:
        from bistochastic_survey.plan.definitions import measures
        from bistochastic_survey.plan.published import certain
        from bistochastic_survey.report.html import facts, fragment

        average, found = self.how == "average", measures(self).beta
        beta = "needs a number of records: for_records(n)" if found is None else down(found)
        moved = "values are exchanged between records"
        if certain(self):
            moved = "published unchanged: nothing is hidden"
        pairs = [
            ("how", "class means" if average else moved),
            ("order", "as in the file" if self.order is None else "by rank"),
            ("family", self._drawn),
            ("records", "not known yet" if self.matrix is None else f"{self.matrix.size:,}"),
            ("beta", "none, as class means hold no noise" if average else beta),
            ("epsilon", "inf"),
        ]
        return fragment(facts(pairs, caption=f"Numeric {shown(self.column)}"))

    @property
    def _drawn(self) -> str:
        """The family and its parameters."""
        law = self.family or ("" if self.matrix is None else self.matrix.family)
        return ", ".join([law, *(f"{key}={value}" for key, value in self.given)])

    def __repr__(self) -> str:
        order = "" if self.order is None else f" by {self.order}"
        order += "" if self.within is None else f" within `{shown(self.within)}`"
        many = "" if self.matrix is None else f" of {self.matrix.size} records"
        return f"<Numeric `{shown(self.column)}`, {self.how}{order}: {self._drawn}{many}>"


def _check_grouped(family: str | None, parameters: Given, least: int) -> None:
    """Raise an error for a family whose least bits over all sizes of groups are not known.

    Classes of at least k records hide log2 k bits or more in a group of any size. For randomized
    response the bits grow with the size n of the group: they are ``h(p) + (1 - p) log2(n - 1)`` for
    a fixed truthful probability p, and ``log2(e + n - 1) - p epsilon log2(exp 1)`` for a fixed
    epsilon, with e its exponential and p = e / (e + n - 1), which falls. So the smallest group has
    the least.
    """
    for name in ("beta", "share"):
        if parameters.get(name) is not None:
            must = "not be given if the sizes of groups come from the data"
            cure = "use k, keep or epsilon"
            raise RefusedType(name, f'{must}, as with within and missing="keep"', f"it: {cure}")
    if family is None:
        raise RefusedType("matrix", "be given by a family for groups of any size", "a matrix")
    k = parameters.get("k")
    if k is not None and not least >= checks.whole("k", k, 1):
        raise Refused("min_group", "be at least k", least)
    if k is None and structure.two_valued(make(family, least, parameters)) is None:
        must = "have k, or be randomized_response or uniform, for groups of any size"
        raise Refused("family", must, shown(family))


def bound_to(attribute: Numeric, matrix: Matrix) -> Numeric:
    """Return the same attribute with this matrix over the records."""
    bound = object.__new__(Numeric)
    held = {each.name: getattr(attribute, each.name) for each in fields(Whole)}
    Whole.__init__(bound, **{**held, "matrix": matrix})
    return bound


def _frozen(value: object) -> object:
    listed = value.tolist() if hasattr(value, "tolist") else value
    return tuple(listed) if isinstance(listed, list | tuple) else listed


Attribute = Categorical | Joint | Numeric

__all__ = [
    "Attribute", "Binned", "Categorical", "Groups", "Joint", "Missing", "Numeric", "about", "make",
    "named", "names", "prefix",
]  # fmt: skip
