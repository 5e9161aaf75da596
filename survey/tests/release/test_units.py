"""Units: one draw for all records of a household, in every container, batch and engine."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
import protocol as law
from bistochastic.errors import GuaranteeError
from bistochastic_survey.plan.definitions import pooled
from folded import designed, tabulated, waved

RR: Literal["randomized_response"] = "randomized_response"
KEY = bytes(range(32))
ROOFS, WATERS = ["tin", "clay", "straw"], [1, 2, 3, 4]
SHARED = ("roof", "water", "wall")


def key(name: str) -> bs.Key:
    return bs.Key.from_bytes(hashlib.sha256(name.encode()).digest())


def plan(unit: str | None = "hid", **options: Any) -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical("roof", ROOFS, RR, beta=0.6, unit=unit),
            sv.Joint(("water", "wall"), [WATERS, ["a", "b"]], RR, beta=0.5, unit=unit),
            sv.Categorical("sex", ["F", "M"], RR, beta=0.6),
        ],
        **{"name": "homes", "keep": ["hid"], "drop": ["person"], **options},
    )  # fmt: skip


def homes(units: int = 200, kind: Callable[[int], Any] = str, seed: int = 1) -> dict[str, Any]:
    """Households of 1 to 5 people, shuffled."""
    random = np.random.default_rng(seed)
    hid = np.repeat(np.arange(units), random.integers(1, 6, units))
    random.shuffle(hid)
    roof, water, wall = (random.integers(0, n, units) for n in (3, 4, 2))
    return {
        "person": [kind(i) for i in range(len(hid))],
        "hid": [kind(int(h)) for h in hid],
        "roof": [ROOFS[roof[h]] for h in hid],
        "water": [int(WATERS[water[h]]) for h in hid],
        "wall": ["ab"[wall[h]] for h in hid],
        "sex": ["FM"[i] for i in random.integers(0, 2, len(hid))],
    }


def whole(data: dict[str, Any]) -> bool:
    """Whether all records of each unit report the same."""
    frame = pd.DataFrame(data)
    return bool((frame.groupby("hid")[list(SHARED)].nunique() == 1).all().all())


def ids(name: str) -> dict[str, Any]:
    return {"key": key(name), "ids": sv.Wave("person", after="first")}


# The law.


def unit_key(raw: bytes, name: str, column: str) -> bytes:
    """The derivation once more, by the second implementation."""
    return law.unit_key(raw, name, column)


@pytest.mark.parametrize("kind", [int, str])
def test_draws_and_pseudonyms_follow_the_law_of_ids_under_the_key_of_the_unit(kind: Any) -> None:
    data = homes(kind=kind)
    made = (
        plan(keep=[], drop=["person", "hid"])
        .protect(
            data,
            key=bs.Key.from_bytes(KEY),
            ids=sv.Wave("person", after="first"),
            unit_pseudonym={"hid": "home"},
        )
        .data
    )
    own = bs.Key.from_bytes(unit_key(KEY, "homes", "hid"))
    same = (
        plan(None, keep=[], drop=["person"], units=[])
        .protect(data, key=own, ids=sv.Wave("hid", after="first", pseudonym="home", max_rows=9))
        .data
    )
    for column in (*SHARED, "home"):
        assert list(made[column]) == list(same[column]), column
    # The person's own column is what it was.
    plain = (
        plan(None)
        .protect(data, key=bs.Key.from_bytes(KEY), ids=sv.Wave("person", after="first"))
        .data
    )
    assert list(made["sex"]) == list(plain["sex"])


def test_person_7_household_7_and_village_7_share_nothing() -> None:
    n = 3000
    data = {"id": np.arange(n), "hid": np.arange(n), "village": np.arange(n), "x": np.zeros(n, int)}
    found = {}
    for unit in (None, "id", "hid", "village"):
        made = sv.Plan(
            [sv.Categorical("x", [0, 1], RR, keep=0.5, unit=unit)],
            keep=["hid", "village"],
        )
        options: Any = {"key": key("share nothing"), "ids": sv.Wave("id", after="first")}
        found[unit] = np.asarray(made.protect(data, **options).data["x"])
    for one, other in itertools.combinations(found.values(), 2):
        # Fair coins agree in half of 3,000 rows: 5 standard errors, false alarm 1e-6.
        assert abs(float((one == other).mean()) - 0.5) < 5 * 0.5 / math.sqrt(n)


def test_the_law_of_a_file_of_two_households_is_the_product_over_units_and_people() -> None:
    """Each pair of households is one file; all 32 releases are counted, chi-square at 1e-6."""
    many, law_a, law_b = (
        20_000,
        bs.randomized_response(2, keep=0.7),
        bs.randomized_response(2, keep=0.6),
    )
    made = sv.Plan(
        [sv.Categorical("roof", [0, 1], matrix=law_a, unit="hid"),
         sv.Categorical("sex", [0, 1], matrix=law_b)],
        keep=["hid"],
    )  # fmt: skip
    # Household A has two people, household B one.
    hid = (np.arange(many)[:, None] * 2 + np.array([0, 0, 1])).ravel()
    roof, sex = np.tile([0, 0, 1], many), np.tile([0, 1, 1], many)
    data = {"person": np.arange(3 * many), "hid": hid, "roof": roof, "sex": sex}
    out = made.protect(data, key=key("two households"), ids=sv.Wave("person", after="first")).data
    roofs, sexes = np.asarray(out["roof"]).reshape(many, 3), np.asarray(out["sex"]).reshape(many, 3)
    assert (roofs[:, 0] == roofs[:, 1]).all()
    cell = (((roofs[:, 0] * 2 + roofs[:, 2]) * 2 + sexes[:, 0]) * 2 + sexes[:, 1]) * 2 + sexes[:, 2]
    counts = np.bincount(cell, minlength=32)
    expected = []
    for a, b, x, y, z in itertools.product((0, 1), repeat=5):
        chance = law_a[0, a] * law_a[1, b] * law_b[0, x] * law_b[1, y] * law_b[1, z]
        expected.append(many * chance)
    statistic = float((((counts - expected) ** 2) / expected).sum())
    assert statistic < 82.0  # chi-square with 31 degrees of freedom, upper 1e-6


def test_tables_of_units_and_people_are_unbiased_over_all_releases() -> None:
    """Enumerated: every release of two households, weighed by its probability."""
    a, b = bs.randomized_response(2, keep=0.7), bs.randomized_response(2, keep=0.6)
    made = sv.Plan(
        [sv.Categorical("roof", [0, 1], matrix=a, unit="hid"),
         sv.Categorical("sex", [0, 1], matrix=b)],
        keep=["hid"],
    )  # fmt: skip
    hid, roof, sex = [1, 1, 2], [0, 0, 1], [0, 1, 1]
    mean, mean_of_both = np.zeros(4), 0.0
    for r1, r2, *s in itertools.product((0, 1), repeat=5):
        chance = a[0, r1] * a[1, r2] * math.prod(b[t, v] for t, v in zip(sex, s, strict=True))
        frame = {"hid": hid, "roof": [r1, r1, r2], "sex": s}
        mean += chance * sv.Release(frame, made).estimate("roof", "sex").counts
        mean_of_both += chance * sv.Release(frame, made).count({"roof": 0, "sex": 1}).value
    truth = np.zeros(4)
    for r, v in zip(roof, sex, strict=True):
        truth[2 * r + v] += 1
    assert np.allclose(mean, truth, atol=1e-12)
    assert math.isclose(mean_of_both, truth[1], abs_tol=1e-12)


# Everywhere the same.


def containers(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "dict": data,
        "pandas": pd.DataFrame(data),
        "polars": pl.DataFrame(data),
        "pyarrow": pa.table(data),
    }


def as_lists(frame: Any) -> dict[Any, list[Any]]:
    if isinstance(frame, dict):
        return {k: list(v) for k, v in frame.items()}
    if isinstance(frame, pd.DataFrame):
        return {str(k): frame[k].tolist() for k in frame}
    table = frame if isinstance(frame, pa.Table) else frame.to_arrow()
    found: dict[str, list[Any]] = table.to_pydict()
    return found


def test_every_container_batch_and_engine_reports_the_same(tmp_path: Path) -> None:
    data = homes()
    options = ids("everywhere")
    made = plan()
    want = as_lists(made.protect(data, **options).data)
    assert whole(want)
    assert want != {name: data[name] for name in want}
    for name, frame in containers(data).items():
        assert as_lists(made.protect(frame, **options).data) == want, name
    table = pa.table(data)
    assert (
        made.protect_batches(table.to_reader(max_chunksize=7), **options).read_all().to_pydict()
        == want
    )
    options["key"].to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    f = made.batch_function(key=source, ids=sv.Wave("person", after="first"))
    parts = [f.batch(batch) for batch in table.to_batches(max_chunksize=50)]
    assert pa.Table.from_batches(parts).to_pydict() == want
    lazy = made.on(pl.LazyFrame(data), key=source, ids=sv.Wave("person", after="first"))
    assert as_lists(lazy.collect()) == want
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    pd.DataFrame(data).to_csv(tmp_path / "in.csv", index=False)
    pd.DataFrame(data).to_parquet(tmp_path / "in.parquet")
    for before, after in itertools.product((".csv", ".parquet"), repeat=2):
        out = tmp_path / f"out{before[1:]}{after}"
        certificate = protect_file(
            made, tmp_path / f"in{before}", out, tmp_path / "c.json", Options.of(made, **options)
        )
        read = pd.read_csv(out, dtype={"hid": str}) if after == ".csv" else pd.read_parquet(out)
        assert {k: read[k].astype(type(want[k][0])).tolist() for k in want} == want
        assert certificate.units[0].kind == "texts"
        assert certificate.units[0].checked


def test_row_columns_draw_units_under_the_key_of_the_release(tmp_path: Path) -> None:
    table = pa.table(homes())
    key("rows").to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    made = plan(keep=[], drop=["person", "hid"])
    found = []
    for release in ("may", "june"):
        f = made.batch_function(
            key=source, row_columns=["person"], release_name=release, unit_pseudonym={"hid": "home"}
        )
        out = pa.Table.from_batches([f.batch(b) for b in table.to_batches(max_chunksize=40)])
        frame = {**out.to_pydict(), "hid": table["hid"].to_pylist()}
        assert whole(frame)
        assert pd.DataFrame(frame).groupby("hid")["home"].nunique().max() == 1
        found.append(frame)
        certificate = f.certificate(records=table.num_rows, engine="x", schema=table.schema)
        assert not certificate.units[0].checked
        assert certificate.units[0].pseudonym == "home"
        assert any("not across batches" in " ".join(note.split()) for note in certificate.notes)
        assert sv.Certificate.from_json(certificate.to_json()) == certificate
    assert found[0]["home"] != found[1]["home"]
    assert found[0]["roof"] != found[1]["roof"]


def test_without_a_key_units_are_whole_and_counted(tmp_path: Path) -> None:
    data = homes(kind=int)
    release = plan().protect(data, count_units=True, shuffle=True)
    assert whole(release.data)
    [unit] = release.certificate.units
    assert (unit.column, unit.kind, unit.checked, unit.count) == ("hid", "whole numbers", True, 200)
    batches = plan().protect_batches(pa.table(data).to_reader(max_chunksize=9), count_units=True)
    assert whole(batches.read_all().to_pydict())
    assert batches.certificate.units == release.certificate.units
    assert sv.Certificate.from_json(release.certificate.to_json()) == release.certificate
    assert plan().protect(data).certificate.units[0].count is None


def test_a_unit_may_be_the_id_column() -> None:
    made = sv.Plan([sv.Categorical("roof", ROOFS, RR, beta=0.6, unit="hid")])
    data = {name: homes()[name] for name in ("hid", "roof")}
    out = made.protect(data, key=key("own"), ids=sv.Wave("hid", after="first", max_rows=9))
    assert list(out.data) == ["roof"]
    frame = pd.DataFrame({"hid": data["hid"], "roof": list(out.data["roof"])})
    assert frame.groupby("hid")["roof"].nunique().max() == 1


def test_groups_and_missing_values_are_drawn_by_unit() -> None:
    laws = {"n": bs.randomized_response(3, beta=0.5), "s": bs.randomized_response(3, beta=0.8)}
    made = sv.Plan(
        [sv.Categorical("roof", ROOFS, groups=("region", laws), missing="keep", unit="hid")],
        keep=["region", "hid"],
    )  # fmt: skip
    data = homes(kind=int)
    region = ["ns"[h % 2] for h in data["hid"]]
    roof = [None if h % 5 == 0 else r for h, r in zip(data["hid"], data["roof"], strict=True)]
    frame = {"hid": data["hid"], "region": region, "roof": roof}
    out = pd.DataFrame(made.protect(frame).data)
    assert out.groupby("hid")["roof"].nunique(dropna=False).max() == 1
    assert (out["roof"].isna() == (out["hid"] % 5 == 0)).all()
    uneven = [None if i == 11 else r for i, r in enumerate(data["roof"])]
    for other, column in ((uneven, "roof"), (data["roof"], "region")):
        region_ = region if column == "roof" else [*region[:-1], "ns"[region[-1] == "n"]]
        if data["hid"].count(data["hid"][11]) < 2 or data["hid"].count(data["hid"][-1]) < 2:
            pytest.fail("the households of these rows must have two people")
        with pytest.raises(
            ValueError, match=rf"column `{column}`: must be the same in all records"
        ):
            made.protect({**frame, "roof": other, "region": region_})


# What is refused.


def test_records_that_disagree_are_an_error_with_the_column_and_the_first_row() -> None:
    data = {"hid": [1, 2, 1, 2, 1], "roof": ["tin", "clay", "tin", "straw", "clay"]}
    made = sv.Plan([sv.Categorical("roof", ROOFS, RR, beta=0.6, unit="hid")], keep=["hid"])
    said = (
        "column `roof`: must be the same in all records of a unit, by `hid`; got 2 rows "
        "unlike an earlier record of the unit, the first in row 3"
    )
    with pytest.raises(ValueError, match=f"^{said}$"):
        made.protect(data)
    # Most files list the members of a household one after another.
    data = {"hid": [1, 1, 2, 2], "roof": ["tin", "clay", "tin", "tin"]}
    with pytest.raises(ValueError, match=r"got 1 row unlike .*, the first in row 1$"):
        made.protect(data)


@pytest.mark.parametrize("rows", [70_000, 600_000])
@pytest.mark.parametrize("kind", [np.int64, str])
def test_records_far_apart_in_a_stream_are_compared(rows: int, kind: Any) -> None:
    if rows > 100_000 and kind is str:
        pytest.skip("a long one of whole numbers is enough")
    made = sv.Plan([sv.Categorical("x", [0, 1, 2], RR, beta=0.6, unit="hid")], keep=["hid"])
    random = np.random.default_rng(5)
    hid = random.integers(0, rows // 3, rows)
    hid[-1] = hid[0]
    x = hid % 3
    named = pa.array(hid if kind is np.int64 else hid.astype(str))
    table = pa.table({"hid": named, "x": x})
    batches = made.protect_batches(table.to_reader(max_chunksize=20_000), count_units=True)
    pairs = np.unique(hid * 3 + batches.read_all()["x"].to_numpy())
    assert batches.certificate.units[0].count == len(pairs) == len(np.unique(hid))
    x[-1] = (x[-1] + 1) % 3
    wrong = pa.table({"hid": named, "x": x})
    with pytest.raises(ValueError, match=f"the first in row {rows - 1}$"):
        made.protect_batches(wrong.to_reader(max_chunksize=20_000)).read_all()


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: sv.Categorical("a", [0, 1], RR, beta=0.6, unit="a"), "`unit` must be an unprotected"),
    (lambda: plan(keep=[], drop=["hid"]).protect(
        homes(), key=key("r"), release_name="x"),
     "`ids` must be given with a key to draw by unit"),
    (lambda: plan(None, keep=[], drop=["hid", "person"], units=["hid"]).protect(
        homes(), key=key("r"), release_name="x", unit_pseudonym={"hid": "h"}),
     "`ids` must be given with a key"),
    (lambda: sv.Plan([sv.Categorical("a", [0, 1], RR, beta=0.6),
                      sv.Categorical("b", [0, 1], RR, beta=0.6, unit="a")]),
     "`units` must name unprotected"),
    (lambda: plan(units=["sex"]), "`units` must name unprotected columns; got `sex`"),
    (lambda: plan(units=["w"], undecided=["w"]), "got `w`, which the plan does not decide"),
    (lambda: plan().protect({**homes(2), "hid": [None] * len(homes(2)["hid"])}),
     "column `hid`: "),
    (lambda: plan().protect({k: v for k, v in homes().items() if k != "hid"}),
     "column `hid`: must be in"),
    (lambda: plan().responder(key=key("r"), after="first"),
     "columns? `roof`: must not be drawn by unit for one record"),
    (lambda: plan().protect(homes(), unit_pseudonym={"hid": "h"}), "`hid`, which the plan keeps"),
    (lambda: plan().protect(homes(), unit_pseudonym={"sex": "h"}), "does not name in units"),
    (lambda: plan(keep=[], drop=["hid", "person"]).protect(homes(), unit_pseudonym={"hid": "roof"}),
     "must be the name of a new column"),
    (lambda: plan().require(pooled=(0, 1)), "`pooled` must be"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


# Waves.


def test_waves_by_unit() -> None:
    data, options = homes(kind=int), ids("waves")
    first = plan().protect(data, **options)
    again = plan().protect(data, **waved(options, after=first.certificate))
    assert as_lists(again.data) == as_lists(first.data)
    assert again.certificate.ids is not None
    assert again.certificate.ids.redrawn == ()
    changes = {
        "another unit in column `roof`": plan(None, units=["hid"]),
        "units by `hid` that are texts": plan(),
    }
    for said, other in changes.items():
        frame = {**data, "hid": [str(h) for h in data["hid"]]} if "texts" in said else data
        after = waved(options, after=first.certificate)
        with pytest.raises(ValueError, match=said):
            other.protect(frame, **after)
        redrawn = other.protect(frame, **waved(after, redraw=True)).certificate
        assert redrawn.ids is not None
        assert any(said in phrase for phrase in redrawn.ids.redrawn)
    # A unit whose columns are carried keeps the kind of its ids.
    fewer = sv.Plan([plan().attributes[2]], name="homes", keep=["hid"],
                    drop=["person", "roof", "water", "wall"])  # fmt: skip
    carried = fewer.protect(data, **waved(options, after=first.certificate)).certificate
    assert [(u.column, u.kind) for u in carried.units] == [("hid", "whole numbers")]
    assert sv.Certificate.from_json(carried.to_json()) == carried
    texts = {**data, "hid": [str(h) for h in data["hid"]]}
    with pytest.raises(ValueError, match="units by `hid` that are texts"):
        plan().protect(texts, **waved(options, after=carried))


# What is stated.


def test_what_is_published_unchanged_names_columns_drawn_by_unit() -> None:
    said = plan(keep=[], drop=["hid", "person"]).protect(homes(), shuffle=True).certificate
    [phrase] = said.published_unchanged
    assert "which records may belong to one unit of `hid`" in phrase
    assert all(f"`{column}`" in phrase for column in SHARED)


def test_the_pooled_bound_counts_units_once_and_people_m_times() -> None:
    made = plan()
    by = {name: part.epsilon for name, part in made.by_attribute.items()}
    for m in (1, 2, 3, 5, 10):
        want = by["roof"] + by["water, wall"] + m * by["sex"]
        assert 0 <= pooled(made, m) - want < 1e-9
        made.require(pooled=(m, want * (1 + 1e-12)))
        with pytest.raises(GuaranteeError, match=f"`pooled` must be at most .* for {m} records"):
            made.require(pooled=(m, want * 0.999))
    # A unit that nothing is drawn by counts every column once per record.
    assert pooled(plan(units=["village"], keep=["hid", "village"]), 3) >= 3 * made.epsilon - 1e-9
    assert pooled(plan(None, units=[]), 3) >= 3 * made.epsilon - 1e-9
    lines = str(made.preview())
    assert "drawn once per unit of `hid`" in lines
    assert "column `sex`: a suspicion of 1" in lines
    assert "with 10" in lines


@pytest.mark.parametrize("change", [
    lambda d: d["units"][0].update(kind="stars"), lambda d: d["units"].append(d["units"][0]),
    lambda d: d["units"][0].update(column="sex"), lambda d: d.pop("units"),
    lambda d: d["units"][0].update(count=-1), lambda d: d["units"][0].update(more=1),
])  # fmt: skip
def test_a_certificate_whose_units_do_not_fit_is_refused(change: Callable[[Any], object]) -> None:
    import json

    data = json.loads(plan().protect(homes(), count_units=True).certificate.to_json())
    change(data)
    with pytest.raises(ValueError, match="units"):
        sv.Certificate.from_json(json.dumps(data))


# Analyses.


def test_analyses_take_units_as_clusters_and_say_so() -> None:
    out = plan().protect(homes(), **ids("analyses"))
    for call in (
        lambda **more: (
            sv.Release(out.data, plan()).estimate("roof", **designed(more)).standard_errors
        ),
        lambda **more: (
            sv.Release(out.data, plan())
            .estimate("roof", "sex", where={"wall": "a"}, **designed(more))
            .standard_errors
        ),
        lambda **more: (
            sv.Release(out.data, plan())
            .count({"roof": "tin", "sex": "F"}, **designed(more))
            .standard_error
        ),
        lambda **more: sv.Release(out.data, plan()).mean("water", **designed(more)).standard_error,
        lambda **more: (
            sv.Release(out.data, plan())
            .ratio({"sex": "F"}, {"roof": "tin"}, **designed(more))
            .standard_error
        ),
    ):
        assert np.array_equal(call(), call(cluster="hid"))
    found = out.estimate("roof")
    assert found.notes == ("records of one `hid` share noise: they are taken as clusters",)
    assert found.degrees == 199
    # A column of people needs no clusters.
    assert out.estimate("sex").notes == ()
    with pytest.raises(ValueError, match="`population` must be sampled"):
        sv.Release(out.data, plan()).estimate("roof", population="fixed")
    with pytest.raises(ValueError, match="`population` must be sampled"):
        sv.Release(out.data, plan()).count({"roof": "tin"}, population="fixed")


def test_without_the_column_of_the_unit_there_are_shares_but_no_errors() -> None:
    out = pd.DataFrame(plan().protect(homes(), **ids("gone")).data)
    gone = out.drop(columns="hid")
    found = sv.Release(gone, plan()).estimate("roof")
    assert np.array_equal(found.frequencies, sv.Release(out, plan()).estimate("roof").frequencies)
    assert "standard_error" not in str(found).split("note")[0]
    assert "no standard errors: column `roof`: `cluster` must be given" in str(found)
    for ask in (lambda: found.standard_errors, found.interval, lambda: found.covariance,
                lambda: sv.Release(gone, plan()).count({"roof": "tin"})):  # fmt: skip
        with pytest.raises(ValueError, match="`cluster` must be given for standard errors"):
            ask()
    counted = tabulated(plan(), out.groupby("roof").size().reset_index(name="count"), "roof")
    with pytest.raises(ValueError, match="`cluster` must be given for standard errors"):
        _ = sv.Release(counted, plan()).estimate(*counted.columns).standard_errors
    home = out["hid"].rename("home")
    with_cluster = sv.Release(gone.assign(home=home), plan()).estimate(
        "roof", design=sv.Design(cluster="home")
    )
    assert np.array_equal(
        with_cluster.standard_errors, sv.Release(out, plan()).estimate("roof").standard_errors
    )


def test_clusters_and_strata_must_hold_whole_units() -> None:
    out = pd.DataFrame(plan().protect(homes(kind=int), **ids("whole")).data)
    coarse = out.assign(village=out["hid"] // 10, half=np.arange(len(out)) % 2)
    errors = (
        sv.Release(coarse, plan())
        .estimate("roof", design=sv.Design(cluster="village"))
        .standard_errors
    )
    assert np.isfinite(errors).all()
    split: list[Any] = [{"cluster": "half"}, {"strata": "half"}]
    for options in split:
        with pytest.raises(ValueError, match="column `half`: must hold whole"):
            sv.Release(coarse, plan()).estimate("roof", **designed(options))
    stratified = coarse.assign(region=out["hid"] % 2)
    assert (
        sv.Release(stratified, plan()).estimate("roof", design=sv.Design(strata="region")).degrees
        == 198
    )


def test_units_of_two_columns_must_be_nested() -> None:
    made = sv.Plan(
        [sv.Categorical("roof", ROOFS, RR, beta=0.6, unit="hid"),
         sv.Categorical("road", [0, 1], RR, beta=0.6, unit="village")],
        keep=["hid", "village"],
    )  # fmt: skip
    data = homes(kind=int)
    village = [h // 10 for h in data["hid"]]
    frame = {"hid": data["hid"], "village": village, "roof": data["roof"],
             "road": [v % 2 for v in village]}  # fmt: skip
    out = made.protect(frame).data
    assert sv.Release(out, made).estimate("roof", "road").degrees == 19
    split = {**out, "village": [i % 7 for i in range(len(village))]}
    with pytest.raises(ValueError, match="column `village`: must hold whole units of `hid`"):
        sv.Release(split, made).estimate("roof", "road")


# A real household survey.
