"""Golden integers, published values, real data: numbers that must not move."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

import bistochastic as bs

VECTORS = {
    # (size, epsilon): beta of randomized response to 25 digits, computed with 40.
    (2, 0.1): "0.998198882907869745456365",
    (2, 10): "0.0007204495672012922796442908",
    (3, 1): "0.8877816489278940740425929",
    (12, 3): "0.6029721880220982122090793",
    (100, 5): "0.5454221098501553566506843",
    (1000, 10): "0.06922994749259989740465245",
}


def test_golden_laws() -> None:
    """The integers themselves; a change here goes under "Values" in the changelog."""
    total = 2**53
    assert bs.randomized_response(12, beta=0.6).parameters["keep"] == Fraction(
        5842025752088017, total
    )
    assert bs.randomized_response(3, epsilon=1).parameters["keep"] == Fraction(
        1297299893776619, total // 4
    )
    assert bs.randomized_response(10**7, epsilon=1).parameters["keep"] == Fraction(
        835723902779, 3074456951558260451
    )
    assert bs.circulant([0.1, 0.2, 0.7]).parameters == {
        "first_row": [900719925474099, 1801439850948199, 6305039478318694],
        "total": total,
    }
    assert bs.tridiagonal(0.3, size=12).parameters == {
        "alphas": 2702159776422298,
        "size": 12,
        "total": total,
    }
    assert bs.tridiagonal(size=12, beta=0.4).parameters["alphas"] == 2522612045534353
    assert bs.k_anonymous(12, beta=0.5).parameters == {"size": 12, "k": 4}


@pytest.mark.parametrize(("size", "epsilon"), sorted(VECTORS))
def test_randomized_response_matches_published_digits(size: int, epsilon: float) -> None:
    m = bs.randomized_response(size, epsilon=epsilon)
    with mp.workdps(30):
        # The realised law keeps at most epsilon, so its beta is above by what the grid costs.
        assert 0 <= mpf(m.beta) - mpf(VECTORS[size, epsilon]) + mpf(10) ** -16 <= mpf(10) ** -9


def shared(name: str) -> Path:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if not folder:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{name} is not in BISTOCHASTIC_DATA")
    return path


def test_reference_vectors() -> None:
    """All 30 betas of randomized response and the matrices of size 12, from the vectors' file."""
    vectors = json.loads(shared("../test_vectors.json").read_text())
    for name, digits in vectors["krr_beta"].items():
        size, epsilon = (float(part.split("=")[1]) for part in name.split(","))
        m = bs.randomized_response(int(size), epsilon=epsilon)
        assert m.beta == pytest.approx(float(digits), abs=1e-9)
    for name, want in vectors["r12"].items():
        kind, _, value = name.partition(" ")
        number = float(value.split("=")[1])
        m = {
            "dp": lambda x=number: bs.randomized_response(12, epsilon=x),
            "kanon": lambda x=number: bs.k_anonymous(12, k=int(x)),
            "tri": lambda x=number: bs.tridiagonal(x, size=12),
            "circ": lambda x=number: bs.circulant([x] + [(1 - x) / 11] * 11),
        }[kind]()
        assert m.entropy_rate == pytest.approx(want["bits"], abs=1e-12)
        assert m.beta == pytest.approx(want["beta"], abs=1e-12)
        assert m.truthfulness == pytest.approx(want["truthfulness"], abs=1e-12)
        assert m.epsilon == pytest.approx(float("inf") if want["eps"] is None else want["eps"])


def test_plain_arrays_have_the_entropy_of_their_matrix() -> None:
    for m in (
        bs.randomized_response(300, beta=0.7),
        bs.tridiagonal(0.3, size=257),
        bs.permutation(list(reversed(range(64)))),
        bs.uniform(128),
    ):
        p = m.to_dense()
        assert bs.entropy_rate(p) == pytest.approx(m.entropy_rate, abs=1e-12)
        assert bs.entropy_rate(np.asfortranarray(p)) == pytest.approx(m.entropy_rate, abs=1e-12)
        assert bs.entropy_rate(p[::-1, ::-1]) == pytest.approx(m.entropy_rate, abs=1e-12)
    assert bs.entropy_rate(np.eye(3, dtype=int)) == 0.0
    assert bs.entropy_rate([[0.5, 0.5], [0.5, 0.5]]) == 1.0


def test_long_vectors_are_measured_in_the_safe_direction() -> None:
    """Past the closed form (1024 numbers) the sum is bounded, not exact to the last bit."""
    rng = np.random.default_rng(1)
    with mp.workdps(40):
        for row in (rng.random(3000), rng.random(2000) ** 20, rng.integers(1, 10**9, 3000)):
            m = bs.circulant(row / row.sum() if row.dtype == float else row)
            exact = [Fraction(c, m.parameters["total"]) for c in m.parameters["first_row"]]
            numbers = [mpf(p.numerator) / p.denominator for p in exact if p]
            bits = -mp.fsum(p * mp.log(p, 2) for p in numbers)
            assert 0 <= bits - mpf(m.entropy_rate) <= mpf(10) ** -12
            beta = bits / mp.log(m.size, 2)
            assert 0 <= beta - mpf(m.beta) <= mpf(10) ** -12
        alphas = rng.random(3000) / 2
        t = bs.tridiagonal(alphas)
        counts, total = t.parameters["alphas"], t.parameters["total"]
        inner = [total - a - b for a, b in zip([0, *counts], [*counts, 0], strict=True)]
        numbers = [mpf(c) / total for c in (*counts, *counts, *inner) if c]
        bits = -mp.fsum(p * mp.log(p, 2) for p in numbers) / t.size
        assert 0 <= bits - mpf(t.entropy_rate) <= mpf(10) ** -12
