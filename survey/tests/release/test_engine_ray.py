"""Ray gives the release of one machine, whatever happens: ``make test-engines``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import engine_world as world
from engine_failures import BAD_INPUT, SECRET, Dies, Once, bad_input, texts_if_long
from release.test_batch_function import people, plan

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return world.options_for(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where Ray keeps what it writes, at a path short enough for its sockets."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture(scope="module", autouse=True)
def running(folder: Path) -> Iterator[None]:
    ray.init(
        num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False,
        _node_ip_address=world.LOCAL, _temp_dir=str(folder),
    )  # fmt: skip
    yield
    ray.shutdown()


def rows_of(dataset: Any) -> list[dict[str, Any]]:
    return world.rows_of(pa.concat_tables(ray.get(dataset.to_arrow_refs())))


def test_the_release_is_that_of_one_machine(
    options: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    release = world.release_of(options)
    given = ray.data.from_arrow(people(world.ROWS))
    out = plan().on(given, **options)
    # Two actions, one of them to files; other blocks.
    assert rows_of(out) == release
    out.write_parquet(str(tmp_path / "out"))
    assert world.rows_of(pq.read_table(tmp_path / "out")) == release
    assert out.count() == world.ROWS
    assert rows_of(plan().on(given.repartition(5), **options)) == release
    # A worker that dies. An exception ends the work, which can be done again.
    f = plan().batch_function(**options)
    dies = Dies(f, tmp_path / "dead").table
    assert rows_of(given.repartition(3).map_batches(dies, batch_format="pyarrow")) == release
    assert (tmp_path / "dead").exists()
    fails = given.map_batches(Once(f, tmp_path / "mark").table, batch_format="pyarrow")
    with pytest.raises(Exception, match="the first try fails"):
        rows_of(fails)
    assert rows_of(fails) == release
    secret = world.secret_of(options)
    assert world.in_processes(secret) == []
    assert world.found_in(folder, secret) == []
    world.assert_local()


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_stops_the_work_in_one_sentence(
    case: str, options: dict[str, Any], tmp_path: Path
) -> None:
    table, changed, sentence = bad_input(case, options, tmp_path)
    out = tmp_path / "out"
    with pytest.raises(Exception, match=sentence) as caught:
        plan().on(ray.data.from_arrow(table), **changed).write_parquet(str(out))
    assert SECRET not in str(caught.value)
    assert not list(out.glob("*.parquet"))


def test_a_block_of_another_type_stops_the_work(options: dict[str, Any]) -> None:
    given = ray.data.from_arrow([people(40), people(50)])
    given = given.map_batches(texts_if_long, batch_format="pyarrow")
    # Blocks come in any order, and the first one decides.
    both = "column `person`: must stay of type (int64; got string|string; got int64)"
    with pytest.raises(Exception, match=both):
        plan().on(given, **options).materialize()
