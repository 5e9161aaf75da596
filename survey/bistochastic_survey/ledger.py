"""``Ledger``: what was released about the same people, and what all of it together reveals.

A ledger is a file of JSON lines, one per release, each with a certificate, so nothing in it depends
on a value. Nothing protects the file: whoever can write to it can edit or remove lines, and a
removed line is not noticed.
"""

import contextlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Literal

from bistochastic.errors import GuaranteeError, Refused, RefusedType
from bistochastic_survey.checks import of_type, positive
from bistochastic_survey.plan import plan_json
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.release.waves import noise_of
from bistochastic_survey.wording import Shown, shown, table, up, visible_lines

# One release: ``time``, ``dataset`` and ``certificate``.
Line = dict[str, Any]
CHANGED = (
    "Memoised waves: a reported value that changed shows that the true value changed. Epsilon "
    "counts a wave at most once per category; the best guess is of a value that never changed."
)
EQUAL = "The best guess is right at most this often if all categories are equally common."
_HEADER = ["dataset", "column", "releases", "epsilon", "best guess"]


@dataclass(frozen=True)
class Spent(Shown):
    """The sums over all releases of one column of one data set.

    >>> import bistochastic_survey as sv, pathlib, tempfile
    >>> ledger = sv.Ledger(pathlib.Path(tempfile.mkdtemp()) / "ledger")
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)])
    >>> ledger.add(plan.protect({"sex": ["F", "M"]}).certificate, dataset="survey")
    >>> ledger.spent[0].releases, ledger.spent[0].column
    (1, 'sex')
    """

    dataset: str
    column: str
    releases: int
    epsilon: float
    """The sum over releases; waves with the same noise count at most once per category."""
    best_guess: float | None
    """How often the best guess of a value that never changed is right at most, at equal shares."""
    memoised: bool
    """Whether some of the releases share their noise."""


class Ledger(Shown):
    """A file that adds up what was released about the same people, from certificates.

    Enter every release with :meth:`add`, before you publish it. If the sum of epsilon of a column
    is above ``budget``, :meth:`add` raises :class:`bistochastic.errors.GuaranteeError`.

    Epsilons add up, unless two releases share their noise: by ids, with the same plan name, key,
    matrix, columns, order of categories, id column, kind of ids and unit, and not re-randomized.

    >>> import bistochastic_survey as sv, pathlib, tempfile
    >>> ledger = sv.Ledger(pathlib.Path(tempfile.mkdtemp()) / "ledger.jsonl", budget=3)
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=2)])
    >>> release = plan.protect({"sex": ["F", "M"]})
    >>> ledger.add(release.certificate, dataset="survey 2026")
    >>> ledger
    <Ledger of 1 release>
    dataset      column  releases  epsilon  best guess
    -----------  ------  --------  -------  ----------
    survey 2026  sex            1        2       88.1%
    The best guess is right at most this often if all categories are equally common.
    >>> ledger.add(plan.protect({"sex": ["F", "M"]}).certificate, dataset="survey 2026")
    Traceback (most recent call last):
        ...
    bistochastic.errors.GuaranteeError: column `sex`: `budget` must not be exceeded by the sum of
    epsilon, 3 for data set `survey 2026`; got 4...
    """

    def __init__(self, path: str | os.PathLike[str], budget: float | None = None) -> None:
        if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
            raise RefusedType("path", "be a path", type(path).__name__)
        self.path = Path(path)
        try:
            found = self.path.parent.is_dir()
        except (OSError, ValueError):
            found = False
        if not found:
            got = f"none at {shown(self.path.parent)}"
            raise Refused("path", "be in a folder that there is", got)
        self.budget = None if budget is None else positive("budget", budget, math.inf)

    @property
    def entries(self) -> tuple[dict[str, Any], ...]:
        """All releases, the oldest first: ``time``, ``dataset`` and ``certificate``.

        ``ValueError`` if a line is incomplete or not of a ledger.
        """
        try:
            with self._locked("rb") as file:
                return tuple(_read(file.read()))
        except FileNotFoundError:
            return ()

    @property
    def spent(self) -> tuple[Spent, ...]:
        """The epsilon that each column of each data set has spent."""
        return _sums(self.entries)

    def add(self, certificate: Certificate, *, dataset: str) -> None:
        """Enter a release by its certificate; data sets of one name are about the same people.

        It is entered even if it exceeds the budget, because it may be published already. Then an
        error follows.
        """
        of_type("certificate", "be a certificate", certificate, Certificate)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = {"time": now, "dataset": named("dataset", dataset), "certificate": certificate}
        stored = line | {"certificate": json.loads(certificate.to_json())}
        with self._locked("a+b") as file:
            file.seek(0)
            text = file.read()
            entries = [*_read(text), line]
            # A last line that only lost its line end is complete: it stays, and gets one.
            end = b"\n" if text and not text.endswith(b"\n") else b""
            file.write(end + json.dumps(stored, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        own = {column for each in certificate.plan.attributes for column in each.columns}
        for each in _sums(entries) if self.budget is not None else ():
            over = each.dataset == dataset and each.column in own
            if over and not each.epsilon <= (self.budget or 0.0):
                must = f"not be exceeded by the sum of epsilon, {self.budget:g}"
                must += f" for data set `{shown(dataset)}`"
                raise GuaranteeError("budget", must, up(each.epsilon), column=each.column)

    @contextlib.contextmanager
    def _locked(self, mode: Literal["rb", "a+b"]) -> Iterator[BinaryIO]:
        """Open the file under a lock, which ends with the process."""
        try:
            with self.path.open(mode) as file:
                with contextlib.suppress(ImportError):
                    import fcntl

                    fcntl.flock(file, fcntl.LOCK_SH if mode == "rb" else fcntl.LOCK_EX)
                yield file
        except FileNotFoundError:
            raise
        except OSError as error:
            got = error.strerror or "an error of the system"
            raise Refused("ledger", "be a file that can be written", got) from None

    def __repr__(self) -> str:
        entries = self.entries
        found = _sums(entries)
        lines = [f"<Ledger of {len(entries)} release{'s' * (len(entries) != 1)}>"]
        if found:
            lines += [table(_HEADER, [_row(each) for each in found], left=(0, 1)), EQUAL]
        if any(each.memoised for each in found):
            lines.append(CHANGED)
        return visible_lines("\n".join(lines))


def _row(each: Spent) -> list[str]:
    guess = "not known"
    if each.best_guess is not None:
        guess = f"{math.ceil(each.best_guess * 1000) / 10:g}%"
    return [shown(each.dataset), shown(each.column), str(each.releases), up(each.epsilon), guess]


def _read(text: bytes) -> list[Line]:
    """Read all lines; ``ValueError`` for one that is incomplete or not of a ledger."""
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            dataset = named("dataset", entry["dataset"])
            certificate = Certificate.from_json(json.dumps(entry["certificate"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            what = "which is none of a ledger"
            if number == len(lines) and not text.endswith(b"\n"):
                what = "which has no end: remove it, and add its release again"
            must = "hold the lines that were written"
            raise Refused("ledger", must, f"line {number}, {what}") from None
        found.append({"time": entry.get("time"), "dataset": dataset, "certificate": certificate})
    return found


def _noise(certificate: Certificate, attribute: Coded) -> str | None:
    """Return what distinguishes the noise of an attribute; None if no other release has it."""
    ids = certificate.ids
    # All insecure keys have one fingerprint, so they count as different keys.
    if certificate.key_fingerprint in (None, "insecure") or ids is None or ids.row_columns:
        return None
    facts = noise_of(attribute)
    return plan_json.digest_of({
        "plan": certificate.plan.name,
        "key": certificate.key_fingerprint,
        "ids": [ids.id_column, ids.kind],
        "unit": [[u.column, u.kind] for u in certificate.units if u.column == attribute.unit],
        "columns": attribute.columns,
        **facts,
        "recode": [sorted(each.items()) for each in facts["recode"]],
    })  # fmt: skip


def _sums(entries: Iterable[Line]) -> tuple[Spent, ...]:
    columns: dict[tuple[str, str], list[tuple[Certificate, Any, float]]] = {}
    for entry in entries:
        plan = entry["certificate"].plan
        for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True):
            for column in attribute.columns:
                found = columns.setdefault((entry["dataset"], column), [])
                found.append((entry["certificate"], attribute, each.epsilon))
    return tuple(_of_column(*name, parts) for name, parts in columns.items())


def _of_column(dataset: str, column: str, parts: list[tuple[Certificate, Any, float]]) -> Spent:
    waves: Counter[str] = Counter()
    amounts: list[float] = []
    # The categories, if there are some, and epsilon of each new noise.
    draws: list[tuple[int | None, float]] = []
    for certificate, attribute, epsilon in parts:
        if attribute.whole_column:
            amounts.append(epsilon)
            draws.append((None, epsilon))
            continue
        noise = _noise(certificate, attribute)
        if noise is not None:
            redrawn = certificate.ids is not None and bool(certificate.ids.redrawn)
            waves[noise] = 1 if redrawn else waves[noise] + 1
        if noise is None or waves[noise] == 1:
            draws.append((attribute.shape[attribute.columns.index(column)], epsilon))
        # The same value has the same reported value; a new value is a new draw. A person has one
        # draw per category and group. The units of a person are not limited.
        most = attribute.size * len(attribute.matrices)
        if noise is None or attribute.unit is not None or waves[noise] <= most:
            amounts.append(epsilon)
    guess = None
    sizes = [size for size, _ in draws if size is not None]
    if len(sizes) == len(draws):
        # With epsilon in all, no category is more than exp(epsilon) times as likely as another:
        # at equal shares the likeliest of r has at most 1 / (1 + (r - 1) exp(-epsilon)).
        once = _sum(epsilon for _, epsilon in draws)
        guess = min(1.0, (1 + 2**-40) / (1 + (min(sizes) - 1) * math.exp(-once)))
    return Spent(dataset, column, len(parts), _sum(amounts), guess, len(draws) < len(parts))


def _sum(amounts: Iterable[float]) -> float:
    """Add up epsilons, rounded up."""
    listed = list(amounts)
    total = math.fsum(listed)
    if math.isfinite(total) and Fraction(total) < sum(map(Fraction, listed)):
        total = math.nextafter(total, math.inf)
    return total
