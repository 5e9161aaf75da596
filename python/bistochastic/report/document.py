"""The report of a plan or a release: one page that can be handed over.

It is a function of the plan, or of the certificate, and of nothing else. So whoever has the
certificate can make the same page again, byte for byte, and nothing in it is derived from a value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from bistochastic import _core, measures
from bistochastic.markup import Markup, element, facts, heat, join, page, section, table
from bistochastic.markup.pictures import LARGEST
from bistochastic.plan import preview
from bistochastic.plan.attributes import Numeric, prefix
from bistochastic.report import explorer
from bistochastic.report.beliefs import STATED, after, evenly, odds, percent
from bistochastic.report.deeds import attribute_deeds, weakest
from bistochastic.report.levels import level, levels
from bistochastic.report.precision import precision
from bistochastic.words import down, shown, up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from bistochastic.matrix import Matrix
    from bistochastic.plan.attributes import Attribute, Categorical, Joint
    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.definitions import Measures
    from bistochastic.plan.plan import Plan

# Steps of the slider inside a report, which may have many columns.
_STEPS = 21
# Numbers of records that are spoken of before there is a release.
_EXAMPLES = (1_000, 10_000, 100_000, 1_000_000)


def write_report(
    path: str | PathLike[str],
    plan: Plan,
    *,
    certificate: Certificate | None = None,
    records: int | None = None,
) -> None:
    """Write the report of a plan, or of a release by its certificate."""
    target = checked(path)
    if records is not None:
        plan = plan.for_records(records)
        records = _core.as_whole("records", records, 1)
    write(target, Report(plan, certificate, records).page())


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


def said(sentence: str) -> Markup:
    """A sentence of the package as markup, its names set apart.

    >>> said("column `a<b`: told")
    'column <code>a&lt;b</code>: told'
    """
    parts = sentence.split("`")
    return join(element("code", part) if i % 2 else part for i, part in enumerate(parts))


def listed(sentences: Sequence[str]) -> Markup:
    """Sentences as a list, each with its first letter large and a full stop."""
    return element("ul", [element("li", said(_whole(sentence))) for sentence in sentences])


def _whole(sentence: str) -> str:
    start = sentence[:1].upper() + sentence[1:]
    return start if start.endswith((".", ":")) else start + "."


def _names(columns: Sequence[str]) -> Markup:
    return join([[", " * (i > 0), element("code", shown(c))] for i, c in enumerate(columns)])


class Report:
    """All parts of one page."""

    def __init__(self, plan: Plan, certificate: Certificate | None, records: int | None) -> None:
        self.plan = plan
        self.certificate = certificate
        self.records = certificate.records if certificate is not None else records
        self.columns = [
            Column(attribute, each)
            for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        ]

    def page(self) -> str:
        """The whole page."""
        scenes = self._scenes()
        sections = [
            ("summary", "In short", self._summary()),
            ("deeds", "What is done to each column", self._deeds()),
            ("guarantees", "What is guaranteed, and against whom", self._guarantees()),
            ("numbers", "The measures in full", self._numbers()),
            ("clear", "What stays in clear", self._clear()),
            ("key", "What a holder of the key can do", self._key()),
            ("estimates", "What can still be estimated, and how well", self._estimates()),
        ]
        if scenes:
            sections.append(("explore", "What another beta would do", self._explore()))
        sections.append(("origin", "Origin, and how to verify this page", self._origin()))
        made = [section(title, body, id=id) for id, title, body in sections]
        return page(
            f"Privacy report: {shown(self.plan.name)}",
            *made,
            lead=f"{self._about()} It holds nothing that was derived from anyone's answers.",
            contents=[(id, title) for id, title, _ in sections],
            footer=f"Made by bistochastic {self._package()} from the "
            f"{'plan' if self.certificate is None else 'certificate'} alone. Numbers are rounded "
            "so that privacy is never overstated.",
            script=explorer.script() if scenes else None,
            data=explorer.data(scenes, self._spoken_of) if scenes else None,
        )

    @property
    def _spoken_of(self) -> int:
        """The number of records that errors are told for."""
        return self.records or _EXAMPLES[1]

    def _about(self) -> str:
        if self.certificate is not None:
            return f"Report on a release of {_count(self.records or 0, 'record')}."
        if self.records is not None:
            return f"Report on a plan for {_count(self.records, 'record')}, before any data."
        return "Report on a plan, before any data."

    def _package(self) -> str:
        return explorer.package() if self.certificate is None else self.certificate.package

    def _odds(self) -> Fraction | None:
        """Of all protected columns of a person together: the ratios multiply."""
        each = [column.odds for column in self.columns]
        if math.isinf(self.plan.epsilon) or any(part is None for part in each):
            return None
        return math.prod((part for part in each if part is not None), start=Fraction(1))

    # In short.

    def _summary(self) -> Markup:
        names = [name for column in self.columns for name in column.attribute.columns]
        many = "" if self.records is None else f"There are {_count(self.records, 'record')}. "
        several = "columns are" if len(names) > 1 else "column is"
        lines: list[object] = [
            join(many, f"{len(names)} {several} protected: ", _names(names), "."),
            "Every protected answer is kept or exchanged by chance before it is published. The "
            "chances are public; who was exchanged is not.",
        ]
        lines += self._weakest()
        if len(self.columns) > 1:
            together = self._odds()
            if together is None:
                lines.append(
                    "All protected columns of a person together may make someone certain of "
                    "something about that person. The reasons stand under “What is guaranteed”."
                )
            else:
                lines.append(f"All protected columns of a person together: {_beliefs(together)}")
        clear = self._clear_phrases()
        if clear:
            lines.append(
                join("In clear: ", [["; " * (i > 0), said(x)] for i, x in enumerate(clear)], ".")
            )
        else:
            lines.append("Nothing stays in clear.")
        if self.certificate is not None:
            lines.append(said(self.certificate.statements[0]))
        return element("ul", [element("li", line) for line in lines])

    def _weakest(self) -> list[object]:
        """What the column says that hides least, or those that may make someone certain."""
        certain = [column for column in self.columns if column.odds is None]
        if certain:
            names = [name for column in certain for name in column.attribute.columns]
            several = "columns" if len(names) > 1 else "column"
            return [join(f"In the {several} ", _names(names), " a report may make someone certain "
                         "of something. What, stands under “What is guaranteed”.")]  # fmt: skip
        worst = max(self.columns, key=lambda column: column.odds or 0)
        lead: object = ""
        if len(self.columns) > 1:
            lead = join("The column that hides least is ", _names(worst.attribute.columns), ". ")
        assert worst.odds is not None
        return [join(lead, _beliefs(worst.odds))]

    # What is done.

    def _deeds(self) -> Markup:
        found: list[object] = []
        for column in self.columns:
            found.append(element("h3", _names(column.attribute.columns)))
            found.append(listed(attribute_deeds(column.attribute)))
            picture = column.picture()
            if picture is not None:
                found.append(picture)
            found.append(element("p", join(element("strong", "So: "), column.sentence())))
        return join(found)

    # What is guaranteed.

    def _guarantees(self) -> Markup:
        rows: list[list[object]] = [
            [join(_names(column.attribute.columns), column.remark()), *_after(column.odds)]
            for column in self.columns
        ]
        together = self._odds()
        if len(self.columns) > 1:
            rows.append(["all of them together", *_after(together)])
        head = ["what is reported", *(f"{percent(belief)} before" for belief in STATED)]
        found: list[object] = [
            element("h3", "Against whom"),
            element(
                "p",
                "The guarantee holds against everyone who sees what is published: the protected "
                "table, this report, the plan and the certificate. They may know anything else, "
                "all other answers of the person included, and compute as much as they like. It "
                "does not hold against those who hold the key or see the original.",
            ),
            element("h3", "What a report does to a belief"),
            element(
                "p",
                "Someone has a belief about an answer of one person: how likely it is, before they "
                "see what this person is reported with in that column. The table says how likely "
                "they can hold it for afterwards, at most. That is the worst case over all answers, "
                "all reports, and all they may think of the other answers.",
            ),
            table(head, rows, caption="The most that a belief can become"),
            self._example(),
        ]
        if len(self.columns) > 1:
            found.append(
                element(
                    "p",
                    "A column's own row is about its own report. Where columns go together, the "
                    "reports of the others tell something, too. The last row is the most that all "
                    "reports of a person can do to a belief about anything, whatever goes together "
                    "with what.",
                )
            )
        reasons = [line for column in self.columns for line in column.reasons()]
        if reasons:
            found += [element("h3", "Where someone may become certain"), listed(reasons)]
        found += [element("h3", "What is not guaranteed"), listed(self._not_guaranteed())]
        return join(found)

    def _example(self) -> Markup | None:
        """The first row as a sentence, for those who do not read tables."""
        known = [column for column in self.columns if column.odds is not None]
        if not known:
            return None
        one = known[0]
        return element("p", "For example ", _names(one.attribute.columns), ": ", one.sentence(),
                       class_="bs-note")  # fmt: skip

    def _not_guaranteed(self) -> list[str]:
        # Whether answers can be excluded was told above, with what is excluded.
        found = [w for w in preview.warnings(self.plan) if "exclude some truths" not in w]
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
        rows = [column.measures() for column in self.columns]
        found: list[object] = [
            element(
                "p",
                element("strong", "Beta"),
                " is the share of perfect secrecy: 0 hides nothing, 1 hides everything. It is an "
                "average over the levels; ",
                element("strong", "the worst row"),
                " is the level whose reports are the least uncertain. ",
                element("strong", "Epsilon"),
                " is the natural logarithm of the largest factor by which a report favours one "
                "answer over another: 0 hides everything, and infinite means that some report "
                "rules some answer out.",
            ),
            table(header, rows, caption="Each protected column", left=(0, 1)),
            listed(preview.totals(self.plan)),
        ]
        found += [made for column in self.columns if (made := column.strata()) is not None]
        return join(found)

    # In clear, the key.

    def _clear_phrases(self) -> list[str]:
        if self.certificate is not None:
            return list(self.certificate.in_clear)
        return [*preview.in_clear(self.plan), preview.ROW_ORDER]

    def _clear(self) -> Markup:
        phrases = self._clear_phrases()
        found: list[object] = []
        if phrases:
            found.append(element("p", "Everyone who has the release sees:"))
            found.append(listed(phrases))
        else:
            found.append(element("p", "Nothing beside the number of records."))
        if self.plan.drop:
            found.append(element("p", "Left out of the release: ", _names(self.plan.drop), "."))
        if self.certificate is not None and self.certificate.ids is not None:
            ids = self.certificate.ids
            if not ids.row_columns and not ids.kept:
                found.append(element("p", "The ids in ", _names([ids.id_column]), " are left out."))
        return join(found)

    def _key(self) -> Markup:
        if self.certificate is not None:
            return listed(self.certificate.statements)
        return listed(
            [
                "Nothing has been drawn yet. If a release is made without a key, its chance is "
                "forgotten, and nobody can undo it",
                "If it is made with a key, whoever holds the key can undo the release: the key is "
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
                    " does so, with an interval for every number. Errors depend on the rule and on "
                    "the number of records alone; they become half as large with four times the "
                    "records.",
                )
            )
            if self.records is None:
                found.append(self._examples(coded))
            elif self.records > 0:
                found.append(self._errors(coded, self.records))
            else:
                found.append(
                    element("p", "There are no records, so that there is nothing to estimate.")
                )
            if any(column.has_strata for column in coded):
                found.append(element("p", "Where the rule depends on another column, the errors "
                                     "are those of the most protective rule if it held for "
                                     "all records."))  # fmt: skip
        numeric = [column for column in self.columns if isinstance(column.attribute, Numeric)]
        if numeric:
            found.append(listed([line for column in numeric for line in column.kept()]))
        return join(found)

    def _errors(self, coded: list[Column], records: int) -> Markup:
        header = ["columns", "standard error, points", "at most, points", "as good as"]
        rows = [column.errors(records) for column in coded]
        return join(
            table(
                header,
                rows,
                caption=f"How well shares are estimated from {_count(records, 'record')}",
            ),
            element(
                "p",
                "Points are percentage points. The standard error is that of a share where all "
                "levels are equally frequent. “At most” is the worst case: 95 of 100 estimates of "
                "any one share are closer than that to the truth. “As good as” says how many "
                "records without protection would have the same standard error.",
                class_="bs-note",
            ),
        )

    def _examples(self, coded: list[Column]) -> Markup:
        header = ["columns", *(_count(many, "record") for many in _EXAMPLES)]
        rows = [column.examples() for column in coded]
        return join(
            table(header, rows, caption="95 of 100 estimates of a share are closer to the truth than this"),
            element("p", "In percentage points, for the worst share. ", element("code", "--records"),
                    " or ", element("code", "records="), " makes this report for your number of "
                    "records.", class_="bs-note"),
        )  # fmt: skip

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
            names = levels(column.attribute, LARGEST)  # type: ignore[arg-type]
            assert names is not None
            start = min(range(_STEPS), key=lambda i: abs(betas[i] - law.beta))
            title = f"{', '.join(map(shown, column.attribute.columns))} (beta {down(law.beta, 3)})"
            found.append(explorer.Scene(title, names, known[law.size], start))
        return found

    def _explore(self) -> Markup:
        return join(
            element(
                "p",
                "The slider shows what a column would look like under another beta or another rule. "
                "It starts where the plan is. Changing it here changes nothing in the release.",
                class_="bs-screen",
            ),
            element("p", "On screen, this part has a slider.", class_="bs-print"),
            explorer.panel(self._spoken_of, print_it=False),
        )

    # Origin.

    def _origin(self) -> Markup:
        plan, certificate = self.plan, self.certificate
        pairs: list[tuple[object, object]] = [
            ("Package", f"bistochastic {self._package()}"),
            ("Plan", join(element("code", shown(plan.name)), f", Definition {plan.definition}")),
            ("Digest of the plan", element("code", plan.digest)),
        ]
        if certificate is not None:
            pairs += [
                ("Digest of the certificate", element("code", certificate.digest)),
                ("Records", f"{certificate.records:,}"),
                ("Label of the release", "none" if certificate.release is None
                 else element("code", shown(certificate.release))),
                ("Key", join("kept, fingerprint ", element("code", certificate.key_fingerprint or ""))
                 if certificate.key_kept else "drawn for this release and forgotten"),
                ("Order of the rows", "random" if certificate.shuffled else "that of the original"),
            ]  # fmt: skip
            if certificate.engine is not None:
                pairs.append(("Engine", shown(certificate.engine)))
            pairs += _of_ids(certificate)
        laws = [row for column in self.columns for row in column.digests()]
        found: list[object] = [facts(pairs, caption="What this page was made from")]
        if laws:
            found.append(table(["columns", "digest of the rule"], laws,
                               caption="The exact probabilities, by their digests", left=(0, 1)))  # fmt: skip
        what = "certificate" if certificate is not None else "plan"
        file = "protected.csv.certificate.json" if certificate is not None else "plan.toml"
        more = (
            "" if certificate is not None or self.records is None else f" --records {self.records}"
        )
        steps: list[object] = [
            join("Show the ", what, ": ", element("code", f"bistochastic inspect {file}"),
                 ". One that was changed is refused." if certificate is not None else "."),
            join("Make this page again: ",
                 element("code", f"bistochastic report {file} --out again.html{more}"),
                 f". The same {what} and version give the same page, byte for byte."),
            join("Compare the digests above with those that the publisher names. They show every "
                 "change, but they are no signature: get them from someone you trust."),
            join("The probabilities are exact fractions. In Python, ",
                 element("code", "bs.Plan.from_json(text).attributes[0].matrix.exact_row(0)"),
                 " shows the first row of the first column. Rows and columns sum to 1."),
        ]  # fmt: skip
        if certificate is not None and certificate.key_kept:
            steps.append("Whoever holds the key and the original can draw the release again, and "
                         "compare.")  # fmt: skip
        found += [
            element("h3", "How to verify"),
            element("ol", [element("li", step) for step in steps]),
        ]
        return join(found)


class Column:
    """One attribute of a plan, and what is said of it."""

    def __init__(self, attribute: Attribute, measured: Measures) -> None:
        self.attribute = attribute
        self.measured = measured
        self.law: Matrix | None = None
        self.odds: Fraction | None = None
        if not isinstance(attribute, Numeric):
            self.law = weakest(attribute)
            each = [odds(matrix) for matrix in attribute.matrices]
            if None not in each:
                self.odds = max(part for part in each if part is not None)

    @property
    def has_strata(self) -> bool:
        """Whether the rule depends on another column."""
        return not isinstance(self.attribute, Numeric) and self.attribute.strata is not None

    def _coded(self) -> Categorical | Joint:
        assert not isinstance(self.attribute, Numeric)
        return self.attribute

    def sentence(self) -> Markup:
        """What a report of this column does to a belief."""
        if isinstance(self.attribute, Numeric):
            if self.attribute.release == "average":
                return said("Someone who knows the other values of a class knows the last one.")
            return said("Someone who knows whose value is in a row knows the value. Epsilon is "
                        "infinite, because the set of values is published.")  # fmt: skip
        who = "Of those who answered: s" if self.attribute.missing == "keep" else "S"
        if self.odds is None:
            return said(f"{who}omeone may become certain that an answer is not the true one. "
                        "See “Where someone may become certain”.")  # fmt: skip
        return said(_beliefs(self.odds))

    def remark(self) -> str | None:
        """What has to be said beside the name."""
        if not isinstance(self.attribute, Numeric) and self.attribute.missing == "keep":
            return " (of those who answered)"
        return None

    def reasons(self) -> list[str]:
        """What a report may make certain, a sentence each."""
        before = prefix(self.attribute.columns)
        if isinstance(self.attribute, Numeric):
            return [f"{before}{self.measured.reason}"]
        found = []
        if self.attribute.missing == "keep":
            found.append(f"{before}everyone sees who gave no answer")
        for matrix in dict.fromkeys(self.attribute.matrices):
            if math.isinf(matrix.epsilon):
                found.append(f"{before}{self._excluded(matrix)}")
        return found

    def _excluded(self, matrix: Matrix) -> str:
        attribute = self._coded()
        found = measures.lines(matrix, [math.inf])
        where = ""
        if attribute.strata is not None:
            value = attribute.strata.labels.values[attribute.matrices.index(matrix)]
            where = f"where `{shown(attribute.strata.column)}` is `{shown(value)}`, "
        if found is None or found.witness is None:
            return f"{where}some reports rule some answers out for certain"
        u, w, v = (level(attribute, code) for code in found.witness)
        told = f"{where}a report of `{v}` rules out `{w}`, for one; it occurs where the answer is `{u}`"
        left, _ = found.deniability[0]
        told += f". Whatever is reported, {_count(left, 'answer')} or more remain possible"
        even = [evenly(belief, matrix) for belief in STATED]
        if left > 1 and None not in even:
            most = [percent(x) for x in even if x is not None]
            told += (
                f". To someone who holds all other answers for equally likely, one of 1 % becomes at "
                f"most {most[0]}, one of 10 % at most {most[1]}, one of 50 % at most {most[2]}"
            )
        return told

    def picture(self) -> Markup | None:
        """The chances of every report, where they can be drawn."""
        if self.law is None or not 2 <= self.law.size <= LARGEST:
            return None
        names = levels(self._coded(), LARGEST)
        columns = ", ".join(map(shown, self.attribute.columns))
        drawn = heat(
            self.law.to_dense().tolist(), names, title=f"The chances of every report of {columns}"
        )
        unit = "" if self.law.size <= 12 else " in percent"
        caption = (
            f"A row for each true answer, a column for each report, the chance{unit} in the cell. "
        )
        if any(p == 0 for p in self.law.to_dense().flat):
            caption += "A cell that is struck through never occurs."
        wrapped = element("div", drawn, class_="bs-wide", role="group", tabindex="0",
                          aria_label=f"Picture of {columns}")  # fmt: skip
        return element("figure", wrapped, element("figcaption", caption))

    def worst_row(self) -> tuple[float, str] | None:
        """The smallest beta of a row over all rules, and the level that it belongs to."""
        attribute = self._coded()
        found = []
        for matrix in attribute.matrices:
            lines = measures.lines(matrix, [])
            if lines is None:
                return None
            code, bits = lines.worst_row
            # A perfect secret has no worse line than the mean; rounding would say so.
            beta = bits / (matrix.max_bits or 1.0) * (1 - 2**-48) if matrix.size > 1 else 1.0
            found.append((1.0 if matrix.beta == 1 else max(0.0, beta), level(attribute, code)))
        return min(found, key=lambda each: each[0])

    def measures(self) -> list[object]:
        """A row of the table of measures."""
        each = self.measured
        worst: object = "–"
        if self.law is not None:
            row = self.worst_row()
            if row is not None:
                worst = join(down(row[0], 4), " (", element("code", row[1]), ")")
                if row[0] == self.law.beta or row[0] >= self.law.beta * (1 - 1e-9):
                    worst = f"{down(row[0], 4)} (all alike)"
        rule = each.family.replace("_", " ") + (" (no chance)" if each.deterministic else "")
        size = "records" if each.size is None else f"{each.size:,}"
        beta = "–" if each.beta is None else down(each.beta, 4)
        epsilon = "infinite" if math.isinf(each.epsilon) else up(each.epsilon, 4)
        return [_names(each.columns), rule, size, beta, worst, epsilon]

    def strata(self) -> Markup | None:
        """What each rule does, where there are several."""
        if isinstance(self.attribute, Numeric) or self.attribute.strata is None:
            return None
        header = [self.attribute.strata.column, "rule", "beta", "epsilon",
                  *(f"{percent(b)} before" for b in STATED)]  # fmt: skip
        rows = [
            [element("code", shown(value)), matrix.family.replace("_", " "), down(matrix.beta, 4),
             "infinite" if math.isinf(matrix.epsilon) else up(matrix.epsilon, 4),
             *_after(odds(matrix))]
            for value, matrix in zip(self.attribute.strata.labels.values,
                                     self.attribute.strata.matrices, strict=True)
        ]  # fmt: skip
        columns = ", ".join(map(shown, self.attribute.columns))
        by = shown(self.attribute.strata.column)
        return table(header, rows, caption=f"{columns}: the rules by {by}", left=(0, 1))

    def errors(self, records: int) -> list[object]:
        """A row of the table of errors."""
        each = [precision(matrix, records) for matrix in self._coded().matrices]
        name = _names(self.attribute.columns)
        note = next((one.note for one in each if one.note), "")
        if note:
            return [name, note, "", ""]
        worst = max(each, key=lambda one: one.error or 0.0)
        within = "–" if worst.within is None else f"± {_points(worst.within)}"
        return [name, _points(worst.error or 0.0), within, _count(worst.alike or 0, "record")]

    def examples(self) -> list[object]:
        """The same for several numbers of records."""
        name = _names(self.attribute.columns)
        found: list[object] = [name]
        for many in _EXAMPLES:
            each = [precision(matrix, many) for matrix in self._coded().matrices]
            note = next((one.note for one in each if one.note), "")
            if note:
                return [name, note, *[""] * (len(_EXAMPLES) - 1)]
            worst = max(each, key=lambda one: one.within or one.error or 0.0)
            found.append("–" if worst.within is None else f"± {_points(worst.within)}")
        return found

    def kept(self) -> list[str]:
        """What a numeric column still tells."""
        attribute = self.attribute
        assert isinstance(attribute, Numeric)
        before = prefix(attribute.columns)
        if attribute.release == "average":
            return [f"{before}the mean is that of the original; the spread is smaller, as values in "
                    "a class are alike"]  # fmt: skip
        return [f"{before}the mean, the quantiles and all that concerns this column alone are those "
                "of the original; what it has to do with other columns is weakened"]  # fmt: skip

    def digests(self) -> list[list[object]]:
        """The digest of every rule."""
        name = _names(self.attribute.columns)
        if isinstance(self.attribute, Numeric):
            matrices: Sequence[Matrix | None] = [self.attribute.matrix]
        else:
            matrices = self.attribute.matrices
        return [[name, element("code", _core.digest_of(m))] for m in matrices if m is not None]


def _of_ids(certificate: Certificate) -> list[tuple[object, object]]:
    ids = certificate.ids
    if ids is None:
        return []
    if ids.row_columns:
        return [("Rows", join("addressed by ", _names(ids.row_columns), f", {ids.kind}"))]
    after = "the first" if ids.after == "first" else join("after ", element("code", ids.after))
    return [
        ("People", join("known by ", _names([ids.id_column]), f", {ids.kind}")),
        ("Wave", after),
    ]


def _after(most: Fraction | None) -> list[str]:
    """The most that the stated beliefs can become."""
    if most is None:
        return ["may be certain"] * len(STATED)
    return [percent(after(belief, most)) for belief in STATED]


def _beliefs(most: Fraction) -> str:
    """The same as a sentence."""
    if most == 1:
        return "A report changes no belief at all."
    found = [percent(after(belief, most)) for belief in STATED]
    return (
        f"Someone who held an answer for 1 % likely thinks it at most {found[0]} likely after "
        f"seeing the report. 10 % becomes at most {found[1]}, and 50 % at most {found[2]}."
    )


def _count(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'s' * (many != 1)}"


def _points(share: float) -> str:
    """A share in percentage points, in three digits and not below it."""
    return up(100 * share, 3) if share < 10 else "above 1,000"
