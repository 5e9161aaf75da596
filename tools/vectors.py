"""Write ``vectors.json``: test vectors of docs/protocol.md for clients in other languages.

Everything in it is computed by ``tests/protocol.py``, the second implementation; the package itself
only supplies the matrices. ``survey/tests/test_protocol.py`` compares the file with the core.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "tests"))

import bistochastic as bs  # noqa: E402
import bistochastic_survey as sv  # noqa: E402
import cases  # noqa: E402
import protocol  # noqa: E402
from bistochastic_survey.plan.client import draw_of  # noqa: E402

FILE = HERE / "clients" / "vectors.json"
KEY = bytes(range(32))
ZEROS = protocol.NO_MATRIX
RECORDS = 18
# Kinds of ids, and the types that plans name.
KINDS: dict[str, Literal["integer", "string", "bytes"]] = {
    "integer": "integer", "text": "string", "bytes": "bytes",
}  # fmt: skip
# Rows and ids that are tried to find one whose first word leaves the reported value undecided.
TRIED = 1500


def matrices() -> list[bs.Matrix]:
    """At least one matrix of every family and width of first words."""
    uneven = np.random.default_rng(20261118).random((5, 5))
    costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    response = bs.randomized_response(3, beta=0.5)
    none, half = Fraction(0), Fraction(1, 2)
    third, rest = Fraction(1, 3), Fraction(2, 3)
    return [
        bs.identity(4),
        bs.permutation([2, 0, 1]),
        bs.uniform(200),
        bs.uniform(300),
        bs.uniform(2**24 + 1),
        response,
        bs.randomized_response(12, beta=0.6),
        bs.randomized_response(200, keep=Fraction(1, 7)),
        bs.randomized_response(256, epsilon=2),
        bs.randomized_response(70_000, beta=0.7),
        bs.randomized_response(2**24 + 1, epsilon=3),
        bs.blocks([2, 2, 3, 1]),
        bs.k_anonymous(250, k=100),
        bs.k_anonymous(1000, k=7),
        bs.circulant([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]),
        bs.circulant([1 / 250] * 250),
        bs.difference_set(20, epsilon=1),
        bs.circulant([Fraction(2, 600)] + [Fraction(1, 600)] * 598),
        bs.tridiagonal(0.2, size=4),
        bs.tridiagonal([0.1, 0.4, 0.3]),
        bs.tridiagonal(0.3, size=400),
        bs.reflected([0.2, 0.2, 0.15, 0.1]),
        bs.geometric(6, epsilon=1),
        bs.geometric(128, beta=0.9),
        bs.geometric(300, beta=0.8),
        bs.dense([[1, 2], [2, 1]]),
        bs.gibbs(costs, beta=0.6),
        bs.balance(uneven),
        bs.t_transform(4, 1, 2, keep=Fraction(1, 3)),
        bs.kron(response, bs.identity(2), bs.uniform(3)),
        bs.mix([response, bs.identity(3), bs.uniform(3)], weights=[third, none, rest]),
        response @ bs.tridiagonal(0.2, size=3),
        bs.mix([bs.kron(response, response), bs.uniform(9)], weights=[half, half]),
    ]  # fmt: skip


def added() -> list[bs.Matrix]:
    """Matrices of families that have none above: those in the file, else cases of the tests."""
    known = {m.family for m in matrices()}
    held = [json.dumps(each["matrix"]) for each in json.loads(FILE.read_text("utf-8"))["matrices"]]
    there = [m for m in map(bs.Matrix.from_json, held) if m.family not in known]
    return there + cases.examples(known | {m.family for m in there})


def parameters_of(matrix: bs.Matrix) -> dict[str, Any]:
    """Realised parameters, with digests for components."""
    found = dict(matrix.parameters)
    if "matrices" in found:
        found["matrices"] = [digest_of(part) for part in found["matrices"]]
    return found


def digest_of(matrix: bs.Matrix) -> bytes:
    """The digest of section 3."""
    return protocol.matrix_digest(matrix.family, parameters_of(matrix))


class Watched(protocol.Address):
    """An address that says whether a record used further words."""

    undecided = False

    def words(self, path: Sequence[int], bits: int) -> tuple[int, Iterator[int]]:
        """The same words, watched."""
        first, more = super().words(path, bits)

        def watched() -> Iterator[int]:
            for word in more:
                self.undecided = True
                yield word

        return first, watched()


def ids_of(kind: str, count: int, long: int = 70) -> list[Any]:
    """Ids of one kind: small and large, negative, empty, longer than a block or a chunk."""
    if kind == "integer":
        return [0, -1, 2**63, 2**64 - 1, -(2**63), *((i - 3) * 7919 for i in range(count - 5))]
    strings = ["", "a" * long, *(f"é{i}" for i in range(count - 2))]
    return strings if kind == "text" else [text.encode() for text in strings]


def answers(matrix: bs.Matrix) -> dict[str, Any]:
    """Reported codes by every kind of address, with an undecided record if one is soon found."""
    form, digest = protocol.numbers(draw_of(matrix)), digest_of(matrix)
    found: dict[str, Any] = {}
    for kind in ("row", "integer", "text", "bytes"):
        long = 1100 if matrix.size == 12 else 70
        at = [2**40 + i for i in range(TRIED)] if kind == "row" else ids_of(kind, TRIED, long)
        listed, seen = [], False
        # Composites and rare cases are not searched: their parts are.
        tries = TRIED if 100 <= matrix.size <= 256 else RECORDS
        for i, place in enumerate(at[:tries]):
            if i >= RECORDS and seen:
                break
            code = i * 7919 % (matrix.size - matrix.padding)
            where: dict[str, Any] = {"row": place} if kind == "row" else {"id": place, "code": code}
            address = Watched(KEY, ["stream", "income"], digest, **where)
            reported = protocol.draw(form, code, address)
            seen |= address.undecided
            if i < RECORDS or address.undecided:
                shown = place.hex() if isinstance(place, bytes) else str(place)
                listed.append([shown, str(code), str(reported)])
        found[kind] = listed
    return found


def quarters(year: int, many: int, first: int = 0) -> list[date]:
    """The first days of quarters, from a quarter of this year on."""
    return [date(year + i // 4, 1 + i % 4 * 3, 1) for i in range(first, first + many)]


def plans() -> list[sv.Plan]:
    """Plans with everything that a client plan can hold."""
    laws = {"north": bs.uniform(2), "south": bs.randomized_response(2, beta=0.5)}
    response: Literal["randomized_response"] = "randomized_response"
    return [
        sv.Plan(
            [
                sv.Categorical("sex", ["F", "M"], response, beta=0.6),
                sv.Categorical("age", [15, 25, 40], "geometric", epsilon=2, missing="category"),
                sv.Categorical("smokes", [False, True], response, epsilon=1, missing="keep"),
                sv.Joint(("a", "b"), [["x", "y"], ["1", "2", "3"]], response, beta=0.8,
                         impossible=[("x", "2"), ("y", "3")]),
                sv.Categorical("vote", ["é", "no"], groups=("region", laws)),
                sv.Binned("income", [0, 10.5, 100], "geometric", epsilon=1, output="midpoint",
                          top=100),
                sv.Binned("height", [1, 2], response, epsilon=1, open=("low", "high"),
                          missing="category"),
                sv.Categorical("job", [f"job {i}" for i in range(20)], "difference_set", epsilon=1),
            ],
            name="survey é",
            keep=["region"],
            drop=["name"],
        ),
        sv.Plan(
            [
                sv.Categorical("area", ["north", "south"], response, beta=0.6, missing="category",
                               recode={"01": "north", "02": "south", "99": None}),
                sv.Categorical("grade", [1, 2, 3], "geometric", epsilon=1,
                               recode={"low": 1, "mid": 2, "high": 3}),
                sv.Categorical("kids", [0, 1, 2], response, epsilon=1, missing="keep",
                               recode={3: 2, 9: None}),
                sv.Binned("born", quarters(1999, 9), "geometric", epsilon=1),
                sv.Binned("moved", ["2020-01-01", "2020-02-29", "2021-01-01"], response, epsilon=1,
                          output="midpoint", bottom="2020-01-10"),
                sv.Binned("left", ["2020-02-29", "2021-01-01"], response, epsilon=1,
                          open=("low", "high")),
            ],
            name="recoded",
        ),
    ]  # fmt: skip


def records_of(name: str) -> list[tuple[dict[str, Any], protocol.Id]]:
    """True records with ids for the plan of that name."""
    return records() if name != "recoded" else recodes()


def recodes() -> list[tuple[dict[str, Any], protocol.Id]]:
    """True records that are recoded, and dates."""
    found: list[tuple[dict[str, Any], protocol.Id]] = []
    for i in range(40):
        record = {
            "area": ["01", "02", "99", "north", None][i % 5],
            "grade": ["low", "mid", "high"][i % 3],
            "kids": [0, 3, 2, 9, 1, None, "3"][i % 7],
            "born": ["1999-01-01", "1999-03-31", "2000-02-29", "2000-12-31"][i % 4],
            "moved": ["1990-05-05", "2020-02-28", "2020-02-29", "2020-12-31"][i % 4],
            "left": ["1990-05-05", "2020-02-28", "2020-02-29", "2021-01-01", "2020-12-31"][i % 5],
        }
        found.append((record, f"device {i}" if i % 2 else i - 20))
    return found


def records() -> list[tuple[dict[str, Any], protocol.Id]]:
    """True records with ids, some of which are negative."""
    found: list[tuple[dict[str, Any], protocol.Id]] = []
    cells = [("x", 1), ("x", 3), ("y", 1), ("y", 2)]
    for i in range(60):
        a, b = cells[i % 4]
        record = {
            "name": "never sent",
            "region": ["north", "south"][i % 2],
            "sex": "FM"[i // 2 % 2],
            "age": [15, 25, 40, None][i % 4],
            "smokes": [True, False, None][i % 3],
            "a": a,
            "b": b,
            "vote": ["é", "no"][i // 4 % 2],
            "income": [0, 10.5, 10.25, 100, 99, 1000][i % 6],
            "height": [0.5, 1, 1.75, 2, None][i % 5],
            "job": f"job {i % 20}",
        }
        found.append((record, f"device {i}" if i % 2 else i - 20))
    return found


def make() -> dict[str, Any]:
    """All vectors."""
    more = added()
    items: list[Any] = ["é", b"\x00\xff", -5, 2**100, Fraction(3, 7), ["a", [1, b""], []]]
    labels = [["stream", "income"], ["plan", "survey", ["a", "b"]], ["plan", "p", "2026", ["a"], 3]]
    some = bs.randomized_response(12, beta=0.6)
    purposes = ["randomize words", "randomize id text", "plan block", "plan units"]
    tables = [([10, 20, 65506], 16), ([2**31, 2**30, 2**29], 32), ([655] * 100, 16)]
    blocks = []
    for n, missing, groups in ((300, False, False), (300, True, True)):
        codes = [i * 7 % 5 for i in range(n)]
        column: dict[str, Any] = {"codes": codes, "size": 5}
        if missing:
            column |= {"missing": [i % 9 == 0 for i in range(n)]}
        if groups:
            column |= {"groups": [i % 2 for i in range(n)]}
        other = {"codes": [i * i % 300 for i in range(n)], "size": 300}
        key = protocol.block_key(KEY, "survey", "2026", [column, other])
        blocks.append({"columns": [column, other], "key": key.hex()})
    written = []
    for plan in plans():
        client = json.loads(plan.client_json())
        pairs = [
            {
                "id": id if isinstance(id, str) else str(id),
                "kind": "text" if isinstance(id, str) else "integer",
                "record": record,
                "reported": protocol.respond(client, KEY, record, id),
            }
            for record, id in records_of(plan.name)
        ]
        written.append({"plan": client, "records": pairs})
    return {
        "protocol": 1,
        "key": KEY.hex(),
        "stream": "income",
        "encoding": [[repr(item), protocol.encode(item).hex()] for item in items],
        "chacha20": [
            [str(counter), str(nonce), protocol.chacha(KEY, counter, nonce).hex()]
            for counter, nonce in ((0, 0), (1, 2), (2**64 - 1, 2**63 + 5))
        ],
        "derivations": [
            {
                "purpose": purpose,
                "labels": label,
                "path": path,
                "digest": digest.hex(),
                "derived": protocol.derive(KEY, purpose, label, path, digest).hex(),
            }
            for purpose in purposes
            for label in labels
            for path, digest in (([], ZEROS), ([1, 0], digest_of(some)))
        ],
        "below": [
            [
                str(n),
                str(protocol.below(n, iter([third, third, third + 1]))),
                [str(word) for word in (third, third, third + 1)],
            ]
            for n, third in ((3, (2**64 - 1) // 3), (12, 2**63), (2**53, 2**60 + 7))
        ],
        "tables": [
            {"slots": slots, "bits": bits, "table": protocol.alias_table(tuple(slots), bits)[0]}
            for slots, bits in tables
        ],
        "matrices": [
            {
                "matrix": json.loads(matrix.to_json()),
                "digest": digest_of(matrix).hex(),
                "draw": draw_of(matrix),
                "reported": answers(matrix),
            }
            for matrix in [*matrices(), *more]
        ],
        "blocks": blocks,
        "pseudonyms": [
            [kind, str(id) if kind != "bytes" else id.hex(), protocol.pseudonym(KEY, "survey", id)]
            for kind in ("integer", "text", "bytes")
            for id in ids_of(kind, 8, 2100)
        ],
        "plans": written,
        "tables_of_clients": [of_one_table(matrix) for matrix in [*matrices()[:-4], *more]],
        "id_types": [of_one_type(kind) for kind in KINDS],
    }


def typed(kind: str) -> sv.Plan:
    """A plan that names the type of its ids."""
    sex = sv.Categorical("sex", ["F", "M"], matrix=bs.randomized_response(2, keep=Fraction(3, 4)))
    return sv.Plan([sex], name="typed", id_type=KINDS[kind])


def of_one_type(kind: str) -> dict[str, Any]:
    """The client plan, the digest that devices compute, answers, and ids that are refused."""
    client = json.loads(typed(kind).client_json())
    used = {name: value for name, value in client.items() if name not in ("digest", "id_type")}
    text = json.dumps(used, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    spelled = {each: (7, "7", b"7")[i] for i, each in enumerate(KINDS)}
    written = {each: id.hex() if isinstance(id, bytes) else str(id) for each, id in spelled.items()}
    records = [
        {
            "id": written[kind],
            "kind": kind,
            "record": {"sex": sex},
            "reported": protocol.respond(client, KEY, {"sex": sex}, spelled[kind]),
        }
        for sex in ("F", "M")
    ]
    refused = [[each, id] for each, id in written.items() if each != kind]
    digest = protocol.blake3(text.encode()).hex()
    return {"plan": client, "digest": digest, "records": records, "refused": refused}


def of_one_table(matrix: bs.Matrix) -> dict[str, Any]:
    """A client plan of one column with this matrix, as far as a plan would list its categories."""
    shown, true = min(matrix.size, 1000), matrix.size - matrix.padding
    column: dict[str, Any] = {"name": "x", "type": "integer"}
    column["categories"] = [str(i) for i in range(min(shown, true))]
    if matrix.padding:
        column["padding"] = [str(i) for i in range(true, matrix.size)]
    law: dict[str, Any] = {"digest": digest_of(matrix).hex(), "draw": draw_of(matrix)}
    plan = {
        "protocol": 1, "name": "one", "digest": "0" * 64, "keep": [], "drop": [],
        "attributes": [{"columns": [column], "missing": "raise", "matrices": [law]}],
    }  # fmt: skip
    if matrix.size > shown:
        return {"plan": plan, "ids": []}
    listed: list[list[Any]] = []
    some = {"integer": ids_of("integer", 12), "text": ids_of("text", 12)}
    if law["draw"]["form"] == "neighbours" and matrix.size == 4:
        # Two words of 65,536 leave a step undecided: the first ids that have one of them.
        labels, found = ["plan", "one", ["x"]], digest_of(matrix)
        code = {"code": 12 * 7919 % matrix.size}
        words = (
            protocol.Address(KEY, labels, found, id=i, **code).words([], 16) for i in range(10**6)
        )
        some["integer"].append(next(i for i, (first, _) in enumerate(words) if first >= 2**16 - 2))
    for kind, ids in some.items():
        for i, id in enumerate(ids):
            value = i * 7919 % true
            reported = protocol.respond(plan, KEY, {"x": value}, id)["x"]
            listed.append([kind, str(id), value, reported])
    return {"plan": plan, "ids": listed}


def main() -> None:
    """Write the file."""
    found = make()
    lists = (rows for m in found["matrices"] for rows in m["reported"].values())
    count = sum(map(len, lists)) + sum(len(plan["records"]) for plan in found["plans"])
    FILE.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(f"{FILE.name}: {count} reported values and records, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
