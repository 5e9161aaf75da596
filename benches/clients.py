"""A service that randomizes, counting on a server, and answers in JavaScript.

Every ratio is to the least that does the same work without noise, or to the fastest other way to
the same answers. Targets: ``responder.many`` of 1,000 records within 2 times a batch function,
``update`` within 1.5 times ``bincount``, ``add`` within 5 times a dict of counters, 20,000 answers
per second in Node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Literal

import numpy as np
import pyarrow as pa

import bistochastic as bs
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


def responding() -> None:
    """The part of a request that is the package's, record by record and by the thousand."""
    sizes = {"sex": ["f", "m"], "age": ["18-29", "30-64", "65+"]}
    plan = sv.Plan([sv.Categorical(name, values, RESPONSE, beta=0.5) for name, values in
                    sizes.items()], name="p")  # fmt: skip
    with bs.KeySource.temporary(mkdtemp()) as key:
        responder = plan.responder(key=key, after="first")
        times = []
        for i in range(50_000):
            record = {"sex": "fm"[i % 2], "age": sizes["age"][i % 3]}
            start = time.perf_counter()
            responder.one(record, id=f"person {i}")
            times.append(time.perf_counter() - start)
        half, most = np.quantile(times, [0.5, 0.99]) * 1e6
        print(f"responder.one of 2 columns: p50 {half:.1f} us, p99 {most:.1f} us")
        ids = [f"person {i}" for i in range(1000)]
        records = [{"sex": "fm"[i % 2], "age": sizes["age"][i % 3]} for i in range(1000)]
        table = pa.Table.from_pylist(
            [{**record, "id": id} for record, id in zip(records, ids, strict=True)]
        )
        function = plan.batch_function(key=key, ids=sv.Wave("id", after="first"))
        many = best(lambda: responder.many(records, ids=ids), 50)
        batch = best(lambda: function.table(table), 50)
    print(f"responder.many of 1,000: {1e6 * many:.0f} us, {many / batch:.2f} times a batch function"
          f" on an Arrow table ({1e6 * batch:.0f} us)")  # fmt: skip


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
    responding()
    counting()
    javascript()
