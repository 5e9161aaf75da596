"""Individuals moved by one permutation: the same values, the right chances, the same container."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from cases import child
from others import pa, pd, pl
from protocol import chacha, derive, response_digest

KEY = bs.Key.from_bytes(bytes(range(32)))

SHIFTED = bs.mix([bs.blocks([3, 3, 3]), bs.blocks([2, 3, 4])], weights=[0.5, 0.5])
SMALL = {
    "uniform": bs.uniform(9),
    "blocks": bs.blocks([2, 1, 4, 2]),
    "k_anonymous": bs.k_anonymous(9, share=0.4),
    "tridiagonal": bs.tridiagonal(0.3, size=9),
    "alphas": bs.tridiagonal([Fraction(n, 28) for n in (9, 19, 0, 28, 0, 4, 14, 7)]),
    "randomized_response": bs.randomized_response(9, keep=0.4),
    "never": bs.randomized_response(9, keep=Fraction(1, 100)),
    "identity": bs.identity(9),
    "permutation": bs.permutation([3, 1, 4, 0, 5, 8, 2, 6, 7]),
    "t_transform": bs.t_transform(9, 2, 7, keep=0.3),
    "geometric": bs.geometric(9, beta=0.5),
    "product": bs.tridiagonal(0.3, size=9)
    @ bs.randomized_response(9, keep=0.7)
    @ bs.blocks([4, 5]),
    "shifted blocks": SHIFTED,
}
REFUSED = {
    "kron": bs.kron(bs.uniform(3), bs.uniform(3)),
    "mix": bs.mix([bs.uniform(9), bs.identity(9)], weights=[0.5, 0.5]),
    "mix with one alone": bs.mix([bs.blocks([3, 3, 3]), bs.blocks([1, 8])], weights=[0.5, 0.5]),
    "circulant": bs.circulant([4, 2, 1, 0, 0, 0, 0, 0, 2]),
    "product": bs.tridiagonal(0.2, size=9) @ bs.circulant([1, 1, 0, 0, 0, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_values_move_by_the_permutation_that_is_sampled(name: str) -> None:
    m = SMALL[name]
    x = np.arange(9) * 1.5
    for stream in ("a", "b"):
        s = m.sample_permutation(key=KEY, stream=stream)
        want = np.empty_like(x)
        want[s] = x
        assert (m.permute(x, key=KEY, stream=stream) == want).all()
        assert m.permute(x.tolist(), key=KEY, stream=stream).tolist() == want.tolist()


@pytest.mark.parametrize("name", sorted(SMALL | REFUSED))
def test_marginals_are_the_matrix(name: str) -> None:
    """Chi-square over all cells, by a normal bound of its tail: a false alarm below 1e-6."""
    m, n = (SMALL | REFUSED)[name], 3000
    seen = np.zeros((9, 9))
    for i in range(n):
        seen[np.arange(9), m.sample_permutation(key=KEY, stream=f"marginals {i}")] += 1
    expected = n * m.to_dense()
    assert (seen[expected == 0] == 0).all()
    cells = expected > 0
    off = float(((seen - expected)[cells] ** 2 / expected[cells]).sum())
    degrees = max(int(cells.sum()) - 9, 1)
    assert off < degrees + 8 * math.sqrt(2 * degrees) + 16


LARGE = {
    "uniform": bs.uniform(300_000),
    "blocks": bs.k_anonymous(300_000, k=5),
    "several": bs.blocks([100_000, 7, 193, 150_000, *[20] * 2490]),
    "tridiagonal": bs.tridiagonal(0.3, size=300_000),
    "randomized_response": bs.randomized_response(300_000, keep=0.5),
    "few": bs.randomized_response(300_000, keep=1 - 2e-5),
    "all": bs.randomized_response(300_000, keep=Fraction(1, 300_000)),
    "circulant": bs.circulant(np.arange(300_000)),
    "product": bs.tridiagonal(0.3, size=300_000) @ bs.k_anonymous(300_000, k=100),
}


@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_columns_keep_every_value_and_their_mean(name: str) -> None:
    m = LARGE[name]
    x = np.arange(300_000) * 0.5
    out = m.permute(x, key=KEY, stream="large", allow_shift=True)
    assert (np.sort(out) == x).all()
    assert math.fsum(out) == math.fsum(x)
    s = m.sample_permutation(key=KEY, stream="large")
    assert (out[s] == x).all()
    small = m.permute(x.astype(np.float32), key=KEY, stream="large", allow_shift=True)
    assert (small == out.astype(np.float32)).all()


def test_large_shuffles_reach_every_place() -> None:
    """Where people of the first tenth go, by tenths: chi-square of 9 degrees, false alarm 1e-6."""
    n = 300_000
    for m in (bs.uniform(n), bs.randomized_response(n, keep=0.5)):
        s = m.sample_permutation(key=KEY, stream="tenths")
        moved = s[: n // 10]
        moved = moved[moved != np.arange(n // 10)]
        seen = np.bincount(moved // (n // 10), minlength=10)
        expected = len(moved) / 10
        assert float(((seen - expected) ** 2 / expected).sum()) < 45.1
    stayed = float((s == np.arange(n)).mean())
    assert abs(stayed - 0.5) < 6 * 0.5 / math.sqrt(n) + 2 / n


def test_output_does_not_depend_on_threads() -> None:
    code = (
        "import hashlib, numpy as np, bistochastic as bs\n"
        "h = hashlib.sha256(); n = 400_000; key = bs.Key.insecure(1)\n"
        "for m in (bs.uniform(n), bs.k_anonymous(n, k=5), bs.tridiagonal(0.3, size=n),\n"
        "          bs.randomized_response(n, keep=0.5), bs.blocks([n // 2, n // 2])):\n"
        "    x = np.arange(n) % 977 * 0.5\n"
        "    h.update(m.permute(x, key=key, stream='s').tobytes())\n"
        "    h.update(m.permute(x, order='rank', key=key, stream='s').tobytes())\n"
        "    h.update(m.average(x, allow_invertible=True).tobytes())\n"
        "print(h.hexdigest())"
    )

    assert len({child(code, BISTOCHASTIC_THREADS=n) for n in ("1", "2", "5")}) == 1


def test_values_are_stable() -> None:
    """Golden: a change here goes under "Values" in the changelog."""
    key = bs.Key.insecure(7)
    got = {
        name: SMALL[name].sample_permutation(key=key, stream="golden").tolist()
        for name in ("uniform", "blocks", "tridiagonal", "randomized_response", "product")
    }
    assert got == GOLDEN


GOLDEN = {
    "uniform": [5, 7, 4, 6, 2, 0, 3, 8, 1],
    "blocks": [1, 0, 2, 6, 4, 5, 3, 8, 7],
    "tridiagonal": [0, 1, 3, 2, 4, 6, 5, 7, 8],
    "randomized_response": [5, 1, 2, 3, 0, 8, 6, 7, 4],
    "product": [1, 2, 4, 0, 7, 5, 3, 6, 8],
}


class Law:
    """Decisions from the words of one nonce, after the documentation of the core."""

    def __init__(self, secret: bytes, nonce: int) -> None:
        self.stream = b"".join(chacha(secret, block, nonce) for block in range(40))
        self.at = 0
        self.quarters: list[int] = []

    def word(self) -> int:
        self.at += 8
        return int.from_bytes(self.stream[self.at - 8 : self.at], "little")

    def happens(self, a: int, b: int) -> bool:
        if not self.quarters:
            word = self.word()
            self.quarters = [word >> 16 * i & 0xFFFF for i in range(4)]
        known, bits = self.quarters.pop(0), 16
        while True:
            known, wanted = known * b, a << bits
            if known >= wanted or wanted - known >= b:
                return known < wanted
            a, bits, known = wanted - known, 64, self.word()

    def shuffled(self, x: list[int]) -> list[int]:
        x, left = list(x), len(x)
        while left > 1:
            limits: list[int] = []
            while left > 1 and math.prod(limits) * left <= 2**56:
                limits.append(left)
                left -= 1
            product = math.prod(limits)
            word = self.word()
            while word * product % 2**64 < 2**64 % product:
                word = self.word()
            number = word * product >> 64
            for i, n in enumerate(limits):
                rest = math.prod(limits[i + 1 :])
                digit, number = divmod(number, rest)
                x[n - 1], x[digit] = x[digit], x[n - 1]
        return x


@pytest.mark.parametrize("keep", [0.4, 0.9, Fraction(1, 40), 1])
def test_the_written_law_gives_the_same_permutation(keep: Any) -> None:
    n, m = 40, bs.randomized_response(40, keep=keep)
    secret = derive(
        bytes(range(32)),
        "permutation",
        ["stream", "law"],
        [],
        response_digest(m.size, m.parameters["keep"]),
    )
    once, order = Law(secret, 0), Law(secret, 3 << 60)
    kept = Fraction(m.parameters["keep"])
    whole, lacks = divmod(n * (kept.denominator - kept.numerator), kept.denominator)
    size = 1 + whole + once.happens(lacks, kept.denominator)
    if size == 1:
        taken: list[int] = []
    elif size == n:
        taken = list(range(n))
    else:
        left, taken = size, []
        for u in range(n):
            if once.happens(left, n - u):
                taken.append(u)
                left -= 1
    want = list(range(n))
    for place, u in zip(taken, order.shuffled(taken), strict=True):
        want[place] = u
    got = m.permute(np.arange(n), key=KEY, stream="law")
    assert got.tolist() == want


def test_rank_swaps_neighbours_by_value() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=500)
    ranks = np.argsort(np.argsort(x))
    out = bs.tridiagonal(0.4, size=500).permute(x, order="rank")
    assert (np.abs(np.argsort(np.argsort(out)) - ranks) <= 1).all()
    assert (out != x).sum() > 100
    classes = bs.k_anonymous(500, k=10).permute(x, order="rank")
    assert (np.argsort(np.argsort(classes)) // 10 == ranks // 10).all()


def test_a_given_order_is_the_row_at_each_place() -> None:
    x, by = np.array([10, 20, 30, 40]), np.array([0.4, 0.1, 0.3, 0.2])
    m = bs.permutation([1, 0, 2, 3])
    # Rows 1 and 3 have the smallest numbers, so they are the ones that change places.
    assert m.permute(x, order=np.argsort(by)).tolist() == [10, 40, 30, 20]
    assert m.permute(x, order=pd.Series([1, 3, 2, 0])).tolist() == [10, 40, 30, 20]
    assert m.permute(x).tolist() == [20, 10, 30, 40]
    assert m.permute(x, order="rank").tolist() == [20, 10, 30, 40]


def test_ties_are_broken_by_the_key_and_not_by_the_file() -> None:
    # Everybody is equal, so the order is a shuffle of the file: neighbours are strangers.
    from bistochastic.individuals import by_rank

    n = 2000
    m = bs.tridiagonal(0.4, size=n)
    a, b = (by_rank(m, np.zeros(n), KEY, stream) for stream in ("a", "b"))
    assert sorted(a.tolist()) == list(range(n))
    assert (a == by_rank(m, np.zeros(n), KEY, "a")).all()
    # In a shuffle two of n stay on average, and pairs that stay neighbours are about as rare.
    assert (a == b).sum() < 20
    assert (np.abs(np.diff(a)) == 1).sum() < 20
    x = np.repeat([3.0, 1.0, 2.0], [5, 1, 4])
    ranked = by_rank(bs.uniform(10), x, KEY, "c")
    assert (x[ranked] == np.sort(x)).all()


@pytest.mark.parametrize(
    "values",
    [
        np.arange(9),
        np.arange(9, dtype=np.int8),
        np.linspace(0, 1, 9, dtype=np.float16),
        np.linspace(0, 1, 9) + 1j,
        np.arange(9) % 2 == 0,
        np.array(list("abcdefghi")),
        np.array(["2020-01-01"] * 8 + ["2024-02-29"], dtype="datetime64[D]"),
        np.array([None, "x", 3, 4.5, [1], {}, (), 8, 9], dtype=object),
        np.arange(27).reshape(9, 3),
        np.arange(36, dtype=np.uint8).reshape(9, 2, 2),
        np.asfortranarray(np.arange(18).reshape(9, 2)),
        np.arange(18)[::2],
        np.arange(9, dtype=">i8"),
    ],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_arrays_of_any_type_and_shape_come_back(values: Any) -> None:
    m = SMALL["blocks"]
    s = m.sample_permutation(key=KEY, stream="types")
    out = m.permute(values, key=KEY, stream="types")
    assert type(out) is type(values)
    assert out.dtype == values.dtype
    assert out.shape == values.shape
    for u in range(9):
        assert np.array_equal(out[s[u]], values[u]) or out[s[u]] is values[u]


def test_columns_of_any_library_come_back_as_arrays() -> None:
    m = SMALL["uniform"]
    words, numbers = list("ibacdefgh"), [9.0, 2, 3, 4, 5, 6, 7, 8, 1]
    s = m.sample_permutation(key=KEY, stream="c")
    for given in (words, numbers):
        want = np.empty(9, dtype=object)
        want[s] = given
        for make in (tuple, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])):
            got = m.permute(make(given), key=KEY, stream="c")
            assert type(got) is np.ndarray
            assert got.tolist() == want.tolist()
    both = {"n": numbers, "m": numbers}
    for table in (pd.DataFrame(both, index=range(3, 12)), pl.DataFrame(both), pa.table(both)):
        got = m.permute(table, key=KEY, stream="c")
        assert got[:, 0].tolist() == got[:, 1].tolist() == want.tolist()
    # By rank, too: the smallest stands first.
    swapped = bs.permutation([1, 0, *range(2, 9)])
    for held in (pd.Series(numbers), pl.Series(numbers), pa.array(numbers), numbers):
        out = swapped.permute(held, order="rank")
        assert out.tolist() == [9, 1, 3, 4, 5, 6, 7, 8, 2]


def test_without_a_key_every_call_draws_afresh() -> None:
    m, x = bs.uniform(50), np.arange(50)
    assert (m.permute(x) != m.permute(x)).any()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_a_whole_column_shares_is_refused_unless_asked_for(name: str) -> None:
    m, x = REFUSED[name], np.arange(9)
    with pytest.raises(ValueError, match=r"`matrix` must move individuals apart .*; got a "):
        m.permute(x)
    with pytest.raises(ValueError, match=r"`matrix` must move individuals apart"):
        m.permute(["x"] * 9, order="rank")
    s = m.sample_permutation(key=KEY, stream="s")
    assert (m.permute(x, key=KEY, stream="s", allow_shift=True)[s] == x).all()


def test_beta_of_a_mixture_is_that_of_its_smallest_part() -> None:
    parts = [bs.k_anonymous(10_000, k=100), bs.blocks([50, *[100] * 99, 50])]
    m = bs.mix(parts, weights=[0.5, 0.5])
    d = m.displacement()
    assert d.beta == min(part.beta for part in parts) < m.beta
    assert (np.sort(m.permute(np.arange(10_000))) == np.arange(10_000)).all()
    clear = bs.mix([bs.uniform(8), bs.identity(8)], weights=[0.5, 0.5])
    assert (clear @ bs.blocks([4, 4])).displacement().beta == bs.blocks([4, 4]).beta
    assert bs.kron(clear, bs.uniform(8)).displacement().beta == pytest.approx(0.5)


def by_entries(m: bs.Matrix) -> tuple[float, float, float, float, float]:
    """Moves from the entries themselves."""
    n, p = m.size, m.to_dense() / m.size
    far = np.abs(np.arange(n)[:, None] - np.arange(n))
    share = np.bincount(far.ravel(), weights=p.ravel(), minlength=n)
    below = np.cumsum(share)
    at = [float(np.flatnonzero(below >= q - 1e-12)[0]) / n for q in (0.1, 0.5, 0.9)]
    return float((far * p).sum()) / n, *at, float(share[0])  # type: ignore[return-value]


MOVES = {
    **SMALL,
    **REFUSED,
    "reflected": bs.reflected([0.3, 0.1, 0.05, 0.05, 0.1, 0.02, 0.01, 0.005, 0.005, 0.02]),
    "dense": bs.balance(np.random.default_rng(5).random((9, 9))),
    "one": bs.uniform(1),
    "two": bs.tridiagonal([0.75]),
    "one place": bs.kron(bs.tridiagonal(0.3, size=1), bs.circulant([3, 1, 1]), bs.uniform(1)),
    "nested": bs.kron(bs.circulant([3, 1, 1]), bs.mix([bs.uniform(4), bs.permutation([3, 0, 1, 2])],
                                                      weights=[0.25, 0.75]), bs.identity(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MOVES))
def test_moves_are_those_of_the_entries(name: str) -> None:
    m = MOVES[name]
    d = m.displacement()
    assert (d.mean, d.p10, d.p50, d.p90, d.unmoved) == pytest.approx(by_entries(m), abs=1e-12)
    assert d.joint_entropy == m.joint_entropy
    assert d.beta <= m.beta + 1e-15
    assert (d.joint_share is None) == (d.joint_entropy is None)
    assert 0 <= (d.joint_share or 0) <= 1
    assert str(d).count("\n") == 8
    u, v = np.nonzero(m.to_dense())
    assert d.furthest == np.abs(u - v).max() / m.size


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).permute([1, 2]), ValueError,
     "`values` must be one for each of the 3 individuals; got 2"),
    (lambda: bs.uniform(3).permute("abc"), TypeError, "`values` must be an array.*; got str"),
    (lambda: bs.uniform(3).permute([1, 2, 3], key=KEY), ValueError, "`stream` must name"),
    (lambda: bs.uniform(3).permute([1, 2, 3], order=[0, 1]), ValueError,
     "`order` must hold each row from 0 to 2 once; got 2 numbers"),
    (lambda: bs.uniform(3).permute([1, 2, 3], order=[0, 1, 3]), ValueError,
     "got 3 numbers that are not these"),
    (lambda: bs.uniform(3).permute([1, 2, 3], order=[0, 1, 1]), ValueError,
     "got 3 numbers that are not these"),
    (lambda: bs.uniform(3).permute([1.0, math.nan, math.nan], order="rank"), ValueError,
     "`values` must hold no missing values; got 2, the first at position 1"),
    (lambda: bs.uniform(2).permute(pd.Series([None, 1], dtype=object), order="rank"), ValueError,
     "`values` must hold no missing values; got 1, the first at position 0"),
    (lambda: bs.uniform(2).permute(np.ma.array([1, 2], mask=[True, False])), ValueError,
     "`values` must hold no missing values; got 1, the first at position 0"),
    (lambda: bs.uniform(2).permute(np.zeros(2, dtype=[("a", "i4")])), TypeError,
     "`values` must be an array.*; got records"),
    (lambda: bs.uniform(2).permute(np.array(["NaT", "2020-01-01"], dtype="M8[D]"), order="rank"),
     ValueError, "`values` must hold no missing values; got 1, the first at position 0"),
    (lambda: bs.uniform(2).permute([[1, 2], [3, 4]], order="rank"), ValueError,
     '`values` must be one column of values that have an order for order="rank"; got 2 axes'),
    (lambda: bs.uniform(2).permute([1j, 2], order="rank"), TypeError, "got dtype complex128"),
    (lambda: bs.uniform(2).permute(np.array([{}, []], dtype=object), order="rank"), TypeError,
     "got objects that have none"),
    (lambda: bs.geometric(5000, beta=0.5).permute(np.zeros(5000)), ValueError,
     "`size` must be at most 4096 to draw a permutation entry by entry; got 5000"),
    (lambda: bs.randomized_response(5000, keep=Fraction(1, 10**6)).permute(np.zeros(5000)),
     ValueError, "`size` must be at most 4096"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
