"""Tables of other libraries: the only folder that names them.

``frames`` opens a table, whatever holds it; ``arrays`` dicts of arrays and the lookups that all
share; ``pandas_frame``, ``polars_frame`` and ``arrow_table`` (DuckDB too) one library each.
"""
