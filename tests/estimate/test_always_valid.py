"""Intervals that hold at every look: known numbers, and runs that are watched all the time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.errors import Refused
from bistochastic.estimate import intervals

TWO = bs.randomized_response(2, epsilon=1)
TWELVE = bs.randomized_response(12, epsilon=2)
STEPS = bs.geometric(5, beta=0.6)
SEEN = [136, 210, 310, 210, 134]


def bounds(
    m: bs.Matrix, counts: list[float], category: int = 0, alpha: float = 0.05
) -> list[float]:
    """The interval of one category, before it is cut to [0, 1]."""
    added = np.asarray(np.linalg.inv(m.to_dense()))[:, category]
    return list(intervals.at_every_look(added, np.array(counts, float), alpha))


@pytest.mark.parametrize(
    ("records", "reported", "low", "high"),
    [
        (1000, 408, 0.18019829, 0.42516409),
        (10**4, 4076, 0.25820499, 0.34231354),
        (10**5, 40758, 0.28578334, 0.31427939),
        (10**6, 407577, 0.29521766, 0.30478961),
    ],
)
def test_published_intervals_of_two_categories(
    records: int, reported: int, low: float, high: float
) -> None:
    assert bounds(TWO, [reported, records - reported]) == pytest.approx([low, high], abs=1e-8)
    estimate = TWO.estimate(counts=[reported, records - reported])
    assert estimate.interval(always_valid=True)[0] == pytest.approx([low, high], abs=1e-8)


@pytest.mark.parametrize(
    ("records", "reported", "two", "five"),
    [
        # Both are cut to [0, 1] for 100 records.
        (100, 41, 1.53, None),
        (1000, 408, 1.8304, 1.8150),
        (10**4, 4076, 2.0077, 1.9641),
        (10**5, 40758, 2.1584, 2.1100),
        (10**6, 407577, 2.2952, 2.2473),
    ],
)
def test_published_widths(records: int, reported: int, two: float, five: float | None) -> None:
    """How much wider than an interval for one look: 1.8 to 2.3 times."""
    estimate = TWO.estimate(counts=[reported, records - reported])
    plain, always = (np.diff(estimate.interval(always_valid=kind)[0]) for kind in (False, True))
    assert float(always[0] / plain[0]) == pytest.approx(two, abs=1.5e-3 if two == 1.53 else 6e-5)
    if five is not None:
        counts = STEPS.apply([0.1, 0.2, 0.4, 0.2, 0.1]) * records
        error = STEPS.estimate(counts=counts).standard_errors[0]
        low, high = bounds(STEPS, counts.tolist())
        # The known ones are of counts that were drawn.
        ratio = (high - low) / (2 * 1.959964 * error)
        assert ratio == pytest.approx(five, rel=0.2 / math.sqrt(records))


def test_other_published_intervals() -> None:
    stricter = bounds(TWO, [408, 592], alpha=0.01)
    assert stricter == pytest.approx([0.16676119, 0.43944794], abs=1e-8)
    for reported, records, low, high in (
        (83, 1000, 0.00124206, 0.18475873),
        (833, 10**4, 0.05302039, 0.11595603),
    ):
        rest = (records - reported) / 11
        found = bounds(TWELVE, [reported, *[rest] * 11])
        assert found == pytest.approx([low, high], abs=1e-8)
    few = TWO.estimate(counts=[41, 59]).interval(always_valid=True)[0]
    assert few == pytest.approx([0, 0.66355757], abs=1e-8)
    # These counts contradict the matrix, so no width is left; and some are too few to say a thing.
    assert TWO.estimate(counts=[0, 50]).interval(always_valid=True)[0].tolist() == [0, 0]
    assert TWO.estimate(counts=[5, 5]).interval(always_valid=True)[0].tolist() == [0, 1]


def test_published_intervals_of_unlike_scores() -> None:
    known = [
        (0.04388362, 0.16997056),
        (0.10099021, 0.30575812),
        (0.28646473, 0.52008687),
        (0.10193874, 0.30659680),
        (0.04137829, 0.16671750),
    ]
    found = STEPS.estimate(counts=SEEN).interval(always_valid=True)
    assert found == pytest.approx(np.array(known), abs=1e-8)
    together = STEPS.estimate(counts=SEEN).interval(simultaneous=True, always_valid=True)
    assert together[0] == pytest.approx([0.03719545, 0.17861010], abs=1e-8)


@pytest.mark.parametrize("nodes", [300, 2048, 8192])
def test_the_fortune_does_not_depend_on_the_number_of_bets(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = np.linalg.inv(STEPS.to_dense())[:, 0]
    least, most = added.min(), added.max()
    # 1,000 records, for which half as many bets are enough.
    many = np.array(SEEN, float)
    x = (added - least) / (most - least)
    thetas = np.sin((2 * np.arange(1, nodes + 1) - 1) * np.pi / (4 * nodes)) ** 2
    fortune = intervals._mixture(x, many)
    for share, known in ((0.05, 1.7031171663), (0.1, -3.2396349244)):
        m = (share - least) / (most - least)
        assert fortune(m) == pytest.approx(known, abs=1e-9)
        bets = np.outer(thetas / m, x) + np.outer((1 - thetas) / (1 - m), 1 - x)
        grown = (np.log(bets) * many).sum(axis=1)
        if 2 * nodes > many.sum():
            own = grown.max() + math.log(np.exp(grown - grown.max()).mean())
            assert own == pytest.approx(known, abs=1e-9)


def test_fewer_bets_for_many_records_only_widen() -> None:
    added = np.linalg.inv(STEPS.to_dense())[:, 0]
    x = (added - added.min()) / (added.max() - added.min())
    many = np.array(SEEN, float) * 1000
    nodes = 8192
    thetas = np.sin((2 * np.arange(1, nodes + 1) - 1) * np.pi / (4 * nodes)) ** 2
    fortune = intervals._mixture(x, many)
    mean = float(x @ many / many.sum())
    for m in np.linspace(mean - 0.02, mean + 0.02, 9):
        bets = np.outer(thetas / m, x) + np.outer((1 - thetas) / (1 - m), 1 - x)
        grown = (np.log(bets) * many).sum(axis=1)
        own = grown.max() + math.log(np.exp(grown - grown.max()).mean())
        assert fortune(float(m)) <= own + 1e-9
        assert fortune(float(m)) >= own - 1e-3


@pytest.mark.parametrize(
    ("m", "category", "share"),
    [(TWO, 0, 0.3), (TWELVE, 0, 1 / 12), (STEPS, 0, 0.1), (STEPS, 2, 0.3)],
)
def test_no_look_misses_more_often_than_promised(m: bs.Matrix, category: int, share: float) -> None:
    """Runs that are watched at many looks; false alarm 1e-6 if misses have probability 5%."""
    rng = np.random.default_rng([48, m.size, category])
    others = (1 - share) / (m.size - 1)
    truth = np.full(m.size, others)
    truth[category] = share
    law = truth @ m.to_dense()
    added = np.asarray(np.linalg.inv(m.to_dense()), np.float64)[:, category]
    least, most = float(added.min()), float(added.max())
    x = (added - least) / (most - least)
    missed, usual = 0, 0
    for _ in range(150):
        counts = np.zeros(m.size)
        wrong = old = False
        for step in (20, 30, 50, 100, 100, 200, 300, 400, 800, 2000, 4000, 8000):
            counts += rng.multinomial(step, law)
            # A share is outside of the interval if the fortune against it is large.
            wrong |= intervals._mixture(x, counts)((share - least) / (most - least)) >= math.log(20)
            mean = float(counts @ added / counts.sum())
            spread = float(counts @ (added - mean) ** 2 / counts.sum())
            old |= abs(mean - share) > 1.96 * math.sqrt(spread / counts.sum())
        missed += wrong
        usual += old
        low, high = intervals.at_every_look(added, counts, 0.05)
        inside = intervals._mixture(x, counts)((share - least) / (most - least)) < math.log(20)
        assert (low < share < high) == inside
    # Binomial(150, .05) exceeds 23 with probability below 1e-6.
    assert missed <= 23
    # What is read again and again misses far more often.
    assert usual > missed


def test_the_order_of_looks_changes_nothing() -> None:
    one, other = STEPS.estimate(counts=SEEN), STEPS.estimate(counts=np.array(SEEN) * 2)
    both = STEPS.estimate(counts=np.array(SEEN) * 3)
    wide = [np.diff(e.interval(always_valid=True)).max() for e in (one, other, both)]
    assert wide == sorted(wide, reverse=True)


def test_joint_tables_and_padded_matrices() -> None:
    joint = bs.kron(TWO, bs.randomized_response(3, epsilon=2))
    estimate = joint.estimate(counts=[60, 50, 70, 80, 40, 100])
    found = estimate.interval(always_valid=True)
    # By columns, with the map that tools use.
    counts = np.array([60.0, 50, 70, 80, 40, 100])
    tallies = bs.estimate.Tallies.counted(400, counts, counts, 400)
    linear = bs.estimate.Linear(bs.estimate.Map.back_from(joint), tallies, fixed=False, exact=True)
    own = replace(estimate, _linear=linear).interval(always_valid=True)
    assert own == pytest.approx(found, abs=1e-9)
    assert (found[:, 0] <= estimate.frequencies).all()
    assert (estimate.frequencies <= found[:, 1]).all()
    padded = bs.difference_set(5, epsilon=1)
    seen = padded.estimate(counts=[30] * padded.size)
    assert seen.interval(always_valid=True).shape == (5, 2)


def test_an_estimate_that_is_watched_shows_it() -> None:
    plain = STEPS.estimate(counts=SEEN)
    watched = replace(plain, always_valid=True)
    wide, usual = (np.diff(e.interval(), axis=1) for e in (watched, plain))
    assert (wide > 1.5 * usual).all()
    assert watched.to_columns()["low"] == pytest.approx(watched.interval()[:, 0])
    assert watched.interval(always_valid=False) == pytest.approx(plain.interval())


def test_refuses_what_has_no_such_interval() -> None:
    with pytest.raises(Refused, match="`always_valid` must be used with records that count alike"):
        TWO.estimate([0, 1, 1], weights=[1, 2, 1]).interval(always_valid=True)
    with pytest.raises(Refused, match="`always_valid` must be used with records that are a sample"):
        TWO.estimate(counts=[5, 5], population="fixed").interval(always_valid=True)
    with pytest.raises(TypeError, match="`always_valid`"):
        TWO.estimate(counts=[5, 5]).interval(always_valid=3)  # type: ignore[arg-type]
