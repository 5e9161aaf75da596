"""The site that ``make docs`` builds: it needs no network, and every page is two clicks away."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / ".venv" / "site"
# Written by Sphinx for its own use.
OWN = {"search.html", "genindex.html", "py-modindex.html"}

if not (SITE / "index.html").is_file():
    pytest.skip("`make docs` builds the site", allow_module_level=True)


class Page(HTMLParser):
    """What a page loads by itself, and the pages that it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: set[str] = set()
        self._folder = path.parent
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "a":
            file = named.get("href", "").partition("#")[0]
            if file.endswith(".html") and "://" not in file:
                self.links.add(
                    (self._folder / file).resolve().relative_to(SITE.resolve()).as_posix()
                )
        elif tag == "link" and named.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(named["href"])
        elif "src" in named:
            self.loads.append(named["src"])


def pages() -> dict[str, Page]:
    return {path.relative_to(SITE).as_posix(): Page(path) for path in SITE.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name, page in pages().items():
        assert page.loads, name
        for file in page.loads:
            assert not re.match(r"(\w+:)?//", file), f"{name}: {file}"
    for style in (SITE / "_static").rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text()), style.name


def test_every_page_is_two_clicks_from_home() -> None:
    found = pages()
    one = found["index.html"].links
    two = one.union(*(found[name].links for name in one))
    assert set(found) - OWN <= two | {"index.html"}


def test_every_link_leads_to_a_page() -> None:
    found = pages()
    for name, page in found.items():
        assert page.links <= set(found), name


def test_search_needs_no_server() -> None:
    # A browser loads it as a script, which works from a file, too.
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    assert "howto/how_much" in index
