"""Results of an audit: frozen, in numbers and in sentences. All of it is about the data."""

from dataclasses import dataclass

from bistochastic_survey import checks
from bistochastic_survey.files import atomic
from bistochastic_survey.wording import Shown, shown

NOT_FOR_RELEASE = "contains information about the data: not for release"
# From here on the order of the rows is called a finding: by chance once in two million columns.
SURPRISING = 5.0


@dataclass(frozen=True)
class Rate(Shown):
    """How often an attack succeeded, beside what was predicted and what chance gives.

    ``low`` and ``high`` are an exact binomial interval around ``observed``. ``predicted`` follows
    from the laws of the plan; None if they do not say. ``margin`` is how far the two may lie
    apart by chance, but for once in a million times.

    >>> from bistochastic_survey.audit.results import Rate
    >>> rate = Rate(0.5, 0.4, 0.6, predicted=0.52, chance=0.1, margin=0.2)
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


# The risks of Opinion 05/2014 on anonymisation, with the kinds of findings about each.
RISKS = {
    "singling out": ("linkage", "scenario"),
    "linkability": ("waves", "pooled"),
    "inference": ("guess", "disclosure", "giveaway", "order", "numbers"),
}


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """One thing to act on: what was tried, what was found, what chance finds, and a fix.

    ``found`` is the success rate of the attack and ``predicted`` what the plan says of it; None if
    the plan does not say. As a string it is one sentence and the fix.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], keep=["title"])
    >>> people = {"sex": ["F", "M"] * 20, "title": ["Ms", "Mr"] * 20}
    >>> finding = sv.audit(people, plan.protect(people)).findings[0]
    >>> finding.kind, finding.columns, finding.found, finding.chance, finding.gain
    ('giveaway', ('sex',), 1.0, 0.0, 1.0)
    >>> finding.risk, finding.fix
    ('inference', 'drop `title`, or protect it and `sex` as one Joint')
    """

    kind: str
    columns: tuple[str, ...]
    tried: str
    found: float
    chance: float
    predicted: float | None
    fix: str
    detail: str = ""

    @property
    def risk(self) -> str:
        """Singling out, linkability or inference; empty if it is about the plan."""
        return next((risk for risk, kinds in RISKS.items() if self.kind in kinds), "")

    @property
    def gain(self) -> float:
        """How much more often than by chance; never negative."""
        return max(0.0, self.found - self.chance)

    def __repr__(self) -> str:
        what = f"{self.kind} of {listed(self.columns[:3])}"
        return f"<Finding: {what}, found {self.found:.4g}, by chance {self.chance:.4g}>"

    def __str__(self) -> str:
        from bistochastic_survey.audit.sentences import percent

        if self.kind == "unforeseen":
            return f"{self.tried}. Fix: {self.fix}"
        beside = [f"by chance: {percent(self.chance)}"]
        if self.predicted is not None:
            beside.append(f"predicted: {percent(self.predicted)}")
        beside += [self.detail] * bool(self.detail)
        said = f"{self.tried}: {percent(self.found)} ({'; '.join(beside)})"
        return f"{said}. Fix: {self.fix}"


@dataclass(frozen=True)
class Guess(Shown):
    """The best guess of an attribute from its report, by someone who knows the true shares.

    ``rate.chance`` is the hit rate of the best guess without a report.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = sv.audit(people, plan.protect(people))
    >>> found.guesses[0].rate.observed, found.guesses[0].rate.chance
    (1.0, 0.5)
    """

    columns: tuple[str, ...]
    records: int
    rate: Rate


@dataclass(frozen=True)
class Linkage(Shown):
    """Released rows matched with people, by an attacker who knows everyone's true values.

    ``first`` is how often the right person is the likeliest of all, ``five`` how often among the
    five likeliest. People who are equally likely share their places fairly. The attack ``another
    release`` links rows to those of a release in ``also``, by their reported values only.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "identity")], keep=["age"])
    >>> people = {"sex": ["F", "M", "M", "F"], "age": [30, 30, 40, 40]}
    >>> found = sv.audit(people, plan.protect(people))
    >>> [(link.attack, link.first.observed) for link in found.linkages]
    [('protected columns', 0.5), ('with unprotected columns', 1.0)]
    """

    attack: str
    columns: tuple[str, ...]
    targets: int
    first: Rate
    five: Rate
    causes: tuple[str, ...] = ()
    """The columns that distinguish people most."""


@dataclass(frozen=True)
class Giveaway(Shown):
    """How well a published column reveals a protected one, without its reported value.

    Each value is guessed from those of the other records with the same entry in ``seen``, so that a
    column of names or numbers without repetitions tells nothing. ``rate.chance`` is the best guess
    without it, and ``reported_rate`` the best guess from the reported value itself.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], keep=["title"])
    >>> people = {"sex": ["F", "M"] * 20, "title": ["Ms", "Mr"] * 20}
    >>> worst = sv.audit(people, plan.protect(people)).giveaways[0]
    >>> worst.seen, worst.column, worst.rate.observed, worst.beats_reported_value
    ('title', 'sex', 1.0, True)
    """

    seen: str
    column: str
    rate: Rate
    reported_rate: float

    @property
    def beats_reported_value(self) -> bool:
        """Whether it reveals more of the column than the reported value does."""
        return self.rate.low > max(self.reported_rate, self.rate.chance)


@dataclass(frozen=True)
class Neighbours(Shown):
    """How often a row has the same true value as the next one, beside a random order.

    ``deviations`` is the distance in standard deviations. Numbers count as the same if they are of
    the same tenth of the ranks.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    >>> people = {"sex": ["F"] * 50 + ["M"] * 50}
    >>> sv.audit(people, plan.protect(people)).neighbours[0].is_telling
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


@dataclass(frozen=True)
class Scenario(Shown):
    """An intruder who knows some columns of a person, and searches the release for that person.

    ``first`` is how often the person's row is the likeliest of all, ``five`` how often among the
    five likeliest. ``disclosed`` is how often the best guess of each wanted column is right.

    >>> plan = sv.Plan([sv.Categorical("ill", ["no", "yes"], "identity")], keep=["sex", "age"])
    >>> people = {"ill": ["no", "yes", "yes"], "sex": ["F", "M", "M"], "age": [30, 30, 40]}
    >>> found = sv.audit(people, plan.protect(people), knows=["sex", "age"], wants=["ill"])
    >>> [scenario] = found.scenarios
    >>> scenario.first.observed, scenario.disclosed[0].observed
    (1.0, 1.0)
    """

    knows: tuple[str, ...]
    knowledge: tuple[str, ...]
    """The known columns, with how far off what is known may be."""
    wants: tuple[str, ...]
    targets: int
    first: Rate
    five: Rate
    disclosed: tuple[Rate, ...]


@dataclass(frozen=True)
class Pooled(Shown):
    """A column guessed from the reported values of all records that belong together.

    ``by`` is the unprotected column that says which records do, or another release. ``agreement``
    is how often such records share their value, beyond chance, which the attacker of ``rate``
    knows. ``single`` is how often the guess from one reported value is right.

    >>> plan = sv.Plan([sv.Categorical("roof", ["tin", "clay"], "uniform")], keep=["home"])
    >>> people = {"roof": ["tin", "tin", "clay"], "home": [1, 1, 2]}
    >>> [pooled] = sv.audit(people, plan.protect(people)).pooled
    >>> pooled.by, pooled.column, pooled.units, pooled.largest, round(pooled.rate.predicted, 3)
    ('home', 'roof', 2, 2, 0.667)
    """

    by: str
    column: str
    units: int
    largest: int
    agreement: float
    rate: Rate
    single: float

    @property
    def beats_reported_value(self) -> bool:
        """Whether pooling reveals more than one reported value does."""
        more = self.rate.observed - self.single >= 0.01
        return more and self.rate.low > max(self.single, self.rate.chance)


@dataclass(frozen=True)
class Disclosure(Shown):
    """How many released numbers lie close to the original: within ``interval`` of it.

    ``rate.chance`` is the share if all values had been shuffled.

    >>> plan = sv.Plan([sv.Numeric("income", "identity")], keep=["age"])
    >>> people = {"income": [10.0, 20.0, 40.0], "age": [30, 40, 50]}
    >>> found = sv.audit(people, plan.protect(people))
    >>> found.disclosures[0].interval, found.disclosures[0].rate.observed
    ('1% of the ranks', 1.0)
    """

    column: str
    interval: str
    rate: Rate


@dataclass(frozen=True, repr=False)
class Audit:
    """Results of attacks on a release, next to the predictions. Not for release.

    Printing it shows tables, :meth:`report` writes a page, and :attr:`findings` says the worst in a
    few sentences.

    >>> people = sv.titanic()
    >>> levels = {name: sorted(set(column)) for name, column in people.items()}
    >>> plan = sv.Plan.for_frame(levels, beta=0.6)
    >>> found = sv.audit(people, plan.protect(people))
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
    disclosures: tuple[Disclosure, ...]
    notes: tuple[str, ...]
    unforeseen: tuple[str, ...] = ()
    """A sentence for each released column that the plan does not put there."""
    scenarios: tuple[Scenario, ...] = ()
    pooled: tuple[Pooled, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, the worst first, each with a fix; empty if there are none."""
        from bistochastic_survey.audit.findings import findings

        return findings(self)

    @property
    def risks(self) -> dict[str, float | None]:
        """By how much the best attack beats chance, for each risk of Opinion 05/2014.

        *Singling out*: finding the row of a person. *Linkability*: telling which records or
        releases are of one person or group, and pooling these. *Inference*: guessing a value. None
        if no attack of this risk was tried, 0 if none beats chance.
        """
        from bistochastic_survey.audit.findings import risks

        return risks(self)

    def above(self, rate: float) -> tuple[Finding, ...]:
        """The attacks that succeed more often than by chance by more than ``rate``."""
        from bistochastic_survey.audit.findings import findings

        least = checks.limit("rate", rate)
        return tuple(each for each in findings(self, least) if each.gain > least)

    def report(self, path: object) -> None:
        """Write all of it to a self-contained HTML page, marked as not for release."""
        atomic.write(checks.path("path", path), "path", self.to_html())

    def to_html(self) -> str:
        """The text of that page."""
        from bistochastic_survey.audit.sentences import filled

        return filled("audit", self)

    def __str__(self) -> str:
        from bistochastic_survey.audit.sentences import text

        return text(self)

    def __repr__(self) -> str:
        return f"<Audit of {self.records:,} records: {NOT_FOR_RELEASE}>"

    def _repr_html_(self) -> str:
        from bistochastic_survey.audit.sentences import filled

        return filled("audit_notebook", self)


def listed(columns: tuple[str, ...]) -> str:
    """Names of columns in a cell of a table."""
    return ", ".join(shown(column) for column in columns)
