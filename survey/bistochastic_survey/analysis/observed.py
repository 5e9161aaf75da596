"""``Analysis`` and ``Observed``: estimates from known noise that somebody else added.

Nothing here protects anybody: there is no plan, no certificate, and no statement of privacy.
"""

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from bistochastic import Channel, Matrix
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan.attributes import Categorical, Joint, every, named
from bistochastic_survey.plan.file_labels import PlanFields
from bistochastic_survey.plan.labels import Label, Labels
from bistochastic_survey.plan.numeric import Numeric
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.release.release import Release
from bistochastic_survey.wording import Shown, about, quoted, shown

P = ParamSpec("P")
T = TypeVar("T")


class Observed(Coded):
    """A column whose values were randomized or measured elsewhere, with known probabilities.

    ``channel`` is a :class:`bistochastic.Channel` over ``categories``, in their order; a
    bistochastic matrix is taken as one. Missing values raise an error, or with ``missing="keep"``
    their records are left out. An :class:`Analysis` has such columns, and no :class:`Plan` takes
    one: who made the noise states its privacy.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> test = bs.Channel(sensitivity=0.96, specificity=0.89)
    >>> sv.Observed("test", ["negative", "positive"], test)
    <Observed `test`, 2 categories: known noise, for analysis alone>
    """

    def __init__(
        self,
        column: str,
        categories: Iterable[Label],
        channel: Channel | Matrix,
        *,
        missing: Literal["raise", "keep"] = "raise",
    ) -> None:
        name = named("column", column)
        with about([name]):
            checks.one_of("missing", missing, ("raise", "keep"))
            labels = Labels.of("categories", categories)
            checks.of_type("channel", "be a Channel", channel, Channel | Matrix)
            law: Any = Channel(channel) if isinstance(channel, Matrix) else channel
            if law.parts or law.size != len(labels):
                got = "a joint one" if law.parts else f"{law.size}"
                raise Refused("channel", f"be of one column of {len(labels)} categories", got)
            super().__init__((name,), (labels,), law, missing, None, (), False)

    def __repr__(self) -> str:
        many = f"{len(self.axes[0])} categories"
        return f"<Observed `{shown(self.columns[0])}`, {many}: known noise, for analysis alone>"


def _same(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of ``Release`` that asks for columns and their noise alone."""
    return method


class Analysis(Shown):
    """A table with known noise, and the analyses of a :class:`Release`, without a certificate.

    ``columns`` are :class:`Observed`, and may be attributes of the plan that protected other
    columns: ``[*plan.attributes, Observed(...)]``. ``keep`` names unprotected columns to use, or is
    ``"*"``. Errors and intervals take the probabilities of observed columns as known, and the notes
    of results say so: a sensitivity that was estimated has an error of its own.

    >>> forced = bs.Channel(forced=[1 / 12, 3 / 12])
    >>> frame = {"q": ["yes"] * 450 + ["no"] * 550, "g": ["a", "b"] * 500}
    >>> found = sv.Analysis(frame, [sv.Observed("q", ["no", "yes"], forced)], keep=["g"])
    >>> found.ratio({"q": "yes"}, {"g": "a"})
    <ratio 0.3, standard error 0.0333..., 95% from 0.234... to 0.365...; 1,000 records (sampled)>
    note: errors assume that the probabilities of the channel are known, not estimated
    """

    def __init__(
        self,
        data: Any,
        columns: Iterable[Observed | Categorical | Joint | Numeric],
        *,
        keep: Iterable[str] | Literal["*"] = (),
    ) -> None:
        if isinstance(data, Release):
            raise RefusedType("data", "be a table: release.data of a release", "a Release")
        listed = checks.items("columns", "be a list of Observed and attributes", columns)
        for each in listed:
            must = "hold Observed, and attributes of a plan"
            checks.of_type("columns", must, each, Observed | Categorical | Joint | Numeric)
        names = [column for each in listed for column in each.columns]
        if len(set(names)) < len(names) or not names:
            got = "none" if not names else "one twice"
            raise Refused("columns", "hold one or more, each once", got)
        self.data = data
        # What analyses ask of a plan: the columns, and nothing about privacy.
        self.plan: Any = PlanFields(tuple(listed), "analysis", every("keep", keep), ())
        self._certificate = None

    def __repr__(self) -> str:
        names = quoted(sorted(self.plan._protected))
        return f"<Analysis of {names}: known noise, without a certificate>"

    estimate = _same(Release.estimate)
    count = _same(Release.count)
    ratio = _same(Release.ratio)
    mean = _same(Release.mean)
    covariance = _same(Release.covariance)
    correlation = _same(Release.correlation)
    regress = _same(Release.regress)
    test_independence = _same(Release.test_independence)
