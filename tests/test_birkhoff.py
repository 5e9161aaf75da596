"""Sums of permutations: exact, few, the same everywhere."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic import _core, cli
from cases import FAMILIES, whole_tables

DATA = os.environ.get("BISTOCHASTIC_DATA")
POLICIES = ("bottleneck", "any")
policies = pytest.mark.parametrize("policy", POLICIES)


def added_up(decomposition: bs.Decomposition) -> list[list[Fraction]]:
    size = decomposition.matrix.size
    cells = [[Fraction(0)] * size for _ in range(size)]
    for weight, permutation in decomposition:
        assert sorted(permutation.tolist()) == list(range(size))
        assert weight > 0
        for u, v in enumerate(permutation.tolist()):
            cells[u][v] += weight
    return cells


def exact(matrix: bs.Matrix) -> list[list[Fraction]]:
    return [matrix.exact_row(u) for u in range(matrix.size)]


def check(decomposition: bs.Decomposition) -> None:
    """Equality of sums, of the reconstruction and of all views of the terms; no tolerance."""
    matrix = decomposition.matrix
    assert added_up(decomposition) == exact(matrix)
    assert sum(decomposition.exact_weights) == 1
    assert decomposition.residual is None
    assert decomposition.residual_weight == 0
    assert np.array_equal(decomposition.reconstruct(), matrix.to_dense())
    assert len(decomposition) == decomposition.terms == len(decomposition.exact_weights)
    rows = decomposition.permutations
    assert rows.shape == (decomposition.terms, matrix.size)
    for j in {0, decomposition.terms // 2, decomposition.terms - 1}:
        assert np.array_equal(rows[j], decomposition.permutation(j))
        assert decomposition.weights[j] == float(decomposition.exact_weights[j])
    assert decomposition.joint_entropy <= np.log2(decomposition.terms) + 1e-12


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


@policies
@given(table=sums())
def test_whole_numbers_come_back(policy: str, table: NDArray[np.int64]) -> None:
    matrix = bs.dense(table)
    found = matrix.decompose(policy=policy)
    assert found.matrix == matrix
    check(found)
    assert found.terms <= most_terms(table)
    if policy == "bottleneck":
        weights = found.exact_weights
        assert weights == sorted(weights, reverse=True)


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


def decomposed(matrix: bs.Matrix, policy: str) -> bs.Decomposition | None:
    """None where a composite says that it needs bits."""
    try:
        return matrix.decompose(policy=policy)
    except ValueError as error:
        if matrix.family in ("mix", "product") and "reaches 2^63; got none" in str(error):
            return None
        raise


@pytest.mark.parametrize("name", sorted(FAMILIES))
@given(data=st.data())
@settings(max_examples=25)
def test_every_family_is_decomposed_exactly(name: str, data: Any) -> None:
    matrix = data.draw(FAMILIES[name])
    for policy in POLICIES:
        found = decomposed(matrix, policy)
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


def random_table(size: int, seed: int = 0) -> NDArray[np.float64]:
    p = np.random.default_rng(seed).random((size, size))
    for _ in range(200):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return p


@policies
def test_a_coarser_grid_keeps_sums_and_support(policy: str) -> None:
    matrix = bs.dense(random_table(20))
    for bits in (16, 32, 52):
        found = matrix.decompose(policy=policy, bits=bits)
        check(found)
        assert all(weight.denominator <= 2**bits for weight in found.exact_weights)
        moved = np.abs(found.matrix.to_dense() - matrix.to_dense()).max()
        assert moved < 2.0**-bits
    assert matrix.decompose(bits=53).matrix == matrix
    for small in (
        bs.randomized_response(4, keep=0),
        bs.tridiagonal([0.3, 0.7, 0.1]),
        bs.uniform(6),
    ):
        found = small.decompose(policy=policy, bits=9)
        check(found)
        assert ((found.matrix.to_dense() > 0) == (small.to_dense() > 0)).all()


@pytest.mark.parametrize("name", sorted(FAMILIES))
@given(data=st.data())
@settings(max_examples=15)
def test_a_grid_that_is_too_coarse_names_the_smallest_safe_one(name: str, data: Any) -> None:
    matrix = data.draw(FAMILIES[name])
    bits = data.draw(st.integers(1, 12))
    try:
        found = matrix.decompose(bits=bits)
    except ValueError as error:
        safe = int(re.findall("at least ([0-9]+) to keep", str(error))[0])
        if name == "kron" or safe > 53:
            return
        assert bits < safe
        with pytest.raises(ValueError, match="to keep every positive entry"):
            matrix.decompose(bits=safe - 1)
        found = matrix.decompose(bits=safe)
        bits = safe
    check(found)
    before, after = matrix.to_dense(), found.matrix.to_dense()
    assert ((before > 0) == (after > 0)).all()
    # A family is rounded inside its structure, so that one entry pays for a whole row.
    assert np.abs(before - after).max() <= matrix.size * 2.0**-bits


def test_composites_with_long_denominators_need_bits() -> None:
    m = bs.geometric(8, beta=0.5)
    for long in (m @ m, bs.mix([m, m @ m], weights=[0.5, 0.5])):
        with pytest.raises(ValueError, match=r"`bits` must be given for a .* reaches 2\^63"):
            long.decompose()
        check(long.decompose(bits=30))
    short = bs.mix([bs.uniform(3), bs.circulant([3, 1, 0])], weights=[0.5, 0.5])
    check(short.decompose())


@policies
def test_what_is_left_out_is_a_matrix(policy: str) -> None:
    matrices = [
        bs.dense(random_table(9)),
        bs.circulant([5, 2, 1, 1]),
        bs.uniform(6),
        bs.randomized_response(5, beta=0.5),
        bs.tridiagonal([0.1, 0.5, 0.2, 0.8]),
        bs.blocks([2, 3]),
        bs.kron(bs.circulant([2, 1]), bs.uniform(3)),
    ]
    for matrix in matrices:
        for options in ({"mass": 0.6}, {"max_terms": 2}, {"mass": 0.99, "max_terms": 3}):
            found = matrix.decompose(policy=policy, **options)
            assert found.residual is not None
            assert found.residual_weight == 1 - sum(found.exact_weights)
            rest = exact(found.residual)
            assert [
                [cell + found.residual_weight * more for cell, more in zip(row, left, strict=True)]
                for row, left in zip(added_up(found), rest, strict=True)
            ] == exact(matrix)
            assert found.terms <= options.get("max_terms", 10**9)
            if "max_terms" not in options:
                assert sum(found.exact_weights) >= Fraction(options["mass"])
                assert sum(found.exact_weights[:-1]) < Fraction(options["mass"])
    assert bs.uniform(6).decompose(mass=1.0, max_terms=6).residual is None


def ladder(rungs: int) -> NDArray[np.int64]:
    """Layers of two, each joined to the next: every path without marks is tried 2^rungs times."""
    size = 2 * rungs
    table = np.zeros((size, size), dtype=np.int64)
    u = np.arange(size)
    table[u, u] += 5
    table[u, u ^ 1] += 3
    table[u, (u + 2) % size] += 2
    table[u, ((u ^ 1) + 2) % size] += 1
    table[u, (u - 2) % size] += 4
    return table


@policies
def test_ladders_and_chains_are_no_trouble(policy: str) -> None:
    for table in (ladder(47), ladder(150)):
        found = bs.dense(table).decompose(policy=policy)
        assert np.array_equal(found.reconstruct(), found.matrix.to_dense())
        assert sum(found.exact_weights) == 1
    # A band as the search sees it, not by its closed form.
    band = bs.dense(bs.tridiagonal(0.3, size=400).to_dense())
    found = band.decompose(policy=policy)
    assert np.array_equal(found.reconstruct(), band.to_dense())
    assert found.terms <= 400


def test_singular_and_reducible_matrices_are_no_error() -> None:
    for table in ([[1]], [[1, 1], [1, 1]], np.kron(np.eye(3, dtype=int), [[1, 2], [2, 1]])):
        check(bs.dense(table).decompose())
        check(bs.dense(table).decompose(policy="any"))


def child(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_the_terms_do_not_depend_on_the_threads() -> None:
    code = (
        "import hashlib, numpy as np, bistochastic as bs; r = np.random.default_rng(5);"
        "ms = [bs.balance(r.random((n, n))) for n in (7, 24, 60)];"
        "block = np.zeros((80, 80), dtype=int); i = np.arange(40)\n"
        "for k in range(2):\n"
        "    for _ in range(30): block[40*k + i, 40*k + r.permutation(40)] += r.integers(1, 999)\n"
        "    s = block[40*k].sum(); block[40*k + i, 40*k + i] += 20_000 - s\n"
        "ms.append(bs.dense(block)); h = hashlib.sha256()\n"
        "for o in ({}, {'bits': 40, 'restarts': 6}, {'policy': 'any'}):\n"
        "    for d in bs.decompose_all(ms, **o) + [m.decompose(**o) for m in ms]:\n"
        "        h.update(d.weights.tobytes() + d.permutations.tobytes())\n"
        "print(h.hexdigest())"
    )
    assert len({child(code, BISTOCHASTIC_THREADS=n) for n in ("1", "2", "5")}) == 1


def test_all_at_once_is_one_by_one() -> None:
    matrices = [bs.dense(random_table(n, n)) for n in (3, 8, 15)] + [bs.uniform(4)]
    for together, matrix in zip(bs.decompose_all(matrices, bits=20), matrices, strict=True):
        alone = matrix.decompose(bits=20)
        assert together.exact_weights == alone.exact_weights
        assert np.array_equal(together.permutations, alone.permutations)
    assert bs.decompose_all([]) == []
    assert [d.terms for d in bs.decompose_all(iter(matrices), max_terms=2)] == [2] * 4


def test_progress_is_told_and_may_stop_the_work() -> None:
    matrix = bs.dense(random_table(300))
    shares: list[float] = []
    found = matrix.decompose(progress=shares.append)
    assert sum(found.exact_weights) == 1
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)
    seen: list[float] = []
    bs.uniform(3).decompose(progress=seen.append)
    assert seen == [1.0]

    class EnoughError(Exception):
        pass

    def stop(share: float) -> None:
        raise EnoughError

    for policy in POLICIES:
        with pytest.raises(EnoughError):
            matrix.decompose(policy=policy, restarts=40, progress=stop)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send to oneself")
def test_ctrl_c_stops_the_work() -> None:
    code = (
        "import os, signal, threading, numpy as np, bistochastic as bs;"
        "m = bs.balance(np.random.default_rng(1).random((500, 500)));"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    m.decompose(restarts=10_000)\n"
        "    print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    assert child(code) == "stopped"


def test_samples_have_the_matrix_as_marginals() -> None:
    # False alarm below 1e-6 a cell by Hoeffding: 2 exp(-2 n t^2) with n = 4000, t = 0.045.
    table = np.array([[6, 2, 1, 0], [1, 5, 0, 3], [2, 0, 4, 3], [0, 2, 4, 3]])
    matrix = bs.dense(table)
    words = np.random.default_rng(2024).bytes(4000 * 512)
    seen = np.zeros((4, 4))
    for i in range(4000):
        sample = _core._sample_permutation(matrix, words[512 * i : 512 * (i + 1)])
        seen[np.arange(4), sample] += 1
    assert np.abs(seen / 4000 - matrix.to_dense()).max() < 0.045
    assert (seen[table == 0] == 0).all()
    big = bs.dense(random_table(300))
    sample = _core._sample_permutation(big, np.random.default_rng(1).bytes(10**6))
    assert sorted(sample.tolist()) == list(range(300))
    with pytest.raises(ValueError, match="`stream` must hold enough words"):
        _core._sample_permutation(matrix, b"")
    with pytest.raises(ValueError, match="`size` must be at most 4096 to draw"):
        _core._sample_permutation(bs.tridiagonal(0.2, size=5000), b"")


def test_terms_are_drawn_by_their_weights() -> None:
    # False alarm below 1e-6 a term, as above.
    stream = np.random.default_rng(7).bytes(10**5)
    for matrix in (
        bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
        bs.randomized_response(4, beta=0.7),
        bs.blocks([2, 3, 5]),
        bs.kron(bs.circulant([2, 1]), bs.blocks([1, 2])),
    ):
        found = matrix.decompose()
        drawn = np.bincount(_core._draw_terms(found, 4000, stream), minlength=found.terms)
        assert np.abs(drawn / 4000 - found.weights).max() < 0.045
    with pytest.raises(ValueError, match="`sample` must be asked of a decomposition"):
        _core._draw_terms(bs.uniform(5).decompose(max_terms=2), 1, stream)


loose: Any = bs
M = bs.uniform(3)
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"policy": "best"}, ValueError, '`policy` must be "bottleneck" or "any"; got "best"'),
    ({"bits": 0}, ValueError, "`bits` must be a whole number from 1 to 53; got 0"),
    ({"bits": 54}, ValueError, "`bits` must be a whole number from 1 to 53; got 54"),
    ({"bits": 1.5}, TypeError, "`bits` must be a whole number"),
    ({"bits": 1}, ValueError, "`bits` must be at least 2 to keep every positive entry; got 1"),
    ({"mass": 0}, ValueError, "`mass` must be above 0 and at most 1; got 0"),
    ({"mass": 1.1}, ValueError, "`mass` must be above 0 and at most 1; got 1.1"),
    ({"mass": float("nan")}, ValueError, "`mass` must be above 0 and at most 1; got NaN"),
    ({"max_terms": 0}, ValueError, "`max_terms` must be a whole number from 1 to 2^64 - 1; got 0"),
    ({"restarts": 0}, ValueError, "`restarts` must be a whole number from 1 to 65536; got 0"),
    ({"progress": 3}, TypeError, "`progress` must be a function"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_options_get_one_sentence(case: int) -> None:
    options, kind, text = BAD[case]
    for call in (M.decompose, lambda **o: bs.decompose_all([M], **o)):
        with pytest.raises(kind) as raised:
            call(**options)
        assert text in str(raised.value)


def test_bad_requests_get_one_sentence() -> None:
    found = M.decompose()
    with pytest.raises(IndexError, match="`j` must be a whole number from 0 to 2; got 3"):
        found.permutation(3)
    with pytest.raises(IndexError, match="`j` must be a whole number from 0 to 2; got -1"):
        _ = found[-1]
    with pytest.raises(TypeError, match=r"`matrices` must be matrices, .*; got int"):
        loose.decompose_all([M, 3])
    with pytest.raises(TypeError, match=r"`matrices` must be matrices, .*; got Matrix"):
        loose.decompose_all(M)
    with pytest.raises(ValueError, match="`size` must be at most 65536 to decompose a geometric"):
        bs.geometric(70_000, temperature=2).decompose()
    with pytest.raises(ValueError, match="`permutations` must fit in"):
        _ = bs.uniform(2**40).decompose().permutations
    with pytest.raises(ValueError, match="`classes` must have distinct sizes"):
        bs.blocks([2**40, 2**41]).decompose()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["decompose", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_files_are_decomposed_on_the_command_line(tmp_path: Path) -> None:
    table = np.array([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
    np.savetxt(tmp_path / "m.csv", table, "%d", ",")
    np.save(tmp_path / "m.npy", table)
    entries = "".join(f"{u + 1} {v + 1} {x}\n" for (u, v), x in np.ndenumerate(table))
    header = "%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 9\n"
    (tmp_path / "m.mtx").write_text(header + entries)
    listed = "\n".join(str(x) for x in table.T.flat)
    array = f"%%MatrixMarket matrix array integer general\n3 3\n{listed}\n"
    (tmp_path / "a.mtx").write_text(array)
    want = bs.dense(table).decompose()
    for name in ("m.csv", "m.npy", "m.mtx", "a.mtx"):
        out = tmp_path / f"{name}.npz"
        code, text = run(str(tmp_path / name), "--out", str(out))
        assert code == 0, text
        assert "4 terms" in text
        assert "the terms to the matrix, exactly" in text
        with np.load(out) as arrays:
            assert np.array_equal(arrays["permutations"], want.permutations)
            assert np.array_equal(arrays["weights"], want.weights)
            exactly = zip(arrays["numerators"], arrays["denominators"], strict=True)
            assert [Fraction(int(n), int(d)) for n, d in exactly] == want.exact_weights
    code, text = run(str(tmp_path / "m.csv"), "--out", str(tmp_path / "terms.csv"), "--top", "1")
    lines = (tmp_path / "terms.csv").read_text().splitlines()
    assert lines[:2] == ["weight,exact,0,1,2", "0.5,1/2,0,1,2"]
    assert len(lines) == 5
    code, text = run("tridiagonal alphas=0.3 size=12", "--mass", "0.5")
    assert code == 0
    assert "left out: 0.3 of the whole" in text


def test_files_that_are_no_bistochastic_matrix_are_explained(tmp_path: Path) -> None:
    def refused(name: str, text: str, *more: str) -> str:
        (tmp_path / name).write_text(text)
        code, output = run(str(tmp_path / name), *more)
        assert code == 1
        return output

    assert "9 in row 2, off by 1" in refused("a.csv", "5,2,1\n1,4,3\n2,2,5\n")
    assert "7 in column 0, off by -1" in refused("b.csv", "5,2,1\n1,4,3\n1,2,5\n")
    assert "a sum of 0.9 in row 1, off by -1.0e-1" in refused("c.csv", "0.5,0.5\n0.5,0.4\n")
    start = "%%MatrixMarket matrix coordinate "
    assert "begin with a Matrix Market header" in refused("a.mtx", "1 2 3\n")
    assert "be real or integer or pattern; got complex" in refused(
        "b.mtx", start + "complex general\n"
    )
    assert "be square; got 2 x 3" in refused("c.mtx", start + "real general\n2 3 1\n1 1 1\n")
    assert "hold 2 entries; got 1" in refused("d.mtx", start + "real general\n1 1 2\n1 1 1\n")
    assert "one that is not in line 3" in refused("e.mtx", start + "real general\n1 1 1\n1 2 1\n")
    assert "one that is not in line 3" in refused("f.mtx", start + "real general\n1 1 1\n1 1 x\n")
    assert "`out` must end in .npz, .csv; got .txt" in refused("d.csv", "1\n", "--out", "x.txt")
    code, text = run(str(tmp_path / "nothing.mtx"))
    assert code == 1
    assert "must be a file; got none there" in text


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
