"""Files of SPSS, Stata and SAS, read whole by pyreadstat.

Such a file has doubles, and marks of its own for missing values. A column of doubles that are all
whole is read as integers; a value that the file declares missing, and an empty string, is read as
missing. Labels of a file serve a first plan alone.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from bistochastic.errors import OutOfMemoryError, Refused
from bistochastic_survey.files import child as apart
from bistochastic_survey.files.parquet_file import ROWS
from bistochastic_survey.files.tables import Source
from bistochastic_survey.table.schemas import SchemaColumn, columns_of

READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
# The exit code of a process that the system killed, as it does for memory.
_KILLED = -9


class StatisticalSource(Source):
    """A file of SPSS, Stata or SAS, in memory."""

    def __init__(self, path: Path, name: str, kinds: Mapping[str, str]) -> None:
        if find_spec("pyreadstat") is None:
            must = "be installed to read files of SPSS, Stata and SAS"
            raise Refused("pyreadstat", must, 'none: pip install "bistochastic-survey[stat]"')
        table = _read(path, name, kinds)
        self._facts = json.loads(table.schema.metadata[apart.FACTS])
        self._table = table.replace_schema_metadata()
        super().__init__(name, self, self._table.schema, self._table.num_rows)

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        table = self._table if columns is None else self._table.select(columns)
        batches: list[pa.RecordBatch] = table.to_batches(ROWS)
        return batches

    def close(self) -> None:
        self._table = self._table.slice(0, 0)

    def described(self) -> list[SchemaColumn]:
        # Two or more labels of a column are its categories. One is a remark about a number.
        listed = []
        for column, (label, pairs, missing) in zip(
            columns_of(self.schema), self._facts, strict=True
        ):
            texts = tuple((value, text) for value, text in pairs)
            column = replace(column, label=label, texts=texts, missing=tuple(missing))
            if len(texts) > 1:
                codes = tuple(value for value, _text in texts)
                column = replace(column, levels=codes, declared=True, holds="levels")
            listed.append(column)
        return listed


def _read(path: Path, name: str, kinds: Mapping[str, str]) -> pa.Table:
    """Read a whole file in a process of its own, which a broken file may crash."""
    form = path.suffix.lower()
    told = {"path": str(path.absolute()), "read": READERS[form], "kinds": dict(kinds),
            "sys.path": sys.path}  # fmt: skip
    child = subprocess.run(
        [sys.executable, "-I", apart.__file__],
        input=json.dumps(told).encode(),
        stdout=subprocess.PIPE,
        # Its message about a broken file may quote the file.
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if child.returncode in (apart.FULL, _KILLED):
        raise OutOfMemoryError(name, "fit in memory", "a larger one")
    with suppress(pa.ArrowException, OSError):
        table = pa.ipc.open_stream(child.stdout).read_all()
        table.validate(full=True)
        if not child.returncode:
            return table
    raise Refused(name, f"be a {form} file", "a broken one")
