"""``plan.on``: a batch function on a polars LazyFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from bistochastic.adapters.engines import Protecting


def on_polars(f: Protecting, frame: object) -> pl.LazyFrame:
    """Return another LazyFrame. polars must not move a filter before it: the filter would choose
    rows by their true values.

    Rows are independent, so the streaming engine may pass a few at a time.
    """
    import polars as pl

    if not isinstance(frame, pl.LazyFrame):
        got = type(frame).__name__
        cure = ", of which lazy() makes one" if isinstance(frame, pl.DataFrame) else ""
        raise TypeError(f"`obj` must be a LazyFrame of polars; got {got}{cure}")
    empty = frame.collect_schema().to_frame()
    return frame.map_batches(
        f.frame,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=f._like(empty).schema,
        streamable=True,
    )
