"""Apply each fault to a copy of the tree, and expect the tests that it names to fail.

``python -m mutants`` takes all patches, ``python -m mutants a b`` those of these names. A fault in
Python is a copy of both packages with the compiled core of the checkout. A fault in Rust costs a
build of the tests of the core; all copies share one folder of builds, ``target/mutants/build``.
Prints a table, and exits with 1 if a fault is not found or a patch does not apply.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "mutants"
# Seconds that the tests of one fault may take, with the build of the core.
LIMIT = 900
# Where Python looks for the library and the toolkit.
PACKAGES = ["python", "survey"]
PYTEST = [sys.executable, "-m", "pytest", "-x", "--no-header", "-p", "no:cacheprovider"]
CARGO = ["cargo", "test", "--lib", "--locked", "--quiet", "--", "--exact"]


@dataclass(frozen=True)
class Fault:
    """A patch, and what its first lines say."""

    name: str
    does: str
    tests: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Fault:
        """The comment lines at the start: what it does, what it breaks, which tests find it."""
        head = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ")]
        found_by = "Found by: "
        tests = tuple(line.removeprefix(found_by) for line in head if line.startswith(found_by))
        return cls(path.stem, head[0], tests)

    @property
    def is_python(self) -> bool:
        """Whether pytest runs its tests."""
        return ".py::" in self.tests[0]


def place(fault: Fault | None, is_python: bool) -> Path:
    """A copy of the sources, with the fault in it if there is one."""
    copy = HOME / ("python" if is_python else "rust")
    folders = PACKAGES if is_python else ["src", "benches", "examples", "scripts"]
    for folder in folders:
        # Cargo goes by the time of a change: what is copied again must not look older.
        shutil.rmtree(copy / folder, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored, copy_function=shutil.copy)
    if not is_python:
        for file in ("Cargo.toml", "Cargo.lock", "README.md"):
            shutil.copy(ROOT / file, copy / file)
    if fault is not None:
        patch = ROOT / "mutants" / f"{fault.name}.patch"
        # Git would look for the paths below the top of the checkout that the copy lies in.
        outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(HOME)}
        subprocess.run(["git", "apply", str(patch)], cwd=copy, env=outside, check=True)
    return copy


def python_path(copy: Path) -> str:
    """The packages of a copy, for ``PYTHONPATH``."""
    return os.pathsep.join(str(copy / folder) for folder in PACKAGES)


def run(tests: list[str], copy: Path, is_python: bool) -> tuple[int, str]:
    """How these tests end on a copy, and what they say."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("BISTOCHASTIC_")}
    if is_python:
        env |= {"PYTHONPATH": python_path(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        command, folder = [*PYTEST, *tests], ROOT
    else:
        env |= {"CARGO_TARGET_DIR": str(HOME / "build")}
        command, folder = [*CARGO, *tests], copy
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT
    )
    return done.returncode, done.stdout + done.stderr


def refuse_another_package(copy: Path) -> None:
    """Tests have to import the copy, and it has to have a compiled core."""
    show = "from bistochastic import _core as c; import bistochastic_survey as s; "
    show += "print(c.__file__, s.__file__)"
    env = {**os.environ, "PYTHONPATH": python_path(copy)}
    told = subprocess.run(
        [sys.executable, "-c", show], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    )
    if told.stdout.count(str(copy)) != len(PACKAGES):
        sys.exit(f"tests would not run on the copy but on {told.stdout.strip() or 'nothing'}")


def refuse_failing(faults: list[Fault], is_python: bool) -> None:
    """Without a fault, all tests have to be there and to pass."""
    tests = sorted({test for fault in faults for test in fault.tests})
    if not tests:
        return
    copy = place(None, is_python)
    if is_python:
        refuse_another_package(copy)
    code, said = run(tests, copy, is_python)
    ran = re.search(r"(\d+) passed", said)
    if code or ran is None or (not is_python and int(ran[1]) != len(tests)):
        sys.exit(f"{said}\ntests fail or are missing without any fault")
    print(f"{ran[1]} tests pass without a fault", flush=True)


def judge(fault: Fault) -> str:
    """Whether the tests find it."""
    try:
        copy = place(fault, fault.is_python)
    except subprocess.CalledProcessError:
        return "DOES NOT APPLY"
    try:
        code, said = run(list(fault.tests), copy, fault.is_python)
    except subprocess.TimeoutExpired:
        return "DID NOT END"
    if code == 0:
        return "SURVIVED"
    # Anything else, such as a fault that does not compile, shows nothing about the tests.
    failed = code == 1 if fault.is_python else "test result: FAILED" in said
    return "found" if failed else f"BROKEN, code {code}"


def main() -> None:
    """Everything without a fault, then each fault."""
    faults = [Fault.read(path) for path in sorted((ROOT / "mutants").glob("*.patch"))]
    names = sys.argv[1:] or [fault.name for fault in faults]
    if unknown := sorted(set(names) - {fault.name for fault in faults}):
        sys.exit(f"no such patch: {', '.join(unknown)}")
    faults = [fault for fault in faults if fault.name in names]
    for is_python in (True, False):
        refuse_failing([fault for fault in faults if fault.is_python == is_python], is_python)
    width = max(len(fault.name) for fault in faults)
    verdicts = []
    for fault in faults:
        verdicts.append(judge(fault))
        print(f"{fault.name:{width}}  {verdicts[-1]:14}  {fault.does}", flush=True)
    found = verdicts.count("found")
    print(f"{found} of {len(faults)} faults found")
    sys.exit(found < len(faults))


if __name__ == "__main__":
    main()
