"""The functions of the families: what they take is what ``build`` and ``parameters`` know."""

from __future__ import annotations

import inspect
import operator
import re
from typing import Any

import pytest

import bistochastic as bs
from cases import FAMILIES, of_every_family

every_family = pytest.mark.parametrize("name", sorted(FAMILIES))


def function(name: str) -> Any:
    """The function of a family. A product has none, and is written ``a @ b``."""
    if name == "product":
        return lambda matrices: operator.matmul(*matrices)
    return getattr(bs, name)


@of_every_family()
def test_the_function_of_a_family_takes_its_parameters(name: str, m: bs.Matrix) -> None:
    again = function(name)(**m.parameters)
    assert again == m
    assert hash(again) == hash(m)
    assert again.parameters == m.parameters


@every_family
def test_a_name_that_is_not_known_is_named_with_those_that_are(name: str) -> None:
    # Whatever else is missing or wrong.
    for others in ({}, {"size": -1}, {"beta": 0.5}):
        with pytest.raises(TypeError) as found:
            bs.build(name, eps=1, **others)  # type: ignore[call-arg]
        unknown = re.fullmatch(
            r"`(\w+)` must be a parameter of (\w+) \((.*)\); got a name it does not have.*",
            str(found.value),
        )
        assert unknown
        assert unknown[1] in ("eps", *others)
        assert unknown[2] == name
        names = [
            p.name
            for p in inspect.signature(function(name)).parameters.values()
            if p.kind is not inspect.Parameter.VAR_POSITIONAL
        ]
        assert unknown[3].split(", ") == names


@pytest.mark.parametrize(
    ("family", "given_", "sentence"),
    [
        (
            "dense",
            {"array": [[1]], "counts": [[1]], "total": 1},
            "`array` must be left out where total and counts are given; got both",
        ),
        ("dense", {"counts": [[1]]}, "`total` must be given with counts; got nothing"),
        (
            "gibbs",
            {"counts": [[1]], "total": 1, "beta": 1},
            "`beta` must be left out where total and counts are given; got both",
        ),
        ("geometric", {"kernel": [1, 0]}, "`total` must be given for geometric; got nothing"),
        (
            "geometric",
            {"kernel": [1, 0], "total": 1, "size": 1},
            "`size` must be left out where kernel and total are given; got both",
        ),
        (
            "tridiagonal",
            {"size": 3, "beta": 0.2, "total": 9},
            "`total` must be left out where size and beta are given; got both",
        ),
        ("circulant", {"first_row": [0.5, 0.5], "total": 2}, "`total` must go with integers"),
    ],
)
def test_realised_parameters_go_alone(family: str, given_: dict[str, Any], sentence: str) -> None:
    for make in (lambda: bs.build(family, **given_), lambda: function(family)(**given_)):
        with pytest.raises(TypeError) as found:
            make()
        assert str(found.value).startswith(sentence)
