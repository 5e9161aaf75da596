"""An unprotected column shows what the noise was to hide: the region reveals the language.

Nine of ten people in a region speak its language. Language is protected at epsilon 1, the region is
published unchanged. No epsilon covers that. ``sv.audit`` attacks a release with its original before
it is published, and finds the column. Protect both columns together, or drop the region.
"""

import numpy as np

import bistochastic_survey as sv

PEOPLE, LANGUAGES = 20_000, 6


def main() -> tuple[float, float]:
    """Return how often the region alone is right, and what the audit says of it."""
    draw = np.random.default_rng(5)
    region = draw.integers(0, LANGUAGES, PEOPLE)
    other = draw.integers(0, LANGUAGES, PEOPLE)
    people = {"region": region, "language": np.where(draw.random(PEOPLE) < 0.9, region, other)}
    language = sv.Categorical("language", range(LANGUAGES), "randomized_response", epsilon=1)
    release = sv.Plan([language], keep=["region"]).protect(people)
    audit = sv.audit(people, release)
    print(audit)
    return float((people["language"] == region).mean()), audit.giveaways[0].rate.observed


if __name__ == "__main__":
    alone, found = main()
    print(f"the region alone is right for {alone:.1%}; the audit found {found:.1%}")
