"""Complete pages that need no other files, and fragments for notebooks.

A page holds its style, its pictures and its script, if it has one. Its policy lets a browser load
nothing else: it names the style and the script by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence

from bistochastic.markup.elements import Markup, element

# The style of tables and pictures, which have the colour of the text around them.
FRAGMENT_STYLE = """
.bs-table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums}
.bs-table caption{text-align:left;font-weight:600;padding:.2em 0;caption-side:top}
.bs-table th,.bs-table td{padding:.25em .7em;text-align:left;vertical-align:top;
border-bottom:1px solid rgba(127,127,127,.4);font-weight:400;background:none;white-space:normal}
.bs-table thead th{font-weight:600;border-bottom:2px solid rgba(127,127,127,.8);
vertical-align:bottom}
.bs-table .bs-number{text-align:right}.bs-table td.bs-number{white-space:nowrap}
.bs-table.bs-facts th{font-weight:600}
.bs-table td code{overflow-wrap:anywhere}
.bs-wide{overflow-x:auto}
.bs-picture{display:block;max-width:100%;height:auto;overflow:visible;fill:currentColor;
font-family:system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.bs-ink{fill:#3b82c4;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.bs-line{fill:none;stroke:currentColor;stroke-width:1}
.bs-strike{fill:none;stroke:currentColor;stroke-width:.7;stroke-opacity:.55}
.bs-grid{fill:none;stroke:currentColor;stroke-width:.5;stroke-opacity:.35}
.bs-mono{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
.bs-quiet{font-style:italic}
"""

# A caption is as wide as its table; if the table scrolls, as wide as its visible part, and stays.
PAGE_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--quiet:#4a525c;--edge:#c4cad1;
--panel:#f4f6f8;--link:#0b5cad;--mark:#8a2b06}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e8eaed;--quiet:#b4bcc6;
--edge:#4a525c;--panel:#1e2228;--link:#8cc2ff;--mark:#ffb68f}}
*{box-sizing:border-box}
html{font:17px/1.55 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif;background:var(--paper);
color:var(--ink);-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:54rem;padding:0 1.2rem 3rem;overflow-wrap:break-word}
h1{font-size:1.75rem;line-height:1.2;margin:1.6rem 0 .4rem}
h2{font-size:1.3rem;line-height:1.3;margin:2.4rem 0 .5rem;padding-top:.5rem;
border-top:1px solid var(--edge)}
h3{font-size:1.05rem;margin:1.6rem 0 .3rem}
p,ul,ol{margin:.6rem 0}
li{margin:.25rem 0}
a{color:var(--link)}
a:focus-visible,[tabindex]:focus-visible,input:focus-visible,select:focus-visible,
button:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
code,.bs-code{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.88em;
overflow-wrap:break-word}
pre{background:var(--panel);padding:.7rem .9rem;overflow-x:auto;border-radius:4px}
.bs-skip{position:absolute;left:-99rem}
.bs-skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem .8rem;z-index:1}
.bs-lead{color:var(--quiet);margin-top:0}
.bs-banner{border:2px solid var(--mark);color:var(--mark);font-weight:700;padding:.5rem .9rem;
margin:1rem 0}
.bs-note{border-left:4px solid var(--edge);padding:.1rem 0 .1rem .9rem;color:var(--quiet)}
.bs-panel{background:var(--panel);border:1px solid var(--edge);border-radius:6px;
padding:.7rem 1rem;margin:1rem 0}
.bs-box{border:2px solid var(--ink);border-radius:8px;padding:.6rem 1rem;margin:1rem 0;
background:var(--panel)}
.bs-box .bs-table{margin:.2rem 0 0;width:100%}.bs-box tr:last-child>*{border-bottom:0}
.bs-box th{width:15rem}.bs-box th,.bs-box td{padding-left:0}
.bs-tiles{display:flex;flex-wrap:wrap;gap:.2rem 2.2rem;margin:.2rem 0}
.bs-tiles strong{font-size:1.7rem;line-height:1.2}
.bs-contents ol{display:flex;flex-wrap:wrap;gap:.1rem 1.4rem;padding:0;list-style:none}
.bs-contents li{margin:0;padding:.1rem 0}
.bs-figures{display:flex;flex-wrap:wrap;gap:0 2.5rem;align-items:flex-end}
.bs-beside{display:flex;flex-wrap:wrap;gap:0 2.5rem}.bs-beside>*{flex:1 1 18rem;max-width:100%}
.bs-beside>figure{flex:1 1 25rem}label{display:inline-block}
.bs-figures figure{max-width:100%}.bs-figures .bs-wide{container-type:normal}
.bs-table{font-size:.92rem}
.bs-wide{container-type:inline-size}
.bs-wide caption{max-width:calc(100vw - 2.4rem);max-width:100cqi;position:sticky;left:0;
white-space:normal;overflow-wrap:anywhere}
.bs-slider{display:block;width:100%;margin:.5rem 0 0;height:2rem;accent-color:var(--link)}
[hidden]{display:none!important}
.bs-keep{white-space:nowrap}
.bs-ends{display:flex;justify-content:space-between;color:var(--quiet);font-size:.88rem}
select{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--quiet);
border-radius:4px;padding:.15rem .4rem;max-width:100%}
output{font-weight:700;font-variant-numeric:tabular-nums}
figure{margin:.8rem 0}
figcaption{font-size:.88rem;color:var(--quiet);margin-top:.3rem}
footer{margin-top:3rem;color:var(--quiet);font-size:.88rem;border-top:1px solid var(--edge)}
details>summary{cursor:pointer}
@media (max-width:40rem){html{font-size:16px}body{padding:0 .9rem 2rem}
.bs-table{font-size:.82rem}.bs-table th,.bs-table td{padding:.25em .35em}
.bs-box th,.bs-box td{display:block;width:auto;border-bottom:0;padding:.1rem 0}}
@page{size:A4;margin:13mm 15mm}
@media print{:root{--paper:#fff;--ink:#000;--quiet:#333;--edge:#999;--panel:#fff;--link:#000;
--mark:#000;color-scheme:light}html{font-size:8.6pt;line-height:1.32}body{max-width:none;padding:0}
.bs-skip,.bs-contents,.bs-screen{display:none}h2,h3{break-after:avoid}
tr,figure,.bs-box,.bs-panel{break-inside:avoid}
h1{margin:0 0 .2rem}h2{margin:.9rem 0 .2rem;padding-top:.2rem}h3{margin:.6rem 0 .1rem}
p,ul,ol,figure{margin:.3rem 0}.bs-box{margin:.3rem 1px}li{margin:.05rem 0}.bs-table{margin:.3rem 0}
.bs-table th,.bs-table td{padding:.1em .6em}.bs-picture{zoom:.72}
#appendix{font-size:.92em}footer{margin-top:.8rem}.bs-wide{overflow:visible}
thead{display:table-header-group}a{text-decoration:none}}
"""


def page(
    title: str,
    *children: object,
    lead: object = None,
    banner: object = None,
    summary: object = None,
    contents: Sequence[tuple[str, str]] = (),
    footer: object = None,
    script: str | None = None,
    data: Mapping[str, object] | None = None,
) -> str:
    """Write a whole page: a head, ``children`` as the main part, and a footer.

    ``summary`` is in a box below the title, and ``banner`` in a frame above everything.
    ``contents`` are (id, words) of sections, as links. ``script`` is run at the end, and finds
    ``data`` as JSON in the element ``data``.
    """
    style = FRAGMENT_STYLE + PAGE_STYLE
    policy = f"default-src 'none'; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    if script is not None:
        policy += f"; script-src {_digest(script)}"
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    ]
    body = [
        element("a", "Skip to the text", class_="bs-skip", href="#main"),
        element(
            "header",
            None if banner is None else element("p", banner, class_="bs-banner"),
            element("h1", title),
            None if lead is None else element("p", lead, class_="bs-lead"),
            None if summary is None else element("div", summary, class_="bs-box"),
        ),
        _contents(contents) if contents else None,
        element("main", *children, id="main", tabindex="-1"),
        None if footer is None else element("footer", element("p", footer)),
        None if data is None else _data(data),
        None if script is None else Markup(f"<script>{script}</script>"),
    ]
    whole = element("html", element("head", head), "\n", element("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def section(title: object, *children: object, id: str) -> Markup:
    """Make a section of a page with a heading that links can point to."""
    head = element("h2", title, id=f"{id}-title")
    return element("section", head, *children, "\n", id=id, aria_labelledby=f"{id}-title")


def fragment(*children: object) -> Markup:
    """Make a fragment for a notebook, with the style that tables and pictures need.

    >>> fragment(element("p", "x")).endswith("<p>x</p></div>")
    True
    """
    return element("div", Markup(f"<style>{FRAGMENT_STYLE}</style>"), *children)


def _contents(contents: Sequence[tuple[str, str]]) -> Markup:
    listed = [element("li", element("a", words, href=f"#{id}")) for id, words in contents]
    return element("nav", element("ol", listed), class_="bs-contents", aria_label="Contents")


def _data(data: Mapping[str, object]) -> Markup:
    """Write numbers for the script, as JSON that does not end an element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(f'<script type="application/json" id="data">{text}</script>')


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
