"""From reports back to frequencies: estimates, their errors, and how many records they take."""

from bistochastic.estimate.methods import estimate, project
from bistochastic.estimate.result import Estimate

__all__ = ["Estimate", "estimate", "project"]
