"""``Design``: the columns that say how records were sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.analysis.request import refuse_undecided
from bistochastic_survey.plan.attributes import named, names
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.wording import Shown, shown


@dataclass(frozen=True, kw_only=True)
class Design(Shown):
    """How the records of a survey were sampled: ``design=`` of the analyses of a ``Release``.

    * ``weights``: a column of survey weights.
    * ``strata``, ``cluster``: unprotected columns of the sampling design. Errors are then by
      linearization, with replacement between clusters within strata, and have clusters less strata
      degrees of freedom.
    * ``fpc``: the finite population, as a column or a number for all strata: the number of clusters
      (or records) that each stratum has, or the sampled fraction if it is at most 1. The noise of
      the randomization stays in the error, however much of the population was sampled.
    * ``replicates``: columns of replicate weights in place of strata and clusters. Each gives the
      proportions again, divided by its own total. The squares of their differences from the
      estimate are added and multiplied by ``replicate_scale``, by default 1 over their number
      (bootstrap, balanced replication); ``(R - 1) / R`` for a jackknife.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)],
    ...                keep=["w"])
    >>> release = sv.Release({"sex": ["F"] * 60 + ["M"] * 40, "w": [1, 2] * 50}, plan)
    >>> release.estimate("sex", design=sv.Design(weights="w")).counts.round(3)
    array([105.,  45.])
    """

    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | float | None = None
    replicates: Sequence[str] | None = None
    replicate_scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("weights", "strata", "cluster"):
            if getattr(self, name) is not None:
                named(name, getattr(self, name))
        if isinstance(self.fpc, str):
            named("fpc", self.fpc)
        elif self.fpc is not None:
            checks.real("fpc", "be positive", self.fpc)
        if self.replicates is None:
            if self.replicate_scale is not None:
                raise RefusedType("replicate_scale", "come with replicates", "none")
            return
        must = "be a list of two or more columns"
        listed = names("replicates", self.replicates, must)
        if len(listed) < 2:
            raise Refused("replicates", must, len(listed))
        if self.weights is None:
            raise RefusedType("replicates", "come with weights", "none")
        if self.strata or self.cluster or self.fpc is not None:
            raise RefusedType("replicates", "be given without strata, cluster and fpc", "both")
        if self.replicate_scale is not None:
            checks.positive("replicate_scale", self.replicate_scale)
        object.__setattr__(self, "replicates", listed)

    @classmethod
    def _of(cls, given: object, plan: Plan | None = None) -> Design:
        """Read ``design``, none of whose columns the plan may protect."""
        given = Design() if given is None else given
        design: Design = checks.of_type("design", "be a Design", given, Design)
        for name, column in design._named if plan is not None else ():
            assert plan is not None
            refuse_undecided(name, plan, column)
            if column in plan._protected:
                must = "name unprotected columns"
                raise Refused(name, must, f"`{shown(column)}`, which the plan protects")
        return design

    @property
    def _scale(self) -> float:
        """The factor of the squared differences of replicates."""
        if self.replicate_scale is not None:
            return float(self.replicate_scale)
        return 1 / len(self.replicates) if self.replicates else 1.0

    @property
    def _is_drawn(self) -> bool:
        """Whether errors need more than a weight per record."""
        return bool(self.strata or self.cluster or self.replicates) or self.fpc is not None

    @property
    def _is_plain(self) -> bool:
        """Whether all records count alike."""
        return self.weights is None and not self._is_drawn

    @property
    def _named(self) -> list[tuple[str, str]]:
        """All columns, each after the argument that names it."""
        every = (
            ("weights", self.weights),
            ("strata", self.strata),
            ("cluster", self.cluster),
            ("fpc", self.fpc),
            *(("replicates", each) for each in self.replicates or ()),
        )
        return [(name, column) for name, column in every if isinstance(column, str)]

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(column for _, column in self._named)
