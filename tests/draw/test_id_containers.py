"""Texts and bytes as ``ids``, in whatever holds them: the same reports, the same refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from draw_cases import KEY, MATRICES, codes_for

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SPECIAL = ["", "a", "person 7", "twelve bytes", "thirteen byte", "größe", "\U0001f600 z", "z\0z"]
LONG = ["x" * 55, "x" * 56, "x" * 57, "é" * 28, "é" * 29, "y" * 1016, "y" * 1017, "z" * 5000]
TEXTS = [text + (str(i) if i else "") for i in range(40) for text in [*SPECIAL, *LONG]]


def reports(ids: Any, threads: int | None = None) -> list[int]:
    """What these ids get, of two draws a record, some of which take further words."""
    m = MATRICES["kron"]
    codes = codes_for(m, len(ids))
    found = m.randomize(codes, key=KEY, stream="a", ids=ids, threads=threads)
    return [int(v) for v in found]


def odd(array: Any) -> Any:
    """The same array of Arrow in buffers at odd addresses, as messages may have them."""
    moved = [
        None if b is None else pa.py_buffer(b"x" + b.to_pybytes()).slice(1) for b in array.buffers()
    ]
    return pa.Array.from_buffers(array.type, len(array), moved, offset=array.offset)


def in_two(array: Any) -> Any:
    return pa.chunked_array([array[:5], array[5:5], array[5:]])


def containers(texts: list[Any], plain: Any, large: Any, view: Any) -> dict[str, Any]:
    """The same ids in all that holds them."""
    array = pa.array(texts, plain)
    padded = pa.array([*texts[:3], *texts, *texts[:3]], plain)[3:-3]
    few = pa.array([*texts, *texts], plain).dictionary_encode()
    return {
        "list": texts,
        "tuple": tuple(texts),
        "objects": np.array([*texts, None], dtype=object)[:-1],
        "arrow": array,
        "arrow, sliced": padded,
        "arrow, odd addresses": odd(array),
        "arrow, in two": in_two(array),
        "arrow, in many": pa.chunked_array([array[i : i + 1] for i in range(len(array))]),
        "arrow, large": array.cast(large),
        "arrow, large, sliced": padded.cast(large),
        "arrow, views": pa.array(texts, view),
        "arrow, views, sliced": pa.array([*texts[:3], *texts, *texts[:3]], view)[3:-3],
        "arrow, dictionary": few[: len(texts)],
        "arrow, dictionaries": in_two(array.dictionary_encode()),
        "arrow, large dictionary": pa.array(texts, plain).dictionary_encode()[:],
        "pandas, objects": pd.Series(texts, dtype=object),
        "pandas, arrow": pd.Series(array, dtype=pd.ArrowDtype(plain)),
        "pandas, categorical": pd.Series(texts, dtype=object).astype("category"),
        "pandas, other labels": pd.Series(texts, dtype=object, index=range(len(texts), 0, -1)),
        "polars": pl.Series(texts),
        "polars, chunked": pl.Series(texts[:7]).append(pl.Series(texts[7:])),
        "polars, sliced": pl.Series([*texts, *texts])[len(texts) :],
    }


@pytest.mark.parametrize("ascii_alone", [False, True])
def test_texts_have_their_reports_in_every_container(ascii_alone: bool) -> None:
    texts = [text for text in TEXTS if text.isascii()] if ascii_alone else TEXTS
    want = reports(texts, 1)
    array = np.array(texts)
    fields = np.zeros(len(texts), dtype=[("odd", "u1"), ("id", array.dtype)])
    fields["id"] = array
    locked = array.copy()
    locked.flags.writeable = False
    held = containers(texts, pa.string(), pa.large_string(), pa.string_view())
    held |= {
        "numpy": array,
        "numpy, swapped": array.astype(array.dtype.newbyteorder()),
        "numpy, strided": np.repeat(array, 2)[::2],
        "numpy, backwards": array[::-1].copy()[::-1],
        "numpy, odd addresses": fields["id"],
        "numpy, read only": locked,
        "numpy, wider": array.astype(f"U{array.dtype.itemsize // 4 + 61}"),
        "pandas, text": pd.Series(texts, dtype="str"),
        "pandas, python's": pd.Series(texts, dtype=pd.StringDtype("python")),
        "pandas, index": pd.Index(texts, dtype="str"),
        "polars, categorical": pl.Series(texts, dtype=pl.Categorical),
        "polars, enum": pl.Series(texts, dtype=pl.Enum(sorted(set(texts)))),
    }
    if hasattr(np.dtypes, "StringDType"):
        held["numpy, of any length"] = np.array(texts, dtype=np.dtypes.StringDType())
    for name, ids in held.items():
        for threads in (None, 1, 2, 7):
            assert reports(ids, threads) == want, name
    # NumPy drops zeros at the end.
    assert reports(np.array(["a\0", "\0", "a\0b\0\0"])) == reports(["a", "", "a\0b"])


def test_bytes_have_their_reports_in_every_container() -> None:
    ids = [text.encode() for text in TEXTS] + [b"\xff\xfe", b"a\0", b"\0"]
    want = reports(ids, 1)
    assert want[: len(TEXTS)] != reports(TEXTS)
    for name, held in containers(ids, pa.binary(), pa.large_binary(), pa.binary_view()).items():
        for threads in (None, 1, 2, 7):
            assert reports(held, threads) == want, name
    same = [f"{i:05}".encode() for i in range(3000)]
    want = reports(same)
    fixed = pa.array(same, pa.binary(5))
    for held in (np.array(same), fixed, pa.array([*same, *same], pa.binary(5))[3000:], odd(fixed)):
        assert reports(held, 2) == want


def test_many_texts_have_the_reports_that_they_have_alone() -> None:
    m = MATRICES["reflected"]
    n = 20_000
    texts = [f"person {i}" for i in range(n)]
    codes = codes_for(m, n)
    want = m.randomize(codes, key=KEY, stream="a", ids=pa.array(texts), threads=1)
    for threads in (2, 7):
        for ids in (pa.array(texts), np.array(texts), texts):
            found = m.randomize(codes, key=KEY, stream="a", ids=ids, threads=threads)
            assert np.array_equal(found, want)
    for i in range(0, n, 997):
        assert m.respond(int(codes[i]), key=KEY, stream="a", id=texts[i]) == want[i]


def refused(ids: Any) -> str:
    m = MATRICES["kron"]
    with pytest.raises((ValueError, TypeError)) as caught:
        m.randomize(codes_for(m, len(ids)), key=KEY, stream="a", ids=ids)
    assert "secret" not in repr(caught.value)
    return str(caught.value)


def test_missing_ids_are_refused_in_every_container() -> None:
    texts = ["secret", None, "c", None]
    categories = pa.DictionaryArray.from_arrays([0, 1, 0, 1], pa.array(["secret", None]))
    for ids in (pa.array(texts), pa.array(texts, pa.string_view()), pl.Series(texts),
                pd.Series(texts, dtype="str"), pd.Series(texts, dtype="category"), categories,
                pa.array(texts).dictionary_encode(), pl.Series(texts, dtype=pl.Categorical),
                pa.chunked_array([texts[:1], texts[1:]])):  # fmt: skip
        assert "must hold no missing values; got 2, the first at position 1" in refused(ids)
    assert "got none at position 1" in refused(texts)


def test_texts_that_are_not_unicode_are_refused_in_every_container() -> None:
    wide = np.array(["secret", "b", "c"])
    wide.view(np.uint32)[6] = 0xD800
    assert "a string that is not Unicode at position 1" in refused(wide)
    zero = "not end in the character U+0000; got a string that does at position 1"
    for last in (pa.array(["a", "secret\0"]), ["a", "secret\0"], pa.array(["a", "s\0"] * 9000)):
        assert zero in refused(last)
    short = "fill the 6 bytes of a fixed-width array, or be a list, an object array or Arrow binary"
    assert f"{short}; got a shorter one at position 1" in refused(np.array([b"secret", b"ab"]))


def test_as_many_ids_as_records_are_wanted() -> None:
    m = MATRICES["kron"]
    for ids in (pa.array(["a", "b"]), np.array(["a", "b"]), ["a", "b"], np.array([b"a", b"b"])):
        with pytest.raises(ValueError, match="be one for each of the 3 records; got 2"):
            m.randomize(codes_for(m, 3), key=KEY, stream="a", ids=ids)
