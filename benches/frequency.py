"""Errors, sizes and times of methods for proportions, side by side: ``make bench-short``.

Every method randomizes the same 10,000 uniform codes at the same epsilon. Errors are squared and
summed over all categories, times the records, over the least that any method with that epsilon can
have. Peers run as their packages have them, in an environment of their own; what they report is
decoded without clipping, by their own probabilities. ``--write`` writes the page from what is
stored.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import bistochastic as bs
from common import digits, load, peer, stamp, store, warn_if_busy, write_between

SIZES = (1024, 22_000)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
RECORDS = 10_000
# A sum of 1,024 squared errors varies by 4.4%, the mean of eight by 1.6%. To decode local hashing
# takes minutes, so it gets two.
RUNS = {1024: 8, 22_000: 1}
MOST_RUNS = {"optimized local hashing": 2}
# From so many categories on, only so many reports of local hashing are decoded.
MANY, DECODED = 5000, 100
PAGE = "docs/explanation/frequency.md"

PEERS = """
import json, math, sys, time
import numpy as np
method, size, epsilon, records, runs, MANY, DECODED = sys.argv[1], *map(float, sys.argv[2:])
size, records, runs, MANY, DECODED = map(int, (size, records, runs, MANY, DECODED))
e, errors, seconds = math.exp(epsilon), [], []
for run in range(runs):
    codes = [int(x) for x in np.random.default_rng([run, size]).integers(0, size, records)]
    if method == "subset selection":
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
        SS_Client(0, size, epsilon)
        start = time.perf_counter()
        reports = [SS_Client(x, size, epsilon) for x in codes]
        randomized = time.perf_counter()
        w = len(reports[0])
        p = w * e / (w * e + size - w)
        q = ((w - 1) * w * e + (size - w) * w) / ((size - 1) * (w * e + size - w))
        seen = np.bincount(np.concatenate(reports), minlength=size) / records
        decoded = time.perf_counter()
        bits = math.log2(math.comb(size, w))
    elif method == "optimized unary encoding":
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
        UE_Client(0, size, epsilon)
        seen, counted, start = np.zeros(size), 0.0, time.perf_counter()
        for x in codes:
            report = UE_Client(x, size, epsilon)
            before = time.perf_counter()
            seen += report
            counted += time.perf_counter() - before
        decoded = time.perf_counter()
        randomized = decoded - counted
        seen, p, q, bits = seen / records, 0.5, 1 / (e + 1), size
    elif method == "optimized local hashing":
        import xxhash
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
        LH_Client(0, size, epsilon)
        start = time.perf_counter()
        reports = [LH_Client(x, size, epsilon) for x in codes]
        randomized = time.perf_counter()
        g = int(round(e)) + 1
        p, q, bits = e / (e + g - 1), 1 / g, 63 + math.log2(g)
        # Each report is hashed with every category: of many categories, only some reports.
        some = reports if size < MANY else reports[:: records // DECODED]
        words, seen = [str(v) for v in range(size)], np.zeros(size)
        for value, seed in some:
            seen += [xxhash.xxh32(word, seed=int(seed)).intdigest() % g == value for word in words]
        took = (time.perf_counter() - randomized) * len(reports) / len(some)
        decoded, seen = randomized + took, seen / len(some)
        scale = len(some) / len(reports)
    else:
        from pure_ldp.frequency_oracles.hadamard_response import (
            HadamardResponseClient, HadamardResponseServer)
        server = HadamardResponseServer(epsilon, size)
        client = HadamardResponseClient(epsilon, size, server.get_hash_funcs())
        start = time.perf_counter()
        reports = [client.privatise(x + 1) for x in codes]
        randomized = time.perf_counter()
        for report in reports:
            server.aggregate(report)
        found = [server.estimate(v + 1, suppress_warnings=True) for v in range(size)]
        seen = np.array(found) / records
        decoded = time.perf_counter()
        p, q, bits = 1, 0, math.log2(client.hr.outsz)
    estimate = (seen - q) / (p - q)
    used = records * (scale if method == "optimized local hashing" else 1)
    errors.append(used * float(((estimate - 1 / size) ** 2).sum()))
    seconds.append((randomized - start, decoded - randomized))
randomize, decode = np.min(seconds, axis=0)
print(json.dumps([float(np.mean(errors)), bits, randomize, decode]))
"""
NEEDS = {
    "subset selection": ["multi-freq-ldpy"],
    "optimized unary encoding": ["multi-freq-ldpy"],
    "optimized local hashing": ["multi-freq-ldpy", "xxhash<4"],
    "Hadamard response": ["pure-ldp", "statsmodels", "scikit-learn"],
}


def least_error(size: int, epsilon: float) -> float:
    """Return the least squared error times records of any method, at uniform proportions."""
    c = math.exp(epsilon)
    return min(
        (size - 1) ** 2 * (k * c + size - k) ** 2 / (size * k * (size - k) * (c - 1) ** 2)
        for k in range(1, size)
    )


def measure(make: Callable[..., bs.Matrix], size: int, epsilon: float) -> list[float]:
    """Return error, bits per report, and seconds to randomize and to decode, of a matrix."""
    m, errors, seconds = make(size, epsilon=epsilon), [], []
    dtype = np.min_scalar_type(m.size - 1)  # a difference set has more codes than categories
    m.estimate(m.randomize(np.arange(2, dtype=dtype)))  # tables are built once
    for run in range(4 * RUNS[size]):
        codes = np.random.default_rng([run, size]).integers(0, size, RECORDS, dtype=dtype)
        start = time.perf_counter()
        reported = m.randomize(codes)
        randomized = time.perf_counter()
        found = m.estimate(reported).frequencies
        seconds.append((randomized - start, time.perf_counter() - randomized))
        errors.append(RECORDS * float(((found - 1 / size) ** 2).sum()))
    randomize, decode = np.min(seconds, axis=0)
    return [float(np.mean(errors)), math.log2(m.size), float(randomize), float(decode)]


def measured() -> dict[str, Any]:
    """Measure every method; those of peers that do not install are left out."""
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        for epsilon in EPSILONS:
            least = least_error(size, epsilon)
            found: dict[str, Any] = {
                "difference_set": measure(bs.difference_set, size, epsilon),
                "randomized_response": measure(bs.randomized_response, size, epsilon),
            }
            for method, needs in NEEDS.items():
                runs = min(RUNS[size], MOST_RUNS.get(method, RUNS[size]))
                given = (method, size, epsilon, RECORDS, runs, MANY, DECODED)
                theirs, why = peer(needs, PEERS, *map(str, given))
                if why:
                    print(f"{method} was left out: {why}", file=sys.stderr)
                found[method] = theirs
            for method, numbers in found.items():
                if numbers is None:
                    continue
                error, bits, randomize, decode = numbers
                row = {"size": size, "epsilon": epsilon, "method": method, "error": error,
                       "ratio": error / least, "bits": bits, "randomize": randomize,
                       "decode": decode}  # fmt: skip
                rows.append(row)
                print(f"{size:6} {epsilon:4} {method:26} {error / least:9.3f} times the least, "
                      f"{bits:9.1f} bits, {1e6 * randomize / RECORDS:9.3f} us, "
                      f"{decode:8.4f} s", flush=True)  # fmt: skip
    return {**stamp("multi-freq-ldpy", "pure-ldp"), "records": RECORDS, "rows": rows}


def tables(stored: dict[str, Any]) -> str:
    """Write the tables of the page."""
    rows = stored["rows"]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    each = 1e6 / stored["records"]
    shown: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("Error, times the least", lambda row: ratio(row["ratio"])),
        ("Bits per reported value", lambda row: f"{row['bits']:,.1f}"),
        ("Microseconds to draw one", lambda row: digits(each * row["randomize"])),
        (f"Milliseconds to decode {stored['records']:,}", lambda row: digits(1e3 * row["decode"])),
    ]
    lines = []
    for size in SIZES:
        lines += [f"## {size:,} categories", ""]
        for title, write in shown:
            lines += ["| " + " | ".join([title, *(f"epsilon {e:g}" for e in EPSILONS)]) + " |",
                      "|---" * (len(EPSILONS) + 1) + "|"]  # fmt: skip
            for method in methods:
                found = {row["epsilon"]: write(row) for row in rows
                         if (row["size"], row["method"]) == (size, method)}  # fmt: skip
                cells = [named(method), *(found.get(epsilon, "–") for epsilon in EPSILONS)]
                lines.append(f"| {' | '.join(cells)} |")
            lines.append("")
        if size >= MANY:
            lines += [f"Local hashing was decoded from {DECODED} of the {stored['records']:,} "
                      f"reported values: its error is times {DECODED}",
                      f"records, and its time to decode is {stored['records'] // DECODED} times "
                      "what was measured.", ""]  # fmt: skip
    return "\n".join([*lines, stored["measured"]])


def named(method: str) -> str:
    """Write a method of this package as code."""
    return f"`{method}`" if "_" in method else method


def ratio(value: float) -> str:
    """Write how many times the least error."""
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


if __name__ == "__main__":
    if "--write" not in sys.argv:
        warn_if_busy()
        store("frequency", measured())
    write_between(PAGE, "frequency", tables(load("frequency")))
