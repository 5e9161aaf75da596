"""Randomizing a column against the alternatives and the floor, in one run: ``make bench``.

Peers run in an environment of their own (``.venv/peers``), made here; one that does not install is
left out, with the reason. Machines are noisy: what counts is the ratio, and of several repetitions
the best. ``BISTOCHASTIC_BENCH=small`` takes a tenth of the records.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
from common import best, peer

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
N = 10**7 if SMALL else 10**8
KEY = bs.Key.insecure(1)


def line(what: str, nanoseconds: float, rest: str = "") -> None:
    print(f"{what:<58} {nanoseconds:10.2f} ns  {rest}", flush=True)


def ours(matrix: bs.Matrix, codes: NDArray[Any], threads: int, repeats: int = 5) -> float:
    """Nanoseconds a record."""
    matrix.randomize(codes[:1], key=KEY, stream="a", start=0)  # tables are built once
    seconds = best(
        lambda: matrix.randomize(codes, key=KEY, stream="a", start=0, threads=threads), repeats
    )
    return 1e9 * seconds / len(codes)


def codes_of(size: int, n: int, dtype: Any) -> NDArray[Any]:
    return np.random.default_rng(1).integers(0, size, n, dtype=dtype)


# The alternatives, each as good as we could make it.


def one_liner(codes: NDArray[np.uint8], size: int, keep: float) -> NDArray[Any]:
    rng, n = np.random.default_rng(0), len(codes)
    lie = (codes + rng.integers(1, size, n, dtype=np.uint8)) % size
    return np.where(rng.random(n, dtype=np.float32) < np.float32(keep), codes, lie)


def in_place(codes: NDArray[np.uint8], size: int, keep: float) -> NDArray[np.uint8]:
    rng = np.random.default_rng(0)
    n = len(codes)
    shift = rng.integers(1, size, n, dtype=np.uint8)
    shift *= rng.random(n, dtype=np.float32) >= np.float32(keep)
    shift += codes
    shift -= (shift >= size).view(np.uint8) * np.uint8(size)
    return shift


class NumpyAlias:
    """Vose's tables in floats, one a row, read as it is written in textbooks: a column, a side."""

    def __init__(self, law: NDArray[np.float64]) -> None:
        size = len(law)
        self.size = size
        keep = np.ones((size, size), np.float32)
        alias = np.tile(np.arange(size, dtype=np.uint16), (size, 1))
        for u in range(size):
            scaled = law[u] * size
            small = list(np.flatnonzero(scaled < 1))
            large = list(np.flatnonzero(scaled >= 1))
            while small and large:
                a, b = small.pop(), large[-1]
                keep[u, a], alias[u, a] = scaled[a], b
                scaled[b] -= 1 - scaled[a]
                if scaled[b] < 1:
                    small.append(large.pop())
        self.keep: NDArray[Any] = keep.ravel()
        self.alias: NDArray[Any] = alias.ravel()

    def __call__(self, codes: NDArray[Any]) -> NDArray[Any]:
        rng = np.random.default_rng(0)
        column = rng.integers(0, self.size, len(codes), dtype=codes.dtype)
        at = codes.astype(np.intp) * self.size + column
        side = rng.random(len(codes), dtype=np.float32)
        return np.where(side < self.keep[at], column, self.alias[at]).astype(codes.dtype)

    def tuned(self, codes: NDArray[Any]) -> NDArray[Any]:
        """In place, with one uniform number for column and side."""
        x = np.random.default_rng(0).random(len(codes), dtype=np.float32)
        x *= self.size
        column = x.astype(np.int32)
        np.minimum(column, self.size - 1, out=column)
        x -= column
        at = codes.astype(np.int32)
        at *= self.size
        at += column
        return np.where(x < self.keep.take(at), column, self.alias.take(at)).astype(codes.dtype)


def choice(codes: NDArray[Any], law: NDArray[np.float64]) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    out = np.empty_like(codes)
    for u in range(len(law)):
        at = np.flatnonzero(codes == u)
        out[at] = rng.choice(len(law), at.size, p=law[u])
    return out


def table(size: int) -> NDArray[np.float64]:
    p = np.random.default_rng(0).random((size, size))
    for _ in range(60):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return p


# The floor: two bytes of ChaCha20 a record and a copy of the column.


def floor(n: int, threads: int) -> float:
    """Nanoseconds per record of ``benches/floor.rs``, which cargo builds."""
    command = ["cargo", "bench", "--locked", "--quiet", "--bench", "floor", "--"]
    done = subprocess.run(
        [*command, str(n), str(threads)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "CARGO_PROFILE_BENCH_LTO": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def flagship() -> None:
    size, keep = 12, 0.65
    codes = codes_of(size, N, np.uint8)
    m = bs.randomized_response(size, keep=keep)
    one, two = ours(m, codes, 1), ours(m, codes, 2)
    floors = floor(N, 1), floor(N, 2)
    numpy = 1e9 * best(lambda: one_liner(codes, size, keep), 3) / N
    tuned = 1e9 * best(lambda: in_place(codes, size, keep), 3) / N
    print(f"randomized_response, 12 categories, u8, {N:.0e} records")
    line("  NumPy keep-or-shift one-liner, float32 uniforms, u8 shifts", numpy)
    line(
        "  the same in six lines, in place",
        tuned,
        f"{tuned / one:.1f} and {tuned / two:.1f} times ours",
    )
    for threads, mine, least, want in ((1, one, floors[0], 10), (2, two, floors[1], 20)):
        line(f"  floor, {threads} thread(s): ChaCha20 and a copy", least)
        rest = (
            f"{numpy / mine:.1f} times the one-liner (wanted: {want}), {mine / least:.2f} times the"
        )
        line(f"  ours, {threads} thread(s)", mine, f"{rest} floor (wanted: at most 2.5)")
    line("  ours, int64 column, 1 thread", ours(m, codes[: N // 4].astype(np.int64), 1))
    n = min(N, 10**7)
    law = m.to_dense()
    line("  NumPy choice a category", 1e9 * best(lambda: choice(codes[:n], law), 2) / n)


def dense() -> tuple[float, float]:
    print("dense against vectorised NumPy alias (one thread; ours on one and two)")
    base = (0.0, 0.0)
    for size, dtype, want in ((12, np.uint8, 15), (200, np.uint8, 10), (5000, np.uint16, 5)):
        n = N // 10 if size < 5000 else N // 20
        if size < 5000:
            law = table(size)
            m = bs.dense(law)
            alias = NumpyAlias(m.to_dense())
        else:
            law = np.zeros((size, size))
            rng = np.random.default_rng(0)
            counts = np.zeros((size, size), np.int64)
            for _ in range(40):
                counts[np.arange(size), rng.permutation(size)] += int(rng.integers(1, 2**40))
            m = bs.dense(counts)
            alias = NumpyAlias.__new__(NumpyAlias)
            # Any tables cost the same to read; building real ones in Python takes minutes.
            alias.size = size
            alias.keep = rng.random(size * size, dtype=np.float32)
            alias.alias = rng.integers(0, size, size * size, dtype=np.uint16)
        codes = codes_of(size, n, dtype)
        numpy = 1e9 * best(lambda codes=codes, alias=alias: alias(codes), 3) / n  # type: ignore[misc]
        tuned = 1e9 * best(lambda codes=codes, alias=alias: alias.tuned(codes), 3) / n  # type: ignore[misc]
        one, two = ours(m, codes, 1), ours(m, codes, 2)
        if size == 12:
            base = (one, two)
        rest = f"NumPy alias {numpy:.1f} ns: {numpy / one:.1f} and {numpy / two:.1f} times"
        line(f"  dense {size} x {size}, 1 thread", one, f"{rest} faster (wanted: {want})")
        rest = (
            f"tuned in place {tuned:.1f} ns: {tuned / one:.1f} and {tuned / two:.1f} times faster"
        )
        line(f"  dense {size} x {size}, 2 threads", two, rest)
    return base


def structured(base: tuple[float, float]) -> None:
    print("structured families against dense 12 x 12, one thread")
    rng = np.random.default_rng(3)
    for size, dtype, most in (
        (256, np.uint8, 2.0),
        (65_536, np.uint16, 4.0),
        (10**5, np.uint32, 6.0),
        (10**6, np.uint32, 0.0),
        (10**7, np.uint32, 0.0),
    ):
        n = N // 10
        codes = codes_of(size, n, dtype)
        row = rng.random(size)
        families: dict[str, Callable[[], bs.Matrix]] = {
            "tridiagonal": lambda size=size: bs.tridiagonal(0.3, size=size),  # type: ignore[misc]
            "blocks": lambda size=size: bs.k_anonymous(size, k=5),  # type: ignore[misc]
            "circulant": lambda row=row: bs.circulant(row / row.sum()),  # type: ignore[misc]
            "geometric": lambda size=size: bs.geometric(size, temperature=size / 10),  # type: ignore[misc]
            "randomized_response": lambda size=size: bs.randomized_response(size, beta=0.6),  # type: ignore[misc]
        }
        for name, make in families.items():
            start = time.perf_counter()
            m = make()
            m.randomize(codes[:1], key=KEY, stream="a", start=0)
            built = time.perf_counter() - start
            each = ours(m, codes, 1, 3)
            wanted = (
                f" (wanted: at most {most:g})" if most and name != "randomized_response" else ""
            )
            rest = (
                f"{each / base[0]:.1f} times dense 12 x 12{wanted}; built in {1e3 * built:.0f} ms"
            )
            line(f"  {name} {size}", each, rest)


def composites() -> None:
    print("composites against the sum of their parts (wanted: at most 2 times)")
    rr, n = bs.randomized_response, N // 10

    def geometric(size: int) -> bs.Matrix:
        return bs.geometric(size, beta=0.5)

    def halves(*parts: bs.Matrix) -> bs.Matrix:
        return bs.mix(parts, weights=[0.5, 0.5])

    twelve, square, byte = bs.dense(table(12)), bs.dense(table(64)), bs.dense(table(256))
    cases: list[tuple[str, bs.Matrix, list[bs.Matrix]]] = [
        ("kron, randomized response 12 x 12", bs.kron(rr(12, beta=0.6), rr(12, beta=0.6)),
         [rr(12, beta=0.6)] * 2),
        ("kron, dense 12 x 12", bs.kron(twelve, twelve), [twelve] * 2),
        ("kron, dense 64 x 64", bs.kron(square, square), [square] * 2),
        ("kron, dense 256 x 256", bs.kron(byte, byte), [byte] * 2),
        ("kron, randomized response 16^4", bs.kron(*[rr(16, beta=0.6)] * 4),
         [rr(16, beta=0.6)] * 4),
        ("kron, randomized response 2^16", bs.kron(*[rr(2, beta=0.6)] * 16),
         [rr(2, beta=0.6)] * 16),
    ]  # fmt: skip
    for size in (144, 4096, 65_536):
        a, b = rr(size, beta=0.6), geometric(size)
        cases.append((f"mix, two of {size}", halves(a, b), [a, b]))
        cases.append((f"product, two of {size}", a @ b, [a, b]))

    def codes_for(matrix: bs.Matrix) -> NDArray[Any]:
        return codes_of(matrix.size, n, np.uint8 if matrix.size <= 256 else np.uint16)

    for name, whole, parts in cases:
        for threads in (1, 2):
            mine = ours(whole, codes_for(whole), threads, 3)
            least = sum(ours(part, codes_for(part), threads, 3) for part in parts)
            rest = f"{mine / least:.2f} times its parts, {least:.2f} ns"
            line(f"  {name}, {threads} thread(s)", mine, rest)


def identifiers() -> None:
    m = bs.randomized_response(12, beta=0.6)
    n = N // 20
    codes = codes_of(12, n, np.uint8)
    ids = np.random.default_rng(2).integers(0, 2**62, n)
    seconds = best(lambda: m.randomize(codes, key=KEY, stream="a", ids=ids, threads=1), 3)
    line("ids, integers, 1 thread", 1e9 * seconds / n, "(wanted: 30 with AVX2, 15 with AVX-512)")
    texts = [str(i) for i in ids[: n // 10]]
    seconds = best(
        lambda: m.randomize(codes[: n // 10], key=KEY, stream="a", ids=texts, threads=1), 2
    )
    line("ids, texts, 1 thread", 1e9 * seconds / (n // 10))


def respond() -> float:
    m = bs.randomized_response(12, keep=0.65)
    calls = 100_000
    answer = m.respond

    def fresh() -> None:
        for _ in range(calls):
            answer(3)

    def memoised() -> None:
        for i in range(calls // 10):
            answer(3, key=KEY, stream="a", id=i)

    each = 1e9 * best(fresh) / calls
    line("respond, fresh, loop included", each)
    line("respond, with key and id, loop included", 1e9 * best(memoised) / (calls // 10))
    return each


PEER = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
name, out = sys.argv[1], {}
k, eps = 12, 3.0
x = np.random.default_rng(1).integers(0, k, 200_000)
p = float(np.exp(eps) / (k - 1 + np.exp(eps)))
def best(f, n, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return 1e9 * min(times) / n
if name == "numba":
    import numba
    @numba.njit
    def draw(x, p, k):
        y = np.empty_like(x)
        for i in range(x.size):
            if np.random.random() < p:
                y[i] = x[i]
            else:
                y[i] = (x[i] + np.random.randint(1, k)) % k
        return y
    big = np.random.default_rng(1).integers(0, k, 10_000_000).astype(np.uint8)
    draw(big[:10], p, k)
    out = best(lambda: draw(big, p, k), big.size)
elif name == "multi-freq-ldpy":
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    v = [int(c) for c in x[:20_000]]
    GRR_Client(v[0], k, eps)
    out = best(lambda: [GRR_Client(c, k, eps) for c in v], len(v))
elif name == "pure-ldp":
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    client = DEClient(eps, k)
    v = [int(c) + 1 for c in x[:20_000]]
    out = best(lambda: [client.privatise(c) for c in v], len(v))
elif name == "opendp":
    import opendp.prelude as dp
    dp.enable_features("contrib")
    m = dp.m.make_randomized_response(list(range(k)), prob=p)
    v = [int(c) for c in x[:2_000]]
    out = best(lambda: [m(c) for c in v], len(v))
elif name == "pram":
    import pandas as pd
    from pram import pram
    frame = pd.DataFrame({"x": [str(c) for c in x[:2_000]]})
    out = best(lambda: pram(frame.copy(), m=0.8, alpha=0.5), len(frame), 1)
print(json.dumps(out))
"""

# What each peer needs beside itself, as it does not say so.
NEEDS = {
    "numba": ["numba"],
    "multi-freq-ldpy": ["multi-freq-ldpy"],
    "pure-ldp": ["pure-ldp", "statsmodels", "scikit-learn"],
    "opendp": ["opendp"],
    "pram": ["pram", "pandas<3"],
}


def peers(column: float, answer: float) -> None:
    print("peers, from Python, in an environment of their own (12 categories)")
    for name, needs in NEEDS.items():
        each, why = peer(needs, PEER, name)
        if each is None:
            print(f"  {name}: left out: {why}")
            continue
        rest = f"a column of ours is {each / column:.0f} times faster"
        if name not in ("numba", "pram"):
            rest += f", respond {each / answer:.1f} times"
        line(f"  {name}", each, rest)


def memory() -> None:
    """Resident memory beyond the output, in a fresh process (Linux)."""
    code = """
import pathlib, re, sys, numpy as np, bistochastic as bs
status = pathlib.Path("/proc/self/status")
peak = lambda: 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1])
codes = np.ones((5 * 10**7, 2), np.uint8)
codes = codes[:, 0] if sys.argv[1] == "strided" else codes.reshape(-1)
m = bs.randomized_response(12, beta=0.6)
m.randomize(codes[:1000], key=bs.Key.insecure(1), stream="a", start=0)
before = peak()
out = m.randomize(codes, key=bs.Key.insecure(1), stream="a", start=0, threads=2)
print((peak() - before - out.nbytes) / 2**20)
"""
    for layout in ("plain", "strided"):
        done = subprocess.run(
            [sys.executable, "-c", code, layout], check=True, capture_output=True, text=True
        )
        print(f"peak memory beyond the output, {layout} column: {float(done.stdout):.1f} MB")


def main() -> None:
    print(f"\nrandomize, {os.cpu_count()} processors seen, {N:.0e} records")
    flagship()
    base = dense()
    structured(base)
    composites()
    identifiers()
    answer = respond()
    column = ours(bs.randomized_response(12, beta=0.6), codes_of(12, N // 10, np.uint8), 1)
    peers(column, answer)
    memory()


if __name__ == "__main__":
    main()
