"""Draws by unit, binned columns and files of SPSS against what they stand on: ``make bench``.

What counts are ratios, and of several repetitions the best. ``BISTOCHASTIC_BENCH=small`` takes a
tenth of the records.

* Units: 4 columns of 3 * 10^6 households, 10^7 people, against the same columns by ids of people.
* Binned: against `numpy.searchsorted` and the draw of the codes, one after the other.
* `.sav`: from file to file, against pyreadstat reading and writing the same table.

Measured with the quick build on two busy cores: units 0.9 to 1.4, with ids of people beside them
1.1 to 1.8; `.sav`, 10^6 x 8, 0.7 to 1.0. Processor time of a binned column is 1.2 times that of its
parts; the clock said 1.1 to 1.8. Comparing the records of units takes 0.09 s of processor time for
3 * 10^6 rows, which matters more beside the draws of a release build.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.files.protect import protect_file
from bistochastic_survey.release.run import Options
from common import best

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
N = 10**6 if SMALL else 10**7
SIZE, COLUMNS = 12, 4
KEY = bs.Key.insecure(1)
KEYED: dict[str, Any] = {"key": KEY, "allow_insecure": True}


def show(what: str, seconds: float, floor: float, limit: float) -> None:
    ratio = f"{seconds / floor:5.2f} x (at most {limit})"
    print(f"{what:<34} {seconds:7.3f} s against {floor:7.3f} s  {ratio}")


def units() -> None:
    """Both draws are of the same cells; only the address of the noise differs."""
    rng = np.random.default_rng(1)
    homes = np.sort(rng.integers(0, 3 * N // 10, N))
    frame: dict[str, Any] = {"person": np.arange(N), "home": homes}
    values = rng.integers(0, SIZE, (COLUMNS, 3 * N // 10), dtype=np.uint8)
    frame |= {f"c{i}": values[i][homes] for i in range(COLUMNS)}
    own, by_ids = (
        sv.Plan(
            [sv.Categorical(f"c{i}", range(SIZE), "randomized_response", beta=0.6, unit=unit)
             for i in range(COLUMNS)],
            drop=["home", "person"] if unit else ["home"],
        )
        for unit in ("home", None)
    )  # fmt: skip
    ids: dict[str, Any] = {**KEYED, "ids": sv.Wave("person", after="first")}
    floor = best(lambda: by_ids.protect(frame, **ids), 3)
    show(f"{COLUMNS} columns by unit, a fresh key", best(lambda: own.protect(frame), 3), floor, 3)
    both = sv.Plan(own.attributes, drop=["home"])
    show(
        f"{COLUMNS} columns by unit, and ids", best(lambda: both.protect(frame, **ids), 3), floor, 3
    )


def binned() -> None:
    rng = np.random.default_rng(2)
    breaks = np.linspace(0, 1000, SIZE + 1)
    values = rng.uniform(0, 1000, N)
    column = sv.Binned("x", breaks.tolist(), "geometric", epsilon=2, output="midpoint")
    plan = sv.Plan([column])
    matrix = column.matrices[0]
    options: dict[str, Any] = {**KEYED, "release_name": "bench"}

    def alone() -> None:
        codes = np.searchsorted(breaks[1:-1], values, side="right").astype(np.uint8)
        matrix.randomize(codes, key=KEY, stream="x", start=0)

    seconds = best(lambda: plan.protect({"x": values}, **options), 3)
    show("a binned column, middles", seconds, best(alone, 3), 1.5)


def statistical() -> None:
    rows = N // 10
    rng = np.random.default_rng(3)
    names = [f"c{i}" for i in range(2 * COLUMNS)]
    frame = pl.DataFrame({name: rng.integers(1, SIZE + 1, rows) for name in names})
    labels: dict[str, dict[int | float, str]] = {
        name: {i: f"level {i}" for i in range(1, SIZE + 1)} for name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.sav", Path(folder) / "out.parquet"
        pyreadstat.write_sav(frame, source, variable_value_labels=labels)
        plan = sv.Plan.for_frame(source, beta=0.6)

        def alone() -> None:
            read, _meta = pyreadstat.read_sav(source, output_format="polars")
            read.write_parquet(out)

        def own() -> None:
            protect_file(plan, source, out, Path(folder) / "c.json", Options.of(plan))

        show(f".sav, {rows} x {len(names)}", best(own, 3), best(alone, 3), 2)


def main() -> None:
    print(f"{N} records")
    units()
    binned()
    statistical()


if __name__ == "__main__":
    main()
