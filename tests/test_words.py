"""The same answers from the written law alone: blake3, ChaCha20, derivation, addresses, slots.

Plain Python on purpose, after the definitions in the core's documentation and nothing else, so that
two programs have to agree on every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import bistochastic as bs

MASK = 0xFFFFFFFF
CONTEXT = "bistochastic 2026-11-16 every derivation, version 1"


def rotate_right(x: int, n: int) -> int:
    return (x >> n | x << (32 - n)) & MASK


# blake3, after its specification.
IV = (
    0x6A09E667,
    0xBB67AE85,
    0x3C6EF372,
    0xA54FF53A,
    0x510E527F,
    0x9B05688C,
    0x1F83D9AB,
    0x5BE0CD19,
)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, KEYED, CONTEXT_FLAG, MATERIAL = 1, 2, 4, 8, 16, 32, 64


def compress(
    chain: tuple[int, ...], block: bytes, counter: int, length: int, flags: int
) -> list[int]:
    m = [int.from_bytes(block[i : i + 4], "little") for i in range(0, 64, 4)]
    v = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]

    def mix(a: int, b: int, c: int, d: int, x: int, y: int) -> None:
        for word, r, s in ((x, 16, 12), (y, 8, 7)):
            v[a] = (v[a] + v[b] + word) & MASK
            v[d] = rotate_right(v[d] ^ v[a], r)
            v[c] = (v[c] + v[d]) & MASK
            v[b] = rotate_right(v[b] ^ v[c], s)

    for _ in range(7):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ chain[i] for i in range(8)]


def blake3(data: bytes, key: tuple[int, ...] = IV, flags: int = 0, length: int = 32) -> bytes:
    """Of at most one chunk, 1,024 bytes."""
    assert len(data) <= 1024
    assert length <= 64
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    chain = key
    for i, block in enumerate(blocks):
        last = i == len(blocks) - 1
        own = flags | (START if i == 0 else 0) | (END | ROOT if last else 0)
        out = compress(chain, block.ljust(64, b"\0"), 0, len(block), own)
        chain = tuple(out[:8])
    return b"".join(word.to_bytes(4, "little") for word in out)[:length]


def words(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))


# The encoding.
def size(n: int) -> bytes:
    return n.to_bytes(8, "little")


def text(s: str) -> bytes:
    return b"\x02" + size(len(s.encode())) + s.encode()


def integer(n: int) -> bytes:
    return b"\x03" + n.to_bytes(16, "little", signed=True)


def fraction(f: Fraction) -> bytes:
    parts = (n.to_bytes(16, "little", signed=True) for n in (f.numerator, f.denominator))
    return b"\x05" + b"".join(parts)


def items(*encoded: bytes) -> bytes:
    return b"\x04" + size(len(encoded)) + b"".join(encoded)


def derive(key: bytes, purpose: str, stream: str, path: list[int], digest: bytes) -> bytes:
    context = words(blake3(CONTEXT.encode(), flags=CONTEXT_FLAG))
    labels = items(text("stream"), text(stream))
    encoded = items(text(purpose), labels, items(*map(integer, path)), b"\x01" + size(32) + digest)
    return blake3(key + encoded, context, MATERIAL)


def digest_of(m: bs.Matrix) -> bytes:
    """Of a randomized response."""
    keep = items(text("keep"), fraction(m.parameters["keep"]))
    parameters = items(items(text("size"), integer(m.size)), keep)
    return blake3(items(text("randomized_response"), parameters))


# ChaCha20.
def chacha(key: bytes, counter: int, nonce: int) -> bytes:
    start = [
        *words(b"expand 32-byte k"),
        *words(key),
        *words(counter.to_bytes(8, "little")),
        *words(nonce.to_bytes(8, "little")),
    ]
    x = start.copy()

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for i, j, k, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = (x[i] + x[j]) & MASK
            x[k] = rotate_right(x[k] ^ x[i], 32 - n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join(((a + b) & MASK).to_bytes(4, "little") for a, b in zip(x, start, strict=True))


# The slots of randomized response with words of 16 bits.
def alias_table(slots: list[int], bits: int = 16) -> tuple[list[tuple[int, int]], int]:
    """(threshold, alias) of each column, and the number of decided words."""
    k = max(4, (len(slots) - 1).bit_length())
    mass = slots + [0] * (2**k - len(slots))
    decided, full = sum(slots), 2 ** (bits - k)
    room = [min(max(decided - j * full, 0), full) for j in range(2**k)]
    table = [(0, j) for j in range(2**k)]
    large = 0
    for scan in range(2**k):
        column = scan
        while mass[column] <= room[column]:
            if mass[column] == room[column]:
                table[column] = (0, column)
                break
            while mass[large] <= room[large]:
                large += 1
            table[column] = (mass[column], large)
            mass[large] -= room[column] - mass[column]
            if large > scan:
                break
            column = large
    return table, decided


def below(n: int, more: Iterator[int]) -> int:
    """The whole part of U n, for U with the words as its digits."""
    value, scale = 0, 1
    while True:
        value, scale = value * 2**64 + next(more), scale * 2**64
        if value * n // scale == ((value + 1) * n - 1) // scale:
            return value * n // scale


def respond(m: bs.Matrix, code: int, word: int, more: Iterator[int]) -> int:
    n, d = m.parameters["keep"].numerator, m.parameters["keep"].denominator
    truth = min((n << 16) // d, 2**16 - 1)
    lie = ((d - n) << 16) // (d * (m.size - 1))
    table, decided = alias_table([truth] + [lie] * (m.size - 1))
    if word < decided:
        full = 2**16 // len(table)
        threshold, other = table[word // full]
        shift = word // full if word % full < threshold else other
    else:
        t = (word - decided) * d + below(d, more)
        shift = 0 if t < (n << 16) - truth * d else 1 + below(m.size - 1, more)
    return (code + shift) % m.size


def stream_of(blocks: Iterator[bytes]) -> Iterator[int]:
    for block in blocks:
        yield from (int.from_bytes(block[i : i + 8], "little") for i in range(0, 64, 8))


KEY = bytes(range(32))
MATRICES = [
    bs.randomized_response(12, beta=0.6),
    bs.randomized_response(200, keep=Fraction(1, 7)),
    bs.randomized_response(256, epsilon=2),
]


@pytest.mark.parametrize("m", MATRICES, ids=repr)
def test_by_position(m: bs.Matrix) -> None:
    start, codes = 2**40 + 5, np.arange(700) % m.size
    first = derive(KEY, "randomize words", "income", [], digest_of(m))
    further = derive(KEY, "randomize more", "income", [], digest_of(m))
    want = []
    for row, code in enumerate(codes.tolist(), start):
        block, at = divmod(2 * row, 64)
        word = int.from_bytes(chacha(first, block, 0)[at : at + 2], "little")
        blocks = (chacha(further, row, nonce) for nonce in range(1000))
        want.append(respond(m, code, word, stream_of(blocks)))
    got = m.randomize(codes, key=bs.Key.from_bytes(KEY), stream="income", start=start)
    assert got.tolist() == want


@pytest.mark.parametrize("m", MATRICES, ids=repr)
@pytest.mark.parametrize("kind", ["integer", "text", "bytes"])
def test_by_id(m: bs.Matrix, kind: str) -> None:
    secret = derive(KEY, f"randomize id {kind}", "income", [], digest_of(m))
    ids: list[int | str | bytes] = []
    want = []
    for i in range(400):
        number, code = (i - 200) ** 3, i % m.size
        if kind == "integer":
            ids.append(number)
            block = chacha(secret, number % 2**64, code | (2**63 if number < 0 else 0))
        else:
            ids.append(f"é{number}" if kind == "text" else str(number).encode())
            last = ids[-1]
            raw = last.encode() if isinstance(last, str) else bytes(last)
            block = blake3(size(code) + raw, words(secret), KEYED, 64)
        blocks = (chacha(block[32:], n, 0) for n in range(1000))
        want.append(respond(m, code, int.from_bytes(block[:2], "little"), stream_of(blocks)))
    codes = np.arange(400) % m.size
    got = m.randomize(codes, key=bs.Key.from_bytes(KEY), stream="income", ids=ids)
    assert got.tolist() == want


def test_factors_of_a_kron_have_paths_of_their_own() -> None:
    """Seen from outside: a factor on its own does not give the digits of the joint answer."""
    m = bs.randomized_response(12, beta=0.6)
    both = bs.kron(m, m)
    codes = np.arange(144).repeat(20)
    got = both.randomize(codes, key=bs.Key.from_bytes(KEY), stream="a", start=0)
    slow = m.randomize(codes // 12, key=bs.Key.from_bytes(KEY), stream="a", start=0)
    fast = m.randomize(codes % 12, key=bs.Key.from_bytes(KEY), stream="a", start=0)
    assert not np.array_equal(got // 12, slow)
    assert not np.array_equal(got % 12, fast)
