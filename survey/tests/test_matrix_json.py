"""Matrices as JSON: written exactly, read as if a stranger had written them."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import bistochastic as bs
from bistochastic import _core, matrix_json
from cases import of_every_family

SENTENCE = re.compile(r"`[^`\n]+` must [^\n]*; got [^\n]*[^.\n]")
# Held by a test of its own.
VALIDATOR = Draft202012Validator(matrix_json.schema())
READ: Callable[[Any], bs.Matrix] = bs.Matrix.from_json


def law(family: str, parameters: str, rest: str = "") -> str:
    """The text of a matrix, with anything in it."""
    head = '{"format": "bistochastic.matrix", "version": 1, '
    return f'{head}"family": "{family}", "parameters": {parameters}{rest}}}'


def refusal(text: Any) -> str:
    with pytest.raises(ValueError, match=SENTENCE) as found:
        READ(text)
    assert SENTENCE.fullmatch(str(found.value)), str(found.value)
    assert found.value.__suppress_context__ or found.value.__context__ is None
    return str(found.value)


@of_every_family()
def test_json_gives_the_same_matrix_and_the_same_text_again(name: str, m: bs.Matrix) -> None:
    text = m.to_json()
    again = READ(text)
    assert again == m
    assert hash(again) == hash(m)
    assert again.parameters == m.parameters
    assert again.requested == m.requested
    assert list(map(type, again.requested.values())) == list(map(type, m.requested.values()))
    assert again.to_json() == text
    assert "\n" not in text
    VALIDATOR.validate(json.loads(text))


def numbers(thing: Any) -> list[Any]:
    if isinstance(thing, dict):
        return [n for value in thing.values() for n in numbers(value)]
    if isinstance(thing, list):
        return [n for value in thing for n in numbers(value)]
    return [thing]


def test_no_reader_can_round_a_number() -> None:
    # 2^53 + 1 is the first whole number that is no double.
    m = bs.dense([[2**53 + 1, 2], [2, 2**53 + 1]])
    written = json.loads(m.to_json())["parameters"]
    assert written == {
        "counts": [[str(2**53 + 1), 2], [2, str(2**53 + 1)]],
        "total": str(2**53 + 3),
    }
    assert READ(m.to_json()) == m
    grid = json.loads(bs.identity(2**53).to_json())["parameters"]
    assert grid == {"size": 2**53}
    for m in (bs.circulant([2**62, 5]), bs.randomized_response(2**40, epsilon=3)):
        rounding = json.dumps(json.loads(m.to_json(), parse_int=lambda n: int(float(n))))
        assert READ(rounding) == m
        assert not any(isinstance(n, float) for n in numbers(json.loads(rounding)["parameters"]))


def test_the_text_is_the_same_everywhere() -> None:
    inner = bs.circulant([2**62, 5, 1]) @ bs.randomized_response(3, keep=Fraction(2, 7))
    m = bs.kron(bs.mix([inner, bs.circulant([0.5, 0.3, 0.2])], weights=[0.25, 0.75]), bs.uniform(2))
    assert m.to_json() == GOLDEN
    assert READ(GOLDEN) == m
    # Another order of names and other spaces are the same matrix.
    assert READ(json.dumps(json.loads(GOLDEN), indent=3, sort_keys=True)) == m


GOLDEN = (
    '{"format": "bistochastic.matrix", "version": 1, "family": "kron", "parameters": {"matrices":'
    ' [4, 5]}, "requested": {}, "parts": [{"family": "circulant", "parameters": {"first_row": '
    '["4611686018427387904", 5, 1], "total": "4611686018427387910"}, "requested": {}}, {"family":'
    ' "randomized_response", "parameters": {"size": 3, "keep": "2/7"}, "requested": {"size": 3, '
    '"keep": "2/7"}}, {"family": "product", "parameters": {"matrices": [0, 1]}, "requested": {}},'
    ' {"family": "circulant", "parameters": {"first_row": [4503599627370496, 2702159776422298, '
    '1801439850948198], "total": 9007199254740992}, "requested": {"sum": 1.0, "moved": '
    '5.551115123125783e-17}}, {"family": "mix", "parameters": {"matrices": [2, 3], "weights": '
    '["1/4", "3/4"]}, "requested": {}}, {"family": "uniform", "parameters": {"size": 2}, '
    '"requested": {"size": 2}}]}'
)


def test_requests_are_kept_as_they_were() -> None:
    for m in (
        bs.randomized_response(3, epsilon=float("inf")),
        bs.build("randomized_response", size=3, epsilon=Fraction(7, 3)),
        bs.randomized_response(3, epsilon=10**38),
        bs.randomized_response(3, epsilon=5e-324),
        bs.tridiagonal(Fraction(1, 3), size=4),
        bs.geometric(4, temperature=2),
    ):
        assert repr(READ(m.to_json()).requested) == repr(m.requested)
        VALIDATOR.validate(json.loads(m.to_json()))


def squared(m: bs.Matrix, times: int) -> bs.Matrix:
    for _ in range(times):
        m = m @ m
    return m


def test_shared_parts_are_written_once() -> None:
    m = squared(bs.circulant([3, 2, 1]), 6)
    text = m.to_json()
    assert len(text) < 3_000
    assert len(json.loads(text)["parts"]) == 6
    again = READ(text)
    assert again == m
    assert _core.parts_in(again) == _core.parts_in(m)
    # Equal parts are one part, whoever made them.
    twins = bs.kron(bs.uniform(3) @ bs.uniform(3), bs.uniform(3) @ bs.uniform(3))
    assert len(json.loads(twins.to_json())["parts"]) == 2
    assert READ(twins.to_json()) == twins
    # They are apart where their requests are.
    asked = bs.kron(bs.randomized_response(2, keep=0.5), bs.randomized_response(2, beta=1))
    assert [part["requested"] for part in json.loads(asked.to_json())["parts"]] == [
        {"size": 2, "keep": 0.5},
        {"size": 2, "beta": 1},
    ]


HOSTILE: dict[str, tuple[str, str]] = {
    "nothing": ("", "`text` must be JSON; got a string that ends too soon"),
    "no JSON": ("size = 3", "`text` must be JSON; got a fault in line 1, column 1"),
    "no format": ("{}", "`format` must be given; got nothing"),
    "another format": (
        law("uniform", '{"size": 3}').replace(".matrix", ".plan"),
        "`format` must be \"bistochastic.matrix\"; got 'bistochastic.plan'",
    ),
    "another version": (
        law("uniform", '{"size": 3}').replace(": 1", ": 2"),
        "`version` must be 1; got 2",
    ),
    "unknown family": (
        law("gaussian", "{}"),
        "`family` must be one of balance, blocks, ",
    ),
    "unknown name": (
        law("uniform", '{"size": 3}', ', "extra": 1'),
        "`extra` must be one of format, version, family, parameters, requested, parts; "
        "got an unknown name",
    ),
    "unknown parameter": (
        law("uniform", '{"size": 3, "eps": 1}'),
        "`parameters.eps` must be one of size; got an unknown name",
    ),
    "a name that cannot be shown": (
        law("uniform", '{"size": 3, "a`\\ud800\\n": 1}'),
        "`parameters.a\\x60\\ud800\\n` must be one of size; got an unknown name",
    ),
    "a parameter too few": (
        law("circulant", '{"first_row": [1, 2]}'),
        "`parameters.total` must be given; got nothing",
    ),
    "a name twice": (
        law("uniform", '{"size": 3, "size": 4}'),
        "`size` must be given once; got it again",
    ),
    "NaN": (
        law("uniform", '{"size": NaN}'),
        "`text` must hold numbers that are finite; got NaN",
    ),
    "true": (law("uniform", '{"size": true}'), "`parameters.size` must be an integer from 0"),
    "a number that many would round": (
        law("uniform", f'{{"size": {2**53 + 1}}}'),
        "`parameters.size` must be an integer from 0 to below 2^63, beyond 2^53 as text; "
        "got a number beyond 2^53",
    ),
    "a huge size": (
        law("uniform", f'{{"size": "{2**53 + 1}"}}'),
        "`parameters.size` must be from 1 to 9007199254740992; got 9007199254740993",
    ),
    "thousands of digits": (
        law("uniform", '{"size": ' + "9" * 10**5 + "}"),
        "`text` must hold numbers of at most 40 digits; got 100000",
    ),
    "no fraction": (
        law("randomized_response", '{"size": 3, "keep": 0.5}'),
        '`parameters.keep` must be a fraction as text, as in "1/3"; got a number',
    ),
    "a ragged table": (
        law("dense", '{"counts": [[1, 0], [1]], "total": 1}'),
        "`parameters.counts[1]` must hold 2 numbers, one per row; got 1",
    ),
    "no rows": (law("dense", '{"counts": [], "total": 1}'), "`parameters.counts` must be a"),
    "sums that are off": (
        law("dense", '{"counts": [[1, 1], [1, 0]], "total": 2}'),
        "`parameters.counts` must hold non-negative integers whose rows and columns all ",
    ),
    "a sum that is off": (
        law("circulant", '{"first_row": [1, 2], "total": 4}'),
        "`parameters.first_row` must hold non-negative numbers that sum to 1, as integers out of a "
        "total",
    ),
    "no parts": (
        law("kron", '{"matrices": [0]}'),
        "`parameters.matrices[0]` must be the place of one of the 0 parts before it; got 0",
    ),
    "a part that holds itself": (
        law(
            "kron",
            '{"matrices": [0]}',
            ', "parts": [{"family": "kron", "parameters": {"matrices": [0]}}]',
        ),
        "`parts[0].parameters.matrices[0]` must be the place of one of the 0 parts before it; "
        "got 0",
    ),
    "a part of no use": (
        law(
            "uniform",
            '{"size": 3}',
            ', "parts": [{"family": "uniform", "parameters": {"size": 3}}]',
        ),
        "`parts[0]` must be held by a matrix after it; got one that none holds",
    ),
    "an unknown request": (
        law("uniform", '{"size": 3}', ', "requested": {"name": 1}'),
        "`requested.name` must be one of size, epsilon, ",
    ),
    "a request without end": (
        law("uniform", '{"size": 3}', ', "requested": {"beta": 1e999}'),
        "`text` must hold numbers that are finite; got 1e999",
    ),
    "a request that is not kept": (
        law("uniform", '{"size": 3}', ', "requested": {"beta": 1.5}'),
        "`requested.beta` must be what the matrix keeps; got beta 1.0",
    ),
    "an epsilon that is not kept": (
        law("identity", '{"size": 3}', ', "requested": {"epsilon": 3}'),
        "`requested.epsilon` must be what the matrix keeps; got epsilon inf",
    ),
    "a list in lists": (
        "[" * 10**6,
        "`text` must hold lists and objects as deep as the format has them; "
        "got thousands of levels",
    ),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_what_is_wrong_is_named_by_its_place(name: str) -> None:
    text, sentence = HOSTILE[name]
    assert refusal(text).startswith(sentence)


def test_composites_that_are_too_deep_are_refused_by_place() -> None:
    parts = ['{"family": "uniform", "parameters": {"size": 1}}']
    parts += [f'{{"family": "kron", "parameters": {{"matrices": [{i}]}}}}' for i in range(50)]
    text = law("kron", '{"matrices": [50]}', f', "parts": [{", ".join(parts)}]')
    assert re.match(r"`parts\[\d+\]\.parameters\.matrices` must ", refusal(text))


def test_a_text_is_read_on_a_small_stack_and_far_down() -> None:
    text = squared(bs.uniform(2), 6).to_json()
    found: list[Any] = []

    def down(levels: int) -> None:
        if levels:
            return down(levels - 1)
        found.append(READ(text))
        return None

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=down, args=(sys.getrecursionlimit() // 2,))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [READ(text)]


def test_what_does_not_fit_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_json, "_BYTES", 2**50)
    with pytest.raises(bs.errors.OutOfMemoryError, match=r"`to_json` must fit in the \d+ bytes"):
        bs.permutation(np.arange(4000)).to_json()


def test_the_schema_is_valid_and_knows_every_form() -> None:
    schema = matrix_json.schema()
    Draft202012Validator.check_schema(schema)
    forms = set(schema["$defs"]) - {"law", "number", "requested"}
    assert set(matrix_json._READ) | {"places"} == forms


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_the_schema_refuses_what_is_wrong_by_form(name: str) -> None:
    # What only the law itself can tell, and what Python's reader makes of a name given twice.
    by_law = {"a name twice", "a huge size", "no rows", "sums that are off", "a sum that is off",
              "a ragged table", "no parts", "a part that holds itself",
              "a part of no use", "a request that is not kept",
              "an epsilon that is not kept"}  # fmt: skip
    text = HOSTILE[name][0]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    if name == "a request without end":
        # As a double it is infinite; of other readers some refuse it.
        return
    if name == "NaN":
        # No JSON, though Python reads it.
        return
    assert VALIDATOR.is_valid(found) == (name in by_law)
