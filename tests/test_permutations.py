"""Random permutations under a key: the same again, a stream of their own, the right marginals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from operator import contains
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import bistochastic as bs

KEY = bs.Key.from_bytes(bytes(range(32)))
MATRICES = [
    bs.randomized_response(5, epsilon=1),
    bs.tridiagonal(0.3, size=6),
    bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
    bs.blocks([2, 1, 3]),
    bs.kron(bs.circulant([3, 1, 1]), bs.uniform(2)),
    bs.mix([bs.geometric(4, beta=0.5), bs.permutation([1, 0, 3, 2])], weights=[0.7, 0.3]),
    bs.tridiagonal(0.2, size=4) @ bs.randomized_response(4, epsilon=2),
]
every = pytest.mark.parametrize("m", MATRICES, ids=repr)


@every
def test_a_key_gives_the_same_permutation_again(m: bs.Matrix) -> None:
    first = m.sample_permutation(key=KEY, stream="income")
    assert sorted(first.tolist()) == list(range(m.size))
    assert (m.sample_permutation(key=KEY, stream="income") == first).all()
    others = [m.sample_permutation(key=KEY, stream=f"other {i}") for i in range(30)]
    assert any((other != first).any() for other in others)


def test_classes_are_shuffled_in_themselves_at_any_size() -> None:
    m = bs.blocks(range(1, 100))
    drawn = m.sample_permutation(key=KEY, stream="classes")
    start = 0
    for n in range(1, 100):
        assert sorted(drawn[start : start + n].tolist()) == list(range(start, start + n))
        start += n
    assert sorted(bs.uniform(100_000).sample_permutation().tolist()) == list(range(100_000))


def test_other_decompositions_of_one_matrix_have_other_words() -> None:
    rng = np.random.default_rng(4)
    counts = np.zeros((4, 4), dtype=np.int64)
    for _ in range(6):
        counts[np.arange(4), rng.permutation(4)] += int(rng.integers(1, 9))
    m = bs.dense(counts)
    few, many = m.decompose(), m.decompose(restarts=2)
    a, b = (d.sample(2000, key=KEY, stream="x") for d in (few, many))
    # Independent draws agree as often as the weights say; the same words would tie them together.
    weights = {tuple(p): float(w) for w, p in few}
    expected = sum(float(w) * weights.get(tuple(p), 0.0) for w, p in many)
    agree = float((a == b).all(axis=1).mean())
    assert abs(agree - expected) < 6 * math.sqrt(max(expected, 0.01) / 2000)


def test_a_kron_of_long_factors_is_put_together_again() -> None:
    g = bs.randomized_response(3, epsilon=1)
    m = bs.kron(g, g, g)
    assert (m.decompose().reconstruct() == m.to_dense()).all()


@pytest.mark.parametrize("n", range(2, 25))
def test_mass_is_reached_exactly(n: int) -> None:
    from fractions import Fraction

    for m in (bs.uniform(n), bs.blocks([n, n + 1]), bs.randomized_response(n, keep=Fraction(1, 2))):
        for k in range(1, n):
            d = m.decompose(mass=k / n)
            weights = d.exact_weights
            assert sum(weights) >= Fraction(k / n) > sum(weights[:-1])


def test_a_residual_that_cannot_be_written_says_so() -> None:
    g = bs.randomized_response(3, epsilon=1)
    with pytest.raises(ValueError, match="`residual` must have a common denominator"):
        bs.kron(g, g).decompose(mass=0.5).residual  # noqa: B018


loose: Any = bs
D = bs.identity(2).decompose()
BIG = bs.geometric(5000, beta=0.5)
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).sample_permutation(key=KEY), ValueError, "`stream` must name"),
    (lambda: loose.uniform(3).sample_permutation(key=b"x"), TypeError, "`key` must be a Key"),
    (lambda: BIG.sample_permutation(), ValueError, "`size` must be at most 4096"),
    (lambda: D.sample(-1), ValueError, "`n` must be an integer"),
    (lambda: D.sample(1, key=KEY), ValueError, "`stream` must name"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


Law = dict[tuple[int, ...], Fraction]


def known_law(m: bs.Matrix) -> Law:
    """What is drawn, one by one, of matrices for which the scheme leaves no choice."""
    law: Law = {}
    if m.family in ("identity", "uniform", "blocks", "k_anonymous"):
        support = [np.flatnonzero(row).tolist() for row in m.to_dense()]
        orders = [
            s for s in itertools.permutations(range(m.size)) if all(map(contains, support, s))
        ]
        return dict.fromkeys(orders, Fraction(1, len(orders)))
    if m.family == "permutation":
        return {tuple(m.sample_permutation().tolist()): Fraction(1)}
    if m.family == "randomized_response":
        # Some are flagged, at random, and shuffled among themselves.
        flagged = 1 + m.size * (1 - Fraction(m.parameters["keep"]))
        fewer = math.floor(flagged)
        for s in itertools.permutations(range(m.size)):
            moved = sum(u != v for u, v in enumerate(s))
            for n, share in ((fewer, 1 - (flagged - fewer)), (fewer + 1, flagged - fewer)):
                if share and n >= moved:
                    sets = Fraction(math.comb(m.size - moved, n - moved), math.comb(m.size, n))
                    law[s] = law.get(s, Fraction(0)) + share * sets / math.factorial(n)
        return law
    if m.family == "tridiagonal":
        # Neighbours change places along the path.
        law = {(): Fraction(1)}
        alphas = [m.exact_row(i)[i + 1] for i in range(m.size - 1)]
        for before, alpha in itertools.pairwise([Fraction(0), *alphas]):
            longer: Law = {}
            for swaps, p in law.items():
                chance = Fraction(0) if swaps[-1:] == (1,) else alpha / (1 - before)
                longer |= {(*swaps, 0): p * (1 - chance), (*swaps, 1): p * chance}
            law = longer
        return law
    if m.family == "mix":
        for weight, part in zip(weights_of(m), m.parameters["matrices"], strict=True):
            for s, p in known_law(part).items():
                law[s] = law.get(s, Fraction(0)) + weight * p
        return law
    a, b = map(known_law, m.parameters["matrices"])
    for (s, p), (t, q) in itertools.product(a.items(), b.items()):
        if m.family == "kron":
            joint = tuple(len(t) * x + y for x in s for y in t)
        else:
            joint = tuple(t[x] for x in s)
        law[joint] = law.get(joint, Fraction(0)) + p * q
    return law


def weights_of(m: bs.Matrix) -> list[Fraction]:
    weights = [Fraction(w) for w in m.parameters["weights"]]
    return [w / sum(weights) for w in weights]


def bits(law: Law) -> float:
    assert sum(law.values()) == 1
    return math.fsum(-float(p) * math.log2(p) for p in law.values() if p)


def known(size: int) -> st.SearchStrategy[bs.Matrix]:
    """Matrices whose permutations are known one by one."""
    plain = st.one_of(
        st.builds(bs.k_anonymous, st.just(size), k=st.integers(1, size)),
        st.builds(bs.permutation, st.permutations(list(range(size)))),
    )
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(bs.Matrix.__matmul__, inner, inner),
            st.builds(lambda a, b, w: bs.mix([a, b], weights=[w, 1 - w]), inner, inner,
                      st.fractions(0, 1, max_denominator=9)),
        ),
        max_leaves=4,
    )  # fmt: skip


@given(data=st.data(), size=st.integers(1, 4))
def test_joint_entropy_is_never_above_what_is_drawn(data: st.DataObject, size: int) -> None:
    m = data.draw(known(size))
    found = m.joint_entropy
    assert found is not None
    assert found <= bits(known_law(m)) + 1e-12
    # One row's image is part of the permutation.
    assert found >= m.entropy_rate - 1e-12


@given(a=st.integers(1, 3), b=st.integers(1, 3), data=st.data())
def test_joint_entropy_of_classes_and_krons_is_that_of_what_is_drawn(
    a: int, b: int, data: st.DataObject
) -> None:
    one = bs.k_anonymous(a, k=data.draw(st.integers(1, a)))
    other = bs.permutation(data.draw(st.permutations(list(range(b)))))
    turns = bs.mix([other, bs.identity(b)], weights=[Fraction(1, 3), Fraction(2, 3)])
    for m in (one, turns, bs.kron(one, turns)):
        assert m.joint_entropy == pytest.approx(bits(known_law(m)), abs=1e-12)


def test_a_mixture_of_permutations_has_no_more_bits_than_terms_allow() -> None:
    shifts = [bs.permutation(np.roll(np.arange(8), j)) for j in (0, 1, 2, 3, 3)]
    m = bs.mix(shifts, weights=[Fraction(1, 4)] * 3 + [Fraction(1, 8)] * 2)
    assert m.joint_entropy == 2.0
    assert bs.mix(shifts[3:], weights=[Fraction(1, 2)] * 2).joint_entropy == 0.0


@pytest.mark.parametrize("size", [2, 3, 5])
def test_joint_entropy_of_flagged_sets_and_matchings(size: int) -> None:
    for keep in (Fraction(1), Fraction(1, 2), Fraction(1, size), Fraction(9, 10)):
        found, truth = (f(bs.randomized_response(size, keep=keep)) for f in (joint, known_bits))
        assert truth * 0.8 - 4 < found <= truth + 1e-9
        assert keep * size != 1 or found == pytest.approx(truth, abs=1e-9)
    for alphas in ([3, 3, 3, 3], [1, 4, 2, 0], [5]):
        m = bs.tridiagonal([Fraction(a, 10) for a in alphas])
        assert joint(m) == pytest.approx(known_bits(m), abs=1e-12)
    # A long vector is summed otherwise than one that is constant.
    long = bs.tridiagonal([Fraction(299, 1000), *[Fraction(3, 10)] * 2999])
    assert joint(long) == pytest.approx(joint(bs.tridiagonal(Fraction(3, 10), size=3001)), abs=0.01)


def joint(m: bs.Matrix) -> float:
    assert m.joint_entropy is not None
    return m.joint_entropy


def known_bits(m: bs.Matrix) -> float:
    return bits(known_law(m))


def test_joint_entropy_has_closed_forms() -> None:
    assert bs.identity(10**9).joint_entropy == 0
    assert bs.permutation([2, 0, 1]).joint_entropy == 0
    assert bs.uniform(5).joint_entropy == pytest.approx(math.log2(120), abs=1e-13)
    large = bs.uniform(10**6).joint_entropy
    assert large is not None
    assert large == pytest.approx(math.lgamma(10**6 + 1) / math.log(2), rel=1e-13)
    swap = bs.t_transform(9, 2, 5, keep=Fraction(1, 4))
    want = 2 - 0.75 * math.log2(3)
    assert swap.joint_entropy == pytest.approx(want, abs=1e-14)
    assert bs.randomized_response(2, keep=Fraction(1, 4)).joint_entropy == swap.joint_entropy


@every
def test_joint_entropy_is_at_least_that_of_a_row(m: bs.Matrix) -> None:
    assert m.joint_entropy is not None
    assert m.entropy_rate - 1e-12 <= m.joint_entropy <= math.log2(math.factorial(m.size))


def test_joint_entropy_is_not_said_where_no_permutation_is_drawn() -> None:
    large = bs.geometric(5000, beta=0.5)
    assert large.joint_entropy is None
    assert bs.kron(large, bs.uniform(2)).joint_entropy is None
    assert (large @ bs.uniform(5000)).joint_entropy is None


def test_joint_entropy_has_the_same_bits_every_time() -> None:
    rng = np.random.default_rng(1)
    targets = [rng.permutation(8).tolist() for _ in range(60)]
    weights = rng.random(60)
    weights /= weights.sum()
    found = {
        bs.mix([bs.permutation(t) for t in targets], weights=weights).joint_entropy
        for _ in range(8)
    }
    assert len(found) == 1


def test_terms_are_drawn_by_their_weights() -> None:
    # False alarm below 1e-6 a term by Hoeffding: 2 exp(-2 n t^2) with n = 4000, t = 0.045.
    for matrix in (
        bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
        bs.randomized_response(4, beta=0.7),
        bs.blocks([2, 3, 5]),
        bs.kron(bs.circulant([2, 1]), bs.blocks([1, 2])),
    ):
        found = matrix.decompose()
        term = {tuple(row): j for j, row in enumerate(found.permutations.tolist())}
        assert len(term) == found.terms
        sample = found.sample(4000, key=bs.Key.insecure(7), stream="terms").tolist()
        assert found.sample(4000, key=bs.Key.insecure(7), stream="terms").tolist() == sample
        assert found.sample(4000, key=bs.Key.insecure(7), stream="others").tolist() != sample
        drawn = np.bincount([term[tuple(row)] for row in sample], minlength=found.terms)
        assert np.abs(drawn / 4000 - found.weights).max() < 0.045
    with pytest.raises(ValueError, match="`sample` must be asked of a decomposition"):
        bs.uniform(5).decompose(max_terms=2).sample(1)
