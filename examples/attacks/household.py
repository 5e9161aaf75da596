"""A household shares its value: five weak reported values of one true value are a strong one.

Each member of a household of five answers for the same religion, and each answer is randomized by
itself. Epsilons add up, so the majority of the five is right far more often than the plan promises.
``unit="household"`` draws once for the household, and the certificate counts units, not records.
"""

import numpy as np

import bistochastic_survey as sv

HOUSES, MEMBERS, FAITHS = 2_000, 5, 4


def recovered(unit: str | None) -> float:
    """Return the share of households whose most frequent reported value is true."""
    truth = np.random.default_rng(3).integers(0, FAITHS, HOUSES)
    house = np.repeat(np.arange(HOUSES), MEMBERS)
    faith = sv.Categorical("faith", range(FAITHS), "randomized_response", epsilon=1.5, unit=unit)
    release = sv.Plan([faith], keep=["house"]).protect({"house": house, "faith": truth[house]})
    reported = np.asarray(release.data["faith"]).reshape(HOUSES, MEMBERS)
    counts = np.stack([(reported == value).sum(axis=1) for value in range(FAITHS)], axis=1)
    return float((counts.argmax(axis=1) == truth).mean())


if __name__ == "__main__":
    print(f"a draw per member:    {recovered(None):.1%} of households known")
    print(f"a draw per household: {recovered('house'):.1%}, the truthful probability of the matrix")
