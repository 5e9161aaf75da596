"""Bad input gets one sentence, and nothing else happens."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.wording import about

NAN, INF = math.nan, math.inf

# Types do not stop callers, so here they do not stop us.
loose: Any = bs
loose_survey: Any = sv


class Odd:
    """Looks like a rational number and is none."""

    def __init__(self, numerator: int, denominator: int) -> None:
        self.numerator, self.denominator = numerator, denominator


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: loose.uniform(0), ValueError, "`size` must be from 1 to 9007199254740992; got 0"),
    (lambda: loose.identity(2**53 + 1), ValueError, "got 9007199254740993"),
    (
        lambda: loose.randomized_response(3, epsilon=1, beta=0.5),
        ValueError,
        "exactly one of epsilon, beta, keep; got epsilon and beta",
    ),
    (lambda: loose.randomized_response(3, epsilon=-1), ValueError, "`epsilon` must be at least 0"),
    (lambda: loose.randomized_response(3, epsilon=NAN), ValueError, "got NaN"),
    (lambda: loose.randomized_response(3, beta=1.5), ValueError, "`beta` must be from 0 to 1"),
    (lambda: loose.randomized_response(3, beta=NAN), ValueError, "`beta` must be from 0 to 1"),
    (lambda: loose.randomized_response(3, keep=-0.1), ValueError, "`keep` must be from 0 to 1"),
    (lambda: loose.randomized_response(3, keep=NAN), ValueError, "`keep` must be from 0 to 1"),
    (
        lambda: loose.randomized_response(3, keep=Fraction(1, 2**63)),
        ValueError,
        "`keep` must have a denominator below 2^63",
    ),
    (lambda: loose.randomized_response(1, keep=0.5), ValueError, "be 1 where size is 1; got 0.5"),
    (lambda: loose.k_anonymous(5, k=6), ValueError, "`k` must be from 1 to 5; got 6"),
    (lambda: loose.blocks([3, 0]), ValueError, "got 0 at 1"),
    (lambda: loose.blocks([2**53, 1]), ValueError, "got 1 at 1"),
    (lambda: loose.permutation([0, 0]), ValueError, "got 0 again at 1"),
    (lambda: loose.permutation([0, 2]), ValueError, "got 2 at 1"),
    (lambda: loose.circulant([0.7, 0.5]), ValueError, "got a sum of 1.2, off by 2.0e-1"),
    (lambda: loose.circulant([0.5, 0.5 + 1e-8]), ValueError, "off by 1.0e-8"),
    (lambda: loose.circulant([NAN, 1.0]), ValueError, "got NaN at 0"),
    (lambda: loose.circulant([1.0, INF]), ValueError, "got inf at 1"),
    (lambda: loose.circulant([1.5, -0.5]), ValueError, "got -0.5 at 1"),
    (lambda: loose.circulant([]), ValueError, "got no numbers"),
    (lambda: loose.circulant([Fraction(1, 3), Fraction(1, 3)]), ValueError, "got a sum of 2"),
    (lambda: loose.circulant([1e308, 1e308]), ValueError, "`first_row` must hold non-negative"),
    (lambda: loose.circulant([Odd(1, 0), Odd(1, 0)]), TypeError, "`first_row`"),
    (lambda: loose.tridiagonal(Odd(1, 0), size=3), ValueError, "`alphas` must have a denominator"),
    (
        lambda: loose.tridiagonal([Fraction(1, 3), Fraction(1, (2**128 + 2) // 3)]),
        ValueError,
        "common denominator below 2^63",
    ),
    (lambda: loose.build("tridiagonal", alphas=[0.1], total=7), TypeError, "`total` must go with"),
    (lambda: loose.tridiagonal([0.5, 0.7]), ValueError, "got 0.7 at 1 after 0.5"),
    (lambda: loose.tridiagonal([0.5, NAN]), ValueError, "got NaN at 1 after 0.5"),
    (lambda: loose.tridiagonal([-0.1]), ValueError, "got -0.1 at 0"),
    (lambda: loose.tridiagonal(0.6, size=3), ValueError, "`alphas` must be non-negative"),
    (
        lambda: loose.tridiagonal([0.1, 0.1], size=5),
        ValueError,
        "`size` must be one more than the 2",
    ),
    (lambda: loose.tridiagonal(size=12, beta=0.6), ValueError, "must be at most 0.41128976"),
    (lambda: loose.reflected([1.0]), ValueError, "`kernel` must hold c_0 to c_r"),
    (lambda: loose.reflected([0.5, 0.5, 0.5]), ValueError, "a sum of 2, off by 1.0e0"),
    (lambda: loose.reflected([NAN, 1.0]), ValueError, "got NaN at 0"),
    (lambda: loose.geometric(5, temperature=-1), ValueError, "must be at least 0; got -1"),
    (lambda: loose.geometric(5, temperature=NAN), ValueError, "must be at least 0; got NaN"),
    (lambda: loose.geometric(5, epsilon=-1), ValueError, "`epsilon` must be at least 0; got -1"),
    (lambda: loose.geometric(5, epsilon=NAN), ValueError, "`epsilon` must be at least 0; got NaN"),
    (lambda: loose.gibbs([[0, -1], [1, 0]], beta=0.5), ValueError, "got -1 at (0, 1)"),
    (lambda: loose.gibbs([[0, NAN], [1, 0]], beta=0.5), ValueError, "got NaN at (0, 1)"),
    (lambda: loose.gibbs([[0, 1, 2], [1, 0, 1]], beta=0.5), ValueError, "square table"),
    (lambda: loose.gibbs([[0, 1], [1, 0]], temperature=0), ValueError, "above 0; got 0"),
    (lambda: loose.gibbs([[INF, INF], [1, 0]], beta=0.5), ValueError, "no positive diagonal"),
    (lambda: loose.gibbs([[0, INF], [INF, 0]], beta=0.5), ValueError, "must be at most 0 for"),
    (lambda: loose.dense([[0.5, 0.5]]), ValueError, "`array` must be a square table"),
    (lambda: loose.dense([[0.5, 0.5], [0.5, 0.6]]), ValueError, "in row 1, off by 1.0e-1"),
    (lambda: loose.dense([[1, 0], [1, 0]]), ValueError, "2 in column 0, off by 1"),
    (lambda: loose.dense([[1, 2], [2, 2]]), ValueError, "4 in row 1, off by 1"),
    (lambda: loose.dense([[2, -1], [-1, 2]]), ValueError, "got -1 at (0, 1)"),
    (lambda: loose.dense([[NAN, 1], [1, 0]]), ValueError, "got NaN at (0, 0)"),
    (lambda: loose.dense([[1.0, 1e-10], [0.0, 1.0]]), ValueError, "an entry on none at (0, 1)"),
    (lambda: loose.balance([[1, 1], [0, 1]]), ValueError, "an entry on none at (0, 1)"),
    (lambda: loose.balance([[1, 1], [0, 0]]), ValueError, "no positive diagonal"),
    (lambda: loose.balance([[1, INF], [1, 1]]), ValueError, "got inf at (0, 1)"),
    (lambda: loose.t_transform(3, 1, 1, keep=0.5), ValueError, "`j` must differ from i"),
    (lambda: loose.t_transform(3, 0, 3, keep=0.5), ValueError, "`j` must be from 0 to 2"),
    (lambda: loose.t_transform(3, 0, 1, keep=2), ValueError, "`keep` must be from 0 to 1"),
    (lambda: loose.kron(loose.uniform(2**30), loose.uniform(2**30)), ValueError, "2^53 cells"),
    (lambda: loose.mix([loose.uniform(3)], weights=[0.5]), ValueError, "off by -5.0e-1"),
    (lambda: loose.mix([loose.uniform(3)], weights=[Fraction(1, 2)]), ValueError, "a sum of 1/2"),
    (lambda: loose.mix([loose.uniform(3)] * 2, weights=[1, 1]), ValueError, "a sum of 2/1"),
    (lambda: loose.mix([loose.uniform(3)] * 2, weights=[1.0]), ValueError, "each of the 2"),
    (
        lambda: loose.mix([loose.uniform(3), loose.uniform(4)], weights=[0.5, 0.5]),
        ValueError,
        "`matrices` must have one size, 3 as the first; got 4",
    ),
    (lambda: loose.uniform(3) @ loose.uniform(4), ValueError, "one size, 3 as the first; got 4"),
    (lambda: loose.uniform(3) @ np.eye(3), TypeError, "`@` must join two matrices"),
    (lambda: loose.build("uniform", size=3, k=2), TypeError, "`k` must be a parameter of uniform"),
    (lambda: loose.uniform(3).row(3), IndexError, "be an integer from 0 to 2; got 3"),
    (
        lambda: loose.uniform(3).exact_row(-1),
        IndexError,
        "be an integer from 0 to 2; got -1",
    ),
    (lambda: loose.uniform(3)[0, 3], IndexError, "be an integer from 0 to 2; got 3"),
    (lambda: loose.uniform(10**7).to_dense(), ValueError, "of 800000000000000 bytes"),
    (lambda: loose.uniform(2**50).row(0), ValueError, "of 9007199254740992 bytes"),
    (lambda: loose.entropy_rate([[NAN, 1], [0, 0]]), ValueError, "got NaN at (0, 0)"),
    (lambda: loose.entropy_rate([[1, 0], [2, -1]]), ValueError, "got -1 at (1, 1)"),
    (
        lambda: loose.entropy_rate([[1, 0], [1, 0]]),
        ValueError,
        "sum of 2 in column 0, off by 1.0e0",
    ),
    (
        lambda: loose.entropy_rate([[1.5, 0], [0, 1]]),
        ValueError,
        "sum of 1.5 in row 0, off by 5.0e-1",
    ),
]


BAD += [
    (
        lambda: bs.blocks([2**25, 2**26]).decompose(),
        ValueError,
        "sum to at most 67108864 to be decomposed; got 100663296",
    ),
    (
        lambda: loose_survey.Categorical("x", ["a", "b"], "k_anonymous", epsilon=2),
        ValueError,
        "column `x`: `epsilon` must be inf for k_anonymous; got 2",
    ),
]


@pytest.mark.parametrize("i", range(len(BAD)))
def test_bad_input_gets_one_sentence(i: int) -> None:
    call, error, text = BAD[i]
    with pytest.raises(error, match=re.escape(text)) as caught:
        call()
    sentence = str(caught.value)
    assert re.fullmatch(r"(column `x`: )?`[\w@.\[\]]+` must .*; got .*[^.]", sentence), sentence


def test_what_looks_extreme_and_is_fine() -> None:
    for epsilon in (0, 800, INF):
        assert bs.randomized_response(12, epsilon=epsilon).epsilon <= epsilon
    for one in (
        bs.identity(1),
        bs.uniform(1),
        bs.permutation([0]),
        bs.blocks([1]),
        bs.k_anonymous(1, k=1),
        bs.randomized_response(1, epsilon=2),
        bs.randomized_response(1, beta=0.3),
        bs.circulant([1.0]),
        bs.tridiagonal([]),
        bs.tridiagonal(0.3, size=1),
        bs.tridiagonal(size=1, beta=0.7),
    ):
        assert (one.size, one.entropy_rate, one.beta, one.epsilon) == (1, 0.0, 1.0, 0.0)
        assert one.to_dense().tolist() == [[1.0]]
        assert one.is_ergodic


def test_a_request_given_as_a_fraction_is_met() -> None:
    for n in range(1, 40):
        want = Fraction(n, 41)
        assert Fraction(bs.randomized_response(12, beta=want).beta) >= want
        assert Fraction(bs.randomized_response(12, epsilon=want).epsilon) <= want


def test_every_double_is_the_nearest() -> None:
    # Just beside the middle of two doubles, where rounding twice goes wrong.
    f = Fraction(10127791349648701, 3304496702185360803)
    m = bs.circulant([f, 1 - f])
    assert m[0, 0] == m.row(0)[0] == m.to_dense()[0, 0] == float(f)


def test_sums_off_by_less_than_the_tolerance_are_scaled() -> None:
    m = bs.circulant([0.5, 0.5 + 5e-10])
    assert sum(m.exact_row(0)) == 1
    assert m.requested["sum"] == pytest.approx(1 + 5e-10, abs=1e-16)
    assert 0 < m.requested["moved"] < 1e-9


def test_a_positive_entry_is_never_lost() -> None:
    m = bs.circulant([1.0, 1e-300, 0.0, 1e-17])
    unit = Fraction(1, 2**53)
    assert m.exact_row(0)[1:] == [unit, 0, unit]
    assert bs.tridiagonal([1e-300, 0.0]).parameters["alphas"] == [1, 0]
    assert bs.tridiagonal([1.0, 1e-300]).parameters["alphas"] == [2**53 - 1, 1]
    assert bs.tridiagonal(0.49999999999999994, size=5)[1, 1] > 0
    assert bs.tridiagonal([0.3, 0.7])[1, 1] > 0 == bs.tridiagonal([0.25, 0.75])[1, 1]
    assert bs.tridiagonal([0.3] * 4) == bs.tridiagonal(0.3, size=5)


def test_entries_that_do_not_fit_in_memory_are_refused_in_a_sentence() -> None:
    m = bs.randomized_response(2**53, beta=0.3) @ bs.k_anonymous(2**53, k=7)
    # Bits of so large a product are those of its factors, which needs no memory.
    assert m.beta == 0.3
    assert not m.is_exact
    assert repr(m).endswith("bound>")
    with pytest.raises(
        bs.errors.OutOfMemoryError, match=r"^`memory` must hold \d+ bytes more; got"
    ):
        m[3, 4]


def test_what_is_out_of_reach_says_what_is_not() -> None:
    with pytest.raises(bs.errors.OutOfReachError, match=r"^`beta` must be at most 0\.") as caught:
        bs.tridiagonal(size=12, beta=0.6)
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.most is not None
    assert error.least is None
    assert bs.tridiagonal(size=12, beta=error.most).beta == error.most
    with pytest.raises(bs.errors.OutOfReachError):
        bs.tridiagonal(size=12, beta=math.nextafter(error.most, 1))
    # Reports that are not allowed keep the bits down.
    inf = math.inf
    with pytest.raises(bs.errors.OutOfReachError, match="for the reports that `cost`") as caught:
        bs.gibbs([[0.0, inf], [inf, 0.0]], beta=0.5)
    assert caught.value.most == 0
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is bs.errors.OutOfReachError
        assert (str(twin), twin.most, twin.least) == (str(error), error.most, None)
    both = bs.errors.OutOfReachError("words", most=2.0, least=1.0)
    assert pickle.loads(pickle.dumps(both)).least == 1.0


def test_a_tradeoff_reads_the_number_and_not_the_sentence() -> None:
    def own(size: int, beta: float) -> bs.Matrix:
        raise bs.errors.OutOfReachError("no more", most=0.25)

    def silent(size: int, beta: float) -> bs.Matrix:
        raise bs.errors.OutOfReachError("nobody knows")

    (point,) = bs.tradeoff(5, families={"own": own}, betas=[0.5])
    assert (point.most, point.note, point.beta) == (0.25, "no more", None)
    with pytest.raises(bs.errors.OutOfReachError, match="nobody"):
        bs.tradeoff(5, families={"silent": silent}, betas=[0.5])


def twins(error: Exception) -> list[Any]:
    return [copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))]


def test_a_refusal_has_its_sentence_in_fields() -> None:
    made = loose.errors.Refused("beta", "be from 0 to 1", 2, column=["sex", "a`b"], row=7)
    assert str(made) == "columns `sex`, `a\\x60b`: `beta` must be from 0 to 1; got 2"
    fields = (made.name, made.must, made.got, made.column, made.row)
    assert fields == ("beta", "be from 0 to 1", "2", ("sex", "a`b"), 7)
    assert repr(made) == (
        "Refused(name='beta', must='be from 0 to 1', got='2', column=('sex', 'a`b'), row=7)"
    )
    typed = bs.errors.RefusedType("", "hold numbers", "str", column="income")
    assert str(typed) == "column `income`: must hold numbers; got str"
    assert isinstance(typed, TypeError)
    own = bs.errors.Refused("no form at all", column="income")
    assert (str(own), own.name, own.must) == ("column `income`: no form at all", "", "")
    for error in (made, typed, own):
        for twin in twins(error):
            assert type(twin) is type(error)
            assert (str(twin), repr(twin), vars(twin)) == (str(error), repr(error), vars(error))
    # What is changed later is said, and kept by copies.
    made.must, made.column = "be from 0 to 1 in `original`", ()
    for twin in [made, *twins(made)]:
        assert str(twin) == "`beta` must be from 0 to 1 in `original`; got 2"


def test_the_core_refuses_with_fields() -> None:
    pickled = ("key", "be passed as a file", "an attempt to pickle or copy it")
    calls: list[tuple[Callable[[], Any], str, tuple[str, str, str]]] = [
        (lambda: loose.uniform(0), "Refused", ("size", "be from 1 to 9007199254740992", "0")),
        (lambda: loose.uniform(3.0), "RefusedType", ("size", "be an integer", "a float")),
        (lambda: pickle.dumps(bs.Key.generate()), "RefusedType", pickled),
    ]
    for call, kind, fields in calls:
        with pytest.raises(getattr(bs.errors, kind)) as caught:
            call()
        error: Any = caught.value
        assert type(error) is getattr(bs.errors, kind)
        assert (error.name, error.must, error.got) == fields
        assert str(error) == "`{}` must {}; got {}".format(*fields)
    with pytest.raises(bs.errors.OutOfMemoryError) as caught:
        bs.uniform(10**9).to_dense()
    error = caught.value
    assert isinstance(error, MemoryError)
    assert isinstance(error, bs.errors.Refused)
    assert (error.name, error.must[:6]) == ("to_dense", "fit in")
    assert [str(twin) for twin in twins(error)] == [str(error)] * 3


def test_the_classes_of_errors_are_refusals() -> None:
    for name in ("GuaranteeError", "OutOfReachError", "SingularMatrixError",
                 "InvertibleReleaseError", "OutOfMemoryError"):  # fmt: skip
        assert issubclass(getattr(bs.errors, name), bs.errors.Refused)
    with pytest.raises(bs.errors.GuaranteeError) as caught:
        bs.identity(3).require(beta=0.5)
    assert (caught.value.name, caught.value.must) == ("beta", "be at least 0.5")
    with pytest.raises(bs.errors.SingularMatrixError) as singular:
        bs.k_anonymous(6, k=3).solve([3, 3, 3, 1, 1, 1])
    assert singular.value.name == "solve"


def test_a_refusal_names_the_first_column_that_is_known() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    with pytest.raises(bs.errors.Refused) as caught:
        sv.Plan([sex], name="survey").protect({"sex": ["F", "M", "f"]})
    error = caught.value
    assert (error.name, error.column, error.row) == ("", ("sex",), 2)
    assert str(error).startswith("column `sex`: must hold declared categories only; got 1 other")
    with pytest.raises(bs.errors.Refused) as inner, about(["sex"]), about(["age"]):
        loose.uniform(0)
    assert inner.value.column == ("age",)
    match = r"^columns `sex`, `age`: `to_dense` must"
    with pytest.raises(bs.errors.OutOfMemoryError, match=match), about(["sex", "age"]):
        bs.uniform(10**9).to_dense()
