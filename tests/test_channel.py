"""Known noise of others: published numbers, other ways to the same, and what is refused."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic import estimate, structure
from bistochastic.errors import Refused, RefusedType, SingularMatrixError

SIXTH = Fraction(1, 6)
DENSE = [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]]


def near(*numbers: float) -> object:
    return pytest.approx(numbers, abs=6e-9)


@pytest.mark.parametrize(
    ("channel", "reported", "records", "share", "error", "bounds"),
    [
        # Warner in the vignette of RRreg.
        (bs.Channel(warner=SIXTH), 633, 1000, 0.3005, 0.02287407, (0.25558349, 0.34659504)),
        # Nigeria, of the package rr: complete cases, and all answers.
        (bs.Channel(forced=[SIXTH, SIXTH]), 826, 2423, 0.26134957, 0.01444752,
         (0.23303193, 0.29024523)),
        (bs.Channel(forced=[SIXTH, SIXTH]), 831, 2435, 0.26190965, 0.01441567, None),
        # The example of epiR for Rogan and Gladen.
        (bs.Channel(sensitivity=0.96, specificity=0.89), 23, 150, 0.05098039, 0.03472662,
         (-0.01205653, 0.13075263)),
        (bs.Channel(forced=[1 / 12, 3 / 12]), 450, 1000, 0.3, 0.02361001,
         (0.25327756, 0.34716520)),
        (bs.Channel(unrelated=(Fraction(2, 3), Fraction(1, 12))), 300, 1000, 0.40833333,
         0.02174794, None),
        (bs.Channel(kuk=(0.4, 0.8)), 550, 1000, 0.625, 0.03935001, None),
        # Mangat: who has the trait says so.
        (bs.Channel(sensitivity=1, specificity=0.7), 580, 1000, 0.4, 0.02230786, None),
    ],
)  # fmt: skip
def test_published_shares(
    channel: bs.Channel,
    reported: int,
    records: int,
    share: float,
    error: float,
    bounds: tuple[float, float] | None,
) -> None:
    found = channel.estimate(counts=[records - reported, reported])
    assert found.frequencies.tolist() == near(1 - share, share)
    assert found.standard_errors.tolist() == near(error, error)
    if bounds is not None:
        cut = np.clip(bounds, 0, 1)
        assert found.interval()[1].tolist() == near(*cut)
        assert found.interval()[0].tolist() == near(*(1 - cut[::-1]))
    likeliest = channel.estimate(counts=[records - reported, reported], method="mle")
    assert likeliest.frequencies.tolist() == near(1 - share, share)


def test_forced_answers_in_a_fixed_population() -> None:
    found = bs.Channel(forced=[1 / 12, 3 / 12]).estimate(counts=[550, 450], population="fixed")
    assert found.standard_errors.tolist() == near(0.01862458, 0.01862458)


def test_five_forced_categories() -> None:
    channel = bs.Channel(forced=[0.1, 0.1, 0.05, 0.05, 0.05])
    found = channel.estimate(counts=[170, 200, 110, 330, 190])
    assert found.frequencies.tolist() == near(
        0.10769231, 0.15384615, 0.09230769, 0.43076923, 0.21538462
    )
    assert found.standard_errors.tolist() == near(
        0.01828384, 0.01946991, 0.01522984, 0.02288750, 0.01909516
    )
    assert found.covariance[0, 1] == pytest.approx(-8.0553927e-5, abs=1e-12)
    likeliest = channel.estimate(counts=[90, 230, 40, 430, 210], method="mle")
    assert likeliest.frequencies.tolist() == near(0, 0.19186561, 0, 0.56940760, 0.23872679)
    assert likeliest.gap == 0


def test_a_written_matrix() -> None:
    channel = bs.Channel(DENSE)
    found = channel.estimate(counts=[300, 300, 400])
    assert found.frequencies.tolist() == near(0.31088083, 0.33678756, 0.35233161)
    assert found.standard_errors.tolist() == near(0.02022135, 0.02397873, 0.02043551)
    assert channel.condition == pytest.approx(1.69882, abs=5e-6)
    # Its largest singular value is above 1, unlike that of a bistochastic matrix.
    most, back = (np.linalg.norm(rows, 2) for rows in (DENSE, channel.solve(np.eye(3))))
    assert (most, back) == pytest.approx((1.01399, 1.67538), abs=5e-6)
    assert channel.condition == pytest.approx(most * back)
    assert structure.forced(channel) is None
    prior = found.frequencies
    predicted = channel.standard_error(prior, 999)
    assert predicted.tolist() == pytest.approx(found.standard_errors.tolist(), rel=1e-12)
    mean = estimate.mean_standard_error(channel, 100)
    each = channel.standard_error(np.full(3, 1 / 3), 100)
    assert mean == pytest.approx(float(np.sqrt((each**2).mean())))
    n = channel.required_records(0.02)
    worst = max(channel.standard_error(row, n).max() for row in np.random.default_rng(1).dirichlet(
        np.ones(3) / 2, 500))  # fmt: skip
    assert 0.9 * 0.02 < 1.959964 * worst <= 0.02


def random_rows(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(0.5 * np.eye(size) + 0.5 * rng.dirichlet(np.ones(size), size))


def test_linear_maps_are_those_of_the_array() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(6, rng)
    channel, x = bs.Channel(rows), rng.random((6, 4))
    assert np.allclose(channel.to_dense(), rows, rtol=0, atol=1e-16)
    assert np.allclose(channel.apply(x), rows.T @ x)
    assert np.allclose(channel.solve(channel.apply(x)), x)
    assert np.allclose(rows @ channel.solve(x, back=True), x)
    assert channel.condition == pytest.approx(np.linalg.cond(rows))
    with pytest.raises(Refused, match="hold 6 finite numbers"):
        channel.apply([1.0])


@pytest.mark.parametrize("method", ["inverse", "mle", "simplex", "shrunk"])
def test_a_joint_channel_estimates_as_its_array_does(method: Any) -> None:
    rng = np.random.default_rng(4)
    parts = bs.Channel(random_rows(3, rng)), bs.identity(2), bs.Channel(forced=[0.1, 0.2])
    joint = bs.Channel.joint(*parts)
    written = bs.Channel(joint.to_dense())
    counts = rng.multinomial(2000, joint.apply(rng.dirichlet(np.ones(12))))
    one, other = (each.estimate(counts=counts, method=method) for each in (joint, written))
    loose = {"shrunk": 0.05, "mle": 1e-6}.get(method, 1e-12)
    assert np.allclose(one.frequencies, other.frequencies, atol=loose)
    assert np.allclose(one.standard_errors, other.standard_errors)
    assert np.allclose(one.covariance, other.covariance)
    assert np.allclose(one.interval(), other.interval())
    assert np.allclose(one.interval(always_valid=True), other.interval(always_valid=True))
    assert np.allclose(one.poisoning(3), other.poisoning(3))
    assert joint.condition == pytest.approx(np.linalg.cond(joint.to_dense()))
    assert joint.required_records(0.01) >= written.required_records(0.01)


def test_padding_of_a_matrix_in_a_joint_channel() -> None:
    parts = bs.difference_set(5, epsilon=0.5), bs.Channel(forced=[0.1, 0.2])
    joint = bs.Channel.joint(*parts)
    assert (joint.size, joint.padding) == (14, 4)
    found = joint.estimate(counts=np.arange(14.0) + 20)
    reported = (np.arange(14.0) + 20).reshape(7, 2) / (np.arange(14.0) + 20).sum()
    true = np.stack([parts[0].solve(row) for row in reported.T])
    true = np.stack([parts[1].solve(row) for row in true.T])[:5]
    assert np.allclose(found.frequencies, true.reshape(-1) / true.sum() * found.frequencies.sum())


def test_a_bistochastic_matrix_is_a_channel() -> None:
    for m in (bs.randomized_response(4, keep=Fraction(5, 8)), bs.circulant([5, 2, 1])):
        channel = bs.Channel(m)
        counts = np.arange(m.size) * 10.0 + 50
        one, other = m.estimate(counts=counts), channel.estimate(counts=counts)
        assert np.allclose(one.frequencies, other.frequencies, atol=1e-14)
        assert np.allclose(one.interval(), other.interval(), atol=1e-12)
        assert channel.rows[0] == tuple(m.exact_row(0))
        assert estimate.mean_standard_error(channel) == pytest.approx(
            estimate.mean_standard_error(m)
        )


def test_tables_of_tools_take_channels() -> None:
    channel, counts = bs.Channel(sensitivity=0.9, specificity=0.8), np.array([[60.0, 40.0]])
    factor = estimate.Factor(0, matrix=channel)
    assert np.allclose(factor.of(counts, "back")[0], channel.solve(counts[0]))
    back = estimate.Map.back_from(bs.Channel.joint(channel, bs.identity(3)))
    assert back.shape == (2, 3)
    weights = channel.estimate([0, 1, 1, 0], weights=[1, 2, 1, 1])
    assert weights.frequencies.tolist() == pytest.approx(channel.solve([0.4, 0.6]).tolist())
    known = "errors assume that the probabilities of the channel are known, not estimated"
    assert weights.notes == (known,)


def test_a_channel_is_no_matrix_of_another() -> None:
    wrong: list[tuple[Any, str]] = [(bs.Channel(warner=0.75), "Channel"), ([0.5], r"shape \(1,\)")]
    must = "`matrix` must hold rows of probabilities that sum to 1, for at most 1024 categories"
    for given, got in wrong:
        with pytest.raises(Refused, match=f"^{must}; got {got}$"):
            bs.Channel(given)


def test_nothing_of_privacy() -> None:
    channel = bs.Channel(warner=0.75)
    must = "must be asked of a bistochastic Matrix; got a Channel, which is for analysis alone"
    for name in ("randomize", "permute", "beta", "epsilon", "profile", "certificate", "decompose"):
        with pytest.raises(AttributeError, match=f"^`{name}` {must}$"):
            getattr(channel, name)
        assert not hasattr(channel, name)
    m = bs.identity(2)
    other: Any = channel
    for ask in (
        lambda: bs.kron(m, other),
        lambda: bs.mix([m, other], weights=[0.5, 0.5]),
        lambda: m @ other,
        lambda: other @ m,
        lambda: np.ones(2) @ other,
        lambda: bs.dense(other),
        lambda: bs.guarantee([other]),
        lambda: bs.entropy_rate(other),
        lambda: bs.shuffled([other], 1000),
        lambda: bs.backend.Column(["a"], [0, 1], other),
        lambda: bs.measures.lines(other, []),
        lambda: bs.compare(m, other),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            ask()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = channel.nothing
    with pytest.raises(AttributeError):
        channel.rows = ()  # type: ignore[misc]


def test_channels_are_values() -> None:
    one, other = bs.Channel(warner=0.75), bs.Channel(forced=[Fraction(1, 4), Fraction(1, 4)])
    assert one == other
    assert len({one, other, bs.Channel(kuk=(0.75, 0.25))}) == 1
    joint = bs.Channel.joint(one, bs.uniform(3))
    for each in (one, joint, bs.Channel(DENSE)):
        assert pickle.loads(pickle.dumps(each)) == each
    # Floats are the decimals that Python prints, scaled; each row sums to exactly 1.
    thirds = bs.Channel([[1 / 3, 1 / 3, 1 / 3], *np.eye(3)[1:].tolist()])
    assert all(sum(row) == 1 for row in thirds.rows)
    assert bs.Channel(DENSE).rows[0] == (Fraction(4, 5), Fraction(3, 20), Fraction(1, 20))
    assert bs.Channel.from_json(thirds.to_json()) == thirds
    with pytest.raises(Refused, match="the channel of one column; got a joint one"):
        joint.to_json()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, r"`Channel` must be given exactly one of matrix, forced, .*; got none"),
        ({"warner": 0.5, "kuk": (0.1, 0.2)}, "got warner, kuk"),
        ({"sensitivity": 0.5}, "`sensitivity and specificity` must be probabilities; got"),
        ({"warner": 1.5}, "`warner` must be probabilities; got 1.5"),
        ({"kuk": (0.1,)}, "`kuk` must be probabilities; got 1 with"),
        ({"forced": [0.6, 0.6]}, "`forced` must hold .* sum to at most 1; got 2 with"),
        ({"forced": []}, "`forced` must .*; got 0 with"),
        ({"matrix": [[0.5, 0.6], [0.5, 0.5]]}, "`matrix` must .*; got a row with a sum of 1.1"),
        ({"matrix": [[0.5, 0.5]]}, r"`matrix` must hold rows .*; got shape \(1, 2\)"),
        ({"matrix": [[np.nan, 0.5], [0.5, 0.5]]}, "`matrix` must .*; got nan"),
        ({"matrix": bs.uniform(2000)}, r"at most 1024 categories; got shape \(2000, 2000\)"),
        ({"matrix": "no"}, "`matrix` must"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises((Refused, RefusedType), match=sentence):
        bs.Channel(**given)  # type: ignore[arg-type]


def test_stored_channels_are_checked() -> None:
    good = bs.Channel(warner=0.75).to_json()
    for old, new in (
        ("channel", "matrix"), ('"version": 1', '"version": 2'), ("3/4", "3/5"), ('"3/4"', "0.75"),
        ('"rows"', '"row"'), ("]]", "]"),
    ):  # fmt: skip
        with pytest.raises((Refused, RefusedType)):
            bs.Channel.from_json(good.replace(old, new))
    with pytest.raises(Refused, match=r"`rows` must be one of|`format` must be"):
        bs.Matrix.from_json(good)


def test_a_singular_channel_says_so() -> None:
    for channel in (
        bs.Channel(warner=0.5),
        bs.Channel.joint(bs.identity(2), bs.Channel(kuk=(0.3, 0.3))),
    ):
        assert channel.condition == np.inf
        for method in ("inverse", "mle", "shrunk"):
            with pytest.raises(SingularMatrixError, match="invertible matrix; got one"):
                channel.estimate(counts=np.full(channel.size, 9), method=method)
        with pytest.raises(SingularMatrixError):
            channel.required_records(0.1)


def test_forced_likelihood_is_that_of_the_search() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        size = int(rng.integers(2, 7))
        lies = rng.dirichlet(np.ones(size)) * rng.uniform(0.1, 0.9)
        channel = bs.Channel(forced=lies)
        counts = rng.integers(1, 40, size)
        found = channel.estimate(counts=counts, method="mle").frequencies
        expected = channel.apply(found)
        slopes = channel.to_dense() @ (counts / counts.sum() / expected)
        # The conditions of the maximum: no slope above 1, and 1 on the support.
        assert slopes.max() <= 1 + 1e-9
        assert np.allclose(slopes[found > 0], 1)
