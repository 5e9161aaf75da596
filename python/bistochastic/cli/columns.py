"""Columns and categories that were typed: one option with commas, or several options."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def split(option: str, typed: str) -> list[str]:
    """Split at commas; quotes keep a comma, as in CSV.

    >>> split("by", 'sex,"a,b"')
    ['sex', 'a,b']
    """
    try:
        [found] = csv.reader([typed], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        must = f"`--{option}` must be names with commas between them"
        raise ValueError(f"{must}; got a quote that does not end, or a line end") from None
    return found


def columns_named(option: str, given: Sequence[str], known: Collection[str]) -> list[str]:
    """List the columns that an option names, which may be given several times.

    The name of a column is that column; anything else is split at commas.

    >>> columns_named("by", ["sex,age", "a,b"], ["sex", "age", "a,b"])
    ['sex', 'age', 'a,b']
    """
    found: list[str] = []
    for typed in given:
        if typed in known:
            found.append(typed)
        else:
            found += [each if each in known else each.strip() for each in split(option, typed)]
    return found


def condition(typed: str, known: Collection[str]) -> tuple[str, list[str]]:
    """Read ``sex=F,M`` as a column and categories; if names have an =, the longest that fits.

    >>> condition('town="a,b",c', ["town"])
    ('town', ['a,b', 'c'])
    """
    fits = [name for name in known if typed.startswith(f"{name}=")]
    column = max(fits, key=len, default=typed.partition("=")[0])
    levels = typed[len(column) + 1 :]
    if "=" not in typed or not column or not levels:
        raise ValueError(f"`--where` must be like column=category,category; got {shown(typed)}")
    return column, split("where", levels)
