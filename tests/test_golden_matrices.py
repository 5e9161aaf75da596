"""Golden values: what a matrix with given parameters gave once, it gives for ever."""

from __future__ import annotations

import pytest

import frozen
from bistochastic import _core

MATRICES = frozen.stored("matrices")
REQUESTS = frozen.stored("requests")


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_gives_what_it_gave(name: str) -> None:
    there = dict(MATRICES[name])
    packed = there.pop("matrix")
    m = frozen.unpacked(packed)
    assert frozen.packed(m) == packed
    without = {"terms", "measures"} - set(there)
    assert not frozen.changes(name, there, frozen.facts(m, without))


def test_a_request_gives_the_matrix_it_gave() -> None:
    found = {n: frozen.digest_of(each["family"], each["asked"]) for n, each in REQUESTS.items()}
    assert found == {n: each["digest"] for n, each in REQUESTS.items()}


def test_every_family_is_among_them() -> None:
    assert {each["matrix"]["family"] for each in MATRICES.values()} == set(_core.families())
    assert sum(path.stat().st_size for path in frozen.FOLDER.iterdir()) < 2_000_000
