"""Reports that follow a person: ``ids``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from draw_cases import KEY, MATRICES, codes_for


def test_ids_follow_the_person_and_not_the_row() -> None:
    m = MATRICES["kron"]
    codes = codes_for(m, 3000)
    ids = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 3000)

    def drawn(ids: object, codes: Any = codes) -> list[int]:
        found: list[int] = m.randomize(codes, key=KEY, stream="a", ids=ids).tolist()
        return found

    order = np.random.default_rng(2).permutation(3000)
    assert drawn(ids[order], codes[order]) == np.array(drawn(ids))[order].tolist()
    # By value: any width, any layout, Python's integers.
    small = np.arange(3000) % 100
    for same in (small.astype("u1"), small.astype(">i2"), np.repeat(small, 2)[::2], small.tolist()):
        assert drawn(same) == drawn(list(small))
    texts = np.array([f"p{i}" for i in small])
    assert drawn(texts.tolist()) == drawn(texts)
    whole = np.array([f"p{i:02}" for i in small])
    assert drawn(whole.astype("S")) == drawn([text.encode() for text in whole]) != drawn(whole)


def test_ids_are_never_lost_or_shown() -> None:
    m, key = bs.randomized_response(4, epsilon=1), bs.Key.insecure(3)
    masked = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(ValueError, match="hold no missing values; got 1, the first at position 1"):
        m.randomize([1, 2, 3], key=key, stream="a", ids=masked)
    with pytest.raises(ValueError, match="not Unicode at position 1") as caught:
        m.randomize([1, 2, 3], key=key, stream="a", ids=["a", "secret\ud800name", "c"])
    assert "secret" not in repr(caught.value)
