"""Plans and tables that fit them, as source code."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz import values

SEXES = ["F", "M"]
TOWNS = ["A", "B", "C"]


def attribute(rng: Random) -> str:
    """Of the column ``sex``: by a family, a matrix or a law by region."""
    missing = rng.choice(["raise", "raise", "keep", "category"])
    size = 2 + (missing == "category")
    law = rng.choice([
        "'randomized_response', beta=0.6",
        "'uniform'",
        f"matrix=bs.randomized_response({size}, epsilon=1)",
        f"groups=('region', {{'n': bs.uniform({size}), 's': bs.identity({size})}})",
    ])  # fmt: skip
    return f"sv.Categorical('sex', {SEXES}, {law}, missing={missing!r})"


def joint(rng: Random) -> str:
    """Of the columns ``town`` and ``year``."""
    law = rng.choice([
        "'randomized_response', beta=0.5",
        "'blocks', sizes=[3, 3]",
        "matrix=bs.kron(bs.uniform(3), bs.geometric(2, beta=0.4))",
        "'randomized_response', beta=0.5, impossible=[('A', 2000)]",
    ])  # fmt: skip
    return f"sv.Joint(('town', 'year'), [{TOWNS}, [1999, 2000]], {law})"


def numeric(rng: Random) -> str:
    """Of the column ``income``."""
    how = rng.choice([
        "'k_anonymous', k=2", "'geometric', beta=0.3", "'uniform', order=None",
        "'k_anonymous', k=3, how='average'",
    ])  # fmt: skip
    return f"sv.Numeric('income', {how})"


def plan(rng: Random) -> str:
    """One to three attributes; all other columns are kept or dropped."""
    made = {"sex": attribute, "town": joint, "income": numeric}
    chosen = rng.sample(sorted(made), rng.choice([1, 2, 3]))
    rest = [name for name in sorted(made) if name not in chosen]
    rest += ["year"] if "town" not in chosen else []
    listed = ", ".join(made[name](rng) for name in chosen)
    drop = rng.choice([rest, []])
    keep = ["region", *(name for name in rest if name not in drop)]
    keep_source = rng.choice([repr(keep), "'*'"])
    return f"sv.Plan([{listed}], name='survey', keep={keep_source}, drop={drop})"


def _people(rng: Random, n: int, first: int) -> dict[str, list[Any]]:
    return {
        "id": list(range(first, first + n)),
        "sex": [rng.choice(SEXES) for _ in range(n)],
        "town": [rng.choice(TOWNS) for _ in range(n)],
        "year": [rng.choice([1999, 2000]) for _ in range(n)],
        "region": [rng.choice("ns") for _ in range(n)],
        "income": [100.5 * rng.randrange(90) for _ in range(n)],
    }


def _in_library(rng: Random, table: object, *libraries: str) -> str:
    """A table as it is, or in one of some libraries."""
    library = rng.choice(libraries)
    return f"{library}({table})" if library else repr(table)


_FRAMES = ("pd.DataFrame", "pl.DataFrame", "pa.table")


def frame(rng: Random) -> str:
    """People, in any library; now and then a value that no plan declares and nobody may see."""
    n = rng.choice([0, 1, 5, 12, 300])
    columns = _people(rng, n, 10)
    if n and rng.random() < 0.2:
        columns["sex"][rng.randrange(n)] = values.SECRET_TEXT
    if n and rng.random() < 0.2:
        columns["year"][rng.randrange(n)] = values.SECRET_CODES[0]
    if n and rng.random() < 0.2:
        columns["sex"][rng.randrange(n)] = None
    if rng.random() < 0.7:
        del columns["id"]
    return _in_library(rng, columns, "", "", *_FRAMES, "pa.record_batch")


def record(rng: Random) -> str:
    """One person; some plans want fewer columns."""
    found: dict[str, Any] = {
        "sex": rng.choice([*SEXES, None, values.SECRET_TEXT]),
        "town": rng.choice(TOWNS),
        "year": rng.choice([1999, 2000, values.SECRET_CODES[0]]),
        "region": rng.choice("ns"),
    }
    if rng.random() < 0.3:
        del found["town"], found["year"]
    return repr(found)


# A plan, a table of it, and options under which its release can be drawn again.
SIMPLE = "sv.Plan([sv.Categorical('sex', ['F', 'M'], 'randomized_response', beta=0.6)])"
TABLE = "{'id': [1, 2, 3], 'sex': ['F', 'M', 'M']}"
WAVE = "sv.Wave('id', after='first')"
BY_IDS = f"key=bs.Key.insecure(1), ids={WAVE}, allow_insecure=True"


def release(rng: Random) -> str:
    """A release by position or by ids, of one wave of a panel, or of any table."""
    kind = rng.random()
    if kind < 0.2:
        return panel(rng)
    if kind < 0.4:
        return f"sv.Release({frame(rng)}, {plan(rng)})"
    if kind < 0.7:
        return f"{SIMPLE}.protect({TABLE}, {BY_IDS})"
    return f"{SIMPLE}.protect({{'sex': ['F', 'M', 'M']}})"


OBSERVED = "sv.Observed('sex', ['F', 'M'], bs.Channel(warner=0.7), missing='keep')"


def analysis(rng: Random) -> str:
    """A table with noise of others, alone or next to columns that a plan protected."""
    more = rng.choice(["", f", {joint(rng)}"])
    return f"sv.Analysis({frame(rng)}, [{OBSERVED}{more}], keep=['region', 'income'])"


def audited(rng: Random) -> tuple[str, str]:
    """A table and its release, mostly such that they belong together."""
    n = rng.choice([12, 40])
    columns = _people(rng, n, 0) | {"name": [f"{values.SECRET_TEXT}{i}" for i in range(n)]}
    made = plan(rng) if rng.random() < 0.5 else AUDITED
    table = _in_library(rng, columns, "", "", *_FRAMES)
    keep = f"sv.Plan({made}.attributes, keep='*')"
    options = rng.choice(["", "", "", "shuffle=True"])
    released = rng.choice([f"{keep}.protect({table}, {options})", f"sv.Release({table}, {keep})"])
    return table, released


AUDITED = (
    "sv.Plan([sv.Categorical('sex', ['F', 'M'], 'randomized_response', beta=0.6), "
    "sv.Joint(('town', 'year'), [['A', 'B', 'C'], [1999, 2000]], 'randomized_response', beta=0.5), "
    "sv.Numeric('income', 'k_anonymous', k=3)], keep='*')"
)
PEOPLE = {
    "id": [7 * i % 24 for i in range(24)],
    "sex": ["FM"[i * i % 3 % 2] for i in range(24)],
    "town": ["ABC"[i % 3] for i in range(24)],
    "year": [1999 + (i % 5 > 2) for i in range(24)],
    "age": [20 + 3 * i % 17 for i in range(24)],
    "income": [100.5 * (i * i % 19) for i in range(24)],
}


def audit(rng: Random) -> str:
    """The audit of a release, by order or by ids."""
    options = rng.choice(["", ", targets=3", ", confidence=0.5", ", id_column='id'"])
    return f"sv.audit({PEOPLE}, {AUDITED}.protect({PEOPLE}){options})"


def grouped(options: str = "") -> str:
    """The audit of records that something published groups."""
    table = "{'a': ['x', 'y'] * 9, 'h': [1] * 9 + [2] * 9}"
    plan = "sv.Plan([sv.Categorical('a', ['x', 'y'], 'uniform')], keep=['h'])"
    return f"sv.audit({table}, sv.Release({table}, {plan}){options})"


def batch_function(rng: Random) -> str:
    """What an engine calls, by people or by rows."""
    by = rng.choice([
        f"ids={WAVE}", "ids=sv.Wave('id', after='first', pseudonym='who')",
        "row_columns=['id'], release_name='w'",
    ])  # fmt: skip
    drop = "['id']" if "row" in by else "[]"
    attributes = f"{SIMPLE}.attributes"
    key = "bs.KeySource.file(path('key'))"
    return f"sv.Plan({attributes}, drop={drop}).batch_function(key={key}, {by})"


def responder() -> str:
    """What a service holds."""
    return f"{SIMPLE}.responder(key=bs.KeySource.file(path('key')), after='first')"


def spent() -> str:
    """What a ledger of one release says of its column."""
    ledger = (
        "(lambda one: (sv.Ledger(one).add({}, dataset='d'), sv.Ledger(one))[1])(path('ledger'))"
    )
    return ledger.format(f"{SIMPLE}.protect({TABLE}).certificate") + ".spent[0]"


PANEL = (
    "sv.Plan([sv.Categorical('a', [0, 1, 2], 'randomized_response', keep=0.9), "
    "sv.Categorical('sex', ['F', 'M'], 'randomized_response', keep=0.9)], keep='*')"
)


def wave(rng: Random) -> str:
    """A protected table with ids, that a regression or a table of moves can be made of."""
    n = rng.choice([40, 60])
    columns: dict[str, list[Any]] = {
        "id": list(range(n)),
        "a": [(i * i + i // 7) % 3 for i in range(n)],
        "sex": [SEXES[i // 2 % 2] for i in range(n)],
        "z": [0.5 * (i % 11) + rng.random() for i in range(n)],
        "y": [(i * i + 3 * i + i // 5) % 2 for i in range(n)],
    }
    return _in_library(rng, columns, "", *_FRAMES)


def regression(rng: Random) -> str:
    """One of each model."""
    text, model = rng.choice([
        ("z ~ a + sex", "linear"), ("y ~ a + z", "logistic"), ("a ~ z", "multinomial"),
        ("y ~ a * sex", "linear"), ("y ~ a", "logistic"),
    ])  # fmt: skip
    more = rng.choice(["", ", design=sv.Design(cluster='id')", ", method='corrected'"])
    return f"{panel(rng)}.regress({text!r}, model={model!r}{more})"


def panel(rng: Random) -> str:
    """A release of one wave, without a certificate."""
    return f"sv.Release({wave(rng)}, {PANEL})"


def transitions(rng: Random) -> str:
    """Moves of people between two waves."""
    columns = rng.choice(["'a'", "['a', 'sex']"])
    given = f"{columns}, id_column='id', memoised={rng.random() < 0.5}"
    return f"{panel(rng)}.transitions({panel(rng)}, {given})"


def counts(rng: Random) -> str:
    """Counts of a group-by, in any library; now and then a level that no plan declares."""
    sexes = [*SEXES, None, values.SECRET_TEXT] if rng.random() < 0.3 else SEXES
    cells = [
        {"sex": rng.choice(sexes), "town": rng.choice(TOWNS), "year": rng.choice([1999, 2000]),
         "region": rng.choice("ns"), "count": rng.choice([0, 1, 2, 7, -1, 2**60])}
        for _ in range(rng.choice([0, 1, 4, 9]))
    ]  # fmt: skip
    return _in_library(rng, cells, "", "pd.DataFrame", "pl.DataFrame", "pa.Table.from_pylist")


def arrow(rng: Random) -> str:
    """A table or a batch of pyarrow, mostly one that fits."""
    kind = rng.choice(["pa.table", "pa.record_batch"])
    columns = rng.choice([TABLE, TABLE, "{'sex': ['F'], 'id': ['x']}", "{'sex': ['F']}"])
    return f"{kind}({columns})"


def text(rng: Random) -> str:
    """A plan or a certificate as a file has it, now and then with a fault."""
    source = rng.choice([
        f"{plan(rng)}.to_json()", f"{plan(rng)}.to_toml()", f"{release(rng)}.certificate.to_json()",
    ])  # fmt: skip
    fault = rng.choice(["", "", ".replace('1', '2', 3)", "[:-9]", ".replace('sex', 'sect', 1)"])
    return source + fault
