"""``Plan``: what happens to each column of a table, and what that hides."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar, Unpack, get_args, overload

from bistochastic import Key, KeySource
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan import definitions, file_labels, plan_json
from bistochastic_survey.plan.attributes import Categorical, Joint, every, named, names
from bistochastic_survey.plan.file_labels import IdType, PlanFields
from bistochastic_survey.plan.numeric import Attribute, Numeric
from bistochastic_survey.release.columns import Missing
from bistochastic_survey.wording import meant, prefix, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from bistochastic_survey.analysis.collector import Collector
    from bistochastic_survey.plan.definitions import Bits, Measures
    from bistochastic_survey.plan.preview import Preview
    from bistochastic_survey.progress import Progress
    from bistochastic_survey.release.batch_function import BatchFunction
    from bistochastic_survey.release.certificate import Certificate
    from bistochastic_survey.release.protect import ProtectedBatches
    from bistochastic_survey.release.release import Release
    from bistochastic_survey.release.responder import PlannedColumn, Responder
    from bistochastic_survey.release.run import EngineOptions, Scannable
    from bistochastic_survey.release.waves import Wave


class HasColumns(Protocol):
    """A frame of any library, for type checkers."""

    @property
    def columns(self) -> Any: ...  # noqa: D102


class HasArrow(Protocol):
    """Another table that Arrow can read, for type checkers."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


# The container of a table's columns: the result has the same type.
FrameT = TypeVar("FrameT", bound="HasColumns | HasArrow | Mapping[Any, Any]")


@dataclass(frozen=True, init=False, repr=False)
class Plan(PlanFields):
    """The treatment of each column of a table: protected, kept unprotected, or dropped.

    A plan is made without seeing any data. It is frozen, and equal to another that does the same.

    ``attributes`` are :class:`Categorical`, :class:`Joint`, :class:`Binned` and :class:`Numeric`.
    ``keep`` names the columns that are published unchanged (``"*"``: all others), ``drop`` the
    columns that are left out. A column of the data that the plan does not name raises an error.
    The noise depends on ``name``, so keep the name the same in every wave.

    ``undecided`` names columns of a first plan that :meth:`for_frame` cannot decide. The plan does
    not protect anything until each of them is an attribute, kept or dropped. Beta and epsilon cover
    the other columns.

    ``units`` names unprotected columns that group records, such as a household's number. Records of
    one unit may share true values, so their reported values can be pooled: preview, certificate and
    report state the bound for several records of a unit. ``unit=`` of an attribute implies it. A
    plan that keeps columns and says nothing of units gets a warning; ``units=[]`` silences it.

    ``requirement`` is the publisher's own, with the arguments of :meth:`require`. It is stored with
    the plan and shown in reports, and nothing is protected by a plan that does not meet it.

    ``id_type`` is ``"string"``, ``"integer"`` or ``"bytes"``: the type of the ids of people, in
    every wave and on every device. ``"7"`` and 7 are two people with noise of their own, so ids of
    another type raise an error. Without it, ids may have any of these types.

    ``column_labels`` and ``value_labels`` are for files of SPSS and Stata, which pyreadstat writes.
    Labels of the original file never leave by themselves.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan(
    ...     [sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
    ...      sv.Categorical("smokes", ["no", "yes"], "randomized_response", beta=0.8)],
    ...     name="survey", keep=["age"])
    >>> plan.definition, round(plan.beta, 6), round(plan.epsilon, 6)
    (2, 0.7, 2.901784)
    >>> plan.by_attribute["sex"].beta >= 0.6
    True
    >>> plan.require(beta=0.7, min_beta=0.6)
    >>> sv.Plan.from_json(plan.to_json()) == plan
    True
    """

    def __init__(
        self,
        attributes: Iterable[Attribute],
        *,
        name: str = "plan",
        keep: Iterable[str] | Literal["*"] = (),
        drop: Iterable[str] = (),
        undecided: Iterable[str] = (),
        units: Iterable[str] | None = None,
        requirement: Mapping[str, float | tuple[int, float]] | None = None,
        column_labels: Mapping[str, str] | None = None,
        value_labels: Mapping[str, Mapping[Any, str]] | None = None,
        id_type: IdType | None = None,
    ) -> None:
        listed = checks.items("attributes", "be a list of attributes", attributes)
        for attribute in listed:
            must = "hold Categorical, Joint, Binned and Numeric"
            checks.of_type("attributes", must, attribute, Categorical | Joint | Numeric)
        open_ones = names("undecided", undecided)
        if not listed and not open_ones:
            raise Refused("attributes", "hold at least one", "none")
        kept, label, left_out = every("keep", keep), named("name", name), names("drop", drop)
        implied = [a.unit for a in listed if a.unit is not None]
        grouping = None if units is None and not implied else tuple(
            dict.fromkeys([*names("units", () if units is None else units), *implied])
        )  # fmt: skip
        required = () if requirement is None else definitions.requirement(requirement)
        own = {column for a in listed for column in a.columns}
        known = None if kept == "*" else {*own, *kept, *left_out, *open_ones, *(grouping or ())}
        labels = file_labels.of_columns({} if column_labels is None else column_labels, known)
        values = file_labels.of_values({} if value_labels is None else value_labels, listed, known)
        if id_type is not None:
            checks.one_of("id_type", id_type, get_args(IdType))
        vars(self).update(
            attributes=tuple(listed), name=label, keep=kept, drop=left_out, undecided=open_ones,
            units=grouping, requirement=required, column_labels=labels, value_labels=values,
            id_type=id_type,
        )  # fmt: skip
        file_labels.check_columns(self)

    def __hash__(self) -> int:
        return hash(self.digest)

    @property  # type: ignore[misc]  # of the field's name
    def column_labels(self) -> dict[str, str]:
        """Labels of columns, for files of SPSS and Stata.

        >>> sex = sv.Categorical("sex", [1, 2], "randomized_response", beta=0.6)
        >>> labels = {"sex": {1: "female", 2: "male"}}
        >>> plan = sv.Plan([sex], column_labels={"sex": "Sex of person"}, value_labels=labels)
        >>> plan.column_labels, plan.value_labels == labels
        ({'sex': 'Sex of person'}, True)
        """
        return dict(vars(self)["column_labels"])

    @property  # type: ignore[misc]  # of the field's name
    def value_labels(self) -> dict[str, dict[str | int | bool, str]]:
        """Labels of values by column, for files of SPSS and Stata: see :attr:`column_labels`."""
        return {column: dict(pairs) for column, pairs in vars(self)["value_labels"]}

    @classmethod
    def for_frame(
        cls,
        schema: object,
        *,
        beta: float | None = None,
        epsilon: float | None = None,
        truthfulness: float | None = None,
        categories_from_data: bool = False,
        codebook: object = None,
        ordinal: Iterable[str] = (),
        numeric: Iterable[str] | Literal["*"] = (),
        keep: Iterable[str] | Literal["*"] = (),
        drop: Iterable[str] = (),
        missing: Missing = "raise",
        name: str = "plan",
    ) -> Plan:
        """Write a first plan from names, types and declared categories. Review its :meth:`preview`.

        ``schema`` is a DataFrame, or only a schema: a pyarrow or polars schema, a DuckDB relation,
        a dict of columns and their categories, or the path of a codebook (CSV with ``column`` and
        ``category``, TOML, or an SPSS, Stata or SAS file, of which the labels are read).
        ``codebook`` adds categories to a DataFrame.

        The categories of an Enum (polars, DuckDB), of booleans and of a codebook are declared.
        Strings, a Categorical and an Arrow dictionary list only categories that happen to occur.
        They are read only with ``categories_from_data=True``, and plan and certificate then say so.

        Categories get randomized response. Each column reaches ``beta``. Instead you can request
        ``epsilon``, which no matrix then exceeds, or ``truthfulness``, the probability that a
        reported value is the true one. With both, ``epsilon`` is for the categories and ``beta``
        for the columns of ``numeric``.

        If the order of categories matters, name the column in ``ordinal``: it gets a geometric
        matrix, whose reported values are mostly near the true ones. Its categories must be declared
        in their order. At the same epsilon, randomized response needs far fewer records. So an
        ordered categorical of pandas and an ordered Arrow dictionary get a geometric matrix without
        being named only if you do not request ``epsilon``, and if ``missing`` adds no category,
        which has no place in an order.

        Columns of numbers are *undecided*, unless a codebook declares their categories: they may be
        ids, weights or codes, which must not be permuted. List columns to permute between records
        of similar rank in ``numeric``, columns to publish unchanged in ``keep``, and columns to
        leave out in ``drop``. ``"*"`` means all that are undecided. :attr:`undecided` lists the
        rest, and the plan does not protect anything until each of them is decided.

        Other columns without categories are left out, with a warning that names them. Columns of
        ``codebook`` that the DataFrame does not have are ignored.

        ``missing`` is ``"raise"``, ``"keep"`` or ``"category"`` for all columns of categories, see
        :class:`Categorical`. Columns of numbers must not have missing values. If a file declares
        missing codes of a column, they are recoded, and ``"raise"`` becomes ``"category"``.

        >>> plan = sv.Plan.for_frame({"sex": ["F", "M"], "smokes": bool, "age": int, "name": str},
        ...                          beta=0.6, numeric=["age"], drop=["name"])
        >>> plan.attributes
        (<Categorical `sex`, 2 categories: randomized_response, beta 0.6>,
         <Categorical `smokes`, 2 categories: randomized_response, beta 0.6>,
         <Numeric `age`, permute by rank: k_anonymous, beta=0.6>)
        >>> plan.drop
        ('name',)
        >>> first = sv.Plan.for_frame({"sex": ["F", "M"], "household": int}, epsilon=1)
        >>> first.undecided, round(first.epsilon, 6)
        (('household',), 1.0)
        >>> columns = {"sex": ["F", "M"], "income": float}
        >>> sv.Plan.for_frame(columns, epsilon=1, beta=0.6, numeric=["income"]).attributes
        (<Categorical `sex`, 2 categories: randomized_response, beta 0.839941>,
         <Numeric `income`, permute by rank: k_anonymous, beta=0.6>)
        >>> columns = {"health": ["bad", "fair", "good"]}
        >>> sv.Plan.for_frame(columns, beta=0.6, ordinal=["health"]).attributes
        (<Categorical `health`, 3 categories: geometric, beta 0.6>,)
        """
        from bistochastic_survey.plan.draft import draft

        plan, left_out = draft(
            schema, beta=beta, epsilon=epsilon, truthfulness=truthfulness,
            categories_from_data=categories_from_data, codebook=codebook, ordinal=ordinal,
            numeric=numeric, keep=keep, drop=drop, missing=missing, name=name,
        )  # fmt: skip
        for sentence in left_out:
            warnings.warn(f"`for_frame` leaves columns out: {sentence}", UserWarning, stacklevel=2)
        return plan

    @property
    def definition(self) -> int:
        """1 for a single column, 3 for a single :class:`Joint`, else 2: bits are summed."""
        if len(self.attributes) != 1:
            return 2
        return 3 if len(self.attributes[0].columns) > 1 else 1

    @cached
    def by_attribute(self) -> dict[str, Measures]:
        """The measures of each attribute, by its column (several: with a comma between them)."""
        return {each.name: each for each in map(definitions.measures, self.attributes)}

    @property
    def has_records(self) -> bool:
        """Whether the number of records is known wherever it is needed: see :meth:`for_records`."""
        return all(each.bits is not None for each in self.by_attribute.values())

    @property
    def categorical(self) -> Bits | None:
        """The bits of all categorical and joint attributes; None if the plan has none."""
        return definitions.together(x for x in self.by_attribute.values() if x.kind != "numeric")

    @property
    def numeric(self) -> Bits | None:
        """The bits of all numeric attributes; None without any, or without a number of records."""
        return definitions.together(x for x in self.by_attribute.values() if x.kind == "numeric")

    def _refuse_undecided(self, error: type[Refused] = Refused) -> None:
        if self.undecided:
            cure = "permute a column as Numeric, name it in keep or drop, or declare its categories"
            got = f"numbers without declared categories: {cure}"
            raise error("", "be decided first", got, column=self.undecided)

    def _together(self) -> Bits:
        if not self.attributes:
            self._refuse_undecided()
        found = definitions.together(self.by_attribute.values())
        if found is None:
            must, got = "be known for a numeric column", "none, which for_records(n) sets"
            raise Refused("records", must, got, column=self.attributes[0].columns)
        return found

    @property
    def bits(self) -> float:
        """The bits that all attributes hide, except those that still need a number of records."""
        return self._together().bits

    @property
    def max_bits(self) -> float:
        """The largest possible :attr:`bits`."""
        return self._together().max_bits

    @property
    def beta(self) -> float:
        """``bits / max_bits``, never above the true value.

        Until :attr:`has_records` is true it covers the categorical columns only, because the bits
        of a numeric column depend on the number of records.

        A large beta can hide a weak column: look at :attr:`min_beta`, too.
        """
        return self._together().beta

    @property
    def min_beta(self) -> float:
        """The smallest beta of a column; of categorical columns only until :attr:`has_records`."""
        self._together()
        return min(each.beta for each in self.by_attribute.values() if each.beta is not None)

    @property
    def epsilon(self) -> float:
        """The epsilon of a whole record: the sum over attributes, never below the true value.

        :attr:`reasons` says why it is infinite. It does not cover unprotected columns.
        """
        if not self.attributes:
            self._refuse_undecided()
        return definitions.epsilon(self.by_attribute.values())

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why :attr:`epsilon` is infinite: a sentence per attribute that makes it so.

        >>> sv.Plan([sv.Numeric("income", "k_anonymous", k=5)]).reasons
        ('column `income`: the set of values is published',)
        """
        parts = self.by_attribute.values()
        return tuple(f"{prefix(each.columns)}{each.reason}" for each in parts if each.reason)

    def for_records(self, n: int) -> Plan:
        """Return the same plan for this many records, which numeric columns need for their bits.

        >>> plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)])
        >>> plan.has_records, round(plan.for_records(1000).beta, 6)
        (False, 0.23299)
        """
        records = checks.whole("n", n, 1)
        return self._derived(attribute.for_records(records) for attribute in self.attributes)

    def _derived(self, attributes: Iterable[Attribute]) -> Plan:
        """Return the plan with these attributes of the same columns, and all else unchanged."""
        made = object.__new__(Plan)
        vars(made).update(self.__getstate__(), attributes=tuple(attributes))
        file_labels.check_columns(made)
        return made

    @property  # type: ignore[misc]  # of the field's name
    def requirement(self) -> dict[str, Any]:
        """The publisher's own requirement, under the names of :meth:`require`; may be empty.

        >>> sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.5)
        >>> plan = sv.Plan([sex], requirement={"min_beta": 0.6})
        >>> plan.requirement
        {'min_beta': 0.6}
        >>> plan.protect({"sex": ["F", "M"]})
        Traceback (most recent call last):
            ...
        bistochastic.errors.GuaranteeError: column `sex`: `beta` must be at least 0.6; got 0.5...
        """
        return dict(vars(self)["requirement"])

    _unmet = cached(definitions.unmet)

    def _meet_requirement(self) -> None:
        if self._unmet is not None:
            raise copy(self._unmet)

    def require(
        self,
        *,
        beta: float | None = None,
        min_beta: float | None = None,
        epsilon: float | None = None,
        pooled: tuple[int, float] | None = None,
    ) -> None:
        """Raise :class:`bistochastic.errors.GuaranteeError` unless the plan meets all limits.

        ``beta`` covers all categories together and all numbers together, each of the two kinds:
        one mean of both would say nothing. ``min_beta`` covers each attribute, ``epsilon`` a whole
        record. Without arguments, :attr:`requirement` is checked. A numeric column without a number
        of records does not meet any limit.

        ``pooled=(m, epsilon)`` covers all columns of ``m`` records of one unit: the epsilon of the
        columns drawn by the unit, plus ``m`` times the epsilon of the others.

        >>> plan = sv.Plan([sv.Categorical("a", [0, 1], "randomized_response", beta=0.9),
        ...                 sv.Categorical("b", [0, 1], "randomized_response", beta=0.5)])
        >>> plan.require(beta=0.7)
        >>> plan.require(beta=0.7, min_beta=0.6)
        Traceback (most recent call last):
            ...
        bistochastic.errors.GuaranteeError: column `b`: `beta` must be at least 0.6; got 0.5...
        """
        limits = {"beta": beta, "min_beta": min_beta, "epsilon": epsilon, "pooled": pooled}
        definitions.require(self, limits)

    def preview(self, records: int | None = None, design_effect: float = 1) -> Preview:
        """Show what the plan does and hides, as a table, before any data are read.

        With ``records`` a second table says what to expect from that number of records: how often a
        reported value is true, its mean distance from the true value (in steps from one code to the
        next), the standard error of a proportion, how close 95 of 100 estimates are, and what a
        suspicion of 1% becomes. ``design_effect`` says how many times larger variances are than in
        a simple random sample.

        >>> sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)]).preview()
        Plan plan: 1 protected column
        ...
        """
        from bistochastic_survey.plan.preview import Preview

        plan = self if records is None else self.for_records(records)
        return Preview(plan, records, design_effect)

    def report(
        self,
        path: str | PathLike[str],
        records: int | None = None,
        *,
        title: str | None = None,
        publisher: str | None = None,
        date: date | str | None = None,
        contact: str | None = None,
        design_effect: float = 1,
    ) -> None:
        """Write an HTML report of what the plan does and hides, before any data are read.

        ``path`` ends in ``.html``. The page is one file that needs nothing else. It says what will
        be published, what a reader can learn at most, what is not covered, how accurate estimates
        are and who can undo the release. With ``records`` it says so for that number of records.
        :meth:`Release.report` explains the other options.

        >>> import bistochastic_survey as sv, pathlib, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.report(page, records=1000, title="Health survey 2026")
        >>> "<h1>Health survey 2026</h1>" in page.read_text(encoding="utf-8")
        True
        """
        from bistochastic_survey.report.document import write_report

        self._refuse_undecided()
        write_report(
            path, self, records=records, title=title, publisher=publisher, date=date,
            contact=contact, design_effect=design_effect,
        )  # fmt: skip

    def protect(
        self,
        frame: FrameT,
        *,
        key: Key | KeySource | None = None,
        release_name: str | None = None,
        ids: Wave | None = None,
        shuffle: bool = False,
        unit_pseudonym: Mapping[str, str] | None = None,
        count_units: bool = False,
        allow_insecure: bool = False,
        progress: Progress = None,
    ) -> Release[FrameT]:
        """Protect a table: return a table of the same type and shape, and its certificate.

        ``frame`` is a pandas or polars DataFrame, a pyarrow Table, a DuckDB relation, or a dict of
        arrays. Columns keep their order and their types; a categorical type gets the categories of
        the plan. Errors name the column and the row, never a value.

        Without a key, one is generated and discarded: the usual case for a single release. With a
        key the noise can be reproduced, and ``release_name`` names the use of the key. The noise
        then depends on the data in blocks of 65,536 rows, so two files under one name share no
        noise; fewer than 256 rows raise an error. ``key`` is a :class:`Key`, or a
        :class:`KeySource` that says where to read it and which fingerprint it must have.

        With ``ids``, a :class:`Wave`, the noise depends on people: the same person with the same
        value gets the same reported value in every wave. ``Binned`` columns with
        ``output="number"`` then need a ``release_name`` of each wave. Otherwise ``release_name``
        does not change reported values by ids, or without a key; it is noted in the certificate.
        Values that stay the same can link the rows of a person: the certificate says so.

        Columns with ``unit=`` are drawn once per unit: with ids, or without a key. All records of a
        unit must have the same value in such a column. The unit's own column is kept or dropped, as
        the plan says; ``unit_pseudonym={"household": "home"}`` writes a keyed hash in its place.
        ``count_units=True`` adds the number of units to the certificate.

        ``shuffle=True`` puts the rows in a random order. Otherwise the order is published
        unchanged, and a sorted file reveals which records are neighbours. ``allow_insecure``
        accepts ``Key.insecure``. Long work shows a bar: ``progress=True`` at once, False never; a
        function receives the completed fraction instead.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> release = plan.protect({"sex": ["F", "M", "M"]})
        >>> sorted(set(release.data["sex"]) | {"F", "M"}), release.certificate.records
        (['F', 'M'], 3)
        """
        from bistochastic_survey.release.protect import protect
        from bistochastic_survey.release.run import Options

        said = Options.of(
            self, key=key, release_name=release_name, ids=ids, shuffle=shuffle,
            unit_pseudonym=unit_pseudonym, count_units=count_units, allow_insecure=allow_insecure,
        )  # fmt: skip
        return protect(self, frame, said, progress)

    def protect_batches(
        self,
        reader: object,
        *,
        key: Key | KeySource | None = None,
        release_name: str | None = None,
        ids: Wave | None = None,
        unit_pseudonym: Mapping[str, str] | None = None,
        count_units: bool = False,
        allow_insecure: bool = False,
    ) -> ProtectedBatches:
        """Protect a table that comes in Arrow record batches, in bounded memory.

        ``reader`` is a pyarrow ``RecordBatchReader``, or any other Arrow stream. Read the result
        in the same way. It has a ``certificate`` once all of it was read. The rows are the same as
        :meth:`protect` gives for the whole table, in the same order, whatever the batches were.

        Rows are randomized as they are read, so an error may come after some of them. Do not use
        any row of a release that has not reached its end. A plan with a numeric column raises an
        error, because all values must be known to permute them.

        >>> import bistochastic_survey as sv, pyarrow as pa
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> batches = plan.protect_batches(pa.table({"sex": ["F", "M", "M"]}).to_reader())
        >>> batches.read_all().num_rows, batches.certificate.records
        (3, 3)
        """
        from bistochastic_survey.release.protect import protect_batches
        from bistochastic_survey.release.run import Options

        said = Options.of(
            self, key=key, release_name=release_name, ids=ids, unit_pseudonym=unit_pseudonym,
            count_units=count_units, allow_insecure=allow_insecure,
        )  # fmt: skip
        return protect_batches(self, reader, said)

    def batch_function(
        self,
        *,
        key: KeySource,
        release_name: str | None = None,
        ids: Wave | None = None,
        row_columns: Sequence[str] | None = None,
        unit_pseudonym: Mapping[str, str] | None = None,
        allow_insecure: bool = False,
    ) -> BatchFunction:
        """Make the function that an engine calls on its batches. It holds the plan, not the key.

        ``ids`` is a :class:`Wave` as in :meth:`protect`; ``release_name`` is noted in the
        certificate. With ids, a row has the same reported value wherever and however often the
        engine computes it. Noise by row position, numeric columns, numbers inside classes
        (``output="number"``) and ``key=None`` therefore raise an error. No worker sees all rows, so
        none can shuffle them: sort what comes back by random numbers.

        If your rows have no ids of people, ``row_columns`` names columns that identify a row, e.g.
        a file and a row number. Then give each file its own ``release_name``: two files under one
        name would reveal which rows differ.

        Errors count rows from 0 within their batch, because an engine does not say which rows of
        the table a batch has.

        >>> import bistochastic as bs, bistochastic_survey as sv, pyarrow as pa, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> table = pa.table({"person": [7, 8, 9], "sex": ["F", "M", "M"]})
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     f = plan.batch_function(key=source, ids=sv.Wave("person", after="first"))
        ...     released = f.table(table)
        ...     facts = {"records": released.num_rows, "schema": table.schema}
        ...     certificate = f.certificate(engine="pyarrow", **facts)
        >>> released.column_names, certificate.records
        (['sex'], 3)
        """
        from bistochastic_survey.release.batch_function import batch_function

        return batch_function(
            self, key=key, release_name=release_name, ids=ids, row_columns=row_columns,
            unit_pseudonym=unit_pseudonym, allow_insecure=allow_insecure,
        )  # fmt: skip

    @overload
    def on(
        self, obj: Scannable, *, observation: None = None, **options: Unpack[EngineOptions]
    ) -> pa.RecordBatchReader: ...
    @overload
    def on(
        self, obj: FrameT, *, observation: object = None, **options: Unpack[EngineOptions]
    ) -> FrameT: ...
    def on(
        self, obj: object, *, observation: object = None, **options: Unpack[EngineOptions]
    ) -> Any:
        """Apply the batch function to an object of an engine, which computes the result later.

        ``obj`` is a Spark DataFrame (also Spark Connect or a stream), a Dask DataFrame, a Ray
        Dataset, a DuckDB relation, a polars LazyFrame, or a pyarrow dataset or scanner. The result
        has the same type.

        :meth:`batch_function` explains the options: ``key`` (a :class:`KeySource`), ``ids`` or
        ``row_columns``, ``release_name``, ``unit_pseudonym`` and ``allow_insecure``.

        * A Dask DataFrame comes back without its index.
        * A dataset or scanner gives a reader of batches for ``pyarrow.dataset.write_dataset``. This
          reader and the DuckDB relation can be read once.
        * A filter after the polars LazyFrame is not moved before it.
        * ``observation`` is for Spark only: an ``Observation`` that counts ``records`` when the
          DataFrame is written, because accumulators count rows twice if a worker is lost. For a
          stream give a name instead, and find the count in its progress.

        >>> import bistochastic as bs, bistochastic_survey as sv, polars as pl, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> people = pl.LazyFrame({"person": [7, 8, 9], "sex": ["F", "M", "M"]})
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     out = plan.on(people, key=source, ids=sv.Wave("person", after="first"))
        ...     out.collect().shape
        (3, 1)
        """
        from bistochastic_survey.release.batch_function import on

        return on(self.batch_function(**options), obj, observation)

    def responder(
        self,
        *,
        key: Key | KeySource,
        after: Certificate | str,
        redraw: bool = False,
        allow_insecure: bool = False,
    ) -> Responder:
        """Make what a service or a phone holds to randomize records as they come.

        Its answers are those of ``protect`` by ids. ``key`` is a :class:`Key`, or a
        :class:`KeySource`, which a responder can be pickled with. ``after`` is ``"first"``, the
        :attr:`digest` of the plan that was used before, or the certificate of the wave before.
        A plan that would re-randomize people raises an error, unless ``redraw=True``; with a
        digest, any other plan. Another key re-randomizes everyone: the certificate finds that,
        and the ``fingerprint`` of a source, but no digest, which is of the plan alone.

        ``allow_insecure`` accepts ``Key.insecure``, which anyone can guess. Numeric columns,
        columns by unit and numbers inside classes (``output="number"``) raise an error.

        >>> import bistochastic as bs, bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> responder = plan.responder(key=bs.Key.generate(), after="first")
        >>> responder.one({"sex": "F"}, id="person 7")["sex"] in ("F", "M")
        True
        """
        from bistochastic_survey.release.responder import responder

        return responder(self, key=key, after=after, redraw=redraw, allow_insecure=allow_insecure)

    def column(self, name: str) -> PlannedColumn:
        """Return one protected column, whose ``function`` protects its values alone.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> protect_sex = plan.column("sex").function(key=bs.Key.generate(), ids=True)
        >>> len(protect_sex(["F", "M"], ids=["ann", "bob"]))
        2
        """
        from bistochastic_survey.release.responder import PlannedColumn

        if named("name", name) not in self._protected:
            got = f"`{shown(name)}`{meant(name, self._protected)}"
            raise Refused("name", "be a column that the plan protects", got)
        return PlannedColumn(self, name)

    def client_json(self) -> str:
        """Write what a device needs to randomize its own record, as JSON for any language.

        The JSON holds columns, categories, names, digests and the integers of each draw. No client
        computes with floating point. ``docs/protocol.md`` says how a client uses it, and
        ``schemas/client.json`` is the schema. Numeric columns, numbers inside classes, columns by
        unit and composites raise an error.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> plan.client_json()[:27]
        '{"protocol":1,"name":"plan"'
        """
        from bistochastic_survey.plan.client import client_json

        return client_json(self)

    def collector(self, *tables: str | Sequence[str]) -> Collector:
        """Make an empty collector, which counts reported records as they arrive.

        ``tables`` are columns, or lists of columns that are counted together. Without ``tables``
        each attribute is counted on its own. A :class:`~bistochastic_survey.Collector`
        has ``add``, ``update``, ``add_counts``, ``merge``, ``+``, ``to_file``, ``from_file``,
        ``to_json``, ``from_json``, ``estimate``, ``count`` and ``ratio``. Its memory does not grow
        with the number of records. A column that the plan does not protect, or a record with an
        undeclared category, raises ``ValueError``.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> collector = plan.collector("sex")
        >>> collector.add({"sex": "F"})
        >>> collector
        <Collector of 1 records: sex>
        >>> collector.add({"sex": "X"})
        Traceback (most recent call last):
            ...
        bistochastic.errors.Refused: column `sex`: must hold declared categories only; got 1 other
            value, the first in row 0 (the categories are strings, such as 'F')
        """
        from bistochastic_survey.analysis.collector import Collector

        return Collector(self, tables)

    @cached
    def digest(self) -> str:
        """64 hexadecimal digits that identify the plan: SHA-256 of its JSON.

        The digest is of the names and values of format 1, so later names do not change it.
        """
        return plan_json.digest_of_plain(plan_json.plain(self))

    def to_json(self) -> str:
        """Return the plan as JSON, which is enough to protect, respond or estimate."""
        return plan_json.to_text(plan_json.plain(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the plan of :meth:`to_json`. An unknown or wrong field raises an error.

        >>> sv.Plan.from_json('{"version": 1, "atributes": []}')
        Traceback (most recent call last):
            ...
        bistochastic.errors.Refused: `atributes` must be one of version, attributes, name, keep,
            ...; got an unknown name, did you mean attributes?
        """
        return plan_json.from_json(cls, text)

    def to_toml(self) -> str:
        """Return the plan as TOML, for people to read and edit."""
        return plan_json.to_toml(self)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read the plan of :meth:`to_toml`, or a plan written by hand.

        For a matrix, ``family`` and ``requested`` are enough.

        >>> plan = sv.Plan.from_toml('''
        ... version = 1
        ... [[attributes]]
        ... kind = "categorical"
        ... column = "sex"
        ... categories = ["F", "M"]
        ... matrix = {family = "randomized_response", requested = {beta = 0.6}}
        ... ''')
        >>> plan.attributes[0]
        <Categorical `sex`, 2 categories: randomized_response, beta 0.6>
        """
        return plan_json.from_toml(cls, text)

    def __repr__(self) -> str:
        from bistochastic_survey.plan.preview import line

        return line(self)

    def _repr_html_(self) -> str:
        return self.preview()._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}
