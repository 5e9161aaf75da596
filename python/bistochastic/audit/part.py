"""``Part``: what every single result of an audit shows of itself, in a line and in a notebook."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from bistochastic.words import cut, shown

NOT_FOR_RELEASE = "contains information about the data: not for release"


class Part:
    """Its fields by name. Lists of numbers are only counted: the whole audit shows them."""

    def _facts(self) -> list[tuple[str, str]]:
        named: Any = self
        return [(f.name.replace("_", " "), _said(getattr(self, f.name))) for f in fields(named)]

    def _brief(self) -> str:
        """What stands for it inside of another part."""
        return "; ".join(f"{name} {value}" for name, value in self._facts())

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self._facts())
        return f"<{type(self).__name__}: {said}>"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        return fragment(facts(self._facts(), caption=NOT_FOR_RELEASE))


def _said(value: object) -> str:
    """A field in a few words.

    >>> _said(0.123456), _said(("a", "b")), _said((0.5, 0.5)), _said(None), _said(True)
    ('0.1235', 'a, b', '2 numbers', 'not known', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple) and value and all(isinstance(x, float) for x in value):
        return f"{len(value)} numbers"
    if isinstance(value, tuple):
        return ", ".join(cut([_said(x) for x in value]))
    if value is None:
        return "not known"
    if isinstance(value, Part):
        return value._brief()
    return "none" if value == "" else shown(value)
