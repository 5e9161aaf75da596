"""What holds for every matrix. A law that is broken raises."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from html import escape
from random import Random
from typing import Any

import mpmath
import numpy as np

import bistochastic as bs
from bistochastic import _core
from fuzz import oracle
from fuzz.of_result import of_decomposition, of_estimate, summed
from fuzz.prelude import hold

KEY = bs.Key.insecure(12)


def rows_and_columns_sum_to_one(m: Any, rng: Random) -> None:
    if m.size > 24:
        return
    rows = [m.exact_row(u) for u in range(m.size)]
    whole = [x for row in rows for x in row]
    hold(all(isinstance(x, Fraction) and x >= 0 for x in whole), "an entry is negative")
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
        close = abs(bs.entropy_rate(dense) - m.entropy_rate) < 1e-9
        hold(close or not m.is_exact or m.padding > 0, "entropy_rate of the array")


def measures_are_safe_and_close(m: Any, rng: Random) -> None:
    beta, epsilon, n = m.beta, m.epsilon, m.size
    hold(0 <= beta <= 1 and epsilon >= 0, "a measure out of range")
    # None where it would take too long.
    hold(m.truthfulness is None or 0 <= m.truthfulness <= 1, "truthfulness out of range")
    hold(0 <= m.entropy_rate <= m.max_bits, "entropy rate out of range")
    hold(isinstance(m.is_exact, bool), "is_exact")
    if n > 10:
        return
    law = oracle.rows(m)
    rate, most = oracle.entropy_rate(law), oracle.max_bits(n - m.padding)
    if m.padding:
        # What the capacity leaves of the categories that can be true.
        rate = max(rate - oracle.max_bits(n) + most, mpmath.mpf(0))
    true = rate / most if most else mpmath.mpf(1)
    worst = oracle.epsilon(law)
    hold(beta <= true, f"beta {beta!r} is above {mpmath.nstr(true, 20)}")
    hold(m.entropy_rate <= rate, f"bits {m.entropy_rate!r} are above {mpmath.nstr(rate, 20)}")
    hold(epsilon >= worst, f"epsilon {epsilon!r} is below {mpmath.nstr(worst, 20)}")
    if m.is_exact:
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
    text = m.to_json()
    read = bs.Matrix.from_json(text)
    hold(read == m and read.to_json() == text, "JSON gives another")
    hold(repr(read.requested) == repr(m.requested), "JSON forgets what was requested")
    hold(repr(thawed) == repr(m), "repr")
    hold(m.same_probabilities(again), "same_probabilities of itself")


def requests_are_kept(m: Any, rng: Random) -> None:
    for name in ("beta", "epsilon"):
        if name in m.requested:
            m.require(**{name: m.requested[name]})


def can_be_shown(m: Any, rng: Random) -> None:
    hold(m.family in repr(m) and m._repr_html_() == f"<pre>{escape(repr(m))}</pre>", "repr")


def draws_do_not_depend_on_threads_or_pieces(m: Any, rng: Random) -> None:
    n = min(m.size - m.padding, 2**40)
    # Factors of a product are drawn one after the other, for every record.
    many = 300 if _core.parts_in(m) > 64 else 70_000
    records = rng.choice([1, 7, 300, 300, many])
    kind: Any = np.uint8 if m.size <= 256 else np.int64
    codes = np.array([rng.randrange(n) for _ in range(min(records, 300))], dtype=kind)
    codes = np.resize(codes, records)
    start = rng.choice([0, 5, 2**32 - 3])

    def drawn(some: Any, first: int = start, **more: Any) -> Any:
        return m.randomize(some, key=KEY, stream="s", start=first, **more)

    whole = drawn(codes, threads=1)
    hold(whole.dtype == codes.dtype and whole.shape == codes.shape, "dtype or shape of randomize")
    hold(int(whole.min()) >= 0 and int(whole.max()) < m.size, "a report out of range")
    cut = rng.randint(0, records)
    pieces = [drawn(codes[:cut]), drawn(codes[cut:], start + cut)]
    for words, again in (
        ("2 threads", drawn(codes, threads=2)),
        ("7 threads", drawn(codes, threads=7)),
        (f"pieces cut at {cut}", np.concatenate(pieces)),
        ("a strided array", drawn(np.repeat(codes, 2)[::2])),
        ("another dtype", drawn(codes.astype(np.int64))),
    ):
        hold(np.array_equal(whole, again), f"{words} gives another")


def reports_are_possible(m: Any, rng: Random) -> None:
    if m.size > 24:
        return
    codes = [rng.randrange(m.size - m.padding) for _ in range(40)]
    reports = m.randomize(codes, key=KEY, stream="p", start=0).tolist()
    for u, v in zip(codes, reports, strict=True):
        hold(m.exact_row(u)[v] > 0, "a report that cannot be")


def responds_as_it_randomizes_by_id(m: Any, rng: Random) -> None:
    n = min(m.size - m.padding, 2**40)
    ids: list[Any] = rng.choice(
        [[1, -5, 2**64 - 1], ["a", "", "\u00e9"], [b"a", b"", b"\xff"], [3, "3", b"3"]]
    )
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
    try:
        s = m.sample_permutation(key=KEY, stream="s")
    except ValueError as error:
        # Of a common denominator of 2^63 or more no permutation is drawn.
        hold(str(error).startswith("`matrix` must have a common"), str(error))
        return
    hold(sorted(s.tolist()) == list(range(m.size)), "no permutation")
    again = m.sample_permutation(key=KEY, stream="s")
    hold(np.array_equal(s, again), "a key gives two permutations")
    if m.size <= 24:
        possible = all(m.exact_row(u)[v] > 0 for u, v in enumerate(s.tolist()))
        hold(possible, "a permutation that cannot be")
    bits = m.joint_entropy
    hold(bits is None or bits >= 0, "joint entropy")


def decomposes_exactly(m: Any, rng: Random) -> None:
    if m.size > 7:
        return
    try:
        d = m.decompose(restarts=rng.choice([1, 2]))
    except ValueError as error:
        hold(str(error).startswith("`matrix` must have a common"), str(error))
        return
    if d.terms > 2000:
        return
    of_decomposition(d, rng)
    hold(d.residual is None and d.residual_weight == 0, "something is left")
    same = d.matrix != m or summed(d) == [m.exact_row(u) for u in range(m.size)]
    hold(same, "the terms do not sum to the matrix")


def applies_and_solves(m: Any, rng: Random) -> None:
    if m.size > 300:
        return
    x = np.array([rng.uniform(-1, 1) for _ in range(m.size)])
    y = m.apply(x)
    hold(y.shape == x.shape, "shape of apply")
    close = np.allclose(y, m.to_dense().T @ x, rtol=0, atol=1e-12 * max(1, m.size))
    hold(close, "apply is not P^T x")
    condition = m.condition
    hold(condition >= 1 - 1e-9, "condition below 1")
    if not m.is_singular and condition < 1e8:
        error = np.abs(m.solve(y) - x).max()
        hold(error <= 1e-11 * condition * m.size, f"solve(apply(x)) is off by {error:.1e}")
        both = m.apply(np.stack([x, x], axis=1))
        hold(np.allclose(both[:, 1], y, rtol=0, atol=1e-12), "columns of apply")


def estimates_sum_to_one(m: Any, rng: Random) -> None:
    # Codes that are never true are left out of the table, which then need not sum to 1.
    if m.size > 300 or m.padding:
        return
    counts = [rng.randint(0, 99) for _ in range(m.size)]
    counts[0] += 1
    try:
        method = rng.choice(["inverse", "mle", "simplex", "shrunk"])
        found = m.estimate(counts=counts, method=method)
    except bs.errors.SingularMatrixError:
        hold(m.is_singular, "an invertible matrix is called singular")
        return
    of_estimate(found, rng)


def tells_beliefs(m: Any, rng: Random) -> None:
    if m.size > 300:
        return
    v = rng.randrange(m.size)
    belief = m.posterior(v)
    hold(belief.shape == (m.size - m.padding,), "shape of a posterior")
    hold(abs(belief.sum() - 1) < 1e-9, "a posterior that does not sum to 1")
    flat = m.padding or np.allclose(belief, m.to_dense()[:, v], rtol=1e-9, atol=1e-15)
    hold(flat, "posterior of the flat prior")
    all_of_it = m.deniability(math.inf)
    hold(1 <= m.deniability(1) <= all_of_it <= m.size, "deniability")


OF_MATRIX: tuple[Callable[[Any, Random], None], ...] = (
    rows_and_columns_sum_to_one, is_what_its_parameters_say, dense_rows_and_entries_agree,
    measures_are_safe_and_close, survives_a_round_trip, requests_are_kept, can_be_shown,
    draws_do_not_depend_on_threads_or_pieces, responds_as_it_randomizes_by_id, reports_are_possible,
    draws_permutations, decomposes_exactly, applies_and_solves, estimates_sum_to_one, tells_beliefs,
)  # fmt: skip


# Those that ask for no exact entries.
OF_DEEP_MATRIX = (
    survives_a_round_trip, can_be_shown, draws_do_not_depend_on_threads_or_pieces,
    responds_as_it_randomizes_by_id, applies_and_solves,
)  # fmt: skip
