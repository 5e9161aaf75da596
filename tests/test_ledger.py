"""The ledger: what is entered and when, sums and best guesses, two writers, a kill, edits."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bistochastic as bs
from bistochastic.models import ledger as module
from bistochastic.models.ledger import best_guess

RR: Any = "randomized_response"
FRAME = {"sex": ["F", "M"], "age": [1, 2]}


def plan_of(epsilon: float = 1.0, **more: Any) -> bs.Plan:
    return bs.Plan(
        [
            bs.Categorical("sex", ["F", "M"], RR, epsilon=epsilon),
            bs.Categorical("age", [1, 2, 3], RR, epsilon=epsilon),
        ],
        name="survey",
        **more,
    )


@pytest.mark.parametrize(
    ("size", "epsilon", "numbers"),
    [
        (12, 1, {1: (0.198150, 1.249630), 2: (0.198150, 1.249630), 5: (0.276481, 1.730215),
                 10: (0.376247, 2.174716)}),
        (12, 3, {1: (0.646138, 2.954876), 2: (0.646138, 2.954876), 5: (0.924814, 3.472198),
                 10: (0.993033, 3.574875)}),
        (2, 1, {5: (0.875507, 0.808191), 10: (0.934799, 0.902728)}),
    ],
)  # fmt: skip
def test_reference_numbers_of_repeated_releases(
    size: int, epsilon: float, numbers: dict[int, tuple[float, float]], tmp_path: Path
) -> None:
    matrix = bs.randomized_response(size, epsilon=epsilon)
    own, other = matrix[0, 0], matrix[0, 1]
    for draws, (guess, bits) in numbers.items():
        found = best_guess(size, own, other, draws)
        assert found == pytest.approx(guess, abs=6e-7)
        assert math.log2(size * found) == pytest.approx(bits, abs=6e-7)
    ledger = bs.Ledger(tmp_path / "ledger")
    plan = bs.Plan([bs.Categorical("x", range(size), matrix=matrix)])
    for _ in range(5):
        plan.protect({"x": [0, 1]}, ledger=ledger, dataset="d")
    (spent,) = ledger.spent
    assert spent.epsilon == pytest.approx(5 * epsilon, abs=1e-9)
    assert spent.epsilon >= 5 * plan.epsilon
    assert spent.exact
    assert spent.best_guess == pytest.approx(numbers[5][0], abs=6e-7)


@pytest.mark.parametrize("own", [0.6, 0.1])
def test_the_best_guess_is_that_of_all_sequences(own: float) -> None:
    size, draws = 3, 4
    other = (1 - own) / (size - 1)
    total = 0.0
    for reports in itertools.product(range(size), repeat=draws):
        total += max(math.prod(own if v == u else other for v in reports) for u in range(size))
    assert best_guess(size, own, other, draws) == pytest.approx(total / size, rel=1e-12)


def test_sums_are_per_data_set_and_column(tmp_path: Path) -> None:
    ledger = bs.Ledger(tmp_path / "ledger.jsonl")
    assert not ledger.spent
    assert repr(ledger) == "<Ledger of 0 releases>"
    plan_of(1).protect(FRAME, ledger=ledger, dataset="a")
    plan_of(2).protect(FRAME, ledger=ledger, dataset="a")
    plan_of(1).protect(FRAME, ledger=ledger, dataset="b")
    only = bs.Plan([bs.Joint(("sex", "age"), [["F", "M"], [1, 2, 3]], RR, epsilon=1),
                    bs.Numeric("income", "k_anonymous", k=2)])  # fmt: skip
    only.protect({**FRAME, "income": [1.0, 2.0]}, ledger=ledger, dataset="b")
    found = {(each.dataset, each.column): each for each in ledger.spent}
    assert [round(each.epsilon, 9) for each in found.values()] == [3, 3, 2, 2, math.inf]
    assert found["a", "sex"].releases == 2
    # Two laws: leakages add up to a bound; the same column in a joint attribute, too.
    leaks = [math.exp(e) / (math.exp(e) + 1) * 2 for e in (1, 2)]
    assert found["a", "sex"].best_guess == pytest.approx(min(1, leaks[0] * leaks[1] / 2))
    assert not found["a", "sex"].exact
    assert found["b", "income"].best_guess is None
    text = repr(ledger)
    assert "at most" in text
    assert "equally common" in text
    assert "Memoised" not in text
    assert "<table" in ledger._repr_html_()
    # Nothing of the data is in there: other data of the same plan give the same lines.
    again = bs.Ledger(tmp_path / "again.jsonl")
    for plan, dataset in ((plan_of(1), "a"), (plan_of(2), "a"), (plan_of(1), "b")):
        plan.protect({"sex": ["M"] * 9, "age": [3] * 9}, ledger=again, dataset=dataset)
    for one, other in zip(ledger.entries, again.entries, strict=False):
        skipped = {"time", "previous", "digest"}
        assert {k: v for k, v in one.items() if k not in skipped} == {
            k: v for k, v in other.items() if k not in skipped
        }


def test_one_column_of_a_joint_response(tmp_path: Path) -> None:
    ledger = bs.Ledger(tmp_path / "ledger")
    plan = bs.Plan([bs.Joint(("a", "b"), [[0, 1], [0, 1, 2]], RR, keep=0.5)])
    plan.protect({"a": [0], "b": [0]}, ledger=ledger, dataset="d")
    law = np.full((6, 6), 0.1) + 0.4 * np.eye(6)
    guesses = {}
    for column, axis in (("a", 1), ("b", 0)):
        # The chance of each reported pair given one column, its partner equally common.
        given = law.reshape(2, 3, 6).mean(axis=axis)
        guesses[column] = given.max(axis=0).sum() / len(given)
    for each in ledger.spent:
        assert each.best_guess == pytest.approx(guesses[each.column])
        assert each.exact


def test_memoised_waves_count_at_most_once_per_category(tmp_path: Path) -> None:
    ledger = bs.Ledger(tmp_path / "ledger")
    plan, key = plan_of(1), bs.Key.generate()
    frame = {**FRAME, "person": [7, 8]}
    for _ in range(4):
        plan.protect(frame, key=key, id_column="person", after="first", ledger=ledger, dataset="d")
    sex, age = ledger.spent
    assert (sex.releases, round(sex.epsilon, 9)) == (4, 2)
    assert (age.releases, round(age.epsilon, 9)) == (4, 3)
    one = math.exp(1) / (math.exp(1) + 1)
    assert sex.best_guess == pytest.approx(one)
    assert "changed shows that the true value changed" in repr(ledger)
    # Another key draws anew, as does another matrix.
    plan.protect(frame, key=bs.Key.generate(), id_column="person", after="first", ledger=ledger,
                 dataset="d")  # fmt: skip
    assert round(ledger.spent[0].epsilon, 9) == 3
    plan_of(2).protect(
        frame, key=key, id_column="person", after="first", ledger=ledger, dataset="d"
    )
    assert round(ledger.spent[0].epsilon, 9) == 5


def test_a_release_over_the_budget_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = bs.Ledger(path, budget=2.5)
    plan = plan_of(1)
    plan.protect(FRAME, ledger=ledger, dataset="d")
    plan.protect(FRAME, ledger=ledger, dataset="d")
    before = path.read_bytes()
    with pytest.raises(bs.errors.GuaranteeError, match=r"^column `sex`: `budget` must not be exce"):
        plan.protect(FRAME, ledger=ledger, dataset="d")
    assert path.read_bytes() == before
    plan.protect(FRAME, ledger=ledger, dataset="others")
    moved = bs.Plan([bs.Numeric("income", "k_anonymous", k=2)])
    with pytest.raises(bs.errors.GuaranteeError, match=r"got inf$"):
        moved.protect({"income": [1.0, 2.0]}, ledger=bs.Ledger(path, budget=1e300), dataset="d")
    batches = plan.protect_batches(pa.table(FRAME).to_reader(), ledger=ledger, dataset="d")
    with pytest.raises(bs.errors.GuaranteeError):
        batches.read_all()
    # What is wrong with the data is found before the release is entered.
    before = path.read_bytes()
    with pytest.raises(ValueError, match="declared categories"):
        plan.protect({"sex": ["F"], "age": [9]}, ledger=ledger, dataset="new")
    assert path.read_bytes() == before


def test_batches_and_certificates_are_entered(tmp_path: Path) -> None:
    ledger = bs.Ledger(tmp_path / "ledger")
    batches = plan_of(1).protect_batches(pa.table(FRAME).to_reader(), ledger=ledger, dataset="d")
    assert ledger.entries == ()
    batches.read_all()
    assert len(ledger.entries) == 1
    ledger.add(batches.certificate, dataset="d")
    one, two = ledger.entries
    assert one["attributes"] == two["attributes"]
    assert one["digest"] == two["previous"]
    small = bs.Ledger(tmp_path / "ledger", budget=1)
    # A release that is out counts, even over the budget.
    with pytest.raises(bs.errors.GuaranteeError):
        small.add(batches.certificate, dataset="d")
    assert len(ledger.entries) == 3


WRITER = """
import sys, bistochastic as bs
sex = bs.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)
plan = bs.Plan([sex], name=sys.argv[2])
ledger = bs.Ledger(sys.argv[1])
for _ in range(25):
    plan.protect({"sex": ["F", "M"]}, ledger=ledger, dataset="d")
"""


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")
    ]
    assert [each.wait() for each in running] == [0, 0]
    entries = bs.Ledger(path).entries
    assert [entry["number"] for entry in entries] == list(range(1, 51))
    assert sorted(entry["plan"] for entry in entries) == ["one"] * 25 + ["two"] * 25


KILLED = """
import sys, time, bistochastic as bs
from bistochastic import _core
ledger = bs.Ledger(sys.argv[1])
def stop(*given):
    print("drawing", flush=True)
    time.sleep(60)
_core.plan_blocks = stop
plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)])
plan.protect({"sex": ["F", "M"]}, ledger=ledger, dataset="d")
"""


def test_a_killed_run_counts_as_spent(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    run = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"drawing\n"
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    (spent,) = bs.Ledger(path).spent
    assert spent.epsilon == pytest.approx(1)
    # Half a line, as a crash of the machine may leave it, was never followed by a draw.
    with path.open("ab") as file:
        file.write(b'{"ledger_version": 1, "numb')
    ledger = bs.Ledger(path)
    assert len(ledger.entries) == 1
    plan_of(1).protect(FRAME, ledger=ledger, dataset="d")
    assert len(ledger.entries) == 2


def test_edits_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = bs.Ledger(path)
    for _ in range(3):
        plan_of(1).protect(FRAME, ledger=ledger, dataset="d")
    lines = path.read_text().splitlines()
    edited = json.loads(lines[1])
    edited["dataset"] = "other"
    more = {**json.loads(lines[1]), "more": 1}
    newer = json.loads(lines[1])
    newer["ledger_version"] = 2
    for changed, wrong in (
        ([lines[0], json.dumps(edited), lines[2]], "line 2 edited"),
        ([lines[0], json.dumps(more), lines[2]], "line 2 edited"),
        ([lines[0], lines[2]], "line 2 edited, or a line removed before it"),
        (lines[1:], "line 1 edited, or a line removed before it"),
        ([lines[0], "no JSON", lines[2]], "line 2, which is none of a ledger"),
        ([lines[0], "3"], "line 2, which is none of a ledger"),
        ([lines[0], json.dumps(newer)], "version 2 in line 2"),
    ):
        text = "\n".join(changed) + "\n"
        path.write_text(text)
        with pytest.raises(ValueError, match=f"^`ledger` must .*; got {wrong}"):
            plan_of(1).protect(FRAME, ledger=ledger, dataset="d")
        assert path.read_text() == text


def test_a_lock_that_stays_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    path = tmp_path / "ledger"
    ledger = bs.Ledger(path)
    monkeypatch.setattr(module, "_WAIT", 0.1)
    with path.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(
            ValueError, match=r"^`ledger` must not be locked by another process; got"
        ):
            plan_of(1).protect(FRAME, ledger=ledger, dataset="d")
    assert path.read_bytes() == b""
    plan_of(1).protect(FRAME, ledger=ledger, dataset="d")


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    plan, ledger = plan_of(1), bs.Ledger(tmp_path / "ledger")
    text: Any = "x"
    calls: list[tuple[Any, str]] = [
        (lambda: plan.protect(FRAME, ledger=ledger), "`dataset` must say with a ledger whose"),
        (lambda: plan.protect(FRAME, dataset="d"), "`ledger` must be a Ledger; got NoneType"),
        (
            lambda: plan.protect(FRAME, ledger=text, dataset="d"),
            "`ledger` must be a Ledger; got str",
        ),
        (lambda: plan.protect(FRAME, ledger=ledger, dataset=""), "`dataset` must not be empty"),
        (lambda: bs.Ledger(tmp_path / "none" / "x"), "`path` must be in a folder that there is"),
        (lambda: bs.Ledger(tmp_path / "x", budget=0), "`budget` must be a positive number; got 0"),
        (
            lambda: bs.Ledger(tmp_path).entries,
            "`ledger` must be a file that can be written; got Is",
        ),
        (lambda: ledger.add(text, dataset="d"), "`certificate` must be a certificate; got str"),
    ]
    for call, wrong in calls:
        with pytest.raises((ValueError, TypeError), match=f"^{wrong}"):
            call()
    assert not (tmp_path / "ledger").exists()
