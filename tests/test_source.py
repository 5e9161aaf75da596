"""Rules of the core's source that no compiler checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# What allocates as much as it is told and ends the process where it cannot. A list that is short
# whatever a caller gives is written `vec![a, b]` or collected by type (`.collect::<Option<_>>()`).
ALLOCATES = re.compile(
    r"vec!\[[^\[\]]*;|\.collect\(\)|\.collect::<Vec|::with_capacity\(|\.to_vec\(\)"
)
# These rooms hold keys, words and labels of a few bytes; Python's boundary has Python's own lists.
SMALL = ("system", "py", "keystream", "key.rs", "derive.rs", "erase.rs", "mutant.rs", "error.rs")


def rooms() -> list[Path]:
    return [
        path
        for path in sorted(SOURCE.rglob("*.rs"))
        if path.relative_to(SOURCE).parts[0] not in SMALL
    ]


@pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")
def test_memory_that_grows_with_input_is_asked_for_in_one_room() -> None:
    found = []
    for path in rooms():
        product = re.split(r"^#!?\[cfg\(test\)\]", path.read_text(), maxsplit=1, flags=re.M)[0]
        for number, line in enumerate(product.splitlines(), 1):
            if ALLOCATES.search(line) and not line.strip().startswith("//"):
                found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert not found, "use system::memory (zeros, filled, room, copied, gather)\n" + "\n".join(
        found
    )
    assert len(rooms()) > 50


def test_the_test_would_see_an_allocation() -> None:
    for line in (
        "let x = vec![0; n];",
        "x.iter().collect()",
        "Vec::with_capacity(n)",
        "x.to_vec()",
    ):
        assert ALLOCATES.search(line), line
    for line in ("vec![a, b]", ".collect::<Option<_>>()", "x.gather()", "memory::zeros(n)"):
        assert not ALLOCATES.search(line), line
