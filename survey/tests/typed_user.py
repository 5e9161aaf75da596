"""What a user writes, for type checkers: nothing that comes back may be Any.

``mypy --strict`` and ``pyright`` find nothing in this file.
Where a library comes without types, so does what is made of it.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from typing import Any, assert_type

import duckdb
import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.birkhoff import Decomposition
from bistochastic.estimate import Estimate
from bistochastic_survey import Release
from bistochastic_survey.analysis.collector import Counts
from bistochastic_survey.analysis.quantities import Quantity, Ratio
from bistochastic_survey.release.batch_function import BatchFunction
from bistochastic_survey.release.protect import ProtectedBatches

WAVE = sv.Wave("person", after="first")
DESIGN = sv.Design(weights="w", strata="region")
SEX = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
PLAN = sv.Plan([SEX], keep=["region", "w"], drop=["person"])
PEOPLE = pl.DataFrame(
    {"person": [7, 8, 9], "sex": ["F", "M", "M"], "region": ["n", "s", "s"], "w": [1.0, 2.0, 1.5]}
)


def randomized(codes: NDArray[np.uint8], flags: NDArray[np.bool_]) -> None:
    m = bs.randomized_response(2, epsilon=1)
    assert_type(m, bs.Matrix)
    assert_type(m.randomize(codes), NDArray[np.uint8])
    assert_type(m.randomize(flags), NDArray[np.bool_])
    drawn = m.randomize([0, 1], key=bs.Key.generate(), stream="a", start=0)
    assert_type(drawn, NDArray[np.integer[Any] | np.bool_])
    assert_type(m.randomize(pl.Series([0, 1])), NDArray[np.integer[Any] | np.bool_])
    assert_type(m.randomize(codes, out=np.empty_like(codes)), NDArray[np.uint8])
    assert_type(m.respond(1), int)
    assert_type(m.estimate(codes, categories=("no", "yes")), Estimate)
    assert_type(m.average([1.0, 2.0], allow_invertible=True), NDArray[np.float64])
    assert_type(bs.build(m.family, **m.parameters), bs.Matrix)
    assert_type(bs.randomized_response(**m.parameters), bs.Matrix)
    assert_type(m.exact_row(0), list[Fraction])
    assert_type(m.to_dense(), NDArray[np.float64])
    assert_type(m.decompose(), Decomposition)


def framed(estimate: Estimate) -> pl.DataFrame:
    assert_type(estimate.frequencies, NDArray[np.float64])
    in_pandas = pd.DataFrame(estimate.to_columns())
    assert len(in_pandas) == len(estimate.frequencies)
    return pl.DataFrame(estimate.to_columns())


def by_column(people: pl.DataFrame) -> dict[str, list[object]]:
    return {column.name: column.to_list() for column in people}


def protected(people: pl.DataFrame) -> sv.Certificate:
    release = PLAN.protect(people)
    assert_type(release, Release[pl.DataFrame])
    assert_type(release.data, pl.DataFrame)
    assert_type(release.data["sex"], pl.Series)
    assert_type(PLAN.protect(by_column(people)).data, dict[str, list[object]])
    by_ids = PLAN.protect(people, key=bs.Key.generate(), ids=WAVE)
    assert_type(by_ids.certificate.beta, float)
    assert_type(by_ids.certificate.epsilon, float)
    assert_type(by_ids.certificate.bits, float)
    assert_type(PLAN.protect_batches(people.to_arrow()), ProtectedBatches)
    return by_ids.certificate


def on_engines(source: bs.KeySource, lazy: pl.LazyFrame, relation: duckdb.DuckDBPyRelation) -> None:
    made = PLAN.on(lazy, key=source, ids=WAVE)
    assert_type(made, pl.LazyFrame)
    assert_type(PLAN.on(relation, key=source, ids=sv.Wave("person", after="first")),
                duckdb.DuckDBPyRelation)  # fmt: skip
    function = PLAN.batch_function(key=source, ids=WAVE)
    assert_type(function, BatchFunction)
    assert_type(function.frame(PEOPLE), pl.DataFrame)
    protect_sex = PLAN.column("sex").function(key=source)
    assert_type(protect_sex(PEOPLE["sex"], PEOPLE["person"]), pl.Series)
    assert_type(protect_sex(["F", "M"], ids=[7, 8]), list[str])
    assert made.collect().height == 3


def analysed(release: Release[pl.DataFrame]) -> Counts:
    assert_type(release.estimate("sex", method="mle"), Estimate)
    weighted = release.estimate("sex", design=DESIGN)
    assert framed(weighted).height == 2
    assert_type(release.count({"sex": "F"}, population="fixed"), Quantity)
    share = release.ratio(where={"sex": "F"}, given={"region": "n"}, design=sv.Design(weights="w"))
    assert_type(share, Ratio)
    assert_type(share.interval(0.9), tuple[float, float])
    assert_type(release.mean("sex", [0, 1], design=DESIGN).value, float)
    assert_type(release.calibration_weights(), pl.Series)
    of_dict = sv.Release({"sex": ["F", "M"], "region": ["n", "s"], "w": [1.0, 2.0]}, PLAN)
    assert_type(of_dict.calibration_weights(), NDArray[np.float64])
    collector = PLAN.collector("sex")
    collector.add_counts({"sex": ["F", "M"], "count": [2, 1]})
    return collector.counts("sex")


def main() -> None:
    randomized(np.array([0, 1], np.uint8), np.array([True, False]))
    assert protected(PEOPLE).records == 3
    with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        on_engines(source, PEOPLE.lazy(), duckdb.from_arrow(PEOPLE.to_arrow()))
    more = pl.concat([PEOPLE] * 20)
    assert analysed(PLAN.protect(more)).records == 3


if __name__ == "__main__":
    main()
