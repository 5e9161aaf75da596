"""``bistochastic protect`` against pyarrow alone: a Parquet file in, a Parquet file out.

pyarrow reads the file and writes the protected table at the same settings; the command does that
and draws every value. Both run in processes of their own, from a warm cache, turn by turn. Peak
memory is that of the child, for three numbers of rows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bistochastic_survey as sv

SIZES = (2, 2, 5, 7, 9, 14, 16, 42)

ALONE = """
import sys, time
import pandas
import pyarrow.parquet as pq
_, source, protected, out = sys.argv
table = pq.read_table(protected)
begin = time.perf_counter()
pq.read_table(source)
pq.write_table(table, out, compression="snappy", row_group_size=1 << 20)
print(time.perf_counter() - begin)
"""
# Interpreter and imports come before the clock; pyarrow imports pandas where it is installed.
SHELL = """
import sys, time
import pandas, pyarrow.parquet
from bistochastic_survey.cli import main
from bistochastic_survey.files import protect
from bistochastic_survey.release import run
begin = time.perf_counter()
main(sys.argv[1:], standalone_mode=False)
print(time.perf_counter() - begin)
"""


def write(path: Path, plan: Path, rows: int) -> None:
    """A table of dictionary columns, and the plan for it."""
    draw = np.random.default_rng(1)
    columns, attributes = {}, []
    for i, size in enumerate(SIZES):
        levels = [f"level {j}" for j in range(size)]
        codes = draw.integers(0, size, rows, dtype=np.int8)
        columns[f"c{i}"] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels))
        attributes.append(sv.Categorical(f"c{i}", levels, "randomized_response", beta=0.6))
    pq.write_table(pa.table(columns), path, row_group_size=1 << 20)
    plan.write_text(sv.Plan(attributes).to_json())


def write_elsewhere(path: Path, plan: Path, rows: int) -> None:
    """In a process of its own: the peak of a child is never below the size of its parent."""
    child = multiprocessing.get_context("spawn").Process(target=write, args=(path, plan, rows))
    child.start()
    child.join()
    assert child.exitcode == 0


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds that a child prints, and its peak memory in megabytes."""
    begin = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read().split()
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{words[0]} failed after {time.perf_counter() - begin:.1f} s")
    return float(said[-1]), usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files go")
    given = parser.parse_args()
    peaks = {}
    for rows in (given.rows // 10, given.rows // 3, given.rows):
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            folder = Path(name)
            source, out, plan = (folder / each for each in ("in.parquet", "out.parquet", "p.json"))
            write_elsewhere(source, plan, rows)
            words = ["protect", str(source), str(out), "--plan", str(plan)]
            shell, alone = [], []
            for _ in range(given.turns):
                seconds, peak = timed([sys.executable, "-c", SHELL, *words])
                shell.append(seconds)
                peaks[rows] = peak
                copy = folder / "copy.parquet"
                alone.append(timed([sys.executable, "-c", ALONE, str(source), str(out), str(copy)]))
            best, floor = min(shell), min(seconds for seconds, _peak in alone)
            size = source.stat().st_size / 2**20
            print(
                f"{rows:,} x {len(SIZES)} ({size:.0f} MB): protect {best:.2f} s, pyarrow alone "
                f"{floor:.2f} s: {floor / best:.2f} of its throughput (wanted: at least 0.5); peak "
                f"memory {peaks[rows]:.0f} MB, pyarrow {alone[0][1]:.0f} MB"
            )
    few, some, many = peaks.values()
    print(
        f"peak memory at ten times the rows: {many / few:.2f} times, at three times "
        f"{many / some:.2f} times (wanted: about 1)"
    )


if __name__ == "__main__":
    main()
