"""Replicate weights: every number is computed again under each of them, by its own total."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from folded import designed

LAWS: dict[str, Any] = {
    "identity": (bs.identity(2), bs.identity(3)),
    "noise": (
        bs.randomized_response(2, keep=0.75),
        bs.dense([[5, 1, 2], [1, 6, 1], [2, 1, 5]]),
    ),
}
both = pytest.mark.parametrize("law", sorted(LAWS))
NAMES = [f"r{k}" for k in range(20)]


def plan(law: str) -> sv.Plan:
    sex, job = LAWS[law]
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], matrix=sex),
            sv.Categorical("job", ["x", "y", "z"], matrix=job),
        ],
        keep="*",
    )


def frame(rows: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    found: dict[str, Any] = {
        "sex": rng.choice(["F", "M"], rows),
        "job": rng.choice(["x", "y", "z"], rows),
        "age": rng.choice([20, 30, 40], rows),
        "income": rng.lognormal(3, 0.5, rows),
        "w": rng.uniform(0.5, 4, rows),
    }
    for name in NAMES:
        found[name] = found["w"] * rng.poisson(1, rows)
    return found


def scored(law: str, data: dict[str, Any]) -> dict[str, Any]:
    """Pseudo-responses by hand: rows of the inverse matrix at the code that was reported."""
    sex, job = (np.linalg.inv(m.to_dense()) for m in LAWS[law])
    place = {"F": 0, "M": 1, "x": 0, "y": 1, "z": 2}
    return {
        "sex": sex[:, [place[v] for v in data["sex"]]],
        "job": job[:, [place[v] for v in data["job"]]],
    }


def spread(values: Any, value: Any, scale: float = 1 / 20) -> Any:
    return np.sqrt(scale * ((np.array(values) - value) ** 2).sum(axis=0))


@both
def test_each_replicate_divides_by_its_own_total(law: str) -> None:
    data = frame()
    g = scored(law, data)["job"]

    def shares(w: Any) -> Any:
        return (g * w).sum(axis=1) / w.sum()

    options: dict[str, Any] = {"weights": "w", "replicates": NAMES}
    found = sv.Release(data, plan(law)).estimate("job", **designed(options))
    each = [shares(data[name]) for name in NAMES]
    want = spread(each, shares(data["w"]))
    assert found.standard_errors == pytest.approx(want, rel=1e-9)
    away = np.array(each) - shares(data["w"])
    assert np.allclose(found.covariance, away.T @ away / 20, rtol=1e-9)
    assert found.degrees == 19
    low = found.interval()[:, 0]
    # Student's 97.5 % point with 19 degrees of freedom.
    assert low == pytest.approx(np.clip(shares(data["w"]) - 2.093024054408263 * want, 0, 1))
    jack = sv.Release(data, plan(law)).estimate("job", **designed(options, replicate_scale=19 / 20))
    assert jack.standard_errors == pytest.approx(found.standard_errors * math.sqrt(19))


@both
def test_domains_ratios_and_moments_are_computed_again_by_each_replicate(law: str) -> None:
    data = frame()
    g = scored(law, data)
    options: dict[str, Any] = {"weights": "w", "replicates": NAMES}
    inside = data["age"] == 30
    sex, job = g["sex"][0], g["job"]

    def by_each(statistic: Any) -> tuple[Any, Any]:
        value = statistic(data["w"])
        return value, spread([statistic(data[name]) for name in NAMES], value)

    # A domain in clear, and a protected one.
    for chosen, where in ((inside * 1.0, {"age": 30}), (sex, {"sex": "F"})):
        value, error = by_each(lambda w, d=chosen: (w * d * job).sum(axis=1) / (w * d * job).sum())
        found = sv.Release(data, plan(law)).estimate("job", where=where, **designed(options))
        assert found.frequencies == pytest.approx(value)
        assert found.standard_errors == pytest.approx(error, rel=1e-9)
        ratio = sv.Release(data, plan(law)).ratio({"job": "y"}, where, **designed(options))
        assert ratio.value == pytest.approx(value[1])
        assert ratio.standard_error == pytest.approx(error[1], rel=1e-9)
    scores = np.array([0.0, 1.0, 5.0]) @ job
    value, error = by_each(lambda w: (w * inside * scores).sum() / (w * inside).sum())
    mean = sv.Release(data, plan(law)).mean(
        "job", [0, 1, 5], where={"age": 30}, **designed(options)
    )
    assert [mean.value, mean.standard_error] == pytest.approx([value, error])
    value, error = by_each(lambda w: (w * sex).sum())
    count = sv.Release(data, plan(law)).count({"sex": "F"}, **designed(options))
    assert [count.value, count.standard_error] == pytest.approx([value, error])

    def covariance(w: Any, x: Any, y: Any, xy: Any) -> Any:
        whole, own = w.sum(), (w * w).sum()
        product = (w * x).sum() * (w * y).sum() - (w * w * x * y).sum()
        return (w * xy).sum() / whole - product / (whole**2 - own)

    income = data["income"]
    value, error = by_each(lambda w: covariance(w, sex, income, sex * income))
    asked = (["sex", "income"], {"sex": [1, 0]})
    second = sv.Release(data, plan(law)).covariance(*asked, **designed(options))
    assert [second.value, second.standard_error] == pytest.approx([value, error])

    def correlation(w: Any) -> Any:
        # The score is 0 or 1, so its square is itself.
        top = covariance(w, sex, income, sex * income)
        below = covariance(w, sex, sex, sex) * covariance(w, income, income, income**2)
        return top / math.sqrt(below)

    value, error = by_each(correlation)
    second = sv.Release(data, plan(law)).correlation(*asked, **designed(options))
    assert [second.value, second.standard_error] == pytest.approx([value, error])


def test_a_replicate_without_weight_in_the_domain_leaves_the_error_unknown() -> None:
    data = {
        "sex": ["F", "M", "F", "M"], "job": ["x", "y", "z", "x"], "age": [20, 20, 30, 30],
        "w": [1.0, 1.0, 1.0, 1.0], "r0": [2.0, 2.0, 0.0, 0.0], "r1": [0.0, 0.0, 2.0, 2.0],
    }  # fmt: skip
    options: dict[str, Any] = {"weights": "w", "replicates": ["r0", "r1"], "where": {"age": 20}}
    note = "a replicate has no positive total in the domain: the standard error is not known"
    found = sv.Release(data, plan("identity")).estimate("sex", **designed(options))
    assert np.isinf(found.standard_errors).all()
    assert found.interval().tolist() == [[0, 1], [0, 1]]
    assert note in found.notes
    mean = sv.Release(data, plan("identity")).mean("sex", [0, 1], **designed(options))
    assert (mean.standard_error, mean.interval()) == (math.inf, (-math.inf, math.inf))
    assert note in mean.notes
    # Of everyone each replicate has half.
    del options["where"]
    found = sv.Release(data, plan("identity")).estimate("sex", **designed(options))
    assert found.standard_errors.tolist() == [0, 0]
    assert note not in found.notes


def test_the_jackknife_of_clusters_is_that_of_r() -> None:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None or not (Path(folder) / "apiclus1.csv").is_file():
        pytest.skip("apiclus1.csv is not in BISTOCHASTIC_DATA")
    data = pd.read_csv(Path(folder) / "apiclus1.csv")
    clusters = data["dnum"].unique()
    r = len(clusters)
    names = [f"r{k}" for k in range(r)]
    for name, cluster in zip(names, clusters, strict=True):
        data[name] = np.where(data["dnum"] == cluster, 0, data["pw"] * r / (r - 1))
    given = sv.Plan([sv.Categorical("stype", ["E", "H", "M"], matrix=bs.identity(3))], keep="*")
    scale = (r - 1) / r * (1 - r / 757)
    options: dict[str, Any] = {"weights": "pw", "replicates": names, "replicate_scale": scale}
    # As the manual of R's survey prints them for as.svrepdesign(dclus1): api00, api99, then stype.
    printed = [(644.169399, 26.3294), (606.978142, 26.9985)]
    printed += [(0.786885, 0.0514), (0.076503, 0.0278), (0.136612, 0.0332)]
    table = sv.Release(data, given).estimate("stype", **designed(options))
    found = [
        sv.Release(data, given).mean(column, **designed(options)) for column in ("api00", "api99")
    ]
    pairs = [(each.value, each.standard_error) for each in found]
    pairs += zip(table.frequencies.tolist(), table.standard_errors.tolist(), strict=True)
    columns = [data["api00"], data["api99"], *(data["stype"] == level for level in "EHM")]
    for (value, error), (mean, se), y in zip(pairs, printed, columns, strict=True):
        assert value == pytest.approx(mean, abs=5e-7 if mean < 1 else 5e-6)
        # R's squares are about the mean of the replicates, ours about the estimate itself.
        theirs = np.array([(data[name] * y).sum() / data[name].sum() for name in names])
        about_mean = math.sqrt(error**2 - scale * r * (theirs.mean() - value) ** 2)
        assert about_mean == pytest.approx(se, abs=5e-5)
        assert error >= about_mean
