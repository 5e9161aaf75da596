"""MDAV against the same algorithm in NumPy, in one run: ``make bench``.

The NumPy version is written as one would: distances of all records that are left in one expression,
the nearest by partition rather than a full sort, records that are taken dropped from the array. It
gives the same classes, up to distances that differ in their last bit. ``BISTOCHASTIC_BENCH=small``
leaves the large tables out.
"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
from common import best

SMALL = os.environ.get("BISTOCHASTIC_BENCH") == "small"
Floats = NDArray[np.float64]


def from_place(points: Floats, place: Floats) -> Floats:
    """Squared distances of all points to a place."""
    gaps = points - place
    return np.asarray(np.einsum("ij,ij->i", gaps, gaps))


def mdav(x: Floats, k: int) -> NDArray[np.int64]:
    """The class of each row."""
    spread = x.std(axis=0, ddof=1)
    points = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    left = np.arange(len(points))
    classes = np.empty(len(points), dtype=np.int64)
    made = 0

    def class_around(at: int) -> Floats:
        nonlocal points, left, made
        place: Floats = points[at].copy()
        away = from_place(points, place)
        away[at] = -1
        near = np.argpartition(away, k - 1)[:k]
        classes[left[near]] = made
        made += 1
        stay = np.ones(len(left), dtype=bool)
        stay[near] = False
        points, left = points[stay], left[stay]
        return place

    while len(left) >= 3 * k:
        first = class_around(int(from_place(points, points.mean(axis=0)).argmax()))
        class_around(int(from_place(points, first).argmax()))
    if len(left) >= 2 * k:
        class_around(int(from_place(points, points.mean(axis=0)).argmax()))
    classes[left] = made
    return classes


def information_loss(x: Floats, classes: NDArray[np.int64]) -> float:
    spread = x.std(axis=0, ddof=1)
    z = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    sizes = np.bincount(classes)
    means = np.stack([np.bincount(classes, column) / sizes for column in z.T], axis=1)
    return float(100 * ((z - means[classes]) ** 2).sum() / (z**2).sum())


def read(name: str, wanted: Any) -> Floats | None:
    """The columns of a file of the data folder."""
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None or not (Path(folder) / name).exists():
        return None
    with (Path(folder) / name).open(newline="") as file:
        rows = list(csv.reader(file))
    chosen = [i for i, column in enumerate(rows[0]) if wanted(column)]
    return np.array([[float(row[i]) for i in chosen] for row in rows[1:]])


def is_eia(column: str) -> bool:
    return column == "UTILITYID" or column.endswith(("REVENUE", "SALES"))


def against_numpy() -> None:
    print("MDAV against the same algorithm in NumPy")
    random = np.random.default_rng(1)
    tables: list[tuple[str, Floats | None, int, str]] = [
        ("eia.csv", read("eia.csv", is_eia), 3, " (wanted: 10)"),
        ("census.csv", read("census.csv", lambda _: True), 3, ""),
        ("normal, 4,092 x 11", random.normal(size=(4092, 11)), 3, " (wanted: 10)"),
        ("lognormal, 20,000 x 5", random.lognormal(size=(20_000, 5)), 5, ""),
    ]
    for name, x, k, wanted in tables:
        if x is None:
            print(f"  {name}: left out: it is not in BISTOCHASTIC_DATA")
            continue
        ours = best(lambda: bs.masking.microaggregate(x, k=k), 3)  # noqa: B023
        start = time.perf_counter()
        classes = mdav(x, k)
        theirs = time.perf_counter() - start
        found = bs.masking.microaggregate(x, k=k)
        print(
            f"  {name}, {len(x):,} x {x.shape[1]}, k = {k}: {1e3 * ours:.1f} ms,"
            f" {theirs / ours:.1f} times faster{wanted}; information loss"
            f" {found.information_loss:.4f}, NumPy {information_loss(x, classes):.4f}",
            flush=True,
        )


def growth() -> None:
    print("growth, k = 5")
    for law in ("lognormal", "normal"):
        before = 0.0
        for n in (12_500, 25_000, 50_000, 100_000):
            x = getattr(np.random.default_rng(2), law)(size=(n, 5))
            took = best(lambda: bs.masking.microaggregate(x, k=5), 1)  # noqa: B023
            grown = f", {took / before:.1f} times the half" if before else ""
            print(f"  {law}, {n:,} x 5: {took:.2f} s{grown}", flush=True)
            before = took
    x = np.random.default_rng(3).lognormal(size=10**6)
    took = best(lambda: bs.masking.microaggregate(x, k=5), 1)
    print(f"  the best classes of 10^6 x 1: {took:.2f} s")


if __name__ == "__main__":
    against_numpy()
    if not SMALL:
        growth()
