"""Plans: a table in, a protected table and a certificate out.

``attributes``: what happens to a column; ``plan``: what happens to all columns; ``bins``: classes
of numbers; ``units``: records that share one draw; ``rules``: combinations that never occur;
``definitions``: their bits; ``exchange``: JSON and TOML; ``preview``: words and a table;
``columns``: from categories to codes and back; ``options``: what a caller says about a release;
``protect``: the draw; ``stream``: the same in batches; ``release``: a protected table and its
analyses; ``waves``: one release after another; ``respond``: one record on a client;
``requirement``: what a publisher requires; ``certificate``: facts about a release.
"""

from bistochastic_survey.plan.attributes import Binned, Categorical, Groups, Joint, Numeric
from bistochastic_survey.plan.definitions import Bits, Measures
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.plan.preview import Preview
from bistochastic_survey.release.batch_function import BatchFunction
from bistochastic_survey.release.batches import ProtectedBatches
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.release import Release
from bistochastic_survey.release.units import Unit
from bistochastic_survey.release.waves import ByIds, Wave

__all__ = [
    "BatchFunction", "Binned", "Bits", "ByIds", "Categorical", "Certificate",
    "Groups", "Joint", "Measures", "Numeric", "Plan", "Preview", "ProtectedBatches", "Release",
    "Unit", "Wave",
]  # fmt: skip
