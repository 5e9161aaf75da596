"""Reports by ids of every kind, in millions of ids a second: ``make bench``.

What counts is the ratio to integer ids, which must be at most 3, and of several repetitions the
best. ``BISTOCHASTIC_BENCH=small`` takes a tenth of the records.

Measured with AVX2, processor time of one thread, ids of 9 bytes, before and after texts were read
from buffers, in ns an id: integers 22.7 and 22.5; Arrow 260 and 43, views 293 and 46, polars 471
and 54, pandas 296 and 50, NumPy's U 235 and 42, S 238 and 37; lists 192 and 97. Before that, ids
were drawn by one thread alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.release import waves
from common import best

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
N = 10**5 if SMALL else 10**6
KEY = bs.Key.insecure(1)


def containers(texts: list[str]) -> dict[str, Any]:
    """The same ids in all that holds them."""
    array = pa.array(texts)
    few = pa.array([texts[i % 1000] for i in range(N)])
    return {
        "list of str": texts,
        "NumPy, objects": np.array(texts, dtype=object),
        "NumPy, U": np.array(texts),
        "NumPy, S": np.array([text.encode() for text in texts]),
        "NumPy, StringDType": np.array(texts, dtype=np.dtypes.StringDType()),
        "pandas, str": pd.Series(texts, dtype="str"),
        "pandas, object": pd.Series(texts, dtype=object),
        "pandas, categorical of 1000": pd.Series(few.to_pylist()).astype("category"),
        "polars, String": pl.Series(texts),
        "Arrow, string": array,
        "Arrow, large_string": array.cast(pa.large_string()),
        "Arrow, string_view": array.cast(pa.string_view()),
        "Arrow, binary": array.cast(pa.binary()),
        "Arrow, dictionary of 1000": few.dictionary_encode(),
    }


def show(what: str, call: Callable[[], object], integers: float | None) -> float:
    call()
    seconds = best(call)
    ratio = "" if integers is None else f"{seconds / integers:6.2f} x integers"
    print(f"{what:<44} {N / seconds / 1e6:8.1f} million ids a second  {ratio}")
    return seconds


def main() -> None:
    matrix = bs.randomized_response(12, beta=0.6)
    codes = np.random.default_rng(1).integers(0, 12, N, dtype=np.uint8)
    numbers = np.random.default_rng(2).permutation(N)
    kinds = {
        "of 9 bytes": [f"p{i:08}" for i in numbers],
        "of 36 bytes": [f"{i:08x}-0000-4000-8000-{i:012x}" for i in numbers],
    }
    only = os.environ.get("BISTOCHASTIC_BENCH_IDS", "")

    def draw(ids: Any) -> Callable[[], object]:
        return lambda: matrix.randomize(codes, key=KEY, stream="a", ids=ids)

    print(f"{N} ids, one column of 12 categories")
    integers = show("randomize, int64", draw(numbers), None)
    for kind, texts in kinds.items():
        for name, ids in containers(texts).items():
            if only in name:
                show(f"randomize, {name} {kind}", draw(ids), integers)
    texts = kinds["of 9 bytes"]
    levels = list(range(12))
    plan = sv.Plan([sv.Categorical("c", levels, "randomized_response", beta=0.6)])
    options: dict[str, Any] = {
        "key": KEY,
        "ids": sv.Wave("person", after="first"),
        "allow_insecure": True,
    }

    def protect(ids: Any) -> Callable[[], object]:
        table = pa.table({"c": codes, "person": ids})
        return lambda: plan.protect(table, **options)

    print("protect one column, with pseudonyms and rows of each id counted")
    integers = show("protect, int64", protect(numbers), None)
    show("protect, Arrow string", protect(pa.array(texts)), integers)
    hashes = np.random.default_rng(3).integers(0, 256, (N, 16), dtype=np.uint8)
    show("of that, counting rows", lambda: waves.People(1)._tally.add(hashes), integers)
    few = hashes[np.random.default_rng(4).integers(0, N // 20, N)]
    for rows, step in ((N, N), (N, 10_000), (N, 1000), (10_000, 10_000), (1000, 1000)):
        each = [count(some[:rows], step) for some in (hashes, few)]
        print(f"counting {rows} rows, {step} at a time: {each[0]:.0f} ns a row, "
              f"{each[1]:.0f} where ids have 20 rows")  # fmt: skip


def count(hashes: Any, step: int) -> float:
    """Nanoseconds a row."""

    def call() -> None:
        people = waves.People(len(hashes))
        for at in range(0, len(hashes), step):
            people._tally.add(hashes[at : at + step])

    call()
    return best(call) / len(hashes) * 1e9


if __name__ == "__main__":
    main()
