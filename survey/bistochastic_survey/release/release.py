"""``Release``: a protected table, its plan and certificate, and what is estimated from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.plan import plan_json
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.table.frames import library
from bistochastic_survey.wording import quoted, shown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from bistochastic.estimate import Estimate
    from bistochastic_survey.analysis.design import Design
    from bistochastic_survey.analysis.independence import Independence
    from bistochastic_survey.analysis.quantities import Quantity, Ratio
    from bistochastic_survey.models.panels import Transitions
    from bistochastic_survey.models.regression import Regression
    from bistochastic_survey.progress import Progress

# Metadata in the schema of Arrow tables and Parquet files, which stay if these are filtered: the
# digest of the plan, and the certificate without `central` and `files`.
PLAN, CERTIFICATE = "bistochastic.plan_digest", "bistochastic.certificate"
# The container of a table's columns.
FrameT = TypeVar("FrameT")
ColumnT = TypeVar("ColumnT")


@dataclass(frozen=True, init=False, repr=False)
class Release(Generic[FrameT]):
    """A protected table, the plan that protected it, and its certificate. Analyses are its methods.

    :meth:`Plan.protect` returns one, and ``open`` reads one from a file. For a
    table that came without a certificate, give the table and its plan; for others a certificate may
    stand in place of the plan. The certificate in the schema of an Arrow table is found. A plan
    with other matrices than this certificate raises ``ValueError``.

    ``data`` is a table of any library that ``protect`` accepts, or the ``Counts`` of a
    :class:`~bistochastic_survey.analysis.collector.Collector`.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.protect({"sex": ["F", "M", "M"]})
    <Release of 3 records, 1 column: plan `plan`, beta 0.6, epsilon 1.766>
    >>> sv.Release({"sex": ["F", "M", "M"]}, plan)
    <Release of plan `plan`, without a certificate>
    """

    data: FrameT
    plan: Plan
    _certificate: Certificate | None

    def __init__(self, data: FrameT, plan: Plan | Certificate) -> None:
        if isinstance(data, Release):
            raise RefusedType("data", "be a protected table", "a Release")
        if not isinstance(plan, Plan | Certificate):
            got = type(plan).__name__
            raise RefusedType("plan", "be a Plan, or the certificate of the table", got)
        law = plan if isinstance(plan, Plan) else plan.plan
        certificate = certificate_of(data, plan) if isinstance(plan, Plan) else plan
        vars(self).update(data=data, plan=law, _certificate=certificate)

    @property
    def certificate(self) -> Certificate:
        """The facts about the release; ``ValueError`` for a table that came without them."""
        if self._certificate is None:
            raise Refused("certificate", "have come with the table", "a plan alone")
        return self._certificate

    def estimate(
        self,
        *columns: str,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
        progress: Progress = None,
        gap: float | None = None,
        seconds: float | None = None,
    ) -> Estimate:
        """Estimate a labelled table of the original.

        ``columns`` are protected or unprotected. The options:

        * ``method``, ``population``, ``gap``, ``seconds`` as in :meth:`Matrix.estimate`.
          ``progress`` as in :meth:`Plan.protect`, but a function receives the gap.
        * ``where={column: categories}``: only in this subgroup. Give one category or several. A
          category that neither occurs nor is declared raises an error.
        * ``design``: how records were sampled, see :class:`Design`.

        If an id has several rows, these rows share noise: without ``cluster`` a note says so.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> sv.Release({"sex": ["F"] * 60 + ["M"] * 40}, plan).estimate("sex")
        Estimated from 100 records (method: inverse, 95% intervals)
        sex  reported  frequency  count  standard_error    low   high
        ---  --------  ---------  -----  --------------  -----  -----
        F       0.600      0.700     70           0.098  0.494  0.893
        M       0.400      0.300     30           0.098  0.107  0.506
        """
        from bistochastic_survey.analysis.estimates import estimate

        return estimate(
            self, columns, method=method, where=where, population=population, design=design,
            progress=progress, gap=gap, seconds=seconds,
        )  # fmt: skip

    def count(
        self,
        where: Mapping[str, object],
        *,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
    ) -> Quantity:
        """Estimate without bias how many records meet all conditions.

        ``where={column: categories}`` has protected and unprotected columns, with one category or a
        list per column. With weights the result is the total of the weights, with the errors of
        :meth:`estimate`.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)],
        ...                keep=["town"])
        >>> frame = {"sex": ["F", "M"] * 50, "town": ["A"] * 60 + ["B"] * 40}
        >>> sv.Release(frame, plan).count({"sex": "F", "town": "A"})
        <count 30, standard error 8.16497, 95% from 12.4392 to 48.3396; 100 records (sampled)>
        """
        from bistochastic_survey.analysis import moments

        return moments.count(self, where, population, design)

    def ratio(
        self,
        where: Mapping[str, object],
        given: Mapping[str, object] | None = None,
        *,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
    ) -> Ratio:
        """Estimate the proportion of records that meet ``where`` among those that meet ``given``.

        The bounds are Fieller's. If the number that meets ``given`` may be 0, they are infinite,
        and the result says so.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)],
        ...                keep=["town"])
        >>> frame = {"sex": ["F", "M"] * 50, "town": ["A"] * 60 + ["B"] * 40}
        >>> sv.Release(frame, plan).ratio(where={"town": "A"}, given={"sex": "F"}).value
        0.6
        """
        from bistochastic_survey.analysis import moments

        return moments.ratio(self, where, given, population, design)

    def mean(
        self,
        column: str,
        scores: object = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
    ) -> Quantity:
        """Estimate the mean of a column, also in a subgroup.

        ``scores`` are numbers for the categories: a list in their order, or a dict. Categories that
        are numbers and columns of numbers do not need scores. For a :class:`Binned` column the
        scores are the middles of the classes.

        A permuted column keeps its mean. In a subgroup or with weights, the mean has no bias if the
        column was permuted by randomized response. Otherwise the result states a bound for how far
        it may have moved, and ``data`` must be the whole release. :meth:`Quantity.original` has
        bounds for the mean of the original.

        >>> plan = sv.Plan([sv.Categorical("smokes", ["no", "yes"], "randomized_response",
        ...                                keep=0.75)])
        >>> sv.Release({"smokes": ["yes"] * 40 + ["no"] * 60}, plan).mean("smokes", [0, 1]).value
        0.3...
        """
        from bistochastic_survey.analysis import moments

        return moments.mean(self, column, scores, where, population, design)

    def test_independence(
        self,
        one: str,
        other: str,
        *,
        where: Mapping[str, object] | None = None,
        design: Design | None = None,
        memoised: bool | None = None,
    ) -> Independence:
        """Test whether two columns of the original are independent, from the protected table.

        Columns that were randomized separately are reported independently exactly if they are
        independent. So this is Pearson's test on the *protected* table, with its usual level and
        nothing corrected; rare categories are taken together. One of the columns may be
        unprotected. For two columns of one :class:`Joint` the best product of two margins is fitted
        through the matrix. Columns with a matrix per group are tested inside the groups, and
        statistics and degrees are added.

        ``where`` may have conditions on unprotected columns. With weights, strata or clusters in
        ``design`` the test is Rao and Scott's (second order). Units that share noise are clusters.
        Weights of :meth:`calibration_weights` depend on the noise; they raise an error if the
        weights that they started from are in the table.

        Two waves under the same ids share noise, so a table that joins them has no valid level. If
        there is no certificate, say ``memoised=False`` for two columns of one release that have the
        same categories and the same matrix; True raises an error.

        The result has ``statistic``, ``degrees`` and ``p_value``, and says what the noise costs:
        ``power_factor`` is the part of the noncentrality that is left.

        >>> columns = {"a": ["no", "yes"], "b": ["off", "on"]}
        >>> release = sv.Release({"a": ["no"] * 50 + ["yes"] * 50, "b": ["off"] * 40 + ["on"] * 60},
        ...                      sv.Plan.for_frame(columns, epsilon=1))
        >>> release.test_independence("a", "b")
        <Independence of `a` and `b`: statistic 66.6667, 1 degree of freedom, p-value ...>
        """
        from bistochastic_survey.analysis import independence

        return independence.independence_of(self, one, other, where, design, memoised)

    def covariance(
        self,
        columns: Sequence[str],
        scores: Mapping[str, object] | None = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
    ) -> Quantity:
        """Estimate the covariance of two columns.

        For one column given twice, it is the variance. ``scores`` maps columns of categories to
        their scores, as in :meth:`mean`. Without weights it is unbiased; for a sample it is divided
        by the number of records less 1.

        >>> plan = sv.Plan([sv.Categorical("x", [0, 1], "randomized_response", keep=0.75)],
        ...                keep=["age"])
        >>> frame = {"x": [1, 0, 1, 0] * 10, "age": [30, 20, 40, 20] * 10}
        >>> round(sv.Release(frame, plan).covariance(["x", "age"]).value, 3)
        7.692
        """
        from bistochastic_survey.analysis import moments

        return moments.covariance(self, columns, scores, where, population, design)

    def correlation(
        self,
        columns: Sequence[str],
        scores: Mapping[str, object] | None = None,
        *,
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
        design: Design | None = None,
    ) -> Quantity:
        """Estimate the correlation of two columns.

        It is a quotient of unbiased numbers, see :meth:`covariance`, so it is accurate for many
        records. Noise may move it beyond 1; the bounds are cut to -1 and 1.

        >>> plan = sv.Plan([sv.Categorical("x", [0, 1], "randomized_response", keep=0.75)],
        ...                keep=["y"])
        >>> frame = {"x": [1, 1, 0, 0, 1, 0] * 20, "y": [1, 1, 0, 0, 0, 1] * 20}
        >>> round(sv.Release(frame, plan).correlation(["x", "y"]).value, 3)
        0.658
        """
        from bistochastic_survey.analysis import moments

        return moments.covariance(self, columns, scores, where, population, design, "correlation")

    def regress(
        self,
        formula: str,
        *,
        model: Literal["linear", "logistic", "multinomial"],
        method: Literal["corrected", "likelihood"] | None = None,
        design: Design | None = None,
    ) -> Regression:
        """Estimate the coefficients of a regression on the original.

        ``formula`` is like ``"income ~ education + sex"``; formulaic reads it (extra ``models``).
        Outcome and covariates may be protected or not. Protected columns with numbers as categories
        enter as numbers, others as categories; ``C(education)`` treats numbers as categories. Put
        names with other characters than letters in backticks. A formula holds only names of
        columns, numbers, operators and these functions: ``C``, ``I``, ``exp``, ``exp2``, ``log``,
        ``log2``, ``log10``, and of NumPy ``np.abs``, ``ceil``, ``cos``, ``exp``, ``exp2``,
        ``expm1``, ``floor``, ``log``, ``log1p``, ``log2``, ``log10``, ``maximum``, ``minimum``,
        ``sign``, ``sin``, ``sqrt``, ``square``, ``tan``, ``tanh``, ``where``. Columns that were not
        protected together are combined as ``a:b``, never in one function.

        * ``"linear"``: corrected moments. The outcome is a number, or a column of two categories,
          of which the second counts as 1. Numbers may be permuted by randomized response.
        * ``"logistic"``, ``"multinomial"``: the corrected score. Coefficients compare each category
          with the first. If only the outcome is protected, the default is its likelihood.

        The likelihood of a protected outcome has smaller errors if the model is true. If the model
        is an approximation, it estimates another number than the original table would give:
        ``method="corrected"`` does not.

        Raises ``ValueError`` if a matrix is singular, or if no maximum is found at which the
        information is positive definite.

        >>> plan = sv.Plan([sv.Categorical("x", [0, 1, 2], "randomized_response", keep=0.8)],
        ...                keep=["y"])
        >>> frame = {"x": [0, 1, 2, 0, 1, 2, 2, 0] * 20, "y": [1, 2, 4, 0, 3, 5, 4, 1] * 20}
        >>> sv.Release(frame, plan).regress("y ~ x", model="linear").coefficients.round(3)
        array([0. , 2.5])
        """
        from bistochastic_survey.models.regression import regress

        return regress(self, formula, model, method, design)

    def transitions(
        self,
        later: Release[Any],
        columns: Sequence[str] | str,
        *,
        id_column: str,
        memoised: bool | None = None,
        design: Design | None = None,
    ) -> Transitions:
        """Estimate how many people moved between categories from this wave to a ``later`` one.

        ``id_column`` names the column of ids or pseudonyms that both waves have. The noise depends
        on ids, so people with the same true value have the same reported value in both
        waves, and the estimate corrects for that. Each wave has its own plan. If matrix or key
        differ, the noise is unrelated.

        The certificates say how releases were drawn. For tables without them, ``memoised`` says it:
        True if both waves were drawn by ids with one key, False otherwise. A wrong answer gives
        wrong moves. Columns that are drawn by unit or have a matrix per group, and tables of more
        than 4,096 pairs of categories, raise ``ValueError``.

        ``design`` is that of the later wave. Raises
        :class:`bistochastic.errors.SingularMatrixError` if moves cannot be estimated.

        >>> plan = sv.Plan([sv.Categorical("job", ["no", "yes"], "randomized_response", keep=0.75)],
        ...                keep=["person"])
        >>> one = {"person": [1, 2, 3, 4], "job": ["no", "no", "yes", "yes"]}
        >>> two = {"person": [4, 3, 2, 1], "job": ["yes", "yes", "yes", "no"]}
        >>> first, later = sv.Release(one, plan), sv.Release(two, plan)
        >>> found = first.transitions(later, "job", id_column="person", memoised=True)
        >>> found.counts.round(2)
        array([[ 0.2,  1.8],
               [-0.2,  2.2]])
        """
        from bistochastic_survey.models.panels import transitions

        return transitions(self, later, columns, id_column, memoised, design)

    def change(
        self,
        later: Release[Any],
        column: str | None = None,
        scores: object = None,
        *,
        where: Mapping[str, object] | None = None,
        given: Mapping[str, object] | None = None,
        id_column: str,
        design: Design | None = None,
    ) -> Quantity:
        """Estimate by how much a mean, a proportion or a ratio changed from this wave to a later.

        With ``column`` and ``scores`` it is a mean, as in :meth:`mean`. With ``where`` it is the
        proportion of records that meet the conditions, among those that meet ``given``, if you give
        it. ``id_column``, ids or pseudonyms, says which records belong to the same people: the true
        values and the noise that both waves share make the error of the change smaller. People of
        one unit count together if the noise is drawn by unit. Waves without common ids, without
        that column, or without the column of units unless ``design`` has a ``cluster``, raise
        ``ValueError``.

        >>> plan = sv.Plan([sv.Categorical("job", ["no", "yes"], "randomized_response", keep=0.75)],
        ...                keep=["person"])
        >>> people = list(range(100))
        >>> first = sv.Release({"person": people, "job": ["no", "yes"] * 50}, plan)
        >>> later = sv.Release({"person": people, "job": ["no", "yes", "yes", "yes"] * 25}, plan)
        >>> first.change(later, where={"job": "yes"}, id_column="person")
        <change 0.5, standard error 0.0870388, 95% from 0.327... to 0.672...; 200 records ...
        note: from 0.5 to 1
        note: 100 of 100 and 100 records are of the same ids
        """
        from bistochastic_survey.models.panels import change

        return change(
            self, later, column=column, scores=scores, where=where, given=given,
            id_column=id_column, design=design,
        )  # fmt: skip

    @overload
    def calibration_weights(
        self: Release[dict[str, ColumnT]], *, weights: str | None = None
    ) -> NDArray[np.float64]: ...
    @overload
    def calibration_weights(
        self: Release[pl.DataFrame], *, weights: str | None = None
    ) -> pl.Series: ...
    @overload
    def calibration_weights(
        self: Release[pd.DataFrame], *, weights: str | None = None
    ) -> pd.Series: ...
    @overload
    def calibration_weights(self, *, weights: str | None = None) -> Any | NDArray[np.float64]: ...
    def calibration_weights(self, *, weights: str | None = None) -> Any | NDArray[np.float64]:
        """Compute calibration weights for use in other software: one per record.

        Raking gives the protected columns their likeliest margins, within each group. The weights
        sum to the number of records, or to the sum of the survey ``weights`` that they start from.
        They correct margins, not correlations between columns: use :meth:`estimate` for those.
        The result is a column of the library of the table, an array for a dict.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> sv.Release({"sex": ["F"] * 6 + ["M"] * 4}, plan).calibration_weights().round(3)
        array([1.167, 1.167, 1.167, 1.167, 1.167, 1.167, 0.75 , 0.75 , 0.75 ,
               0.75 ])
        """
        from bistochastic_survey.analysis import calibration

        return calibration.calibrate(self.plan, self.data, weights)

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        publisher: str | None = None,
        date: date | str | None = None,
        contact: str | None = None,
        design_effect: float = 1,
    ) -> None:
        """Write an HTML report of what was done and hidden, for a board, a lawyer or a journal.

        ``path`` ends in ``.html``. The page is one file that needs nothing else. It is made from
        the certificate only, without reading a record. An existing file is replaced once the new
        one is complete.

        * ``title``: the title of the page. By default the name of the plan.
        * ``publisher``, ``date``, ``contact``: printed below the title, as given.
        * ``design_effect``: stated errors are for a simple random sample. If your design multiplies
          variances, e.g. up to 4 for households of four, say by how much. Errors grow by its root.

        >>> import bistochastic_survey as sv, pathlib, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.protect({"sex": ["F", "M", "M"]}).report(page, publisher="Statistics Office")
        >>> "Statistics Office" in page.read_text(encoding="utf-8")
        True
        """
        self.certificate.report(
            path, title=title, publisher=publisher, date=date, contact=contact,
            design_effect=design_effect,
        )  # fmt: skip

    def __repr__(self) -> str:
        if self._certificate is None:
            return f"<Release of plan `{shown(self.plan.name)}`, without a certificate>"
        return f"<Release {self._certificate._line}>"

    def _repr_html_(self) -> str:
        from bistochastic_survey.pages import render

        # Only the certificate: rows are shown on request.
        if self._certificate is None:
            return render("notebook", where="data", lines=[repr(self)])
        return self._certificate._html(where="data")


def notes(certificate: Certificate) -> dict[str, str]:
    """Write the metadata of a protected table."""
    return {PLAN: certificate.plan.digest, CERTIFICATE: plan_json.to_text(certificate._data())}


def noted(data: Any, certificate: Certificate) -> Any:
    """Add the metadata to a table, if it is an Arrow table; other tables have no metadata."""
    if library(data) != "pyarrow":
        return data
    return data.replace_schema_metadata(notes(certificate))


def read_metadata(metadata: Mapping[bytes, bytes] | None) -> Certificate | None:
    """Read the certificate in the metadata of a schema; None if it has no certificate."""
    found = (metadata or {}).get(CERTIFICATE.encode())
    return None if found is None else _certificate(found)


@lru_cache(16)
def _certificate(written: bytes) -> Certificate:
    try:
        return Certificate.from_json(written.decode("utf-8"))
    except ValueError as error:
        raise Refused(f"the certificate in the schema: {error}") from None


def certificate_of(frame: object, plan: Plan) -> Certificate | None:
    """Find the certificate of an Arrow table; raise if ``plan`` is another."""
    schema = getattr(frame, "schema", None) if library(frame) == "pyarrow" else None
    found = read_metadata(getattr(schema, "metadata", None))
    if found is not None:
        refuse_other_plan(plan, found.plan)
    return found


def refuse_other_plan(plan: Plan, certified: Plan) -> None:
    """Raise an error if the matrices of a certificate's plan are not those of the plan."""
    if plan.digest == certified.digest:
        return
    then, now = ({each.columns: each for each in p._coded} for p in (certified, plan))
    if then != now:
        must = "be the one that protected the table, as its certificate says"
        other = next(c for c in (*then, *now) if then.get(c) != now.get(c))
        raise Refused("plan", must, f"one whose matrix of {quoted(other)} differs")
