"""``Certificate``: facts about a release, as JSON and as a table.

It depends on the plan, the options of the call, the number of records, the versions and the key's
fingerprint. Nothing in it is derived from a value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any

from bistochastic import Matrix, measures
from bistochastic_survey.cached import cached
from bistochastic_survey.json_fields import Fields
from bistochastic_survey.plan import central, plan_json, preview, published
from bistochastic_survey.plan.central import Central
from bistochastic_survey.plan.definitions import Measures
from bistochastic_survey.plan.numeric import Attribute
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release import certificate_json
from bistochastic_survey.release.certificate_json import ByIds, Unit, drawn_by
from bistochastic_survey.wording import prefix, quoted, shown, table, visible, visible_lines

BLOCK = 65_536
# The consequences of noise by blocks under a stored key.
BLOCKS = (
    f"Noise depends on the contents of each block of {BLOCK:,} rows. Under the same key and "
    "release name, readers can see that a block has not changed.",
    "Anyone who can have files protected under this key and release name can test a guess of a "
    "whole block.",
    "Editing a file re-randomizes the blocks it touches, and all later blocks after an inserted "
    "row: the epsilons of their records add up.",
)


@dataclass(frozen=True)
class Certificate:
    """Facts about a release. Printing it shows a table; :meth:`to_json` is for machines.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> certificate = plan.protect({"sex": ["F", "M", "M"]}).certificate
    >>> certificate.records, certificate.key_stored
    (3, False)
    >>> sv.Certificate.from_json(certificate.to_json()) == certificate
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
    """The engine that did the work, if it was one."""
    declared_categories: tuple[str, ...] = ()
    """Unprotected columns whose type publishes all their categories, in order."""
    units: tuple[Unit, ...] = ()
    """The units that columns were drawn by, and the kind of their ids."""
    files: dict[str, str] | None = field(default=None, compare=False)
    """The SHA-256 of each protected file as written, by its base name; None for a table."""
    _source: tuple[Certificate, str] | None = field(default=None, repr=False, compare=False)
    """The facts and the text that were read, to be written again while the facts stay."""
    _central: Central | None = field(default=None, repr=False, compare=False)
    """The central epsilon that is written: see :meth:`with_central`."""

    @property
    def _line(self) -> str:
        hashed = [each.pseudonym for each in (self.ids, *self.units) if each is not None]
        columns = len(self.plan._protected) + len(self.unprotected_columns)
        columns += len(hashed) - hashed.count(None)
        open_ = len(self.unprotected_columns) + len(published.unprotected(self.plan))
        what = f"of {self.records} records, {columns} column{'s' * (columns != 1)}"
        what += f" ({open_} unprotected)" if open_ else ""
        said = f"{what}: plan `{shown(self.plan.name)}`, {preview.headline(self.plan)}"
        return f"{said}{preview.strength(self.plan)}"

    @property
    def beta(self) -> float:
        """The stated beta of :attr:`plan`: see :attr:`Plan.beta`."""
        return self.plan.beta

    @property
    def epsilon(self) -> float:
        """The stated epsilon of :attr:`plan`: see :attr:`Plan.epsilon`."""
        return self.plan.epsilon

    @property
    def bits(self) -> float:
        """The stated bits of :attr:`plan`: see :attr:`Plan.bits`."""
        return self.plan.bits

    @cached
    def central(self) -> Central | None:
        """The central epsilon of a shuffled release, computed when it is asked for; None if none.

        :func:`bistochastic.shuffled` explains it. There is none if columns are unprotected, if the
        noise is by ids or units, or if epsilon is infinite: printing the certificate says why.

        >>> plan = sv.Plan.for_frame({"sex": ["F", "M"]}, epsilon=1)
        >>> plan.protect({"sex": ["F", "M"] * 500}, shuffle=True).certificate.central.epsilon
        0.148671
        """
        why = central.obstacle(self.plan, self.records, **self._shuffling)
        return None if why else central.central(self.plan, self.records)

    def with_central(self) -> Certificate:
        """Return the same certificate, whose JSON states :attr:`central`, if there is one.

        ``protect`` does not write it, because it can take seconds, and follows from the rest.

        >>> plan = sv.Plan.for_frame({"sex": ["F", "M"]}, epsilon=1)
        >>> certificate = plan.protect({"sex": ["F", "M"] * 500}, shuffle=True).certificate
        >>> certificate.with_central().to_dict()["central"]
        {'delta': 1e-06, 'epsilon': 0.148671, 'at_least': 0.126614}
        """
        return replace(self, _central=self.central)

    @property
    def shuffling(self) -> list[str]:
        """Sentences: the central epsilon of a shuffled release, or why there is none."""
        return central.sentences(self.plan, self.records, **self._shuffling)

    @property
    def _shuffling(self) -> Fields:
        by_ids = self.ids is not None
        return {"clear": self.unprotected_columns, "shuffled": self.shuffled, "by_ids": by_ids}

    @property
    def published_unchanged(self) -> tuple[str, ...]:
        """Phrases that name everything that is published unchanged."""
        found = [f"column `{shown(column)}`" for column in self.unprotected_columns]
        found += [
            f"the declared categories of `{shown(column)}`, in their order"
            for column in self.declared_categories
        ]
        found += published.phrases(published.facts(self.plan, kept=(), shuffled=self.shuffled))
        if self.ids is not None and not self.ids.row_columns:
            where = "in this release and in others by ids under its key"
            found += published.linkable(self.plan, where)
            found.append("that a value changed, if the reported value of a person changed")
            # The count in the rows matters, not what was declared.
            checked = self.ids.rows_per_id_checked
            if checked is None or checked > 1:
                found.append("that values of a person differ, if their reported values differ")
            if self.ids.pseudonym is not None:
                found.append(f"which rows belong to one person, by `{shown(self.ids.pseudonym)}`")
            if drawn_by(self.plan):
                found.append("that a value of a unit changed, if its reported value changed")
        found += [
            f"which records belong to one unit of `{shown(u.column)}`, and how many, by "
            f"`{shown(u.pseudonym)}`"
            for u in self.units if u.pseudonym is not None
        ]  # fmt: skip
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the key and the release that you need to know."""
        found = []
        if drawn_by(self.plan) and self.ids is not None and not self.ids.row_columns:
            found.append(
                "A unit that splits, or that gets a new id, is re-randomized: its epsilon adds."
            )
        if not all(unit.checked for unit in self.units):
            found.append(
                "The records of a unit were compared within each batch of the engine, not across "
                "batches."
            )
        found += [
            f"There are {unit.count:,} units by `{shown(unit.column)}`."
            for unit in self.units if unit.count is not None
        ]  # fmt: skip
        return (*self._key_notes(), *found)

    def _key_notes(self) -> tuple[str, ...]:
        if not self.key_stored:
            return (
                "The key was generated for this release and discarded. The noise cannot be "
                "reproduced, not even by the publisher.",
            )
        found = [
            "Anyone with the key can undo the release. Store it as securely as the original data, "
            "and destroy it when no further wave is due."
        ]
        if self.key_fingerprint == "insecure":
            found.append("The key is insecure: anyone can guess it and undo the release.")
        if self.ids is None:
            return (*found, *BLOCKS)
        if self.ids.row_columns:
            found.append(
                "Use each release name for one file: rows are addressed by "
                f"{quoted(self.ids.row_columns)} under the release name. A second file under the "
                "same name shows which of its rows differ."
            )
            return tuple(found)
        checked = self.ids.rows_per_id_checked
        found.append(
            "The same person with the same value has the same reported value in every wave. A "
            "changed value gets unrelated noise."
        )
        if any(attribute._has_numbers for attribute in self.plan._coded):
            found.append("Numbers inside a reported class are drawn again for every row and wave.")
        if any(attribute.groups is not None for attribute in self.plan.attributes):
            found.append(
                "A person whose group changed is re-randomized with the matrix of the new group: "
                "the epsilons add up."
            )
        if checked is None:
            found.append(
                "The number of rows per id was not checked. If an id has several rows whose "
                "reported values differ, its true values differ."
            )
        else:
            found.append(f"No id has more than {checked} row{'s' * (checked > 1)}.")
        if self.plan._numeric:
            found.append("Numeric columns are re-randomized in every wave.")
        for change in map(visible, self.ids.redrawn):
            found.append(
                f"People were re-randomized since the wave before: {change}. Epsilons add up."
            )
        for change in map(visible, self.ids.redrawn_before):
            found.append(
                f"People were re-randomized in an earlier wave, too: {change}. Epsilons add up."
            )
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about consequences of the plan that are easily overlooked."""
        return tuple(preview.warnings(self.plan))

    @cached
    def digest(self) -> str:
        """The SHA-256 of the certificate's JSON, which identifies it: 64 hexadecimal digits.

        The digest is of the data as first written or as read, without :attr:`files` and
        :attr:`central`.
        """
        return plan_json.digest_of(self._data())

    def to_dict(self) -> Fields:
        """Return the certificate as plain data: those that were read, if it was read."""
        stated = self._central and self._central._asdict()
        beside = {"central": stated, "files": self.files and dict(self.files)}
        return {**self._data(), **{name: each for name, each in beside.items() if each}}

    def _data(self, *, moves: bool = True) -> Fields:
        """Return the data of the digest; without ``moves``, without how far values move."""
        if self._source is not None and self._source[0] == self:
            read: Fields = json.loads(self._source[1])
            return read
        plan, ids = self.plan, self.ids
        return {
            "certificate_version": certificate_json.VERSION,
            "package": f"bistochastic {self.package}",
            "records": self.records,
            "release_name": self.release_name,
            "key": {"stored": self.key_stored, "fingerprint": self.key_fingerprint},
            "engine": self.engine,
            "addressing": "position" if ids is None else "rows" if ids.row_columns else "ids",
            "block_rows": BLOCK if ids is None else None,
            "shuffled": self.shuffled,
            "ids": None if ids is None else _of_ids(ids),
            "definition": plan.definition,
            "beta": plan.beta,
            "min_beta": plan.min_beta,
            "bits": plan.bits,
            "max_bits": plan.max_bits,
            "categorical": plan.categorical and asdict(plan.categorical),
            "numeric": plan.numeric and asdict(plan.numeric),
            "epsilon": plan_json.number(plan.epsilon),
            "epsilon_is_infinite_because": list(plan.reasons),
            "attributes": [
                _describe(attribute, each, moves)
                for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
            ],
            "unprotected_columns": list(self.unprotected_columns),
            "published_unchanged": list(self.published_unchanged),
            "columns_left_out": list(plan.drop),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "plan_digest": plan.digest,
            "plan": plan_json.plain(plan),
            **certificate_json.later(self, certificate_json.LATER),
        }

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return plan_json.to_text(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the certificate of :meth:`to_json`; ``ValueError`` if its facts were changed.

        Sentences are not compared: sentences of an older version are read, and written again
        unchanged. Printing makes new sentences from the facts.
        """
        return certificate_json.from_json(cls, text)

    def report(self, path: str | PathLike[str], **options: Any) -> None:
        """Write a report on the release as an HTML page: see :meth:`Release.report`.

        The same certificate, options and version give the same page, byte for byte.

        >>> import bistochastic_survey as sv, pathlib, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.protect({"sex": ["F", "M", "M"]}).certificate.report(page)
        >>> "What can a reader learn?" in page.read_text(encoding="utf-8")
        True
        """
        from bistochastic_survey.report.document import write_report

        write_report(path, self.plan, certificate=self, **options)

    def __str__(self) -> str:
        plan = self.plan
        records = f"{self.records:,} record{'s' * (self.records != 1)}"
        lines = [f"Certificate: {records}. {preview.title(plan)}", *preview.meaning(plan)]
        lines += ["", table(preview.HEADER, preview.rows(plan), left=(0, 1, 2)), ""]
        lines += [*self._totals, *preview.headed(self._lists), ""]
        lines += [f"{name[0].upper()}{name[1:]}: {text}" for name, text in self._facts()]
        return visible_lines("\n".join(lines))

    @property
    def _totals(self) -> list[str]:
        moved = [line for attribute in self.plan.attributes for line in _describe_moves(attribute)]
        return [*preview.totals(self.plan), *moved, *self.shuffling]

    @property
    def _lists(self) -> dict[str, Sequence[str]]:
        """Phrases under their headings, the same in text and in a notebook."""
        open_ = self.published_unchanged or ("nothing",)
        return {"Published unchanged": open_, "Warnings": self.warnings, "Notes": self.notes}

    def _facts(self) -> list[tuple[str, str]]:
        release = "none" if self.release_name is None else shown(self.release_name)
        key = f"stored, {self.key_fingerprint}" if self.key_stored else "discarded"
        found = [("release name", release), ("key", key)]
        found += [("engine", shown(self.engine))] if self.engine is not None else []
        found += [("rows", self.ids._line)] if self.ids is not None else []
        found.append(("order of the rows", "random" if self.shuffled else "as in the original"))
        found.append(("package", f"bistochastic {shown(self.package)}"))
        found.append(("plan", f"{shown(self.plan.name)}, digest {self.plan.digest[:16]}"))
        files = (self.files or {}).items()
        return found + [(f"file {shown(name)}", f"SHA-256 {digest}") for name, digest in files]

    def __repr__(self) -> str:
        return f"<Certificate {self._line}>"

    def _repr_html_(self) -> str:
        return self._html()

    def _html(self, where: str = "") -> str:
        """Write the HTML; ``where`` names the attribute of a release that has the table."""
        from bistochastic_survey.pages import render

        return render(
            "notebook",
            where=where,
            caption="Certificate",
            pairs=[("records", f"{self.records:,}"), *self._facts()],
            tables=[preview.laws(self.plan, "Protection of each column")],
            lines=self._totals,
            lists=self._lists,
        )


def _of_ids(ids: ByIds) -> Fields:
    names = (name for name in ByIds.__dataclass_fields__ if name not in certificate_json.LATER_IDS)
    found = {name: getattr(ids, name) for name in names}
    found |= {name: list(found[name]) for name in ("redrawn", "row_columns")}
    found["carried"] = [plan_json.attribute_data(attribute) for attribute in ids.carried]
    return found | certificate_json.later(ids, certificate_json.LATER_IDS)


def _describe(attribute: Attribute, each: Measures, moves: bool) -> Fields:
    found = {
        **asdict(each),
        "columns": list(each.columns),
        "epsilon": plan_json.number(each.epsilon),
    }
    found["reason"] = each.reason or None
    if attribute.whole_column:
        assert attribute.matrix is not None
        found |= {"how": attribute.how, "order": attribute.order}
        far = attribute._displacement if moves and not attribute.grouped else None
        found["displacement"] = None if far is None else asdict(far)
        return {**found, "matrices": [{"digest": attribute.matrix.digest}]}
    found |= _worst(attribute.matrices)
    digests = [{"digest": matrix.digest} for matrix in attribute.matrices]
    if attribute.groups is not None:
        values = attribute.groups.labels.values
        digests = [{"group": str(value), **each_digest}
                   for value, each_digest in zip(values, digests, strict=True)]  # fmt: skip
    return {**found, "matrices": digests, "missing": attribute.missing,
            "categories_from_data": attribute.categories_from_data}  # fmt: skip


def _describe_moves(attribute: Attribute) -> list[str]:
    """Say how far values move between ranks, for which beta says little."""
    if not attribute.whole_column or attribute.order is None or attribute.grouped:
        return []
    moves = attribute._displacement
    if moves is None or attribute.how == "average":
        return []
    half, most = (round(share * moves.size) for share in (moves.p50, moves.p90))
    far = f"half of the records move by at most {half} of {moves.size} ranks, 90% by at most {most}"
    same = "if many records have the same value, most keep theirs"
    return [f"{prefix(attribute.columns)}{far}; {same}"]


def _worst(matrices: tuple[Matrix, ...]) -> Fields:
    """Find the smallest beta of a matrix row and column, and the largest leakage, of all groups."""
    names = ("worst_row_beta", "worst_column_beta", "max_leakage_bits")
    rows: list[float] = []
    columns: list[float] = []
    leaks = []
    for matrix in matrices:
        found = measures.lines(matrix, [])
        if found is None:
            return dict.fromkeys(names)
        most = matrix.max_bits or 1.0
        for betas, (_, bits) in ((rows, found.worst_row), (columns, found.worst_column)):
            betas.append(1.0 if matrix.size == 1 else max(0.0, bits / most * (1 - 2**-48)))
        leaks.append(measures.log2_up(found.peaks))
    # No line of a perfect secret is worse than the mean, whatever rounding says.
    least = 1.0 if min(matrix.beta for matrix in matrices) == 1.0 else 0.0
    worst = (max(least, min(rows)), max(least, min(columns)), max(leaks))
    return dict(zip(names, worst, strict=True))
