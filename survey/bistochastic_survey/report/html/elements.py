"""Elements of HTML with everything in them escaped, and tables of them.

Numbers in tables are aligned, and screen readers read cells with their headers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

# Elements that have no end tag and no content.
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})

# A new line, and a space at which no line ends.
_SPACES = "\n\u00a0"


class Markup(str):
    """Text that is HTML already. Only this folder makes it, from text that was escaped."""

    __slots__ = ()


def join(*children: object) -> Markup:
    """Join several items: markup as it is, lists in their order, text escaped."""
    return Markup("".join(_written(children)))


def element(tag: str, /, *children: object, **attributes: object) -> Markup:
    """Make an element. Attributes are escaped, too; ``None`` and ``False`` leave one out.

    Write ``class_`` for ``class``, and ``aria_label`` for ``aria-label``.

    >>> element("p", "<script>", class_="note", hidden=True, id=None)
    '<p class="note" hidden>&lt;script&gt;</p>'
    """
    given = ""
    for name, value in attributes.items():
        if value is not None and value is not False:
            given += f" {name.rstrip('_').replace('_', '-')}"
            given += "" if value is True else f'="{escaped(str(value))}"'
    if tag in _VOID:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{join(*children)}</{tag}>")


def escaped(text: str) -> str:
    """Escape text for content and for quoted attributes.

    Characters that cannot be printed are shown as Python writes them: halves of a pair cannot be
    stored in a file, and marks that turn the direction of writing would show one label as another.

    >>> escaped('a "b" & <c>'), escaped("x" + chr(0x202E) + "y")
    ('a &quot;b&quot; &amp; &lt;c&gt;', 'x\\\\u202ey')
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in _SPACES else ascii(c)[1:-1] for c in text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;")


def _written(children: Iterable[object]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, Iterable) and not isinstance(child, str):
            yield from _written(child)
        elif child is not None:
            yield escaped(str(child))


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
