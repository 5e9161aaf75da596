"""``Matrix``: the class that users see, a subclass of the core's class of that name.

Probabilities, stated measures and randomization are inherited from the core. Other files do the
rest of the work. They need this one, so they are found in the package, once they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.fft  # a library of its own, which could not be loaded where memory has run out

import bistochastic as bs
from bistochastic import _core
from bistochastic.errors import Refused
from bistochastic.formatting import Shown, down, up
from bistochastic.progress import check_progress

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from bistochastic.arguments import Several
    from bistochastic.birkhoff import Decomposition
    from bistochastic.estimate import Estimate
    from bistochastic.individuals import Displacement
    from bistochastic.measures.profile import Profile
    from bistochastic.progress import Progress


@final
class Matrix(_core.Matrix, Shown):
    """A bistochastic matrix, with exact fractions as its entries.

    Row ``u`` gives the probability with which the true category ``u`` is reported as each ``v``.
    All rows and columns sum to 1, exactly. Matrices come from the functions of their families
    (:func:`randomized_response`, :func:`k_anonymous`, ...) or from :func:`build`. They are
    immutable, hashable and picklable. They are equal if family and realized parameters are.

    >>> import bistochastic as bs
    >>> m = bs.randomized_response(12, beta=0.6)
    >>> m
    <Matrix randomized_response 12 x 12: beta 0.6, epsilon 3.01077, exact>
    >>> sum(m.exact_row(3)) == 1
    True
    """

    # The public module, not the file that defines the class.
    __module__ = "bistochastic"
    __slots__ = ()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return :meth:`to_dense` in any dtype, for ``np.asarray(m)``.

        Arithmetic does not use it: ``x @ m`` and ``m + x`` raise ``TypeError``, because the array
        may be far larger than you expect. ``copy=False`` raises ``ValueError``.

        >>> import numpy as np
        >>> np.asarray(bs.uniform(2), dtype=np.float32)
        array([[0.5, 0.5],
               [0.5, 0.5]], dtype=float32)
        """
        if copy is False:
            raise Refused("copy", "be None or True", "False")
        numbers = self.to_dense()
        if dtype is None or np.dtype(dtype) == numbers.dtype:
            return numbers
        _core.require_memory("to_dense", self.size, self.size, np.dtype(dtype).itemsize)
        return numbers.astype(dtype)

    @property
    def efficiency(self) -> float | None:
        """The least possible squared error with the same epsilon, over that of this matrix.

        Errors are those of all true proportions together, estimated by inversion, if they are
        equal. The least possible error is that of any unbiased method that has the same epsilon,
        whatever it reports: a matrix of efficiency 0.1 needs ten times the records. Rounded down. 0
        if the matrix is singular, and None if the errors are too much to compute.

        >>> [round(m.efficiency, 3) for m in (
        ...     bs.randomized_response(100, epsilon=1), bs.difference_set(100, epsilon=1))]
        [0.104, 0.975]
        """
        return bs.measures.efficiency.efficiency(self)

    def exact_row(self, u: int) -> list[Fraction]:
        """Row ``u`` as a list of ``fractions.Fraction`` that sums to exactly 1.

        >>> bs.k_anonymous(4, k=2).exact_row(0)
        [Fraction(1, 2), Fraction(1, 2), Fraction(0, 1), Fraction(0, 1)]
        """
        return bs.structure.exact_row(self, u)

    def to_json(self) -> str:
        """Return the matrix as JSON, for other programs and machines. :meth:`from_json` reads it.

        The JSON holds the family, the realized parameters, which give all probabilities exactly,
        and :attr:`requested`. Equal matrices with equal requests give equal strings, on any
        platform. ``schemas/matrix.json`` in the package describes the format as a JSON Schema.

        >>> print(bs.randomized_response(3, keep=0.5).to_json())
        {"format": "bistochastic.matrix", "version": 1, "family": "randomized_response",
        "parameters": {"size": 3, "keep": "1/2"}, "requested": {"size": 3, "keep": 0.5}}
        """
        return bs.matrix_json.to_json(self)

    @staticmethod
    def from_json(text: str) -> Matrix:
        """Read a matrix that :meth:`to_json` wrote: it is equal, with the same :attr:`requested`.

        Everything in ``text`` is checked, because it may come from a stranger: a fault raises
        ``ValueError``, also a requested beta or epsilon that the matrix does not have.

        >>> m = bs.kron(bs.randomized_response(12, beta=0.6), bs.uniform(2))
        >>> bs.Matrix.from_json(m.to_json()) == m
        True
        """
        return bs.matrix_json.from_json(text)

    def apply(self, x: ArrayLike) -> NDArray[np.float64]:
        """Compute ``P.T @ x``: the expected counts of reported values, if true counts are ``x``.

        ``x`` is a vector of ``size`` finite numbers, or an array with one column per vector.
        Structured families need O(r) or O(r log r) steps for ``r`` categories. :func:`kron` is
        applied axis by axis, ``a @ b`` component by component.

        >>> bs.blocks([1, 2]).apply([10, 3, 5])
        array([10.,  4.,  4.])
        """
        return bs.linear.apply(self, x)

    def solve(self, y: ArrayLike, back: bool = False) -> NDArray[np.float64]:
        """Find the ``x`` with ``apply(x) = y``: true counts from the counts of reported values.

        The result is unbiased, so it may be negative. ``y`` has the shapes that :meth:`apply`
        accepts. Errors in ``y`` grow by a factor of up to :attr:`condition`. A matrix that
        :attr:`is_singular` raises :class:`bistochastic.errors.SingularMatrixError`, which says what
        can still be estimated.

        With ``back`` it finds the ``x`` with ``P @ x = y``: scores for reported values, whose mean
        over the reports of each true category is that category's score in ``y``.

        >>> m = bs.randomized_response(4, keep=0.5)
        >>> (m.to_dense() @ m.solve([1, 2, 3, 4], back=True)).round(12)
        array([1., 2., 3., 4.])
        >>> m.solve(m.apply([8, 4, 2, 1])).round(12)
        array([8., 4., 2., 1.])
        """
        return bs.linear.solve(self, y, back=_core.as_flag("back", back))

    @property
    def digest(self) -> str:
        """What identifies the family with its realized parameters: 64 hexadecimal digits.

        Noise depends on it. It is the same in every process and version.

        >>> bs.uniform(5).digest[:16]
        '67fd0e53643b28d9'
        """
        return _core.digest_of(self)

    @property
    def condition(self) -> float:
        """The condition number in the 2-norm: how much errors may grow in :meth:`solve`.

        The largest singular value is 1, so the condition number is one over the smallest. It is
        ``inf`` if the smallest is 0 or below 2^-50, which no transform can distinguish from 0. For
        a very large product it comes from an iteration and may be too low; :meth:`profile` says so.

        >>> bs.blocks([3, 3]).condition
        inf
        """
        return bs.linear.condition(self)

    @property
    def is_singular(self) -> bool:
        """Whether the matrix cannot be inverted.

        True if that is known exactly, or if :attr:`condition` is above 2^50.

        >>> bs.tridiagonal(0.5, size=4).is_singular
        True
        """
        return bs.linear.is_singular(self)

    def profile(
        self,
        *,
        cost: ArrayLike | Literal["ordinal"] | None = None,
        prior: ArrayLike | None = None,
        full: bool = False,
        progress: Progress = None,
    ) -> Profile:
        """Compute all measures: each is exact, a bound, or not computed, with the reason.

        Next to beta these are the worst row and column, what an attacker can do (capacity,
        guessing, leakage, epsilon, deniability) and what an analyst can learn (rank, condition).

        * ``cost`` is an array of ``size x size`` numbers, or ``"ordinal"`` for ``|u - v|``. It adds
          the metric epsilon (epsilon per unit of cost) and the expected cost.
        * ``prior`` is a distribution over the categories, which an attacker knows.
        * ``full=True`` computes everything that can be computed. Otherwise slow measures are left
          out, with a reason.
        * ``progress``: see :meth:`decompose`.

        >>> p = bs.blocks([10, 1, 1]).profile()
        >>> p.worst_row, round(p.capacity, 6), p["epsilon"].status
        (0.0, 1.584963, 'exact')
        """
        whole = _core.as_flag("full", full)
        return bs.measures.profile.profile_of(self, cost, prior, progress, full=whole)

    def require(
        self,
        *,
        beta: float | None = None,
        epsilon: float | None = None,
        row_beta: float | None = None,
        column_beta: float | None = None,
    ) -> None:
        """Raise :class:`bistochastic.errors.GuaranteeError` unless the matrix meets all limits.

        ``epsilon`` is the largest allowed, ``beta`` the smallest on average over the categories,
        ``row_beta`` the smallest for the least protected category, ``column_beta`` for the most
        revealing reported value: ``worst_row`` and ``worst_column`` of :meth:`profile`.

        >>> bs.randomized_response(12, beta=0.6).require(beta=0.6, column_beta=0.6)
        """
        bs.measures.survey.require(
            self, beta=beta, epsilon=epsilon, row_beta=row_beta, column_beta=column_beta
        )

    def deniability(self, gamma: float) -> int:
        """Count the categories that explain a reported value about as well as the true one does.

        (k, gamma)-plausible deniability: the minimum, over all ``u, v`` with ``p_uv > 0``, of the
        number of ``w`` with ``1/gamma <= p_uv / p_wv <= gamma``, ``u`` itself included. At gamma 1
        it is the k of k-anonymity, at ``e^epsilon`` the size, and at ``inf`` the number of true
        categories that a reported value leaves possible. For very large matrices it is a lower
        bound; :meth:`profile` says so.

        >>> bs.k_anonymous(12, k=3).deniability(1)
        3
        """
        return bs.measures.survey.deniability(self, gamma)

    def posterior(self, v: int, prior: ArrayLike | None = None) -> NDArray[np.float64]:
        """Compute how likely each true category ``u`` is, given the reported ``v``: ``Pr(u | v)``.

        It is proportional to ``prior[u] * p_uv``. Without a ``prior`` all true categories are
        equally likely at first, and the result is column ``v`` of the matrix.

        >>> bs.blocks([1, 2]).posterior(2, prior=[0.5, 0.3, 0.2])
        array([0. , 0.6, 0.4])
        """
        return bs.measures.priors.posterior(self, v, prior)

    def estimate(
        self,
        codes: ArrayLike | None = None,
        *,
        counts: ArrayLike | None = None,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        population: Literal["sampled", "fixed"] = "sampled",
        classes: bool = False,
        categories: Several[object] | Mapping[str, Several[object]] | None = None,
        records: int | None = None,
        weights: ArrayLike | None = None,
        progress: Progress = None,
        gap: float | None = None,
        seconds: float | None = None,
    ) -> Estimate:
        """Estimate the true frequencies from reported values.

        Give either ``codes``, the reported values, or ``counts``, the number of records that
        reported each category.

        ==============  ==========================================================
        ``method``      the result
        ==============  ==========================================================
        ``"inverse"``   unbiased; may be negative; :meth:`solve` of the proportions
        ``"mle"``       the distribution with the largest likelihood
        ``"simplex"``   the distribution nearest to the inverse
        ``"shrunk"``    likelihood drawn towards a guess; for few records or much
                        noise
        ==============  ==========================================================

        The guess of ``"shrunk"`` is uniform, or the product of the marginals of a :func:`kron`. The
        reported values decide how close the result gets to the guess.

        * ``population`` is ``"sampled"`` if the records are a sample of the people to be described,
          ``"fixed"`` if they are all of these people (as in PRAM). Then the errors come only from
          randomization.
        * ``counts`` of a :func:`kron` may be a table with one axis per component. Counts with
          labels of their own must have the codes as labels, in order.
        * ``classes=True`` estimates only the totals of the classes of :func:`blocks`,
          :func:`k_anonymous` and similar matrices, which randomization does not change.
        * ``categories`` are their names: a list, or a dict with a list for each column of a joint
          table. The result prints and exports them.
        * ``weights`` are survey weights, one per record. The errors are then those of a sample
          drawn with replacement. Never give weighted sums as ``counts``: counts are numbers of
          records, and a sum above ``records`` raises an error.
        * ``gap`` and ``seconds`` end the search of ``"mle"`` and ``"shrunk"`` early: at a
          likelihood this many nats per record below its maximum, or after this many seconds. A
          ``progress`` function is called with the gap.

        Raises :class:`bistochastic.errors.SingularMatrixError` if the matrix cannot be inverted.

        >>> m = bs.randomized_response(3, epsilon=2)
        >>> m.estimate([0, 0, 1, 2, 0, 1, 0, 0]).counts.round(2)
        array([6.1 , 1.69, 0.22])
        """
        return bs.estimate.methods.estimate(
            self, codes, counts=counts, method=method, population=population, classes=classes,
            categories=categories, records=records, weights=weights, progress=progress, gap=gap,
            seconds=seconds,
        )  # fmt: skip

    def required_records(self, tolerance: float, *, confidence: float = 0.95) -> int:
        """Compute how many sampled records keep every error of a proportion within ``tolerance``.

        The number holds for all true proportions, with the normal interval of that ``confidence``.
        It is ``z^2 / tolerance^2`` times the largest variance that one record can add to a
        proportion, with ``z`` the normal quantile. The intervals of an estimate are a little wider,
        by a term of the order of one over the number of records.

        >>> bs.randomized_response(2, keep=0.75).required_records(0.01)
        38415
        """
        return bs.estimate.planning.required_records(self, tolerance, confidence)

    def standard_error(self, prior: ArrayLike, records: int) -> NDArray[np.float64]:
        """Predict the standard error of each proportion before any data are collected.

        ``prior`` is your guess of the true proportions, ``records`` the number of records that will
        be sampled. With the method ``"inverse"`` the error is the root of ``(sum over w of G_vw^2
        lambda_w - prior_v^2) / records``, with ``G`` the inverse of ``P.T`` and ``lambda = P.T @
        prior``.

        >>> bs.randomized_response(2, keep=0.75).standard_error([0.5, 0.5], 100)
        array([0.1, 0.1])
        """
        return bs.estimate.planning.standard_error(self, prior, records)

    def decompose(
        self,
        *,
        mass: float = 1.0,
        max_terms: int | None = None,
        restarts: int = 1,
        progress: Progress = None,
    ) -> Decomposition:
        """Write the matrix exactly as a weighted sum of permutations: Theorem 1 (Birkhoff).

        All arithmetic is in integers: the weights sum to 1 and the terms to the matrix, with
        ``==``. Each term is the permutation whose smallest entry is largest: few terms, the
        largest first. Each term follows from the one before, so one matrix uses one thread;
        ``restarts`` and :func:`decompose_all` use all, with the same result. Ctrl-C stops the work.
        A mixture or product whose common denominator reaches 2^63 is refused.

        * ``mass`` and ``max_terms`` stop early. The rest of the matrix is the ``residual``.
        * ``restarts`` tries other orders, for small matrices also shorter steps, and returns the
          fewest terms.
        * ``progress``: a function is called a few times per second with the fraction that is done.

        Most families have closed forms, whose permutations are described, not stored. A ``kron`` is
        decomposed by its components.

        One of J permutations hides at most log2 J bits of a whole column, its ``joint_entropy``.
        Records that are randomized one by one hide ``entropy_rate`` bits each.

        >>> m = bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
        >>> d = m.decompose()
        >>> [(str(weight), permutation.tolist()) for weight, permutation in d]
        [('1/2', [0, 1, 2]), ('1/4', [1, 2, 0]), ('1/8', [0, 2, 1]), ('1/8', [2, 0, 1])]
        >>> sum(d.exact_weights) == 1 and bool((d.reconstruct() == m.to_dense()).all())
        True
        """
        return _core.decompose(self, (mass, max_terms, restarts), check_progress(progress))

    def permute(
        self,
        values: object,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        key: _core.Key | None = None,
        stream: str | None = None,
        allow_shift: bool = False,
    ) -> np.ndarray:
        """Move the values of ``size`` records by one random permutation.

        ``out[s[u]] = values[u]`` with the ``s`` of :meth:`sample_permutation` for the same key and
        stream. All values are kept, and ``apply(values)`` is the expected result. Values may have
        any type and come back as an array. Rows of a table move as a whole: to separate columns,
        permute them one by one.

        ``order`` says which records are neighbours: ``None`` for the order of the rows, ``"rank"``
        for the order of the values, ties in random order, or an array that lists the rows in order,
        e.g. ``np.argsort(ages)``. :meth:`displacement` computes how far values move.

        Matrices that would move all records in the same way raise an error unless
        ``allow_shift=True``: a :func:`kron`, a :func:`circulant`, and a :func:`mix` unless it is of
        blocks with two or more records in every class. Matrices that are drawn entry by entry are
        limited to 4096 records.

        >>> incomes = [21, 25, 30, 18, 47, 52]
        >>> key = bs.Key.insecure(1)
        >>> bs.k_anonymous(6, k=3).permute(incomes, order="rank", key=key, stream="income")
        array([25, 18, 30, 21, 52, 47])
        """
        shift = _core.as_flag("allow_shift", allow_shift)
        return bs.individuals.permute(self, values, order, key, stream, shift)

    def average(
        self,
        values: object,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        allow_invertible: bool = False,
        key: _core.Key | None = None,
        stream: str | None = None,
    ) -> NDArray[np.float64]:
        """Replace the value of each record by the mean of its class: microaggregation.

        This is :meth:`apply` for releases. Only :func:`uniform` and :func:`blocks` with two or more
        records in every class are accepted; their k is ``deniability(1)``. Anyone, or anyone who
        knows a few values, can undo every other product with a public matrix. Such a matrix raises
        :class:`bistochastic.errors.InvertibleReleaseError` with its rank, unless
        ``allow_invertible=True``. The result is not random, so it has no beta.

        ``order``: see :meth:`permute`; ``key`` and ``stream`` are for ties of ``"rank"`` only.
        ``values`` are one or several columns. They come back as an array of float64.

        >>> m = bs.k_anonymous(6, k=3)
        >>> m.average([21, 25, 30, 18, 47, 52], order="rank").round(1), m.deniability(1)
        (array([21.3, 21.3, 43. , 21.3, 43. , 43. ]), 3)
        """
        named = _core.as_flag("allow_invertible", allow_invertible)
        return bs.individuals.average(self, values, order, key, stream, named)

    def displacement(self) -> Displacement:
        """Compute how far :meth:`permute` moves values, as fractions of all rows.

        With ``order="rank"``, neighbours have similar values, so beta overstates what is hidden.
        Products and matrices without a structure are limited to 4096 records.

        >>> bs.k_anonymous(1000, share=0.05).displacement().p50
        0.015
        """
        return bs.individuals.displacement(self)

    def __repr__(self) -> str:
        n, known = self.size, "exact" if self.is_exact else "bound"
        stated = f"beta {down(self.beta)}, epsilon {up(self.epsilon)}, {known}"
        return f"<Matrix {self.family} {n} x {n}: {stated}>"


_core.register(Matrix=Matrix)
