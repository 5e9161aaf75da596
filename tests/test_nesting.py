"""Composites that are nested, and hold one matrix several times."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic import _core

ROWS = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]
MUST = r"`matrices` must be nested at most 16 deep, with at most 1024 matrices in all; got "


def squares(m: bs.Matrix, times: int) -> bs.Matrix:
    for _ in range(times):
        m = m @ m
    return m


def krons(m: bs.Matrix, times: int) -> bs.Matrix:
    for _ in range(times):
        m = bs.kron(m, m)
    return m


def mixtures(m: bs.Matrix, times: int) -> bs.Matrix:
    for _ in range(times):
        m = bs.mix([m, m @ m], weights=[0.25, 0.75])
    return m


SHARED: dict[str, Callable[[], bs.Matrix]] = {
    "squares": lambda: squares(bs.circulant([3, 2, 1]), 6),
    "squares on the grid": lambda: squares(bs.dense(np.array(ROWS)), 6),
    "squares too large to write down": lambda: squares(bs.tridiagonal(0.3, size=2000), 5),
    "as many squares as can be": lambda: squares(bs.dense(np.array(ROWS)), 9),
    "krons with a factor": lambda: bs.kron(bs.dense(np.array(ROWS)), krons(bs.uniform(1), 5)),
    "mixtures": lambda: mixtures(bs.dense(np.array(ROWS)), 3),
    "mixtures of large ones": lambda: mixtures(bs.tridiagonal(0.3, size=3000), 3),
}
shared = pytest.mark.parametrize("name", sorted(SHARED))


def refused(ask: Callable[[], Any]) -> str | None:
    """The sentence of a refusal, in our form."""
    try:
        ask()
        return None
    except ValueError as error:
        sentence = str(error)
    assert sentence.startswith("`"), sentence
    assert " must " in sentence, sentence
    return sentence


def test_deeper_nesting_is_refused() -> None:
    for join in (bs.kron, lambda m: bs.mix([m], weights=[1]), lambda m: m @ bs.identity(1)):
        m = bs.uniform(1)
        for _ in range(16):
            m = join(m)
        with pytest.raises(ValueError, match=MUST + "17 levels$"):
            join(m)


def test_more_matrices_are_refused() -> None:
    m = squares(bs.circulant([3, 2, 1]), 9)
    assert _core.parts_in(m) == 1023
    with pytest.raises(ValueError, match=MUST + "2047 matrices$"):
        m @ m
    each = [bs.uniform(2)] * 1023
    assert bs.kron(*each[:50]).beta == 1
    assert bs.mix(each, weights=[Fraction(1, 1023)] * 1023).beta == 1
    with pytest.raises(ValueError, match=MUST + "1025 matrices$"):
        bs.mix([*each, bs.uniform(2)], weights=[Fraction(1, 1024)] * 1024)


def test_rows_of_powers_are_exact() -> None:
    row = squares(bs.dense(np.array(ROWS)), 6).exact_row(0)
    assert sum(row) == 1
    assert max(p.denominator.bit_length() for p in row) > 200
    four = squares(bs.circulant([3, 2, 1]), 2)
    want = np.linalg.matrix_power(np.array([[3, 2, 1], [1, 3, 2], [2, 1, 3]], dtype=object), 4)
    assert four.exact_row(2) == [Fraction(int(n), 6**4) for n in want[2]]


@shared
def test_every_question_of_shared_parts_is_answered_or_refused(name: str) -> None:
    m, again = SHARED[name](), SHARED[name]()
    assert m == again
    assert hash(m) == hash(again)
    assert m.same_probabilities(again)
    for measure in ("entropy_rate", "beta", "epsilon", "truthfulness", "is_ergodic", "is_exact"):
        getattr(m, measure)
    assert repr(m) == repr(again)
    m.profile()
    u = np.full(m.size, 1 / m.size)
    for ask in (
        lambda: m.row(0).sum() == pytest.approx(1),
        lambda: m[0, 0],
        lambda: m.to_dense(),
        lambda: m.posterior(0),
        lambda: m.deniability(2),
        lambda: m.apply(u),
        lambda: m.solve(u),
        lambda: m.condition,
        lambda: m.joint_entropy,
        lambda: m.sample_permutation(),
        lambda: m.randomize([0, 0]),
        lambda: m.respond(0),
        lambda: m.decompose(),
        lambda: m.estimate(counts=u * 100),
        lambda: m.estimate(counts=u * 100, method="mle"),
        lambda: m.required_records(0.1),
    ):
        refused(ask)


@shared
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_short_and_share_as_before(name: str, protocol: int) -> None:
    m = SHARED[name]()
    text = pickle.dumps(m, protocol)
    assert len(text) < 200_000
    twin = pickle.loads(text)
    assert twin == m
    assert _core.parts_in(twin) == _core.parts_in(m)
    parts = twin.parameters["matrices"]
    assert _core.identity_of(parts[0]) == _core.identity_of(parts[-1]) or parts[0] != parts[-1]
    assert copy.deepcopy(m) == copy.copy(m) == m


def test_shared_parts_give_the_numbers_of_separate_ones() -> None:
    m = bs.dense(np.array(ROWS))
    nested, power = m, np.array(ROWS)
    for _ in range(3):
        nested = bs.mix([nested @ nested, nested], weights=[0.25, 0.75])
        power = 0.25 * power @ power + 0.75 * power
    assert np.abs(nested.to_dense() - power).max() < 1e-13
    assert nested.apply([1.0, 0.0, 0.0]) == pytest.approx(power[0], abs=1e-13)
    assert nested.posterior(1) == pytest.approx(power[:, 1], abs=1e-13)
    assert nested.condition == pytest.approx(np.linalg.cond(power), rel=1e-9)


def test_a_row_of_a_large_product_goes_through_its_factors_in_turn() -> None:
    n = 1100
    p, q = bs.tridiagonal(0.3, size=n), bs.circulant([2, 1] + [0] * (n - 2))
    for first, second in ((p, p), (q, q), (p, bs.mix([p, q], weights=[0.5, 0.5]))):
        m, want = first, second.row(3)
        for _ in range(6):
            m = second @ m
        for factor in [second] * 5 + [first]:
            want = factor.apply(want)
        assert m.row(3) == pytest.approx(want, abs=1e-15)
        assert m[3, 2] == pytest.approx(want[2], abs=1e-15)


@pytest.mark.parametrize(
    "m", [bs.geometric(8, temperature=0.01), bs.randomized_response(9, epsilon=800)], ids=repr
)
def test_a_power_beyond_roundings_is_applied_as_its_rows_say(m: bs.Matrix) -> None:
    # An eigenvalue next to 1 is 1 in doubles, and so were all of its powers.
    m = squares(m, 6)
    x = np.arange(float(m.size))
    assert np.allclose(m.apply(x), x @ m.to_dense(), rtol=0, atol=1e-9)
