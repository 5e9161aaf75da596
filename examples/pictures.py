"""Draw the pictures of the documentation: ``python examples/pictures.py [folder]``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image  # comes with matplotlib

import bistochastic as bs


def main(folder: Path) -> None:
    """Write all pictures into the folder."""
    figures = {
        "tradeoff": bs.plot.tradeoff(12),
        "choices": bs.plot.choices(200, records=100_000),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=180)
        # 64 colours are enough, and the file is a third as large.
        image = Image.open(drawn).convert("RGB").quantize(64)
        image.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent / "docs" / "pictures"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
