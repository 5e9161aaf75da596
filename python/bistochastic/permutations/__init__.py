"""Matrices as sums of permutations."""
