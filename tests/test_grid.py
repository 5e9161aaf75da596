"""Sums of permutations on coarser grids: which are safe, and what is said of the others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bistochastic as bs
from cases import FAMILIES
from sums import check, policies, random_table


@policies
def test_a_coarser_grid_keeps_sums_and_support(policy: str) -> None:
    matrix = bs.dense(random_table(20))
    for bits in (16, 32, 52):
        found = matrix.decompose(policy=policy, bits=bits)
        check(found)
        assert all(weight.denominator <= 2**bits for weight in found.exact_weights)
        moved = np.abs(found.matrix.to_dense() - matrix.to_dense()).max()
        assert moved < 2.0**-bits
    assert matrix.decompose(bits=53).matrix == matrix
    for small in (
        bs.randomized_response(4, keep=0),
        bs.tridiagonal([0.3, 0.7, 0.1]),
        bs.uniform(6),
    ):
        found = small.decompose(policy=policy, bits=9)
        check(found)
        assert ((found.matrix.to_dense() > 0) == (small.to_dense() > 0)).all()


@pytest.mark.parametrize("name", sorted(FAMILIES))
@given(data=st.data())
@settings(max_examples=15)
def test_a_grid_that_is_too_coarse_names_the_smallest_safe_one(name: str, data: Any) -> None:
    matrix = data.draw(FAMILIES[name])
    bits = data.draw(st.integers(1, 12))
    try:
        found = matrix.decompose(bits=bits)
    except ValueError as error:
        safe = int(re.findall("at least ([0-9]+) to keep", str(error))[0])
        if name == "kron" or safe > 53:
            return
        assert bits < safe
        with pytest.raises(ValueError, match="to keep every positive entry"):
            matrix.decompose(bits=safe - 1)
        found = matrix.decompose(bits=safe)
        bits = safe
    check(found)
    before, after = matrix.to_dense(), found.matrix.to_dense()
    assert ((before > 0) == (after > 0)).all()
    # A family is rounded inside its structure, so that one entry pays for a whole row.
    assert np.abs(before - after).max() <= matrix.size * 2.0**-bits


def test_composites_with_long_denominators_need_bits() -> None:
    m = bs.geometric(8, beta=0.5)
    for long in (m @ m, bs.mix([m, m @ m], weights=[0.5, 0.5])):
        with pytest.raises(ValueError, match=r"`bits` must be given for a .* reaches 2\^63"):
            long.decompose()
        check(long.decompose(bits=30))
    short = bs.mix([bs.uniform(3), bs.circulant([3, 1, 0])], weights=[0.5, 0.5])
    check(short.decompose())
