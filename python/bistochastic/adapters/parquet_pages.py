"""Columns of few different values as column chunks of Parquet: a dictionary, and places in it.

Protected columns are such, and clear ones often. pyarrow finds the dictionary by hashing each
value, which takes longer than to draw it. Here it is known, or found by a table over the range of
the numbers, and the core packs the places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bistochastic import _core
from bistochastic.adapters import thrift
from bistochastic.adapters.thrift import BINARY, FALSE, I32, I64, LIST, STRUCT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.adapters.thrift import Struct

# Rows of a page.
ROWS = 1 << 16
# Bytes of a dictionary, at most: pyarrow gives up its own there, too.
_DICTIONARY = 1 << 20
# Bytes of a text in what is said of a chunk, at most.
_SHOWN = 256
# Physical types, encodings, kinds of pages and codecs, by the numbers that Parquet has for them.
_INT32, _INT64, _BYTE_ARRAY = 1, 2, 6
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
CODECS = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6, "lz4": 7}
# What a chunk has to become shorter by, so that it is worth reading it compressed.
_WORTH = 0.95


@dataclass(frozen=True)
class Chunk:
    """The bytes of one column in one group of rows, and what the footer says of them."""

    data: bytes
    metadata: Struct
    """As if the chunk began at byte 0."""
    plain: int
    """How many bytes there would be without compression."""


def chunk(column: Any, field: Any, compression: str) -> Chunk | None:
    """A column in chunks of Arrow; None where pyarrow is to write it.

    ``field`` is what the file says of the column, a ``SchemaElement`` of Parquet.
    """
    if 1 not in field:
        # A list or a structure is made of others.
        return None
    optional, physical = field[3][1] == 1, field[1][1]
    found = _listed(column, physical)
    if found is None or (not optional and column.null_count):
        return None
    values, entries = found
    missing = _nulls(column)
    packed = _core.plan_packed(values, missing, ROWS)
    if packed is None:
        return None
    places, width, pages = packed
    there: Any = places if entries is None else entries.take(pa.array(places))
    if physical == _BYTE_ARRAY:
        dictionary, ends = _of_texts(there.to_pylist())
    else:
        dictionary, ends = _of_numbers(np.asarray(there), "<i4" if physical == _INT32 else "<i8")
    plain = len(column) * (8 if physical == _INT64 else 4)
    if len(dictionary) > min(_DICTIONARY, max(plain, 1 << 10)):
        return None
    starts = range(0, len(column), ROWS)
    rows = [min(ROWS, len(column) - start) for start in starts]
    bodies = [
        _levels(missing, start, n, optional) + bytes([width]) + runs
        for start, n, (_count, runs) in zip(starts, rows, pages, strict=True)
    ]
    return _written(field, dictionary, len(places), bodies, rows, compression, ends, missing)


def _listed(column: Any, physical: int) -> tuple[NDArray[Any], Any] | None:
    """The numbers of all rows, and what they are places of, if they are."""
    kind = column.type
    if pa.types.is_integer(kind) and physical in (_INT32, _INT64):
        return _numbers(column), None
    if not pa.types.is_dictionary(kind) or not column.num_chunks:
        return None
    value = kind.value_type
    texts = pa.types.is_string(value) or pa.types.is_large_string(value)
    numbers = pa.types.is_integer(value) and physical in (_INT32, _INT64)
    if not (numbers or (texts and physical == _BYTE_ARRAY)):
        return None
    entries = column.chunk(0).dictionary
    others = (each.dictionary for each in column.chunks[1:])
    if entries.null_count or not all(entries.equals(each) for each in others):
        return None
    indices = pa.chunked_array([each.indices for each in column.chunks])
    return _numbers(indices), entries


def _numbers(column: Any) -> NDArray[Any]:
    """Whole numbers of all rows, any where they are missing."""
    parts = []
    for each in column.chunks:
        size = each.type.bit_width // 8
        kind = np.dtype(each.type.to_pandas_dtype())
        values = np.frombuffer(each.buffers()[1], kind, offset=each.offset * size, count=len(each))
        parts.append(values)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _nulls(column: Any) -> NDArray[np.bool_] | None:
    if not column.null_count:
        return None
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _of_numbers(numbers: NDArray[Any], kind: str) -> tuple[bytes, tuple[bytes, bytes]]:
    """A dictionary of whole numbers, by their bits, and the least and the largest."""
    ends = numbers.min(keepdims=True).astype(kind), numbers.max(keepdims=True).astype(kind)
    return numbers.astype(kind).tobytes(), (ends[0].tobytes(), ends[1].tobytes())


def _of_texts(texts: list[str]) -> tuple[bytes, tuple[bytes, bytes] | None]:
    """A dictionary of texts, and the first and the last in the order of their bytes."""
    encoded = [text.encode() for text in texts]
    whole = b"".join(len(text).to_bytes(4, "little") + text for text in encoded)
    ends = min(encoded), max(encoded)
    return whole, ends if max(map(len, ends)) <= _SHOWN else None


def _levels(missing: NDArray[np.bool_] | None, start: int, rows: int, optional: bool) -> bytes:
    """Which rows have a value: a run of ones, or a bit for each."""
    if not optional:
        return b""
    if missing is None:
        runs = thrift.varint(rows << 1) + b"\x01"
    else:
        bits = np.packbits(~missing[start : start + rows], bitorder="little").tobytes()
        runs = thrift.varint(len(bits) << 1 | 1) + bits
    return len(runs).to_bytes(4, "little") + runs


def _written(
    field: Any,
    dictionary: bytes,
    entries: int,
    bodies: list[bytes],
    rows: list[int],
    compression: str,
    ends: tuple[bytes, bytes] | None,
    missing: NDArray[np.bool_] | None,
) -> Chunk:
    """Pages behind their headers, and what is said of all of them."""
    heads: list[Struct] = [{7: (STRUCT, {1: (I32, entries), 2: (I32, _PLAIN)})}]
    heads += [
        {5: (STRUCT, {1: (I32, n), 2: (I32, _RLE_DICTIONARY), 3: (I32, _RLE), 4: (I32, _RLE)})}
        for n in rows
    ]
    pages = [dictionary, *bodies]
    packed, codec = _compressed(pages, compression)
    out = bytearray()
    plain = first = 0
    for i, (head, page, short) in enumerate(zip(heads, pages, packed, strict=True)):
        head[1] = (I32, _DATA_PAGE if i else _DICTIONARY_PAGE)
        head[2], head[3] = (I32, len(page)), (I32, len(short))
        if i == 1:
            first = len(out)
        header = thrift.write(head)
        out += header
        out += short
        plain += len(header) + len(page)
    statistics: Struct = {3: (I64, 0 if missing is None else int(np.count_nonzero(missing)))}
    if ends is not None:
        statistics |= {5: (BINARY, ends[1]), 6: (BINARY, ends[0])}
        statistics |= {7: (FALSE, True), 8: (FALSE, True)}
    kinds: list[Struct] = [
        {1: (I32, kind), 2: (I32, encoding), 3: (I32, count)}
        for kind, encoding, count in (
            (_DICTIONARY_PAGE, _PLAIN, 1),
            (_DATA_PAGE, _RLE_DICTIONARY, len(bodies)),
        )
    ]
    metadata: Struct = {
        1: field[1],
        2: (LIST, (I32, [_PLAIN, _RLE, _RLE_DICTIONARY])),
        3: (LIST, (BINARY, [field[4][1]])),
        4: (I32, codec),
        5: (I64, sum(rows)),
        6: (I64, plain),
        7: (I64, len(out)),
        9: (I64, first),
        11: (I64, 0),
        12: (STRUCT, statistics),
        13: (LIST, (STRUCT, kinds)),
    }
    return Chunk(bytes(out), metadata, plain)


def _compressed(pages: list[bytes], compression: str) -> tuple[list[bytes], int]:
    """The pages and the number of the codec; as they are where they get hardly shorter."""
    if CODECS[compression]:
        codec = pa.Codec("lz4_raw" if compression == "lz4" else compression)
        # The dictionary and a page tell; what is drawn by chance rarely gets shorter.
        for tried in (pages[:2], pages):
            short = [codec.compress(page, asbytes=True) for page in tried]
            if sum(map(len, short)) >= _WORTH * sum(map(len, tried)):
                return pages, CODECS["none"]
        return short, CODECS[compression]
    return pages, CODECS["none"]
