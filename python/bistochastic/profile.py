"""Everything a matrix can tell, each number exact, a bound, or not computed and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import _core, measures, operators, structure
from bistochastic.report import cells, down, table, up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]
    Status = Literal["exact", "bound", "not computed"]

# Size up to which singular values take a second or two.
_SINGULAR_VALUES = 1500
# The same of a composite, which is written down first.
_WRITTEN = 1024
# Multiply-adds up to which costs between all pairs of rows are compared.
_TRIPLES = 1200**3

# What each measure is called in words, and in which direction it is rounded: +1 up, -1 down.
_WORDS: dict[str, tuple[str, int]] = {
    "bits": ("entropy rate, bits", -1),
    "beta": ("beta", -1),
    "worst_row": ("beta of the worst row", -1),
    "worst_column": ("beta of the worst column", -1),
    "mutual_information": ("mutual information, uniform prior, bits", +1),
    "capacity": ("channel capacity, any prior, bits", +1),
    "guessing_probability": ("best guess, uniform prior", +1),
    "max_leakage": ("maximal leakage, any prior, bits", +1),
    "guaranteed_max_leakage": ("maximal leakage that beta alone allows", +1),
    "epsilon": ("epsilon", +1),
    "metric_epsilon": ("epsilon per unit of cost", +1),
    "expected_cost": ("expected cost of a report", 0),
    "deniability_1": ("truths deniable at gamma 1", 0),
    "deniability_2": ("truths deniable at gamma 2", 0),
    "deniability_epsilon": ("truths deniable at gamma e^epsilon", 0),
    "truthfulness": ("truthfulness", 0),
    "ergodic": ("ergodic", 0),
    "rank": ("rank", 0),
    "condition": ("condition, 2-norm", +1),
    "varah_bound": ("condition by the diagonal alone (Varah)", +1),
    "remaining_uncertainty": ("attacker's uncertainty H(X|Y), bits", -1),
    "effective_alternatives": ("effective alternatives 2^H(X|Y)", -1),
    "best_guess": ("best guess under the prior", +1),
}

_TO_THE_DIGIT = ("bits", "beta", "worst_row", "worst_column", "epsilon")


@dataclass(frozen=True)
class Entry:
    """One measure: its value, how that is known, and what else is to say.

    >>> import bistochastic as bs
    >>> bs.uniform(4).profile()["max_leakage"]
    Entry(name='max_leakage', value=0.0, status='exact', note='')
    """

    name: str
    value: float | None
    status: Status
    note: str = ""

    @property
    def words(self) -> str:
        """What it is, in words."""
        return _WORDS[self.name][0]

    @property
    def text(self) -> str:
        """The value in short, rounded in the direction that claims less."""
        x, direction = self.value, _WORDS[self.name][1]
        if x is None:
            return "-"
        if isinstance(x, bool):
            return "yes" if x else "no"
        if isinstance(x, int):
            return str(x)
        # A unit in the last place, by which a value may have been moved to be safe, is not shown.
        # Zero was not moved: nothing is below it.
        moved = x != 0 and math.isfinite(x) and self.name not in _TO_THE_DIGIT
        unit = 4 * math.ulp(x) if moved else 0.0
        if direction > 0:
            return up(x - unit)
        return down(x + unit) if direction < 0 else f"{x:.6g}"


@dataclass(frozen=True)
class Profile:
    """What an attacker can do with a matrix, and what an analyst can still learn.

    ``profile.capacity`` is a value, ``profile["capacity"]`` the :class:`Entry` that says how it is
    known.

    >>> import bistochastic as bs
    >>> p = bs.randomized_response(12, epsilon=3).profile()
    >>> p.deniability_epsilon, p["capacity"].status
    (12, 'exact')
    """

    matrix: Matrix
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def __getattr__(self, name: str) -> float | None:
        if not name.startswith("_"):
            for entry in self.entries:
                if entry.name == name:
                    return entry.value
        raise AttributeError(f"a profile has no measure {name!r}")

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values for JSON: name to value, status and note.

        >>> import bistochastic as bs
        >>> bs.uniform(4).profile().to_dict()["rank"]
        {'value': 1, 'status': 'exact', 'note': ''}
        """
        return {e.name: {"value": e.value, "status": e.status, "note": e.note} for e in self}

    def rows(self) -> list[list[str]]:
        """One row of text a measure."""
        return [[e.words, e.text, e.status, e.note] for e in self]

    def __repr__(self) -> str:
        header = ["measure", "value", "known", "note"]
        n = self.matrix.size
        title = f"<Profile of {self.matrix.family} {n} x {n}>"
        return f"{title}\n{table(header, self.rows(), left=(0, 2, 3))}"

    def _repr_html_(self) -> str:
        head = cells(*(("th", text) for text in ("measure", "value", "known", "note")))
        body = "".join(cells(*(("td", text) for text in row)) for row in self.rows())
        return f"<table>{head}{body}</table>"

    def plot(self, *, axes: Any = None) -> Any:
        """The profile as a picture (needs the extra ``plot``); returns the matplotlib figure.

        See :func:`bistochastic.plot.profile`.

        >>> import bistochastic as bs
        >>> figure = bs.uniform(4).profile().plot()
        >>> figure.axes[0].get_title(loc="left")
        'uniform, 4 categories\\nbeta 1, epsilon 0'
        """
        from bistochastic import plot

        return plot.profile(self, axes=axes)


def profile(matrix: Matrix, *, cost: Any = None, prior: Any = None, full: bool = False) -> Profile:
    """See :meth:`bistochastic.Matrix.profile`."""
    size = matrix.size
    costs = None if cost is None else measures.cost_table(size, cost)
    belief = None if prior is None else measures.distribution("prior", size, prior)
    gammas = [1.0, 2.0] + ([math.inf] if math.isinf(matrix.epsilon) else [])
    mean = measures.average(matrix, full=full)
    found = measures.lines(matrix, gammas, full=full)
    entries = [
        *_average(matrix, mean),
        *_lines(matrix, mean, found),
        *_attacker(matrix, mean, found, full=full),
        _epsilon(matrix, found),
        *([] if costs is None else _cost(matrix, costs, belief, full=full)),
        *_deniability(matrix, found),
        *_analyst(matrix, found, full=full),
        *([] if belief is None else _belief(matrix, found, belief)),
    ]
    return Profile(matrix, tuple(entries))


def _known(exact: bool) -> Status:
    return "exact" if exact else "bound"


def _missing(name: str, why: str) -> Entry:
    return Entry(name, None, "not computed", why)


_TOO_LARGE = "too many entries to look at; full=True looks at all"


def _average(matrix: Matrix, mean: measures.Average) -> list[Entry]:
    known = _known(mean.exact)
    return [
        Entry("bits", mean.bits, known, f"of {matrix.max_bits:.6g}"),
        Entry("beta", mean.beta, known, "an average over the rows"),
    ]


def _lines(matrix: Matrix, mean: measures.Average, found: measures.Lines | None) -> list[Entry]:
    from fractions import Fraction

    if found is None:
        return [_missing("worst_row", _TOO_LARGE), _missing("worst_column", _TOO_LARGE)]

    def share(bits: float) -> float:
        # The worst line is perfect just when all are.
        if mean.beta == 1:
            return 1.0
        if bits == mean.bits:
            return mean.beta
        most = measures.log2_up(matrix.size)
        beta = min(bits / most, math.nextafter(1.0, 0.0))
        return (
            beta if Fraction(beta) * Fraction(most) <= Fraction(bits) else math.nextafter(beta, 0)
        )

    pairs = [("row", found.worst_row), ("column", found.worst_column)]
    known = _known(found.worst_exact)
    return [
        Entry(f"worst_{line}", share(bits), known, f"{line} {place}: {down(bits)} bits")
        for line, (place, bits) in pairs
    ]


def _attacker(
    matrix: Matrix, mean: measures.Average, found: measures.Lines | None, *, full: bool
) -> list[Entry]:
    told = measures.mutual_information(matrix, mean)
    best = measures.capacity(matrix, found, full=full)
    size = matrix.size
    allowed = measures.guaranteed_max_leakage(mean.beta, size)
    if found is None:
        guess = [
            Entry("guessing_probability", min(1.0, 2**allowed / size), "bound", "by beta alone"),
            Entry("max_leakage", allowed, "bound", "by beta alone"),
        ]
    else:
        known = _known(found.peaks_exact)
        chance = found.peaks / size
        guess = [
            Entry("guessing_probability", min(1.0, _up(chance)), known),
            Entry("max_leakage", measures.log2_up(found.peaks), known),
        ]
    return [
        Entry("mutual_information", told, _known(mean.exact)),
        Entry("capacity", best.bits, _known(best.gap <= 1e-7), best.how),
        *guess,
        Entry("guaranteed_max_leakage", allowed, _known(mean.exact), "whatever the matrix"),
    ]


def _up(x: Any) -> float:
    """The smallest double not below a fraction."""
    near = float(x)
    return near if near >= x else math.nextafter(near, math.inf)


def _epsilon(matrix: Matrix, found: measures.Lines | None) -> Entry:
    known = _known(matrix.is_exact)
    witness = None if found is None else found.witness
    if math.isinf(matrix.epsilon):
        where = ""
        if witness is not None:
            u, w, v = witness
            where = f": {v} is reported for truth {u}, never for truth {w}"
        may = "excludes" if known == "exact" or where else "may exclude"
        return Entry("epsilon", math.inf, known, f"a report {may} a truth{where}")
    note = ""
    if witness is not None and matrix.epsilon > 0:
        u, w, v = witness
        note = f"report {v} tells truth {u} from truth {w}"
    return Entry("epsilon", matrix.epsilon, known, note)


def _cost(
    matrix: Matrix, cost: Array | Literal["ordinal"], belief: Array | None, *, full: bool
) -> list[Entry]:
    size = matrix.size
    ordinal = isinstance(cost, str)
    if size <= measures.TABLE or full:
        dense = matrix.to_dense()
        mean = Entry("expected_cost", measures.expected_cost(dense, cost, belief), "exact")
        if ordinal or size**3 <= _TRIPLES or full:
            return [Entry("metric_epsilon", measures.metric_epsilon(dense, cost), "exact"), mean]
        why = "too many pairs of rows to compare; full=True compares them"
        return [_missing("metric_epsilon", why), mean]
    if not ordinal:
        return [_missing(name, _TOO_LARGE) for name in ("metric_epsilon", "expected_cost")]
    metric = measures.ordinal_epsilon(matrix)
    walk = None if belief is not None else measures.ordinal_cost(matrix)
    return [
        _missing("metric_epsilon", _TOO_LARGE) if metric is None
        else Entry("metric_epsilon", metric[0], _known(metric[1])),
        _missing("expected_cost", _TOO_LARGE) if walk is None
        else Entry("expected_cost", walk, "exact"),
    ]  # fmt: skip


def _deniability(matrix: Matrix, found: measures.Lines | None) -> list[Entry]:
    names = ["deniability_1", "deniability_2", "deniability_epsilon"]
    if found is None:
        entries = [_missing(name, _TOO_LARGE) for name in names]
    else:
        pairs = zip(names, found.deniability, strict=False)
        entries = [Entry(name, k, _known(exact)) for name, (k, exact) in pairs]
    if math.isfinite(matrix.epsilon):
        # By its definition epsilon is the gamma at which all truths are alike.
        entries[2:] = [Entry(names[2], matrix.size, "exact")]
    elif found is not None:
        entries[2] = replace(entries[2], note="truths left possible")
    return entries


def _analyst(matrix: Matrix, found: measures.Lines | None, *, full: bool) -> list[Entry]:
    truth = matrix.truthfulness
    ergodic = matrix.is_ergodic
    return [
        _missing("truthfulness", _TOO_LARGE) if truth is None
        else Entry("truthfulness", truth, "exact", "share of true reports, uniform prior"),
        _missing("ergodic", _TOO_LARGE) if ergodic is None
        else Entry("ergodic", ergodic, "exact"),
        *_conditioning(matrix, full=full),
        _varah(found),
    ]  # fmt: skip


def _conditioning(matrix: Matrix, *, full: bool) -> list[Entry]:
    """Rank and condition."""

    def needed(part: Matrix) -> list[Matrix]:
        if _core.spectrum(part) is not None:
            return []
        match structure.composition(part):
            case structure.Kron() as kron:
                return structure.wide_factors(kron)
            case structure.Product(parts=parts) if not (full or part.size <= _WRITTEN):
                return list(parts)
        return []

    def of(part: Matrix, known: Callable[[Matrix], list[Entry]]) -> list[Entry]:
        return _conditioning_of(part, known, full=full)

    return structure.by_parts(matrix, needed, of)


def _conditioning_of(
    matrix: Matrix, known_of: Callable[[Matrix], list[Entry]], *, full: bool
) -> list[Entry]:
    size = matrix.size
    spectrum = _core.spectrum(matrix)
    if spectrum is not None:
        counted = spectrum[1] == size or structure.counts_rank(matrix)
        return [_rank(spectrum[1], counted), _condition(operators.condition(matrix), counted)]
    made = structure.composition(matrix)
    if isinstance(made, structure.Kron):
        each = [known_of(factor) for factor in structure.wide_factors(made)]
        values = [[part.value for part in parts] for parts in each]
        if all(value is not None for pair in values for value in pair):
            known = _known(all(e.status == "exact" for pair in each for e in pair))
            rank = math.prod(int(pair[0] or 0) for pair in values)
            product = math.prod(float(pair[1] or 0) for pair in values)
            return [Entry("rank", rank, known), Entry("condition", product, known)]
        return [_missing(name, "a factor is too large") for name in ("rank", "condition")]
    composite = made is not None
    if full or size <= (_WRITTEN if composite else _SINGULAR_VALUES):
        values_of = operators.singular_values(matrix.to_dense())
        rank = operators.dense_rank(matrix, values_of)
        least = float(values_of.min()) if rank == size else 0.0
        _core.keep_condition(matrix, operators.inverse(least))
        counted = rank == size or not composite
        return [_rank(rank, counted), _condition(operators.condition(matrix), counted)]
    why = "too large for singular values; full=True takes them"
    if isinstance(made, structure.Product):
        return _product_conditioning(matrix, made, why, known_of)
    return [_missing("rank", why), _missing("condition", why)]


def _product_conditioning(
    matrix: Matrix,
    product: structure.Product,
    why: str,
    known_of: Callable[[Matrix], list[Entry]],
) -> list[Entry]:
    """A product too large to write out: from its factors, or by iteration through them."""
    each = [known_of(factor)[1] for factor in product.parts]
    values = [entry.value for entry in each if entry.value is not None]
    if len(values) < len(each):
        return [_missing("rank", why), _missing("condition", why)]
    exact = all(entry.status == "exact" for entry in each)
    if max(values) > operators.MOST:
        return [_missing("rank", why), _condition(math.inf, exact)]
    if min(values) == 1:
        # A permutation before or after changes no singular value.
        return [_rank(matrix.size, exact), _condition(max(values), exact)]
    note = "found by iteration through the factors, may be higher"
    found = operators.by_iteration(matrix)
    return [_rank(matrix.size, exact), Entry("condition", found, "bound", note)]


def _rank(value: int, counted: bool) -> Entry:
    note = "" if counted else "at least: singular values above 2^-50"
    return Entry("rank", value, _known(counted), note)


def _condition(value: float, counted: bool) -> Entry:
    note = "singular: some truths cannot be told apart" if value > operators.MOST else ""
    if note and not counted:
        note = "beyond 2^50, not told from singular"
    return Entry("condition", value, _known(counted), note)


def _varah(found: measures.Lines | None) -> Entry:
    if found is None:
        return _missing("varah_bound", _TOO_LARGE)
    spare = 2 * found.least_diagonal - 1
    if spare <= 0:
        return _missing("varah_bound", "some truth is reported with at most 1/2")
    return Entry("varah_bound", _up(1 / spare), "bound", "holds in the 1-, 2- and inf-norm")


def _belief(matrix: Matrix, found: measures.Lines | None, prior: Array) -> list[Entry]:
    guess, exact = measures.best_guess(matrix, prior, None if found is None else found.peaks)
    entry = Entry("best_guess", guess, _known(exact), f"{up(float(prior.max()))} without a report")
    if found is None or found.row_bits is None:
        names = ("remaining_uncertainty", "effective_alternatives")
        return [*(_missing(name, _TOO_LARGE) for name in names), entry]
    left = measures.remaining_uncertainty(matrix, found.row_bits, prior)
    before = f"{measures.entropy(prior):.6g} bits without a report"
    return [
        Entry("remaining_uncertainty", left, "exact", before),
        Entry("effective_alternatives", 2**left, "exact"),
        entry,
    ]
