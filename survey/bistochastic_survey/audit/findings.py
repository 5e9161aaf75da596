"""Findings as data: every attack that succeeds, the worst first, with a fix."""

from collections.abc import Iterable, Iterator

from bistochastic_survey.audit.linkage import OTHER_RELEASE
from bistochastic_survey.audit.results import Audit, Finding, Linkage, Rate
from bistochastic_survey.audit.sentences import percent
from bistochastic_survey.audit.unprotected import ALL
from bistochastic_survey.wording import quoted, shown

# A gain below this is not worth a sentence.
_GAIN = 0.05
# What is about the plan as a whole comes before any attack.
_FIRST = ("unforeseen", "mismatch")
# What stands for the name of a column if several releases are pooled.
OTHER = "several releases"


def risks(audit: Audit) -> dict[str, float | None]:
    """By how much the best attack of each risk beats chance; None if none was tried."""
    tried = {
        "singling out": audit.linkages or audit.scenarios,
        "linkability": audit.pooled or _across(audit),
        "inference": audit.guesses or audit.disclosures,
    }
    gains = {risk: 0.0 if some else None for risk, some in tried.items()}
    for each in findings(audit, 0.0):
        if each.risk:
            gains[each.risk] = max(gains[each.risk] or 0.0, each.gain)
    return gains


def _across(audit: Audit) -> list[Linkage]:
    return [link for link in audit.linkages if link.attack == OTHER_RELEASE]


def findings(audit: Audit, least: float = _GAIN) -> tuple[Finding, ...]:
    """List the findings, at most one for each kind and column."""
    least = min(least, _GAIN)
    made = [*_plan(audit), *_people(audit, least), *_columns(audit, least), *_order(audit)]
    known = {each.columns: each.found for each in made}
    # A column that something else reveals better is not helped by more noise alone.
    made += [each for each in _guesses(audit, least) if known.get(each.columns, 0) <= each.found]
    best: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for each in sorted(made, key=lambda one: (one.kind not in _FIRST, -one.gain)):
        best.setdefault((each.kind, each.columns), each)
    return tuple(best.values())


def _tells(rate: Rate, least: float) -> bool:
    return rate.low > rate.chance and rate.gain >= least


def _of(
    kind: str, columns: tuple[str, ...], tried: str, rate: Rate, fix: str, detail: str = ""
) -> Finding:
    found = rate.observed, rate.chance, rate.predicted
    return Finding(kind, columns, tried, *found, fix, detail)


def _plan(audit: Audit) -> Iterator[Finding]:
    fix = "drop it, or change the plan"
    for sentence in audit.unforeseen:
        yield Finding("unforeseen", (sentence.split("`")[1],), sentence, 1.0, 0.0, None, fix)
    for guess in audit.guesses:
        if guess.rate.agrees is False:
            tried = f"Guesses of {quoted(guess.columns)} are not as often right as the matrix says"
            fix = "check that plan and files belong together"
            yield _of("mismatch", guess.columns, tried, guess.rate, fix)


def _people(audit: Audit, least: float) -> Iterator[Finding]:
    across = _across(audit)
    for link in across:
        if _tells(link.first, least):
            tried = "An attacker who sees another release links the rows of one person in both"
            fix = "publish fewer columns or broader categories where rows must not be linked"
            yield _of("waves", link.columns, tried, link.first, fix)
    links = [link for link in audit.linkages if link not in across]
    if links:
        worst = max(links, key=lambda link: link.first.observed)
        if _tells(worst.first, least):
            tried = "An attacker who knows everyone's true values re-identifies records"
            fix = _protect(audit, worst.causes)
            yield _of("linkage", worst.columns, tried, worst.first, fix, worst.attack)
    for scenario in audit.scenarios:
        known = quoted(scenario.knowledge) or "only that the person is in the release"
        who = f"An intruder who knows {known} of a person"
        if _tells(scenario.first, least):
            fix = _protect(audit, scenario.knows)
            tried = f"{who} finds the person's row"
            yield _of("scenario", scenario.knows, tried, scenario.first, fix)
        for column, rate in zip(scenario.wants, scenario.disclosed, strict=True):
            if _tells(rate, least):
                tried = f"{who} guesses `{shown(column)}`"
                fix = _protect(audit, [column, *scenario.knows])
                yield _of("disclosure", (column,), tried, rate, fix)


def _more(columns: Iterable[str]) -> str:
    return f"protect {quoted(columns) or 'all columns'} more: a lower epsilon or a higher beta"


def _protect(audit: Audit, columns: Iterable[str]) -> str:
    protected = {column for guess in audit.guesses for column in guess.columns}
    more = [column for column in columns if column in protected]
    less = [column for column in columns if column not in protected]
    parts = [_more(more)] * bool(more)
    parts += [f"protect, coarsen or drop {quoted(less)}"] * bool(less)
    return ", or ".join(parts) or _more([])


def _columns(audit: Audit, least: float) -> Iterator[Finding]:
    numbers = {each.column for each in audit.disclosures}
    grouping = {each.by for each in audit.pooled}
    for each in audit.giveaways:
        if not each.beats_reported_value or each.rate.gain < least:
            continue
        seen = each.seen if each.seen == ALL else f"`{shown(each.seen)}`"
        fix = f"drop {seen}, or protect it and `{shown(each.column)}` as one Joint"
        if each.seen == ALL:
            fix = "drop or protect some of them"
        elif each.seen in grouping:
            fix = f"drop {seen}, or replace it by a pseudonym"
        elif each.seen in numbers:
            fix = f"drop {seen}, or move its values further"
        detail = f"from the reported value: {percent(each.reported_rate)}"
        tried = f"An attacker who sees {seen} guesses `{shown(each.column)}`"
        yield _of("giveaway", (each.column,), tried, each.rate, fix, detail)
    for pooled in audit.pooled:
        rate = pooled.rate
        if not pooled.beats_reported_value or rate.gain < least:
            continue
        by, column = f"`{shown(pooled.by)}`", f"`{shown(pooled.column)}`"
        fix = f"drop {by}, or protect {column} more"
        if pooled.agreement > 1 - 1e-9:
            fix = f"draw {column} once per {by} (unit=), or drop {by}"
        tried = f"An attacker who pools the records of one {by} guesses {column}"
        if pooled.by == OTHER:
            fix = "publish one release only, or protect by ids under one key"
            tried = f"An attacker who pools several releases guesses {column}"
        detail = f"from one reported value: {percent(pooled.single)}"
        yield _of("pooled", (pooled.column,), tried, rate, fix, detail)
    for near in audit.disclosures:
        # Numbers are always near their originals now and then.
        if near.rate.observed > 0.5 and near.rate.gain > 5 * least:
            tried = f"`{shown(near.column)}` is revealed to within {near.interval}"
            yield _of("numbers", (near.column,), tried, near.rate, "move its values further")


def _order(audit: Audit) -> Iterator[Finding]:
    telling = [near for near in audit.neighbours if near.is_telling]
    if not telling:
        return
    columns = tuple(column for near in telling for column in near.columns)
    # Neighbours that are seldom alike tell as much as those that often are.
    far = max(abs(near.observed - near.expected) for near in telling)
    chance = next(n.expected for n in telling if abs(n.observed - n.expected) == far)
    found = min(1.0, chance + far)
    tried = f"The order of the rows reveals {quoted(columns)}"
    fix = "shuffle the rows, and drop unprotected columns that keep the order"
    note = "neighbouring rows, by whether their values are the same"
    yield Finding("order", columns, tried, found, chance, None, fix, note)


def _guesses(audit: Audit, least: float) -> Iterator[Finding]:
    for guess in audit.guesses:
        if _tells(guess.rate, least):
            tried = f"An attacker who sees a reported value guesses {quoted(guess.columns)}"
            yield _of("guess", guess.columns, tried, guess.rate, _more(guess.columns))
