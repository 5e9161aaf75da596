"""Results of an audit: frozen, in numbers and in sentences. All of it is about the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bistochastic.audit.part import NOT_FOR_RELEASE, Part
from bistochastic.words import shown

# From here on the order of the rows is called a finding: by chance once in two million columns.
SURPRISING = 5.0


@dataclass(frozen=True, repr=False)
class Rate(Part):
    """How often an attack succeeded, beside what was predicted and what chance gives.

    ``low`` and ``high`` are an exact binomial interval around ``observed``. ``predicted`` follows
    from the laws of the plan; None if they do not say. ``margin`` is how far the two may lie
    apart by chance, but for once in a million times.

    >>> import bistochastic as bs
    >>> rate = bs.results.Rate(0.5, 0.4, 0.6, predicted=0.52, chance=0.1, margin=0.2)
    >>> rate.agrees, rate.gain
    (True, 0.4)
    """

    observed: float
    low: float
    high: float
    predicted: float | None
    chance: float
    margin: float | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether chance explains the distance to the prediction; None without a prediction."""
        if self.predicted is None or self.margin is None:
            return None
        return abs(self.observed - self.predicted) <= self.margin

    @property
    def gain(self) -> float:
        """How much more often than without the attack; never negative."""
        return max(0.0, self.observed - self.chance)

    def _brief(self) -> str:
        return f"{self.observed:.4g} (from {self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, repr=False)
class Guess(Part):
    """The best guess of an attribute from its report, by someone who knows the true shares.

    ``rate.chance`` is the hit rate of the best guess without a report.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found.guesses[0].rate.observed, found.guesses[0].rate.chance
    (1.0, 0.5)
    """

    columns: tuple[str, ...]
    records: int
    rate: Rate


@dataclass(frozen=True, repr=False)
class Linkage(Part):
    """Released rows matched with people, by an attacker who knows everyone's true values.

    ``first`` is how often the right person is the likeliest of all, ``five`` how often among the
    five likeliest. People who are equally likely share their places fairly.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> [(link.attack, link.first.observed) for link in found.linkages]
    [('protected columns', 0.5), ('with unprotected columns', 1.0)]
    """

    attack: str
    columns: tuple[str, ...]
    targets: int
    first: Rate
    five: Rate


@dataclass(frozen=True, repr=False)
class Giveaway(Part):
    """How well a published column reveals a protected one, without its reported value.

    Each value is guessed from those of the other records with the same entry in ``seen``, so that a
    column of names or numbers without repetitions tells nothing. ``rate.chance`` is the best guess
    without it, and ``reported_rate`` the best guess from the reported value itself.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "uniform")], keep=["title"])
    >>> people = {"sex": ["F", "M"] * 20, "title": ["Ms", "Mr"] * 20}
    >>> worst = bs.audit(people, plan.protect(people), plan).giveaways[0]
    >>> worst.seen, worst.column, worst.rate.observed, worst.beats_reported_value
    ('title', 'sex', 1.0, True)
    """

    seen: str
    column: str
    rate: Rate
    reported_rate: float | None

    @property
    def beats_reported_value(self) -> bool:
        """Whether it reveals more of the column than the reported value does."""
        better = self.reported_rate is None or self.rate.low > self.reported_rate
        return better and self.rate.low > self.rate.chance


@dataclass(frozen=True, repr=False)
class Neighbours(Part):
    """How often a row has the same true value as the next one, beside a random order.

    ``deviations`` is the distance in standard deviations. Of a column of numbers it is the rank
    correlation of neighbours.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "uniform")])
    >>> people = {"sex": ["F"] * 50 + ["M"] * 50}
    >>> bs.audit(people, plan.protect(people), plan).neighbours[0].is_telling
    True
    """

    columns: tuple[str, ...]
    observed: float
    expected: float
    deviations: float

    @property
    def is_telling(self) -> bool:
        """Whether the order is not a random one."""
        return abs(self.deviations) > SURPRISING


@dataclass(frozen=True, repr=False)
class Repeats(Part):
    """People with several rows. ``redrawn`` had the same value drawn more than once.

    ``visible`` says whether the release shows which rows are of one person.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "identity")], keep=["person"])
    >>> people = {"sex": ["F", "F", "M"], "person": [1, 1, 2]}
    >>> bs.audit(people, plan.protect(people), plan, id_column="person").repeats
    <Repeats: column person, people 2, repeated 1, most rows 2, redrawn 0, visible yes>
    """

    column: str
    people: int
    repeated: int
    most_rows: int
    redrawn: int
    visible: bool


@dataclass(frozen=True, repr=False)
class Disclosure(Part):
    """How many released numbers lie close to the original: within ``interval`` of it.

    ``rate.chance`` is the share if all values had been shuffled.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Numeric("income", "identity")], keep=["age"])
    >>> people = {"income": [10.0, 20.0, 40.0], "age": [30, 40, 50]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found.disclosures[0].interval, found.disclosures[0].rate.observed
    ('1% of the ranks', 1.0)
    """

    column: str
    interval: str
    rate: Rate


@dataclass(frozen=True, repr=False)
class Marginal(Part):
    """One attribute as it was, as it was reported, and as estimated from the reports.

    The distances are total variation: the share of records that would have to change. ``reason``
    says why there is no estimate.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found.marginals[0].categories, found.marginals[0].true, found.marginals[0].estimated
    (('F', 'M'), (0.5, 0.5), (0.5, 0.5))
    """

    columns: tuple[str, ...]
    categories: tuple[object, ...]
    true: tuple[float, ...]
    reported: tuple[float, ...]
    estimated: tuple[float, ...] | None
    reported_distance: float
    estimated_distance: float | None
    reason: str = ""


@dataclass(frozen=True, repr=False)
class PairTable(Part):
    """The table of two attributes: distance of reports and of estimates from the truth.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical(name, [0, 1], "identity") for name in ("a", "b")])
    >>> people = {"a": [0, 1, 1], "b": [1, 1, 0]}
    >>> bs.audit(people, plan.protect(people), plan).pairs[0].reported_distance
    0.0
    """

    columns: tuple[tuple[str, ...], tuple[str, ...]]
    reported_distance: float
    estimated_distance: float | None


@dataclass(frozen=True, repr=False)
class Correlation(Part):
    """Of two columns of numbers, before and after.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Numeric("income", "identity")], keep=["age"])
    >>> people = {"income": [10.0, 20.0, 40.0], "age": [30, 40, 50]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found.correlations[0].columns, round(found.correlations[0].true, 3)
    (('income', 'age'), 0.982)
    """

    columns: tuple[str, str]
    true: float
    released: float


@dataclass(frozen=True, repr=False)
class Propensity(Part):
    """A logistic regression that tries to tell original from release.

    ``pmse`` is the mean squared distance of its guesses from one half, ``expected`` what two
    samples of one population would give, ``auc`` how often it ranks a released row above an
    original one.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found.propensity.auc, found.propensity.ratio < 1e-9
    (0.5, True)
    """

    pmse: float
    expected: float
    auc: float
    parameters: int
    records: int

    @property
    def ratio(self) -> float:
        """``pmse`` over ``expected``: about 1, or less, where the two look alike."""
        return self.pmse / self.expected if self.expected else math.inf if self.pmse else 0.0


@dataclass(frozen=True, repr=False)
class Audit:
    """Results of attacks on a release, next to the predictions. Not for release.

    Printing it shows tables, :meth:`report` writes a page, and :attr:`findings` says the worst in a
    few sentences.

    >>> import bistochastic as bs
    >>> people = bs.titanic()
    >>> levels = {name: sorted(set(column)) for name, column in people.items()}
    >>> plan = bs.Plan.for_frame(levels, beta=0.6)
    >>> found = bs.audit(people, plan.protect(people), plan)
    >>> found
    <Audit of 2,201 records: contains information about the data: not for release>
    >>> all(guess.rate.agrees for guess in found.guesses)
    True
    """

    plan: str
    records: int
    matched: str
    confidence: float
    guesses: tuple[Guess, ...]
    linkages: tuple[Linkage, ...]
    giveaways: tuple[Giveaway, ...]
    neighbours: tuple[Neighbours, ...]
    repeats: Repeats | None
    disclosures: tuple[Disclosure, ...]
    marginals: tuple[Marginal, ...]
    pairs: tuple[PairTable, ...]
    correlations: tuple[Correlation, ...]
    propensity: Propensity | None
    notes: tuple[str, ...]
    unforeseen: tuple[str, ...] = ()
    """A sentence for each released column that the plan does not put there."""

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings, in sentences, each with a fix; empty if there are none."""
        from bistochastic.audit.words import findings

        return tuple(findings(self))

    def report(self, path: object) -> None:
        """Write all of it to a self-contained HTML page, marked as not for release."""
        from bistochastic.audit.page import write

        write(self, path)

    def to_html(self) -> str:
        """The text of that page."""
        from bistochastic.audit.page import page

        return page(self)

    def __str__(self) -> str:
        from bistochastic.audit.words import text

        return text(self)

    def __repr__(self) -> str:
        return f"<Audit of {self.records:,} records: {NOT_FOR_RELEASE}>"

    def _repr_html_(self) -> str:
        from bistochastic.audit.page import notebook

        return notebook(self)


def listed(columns: tuple[str, ...]) -> str:
    """Names of columns in a cell of a table."""
    return ", ".join(shown(column) for column in columns)


__all__ = [
    "NOT_FOR_RELEASE",
    "Audit",
    "Correlation",
    "Disclosure",
    "Giveaway",
    "Guess",
    "Linkage",
    "Marginal",
    "Neighbours",
    "PairTable",
    "Propensity",
    "Rate",
    "Repeats",
    "listed",
]
