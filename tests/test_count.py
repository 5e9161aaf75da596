"""How often each code occurs: every type of integer, and the first code that is out of range."""

from __future__ import annotations

import numpy as np
import pytest

import bistochastic as bs

TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1, 3, 12, 100])
@pytest.mark.parametrize("records", [0, 1, 5, 1000, 100_003])
def test_codes_are_counted(dtype: type[np.integer], size: int, records: int) -> None:
    codes = (np.arange(records) ** 2 % size).astype(dtype)
    found = bs.backend.count(codes, size)
    assert found.tolist() == np.bincount(codes.astype(np.int64), minlength=size).tolist()


def test_a_type_may_hold_fewer_codes_than_there_are() -> None:
    found = bs.backend.count(np.array([255, 3], np.uint8), 300)
    assert (len(found), found.sum(), found[255], found[3]) == (300, 2, 1, 1)


@pytest.mark.parametrize(
    ("codes", "size", "position"),
    [
        (np.array([0, 1, 2, 255], np.uint8), 3, 3),
        (np.array([0, 2, 2**64 - 1, 1], np.uint64), 3, 2),
        (np.array([0, -1], np.int32), 3, 1),
        (np.array([7], np.uint32), 7, 0),
    ],
)
def test_the_first_code_out_of_range_is_found(codes: np.ndarray, size: int, position: int) -> None:
    match = (
        f"`codes` must hold integers from 0 to {size - 1}; got one outside at position {position}"
    )
    with pytest.raises(ValueError, match=f"^{match}$"):
        bs.backend.count(codes, size)
