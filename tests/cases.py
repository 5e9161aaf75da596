"""One line per family: how to draw a random matrix of it. The battery runs over all of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np

from bistochastic import (
    Matrix,
    blocks,
    circulant,
    identity,
    k_anonymous,
    permutation,
    randomized_response,
    tridiagonal,
    uniform,
)

SIZES = st.integers(1, 20)
# Numbers from 0 to 1 over many orders of magnitude, with the ends and their neighbours.
UNITS = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1e-300, 1e-17, 2.0**-53, 0.5, 1 - 2.0**-53, 1.0]),
)
FRACTIONS = st.fractions(0, 1, max_denominator=10**9)


@st.composite
def rows(draw: st.DrawFn) -> Any:
    """A probability vector: floats over many magnitudes with zeros, whole numbers, or fractions."""
    kind = draw(st.sampled_from(["floats", "wholes", "fractions"]))
    if kind == "floats":
        entry = st.one_of(st.floats(1e-300, 1), st.sampled_from([0.0, 1e-200, 1e-18]))
        row = np.array(draw(st.lists(entry, min_size=1, max_size=20)))
        row[draw(st.integers(0, len(row) - 1))] += 1
        return row / row.sum()
    counts = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
    counts[0] += 1
    return counts if kind == "wholes" else [Fraction(c, sum(counts)) for c in counts]


@st.composite
def steps(draw: st.DrawFn) -> list[float]:
    """Alphas whose neighbours sum to at most 1."""
    alphas: list[float] = []
    for share in draw(st.lists(UNITS, max_size=15)):
        alphas.append(share * (1 - (alphas[-1] if alphas else 0.0)))
    return alphas


def randomized_responses() -> st.SearchStrategy[Matrix]:
    return st.one_of(
        st.builds(randomized_response, SIZES, epsilon=st.floats(0, 50)),
        st.builds(randomized_response, SIZES, epsilon=st.sampled_from([0, 800, float("inf")])),
        st.builds(randomized_response, SIZES, beta=UNITS),
        st.builds(randomized_response, st.integers(2, 20), keep=st.one_of(UNITS, FRACTIONS)),
    )


FAMILIES: dict[str, st.SearchStrategy[Matrix]] = {
    "blocks": st.builds(blocks, st.lists(st.integers(1, 6), min_size=1, max_size=6)),
    "circulant": st.builds(circulant, rows()),
    "identity": st.builds(identity, SIZES),
    "k_anonymous": SIZES.flatmap(
        lambda n: st.one_of(
            st.builds(k_anonymous, st.just(n), k=st.integers(1, n)),
            st.builds(k_anonymous, st.just(n), beta=UNITS),
        )
    ),
    "permutation": SIZES.flatmap(lambda n: st.builds(permutation, st.permutations(list(range(n))))),
    "randomized_response": randomized_responses(),
    "tridiagonal": st.one_of(
        st.builds(tridiagonal, steps()),
        st.builds(tridiagonal, st.floats(0, 0.5), size=SIZES),
        st.builds(tridiagonal, st.fractions(0, Fraction(1, 2), max_denominator=10**12), size=SIZES),
        st.builds(tridiagonal, size=SIZES, beta=st.floats(0, 0.3)),
    ),
    "uniform": st.builds(uniform, SIZES),
}
