"""Joint tables of the Adult census from attributes randomized one by one: ``make adult``.

Writes Markdown: the last section of docs/explanation/estimation.md.

Each of eight attributes is randomized on its own: the truth with probability p, otherwise a
uniform category. Of every pair the table is estimated, and random subsets of its cells are
counted; what is shown is the median of the relative errors. The design is that of Domingo-Ferrer
and Soria-Comas, "Multi-Dimensional Randomized Response" (IEEE TKDE 34(10), 2022).

``adult.csv`` is looked for in the folder that BISTOCHASTIC_DATA names. The same seed gives the
same reports and queries.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

ATTRIBUTES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
    "salary-class",
)  # fmt: skip
SIZES = (9, 16, 7, 15, 6, 5, 2, 2)
TRUTHS = tuple(Fraction(p, 10) for p in (1, 3, 5, 7))
COVERAGE = 0.1
METHODS: tuple[Literal["inverse", "simplex", "mle", "shrunk"], ...] = (
    "inverse", "simplex", "mle", "shrunk",
)  # fmt: skip
HEADINGS = {
    "reported": "as reported",
    "product": "product of marginals",
    "raked": "raked",
    "inverse": "inverse",
    "simplex": "simplex",
    "mle": "likelihood",
    "stopped": "200 steps of EM",
    "shrunk": "shrunk",
}


def records() -> list[Codes]:
    """The codes of the eight attributes; ``?`` is a category like any other."""
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if not folder:
        sys.exit("BISTOCHASTIC_DATA must name the folder that holds adult.csv; it is not set")
    path = Path(folder) / "adult.csv"
    if not path.exists():
        sys.exit("BISTOCHASTIC_DATA must name the folder that holds adult.csv; it has none")
    with path.open(newline="") as file:
        rows = [[value.strip() for value in row] for row in csv.reader(file) if row]
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    codes = [np.unique(columns[name], return_inverse=True)[1] for name in ATTRIBUTES]
    sizes = tuple(int(column.max()) + 1 for column in codes)
    if sizes != SIZES:
        sys.exit(f"adult.csv must have {SIZES} categories; got {sizes}")
    return codes


def mechanism(size: int, p: Fraction) -> bs.Matrix:
    """The truth with probability p, otherwise any category, the truth among them."""
    return bs.randomized_response(size, keep=p + (1 - p) / size)


def table(first: Codes, second: Codes, sizes: tuple[int, int], weights: Array | None) -> Array:
    """The shares of the pairs of categories."""
    joint = first * sizes[1] + second
    counts = np.bincount(joint, weights, sizes[0] * sizes[1])
    return np.asarray(counts / counts.sum()).reshape(sizes)


def raked(columns: list[Codes], marginals: list[Array]) -> Array:
    """Weights of the records under which all marginals are as given.

    A weight is scaled by each attribute in turn until no marginal is off by more than 1e-8.
    """
    weights = np.full(len(columns[0]), 1 / len(columns[0]))
    for _ in range(1000):
        off = 0.0
        for column, wanted in zip(columns, marginals, strict=True):
            now = np.bincount(column, weights, len(wanted))
            off = max(off, float(np.abs(now - wanted).max()))
            weights *= (wanted / np.where(now > 0, now, 1.0))[column]
        if off < 1e-8:
            break
    return weights


def stopped(reported: Array, first: Array, second: Array, steps: int = 200) -> Array:
    """Expectation maximisation from uniform, stopped long before it ends."""
    shares = np.full(reported.shape, 1 / reported.size)
    for _ in range(steps):
        shares = shares * (first @ (reported / (first.T @ shares @ second)) @ second.T)
    return shares


class Watch:
    """Seconds spent under each name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        took = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + took


def estimates(
    truth: list[Codes], matrices: list[bs.Matrix], key: bs.Key, stream: str, watch: Watch
) -> Iterator[tuple[int, int, dict[str, Array]]]:
    """One randomization: of every pair the shares of its table by each estimator."""
    reports = [
        matrix.randomize(column, key=key, start=0, stream=f"{stream}/{name}")
        for matrix, column, name in zip(matrices, truth, ATTRIBUTES, strict=True)
    ]
    singles = [m.estimate(column) for m, column in zip(matrices, reports, strict=True)]
    marginals = [single.frequencies for single in singles]
    # Weights cannot meet a negative share, so the likeliest marginals take its place there.
    possible = [
        m.estimate(column, method="mle").frequencies
        for m, column in zip(matrices, reports, strict=True)
    ]
    with watch("raked"):
        weights = raked(reports, possible)
    for i, j in itertools.combinations(range(len(truth)), 2):
        sizes = SIZES[i], SIZES[j]
        reported = table(reports[i], reports[j], sizes, None)
        found = {
            "reported": reported,
            "product": np.outer(marginals[i], marginals[j]),
            "raked": table(reports[i], reports[j], sizes, weights),
        }
        with watch("stopped"):
            dense = matrices[i].to_dense(), matrices[j].to_dense()
            found["stopped"] = stopped(reported, *dense)
        joint = bs.kron(matrices[i], matrices[j])
        counts = np.rint(reported * len(reports[i]))
        for method in METHODS:
            with watch(method):
                found[method] = joint.estimate(counts=counts, method=method).frequencies
        yield i, j, found


def errors(
    truth: list[Codes], p: Fraction, runs: int, queries: int, seed: int, watch: Watch
) -> tuple[dict[str, Array], int]:
    """The relative errors of every query, an estimator a list, and how many had nobody to count.

    The queries are those of the seed alone, so that every p is asked the same.
    """
    matrices = [mechanism(size, p) for size in SIZES]
    key = bs.Key.insecure(seed)
    choose = np.random.default_rng(seed)
    off: dict[str, list[Array]] = {name: [] for name in HEADINGS}
    empty = 0
    for run in range(runs):
        for i, j, found in estimates(truth, matrices, key, f"p {p}/run {run}", watch):
            true = table(truth[i], truth[j], (SIZES[i], SIZES[j]), None).reshape(-1)
            cells = max(1, round(COVERAGE * true.size))
            asked = np.stack(
                [choose.choice(true.size, cells, replace=False) for _ in range(queries)]
            )
            wanted = true[asked].sum(axis=1)
            # An error relative to nobody says nothing.
            some = wanted > 0
            empty += int((~some).sum())
            for name, shares in found.items():
                got = shares.reshape(-1)[asked].sum(axis=1)
                off[name].append(np.abs(got - wanted)[some] / wanted[some])
    return {name: np.concatenate(parts) for name, parts in off.items()}, empty


def spread(sample: Array) -> float:
    """The standard error of the median, by 200 resamples."""
    draw = np.random.default_rng(0)
    again = draw.choice(sample, (200, len(sample)))
    return float(np.median(again, axis=1).std())


def draw_picture(path: Path, betas: list[float], medians: dict[str, list[float]]) -> None:
    """The medians over beta, as small as a file of 64 colours is."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    from PIL import Image  # comes with matplotlib

    # Told apart by the colour-blind, and by marker and style in grey.
    looks = {
        "reported": ("#777777", "x", ":"),
        "product": ("#E69F00", "s", "--"),
        "raked": ("#009E73", "D", "-."),
        "inverse": ("#56B4E9", "v", ":"),
        "simplex": ("#CC79A7", "^", "--"),
        "mle": ("#D55E00", "P", "-."),
        "stopped": ("#000000", "*", ":"),
        "shrunk": ("#0072B2", "o", "-"),
    }
    figure = Figure(figsize=(6.8, 3.9), layout="constrained")
    axes = figure.subplots()
    for name, heading in HEADINGS.items():
        colour, marker, style = looks[name]
        axes.plot(
            betas, medians[name], label=heading, color=colour, marker=marker, linestyle=style,
            markersize=5, linewidth=1.4,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(FixedLocator([0.02, 0.05, 0.1, 0.2, 0.5, 1.0]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
    axes.set_xlabel("beta of a record")
    title = "Adult, tables of two attributes: median relative error"
    axes.set_title(title, loc="left", fontsize="medium")
    axes.grid(color="#e2e2e2", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)


HEAD = """## Methods compared on census data

`make adult` writes this section from eight columns of the Adult census (1994, {records:,} records).
Each column is randomized separately: the true value with probability p, otherwise a random
category. The joint table of every pair of columns is then estimated from the reported values.
The error is |estimate - true count| / true count, for counts of random sets of cells. The table
shows its median over {runs} randomizations x {pairs} pairs x {queries} queries, each for a tenth
of the cells, and its standard error. The reported values come from `Matrix.randomize` under
`Key.insecure({seed})`. Other seeds change the numbers by about these errors. The design follows
Domingo-Ferrer and Soria-Comas, "Multi-Dimensional Randomized Response" (IEEE TKDE 34(10), 2022).

Beta is for a whole record, over all eight columns (Definition 2). Epsilons add up.
"""

TAIL = """
- *as reported*: the reported values, without any correction.
- *product of marginals*: marginals by `"inverse"`, under the assumption that the columns are
  independent (RR-Independent).
- *raked*: weights for the records under which all eight marginals are the most likely ones
  (RR-Adjustment).
- *inverse*, *simplex*, *likelihood*, *shrunk*: `bs.kron(a, b).estimate(counts=table, method=...)`
  with `"inverse"`, `"simplex"`, `"mle"` and `"shrunk"`.
- *200 steps of EM*: expectation maximization from uniform, stopped after 200 steps.

Columns that were randomized independently need not be independent. The reported values of two
columns follow the Kronecker product of their matrices, which can be inverted. Maximum likelihood
over-fits if there is much noise, and even the product of marginals is then better. `"shrunk"` pulls
the likelihood towards that product, with a weight computed from the reported values;
`help(bistochastic.estimate.likelihood)` has the formula. A fixed number of steps does not replace
this weight: the best number depends on p, on the number of records and on the table.
"""


def verdict(medians: dict[str, list[float]]) -> Iterator[str]:
    """What is wanted of likelihood and of shrunk, and whether it is so."""
    # Those that need no choice of where to stop.
    others = [name for name in HEADINGS if name not in ("mle", "stopped", "shrunk")]
    for k, p in enumerate(TRUTHS):
        rival = min(others, key=lambda name: medians[name][k])
        ratio = medians["mle"][k] / medians[rival][k]
        best = min(medians, key=lambda name: medians[name][k])
        drawn = medians["shrunk"][k] / medians[best][k]
        yield (
            f"- p {float(p):g}: likelihood {ratio:.2f} times the best without it"
            f" ({HEADINGS[rival]}); shrunk {drawn:.2f} times the best of all (target: at most 1.05)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="the Adult experiment, as a Markdown page")
    parser.add_argument("--runs", type=int, default=4, help="randomizations at each p")
    parser.add_argument("--queries", type=int, default=10, help="queries of each pair")
    parser.add_argument("--seed", type=int, default=1, help="of the reports and the queries")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="where to draw a picture")
    given = parser.parse_args()
    if given.runs < 1 or given.queries < 1:
        parser.error("--runs and --queries must be at least 1")
    truth = records()
    start = time.perf_counter()
    pairs = len(SIZES) * (len(SIZES) - 1) // 2
    facts = {"runs": given.runs, "queries": given.queries, "seed": given.seed}
    print(HEAD.format(records=len(truth[0]), pairs=pairs, **facts))
    heads = ["p", "sum of epsilon", "beta", *HEADINGS.values()]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    watch = Watch()
    betas: list[float] = []
    medians: dict[str, list[float]] = {name: [] for name in HEADINGS}
    empty = 0
    for p in TRUTHS:
        # Attributes are randomized on their own, so bits and epsilons add up (Definition 2).
        record = bs.kron(*(mechanism(size, p) for size in SIZES))
        off, nobody = errors(truth, p, given.runs, given.queries, given.seed, watch)
        empty += nobody
        betas.append(record.beta)
        cells = [f"{float(p):g}", f"{record.epsilon:.2f}", f"{record.beta:.3f}"]
        for name, sample in off.items():
            medians[name].append(float(np.median(sample)))
            cells.append(f"{medians[name][-1]:.3f} ± {spread(sample):.3f}")
        print("| " + " | ".join(cells) + " |", flush=True)
    asked = len(TRUTHS) * given.runs * pairs * given.queries
    print(f"\n{empty:,} of {asked:,} queries are left out, because their cells are empty.\n")
    print("\n".join(verdict(medians)))
    if given.plot is not None:
        draw_picture(given.plot, betas, medians)
        words = "Median relative error over beta, one line per method"
        print(f"\n![{words}](../pictures/{given.plot.name})")
    print(TAIL, end="")
    took = ", ".join(f"{HEADINGS[name]} {s:.1f} s" for name, s in watch.seconds.items())
    print(f"took {time.perf_counter() - start:.0f} s: {took}", file=sys.stderr)


if __name__ == "__main__":
    main()
