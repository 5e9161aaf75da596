"""The report of a plan or a release: what it says, what it never says, and how it is written."""

from __future__ import annotations

import html
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic import cli
from bistochastic.report import beliefs, column, deeds, document, explorer, levels, precision
from bistochastic.words import down

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


def simple(**more: Any) -> bs.Plan:
    return bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)], **more)


def wide() -> bs.Plan:
    """One attribute of every kind."""
    region = {"north": bs.randomized_response(3, beta=0.5), "south": bs.blocks([1, 2])}
    return bs.Plan(
        [
            bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            bs.Categorical("age", [f"{i}0s" for i in range(9)], "geometric", beta=0.5),
            bs.Categorical("town", list(range(20)), "k_anonymous", k=5, missing="category"),
            bs.Categorical("mood", ["a", "b", "c"], groups=("region", region)),
            bs.Categorical("shy", [True, False], "randomized_response", beta=0.7, missing="keep"),
            bs.Joint(("x", "y"), [["p", "q"], [1, 2, 3]], "randomized_response", beta=0.7,
                     impossible=[("p", 2)]),
            bs.Joint(("u", "v"), [["p", "q"], [1, 2]],
                     matrix=bs.kron(bs.uniform(2), bs.randomized_response(2, beta=0.4))),
            bs.Categorical("code", list(range(500)), "randomized_response", epsilon=3),
            bs.Categorical("swap", ["a", "b", "c"], matrix=bs.t_transform(3, 0, 2, keep=0.4)),
            bs.Numeric("income", "k_anonymous", k=5),
            bs.Numeric("weight", "k_anonymous", k=3, how="average"),
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


# What beliefs become.


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


def brute_force(matrix: bs.Matrix, belief: Fraction) -> Fraction:
    """The largest posterior over truths, reports, and where the rest of the belief may be."""
    table = [matrix.exact_row(u) for u in range(matrix.size)]
    most = Fraction(0)
    for v in range(matrix.size):
        for u in range(matrix.size):
            for w in range(matrix.size):
                own, other = belief * table[u][v], (1 - belief) * table[w][v]
                if u != w and own + other > 0:
                    most = max(most, own / (own + other))
    return most


@pytest.mark.parametrize("matrix", LAWS, ids=lambda m: f"{m.family}{m.size}")
@pytest.mark.parametrize("belief", beliefs.STATED)
def test_a_belief_is_never_understated_and_exact(matrix: bs.Matrix, belief: Fraction) -> None:
    told = beliefs.after(belief, beliefs.odds(matrix))
    most = brute_force(matrix, belief)
    assert told >= most
    # Only a bound on epsilon, of which there is none here, would leave a gap.
    assert told - most < Fraction(1, 10**12)
    if matrix.is_exact:
        assert told == most
    shown = beliefs.percent(told)
    if shown != "practically 100 %":
        assert Fraction(shown.removesuffix(" %")) >= 100 * most
        assert Fraction(shown.removesuffix(" %")) <= 100 * most * Fraction(102, 100) + 1


@pytest.mark.parametrize("matrix", LAWS, ids=lambda m: f"{m.family}{m.size}")
def test_beliefs_spread_evenly_are_those_of_bayes(matrix: bs.Matrix) -> None:
    belief, r = Fraction(1, 10), matrix.size
    table = [matrix.exact_row(u) for u in range(r)]
    most = Fraction(0)
    for v in range(r):
        for u in range(r):
            prior = [(1 - belief) / (r - 1)] * r
            prior[u] = belief
            total = sum(prior[w] * table[w][v] for w in range(r))
            if total:
                most = max(most, prior[u] * table[u][v] / total)
    assert beliefs.after(belief, beliefs.even_odds(matrix)) == most


def test_large_matrices_are_bounded_by_epsilon_from_above() -> None:
    matrix = bs.randomized_response(100_000, epsilon=2)
    most = beliefs.odds(matrix)
    assert most is not None
    keep = matrix.exact_row(0)
    assert most >= keep[0] / keep[1]
    assert most <= keep[0] / keep[1] * (1 + Fraction(1, 10**9))
    even = beliefs.even_odds(bs.geometric(200, beta=0.3))
    assert even is not None
    peak = max(bs.geometric(200, beta=0.3).exact_row(0))
    assert even >= peak * 199 / (1 - peak)


def test_percents_are_rounded_up_and_never_to_certainty() -> None:
    assert beliefs.percent(Fraction(67, 1000)) == "6.7 %"
    assert beliefs.percent(Fraction(67001, 10**6)) == "6.71 %"
    assert beliefs.percent(Fraction(99951, 10**5)) == "99.96 %"
    assert beliefs.percent(1 - Fraction(1, 10**7)) == "99.99999 %"
    assert beliefs.percent(Fraction(1)) == "100 %"
    assert beliefs.percent(Fraction(1, 10**9)) == "0.0000001 %"


# What the page says.


def test_the_sentence_has_the_numbers_of_the_law(tmp_path: Path) -> None:
    plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    text = text_of(written(plan, tmp_path, 1000))
    assert (
        "Someone who thinks an answer 1 % likely can think it at most 2.95 % likely after seeing "
        "the report. 10 % becomes at most 25 %, and 50 % at most 75 %." in text
    )
    assert "The truth is reported with a chance of 75 %, and the other level with 25 %." in text
    # By hand: 1.96 sqrt(0.25 / (1000 (2 * 0.75 - 1)^2)) and the error without it.
    assert "± 6.2" in text
    assert "250 records" in text


def test_every_kind_of_column_is_told(tmp_path: Path) -> None:
    release = wide().protect(rows())
    page = written(release, tmp_path)
    text = text_of(page)
    for words in (
        "Report on a release of 60 records.",
        "12 columns are protected: sex, age, town, mood, shy, x, y, u, v, code, swap, income.",
        "1 column has a rule that does not protect: weight.",
        "In the columns town, mood, shy, swap, income, weight someone may become certain of",
        "An answer is one of 9 levels: 00s, 10s,",
        "the further it is from the truth in the order of the levels, the rarer",
        "The levels form 4 classes of 5 to 6 neighbours",
        "A missing answer counts as one more level",
        "A missing answer stays missing: everyone sees who gave none.",
        "depends on region, which stays in clear: there are 2 rules",
        "one of 5 combinations (2 times 3, without 1 that cannot occur)",
        "u: Every report is drawn by lot, whatever the truth. It tells nothing.",
        "a and c are exchanged with a chance of 60 %.",
        "All other levels are reported as they are: nothing about them is hidden.",
        "The numbers are exchanged between people who are near each other in rank: half of them "
        "move by at most 1 place among 60, nine of ten by at most 3. Where many people have the "
        "same number, most of them keep it. All numbers that occur are published; only who has "
        "which is hidden.",
        "The numbers in income are exchanged by chance among people near in rank. Where many "
        "people have the same number, most keep theirs. All numbers that occur are published.",
        "The set of all numbers in income, and how often each occurs.",
        "The mean of every class of numbers in weight.",
        "There are 12 classes, of 5 people each.",
        "Every number is replaced by the mean of its class",
        "a report of 0 rules out 6, for example. Whatever is reported, 5 answers or more remain "
        "possible.",
        "where region is south, a report of",
        "Column shy: everyone sees who gave no answer.",
        "Column income: all numbers are published as they are.",
        "Column weight: the means follow from the numbers without chance.",
        "The numbers in weight are replaced by means of classes, without chance.",
        "This page was made from the plan and the certificate alone, without looking at any "
        "answer.",
        "Taken together, the 13 columns give no bound: someone who can tell which row is a "
        "person's may become certain of something about that person: see",
        "can tell the most. Someone who thinks an answer 1 %",
        "It does not hold against those who have the original.",
        "attacks the protected table with the original at hand",
        "Definition 2 (the bits of several attributes, added)",
        "bistochastic inspect CERTIFICATE.json",
        "They do not cover protected files.",
        "can find out before the release, by an audit, and keeps the result confidential.",
        "Column region.",
        "Left out of the release: name.",
        "only the totals of its 4 classes, which are not changed at all",
        "the rules by region",
        "drawn for this release and forgotten",
        "The order of the rows.",
    ):
        assert words in text, words
    assert release.certificate.digest in text
    assert release.certificate.plan.digest in text
    assert page.count("<h3>") >= len(release.certificate.plan.attributes)


def test_no_share_of_people_who_keep_their_number_is_claimed(tmp_path: Path) -> None:
    # All have the same number, so that all keep it: a page without data cannot know.
    ages = bs.Numeric("age", "k_anonymous", k=5)
    release = bs.Plan([ages]).protect({"age": [40.0] * 100}, shuffle=True)
    text = text_of(written(release, tmp_path))
    told = text[text.index("The numbers are exchanged between people") :].split("There are")[0]
    assert "%" not in told
    assert "expected to keep" not in text
    assert "Nothing but the number of records" not in text
    assert release.certificate.published_unchanged == (
        "the set of all numbers in `age`, and how often each occurs",
    )
    unordered = bs.Plan([bs.Numeric("age", "k_anonymous", k=5, order=None)])
    text = text_of(written(unordered, tmp_path, 100))
    assert "exchanged between people. Where many people have the same number, many" in text
    assert "near in rank" not in text


def test_measures_are_those_of_the_plan(tmp_path: Path) -> None:
    plan = wide().for_records(60)
    text = written(plan, tmp_path, 60)
    for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True):
        row = column.Column(attribute, each).row()
        assert row[3] == ("–" if each.beta is None else down(each.beta, 4))
        assert row[5] == column.epsilon(each.epsilon)
    assert f"{plan.beta:.4f}"[:5] in text
    # The worst row of a geometric law is at an end of the scale, which folds back.
    worst = column.Column(plan.attributes[1], plan.by_attribute["age"]).worst_row()
    assert worst is not None
    profile = bs.geometric(9, beta=0.5).profile()
    assert profile.worst_row is not None
    assert abs(worst[0] - profile.worst_row) < 1e-12
    assert worst[0] <= profile.worst_row
    assert worst[1] in ("00s", "80s")


def test_a_certificate_gives_the_page_of_its_release(tmp_path: Path) -> None:
    for release in (
        wide().protect(rows(), shuffle=True),
        simple().protect({"sex": ["F", "M"] * 200}, key=bs.Key.generate(), release_name="w"),
    ):
        first = written(release, tmp_path)
        again = bs.Certificate.from_json(release.certificate.to_json())
        assert written(again, tmp_path) == first
        # Nothing in it is a time, so that it is the same tomorrow.
        assert written(release, tmp_path) == first


def test_keys_ids_rows_and_engines_are_told(tmp_path: Path) -> None:
    key = bs.Key.generate()
    people = {"sex": ["F", "M"] * 150, "person": list(range(300))}
    first = simple().protect(people, key=key, id_column="person", after="first", pseudonym="who")
    text = text_of(written(first, tmp_path))
    assert key.fingerprint in text
    assert "Whoever holds the key can undo the release" in text
    assert "The ids in person are left out." in text
    assert "The guarantee is for one row." not in text
    assert "insecure" not in text
    assert "which rows are of one person, by who" in text.lower()
    later = simple().protect(
        people, key=key, id_column="person", after=first.certificate, max_rows_per_id=2
    )
    text = text_of(written(later, tmp_path))
    assert "The guarantee is for one row." in text
    assert "It does not hold against those who have the key or the original." in text
    assert f"after the one with the digest {first.certificate.digest}" in text
    table = pa.table({"file": ["a"] * 3, "row": [1, 2, 3], "sex": ["F", "M", "M"]})
    own = simple(drop=["file", "row"])
    with bs.KeySource.temporary(tmp_path) as source:
        f = own.batch_function(key=source, row_columns=["file", "row"], release_name="w")
        f.table(table)
        certificate = f.certificate(records=3, engine="an <engine>", schema=table.schema)
    text = text_of(written(certificate, tmp_path))
    assert "addressed by file, row" in text
    assert "an <engine>" in text


def test_a_key_that_anyone_can_guess_stands_above_everything(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "key": bs.Key.insecure(1),
        "release_name": "w",
        "allow_insecure": True,
    }
    text = text_of(written(simple().protect({"sex": ["F", "M"] * 200}, **options), tmp_path))
    assert "anyone can guess it and undo the release. Nothing on this page is guaranteed." in text
    assert text.index("Nothing on this page is guaranteed") < text.index("In short")


def test_a_plan_without_records_gives_examples(tmp_path: Path) -> None:
    text = text_of(written(wide(), tmp_path))
    assert "Report on a plan, before any release." in text
    assert "1,000,000 records" in text
    assert "takes a number of records" in text
    assert "Nothing has been drawn yet." in text
    only = bs.Plan([bs.Numeric("income", "k_anonymous", k=5)])
    assert "income" in text_of(written(only, tmp_path))
    none: Any = simple().protect({"sex": []})
    assert "there is nothing to estimate" in text_of(written(none, tmp_path))


def test_levels_that_were_read_off_the_data_are_owned_up_to(tmp_path: Path) -> None:
    read = bs.Categorical("sex", ["F", "M"], "uniform", categories_from_data=True)
    text = text_of(written(bs.Plan([read]), tmp_path))
    assert (
        "This page was made from the plan alone, without looking at any answer. The plan itself "
        "took the levels of 1 column from the data." in text
    )
    assert "before any data" not in text
    assert "which tells that they occur" in text


def test_columns_that_bound_nothing_together_say_so_first(tmp_path: Path) -> None:
    def second(keep: float) -> str:
        columns = [
            bs.Categorical(name, ["F", "M"], "randomized_response", keep=keep) for name in "abcde"
        ]
        page = written(bs.Plan(columns), tmp_path, 100)
        summary = page[page.index('id="summary"') :]
        return text_of(summary.split("<li>")[2])

    assert second(0.9) == (
        "Taken together, the 5 columns give no useful bound: someone who can tell which row is a "
        "person's may become practically certain of something about that person."
    )
    # 3^5 = 243, and 0.01 * 243 / (0.01 * 243 + 0.99) is 71.06 %.
    assert "from 1 % to at most 71.1 %, from 10 % to at most 96.5 %" in second(0.75)


def test_what_only_a_technician_needs_stands_at_the_end(tmp_path: Path) -> None:
    release = simple().protect({"sex": ["F", "M"] * 200}, key=bs.Key.generate(), release_name="w")
    text = text_of(written(release, tmp_path))
    assert text.count("can test a guess of a whole block") == 1
    assert text.index("How to verify") < text.index("can test a guess of a whole block")
    assert "must be destroyed when no further wave is due" in text


def test_errors_are_those_of_the_core() -> None:
    for matrix in (bs.randomized_response(4, beta=0.6), bs.geometric(5, beta=0.3)):
        found = precision.precision(matrix, 5000)
        assert found.error is not None
        assert found.within is not None
        each = matrix.standard_error([1 / matrix.size] * matrix.size, 5000)
        mean_square = float((each**2).mean())
        assert abs(found.error**2 - mean_square) < 1e-12
        # As many records as are required for that tolerance.
        assert abs(matrix.required_records(found.within) - 5000) <= 1
    assert "nothing" in precision.precision(bs.uniform(3), 10).note
    assert "same reports" in precision.precision(bs.tridiagonal(0.5, size=4), 10).note


def test_levels_have_their_names() -> None:
    joint = bs.Joint(
        ("a", "b"), [["x", "y"], [1, 2]], "uniform", missing="category", impossible=[("x", None)]
    )
    assert levels.levels(joint, 32) == [
        "x, 1", "x, 2", "y, 1", "y, 2", "y, (missing)",
        "(missing), 1", "(missing), 2", "(missing), (missing)",
    ]  # fmt: skip
    assert levels.levels(joint, 4) is None


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (bs.identity(3), "Every report is the truth. Nothing is hidden."),
        (bs.permutation([1, 2, 0]), "everyone can undo"),
        (bs.uniform(1), "only one level"),
        (bs.tridiagonal(0.2, size=4), "a neighbour of it"),
        (bs.circulant([3, 1, 0]), "around the cycle"),
        (bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]), "50 % to 62.5 %"),
        (bs.blocks([1, 3]), "1 class has one level: it is published unchanged."),
    ],
)
def test_laws_are_told_by_their_structure(matrix: bs.Matrix, words: str) -> None:
    assert words in " ".join(deeds.law_deeds(matrix))


# What it never holds.


def test_nothing_in_it_is_derived_from_a_value(tmp_path: Path) -> None:
    plan = bs.Plan(
        [bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
         bs.Numeric("income", "k_anonymous", k=5)],
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
        plan = bs.Plan(
            [bs.Categorical(names[0], levels, "k_anonymous", k=2),
             bs.Categorical(names[1], levels, groups=(names[2], laws))],
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
    # The name of SVG, which nothing is loaded from.
    assert urls <= {"http://www.w3.org/2000/svg"}
    assert "default-src &#39;none&#39;" in page
    for rule in ("prefers-color-scheme:dark", "@media print", "size:A4"):
        assert rule in page
    for picture in re.findall(
        r"<svg[^>]*class=\"bs-picture\"[^>]*viewBox.*?</svg>", page, flags=re.S
    ):
        assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", picture)
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids


def test_thirty_columns_stay_below_a_megabyte(tmp_path: Path) -> None:
    families: list[Any] = ["randomized_response", "geometric", "k_anonymous"]
    plan = bs.Plan(
        [bs.Categorical(f"column {i}", [f"level number {j} of column {i}" for j in range(3 + i)],
                        families[i % 3], beta=0.5) for i in range(30)]
    )  # fmt: skip
    assert len(written(plan, tmp_path, 10_000).encode()) < 1_000_000
    largest = bs.Plan(
        [bs.Categorical(f"column {i}", [f"level number {j} of column {i}" for j in range(32)],
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
    for words, said in (
        ((certificate, "--out", out, "--records", 3), "`records` must go with a plan"),
        ((certificate, "--out", certificate), "`--out` must be another file than `file`"),
        ((plan, "--out", tmp_path / "x.csv"), "`--out` must end in .html; got .csv"),
        ((plan, "--out", tmp_path / "x"), "`--out` must end in .html; got no ending"),
        ((tmp_path / "no.toml", "--out", out), "`file` must be a file to read"),
    ):
        done = run(*words)
        assert done.exit_code == 1
        assert said in done.output
    certificate.write_text(
        release.certificate.to_json().replace('"min_beta": 0', '"min_beta": 1', 1)
    )
    assert (
        "`min_beta` must be at most 0.0, as the plan gives" in run(certificate, "--out", out).output
    )


def test_the_page_of_a_report_has_the_slider(tmp_path: Path) -> None:
    page = written(wide(), tmp_path, 1000)
    assert explorer.script() in page
    # A plan of numbers alone has no levels to explore, and so no script.
    only = written(bs.Plan([bs.Numeric("income", "k_anonymous", k=5)]), tmp_path, 100)
    assert "<script" not in only
    assert document.Report(wide(), None, 1000)._scenes()[0].start == 12
