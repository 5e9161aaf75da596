"""One line per family: how to draw a random matrix of it. The battery runs over all of them."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import assume

from bistochastic import (
    Matrix,
    balance,
    blocks,
    circulant,
    dense,
    geometric,
    gibbs,
    identity,
    k_anonymous,
    kron,
    mix,
    permutation,
    randomized_response,
    reflected,
    t_transform,
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


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Non-negative numbers over many magnitudes, on patterns with total support."""
    size = draw(st.integers(1, 7))
    entry = st.one_of(st.floats(1e-3, 1), st.sampled_from([1e-12, 1e-200, 1e3]))
    table = np.array(draw(st.lists(entry, min_size=size**2, max_size=size**2)))
    table = table.reshape(size, size)
    if draw(st.booleans()):
        # The union of some diagonals has total support.
        pattern = np.zeros((size, size), dtype=bool)
        for _ in range(draw(st.integers(1, 3))):
            pattern[np.arange(size), draw(st.permutations(list(range(size))))] = True
        table = np.where(pattern, table, 0)
    try:
        balance(table)
    except ValueError as error:
        # Some forty of a million such tables are too far apart for scaling, which says so.
        assume("must be balanced by scaling" not in str(error))
    return table


@st.composite
def whole_tables(draw: st.DrawFn) -> Any:
    """Whole numbers with equal line sums: sums of permutations."""
    size = draw(st.integers(1, 7))
    table = np.zeros((size, size), dtype=np.int64)
    for weight in draw(st.lists(st.integers(1, 2**50), min_size=1, max_size=4)):
        table[np.arange(size), draw(st.permutations(list(range(size))))] += weight
    return table


@st.composite
def costs(draw: st.DrawFn) -> Any:
    """Costs, symmetric or not, with the truth for nothing."""
    size = draw(st.integers(1, 6))
    table = np.array(draw(st.lists(st.floats(0, 5), min_size=size**2, max_size=size**2)))
    table = table.reshape(size, size)
    np.fill_diagonal(table, 0)
    if size > 1 and draw(st.booleans()):
        table[0, 1] = table[1, 0] = np.inf
    return table


@st.composite
def kernels(draw: st.DrawFn) -> Any:
    """An even law on a cycle, as floats or whole numbers."""
    if draw(st.booleans()):
        counts = draw(st.lists(st.integers(0, 10**9), min_size=2, max_size=16))
        counts[draw(st.integers(0, len(counts) - 1))] += 1
        return counts
    entry = st.one_of(st.floats(1e-300, 1), st.just(0.0))
    kernel = np.array(draw(st.lists(entry, min_size=2, max_size=16)))
    kernel[draw(st.integers(0, len(kernel) - 1))] += 1
    return kernel / (2 * kernel.sum() - kernel[0] - kernel[-1])


# Made once: what Hypothesis finds out about a strategy takes longer than to draw from it.
@functools.cache
def parts(size: int) -> st.SearchStrategy[Matrix]:
    """A matrix of a given size, to compose."""
    whole = st.integers(0, 10**6)
    return st.one_of(
        st.just(identity(size)),
        st.just(uniform(size)),
        st.builds(randomized_response, st.just(size), beta=UNITS),
        st.builds(k_anonymous, st.just(size), k=st.integers(1, size)),
        st.lists(whole, min_size=size, max_size=size).map(lambda c: circulant([c[0] + 1, *c[1:]])),
        st.builds(permutation, st.permutations(list(range(size)))),
        st.builds(geometric, st.just(size), temperature=st.floats(0, 10)),
    )


@st.composite
def mixtures(draw: st.DrawFn) -> Matrix:
    """A mixture of one to three matrices."""
    size = draw(st.integers(1, 6))
    matrices = draw(st.lists(parts(size), min_size=1, max_size=3))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(matrices), max_size=len(matrices)))
    if draw(st.booleans()):
        return mix(matrices, weights=[Fraction(w, sum(weights)) for w in weights])
    return mix(matrices, weights=[w / sum(weights) for w in weights])


@st.composite
def products(draw: st.DrawFn) -> Matrix:
    """First one matrix, then another."""
    size = draw(st.integers(1, 6))
    return draw(parts(size)) @ draw(parts(size))


@st.composite
def krons(draw: st.DrawFn) -> Matrix:
    """One to three small factors."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return kron(*(draw(parts(size)) for size in sizes))


@st.composite
def swaps(draw: st.DrawFn) -> Matrix:
    """Two of several codes are swapped."""
    size = draw(st.integers(2, 12))
    i, j = draw(st.permutations(list(range(size))))[:2]
    return t_transform(size, i, j, keep=draw(st.one_of(UNITS, FRACTIONS)))


FAMILIES: dict[str, st.SearchStrategy[Matrix]] = {
    "balance": st.builds(balance, tables()),
    "dense": st.one_of(
        st.builds(dense, whole_tables()), tables().map(lambda t: dense(balance(t).to_dense()))
    ),
    "geometric": st.one_of(
        st.builds(geometric, SIZES, temperature=st.one_of(UNITS, st.floats(0, 1e6))),
        st.builds(geometric, SIZES, beta=UNITS),
    ),
    "gibbs": st.builds(gibbs, costs(), temperature=st.floats(0.05, 100)),
    "kron": krons(),
    "mix": mixtures(),
    "product": products(),
    "reflected": st.builds(reflected, kernels()),
    "t_transform": swaps(),
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
