"""Analyse a protected table: categories, unprotected columns, groups and survey weights."""
