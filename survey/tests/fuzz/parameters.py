"""Valid arguments by the name of the parameter, as source code.

A parameter of a new name has a line here, or the test of the surface fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import bistochastic as bs
from fuzz import files, matrices, plans, values


@dataclass
class Scene:
    """What arguments of one call have to agree on."""

    rng: Random
    size: int
    drawn: dict[str, str] = field(default_factory=dict)
    many: int = 1
    records: int = 5

    def code(self) -> str:
        return str(self.rng.randrange(self.size))

    def matrix(self) -> str:
        if self.size > 10_000:
            return matrices.huge(self.rng)
        return matrices.matrix(self.rng, self.size)

    def same(self) -> str:
        """Several matrices of one size."""
        some = [matrices.matrix(self.rng, self.size, 2) for _ in range(self.many)]
        return f"[{', '.join(some)}]"


def codes(s: Scene) -> str:
    """Codes of all widths and shapes, now and then one that must not be shown."""
    luck = s.rng.random()
    if luck < 0.06:
        return f"[0, {s.rng.choice(values.SECRET_CODES)}]"
    n = s.records
    if luck < 0.12:
        many = s.rng.choice([0, 1, 1000, 70_000])
        return f"np.arange({many}, dtype=np.uint32) % {min(s.size, 2**31)}"
    high = min(s.size, 2**40)
    plain = repr([s.rng.randrange(high) for _ in range(n)])
    most = {"u1": 2**8, "i1": 2**7, "u2": 2**16, "i4": 2**31, "u8": 2**63, "i8": 2**63}
    kinds = [kind for kind in most if high <= most[kind]]
    return plain if luck < 0.5 else f"np.array({plain}, dtype='{s.rng.choice(kinds)}')"


def ids(s: Scene) -> str:
    """One id a record: numbers, texts or bytes."""
    n = s.records
    return s.rng.choice([
        repr(list(range(10, 10 + n))),
        repr([f"{values.SECRET_TEXT}{i}" for i in range(n)]),
        repr([f"{values.SECRET_TEXT}{i}".encode() for i in range(n)]),
        repr([values.SECRET_CODES[0] + i for i in range(n)]),
        f"np.arange({n}, dtype=np.int32) - 2",
        f"np.array({[f'{values.SECRET_TEXT}{i}' for i in range(n)]})",
        f"np.array({[f'{values.SECRET_TEXT}{i}'.encode() for i in range(n)]}, dtype=object)",
        f"{[f'{values.SECRET_TEXT}{i}' for i in range(n - 1)]} + ['{values.SECRET_TEXT}\\ud800']",
        f"{[f'{values.SECRET_TEXT}{i}' for i in range(n - 1)]} + [None]",
    ])  # fmt: skip


def one_id(s: Scene) -> str:
    text = repr(values.SECRET_TEXT)
    some = ["7", "-2**63", "2**64 - 1", text, f"b{text}", "''", "b''", str(values.SECRET_CODES[0])]
    return s.rng.choice(some)


def column(s: Scene) -> str:
    """A column of the backend, by one matrix or by one of two for each record."""
    size = min(s.size, 2**31)
    plain = [s.rng.randrange(size) for _ in range(s.records)]
    dtype = s.rng.choice(["u4", "i8"])
    given = f"np.array({plain}, dtype='{dtype}')"
    name = s.rng.choice(["'age'", "['age', 'town']"])
    if s.rng.random() < 0.7 or s.size > 10_000:
        return f"bs.backend.Column({name}, {given}, {s.matrix()})"
    groups = [s.rng.randrange(2) for _ in range(s.records)]
    laws = f"[bs.uniform({s.size}), bs.identity({s.size})]"
    missing = [s.rng.random() < 0.2 for _ in range(s.records)]
    return f"bs.backend.Column({name}, {given}, {laws}, {groups}, {missing})"


def address(s: Scene) -> str:
    """Where records are drawn."""
    return "bs.backend." + s.rng.choice(
        [f"Ids({ids(s)})", "Blocks()", "Blocks(2, False)", "Rows()", "Rows(2**40)"]
    )


def labels(s: Scene) -> list[str]:
    """What `derive` takes after the purpose that was drawn."""
    names, words = "['age', 'town']", "np.arange(5, dtype=np.uint64)"
    wanted = {
        "'rows'": ["'survey'", "'2026'"],
        "'units'": ["'survey'", "'home'"],
        "'numbers'": ["'survey'", names, "3"],
        "'column'": ["'survey'", "'2026'", "'age'", "'float64'", words],
    }
    return wanted.get(s.drawn.get("purpose", ""), ["'survey'"])


def purpose(s: Scene) -> str:
    s.drawn["purpose"] = s.rng.choice(["'rows'", "'units'", "'numbers'", "'column'", "'x'"])
    return s.drawn["purpose"]


def counts(s: Scene) -> str:
    n = min(s.size, 600)
    if s.rng.random() < 0.3:
        return repr([x * 100 for x in matrices.floats(s.rng, n)])
    return repr(matrices.wholes(s.rng, n, s.rng.choice([3, 100, 10**6])))


def vector(s: Scene) -> str:
    n = min(s.size, 600)
    some = [s.rng.choice([0.0, 1.0, -1.0, s.rng.random(), s.rng.uniform(-9, 9)]) for _ in range(n)]
    if s.rng.random() < 0.2:
        return f"np.stack([{some}, {some}], axis=1)"
    return repr(some)


def pair(s: Scene) -> str:
    """``p``; ``q`` is ``p`` smoothed, so that the one majorizes the other."""
    unit = s.rng.choice([1, 7])
    s.drawn["p"] = repr([Fraction(x, unit) for x in matrices.wholes(s.rng, s.size)])
    return s.drawn["p"]


def smoothed(s: Scene) -> str:
    p = s.drawn.get("p", "[5, 3, 1]")
    flat = f"[Fraction(sum({p}), len({p}))] * len({p})"
    return s.rng.choice([p, f"sorted({p})", flat, "[4, 3, 2]"])


def people(s: Scene) -> str:
    """A few people, as columns by name; a value of theirs must not be shown."""
    n = s.rng.randint(2, 12)
    ages = [s.rng.randint(20, 70) for _ in range(n)]
    towns = [s.rng.choice([values.SECRET_TEXT, "B", "C"]) for _ in range(n)]
    columns = f"{{'age': {ages}, 'town': {towns}, 'income': {[100.5 * age for age in ages]}}}"
    return s.rng.choice([columns, columns, f"dict(pd.DataFrame({columns}))",
                         f"pl.DataFrame({columns}).to_dict()"])  # fmt: skip


def points(s: Scene) -> str:
    n, d = s.rng.randint(2, 40), s.rng.choice([0, 1, 2, 3])
    row = [round(s.rng.gauss(0, 10), s.rng.choice([0, 3])) for _ in range(n * max(d, 1))]
    return f"np.array({row}).reshape({n}, {d})" if d else repr(row)


def audited(s: Scene, which: int) -> str:
    """A table, or its release."""
    if "audited" not in s.drawn:
        s.drawn |= dict(zip(("audited", "1"), plans.audited(s.rng), strict=True))
    return s.drawn[("audited", "1")[which]]


def _of(*sources: str) -> Callable[[Scene], str]:
    return lambda s: s.rng.choice(sources)


path = _of("path('new')", "str(path('new.npz'))", "path('.')", "path('no/such/folder')",
           "path('key')", "os.fsencode(path('new'))", "'/dev/full'", "'/dev/null'",
           "'\\ud800'")  # fmt: skip
page = _of("path('page.html')", "path('page.html')", "str(path('page.HTM'))", "path('.')",
           "path('no/such/folder/x.html')", "'\\ud800.html'", "'a\\0.html'", "folder('a.html')",
           "path('key')")  # fmt: skip
DRAW: dict[str, Callable[[Scene], str]] = {
    "size": lambda s: str(s.size),
    "epsilon": _of("0", "0.1", "1", "2.5", "Fraction(7, 2)", "30", "36.8", "800", "math.inf"),
    **dict.fromkeys((
        "beta", "keep", "row_beta", "column_beta", "truthfulness", "min_beta",
    ), lambda s: matrices.unit(s.rng)),
    "mark": _of("None", "'block 7'", "12"),
    "test_independence.one": _of("'sex'", "'job'"),
    "test_independence.other": _of("'job'", "'town'"),
    "delta": _of("1e-6", "0.01", "0.999", "0"),
    "k": lambda s: str(s.rng.randint(1, s.size)),
    "temperature": _of(
        "0.1", "1", "2.5", "Fraction(7, 2)", "30", "1e6", "1e-5", "1e-9", "math.inf", "0",
    ),
    "targets": lambda s: matrices.targets(s.rng, s.size),
    "sizes": lambda s: matrices.sizes(s.rng, s.size),
    "first_row": lambda s: matrices.distribution(s.rng, s.size),
    "alphas": lambda s: s.rng.choice([matrices.alphas(s.rng, s.size), "0.3", "Fraction(1, 7)"]),
    "kernel": lambda s: matrices.kernel(s.rng, s.size),
    "cost": lambda s: matrices.cost(s.rng, s.size),
    **dict.fromkeys((
        "array", "dense.counts", "balance.counts", "gibbs.counts",
    ), lambda s: matrices.whole_table(s.rng, s.size)),
    "total": _of("2**53", "1", "6", "2**63 - 1", "0"),
    "set": _of("(7, [0, 1, 3])", "(13, [0, 1, 3, 9])", "(11, [0, 2])", "None"),
    "modulus": _of("7", "13", "0"),
    "residues": _of("[0, 1, 3]", "[3, 1]", "[]"),
    "difference_set.counts": _of("[3, 1]", "[1, 0]", "[0, 0]", "[2**62, 1]"),
    "optimal.cost": lambda s: matrices.cost(s.rng, min(s.size, 12)),
    "strongest.family": _of("'geometric'", "['randomized_response', 'k_anonymous']", "None"),
    **dict.fromkeys(("strongest.cost", "observation"), _of("None")),
    "false_records": _of("0", "1", "5", "10**6"),
    "max_cells": _of("4", "100", "0"),
    "level": _of("0.01", "0.5", "0", "1", "2"),
    "draw.columns": lambda s: f"[{', '.join(column(s) for _ in range(s.many))}]",
    **dict.fromkeys((
        "draw.plan", "respond.plan", "pseudonyms.plan",
    ), _of("'survey'", "''", "'\\u00e9'", "'a\\0'")),
    "draw.release": _of("''", "'2026'"),
    "address": address,
    **dict.fromkeys(("respond.names", "Column.names"), _of("['age']", "['age', 'town']", "[]")),
    "purpose": purpose,
    "pseudonyms.ids": lambda s: s.rng.choice([f"bs.backend.Ids({ids(s)})", ids(s)]),
    "what": _of("'columns'", "''"),
    **dict.fromkeys((
        "require_memory.rows", "require_memory.columns",
    ), _of("0", "1000", "2**30", "2**62")),
    "each": _of("0", "1", "8"),
    "Column.matrices": lambda s: s.matrix(),
    "Column.groups": lambda s: s.rng.choice(["None", f"[0] * {s.records}"]),
    "Column.missing": lambda s: s.rng.choice(["None", f"[False] * {s.records}"]),
    "Ids.values": ids,
    "first": _of("0", "1", "2**40"),
    **dict.fromkeys(("last", "of_buffers.text"), _of("True", "False")),
    "limit": _of("0", "1", "2**40"),
    "id_type": _of("None", "'string'", "'integer'", "'bytes'"),
    "one.record": _of("{'sex': 'F'}", "{'sex': 'M', 'more': 1}", "{'sex': None}", "{}"),
    "many.records": _of("[{'sex': 'F'}, {'sex': 'M'}]", "[]", "[{'sex': 'F'}, {}]", "[{}]"),
    "many.ids": _of("[1, 2]", "['a', 'b']", "['', 'b']", "[]", "[1]"),
    "columns.columns": _of("{'sex': ['F', 'M', 'M']}", "{'sex': []}", "{}"),
    "columns.ids": _of("[1, 2, 3]", "['a', 'b', 'c']", "[]", "np.arange(3)"),
    "hashes": _of("np.zeros((3, 16), np.uint8)", "np.zeros((0, 16), np.uint8)"),
    "pieces": _of(
        "[(np.array([0, 3, 6]), np.frombuffer(b'annbob', np.uint8))]", "[]",
        "[(np.array([0]), np.zeros(0, np.uint8))]", "[(np.array([0, 9]), np.zeros(3, np.uint8))]",
        "[(np.array([0, 2, 1]), np.full(3, 255, np.uint8))]", "[(np.array([-1, 2]), np.zeros(3))]",
    ),
    "parts": lambda s: f"[{ids(s)}, {ids(s)}]",
    "take.rows": _of("[]", "[0]", "np.array([1, 0])", "[-1]", "[99]"),
    "cluster.release": lambda s: f"{plans.SIMPLE}.protect({plans.TABLE})",
    **dict.fromkeys(("from_json.plan", "from_file.plan"), lambda s: plans.SIMPLE),
    "allocate.sizes": _of("[2, 3, 12]", "[5]", "[1, 2]"),
    "allocate.weights": _of("[1, 2, 0.5]", "None", "[0, 1, 1]"),
    **dict.fromkeys(
        ("kron.matrices", "matrices", "guarantee.individuals"), lambda s: s.same()
    ),
    "text": lambda s: s.rng.choice(
        [files.exchanged(s.rng, f"{s.matrix()}.to_json()"), plans.text(s.rng)]
    ),
    "balance.array": lambda s: matrices.table(s.rng, s.size),
    "Channel.matrix": lambda s: f"np.eye({min(s.size, 60)})",
    **dict.fromkeys(("forced", "unrelated", "kuk"), _of("[0.2, 0.5]", "[Fraction(1, 3), 0]")),
    **dict.fromkeys(("warner", "sensitivity", "specificity"), _of("0.9", "0", "Fraction(1, 3)")),
    "i": lambda s: "0",
    "j": lambda s: str(s.size - 1),
    "weights": lambda s: repr(matrices.floats(s.rng, s.many)),
    "family": lambda s: repr(s.rng.choice([n for n in bs.__all__ if n.islower()] + ["product"])),
    **dict.fromkeys(("other", "anything", "matrix"), lambda s: s.matrix()),
    "codes": codes,
    "out": lambda s: s.rng.choice(["None", f"np.zeros({s.records}, int)", "np.zeros(2, 'i1')"]),
    "code": lambda s: s.code() if s.rng.random() < 0.9 else str(values.SECRET_CODES[0]),
    "key": lambda s: s.rng.choice(
        [f"bs.Key.insecure({s.rng.randrange(99)})", f"bs.Key.from_bytes({values.SECRET_KEY!r})"]
    ),
    "stream": _of("'s'", "'wave 1'", "''", "'\\u00e9'"),
    "start": _of("0", "1", "65_535", "2**32", "2**63 - 100", "2**64 - 10"),
    "ids": ids,
    "id": one_id,
    "threads": _of("1", "2", "7", "1000", "2**40"),
    "counts": counts,
    "method": _of("'inverse'", "'mle'", "'simplex'", "'shrunk'"),
    "population": _of("'sampled'", "'fixed'"),
    "classes": _of("True", "False", "np.True_"),
    **dict.fromkeys((
        "simultaneous", "full", "raw", "redraw", "rerandomize_numeric", "shuffle",
        "categories_from_data", "allow_shift", "allow_invertible", "back", "guarantee.joint",
        "always_valid",
    ), _of("True", "False")),
    "design_effect": _of("1", "2.5", "0.5", "1e-300", "1e300"),
    "confidence": _of("0.95", "0.5", "0.8", "1 - 1e-10", "1 - 2.0**-53", "1e-9", "Fraction(9, 10)"),
    "tolerance": _of("0.01", "0.5", "1e-9", "1e-300", "0.999"),
    "prior": lambda s: matrices.distribution(s.rng, min(s.size, 600)),
    "n": _of("1", "2", "10", "1000", "2**40"),
    "sample.n": _of("0", "1", "2", "50"),
    **dict.fromkeys(("u", "v"), lambda s: s.code()),
    "index": lambda s: s.rng.choice(
        [s.code(), f"({s.code()}, {s.code()})", "'beta'", "slice(2)", "-1"]
    ),
    "gamma": _of("1", "2", "1.5", "math.inf", "1e300", "Fraction(3, 2)"),
    **dict.fromkeys(("x", "y", "values"), vector),
    "profile.cost": lambda s: s.rng.choice([matrices.cost(s.rng, s.size), "'ordinal'"]),
    "compare.cost": lambda s: s.rng.choice([matrices.cost(s.rng, s.size), "'ordinal'"]),
    "mass": _of("1.0", "0.5", "0.999", "1e-9", "Fraction(2, 3)"),
    "max_terms": _of("1", "2", "100", "2**40"),
    "restarts": _of("1", "2", "5"),
    "progress": _of(
        "print_nothing", "True", "False", "hostile.nasty(0)", "hostile.raises('__call__')",
    ),
    "path": path,
    **dict.fromkeys(("report.path",), page),
    "from_file.path": lambda s: s.rng.choice(["path('key')", "str(path('key'))", path(s)]),
    **dict.fromkeys(("verify.plan", "verify.certificate"), _of("None", "7")),
    "open.path": _of("path('protected.csv')", "path('key')", "'no.parquet'", "path('.')"),
    "open.separator": _of("None", "','", "';'", "'ab'", "7"),
    "open.decimal": _of("'.'", "','", "'x'"),
    "verify.path": _of("path('protected.csv')", "path('key')", "'no.parquet'", "path('.')"),
    "verify.separator": _of("None", "','", "';'", "'ab'", "7"),
    "verify.decimal": _of("'.'", "','", "'x'"),
    "seed": _of("0", "1", "2**64 - 1"),
    "b": _of(
        "bytes(32)", "bytearray(range(32))", "memoryview(bytes(32))", "bytes(31)",
        "memoryview(bytes(64))[::2]",
    ),
    "p": pair,
    "q": smoothed,
    "permutation.j": _of("0", "1", "-1", "10**6"),
    "name": _of("'beta'", "'capacity'", "'no such measure'"),
    **dict.fromkeys(("heatmap.categories", "estimate.categories"), lambda s: s.rng.choice(
        [f"list(map(str, range({s.size})))", "['a', 'b']", "None"]
    )),
    "scale": _of("'linear'", "'log'"),
    "library": _of("'pandas'", "'polars'", "None"),
    "axes": _of("None", "[]", "figure_axes(1)", "figure_axes(3)"),
    "families": _of(
        "['geometric']", "['randomized_response', 'k_anonymous']",
        "{'mine': lambda n, b: bs.uniform(n)}", "'geometric'", "{'bad': lambda n, b: None}",
    ),
    "epsilons": _of("[0.5]", "[0, 2]", "[]", "[-1]"),
    "betas": _of("[0.5]", "[0.1, 0.9]", "[]", "(b / 4 for b in range(4))"),
    "against": _of("'epsilon'", "['truthfulness', 'standard_error']", "[]"),
    "records": _of("1", "100", "10**30"),
    "X": points,
    "microaggregate.k": _of("2", "3", "10"),
    **dict.fromkeys(("anatomize.k", "k_anonymous_classes.k", "l"), _of("2", "3")),
    **dict.fromkeys(("anatomize.columns", "k_anonymous_classes.columns"), people),
    "quasi_identifiers": _of(
        "['age']", "['town', 'age']", "'age'", "{'age': 'nominal'}", "{'income': 'number'}",
        "['no such column']",
    ),
    "sensitive": _of("'income'", "['income']", "['town', 'income']", "['age']"),
    "share": _of("0.05", "1", "1e-9", "Fraction(1, 3)", "0.5"),
    "order": lambda s: s.rng.choice(["None", "'rank'", matrices.targets(s.rng, min(s.size, 600))]),
    "frame": lambda s: plans.frame(s.rng),
    "reader": lambda s: s.rng.choice(["pa.table", "pl.DataFrame"]) + "(" + repr(
        {"sex": ["F", "M"], "town": ["A", "B"], "year": [1999, 2000], "region": ["n", "s"]}
    ) + ")",
    "formula": _of(
        "'z ~ a + sex'", "'y ~ a'", "'sex ~ town'", "'y ~ np.log(z)'", "'y ~'", "'x'",
        "'y ~ nobody'", "'income ~ year * region'", "'y ~ center(a)'", "'~'",
        "'y ~ {open(a)}'", "'y ~ a.mean()'", "'y ~ I(a)(z)'", "'y ~ bs(z, df=4) | a'",
    ),
    "model": _of("'linear'", "'logistic'", "'multinomial'", "'x'"),
    "regress.method": _of("'corrected'", "'likelihood'", "None", "'x'"),
    "transitions.columns": _of("'sex'", "['sex', 'year']", "[]", "'region'"),
    "memoised": _of("None", "True", "False", "1"),
    "change.given": _of("{'region': 'n'}", "{'sex': ['F']}", "None"),
    "change.column": _of("'sex'", "'year'", "'income'", "None"),
    "certificate": lambda s: f"{plans.release(s.rng)}.certificate",
    "dataset": _of("'survey'", "''", "None"),
    "title": _of("None", "'A title'", "''", "7"),
    "publisher": _of("None", "'An office'", "7"),
    "date": _of("None", "'2026-11-18'", "7"),
    "contact": _of("None", "'a@b'", "7"),
    "unit_pseudonym": _of("None", "{'region': 'r'}", "{}", "'region'", "{'x': 'y'}"),
    "tables": _of("'sex'", "('sex',)", "'region'", "7"),
    "count_units": _of("False", "True", "1"),
    "pooled": _of("None", "(2, 3.0)", "(0, 1)", "7"),
    "breaks": _of("[0, 18, 65, 120]", "[0, 1]", "[1, 0]", "None", "[0.5, 2.5, 9]", "[]"),
    "open": _of("()", "('low', 'high')", "('x',)"),
    "output": _of("'interval'", "'midpoint'", "'number'", "'x'"),
    "step": _of("None", "1", "0.5", "0"),
    "top": _of("None", "100", "1e9"),
    "representatives": _of("None", "[1, 2]", "[1]", "[math.nan]"),
    "bottom": _of("None", "0", "-1e9"),
    "unit": _of("None", "'region'", "''"),
    "recode": _of("None", "{'f': 'F'}", "{'x': None}", "7"),
    "within": _of("None", "'region'"),
    "min_group": _of("10", "1", "0"),
    "units": _of("None", "[]", "['region']", "7"),
    "requirement": _of("None", "{'min_beta': 0.1}", "{'x': 1}", "{}"),
    "column_labels": _of("None", "{'sex': 'Sex'}", "{'x': 'Sex'}", "{'sex': 1}", "[]"),
    "value_labels": _of("None", "{'sex': {'F': 'f'}}", "{'sex': {'F': 'f', 'M': 'f'}}", "{'x': 1}"),
    "budget": _of("1", "0.5", "math.inf", "0", "None"),
    "original": lambda s: audited(s, 0),
    "audit.release": lambda s: audited(s, 1),
    "later": lambda s: plans.panel(s.rng),
    "Release.plan": lambda s: s.rng.choice([plans.plan(s.rng), plans.PANEL, "7"]),
    "Release.data": lambda s: s.rng.choice([plans.wave(s.rng), plans.frame(s.rng), "7"]),
    "design": _of(
        "None", "sv.Design()", "sv.Design(weights='income')", "sv.Design(strata='region')", "7",
        "sv.Design(cluster='town', fpc=5000)", "sv.Design(weights='income', replicates=['a', 'z'])",
    ),
    "knows": _of("None", "['sex']", "{'year': 1}", "[['sex'], []]", "'sex'", "['x']", "7"),
    "wants": _of("None", "['town']", "['sex']", "'x'", "[]"),
    "also": _of("()", "[]", "7", "[7]"),
    "rate": _of("0", "0.5", "2"),
    "audit.targets": _of("None", "1", "5", "10**30"),
    "shuffled": _of("None", "False", "True"),
    **dict.fromkeys(("columns", "names"), _of("'sex'", "'town'", "'region'", "'no such column'")),
    **dict.fromkeys(("covariance.columns", "correlation.columns"),
                    _of("['town', 'year']", "['year', 'income']", "['income', 'income']")),
    "where": _of(
        "{'sex': 'F'}", "{'region': ['n']}", "{'town': ['A', 'B'], 'sex': ['M']}", "{}",
        "{'no such column': 1}", "{'region': np.array(['n', 's'])}", "{'region': {'x'}}",
        "{'year': [1999, np.int64(2000)]}", "{'sex': [None, True, 1]}",
        "{'region': [float('nan'), {}]}",
    ),
    "ratio.given": _of("{'region': 'n'}", "{'sex': ['F']}", "None"),
    "mean.column": _of("'sex'", "'year'", "'income'"),
    "scores": _of("[0, 1]", "{'F': 0, 'M': 1}", "{'town': [1, 2, 3]}", "None"),
    "calibration_weights.weights": _of("'income'", "None", "'region'"),
    "Design.weights": _of("'income'", "None", "[1, 2, 3]"),
    "strata": _of("'region'", "None"),
    "fpc": _of("5000", "0.5", "'n'", "(9, 0.5)", "0", "None"),
    "cluster": _of("'region'", "'town'", "None"),
    "replicates": _of("['income', 'income']", "None"),
    "replicate_scale": _of("0.5", "None"),
    "gap": _of("1e-3", "0.1", "None"),
    "seconds": _of("0.1", "1", "None"),
    "estimate.estimate": lambda s: f"{s.matrix()}.estimate(counts={counts(s)})",
    "batch_function.key": _of("bs.KeySource.file(path('key'))", "bs.Key.insecure(1)", "None"),
    "on.key": _of("bs.KeySource.file(path('key'))"),
    "codebook": _of("{'sex': ['F', 'M']}", "None", "path('no.csv')"),
    "for_frame.schema": lambda s: s.rng.choice([
        plans.frame(s.rng), "{'sex': ['F', 'M'], 'town': ['A', 'B']}",
        "pa.schema({'sex': pa.bool_()})",
    ]),
    "for_frame.keep": _of("['region']", "[]", "'*'"),
    "for_frame.ordinal": _of("[]", "[]", "['sex']", "['income']"),
    "for_frame.numeric": _of("['income']", "[]", "'*'", "['sex']"),
    "undecided": _of("[]", "['income']", "'*'"),
    "for_frame.name": _of("'survey'"),
    "for_frame.missing": _of("'keep'", "'category'", "{'sex': 'keep'}", "{'x': 'keep'}", "{}"),
    **dict.fromkeys(
        ("protect.ids", "protect_batches.ids", "batch_function.ids", "on.ids"),
        _of(plans.WAVE, "'id'", "None", "7", "sv.Wave('no such column', after='first')"),
    ),
    "row_columns": _of("['id']", "None", "[]"),
    **dict.fromkeys(("batch", "table"), lambda s: plans.arrow(s.rng)),
    "schema": lambda s: f"{plans.arrow(s.rng)}.schema",
    "engine": _of("'spark 4.3'", "'x'"),
    "obj": lambda s: s.rng.choice([f"pl.LazyFrame({plans.TABLE})", "7", "None", "pa.table({})"]),
    "add_counts.rows": lambda s: plans.counts(s.rng),
    "add_counts.count": _of("'count'", "'n'", "'sex'"),
    "rows_per_id": _of("1", "2", "None", "0"),
    "call.function": _of("'no_such:key'", "'x'"),
    "fingerprint": _of("'0' * 16", "None", "'x'"),
    "directory": lambda s: "folder('keys')",
    "env.name": _of("'NO_SUCH_VARIABLE'", "''"),
    "release_name": _of("'w'", "'2026'", "None"),
    "Numeric.how": _of("'permute'", "'average'"),
    "id_column": _of("'id'", "'id'", "'no such column'"),
    "after": _of("'first'", f"{plans.SIMPLE}.protect({plans.TABLE}, {plans.BY_IDS}).certificate"),
    "pseudonym": _of("'person'", "None", "'sex'"),
    "max_rows": _of("1", "2", "2**40"),
    "allow_insecure": _of("True", "True", "False"),
    "record": lambda s: plans.record(s.rng),
    "attributes": lambda s: f"[{plans.attribute(s.rng)}, {plans.numeric(s.rng)}]",
    "Plan.keep": _of("['region']", "'*'", "[]"),
    "drop": _of("[]", "['name']"),
    "Plan.name": _of("'survey'", "'\\u00e9'"),
    "column": _of("'sex'", "'\\u00e9'"),
    "Observed.column": _of("'sex'"),
    "Analysis.data": lambda s: plans.frame(s.rng),
    "channel": _of("bs.Channel(warner=0.7)", "bs.randomized_response(2, keep=0.7)", "7"),
    "Analysis.columns": _of(f"[{plans.OBSERVED}]", "[]", f"[{plans.OBSERVED}] * 2"),
    "Analysis.keep": _of("['region']", "'*'", "[]"),
    "Joint.columns": _of("('town', 'year')", "['a', 'b']"),
    "categories": _of("['F', 'M']", "[0, 1]", "[False, True]", "np.array(['x', 'y'])"),
    "Joint.categories": _of("[['A', 'B'], [1999, 2000]]", "[range(3), [True, False]]"),
    "Categorical.family": _of("'randomized_response'", "'geometric'", "None"),
    "Joint.family": _of("'randomized_response'", "'geometric'", "None"),
    "Numeric.family": _of("'randomized_response'", "'k_anonymous'", "None"),
    "missing": _of("'raise'", "'keep'", "'category'"),
    "groups": _of("('region', {'n': bs.uniform(2), 's': bs.identity(2)})", "None"),
    "impossible": _of("[('A', 1999)]", "[]"),
    "Numeric.order": _of("'rank'", "None"),
    "given": _of("['F', 'M']", "[1, 2]"),
    "of.name": _of("'categories'"),
    "value": _of("'A'", "1999", "None", f"'{values.SECRET_TEXT}'"),
}  # fmt: skip

# Of these exactly one is to be given.
ONE_OF = {
    "randomized_response": ("epsilon", "beta", "keep"),
    "k_anonymous": ("k", "beta", "share"),
    "geometric": ("temperature", "beta", "epsilon"),
    "gibbs": ("temperature", "beta"),
    "difference_set": ("epsilon",),
    "optimal": ("beta", "epsilon", "row_beta", "column_beta"),
    "allocate": ("beta", "epsilon"),
    "tridiagonal": ("alphas", "beta"),
    "dense": ("array", "counts"),
    "balance": ("array", "counts"),
    "estimate": ("codes", "counts"),
}
# Given together or not at all, mostly.
TOGETHER: dict[str, list[tuple[str, ...]]] = {
    "randomize": [("key", "stream", "start"), ("key", "stream", "ids"), ()],
    "respond": [("key", "stream", "id"), ()],
    **{
        name: [("key", "stream"), ()]
        for name in ("sample_permutation", "sample", "anatomize", "permute", "average")
    },
    "protect": [
        ("key", "release_name", "allow_insecure"),
        ("key", "ids", "allow_insecure"),
        (),
    ],
    "protect_batches": [("key", "ids", "allow_insecure"), ()],
    "transitions": [("id_column", "memoised")],
    "change": [("id_column", "where"), ("id_column", "column", "scores")],
}


def known(call: str, name: str) -> bool:
    """Whether a valid value of this parameter can be drawn."""
    return f"{call}.{name}" in DRAW or name in DRAW


def draw(scene: Scene, call: str, name: str) -> str:
    """A valid value of the parameter ``name`` of ``call``."""
    source = DRAW.get(f"{call}.{name}") or DRAW[name]
    return source(scene)


def arguments(scene: Scene, call: str, signature: inspect.Signature) -> list[tuple[str, str]]:
    """Names and sources of a call that is mostly valid; positional ones have an empty name."""
    rng = scene.rng
    scene.many = rng.choice([1, 2, 2, 3])
    scene.records = rng.randint(0, 12)
    group, bundles = ONE_OF.get(call, ()), TOGETHER.get(call, [])
    wanted = {rng.choice(group)} if group else set()
    optional = rng.choice([0.0, 0.3, 1.0])
    wanted.update(rng.choice(bundles) if bundles else ())
    bound = {name for bundle in bundles for name in bundle}
    out: list[tuple[str, str]] = []
    for name, parameter in signature.parameters.items():
        if name == "self":
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            laws = [scene.matrix() for _ in range(scene.many)]
            several = labels(scene) if call == "derive" else laws
            out += [("", source) for source in several]
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            # The parameters of a family.
            if rng.random() < 0.8:
                out.append(("beta", draw(scene, call, "beta")))
            continue
        needed = parameter.default is inspect.Parameter.empty
        settled = name in group or name in bound
        given = needed or name in wanted or (not settled and rng.random() < optional)
        given = given or (settled and rng.random() < 0.03)
        if given:
            positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY and needed
            out.append(("" if positional else name, draw(scene, call, name)))
    if call == "tridiagonal" and (dict(out).get("alphas", "[").find("[") < 0 or "beta" in wanted):
        out = [(n, s) for n, s in out if n != "size"] + [("size", str(scene.size))]
    return out
