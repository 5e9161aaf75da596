"""Keyword options, each list written once: for a survey's design and for a release."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Literal, ParamSpec, TypedDict, TypeVar

from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from bistochastic.plan.certificate import Certificate
    from bistochastic.sources import KeySource

Given = ParamSpec("Given")
Found = TypeVar("Found")
# The container of a table's columns: the result has the same type.
FrameT = TypeVar("FrameT")


class Survey(TypedDict, total=False):
    """Columns of a sampling design: see :meth:`bistochastic.Plan.estimate`."""

    weights: str | None
    strata: str | None
    cluster: str | tuple[str, str] | None
    replicates: Sequence[str] | None
    replicate_scale: float | None
    fpc: str | float | tuple[str | float, str | float] | None


class ReleaseOptions(TypedDict, total=False):
    """The options of a release except its key: see :meth:`bistochastic.Plan.protect`."""

    release_name: str | None
    id_column: str | None
    after: Certificate | Literal["first"] | None
    redraw: bool
    pseudonym: str | None
    unit_pseudonym: Mapping[str, str] | None
    allow_insecure: bool


class _Keyed(TypedDict):
    key: KeySource


class EngineOptions(ReleaseOptions, _Keyed, total=False):
    """The same on an engine: see :meth:`bistochastic.Plan.batch_function`."""

    row_columns: Sequence[str] | None
    shuffle: bool


class ReportOptions(TypedDict, total=False):
    """The options for the cover of a report: see :meth:`bistochastic.Release.report`."""

    title: str | None
    publisher: str | None
    date: date | str | None
    contact: str | None
    design_effect: float


def taking(bundle: type) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """Give a method a bundle of options: ``help`` lists them, and others raise an error."""

    def taken(method: Callable[Given, Found]) -> Callable[Given, Found]:
        plain = inspect.signature(method)
        *own, _ = plain.parameters.values()
        unset = {"bool": False, "float": 1}
        own += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if name in bundle.__required_keys__  # type: ignore[attr-defined]
                else unset.get(kind.__forward_arg__),
                annotation=kind.__forward_arg__,
            )
            for name, kind in bundle.__annotations__.items()
        ]
        known = [each.name for each in own if each.kind is not inspect.Parameter.POSITIONAL_ONLY]
        listed = [each.name for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]

        @functools.wraps(method)
        def call(*args: Given.args, **options: Given.kwargs) -> Found:
            for name in options:
                if name not in known:
                    must = f"`{shown(name)}` must be one of {', '.join(listed)}"
                    raise TypeError(f"{must}; got an unknown name")
            return method(*args, **options)

        call.__signature__ = plain.replace(parameters=own)  # type: ignore[attr-defined]
        return call

    return taken
