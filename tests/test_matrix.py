"""The class that users see, over the core's law: how it is made, kept, shared and refused."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
from bistochastic.birkhoff import Decomposition

MAKERS: dict[str, Callable[[], object]] = {
    "a family": lambda: bs.uniform(3),
    "build": lambda: bs.build("uniform", size=3),
    "a product": lambda: bs.uniform(3) @ bs.identity(3),
    "kron": lambda: bs.kron(bs.uniform(3), bs.identity(2)),
    "mix": lambda: bs.mix([bs.uniform(3), bs.identity(3)], weights=[0.5, 0.5]),
    "a part": lambda: bs.kron(bs.uniform(3), bs.identity(2)).parameters["matrices"][0],
    "a copy": lambda: copy.deepcopy(copy.copy(bs.uniform(3))),
    "a pickle": lambda: pickle.loads(pickle.dumps(bs.uniform(3))),
    "a nested pickle": lambda: pickle.loads(pickle.dumps(bs.uniform(3) @ bs.identity(3))),
    "what was decomposed": lambda: bs.uniform(3).decompose().matrix,
    "a residual": lambda: bs.circulant([5, 2, 1]).decompose(mass=0.6).residual,
    "a T-transform": lambda: bs.theory.t_transforms([5, 3, 1], [4, 3, 2]).to_matrix(),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_whatever_makes_a_matrix_makes_one_of_this_class(make: Callable[[], object]) -> None:
    assert type(make()) is bs.Matrix


@pytest.mark.parametrize("cls", [bs.Matrix, Decomposition])
def test_classes_are_neither_called_nor_inherited_from(cls: Any) -> None:
    core, name = cls.__base__, cls.__name__
    home = "bistochastic" if name == "Matrix" else "bistochastic.birkhoff"
    assert (cls.__module__, cls.__qualname__) == (home, name)
    refused = f"^cannot create 'bistochastic.{name}' instances$"
    for call in (cls, core, lambda: cls(1), lambda: cls(a=1), lambda: core.__new__(cls)):
        with pytest.raises(TypeError, match=refused):
            call()
    # Nor by what a call that succeeded may have left behind.
    for made in (bs.uniform(3).decompose(), *bs.decompose_all([bs.uniform(3)])):
        assert type(made) is Decomposition
    with pytest.raises(TypeError, match=refused):
        core.__new__(cls)
    with pytest.raises(TypeError, match=r"^cannot create "):
        type("Sub", (cls,), {})()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_pickles_a_matrix_and_refuses_a_decomposition(protocol: int) -> None:
    m = bs.randomized_response(3, epsilon=2) @ bs.uniform(3)
    assert pickle.loads(pickle.dumps(m, protocol)) == m
    with pytest.raises(TypeError, match=r"cannot (pickle|create)"):
        pickle.dumps(m.decompose(), protocol)


def test_objects_are_freed() -> None:
    def resident() -> int:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    big = list(range(1, 20_001))
    for rounds in (20, 200):
        before = resident()
        for _ in range(rounds):
            m = bs.circulant(big)
            pickle.loads(pickle.dumps(m)).decompose(max_terms=1)
        gc.collect()
        grown = resident() - before
    # 200 rounds make some 100 megabytes of matrices.
    assert grown < 20e6
    held = sys.getrefcount(bs.Matrix)
    kept = [bs.uniform(n) for n in range(2, 1002)]
    assert sys.getrefcount(bs.Matrix) >= held + 900
    del kept
    assert sys.getrefcount(bs.Matrix) <= held + 100


@pytest.mark.parametrize("size", [2**32 + 1, 2**53])
def test_rows_that_no_memory_holds_are_refused_as_such(size: int) -> None:
    m = bs.randomized_response(size, beta=0.3) @ bs.k_anonymous(size, k=7)
    with pytest.raises(bs.errors.OutOfMemoryError, match="`memory` must hold"):
        m.require(row_beta=0.5)
