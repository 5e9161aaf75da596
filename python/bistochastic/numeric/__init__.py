"""Individuals as categories: classes of records, their tables, and how far ranks have moved."""
