"""What holds for every call: what was given against what came out, and which laws to check."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

import bistochastic as bs
from fuzz import judge
from fuzz.of_matrix import OF_DEEP_MATRIX, OF_MATRIX
from fuzz.of_result import OF_RESULT
from fuzz.prelude import hold


@dataclass
class Run:
    """A call that succeeded."""

    name: str
    owner: str
    it: Any
    given: dict[str, Any]
    result: Any
    rng: Random
    deep: bool


def _randomize(run: Run) -> None:
    codes, out, m = np.asarray(run.given["codes"]), run.result, run.it
    hold(out.shape == codes.shape, "shape of randomize")
    if run.given.get("out") is not None:
        # Arguments are made afresh for the laws, so the array itself is another one.
        hold(out.dtype == run.given["out"].dtype, "an array of another type than the given one")
    elif isinstance(run.given["codes"], np.ndarray):
        hold(out.dtype == codes.dtype, f"dtype {out.dtype} from {codes.dtype}")
    hold(
        out.size == 0 or (int(out.min()) >= 0 and int(out.max()) < m.size), "a report out of range"
    )
    if run.given.get("key") is not None:
        again = m.randomize(**{**run.given, "out": None, "threads": run.rng.choice([1, 2, 3])})
        hold(np.array_equal(out, again), "the same call twice gives two answers")


def _respond(run: Run) -> None:
    hold(type(run.result) is int and 0 <= run.result < run.it.size, "a report out of range")
    if run.given.get("key") is not None:
        hold(run.it.respond(**run.given) == run.result, "the same call twice gives two answers")


def _draw(run: Run) -> None:
    columns, key, given = run.given["columns"], run.given["key"], run.given
    for column, new in zip(columns, run.result, strict=True):
        hold(new.shape == column.codes.shape, "another number of records")
        hold(new.dtype == column.codes.dtype, f"dtype {new.dtype} from {column.codes.dtype}")
        hold(new.size == 0 or int(new.max()) < column.matrices[0].size, "a report out of range")
    options = {name: given[name] for name in ("plan", "address", "release") if name in given}
    again = bs.backend.draw(columns, key, **options)
    hold(all(map(np.array_equal, again, run.result)), "the same call twice gives two answers")


def _count(run: Run) -> None:
    codes, counts = np.asarray(run.given["codes"]), run.result
    hold(int(counts.sum()) == codes.size and len(counts) == run.given["size"], "other counts")


def _require(run: Run) -> None:
    # What passed was kept, compared as exact numbers.
    for name, ahead in (("beta", 1), ("epsilon", -1)):
        want = run.given.get(name)
        if isinstance(want, int | float | Fraction):
            real = getattr(run.it, name)
            far = real if math.isinf(real) else Fraction(real)
            wanted = want if isinstance(want, float) and math.isinf(want) else Fraction(want)
            hold(far * ahead >= wanted * ahead, f"{name} {real!r} passed for {want!r}")


def _sample(run: Run) -> None:
    n = run.it.matrix.size
    hold(run.result.shape == (run.given["n"], n), "shape of sample")
    for one in run.result[:5]:
        hold(sorted(one.tolist()) == list(range(n)), "a sample is no permutation")


def _transforms(run: Run) -> None:
    p, q = run.given["p"], run.given["q"]
    if all(isinstance(x, int | Fraction) for x in (*p, *q)):
        hold(run.result.apply(p) == list(q), "T-transforms do not carry p into q")


def _table(given: Any) -> tuple[list[str], int]:
    """The columns of a table and its number of rows."""
    if isinstance(given, dict):
        return list(given), len(next(iter(given.values()), ()))
    names = given.schema.names if hasattr(given, "schema") else None
    return list(names() if callable(names) else names or given.columns), len(given)


def _protect(run: Run) -> None:
    frame, release = run.given["frame"], run.result
    hold(type(release.data) is type(frame), "another kind of table")
    (before, rows), (after, kept) = _table(frame), _table(release.data)
    # A table without columns has no rows; without rows it may have lost its columns' lengths.
    hold(kept == rows or not after, "another number of rows")
    hold(release.certificate.records == rows, "another number of records")
    more = {run.given.get("pseudonym")}
    hold([n for n in after if n not in more] == [n for n in before if n in after], "columns moved")
    hold(not judge.secret(str(release.certificate)), "a value in a certificate")
    hold(not judge.secret(release.certificate.to_json()), "a value in a certificate")
    if run.given.get("key") is not None and not run.given.get("shuffle"):
        again = run.it.protect(**run.given)
        hold(_values(again.data) == _values(release.data), "the same call twice gives two answers")


def _values(table: Any) -> Any:
    if isinstance(table, dict):
        return {name: list(column) for name, column in table.items()}
    if hasattr(table, "to_pylist"):
        return table.to_pylist()
    return table.to_dict("list") if hasattr(table, "iloc") else table.rows()


def _one(run: Run) -> None:
    hold(run.it.one(**run.given) == run.result, "the same call twice gives two answers")
    hold(set(run.result) <= set(run.given["record"]), "a column that was not there")


OF_CALL: dict[str, Callable[[Run], None]] = {
    "Matrix.randomize": _randomize,
    "Matrix.respond": _respond,
    "backend.draw": _draw,
    "backend.count": _count,
    "Matrix.require": _require,
    "Plan.require": _require,
    "Plan.protect": _protect,
    "Responder.one": _one,
    "Responder.many": lambda run: hold(
        run.it.many(**run.given) == run.result, "the same call twice gives two answers"
    ),
    "Decomposition.sample": _sample,
    "theory.t_transforms": _transforms,
    "theory.majorizes": lambda run: hold(isinstance(run.result, bool), "majorizes is no bool"),
    "Matrix.apply": lambda run: hold(
        run.result.dtype == np.float64 and run.result.shape == np.shape(run.given["x"]),
        "shape of apply",
    ),
    "Matrix.exact_row": lambda run: hold(
        sum(run.result) == 1 and min(run.result) >= 0, "a row does not sum to 1"
    ),
    "Matrix.required_records": lambda run: hold(
        isinstance(run.result, int) and run.result >= 1, "required records"
    ),
    "Matrix.posterior": lambda run: hold(
        abs(run.result.sum() - 1) < 1e-9 and (run.result >= 0).all(), "a posterior is no law"
    ),
    "Matrix.standard_error": lambda run: hold((run.result >= 0).all(), "a standard error below 0"),
    "Key.shown": lambda run: hold(not judge.secret(run.result), "a secret is shown"),
}
# Classes of which a pickle or a copy is equal.
_COPIED = {
    "Matrix", "TTransforms", "Point", "Plan", "Categorical", "Joint", "Numeric", "Certificate",
}  # fmt: skip


def _shown_or_copied(run: Run) -> None:
    if run.name == "as_html":
        hold("<script" not in run.result.lower(), "a label that a page takes for code")
        hold(not judge.secret(run.result), "a value in what a notebook shows")
    elif run.owner in _COPIED and run.name in ("pickled", "copied", "deep_copied"):
        hold(run.deep or run.result == run.it, "a pickle gives another")


def of(run: Run, *, valid: bool) -> list[tuple[str, Callable[[], None]]]:
    """The laws to check after a call, with their names."""
    out: list[tuple[str, Callable[[], None]]] = []
    rng, words = run.rng, f"{run.owner}.{run.name}"
    kind = type(run.result).__name__
    known = OF_DEEP_MATRIX if run.deep else OF_MATRIX
    if isinstance(run.result, bs.Matrix):
        for law in rng.sample(known, 3):
            out.append((law.__name__, lambda law=law: law(run.result, rng)))  # type: ignore[misc]
    elif kind in OF_RESULT and not run.deep:
        out.append((kind, lambda: OF_RESULT[kind](run.result, rng)))
    if valid and words in OF_CALL and not run.deep:
        out.append((words, lambda: OF_CALL[words](run)))
    out.append((words, lambda: _shown_or_copied(run)))
    if isinstance(run.it, bs.Matrix) and rng.random() < 0.3:
        law = rng.choice(known)
        out.append((law.__name__, lambda: law(run.it, rng)))
    return out


def alike(a: Any, b: Any) -> bool:
    """Whether two results are the same, numbers to the last bit."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if type(a).__name__ == "Estimate":
        return alike(a.frequencies, b.frequencies) and a.records == b.records
    if type(a).__name__ in ("Profile", "Comparison", "Figure", "Decomposition"):
        return bool(repr(a) == repr(b))
    compared = isinstance(a, bs.Matrix | int | str | bool | tuple | list)
    return bool(a == b) if compared or type(a).__name__ == "TTransforms" else True
