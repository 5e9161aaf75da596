"""A column's dictionary: the list behind the codes shows who was first, and what occurs at all.

Arrow and pandas store repeated strings once, in order of appearance. A tool that randomizes the
codes and leaves the dictionary publishes the true value of the first row, and every rare value that
occurs. Here dictionaries are made from the plan: all declared categories, in declared order.
"""

import numpy as np
import pyarrow as pa

import bistochastic as bs
import bistochastic_survey as sv

CATEGORIES = ["none", "flu", "asthma", "diabetes", "rabies"]
TRUE = ["diabetes", "none", "flu", "none", "flu", "none"] * 50


def naive() -> list[str]:
    """Return the dictionary of a column whose codes alone were randomized."""
    column = pa.array(TRUE).dictionary_encode()
    matrix = bs.randomized_response(len(column.dictionary), epsilon=1)
    codes = matrix.randomize(np.asarray(column.indices))
    return list(pa.DictionaryArray.from_arrays(codes, column.dictionary).dictionary.to_pylist())


def protected() -> list[str]:
    """Return the dictionary of the same column in a release."""
    plan = sv.Plan([sv.Categorical("illness", CATEGORIES, "randomized_response", epsilon=1)])
    people = pa.table({"illness": pa.array(TRUE).dictionary_encode()})
    column = plan.protect(people, shuffle=True).data["illness"]
    return list(column.combine_chunks().dictionary.to_pylist())


if __name__ == "__main__":
    print(f"naive: the first person has {naive()[0]}, and no one has rabies: {naive()}")
    print(f"release: {protected()}, as declared, for any file")
