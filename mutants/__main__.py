"""Build once with all mutants, switch on one after the other, and expect its tests to fail.

The build has a folder of its own below ``target``; nothing that is installed is touched.
Prints a table, and exits with 1 where a mutant is not killed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants.registry import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "mutants"
SITE = HOME / "site"
SWITCH = "BISTOCHASTIC_MUTANT"
# Seconds that the tests of one mutant may take.
LIMIT = 300
OPTIONS = ["--locked", "--profile", "mutants", "--target-dir", str(HOME)]


@dataclass(frozen=True)
class Build:
    """The tests of the core; those in Python find the package in ``SITE``."""

    core: str

    def commands(self, tests: list[str]) -> list[tuple[list[str], int]]:
        """What runs these tests, each with the code by which it says that some failed."""
        python = [test for test in tests if test.startswith("tests/")]
        core = [test for test in tests if not test.startswith("tests/")]
        found = []
        if core:
            found.append(([self.core, "--exact", *core], 101))
        if python:
            quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider"]
            found.append(([sys.executable, "-m", "pytest", *quiet, *python], 1))
        return found


def environment(package: Path, mutant: str = "") -> dict[str, str]:
    """Ours without settings of the library, with this package and at most one mutant."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BISTOCHASTIC_")}
    return {**kept, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", SWITCH: mutant}


def build() -> Build:
    """Compile the tests of the core and the wheel, and unpack it."""
    clean = environment(ROOT)
    command = ["cargo", "test", "--lib", "--no-run", "--features", "mutants", *OPTIONS]
    told = subprocess.run(
        [*command, "--message-format", "json"],
        cwd=ROOT,
        env=clean,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    messages = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    core = next(m["executable"] for m in messages if m.get("executable"))
    maturin = str(Path(sys.executable).with_name("maturin"))
    shutil.rmtree(HOME / "wheel", ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    options = [*OPTIONS, "--features", "python,mutants", "--out", str(HOME / "wheel")]
    subprocess.run(
        [maturin, "build", "--quiet", "--interpreter", sys.executable, *options],
        cwd=ROOT,
        env=clean,
        check=True,
    )
    (wheel,) = (HOME / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(SITE)
    return Build(core)


def refuse_another_package() -> None:
    """Tests have to import the build with mutants, and it has to have them."""
    show = "from bistochastic import _core; print(_core.__file__)"
    command = [sys.executable, "-c", show]
    told = subprocess.run(
        command, cwd=ROOT, env=environment(SITE), stdout=subprocess.PIPE, text=True, check=True
    )
    library = Path(told.stdout.strip())
    if not library.is_relative_to(SITE) or SWITCH.encode() not in library.read_bytes():
        sys.exit(f"tests would not run on the build with mutants but on {library}")


def package_of(mutant: Mutant) -> Path:
    """The package as built, or of a mutant in Python a copy with the fault in it."""
    if not mutant.old:
        return SITE
    place = HOME / "python" / mutant.name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(SITE, place, copy_function=os.link)
    file = place / Path(mutant.room).relative_to("python")
    text = file.read_text()
    # A new file, as the old one is shared by all copies.
    file.unlink()
    file.write_text(text.replace(mutant.old, mutant.new))
    return place


def judge(built: Build, mutant: Mutant) -> str:
    """Whether the tests find it."""
    if mutant.avx2 and not has_avx2():
        return "not run here"
    package = package_of(mutant)
    # A mutant in Python is in the package; the core knows none of its name.
    env = environment(package, mutant.name)
    for command, failed in built.commands(list(mutant.killed_by)):
        try:
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return "DID NOT END"
        if done.returncode == 0:
            return "SURVIVED"
        if done.returncode != failed:
            return f"BROKEN, code {done.returncode}"
    return "killed"


def has_avx2() -> bool:
    """Whether the processor has AVX2, as far as the system says."""
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def main() -> None:
    """Build, run everything without a mutant, then each with its own."""
    begun = time.monotonic()
    built = build()
    refuse_another_package()
    every = sorted({test for mutant in MUTANTS for test in mutant.killed_by})
    for command, _ in built.commands(every):
        done = subprocess.run(command, cwd=ROOT, env=environment(SITE), capture_output=True)
        if done.returncode != 0:
            sys.stdout.write(done.stdout.decode(errors="replace"))
            sys.exit("tests fail without any mutant")
    print(f"{len(every)} tests pass without a mutant", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda mutant: judge(built, mutant), MUTANTS))
    name, room = (max(len(getattr(m, k)) for m in MUTANTS) for k in ("name", "room"))
    most = max(map(len, verdicts))
    for mutant, verdict in zip(MUTANTS, verdicts, strict=True):
        print(f"{mutant.name:{name}}  {mutant.room:{room}}  {verdict:{most}}  {mutant.does}")
        for test in mutant.killed_by:
            print(f"{'':{name}}  by {test}")
    alive = [v for v in verdicts if v not in ("killed", "not run here")]
    skipped = verdicts.count("not run here")
    took = time.monotonic() - begun
    print(
        f"{verdicts.count('killed')} of {len(MUTANTS)} mutants killed, {len(alive)} not, "
        f"{skipped} not run here; {took:.0f} s"
    )
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
