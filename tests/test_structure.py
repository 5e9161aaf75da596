"""What a matrix is made of says all of it: every answer gives the matrix back."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np

import bistochastic as bs
from bistochastic import _core, structure
from cases import of_every_family

COMPOSITES = ("kron", "mix", "product")


def written_out(m: bs.Matrix) -> list[np.ndarray]:
    """The matrix, once from each answer that says what all of it is."""
    r = m.size
    found = []
    pair = structure.two_valued(m)
    if pair is not None:
        found.append(np.full((r, r), pair[1]) + (pair[0] - pair[1]) * np.eye(r))
    classes = structure.classes(m)
    if classes is not None:
        table = np.zeros((r, r))
        for start, n in zip(classes.starts(), classes.each(), strict=True):
            table[start : start + n, start : start + n] = 1 / n
        found.append(table)
    targets = structure.targets(m)
    if targets is not None:
        found.append(np.eye(r)[targets])
    row = structure.first_row(m)
    if row is not None:
        found.append(np.array([np.roll(row.shares(), u) for u in range(r)]))
    kernel = structure.even_kernel(m)
    if kernel is not None:
        cycle = np.concatenate([kernel.shares(), kernel.shares()[1:-1][::-1]])
        u, v = np.indices((r, r))
        found.append(cycle[(v - u) % (2 * r)] + cycle[(u + v + 1) % (2 * r)])
    steps = structure.steps(m)
    if steps is not None:
        alphas = np.broadcast_to(steps.shares(), r - 1)
        table = np.diag(alphas, 1) + np.diag(alphas, -1)
        found.append(table + np.diag(1 - table.sum(axis=1)))
    swap = structure.swap(m)
    if swap is not None:
        table = np.eye(r)
        both = [swap.i, swap.j]
        table[np.ix_(both, both)] = float(1 - swap.keep)
        table[both, both] = float(swap.keep)
        found.append(table)
    counts = structure.counts(m)
    assert (counts is not None) == structure.has_rows(m)
    if counts is not None:
        found.append(counts / counts[0].sum())
    match structure.composition(m):
        case structure.Kron(parts=factors):
            tables = [factor.to_dense() for factor in factors]
            found.append(reduce(lambda a, b: np.asarray(np.kron(a, b)), tables))
        case structure.Mixture() as mixture:
            found.append(np.sum([weight * part.to_dense() for weight, part in mixture], axis=0))
        case structure.Product(parts=(first, second)):
            found.append(first.to_dense() @ second.to_dense())
    return found


@of_every_family(some=20)
def test_every_answer_gives_the_matrix_back(name: str, m: bs.Matrix) -> None:
    tables = written_out(m)
    assert tables, "made of nothing"
    for table in tables:
        assert np.allclose(table, m.to_dense(), rtol=0, atol=1e-14)
    assert (structure.composition(m) is None) == (m.family not in COMPOSITES)
    if structure.is_certain(m):
        assert set(m.to_dense().flat) <= {0.0, 1.0}
    if structure.is_uniform(m):
        assert m.beta == 1
    if structure.shift_invariant(m):
        first = m.row(0)
        assert all(np.allclose(m.row(u), np.roll(first, u), atol=1e-12) for u in range(m.size))


def test_families_that_are_made_of_the_same_answer_the_same() -> None:
    for a, b in (
        (bs.uniform(6), bs.blocks([6])),
        (bs.identity(6), bs.k_anonymous(6, k=1)),
        (bs.geometric(4, beta=1.0), bs.reflected([1, 1, 1, 1, 1])),
    ):
        assert structure.two_valued(a) == structure.two_valued(b)
        assert structure.is_uniform(a) == structure.is_uniform(b)
        classes, others = structure.classes(a), structure.classes(b)
        assert (classes is None) == (others is None)
        if classes is not None and others is not None:
            assert (classes.each() == others.each()).all()
        assert _core.counts_rank(a) == _core.counts_rank(b)


def test_classes_are_runs_at_any_size() -> None:
    classes = structure.classes(bs.k_anonymous(10**15 + 3, k=10))
    assert classes is not None
    assert (classes.sizes.tolist(), classes.many.tolist()) == ([11, 10], [3, 10**14 - 3])
    assert classes.number == 10**14


def test_a_part_of_weight_0_is_no_part() -> None:
    a, b = bs.uniform(3), bs.identity(3)
    thirds = [Fraction(1, 3), Fraction(0), Fraction(2, 3)]
    made = structure.composition(bs.mix([a, b, a], weights=thirds))
    assert isinstance(made, structure.Mixture)
    assert (made.weights, made.parts) == ((1 / 3, 2 / 3), (a, a))


def test_ranks_are_counted_where_nothing_was_rounded() -> None:
    counted = [bs.identity(3), bs.blocks([2, 1]), bs.permutation([1, 0, 2]),
               bs.randomized_response(3, keep=0.5), bs.t_transform(3, 0, 1, keep=0.5)]  # fmt: skip
    assert all(_core.counts_rank(m) for m in counted)
    rounded = [bs.circulant([1, 2, 3]), bs.tridiagonal(0.3, size=3), bs.geometric(3, beta=0.5),
               bs.dense([[1, 1], [1, 1]]), bs.kron(counted[0], counted[1])]  # fmt: skip
    assert not any(_core.counts_rank(m) for m in rounded)
