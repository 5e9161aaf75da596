"""Errors before any data exist."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.estimate import quantiles


def test_planning() -> None:
    m = bs.randomized_response(4, keep=Fraction(5, 8))
    z = quantiles.normal(0.975)
    # A share of reports can be anything from 1/8 to 5/8, so 1/2 is the worst; a is 1/2.
    assert m.required_records(0.02) == math.ceil(z * z * 0.25 / 0.25 / 0.02**2)
    e = bs.geometric(6, temperature=1)
    n = e.required_records(0.05)
    rng = np.random.default_rng(5)
    most = max(
        float((e.standard_error(rng.dirichlet(np.full(6, 0.3)), n)).max()) for _ in range(200)
    )
    assert z * most <= 0.05 * (1 + 1e-9)
    assert z * most >= 0.025
    with pytest.raises(bs.errors.SingularMatrixError):
        bs.uniform(3).required_records(0.1)
