"""``Channel``: known noise of somebody else's survey or laboratory, for analysis alone.

Its rows sum to 1, its columns need not. So it has no beta and no epsilon, and it never randomizes.
For the estimators it is a linear map without a structure. A joint one is taken apart as a kron is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar

import numpy as np

from bistochastic import _core, arguments, linear
from bistochastic.arguments import Array
from bistochastic.cached import cached
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown
from bistochastic.matrix import Matrix
from bistochastic.matrix_json import VERSION, headed, parsed, ratio

if TYPE_CHECKING:
    from bistochastic.families import Number, Table, Vector

Rows = tuple[tuple[Fraction, ...], ...]
P = ParamSpec("P")
T = TypeVar("T")

FORMAT = "bistochastic.channel"
# Most categories of one column, whose entries are fractions, of denominators below a limit; floats
# are decimals of 17 places.
_MOST, _LIMIT, _PLACES = 1024, 2**63, 10**17


def _same(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of ``Matrix`` that asks for a linear map alone."""
    return method


@dataclass(frozen=True, init=False, repr=False)
class Channel(Shown):
    """Known noise, for analysis alone: the true category ``u`` was reported as ``v`` with ``p_uv``.

    A right-stochastic matrix, whose rows sum to 1: for answers that somebody else's survey has
    randomized, or that a laboratory measured with known errors. It estimates as a :class:`Matrix`
    does, errors taking its probabilities as known. Intervals are exact for two categories and for
    forced answers. It never randomizes, and it has no beta, epsilon or profile. Give one of

    * ``matrix``: its rows, or a bistochastic :class:`Matrix`
    * ``forced``: for each category the probability that it is reported whatever the truth is
    * ``warner``: the probability of being asked the question itself, not its opposite
    * ``unrelated``: the same, and the share that answers yes to the other question
    * ``kuk``: the probabilities of a red card, reported as yes, for a true yes and a true no
    * ``sensitivity`` and ``specificity``: how often a true yes is reported as yes, and no as no

    The last four have the categories no and yes, in this order. Fractions are kept exactly. A float
    stands for the decimal that Python prints.

    >>> from fractions import Fraction
    >>> bs.Channel(warner=Fraction(1, 6)).estimate(counts=[367, 633]).frequencies.round(4)
    array([0.6995, 0.3005])
    >>> test = bs.Channel(sensitivity=0.96, specificity=0.89)
    >>> test
    <Channel 2 x 2: known noise, for analysis alone>
    >>> test.epsilon
    Traceback (most recent call last):
        ...
    AttributeError: `epsilon` must be asked of a bistochastic Matrix; got a Channel, which is for
        analysis alone
    """

    rows: Rows
    # The columns of a joint channel, which has no rows of its own.
    parts: tuple[Matrix | Channel, ...]

    # The public module, not the file that defines the class; and NumPy multiplies no channels.
    __module__ = "bistochastic"
    __array_ufunc__ = None

    def __init__(
        self,
        matrix: Matrix | Table | None = None,
        *,
        forced: Vector | None = None,
        warner: Number | None = None,
        unrelated: tuple[Number, Number] | None = None,
        kuk: tuple[Number, Number] | None = None,
        sensitivity: Number | None = None,
        specificity: Number | None = None,
    ) -> None:
        both = None if sensitivity is specificity is None else (sensitivity, specificity)
        forms: dict[str, Any] = {
            "matrix": matrix, "forced": forced, "warner": None if warner is None else (warner,),
            "unrelated": unrelated, "kuk": kuk, "sensitivity and specificity": both,
        }  # fmt: skip
        given = {name: value for name, value in forms.items() if value is not None}
        if len(given) != 1:
            must = f"be given exactly one of {', '.join(forms)}"
            raise Refused("Channel", must, ", ".join(given) or "none")
        vars(self).update(rows=_rows_of(*given.popitem()), parts=())

    @classmethod
    def joint(cls, *columns: Matrix | Channel) -> Self:
        """Join several columns, each with its own noise; codes are in C order, as in :func:`kron`.

        ``columns`` are channels or bistochastic matrices: :func:`identity` for one without noise.

        >>> both = bs.Channel.joint(bs.identity(3), bs.Channel(forced=[0.1, 0.2]))
        >>> both.estimate(counts=[[30, 10], [20, 20], [10, 30]]).counts.round(1)
        array([31.4,  8.6, 17.1, 22.9,  2.9, 37.1])
        """
        got = [type(one).__name__ for one in columns if not isinstance(one, Matrix | Channel)]
        if got or not columns:
            raise RefusedType("columns", "be channels or matrices", got[0] if got else "none")
        made = object.__new__(cls)
        vars(made).update(rows=(), parts=columns)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return (Channel.joint, self.parts) if self.parts else (Channel, (self.rows,))

    def __repr__(self) -> str:
        return f"<Channel {self.size} x {self.size}: known noise, for analysis alone>"

    def __getattr__(self, name: str) -> NoReturn:
        must = "be asked of a bistochastic Matrix; got a Channel, which is for analysis alone"
        private = name in dir(Matrix) or name == "certificate"
        none = f"'Channel' object has no attribute {name!r}"
        raise AttributeError(f"`{name}` must {must}" if private else none)

    @property
    def size(self) -> int:
        """The number of categories."""
        return math.prod(part.size for part in self.parts) if self.parts else len(self.rows)

    @property
    def padding(self) -> int:
        """How many codes can be reported but are never true: those of a matrix in a joint one."""
        true = math.prod(part.size - part.padding for part in self.parts)
        return self.size - true if self.parts else 0

    def to_dense(self) -> Array:
        """Return the matrix as an array of doubles.

        >>> bs.Channel(kuk=(0.4, 0.8)).to_dense()
        array([[0.2, 0.8],
               [0.6, 0.4]])
        """
        if self.parts:
            _core.require_memory("to_dense", self.size, self.size, 16)
            dense: list[Array] = [part.to_dense() for part in self.parts]
            return reduce(lambda one, other: np.asarray(np.kron(one, other)), dense)
        return np.array([list(map(float, row)) for row in self.rows])

    condition = property(linear.condition)
    is_singular = property(linear.is_singular)
    apply = _same(Matrix.apply)
    solve = _same(Matrix.solve)
    estimate = _same(Matrix.estimate)
    standard_error = _same(Matrix.standard_error)
    required_records = _same(Matrix.required_records)

    def to_json(self) -> str:
        """Return the rows as JSON, with fractions as text; :meth:`from_json` reads it.

        >>> bs.Channel(warner=0.75).to_json()
        '{"format": "bistochastic.channel", "version": 1, "rows": [["3/4", "1/4"], ["1/4", "3/4"]]}'
        """
        if self.parts:
            raise Refused("to_json", "be used with the channel of one column", "a joint one")
        rows = [[f"{x.numerator}/{x.denominator}" for x in row] for row in self.rows]
        return json.dumps({"format": FORMAT, "version": VERSION, "rows": rows})

    @staticmethod
    def from_json(text: str) -> Channel:
        """Read the ``text`` that :meth:`to_json` wrote.

        >>> bs.Channel.from_json(bs.Channel(warner=0.75).to_json()) == bs.Channel(warner=0.75)
        True
        """
        here = parsed(text)
        headed(here, FORMAT, ("rows",))
        return Channel([[ratio(x) for x in row.items()] for row in here["rows"].items()])

    @cached
    def notes(self) -> dict[str, Any]:
        """What the linear maps have found out about it."""
        return {}

    @cached
    def answers(self) -> tuple[float, Array] | None:
        """The probability of the truth and those of forced answers, if that is all there is."""
        forced = [row[v] for v, row in enumerate((*self.rows[1:], *self.rows[:1]))]
        if self.size == 1 or self.parts or _answers(forced) != self.rows:
            return None
        return float(1 - sum(forced)), np.array(list(map(float, forced)))


def _answers(forced: list[Fraction]) -> Rows:
    """The rows if these answers are forced, and otherwise the truth is reported."""
    size, truth = range(len(forced)), 1 - sum(forced)
    return tuple(tuple(forced[v] + truth * (u == v) for v in size) for u in size)


def _rows_of(name: str, given: Any) -> Rows:
    if name == "matrix":
        return _written(given)
    must = "hold probabilities that sum to at most 1" if name == "forced" else "be probabilities"
    found = _exact(name, must, given)
    many = len(found) if name == "forced" else 1 if name == "warner" else 2
    if not found or len(found) != many or (name == "forced" and sum(found) > 1):
        raise Refused(name, must, f"{len(found)} with a sum of {float(sum(found)):g}")
    if name == "forced":
        return _answers(found)
    one, other = found[0], found[-1]
    # The probabilities that no and that yes are reported as yes.
    of_no, of_yes = {
        "warner": (1 - one, one),
        "unrelated": ((1 - one) * other, one + (1 - one) * other),
        "kuk": (other, one),
        "sensitivity and specificity": (1 - other, one),
    }[name]
    return (1 - of_no, of_no), (1 - of_yes, of_yes)


def _written(given: Any) -> Rows:
    """Read a matrix; rows of floats are scaled to sum to 1."""
    must = f"hold rows of probabilities that sum to 1, for at most {_MOST} categories"
    if isinstance(given, Matrix) and given.size <= _MOST:
        return tuple(tuple(given.exact_row(u)) for u in range(given.size))
    held = arguments.array("matrix", must, given, by_code=True)
    if held.ndim != 2 or held.shape[0] != held.shape[1] or not 0 < len(held) <= _MOST:
        raise Refused("matrix", must, f"shape {held.shape}" if held.ndim else type(given).__name__)
    rows = []
    for listed in held.tolist():
        row = _exact("matrix", must, listed)
        total, exact = sum(row, Fraction()), all(isinstance(x, int | Fraction) for x in listed)
        if abs(total - 1) > (0 if exact else 1e-9):
            raise Refused("matrix", must, f"a row with a sum of {float(total):.10g}")
        rows.append(tuple(x / total for x in row))
    return tuple(rows)


def _exact(name: str, must: str, given: Any) -> list[Fraction]:
    found = []
    for item in arguments.items(name, must, given):
        number = _core.as_real(name, must, item)
        if not 0 <= number <= 1:
            raise Refused(name, must, f"{number:g}")
        kept = isinstance(item, Fraction) and item.denominator < _LIMIT
        decimal = Fraction(round(Fraction(repr(number)) * _PLACES), _PLACES)
        found.append(item if kept else decimal)
    return found
