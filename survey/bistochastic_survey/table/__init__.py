"""Tables of other libraries: the only folder that names them.

``frames`` opens a table of any library; ``table`` reads its columns as Arrow and makes it again;
``codes`` finds declared categories; ``arrow_cells`` makes what leaves. ``array_table``,
``pandas_frame``, ``polars_frame`` and ``arrow_table`` (also DuckDB) have one library each.
"""
