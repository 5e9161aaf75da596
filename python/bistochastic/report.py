"""Words and tables: how numbers of a matrix are shown. Never sees a record.

A shown number is rounded in the direction that claims less: beta and bits down, epsilon up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from bistochastic.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import ArrayLike

    from bistochastic.profile import Profile


def _digits(x: float, digits: int, direction: int) -> str:
    if not math.isfinite(x) or x == 0:
        return f"{x:g}"
    text = f"{x:.{digits}g}"
    if (float(text) - x) * direction < 0:
        # Rounding to nearest went the wrong way: one more in the last digit shown.
        step = 10.0 ** (math.floor(math.log10(abs(x))) - digits + 1)
        text = f"{float(text) + direction * step:.{digits}g}"
    return text


def down(x: float, digits: int = 6) -> str:
    """``x`` in short, not above it.

    >>> down(0.29999999), down(0.25), down(0.0)
    ('0.299999', '0.25', '0')
    """
    return _digits(x, digits, -1)


def up(x: float, digits: int = 6) -> str:
    """``x`` in short, not below it.

    >>> up(3.01076141), up(float("inf"))
    ('3.01077', 'inf')
    """
    return _digits(x, digits, +1)


def shown(name: object) -> str:
    """A name in a sentence: what would end it there, or cannot be printed, as Python writes it.

    >>> print(shown("a`b\\ud800.csv"), shown(""))
    a\\x60b\\ud800.csv ''
    """
    escaped = (r"\x60" if c == "`" else c if c.isprintable() else ascii(c)[1:-1] for c in str(name))
    return "".join(escaped) or "''"


def line(matrix: Matrix) -> str:
    """A matrix in one line."""
    n = matrix.size
    return (
        f"<Matrix {matrix.family} {n} x {n}: beta {down(matrix.beta)}, "
        f"epsilon {up(matrix.epsilon)}, {_known(matrix)}>"
    )


def _known(matrix: Matrix) -> str:
    return "exact" if matrix.is_exact else "bound"


def _share(known: float | None) -> str:
    return "not computed" if known is None else f"{known:.6g}"


def _yes(known: bool | None) -> str:
    return "not computed" if known is None else "yes" if known else "no"


def facts(matrix: Matrix) -> list[tuple[str, str]]:
    """What a matrix says of itself: names and numbers, safely rounded."""
    return [
        ("family", matrix.family),
        ("size", str(matrix.size)),
        ("bits", f"{down(matrix.entropy_rate)} of {matrix.max_bits:.6g}"),
        ("beta", down(matrix.beta)),
        ("epsilon", "infinite: some reports exclude some truths"
         if math.isinf(matrix.epsilon) else up(matrix.epsilon)),
        ("truthfulness", _share(matrix.truthfulness)),
        ("ergodic", _yes(matrix.is_ergodic)),
        ("numbers are", _known(matrix)),
        ("parameters", _short(matrix.parameters)),
        ("requested", _short(matrix.requested)),
    ]  # fmt: skip


def _short(parameters: dict[str, object]) -> str:
    def value(x: object) -> str:
        if isinstance(x, list) and x and isinstance(x[0], list):
            return f"{len(x)} x {len(x[0])} counts"
        if isinstance(x, list) and len(x) > 4 and not isinstance(x[0], Matrix):
            return f"[{x[0]}, {x[1]}, ..., {x[-1]}] ({len(x)} numbers)"
        return str(x)

    return ", ".join(f"{name}={value(x)}" for name, x in parameters.items()) or "nothing"


def cells(*pairs: tuple[str, str]) -> str:
    """One table row of (tag, text), the text escaped."""
    from html import escape  # only notebooks need it, so only they wait for it

    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in pairs) + "</tr>"


def html(matrix: Matrix) -> str:
    """A matrix as a table for notebooks, all text escaped."""
    rows = "".join(cells(("th", name), ("td", text)) for name, text in facts(matrix))
    return f"<table>{rows}</table>"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Aligned columns, those in ``left`` to the left and the others to the right.

    >>> print(table(["family", "beta"], [["uniform", "1"], ["identity", "0"]]))
    family    beta
    --------  ----
    uniform      1
    identity     0
    """
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class Comparison:
    """Several matrices on one scale; see :func:`compare`."""

    def __init__(self, profiles: tuple[Profile, ...]) -> None:
        self._profiles = profiles

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """What each matrix tells, in order."""
        return self._profiles

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices compared, in order."""
        return tuple(profile.matrix for profile in self._profiles)

    @property
    def header(self) -> list[str]:
        """The families, in order."""
        return ["measure", *(matrix.family for matrix in self.matrices)]

    def rows(self) -> list[list[str]]:
        """One row of safely rounded numbers a measure; a bound ends in a star."""
        rows = [["size", *(str(matrix.size) for matrix in self.matrices)]]
        for entries in zip(*self.profiles, strict=True):
            shown = (entry.text + "*" * (entry.status == "bound") for entry in entries)
            rows.append([entries[0].words, *shown])
        return rows

    def _legend(self) -> str:
        seen = {entry.status for profile in self.profiles for entry in profile}
        said = [("bound", "* a bound"), ("not computed", "- not computed")]
        return "; ".join(text for status, text in said if status in seen)

    def __repr__(self) -> str:
        legend = self._legend()
        return table(self.header, self.rows()) + (f"\n{legend}" if legend else "")

    def _repr_html_(self) -> str:
        head = cells(*(("th", text) for text in self.header))
        body = "".join(cells(*(("td", text) for text in row)) for row in self.rows())
        return f"<table>{head}{body}</table><p>{self._legend()}</p>"


def compare(
    *matrices: Matrix,
    cost: ArrayLike | Literal["ordinal"] | None = None,
    prior: ArrayLike | None = None,
    full: bool = False,
) -> Comparison:
    """The profiles of several matrices side by side, on one scale.

    ``cost``, ``prior`` and ``full`` are those of :meth:`Matrix.profile`.

    >>> import bistochastic as bs
    >>> bs.compare(bs.randomized_response(12, beta=0.6), bs.k_anonymous(12, beta=0.6))
    measure                                  randomized_response  k_anonymous
    ---------------------------------------  -------------------  -----------
    size                                                      12           12
    entropy rate, bits                                   2.15097      2.58496
    beta                                                     0.6     0.721057
    ...
    """
    if not matrices:
        raise ValueError("`compare` must be given matrices; got none")
    for matrix in matrices:
        if not isinstance(matrix, Matrix):
            raise TypeError(f"`compare` must be given matrices; got {type(matrix).__name__}")
    return Comparison(tuple(m.profile(cost=cost, prior=prior, full=full) for m in matrices))
