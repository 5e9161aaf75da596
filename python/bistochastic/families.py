"""The families of bistochastic matrices, one function each.

Every function returns an exact :class:`~bistochastic.Matrix`. Numbers given as floats live on the
grid 2^-53; fractions and whole numbers are taken as they are. Where a beta or an epsilon is asked
for, the reported beta is not below and the reported epsilon not above it. Bad input raises
``ValueError`` or ``TypeError`` with one sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bistochastic import _core

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Number = int | float | Fraction
    Vector = Sequence[int] | Sequence[float] | Sequence[Fraction] | NDArray[Any]


def build(family: str, **parameters: Any) -> Matrix:
    """The matrix of a family by name: ``bs.build(m.family, **m.parameters) == m``.

    >>> import bistochastic as bs
    >>> m = bs.tridiagonal(0.3, size=12)
    >>> bs.build(m.family, **m.parameters) == m
    True
    """
    return _core.build(family, parameters)


def identity(size: int) -> Matrix:
    """Everything is reported as it is: 0 bits, beta 0 (1 for one category, which hides nothing).

    >>> import bistochastic as bs
    >>> bs.identity(4).beta
    0.0
    """
    return _core.build("identity", {"size": size})


def uniform(size: int) -> Matrix:
    """Perfect secrecy: every category is reported with probability exactly ``1/size``.

    >>> import bistochastic as bs
    >>> bs.uniform(3).exact_row(0)
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    return _core.build("uniform", {"size": size})


def permutation(targets: Sequence[int] | NDArray[Any]) -> Matrix:
    """Code ``u`` is always reported as ``targets[u]``: a relabelling, 0 bits.

    >>> import bistochastic as bs
    >>> bs.permutation([1, 2, 0]).row(0)
    array([0., 1., 0.])
    """
    return _core.build("permutation", {"targets": targets})


def randomized_response(
    size: int,
    *,
    epsilon: float | None = None,
    beta: float | None = None,
    keep: Number | None = None,
) -> Matrix:
    """The truth with one probability, each lie with another, Expression (2).

    ``p_uu = e^epsilon / (size - 1 + e^epsilon)`` and ``p_uv = 1 / (size - 1 + e^epsilon)``: k-ary
    randomized response, locally differentially private. Among all matrices with that epsilon it
    tells the most truth, and among all bistochastic ones with that beta, too.

    Give exactly one of

    * ``epsilon`` >= 0: the realised one is not above it. 0 is exactly ``1/size``, ``inf`` exactly
      the identity; in between at most about 36.7 is realised up to size 65,536.
    * ``beta`` in [0, 1]: the reported one is not below it; of the two solutions the one with
      ``keep >= 1/size``.
    * ``keep`` in [0, 1]: the probability of the truth. A ``Fraction`` (denominator below 2^63) is
      exact; a float moves towards ``1/size`` by less than a step of the grid.

    Two integers at any size, so ten million individuals cost as much as two.

    >>> import bistochastic as bs
    >>> from fractions import Fraction
    >>> bs.randomized_response(12, epsilon=3).truthfulness
    0.64613768...
    >>> bs.randomized_response(3, keep=Fraction(1, 2)).exact_row(0)
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    >>> bs.randomized_response(3, epsilon=-1)
    Traceback (most recent call last):
        ...
    ValueError: `epsilon` must be at least 0; got -1
    """
    parameters = {"size": size, "epsilon": epsilon, "beta": beta, "keep": keep}
    return _core.build("randomized_response", parameters)


def blocks(sizes: Sequence[int] | NDArray[Any]) -> Matrix:
    """Classes of ``sizes`` consecutive codes, each a perfect secret, Expression (3).

    ``p_uv = 1/n_l`` inside class ``l`` and 0 across: the Anatomy form of k-anonymity. A report
    tells the class and nothing else, so epsilon is infinite from two classes on.

    >>> import bistochastic as bs
    >>> bs.blocks([2, 2]).to_dense()
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0.5, 0.5]])
    """
    return _core.build("blocks", {"sizes": sizes})


def k_anonymous(size: int, *, k: int | None = None, beta: float | None = None) -> Matrix:
    """As many classes of at least ``k`` consecutive codes as fit, Expression (3).

    There are ``size // k`` classes; the first ``size mod classes`` of them are one larger. By
    ``beta`` the smallest ``k`` whose true beta reaches it. Give exactly one of the two.

    >>> import bistochastic as bs
    >>> bs.k_anonymous(12, beta=0.5).parameters
    {'size': 12, 'k': 4}
    """
    return _core.build("k_anonymous", {"size": size, "k": k, "beta": beta})


def circulant(first_row: Vector) -> Matrix:
    """Each row is the first one shifted right by one, Expression (6): for cyclic categories.

    ``p_uv = first_row[(v - u) mod size]``. Floats must sum to 1 within 1e-9 and are rounded onto
    the grid, none by more than a unit of 2^-53 unless tiny entries have to be raised to one; whole
    numbers are exactly ``first_row / sum``, fractions exactly themselves.

    >>> import bistochastic as bs
    >>> bs.circulant([3, 1, 0]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    return _core.build("circulant", {"first_row": first_row})


def tridiagonal(
    alphas: Vector | Number | None = None,
    *,
    size: int | None = None,
    beta: float | None = None,
) -> Matrix:
    """A report strays by at most one step on an ordered scale, Expression (7).

    ``p_{i,i+1} = p_{i+1,i} = alpha_i``, the diagonal takes the rest. Three ways to say it: a vector
    of ``size - 1`` alphas, neighbours summing to at most 1; one alpha and a ``size``; or a ``size``
    and a ``beta``, which gives the smallest constant alpha that reaches it. The entropy rises in
    alpha only up to a peak between 1/3 and 1/2; a beta beyond it is refused, with the largest that
    can be had.

    >>> import bistochastic as bs
    >>> bs.tridiagonal([0.25, 0.5]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.25, 0.5 ],
           [0.  , 0.5 , 0.5 ]])
    >>> bs.tridiagonal(size=12, beta=0.6)
    Traceback (most recent call last):
        ...
    ValueError: `beta` must be at most 0.4112897665259084 for one alpha at size 12; got 0.6
    """
    return _core.build("tridiagonal", {"alphas": alphas, "size": size, "beta": beta})
