"""Plans: a table in, a protected table and a certificate out.

``attributes``: what happens to a column; ``plan``: what happens to all columns; ``bins``: classes
of numbers; ``units``: records that share one draw; ``rules``: combinations that never occur;
``definitions``: their bits; ``exchange``: JSON and TOML; ``preview``: words and a table;
``columns``: from categories to codes and back; ``options``: what a caller says about a release;
``protect``: the release; ``stream``: the same in batches; ``waves``: one release after another;
``respond``: one record on a client; ``certificate``: facts about a release.
"""

from bistochastic.plan.attributes import Binned, Categorical, Groups, Joint, Numeric
from bistochastic.plan.certificate import Certificate
from bistochastic.plan.definitions import Bits, Measures
from bistochastic.plan.function import BatchFunction
from bistochastic.plan.keywords import EngineOptions, ReleaseOptions, Survey
from bistochastic.plan.plan import Plan
from bistochastic.plan.preview import Preview
from bistochastic.plan.protect import Release
from bistochastic.plan.stream import ProtectedBatches
from bistochastic.plan.units import Unit
from bistochastic.plan.waves import ByIds

__all__ = [
    "BatchFunction", "Binned", "Bits", "ByIds", "Categorical", "Certificate", "EngineOptions",
    "Groups", "Joint", "Measures", "Numeric", "Plan", "Preview", "ProtectedBatches", "Release",
    "ReleaseOptions", "Survey", "Unit",
]  # fmt: skip
