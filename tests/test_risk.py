"""The risk of an original: figures of sdcMicro, and counting by hand."""

from __future__ import annotations

import os
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic.cli import main

EIGHT = {
    "A": [2, 3, 2, 2, 3, 3, 1, 2],
    "B": [3, 3, 3, 3, 3, 3, 4, 3],
    "C": [1, 3, 1, 2, 1, 1, 1, 1],
    "w": [18, 45.5, 39, 17, 92, 8, 123.5, 51],
}


def test_individual_risk_has_the_figures_of_sdcmicro() -> None:
    risk = bs.risk(EIGHT, keys=["A", "B", "C"], weights="w")
    assert risk.population is not None
    assert risk.population.tolist() == [108, 45.5, 108, 17, 100, 100, 123.5, 108]
    assert risk.individual.round(8).tolist() == [
        0.01369863, 0.08579129, 0.01369863, 0.17707583, 0.01877883, 0.01877883, 0.03931625,
        0.01369863,
    ]  # fmt: skip
    plain = bs.risk(EIGHT, keys=["A", "B", "C"])
    assert plain.individual.tolist() == [1 / 3, 1, 1 / 3, 1, 1 / 2, 1 / 2, 1, 1 / 3]
    assert plain.sizes == {1: 3, 2: 2, 3: 3}


def test_suda_scores_have_the_figures_of_sdcmicro() -> None:
    book = {
        "age": ["20s"] * 7 + ["60s"],
        "gender": ["male"] * 4 + ["female"] * 3 + ["male"],
        "income": ["50k+"] * 2 + ["50k-"] * 6,
        "education": ["high"] * 4 + ["university", "high", "middle", "university"],
    }
    assert bs.risk(book, keys=list(book)).suda[4:].tolist() == [4, 2, 6, 8]
    guide = {
        "residence": ["U"] * 4 + ["R"] + ["U"] * 5,
        "gender": list("FFFMFMFMFF"),
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labor": ["E", "E", "N", "E", "U", "E", "N", "U", "N", "N"],
    }
    assert bs.risk(guide, keys=list(guide)).suda.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    three = {"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}
    assert bs.risk(three, keys=["c", "a", "b"]).contributions == (0.375, 0.5, 0.375)


def test_minimal_uniques_are_those_of_a_search_over_all_sets() -> None:
    draw = np.random.default_rng(7)
    frame: dict[str, Any] = {f"c{i}": draw.integers(0, 3 + i, 40).tolist() for i in range(5)}
    names = list(frame)
    rows = list(zip(*frame.values(), strict=True))

    def is_unique(row: int, chosen: tuple[int, ...]) -> bool:
        own = [rows[row][i] for i in chosen]
        return sum([other[i] for i in chosen] == own for other in rows) == 1

    scores = []
    for row in range(40):
        score = 0
        for size in (1, 2, 3):
            for chosen in combinations(range(5), size):
                parts = (p for s in range(1, size) for p in combinations(chosen, s))
                if is_unique(row, chosen) and not any(is_unique(row, p) for p in parts):
                    score += {1: 4 * 3 * 2, 2: 3 * 2, 3: 2}[size]
        scores.append(score)
    assert any(scores)
    assert bs.risk(frame, keys=names).suda.tolist() == scores


def test_households_and_diversity_are_counted() -> None:
    frame = {"sex": ["F", "F", "M", "M", "M"], "home": [1, 1, 1, 2, 3], "ill": list("xyxxx")}
    risk = bs.risk(frame, keys=["sex"], sensitive=["ill"], household="home")
    home = 1 - (1 / 2) * (1 / 2) * (2 / 3)
    assert risk.household is not None
    assert risk.household == pytest.approx([home, home, home, 1 / 3, 1 / 3], abs=1e-15)
    assert risk.diversity["ill"].tolist() == [2, 2, 1, 1, 1]
    # A person who is certainly found makes the household certainly found.
    sure = bs.risk({"a": [1, 2, 2], "h": [1, 1, 2]}, keys=["a"], household="h")
    assert sure.household is not None
    assert sure.household.tolist() == [1, 1, 0.5]


@pytest.mark.parametrize("k", [1, 2])
def test_risk_near_a_full_census_is_continuous(k: int) -> None:
    frame: dict[str, Any] = {
        "a": [0] * k + [1] * k,
        "w": [1 + 1.00001e-4] * k + [1 + 0.9999e-4] * k,
    }
    risk = bs.risk(frame, keys=["a"], weights="w").individual
    assert abs(risk[0] - risk[-1]) < 1e-7
    p = 1 / (1 + 1.00001e-4)
    exact = {1: -p / (1 - p) * log(p), 2: p / (1 - p) + (p / (1 - p)) ** 2 * log(p)}[k]
    assert risk[0] == pytest.approx(exact, rel=1e-6)


def test_the_household_survey_has_the_risks_that_pandas_counts() -> None:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if not folder:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    import pandas as pd

    frame = pd.read_csv(Path(folder) / "sdcmicro_testdata.csv")
    risk = bs.risk(frame, keys=["sex", "age", "relat", "hhcivil", "urbrur"])
    assert (risk.uniques, risk.below(3), round(risk.expected)) == (289, 483, 651)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keys": ["x"]}, "column `x`: `keys` must be in `original`; got none of that name"),
        ({"keys": []}, "`keys` must name at least one column; got none"),
        ({"keys": ["A", "A"]}, "`keys` must be distinct; got `A` twice"),
        ({"keys": "A"}, "`keys` must be a list of columns; got str"),
        ({"keys": ["A"], "weights": "C"}, None),
        ({"keys": ["A"], "weights": "small"},
         "`weights` must sum to at least the number of records; got a sum below it: weights count "
         "people of the population"),
        ({"keys": ["A"], "sensitive": ["y"]},
         "column `y`: `sensitive` must be in `original`; got none of that name"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(given: dict[str, Any], message: str | None) -> None:
    frame = {**EIGHT, "small": [0.5] * 8}
    if message is None:
        assert bs.risk(frame, **given).records == 8
        return
    with pytest.raises((TypeError, ValueError)) as caught:
        bs.risk(frame, **given)
    assert str(caught.value) == message


def test_no_value_is_shown_and_the_shell_says_the_same(tmp_path: Path) -> None:
    frame = {"town": ["Nowhere", "Nowhere", "Elsewhere"], "age": [987654, 987654, 3]}
    risk = bs.risk(frame, keys=["town", "age"])
    for text in (str(risk), repr(risk), risk._repr_html_()):
        assert "Nowhere" not in text
        assert "987654" not in text
        assert "not for release" in text
    file = tmp_path / "people.csv"
    file.write_text("town,age\nNowhere,987654\nNowhere,987654\nElsewhere,3\n")
    done = CliRunner().invoke(main, ["risk", str(file), "--keys", "town,age"])
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{risk}\n"
    wrong = CliRunner().invoke(main, ["risk", str(file), "--keys", "x"])
    assert "`file` must have the column `x`; got none of that name" in wrong.output
