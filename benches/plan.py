"""Protecting a whole table against drawing its columns alone, and against ``pram``: ``make bench``.

What counts is the ratio, and of several repetitions the best. ``BISTOCHASTIC_BENCH=small`` takes a
tenth of the records.

Measured on two cores, 10^7 x 8, in times of the draws of bytes: integers of one byte 2.2,
dictionaries of int8 2.5 and of int32 5.2, Enum of polars 3.8, integers of eight bytes 5.6. Wider
columns have four and eight times the bytes to read and write, which the draws of columns of that
type have too: they stand beside. An Enum takes polars' own check of its codes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

import bistochastic as bs
import bistochastic_survey as sv
from common import best, peer

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
N = 10**6 if SMALL else 10**7
COLUMNS = 8
SIZE = 12
LEVELS = [f"level {i:02}" for i in range(SIZE)]
KEY = bs.Key.insecure(1)
# pram 0.2.0 writes into views of rows, which pandas 3 refuses.
PRAM = """
import json, sys, time, warnings
import numpy as np, pandas as pd
from pram import pram
warnings.simplefilter("ignore")
rows, levels, columns = json.loads(sys.argv[1])
rng = np.random.default_rng(1)
frame = pd.DataFrame({f"c{i}": [f"level {j:02}" for j in rng.integers(0, levels, rows)]
                      for i in range(columns)})
start = time.perf_counter()
pram(frame, m=0.8, alpha=0.5)
print(json.dumps(time.perf_counter() - start))
"""


def codes() -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, SIZE, N, dtype=np.uint8) for _ in range(COLUMNS)]


def plan(categories: list[Any]) -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical(f"c{i}", categories, "randomized_response", beta=0.6)
            for i in range(COLUMNS)
        ]
    )


def drawn(columns: list[NDArray[Any]]) -> float:
    """Seconds of the draws of all columns, each by itself."""
    matrix = bs.randomized_response(SIZE, beta=0.6)

    def call() -> None:
        for i, column in enumerate(columns):
            matrix.randomize(column, key=KEY, stream=f"c{i}", start=0)

    call()
    return best(call)


def report(what: str, table: Any, own: sv.Plan, floor: float, limit: str) -> None:
    options: dict[str, Any] = {"key": KEY, "release_name": "bench", "allow_insecure": True}
    seconds = best(lambda: own.protect(table, **options), 3)
    cell = 1e9 * seconds / (N * COLUMNS)
    print(f"{what:<44} {cell:8.2f} ns a cell  {seconds / floor:6.2f} x the draws  {limit}")


def against_pram() -> None:
    rows, columns = 10**5, 4
    found, why = peer(["pram==0.2.0", "pandas<3"], PRAM, str([rows // 10, SIZE, columns]))
    if found is None:
        print(f"pram left out: {why}")
        return
    # Its time is proportional to the rows; a tenth of them is enough to wait for.
    seconds = 10 * found
    import pandas as pd

    rng = np.random.default_rng(1)
    texts = {f"c{i}": np.array(LEVELS)[rng.integers(0, SIZE, rows)] for i in range(columns)}
    frame = pd.DataFrame(texts)
    own = sv.Plan(plan(LEVELS).attributes[:columns])
    kinds: dict[str, Callable[[], Any]] = {
        "categoricals, at least 1000": lambda: frame.astype(pd.CategoricalDtype(LEVELS)),
        "strings, at least 300": lambda: frame,
    }
    for kind, make in kinds.items():
        table = make()
        own.protect(table)
        took = best(lambda table=table: own.protect(table), 9)  # type: ignore[misc]
        print(f"pram 0.2.0, {rows} x {columns}: {seconds / took:8.0f} times our time on {kind}")


def main() -> None:
    columns = codes()
    floor = drawn(columns)
    print(f"{N} rows x {COLUMNS} columns of {SIZE} categories")
    print(f"{'randomize, column by column':<44} {1e9 * floor / (N * COLUMNS):8.2f} ns a cell")
    for kind in ("i4", "i8"):
        wide = drawn([column.astype(kind) for column in columns])
        cell = 1e9 * wide / (N * COLUMNS)
        print(f"{f'randomize, columns of {kind}':<44} {cell:8.2f} ns a cell  {wide / floor:6.2f} x")
    limit = "(at most 2.5)"
    levels = plan(LEVELS)
    enums = pl.DataFrame({
        f"c{i}": pl.Series(LEVELS, dtype=pl.Enum(LEVELS)).gather(column)
        for i, column in enumerate(columns)
    })  # fmt: skip
    report("polars, Enum", enums, levels, floor, limit)
    entries = pa.array(LEVELS)
    for index in (pa.int8(), pa.int32()):
        dictionaries = pa.table({
            f"c{i}": pa.DictionaryArray.from_arrays(pa.array(column).cast(index), entries)
            for i, column in enumerate(columns)
        })  # fmt: skip
        report(f"arrow, dictionary of {index}", dictionaries, levels, floor, limit)
    del dictionaries
    numbers = plan(list(range(SIZE)))
    for kind in ("u1", "i8"):
        whole = {f"c{i}": column.astype(kind) for i, column in enumerate(columns)}
        report(f"arrow, integers {kind}", pa.table(whole), numbers, floor, limit)
        report(f"polars, integers {kind}", pl.DataFrame(whole), numbers, floor, limit)
    del whole
    texts = enums.cast(pl.String)
    del enums
    report("polars, strings", texts, levels, floor, "(with encoding)")
    report("arrow, strings", texts.to_arrow(), levels, floor, "(with encoding)")
    against_pram()


if __name__ == "__main__":
    main()
