"""Choosing a matrix: what families cost and preserve at the same beta."""
