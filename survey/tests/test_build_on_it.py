"""The examples of *Build on it* give what ``protect`` gives, one column at a time or all."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv

EXAMPLES = Path(__file__).parents[2] / "examples"
N = 200
NAMES = ("sklearn_transformer", "polars_expression", "duckdb_function", "pandas_accessor")


@pytest.fixture(autouse=True)
def examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    # Also in other processes, which start with this path.
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def source(tmp_path: Path) -> bs.KeySource:
    bs.Key.from_bytes(bytes(range(32))).to_file(tmp_path / "key")
    return bs.KeySource.file(tmp_path / "key")


def plan() -> sv.Plan:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)
    town = sv.Categorical("town", [1, 2, 3], "randomized_response", epsilon=1)
    return sv.Plan([sex, town], name="built", keep=["x"])


def people() -> dict[str, Any]:
    return {
        "person": list(range(N)),
        "sex": ["F" if i % 3 else "M" for i in range(N)],
        "town": [1 + i % 3 for i in range(N)],
        "x": [float(i % 7) for i in range(N)],
    }


def released(source: bs.KeySource) -> dict[str, list[Any]]:
    wave = sv.Wave("person", after="first")
    return plan().protect(people(), key=source.read(), ids=wave).data


def test_examples_are_short() -> None:
    for name in NAMES:
        assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 30, name


def test_a_column_at_a_time_gives_what_protect_gives(source: bs.KeySource) -> None:
    want, frame = released(source), people()
    ids = frame["person"]
    for name in ("sex", "town"):
        function = plan().column(name).function(key=source, ids=True)
        assert function(frame[name], ids) == want[name]
        assert pickle.loads(pickle.dumps(function))(frame[name], ids) == want[name]
        kinds: list[Any] = [np.array, pd.Series, pl.Series, pa.array]
        for make in kinds:
            given = make(frame[name])
            found = function(given, make(ids))
            assert type(found) is type(given)
            assert list(found.to_pylist() if make is pa.array else found) == want[name]
        chunks = pa.chunked_array([frame[name][:50], frame[name][50:]])
        assert function(chunks, pa.array(ids)).to_pylist() == want[name]
    series = pd.Series(frame["sex"], index=range(5, 5 + N), name="mine")
    found = plan().column("sex").function(key=source)(series, np.arange(N))
    assert (found.name, found.index[0], found.tolist()) == ("mine", 5, want["sex"])


def test_a_column_that_needs_others_is_refused(source: bs.KeySource) -> None:
    joint = sv.Joint(("a", "b"), [[1, 2], [1, 2]], "uniform")
    laws = {"N": bs.uniform(2), "S": bs.identity(2)}
    grouped = sv.Categorical("c", [1, 2], groups=("region", laws))
    made = sv.Plan([joint, grouped, sv.Numeric("income", "uniform")], keep=["region"])
    with pytest.raises(ValueError, match="column `a`: must need no other column; got `b`"):
        made.column("a").function(key=source)
    with pytest.raises(ValueError, match="got `region`, which chooses its matrix"):
        made.column("c").function(key=source)
    with pytest.raises(ValueError, match="column `income`: must not be numeric"):
        made.column("income").function(key=source)
    with pytest.raises(ValueError, match="`name` must be a column that the plan protects"):
        made.column("region")
    with pytest.raises(ValueError, match="`ids` must be True, as rows of a batch have no position"):
        plan().column("sex").function(key=source, ids=False)
    function = plan().column("sex").function(key=source)
    with pytest.raises(ValueError, match="`ids` must have one id for each of 2 records; got 1"):
        function(["F", "M"], [1])


def test_a_transformer_of_scikit_learn(source: bs.KeySource) -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    protect = import_module("sklearn_transformer").Protect(plan(), source, "person")
    frame = pd.DataFrame(people())
    want = pd.DataFrame(released(source))[["sex", "town", "x"]]
    for each in (protect, clone(protect), pickle.loads(pickle.dumps(protect))):
        assert each.fit_transform(frame).to_dict("list") == want.to_dict("list")
    assert bytes(range(32)) not in pickle.dumps(protect)
    some = frame[frame["x"] > 2]
    fold = protect.transform(some)
    assert fold.to_dict("list") == want[frame["x"] > 2].to_dict("list")
    # Pipelines join columns by the index.
    assert fold.index.tolist() == some.index.tolist()
    framed = clone(protect).set_output(transform="pandas").fit_transform(some)
    assert framed.equals(fold)
    # Rows in any order, as most ways to split give them.
    mixed, _rest = train_test_split(frame, random_state=0)
    assert protect.transform(mixed).to_dict("list") == want.loc[mixed.index].to_dict("list")
    model = make_pipeline(protect, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    search = GridSearchCV(model, {"logisticregression__C": [0.1, 1]}, cv=ShuffleSplit(3), n_jobs=2)
    assert 0 <= search.fit(frame, np.arange(N) % 2).best_score_ <= 1


def test_an_expression_of_polars(source: bs.KeySource) -> None:
    protected = import_module("polars_expression").protected
    want, frame = released(source), pl.DataFrame(people())
    options = {"key": source, "ids": "person"}
    both = [
        protected(plan(), "sex", dtype=pl.String, **options),
        protected(plan(), "town", dtype=pl.Int64, **options),
    ]
    for found in (frame.with_columns(both), frame.lazy().with_columns(both).collect()):
        assert {name: found[name].to_list() for name in ("sex", "town")} == {
            name: want[name] for name in ("sex", "town")
        }


def test_a_function_of_duckdb(source: bs.KeySource) -> None:
    with duckdb.connect() as connection:
        import_module("duckdb_function").register(connection, plan(), "sex", key=source)
        connection.register("people", pa.table(people()))
        query = "SELECT protect_sex(sex, person) AS sex FROM people ORDER BY person"
        assert [row[0] for row in connection.execute(query).fetchall()] == released(source)["sex"]


def test_an_accessor_of_pandas(source: bs.KeySource, monkeypatch: pytest.MonkeyPatch) -> None:
    if hasattr(pd.DataFrame, "survey"):
        # Another test of this process registered it.
        monkeypatch.delattr(pd.DataFrame, "survey")
    monkeypatch.delitem(sys.modules, "pandas_accessor", raising=False)
    import_module("pandas_accessor")
    frame: Any = pd.DataFrame(people())
    found = frame.survey.protect(plan(), key=source, ids="person")
    want = pd.DataFrame(released(source))[["sex", "town", "x"]]
    assert found.to_dict("list") == want.to_dict("list")
    mixed = frame.sort_values("x", kind="stable")
    found = mixed.survey.protect(plan(), key=source, ids="person")
    assert found.to_dict("list") == want.loc[mixed.index].to_dict("list")
    assert found.index.tolist() == list(range(N))
    # A frame that leaves as it is may not say in which order its rows were.
    with pytest.raises(ValueError, match="`frame` must have the plain index"):
        plan().protect(mixed, key=source.read(), ids=sv.Wave("person", after="first"))


@pytest.mark.parametrize(
    "index", [[9, 4, 7], ["b", "a", "c"], [1, 1, 1], [(1, "a"), (0, "b"), (2, "")]]
)
def test_a_column_keeps_the_index_of_the_caller(source: bs.KeySource, index: list[Any]) -> None:
    function = plan().column("sex").function(key=source)
    rows: Any = pd.MultiIndex.from_tuples(index) if isinstance(index[0], tuple) else index
    values = pd.Series(["F", "M", "M"], index=pd.Index(rows, name="row"), name="mine")
    ids = pd.Series([7, 8, 9], index=values.index)
    want = function(["F", "M", "M"], [7, 8, 9])
    for given in (ids, ids.tolist(), ids.to_numpy()):
        found = function(values, given)
        assert (found.tolist(), found.name) == (want, "mine")
        assert found.index.equals(values.index)


def test_values_and_ids_of_other_rows_are_refused(source: bs.KeySource) -> None:
    values, ids = pd.Series(["F", "M", "M"]), pd.Series([7, 8, 9])
    function = plan().column("sex").function(key=source)
    responder = plan().responder(key=source, after="first")
    frame = pd.DataFrame({"sex": values, "town": [1, 2, 3], "x": [0.0] * 3})
    assert responder.columns(frame, ids=ids)["sex"].tolist() == function(values, ids).tolist()
    for other in (ids.sort_values(ascending=False), ids.set_axis(["a", "b", "c"])):
        with pytest.raises(ValueError, match="`ids` must have the index of the values"):
            function(values, other)
        with pytest.raises(ValueError, match="`ids` must have the index of the values"):
            responder.columns(frame, ids=other)


def test_a_column_continues_a_wave_and_refuses_new_noise(source: bs.KeySource) -> None:
    one = plan().column("sex")
    assert one.column == "sex"
    table = {"sex": ["F", "M"], "person": [1, 2]}
    keep = sv.Plan([one.attribute], name=plan().name, drop=["person"])
    before = keep.protect(table, key=source, ids=sv.Wave("person", after="first"))
    for after in ("first", plan().digest, before.certificate):
        found = one.function(key=source, after=after)(["F", "M"], [1, 2])
        assert found == before.data["sex"]
    other = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], name=plan().name).column("sex")
    for after in (plan().digest, before.certificate):
        with pytest.raises(ValueError, match=r"`after` must .*redraw=True"):
            other.function(key=source, after=after)
        other.function(key=source, after=after, redraw=True)
