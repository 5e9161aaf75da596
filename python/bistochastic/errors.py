"""The exceptions of the package: what was refused, in fields and in one sentence.

Every exception that callers act on is a :class:`Refused`, and so a ``ValueError``, or a
:class:`RefusedType`, and so a ``TypeError``.
"""

from collections.abc import Iterable
from typing import Any

from bistochastic import _core

__all__ = [
    "GuaranteeError", "InvertibleReleaseError", "OutOfMemoryError", "OutOfReachError", "Refused",
    "RefusedType", "SingularMatrixError",
]  # fmt: skip


class _Fields(Exception):  # noqa: N818
    """The fields of a refusal, and the sentence that they make."""

    def __init__(
        self,
        name: str = "",
        must: str = "",
        got: object = "",
        *,
        column: str | Iterable[str] = (),
        row: int | None = None,
    ) -> None:
        super().__init__(*((name, must, str(got)) if must else (name,)))
        self.name = name if must else ""
        self.must = must
        self.got = str(got)
        self.column = (column,) if isinstance(column, str) else tuple(column)
        self.row = row

    def __str__(self) -> str:
        from bistochastic.formatting import prefix

        if not self.must:
            return prefix(self.column) + super().__str__()
        named = f"`{self.name}` " if self.name else ""
        return f"{prefix(self.column)}{named}must {self.must}; got {self.got}"


class Refused(_Fields, ValueError):  # noqa: N818
    """A value that the package does not take.

    The message has one form: what the value must be, and what it is. Its parts are fields:

    - ``name``: the argument, or ``""`` if the message is about a column.
    - ``must``: what is required, e.g. ``"be from 0 to 1"``.
    - ``got``: what was found. It never contains a respondent's value.
    - ``column``: the names of the columns in question, as a tuple.
    - ``row``: the number of the first row in question, from 0, or ``None``.

    >>> try:
    ...     bs.randomized_response(2, beta=2)
    ... except bs.errors.Refused as error:
    ...     print(error)
    ...     refused = error
    `beta` must be from 0 to 1; got 2
    >>> refused.name, refused.must, refused.got, refused.column
    ('beta', 'be from 0 to 1', '2', ())

    A function of your own can raise it by the same fields, or by one sentence.
    """


class RefusedType(_Fields, TypeError):  # noqa: N818
    """A type that the package does not take, or an unknown argument; it has the same fields.

    >>> try:
    ...     bs.uniform("three")
    ... except bs.errors.RefusedType as error:
    ...     print(error)
    `size` must be a number or a vector of numbers; got str
    """


class GuaranteeError(Refused):
    """A required beta or epsilon that a matrix, plan or release does not have.

    >>> try:
    ...     bs.identity(3).require(beta=0.5)
    ... except bs.errors.GuaranteeError as error:
    ...     print(error)
    `beta` must be at least 0.5; got 0
    """


class OutOfReachError(Refused):
    """A requested beta that no matrix of the family has.

    ``most`` is the largest possible beta and ``least`` the smallest, ``None`` if it is not known. A
    second request for ``most`` succeeds.

    >>> try:
    ...     bs.tridiagonal(size=12, beta=0.6)
    ... except bs.errors.OutOfReachError as error:
    ...     print(error)
    ...     most = error.most
    `beta` must be at most 0.4112897665259084 for one alpha at size 12; got 0.6
    >>> bs.tridiagonal(size=12, beta=most).beta == most
    True
    """

    def __init__(
        self, *fields: Any, most: float | None = None, least: float | None = None, **more: Any
    ) -> None:
        super().__init__(*fields, **more)
        self.most, self.least = most, least


class SingularMatrixError(Refused):
    """An estimate that the reported values of this matrix do not determine.

    The message says what can be estimated.

    >>> try:
    ...     bs.k_anonymous(6, k=3).solve([3, 3, 3, 1, 1, 1])
    ... except bs.errors.SingularMatrixError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `solve` must be used with an invertible matrix; got one that reveals only the totals of ...
    """


class InvertibleReleaseError(Refused):
    """An average that would reveal values to anyone who knows the matrix.

    >>> try:
    ...     bs.randomized_response(5, keep=0.5).average([3, 1, 4, 1, 5])
    ... except bs.errors.InvertibleReleaseError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `average` must be used with uniform or blocks ...; got a matrix of rank 5 out of 5, which ...
    """


class OutOfMemoryError(Refused, MemoryError):
    """A request that needs more memory than is available. Nothing was allocated.

    >>> try:
    ...     bs.uniform(10**9).to_dense()
    ... except bs.errors.OutOfMemoryError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `to_dense` must fit in ...; got a 1000000000 x 1000000000 array of 8000000000000000000 bytes
    """


_core.register(
    OutOfMemoryError=OutOfMemoryError,
    OutOfReachError=OutOfReachError,
    Refused=Refused,
    RefusedType=RefusedType,
)
