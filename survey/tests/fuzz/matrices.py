"""Valid matrices and their parameters as source code."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bistochastic import _core

LARGE = ("2**31 - 1", "2**31 + 5", "2**32", "10**10", "2**40", "2**53")
_EPSILONS = ("0", "0.5", "1", "3.3", "20", "800", "math.inf")
_TEMPERATURES = ("0", "0.01", "0.5", "3", "1e6", "1e300", "math.inf")


def size(rng: Random) -> int:
    """Mostly small, seldom so large that rows still fit, seldom beyond one block or byte."""
    luck = rng.random()
    if luck < 0.86:
        return rng.randint(1, 9)
    if luck < 0.96:
        return rng.randint(10, 40)
    return rng.choice([64, 100, 255, 256, 257, 300, 513])


def unit(rng: Random) -> str:
    """A number from 0 to 1."""
    luck = rng.random()
    if luck < 0.5:
        return repr(round(rng.random(), rng.randint(1, 17)))
    if luck < 0.7:
        d = rng.choice([2, 3, 7, 10, 97, 2**40, 2**53, 10**15, 2**62])
        return f"Fraction({rng.randint(0, d)}, {d})"
    return rng.choice(["0", "1", "0.0", "1.0", "0.5", "1e-300", "2.0**-53", "1 - 2.0**-53", "1e-9"])


def floats(rng: Random, n: int, total: float = 1.0) -> list[float]:
    """Non-negative floats over several magnitudes that sum to ``total`` within a rounding."""
    weights = [rng.random() ** rng.choice([1, 4, 30]) * rng.choice([0, 1, 1, 1]) for _ in range(n)]
    weights[rng.randrange(n)] += 0.5
    whole = sum(weights)
    return [w / whole * total for w in weights]


def wholes(rng: Random, n: int, high: int = 20) -> list[int]:
    """Whole numbers, one at least above 0."""
    some = [rng.randint(0, high) for _ in range(n)]
    some[rng.randrange(n)] += 1
    return some


def distribution(rng: Random, n: int) -> str:
    """A law over ``n`` codes: floats, whole numbers or fractions."""
    if n > 60:
        return f"np.full({n}, 1 / {n})"
    kind = rng.randrange(3)
    if kind == 0:
        return repr(floats(rng, n))
    counts = wholes(rng, n, rng.choice([1, 9, 10**6]))
    if kind == 1:
        return repr(counts)
    return "[" + ", ".join(f"Fraction({c}, {sum(counts)})" for c in counts) + "]"


def kernel(rng: Random, n: int) -> str:
    """An even law on a cycle of ``2 n``: c_0 + 2 (c_1 + ...) + c_n = 1."""
    if rng.random() < 0.5:
        return repr(wholes(rng, n + 1))
    c = floats(rng, n + 1)
    whole = 2 * sum(c) - c[0] - c[-1]
    return repr([x / whole for x in c])


def alphas(rng: Random, n: int) -> str:
    """Alphas whose neighbours sum to at most 1."""
    out: list[float] = []
    for _ in range(n - 1):
        out.append(rng.choice([0.0, 0.25, 0.5, rng.random()]) * (1 - (out[-1] if out else 0.0)))
    return repr(out)


def table(rng: Random, n: int) -> str:
    """Positive numbers, or a pattern of permutations: rows and columns can be balanced."""
    n = min(n, 40)
    if rng.random() < 0.4:
        return whole_table(rng, n)
    high = rng.choice([1.0, 1e-200, 1e200, 5.0])
    rows = [[round(rng.random(), 3) * high + high / 1000 for _ in range(n)] for _ in range(n)]
    return repr(rows)


def whole_table(rng: Random, n: int) -> str:
    """A sum of permutations: whole numbers with equal line sums."""
    n = min(n, 40)
    rows = [[0] * n for _ in range(n)]
    for _ in range(rng.randint(1, 4)):
        weight = rng.choice([1, 2, 3, 1000, 2**40])
        for u, v in enumerate(rng.sample(range(n), n)):
            rows[u][v] += weight
    return repr(rows)


def cost(rng: Random, n: int) -> str:
    """Costs: small whole numbers, now and then infinite or far out."""
    n = min(n, 12)
    scale = rng.choice(["1", "1", "1", "0.1", "1e3", "1e-9"])
    rows = [[0 if u == v else rng.randint(1, 9) for v in range(n)] for u in range(n)]
    text = f"(np.array({rows}) * {scale})"
    return f"infinite({text})" if n > 2 and rng.random() < 0.2 else text


def sizes(rng: Random, n: int) -> str:
    """Class sizes that sum to ``n``."""
    out: list[int] = []
    while n > 0:
        out.append(rng.randint(1, n))
        n -= out[-1]
    return repr(out)


def targets(rng: Random, n: int) -> str:
    """A permutation."""
    return repr(rng.sample(range(n), n))


def _share(rng: Random, n: int) -> str:
    return unit(rng) if n > 1 else "1"


_FAMILIES: dict[str, Callable[[Random, int], str]] = {
    "identity": lambda rng, n: f"bs.identity({n})",
    "uniform": lambda rng, n: f"bs.uniform({n})",
    "permutation": lambda rng, n: f"bs.permutation({targets(rng, n)})",
    "randomized_response": lambda rng, n: rng.choice([
        f"bs.randomized_response({n}, keep={_share(rng, n)})",
        f"bs.randomized_response({n}, beta={unit(rng)})",
        f"bs.randomized_response({n}, epsilon={rng.choice(_EPSILONS)})",
    ]),
    "blocks": lambda rng, n: f"bs.blocks({sizes(rng, n)})",
    "k_anonymous": lambda rng, n: rng.choice([
        f"bs.k_anonymous({n}, k={rng.randint(1, n)})",
        f"bs.k_anonymous({n}, beta={unit(rng)})",
    ]),
    "circulant": lambda rng, n: f"bs.circulant({distribution(rng, n)})",
    "tridiagonal": lambda rng, n: rng.choice([
        f"bs.tridiagonal({alphas(rng, n)})",
        f"bs.tridiagonal({rng.choice(['0.3', '0.5', '1e-300', 'Fraction(1, 3)', '0'])}, size={n})",
        f"bs.tridiagonal(size={n}, beta={rng.choice(['0', '0.1', '1e-9', '0.25'])})",
    ]),
    "reflected": lambda rng, n: f"bs.reflected({kernel(rng, n)})",
    "geometric": lambda rng, n: rng.choice([
        f"bs.geometric({n}, temperature={rng.choice(_TEMPERATURES)})",
        f"bs.geometric({n}, beta={unit(rng)})",
        f"bs.geometric({n}, epsilon={rng.choice(['0', '1e-9', '2', '30', '1e300', 'math.inf'])})",
    ]),
    "gibbs": lambda rng, n: rng.choice([
        f"bs.gibbs({cost(rng, n)}, temperature={rng.choice(['0.05', '1', '30'])})",
        f"bs.gibbs({cost(rng, n)}, beta={rng.choice(['0.2', '0.5', '0.9'])})",
    ]) if n <= 12 else f"bs.geometric({n}, beta=0.5)",
    "dense": lambda rng, n: f"bs.dense({whole_table(rng, n)})" if n <= 40 else f"bs.uniform({n})",
    "balance": lambda rng, n: f"bs.balance({table(rng, n)})" if n <= 40 else f"bs.identity({n})",
    "t_transform": lambda rng, n: "bs.t_transform({}, {}, {}, keep={})".format(
        n, *rng.sample(range(n), 2), unit(rng)) if n > 1 else "bs.identity(1)",
}  # fmt: skip


# Every family that is not made of matrices.
LEAVES = [name for name, forms in _core.families().items() if "matrices" not in dict(forms)]


def of_cases(name: str) -> Callable[[Random, int], str]:
    """A family without a line above: of its own cases those of this size, if there are any."""
    from cases import drawn

    def source(rng: Random, n: int) -> str:
        fit = [recipe() for size, recipe in drawn(name) if size == n]
        if not fit:
            return f"bs.uniform({n})"
        m = rng.choice(fit)
        return f"bs.build({m.family!r}, **{m.parameters!r})"

    return source


def matrix(rng: Random, n: int, depth: int = 0) -> str:
    """A matrix of size ``n``, of any family; composites up to a few levels."""
    if depth < 3 and rng.random() < 0.3:
        kind = rng.randrange(4)
        if kind == 0:
            parts = [matrix(rng, n, depth + 1) for _ in range(rng.randint(1, 3))]
            weights = wholes(rng, len(parts))
            shares = ", ".join(f"Fraction({w}, {sum(weights)})" for w in weights)
            if rng.random() < 0.3:
                shares = ", ".join(repr(x) for x in floats(rng, len(parts)))
            return f"bs.mix([{', '.join(parts)}], weights=[{shares}])"
        if kind == 1:
            return f"({matrix(rng, n, depth + 1)} @ {matrix(rng, n, depth + 1)})"
        if kind == 2 and rng.random() < 0.1:
            how = rng.choice(["squared", "mixed"])
            times = rng.choice([3, 5, 12 if n <= 64 else 8])
            return f"operations.{how}({matrix(rng, n, 3)}, {times})"
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        d = rng.choice(divisors)
        return f"bs.kron({matrix(rng, d, depth + 1)}, {matrix(rng, n // d, depth + 1)})"
    return rng.choice([_FAMILIES.get(name) or of_cases(name) for name in LEAVES])(rng, n)


def huge(rng: Random) -> str:
    """A matrix whose rows do not fit in memory."""
    n = rng.choice(LARGE)
    return rng.choice([
        f"bs.uniform({n})",
        f"bs.identity({n})",
        f"bs.randomized_response({n}, beta=0.6)",
        f"bs.randomized_response({n}, keep=Fraction(2, 3))",
        f"bs.k_anonymous({n}, k={rng.choice([1, 3, 10**6, 2**30])})",
        f"bs.k_anonymous({n}, beta=0.5)",
        f"bs.t_transform({n}, 0, 2**31 - 2, keep=0.5)",
        "bs.blocks([2**31, 5, 2**40])",
        f"bs.kron(bs.uniform({rng.choice([2, 2**16])}), bs.randomized_response(2**32, epsilon=2))",
        f"bs.mix([bs.uniform({n}), bs.identity({n})], weights=[0.5, 0.5])",
        f"bs.mix([bs.uniform({n}), bs.k_anonymous({n}, k=5)], weights=[0.5, 0.5])",
        f"bs.randomized_response({n}, beta=0.3) @ bs.k_anonymous({n}, k=7)",
        f"operations.krons({matrix(rng, rng.choice([2, 3]), 3)}, {rng.choice([12, 20, 33])})",
        f"operations.doubled({matrix(rng, 2, 3)}, {rng.choice([3, 4, 5])})",
    ])  # fmt: skip
