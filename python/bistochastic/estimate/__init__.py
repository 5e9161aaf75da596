"""From reports back to frequencies: estimates, their errors, and how many records they take."""

from bistochastic.estimate.result import Estimate, estimate, project

__all__ = ["Estimate", "estimate", "project"]
