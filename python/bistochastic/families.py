"""The families of bistochastic matrices, one function per family.

Every function returns an exact :class:`~bistochastic.Matrix`.

* Floats are rounded to multiples of 2^-53, the grid; see :func:`dense` for its exception. Fractions
  and integers are exact.
* If you request a beta, the stated beta is at least that. If you request an epsilon, the stated
  epsilon is at most that.
* Vectors and tables may be lists, NumPy arrays, or whatever else has ``__array__``.

You can pass ``m.parameters`` back to the function: ``bs.circulant(**m.parameters) == m``. The
parameters hold the probabilities as integers out of a ``total``. You never have to write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Literal, ParamSpec, TypedDict, Unpack, get_args, overload

import numpy as np

from bistochastic import _core, arguments, difference_sets
from bistochastic.errors import Refused, RefusedType
from bistochastic.matrix import Matrix

if TYPE_CHECKING:
    from fractions import Fraction

    Number = int | float | Fraction
    Vector = Sequence[int] | Sequence[float] | Sequence[Fraction] | np.ndarray
    Table = Sequence[Vector] | np.ndarray
    _Set = tuple[int, Vector]

_P = ParamSpec("_P")

# The families that need only a size and a beta.
BY_BETA = ("randomized_response", "k_anonymous", "geometric", "tridiagonal")


# The parameters of each family.
_TAKES: dict[str, list[str]] = {"product": ["matrices"]}


def _family(function: Callable[_P, Matrix]) -> Callable[_P, Matrix]:
    """Reject an unknown parameter with a sentence that lists the known ones."""
    parameters = signature(function).parameters.values()
    _TAKES[function.__name__] = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]

    @wraps(function)
    def made(*given: _P.args, **named: _P.kwargs) -> Matrix:
        _refuse_unknown(function.__name__, named)
        return function(*given, **named)

    return made


def _refuse_unknown(family: str, parameters: Iterable[str]) -> None:
    known = _TAKES[family]
    for name in parameters:
        if name not in known:
            got = f"a name it does not have{arguments.meant(name, known)}"
            raise RefusedType(name, f"be a parameter of {family} ({', '.join(known)})", got)


def _listed(matrices: Iterable[Matrix]) -> list[Matrix]:
    # NumPy would convert arrays among them.
    must = "be a sequence of matrices"
    return arguments.things("matrices", must, matrices, Matrix, "hold matrices")


Family = Literal[
    "balance", "blocks", "circulant", "dense", "difference_set", "geometric", "gibbs", "identity",
    "k_anonymous", "kron", "mix", "permutation", "product", "randomized_response", "reflected",
    "t_transform", "tridiagonal", "uniform",
]  # fmt: skip
"""The names of all families, for annotations; ``typing.get_args`` lists them."""


Parameters = TypedDict("Parameters", {  # noqa: UP013 - a line for each would be a page
    "alphas": "Number | Vector", "array": "Table", "beta": "Number", "cost": "Table",
    "counts": "Table | Vector", "epsilon": "Number", "first_row": "Vector", "i": "int", "j": "int",
    "k": "int", "keep": "Number", "kernel": "Vector", "matrices": "Sequence[Matrix]",
    "modulus": "int", "residues": "Vector", "set": "_Set", "share": "Number", "size": "int",
    "sizes": "Sequence[int] | np.ndarray", "targets": "Sequence[int] | np.ndarray",
    "temperature": "Number", "total": "int", "weights": "Vector",
}, total=False)  # fmt: skip
Parameters.__doc__ = "What families may take by name, for annotations."


def build(family: str, /, **parameters: Unpack[Parameters]) -> Matrix:
    """Build a matrix from the name of its family: ``bs.build(m.family, **m.parameters) == m``.

    Numbers are integers, fractions or floats. Vectors and tables are lists, arrays, or whatever
    else has ``__array__``, without missing values.

    >>> m = bs.tridiagonal(0.3, size=12)
    >>> bs.build(m.family, **m.parameters) == m
    True
    >>> bs.build("uniform", Size=12)
    Traceback (most recent call last):
        ...
    bistochastic.errors.RefusedType: `Size` must be a parameter of uniform (size); got a name it
        does not have, did you mean size?
    """
    _refuse_unknown(arguments.one_of("family", family, get_args(Family)), parameters)
    if family == "difference_set" and "counts" not in parameters:
        return difference_set(**parameters)  # type: ignore[call-overload,no-any-return]
    return _core.build(family, dict(parameters))


@_family
def identity(size: int) -> Matrix:
    """Report every category unchanged: 0 bits, beta 0.

    If ``size`` is 1 there is nothing to hide, and beta is 1.

    >>> bs.identity(4).beta
    0.0
    """
    return _core.build("identity", locals())


@_family
def uniform(size: int) -> Matrix:
    """Report every category with probability exactly ``1/size``: perfect secrecy.

    >>> bs.uniform(3).exact_row(0)
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    return _core.build("uniform", locals())


@_family
def permutation(targets: Sequence[int] | np.ndarray) -> Matrix:
    """Always report code ``u`` as ``targets[u]``: a relabelling, which hides nothing.

    >>> bs.permutation([1, 2, 0]).row(0)
    array([0., 1., 0.])
    """
    return _core.build("permutation", locals())


@overload
def randomized_response(size: int, *, epsilon: Number) -> Matrix: ...
@overload
def randomized_response(size: int, *, beta: Number) -> Matrix: ...
@overload
def randomized_response(size: int, *, keep: Number) -> Matrix: ...
@_family
def randomized_response(
    size: int,
    *,
    epsilon: Number | None = None,
    beta: Number | None = None,
    keep: Number | None = None,
) -> Matrix:
    """Report the true category with some probability, else any other, all equally likely.

    Expression (2): ``p_uu = e^epsilon / (size - 1 + e^epsilon)`` and ``p_uv = 1 / (size - 1 +
    e^epsilon)``. This is k-ary randomized response, which is locally differentially private. No
    matrix with the same epsilon is more truthful, and no bistochastic matrix with the same beta.

    Give exactly one of

    * ``epsilon`` >= 0. The realized epsilon is at most that, and at most about 36.7 up to size
      65,536. ``epsilon=0`` gives the uniform matrix, ``inf`` the identity.
    * ``beta`` in [0, 1]. The stated beta is at least that. There are two solutions; you get the
      one with ``keep >= 1/size``.
    * ``keep`` in [0, 1], the truthful probability. A ``Fraction`` (denominator below 2^63) is
      exact. A float is moved towards ``1/size``, by less than ``size`` times 2^-53.

    The matrix is stored as two integers, so ten million categories cost as much as two.

    >>> from fractions import Fraction
    >>> bs.randomized_response(12, epsilon=3).truthfulness
    0.64613768...
    >>> bs.randomized_response(3, keep=Fraction(1, 2)).exact_row(0)
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    return _core.build("randomized_response", locals())


@_family
def blocks(sizes: Sequence[int] | np.ndarray) -> Matrix:
    """Report any code of the true code's class; classes are ``sizes`` consecutive codes.

    Expression (3), the Anatomy form of k-anonymity: ``p_uv`` is ``1/n`` inside a class of ``n``
    codes, and 0 between classes. A reported value reveals the class and nothing else. With two or
    more classes epsilon is infinite, because a reported value rules out all other classes.

    >>> bs.blocks([2, 2]).to_dense()
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0.5, 0.5]])
    """
    return _core.build("blocks", locals())


@overload
def k_anonymous(size: int, *, k: int) -> Matrix: ...
@overload
def k_anonymous(size: int, *, beta: Number) -> Matrix: ...
@overload
def k_anonymous(size: int, *, share: Number) -> Matrix: ...
@_family
def k_anonymous(
    size: int,
    *,
    k: int | None = None,
    beta: Number | None = None,
    share: Number | None = None,
) -> Matrix:
    """Report any code of the true code's class of ``k`` or more codes: Expression (3).

    The ``size // k`` classes hold consecutive codes. The first ``size mod classes`` of them have
    one code more. Give exactly one of

    * ``k``, the smallest number of codes per class
    * ``beta``, for the smallest ``k`` whose true beta is at least that
    * ``share``, for the smallest ``k`` that is at least that fraction of ``size``: 0.05 makes as
      many classes as possible, each with 5% of the codes or a little more

    >>> bs.k_anonymous(1000, share=0.05).parameters
    {'size': 1000, 'k': 50}
    """
    return _core.build("k_anonymous", locals())


@_family
def circulant(first_row: Vector, *, total: int | None = None) -> Matrix:
    """Build a matrix for cyclic categories: each row is the one above, shifted right by one.

    Expression (6): ``p_uv = first_row[(v - u) mod size]``. ``first_row`` may hold

    * Floats that sum to 1 within 1e-9. They are scaled to sum to 1, then rounded to multiples of
      2^-53.
    * Integers. The probabilities are exactly ``first_row / sum``.
    * Fractions that sum to exactly 1.

    ``total`` is the sum of integers, as in ``parameters``. You need not give it.

    >>> bs.circulant([3, 1, 0]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    return _core.build("circulant", locals())


@overload
def difference_set(size: int, *, epsilon: Number, set: _Set | None = None) -> Matrix: ...
@overload
def difference_set(size: int, *, modulus: int, residues: Vector, counts: Vector) -> Matrix: ...
@_family
def difference_set(
    size: int,
    *,
    epsilon: Number | None = None,
    set: _Set | None = None,
    modulus: int | None = None,
    residues: Vector | None = None,
    counts: Vector | None = None,
) -> Matrix:
    """Build a matrix for many unordered categories, with small estimation errors at an epsilon.

    A circulant (Expression 6) with two values: ``e^epsilon`` on the shifts of a cyclic difference
    set of k residues modulo v, and 1 on all others. Every reported value counts for about ``v / (1
    + e^epsilon)`` categories. At epsilon 1 and equal shares, its variance is 9 times smaller than
    that of randomized response for 100 categories and 92 times smaller for 1,000. Next to optimal
    subset selection (Ye and Barg 2018), its squared error is 1 to 1.07 times as large up to epsilon
    1, and up to 1.8 times if epsilon is larger.

    The matrix has v codes. The ``m.padding`` codes from ``size`` on can be reported but are never
    true. ``m.max_bits`` is ``log2(size)``, and beta is ``1 - (log2 v - H) / log2(size)``, with H
    the entropy of a row. :func:`mix` and ``@`` reject such a matrix.

    Among the sets with ``size <= v <= 4 size`` this uses the smallest whose error is within 1% of
    the least of all sets, or a ``set=(v, residues)`` of your own. If one residue is best, the
    result is :func:`randomized_response`: for few categories, and always if ``e^epsilon`` is larger
    than ``size``. Instead of ``epsilon`` you can give ``modulus``, ``residues`` and ``counts``, as
    in ``parameters``.

    Two limits: a single reported value reveals almost nothing, and at the same *beta* randomized
    response has the smaller error.

    >>> m = bs.difference_set(1000, epsilon=1)
    >>> m
    <Matrix difference_set 1365 x 1365: beta 0.98..., epsilon 1, exact>
    >>> m.padding, round(m.truthfulness, 4)
    (365, 0.0014)
    >>> bs.difference_set(12, epsilon=3).family
    'randomized_response'
    """
    if counts is not None:
        given = {"size": size, "modulus": modulus, "residues": residues, "counts": counts}
        return _core.build("difference_set", {**given, "epsilon": epsilon})
    if epsilon is None:
        raise Refused("epsilon", "be given", "none")
    # Randomized response checks the arguments and raises its own errors.
    plain = _core.build("randomized_response", {"size": size, "epsilon": epsilon})
    limit = float(plain.requested["epsilon"])
    if set is not None:
        v, members = difference_sets.given(plain.size, set)
    else:
        chosen = difference_sets.best(plain.size, limit)
        if chosen.k == 1:
            return plain
        v, members = chosen.v, chosen.residues()
    counts = difference_sets.best_counts(
        v, len(members), lambda inside, outside: circulant([inside, outside]).epsilon <= limit
    )
    held = {"size": plain.size, "modulus": v, "residues": members, "counts": counts}
    return _core.restore("difference_set", held, {"size": plain.size, "epsilon": epsilon})


@overload
def tridiagonal(alphas: Vector, *, total: int | None = None) -> Matrix: ...
@overload
def tridiagonal(alphas: Number, *, size: int) -> Matrix: ...
@overload
def tridiagonal(*, size: int, beta: Number) -> Matrix: ...
@_family
def tridiagonal(
    alphas: Vector | Number | None = None,
    *,
    size: int | None = None,
    beta: Number | None = None,
    total: int | None = None,
) -> Matrix:
    """Report at most one step from the true category, on an ordered scale: Expression (7).

    ``p_{i,i+1} = p_{i+1,i} = alpha_i``, and the diagonal gets the rest. Give one of

    * a vector of ``size - 1`` alphas; two neighbours sum to at most 1
    * one alpha and a ``size``
    * a ``size`` and a ``beta``, for the smallest constant alpha that reaches it

    Beta grows with alpha only up to a peak between 1/3 and 1/2. A beta above it raises an error.
    With ``total`` the alphas are integers out of it, as in ``parameters``.

    >>> bs.tridiagonal([0.25, 0.5]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.25, 0.5 ],
           [0.  , 0.5 , 0.5 ]])
    >>> bs.tridiagonal(size=12, beta=0.6)
    Traceback (most recent call last):
        ...
    bistochastic.errors.OutOfReachError: `beta` must be at most 0.4112897665259084 for one ...
    """
    return _core.build("tridiagonal", locals())


@_family
def reflected(kernel: Vector, *, total: int | None = None) -> Matrix:
    """Move the true category by a random step on an ordered scale, folded back at both ends.

    ``p_uv = c_{v-u} + c_{u+v+1}``, with indices on a cycle of length ``2r``. The kernel ``c_0, ...,
    c_r`` says how likely each length of a step is, up or down alike. It must satisfy ``c_0 + 2 (c_1
    + ... + c_{r-1}) + c_r = 1``; then the matrix is symmetric and bistochastic. The identity,
    randomized response, the tridiagonal matrix with one alpha and discrete Gaussians are of this
    form.

    With ``total`` the kernel holds integers out of it, as in ``parameters``. Beyond 2^30 terms
    the stated beta is a lower bound of the true beta, and ``m.is_exact`` is False.

    >>> bs.reflected([0.5, 0.25, 0.0, 0.0]).to_dense()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.5 , 0.25],
           [0.  , 0.25, 0.75]])
    """
    return _core.build("reflected", locals())


@overload
def geometric(size: int, *, temperature: Number) -> Matrix: ...
@overload
def geometric(size: int, *, beta: Number) -> Matrix: ...
@overload
def geometric(size: int, *, epsilon: Number) -> Matrix: ...
@overload
def geometric(*, kernel: Vector, total: int) -> Matrix: ...
@_family
def geometric(
    size: int | None = None,
    *,
    temperature: Number | None = None,
    beta: Number | None = None,
    epsilon: Number | None = None,
    kernel: Vector | None = None,
    total: int | None = None,
) -> Matrix:
    """Build a matrix for ``size`` ordered categories: a step away is less likely by ``exp(-1/T)``.

    Epsilon per step of distance is at most ``1/T`` (metric privacy): a reported value is at most
    ``exp(|u - w| / T)`` times as likely for the true category ``u`` as for ``w``. Steps beyond the
    ends are folded back, as in :func:`reflected`.

    Give exactly one of

    * ``temperature``, the ``T`` above; 0 is the identity, ``inf`` the uniform matrix
    * ``beta``, for the lowest temperature that reaches it
    * ``epsilon``, for the lowest temperature whose ``m.epsilon`` is at most that: the worst case
      over all pairs of categories, not the epsilon per step
    * ``kernel`` and ``total``, as in ``parameters``, and nothing else

    >>> m = bs.geometric(12, beta=0.6)
    >>> m.beta >= 0.6, round(m.truthfulness, 3)
    (True, 0.478)
    """
    return _core.build("geometric", locals())


@overload
def gibbs(cost: Table, *, temperature: Number) -> Matrix: ...
@overload
def gibbs(cost: Table, *, beta: Number) -> Matrix: ...
@overload
def gibbs(*, counts: Table, total: int) -> Matrix: ...
@_family
def gibbs(
    cost: Table | None = None,
    *,
    temperature: Number | None = None,
    beta: Number | None = None,
    counts: Table | None = None,
    total: int | None = None,
) -> Matrix:
    """Build the matrix with the least expected cost at a beta: ``x_u y_v exp(-cost_uv / T)``.

    ``cost[u][v] >= 0`` is the cost of reporting ``v`` for the true category ``u``; ``inf`` forbids
    it. The costs need not be symmetric. No bistochastic matrix with the same entropy has a lower
    mean cost, and one more bit costs ``T ln 2``. Equal costs off the diagonal give randomized
    response; costs of 0 and ``inf`` give blocks.

    Give exactly one of

    * ``temperature`` > 0, the ``T`` above, at least the largest finite cost over 2^14
    * ``beta``, for the lowest temperature that reaches it. A beta out of reach raises an error that
      says the largest possible beta.
    * ``counts`` and ``total``, as in ``parameters``, and nothing else

    >>> import numpy as np
    >>> scale = np.arange(4)
    >>> m = bs.gibbs(abs(scale[:, None] - scale), beta=0.5)
    >>> round(float((m.to_dense() * abs(scale[:, None] - scale)).sum() / 4), 6)
    0.250477
    """
    return _core.build("gibbs", locals())


@_family
def dense(
    array: Table | None = None, *, counts: Table | None = None, total: int | None = None
) -> Matrix:
    """Build a matrix from your own numbers.

    ``array`` may hold

    * Floats whose rows and columns sum to 1 within 1e-9. Multiples of 2^-53 whose sums are exactly
      1 are not changed. Floats within 2^-50 of fractions with a small common denominator, such as
      decimals, become those fractions. All others are balanced, then rounded to multiples of 2^-53
      whose sums are exactly 1. Zeros stay zeros, and no other entry becomes zero.
    * Integers whose rows and columns all sum to one number ``D``. The probabilities are exactly
      ``array / D``.
    * Fractions, which stay exact.

    ``requested`` says by how much the sums were ``off`` and how far an entry was ``moved``. Instead
    of ``array`` you can give ``counts`` and ``total``, as in ``parameters``.

    >>> bs.dense([[2, 1, 0], [1, 1, 1], [0, 1, 2]]).exact_row(0)
    [Fraction(2, 3), Fraction(1, 3), Fraction(0, 1)]
    >>> bs.dense([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]).exact_row(0)
    [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    >>> m = bs.dense([[0.1, 0.9], [0.9, 0.1]])
    >>> bs.dense(m.to_dense()) == m
    True
    """
    return _core.build("dense", locals())


@_family
def balance(
    array: Table | None = None, *, counts: Table | None = None, total: int | None = None
) -> Matrix:
    """Scale an array of non-negative numbers to the bistochastic matrix of least relative entropy.

    ``p_uv = x_u a_uv y_v``: rows and columns are scaled until all sum to 1 (by Sinkhorn, or by
    Newton if Sinkhorn is slow), then rounded to multiples of 2^-53. Every positive entry must be on
    a positive diagonal: some permutation picks this entry and only positive ones. If an entry is
    not, the error names the first. Instead of ``array`` you can give ``counts`` and ``total``, as
    in ``parameters``.

    >>> bs.balance([[1, 2], [3, 4]]).row(0).round(6)
    array([0.44949, 0.55051])
    """
    return _core.build("balance", locals())


@_family
def t_transform(size: int, i: int, j: int, *, keep: Number) -> Matrix:
    """Swap codes ``i`` and ``j`` with probability ``1 - keep``. All other codes stay.

    The matrix is ``keep I + (1 - keep) Q_ij``, with ``Q_ij`` the swap and ``(2/size) h(keep)`` bits
    (``h`` is the entropy of a coin). Products of such matrices make a histogram more even, see
    :func:`bistochastic.theory.t_transforms`.

    >>> bs.t_transform(3, 0, 2, keep=0.75).to_dense()
    array([[0.75, 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [0.25, 0.  , 0.75]])
    """
    return _core.build("t_transform", locals())


@_family
def kron(*factors: Matrix, matrices: Sequence[Matrix] | None = None) -> Matrix:
    """Randomize several columns at once, each independently by its own matrix.

    The result acts on joint codes in C order, as ``numpy.kron`` does: the last column changes
    fastest. ``np.ravel_multi_index(columns, sizes)`` makes joint codes. Bits and epsilon of the
    components add up; truthfulness multiplies. So Definition 2 with some beta is Definition 3 with
    the same beta for this matrix.

    Up to 2^53 cells are possible, because the joint matrix is never formed. Instead of ``factors``
    you can give one list, ``matrices``, as in ``parameters``.

    >>> m = bs.kron(bs.uniform(3), bs.identity(2))
    >>> m.size, m.entropy_rate == bs.uniform(3).entropy_rate
    (6, True)
    """
    if factors and matrices is not None:
        raise RefusedType("kron", "be given its factors once", "some and `matrices`")
    return _core.build("kron", {"matrices": _listed(factors if matrices is None else matrices)})


@_family
def mix(matrices: Sequence[Matrix], *, weights: Vector) -> Matrix:
    """Choose one of several matrices at random for each record, with these mixing weights.

    All matrices have the same size, and ``p_uv = sum of weight_k p_k(u, v)``. Fractions and
    integers must sum to exactly 1, floats within 1e-9.

    Use it to remove zeros, and with them an infinite epsilon: ``mix([m, uniform], weights=[1-g,
    g])`` has sums of exactly 1.

    Measures are exact up to size 4096, and at any size if all parts are equal. Otherwise they are
    bounds, and ``m.is_exact`` is False. Mixtures, products and Kronecker products may hold each
    other at most 16 deep, with at most 1024 matrices in all.

    >>> m = bs.mix([bs.k_anonymous(4, k=2), bs.uniform(4)], weights=[0.75, 0.25])
    >>> m.row(0)
    array([0.4375, 0.4375, 0.0625, 0.0625])
    >>> m.epsilon < 2
    True
    """
    return _core.build("mix", {"matrices": _listed(matrices), "weights": weights})
