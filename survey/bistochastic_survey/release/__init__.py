"""Releases: a table in, a protected table and a certificate out.

``options``: what a caller says about a release; ``columns``: from categories to codes and back;
``run``: the one path of all releases; ``protect``: a table, or batches; ``batch_function``: on
Spark, Ray, Dask, DuckDB and polars; ``responder``: records as they come, or one column; ``waves``:
one release after another, ids and units; ``release``: a protected table and its analyses;
``certificate`` and ``certificate_json``: facts about it, and read.
"""
