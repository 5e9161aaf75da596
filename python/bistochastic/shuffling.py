"""``bs.shuffled``: what a reader learns from records that are randomized and then shuffled.

Each record is reported through the matrices, and then the order of the records is drawn anew. A
record hides among the others, so the central ``(epsilon, delta)`` of the whole file is smaller than
the epsilon of one record.

The bound is the privacy blanket of Balle, Bell, Gascon and Nissim (CRYPTO 2019). Let ``w_v`` be the
smallest entry of column ``v``, and ``gamma`` their sum. For true records ``x`` and ``x'``, let
``a_v = P[x,v] / w_v``, ``b_v = P[x',v] / w_v`` and ``E = e^epsilon``. Each report of the other
records comes from ``w / gamma`` with probability ``gamma``, whatever is true of them. So

    delta(epsilon) <= E[(Z_1 + ... + Z_n)_+] / n,

with independent ``Z`` that are ``a_v - E b_v`` with probability ``w_v``, and 0 otherwise. The
statement is the maximum over all ordered pairs ``(x, x')``. With ``w = P[o,.]`` for a third record
``o`` the same expression is exact if all other records are ``o``: a lower bound.

Every step of the computation can only raise delta: the grid spreads each value onto its two
neighbours with the same mean, and ``(.)_+`` is convex; what falls out of the window, and all
rounding, is added.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core, arguments
from bistochastic.arguments import Array
from bistochastic.difference_sets import overlap
from bistochastic.errors import Refused
from bistochastic.formatting import Shown, up
from bistochastic.guarantees import guarantee, matrices_in
from bistochastic.matrix import Matrix
from bistochastic.progress import check_progress
from bistochastic.structure import axes, first_row, two_valued

# Half of the distance from 1 to the next double.
_UNIT = 2.0**-53
# Of what falls out of the window on each side, the logarithm.
_TAIL = 42.0
# A sum over more records is not computed: the bound for fewer is valid, and as good.
_MOST_RECORDS = 10**8
# Beyond these sizes a matrix is replaced by the worst law that its smallest entries allow.
_DENSE, _CYCLIC, _LISTED = 300, 1000, 4096
# Laws of all pairs of records of several columns, and numbers in them.
_MOST_LAWS, _MOST_ATOMS = 530, 10**7
_COARSE, _LARGEST_GRID = 1 << 15, 1 << 22
# Above the true bound by a factor of at most e to this, unless the largest grid is too coarse.
_EXCESS = 1e-4
# Epsilons are found to this relative precision.
_CLOSE = 1e-7
# Local epsilons from here on are returned as they are: a hidden record would be a miracle.
_LARGE = 300.0


class _Law(NamedTuple):
    """A pair of true records: reports ``(w, a, b)``; axes before the last are several pairs."""

    w: Array
    a: Array
    b: Array


class _Column(NamedTuple):
    """One column: rows of its matrix, with equal reports taken together, and pairs of rows.

    ``least`` is the smallest entry over all true codes, for each report, and ``times`` counts
    reports. ``alike`` says that one pair serves for all, and ``real`` that the rows are those of
    the matrix.
    """

    rows: Array
    times: Array
    least: Array
    pairs: list[tuple[int, int]]
    alike: bool
    real: bool = True


class Shuffled(Shown):
    """Central privacy of shuffled records: the result of :func:`shuffled`.

    ``records`` is their number, ``local_epsilon`` the epsilon of one record without shuffling.

    >>> bs.shuffled(bs.randomized_response(2, epsilon=1), 10_000)
    <Shuffled 10,000 records: epsilon 1 per record, less of all together>
    """

    def __init__(self, matrices: list[Matrix], records: int) -> None:
        self.records = records
        self.local_epsilon = guarantee(matrices).epsilon
        if not math.isfinite(self.local_epsilon):
            must = "have a finite epsilon: otherwise one report can prove what is true"
            raise Refused("matrices", must, "an infinite epsilon")
        self._n = min(records, _MOST_RECORDS)
        # Epsilon is lowered by this share, since ratios of entries are rounded, in each column.
        parts = [part for m in matrices for part in axes(m)]
        self._slack = 16 * _UNIT * max(1, len(parts))
        hidden = self.local_epsilon == 0 or self.local_epsilon > _LARGE
        self._columns = [] if hidden else [_read(part) for part in parts]
        self._laws = _laws(self._columns) if self._columns else []

    def __repr__(self) -> str:
        local = f"epsilon {up(self.local_epsilon)} per record"
        return f"<Shuffled {self.records:,} records: {local}, less of all together>"

    def delta(self, epsilon: float, *, progress: object = None) -> float:
        """Bound delta at an epsilon, from above.

        Whatever set of shuffled files an attacker looks for, its probability changes by a factor of
        at most e^epsilon, plus delta, if one record is replaced by any other.

        ``progress`` is that of :meth:`Matrix.profile`.

        >>> m = bs.randomized_response(2, epsilon=1)
        >>> f"{bs.shuffled(m, 1000).delta(0.05):.6f}"
        '0.002048'
        """
        tell, wanted = check_progress(progress), arguments.limit("epsilon", epsilon)
        if wanted >= self.local_epsilon:
            return 0.0
        if not self._laws:
            return 1.0
        first = self._widest()
        most = self._bound(first, wanted)[0]
        for law in self._suspects(first, wanted, most, tell):
            most = max(most, self._bound(law, wanted)[0])
        return most

    def epsilon(self, delta: float, *, progress: object = None) -> float:
        """Bound epsilon at a delta, from above; never above the epsilon of one record.

        ``delta`` is a probability with which the statement may fail. It has to be below 1 /
        ``records``, and should be far below: otherwise publishing one record as it is would be
        within it. ``progress`` is that of :meth:`Matrix.profile`.

        >>> f"{bs.shuffled(bs.randomized_response(12, epsilon=1), 10_000).epsilon(1e-6):.5f}"
        '0.02135'
        """
        tell, target = check_progress(progress), _delta(delta, self.records)
        if not self._laws or target == 0:
            return self.local_epsilon
        first = self._widest()
        found = self._solve(first, target)
        for law in self._suspects(first, found, target, tell):
            # A coarse grid mostly says enough.
            if all(self._bound(law, found, grid)[0] > target for grid in (_COARSE, 1 << 18, 0)):
                found = self._solve(law, target, found)
        return min(found, self.local_epsilon)

    def epsilon_at_least(self, delta: float) -> float | None:
        """Bound epsilon at a delta from below: no method can state less for these matrices.

        It is the exact epsilon if all other records have one value that the attacker knows. None if
        no such value is computed to three digits.

        >>> m = bs.randomized_response(2, epsilon=1)
        >>> f"{bs.shuffled(m, 1000).epsilon_at_least(1e-6):.4f}"
        '0.1266'
        """
        target = _delta(delta)
        if not self._laws:
            return 0.0 if self.local_epsilon == 0 else None
        laws = _one_other(self._columns)
        if not laws or target == 0:
            return None
        law = max(laws, key=lambda each: self._solve(each, target, coarse=True))
        most = self._solve(law, target)
        # What the computation added is taken off again, so that this delta is above the target.
        for share in (1e-6, 1e-5, 1e-4, 1e-3):
            low = most * (1 - share)
            value, excess = self._bound(law, low)
            if excess > 10 * _EXCESS:
                return None
            if value * math.exp(-3 * excess) * (1 - 1e-6) > target:
                return low
        return None

    def _widest(self) -> _Law:
        """The pair that is told apart most easily by many records."""
        each = [_one(law, int(np.argmax(_spread(law)))) for law in self._laws]
        return max(each, key=_spread)

    def _suspects(
        self, first: _Law, epsilon: float, target: float, tell: Callable[[float], object]
    ) -> Iterator[_Law]:
        """Give the pairs beside the first whose delta may be above a target, by Chernoff."""
        if len(self._laws) == 1 and self._laws[0].a.ndim == 1:
            return
        grow = self._ratio(epsilon)
        theta = _tilt(first.w, first.a - grow * first.b)
        for done, law in enumerate(self._laws):
            z = np.atleast_2d(law.a - grow * law.b)
            mass = 1 + (law.w * np.expm1(theta * z)).sum(axis=-1)
            with np.errstate(divide="ignore"):
                most = self._n * np.log(mass) - math.log(self._n) - 1 - np.log(theta)
            held = np.flatnonzero(most > math.log(max(target, 1e-300)) - 0.01)
            for i, where in enumerate(held):
                tell((done + i / len(held)) / len(self._laws))
                yield _one(law, int(where))

    def _ratio(self, epsilon: float) -> float:
        return math.exp(epsilon - self._slack * (1 + epsilon))

    def _bound(self, law: _Law, epsilon: float, grid: int = 0) -> tuple[float, float]:
        """Bound delta for one pair; also the logarithm of how far above the bound it may be.

        Any grid gives a bound. Without a size it is as fine as it has to be.
        """
        z = law.a - self._ratio(epsilon) * law.b
        alone = float((law.w * np.maximum(z, 0)).sum()) * (1 + 1e-12)
        if alone == 0:
            return 0.0, 0.0
        found, excess = _expected(law.w, z, self._n, grid)
        return min(found, alone, 1.0), excess

    def _solve(
        self, law: _Law, target: float, least: float = 0.0, *, coarse: bool = False
    ) -> float:
        """Find the smallest epsilon, up to a share of it, whose delta is at most the target."""

        def above(epsilon: float, grid: int = 0) -> float:
            value = self._bound(law, epsilon, grid)[0]
            return math.log(value / target) if value > 0 else -math.inf

        rough = partial(above, grid=_COARSE)
        if rough(least) <= 0:
            return least
        # For many records, the tail of a normal distribution.
        apart = math.sqrt(_spread(law) / self._n)
        guess = apart * (apart / 2 + math.sqrt(2 * math.log(1 / target)))
        high = _root(rough, least, self.local_epsilon, guess, 0.02, 1e-3)
        # The fine grid bounds delta lower than the coarse one that found where to look.
        return high if coarse else _root(above, least, high, high * (1 - 3e-4), 3e-4, _CLOSE)


def _root(
    falling: Callable[[float], float], low: float, high: float, guess: float, step: float,
    close: float,
) -> float:  # fmt: skip
    """Find where a function falls to 0, from above, to a relative precision, from a guess."""
    at_low, at_high = math.inf, -math.inf
    while high - low > close * high:
        if not low < guess < high:
            guess = (low + high) / 2
        at = falling(guess)
        # Illinois: halve the value at an end that stays.
        if at > 0:
            low, at_low, at_high = guess, at, at_high / 2
        else:
            high, at_high, at_low = guess, at, at_low / 2
        if at_low < math.inf and at_high > -300:
            guess = (low * at_high - high * at_low) / (at_high - at_low)
            guess = min(max(guess, low + close * high / 3), high - close * high / 3)
        else:
            guess, step = guess * (1 + step if at > 0 else 1 - step), min(2 * step, 0.5)
    return high


def shuffled(matrices: Matrix | Iterable[Matrix], records: int) -> Shuffled:
    """State the privacy of a whole file of shuffled records, which is more than that of one record.

    ``matrices`` are those of the columns of a record; a single one may stand alone. ``records`` is
    their number. ``.epsilon(delta)`` and ``.delta(epsilon)`` of the result hold against an attacker
    who knows all other records, sees the shuffled reports, and compares two files that differ in
    one record. They are rounded up, including every error of the computation.

    This assumes one record per person, noise that is drawn anew for each record, no column beside
    these, and an order that says nothing. An attacker who knows the noise of some records
    (insiders) leaves the others: subtract them. Several files about the same people add their
    epsilons and deltas.

    A matrix with an infinite epsilon is refused: some report of it proves something, however many
    records there are.

    >>> m = bs.randomized_response(12, epsilon=1)
    >>> whole = bs.shuffled(m, 10_000)
    >>> whole
    <Shuffled 10,000 records: epsilon 1 per record, less of all together>
    >>> f"{whole.epsilon(1e-6):.4f}"
    '0.0214'
    """
    columns = matrices_in("matrices", matrices)
    if not columns:
        raise Refused("matrices", "hold at least one matrix", "none")
    return Shuffled(columns, _core.as_whole("records", records, 1))


def _delta(delta: float, records: int = 1) -> float:
    must = "be from 0 to below 1" + f" / {records:,}" * (records > 1)
    return arguments.real("delta", must, delta, lambda x: x >= 0 and x * records < 1)


def _read(matrix: Matrix) -> _Column:
    size = matrix.size
    pair = two_valued(matrix)
    if pair is not None:
        kept, other = pair
        shown = min(size, 3)
        rows = np.full((shown, shown + 1), other)
        np.fill_diagonal(rows, kept)
        times = np.append(np.ones(shown), size - shown)
        return _Column(rows, times, np.full(shown + 1, min(pair)), [(0, 1)], alike=True)
    row = first_row(matrix)
    if row is not None:
        counts = row.counts
        high = np.flatnonzero(counts > counts.min())
        if len(set(counts[high].tolist())) == 1 and overlap(size, high) is not None:
            # Any two rows overlap equally often.
            shifts = np.array([np.roll(counts, shift) for shift in range(min(size, 3))])
            kinds, times = np.unique(shifts, axis=1, return_counts=True)
            rows = kinds / row.total
            least = np.full(len(times), counts.min() / row.total)
            return _Column(rows, times.astype(float), least, [(0, 1)], alike=True)
        if size <= _CYCLIC:
            rows = np.array([np.roll(row.shares(), shift) for shift in range(size)])
            pairs = [(0, shift) for shift in range(1, size)]
            return _Column(rows, np.ones(size), rows.min(axis=0), pairs, alike=False)
        return _universal(float(size * (counts.min() / row.total)), matrix.epsilon)
    if size <= _DENSE:
        rows = matrix.to_dense()
        pairs = [(x, y) for x in range(size) for y in range(size) if x != y]
        return _Column(rows, np.ones(size), rows.min(axis=0), pairs, alike=False)
    # Every entry of a column is at least the mean of the column over the largest ratio.
    gamma = math.exp(-matrix.epsilon)
    if size <= _LISTED:
        gamma = max(gamma, math.fsum(matrix.to_dense().min(axis=0)))
    return _universal(gamma * (1 - 1e-12), matrix.epsilon)


def _universal(gamma: float, epsilon: float) -> _Column:
    """The law that is worse than that of every pair, of every matrix with these numbers.

    Each pair of ratios is spread to the corners of ``[1, c]^2``, as far apart as their mean allows.
    """
    c = math.exp(epsilon) * (1 + 1e-12)
    gamma = min(gamma, 1.0)
    apart = (1 - gamma) / (c - 1)
    if 2 * apart <= gamma:
        w, a, b = [apart, apart, gamma - 2 * apart], [c, 1.0, 1.0], [1.0, c, 1.0]
    else:
        w, a, b = [gamma - apart, gamma - apart, 2 * apart - gamma], [c, 1.0, c], [1.0, c, c]
    least = np.array(w)
    rows = np.array([least * a, least * b])
    return _Column(rows, np.ones(3), least, [(0, 1)], alike=True, real=False)


def _pairs(column: _Column) -> _Law:
    """The laws of all pairs of rows of one column."""
    left, right = np.array(column.pairs).T
    a, b = column.rows[left] / column.least, column.rows[right] / column.least
    return _Law(column.least * column.times, a, b)


def _laws(columns: list[_Column]) -> list[_Law]:
    """List the laws of all pairs of records that may be the worst, several at a time."""
    if len(columns) == 1 and not columns[0].alike:
        law = _pairs(columns[0])
        step = max(1, 10**6 // len(law.w))
        parts = (slice(start, start + step) for start in range(0, len(law.a), step))
        return [_Law(law.w, law.a[part], law.b[part]) for part in parts]
    known: dict[bytes, _Law] = {}
    several: list[list[_Law]] = [[]]
    atoms = 1
    for column in sorted(columns, key=lambda column: len(column.pairs)):
        few = len(column.pairs) * max(25, len(several)) <= 50 * _MOST_LAWS
        grown = _joined(several, _kinds(column, known)) if few else []
        most = min(_MOST_LAWS, _MOST_ATOMS / atoms / len(column.least))
        if not column.alike and not 0 < len(grown) <= most:
            # It is replaced by a law that is worse than those of all its pairs.
            gamma = float((column.least * column.times).sum())
            ratio = math.log(float((column.rows.max(axis=0) / column.least).max()))
            column = _universal(gamma, ratio * (1 + 1e-12))
            grown = _joined(several, _kinds(column, known))
        several, atoms = grown, atoms * len(column.least)
    return [reduce(_times, laws) for laws in several]


def _joined(several: list[list[_Law]], kinds: list[_Law]) -> list[list[_Law]]:
    """Add a column to the laws of others; columns of one law may change places."""
    every = [[*laws, kind] for laws in several for kind in kinds]
    return list({tuple(sorted(map(id, laws))): laws for laws in every}.values())


def _kinds(column: _Column, known: dict[bytes, _Law]) -> list[_Law]:
    """The laws of one of several columns, each once."""
    # Records may also be equal here. Where one pair serves for all, a difference only moves mass
    # outwards, so the worst records differ.
    same = [] if column.alike else [(x, x) for x in range(len(column.rows))]
    law, found = _pairs(column._replace(pairs=[*column.pairs, *same])), {}
    for where in range(len(law.a)):
        one = _merged(_one(law, where))
        key = b"".join(each.tobytes() for each in one)
        found[key] = known.setdefault(key, one)
    return list(found.values())


def _one_other(columns: list[_Column]) -> list[_Law]:
    """The laws of a pair if all other records are one value: the first, the second, or a third.

    In each column the pair is the one that such others hide least, and they may be like the first
    in one of few columns and like the second in another. Nothing if a column stands for many.
    """
    if not all(column.real for column in columns):
        return []
    found: dict[int, list[_Law]] = {0: [], 1: [], 2: []}
    for column in columns:
        left, right = np.array(column.pairs).T
        best: dict[int, tuple[float, int, int]] = {}
        for o, base in enumerate(column.rows):
            if (base == 0).any():
                continue
            seen = (column.rows * column.times) @ (column.rows / base).T
            spread = np.diag(seen)[left] + np.diag(seen)[right] - 2 * seen[left, right]
            for kind, held in enumerate((left == o, right == o, (left != o) & (right != o))):
                if held.any():
                    where = int(np.where(held, spread, -1.0).argmax())
                    best[kind] = max(best.get(kind, (-1.0, 0, 0)), (float(spread[where]), where, o))
        for kind, laws in found.items():
            _, where, o = best.get(kind, best[0])
            base, (i, j) = column.rows[o], column.pairs[where]
            law = _Law(base * column.times, column.rows[i] / base, column.rows[j] / base)
            laws.append(_merged(law))
    chosen = product(*zip(*found.values(), strict=True)) if len(columns) <= 4 else found.values()
    pairs = (reduce(_times, laws) for laws in chosen)
    return sorted(pairs, key=lambda law: math.sqrt(_spread(law)))[-6:]


def _spread(law: _Law) -> Array:
    """How far apart the reports of each pair are, in squared deviations of what hides them."""
    return np.asarray((law.w * (law.a - law.b) ** 2).sum(axis=-1))


def _one(law: _Law, where: int) -> _Law:
    return law if law.a.ndim == 1 else _Law(law.w, law.a[where], law.b[where])


def _times(one: _Law, other: _Law) -> _Law:
    """Two columns together: ratios multiply."""
    return _merged(_Law(*(np.outer(x, y).ravel() for x, y in zip(one, other, strict=True))))


def _merged(law: _Law) -> _Law:
    """Take reports with equal ratios together; ``a`` is rounded up for it, and ``b`` down."""
    held = np.argsort(law.w, kind="stable")[np.count_nonzero(law.w == 0) :]
    digits, powers = np.frexp(np.stack([law.a[held], law.b[held]]))
    digits = np.ldexp(digits, 44)
    rounded = np.ldexp(np.stack([np.ceil(digits[0]), np.floor(digits[1])]), powers - 44)
    both, where = np.unique(rounded, axis=1, return_inverse=True)
    w = np.bincount(where.reshape(-1), law.w[held], both.shape[1])
    return _Law(np.asarray(w, np.float64), both[0], both[1])


def _tilt(w: Array, z: Array) -> float:
    """Find theta >= 0 with which ``z`` has mean 0 under weights ``w e^(theta z)``; 0 adds none."""
    signed = w * z

    def slope(theta: float) -> float:
        return float((signed * np.exp(theta * z - max(0.0, theta * z.max()))).sum())

    low, high = 0.0, 1 / float(z.max())
    if slope(0.0) >= 0:
        return 0.0
    while slope(high) < 0:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


def _window(w: Array, z: Array, theta: float, n: int) -> tuple[float, float]:
    """How far the sum of n tilted values comes, down and up, but for e^-42 on each side."""
    tilted = w * np.exp(theta * z)
    tilted /= 1 + float((w * np.expm1(theta * z)).sum())
    variance = n * float((tilted * z**2).sum())
    ends = []
    for most in (-float(z.min()), float(z.max())):
        # Bernstein: exp(-t^2 / 2 / (variance + t most / 3)).
        linear = _TAIL * max(most, 0.0) / 3
        reach = linear + math.sqrt(linear**2 + 2 * _TAIL * variance)
        ends.append(min(reach, n * max(most, 0.0)))
    return ends[0], ends[1]


def _expected(w: Array, z: Array, n: int, grid: int) -> tuple[float, float]:
    """Bound ``E[(Z_1 + ... + Z_n)_+] / n`` from above; also the excess of the grid.

    Without a size the grid is refined until there is next to no excess. Then the positive part is
    summed over the law of the sum on the grid, with every error added.
    """
    theta = _tilt(w, z)
    exact = math.log1p(float((w * np.expm1(theta * z)).sum()))
    size = grid or 1 << (16 if n <= 1000 else 18 if n <= 30_000 else 20)
    while True:
        places, masses, step = _grid(w, z, theta, n, size)
        at = np.asarray(places * step, np.float64)
        tilt = _tilt(masses, at)
        grown = math.log1p(float((masses * np.expm1(tilt * at)).sum()))
        with np.errstate(over="ignore"):
            near = math.log1p(float((masses * np.expm1(theta * at)).sum()))
        excess = max(0.0, n * (near - exact))
        if grid or excess <= _EXCESS or size >= _LARGEST_GRID:
            break
        size *= 2
    down, _ = _window(masses, at, tilt, n)
    below = math.ceil(down / step)
    tilted = masses * np.exp(tilt * step * places - grown)
    law = np.bincount(places % size, tilted, size)
    law[0] += (1 - math.fsum(masses)) * math.exp(-grown)
    waves = np.fft.rfft(law)
    lengths = np.abs(waves)
    with np.errstate(divide="ignore"):
        powers = np.exp(n * np.log(lengths))
        others = np.exp((n - 1) * np.log(lengths))
    turned = n * np.angle(waves)
    summed = np.fft.irfft(powers * np.cos(turned) + 1j * (powers * np.sin(turned)), size)
    # What does not belong to the window below 0 counts as positive.
    k = np.arange(1, max(2, size - below - 1))
    value = k * step * np.exp(-tilt * step * k)
    most = min(float(value.max()) if tilt == 0 else 1 / (math.e * tilt), n * step * size)
    transform = 7 * _UNIT * math.log2(size)
    bins = (n * (transform + 8 * _UNIT) + transform) * 2 / size * float(others.sum())
    total = float((np.maximum(summed[k], 0) * value).sum())
    total += bins * float(value.sum()) + 2 * math.exp(-_TAIL) * most
    rounding = 1 + 64 * n * _UNIT * (1 + abs(grown))
    return math.exp(n * grown - math.log(n)) * total * rounding * (1 + 1e-12), excess


def _grid(
    w: Array, z: Array, theta: float, n: int, size: int
) -> tuple[NDArray[np.int64], Array, float]:
    """Spread each value onto its two neighbours on a grid; the grid that spreads least."""
    down, up_ = _window(w, z, theta, n)
    # The grid itself adds a little variance.
    coarse = 1.02 * (down + up_) / (size - 8)
    tried = 20 if size <= _COARSE else 2000
    steps = coarse * np.linspace(1, 1.25, max(2, min(tried, 2 * 10**6 // len(z))))
    tilted = w * np.exp(theta * (z - max(0.0, float(z.max()))))
    parts = z / steps[:, None] % 1
    added = (tilted * parts * (1 - parts)).sum(axis=1) * steps**2
    step = float(steps[added.argmin()])
    lower = np.floor(z / step)
    part = z / step - lower
    places = np.concatenate([lower, lower + 1]).astype(np.int64)
    masses = np.concatenate([w * (1 - part), w * part])
    known, where = np.unique(places, return_inverse=True)
    summed = np.asarray(np.bincount(where, masses, len(known)), np.float64)
    return known[summed > 0], summed[summed > 0], step
