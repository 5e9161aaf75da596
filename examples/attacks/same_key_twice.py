"""One key, one stream, two versions of a column: the difference of the releases is the truth.

Randomized response adds a random shift to a code. The same key, stream and rows give the same shift
again, which cancels. ``m.randomize`` says so in its help: by rows, a stream is for one version of
one column. A plan cannot be used wrongly like this: its noise also depends on the whole block.
"""

import numpy as np

import bistochastic as bs
import bistochastic_survey as sv

SIZE = 8
before = np.random.default_rng(2).integers(0, SIZE, 5_000)
after = np.where(np.arange(5_000) % 10 == 0, (before + 3) % SIZE, before)


def found(one: np.ndarray, other: np.ndarray) -> float:
    """Return how often the difference of two releases is the true change."""
    return float(((other - one - (after - before)) % SIZE == 0).mean())


def main() -> tuple[float, float]:
    """Release both versions under one key: by the rows of a stream, and by a plan."""
    key = bs.Key.generate()
    matrix = bs.randomized_response(SIZE, epsilon=1)
    bad = [matrix.randomize(codes, key=key, stream="job", start=0) for codes in (before, after)]
    plan = sv.Plan([sv.Categorical("job", range(SIZE), matrix=matrix)])
    good = [plan.protect({"job": codes}, key=key, release_name="2026") for codes in (before, after)]
    return found(*bad), found(*(np.asarray(release.data["job"]) for release in good))


if __name__ == "__main__":
    print("stream used twice: {:.1%} of changes known; by a plan: {:.1%}".format(*main()))
