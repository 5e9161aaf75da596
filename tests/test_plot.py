"""Pictures: what stands in them, the numbers behind, and that they leave no trace."""

from __future__ import annotations

import functools
import io
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.errors import SingularMatrixError
from bistochastic.estimate.planning import mean_standard_error
from cases import of_every_family

if TYPE_CHECKING:
    from matplotlib.figure import Figure

mpl = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")

ROOT = Path(__file__).parents[1]
PANELS = ("truthfulness", "epsilon", "standard_error", "expected_cost")


def image_of(figure: Figure) -> Any:
    return figure.axes[0].images[0]


def curves(axes: Any) -> list[Any]:
    """The lines of families, one each."""
    return [line for line in axes.lines if not str(line.get_label()).startswith("_")]


def png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, dpi=50)
    return out.getvalue()


# --- a matrix


def test_a_heat_map_shows_every_entry_with_the_truth_as_rows() -> None:
    m = bs.circulant([0.5, 0.3, 0.2])
    figure = bs.plot.heatmap(m)
    axes, shown = figure.axes[0], image_of(figure).get_array()
    assert np.array_equal(shown, m.to_dense())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("reported", "true")
    assert [text.get_text() for text in axes.texts][:3] == [".50", ".30", ".20"]


# --- families against each other


def dense_error(m: bs.Matrix, records: int) -> float:
    """The definition: the trace of the covariance of the estimate, spread over the categories."""
    inverse = np.linalg.inv(m.to_dense())
    pi = np.full(m.size, 1 / m.size)
    reports = m.to_dense().T @ pi
    covariance = (inverse.T @ np.diag(reports) @ inverse - np.outer(pi, pi)) / records
    return math.sqrt(max(0.0, np.trace(covariance)) / m.size)


@of_every_family(some=10)
def test_no_matrix_estimates_better_than_no_matrix(name: str, m: bs.Matrix) -> None:
    if m.is_singular:
        with pytest.raises(SingularMatrixError, match="`standard_error` must be used with an inv"):
            mean_standard_error(m)
    else:
        found = mean_standard_error(m)
        assert found is not None
        r = m.size
        assert found >= math.sqrt(r - 1) / r
        if m.condition < 1e4:
            assert found == pytest.approx(dense_error(m, 1), rel=1e-6, abs=1e-7)


@functools.cache
def twelve() -> Figure:
    """What several tests look at."""
    return bs.plot.tradeoff(12)


def test_points_are_those_of_the_matrices() -> None:
    points = bs.tradeoff(12, betas=[0.9, 0.3], records=100)
    assert [(p.family, p.asked) for p in points[:4]] == [
        ("randomized_response", 0.3),
        ("randomized_response", 0.9),
        ("k_anonymous", 0.3),
        ("k_anonymous", 0.9),
    ]
    for p in points:
        if p.beta is not None:
            m = bs.build(p.family, size=12, beta=p.asked)
            assert (p.beta, p.truthfulness, p.epsilon) == (m.beta, m.truthfulness, m.epsilon)
            wanted = None if m.is_singular else mean_standard_error(m, 100)
            assert p.standard_error == wanted
            walk = m.profile(cost="ordinal").expected_cost
            assert p.expected_cost == pytest.approx(walk, rel=1e-12)
    keep = points[0].truthfulness
    assert keep is not None
    # diag - off of randomized response is (r keep - 1) / (r - 1).
    factor = (12 * keep - 1) / 11
    plain = math.sqrt(Fraction(1, 12) * Fraction(11, 12) / 100)
    assert points[0].standard_error == pytest.approx(plain / factor, rel=1e-12)


def test_a_family_that_ends_says_where() -> None:
    low, high = bs.tradeoff(12, families=["tridiagonal"], betas=[0.4, 0.5])
    assert low.most is None
    assert high.beta is None
    assert high.most is not None
    assert bs.tridiagonal(size=12, beta=high.most).beta >= high.most
    labels = twelve().axes[0].get_legend_handles_labels()[1]
    assert labels == [
        "randomized response",
        "k-anonymous",
        "geometric",
        "tridiagonal (beta to 0.411)",
    ]


def test_a_tradeoff_draws_one_line_a_family_and_panel() -> None:
    figure = twelve()
    for axes, name in zip(figure.axes, PANELS, strict=True):
        lines = curves(axes)
        assert len({(str(line.get_marker()), str(line.get_color())) for line in lines}) == 4
        assert axes.get_xlabel() == "beta"
        points = bs.tradeoff(12, families=["randomized_response"])
        assert list(lines[0].get_xdata()) == [p.beta for p in points]
        assert list(lines[0].get_ydata()) == [getattr(p, name) for p in points]


@pytest.mark.parametrize(
    ("families", "betas"),
    [
        (["k_anonymous"], [0.3]),
        (["k_anonymous"], [1]),
        (["tridiagonal"], [0.9]),
        (["randomized_response"], [0]),
        (["geometric"], [0, 1]),
    ],
)
def test_panels_without_a_point_can_be_drawn(families: list[str], betas: list[float]) -> None:
    assert png(bs.plot.tradeoff(12, families=families, betas=betas))


def test_one_panel_own_families_and_own_axes() -> None:
    cost = abs(np.subtract.outer(range(5), range(5)))
    own = {"gibbs": lambda size, beta: bs.gibbs(cost, beta=beta)}
    figure = bs.plot.tradeoff(5, families=own, betas=[0.4, 0.8], against="epsilon")
    assert len(figure.axes) == 1
    mine = mpl.figure.Figure()
    panels = mine.subplots(1, 2)
    drawn = bs.plot.tradeoff(5, against=["epsilon", "truthfulness"], axes=panels)
    assert drawn is mine
    assert [axes.get_title(loc="left") for axes in panels] == [
        "epsilon: low is safe",
        "truthful probability: high is useful",
    ]
    assert bs.plot.heatmap(bs.uniform(3), axes=mpl.figure.Figure().subplots()).axes


# --- company


def test_pictures_are_the_same_every_time_and_leave_pyplot_alone() -> None:
    before = dict(mpl.rcParams)
    m = bs.geometric(6, beta=0.5)
    pictures: tuple[Callable[[], Any], ...] = (
        lambda: bs.plot.heatmap(m),
        lambda: bs.plot.tradeoff(6, against="epsilon"),
    )
    for draw in pictures:
        assert png(draw()) == png(draw())
    assert dict(mpl.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_bad_input_is_answered_in_one_sentence() -> None:
    anything: Any = bs.plot
    names = "randomized_response, k_anonymous, geometric, tridiagonal"
    panels = "truthfulness, epsilon, standard_error, expected_cost"
    for call, kind, sentence in [
        (lambda: anything.tradeoff(1), ValueError,
         "`size` must be an integer of at least 2; got 1"),
        (lambda: anything.tradeoff(5, betas=[0.5, 1.5]), ValueError,
         "`betas` must hold numbers from 0 to 1; got 1.5"),
        (lambda: anything.tradeoff(5, families=["circulant"]), ValueError,
         f"`families` must hold names out of {names}, or be a mapping; got 'circulant'"),
        (lambda: anything.tradeoff(5, families={"a": lambda size, beta: 3}), TypeError,
         "`families` must hold functions that return a matrix; got int"),
        (lambda: anything.tradeoff(5, against=["beta"]), ValueError,
         f"`against` must hold names out of {panels}; got 'beta'"),
    ]:  # fmt: skip
        ask: Any = call
        with pytest.raises(kind) as caught:
            ask()
        assert str(caught.value) == sentence
