"""The exceptions that callers act on. Everything else is a plain ValueError or TypeError."""


class GuaranteeError(ValueError):
    """A required beta or epsilon is not kept.

    >>> import bistochastic as bs
    >>> try:
    ...     bs.identity(3).require(beta=0.5)
    ... except bs.errors.GuaranteeError as error:
    ...     print(error)
    `beta` must be at least 0.5; got 0
    """
