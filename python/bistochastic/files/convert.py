"""A protected file in another format: the same cells, and no other draw."""

from __future__ import annotations

from pathlib import Path

from bistochastic.adapters.csv_dialect import Dialect
from bistochastic.adapters.table_files import created, ending, opened
from bistochastic.files.opened import LINES, certified, types_of
from bistochastic.files.release import declared
from bistochastic.files.whole import written
from bistochastic.plan.carried import notes


def convert(source: str, out: str, *, separator: str | None = None, decimal: str = ".") -> None:
    """Write the cells of the protected file ``source``, which has a certificate, to ``out``.

    The ending of ``out`` chooses the format. Give the options that the file was protected with.
    Columns have the types that :func:`bistochastic.files.release.protect_file` gives them. A file
    that does not match its certificate raises an error.

    >>> import bistochastic as bs, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> text = plan.protect({"sex": ["F"]}).certificate.to_json()
    >>> _ = (folder / "one.csv.certificate.json").write_text(text)
    >>> _ = (folder / "one.csv").write_text("sex\\nF\\n")
    >>> convert(str(folder / "one.csv"), str(folder / "two.parquet"))
    >>> (folder / "two.parquet").exists()
    True
    """
    path, target = Path(source), Path(out)
    form = ending(target, "out")
    dialect = Dialect.of(separator, "utf-8", decimal, LINES)
    certificate = certified(path, "source")
    # The type of a column of numbers depends on all of its cells.
    held = types_of(certificate).items()
    known = {column: kind for column, kind in held if kind not in ("number", "float")}
    protected = {c for attribute in certificate.plan.attributes for c in attribute.columns}
    table = opened(path, "source", known, dialect=dialect)
    try:
        if form != ".csv":
            table.decide(list(table.schema.names))
        with written(target, "out") as part:
            plan = certificate.plan
            labels = plan.column_labels, plan.value_labels
            sink = created(part, form, table.schema, protected, dialect, labels, declared(plan))
            for batch in table.batches():
                sink.write(batch)
            sink.note(notes(certificate))
            sink.close()
    finally:
        table.close()
