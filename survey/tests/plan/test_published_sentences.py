"""Words do not contradict numbers: what is unprotected is said to be, wherever a plan is shown."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.audit.results import Audit
from bistochastic_survey.cli import main
from bistochastic_survey.plan import preview, published
from bistochastic_survey.report import numbers
from report.test_report import text_of, written

OPEN: dict[str, dict[str, Any]] = {
    "identity": {"family": "identity"},
    "k is 1": {"family": "k_anonymous", "k": 1},
    "permutation": {"family": "permutation", "targets": [1, 2, 0]},
    "classes of one": {"family": "blocks", "sizes": [1, 1, 1]},
    "keep is 1": {"family": "randomized_response", "keep": 1},
}


def shown_everywhere(plan: sv.Plan, folder: Path, data: dict[str, list[Any]]) -> dict[str, str]:
    """A plan and its release in every place that shows them."""
    release = plan.protect(data, shuffle=True)
    (folder / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    names = list(data)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*data.values(), strict=True)),
    ]
    (folder / "in.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    runner = CliRunner()
    found = runner.invoke(main, [
        "protect", str(folder / "in.csv"), str(folder / "out.csv"), "--plan",
        str(folder / "plan.toml"), "--shuffle"], catch_exceptions=False)  # fmt: skip
    assert found.exit_code == 0, found.output
    certificate = folder / "out.csv.certificate.json"
    inspected = runner.invoke(main, ["inspect", str(certificate)], catch_exceptions=False)
    return {
        "preview": str(plan.preview()),
        "preview in a notebook": plan.preview()._repr_html_(),
        "plan": repr(plan),
        "release": repr(release),
        "release in a notebook": release._repr_html_(),
        "certificate": str(release.certificate),
        "line": repr(release.certificate),
        "report": text_of(written(release, folder)),
        "report of the plan": text_of(written(plan, folder)),
        "protect": found.output,
        "inspect": inspected.output,
    }


@pytest.mark.parametrize("law", OPEN, ids=list(OPEN))
def test_a_column_of_beta_0_is_never_called_protected(law: str, tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("edu", ["a", "b", "c"], **OPEN[law])])
    assert plan.beta == 0
    release = plan.protect({"edu": ["a", "b"]}, shuffle=True)
    assert release.certificate.published_unchanged[0].startswith(
        "column `edu`: its matrix changes "
    )
    for place, text in shown_everywhere(plan, tmp_path, {"edu": ["a", "b"]}).items():
        if place not in ("plan", "release", "line"):
            assert "its matrix changes" in text, place
        else:
            assert "unprotected" in text, place
        for wrong in ("Nothing stays", "In clear: nothing", "Nothing is published unchanged",
                      "Nothing but the number", "1 column protected",
                      "Published unchanged: nothing", "unchanged:\n  nothing"):  # fmt: skip
            assert wrong not in text, (place, wrong)
    assert "0 columns protected1 column published unchanged" in text_of(written(release, tmp_path))


def test_classes_of_one_are_listed(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("edu", ["a", "b", "c", "d"], "blocks", sizes=[2, 1, 1])])
    for place, text in shown_everywhere(plan, tmp_path, {"edu": ["a", "d"]}).items():
        if place in ("plan", "release", "line"):
            continue
        plain = text.replace("`", "")
        assert "ategories c, d of edu" in plain, place
        assert "Nothing is published unchanged" not in text


def test_one_unprotected_column_among_others_is_not_counted(tmp_path: Path) -> None:
    joint = sv.Joint(("u", "v"), [[0, 1], [0, 1]], matrix=bs.kron(bs.identity(2), bs.uniform(2)))
    plan = sv.Plan([joint, sv.Categorical("w", [0, 1], "randomized_response", beta=0.6)])
    assert (published.protected(plan), published.unprotected(plan)) == (("v", "w"), ("u",))
    text = shown_everywhere(plan, tmp_path, {"u": [0, 1], "v": [1, 1], "w": [0, 1]})
    assert "2 columns protected1 column published unchanged" in text["report"]
    assert "Column u: its matrix changes nothing." in text["report"]
    assert "3 columns (1 unprotected)" in text["release"]
    assert "`u` is published unchanged, not protected" in text["preview"]
    assert "1 column unprotected" in text["plan"]


def test_numbers_that_stay_are_not_called_protected(tmp_path: Path) -> None:
    numbers = {"x": [1.5, 2.5, 7.5], "y": [1.5, 2.5, 7.5]}
    plan = sv.Plan([sv.Numeric("x", "k_anonymous", k=1), sv.Numeric("y", "uniform")])
    assert published.unprotected(plan) == published.unprotected(plan.for_records(3)) == ("x",)
    for place, text in shown_everywhere(plan, tmp_path, numbers).items():
        if place not in ("plan", "release", "line"):
            assert "x" in text.split("its matrix changes nothing")[0], place
        assert "unprotected" in text or "not protect" in text, place
    part = bs.mix([bs.identity(3), bs.uniform(3)], weights=[0.5, 0.5])
    mixed = sv.Plan([sv.Numeric("x", matrix=part)])
    assert mixed.beta == 0
    assert published.unprotected(mixed) == ("x",)
    assert "all values can stay where they are" in str(mixed.preview())
    means = sv.Plan([sv.Numeric("x", "k_anonymous", k=3, how="average")])
    assert published.unprotected(means) == published.unprotected(means.for_records(9)) == ("x",)


def test_groups_are_named() -> None:
    laws = {"north": bs.identity(2), "south": bs.uniform(2)}
    grouped = sv.Categorical("sex", ["F", "M"], groups=("region", laws), missing="keep")
    plan = sv.Plan([grouped], keep=["region"])
    assert preview.published_unchanged(plan) == [
        "column `region`",
        "who is missing in column `sex`",
        "categories `F`, `M` of `sex` where `region` is `north`",
    ]
    assert published.unprotected(plan) == ("sex",)
    assert plan.min_beta == 0


# Several records.


def test_several_records_of_one_value_have_the_bound_of_the_reference() -> None:
    matrix = bs.randomized_response(9, beta=0.6)
    most = numbers.odds(matrix)
    assert most is not None
    found = [100 * float(numbers.after(Fraction(1, 100), most**m)) for m in (1, 2, 3, 5)]
    assert [f"{share:.4f}" for share in found] == ["14.1346", "72.8459", "97.7638", "99.9914"]
    # By brute force: m equal truths, each reported as it is, against the best explanation of it.
    keep, other = matrix.exact_row(0)[:2]
    for m, share in zip((1, 2, 3, 5), found, strict=True):
        a, b = Fraction(1, 100) * keep**m, Fraction(99, 100) * other**m
        assert abs(100 * float(a / (a + b)) - share) < 1e-9


def test_no_other_dependence_tells_more_than_equal_values() -> None:
    """Two records whose truths depend on each other in any way: the belief in one of them."""
    import itertools
    import random

    rng = random.Random("dependence")
    matrix = bs.randomized_response(3, keep=0.7)
    rows = [[float(p) for p in matrix.exact_row(u)] for u in range(3)]
    most = math.exp(2 * matrix.epsilon)
    for _ in range(400):
        joint = {(a, b): rng.random() ** 6 for a, b in itertools.product(range(3), repeat=2)}
        total = sum(joint.values())
        before = sum(p for (a, _), p in joint.items() if a == 0) / total
        bound = before * most / (1 - before + before * most)
        for v, w in itertools.product(range(3), repeat=2):
            seen = {(a, b): p * rows[a][v] * rows[b][w] for (a, b), p in joint.items()}
            now = sum(p for (a, _), p in seen.items() if a == 0) / sum(seen.values())
            assert now <= bound * (1 + 1e-12)


# Numbers and categories.


def test_no_headline_has_one_beta_of_numbers_and_categories(tmp_path: Path) -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    plan = sv.Plan([sex, sv.Numeric("age", "k_anonymous", k=2)])
    data: dict[str, list[Any]] = {"sex": ["F", "M"] * 10, "age": list(range(20))}
    bound = plan.for_records(20)
    mixed = f"{bound.beta:.4g}"
    assert bound.categorical is not None
    assert bound.numeric is not None
    assert bound.categorical.beta > bound.beta > bound.numeric.beta
    for place, text in shown_everywhere(plan, tmp_path, data).items():
        assert mixed not in text, place
    linked = "Permuted columns can be linked to named data"
    release = plan.protect(data)
    for text in (str(bound.preview()), str(release.certificate),
                 text_of(written(release, tmp_path))):  # fmt: skip
        assert linked in text


# Samples.


def test_errors_are_those_of_a_simple_random_sample_or_have_a_design_effect(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    simple = text_of(written(plan, tmp_path, 1000))
    assert "for a simple random sample" in simple
    assert "± 6.2" in simple
    plan.report(tmp_path / "four.html", 1000, design_effect=4)
    four = text_of((tmp_path / "four.html").read_text(encoding="utf-8"))
    assert "for a sample with a design effect of 4" in four
    assert "simple random sample" not in four
    assert "± 12.4" in four
    assert "± 6.2" not in four
    assert "--design-effect 4.0" in four
    release = plan.protect({"sex": ["F", "M"] * 500})
    release.report(tmp_path / "a.html", design_effect=4)
    release.certificate.report(tmp_path / "b.html", design_effect=4)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    (tmp_path / "c.json").write_text(release.certificate.to_json(), encoding="utf-8")
    out = str(tmp_path / "c.html")
    command = ["report", str(tmp_path / "c.json"), "--out", out, "--design-effect", "4"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert (tmp_path / "c.html").read_bytes() == (tmp_path / "a.html").read_bytes()


@pytest.mark.parametrize("wrong", [0, -1, math.inf, math.nan, -math.inf])
def test_a_design_effect_is_a_number_above_0(wrong: float, tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    with pytest.raises(ValueError, match="`design_effect` must be a positive number; got"):
        plan.report(tmp_path / "x.html", design_effect=wrong)
    with pytest.raises(TypeError, match="`design_effect` must be a positive number; got str"):
        plan.report(tmp_path / "x.html", design_effect="2")  # type: ignore[arg-type]


def test_shared_noise_asks_for_clusters(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    key = bs.Key.from_bytes(bytes(range(32)))
    data = {"sex": ["F", "M", "F"], "id": [1, 1, 2]}
    several = plan.protect(data, key=key, ids=sv.Wave("id", after="first", max_rows=2))
    assert "Estimates need cluster=" in text_of(written(several, tmp_path))
    data = {"sex": ["F", "M", "F"], "id": [1, 3, 2]}
    single = plan.protect(data, key=key, ids=sv.Wave("id", after="first"))
    assert "Estimates need cluster=" not in text_of(written(single, tmp_path))


# Warnings.


def test_every_warning_names_the_audit_that_measures_it() -> None:
    plans = [
        sv.Plan([sv.Categorical("a", [1], "identity", missing="keep", categories_from_data=True)]),
        sv.Plan([sv.Categorical("a", [1, 2], "identity", categories_from_data=True)], keep="*"),
        sv.Plan([sv.Joint(("a", "b"), [[1, 2], [1, 2]],
                          matrix=bs.kron(bs.identity(2), bs.uniform(2)))], keep=["c"]),
        sv.Plan([sv.Numeric("x", "k_anonymous", k=2)]).for_records(1000),
        sv.Plan([sv.Numeric("x", "uniform", order=None)]).for_records(1),
        sv.Plan([sv.Numeric("x", "identity"), sv.Numeric("y", "uniform")]).for_records(20),
        sv.Plan([sv.Numeric("x", "uniform", how="average")]).for_records(20),
        sv.Plan([sv.Numeric("x", matrix=bs.mix([bs.identity(5), bs.uniform(5)],
                                               weights=[0.5, 0.5]))]),
        sv.Plan([sv.Categorical("a", [1, 2], "randomized_response", beta=0.1),
                 sv.Categorical("b", [1, 2], "randomized_response", beta=1)]),
    ]  # fmt: skip
    parts = set(Audit.__dataclass_fields__)
    seen = set()
    for plan in plans:
        found = preview.warnings(plan)
        assert found
        for sentence in found:
            if sentence.endswith("or write units=[]"):
                # The cure is a declaration, which no audit replaces.
                continue
            assert sentence.endswith(")")
            said = sentence[sentence.rindex("(") + 1 : -1]
            if said != "no audit measures this yet":
                assert said.removeprefix("audit: ") in parts, sentence
            seen.add(sentence[:-1].rsplit(" (", 1)[0].split(": ", 1)[-1])
    # The sentences of the module, so that a new one is walked, too.
    assert len(seen) >= 13


# Pictures.


def test_missing_answers_that_everyone_sees_are_not_called_protected(tmp_path: Path) -> None:
    law = bs.blocks([2, 1])
    plan = sv.Plan([sv.Categorical("a", [1, 2], matrix=law, missing="category")])
    assert preview.published_unchanged(plan) == ["who is missing in column `a`"]
    text = text_of(written(plan, tmp_path))
    assert "protected like the others" not in text
    assert "see who" in text
    safe = sv.Plan([sv.Categorical("a", [1, 2], "uniform", missing="category")])
    assert "protected like the others" in text_of(written(safe, tmp_path))
