"""Numbers in README and in the pages are those that ``make bench`` stored."""

from __future__ import annotations

from pathlib import Path

import pytest

import common
import frequency
import performance

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "name", "stored", "write"),
    [
        (performance.README, "speed", "performance", performance.readme),
        (performance.PAGE, "core", "performance", performance.page),
        (frequency.PAGE, "frequency", "frequency", frequency.tables),
    ],
)
def test_tables_are_written_from_what_was_measured(
    page: str, name: str, stored: str, write: object
) -> None:
    assert callable(write)
    text = write(common.load(stored))
    assert (ROOT / page).read_text() == common.between(page, name, text)
    assert (ROOT / page).read_text() != common.between(page, name, text.replace("1", "7"))


def test_what_is_claimed_of_difference_sets_was_measured() -> None:
    rows = common.load("frequency")["rows"]
    ours = [row for row in rows if row["method"] == "difference_set" and row["size"] == 22_000]
    assert len(ours) == len(frequency.EPSILONS)
    # Exactly at most 2.8% for these; one measurement varies by 1%.
    assert all(row["ratio"] < 1.028 + 0.05 for row in ours)
    assert frequency.least_error(1000, 1.0) == pytest.approx(3675.332752, rel=1e-9)
