"""``plan.on``: a function of a plan on a LazyFrame of polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from bistochastic.adapters.engines import Protecting


def on_polars(f: Protecting, frame: object) -> pl.LazyFrame:
    """Another LazyFrame. Nothing is pushed down through it: a filter that polars moved to the other
    side would choose rows by their true values.

    Rows stand for themselves, so that the streaming engine may hand over a few at a time.
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
