"""Releases: a table in, a protected table and a certificate out.

``options``: what a caller says about a release; ``columns``: from categories to codes and back;
``run``: the one path of all releases; ``protect``: a table; ``batches``: the same in batches, which
``pipeline`` reads, draws and writes at the same time; ``batch_function`` and ``engines``: on Spark,
Ray, Dask, DuckDB and polars; ``responder``: records as they come, or one column;
``addressing``, ``units``: ids, and records that share one draw; ``waves``: one release after
another; ``release``: a protected table and its analyses; ``certificate``, ``certificate_json`` and
``embedded``: facts about it, read, and in its schema.
"""
