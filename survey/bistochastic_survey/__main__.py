"""``python -m bistochastic_survey`` is the command line, and so is the script ``bistochastic``."""

import sys
from importlib.abc import MetaPathFinder

from bistochastic_survey.cli import main


class _NoPandas(MetaPathFinder):
    """A finder that hides pandas, which pyarrow imports and which takes longer than most runs.

    Only formulaic, which reads the formulas of ``regress``, needs pandas.
    """

    def find_spec(self, name: str, *_more: object) -> None:
        if name == "pandas" and "formulaic" not in sys.modules:
            raise ModuleNotFoundError(name)


def run() -> None:
    """Run the command line in a process of its own."""
    sys.meta_path.insert(0, _NoPandas())
    main(prog_name="bistochastic")


if __name__ == "__main__":
    run()
