"""`randomize` and `respond`: the same everywhere, and safe company."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bistochastic as bs
from draw_cases import KEY, MATRICES, codes_for, every_matrix


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


def test_every_processor_gives_the_same_bits() -> None:
    """Keystream, inner loops, entropy and joint tables, with each level in its own process."""
    code = """if True:
        import sys, hashlib
        import numpy as np
        import bistochastic as bs
        sys.path.insert(0, sys.argv[1])
        from draw_cases import KEY, MATRICES, codes_for

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
    want: list[str] = []
    for cpu, threads in (("plain", "1"), ("base", "2"), ("avx2", "2"), ("avx512", "3"), ("", "7")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parents[1])],
            env={**os.environ, "BISTOCHASTIC_CPU": cpu, "BISTOCHASTIC_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        bits = done.stdout.split()
        assert len(bits) == 4
        want = want or bits
        assert bits == want, cpu


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


@pytest.mark.parametrize(
    "m",
    [
        bs.randomized_response(12, beta=0.6),
        bs.randomized_response(100_000, beta=0.6),
        bs.circulant(range(1, 13)),
    ],
    ids=lambda m: f"{m.family}-{m.size}",
)
def test_what_is_drawn_does_not_depend_on_the_code(m: bs.Matrix) -> None:
    # The noise is drawn first and the code added to it. `make sanitize` looks at the machine code.
    key = bs.Key.from_bytes(bytes(range(32)))
    noise = [
        (m.randomize(np.full(5000, u, np.int64), key=key, stream="s", start=0) - u) % m.size
        for u in (0, 1, m.size - 1)
    ]
    assert len(set(noise[0].tolist())) > 5
    for other in noise[1:]:
        assert np.array_equal(noise[0], other)
    # A uniform report is the noise itself.
    uniform = bs.uniform(12)
    reports = [uniform.randomize([u] * 5000, key=key, stream="s", start=0) for u in (0, 11)]
    assert np.array_equal(reports[0], reports[1])
