"""``plan.on``: a batch function on a Dask DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from bistochastic.adapters.engines import Protecting


from bistochastic.adapters.frames import unchanged


def on_dask(f: Protecting, frame: dd.DataFrame) -> dd.DataFrame:
    """Return another Dask frame, partition by partition, without the index."""
    import dask.dataframe as dd

    if not isinstance(frame, dd.DataFrame):
        raise TypeError(f"`obj` must be a DataFrame of Dask; got {type(frame).__name__}")
    empty = _without_index(frame._meta)
    found = frame.map_partitions(_partition, f, _kinds(empty), meta=f._like(empty))
    return found.clear_divisions()


def _partition(frame: pd.DataFrame, f: Protecting, kinds: dict[str, str]) -> pd.DataFrame:
    unchanged(_kinds(frame), kinds)
    return f.frame(_without_index(frame))


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same columns. The index is another one, of whatever the caller had there."""
    # Columns are not copied, as reset_index() would.
    found = frame.copy(deep=False)
    found.index = range(len(frame))
    return found


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Name the type of every column. All types of strings have the same name."""
    words = {name: str(dtype).split("[")[0] for name, dtype in frame.dtypes.items()}
    return {
        name: "strings" if word in ("object", "str", "string") else word
        for name, word in words.items()
    }
