"""``plan.responder``: the answers of ``protect`` by ids, at any time, in any thread and process."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bistochastic as bs
import bistochastic_survey as sv

KEY = bs.Key.from_bytes(bytes(range(32)))
RR: Final = "randomized_response"
N = 60


def plan(**options: Any) -> sv.Plan:
    attributes: list[Any] = [
        sv.Categorical("smokes", ["yes", "no"], RR, epsilon=1, missing="category"),
        sv.Joint(("age", "town"), [[1, 2, 3], ["n", "s"]], RR, epsilon=1, impossible=[(1, "s")]),
        sv.Binned("income", [0, 10, 50, 100], RR, epsilon=1),
    ]
    options = {"keep": ["wave"], "drop": ["name"], "name": "service", **options}
    return sv.Plan(attributes, **options)


def people() -> dict[str, list[Any]]:
    return {
        "wave": [i % 4 for i in range(N)],
        "smokes": [None if i % 7 == 0 else ["yes", "no"][i % 2] for i in range(N)],
        "age": [2 + i % 2 for i in range(N)],
        "town": [["n", "s"][i % 3 == 0] for i in range(N)],
        "income": [(i * 37) % 100 for i in range(N)],
        "name": [f"name {i}" for i in range(N)],
    }


def records() -> list[dict[str, Any]]:
    columns = people()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


KINDS: tuple[Literal["string", "integer", "bytes"], ...] = ("string", "integer", "bytes")
IDS: dict[str, list[Any]] = {
    "string": [f"person {i}" for i in range(N)],
    "integer": list(range(N)),
    "bytes": [b"%d" % i for i in range(N)],
}


def protected(kind: str, made: sv.Plan) -> sv.Release[dict[str, list[Any]]]:
    frame = {**people(), "person": IDS[kind]}
    return made.protect(frame, key=KEY, ids=sv.Wave("person", after="first"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_gives_what_protect_by_ids_gives(kind: str) -> None:
    made, ids = plan(), IDS[kind]
    responder = made.responder(key=KEY, after="first")
    whole = protected(kind, made).data
    assert responder.columns(people(), ids=ids) == whole
    rows = [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]
    assert responder.many(records(), ids=ids) == rows
    assert [responder.one(r, id=i) for r, i in zip(records(), ids, strict=True)] == rows
    assert responder.many([], ids=[]) == []
    with pytest.raises(ValueError, match="`ids` must have one id for each of 0 records; got 2"):
        responder.many([], ids=[1, 2])


def test_columns_keep_their_library() -> None:
    made = sv.Plan([sv.Categorical("sex", ["F", "M"], RR, keep=0.8)])
    responder = made.responder(key=KEY, after="first")
    want = responder.columns({"sex": ["F", "M", "M"]}, ids=[1, 2, 3])["sex"]
    frame = pd.DataFrame({"sex": ["F", "M", "M"]})
    found = responder.columns(frame, ids=pd.Series([1, 2, 3]))
    assert isinstance(found, pd.DataFrame)
    assert found["sex"].tolist() == want
    other = responder.columns(pl.DataFrame({"sex": ["F", "M", "M"]}), ids=np.array([1, 2, 3]))
    assert other["sex"].to_list() == want


def answer(responder: sv.Responder) -> dict[str, Any]:
    return responder.one(records()[3], id="ann")


def test_threads_processes_and_pickles_answer_alike(tmp_path: Path) -> None:
    KEY.to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    responder = plan().responder(key=source, after="first")
    want = answer(responder)
    written = pickle.dumps(responder)
    assert bytes(range(32)) not in written
    assert pickle.loads(written) == responder
    assert answer(pickle.loads(written)) == want
    with ThreadPoolExecutor(8) as pool:
        assert all(found == want for found in pool.map(answer, [responder] * 200))
    with multiprocessing.get_context("spawn").Pool(1) as processes:
        assert processes.apply(answer, (responder,)) == want
    # A key that is at hand is not written into a pickle.
    with pytest.raises(TypeError, match="`key` must be passed as a file"):
        pickle.dumps(plan().responder(key=KEY, after="first"))


def test_a_health_check_says_what_is_used_and_misses_a_key(tmp_path: Path) -> None:
    KEY.to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    responder = plan().responder(key=source, after="first")
    facts = {"plan": "service", "digest": plan().digest, "fingerprint": KEY.fingerprint}
    assert responder.check() == facts
    assert (responder.digest, responder.fingerprint) == (plan().digest, KEY.fingerprint)
    absent = bs.KeySource.file(tmp_path / "none", fingerprint=KEY.fingerprint)
    started = plan().responder(key=absent, after="first")
    with pytest.raises(FileNotFoundError):
        started.check()
    assert repr(responder) == f"<Responder of plan `service`, key {KEY.fingerprint}>"


def test_a_plan_that_would_redraw_people_is_refused() -> None:
    made = plan()
    certificate = protected("string", made).certificate
    for after in ("first", made.digest, certificate):
        assert answer(made.responder(key=KEY, after=after)) == answer(
            made.responder(key=KEY, after="first")
        )
    other = sv.Plan([sv.Categorical("smokes", ["yes", "no"], RR, epsilon=2)], name="service")
    with pytest.raises(ValueError, match="`after` must be the digest of this plan; got one that"):
        other.responder(key=KEY, after=made.digest)
    more = plan(drop=["name", "note"])
    for digest in (made.digest, certificate.digest):
        with pytest.raises(ValueError, match="pass the certificate, which compares what is drawn"):
            more.responder(key=KEY, after=digest)
    assert answer(more.responder(key=KEY, after=certificate)) == answer(
        made.responder(key=KEY, after="first")
    )
    with pytest.raises(ValueError, match="must agree in all that noise depends on; got another"):
        other.responder(key=KEY, after=certificate)
    for again in (made.digest, certificate):
        other.responder(key=KEY, after=again, redraw=True)
    with pytest.raises(ValueError, match="another key"):
        made.responder(key=bs.Key.generate(), after=certificate)
    by_position = made.protect({**people()}).certificate
    with pytest.raises(ValueError, match="`after` must be the certificate of a release by ids"):
        made.responder(key=KEY, after=by_position)
    for wrong in ("second", "0" * 63):
        with pytest.raises(ValueError, match='`after` must be "first", the digest'):
            made.responder(key=KEY, after=wrong)
    with pytest.raises(TypeError, match='`after` must be "first", the digest'):
        made.responder(key=KEY, after=None)  # type: ignore[arg-type]


def test_ids_of_another_type_than_before_are_refused() -> None:
    made = plan()
    responder = made.responder(key=KEY, after=protected("string", made).certificate)
    responder.one(records()[0], id="7")
    for call in (
        lambda: responder.one(records()[0], id=7),
        lambda: responder.many(records(), ids=IDS["integer"]),
        lambda: responder.columns(people(), ids=IDS["bytes"]),
    ):
        with pytest.raises(TypeError, match=r"`ids?` must be texts, as id_type or the wave"):
            call()


def test_no_answer_without_an_id_of_its_own() -> None:
    responder = plan().responder(key=KEY, after="first")
    with pytest.raises(TypeError, match="a string or bytes; got ndarray at position 0"):
        responder.one(records()[0], id=np.array(["p", "q"]))  # type: ignore[arg-type]
    for empty in ("", b""):
        with pytest.raises(ValueError, match="`id` must not be empty; got an empty one"):
            responder.one(records()[0], id=empty)
        with pytest.raises(ValueError, match="`ids` must not be empty; got an empty one in row 1"):
            responder.many(records()[:2], ids=[b"x" if empty == b"" else "x", empty])
    with pytest.raises(ValueError, match="an empty one in row 1"):
        responder.many(records()[:2], ids=np.array(["a", ""]))
    with pytest.raises(TypeError, match=r"`ids?` must be an integer"):
        responder.many(records()[:2], ids=["a", None])
    with pytest.raises(ValueError, match=r"`ids` must have one id for each of 60 records; got 2"):
        responder.many(records(), ids=["a", "b"])
    assert responder.one(records()[0], id=0) == responder.many(records()[:1], ids=[0])[0]


def test_what_is_wrong_with_many_records_is_said() -> None:
    responder = plan().responder(key=KEY, after="first")
    rows = records()
    short: list[Any] = [rows[0], {k: v for k, v in rows[1].items() if k != "wave"}]
    with pytest.raises(ValueError, match=r"the same columns to values; got no `wave` in row 1$"):
        responder.many(short, ids=[1, 2])
    renamed = {**{k: v for k, v in rows[1].items() if k != "wave"}, "more": 1}
    with pytest.raises(ValueError, match=r"the same columns to values; got `more` in row 1$"):
        responder.many([rows[0], renamed], ids=[1, 2])
    some: Any = [rows[0], ["S3CRET"]]
    with pytest.raises(ValueError, match=r"the same columns to values; got list in row 1$"):
        responder.many(some, ids=[1, 2])
    every: list[Any] = [[1, 2], ["ab"], [[1]]]
    for wrong in every:
        with pytest.raises((TypeError, ValueError), match="`records` must map the same columns"):
            responder.many(wrong, ids=[1] * len(wrong))
    with pytest.raises(TypeError, match="`records` must be a list of records"):
        responder.many(7, ids=[1])  # type: ignore[arg-type]
    secret = [{**rows[0], "town": "S3CRET"}, rows[1]]
    with pytest.raises(ValueError, match=r"column `town`.*row 0 of its batch") as refused:
        responder.many(secret, ids=[1, 2])
    assert "S3CRET" not in str(refused.value)


# The type of ids.


def test_the_type_of_ids_is_part_of_a_plan_only_if_it_is_set() -> None:
    plain, typed = plan(), plan(id_type="integer")
    assert "id_type" not in plain.to_json()
    assert plain.digest != typed.digest
    for made in (plain, typed):
        assert sv.Plan.from_json(made.to_json()) == made
        assert sv.Plan.from_toml(made.to_toml()) == made
        assert pickle.loads(pickle.dumps(made)) == made
    assert '"id_type":"integer"' in typed.client_json()
    assert "id_type" not in plain.client_json()
    assert '"7" and 7 are two people' in str(plain.preview())
    assert "Ids: integers" in str(typed.preview())
    assert typed.preview().to_dict()["id_type"] == "integer"
    with pytest.raises(ValueError, match="`id_type` must be one of string, integer, bytes"):
        plan(id_type="text")
    with pytest.raises(ValueError, match="`id_type` must be one of"):
        sv.Plan.from_json(typed.to_json().replace('"id_type": "integer"', '"id_type": "int"'))


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_another_type_than_the_plan_says_are_refused_everywhere(
    kind: Literal["string", "integer", "bytes"], tmp_path: Path
) -> None:
    made = plan(id_type=kind)
    whole = protected(kind, made)
    assert whole.data == protected(kind, plan()).data
    KEY.to_file(tmp_path / "key")
    wave = sv.Wave("person", after="first")
    f = made.batch_function(key=bs.KeySource.file(tmp_path / "key"), ids=wave)
    responder = made.responder(key=KEY, after="first")
    f.frame({**people(), "person": IDS[kind]})
    assert responder.columns(people(), ids=IDS[kind]) == whole.data
    for other in IDS.keys() - {kind}:
        frame = {**people(), "person": IDS[other]}
        with pytest.raises(TypeError, match=r"column `person`: must hold .*, as id_type of the"):
            made.protect(frame, key=KEY, ids=wave)
        with pytest.raises(TypeError, match=r"column `person`: must hold .*, as id_type of the"):
            f.frame(frame)
        with pytest.raises(TypeError, match=r"`ids` must be .*, as id_type"):
            responder.columns(people(), ids=IDS[other])
        with pytest.raises(TypeError, match=r"`id` must be .*, as id_type"):
            responder.one(records()[0], id=IDS[other][1])


def test_naming_the_type_that_ids_had_draws_nobody_again() -> None:
    first = protected("string", plan())
    typed = plan(id_type="string")
    frame = {**people(), "person": IDS["string"]}
    second = typed.protect(frame, key=KEY, ids=sv.Wave("person", after=first.certificate))
    assert second.data == first.data
    assert second.certificate.ids is not None
    assert second.certificate.ids.redrawn == ()
    typed.responder(key=KEY, after=first.certificate)
    typed.responder(key=KEY, after=plan().digest)
    # Ids stay of the type that the digest was of.
    untyped = plan().responder(key=KEY, after=typed.digest)
    assert answer(untyped) == answer(typed.responder(key=KEY, after="first"))
    with pytest.raises(TypeError, match="`id` must be texts"):
        untyped.one(records()[0], id=7)
    with pytest.raises(ValueError, match="`after` must be the digest of this plan"):
        plan(id_type="integer").responder(key=KEY, after=typed.digest)
    other = plan(id_type="integer")
    with pytest.raises(ValueError, match="ids that are whole numbers, where they were texts"):
        other.responder(key=KEY, after=first.certificate)


def test_files_read_ids_as_the_plan_says(tmp_path: Path) -> None:
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    sex = sv.Categorical("sex", ["F", "M"], RR, keep=0.7)
    frame: dict[str, Any] = {"person": list(range(N)), "sex": ["F", "M"] * (N // 2)}
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    pd.DataFrame(frame).to_csv(source, index=False)
    numbers = list(range(N))
    for kind, ids in (("integer", numbers), ("string", list(map(str, numbers)))):
        made = sv.Plan([sex], id_type=kind)  # type: ignore[arg-type]
        wave = sv.Wave("person", after="first")
        options = Options.of(made, key=KEY, ids=wave)
        protect_file(made, source, out, tmp_path / "out.json", options)
        want = made.protect({**frame, "person": ids}, key=KEY, ids=wave)
        assert pd.read_csv(out)["sex"].tolist() == want.data["sex"]


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame])
def test_an_empty_id_is_refused_as_a_missing_one_is(library: Any) -> None:
    made = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    for ids in (["a", "", "b"], [b"a", b"", b"b"]):
        frame = library({"person": ids, "sex": ["F", "M", "F"]})
        with pytest.raises(ValueError, match="column `person`: must hold no empty ids; got one in"):
            made.protect(frame, key=KEY, ids=sv.Wave("person", after="first"))
