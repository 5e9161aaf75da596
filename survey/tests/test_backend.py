"""``bistochastic.backend``: what plans draw, for every tool."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import backend

KEY = bs.Key.from_bytes(bytes(range(32)))
SEX = bs.randomized_response(2, beta=0.6)
AGE = bs.geometric(5, epsilon=1)
N = backend.Blocks.ROWS * 2 + 1234
RNG = np.random.default_rng(1)
CODES = {"sex": RNG.integers(0, 2, N), "age": RNG.integers(0, 5, N)}
PLAN = sv.Plan(
    [sv.Categorical("sex", [0, 1], matrix=SEX), sv.Categorical("age", [0, 1, 2, 3, 4], matrix=AGE)],
    name="survey",
    drop=["id"],
)


def columns(rows: slice = slice(None)) -> list[backend.Column]:
    laws = {"sex": SEX, "age": AGE}
    return [backend.Column(name, CODES[name][rows], laws[name]) for name in laws]


def test_an_empty_id_is_drawn_here_and_refused_by_tools() -> None:
    empty = backend.Ids(["ann", ""])
    drawn = backend.draw([backend.Column("age", [3, 3], AGE)], KEY, plan="survey", address=empty)
    assert backend.respond(["age"], AGE, 3, KEY, "survey", "") == drawn[0][1]
    assert AGE.respond(3, key=KEY, stream="a", id="") in range(5)
    assert len(backend.pseudonyms(empty, KEY, plan="survey")) == 2
    assert empty.first_empty == 1
    with pytest.raises(ValueError, match="`id` must not be empty"):
        PLAN.responder(key=KEY, after="first").one({"sex": 0, "age": 3}, id="")


def test_blocks_are_drawn_as_a_plan_draws_them_in_one_piece_or_several() -> None:
    data = PLAN.protect({**CODES, "id": np.arange(N)}, key=KEY, release_name="a").data
    names = {"plan": "survey", "release": "a"}
    sex, age = backend.draw(columns(), KEY, **names, address=backend.Blocks())
    assert sex.dtype == CODES["sex"].dtype
    assert np.array_equal(sex, data["sex"])
    assert np.array_equal(age, data["age"])
    cut = backend.Blocks.ROWS
    first = backend.draw(columns(slice(cut)), KEY, **names, address=backend.Blocks(0, last=False))
    rest = backend.draw(columns(slice(cut, None)), KEY, **names, address=backend.Blocks(1))
    assert np.array_equal(np.concatenate([first[1], rest[1]]), age)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, str, "bytes"])
def test_ids_are_drawn_as_a_plan_draws_them(kind: Any) -> None:
    some = {name: codes[:500] for name, codes in CODES.items()}
    ids: Any = np.arange(500).astype(kind) if kind != "bytes" else [b"%d" % i for i in range(500)]
    given = list(ids) if kind == "bytes" else ids
    data = PLAN.protect({**some, "id": given}, key=KEY, ids=sv.Wave("id", after="first")).data
    held = backend.Ids(given)
    drawn = backend.draw(columns(slice(500)), KEY, plan="survey", address=held)
    assert np.array_equal(drawn[1], data["age"])
    one = backend.respond(["age"], AGE, int(some["age"][7]), KEY, "survey", held.tolist()[7])
    assert one == drawn[1][7]
    part = backend.Column("age", some["age"][[9, 3]], AGE)
    [again] = backend.draw([part], KEY, plan="survey", address=held.take([9, 3]))
    assert np.array_equal(again, drawn[1][[9, 3]])


def test_rows_are_ids_under_a_key_of_their_own() -> None:
    names = {"plan": "survey", "release": "a"}
    all_rows = backend.draw(columns(slice(99)), KEY, **names, address=backend.Rows())
    own = backend.derive(KEY, "rows", "survey", "a")
    by_id = backend.draw(columns(slice(99)), own, plan="survey", address=backend.Ids(np.arange(99)))
    later = backend.draw(columns(slice(40, 99)), KEY, **names, address=backend.Rows(40))
    assert np.array_equal(all_rows[1], by_id[1])
    assert np.array_equal(all_rows[1][40:], later[1])


def test_groups_are_drawn_by_their_own_matrices() -> None:
    laws, groups = [bs.identity(5), AGE], np.arange(500) % 2
    ids = backend.Ids(np.arange(500))
    codes = CODES["age"][:500]
    for address in (ids, backend.Blocks(), backend.Rows()):
        column = backend.Column("age", codes, laws, groups=groups)
        [drawn] = backend.draw([column], KEY, plan="survey", address=address)
        assert np.array_equal(drawn[::2], codes[::2])
        assert not np.array_equal(drawn[1::2], codes[1::2])


def test_columns_of_one_name_are_refused() -> None:
    column = backend.Column("a", [0, 1], bs.uniform(2))
    key = bs.Key.generate()
    for address in (backend.Rows(), backend.Ids([1, 2]), backend.Blocks()):
        for columns in (
            [column, column],
            [column, backend.Column(["a", "b"], [0, 1], bs.uniform(2))],
        ):
            with pytest.raises(bs.errors.Refused, match="`columns` must have each name once"):
                backend.draw(columns, key, plan="p", address=address)
        with pytest.raises(TypeError, match=r"^`key` must be a Key; got NoneType$"):
            backend.draw([column], None, plan="p", address=address)  # type: ignore[arg-type]


def test_bad_input_is_refused_in_a_sentence() -> None:
    backend: Any = importlib.import_module("bistochastic.backend")
    column, ids = backend.Column("age", [1, 2], AGE), backend.Ids([1, 2])
    wrong: list[Any] = [
        lambda: backend.Column("age", [0.5], AGE),
        lambda: backend.Column("age", [[1]], AGE),
        lambda: backend.Column(7, [1], AGE),
        lambda: backend.Column("age", [1], "uniform"),
        lambda: backend.Column("age", [1], [np.ma.masked]),
        lambda: backend.Column("age", [1], [AGE, SEX], groups=[0]),
        lambda: backend.Column("age", [1], [AGE, AGE]),
        lambda: backend.Column("age", [1], [AGE, AGE], groups=[2]),
        lambda: backend.Column("age", [1], AGE, missing=[True, False]),
        lambda: backend.Column("age", np.zeros(1, np.uint8), bs.uniform(300)),
        lambda: backend.draw([column], KEY, plan=3, address=ids),
        lambda: backend.draw([column], "key", plan="p", address=ids),
        lambda: backend.draw([column], KEY, plan="p", address=3),
        lambda: backend.draw([column], KEY, plan="p", release="r", address=ids),
        lambda: backend.draw([column], KEY, plan="p", address=backend.Ids([1])),
        lambda: backend.draw([AGE], KEY, plan="p", address=ids),
        lambda: backend.Ids("ann"),
        lambda: backend.Ids([0.5]) and backend.pseudonyms(backend.Ids([0.5]), KEY, plan="p"),
        lambda: backend.Ids(np.zeros(2)),
        lambda: backend.Ids.joined([[1], [1, 2]]),
        lambda: backend.Rows(-1),
        lambda: backend.Blocks(-1),
        lambda: backend.derive(KEY, "people", "p"),
        lambda: backend.derive(KEY, "rows", "p"),
        lambda: backend.respond(["age"], AGE, -1, KEY, "p", 1),
        lambda: backend.RowsPerId(1).add(np.zeros((2, 3), np.uint8)),
        lambda: backend.count([5], 5),
    ]
    with pytest.raises(ValueError, match=r"`matrices` must all have one size; got none$"):
        backend.Column("age", [1], [])
    for address in (ids, backend.Blocks(), backend.Rows()):
        bad = backend.Column("age", [1, 5], AGE)
        wrong.append(lambda a=address, b=bad: backend.draw([b], KEY, plan="p", address=a))
    for i, call in enumerate(wrong):
        with pytest.raises((IndexError, TypeError, ValueError), match=r"`\w+` must .*; got "):
            raise AssertionError(f"{i}: {call()}")


def test_solving_back_gives_scores_of_reports() -> None:
    scores = np.array([[1.0, 2, 3, 4, 5], [0, 0, 1, 0, 0]]).T
    assert np.allclose(AGE.to_dense() @ AGE.solve(scores, back=True), scores)
    assert AGE.digest == bs.geometric(5, epsilon=1).digest != SEX.digest
