"""From reported values back to frequencies: estimates, errors, and required records."""

from bistochastic.estimate.methods import estimate, project
from bistochastic.estimate.result import Estimate

__all__ = ["Estimate", "estimate", "project"]
