"""Files that appear only when they are complete.

Parts are written to a folder of mode 0700 next to the file, in files of mode 0600, and renamed at
the end. A run that was killed leaves such a folder; the next run for the same file removes it. A
lock distinguishes it from the folder of a run that is still at work.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.wording import shown

_MARK = ".bistochastic-part"


class Whole:
    """A file in the making: write to :meth:`new` ones, then :meth:`rename` one of them."""

    def __init__(self, target: Path, name: str, *, follow: bool = True) -> None:
        self._name = name
        if not follow and target.is_symlink():
            raise Refused(name, "be a file", "a link, which could lead anywhere")
        # A link stays a link: what it leads to is replaced.
        self.target = Path(os.path.realpath(target))
        if self.target.exists() and not self.target.is_file():
            got = "a folder" if self.target.is_dir() else "something else"
            raise Refused(name, "be a file", got)
        if not self.target.parent.is_dir():
            got = f"none at {shown(Path(target).parent)}"
            raise Refused(name, "be in a folder that there is", got)

    def __enter__(self) -> Whole:
        prefix, folder = f".{self.target.name}{_MARK}-", self.target.parent
        # Until the new folder is locked, another run may think that it was left behind.
        with locked(self):
            for left in folder.glob(f"{glob.escape(prefix)}*"):
                with contextlib.suppress(OSError), _lock(left):
                    shutil.rmtree(left, ignore_errors=True)
            try:
                self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
            except OSError as error:
                must = "be in a folder that can be written"
                raise Refused(self._name, must, error.strerror) from None
            self._at_work = contextlib.ExitStack()
            with contextlib.suppress(OSError):
                self._at_work.enter_context(_lock(self._folder))
        return self

    def new(self, name: str) -> Path:
        """Make an empty file next to the target, readable only by its owner."""
        path = self._folder / name
        path.touch(0o600, exist_ok=False)
        return path

    def rename(self, part: Path) -> None:
        """Replace the target by a part, with the permissions of the old target."""
        # No name ever leads to half of a file. Some file systems know no such wait.
        with part.open("rb") as file, contextlib.suppress(OSError):
            os.fsync(file.fileno())
        mask = os.umask(0o077)
        os.umask(mask)
        # As the file that is replaced, or as any new file.
        mode = 0o666 & ~mask
        with contextlib.suppress(OSError):
            mode = self.target.stat().st_mode & 0o777
        part.chmod(mode)
        part.replace(self.target)

    def __exit__(self, *_error: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._at_work.close()


@contextlib.contextmanager
def locked(*files: Whole) -> Iterator[None]:
    """Keep other runs from replacing files in the same folders, and wait for those that do."""
    with contextlib.ExitStack() as stack:
        # In the same order everywhere, so no two runs wait for each other.
        for folder in sorted({file.target.parent for file in files}):
            # A folder that may be written and not read cannot be locked.
            with contextlib.suppress(OSError):
                stack.enter_context(_lock(folder, wait=True))
        yield


@contextlib.contextmanager
def _lock(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock that ends with this process, if the system has such locks; or ``OSError``."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def room(name: str, error: OSError) -> ValueError:
    """Turn the error of a full disk into one sentence."""
    # pyarrow writes more into the text than the reason.
    reason = os.strerror(error.errno) if error.errno else "an error of the system"
    return Refused(name, "be on a disk that takes it", shown(reason))


@contextlib.contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Name the file in errors about its text."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if isinstance(error, Refused | RefusedType) and error.name == "text":
            raise Refused(shown(path), error.must, error.got) from None
        raise Refused(f"`{shown(path)}`: {error}") from None


def write(path: str | os.PathLike[str], name: str, text: str) -> None:
    """Write text to a file that appears, or replaces an old one, when it is complete."""
    with Whole(Path(path), name) as whole:
        part = whole.new("text")
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            whole.rename(part)
        except OSError as error:
            raise room(name, error) from None
