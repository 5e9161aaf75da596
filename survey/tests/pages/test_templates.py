"""Templates: everything is escaped, and nothing comes from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2.exceptions import UndefinedError

import bistochastic as bs
import bistochastic_survey
from bistochastic_survey.pages import environment, pictures, render

NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</svg></style>", "a&b'c"]
FOLDER = Path(bistochastic_survey.__file__).parent


class Read(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def filled(source: str, **given: object) -> str:
    """A template that is written here, with the pieces of the others."""
    return environment().from_string(source).render(given)


def element(name: str, *given: object, **named: object) -> str:
    """What one macro makes."""
    macro: Any = getattr(environment().get_template("elements.html.j2").module, name)
    return str(macro(*given, **named))


def heat(rows: Any, labels: Any = None, title: str = "t") -> str:
    named = range(1, len(rows) + 1) if labels is None else labels
    return element("heat", pictures.heat(rows, named, title=title, caption=title))


def bars(items: Any, title: str = "t") -> str:
    return element("bars", pictures.bars(items, title=title, most=1.0))


SECTION = """{% from "elements.html.j2" import section %}
{% call section(id, title) %}{{ text }}{% endcall %}"""
PAGE = """{% extends "page.html.j2" %}{% set contents = [("what", "What")] %}
{% from "elements.html.j2" import section %}
{% block lead %}{{ title }}{% endblock %}{% block footer %}f{% endblock %}
{% block main %}{% call section("what", "What") %}x{% endcall %}{% endblock %}"""


def pieces(labels: list[str]) -> list[str]:
    n = len(labels)
    rows = bs.randomized_response(n, beta=0.6).to_dense().tolist()
    return [
        element("table", labels, [labels], labels[0]),
        element("table", labels, [labels], labels[0], sentences=True),
        element("facts", [(label, label) for label in labels], labels[0]),
        element("listed", labels),
        element("phrases", labels[0], labels),
        element("said", labels[0]),
        heat(rows, labels, title=labels[0]),
        bars([(label, label, 0.5, 0.7) for label in labels], title=labels[0]),
        filled(SECTION, id="one", title=labels[0], text=labels[1]),
        render("notebook", pairs=[labels[:2]], caption=labels[0], lines=labels,
               lists={labels[0]: labels}),
        filled(PAGE, title=labels[0], banner=labels[1]),
    ]  # fmt: skip


def test_labels_are_text_everywhere() -> None:
    harmless = Read("".join(pieces(["a", "b", "c", "d"])))
    hostile = Read("".join(pieces(NASTY)))
    assert hostile.tags == harmless.tags
    assert not hostile.open
    assert "<script>alert(1)</script>" in "".join(hostile.text)
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]


def test_no_template_and_no_file_trusts_text() -> None:
    """Autoescape has two ways around it, and neither is used."""
    assert environment().autoescape is True
    templates = sorted(FOLDER.rglob("*.j2"))
    assert {"elements.html.j2", "page.html.j2"} < {each.name for each in templates}
    assert {each.parent.name for each in templates} == {"pages"}
    for file in [*templates, *FOLDER.rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|\bMarkup\(|autoescape (false|true)|\bstyle=", text), file
    for file in templates:
        assert not re.search(r"<script|\son\w+=|\burl\(|@import|https?:|<svg", file.read_text())


def test_nothing_that_is_missing_is_left_blank() -> None:
    with pytest.raises(UndefinedError):
        filled("{{ nobody_gave_it }}")


def test_what_cannot_be_printed_is_spelled_out() -> None:
    assert filled("{{ text }}", text="a\ud800b\u202ec\x00") == "a\\ud800b\\u202ec\\x00"
    filled(PAGE, title="\ud800", banner="\udfff").encode()


def test_names_and_strong_words_are_set_apart() -> None:
    made = element("said", "column `a<b**`: **not met**")
    assert made == "column <code>a&lt;b**</code>: <strong>not met</strong>"
    made = element("listed", ["one `b`", "two.", "three:"])
    assert made.strip() == "<ul><li>One <code>b</code>.</li><li>Two.</li><li>Three:</li></ul>"
    assert not element("listed", []).strip()


def test_a_page_admits_its_own_style_and_nothing_else() -> None:
    text = filled(PAGE, title="t")
    policy = re.search(r'Policy" content="([^"]*)"', text)
    assert policy is not None
    style = re.search(r"<style>(.*?)</style>", text, flags=re.S)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"sha256-{digest}" in policy[1].replace("&#39;", "'")
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert "script" not in text
    assert not re.search(r"(?:src|href)=[\"'](?!#)|url\(|@import|https?:", text)


def test_a_page_has_its_landmarks_and_its_rules() -> None:
    text = filled(PAGE, title="t", banner="b")
    read = Read(text)
    assert not read.open
    for tag in ("header", "nav", "main", "footer", "h1", "h2"):
        assert read.tags.count(tag) == 1, tag
    assert ("lang", "en") in read.attributes
    assert ("href", "#main") in read.attributes
    for rule in ("prefers-color-scheme:dark", "@media print", "size:A4"):
        assert rule in text


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', page)
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in rows]


def test_a_heat_map_holds_the_numbers_of_its_cells() -> None:
    rows = [[0.5, 0.25, 0.25], [0.5, 0.499, 0.001], [0.0, 0.25, 0.75]]
    made = heat(rows, title="t")
    assert cells(made) == [
        [".50", ".25", ".25"],
        [".50", ".50", "&lt;.01"],
        ["0", ".25", ".75"],
    ]
    # What never occurs is said in words, and only then.
    assert "<figcaption>t; 0: never</figcaption>" in made
    large = bs.geometric(32, beta=0.3).to_dense()
    made = heat(large.tolist(), title="t")
    assert "<figcaption>t; in percent</figcaption>" in made
    assert cells(made)[0][0] == f"{100 * large[0, 0]:.0f}"
    assert {len(row) for row in cells(made)} == {32}
    assert "0" not in {cell for row in cells(made) for cell in row}
    with pytest.raises(ValueError, match="at most 32; got 33"):
        heat(bs.uniform(33).to_dense().tolist(), title="t")


def test_darker_cells_and_longer_bars_are_larger_numbers() -> None:
    page = heat([[1.0, 0.0], [0.5, 0.5]], title="t")
    assert re.findall(r'class="bs-s(\d+)"', page) == ["12", "0", "6", "6"]
    items = [("a", "x", 0.25, 0.75), None, ("b", "y", 0.0, 0.001), ("c", "z", 1.0, 1.0)]
    page = bars(items, title="t")
    assert re.findall(r"bs-(\w+) bs-w(\d+)", page) == [
        ("dark", "12"), ("pale", "26"), ("pale", "1"), ("dark", "50")
    ]  # fmt: skip
    # Every step has a rule, and no element has a style of its own.
    style = render("notebook")
    assert all(f".bs-s{i}{{" in style for i in range(1, 13))
    assert all(f".bs-w{i}{{" in style for i in range(51))
    assert "style=" not in html.unescape("".join(pieces(NASTY)).replace('"><img', ""))


def test_every_picture_is_a_table_that_is_read_aloud() -> None:
    for picture in (
        heat([[1.0]], title="t"),
        bars([("a", "1", 0.5, 1.5)], title="t"),
        bars([], title="t"),
        bars([("a", "1", 1.0, 1.0), None, ("b", "inf", math.inf, math.inf)], title="t"),
    ):
        assert re.search(r'<table [^>]*aria-label="t">', picture)
        assert "<figcaption>t" in picture
        assert "nan" not in picture
    page = heat([[0.5, 0.5], [0.5, 0.5]], ["no", "yes"], title="t")
    for name in ("no", "yes"):
        assert f'<th scope="row">{name}</th>' in page
        assert f'<th scope="col"><span>{name}</span></th>' in page


def test_a_table_is_protected_without_it() -> None:
    code = (
        "import sys, bistochastic_survey as sv\n"
        "sv.Plan([sv.Categorical('x', ['a', 'b'], 'uniform')]).protect({'x': ['a']})\n"
        "rooms = ('bistochastic_survey.report', 'bistochastic_survey.pages', 'jinja2')\n"
        "print([m for m in sys.modules if m.startswith(rooms)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_needs_no_templates() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from bistochastic_survey import cli\n"
        "assert CliRunner().invoke(cli.main, ['--help']).exit_code == 0\n"
        "print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
