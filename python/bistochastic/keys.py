"""``KeySource``: the place of a key, to be read on the machine that does the work.

An engine sends functions and settings to its workers, and writes them into plans and logs on the
way. A source holds a place and a fingerprint instead. Each worker reads the key itself, once per
process, and checks its fingerprint.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import hexdigits
from typing import Self

from bistochastic import _core
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown, shown

# Keys that this process has read, by source. Without a lock, which a forked child may find taken.
_READ: dict["KeySource", _core.Key] = {}


@dataclass(frozen=True)
class KeySource(Shown):
    """The place of a key and its fingerprint. It can be pickled, because the key is not inside.

    Make one with :meth:`file`, :meth:`env`, :meth:`call` or :meth:`temporary`.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.key"
    >>> bs.Key.from_bytes(bytes(range(32))).to_file(path)
    >>> source = bs.KeySource.file(path)
    >>> source.fingerprint
    '20aef655876fef61'
    >>> source.read() == bs.Key.from_file(path)
    True
    """

    kind: str
    """``"file"``, ``"env"`` or ``"call"``."""
    place: str
    """The path, the name of the variable, or ``module:function``."""
    fingerprint: str
    """The fingerprint that the key must have."""

    @classmethod
    def file(cls, path: str | os.PathLike[str], *, fingerprint: str | None = None) -> Self:
        """Read the key from a file, at the same path on every machine.

        A relative path is resolved now; the result shows it. Without ``fingerprint`` the file is
        read now, on this machine, to compute it.
        """
        return cls._of("file", str(_absolute(path)), fingerprint)

    @classmethod
    def env(cls, name: str, *, fingerprint: str | None = None) -> Self:
        """Read the key from the environment variable ``name``: its hexadecimal digits, or a path.

        A path keeps the key out of the environment, which other programs may see or log. A relative
        path is looked for at each read, from where the process then is. For ``fingerprint`` see
        :meth:`file`.
        """
        return cls._of("env", _checked("name", name), fingerprint)

    @classmethod
    def call(cls, function: str, *, fingerprint: str | None = None) -> Self:
        """Get the key from a function, ``"module:function"``, which each worker imports and calls.

        Use it for keys from a vault. A name from someone else's file could run any code. For
        ``fingerprint`` see :meth:`file`.
        """
        text = _checked("function", function)
        module, colon, name = text.partition(":")
        if not (colon and all(part.isidentifier() for part in (*module.split("."), name))):
            raise Refused("function", 'be "module:function"', "a string of another form")
        return cls._of("call", text, fingerprint)

    @classmethod
    @contextlib.contextmanager
    def temporary(cls, directory: str | os.PathLike[str]) -> Iterator[Self]:
        """Generate a key in a file of its own, and erase the file at the end of the block.

        This is ``key=None`` for an engine. All work has to be done inside the block, and all
        workers must see ``directory``. A worker that has read the key holds it until it ends.
        """
        import secrets

        path = _absolute(directory) / f"{secrets.token_hex(8)}.key"
        key = _core.Key.generate()
        key.to_file(path)
        source = cls("file", str(path), key.fingerprint)
        del key
        try:
            yield source
        finally:
            _READ.pop(source, None)
            with contextlib.suppress(FileNotFoundError):
                with path.open("r+b") as file:
                    file.write(b"\0" * 65)
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()

    @classmethod
    def _of(cls, kind: str, place: str, fingerprint: str | None) -> Self:
        if fingerprint is None:
            return cls(kind, place, _found(kind, place).fingerprint)
        text = _checked("fingerprint", fingerprint)
        if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
            must = "be 16 hexadecimal digits, as Key.fingerprint is"
            raise Refused("fingerprint", must, "a string of another form")
        return cls(kind, place, text)

    def read(self) -> _core.Key:
        """Read the key, once per process. A key with another fingerprint raises an error."""
        known = _READ.get(self)
        if known is None:
            known = _found(self.kind, self.place)
            if known.fingerprint != self.fingerprint:
                must = f"be the one with fingerprint {self.fingerprint}"
                raise Refused("key", must, f"{known.fingerprint} in this process")
            _READ[self] = known
        return known

    def __repr__(self) -> str:
        return f"<KeySource {self.kind} {shown(self.place)}, fingerprint {self.fingerprint}>"


def read_key(key: object, *, allow_insecure: object = False) -> _core.Key:
    """Return the key that a caller gives, itself or by its :class:`~bistochastic.KeySource`.

    ``Key.insecure`` raises ``ValueError`` unless ``allow_insecure``, because anyone can guess it.

    >>> bs.backend.read_key(bs.Key.insecure(1), allow_insecure=True).fingerprint
    'insecure'
    >>> bs.backend.read_key(bs.Key.insecure(1))
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: `key` must be a secret, or allow_insecure=True be said; got one
        that anyone can guess
    """
    held = key.read() if isinstance(key, KeySource) else key
    if not isinstance(held, _core.Key):
        raise RefusedType("key", "be a Key or a KeySource", type(key).__name__)
    if not _core.as_flag("allow_insecure", allow_insecure) and held.fingerprint == "insecure":
        must = "be a secret, or allow_insecure=True be said"
        raise Refused("key", must, "one that anyone can guess")
    return held


def _found(kind: str, place: str) -> _core.Key:
    if kind == "call":
        import importlib

        module, _colon, name = place.partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            must = f"come from {shown(place)}"
            raise Refused("key", must, "no function of that name in this process") from None
        key = function()
        if not isinstance(key, _core.Key):
            raise RefusedType("key", "be a Key", f"{type(key).__name__} from {shown(place)}")
        return key
    if kind == "env":
        held = os.environ.get(place)
        must = f"be in the variable {shown(place)}, as 64 hexadecimal digits or a path"
        if held is None:
            raise Refused("key", must, "no such variable in this process")
        # A file of a key ends with a newline, and whoever copies it into a secret keeps that.
        held = held.strip()
        if len(held) == 64 and set(held) <= set(hexdigits):
            return _core.Key.from_bytes(bytes.fromhex(held))
        if not os.path.isfile(held):  # noqa: PTH113 - False if the name is too long
            # A variable may hold a mistyped key, so no message repeats its value.
            from_here = "" if Path(held).is_absolute() else f", looked for from {shown(Path.cwd())}"
            got = f"{len(held)} hexadecimal digits"
            got = got if set(held) <= set(hexdigits) else f"the path of no file{from_here}"
            raise FileNotFoundError(f"`key` must {must}; got {got}")
        place = held
    if not os.path.isfile(place):  # noqa: PTH113
        got = f"none at {shown(place)}"
        raise FileNotFoundError(f"`key` must be a file on every machine; got {got}")
    return _core.Key.from_file(place)


def _absolute(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise RefusedType("path", "be a path", type(path).__name__)
    return Path(os.fsdecode(path)).absolute()


def _checked(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RefusedType(name, "be a string", type(value).__name__)
    if not value.isprintable() or not value:
        raise Refused(name, "be a string of printable characters", "none or others")
    return value
