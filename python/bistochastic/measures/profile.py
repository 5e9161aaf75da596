"""``Profile`` and ``Entry``: which measures there are, and how each of them is known.

Each number is exact, a bound, or not computed, with the reason.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bistochastic import _core, linear, structure
from bistochastic.arguments import Array
from bistochastic.errors import Refused
from bistochastic.formatting import Shown, down, table, up
from bistochastic.matrix import Matrix
from bistochastic.measures import bits, costs, efficiency, priors, survey
from bistochastic.progress import check_progress

Status = Literal["exact", "bound", "not computed"]

# The name of each measure in words, and the direction of rounding: +1 up, -1 down.
WORDS: dict[str, tuple[str, int]] = {
    "entropy_rate": ("entropy rate, bits", -1),
    "beta": ("beta", -1),
    "worst_row": ("beta, least protected category", -1),
    "worst_column": ("beta, most revealing reported value", -1),
    "mutual_information": ("mutual information, uniform prior, bits", +1),
    "capacity": ("channel capacity, any prior, bits", +1),
    "guessing_probability": ("best guess, uniform prior", +1),
    "max_leakage": ("maximal leakage, any prior, bits", +1),
    "guaranteed_max_leakage": ("maximal leakage that beta allows", +1),
    "epsilon": ("epsilon", +1),
    "metric_epsilon": ("epsilon per unit of cost", +1),
    "expected_cost": ("expected cost of a reported value", 0),
    "deniability_1": ("true values deniable at gamma 1", 0),
    "deniability_2": ("true values deniable at gamma 2", 0),
    "deniability_epsilon": ("true values deniable at gamma e^epsilon", 0),
    "truthfulness": ("truthful probability, mean", 0),
    "is_ergodic": ("ergodic", 0),
    "rank": ("rank", 0),
    "condition": ("condition, 2-norm", +1),
    "varah_bound": ("condition by the diagonal only (Varah)", +1),
    "efficiency": ("efficiency, equal proportions", -1),
    "worst_efficiency": ("efficiency, worst proportions", -1),
    "report_bits": ("bits that a report takes", +1),
    "remaining_uncertainty": ("attacker's uncertainty H(X|Y), bits", -1),
    "effective_alternatives": ("effective alternatives 2^H(X|Y)", -1),
    "best_guess": ("best guess under the prior", +1),
}

# Multiply-adds up to which costs between all pairs of rows are compared.
_TRIPLES = 1200**3
_TOO_LARGE = "too many entries; full=True computes it anyway"
# Size up to which singular values need a second or two, and that of a composite.
_SINGULAR_VALUES, _WRITTEN = 1500, 1024
# Which true values a reported value leaves deniable.
_EXPLAINS = {
    "deniability_1": "explain the reported value exactly as well",
    "deniability_2": "explain the reported value half to twice as well",
    "deniability_epsilon": "true values that stay possible",
}
_HEADER = ["Measure", "Value", "Status", "Note"]
_TO_THE_DIGIT = ("entropy_rate", "beta", "worst_row", "worst_column", "epsilon")


@dataclass(frozen=True)
class Entry(Shown):
    """One measure: its value, whether that is exact or a bound, and a note.

    ``before`` is the measure without a reported value, if it has one: the entropy of the prior, or
    the best guess by the prior.

    >>> bs.uniform(4).profile()["max_leakage"]
    Entry(name='max_leakage', value=0.0, status='exact', note='')
    """

    name: str
    value: float | None
    status: Status
    note: str = ""
    before: float | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """The name of the measure in words.

        >>> bs.uniform(3).profile()["worst_row"].words
        'beta, least protected category'
        """
        return WORDS[self.name][0]

    @property
    def text(self) -> str:
        """The value in six digits, rounded so that privacy is never overstated.

        >>> bs.uniform(3).profile()["guessing_probability"].text
        '0.333334'
        """
        x, direction = self.value, WORDS[self.name][1]
        if x is None:
            return "-"
        if isinstance(x, bool):
            return "yes" if x else "no"
        if isinstance(x, int):
            return str(x)
        # A value may have been moved by a unit in the last place, to be safe; that is not shown.
        # Zero was not moved: nothing is below it.
        moved = x != 0 and math.isfinite(x) and self.name not in _TO_THE_DIGIT
        # Efficiencies lost what the error of the inverse may be.
        unit = 1e-12 * x if "efficiency" in self.name else 4 * math.ulp(x) if moved else 0.0
        if direction > 0:
            return up(x - unit)
        return down(x + unit) if direction < 0 else f"{x:.6g}"


@dataclass(frozen=True)
class Profile(Shown):
    """The measures of a matrix: what an attacker can learn, and what an analyst can.

    ``profile.capacity`` is a value. ``profile["capacity"]`` is the :class:`Entry`, which also says
    whether the value is exact, a bound, or not computed, with the reason.

    Deniability at gamma counts the true values that explain a reported value about as well as the
    actual one does: at gamma 2, at least half as well. Maximal leakage is the most bits that a
    reported value can add to the probability of a right guess, for any prior. Capacity is the most
    bits that a reported value reveals on average, for any true proportions.

    >>> p = bs.randomized_response(12, epsilon=3).profile()
    >>> p.deniability_epsilon, p["capacity"].status
    (12, 'exact')
    """

    matrix: Matrix
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Entry:
        return {entry.name: entry for entry in self.entries}[name]

    def __getattr__(self, name: str) -> float | None:
        if not name.startswith("_"):
            for entry in self.entries:
                if entry.name == name:
                    return entry.value
        raise AttributeError(f"a profile has no measure {name!r}")

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain values for JSON: a value, status and note for each name.

        >>> bs.uniform(4).profile().to_dict()["rank"]
        {'value': 1, 'status': 'exact', 'note': ''}
        """
        return {e.name: {"value": e.value, "status": e.status, "note": e.note} for e in self}

    def rows(self) -> list[list[str]]:
        """Return one row of text per measure.

        >>> bs.uniform(4).profile().rows()[1]
        ['beta', '1', 'exact', 'an average over the categories']
        """
        return [[e.words, e.text, e.status, e.note] for e in self]

    def __repr__(self) -> str:
        n = self.matrix.size
        title = f"<Profile of {self.matrix.family} {n} x {n}>"
        return f"{title}\n{table(_HEADER, self.rows(), left=(0, 2, 3))}"


def status_of(exact: bool) -> Status:
    """Say whether a number is exact or a bound."""
    return "exact" if exact else "bound"


def missing(name: str, why: str) -> Entry:
    """Make a measure that was not computed, with the reason."""
    return Entry(name, None, "not computed", why)


def profile_of(
    matrix: Matrix, cost: object, prior: object, progress: object, *, full: bool
) -> Profile:
    """See :meth:`bistochastic.Matrix.profile`."""
    tell = check_progress(progress)
    if cost is not None and matrix.padding:
        must = "be given for a matrix whose codes can all be true"
        raise Refused("cost", must, f"{matrix.padding} that are never true")
    table = None if cost is None else costs.cost_table(matrix.size, cost)
    belief = None if prior is None else priors.prior_of(matrix, prior)
    entries: list[Entry] = []
    for done, part in enumerate(_measured(matrix, table, belief, full=full), start=1):
        entries += part
        tell(done / 10)
    return Profile(matrix, tuple(entries))


def _measured(
    matrix: Matrix, cost: Array | Literal["ordinal"] | None, belief: Array | None, *, full: bool
) -> Iterator[list[Entry]]:
    """Measure in ten parts, of which the first is all single lines."""
    gammas = [1.0, 2.0] + ([math.inf] if math.isinf(matrix.epsilon) else [])
    found = survey.lines(matrix, gammas, full=full)
    yield []
    known = status_of(matrix.is_exact)
    yield [
        Entry("entropy_rate", matrix.entropy_rate, known, f"of {matrix.max_bits:.6g}"),
        Entry("beta", matrix.beta, known, "an average over the categories"),
    ]
    yield _lines(matrix, found)
    yield _attacker(matrix, found, full=full)
    yield [_epsilon(matrix, found)]
    yield [] if cost is None else _cost(matrix, cost, belief, full=full)
    yield _deniability(matrix, found)
    yield [
        _entry("truthfulness", matrix.truthfulness, "under a uniform prior"),
        _entry("is_ergodic", matrix.is_ergodic),
        *structure.by_parts(matrix, partial(_conditioning, full=full)),
        _varah(found),
    ]
    yield _errors(matrix)
    yield [] if belief is None else _belief(matrix, found, belief)


def _entry(name: str, value: float | None, note: str = "", *, exact: bool = True) -> Entry:
    if value is None:
        return missing(name, _TOO_LARGE)
    return Entry(name, value, status_of(exact), note)


def _lines(matrix: Matrix, found: survey.Lines | None) -> list[Entry]:
    if found is None:
        return [missing("worst_row", _TOO_LARGE), missing("worst_column", _TOO_LARGE)]
    betas = survey.line_betas(matrix, found)
    pairs = [("row", found.worst_row), ("column", found.worst_column)]
    known = status_of(found.worst_exact)
    return [
        Entry(f"worst_{line}", beta, known, f"matrix {line} {place}: {down(held)} bits")
        for (line, (place, held)), beta in zip(pairs, betas, strict=True)
    ]


def _attacker(matrix: Matrix, found: survey.Lines | None, *, full: bool) -> list[Entry]:
    told = priors.mutual_information(matrix)
    best = priors.capacity(matrix, found, full=full)
    size = matrix.size - matrix.padding
    allowed = bits.guaranteed_max_leakage(matrix.beta, size)
    chance, leak, known, why = 2**allowed / size, allowed, status_of(False), "by beta only"
    if found is not None:
        chance, leak = bits.above(found.peaks / size), bits.log2_up(found.peaks)
        known, why = status_of(found.peaks_exact), ""
    return [
        Entry("mutual_information", told, status_of(matrix.is_exact and not matrix.padding)),
        Entry("capacity", best.bits, status_of(best.gap <= 1e-7), best.how),
        Entry("guessing_probability", min(1.0, chance), known, why, 1 / size),
        Entry("max_leakage", leak, known, why),
        Entry("guaranteed_max_leakage", allowed, status_of(matrix.is_exact), "whatever the matrix"),
    ]


def _epsilon(matrix: Matrix, found: survey.Lines | None) -> Entry:
    known = status_of(matrix.is_exact)
    witness = None if found is None else found.witness
    u, w, v = (0, 0, 0) if witness is None else witness
    if math.isinf(matrix.epsilon):
        where = "" if witness is None else f": {v} is reported for true {u}, never for true {w}"
        may = "rules out" if known == "exact" or where else "may rule out"
        return Entry("epsilon", math.inf, known, f"a reported value {may} a true one{where}")
    favours = witness is not None and matrix.epsilon > 0
    note = f"reported {v} favours true {u} over true {w}" if favours else ""
    return Entry("epsilon", matrix.epsilon, known, note)


def _cost(
    matrix: Matrix, cost: Array | Literal["ordinal"], belief: Array | None, *, full: bool
) -> list[Entry]:
    size = matrix.size
    ordinal = isinstance(cost, str)
    if size <= survey.TABLE or full:
        dense = matrix.to_dense()
        mean = Entry("expected_cost", costs.expected_cost(dense, cost, belief), "exact")
        if ordinal or size**3 <= _TRIPLES or full:
            return [Entry("metric_epsilon", costs.metric_epsilon(dense, cost), "exact"), mean]
        why = "too many pairs of rows to compare; full=True compares them"
        return [missing("metric_epsilon", why), mean]
    if not ordinal:
        return [missing(name, _TOO_LARGE) for name in ("metric_epsilon", "expected_cost")]
    metric, exact = costs.ordinal_epsilon(matrix) or (None, True)
    walk = None if belief is not None else costs.ordinal_cost(matrix)
    return [_entry("metric_epsilon", metric, exact=exact), _entry("expected_cost", walk)]


def _deniability(matrix: Matrix, found: survey.Lines | None) -> list[Entry]:
    entries = [missing(name, _TOO_LARGE) for name in _EXPLAINS]
    if found is not None:
        pairs = zip(_EXPLAINS.items(), found.deniability, strict=False)
        entries = [Entry(name, k, status_of(exact), why) for (name, why), (k, exact) in pairs]
    if math.isfinite(matrix.epsilon):
        # By its definition epsilon is the gamma at which all true values are alike.
        entries[2:] = [Entry("deniability_epsilon", matrix.size - matrix.padding, "exact")]
    return entries


def _conditioning(
    matrix: Matrix, known_of: Callable[[Matrix], list[Entry]], *, full: bool
) -> list[Entry]:
    size, own, made = matrix.size, linear.operator(matrix), structure.composition(matrix)
    if own is None and isinstance(made, structure.Kron):
        each = [known_of(factor) for factor in structure.wide_factors(made)]
        pairs = [[part.value for part in parts] for parts in each]
        if all(value is not None for pair in pairs for value in pair):
            known = status_of(all(e.status == "exact" for pair in each for e in pair))
            rank = math.prod(int(pair[0] or 0) for pair in pairs)
            product = math.prod(float(pair[1] or 0) for pair in pairs)
            return [Entry("rank", rank, known), Entry("condition", product, known)]
        return [missing(name, "a factor is too large") for name in ("rank", "condition")]
    if own is None and (full or size <= (_SINGULAR_VALUES if made is None else _WRITTEN)):
        own = linear.dense(matrix)
    if own is not None:
        counted = own.rank == size or _core.counts_rank(matrix)
        return [_rank_entry(own.rank, counted), _condition_entry(linear.condition(matrix), counted)]
    # The rank and condition of a very large product, from its factors.
    why = "too large for singular values; full=True takes them"
    factors = made.parts if isinstance(made, structure.Product) else ()
    conditions = [known_of(factor)[1] for factor in factors]
    values = [entry.value for entry in conditions if entry.value is not None]
    if not values or len(values) < len(conditions):
        return [missing("rank", why), missing("condition", why)]
    exact = all(entry.status == "exact" for entry in conditions)
    if max(values) > linear.MOST:
        return [missing("rank", why), _condition_entry(math.inf, exact)]
    if min(values) == 1:
        # A permutation before or after changes no singular value.
        return [_rank_entry(matrix.size, exact), _condition_entry(max(values), exact)]
    note = "the product of those of its factors"
    return [_rank_entry(matrix.size, exact), Entry("condition", math.prod(values), "bound", note)]


def _rank_entry(value: int, counted: bool) -> Entry:
    note = "" if counted else "at least: singular values above 2^-50"
    return Entry("rank", value, status_of(counted), note)


def _condition_entry(value: float, counted: bool) -> Entry:
    note = "singular: some true values cannot be distinguished" if value > linear.MOST else ""
    if note and not counted:
        note = "beyond 2^50, too close to singular"
    return Entry("condition", value, status_of(counted), note)


def _varah(found: survey.Lines | None) -> Entry:
    if found is None:
        return missing("varah_bound", _TOO_LARGE)
    spare = 2 * found.least_diagonal - 1
    if spare <= 0:
        return missing("varah_bound", "some true value is reported with probability at most 1/2")
    return Entry("varah_bound", bits.above(1 / spare), "bound", "holds in the 1-, 2- and inf-norm")


def _errors(matrix: Matrix) -> list[Entry]:
    found = efficiency.efficiency(matrix), efficiency.efficiency(matrix, worst=True)
    note = "of the least squared error with this epsilon" if found[0] else ""
    if found[0] == 0:
        note = "singular: single proportions cannot be estimated"
    return [
        _entry("efficiency", found[0], note),
        _entry("worst_efficiency", found[1]),
        Entry("report_bits", bits.log2_up(matrix.size), "exact"),
    ]


def _belief(matrix: Matrix, found: survey.Lines | None, prior: Array) -> list[Entry]:
    guess, exact = priors.best_guess(matrix, prior, None if found is None else found.peaks)
    blind = float(prior.max())
    note = f"{up(blind)} without a reported value"
    entry = Entry("best_guess", guess, status_of(exact), note, before=blind)
    if found is None or found.row_bits is None:
        names = ("remaining_uncertainty", "effective_alternatives")
        return [*(missing(name, _TOO_LARGE) for name in names), entry]
    left = priors.remaining_uncertainty(matrix, found.row_bits, prior)
    before = bits.entropy(prior)
    note = f"{before:.6g} bits without a reported value"
    return [
        Entry("remaining_uncertainty", left, "exact", note, before=before),
        Entry("effective_alternatives", 2**left, "exact"),
        entry,
    ]
