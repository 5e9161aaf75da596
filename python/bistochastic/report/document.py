"""The report of a plan or a release: one page that can be handed over.

It is a function of the plan, or of the certificate, and of nothing else. So whoever has the
certificate can make the same page again, byte for byte. No answer is looked at for it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from bistochastic import _core
from bistochastic.markup import Markup, element, facts, join, page, section, table
from bistochastic.markup.pictures import LARGEST
from bistochastic.plan import preview
from bistochastic.plan.attributes import prefix
from bistochastic.plan.certificate import BLOCKS
from bistochastic.plan.definitions import in_words
from bistochastic.plan.published import protected, unprotected
from bistochastic.progress import watched
from bistochastic.report import explorer
from bistochastic.report.beliefs import MANY, STATED, after
from bistochastic.report.column import Column, epsilon, errors
from bistochastic.report.deeds import attribute_deeds
from bistochastic.report.levels import levels
from bistochastic.report.sentences import (
    becomes,
    before,
    beliefs,
    count,
    listed,
    names,
    points,
    said,
)
from bistochastic.words import down, shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.definitions import Bits
    from bistochastic.plan.plan import Plan

# Steps of the slider inside a report, which may have many columns.
_STEPS = 21
# Numbers of records that are spoken of before there is a release.
_EXAMPLES = (1_000, 10_000, 100_000, 1_000_000)
_INSECURE = (
    "The key of this release is insecure: anyone can guess it and undo the release. Nothing on "
    "this page is guaranteed."
)
_SEVERAL = "Several records with the same true value"
_WHERE = "Where someone may become certain"
_CERTAIN = element("a", f"“{_WHERE}”", href="#certain")
# From here on a belief of 1 % is no bound that anyone can use.
_USELESS = Fraction(99, 100)


def write_report(
    path: str | PathLike[str],
    plan: Plan,
    *,
    certificate: Certificate | None = None,
    records: int | None = None,
    design_effect: float = 1,
) -> None:
    """Write the report of a plan, or of a release by its certificate."""
    target = checked(path)
    effect = _core.as_real("design_effect", "be a number above 0", design_effect)
    if not 0 < effect < math.inf:
        raise ValueError(f"`design_effect` must be a number above 0; got {effect:g}")
    if records is not None:
        records = _core.as_whole("records", records, 1)
        plan = plan.for_records(records)
    with watched("writing the report"):
        write(target, Report(plan, certificate, records, effect).page())


def checked(path: str | PathLike[str]) -> Path:
    """A path to write a page to."""
    target = Path(_core.as_path("path", path))
    if target.suffix.lower() not in (".html", ".htm"):
        got = shown(target.suffix) if target.suffix else "no ending"
        raise ValueError(f"`path` must end in .html; got {got}")
    return target


def write(path: str | PathLike[str], text: str) -> None:
    """Write a page that appears when it is whole."""
    from bistochastic.files import whole

    whole.write(checked(path), "path", text)


class Report:
    """All parts of one page."""

    def __init__(
        self,
        plan: Plan,
        certificate: Certificate | None,
        records: int | None,
        design_effect: float = 1.0,
    ) -> None:
        self.plan = plan
        self.design_effect = design_effect
        self.certificate = certificate
        self.records = certificate.records if certificate is not None else records
        self.columns = [
            Column(attribute, each)
            for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        ]
        self.odds = self._together()

    def _together(self) -> Fraction | None:
        """Of all protected columns of a person: the ratios multiply."""
        each = [column.odds for column in self.columns]
        if math.isinf(self.plan.epsilon) or None in each:
            return None
        return math.prod((part for part in each if part is not None), start=Fraction(1))

    def page(self) -> str:
        """The whole page."""
        scenes = self._scenes()
        sections = [
            ("summary", "In short", self._summary()),
            ("deeds", "What is done to each column", self._deeds()),
            ("guarantees", "What is guaranteed, and against whom", self._guarantees()),
            ("numbers", "The measures in full", self._numbers()),
            ("clear", "What is published unchanged", self._clear()),
            ("key", "What a holder of the key can do", self._key()),
            ("estimates", "What can still be estimated, and how well", self._estimates()),
        ]
        if scenes:
            sections.append(("explore", "What another beta would do", self._explore()))
        sections.append(("audit", "What this page cannot see: audits", self._audit()))
        sections.append(("origin", "Origin, and how to verify this page", self._origin()))
        made = [section(title, body, id=id) for id, title, body in sections]
        return page(
            f"Privacy report: {shown(self.plan.name)}",
            *made,
            lead=f"{self._about()} {self._holds()}",
            banner=_INSECURE if self._insecure else None,
            contents=[(id, title) for id, title, _ in sections],
            footer=f"Made by bistochastic {explorer.package()} from the {self._source} alone. "
            "Numbers are rounded so that privacy is never overstated.",
            script=explorer.script() if scenes else None,
            data=explorer.data(scenes, self._spoken_of) if scenes else None,
        )

    @property
    def _insecure(self) -> bool:
        return self.certificate is not None and self.certificate.key_fingerprint == "insecure"

    @property
    def _source(self) -> str:
        return "plan" if self.certificate is None else "certificate"

    @property
    def _spoken_of(self) -> int:
        """The number of records that the slider tells errors for."""
        return self.records or _EXAMPLES[1]

    def _about(self) -> str:
        if self.certificate is not None:
            return f"Report on a release of {count(self.records or 0, 'record')}."
        if self.records is not None:
            return f"Report on a plan for {count(self.records, 'record')}, before any release."
        return "Report on a plan, before any release."

    def _holds(self) -> str:
        """What the page was made from, and whether a plan took levels from the data."""
        source = "plan" if self.certificate is None else "plan and the certificate"
        made = f"This page was made from the {source} alone, without looking at any answer."
        read = [c for c in self.columns if c.law is not None and c.coded.categories_from_data]
        if not read:
            return made
        many = count(len(read), "column")
        return f"{made} The plan itself took the levels of {many} from the data."

    def _package(self) -> str:
        return explorer.package() if self.certificate is None else self.certificate.package

    # In short.

    def _summary(self) -> Markup:
        lines: list[object] = [
            *self._columns(),
            *self._all_together(),
            *self._how(),
            *self._weakest(),
            self._in_clear(),
        ]
        if self.certificate is not None:
            lines.append(said(self.certificate.notes[0]))
        lines += self._one_record()
        lines += self._left()
        see = element("a", "audit", href="#audit")
        lines.append(
            join("This page does not know the data. It cannot see what columns tell about each "
                 "other, or how many people can be recognised. Whoever holds the original can find "
                 "out before the release, by an ", see, ", and keeps the result confidential.")
        )  # fmt: skip
        return element("ul", [element("li", line) for line in lines])

    def _columns(self) -> list[object]:
        """Which columns are protected, and which are not though the plan has a rule for them."""
        columns = protected(self.plan)
        others = unprotected(self.plan)
        many = "" if self.records is None else f"There are {count(self.records, 'record')}. "
        are = "column is" if len(columns) == 1 else "columns are"
        told = join(f"{len(columns)} {are} protected: ", names(columns), ".")
        found: list[object] = [join(many, told if columns else "No column is protected.")]
        if others:
            have = "column has" if len(others) == 1 else "columns have"
            rule = f"{len(others)} {have} a rule that does not protect: "
            found.append(join(rule, names(others), "."))
        return found

    def _how(self) -> list[object]:
        """What happens to answers, and to numbers that chance has no part in."""
        moving = [c for c in self.columns if not c.is_open]
        numeric = [c.attribute for c in moving if c.attribute.whole_column]
        found: list[object] = []
        if len(numeric) < len(moving):
            found.append(
                "Every protected answer is kept or exchanged by chance before it is published. The "
                "chances are public; who was exchanged is not."
            )
        for order, near, most in (("rank", " near in rank", "most"), (None, "", "many")):
            moved = [a.column for a in numeric if a.how == "permute" and a.order == order]
            if moved:
                among = f" are exchanged by chance among people{near}. Where many people have the "
                same = f"same number, {most} keep theirs. All numbers that occur are published."
                found.append(join("The numbers in ", names(moved), among, same))
        if any(a.how == "permute" for a in numeric):
            found.append(preview.LINKED)
        means = [a.column for a in numeric if a.how == "average"]
        if means:
            by = " are replaced by means of classes, without chance."
            found.append(join("The numbers in ", names(means), by))
        return found

    def _weakest(self) -> list[object]:
        """The columns that may make someone certain, and the one of the others that tells most."""
        certain = [c for c in self.columns if c.odds is None or c.remark() is not None]
        bounded = [column for column in self.columns if column not in certain]
        found: list[object] = []
        if certain:
            columns = [name for column in certain for name in column.attribute.columns]
            several = "columns" if len(columns) > 1 else "column"
            see = " someone may become certain of something: see "
            found.append(join(f"In the {several} ", names(columns), see, _CERTAIN, "."))
        if bounded:
            worst = max(bounded, key=lambda column: column.odds or 0)
            among = "Of the other columns" if certain else "Of all columns"
            tells = " can tell the most. "
            lead = (
                join(f"{among}, a report of ", worst.name, tells) if len(self.columns) > 1 else ""
            )
            found.append(join(lead, worst.sentence()))
        return found

    def _all_together(self) -> list[object]:
        if len(self.columns) == 1:
            return []
        many = sum(len(column.attribute.columns) for column in self.columns)
        none = f"Taken together, the {many} columns give no"
        who = "bound: someone who can tell which row is a person's may become"
        what = "certain of something about that person"
        if self.odds is None:
            return [join(f"{none} {who} {what}: see ", _CERTAIN, ".")]
        if after(STATED[0], self.odds) >= _USELESS:
            return [f"{none} useful {who} practically {what}."]
        one, ten, half = becomes(self.odds)
        return [said(f"All protected columns of a person together can raise a belief about that "
                     f"person from 1 % to at most {one}, from 10 % to at most {ten}, and from 50 % "
                     f"to at most {half}.")]  # fmt: skip

    def _in_clear(self) -> object:
        phrases = self._clear_phrases()
        if not phrases:
            return "Nothing is published unchanged."
        return join(
            "Published unchanged: ", [["; " * (i > 0), said(x)] for i, x in enumerate(phrases)], "."
        )

    def _left(self) -> list[object]:
        """The largest error of a share, in one line."""
        if not self.records:
            return []
        coded = [column for column in self.columns if column.law is not None]
        each = [column.precision(self.records, self.design_effect) for column in coded]
        known = [one.within for one in each if one.within is not None]
        if not known or len(known) < len(coded):
            return []
        return ["Shares of answers can still be estimated: 95 of 100 estimates are within "
                f"{points(max(known))} percentage points of the truth, or closer, "
                f"{self._sampled()}."]  # fmt: skip

    def _sampled(self) -> str:
        """Which samples the errors are for."""
        if self.design_effect == 1:
            return "for a simple random sample"
        return f"for a sample with a design effect of {self.design_effect:g}"

    # What is done.

    def _deeds(self) -> Markup:
        found: list[object] = []
        for column in self.columns:
            found.append(element("h3", column.name))
            found.append(listed(attribute_deeds(column.attribute)))
            found.append(column.picture())
            found.append(element("p", element("strong", "So: "), column.sentence()))
        return join(found)

    # What is guaranteed.

    def _guarantees(self) -> Markup:
        rows: list[list[object]] = [
            [join(column.name, column.remark()), *becomes(column.odds)] for column in self.columns
        ]
        if len(self.columns) > 1:
            rows.append(["all of them together", *becomes(self.odds)])
        header = ["what is reported", *before()]
        found: list[object] = [
            element("h3", "Against whom"),
            element(
                "p",
                "The guarantee holds against everyone who sees what is published: the protected "
                "table, this report, the plan and the certificate. They may know anything else, "
                "all other answers of the person included, and compute as much as they like. It "
                f"does not hold against those who have {self._insiders()}.",
            ),
            element("h3", "What a report does to a belief"),
            element(
                "p",
                said(
                    "Suppose someone thinks that an answer of one person is 1 % likely, and then "
                    "sees what is reported of this person in that column. The table says how "
                    "likely they can think it is afterwards, at most. That is the worst case over "
                    "all answers, all reports, and all that they may think of the other answers."
                ),
            ),
            table(header, rows, caption="The most that a belief can become, by one record"),
            self._example(),
        ]
        if len(self.columns) > 1:
            found.append(
                element(
                    "p",
                    "A column's row is about its own reported value. If columns are related, the "
                    "others reveal something, too. The last row of this table is the most that all "
                    "reported values of one person together can reveal.",
                )
            )
        found += self._several()
        reasons = _grouped((column, line) for column in self.columns for line in column.reasons())
        if reasons:
            found += [
                element("h3", _WHERE, id="certain"),
                listed(reasons),
            ]
        found += [element("h3", "What is not guaranteed"), listed(self._not_guaranteed())]
        return join(found)

    def _one_record(self) -> list[object]:
        """What the bounds hold for, in one line."""
        most = self._most()
        if most is None:
            return []
        see = element("a", f"“{_SEVERAL}”", href="#several")
        told = becomes(most[0] ** 3)[0]
        more = "Of three records with the same true value, as in a household, a belief of 1\u00a0% "
        more += f"becomes at most {told}: see "
        return [join("Every bound here holds for one record. ", more, see, ".")]

    def _most(self) -> tuple[Fraction, Markup] | None:
        """The largest odds that there is a bound of, and what they are of."""
        if self.odds is not None and len(self.columns) > 1:
            return self.odds, join("in all columns together")
        known = [column for column in self.columns if column.odds is not None]
        if not known:
            return None
        worst = max(known, key=lambda column: column.odds or 0)
        return worst.odds or Fraction(1), join("in ", worst.name)

    def _several(self) -> list[object]:
        """What several records with the same true value tell, which a household may have."""
        found: list[object] = [
            element("h3", _SEVERAL, id="several"),
            element(
                "p",
                said(
                    "Every bound on this page holds for one record. Where several records have the "
                    "same true value, as in a household, epsilon is multiplied by their number. "
                    "Values that are related, but not equal, never tell more than equal ones."
                ),
            ),
        ]
        most = self._most()
        if most is None:
            return found
        rows: list[list[object]] = [[count(m, "record"), *becomes(most[0] ** m)] for m in MANY]
        caption = join("The most that a belief can become, ", most[1])
        return [*found, table(["what is reported of", *before()], rows, caption=caption)]

    def _insiders(self) -> str:
        if self.certificate is None:
            return "the original, or the key if there is one"
        return "the key or the original" if self.certificate.key_stored else "the original"

    def _example(self) -> Markup | None:
        """A row as a sentence, for those who do not read tables."""
        known = [column for column in self.columns if column.odds is not None]
        if not known:
            return None
        told = said(beliefs(known[0].odds or Fraction(1)))
        return element("p", "For example ", known[0].name, ": ", told, class_="bs-note")

    def _not_guaranteed(self) -> list[str]:
        numeric = [c.attribute for c in self.columns if c.attribute.whole_column]
        moved = [a.column for a in numeric if a.how == "permute"]
        found = []
        if moved:
            found.append(
                f"{prefix(moved)}equal numbers are exchanged without effect. Where few numbers "
                "differ, most people keep theirs"
            )
        if self.plan.keep or numeric:
            found.append(
                "An unprotected column, or one of numbers, that goes with a protected column gives "
                "it away. No number on this page sees that"
            )
        for _, part, members in preview.betas(self.plan):
            weak = min(members, key=lambda each: each.beta or 0.0)
            if len(members) > 1 and part is not None and (weak.beta or 0.0) < part.beta / 2:
                found.append(
                    f"{prefix(weak.columns)}beta is less than half of that of all such columns. "
                    "That is a mean, in which others make up for it"
                )
        ids = None if self.certificate is None else self.certificate.ids
        if ids is None or ids.rows_per_id_checked != 1:
            found.append(
                "The guarantee is for one row. Where a person has several rows, each of them tells "
                "something"
            )
        found += [
            "It is not hidden whether a person is in the file",
            "What holds for a group can still be estimated, and says something about everyone who "
            "is known to be in that group",
            "Another release about the same people with fresh chance tells more: the epsilons add",
        ]
        return found

    # The measures.

    def _numbers(self) -> Markup:
        header = ["columns", "rule", "levels", "beta", "beta of the worst row", "epsilon"]
        found: list[object] = [
            element(
                "p",
                element("strong", "Beta"),
                " is the share of perfect secrecy: 0 hides nothing, 1 hides everything. It is an "
                "average over the levels. ",
                element("strong", "The worst row"),
                " is the level whose reports are the least uncertain. ",
                element("strong", "Epsilon"),
                " is the natural logarithm of the largest factor by which a report favours one "
                "answer over another: 0 hides everything, and infinite means that some report "
                "rules some answer out. The epsilons of several columns add.",
            ),
            table(header, [c.row() for c in self.columns], caption="Each column with a rule",
                  left=(0, 1)),
            facts(self._totals(), caption="All of them together"),
        ]  # fmt: skip
        found += [column.groups() for column in self.columns]
        return join(found)

    def _totals(self) -> list[tuple[object, object]]:
        plan = self.plan
        found: list[tuple[object, object]] = []
        for name, part, _ in preview.betas(plan):
            told = "takes a number of records" if part is None else _bits(part)
            found.append((f"Beta of {name}", told))
        if plan.has_records or plan.categorical is not None:
            found.append(("Smallest beta of a column", down(plan.min_beta, 4)))
        found.append(("Epsilon", epsilon(plan.epsilon)))
        return found

    # In clear, the key.

    def _clear_phrases(self) -> list[str]:
        if self.certificate is not None:
            return list(self.certificate.published_unchanged)
        return [*preview.published_unchanged(self.plan), preview.ROW_ORDER]

    def _clear(self) -> Markup:
        phrases = self._clear_phrases()
        found: list[object] = []
        if phrases:
            found.append(element("p", "Everyone who has the release sees:"))
            found.append(listed(phrases))
        else:
            found.append(element("p", "Nothing but the number of records."))
        if self.plan.drop:
            found.append(element("p", "Left out of the release: ", names(self.plan.drop), "."))
        ids = None if self.certificate is None else self.certificate.ids
        if ids is not None and not ids.row_columns and not ids.kept:
            found.append(element("p", "The ids in ", names([ids.id_column]), " are left out."))
        return join(found)

    def _key(self) -> Markup:
        if self.certificate is not None:
            return listed([each for each in self.certificate.notes if each not in BLOCKS])
        return listed(
            [
                "Nothing has been drawn yet. If a release is made without a key, nobody can draw "
                "its chance again, and nobody can undo it",
                "If it is made with a key, whoever holds the key can undo the release. The key is "
                "then as confidential as the original",
            ]
        )

    # What can be estimated.

    def _estimates(self) -> Markup:
        found: list[object] = []
        coded = [column for column in self.columns if column.law is not None]
        if coded:
            found.append(
                element(
                    "p",
                    "The counts of reports are not those of the answers. Since the chances are "
                    "known, the share of each answer can be estimated without bias: ",
                    element("code", "bistochastic estimate"),
                    " does so, with an interval for every number. Errors depend on the rule and "
                    "the number of records. Four times the records halve them.",
                )
            )
            found.append(self._errors(coded))
            found += self._shared()
            if any(column.has_groups for column in coded):
                found.append(
                    element(
                        "p",
                        "Where the rule depends on another column, the errors are those of the "
                        "rule that hides most, as if it held for all records.",
                    )
                )
        kept = _grouped((c, c.kept()) for c in self.columns if c.attribute.whole_column)
        if kept:
            found.append(listed(kept))
        return join(found)

    def _shared(self) -> list[object]:
        """By ids the records of one person share their noise."""
        ids = None if self.certificate is None else self.certificate.ids
        if ids is None or ids.row_columns or ids.rows_per_id_checked == 1:
            return []
        return [
            element(
                "p",
                "Noise is drawn by ids: records of one id with the same value share it. The errors "
                "above count it as drawn for each record. Estimates need ",
                element("code", "cluster="),
                ", a column that tells which records are of one id.",
            )
        ]

    def _errors(self, coded: list[Column]) -> Markup:
        if self.records == 0:
            return element("p", "There are no records, so that there is nothing to estimate.")
        notes = [(column, column.precision(self._spoken_of).note) for column in coded]
        known = [column for column, note in notes if not note]
        found: list[object] = []
        if known and self.records is not None:
            header = ["columns", "typically: standard error, points",
                      "at worst: 95 of 100 within, points", "as good as"]  # fmt: skip
            rows = [errors(column, self.records, self.design_effect) for column in known]
            caption = f"How well shares are estimated from {count(self.records, 'record')}"
            found = [
                table(header, rows, caption=caption),
                element(
                    "p",
                    "Points are percentage points. Typically: the standard error of a share where "
                    "all levels are equally frequent. At worst: 95 of 100 estimates are within "
                    "this number, whichever share and whatever the truth. “As good as” says how "
                    "many records without protection would have the same standard error. "
                    f"All of this is {self._sampled()}.",
                    class_="bs-note",
                ),
            ]
        elif known:
            header = ["columns", *(count(many, "record") for many in _EXAMPLES)]
            effect = self.design_effect
            rows = [[c.name, *(_within(c, many, effect) for many in _EXAMPLES)] for c in known]
            caption = "95 of 100 estimates of a share are within so many percentage points"
            found = [
                table(header, rows, caption=caption),
                element("p", f"This is for the worst share and the worst truth, {self._sampled()}. "
                        "With a number of records, the report is made for that number.",
                        class_="bs-note"),
            ]  # fmt: skip
        other = _grouped((column, note) for column, note in notes if note)
        if other:
            found += [element("p", "Of other columns can be estimated:"), listed(other)]
        return join(found)

    # The slider.

    def _scenes(self) -> list[explorer.Scene]:
        betas = explorer.spread(_STEPS)
        known: dict[int, list[explorer.Law]] = {}
        found = []
        for column in self.columns:
            law = column.law
            if law is None or not 2 <= law.size <= LARGEST:
                continue
            if law.size not in known:
                known[law.size] = explorer.laws(law.size, betas, self._spoken_of)
            labels = levels(column.coded, LARGEST) or []
            start = round(law.beta * (_STEPS - 1))
            title = f"{column.plain} (beta {down(law.beta, 3)})"
            found.append(explorer.Scene(title, labels, known[law.size], start))
        return found

    def _explore(self) -> Markup:
        return join(
            element(
                "p",
                "The slider shows what a column would be under another beta or another rule. It "
                "starts near the beta of the plan. Moving it changes nothing in the release.",
                class_="bs-screen",
            ),
            element("p", "On screen, this part has a slider.", class_="bs-print"),
            explorer.panel(self._spoken_of, print_it=False),
        )

    # What takes the data.

    def _audit(self) -> Markup:
        return join(
            element(
                "p",
                "This page does not know the data. So it cannot see what columns tell about each "
                "other, or how many people can be recognised by their row.",
            ),
            element(
                "p",
                "Whoever holds the original can find out before the release: ",
                element("code", "bs.audit"),
                " in Python, or ",
                element("code", "bistochastic audit"),
                " in the shell, attacks the protected table with the original at hand. The result "
                "of an audit is derived from people's answers. Keep it as confidential as the "
                "original.",
            ),
        )

    # Origin.

    def _origin(self) -> Markup:
        laws = [row for column in self.columns for row in column.digests()]
        found: list[object] = [facts(self._facts(), caption="What this page was made from")]
        if laws:
            caption = "The exact probabilities, by their digests"
            header = ["columns", "digest of the rule"]
            found.append(table(header, laws, caption=caption, left=(0, 1)))
        steps = [element("li", step) for step in self._verify()]
        found += [element("h3", "How to verify"), element("ol", steps)]
        if self.certificate is not None:
            technical = [each for each in self.certificate.notes if each in BLOCKS]
            if technical:
                found += [element("h3", "Technical notes on the key"), listed(technical)]
        return join(found)

    def _facts(self) -> list[tuple[object, object]]:
        plan, certificate = self.plan, self.certificate
        found: list[tuple[object, object]] = [
            ("Package", f"bistochastic {self._package()}"),
            ("Plan", element("code", shown(plan.name))),
            (
                "Beta is measured by",
                f"{in_words(plan.definition)}, of the paper behind the package",
            ),
            ("Digest of the plan", element("code", plan.digest)),
        ]
        if certificate is None:
            return found
        label: object = "none"
        if certificate.release_name is not None:
            label = element("code", shown(certificate.release_name))
        key: object = "drawn for this release and forgotten"
        if certificate.key_stored:
            key = join("kept, fingerprint ", element("code", certificate.key_fingerprint or ""))
        found += [
            ("Digest of the certificate", element("code", certificate.digest)),
            *(
                (join("SHA-256 of ", element("code", shown(name))), element("code", digest))
                for name, digest in (certificate.files or {}).items()
            ),
            ("Records", f"{certificate.records:,}"),
            ("Label of the release", label),
            ("Key", key),
            ("Order of the rows", "random" if certificate.shuffled else "that of the original"),
        ]
        if certificate.engine is not None:
            found.append(("Engine", shown(certificate.engine)))
        return found + _of_ids(certificate)

    def _verify(self) -> list[object]:
        released = self.certificate is not None
        file = "CERTIFICATE.json" if released else "PLAN.toml"
        covered = "the plan and the certificate" if released else "the plan"
        more = "" if released or self.records is None else f" --records {self.records}"
        effect = "" if self.design_effect == 1 else f" --design-effect {self.design_effect!r}"
        refused = " One whose numbers do not follow from its plan is refused." if released else ""
        found: list[object] = [
            join(f"Show the {self._source}: ", element("code", f"bistochastic inspect {file}"),
                 f".{refused}"),
            join("Make this page again: ",
                 element("code", f"bistochastic report {file} --out again.html{more}{effect}"),
                 f". The same {self._source} and version give the same page, byte for byte."),
            "Compare the digests above with those that the publisher names. They show every "
            f"change of {covered}, but they are no signature: get them from someone you trust.",
            self._verify_files(),
            join("The probabilities are exact fractions, and all rows and columns sum to 1. In "
                 "Python, ", element("code", "bs.Plan.from_json(text).attributes"),
                 " has them: each attribute has a matrix with ", element("code", "exact_row"), "."),
        ]  # fmt: skip
        if self.certificate is not None and self.certificate.key_stored:
            found.append("Whoever has the key and the original can draw the release again, and "
                         "compare.")  # fmt: skip
        return found

    def _verify_files(self) -> object:
        if self.certificate is not None and self.certificate.files:
            command = element("code", "sha256sum FILE")
            return join("A protected file is the one that was written with this certificate if ",
                        command, " prints its SHA-256 above.")  # fmt: skip
        return (
            "They do not cover protected files. To recognise such a file, ask its publisher for a "
            "checksum of its own."
        )


def _grouped(told: Iterable[tuple[Column, str]]) -> list[str]:
    """Sentences about columns; what is said of several is said once."""
    return preview.grouped((column.attribute.columns, sentence) for column, sentence in told)


def _of_ids(certificate: Certificate) -> list[tuple[object, object]]:
    ids = certificate.ids
    if ids is None:
        return []
    if ids.row_columns:
        return [("Rows", join("addressed by ", names(ids.row_columns), f", {ids.kind}"))]
    wave: object = "the first"
    if ids.after != "first":
        wave = join("after the one with the digest ", element("code", ids.after))
    people = join("known by ", names([ids.id_column]), f", {ids.kind}")
    return [("People", people), ("Wave", wave)]


def _bits(part: Bits) -> str:
    none = "" if part.max_bits else ", as there is nothing to hide"
    return f"{down(part.beta, 4)}: {down(part.bits, 5)} of {part.max_bits:.5g} bits{none}"


def _within(column: Column, records: int, design_effect: float) -> str:
    found = column.precision(records, design_effect)
    return "–" if found.within is None else f"± {points(found.within)}"
