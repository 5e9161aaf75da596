"""One statement of the paper as words and a table, for a terminal or a page."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 92


@dataclass(frozen=True)
class Section:
    """A title, what is claimed, the numbers, and what follows."""

    title: str
    before: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    after: tuple[str, ...] = ()

    def text(self) -> str:
        """For a terminal.

        >>> print(Section("Two", ("Twice one.",), ("n", "2n"), (("1", "2"),)).text())
        Two
        ===
        <BLANKLINE>
        Twice one.
        <BLANKLINE>
        n  2n
        -  --
        1   2
        """
        from textwrap import fill

        from bistochastic.words import table

        parts = [f"{self.title}\n{'=' * len(self.title)}"]
        parts += [fill(words, WIDTH) for words in self.before]
        parts += [table(self.header, self.rows)]
        parts += [fill(words, WIDTH) for words in self.after]
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """For a page.

        >>> print(Section("Two", ("Twice one.",), ("n", "2n"), (("1", "2"),)).markdown())
        ## Two
        <BLANKLINE>
        Twice one.
        <BLANKLINE>
        | n | 2n |
        |---|---|
        | 1 | 2 |
        """
        lines = [self.header, *self.rows]
        shown = ["| " + " | ".join(cell or " " for cell in line) + " |" for line in lines]
        shown.insert(1, "|" + "---|" * len(self.header))
        return "\n\n".join([f"## {self.title}", *self.before, "\n".join(shown), *self.after])
