"""Plans and certificates that were written once are read for ever, and nothing else is."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv
import stored
from bistochastic_survey.json_fields import OLDER
from bistochastic_survey.plan import plan_json
from bistochastic_survey.release import certificate_json as stored_json
from folded import waved

INDEX = stored.index()
every_plan = pytest.mark.parametrize("name", INDEX["plans"])
every_certificate = pytest.mark.parametrize("name", INDEX["certificates"])
SENTENCE = re.compile(r"(column[^\n]*: )?`[^`\n]+` must [^\n]*; got [^\n]*[^.\n]")
# What people read, and nothing compares.
SENTENCES = ("in_clear", "statements", "published_unchanged", "notes", "warnings",
             "epsilon_is_infinite_because", "reason")  # fmt: skip

FACTS = ("plan", "records", "release_name", "key_stored", "key_fingerprint",
         "unprotected_columns",
         "shuffled", "engine", "declared_categories", "units")  # fmt: skip


def sha(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return hashlib.sha256(text.encode()).hexdigest()


def without_files(text: str) -> Any:
    """What the digest is of."""
    beside = ("central", "files")
    return {name: value for name, value in json.loads(text).items() if name not in beside}


def read(data: Any) -> sv.Certificate:
    return sv.Certificate.from_json(json.dumps(data))


def refusal(data: Any) -> str:
    with pytest.raises(ValueError, match=r"must .*; got ") as found:
        read(data)
    assert SENTENCE.fullmatch(str(found.value)), str(found.value)
    return str(found.value)


def read_or_refusal(data: Any) -> sv.Certificate | str:
    try:
        return read(data)
    except ValueError as error:
        return str(error)


# What was stored.


def test_every_stored_file_has_a_digest() -> None:
    for kind, digests in INDEX.items():
        there = {path.stem for path in (stored.FOLDER / kind).iterdir()}
        assert there == {name.replace(" ", "-") for name in digests}
    assert set(INDEX["plans"]) == set(stored.PLANS)


@every_plan
def test_a_stored_plan_is_read_and_has_its_digest(name: str) -> None:
    text = stored.text("plans", name)
    plan = sv.Plan.from_json(text)
    assert plan.digest == INDEX["plans"][name]
    # The same calls make the same plan, under whatever names they are written tomorrow.
    made = stored.PLANS[name]()
    assert made == plan
    assert made.digest == plan.digest
    assert plan_json.format_1(json.loads(plan.to_json())) == json.loads(text)
    assert sv.Plan.from_toml(plan.to_toml()).digest == plan.digest


@every_certificate
def test_a_stored_certificate_is_read_and_gives_back_what_it_read(name: str) -> None:
    text = stored.text("certificates", name)
    certificate = sv.Certificate.from_json(text)
    assert certificate.digest == INDEX["certificates"][name] == sha(without_files(text))
    assert certificate.to_json() == text
    assert certificate.to_dict() == json.loads(text)
    assert certificate.plan.digest == json.loads(text)["plan_digest"]
    assert certificate.files == json.loads(text).get("files")
    assert sv.Certificate.from_json(text + "\n") == certificate
    assert str(certificate)


def test_certificates_made_today_have_the_facts_that_were_stored(tmp_path: Path) -> None:
    made = stored.certificates(tmp_path)
    assert set(made) == set(INDEX["certificates"])
    for name, certificate in made.items():
        before = sv.Certificate.from_json(stored.text("certificates", name))
        for fact in FACTS:
            # The wave with numbers inside classes had no name then, and needs one now.
            if (name, fact) != ("ids units", "release_name"):
                assert getattr(before, fact) == getattr(certificate, fact), name
        assert (before.ids is None) == (certificate.ids is None)


BY_IDS = [name for name in INDEX["certificates"] if re.match("ids|engine ids", name)]


@pytest.mark.parametrize("name", BY_IDS)
def test_the_next_wave_goes_on_from_a_stored_certificate(name: str) -> None:
    before = sv.Certificate.from_json(stored.text("certificates", name))
    assert before.ids is not None
    kind = str if before.ids.kind == "texts" else int
    table: Any = stored.people(kind=kind)
    options: Any = {"key": bs.Key.from_bytes(stored.KEY), "ids": sv.Wave("person", after=before)}
    if name == "ids numbers":
        options = waved(options, rerandomize_numeric=True, release_name="w2")
        table = stored.incomes()
    if name == "ids units":
        hashed = {"unit_pseudonym": {"home": "dwelling"}, "release_name": "w2"}
        table, options = stored.dwellings(), {**options, **hashed}
    given = sv.Plan(
        [a if not isinstance(a, sv.Numeric) else sv.Numeric(a.column, a.family, **dict(a.given))
         for a in before.plan.attributes],
        name=before.plan.name, keep=before.plan.keep, drop=before.plan.drop,
    )  # fmt: skip
    found = given.protect(table, **waved(options)).certificate
    assert found.ids is not None
    assert found.ids.after == INDEX["certificates"][name]
    assert found.ids.redrawn == ()
    assert found.ids.redrawn_before == (*before.ids.redrawn_before, *before.ids.redrawn)
    with pytest.raises(ValueError, match="got another key: redraw=True"):
        given.protect(table, **{**options, "key": bs.Key.generate()})


@pytest.mark.parametrize("name", sorted(set(INDEX["certificates"]) - set(BY_IDS)))
def test_no_wave_goes_on_from_a_release_without_ids(name: str) -> None:
    before = sv.Certificate.from_json(stored.text("certificates", name))
    table = stored.people()
    given = sv.Plan(stored.survey().attributes, name=before.plan.name, keep=["region"])
    with pytest.raises(ValueError, match=r"of a release by ids; got one by (position|rows)"):
        given.protect(table, key=bs.Key.from_bytes(stored.KEY), ids=sv.Wave("person", after=before))


def test_the_page_on_formats_names_all_that_changed() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "compatibility.md"
    if not page.is_file():
        pytest.skip("runs in a checkout")
    words = page.read_text()
    renames = [
        *plan_json.FIELDS.items(),
        *(pair for v in plan_json.VALUES.values() for pair in v.items()),
    ]
    for new, old in renames:
        assert re.search(rf"^\| attribute \| `.*{new}.*` \| `.*{old}.*` \|$", words, re.M), new
    every = (*plan_json.LATER, *stored_json.LATER, *stored_json.LATER_IDS, *stored_json.BESIDE)
    for field in every:
        assert re.search(rf"`(ids\.)?{field}`", words), field


# Digests of plans.


def renamed(data: Any) -> Any:
    """A plan of format 1 under the names of today."""
    names = {"strata": "groups", "release": "how", "domain_from_data": "categories_from_data"}
    attributes = []
    for each in data["attributes"]:
        new = {names.get(name, name): value for name, value in each.items()}
        if new.get("missing") == "refuse":
            new["missing"] = "raise"
        attributes.append(new)
    return {**data, "version": 2, "attributes": attributes}


@every_plan
def test_a_digest_survives_renames(name: str) -> None:
    data = json.loads(stored.text("plans", name))
    tomorrow = renamed(data)
    assert tomorrow != data
    assert json.dumps(plan_json.format_1(tomorrow)) == json.dumps(data)
    assert plan_json.digest_of_plain(tomorrow) == INDEX["plans"][name]


@every_plan
def test_a_plan_is_written_under_the_names_of_today(name: str) -> None:
    data = json.loads(stored.text("plans", name))
    plan = sv.Plan.from_json(json.dumps(data))
    assert json.loads(plan.to_json()) == {**renamed(data), "version": 1}
    assert sv.Plan.from_json(plan.to_json()) == plan
    assert sv.Plan.from_toml(plan.to_toml()) == plan


@every_certificate
def test_a_certificate_is_written_under_the_names_of_today(name: str) -> None:
    old = sv.Certificate.from_json(stored.text("certificates", name))
    new = dataclasses.replace(old, _source=None)
    data = new.to_dict()
    for now, before in (("release_name", "release"), ("notes", "statements"),
                        ("unprotected_columns", "columns_in_clear"),
                        ("published_unchanged", "in_clear")):  # fmt: skip
        assert now in data
        assert before not in data
    assert data["key"] == {"stored": old.key_stored, "fingerprint": old.key_fingerprint}
    again = read(data)
    assert again == old
    assert again.digest == new.digest


def test_a_field_has_one_name_at_a_time() -> None:
    data = json.loads(stored.text("certificates", "position"))
    assert "`release` must be given under one name; got `release_name`, too" in refusal(
        {**data, "release_name": data["release"]}
    )
    plan = json.loads(stored.text("plans", "survey"))
    at = next(i for i, each in enumerate(plan["attributes"]) if "strata" in each)
    plan["attributes"][at]["groups"] = plan["attributes"][at]["strata"]
    with pytest.raises(ValueError, match=rf"`attributes\[{at}\].strata` must be given under one"):
        sv.Plan.from_json(json.dumps(plan))


def test_columns_and_parameters_keep_their_names_and_later_fields_enter_as_they_are() -> None:
    plan = sv.Plan(
        [sv.Categorical("groups", ["raise", "how"], "randomized_response", beta=0.5)],
        name="categories_from_data", keep=["how"],
    )  # fmt: skip
    data = plan_json.format_1(json.loads(plan.to_json()))
    assert plan_json.format_1(renamed(data)) == data
    later = {**renamed(data), "undecided": ["how"]}
    assert json.dumps(plan_json.format_1(later)) == json.dumps({**data, "undecided": ["how"]})
    assert plan_json.digest_of_plain(later) != plan.digest


# Sentences and facts.


@every_certificate
def test_sentences_are_made_anew_and_never_compared(name: str) -> None:
    data = json.loads(stored.text("certificates", name))
    for field in [field for field in SENTENCES[:-1] if field in data]:
        data[field] = ["An older sentence.", "And one more."]
    for each in data["attributes"]:
        each["reason"] = "an older reason"
    older = read(data)
    now = sv.Certificate.from_json(stored.text("certificates", name))
    assert older == now
    assert (older.published_unchanged, older.notes, older.warnings) == (
        now.published_unchanged, now.notes, now.warnings)  # fmt: skip
    assert str(older) == str(now)
    # It is another text all the same, and stays what it was.
    assert older.to_dict() == data
    assert older.digest == sha(without_files(json.dumps(data))) != now.digest


BELOW = ("beta", "min_beta", "bits", "worst_row_beta", "worst_column_beta")
ABOVE = ("epsilon", "max_leakage_bits")


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same data with another value at this path."""
    changed = copy.deepcopy(data)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside, containers first."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for step in data if isinstance(data, dict) else range(len(data)):
            yield from leaves(data[step], (*path, step))


@pytest.mark.parametrize("name", ["position", "numbers", "ids redrawn", "law uniform"])
def test_bounds_may_differ_in_the_last_digit_and_on_the_safe_side(name: str) -> None:
    data = json.loads(stored.text("certificates", name))
    seen = set()
    for path in leaves(data):
        value = at(data, path)
        if path[0] == "plan" or "displacement" in path or type(value) is not float:
            continue
        seen.add(path[-1])
        if path[-1] in BELOW:
            read(put(data, path, value + 9e-13))
            read(put(data, path, value * 0.5))
            assert f"{path[-1]}` must be at most" in refusal(put(data, path, value + 2e-12))
        elif path[-1] in ABOVE:
            read(put(data, path, value * (1 - 9e-13)))
            read(put(data, path, value * 2))
            if value:
                refusal(put(data, path, value * (1 - 2e-12)))
        else:
            assert path[-1] == "max_bits"
            read(put(data, path, value * (1 + 9e-13)))
            for factor in (1 - 2e-12, 1 + 2e-12):
                refusal(put(data, path, value * factor))
        for wrong in (-1.0, True, "0.5", [value], float("inf")):
            refusal(put(data, path, wrong))
        if path[-1] in ("worst_row_beta", "worst_column_beta", "max_leakage_bits"):
            # Another version may have found the matrix too large to be looked at.
            read(put(data, path, None))
        else:
            refusal(put(data, path, None))
    assert {"beta", "bits", "max_bits"} <= seen
    assert "epsilon" in seen or name == "numbers"


def test_an_infinite_epsilon_is_no_smaller_one() -> None:
    data = json.loads(stored.text("certificates", "law identity"))
    assert data["epsilon"] == "inf"
    refusal({**data, "epsilon": 1e300})
    # Infinite where it need not be claims less.
    finite = json.loads(stored.text("certificates", "position"))
    assert read({**finite, "epsilon": "inf"}).plan.epsilon < 10
    for wrong in ("-inf", "nan", "1/2", "7", 10**400, -(10**400)):
        refusal({**finite, "epsilon": wrong})
    # JSON has no infinity, however long the number.
    with pytest.raises(ValueError, match="must be a value of JSON; got a number beyond all floats"):
        sv.Certificate.from_json(json.dumps(data).replace('"inf"', "1e999"))


HOSTILE: tuple[Any, ...] = (
    None, True, 1, -1, 10**30, 10**400, 0.5, "", "x", "\ud800", [], [1], ["x"], {"a": 1}
)  # fmt: skip
# Facts that are free as far as the rest goes with them: another value is another certificate.
FREE: dict[tuple[Any, ...], Callable[[Any], bool]] = {
    ("package",): lambda v: False,
    ("records",): lambda v: type(v) is int and 0 <= v <= 2**53,
    ("release",): lambda v: v is None or (isinstance(v, str) and v not in ("", "\ud800")),
    ("shuffled",): lambda v: type(v) is bool,
    ("engine",): lambda v: v is None or (isinstance(v, str) and v not in ("", "\ud800")),
    ("ids", "kind"): lambda v: False,
    ("ids", "kept"): lambda v: False,
    ("ids", "id_column"): lambda v: isinstance(v, str) and v not in ("", "\ud800"),
    ("ids", "max_rows_per_id"): lambda v: type(v) is int and 1 <= v <= 2**53,
    ("ids", "rows_per_id_checked"): lambda v: v is None or (type(v) is int and 0 <= v <= 2**53),
    ("ids", "pseudonym"): lambda v: v is None or (isinstance(v, str) and v not in ("", "\ud800")),
    ("ids", "after"): lambda v: v == "first",
    # A plan that keeps all columns names none.
    ("columns_in_clear", 1): lambda v: isinstance(v, str) and v not in ("", "\ud800"),
    ("ids", "row_columns"): lambda v: v == ["x"],
    ("ids", "row_columns", 0): lambda v: isinstance(v, str) and v not in ("", "\ud800"),
    ("ids", "row_columns", 1): lambda v: isinstance(v, str) and v not in ("", "\ud800"),
}


@pytest.mark.parametrize("name", ["household", "numbers", "ids carried", "engine rows"])
def test_what_is_no_fact_of_the_certificate_is_refused_in_one_sentence(name: str) -> None:
    data = json.loads(stored.text("certificates", name))
    for path in leaves(data):
        if len(path) > (2 if path[0] == "plan" else 4) or path[1:2] in ((2,), (3,), (4,)):
            # Readers of plans and matrices have tests of their own, and attributes are alike.
            continue
        value = at(data, path)
        sentences = next((step for step in path if step in SENTENCES), None)
        for wrong in HOSTILE:
            if wrong == value and isinstance(wrong, bool) == isinstance(value, bool):
                continue
            changed = put(data, path, wrong)
            found = read_or_refusal(changed)
            if isinstance(found, str):
                assert SENTENCE.fullmatch(found), (path, wrong, found)
                continue
            assert found.to_dict() == changed
            free = FREE.get(path, lambda v: False)(wrong)
            lists = isinstance(wrong, list) and all(isinstance(each, str) for each in wrong)
            sentence = sentences and (
                isinstance(wrong, str) or (path[-1] == "reason" and wrong is None) or lists
            )
            bound = path[-1] in (*BELOW, *ABOVE) and not isinstance(wrong, bool)
            loose = {"displacement", "redrawn", "carried"}.intersection(path)
            # A text of a plan that means the same is the same plan.
            same = path[0] == "plan" and found.plan.digest == data["plan_digest"]
            assert free or sentence or bound or loose or same, (path, wrong)


@pytest.mark.parametrize("name", ["household", "numbers", "ids redrawn", "ids carried", "mixed"])
def test_unknown_and_missing_fields_are_named_in_every_object(name: str) -> None:
    data = json.loads(stored.text("certificates", "law mix" if name == "mixed" else name))
    seen = 0
    for path in [(), *leaves(data)]:
        inside = at(data, path)
        if not isinstance(inside, dict):
            continue
        seen += 1
        said = refusal(put(data, (*path, "surprise"), 1))
        assert "surprise" in said
        if path[:1] in ((), ("key",), ("ids",), ("attributes",)):
            for field in inside:
                changed = copy.deepcopy(data)
                del at(changed, path)[field]
                if field == "certificate_version":
                    assert "certificate" in refusal(changed)
                elif path[:1] == ("attributes",) or path[:2] != ("ids", "carried"):
                    # The error asks for the name of today.
                    names = {field, *(new for new, old in OLDER.items() if old == field)}
                    assert names & set(re.findall(r"\w+", refusal(changed)))
    assert seen > 5


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"certificate_version": 2}, "of version 1; got version 2"),
        ({"certificate_version": True}, "of version 1; got "),
        ({"records": 10**30}, "`records`"),
        ({"records": 301}, "`records`"),
        ({"release": {"a": 1}}, "`release`"),
        ({"columns_in_clear": []}, "`columns_in_clear`"),
        ({"columns_in_clear": ["region", "region"]}, "`columns_in_clear`"),
        ({"key": {"kept": False, "fingerprint": "3b4eb59ec789b985"}}, "`key.fingerprint`"),
        ({"key": {"kept": True, "fingerprint": None}}, "`key.fingerprint`"),
        ({"key": {"kept": True, "fingerprint": "3B"}}, "`key.fingerprint`"),
        ({"files": {"a.csv": "00"}}, "`files.a.csv`"),
        ({"files": ["a.csv"]}, "`files`"),
        ({"files": {"a/b.csv": 64 * "0"}}, "`files.a/b.csv`"),
    ],
)
def test_facts_have_types_and_fit_each_other(change: dict[str, Any], match: str) -> None:
    data = json.loads(stored.text("certificates", "numbers"))
    data = json.loads(stored.text("certificates", "position")) if "columns" in str(change) else data
    said = refusal({**data, **change})
    assert match in said


def test_what_is_no_certificate_at_all() -> None:
    data: Any
    for data in ([], 1, None, "x", {}, {"certificate_version": None}):
        assert "must be a certificate that this package wrote" in refusal(data)
    ids = json.loads(stored.text("certificates", "ids first"))
    assert "`ids`" in refusal({**ids, "key": {"kept": False, "fingerprint": None}})
    deep = stored.text("certificates", "position").replace(
        '"engine": null', '"engine": ' + "[" * 100_000 + "]" * 100_000
    )
    with pytest.raises(ValueError, match=r"`text` must hold lists .*; got more than 256 levels"):
        sv.Certificate.from_json(deep)


# The data stay with the certificate.


def test_a_certificate_that_was_read_is_copied_with_its_data() -> None:
    data = json.loads(stored.text("certificates", "ids redrawn"))
    data["statements"] = ["An older sentence."]
    data["files"] = {"a.csv": 64 * "a"}
    older = read(data)
    for again in (copy.copy(older), copy.deepcopy(older), pickle.loads(pickle.dumps(older)),
                  dataclasses.replace(older)):  # fmt: skip
        assert again == older
        assert again.to_dict() == data
        assert again.digest == older.digest
    # What was changed is another certificate, written by this version.
    other = dataclasses.replace(older, records=299)
    assert other != older
    assert other.to_dict()["records"] == 299
    assert "An older sentence." not in other.to_json()
    assert sv.Certificate.from_json(other.to_json()) == other
    moved = dataclasses.replace(older, files={"b.csv": 64 * "b"})
    assert moved.to_dict()["files"] == {"b.csv": 64 * "b"}
    # What is handed out is the caller's own.
    older.to_dict()["records"] = 7
    assert older.to_dict() == data


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"central": {"delta": 1e-6, "epsilon": 0.2}}, "`central.at_least` must be given"),
        ({"central": {"delta": 1e-3, "epsilon": 0.2, "at_least": None}}, "below 1 / records"),
        ({"central": {"delta": 0.0, "epsilon": 0.2, "at_least": None}}, "`central.delta`"),
        ({"central": {"delta": 1e-6, "epsilon": 1.1, "at_least": None}}, "at most that of one"),
        ({"central": {"delta": 1e-6, "epsilon": "inf", "at_least": None}}, "at most that of one"),
        ({"central": {"delta": 1e-6, "epsilon": -1, "at_least": None}}, "a number from 0 on"),
        ({"central": {"delta": 1e-6, "epsilon": 0.2, "at_least": 0.3}}, "be at most epsilon"),
        ({"shuffled": False}, "not be given; got the rows are in the order"),
        ({"unprotected_columns": ["x"], "shuffled": True}, "`unprotected_columns`"),
    ],
)
def test_a_central_epsilon_has_a_type_and_a_range(change: dict[str, Any], match: str) -> None:
    data = json.loads(stored.text("certificates", "central"))
    assert data["central"] == {"delta": 1e-6, "epsilon": 0.148671, "at_least": 0.126614}
    with pytest.raises(ValueError, match=match):
        read({**data, **change})


def test_files_are_last_and_leave_the_digest_alone() -> None:
    text = stored.text("certificates", "position")
    plain = sv.Certificate.from_json(text)
    files = {"a.csv": 64 * "a", "b.parquet": 64 * "b"}
    with_files = dataclasses.replace(plain, files=files)
    assert list(with_files.to_dict())[-1] == "files"
    assert with_files == plain
    assert with_files.files == files
    again = sv.Certificate.from_json(with_files.to_json())
    assert again.files == files
    assert again.digest == with_files.digest
    assert read({**json.loads(text), "files": files}).digest == plain.digest
    assert "a.csv" in str(again)


def test_a_report_shows_the_digests_of_files(tmp_path: Path) -> None:
    certificate = sv.Certificate.from_json(stored.text("certificates", "files"))
    certificate.report(tmp_path / "files.html")
    page = (tmp_path / "files.html").read_text(encoding="utf-8")
    assert 64 * "f" in page
    assert "sha256sum FILE" in page
    assert "They do not cover protected files" not in page
