"""How long reports take: ``make bench``. A report of 30 columns is to take at most 3 seconds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import bistochastic_survey as sv
from common import best

LAWS: tuple[Any, ...] = ("randomized_response", "geometric", "k_anonymous")


def thirty(least: int) -> sv.Plan:
    """30 columns of ``least`` to 32 levels, by three families."""
    return sv.Plan(
        [
            sv.Categorical(
                f"column {i}",
                [f"level {j} of column {i}" for j in range(min(32, least + i))],
                LAWS[i % 3],
                beta=0.5,
            )
            for i in range(30)
        ]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        for what, plan in (("3 to 32 levels", thirty(3)), ("32 levels each", thirty(32))):
            seconds = best(lambda plan=plan: plan.report(page, 10_000), 3)  # type: ignore[misc]
            size = page.stat().st_size / 1e6
            print(f"report of 30 columns, {what:<15} {seconds:6.2f} s (at most 3), {size:.2f} MB")


if __name__ == "__main__":
    main()
