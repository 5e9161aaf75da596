"""README and the pages have the numbers that ``make bench-short`` stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benches() -> Iterator[dict[str, ModuleType]]:
    """The benches, which have names that tests have, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benches"))
        import common
        import frequency
        import performance

        yield {"common": common, "frequency": frequency, "performance": performance}


@pytest.mark.parametrize(
    ("page", "name", "stored", "write"),
    [
        ("README.md", "speed", "performance", "readme"),
        ("docs/reference/performance.md", "core", "performance", "page"),
        ("docs/explanation/frequency.md", "frequency", "frequency", "tables"),
    ],
)
def test_tables_are_written_from_what_was_measured(
    page: str, name: str, stored: str, write: str, benches: dict[str, ModuleType]
) -> None:
    common = benches["common"]
    text = getattr(benches[stored], write)(common.load(stored))
    assert (ROOT / page).read_text() == common.between(page, name, text)
    assert (ROOT / page).read_text() != common.between(page, name, text.replace("1", "7"))


def test_what_was_not_measured_in_full_is_said(benches: dict[str, ModuleType]) -> None:
    frequency, text = benches["frequency"], (ROOT / "docs/explanation/frequency.md").read_text()
    part = f"decoded from {frequency.DECODED} of the {frequency.RECORDS:,} reported values"
    # Once, behind the tables of many categories.
    small, large = text.split(f"## {frequency.SIZES[1]:,} categories")
    assert part in large
    assert part not in small
    assert frequency.SIZES[0] < frequency.MANY <= frequency.SIZES[1]


def test_single_calls_of_others_are_compared_with_a_single_call(
    benches: dict[str, ModuleType],
) -> None:
    drawn = benches["common"].load("performance")["drawing"]
    ours, readme = drawn["respond"], (ROOT / "README.md").read_text()
    assert f"one call of ours {benches['common'].digits(ours)} ns" in readme
    for name, written in (("multi-freq-ldpy", "multi-freq-ldpy"), ("opendp", "OpenDP")):
        assert f"{written} {benches['performance'].times(drawn['peers'][name] / ours)}" in readme


def test_what_is_claimed_of_difference_sets_was_measured(benches: dict[str, ModuleType]) -> None:
    rows = benches["common"].load("frequency")["rows"]
    ours = [row for row in rows if row["method"] == "difference_set" and row["size"] == 22_000]
    assert len(ours) == len(benches["frequency"].EPSILONS)
    # Exactly at most 2.8% for these; one measurement varies by 1%.
    assert all(row["ratio"] < 1.028 + 0.05 for row in ours)
    assert benches["frequency"].least_error(1000, 1.0) == pytest.approx(3675.332752, rel=1e-9)
