"""What callers hand in: numbers of any type, columns of any library, files of any kind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from others import NAS, pa, pd, pl

loose: Any = bs
KEY = bs.Key.insecure(5)
M: Any = bs.randomized_response(4, beta=0.6)
COMPLEX = [np.complex64(0.5), np.complex128(0.5), np.clongdouble(0.5), np.array(0.5 + 0j), 0.5j]

# Every place that takes one number that need not be whole.
REALS: dict[str, Callable[[Any], Any]] = {
    "beta": lambda x: loose.randomized_response(4, beta=x),
    "epsilon": lambda x: loose.randomized_response(4, epsilon=x),
    "keep": lambda x: loose.randomized_response(4, keep=x),
    "temperature": lambda x: loose.geometric(4, temperature=x),
    "alphas": lambda x: loose.tridiagonal(x, size=4),
    "require": lambda x: M.require(beta=x),
    "mass": lambda x: M.decompose(mass=x).weights.tolist(),
    "gamma": lambda x: M.deniability(x * 4),
    "tolerance": lambda x: M.required_records(x),
    "confidence": lambda x: M.required_records(0.1, confidence=x),
    "interval": lambda x: M.estimate([0, 1]).interval(x).tolist(),
    "betas": lambda x: loose.tradeoff(4, betas=[x]),
}
# And one that is whole.
WHOLES: dict[str, Callable[[Any], Any]] = {
    "size": lambda n: loose.uniform(n),
    "k": lambda n: loose.k_anonymous(4, k=n),
    "threads": lambda n: M.randomize([1], key=KEY, stream="a", start=0, threads=n).tolist(),
    "start": lambda n: M.randomize([1], key=KEY, stream="a", start=n).tolist(),
    "code": lambda n: M.respond(n, key=KEY, stream="a", id=1),
    "id": lambda n: M.respond(1, key=KEY, stream="a", id=n),
    "u": lambda n: M.row(n).tolist(),
    "index": lambda n: M[n, n],
    "v": lambda n: M.posterior(n).tolist(),
    "n": lambda n: M.standard_error([0.25] * 4, n).tolist(),
    "restarts": lambda n: M.decompose(restarts=n).terms,
    "seed": lambda n: loose.Key.insecure(n) == loose.Key.insecure(int(n)),
    "records": lambda n: loose.tradeoff(4, betas=[0.5], records=n),
}


@pytest.mark.parametrize("name", sorted(REALS))
def test_every_real_number_of_numpy_is_the_nearest_double_and_no_complex_one(name: str) -> None:
    call = REALS[name]
    for x in (0.5, 0.25):
        want = call(x)
        for kind in (np.float16, np.float32, np.float64, np.longdouble):
            assert call(kind(x)) == want
            assert call(np.array(x, dtype=kind)) == want
    for bad in COMPLEX:
        with pytest.raises(TypeError, match=r"`\w+` must .*; got \w+$"):
            call(bad)


def test_a_longdouble_is_rounded_to_the_nearest_double() -> None:
    third = np.longdouble(1) / 3
    assert loose.randomized_response(4, keep=third) == loose.randomized_response(4, keep=1 / 3)
    row = np.array([third, third, third])
    assert bs.circulant(row) == bs.circulant([1 / 3] * 3)
    huge = np.longdouble("1e400")
    if np.isfinite(huge):
        # Infinity would mean something else: the identity, or a report that is forbidden.
        with pytest.raises(ValueError, match="`epsilon` must be below"):
            loose.randomized_response(4, epsilon=huge)
        cost = np.array([[0, huge], [1, 0]])
        with pytest.raises(ValueError, match=r"`cost` must hold numbers below 2\^1024"):
            bs.gibbs(cost, temperature=1.0)
        with pytest.raises(ValueError, match=r"`cost` must hold numbers below 2\^1024"):
            bs.uniform(2).profile(cost=cost)


@pytest.mark.parametrize("name", sorted(WHOLES))
def test_every_integer_of_numpy_is_its_value_and_nothing_else_is_whole(name: str) -> None:
    call = WHOLES[name]
    want = call(2)
    for kind in (np.int8, np.uint8, np.int16, np.uint64, np.int64):
        assert call(kind(2)) == want
        assert call(np.array(2, dtype=kind)) == want
    for bad in (np.longdouble(2), np.float64(2), np.complex128(2), True, np.True_, "2", [2]):
        if name == "id" and bad == "2":
            continue
        with pytest.raises((TypeError, ValueError), match=r"`\w+` must .*; got"):
            call(bad)


# The containers of a column, each from a list.
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "masked array": np.ma.array,
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "pandas nullable": lambda x: pd.Series(x).convert_dtypes(),
    "pandas arrow": lambda x: pd.Series(x).convert_dtypes(dtype_backend="pyarrow"),
    "pandas array": lambda x: pd.Series(x).array,
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda x: pa.chunked_array([x[:1], x[1:]]),
}
every_column = pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
FRAMES: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "array": np.array,
    "masked array": np.ma.array,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda x: pd.DataFrame(x).convert_dtypes(),
    "polars": lambda x: pl.DataFrame(x, schema=list("abcdefgh"[: x.shape[1]])),
    "arrow": lambda x: pa.table({str(j): x[:, j] for j in range(x.shape[1])}),
    "arrow batch": lambda x: pa.record_batch({str(j): x[:, j] for j in range(x.shape[1])}),
    "list of series": lambda x: [pd.Series(row) for row in x],
    "list of polars": lambda x: [pl.Series(row) for row in x],
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


@every_column
def test_codes_are_read_from_any_column(make: Callable[[list[Any]], Any]) -> None:
    codes = [0, 3, 2, 1, 1]
    want = M.randomize(codes, key=KEY, stream="a", start=0).tolist()
    drawn = M.randomize(make(codes), key=KEY, stream="a", start=0)
    assert np.asarray(drawn).tolist() == want
    # A column of any library comes back as an array.
    assert type(drawn) is np.ndarray
    assert M.estimate(make(codes)).counts.tolist() == M.estimate(codes).counts.tolist()
    ids = [3, -7, 2**62, 0, 1]
    want = M.randomize(codes, key=KEY, stream="a", ids=ids).tolist()
    assert M.randomize(codes, key=KEY, stream="a", ids=make(ids)).tolist() == want
    two: Any = bs.randomized_response(2, beta=0.5)
    flags = [True, False, True]
    want = two.randomize(flags, key=KEY, stream="a", start=0).tolist()
    assert np.asarray(two.randomize(make(flags), key=KEY, stream="a", start=0)).tolist() == want


LEVELS = ["low", "middle", "high", "top"]
CATEGORIES: dict[str, Callable[[list[str]], Any]] = {
    "pandas Categorical": lambda x: pd.Categorical(x, LEVELS),
    "pandas series": lambda x: pd.Series(pd.Categorical(x, LEVELS), name="a", index=[*x[1:], "z"]),
    "polars Enum": lambda x: pl.Series("a", x, dtype=pl.Enum(LEVELS)),
    "arrow": lambda x: pa.DictionaryArray.from_arrays([LEVELS.index(i) for i in x], LEVELS),
    "arrow chunks": lambda x: pa.chunked_array(
        [pa.DictionaryArray.from_arrays([LEVELS.index(i)], LEVELS) for i in x]
    ),
}


@pytest.mark.parametrize("make", CATEGORIES.values(), ids=CATEGORIES)
def test_columns_of_categories_are_not_taken_for_codes(make: Callable[[list[str]], Any]) -> None:
    column = make([LEVELS[code] for code in [0, 3, 2, 1, 1]])
    for call in (M.randomize, M.estimate):
        with pytest.raises(TypeError, match=r"^`codes` must be .*; got (dtype|categories, )"):
            call(column)


def test_the_hint_at_the_codes_of_categories_names_no_value() -> None:
    numbers: Any = pd.Categorical([10, 20])
    with pytest.raises(TypeError, match="got categories, whose own codes may be meant"):
        bs.uniform(30).randomize(numbers)
    assert len(bs.uniform(2).randomize(numbers.codes)) == 2


@every_column
def test_parameters_are_read_from_any_column(make: Callable[[list[Any]], Any]) -> None:
    assert bs.circulant(make([0.5, 0.25, 0.25])) == bs.circulant([0.5, 0.25, 0.25])
    assert bs.circulant(make([3, 1, 0])) == bs.circulant([3, 1, 0])
    assert bs.tridiagonal(make([0.25, 0.5])) == bs.tridiagonal([0.25, 0.5])
    assert bs.reflected(make([0.5, 0.25, 0.0])) == bs.reflected([0.5, 0.25, 0.0])
    assert bs.permutation(make([1, 2, 0])) == bs.permutation([1, 2, 0])
    assert bs.blocks(make([2, 3])) == bs.blocks([2, 3])
    pair = [bs.uniform(2), bs.identity(2)]
    assert bs.mix(pair, weights=make([0.5, 0.5])) == bs.mix(pair, weights=[0.5, 0.5])
    x = [8.0, 4, 2, 1]
    assert M.apply(make(x)).tolist() == M.apply(x).tolist()
    assert M.solve(make(x)).tolist() == M.solve(x).tolist()
    assert M.estimate(counts=make(x)).counts.tolist() == M.estimate(counts=x).counts.tolist()
    shares = [0.5, 0.25, 0.125, 0.125]
    assert M.profile(prior=make(shares)).best_guess == M.profile(prior=shares).best_guess
    assert M.posterior(1, prior=make(shares)).tolist() == M.posterior(1, prior=shares).tolist()
    assert M.estimate([0, 1]).contains(make(shares)) == M.estimate([0, 1]).contains(shares)
    assert (M.standard_error(make(shares), 9) == M.standard_error(shares, 9)).all()
    assert bs.theory.majorizes(make([3, 1, 0]), make([2, 1, 1]))
    assert bs.theory.t_transforms(make([3, 1]), make([2, 2])).apply(make([3, 1])) == [2, 2]
    betas = make([0.5, 0.75])
    # Scalars of an old Arrow are no numbers.
    if hasattr(next(iter(betas)), "__float__"):
        assert bs.tradeoff(4, betas=betas) == bs.tradeoff(4, betas=[0.5, 0.75])


@every_frame
def test_tables_are_read_from_any_frame(make: Callable[[np.ndarray[Any, Any]], Any]) -> None:
    counts = np.array([[3, 1, 0], [1, 2, 1], [0, 1, 3]])
    assert bs.dense(make(counts)) == bs.dense(counts)
    assert bs.dense(make(counts / 4)) == bs.dense(counts / 4)
    assert bs.balance(make(counts)) == bs.balance(counts)
    assert bs.entropy_rate(make(counts / 4)) == bs.entropy_rate(counts / 4)
    cost = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert bs.gibbs(make(cost), beta=0.5) == bs.gibbs(cost, beta=0.5)
    u = bs.uniform(3)
    assert u.profile(cost=make(cost)).expected_cost == u.profile(cost=cost).expected_cost
    assert (bs.identity(3).apply(make(cost)) == cost).all()
    both = bs.kron(bs.identity(3), bs.identity(3))
    assert (both.estimate(counts=make(counts)).counts == counts.ravel()).all()
    m = bs.randomized_response(4, beta=0.5)
    want = m.randomize(counts, key=KEY, stream="a", start=0)
    assert np.array_equal(m.randomize(make(counts), key=KEY, stream="a", start=0), want)


MISSING: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.array([0, 1, 2, 3], mask=[False, False, True, True]),
    "pandas nullable": lambda: pd.Series([0, 1, None, None], dtype=object),
    "pandas objects": lambda: pd.Series([0, 1, None, *NAS], dtype=object),
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING)
def test_missing_values_are_refused_with_their_number(make: Callable[[], Any]) -> None:
    given = make()
    named: dict[str, Callable[[Any], Any]] = {
        "codes": lambda x: M.randomize(x),
        "first_row": lambda x: loose.circulant(x),
        "counts": lambda x: M.estimate(counts=x),
        "x": lambda x: M.apply(x),
        "prior": lambda x: M.profile(prior=x),
    }
    for name, call in named.items():
        with pytest.raises(ValueError, match=f"`{name}` must hold no missing") as caught:
            call(given)
        assert str(caught.value).endswith("got 2, the first at position 2")
    with pytest.raises(ValueError, match="`codes` must hold no missing values; got 2"):
        M.estimate(given)
    if not isinstance(given, list):
        with pytest.raises(ValueError, match="`ids` must hold no missing values; got 2"):
            M.randomize([0, 1, 2, 3], key=KEY, stream="a", ids=given)


@pytest.mark.parametrize("masked", [np.ma.masked, np.ma.array(0.5, mask=True)])
def test_a_masked_number_in_a_list_is_missing(masked: Any) -> None:
    for call in (
        lambda: bs.circulant([0.5, masked]),
        lambda: bs.circulant((0.5, masked)),
        lambda: bs.mix([bs.identity(2), bs.uniform(2)], weights=[0.5, masked]),
        lambda: bs.masking.permutation_distance([1, 2], [0.5, masked]),
    ):
        with pytest.raises(ValueError, match="must hold no missing values; got 1, the first at po"):
            call()
    there: Any = [0.5, np.ma.array(0.5)]
    assert bs.identity(2).apply(there).tolist() == [0.5, 0.5]


def test_missing_values_of_a_table_are_refused_with_their_place() -> None:
    for frame in (
        pd.DataFrame([[1, 0], [None, 1]], dtype=object),
        np.ma.array([[1, 0], [0, 1]], mask=[[False, False], [True, False]]),
    ):
        with pytest.raises(ValueError, match=r"got 1, the first at \(1, 0\)"):
            loose.dense(frame)
        with pytest.raises(ValueError, match=r"got 1, the first at \(1, 0\)"):
            bs.entropy_rate(frame)
    for lost in (pd.Series([0.0, np.nan]), pl.Series([0, None]), pa.array([0, None])):
        with pytest.raises(TypeError, match="integers without missing values; got dtype float64"):
            M.randomize(lost)
    with pytest.raises(TypeError, match="got dtype float64"):
        M.randomize(pd.Series([0.0, 1.0]))


def test_labels_in_another_order_are_not_taken_for_codes() -> None:
    shares = pd.Series([2, 1, 1, 0, 1, 3]).value_counts(normalize=True)
    for call in (
        lambda x: M.profile(prior=x),
        lambda x: M.apply(x),
        lambda x: loose.circulant(x),
        lambda x: bs.theory.majorizes(x, x),
        lambda x: M.estimate(counts=x),
    ):
        with pytest.raises(ValueError, match=r"in the order of the codes; got labels .*to_numpy"):
            call(shares)
    assert M.profile(prior=shares.sort_index()).best_guess is not None
    named = shares.sort_index().rename(dict(enumerate("abcd")))
    with pytest.raises(ValueError, match="in the order of the codes"):
        M.profile(prior=named)
    assert M.profile(prior=named.to_numpy()).best_guess is not None
    table = pd.DataFrame(np.eye(2), columns=[1, 0])
    with pytest.raises(ValueError, match="in the order of the codes"):
        loose.dense(table)
    assert loose.dense(table.sort_index(axis=1)).size == 2
    # The columns of vectors are not codes.
    assert bs.identity(2).apply(table).tolist() == np.eye(2).tolist()


def test_fixed_widths_are_refused_or_read_as_shown() -> None:
    with pytest.raises(ValueError, match="`id` must not end in the character U"):
        M.respond(1, key=KEY, stream="a", id="ann\0")
    whole = np.array([b"ann", b"bob"])
    want = M.randomize([0, 1], key=KEY, stream="a", ids=[b"ann", b"bob"])
    assert np.array_equal(M.randomize([0, 1], key=KEY, stream="a", ids=whole), want)
    for short in (np.array([b"ann", b"bo\0"]), np.array([b"ann", b"bo"]), whole.astype("S4")):
        with pytest.raises(ValueError, match=r"`ids` must fill the . bytes .*Arrow binary; got"):
            M.randomize([0, 1], key=KEY, stream="a", ids=short)
    # As NumPy shows them.
    shown = np.array(["ann\0", "bob"])
    want = M.randomize([0, 1], key=KEY, stream="a", ids=["ann", "bob"])
    assert np.array_equal(M.randomize([0, 1], key=KEY, stream="a", ids=shown), want)
    assert "as NumPy" in (bs.Matrix.randomize.__doc__ or "")


def test_only_true_and_false_are_true_and_false(tmp_path: Path) -> None:
    path = tmp_path / "key"
    bs.Key.generate().to_file(path)
    e: Any = M.estimate([0, 1, 2])
    calls: dict[str, Callable[[Any], Any]] = {
        "simultaneous": lambda x: e.interval(simultaneous=x).tolist(),
        "full": lambda x: M.profile(full=x).to_dict(),
        "classes": lambda x: bs.blocks([2]).estimate([0], classes=x) if x is not False else None,
        "raw": lambda x: loose.Key.from_file(path, raw=x) if x is not True else None,
    }
    nones: list[Any] = ["no", "", 0, 1, [], np.array([True]), np.array([]), *NAS, np.ma.masked]
    for name, call in calls.items():
        call(True)
        call(False)
        for bad in nones:
            with pytest.raises(TypeError, match=f"`{name}` must be True or False; got "):
                call(bad)
    assert e.interval(simultaneous=np.True_).tolist() == e.interval(simultaneous=True).tolist()
    with pytest.raises(TypeError, match="`full` must be True or False; got int"):
        loose.compare(M, full=1)


def test_a_confidence_next_to_one_is_answered() -> None:
    near = 1 - 2.0**-53
    assert M.required_records(0.1, confidence=near) > M.required_records(0.1, confidence=1 - 1e-12)
    found = M.estimate(counts=[400, 300, 150, 150])
    assert found.contains(found.frequencies, confidence=near)
    assert (np.diff(found.interval(near), axis=1) >= np.diff(found.interval(), axis=1)).all()


def test_the_wheel_names_the_crates_in_it() -> None:
    import shutil
    import tomllib

    root = Path(__file__).parents[1]
    page = (root / "THIRD-PARTY-LICENSES").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w-]+) (\d[\w.+-]*) \(", page, re.MULTILINE))
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    assert listed <= {(crate["name"], crate["version"]) for crate in lock["package"]}
    assert {"blake3", "pyo3", "numpy", "rayon", "zeroize"} <= {name for name, _ in listed}
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert "THIRD-PARTY-LICENSES" in project["license-files"]
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not there to say which crates are linked")
    check = [sys.executable, str(root / "tools" / "licenses.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


JSON = '{"format": "bistochastic.matrix", "version": 1, "family": %s}'


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: bs.build("gemetric", size=3), "geometric"),
        (lambda: loose.build("geometric", size=3, epsilonn=1), "epsilon"),
        (lambda: loose.randomized_response(3, keeep=0.5), "keep"),
        (lambda: bs.tradeoff(3, families=["geometrik"]), "geometric"),
        (lambda: bs.strongest(3, records=9000, tolerance=0.1, family="geometrik"), "geometric"),
        (lambda: loose.uniform(2).estimate([0], method="mel"), "mle"),
        (lambda: loose.backend.derive(bs.Key.insecure(1), "row"), "rows"),
        (lambda: bs.Matrix.from_json(JSON % '"unifrm", "parameters": {"size": 3}'), "uniform"),
        (lambda: bs.Matrix.from_json(JSON % '"uniform", "parameters": {"siz": 3}'), "size"),
    ],
)
def test_a_near_name_is_asked_for(call: Callable[[], object], near: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"did you mean {near}\\?$"):
        call()
