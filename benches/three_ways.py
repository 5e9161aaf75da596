"""Three ways to protect numbers, on a census: writes a table of ``docs/howto/numeric.md``.

``census.csv`` (1080 records of the CASC reference set) is looked for in the folder that
BISTOCHASTIC_DATA names: ``make census``. Income, gross income and federal tax are binned, permuted
between neighbours in rank, or replaced by class means. The attacker knows the three true numbers of
everyone, and names the row of each person: the likeliest one if classes are randomized, else the
nearest one. The same keys give the same table.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bistochastic as bs
import bistochastic_survey as sv

# The ends and the width of the classes of each column, which anyone could have declared.
COLUMNS = {"PTOTVAL": (0, 100_000, 5_000), "AGI": (0, 100_000, 5_000), "FEDTAX": (0, 20_000, 1_000)}
INCOME, _, TAX = COLUMNS
KEYS = 20
BEGIN, END = "<!-- numbers: written by make census -->", "<!-- end of numbers -->"


def ways() -> dict[str, list[Any]]:
    def binned(epsilon: float) -> list[Any]:
        return [
            sv.Binned(name, range(low, high + 1, width), "geometric", epsilon=epsilon,
                      output="number", step=width / 5)
            for name, (low, high, width) in COLUMNS.items()
        ]  # fmt: skip

    def numeric(**options: Any) -> list[Any]:
        return [sv.Numeric(name, "k_anonymous", **options) for name in COLUMNS]

    return {
        "binned, 20 classes, epsilon 8": binned(8),
        "binned, 20 classes, epsilon 4": binned(4),
        "permuted in classes of 5": numeric(k=5),
        "permuted in classes of 5% of the ranks": numeric(share=0.05),
        "means of classes of 5": numeric(k=5, how="average"),
        "means of classes of 5% of the ranks": numeric(share=0.05, how="average"),
    }


def found(plan: sv.Plan, data: pd.DataFrame, out: pd.DataFrame) -> float:
    """The share of people whose row the attacker names, ties broken by lot."""
    score = np.zeros((len(data), len(data)))
    for attribute in plan.attributes:
        [name] = attribute.columns
        true, reported = data[name].to_numpy(float), out[name].to_numpy(float)
        if isinstance(attribute, sv.Binned):
            codes = [attribute._bins.codes(x)[0] for x in (true, reported)]
            score += np.log(attribute.matrices[0].to_dense())[np.ix_(*codes)]
        else:
            score -= np.abs((true[:, None] - reported[None]) / true.std())
    best = score.max(axis=1, keepdims=True)
    ties = np.isclose(score, best, rtol=0, atol=1e-9)
    return float((np.diag(ties) / ties.sum(axis=1)).mean())


def row(name: str, attributes: list[Any], data: pd.DataFrame) -> list[str]:
    plan = sv.Plan(attributes, keep=["saves"], units=[])
    results = []
    for seed in range(KEYS):
        key: Any = {"key": bs.Key.insecure(seed), "release_name": "x", "allow_insecure": True}
        out = plan.protect(data, **key).data
        binned = isinstance(attributes[0], sv.Binned)
        errors = [
            abs(sv.Release(out, plan).mean(INCOME, where={"saves": saves}).value / rows.mean() - 1)
            for saves, rows in data.groupby("saves")[INCOME]
        ]
        if binned:
            breaks = {a.column: np.asarray(a.breaks, np.float64) for a in attributes}
            middles = {name: (ends[1:] + ends[:-1]) / 2 for name, ends in breaks.items()}
            both = [INCOME, TAX]
            related = (
                sv.Release(out, plan)
                .correlation(both, {name: middles[name] for name in both})
                .value
            )
            shares = np.cumsum(sv.Release(out, plan).estimate(INCOME, method="mle").frequencies)
            quartile = middles[INCOME][int(np.searchsorted(shares, 0.75))]
        else:
            related = out[INCOME].corr(out[TAX])
            quartile = out[INCOME].quantile(0.75)
        linked = found(plan, data, out) if seed < 3 else np.nan
        results.append([linked, float(np.mean(errors)), related, quartile])
    linked, error, related, quartile = np.nanmean(results, axis=0)
    spread = np.std(results, axis=0)[2]
    epsilon = f"{plan.epsilon:.3g}" if np.isfinite(plan.epsilon) else "no limit"
    return [name, epsilon, f"{linked:.1%}", f"{error:.2%}", f"{related:.3f} ± {spread:.3f}",
            f"{quartile:,.0f}"]  # fmt: skip


def table(path: Path) -> str:
    data = pd.read_csv(path)
    data["saves"] = np.where(data["INTVAL"] > 100, "yes", "no")
    data = data[["saves", *COLUMNS]].astype(dict.fromkeys(COLUMNS, float))
    for name, (low, high, _) in COLUMNS.items():
        data[name] = data[name].clip(low, high - 1)
    header = ["", "epsilon of the three", "people found by their three numbers",
              "error of mean incomes by group", "correlation of income and tax",
              "third quartile of income"]  # fmt: skip
    rows = [header, ["---"] * len(header)]
    truth = data[INCOME].corr(data[TAX]), data[INCOME].quantile(0.75)
    rows.append(["the original", "no limit", "100%", "0", f"{truth[0]:.3f}", f"{truth[1]:,.0f}"])
    rows += [row(name, attributes, data) for name, attributes in ways().items()]
    return "\n".join(f"| {' | '.join(each)} |" for each in rows)


def main() -> None:
    path = Path(os.environ.get("BISTOCHASTIC_DATA") or ".") / "census.csv"
    if not path.exists():
        sys.exit("census.csv must be in the folder that BISTOCHASTIC_DATA names")
    page = Path(__file__).parent.parent / "docs" / "howto" / "numeric.md"
    text = page.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:start]}\n{table(path)}\n{text[end:]}")


if __name__ == "__main__":
    main()
