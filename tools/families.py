"""Write what follows from the registry in Rust and the functions in ``families.py``.

``tests/test_laws.py`` compares the files with it. Rows keep their places; those of a new family are
added at the end, and can be moved.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bistochastic import _core, families

HERE = Path(__file__).resolve().parent.parent
PACKAGE, DOCS = HERE / "python/bistochastic", HERE / "docs"
# What a scalar of a function is called in its signature.
SCALAR = re.compile(r"(int|float|Number)( \| None)?|Vector \| Number \| None")
FORMS = {
    "whole": "integer", "wholes": "vector of integers", "table": "table of integers",
    "fraction": "fraction", "fractions": "vector of fractions", "places": "list of digests",
    "alphas": "integer or vector of integers",
}  # fmt: skip


def functions() -> dict[str, Callable[..., Any]]:
    """Every family that has a function: a product is written ``a @ b``."""
    return {name: getattr(families, name) for name in _core.families() if hasattr(families, name)}


def schema(text: str) -> str:
    """The schema of matrices: an alternative per family, and what a caller may have requested."""
    found = json.loads(text)
    found["$defs"]["law"]["oneOf"] = [_law(*each) for each in sorted(_core.families().items())]
    requested = found["$defs"]["requested"]["properties"]
    for function in functions().values():
        for name, parameter in inspect.signature(function).parameters.items():
            if SCALAR.fullmatch(str(parameter.annotation)):
                requested.setdefault(name, {"$ref": "#/$defs/number"})
    return _written(found) + "\n"


def _law(name: str, forms: list[tuple[str, str]]) -> dict[str, Any]:
    properties = {n: {"$ref": f"#/$defs/{form.rpartition(' ')[2]}"} for n, form in forms}
    needed = [n for n, form in forms if not form.startswith("optional ")]
    held = {"type": "object", "properties": properties, "required": needed}
    return {
        "properties": {
            "family": {"const": name}, "parameters": held | {"additionalProperties": False},
        }
    }  # fmt: skip


def _written(value: Any, indent: str = "") -> str:
    """JSON in which an object of one plain value, or a list of plain values, is on one line."""
    inner = list(value.values() if isinstance(value, dict) else value)
    flat = all(not isinstance(each, dict | list) for each in inner)
    alone = isinstance(value, dict) and len(value) == 1
    nested = alone and isinstance(inner[0], dict) and "$ref" in inner[0]
    numbers = "minimum" in value or ("unevaluatedProperties" in value and "$ref" in value)
    if (flat and (alone or isinstance(value, list) or numbers)) or nested:
        return json.dumps(value)
    deeper = indent + "  "
    plain = [
        _written(each, deeper) if isinstance(each, dict | list) else json.dumps(each)
        for each in inner
    ]
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + each for each in plain) + f"\n{indent}]"
    lines = [f"{deeper}{json.dumps(n)}: {each}" for n, each in zip(value, plain, strict=True)]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _added(text: str, pattern: str, rows: dict[str, str]) -> str:
    """``rows`` that ``pattern`` finds no name of, behind the last that it finds."""
    found = list(re.finditer(pattern, text, re.M))
    there = {name for each in found for name in re.findall(r"\w+", each[1])}
    missing = [row for name, row in rows.items() if name not in there]
    end = found[-1].end()
    return text[:end] + "".join(f"\n{row}" for row in missing) + text[end:]


def _summary(function: Callable[..., Any]) -> str:
    """The first line of a docstring, as a cell."""
    first = (function.__doc__ or "").partition("\n")[0].rstrip(".").replace("``", "`")
    return first[0].lower() + first[1:]


def page(text: str) -> str:
    """The table of all families."""
    rows = {}
    for name, f in functions().items():
        given = inspect.signature(f).parameters.values()
        first = ", ".join(each.name for each in given if each.default is each.empty)
        more = ", ".join(f"`{each.name}`" for each in given if each.default is not each.empty)
        rows[name] = f"| `{name}({first})` | {_summary(f)} | {more} |"
    return _added(text, r"^\| `(\w+)(?=\(| @).*\|$", rows)


def api(text: str) -> str:
    """The functions in the reference."""
    rows = {name: f".. autofunction:: bistochastic.{name}" for name in functions()}
    there = re.findall(r"autofunction:: bistochastic\.(\w+)$", text, re.M)
    rows = {name: row for name, row in rows.items() if name not in there}
    return _added(text, r"^\.\. autofunction:: bistochastic\.(uniform)$", rows)


def protocol(text: str) -> str:
    """The realised parameters of every family, in the order of their digest."""
    rows = {}
    for name, forms in _core.families().items():
        parts = ", ".join(f"`{n}` {FORMS[form.rpartition(' ')[2]]}" for n, form in forms)
        rows[name] = f"| `{name}` | {parts} |"
    table = text.index("| family | parameters |")
    end = text.index("\n\n", table)
    return text[:table] + _added(text[table:end], r"^\| (`\w+`.*?) \|.*\|$", rows) + text[end:]


def _names(text: str, head: str, names: Iterable[str]) -> str:
    """A list of names in brackets behind ``head``, with ``names`` among them."""
    start = text.index(head) + len(head)
    end = text.index("]", start)
    held = set(re.findall(r'"(\w+)"', text[start:end]))
    quoted = ", ".join(f'"{name}"' for name in sorted(held | set(names)))
    lines = textwrap.wrap(quoted + ",", 96)
    same = held.issuperset(names)
    return text if same else text[:start] + "\n    " + "\n    ".join(lines) + "\n" + text[end:]


def literal(text: str) -> str:
    """``Family``, for type checkers."""
    return _names(text, "Family = Literal[", _core.families())


def parameters(text: str) -> str:
    """``Parameters``, for type checkers: what any function takes by a name."""
    found: dict[str, set[str]] = {}
    for function in functions().values():
        for name, given in inspect.signature(function).parameters.items():
            if given.kind is not given.VAR_POSITIONAL:
                found.setdefault(name, set()).update(given.annotation.split(" | "))
    pairs = [
        f'"{name}": "{" | ".join(sorted(kinds - {"None"}))}",'
        for name, kinds in sorted(found.items())
    ]
    # A pair stays on one line.
    wrapped = textwrap.wrap(" ".join(pair.replace(" ", "\0") for pair in pairs), 96)
    start = text.index("\n", text.index("Parameters = TypedDict(")) + 1
    lines = "".join(f"    {line}\n" for line in wrapped).replace("\0", " ")
    return text[:start] + lines + text[text.index("}, total=False)") :]


def typed(text: str) -> str:
    """Both names for type checkers."""
    return parameters(literal(text))


def exports(text: str) -> str:
    """What the package imports and lists."""
    head = "from bistochastic.families import (\n"
    start = text.index(head) + len(head)
    end = text.index(")", start)
    held = set(text[start:end].replace(",", " ").split()) | set(functions())
    imported = "".join(f"    {name},\n" for name in sorted(held))
    return _names(text[:start] + imported + text[end:], "__all__ = [", functions())


FILES: dict[Path, Callable[[str], str]] = {
    PACKAGE / "schemas/matrix.json": schema,
    PACKAGE / "families.py": typed,
    PACKAGE / "__init__.py": exports,
    DOCS / "reference/families.md": page,
    DOCS / "reference/api/library.rst": api,
    DOCS / "protocol.md": protocol,
}


def main() -> None:
    """Write the files."""
    for path, make in FILES.items():
        before = path.read_text("utf-8")
        after = make(before)
        if after != before:
            path.write_text(after, "utf-8")
            print(f"{path.relative_to(HERE)}: written")


if __name__ == "__main__":
    main()
