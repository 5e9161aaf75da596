"""What holds for every result that is no matrix."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from fuzz.prelude import hold


def summed(d: Any) -> list[list[Fraction]]:
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
        total, left = summed(d), d.residual_weight
        if left:
            try:
                residual = d.residual
            except ValueError as error:
                # What is left of a kron or a long product may need longer integers than there are.
                hold(str(error).startswith("`residual` must have a common denominator"), str(error))
                return
            rest = [residual.exact_row(u) for u in range(n)]
            pairs = zip(total, rest, strict=True)
            total = [[a + left * b for a, b in zip(x, y, strict=True)] for x, y in pairs]
        want = [d.matrix.exact_row(u) for u in range(n)]
        hold(total == want, "terms and residual are not the matrix")
        near = np.array([[float(x) for x in row] for row in summed(d)])
        try:
            again = d.reconstruct()
        except ValueError as error:
            # Factors of one category may have long denominators of their own.
            hold(str(error).startswith("`terms` must add up to fractions below"), str(error))
            return
        hold(np.allclose(again, near, rtol=0, atol=1e-12), "reconstruct")


def of_estimate(e: Any, rng: Random) -> None:
    if not e.records:
        hold(bool(np.isnan(e.frequencies).all()), "shares of nobody")
        return
    if e.matrix is None:
        # Several matrices, as of pairs: shares of everyone, and nothing else is known.
        hold(abs(e.frequencies.sum() - 1) <= 1e-9, "shares do not sum to 1")
        return
    r = e.matrix.size
    hold(e.frequencies.shape == (r,) and not e.frequencies.flags.writeable, "frequencies")
    # Errors of the inverse grow with the condition, and so do those of its sum.
    slack = 1e-9 * max(1.0, np.abs(e.frequencies).max())
    hold(abs(e.frequencies.sum() - 1) <= slack, "shares do not sum to 1")
    if e.method != "inverse":
        hold((e.frequencies >= 0).all(), "a negative share")
    hold(np.allclose(e.counts, e.frequencies * e.records), "counts")
    if e.matrix.is_singular or r > 100:
        return
    hold((e.standard_errors >= 0).all(), "a standard error below 0")
    low, high = e.interval(0.9).T
    hold(((low >= 0) & (low <= high) & (high <= 1)).all(), "bounds")
    if getattr(e.matrix, "family", "") not in ("randomized_response", "permutation"):
        # Elsewhere n and the confidence choose between two bounds, and the other may be narrower.
        return
    below, above = e.interval(0.99).T
    wider = (below <= low + 1e-12) & (above >= high - 1e-12)
    hold(wider.all(), "more confidence, narrower bounds")


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


def of_transforms(t: Any, rng: Random) -> None:
    hold(len(t.steps) < len(t.targets), "as many T-transforms as codes")
    hold(sorted(t.targets) == list(range(len(t.targets))), "targets are no permutation")
    hold(all(0 <= keep < 1 and i != j for i, j, keep in t.steps), "a step that is none")
    parts = t.apply([Fraction(1)] * len(t.targets))
    hold(parts == [1] * len(t.targets), "the flat vector moves")


def of_plan(p: Any, rng: Random) -> None:
    hold(type(p).from_json(p.to_json()) == p, "JSON gives another plan")
    hold(type(p).from_toml(p.to_toml()) == p, "TOML gives another plan")
    hold(hash(p) == hash(type(p).from_json(p.to_json())), "equal plans, other hashes")
    hold(p.definition in (1, 2, 3), "definition")
    hold(not p.undecided or "Undecided" in str(p.preview()), "undecided columns are not shown")
    if not p.attributes:
        hold(bool(p.undecided), "a plan without columns")
        return
    hold(p.epsilon >= 0 and bool(p.epsilon == np.inf) == bool(p.reasons), "epsilon")
    if p.has_records:
        hold(0 <= p.min_beta <= p.beta <= 1, "beta")
        hold(p.bits <= p.max_bits, "more bits than there are")
    if p.has_records and not p.undecided:
        kinds = {a.whole_column for a in p.attributes}
        # Categories and numbers are required apart, and their common beta is a mean of the two.
        beta = p.beta if len(kinds) == 1 else p.min_beta
        p.require(beta=beta, min_beta=p.min_beta, epsilon=p.epsilon)


def of_certificate(c: Any, rng: Random) -> None:
    hold(type(c).from_json(c.to_json()) == c, "JSON gives another certificate")


def of_release(r: Any, rng: Random) -> None:
    if r._certificate is not None:
        of_certificate(r._certificate, rng)


OF_RESULT: dict[str, Callable[[Any, Random], None]] = {
    "Decomposition": of_decomposition,
    "Estimate": of_estimate,
    "Profile": of_profile,
    "TTransforms": of_transforms,
    "Plan": of_plan,
    "Certificate": of_certificate,
    "Release": of_release,
}
