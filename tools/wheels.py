"""Build what a release gives away, check it, and try it where there is no Rust.

``python tools/wheels.py`` is `make wheels`: the sdist, and wheels for Linux on x86-64 and ARM, in
``dist``. The release workflow runs the parts: ``sdist``, ``build`` (one wheel, for the interpreter
that runs this), ``check``, ``try`` (the wheel in ``dist`` that fits this interpreter),
``emulate`` (the wheel for ARM on an emulated processor, where Debian's qemu-user-static and
debootstrap are installed) and ``rebuild`` (a wheel from the sdist). Each part says in a line what
it does, and the first fault ends it. Only the standard library is imported; programs are installed
below ``.venv``.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
# Bytes that a wheel may have.
MOST = 3_000_000
PARTS = ("all", "sdist", "build", "check", "try", "emulate", "rebuild")
MACHINES = ("x86_64", "aarch64")
LICENCES = ("LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES")
BUILDERS = ("maturin>=1.16,<2", *(("ziglang>=0.15,<0.18",) if sys.platform == "linux" else ()))
CHECKERS = ("auditwheel>=6.4", "abi3audit>=0.0.20", "twine>=6.1")
# What holds the golden vectors: laws, words, reports by position and by id, old pickles.
VECTORS = ("values", "randomize", "ids", "respond", "pickles")
BESIDE = ("drawn.py",)
NEEDED = ("pytest>=9", "mpmath>=1.3")
# What emulates the other processor; what gets a system for it, with its Python and C library.
EMULATOR, SYSTEM = "qemu-aarch64-static", ("debootstrap", "bookworm", (3, 11), (2, 36))
# Tests that start the interpreter as a process, which only an emulator can.
STARTS = ("test_randomize.py::test_every_processor_gives_the_same_bits",)
# A build leaves these behind, or they are nobody's but ours.
JUNK = (".ci/", ".github/", ".venv/", "target/", "dist/", "data/")
LIBRARIES = (".so", ".pyd", ".dylib", ".dll", ".pyc")


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
    """Those of this version in ``dist``."""
    return sorted(DIST.glob(f"bistochastic-{version()}-*.whl"))


def sdist() -> Path:
    """Build the sdist, and look what is in it."""
    say("the sdist")
    run(tools(*BUILDERS) / "maturin", "sdist", "--out", DIST)
    made = DIST / f"bistochastic-{version()}.tar.gz"
    with tarfile.open(made) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if missing := sorted(needed(known) - held):
        raise ReleaseError(f"the sdist must hold every source; got none of {', '.join(missing)}")
    if junk := sorted(name for name in held - {"PKG-INFO"} if strange(name, known)):
        raise ReleaseError(f"the sdist must hold sources alone; got {', '.join(junk)}")
    print(f"   {made.name}: {made.stat().st_size:,} bytes, {len(held)} files, all of them sources")
    return made


def needed(known: list[str]) -> set[str]:
    """What nobody can build, read or test without, of the files that git knows."""
    folders = ("src/", "python/", "tests/")
    single = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "CHANGELOG.md", *LICENCES}
    return {name for name in known if name.startswith(folders)} | single


def strange(name: str, known: list[str]) -> bool:
    """Whether a file has no business in an sdist."""
    return name not in known or name.startswith(JUNK) or name.endswith(LIBRARIES)


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
        if file.suffix == ".whl":
            say(f"what is in {file.name}")
            looked_into(file)
            if "-manylinux" in file.name:
                audited(folder, file)
            if "-abi3-" in file.name:
                run(folder / "abi3audit", "--strict", "--summary", file)
    say("what the index will say")
    run(folder / "twine", "check", "--strict", *files)


def looked_into(wheel: Path) -> None:
    """Size, licences, types and one library."""
    size = wheel.stat().st_size
    if size >= MOST:
        raise ReleaseError(f"a wheel must have fewer than {MOST:,} bytes; got {size:,}")
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
    home = f"bistochastic-{version()}.dist-info/licenses"
    wanted = {f"{home}/{name}" for name in LICENCES} | {"bistochastic/py.typed"}
    known = (ROOT / "python").rglob("*.*")
    ours = (file for file in known if not file.name.endswith(LIBRARIES))
    wanted |= {file.relative_to(ROOT / "python").as_posix() for file in ours}
    if missing := sorted(wanted - set(held)):
        raise ReleaseError(f"a wheel must hold all of the package; got no {', '.join(missing)}")
    built = [name for name in held if name.endswith(LIBRARIES)]
    if len(built) != 1 or not built[0].startswith("bistochastic/_core."):
        raise ReleaseError(f"a wheel must hold one library; got {', '.join(built) or 'none'}")
    print(f"   {size:,} bytes, {len(held)} files, {built[0]}, {len(LICENCES)} licence files")


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


def attempt(wheel: Path) -> None:
    """Install into an empty environment without Rust, and run the golden vectors there."""
    say(f"{wheel.name} in an empty environment without Rust, Python {platform.python_version()}")
    clean = without_rust()
    for program in ("cargo", "rustc"):
        if shutil.which(program, path=clean["PATH"]):
            raise ReleaseError(f"`PATH` must lead to no {program}")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        python = empty(home / "env")
        pip = (python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
        run(*pip, wheel, *NEEDED, environment=clean, cwd=home)
        options = vectors(home)
        where = "import bistochastic; print(bistochastic._core.__file__)"
        if str(home) not in run(python, "-c", where, environment=clean, cwd=home):
            raise ReleaseError("the vectors must meet the wheel; got another bistochastic")
        run(python, "-m", "pytest", *options, environment=clean, cwd=home)
        run(programs(home / "env") / "bistochastic", "--version", environment=clean, cwd=home)


def vectors(home: Path) -> tuple[str, ...]:
    """Put the golden vectors into a folder; what pytest has to be told to run them there."""
    tests = home / "tests"
    tests.mkdir()
    for test in [*(f"test_{vector}.py" for vector in VECTORS), *BESIDE]:
        shutil.copy(ROOT / "tests" / test, tests)
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
    check([source, *wheels()])
    attempt(fitting())
    if sentence := cannot_emulate():
        left_out.append(sentence)
        say(sentence)
    else:
        emulate()
    rebuild(source)
    say("all is well with")
    for file in [source, *wheels()]:
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
        elif part == "check":
            check([*([source] if source.exists() else []), *wheels()])
        elif part == "try":
            attempt(fitting())
        elif part == "emulate":
            emulate()
        else:
            rebuild(source)
    except ReleaseError as fault:
        raise SystemExit(f"== FAILED: {fault}") from None


if __name__ == "__main__":
    main()
