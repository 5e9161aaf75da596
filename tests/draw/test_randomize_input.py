"""What ``randomize`` refuses, in one sentence, and whom it lets through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from draw_cases import KEY, MATRICES

SECRET = bs.Key.from_bytes(bytes(range(32)))
CODES = np.array([0, 1, 2, 3])
KEYED: dict[str, Any] = {"key": KEY, "stream": "a"}


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"codes": [0, 12, 77]}, ValueError, "from 0 to 11; got one outside at position 1"),
    ({"codes": np.array([3, -1])}, ValueError, "from 0 to 11; got one outside at position 1"),
    ({"codes": np.array([0, 0, 200], np.uint8)}, ValueError, "position 2"),
    ({"codes": np.array([0, 77], ">i4")}, ValueError, "position 1"),
    (
        {"codes": [0.0, 1.0]},
        TypeError,
        "`codes` must be an array of integers without missing values; got dtype float",
    ),
    ({"codes": [0, np.nan]}, TypeError, "got dtype float64"),
    ({"codes": np.array([0, None])}, TypeError, "got dtype object"),
    ({"codes": np.ma.array([0, 1], mask=[False, True])}, ValueError, "must hold no missing values"),
    # One rule for all keys: an example that works is a release that works.
    ({"key": KEY, "ids": CODES}, ValueError, "`stream` must name"),
    *(
        case
        for key in (KEY, SECRET)
        for case in (
            ({"key": key}, ValueError, "`stream` must name what a key is used for; got none"),
            ({"key": key, "start": 0}, ValueError, "`stream` must name"),
            (
                {"key": key, "stream": "a"},
                ValueError,
                "`start` must be given with a key, for one "
                "release, whose stream names the column and the wave; or ids, for people who come "
                "again, whose stream names only the column; got none of both",
            ),
        )
    ),
    (
        {"key": SECRET, "stream": b"a", "start": 0},
        TypeError,
        "`stream` must be a string; got bytes",
    ),
    (
        {"key": SECRET, "stream": "a", "start": 0, "ids": CODES},
        ValueError,
        "`start` must be left out where ids address the records; got both",
    ),
    ({"ids": CODES}, ValueError, "`key` must be given with ids; got none"),
    ({**KEYED, "start": -1}, ValueError, "`start` must be an integer from 0"),
    ({**KEYED, "start": 2**70}, ValueError, "`start` must be an integer"),
    ({"threads": 0}, ValueError, "`threads` must be an integer from 1 to 1024; got 0"),
    ({**KEYED, "ids": CODES[:3]}, ValueError, "`ids` must be one for each of the 4 records; got 3"),
    ({**KEYED, "ids": [0, None, 77, 1]}, TypeError, "got none at position 1"),
    ({**KEYED, "ids": [0, 1.5, 77, 1]}, TypeError, "got float at position 1"),
    ({**KEYED, "ids": ["a", float("nan"), "b", "c"]}, TypeError, "float at position 1"),
    ({**KEYED, "ids": [0, 1, 2, 2**64]}, ValueError, "a number outside at position 3"),
    ({**KEYED, "ids": [0, 1, 2, True]}, TypeError, "bool at position 3"),
    ({**KEYED, "ids": CODES / 2}, TypeError, "`ids` must hold one integer, string or bytes"),
    ({"key": b"0" * 32, "stream": "a", "start": 0}, TypeError, "`key` must be a Key; got bytes"),
    (
        {"key": bs.KeySource.file("/none", fingerprint="0" * 16), "stream": "a", "start": 0},
        TypeError,
        "`key` must be a Key; got KeySource, of which read() gives the key",
    ),
]


@pytest.mark.parametrize(("given", "error", "text"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence(given: Any, error: type[Exception], text: str) -> None:
    m: Any = MATRICES["rr"]
    with pytest.raises(error) as caught:
        m.randomize(**{"codes": CODES, **given})
    assert text in str(caught.value)
    assert "77" not in str(caught.value)


def test_the_first_bad_code_is_named_on_any_number_of_threads() -> None:
    codes = np.zeros(1_000_000, np.uint8)
    codes[[400_000, 700_000, 999_999]] = 12
    for threads in (1, 2, 7):
        with pytest.raises(ValueError, match=r"got one outside at position 400000$"):
            MATRICES["rr"].randomize(codes, threads=threads)


@pytest.mark.parametrize("how", [{**KEYED, "start": 0}, {**KEYED, "ids": ["a", "b", "c", "d"]}])
@pytest.mark.parametrize("name", sorted(MATRICES))
def test_reports_are_written_where_they_are_wanted(name: str, how: dict[str, Any]) -> None:
    m: Any = MATRICES[name]
    for dtype in (np.uint32, np.int64):
        codes = CODES.astype(dtype) % m.size
        room = np.full_like(codes, 99)
        assert m.randomize(codes, out=room, **how) is room
        assert room.tolist() == m.randomize(codes, **how).tolist()
    assert m.randomize(codes, out=None).dtype == codes.dtype


@pytest.mark.parametrize(
    "room",
    [
        np.empty(4, np.int32),
        np.empty(5, np.int64),
        np.empty((2, 2), np.int64),
        np.empty(8, int)[::2],
    ],
    ids=["dtype", "length", "shape", "strides"],
)
def test_room_that_does_not_fit_is_refused(room: Any) -> None:
    with pytest.raises(ValueError, match=r"^`out` must be an array like the codes; got "):
        MATRICES["rr"].randomize(CODES, out=room)
    fixed = np.empty_like(CODES)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match=r"^`out` must be an array like the codes; got "):
        MATRICES["rr"].randomize(CODES, out=fixed)


def test_reports_are_not_written_over_their_codes() -> None:
    """What is interrupted would leave true codes among reported ones."""
    both = np.zeros(9, np.int64)
    for codes, room in ((both, both), (both[:-1], both[1:])):
        with pytest.raises(ValueError, match=r"^`out` must share no memory with the codes; got "):
            MATRICES["rr"].randomize(codes, out=room)
    assert not both.any()


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
