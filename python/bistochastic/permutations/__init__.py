"""Matrices as sums of permutations, and histograms carried into others by T-transforms."""
