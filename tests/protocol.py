"""The protocol of ``docs/protocol.md`` in plain Python: a second implementation of every draw.

It follows the page and uses nothing of the package, so two programs have to agree on every
reported value. ``tools/vectors.py`` writes ``vectors.json`` with it, and ``test_words.py`` compares
it with the core.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

MASK = 0xFFFFFFFF
CONTEXT = "bistochastic 2026-11-16 every derivation, version 1"
Id = int | str | bytes


def rotate_right(x: int, n: int) -> int:
    return (x >> n | x << (32 - n)) & MASK


def words(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))


def joined(numbers: Iterable[int], length: int = 4) -> bytes:
    return b"".join(n.to_bytes(length, "little") for n in numbers)


# BLAKE3, after its specification.
IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, KEYED, CONTEXT_FLAG, MATERIAL = 1, 2, 4, 8, 16, 32, 64
Node = tuple[tuple[int, ...], bytes, int, int, int]


def compress(
    chain: tuple[int, ...], block: bytes, counter: int, length: int, flags: int
) -> tuple[int, ...]:
    m = words(block.ljust(64, b"\0"))
    v = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]

    def mix(a: int, b: int, c: int, d: int, x: int, y: int) -> None:
        for word, r, s in ((x, 16, 12), (y, 8, 7)):
            v[a] = (v[a] + v[b] + word) & MASK
            v[d] = rotate_right(v[d] ^ v[a], r)
            v[c] = (v[c] + v[d]) & MASK
            v[b] = rotate_right(v[b] ^ v[c], s)

    for _ in range(7):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = tuple(m[i] for i in ORDER)
    return tuple(v[i] ^ v[i + 8] for i in range(8)) + tuple(v[i + 8] ^ chain[i] for i in range(8))


def node(data: bytes, key: tuple[int, ...], flags: int, first: int = 0) -> Node:
    """The last compression of a subtree, whose chunks are numbered from ``first``."""
    if len(data) <= 1024:
        blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
        chain = key
        for i, block in enumerate(blocks[:-1]):
            own = flags | (START if i == 0 else 0)
            chain = compress(chain, block, first, 64, own)[:8]
        own = flags | END | (START if len(blocks) == 1 else 0)
        return chain, blocks[-1], first, len(blocks[-1]), own
    chunks = 1
    while 2 * chunks * 1024 < len(data):
        chunks *= 2
    sides = (data[: 1024 * chunks], first), (data[1024 * chunks :], first + chunks)
    chains = (compress(*node(part, key, flags, at))[:8] for part, at in sides)
    return key, b"".join(map(joined, chains)), 0, 64, flags | PARENT


def blake3(data: bytes, key: tuple[int, ...] = IV, flags: int = 0, length: int = 32) -> bytes:
    """At most 64 bytes of output."""
    chain, block, counter, size, own = node(data, key, flags)
    # The root counts its output, not its chunk.
    assert counter == 0
    return joined(compress(chain, block, 0, size, own | ROOT))[:length]


# The encoding.
def size_of(n: int) -> bytes:
    return n.to_bytes(8, "little")


def wide(n: int) -> bytes:
    return n.to_bytes(16, "little", signed=True)


def encode(item: Any) -> bytes:
    """Bytes, strings, integers, fractions and lists of them."""
    match item:
        case bytes():
            return b"\x01" + size_of(len(item)) + item
        case str():
            return b"\x02" + size_of(len(item.encode())) + item.encode()
        case int():
            return b"\x03" + wide(item)
        case Fraction():
            return b"\x05" + wide(item.numerator) + wide(item.denominator)
    return b"\x04" + size_of(len(item)) + b"".join(map(encode, item))


def vector(numbers: Sequence[int]) -> bytes:
    return (
        b"\x07"
        + size_of(len(numbers))
        + b"".join(n.to_bytes(8, "little", signed=True) for n in numbers)
    )


def value(item: Any) -> bytes:
    """The encoding of a parameter of a matrix."""
    if not isinstance(item, list | tuple):
        return encode(item)
    if all(isinstance(each, bytes) for each in item):
        return encode(item)
    if isinstance(item[0], list | tuple):
        cells = [cell for row in item for cell in row]
        return b"\x0a" + size_of(len(item)) + size_of(len(item[0])) + vector(cells)
    if all(isinstance(each, int) for each in item):
        return vector(item)
    ratios = b"".join(wide(Fraction(x).numerator) + wide(Fraction(x).denominator) for x in item)
    return b"\x08" + size_of(len(item)) + ratios


def matrix_digest(family: str, parameters: dict[str, Any]) -> bytes:
    """A component of a composite stands as its own digest."""
    head = b"\x04" + size_of(2) + encode(family) + b"\x04" + size_of(len(parameters))
    pairs = (b"\x04" + size_of(2) + encode(name) + value(x) for name, x in parameters.items())
    return blake3(head + b"".join(pairs))


@lru_cache(maxsize=1000)
def derive_material(material: bytes) -> bytes:
    context = words(blake3(CONTEXT.encode(), flags=CONTEXT_FLAG))
    return blake3(material, context, MATERIAL)


def derive(key: bytes, purpose: str, labels: Any, path: Sequence[int], digest: bytes) -> bytes:
    return derive_material(key + encode([purpose, labels, list(path), digest]))


NO_MATRIX = bytes(32)


def response_digest(size: int, keep: Fraction) -> bytes:
    """The digest of a randomized response."""
    return matrix_digest("randomized_response", {"size": size, "keep": keep})


# ChaCha20 with a counter and a nonce of 64 bits each.
def chacha(key: bytes, counter: int, nonce: int) -> bytes:
    start = [
        *words(b"expand 32-byte k"),
        *words(key),
        *words(counter.to_bytes(8, "little")),
        *words(nonce.to_bytes(8, "little")),
    ]
    x = start.copy()

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for i, j, k, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = (x[i] + x[j]) & MASK
            x[k] = rotate_right(x[k] ^ x[i], 32 - n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return joined((a + b) & MASK for a, b in zip(x, start, strict=True))


def stream_of(blocks: Iterator[bytes]) -> Iterator[int]:
    for block in blocks:
        yield from (int.from_bytes(block[i : i + 8], "little") for i in range(0, 64, 8))


def below(n: int, more: Iterator[int]) -> int:
    """The integer part of U n, for U in [0, 1) with the words as its digits."""
    number, scale = 0, 1
    while True:
        number, scale = number * 2**64 + next(more), scale * 2**64
        if number * n // scale == ((number + 1) * n - 1) // scale:
            return int(number * n // scale)


# Tables.
@lru_cache(maxsize=1000)
def alias_table(slots: tuple[int, ...], bits: int) -> tuple[list[tuple[int, int]], int]:
    """(threshold, alias) of each column, and the number of decided words."""
    k = max(4, (len(slots) - 1).bit_length())
    mass = [*slots] + [0] * (2**k - len(slots))
    decided, full = sum(slots), 2 ** (bits - k)
    room = [min(max(decided - j * full, 0), full) for j in range(2**k)]
    table = [(0, j) for j in range(2**k)]
    large = 0
    for scan in range(2**k):
        column = scan
        while mass[column] <= room[column]:
            if mass[column] == room[column]:
                table[column] = (0, column)
                break
            while mass[large] <= room[large]:
                large += 1
            table[column] = (mass[column], large)
            mass[large] -= room[column] - mass[column]
            if large > scan:
                break
            column = large
    return table, decided


def slots_of(count: int, total: int, bits: int) -> int:
    return int(min((count << bits) // total, 2**bits - 1))


def from_counts(
    counts: Sequence[int], total: int, bits: int, word: int, more: Iterator[int]
) -> int:
    """An outcome with probability count / total."""
    slots = [slots_of(count, total, bits) for count in counts]
    table, decided = alias_table(tuple(slots), bits)
    if word < decided:
        column, low = divmod(word, 2**bits // len(table))
        threshold, alias = table[column]
        return int(column if low < threshold else alias)
    t = (word - decided) * total + below(total, more)
    for outcome, (count, own) in enumerate(zip(counts, slots, strict=True)):
        t -= (count << bits) - own * total
        if t < 0:
            return outcome
    raise AssertionError("no outcome owns this case")


def bits_of(outcomes: int) -> int:
    return 16 if outcomes <= 2**8 else 32 if outcomes <= 2**24 else 64


# One draw of each form; ``word`` is the record's first word, ``more`` its further words.
def certain(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    return int(form["targets"][u]) if "targets" in form else u


def shift(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    counts = form["counts"]
    j = from_counts(counts, form["total"], bits_of(len(counts)), word, more)
    return int((u + j) % len(counts))


def fold(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    kernel = form["counts"]
    size = len(kernel) - 1
    even = [kernel[min(j, 2 * size - j)] for j in range(2 * size)]
    v = (u + from_counts(even, form["total"], bits_of(size), word, more)) % (2 * size)
    return int(min(v, 2 * size - 1 - v))


def swap(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    counts, codes = form["counts"], form["codes"]
    swapped = from_counts(counts, sum(counts), bits_of(form["size"]), word, more)
    return int(codes[1 - codes.index(u)]) if swapped and u in codes else u


def truth(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    size, (n, d) = form["size"], form["keep"]
    bits = bits_of(size)
    stay = slots_of(n, d, bits)
    each = min(((d - n) << bits) // (d * (size - 1)), 2**bits - 1)
    decided = stay + each * (size - 1)
    if word >= decided:
        t = (word - decided) * d + below(d, more)
        j = 0 if t < (n << bits) - stay * d else 1 + below(size - 1, more)
    elif size <= 256:
        table, _ = alias_table((stay,) + (each,) * (size - 1), bits)
        column, low = divmod(word, 2**bits // len(table))
        j = column if low < table[column][0] else table[column][1]
    else:
        j = 0 if word < stay else 1 + (word - stay) // each
    return int((u + j) % size)


def classes(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    runs = form["runs"]
    first, n = runs[bisect_right(runs, u, key=lambda run: run[0]) - 1]
    start, bits = u - (u - first) % n, bits_of(form["size"])
    high, low = divmod(word * n, 2**bits)
    return int(start + (high if low >= 2**bits % n else below(n, more)))


def neighbours(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    size, total, alphas = form["size"], form["total"], form["alphas"]
    bits = bits_of(size)
    alphas = [0, *(alphas if len(alphas) > 1 or size == 2 else alphas * (size - 1)), 0]
    down, up = (slots_of(alphas[i], total, bits) for i in (u, u + 1))
    if word < down:
        return u - 1
    if word < down + up:
        return u + 1
    decided = max(down + up, 2**bits - 2)
    if word < decided:
        return u
    t = (word - decided) * total + below(total, more)
    falls, rises = ((alphas[i] << bits) - s * total for i, s in ((u, down), (u + 1, up)))
    return u - 1 if t < falls else u + 1 if t < falls + rises else u


def rows(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    counts = form["counts"]
    return from_counts(counts[u], form["total"], bits_of(len(counts)), word, more)


def pick(form: dict[str, Any], u: int, word: int, more: Iterator[int]) -> int:
    weights = form["weights"]
    return from_counts(weights, sum(weights), bits_of(len(weights)), word, more)


FORMS = {
    each.__name__: each
    for each in (certain, shift, fold, swap, truth, classes, neighbours, rows, pick)
}


def bits_in(form: dict[str, Any]) -> int:
    """Bits of the first word of a draw."""
    if "weights" in form:
        return bits_of(len(form["weights"]))
    if form["form"] in ("shift", "rows"):
        return bits_of(len(form["counts"]))
    return bits_of(len(form["counts"]) - 1 if form["form"] == "fold" else form["size"])


class Address:
    """Where the words of one record come from: a row, or an id with the record's code."""

    def __init__(
        self,
        key: bytes,
        labels: Any,
        digest: bytes,
        *,
        row: int | None = None,
        id: Id = 0,
        code: int = 0,
    ) -> None:
        self.key, self.labels, self.digest = key, labels, digest
        self.row, self.id, self.code = row, id, code

    def words(self, path: Sequence[int], bits: int) -> tuple[int, Iterator[int]]:
        """The first word of a draw and its further words."""

        def secret(purpose: str) -> bytes:
            return derive(self.key, purpose, self.labels, path, self.digest)

        if self.row is not None:
            row, more = self.row, secret("randomize more")
            block, at = divmod(row * bits // 8, 64)
            first = chacha(secret("randomize words"), block, 0)[at : at + bits // 8]
            further = (chacha(more, row, nonce) for nonce in range(10**6))
            return int.from_bytes(first, "little"), stream_of(further)
        if isinstance(self.id, int):
            nonce = self.code | (2**63 if self.id < 0 else 0)
            own = chacha(secret("randomize id integer"), self.id % 2**64, nonce)
        else:
            raw = self.id.encode() if isinstance(self.id, str) else self.id
            kind = "text" if isinstance(self.id, str) else "bytes"
            hashing = words(secret(f"randomize id {kind}"))
            own = blake3(size_of(self.code) + raw, hashing, KEYED, 64)
        further = (chacha(own[32:], n, 0) for n in range(10**6))
        return int.from_bytes(own[: bits // 8], "little"), stream_of(further)


def draw(form: dict[str, Any], u: int, at: Address, path: tuple[int, ...] = ()) -> int:
    """The reported code of a record."""
    kind = form["form"]
    if kind == "certain":
        return certain(form, u, 0, iter(()))
    parts = form.get("components", [])
    if kind == "kron":
        digits = []
        for i, part in reversed(list(enumerate(parts))):
            u, digit = divmod(u, part["size"])
            digits.append((part["size"], draw(part, digit, at, (*path, i))))
        v = 0
        for size, digit in reversed(digits):
            v = v * size + digit
        return v
    if kind == "product":
        for i, part in enumerate(parts):
            u = draw(part, u, at, (*path, i))
        return u
    if kind == "mix":
        word, more = at.words(path, bits_in(form))
        i = pick(form, 0, word, more)
        return draw(parts[i], u, at, (*path, i))
    word, more = at.words(path, bits_in(form))
    return FORMS[kind](form, u, word, more)


def numbers(item: Any) -> Any:
    """Decimal strings of a client plan as integers; the name of a form as it is."""
    if isinstance(item, list):
        return [numbers(each) for each in item]
    if isinstance(item, dict):
        return {name: x if name == "form" else numbers(x) for name, x in item.items()}
    return int(item)


def spelling(given: Any) -> Any:
    """What a value and a category have in common: digits of an integer, a string, a boolean."""
    return given if isinstance(given, bool) else str(given)


def code_of(column: dict[str, Any], given: Any) -> int:
    if "breaks" in column:
        dated, last = column["type"] == "date", len(column["categories"]) - 1
        read: Any = date.fromisoformat if dated else Fraction
        breaks = [read(x) for x in column["breaks"]]
        value = max(read(given), read(column.get("bottom", given)))
        value = min(value, read(column["top"])) if "top" in column else value
        at = bisect_right(breaks, value) - ("low" not in column.get("open", []))
        assert 0 <= at <= last or (value == breaks[-1] and not dated)
        return min(at, last)
    return int(column["categories"].index(spelling(given)))


def recoded(column: dict[str, Any], given: Any) -> Any:
    """The category that a value stands for, None for a missing value."""
    if given is None or "recode" not in column:
        return given
    return dict(column["recode"])[spelling(given)]


def spelled(column: dict[str, Any], code: int, given: Any) -> Any:
    """A reported category, as an integer if the value was one or if the plan declares integers."""
    if "midpoints" in column:
        middle = column["midpoints"][code]
        return middle if column["type"] == "date" else float(middle)
    category = (column["categories"] + column.get("padding", []))[code]
    if "breaks" in column:
        return category
    own = given is None or "relabelled" in column
    like = column["type"] if own else type(given).__name__
    return int(category) if like in ("integer", "int") else category


def respond(plan: dict[str, Any], key: bytes, record: dict[str, Any], id: Id) -> dict[str, Any]:
    """The reported record of a client plan."""
    reported: dict[str, Any] = {}
    for attribute in plan["attributes"]:
        columns, missing = attribute["columns"], attribute["missing"]
        names = [column["name"] for column in columns]
        raw = [record[name] for name in names]
        given = [recoded(column, x) for column, x in zip(columns, raw, strict=True)]
        if missing != "category" and None in given:
            assert missing == "keep"
            assert given == [None] * len(given)
            reported.update(dict.fromkeys(names))
            continue
        more = missing == "category"
        true = [len(column["categories"]) for column in columns]
        sizes = [
            n + more + len(column.get("padding", []))
            for n, column in zip(true, columns, strict=True)
        ]
        cell = 0
        for column, x, n, size in zip(columns, given, true, sizes, strict=True):
            cell = cell * size + (n if x is None else code_of(column, x))
        impossible = numbers(attribute.get("impossible", []))
        assert cell not in impossible
        code = cell - bisect_left(impossible, cell)
        groups = attribute.get("groups")
        group = code_of(groups, record[groups["name"]]) if groups else 0
        matrix = attribute["matrices"][group]
        labels = ["plan", plan["name"], names]
        at = Address(key, labels, bytes.fromhex(matrix["digest"]), id=id, code=code)
        v = draw(numbers(matrix["draw"]), code, at)
        for gap in impossible:
            v += gap <= v
        for column, x, n, size in reversed(list(zip(columns, raw, true, sizes, strict=True))):
            v, digit = divmod(v, size)
            if more and digit == n:
                reported[column["name"]] = None
            else:
                reported[column["name"]] = spelled(column, digit - (more and digit > n), x)
    drop = plan["drop"]
    return {name: reported.get(name, x) for name, x in record.items() if name not in drop}


# A plan by position, and what else a plan derives.
def block_key(key: bytes, plan: str, release_name: str, columns: Sequence[dict[str, Any]]) -> bytes:
    """The key of a block; columns have ``codes`` and ``size``, maybe ``missing`` and ``groups``."""
    held = [size_of(len(columns[0]["codes"])), size_of(len(columns))]
    for column in columns:
        n = column["size"]
        width = 1 if n <= 2**8 else 2 if n <= 2**16 else 4 if n <= 2**32 else 8
        held += [bytes([width]), joined(column["codes"], width)]
        missing, groups = column.get("missing"), column.get("groups")
        held += [b"\0"] if missing is None else [b"\1", bytes(missing)]
        held += [b"\0"] if groups is None else [b"\1", joined(groups)]
    secret = derive(key, "plan block", ["plan", plan, release_name], [], NO_MATRIX)
    return blake3(b"".join(held), words(secret), KEYED)


def row_key(key: bytes, plan: str, release_name: str) -> bytes:
    """The key of rows that an engine addresses by what they hold."""
    return derive(key, "plan rows", ["plan", plan, release_name], [], NO_MATRIX)


def unit_key(key: bytes, plan: str, unit: str) -> bytes:
    """The key of a unit column; draws and pseudonyms by unit follow the law of ids under it."""
    return derive(key, "plan units", ["plan", plan, unit], [], NO_MATRIX)


def pseudonym(key: bytes, plan: str, id: Id) -> str:
    secret = derive(key, "plan pseudonym", ["plan", plan], [], NO_MATRIX)
    kinds = {int: b"\0", str: b"\1", bytes: b"\2"}
    raw = wide(id) if isinstance(id, int) else id.encode() if isinstance(id, str) else id
    return blake3(kinds[type(id)] + raw, words(secret), KEYED, 16).hex()
