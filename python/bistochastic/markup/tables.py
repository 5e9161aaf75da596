"""Tables with aligned numbers, which screen readers read with their headers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from bistochastic.markup.elements import Markup, element


def table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    left: Collection[int] = (0,),
    scroll: bool = True,
) -> Markup:
    """Make a table; the first cell of a row is its header.

    Columns in ``left`` are strings, the others are aligned numbers. With ``scroll`` a table that is
    too wide scrolls by itself, by mouse, finger or arrow keys.
    """

    def cell(tag: str, i: int, content: object, scope: str | None = None) -> Markup:
        return element(tag, content, scope=scope, class_=None if i in left else "bs-number")

    head = [cell("th", i, each, "col") for i, each in enumerate(header)]
    body = [
        element(
            "tr", cell("th", 0, first, "row"), [cell("td", i, x) for i, x in enumerate(more, 1)]
        )
        for first, *more in rows
    ]
    made = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_="bs-table",
    )
    return wide(made, caption) if scroll else made


def facts(pairs: Iterable[tuple[object, object]], *, caption: str | None = None) -> Markup:
    """Make a table of names and values, one row per name."""
    body = [element("tr", element("th", name, scope="row"), element("td", value))
            for name, value in pairs]  # fmt: skip
    said = None if caption is None else element("caption", caption)
    return element("table", said, element("tbody", body), class_="bs-table bs-facts")


def wide(child: Markup, label: str) -> Markup:
    """Something that may be wider than the page, and then scrolls by itself."""
    return element("div", child, class_="bs-wide", role="group", aria_label=label, tabindex="0")
