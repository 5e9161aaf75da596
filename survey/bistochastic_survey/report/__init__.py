"""Matrices and plans as text and HTML. Never sees a record."""

from bistochastic_survey.report.facts import facts, picture

__all__ = ["facts", "picture"]
