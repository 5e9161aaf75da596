"""The Adult census, protected as a new user would, and searched for what must not be in it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bistochastic as bs
import bistochastic_survey as sv

KEEP = ["age"]
DROP = ["fnlwgt", "education-num", "capital-gain", "capital-loss", "native-country"]
JOINT = ("race", "sex")
SINGLE = ("workclass", "education", "marital-status", "occupation", "relationship", "salary-class")


def adult() -> pd.DataFrame:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    path = Path(folder) / "adult.csv"
    if not path.is_file():
        pytest.skip("adult.csv is not in BISTOCHASTIC_DATA")
    return pd.read_csv(path, skipinitialspace=True)


def test_the_adult_file_is_protected() -> None:
    frame = adult()
    levels = {name: sorted(frame[name].unique()) for name in (*JOINT, *SINGLE)}
    plan = sv.Plan(
        [
            *(
                sv.Categorical(name, levels[name], "randomized_response", beta=0.6)
                for name in SINGLE
            ),
            sv.Joint(JOINT, [levels[name] for name in JOINT], "randomized_response", beta=0.6),
            sv.Numeric("hours-per-week", "k_anonymous", k=10),
        ],
        name="adult",
        keep=KEEP,
        drop=DROP,
    )
    plan.for_records(len(frame)).require(min_beta=0.2)
    release = plan.protect(frame)
    data = release.data
    assert list(data.columns) == [name for name in frame.columns if name not in DROP]
    assert (data.dtypes == frame[data.columns].dtypes).all()
    assert (data["age"] == frame["age"]).all()
    assert sorted(data["hours-per-week"]) == sorted(frame["hours-per-week"])
    for name in SINGLE:
        law = bs.randomized_response(len(levels[name]), beta=0.6)
        assert set(data[name]) <= set(levels[name])
        codes = pd.Categorical(data[name], levels[name]).codes.astype(np.uint8)
        true = pd.Categorical(frame[name], levels[name]).codes
        # Shares come back: 6 standard errors a category, false alarm below 1e-6 over all.
        found = law.estimate(codes, population="fixed")
        shares = np.bincount(true, minlength=len(levels[name])) / len(frame)
        assert (np.abs(found.frequencies - shares) <= 6 * found.standard_errors).all()
        kept = float((codes == true).mean())
        assert kept == pytest.approx(float(law.exact_row(0)[0]), abs=6 / np.sqrt(4 * len(frame)))
    # Nobody can tell from the certificate what the file holds: it is that of any file.
    other = frame.copy()
    for name in (*SINGLE, *JOINT):
        other[name] = levels[name][0]
    assert plan.protect(other).certificate == release.certificate
