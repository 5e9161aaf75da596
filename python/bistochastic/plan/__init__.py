"""Plans: a table in, a protected table and a certificate out.

``attributes``: what happens to a column; ``plan``: what happens to all columns; ``bins``: classes
of numbers; ``units``: records that share one draw; ``rules``: combinations that never occur;
``definitions``: their bits; ``exchange``: JSON and TOML; ``preview``: words and a table;
``columns``: from categories to codes and back; ``options``: what a caller says about a release;
``protect``: the draw; ``stream``: the same in batches; ``release``: a protected table and its
analyses; ``waves``: one release after another; ``respond``: one record on a client;
``requirement``: what a publisher requires; ``certificate``: facts about a release.
"""

from bistochastic.plan.attributes import Binned, Categorical, Groups, Joint, Numeric
from bistochastic.plan.certificate import Certificate
from bistochastic.plan.definitions import Bits, Measures
from bistochastic.plan.function import BatchFunction
from bistochastic.plan.plan import Plan
from bistochastic.plan.preview import Preview
from bistochastic.plan.release import Release
from bistochastic.plan.stream import ProtectedBatches
from bistochastic.plan.units import Unit
from bistochastic.plan.waves import ByIds, Wave

__all__ = [
    "BatchFunction", "Binned", "Bits", "ByIds", "Categorical", "Certificate",
    "Groups", "Joint", "Measures", "Numeric", "Plan", "Preview", "ProtectedBatches", "Release",
    "Unit", "Wave",
]  # fmt: skip
