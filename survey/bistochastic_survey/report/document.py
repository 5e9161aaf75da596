"""The report of a plan or a release: one page for a board, a lawyer or a journal.

It is a function of the plan, or of the certificate, and of what the caller says on its cover. So
anyone with the certificate can write the same page again, byte for byte. No record is read for it.
"""

from __future__ import annotations

import datetime
import math
import shlex
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.files import atomic
from bistochastic_survey.plan import preview
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.definitions import in_words, pooled
from bistochastic_survey.plan.published import certain, protected, unprotected
from bistochastic_survey.progress import watched
from bistochastic_survey.release.certificate import BLOCKS
from bistochastic_survey.release.run import package
from bistochastic_survey.report.actions import attribute_deed
from bistochastic_survey.report.column import TABLED, Column, by_column, epsilon, merged, pictures
from bistochastic_survey.report.html import Markup, bars, element, facts, join, page, section, table
from bistochastic_survey.report.precision import SHARES, errors
from bistochastic_survey.report.sentences import (
    becomes,
    category,
    count,
    listed,
    names,
    paragraph,
    points,
    rounded,
    said,
)
from bistochastic_survey.report.suspicion import MANY, STATED, after, exponential, percent
from bistochastic_survey.wording import down, exact, prefix, shown

if TYPE_CHECKING:
    from os import PathLike

    from bistochastic_survey.plan.plan import Plan
    from bistochastic_survey.release.certificate import Certificate
    from bistochastic_survey.report.html.pictures import Item

# Numbers of records that are spoken of before there is a release.
_EXAMPLES = (1_000, 10_000, 100_000, 1_000_000)
_INSECURE = (
    "The key of this release is insecure: anyone can guess it and undo the release. Nothing on "
    "this page is guaranteed."
)
# From here on, no reader is held back by the limit for a suspicion of 1%.
_USELESS = Fraction(99, 100)
# How much of what is published unchanged is named in the box.
_NAMED = 4
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
    target = validate_html_path(path)
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


def validate_html_path(path: str | PathLike[str]) -> Path:
    """Return a path to write a page to."""
    target = Path(checks.path("path", path))
    if target.suffix.lower() not in (".html", ".htm"):
        got = shown(target.suffix) if target.suffix else "no ending"
        raise Refused("path", "end in .html", got)
    return target


class Report:
    """All parts of one page, in the order of a reader's questions."""

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
        self.ids = None if certificate is None else certificate.ids
        self.source = "plan" if certificate is None else "certificate"
        self.records = certificate.records if certificate is not None else records
        # The number of records that errors are stated for.
        self.spoken_of = self.records or _EXAMPLES[1]
        self.design_effect = design_effect
        self.cover = cover or {}
        units = {} if certificate is None else {u.column: u.count for u in certificate.units}
        every = [
            Column(attribute, each, units.get(attribute.unit or ""))
            for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        ]
        self.columns = sorted(every, key=lambda column: column.badness, reverse=True)
        self.coded = [column for column in self.columns if column.law is not None]
        self.limited = [column for column in self.columns if column.odds is not None]
        # The ratios of all protected columns of a person multiply.
        self.odds: Fraction | None = None
        if len(self.limited) == len(every) and not math.isinf(plan.epsilon):
            self.odds = math.prod((c.odds or Fraction(1) for c in every), start=Fraction(1))

    def page(self) -> str:
        """Write the whole page."""
        insecure = self.certificate is not None and self.certificate.key_fingerprint == "insecure"
        sections = [
            ("published", "What is published?", self._published()),
            ("learn", "What can a reader learn?", self._learn()),
            ("not-covered", "What is not covered?", listed(self._not_covered())),
            ("accuracy", "How accurate are estimates?", self._accuracy()),
            ("undo", "Who can undo it?", self._undo()),
            ("appendix", "Appendix", self._appendix()),
        ]
        return page(
            self._title(),
            *(section(title, body, id=id) for id, title, body in sections),
            lead=self._lead(),
            banner=_INSECURE if insecure else None,
            summary=self._headline(),
            contents=[(id, title) for id, title, _ in sections],
            footer=f"Made by bistochastic {package()} from the {self.source} only. "
            "Numbers are rounded so that privacy is never overstated.",
        )

    # The cover.

    def _title(self) -> str:
        """Return the caller's title, or the name of the plan or of the protected file."""
        files = self.certificate.files if self.certificate is not None else None
        about = [self.plan.name] if self.plan.name != "plan" else [*(files or {})]
        default = f"Privacy report: {shown(about[0])}" if about else "Privacy report"
        return self.cover.get("title", default)

    def _lead(self) -> Markup:
        given = [text for name, text in self.cover.items() if name != "title"]
        what, source = "On a release", "plan and the certificate"
        if self.certificate is None:
            what, source = "On a plan, before any release", "plan"
        read = [c for c in self.coded if c.coded.categories_from_data]
        also = f" The plan took the categories of {count(len(read), 'column')} from the data."
        text = f"{what}. Made from the {source} only: no record was read.{also * bool(read)}"
        return join([element("strong", " · ".join(given)), element("br")] if given else None, text)

    # The box above everything.

    def _headline(self) -> Markup:
        clear = self.plan.keep if self.certificate is None else self.certificate.unprotected_columns
        # Also columns that are published in a way that anyone can undo.
        unchanged = len(clear) + sum(len(certain(column.attribute)) for column in self.columns)
        numbers = ((len(protected(self.plan)), "protected"), (unchanged, "published unchanged"))
        tiles = [(str(many), f"column{'s' * (many != 1)} {words}") for many, words in numbers]
        if self.plan.keep == "*" and self.certificate is None:
            tiles[1] = "all other", "columns published unchanged"
        if self.records is not None:
            tiles.append((f"{self.records:,}", f"record{'s' * (self.records != 1)}"))
        each = [element("span", element("strong", many), f" {words}") for many, words in tiles]
        lines = [(name, said(text)) for name, text in self._headlines()]
        return join(element("p", each, class_="bs-tiles"), facts(lines))

    def _headlines(self) -> list[tuple[str, str]]:
        found = [("One column", self._one())]
        if len(self.columns) > 1:
            found.append(("All columns of one person", self._all()))
        if self.plan.units:
            most = becomes(_pooled_odds(self.plan, 3))[0]
            text = f"a 1% suspicion grows to at most {most}, if their true values are equal"
            found.append(("Three records of one unit", text))
        if self.coded:
            found.append(("Estimates", self._estimates()))
        stays = {c for column in self.columns for c in certain(column.attribute)}
        weak = [column for column in unprotected(self.plan) if column not in stays]
        if weak:
            found.append(("Changed, but not protected", names(weak)))
        phrases = self._phrases()
        if phrases:
            more = f"; {len(phrases) - _NAMED} more" if len(phrases) > _NAMED else ""
            found.append(("Published unchanged", "; ".join(phrases[:_NAMED]) + more))
        return [*found, ("Required by the publisher", self._requirement())]

    def _one(self) -> str:
        free = [name for c in self.columns if c.odds is None for name in c.attribute.columns]
        none = f"no limit in {names(free)}" if free else ""
        if not self.limited:
            return none
        worst = self.limited[0]
        most = f"a 1% suspicion grows to at most {becomes(worst.odds)[0]} ({worst.name})"
        return f"{none}; in the other columns {most}" if free else most

    def _all(self) -> str:
        if self.odds is None:
            return "no limit: a reader who knows which row is a person's can become certain"
        most = f"a 1% suspicion grows to at most {becomes(self.odds)[0]}"
        return f"{most}: no useful limit" if after(STATED[0], self.odds) >= _USELESS else most

    def _estimates(self) -> str:
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

    def _requirement(self) -> str:
        plan = self.plan
        if not plan.requirement:
            return "the plan states no requirement"
        asked = [
            _REQUIRED[name].format(*map(exact, x if name == "pooled" else (x,)))
            for name, x in plan.requirement.items()
        ]
        met = "**met**" if plan._unmet is None else f"**not met**: {plan._unmet}"
        return f"{', '.join(asked)}: {met}"

    # What is published?

    def _published(self) -> Markup:
        phrases, left, ids = self._phrases(), [*self.plan.drop], self.ids
        if ids is not None and not ids.row_columns and not ids.kept:
            left.append(ids.id_column)
        return join(
            paragraph(
                "The values of protected columns are reported values. Each is drawn at random, "
                "with public probabilities, and may be false. Which values are false is not "
                "published.",
                any(not column.is_open for column in self.coded),
            ),
            listed(by_column((c, attribute_deed(c.attribute)) for c in self.columns)),
            element("div", pictures(self.coded), class_="bs-figures"),
            element("h3", "Published unchanged"),
            listed(phrases),
            paragraph("Nothing but the number of records.", not phrases),
            paragraph(f"Left out: {names(left)}.", left),
        )

    def _phrases(self) -> list[str]:
        if self.certificate is not None:
            return list(self.certificate.published_unchanged)
        return preview.possibly_unchanged(self.plan)

    # What can a reader learn?

    def _learn(self) -> Markup:
        header = ["Column", "Categories", "Truthful probability", "1% becomes", "10% becomes",
                  "Beta", "Epsilon"]  # fmt: skip
        rows = merged([(column, column.row()) for column in self.columns])
        several = len(self.columns) > 1
        if several:
            # No mean of categories and permuted numbers says anything.
            parts = [part for _, part, members in preview.betas(self.plan)
                     if len(members) == len(self.columns) and part is not None]  # fmt: skip
            beta = down(parts[0].beta, 4) if parts else "–"
            name = element("span", "all together", class_="bs-keep")
            rows.append([name, "", "", *becomes(self.odds, TABLED), beta,
                         epsilon(self.plan.epsilon)])  # fmt: skip
        caption = ("A reader suspects a value of one person with 1% or 10% probability, and then "
                   "sees the reported value. How sure can the reader be? A suspicion becomes at "
                   "most this, in the worst case.")  # fmt: skip
        beside = paragraph(
            "The row of a column covers its own reported value. Reported values of related columns "
            "reveal more, but never more than the last row says.",
            several,
        )
        even = [(column, each) for column in self.columns if (each := column.even()) is not None]
        reasons = [(column, reason) for column in self.columns for reason in column.reasons()]
        return join(
            self._example(),
            table(header, rows, caption=caption),
            element("div", self._suspicions(), element("div", beside, self._households()),
                    class_="bs-beside"),
            listed(by_column(even)),
            element("h3", "Where a reader can become certain") if reasons else None,
            listed(by_column(reasons)),
        )  # fmt: skip

    def _example(self) -> Markup | None:
        """Write the row of the worst column as a sentence."""
        for worst in self.limited:
            if worst.law is not None and (worst.odds or 0) > 1:
                return paragraph(
                    f"For example, a reader suspects with 1% probability that the true "
                    f"{worst.name} of a person is `{category(worst.coded, 0)}`. After seeing the "
                    f"reported value, the reader can be at most {becomes(worst.odds)[0]} sure."
                )
        return None

    def _suspicions(self) -> Markup | None:
        """Suspicions before and after, as bars."""
        if not self.limited:
            return None
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

    def _households(self) -> list[object]:
        """Say what several records with the same true value reveal."""
        if self.plan.units:
            return self._units()
        both = self.odds is not None and len(self.columns) > 1
        text = ("All limits hold for one record. If several records have the same true value, e.g. "
                "in a household, epsilon is multiplied by their number.")  # fmt: skip
        if self.limited:
            most = (self.odds if both else self.limited[0].odds) or Fraction(1)
            of = "in all columns together" if both else f"in {self.limited[0].name}"
            each = [f"{becomes(most**m)[0]} with {m}" for m in MANY[1:]]
            text += f" A 1% suspicion then grows to at most {', '.join(each)} records, {of}."
        text += " Values that are related, but not equal, reveal no more than equal ones."
        return [element("h3", "Several records of one household"), paragraph(text)]

    def _units(self) -> list[object]:
        """Say what pooled records of one unit reveal: every column by itself, and all of them."""
        text = ("All limits above hold for one record. If records of one unit, by "
                f"{names(self.plan.units or ())}, have the same true value, their reported values "
                "can be pooled: columns drawn by the unit count once, epsilon of each other column "
                "is multiplied by the number of records.")  # fmt: skip
        single = [
            (column, tuple(becomes(column.odds and column.odds**m)[0] for m in MANY))
            for column in self.columns if column.attribute.unit is None
        ]  # fmt: skip
        every = [becomes(_pooled_odds(self.plan, m))[0] for m in MANY]
        caption = "What a suspicion of 1% becomes at most, by the number of records of one unit"
        rows: list[list[object]] = [*merged(single), ["all columns", *every]]
        return [
            element("h3", "Several records of one unit"),
            listed(preview.by_unit(self.plan)),
            paragraph(text),
            table(["Column", *map(str, MANY)], rows, caption=caption),
        ]

    # What is not covered?

    def _not_covered(self) -> list[str]:
        plan = self.plan
        numeric = [c.attribute for c in self.columns if c.attribute.whole_column]
        moved = prefix(a.column for a in numeric if a.how == "permute")
        kept = "the unprotected columns" if plan.keep == "*" else names(plan.keep)
        weak = [
            min(members, key=lambda each: each.beta or 0.0).columns
            for _, part, members in preview.betas(plan)
            if part is not None and min(each.beta or 0.0 for each in members) < part.beta / 2
        ]
        rows = [
            (True, "**Audit.** This report is made without the data. It cannot say which columns "
                   "are correlated, or how many people can be re-identified. The publisher can "
                   "measure that before publishing, with `bistochastic audit`, and keeps the "
                   "result confidential"),
            (plan.keep and plan.units is None,
             "**Units.** The plan names no columns that group records. If one of "
             f"{kept} does, as the number of a household would, reported values of its "
             "records can be pooled"),
            (plan.keep or numeric, "**Correlated columns.** An unprotected or numeric column that "
                                   "is correlated with a protected one can reveal it"),
            (any(a.how == "permute" for a in numeric),
             f"**Linkage.** {preview.LINKED} {moved[:1].upper()}{moved[1:]}equal numbers are "
             "exchanged without effect"),
            *((True, f"**Weak column.** {prefix(columns)}beta is less than half of the beta of all "
                     "such columns, which is a mean") for columns in weak),
            (self.ids is None or self.ids.rows_per_id_checked != 1,
             "**Several rows.** If a person has several rows, each of them reveals something"),
            (True, "**Membership.** It is not hidden that a person is in the table"),
            (True, "**Groups.** Estimates about a group say something about everyone known to be "
                   "in it"),
            (True, "**Other releases.** Another release about the same people with new noise "
                   "reveals more: the epsilons add up"),
        ]  # fmt: skip
        return [text for holds, text in rows if holds]

    # How accurate are estimates?

    def _accuracy(self) -> Markup:
        ids, numbers = self.ids, [c for c in self.columns if c.attribute.whole_column]
        return join(
            paragraph(
                "Proportions of reported values are biased. Because the probabilities are known, "
                "true proportions can be estimated without bias, with an interval: `bistochastic "
                "estimate`. Four times the records halve the error.",
                self.coded,
            ),
            self._errors() if self.coded else None,
            paragraph(
                "Records of one id with the same true value share their noise, which these errors "
                "ignore. Estimates need `cluster=`, a column that says which records have one id.",
                ids is not None and not ids.row_columns and ids.rows_per_id_checked != 1,
            ),
            paragraph(
                "Errors of columns that are drawn once per unit are for units of equal size, each "
                "of which counts as one record.",
                any(column.units is not None for column in self.coded),
            ),
            paragraph(
                "If there is a matrix per group, the errors are for the most protective one, as if "
                "it held for all records.",
                any(column.attribute.groups is not None for column in self.coded),
            ),
            listed(by_column((c, c.estimable()) for c in numbers)),
        )

    def _errors(self) -> list[object]:
        if self.records == 0:
            return [paragraph("There are no records, so there is nothing to estimate.")]
        effect = self.design_effect
        exact = [(c, c.precision(self.spoken_of, effect)) for c in self.coded]
        known = [(column, each) for column, each in exact if not each.note]
        sample = "for a simple random sample" if effect == 1 else (
            f"for a sample with a design effect of {effect:g}")  # fmt: skip
        rows: list[tuple[Column, tuple[str, ...]]]
        if self.records is not None:
            header = ["Column", "Standard error, points", "95 of 100 within, points", "As good as"]
            rows = [(c, (points(each.error or 0.0), _within(each.within),
                         count(each.alike or 0, "record"))) for c, each in known]  # fmt: skip
            caption = f"Errors of proportions from {count(self.records, 'record')}, {sample}"
            note = ("In percentage points. Standard error: if all categories are equally frequent. "
                    "95 of 100 estimates are within the next number in the worst case. As good as "
                    "this many unprotected records.")  # fmt: skip
        else:
            header = ["Column", *(count(many, "record") for many in _EXAMPLES)]
            rows = [(c, tuple(_within(c.precision(many, effect).within) for many in _EXAMPLES))
                    for c, _ in known]  # fmt: skip
            caption = f"95 of 100 estimates of a proportion are within, {sample}"
            note = "In percentage points, in the worst case."
        found: list[object] = []
        if known:
            left = element("div", table(header, merged(rows), caption=caption), paragraph(note))
            right = self._ranges([c for c, _ in known])
            found = [element("div", left, right, class_="bs-beside")]
        other = by_column((c, each.note) for c, each in exact if each.note)
        heading = paragraph("What can be estimated from other columns:", other)
        return [*found, heading, listed(other)]

    def _ranges(self, known: list[Column]) -> Markup | None:
        """Draw true proportions and the range of their estimates, for the least accurate column."""
        worst = max(known, key=lambda c: c.precision(self.spoken_of).within or 0.0)
        many = worst.units or self.spoken_of
        each = [errors(m, many, self.design_effect) for m in worst.coded.matrices]
        if None in each:
            return None
        most = [max(at) for at in zip(*(one for one in each if one is not None), strict=True)]
        items: list[Item | None] = []
        for share, e in zip(SHARES, most, strict=True):
            low, high = max(0.0, share - e), min(1.0, share + e)
            text = f"{rounded(low, e)} to {rounded(high, e)}"
            items.append((f"true {share:.0%}", text, low, high))
        title = (f"True proportion of a category of {worst.name}, and where 95 of 100 estimates "
                 f"from {count(many, 'unit' if worst.units else 'record')} are")  # fmt: skip
        return bars(items, title=title.replace("`", ""), caption=said(title), most=1.0)

    # Who can undo it?

    def _undo(self) -> Markup:
        insiders = "the original data, or the key if there is one"
        notes = [
            "Nothing has been published yet. Without a key, the noise cannot be reproduced, not "
            "even by the publisher",
            "With a key, anyone with the key can undo the release. The key is then as confidential "
            "as the original data",
        ]
        if self.certificate is not None:
            kept = self.certificate.key_stored
            insiders = "the key or the original data" if kept else "the original data"
            notes = [each for each in self.certificate.notes if each not in BLOCKS]
        return join(
            paragraph("The limits hold against everyone who sees what is published: the table, "
                      "this report, the plan and the certificate, whatever else they know. "
                      f"They do not hold against anyone with {insiders}."),
            listed(notes),
        )  # fmt: skip

    # The appendix.

    def _appendix(self) -> Markup:
        notes = () if self.certificate is None else self.certificate.notes
        rows = merged([(column, column.least()) for column in self.columns])
        return join(
            element("h3", "Measures"),
            paragraph(
                "**Truthful probability**: how often the true category is reported. **Beta**: the "
                "part of the largest possible uncertainty that a reported value leaves; 0 hides "
                "nothing, 1 hides everything. Beta is an average over categories. **Epsilon**: the "
                "logarithm of the largest factor by which a reported value favours one true value "
                "over another; infinite if it can rule one out. Epsilons of columns add up."
            ),
            table(["Column", "Family", "Beta, least protected category"], rows,
                  caption="Families", left=(0, 1, 2)),
            facts(self._totals()),
            [column.groups() for column in self.coded],
            element("h3", "Origin and digests"),
            facts((name, said(text)) for name, text in self._origin()),
            listed([each for each in notes if each in BLOCKS]),
            element("h3", "Verify this page"),
            element("ul", [element("li", said(step)) for step in self._verify()]),
        )  # fmt: skip

    def _totals(self) -> list[tuple[str, str]]:
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

    def _origin(self) -> list[tuple[str, str]]:
        plan, certificate, ids = self.plan, self.certificate, self.ids
        version = package() if certificate is None else certificate.package
        found = [
            ("Package", f"bistochastic {shown(version)}"),
            ("Plan", f"`{shown(plan.name)}`, digest `{plan.digest}`"),
        ]
        if certificate is None:
            return found
        name = certificate.release_name
        key = f"stored, fingerprint `{certificate.key_fingerprint}`"
        found += [
            ("Certificate", f"digest `{certificate.digest}`"),
            *((f"SHA-256 of {shown(file)}", f"`{each}`")
              for file, each in (certificate.files or {}).items()),
            ("Key", key if certificate.key_stored else "generated for this release and discarded"),
            ("Release name", "none" if name is None else f"`{shown(name)}`"),
            ("Order of the rows", "random" if certificate.shuffled else "as in the original"),
        ]  # fmt: skip
        if certificate.engine is not None:
            found.append(("Engine", shown(certificate.engine)))
        if ids is not None and ids.row_columns:
            found.append(("Rows", f"addressed by {names(ids.row_columns)}, {ids.kind}"))
        elif ids is not None:
            wave = f"after the one with the digest `{ids.after}`"
            found.append(("People", f"identified by {names([ids.id_column])}, {ids.kind}"))
            found.append(("Wave", "the first" if ids.after == "first" else wave))
        return found

    def _verify(self) -> list[str]:
        released = self.certificate is not None
        file = "CERTIFICATE.json" if released else "PLAN.toml"
        more = [] if released or self.records is None else ["--records", str(self.records)]
        if self.design_effect != 1:
            more += ["--design-effect", repr(self.design_effect)]
        for name, text in self.cover.items():
            more += [f"--{name}", text]
        command = shlex.join(["bistochastic", "report", file, "--out", "again.html", *more])
        wrong = " It rejects one whose numbers do not follow from its plan." if released else ""
        covered = "the plan and the certificate" if released else "the plan"
        sums = "The digests do not cover protected files. Ask the publisher for their checksums."
        if self.certificate is not None and self.certificate.files:
            sums = ("`sha256sum FILE` prints the SHA-256 above if the file is the one that was "
                    "written with this certificate.")  # fmt: skip
        found = [
            f"Show the {self.source}: `bistochastic inspect {file}`.{wrong}",
            f"Write this page again: `{shown(command)}`. The same {self.source} and version give "
            "the same page, byte for byte.",
            f"Compare the digests with those that the publisher states. They show every change of "
            f"{covered}, but they are not a signature: get them from someone you trust.",
            sums,
        ]
        if self.certificate is not None and self.certificate.key_stored:
            found.append("Anyone with the key and the original data can reproduce the release, and "
                         "compare.")  # fmt: skip
        return found


def _pooled_odds(plan: Plan, m: int) -> Fraction | None:
    """Find the largest factor by which ``m`` records of one unit favour one true value."""
    epsilon = pooled(plan, m)
    return None if math.isinf(epsilon) else exponential(epsilon)


def _within(known: float | None) -> str:
    return "–" if known is None else f"± {points(known)}"
