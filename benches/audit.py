"""An audit of a million records with eight protected columns: seconds and peak memory.

Six columns of categories and two of numbers, with a column in clear beside them, as frames of
pandas; and the same with eight columns of categories. Wanted: at most 60 seconds on two cores. Each
runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import Any

import numpy as np
import pandas as pd

import bistochastic_survey as sv

SIZES = (2, 2, 5, 7, 9, 14, 16, 42)


def made(rows: int, numbers: int) -> tuple[Any, sv.Plan]:
    """A table in which neighbouring columns go together, and a plan for it."""
    draw = np.random.default_rng(1)
    columns: dict[str, Any] = {"region": draw.integers(0, 20, rows)}
    attributes: list[Any] = []
    shared = draw.random(rows)
    for i, size in enumerate(SIZES[: len(SIZES) - numbers]):
        levels = [f"level {j}" for j in range(size)]
        mixed = np.where(draw.random(rows) < 0.5, shared, draw.random(rows))
        codes = (mixed**2 * size).astype(np.int8)
        columns[f"c{i}"] = pd.Categorical.from_codes(codes, levels)
        attributes.append(sv.Categorical(f"c{i}", levels, "randomized_response", beta=0.6))
    for i in range(numbers):
        columns[f"n{i}"] = np.exp(draw.normal(10, 1, rows) + shared).round(2)
        attributes.append(sv.Numeric(f"n{i}", "k_anonymous", k=1000))
    return pd.DataFrame(columns), sv.Plan(attributes, keep=["region"])


def run(rows: int, numbers: int, tell: Any) -> None:
    frame, plan = made(rows, numbers)
    release = plan.protect(frame)
    begin, busy = time.perf_counter(), time.process_time()
    found = sv.audit(frame, release)
    seconds, work = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tell.put((seconds, work, peak, found.linkages[0].targets, found.linkages[0].first.observed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    spawned = multiprocessing.get_context("spawn")
    for numbers in (0, 2):
        answers = spawned.Queue()
        child = spawned.Process(target=run, args=(given.rows, numbers, answers))
        child.start()
        seconds, work, peak, targets, first = answers.get()
        child.join()
        also = f" and {numbers} of numbers" if numbers else ""
        what = f"{len(SIZES) - numbers} columns of categories{also}"
        print(
            f"audit of {given.rows:,} records, {what}: {seconds:.1f} s (wanted: at most 60), of "
            f"which the processor worked {work:.1f} s; peak memory {peak:.0f} MB; {targets:,} "
            f"targets, {first:.2%} found first"
        )


if __name__ == "__main__":
    main()
