"""The report of a plan or a release: one page for a board, a lawyer or a journal.

It is a function of the plan, or of the certificate, and of what the caller says on its cover. So
anyone with the certificate can write the same page again, byte for byte. No record is read for it.
"""

import datetime
import math
import shlex
from collections.abc import Sequence
from fractions import Fraction
from os import PathLike

from bistochastic_survey import checks
from bistochastic_survey.files import atomic
from bistochastic_survey.pages import render
from bistochastic_survey.pages.pictures import Bars, Heat, Item, bars
from bistochastic_survey.plan import central, preview
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.definitions import in_words, pooled
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.plan.published import certain, protected, unprotected
from bistochastic_survey.progress import watched
from bistochastic_survey.release.certificate import BLOCKS, Certificate
from bistochastic_survey.release.run import package
from bistochastic_survey.report.column import (
    TABLED,
    DescribedColumn,
    epsilon,
    grouped,
    merged,
    pictures,
)
from bistochastic_survey.report.numbers import MANY, STATED, Precision, after, exponential, percent
from bistochastic_survey.report.sentences import becomes, category, count, names, points
from bistochastic_survey.wording import down, exact, prefix, shown

# The number of records that is spoken of before there is a release.
_EXAMPLE = 10_000
# From here on, no reader is held back by the limit for a suspicion of 1%.
_USELESS = Fraction(99, 100)
# A larger error than this says next to nothing.
_COARSE = 0.5
_REQUIRED = {
    "beta": "beta of the categories and of the numbers, each, at least {}",
    "min_beta": "beta of each column at least {}",
    "epsilon": "epsilon of one record at most {}",
    "pooled": "epsilon of {} records of one unit at most {}",
}


def write_report(
    path: str | PathLike[str],
    plan: Plan,
    *,
    certificate: Certificate | None = None,
    records: int | None = None,
    design_effect: object = 1,
    title: object = None,
    publisher: object = None,
    date: object = None,
    contact: object = None,
) -> None:
    """Write the report of a plan, or of a release by its certificate."""
    target = checks.html_path("path", path)
    effect = checks.positive("design_effect", design_effect)
    if isinstance(date, datetime.date):
        date = date.isoformat()
    given = {"title": title, "publisher": publisher, "date": date, "contact": contact}
    cover = {name: named(name, text) for name, text in given.items() if text is not None}
    if records is not None:
        records = checks.whole("records", records, 1)
        plan = plan.for_records(records)
    with watched("writing the report"):
        text = Report(plan, certificate, records, effect, cover).page()
        atomic.write(target, "path", text)


class Report:
    """What a page says of a plan: `report.html.j2` has the sentences, and reads its attributes."""

    def __init__(
        self,
        plan: Plan,
        certificate: Certificate | None,
        records: int | None,
        design_effect: float = 1.0,
        cover: dict[str, str] | None = None,
    ) -> None:
        self.plan = plan
        self.certificate = certificate
        self.ids = ids = None if certificate is None else certificate.ids
        self.records = certificate.records if certificate is not None else records
        # The number of records that errors are stated for.
        self.spoken_of = self.records or _EXAMPLE
        self.design_effect = design_effect
        self.cover = cover or {}
        units = {} if certificate is None else {u.column: u.count for u in certificate.units}
        every = [
            DescribedColumn(attribute, each, units.get(attribute.unit or ""))
            for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        ]
        self.columns = sorted(every, key=lambda column: column.badness, reverse=True)
        self.coded = [column for column in self.columns if column.law is not None]
        self.numeric = [column for column in self.columns if column.law is None]
        self.limited = [column for column in self.columns if column.odds is not None]
        # The ratios of all protected columns of a person multiply.
        self.odds: Fraction | None = None
        if len(self.limited) == len(every) and not math.isinf(plan.epsilon):
            self.odds = math.prod((c.odds or Fraction(1) for c in every), start=Fraction(1))
        self.unchanged = preview.possibly_unchanged(plan)
        notes: Sequence[str] = ()
        if certificate is not None:
            self.unchanged = list(certificate.published_unchanged)
            notes = certificate.notes
            self.shuffling = certificate.shuffling
        else:
            self.shuffling = central.sentences(plan, records)
        self.notes = [each for each in notes if each not in BLOCKS]
        self.blocks = [each for each in notes if each in BLOCKS]
        self.left_out = [*plan.drop]
        if ids is not None and not ids.row_columns and not ids.kept:
            self.left_out.append(ids.id_column)

    def page(self) -> str:
        """Write the whole page."""
        words = {"becomes": becomes, "category": category, "count": count, "grouped": grouped,
                 "names": names, "prefix": prefix, "shown": shown}  # fmt: skip
        return render("report", report=self, title=self.title, package=package(),
                      linked=preview.LINKED, by_unit=preview.by_unit(self.plan), several=MANY[1:],
                      exposed=preview.exposed(self.plan),
                      **vars(self), **words)  # fmt: skip

    @property
    def title(self) -> str:
        """The caller's title, or the name of the plan or of the protected file."""
        files = self.certificate.files if self.certificate is not None else None
        about = [self.plan.name] if self.plan.name != "plan" else [*(files or {})]
        default = f"Privacy report: {shown(about[0])}" if about else "Privacy report"
        return self.cover.get("title", default)

    # The box above everything.

    @property
    def tiles(self) -> list[tuple[str, str]]:
        """Numbers of columns and of records."""
        clear = self.plan.keep if self.certificate is None else self.certificate.unprotected_columns
        # Also columns that are published in a way that anyone can undo.
        unchanged = len(clear) + sum(len(certain(column.attribute)) for column in self.columns)
        numbers = ((len(protected(self.plan)), "protected"), (unchanged, "published unchanged"))
        tiles = [(str(many), f"column{'s' * (many != 1)} {words}") for many, words in numbers]
        if self.plan.keep == "*" and self.certificate is None:
            tiles[1] = "all other", "columns published unchanged"
        if self.records is not None:
            tiles.append((f"{self.records:,}", f"record{'s' * (self.records != 1)}"))
        return tiles

    @property
    def risks(self) -> list[tuple[str, str]]:
        """Say what one number each limits: finding the row of a person, and linking two releases.

        The reader knows everything but which row is whose. Exchanging two people changes the
        probability of two reported rows, each by at most the odds of all columns, so the row of one
        of n people is found with ``k^2 / (k^2 + n - 1)`` at most.
        """
        found, ids = "no limit", self.ids
        clear = self.plan.keep if self.certificate is None else self.certificate.unprotected_columns
        coded = self.plan._coded
        # Rows that share their noise are recognized by it, and rows by what is not protected.
        shared = any(each.unit for each in coded) or (ids and ids.rows_per_id_checked != 1)
        seen = clear or any(each.missing == "keep" for each in coded)
        if self.odds is not None and not (shared or seen):
            most = percent(after(Fraction(1, max(1, self.spoken_of)), self.odds**2))
            found = f"at most {most}, in {count(self.spoken_of, 'record')}"
            if self.certificate is None:
                found += ", if the rows are shuffled"
            elif not self.certificate.shuffled:
                found = "no limit, as the rows are in the order of the original"
        linked = found
        if ids is not None and not ids.row_columns:
            linked = "no limit, as values by ids stay the same"
        return [
            ("Singling out", f"whoever knows all true values finds the row of a person: {found}"),
            ("Linkability", f"another such release shows which rows are of a person: {linked}"),
        ]

    @property
    def is_useless(self) -> bool:
        """Whether the limit for all columns holds no reader back."""
        return after(STATED[0], self.odds) >= _USELESS

    @property
    def weak(self) -> list[str]:
        """Columns that are changed, but not protected."""
        stays = {c for column in self.columns for c in certain(column.attribute)}
        return [column for column in unprotected(self.plan) if column not in stays]

    @property
    def estimates(self) -> str:
        """How accurate proportions are, in a few words."""
        if self.records == 0:
            return "none: there are no records"
        many = self.spoken_of
        each = [(c, c.precision(many, self.design_effect).within) for c in self.coded]
        known = [within for _, within in each if within is not None]
        if not known:
            return "no proportion of a category can be estimated, or its error was not computed"
        given = "" if self.records is not None else f" from {count(many, 'record')}"
        least = f"within {points(max(known))} percentage points (for 95 of 100 proportions{given})"
        least += ": too few records" * (max(known) > _COARSE)
        others = [name for c, within in each if within is None for name in c.attribute.columns]
        return least + (f", except in {names(others)}" if others else "")

    @property
    def required(self) -> list[str]:
        """What the publisher requires of the plan."""
        return [
            _REQUIRED[name].format(*map(exact, x if name == "pooled" else (x,)))
            for name, x in self.plan.requirement.items()
        ]

    # What is published, and what a reader can learn.

    @property
    def pictures(self) -> list[Heat]:
        """The matrices that are small enough."""
        return pictures(self.coded)

    @property
    def example(self) -> DescribedColumn | None:
        """The least protected column that reveals something and has a limit."""
        return next((c for c in self.limited if c.law is not None and (c.odds or 0) > 1), None)

    @property
    def limits(self) -> list[list[str]]:
        """The most that suspicions become, by column."""
        rows = merged([(column, column.row()) for column in self.columns])
        if len(self.columns) > 1:
            # No mean of categories and permuted numbers says anything.
            parts = [part for _, part, members in preview.betas(self.plan)
                     if len(members) == len(self.columns) and part is not None]  # fmt: skip
            beta = down(parts[0].beta, 4) if parts else "–"
            # The name is not broken into two lines.
            rows.append(["all\u00a0together", "", "", *becomes(self.odds, TABLED), beta,
                         epsilon(self.plan.epsilon)])  # fmt: skip
        return rows

    @property
    def suspicions(self) -> Bars:
        """Suspicions before and after."""
        cases = [(f"after {self.limited[0].plain}", self.limited[0].odds)]
        if len(self.columns) > 1:
            cases.append(("after all columns", self.odds))
        items: list[Item | None] = []
        for suspicion in STATED:
            items += [None] * bool(items)
            items.append(("before", percent(suspicion), 0.0, float(suspicion)))
            for name, most in cases:
                end = float(after(suspicion, most))
                items.append((name, becomes(most, [suspicion])[0], end, end))
        title = "A suspicion before and after the reported values of one person are read, at most"
        return bars(items, title=title, most=1.0)

    @property
    def all_limited(self) -> bool:
        """Whether several columns together have a limit."""
        return self.odds is not None and len(self.columns) > 1

    def repeated(self, records: int) -> str:
        """Say what 1% becomes if so many records have the same true value."""
        most = (self.odds if self.all_limited else self.limited[0].odds) or Fraction(1)
        return becomes(most**records)[0]

    def pooled(self, records: int) -> str:
        """Say what 1% becomes if so many records of one unit are pooled."""
        epsilon = pooled(self.plan, records)
        return becomes(None if math.isinf(epsilon) else exponential(epsilon))[0]

    @property
    def pooled_rows(self) -> list[list[str]]:
        """What records of one unit reveal: every column by itself, and all of them."""
        single = [
            (column, tuple(becomes(column.odds and column.odds**m)[0] for m in MANY))
            for column in self.columns if column.attribute.unit is None
        ]  # fmt: skip
        return [*merged(single), ["all columns", *map(self.pooled, MANY)]]

    @property
    def weakest(self) -> list[tuple[str, ...]]:
        """Columns whose beta is far below the mean that they are a part of."""
        return [
            min(members, key=lambda each: each.beta or 0.0).columns
            for _, part, members in preview.betas(self.plan)
            if part is not None and min(each.beta or 0.0 for each in members) < part.beta / 2
        ]

    # How accurate estimates are.

    @property
    def precisions(self) -> tuple[list[tuple[DescribedColumn, Precision]], list[str]]:
        """The columns with known errors, and sentences about the others."""
        exact = [(c, c.precision(self.spoken_of, self.design_effect)) for c in self.coded]
        known = [(column, each) for column, each in exact if not each.note]
        return known, preview.grouped((c.attribute.columns, p.note) for c, p in exact if p.note)

    def errors(self, known: list[tuple[DescribedColumn, Precision]]) -> list[list[str]]:
        """Tabulate errors from the number of records."""
        within = ["–" if p.within is None else f"± {points(p.within)}" for _, p in known]
        return merged([(c, (points(p.error or 0.0), far, count(p.alike or 0, "record")))
                       for (c, p), far in zip(known, within, strict=True)])  # fmt: skip

    # The appendix.

    @property
    def families(self) -> list[list[str]]:
        """The family of each column, and its least protected category."""
        return merged([(column, column.least()) for column in self.columns])

    @property
    def totals(self) -> list[tuple[str, str]]:
        """The measures of the whole plan."""
        plan = self.plan
        found: list[tuple[str, str]] = []
        for name, part, _ in preview.betas(plan):
            known = "needs a number of records"
            if part is not None:
                none = "" if part.max_bits else ", as there is nothing to hide"
                hidden = f"{down(part.bits, 5)} of {part.max_bits:.5g} bits hidden"
                known = f"{down(part.beta, 4)}: {hidden}{none}"
            found.append((f"Beta of all {name}", known))
        if plan.has_records or plan.categorical is not None:
            found.append(("Smallest beta of a column", down(plan.min_beta, 4)))
        found.append(("Epsilon of one record", epsilon(plan.epsilon)))
        found.append(("Definition", f"{in_words(plan.definition)}, of the paper on this method"))
        return found

    def command(self, file: str) -> str:
        """Write the command that writes this page again."""
        records = self.records if self.certificate is None else None
        more = [] if records is None else ["--records", str(records)]
        if self.design_effect != 1:
            more += ["--design-effect", repr(self.design_effect)]
        for name, text in self.cover.items():
            more += [f"--{name}", text]
        return shlex.join(["bistochastic", "report", file, "--out", "again.html", *more])
