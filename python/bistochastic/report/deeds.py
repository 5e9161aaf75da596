"""What is done to a column, in sentences for someone who does not know what a matrix is."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import structure
from bistochastic.plan.attributes import Attribute, Numeric
from bistochastic.plan.published import certain, missing_is_seen
from bistochastic.report.beliefs import percent, percent_down
from bistochastic.report.levels import level
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix
    from bistochastic.plan.attributes import Categorical, Joint

# Up to so many levels are listed in a sentence.
_LISTED = 12
# Size up to which a law without a structure is looked at entry by entry.
_DENSE = 4096


def attribute_deeds(attribute: Attribute) -> list[str]:
    """What happens to the columns of an attribute, a sentence each."""
    if attribute.whole_column:
        return _numeric(attribute)
    found = [_domain(attribute)]
    if attribute.groups is not None:
        column = shown(attribute.groups.column)
        many = len(attribute.matrices)
        found.append(
            f"How often the truth is exchanged depends on `{column}`, which stays in clear: there "
            f"are {many} rules, one for each value. Below is the one that hides least."
        )
    law = weakest(attribute)
    kron = structure.composition(law)
    if isinstance(kron, structure.Kron) and len(kron.factors) == len(attribute.columns):
        for column, factor in zip(attribute.columns, kron.factors, strict=True):
            found += [f"`{shown(column)}`: {sentence}" for sentence in law_deeds(factor)]
    else:
        found += law_deeds(law, attribute)
    found += _missing(attribute)
    return found


def weakest(attribute: Categorical | Joint) -> Matrix:
    """The law that a stranger learns most from: of the largest epsilon, then the least beta."""
    return max(attribute.matrices, key=lambda matrix: (matrix.epsilon, -matrix.beta))


def law_deeds(matrix: Matrix, attribute: Categorical | Joint | None = None) -> list[str]:
    """What a law does to an answer, by its structure.

    >>> import bistochastic as bs
    >>> law_deeds(bs.uniform(3))
    ['Every report is drawn by lot, whatever the truth. It tells nothing.']
    >>> law_deeds(bs.randomized_response(3, keep=0.5))
    ['The truth is reported with a chance of 50 %, and each of the other 2 levels with 25 %.']
    """
    n = matrix.size
    if n == 1:
        return ["There is only one level, so that there is nothing to hide."]
    if structure.is_uniform(matrix):
        return ["Every report is drawn by lot, whatever the truth. It tells nothing."]
    if structure.is_certain(matrix):
        if structure.targets(matrix) is None:
            return ["Every report is the truth. Nothing is hidden."]
        return [
            "Every level is always reported as the same level, which everyone can undo. Nothing is "
            "hidden."
        ]
    pair = structure.two_valued(matrix)
    if pair is not None:
        keep, other = percent(Fraction(pair[0])), percent_down(Fraction(pair[1]))
        noun = "combination" if attribute is not None and len(attribute.columns) > 1 else "level"
        others = f"each of the other {n - 1:,} {noun}s" if n > 2 else f"the other {noun}"
        return [f"The truth is reported with a chance of {keep}, and {others} with {other}."]
    found = structure.classes(matrix)
    if found is not None:
        return _classes(found)
    swap = structure.swap(matrix)
    if swap is not None:
        one, two = (_level(attribute, code) for code in (swap.i, swap.j))
        return [
            f"{one} and {two} are exchanged with a chance of {percent(1 - swap.keep)}. All other "
            "levels are reported as they are: nothing about them is hidden."
        ]
    truths = _truths(matrix)
    often = "" if truths is None else f"The truth is reported with a chance of {truths}. "
    if structure.steps(matrix) is not None:
        near = "Otherwise a neighbour of it in the order of the levels is. No other level is."
        return [often + near]
    kernel = structure.even_kernel(matrix)
    if kernel is not None and bool((np.diff(kernel.counts) <= 0).all()):
        return [
            often + "Otherwise another level is: the further it is from the truth in the order of "
            "the levels, the rarer."
        ]
    if structure.first_row(matrix) is not None:
        return [often + "The chances of the others depend on how far they are around the cycle."]
    return [often + "The chances of all other reports stand in the plan."]


def _classes(found: structure.Classes) -> list[str]:
    small, large = int(found.sizes.min()), int(found.sizes.max())
    sizes = str(small) if small == large else f"{small} to {large}"
    said = [
        f"The levels form {found.number:,} classes of {sizes} neighbours. The report is drawn by "
        "lot inside the class of the truth: it tells the class, and nothing else."
    ]
    if small == 1:
        alone = int(found.many[found.sizes == 1].sum())
        are = (
            "class has one level: it is" if alone == 1 else "classes have one level each: they are"
        )
        said.append(f"{alone} {are} published unchanged.")
    return said


def _domain(attribute: Categorical | Joint) -> str:
    n = attribute.size
    if len(attribute.columns) > 1:
        shape = " times ".join(str(size) for size in attribute.shape)
        said = f"The columns are reported together: a report is one of {n:,} combinations ({shape}"
        left = len(attribute.impossible)
        said += f", without {left} that cannot occur)." if left else ")."
    elif n <= _LISTED:
        listed = ", ".join(f"`{level(attribute, code)}`" for code in range(n))
        said = f"An answer is one of {n} levels: {listed}." if n > 1 else f"An answer is {listed}."
    else:
        said = f"An answer is one of {n:,} levels."
    if attribute.categories_from_data:
        said += " The levels were read off the data, which tells that they occur."
    return said


def _missing(attribute: Categorical | Joint) -> list[str]:
    if attribute.missing == "keep":
        return ["A missing answer stays missing: everyone sees who gave none."]
    if attribute.missing == "category" and missing_is_seen(attribute):
        return ["A missing answer counts as one more level. Everyone may see who gave none."]
    if attribute.missing == "category":
        return ["A missing answer counts as one more level, and is protected like the others."]
    return []


def _level(attribute: Categorical | Joint | None, code: int) -> str:
    return f"Level {code + 1}" if attribute is None else f"`{level(attribute, code)}`"


def _truths(matrix: Matrix) -> str | None:
    """The chances of the truth, from the least to the most."""
    if matrix.size > _DENSE:
        return None
    diagonal = matrix.to_dense().diagonal()
    low, high = (percent(Fraction(float(p))) for p in (diagonal.min(), diagonal.max()))
    return low if low == high else f"{low} to {high}"


def _numeric(attribute: Numeric) -> list[str]:
    stays = certain(attribute).get(attribute.column)
    if stays == "column":
        return ["Every number stays with the person who has it. Nothing is hidden."]
    if stays == "renamed":
        return [
            "The numbers are exchanged between people in a fixed way, which everyone can undo. "
            "Nothing is hidden."
        ]
    if attribute.how == "average":
        among = " of neighbouring values" if attribute.order == "rank" else ""
        found = [
            f"Every number is replaced by the mean of its class{among}. Chance has no part in "
            "this: it counts as no protection in the numbers below."
        ]
        return found + _class_sizes(attribute)
    near, most = "", "many"
    if attribute.order == "rank":
        near, most = " who are near each other in rank", "most"
    # How many keep their number depends on how many have the same one: no page without data knows.
    found = [
        f"The numbers are exchanged between people{near}{_places(attribute)}. Where many people "
        f"have the same number, {most} of them keep it. All numbers that occur are published; only "
        "who has which is hidden."
    ]
    return found + _class_sizes(attribute)


def _places(attribute: Numeric) -> str:
    """How far people move in rank, where that is known."""
    if attribute.matrix is None or attribute.order != "rank":
        return ""
    try:
        moves = attribute.matrix.displacement()
    except ValueError:
        return ""
    half, most = (round(share * moves.size) for share in (moves.p50, moves.p90))
    return (
        f": half of them move by at most {half:,} place{'s' * (half != 1)} among {moves.size:,}, "
        f"nine of ten by at most {most:,}"
    )


def _class_sizes(attribute: Numeric) -> list[str]:
    if attribute.matrix is None:
        return []
    found = structure.classes(attribute.matrix)
    if found is None:
        return []
    small, large = int(found.sizes.min()), int(found.sizes.max())
    sizes = f"{small:,}" if small == large else f"{small:,} to {large:,}"
    return [f"There are {found.number:,} classes, of {sizes} people each."]
