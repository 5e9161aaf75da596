"""One line per family: how to draw a random matrix of it. The battery runs over all of them."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

import bistochastic as bs

# What makes a matrix: drawn once, it can be made as often as a fresh one is wanted.
Recipe = Callable[[], bs.Matrix]


def child(code: str, **environment: str) -> str:
    """What another process prints."""
    python = [sys.executable, "-c", code]
    given = {**os.environ, **environment}
    return subprocess.run(python, env=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def later(make: Callable[..., bs.Matrix]) -> Callable[..., Recipe]:
    """The same call, to be made later."""
    return functools.partial(functools.partial, make)


SIZES = st.integers(1, 20)
# Numbers from 0 to 1 over many orders of magnitude, with the ends and their neighbours.
UNITS = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1e-300, 1e-17, 2.0**-53, 0.5, 1 - 2.0**-53, 1.0]),
)
FRACTIONS = st.fractions(0, 1, max_denominator=10**9)


# Made once: what Hypothesis finds out about a strategy takes longer than to draw from it.
@functools.cache
def orders(size: int) -> st.SearchStrategy[list[int]]:
    """A permutation of so many codes."""
    return st.permutations(range(size))


@functools.cache
def so_many(entry: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    """A list of exactly so many entries."""
    return st.lists(entry, min_size=size, max_size=size)


_KINDS = st.sampled_from(["floats", "wholes", "fractions"])
_ROW = st.lists(
    st.one_of(st.floats(1e-300, 1), st.sampled_from([0.0, 1e-200, 1e-18])), min_size=1, max_size=20
)
_COUNTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=20)
_PLACES = [st.integers(0, most) for most in range(20)]


@st.composite
def rows(draw: st.DrawFn) -> Any:
    """A probability vector: floats over many magnitudes with zeros, whole numbers, or fractions."""
    kind = draw(_KINDS)
    if kind == "floats":
        row = np.array(draw(_ROW))
        row[draw(_PLACES[len(row) - 1])] += 1
        return row / row.sum()
    counts = draw(_COUNTS)
    counts[0] += 1
    return counts if kind == "wholes" else [Fraction(c, sum(counts)) for c in counts]


_UP_TO_15 = st.lists(UNITS, max_size=15)


@st.composite
def steps(draw: st.DrawFn) -> list[float]:
    """Alphas whose neighbours sum to at most 1."""
    alphas: list[float] = []
    for share in draw(_UP_TO_15):
        alphas.append(share * (1 - (alphas[-1] if alphas else 0.0)))
    return alphas


def randomized_responses() -> st.SearchStrategy[Recipe]:
    made = later(bs.randomized_response)
    return st.one_of(
        st.builds(made, SIZES, epsilon=st.floats(0, 50)),
        st.builds(made, SIZES, epsilon=st.sampled_from([0, 800, float("inf")])),
        st.builds(made, SIZES, beta=UNITS),
        st.builds(made, st.integers(2, 20), keep=st.one_of(UNITS, FRACTIONS)),
    )


_SIDES = st.integers(1, 7)
_DIAGONALS = st.integers(1, 3)
_ENTRIES = st.one_of(st.floats(1e-3, 1), st.sampled_from([1e-12, 1e-200, 1e3]))


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Non-negative numbers over many magnitudes, on patterns with total support."""
    size = draw(_SIDES)
    table = np.array(draw(so_many(_ENTRIES, size**2)))
    table = table.reshape(size, size)
    if draw(st.booleans()):
        # The union of some diagonals has total support.
        pattern = np.zeros((size, size), dtype=bool)
        for _ in range(draw(_DIAGONALS)):
            pattern[np.arange(size), draw(orders(size))] = True
        table = np.where(pattern, table, 0)
    try:
        bs.balance(table)
    except ValueError as error:
        # Some forty of a million such tables are too far apart for scaling, which says so.
        assume("must be balanced by scaling" not in str(error))
    return table


_WEIGHTS = st.lists(st.integers(1, 2**50), min_size=1, max_size=4)


@st.composite
def whole_tables(draw: st.DrawFn) -> Any:
    """Whole numbers with equal line sums: sums of permutations."""
    size = draw(_SIDES)
    table = np.zeros((size, size), dtype=np.int64)
    for weight in draw(_WEIGHTS):
        table[np.arange(size), draw(orders(size))] += weight
    return table


_FEW = st.integers(1, 6)
_COSTS = st.floats(0, 5)


@st.composite
def costs(draw: st.DrawFn) -> Any:
    """Costs, symmetric or not, with the truth for nothing."""
    size = draw(_FEW)
    table = np.array(draw(so_many(_COSTS, size**2)))
    table = table.reshape(size, size)
    np.fill_diagonal(table, 0)
    if size > 1 and draw(st.booleans()):
        table[0, 1] = table[1, 0] = np.inf
    return table


_WHOLE_KERNELS = st.lists(st.integers(0, 10**9), min_size=2, max_size=16)
_KERNELS = st.lists(st.one_of(st.floats(1e-300, 1), st.just(0.0)), min_size=2, max_size=16)


@st.composite
def kernels(draw: st.DrawFn) -> Any:
    """An even law on a cycle, as floats or whole numbers."""
    if draw(st.booleans()):
        counts = draw(_WHOLE_KERNELS)
        counts[draw(_PLACES[len(counts) - 1])] += 1
        return counts
    kernel = np.array(draw(_KERNELS))
    kernel[draw(_PLACES[len(kernel) - 1])] += 1
    return kernel / (2 * kernel.sum() - kernel[0] - kernel[-1])


def _shifted(counts: list[int]) -> bs.Matrix:
    return bs.circulant([counts[0] + 1, *counts[1:]])


_MILLIONS = st.integers(0, 10**6)


@functools.cache
def _parts(size: int) -> st.SearchStrategy[Recipe]:
    return st.one_of(
        st.just(later(bs.identity)(size)),
        st.just(later(bs.uniform)(size)),
        st.builds(later(bs.randomized_response), st.just(size), beta=UNITS),
        st.builds(later(bs.k_anonymous), st.just(size), k=st.integers(1, size)),
        st.builds(later(_shifted), so_many(_MILLIONS, size)),
        st.builds(later(bs.permutation), orders(size)),
        st.builds(later(bs.geometric), st.just(size), temperature=st.floats(0, 10)),
    )


def _made(recipe: Recipe) -> bs.Matrix:
    return recipe()


@functools.cache
def parts(size: int) -> st.SearchStrategy[bs.Matrix]:
    """A matrix of a given size, to compose."""
    return _parts(size).map(_made)


@functools.cache
def _up_to_three(size: int) -> st.SearchStrategy[list[Recipe]]:
    return st.lists(_parts(size), min_size=1, max_size=3)


_SHARES = st.integers(1, 9)


def _mixed(recipes: list[Recipe], weights: list[Any]) -> bs.Matrix:
    return bs.mix([made() for made in recipes], weights=weights)


@st.composite
def mixtures(draw: st.DrawFn) -> Recipe:
    """A mixture of one to three matrices."""
    size = draw(_FEW)
    recipes = draw(_up_to_three(size))
    weights = draw(so_many(_SHARES, len(recipes)))
    if draw(st.booleans()):
        return later(_mixed)(recipes, [Fraction(w, sum(weights)) for w in weights])
    return later(_mixed)(recipes, [w / sum(weights) for w in weights])


def _multiplied(first: Recipe, second: Recipe) -> bs.Matrix:
    return first() @ second()


@st.composite
def products(draw: st.DrawFn) -> Recipe:
    """First one matrix, then another."""
    size = draw(_FEW)
    return later(_multiplied)(draw(_parts(size)), draw(_parts(size)))


_SMALL = st.lists(st.integers(1, 3), min_size=1, max_size=3)


def _together(recipes: list[Recipe]) -> bs.Matrix:
    return bs.kron(*(made() for made in recipes))


@st.composite
def krons(draw: st.DrawFn) -> Recipe:
    """One to three small factors."""
    sizes = draw(_SMALL)
    return later(_together)([draw(_parts(size)) for size in sizes])


_SEVERAL = st.integers(2, 12)
_KEPT = st.one_of(UNITS, FRACTIONS)


@st.composite
def swaps(draw: st.DrawFn) -> Recipe:
    """Two of several codes are swapped."""
    size = draw(_SEVERAL)
    i, j = draw(orders(size))[:2]
    return later(bs.t_transform)(size, i, j, keep=draw(_KEPT))


@functools.cache
def anonymous(size: int) -> st.SearchStrategy[Recipe]:
    """Classes of at least so many codes."""
    return st.one_of(
        st.builds(later(bs.k_anonymous), st.just(size), k=st.integers(1, size)),
        st.builds(later(bs.k_anonymous), st.just(size), beta=UNITS),
    )


@functools.cache
def permuted(size: int) -> st.SearchStrategy[Recipe]:
    """Codes in another order."""
    return st.builds(later(bs.permutation), orders(size))


def _balanced(table: Any) -> bs.Matrix:
    return bs.dense(bs.balance(table).to_dense())


# Without codes that are never true, which have tests of their own.
_DESIGNS = st.sampled_from([(3, [0]), (4, [1, 2, 3]), (7, [0, 1, 3]), (13, [0, 1, 3, 9])])


def _designed(design: tuple[int, list[int]], **asked: Any) -> bs.Matrix:
    return bs.difference_set(design[0], set=design, **asked)


RECIPES: dict[str, st.SearchStrategy[Recipe]] = {
    "balance": st.builds(later(bs.balance), tables()),
    "dense": st.one_of(
        st.builds(later(bs.dense), whole_tables()), st.builds(later(_balanced), tables())
    ),
    "difference_set": st.builds(later(_designed), _DESIGNS, epsilon=st.floats(0, 40)),
    "geometric": st.one_of(
        st.builds(later(bs.geometric), SIZES, temperature=st.one_of(UNITS, st.floats(0, 1e6))),
        st.builds(later(bs.geometric), SIZES, beta=UNITS),
        st.builds(later(bs.geometric), SIZES, epsilon=st.one_of(UNITS, st.floats(0, 40))),
    ),
    "gibbs": st.builds(later(bs.gibbs), costs(), temperature=st.floats(0.05, 100)),
    "kron": krons(),
    "mix": mixtures(),
    "product": products(),
    "reflected": st.builds(later(bs.reflected), kernels()),
    "t_transform": swaps(),
    "blocks": st.builds(later(bs.blocks), st.lists(st.integers(1, 6), min_size=1, max_size=6)),
    "circulant": st.builds(later(bs.circulant), rows()),
    "identity": st.builds(later(bs.identity), SIZES),
    "k_anonymous": SIZES.flatmap(anonymous),
    "permutation": SIZES.flatmap(permuted),
    "randomized_response": randomized_responses(),
    "tridiagonal": st.one_of(
        st.builds(later(bs.tridiagonal), steps()),
        st.builds(later(bs.tridiagonal), st.floats(0, 0.5), size=SIZES),
        st.builds(
            later(bs.tridiagonal),
            st.fractions(0, Fraction(1, 2), max_denominator=10**12),
            size=SIZES,
        ),
        st.builds(later(bs.tridiagonal), size=SIZES, beta=st.floats(0, 0.3)),
    ),
    "uniform": st.builds(later(bs.uniform), SIZES),
}
FAMILIES = {name: recipes.map(_made) for name, recipes in RECIPES.items()}


@functools.cache
def drawn(name: str) -> tuple[tuple[int, Recipe], ...]:
    """The sizes and recipes of as many matrices of a family as Hypothesis gives a test."""
    found: list[tuple[int, Recipe]] = []

    @given(RECIPES[name])
    def keep(recipe: Recipe) -> None:
        found.append((recipe().size, recipe))

    keep()
    return tuple(found)


# Definitions that need only the realised parameters, the size, the true code and the reported one.
LAWS: dict[str, Callable[[dict[str, Any], int, int, int], Fraction]] = {
    "circulant": lambda p, n, u, v: Fraction(p["first_row"][(v - u) % n], p["total"]),
    "identity": lambda p, n, u, v: Fraction(u == v),
    "permutation": lambda p, n, u, v: Fraction(p["targets"][u] == v),
    "uniform": lambda p, n, u, v: Fraction(1, n),
    **dict.fromkeys(
        ("balance", "dense", "gibbs"),
        lambda p, n, u, v: Fraction(p["counts"][u][v], p["total"]),
    ),
}


def examples(known: Iterable[str]) -> list[bs.Matrix]:
    """Two matrices of more than one category for each family that is not known."""
    new = sorted(set(RECIPES) - set(known))
    return [made() for name in new for made in [m for n, m in drawn(name) if n > 1][-2:]]


def of_every_family(
    *, some: int | None = None, smallest: int = 1, largest: int = 100
) -> Callable[[Callable[[str, bs.Matrix], None]], Any]:
    """A law of one matrix as a test for each family: of all that are drawn, or ``some`` of them.

    They are drawn once for all laws, since to draw takes longer than most laws, and made anew for
    each, so that none finds what another one left. The first that fails is of the smallest size.
    """

    def of_law(law: Callable[[str, bs.Matrix], None]) -> Any:
        def test(name: str) -> None:
            fit = [each for each in drawn(name) if smallest <= each[0] <= largest]
            step = 1 if some is None else max(1, len(fit) // some)
            for _, recipe in sorted(fit[::step], key=lambda each: each[0]):
                m = recipe()
                try:
                    law(name, m)
                except BaseException as error:
                    error.add_note(f"for bs.build({m.family!r}, **{m.parameters!r}), {m.requested}")
                    raise

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        test.__module__, test.__qualname__ = law.__module__, law.__qualname__
        return pytest.mark.parametrize("name", sorted(RECIPES))(test)

    return of_law
