"""For tools that randomize columns of codes: databases, engines, survey software, plug-ins.

A tool has codes, matrices and one :class:`~bistochastic.Key`. It says under which address each
record is drawn, and :func:`draw` gives the reported codes. By :class:`Ids` the same person with the
same code has the same report in every release, and an independent one as soon as the code changes.
By :class:`Blocks` or :class:`Rows` noise depends on the contents of a block, or on the number of a
row. ``docs/protocol.md`` writes down everything drawn here, with vectors.

>>> import bistochastic as bs
>>> from bistochastic import backend
>>> key, m = bs.Key.insecure(1), bs.randomized_response(4, beta=0.6)
>>> age = backend.Column("age", [0, 3, 1], m)
>>> [drawn] = backend.draw([age], key, plan="survey", address=backend.Ids([7, 8, 9]))
>>> drawn.shape, backend.count(drawn, 4).sum().item()
((3,), 3)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bistochastic import _core, arguments
from bistochastic._core import Key
from bistochastic.errors import Refused, RefusedType
from bistochastic.families import Family, Parameters
from bistochastic.formatting import about, prefix
from bistochastic.keys import KeySource, read_key
from bistochastic.matrix import Matrix

__all__ = [
    "Blocks", "Column", "Family", "Ids", "Parameters", "Rows", "RowsPerId", "count", "derive",
    "draw", "pseudonyms", "read_key", "require_memory", "respond",
]  # fmt: skip

_IDS = "hold one integer, string or bytes per record"


class Ids:
    """Ids of records: integers, strings or bytes, one per record.

    ``values`` is a list, a tuple or an array. Integers stay in their array, strings and bytes are
    read once. The text ``"7"``, the bytes ``b"7"`` and the integer 7 are three people. An empty id
    is drawn like any other: a tool refuses one, which is nobody's, by :attr:`first_empty`.

    >>> ids = bs.backend.Ids(["ann", "bob", "eve"])
    >>> ids, ids.take([2, 0]).tolist()
    (<Ids: 3 records>, ['eve', 'ann'])
    """

    __slots__ = ("_held",)
    _held: Any

    def __init__(self, values: object) -> None:
        if isinstance(values, Ids):
            self._held = values._held
            return
        if isinstance(values, str | bytes):
            raise RefusedType("ids", _IDS, type(values).__name__)
        if not isinstance(values, list | _core.SpelledIds):
            plain = arguments.array("ids", _IDS, values)
            if plain.ndim != 1:
                raise Refused("ids", _IDS, f"shape {plain.shape}")
            if plain.dtype.kind not in "iuUSOT" and len(plain):
                raise RefusedType("ids", _IDS, f"dtype {plain.dtype}")
            wide = {"i": np.int64, "u": np.uint64}.get(plain.dtype.kind, plain.dtype)
            values = (
                plain.astype(wide, copy=False) if plain.dtype.kind in "iuUS" else plain.tolist()
            )
        self._held = _core.hold_ids(values)

    @staticmethod
    def of_buffers(
        pieces: Iterable[tuple[NDArray[np.int64], NDArray[np.uint8]]], *, text: bool
    ) -> "Ids":
        """Read strings or bytes from offsets and data, as Arrow's large strings hold them.

        No Python object is made per record. String ``i`` of one of the ``pieces`` is
        ``data[offsets[i]:offsets[i + 1]]``: a string if ``text``, else bytes.

        >>> import numpy as np
        >>> data = np.frombuffer(b"annbob", np.uint8)
        >>> bs.backend.Ids.of_buffers([(np.array([0, 3, 6]), data)], text=True).tolist()
        ['ann', 'bob']
        """
        read = []
        for piece in arguments.items("pieces", "hold pairs of offsets and data", pieces):
            if not isinstance(piece, tuple | list) or len(piece) != 2:
                raise RefusedType("pieces", "hold pairs of offsets and data", type(piece).__name__)
            offsets = _vector("offsets", piece[0], "be an array of int64", ("int64",))
            read.append((offsets, _vector("data", piece[1], "be an array of uint8", ("uint8",))))
        return Ids(_core.spelled_ids(_core.as_flag("text", text), read))

    @staticmethod
    def joined(parts: Iterable[object]) -> "Ids":
        """Join several columns to one id per record, which no record with other values has.

        ``parts`` are the columns, each with whatever :class:`Ids` takes.

        >>> one, two = bs.backend.Ids.joined([["a", "ab"], ["bc", "c"]]).tolist()
        >>> one == two
        False
        """
        listed = arguments.items("parts", "be columns of ids", parts)
        return Ids(_core.joined_ids([Ids(part)._held for part in listed]))

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"<Ids: {len(self):,} record{'s' * (len(self) != 1)}>"

    @property
    def integers(self) -> NDArray[np.int64] | NDArray[np.uint64] | None:
        """The ids as an array, if they are an array of integers."""
        return self._held if isinstance(self._held, np.ndarray) else None

    @property
    def kinds(self) -> frozenset[type]:
        """The types of the ids: ``int``, ``str``, ``bytes`` or several of these."""
        if isinstance(self._held, _core.SpelledIds):
            return frozenset((str if self._held.text else bytes,) * bool(len(self)))
        known = {int} if isinstance(self._held, np.ndarray) else set(map(type, self._held))
        found = (next((k for k in (str, bytes) if issubclass(t, k)), int) for t in known)
        return frozenset(found if len(self) else ())

    @property
    def first_empty(self) -> int | None:
        """The position of the first id that is an empty string or no bytes; None without one.

        >>> bs.backend.Ids(["ann", "", "eve"]).first_empty
        1
        """
        if isinstance(self._held, np.ndarray):
            return None
        if isinstance(self._held, _core.SpelledIds):
            return self._held.first_empty
        empty = (i for i, each in enumerate(self._held) if isinstance(each, str | bytes))
        return next((i for i in empty if not self._held[i]), None)

    def take(self, rows: ArrayLike) -> "Ids":
        """Select the ids of some records, by their positions, ``rows``."""
        places = _vector("rows", rows, "be an array of integers", "iu")
        if len(places) and not 0 <= places.min() <= places.max() < len(self):
            raise Refused("rows", f"be positions of {len(self)} records", "a number outside")
        if isinstance(self._held, list):
            return Ids([self._held[i] for i in places.tolist()])
        return Ids(self._held.take(places.astype(np.int64)))

    def tolist(self) -> list[int | str | bytes]:
        """List the ids as Python's objects."""
        return self._held if isinstance(self._held, list) else self._held.tolist()


@dataclass(frozen=True)
class Blocks:
    """The address of whole rows of a file, whose noise depends on what each block of them holds.

    Each piece of a file but the last has a multiple of ``Blocks.ROWS`` rows. ``first`` counts the
    blocks before it, and ``last`` says whether the file ends with it. A short last block joins the
    block before, so hold one block back until you know.

    >>> bs.backend.Blocks.ROWS, bs.backend.Blocks(first=2, last=False)
    (65536, Blocks(first=2, last=False))
    """

    ROWS: ClassVar[int] = 65_536
    first: int = 0
    last: bool = True

    def __post_init__(self) -> None:
        _number("first", self.first, 0)
        _core.as_flag("last", self.last)


@dataclass(frozen=True)
class Rows:
    """The address of consecutive rows by their numbers, from ``start`` on.

    Pieces of any length fit together. Noise depends on the key, plan, release and row only: never
    draw two versions of a table under the same names, as their reports reveal how they differ.

    >>> bs.backend.Rows(start=1_000)
    Rows(start=1000)
    """

    start: int = 0

    def __post_init__(self) -> None:
        _number("start", self.start, 0)


class Column:
    """One column to draw, or several that are drawn as one code.

    * ``names``: the name of the column, or of all columns that are joined in its code.
    * ``codes``: the true codes, integers from 0 on. A missing record has any valid code, say 0.
    * ``matrices``: one matrix, or one for each group; all of one size.
    * ``groups``: the number of the matrix that each record is drawn by, if there are several.
    * ``missing``: whether each record is missing. The reported code of such a record means nothing:
      put your missing values back.

    >>> law = bs.randomized_response(2, beta=0.5), bs.identity(2)
    >>> bs.backend.Column(["smokes"], [0, 1, 1], law, groups=[0, 0, 1])
    <Column `smokes`: 3 records, 2 categories>
    """

    __slots__ = ("codes", "groups", "matrices", "missing", "names")

    def __init__(
        self,
        names: str | Sequence[str],
        codes: ArrayLike,
        matrices: Matrix | Sequence[Matrix],
        groups: ArrayLike | None = None,
        missing: ArrayLike | None = None,
    ) -> None:
        listed = [names] if isinstance(names, str) else arguments.items("names", _NAMES, names)
        self.names = [_text("names", each) for each in listed]
        given = [matrices] if isinstance(matrices, Matrix) else matrices
        self.matrices: list[Matrix] = arguments.things("matrices", _LAWS, given, Matrix)
        sizes = [law.size for law in self.matrices]
        if len(set(sizes)) != 1:
            raise Refused("matrices", "all have one size", ", ".join(map(str, sizes)) or "none")
        self.missing: NDArray[np.bool_] | None = None
        self.groups: NDArray[np.uint32] | None = None
        with about(self.names):
            self.codes, most = _vector("codes", codes, _CODES, "iub"), sizes[0] - 1
            rows, dtype = len(self.codes), self.codes.dtype
            if most > (1 if dtype.kind == "b" else np.iinfo(dtype).max):
                raise Refused("codes", f"have a dtype that holds {most}", dtype)
            if missing is not None:
                self.missing = _vector("missing", missing, "be an array of booleans", "b", rows)
            if groups is not None:
                found = _vector("groups", groups, "be an array of integers", "iu", rows)
                if not ((found >= 0) & (found < len(sizes))).all():
                    must = f"hold integers from 0 to {len(sizes) - 1}"
                    raise Refused("groups", must, "one outside")
                self.groups = found.astype(np.uint32)
            elif len(sizes) > 1:
                raise Refused("groups", f"be given with {len(sizes)} matrices", "none")

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        words = prefix(self.names).removeprefix("column").lstrip("s").strip()
        return f"<Column {words} {len(self):,} records, {self.matrices[0].size:,} categories>"


_CODES = "be an array of integers without missing values"
_NAMES = "be a string or several"
_LAWS = "be a Matrix, or one for each group"


def draw(
    columns: Sequence[Column],
    key: Key,
    *,
    plan: str,
    release: str = "",
    address: Ids | Blocks | Rows,
) -> list[NDArray[Any]]:
    """Draw the reported codes of columns: an array for each, of the type of its codes.

    ``plan`` names what the columns belong to, ``release`` one release of it. Noise depends on both
    names, except that an ``address`` by :class:`Ids` gives the same in every release. By
    :class:`Blocks` it depends on all columns of the call, so give all of a table in one call, each
    under a name of its own.

    **Anyone with the key can undo the release.**

    >>> key, m = bs.Key.insecure(1), bs.randomized_response(4, beta=0.6)
    >>> columns = [bs.backend.Column("age", [0, 3, 1], m), bs.backend.Column("town", [1, 1, 2], m)]
    >>> [age, town] = bs.backend.draw(columns, key, plan="survey", address=bs.backend.Rows())
    >>> age.shape
    (3,)
    """
    _text("plan", plan)
    _text("release", release)
    if not isinstance(key, Key):
        hint = ", of which read() gives the key" * isinstance(key, KeySource)
        raise RefusedType("key", "be a Key", f"{type(key).__name__}{hint}")
    columns = arguments.things("columns", "hold a Column each", columns, Column)
    for column in columns:
        if len(column) != len(columns[0]):
            raise Refused("columns", f"have {len(columns[0])} records each", len(column))
    names = [name for column in columns for name in column.names]
    if len(set(names)) < len(names):
        raise Refused("columns", "have each name once: columns of one name share noise", "it again")
    if isinstance(address, Blocks):
        given = [(c.names, _narrow(c), c.missing, c.groups, c.matrices) for c in columns]
        if not given:
            return []
        drawn = _core.plan_blocks(key, plan, release, given, address.first, address.last)
        pairs = zip(drawn, columns, strict=True)
        return [new.astype(column.codes.dtype, copy=False) for new, column in pairs]
    if isinstance(address, Rows):
        key = _core.plan_key(key, "rows", plan, [release])
        end = address.start + (len(columns[0]) if columns else 0)
        if end >= 2**63:
            raise Refused("address", "have all rows below 2^63", "more")
        ids = Ids(np.arange(address.start, end))
        return [_by_ids(column, key, plan, ids) for column in columns]
    if not isinstance(address, Ids):
        raise RefusedType("address", "be Ids, Blocks or Rows", type(address).__name__)
    if release:
        raise Refused("release", "be empty by Ids, which draw the same in every release", "a name")
    return [_by_ids(column, key, plan, address) for column in columns]


def _by_ids(column: Column, key: Key, plan: str, ids: Ids) -> NDArray[Any]:
    with about(column.names):
        if column.groups is None:
            [law] = column.matrices
            return _core.plan_ids(key, plan, column.names, law, column.codes, ids._held)
        out = np.empty_like(column.codes)
        for group, law in enumerate(column.matrices):
            rows = np.flatnonzero(column.groups == group)
            codes, some = column.codes[rows], ids.take(rows)
            out[rows] = _core.plan_ids(key, plan, column.names, law, codes, some._held)
        return out


def respond(
    names: list[str], matrix: Matrix, code: int, key: Key, plan: str, id: int | str | bytes
) -> int:
    """Draw one reported code, as :func:`draw` by :class:`Ids` does.

    ``names`` and ``matrix`` are the column's, ``plan``, ``key`` and ``id`` those of the draw. An
    empty ``id`` is drawn, as by :class:`Ids`.

    >>> key, m = bs.Key.insecure(1), bs.randomized_response(4, beta=0.6)
    >>> column = bs.backend.Column("age", [3], m)
    >>> [drawn] = bs.backend.draw([column], key, plan="survey", address=bs.backend.Ids(["ann"]))
    >>> bs.backend.respond(["age"], m, 3, key, "survey", "ann") == int(drawn[0])
    True
    """
    try:
        return _core.plan_respond(key, plan, names, matrix, code, id)
    except (TypeError, OverflowError, UnicodeError):
        # What the core cannot read at all is read, or refused in a sentence, as a column of one.
        column = Column(names, [code], matrix)
        return int(draw([column], key, plan=plan, address=Ids([id]))[0][0])


def derive(
    key: Key,
    purpose: Literal["rows", "units", "numbers", "column"],
    *labels: str | int | Sequence[str] | NDArray[np.uint64],
) -> Key:
    """Derive a key that draws independently of ``key`` and of every other derived key.

    The purpose says which labels follow:

    * ``"rows"``, plan and release: rows of one release are addressed rather than people. Draw by
      :class:`Ids` that identify rows under this key.
    * ``"units"``, plan and column: records that share one draw, such as the people of a household.
    * ``"numbers"``, plan, names of columns and the number of a class: numbers inside that class.
    * ``"column"``, plan, release, column, a word for the type of the numbers and the column itself
      as an array of ``uint64``: a whole column that is permuted.

    >>> key = bs.Key.insecure(1)
    >>> bs.backend.derive(key, "rows", "survey", "2026") == key
    False
    """
    wanted = _PURPOSES[arguments.one_of("purpose", purpose, tuple(_PURPOSES))]
    if len(labels) != len(wanted):
        must = f"be {', '.join(wanted)} to derive a key for {purpose}"
        raise RefusedType("labels", must, len(labels))
    pairs = zip(wanted, labels, strict=True)
    read = [_READ.get(name, _text)(name, given) for name, given in pairs]
    if purpose == "column":
        return _core.plan_column_key(key, *read)
    return _core.plan_key(key, purpose, read[0], read[1:])


_PURPOSES = {
    "rows": ("plan", "release"),
    "units": ("plan", "column"),
    "numbers": ("plan", "columns", "place"),
    "column": ("plan", "release", "column", "kind", "words"),
}
# How labels are read that are no text.
_READ: dict[str, Callable[[str, Any], Any]] = {
    "place": lambda name, given: _number(name, given, 0),
    "columns": lambda name, given: [_text(name, x) for x in arguments.items(name, _NAMES, given)],
    "words": lambda name, given: _vector(name, given, "be an array of uint64", ("uint64",)),
}


def pseudonyms(ids: Ids, key: Key, *, plan: str) -> NDArray[np.uint8]:
    """Compute a keyed hash of 16 bytes for each of ``ids``, the same in every release of a plan.

    Anyone with the key can find the pseudonym of an id. Without the key, no one can.

    >>> bs.backend.pseudonyms(bs.backend.Ids([7, 8]), bs.Key.insecure(1), plan="survey").shape
    (2, 16)
    """
    return _core.plan_pseudonyms(key, _text("plan", plan), Ids(ids)._held)


class RowsPerId:
    """Count the rows of each id in bounded memory, and find the first that is one too many.

    An id with more than :attr:`bound` rows is always found, one with at most ``limit`` never. Both
    are the same up to about 2^20 ids.

    >>> hashes = bs.backend.pseudonyms(bs.backend.Ids([7, 8, 7]), bs.Key.insecure(1), plan="survey")
    >>> seen = bs.backend.RowsPerId(1)
    >>> seen.add(hashes), seen.bound
    (2, 1)
    """

    __slots__ = ("_tally",)

    def __init__(self, limit: int) -> None:
        self._tally = _core.Tally(_number("limit", limit, 0))

    def add(self, hashes: NDArray[np.uint8]) -> int | None:
        """Count records by ``hashes`` of 16 bytes; return the first that is one too many."""
        must = "be 16 bytes for each record"
        plain = arguments.array("hashes", must, hashes)
        if plain.dtype != np.uint8 or plain.ndim != 2 or plain.shape[1] != 16:
            raise Refused("hashes", must, f"shape {plain.shape} of {plain.dtype}")
        return self._tally.add(np.ascontiguousarray(plain))

    @property
    def bound(self) -> int:
        """More rows of an id than this would have been found."""
        return self._tally.bound


def count(codes: ArrayLike, size: int) -> NDArray[np.uint64]:
    """Count how often each of the ``codes`` from 0 to ``size - 1`` occurs.

    >>> bs.backend.count([0, 3, 1, 3], 4).tolist()
    [1, 1, 0, 2]
    """
    many = _number("size", size, 1)
    _core.require_memory("size", many, 1, 8)
    return _core.count(_vector("codes", codes, _CODES, "iub"), many)


def require_memory(what: str, rows: int, columns: int, each: int) -> None:
    """Raise :class:`bistochastic.errors.OutOfMemoryError` if an array would not fit in memory.

    ``what`` is the argument that asks for ``rows`` times ``columns`` cells of ``each`` bytes.

    >>> bs.backend.require_memory("columns", 1000, 1000, 8)
    """
    many, width = _number("rows", rows, 0), _number("columns", columns, 0)
    _core.require_memory(_text("what", what), many, width, _number("each", each, 0))


def _number(name: str, given: object, least: int) -> int:
    found = _core.as_whole(name, given, least)
    if found >= 2**63:
        raise Refused(name, "be below 2^63", "more")
    return found


def _text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise RefusedType(name, "be a string", type(given).__name__)
    if not given.isascii() and any("\ud800" <= each <= "\udfff" for each in given):
        raise Refused(name, "be a string", "one with half a surrogate pair")
    return given


def _vector(
    name: str, given: object, must: str, kinds: str | tuple[str], rows: int | None = None
) -> NDArray[Any]:
    """Read an array with one axis, of a kind or type among these, and of this many records."""
    found = arguments.array(name, must, given)
    if not found.size and not isinstance(given, np.ndarray):
        # An empty list has no type.
        found = found.astype(bool if kinds == "b" else np.int64)
    if {found.dtype.kind, found.dtype.name}.isdisjoint(kinds):
        raise RefusedType(name, must, f"dtype {found.dtype}")
    if found.ndim != 1:
        raise Refused(name, f"{must} with one axis", found.ndim)
    if rows is not None and len(found) != rows:
        raise Refused(name, f"be one for each of the {rows} records", len(found))
    return np.require(found, requirements=["C", "A"])


def _narrow(column: Column) -> NDArray[Any]:
    """Return the codes in the narrowest type, which the digest of a block is of."""
    size, codes = column.matrices[0].size, column.codes
    dtype = np.min_scalar_type(size - 1)
    if codes.dtype != dtype and len(codes) and codes.dtype.kind != "b":
        outside = (codes < 0) | (codes >= size)
        if outside.any():
            with about(column.names):
                must = f"hold integers from 0 to {size - 1}"
                raise Refused("codes", must, f"one outside at position {int(outside.argmax())}")
    return np.require(codes, dtype, ["C", "A"])
