"""The paper's statements, the demo and the command line, as a user sees them."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import bistochastic as bs
import recompute as paper
import reference


def test_seven_cells_follow_from_the_text_and_five_have_another_reading() -> None:
    cells = paper.table1()
    assert [round(100 * cell.implied, 3) for cell in cells] == [
        16.762, 60.297, 97.411, 27.894, 44.211, 72.106,
        23.611, 40.614, 39.892, 22.732, 65.683, 97.336,
    ]  # fmt: skip
    wrong = [cell for cell in cells if not cell.agrees]
    assert [cell.parameter for cell in wrong] == [
        "k = 3", "alpha = 0.3", "p11 = 0.9", "p11 = 0.6", "p11 = 0.2",
    ]  # fmt: skip
    for cell in wrong:
        assert cell.reading
        assert round(100 * cell.read) == cell.printed
    for cell in cells:
        assert cell.agrees == (not cell.reading)


def test_the_page_is_what_is_computed_now() -> None:
    page = Path(__file__).parents[2] / "docs" / "explanation" / "paper.md"
    assert page.read_text(encoding="utf-8") == paper.markdown() + "\n", "run `make paper`"


SECTIONS = (
    "Abstract and 1 Introduction", "2 Connections", "2.1 Permutations", "2.2 Differential privacy",
    "2.3 k-anonymity", "3 Majorization and entropy", "3.1 One attribute", "3.2 Several attributes",
    "4 Parameters", "5 Conclusions", "A.1 Randomized response", "A.2 The permutation model",
    "A.3 Information theory",
)  # fmt: skip


def test_every_section_has_verdicts_and_each_is_one_of_three() -> None:
    _, *sections = re.split(r"^## ", paper.markdown(), flags=re.M)
    assert tuple(section.splitlines()[0] for section in sections) == SECTIONS
    verdicts = Counter[str]()
    for section in sections:
        _, rows = section.split("| the paper says | verdict | what holds |\n|---|---|---|\n")
        listed = [row.split(" | ") for row in rows.split("\n\n")[0].splitlines()]
        assert len(listed) >= 2, section
        for _, verdict, holds in listed:
            # A statement that does not hold as printed has a reason.
            assert verdict == "as printed" or len(holds) > 15, holds
            verdicts[verdict] += 1
    assert set(verdicts) == {"as printed", "corrected", "refused"}
    assert verdicts.total() > 110


def test_a_covariance_shrinks_to_the_number_of_the_page() -> None:
    matrix = bs.randomized_response(12, epsilon=1)
    rng, scores = np.random.default_rng(5), np.arange(12.0)
    joint = rng.random((12, 3))
    joint /= joint.sum()

    def covariance(table: Any) -> float:
        other = np.array([1.0, 4.0, 9.0])
        mean = (scores @ table.sum(axis=1)) * (other @ table.sum(axis=0))
        return float(scores @ table @ other - mean)

    shrunk = covariance(matrix.to_dense().T @ joint) / covariance(joint)
    assert f"shrinks to {shrunk:.3f} of its size" in paper.markdown()
    assert shrunk == pytest.approx((math.e - 1) / (11 + math.e), abs=1e-12)


def test_numbers_inside_sentences() -> None:
    text = paper.markdown()
    e = math.e
    # One record of 12 stays at epsilon 2, all of 1,000 of 3, and what 1% becomes.
    assert f"twelve categories it is {e**2 / (11 + e**2):.4f}" in text
    assert f"10^{1000 * math.log10(e**2 / (2 + e**2)):.0f}" in text
    assert f"at most {e**2 / (99 + e**2):.2%}" in text
    draws = list(itertools.product(range(3), repeat=3))
    share = Fraction(sum(len(set(draw)) == 3 for draw in draws), len(draws))
    assert f"with probability {share}." in text
    assert f"infinity to {math.log(((1 - 12e-6) / 3 + 1e-6) / 1e-6):.1f}" in text
    two, kept = np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([8, 1]) / 9
    assert kept @ two == pytest.approx(kept)
    start = np.array([0.5, 0.5])
    falls = [float(p @ np.log2(p / kept)) for p in (start, start @ two)]
    assert f"falls from {falls[0]:.4f} to {falls[1]:.4f} bits" in text
    assert "two categories 0.26 " in text
    circulant = [sum(row) / 10 for row in (
        (120, 31, 54, 180), (40, 186, 54, 90), (20, 62, 324, 90), (20, 31, 108, 540),
    )]  # fmt: skip
    assert f"become {', '.join(f'{each:g}' for each in circulant)}, and none" in text
    condition = (11 + e) / (e - 1)
    assert f"has {condition:.2f}, and three such columns {condition**3:.0f}" in text
    assert f"have {12**10:,} joint categories" in text
    bits_of_response = float(bits(e / (11 + e), *[1 / (11 + e)] * 11))
    assert f"{math.log2(12) - bits_of_response:.3f} of 3.585 bits" in text


def test_a_sum_of_costs_has_a_product_as_its_best_matrix() -> None:
    first, second = (np.abs(np.subtract.outer(range(n), range(n))) for n in (3, 2))
    whole = (first[:, None, :, None] + second[None, :, None, :]).reshape(6, 6)
    parts = bs.kron(bs.gibbs(first, temperature=1), bs.gibbs(second, temperature=1))
    assert bs.gibbs(whole, temperature=1).to_dense() == pytest.approx(parts.to_dense(), abs=1e-12)


def bits(*shares: Any) -> Any:
    """Entropy in bits with 50 digits."""
    return -sum(share * mpmath.log(share, 2) for share in shares if share)


@pytest.fixture
def fifty_digits() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


@pytest.mark.usefixtures("fifty_digits")
def test_the_twelve_cells_are_those_of_fifty_digit_arithmetic() -> None:
    mpf, top = mpmath.mpf, mpmath.log(12, 2)

    def response(keep: Any, lie: Any) -> Any:
        return bits(keep, *[lie] * 11)

    def step(alpha: Any) -> Any:
        return (2 * bits(alpha, 1 - alpha) + 10 * bits(alpha, alpha, 1 - 2 * alpha)) / 12

    def private(epsilon: int) -> Any:
        return response(mpmath.exp(epsilon) / (11 + mpmath.exp(epsilon)),
                        1 / (11 + mpmath.exp(epsilon)))  # fmt: skip

    tenth = mpf(1) / 10
    implied = [
        *(private(epsilon) for epsilon in (5, 3, 1)),
        *(mpmath.log(k, 2) for k in (2, 3, 6)),
        *(step(n * tenth) for n in (1, 3, 4)),
        *(response(n * tenth, (1 - n * tenth) / 11) for n in (9, 6, 2)),
    ]
    read = implied.copy()
    read[4], read[7] = mpmath.log(4, 2), step(2 * tenth)
    read[9:] = [response(n * tenth, (1 - n * tenth) / 12) for n in (9, 6, 2)]
    for cell, exact, other in zip(paper.table1(), implied, read, strict=True):
        assert cell.implied == pytest.approx(float(exact / top), abs=1e-12)
        assert cell.read == pytest.approx(float(other / top), abs=1e-12)
    ends = (mpf("0.334"), mpf("0.49"))
    peak = mpmath.findroot(lambda a: mpmath.diff(step, a), ends, solver="anderson")
    assert paper.peak_alpha() == pytest.approx(float(peak), abs=1e-12)
    assert f"{paper.peak_alpha():.4f}" == "0.3406"
    assert paper.peak_alpha(4) == pytest.approx(0.363, abs=5e-4)


def test_the_decompositions_of_section_2_2() -> None:
    strict, lax, swapped, classes = paper.decompositions()
    e2 = math.exp(2)
    assert strict.weights == classes.weights == (Fraction(1, 3),) * 3
    assert [float(w) for w in lax.weights] == pytest.approx(
        [e2 / (2 + e2), 1 / (2 + e2), 1 / (2 + e2)], abs=1e-15
    )
    assert [float(w) for w in swapped.weights] == pytest.approx(
        [(e2 - 1) / (2 + e2), *[1 / (2 + e2)] * 3], abs=1e-15
    )
    for found in (strict, lax, swapped, classes):
        assert found.is_exact
        # Again, as a mixture in the core, which knows nothing of this page.
        mixed = bs.mix(
            [bs.permutation(targets) for targets in found.permutations], weights=found.weights
        )
        for u in range(found.matrix.size):
            assert mixed.exact_row(u) == found.matrix.exact_row(u)
    # The paper's matrices, its second and third term.
    assert strict.permutations == ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    wrong = lax._replace(weights=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
    assert not wrong.is_exact


def test_proposition_1_as_it_holds() -> None:
    odd, best, circulant, best3 = paper.proposition1()
    assert odd.epsilon == pytest.approx(math.log(1.25), abs=1e-15)
    assert odd.columns == pytest.approx((1.1, 0.9))
    assert (odd.trace, odd.most) == pytest.approx((1.1, 10 / 9))
    assert (best.epsilon, best.trace) == pytest.approx((math.log(1.25), 10 / 9))
    assert (circulant.epsilon, circulant.trace, circulant.most) == pytest.approx(
        (math.log(6), 1.8, 2.25)
    )
    assert best3.trace == pytest.approx(2.25)
    assert reference.epsilon(np.array([[0.6, 0.4], [0.5, 0.5]])) == pytest.approx(odd.epsilon)


def test_theorem_2_never_decreases() -> None:
    raised, flat, classes, moved, odd = paper.theorem2()
    assert raised.after == tuple(Fraction(n, 4) for n in (20, 15, 13))
    assert raised.bits == pytest.approx(
        (float(bits(8 / 12, 3 / 12, 1 / 12)), float(bits(5 / 12, 3.75 / 12, 3.25 / 12)))
    )
    assert flat.after == flat.before
    assert classes.after == classes.before
    assert sorted(moved.after) == sorted(moved.before)
    assert moved.bits[0] == moved.bits[1]
    assert odd.bits == pytest.approx((1, float(bits(0.85, 0.15))))
    assert [spread.majorized for spread in paper.theorem2()] == [True] * 4 + [False]


def test_beta_is_an_average() -> None:
    def beta(size: int, clear: int) -> float:
        return (size - clear) / size * math.log(size - clear) / math.log(size)

    for clear in paper.average():
        assert clear.one == pytest.approx(beta(clear.size, 1), abs=1e-12)
        assert beta(clear.size, clear.many + 1) < 0.9 - 1e-6
        assert clear.many == 0 or beta(clear.size, clear.many) > 0.9 + 1e-6
    assert [(c.size, c.many) for c in paper.average()] == [(3, 0), (12, 0), (100, 8), (1000, 87)]
    assert [round(c.one, 3) for c in paper.average()][:3] == [0.421, 0.885, 0.988]


def test_proposition_2_and_definition_2_as_definition_3() -> None:
    mixed, secret, clear = paper.proposition2()
    # 2.161632683037008 bits at epsilon 3 and 2 bits for classes of 4.
    assert mixed.bits == pytest.approx(4.161632683037008, abs=1e-12)
    whole = np.kron(reference.randomized_response(12, 3), reference.blocks([4, 4, 4]))
    assert mixed.joint_bits == pytest.approx(
        reference.entropy_rate(np.asarray(whole, dtype=np.float64)), abs=1e-12
    )
    assert secret.joint_bits == pytest.approx(math.log2(36), abs=1e-12)
    assert clear.joint_bits / clear.joint_most == pytest.approx(
        math.log(1000) / math.log(2000), abs=1e-12
    )
    for joint in (mixed, secret, clear):
        assert joint.joint_most == pytest.approx(joint.most, abs=1e-12)


def test_proposition_3_is_strict_sufficient_and_no_condition() -> None:
    half, strict, barely, loose, response, moved = paper.proposition3()
    assert (half.least, half.rank, half.condition) == (0.5, 1, math.inf)

    # The eigenvalues of one alpha are 1 - 2 alpha (1 - cos(pi k / r)).
    def condition(alpha: float, size: int) -> float:
        values = [1 - 2 * alpha * (1 - math.cos(math.pi * k / size)) for k in range(size)]
        return max(map(abs, values)) / min(map(abs, values))

    assert strict.condition == pytest.approx(condition(0.2, 12), rel=1e-9)
    assert barely.condition == pytest.approx(condition(0.2499, 500), rel=1e-9)
    assert barely.least > 0.5
    assert loose.condition == pytest.approx(condition(0.4, 12), rel=1e-9)
    assert loose.condition == pytest.approx(141.73870135245127, rel=1e-9)
    assert loose.least < 0.5
    assert response.condition == pytest.approx((11 + math.e) / (math.e - 1), rel=1e-9)
    assert moved.condition == pytest.approx(1)
    assert [d.rank == d.size for d in paper.proposition3()] == [False] + [True] * 5


@pytest.mark.usefixtures("fifty_digits")
def test_filling_zeros_gives_a_beta_above_one_and_mixing_does_not() -> None:
    top, tenth = mpmath.log(1000, 2), mpmath.mpf(1) / 10
    for filling, exponent in zip(paper.fillings(), (None, 5, 4, 3), strict=True):
        gamma = mpmath.mpf(10) ** -exponent if exponent else mpmath.mpf(0)

        def rows(ends: list[Any], inner: list[Any]) -> Any:
            return (2 * bits(*ends) + 998 * bits(*inner)) / 1000 / top

        filled = rows([9 * tenth, tenth, *[gamma] * 998], [tenth, 8 * tenth, tenth, *[gamma] * 997])
        assert filling.beta == pytest.approx(float(filled), abs=1e-10)
        assert filling.row_sum == pytest.approx(float(1 + 998 * gamma), abs=1e-10)
        some = 1 - 1000 * gamma
        mixed = rows(
            [some * 9 * tenth + gamma, some * tenth + gamma, *[gamma] * 998],
            [*[some * tenth + gamma] * 2, some * 8 * tenth + gamma, *[gamma] * 997],
        )
        assert filling.mixed_beta == pytest.approx(float(mixed), abs=1e-10)
        if gamma:
            epsilon = mpmath.log((some * 9 * tenth + gamma) / gamma)
            assert filling.mixed_epsilon == pytest.approx(float(epsilon), abs=1e-9)
        else:
            assert filling.mixed_epsilon == math.inf
    assert [round(filling.beta, 3) for filling in paper.fillings()] == [0.092, 0.109, 0.225, 1.089]
    assert paper.fillings()[-1].mixed_beta == 1


def test_anatomy_is_as_sure_as_its_most_frequent_value() -> None:
    assert [(c.guess, c.pairings) for c in paper.anatomy()] == [
        (Fraction(1, 3), 6), (Fraction(2, 3), 3), (Fraction(1), 1),
    ]  # fmt: skip


def test_zeros_are_compatible_with_ergodicity() -> None:
    for chain, size in zip(paper.chains(), (0, 108, 110, 132, 132), strict=True):
        assert chain.zeros == size
        assert chain.stationary
    assert [chain.ergodic for chain in paper.chains()] == [True, False, True, False, False]
    # A matrix is ergodic if and only if its power r^2 - 2r + 2 is positive (Wielandt).
    for m, ergodic in ((bs.tridiagonal(0.1, size=12), True), (bs.k_anonymous(12, k=3), False)):
        power = np.linalg.matrix_power((m.to_dense() > 0).astype(object), 12 * 12 - 2 * 12 + 2)
        assert bool((power > 0).all()) == ergodic
    *_, moved, still = paper.chains()
    assert (moved.beta, moved.truthfulness, still.beta, still.truthfulness) == (0, 0, 0, 1)


def test_rows_keep_the_mean_of_the_product_and_columns_that_of_averages() -> None:
    product, skewed, averaged, scores = paper.means()
    assert product.before == product.after == skewed.after == Fraction(195, 4)
    assert averaged.after == 38
    assert (scores.before, scores.after) == (Fraction(5, 12), Fraction(41, 48))


def test_majorization_compares_sums_and_is_no_comparison_of_entropies() -> None:
    assert [order.cells[2:4] for order in paper.orders()] == [
        ("no", "yes"), ("no", "no"), ("yes", "yes"),
    ]  # fmt: skip
    _, incomparable, _ = paper.orders()
    assert not bs.theory.majorizes(incomparable.second, incomparable.first)
    assert incomparable.cells[4] > incomparable.cells[5]
    assert paper.sizes_of_expression_7() == (13, 12)
