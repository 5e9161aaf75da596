"""The families of bistochastic matrices, one function each.

Every function returns an exact :class:`~bistochastic.Matrix`. Numbers given as floats live on the
grid 2^-53; fractions and whole numbers are taken as they are. Where a beta or an epsilon is asked
for, the reported beta is not below and the reported epsilon not above it. Vectors and tables may be
lists, arrays, Series and frames (pandas, polars) or Arrow arrays. A ``numpy.longdouble`` is taken
as the nearest double. Bad input, complex numbers and missing values among it, raises ``ValueError``
or ``TypeError`` with one sentence.

``m.parameters`` can be handed back: ``bs.circulant(**m.parameters) == m``, and the same for every
other family. What floating point once decided stands there as whole numbers (``counts``,
``kernel``, ``alphas``, ``first_row``) beside the ``total`` that they are counted out of. Nobody has
to write these by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bistochastic import _core, arguments
from bistochastic.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    Number = int | float | Fraction
    Vector = Sequence[int] | Sequence[float] | Sequence[Fraction] | NDArray[Any]
    Table = Sequence[Vector] | NDArray[Any]


def _listed(matrices: Iterable[Matrix]) -> list[Matrix]:
    """Matrices as a list, since NumPy would make something else of arrays among them."""
    if isinstance(matrices, Matrix):
        raise TypeError("`matrices` must be a sequence of matrices; got one matrix")
    listed = arguments.items("matrices", "be a sequence of matrices", matrices)
    for matrix in listed:
        if not isinstance(matrix, Matrix):
            raise TypeError(f"`matrices` must hold matrices; got {type(matrix).__name__}")
    return listed


def build(family: str, **parameters: Any) -> Matrix:
    """The matrix of a family by name: ``bs.build(m.family, **m.parameters) == m``.

    Numbers are whole numbers, fractions or floats; a ``numpy.longdouble`` is taken as the nearest
    double, a complex number is refused. Vectors and tables are lists, arrays, Series and frames
    (pandas, polars) or Arrow arrays, without missing values. A name that the family does not have
    is refused with those that it has.

    >>> import bistochastic as bs
    >>> m = bs.tridiagonal(0.3, size=12)
    >>> bs.build(m.family, **m.parameters) == m
    True
    >>> bs.build("k_anonymous", size=12, K=3)
    Traceback (most recent call last):
        ...
    TypeError: `K` must be a parameter of k_anonymous (size, k, beta); got a name it does not have
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
      exact; a float moves towards ``1/size``, by less than ``size`` units of the grid.

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


def k_anonymous(
    size: int,
    *,
    k: int | None = None,
    beta: float | None = None,
    share: Number | None = None,
) -> Matrix:
    """As many classes of at least ``k`` consecutive codes as fit, Expression (3).

    There are ``size // k`` classes; the first ``size mod classes`` of them are one larger. By
    ``beta`` the smallest ``k`` whose true beta reaches it, by ``share`` the smallest that is at
    least that share of ``size``: 0.05 is "within 5 % of the ranks". Give exactly one of the three.

    >>> import bistochastic as bs
    >>> bs.k_anonymous(12, beta=0.5).parameters
    {'size': 12, 'k': 4}
    >>> bs.k_anonymous(1000, share=0.05).parameters
    {'size': 1000, 'k': 50}
    """
    given = {"size": size, "k": k, "beta": beta, "share": share}
    return _core.build("k_anonymous", given)


def circulant(first_row: Vector, *, total: int | None = None) -> Matrix:
    """Each row is the first one shifted right by one, Expression (6): for cyclic categories.

    ``p_uv = first_row[(v - u) mod size]``. Floats must sum to 1 within 1e-9 and are rounded onto
    the grid, after scaling none by more than a unit of 2^-53 unless tiny entries have to be raised
    to one; whole numbers are exactly ``first_row / sum``, fractions exactly themselves. ``total``
    is that sum, as it stands in ``parameters``; it need not be given.

    >>> import bistochastic as bs
    >>> bs.circulant([3, 1, 0]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    return _core.build("circulant", {"first_row": first_row, "total": total})


def tridiagonal(
    alphas: Vector | Number | None = None,
    *,
    size: int | None = None,
    beta: float | None = None,
    total: int | None = None,
) -> Matrix:
    """A report strays by at most one step on an ordered scale, Expression (7).

    ``p_{i,i+1} = p_{i+1,i} = alpha_i``, the diagonal takes the rest. Three ways to say it: a vector
    of ``size - 1`` alphas, neighbours summing to at most 1; one alpha and a ``size``; or a ``size``
    and a ``beta``, which gives the smallest constant alpha that reaches it. The entropy rises in
    alpha only up to a peak between 1/3 and 1/2; a beta beyond it is refused, with the largest that
    can be had. With ``total`` the alphas are whole numbers out of it, as in ``parameters``.

    >>> import bistochastic as bs
    >>> bs.tridiagonal([0.25, 0.5]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.25, 0.5 ],
           [0.  , 0.5 , 0.5 ]])
    >>> bs.tridiagonal([1, 2], total=4).same_law(bs.tridiagonal([0.25, 0.5]))
    True
    >>> bs.tridiagonal(size=12, beta=0.6)
    Traceback (most recent call last):
        ...
    bistochastic.errors.OutOfReachError: `beta` must be at most 0.4112897665259084 for one ...
    """
    parameters = {"alphas": alphas, "size": size, "beta": beta, "total": total}
    return _core.build("tridiagonal", parameters)


def reflected(kernel: Vector, *, total: int | None = None) -> Matrix:
    """A step drawn from one even law, folded back at the ends of an ordered scale.

    ``p_uv = c_{v-u} + c_{u+v+1}`` with indices on a cycle of length ``2r``, from a kernel
    ``c_0, ..., c_r`` with ``c_0 + 2 (c_1 + ... + c_{r-1}) + c_r = 1``: symmetric and bistochastic
    for every such kernel. Contains the identity, randomized response, the tridiagonal matrix with
    one alpha and discrete Gaussians.

    With ``total`` the kernel holds whole numbers out of it, as in ``parameters``. Beyond 2^30 terms
    the reported beta is a lower bound of the true one (``m.is_exact``).

    >>> import bistochastic as bs
    >>> bs.reflected([0.5, 0.25, 0.0, 0.0]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.5 , 0.25],
           [0.  , 0.25, 0.75]])
    """
    return _core.build("reflected", {"kernel": kernel, "total": total})


def geometric(
    size: int | None = None,
    *,
    temperature: float | None = None,
    beta: float | None = None,
    kernel: Vector | None = None,
    total: int | None = None,
) -> Matrix:
    """The reflected kernel that falls by the factor ``exp(-1/T)`` a step, for ordered categories.

    Any report is at most ``exp(|u - w| / T)`` times as likely under truth ``u`` as under ``w``:
    metric privacy, exactly, in the integers that are sampled. Give exactly one of ``temperature``
    (0 is the identity, ``inf`` perfect secrecy) and ``beta``, for the coldest law that reaches it.
    ``kernel`` and ``total``, as they stand in ``parameters``, are the law itself and go alone.

    >>> import bistochastic as bs
    >>> m = bs.geometric(12, beta=0.6)
    >>> m.beta >= 0.6, round(m.truthfulness, 3)
    (True, 0.478)
    """
    asked = {"size": size, "temperature": temperature, "beta": beta}
    return _core.build("geometric", {**asked, "kernel": kernel, "total": total})


def gibbs(
    cost: Table | None = None,
    *,
    temperature: float | None = None,
    beta: float | None = None,
    counts: Table | None = None,
    total: int | None = None,
) -> Matrix:
    """The least expected cost at a given beta: ``p_uv = x_u y_v exp(-cost_uv / T)``.

    ``cost[u][v] >= 0`` is what it costs to report ``v`` for ``u``; ``inf`` forbids it; it need not
    be symmetric. Among all bistochastic matrices of that entropy this one has the least mean cost,
    and ``T ln 2`` is the price of one more bit. Equal costs off the diagonal give randomized
    response, costs 0 and ``inf`` give blocks.

    Give exactly one of ``temperature`` > 0 and ``beta``, for the coldest law that reaches it; what
    the allowed reports cannot reach is refused with what they can. Far below the costs the law
    tends to the cheapest assignment, or is shared out among several. Differences of costs decide
    there and are taken exactly; costs that need some 2^60 temperatures at once are refused.
    ``counts`` and ``total``, as they stand in ``parameters``, are the law itself and go alone.

    >>> import bistochastic as bs
    >>> import numpy as np
    >>> scale = np.arange(4)
    >>> m = bs.gibbs(abs(scale[:, None] - scale), beta=0.5)
    >>> round(float((m.to_dense() * abs(scale[:, None] - scale)).sum() / 4), 6)
    0.250477
    """
    asked = {"cost": cost, "temperature": temperature, "beta": beta}
    return _core.build("gibbs", {**asked, "counts": counts, "total": total})


def dense(
    array: Table | None = None, *, counts: Table | None = None, total: int | None = None
) -> Matrix:
    """A matrix of one's own.

    Floats must have row and column sums within 1e-9 of 1; they are balanced, then rounded onto the
    grid 2^-53 with exact line sums and unchanged support. A matrix that is on the grid already is
    not touched. Whole numbers whose lines all sum to ``D`` are exactly ``array / D``; fractions are
    exactly themselves. ``requested`` says by how much sums were ``off`` and an entry ``moved``.
    ``counts`` and ``total``, as they stand in ``parameters``, are the law itself and go alone.

    >>> import bistochastic as bs
    >>> bs.dense([[2, 1, 0], [1, 1, 1], [0, 1, 2]]).exact_row(0)
    [Fraction(2, 3), Fraction(1, 3), Fraction(0, 1)]
    >>> m = bs.dense([[0.1, 0.9], [0.9, 0.1]])
    >>> bs.dense(m.to_dense()) == m
    True
    """
    return _core.build("dense", {"array": array, "counts": counts, "total": total})


def balance(
    array: Table | None = None, *, counts: Table | None = None, total: int | None = None
) -> Matrix:
    """The bistochastic matrix nearest in relative entropy to an array of non-negative numbers.

    ``p_uv = x_u a_uv y_v``: rows and columns scaled until all sum to 1 (Sinkhorn, then Newton where
    that crawls), then rounded onto the grid. Every positive entry must lie on a positive diagonal,
    otherwise the first that does not is named. ``counts`` and ``total``, as they stand in
    ``parameters``, are the law itself and go alone.

    >>> import bistochastic as bs
    >>> bs.balance([[1, 2], [3, 4]]).row(0).round(6)
    array([0.44949, 0.55051])
    >>> bs.balance([[1, 1], [0, 1]])
    Traceback (most recent call last):
        ...
    ValueError: `array` must have every positive entry on a positive diagonal; got one on none ...
    """
    return _core.build("balance", {"array": array, "counts": counts, "total": total})


def t_transform(size: int, i: int, j: int, *, keep: Number) -> Matrix:
    """Codes ``i`` and ``j`` are swapped with probability ``1 - keep``, the others left alone.

    The smallest step of majorization: ``keep I + (1 - keep) Q_ij``, with ``(2/size) h(keep)`` bits.

    >>> import bistochastic as bs
    >>> bs.t_transform(3, 0, 2, keep=0.75).to_dense()
    array([[0.75, 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [0.25, 0.  , 0.75]])
    """
    return _core.build("t_transform", {"size": size, "i": i, "j": j, "keep": keep})


def kron(*factors: Matrix, matrices: Sequence[Matrix] | None = None) -> Matrix:
    """Independent matrices on several attributes, as one on their joint domain.

    The joint code is in C order as in ``numpy.kron``: the last attribute runs fastest. Bits and
    epsilon add, truthfulness multiplies, so Definition 2 with beta is Definition 3 with the same
    beta for this matrix. Up to 2^53 cells; nothing of the joint matrix is ever formed. The factors
    may come as one list, ``matrices``, as it stands in ``parameters``.

    >>> import bistochastic as bs
    >>> m = bs.kron(bs.uniform(3), bs.identity(2))
    >>> m.size, m.entropy_rate == bs.uniform(3).entropy_rate
    (6, True)
    """
    if matrices is None:
        return _core.build("kron", {"matrices": _listed(factors)})
    if factors:
        got = f"{len(factors)} of them and `matrices`"
        raise TypeError(f"`kron` must be given its factors once; got {got}")
    return _core.build("kron", {"matrices": _listed(matrices)})


def mix(matrices: Sequence[Matrix], *, weights: Vector) -> Matrix:
    """One of several matrices of one size, chosen with these weights for every record.

    ``p_uv = sum of weight_k p_k(u, v)``. Fractions and whole numbers must sum to exactly 1, floats
    within 1e-9. This is the honest form of filling zeros with a small gamma to make a matrix
    positive: ``mix([m, uniform], weights=[1-g, g])`` has sums of exactly 1, where adding gamma
    without adjusting the rest has sums above 1 and can report a beta above 1.

    Measures are exact up to size 4096 and inside one structured family, bounds beyond
    (``m.is_exact``).

    >>> import bistochastic as bs
    >>> m = bs.mix([bs.k_anonymous(4, k=2), bs.uniform(4)], weights=[0.75, 0.25])
    >>> m.row(0)
    array([0.4375, 0.4375, 0.0625, 0.0625])
    >>> m.epsilon < 2
    True
    """
    return _core.build("mix", {"matrices": _listed(matrices), "weights": weights})
