"""``plan.on``: a batch function on a DuckDB relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.pipeline import abreast

if TYPE_CHECKING:
    import duckdb

    from bistochastic.adapters.engines import Protecting


def on_duckdb(f: Protecting, relation: object) -> duckdb.DuckDBPyRelation:
    """Another relation, on a connection of its own, which reads the first one once."""
    import duckdb
    import pyarrow as pa

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        must = "`obj` must be a DuckDB relation"
        raise TypeError(f"{must}; got {type(relation).__name__}")
    source = pa.RecordBatchReader.from_stream(relation)
    known = f._for_schema(source.schema)
    # DuckDB requests one batch after the other, with one of its threads, while the others wait.
    made = abreast(known.batch, source)
    out = pa.RecordBatchReader.from_batches(known.schema(source.schema), made)
    return duckdb.connect().from_arrow(out)
