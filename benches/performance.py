"""What is published about speed: ``make bench-short``, and the first part of ``make bench``.

The numbers go to ``benches/stored/performance.json``; the tables of README and of
``docs/reference/performance.md`` and the picture of growth are written from there (``--write`` does
only that).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import bistochastic as bs
import randomize
from common import ROOT, best, digits, load, peer, stamp, store, warn_if_busy, write_between

PAGE, README = "docs/reference/performance.md", "README.md"
PICTURE = ROOT / "docs" / "pictures" / "growth.png"
GROWTH = (256, 4096, 65_536, 10**6, 10**7)
# As their authors write them.
NAMES = {"opendp": "OpenDP", "numba": "Numba"}

# In a process of its own each, since the number of threads is read once.
DECOMPOSE = """
import json, sys
sys.path.insert(0, "benches")
import numpy as np, bistochastic as bs
from birkhoff import scipy_loop, whole_numbers
from common import best
if sys.argv[1] == "scipy":
    table = whole_numbers(300)
    print(json.dumps([best(lambda: scipy_loop(table), 3), len(scipy_loop(table)[0])]))
else:
    small, large = (bs.dense(whole_numbers(size)) for size in (300, 2000))
    many = [bs.dense(whole_numbers(200 + i)) for i in range(16)]
    found = small.decompose()
    assert np.array_equal(found.reconstruct(), small.to_dense())
    print(json.dumps({
        "one of 300": [best(small.decompose, 9), found.terms],
        "one of 2000": [best(large.decompose, 2), large.decompose().terms],
        "sixteen": best(lambda: bs.decompose_all(many), 3),
        "restarts": best(lambda: small.decompose(restarts=8), 2),
    }))
"""


def drawing() -> dict[str, Any]:
    """Nanoseconds per code of ``randomize``, of the floor, and of what others offer."""
    size, keep, n = 12, 0.65, 10**8
    codes = randomize.codes_of(size, n, np.uint8)
    m = bs.randomized_response(size, keep=keep)
    found: dict[str, Any] = {
        "ours": [randomize.ours(m, codes, threads) for threads in (1, 2)],
        "floor": [randomize.floor(n, threads) for threads in (1, 2)],
        "NumPy": 1e9 * best(lambda: randomize.one_liner(codes, size, keep), 3) / n,
        "NumPy, in place": 1e9 * best(lambda: randomize.in_place(codes, size, keep), 3) / n,
    }
    some = codes[: n // 10]
    given = {"uint16": np.uint16, "uint32": np.uint32, "int64": np.int64}
    for name, dtype in given.items():
        found[name] = randomize.ours(m, some.astype(dtype), 1)
    ids = np.random.default_rng(2).integers(0, 2**62, n // 20)
    texts = [str(i) for i in ids[: n // 200]]
    for name, people in (("integer ids", ids), ("string ids", texts)):
        mine = codes[: len(people)]
        found[name] = (
            1e9
            * best(
                lambda mine=mine, people=people: m.randomize(  # type: ignore[misc]
                    mine, key=randomize.KEY, stream="a", ids=people, threads=1
                ),
                3,
            )
            / len(people)
        )
    calls = 100_000
    found["respond"] = 1e9 * best(lambda: [m.respond(3) for _ in range(calls)]) / calls
    found["peers"] = {}
    for name in ("multi-freq-ldpy", "pure-ldp", "opendp", "numba"):
        each, why = peer(randomize.NEEDS[name], randomize.PEER, name)
        print(f"{name}: {why or f'{each:.0f} ns'}", flush=True)
        found["peers"][name] = each
    return found


def entropy() -> dict[str, Any]:
    """Seconds of the entropy rate of a dense matrix, of NumPy's line, and of reading it."""
    p = np.random.default_rng(0).random((4096, 4096))
    for _ in range(60):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return {
        "ours": best(lambda: bs.entropy_rate(p), 9),
        "NumPy": best(lambda: -(p * np.log2(p)).sum() / len(p)),
        "read": best(lambda: p.sum(), 9),
    }


def decomposing() -> dict[str, Any]:
    """Seconds and terms of decompositions, on one thread and on two."""

    def run(what: str, threads: int) -> Any:
        command = [sys.executable, "-c", DECOMPOSE, what]
        environment = {**os.environ, "BISTOCHASTIC_THREADS": str(threads)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    return {"SciPy": run("scipy", 1), "1": run("ours", 1), "2": run("ours", 2)}


def growth() -> dict[str, Any]:
    """Nanoseconds per code by the number of categories, and seconds to build, on one thread."""
    rng = np.random.default_rng(3)
    found: dict[str, list[tuple[int, float, float]]] = {}
    for size in GROWTH:
        codes = randomize.codes_of(size, 10**7, np.min_scalar_type(size - 1))
        row = rng.random(size)
        families: dict[str, Callable[[], bs.Matrix]] = {
            "randomized_response": partial(bs.randomized_response, size, beta=0.6),
            "k_anonymous": partial(bs.k_anonymous, size, k=5),
            "tridiagonal": partial(bs.tridiagonal, 0.3, size=size),
            "geometric": partial(bs.geometric, size, temperature=size / 10),
            "circulant": partial(bs.circulant, row / row.sum()),
        }
        for name, make in families.items():
            start = time.perf_counter()
            m = make()
            m.randomize(codes[:1], key=randomize.KEY, stream="a", start=0)
            built = time.perf_counter() - start
            each = randomize.ours(m, codes, 1, 3)
            found.setdefault(name, []).append((size, each, built))
    return found


def draw_growth(stored: dict[str, Any]) -> None:
    """Draw the picture of growth."""
    import io

    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator
    from PIL import Image  # comes with matplotlib

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, rows), marker in zip(stored["growth"].items(), "osD^v", strict=True):
        sizes, each, _ = zip(*rows, strict=True)
        axes.plot(sizes, each, marker=marker, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xlabel("categories")
    axes.set_ylabel("nanoseconds per code, one thread")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=180)
    Image.open(drawn).convert("RGB").quantize(64).save(PICTURE, optimize=True)


PAGE_TEXT = """{measured}

### Randomize

Nanoseconds per code: 10^8 codes of 12 categories in `uint8`, by a randomized response. The floor
makes two bytes of ChaCha20 per code and copies the column. Except for Numba, the peers take one
record per call: compare them with one call of `respond`, {respond} ns.

| what | 1 thread | 2 threads | times as long as `randomize`, 1 thread |
|---|---|---|---|
| `randomize` | {one:.2f} | {two:.2f} | 1 |
| the floor | {floor[0]:.2f} | {floor[1]:.2f} | {ratio:.2f} |
{others}

Other types of codes and other addresses, on one thread. `respond` takes one code per call:

| what | nanoseconds per code |
|---|---|
{alone}

![Nanoseconds per code, by the number of categories](../pictures/growth.png)

### Entropy rate

A dense matrix of 4,096 x 4,096 takes {entropy:.1f} ms on all threads, rounded down as it is stated.
`-(P * np.log2(P)).sum() / r` takes {numpy:.0f} ms, {times} as long. To read the matrix once,
`P.sum()`, takes {read:.1f} ms.

### Decomposition

Exact, of dense matrices with line sums of 2^53. A loop of SciPy's matchings with the same rule
takes {scipy[0]:.2f} seconds and {scipy[1]:,} terms for 300 x 300, on one thread. Two threads help
many matrices and many starts. The terms of one matrix follow from each other.

| what | 1 thread | 2 threads |
|---|---|---|
{rows}

### Slower here than elsewhere

- A code with a string id takes {strings} ns, because the id is hashed. NumPy in place has no ids,
  and takes {in_place} ns; ours takes {by_strings} as long.
- One call of `respond` takes {respond} ns. A loop over a column that Numba compiles takes
  {loop} ns per code; ours takes {by_respond} as long."""


def times(factor: float) -> str:
    """Write how many times, in two digits."""
    return f"{factor:.1f} times" if factor < 9.95 else f"{float(f'{factor:.2g}'):,.0f} times"


def readme(stored: dict[str, Any]) -> str:
    """Write the table of README, and where it was measured."""
    drawn, entropy, made = stored["drawing"], stored["entropy"], stored["decomposing"]
    one, two = drawn["ours"]
    numpy = min(drawn["NumPy"], drawn["NumPy, in place"])
    others = [f"{name} {times(each / drawn['respond'])} as long" for name, each in
              (("multi-freq-ldpy", drawn["peers"]["multi-freq-ldpy"]),
               ("OpenDP", drawn["peers"]["opendp"])) if each]  # fmt: skip
    mine, terms = made["1"]["one of 300"]
    scipy, _ = made["SciPy"]
    rows = [
        ("randomize a code of 12 categories", f"{one:.2f} ns; two threads {two:.2f} ns",
         f"ChaCha20 and a copy {drawn['floor'][0]:.2f} ns; NumPy {times(numpy / one)} as long; "
         f"one call of ours {digits(drawn['respond'])} ns, a call per record of theirs: "
         f"{', '.join(others)}"),
        ("entropy rate of 4,096 x 4,096, all threads", f"{1e3 * entropy['ours']:.1f} ms",
         f"NumPy {times(entropy['NumPy'] / entropy['ours'])} as long"),
        (f"exact decomposition of 300 x 300, {terms:,} terms", f"{1e3 * mine:.0f} ms",
         f"a SciPy loop {times(scipy / mine)} as long"),
    ]  # fmt: skip
    lines = [f"| {' | '.join(row)} |" for row in (("what", "time", "others, one thread"), *rows)]
    return "\n".join([lines[0], "|---|---|---|", *lines[1:], "", stored["measured"]])


def page(stored: dict[str, Any]) -> str:
    """Write the section of the page."""
    drawn, entropy, made = stored["drawing"], stored["entropy"], stored["decomposing"]
    one, two = drawn["ours"]
    beside = {"NumPy, one line": drawn["NumPy"], "NumPy, in place": drawn["NumPy, in place"]}
    beside |= {name: each for name, each in drawn["peers"].items() if each}
    others = [
        f"| {NAMES.get(name, name)} | {digits(each)} | | {digits(each / one)} |"
        for name, each in beside.items()
    ]
    widths = ("uint16", "uint32", "int64", "integer ids", "string ids", "respond")
    alone = [f"| {name} | {digits(drawn[name])} |" for name in widths]
    rows = []
    for name, what in (
        ("one of 300", "one matrix of 300 x 300"),
        ("one of 2000", "one matrix of 2,000 x 2,000"),
        ("restarts", "one of 300 x 300 from 8 starts, the best kept"),
        ("sixteen", "16 matrices of about 200 x 200 at once"),
    ):
        first, second = made["1"][name], made["2"][name]
        if isinstance(first, list):
            what, first, second = f"{what}, {first[1]:,} terms", first[0], second[0]
        rows.append(f"| {what} | {1e3 * first:,.0f} ms | {1e3 * second:,.0f} ms |")
    return PAGE_TEXT.format(
        measured=stored["measured"],
        one=one,
        two=two,
        floor=drawn["floor"],
        ratio=drawn["floor"][0] / one,
        others="\n".join(others),
        alone="\n".join(alone),
        entropy=1e3 * entropy["ours"],
        numpy=1e3 * entropy["NumPy"],
        times=times(entropy["NumPy"] / entropy["ours"]),
        read=1e3 * entropy["read"],
        scipy=made["SciPy"],
        rows="\n".join(rows),
        **slower(drawn),
    )


def slower(drawn: dict[str, Any]) -> dict[str, str]:
    """Compare what takes longer here with the peer that is fastest at it."""
    strings, respond, loop = drawn["string ids"], drawn["respond"], drawn["peers"]["numba"]
    return {
        "strings": digits(strings),
        "in_place": digits(drawn["NumPy, in place"]),
        "by_strings": times(strings / drawn["NumPy, in place"]),
        "respond": digits(respond),
        "loop": digits(loop or math.nan),
        "by_respond": times(respond / (loop or math.nan)),
    }


def write() -> None:
    """Write the tables and the picture from what is stored."""
    stored = load("performance")
    write_between(PAGE, "core", page(stored))
    write_between(README, "speed", readme(stored))
    draw_growth(stored)


if __name__ == "__main__":
    if "--write" not in sys.argv:
        warn_if_busy()
        measured = {"drawing": drawing(), "entropy": entropy(), "decomposing": decomposing()}
        peers = stamp("multi-freq-ldpy", "pure-ldp", "opendp", "numba")
        store("performance", {**measured, "growth": growth(), **peers})
    write()
