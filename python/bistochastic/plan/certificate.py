"""``Certificate``: what can be said of a release, as JSON and as a table.

It depends on the plan, the options of the call, the number of records, the versions and the key's
fingerprint. Nothing in it is derived from a value.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from bistochastic import _core, measures
from bistochastic.kept import kept
from bistochastic.plan import exchange, formats, preview, published, stored
from bistochastic.plan.attributes import Attribute, Numeric, prefix
from bistochastic.plan.definitions import in_words
from bistochastic.plan.keywords import ReportOptions, taking
from bistochastic.plan.waves import ByIds
from bistochastic.words import shown, table, visible, visible_lines

if TYPE_CHECKING:
    from os import PathLike

    from bistochastic.exchange import Fields
    from bistochastic.matrix import Matrix
    from bistochastic.numeric.displacement import Displacement
    from bistochastic.plan.definitions import Bits, Measures
    from bistochastic.plan.plan import Plan

VERSION = stored.VERSION
BLOCK = 65_536
# What follows from drawing by blocks under a key that is kept.
BLOCKS = (
    f"Noise depends on what each block of {BLOCK} rows holds. Under the same key and label an "
    "unchanged block is seen to be unchanged.",
    "Whoever can have files protected under this key and label can test a guess of a whole block.",
    "An edited file is drawn anew in the blocks it touches, after an inserted row in all later "
    "ones: there epsilon adds.",
)


@dataclass(frozen=True)
class Certificate:
    """What can be said of a release. Printing it shows a table; :meth:`to_json` is for machines.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> certificate = plan.protect({"sex": ["F", "M", "M"]}).certificate
    >>> certificate.records, certificate.key_stored
    (3, False)
    >>> bs.Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    plan: Plan
    records: int
    release_name: str | None
    key_stored: bool
    key_fingerprint: str | None
    unprotected_columns: tuple[str, ...]
    shuffled: bool
    ids: ByIds | None
    package: str
    engine: str | None = None
    """What ran the work, where it was an engine."""
    declared_categories: tuple[str, ...] = ()
    """Columns that stay and whose categories are all published, in an order of their own."""
    files: dict[str, str] | None = field(default=None, compare=False)
    """The SHA-256 of each protected file as written, by its base name; None of a table."""
    _source: tuple[Certificate, str] | None = field(default=None, repr=False, compare=False)
    """The facts and the text that were read: what is written again, as long as the facts stay."""

    @property
    def _line(self) -> str:
        """The release in one line."""
        several = "s" * (self._columns != 1)
        open_ = len(self.unprotected_columns) + len(published.unprotected(self.plan))
        what = f"of {self.records} records, {self._columns} column{several}"
        what += f" ({open_} unprotected)" if open_ else ""
        return f"{what}: plan `{shown(self.plan.name)}`, {preview.headline(self.plan)}"

    @property
    def beta(self) -> float:
        """That of :attr:`plan`, as stated: see :attr:`Plan.beta`."""
        return self.plan.beta

    @property
    def epsilon(self) -> float:
        """That of :attr:`plan`, as stated: see :attr:`Plan.epsilon`."""
        return self.plan.epsilon

    @property
    def bits(self) -> float:
        """That of :attr:`plan`, as stated: see :attr:`Plan.bits`."""
        return self.plan.bits

    @property
    def _key(self) -> str:
        return f"stored, {self.key_fingerprint}" if self.key_stored else "discarded"

    @property
    def _columns(self) -> int:
        protected = sum(len(attribute.columns) for attribute in self.plan.attributes)
        pseudonym = self.ids is not None and self.ids.pseudonym is not None
        return protected + len(self.unprotected_columns) + pseudonym

    @property
    def published_unchanged(self) -> tuple[str, ...]:
        """What stays as it was, a phrase each."""
        found = [f"column `{shown(column)}`" for column in self.unprotected_columns]
        found += [
            f"the declared categories of `{shown(column)}`, in their order"
            for column in self.declared_categories
        ]
        seen = published.facts(self.plan, kept=(), shuffled=self.shuffled)
        found += published.phrases(seen)
        if self.ids is not None and not self.ids.row_columns:
            found.append("that a value changed, where a report of a person changed")
            # What was found in the rows counts, and not what was declared.
            checked = self.ids.rows_per_id_checked
            if checked is None or checked > 1:
                found.append("that values of a person differ, where reports of that person differ")
            if self.ids.pseudonym is not None:
                found.append(f"which rows are of one person, by `{shown(self.ids.pseudonym)}`")
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever keeps the key and the releases has to know, a sentence each."""
        if not self.key_stored:
            return (
                "The key was drawn for this release and forgotten: nobody can draw the noise "
                "again.",
            )
        found = [
            "Whoever holds the key can undo the release: it is as confidential as the original, "
            "and must be destroyed when no further wave is due."
        ]
        if self.key_fingerprint == "insecure":
            found.append("The key is insecure: anyone can guess it and undo the release.")
        if self.ids is None:
            return (*found, *BLOCKS)
        if self.ids.row_columns:
            found.append(
                "One label, one file: rows are addressed by "
                + ", ".join(f"`{shown(column)}`" for column in self.ids.row_columns)
                + " under the label of the release. Another file under the same label shows where "
                "its rows differ from those of this one."
            )
            return tuple(found)
        checked = self.ids.rows_per_id_checked
        found.append(
            "The same person with the same value has the same report in every wave, and one with "
            "another value an unrelated one."
        )
        if any(attribute.groups is not None for attribute in self.plan.attributes):
            found.append(
                "A person whose group changed is drawn anew, by the law of the new one: there "
                "epsilon adds."
            )
        if checked is None:
            found.append(
                "How many rows an id has was not checked. Where it is more than one, values of a "
                "person differ where reports of that person differ."
            )
        else:
            found.append(f"No id has more than {checked} row{'s' * (checked > 1)}.")
        if self.plan._numeric:
            found.append("Numeric columns are drawn anew in every wave.")
        for change in map(visible, self.ids.redrawn):
            found.append(f"People were drawn anew since the wave before: {change}. Epsilon adds.")
        for change in map(visible, self.ids.redrawn_before):
            found.append(f"People were drawn anew in an earlier wave, too: {change}. Epsilon adds.")
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What follows from the plan alone and is easily overlooked, a sentence each."""
        return tuple(preview.warnings(self.plan))

    @kept
    def digest(self) -> str:
        """64 hexadecimal digits that identify the certificate: SHA-256 of its JSON.

        The digest is of the data as first written or as read, without :attr:`files`.
        """
        return formats.digest_of(self._data())

    @property
    def _addressing(self) -> str:
        if self.ids is None:
            return "position"
        return "rows" if self.ids.row_columns else "ids"

    def to_dict(self) -> Fields:
        """The certificate as plain data: those that were read, if it was."""
        data = self._data()
        return {**data, "files": dict(self.files)} if self.files else data

    def _data(self) -> Fields:
        """The same without files."""
        if self._source is not None and self._source[0] == self:
            read: Fields = json.loads(self._source[1])
            return read
        plan = self.plan
        ids = None if self.ids is None else _of_ids(self.ids)
        return {
            "certificate_version": VERSION,
            "package": f"bistochastic {self.package}",
            "records": self.records,
            "release_name": self.release_name,
            "key": {"stored": self.key_stored, "fingerprint": self.key_fingerprint},
            "engine": self.engine,
            "addressing": self._addressing,
            "block_rows": BLOCK if self.ids is None else None,
            "shuffled": self.shuffled,
            "ids": ids,
            "definition": plan.definition,
            "beta": plan.beta,
            "min_beta": plan.min_beta,
            "bits": plan.bits,
            "max_bits": plan.max_bits,
            "categorical": _part(plan.categorical),
            "numeric": _part(plan.numeric),
            "epsilon": exchange.number(plan.epsilon),
            "epsilon_is_infinite_because": list(plan.reasons),
            "attributes": [
                _described(attribute, each)
                for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
            ],
            "unprotected_columns": list(self.unprotected_columns),
            "published_unchanged": list(self.published_unchanged),
            "columns_left_out": list(plan.drop),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "plan_digest": plan.digest,
            "plan": exchange.plain(plan),
            **stored.later(self, {n: read for n, read in stored.LATER.items() if n != "files"}),
        }

    def to_json(self) -> str:
        """The certificate as JSON."""
        return formats.to_text(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the certificate of :meth:`to_json`; ``ValueError`` if its facts were changed.

        Sentences are not compared: those of an older version are read, and written again as they
        are. What is shown is made from the facts.
        """
        return stored.read(cls, text)

    @taking(ReportOptions)
    def report(self, path: str | PathLike[str], **options: Unpack[ReportOptions]) -> None:
        """Write the report of the release as a page: see :meth:`Release.report`.

        The same certificate, options and version give the same page, byte for byte.

        >>> import bistochastic as bs, pathlib, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.protect({"sex": ["F", "M", "M"]}).certificate.report(page)
        >>> "What can a reader learn?" in page.read_text(encoding="utf-8")
        True
        """
        from bistochastic.report.document import write_report

        write_report(path, self.plan, certificate=self, **options)

    def __str__(self) -> str:
        plan = self.plan
        lines = [f"Certificate: plan `{shown(plan.name)}`, {self.records} records", ""]
        release = "none" if self.release_name is None else shown(self.release_name)
        made = f"package: bistochastic {shown(self.package)}; key: {self._key}"
        lines.append(f"{made}; release name: {release}")
        if self.engine is not None:
            lines.append(f"engine: {shown(self.engine)}")
        if self.ids is not None and self.ids.row_columns:
            rows = ", ".join(f"`{shown(column)}`" for column in self.ids.row_columns)
            lines.append(f"rows: by {rows}, {self.ids.kind}")
        elif self.ids is not None:
            after = "first" if self.ids.after == "first" else f"after {self.ids.after[:16]}"
            lines.append(f"ids: `{shown(self.ids.id_column)}`, {self.ids.kind}; wave: {after}")
        lines.append(f"{in_words(plan.definition)}; plan {plan.digest[:16]}")
        files = (self.files or {}).items()
        lines += [f"file: {shown(name)}, SHA-256 {digest}" for name, digest in files]
        lines += ["", table(preview.HEADER, preview.rows(list(plan.by_attribute.values())),
                            left=(0, 1, 2)), ""]  # fmt: skip
        lines += [*preview.totals(plan)]
        lines += [line for attribute in plan.attributes for line in _moved(attribute)]
        lines += ["", "Published unchanged:"]
        lines += [f"  {each}" for each in self.published_unchanged or ("nothing",)]
        lines += ["", *self.notes]
        if self.warnings:
            lines += ["", "Mind:", *(f"  {each}" for each in self.warnings)]
        return visible_lines("\n".join(lines))

    def __repr__(self) -> str:
        return f"<Certificate {self._line}>"

    def _repr_html_(self) -> str:
        from bistochastic import markup

        return markup.fragment(*self._shown())

    def _shown(self) -> list[Any]:
        """The certificate in pieces of HTML."""
        from bistochastic import markup

        plan = self.plan
        pairs = [
            ("records", f"{self.records:,}"),
            ("release name", "none" if self.release_name is None else shown(self.release_name)),
            ("key", self._key),
            ("order of the rows", "random" if self.shuffled else "as in the original"),
            ("package", f"bistochastic {shown(self.package)}"),
            ("plan", f"{shown(plan.name)}, {plan.digest[:16]}"),
        ]
        if self.engine is not None:
            pairs.append(("engine", shown(self.engine)))
        if self.ids is not None:
            pairs.append(("rows are", self.ids._line))
        moved = [line for attribute in plan.attributes for line in _moved(attribute)]
        return [
            markup.facts(pairs, caption="Certificate"),
            preview.laws(plan, f"What is hidden, by Definition {plan.definition}"),
            [markup.element("p", line) for line in [*preview.totals(plan), *moved]],
            preview.listed("Published unchanged", self.published_unchanged or ("nothing",)),
            preview.listed("To know", self.notes),
            preview.listed("Mind", self.warnings),
        ]


def _of_ids(ids: ByIds) -> Fields:
    names = (name for name in ByIds.__dataclass_fields__ if name not in stored.LATER_IDS)
    found = {name: getattr(ids, name) for name in names}
    carried = [exchange.attribute_data(attribute) for attribute in ids.carried]
    lists = {name: list(getattr(ids, name)) for name in ("redrawn", "row_columns")}
    return {**found, **lists, "carried": carried, **stored.later(ids, stored.LATER_IDS)}


def _part(part: Bits | None) -> Fields | None:
    return None if part is None else asdict(part)


def _described(attribute: Attribute, each: Measures) -> Fields:
    """One attribute: its measures, and the digest of every law."""
    found = {
        **asdict(each),
        "columns": list(each.columns),
        "epsilon": exchange.number(each.epsilon),
    }
    found["reason"] = each.reason or None
    if attribute.whole_column:
        assert attribute.matrix is not None
        found |= {"how": attribute.how, "order": attribute.order}
        moves = _moves(attribute)
        found["displacement"] = None if moves is None else asdict(moves)
        return {**found, "matrices": [{"digest": _core.digest_of(attribute.matrix)}]}
    found |= _worst(attribute.matrices)
    digests = [{"digest": _core.digest_of(matrix)} for matrix in attribute.matrices]
    if attribute.groups is not None:
        values = attribute.groups.labels.values
        digests = [{"group": str(value), **each_digest}
                   for value, each_digest in zip(values, digests, strict=True)]  # fmt: skip
    return {**found, "matrices": digests, "missing": attribute.missing,
            "categories_from_data": attribute.categories_from_data}  # fmt: skip


def _moves(attribute: Numeric) -> Displacement | None:
    """How far values move, from the matrix alone; None where it is too large to be looked at."""
    assert attribute.matrix is not None
    try:
        return attribute.matrix.displacement()
    except ValueError:
        return None


def _moved(attribute: Attribute) -> list[str]:
    """The same in a sentence, for neighbours in rank, among whom a beta says little."""
    if not attribute.whole_column or attribute.order is None:
        return []
    moves = _moves(attribute)
    if moves is None or attribute.how == "average":
        return []
    half, most = (round(share * moves.size) for share in (moves.p50, moves.p90))
    far = (
        f"half of the records move by at most {half} of {moves.size} ranks, 90 % by at most {most}"
    )
    same = "where many records have the same value, most keep theirs"
    return [f"{prefix(attribute.columns)}{far}; {same}"]


def _worst(matrices: tuple[Matrix, ...]) -> Fields:
    """The smallest beta of a row and of a column, and the largest leakage, over all groups."""
    rows, columns, leaks = [], [], []
    for matrix in matrices:
        found = measures.lines(matrix, [])
        if found is None:
            return {"worst_row_beta": None, "worst_column_beta": None, "max_leakage_bits": None}
        most = matrix.max_bits or 1.0
        one = matrix.size == 1
        rows.append(1.0 if one else max(0.0, found.worst_row[1] / most * (1 - 2**-48)))
        columns.append(1.0 if one else max(0.0, found.worst_column[1] / most * (1 - 2**-48)))
        leaks.append(measures.log2_up(found.peaks))
    betas = [matrix.beta for matrix in matrices]
    # A perfect secret has no worse line than the mean; rounding would say so.
    perfect = min(betas) == 1.0
    return {
        "worst_row_beta": 1.0 if perfect else min(rows),
        "worst_column_beta": 1.0 if perfect else min(columns),
        "max_leakage_bits": max(leaks),
    }
