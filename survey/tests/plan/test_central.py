"""The central epsilon of a shuffled release: what is stated, and why most releases have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.plan.central import ASSUMED, central, sentences
from bistochastic_survey.samples import TITANIC
from folded import waved

BETA: dict[str, Any] = {"family": "randomized_response", "beta": 0.6}
SEX = sv.Categorical("sex", ["F", "M"], **BETA)
STRENGTH = "beta 0.6, epsilon 7.507"


def test_the_titanic_has_the_reference_numbers(tmp_path: Path) -> None:
    plan = sv.Plan.for_frame({name: list(listed) for name, listed in TITANIC.items()}, beta=0.6)
    release = plan.protect(sv.titanic(), shuffle=True)
    certificate, many = release.certificate, "a suspicion of 1% can grow to 94.9%>"
    assert repr(release) == f"<Release of 2201 records, 4 columns: plan `plan`, {STRENGTH}: {many}"
    assert repr(certificate).endswith(f", {STRENGTH}: {many}")
    found = certificate.central
    assert found is not None
    assert found.delta == 1e-6
    assert found.epsilon == pytest.approx(4.85298, rel=2e-6)
    assert found.at_least == pytest.approx(1.7995, rel=2e-5)
    # Never below the bound of the library, and at_least never above its own.
    whole = bs.shuffled([m for a in plan._coded for m in a.matrices], 2201)
    assert found.epsilon >= whole.epsilon(1e-6)
    assert (found.at_least or 9) <= (whole.epsilon_at_least(1e-6) or 0)
    said = "central epsilon at most 4.85298 at delta 1e-6, and no method can state less than 1.7995"
    certificate.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for text in (str(certificate), str(plan.preview(2201)), certificate._repr_html_(), page):
        assert said in text
        assert ASSUMED in text
        assert "per record is above 5: a suspicion of 1% can grow to 94.9%" in text
    assert plan.preview(2201).to_dict()["central"] == found._asdict()
    assert "it needs a number of records" in str(plan.preview())


def test_the_readmes_state_both_bounds() -> None:
    plan = sv.Plan.for_frame({name: list(listed) for name, listed in TITANIC.items()}, epsilon=1)
    found, root = central(plan, 2201), Path(__file__).parents[3]
    assert 0.5 < found.epsilon <= 0.51
    assert 0.31 <= (found.at_least or 0) < 0.32
    for page in ("README.md", "survey/README.md", "docs/howto/publish.md"):
        said = " ".join((root / page).read_text(encoding="utf-8").replace("\n>", "").split())
        for text in ("0.51", "0.31", "one record per person", "other release about"):
            assert text in said
    assert f"at most {found.epsilon} at delta 1e-6, and no method can state less than " in said
    assert str(found.at_least) in said


def test_protect_and_digests_are_as_without() -> None:
    certificate = sv.Plan([SEX]).protect({"sex": ["F", "M"] * 200}, shuffle=True).certificate
    digest = certificate.digest
    assert "central" not in certificate.to_dict()
    stated = certificate.with_central()
    assert stated.to_dict()["central"] == certificate.central._asdict()  # type: ignore[union-attr]
    assert (stated, stated.digest) == (certificate, digest)
    again = sv.Certificate.from_json(stated.to_json())
    assert (again.to_json(), again.digest) == (stated.to_json(), digest)


@pytest.mark.parametrize(("records", "delta"), [
    (1, 1e-6), (99_999, 1e-6), (100_000, 1e-7), (999_999, 1e-7), (10**6, 1e-8),
])  # fmt: skip
def test_delta_is_below_a_tenth_of_a_record(records: int, delta: float) -> None:
    assert central(sv.Plan([SEX]), records).delta == delta
    assert delta * 10 * records < 1


def test_progress_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    @contextmanager
    def shown(what: str) -> Iterator[Callable[[float], object]]:
        assert what == "bounding the central epsilon"
        yield told.append

    monkeypatch.setattr("bistochastic_survey.plan.central.watched", shown)
    plan = sv.Plan([sv.Categorical("age", list(range(25)), "geometric", epsilon=1.25)])
    assert central(plan, 1717).epsilon < 1
    assert len(told) > 10
    assert told == sorted(set(told))


def test_too_few_records_have_the_epsilon_of_one() -> None:
    plan = sv.Plan([SEX])
    assert central(plan, 3) == (1e-6, plan.epsilon, None)
    assert "too few records to hide among" in sentences(plan, 3)[0]


PLANS: list[tuple[sv.Plan, str]] = [
    (sv.Plan([SEX], keep=["town"]), "column `town`: published unchanged"),
    (sv.Plan([SEX], keep="*"), "all other columns: published unchanged"),
    (sv.Plan([SEX, sv.Numeric("pay", "k_anonymous", k=2)]), "`pay`: numbers are not randomized"),
    (sv.Plan([SEX], units=["home"], drop=["home"]), "`home`: records of one unit may have"),
    (sv.Plan([SEX], undecided=["age"]), "`age`: not decided"),
    (sv.Plan([sv.Categorical("a", [1, 2], categories_from_data=True, **BETA)]), "from the data"),
    (sv.Plan([sv.Categorical("a", [1, 2], missing="keep", **BETA)]), "who is missing is published"),
    (sv.Plan([sv.Categorical("a", [1, 2, 3], matrix=bs.blocks([1, 2]))]), "rule out"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "why"), PLANS)
def test_every_other_plan_says_why_it_has_none(plan: sv.Plan, why: str) -> None:
    [said] = sentences(plan, 1000)
    assert said.startswith("No central epsilon of a shuffled file: ")
    assert why in said


def test_releases_say_why_they_have_none() -> None:
    plan, table = sv.Plan([SEX]), {"sex": ["F", "M"] * 200, "id": list(range(400))}
    ids = sv.Plan([SEX], drop=["id"])
    by_ids = ids.protect(table, shuffle=True, **waved({"key": bs.Key.generate(), "id_column": "id"},
                                                      after="first"))  # fmt: skip
    for release, why in (
        (plan.protect({"sex": ["F", "M"]}), "the rows are in the order of the original"),
        (plan.protect({"sex": []}, shuffle=True), "there are no records"),
        (by_ids, "noise by ids is the same"),
        (sv.Plan([SEX], keep="*").protect(table, shuffle=True), "column `id`: published unchanged"),
    ):
        assert release.certificate.central is None
        assert why in str(release.certificate)
        assert "central" not in release.certificate.with_central().to_dict()
    # Without other columns a star keeps nothing.
    assert sv.Plan([SEX], keep="*").protect({"sex": ["F"]}, shuffle=True).certificate.central


def test_a_large_epsilon_says_what_it_means() -> None:
    small = sv.Plan([sv.Categorical("a", [1, 2], "randomized_response", epsilon=5)])
    assert "can grow to" not in str(small.preview())
    open_ = sv.Plan([sv.Categorical("a", [1, 2], "identity")])
    said = "epsilon is infinite: a suspicion of 1% can grow to 100%"
    assert said in str(open_.preview())
    assert said in str(open_.protect({"a": [1, 2]}).certificate)
