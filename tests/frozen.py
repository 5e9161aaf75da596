"""What ``tests/golden`` holds: matrices by their realised parameters, and what each of them gives.

``tools/golden.py`` writes what is missing there and changes nothing. ``test_golden_matrices.py``
computes all of it again. Arrays are kept as their first numbers and a digest of all.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import bistochastic as bs
from bistochastic import _core

FOLDER = Path(__file__).with_name("golden")
KEY = bs.Key.from_bytes(bytes(range(100, 132)))
# Lists up to here are written in full.
SHORT = 40
WIDTHS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
COMPOSITES = ("kron", "mix", "product")
# Derived from others: the error of the inverse and epsilon.
UNFROZEN = {"efficiency", "worst_efficiency", "report_bits"}
# Sums of doubles by NumPy and LAPACK, which another processor adds in another order.
NEAR = (
    "capacity", "condition", "metric_epsilon", "expected_cost", "remaining_uncertainty",
    "effective_alternatives", "best_guess",
)  # fmt: skip
OLD = np.lib.NumpyVersion(np.__version__) < "2.0.0"


def stored(name: str) -> dict[str, Any]:
    """One file of golden values."""
    path = FOLDER / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


# Matrices as plain data.


def packed(value: Any) -> Any:
    """Write a parameter; equal numbers in a row of a long list once, or the rule of all of them."""
    if isinstance(value, bs.Matrix):
        held = {name: packed(each) for name, each in value.parameters.items()}
        return {"family": value.family, **held}
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list):
        return value
    if len(value) <= SHORT or isinstance(value[0], (list, bs.Matrix)):
        return [packed(each) for each in value]
    step = (value[1] - value[0]) % len(value)
    if value == [i * step % len(value) for i in range(len(value))]:
        return {"multiples": step, "length": len(value)}
    runs: list[list[int]] = []
    for each in value:
        if runs and runs[-1][0] == each:
            runs[-1][1] += 1
        else:
            runs.append([each, 1])
    return {"runs": runs} if 2 * len(runs) < len(value) else value


def unpacked(value: Any) -> Any:
    """Read what :func:`packed` wrote."""
    if isinstance(value, str):
        return Fraction(value)
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "multiples" in value:
        return [i * value["multiples"] % value["length"] for i in range(value["length"])]
    if "runs" in value:
        return [each for each, many in value["runs"] for _ in range(many)]
    held = {name: unpacked(each) for name, each in value.items() if name != "family"}
    return bs.build(value["family"], **held)


# What a matrix gives.


def mark(values: Any) -> str:
    """The first whole numbers, and a digest of all."""
    array = np.ascontiguousarray(values, "<i8").ravel()
    first = " ".join(map(str, array[:6].tolist()))
    return f"{first} #{hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def marked(texts: Iterable[object], shown: int = 3) -> str:
    """The first things as text, and a digest of all."""
    listed = [str(each) for each in texts]
    digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()[:16]
    return f"{' '.join(listed[:shown])} #{digest}"


def alike(found: dict[str, str]) -> Any:
    """One answer if all are the same."""
    return next(iter(found.values())) if len(set(found.values())) == 1 else found


def codes_of(m: bs.Matrix, records: int) -> np.ndarray:
    """True codes, all over the alphabet."""
    return np.arange(records, dtype=np.int64) * 7919 % (m.size - m.padding)


def widths_of(m: bs.Matrix) -> list[str]:
    """The types that hold every code."""
    return [name for name in WIDTHS if np.iinfo(name).max >= m.size - 1]


def ids_of(kind: str, count: int) -> list[Any]:
    """Ids of one kind: small and large, negative, empty, longer than a block or a chunk."""
    if kind == "integer":
        return [0, -1, 2**63, 2**64 - 1, -(2**63), *((i - 3) * 6007 for i in range(count - 5))]
    strings = ["", "a" * 70, "b" * 1100, *(f"é{i}" for i in range(count - 3))]
    return strings if kind == "text" else [text.encode() for text in strings]


def draws(m: bs.Matrix) -> dict[str, Any]:
    """Reported codes of every type of code, by every kind of address."""
    widths = widths_of(m)

    def all_widths(records: int, **where: Any) -> Any:
        codes = codes_of(m, records)
        return alike({w: mark(m.randomize(codes.astype(w), key=KEY, **where)) for w in widths})

    block: Any = (["x"], codes_of(m, 700).astype(np.min_scalar_type(m.size - 1)), None, None, [m])
    found = {
        "rows": all_widths(1500, stream="golden", start=0),
        "far rows": all_widths(100, stream="golden", start=2**40 + 3),
        "wide integers": all_widths(200, stream="golden", ids=np.arange(-100, 100) * 2**40),
        "blocks": mark(_core.plan_blocks(KEY, "golden", "2026", [block], 0, True)[0]),
    }
    for kind in ("integer", "text", "bytes"):
        ids = ids_of(kind, 60)
        found[kind] = all_widths(60, stream="golden", ids=ids)
        found[f"{kind} of a plan"] = mark(
            _core.plan_ids(KEY, "golden", ["x", "y"], m, codes_of(m, 60), ids)
        )
        answers = zip(codes_of(m, 8).tolist(), ids, strict=False)
        found[f"one {kind}"] = mark(
            [m.respond(code, key=KEY, stream="golden", id=each) for code, each in answers]
        )
    return found


def has_classes(m: bs.Matrix) -> bool:
    """Whether the bits of a whole permutation are those of classes."""
    return m.family in ("blocks", "k_anonymous", "uniform")


def has_mixtures(m: bs.Matrix) -> bool:
    """Whether a mixture or product is inside."""
    inner = m.parameters.get("matrices", []) if m.family in COMPOSITES else []
    return m.family in ("mix", "product") or any(map(has_mixtures, inner))


def measures(m: bs.Matrix) -> dict[str, Any]:
    """What is stated of a matrix."""
    found: dict[str, Any] = {"size": m.size, "padding": m.padding, "max bits": m.max_bits}
    if has_mixtures(m) and m.size > 1024:
        return found
    found |= {
        "is exact": m.is_exact, "entropy rate": m.entropy_rate, "beta": m.beta,
        "epsilon": m.epsilon, "truthfulness": m.truthfulness, "is ergodic": m.is_ergodic,
    }  # fmt: skip
    if m.size <= 300:
        found["exact rows"] = marked(x for u in (0, m.size // 2) for x in m.exact_row(u))
    if m.size <= 70_000 and m.family not in COMPOSITES:
        found["row"] = mark(m.row(m.size // 3).view(np.int64))
    if has_classes(m):
        found["joint entropy"] = m.joint_entropy
    if m.size > 2**24:
        return found
    small = m.size <= 300
    options: dict[str, Any] = {"cost": "ordinal"} if small and not m.padding else {}
    if small:
        many = m.size - m.padding
        options["prior"] = np.arange(1, many + 1) / (many * (many + 1) / 2)
        found["deniable at 1.5"] = m.deniability(1.5)
    without = ("rank",) if m.family in ("dense", "balance", "gibbs", *COMPOSITES) else ()
    for entry in m.profile(full=small, **options):
        if entry.name in UNFROZEN:
            continue
        if entry.name not in without:
            how = entry.status if entry.name not in ("rank", "condition") else ""
            found[f"profile {entry.name}"] = [entry.value, how]
    return found


def permutations(m: bs.Matrix) -> dict[str, Any]:
    """Random permutations, what they do to values, and how far they move them."""
    values = np.arange(m.size) ** 2 % 1009
    found: dict[str, Any] = {}
    keyed: Any = {"key": KEY, "stream": "golden"}
    asked: dict[str, Callable[[], Any]] = {
        "drawn": lambda: mark(m.sample_permutation(**keyed)),
        "permuted": lambda: mark(m.permute(values, allow_shift=True, **keyed)),
        "permuted by rank": lambda: mark(
            m.permute(values, order="rank", allow_shift=True, **keyed)
        ),
        "averaged": lambda: _some(m.average(values, allow_invertible=True)),
        "averaged by rank": lambda: _some(
            m.average(values, order="rank", allow_invertible=True, **keyed)
        ),
        "displacement": lambda: _moves(m),
    }
    for name, ask in asked.items():
        try:
            found[name] = ask()
        except ValueError:
            # Too large, or nothing to move: what raises is tested elsewhere.
            continue
    return found


def _some(values: Any) -> list[float]:
    array = np.asarray(values, float)
    return [*array[:3].tolist(), *array[-2:].tolist(), math.fsum(array)]


def _moves(m: bs.Matrix) -> list[float | None]:
    d = m.displacement()
    joint = [d.joint_entropy, d.joint_share] if has_classes(m) else []
    return [d.beta, d.mean, d.p10, d.p50, d.p90, d.furthest, d.unmoved, *joint]


def terms(m: bs.Matrix) -> dict[str, Any]:
    """Decompositions: weights, permutations, what is left, draws."""
    options: list[dict[str, Any]] = [{}]
    if m.size <= 60:
        options += [{"mass": 0.8}, {"max_terms": 3}, {"restarts": 3}]
    found: dict[str, Any] = {}
    for option in options:
        d = m.decompose(**option)
        some = range(d.terms) if d.terms * m.size <= 10**5 else (0, d.terms // 2, d.terms - 1)
        held = {
            "terms": d.terms,
            "weights": marked(d.exact_weights),
            "permutations": mark(np.concatenate([d.permutation(j) for j in some])),
            "left": str(d.residual_weight),
        }
        if not d.residual_weight:
            held["drawn"] = mark(d.sample(20, key=KEY, stream="golden"))
        found[" ".join(f"{name} {value}" for name, value in option.items()) or "all"] = held
    return found


def facts(m: bs.Matrix, without: Iterable[str] = ()) -> dict[str, Any]:
    """All that a matrix gives."""
    found: dict[str, Any] = {"digest": _core.digest_of(m), "draws": draws(m)}
    if "measures" not in without:
        found["measures"] = measures(m)
    if m.size <= 70_000 and not m.padding:
        found["permutations"] = permutations(m)
        if "terms" not in without:
            found["terms"] = terms(m)
    return found


# Requests.


def digest_of(family: str, asked: dict[str, Any]) -> str:
    """The matrix that a request gives, or that it gives none."""
    try:
        return _core.digest_of(bs.build(family, **asked))
    except ValueError:
        return "refused"


# Comparison.


def changes(path: str, there: Any, found: Any) -> list[str]:
    """The places where something is not as it was."""
    if isinstance(there, dict) and isinstance(found, dict):
        inside = ((name, there.get(name), found.get(name)) for name in {**there, **found})
        return [each for name, x, y in inside for each in changes(f"{path} / {name}", x, y)]
    return [] if same(path, there, found) else [f"{path}: {there} became {found}"]


def same(path: str, there: Any, found: Any) -> bool:
    """Whether a value is what it was: to the last bit, or to 1e-9 if it is a sum of doubles.

    A condition is 1 / s, and s is known to 2^-52: the relative error of a large one is that much.
    """
    near = ("averaged", "averaged by rank", "displacement", *(f"profile {name}" for name in NEAR))
    if path.rpartition(" / ")[2] in near:
        pairs = zip(there, found, strict=True)
        large = path.endswith("profile condition")
        # The search for capacity ends within 1e-7; where depends on the logarithms of NumPy.
        least = 1e-6 if path.endswith("capacity") and OLD else 1e-9
        return all(x == y or (isinstance(x, float) and
                   math.isclose(x, y, rel_tol=max(least, 2**-52 * x if large else 0)))
                   for x, y in pairs)  # fmt: skip
    return json.dumps(there) == json.dumps(found)
