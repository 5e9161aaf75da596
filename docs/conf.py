"""How the pages of this folder become a site: ``make docs``. Nothing comes from the network."""

from __future__ import annotations

from importlib.metadata import version as installed

from click import Context
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
exclude_patterns = ["_build"]
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


def show_commands_as_code(_app: Sphinx, _context: Context, lines: list[str]) -> None:
    """Turn the sample commands of a command's help into blocks of code."""
    shown: list[str] = []
    for line, before in zip(lines, ["", *lines[:-1]], strict=True):
        if line.startswith("| "):
            shown += [] if before.startswith("| ") else [".. code-block:: sh", ""]
        shown.append("   " + line[2:] if line.startswith("| ") else line)
    lines[:] = shown


def setup(app: Sphinx) -> None:
    """Register what is done to the help of commands."""
    app.connect("sphinx-click-process-description", show_commands_as_code)
