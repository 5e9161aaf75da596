"""``Ledger``: what was released about the same people, and what all of it together reveals.

A ledger is a file of JSON lines. Each release is entered and flushed to the disk before anything is
drawn, so a run that crashes counts as spent. Every line has the digest of the line before it. So an
edited, removed or inserted line is found; a file that was rewritten as a whole is not.

A line holds what the caller said and what the plan says. Nothing in it depends on the data.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bistochastic import measures, structure
from bistochastic.arguments import positive
from bistochastic.errors import GuaranteeError
from bistochastic.plan import exchange, formats
from bistochastic.plan.attributes import named, prefix
from bistochastic.plan.waves import laws_of
from bistochastic.words import Shown, shown, table, up, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bistochastic._core import Key
    from bistochastic.matrix import Matrix
    from bistochastic.plan.attributes import Attribute
    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.plan import Plan

    Line = dict[str, Any]
    """One release, as a line of the file holds it."""

VERSION = 1
_FIELDS = (
    "ledger_version", "number", "time", "dataset", "plan", "plan_digest", "release_name",
    "addressing", "key", "attributes", "previous", "digest",
)  # fmt: skip
_FIRST = "0" * 64
# Seconds that another writer is waited for.
_WAIT = 10.0
# Draws of one value beyond which the best guess is bounded rather than computed.
_DRAWS = 64
CHANGED = (
    "Memoised waves: a reported value that changed shows that the true value changed. The sum "
    "counts at most one epsilon for each category, given who changed."
)
EQUAL = "The best guess is right this often if all categories are equally common: more if one is."


@dataclass(frozen=True)
class Spent(Shown):
    """The sums over all releases of one column of one data set.

    >>> import bistochastic as bs, pathlib, tempfile
    >>> ledger = bs.Ledger(pathlib.Path(tempfile.mkdtemp()) / "ledger")
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)])
    >>> _ = plan.protect({"sex": ["F", "M"]}, ledger=ledger, dataset="survey")
    >>> ledger.spent[0].releases, ledger.spent[0].column
    (1, 'sex')
    """

    dataset: str
    column: str
    releases: int
    epsilon: float
    """The sum over releases; waves with the same noise count at most once per category."""
    best_guess: float | None
    """How often the best guess of a true value is right after all releases, at equal shares."""
    exact: bool
    """Whether :attr:`best_guess` is exact rather than a bound."""
    memoised: bool
    """Whether waves by ids are among the releases."""


class Ledger:
    """A file that lists what was released about the same people, with a ``budget`` of epsilon.

    Pass it to :meth:`Plan.protect` or :meth:`Plan.protect_batches` with the name of the data set:
    data sets of one name are about the same people. If a release would raise the sum of epsilon of
    any column above ``budget``, it raises :class:`bistochastic.errors.GuaranteeError` before
    anything is randomized. Enter releases on engines with :meth:`add`.

    >>> import bistochastic as bs, pathlib, tempfile
    >>> ledger = bs.Ledger(pathlib.Path(tempfile.mkdtemp()) / "ledger.jsonl", budget=3)
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", epsilon=2)])
    >>> release = plan.protect({"sex": ["F", "M"]}, ledger=ledger, dataset="survey 2026")
    >>> ledger
    <Ledger of 1 release>
    dataset      column  releases  epsilon  best guess
    -----------  ------  --------  -------  ----------
    survey 2026  sex            1        2       88.1%
    The best guess is right this often if all categories are equally common: more if one is.
    >>> plan.protect({"sex": ["F", "M"]}, ledger=ledger, dataset="survey 2026")
    Traceback (most recent call last):
        ...
    bistochastic.errors.GuaranteeError: column `sex`: `budget` must not be exceeded by the sum of
    epsilon, 3 for data set `survey 2026`; got 4...
    """

    def __init__(self, path: str | os.PathLike[str], budget: float | None = None) -> None:
        if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
            raise TypeError(f"`path` must be a path; got {type(path).__name__}")
        self.path = Path(path)
        try:
            found = self.path.parent.is_dir()
        except (OSError, ValueError):
            found = False
        if not found:
            got = f"none at {shown(self.path.parent)}"
            raise ValueError(f"`path` must be in a folder that there is; got {got}")
        self.budget = None if budget is None else positive("budget", budget, math.inf)

    @property
    def entries(self) -> tuple[dict[str, Any], ...]:
        """All lines, the oldest first; ``ValueError`` if one was edited."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise self._unusable(error) from None
        return tuple(_verified(text)[0])

    @property
    def spent(self) -> tuple[Spent, ...]:
        """The epsilon that each column of each data set has spent."""
        return _sums(self.entries)

    def add(self, certificate: Certificate, *, dataset: str) -> None:
        """Enter a release that was made elsewhere, such as on an engine, by its certificate.

        It is entered even if it exceeds the budget, because it is already published. Then an error
        follows.
        """
        from bistochastic.plan.certificate import Certificate

        if not isinstance(certificate, Certificate):
            got = type(certificate).__name__
            raise TypeError(f"`certificate` must be a certificate; got {got}")
        entry = _entry(certificate.plan, named("dataset", dataset), certificate.release_name,
                       certificate.key_fingerprint, certificate._addressing)  # fmt: skip
        self._enter(entry, late=True)

    def _enter(self, entry: Line, *, late: bool = False) -> None:
        with self._locked() as file:
            entries, whole = _verified(file.read())
            last = entries[-1]["digest"] if entries else _FIRST
            line = {**entry, "number": len(entries) + 1, "previous": last}
            line = {name: line[name] for name in _FIELDS if name in line}
            line["digest"] = formats.digest_of(line)
            over = self._over([*entries, line])
            if over is None or late:
                # An incomplete line is from a crash before anything was drawn.
                file.truncate(whole)
                file.seek(whole)
                file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        if over is not None:
            raise over

    def _over(self, entries: list[Line]) -> GuaranteeError | None:
        """Say why the budget does not allow the last of these entries; None if it does."""
        if self.budget is None:
            return None
        new = {(each.dataset, each.column) for each in _sums(entries[-1:])}
        for each in _sums(entries):
            if (each.dataset, each.column) in new and not each.epsilon <= self.budget:
                must = f"`budget` must not be exceeded by the sum of epsilon, {self.budget:g}"
                must += f" for data set `{shown(each.dataset)}`"
                return GuaranteeError(f"{prefix([each.column])}{must}; got {up(each.epsilon)}")
        return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """Open the file under a lock, which ends with the process."""
        try:
            file = self.path.open("a+b")
        except (OSError, ValueError) as error:
            raise self._unusable(error) from None
        with file:
            try:
                import fcntl
            except ImportError:
                pass
            else:
                end = time.monotonic() + _WAIT
                while True:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except OSError:
                        if time.monotonic() > end:
                            must = "`ledger` must not be locked by another process"
                            raise ValueError(f"{must}; got a lock of {_WAIT:g} seconds") from None
                        time.sleep(0.02)
            file.seek(0)
            yield file

    def _unusable(self, error: Exception) -> ValueError:
        got = getattr(error, "strerror", None) or "a name that is none of a file"
        return ValueError(f"`ledger` must be a file that can be written; got {got}")

    def to_text(self) -> str:
        """Write the sums of all columns as a table, with notes."""
        entries = self.entries
        found = _sums(entries)
        lines = [f"<Ledger of {len(entries)} release{'s' * (len(entries) != 1)}>"]
        if found:
            lines += [table(_HEADER, [_row(each) for each in found], left=(0, 1)), EQUAL]
        if any(each.memoised and each.releases > 1 for each in found):
            lines.append(CHANGED)
        return visible_lines("\n".join(lines))

    __repr__ = to_text

    def _repr_html_(self) -> str:
        from bistochastic import markup

        title, *_ = self.to_text().partition("\n")
        rows = [_row(each) for each in self.spent]
        made = markup.table(_HEADER, rows, caption=title.strip("<>"), left=(0, 1), scroll=False)
        return markup.fragment(made, markup.element("p", EQUAL))


_HEADER = ["dataset", "column", "releases", "epsilon", "best guess"]


def _row(each: Spent) -> list[str]:
    guess = "not known"
    if each.best_guess is not None:
        guess = f"{'' if each.exact else 'at most '}{math.ceil(each.best_guess * 1000) / 10:g}%"
    return [shown(each.dataset), shown(each.column), str(each.releases), up(each.epsilon), guess]


class Spending:
    """One release that is entered once, before the first of its draws, whichever thread does it."""

    def __init__(self, ledger: Ledger, entry: Line) -> None:
        self._ledger, self._entry = ledger, entry
        self._lock, self._done = threading.Lock(), False

    def __call__(self) -> None:
        """Enter the release, unless it is entered already."""
        with self._lock:
            if not self._done:
                self._ledger._enter(self._entry)
                self._done = True


def spending(
    ledger: object,
    dataset: object,
    plan: Plan,
    release_name: str | None,
    key: Key | None,
    ids: bool,
) -> Spending | None:
    """Read the ledger of a call of ``protect``; None without one."""
    if ledger is None and dataset is None:
        return None
    if not isinstance(ledger, Ledger):
        raise TypeError(f"`ledger` must be a Ledger; got {type(ledger).__name__}")
    if dataset is None:
        raise TypeError("`dataset` must say with a ledger whose data they are; got none")
    used, where = None if key is None else key.fingerprint, "ids" if ids else "position"
    return Spending(ledger, _entry(plan, named("dataset", dataset), release_name, used, where))


def _entry(
    plan: Plan, dataset: str, release_name: str | None, key: str | None, addressing: str
) -> Line:
    """Make the entry of a release: nothing in it depends on the data."""
    return {
        "ledger_version": VERSION,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "dataset": dataset,
        "plan": plan.name,
        "plan_digest": plan.digest,
        "release_name": release_name,
        "addressing": addressing,
        "key": key,
        "attributes": [
            _spent_on(attribute, each.epsilon)
            for attribute, each in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        ],
    }


def _spent_on(attribute: Attribute, epsilon: float) -> Line:
    """Return what the ledger has to know about an attribute."""
    found: Line = {"columns": list(attribute.columns), "epsilon": exchange.number(epsilon)}
    if attribute.whole_column:
        return found
    both = structure.two_valued(attribute.matrices[0]) if len(attribute.matrices) == 1 else None
    return {
        **found,
        "categories": list(attribute.shape),
        "size": attribute.size,
        "leakage": max(_leakage(matrix) for matrix in attribute.matrices),
        "two_valued": None if both is None else list(both),
        "matrix": formats.digest_of({"laws": str(laws_of(attribute))}),
    }


def _leakage(matrix: Matrix) -> float:
    """Maximal leakage in bits, or the most that beta allows if the matrix is too large to look."""
    found = measures.lines(matrix, [])
    if found is None:
        return measures.guaranteed_max_leakage(matrix.beta, matrix.size)
    return measures.log2_up(found.peaks)


def _verified(text: bytes) -> tuple[list[Line], int]:
    """Read all complete lines, and where they end; ``ValueError`` if one was changed."""
    whole = text.rfind(b"\n") + 1
    found: list[Line] = []
    last = _FIRST
    for number, line in enumerate(text[:whole].splitlines(), 1):
        must = "`ledger` must hold the lines that were written"
        try:
            entry = json.loads(line)
            version = entry["ledger_version"]
            digest = formats.digest_of({k: v for k, v in entry.items() if k != "digest"})
            good = tuple(entry) == _FIELDS and entry["digest"] == digest
            good = good and entry["previous"] == last and entry["number"] == number
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{must}; got line {number}, which is none of a ledger") from None
        if version != VERSION:
            got = f"version {shown(version)} in line {number}"
            raise ValueError(f"`ledger` must be of version {VERSION}; got {got}")
        if not good:
            raise ValueError(f"{must}; got line {number} edited, or a line removed before it")
        last = digest
        found.append(entry)
    return found, whole


def _sums(entries: Sequence[Line]) -> tuple[Spent, ...]:
    """Sum all entries, for each column of each data set."""
    columns: dict[tuple[str, str], list[tuple[Line, Line]]] = {}
    for entry in entries:
        for each in entry["attributes"]:
            for column in each["columns"]:
                columns.setdefault((entry["dataset"], column), []).append((entry, each))
    return tuple(_of_column(*name, parts) for name, parts in columns.items())


def _of_column(dataset: str, column: str, parts: list[tuple[Line, Line]]) -> Spent:
    memo: Counter[tuple[str, ...]] = Counter()
    draws: list[Line] = []
    amounts: list[float] = []
    for entry, each in parts:
        epsilon = float(each["epsilon"])
        # All insecure keys have one fingerprint, so they count as different keys.
        known = entry["addressing"] == "ids" and entry["key"] not in (None, "insecure")
        if known and "matrix" in each:
            wave = (entry["plan"], entry["key"], each["matrix"], *each["columns"])
            memo[wave] += 1
            if memo[wave] > 1:
                # The same value has the same reported value; a new value is a new draw.
                amounts.append(epsilon if memo[wave] <= each["size"] else 0.0)
                continue
        amounts.append(epsilon)
        draws.append(each)
    total = math.fsum(amounts)
    if math.isfinite(total) and Fraction(total) < sum(map(Fraction, amounts)):
        total = math.nextafter(total, math.inf)
    guess, exact = _guess(column, draws)
    return Spent(dataset, column, len(parts), total, guess, exact, bool(memo))


def _guess(column: str, draws: list[Line]) -> tuple[float | None, bool]:
    """Compute the best guess of a column after independent draws, and whether it is exact."""
    if any("leakage" not in each for each in draws):
        return None, False
    laws = {_law(column, each) if len(each["columns"]) == 1 or len(draws) == 1 else None
            for each in draws}  # fmt: skip
    law = laws.pop()
    if law is not None and not laws and len(draws) <= _DRAWS:
        return best_guess(*law, len(draws)), True
    size = min(each["categories"][each["columns"].index(column)] for each in draws)
    bits = math.fsum(each["leakage"] for each in draws)
    alone = len(draws) == 1 and len(draws[0]["columns"]) == 1
    return min(1.0, 2.0 ** min(bits, 1000.0) / size), alone


def _law(column: str, each: Line) -> tuple[int, float, float] | None:
    """Return size and both probabilities of randomized response on one column; None for others.

    One column of a joint response is such a matrix, too, if its partners are equally common.
    """
    if each["two_valued"] is None or each["size"] != math.prod(each["categories"]):
        return None
    own, other = each["two_valued"]
    size = each["categories"][each["columns"].index(column)]
    partners = each["size"] // size
    return size, own + (partners - 1) * other, partners * other


@cache
def best_guess(size: int, own: float, other: float, draws: int) -> float:
    """Compute how often the best guess of a value is right after independent responses to it.

    ``own`` is the probability of the true category, ``other`` of each other one. All true
    categories are equally common. The likeliest is the one reported most often (least often, if
    ``own < other``), so sequences of responses are counted by their largest (smallest) count k:
    ``sum over k of #(k) own^k other^(t - k) / size``.
    """
    p, q = Fraction(own), Fraction(other)
    total = Fraction(0)
    for k in range(draws + 1):
        if own >= other:
            number = _sequences(size, draws, 0, k) - _sequences(size, draws, 0, k - 1)
        else:
            number = _sequences(size, draws, k, draws) - _sequences(size, draws, k + 1, draws)
        total += number * p**k * q ** (draws - k)
    return min(1.0, float(total / size))


@cache
def _sequences(size: int, length: int, low: int, high: int) -> int:
    """Count the sequences that have each of ``size`` symbols from ``low`` to ``high`` times.

    It is the coefficient of ``z^length`` in ``(sum over j of z^j / j!)^size``, times ``length!``.
    Each coefficient of a power of a polynomial follows from the coefficients before it.
    """
    if high < low or low * size > length:
        return 0
    left = length - low * size
    base = [Fraction(1, math.factorial(low + j)) for j in range(min(high - low, left) + 1)]
    found = [base[0] ** size]
    for n in range(1, left + 1):
        steps = range(1, min(n, len(base) - 1) + 1)
        total = sum((j * (size + 1) - n) * base[j] * found[n - j] for j in steps)
        found.append(Fraction(total) / (n * base[0]))
    return int(found[left] * math.factorial(length))
