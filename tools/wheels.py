"""Build what a release gives away, check it, and try it where there is no Rust.

``python tools/wheels.py`` is `make wheels`: the library's sdist and its wheels for Linux on x86-64
and ARM, and the toolkit's sdist and wheel, in ``dist``. The release workflow runs the parts:
``sdist`` and ``build`` (the library's; one wheel, for the interpreter that runs this), ``toolkit``
(its sdist, and its wheel from the sdist), ``check``, ``try`` (the wheels in ``dist`` that fit this
interpreter), ``emulate`` (the wheel for ARM on an emulated processor, where Debian's
qemu-user-static and debootstrap are installed) and ``rebuild`` (a wheel from the library's sdist).
Each part says in a line what it does, and the first fault ends it. Only the standard library is
imported; programs are installed below ``.venv``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import posixpath
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLKIT = ROOT / "survey"
# Bytes that a wheel may have.
MOST = 3_000_000
PARTS = ("all", "sdist", "build", "toolkit", "check", "try", "emulate", "rebuild")
MACHINES = ("x86_64", "aarch64")
LICENCES = ("LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES")
# The list of linked crates that maturin writes, CycloneDX.
SBOM = "sboms/bistochastic.cyclonedx.json"
# The toolkit links no crate; its metadata name all that it needs.
TOOLKIT_LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
BUILDERS = ("maturin>=1.16,<2", *(("ziglang>=0.15,<0.18",) if sys.platform == "linux" else ()))
TOOLKIT_BUILDERS = ("build>=1.2", "hatchling>=1.27")
CHECKERS = ("auditwheel>=6.4", "abi3audit>=0.0.20", "twine>=6.1")
# What holds the golden vectors: laws, words, reports by position and by id, old pickles.
VECTORS = (
    "test_values.py", "test_pickles.py", "draw/test_randomize.py", "draw/test_ids.py",
    "draw/test_respond.py",
)  # fmt: skip
BESIDE = ("draw_cases.py",)
NEEDED = ("pytest>=9", "mpmath>=1.3")
# What emulates the other processor; what gets a system for it, with its Python and C library.
EMULATOR, SYSTEM = "qemu-aarch64-static", ("debootstrap", "bookworm", (3, 11), (2, 36))
# Tests that start the interpreter as a process, which only an emulator can.
STARTS = ("draw/test_randomize.py::test_every_processor_gives_the_same_bits",)
# A build leaves these behind, or they are nobody's but ours.
JUNK = (".ci/", ".github/", ".venv/", "target/", "dist/", "data/", "survey/")
LIBRARIES = (".so", ".pyd", ".dylib", ".dll", ".pyc")
# What the library does where there is NumPy and nothing else.
LIBRARY_TRIAL = """
from importlib.metadata import distributions
import numpy as np
import bistochastic as bs
there = {each.name for each in distributions()} - {"pip", "setuptools"}
assert there == {"bistochastic", "numpy"}, there
m = bs.randomized_response(12, epsilon=1)
codes = np.arange(120_000, dtype=np.uint8) % 12
reported = m.randomize(codes)
assert reported.dtype == codes.dtype and (reported != codes).any()
assert m.estimate(reported).interval().shape == (12, 2)
assert m.decompose().terms == 12
print(bs._core.__file__)
"""
# The sample data as files of both kinds that need no extra.
SAMPLE = """
import bistochastic_survey as sv
from pyarrow import csv, parquet, table
people = table(sv.titanic())
csv.write_csv(people, "people.csv")
parquet.write_table(people, "people.parquet")
print(sv.__file__)
"""


class ReleaseError(Exception):
    """What is wrong with a release, in a sentence."""


def say(text: str) -> None:
    """A line for whoever watches, before what it announces."""
    print(f"== {text}", flush=True)


def run(*command: str | Path, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What a program printed, which is shown as it comes; it must succeed."""
    words = [str(word) for word in command]
    said: list[str] = []
    with subprocess.Popen(
        words,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"   {line}", end="", flush=True)
            said.append(line)
    if process.returncode:
        raise ReleaseError(f"`{' '.join(words)}` ended with {process.returncode}")
    return "".join(said)


def programs(home: Path) -> Path:
    """The folder of a virtual environment that holds its programs."""
    return home / ("Scripts" if os.name == "nt" else "bin")


def empty(home: Path) -> Path:
    """A new environment with nothing in it; its interpreter."""
    run(sys.executable, "-m", "venv", "--clear", home)
    return programs(home) / ("python.exe" if os.name == "nt" else "python")


def tools(*packages: str) -> Path:
    """The programs of an environment that is kept, one for each interpreter."""
    free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    home = ROOT / ".venv" / f"release-{sys.implementation.cache_tag}{free}"
    python = programs(home) / ("python.exe" if os.name == "nt" else "python")
    if not python.exists():
        empty(home)
    run(python, "-m", "pip", "install", "--quiet", *packages)
    return programs(home)


def for_the_index(text: str, folder: str) -> str:
    """Give a README whose links work outside of a clone: they lead to the files of this version."""
    home = "https://github.com/bistochastic/bistochastic"

    def absolute(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        return f"{found[1]}({home}/{'raw' if found[1][0] == '!' else 'blob'}/v{version()}/{path})"

    return re.sub(r"(!?\[[^\]]*\])\((?!\w+:|#)([^)\s]+)\)", absolute, text)


@contextmanager
def readmes_for_the_index() -> Iterator[None]:
    """Build with READMEs for the index, and put back those of the clone."""
    pages = {ROOT / "README.md": "", TOOLKIT / "README.md": "survey"}
    before = {page: page.read_bytes() for page in pages}
    try:
        for page, folder in pages.items():
            made = for_the_index(before[page].decode(), folder)
            page.write_bytes(made.encode())
        yield
    finally:
        for page, text in before.items():
            page.write_bytes(text)


def with_first(folder: Path) -> dict[str, str]:
    """Our environment, with the programs of this folder before all others."""
    return {**os.environ, "PATH": os.pathsep.join([str(folder), os.environ.get("PATH", "")])}


def without_rust() -> dict[str, str]:
    """Our environment without Rust, and without settings that lead Python to the source tree."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    kept = [f for f in folders if not any(shutil.which(p, path=f) for p in ("cargo", "rustc"))]
    found = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CARGO", "RUST"))}
    return {**found, "PATH": os.pathsep.join(kept)}


def version() -> str:
    """The one that Cargo.toml states."""
    found = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(found["package"]["version"])


def wheels() -> list[Path]:
    """The library's, of this version, in ``dist``."""
    return sorted(DIST.glob(f"bistochastic-{version()}-*.whl"))


def given_away() -> list[Path]:
    """What ``dist`` holds of this version: sdists and wheels of both."""
    return sorted(DIST.glob(f"bistochastic*-{version()}[.-]*"))


def toolkit_wheel() -> Path:
    """The toolkit's only wheel."""
    return DIST / f"bistochastic_survey-{version()}-py3-none-any.whl"


@readmes_for_the_index()
def sdist() -> Path:
    """Build the sdist, and look what is in it."""
    say("the library's sdist")
    run(tools(*BUILDERS) / "maturin", "sdist", "--out", DIST)
    made = DIST / f"bistochastic-{version()}.tar.gz"
    known = tracked(ROOT)
    compared(made, needed(known), {name for name in known if not strange(name, known)})
    return made


@readmes_for_the_index()
def toolkit() -> Path:
    """Build the toolkit's sdist, and its wheel from that; look what is in both."""
    say("the toolkit's sdist and wheel")
    python = tools(*TOOLKIT_BUILDERS) / ("python.exe" if os.name == "nt" else "python")
    run(python, "-m", "build", "--no-isolation", "--outdir", DIST, TOOLKIT)
    made = DIST / f"bistochastic_survey-{version()}.tar.gz"
    ours = {name for name in tracked(TOOLKIT) if not name.startswith("tests/")}
    # The builder adds the list of what git leaves out.
    compared(made, ours, ours | {".gitignore"})
    looked_into_toolkit(toolkit_wheel())
    return made


def tracked(folder: Path) -> list[str]:
    """The files below a folder that git knows."""
    command = ["git", "ls-files"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def compared(made: Path, wanted: set[str], allowed: set[str]) -> None:
    """Look whether an sdist holds what it must, and nothing that it may not."""
    with tarfile.open(made) as archive:
        held = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
    if missing := sorted(wanted - held):
        raise ReleaseError(f"the sdist must hold every source; got none of {', '.join(missing)}")
    if junk := sorted(held - allowed - {"PKG-INFO"}):
        raise ReleaseError(f"the sdist must hold sources alone; got {', '.join(junk)}")
    print(f"   {made.name}: {made.stat().st_size:,} bytes, {len(held)} files, all of them sources")


def needed(known: list[str]) -> set[str]:
    """What nobody can build, read or test without, of the files that git knows."""
    folders = ("src/", "python/", "tests/")
    single = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "CHANGELOG.md", *LICENCES}
    return {name for name in known if name.startswith(folders)} | single


def strange(name: str, known: list[str]) -> bool:
    """Whether a file has no business in an sdist."""
    return name not in known or name.startswith(JUNK) or name.endswith(LIBRARIES)


@readmes_for_the_index()
def build(target: str | None = None) -> None:
    """One wheel with this interpreter, for this machine or another; no compiler warning."""
    options: list[str] = ["--interpreter", sys.executable]
    if sys.platform == "linux":
        # zig has the C library of every age, so that no old system is needed to build for one.
        options = ["--zig", "--compatibility", "manylinux2014", *options]
        options += ["--target", target or f"{platform.machine()}-unknown-linux-gnu"]
    folder = tools(*BUILDERS)
    start = time.monotonic()
    command = (folder / "maturin", "build", "--release", "--locked", "--out", DIST)
    said = run(*command, *options, environment=with_first(folder))
    if "warning: `bistochastic`" in said:
        raise ReleaseError("the core must compile without a warning")
    print(f"   compiled in {time.monotonic() - start:.0f} s without a warning")


def can_compile(target: str) -> bool:
    """Whether this toolchain has the standard library of a target."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return any(Path(done.stdout.strip()).glob("libstd-*.rlib"))


def check(files: list[Path]) -> None:
    """What each wheel holds and weighs, and what the judges of the index say."""
    folder = tools(*CHECKERS)
    if not files:
        raise ReleaseError(f"`dist` must hold files of version {version()}; got none")
    for file in files:
        if file.name.startswith("bistochastic_survey-") and file.suffix == ".whl":
            say(f"what is in {file.name}")
            looked_into_toolkit(file)
        elif file.suffix == ".whl":
            say(f"what is in {file.name}")
            looked_into(file)
            if "-manylinux" in file.name:
                audited(folder, file)
            if "-abi3-" in file.name:
                run(folder / "abi3audit", "--strict", "--summary", file)
    say("what the index will say")
    run(folder / "twine", "check", "--strict", *files)


def looked_into(wheel: Path) -> None:
    """Size, licences, types, the list of crates and one compiled file in a wheel of the library."""
    info = f"bistochastic-{version()}"
    held = whole(wheel, ROOT / "python", info, LICENCES)
    if f"{info}.dist-info/{SBOM}" not in held:
        raise ReleaseError(f"a wheel must list its crates; got no {SBOM}")
    with zipfile.ZipFile(wheel) as archive:
        compare_crates(json.loads(archive.read(f"{info}.dist-info/{SBOM}")))
    built = [name for name in held if name.endswith(LIBRARIES)]
    if len(built) != 1 or not built[0].startswith("bistochastic/_core."):
        raise ReleaseError(f"a wheel must hold one library; got {', '.join(built) or 'none'}")


def compare_crates(listed: dict[str, list[dict[str, str]]]) -> None:
    """The list of crates has all that Cargo.toml names, and each as Cargo.lock has it."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    locked = {(each["name"], each["version"]) for each in lock}
    found = {(each["name"], each["version"]) for each in listed.get("components", [])}
    if strangers := sorted(f"{name} {number}" for name, number in found - locked):
        raise ReleaseError(f"listed crates must be in Cargo.lock; got {', '.join(strangers)}")
    needed = set(tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["dependencies"])
    if missing := sorted(needed - {name for name, _ in found}):
        raise ReleaseError(f"a wheel must list its crates; got no {', '.join(missing)}")


def looked_into_toolkit(wheel: Path) -> None:
    """Size, licences, types and the requirement in the wheel of the toolkit, all of it Python."""
    info = f"bistochastic_survey-{version()}"
    held = whole(wheel, TOOLKIT, info, TOOLKIT_LICENCES)
    if built := [name for name in held if name.endswith(LIBRARIES)]:
        raise ReleaseError(f"the toolkit must be Python alone; got {', '.join(built)}")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}.dist-info/METADATA").decode("utf-8").splitlines()
    if f"Requires-Dist: bistochastic=={version()}" not in metadata:
        raise ReleaseError(f"the toolkit must require the library of version {version()}")


def whole(wheel: Path, home: Path, info: str, licences: tuple[str, ...]) -> list[str]:
    """What a wheel holds: all of its package, which lies in ``home``, and nothing else."""
    size = wheel.stat().st_size
    if size >= MOST:
        raise ReleaseError(f"a wheel must have fewer than {MOST:,} bytes; got {size:,}")
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
    package = info.partition("-")[0]
    ours = (file for file in (home / package).rglob("*.*") if file.is_file())
    wanted = {file.relative_to(home).as_posix() for file in ours if file.suffix not in LIBRARIES}
    wanted |= {f"{info}.dist-info/licenses/{name}" for name in licences}
    if missing := sorted(wanted - set(held)):
        raise ReleaseError(f"a wheel must hold all of the package; got no {', '.join(missing)}")
    beside = [name for name in held if not name.startswith(f"{info}.dist-info/")]
    if junk := sorted(set(beside) - wanted - {name for name in beside if name.endswith(LIBRARIES)}):
        raise ReleaseError(f"a wheel must hold the package alone; got {', '.join(junk)}")
    print(f"   {size:,} bytes, {len(held)} files, {len(licences)} licence files")
    return held


def audited(folder: Path, wheel: Path) -> None:
    """Whether it runs on every Linux that its name promises."""
    said = " ".join(run(folder / "auditwheel", "show", wheel).split())
    machine = wheel.stem.rpartition("manylinux2014_")[2].partition(".")[0]
    if f'"manylinux_2_17_{machine}"' not in said:
        raise ReleaseError(f"{wheel.name} must run on every system of manylinux2014; see above")


def fitting() -> Path:
    """The wheel in ``dist`` for this interpreter and machine."""
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    abi = f"-cp{sys.version_info[0]}{sys.version_info[1]}t-" if free else "-abi3-"
    machine = {"AMD64": "amd64"}.get(platform.machine(), platform.machine())
    system = {"linux": "linux", "darwin": "macosx", "win32": "win"}[sys.platform]
    found = [w for w in wheels() if abi in w.name and system in w.name and machine in w.name]
    if len(found) != 1:
        raise ReleaseError(f"`dist` must hold one wheel for this interpreter; got {len(found)}")
    return found[0]


def attempt(wheel: Path, survey: Path) -> None:
    """Install both into an empty environment without Rust, and do what they are for."""
    say(f"{wheel.name} in an empty environment without Rust, Python {platform.python_version()}")
    clean = without_rust()
    for program in ("cargo", "rustc"):
        if shutil.which(program, path=clean["PATH"]):
            raise ReleaseError(f"`PATH` must lead to no {program}")
    if not survey.exists():
        raise ReleaseError(f"`dist` must hold {survey.name}; got none")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        python = empty(home / "env")

        def inside(*command: str | Path) -> str:
            return run(*command, environment=clean, cwd=home)

        def install(*packages: str | Path) -> None:
            inside(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *packages)

        install(wheel)
        if str(home) not in inside(python, "-c", LIBRARY_TRIAL):
            raise ReleaseError("the trial must meet the wheel; got another bistochastic")
        say(f"{survey.name} beside it, without an extra")
        install(survey)
        if str(home) not in inside(python, "-c", SAMPLE):
            raise ReleaseError("the trial must meet the wheel; got another bistochastic_survey")
        command = programs(home / "env") / "bistochastic"
        for start in ([command], [python, "-m", "bistochastic_survey"]):
            if version() not in inside(*start, "--version"):
                raise ReleaseError(f"the command must state version {version()}; see above")
        inside(command, "plan", "people.csv", "--categories-from-data", "--beta", "0.6", "--out",
               "plan.toml")  # fmt: skip
        for ending in ("csv", "parquet"):
            made = f"protected.{ending}"
            inside(command, "protect", f"people.{ending}", made, "--plan", "plan.toml", "--shuffle")
            inside(command, "verify", made)
        say("the golden vectors")
        install(*NEEDED)
        inside(python, "-m", "pytest", *vectors(home))


def vectors(home: Path) -> tuple[str, ...]:
    """Put the golden vectors into a folder; what pytest has to be told to run them there."""
    for test in (*VECTORS, *BESIDE):
        (home / "tests" / test).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / test, home / "tests" / test)
    # An empty configuration, so that none from a folder above is found.
    (home / "pytest.ini").write_text("[pytest]\npythonpath = tests\n", encoding="utf-8")
    return "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "tests"


def cannot_emulate() -> str | None:
    """What is missing for a try of the wheel for ARM, in a sentence."""
    for program in (EMULATOR, SYSTEM[0]):
        if shutil.which(program) is None:
            return f"the wheel for aarch64 was not run: there is no {program}"
    if not any("aarch64" in wheel.name for wheel in wheels()):
        return "the wheel for aarch64 was not run: there is none"
    return None


def emulate() -> None:
    """Run the golden vectors with the wheel for ARM, on an emulated processor."""
    if sentence := cannot_emulate():
        raise ReleaseError(sentence)
    (wheel,) = (wheel for wheel in wheels() if "aarch64" in wheel.name)
    say(f"{wheel.name} on an emulated processor")
    program, suite, python, glibc = SYSTEM
    system = ROOT / ".venv" / f"{suite}-arm64"
    interpreter = system / "usr" / "bin" / f"python{python[0]}.{python[1]}"
    if not interpreter.exists():
        # Packages are only unpacked: nothing has to run for that.
        run(program, "--arch=arm64", "--foreign", "--variant=minbase", "--include=python3", suite,
            system)  # fmt: skip
        for package in (system / "var" / "cache" / "apt" / "archives").glob("*.deb"):
            run("dpkg", "-x", package, system)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        own = empty(home / "env")
        ages = [f"manylinux_{glibc[0]}_{age}_aarch64" for age in range(17, glibc[1] + 1)]
        tags = ["manylinux2014_aarch64", *ages]
        run(own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target",
            home / "site", "--python-version", f"{python[0]}.{python[1]}", "--implementation", "cp",
            *(word for tag in tags for word in ("--platform", tag)), wheel, *NEEDED)  # fmt: skip
        options = vectors(home)
        left = [word for test in STARTS for word in ("--deselect", f"tests/{test}")]
        run(EMULATOR, "-L", system, interpreter, "-m", "pytest", *options, *left, cwd=home,
            environment={**without_rust(), "PYTHONPATH": str(home / "site")})  # fmt: skip


def rebuild(source: Path) -> None:
    """A wheel from the sdist alone, as pip makes one where no wheel fits."""
    say(f"a wheel from {source.name}, in an empty environment with Rust")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        python = empty(home / "env")
        pip = (python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", home)
        # Whether it compiles is the question, not how fast it draws.
        quick = {**os.environ, "MATURIN_PEP517_ARGS": "--locked --profile quick"}
        run(*pip, source, environment=quick, cwd=home)
        (wheel,) = home.glob("*.whl")
        looked_into(wheel)


def everything() -> None:
    """What `make wheels` does."""
    shutil.rmtree(DIST, ignore_errors=True)
    source = sdist()
    toolkit()
    left_out = []
    for machine in MACHINES:
        target = f"{machine}-unknown-linux-gnu"
        if can_compile(target):
            say(f"the wheel for Linux on {machine}")
            build(target)
        else:
            cure = f"the toolchain lacks {target} (`rustup target add` gets it)"
            left_out.append(f"no wheel for {machine}: {cure}")
            say(left_out[-1])
    check(given_away())
    attempt(fitting(), toolkit_wheel())
    if sentence := cannot_emulate():
        left_out.append(sentence)
        say(sentence)
    else:
        emulate()
    rebuild(source)
    say("all is well with")
    for file in given_away():
        print(f"   {file.stat().st_size:>9,} bytes  {file.name}")
    for sentence in left_out:
        print(f"   {sentence}")


def main() -> None:
    """Read the part, do it, and say what is wrong in a sentence."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reader.add_argument("part", nargs="?", choices=PARTS, default="all")
    part = reader.parse_args().part
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Programs print what some consoles have no letters for.
        sys.stdout.reconfigure(errors="replace")
    source = DIST / f"bistochastic-{version()}.tar.gz"
    try:
        if part == "all":
            everything()
        elif part == "sdist":
            sdist()
        elif part == "build":
            build()
        elif part == "toolkit":
            toolkit()
        elif part == "check":
            check(given_away())
        elif part == "try":
            attempt(fitting(), toolkit_wheel())
        elif part == "emulate":
            emulate()
        else:
            rebuild(source)
    except ReleaseError as fault:
        raise SystemExit(f"== FAILED: {fault}") from None


if __name__ == "__main__":
    main()
