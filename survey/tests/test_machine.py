"""What the machine may do to a call: too little memory, a signal, a fork."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import keys
from bistochastic_survey.plan import definitions


def child(code: str, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


# --- memory --------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")

TOO_LARGE: dict[str, Callable[[], object]] = {
    "counting": lambda: bs.randomized_response(2**44, beta=0.6).estimate([0, 1]),
    "a kernel": lambda: bs.geometric(2**44, temperature=3.0),
    "a temperature": lambda: bs.geometric(2**44, beta=0.5),
    "a table": lambda: bs.uniform(2**30).to_dense(),
    "a row": lambda: bs.uniform(2**50).row(0),
    "a product": lambda: bs.uniform(2**50).apply([1.0]),
    "a covariance": lambda: bs.uniform(2**30).estimate(counts=[1] * 2).covariance,
    "terms": lambda: bs.uniform(2**40).decompose().weights,
    "samples": lambda: bs.uniform(2**20).decompose().sample(2**40),
    "a posterior": lambda: bs.randomized_response(2**44, beta=0.6).posterior(0),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_cannot_fit_in_memory_is_refused_in_a_sentence(name: str) -> None:
    # Sizes that do not match are refused first; nothing is allocated either way.
    with pytest.raises((MemoryError, ValueError), match=r"must .*; got ") as caught:
        TOO_LARGE[name]()
    assert isinstance(caught.value, ValueError)
    if isinstance(caught.value, MemoryError):
        assert isinstance(caught.value, bs.errors.OutOfMemoryError)
        assert "bytes" in str(caught.value)


# Every call at every limit must answer or say that there is too little; an abort ends the child.
SWEEP = """
import pickle, resource, sys
import numpy as np, bistochastic as bs

n = 1 << 19
x = np.random.default_rng(0).random(n); x /= x.sum()
k = np.random.default_rng(1).random(n + 1); k /= k[0] + 2 * k[1:-1].sum() + k[-1]
a = np.random.default_rng(2).random(n - 1) * 0.5
t = np.random.default_rng(3).random((500, 500)) + 0.1
whole = np.arange(1, n + 1)
code = np.zeros(n, np.uint32)
key = bs.Key.insecure(1)

# NumPy's OpenBLAS ends the process where its own memory runs out, so what it works on is left out.
dense = ("dense", "kron", "mix", "product")

ready = {
    "circulant": lambda: bs.circulant(x), "reflected": lambda: bs.reflected(k),
    "geometric": lambda: bs.geometric(n, temperature=5.0),
    "tridiagonal": lambda: bs.tridiagonal(a),
    "permutation": lambda: bs.permutation(np.arange(n)[::-1]),
    "blocks": lambda: bs.blocks([3] * (n // 3)),
    "randomized_response": lambda: bs.randomized_response(n, beta=0.5),
    "dense": lambda: bs.balance(t),
    "kron": lambda: bs.kron(bs.balance(t[:60, :60]), bs.geometric(500, temperature=2.0)),
    "mix": lambda: bs.mix([bs.balance(t), bs.geometric(500, beta=0.5)], weights=[0.5, 0.5]),
    "product": lambda: bs.balance(t) @ bs.geometric(500, beta=0.5),
}

builds = {
    **{name: ready[name] for name in ("circulant", "reflected", "tridiagonal", "blocks")},
    "integers": lambda: bs.circulant(whole), "geometric": lambda: bs.geometric(n, beta=0.4),
    "permutation": lambda: bs.permutation(whole - 1), "balance": ready["dense"],
    "gibbs": lambda: bs.gibbs(t, temperature=0.3),
    "dense": lambda: bs.dense(np.ones((800, 800), int)),
}
calls = {
    "beta": lambda m: (m.beta, m.epsilon, m.truthfulness, m.is_ergodic),
    "profile": lambda m: m.profile(),
    "randomize": lambda m: m.randomize(code[: m.size]),
    "respond": lambda m: m.respond(0),
    "ids": lambda m: m.randomize(code[:99], key=key, stream="a", ids=np.arange(99)),
    "apply": lambda m: m.apply(np.ones(m.size)),
    "solve": lambda m: m.solve(np.ones(m.size)),
    "estimate": lambda m: m.estimate(code[: m.size]),
    "decompose": lambda m: m.decompose(max_terms=3),
    "sample": lambda m: m.sample_permutation(),
    "joint": lambda m: m.joint_entropy,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "parameters": lambda m: (m.parameters, hash(m), m == m, repr(m)),
    "row": lambda m: m.row(0),
    "law": lambda m: m.same_probabilities(m),
}

def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1024

def attempt(what, call, extra):
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize:") + extra, hard))
    try:
        call()
        outcome = "done"
    except MemoryError:
        outcome = "short"
    except (ValueError, TypeError) as error:
        outcome = "refused"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    counted[outcome] = counted.get(outcome, 0) + 1

hard = resource.getrlimit(resource.RLIMIT_AS)[1]
counted = {}
part = sys.argv[1]
for extra in (1 << 18, 1 << 21, 1 << 22, 3 << 22, 1 << 25):
    if part == "build":
        for name, call in builds.items():
            print(name, extra, flush=True)
            attempt(name, call, extra)
    else:
        # Fresh matrices, so that nothing is kept from the limit before.
        for name in part.split(","):
            m = ready[name]()
            for what, call in calls.items():
                if name in dense and what in ("profile", "apply", "solve", "estimate"):
                    continue
                print(name, what, extra, flush=True)
                attempt(what, lambda: call(m), extra)
print(counted, flush=True)
"""

PARTS = (
    "build",
    "circulant,reflected,geometric",
    "tridiagonal,permutation,blocks,randomized_response",
    "dense,kron,mix,product",
)


@linux
@pytest.mark.parametrize("part", PARTS)
def test_a_call_that_runs_out_of_memory_raises_and_never_ends_the_process(part: str) -> None:
    for _ in range(3):
        done = child(SWEEP, part, timeout=240)
        # Where a limit leaves nothing at all, a few bytes that grow with nothing are missing too,
        # and Rust ends the process. Whether that happens depends on addresses: they differ by run.
        small = re.search(r"memory allocation of \d{1,3} bytes failed", done.stderr)
        if done.returncode == 0 or not small:
            break
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, (last, done.stderr[-500:])
    assert "'done'" in last[0]
    assert "'short'" in last[0]


LARGE_PLANS = """
import sys
from dataclasses import replace
import bistochastic as bs
import bistochastic_survey as sv
half = bs.randomized_response(2, beta=0.6)
kron = [bs.kron(*[half] * many) for many in (25, 33, 50)]
small = sv.Plan([sv.Numeric("x", matrix=bs.uniform(4))]).protect({"x": [1, 2, 3, 4]}).certificate
for m in (*kron, bs.mix([kron[1], bs.uniform(2**33)], weights=[0.5, 0.5]), bs.uniform(2**50),
          bs.randomized_response(2**50, beta=0.6), bs.k_anonymous(2**50, k=2**40)):
    plan = sv.Plan([sv.Numeric("x", matrix=m)])
    certificate = replace(small, plan=plan, records=m.size)
    text = certificate.to_json()
    assert len(text) < 5000
    if sys.argv[1] == "read":
        sv.Certificate.from_json(text)
    else:
        str(certificate)
        certificate._repr_html_()
"""


@pytest.mark.parametrize("way", ["read", "shown"])
def test_a_small_certificate_of_a_huge_matrix_is_answered(way: str) -> None:
    done = child(LARGE_PLANS, way, timeout=90)
    assert done.returncode == 0, done.stderr[-500:]


def test_moves_that_are_too_many_to_count_are_refused_in_a_sentence() -> None:
    half = bs.randomized_response(2, beta=0.6)
    wide = bs.t_transform(2**40, i=0, j=2**39, keep=0.5)
    for m in (bs.kron(*[half] * 33), bs.uniform(2**40), bs.randomized_response(2**40, beta=0.5),
              bs.k_anonymous(2**40, k=2**30), wide):  # fmt: skip
        with pytest.raises(ValueError, match="`matrix` must move values by at most 8388608 place"):
            m.displacement()


# --- signals --------------------------------------------------------------------------------


class HaltError(Exception):
    """What the handler of a signal raises."""


@contextmanager
def alarms(handler: Callable[..., Any]) -> Iterator[None]:
    """Calls ``handler`` every few milliseconds of work, the system's too, if Python can run it."""
    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def random_law(n: int) -> Any:
    law = np.random.default_rng(0).random(n)
    return law / law.sum()


def random_kernel(n: int) -> Any:
    kernel = np.random.default_rng(0).random(n + 1)
    return kernel / (2 * kernel.sum() - kernel[0] - kernel[-1])


def random_cost(n: int) -> Any:
    return np.random.default_rng(0).random((n, n))


# What is made before, and the call that takes a second or so.
LONG: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "a build by beta": (lambda: None, lambda _: bs.geometric(2_000_000, beta=0.5)),
    "a rounding": (lambda: random_law(10_000_000), bs.circulant),
    "a sum of logarithms": (lambda: bs.reflected(random_kernel(50_000)), lambda m: m.beta),
    "tables": (lambda: bs.circulant(random_law(8_000_000)), lambda m: m.respond(0)),
    "tables of rows": (
        lambda: bs.gibbs(random_cost(2500), temperature=1.0),
        lambda m: m.respond(0),
    ),
    "a scaling": (lambda: random_cost(1500), lambda c: bs.gibbs(c, temperature=0.05)),
    "a table": (
        lambda: bs.geometric(700, beta=0.5) @ bs.circulant(np.arange(1, 701)),
        lambda m: m.to_dense(),
    ),
    "samples of terms": (lambda: bs.uniform(1 << 12).decompose(), lambda d: d.sample(30_000)),
    "a shuffle": (lambda: bs.uniform(1 << 23), lambda m: m.sample_permutation()),
    "a permutation": (
        lambda: bs.gibbs(random_cost(500), temperature=1.0),
        lambda m: m.sample_permutation(),
    ),
    "singular values": (lambda: bs.gibbs(random_cost(800), temperature=1.0), lambda m: m.condition),
    "a profile": (
        lambda: bs.mix(
            [bs.geometric(500, beta=0.5), bs.circulant(np.arange(1, 501))], weights=[0.5, 0.5]
        ),
        lambda m: m.profile(),
    ),
    "an elimination": (
        lambda: bs.tridiagonal(np.random.default_rng(0).random(8_000_000) * 0.5),
        lambda m: m.solve(np.ones(m.size)),
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_signals_are_seen_while_a_long_call_runs(name: str) -> None:
    # A call that looks at no signal before its end runs the handler once, however many came: the
    # second one shows that it looked.
    make, call = LONG[name]
    subject = make()
    seen: list[int] = []
    with alarms(lambda number, _: seen.append(number)):
        begun = time.perf_counter()
        call(subject)
        took = time.perf_counter() - begun
    # What is over so soon, memory for the result included, nobody has to stop.
    if took < 0.6 and len(seen) < 2:
        pytest.skip("over before anybody could stop it")
    assert len(seen) >= 2


def test_what_a_handler_raises_comes_out_and_the_matrix_is_as_good_as_new() -> None:
    m = bs.circulant(random_law(8_000_000))

    def halt(*_: object) -> None:
        # Once: the next might come where the test itself is at work.
        signal.setitimer(signal.ITIMER_PROF, 0)
        raise HaltError

    for call in (lambda: m.respond(0), lambda: m.beta, lambda: m.condition):
        begun = time.perf_counter()
        try:
            with alarms(halt):
                call()
        except HaltError:
            continue
        # A quick machine is done before a signal comes.
        assert time.perf_counter() - begun < 0.6
    assert m.beta == pickle.loads(pickle.dumps(m)).beta
    assert 0 <= m.respond(0) < m.size


def test_a_signal_that_waits_at_the_first_use_of_numpy_is_an_interrupt() -> None:
    code = (
        "import signal, _thread, bistochastic as bs\n"
        "m = bs.uniform(2**20)\n"
        "try:\n"
        "    _thread.interrupt_main(); m.sample_permutation()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = child(code)
    assert (done.stdout.strip(), done.returncode) == ("interrupted", 0), done.stderr[-500:]
    assert "panic" not in done.stderr


# --- forks --------------------------------------------------------------------------------

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")

MEASURES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "beta": (lambda: bs.circulant(random_law(3_000_000)), lambda m: m.beta),
    "epsilon": (lambda: bs.balance(random_cost(900)), lambda m: m.epsilon),
    "reflected": (lambda: bs.geometric(10**6, temperature=300.0), lambda m: m.entropy_rate),
    "operator": (
        lambda: bs.tridiagonal(np.random.default_rng(0).random(3_000_000) * 0.4),
        lambda m: m.condition,
    ),
    "spectrum": (lambda: bs.circulant(random_law(3_000_000)), lambda m: m.is_singular),
    "product": (
        lambda: bs.balance(random_cost(400)) @ bs.geometric(400, beta=0.5),
        lambda m: m.beta,
    ),
    "hash": (lambda: bs.circulant(random_law(3_000_000)), hash),
    "tables": (lambda: bs.circulant(random_law(3_000_000)), lambda m: m.respond(0)),
}


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MEASURES)
def test_a_child_forked_while_a_number_is_found_finds_it_itself(name: str) -> None:
    make, measure = MEASURES[name]
    m = make()
    begun = threading.Event()

    def find() -> None:
        begun.set()
        measure(m)

    thread = threading.Thread(target=find)
    thread.start()
    begun.wait()
    pid = os.fork()
    if pid == 0:
        # The default action of the alarm ends a child that hangs.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        try:
            measure(m)
            os._exit(0)
        finally:
            os._exit(1)
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("what", ["a property", "a key"])
def test_a_child_forked_while_a_thread_finds_something_finds_it_itself(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = sv.Categorical("x", ["a", "b"], "randomized_response", beta=0.3)
    plans = [sv.Plan([column]), sv.Plan([column], name="other")]
    bs.Key.generate().to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    cases: dict[str, tuple[Any, str, Callable[[], Any], Callable[[], bool]]] = {
        "a property": (
            definitions, "measures", lambda: plans[0].by_attribute,
            lambda: all("x" in plan.by_attribute for plan in plans),
        ),
        "a key": (
            keys, "_found", source.read,
            lambda: source.read().fingerprint == source.fingerprint,
        ),
    }  # fmt: skip
    module, name, find, found = cases[what]
    plain, begun, go = getattr(module, name), threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            go.wait(60)
        return plain(*given)

    monkeypatch.setattr(module, name, slow)
    thread = threading.Thread(target=find)
    thread.start()
    assert begun.wait(60)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            os._exit(0 if found() else 2)
        finally:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    go.set()
    thread.join()
    assert status == 0


def test_threads_that_find_a_property_at_once_get_one_object() -> None:
    estimate = bs.identity(3).estimate(counts=[1, 2, 3])
    gate = threading.Barrier(8)
    found: list[Any] = []

    def find() -> None:
        gate.wait()
        found.append(estimate.standard_errors)

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(find)
    assert {id(each) for each in found} == {id(estimate.standard_errors)}


@linux
def test_a_child_with_its_parents_number_in_a_new_namespace_has_threads_of_its_own() -> None:
    code = """
import ctypes, os, signal, sys
import numpy as np, bistochastic as bs
libc = ctypes.CDLL(None, use_errno=True)
p = np.full((512, 512), 1 / 512)

def alone(work):
    if libc.unshare(0x20000000) != 0:
        os._exit(77)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def inner():
    return 0 if os.getpid() == 1 and bs.entropy_rate(p) == 9.0 else 1

def outer():
    assert os.getpid() == 1 and bs.entropy_rate(p) == 9.0
    return alone(inner)

sys.exit(alone(outer))
"""
    done = child(code)
    if done.returncode == 77:
        pytest.skip("namespaces are not to be had here")
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
