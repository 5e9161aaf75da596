"""Plans and certificates that were stored once, and the calls that made them.

``formats/1`` holds what these calls wrote when format 1 was fixed, and what has fields that
came later when they came. Nothing in it is written again: a later format gets a folder of its own,
and a new field or kind of plan a new name here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import bistochastic as bs
import bistochastic_survey as sv
from folded import waved

FOLDER = Path(__file__).with_name("formats") / "1"
KEY = bytes(range(7, 39))
RR: Final = "randomized_response"
ABC = ["a", "b", "c"]
INF = float("inf")

Law = Callable[[], bs.Matrix]
LAWS: dict[str, Law] = {
    "balance": lambda: bs.balance([[3, 1, 2], [1, 4, 1], [2, 0, 5]]),
    "blocks": lambda: bs.blocks([1, 2]),
    "circulant": lambda: bs.circulant([Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)]),
    "dense": lambda: bs.dense([[2**60, 1, 0], [0, 2**60, 1], [1, 0, 2**60]]),
    "geometric": lambda: bs.geometric(3, beta=0.4),
    "gibbs": lambda: bs.gibbs([[0, 1, INF], [1, 0, 2], [INF, 2, 0]], temperature=1),
    "identity": lambda: bs.identity(3),
    "k_anonymous": lambda: bs.k_anonymous(3, k=3),
    "kron": lambda: bs.kron(bs.randomized_response(3, keep=Fraction(2, 3)), bs.uniform(1)),
    "mix": lambda: bs.mix([bs.identity(3), bs.uniform(3), bs.permutation([1, 2, 0])],
                          weights=[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]),
    "permutation": lambda: bs.permutation([2, 0, 1]),
    "product": lambda: bs.geometric(3, temperature=0.5) @ bs.randomized_response(3, beta=0.3),
    "randomized_response": lambda: bs.randomized_response(3, epsilon=1.5),
    "reflected": lambda: bs.reflected([4, 3, 2, 1]),
    "t_transform": lambda: bs.t_transform(3, 0, 2, keep=0.75),
    "tridiagonal": lambda: bs.tridiagonal([0.25, 0.5]),
    "uniform": lambda: bs.uniform(3),
}  # fmt: skip


def of_law(law: Law) -> sv.Plan:
    """A plan of one column under this law."""
    return sv.Plan([sv.Categorical("answer", ABC, matrix=law())], name="laws")


def survey(*more: Any, **options: Any) -> sv.Plan:
    """Every kind of column that has categories."""
    attributes: list[Any] = [
        sv.Categorical("sex", ["F", "M"], RR, beta=0.6),
        sv.Joint(("race", "year"), [ABC, [3, 1]], RR, epsilon=2.0),
        sv.Categorical("votes", [True, False], groups=("region", {
            "n": bs.randomized_response(2, beta=0.3), "s": bs.randomized_response(2, beta=0.9)})),
    ]  # fmt: skip
    return sv.Plan([*attributes, *more], **{"name": "survey", "keep": ["region"], **options})


def household() -> sv.Plan:
    """Combinations that are impossible, missing values of every kind, categories of every type."""
    large = 2**60
    return sv.Plan(
        [
            sv.Joint(("sex", "child"), [["F", "M"], ["yes", "no"]], RR, beta=0.5,
                     impossible=[("M", "yes")]),
            sv.Joint(("wall", "roof"), [["mud", "brick"], [large, -large]], RR, beta=0.5,
                     missing="category", impossible=[(None, large), ("mud", None)]),
            sv.Categorical("owner", [False, True], RR, beta=0.4, missing="keep"),
            sv.Categorical("water", ["well", "täp ✓", "\u202e`x`"], RR, beta=0.4,
                           missing="category"),
            sv.Categorical("seen", ["p", "q"], RR, beta=0.4, categories_from_data=True),
            sv.Categorical("tenure", [1, 2, 3], groups=("code", {
                1: bs.uniform(3), large: bs.geometric(3, beta=0.5)})),
        ],
        name="household", keep="*", drop=["name"],
    )  # fmt: skip


def numbers() -> sv.Plan:
    """Columns of numbers, permuted and averaged."""
    return sv.Plan(
        [
            sv.Numeric("income", "k_anonymous", k=5),
            sv.Numeric("age", RR, keep=0.7, order=None),
            sv.Numeric("rent", "blocks", sizes=[100, 200], how="average"),
            sv.Categorical("sex", ["F", "M"], RR, beta=0.6),
        ],
        name="numbers", drop=["person"],
    )  # fmt: skip


def units() -> sv.Plan:
    """Households: columns drawn by unit, classes of numbers and dates, impossible cells."""
    return sv.Plan(
        [
            sv.Categorical("roof", ["tin", "clay"], RR, beta=0.6, unit="home",
                           recode={1: "tin", 2: "clay", 3: "clay"}),
            sv.Binned("rent", [0, 250, 500.5, 1000], "geometric", epsilon=2, unit="home",
                      output="number", step=0.5, top=999),
            sv.Binned("built", [f"{y}-01-01" for y in range(1990, 2001)], RR, epsilon=1,
                      open=("low", "high"), missing="keep"),
            sv.Joint(("sex", "child"), [["F", "M"], ["no", "yes"]], RR, beta=0.6000000000000001,
                     impossible=[("M", "yes")], recode={"child": {"j": "yes"}}),
            sv.Numeric("income", "k_anonymous", k=5, within="region", min_group=12,
                       missing="keep", bottom=0, top=90.5),
        ],
        name="units", keep=["region"], drop=["home"], units=["village"],
    )  # fmt: skip


PLANS: dict[str, Callable[[], sv.Plan]] = {
    "survey": survey,
    "household": household,
    "numbers": numbers,
    "numbers bound": lambda: numbers().for_records(300),
    "units": units,
    "no units": lambda: survey(units=[]),
    "one category": lambda: sv.Plan([sv.Categorical("country", ["AT"], RR, beta=0.6)]),
    "undecided": lambda: survey(undecided=["household", "weight"]),
    "all undecided": lambda: sv.Plan([], undecided=["household"]),
    "labels": lambda: survey(
        column_labels={"sex": "Sex of person", "region": "täp ✓"},
        value_labels={
            "year": {3: "third", 1: "first"},
            "region": {2**60: "n", -1: "s"},
            "votes": {True: "yes"},
        },
    ),
    "required": lambda: survey(requirement={"epsilon": 9.5, "min_beta": 0.25}),
    **{f"law {name}": lambda law=law: of_law(law) for name, law in LAWS.items()},  # type: ignore[misc]
}


def people(rows: int = 300, start: int = 0, several: int = 1, kind: Any = int) -> dict[str, Any]:
    """A table for :func:`survey`."""
    at = range(rows)
    return {
        "person": [kind(start + i // several) for i in at],
        "sex": ["FM"[i % 2] for i in at],
        "race": ["abc"[i % 3] for i in at],
        "year": [(3, 1)[i % 2] for i in at],
        "votes": [i % 5 == 0 for i in at],
        "region": ["ns"[i % 2] for i in at],
    }


def homes() -> dict[str, Any]:
    """A table for :func:`household`."""
    return {
        "name": ["x"] * 4, "sex": ["F", "M"] * 2, "child": ["no"] * 4,
        "wall": ["brick", None, "mud", "brick"], "roof": [None, -(2**60), 2**60, -(2**60)],
        "owner": [True, None, False, True], "water": ["well", None, "täp ✓", "\u202e`x`"],
        "seen": ["p", "q"] * 2, "tenure": [1, 2, 3, 1], "code": [1, 2**60] * 2,
        "more": [1, 2, 3, 4],
    }  # fmt: skip


def dwellings(rows: int = 60) -> dict[str, Any]:
    """A table for :func:`units`."""
    at = range(rows)
    days = [None if i % 7 == 0 else date(1985 + i // 3, 5, 1) for i in at]
    return {
        "home": [i // 3 for i in at], "village": [i // 30 for i in at],
        "roof": [1 + i // 3 % 3 for i in at], "rent": [float(i // 3 * 70) for i in at],
        "built": days, "sex": ["FM"[i % 2] for i in at], "child": ["j", "no"] * (rows // 2),
        "income": [None if i == 5 else float(i) for i in at], "region": ["n", "s"] * (rows // 2),
        "person": list(at),
    }  # fmt: skip


def incomes() -> dict[str, Any]:
    """A table for :func:`numbers`."""
    return {
        "person": list(range(300)), "income": [float(i * 7 % 300) for i in range(300)],
        "age": list(range(300)), "rent": [float(i) for i in range(300)], "sex": ["F", "M"] * 150,
    }  # fmt: skip


def certificates(folder: Path) -> dict[str, sv.Certificate]:
    """A certificate of every kind, in the order in which waves follow; a key goes to the folder."""
    key = bs.Key.from_bytes(KEY)
    keyed: Any = {"key": key, "release_name": "2026"}
    ids: Any = {"key": key, "id_column": "person"}
    dropped = survey(drop=["person"])
    found = {
        "forgotten": dropped.protect(people()).certificate,
        "forgotten named shuffled": dropped.protect(
            people(), release_name="mai\u0308", shuffle=True
        ).certificate,
        "position": dropped.protect(people(), **keyed).certificate,
        "insecure": dropped.protect(
            people(), key=bs.Key.insecure(5), release_name="test", allow_insecure=True
        ).certificate,
        "files": dataclasses.replace(
            dropped.protect(people()).certificate,
            files={"täp ✓.csv": 64 * "0", "b.parquet": 64 * "f"},
        ),
        "declared": dataclasses.replace(
            dropped.protect(people()).certificate, declared_categories=("region",)
        ),
        "central": sv.Plan([sv.Categorical("sex", ["F", "M"], RR, epsilon=1)]).protect(
            {"sex": ["F", "M"] * 500}, shuffle=True
        ).certificate.with_central(),
        "empty": dropped.protect(people(0)).certificate,
        "household": household().protect(homes()).certificate,
        "numbers": numbers().protect(incomes(), **keyed).certificate,
        "units": sv.Plan(
            units().attributes, name="units", keep=["region"], drop=["person", "village"]
        ).protect(
            dwellings(), unit_pseudonym={"home": "dwelling"}, count_units=True
        ).certificate,
        "one category": PLANS["one category"]().protect({"country": ["AT"]}).certificate,
    }  # fmt: skip
    found |= {f"law {n}": of_law(law).protect({"answer": ABC}).certificate
              for n, law in LAWS.items()}  # fmt: skip
    first = survey().protect(people(), **waved(ids, after="first")).certificate
    fewer = sv.Plan(survey().attributes[1:], name="survey", keep=["region"], drop=["sex"])
    other = sv.Plan(
        [sv.Categorical("sex", ["M", "F"], RR, beta=0.5), *survey().attributes[1:]],
        name="survey", keep=["region"],
    )  # fmt: skip
    carried = fewer.protect(people(), **waved(ids, after=first)).certificate
    redrawn = other.protect(people(), **waved(ids, after=carried, redraw=True)).certificate
    found |= {
        "ids first": first,
        "ids carried": carried,
        "ids redrawn": redrawn,
        "ids after redrawn": other.protect(people(), **waved(ids, after=redrawn)).certificate,
        "ids redrawn before": other.protect(people(), **waved(ids, after=redrawn)).certificate,
        "ids pseudonym": survey()
        .protect(
            people(),
            **waved(ids, after=first, pseudonym="who"),
            release_name="second",
            shuffle=True,
        )
        .certificate,
        "ids units": sv.Plan(
            units().attributes[:2],
            name="units",
            keep=["region"],
            drop=["village", "built", "sex", "child", "income"],
        )
        .protect(
            dwellings(),
            **waved(ids, after="first"),
            unit_pseudonym={"home": "dwelling"},
            release_name="w1",
        )
        .certificate,
        "ids kept": survey(keep=["region", "person"])
        .protect(people(kind=str), **waved(ids, after="first"))
        .certificate,
        "ids several rows": survey()
        .protect(people(several=3), **waved(ids, after="first", max_rows=3))
        .certificate,
        "ids numbers": sv.Plan(
            [sv.Numeric("age", RR, keep=0.7), sv.Categorical("sex", ["F", "M"], RR, beta=0.6)],
            name="numbers",
            drop=["income", "rent"],
        )
        .protect(
            incomes(), **waved(ids, after="first", rerandomize_numeric=True), release_name="w1"
        )
        .certificate,
    }
    import pyarrow as pa

    if not (folder / "key").exists():
        key.to_file(folder / "key")
    source = bs.KeySource.file(folder / "key")
    by_person = survey().batch_function(key=source, ids=sv.Wave("person", after="first"))
    by_rows = dropped.batch_function(
        key=source, row_columns=["person", "region"], release_name="2026"
    )
    engine: Any = {"records": 300, "engine": "spark 4.3", "schema": pa.table(people(2)).schema}
    found |= {
        "engine ids": by_person.certificate(**engine),
        "engine ids counted": by_person.certificate(**engine, rows_per_id=2),
        "engine rows": by_rows.certificate(**engine),
    }
    return found


def index() -> dict[str, dict[str, str]]:
    """The digest of every stored plan and certificate."""
    found: dict[str, dict[str, str]] = json.loads((FOLDER / "digests.json").read_text())
    return found


def text(kind: str, name: str) -> str:
    """A stored plan or certificate."""
    return (FOLDER / kind / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8")
