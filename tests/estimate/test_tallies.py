"""How often each category was reported: codes that are counted, counts that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from others import pd
from reports import likelihood

RR = bs.randomized_response(3, epsilon=1)


def test_joint_tables_axis_by_axis() -> None:
    a, b = bs.randomized_response(3, epsilon=2), bs.geometric(4, temperature=0.6)
    joint = bs.kron(a, b)
    rng = np.random.default_rng(3)
    table = rng.integers(0, 40, (3, 4))
    e = joint.estimate(counts=table)
    want = np.linalg.solve(joint.to_dense().T, table.ravel() / table.sum())
    np.testing.assert_allclose(e.frequencies, want, atol=1e-12)
    np.testing.assert_allclose(e.standard_errors**2, np.diag(e.covariance), atol=1e-12)
    flat = joint.estimate(counts=table.ravel(), method="mle")
    whole = bs.dense(joint.to_dense()).estimate(counts=table.ravel(), method="mle")
    reports = table.ravel() / table.sum()
    assert likelihood(joint, flat.frequencies, reports) == pytest.approx(
        likelihood(joint, whole.frequencies, reports), abs=2e-6
    )


def test_codes_of_any_type_are_counted_alike() -> None:
    m = bs.randomized_response(3, epsilon=2)
    codes = np.array([[0, 1, 2], [2, 2, 1]])
    want = m.estimate(counts=[1, 2, 3]).frequencies
    for dtype in ("u1", "i1", "u2", "i4", ">i4", "u8"):
        assert (m.estimate(codes.astype(dtype)).frequencies == want).all()
    assert (m.estimate(codes[:, ::-1]).frequencies == want).all()
    assert (m.estimate(codes.tolist()).frequencies == want).all()
    two = bs.randomized_response(2, epsilon=1)
    assert two.estimate(np.array([True, False])).records == 2


def test_a_kron_of_krons_takes_the_table_of_all_axes() -> None:
    two = bs.randomized_response(2, epsilon=1)
    m = bs.kron(bs.kron(RR, two), two)
    table = np.arange(12.0)
    want = m.estimate(counts=table).counts
    for shape in ((3, 2, 2), (6, 2)):
        assert (m.estimate(counts=table.reshape(shape)).counts == want).all()


def test_a_column_that_is_not_aligned_is_counted() -> None:
    raw = np.zeros(13, np.uint8)
    column = raw[1:].view(np.int32)
    assert not column.flags.aligned
    assert RR.estimate(column).records == 3


def test_counts_next_to_none_have_bounds_without_a_word() -> None:
    bounds = bs.identity(2).estimate(counts=[5.2e-9, 99.9999999948]).interval(0.5)
    assert bounds[1, 1] == 1
    assert ((bounds[:, 0] <= bounds[:, 1]) & (bounds >= 0).all() & (bounds <= 1).all()).all()


@pytest.mark.parametrize("dtype", [complex, [("a", "f8"), ("b", "i4")], "M8[s]", "U3"])
def test_empty_codes_of_another_kind_are_refused_as_full_ones_are(dtype: Any) -> None:
    with pytest.raises(
        TypeError, match=r"^`codes` must be an array of integers without missing values; got dtype "
    ):
        bs.uniform(3).estimate(codes=np.zeros(0, dtype=dtype), method="simplex")


def people() -> Any:
    return pd.Series(["rare", "often", "often", "some", "often", "some"], name="people")


LABELS = r"^`counts` must be in the order of the codes; got labels that are not 0, 1, 2 and so on; "


@pytest.mark.parametrize("make", [people, lambda: people().astype("category")])
def test_counts_with_labels_that_are_no_codes_are_refused(make: Any) -> None:
    counts = make().value_counts()
    assert list(counts.index) == ["often", "some", "rare"]
    for labelled in (counts, counts.sort_index()):
        with pytest.raises(ValueError, match=LABELS + r"to_numpy\(\) leaves them out$"):
            RR.estimate(counts=labelled)
    # The way out that the sentence names, in an order of one's own.
    mine = counts.loc[["rare", "some", "often"]].to_numpy()
    assert np.array_equal(RR.estimate(counts=mine).counts, RR.estimate(counts=[1, 2, 3]).counts)
    in_order = pd.Series([1, 2, 3])
    assert np.array_equal(RR.estimate(counts=in_order).counts, RR.estimate(counts=mine).counts)


def test_labels_of_a_table_are_looked_at_on_both_sides() -> None:
    joint = bs.kron(bs.randomized_response(2, epsilon=1), RR)
    table = pd.DataFrame([[1, 2, 3], [4, 5, 6]])
    want = joint.estimate(counts=[[1, 2, 3], [4, 5, 6]]).counts
    assert np.array_equal(joint.estimate(counts=table).counts, want)
    # Two columns counted at once have pairs of labels.
    for other in (table.loc[[1, 0]], table[[2, 0, 1]], table.stack()):
        with pytest.raises(ValueError, match=LABELS):
            joint.estimate(counts=other)
