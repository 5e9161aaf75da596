"""The same people again: ids, certificates of earlier waves, pseudonyms, one record on a client."""

from __future__ import annotations

import random
import traceback
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import _core, backend
from bistochastic_survey.release import waves
from folded import waved
from tables import TABLES, Columns, values_of

KEY = bs.Key.from_bytes(bytes(range(32)))


def plan(**changes: Any) -> sv.Plan:
    options: dict[str, Any] = {
        "levels": ["a", "b", "c"], "epsilon": 2.0, "name": "survey", "keep": ["region"],
        "missing": "raise", "south": 0.9,
    }  # fmt: skip
    options |= changes
    size = 2 + (options["missing"] == "category")
    return sv.Plan(
        [
            sv.Joint(
                ("race", "year"),
                [options["levels"], [3, 1]],
                "randomized_response",
                epsilon=options["epsilon"],
                missing=options["missing"],
            ),
            sv.Categorical(
                "votes",
                [True, False],
                groups=(
                    "region",
                    {
                        "n": bs.randomized_response(size, beta=0.3),
                        "s": bs.randomized_response(size, beta=options["south"]),
                    },
                ),
                missing=options["missing"],
            ),
        ],
        name=options["name"],
        keep=options["keep"],
    )


def people(rows: int, *, seed: int = 1, ids: str = "integer") -> Columns:
    rng = random.Random(seed)
    numbers = list(range(1000, 1000 + rows))
    kinds: dict[str, list[Any]] = {
        "integer": numbers,
        "text": [f"person {n}" for n in numbers],
        "bytes": [f"person {n}".encode() for n in numbers],
    }
    return {
        "region": [rng.choice("ns") for _ in range(rows)],
        "person": kinds[ids],
        "race": [rng.choice("abc") for _ in range(rows)],
        "year": [rng.choice([3, 1]) for _ in range(rows)],
        "votes": [rng.random() < 0.5 for _ in range(rows)],
    }


def protect(table: Any, given: sv.Plan | None = None, **options: Any) -> Any:
    options = {"key": KEY, "ids": sv.Wave("person", after="first"), **options}
    return (given or plan()).protect(table, **waved(options))


def test_the_same_person_with_the_same_value_has_the_same_report() -> None:
    columns = people(400)
    first = protect(columns)
    assert list(first.data) == ["region", "race", "year", "votes"]
    # Another order, fewer people, two changed values.
    order = list(range(399, -1, -2))
    later = {name: [values[i] for i in order] for name, values in columns.items()}
    changed = {order[3], order[7]}
    later["race"] = [
        "abc"[("abc".index(race) + 1) % 3] if i in changed else race
        for i, race in zip(order, later["race"], strict=True)
    ]
    second = protect(later, after=first.certificate)
    for j, i in enumerate(order):
        for name in ("race", "year", "votes"):
            if i not in changed or name == "votes":
                assert second.data[name][j] == first.data[name][i]
    assert second.certificate.ids.after == first.certificate.digest
    assert second.certificate.ids.redrawn == ()


@pytest.mark.parametrize("name", sorted(TABLES))
@pytest.mark.parametrize("kind", ["integer", "text", "bytes"])
def test_every_table_gives_the_same_release(name: str, kind: str) -> None:
    if kind == "bytes" and name in ("pandas arrow", "masked arrays", "pandas nullable",
                                    "arrow dictionaries", "arrow views"):  # fmt: skip
        pytest.skip("bytes are no ids there")
    columns = people(300, ids=kind)
    want = values_of(protect(columns, pseudonym="who").data)
    found = protect(TABLES[name](columns), pseudonym="who")
    assert values_of(found.data) == want
    assert list(want) == ["region", "who", "race", "year", "votes"]
    expected = {"integer": "whole numbers", "text": "texts", "bytes": "bytes"}[kind]
    assert found.certificate.ids.kind == expected


# What a wave must not change.


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"levels": ["a", "c", "b"]}, "another order of the categories in columns `race`, `year`"),
        (
            {"levels": ["a", "b", "c", "d"]},
            "another number of categories in columns `race`, `year`",
        ),
        ({"levels": ["a", "b", "d"]}, "other categories in columns `race`, `year`"),
        ({"epsilon": 2.0001}, "another matrix in columns `race`, `year`"),
        ({"south": 0.8}, "another matrix in column `votes`"),
        ({"missing": "category"}, "another treatment of missing values in columns `race`, `year`"),
    ],
)
def test_what_would_draw_anew_is_named_and_refused(changes: dict[str, Any], match: str) -> None:
    columns = people(300)
    columns["race"] = ["a" if race == "c" else race for race in columns["race"]]
    first = protect(columns)
    with pytest.raises(
        ValueError, match="`after` must agree in all that noise depends on"
    ) as refused:
        protect(columns, plan(**changes), after=first.certificate)
    assert match in str(refused.value)
    assert "redraw=True re-randomizes, which spends epsilon again" in str(refused.value)
    second = protect(columns, plan(**changes), after=first.certificate, redraw=True)
    assert any(match in change for change in second.certificate.ids.redrawn)
    assert "re-randomized since the wave before" in str(second.certificate)


def by_recode(recode: Any) -> sv.Plan:
    column = sv.Categorical("x", ["a", "b"], "randomized_response", epsilon=2, recode=recode)
    return sv.Plan([column])


def by_top(top: float | None) -> sv.Plan:
    return sv.Plan([sv.Binned("x", [0, 10, 20], "randomized_response", epsilon=2, top=top)])


@pytest.mark.parametrize(
    ("first", "second", "values", "match"),
    [
        (by_recode(None), by_recode({"a": "b", "b": "a"}), ["a", "b"], "another recode"),
        (by_recode({"c": "a"}), by_recode({"c": "b"}), ["c", "b"], "another recode"),
        (by_top(None), by_top(5), [1, 12], "another top or bottom"),
        # A value that was not accepted before was never drawn.
        (by_recode({"c": "a"}), by_recode({"c": "a", "d": "b"}), ["c", "b"], ""),
    ],
)
def test_another_category_of_an_unchanged_value_is_a_new_draw(
    first: sv.Plan, second: sv.Plan, values: list[Any], match: str
) -> None:
    table: Any = {"x": values, "id": [1, 2]}
    by: Any = {"key": bs.Key.generate(), "id_column": "id"}
    wave = first.protect(table, **waved(by, after="first"))
    if not match:
        assert second.protect(table, **waved(by, after=wave.certificate)).data == wave.data
        return
    with pytest.raises(ValueError, match=f"{match} in column `x`: redraw=True"):
        second.protect(table, **waved(by, after=wave.certificate))


def test_another_key_or_kind_of_id_would_draw_anew() -> None:
    first = protect(people(300))
    with pytest.raises(ValueError, match="got another key"):
        protect(people(300), key=bs.Key.generate(), after=first.certificate)
    match = "got ids that are texts, where they were whole numbers"
    with pytest.raises(ValueError, match=match):
        protect(people(300, ids="text"), after=first.certificate)
    second = protect(people(300, ids="text"), after=first.certificate, redraw=True)
    assert len(second.certificate.ids.redrawn) == 1


def test_a_wave_without_anyone_does_not_forget_the_kind_of_ids() -> None:
    first = protect(people(300))
    empty = {name: values[:0] for name, values in people(300).items()}
    second = protect(empty, after=first.certificate)
    assert second.certificate.records == 0
    with pytest.raises(ValueError, match="got ids that are texts"):
        protect(people(300, ids="text"), after=second.certificate)


def test_who_moves_to_another_group_is_drawn_anew_and_that_is_said() -> None:
    columns = people(4000)
    first = protect(columns)
    moved = {**columns, "region": ["s"] * 4000}
    second = protect(moved, after=first.certificate)
    stayed = [i for i, region in enumerate(columns["region"]) if region == "s"]
    assert [second.data["votes"][i] for i in stayed] == [first.data["votes"][i] for i in stayed]
    assert second.data["votes"] != first.data["votes"]
    assert "whose group changed is re-randomized" in str(first.certificate)


def test_a_new_or_left_out_attribute_draws_nobody_anew() -> None:
    columns = people(300)
    first = protect(columns)
    short = sv.Plan(plan().attributes[:1], name="survey", keep=["region", "votes"])
    second = protect(columns, short, after=first.certificate)
    assert second.certificate.ids.redrawn == ()
    third = protect(columns, after=second.certificate)
    assert third.certificate.ids.redrawn == ()
    assert third.data["votes"] == first.data["votes"]
    # Back with another matrix, it is remembered over the wave that lacked it.
    with pytest.raises(ValueError, match="another matrix in column `votes`"):
        protect(columns, plan(south=0.5), after=second.certificate)
    apart = sv.Plan(
        [
            sv.Categorical("race", ["a", "b", "c"], "uniform"),
            sv.Categorical("year", [3, 1], "uniform"),
        ],
        name="survey",
        keep=["region", "votes"],
    )
    with pytest.raises(ValueError, match="column `race` joined with others than before"):
        protect(columns, apart, after=first.certificate)
    again = sv.Certificate.from_json(second.certificate.to_json())
    assert again == second.certificate


def test_groups_of_another_column_are_other_matrices() -> None:
    """The same matrices for the same values, read off another column."""
    laws = {"n": bs.randomized_response(2, beta=0.3), "s": bs.randomized_response(2, beta=0.9)}

    def by(column: str) -> sv.Plan:
        votes = sv.Categorical("votes", [True, False], groups=(column, laws))
        return sv.Plan([votes], name="survey", keep="*")

    columns = people(300)
    columns["born"] = columns["region"][::-1]
    first = protect(columns, by("region"))
    assert protect(columns, by("region"), after=first.certificate).certificate.ids.redrawn == ()
    with pytest.raises(ValueError, match="got another matrix in column `votes`: redraw=True"):
        protect(columns, by("born"), after=first.certificate)


def simple(*names: str, categories: Any = ("F", "M", "D"), **options: Any) -> sv.Plan:
    """A plan of columns with the same categories; all others stay."""
    attributes = [
        sv.Categorical(name, categories, "randomized_response", beta=0.6) for name in names
    ]
    return sv.Plan(attributes, **{"name": "survey", "keep": "*", **options})


def test_a_column_under_another_name_is_not_drawn_again_without_a_word() -> None:
    sex = ["F", "M", "D", "M"] * 75
    table: Columns = {"person": list(range(300)), "sex": sex}
    other: Columns = {"person": list(range(300)), "gender": sex}
    first = protect(table, simple("sex"))
    renamed = "column `gender` with categories of column `sex`, which is gone"
    with pytest.raises(ValueError, match=f"got {renamed}: redraw=True re-randomizes"):
        protect(other, simple("gender"), after=first.certificate)
    # The order of the categories and the matrix may be others, too.
    weaker = sv.Plan(
        [sv.Categorical("gender", ["M", "D", "F"], "uniform")], name="survey", keep="*"
    )
    with pytest.raises(ValueError, match=renamed):
        protect(other, weaker, after=first.certificate)
    # So may the columns that it is reported with.
    joint = sv.Plan(
        [sv.Joint(("gender", "child"), [["F", "M", "D"], [0, 1]], "uniform")], name="survey"
    )
    with pytest.raises(ValueError, match=renamed):
        protect({**other, "child": [0, 1] * 150}, joint, after=first.certificate)
    # A wave without the column does not forget it.
    none = simple("smokes", categories=["yes", "no"])
    between = protect({"person": [1], "smokes": ["yes"]}, none, after=first.certificate)
    with pytest.raises(ValueError, match=renamed):
        protect(other, simple("gender"), after=between.certificate)
    # If it is meant, it is said, and not asked again.
    again = protect(other, simple("gender"), after=first.certificate, redraw=True).certificate
    assert again.ids.redrawn == (renamed,)
    assert f"since the wave before: {renamed}. Epsilons add up." in str(again)
    later = protect(other, simple("gender"), after=again).certificate
    assert later.ids.redrawn == ()
    assert later.ids.redrawn_before == (renamed,)
    # One more category does not hide it.
    both = {**table, **other}
    more = simple("gender", categories=["F", "M", "D", "X"], keep=(), drop=["sex"])
    with pytest.raises(ValueError, match=renamed):
        protect(both, more, after=first.certificate)
    # Both columns together, or no category in common, are no rename.
    assert (
        protect(both, simple("sex", "gender"), after=first.certificate).certificate.ids.redrawn
        == ()
    )
    new = simple("smokes", categories=["yes", "no"], keep=(), drop=["sex"])
    asked = {**table, "smokes": ["yes", "no"] * 150}
    assert protect(asked, new, after=first.certificate).certificate.ids.redrawn == ()


def test_a_redraw_is_never_forgotten() -> None:
    columns = people(300)
    certificate = protect(columns).certificate
    assert "redrawn_before" not in certificate.to_dict()["ids"]
    changes = [{"epsilon": 3.0}, {"epsilon": 3.0}, {"epsilon": 2.0}, {"epsilon": 2.0}]
    for change in changes:
        certificate = protect(
            columns, plan(**change), after=certificate, redraw=True
        ).certificate  # fmt: skip
        # Through a file, as waves are years apart.
        certificate = sv.Certificate.from_json(certificate.to_json())
    law = "another matrix in columns `race`, `year`"
    assert certificate.ids is not None
    assert certificate.ids.redrawn == ()
    assert certificate.ids.redrawn_before == (law, law)
    assert list(certificate.to_dict()["ids"])[-1] == "redrawn_before"
    said = f"People were re-randomized in an earlier wave, too: {law}. Epsilons add up."
    assert certificate.notes.count(said) == 2
    assert str(certificate).count(law) == 2
    assert law in certificate.ids._repr_html_()


def test_values_of_a_person_may_differ_wherever_an_id_may_have_two_rows() -> None:
    differ = "that values of a person differ, if their reported values differ"
    # Of a million ids and more that rise, the first are forgotten: the last may be one of them.
    many = np.append(np.arange(1_200_000), 0)
    table = {"person": many, "sex": np.resize(np.array(["F", "M", "D"]), len(many))}
    certificate = protect(table, simple("sex")).certificate
    assert certificate.ids.max_rows_per_id == 1
    assert certificate.ids.rows_per_id_checked == 2
    assert differ in certificate.published_unchanged
    one = protect({"person": [1, 2], "sex": ["F", "M"]}, simple("sex"))
    assert differ not in one.certificate.published_unchanged
    twice = protect({"person": [1, 1], "sex": ["F", "M"]}, simple("sex"), max_rows_per_id=5)
    assert differ in twice.certificate.published_unchanged


def test_it_is_said_that_rows_can_be_linked_and_by_how_many_reported_records() -> None:
    """By the plan only: 6 cells and two categories, and one more if a missing value stays so."""
    for missing, many in (("raise", 12), ("keep", 21), ("category", 36)):
        made = plan(missing=missing)
        said = [f"{many} different records can be reported" in each
                for each in made.preview().to_dict()["published_unchanged"]]  # fmt: skip
        assert sum(said) == 1
    rows = people(300)
    found = plan().protect(rows, key=KEY, ids=sv.Wave("person", after="first")).certificate
    linked = (
        "which rows may be of one person, in this release and in others by ids under its key: "
        "unchanged values have the same reported values, and 12 different records can be reported"
    )
    assert linked in found.published_unchanged
    # By position nothing is the same in another release.
    whole = sv.Plan(plan().attributes, keep=["region"], drop=["person"])
    other = whole.protect(rows, key=KEY, release_name="w").certificate
    assert "of one person" not in str(other)


def test_groups_in_another_order_draw_nobody_anew() -> None:
    columns = people(300)
    first = protect(columns)
    old = plan().attributes[1]
    assert isinstance(old, sv.Categorical)
    assert old.groups is not None
    laws = dict(zip(old.groups.labels.values, old.groups.matrices, strict=True))
    turned = sv.Categorical(
        "votes", [True, False], groups=("region", {k: laws[k] for k in ("s", "n")})
    )
    other = sv.Plan([plan().attributes[0], turned], name="survey", keep=["region"])
    second = protect(columns, other, after=first.certificate)
    assert second.data == first.data


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"after": None},
            '`after` must be "first" or the certificate of the wave before; got none',
        ),
        ({"after": "second"}, "got a string beyond these"),
        ({"id_column": "nobody"}, "column `nobody`: must be in `frame`"),
        ({"id_column": "race"}, "column `race`: must not be protected and an id"),
        ({"max_rows_per_id": 0}, "`max_rows` must be an integer of at least 1"),
        ({"pseudonym": "race"}, "`pseudonym` must be the name of a new column"),
    ],
)
def test_options_that_make_no_wave(options: dict[str, Any], match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        protect(people(300), **options)


def test_a_certificate_of_another_plan_is_refused() -> None:
    other = protect(people(300), plan(name="other")).certificate
    with pytest.raises(
        ValueError, match="must be a certificate of plan `survey`; got one of `other`"
    ):
        protect(people(300), after=other, redraw=True)
    columns = people(300)
    columns.pop("person")
    by_position = plan().protect(columns, key=KEY, release_name="w").certificate
    with pytest.raises(ValueError, match="got one by position"):
        protect(people(300), after=by_position)


# Ids.


def test_the_id_column_is_left_out_unless_kept_by_name() -> None:
    columns = people(300)
    assert "person" not in protect(columns).data
    everything = sv.Plan(plan().attributes, name="survey", keep="*")
    assert "person" not in protect(columns, everything).data
    kept = plan(keep=["region", "person"])
    found = protect(columns, kept, pseudonym="who")
    assert list(found.data)[:3] == ["region", "person", "who"]
    assert found.data["person"] == columns["person"]
    assert "column `person`" in found.certificate.published_unchanged


def test_pseudonyms_are_the_same_in_every_wave_and_no_others() -> None:
    columns = people(300)
    first = protect(columns, pseudonym="who").data["who"].tolist()
    turned = {name: values[::-1] for name, values in columns.items()}
    again = protect(turned, pseudonym="who").data["who"].tolist()
    assert again == first[::-1]
    assert len(set(first)) == 300
    assert all(len(text) == 32 and int(text, 16) >= 0 for text in first)
    others = [
        protect(columns, key=bs.Key.generate(), pseudonym="who"),
        protect(columns, plan(name="other"), pseudonym="who"),
        protect(people(300, ids="text"), pseudonym="who"),
        protect(people(300, ids="bytes"), pseudonym="who"),
    ]
    seen = set(first)
    for other in others:
        assert seen.isdisjoint(other.data["who"].tolist())
        seen |= set(other.data["who"].tolist())


def test_ids_with_more_rows_than_declared_are_refused() -> None:
    columns = people(300)
    columns["person"][200] = columns["person"][100]
    with pytest.raises(
        ValueError, match=r"at most 1 row per id.*; got an id with more, seen in row 200"
    ):
        protect(columns)
    found = protect(columns, max_rows_per_id=2)
    assert found.certificate.ids.rows_per_id_checked == 2
    assert any(
        "values of a person differ" in each for each in found.certificate.published_unchanged
    )
    columns["person"][250] = columns["person"][100]
    with pytest.raises(ValueError, match=r"at most 2 rows per id.*seen in row 250"):
        protect(columns, max_rows_per_id=2)


def test_the_tally_forgets_no_frequent_id_when_there_are_more_ids_than_counters() -> None:
    """3 * 2^20 ids: found above the bound, never at or below the limit."""
    rows = 3 * 2**20
    numbers = np.arange(rows, dtype=np.uint64)
    hashes = np.zeros((rows, 2), np.uint64)
    hashes[:, 0] = numbers * np.uint64(0x9E3779B97F4A7C15)
    tally = _core.Tally(1)
    assert tally.add(hashes.view(np.uint8)) is None
    # 64 tables of 20,480 counters each: all of them were set free twice.
    assert tally.bound == 1 + 2
    # One id more than the bound among so many others.
    often = np.full((6, 2), 7, np.uint64)
    places = np.linspace(0, rows, 6).astype(int)
    mixed = np.ascontiguousarray(np.insert(hashes, places, often, axis=0)).view(np.uint8)
    found = _core.Tally(1).add(mixed)
    assert found is not None
    assert mixed[found].view(np.uint64).tolist() == [7, 7]
    assert _core.Tally(6).add(mixed) is None
    # In batches, the same row.
    tally = _core.Tally(1)
    step = 10**5
    batches = ((at, tally.add(mixed[at : at + step])) for at in range(0, len(mixed), step))
    assert next(at + row for at, row in batches if row is not None) == found


def met(numbers: np.ndarray[Any, Any], limit: int, step: int) -> tuple[int | None, int]:
    """The first row that is one too many, and the bound then."""
    people = waves.People(limit)
    for at in range(0, len(numbers), step):
        over = people.meet(waves.RowIds(backend.Ids(numbers[at : at + step])))
        if over is not None:
            return at + over, people.bound
    return None, people.bound


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_rows_in_the_order_of_their_ids_are_counted_like_any_other(kind: Any) -> None:
    rising = np.arange(5000, dtype=kind) * 3
    if kind is np.int64:
        rising -= 7000
    again = np.concatenate([rising, rising[:10]])
    twice = np.repeat(rising, 2)
    shuffled = np.random.default_rng(3).permutation(again)
    for step in (1, 7, 999, 1 << 16):
        assert met(rising, 1, step) == (None, 1)
        assert met(again, 1, step) == (5000, 1)
        assert met(again, 2, step) == (None, 2)
        assert met(twice, 1, step) == (1, 1)
        assert met(rising[::-1], 1, step) == (None, 1)
        assert met(np.concatenate([rising[:0], again]), 1, step) == (5000, 1)
        assert met(shuffled, 1, step) == met(shuffled, 1, 1 << 16) != (None, 1)


def test_ids_that_rise_are_exact_however_many_and_the_bound_says_what_was_forgotten() -> None:
    many = np.arange(3 * 2**20)
    # A tally alone would have forgotten some of them.
    for step in (100_000, len(many)):
        assert met(many, 1, step) == (None, 1)
        # The latest million is remembered, wherever batches end.
        for back, found in ((1, len(many)), (2**20, len(many)), (2**20 + 1, None)):
            rows = np.append(many, many[-back])
            where, bound = met(rows, 1, step)
            assert (where, bound) == (found, 2)


def test_the_tally_counts_many_batches_of_many_ids() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 20_000, 400_000)
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers)
    # How many rows of its id each row has before it.
    before = np.empty_like(numbers)
    before[order] = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    hashes = waves._spread(numbers)
    for limit in (10, 30, int(counts.max()) - 1, int(counts.max())):
        over = before >= limit
        want = int(np.argmax(over)) if over.any() else None
        for step in (1009, 150_000, len(numbers)):
            tally = _core.Tally(limit)
            batches = (
                (at, tally.add(hashes[at : at + step])) for at in range(0, len(hashes), step)
            )
            found = next((at + row for at, row in batches if row is not None), None)
            assert found == want
            assert tally.bound == limit
    assert _core.Tally(0).add(hashes[:3]) == 0
    assert _core.Tally(0).add(hashes[:0]) is None


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([None] * 300, "column `person`: "),
        (np.ones(300), "column `person`: must hold integers, strings or bytes"),
        ([True] * 300, "column `person`: "),
        ([1.5] * 300, "column `person`: "),
        ([2**64] * 300, "column `person`: "),
        (["S3CRET\0"] * 300, "column `person`: "),
        (np.array([b"S3CRET"] * 300), "column `person`: must hold integers"),
        (np.ma.array(range(300), mask=[True] * 300), "must hold no missing ids; got 300"),
    ],
)
def test_what_is_no_id_is_refused_and_not_told(ids: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        protect({**people(300), "person": ids})
    assert "S3CRET" not in "".join(traceback.format_exception(refused.value)).replace("test_", "")


def test_ids_are_in_no_certificate() -> None:
    columns = people(300, ids="text")
    release = protect(columns, pseudonym="who")
    told = release.certificate.to_json() + str(release.certificate) + repr(release)
    assert "person 1" not in told
    for pseudonym in release.data["who"].tolist():
        assert pseudonym not in told


def test_numeric_columns_are_fresh_and_said_to_be() -> None:
    wide = sv.Plan(
        [*plan().attributes, sv.Numeric("income", "k_anonymous", k=5)],
        name="survey",
        keep=["region"],
    )
    columns = {**people(300), "income": list(range(300))}
    with pytest.raises(ValueError, match="column `income`: `rerandomize_numeric` must be True"):
        protect(columns, wide)
    with pytest.raises(ValueError, match="column `income`: `release_name` must name the wave"):
        protect(columns, wide, rerandomize_numeric=True)
    few = {name: values[:200] for name, values in columns.items()}
    with pytest.raises(ValueError, match="at least 256 rows by position"):
        protect(few, wide, rerandomize_numeric=True, release_name="w")
    first = protect(columns, wide, rerandomize_numeric=True, release_name="w")
    assert first.data["votes"] == protect(people(300)).data["votes"]
    assert sorted(first.data["income"]) == columns["income"]
    assert "re-randomized in every wave" in str(first.certificate)


# One record on a client.


@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
@pytest.mark.parametrize("kind", ["integer", "text", "bytes"])
def test_a_client_answers_as_protect_by_ids_does(missing: str, kind: str) -> None:
    server = plan(missing=missing)
    client = sv.Plan.from_json(server.to_json())
    columns = people(60, ids=kind)
    if missing != "raise":
        for i in (3, 30):
            for name in ("race", "year", "votes"):
                columns[name][i] = None
    whole = protect(columns, server).data
    for i in range(60):
        record = {name: values[i] for name, values in columns.items() if name != "person"}
        found = client.responder(key=KEY, after="first").one(record, id=columns["person"][i])
        assert found == {name: values[i] for name, values in whole.items()}
        assert list(found) == list(record)


def test_a_client_answers_over_possible_cells_alone() -> None:
    joint = sv.Joint(
        ("a", "b"),
        [range(3), range(3)],
        "randomized_response",
        epsilon=0.5,
        impossible=[(0, 0), (1, 1), (2, 0)],
    )
    one = sv.Plan([joint], drop=["name"])
    cells = [(a, b) for a in range(3) for b in range(3) if (a, b) not in joint.impossible]
    rows = 300
    columns: Columns = {
        "a": [cells[i % 6][0] for i in range(rows)],
        "b": [cells[i % 6][1] for i in range(rows)],
        "name": ["x"] * rows,
        "id": list(range(rows)),
    }
    whole = one.protect(columns, key=KEY, ids=sv.Wave("id", after="first")).data
    reports = set()
    for i in range(rows):
        record = {"a": columns["a"][i], "b": columns["b"][i], "name": "x"}
        found = one.responder(key=KEY, after="first").one(record, id=i)
        assert found == {"a": whole["a"][i], "b": whole["b"][i]}
        reports.add((found["a"], found["b"]))
    assert reports == set(cells)
    with pytest.raises(ValueError, match="must hold no combination declared impossible; got one"):
        one.responder(key=KEY, after="first").one({"a": 1, "b": 1, "name": "x"}, id=3)


@pytest.mark.parametrize(
    ("record", "match"),
    [
        ({"race": "S3CRET"}, "column `race`: must hold declared categories only; got 1 other"),
        ({"year": True}, "column `year`: must hold integers, or strings of their digits"),
        ({"year": None}, "column `year`: must hold no missing values; got one"),
        ({"region": "S3CRET"}, "column `region`: must hold declared categories only"),
        ({"more": 1}, "must hold columns that the plan protects, keeps or drops; got `more`"),
    ],
)
def test_a_client_refuses_what_protect_refuses(record: dict[str, Any], match: str) -> None:
    good = {"race": "a", "year": 3, "votes": True, "region": "n"}
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        plan().responder(key=KEY, after="first").one({**good, **record}, id=1)
    assert "S3CRET" not in str(refused.value)


def test_a_client_needs_all_columns_a_key_and_an_id() -> None:
    good = {"race": "a", "year": 3, "votes": True, "region": "n"}
    for name in good:
        record = {key: value for key, value in good.items() if key != name}
        with pytest.raises(ValueError, match=f"column `{name}`: must be in `record`"):
            plan().responder(key=KEY, after="first").one(record, id=1)
    with pytest.raises(TypeError, match="`key` must be a Key or a KeySource; got NoneType"):
        plan().responder(key=None, after="first").one(good, id=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`ids?` must be an integer"):
        plan().responder(key=KEY, after="first").one(good, id=None)  # type: ignore[arg-type]
    guessed = bs.Key.insecure(1)
    with pytest.raises(ValueError, match="`key` must be a secret, or allow_insecure=True be said"):
        plan().responder(key=guessed, after="first").one(good, id=1)
    with pytest.raises(ValueError, match="`key` must be a secret, or allow_insecure=True be said"):
        plan().responder(key=guessed, after="first", allow_insecure=False).one(good, id=1)
    with pytest.raises(TypeError, match="`allow_insecure` must be"):
        plan().responder(key=guessed, after="first", allow_insecure="yes").one(good, id=1)  # type: ignore[arg-type]
    responder = plan().responder(key=guessed, after="first", allow_insecure=True)
    assert set(responder.one(good, id=1)) == set(good)
    numeric = sv.Plan([sv.Numeric("income", "uniform")])
    with pytest.raises(ValueError, match="column `income`: must not be numeric for one record"):
        numeric.responder(key=KEY, after="first").one({"income": 3}, id=1)
    with pytest.raises(TypeError, match="`record` must map columns to values; got list"):
        plan().responder(key=KEY, after="first").one([good], id=1)  # type: ignore[arg-type]


def test_columns_at_odd_addresses_are_read() -> None:
    raw = np.zeros(8 * 300 + 1, np.uint8)
    ids = raw[1:].view(np.int64)
    ids[:] = np.arange(300)
    wide = np.zeros(8 * 300 + 1, np.uint8)[1:].view(np.int64)
    levels = list(range(700))
    given = sv.Plan([sv.Categorical("code", levels, "uniform")])
    release = given.protect({"id": ids, "code": wide}, key=KEY, ids=sv.Wave("id", after="first"))
    same = {"id": np.arange(300), "code": np.zeros(300, np.int64)}
    again = given.protect(same, key=KEY, ids=sv.Wave("id", after="first"))
    assert values_of(release.data) == values_of(again.data)
