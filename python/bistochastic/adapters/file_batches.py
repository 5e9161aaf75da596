"""Files of tables a record batch at a time: CSV, Parquet and Arrow, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ENDINGS = (".csv", ".parquet", ".arrow", ".feather")


def batches(path: Path, kinds: Mapping[str, str | None]) -> Iterator[Any]:
    """The columns named in ``kinds``, as record batches.

    A kind is that of declared categories, ``"text"``, ``"integer"`` or ``"boolean"``; ``None``
    leaves the type of a column in a CSV file to its first rows. Only an empty field is missing.
    """
    try:
        import pyarrow as pa
    except ImportError:
        must = "`FILE` must be read by pyarrow; got none: install pyarrow"
        raise ImportError(must) from None
    ending = path.suffix.lower()
    name = shown(path)
    if ending not in ENDINGS:
        raise ValueError(f"`{name}` must end in {', '.join(ENDINGS)}; got {ending or 'no ending'}")
    if not path.is_file():
        raise ValueError(f"`{name}` must be a file; got none there")
    try:
        names, read = {".csv": _csv, ".parquet": _parquet}.get(ending, _arrow)(path, kinds)
        for column in kinds:
            if names.count(column) != 1:
                got = "none" if column not in names else "several"
                raise _Missing(f"`{name}` must have one column `{shown(column)}`; got {got}")
        yield from read()
    except _Missing:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError):
        # The words of another library may quote a value.
        if ending == ".csv":
            from bistochastic.adapters.csv_file import fault

            said = fault(path, name, kinds)
            if said is not None:
                raise ValueError(said) from None
        must = f"`{name}` must be a whole {ending} file whose columns have one type each"
        raise ValueError(f"{must}; got one that cannot be read so") from None


class _Missing(ValueError):  # noqa: N818 - a sentence about a file
    """A column that is not there."""


def _csv(path: Path, kinds: Mapping[str, str | None]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    with csv.open_csv(path) as first:
        names = first.schema.names
    types = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}
    options = csv.ConvertOptions(
        include_columns=list(kinds),
        column_types={name: types[kind] for name, kind in kinds.items() if kind is not None},
        null_values=[""],
        strings_can_be_null=True,
    )

    def read() -> Iterator[Any]:
        with csv.open_csv(path, convert_options=options) as reader:
            yield from reader

    return names, read


def _parquet(path: Path, kinds: Mapping[str, str | None]) -> Any:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    return file.schema_arrow.names, lambda: file.iter_batches(columns=list(kinds))


def _arrow(path: Path, kinds: Mapping[str, str | None]) -> Any:
    import pyarrow as pa

    reader = pa.ipc.open_file(pa.memory_map(str(path)))

    def read() -> Iterator[Any]:
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).select(list(kinds))

    return reader.schema.names, read
