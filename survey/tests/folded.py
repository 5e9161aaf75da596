"""Options of tests, as one flat dict, folded into what the package takes; and their keys."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from typing import Any

import bistochastic as bs
import bistochastic_survey as sv

_DESIGN = ("weights", "strata", "cluster", "fpc", "replicates", "replicate_scale")
_WAVE = ("after", "redraw", "pseudonym", "max_rows", "rerandomize_numeric")


def designed(given: Any = (), **more: Any) -> dict[str, Any]:
    """Fold the columns of a design into one, if there are any."""
    every = {**dict(given), **more}
    design = {name: every.pop(name) for name in _DESIGN if name in every}
    return {**every, **({"design": sv.Design(**design)} if design else {})}


def waved(given: Any = (), **more: Any) -> dict[str, Any]:
    """Fold what is said about ids into one wave, if there is any."""
    every = {**dict(given), **more}
    if "max_rows_per_id" in every:
        every["max_rows"] = every.pop("max_rows_per_id")
    wave = {name: every.pop(name) for name in _WAVE if name in every}
    ids = every.pop("ids", None)
    if "id_column" in every:
        wave["column"] = every.pop("id_column")
    if wave:
        ids = sv.Wave(**wave) if ids is None else replace(ids, **wave)
    return {**every, **({} if ids is None else {"ids": ids})}


def tabulated(plan: sv.Plan, rows: Any, *columns: str, count: str = "count") -> Any:
    """Counts of a group-by in the table that the plan declares."""
    collector = plan.collector(columns)
    collector.add_counts(rows, count=count)
    return collector.counts(*columns)


def own_key() -> bs.Key:
    """The key of the test that asks."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return bs.Key.from_bytes(hashlib.sha256(frame.f_back.f_code.co_name.encode()).digest())
