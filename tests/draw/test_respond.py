"""One answer at a time: the same as ``randomize`` of one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from draw_cases import KEY, MATRICES, codes_for, every_matrix

SECRET = bs.Key.from_bytes(bytes(range(32)))


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


def test_bad_answers_are_one_sentence() -> None:
    m: Any = MATRICES["rr"]
    for code, error in ((77, ValueError), (-77, ValueError), (77.0, TypeError), ("77", TypeError)):
        with pytest.raises(error, match="`code` must be an integer from 0 to 11") as caught:
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
    with pytest.raises(TypeError, match="`id` must be an integer"):
        m.respond(1, key=KEY, stream="a", id=1.5)


def test_integers_of_any_kind_are_codes() -> None:
    m: Any = bs.randomized_response(12, beta=0.6)
    code: Any
    for code in (3, np.int64(3), np.uint8(3)):
        assert m.respond(code) in range(12)
        want = m.respond(3, key=KEY, stream="a", id="person 7")
        assert m.respond(code=code, id="person 7", stream="a", key=KEY) == want
    assert bs.randomized_response(2, beta=0.6).respond(True) in (0, 1)
    for code in (12, -1, 2**63, 2**64, 2**200, -(2**63), -(2**200)):
        with pytest.raises(ValueError, match="`code` must be an integer from 0 to 11"):
            m.respond(code)


def test_respond_is_shared_by_many_threads() -> None:
    m = bs.uniform(2**53)
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: m.respond(0), range(16_000)))
    # 16,000 of 2^53: a repetition by chance has probability 1.4e-8.
    assert len(set(seen)) == 16_000
