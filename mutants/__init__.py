"""Faults on purpose, and whether the tests find them: ``make mutants``."""
