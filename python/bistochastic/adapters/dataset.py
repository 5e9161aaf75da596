"""``plan.on``: a batch function on a pyarrow dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from bistochastic.adapters.engines import Protecting


def on_dataset(f: Protecting, source: object) -> pa.RecordBatchReader:
    """Return a reader of record batches that can be read once, e.g. for ``write_dataset``."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        source = source.scanner()
    if not isinstance(source, ds.Scanner):
        must = "`obj` must be a Dataset or a Scanner of pyarrow"
        raise TypeError(f"{must}; got {type(source).__name__}")
    schema = source.projected_schema
    known = f._for_schema(schema)
    return pa.RecordBatchReader.from_batches(known.schema(schema), known(source.to_batches()))
