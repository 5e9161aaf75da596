"""``apply`` and ``solve`` against the dense matrix, and what cannot be solved."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic import linear
from cases import of_every_family

RNG = np.random.default_rng(20)


def rank_of(matrix: bs.Matrix) -> int:
    """The rank by elimination in fractions."""
    rows = [matrix.exact_row(u) for u in range(matrix.size)]
    rank = 0
    for column in range(matrix.size):
        found = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[rank], rows[found] = rows[found], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            if factor:
                pairs = zip(rows[i], rows[rank], strict=True)
                rows[i] = [a - factor * b for a, b in pairs]
        rank += 1
    return rank


@of_every_family()
def test_apply_is_the_transpose_times_the_vector(name: str, m: bs.Matrix) -> None:
    x = RNG.integers(-100, 100, (m.size, 3))
    want = m.to_dense().T @ x
    got = m.apply(x)
    assert got.shape == x.shape
    assert got.dtype == np.float64
    assert np.abs(got - want).max() <= 1e-12 * 100
    assert np.abs(m.apply(x[:, 1]) - want[:, 1]).max() <= 1e-12 * 100


@of_every_family(some=60)
def test_solve_undoes_apply_as_far_as_the_condition_allows(name: str, m: bs.Matrix) -> None:
    dense = m.to_dense()
    values = np.linalg.svd(dense, compute_uv=False)
    x = RNG.random((m.size, 2))
    if m.is_singular:
        assert values.min() < 1e-13
        with pytest.raises(bs.errors.SingularMatrixError, match="got one"):
            m.solve(x)
        return
    assert m.condition == pytest.approx(1 / values.min(), rel=1e-4 + 1e-15 * m.condition)
    y = m.apply(x)
    assert np.abs(m.solve(y) - x).max() <= 1e-13 * m.condition
    assert np.abs(m.solve(y[:, 0]) - x[:, 0]).max() <= 1e-13 * m.condition


@of_every_family(some=40, largest=12)
def test_what_is_exactly_singular_is_said_to_be(name: str, m: bs.Matrix) -> None:
    rank = rank_of(m)
    if rank < m.size:
        assert m.is_singular
        assert math.isinf(m.condition)
    elif m.condition < 1e12:
        # Further out doubles may not tell, and the profile's rank is that of doubles.
        assert not m.is_singular
        assert m.profile().rank == rank


@pytest.mark.parametrize(
    "m",
    [
        bs.uniform(3),
        bs.k_anonymous(12, k=3),
        bs.tridiagonal(0.5, size=6),
        bs.tridiagonal([0.5, 0.0, 0.5, 0.1]),
        bs.circulant([1, 0, 1, 0]),
        bs.reflected([0, 1, 0, 0, 0]),
        bs.t_transform(5, 1, 3, keep=Fraction(1, 2)),
        bs.dense([[2, 1, 1, 0], [0, 1, 1, 2], [1, 2, 0, 1], [1, 0, 2, 1]]),
        bs.kron(bs.randomized_response(3, epsilon=1), bs.blocks([1, 2])),
        bs.mix([bs.blocks([1, 2]), bs.uniform(3)], weights=[0.5, 0.5]),
        bs.tridiagonal([0.1, 0.2]) @ bs.blocks([1, 2]),
        bs.randomized_response(4, epsilon=0),
    ],
    ids=repr,
)
def test_singular_matrices_are_refused_whatever_their_structure(m: bs.Matrix) -> None:
    assert rank_of(m) < m.size
    assert m.is_singular
    assert m.condition == math.inf
    assert m.profile().rank == rank_of(m)
    with pytest.raises(bs.errors.SingularMatrixError):
        m.solve(np.ones(m.size))


def test_a_faint_rest_beside_perfect_secrecy_is_refused() -> None:
    share = Fraction(1, 2**55)
    m = bs.mix([bs.permutation([1, 0, 3, 2]), bs.uniform(4)], weights=[share, 1 - share])
    assert m.is_singular
    with pytest.raises(bs.errors.SingularMatrixError, match="too faintly for doubles"):
        m.solve(np.arange(4))


def test_a_dense_matrix_of_many_rows_is_singular_by_its_integers() -> None:
    # Singular values of a 300 x 300 matrix of rank 299 are not 0 in doubles.
    rng = np.random.default_rng(5)
    counts = np.zeros((300, 300), dtype=np.int64)
    for _ in range(60):
        permutation = rng.permutation(300)
        counts[np.arange(300), permutation] += rng.integers(1, 100)
    # Rows 0 and 1 become each the mean of both, which keeps all sums.
    counts *= 2
    counts[:2] = counts[:2].sum(axis=0) // 2
    m = bs.dense(counts)
    assert m.is_singular
    assert m.profile().rank == 299
    with pytest.raises(bs.errors.SingularMatrixError):
        m.solve(np.ones(300))


def test_composites_are_never_made_dense() -> None:
    joint = bs.kron(
        bs.randomized_response(200, epsilon=3),
        bs.tridiagonal(0.2, size=100),
        bs.geometric(50, beta=0.5),
    )
    table = RNG.random((200, 100, 50))
    reports = joint.apply(table.ravel()).reshape(table.shape)
    want = np.einsum(
        "abc,ax,by,cz->xyz",
        table,
        *(factor.to_dense() for factor in joint.parameters["matrices"]),
        optimize=True,
    )
    assert np.abs(reports - want).max() < 1e-12
    again = joint.solve(reports.ravel()).reshape(table.shape)
    assert np.abs(again - table).max() < 1e-13 * joint.condition
    n = 10**6
    x = RNG.random(n)
    twice = bs.tridiagonal(0.2, size=n) @ bs.randomized_response(n, epsilon=5)
    assert np.abs(twice.solve(twice.apply(x)) - x).max() < 1e-9
    mixed = bs.mix([bs.tridiagonal(np.full(n - 1, 0.2)), bs.uniform(n)], weights=[0.9, 0.1])
    assert np.abs(mixed.solve(mixed.apply(x)) - x).max() < 1e-11
    blend = bs.mix([bs.geometric(n, temperature=1), bs.identity(n)], weights=[0.5, 0.5])
    assert np.abs(blend.solve(blend.apply(x)) - x).max() < 1e-12


def nested() -> list[bs.Matrix]:
    """Composites of composites, with axes of every kind: a table, a map, neither."""
    rr = functools.partial(bs.randomized_response, keep=0.6)
    law = 1 + np.arange(131) ** 2 % 7
    # A circulant that only its entries show: no structure of its own.
    bare, small = (bs.dense(law[:n][np.subtract.outer(np.arange(n), np.arange(n)) % n])
                   for n in (131, 5))  # fmt: skip
    circle, swap = bs.circulant([5, 2, 1]), bs.permutation([1, 2, 0])
    ordinal, steps = bs.geometric(20, temperature=0.7), bs.tridiagonal([0.1, 0.2, 0.05])
    product = small @ rr(5)
    mixed = bs.mix([product, small], weights=[0.5, 0.5])
    return [
        product @ small,
        bs.mix([bs.uniform(5), small], weights=[0.5, 0.5]),
        bs.kron(rr(3), bare),
        bs.kron(bare, mixed, rr(2)),
        bs.kron(rr(2), rr(3), rr(2)),
        bs.kron(circle, swap, rr(5)),
        bs.kron(ordinal, rr(2), rr(2)),
        bs.kron(rr(3), ordinal),
        bs.kron(steps, bs.identity(4), circle, bs.identity(70)),
        bs.kron(bs.kron(rr(2), circle), bs.kron(swap, steps)),
    ]


@pytest.mark.parametrize("m", nested(), ids=repr)
@pytest.mark.parametrize("back", [False, True])
def test_composites_of_composites_give_what_the_entries_give(m: bs.Matrix, back: bool) -> None:
    rows = RNG.integers(-4, 7, (2, m.size)).astype(float)
    dense = m.to_dense()
    got = linear.forth(m, rows, back=back)
    assert np.abs(got - rows @ (dense.T if back else dense)).max() < 1e-11
    assert np.abs(m.solve(got.T, back=back).T - rows).max() < 1e-12 * m.condition


@pytest.mark.parametrize("shape", [(40_000, 3), (3, 40_000), (2, 20_000, 5), (90, 70, 30)])
@pytest.mark.parametrize("flat", [False, True])
def test_axes_of_any_length_go_one_by_one(shape: tuple[int, ...], flat: bool) -> None:
    factors = [bs.tridiagonal(0.2, size=n) for n in shape]
    if flat:
        factors = [bs.randomized_response(n, keep=0.9 - 0.1 * i) for i, n in enumerate(shape)]
    table = RNG.random(shape)
    got = bs.kron(*factors).apply(table.ravel()).reshape(shape)
    want = table
    for axis, factor in enumerate(factors):
        rows = np.moveaxis(want, axis, 0)
        through = factor.apply(rows.reshape(len(rows), -1)).reshape(rows.shape)
        want = np.moveaxis(through, 0, axis)
    assert np.abs(got - want).max() < 1e-12
    assert np.abs(bs.kron(*factors).solve(got.ravel()) - table.ravel()).max() < 1e-8


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 31, 32, 97, 1000, 1009])
def test_transforms_of_any_length(size: int) -> None:
    x = RNG.random(size)
    row = RNG.random(size) + np.where(np.arange(size) == 0, size, 0)
    for m in (bs.circulant(row / row.sum()), bs.geometric(size, temperature=0.7)):
        y = m.apply(x)
        assert np.abs(y - m.to_dense().T @ x).max() < 1e-13
        assert np.abs(m.solve(y) - x).max() < 1e-13 * m.condition


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i1", "u2", "i8", "u8"])
def test_numbers_of_any_kind_and_layout(dtype: str) -> None:
    m = bs.circulant([6, 3, 0, 1])
    x = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], dtype=dtype)
    want = m.to_dense().T @ x.astype(float)
    frozen = x.copy()
    frozen.flags.writeable = False
    for given_x in (x, np.asfortranarray(x), x[::-1][::-1], frozen, x.tolist()):
        np.testing.assert_allclose(m.apply(given_x), want, rtol=1e-15)
    assert m.apply(x).dtype == np.float64
    assert m.apply(np.empty((4, 0))).shape == (4, 0)


def test_conditions_of_composites_follow_their_rules() -> None:
    a, b = bs.tridiagonal(0.3, size=12), bs.geometric(12, beta=0.6)
    assert bs.kron(a, b).condition == pytest.approx(a.condition * b.condition)
    assert bs.kron(a, b).condition == pytest.approx(np.linalg.cond(bs.kron(a, b).to_dense()))
    swap = bs.permutation(list(range(11, -1, -1)))
    assert (a @ swap).condition == pytest.approx(a.condition)
    filled = bs.mix([bs.tridiagonal([0.1, 0.3, 0.2]), bs.uniform(4)], weights=[0.75, 0.25])
    assert filled.condition == pytest.approx(np.linalg.cond(filled.to_dense()))
    # Each factor is far from singular, the whole is not told from it.
    many = bs.kron(*[a] * 10)
    assert many.condition > 2**50
    assert many.is_singular


loose: Any = bs

BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).apply([1, 2]), ValueError, "`x` must hold 3 finite numbers"),
    (lambda: bs.uniform(3).apply(5), ValueError, "got shape ()"),
    (lambda: bs.uniform(3).apply(np.ones((3, 2, 2))), ValueError, "got shape (3, 2, 2)"),
    (lambda: bs.uniform(3).apply([1, math.nan, 2]), ValueError, "not finite at position 1"),
    (lambda: bs.uniform(3).solve([1, 2, math.inf]), ValueError, "not finite at position 2"),
    (lambda: loose.uniform(3).apply(["a", "b", "c"]), TypeError, "got dtype <U1"),
    (lambda: loose.uniform(3).apply([True, False, True]), TypeError, "got dtype bool"),
    (lambda: loose.uniform(3).apply([[1], [2, 3], [4]]), TypeError, "rows of several lengths"),
    (lambda: loose.uniform(2).apply([1j, 2]), TypeError, "got dtype complex128"),
    (lambda: loose.uniform(2).solve(None), TypeError, "`y` must hold 2 finite numbers"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_vectors_are_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("long", [4096, 10**6])
def test_sums_along_long_axes_do_not_drift(long: int) -> None:
    # Each step of a plain sum of tenths is rounded the same way.
    joint = bs.kron(bs.randomized_response(2, keep=0.7), bs.randomized_response(long, keep=0.5))
    assert np.abs(joint.apply(np.full(2 * long, 0.1)) - 0.1).max() < 1e-13


def test_a_joint_of_randomized_responses_takes_rows_of_its_size() -> None:
    for rows, axes in ((np.ones((2, 5)), [(2, 0.5), (3, 0.5)]), (np.ones((1, 0)), [(0, 0.5)])):
        with pytest.raises(ValueError, match="`rows` must hold rows of"):
            bs._core.flat_axes(rows, axes)


def test_small_axes_that_share_a_table_give_what_they_give_in_turn() -> None:
    sizes = (10, 2, 4, 4, 2, 3, 20)
    parts = [bs.geometric(n, temperature=0.7) for n in sizes]
    m, x = bs.kron(*parts), np.random.default_rng(8).random(math.prod(sizes))
    for inverse in (False, True):
        want = x.reshape(sizes)
        for part in parts:
            # The first axis becomes the last.
            flat = want.reshape(part.size, -1)
            flat = part.solve(flat) if inverse else part.apply(flat)
            want = np.moveaxis(flat.reshape(want.shape), 0, -1)
        got = m.solve(x) if inverse else m.apply(x)
        assert np.abs(got - want.ravel()).max() <= 1e-14 * np.abs(want).max()
    # A table of several inverses has numbers up to 5, one inverse up to 1.5.
    steep = bs.kron(*[bs.dense([[3, 1], [1, 3]])] * 12)
    assert np.allclose(steep.solve(np.full(4096, 1e308)), 1e308)
