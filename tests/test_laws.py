"""Laws of every family, without a tolerance wherever none is needed."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

import bistochastic as bs
import reference
from cases import FAMILIES, of_every_family

mp.dps = 50


def exact_rows(m: bs.Matrix) -> list[list[Fraction]]:
    return [m.exact_row(u) for u in range(m.size)]


def on_grid(rows: list[list[Fraction]]) -> bool:
    return all((2**53) % p.denominator == 0 for row in rows for p in row)


@of_every_family()
def test_rows_and_columns_sum_to_exactly_one(name: str, m: bs.Matrix) -> None:
    rows = exact_rows(m)
    assert all(p >= 0 for row in rows for p in row)
    assert all(sum(row) == 1 for row in rows)
    assert all(sum(column) == 1 for column in zip(*rows, strict=True))


@of_every_family()
def test_doubles_are_the_law_and_on_the_grid_sum_to_one_in_any_order(
    name: str, m: bs.Matrix
) -> None:
    rows, doubles = exact_rows(m), m.to_dense()
    for u in range(m.size):
        assert [float(p) for p in rows[u]] == doubles[u].tolist() == m.row(u).tolist()
        assert m[u, m.size - 1] == doubles[u, -1]
    if on_grid(rows):
        order = np.random.default_rng(0).permutation(m.size)
        for matrix in (doubles, doubles[order], doubles[::-1], doubles[:, order]):
            assert (matrix.sum(axis=0) == 1.0).all()
            assert (matrix.sum(axis=1) == 1.0).all()
            assert sum(matrix[0].tolist()) == 1.0


@of_every_family()
def test_reported_bits_are_never_above_the_truth(name: str, m: bs.Matrix) -> None:
    entries = [mpf(p.numerator) / p.denominator for row in exact_rows(m) for p in row if p]
    bits = -mp.fsum(p * mp.log(p, 2) for p in entries) / m.size
    # 50 digits on our side, so a tie may look 1e-45 off. A bound may be below by more.
    close = mpf(10) ** -12 if m.is_exact else mpf(m.max_bits)
    assert -(mpf(10) ** -45) <= bits - mpf(m.entropy_rate) <= close
    if m.size == 1:
        assert (m.entropy_rate, m.beta, m.max_bits) == (0, 1, 0)
    else:
        beta = bits / mp.log(m.size, 2)
        assert -(mpf(10) ** -45) <= beta - mpf(m.beta) <= close
        assert abs(mpf(m.max_bits) - mp.log(m.size, 2)) <= 1e-15 * m.max_bits


@of_every_family()
def test_reported_epsilon_is_never_below_the_truth(name: str, m: bs.Matrix) -> None:
    worst = Fraction(1)
    for column in zip(*exact_rows(m), strict=True):
        if min(column) == 0:
            assert m.epsilon == math.inf
            return
        worst = max(worst, max(column) / min(column))
    true = mp.log(mpf(worst.numerator) / worst.denominator)
    assert mpf(m.epsilon) >= true
    if m.is_exact:
        assert mpf(m.epsilon) - true <= mpf(10) ** -12 * true


@of_every_family()
def test_parameters_build_the_same_matrix_again(name: str, m: bs.Matrix) -> None:
    again = bs.build(m.family, **m.parameters)
    assert again == m
    assert hash(again) == hash(m)
    assert again.parameters == m.parameters
    assert exact_rows(again) == exact_rows(m)
    for twin in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m), copy.copy(m)):
        assert twin == m
        assert twin.requested == m.requested


@of_every_family()
def test_every_number_agrees_with_the_reference(name: str, m: bs.Matrix) -> None:
    p = m.to_dense()
    assert m.shape == p.shape == (m.size, m.size)
    assert m.family == name
    # Only a composite without a common total below 2^127 is a bound at these sizes.
    assert m.is_exact or name in ("mix", "product", "kron")
    assert m.truthfulness == pytest.approx(reference.truthfulness(p), abs=1e-14)
    assert m.is_ergodic == reference.is_ergodic(p)


@of_every_family(some=20)
def test_matrices_are_immutable(name: str, m: bs.Matrix) -> None:
    for attribute in ("size", "beta", "anything"):
        with pytest.raises(AttributeError):
            setattr(m, attribute, 1)
    m.parameters.clear()
    assert m.parameters


def test_registry_functions_and_cases_agree() -> None:
    from bistochastic import _core, families

    functions = {
        name
        for name, f in vars(families).items()
        if inspect.isfunction(f)
        and f.__module__ == families.__name__
        and not name.startswith("_")
        and name != "build"
    }
    # A product is written `a @ b`, and has no function.
    assert set(_core.families()) == functions | {"product"} == set(FAMILIES)
    assert functions <= set(bs.__all__)


def test_what_follows_from_the_registry_is_written() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[1] / "tools/families.py"))
    for path, make in tool["FILES"].items():
        text = path.read_text("utf-8")
        assert text == make(text), f"{path.name} lacks a family: run `make families`"


def test_equality_is_by_family_and_parameters() -> None:
    assert bs.uniform(3) == bs.uniform(3) != bs.uniform(4)
    assert bs.uniform(3) != bs.blocks([3])
    assert bs.uniform(3) != "uniform"
    assert len({bs.uniform(3), bs.uniform(3), bs.blocks([3])}) == 2
