"""The class that users see, over the core's law: how it is made, kept, shared and refused."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
from bistochastic import _core
from bistochastic.permutations.decomposition import Decomposition
from returned import CLASSES

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


@pytest.mark.parametrize("name", ["Matrix", "Decomposition"])
def test_classes_are_neither_called_nor_inherited_from(name: str) -> None:
    cls: Any = CLASSES[name]
    core = cls.__base__
    home = "bistochastic" if name in bs.__all__ else "bistochastic.permutations.decomposition"
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
    with pytest.raises(TypeError, match=r"^type 'bistochastic.* is not an acceptable base type$"):
        type("Sub", (cls,), {})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_pickles_a_matrix_and_refuses_a_decomposition(protocol: int) -> None:
    m = bs.randomized_response(3, epsilon=2) @ bs.uniform(3)
    assert pickle.loads(pickle.dumps(m, protocol)) == m
    with pytest.raises(TypeError, match=r"cannot (pickle|create)"):
        pickle.dumps(m.decompose(), protocol)


@pytest.mark.parametrize("name", ["Matrix", "Decomposition"])
def test_help_shows_what_is_inherited(name: str) -> None:
    cls: Any = CLASSES[name]
    text = pydoc.plain(pydoc.render_doc(cls))
    public = [member for member in dir(cls) if not member.startswith("_")]
    assert len(public) > 8
    for member in public:
        first = inspect.getdoc(inspect.getattr_static(cls, member))
        assert first, member
        assert first.splitlines()[0] in text, member


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


def test_threads_make_matrices_of_their_own() -> None:
    found: list[list[int]] = []

    def work(k: int) -> None:
        made = [bs.uniform(n % 50 + k) for n in range(2000)]
        found.append([m.size - k for m in made])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[n % 50 for n in range(2000)]] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_makes_matrices() -> None:
    code = (
        "import os, bistochastic as bs; m = bs.uniform(3); pid = os.fork();\n"
        "n = bs.uniform(4) @ bs.uniform(4);\n"
        "ok = type(n) is bs.Matrix and n.respond(1) in range(4);\n"
        "os._exit(not ok) if pid == 0 else exit(os.waitpid(pid, 0)[1] or not ok)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_package_that_is_imported_anew_makes_its_own_class() -> None:
    code = (
        "import sys, bistochastic as bs; old = bs.Matrix;\n"
        "for name in [n for n in sys.modules if n.split('.')[0] == 'bistochastic']:\n"
        "    if name != 'bistochastic._core': del sys.modules[name]\n"
        "import bistochastic as bs\n"
        "assert type(bs.uniform(2)) is bs.Matrix is not old\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_core_refuses_things_that_it_does_not_know() -> None:
    with pytest.raises(
        TypeError, match=r"^`Other` must be a name that the core knows; got an unknown one$"
    ):
        _core.register(Other=1)


@pytest.mark.parametrize("size", [2**32 + 1, 2**53])
def test_rows_that_no_memory_holds_are_refused_as_such(size: int) -> None:
    m = bs.randomized_response(size, beta=0.3) @ bs.k_anonymous(size, k=7)
    with pytest.raises(bs.errors.OutOfMemoryError, match="`memory` must hold"):
        m.require(row_beta=0.5)
