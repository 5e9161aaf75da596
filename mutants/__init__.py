"""Faults on purpose: each patch breaks one guarantee, and names the tests that find it."""
