"""Plans: what happens to each column of a table.

``attributes`` and ``numeric``: what happens to a column; ``plan``: what happens to all columns;
``labels``: categories and their codes; ``definitions``: bits, beta and epsilon of all columns, and
what a publisher requires of them; ``plan_json``: JSON and TOML; ``preview``: words and a table;
``published``: what readers learn; ``central``: the epsilon of a shuffled file; ``draft``: a plan
for a frame; ``allocate``: epsilon over the columns; ``client``: plans for devices.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bistochastic_survey.plan.attributes import Groups
    from bistochastic_survey.plan.central import Central
    from bistochastic_survey.plan.definitions import Bits, Measures
    from bistochastic_survey.plan.preview import Preview
    from bistochastic_survey.release.batch_function import BatchFunction
    from bistochastic_survey.release.certificate_json import ByIds, Unit
    from bistochastic_survey.release.protect import ProtectedBatches
    from bistochastic_survey.release.responder import ColumnFunction, PlannedColumn

__all__ = [
    "BatchFunction", "Bits", "ByIds", "Central", "ColumnFunction", "Groups", "Measures",
    "PlannedColumn", "Preview", "ProtectedBatches", "Unit",
]  # fmt: skip

# Each is imported at its first use: a release is made of files of this folder, and a plan of files
# of that one.
_HOMES = {
    "plan.attributes": ("Groups",),
    "plan.central": ("Central",),
    "plan.definitions": ("Bits", "Measures"),
    "plan.preview": ("Preview",),
    "release.certificate_json": ("ByIds", "Unit"),
    "release.batch_function": ("BatchFunction",),
    "release.protect": ("ProtectedBatches",),
    "release.responder": ("ColumnFunction", "PlannedColumn"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"bistochastic_survey.{home}"), name)
    raise AttributeError(f"module 'bistochastic_survey.plan' has no attribute {name!r}")
