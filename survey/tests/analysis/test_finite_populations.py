"""Finite populations and two stages: figures of R's survey, and the formulas by hand."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bistochastic_survey as sv
from bistochastic_survey.analysis.quantities import Quantity
from folded import designed

CLEAR = sv.Plan([sv.Categorical("kind", ["E", "H", "M"], "identity")], keep="*", units=[])


def samples(name: str) -> pd.DataFrame:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    path = Path(folder) / name
    if not path.is_file():
        pytest.skip(f"{name} is not in BISTOCHASTIC_DATA")
    return pd.read_csv(path).rename(columns={"stype": "kind"})


# Printed by R's survey: the mean of api00 and its standard error.
FIGURES: list[tuple[str, dict[str, Any], tuple[float, float]]] = [
    ("apiclus1.csv", {"weights": "pw", "cluster": "dnum"}, (644.1694, 23.779)),
    ("apiclus1.csv", {"weights": "pw", "cluster": "dnum", "fpc": "fpc"}, (644.1694, 23.5422)),
    ("apiclus1.csv", {"weights": "pw", "cluster": "dnum", "fpc": 757}, (644.1694, 23.5422)),
    ("apistrat.csv", {"weights": "pw", "strata": "kind"}, (662.2874, 9.5361)),
    ("apistrat.csv", {"weights": "pw", "strata": "kind", "fpc": "fpc"}, (662.2874, 9.4089)),
]


@pytest.mark.parametrize(("name", "design", "want"), FIGURES)
def test_means_are_those_of_the_survey_package(
    name: str, design: dict[str, Any], want: tuple[float, float]
) -> None:
    frame = samples(name)
    plan = sv.Plan([sv.Categorical("awards", ["No", "Yes"], "identity")], keep="*", units=[])
    found = sv.Release(frame, plan).mean("api00", **designed(design))
    # As many digits as were printed.
    assert f"{found.value:.4f}" == f"{want[0]:.4f}"
    assert math.isclose(found.standard_error, want[1], abs_tol=6e-4 if want[1] == 23.779 else 6e-5)


def by_hand(z: Any, keys: Any, fraction: float) -> float:
    """The variance of a total of z."""
    strata, first = keys
    total = 0.0
    for h in np.unique(strata):
        clusters = np.unique(first[strata == h])
        sums = np.array([z[(strata == h) & (first == c)].sum() for c in clusters])
        n = len(sums)
        total += (1 - fraction) * n / (n - 1) * ((sums - sums.mean()) ** 2).sum()
    return float(total)


def two_stages() -> pd.DataFrame:
    random = np.random.default_rng(8)
    rows = [
        {"region": h, "school": 10 * h + c, "room": k, "kind": "EHM"[random.integers(3)],
         "y": float(random.normal(h + c)), "w": 1.0 + h}
        for h, c, k in itertools.product(range(2), range(4), range(3))
        for _ in range(random.integers(1, 5))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_one_stage_follows_the_formula() -> None:
    frame = two_stages()
    design: Any = {
        "weights": "w",
        "strata": "region",
        "cluster": "school",
        "fpc": 0.25,
    }
    w, total = frame["w"].to_numpy(), float(frame["w"].sum())
    keys: Any = [frame[name].to_numpy() for name in ("region", "school")]
    found = sv.Release(frame, CLEAR).mean("y", **designed(design))
    z = w * (frame["y"].to_numpy() - found.value) / total
    assert math.isclose(found.standard_error**2, by_hand(z, keys, 0.25), rel_tol=1e-9)
    table = sv.Release(frame, CLEAR).estimate("kind", **designed(design))
    for i, kind in enumerate("EHM"):
        z = w * ((frame["kind"] == kind).to_numpy() - table.frequencies[i]) / total
        want = by_hand(z, keys, 0.25)
        assert math.isclose(table.standard_errors[i] ** 2, want, rel_tol=1e-9)
        assert math.isclose(table.covariance[i, i], want, rel_tol=1e-9)
    # Sizes of the population say the same as fractions.
    sizes = frame.assign(schools=16)
    same: Any = {**design, "fpc": "schools"}
    assert np.allclose(
        sv.Release(sizes, CLEAR).estimate("kind", **designed(same)).standard_errors,
        table.standard_errors,
    )


@pytest.mark.parametrize("fpc", [0.2, 1.0])
def test_a_finite_population_takes_no_noise_away(fpc: float) -> None:
    """With all of a population sampled, the error is that of the randomization alone."""
    plan = sv.Plan([sv.Categorical("kind", ["E", "H", "M"], "randomized_response", keep=0.6)],
                   keep="*", units=[])  # fmt: skip
    frame = plan.protect(two_stages()).data
    full = sv.Release(frame, plan).estimate("kind").standard_errors ** 2
    noise = sv.Release(frame, plan).estimate("kind", population="fixed").standard_errors ** 2
    found = sv.Release(frame, plan).estimate("kind", design=sv.Design(fpc=fpc))
    assert np.allclose(found.standard_errors**2, (1 - fpc) * full + fpc * noise, rtol=1e-9)
    assert np.allclose(np.diag(found.covariance), found.standard_errors**2, rtol=1e-9)
    count = sv.Release(frame, plan).count({"kind": "E"}, design=sv.Design(fpc=fpc)).standard_error
    assert math.isclose(count / len(frame), found.standard_errors[0], rel_tol=1e-9)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"fpc": -1.0}, "must hold sampled fractions"),
    ({"fpc": 5}, "at least as many units as were sampled; got less in row 0"),
    ({"fpc": "w"}, "`fpc` must"),
    ({"fpc": (1, 2)}, "`fpc` must be positive; got tuple"),
    ({"cluster": ("school", "room")}, "`cluster` must be a string; got tuple"),
    ({"fpc": "nothing"}, "none of that name"),
    ({"fpc": "kind"}, "which the plan protects"),
    ({"fpc": 0.5, "population": "fixed"}, "must be sampled if"),
    ({"strata": "region", "fpc": "mixed"}, "`fpc` must be the same in a stratum"),
]  # fmt: skip


@pytest.mark.parametrize(("design", "message"), REFUSED)
def test_designs_that_make_no_sense_are_refused(design: dict[str, Any], message: str) -> None:
    frame = two_stages()
    frame["mixed"] = np.where(np.arange(len(frame)) % 2, 0.5, 0.25)
    frame["w"] = 3.0
    with pytest.raises((ValueError, TypeError), match=message):
        sv.Release(frame, CLEAR).estimate("kind", **designed(design))


def test_columns_drawn_by_unit_leave_the_correction_out() -> None:
    plan = sv.Plan([sv.Categorical("x", [0, 1], "randomized_response", keep=0.75, unit="hid")],
                   keep=["hid"])  # fmt: skip
    frame = {"x": np.repeat(np.arange(50) % 2, 2), "hid": np.repeat(np.arange(50), 2)}
    out = plan.protect(frame).data
    found = sv.Release(out, plan).estimate("x", design=sv.Design(fpc=0.5))
    assert np.array_equal(
        found.standard_errors, sv.Release(out, plan).estimate("x").standard_errors
    )
    assert any("fpc is left out" in note for note in found.notes)


def test_the_shell_answers_with_the_same_numbers(tmp_path: Path) -> None:
    import json

    from click.testing import CliRunner

    from bistochastic_survey.cli import main

    frame = two_stages()
    plan = sv.Plan([sv.Categorical("kind", ["E", "H", "M"], "randomized_response", keep=0.7)],
                   keep="*", units=[])  # fmt: skip
    out = plan.protect(frame).data
    out.to_csv(tmp_path / "out.csv", index=False)
    (tmp_path / "plan.json").write_text(plan.to_json())
    start = ["estimate", str(tmp_path / "out.csv"), "--plan", str(tmp_path / "plan.json"), "--json"]
    staged = [
        "--strata",
        "region",
        "--cluster",
        "school",
        "--weights",
        "w",
        "--fpc",
        "0.25",
    ]
    design: Any = {"strata": "region", "cluster": "school", "weights": "w",
                   "fpc": 0.25}  # fmt: skip

    def said(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(main, [*start, *words])
        assert done.exit_code == 0, done.output
        text = done.stdout
        found: dict[str, Any] = json.loads(text[text.index("{") :])
        return found

    cases: list[tuple[list[str], Quantity]] = [
        (["--mean", "y", *staged], sv.Release(out, plan).mean("y", **designed(design))),
        (["--count", "--where", "kind=E"], sv.Release(out, plan).count({"kind": "E"})),
        (["--ratio", "kind=E,H", "--where", "region=1", *staged],
         sv.Release(out, plan).ratio({"kind": ["E", "H"]}, {"region": 1}, **designed(design))),
    ]  # fmt: skip
    for words, want in cases:
        [cell] = said(*words)["cells"]
        assert math.isclose(cell["value"], want.value, rel_tol=1e-9)
        assert math.isclose(cell["standard_error"], want.standard_error, rel_tol=1e-9)
    table = said("--by", "kind", *staged)["cells"]
    want_errors = sv.Release(out, plan).estimate("kind", **designed(design)).standard_errors
    assert np.allclose([cell["standard_error"] for cell in table], want_errors)


def test_a_regression_leaves_the_finite_population_out_and_says_so() -> None:
    rng = np.random.default_rng(3)
    frame = {"sex": rng.choice(["F", "M"], 400), "psu": np.arange(400) // 10}
    frame["y"] = rng.normal(size=400) + (frame["sex"] == "M")
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.3)],
                   keep=["psu", "y"], units=[])  # fmt: skip
    data = plan.protect(frame).data
    plain = sv.Release(data, plan).regress(
        "y ~ sex", model="linear", design=sv.Design(cluster="psu")
    )
    found = sv.Release(data, plan).regress(
        "y ~ sex", model="linear", design=sv.Design(cluster="psu", fpc=80)
    )
    assert found.coefficients.tolist() == plain.coefficients.tolist()
    assert found.standard_errors.tolist() == plain.standard_errors.tolist()
    assert any("fpc is left out" in note for note in found.notes)
    assert not any("fpc" in note for note in plain.notes)
