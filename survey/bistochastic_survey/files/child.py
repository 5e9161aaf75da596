"""Reads one file of SPSS, Stata or SAS in a process of its own: ``statistical`` starts it.

A broken file can crash the library that reads it, or make it write where it must not. This process
has no key, and the other one goes on. It is told the file on stdin. It writes an Arrow stream to
stdout, with what the file says about its columns as JSON in the metadata. It imports nothing of the
package, so it starts fast.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# The exit code if the file does not fit in memory.
FULL = 3
FACTS = b"bistochastic.facts"
# Rows that are sent together.
_ROWS = 1 << 16
# The most integers between two ends that are listed as missing codes.
_LISTED = 100


def main() -> None:
    """Read the file that stdin names, and write it to stdout."""
    told = json.load(sys.stdin)
    sys.path[:] = told["sys.path"]
    _leave_no_core()
    # A library that prints must not print into the stream.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import pyarrow as pa
    import pyreadstat

    read = getattr(pyreadstat, told["read"])
    found, meta = read(told["path"], output_format="dict")
    types, kinds = meta.readstat_variable_types, told["kinds"]
    arrays = {
        name: _cells(found.pop(name), types[name] == "string", kinds.get(name, ""))
        for name in list(found)
    }
    if told["read"] == "read_sav":
        # Otherwise it does not return the ranges of missing codes.
        _none, meta = read(told["path"], metadataonly=True, user_missing=True)
    facts = [_facts(meta, name, text=types[name] == "string") for name in arrays]
    table = pa.table(arrays).replace_schema_metadata({FACTS: json.dumps(facts)})
    with out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table, _ROWS)


def _leave_no_core() -> None:
    """Keep the system from writing the memory of this process to a file if it crashes."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _facts(meta: Any, name: str, *, text: bool) -> tuple[str | None, list[Any], list[Any]]:
    texts = meta.variable_value_labels.get(name) or {}
    ranges = [(each["lo"], each["hi"]) for each in meta.missing_ranges.get(name, ())]
    missing = _missing_codes(ranges, texts, text=text)
    named = ((_whole(value), label) for value, label in texts.items())
    pairs = [pair for pair in named if pair[0] not in missing]
    if not all(isinstance(value, str | int) for value, _label in pairs):
        pairs = []
    return meta.column_names_to_labels.get(name) or None, pairs, missing


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _missing_codes(
    ranges: list[tuple[Any, Any]], texts: Iterable[Any], *, text: bool
) -> list[object]:
    found: dict[object, None] = {}
    for low, high in ranges:
        if low == high:
            found[_whole(low)] = None
            continue
        inside = [each for each in texts if not isinstance(each, str) and low <= each <= high]
        if high - low < _LISTED:
            inside = [*range(-int(-low // 1), int(high // 1) + 1)]
        found |= dict.fromkeys(map(_whole, inside))
    if not text:
        # Stata and SAS have letters for missing numbers.
        found |= dict.fromkeys(each for each in texts if isinstance(each, str))
    return list(found)


def _cells(values: list[object], text: bool, kind: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if text:
        texts = pa.array(values, pa.string(), from_pandas=True)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    found = pa.array(values, from_pandas=True)
    if pa.types.is_null(found.type):
        found = found.cast(pa.float64())
    if kind in ("float", "date"):
        return found.cast(pa.float64()) if pa.types.is_integer(found.type) else found
    if pa.types.is_floating(found.type):
        try:
            found = found.cast(pa.int64())
        except pa.ArrowInvalid:
            return found
    is_flag = kind == "boolean" and pa.types.is_integer(found.type)
    if is_flag and pc.all(pc.is_in(found.drop_null(), pa.array([0, 1], found.type))).as_py():
        return found.cast(pa.bool_())
    return found


if __name__ == "__main__":
    try:
        main()
    except MemoryError:
        sys.exit(FULL)
