"""Calls of ``decompose``: options, progress, threads, interrupts, bad input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from cases import child
from sums import added_up, check, exact, random_table


def test_what_is_left_out_is_a_matrix() -> None:
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
            found = matrix.decompose(**options)
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


def test_the_terms_do_not_depend_on_the_threads() -> None:
    code = (
        "import hashlib, numpy as np, bistochastic as bs; r = np.random.default_rng(5);"
        "ms = [bs.balance(r.random((n, n))) for n in (7, 24, 60)];"
        "block = np.zeros((80, 80), dtype=int); i = np.arange(40)\n"
        "for k in range(2):\n"
        "    for _ in range(30): block[40*k + i, 40*k + r.permutation(40)] += r.integers(1, 999)\n"
        "    s = block[40*k].sum(); block[40*k + i, 40*k + i] += 20_000 - s\n"
        "ms.append(bs.dense(block)); h = hashlib.sha256()\n"
        "wide = np.zeros((600, 600), dtype=int); i = np.arange(600)\n"
        "for _ in range(250): wide[i, r.permutation(600)] += r.integers(1, 1 << 40)\n"
        "for m in (bs.balance(r.random((300, 300))), bs.dense(wide)):\n"
        "    d = m.decompose(max_terms=60)\n"
        "    h.update(d.weights.tobytes() + d.permutations.tobytes())\n"
        "for o in ({}, {'restarts': 6}):\n"
        "    for d in bs.decompose_all(ms, **o) + [m.decompose(**o) for m in ms]:\n"
        "        h.update(d.weights.tobytes() + d.permutations.tobytes())\n"
        "print(h.hexdigest())"
    )
    assert len({child(code, BISTOCHASTIC_THREADS=n) for n in ("1", "2", "5")}) == 1


def test_messages_name_the_class_that_callers_see() -> None:
    found = bs.uniform(3).decompose()
    with pytest.raises(TypeError, match=r"^Decomposition\.permutation\(\) takes 1 positional"):
        found.permutation(0, 1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match=r"'bistochastic\.Decomposition'"):
        found.terms = 1  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"'bistochastic\.Matrix'"):
        found.matrix.beta = 1  # type: ignore[misc]


def test_all_at_once_is_one_by_one() -> None:
    matrices = [bs.dense(random_table(n, n)) for n in (3, 8, 15)] + [bs.uniform(4)]
    for together, matrix in zip(bs.decompose_all(matrices, restarts=2), matrices, strict=True):
        alone = matrix.decompose(restarts=2)
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

    with pytest.raises(EnoughError):
        matrix.decompose(restarts=40, progress=stop)


M = bs.uniform(3)
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"mass": 0}, ValueError, "`mass` must be above 0 and at most 1; got 0"),
    ({"mass": 1.1}, ValueError, "`mass` must be above 0 and at most 1; got 1.1"),
    ({"mass": float("nan")}, ValueError, "`mass` must be above 0 and at most 1; got NaN"),
    ({"max_terms": 0}, ValueError, "`max_terms` must be an integer from 1 to 2^64 - 1; got 0"),
    ({"restarts": 0}, ValueError, "`restarts` must be an integer from 1 to 65536; got 0"),
    ({"progress": 3}, TypeError, "`progress` must be a function"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_options_get_one_sentence(case: int) -> None:
    options, kind, text = BAD[case]
    for call in (M.decompose, lambda **o: bs.decompose_all([M], **o)):
        with pytest.raises(kind) as raised:
            call(**options)
        assert text in str(raised.value)


def test_composites_with_long_denominators_are_refused() -> None:
    m = bs.geometric(8, beta=0.5)
    for long in (m @ m, bs.mix([m, m @ m], weights=[0.5, 0.5])):
        with pytest.raises(
            ValueError, match=r"`matrix` must have a common denominator below 2\^63"
        ):
            long.decompose()
        check(bs.dense(long.to_dense()).decompose())
    short = bs.mix([bs.uniform(3), bs.circulant([3, 1, 0])], weights=[0.5, 0.5])
    check(short.decompose())
