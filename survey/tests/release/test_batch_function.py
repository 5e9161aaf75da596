"""What engines call: a function without a key, and where its key is read."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import _core
from bistochastic._core import joined_ids as joined
from bistochastic_survey.release.batch_function import BatchFunction
from folded import waved

RACES, SEXES = ["a", "b", "c"], ["F", "M"]


def plan(**changes: Any) -> sv.Plan:
    return sv.Plan(
        [
            sv.Joint(("race", "sex"), [RACES, SEXES], "randomized_response", beta=0.5),
            sv.Categorical(
                "votes",
                [True, False],
                groups=("region", {"n": bs.uniform(2), "s": bs.randomized_response(2, beta=0.4)}),
            ),
        ],
        **{"name": "survey", "keep": ["region"], **changes},
    )


def people(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "person": np.arange(1000, 1000 + rows),
            "race": np.array(RACES)[rng.integers(0, 3, rows)],
            "region": np.array(["n", "s"])[rng.integers(0, 2, rows)],
            "sex": np.array(SEXES)[rng.integers(0, 2, rows)],
            "votes": rng.random(rows) < 0.3,
        }
    )


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.key"
    bs.Key.generate().to_file(path)
    return path


def by_person(path: Path, **changes: Any) -> BatchFunction:
    options: dict[str, Any] = {"ids": sv.Wave("person", after="first"), **changes}
    return plan().batch_function(key=bs.KeySource.file(path), **waved(options))


def test_it_gives_the_release_of_one_machine_however_rows_are_cut(key_file: Path) -> None:
    table = people(3000)
    whole = plan().protect(
        table, key=bs.Key.from_file(key_file), ids=sv.Wave("person", after="first", pseudonym="who")
    )
    f = by_person(key_file, pseudonym="who")
    assert f.table(table).equals(whole.data)
    rng = np.random.default_rng(4)
    order = rng.permutation(3000)
    cut = table.take(order).to_batches(max_chunksize=177)
    parts = pa.Table.from_batches(list(f(cut)))
    assert parts.equals(whole.data.take(order))
    assert f.schema(table.schema).equals(parts.schema)
    # Done again by another process that was sent the function alone.
    again: BatchFunction = pickle.loads(pickle.dumps(f))
    assert again == f
    assert again.batch(cut[0]).equals(f.batch(cut[0]))


def test_a_table_of_long_pieces_is_done_in_them_and_refused_as_a_whole(key_file: Path) -> None:
    table = people(100_000)
    f = by_person(key_file, pseudonym="who")
    pieces = pa.concat_tables([table.slice(0, 40_000), table.slice(40_000)])
    assert pieces["race"].num_chunks == 2
    found = f.table(pieces)
    assert found["race"].num_chunks == 1
    assert found.equals(f.table(table.combine_chunks()))
    # Row and count are those of the table.
    races = table["race"].to_pylist()
    for i in (39_999, 40_001, 99_999):
        races[i] = SECRET
    bad = table.set_column(1, "race", pa.array(races))
    pieces = pa.concat_tables([bad.slice(0, 30_000), bad.slice(30_000)])
    said = "got 3 other values, the first in row 39999 of its batch$"
    with pytest.raises(ValueError, match=said) as caught:
        f.table(pieces)
    assert SECRET not in str(caught.value)


WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
def test_reports_do_not_depend_on_the_width_of_a_column(key_file: Path, missing: Any) -> None:
    rng = np.random.default_rng(6)
    levels = {"few": list(range(5)), "byte": list(range(128)), "from": list(range(3, 90))}
    given = sv.Plan(
        [sv.Categorical(name, values, "randomized_response", beta=0.4, missing=missing)
         for name, values in levels.items()],
    )  # fmt: skip
    f = given.batch_function(key=bs.KeySource.file(key_file), ids=sv.Wave("person", after="first"))
    mask = np.zeros(2000, bool) if missing == "raise" else rng.random(2000) < 0.2
    columns: dict[str, Any] = {"person": np.arange(2000)}
    for name, values in levels.items():
        columns[name] = pa.array(rng.choice(values, 2000), mask=mask)
    table = pa.table(columns)
    expected = f.table(table)
    for kind in WHOLE:
        schema = pa.schema([("person", pa.int64()), *((name, kind) for name in levels)])
        narrow = table.cast(schema)
        found = f.table(narrow)
        assert found.schema.types == [pa.type_for_alias(kind)] * 3
        assert found.cast(expected.schema).equals(expected), kind
        if missing != "category":
            frame = f.frame(pl.from_arrow(narrow))
            assert frame.to_arrow().cast(expected.schema).equals(expected), kind
    for wrong in (-1, 5):
        values = table["few"].to_pylist()
        values[17] = wrong
        bad = table.set_column(1, "few", pa.array(values))
        with pytest.raises(ValueError, match=r"got 1 other value, .* row 17 of its batch"):
            f.table(bad)


def test_256_categories_and_missing_ones_fit_in_a_column_of_bytes(key_file: Path) -> None:
    column = sv.Categorical("c", list(range(256)), "randomized_response", beta=0.4,
                            missing="category")  # fmt: skip
    f = sv.Plan([column]).batch_function(
        key=bs.KeySource.file(key_file), ids=sv.Wave("person", after="first")
    )
    # With 50,000 records, none reported as missing is rarer than 1e-20.
    ids, codes = np.arange(50_000), np.arange(50_000) % 256
    small = f.table(pa.table({"person": ids, "c": codes.astype(np.uint8)}))
    large = f.table(pa.table({"person": ids, "c": codes}))
    assert small["c"].null_count > 0
    assert small["c"].cast(pa.int64()).equals(large["c"])


def test_the_key_is_in_nothing_that_is_sent(key_file: Path) -> None:
    secret = key_file.read_text().strip()
    f = by_person(key_file)._for_schema(people(5).schema)
    f.table(people(5))
    sent = pickle.dumps(f)
    assert secret.encode() not in sent
    assert bytes.fromhex(secret) not in sent
    certificate = f.certificate(records=5, engine="test 1")
    for text in (repr(f), str(f), repr(f.key), certificate.to_json(), str(certificate)):
        assert secret not in text
    assert f.key.fingerprint in certificate.to_json()


def test_the_certificate_says_what_was_not_checked(key_file: Path) -> None:
    table = people(300)
    f = by_person(key_file)._for_schema(table.schema)
    certificate = f.certificate(records=300, engine="spark 4.3")
    assert certificate.engine == "spark 4.3"
    assert certificate.records == 300
    assert certificate.ids is not None
    assert certificate.ids.rows_per_id_checked is None
    assert "The number of rows per id was not checked" in str(certificate)
    differ = "that values of a person differ, if their reported values differ"
    assert differ in certificate.published_unchanged
    for count in ({"records": 10**30}, {"records": 3, "rows_per_id": 2**53 + 1}):
        with pytest.raises(ValueError, match="must be at most 2\\^53; got "):
            f.certificate(engine="x", **count)
    counted = [f.certificate(records=300, engine="x", rows_per_id=most) for most in (1, 2)]
    assert [differ in each.published_unchanged for each in counted] == [False, True]
    assert sv.Certificate.from_json(certificate.to_json()) == certificate
    # A later wave on one machine goes on from it, and finds what changed.
    later = {"key": bs.Key.from_file(key_file), "ids": sv.Wave("person", after=certificate)}
    assert plan().protect(table, **later).data.equals(f.table(table))  # type: ignore[arg-type]
    texts = table.set_column(0, "person", table["person"].cast(pa.string()))
    with pytest.raises(ValueError, match="ids that are texts, where they were whole numbers"):
        plan().protect(texts, **later)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ids that are texts, where they were whole numbers"):
        by_person(key_file, after=certificate).table(texts)


def test_rows_are_addressed_by_several_columns_without_collisions(key_file: Path) -> None:
    table = people(400)
    files = pa.array(["x" if i % 2 else "xy" for i in range(400)])
    table = table.append_column("file", files)
    source = bs.KeySource.file(key_file)
    both = sv.Plan(plan().attributes, name="survey", keep=["region"], drop=["file", "person"])

    def rows(label: str, columns: list[str]) -> Any:
        return both.batch_function(key=source, row_columns=columns, release_name=label).table(table)

    first = rows("may", ["file", "person"])
    assert first.equals(rows("may", ["file", "person"]))
    for other in (rows("june", ["file", "person"]), rows("may", ["person", "file"])):
        same = np.mean(np.array(first["sex"]) == np.array(other["sex"]))
        assert same < 0.9
    f = both.batch_function(key=source, row_columns=["file", "person"], release_name="may")
    certificate = f.certificate(records=400, engine="duckdb", schema=table.schema)
    assert "Use each release name for one file" in str(certificate)
    assert sv.Certificate.from_json(certificate.to_json()) == certificate
    # Rows that are addressed by one column of ids are no wave of people either.
    one = both.batch_function(key=source, row_columns=["person"], release_name="may")
    rows_only = one.certificate(records=400, engine="duckdb", schema=table.schema)
    with pytest.raises(ValueError, match=r"`after` must be .* by ids; got one by rows"):
        both.batch_function(key=source, ids=sv.Wave("person", after=rows_only))
    # People under the same key share no words with rows.
    people_too = both.batch_function(key=source, ids=sv.Wave("person", after="first"))
    with pytest.raises(ValueError, match="must be in `frame`"):
        people_too.table(table.drop_columns(["file"]))


def test_what_rows_are_addressed_by_is_written_as_it_always_was() -> None:
    def part(value: Any) -> bytes:
        if isinstance(value, int):
            return b"i" + value.to_bytes(16, "little", signed=True)
        kind, body = (b"b", value) if isinstance(value, bytes) else (b"t", value.encode())
        return kind + len(body).to_bytes(8, "little") + body

    numbers = [0, -1, 2**63 - 1, -(2**63)]
    texts = ["", "a", "größe", "x" * 300]
    blobs = [b"", b"a\0", b"\xff", b"t"]
    mixed = [1, "1", b"1", 2**64 - 1]
    held = [np.array(numbers), _core.hold_ids(np.array(texts)), _core.hold_ids(blobs), mixed]
    rows = zip(numbers, texts, blobs, mixed, strict=True)
    want = [b"".join(map(part, row)) for row in rows]
    assert joined(held).tolist() == want
    assert joined([np.array([2**64 - 1], dtype=np.uint64)]).tolist() == [part(2**64 - 1)]
    assert joined([texts, blobs]).tolist() == [
        part(text) + part(blob) for text, blob in zip(texts, blobs, strict=True)
    ]


def test_a_key_is_read_where_the_work_is_done(
    key_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = bs.Key.from_file(key_file)
    monkeypatch.setenv("SURVEY_KEY", str(key_file))
    assert bs.KeySource.env("SURVEY_KEY").read() == key
    (tmp_path / "vault_of_test.py").write_text(
        f"import bistochastic as bs\ndef key():\n    return bs.Key.from_file({str(key_file)!r})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert bs.KeySource.call("vault_of_test:key").read() == key
    assert bs.KeySource.file(key_file, fingerprint=key.fingerprint).read() == key
    source = bs.KeySource.file(key_file)
    assert pickle.loads(pickle.dumps(source)) == source
    # Once per process: the file may be gone after that.
    source.read()
    key_file.unlink()
    assert source.read() == key


def test_another_process_reads_the_file_itself(key_file: Path) -> None:
    source = bs.KeySource.file(key_file)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).read().fingerprint)"

    def child() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", code], input=pickle.dumps(source), capture_output=True
        )

    assert child().stdout.decode().strip() == source.fingerprint
    key_file.unlink()
    assert b"`key` must be a file on every machine; got none at " in child().stderr
    bs.Key.generate().to_file(key_file)
    assert f"must be the one with fingerprint {source.fingerprint}".encode() in child().stderr


def test_a_temporary_key_is_gone_after_its_block(tmp_path: Path) -> None:
    table = people(20)
    with bs.KeySource.temporary(tmp_path) as source:
        [path] = tmp_path.iterdir()
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        f = plan().batch_function(key=source, ids=sv.Wave("person", after="first"))
        first = f.table(table)
        assert first.equals(f.table(table))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="`key` must be a file on every machine"):
        f.table(table)
    with pytest.raises(RuntimeError), bs.KeySource.temporary(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


NUMERIC = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)])


def test_what_an_engine_cannot_do_safely_is_refused(key_file: Path) -> None:
    source = bs.KeySource.file(key_file)
    first = {"ids": sv.Wave("person", after="first")}
    cases: list[tuple[sv.Plan, dict[str, Any], type, str]] = [
        (
            plan(),
            {"key": None, **first},
            TypeError,
            "`key` must be a KeySource; got none, so a row",
        ),
        (plan(), {"key": bs.Key.generate(), **first}, TypeError, "would write a key into its logs"),
        (plan(), {"key": "key", **first}, TypeError, "`key` must be a KeySource; got str"),
        (plan(), {"key": source}, ValueError, "as rows have no position on an engine; got neither"),
        (plan(), {"key": source, "row_columns": ["a"], **first}, ValueError, "got both"),
        (plan(), {"key": source, "ids": "person"}, ValueError, "`after` must be"),
        (
            plan(),
            {"key": source, "row_columns": ["a"]},
            ValueError,
            "`release_name` must name the file",
        ),
        (plan(), {"key": source, "row_columns": []}, ValueError, "at least one column"),
        (
            plan(),
            {"key": source, "row_columns": "a", "release_name": "r"},
            TypeError,
            "list of names",
        ),
        (plan(), {"key": source, "ids": 3}, TypeError, "`ids` must be a Wave or a column of ids"),
        (
            plan(),
            {"key": source, "ids": sv.Wave("person", after="first", max_rows=2)},
            ValueError,
            "`max_rows` must be 1 on an engine",
        ),
        (NUMERIC, {"key": source, **first}, ValueError, "must not be numeric on an engine"),
    ]
    for made, options, error, sentence in cases:
        with pytest.raises(error, match=sentence):
            made.batch_function(**options)


def test_beside_ids_a_release_is_a_name_for_the_certificate_alone(key_file: Path) -> None:
    table, source = people(300), bs.KeySource.file(key_file)
    first: dict[str, Any] = {"ids": sv.Wave("person", after="first")}
    plain = plan().batch_function(key=source, **first).table(table)
    f = plan().batch_function(key=source, release_name="may", **first)
    assert f.table(table).equals(plain)
    said = f.certificate(records=300, engine="none", schema=table.schema)
    # As in `protect`.
    release = plan().protect(table, key=source, release_name="may", **first)
    assert release.data.equals(plain)
    assert said.release_name == release.certificate.release_name == "may"
    assert "Release name: may" in str(said)


def test_an_insecure_key_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import bistochastic as bs\nkey = lambda: bs.Key.insecure(1)\nother = lambda: 7\n"
    (tmp_path / "insecure_of_test.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    source = bs.KeySource.call("insecure_of_test:key")
    with pytest.raises(ValueError, match="`key` must be a secret, or allow_insecure=True be said"):
        plan().batch_function(key=source, ids=sv.Wave("person", after="first"))
    f = plan().batch_function(key=source, ids=sv.Wave("person", after="first"), allow_insecure=True)
    assert f.table(people(3)).num_rows == 3
    with pytest.raises(TypeError, match="`key` must be a Key; got int from insecure_of_test:other"):
        bs.KeySource.call("insecure_of_test:other")


SECRET = "planted value"


def test_bad_batches_stop_the_work_in_one_sentence(key_file: Path) -> None:
    f = by_person(key_file)
    table = people(50)
    known = f._for_schema(table.schema)
    swapped = table.select(["person", "sex", "region", "race", "votes"])
    columns = {name: table[name].to_pylist() for name in table.column_names}

    def changed(**columns_: Any) -> pa.Table:
        return pa.table({**columns, **columns_})

    small = table.set_column(0, "person", table["person"].cast(pa.int32()))
    people_but_one = [None if i == 3 else i for i in range(50)]
    declared = "column `race`: must hold declared categories only; got 1 other value, .* row 7"
    missing = "column `person`: must hold no missing ids; got 1, the first in row 3 of its batch$"
    cases: list[tuple[Any, pa.Table, str]] = [
        (known, swapped, "in their order; got `sex` instead of `race` at position 1"),
        (known, table.drop_columns(["region"]), "in their order; got 4 columns instead of 5"),
        (known, small, "column `person`: must stay of type int64; got int32"),
        (f, changed(race=[SECRET if i == 7 else "a" for i in range(50)]), declared),
        (f, changed(person=people_but_one), missing),
        (f, changed(person=[0.5] * 50), "must hold integers, strings or bytes, as ids do"),
        (f, table.drop_columns(["person"]), "column `person`: must be in `frame`"),
    ]
    for function, given, sentence in cases:
        with pytest.raises((TypeError, ValueError), match=sentence) as caught:
            function.table(given)
        assert SECRET not in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="got `sex` instead of `race` at position 1"):
        list(f([table.to_batches()[0], swapped.to_batches()[0]]))
    with pytest.raises(TypeError, match="`batch` must be a RecordBatch of pyarrow; got Table"):
        f.batch(table)
    with pytest.raises(ValueError, match="`schema` must be that of the input"):
        f.certificate(records=1, engine="x")


def test_a_source_may_hold_the_key_itself_and_never_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SURVEY_KEY", "f" * 64)
    source = bs.KeySource.env("SURVEY_KEY")
    assert source.read() == bs.Key.from_bytes(b"\xff" * 32)
    assert "ffff" not in repr(source)
    monkeypatch.setenv("SURVEY_KEY", "f" * 63)
    with pytest.raises(FileNotFoundError, match="got 63 hexadecimal digits") as caught:
        bs.KeySource.env("SURVEY_KEY")
    assert "ffff" not in str(caught.value)
    with pytest.raises(ValueError, match="16 hexadecimal digits"):
        bs.KeySource.file("x", fingerprint="x")
