"""`randomize` and `respond`: the same everywhere, and safe company."""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

KEY = bs.Key.insecure(2026)


def matrices() -> dict[str, bs.Matrix]:
    """One of each structure and width, fixed."""
    i = np.arange(300)
    cost = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    rr = bs.randomized_response
    return {
        "identity": bs.identity(12),
        "permutation": bs.permutation((5 * i[:12] + 3) % 12),
        "uniform": bs.uniform(12),
        "rr": rr(12, beta=0.6),
        "rr 200": rr(200, epsilon=3),
        "rr 70000": rr(70_000, beta=0.6),
        "rr 2^25": rr(2**25, beta=0.6),
        "blocks": bs.blocks([1, 4, 7]),
        "blocks 2^25": bs.k_anonymous(2**25, k=5),
        "k_anonymous": bs.k_anonymous(300, k=7),
        "circulant": bs.circulant([6, 3, 0, 1, 2, 2, 2, 1, 1, 1, 1, 1]),
        "circulant 300": bs.circulant(i**2 % 9),
        "tridiagonal": bs.tridiagonal(0.3, size=12),
        "tridiagonal 300": bs.tridiagonal(i[1:] * 37 % 101 / 202),
        "tridiagonal 2^25": bs.tridiagonal(0.5, size=2**25),
        "reflected": bs.reflected([5, 4, 3, 0, 1]),
        "geometric": bs.geometric(12, beta=0.6),
        "geometric 300": bs.geometric(300, temperature=20),
        "gibbs": bs.gibbs(cost, temperature=2),
        "dense 300": bs.balance(np.outer(i + 1, i + 2) * 7919 % 997 + 1),
        "t_transform": bs.t_transform(12, 3, 7, keep=0.6),
        "kron": bs.kron(rr(3, beta=0.6), bs.geometric(4, beta=0.4)),
        "mix": bs.mix([rr(12, beta=0.6), bs.geometric(12, beta=0.2)], weights=[0.25, 0.75]),
        "product": bs.gibbs(cost, temperature=2) @ bs.tridiagonal(0.3, size=12),
        "nested": bs.kron(
            bs.mix([rr(2, beta=0.5), bs.uniform(2)], weights=[0.5, 0.5]), rr(6, beta=1)
        )
        @ rr(12, beta=0.1),
    }


MATRICES = matrices()
every_matrix = pytest.mark.parametrize("name", list(MATRICES))


def codes_for(matrix: bs.Matrix, n: int) -> Any:
    return np.arange(n) * 104_729 % matrix.size


@every_matrix
def test_threads_and_pieces_do_not_matter(name: str) -> None:
    m = MATRICES[name]
    codes = codes_for(m, 150_001)
    whole = m.randomize(codes, key=KEY, stream="a", start=10, threads=1)
    assert whole.min() >= 0
    assert whole.max() < m.size
    for threads in (2, 7):
        again = m.randomize(codes, key=KEY, stream="a", start=10, threads=threads)
        assert np.array_equal(again, whole)
    cuts = [0, 1, 3, 70, 1014, 65_526, 65_527, 100_000, len(codes)]
    pieces = [
        m.randomize(codes[a:b], key=KEY, stream="a", start=10 + a)
        for a, b in itertools.pairwise(cuts)
    ]
    assert np.array_equal(np.concatenate(pieces), whole)


@every_matrix
def test_the_dtype_does_not_matter(name: str) -> None:
    m = MATRICES[name]
    codes = codes_for(m, 5000)
    want = m.randomize(codes, key=KEY, stream="a", start=3)
    ids = m.randomize(codes, key=KEY, stream="a", ids=np.arange(5000))
    for dtype in np.typecodes["AllInteger"]:
        if m.size - 1 > np.iinfo(dtype).max:
            with pytest.raises(ValueError, match="`codes` must have a dtype that holds"):
                m.randomize(codes.astype(dtype), key=KEY, stream="a", start=3)
            continue
        typed = codes.astype(dtype)
        for given in (typed, typed.astype(typed.dtype.newbyteorder())):
            got = m.randomize(given, key=KEY, stream="a", start=3)
            assert got.dtype == given.dtype
            assert got.dtype.byteorder == given.dtype.byteorder
            assert np.array_equal(got, want)
            assert np.array_equal(m.randomize(given, key=KEY, stream="a", ids=np.arange(5000)), ids)


@every_matrix
def test_respond_is_randomize_of_one(name: str) -> None:
    m = MATRICES[name]
    ids: list[Any] = [0, -1, 2**64 - 1, -(2**63), "person 7", b"person 7", "", b"", "é", 12345]
    codes = [int(code) for code in codes_for(m, len(ids))]
    want = m.randomize(codes, key=KEY, stream="a", ids=ids)
    got = [
        m.respond(code, key=KEY, stream="a", id=id_) for code, id_ in zip(codes, ids, strict=True)
    ]
    assert got == want.tolist()
    # An object array and a tuple say the same.
    array = np.array(ids, dtype=object)
    assert np.array_equal(m.randomize(codes, key=KEY, stream="a", ids=array), want)
    assert np.array_equal(m.randomize(codes, key=KEY, stream="a", ids=tuple(ids)), want)
    assert all(0 <= m.respond(code) < m.size for code in codes for _ in range(20))


def test_layout_and_shape_do_not_matter() -> None:
    m = MATRICES["rr"]
    codes = codes_for(m, 6000).astype(np.uint8)
    want = m.randomize(codes, key=KEY, stream="a", start=0)
    wide = np.zeros((6000, 3), np.uint8)
    wide[:, 1] = codes
    read_only = codes.copy()
    read_only.flags.writeable = False
    padded = np.zeros(6001, np.uint8)[1:]
    padded[:] = codes
    packed = np.zeros(6000, dtype=[("a", "u1"), ("b", "<i8")])
    packed["b"] = codes
    views = (wide[:, 1], read_only, padded, codes[::-1][::-1], packed["b"], list(codes), codes.data)
    for view in views:
        assert np.array_equal(m.randomize(view, key=KEY, stream="a", start=0), want)
    cube = codes.reshape(10, 20, 30)
    assert np.array_equal(m.randomize(cube, key=KEY, stream="a", start=0), want.reshape(10, 20, 30))
    # Rows are counted in C order, whatever the memory's.
    fortran = np.asfortranarray(cube)
    assert np.array_equal(
        m.randomize(fortran, key=KEY, stream="a", start=0), want.reshape(10, 20, 30)
    )
    assert m.randomize(codes[3], key=KEY, stream="a", start=3).shape == ()
    assert int(m.randomize(np.uint8(codes[3]), key=KEY, stream="a", start=3)) == want[3]
    before = codes.copy()
    m.randomize(codes, key=KEY, stream="a", start=0)
    assert np.array_equal(codes, before)


def test_nothing_in_nothing_out() -> None:
    m = MATRICES["rr"]
    for dtype in (np.uint8, np.int64, ">i4"):
        for shape in ((0,), (3, 0), (0, 2, 2)):
            got = m.randomize(np.empty(shape, dtype), key=KEY, stream="a", start=0)
            assert (got.dtype, got.shape) == (np.dtype(dtype), shape)
    assert m.randomize([]).shape == (0,)
    assert m.randomize(np.empty(0, np.uint8), key=KEY, stream="a", ids=[]).shape == (0,)


def test_booleans_are_two_categories() -> None:
    m = bs.randomized_response(2, keep=0.75)
    codes = np.arange(1000) % 3 == 0
    got = m.randomize(codes, key=KEY, stream="a", start=0)
    assert got.dtype == bool
    assert np.array_equal(got, m.randomize(codes.astype(np.uint8), key=KEY, stream="a", start=0))
    assert m.randomize(codes[::2], key=KEY, stream="a", start=0).dtype == bool
    assert m.respond(True) in (0, 1)
    with pytest.raises(ValueError, match="a dtype that holds 2; got bool"):
        bs.uniform(3).randomize(codes)


def test_streams_keys_matrices_and_starts_give_other_words() -> None:
    m = MATRICES["rr"]
    codes = np.zeros(4000, np.uint8)
    seen = [
        m.randomize(codes, key=KEY, start=0, stream="a"),
        m.randomize(codes, key=KEY, start=0, stream="b"),
        m.randomize(codes, key=KEY, stream="a", start=1),
        m.randomize(codes, key=bs.Key.insecure(1), start=0, stream="a"),
        bs.randomized_response(12, beta=0.6000001).randomize(codes, key=KEY, start=0, stream="a"),
        m.randomize(codes, key=KEY, stream="a", ids=np.arange(4000)),
        m.randomize(codes, key=KEY, stream="a", ids=[str(i) for i in range(4000)]),
        m.randomize(codes, key=KEY, stream="a", ids=[str(i).encode() for i in range(4000)]),
        m.randomize(codes),
        m.randomize(codes),
    ]
    share = float(m.exact_row(0)[0])
    for i, a in enumerate(seen):
        for b in seen[:i]:
            # Independent answers agree by chance; six standard deviations is a false alarm in 1e9.
            agree = share**2 + (1 - share) ** 2 / 11
            assert abs((a == b).mean() - agree) < 6 * (agree * (1 - agree) / 4000) ** 0.5


def test_ids_follow_the_person_and_not_the_row() -> None:
    m = MATRICES["kron"]
    codes = codes_for(m, 3000)
    ids = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 3000)
    want = m.randomize(codes, key=KEY, stream="a", ids=ids)
    order = np.random.default_rng(2).permutation(3000)
    assert np.array_equal(
        m.randomize(codes[order], key=KEY, stream="a", ids=ids[order]), want[order]
    )
    # By value: any width, any layout, Python's integers.
    small = np.arange(3000) % 100
    want = m.randomize(codes, key=KEY, stream="a", ids=small)
    for same in (
        small.astype(np.uint8),
        small.astype(">i2"),
        np.repeat(small, 2)[::2],
        list(small),
    ):
        assert np.array_equal(m.randomize(codes, key=KEY, stream="a", ids=same), want)
    assert np.array_equal(
        m.randomize(codes, key=KEY, stream="a", ids=[int(i) for i in small]), want
    )
    texts = np.array([f"p{i}" for i in small])
    by_text = m.randomize(codes, key=KEY, stream="a", ids=texts)
    assert np.array_equal(m.randomize(codes, key=KEY, stream="a", ids=texts.tolist()), by_text)
    whole = np.array([f"p{i:02}" for i in small])
    as_bytes = m.randomize(codes, key=KEY, stream="a", ids=whole.astype("S"))
    assert np.array_equal(
        as_bytes, m.randomize(codes, key=KEY, stream="a", ids=[t.encode() for t in whole])
    )
    assert not np.array_equal(as_bytes, m.randomize(codes, key=KEY, stream="a", ids=whole))


def test_every_processor_gives_the_same_bits() -> None:
    """Keystream, inner loops, entropy and joint tables, with each level in its own process."""
    code = """if True:
        import sys, hashlib
        sys.path.insert(0, "tests")
        from test_randomize import *

        print(bs._core.processor())
        h = hashlib.sha256()
        for m in MATRICES.values():
            c = codes_for(m, 20011)
            h.update(m.randomize(c, key=KEY, stream="a", start=5).tobytes())
            h.update(m.randomize(c, key=KEY, stream="a", ids=c * 3 - 7).tobytes())
        print(h.hexdigest())
        array = np.arange(1.0, 300 * 300 + 1).reshape(300, 300) % 17
        dense = bs.balance(array + 1.0)
        print(bs.entropy_rate(dense.to_dense()).hex(), dense.entropy_rate.hex())
        parts = [bs.randomized_response(n, beta=0.5) for n in (2, 3, 4, 7)]
        joint = bs.kron(*parts, bs.tridiagonal(size=5, beta=0.3), bs.permutation([2, 0, 1]))
        x = np.random.default_rng(1).random(joint.size)
        print(hashlib.sha256(joint.apply(x).tobytes() + joint.solve(x).tobytes()).hexdigest())
    """
    levels = ("plain", "base", "avx2", "avx512")
    seen = {}
    for cpu, threads in (("plain", "1"), ("base", "2"), ("avx2", "2"), ("avx512", "3"), ("", "7")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "BISTOCHASTIC_CPU": cpu, "BISTOCHASTIC_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        level, *bits = done.stdout.split()
        seen[cpu] = level
        assert len(bits) == 4
        if cpu == "plain":
            want = bits
        assert bits == want, (cpu, level)
    assert seen["plain"] == "plain"
    assert all(levels.index(level) <= levels.index(cpu) for cpu, level in seen.items() if cpu)
    # An unknown name is no bound, so it is the best of all.
    assert seen[""] == seen["avx512"] == max(seen.values(), key=levels.index)


def test_golden_outputs() -> None:
    """A change here is an entry under "Values" in the changelog."""
    digest = hashlib.sha256()
    for m in MATRICES.values():
        codes = codes_for(m, 3000)
        digest.update(m.randomize(codes, key=KEY, stream="golden", start=7).astype("<i8").tobytes())
        ids = np.arange(3000) - 5
        digest.update(m.randomize(codes, key=KEY, stream="golden", ids=ids).astype("<i8").tobytes())
    assert digest.hexdigest() == "2e16b0afc086f48f629a43a74f551eb53641011c3528df8d24b641160603e2e1"
    m = bs.randomized_response(12, beta=0.6)
    key = bs.Key.from_bytes(bytes(range(32)))
    codes = np.arange(24) % 12
    golden = {
        "start": [0, 1, 2, 8, 9, 5, 2, 7, 7, 9, 1, 11, 7, 1, 6, 3, 11, 1, 10, 7, 0, 9, 8, 1],
        "ids": [1, 1, 1, 6, 4, 5, 6, 6, 8, 9, 10, 9, 0, 1, 2, 11, 4, 5, 7, 10, 8, 8, 10, 11],
        "text": [1, 1, 2, 3, 4, 5, 6, 7, 11, 9, 10, 10, 7, 1, 2, 0, 1, 5, 6, 7, 11, 9, 10, 11],
    }
    got = {
        "start": m.randomize(codes, key=key, stream="golden", start=2**40),
        "ids": m.randomize(codes, key=key, stream="golden", ids=np.arange(24)),
        "text": m.randomize(codes, key=key, stream="golden", ids=[f"p{i}" for i in range(24)]),
    }
    assert {name: reports.tolist() for name, reports in got.items()} == golden


SECRET = bs.Key.from_bytes(bytes(range(32)))
CODES = np.array([0, 1, 2, 3])
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"codes": [0, 12, 77]}, ValueError, "from 0 to 11; got one outside at position 1"),
    ({"codes": np.array([3, -1])}, ValueError, "from 0 to 11; got one outside at position 1"),
    ({"codes": np.array([0, 0, 200], np.uint8)}, ValueError, "position 2"),
    ({"codes": np.array([0, 77], ">i4")}, ValueError, "position 1"),
    (
        {"codes": [0.0, 1.0]},
        TypeError,
        "`codes` must be an array of whole numbers; got dtype float",
    ),
    ({"codes": [0, np.nan]}, TypeError, "got dtype float64"),
    ({"codes": np.array([0, None])}, TypeError, "got dtype object"),
    ({"codes": ["a"]}, TypeError, "`codes` must be an array of whole numbers; got dtype str"),
    ({"codes": [[0], [1, 2]]}, TypeError, "`codes` must be an array of whole numbers"),
    ({"codes": np.zeros(0)}, TypeError, "got dtype float64"),
    ({"codes": np.ma.array([0, 1], mask=[False, True])}, ValueError, "must hold no missing values"),
    # One rule for all keys: an example that works is a release that works.
    ({"key": KEY}, ValueError, "`stream` must name what a key is used for; got none"),
    ({"key": KEY, "start": 0}, ValueError, "`stream` must name"),
    ({"key": KEY, "ids": CODES}, ValueError, "`stream` must name"),
    ({"key": KEY, "stream": "a"}, ValueError, "`start` must be given with a key; got none"),
    ({"key": SECRET}, ValueError, "`stream` must name what a key is used for; got none"),
    ({"key": SECRET, "start": 0}, ValueError, "`stream` must name"),
    ({"key": SECRET, "stream": "a"}, ValueError, "`start` must be given with a key; got none"),
    ({"key": SECRET, "stream": b"a", "start": 0}, TypeError, "`stream` must be a text; got bytes"),
    (
        {"key": SECRET, "stream": "a", "start": 0, "ids": CODES},
        ValueError,
        "`start` must be left out where ids address the records; got both",
    ),
    ({"ids": CODES}, ValueError, "`key` must be given with ids; got none"),
    ({"key": KEY, "stream": "a", "start": -1}, ValueError, "`start` must be a whole number from 0"),
    ({"key": KEY, "stream": "a", "start": 0.5}, TypeError, "`start` must be a whole number"),
    ({"key": KEY, "stream": "a", "start": 2**70}, ValueError, "`start` must be a whole number"),
    ({"threads": 0}, ValueError, "`threads` must be a whole number from 1 to 1024; got 0"),
    ({"threads": True}, TypeError, "`threads` must be a whole number"),
    (
        {"key": KEY, "stream": "a", "ids": CODES[:3]},
        ValueError,
        "`ids` must be one for each of the 4 records; got 3",
    ),
    ({"key": KEY, "stream": "a", "ids": [0, None, 77, 1]}, TypeError, "got none at position 1"),
    ({"key": KEY, "stream": "a", "ids": [0, 1.5, 77, 1]}, TypeError, "got float at position 1"),
    (
        {"key": KEY, "stream": "a", "ids": ["a", float("nan"), "b", "c"]},
        TypeError,
        "float at position 1",
    ),
    (
        {"key": KEY, "stream": "a", "ids": [0, 1, 2, 2**64]},
        ValueError,
        "a number outside at position 3",
    ),
    (
        {"key": KEY, "stream": "a", "ids": [0, 1, 2, 2**200]},
        ValueError,
        "a number outside at position 3",
    ),
    ({"key": KEY, "stream": "a", "ids": [0, 1, 2, True]}, TypeError, "bool at position 3"),
    (
        {"key": KEY, "stream": "a", "ids": CODES / 2},
        TypeError,
        "`ids` must hold one whole number, text or bytes",
    ),
    ({"key": KEY, "stream": "a", "ids": "abcd"}, TypeError, "`ids` must hold one whole number"),
    ({"key": b"0" * 32, "stream": "a", "start": 0}, TypeError, "`key` must be a Key; got bytes"),
]


@pytest.mark.parametrize(("given", "error", "text"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence(given: Any, error: type[Exception], text: str) -> None:
    m: Any = MATRICES["rr"]
    with pytest.raises(error) as caught:
        m.randomize(given.pop("codes", CODES), **given)
    assert text in str(caught.value)
    assert "77" not in str(caught.value)


def test_bad_answers_are_one_sentence() -> None:
    m: Any = MATRICES["rr"]
    for code, error in ((77, ValueError), (-77, ValueError), (77.0, TypeError), ("77", TypeError)):
        with pytest.raises(error, match="`code` must be a whole number from 0 to 11") as caught:
            m.respond(code)
        assert "77" not in str(caught.value)
    with pytest.raises(TypeError, match="`code` must"):
        m.respond(True)
    for key in (SECRET, KEY):
        with pytest.raises(ValueError, match="`stream` must name"):
            m.respond(1, key=key, id=1)
        with pytest.raises(ValueError, match="`id` must be given with a key"):
            m.respond(1, key=key, stream="a")
        with pytest.raises(ValueError, match="`stream` must name"):
            m.sample_permutation(key=key)
        with pytest.raises(ValueError, match="`stream` must name"):
            m.decompose().sample(1, key=key)
    with pytest.raises(ValueError, match="`key` must be given with an id"):
        m.respond(1, id=1)
    with pytest.raises(TypeError, match="`id` must be a whole number"):
        m.respond(1, key=KEY, stream="a", id=1.5)


def test_the_first_bad_code_is_named_on_any_number_of_threads() -> None:
    codes = np.zeros(1_000_000, np.uint8)
    codes[[400_000, 700_000, 999_999]] = 12
    for threads in (1, 2, 7):
        with pytest.raises(ValueError, match=r"got one outside at position 400000$"):
            MATRICES["rr"].randomize(codes, threads=threads)


def slow() -> tuple[bs.Matrix, Any]:
    """About half a minute of work."""
    m = bs.kron(*[bs.randomized_response(2, beta=0.5)] * 40)
    return m, np.zeros(20_000_000, np.int64)


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("by_ids", [False, True])
def test_ctrl_c_stops_a_long_call_within_a_second(by_ids: bool) -> None:
    m, codes = slow()
    where: Any = {"ids": np.arange(len(codes))} if by_ids else {"start": 0}
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        m.randomize(codes, key=KEY, stream="a", **where)
    assert time.monotonic() - sent[0] < 1
    timer.join()


def test_other_threads_run_meanwhile() -> None:
    m = MATRICES["dense 300"]
    codes = codes_for(m, 3_000_000)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    want = m.randomize(codes, key=KEY, stream="a", start=0, threads=1)
    m.randomize(codes, key=KEY, stream="a", ids=codes, threads=1)
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    assert ticks > min(20, 50 * seconds)
    seen: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: seen.append(
                np.array_equal(m.randomize(codes, key=KEY, stream="a", start=0), want)
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


def in_child(work: Any) -> bytes:
    """What `work` returns in a forked child, within 20 seconds."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, work())
        finally:
            os._exit(0)
    os.close(write)
    for _ in range(200):
        if os.waitpid(pid, os.WNOHANG)[0]:
            with os.fdopen(read, "rb") as pipe:
                return pipe.read()
        time.sleep(0.1)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    pytest.fail("the child did not answer within 20 seconds")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_randomizes_and_repeats_nothing() -> None:
    m = MATRICES["rr"]
    codes = codes_for(m, 1_000_000)
    want = m.randomize(codes, key=KEY, stream="a", start=0, threads=2)

    def answers() -> bytes:
        return bytes(bs.uniform(256).respond(0) for _ in range(64))

    answers()
    children = [in_child(answers) for _ in range(3)]
    mine = answers()
    assert len({mine, *children}) == 4
    assert all(len(child) == 64 for child in children)
    same = in_child(
        lambda: hashlib.sha256(
            m.randomize(codes, key=KEY, stream="a", start=0, threads=2).tobytes()
        ).digest()
    )
    assert same == hashlib.sha256(want.tobytes()).digest()


def test_respond_is_shared_by_many_threads() -> None:
    m = bs.uniform(2**53)
    seen: list[int] = []

    def ask() -> None:
        seen.extend([m.respond(0) for _ in range(2000)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 16,000 of 2^53: a repetition by chance has probability 1.4e-8.
    assert len(set(seen)) == 16_000


def test_ids_are_never_lost_or_shown() -> None:
    m, key = bs.randomized_response(4, epsilon=1), bs.Key.insecure(3)
    masked = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(ValueError, match="hold no missing values; got 1, the first at position 1"):
        m.randomize([1, 2, 3], key=key, stream="a", ids=masked)
    with pytest.raises(ValueError, match="no Unicode at position 1") as caught:
        m.randomize([1, 2, 3], key=key, stream="a", ids=["a", "secret\ud800name", "c"])
    assert "secret" not in repr(caught.value)


class _Interrupted:
    def __array__(self, *_: object, **__: object) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_while_reading_is_passed_on() -> None:
    m, key = bs.randomized_response(4, epsilon=1), bs.Key.insecure(3)
    loose: Any = m
    with pytest.raises(KeyboardInterrupt):
        loose.randomize(_Interrupted())
    with pytest.raises(KeyboardInterrupt):
        loose.randomize([1], key=key, stream="a", ids=_Interrupted())
