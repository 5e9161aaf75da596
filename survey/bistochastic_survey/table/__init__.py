"""Tables of other libraries: the only folder that names them.

``frames`` opens a table of any library; ``arrays`` has dicts of arrays and the lookups that all
share; ``pandas_frame``, ``polars_frame`` and ``arrow_table`` (also DuckDB) have one library each.
"""
