"""The picture that helps to choose: the least of each panel is marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.plot import COLOURS

pytest.importorskip("matplotlib")


def test_the_best_family_is_marked_and_lines_that_coincide_are_seen() -> None:
    figure = bs.plot.choices(30, epsilons=[0.5, 1, 5], betas=[0.2, 0.6])
    by_epsilon, by_beta, errors = figure.axes
    marks: dict[Any, dict[float, Any]] = {
        ax: {
            float(np.asarray(line.get_xdata())[0]): line.get_color()
            for line in ax.lines
            if line.get_label() == "_best"
        }
        for ax in figure.axes
    }
    assert set(marks[by_epsilon]) == {0.5, 1, 5}
    # Errors: difference sets at small epsilons; at 5 they are randomized response, and the first
    # of equal lines is marked.
    assert [marks[errors][x] for x in (0.5, 1, 5)] == [COLOURS[2], COLOURS[2], COLOURS[0]]
    assert set(marks[by_beta].values()) == {COLOURS[1]}
    widths = [line.get_linewidth() for line in errors.lines if line.get_label() != "_best"]
    assert sorted(widths, reverse=True) == widths
    assert len(set(widths)) == 3
    for m, name in ((bs.difference_set(30, epsilon=1), "difference set"),):
        line = next(line for line in errors.lines if line.get_label() == name)
        at = np.asarray(line.get_xdata()).tolist().index(1)
        error = m.standard_error([1 / 30] * 30, 10_000)[0]
        assert np.asarray(line.get_ydata())[at] == pytest.approx(error, rel=1e-9)


def test_bad_numbers_get_one_sentence() -> None:
    with pytest.raises(ValueError, match="`epsilons` must hold numbers of at least 0; got none"):
        bs.plot.choices(4, epsilons=[])
    with pytest.raises(ValueError, match="`betas` must hold numbers from 0 to 1; got 2"):
        bs.plot.choices(4, betas=[0.5, 2])
    with pytest.raises(ValueError, match="`size` must be at most 4096 in this picture; got 5000"):
        bs.plot.choices(5000)
