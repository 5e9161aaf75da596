"""Data that ship with the package, to try things on: the 2,201 people of the Titanic.

The table is the one of the British Board of Trade inquiry (1912) as published by Dawson, *The
"unusual episode" data revisited*, Journal of Statistics Education 3(3), 1995: 32 counts.
"""

import numpy as np

TITANIC: dict[str, tuple[str, ...]] = {
    "class": ("1st", "2nd", "3rd", "crew"),
    "sex": ("male", "female"),
    "age": ("child", "adult"),
    "survived": ("no", "yes"),
}

# In C order of the categories: survived changes fastest, class slowest.
COUNTS: tuple[int, ...] = (
    # male child, male adult, female child, female adult: each no, yes
    0, 5, 118, 57, 0, 1, 4, 140,
    0, 11, 154, 14, 0, 13, 13, 80,
    35, 13, 387, 75, 17, 14, 89, 76,
    0, 0, 670, 192, 0, 0, 3, 20,
)  # fmt: skip


def titanic() -> dict[str, list[str]]:
    """Return the people of the Titanic as a dict of columns: class, sex, age and survived.

    The order of the rows has no meaning and is the same in every call. You can pass the dict to
    ``pandas.DataFrame`` or ``polars.DataFrame``.

    >>> import bistochastic_survey as sv
    >>> people = sv.titanic()
    >>> {name: column[0] for name, column in people.items()}
    {'class': 'crew', 'sex': 'male', 'age': 'adult', 'survived': 'no'}
    >>> len(people["class"]), people["survived"].count("yes")
    (2201, 711)
    """
    cells = np.repeat(np.arange(len(COUNTS)), COUNTS)
    # A fixed walk that meets every row once: 1009 and 2201 have no common divisor.
    cells = cells[(np.arange(len(cells)) * 1009 + 1400) % len(cells)]
    codes = np.unravel_index(cells, [len(levels) for levels in TITANIC.values()])
    return {
        name: np.array(levels)[column].tolist()
        for (name, levels), column in zip(TITANIC.items(), codes, strict=True)
    }
