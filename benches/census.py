"""What common choices do to a column of incomes: writes the table of ``docs/howto/numeric.md``.

``census.csv`` (1080 records of the CASC reference set) is looked for in the folder that
BISTOCHASTIC_DATA names: ``make census``. The same key gives the same table.

Two columns are permuted by their own ranks, each under words of its own. The attacker knows the
matrix, everybody's rank, and where the value of the neighbour in rank went. From half of the draws
he learns which move is most frequent after each move of the neighbour; on the other half he names
the value of the target.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs

Array = NDArray[np.float64]

KEY = bs.Key.insecure(2022)
DRAWS = 60
# So often a move of the neighbour must have been seen to be believed.
SEEN = 30
BEGIN, END = "<!-- census: written by make census -->", "<!-- end of census -->"


def choices(n: int) -> list[tuple[str, bs.Matrix]]:
    k = n // 20
    shifted = [bs.k_anonymous(n, k=k), bs.blocks([k // 2, *[k] * (n // k - 1), k - k // 2])]
    return [
        ("neighbours, alpha 1/3", bs.tridiagonal(1 / 3, size=n)),
        ("geometric, beta 0.3", bs.geometric(n, beta=0.3)),
        ("geometric, beta 0.6", bs.geometric(n, beta=0.6)),
        ("classes of 3", bs.k_anonymous(n, k=3)),
        ("classes of 10", bs.k_anonymous(n, k=10)),
        ("classes of 5% of the ranks", bs.k_anonymous(n, share=0.05)),
        ("the same, also shifted by half", bs.mix(shifted, weights=[0.5, 0.5])),
        ("classes of 25% of the ranks", bs.k_anonymous(n, share=0.25)),
        ("randomized response, keep 0.9", bs.randomized_response(n, keep=0.9)),
        ("randomized response, keep 0.5", bs.randomized_response(n, keep=0.5)),
        ("uniform", bs.uniform(n)),
    ]


def columns(path: Path, *names: str) -> list[Array]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [np.array([float(row[name]) for row in rows]) for name in names]


def named(m: bs.Matrix) -> tuple[float, float]:
    """Shares of people whose value is named exactly: by rank alone, and knowing a neighbour."""
    n = m.size
    moves = np.array(
        [m.sample_permutation(key=KEY, stream=f"attack {i}") - np.arange(n) for i in range(DRAWS)]
    )
    learn, tried = moves[: DRAWS // 2], moves[DRAWS // 2 :]
    alone = int(np.bincount(learn.ravel() + n).argmax()) - n
    table: dict[int, dict[int, int]] = {}
    for one, next_one in zip(learn[:, :-1].ravel().tolist(), learn[:, 1:].ravel().tolist()):  # noqa: B905
        seen = table.setdefault(one, {})
        seen[next_one] = seen.get(next_one, 0) + 1
    often = {one: seen for one, seen in table.items() if sum(seen.values()) >= SEEN}
    best = {one: max(seen, key=lambda d: seen[d]) for one, seen in often.items()}
    guess = [best.get(one, alone) for one in tried[:, :-1].ravel().tolist()]
    return float((tried == alone).mean()), float((np.array(guess) == tried[:, 1:].ravel()).mean())


def table(path: Path) -> str:
    wages, taxes = columns(path, "PTOTVAL", "FEDTAX")
    n = len(wages)
    before = float(np.corrcoef(wages, taxes)[0, 1])
    lines = [
        f"{n} people, total income (PTOTVAL) and federal tax (FEDTAX), whose correlation is "
        f"{before:.3f}. Every choice preserves means,",
        "sums and histograms of a column exactly.",
        "",
        "| on ranks | beta | mean move | do not move | median change of income | correlation with "
        "the original | of income and tax | identified | identified, knowing a neighbour |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, m in choices(n):
        d = m.displacement()
        out = m.permute(wages, order="rank", key=KEY, stream="income")
        tax = m.permute(taxes, order="rank", key=KEY, stream="tax")
        change = float(np.median(np.abs(out - wages) / np.maximum(np.abs(wages), 1)))
        own = float(np.corrcoef(out, wages)[0, 1])
        both = float(np.corrcoef(out, tax)[0, 1])
        alone, neighbour = named(m)
        lines.append(
            f"| {name} | {np.floor(d.beta * 1000) / 1000:.3f} | {d.mean:.2%} | {d.unmoved:.1%} | "
            f"{change:.1%} | {own:.4f} | {both:.3f} | {alone:.1%} | {neighbour:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    path = Path(folder or ".") / "census.csv"
    if not path.exists():
        sys.exit("census.csv must be in the folder that BISTOCHASTIC_DATA names")
    page = Path(__file__).parent.parent / "docs" / "howto" / "numeric.md"
    text = page.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:start]}\n{table(path)}\n{text[end:]}")


if __name__ == "__main__":
    main()
