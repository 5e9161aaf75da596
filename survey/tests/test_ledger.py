"""The ledger: which noise counts as the same, sums and best guesses, two writers, broken lines."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv
from folded import waved

RR: Any = "randomized_response"
FRAME: dict[str, Any] = {"sex": ["F", "M"], "age": [1, 2]}
KEY = bs.Key.generate()


def plan_of(epsilon: float = 1.0, **more: Any) -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], RR, epsilon=epsilon),
            sv.Categorical("age", [1, 2, 3], RR, epsilon=epsilon),
        ],
        name="survey",
        **more,
    )


def of(plan: sv.Plan, frame: dict[str, Any] = FRAME, **options: Any) -> sv.Certificate:
    return plan.protect(frame, **waved(options)).certificate


def wave(plan: sv.Plan, ids: list[Any] | None = None, **options: Any) -> sv.Certificate:
    """A release by ids."""
    by = options.pop("id_column", "person")
    frame = options.pop("frame", FRAME)
    given = {"key": KEY, "after": "first", **options}
    return of(plan, {**frame, by: ids or [7, 8]}, id_column=by, **given)


def test_epsilons_add_up_and_bound_the_best_guess(tmp_path: Path) -> None:
    for size, epsilon, draws in ((2, 2, 5), (3, 1, 4), (12, 1, 1)):
        matrix = bs.randomized_response(size, epsilon=epsilon)
        plan = sv.Plan([sv.Categorical("x", range(size), matrix=matrix)])
        ledger = sv.Ledger(tmp_path / f"ledger{size}")
        for _ in range(draws):
            ledger.add(of(plan, {"x": [0, 1]}), dataset="d")
        (spent,) = ledger.spent
        assert spent.epsilon >= draws * plan.epsilon
        assert spent.epsilon == pytest.approx(draws * epsilon)
        total = 0.0
        if size < 12:
            for reports in itertools.product(range(size), repeat=draws):
                total += max(math.prod(matrix[u, v] for v in reports) for u in range(size)) / size
        else:
            total = matrix[0, 0]
        assert spent.best_guess is not None
        assert total <= spent.best_guess <= 1
        if draws == 1:
            assert spent.best_guess == pytest.approx(total)


def test_sums_are_per_data_set_and_column(tmp_path: Path) -> None:
    ledger = sv.Ledger(tmp_path / "ledger.jsonl")
    assert not ledger.spent
    assert repr(ledger) == "<Ledger of 0 releases>"
    ledger.add(of(plan_of(1)), dataset="a")
    ledger.add(of(plan_of(2)), dataset="a")
    ledger.add(of(plan_of(1)), dataset="b")
    only = sv.Plan([sv.Joint(("sex", "age"), [["F", "M"], [1, 2, 3]], RR, epsilon=1),
                    sv.Numeric("income", "k_anonymous", k=2)])  # fmt: skip
    ledger.add(of(only, {**FRAME, "income": [1.0, 2.0]}), dataset="b")
    found = {(each.dataset, each.column): each for each in ledger.spent}
    assert [round(each.epsilon, 9) for each in found.values()] == [3, 3, 2, 2, math.inf]
    assert found["a", "sex"].releases == 2
    assert found["a", "sex"].best_guess == pytest.approx(1 / (1 + math.exp(-3)))
    assert found["b", "income"].best_guess is None
    text = repr(ledger)
    assert "equally common" in text
    assert "Memoised" not in text
    # Nothing of the data is in there: other data of the same plan give the same lines.
    again = sv.Ledger(tmp_path / "again.jsonl")
    for plan, dataset in ((plan_of(1), "a"), (plan_of(2), "a"), (plan_of(1), "b")):
        again.add(of(plan, {"sex": ["M"] * 2, "age": [3] * 2}), dataset=dataset)
    for one, other in zip(ledger.entries, again.entries, strict=False):
        assert {**one, "time": ""} == {**other, "time": ""}


def test_memoised_waves_count_at_most_once_per_category(tmp_path: Path) -> None:
    ledger = sv.Ledger(tmp_path / "ledger")
    plan = plan_of(1)
    first = wave(plan)
    ledger.add(first, dataset="d")
    for _ in range(3):
        ledger.add(wave(plan, after=first), dataset="d")
    sex, age = ledger.spent
    assert (sex.releases, round(sex.epsilon, 9)) == (4, 2)
    assert (age.releases, round(age.epsilon, 9)) == (4, 3)
    assert sex.memoised
    assert sex.best_guess == pytest.approx(1 / (1 + math.exp(-1)))
    assert "changed shows that the true value changed" in repr(ledger)


def test_a_person_has_a_draw_for_each_group_and_any_number_of_units(tmp_path: Path) -> None:
    laws = {"n": bs.randomized_response(2, epsilon=1), "s": bs.randomized_response(2, epsilon=2)}
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], groups=("region", laws)),
                    sv.Categorical("roof", ["a", "b"], RR, epsilon=1, unit="home")],
                   keep=["region"], drop=["home"])  # fmt: skip
    frame = {"sex": ["F", "M"], "roof": ["a", "b"], "region": ["n", "s"], "home": [1, 2]}
    ledger = sv.Ledger(tmp_path / "ledger")
    for _ in range(7):
        ledger.add(wave(plan, frame=frame), dataset="d")
    sex, roof = ledger.spent
    assert round(sex.epsilon, 9) == 4 * 2
    assert round(roof.epsilon, 9) == 7


def changed_plans() -> dict[str, tuple[sv.Plan, dict[str, Any]]]:
    """What makes another draw: a plan and the options of its wave, by a name."""
    one = sv.Categorical("sex", ["F", "M"], RR, epsilon=2)
    turned = sv.Categorical("sex", ["M", "F"], RR, epsilon=2)
    joint = sv.Joint(("sex", "age"), [["F", "M"], [1, 2, 3]], RR, epsilon=2)
    unit = sv.Categorical("sex", ["F", "M"], RR, epsilon=2, unit="age")
    stronger = sv.Categorical("sex", ["F", "M"], RR, epsilon=2.1)
    age: dict[str, Any] = {"drop": ["age"]}
    return {
        "a plan of another name": (sv.Plan([one], name="other", **age), {}),
        "another key": (sv.Plan([one], **age), {"key": bs.Key.generate()}),
        "another order": (sv.Plan([turned], **age), {}),
        "another matrix": (sv.Plan([stronger], **age), {}),
        "other columns": (sv.Plan([joint]), {}),
        "missing values": (sv.Plan([sv.Categorical(
            "sex", ["F", "M"], RR, epsilon=2, missing="category")], **age), {}),
        "another recode": (sv.Plan([sv.Categorical(
            "sex", ["F", "M"], RR, epsilon=2, recode={"F": "M", "M": "F"})], **age), {}),
        "a unit": (sv.Plan([unit], keep=["age"]), {}),
        "another id column": (sv.Plan([one], **age), {"id_column": "number"}),
        "ids of another kind": (sv.Plan([one], **age), {"ids": ["7", "8"]}),
    }  # fmt: skip


@pytest.mark.parametrize("what", changed_plans())
def test_new_noise_adds(what: str, tmp_path: Path) -> None:
    one = sv.Plan([sv.Categorical("sex", ["F", "M"], RR, epsilon=2)], drop=["age"])
    plan, options = changed_plans()[what]
    ledger = sv.Ledger(tmp_path / "ledger")
    for _ in range(3):
        ledger.add(wave(one), dataset="d")
    ledger.add(wave(plan, **options), dataset="d")
    (spent, *_) = ledger.spent
    # Two of the first three waves are all that two categories can be drawn in.
    assert spent.epsilon == pytest.approx(6, abs=0.11)
    assert spent.best_guess == pytest.approx(1 / (1 + math.exp(-4)), abs=0.003)


def test_redrawn_waves_add_and_waves_by_position_or_insecure_keys(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], RR, epsilon=2)], drop=["age"])
    other = sv.Plan([sv.Categorical("sex", ["M", "F"], RR, epsilon=2)], drop=["age"])
    ledger = sv.Ledger(tmp_path / "ledger")
    certificate = wave(plan)
    ledger.add(certificate, dataset="d")
    for each in (other, plan, other, plan):
        # The plan of two waves before has its noise, but the certificate says that it is new.
        certificate = wave(each, after=certificate, redraw=True)
        assert certificate.ids is not None
        assert certificate.ids.redrawn
        ledger.add(certificate, dataset="d")
    (spent,) = ledger.spent
    assert round(spent.epsilon, 9) == 10
    assert spent.best_guess == pytest.approx(1 / (1 + math.exp(-10)))
    # A wave after it that changes nothing has its noise.
    ledger.add(wave(plan, after=certificate), dataset="d")
    assert ledger.spent[0].best_guess == spent.best_guess
    insecure: dict[str, Any] = {"key": bs.Key.insecure(1), "allow_insecure": True}
    for _ in range(3):
        ledger.add(wave(plan, **insecure), dataset="insecure")
        ledger.add(of(plan, {k: v * 200 for k, v in FRAME.items()}, key=KEY, release_name="x"),
                   dataset="position")  # fmt: skip
    assert [round(each.epsilon, 9) for each in ledger.spent[1:]] == [6, 6]


def test_a_release_over_the_budget_is_entered_and_an_error_follows(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = sv.Ledger(path, budget=2.5)
    ledger.add(of(plan_of(1)), dataset="d")
    ledger.add(of(plan_of(1)), dataset="d")
    with pytest.raises(bs.errors.GuaranteeError, match=r"^column `sex`: `budget` must not be exce"):
        ledger.add(of(plan_of(1)), dataset="d")
    assert len(ledger.entries) == 3
    ledger.add(of(plan_of(1)), dataset="others")
    moved = of(sv.Plan([sv.Numeric("income", "k_anonymous", k=2)]), {"income": [1.0, 2.0]})
    with pytest.raises(bs.errors.GuaranteeError, match=r"got inf$"):
        sv.Ledger(path, budget=1e300).add(moved, dataset="d")


WRITER = """
import sys, bistochastic_survey as sv
sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)
certificate = sv.Plan([sex], name=sys.argv[2]).protect({"sex": ["F", "M"]}).certificate
ledger = sv.Ledger(sys.argv[1])
for _ in range(25):
    ledger.add(certificate, dataset="d")
"""


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")
    ]
    assert [each.wait() for each in running] == [0, 0]
    entries = sv.Ledger(path).entries
    assert (
        sorted(entry["certificate"].plan.name for entry in entries) == ["one"] * 25 + ["two"] * 25
    )


def test_a_line_without_an_end_is_read_or_refused_and_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = sv.Ledger(path)
    for _ in range(2):
        ledger.add(of(plan_of(1)), dataset="d")
    whole = path.read_bytes()
    path.write_bytes(whole.removesuffix(b"\n"))
    assert len(ledger.entries) == 2
    ledger.add(of(plan_of(1)), dataset="d")
    assert len(ledger.entries) == 3
    assert path.read_bytes().startswith(whole)
    # Half a line may be of a release that was published.
    half = whole[:-40]
    path.write_bytes(half)
    for call in (lambda: ledger.spent, lambda: ledger.add(of(plan_of(1)), dataset="d")):
        with pytest.raises(ValueError, match=r"^`ledger` must .*; got line 2, which has no end: r"):
            call()
    assert path.read_bytes() == half


def test_lines_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = sv.Ledger(path)
    ledger.add(of(plan_of(1)), dataset="d")
    line = path.read_text()
    entry = json.loads(line)
    certificate = {**entry["certificate"], "epsilon": -1.0}
    none = "line 2, which is none of a ledger"
    for second, wrong in (
        ("no JSON\n", none),
        ("3\n", none),
        ("\n", none),
        ("[" * 100_000 + "\n", none),
        (json.dumps({**entry, "dataset": 3}) + "\n", none),
        (json.dumps({**entry, "certificate": {}}) + "\n", none),
        (json.dumps({**entry, "certificate": certificate}) + "\n", none),
    ):
        path.write_text(line + second + line)
        with pytest.raises(ValueError, match=f"^`ledger` must .*; got {wrong}"):
            ledger.add(of(plan_of(1)), dataset="d")
        assert path.read_text() == line + second + line
