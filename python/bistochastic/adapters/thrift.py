"""Structures of Thrift in its compact protocol, which Parquet describes its files in.

A structure is a dict from the numbers of its fields to their types and values, and is written as it
was read, unknown fields included. A list is its type and its items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_WHOLE = (I16, I32, I64)

Struct = dict[int, tuple[int, Any]]


def write(struct: Struct) -> bytes:
    """The bytes of a structure.

    >>> write({1: (I32, 2), 3: (STRUCT, {1: (BINARY, b"a")})}).hex()
    '15042c1801610000'
    >>> read(write({1: (I32, -2), 20: (LIST, (I64, [1, 300]))}))[0]
    {1: (5, -2), 20: (9, (6, [1, 300]))}
    """
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


def read(data: bytes | memoryview) -> tuple[Struct, int]:
    """The structure that bytes begin with, and how many bytes it takes."""
    reader = _Reader(bytes(data))
    return reader.struct(), reader.at


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits per byte.

    >>> varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _put_struct(out: bytearray, struct: Struct) -> None:
    before = 0
    for number, (kind, value) in sorted(struct.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        if 0 < number - before < 16:
            out.append(number - before << 4 | kind)
        else:
            out.append(kind)
            out += _zigzag(number)
        before = number
        if kind not in (TRUE, FALSE):
            _put(out, kind, value)
    out.append(0)


def _put(out: bytearray, kind: int, value: Any) -> None:
    if kind in _WHOLE:
        out += _zigzag(value)
    elif kind == BINARY:
        out += varint(len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind in (LIST, SET):
        of, items = value
        if len(items) < 15:
            out.append(len(items) << 4 | of)
        else:
            out.append(0xF0 | of)
            out += varint(len(items))
        for item in items:
            _put(out, of, item)
    elif kind == DOUBLE:
        out += value
    else:
        # Single bytes, and truth values in a list.
        out.append(value)


class _Reader:
    """Reads from bytes, one value after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        return self._data[self.at - count : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> Struct:
        found: Struct = {}
        number = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            number = number + step if step else self._zigzag()
            found[number] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind))
        return found

    def _value(self, kind: int) -> Any:
        reads: dict[int, Callable[[], Any]] = {
            BYTE: self._byte, I16: self._zigzag, I32: self._zigzag, I64: self._zigzag,
            BINARY: lambda: self._bytes(self._varint()), DOUBLE: lambda: self._bytes(8),
            LIST: self._list, SET: self._list, STRUCT: self.struct,
            # Truth values in a list.
            TRUE: self._byte, FALSE: self._byte,
        }  # fmt: skip
        return reads[kind]()

    def _list(self) -> tuple[int, list[Any]]:
        head = self._byte()
        count, of = head >> 4, head & 15
        if count == 15:
            count = self._varint()
        return of, [self._value(of) for _ in range(count)]
