"""Releases: a table in, a protected table and a certificate out."""
