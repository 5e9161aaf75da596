"""A protected file in another format: the same cells, and no other draw."""

from __future__ import annotations

from pathlib import Path

from bistochastic.adapters.csv_dialect import Dialect
from bistochastic.adapters.table_files import created, ending, opened
from bistochastic.files.release import digest, kinds
from bistochastic.files.whole import written
from bistochastic.plan.certificate import Certificate

# Fields of a file that was written here may have any number of lines.
_LINES = 1 << 31


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
    dialect = Dialect.of(separator, "utf-8", decimal, _LINES)
    beside = path.with_name(f"{path.name}.certificate.json")
    if not beside.is_file():
        raise ValueError("`source` must have its certificate beside it; got none")
    certificate = Certificate.from_json(beside.read_text(encoding="utf-8"))
    if (certificate.files or {}).get(path.name) not in (None, digest(path)):
        raise ValueError("`source` must be the file of its certificate; got one that was changed")
    # The type of a column of numbers depends on all of its cells.
    held = kinds(certificate.plan, released=True).items()
    known = {column: kind for column, kind in held if kind not in ("number", "float")}
    if certificate.ids is not None and certificate.ids.id_column:
        known.setdefault(certificate.ids.id_column, "text")
    for unit in certificate.units:
        known.setdefault(unit.column, "text")
    protected = {c for attribute in certificate.plan.attributes for c in attribute.columns}
    table = opened(path, "source", known, dialect=dialect)
    try:
        if form == ".parquet":
            table.decide(list(table.schema.names))
        with written(target, "out") as part:
            sink = created(part, form, table.schema, protected, dialect)
            for batch in table.batches():
                sink.write(batch)
            sink.close()
    finally:
        table.close()
