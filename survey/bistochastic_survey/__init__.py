"""Surveys protected by bistochastic matrices: plans, releases, analyses and audits.

A plan says what happens to each column, a release is drawn by the library, its certificate states
what it hides, analyses take the release, and an audit attacks it.

>>> import bistochastic_survey as sv
>>> people = sv.titanic()
>>> sex = sv.Categorical("sex", ["male", "female"], "randomized_response", epsilon=1)
>>> plan = sv.Plan([sex], keep="*")
>>> release = plan.protect(people, shuffle=True)
>>> release.certificate.records
2201
"""

from typing import TYPE_CHECKING

from bistochastic_survey.audit import audit

if TYPE_CHECKING:
    from bistochastic_survey.analysis.cluster import cluster
    from bistochastic_survey.analysis.collector import Collector
    from bistochastic_survey.analysis.design import Design
    from bistochastic_survey.analysis.observed import Analysis, Observed
    from bistochastic_survey.files.open import open, verify
    from bistochastic_survey.ledger import Ledger
    from bistochastic_survey.plan.allocate import allocate
    from bistochastic_survey.plan.attributes import Categorical, Joint
    from bistochastic_survey.plan.numeric import Binned, Numeric
    from bistochastic_survey.plan.plan import Plan
    from bistochastic_survey.release.certificate import Certificate
    from bistochastic_survey.release.release import Release
    from bistochastic_survey.release.responder import Responder
    from bistochastic_survey.release.waves import Wave
    from bistochastic_survey.samples import titanic

    __version__: str

__all__ = [
    "Analysis", "Binned", "Categorical", "Certificate", "Collector", "Design", "Joint", "Ledger",
    "Numeric", "Observed", "Plan", "Release", "Responder", "Wave", "allocate", "audit", "cluster",
    "open", "titanic", "verify",
]  # fmt: skip

# Each is imported at its first use, so that a command or a service starts with what it needs.
_HOMES = {
    "analysis.cluster": ("cluster",),
    "analysis.collector": ("Collector",),
    "analysis.design": ("Design",),
    "analysis.observed": ("Analysis", "Observed"),
    "files.open": ("open", "verify"),
    "ledger": ("Ledger",),
    "plan.allocate": ("allocate",),
    "plan.attributes": ("Categorical", "Joint"),
    "plan.numeric": ("Binned", "Numeric"),
    "plan.plan": ("Plan",),
    "release.certificate": ("Certificate",),
    "release.release": ("Release",),
    "release.responder": ("Responder",),
    "release.waves": ("Wave",),
    "samples": ("titanic",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module("importlib.metadata").version("bistochastic-survey")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"bistochastic_survey.{home}"), name)
    raise AttributeError(f"module 'bistochastic_survey' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
