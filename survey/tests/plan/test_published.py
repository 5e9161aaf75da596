"""What the certificate lists as published unchanged is what can be read off a release."""

from __future__ import annotations

import itertools
import math
import random
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.plan import published
from bistochastic_survey.plan.published import Fact

VALUES = (1.0, 2.0, 4.0, 8.0)


def _random(name: str) -> random.Random:
    return random.Random(sha256(name.encode()).digest())


# Random plans.


def _law(rng: random.Random, size: int) -> bs.Matrix:
    """A matrix of any family, many of them with certain rows."""
    kind = rng.choice(
        ["identity", "uniform", "rr", "k", "blocks", "permutation", "swap", "steps", "circulant",
         "dense", "mix", "product", "geometric", "reflected", "kron"]
    )  # fmt: skip
    if size == 1:
        return bs.identity(1)
    if kind == "uniform":
        return bs.uniform(size)
    if kind == "rr":
        return bs.randomized_response(size, keep=rng.choice([1, 0.5, 0.75]))
    if kind == "k":
        return bs.k_anonymous(size, k=rng.randint(1, size))
    if kind == "blocks":
        return bs.blocks(_split(rng, size))
    if kind == "permutation":
        return bs.permutation(rng.sample(range(size), size))
    if kind == "swap":
        i, j = rng.sample(range(size), 2)
        return bs.t_transform(size, i, j, keep=rng.choice([0, 0.5, 1]))
    if kind == "steps":
        alphas = [rng.choice([0, 0, 0.25, 0.5]) for _ in range(size - 1)]
        return bs.tridiagonal(alphas=alphas)
    if kind == "circulant":
        row = [rng.choice([0, 0, 1]) for _ in range(size)]
        return bs.circulant(row if any(row) else [1, *row[1:]])
    if kind == "dense":
        some = [np.eye(size)[rng.sample(range(size), size)] for _ in range(2)]
        return bs.dense((some[0] + some[1]) / 2)
    if kind == "mix":
        return bs.mix([_law(rng, size), _law(rng, size)], weights=[0.5, 0.5])
    if kind == "product":
        return _law(rng, size) @ _law(rng, size)
    if kind == "geometric":
        return bs.geometric(size, beta=rng.choice([0, 0.5]))
    if kind == "reflected":
        kernel = [rng.choice([0, 0, 0.0625]) for _ in range(size)]
        return bs.reflected([1 - 2 * sum(kernel[:-1]) - kernel[-1], *kernel])
    if kind == "kron" and size in (4, 6):
        return bs.kron(_law(rng, 2), _law(rng, size // 2))
    return bs.identity(size)


def _split(rng: random.Random, size: int) -> list[int]:
    sizes = []
    while size:
        sizes.append(rng.randint(1, size))
        size -= sizes[-1]
    return sizes


def _coded(rng: random.Random, name: str, grouped: bool) -> sv.Categorical | sv.Joint:
    missing: Any = rng.choice(["raise", "raise", "keep", "category"])
    more = missing == "category"
    joint = rng.random() < 0.4
    axes: list[list[Any]] = [["a", "b", "c"][: rng.randint(1, 3)]]
    if joint:
        axes = [["a", "b"], [1, 2, 3][: rng.randint(1, 2 if more else 3)]]
    size = math.prod(len(axis) + more for axis in axes)
    impossible: list[Any] = []
    if joint and not more and rng.random() < 0.3 and size > 2:
        cells = list(itertools.product(*axes))
        impossible = rng.sample(cells, rng.randint(1, size - 1))
        size -= len(impossible)

    def law() -> bs.Matrix:
        found = _law(rng, size)
        return bs.identity(size) if impossible and "kron" in repr(found.parameters) else found

    def made(**how: Any) -> sv.Categorical | sv.Joint:
        if not joint:
            return sv.Categorical(name, axes[0], missing=missing, **how)
        columns = (f"{name}1", f"{name}2")
        if impossible:
            how = {**how, "impossible": impossible}
        return sv.Joint(columns, axes, missing=missing, **how)

    try:
        if grouped and rng.random() < 0.6:
            return made(groups=("g", {"n": law(), "s": law()}))
        return made(matrix=law())
    except ValueError:  # a product of laws has all cells
        return made(matrix=bs.k_anonymous(size, k=1))


def _numeric(rng: random.Random, name: str, records: int) -> sv.Numeric:
    order: Any = rng.choice(["rank", None])
    if rng.random() < 0.2:
        classes = bs.blocks(_split(rng, records))
        return sv.Numeric(name, matrix=classes, how="average", order=order)
    return sv.Numeric(name, matrix=_law(rng, records), order=order)


def _plan(rng: random.Random) -> tuple[sv.Plan, int]:
    kind = rng.choice(["coded", "coded", "numeric", "both"])
    keep = rng.choice([[], ["g"], ["g"]])
    drop = rng.choice([[], ["d"]]) if kind == "numeric" else []
    if kind == "numeric":
        records = rng.randint(1, 3)
        return sv.Plan([_numeric(rng, "x", records)], keep=keep, drop=drop), records
    if kind == "both":
        attributes = [_coded(rng, "c", False), _numeric(rng, "x", 2)]
        return sv.Plan(attributes), 2
    attributes = [_coded(rng, "c", bool(keep))]
    return sv.Plan(attributes, keep=keep, drop=drop), 2


# All worlds: an original, and a release that it may give.


def _truths(attribute: Any) -> list[tuple[Any, ...]]:
    """The cells of one record, by what is declared."""
    axes = [list(axis.values) for axis in attribute.axes]
    if attribute.missing == "category":
        axes = [[*axis, None] for axis in axes]
    cells = [c for c in itertools.product(*axes) if c not in attribute.impossible]
    return cells


def _reports(attribute: Any, group: Any) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    cells = _truths(attribute)
    matrix = attribute.matrix
    if attribute.groups is not None:
        matrix = dict(zip(attribute.groups.labels.values, attribute.groups.matrices, strict=True))[
            group
        ]
    found = {
        cell: [cells[v] for v, p in enumerate(matrix.exact_row(u)) if p]
        for u, cell in enumerate(cells)
    }
    if attribute.missing == "keep":
        nothing = (None,) * len(attribute.columns)
        found[nothing] = [nothing]
    return found


def _moved(attribute: sv.Numeric, values: tuple[float, ...]) -> list[tuple[float, ...]]:
    n = len(values)
    matrix = attribute.matrix
    assert matrix is not None
    order = sorted(range(n), key=values.__getitem__) if attribute.order else list(range(n))
    ranked = [values[i] for i in order]
    rows = [matrix.exact_row(u) for u in range(n)]
    found = []
    if attribute.how == "average":
        means = [float(sum(rows[u][v] * ranked[u] for u in range(n))) for v in range(n)]
        found = [means]
    else:
        for to in itertools.permutations(range(n)):
            if all(rows[u][to[u]] for u in range(n)):
                new = [0.0] * n
                for u in range(n):
                    new[to[u]] = ranked[u]
                found.append(new)
    back = []
    for new in found:
        out = [0.0] * n
        for place, record in enumerate(order):
            out[record] = new[place]
        back.append(tuple(out))
    return back


def _worlds(plan: sv.Plan, n: int, shuffled: bool) -> Any:
    """(original columns, release rows, original position of each row) of all there are."""
    coded = [a for a in plan.attributes if not isinstance(a, sv.Numeric)]
    numeric = [a for a in plan.attributes if isinstance(a, sv.Numeric)]
    groups = ["n", "s"] if plan.keep else [None]
    reports = {(a.columns, g): _reports(a, g) for a in coded for g in groups}
    single = []
    for group in groups:
        of_each = [list(reports[a.columns, group]) for a in coded]
        for cells in itertools.product(*of_each):
            outs = itertools.product(
                *(reports[a.columns, group][c] for a, c in zip(coded, cells, strict=True))
            )
            for out in outs:
                single.append((group, sum(cells, ()), sum(out, ())))
    orders = list(itertools.permutations(range(n))) if shuffled else [tuple(range(n))]
    names = [c for a in coded for c in a.columns]
    for people in itertools.product(single, repeat=n):
        numbers: list[tuple[float, ...]] = [()]
        if numeric:
            numbers = list(itertools.permutations(VALUES, n))
        for values in numbers:
            for moved in _moved(numeric[0], values) if numeric else [()]:
                original = {name: [p[1][i] for p in people] for i, name in enumerate(names)}
                rows = [(p[0], *p[2]) for p in people]
                if plan.keep:
                    original["g"] = [p[0] for p in people]
                if numeric:
                    original[numeric[0].column] = list(values)
                    rows = [(*row, x) for row, x in zip(rows, moved, strict=True)]
                for order in orders:
                    yield original, tuple(rows[i] for i in order), order


def _read_off(plan: sv.Plan, n: int, shuffled: bool) -> set[Fact]:
    """What a release tells with certainty, by looking at every world."""
    worlds = list(_worlds(plan, n, shuffled))
    columns = list(worlds[0][0])
    behind: dict[Any, set[Any]] = {}
    sets: dict[Any, set[Any]] = {}
    for original, release, order in worlds:
        for row, record in enumerate(order):
            behind.setdefault((release, row, None), set()).add(record)
            for column in columns:
                behind.setdefault((release, row, column), set()).add(original[column][record])
        for column in columns:
            sets.setdefault((release, column), set()).add(tuple(sorted(map(str, original[column]))))
    found = set()
    if not shuffled:
        assert all(len(who) == 1 for key, who in behind.items() if key[2] is None)
        found.add(Fact("order"))
    elif n > 1:
        assert any(len(who) > 1 for key, who in behind.items() if key[2] is None)
    numeric = {a.column: a for a in plan.attributes if isinstance(a, sv.Numeric)}
    coded = {c: a for a in plan.attributes if not isinstance(a, sv.Numeric) for c in a.columns}
    for column in columns:
        seen = {key: who for key, who in behind.items() if key[2] == column}
        whole = all(len(who) == 1 for who in seen.values())
        if column == "g":
            assert whole
            found.add(Fact("kept", "g"))
            continue
        visible = [c for a in plan.attributes for c in a.columns].index(column) + 1
        same = all(release[row][visible] in who for (release, row, _), who in seen.items())
        if column in numeric:
            found |= _of_numbers(numeric[column], worlds, behind, sets, whole, same, n)
            continue
        found |= _of_column(coded[column], column, worlds, behind, whole, same)
    return found


def _of_numbers(
    attribute: sv.Numeric, worlds: Any, behind: Any, sets: Any, whole: bool, same: bool, n: int
) -> set[Fact]:
    column = attribute.column
    if whole:
        return {Fact("column" if same else "renamed", column)}
    if attribute.how == "average":
        found = {Fact("means", column)}
    else:
        assert all(len(each) == 1 for (_, name), each in sets.items() if name == column)
        found = {Fact("values", column)}
    open_places = set()
    for original, release, order in worlds:
        places = sorted(range(n), key=original[column].__getitem__)
        for row, record in enumerate(order):
            if len(behind[release, row, column]) > 1:
                open_places.add(places.index(record) if attribute.order else record)
    if len(open_places) < n:
        found.add(Fact("places", column, places=(n - len(open_places), n)))
    return found


def _of_column(
    attribute: Any, column: str, worlds: Any, behind: Any, whole: bool, same: bool
) -> set[Fact]:
    cells = {cell[attribute.columns.index(column)] for cell in _truths(attribute)}
    seen = {Fact("missing", column)} if attribute.missing == "keep" else set()
    if len(cells) == 1:
        return seen
    if whole:
        return {Fact("column" if same else "renamed", column)}
    always: dict[Any, dict[Any, bool]] = {}
    some: dict[Any, dict[Any, bool]] = {}
    for original, release, order in worlds:
        for row, record in enumerate(order):
            truth = original[column][record]
            if truth is None and attribute.missing == "keep":
                continue
            group = original["g"][record] if attribute.groups is not None else None
            certain = len(behind[release, row, column]) == 1
            always.setdefault(group, {}).setdefault(truth, True)
            always[group][truth] &= certain
            some.setdefault(group, {}).setdefault(truth, False)
            some[group][truth] |= certain
    told: dict[Any, list[Any]] = {}
    names = [*attribute.axes[attribute.columns.index(column)].values, None]
    for group in always:
        lists = (
            ("categories", [a for a in names if always[group].get(a) and a is not None]),
            ("missing", [a for a in names if a is None and always[group].get(a)]),
            ("sometimes", [a for a in names if some[group].get(a) and not always[group].get(a)]),
        )
        for kind, each in lists:
            if each:
                told.setdefault((kind, () if kind == "missing" else tuple(each)), []).append(group)
    for (kind, each), groups in told.items():
        everywhere = len(groups) == len(always)
        by = "" if everywhere else attribute.groups.column
        in_order = () if everywhere else tuple(g for g in ("n", "s") if g in groups)
        seen.add(Fact(kind, column, each, by, in_order))
    return seen


@pytest.mark.parametrize("seed", range(24))
def test_what_the_certificate_lists_is_what_leaves(seed: int) -> None:
    rng = _random(f"published {seed}")
    for _ in range(12):
        plan, records = _plan(rng)
        shuffled = rng.random() < 0.4
        kept = plan.keep
        found = published.facts(plan, kept=kept, shuffled=shuffled)
        assert len(set(found)) == len(found)
        assert set(found) == _read_off(plan, records, shuffled), plan.to_toml()


def test_the_worlds_are_those_of_protect() -> None:
    """Releases that are drawn are among those that were enumerated."""
    rng = _random("worlds")
    drawn = 0
    for _ in range(80):
        plan, records = _plan(rng)
        worlds = list(_worlds(plan, records, True))
        original = rng.choice(worlds)[0]
        frame = original | {column: [0] * records for column in plan.drop}
        try:
            release = plan.protect(frame, shuffle=True)
        except ValueError:  # classes of one are not averaged, and circulants do not permute
            assert "x" in original
            continue
        drawn += 1
        columns = [*plan.keep, *(c for a in plan.attributes for c in a.columns)]
        rows = list(zip(*(list(release.data[c]) for c in columns), strict=True))
        rows = [tuple(None if x != x else x for x in row) for row in rows]
        if not plan.keep:
            rows = [(None, *row) for row in rows]
        if all(f.kind != "means" for f in published.facts(plan)):
            assert any(tuple(rows) == each for o, each, _ in worlds if o == original)
        listed = published.facts(plan, kept=(), shuffled=True)
        kept = [f"column `{c}`" for c in plan.keep]
        assert list(release.certificate.published_unchanged) == kept + published.phrases(listed)
    assert drawn > 50


def test_large_matrices_are_read_by_their_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = _random("structure")
    laws = [_law(rng, rng.choice([2, 3, 4, 6])) for _ in range(300)]
    want = []
    for law in laws:
        found = published.targets(law)
        assert found is not None
        want.append(found.tolist())
        rows = (law.to_dense() != 0).tolist()
        assert want[-1] == [row.index(True) if sum(row) == 1 else -1 for row in rows]
    monkeypatch.setattr(published, "_DENSE", 0)
    seen = [published.targets(law) for law in laws]
    known = [(f.tolist(), w) for f, w in zip(seen, want, strict=True) if f is not None]
    assert all(f == w for f, w in known)
    assert len(known) > 250


def test_large_joint_matrices_are_read_by_their_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = _random("joint structure")
    plans = []
    for _ in range(200):
        laws = [
            bs.kron(_law(rng, 2), _law(rng, 3)),
            bs.blocks(_split(rng, 6)),
            bs.k_anonymous(6, k=rng.randint(1, 3)),
            _law(rng, 6),
        ]
        law = rng.choice(laws)
        plans.append(sv.Plan([sv.Joint(("u", "v"), [["a", "b"], [1, 2, 3]], matrix=law)]))
    want = [published.facts(plan) for plan in plans]
    monkeypatch.setattr(published, "_DENSE", 0)
    unknown = 0
    for plan, each in zip(plans, want, strict=True):
        found = published.facts(plan)
        if any(fact.kind == "unchecked" for fact in found):
            unknown += 1
            assert math.isinf(plan.epsilon)
        else:
            assert found == each
    assert unknown < 60


def test_what_is_too_large_to_be_looked_at_is_said() -> None:
    joint = sv.Joint(
        ("u", "v", "w"), [["a", "b"], range(600), range(2)], "tridiagonal", alphas=0.25
    )
    plan = sv.Plan([joint])
    assert [f.kind for f in published.facts(plan)] == ["unchecked"] * 3 + ["order"]
    assert "was not checked, as there are too many" in str(plan.preview())
    law = bs.kron(bs.identity(3000), bs.uniform(4))
    big = sv.Plan([sv.Joint(("u", "v"), [range(3000), range(4)], matrix=law)])
    assert [(f.kind, f.column) for f in published.facts(big)] == [("column", "u"), ("order", "")]


@pytest.mark.parametrize("records", [10**6, 10**7])
def test_columns_of_very_many_records(records: int) -> None:
    plan = sv.Plan([sv.Numeric("x", "k_anonymous", k=5), sv.Numeric("y", "identity")])
    kinds = [fact.kind for fact in published.facts(plan.for_records(records))]
    assert kinds == ["values", "column", "order"]
