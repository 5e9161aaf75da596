"""Composites at the borders of the types of their codes: vectors, rest and protocol agree.

Records are drawn many at a time, by vectors and in codes as narrow as each component allows. Pieces
of seven records are too short for any vector. A few records are drawn by the protocol alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import bistochastic as bs
import protocol
from bistochastic import _core
from bistochastic_survey.plan.client import draw_of

RAW = bytes(range(32))
KEY = bs.Key.from_bytes(RAW)
RECORDS, FIRST, PIECE = 1_300, 77, 7  # more than a block, which ends inside


def rr(size: int, keep: Fraction = Fraction(3, 7)) -> bs.Matrix:
    return bs.randomized_response(size, keep=keep) if size > 1 else bs.uniform(1)


def rows(size: int) -> bs.Matrix:
    """A row of its own per category, and many words that decide nothing."""
    u, v = np.indices((size, size))
    return bs.dense((u + v) % size + 1)


def several(n: int) -> list[bs.Matrix]:
    """So many matrices of 12 categories, of which about forty differ."""
    made: list[Callable[[int], bs.Matrix]] = [
        lambda _i: rr(12) @ rows(12),
        lambda _i: rows(12),
        lambda i: rr(12, Fraction(1 + i % 40, 2 + n)),
    ]
    return [made[i % 3](i) for i in range(n)]


def mix(parts: list[bs.Matrix]) -> bs.Matrix:
    return bs.mix(parts, weights=[Fraction(1, len(parts))] * len(parts))


KRONS = [
    (12, 12), (5, 3, 17), (2,) * 8, (1, 255), (1, 256), (256, 1), (1, 257), (257,), (64, 64),
    (255, 257), (257, 255), (256, 256), (1, 65_535, 1), (1, 65_536), (65_536, 1), (1, 65_537),
    (65_537, 1), (2, 65_536), (65_536, 65_536), (1, 65_536, 1, 65_536), (65_537, 65_537),
    (3, 1 << 25, 5),
]  # fmt: skip
MATRICES: dict[str, Callable[[], bs.Matrix]] = {
    **{f"kron {s}": lambda s=s: bs.kron(*map(rr, s)) for s in KRONS},  # type: ignore[misc]
    "kron undecided": lambda: bs.kron(rows(200), bs.identity(3), rows(100)),
    "product undecided": lambda: rows(200) @ rr(200),
    **{f"mix of {n}": lambda n=n: mix(several(n)) for n in (1, 2, 3, 16, 17, 33, 255, 256, 257)},  # type: ignore[misc]
    **{
        f"mix of size {s}": lambda s=s: mix([rr(s), bs.identity(s), bs.uniform(s)])  # type: ignore[misc]
        for s in (255, 256, 257, 65_535, 65_536, 65_537, 1 << 33)
    },
    "mix of one many times": lambda: mix([rows(200)] * 40),
    "mix of mixes": lambda: mix([mix(several(40)), mix(several(3)), rr(12)]),
    "nested": lambda: bs.kron(
        mix([*several(33), bs.kron(rr(3), rows(4)) @ mix(several(40))]), rr(300), mix(several(2))
    ),
    "product of krons": lambda: (
        bs.kron(mix(several(40)), rr(5)) @ bs.kron(rr(4), bs.kron(rr(3), rr(5)))
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_many_records_are_drawn_as_few_and_as_the_protocol_says(name: str) -> None:
    m = MATRICES[name]()
    i = np.arange(RECORDS)
    # Both ends of the codes are among the first.
    codes = np.where(i % 2 == 0, i * 7919 % m.size, m.size - 1 - i // 2 % m.size)
    ids = (i - 5) * 1_000_003
    by_row = m.randomize(codes, key=KEY, stream="x", start=FIRST, threads=1)
    by_id = m.randomize(codes, key=KEY, stream="x", ids=ids, threads=2)
    for bits in (8, 16, 32, 64):
        if m.size <= 1 << bits:
            narrow = codes.astype(f"u{bits // 8}")
            got = m.randomize(narrow, key=KEY, stream="x", start=FIRST, threads=2)
            assert (got == by_row).all()
            assert (m.randomize(narrow, key=KEY, stream="x", ids=ids) == by_id).all()
    for first in range(0, RECORDS, PIECE):
        piece = slice(first, first + PIECE)
        row = m.randomize(codes[piece], key=KEY, stream="x", start=FIRST + first)
        assert (row == by_row[piece]).all()
        listed = m.randomize(codes[piece], key=KEY, stream="x", ids=ids[piece].tolist())
        assert (listed == by_id[piece]).all()
    form, digest = protocol.numbers(draw_of(m)), bytes.fromhex(_core.digest_of(m))
    for at in range(0, RECORDS, RECORDS // 5):
        code = int(codes[at])
        address = protocol.Address(RAW, ["stream", "x"], digest, row=FIRST + at)
        assert protocol.draw(form, code, address) == by_row[at]
        address = protocol.Address(RAW, ["stream", "x"], digest, id=int(ids[at]), code=code)
        assert protocol.draw(form, code, address) == by_id[at]
