"""Results go through pickle and come out as they were."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

import bistochastic as bs

M = bs.randomized_response(3, epsilon=2)
RESULTS: dict[str, Callable[[], object]] = {
    "Comparison": lambda: bs.compare(M),
    "Entry": lambda: M.profile()["beta"],
    "Estimate": lambda: M.estimate(counts=[520, 290, 190]),
    "Matrix": lambda: M,
    "Point": lambda: bs.tradeoff(3, betas=[0.5])[0],
    "Profile": lambda: M.profile(),
    "TTransforms": lambda: bs.theory.t_transforms([5, 3, 1], [4, 3, 2]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_pickled(name: str) -> None:
    made = RESULTS[name]()
    found = pickle.loads(pickle.dumps(made))
    assert type(found) is type(made)
    assert repr(found) == repr(made)


def test_an_estimate_is_equal_to_itself_after_a_pickle() -> None:
    for made in (
        M.estimate(counts=[520, 290, 190]),
        M.estimate([0, 1, 2, 1], weights=[1, 2, 1, 1], categories=["a", "b", "c"]),
        bs.blocks([2, 1]).estimate([0, 1, 2], classes=True),
    ):
        found = pickle.loads(pickle.dumps(made))
        made.interval()
        assert found == made
        assert hash(found) == hash(made)
        assert found != M.estimate(counts=[520, 290, 191])


def test_a_decomposition_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(bs.uniform(3).decompose())
