"""``plan.on``: a batch function on a Ray Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ray.data

    from bistochastic.adapters.engines import Protecting


def on_ray(f: Protecting, dataset: ray.data.Dataset) -> ray.data.Dataset:
    """Another Dataset, block by block. Blocks of another schema than the first stop the work."""
    import pyarrow as pa
    import ray.data

    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(f"`obj` must be a Dataset of Ray; got {type(dataset).__name__}")
    schema = dataset.schema()
    base = None if schema is None else schema.base_schema
    if isinstance(base, pa.Schema):
        f = f._for_schema(base)
    return dataset.map_batches(f.table, batch_format="pyarrow", zero_copy_batch=True)
