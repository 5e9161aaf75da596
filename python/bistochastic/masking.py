"""Masking of single records: classes of similar records, Anatomy, and the permutation model.

>>> import bistochastic as bs
>>> bs.masking.microaggregate([[1.0], [2.0], [10.0], [11.0]], k=2).sizes.tolist()
[2, 2]
"""

from bistochastic.numeric.anatomy import Anatomy, anatomize
from bistochastic.numeric.classes import (
    Classes,
    Microaggregation,
    k_anonymous_classes,
    microaggregate,
)
from bistochastic.numeric.ranks import (
    PermutationDistance,
    ReverseMap,
    permutation_distance,
    reverse_map,
)

__all__ = [
    "Anatomy", "Classes", "Microaggregation", "PermutationDistance", "ReverseMap", "anatomize",
    "k_anonymous_classes", "microaggregate", "permutation_distance", "reverse_map",
]  # fmt: skip
