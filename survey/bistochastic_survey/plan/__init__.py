"""Plans: what happens to each column of a table.

``attributes``, ``binned`` and ``numeric``: what happens to a column; ``plan``: what happens to all
columns; ``labels``: categories and their codes; ``definitions``: bits, beta and epsilon of all
columns, and what a publisher requires of them; ``plan_json`` and ``formats``: JSON and TOML;
``preview``: words and a table; ``published``: what readers learn; ``draft``: a plan for a frame;
``allocate``: epsilon over the columns; ``client``: plans for devices.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bistochastic_survey.plan.attributes import Categorical, Groups, Joint
    from bistochastic_survey.plan.binned import Binned
    from bistochastic_survey.plan.definitions import Bits, Measures
    from bistochastic_survey.plan.numeric import Numeric
    from bistochastic_survey.plan.plan import Plan
    from bistochastic_survey.plan.preview import Preview
    from bistochastic_survey.release.addressing import ByIds, Unit
    from bistochastic_survey.release.batch_function import BatchFunction
    from bistochastic_survey.release.batches import ProtectedBatches
    from bistochastic_survey.release.certificate import Certificate
    from bistochastic_survey.release.release import Release
    from bistochastic_survey.release.waves import Wave

__all__ = [
    "BatchFunction", "Binned", "Bits", "ByIds", "Categorical", "Certificate",
    "Groups", "Joint", "Measures", "Numeric", "Plan", "Preview", "ProtectedBatches", "Release",
    "Unit", "Wave",
]  # fmt: skip

# Each is imported at its first use: a release is made of files of this folder, and a plan of files
# of that one.
_HOMES = {
    "plan.attributes": ("Categorical", "Groups", "Joint"),
    "plan.binned": ("Binned",),
    "plan.numeric": ("Numeric",),
    "plan.definitions": ("Bits", "Measures"),
    "plan.plan": ("Plan",),
    "plan.preview": ("Preview",),
    "release.batch_function": ("BatchFunction",),
    "release.batches": ("ProtectedBatches",),
    "release.certificate": ("Certificate",),
    "release.release": ("Release",),
    "release.addressing": ("ByIds", "Unit"),
    "release.waves": ("Wave",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"bistochastic_survey.{home}"), name)
    raise AttributeError(f"module 'bistochastic_survey.plan' has no attribute {name!r}")
