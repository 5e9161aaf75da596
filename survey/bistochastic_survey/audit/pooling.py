"""Reported values of records that belong together, pooled by their exact joint posterior.

Records of a household, reports of one person in two releases, and waves are the same attack: a
group of records ``j`` with what is seen of them, ``y_j``. If all share their value, it is ``u``
with a probability proportional to ``pi_u prod_j p(y_j | u)``. If they share it with probability
``a`` only, and are independent otherwise, record ``j`` has ``u`` in proportion to

    a pi_u prod_i p(y_i | u) + (1 - a) pi_u p(y_j | u) prod_{i != j} q(y_i)

with ``q(y) = sum_u pi_u p(y | u)``.

Noise that is shared counts once. ``a`` is estimated from the original, by the pairs that agree.
"""

from collections.abc import Sequence

import numpy as np

from bistochastic_survey.audit.codes import Codes, Protected, View, predict, views
from bistochastic_survey.audit.guesses import TIES, rate
from bistochastic_survey.audit.results import Pooled
from bistochastic_survey.checks import Array

_PIECE = 1 << 22


def agreement(groups: Codes, truths: Codes) -> float:
    """How often records of a group share their value, beyond chance; between 0 and 1."""

    def pairs(codes: Codes) -> float:
        counts = np.unique(codes, return_counts=True)[1].astype(np.float64)
        return float((counts * (counts - 1)).sum())

    whole = pairs(groups)
    shares = np.bincount(truths) / len(truths)
    alone = float(shares @ shares)
    if not whole or alone > 1 - TIES:
        return 0.0
    together = pairs(groups * (int(truths.max()) + 1) + truths) / whole
    return float(np.clip((together - alone) / (1 - alone), 0.0, 1.0))


def guess(view: View, groups: Codes, share: float) -> Array:
    """How often the best guess of each record is right, of those that are not missing."""
    order = np.flatnonzero(view.answered)
    order = order[np.lexsort((view.seen[order], view.draws[order], groups[order]))]
    where, draws, seen = groups[order], view.draws[order], view.seen[order]
    # Of shared noise the first record counts, and the others have the same.
    new = np.ones(len(order), bool)
    new[1:] = (where[1:] != where[:-1]) | (draws[1:] != draws[:-1]) | (seen[1:] != seen[:-1])
    starts = np.flatnonzero(np.r_[True, where[1:] != where[:-1]])
    ends = np.r_[starts[1:], len(order)]
    found = np.zeros(len(view.truths))
    with np.errstate(divide="ignore"):
        logs, prior, overall = np.log(view.law), np.log(view.shares), np.log(view.overall)
        own, other = np.log(share), np.log1p(-share)
    step = max(1, _PIECE // view.kinds)
    begin = 0
    while begin < len(starts):
        # Whole groups, about as many records as fit.
        last = max(begin + 1, int(np.searchsorted(starts, starts[begin] + step)))
        part = slice(starts[begin], ends[last - 1])
        sizes = (ends - starts)[begin:last]
        local = starts[begin:last] - starts[begin]
        said, first = seen[part], new[part]
        each = logs[:, said]
        alike = np.add.reduceat(np.where(first, each, 0.0), local, axis=1)
        scores = own + np.repeat(alike, sizes, axis=1)
        if share < 1:
            anyone = overall[said]
            rest = np.add.reduceat(np.where(first, anyone, 0.0), local)
            scores = np.logaddexp(scores, other + each + np.repeat(rest, sizes) - anyone)
        scores = scores + prior[:, None]
        # Values that exclude each other leave no value that all could share.
        peak = scores.max(axis=0)
        best = scores >= np.where(np.isfinite(peak), peak, 0.0) - TIES
        truths = view.truths[order[part]]
        hit = best[truths, np.arange(len(truths))]
        found[order[part]] = np.where(hit, 1 / np.maximum(1, best.sum(axis=0)), 0.0)
        begin = last
    return found


def stack(every: Sequence[View]) -> View:
    """Put what is seen in several releases below each other."""
    first = every[0]
    wide = np.cumsum([0, *(each.law.shape[1] for each in every)])
    seen = [np.where(each.answered, each.seen + start, wide[-1])
            for each, start in zip(every, wide, strict=False)]  # fmt: skip
    return View(
        first.column, first.categories, np.concatenate([each.truths for each in every]),
        np.concatenate(seen), np.concatenate([each.law for each in every], axis=1),
        np.mean([each.shares for each in every], axis=0),
        np.concatenate([each.draws for each in every]),
    )  # fmt: skip


def pool(
    channels: Sequence[Protected],
    groups: Sequence[Codes],
    by: str,
    confidence: float,
    rng: np.random.Generator,
    *,
    shared_noise: bool = False,
) -> list[Pooled]:
    """Attack the columns of one attribute, seen in one release or in several.

    ``groups`` has an array per release. The records of the first release are guessed.
    """
    named = [{each.column: each for each in views(channel)} for channel in channels]
    where, begins = np.concatenate(list(groups)), len(groups[0])
    made = []
    for column, own in named[0].items():
        if not all(column in each and each[column].categories == own.categories for each in named):
            continue
        view = stack([each[column] for each in named])
        n = int(view.answered[:begins].sum())
        if not n:
            continue
        about = agreement(where[view.answered], view.truths[view.answered])
        sizes = np.bincount(where[view.answered])

        def attack(
            now: Sequence[Protected], column: str = column, n: int = n, about: float = about
        ) -> Array:
            seen = stack([next(v for v in views(c) if v.column == column) for c in now])
            return np.asarray(guess(seen, where, about)[:begins].sum() / n)

        single = guess(view, np.arange(len(where)), 1.0)[:begins].sum() / n
        expected = None if shared_noise else float(predict(channels, rng, attack))
        found = rate(float(attack(channels)) * n, n, confidence, view.chance, expected)
        made.append(
            Pooled(by, column, int((sizes > 0).sum()), int(sizes.max()), about, found,
                   float(single))
        )  # fmt: skip
    return made
