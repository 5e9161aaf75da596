"""From categories to codes and back, one attribute at a time.

Errors name the column and the number of a row, never a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bistochastic import Matrix
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.cached import cached
from bistochastic_survey.plan.labels import Label, Labels, padded, spelled_as
from bistochastic_survey.table.arrays import narrow, solid
from bistochastic_survey.table.frames import Codes, Mask, Table, Undeclared, WrongType
from bistochastic_survey.wording import Shown, down, quoted, row, shown

if TYPE_CHECKING:
    from bistochastic_survey.plan.attributes import Groups
    from bistochastic_survey.plan.bins import Ends

Places = NDArray[np.int64]


Missing = Literal["raise", "keep", "category"]
_KINDS = {"text": "strings", "integer": "integers", "boolean": "booleans"}


@dataclass(frozen=True)
class Encoded:
    """The codes of an attribute; any if a row is missing."""

    codes: Codes
    missing: Mask | None
    groups: NDArray[np.uint32] | None


@dataclass(frozen=True, repr=False)
class Coded(Shown):
    """The base of ``Categorical`` and ``Joint``: codes, and a matrix or one per group."""

    whole_column: ClassVar[Literal[False]] = False
    _noun: ClassVar[str] = "categories"
    steps: ClassVar[int] = 3
    """Parts of the work that progress counts: to read, to draw and to write."""
    columns: tuple[str, ...]
    axes: tuple[Labels, ...]
    matrix: Matrix | None
    missing: Missing
    groups: Groups | None
    impossible: tuple[tuple[Label | None, ...], ...]
    categories_from_data: bool
    unit: str | None = None
    recode: tuple[tuple[tuple[Label, Label | None], ...], ...] = ()
    """Values of the data and the categories that they become, for each column."""

    @cached
    def size(self) -> int:
        """The number of codes: categories, or cells that can occur."""
        return self.matrices[0].size

    @cached
    def matrices(self) -> tuple[Matrix, ...]:
        """The one matrix, or the matrices of the groups."""
        if self.groups is not None:
            return self.groups.matrices
        assert self.matrix is not None
        return (self.matrix,)

    @cached
    def _weakest(self) -> Matrix:
        """The matrix with the smallest beta: the only matrix, or the one of the weakest group."""
        return min(self.matrices, key=lambda matrix: matrix.beta)

    @cached
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each column, one more if missing is a category."""
        more = self.missing == "category"
        return tuple(len(labels) + more for labels in self.axes)

    @cached
    def reported(self) -> tuple[Labels, ...]:
        """The categories of each column, followed by those that are reported but never true."""
        padding = self.matrices[0].padding
        return (padded(self.axes[0], padding),) if padding else self.axes

    @property
    def kind(self) -> str:
        """The name of the class in a plan's file."""
        return type(self).__name__.lower()

    def for_records(self, n: int) -> Self:
        """Return the attribute itself: its matrix does not depend on the number of records."""
        return self

    @cached
    def _least(self) -> np.dtype[np.unsignedinteger]:
        return narrow(self.size)

    @cached
    def cells(self) -> NDArray[np.int64]:
        """The codes of the cells that cannot occur, among all cells, ascending."""
        cells = []
        for cell in self.impossible:
            code = 0
            for value, labels, size in zip(cell, self.axes, self.shape, strict=True):
                digit = size - 1 if value is None else labels.code(value)
                code = code * size + (digit or 0)
            cells.append(code)
        return np.array(cells, dtype=np.int64)

    @cached
    def _raw(self) -> tuple[tuple[Labels, Codes] | None, ...]:
        """For each column that is recoded, the values that it may hold, and the code of each."""
        found: list[tuple[Labels, Codes] | None] = []
        for pairs, labels in zip(self.recode or ((),) * len(self.axes), self.axes, strict=True):
            given = Labels.of("recode", [value for value, _ in pairs]) if pairs else None
            if given is None:
                found.append(None)
                continue
            rest = [x for x in labels.values if given.code(x) is None] * (given.kind == labels.kind)
            codes = [labels.code(x) for x in (*(to for _, to in pairs), *rest)]
            # Values that are recoded to missing come after all categories.
            places = [len(labels) if code is None else code for code in codes]
            held = Labels((*given.values, *rest), given.kind)
            found.append((held, np.array(places, narrow(len(labels) + 1))))
        return tuple(found)

    def _part(
        self, at: int, table: Table, first: int | None, *, released: bool
    ) -> tuple[Codes, Mask | None]:
        raw = None if released else self._raw[at]
        if raw is None:
            codes, missing = read_codes(table, self.columns[at], self.reported[at], first)
            if not self.matrices[0].padding:
                return codes, missing
            beyond = codes >= len(self.axes[0])
            if missing is not None:
                beyond &= ~missing
            if beyond.any() and not released:
                got, at = _count(beyond, first)
                got = f"values that are only reported, {got}"
                raise Refused("", "hold declared categories only", got, column=self.columns, row=at)
            if self.missing == "category":
                # Codes that are only reported come behind the code of a missing value.
                codes = codes.astype(self._least) + beyond.astype(self._least)
            return codes, missing
        codes, missing = read_codes(table, self.columns[at], raw[0], first)
        codes, size = raw[1][codes], len(self.axes[at])
        none = codes == size
        if none.any():
            missing = none if missing is None else missing | none
            codes[none] = 0
        return codes, missing

    def _encode(self, table: Table, first: int | None = 0, *, released: bool = False) -> Encoded:
        """Find the codes of all rows; ``ValueError`` or ``TypeError`` if a row has none.

        ``first`` is the number of the first row, if the table is a batch of a larger one, and
        None if it is a batch of an engine. The codes are as narrow as the attribute allows.
        ``released`` means a protected table, which may hold categories that are only reported.
        """
        names = self.columns
        if self.missing == "category":
            for name in names:
                if not self._is_relabelled(name) and not table.can_be_missing(name):
                    must = 'have a type that can be missing if missing="category", as results'
                    cure = "a nullable type, a masked array or objects can"
                    raise RefusedType("", f"{must} may be", f"one that cannot: {cure}", column=name)
        parts = [self._part(at, table, first, released=released) for at in range(len(names))]
        masks = [missing for _codes, missing in parts]
        stays: Mask | None = None
        if self.missing == "raise":
            for name, mask in zip(names, masks, strict=True):
                if mask is not None:
                    cure = 'missing="keep" publishes who is missing, missing="category" protects '
                    got, at = _count(mask, first)
                    got = f"{got}: {cure}that like an answer"
                    raise Refused("", "hold no missing values", got, column=name, row=at)
        elif self.missing == "keep" and any(mask is not None for mask in masks):
            stays = _together(names, masks, table.rows, first)
        digits = []
        for (codes, mask), size in zip(parts, self.shape, strict=True):
            if self.missing == "category" and mask is not None:
                codes = codes.astype(narrow(max(size, self.size) if len(names) == 1 else size))
                codes[mask] = size - 1
            digits.append(codes)
        codes = digits[0]
        if len(digits) > 1:
            # The codes of combinations; the last column changes fastest.
            dtype = narrow(math.prod(self.shape))
            codes = codes.astype(dtype)
            for digit, size in zip(digits[1:], self.shape[1:], strict=True):
                codes *= dtype.type(size)
                codes += digit.astype(dtype, copy=False)
        if self.impossible:
            codes = _remaining(self, codes, stays, first)
        codes = solid(codes, self._least)
        if stays is not None:
            codes = np.where(stays, codes.dtype.type(0), codes)
        by = self.groups
        groups = None if by is None else read_groups(table, by.column, by.labels, first)
        return Encoded(codes, stays, None if groups is None else groups.astype(np.uint32))

    def _holds(self, released: bool) -> dict[str, str]:
        return {
            column: labels.kind if released or raw is None else raw[0].kind
            for column, labels, raw in zip(self.columns, self.axes, self._raw, strict=True)
        }

    @property
    def _has_numbers(self) -> bool:
        """Whether a number is drawn inside each reported class."""
        return False

    def _is_relabelled(self, name: str) -> bool:
        """Whether a column leaves with another type than it came with."""
        raw = self._raw[self.columns.index(name)]
        return raw is not None and raw[0].kind != self.axes[self.columns.index(name)].kind

    def _made(
        self, table: Table, name: str, codes: Codes, missing: Mask | None, _places: Places | None
    ) -> object:
        labels = self.reported[self.columns.index(name)]
        make = table.relabelled if self._is_relabelled(name) else table.labelled
        return make(name, labels, codes, missing)

    def _decode(
        self, table: Table, codes: Codes, stays: Mask | None, places: Places | None
    ) -> dict[str, object]:
        """Make the columns with these codes, in the type of the table's library.

        ``places`` are the places of numbers inside the classes of a binned column.
        """
        if self.impossible:
            cells = self.cells
            # The number of impossible cells before each: those with at most as many possible ones.
            before = np.searchsorted(cells - np.arange(len(cells)), codes.astype(np.int64), "right")
            codes = (codes.astype(np.int64) + before).astype(narrow(math.prod(self.shape)))
        found: dict[str, object] = {}
        names = list(zip(self.columns, self.reported, self.shape, strict=True))
        for name, labels, size in reversed(names):
            digit = codes
            if name != names[0][0]:
                codes, digit = np.divmod(codes, codes.dtype.type(size))
            missing = stays
            if self.missing == "category":
                none = digit == size - 1
                missing = none if none.any() else None
            if missing is not None:
                # Nothing is left under a mask.
                digit = np.where(missing, digit.dtype.type(0), digit)
            if self.missing == "category" and self.matrices[0].padding:
                digit = digit - (digit >= size).astype(digit.dtype)
            if len(names) > 1 or self.missing == "category":
                digit = digit.astype(narrow(len(labels)), copy=False)
            found[name] = self._made(table, name, digit, missing, places)
        return found

    def __repr__(self) -> str:
        what = " x ".join(map(str, self.shape))
        several = len(self.shape) > 1
        what += f" = {math.prod(self.shape)} cells" if several else f" {self._noun}"
        if self.impossible:
            what += f", {len(self.impossible)} impossible"
        law = self._weakest
        what += ": " + (law.family if self.groups is None else f"by {quoted([self.groups.column])}")
        return f"<{type(self).__name__} {quoted(self.columns)}, {what}, beta {down(law.beta)}>"


@dataclass(frozen=True)
class NumericValues:
    """A column of numbers: the values, which are missing, and the code of each row's group."""

    values: np.ndarray
    missing: Mask | None = None
    groups: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def parts(self) -> list[NDArray[np.intp]]:
        """List the rows whose numbers are permuted together: per group, without missing ones."""
        there = np.ones(len(self), bool) if self.missing is None else ~self.missing
        rows = np.flatnonzero(there)
        if self.groups is None:
            return [rows]
        codes = self.groups[rows]
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=int(self.groups.max(initial=-1)) + 1))
        return np.split(rows[order], ends[:-1])


def refuse_missing(column: str, missing: Mask, why: str, first: int | None) -> None:
    """Raise an error for rows without a group."""
    at = int(np.argmax(missing))
    got = f"one in {row(at, first)}"
    raise Refused("", f"not be missing, {why}", got, column=column, row=(first or 0) + at)


def read_clipped(
    table: Table, name: str, first: int | None, ends: Ends, *, dated: bool = False
) -> tuple[np.ndarray, Mask | None]:
    """Read numbers or dates of a column, clipped to its ends, and the rows that are missing."""
    try:
        values, missing = table.dates(name) if dated else table.numbers(name)
    except WrongType as error:
        kind = error.kind
    else:
        return _clip(values, missing, name, first, ends, dated)
    # After the block: no error of a library, which may quote a value, is in its context.
    what = "dates without a time zone" if dated else "integers or floats"
    raise RefusedType("", f"hold {what}", shown(kind), column=name)


def _range(kind: np.dtype[Any]) -> tuple[float, float]:
    """Return the least and the largest number of a type, exactly."""
    if kind.kind == "f":
        return float(np.finfo(kind).min), float(np.finfo(kind).max)
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _clip(
    values: np.ndarray, missing: Mask | None, name: str, first: int | None, ends: Ends, dated: bool
) -> tuple[np.ndarray, Mask | None]:
    if values.dtype.kind == "f":
        infinite = np.isinf(values)
        if infinite.any():
            at = int(np.argmax(infinite))
            got, at = f"an infinite one in {row(at, first)}", (first or 0) + at
            raise Refused("", "hold finite numbers", got, column=name, row=at)
        if missing is not None:
            values = np.where(missing, values.dtype.type(0), values)
    for label, end, take in zip(("bottom", "top"), ends, (np.maximum, np.minimum), strict=True):
        if end is None:
            continue
        if values.dtype.kind in "iu" and isinstance(end, float) and end % 1:
            must = "be whole for a column of integers"
            raise RefusedType(label, must, "a fraction", column=name)
        if not dated:
            low, high = _range(values.dtype)
            if end > high if label == "bottom" else end < low:  # type: ignore[operator]
                must = "be a number that the type of the column can hold"
                raise Refused(label, must, f"one beyond {values.dtype}", column=name)
            if not low <= end <= high:  # type: ignore[operator]
                # No value is beyond it.
                continue
        values = take(values, np.array(end, "M8[D]" if dated else values.dtype))
    return values, missing


def read_codes(
    table: Table, name: str, labels: Labels, first: int | None = 0
) -> tuple[Codes, Mask | None]:
    """Read the codes of one column and the missing rows, with errors as sentences."""
    try:
        return table.codes(name, labels)
    except Undeclared as error:
        count, at = error.count, (first or 0) + error.row
        got = f"{count} other value{'s' * (count > 1)}, the first in {row(error.row, first)}"
        got += _hint(table, name, labels, error.every)
        raise Refused("", "hold declared categories only", got, column=name, row=at) from None
    except WrongType as error:
        kind = error.kind
    words = _KINDS[labels.kind]
    if labels.kind != "boolean" and spelled_as(labels, "integer") is not None:
        words = "integers, or strings of their digits"
    raise RefusedType("", f"hold {words}, as its categories are", shown(kind), column=name)


def _hint(table: Table, name: str, labels: Labels, every: bool) -> str:
    """Hint at another spelling of the categories, which are declared and therefore public."""
    try:
        _codes, values = table.levels(name)
    except (TypeError, ValueError):
        # Values of several types have no order; the sentence does without a hint.
        values = []
    others = [v for v in values if isinstance(v, str) and labels.code(v) is None]
    if any(labels.code(text.strip()) is not None for text in others):
        return " (are there blanks around the values?)"
    one = shown(labels.values[0])
    if labels.kind != "boolean" and any(labels.code(_loosely(text)) is not None for text in others):
        return f" (the categories are spelled as plain digits, such as {one})"
    such = f"'{one}'" if labels.kind == "text" else one
    return f" (the categories are {_KINDS[labels.kind]}, such as {such})" if every else ""


def _loosely(text: str) -> float | None:
    """Read a string as a number, ignoring leading zeros, a plus and a decimal point."""
    try:
        return float(text)
    except ValueError:
        return None


def _count(wrong: Mask, first: int | None) -> tuple[str, int]:
    """Say how many rows are wrong and which is the first, and return the number of that."""
    at = int(np.argmax(wrong))
    got = "one" if len(wrong) == 1 else f"{int(wrong.sum())}, the first in {row(at, first)}"
    return got, (first or 0) + at


def _together(
    names: tuple[str, ...], masks: list[Mask | None], rows: int, first: int | None
) -> Mask:
    """Find rows in which all columns of an attribute are missing; only some raise an error."""
    full = [np.zeros(rows, bool) if mask is None else mask for mask in masks]
    some, every = np.logical_or.reduce(full), np.logical_and.reduce(full)
    uneven = some & ~every
    if uneven.any():
        must = 'be missing together where missing="keep"'
        at = row(int(np.argmax(uneven)), first)
        many = int(uneven.sum())
        got = f"{many} row{'s' * (many > 1)} with some of them, the first {at}"
        raise Refused("", must, f'{got}: missing="category" takes them', column=names)
    return np.asarray(every)


def _remaining(attribute: Coded, codes: Codes, stays: Mask | None, first: int | None) -> Codes:
    """Convert codes to codes among the cells that can occur."""
    cells = attribute.cells
    wide = codes.astype(np.int64)
    before = np.searchsorted(cells, wide)
    bad = cells[np.minimum(before, len(cells) - 1)] == wide
    if stays is not None:
        bad &= ~stays
    if bad.any():
        got, at = _count(bad, first)
        must = "hold no combination declared impossible"
        raise Refused("", must, got, column=attribute.columns, row=at)
    return (wide - before).astype(narrow(attribute.size))


def read_groups(table: Table, name: str, labels: Labels, first: int | None) -> Codes:
    """Read the codes of a column that chooses the matrix, none missing."""
    codes, missing = read_codes(table, name, labels, first)
    if missing is not None:
        refuse_missing(name, missing, "as it chooses the matrix", first)
    return codes
