"""``plan.on``: which engine an object belongs to, without importing any."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol, Self

    import pyarrow as pa

    class Protecting(Protocol):
        """The result of :meth:`bistochastic.Plan.batch_function`."""

        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]: ...
        def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...
        def table(self, table: pa.Table) -> pa.Table: ...
        def schema(self, schema: pa.Schema) -> pa.Schema: ...
        def frame(self, frame: Any) -> Any: ...
        def _like(self, frame: Any) -> Any: ...
        def _for_schema(self, schema: pa.Schema) -> Self: ...


# The package that defines the object, and the file here that knows it.
_ENGINES = {"pyspark": "spark", "dask": "dask", "dask_expr": "dask", "ray": "ray",
            "duckdb": "duckdb", "_duckdb": "duckdb", "polars": "polars",
            "pyarrow": "dataset"}  # fmt: skip


def on(f: Protecting, obj: object, observation: object) -> Any:
    """Apply the function to the object, by its type."""
    homes = (cls.__module__.partition(".")[0] for cls in type(obj).__mro__)
    engine = next((_ENGINES[home] for home in homes if home in _ENGINES), None)
    if engine is None:
        must = (
            "`obj` must be a Spark or Dask DataFrame, a Ray Dataset, a DuckDB relation, a polars "
            "LazyFrame or a pyarrow Dataset or Scanner"
        )
        raise TypeError(f"{must}; got {type(obj).__name__}")
    run = getattr(import_module(f"bistochastic.adapters.{engine}"), f"on_{engine}")
    if engine == "spark":
        return run(f, obj, observation)
    if observation is not None:
        must = "`observation` must come with a Spark DataFrame"
        raise TypeError(f"{must}; got {type(obj).__name__}")
    return run(f, obj)
