"""Every class that both packages return: those that the pages of the reference document."""

from importlib import import_module
from pathlib import Path

_PAGES = Path(__file__).parents[2] / "docs" / "reference" / "api"
_NAMED = [
    line.removeprefix(".. autoclass:: ")
    for page in sorted(_PAGES.glob("*.rst"))
    # The last part of the library's page lists what tools are built of, which users never see.
    for line in page.read_text(encoding="utf-8").partition(" for tools\n----")[0].splitlines()
    if line.startswith(".. autoclass:: ")
]
HOMES = dict(reversed(name.rpartition(".")[::2]) for name in _NAMED)
"""The module of each class, by its name."""
assert len(HOMES) == len(_NAMED), "two public classes share a name"
CLASSES: dict[str, type] = {
    name: getattr(import_module(home), name) for name, home in sorted(HOMES.items())
}
