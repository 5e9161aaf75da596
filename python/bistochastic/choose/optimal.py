"""``bs.optimal``: the least expected cost under several requirements at once.

The cost is linear in the entries and every requirement is convex, so this is a convex program,
which Clarabel solves. With ``m_v`` the least entry of column v, epsilon is ``m_v <= p_uv <=
e^epsilon m_v``: two inequalities per entry. Entropies are sums of ``t_uv <= -p_uv ln p_uv``, one
exponential cone per entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bistochastic import _core, arguments, families, measures
from bistochastic.arguments import Array
from bistochastic.errors import GuaranteeError, OutOfReachError, Refused
from bistochastic.formatting import exact
from bistochastic.matrix import Matrix

# How much of perfect secrecy is mixed in until the matrix on the grid keeps what is required.
_BLENDS = (0.0, *(10.0**-k for k in range(12, -1, -1)))
_SOLVED = ("Solved", "AlmostSolved")


def optimal(
    cost: ArrayLike,
    *,
    beta: float | None = None,
    epsilon: float | None = None,
    row_beta: float | None = None,
    column_beta: float | None = None,
) -> Matrix:
    """Find the bistochastic matrix of least expected cost that meets all of these requirements.

    ``cost[u][v] >= 0`` is the cost of reporting ``v`` if the true category is ``u``, and ``inf``
    forbids that. The expected cost is the mean of ``cost_uv p_uv`` over a uniform true category.
    :meth:`Matrix.require` explains ``beta``, ``epsilon``, ``row_beta`` and ``column_beta``; the
    result meets them exactly.

    ``m.requested`` holds the requirements, the ``expected_cost`` of the matrix and its ``gap``: no
    matrix that meets the requirements costs less than ``expected_cost - gap``. For only a beta
    :func:`gibbs` is faster, and at one epsilon :func:`randomized_response` is often optimal.

    It needs ``pip install bistochastic[optimal]`` (clarabel and scipy). 64 categories take seconds.

    Raises

    * ``ValueError`` for negative or missing costs, for costs that forbid every permutation, and if
      no requirement is given
    * ``ValueError`` if two requirements cannot be met together, which only infinite costs cause
    * :class:`bistochastic.errors.OutOfReachError`, with the ``most`` or ``least`` that can be
      reached, if one requirement cannot be met at all

    >>> import bistochastic as bs
    >>> import numpy as np
    >>> scale = np.arange(6)
    >>> cost = abs(scale[:, None] - scale)
    >>> m = bs.optimal(cost, epsilon=3, beta=0.6)
    >>> m.require(epsilon=3, beta=0.6)
    >>> round(m.requested["expected_cost"], 6), m.requested["gap"] < 1e-6
    (0.548446, True)
    """
    must = "hold numbers of at least 0, as many rows as columns"
    costs = arguments.floats("cost", must, cost)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not costs.size:
        raise Refused("cost", must, f"shape {costs.shape}")
    if not (costs >= 0).all():
        u, v = np.argwhere(~(costs >= 0))[0].tolist()
        raise Refused("cost", must, f"{arguments.fault(costs[u, v])} at {u}, {v}")
    given = {"beta": beta, "epsilon": epsilon, "row_beta": row_beta, "column_beta": column_beta}
    asked = {name: arguments.limit(name, x) for name, x in given.items() if x is not None}
    if not asked:
        raise Refused("optimal", f"be given at least one of {', '.join(given)}", "none")
    problem = _Problem(costs, _support(np.isfinite(costs)))
    solution = problem.solve(asked)
    # At the very end of what can be reached the solver may not say so.
    return problem.extreme(asked) if solution is None else problem.on_grid(asked, *solution)


def _support(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the allowed entries that are on a permutation of allowed entries: others must be 0."""
    if allowed.all():
        return allowed
    _installed()
    from scipy.sparse import csgraph, csr_matrix

    to = csgraph.maximum_bipartite_matching(csr_matrix(allowed), "column")
    if (to < 0).any():
        must = "allow a permutation: a report of its own for every category"
        raise Refused("cost", must, "costs that forbid all of them")
    # After the matching an entry is on a permutation just if it closes a cycle.
    _, part = csgraph.connected_components(csr_matrix(allowed[:, to]), True, "strong")
    found = np.zeros_like(allowed)
    found[:, to] = allowed[:, to] & (part[:, None] == part)
    return found


def _installed() -> None:
    try:
        import clarabel  # noqa: F401
        import scipy.sparse  # noqa: F401
    except ImportError as error:
        must = "`optimal` must have clarabel and scipy installed"
        raise ImportError(f"{must}; got no {error.name}: bistochastic[optimal]") from None


@dataclass(frozen=True, eq=False)
class _Problem:
    """Costs, and the entries that are allowed."""

    cost: Array
    allowed: NDArray[np.bool_]

    @property
    def size(self) -> int:
        return len(self.cost)

    def solve(
        self, asked: Mapping[str, float], most: str | None = None
    ) -> tuple[Array, float] | None:
        """Return entries and a lower bound of the cost, or None if nothing meets the requirements.

        With ``most`` the cost is left aside, and the named beta is as large as it can be: the
        bound is then minus that beta.
        """
        _installed()
        import clarabel
        from scipy import sparse

        r, (us, vs) = self.size, np.nonzero(self.allowed)
        n, logs = len(us), math.log(r)
        epsilon = asked.get("epsilon", math.inf)
        betas = {name: x for name, x in asked.items() if name != "epsilon"}
        minima = r if epsilon < math.inf else 0
        if minima and not self.allowed.all():
            return None
        terms = n if betas or most else 0
        # Columns of the program: entries, column minima, terms of entropies, the beta to maximize.
        wanted = {"p": True, "m": minima > 0, "t": terms > 0, "z": most is not None}
        columns = [name for name, is_there in wanted.items() if is_there]
        eye, ones = sparse.eye(n), np.ones(n)
        by_row = sparse.csc_matrix((ones, (us, np.arange(n))), (r, n))
        by_column = sparse.csc_matrix((ones, (vs, np.arange(n))), (r, n))
        least = clarabel.NonnegativeConeT
        # Each part is (A, b, cone), for b - A x in the cone. The last column sum follows.
        sums = sparse.vstack([by_row, by_column[:-1]])
        parts = [({"p": sums}, np.ones(2 * r - 1), clarabel.ZeroConeT(2 * r - 1))]
        if minima:
            low = math.exp(-epsilon)
            parts.append(({"p": -eye, "m": by_column.T}, np.zeros(n), least(n)))
            parts.append(({"p": low * eye, "m": -by_column.T}, np.zeros(n), least(n)))
        elif not terms:
            parts.append(({"p": -eye}, np.zeros(n), least(n)))
        held = {"beta": by_row.sum(axis=0) / r, "row_beta": by_row, "column_beta": by_column}
        for name in dict.fromkeys([*betas, *([most] if most else [])]):
            matrix = sparse.csc_matrix(held[name])
            many = matrix.shape[0]
            free = {"z": np.full((many, 1), logs)} if name == most else {}
            limit = 0.0 if name == most else betas[name] * logs
            parts.append(({"t": -matrix, **free}, np.full(many, -limit), least(many)))
        if terms:
            # (t, p, 1) with p exp(t / p) <= 1.
            first, second = (sparse.csc_matrix((-ones, (3 * np.arange(n) + i, np.arange(n))),
                                               (3 * n, n)) for i in (0, 1))  # fmt: skip
            parts.append(({"t": first, "p": second}, np.tile([0.0, 0.0, 1.0], n), None))
        whole = sparse.bmat([[each.get(name) for name in columns] for each, _, _ in parts], "csc")
        width = whole.shape[1]
        objective = np.zeros(width)
        if most:
            objective[-1] = -1
        else:
            # Costs from 0 to 1, to fit the tolerances of the solver.
            scale = float(self.cost[self.allowed].max(initial=0.0)) or 1.0
            objective[:n] = self.cost[us, vs] / (scale * r)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        cones = [each[2] for each in parts if each[2] is not None]
        cones += [clarabel.ExponentialConeT()] * terms
        limits = np.concatenate([each[1] for each in parts])
        nothing = sparse.csc_matrix((width, width))
        found = clarabel.DefaultSolver(nothing, objective, whole, limits, cones, settings).solve()
        if str(found.status) not in _SOLVED:
            return None
        entries = np.zeros((r, r))
        entries[us, vs] = np.maximum(found.x[:n], 0.0)
        # By duality c x >= -b z + (c + A' z) x for every x that is allowed. The solver leaves the
        # second term near 0. Entries sum to r, minima to 1 at most and terms to r ln r at most.
        z = np.asarray(found.z)
        far = float(np.abs(objective + whole.T @ z).max()) * (r + 1 + r * logs)
        rounding = 1e-15 * len(z) * float(np.abs(limits * z).sum())
        bound = -float(limits @ z) - far - rounding
        return entries, bound * (1.0 if most else scale)

    def on_grid(self, asked: Mapping[str, float], entries: Array, bound: float) -> Matrix:
        """Find the nearest matrix on the grid that meets the requirements.

        Perfect secrecy meets every requirement, and a convex requirement is met better the more of
        it is mixed in. If costs forbid some entries, the matrix with the largest beta replaces it.
        """
        r, betas = self.size, [name for name in asked if name != "epsilon"]
        inner = np.full((r, r), 1 / r)
        if betas and not self.allowed.all():
            found = self.solve({k: x for k, x in asked.items() if k != betas[0]}, most=betas[0])
            inner = inner if found is None else found[0]
        for share in _BLENDS:
            matrix = self._rounded((1 - share) * entries + share * inner)
            if _keeps(matrix, asked):
                return self._noted(matrix, asked, bound)
        if self.allowed.all():
            return self._noted(families.uniform(r), asked, bound)
        raise self._conflict(asked)

    def extreme(self, asked: Mapping[str, float]) -> Matrix:
        """Find the matrix with the largest beta of one kind, if it meets the other requirements."""
        for name in asked:
            if name != "epsilon":
                others = {k: x for k, x in asked.items() if k != name}
                found = self.solve(others, most=name)
                if found is not None and _keeps(matrix := self._rounded(found[0]), asked):
                    return self._noted(matrix, asked, 0.0)
        raise self._conflict(asked)

    def _conflict(self, asked: Mapping[str, float]) -> ValueError:
        for name, limit in asked.items():
            if name == "epsilon" and limit < math.inf:
                must = "be inf if costs forbid entries"
                return OutOfReachError("epsilon", must, exact(limit), least=math.inf)
            if name != "epsilon":
                found = self.solve({}, most=name)
                assert found is not None
                own = _realised(self._rounded(found[0]), name)
                if own < limit:
                    must = f"be at most {exact(own)} if costs forbid entries"
                    return OutOfReachError(name, must, exact(limit), most=own)
        pairs = [pair for pair in combinations(asked, 2)
                 if self.solve({name: asked[name] for name in pair}) is None]  # fmt: skip
        names = pairs[0] if pairs else tuple(asked)
        both = " and ".join(f"`{name}`" for name in names)
        got = " and ".join(exact(asked[name]) for name in names)
        return ValueError(f"{both} must be possible together if costs forbid entries; got {got}")

    def _rounded(self, entries: Array) -> Matrix:
        return families.balance(np.where(self.allowed, np.maximum(entries, 1e-15), 0.0))

    def _noted(self, matrix: Matrix, asked: Mapping[str, float], bound: float) -> Matrix:
        """Note the cost of the matrix in it, and how far that may be above the least."""
        cost = np.where(self.allowed, self.cost, 0.0)
        mean = float((matrix.to_dense() * cost).sum()) / self.size
        facts = {**asked, "expected_cost": mean, "gap": max(0.0, mean - bound)}
        family = "uniform" if matrix.family == "uniform" else "dense"
        return _core.restore(family, _core.arrays(matrix), facts)


def _keeps(matrix: Matrix, asked: Mapping[str, float]) -> bool:
    try:
        matrix.require(**asked)
    except GuaranteeError:
        return False
    return True


def _realised(matrix: Matrix, name: str) -> float:
    if name == "beta":
        return matrix.beta
    found = measures.lines(matrix, [], full=True)
    assert found is not None
    return measures.line_betas(matrix, found)[name != "row_beta"]
