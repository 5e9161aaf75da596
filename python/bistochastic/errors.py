"""The exceptions that callers act on. Everything else is a plain ValueError or TypeError."""

from bistochastic import _core

__all__ = [
    "GuaranteeError", "InvertibleReleaseError", "OutOfMemoryError", "OutOfReachError",
    "SingularMatrixError",
]  # fmt: skip


class GuaranteeError(ValueError):
    """A required beta or epsilon that a matrix, plan or release does not have.

    >>> import bistochastic as bs
    >>> try:
    ...     bs.identity(3).require(beta=0.5)
    ... except bs.errors.GuaranteeError as error:
    ...     print(error)
    `beta` must be at least 0.5; got 0
    """


class OutOfReachError(ValueError):
    """A requested beta that no matrix of the family has.

    ``most`` is the largest possible beta and ``least`` the smallest, ``None`` if it is not known. A
    second request for ``most`` succeeds.

    >>> import bistochastic as bs
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
        self, *words: object, most: float | None = None, least: float | None = None
    ) -> None:
        super().__init__(*words)
        self.most = most
        self.least = least


class SingularMatrixError(ValueError):
    """An estimate that the reported values of this matrix do not determine.

    The message says what can be estimated.

    >>> import bistochastic as bs
    >>> try:
    ...     bs.k_anonymous(6, k=3).solve([3, 3, 3, 1, 1, 1])
    ... except bs.errors.SingularMatrixError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `solve` must be used with an invertible matrix; got one that reveals only the totals of ...
    """


class InvertibleReleaseError(ValueError):
    """An average that would reveal values to anyone who knows the matrix.

    >>> import bistochastic as bs
    >>> try:
    ...     bs.randomized_response(5, keep=0.5).average([3, 1, 4, 1, 5])
    ... except bs.errors.InvertibleReleaseError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `average` must be used with uniform or blocks ...; got a matrix of rank 5 out of 5, which ...
    """


class OutOfMemoryError(MemoryError, ValueError):
    """A request that needs more memory than is available. Nothing was allocated.

    >>> import bistochastic as bs
    >>> try:
    ...     bs.uniform(10**9).to_dense()
    ... except bs.errors.OutOfMemoryError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    `to_dense` must fit in ...; got a 1000000000 x 1000000000 array of 8000000000000000000 bytes
    """


_core.register(
    OutOfMemoryError=OutOfMemoryError,
    OutOfReachError=OutOfReachError,
)
