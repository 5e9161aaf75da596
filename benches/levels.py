"""How often a test rejects what is true, and intervals miss it: ``make study``.

Tests of independence, at 5%: two columns of Titanic or Adult whose true values are independent are
protected again and again, and the share of rejections is the level; with the true dependence it is
the power. In a fixed population only the noise is drawn again, so the level is below 5%.

Intervals that hold at every look: one stream of reports is read at 400 looks from 10 to 10,000
records, and the share of streams with a miss anywhere must stay below 5%, beside plain intervals
read at a tenth of these looks. The fortune against the truth is computed for all looks, as a
mixture of bets, and the package's interval is asked for where it is largest.

Intervals of a channel: how often they cover each share, at one look.

Levels of 2,000 rounds have a standard error of .005, misses of 400 streams one of .01. Needs
adult.csv in the folder that BISTOCHASTIC_DATA names.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import bistochastic as bs
import bistochastic_survey as sv
from coverage import read_columns

Table = dict[str, np.ndarray]
Draw = Callable[[np.random.Generator, int], Table]
CLASSES, ANSWERS = ["1st", "2nd", "3rd", "crew"], ["no", "yes"]
TITANIC = {"class": CLASSES, "survived": ANSWERS}
LOOKS = np.unique(np.geomspace(10, 10_000, 400).astype(int))


def people() -> Table:
    """Class and survival of Titanic."""
    return {name: np.array(sv.titanic()[name]) for name in TITANIC}


def apart(frame: Table) -> Draw:
    """Draw records with the shares of a table, without dependence."""
    return lambda rng, n: {name: rng.choice(values, n) for name, values in frame.items()}


def whole(frame: Table) -> Draw:
    """Draw records of a table."""

    def drawn(rng: np.random.Generator, n: int) -> Table:
        rows = rng.integers(0, len(next(iter(frame.values()))), n)
        return {name: values[rows] for name, values in frame.items()}

    return drawn


def weighted(rng: np.random.Generator, n: int) -> Table:
    """Records with weights that vary."""
    return {**apart(people())(rng, n), "weight": rng.lognormal(0, 0.8, n)}


def houses(rng: np.random.Generator, n: int) -> Table:
    """People of one house, four each, are alike."""
    each = apart(people())(rng, n // 4)
    return {**{name: np.repeat(values, 4) for name, values in each.items()},
            "house": np.repeat(np.arange(n // 4), 4)}  # fmt: skip


def towns(rng: np.random.Generator, n: int) -> Table:
    """Records of two groups."""
    return {**apart(people())(rng, n), "town": rng.choice(["A", "B"], n)}


def everyone(rng: np.random.Generator, n: int) -> Table:
    """The same people always, whose table is a product of its margins."""
    counts = np.outer([4, 3, 2, 1], [7, 3]) * (n // 100)
    one, two = (np.repeat(code, counts.ravel()) for code in np.indices(counts.shape).reshape(2, -1))
    return {"class": np.array(CLASSES)[one], "survived": np.array(ANSWERS)[two]}


def plan(columns: dict[str, list[str]], *, unit: str | None = None, **strength: Any) -> sv.Plan:
    """Make a plan of separate columns, all by randomized response."""
    return sv.Plan([sv.Categorical(name, values, "randomized_response", unit=unit, **strength)
                    for name, values in columns.items()], keep="*")  # fmt: skip


def grouped() -> sv.Plan:
    """Make a plan of a strong and a weak matrix."""
    laws = [{"A": bs.randomized_response(size, epsilon=0.5),
             "B": bs.randomized_response(size, epsilon=3)} for size in (4, 2)]  # fmt: skip
    return sv.Plan([sv.Categorical(name, TITANIC[name], groups=("town", each))
                    for name, each in zip(TITANIC, laws, strict=True)], keep="*")  # fmt: skip


def tests(rounds: int, seed: int) -> None:
    """Print levels and powers."""
    titanic = people()
    names = ("race", "salary-class", "education", "occupation")
    adult = {name: values for name, values in read_columns(names).items() if name in names}
    levels = {name: sorted(set(values.tolist())) for name, values in adult.items()}

    def some(*wanted: str) -> tuple[Table, dict[str, list[str]]]:
        return {n: adult[n] for n in wanted}, {n: levels[n] for n in wanted}

    race, races = some("race", "salary-class")
    jobs, job_levels = some("education", "occupation")
    school, _ = some("education", "salary-class")
    ordinal = sv.Plan([
        sv.Categorical("education", levels["education"], "geometric", beta=0.6),
        sv.Categorical("salary-class", levels["salary-class"], "randomized_response", beta=0.6),
    ])  # fmt: skip
    joint = sv.Plan([sv.Joint([*TITANIC], [*TITANIC.values()], "randomized_response", epsilon=2)])
    kept = sv.Plan([sv.Categorical("class", CLASSES, "randomized_response", beta=0.6)], keep="*")
    separate, weak = plan(TITANIC, beta=0.6), plan(TITANIC, epsilon=1)
    cluster, weights = sv.Design(cluster="house"), sv.Design(weights="weight")
    cases: list[tuple[str, sv.Plan, Draw, int, sv.Design | None]] = [
        ("separate columns, beta .6", separate, apart(titanic), 2201, None),
        ("separate columns, epsilon 1", weak, apart(titanic), 2201, None),
        ("a kept column", kept, apart(titanic), 300, None),
        ("one Joint, epsilon 2", joint, apart(titanic), 2000, None),
        ("groups, epsilon .5 and 3", grouped(), towns, 2000, None),
        ("weights", separate, weighted, 2201, weights),
        ("clusters of 4", separate, houses, 2000, cluster),
        ("units of 4", plan(TITANIC, unit="house", beta=0.6), houses, 2000, None),
        ("fixed population, epsilon 1", weak, everyone, 2000, None),
        ("fixed population, epsilon 3", plan(TITANIC, epsilon=3), everyone, 2000, None),
        ("Adult race x salary, epsilon 1", plan(races, epsilon=1), apart(race), 32_561, None),
        ("Adult education x occupation", plan(job_levels, epsilon=2), apart(jobs), 5000, None),
        ("Adult education x salary, ordinal", ordinal, apart(school), 2000, None),
        ("power: epsilon 1", weak, whole(titanic), 2201, None),
        ("power: beta .6, 300 records", separate, whole(titanic), 300, None),
        ("power: Adult race x salary", plan(races, epsilon=1), whole(race), 32_561, None),
        ("power: Adult education x salary", ordinal, whole(school), 2000, None),
    ]
    for name, each, draw, n, design in cases:
        rng, rejected, start = np.random.default_rng(seed), 0, time.perf_counter()
        first = list(draw(rng, 100))[:2]
        for _ in range(rounds):
            release = each.protect(draw(rng, n))
            rejected += release.test_independence(*first, design=design).p_value < 0.05
        print(f"{name:<36} rejects {rejected / rounds:.4f} of {rounds}"
              f" ({time.perf_counter() - start:.0f} s)", flush=True)  # fmt: skip


def fortunes(added: np.ndarray, seen: np.ndarray, share: float) -> np.ndarray:
    """The logarithm of the fortune against a true share, after each column of counts."""
    scores, where = np.unique(added.round(12), return_inverse=True)
    counts = np.stack([seen[where == i].sum(axis=0) for i in range(len(scores))]).astype(float)
    least, most = scores.min(), scores.max()
    x, m, bets = (scores - least) / (most - least), (share - least) / (most - least), 8192
    thetas = np.sin((2 * np.arange(1, bets + 1) - 1)[:, None] * np.pi / (4 * bets)) ** 2
    grown = np.log(x * thetas / m + (1 - x) * (1 - thetas) / (1 - m)) @ counts
    top = grown.max(axis=0)
    return np.asarray(top + np.log(np.exp(grown - top).mean(axis=0)))


def watched(rounds: int, seed: int) -> None:
    """Print how often intervals miss anywhere."""
    two, three = bs.randomized_response(2, epsilon=1), bs.randomized_response(3, epsilon=1)
    circulant = bs.circulant([0.5, 0.3, 0.1, 0.06, 0.04])
    cases = [
        ("randomized_response(2, epsilon=1)", two, 0, 0.3),
        ("randomized_response(2, epsilon=1)", two, 0, 0.02),
        ("randomized_response(12, epsilon=2)", bs.randomized_response(12, epsilon=2), 0, 1 / 12),
        ("randomized_response(100, epsilon=4)", bs.randomized_response(100, epsilon=4), 0, 0.01),
        ("geometric(5, beta=.6)", bs.geometric(5, beta=0.6), 0, 0.2),
        ("geometric(5, beta=.6)", bs.geometric(5, beta=0.6), 2, 0.3),
        ("difference_set(13, epsilon=1)", bs.difference_set(13, epsilon=1), 2, 0.1),
        ("circulant(.5, .3, .1, .06, .04)", circulant, 0, 0.2),
        ("kron of two at epsilon 1", bs.kron(two, three), 2, 0.2),
    ]
    for name, m, category, share in cases:
        rng, start = np.random.default_rng(seed), time.perf_counter()
        true = np.full(m.size, (1 - share) / (m.size - 1))
        true[category] = share
        added = m.solve(np.eye(m.size))[category]
        missed = {True: 0, False: 0}
        for _ in range(rounds):
            codes = rng.choice(m.size, LOOKS[-1], p=true).astype(np.uint8)
            reported = m.randomize(codes)
            seen = np.stack([np.cumsum(reported == code)[LOOKS - 1] for code in range(m.size)])
            grown = fortunes(added, seen, share)
            widest = int(grown.argmax())
            for always, looks in ((True, [widest]), (False, range(0, len(LOOKS), 10))):
                for look in looks:
                    found = m.estimate(counts=seen[:, look]).interval(always_valid=always)
                    low, high = np.asarray(found)[category]
                    missed[always] += (out := not low <= share <= high)
                    if always and abs(grown[look] - np.log(20)) > 0.1:
                        assert out == (grown[look] > np.log(20)), (grown[look], low, high)
                    if out:
                        break
        print(f"{name:<36} {share:.3f} watched {missed[True] / rounds:.4f}, plain "
              f"{missed[False] / rounds:.4f} of {rounds} miss at a look"
              f" ({time.perf_counter() - start:.0f} s)", flush=True)  # fmt: skip


def channels(rounds: int, seed: int) -> None:
    """Print how often the intervals of a channel cover."""
    dense = [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]]
    cases: list[tuple[str, bs.Channel, list[float]]] = [
        ("forced 1/12, 3/12", bs.Channel(forced=[Fraction(1, 12), Fraction(1, 4)]), [0.7, 0.3]),
        ("Rogan and Gladen, .96 and .89", bs.Channel(sensitivity=0.96, specificity=0.89),
         [0.95, 0.05]),
        ("Warner 1/6", bs.Channel(warner=Fraction(1, 6)), [0.7, 0.3]),
        ("forced, five", bs.Channel(forced=[0.1, 0.1, 0.05, 0.05, 0.05]),
         [0.1, 0.15, 0.1, 0.4, 0.25]),
        ("a written matrix", bs.Channel(dense), [0.3, 0.35, 0.35]),
    ]  # fmt: skip
    for name, channel, true in cases:
        rng, law = np.random.default_rng(seed), channel.apply(true)
        hits: dict[str, np.ndarray] = {}
        for _ in range(rounds):
            counts = rng.multinomial(1000, law)
            for method in ("inverse", "mle"):
                found = channel.estimate(counts=counts, method=method).interval()
                inside = (found[:, 0] <= true) & (np.array(true) <= found[:, 1])
                hits[method] = hits.get(method, 0) + inside
        shown = ", ".join(f"{method} {(many / rounds).min():.4f} to {(many / rounds).max():.4f}"
                          for method, many in hits.items())  # fmt: skip
        print(f"Channel, {name:<30} covers: {shown} of {rounds}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tests(given.rounds, given.seed)
    watched(max(1, given.rounds // 5), given.seed)
    channels(given.rounds, given.seed)
