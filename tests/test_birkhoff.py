"""Sums of permutations: exact, few, the same everywhere."""

from __future__ import annotations

import itertools
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from cases import of_every_family, whole_tables
from sums import added_up, check, decomposed, exact

DATA = os.environ.get("BISTOCHASTIC_DATA")


def components(table: NDArray[Any]) -> int:
    """Connected components of rows and columns."""
    size = len(table)
    left = set(range(size))
    found = 0
    while left:
        found += 1
        rows = {left.pop()}
        while True:
            columns = table[sorted(rows)].any(axis=0)
            more = set(np.flatnonzero(table[:, columns].any(axis=1)).tolist())
            if more == rows:
                break
            rows = more
        left -= rows
    return found


def most_terms(table: NDArray[Any]) -> int:
    return int((table > 0).sum()) - 2 * len(table) + components(table > 0) + 1


@st.composite
def sums(draw: st.DrawFn) -> NDArray[np.int64]:
    """Whole numbers with equal line sums: few or many permutations, blocks, near-permutations."""
    kind = draw(st.sampled_from(["any", "blocks", "near"]))
    size = draw(st.integers(1, 9))
    table = np.zeros((size, size), dtype=np.int64)
    rows = np.arange(size)
    if kind == "blocks":
        cut = draw(st.integers(0, size))
        parts = [list(range(cut)), list(range(cut, size))]
        permutation = st.tuples(*(st.permutations(part) for part in parts)).map(
            lambda both: [*both[0], *both[1]]
        )
    else:
        permutation = st.permutations(list(range(size)))
    if kind == "near":
        table[rows, draw(permutation)] += 2**40
    weights = st.lists(st.integers(1, draw(st.sampled_from([2, 2**10, 2**50]))), min_size=1)
    for weight in draw(weights.filter(lambda w: len(w) <= 30)):
        table[rows, draw(permutation)] += weight
    return table


@given(table=sums())
def test_whole_numbers_come_back(table: NDArray[np.int64]) -> None:
    matrix = bs.dense(table)
    found = matrix.decompose()
    assert found.matrix == matrix
    check(found)
    assert found.terms <= most_terms(table)
    weights = found.exact_weights
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("size", [16, 17, 63, 64, 65, 130])
def test_terms_add_up_on_both_sides_of_every_bound(size: int) -> None:
    table = np.zeros((size, size), dtype=np.int64)
    rng = np.random.default_rng(size)
    for weight in rng.integers(1, 2**30, 2 * size).tolist():
        table[np.arange(size), rng.permutation(size)] += weight
    # With restarts rows and columns are also renamed, and ties are not looked at.
    for found in (bs.dense(table).decompose(), bs.dense(table).decompose(restarts=3)):
        assert added_up(found) == exact(found.matrix)
        assert found.exact_weights == sorted(found.exact_weights, reverse=True)


@given(table=sums(), restarts=st.integers(2, 6))
@settings(max_examples=40)
def test_restarts_never_cost_terms(table: NDArray[np.int64], restarts: int) -> None:
    matrix = bs.dense(table)
    found = matrix.decompose(restarts=restarts)
    check(found)
    assert found.terms <= matrix.decompose().terms
    weights = found.exact_weights
    assert weights == sorted(weights, reverse=True)


@given(table=whole_tables().filter(lambda t: len(t) <= 6))
@settings(max_examples=60)
def test_every_weight_is_the_best_bottleneck_of_all_permutations(table: NDArray[np.int64]) -> None:
    left = [[int(x) for x in row] for row in table]
    size, total = len(left), sum(left[0])
    orders = list(itertools.permutations(range(size)))
    for weight, permutation in bs.dense(table).decompose():
        best = max(min(left[u][v] for u, v in enumerate(order)) for order in orders)
        assert weight == Fraction(best, total)
        for u, v in enumerate(permutation.tolist()):
            left[u][v] -= best


@of_every_family(some=25)
def test_every_family_is_decomposed_exactly(name: str, matrix: bs.Matrix) -> None:
    found = decomposed(matrix)
    if found is not None:
        assert found.matrix == matrix
        check(found)


CLOSED: list[tuple[bs.Matrix, int]] = [
    (bs.identity(6), 1),
    (bs.permutation([3, 1, 0, 2]), 1),
    (bs.t_transform(5, 1, 3, keep=0.25), 2),
    (bs.t_transform(5, 1, 3, keep=1), 1),
    (bs.uniform(7), 7),
    (bs.randomized_response(6, beta=0.6), 6),
    (bs.randomized_response(6, keep=0.01), 6),
    (bs.randomized_response(6, keep=0), 5),
    (bs.circulant([5, 0, 2, 2, 0, 9]), 4),
    (bs.tridiagonal(0.3, size=9), 3),
    (bs.tridiagonal(0.5, size=9), 2),
    (bs.tridiagonal(0.25, size=2), 2),
    (bs.tridiagonal([0.1, 0.5, 0.2, 0.8]), 4),
    (bs.blocks([4, 4, 4]), 4),
    (bs.blocks([2, 3, 5]), 8),
    (bs.k_anonymous(11, k=4), 10),
]


@pytest.mark.parametrize("case", range(len(CLOSED)))
def test_closed_forms_agree_with_the_search(case: int) -> None:
    matrix, terms = CLOSED[case]
    found = matrix.decompose()
    check(found)
    assert found.terms == terms
    weights = found.exact_weights
    assert weights == sorted(weights, reverse=True)
    table = np.array(exact(matrix), dtype=object)
    total = int(np.lcm.reduce([int(x.denominator) for x in table.flat]))
    search = bs.dense(np.array(table * total, dtype=np.int64)).decompose()
    assert added_up(search) == added_up(found)
    assert terms <= most_terms(np.array(table > 0))
    if matrix.family in ("circulant", "uniform", "randomized_response", "identity", "permutation"):
        assert search.exact_weights == weights


def test_krons_are_decomposed_by_their_factors() -> None:
    a, b = bs.circulant([3, 1]), bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
    matrix = bs.kron(a, bs.kron(b, bs.uniform(2)))
    found = matrix.decompose()
    assert found.terms == 2 * b.decompose().terms * 2
    check(found)
    assert found.joint_entropy == pytest.approx(
        a.decompose().joint_entropy + b.decompose().joint_entropy + 1, abs=1e-12
    )
    # More terms than anybody could list.
    many = bs.kron(*[bs.uniform(1000)] * 5).decompose()
    assert many.terms == 10**15
    assert many.joint_entropy == pytest.approx(5 * np.log2(1000))
    with pytest.raises(ValueError, match="`weights` must fit in"):
        _ = many.weights
    with pytest.raises(ValueError, match="`mass` must be left out for a kron of more than"):
        bs.kron(*[bs.uniform(1000)] * 5).decompose(mass=0.5)


def test_large_structured_matrices_are_described() -> None:
    size = 10**6
    shifts = bs.circulant(np.full(size, 1 / size)).decompose()
    assert shifts.terms == size
    assert shifts.permutation(size - 1)[0] in range(size)
    everything = bs.uniform(2**50).decompose()
    assert everything.terms == 2**50
    assert everything.joint_entropy == 50
    steps = bs.tridiagonal(0.3, size=10**6).decompose()
    assert steps.terms == 3
    assert sum(steps.exact_weights) == 1
    classes = bs.k_anonymous(10**6 + 1, k=3).decompose()
    assert classes.terms == 6
    assert sum(classes.exact_weights) == 1
    assert sorted(classes.permutation(5).tolist()) == list(range(10**6 + 1))


QOBLIB = {
    "dense": ([16.8, 24.5, 30.7, 35.5, 39.8, 52.9], 1.03),
    "sparse": ([4.9, 6.4, 7.6, 9.6, 13.6, 14.6], 1.10),
}
BIRKHOFF_PLUS = {5: 16.7, 6: 25.6, 8: 37.0, 10: 55.7}


@pytest.mark.skipif(DATA is None, reason="BISTOCHASTIC_DATA is not set")
@pytest.mark.parametrize("kind", sorted(QOBLIB))
def test_official_instances_take_few_terms(kind: str) -> None:
    means, slack = QOBLIB[kind]
    for n, mean in zip(range(5, 11), means, strict=True):
        file = Path(str(DATA)) / "qoblib" / f"qbench_{n:02}_{kind}.json"
        instances = [x for x in json.loads(file.read_text()).values() if isinstance(x, dict)]
        tables = [np.array(x["scaled_doubly_stochastic_matrix"]).reshape(n, n) for x in instances]
        matrices = [bs.dense(table) for table in tables]
        terms = [found.terms for found in bs.decompose_all(matrices)]
        assert np.mean(terms) <= slack * mean
        best = bs.decompose_all(matrices, restarts=32)
        for matrix, found in zip(matrices, best, strict=True):
            assert np.array_equal(found.reconstruct(), matrix.to_dense())
        if kind == "dense" and n in BIRKHOFF_PLUS:
            assert np.mean([found.terms for found in best]) <= BIRKHOFF_PLUS[n]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_an_archive_never_replaces_what_is_no_file(tmp_path: Path) -> None:
    # As root, a rename would replace even a device.
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(bs.errors.Refused, match="`path` must be a file; got a folder"):
            bs.uniform(3).decompose().to_npz(path)
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
