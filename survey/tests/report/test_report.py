"""The report of a plan or a release: what it says, what it never says, and how it is written."""

from __future__ import annotations

import html
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.report import column, numbers
from bistochastic_survey.report.document import Report
from bistochastic_survey.wording import down

SECRETS = ["Zebedee-7Q", "qxj-income-918273", "Plutonium Street 4"]
NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>", "a&b"]


def text_of(page: str) -> str:
    """What a reader sees: no tags, no style, no script."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page)))


def written(made: Any, folder: Path, *given: Any) -> str:
    path = folder / "report.html"
    made.report(path, *given)
    return path.read_text(encoding="utf-8")


def simple(**more: Any) -> sv.Plan:
    return sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)], **more)


def wide() -> sv.Plan:
    """One attribute of every kind."""
    region = {"north": bs.randomized_response(3, beta=0.5), "south": bs.blocks([1, 2])}
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            sv.Categorical("age", [f"{i}0s" for i in range(9)], "geometric", beta=0.5),
            sv.Categorical("town", list(range(20)), "k_anonymous", k=5, missing="category"),
            sv.Categorical("mood", ["a", "b", "c"], groups=("region", region)),
            sv.Categorical("shy", [True, False], "randomized_response", beta=0.7, missing="keep"),
            sv.Joint(("x", "y"), [["p", "q"], [1, 2, 3]], "randomized_response", beta=0.7,
                     impossible=[("p", 2)]),
            sv.Joint(("u", "v"), [["p", "q"], [1, 2]],
                     matrix=bs.kron(bs.uniform(2), bs.randomized_response(2, beta=0.4))),
            sv.Categorical("code", list(range(500)), "randomized_response", epsilon=3),
            sv.Categorical("swap", ["a", "b", "c"], matrix=bs.t_transform(3, 0, 2, keep=0.4)),
            sv.Numeric("income", "k_anonymous", k=5),
            sv.Numeric("weight", "k_anonymous", k=3, how="average"),
        ],
        name="everything",
        keep=["region"],
        drop=["name"],
    )  # fmt: skip


def rows(n: int = 60) -> dict[str, list[Any]]:
    return {
        "sex": ["F", "M"] * (n // 2),
        "age": [f"{i % 9}0s" for i in range(n)],
        "town": [None if i % 7 == 0 else i % 20 for i in range(n)],
        "mood": ["abc"[i % 3] for i in range(n)],
        "region": ["north", "south"] * (n // 2),
        "shy": [None if i % 5 == 0 else i % 2 == 0 for i in range(n)],
        "x": ["q"] * n,
        "y": [1 + i % 3 for i in range(n)],
        "u": ["p", "q"] * (n // 2),
        "v": [1, 2] * (n // 2),
        "code": list(range(n)),
        "swap": ["abc"[i % 3] for i in range(n)],
        "income": [918273.0 + i for i in range(n)],
        "weight": [60.5 + i for i in range(n)],
        "name": [f"Zebedee-7Q {i}" for i in range(n)],
    }


# What suspicions become.


LAWS = [
    bs.randomized_response(2, keep=0.75),
    bs.randomized_response(5, beta=0.6),
    bs.geometric(6, beta=0.4),
    bs.circulant([5, 2, 1, 1]),
    bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
    bs.gibbs([[0, 1, 2], [1, 0, 1], [2, 1, 0]], beta=0.5),
    bs.reflected([0.5, 0.2, 0.04, 0.02]),
    bs.mix([bs.uniform(3), bs.identity(3)], weights=[0.5, 0.5]),
    bs.randomized_response(3, beta=0.3) @ bs.geometric(3, beta=0.2),
    bs.kron(bs.randomized_response(2, beta=0.5), bs.geometric(3, beta=0.6)),
    bs.uniform(4),
    bs.k_anonymous(6, k=3),
    bs.tridiagonal(0.2, size=4),
    bs.identity(3),
]


def brute_force(matrix: bs.Matrix, before: Fraction) -> Fraction:
    """The largest posterior over true and reported values, and where the rest may be."""
    table = [matrix.exact_row(u) for u in range(matrix.size)]
    most = Fraction(0)
    for v in range(matrix.size):
        for u in range(matrix.size):
            for w in range(matrix.size):
                own, other = before * table[u][v], (1 - before) * table[w][v]
                if u != w and own + other > 0:
                    most = max(most, own / (own + other))
    return most


def test_large_matrices_are_bounded_by_epsilon_from_above() -> None:
    matrix = bs.randomized_response(100_000, epsilon=2)
    most = numbers.odds(matrix)
    assert most is not None
    keep = matrix.exact_row(0)
    assert most >= keep[0] / keep[1]
    assert most <= keep[0] / keep[1] * (1 + Fraction(1, 10**9))


def test_percents_are_rounded_up_and_never_to_certainty() -> None:
    assert numbers.percent(Fraction(67, 1000)) == "6.7%"
    assert numbers.percent(Fraction(67001, 10**6)) == "6.71%"
    assert numbers.percent(Fraction(99951, 10**5)) == "99.96%"
    assert numbers.percent(1 - Fraction(1, 10**7)) == "99.99999%"
    assert numbers.percent(Fraction(1)) == "100%"
    assert numbers.percent(Fraction(1, 10**9)) == "0.0000001%"


# What the page says.


def headline(page: str) -> dict[str, str]:
    """The lines of the box above everything."""
    box = page.split('class="bs-box">', 1)[1].split("</table>", 1)[0]
    lines = re.findall(r"<tr><th[^>]*>(.*?)</th><td>(.*?)</td></tr>", box)
    return {"": text_of(box.split("</p>")[0]), **{text_of(a): text_of(b) for a, b in lines}}


def cells(page: str, id: str, place: int = 0) -> list[list[str]]:
    """The rows of a table of a section."""
    part = page.split(f'<section id="{id}"', 1)[1].split("</section>")[0]
    body = re.findall(r"<tbody>(.*?)</tbody>", part)[place]
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    return [[text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", r)] for r in rows]


def titanic(**more: Any) -> sv.Plan:
    categories = {"class": ["1st", "2nd", "3rd", "crew"], "sex": ["male", "female"],
                  "age": ["child", "adult"], "survived": ["no", "yes"]}  # fmt: skip
    plan = sv.Plan.for_frame(categories, beta=0.6, name="titanic")
    return sv.Plan(plan.attributes, name="titanic", **more)


def test_the_box_says_what_counts(tmp_path: Path) -> None:
    plan = titanic(requirement={"min_beta": 0.6})
    assert headline(written(plan, tmp_path, 2201)) == {
        "": "4 columns protected0 columns published unchanged2,201 records",
        "Singling out": "whoever knows all true values finds the row of a person: at most 99.94%, "
        "in 2,201 records, if the rows are shuffled",
        "Linkability": "another such release shows which rows are of a person: at most 99.94%, in "
        "2,201 records, if the rows are shuffled",
        "Inference": "a 1% suspicion grows to at most 94.9% by all columns of one person",
        "By one column only": "a 1% suspicion grows to at most 8.44% (class)",
        "Estimates": "within 3.12 percentage points (for 95 of 100 proportions)",
        "Published unchanged": "the order of the rows, unless they are shuffled; which rows "
        "may be of one person, within a release and across waves, if it is protected by ids: "
        "unchanged values have the same reported values, and 32 different records can be reported",
        "Required by the publisher": "beta of each column at least 0.6: met",
    }
    page = written(plan, tmp_path, 2201)
    assert page.index('class="bs-box"') < page.index('class="bs-contents"') < page.index("<main")
    release = plan.protect(sv.titanic(), shuffle=True)
    assert "Published unchanged" not in headline(written(release, tmp_path))


def test_one_table_has_all_columns_worst_first_and_equal_ones_once(tmp_path: Path) -> None:
    page = written(titanic(), tmp_path, 2201)
    assert cells(page, "learn") == [
        ["class", "4", "75.3%", "8.44%", "50.4%", "0.6", "2.21"],
        ["sex, age, survived", "2", "85.4%", "5.58%", "39.4%", "0.6", "1.766"],
        ["all together", "", "", "94.9%", "99.6%", "0.6", "7.507"],
    ]
    # One picture per matrix, and the sentence once.
    assert page.count('<table class="bs-table bs-heat') == 2
    text = text_of(page)
    assert text.count("How sure can the reader be?") == 1
    assert "sex; the same for age (child, adult); survived (no, yes)" in text
    rows = cells(written(wide().for_records(60), tmp_path, 60), "learn")
    assert [row[0] for row in rows[:3]] == ["weight", "income", "swap"]
    assert rows[0][3:] == ["no limit", "no limit", "0 (no noise)", "infinite"]


def test_columns_of_units_and_bins_are_told(tmp_path: Path) -> None:
    rr: Any = "randomized_response"
    plan = sv.Plan(
        [sv.Categorical("roof", ["tin", "clay"], rr, keep=0.75, unit="home", recode={"x": "tin"}),
         sv.Categorical("sex", ["F", "M"], rr, keep=0.75),
         sv.Binned("age", breaks=[0, 18, 65], family="geometric", epsilon=2, top=60,
                   output="midpoint")],
        drop=["home"], requirement={"pooled": (3, 40)},
    )  # fmt: skip
    rows = {"home": [i // 2 for i in range(200)], "roof": ["tin"] * 200, "sex": ["F", "M"] * 100,
            "age": [i % 60 for i in range(200)]}  # fmt: skip
    page = written(plan.protect(rows, count_units=True), tmp_path)
    # Epsilon ln 3 once, and three times each of the others.
    most = numbers.exponential(math.log(3) + 3 * (math.log(3) + 2) + 1e-9)
    grows = numbers.percent(numbers.after(Fraction(1, 100), most))
    assert headline(page)["Three records of one unit"].startswith(
        f"a 1% suspicion grows to at most {grows}"
    )
    errors = {row[0]: row for row in cells(page, "accuracy")}
    # 100 homes against 200 records: the root of 2, by hand 1.96 sqrt(0.25 / 100) / 0.5.
    assert errors["roof"][2] == "± 19.6"
    assert errors["sex"][2] == "± 13.9"


def test_a_person_is_singled_out_and_linked_as_often_as_the_worst_posterior() -> None:
    """All releases of three people, by enumeration: no posterior of whose row it is is higher."""
    law = bs.randomized_response(3, keep=Fraction(1, 2))
    rows = [law.exact_row(u) for u in range(3)]
    worst = Fraction(0)
    for truth in itertools.product(range(3), repeat=3):
        for said in itertools.product(range(3), repeat=3):
            weights: dict[Any, Any] = {
                order: math.prod(rows[truth[order[i]]][said[i]] for i in range(3))
                for order in itertools.permutations(range(3))
            }
            first = sum((w for order, w in weights.items() if order[0] == 0), Fraction(0))
            worst = max(worst, first / sum(weights.values(), Fraction(0)))
    plan = sv.Plan([sv.Categorical("x", list("abc"), matrix=law)])
    most = numbers.after(Fraction(1, 3), Fraction(2) ** 2)
    assert worst <= most
    [(name, said_), linked] = Report(plan, None, 3).risks
    assert (name, linked[0]) == ("Singling out", "Linkability")
    assert f"at most {numbers.percent(most)}, in 3 records, if the rows are shuffled" in said_
    kept = sv.Plan(plan.attributes, keep=["y"], units=[])
    assert all(text.endswith(": no limit") for _, text in Report(kept, None, 3).risks)
    frame = {"x": ["a", "b", "c"], "id": [1, 2, 3]}
    plan = sv.Plan(plan.attributes, drop=["id"])
    for shuffle in (False, True):
        made = Report(plan, plan.protect(frame, shuffle=shuffle).certificate, None)
        assert all(("at most" in text) == shuffle for _, text in made.risks)
    key = bs.Key.insecure(1)
    by_ids = sv.Plan(plan.attributes).protect(
        frame, key=key, ids=sv.Wave("id", after="first"), shuffle=True, allow_insecure=True
    )
    single, linked = Report(by_ids.plan, by_ids.certificate, None).risks
    assert "at most" in single[1]
    assert linked[1].endswith("no limit, as values by ids stay the same")


def test_the_charts_have_the_numbers_of_the_tables(tmp_path: Path) -> None:
    page = written(titanic(), tmp_path, 2201)
    charts = re.findall(r"<figure.*?</figure>", page, flags=re.S)
    [before] = [c for c in charts if "suspicion before and after" in c]
    said = ["before", "1%", "after class", "8.44%", "after all columns", "94.9%", "before", "10%"]
    assert re.findall(r">([^<]+)</t[hd]>", before)[:8] == said
    assert "suspicion before" not in written(sv.Plan([sv.Numeric("x", "uniform")]), tmp_path, 9)


def test_measures_are_those_of_the_plan(tmp_path: Path) -> None:
    plan = wide().for_records(60)
    text = written(plan, tmp_path, 60)
    for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True):
        row = column.DescribedColumn(attribute, each).row()
        assert row[4].startswith(down(each.beta or 0.0, 4))
        assert row[5] == column.epsilon(each.epsilon)
    assert plan.categorical is not None
    assert f"Beta of all categories</th><td>{down(plan.categorical.beta, 4)}:" in text
    # The worst row of a geometric law is at an end of the scale, which folds back.
    _, least = column.DescribedColumn(plan.attributes[1], plan.by_attribute["age"]).least()
    worst = down(bs.geometric(9, beta=0.5).profile().worst_row or 0.0, 4)
    assert least in (f"{worst} (`00s`)", f"{worst} (`80s`)")


def test_a_certificate_gives_the_page_of_its_release(tmp_path: Path) -> None:
    for release in (
        wide().protect(rows(), shuffle=True),
        simple().protect({"sex": ["F", "M"] * 200}, key=bs.Key.generate(), release_name="w"),
    ):
        first = written(release, tmp_path)
        again = sv.Certificate.from_json(release.certificate.to_json())
        assert written(again, tmp_path) == first
        # Nothing in it is a time, so that it is the same tomorrow.
        assert written(release, tmp_path) == first


def test_a_key_that_anyone_can_guess_stands_above_everything(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "key": bs.Key.insecure(1),
        "release_name": "w",
        "allow_insecure": True,
    }
    text = text_of(written(simple().protect({"sex": ["F", "M"] * 200}, **options), tmp_path))
    assert "anyone can guess it and undo the release. Nothing on this page is guaranteed." in text
    assert text.index("Nothing on this page is guaranteed") < text.index(
        "columns protected" if "columns protected" in text else "column protected"
    )


def test_a_plan_without_records_gives_examples(tmp_path: Path) -> None:
    text = text_of(written(wide(), tmp_path))
    assert "On a plan, before any release." in text
    only = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)])
    assert "income" in text_of(written(only, tmp_path))
    none: Any = simple().protect({"sex": []})
    assert "there is nothing to estimate" in text_of(written(none, tmp_path))


def test_columns_that_bound_nothing_together_say_so_first(tmp_path: Path) -> None:
    def together(keep: float) -> str:
        columns = [
            sv.Categorical(name, ["F", "M"], "randomized_response", keep=keep) for name in "abcde"
        ]
        return headline(written(sv.Plan(columns), tmp_path, 100))["Inference"]

    grows = "a 1% suspicion grows to at most"
    # 9^5 = 59049.
    assert together(0.9) == f"{grows} 99.9% by all columns of one person: no useful limit"
    # 3^5 = 243, and 0.01 * 243 / (0.01 * 243 + 0.99) is 71.06%.
    assert together(0.75) == f"{grows} 71.1% by all columns of one person"


def test_errors_are_those_of_the_core() -> None:
    for matrix in (bs.randomized_response(4, beta=0.6), bs.geometric(5, beta=0.3)):
        found = numbers.precision(matrix, 5000)
        assert found.error is not None
        assert found.within is not None
        each = matrix.standard_error([1 / matrix.size] * matrix.size, 5000)
        mean_square = float((each**2).mean())
        assert abs(found.error**2 - mean_square) < 1e-12
        # As many records as are required for that tolerance.
        assert abs(matrix.required_records(found.within) - 5000) <= 1
    assert "nothing" in numbers.precision(bs.uniform(3), 10).note
    assert "same reported one" in numbers.precision(bs.tridiagonal(0.5, size=4), 10).note


# What it never holds.


def test_nothing_in_it_is_derived_from_a_value(tmp_path: Path) -> None:
    plan = sv.Plan(
        [sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
         sv.Numeric("income", "k_anonymous", k=5)],
        keep=["street"], drop=["name"],
    )  # fmt: skip
    pages = []
    for turn in range(2):
        frame = {
            "sex": ["F", "M"] * 20 if turn else ["M"] * 40,
            "income": [918273.5 + i + turn for i in range(40)],
            "street": [SECRETS[2]] * 40 if turn else ["other"] * 40,
            "name": [SECRETS[0]] * 40,
        }
        pages.append(written(plan.protect(frame), tmp_path))
    assert pages[0] == pages[1]
    for secret in (*SECRETS, "918273"):
        assert secret not in pages[1]


def test_labels_are_text_everywhere(tmp_path: Path) -> None:
    def page(names: list[str], levels: list[str]) -> str:
        laws = {level: bs.randomized_response(4, beta=0.5) for level in levels}
        plan = sv.Plan(
            [sv.Categorical(names[0], levels, "k_anonymous", k=2),
             sv.Categorical(names[1], levels, groups=(names[2], laws))],
            name=names[3], keep=[names[2]], drop=[names[3]],
        )  # fmt: skip
        return written(plan, tmp_path, 100)

    nasty, plain = page(NASTY, NASTY), page(list("abcd"), list("abcd"))

    def tags(text: str) -> list[str]:
        return re.findall(r"<(/?[a-z0-9]+)", text.split("</style>", 1)[1])

    assert tags(nasty) == tags(plain)
    assert "<script>alert" not in nasty
    assert "onerror=alert(1)>" not in re.sub(r"\\u003[ce]", "", nasty)


def test_it_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = written(wide().protect(rows()), tmp_path)
    assert not re.search(r"(?:src|href)=[\"'](?!#)|url\(|@import|<link|<img|<iframe", page)
    urls = set(re.findall(r"https?://[\w./]+", page))
    assert not urls
    # The policy admits no style of single elements.
    assert not re.search(r"<[^>]+\sstyle=", page)
    assert "default-src &#39;none&#39;" in page
    for rule in ("prefers-color-scheme:dark", "@media print", "size:A4"):
        assert rule in page
    for picture in re.findall(r"<figure.*?</figure>", page, flags=re.S):
        assert re.search(r'<table [^>]*aria-label="[^"]+">', picture)
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids


def test_thirty_columns_stay_below_a_megabyte(tmp_path: Path) -> None:
    families: list[Any] = ["randomized_response", "geometric", "k_anonymous"]
    largest = sv.Plan(
        [sv.Categorical(f"column {i}", [f"level number {j} of column {i}" for j in range(32)],
                        families[i % 3], beta=0.5) for i in range(30)]
    )  # fmt: skip
    assert len(written(largest, tmp_path, 10_000).encode()) < 1_000_000


# How it is written.


def test_an_old_page_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=r"`n` must|`records` must"):
        simple().report(path, records=0)
    assert path.read_text() == "old"
    simple().report(path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_bad_paths_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for given, words in (
        (tmp_path / "report.csv", r"`path` must end in .html; got .csv"),
        (tmp_path / "report", r"`path` must end in .html; got no ending"),
        (tmp_path / "no" / "report.html", r"`path` must be in a folder that there is"),
        (tmp_path / "folder.html", r"`path` must be a file; got a folder"),
    ):
        with pytest.raises(ValueError, match=words):
            simple().report(given)
    with pytest.raises(TypeError, match="`path` must"):
        simple().report(7)  # type: ignore[arg-type]


def test_the_shell_writes_the_same_pages(tmp_path: Path) -> None:
    def run(*words: object) -> Any:
        return CliRunner().invoke(cli.main, ["report", *(str(word) for word in words)])

    release = wide().protect(rows())
    certificate, plan, out = (tmp_path / n for n in ("c.json", "plan.toml", "out.html"))
    certificate.write_text(release.certificate.to_json(), encoding="utf-8")
    plan.write_text(wide().to_toml(), encoding="utf-8")
    done = run(certificate, "--out", out)
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8") == written(release, tmp_path)
    done = run(plan, "--out", out, "--records", 60)
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8") == written(wide(), tmp_path, 60)
    certificate.write_text(
        release.certificate.to_json().replace('"min_beta": 0', '"min_beta": 1', 1)
    )
    assert (
        "`min_beta` must be at most 0.0, as the plan gives" in run(certificate, "--out", out).output
    )
