"""How the pages of this folder become a site: ``make docs``. Nothing comes from the network."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

from click import Context
from docutils import nodes
from sphinx.application import Sphinx

project = "bistochastic"
author = "The bistochastic developers"
copyright = "the bistochastic developers, MIT or Apache-2.0"
version = release = installed("bistochastic")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "paper"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# The notebooks are stored with their outputs; `make tutorials` runs them.
nb_execution_mode = "off"

# Examples of pages and docstrings start with a prompt, which is not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False}
autosummary_generate = False
python_use_unqualified_type_names = True
napoleon_google_docstring = False
add_module_names = False
# A signature that is longer gets a line per parameter.
python_maximum_signature_line_length = 80

# Options start with two hyphens, which are not a dash.
smartquotes = False

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"bistochastic {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "source_repository": "https://github.com/bistochastic/bistochastic/",
    "source_branch": "main",
    "source_directory": "docs/",
}


PARAMETERS = tomllib.loads((Path(__file__).parent / "parameters.toml").read_text(encoding="utf-8"))


def describe_parameters(name: str, function: object) -> dict[str, str | None]:
    """Return what each parameter of a public function means, by ``parameters.toml``."""
    own = PARAMETERS.get(name, {})
    names = inspect.signature(function).parameters  # type: ignore[arg-type]
    public = [each for each in names if each not in ("self", "cls") and not each.startswith("_")]
    return {each: own.get(each, PARAMETERS["common"].get(each)) for each in public}


def has_parameters(what: str, name: str) -> bool:
    """Say whether users call it: results and exceptions are made by the package."""
    made = ("Certificate", "Decomposition", "Estimate", "Guarantee", "KeySource", "Matrix")
    called = name.startswith("backend.") or ("." not in name and name not in (*made, "Profile"))
    return what in ("function", "method") or (what == "class" and called)


def add_parameters(
    _app: Sphinx, what: str, name: str, obj: object, _options: object, lines: list[str]
) -> None:
    """Put the meaning of parameters above the example of a docstring without ``:param``."""
    name = name.partition(".")[2]
    if not has_parameters(what, name) or any(line.startswith(":param") for line in lines):
        return
    described = describe_parameters(name, obj)
    fields = [f":param {each}: {words}" for each, words in described.items() if words]
    examples = [i for i, line in enumerate(lines) if line.startswith(">>>")]
    at = examples[0] if examples else len(lines)
    lines[at:at] = ["", *fields, ""]


def show_commands_as_code(_app: Sphinx, _context: Context, lines: list[str]) -> None:
    """Turn the sample commands of a command's help into blocks of code."""
    shown: list[str] = []
    for line, before in zip(lines, ["", *lines[:-1]], strict=True):
        if line.startswith("| "):
            shown += [] if before.startswith("| ") else [".. code-block:: sh", ""]
        shown.append("   " + line[2:] if line.startswith("| ") else line)
    lines[:] = shown


def use_colons(_app: Sphinx, tree: nodes.document) -> None:
    """Replace the two hyphens between a parameter and its meaning."""
    for node in list(tree.findall(nodes.Text)):
        if str(node) == " -- " and node.parent is not None:
            node.parent.replace(node, nodes.Text(": "))


def link_to_repository(_app: Sphinx, name: str, source: list[str]) -> None:
    """Turn links that leave this folder, as to ``../../SECURITY.md``, into links to GitHub."""
    outside = r"\]\(" + r"\.\./" * (name.count("/") + 1)
    repository = html_theme_options["source_repository"] + "blob/main/"
    source[0] = re.sub(outside, f"]({repository}", source[0])


def setup(app: Sphinx) -> None:
    """Register what is done to docstrings and to the help of commands."""
    app.connect("autodoc-process-docstring", add_parameters)
    app.connect("source-read", link_to_repository)
    app.connect("doctree-read", use_colons)
    app.connect("sphinx-click-process-description", show_commands_as_code)
