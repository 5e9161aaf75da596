"""Sentences of a report, for readers who do not know what a matrix is: what happens to a column.

Names are in quotes, and numbers are rounded so that privacy is never overstated.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bistochastic import Matrix, structure
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.numeric import Attribute, Binned, Numeric
from bistochastic_survey.plan.published import certain, missing_is_seen
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.report.numbers import STATED, after, percent, percent_down
from bistochastic_survey.wording import shown, up

# The longest name in a sentence; declared categories may be whole paragraphs.
_LONGEST = 60
# Size up to which a matrix without a structure is looked at entry by entry.
_DENSE = 4096


def names(columns: Sequence[str]) -> str:
    """Name columns inside a sentence."""
    quoted = [f"`{shown(column)}`" for column in columns]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def becomes(most: Fraction | None, suspicions: Sequence[Fraction] = STATED) -> list[str]:
    """Write the most that the stated suspicions can become, by the largest odds."""
    if most is None:
        return ["no limit"] * len(suspicions)
    return [percent(after(each, most)) for each in suspicions]


def count(many: int, noun: str) -> str:
    """Write a number of things."""
    return f"{many:,} {noun}{'s' * (many != 1)}"


def points(share: float) -> str:
    """Write a proportion in percentage points, in three digits and not below it."""
    return up(100 * share, 3) if share < 10 else "above 1,000"


def category(attribute: Coded, code: int) -> str:
    """Name one code of an attribute: a category, or a combination of several columns."""
    cell = code
    # Codes count the cells that can occur, and the impossible ones come in order.
    for impossible in attribute.cells:
        cell += int(impossible <= cell)
    digits: list[str] = []
    if cell >= math.prod(attribute.shape):
        # After those that can be true, of which a missing value may be the last.
        more = attribute.reported[0].values[len(attribute.axes[0]) :]
        return name(more[cell - attribute.shape[0]])
    for labels, size in zip(reversed(attribute.axes), reversed(attribute.shape), strict=True):
        cell, digit = divmod(cell, size)
        digits.append(name(labels.values[digit]) if digit < len(labels) else "(missing)")
    return ", ".join(reversed(digits))


def categories(attribute: Coded) -> list[str]:
    """Name all codes."""
    return [category(attribute, code) for code in range(attribute.size)]


def name(label: object) -> str:
    """Write a declared category, cut if it is very long."""
    text = shown(label)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def describe(attribute: Attribute) -> str:
    """Say what happens to the columns of an attribute."""
    first, *rest = _numeric(attribute) if attribute.whole_column else _coded(attribute)
    for sentence in rest:
        large = sentence if first.endswith(":") else sentence[0].upper() + sentence[1:]
        first = f"{first} {large}"
    return first


def _coded(attribute: Categorical | Joint) -> list[str]:
    found = []
    if len(attribute.columns) > 1:
        shape = " times ".join(str(size) for size in attribute.shape)
        left = len(attribute.impossible)
        cannot = f", without {left} that cannot occur" if left else ""
        found.append(f"the columns are reported together, as one of {attribute.size:,} "
                     f"combinations ({shape}{cannot}).")  # fmt: skip
    found += _prepared(attribute)
    if attribute.groups is not None:
        column = shown(attribute.groups.column)
        found.append(f"the probabilities depend on `{column}`, which is published unchanged. There "
                     f"are {len(attribute.matrices)} matrices; this is the least protective:"
                     )  # fmt: skip
    law = weakest(attribute)
    kron = structure.composition(law)
    if isinstance(kron, structure.Kron) and len(kron.parts) == len(attribute.columns):
        for column, factor in zip(attribute.columns, kron.parts, strict=True):
            found += [f"`{shown(column)}`: {sentence}" for sentence in describe_matrix(factor)]
    else:
        found += describe_matrix(law, attribute)
    if attribute.missing == "keep":
        found.append("A missing value stays missing: anyone can see who is missing.")
    elif attribute.missing == "category":
        seen = "Anyone may see who is missing." if missing_is_seen(attribute) else (
            "It is protected like the others.")  # fmt: skip
        found.append(f"A missing value counts as one more category. {seen}")
    if attribute.categories_from_data:
        found.append("The categories were read from the data, which reveals that they occur.")
    return found


def _prepared(attribute: Categorical | Joint) -> list[str]:
    """Say what happens to values before a category is drawn, and how often one is drawn."""
    found = []
    if any(attribute.recode):
        found.append("some values are recoded to declared categories first.")
    if isinstance(attribute, Binned):
        ends = [f"{words} {shown(end)} count as {shown(end)}"
                for words, end in (("below", attribute.bottom), ("above", attribute.top))
                if end is not None]  # fmt: skip
        coded = f" Values {' and values '.join(ends)}." if ends else ""
        as_ = {"interval": "", "midpoint": " The midpoint of the reported class is published.",
               "number": " A random number in the reported class is published."}  # fmt: skip
        found.append(f"the category of a value is its class, one of {attribute.size:,} public "
                     f"intervals.{coded}{as_[attribute.output]}")  # fmt: skip
    if attribute.unit is not None:
        found.append(f"the reported value is drawn once per unit of `{shown(attribute.unit)}`.")
    return found


def weakest(attribute: Categorical | Joint) -> Matrix:
    """Return the matrix that reveals most: of the largest epsilon, then the least beta."""
    return max(attribute.matrices, key=lambda matrix: (matrix.epsilon, -matrix.beta))


def describe_matrix(matrix: Matrix, attribute: Categorical | Joint | None = None) -> list[str]:
    """Say what a matrix does to a true value, by its structure."""
    n = matrix.size
    if n == 1:
        return ["there is only one category, so there is nothing to hide."]
    if structure.is_uniform(matrix):
        return ["the reported value does not depend on the true value. It reveals nothing."]
    if structure.is_certain(matrix):
        if structure.targets(matrix) is None:
            return ["every reported value is the true value. Nothing is hidden."]
        return ["every category is always reported as the same category, which anyone can undo. "
                "Nothing is hidden."]  # fmt: skip
    pair = structure.two_valued(matrix)
    if pair is not None:
        keep, other = percent(Fraction(pair[0])), percent_down(Fraction(pair[1]))
        others = f"each of the other {n - 1:,}" if n > 2 else "the other one"
        return [f"the true category is reported with probability {keep}, and {others} with {other}."
                ]  # fmt: skip
    found = structure.classes(matrix)
    if found is not None:
        said = [f"{_classes(found, 'categories')}. The reported value is drawn uniformly from the "
                "class of the true value: it reveals the class, and nothing else."]  # fmt: skip
        alone = int(found.many[found.sizes == 1].sum())
        if alone:
            each = "class has one category: it is" if alone == 1 else (
                "classes have one category each: they are")  # fmt: skip
            said.append(f"{alone} {each} published unchanged.")
        return said
    swap = structure.swap(matrix)
    if swap is not None:
        one, two = (code + 1 if attribute is None else category(attribute, code)
                    for code in (swap.i, swap.j))  # fmt: skip
        return [f"`{one}` and `{two}` are exchanged with probability {percent(1 - swap.keep)}. All "
                "other categories are published unchanged."]  # fmt: skip
    often = truthful(matrix)
    start = "" if often is None else f"the true category is reported with probability {often}. "
    if structure.steps(matrix) is not None:
        return [start + "Otherwise a neighbour in the order of the categories is reported."]
    kernel = structure.even_kernel(matrix)
    if kernel is not None and bool((np.diff(kernel.counts) <= 0).all()):
        return [start + "Otherwise another category is: the further from the true one in the order "
                "of the categories, the rarer."]  # fmt: skip
    if structure.first_row(matrix) is not None:
        return [start + "The probabilities of the others depend on their distance on a cycle."]
    return [start + "The plan has the probabilities of all others."]


def truthful(*matrices: Matrix) -> str | None:
    """Write the truthful probability, from the least to the most; ``None`` if not looked at."""
    ends: list[Fraction] = []
    for matrix in matrices:
        pair = structure.two_valued(matrix)
        if pair is not None:
            ends.append(Fraction(pair[0]))
        elif matrix.size <= _DENSE:
            diagonal = matrix.to_dense().diagonal()
            ends += [Fraction(float(diagonal.min())), Fraction(float(diagonal.max()))]
        else:
            return None
    low, high = percent(min(ends)), percent(max(ends))
    return low if low == high else f"{low} to {high}"


def _classes(found: structure.ClassRuns, noun: str) -> str:
    small, large = int(found.sizes.min()), int(found.sizes.max())
    sizes = f"{small:,}" if small == large else f"{small:,} to {large:,}"
    return f"the {noun} form {found.number:,} classes of {sizes} neighbours"


def _numeric(attribute: Numeric) -> list[str]:
    stays = certain(attribute).get(attribute.column)
    if stays == "column":
        return ["every number stays in its record. Nothing is hidden."]
    if stays == "renamed":
        return ["the numbers are exchanged between records in a fixed way, which anyone can undo. "
                "Nothing is hidden."]  # fmt: skip
    ranked = attribute.order == "rank"
    if attribute.how == "average":
        among = " of numbers near in rank" if ranked else ""
        said = [f"every number is replaced by the mean of its class{among}, without noise. This "
                "does not count as protection."]  # fmt: skip
    else:
        # How many keep their number depends on how many have the same one: only data say that.
        near = " that are near in rank" if ranked else ""
        said = [f"the numbers are exchanged at random between records{near}{_moves(attribute)}. If "
                f"many records have the same number, {'most' if ranked else 'many'} keep it. All "
                "numbers are published; only whose they are is hidden."]  # fmt: skip
    found = None if attribute.matrix is None else structure.classes(attribute.matrix)
    return said if found is None else [*said, f"{_classes(found, 'records')}."]


def _moves(attribute: Numeric) -> str:
    moves = attribute._displacement
    if moves is None or attribute.order != "rank":
        return ""
    half, most = (round(share * moves.size) for share in (moves.p50, moves.p90))
    return (
        f": half of them move by at most {half:,} of {moves.size:,} ranks, 90% by at most {most:,}"
    )
