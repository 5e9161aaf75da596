"""``Plan``: what happens to each column of a table, and what that hides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

from bistochastic import _core, arguments
from bistochastic.errors import GuaranteeError, Refused
from bistochastic.kept import kept
from bistochastic.plan import definitions, exchange, rules
from bistochastic.plan.attributes import Attribute, Categorical, Joint, Numeric, named, names
from bistochastic.plan.keywords import (
    EngineOptions,
    FrameT,
    ReleaseOptions,
    ReportOptions,
    Survey,
    taking,
)
from bistochastic.words import down, exact, prefix, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import Protocol

    import pyarrow as pa

    from bistochastic.choose.strongest import Strongest
    from bistochastic.estimate import Estimate
    from bistochastic.estimate.counts import Counts
    from bistochastic.estimate.quantities import Quantity, Ratio
    from bistochastic.models.panels import Transitions
    from bistochastic.models.result import Regression
    from bistochastic.plan.attributes import Missing
    from bistochastic.plan.definitions import Bits, Measures
    from bistochastic.plan.function import BatchFunction
    from bistochastic.plan.preview import Preview
    from bistochastic.plan.protect import Release
    from bistochastic.plan.respond import Quick
    from bistochastic.plan.rules import ColumnLabels, ValueLabels
    from bistochastic.plan.stream import ProtectedBatches
    from bistochastic.progress import Progress
    from bistochastic.sources import KeySource
    from bistochastic.tables.collector import Collector

    class _Scanned(Protocol):
        """A pyarrow dataset or scanner."""

        def count_rows(self) -> int: ...
        def head(self, num_rows: int) -> pa.Table: ...


# The requirements of a publisher: arguments of ``Plan.require``.
REQUIRED = ("beta", "min_beta", "epsilon", "pooled")


@dataclass(frozen=True)
class _Fields:
    """The fields of a plan."""

    attributes: tuple[Attribute, ...]
    name: str
    keep: tuple[str, ...] | Literal["*"]
    drop: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    units: tuple[str, ...] | None = None
    _required: tuple[tuple[str, Any], ...] = ()
    _column_labels: ColumnLabels = ()
    _value_labels: ValueLabels = ()


@dataclass(frozen=True, init=False, repr=False)
class Plan(_Fields):
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

    ``column_labels`` and ``value_labels`` are written into files of SPSS and Stata. Labels of the
    original file never leave by themselves.

    >>> import bistochastic as bs
    >>> plan = bs.Plan(
    ...     [bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
    ...      bs.Categorical("smokes", ["no", "yes"], "randomized_response", beta=0.8)],
    ...     name="survey", keep=["age"])
    >>> plan.definition, round(plan.beta, 6), round(plan.epsilon, 6)
    (2, 0.7, 2.901784)
    >>> plan.by_attribute["sex"].beta >= 0.6
    True
    >>> plan.require(beta=0.7, min_beta=0.6)
    >>> bs.Plan.from_json(plan.to_json()) == plan
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
    ) -> None:
        listed = arguments.items("attributes", "be a list of attributes", attributes)
        for attribute in listed:
            if not isinstance(attribute, Categorical | Joint | Numeric):
                must = "`attributes` must hold Categorical, Joint, Binned and Numeric"
                raise TypeError(f"{must}; got {type(attribute).__name__}")
        open_ones = names("undecided", undecided)
        if not listed and not open_ones:
            raise ValueError("`attributes` must hold at least one; got none")
        kept = every("keep", keep)
        label, left_out = named("name", name), names("drop", drop)
        implied = [a.unit for a in listed if a.unit is not None]
        grouping = None if units is None and not implied else tuple(
            dict.fromkeys([*names("units", () if units is None else units), *implied])
        )  # fmt: skip
        required = () if requirement is None else _requirement(requirement)
        of_all = [column for a in listed for column in a.columns]
        known = None if kept == "*" else {*of_all, *kept, *left_out, *open_ones, *(grouping or ())}
        labels = rules.of_columns({} if column_labels is None else column_labels, known)
        values = rules.of_values({} if value_labels is None else value_labels, listed, known)
        super().__init__(
            tuple(listed), label, kept, left_out, open_ones, grouping, required, labels, values
        )
        self._check()

    @property
    def column_labels(self) -> dict[str, str]:
        """Labels of columns, for files of SPSS and Stata.

        >>> import bistochastic as bs
        >>> sex = bs.Categorical("sex", [1, 2], "randomized_response", beta=0.6)
        >>> labels = {"sex": {1: "female", 2: "male"}}
        >>> plan = bs.Plan([sex], column_labels={"sex": "Sex of person"}, value_labels=labels)
        >>> plan.column_labels, plan.value_labels == labels
        ({'sex': 'Sex of person'}, True)
        """
        return dict(self._column_labels)

    @property
    def value_labels(self) -> dict[str, dict[str | int | bool, str]]:
        """Labels of values by column, for files of SPSS and Stata: see :attr:`column_labels`."""
        return {column: dict(pairs) for column, pairs in self._value_labels}

    @kept
    def _coded(self) -> tuple[Categorical | Joint, ...]:
        """The attributes that are drawn row by row."""
        return tuple(a for a in self.attributes if not a.whole_column)

    @kept
    def _numeric(self) -> tuple[Numeric, ...]:
        """The attributes that are drawn as a whole."""
        return tuple(a for a in self.attributes if a.whole_column)

    @kept
    def _protected(self) -> frozenset[str]:
        """The columns of all attributes."""
        return frozenset(column for a in self.attributes for column in a.columns)

    @kept
    def _quick(self) -> Quick | None:
        """The quick way to randomize one record; None if the plan has none."""
        from bistochastic.plan.respond import prepare

        return prepare(self)

    def _check(self) -> None:
        """Check that no column occurs twice and that columns of groups stay unprotected."""
        if self.keep == "*" and self.undecided:
            them = "it" if len(self.undecided) == 1 else "them"
            must = f'must not be undecided if keep="*", which keeps {them}'
            raise ValueError(f"{prefix(self.undecided)}{must}; got both")
        seen: dict[str, str] = {}
        named_in = [(column, "an attribute") for a in self.attributes for column in a.columns]
        named_in += [(column, "`keep`") for column in self.keep if self.keep != "*"]
        named_in += [(column, "`drop`") for column in self.drop]
        named_in += [(column, "`undecided`") for column in self.undecided]
        for column, where in named_in:
            if column in seen:
                got = f"{seen[column]} and {where}" if seen[column] != where else f"{where} twice"
                raise ValueError(f"{prefix([column])}must be named once; got {got}")
            seen[column] = where
        for column in self.units or ():
            if seen.get(column) in ("an attribute", "`undecided`"):
                which = "protects" if column in self._protected else "does not decide"
                must = "`units` must name unprotected columns"
                raise ValueError(f"{must}; got `{shown(column)}`, which the plan {which}")
        by = [(a, "groups", a.groups.column) for a in self.attributes if a.groups is not None]
        within = [(a, "within", a.within) for a in self._numeric if a.within is not None]
        for attribute, name, column in (*by, *within):
            clear = column in self.keep or (self.keep == "*" and column not in seen)
            if not clear:
                must = f"`{name}` must be by a column that the plan keeps; got `{shown(column)}`"
                raise ValueError(f"{prefix(attribute.columns)}{must}, which is not in `keep`")

    @classmethod
    def for_frame(
        cls,
        schema: object,
        *,
        beta: float | None = None,
        epsilon: float | None = None,
        truthfulness: float | None = None,
        min_beta: float | None = None,
        categories_from_data: bool = False,
        codebook: object = None,
        numeric: Iterable[str] | Literal["*"] = (),
        keep: Iterable[str] | Literal["*"] = (),
        drop: Iterable[str] = (),
        missing: Missing | Mapping[str, Missing] = "raise",
        name: str = "plan",
    ) -> Plan:
        """Write a first plan from names, types and declared categories. Review its :meth:`preview`.

        ``schema`` is a DataFrame, or only a schema: a pyarrow or polars schema, a DuckDB relation,
        a dict of columns and their categories, or the path of a codebook (CSV with ``column`` and
        ``category``, TOML, a Table Schema as JSON, or an SPSS, Stata or SAS file, of which the
        labels are read). ``codebook`` adds categories to a DataFrame.

        The categories of an Enum (polars, DuckDB), of booleans and of a codebook are declared.
        Strings, a Categorical and an Arrow dictionary list only categories that happen to occur.
        They are read only with ``categories_from_data=True``, and plan and certificate then say so.

        Categories get randomized response. Each column reaches ``beta``, or ``min_beta`` if that is
        larger. Instead of beta you can request ``epsilon``, which no matrix then exceeds, or
        ``truthfulness``, the probability that a reported value is the true one.

        Columns of numbers are *undecided*, unless a codebook declares their categories: they may be
        ids, weights or codes, which must not be permuted. List columns to permute between records
        of similar rank in ``numeric``, columns to publish unchanged in ``keep``, and columns to
        leave out in ``drop``. ``"*"`` means all that are undecided. :attr:`undecided` lists the
        rest, and the plan does not protect anything until each of them is decided.

        Other columns without categories are left out, with a warning that names them. Columns of
        ``codebook`` that the DataFrame does not have are ignored.

        ``missing`` is ``"raise"``, ``"keep"`` or ``"category"`` for all columns of categories, see
        :class:`Categorical`. A dict sets it by column; other columns raise. Columns of numbers must
        not have missing values. If a file declares missing codes of a column, they are recoded, and
        ``"raise"`` becomes ``"category"``.

        >>> import bistochastic as bs
        >>> plan = bs.Plan.for_frame({"sex": ["F", "M"], "smokes": bool, "age": int, "name": str},
        ...                          beta=0.6, numeric=["age"], drop=["name"])
        >>> plan.attributes
        (<Categorical `sex`, 2 categories: randomized_response, beta 0.6>,
         <Categorical `smokes`, 2 categories: randomized_response, beta 0.6>,
         <Numeric `age`, permute by rank: k_anonymous, beta=0.6>)
        >>> plan.drop
        ('name',)
        >>> columns = {"sex": ["F", "M"], "smokes": bool}
        >>> plan = bs.Plan.for_frame(columns, beta=0.6, missing={"smokes": "category"})
        >>> [attribute.missing for attribute in plan.attributes]
        ['raise', 'category']
        >>> first = bs.Plan.for_frame({"sex": ["F", "M"], "household": int}, epsilon=1)
        >>> first.undecided, round(first.epsilon, 6)
        (('household',), 1.0)
        """
        import warnings

        from bistochastic.plan.draft import draft

        made = draft(
            schema,
            beta=beta,
            epsilon=epsilon,
            truthfulness=truthfulness,
            min_beta=min_beta,
            categories_from_data=categories_from_data,
            codebook=codebook,
            numeric=numeric,
            keep=keep,
            drop=drop,
            missing=missing,
            name=name,
        )
        for does, sentences in (
            ("leaves columns out", made.left_out),
            ("finds blanks", made.blanks),
        ):
            for sentence in sentences:
                warnings.warn(f"`for_frame` {does}: {sentence}", UserWarning, stacklevel=2)
        return made.plan

    @property
    def definition(self) -> int:
        """1 for a single column, 3 for a single :class:`Joint`, else 2: bits are summed."""
        if len(self.attributes) != 1:
            return 2
        return 3 if len(self.attributes[0].columns) > 1 else 1

    @kept
    def by_attribute(self) -> dict[str, Measures]:
        """The measures of each attribute, by its column (several: with a comma between them)."""
        found = [definitions.measures(attribute) for attribute in self.attributes]
        return {each.name: each for each in found}

    @property
    def has_records(self) -> bool:
        """Whether the number of records is known wherever it is needed: see :meth:`for_records`."""
        return all(each.bits is not None for each in self.by_attribute.values())

    @property
    def categorical(self) -> Bits | None:
        """The bits of all categorical and joint attributes; None if the plan has none."""
        parts = self.by_attribute.values()
        return definitions.together(each for each in parts if each.kind != "numeric")

    @property
    def numeric(self) -> Bits | None:
        """The bits of all numeric attributes; None without any, or without a number of records."""
        parts = self.by_attribute.values()
        return definitions.together(each for each in parts if each.kind == "numeric")

    def _refuse_undecided(self, error: type[Refused] = Refused) -> None:
        """Raise, unless every column is decided."""
        if self.undecided:
            cure = "permute a column as Numeric, name it in keep or drop, or declare its categories"
            got = f"numbers without declared categories: {cure}"
            raise error("", "be decided first", got, column=self.undecided)

    def _refuse_numbers(self, where: str) -> None:
        """Raise for numbers inside classes, which are drawn for a row: without one, by an id, they
        would be the same for ever."""
        for attribute in self._coded:
            if attribute._has_numbers:
                must = f'must have output="interval" or output="midpoint" {where}'
                got = 'output="number", which needs a row'
                raise ValueError(f"{prefix(attribute.columns)}{must}; got {got}")

    def _together(self) -> Bits:
        if not self.attributes:
            self._refuse_undecided()
        found = definitions.together(self.by_attribute.values())
        if found is None:
            column = self.attributes[0].columns
            must = "`records` must be known for a numeric column"
            raise ValueError(f"{prefix(column)}{must}; got none, which for_records(n) sets")
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
        betas = [each.beta for each in self.by_attribute.values() if each.beta is not None]
        return min(betas)

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

        >>> import bistochastic as bs
        >>> bs.Plan([bs.Numeric("income", "k_anonymous", k=5)]).reasons
        ('column `income`: the set of values is published',)
        """
        parts = self.by_attribute.values()
        return tuple(f"{prefix(each.columns)}{each.reason}" for each in parts if each.reason)

    def for_records(self, n: int) -> Plan:
        """Return the same plan for this many records, which numeric columns need for their bits.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Numeric("income", "k_anonymous", k=5)])
        >>> plan.has_records, round(plan.for_records(1000).beta, 6)
        (False, 0.23299)
        """
        records = _core.as_whole("n", n, 1)
        bound = [attribute.for_records(records) for attribute in self.attributes]
        return self._derived(bound)

    def _derived(self, attributes: Iterable[Attribute]) -> Plan:
        """Return the plan with these attributes of the same columns, and all else unchanged."""
        made = object.__new__(Plan)
        held = {each.name: getattr(self, each.name) for each in fields(_Fields)}
        _Fields.__init__(made, **{**held, "attributes": tuple(attributes)})
        made._check()
        return made

    @property
    def requirement(self) -> dict[str, Any]:
        """The publisher's own requirement, under the names of :meth:`require`; may be empty.

        >>> import bistochastic as bs
        >>> sex = bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.5)
        >>> plan = bs.Plan([sex], requirement={"min_beta": 0.6})
        >>> plan.requirement
        {'min_beta': 0.6}
        >>> plan.protect({"sex": ["F", "M"]})
        Traceback (most recent call last):
            ...
        bistochastic.errors.GuaranteeError: column `sex`: `beta` must be at least 0.6; got 0.5...
        """
        return dict(self._required)

    @kept
    def _unmet(self) -> GuaranteeError | None:
        """Say why the requirement is not met; ``None`` if it is met, or if it is empty."""
        if self._required:
            try:
                self.require()
            except GuaranteeError as error:
                return error.with_traceback(None)
        return None

    def _meet_requirement(self) -> None:
        """Raise, unless the requirement is met."""
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

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("a", [0, 1], "randomized_response", beta=0.9),
        ...                 bs.Categorical("b", [0, 1], "randomized_response", beta=0.5)])
        >>> plan.require(beta=0.7)
        >>> plan.require(beta=0.7, min_beta=0.6)
        Traceback (most recent call last):
            ...
        bistochastic.errors.GuaranteeError: column `b`: `beta` must be at least 0.6; got 0.5...
        """
        asked = dict(zip(REQUIRED, (beta, min_beta, epsilon, pooled), strict=True))
        given = {name: x for name, x in asked.items() if x is not None}
        wanted = _limits(given, "be a number") or self.requirement
        if not wanted:
            must = f"must be given one of {', '.join(REQUIRED)}, or the plan a requirement"
            raise ValueError(f"`require` {must}; got neither")
        self._refuse_undecided(GuaranteeError)
        parts = list(self.by_attribute.values())
        unbound = [each for each in parts if each.beta is None]
        if unbound and ("beta" in wanted or "min_beta" in wanted):
            got = "none, which for_records(n) sets"
            raise GuaranteeError("records", "be known", got, column=unbound[0].columns)
        weakest = min(parts, key=lambda each: each.beta or 0.0)
        if "min_beta" in wanted and not (weakest.beta or 0.0) >= wanted["min_beta"]:
            least = f"`beta` must be at least {exact(wanted['min_beta'])}"
            got = exact(weakest.beta or 0.0)
            raise GuaranteeError(f"{prefix(weakest.columns)}{least}; got {got}")
        coded = [each for each in parts if each.kind != "numeric"]
        moved = [each for each in parts if each.kind == "numeric"]
        for kind, members in (("categories", coded), ("numbers", moved)):
            part = definitions.together(members)
            if "beta" not in wanted or part is None or part.beta >= wanted["beta"]:
                continue
            over = kind if coded and moved else "attributes"
            least = f"`beta` must be at least {exact(wanted['beta'])} over all {over}"
            low = min(members, key=lambda each: each.beta or 0.0)
            weak = f"the least is {down(low.beta or 0.0)}, in {prefix(low.columns)[:-2]}"
            raise GuaranteeError(f"{least}; got {exact(part.beta)}, of which {weak}")
        if "epsilon" in wanted and not self.epsilon <= wanted["epsilon"]:
            most = f"`epsilon` must be at most {exact(wanted['epsilon'])} for a record"
            worst = max(parts, key=lambda each: each.epsilon)
            why = f", in {prefix(worst.columns)[:-2]}" + (f": {worst.reason}" * bool(worst.reason))
            got = exact(self.epsilon)
            raise GuaranteeError(f"{most}; got {got} in all, most of it{why}")
        m, bound = wanted.get("pooled", (1, math.inf))
        if not (sum_ := definitions.pooled(self, m)) <= bound:
            most = f"`pooled` must be at most {exact(bound)} for {m} records of a unit"
            raise GuaranteeError(f"{most}; got {exact(sum_)}")

    def strongest(
        self,
        *,
        records: int,
        tolerance: float,
        share: float | None = None,
        confidence: float = 0.95,
        design_effect: float = 1,
    ) -> Strongest:
        """Find the largest beta of each column that keeps estimates within a tolerance.

        Every categorical column keeps its family. :func:`bistochastic.strongest` explains the
        options. A note says so if a column has several matrices, a family without a single
        parameter, or one draw per unit: ``records`` does not count its units. Raises ``ValueError``
        if not even unprotected records reach the tolerance.

        >>> import bistochastic as bs
        >>> sex = bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.3)
        >>> bs.Plan([sex]).strongest(records=1000, tolerance=0.05)
        column  family               beta      epsilon  truthfulness  expected cost  note
        ------  -------------------  --------  -------  ------------  -------------  ----
        sex     randomized_response  0.701685   1.4494        0.8099         0.1901
        """
        from bistochastic.choose.strongest import Goal, by_column

        goal = Goal.of(records, tolerance, share, confidence, design_effect)
        units = {tuple(a.columns): a.unit for a in self._coded}
        return by_column(
            (
                (each.name, each.family, each.size or 1, units[tuple(each.columns)])
                for each in self.by_attribute.values()
                if each.kind != "numeric"
            ),
            goal,
        )

    def preview(self, records: int | None = None, design_effect: float = 1) -> Preview:
        """Show what the plan does and hides, as a table, before any data are read.

        With ``records`` a second table says what to expect from that number of records: how often a
        reported value is true, its mean distance from the true value (in steps from one code to the
        next), the standard error of a proportion, how close 95 of 100 estimates are, and what a
        suspicion of 1% becomes. ``design_effect`` says how many times larger variances are than in
        a simple random sample.

        >>> import bistochastic as bs
        >>> bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)]).preview()
        Plan plan: 1 protected column
        ...
        """
        from bistochastic.plan.preview import Preview

        plan = self if records is None else self.for_records(records)
        return Preview(plan, records, design_effect)

    @taking(ReportOptions)
    def report(
        self,
        path: str | PathLike[str],
        records: int | None = None,
        **options: Unpack[ReportOptions],
    ) -> None:
        """Write an HTML report of what the plan does and hides, before any data are read.

        ``path`` ends in ``.html``. The page is one file that needs nothing else. It says what will
        be published, what a reader can learn at most, what is not covered, how accurate estimates
        are and who can undo the release. With ``records`` it says so for that number of records.
        :meth:`Release.report` explains the other options.

        >>> import bistochastic as bs, pathlib, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.report(page, records=1000, title="Health survey 2026")
        >>> "<h1>Health survey 2026</h1>" in page.read_text(encoding="utf-8")
        True
        """
        from bistochastic.report.document import write_report

        self._refuse_undecided()
        write_report(path, self, records=records, **options)

    @taking(ReleaseOptions)
    def protect(
        self,
        frame: FrameT,
        *,
        key: _core.Key | KeySource | None = None,
        rerandomize_numeric: bool = False,
        shuffle: bool = False,
        max_rows_per_id: int = 1,
        count_units: bool = False,
        progress: Progress = None,
        **options: Unpack[ReleaseOptions],
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

        With ``id_column`` the noise depends on people: the same person with the same value gets the
        same reported value in every wave. Then ``after`` is ``"first"`` or the certificate of the
        wave before. Changes that would re-randomize people raise an error, unless ``redraw=True``.
        The id column is left out unless the plan keeps it; ``pseudonym`` names a column with a
        keyed hash in its place. An id may have ``max_rows_per_id`` rows. With ids, numeric columns
        need ``rerandomize_numeric=True`` and a ``release_name``, and ``Binned`` columns with
        ``output="number"`` need a ``release_name`` of each wave. Otherwise ``release_name`` does
        not change reported values by ids, or without a key; it is noted in the certificate. Values
        that stay the same can link the rows of a person: the certificate says so.

        Columns with ``unit=`` are drawn once per unit: with ids, or without a key. All records of a
        unit must have the same value in such a column. The unit's own column is kept or dropped, as
        the plan says; ``unit_pseudonym={"household": "home"}`` writes a keyed hash in its place.
        ``count_units=True`` adds the number of units to the certificate.

        ``shuffle=True`` puts the rows in a random order. Otherwise the order is published
        unchanged, and a sorted file reveals which records are neighbours. ``allow_insecure``
        accepts ``Key.insecure``. ``progress``: see :meth:`Matrix.decompose`.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> release = plan.protect({"sex": ["F", "M", "M"]})
        >>> sorted(set(release.data["sex"]) | {"F", "M"}), release.certificate.records
        (['F', 'M'], 3)
        """
        from bistochastic.plan.options import Options
        from bistochastic.plan.protect import protect

        said = Options.of(
            self,
            key=key,
            rerandomize_numeric=rerandomize_numeric,
            shuffle=shuffle,
            max_rows_per_id=max_rows_per_id,
            count_units=count_units,
            **options,
        )
        return protect(self, frame, said, progress)

    @taking(ReleaseOptions)
    def protect_batches(
        self,
        reader: object,
        *,
        key: _core.Key | KeySource | None = None,
        max_rows_per_id: int = 1,
        count_units: bool = False,
        **options: Unpack[ReleaseOptions],
    ) -> ProtectedBatches:
        """Protect a table that comes in Arrow record batches, in bounded memory.

        ``reader`` is a pyarrow ``RecordBatchReader``, or any other Arrow stream. Read the result
        in the same way. It has a ``certificate`` once all of it was read. The rows are the same as
        :meth:`protect` gives for the whole table, in the same order, whatever the batches were.

        Rows are randomized as they are read, so an error may come after some of them. Do not use
        any row of a release that has not reached its end. A plan with a numeric column raises an
        error, because all values must be known to permute them.

        >>> import bistochastic as bs, pyarrow as pa
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> batches = plan.protect_batches(pa.table({"sex": ["F", "M", "M"]}).to_reader())
        >>> batches.read_all().num_rows, batches.certificate.records
        (3, 3)
        """
        from bistochastic.plan.options import Options
        from bistochastic.plan.stream import protect_batches

        said = Options.of(
            self, key=key, max_rows_per_id=max_rows_per_id, count_units=count_units, **options
        )  # fmt: skip
        return protect_batches(self, reader, said)

    @taking(EngineOptions)
    def batch_function(self, **options: Unpack[EngineOptions]) -> BatchFunction:
        """Make the function that an engine calls on its batches. It holds the plan, not the key.

        ``id_column`` and ``after`` are needed as in :meth:`protect`; ``release_name`` is noted in
        the certificate. With ids, a row has the same reported value wherever and however often the
        engine computes it. Noise by row position, shuffles, numeric columns, numbers inside classes
        (``output="number"``) and ``key=None`` therefore raise an error.

        If your rows have no ids of people, ``row_columns`` names columns that identify a row, e.g.
        a file and a row number. Then give each file its own ``release_name``: two files under one
        name would reveal which rows differ.

        Errors count rows from 0 within their batch, because an engine does not say which rows of
        the table a batch has.

        >>> import bistochastic as bs, pyarrow as pa, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> table = pa.table({"person": [7, 8, 9], "sex": ["F", "M", "M"]})
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     f = plan.batch_function(key=source, id_column="person", after="first")
        ...     released = f.table(table)
        ...     certificate = f.certificate(
        ...         records=released.num_rows, engine="pyarrow", schema=table.schema
        ...     )
        >>> released.column_names, certificate.records
        (['sex'], 3)
        """
        from bistochastic.plan.function import batch_function

        return batch_function(self, **options)

    @overload
    def on(
        self, obj: _Scanned, *, observation: None = None, **options: Unpack[EngineOptions]
    ) -> pa.RecordBatchReader: ...
    @overload
    def on(
        self, obj: FrameT, *, observation: object = None, **options: Unpack[EngineOptions]
    ) -> FrameT: ...
    @taking(EngineOptions)
    def on(
        self, obj: object, *, observation: object = None, **options: Unpack[EngineOptions]
    ) -> Any:
        """Apply the batch function to an object of an engine, which computes the result later.

        ``obj`` is a Spark DataFrame (also Spark Connect or a stream), a Dask DataFrame, a Ray
        Dataset, a DuckDB relation, a polars LazyFrame, or a pyarrow dataset or scanner. The result
        has the same type.

        :meth:`batch_function` explains the ``options``: ``key`` (a :class:`KeySource`),
        ``id_column`` or ``row_columns``, ``release_name``, ``after``, ``redraw``, ``pseudonym``,
        ``allow_insecure``.

        * A Dask DataFrame comes back without its index.
        * A dataset or scanner gives a reader of batches for ``pyarrow.dataset.write_dataset``. This
          reader and the DuckDB relation can be read once.
        * A filter after the polars LazyFrame is not moved before it.
        * ``observation`` is for Spark only: an ``Observation`` that counts ``records`` when the
          DataFrame is written, because accumulators count rows twice if a worker is lost. For a
          stream give a name instead, and find the count in its progress.

        >>> import bistochastic as bs, polars as pl, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> people = pl.LazyFrame({"person": [7, 8, 9], "sex": ["F", "M", "M"]})
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     out = plan.on(people, key=source, id_column="person", after="first")
        ...     out.collect().shape
        (3, 1)
        """
        from bistochastic.adapters.engines import on

        return on(self.batch_function(**options), obj, observation)

    def respond(
        self,
        record: Mapping[str, object],
        *,
        key: _core.Key | KeySource,
        id: int | str | bytes,
        allow_insecure: bool = False,
    ) -> dict[str, Any]:
        """Randomize one record, on a phone or a server, with the same result as ``protect`` by ids.

        ``record`` maps each column to its value; None is missing. A client needs only the plan, as
        JSON, and its key: a :class:`Key`, or a :class:`KeySource` that says where to read it.
        ``allow_insecure`` accepts ``Key.insecure``, which anyone can guess. Numeric columns,
        columns by unit and numbers inside classes (``output="number"``) raise an error.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> plan.respond({"sex": "F"}, key=bs.Key.generate(), id="person 7")["sex"] in ("F", "M")
        True
        >>> plan.respond({"sex": "F"}, key=bs.Key.insecure(1), id="person 7", allow_insecure=True)
        {'sex': 'F'}
        """
        from bistochastic.plan.respond import respond

        return respond(self, record, key=key, id=id, allow_insecure=allow_insecure)

    def client_json(self) -> str:
        """Write what a device needs to randomize its own record, as JSON for any language.

        The JSON holds columns, categories, names, digests and the integers of each draw. No client
        computes with floating point. ``docs/protocol.md`` says how a client uses it, and
        ``schemas/client.json`` is the schema. Numeric columns, numbers inside classes, columns by
        unit and composites raise an error.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> plan.client_json()[:27]
        '{"protocol":1,"name":"plan"'
        """
        from bistochastic.plan.client import client_json

        return client_json(self)

    def tabulate(self, rows: object, *columns: str, count: str = "count") -> Counts:
        """Put counts of reported values, e.g. from an engine's group-by, into the declared table.

        ``rows`` have ``columns`` by name and, under ``count``, the number of records that report
        this combination. They are a DataFrame of any library, a DuckDB relation or result, a dict
        of columns, or a list of dicts, named tuples or Spark rows. They may be in any order, and
        cells without records may be left out. Rows of the same cell are added up, so you can give
        counts of batches or of finer groups. An unknown category raises an error that names its
        column and row.

        Group by ``columns``, by the columns that are protected together with one of them, and by
        the columns of groups that choose its matrix. Pass the result to :meth:`estimate`.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> table = plan.tabulate({"sex": ["M", "F"], "n": [40, 60]}, "sex", count="n")
        >>> table
        <Counts of 100 records: sex 2>
        >>> plan.estimate(counts=table).counts
        array([70., 30.])
        """
        from bistochastic.tables.tabulate import tabulate

        return tabulate(self, rows, columns, count)

    def collector(self, *tables: str | Sequence[str]) -> Collector:
        """Make an empty collector, which counts reported records as they arrive.

        ``tables`` are columns, or lists of columns that are counted together. Without ``tables``
        each attribute is counted on its own. :class:`~bistochastic.results.Collector` has ``add``,
        ``update``, ``merge``, ``+``, ``to_json``, ``from_json``, ``estimate``, ``count`` and
        ``ratio``. Its memory does not grow with the number of records. A column that the plan
        does not protect, or a record with an undeclared category, raises ``ValueError``.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> collector = plan.collector("sex")
        >>> collector.add({"sex": "F"})
        >>> collector
        <Collector of 1 records: sex>
        >>> collector.add({"sex": "X"})
        Traceback (most recent call last):
            ...
        ValueError: column `sex`: must hold a declared category; got an undeclared one
        """
        from bistochastic.tables.collector import Collector

        return Collector(self, tables)

    @taking(Survey)
    def estimate(
        self,
        frame: object = None,
        *names: str,
        counts: Counts | object = None,
        columns: Sequence[str] | None = None,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        progress: Progress = None,
        gap: float | None = None,
        seconds: float | None = None,
        **survey: Unpack[Survey],
    ) -> Estimate:
        """Estimate a labelled table of the original from a protected ``frame``.

        ``names`` are columns, protected or unprotected. The options:

        * ``counts``: a table of :meth:`tabulate` in place of ``frame``, or an array with an axis
          for each of ``columns``, categories in their declared order. ``columns`` are the columns
          to estimate, by default all of the table. A table from another plan raises an error.
        * ``method``, ``population``, ``progress``, ``gap``, ``seconds`` as in
          :meth:`Matrix.estimate`.
        * ``where={column: categories}``: only in this subgroup. Give one category or several. A
          category that neither occurs nor is declared raises an error.
        * ``weights``: a column of survey weights. ``strata`` and ``cluster`` name unprotected
          columns of the sampling design. The errors are then by linearization, with replacement
          between clusters within strata, and have clusters less strata degrees of freedom.
        * ``fpc``: the finite population, as a column or a number for all strata: the number of
          clusters (or records) that each stratum has, or the sampled fraction if it is at most 1.
          For two stages, ``cluster=(first, second)`` and ``fpc=(first, second)``. The noise of the
          randomization stays in the error, however much of the population was sampled.
        * ``replicates``: a list of columns of replicate weights in place of the design. Each gives
          the proportions again, divided by its own total. The squares of their differences from the
          estimate are added and multiplied by ``replicate_scale``, by default 1 over their number
          (bootstrap, balanced replication); ``(R - 1) / R`` for a jackknife.

        If ``frame`` is a release by ids with several rows per id, these rows share noise: without
        ``cluster`` a note says so.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> plan.estimate({"sex": ["F"] * 60 + ["M"] * 40}, "sex")
        Estimated from 100 records (method: inverse, 95% intervals)
        sex  reported  frequency  count  standard_error    low   high
        ---  --------  ---------  -----  --------------  -----  -----
        F       0.600      0.700     70           0.098  0.494  0.893
        M       0.400      0.300     30           0.098  0.107  0.506
        """
        from bistochastic.tables.estimates import estimate

        return estimate(
            self, frame, names, counts=counts, listed=columns, method=method, where=where,
            population=population, progress=progress, gap=gap, seconds=seconds, survey=survey,
        )  # fmt: skip

    @taking(Survey)
    def count(
        self,
        frame: object,
        where: Mapping[str, object],
        *,
        population: Literal["sampled", "fixed"] = "sampled",
        **survey: Unpack[Survey],
    ) -> Quantity:
        """Estimate without bias how many records of a protected ``frame`` meet all conditions.

        ``where={column: categories}`` has protected and unprotected columns, with one category or a
        list per column. With ``weights`` the result is the total of the weights, with the errors of
        :meth:`estimate`.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)],
        ...                keep=["town"])
        >>> frame = {"sex": ["F", "M"] * 50, "town": ["A"] * 60 + ["B"] * 40}
        >>> plan.count(frame, {"sex": "F", "town": "A"})
        <count 30, standard error 8.16497, 95% from 12.4392 to 48.3396; 100 records (sampled)>
        """
        from bistochastic.tables import moments

        return moments.count(self, frame, where, population, survey)

    @taking(Survey)
    def ratio(
        self,
        frame: object,
        where: Mapping[str, object],
        given: Mapping[str, object] | None = None,
        *,
        population: Literal["sampled", "fixed"] = "sampled",
        **survey: Unpack[Survey],
    ) -> Ratio:
        """Estimate the proportion of records that meet ``where`` among those that meet ``given``.

        The bounds are Fieller's. If the number that meets ``given`` may be 0, they are infinite,
        and the result says so.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)],
        ...                keep=["town"])
        >>> frame = {"sex": ["F", "M"] * 50, "town": ["A"] * 60 + ["B"] * 40}
        >>> plan.ratio(frame, where={"town": "A"}, given={"sex": "F"}).value
        0.6
        """
        from bistochastic.tables import moments

        return moments.ratio(self, frame, where, given, population, survey)

    @taking(Survey)
    def mean(
        self,
        frame: object,
        column: str,
        scores: object = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        **survey: Unpack[Survey],
    ) -> Quantity:
        """Estimate the mean of a column of a protected ``frame``, also in a subgroup.

        ``scores`` are numbers for the categories: a list in their order, or a dict. Categories that
        are numbers and columns of numbers do not need scores. For a :class:`Binned` column the
        scores are the middles of the classes.

        A permuted column keeps its mean. In a subgroup or with weights, the mean has no bias if the
        column was permuted by randomized response. Otherwise the result states a bound for how far
        it may have moved, and ``frame`` must be the whole release. :meth:`Quantity.original` has
        bounds for the mean of the original.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("smokes", ["no", "yes"], "randomized_response",
        ...                                keep=0.75)])
        >>> plan.mean({"smokes": ["yes"] * 40 + ["no"] * 60}, "smokes", [0, 1]).value
        0.3...
        """
        from bistochastic.tables import moments

        return moments.mean(self, frame, column, scores, where, population, survey)

    @taking(Survey)
    def covariance(
        self,
        frame: object,
        columns: Sequence[str],
        scores: Mapping[str, object] | None = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        **survey: Unpack[Survey],
    ) -> Quantity:
        """Estimate the covariance of two columns of a protected ``frame``.

        For one column given twice, it is the variance. ``scores`` maps columns of categories to
        their scores, as in :meth:`mean`. Without weights it is unbiased; for a sample it is divided
        by the number of records less 1.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("x", [0, 1], "randomized_response", keep=0.75)],
        ...                keep=["age"])
        >>> frame = {"x": [1, 0, 1, 0] * 10, "age": [30, 20, 40, 20] * 10}
        >>> round(plan.covariance(frame, ["x", "age"]).value, 3)
        7.692
        """
        from bistochastic.tables import moments

        return moments.covariance(self, frame, columns, scores, where, population, survey)

    @taking(Survey)
    def correlation(
        self,
        frame: object,
        columns: Sequence[str],
        scores: Mapping[str, object] | None = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        **survey: Unpack[Survey],
    ) -> Quantity:
        """Estimate the correlation of two columns of a protected ``frame``.

        It is a quotient of unbiased numbers, see :meth:`covariance`, so it is accurate for many
        records. Noise may move it beyond 1; the bounds are cut to -1 and 1.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("x", [0, 1], "randomized_response", keep=0.75)],
        ...                keep=["y"])
        >>> frame = {"x": [1, 1, 0, 0, 1, 0] * 20, "y": [1, 1, 0, 0, 0, 1] * 20}
        >>> round(plan.correlation(frame, ["x", "y"]).value, 3)
        0.658
        """
        from bistochastic.tables import moments

        return moments.covariance(
            self, frame, columns, scores, where, population, survey, "correlation"
        )

    @taking(Survey)
    def regress(
        self,
        frame: object,
        formula: str,
        *,
        model: Literal["linear", "logistic", "multinomial"],
        method: Literal["corrected", "likelihood"] | None = None,
        **survey: Unpack[Survey],
    ) -> Regression:
        """Estimate the coefficients of a regression on the original, from a protected ``frame``.

        ``formula`` is like ``"income ~ education + sex"``; formulaic reads it (extra ``models``).
        Outcome and covariates may be protected or not. Protected columns with numbers as categories
        enter as numbers, others as categories; ``C(education)`` treats numbers as categories. Put
        names with other characters than letters in backticks. A formula holds only names of
        columns, numbers, operators and these functions: ``C``, ``I``, ``bs``, ``cc``, ``center``,
        ``cr``, ``cs``, ``exp``, ``exp2``, ``log``, ``log2``, ``log10``, ``poly``, ``scale``,
        ``standardize``, and of NumPy ``np.abs``, ``ceil``, ``cos``, ``exp``, ``exp2``, ``expm1``,
        ``floor``, ``log``, ``log1p``, ``log2``, ``log10``, ``maximum``, ``minimum``, ``sign``,
        ``sin``, ``sqrt``, ``square``, ``tan``, ``tanh``, ``where``.

        * ``"linear"``: corrected moments. The outcome is a number, or a column of two categories,
          of which the second counts as 1. Numbers may be permuted by randomized response.
        * ``"logistic"``, ``"multinomial"``: the corrected score. Coefficients compare each category
          with the first. If only the outcome is protected, the default is its likelihood.

        ``method="likelihood"`` treats the true values as latent (logistic and multinomial models).
        It has smaller errors if the model is true. If the model is an approximation, it estimates
        another number than the original table would give.

        ``weights``, ``strata``, ``cluster`` and ``replicates``: see :meth:`estimate`. Raises
        ``ValueError`` if a matrix is singular, or if no maximum is found at which the information
        is positive definite.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("x", [0, 1, 2], "randomized_response", keep=0.8)],
        ...                keep=["y"])
        >>> frame = {"x": [0, 1, 2, 0, 1, 2, 2, 0] * 20, "y": [1, 2, 4, 0, 3, 5, 4, 1] * 20}
        >>> plan.regress(frame, "y ~ x", model="linear").coefficients.round(3)
        array([0. , 2.5])
        """
        from bistochastic.models.regression import regress

        return regress(self, frame, formula, model, method, survey)

    @taking(Survey)
    def transitions(
        self,
        wave1: object,
        wave2: object,
        *,
        columns: Sequence[str] | str,
        id_column: str | None = None,
        pseudonym: str | None = None,
        plan2: Plan | None = None,
        memoised: bool | None = None,
        **survey: Unpack[Survey],
    ) -> Transitions:
        """Estimate how many people moved between categories from one protected wave to the next.

        ``id_column`` or ``pseudonym`` names the column that both waves have in common. The noise
        depends on ids, so people with the same true value have the same reported value in both
        waves, and the estimate corrects for that. If the second wave has another plan, give it as
        ``plan2``; a release brings its own. If matrix or key differ, the noise is unrelated.

        The certificates say how releases were drawn. For tables without them, ``memoised`` says it:
        True if both waves were drawn by ids with one key, False otherwise. A wrong answer gives
        wrong moves. Columns that are drawn by unit, and tables of more than 4,096 pairs of
        categories, raise ``ValueError``.

        ``weights``, ``strata``, ``cluster``, ``fpc`` and ``replicates`` are of the second wave.
        Raises :class:`bistochastic.errors.SingularMatrixError` if moves cannot be estimated.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("job", ["no", "yes"], "randomized_response", keep=0.75)],
        ...                keep=["person"])
        >>> one = {"person": [1, 2, 3, 4], "job": ["no", "no", "yes", "yes"]}
        >>> two = {"person": [4, 3, 2, 1], "job": ["yes", "yes", "yes", "no"]}
        >>> found = plan.transitions(one, two, columns="job", id_column="person", memoised=True)
        >>> found.counts.round(2)
        array([[ 0.2,  1.8],
               [-0.2,  2.2]])
        """
        from bistochastic.models.panels import transitions

        return transitions(
            self, wave1, wave2, columns, id_column, pseudonym, plan2, memoised, survey
        )

    @taking(Survey)
    def change(
        self,
        wave1: object,
        wave2: object,
        *,
        where: Mapping[str, object] | None = None,
        given: Mapping[str, object] | None = None,
        column: str | None = None,
        scores: object = None,
        id_column: str | None = None,
        pseudonym: str | None = None,
        plan2: Plan | None = None,
        **survey: Unpack[Survey],
    ) -> Quantity:
        """Estimate by how much a proportion, a ratio or a mean changed between two waves.

        With ``where`` it is the proportion of records that meet the conditions, among those that
        meet ``given``, if you give it. With ``column`` and ``scores`` it is a mean, as in
        :meth:`mean`. ``id_column`` or ``pseudonym`` says which records belong to the same people:
        the true values and the noise that both waves share make the error of the change smaller.
        People of one unit count together if the noise is drawn by unit. Waves without common ids,
        without that column, or without the column of units unless ``cluster`` is given, raise
        ``ValueError``.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("job", ["no", "yes"], "randomized_response", keep=0.75)],
        ...                keep=["person"])
        >>> people = list(range(100))
        >>> one = {"person": people, "job": ["no", "yes"] * 50}
        >>> two = {"person": people, "job": ["no", "yes", "yes", "yes"] * 25}
        >>> plan.change(one, two, where={"job": "yes"}, id_column="person")
        <change 0.5, standard error 0.0870388, 95% from 0.327... to 0.672...; 200 records ...
        note: from 0.5 to 1
        note: 100 of 100 and 100 records are of the same ids
        """
        from bistochastic.models.panels import change

        return change(
            self, wave1, wave2, where=where, given=given, column=column, scores=scores,
            id_column=id_column, pseudonym=pseudonym, plan2=plan2, survey=survey,
        )  # fmt: skip

    def calibration_weights(self, frame: object, *, weights: str | None = None) -> Any:
        """Compute calibration weights for use in other software: one per record.

        Raking gives the protected columns their likeliest margins, within each group. The weights
        sum to the number of records, or to the sum of the survey ``weights`` that they start from.
        They correct margins, not correlations between columns: use :meth:`estimate` for those.

        >>> import bistochastic as bs
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> plan.calibration_weights({"sex": ["F"] * 6 + ["M"] * 4}).round(3)
        array([1.167, 1.167, 1.167, 1.167, 1.167, 1.167, 0.75 , 0.75 , 0.75 ,
               0.75 ])
        """
        from bistochastic.tables import raking

        return raking.calibrate(self, frame, weights)

    @kept
    def digest(self) -> str:
        """64 hexadecimal digits that identify the plan: SHA-256 of its JSON.

        The digest is of the names and values of format 1, so later names do not change it.
        """
        return exchange.digest(self)

    def to_json(self) -> str:
        """Return the plan as JSON, which is enough to protect, respond or estimate."""
        return exchange.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the plan of :meth:`to_json`. An unknown or wrong field raises an error.

        >>> import bistochastic as bs
        >>> bs.Plan.from_json('{"version": 1, "atributes": []}')
        Traceback (most recent call last):
            ...
        ValueError: `atributes` must be one of version, attributes, ...; got an unknown name
        """
        return exchange.from_json(cls, text)

    def to_toml(self) -> str:
        """Return the plan as TOML, for people to read and edit."""
        return exchange.to_toml(self)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read the plan of :meth:`to_toml`, or a plan written by hand.

        For a matrix, ``family`` and ``requested`` are enough.

        >>> import bistochastic as bs
        >>> plan = bs.Plan.from_toml('''
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
        return exchange.from_toml(cls, text)

    def __repr__(self) -> str:
        from bistochastic.plan.preview import headline
        from bistochastic.plan.published import unprotected

        count = len(self.attributes)
        what = f"<Plan `{shown(self.name)}`, {count} attribute{'s' * (count != 1)}"
        if self.attributes:
            what += f": {headline(self)}"
            if self.has_records or self.categorical is not None:
                what += f", least {down(self.min_beta)}"
        none = len(unprotected(self))
        what += f", {none} column{'s' * (none > 1)} unprotected" * bool(none)
        return f"{what}, {len(self.undecided)} undecided>" if self.undecided else f"{what}>"

    def _repr_html_(self) -> str:
        return self.preview()._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def _limits(given: Mapping[str, object], must: str) -> dict[str, Any]:
    """Read arguments of ``require``: numbers, and ``pooled``, a number of records and a bound."""
    found: dict[str, Any] = {}
    for name in [name for name in REQUIRED if name in given]:
        x = given[name]
        if name != "pooled":
            found[name] = _core.as_real(name, must, x)
        elif isinstance(x, tuple | list) and len(x) == 2:
            found[name] = _core.as_whole(name, x[0], 1), _core.as_real(name, "be a number", x[1])
        else:
            pair = "`pooled` must be (m, epsilon), a number of records and a bound"
            raise TypeError(f"{pair}; got {type(x).__name__}")
    return found


def every(name: str, given: object) -> tuple[str, ...] | Literal["*"]:
    """Read names of columns, or a star for all."""
    return "*" if isinstance(given, str) and given == "*" else names(name, given)


def _requirement(given: Mapping[str, object]) -> tuple[tuple[str, Any], ...]:
    """Read a publisher's requirement: some arguments of ``require``, in their order there."""
    must = f"`requirement` must map some of {', '.join(REQUIRED)} to numbers"
    if not isinstance(given, Mapping):
        raise TypeError(f"{must}; got {type(given).__name__}")
    for name in given:
        if name not in REQUIRED:
            raise ValueError(f"{must}; got `{shown(name)}`")
    found = _limits(given, "be a finite number")
    for name, x in found.items():
        if not math.isfinite(x[1] if name == "pooled" else x):
            raise ValueError(f"`{name}` must be a finite number; got {x}")
    if not found:
        raise ValueError(f"{must}; got none")
    return tuple(found.items())
