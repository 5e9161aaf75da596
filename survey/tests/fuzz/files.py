"""Files of all kinds that are read, whole and hostile, as source code that writes them."""

from __future__ import annotations

from random import Random

from fuzz import matrices, values

_NUMBERS = [
    "1", "0", "0.5", "2/3", "1/0", "-1", "nan", "inf", "-inf", "1e999", "1e-999", "0x10", "1_000",
    "", " ", "one", "9" * 30, "9" * 400, "9" * 5000, "١", "1/3/4", "1e400/3", "--1", "1j", "\u00b2",
    "1e", "0.1.2", "True", "None",
]  # fmt: skip


def number(rng: Random) -> str:
    """The text of a number, or of none."""
    return rng.choice(_NUMBERS)


def _rows(rng: Random) -> list[list[str]]:
    n = rng.randint(1, 4)
    rows: list[list[str]] = [[str(x) for x in row] for row in eval(matrices.whole_table(rng, n))]
    if rng.random() < 0.6:
        rows[rng.randrange(n)][rng.randrange(n)] = number(rng)
    if rng.random() < 0.2:
        rows[rng.randrange(n)].append("1")
    return rows


def csv(rng: Random) -> str:
    text = rng.choice(["\n", "\r\n", "\r", "\n\n"]).join(",".join(row) for row in _rows(rng))
    data = text.encode(rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32"]))
    others = ["b'1,' * 10**5", "b'\\n' * 10**5", "b'1\\0'", "b'\"1\",2'", "b'1;2\\n3;4'"]
    return _damaged(rng, repr(data), others)


def _array(rng: Random) -> str:
    n = rng.randint(1, 4)
    table = matrices.whole_table(rng, n)
    if rng.random() < 0.4:
        return values.spoilt(rng, table)
    return values.alike(rng, table) if rng.random() < 0.5 else f"np.array({table})"


_HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 100000000)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (10000, 10000)}",
    "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2**70, 2)}",
    "{'descr': '<f8', 'fortran_order': 'x', 'shape': (2, 2)}",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 2)}",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2)}",
    "{'descr': '<V0', 'fortran_order': False, 'shape': (2, 2)}",
    "{'descr': '<f8', 'shape': (2, 2)}",
    "",
    "{",
]


def npy(rng: Random) -> str:
    """An array as NumPy writes it, or with a header of one's own."""
    if rng.random() < 0.5:
        return _damaged(rng, f"npy({_array(rng)})", [])
    brackets = f"'{rng.choice('([{-')}' * {rng.choice([100, 2000, 9000])}"
    header = brackets if rng.random() < 0.3 else repr(rng.choice(_HEADERS))
    data = f"npy_header({header}) + bytes({rng.choice([0, 32, 4096])})"
    return _damaged(rng, f"({data})", [])


def npz(rng: Random) -> str:
    names = rng.choice([["a"]] * 5 + [[], ["a", "b"]])
    return _damaged(rng, f"npz({', '.join(f'{n}={_array(rng)}' for n in names)})", [
        f"zipped({{'a.npy': {npy(rng)}}})", "zipped({'a.txt': b'1'})", "zipped({'a.npy': b''})",
        "zipped({})",
    ])  # fmt: skip


def _damaged(rng: Random, data: str, others: list[str]) -> str:
    """Mostly as it is; or cut off, with a byte changed, empty, or junk."""
    luck = rng.random()
    if luck < 0.65:
        return data
    if luck < 0.75:
        return f"{data}[:{rng.randint(0, 80)}]"
    if luck < 0.85:
        return f"flip({data}, {rng.random():.3f}, {rng.randrange(256)})"
    if luck < 0.93 and others:
        return rng.choice(others)
    return rng.choice(
        ["b''", f"junk({rng.randrange(99)}, 300)", "b'\\xff\\xfe'", "b'PK\\x03\\x04'"]
    )


_KINDS = {"csv": csv, "npy": npy, "npz": npz}


def table(rng: Random) -> str:
    """A file with a square table, mostly of the kind that its name says."""
    kind = rng.choice(list(_KINDS))
    said = kind if rng.random() < 0.93 else rng.choice([*_KINDS, "txt", "CSV", ""])
    if rng.random() < 0.02:
        places = ["str(path('no.csv'))", "folder('m.npy')", "folder('m.csv')"]
        return rng.choice([*places, "'a\\0.csv'", "'\\udcff.csv'"])
    return f"write('m.{said}', {_KINDS[kind](rng)})"


def key(rng: Random) -> str:
    """A key file, or nearly one."""
    return rng.choice([
        "b'ab' * 32 + b'\\n'", "b'ab' * 32", "b'AB' * 32 + b'\\r\\n'", "b'x' * 32", "b'\\xff' * 32",
        "b'ab' * 31",
        "b'ab' * 33", "b'zz' * 32", "b''", "b'ab' * 32 + b'\\n\\n'", "b' ' + b'ab' * 32",
        "'ab'.encode('utf-16') * 16",
        "b'ab' * 10**6", "b'\\n' * 64", "b'\\0' * 64", "'\\u0661'.encode() * 32",
        "b'this is a sentence of 32 bytes..'",
    ])  # fmt: skip


_LAW = '{"format": "bistochastic.matrix", "version": 1, "family": '
_TEXTS = [
    "''",
    "'null'",
    "'[' * 10**5",
    "'{\"a\":' * 10**4",
    "'\"' + '\\\\\"' * 10**5",
    "'\ufeff{}'",
    f"""'{_LAW}"uniform", "parameters": {{"size": ' + '9' * 5000 + '}}}}'""",
    f"""'{_LAW}"identity", "parameters": {{"size": "9007199254740993"}}}}'""",
    f"""'{_LAW}"kron", "parameters": {{"matrices": [0]}}, "parts": []}}'""",
    f"""'{_LAW}"dense", "parameters": {{"counts": [], "total": 1}}}}'""",
    f"""'{_LAW}"blocks", "parameters": {{"sizes": [{{}}, [], null, true]}}}}'""",
]
_SWAPS = [
    ("1", "NaN"), ("1", "-Infinity"), ("0", "1e999"), ("2", "2.5"), ("[", "[["), ("]", "]]"),
    ('"size"', '"sise"'), ('"total"', '"counts"'), ('"size"', '"total"'), ('"', ""), (": ", ": -"),
    ("{}", "[]"), ("1", '"1"'), ('"1', '"-1'), ("/", "/0"), ("}", ', "a`b\\ud800": 1}'),
    ("[0", "[1"), ('"parts"', '"Parts"'), ("2", "9" * 60), ("0", ""),
    ('"parameters": {', '"parameters": {"size": 3, '),
]  # fmt: skip


def exchanged(rng: Random, text: str) -> str:
    """A matrix as JSON: mostly as it is; or cut off, with something replaced, or no matrix."""
    luck = rng.random()
    if luck < 0.4:
        return text
    if luck < 0.55:
        return f"{text}[:{rng.randint(0, 300)}]"
    if luck < 0.9:
        old, new = rng.choice(_SWAPS)
        return f"{text}.replace({old!r}, {new!r}, {rng.choice([1, 2, -1])})"
    return rng.choice(_TEXTS)
