"""``Categorical`` and ``Joint``: what a plan does to a column of categories, or to several.

An attribute is made without seeing any data: the categories are declared. All are frozen, and equal
if they do the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, Unpack, get_args

import bistochastic as bs
from bistochastic import Matrix, backend, build, structure
from bistochastic.backend import Family
from bistochastic.choose import by_suspicion, reach
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan.labels import Label, Labels, padded
from bistochastic_survey.release.columns import Coded, Missing
from bistochastic_survey.wording import Shown, about, down, meant, shown

Given = Mapping[str, object]
Cells = tuple[tuple[Label | None, ...], ...]
Recodes = tuple[tuple[tuple[Label, Label | None], ...], ...]
Axes = tuple[Labels, ...]
Names = tuple[str, ...]

MISSING = ("raise", "keep", "category")
FAMILIES: tuple[str, ...] = get_args(backend.Family)


class Parameters(backend.Parameters, total=False):
    """What an attribute takes by name: the parameters of families, and two ways to request one."""

    truthfulness: float
    suspicion: tuple[float, float]


# The codes of a joint attribute are drawn by the core, which counts them below this.
_CELLS = 2**53


def named(name: str, given: object) -> str:
    """Check the name of a column, a plan or a release, and return it as a plain string."""
    text: str = checks.of_type(name, "be a string", given, str)
    if not text:
        raise Refused(name, "not be empty", "''")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(name, "be Unicode", "half of a surrogate pair") from None
    return str.__str__(text)


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
    checks.of_type("family", "be the name of one", family, str)
    if family not in FAMILIES:
        got = f"{shown(family)}{meant(family, FAMILIES)}"
        raise Refused("family", f"be one of {', '.join(FAMILIES)}", got)
    given: dict[str, Any] = dict(parameters)
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


def refuse_unknown(attribute: type, family: object, parameters: Given) -> None:
    """Raise an error for a name that no family has, with the nearest one that the attribute has."""
    for name in parameters:
        if name not in Parameters.__annotations__:
            options = list(signature(attribute).parameters)
            if str(family) in FAMILIES:
                _list_parameters(str(family), {name: None}, options)
            got = f"a name it does not have{meant(name, [*options, *Parameters.__annotations__])}"
            raise RefusedType(shown(name), f"be an option of {attribute.__name__}", got)


def _list_parameters(family: str, given: Given, near: Sequence[str] = ()) -> tuple[str, ...]:
    """List the parameters of a family, none if it is unknown; an unknown parameter raises."""
    maker = getattr(bs, family, None)
    names = () if maker is None else tuple(signature(maker).parameters)
    for name in given:
        if names and name not in names:
            takes = ", ".join(n for n in names if n != "size") or "none"
            must = f"be a parameter of {family} ({takes})"
            got = f"a name it does not have{meant(name, [*names, *near])}"
            raise RefusedType(shown(name), must, got)
    return names


def refuse_at_once(family: str, parameters: Given) -> None:
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


def _check_size(name: str, given: object, size: int, where: str = "") -> Matrix:
    matrix: Matrix = checks.of_type(name, f"hold a matrix{where}", given, Matrix)
    if matrix.size - matrix.padding != size:
        raise Refused(name, f"have size {size}{where}", matrix.size - matrix.padding)
    return matrix


def refuse_padding(what: str, matrices: Iterable[Matrix]) -> None:
    """Raise an error for codes that are never true if every code has a meaning of its own."""
    for matrix in matrices:
        if matrix.padding:
            must = f"have codes that can all be true for {what}"
            raise Refused("matrix", must, f"{matrix.padding} that are never true")


def check_fields(
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
) -> dict[str, Any]:
    """Return the fields of ``Coded``, once all of them are checked."""
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
        raise RefusedType(shown(next(iter(parameters))), "come with a family", "none")
    held = None if groups is None else _groups_of(groups, size)
    if held is not None:
        every = held.matrices
    else:
        law = matrix if family is None else make(family, size, parameters)
        every = (_check_size("matrix", law, size),)
    if len(columns) > 1:
        refuse_padding("several columns", every)
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
    return {
        "columns": columns, "axes": axes, "matrix": every[0] if held is None else None,
        "missing": missing, "groups": held, "impossible": cells, "categories_from_data": flag,
        "unit": by, "recode": recodes,
    }  # fmt: skip


def _read_recodes(columns: Names, axes: Axes, missing: str, given: Any) -> Recodes:
    """List, per column, values of the data and the categories that they become; None is missing."""
    if given is None:
        return ()
    must = "be a dict from values to categories"
    checks.of_type("recode", must, given, Mapping)
    unknown = [column for column in given if column not in columns]
    if unknown:
        raise Refused("recode", "be by column", f"`{shown(unknown[0])}`, which is none")
    found = []
    for column, labels in zip(columns, axes, strict=True):
        pairs = given.get(column)
        pairs = {} if pairs is None else checks.of_type("recode", must, pairs, Mapping)
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
        categories: checks.Several[Label],
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        categories_from_data: bool = False,
        unit: str | None = None,
        recode: Mapping[Label, Label | None] | None = None,
        **parameters: Unpack[Parameters],
    ) -> None:
        name = named("column", column)
        with about([name]):
            refuse_unknown(Categorical, family, parameters)
            held = check_fields(
                (name,), (Labels.of("categories", categories),), family, parameters, matrix=matrix,
                missing=missing, groups=groups, categories_from_data=categories_from_data,
                unit=unit, recode=None if recode is None else {name: recode},
            )  # fmt: skip
            super().__init__(**held)

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

    >>> sv.Joint(("a", "b"), [["x", "y"], [1, 2, 3]], "randomized_response", beta=0.7)
    <Joint `a`, `b`, 2 x 3 = 6 cells: randomized_response, beta 0.7>
    >>> sv.Joint(("sex", "child"), [["F", "M"], ["yes", "no"]], "randomized_response", beta=0.5,
    ...          impossible=[("M", "yes")]).size
    3
    """

    def __init__(
        self,
        columns: Sequence[str],
        categories: Iterable[checks.Several[Label]],
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        impossible: Iterable[Sequence[Label | None]] = (),
        categories_from_data: bool = False,
        unit: str | None = None,
        recode: Mapping[str, Mapping[Label, Label | None]] | None = None,
        **parameters: Unpack[Parameters],
    ) -> None:
        listed = names("columns", columns, "be a list of two or more names", ordered=True)
        if len(listed) < 2 or len(set(listed)) < len(listed):
            got = f"{len(listed)}, {len(set(listed))} of them different"
            raise Refused("columns", "be two or more different names", got)
        with about(listed):
            refuse_unknown(Joint, family, parameters)
            lists = checks.items("categories", "be a list for each column", categories)
            if len(lists) != len(listed):
                must = f"be a list for each of {len(listed)} columns"
                raise Refused("categories", must, len(lists))
            axes = tuple(Labels.of("categories", each) for each in lists)
            held = check_fields(
                listed, axes, family, parameters, matrix=matrix, missing=missing, groups=groups,
                impossible=impossible, categories_from_data=categories_from_data, unit=unit,
                recode=recode,
            )  # fmt: skip
            super().__init__(**held)

    @property
    def categories(self) -> tuple[tuple[Label, ...], ...]:
        """The categories of each column, in the order of their codes."""
        return tuple(labels.values for labels in self.axes)
