"""The explorer: what its page holds is what the core gives, step by step."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
from bistochastic.estimate.planning import mean_standard_error
from bistochastic.markup.pictures import cell_text
from bistochastic.report import suspicion
from bistochastic.report.explorer import STEPS
from bistochastic.report.sentences import becomes
from bistochastic.words import down, up


def written(folder: Path, given: Any, **named: Any) -> str:
    path = folder / "explore.html"
    bs.explore(given, path, **named)
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page, flags=re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def cells(law: dict[str, Any], step: list[Any], size: int) -> list[list[int]]:
    """As the script reads them."""
    index = [int(law["index"][i : i + 2], 36) for i in range(0, len(law["index"]), 2)]
    codes = [int(step[2][2 * group : 2 * group + 2], 36) for group in index]
    return [codes[u * size : (u + 1) * size] for u in range(size)]


@pytest.mark.parametrize("size", [2, 5, 13, 32])
def test_numbers_are_those_of_the_core(tmp_path: Path, size: int) -> None:
    data = data_of(written(tmp_path, size, records=5000))
    names = ["randomized_response", "k_anonymous", "geometric", "tridiagonal"]
    assert len(data["betas"]) == STEPS <= 41
    texts = data["texts"]
    for name, law in zip(names, data["laws"][str(size)], strict=True):
        for asked, step in zip(data["betas"], law["steps"], strict=True):
            try:
                matrix = bs.build(name, size=size, beta=float(asked))
            except bs.errors.OutOfReachError:
                assert "has no matrix of this beta" in step
                continue
            most = suspicion.odds(matrix)
            facts = step[0]
            assert facts[0] == down(matrix.beta, 4)
            assert facts[1] == ("infinite" if most is None else up(matrix.epsilon, 4))
            assert facts[2:4] == becomes(most)[:2]
            assert matrix.truthfulness is not None
            assert facts[4] == suspicion.percent(Fraction(matrix.truthfulness))
            dense = matrix.to_dense()
            far = sum(abs(u - v) * dense[u, v] for u in range(size) for v in range(size)) / size
            assert abs(float(facts[5]) - far) <= 0.005 * far + 1e-9
            if facts[6] == "cannot be estimated":
                assert matrix.is_singular
            elif facts[6] != "not computed":
                error = mean_standard_error(matrix, 5000)
                assert error is not None
                assert facts[6] == f"{100 * error:.3g}"
            shown_cells = cells(law, step, size)
            for u in range(size):
                for v in range(size):
                    p = float(dense[u, v])
                    assert (shown_cells[u][v] == 101) == (p == 0)
                    assert texts[shown_cells[u][v]] == cell_text(p, size)


def test_categories_have_their_names_or_codes_on_both_axes(tmp_path: Path) -> None:
    for given, names in ((3, ["0", "1", "2"]), (["no", "yes"], ["no", "yes"])):
        frame = re.findall(r"<svg.*?</svg>", written(tmp_path, given), flags=re.S)[0]
        for name in names:
            assert frame.count(f">{name}</text>") == 2
        assert f'data-size="{len(names)}"' in frame


def test_the_first_step_hides_nothing_and_the_last_everything(tmp_path: Path) -> None:
    law = data_of(written(tmp_path, 4))["laws"]["4"][0]
    assert law["steps"][0][0][:2] == ["0", "infinite"]
    assert law["steps"][-1][0][:4] == ["1", "0", "1%", "10%"]


def test_families_of_ones_own_are_shown(tmp_path: Path) -> None:
    cost = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    own = {"least <cost>": lambda size, beta: bs.gibbs(cost, beta=beta)}
    page = written(tmp_path, 3, families=own)
    assert data_of(page)["laws"]["3"][0]["name"] == "least <cost>"
    assert "least &lt;cost&gt;, 3 categories" in page
    page = written(tmp_path, 3, families={7: lambda size, _beta: bs.uniform(size)})
    assert data_of(page)["laws"]["3"][0]["name"] == "7"
    assert len(data_of(written(tmp_path, 3, families=["geometric"]))["laws"]["3"]) == 1


def test_labels_are_text(tmp_path: Path) -> None:
    page = written(tmp_path, ["<script>alert(1)</script>", "b", "\u202ec"])
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page


def test_the_page_is_small_and_complete(tmp_path: Path) -> None:
    page = written(tmp_path, 32)
    assert len(page.encode()) < 300_000
    assert "All numbers" in page
    for needed in ('type="range"', 'for="x-beta"', 'role="status"', "aria-valuetext", "<noscript>"):
        assert needed in page, needed
    assert not re.search(r"(?:src|href)=[\"'](?!#)|url\(|@import", page)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (1, ValueError),
        (33, ValueError),
        ([], ValueError),
        (["a"], ValueError),
        (["a"] * 33, ValueError),
        (["a", "b", "a"], ValueError),
        ("abc", TypeError),
        (2.5, TypeError),
        (None, TypeError),
    ],
)
def test_wrong_sizes_are_one_sentence(tmp_path: Path, given: Any, error: type) -> None:
    with pytest.raises(error, match=r"`size_or_categories` must .*; got "):
        written(tmp_path, given)
    assert not list(tmp_path.iterdir())


def test_wrong_families_and_paths_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`families` must hold names"):
        written(tmp_path, 3, families=["nonsense"])
    with pytest.raises(TypeError, match="that return a matrix; got int"):
        written(tmp_path, 3, families={"x": lambda _size, _beta: 7})
    with pytest.raises(ValueError, match="of size 3; got size 4"):
        written(tmp_path, 3, families={"x": lambda _size, _beta: bs.uniform(4)})
    with pytest.raises(ValueError, match=r"`path` must end in .html"):
        bs.explore(3, tmp_path / "x.txt")
    with pytest.raises(ValueError, match="`records` must"):
        written(tmp_path, 3, records=0)
