"""Counting on a server, SQL in a warehouse and answers in JavaScript, against the plain way.

Every ratio is to the least that does the same work without noise. Targets: ``update`` within 1.5
times ``bincount``, ``add`` within 5 times a dict of counters, SQL within 4 times the naive count,
20,000 answers per second in Node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

import bistochastic_survey as sv
from common import best

ROWS = 10_000_000
RESPONSE: Literal["randomized_response"] = "randomized_response"
CLIENT = Path(__file__).parent.parent / "clients" / "js" / "bistochastic.js"
PROGRAM = """
import { readFileSync } from "node:fs";
import { generateKey, respond } from "CLIENT";
const plan = JSON.parse(readFileSync(0)), key = generateKey(), record = {};
for (const { columns: [{ name, categories }] } of plan.attributes) record[name] = categories[0];
const run = (from, to) => { for (let id = from; id < to; id++) respond(plan, key, record, id); };
run(0, 5000);
const start = performance.now();
run(5000, 25000);
console.log(Math.round(20000 / ((performance.now() - start) / 1000)));
"""


def plan_of(columns: int, size: int = 5) -> sv.Plan:
    """A plan of equal columns."""
    names = [f"c{i}" for i in range(columns)]
    values = [str(i) for i in range(size)]
    return sv.Plan([sv.Categorical(name, values, RESPONSE, beta=0.5) for name in names], name="p")


def counting() -> None:
    """``update`` of coded reports, and ``add`` of one record."""
    rng = np.random.default_rng(1)
    plan = sv.Plan([sv.Categorical(f"c{i}", range(5), RESPONSE, beta=0.5) for i in range(5)])
    codes = {f"c{i}": rng.integers(0, 5, ROWS, dtype=np.uint8) for i in range(5)}
    plain = best(lambda: [np.bincount(column, minlength=5) for column in codes.values()], 3)
    collector = plan.collector()
    ours = best(lambda: collector.update(codes), 3)
    print(f"update of {ROWS:,} x 5 reports: {ours:.3f} s, {ours / plain:.2f} times bincount")
    plan = plan_of(5)
    record = {f"c{i}": str(i) for i in range(5)}
    counters = {name: {str(i): 0 for i in range(5)} for name in record}

    def count() -> None:
        for _ in range(100_000):
            for name, value in record.items():
                counters[name][value] += 1

    collector = plan.collector()

    def add() -> None:
        for _ in range(100_000):
            collector.add(record)

    plain, ours = best(count, 3), best(add, 3)
    print(f"add of 5 columns: {ours * 10:.2f} us, {ours / plain:.2f} times a dict of counters")


def javascript() -> None:
    """Answers of one device after another record."""
    node = shutil.which("node")
    if node is None:
        print("JavaScript: no node on this machine")
        return
    for columns in (1, 5):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "program.mjs"
            path.write_text(PROGRAM.replace("CLIENT", CLIENT.as_uri()), "utf-8")
            text = json.dumps(json.loads(plan_of(columns).client_json()))
            done = subprocess.run(
                [node, str(path)], input=text, capture_output=True, text=True, check=True
            )
        print(f"JavaScript, {columns} columns: {int(done.stdout):,} records a second, "
              f"{columns * int(done.stdout):,} answers")  # fmt: skip


if __name__ == "__main__":
    counting()
    javascript()
