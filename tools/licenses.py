"""Write THIRD-PARTY-LICENSES: the crates that are linked into the wheel, with their licences.

``python tools/licenses.py`` writes the file, ``--check`` says whether it is what it would write.
Crates come from ``cargo metadata``, texts from the sources that cargo built from. Macros run in the
compiler and are not linked. Where a crate leaves the choice, MIT is taken.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "THIRD-PARTY-LICENSES"
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
HEAD = """\
The wheels of bistochastic contain these crates, beside Rust's standard library (MIT OR Apache-2.0).
Written by `make licenses`, never by hand. A crate that leaves the choice is used under MIT.
"""


def linked() -> list[dict[str, Any]]:
    """The crates of the release, for all platforms that have wheels, by name."""
    found = {crate: package for platform in PLATFORMS for crate, package in _on(platform).items()}
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def _on(platform: str) -> dict[str, dict[str, Any]]:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    options = ["--features", "python", "--filter-platform", platform]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=True
    )
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    seen: set[str] = set()
    todo = [root]
    while todo:
        crate = todo.pop()
        if crate in seen or "proc-macro" in packages[crate]["targets"][0]["kind"]:
            continue
        seen.add(crate)
        for dependency in nodes[crate]["deps"]:
            # Neither for tests nor for build scripts.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return {crate: packages[crate] for crate in seen - {root}}


def texts(package: dict[str, Any]) -> list[str]:
    """The licence texts of a crate: MIT where it is a choice, else all."""
    folder = Path(package["manifest_path"]).parent
    starts = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE")
    found = sorted(file for file in folder.iterdir() if file.name.upper().startswith(starts))
    notices = [file for file in found if file.name.upper().startswith("NOTICE")]
    free = [file for file in found if "MIT" in file.name.upper().replace("-", "")]
    if free and "AND" not in package["license"]:
        found = [*free, *notices]
    if not found:
        raise SystemExit(f"{package['name']} has no licence file")
    read = (file.read_text(encoding="utf-8", errors="replace") for file in found)
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in read]


def page() -> str:
    """The whole file: every text once, after the crates that come under it."""
    under: dict[str, list[str]] = {}
    for package in linked():
        for text in texts(package):
            who = f"{package['name']} {package['version']} ({package['license']})"
            under.setdefault(text, []).append(who)
    parts = [HEAD]
    for text, crates in under.items():
        parts.append("\n".join(["=" * 80, *crates, "=" * 80, "", text, ""]))
    return "\n".join(parts)


def main() -> None:
    """Write the file, or with ``--check`` compare it."""
    wanted = page()
    if "--check" not in sys.argv:
        FILE.write_text(wanted, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != wanted:
        raise SystemExit("THIRD-PARTY-LICENSES must be written anew by `make licenses`")


if __name__ == "__main__":
    main()
