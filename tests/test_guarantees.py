"""Definitions 1 to 3: bits, beta and epsilon of one column, of several and of a joint domain."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import bistochastic as bs
from bistochastic.errors import Refused, RefusedType


def some_matrix(pair: tuple[int, float]) -> bs.Matrix:
    return bs.randomized_response(pair[0], beta=pair[1])


columns = st.lists(
    st.tuples(st.integers(2, 9), st.floats(0.01, 1)).map(some_matrix), min_size=2, max_size=6
)


def true_bits(m: bs.Matrix) -> Any:
    """H(P) of the paper, from the exact fractions and to 50 digits."""
    terms = [p for u in range(m.size) for p in m.exact_row(u) if p]
    return -sum(_real(p) * mp.log(_real(p), 2) for p in terms) / m.size


def true_epsilon(m: bs.Matrix) -> Any:
    rows = [m.exact_row(u) for u in range(m.size)]
    return mp.log(_real(max(max(column) / min(column) for column in zip(*rows, strict=True))))


def _real(p: Fraction) -> Any:
    return mp.mpf(p.numerator) / p.denominator


def test_one_matrix_is_definition_1_with_its_own_numbers() -> None:
    for m in (bs.randomized_response(12, beta=0.6), bs.k_anonymous(12, k=3), bs.uniform(7)):
        g = bs.guarantee(m)
        assert g == bs.guarantee([m])
        assert (g.definition, g.over, g.individuals) == (1, "categories", None)
        assert (g.bits, g.beta, g.epsilon) == (m.entropy_rate, m.beta, m.epsilon)
        assert g.max_bits == pytest.approx(math.log2(m.size), rel=1e-15)


@given(matrices=columns)
def test_several_matrices_are_definition_2_and_never_overstate(matrices: list[bs.Matrix]) -> None:
    g = bs.guarantee(matrices)
    with mp.workdps(50):
        bits = sum(true_bits(m) for m in matrices)
        most = sum(mp.log(m.size, 2) for m in matrices)
        epsilon = sum(true_epsilon(m) for m in matrices)
        assert g.definition == 2
        assert mp.mpf(g.bits) <= bits
        # The ratio of two rounded numbers that are equal may be below 1.
        assert mp.mpf(g.beta) <= bits / most + mp.mpf(10) ** -45
        assert mp.mpf(g.epsilon) >= epsilon
        for found, exact in ((g.bits, bits), (g.beta, bits / most), (g.epsilon, epsilon)):
            assert abs(found - exact) < 1e-12 * max(1, abs(exact))
    assert min(m.beta for m in matrices) <= g.beta <= max(m.beta for m in matrices)


@given(matrices=columns)
def test_sums_are_rounded_by_fractions(matrices: list[bs.Matrix]) -> None:
    g = bs.guarantee(matrices)
    bits = sum(Fraction(m.entropy_rate) for m in matrices)
    epsilon = sum(Fraction(m.epsilon) for m in matrices)
    assert Fraction(g.bits) <= bits < Fraction(math.nextafter(g.bits, math.inf))
    assert Fraction(math.nextafter(g.epsilon, -math.inf)) < epsilon <= Fraction(g.epsilon)


@given(matrices=columns)
def test_definition_2_is_definition_3_for_the_product(matrices: list[bs.Matrix]) -> None:
    apart, joint = bs.guarantee(matrices), bs.guarantee(bs.kron(*matrices))
    assert (apart.definition, joint.definition) == (2, 3)
    for name in ("bits", "max_bits", "beta", "epsilon"):
        assert getattr(apart, name) == pytest.approx(getattr(joint, name), rel=1e-12, abs=1e-11)


def test_any_matrix_may_be_said_to_be_joint() -> None:
    m = bs.randomized_response(6, epsilon=1)
    said = bs.guarantee(m, joint=True)
    assert said == dataclasses.replace(bs.guarantee(m), definition=3)
    # Beside other columns it is one of several.
    assert bs.guarantee([bs.kron(m, m), m]).definition == 2


def test_perfect_secrecy_is_1_and_nothing_hidden_is_0() -> None:
    secret = bs.guarantee([bs.uniform(n) for n in (3, 7, 11, 13)])
    assert (secret.beta, secret.epsilon) == (1.0, 0.0)
    clear = bs.guarantee([bs.identity(3), bs.identity(5)])
    assert (clear.bits, clear.beta, clear.epsilon) == (0.0, 0.0, math.inf)
    one = bs.guarantee([bs.uniform(1), bs.uniform(1)])
    assert (one.bits, one.max_bits, one.beta) == (0.0, 0.0, 1.0)


def test_categories_and_individuals_are_two_headlines() -> None:
    sex, moved = bs.randomized_response(2, beta=0.6), bs.k_anonymous(1000, k=10)
    both = bs.guarantee([sex], individuals=[moved])
    assert dataclasses.replace(both, individuals=None) == bs.guarantee(sex)
    assert both.individuals is not None
    assert both.individuals == bs.guarantee((), individuals=moved)
    assert both.individuals.over == "individuals"
    assert both.individuals.beta == moved.beta
    assert both.individuals.epsilon == math.inf
    assert bs.guarantee((), individuals=[moved, moved]).definition == 2


def test_a_kron_over_records_is_one_column() -> None:
    m = bs.kron(bs.uniform(3), bs.k_anonymous(4, k=2))
    assert bs.guarantee((), individuals=m).definition == 1


def test_a_mixture_over_records_hides_what_its_weakest_component_hides() -> None:
    weak = bs.k_anonymous(12, k=2)
    mixed = bs.mix([weak, bs.uniform(12)], weights=[Fraction(1, 2), Fraction(1, 2)])
    g = bs.guarantee((), individuals=mixed)
    assert g.beta == weak.beta < mixed.beta
    assert Fraction(g.bits) <= Fraction(weak.beta) * Fraction(mixed.max_bits)
    # A category is drawn for each record, so there the mixture counts.
    assert bs.guarantee(mixed).bits == mixed.entropy_rate


def test_padding_is_not_counted() -> None:
    m = bs.difference_set(28, epsilon=1)
    assert m.padding > 0
    assert bs.guarantee(m).max_bits == pytest.approx(math.log2(m.size - m.padding))


def test_a_guarantee_may_stand_for_its_column() -> None:
    a, b = bs.randomized_response(3, beta=0.5), bs.geometric(9, beta=0.7)
    assert bs.guarantee([bs.guarantee(a), b]) == bs.guarantee([a, b])
    three = bs.guarantee([a, b, a])
    assert bs.guarantee([bs.guarantee([a, b]), a]).bits == pytest.approx(three.bits)
    moved = bs.guarantee((), individuals=bs.uniform(9))
    assert bs.guarantee(a, individuals=moved).individuals == moved


def test_guarantees_are_frozen_and_say_their_numbers_rounded() -> None:
    g = bs.guarantee([bs.randomized_response(3, beta=2 / 3), bs.uniform(3)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        g.beta = 1.0  # type: ignore[misc]
    assert isinstance(g, bs.Guarantee)
    assert "Definition 2 over categories" in repr(g)
    assert "beta 0.833333" in repr(g)
    assert "\n<Guarantee by Definition 1 over individuals" in repr(
        bs.guarantee(g, individuals=bs.uniform(4))
    )


M = bs.uniform(3)
state: Any = bs.guarantee


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: state([]), Refused,
         "`matrices` must hold a matrix, unless there are `individuals`; got none"),
        (lambda: state(3), RefusedType,
         "`matrices` must be a matrix, or a list of them; got int"),
        (lambda: state([M, 0.6]), RefusedType, "`matrices` must hold matrices; got float"),
        (lambda: state(M, individuals=["x"]), RefusedType,
         "`individuals` must hold matrices; got str"),
        (lambda: state([M, M], joint=True), Refused,
         "`joint` must go with one matrix; got 2"),
        (lambda: state((), individuals=M, joint=True), Refused,
         "`joint` must go with one matrix; got 0"),
        (lambda: state(bs.guarantee((), individuals=M)), Refused,
         "`matrices` must be over categories; got a guarantee over individuals"),
        (lambda: state(bs.guarantee(M, individuals=M)), Refused,
         "`matrices` must be over categories; got a guarantee over individuals"),
        (lambda: state((), individuals=bs.guarantee(M)), Refused,
         "`individuals` must be over individuals; got a guarantee over categories"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(call: Any, kind: type, sentence: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence
