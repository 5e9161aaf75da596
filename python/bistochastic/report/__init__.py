"""Matrices and plans as text and HTML. Never sees a record."""

from bistochastic.report.comparison import Comparison, compare, facts, html, line, picture

__all__ = ["Comparison", "compare", "facts", "html", "line", "picture"]
