"""All attacks on one release, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.audit import (
    giveaways,
    guesses,
    linkage,
    numbers,
    pooling,
    scenarios,
    utility,
)
from bistochastic.audit.evidence import gather_evidence, moved_among_classes
from bistochastic.audit.findings import OTHER
from bistochastic.audit.pairing import pair_rows, same_people
from bistochastic.audit.propensity import propensity
from bistochastic.audit.results import Audit
from bistochastic.audit.views import releases
from bistochastic.models.regression import compare
from bistochastic.plan.attributes import named, prefix
from bistochastic.plan.plan import Plan
from bistochastic.plan.protect import Release
from bistochastic.progress import watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Channel, Clear, Evidence
    from bistochastic.audit.pairing import Pairs
    from bistochastic.audit.results import Linkage, Pooled, Rate
    from bistochastic.progress import Told

    Codes = NDArray[np.intp]

# Up to so many records everyone is a target, beyond it so many are.
EVERYONE = 20_000
SAMPLED = 2_000
# Records are pooled by columns with fewer records for each value than this, on average.
MANY = 20
# How much of the time each step takes, about.
_STEPS = {"read": 0.1, "guess": 0.05, "trace": 0.3, "clear": 0.15, "seen": 0.1, "distance": 0.05,
          "use": 0.1, "scenarios": 0.1, "pool": 0.05}  # fmt: skip


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
    knows: object,
    wants: object,
    also: object,
    formula: object,
    model: object,
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
        told = _Progress(tell)
        step = told.step("read")
        pairs = pair_rows(original, released, plan, **matching)
        evidence = gather_evidence(pairs, plan, step)
        if pairs.how == "nothing":
            for channel in evidence.channels:
                guesses.refuse_other_counts(channel)
            [(_, drawn), *_] = releases(evidence.channels, rng)
            evidence = replace(evidence, channels=tuple(drawn))
        asked = scenarios.read(evidence, knows, wants)
        others = _others(original, also, pairs, plan, matching)
        fitted = None
        if formula is not None:
            data = released.data if isinstance(released, Release) else released
            fitted = compare(plan, original, data, named("formula", formula), named("model", model))
        made = _attack(pairs, evidence, plan, level, many, rng, told)
        chosen = _targets(evidence.rows, many, rng)
        step = told.step("scenarios")
        found = []
        for done, each in enumerate(asked):
            step(done / len(asked))
            found.append(scenarios.run(evidence, each, chosen, level, rng))
        pooled = _pooled(pairs, evidence, others, level, rng, told.step("pool"))
        made = replace(made, scenarios=tuple(found), pooled=tuple(pooled), coefficients=fitted)
        told.end()
        return _predicted_only(made) if pairs.how == "nothing" else made


def _predicted_only(audit: Audit) -> Audit:
    """Show what is predicted in the place of what another draw would give."""

    def only(rate: Rate) -> Rate:
        if rate.predicted is None:
            return rate
        return replace(rate, observed=rate.predicted, low=rate.predicted, high=rate.predicted)

    return replace(
        audit,
        guesses=tuple(replace(e, rate=only(e.rate)) for e in audit.guesses),
        linkages=tuple(replace(e, first=only(e.first), five=only(e.five)) for e in audit.linkages),
        scenarios=tuple(
            replace(e, first=only(e.first), five=only(e.five),
                    disclosed=tuple(map(only, e.disclosed)))
            for e in audit.scenarios
        ),
        pooled=tuple(
            replace(e, rate=only(e.rate), all_share=only(e.all_share),
                    single=only(e.worst).observed if e.single >= e.worst.observed else e.single)
            for e in audit.pooled
        ),
        repeats=None,
    )  # fmt: skip


def _others(
    original: object, also: object, pairs: Pairs, plan: Plan, matching: dict[str, Any]
) -> list[tuple[Pairs, Evidence]]:
    """Other releases: of the same file, or a pair of another wave and its release."""
    found = []
    if isinstance(also, Release | str) or not isinstance(also, list | tuple):
        raise TypeError(f"`also` must be a list of releases; got {type(also).__name__}")
    if also and pairs.how == "nothing":
        raise ValueError("`also` must come with rows that can be paired; got shuffled rows")
    for each in also:
        wave, release = each if isinstance(each, tuple) and len(each) == 2 else (original, each)
        own = release.certificate.plan if isinstance(release, Release) else plan
        paired = pair_rows(wave, release, own, **{**matching, "shuffled": None})
        if paired.how == "nothing":
            raise ValueError("`also` must hold rows that can be paired; got shuffled rows")
        if wave is not original and (pairs.id_column is None or paired.id_column is None):
            raise ValueError("`id_column` must match the people of both waves; got none")
        evidence = gather_evidence(paired, own, lambda _: None)
        for channel in evidence.channels:
            guesses.refuse_unlikely(channel, guesses.count_hits(channel), channel.sharing)
        found.append((paired, evidence))
    return found


def _pooled(
    pairs: Pairs, evidence: Evidence, others: list[tuple[Pairs, Evidence]], level: float,
    rng: np.random.Generator, tell: Callable[[float], None],
) -> list[Pooled]:  # fmt: skip
    """Pool records by each unprotected column that groups few of them, and several releases."""
    grouping = [(c.name, c.codes) for c in (*evidence.clear, *evidence.added)
                if evidence.rows / MANY < c.size < evidence.rows]  # fmt: skip
    if pairs.people is not None and pairs.shows_people:
        name = str(pairs.id_column if pairs.how != "pseudonym" else pairs.pseudonym)
        if (
            name not in {each for each, _ in grouping}
            and int(pairs.people.max()) < evidence.rows - 1
        ):
            grouping.append((name, pairs.people))
    found = []
    for done, (by, codes) in enumerate(grouping):
        for i, channel in enumerate(evidence.channels):
            made = pooling.pool([channel], [codes], by, level, rng)
            if channel.attribute is not None and channel.attribute.unit == by:
                # One draw for all of them: pooling cannot gain anything.
                made = [replace(each, single=each.worst.observed) for each in made]
            found += made
            tell((done + i / len(evidence.channels)) / (len(grouping) + 1))
    if others:
        groups, shared = _people_of(pairs, others)
        for channel in evidence.channels:
            same = [c for _, each in others for c in each.channels if c.columns == channel.columns]
            if len(same) == len(others):
                every = [channel, *same]
                if not shared:
                    # Numbers of draws of different releases must differ.
                    starts = np.cumsum([0, *(int(c.truths.size) + _most(c) for c in every)])
                    every = [replace(c, draws=_own(c) + start)
                             for c, start in zip(every, starts.tolist(), strict=False)]  # fmt: skip
                found += pooling.pool(every, groups, OTHER, level, rng, shared_noise=shared)
    return found


def _own(channel: Channel) -> Codes:
    return np.arange(len(channel.truths)) if channel.draws is None else channel.draws


def _most(channel: Channel) -> int:
    return 0 if channel.draws is None else int(channel.draws.max()) + 1


def _people_of(pairs: Pairs, others: list[tuple[Pairs, Evidence]]) -> tuple[list[Codes], bool]:
    """The number of the person of every row, over all releases; and whether noise is shared."""
    every = [pairs, *(each for each, _ in others)]
    keys = {each.key_used for each in every}
    shared = len(keys) == 1 and None not in keys and all(each.memoised for each in every)
    if all(each.id_column is not None for each in every):
        return same_people(every), shared
    rows = np.arange(pairs.original.rows)
    return [rows if each.places is None else each.places for each in every], shared


def _attack(
    pairs: Pairs,
    evidence: Evidence,
    plan: Plan,
    level: float,
    many: int | None,
    rng: np.random.Generator,
    told: _Progress,
) -> Audit:
    per_person = 1 if pairs.people is None else int(np.bincount(pairs.people).max())
    tell = told.step("guess")
    found = []
    for done, channel in enumerate(evidence.channels):
        found.append(guesses.guess(channel, level, max(per_person, channel.sharing)))
        tell(done / len(evidence.channels))
    chosen = _targets(evidence.rows, many, rng)
    links, notes = _linkages(evidence, chosen, level, per_person, told)
    given = giveaways.given_away(evidence, level, told.step("seen"))
    links += numbers.by_distance(evidence, chosen, level, told.step("distance"))
    tables, more = utility.pair_tables(evidence, rng, told.step("use"))
    return Audit(
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
        means=tuple(utility.group_means(evidence)),
    )


def _targets(rows: int, many: int | None, rng: np.random.Generator) -> Codes:
    """The rows that are traced: all, or a random sample."""
    wanted = (rows if rows <= EVERYONE else SAMPLED) if many is None else min(many, rows)
    if wanted == rows:
        return np.arange(rows)
    return np.sort(rng.choice(rows, wanted, replace=False))


def _linkages(
    evidence: Evidence,
    targets: Codes,
    confidence: float,
    per_person: int,
    told: _Progress,
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
    shared = any(channel.sharing > 1 for channel in channels)
    independent = not evidence.numbers and per_person == 1 and not shared
    # The columns that say most about their true values, and the unprotected ones of most values.
    left = {c.columns: max(m.max_bits - m.entropy_rate for m in c.attribute.matrices)
            for c in channels if c.attribute is not None}  # fmt: skip
    telling = [c for each in sorted(left, key=lambda e: -left[e])[:2] for c in each]
    wide = sorted(evidence.clear, key=lambda column: -column.size)[:3]
    names = tuple(column for channel in channels for column in channel.columns)

    def traced(
        attack: str, clear: list[Clear], seen: tuple[str, ...], step: str, causes: list[str]
    ) -> Linkage:
        keys = [*absent, *(column.codes for column in clear)]
        return linkage.link(
            channels, keys, targets, evidence.rows, attack=attack, columns=seen,
            confidence=confidence, independent=independent, tell=told.step(step),
            causes=tuple(causes),
        )  # fmt: skip

    found = []
    if channels:
        seen = (*names, *(column.name for column in always))
        found.append(traced("protected columns", always, seen, "trace", telling))
    if evidence.clear:
        seen = (*names, *(column.name for column in evidence.clear))
        causes = [column.name for column in wide if column.size > 1]
        found.append(
            traced("with unprotected columns", list(evidence.clear), seen, "clear", causes)
        )
    return found, notes
