"""The same reported values from the written protocol alone: ``protocol.py`` against the core.

The second implementation made ``clients/vectors.json``; here the core answers every case of it, and
the second implementation answers a part of it again.
"""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import protocol
from bistochastic import _core
from bistochastic_survey.plan.client import draw_of
from tools import vectors

VECTORS: dict[str, Any] = json.loads(vectors.FILE.read_text("utf-8"))
RAW = bytes.fromhex(VECTORS["key"])
KEY = bs.Key.from_bytes(RAW)
MATRICES = VECTORS["matrices"]
each_matrix = pytest.mark.parametrize(
    "case", MATRICES, ids=[f"{m['matrix']['family']}-{i}" for i, m in enumerate(MATRICES)]
)
READ: dict[str, Any] = {"integer": int, "text": str, "bytes": bytes.fromhex}


def built(case: dict[str, Any]) -> bs.Matrix:
    return bs.Matrix.from_json(json.dumps(case["matrix"]))


def test_there_are_enough_cases_of_everything() -> None:
    answers = sum(len(rows) for m in MATRICES for rows in m["reported"].values())
    assert answers >= 2000
    assert {m["matrix"]["family"] for m in MATRICES} == set(_core.families())
    forms = {m["draw"]["form"] for m in MATRICES}
    assert forms == set(protocol.FORMS) - {"pick"} | {"kron", "mix", "product"}


@each_matrix
def test_the_core_gives_the_digest_and_all_reported_codes(case: dict[str, Any]) -> None:
    m = built(case)
    assert _core.digest_of(m) == case["digest"]
    for kind, rows in case["reported"].items():
        codes = np.array([int(code) for _at, code, _v in rows])
        want = [int(v) for _at, _code, v in rows]
        if kind == "row":
            got = [
                int(m.randomize([code], key=KEY, stream=VECTORS["stream"], start=int(at))[0])
                for (at, _, _), code in zip(rows, codes.tolist(), strict=True)
            ]
        else:
            ids = [READ[kind](at) for at, _code, _v in rows]
            got = m.randomize(codes, key=KEY, stream=VECTORS["stream"], ids=ids).tolist()
        assert got == want, kind


@each_matrix
def test_the_second_implementation_says_the_same(case: dict[str, Any]) -> None:
    form, digest = protocol.numbers(case["draw"]), bytes.fromhex(case["digest"])
    labels = ["stream", VECTORS["stream"]]
    for kind, rows in case["reported"].items():
        # The last ones left the first word undecided, if there were any.
        for at, code, v in [*rows[:2], *rows[-2:]]:
            by_id = {"id": at if kind == "row" else READ[kind](at), "code": int(code)}
            where: dict[str, Any] = {"row": int(at)} if kind == "row" else by_id
            address = protocol.Address(RAW, labels, digest, **where)
            assert protocol.draw(form, int(code), address) == int(v)


def test_further_words_are_used_by_each_form_of_one_table() -> None:
    """More records than were listed first were added because their first word did not decide."""
    longer = {
        m["draw"]["form"] for m in MATRICES for rows in m["reported"].values() if len(rows) > 18
    }
    assert longer >= {"shift", "fold", "truth", "classes"}


@pytest.mark.parametrize("case", VECTORS["plans"], ids=lambda case: case["plan"]["name"])
def test_plans_answer_as_their_clients_do(case: dict[str, Any]) -> None:
    [plan] = [each for each in vectors.plans() if each.name == case["plan"]["name"]]
    assert json.loads(plan.client_json()) == case["plan"]
    # JSON has no dates.
    columns = [column for each in case["plan"]["attributes"] for column in each["columns"]]
    dated = {column["name"] for column in columns if column["type"] == "date"}
    for each in case["records"]:
        id = READ[each["kind"]](each["id"])
        record = {n: date.fromisoformat(x) if n in dated else x for n, x in each["record"].items()}
        got = plan.responder(key=KEY, after="first").one(record, id=id)
        assert {n: str(x) if n in dated else x for n, x in got.items()} == each["reported"]
        assert protocol.respond(case["plan"], RAW, each["record"], id) == each["reported"]


@pytest.mark.parametrize("case", VECTORS["id_types"], ids=lambda case: case["plan"]["id_type"])
def test_plans_with_a_type_of_ids_answer_and_refuse_as_their_clients_do(
    case: dict[str, Any],
) -> None:
    plan = vectors.typed(case["records"][0]["kind"])
    assert json.loads(plan.client_json()) == case["plan"]
    responder = plan.responder(key=KEY, after="first")
    for each in case["records"]:
        id = READ[each["kind"]](each["id"])
        assert responder.one(each["record"], id=id) == each["reported"]
    for kind, id in case["refused"]:
        with pytest.raises(TypeError, match=r"`id` must be .*, as id_type"):
            responder.one(each["record"], id=READ[kind](id))


def test_pseudonyms_follow_the_page() -> None:
    for kind, id, pseudonym in VECTORS["pseudonyms"]:
        values = [READ[kind](id)]
        assert bytes(_core.plan_pseudonyms(KEY, "survey", values)[0]).hex() == pseudonym


@pytest.mark.parametrize("case", VECTORS["blocks"], ids=("plain", "missing and groups"))
def test_a_plan_by_position_follows_the_page(case: dict[str, Any]) -> None:
    """The key of the block, then rows of the block under the labels of each attribute."""
    laws = [bs.uniform(5), bs.randomized_response(5, beta=0.3)]
    wide = bs.randomized_response(300, beta=0.5)
    first, second = case["columns"]
    missing, groups = first.get("missing"), first.get("groups")
    codes = np.array(first["codes"], np.uint8)
    given: list[Any] = [
        (
            ["a"],
            codes,
            None if missing is None else np.array(missing),
            None if groups is None else np.array(groups, np.uint32),
            laws if groups else laws[:1],
        ),
        (["b"], np.array(second["codes"], np.uint16), None, None, [wide]),
    ]
    got = _core.plan_blocks(KEY, "survey", "2026", given, 0, True)
    own = bytes.fromhex(case["key"])
    assert own == protocol.block_key(RAW, "survey", "2026", case["columns"])
    for row in range(0, 300, 23):
        for name, column, drawn in (("a", first, got[0]), ("b", second, got[1])):
            group = column["groups"][row] if "groups" in column else 0
            m = wide if name == "b" else laws[group]
            labels = ["plan", "survey", "2026", [name], 0]
            digest = bytes.fromhex(_core.digest_of(m))
            address = protocol.Address(own, labels, digest, row=row)
            form = protocol.numbers(draw_of(m))
            assert protocol.draw(form, column["codes"][row], address) == int(drawn[row])


def test_encodings_derivations_blocks_and_tables_are_those_of_the_file() -> None:
    for counter, nonce, block in VECTORS["chacha20"]:
        assert protocol.chacha(RAW, int(counter), int(nonce)).hex() == block
    for case in VECTORS["derivations"]:
        digest = bytes.fromhex(case["digest"])
        derived = protocol.derive(RAW, case["purpose"], case["labels"], case["path"], digest)
        assert derived.hex() == case["derived"]
    for case in VECTORS["tables"]:
        table = protocol.alias_table(tuple(case["slots"]), case["bits"])[0]
        assert [list(pair) for pair in table] == case["table"]


def test_components_of_a_kron_have_paths_of_their_own() -> None:
    """Seen from outside: a component on its own does not give the digits of the joint answer."""
    m = bs.randomized_response(12, beta=0.6)
    both = bs.kron(m, m)
    codes = np.arange(144).repeat(20)
    got = both.randomize(codes, key=KEY, stream="a", start=0)
    slow = m.randomize(codes // 12, key=KEY, stream="a", start=0)
    fast = m.randomize(codes % 12, key=KEY, stream="a", start=0)
    assert not np.array_equal(got // 12, slow)
    assert not np.array_equal(got % 12, fast)
