"""All attacks on one release, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.audit import giveaways, guesses, linkage, numbers, utility
from bistochastic.audit.evidence import gather_evidence, moved_among_classes
from bistochastic.audit.pairing import pair_rows
from bistochastic.audit.propensity import propensity
from bistochastic.audit.results import Audit
from bistochastic.plan.attributes import prefix
from bistochastic.plan.plan import Plan
from bistochastic.progress import watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Channel, Clear, Evidence
    from bistochastic.audit.results import Linkage
    from bistochastic.progress import Told

    Codes = NDArray[np.intp]

# Up to so many records everyone is a target, beyond it so many are.
EVERYONE = 20_000
SAMPLED = 2_000
# How much of the time each step takes, about.
_STEPS = {"read": 0.1, "guess": 0.05, "trace": 0.35, "clear": 0.2, "seen": 0.1, "distance": 0.1,
          "use": 0.1}  # fmt: skip


class _Progress:
    """Tells how much is done of all steps together."""

    def __init__(self, given: Told | None) -> None:
        self._given = given
        self._done = 0.0

    def step(self, name: str) -> Callable[[float], None]:
        """What the step of that name is told by."""
        start, whole = self._done, _STEPS[name]
        self._done += whole

        def tell(share: float) -> None:
            if self._given is not None:
                self._given(min(1.0, start + whole * share))

        tell(0.0)
        return tell

    def end(self) -> None:
        """All is done."""
        if self._given is not None:
            self._given(1.0)


def attack(
    original: object,
    released: object,
    plan: object,
    *,
    id_column: object,
    pseudonym: object,
    key: object,
    shuffled: object,
    confidence: object,
    targets: object,
    seed: object,
    progress: object,
) -> Audit:
    """See :func:`bistochastic.audit`."""
    if not isinstance(plan, Plan):
        raise TypeError(f"`plan` must be a Plan; got {type(plan).__name__}")
    plan._refuse_undecided()
    level = _core.as_real("confidence", "be between 0 and 1", confidence)
    if not 0 < level < 1:
        raise ValueError(f"`confidence` must be between 0 and 1; got {level:g}")
    many = None if targets is None else _core.as_whole("targets", targets, 1)
    rng = np.random.default_rng(_core.as_whole("seed", seed, 0))
    matching = {"id_column": id_column, "pseudonym": pseudonym, "key": key, "shuffled": shuffled}
    with watched("auditing", progress) as tell:
        return _attack(original, released, plan, level, many, rng, _Progress(tell), matching)


def _attack(
    original: object,
    released: object,
    plan: Plan,
    level: float,
    many: int | None,
    rng: np.random.Generator,
    told: _Progress,
    matching: dict[str, Any],
) -> Audit:
    tell = told.step("read")
    pairs = pair_rows(original, released, plan, **matching)
    evidence = gather_evidence(pairs, plan, tell)
    per_person = 1 if pairs.people is None else int(np.bincount(pairs.people).max())
    tell = told.step("guess")
    found = []
    for done, channel in enumerate(evidence.channels):
        found.append(guesses.guess(channel, level, per_person))
        tell(done / len(evidence.channels))
    chosen = _targets(evidence.rows, many, rng)
    links, notes = _linkages(evidence, chosen, level, per_person, told)
    given = giveaways.given_away(evidence, level, told.step("seen"))
    links += numbers.by_distance(evidence, chosen, level, told.step("distance"))
    tables, more = utility.pair_tables(evidence, rng, told.step("use"))
    made = Audit(
        plan=plan.name,
        records=evidence.rows,
        matched=pairs.how,
        confidence=level,
        guesses=tuple(each for each in found if each is not None),
        linkages=tuple(links),
        giveaways=tuple(given),
        neighbours=tuple(giveaways.neighbours(evidence)),
        repeats=giveaways.repeats(pairs, evidence),
        disclosures=tuple(
            d for each in evidence.numbers for d in numbers.measure_disclosure(each, level)
        ),
        marginals=tuple(m for m in map(utility.marginal, evidence.channels) if m is not None),
        pairs=tuple(tables),
        correlations=tuple(utility.correlations(evidence)),
        propensity=propensity(evidence, rng),
        notes=(*evidence.notes, *notes, *more),
        unforeseen=evidence.unforeseen,
    )
    told.end()
    return made


def _targets(rows: int, many: int | None, rng: np.random.Generator) -> Codes:
    """The rows that are traced: all, or a random sample."""
    wanted = (rows if rows <= EVERYONE else SAMPLED) if many is None else min(many, rows)
    if wanted == rows:
        return np.arange(rows)
    return np.sort(rng.choice(rows, wanted, replace=False))


def _linkages(
    evidence: Evidence, targets: Codes, confidence: float, per_person: int, told: _Progress
) -> tuple[list[Linkage], list[str]]:
    """By the protected attributes alone, and together with the unprotected columns."""
    channels: list[Channel] = list(evidence.channels)
    notes = []
    for each in evidence.numbers:
        made = moved_among_classes(each)
        if made is None:
            notes.append(f"{prefix([each.name])}traced by distance alone")
        else:
            channels.append(made)
    # Columns that choose laws, and who is missing, are seen by everybody and belong to the law.
    always = [c for c in evidence.clear if c.name in evidence.laws_of]
    absent = [(~channel.answered).astype(np.intp) for channel in channels
              if channel.answered is not None]  # fmt: skip
    # Rows of permuted numbers, or of one person, do not stray independently.
    independent = not evidence.numbers and per_person == 1
    names = tuple(column for channel in channels for column in channel.columns)

    def traced(attack: str, clear: list[Clear], seen: tuple[str, ...], step: str) -> Linkage:
        keys = [*absent, *(column.codes for column in clear)]
        return linkage.link(
            channels, keys, targets, evidence.rows, attack=attack, columns=seen,
            confidence=confidence, independent=independent, tell=told.step(step),
        )  # fmt: skip

    found = []
    if channels:
        seen = (*names, *(column.name for column in always))
        found.append(traced("protected columns", always, seen, "trace"))
    if evidence.clear:
        seen = (*names, *(column.name for column in evidence.clear))
        found.append(traced("with unprotected columns", list(evidence.clear), seen, "clear"))
    return found, notes
