"""``bs.optimal``: the least expected cost under several requirements at once.

The cost is linear in the entries and every requirement is convex, so this is a convex program,
which Clarabel solves. With ``m_v`` the least entry of column v, epsilon is ``m_v <= p_uv <=
e^epsilon m_v``: two inequalities per entry. Entropies are sums of ``t_uv <= -p_uv ln p_uv``, one
exponential cone per entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from bistochastic import _core, arguments, families
from bistochastic.arguments import Array
from bistochastic.errors import GuaranteeError, Refused
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

    ``cost[u][v] >= 0`` is the cost of reporting ``v`` if the true category is ``u``. The expected
    cost is the mean of ``cost_uv p_uv`` over a uniform true category.
    :meth:`Matrix.require` explains ``beta``, ``epsilon``, ``row_beta`` and ``column_beta``; the
    result meets them exactly.

    ``m.requested`` holds the requirements, the ``expected_cost`` of the matrix and its ``gap``: no
    matrix that meets the requirements costs less than ``expected_cost - gap``. For only a beta
    :func:`gibbs` is faster, and at one epsilon :func:`randomized_response` is often optimal.

    It needs ``pip install bistochastic[optimal]`` (clarabel and scipy). 64 categories take seconds.

    Raises ``ValueError`` for costs that are negative, missing or infinite, and if no requirement is
    given.

    >>> import numpy as np
    >>> scale = np.arange(6)
    >>> cost = abs(scale[:, None] - scale)
    >>> m = bs.optimal(cost, epsilon=3, beta=0.6)
    >>> m.require(epsilon=3, beta=0.6)
    >>> round(m.requested["expected_cost"], 6), m.requested["gap"] < 1e-6
    (0.548446, True)
    """
    must = "hold finite numbers of at least 0, as many rows as columns"
    costs = arguments.floats("cost", must, cost)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not costs.size:
        raise Refused("cost", must, f"shape {costs.shape}")
    arguments.refuse_faults("cost", must, costs)
    given = {"beta": beta, "epsilon": epsilon, "row_beta": row_beta, "column_beta": column_beta}
    asked = {name: arguments.limit(name, x) for name, x in given.items() if x is not None}
    if not asked:
        raise Refused("optimal", f"be given at least one of {', '.join(given)}", "none")
    # At the very end of what can be reached the solver may find nothing; perfect secrecy keeps it.
    entries, bound = _solved(costs, asked)
    r = len(costs)
    for share in _BLENDS:
        # Mixed in, perfect secrecy meets all requirements the better, since they are convex.
        mixed = (1 - share) * entries + share / r
        matrix = families.balance(np.maximum(mixed, 1e-15))
        with suppress(GuaranteeError):
            matrix.require(**asked)
            break
    else:
        matrix = families.uniform(r)
    mean = float((matrix.to_dense() * costs).sum()) / r
    facts = {**asked, "expected_cost": mean, "gap": max(0.0, mean - bound)}
    family = "uniform" if matrix.family == "uniform" else "dense"
    return _core.restore(family, _core.arrays(matrix), facts)


def _solved(cost: Array, asked: Mapping[str, float]) -> tuple[Array, float]:
    """Return entries and a lower bound of the cost; perfect secrecy and 0 without a solution."""
    try:
        import clarabel
        from scipy import sparse
    except ImportError as error:
        must = "`optimal` must have clarabel and scipy installed"
        raise ImportError(f"{must}; got no {error.name}: bistochastic[optimal]") from None

    r = len(cost)
    n, logs = r * r, math.log(r)
    epsilon = asked.get("epsilon", math.inf)
    betas = {name: x for name, x in asked.items() if name != "epsilon"}
    terms = n if betas else 0
    eye, ones = sparse.eye(n), np.ones((1, r))
    by_row = sparse.kron(sparse.eye(r), ones, "csc")
    by_column = sparse.kron(ones, sparse.eye(r), "csc")
    least = clarabel.NonnegativeConeT
    # Each part is (A, b, cone), for b - A x in the cone. The last column sum follows.
    sums = sparse.vstack([by_row, by_column[:-1]])
    parts = [({"p": sums}, np.ones(2 * r - 1), clarabel.ZeroConeT(2 * r - 1))]
    if epsilon < math.inf:
        low = math.exp(-epsilon)
        parts.append(({"p": -eye, "m": by_column.T}, np.zeros(n), least(n)))
        parts.append(({"p": low * eye, "m": -by_column.T}, np.zeros(n), least(n)))
    elif not terms:
        parts.append(({"p": -eye}, np.zeros(n), least(n)))
    held = {"beta": by_row.sum(axis=0) / r, "row_beta": by_row, "column_beta": by_column}
    for name, limit in betas.items():
        matrix = sparse.csc_matrix(held[name])
        many = matrix.shape[0]
        parts.append(({"t": -matrix}, np.full(many, -limit * logs), least(many)))
    if terms:
        # (t, p, 1) with p exp(t / p) <= 1.
        first, second, _ = (sparse.kron(eye, column[:, None]) for column in np.eye(3))
        parts.append(({"t": -first, "p": -second}, np.tile([0.0, 0.0, 1.0], n), None))
    # Columns of the program: entries, column minima, terms of entropies.
    columns = [name for name in "pmt" if any(name in each for each, _, _ in parts)]
    whole = sparse.bmat([[each.get(name) for name in columns] for each, _, _ in parts], "csc")
    width = whole.shape[1]
    objective = np.zeros(width)
    # Costs from 0 to 1, to fit the tolerances of the solver.
    scale = float(cost.max()) or 1.0
    objective[:n] = cost.ravel() / (scale * r)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    cones = [each[2] for each in parts if each[2] is not None]
    cones += [clarabel.ExponentialConeT()] * terms
    limits = np.concatenate([each[1] for each in parts])
    nothing = sparse.csc_matrix((width, width))
    found = clarabel.DefaultSolver(nothing, objective, whole, limits, cones, settings).solve()
    if str(found.status) not in _SOLVED:
        return np.full((r, r), 1 / r), 0.0
    entries = np.maximum(np.array(found.x[:n]), 0.0).reshape(r, r)
    # By duality c x >= -b z + (c + A' z) x for every x that is allowed. The solver leaves the
    # second term near 0. Entries sum to r, minima to 1 at most and terms to r ln r at most.
    z = np.asarray(found.z)
    far = float(np.abs(objective + whole.T @ z).max()) * (r + 1 + r * logs)
    rounding = 1e-15 * len(z) * float(np.abs(limits * z).sum())
    bound = -float(limits @ z) - far - rounding
    return entries, bound * scale
