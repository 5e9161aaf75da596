"""All attacks on one release, one after the other."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bistochastic import Key
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.analysis.request import between
from bistochastic_survey.audit import guesses, linkage, pooling, scenarios, unprotected
from bistochastic_survey.audit.codes import (
    Attacked,
    Clear,
    Codes,
    ReportedColumn,
    Steps,
    check_columns,
    gather_evidence,
    moved_among_classes,
    read_moved,
)
from bistochastic_survey.audit.findings import OTHER
from bistochastic_survey.audit.pairing import Pairs, pair_rows, same_codes, same_people
from bistochastic_survey.audit.results import Audit, Linkage, Pooled
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release
from bistochastic_survey.release.waves import Wave
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import prefix

TRIAL = (
    "this release: its rows were shuffled, and no columns pair them with the original. All rates "
    "are of a new draw by the same plan, which is not stored"
)

# Up to so many records everyone is a target, beyond it so many are.
EVERYONE = 20_000
SAMPLED = 2_000
# Records are pooled by columns with fewer records for each value than this, on average.
MANY = 20


def attack(
    original: object, release: Release[Any], matching: Mapping[str, object],
    asked: Mapping[str, object], confidence: object, targets: object, seed: object,
    progress: object,
) -> Audit:  # fmt: skip
    """See :func:`bistochastic_survey.audit`."""
    checks.of_type("release", "be a Release", release, Release)
    plan = release.plan
    plan._refuse_undecided()
    level = between("confidence", confidence)
    many = None if targets is None else checks.whole("targets", targets, 1)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    with watched("auditing", progress) as tell:
        steps = Steps(tell)
        pairs = pair_rows(original, release, **matching)
        trial = [TRIAL] * (pairs.how == "nothing")
        if trial:
            pairs = _drawn_again(original, pairs, release)
        attacked = gather_evidence(pairs, plan, steps)
        intruders = scenarios.read(attacked, asked["knows"], asked["wants"])
        others = _others(original, asked["also"], attacked, matching)
        per_person = 1 if pairs.people is None else int(np.bincount(pairs.people).max())
        guessed = [guesses.guess(channel, level, max(per_person, channel.sharing))
                   for channel in steps.over("guess", attacked.channels)]  # fmt: skip
        chosen = _targets(attacked.rows, many, rng)
        links, notes = _linkages(attacked, chosen, level, per_person, steps)
        given = unprotected.given_away(attacked, level, steps)
        links += linkage.by_distance(attacked, chosen, level, steps)
        chosen = _targets(attacked.rows, many, rng)
        found = [scenarios.run(attacked, each, chosen, level, rng)
                 for each in steps.over("scenarios", intruders)]  # fmt: skip
        links += _between(attacked, others, level, many, rng)
        disclosures = [
            d for each in attacked.numbers for d in unprotected.measure_disclosure(each, level)
        ]
        made = Audit(
            plan=plan.name,
            records=attacked.rows,
            matched=pairs.how,
            confidence=level,
            guesses=tuple(each for each in guessed if each is not None),
            linkages=tuple(links),
            giveaways=tuple(given),
            neighbours=tuple(unprotected.neighbours(attacked)),
            disclosures=tuple(disclosures),
            notes=(*trial, *attacked.notes, *notes),
            unforeseen=attacked.unforeseen,
            scenarios=tuple(found),
            pooled=tuple(_pooled(attacked, others, level, rng, steps)),
        )
        if tell is not None:
            tell(1.0)
        return made


def _drawn_again(original: Any, pairs: Pairs, release: Release[Any]) -> Pairs:
    """Put a new draw of the plan, in the order of the original, in the place of shuffled rows.

    The release must be one that the plan can give: its categories are counted, its numbers sorted.
    """
    check_columns(pairs, release.plan)
    for attribute in release.plan.attributes:
        if attribute.whole_column:
            read_moved(pairs, attribute)
        else:
            guesses.refuse_other_counts(pairs, attribute)
    options: dict[str, Any] = {}
    if pairs.memoised and pairs.id_column is not None and pairs.people is not None:
        most = int(np.bincount(pairs.people).max())
        wave = Wave(pairs.id_column, after="first", max_rows=most, rerandomize_numeric=True)
        options = {"ids": wave, "key": Key.generate(), "release_name": "audit"}
    own, plan, names = pairs.original.names, release.plan, set(pairs.published)
    kept = [name for name in own if name in names and name not in plan._protected]
    left = [name for name in own if name not in {*kept, *plan._protected}]
    same = Plan(plan.attributes, keep=kept, drop=left, name=plan.name)
    with warnings.catch_warnings():
        # They were given when the release was made.
        warnings.simplefilter("ignore")
        drawn = same.protect(original, progress=False, **options)
    return replace(pairs, released=opened(drawn.data, any_index=True))


def _others(
    original: object, also: object, attacked: Attacked, matching: Mapping[str, object]
) -> list[Attacked]:
    """Other releases: of the same file, or a pair of another wave and its release."""
    found = []
    if isinstance(also, Release | str) or not isinstance(also, list | tuple):
        raise RefusedType("also", "be a list of releases", type(also).__name__)
    if also and attacked.pairs.how == "nothing":
        raise Refused("also", "come with rows that can be paired", "shuffled rows")
    for each in also:
        wave, release = each if isinstance(each, tuple) and len(each) == 2 else (original, each)
        checks.of_type("also", "hold releases", release, Release)
        paired = pair_rows(wave, release, **{**matching, "shuffled": None})
        if paired.how == "nothing":
            raise Refused("also", "hold rows that can be paired", "shuffled rows")
        if wave is not original and None in (attacked.pairs.id_column, paired.id_column):
            raise Refused("id_column", "match the people of both waves", "none")
        other = gather_evidence(paired, release.plan, Steps(None))
        for channel in other.channels:
            # It raises an error for reports that the plan does not give.
            guesses.guess(channel, 0.5, channel.sharing)
        found.append(other)
    return found


def _pooled(
    attacked: Attacked, others: list[Attacked], level: float, rng: np.random.Generator, steps: Steps
) -> list[Pooled]:
    """Pool records by each unprotected column that groups few of them, and several releases."""
    grouping = {c.name: c.codes for c in (*attacked.clear, *attacked.added)
                if attacked.rows / MANY < c.size < attacked.rows}  # fmt: skip
    pairs = attacked.pairs
    people = pairs.people
    # Whether a reader of the release sees which rows are of one person.
    shown = {pairs.id_column, pairs.pseudonym}.intersection(pairs.released.names)
    if people is not None and shown and int(people.max()) < attacked.rows - 1:
        name = str(pairs.id_column if pairs.how != "pseudonym" else pairs.pseudonym)
        grouping.setdefault(name, people)
    found = []
    for by, channel in steps.over("pool", [(b, c) for b in grouping for c in attacked.channels]):
        made = pooling.pool([channel], [grouping[by]], by, level, rng)
        if channel.attribute.unit == by:
            # One draw for all of them: pooling cannot gain anything.
            made = [replace(each, single=each.rate.observed) for each in made]
        found += made
    if others:
        groups, shared = _people_of([attacked, *others])
        for channel in attacked.channels:
            same = [c for each in others for c in each.channels if c.columns == channel.columns]
            if len(same) == len(others):
                every = [channel, *same]
                if not shared:
                    # Numbers of draws of different releases must differ.
                    starts = np.cumsum([0, *(int(c.draws.max()) + 1 for c in every)])
                    every = [replace(c, draws=c.draws + start)
                             for c, start in zip(every, starts.tolist(), strict=False)]  # fmt: skip
                found += pooling.pool(every, groups, OTHER, level, rng, shared_noise=shared)
    return found


def _between(
    attacked: Attacked, others: list[Attacked], level: float, many: int | None,
    rng: np.random.Generator,
) -> Iterator[Linkage]:  # fmt: skip
    """Link rows to those of each other release, by the protected columns.

    A reported number stands for its class, which stays though the number does not.
    """
    for other in others:
        then = {channel.columns: channel for channel in other.channels}
        mine, theirs = _people_of([attacked, other])[0]
        targets = _targets(attacked.rows, SAMPLED if many is None else many, rng)
        codes: dict[str, tuple[Codes, Codes]] = {}
        for one in attacked.channels:
            two = then.get(one.columns)
            if two is None:
                continue
            if one.attribute._has_numbers and one.attribute.axes == two.attribute.axes:
                codes[one.columns[0]] = _seen(one), _seen(two)
            else:
                tables = attacked.pairs.released, other.pairs.released
                codes |= {column: same_codes(*tables, column)[:2] for column in one.columns}
        found = linkage.between([*codes.values()], (mine, theirs), targets, tuple(codes), level)
        if found is not None:
            yield found


def _people_of(releases: list[Attacked]) -> tuple[list[Codes], bool]:
    """The number of the person of every row, over all releases; and whether noise is shared."""
    every = [each.pairs for each in releases]
    keys = {each.key_used for each in every}
    shared = len(keys) == 1 and None not in keys and all(each.memoised for each in every)
    if all(each.id_column is not None for each in every):
        return same_people(every), shared
    rows = np.arange(releases[0].rows)
    return [rows if each.places is None else each.places for each in every], shared


def _targets(rows: int, many: int | None, rng: np.random.Generator) -> Codes:
    wanted = (rows if rows <= EVERYONE else SAMPLED) if many is None else min(many, rows)
    if wanted == rows:
        return np.arange(rows)
    return np.sort(rng.choice(rows, wanted, replace=False))


def _linkages(
    attacked: Attacked, targets: Codes, confidence: float, per_person: int, steps: Steps
) -> tuple[list[Linkage], list[str]]:
    """By the protected attributes alone, and together with the unprotected columns."""
    channels: list[ReportedColumn] = list(attacked.channels)
    notes = []
    for each in attacked.numbers:
        made = moved_among_classes(each)
        if made is None:
            notes.append(f"{prefix([each.name])}traced by distance alone")
        else:
            channels.append(made)
    # Columns that choose laws, and who is missing, are seen by everybody and belong to the law.
    always = [c for c in attacked.clear if c.name in attacked.laws_of]
    absent = [(~channel.answered).astype(np.intp) for channel in channels
              if not channel.answered.all()]  # fmt: skip
    # Rows of permuted numbers, or of one person, do not stray independently.
    shared = any(channel.sharing > 1 for channel in attacked.channels)
    independent = not attacked.numbers and per_person == 1 and not shared
    # The columns that say most about their true values, and the unprotected ones of most values.
    left = {c.columns: max(m.max_bits - m.entropy_rate for m in c.attribute.matrices)
            for c in attacked.channels}  # fmt: skip
    telling = [c for each in sorted(left, key=lambda e: -left[e])[:2] for c in each]
    wide = sorted(attacked.clear, key=lambda column: -column.size)[:3]
    found = []
    attacks: list[tuple[str, Sequence[Clear], list[str]]] = []
    if channels:
        attacks.append(("protected columns", always, telling))
    if attacked.clear:
        causes = [column.name for column in wide if column.size > 1]
        attacks.append(("with unprotected columns", attacked.clear, causes))
    for attack, clear, causes in attacks:
        found.append(linkage.link(
            channels, [*absent, *(column.codes for column in clear)], targets, attacked.rows,
            steps, attack=attack, confidence=confidence, independent=independent,
            columns=(*(c for channel in channels for c in channel.columns),
                     *(column.name for column in clear)),
            causes=tuple(causes),
        ))  # fmt: skip
    return found, notes


def _seen(channel: ReportedColumn) -> Codes:
    """The reported codes, with one more for a missing value."""
    return np.where(channel.answered, channel.reports, channel.size)
