"""The strongest matrix whose estimates are within a tolerance."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

# Size, records, tolerance; the strongest beta of randomized response and of geometric.
STRONGEST = [
    (4, 4580, 0.03, 0.789215, 0.595409),
    (2, 1000, 0.05, 0.701686, 0.701686),
    (10, 10_000, 0.02, 0.737574, 0.438196),
]


@pytest.mark.parametrize(("size", "records", "tolerance", "response", "geometric"), STRONGEST)
def test_strongest_has_the_known_betas(
    size: int, records: int, tolerance: float, response: float, geometric: float
) -> None:
    found = {c.family: c for c in bs.strongest(size, records=records, tolerance=tolerance)}
    assert found["randomized_response"].beta == pytest.approx(response, abs=1e-6)
    assert found["geometric"].beta == pytest.approx(geometric, abs=1e-6)
    assert found["k_anonymous"].matrix is None
    assert "class totals only" in found["k_anonymous"].note
    # Closed form while the truth is likelier than not: a = z / (2 tolerance sqrt n).
    a = 1.959963984540054 / (2 * tolerance * math.sqrt(records))
    keep = a + (1 - a) / size
    matrix = found["randomized_response"].matrix
    assert matrix is not None
    assert matrix.truthfulness == pytest.approx(keep, abs=1e-9)


@pytest.mark.parametrize("family", ["randomized_response", "geometric", "tridiagonal",
                                    "difference_set", "gibbs"])  # fmt: skip
@pytest.mark.parametrize("size", [3, 8, 25])
def test_strongest_inverts_required_records(family: str, size: int) -> None:
    scale = np.arange(size)
    cost = abs(scale[:, None] - scale) ** 1.5 if family == "gibbs" else None
    records, tolerance = 20_000, 0.02
    (found,) = bs.strongest(size, records=records, tolerance=tolerance, family=family, cost=cost)
    m = found.matrix
    assert m is not None
    assert m.required_records(tolerance) == records
    # A hair more of beta, or less of epsilon, takes more records.
    if family == "difference_set":
        stronger = bs.difference_set(size, epsilon=m.epsilon * (1 - 1e-4))
    elif cost is not None:
        stronger = bs.gibbs(cost, beta=m.beta + 1e-4)
    elif family == "tridiagonal":
        stronger = bs.tridiagonal(size=size, beta=m.beta + 1e-4)
    else:
        stronger = bs.build(family, size=size, beta=m.beta + 1e-4)
    assert stronger.required_records(tolerance) > records


def test_tridiagonal_is_strongest_below_its_first_singular_alpha() -> None:
    # At beta .61 it needs 26 million records, at .6275 fewer than 30,000 again.
    assert bs.tridiagonal(size=4, beta=0.6275).required_records(0.03) < 30_000
    (found,) = bs.strongest(4, records=30_000, tolerance=0.03, family="tridiagonal")
    assert found.beta is not None
    assert found.beta < 0.61
    for beta in np.linspace(0.01, found.beta, 25):
        assert bs.tridiagonal(size=4, beta=float(beta)).required_records(0.03) <= 30_000


def test_strongest_reads_share_design_and_confidence() -> None:
    plain, rare, designed, sure = (
        bs.strongest(5, records=9000, tolerance=0.03, family="randomized_response", **more)[0]
        for more in ({}, {"share": 0.02}, {"design_effect": 2}, {"confidence": 0.99})
    )
    assert rare.matrix is not None
    lam = rare.matrix.apply([0.02, 0.98, 0, 0, 0])[0]
    diff = rare.matrix[0, 0] - rare.matrix[0, 1]
    error = 1.959963984540054 * math.sqrt(lam * (1 - lam) / 9000) / diff
    assert error == pytest.approx(0.03, rel=1e-6)
    half = bs.strongest(5, records=4500, tolerance=0.03, family="randomized_response")[0]
    assert designed.beta == half.beta
    assert plain.beta is not None
    assert sure.beta is not None
    assert sure.beta < plain.beta


def test_ordinal_costs_are_the_distances_of_codes() -> None:
    scale = np.arange(5)
    costs = ("ordinal", abs(scale[:, None] - scale))
    word, table = (bs.strongest(5, records=5000, tolerance=0.05, cost=cost) for cost in costs)
    assert [one.matrix for one in word] == [one.matrix for one in table]
    assert word[-1].family == "gibbs"
    assert word[-1].matrix is not None


def test_a_family_that_is_never_close_enough_says_so() -> None:
    alike = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    (found,) = bs.strongest(3, records=5000, tolerance=0.05, family="gibbs", cost=alike)
    assert found.matrix is None
    assert found.note == "singular even with the least noise: proportions cannot be estimated"


def test_a_tolerance_that_is_refused_differs_from_the_least_in_print() -> None:
    with pytest.raises(ValueError, match="must be at least") as caught:
        bs.strongest(4, records=500, tolerance=0.0438261)
    least, got = re.findall(r"0\.\d+", str(caught.value))
    assert float(got) < float(least)
    assert bs.strongest(4, records=500, tolerance=float(least))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bs.strongest(4, records=1000, tolerance=0.01), "at least 0.03098975161522807 for"),
        (lambda: bs.strongest(4, records=1000, tolerance=0), "a number between 0 and 1; got 0"),
        (lambda: bs.strongest(4, records=9, tolerance=0.5, share=2), "between 0 and 1; got 2"),
    ],
)
def test_what_cannot_be_met_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert words in str(caught.value)
