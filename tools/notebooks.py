"""Run the tutorials, and store or compare what they show: ``make notebooks``, ``make tutorials``.

    python tools/notebooks.py docs/tutorials/*.ipynb            run them, and store their outputs
    python tools/notebooks.py --check docs/tutorials/*.ipynb    run them, and compare

It needs no Jupyter. A notebook is JSON. Its code cells are run in order, in a process of their own
and an empty folder. What a cell prints and its last expression are stored as in Jupyter, as
text and as HTML. The shell runs lines that start with ``!``.

The output of a cell with the tag ``varies`` contains noise or a time, and is not compared. A cell
with the tag ``raises-exception`` must end in an error, which is shown.
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
    """Run or compare the notebooks; return the number of notebooks that differ."""
    check = "--check" in words
    wrong = 0
    for word in words:
        if word.startswith("--"):
            continue
        path = Path(word).resolve()
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = run_apart(path)
        if not check:
            path.write_text(serialize(found), encoding="utf-8")
            continue
        differences = compare(stored, found)
        wrong += bool(differences)
        print("\n".join([f"{path.name}: `make notebooks` stores its outputs again", *differences])
              if differences else f"{path.name}: as it is stored")  # fmt: skip
    return wrong


def serialize(notebook: dict[str, Any]) -> str:
    """Write a notebook as JSON: the same string for the same cells."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def run_apart(path: Path) -> dict[str, Any]:
    """Run a notebook in a process of its own, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "programs"
        empty = Path(folder) / "empty"
        programs.mkdir()
        empty.mkdir()
        # The program of the package that is imported here.
        program = programs / "bistochastic"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bistochastic_survey "$@"\n')
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
    """Run all code cells, one after the other, with the same names."""
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
    """Return the tags of a cell."""
    return list(cell.get("metadata", {}).get("tags", []))


def outputs(source: str, marked: list[str], names: dict[str, Any], count: int) -> list[Any]:
    """Run one cell and return what it shows."""
    said = io.StringIO()
    value, error = None, None
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            value = evaluate(source, names)
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


def evaluate(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; return the value of its last line, unless that ends in a semicolon."""
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
    """Run a command in the shell, show what it prints, and raise an error if it fails."""
    done = subprocess.run(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    sys.stdout.write(done.stdout)
    if done.returncode:
        raise RuntimeError(f"`{command}` ended with {done.returncode}")


def lines(text: str) -> list[str]:
    """Split a string as notebooks store it."""
    return text.splitlines(keepends=True)


def visible_lines(cell: dict[str, Any]) -> list[str]:
    """Return the outputs that have to stay the same: strings, and HTML of these packages."""
    found = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        found += ["".join(output.get("text", [])), output.get("evalue", "")]
        found.append("".join(data.get("text/plain", [])))
        page = "".join(data.get("text/html", []))
        # Other libraries change how their tables look.
        found.append(page if "bs-table" in page or page.startswith("<pre>") else "")
    return "\n".join(found).splitlines()


def compare(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return how outputs differ from the stored ones, as lines."""
    wrong: list[str] = []
    for i, (old, new) in enumerate(zip(stored["cells"], found["cells"], strict=True)):
        if old["cell_type"] != "code":
            continue
        if VARIES in tags(old):
            # An output that varies still has to be of the same kind.
            kinds = [[each["output_type"] for each in cell["outputs"]] for cell in (old, new)]
            if kinds[0] != kinds[1]:
                wrong.append(f"cell {i}: stored are {kinds[0]}, found {kinds[1]}")
            continue
        wrong += difflib.unified_diff(
            visible_lines(old),
            visible_lines(new),
            f"cell {i}, stored",
            f"cell {i}, found",
            lineterm="",
            n=0,
        )
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        notebook = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
        result = run(notebook)
        sys.stdout.write(json.dumps(result))
        sys.exit()
    sys.exit(main(sys.argv[1:]))
