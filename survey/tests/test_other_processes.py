"""How the package behaves in other people's processes: imports, forks, threads, help."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys

import pytest

import bistochastic as bs
from bistochastic.birkhoff import Decomposition
from returned import CLASSES


def child(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_import_loads_numpy_at_most_and_starts_nothing() -> None:
    heavy = "{'click', 'pandas', 'polars', 'pyarrow', 'scipy', 'narwhals', 'matplotlib', 'html'}"
    code = (
        "import sys, threading, os, numpy; known = set(sys.modules); import bistochastic;"
        "new = {name.split('.')[0] for name in set(sys.modules) - known};"
        f"print(sorted(new & {heavy}), threading.active_count(), len(os.listdir('/proc/self/task'))"
        " if os.path.isdir('/proc/self/task') else 1, os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    assert child(code, OPENBLAS_NUM_THREADS="1") == "[] 1 1 1"


def test_numbers_do_not_depend_on_the_threads() -> None:
    """Also if more are asked for than a machine has."""
    most = 4 * len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
    code = (
        "import bistochastic as bs, numpy as np; r = np.random.default_rng(3);"
        "row = r.random(300_001); row /= row.sum(); m = bs.circulant(row);"
        "p = r.random((400, 400));\n"
        "for _ in range(200): p /= p.sum(0); p /= p.sum(1, keepdims=True)\n"
        "print(m.beta.hex(), hash(tuple(m.parameters['first_row'])), bs.entropy_rate(p).hex())"
    )
    assert len({child(code, BISTOCHASTIC_THREADS=n) for n in ("1", "2", "4", str(most))}) == 1


@pytest.mark.parametrize("asked", ["two", "0", "-1", "1.5", "", "1000000000"])
def test_a_number_of_threads_that_is_none_is_refused_at_the_first_use(asked: str) -> None:
    code = (
        "import bistochastic as bs\n"
        "try: bs.uniform(3)\n"
        "except ValueError as error: print(type(error).__name__, error)"
    )
    said = "Refused `BISTOCHASTIC_THREADS` must be an integer from 1 to "
    found = child(code, BISTOCHASTIC_THREADS=asked)
    assert found.startswith(said)
    assert found.endswith(f", four times the processors; got {asked}".rstrip())


def test_searched_and_scaled_laws_do_not_depend_on_the_threads() -> None:
    code = (
        "import bistochastic as bs, numpy as np; r = np.random.default_rng(3);"
        "x = np.arange(150); cost = abs(x[:, None] - x) / 5; k = r.random(3001);"
        "k /= 2 * k.sum() - k[0] - k[-1]; b = bs.balance(r.random((300, 300)));"
        "m = [b, bs.dense(b.to_dense() * (1 + 1e-10)), bs.gibbs(cost, beta=0.6),"
        " bs.geometric(3000, beta=0.6), bs.reflected(k)];"
        "c = [bs.mix([b, bs.uniform(300)], weights=[0.5, 0.5]), b @ bs.geometric(300, beta=0.2)];"
        "print([repr(x.parameters) for x in m], [(x.beta, x.epsilon) for x in m + c])"
    )
    assert len({child(code, BISTOCHASTIC_THREADS=n) for n in ("1", "2", "7")}) == 1


def test_help_shows_an_example_that_runs_for_every_public_name() -> None:
    for owner in (bs, bs.masking, bs.theory):
        for name in owner.__all__:
            if name != "errors":
                assert ">>>" in (getattr(owner, name).__doc__ or ""), name
    assert [name for name, cls in CLASSES.items() if ">>>" not in (cls.__doc__ or "")] == []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for cls, least in ((bs.Matrix, 30), (Decomposition, 10), (bs.Key, 5)):
        # Those that it inherits from the core among them, which no collector of examples looks at.
        members = [n for n in dir(cls) if not n.startswith("_")]
        assert len(members) >= least
        for name in ["__class__", *members]:
            thing = cls if name == "__class__" else getattr(cls, name)
            text = thing.__doc__ or ""
            assert ">>>" in text, name
            test = doctest.DocTestParser().get_doctest(text, {"bs": bs}, name, None, 0)
            assert runner.run(test).failed == 0, name
