"""What holds for every result. A law that is broken raises `Broken`."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import numpy as np

import bistochastic as bs
from fuzz import judge, oracle


class Broken(Exception):
    """A law that is broken, in words."""


def hold(true: Any, words: str) -> None:
    """Raise unless ``true``."""
    if not true:
        raise Broken(words)


@dataclass
class Run:
    """A call that succeeded."""

    name: str
    owner: str
    it: Any
    given: dict[str, Any]
    result: Any
    rng: Random


KEY = bs.Key.insecure(12)


# Laws of a matrix.


def rows_and_columns_sum_to_one(m: Any, rng: Random) -> None:
    if m.size > 24:
        return
    rows = [m.exact_row(u) for u in range(m.size)]
    hold(all(isinstance(x, Fraction) and x >= 0 for row in rows for x in row), "an entry is negative")
    hold(all(sum(row) == 1 for row in rows), "a row does not sum to 1")
    hold(all(sum(column) == 1 for column in zip(*rows, strict=True)), "a column does not sum to 1")


def is_what_its_parameters_say(m: Any, rng: Random) -> None:
    if m.size > 12:
        return
    law = oracle.rows(m)
    hold([m.exact_row(u) for u in range(m.size)] == law, "exact rows differ from the definition")
    nearest = np.array([[float(x) for x in row] for row in law])
    hold(np.array_equal(m.to_dense(), nearest), "to_dense is not the nearest doubles")


def dense_rows_and_entries_agree(m: Any, rng: Random) -> None:
    if m.size > 600:
        return
    dense, n = m.to_dense(), m.size
    hold(dense.shape == m.shape == (n, n), "shape")
    slack = n * 2.0**-53
    hold(np.abs(dense.sum(axis=0) - 1).max() <= slack, "columns of to_dense")
    hold(np.abs(dense.sum(axis=1) - 1).max() <= slack, "rows of to_dense")
    u, v = rng.randrange(n), rng.randrange(n)
    hold(np.array_equal(m.row(u), dense[u]), "row and to_dense differ")
    hold(m[u, v] == dense[u, v], "an entry and to_dense differ")
    if n <= 40:
        hold(abs(bs.entropy_rate(dense) - m.entropy_rate) < 1e-9 or m.certified == "bound", "entropy_rate of the array")


def measures_are_safe_and_close(m: Any, rng: Random) -> None:
    beta, epsilon, n = m.beta, m.epsilon, m.size
    hold(0 <= beta <= 1 and epsilon >= 0, "a measure out of range")
    # Not a number where it would take too long.
    hold(not (m.truthfulness < 0 or m.truthfulness > 1), "truthfulness out of range")
    hold(0 <= m.entropy_rate <= m.max_bits, "entropy rate out of range")
    hold(m.certified in ("exact", "bound"), "certified")
    if n > 10:
        return
    law = oracle.rows(m)
    rate, most = oracle.entropy_rate(law), oracle.max_bits(n)
    true = rate / most if n > 1 else mpmath.mpf(1)
    worst = oracle.epsilon(law)
    hold(beta <= true, f"beta {beta!r} is above {mpmath.nstr(true, 20)}")
    hold(m.entropy_rate <= rate, f"bits {m.entropy_rate!r} are above {mpmath.nstr(rate, 20)}")
    hold(epsilon >= worst, f"epsilon {epsilon!r} is below {mpmath.nstr(worst, 20)}")
    if m.certified == "exact":
        hold(beta >= true - 1e-12, f"beta {beta!r} is far below {mpmath.nstr(true, 20)}")
        close = worst == mpmath.inf or epsilon <= worst * (1 + 1e-12)
        hold(close, f"epsilon {epsilon!r} is far above {mpmath.nstr(worst, 20)}")
    straight = float(sum((law[u][u] for u in range(n)), Fraction(0)) / n)
    hold(abs(m.truthfulness - straight) <= 1e-12, "truthfulness")


def survives_a_round_trip(m: Any, rng: Random) -> None:
    again = bs.build(m.family, **m.parameters)
    hold(again == m and hash(again) == hash(m), "build(family, **parameters) is another")
    thawed = pickle.loads(pickle.dumps(m))
    hold(thawed == m, "a pickle gives another")
    hold(repr(thawed.requested) == repr(m.requested), "a pickle forgets what was requested")
    hold(repr(thawed) == repr(m), "repr")
    hold(m.same_law(again), "same_law of itself")


def requests_are_kept(m: Any, rng: Random) -> None:
    for name in ("beta", "epsilon"):
        if name in m.requested:
            m.require(**{name: m.requested[name]})


def can_be_shown(m: Any, rng: Random) -> None:
    hold(m.family in repr(m) and "<table>" in m._repr_html_(), "repr")


def draws_do_not_depend_on_threads_or_pieces(m: Any, rng: Random) -> None:
    n = min(m.size, 2**40)
    records = rng.choice([1, 7, 300, 300, 70_000])
    kind: Any = np.uint8 if n <= 256 else np.int64
    codes = np.array([rng.randrange(n) for _ in range(min(records, 300))], dtype=kind)
    codes = np.resize(codes, records)
    start = rng.choice([0, 5, 2**32 - 3])
    how: dict[str, Any] = {"key": KEY, "stream": "s"}
    whole = m.randomize(codes, start=start, threads=1, **how)
    hold(whole.dtype == codes.dtype and whole.shape == codes.shape, "dtype or shape of randomize")
    hold(int(whole.min()) >= 0 and int(whole.max()) < m.size, "a report out of range")
    for threads in (2, 7):
        again = m.randomize(codes, start=start, threads=threads, **how)
        hold(np.array_equal(whole, again), f"{threads} threads give another")
    cut = rng.randint(0, records)
    pieces = [m.randomize(codes[:cut], start=start, **how), m.randomize(codes[cut:], start=start + cut, **how)]
    hold(np.array_equal(whole, np.concatenate(pieces)), f"pieces cut at {cut} give another")
    strided = np.repeat(codes, 2)[::2]
    hold(np.array_equal(whole, m.randomize(strided, start=start, **how)), "a strided array gives another")
    wide = m.randomize(codes.astype(np.int64), start=start, **how)
    hold(np.array_equal(whole, wide), "another dtype gives another")
    if m.size <= 24:
        for u, v in zip(codes[:20].tolist(), whole[:20].tolist(), strict=True):
            hold(m.exact_row(u)[v] > 0, "a report that cannot be")


def responds_as_it_randomizes_by_id(m: Any, rng: Random) -> None:
    n = min(m.size, 2**40)
    ids: list[Any] = rng.choice([[1, -5, 2**64 - 1], ["a", "", "\u00e9"], [b"a", b"", b"\xff"], [3, "3", b"3"]])
    codes = [rng.randrange(n) for _ in ids]
    how: dict[str, Any] = {"key": KEY, "stream": "s"}
    together = m.randomize(codes, ids=ids, **how).tolist()
    hold(all(0 <= v < m.size for v in together), "a report out of range")
    one = [m.respond(c, id=i, **how) for c, i in zip(codes, ids, strict=True)]
    hold(together == one, "respond differs from randomize by id")
    back = m.randomize(codes[::-1], ids=ids[::-1], threads=2, **how).tolist()
    hold(together == back[::-1], "the order of ids matters")


def draws_permutations(m: Any, rng: Random) -> None:
    if m.size > 5000:
        return
    s = m.sample_permutation(key=KEY, stream="s")
    hold(sorted(s.tolist()) == list(range(m.size)), "no permutation")
    hold(np.array_equal(s, m.sample_permutation(key=KEY, stream="s")), "a key gives two permutations")
    if m.size <= 24:
        hold(all(m.exact_row(u)[v] > 0 for u, v in enumerate(s.tolist())), "a permutation that cannot be")
    bits = m.joint_entropy
    hold(bits is None or bits >= 0, "joint entropy")


def decomposes_exactly(m: Any, rng: Random) -> None:
    if m.size > 7:
        return
    try:
        d = m.decompose(policy=rng.choice(["bottleneck", "any"]))
    except ValueError as error:
        hold(str(error).startswith("`bits` must be given"), str(error))
        return
    if d.terms > 2000:
        return
    of_decomposition(d, rng)
    hold(d.residual is None and d.residual_weight == 0, "something is left")
    if d.matrix == m:
        hold(_summed(d) == [m.exact_row(u) for u in range(m.size)], "the terms do not sum to the matrix")


def applies_and_solves(m: Any, rng: Random) -> None:
    if m.size > 300:
        return
    x = np.array([rng.uniform(-1, 1) for _ in range(m.size)])
    y = m.apply(x)
    hold(y.shape == x.shape, "shape of apply")
    hold(np.allclose(y, m.to_dense().T @ x, rtol=0, atol=1e-12 * max(1, m.size)), "apply is not P^T x")
    condition = m.condition
    hold(condition >= 1 - 1e-9, "condition below 1")
    if not m.is_singular and condition < 1e8:
        error = np.abs(m.solve(y) - x).max()
        hold(error <= 1e-11 * condition * m.size, f"solve(apply(x)) is off by {error:.1e}")
        both = m.apply(np.stack([x, x], axis=1))
        hold(np.allclose(both[:, 1], y, rtol=0, atol=1e-12), "columns of apply")


def estimates_sum_to_one(m: Any, rng: Random) -> None:
    if m.size > 300:
        return
    counts = [rng.randint(0, 99) for _ in range(m.size)]
    counts[0] += 1
    try:
        found = m.estimate(counts=counts, method=rng.choice(["inverse", "mle", "simplex", "shrunk"]))
    except bs.errors.SingularMatrixError:
        hold(m.is_singular, "an invertible matrix is called singular")
        return
    of_estimate(found, rng)


def tells_beliefs(m: Any, rng: Random) -> None:
    if m.size > 300:
        return
    v = rng.randrange(m.size)
    belief = m.posterior(v)
    hold(belief.shape == (m.size,) and abs(belief.sum() - 1) < 1e-9, "a posterior that does not sum to 1")
    hold(np.allclose(belief, m.to_dense()[:, v], rtol=1e-9, atol=1e-15), "posterior of the flat prior")
    all_of_it = m.deniability(math.inf)
    hold(1 <= m.deniability(1) <= all_of_it <= m.size, "deniability")


OF_MATRIX: tuple[Callable[[Any, Random], None], ...] = (
    rows_and_columns_sum_to_one, is_what_its_parameters_say, dense_rows_and_entries_agree, measures_are_safe_and_close,
    survives_a_round_trip, requests_are_kept, can_be_shown, draws_do_not_depend_on_threads_or_pieces,
    responds_as_it_randomizes_by_id, draws_permutations, decomposes_exactly, applies_and_solves, estimates_sum_to_one,
    tells_beliefs,
)  # fmt: skip


# Laws of other results.


def _summed(d: Any) -> list[list[Fraction]]:
    n = d.matrix.size
    total = [[Fraction(0)] * n for _ in range(n)]
    for weight, permutation in d:
        for u, v in enumerate(permutation.tolist()):
            total[u][v] += weight
    return total


def of_decomposition(d: Any, rng: Random) -> None:
    n, terms = d.matrix.size, d.terms
    if n > 40 or terms > 3000:
        return
    weights = d.exact_weights
    hold(len(weights) == terms == len(d), "terms")
    hold(all(w > 0 for w in weights), "a weight that is not positive")
    hold(sum(weights, Fraction(0)) + d.residual_weight == 1, "weights do not sum to 1")
    hold(d.joint_entropy >= 0, "joint entropy")
    for j in range(min(terms, 5)):
        hold(sorted(d.permutation(j).tolist()) == list(range(n)), "a term is no permutation")
    if n <= 12:
        total, left = _summed(d), d.residual_weight
        if left:
            rest = [d.residual.exact_row(u) for u in range(n)]
            total = [[a + left * b for a, b in zip(x, y, strict=True)] for x, y in zip(total, rest, strict=True)]
        hold(total == [d.matrix.exact_row(u) for u in range(n)], "terms and residual are not the matrix")
        near = np.array([[float(x) for x in row] for row in _summed(d)])
        hold(np.allclose(d.reconstruct(), near, rtol=0, atol=1e-12), "reconstruct")


def of_estimate(e: Any, rng: Random) -> None:
    r = e.matrix.size
    hold(e.frequencies.shape == (r,) and not e.frequencies.flags.writeable, "frequencies")
    # Errors of the inverse grow with the condition, and so do those of its sum.
    hold(abs(e.frequencies.sum() - 1) <= 1e-9 * max(1.0, np.abs(e.frequencies).max()), "shares do not sum to 1")
    if e.method != "inverse":
        hold((e.frequencies >= 0).all(), "a negative share")
    hold(np.allclose(e.counts, e.frequencies * e.records), "counts")
    if e.matrix.is_singular or r > 100:
        return
    hold((e.standard_errors >= 0).all(), "a standard error below 0")
    low, high = e.interval(0.9).T
    hold(((low >= 0) & (low <= high) & (high <= 1)).all(), "bounds")
    wide = e.interval(0.99)
    hold((wide[:, 0] <= low + 1e-12).all() and (wide[:, 1] >= high - 1e-12).all(), "more confidence, narrower bounds")


def of_profile(p: Any, rng: Random) -> None:
    m = p.matrix
    hold(p.beta <= m.beta or p["beta"].status == "exact", "beta of the profile")
    hold("beta" in repr(p) and len(p.rows()) == len(list(p)), "repr of the profile")
    for entry in p:
        hold((entry.value is None) == (entry.status == "not computed"), f"status of {entry.name}")
        hold(entry.value is None or entry.value == entry.value, f"{entry.name} is not a number")
        hold(bool(entry.words and entry.text), f"words of {entry.name}")
    for name in ("truthfulness", "worst_row_beta", "worst_column_beta", "vulnerability"):
        value = p.to_dict().get(name, {}).get("value")
        hold(value is None or -1e-12 <= value <= 1 + 1e-12, f"{name} out of range")


def of_conjunction(c: Any, rng: Random) -> None:
    hold(c.standard_error >= 0, "a standard error below 0")
    low, high = c.interval(0.9)
    hold(0 <= low <= high <= c.records, "bounds")


def of_transforms(t: Any, rng: Random) -> None:
    hold(len(t) < max(t.size, 1), "as many T-transforms as codes")
    hold(sorted(t.targets) == list(range(t.size)), "targets are no permutation")
    hold(all(0 <= s.keep <= 1 and s.i != s.j for s in t), "a step that is none")
    parts = t.apply([Fraction(1)] * t.size)
    hold(parts == [1] * t.size, "the flat vector moves")


OF_RESULT: dict[str, Callable[[Any, Random], None]] = {
    "Decomposition": of_decomposition,
    "Estimate": of_estimate,
    "Profile": of_profile,
    "Conjunction": of_conjunction,
    "TTransforms": of_transforms,
}


# Laws of a call: what was given against what came out.


def _randomize(run: Run) -> None:
    codes, out, m = np.asarray(run.given["codes"]), run.result, run.it
    hold(out.shape == codes.shape, "shape of randomize")
    if isinstance(run.given["codes"], np.ndarray):
        hold(out.dtype == codes.dtype, f"dtype {out.dtype} from {codes.dtype}")
    hold(out.size == 0 or (int(out.min()) >= 0 and int(out.max()) < m.size), "a report out of range")
    if run.given.get("key") is not None:
        again = m.randomize(**{**run.given, "threads": run.rng.choice([1, 2, 3])})
        hold(np.array_equal(out, again), "the same call twice gives two answers")


def _respond(run: Run) -> None:
    hold(type(run.result) is int and 0 <= run.result < run.it.size, "a report out of range")
    if run.given.get("key") is not None:
        hold(run.it.respond(**run.given) == run.result, "the same call twice gives two answers")


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


def _majorizes(run: Run) -> None:
    hold(isinstance(run.result, bool), "majorizes is no bool")


def _transforms(run: Run) -> None:
    p, q = run.given["p"], run.given["q"]
    if all(isinstance(x, int) for x in (*p, *q)):
        hold(run.result.apply(p) == list(q), "T-transforms do not carry p into q")


def _apply(run: Run) -> None:
    hold(run.result.dtype == np.float64 and run.result.shape == np.shape(run.given["x"]), "shape of apply")


def _exact_row(run: Run) -> None:
    hold(sum(run.result) == 1 and min(run.result) >= 0, "a row does not sum to 1")


def _required_records(run: Run) -> None:
    hold(isinstance(run.result, int) and run.result >= 1, "required records")


def _standard_error(run: Run) -> None:
    hold((run.result >= 0).all(), "a standard error below 0")


def _posterior(run: Run) -> None:
    hold(abs(run.result.sum() - 1) < 1e-9 and (run.result >= 0).all(), "a posterior is no law")


def _pickled(run: Run) -> None:
    hold(run.result == run.it, "a pickle gives another")


def _shown(run: Run) -> None:
    hold(not judge.secret(run.result), "a secret is shown")


OF_CALL: dict[str, Callable[[Run], None]] = {
    "Matrix.randomize": _randomize, "Matrix.respond": _respond, "Matrix.require": _require, "Matrix.apply": _apply,
    "Matrix.exact_row": _exact_row, "Matrix.required_records": _required_records, "Matrix.posterior": _posterior,
    "Matrix.standard_error": _standard_error, "Matrix.pickled": _pickled, "Matrix.copied": _pickled,
    "Matrix.deep_copied": _pickled, "Conjunction.pickled": _pickled, "TTransforms.pickled": _pickled,
    "Point.pickled": _pickled, "Key.shown": _shown, "Decomposition.sample": _sample, "bs.majorizes": _majorizes,
    "bs.t_transforms": _transforms,
}  # fmt: skip


def of(run: Run, *, valid: bool) -> list[tuple[str, Callable[[], None]]]:
    """The laws to check after a call, with their names."""
    out: list[tuple[str, Callable[[], None]]] = []
    rng, words = run.rng, f"{run.owner}.{run.name}"
    kind = type(run.result).__name__
    if isinstance(run.result, bs.Matrix):
        for law in rng.sample(OF_MATRIX, 3):
            out.append((law.__name__, lambda law=law: law(run.result, rng)))  # type: ignore[misc]
    elif kind in OF_RESULT:
        out.append((kind, lambda: OF_RESULT[kind](run.result, rng)))
    if valid and words in OF_CALL:
        out.append((words, lambda: OF_CALL[words](run)))
    if isinstance(run.it, bs.Matrix) and rng.random() < 0.3:
        law = rng.choice(OF_MATRIX)
        out.append((law.__name__, lambda: law(run.it, rng)))
    return out


def alike(a: Any, b: Any) -> bool:
    """Whether two results are the same, numbers to the last bit."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if type(a).__name__ == "Estimate":
        return alike(a.frequencies, b.frequencies) and a.records == b.records
    if type(a).__name__ in ("Profile", "Comparison", "Figure", "Decomposition"):
        return bool(repr(a) == repr(b))
    if type(a).__name__ == "TTransforms" or isinstance(a, bs.Matrix | int | str | bool | tuple | list):
        return bool(a == b)
    return True
