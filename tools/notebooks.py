"""Runs the notebooks of ``examples/`` and keeps what they show: ``make notebooks``.

    python tools/notebooks.py examples/*.ipynb            run them, and write their outputs
    python tools/notebooks.py --check examples/*.ipynb    run them, and compare

It needs no Jupyter. A notebook is JSON: code cells are run in order in a process of their own, in
an empty folder. What a cell prints and its last expression are kept as Jupyter keeps them, as text
and as HTML. Lines that start with ``!`` are run by the shell.

A cell with the tag ``varies`` has fresh noise or a time in what it shows, which is then not
compared. One with the tag ``raises-exception`` ends in an error, which is shown.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RAISES, VARIES = "raises-exception", "varies"


def main(words: list[str]) -> int:
    """Run, or compare, the notebooks that are named; the number of those that differ."""
    check = "--check" in words
    wrong = 0
    for word in words:
        if word.startswith("--"):
            continue
        path = Path(word).resolve()
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = run_apart(path)
        if not check:
            path.write_text(written(found), encoding="utf-8")
            continue
        differences = compared(stored, found)
        wrong += bool(differences)
        print("\n".join([f"{path.name}: `make notebooks` writes it anew", *differences])
              if differences else f"{path.name}: as it is stored")  # fmt: skip
    return wrong


def written(notebook: dict[str, Any]) -> str:
    """A notebook as its file: the same text for the same cells."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def run_apart(path: Path) -> dict[str, Any]:
    """Run a notebook in a process of its own, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "programs"
        empty = Path(folder) / "empty"
        programs.mkdir()
        empty.mkdir()
        # The program that goes with the package that is imported here.
        program = programs / "bistochastic"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bistochastic "$@"\n')
        program.chmod(0o755)
        paths = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--run", str(path)],
            cwd=empty,
            env={**os.environ, "PATH": paths},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{path.name}: a cell failed, as said above")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """All code cells, one after the other, with the same names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        cell["outputs"] = outputs("".join(cell["source"]), tags(cell), names, count)
    return notebook


def tags(cell: dict[str, Any]) -> list[str]:
    """The tags of a cell."""
    return list(cell.get("metadata", {}).get("tags", []))


def outputs(source: str, marked: list[str], names: dict[str, Any], count: int) -> list[Any]:
    """What one cell shows."""
    said = io.StringIO()
    value, error = None, None
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            value = evaluated(source, names)
        except Exception as raised:
            if RAISES not in marked:
                raise
            error = raised
    found: list[Any] = []
    if said.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": lines(said.getvalue())})
    if error is not None:
        name, text = type(error).__name__, str(error)
        found.append({"ename": name, "evalue": text, "output_type": "error",
                      "traceback": [f"{name}: {text}"]})  # fmt: skip
    elif RAISES in marked:
        raise SystemExit(f"cell {count} must raise; it did not")
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        page = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if page is not None:
            data["text/html"] = lines(str(page))
        found.append({"data": data, "execution_count": count, "metadata": {},
                      "output_type": "execute_result"})  # fmt: skip
    return found


def evaluated(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line if that is an expression without a semicolon."""
    shell = "\n".join(
        f"__shell__({line[1:].strip()!r})" if line.startswith("!") else line
        for line in source.splitlines()
    )
    names["__shell__"] = in_shell
    tree = ast.parse(shell)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not shell.rstrip().endswith(";"):
        tree.body.pop()
        exec(compile(tree, "<cell>", "exec"), names)
        return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    exec(compile(tree, "<cell>", "exec"), names)
    return None


def in_shell(command: str) -> None:
    """A command of the shell; what it writes is shown, and a failure ends the notebook."""
    done = subprocess.run(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    sys.stdout.write(done.stdout)
    if done.returncode:
        raise RuntimeError(f"`{command}` ended with {done.returncode}")


def lines(text: str) -> list[str]:
    """A text as notebooks store it."""
    return text.splitlines(keepends=True)


def shown(cell: dict[str, Any]) -> list[str]:
    """What of a cell's outputs has to stay the same: texts, and HTML of this package."""
    found = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        found += ["".join(output.get("text", [])), output.get("evalue", "")]
        found.append("".join(data.get("text/plain", [])))
        page = "".join(data.get("text/html", []))
        # Other libraries change how their tables look.
        found.append(page if "bs-table" in page else "")
    return "\n".join(found).splitlines()


def compared(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """How what cells show differs from what is stored, as lines."""
    wrong: list[str] = []
    for i, (old, new) in enumerate(zip(stored["cells"], found["cells"], strict=True)):
        if old["cell_type"] != "code":
            continue
        if VARIES in tags(old):
            # What varies is there all the same, and is of the same kind.
            kinds = [[each["output_type"] for each in cell["outputs"]] for cell in (old, new)]
            if kinds[0] != kinds[1]:
                wrong.append(f"cell {i}: stored are {kinds[0]}, found {kinds[1]}")
            continue
        wrong += difflib.unified_diff(
            shown(old), shown(new), f"cell {i}, stored", f"cell {i}, found", lineterm="", n=0
        )
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        notebook = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
        result = run(notebook)
        sys.stdout.write(json.dumps(result))
        sys.exit()
    sys.exit(main(sys.argv[1:]))
