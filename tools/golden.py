"""Write what is missing in ``tests/golden``, and refuse to change what is there.

The requests below are made once: the files hold the realised parameters, from which
``tests/test_golden_matrices.py`` makes the matrices. A new case gets a new name.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE / "tests"), str(HERE / "survey" / "tests")]

import bistochastic as bs  # noqa: E402
import bistochastic_survey as sv  # noqa: E402
import cases  # noqa: E402
import frozen  # noqa: E402
import frozen_plans  # noqa: E402
from tools.vectors import quarters  # noqa: E402

RR: Final = "randomized_response"
LARGE = 2**24 + 3


def _uneven(size: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).random((size, size)) + 0.01


def _whole(size: int, many: int, largest: int, seed: int) -> np.ndarray:
    """A sum of permutations, with whole weights."""
    rng = np.random.default_rng(seed)
    found = np.zeros((size, size), np.int64)
    for _ in range(many):
        found[np.arange(size), rng.permutation(size)] += int(rng.integers(1, largest))
    return found


def _by_size() -> dict[str, bs.Matrix]:
    found: dict[str, bs.Matrix] = {}
    for n in (1, 2, 3, 12, 16, 17, 255, 256, 257, 65_535, 65_536, 65_537, LARGE):
        found |= {
            f"identity {n}": bs.identity(n),
            f"uniform {n}": bs.uniform(n),
            f"randomized response {n}": bs.randomized_response(n, beta=0.6),
        }
        if n == 1:
            continue
        found |= {
            f"randomized response {n}, epsilon 1": bs.randomized_response(n, epsilon=1),
            f"randomized response {n}, a third": bs.randomized_response(
                n, keep=Fraction(1, 3)
            ),
            f"k-anonymous {n}": bs.k_anonymous(n, k=max(2, n // 5)),
            f"tridiagonal {n}": bs.tridiagonal(0.3, size=n),
            f"t-transform {n}": bs.t_transform(n, 0, n - 1, keep=Fraction(2, 7)),
        }  # fmt: skip
        if n > 2**24:
            found[f"blocks {n}"] = bs.blocks([n // 2, n - n // 2])
            continue
        ramp = [1 + i * 5 // n for i in range(n)]
        found |= {
            f"permutation {n}": bs.permutation([i * (n - 1) % n for i in range(n)]),
            f"blocks {n}": bs.blocks([1, n - 1] if n < 12 else [1, n // 2, (n - 1) // 2]),
            f"circulant {n}": bs.circulant(ramp),
            f"circulant {n}, mostly true": bs.circulant([9 * n] + [1] * (n - 1)),
            f"tridiagonal {n}, uneven": bs.tridiagonal(
                [1 + i * 3 // n for i in range(n - 1)], total=7
            ),
            f"reflected {n}": bs.reflected([*reversed(ramp), 0]),
            f"geometric {n}": bs.geometric(n, temperature=min(n / 4, 6)),
        }  # fmt: skip
    for n in (2, 3, 12, 16, 17):
        found |= {
            f"dense {n}, whole": bs.dense(_whole(n, 4, 9, n)),
            f"dense {n}, large": bs.dense(_whole(n, 3, 2**60, n)),
            f"dense {n}, grid": bs.dense(bs.balance(_uneven(n)).to_dense()),
            f"balance {n}": bs.balance(_uneven(n, 6)),
            f"gibbs {n}": bs.gibbs(
                abs(np.subtract.outer(np.arange(n), np.arange(n))) ** 1.5, beta=0.5
            ),
        }
    for n in (12, 50, 250):
        found[f"difference set {n}"] = bs.difference_set(n, epsilon=1)
    return found


def _composites() -> dict[str, bs.Matrix]:
    half, third = Fraction(1, 2), Fraction(1, 3)
    rr3, rr12 = bs.randomized_response(3, keep=half), bs.randomized_response(12, beta=0.6)
    two = bs.dense([[1, 2], [2, 1]])
    step = bs.tridiagonal(Fraction(1, 5), size=3)
    grid = bs.randomized_response(3, beta=0.5)
    shift = bs.circulant([3, 2, 1])
    mixed = bs.mix([rr3, shift, bs.identity(3)], weights=[half, third, Fraction(1, 6)])
    product = step @ shift
    return {
        "kron 2 3": bs.kron(two, rr3),
        "kron 12 12": bs.kron(rr12, rr12),
        "kron 3 3 3 3 3": bs.kron(rr3, step, shift, rr3, bs.uniform(3)),
        "kron 257 3": bs.kron(bs.geometric(257, temperature=2), rr3),
        "kron 256 256": bs.kron(bs.uniform(256), bs.randomized_response(256, beta=0.5)),
        "kron 65537 2": bs.kron(bs.randomized_response(65_537, epsilon=2), two),
        "kron large": bs.kron(bs.uniform(LARGE), rr12),
        "kron of kron": bs.kron(bs.kron(rr3, two), bs.kron(bs.identity(2), shift)),
        "mix 3": mixed,
        "mix with nothing": bs.mix([rr3, shift], weights=[Fraction(0), Fraction(1)]),
        "mix of floats": bs.mix([grid, shift, step], weights=[0.5, 0.3, 0.2]),
        "mix 256": bs.mix([bs.uniform(256), bs.tridiagonal(0.3, size=256)],
                                  weights=[half, half]),
        "mix 257": bs.mix([bs.blocks([100, 157]), bs.geometric(257, temperature=3)],
                                  weights=[third, 1 - third]),
        "mix 65537": bs.mix([bs.uniform(65_537), bs.tridiagonal(0.3, size=65_537)],
                                    weights=[half, half]),
        "mix large": bs.mix([bs.uniform(LARGE), bs.k_anonymous(LARGE, k=1000)],
                                    weights=[third, 1 - third]),
        "mix of classes": bs.mix([bs.blocks([4, 8]), bs.blocks([6, 6])],
                                         weights=[half, half]),
        "mix of mix": bs.mix([mixed, rr3, mixed], weights=[third, third, third]),
        "mix of kron": bs.mix([bs.kron(rr3, rr3), bs.uniform(9)], weights=[half, half]),
        "product 3": product,
        "product on the grid": grid @ bs.geometric(3, epsilon=1) @ bs.identity(3),
        "product 256": bs.tridiagonal(0.3, size=256) @ bs.circulant([3] + [1] * 255),
        "product 257": bs.geometric(257, temperature=2) @ bs.blocks([100, 157]),
        "product 65537": bs.tridiagonal(0.3, size=65_537) @ bs.k_anonymous(65_537, k=5),
        "product of four": product @ rr3 @ bs.t_transform(3, 0, 2, keep=third),
        "product of permutations": bs.permutation([1, 2, 0]) @ bs.permutation([1, 0, 2]),
        "product of mix": mixed @ product,
        "kron of mix and product": bs.kron(mixed, product, two),
        "all inside each other": bs.mix(
            [bs.kron(mixed, product) @ bs.uniform(9), bs.kron(rr3, mixed), bs.identity(9)],
            weights=[third, half, Fraction(1, 6)],
        ),
    }  # fmt: skip


# By name what is not kept, since it takes long where nothing new is seen.
WITHOUT = {
    "reflected 65535": ["measures", "terms"], "reflected 65536": ["measures", "terms"],
    "reflected 65537": ["terms"], "geometric 65535": ["terms"], "geometric 65536": ["terms"],
    "geometric 65537": ["terms"], "mix of floats": ["terms"], "product on the grid": ["terms"],
    "mix 257": ["terms"], "product 257": ["terms"], "product 256": ["terms"], "mix 256": ["terms"],
    "mix 65537": ["terms"], "product 65537": ["terms"],
}  # fmt: skip

# Requests and the matrix that each of them gives.
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {}
for _n in (2, 3, 5, 12, 100, 1000):
    for _beta in (0.01, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.999):
        for _family in (RR, "k_anonymous", "geometric"):
            REQUESTS[f"{_family} {_n} beta {_beta}"] = (_family, {"size": _n, "beta": _beta})
    for _epsilon in (0.01, 0.1, 0.5, 1, 2, 3.5, 8):
        for _family in (RR, "geometric", "difference_set"):
            _given: dict[str, Any] = {"size": _n, "epsilon": _epsilon}
            REQUESTS[f"{_family} {_n} epsilon {_epsilon}"] = (_family, _given)
    for _beta in (0.001, 0.01, 0.05, 0.1):
        REQUESTS[f"tridiagonal {_n} beta {_beta}"] = ("tridiagonal", {"size": _n, "beta": _beta})


def plans() -> dict[str, tuple[sv.Plan, dict[str, tuple[int, dict[str, Any]]]]]:
    """Plans with every kind of attribute, each with releases: rows and options of ``protect``."""
    laws = {"n": bs.uniform(2), "s": bs.randomized_response(2, beta=0.5)}
    steps = {"n": bs.uniform(3), "s": bs.geometric(3, beta=0.5)}
    keyed = {"release_name": "2026"}
    by_ids = {"id_column": "person"}
    categories = sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], groups=("region", laws)),
            sv.Categorical("age", [15, 25, 35], "geometric", epsilon=2),
            sv.Categorical("smokes", [False, True], RR, epsilon=1, missing="keep"),
            sv.Categorical("roof", ["tin", "clay"], RR, epsilon=1, missing="category"),
            sv.Joint(("a", "b"), [["x", "y"], ["1", "2", "3"]], RR, beta=0.8,
                     impossible=[("x", "2"), ("y", "3")]),
            sv.Categorical("job", [f"job {i}" for i in range(20)], "difference_set", epsilon=1),
            sv.Categorical("town", list(range(300)), "k_anonymous", k=10),
        ],
        name="golden", keep=["region"], drop=["person", "home"],
    )  # fmt: skip
    joint = sv.Plan(
        [
            sv.Joint(("sex", "age", "town"), [["F", "M"], [15, 25, 35], list(range(300))],
                     matrix=bs.kron(bs.uniform(2), bs.geometric(3, epsilon=1), bs.identity(300))),
            sv.Categorical("smokes", [True, False], RR, epsilon=1, missing="category",
                           recode={True: False}),
            sv.Joint(("roof", "b"), [["tin", "clay"], ["1", "2", "3"]], RR, epsilon=1,
                     missing="category", impossible=[(None, "3"), ("tin", "3")]),
        ],
        name="joint", drop=["person", "home"],
    )  # fmt: skip
    binned = sv.Plan(
        [
            sv.Binned("rent", [0, 250, 500.5, 1000], "geometric", epsilon=2, output="midpoint"),
            sv.Binned("height", [0.5, 1, 2], RR, epsilon=1, open=("low", "high"),
                      missing="category"),
            sv.Binned("wage", range(0, 101, 25), "geometric", epsilon=1, top=99, missing="keep"),
            sv.Binned("moved", quarters(2019, 10, first=3), "geometric", epsilon=1),
        ],
        name="binned", drop=["person", "home"],
    )  # fmt: skip
    placed = sv.Plan(
        [
            sv.Binned("income", [0, 250, 500, 1000], "geometric", epsilon=2, output="number",
                      step=0.5),
        ],
        name="placed", drop=["person", "home"],
    )  # fmt: skip
    numeric = sv.Plan(
        [
            sv.Numeric("income", "k_anonymous", k=5),
            sv.Numeric("wage", "k_anonymous", k=4, within="region", min_group=12, missing="keep"),
            sv.Numeric("wealth", RR, keep=Fraction(2, 3), order=None),
            sv.Numeric("debt", "k_anonymous", k=7, how="average", top=20),
            sv.Categorical("sex", ["F", "M"], RR, beta=0.6),
        ],
        name="numeric", keep=["region"], drop=["person", "home"],
    )  # fmt: skip
    units = sv.Plan(
        [
            sv.Categorical("roof", ["tin", "clay"], RR, beta=0.6, unit="home", missing="keep"),
            sv.Binned("rent", [0, 250, 500, 1000], "geometric", epsilon=2, unit="home"),
            sv.Categorical("age", [15, 25, 35], groups=("region", steps)),
        ],
        name="units", keep=["region"], drop=["home"],
    )  # fmt: skip
    kinds = {
        f"by {kind}": (90, {**by_ids, "kind": kind, "pseudonym": "who"})
        for kind in ("integer", "text")
    }
    bare = {"by ids": (90, by_ids)}
    position = {"by position": (300, keyed), "another name": (300, {"release_name": "é"})}
    shuffled = {"shuffled": (300, {**keyed, "shuffle": True})}
    blocks = {"two blocks": (65_536 + 300, keyed)}
    return {
        "categories": (categories, {**position, **shuffled, **kinds, **blocks}),
        "joint": (joint, {**position, **kinds}),
        "binned": (binned, {**position, **bare}),
        "numbers inside classes": (placed, {**position}),
        "numeric": (numeric, {
            **position, **shuffled,
            "by ids": (300, {**by_ids, **keyed, "rerandomize_numeric": True}),
        }),
        "numeric bound": (numeric.for_records(300), {**position}),
        "units": (units, {
            "by ids": (90, by_ids),
            "pseudonyms": (90, {**by_ids, "unit_pseudonym": {"home": "dwelling"}}),
        }),
    }  # fmt: skip


def merged(path: str, there: Any, found: Any) -> Any:
    """Add what is missing; whatever is there must be what was found."""
    if isinstance(there, dict) and isinstance(found, dict):
        added = {name: merged(f"{path} / {name}", there.get(name), x) for name, x in found.items()}
        return {**there, **added}
    if there is not None and not frozen.same(path, there, found):
        raise SystemExit(f"{path} must stay {there}; got {found}")
    return found if there is None else there


def write(name: str, found: dict[str, Any]) -> None:
    """Write one file, a line per entry."""
    whole = merged(name, frozen.stored(name), found)
    lines = [f"{json.dumps(n)}: {json.dumps(x, ensure_ascii=False)}" for n, x in whole.items()]
    path = frozen.FOLDER / f"{name}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{path.name}: {len(whole)} entries, {path.stat().st_size:,} bytes")


def main() -> None:
    """Write the files."""
    there = frozen.stored("matrices")
    found: dict[str, Any] = {}
    by_name = {**_by_size(), **_composites()}
    families = {each["matrix"]["family"] for each in there.values()}
    new = cases.examples(families | {m.family for m in by_name.values()})
    by_name |= {f"{m.family} {m.size}, {i}": m for i, m in enumerate(new)}
    for name, made in by_name.items():
        held = there.get(name)
        m = made if held is None else frozen.unpacked(held["matrix"])
        packed = frozen.packed(m) if held is None else held["matrix"]
        found[name] = {"matrix": packed, **frozen.facts(m, WITHOUT.get(name, ()))}
    write("matrices", found)
    there = frozen.stored("plans")
    released: dict[str, Any] = {}
    for name, (made_plan, runs) in plans().items():
        text = there[name]["plan"] if name in there else json.loads(made_plan.to_json())
        plan = sv.Plan.from_json(json.dumps(text))
        released[name] = {"plan": text, "digest": plan.digest, "runs": {
            run: {"rows": rows, "options": options,
                  "data": frozen_plans.released(plan, rows, options)}
            for run, (rows, options) in runs.items()
        }}  # fmt: skip
    write("plans", released)
    write("requests", {
        name: {"family": family, "asked": asked, "digest": frozen.digest_of(family, asked)}
        for name, (family, asked) in REQUESTS.items()
    })  # fmt: skip


if __name__ == "__main__":
    main()
