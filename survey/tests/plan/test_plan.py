"""Plans: attributes, definitions, files, promises; no data yet."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.errors import GuaranteeError
from plan_schema import schema

loose: Any = sv
jsonschema = pytest.importorskip("jsonschema")

RACES = ["A", "B", "C"]


def everything() -> sv.Plan:
    """One attribute of each kind and option."""
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            sv.Joint(
                ("race", "year"),
                [RACES, [1, 2, 2**60]],
                "randomized_response",
                beta=0.7,
                impossible=[("C", 2), ("A", 1)],
            ),
            sv.Categorical(
                "votes",
                [True, False],
                groups=("region", {"n": bs.uniform(3), "s": bs.k_anonymous(3, k=2)}),
                missing="category",
            ),
            sv.Categorical(
                "class",
                range(4),
                matrix=bs.mix(
                    [bs.kron(bs.uniform(2), bs.geometric(2, beta=0.3)), bs.dense([[0.25] * 4] * 4)],
                    weights=[Fraction(1, 3), Fraction(2, 3)],
                ),
                categories_from_data=True,
            ),
            sv.Numeric("income", "k_anonymous", k=5),
            sv.Numeric("age", "uniform", how="average", order=None),
        ],
        name="survey",
        keep=["region"],
        drop=["name"],
    )


@functools.cache
def judge() -> Any:
    """What holds JSON against the schema, which is itself checked once."""
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("records", [None, 1000])
def test_a_plan_goes_through_json_and_toml(records: int | None) -> None:
    plan = everything() if records is None else everything().for_records(records)
    for again in (sv.Plan.from_json(plan.to_json()), sv.Plan.from_toml(plan.to_toml())):
        assert again == plan
        assert hash(again) == hash(plan)
        assert again.to_json() == plan.to_json()
        assert again.digest == plan.digest
        for before, after in zip(plan.attributes, again.attributes, strict=True):
            if isinstance(before, sv.Numeric) and before.matrix is None:
                continue
            matrices = [x.matrix for x in (before, after)]
            if matrices[0] is not None and matrices[1] is not None:
                # What was asked for is beside what came of it.
                assert matrices[0].requested == matrices[1].requested
    assert pickle.loads(pickle.dumps(plan)) == plan
    judge().validate(json.loads(plan.to_json()))


def test_large_numbers_are_texts_in_json() -> None:
    plan = sv.Plan([sv.Categorical("x", [2**60, -(2**53), 5], "randomized_response", beta=0.5)])
    data = json.loads(plan.to_json())
    labels = data["attributes"][0]["categories"]
    assert labels == [{"integer": str(2**60)}, -(2**53), 5]

    def numbers(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [x for item in value.values() for x in numbers(item)]
        if isinstance(value, list):
            return [x for item in value for x in numbers(item)]
        return [value]

    big = sv.Plan([sv.Joint(("a", "b"), [range(2**10)] * 2, "randomized_response", epsilon=1)])
    for each in (plan, big, everything().for_records(10**6)):
        for number in numbers(json.loads(each.to_json())):
            assert not isinstance(number, int) or abs(number) <= 2**53
        assert sv.Plan.from_json(each.to_json()) == each


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda d: d.update(colour=1), "`colour` must be one of version, attributes, name"),
        (
            lambda d: d["attributes"][0]["matrix"].update(x=1),
            r"column `sex`: `attributes\[0\].matrix.x` must be one of format, version, family",
        ),
        (
            lambda d: d["attributes"][2]["groups"]["matrices"][1].update(y=1),
            r"`attributes\[2\].groups.matrices\[1\].y` must be one of",
        ),
        (
            lambda d: d.update(version=2),
            "`version` must be 1, the version this package reads; got 2",
        ),
        (lambda d: d.pop("version"), "`version` must be given; got nothing"),
        (
            lambda d: d["attributes"][0].update(kind="ordinal"),
            r"`attributes\[0\].kind` must be one",
        ),
        (
            lambda d: d["attributes"][1].update(impossible=[["D", 1]]),
            "declared categories of `race`",
        ),
        (lambda d: d.update(keep=["sex"]), "column `sex`: must be named once"),
        (lambda d: d.update(keep=[]), "`groups` must be by a column that the plan keeps"),
        (lambda d: d.update(attributes=[]), "`attributes` must hold at least one"),
    ],
)
def test_what_is_unknown_is_refused_with_its_path(change: Any, path: str) -> None:
    data = json.loads(everything().to_json())
    change(data)
    with pytest.raises(ValueError, match=path):
        sv.Plan.from_json(json.dumps(data))
    semantic = ("declared categories", "named once", "groups", "a fraction")
    if not any(word in path for word in semantic):
        with pytest.raises(jsonschema.ValidationError):
            judge().validate(data)


def test_a_matrix_stands_as_its_own_file_does() -> None:
    shared = bs.randomized_response(2, beta=0.5)
    deep = often = shared
    for _ in range(15):
        deep = deep @ bs.uniform(2)
    for _ in range(9):
        # 1023 parts, if each were written as often as it is used.
        often = often @ often
    for law in (deep, often, bs.kron(shared, shared), bs.geometric(4, beta=0.3)):
        plan = sv.Plan([sv.Categorical("x", range(law.size), matrix=law)])
        data = json.loads(plan.to_json())
        assert data["attributes"][0]["matrix"] == json.loads(law.to_json())
        judge().validate(data)
        assert sv.Plan.from_json(plan.to_json()) == plan
        assert sv.Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"version": 1, "version": 1}', '{"version": NaN}', "9" * 5000, "[" * 10**5],
)
def test_what_is_no_json_is_refused_in_our_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"^`(text|version)` must (be|hold) ") as refused:
        sv.Plan.from_json(text)
    assert "limit" not in str(refused.value)
    assert "delimiter" not in str(refused.value)


def test_what_is_no_toml_is_refused_in_our_words() -> None:
    with pytest.raises(ValueError, match="`text` must be TOML; got something else in line 2"):
        sv.Plan.from_toml("version = 1\nname = \n")
    for read, path in ((sv.Plan.from_toml, "a/plan.toml"), (sv.Plan.from_json, "plan.json")):
        with pytest.raises(ValueError, match="`text` must be the text of a plan; got a path: "):
            read(path)
    with pytest.raises(TypeError, match="`text` must be a string; got bytes"):
        loose.Plan.from_toml(b"")


def test_a_plan_by_hand_needs_what_is_asked_for_alone() -> None:
    text = """
        version = 1
        name = "survey"
        keep = "*"
        [[attributes]]
        kind = "joint"
        columns = ["a", "b"]
        categories = [["x", "y"], [false, true]]
        impossible = [["x", true]]
        matrix = {family = "randomized_response", requested = {epsilon = 2}}
        [[attributes]]
        kind = "numeric"
        column = "income"
        family = "k_anonymous"
        requested = {k = 3}
    """
    plan = sv.Plan.from_toml(text)
    law = bs.randomized_response(3, epsilon=2)
    joint = sv.Joint(("a", "b"), [["x", "y"], [False, True]], matrix=law, impossible=[("x", True)])
    numeric = sv.Numeric("income", "k_anonymous", k=3)
    assert plan == sv.Plan([joint, numeric], name="survey", keep="*")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(
    names=st.lists(texts, min_size=2, max_size=3, unique=True),
    labels=st.one_of(
        st.lists(texts, min_size=1, max_size=5, unique=True),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5, unique=True),
        st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
    ),
    missing=st.sampled_from(["raise", "keep", "category"]),
    epsilon=st.floats(0, 30),
)
def test_any_names_and_labels_go_through_files(
    names: list[str], labels: list[Any], missing: Any, epsilon: float
) -> None:
    attribute = sv.Categorical(
        names[0], labels, "randomized_response", epsilon=epsilon, missing=missing
    )
    plan = sv.Plan([attribute], name=names[1], keep=names[2:])
    assert sv.Plan.from_json(plan.to_json()) == plan
    assert sv.Plan.from_toml(plan.to_toml()) == plan
    judge().validate(json.loads(plan.to_json()))


def test_plans_are_equal_by_value_and_kind_of_label() -> None:
    def one(labels: Any) -> sv.Plan:
        return sv.Plan([sv.Categorical("x", labels, "uniform")])

    assert one(["a", "b"]) == one(("a", "b"))
    assert one(["a", "b"]) != one(["b", "a"])
    assert one([False, True]) != one([0, 1])
    assert one([0, 1]) != one(["0", "1"])
    with pytest.raises(AttributeError):
        one([0, 1]).name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        loose.Categorical("x", [0, 1], "uniform").matrix = None


def test_definitions() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    joint = sv.Joint(("a", "b"), [[0, 1], [0, 1]], "uniform")
    income = sv.Numeric("income", "uniform")
    assert [sv.Plan([a]).definition for a in (sex, income, joint)] == [1, 1, 3]
    assert sv.Plan([sex, joint]).definition == 2


def betas() -> Any:
    return st.lists(
        st.tuples(st.integers(2, 9), st.floats(0, 1)).map(
            lambda pair: bs.randomized_response(pair[0], beta=pair[1])
        ),
        min_size=2,
        max_size=6,
    )


@given(matrices=betas())
def test_definition_2_is_definition_3_for_the_product(matrices: list[bs.Matrix]) -> None:
    apart = sv.Plan(
        [sv.Categorical(f"c{i}", range(m.size), matrix=m) for i, m in enumerate(matrices)]
    )
    joint = sv.Plan(
        [
            sv.Joint(
                [f"c{i}" for i in range(len(matrices))],
                [range(m.size) for m in matrices],
                matrix=bs.kron(*matrices),
            )
        ]
    )
    assert (apart.definition, joint.definition) == (2, 3)
    assert apart.beta == pytest.approx(joint.beta, abs=1e-12)
    assert apart.bits == pytest.approx(joint.bits, abs=1e-11)
    assert apart.max_bits == pytest.approx(joint.max_bits, rel=1e-14)
    assert apart.epsilon == pytest.approx(joint.epsilon, rel=1e-12)
    # Never above the truth, never below the smallest, and 1 for perfect secrecy.
    assert apart.beta >= apart.min_beta == min(m.beta for m in matrices)
    assert apart.beta <= max(m.beta for m in matrices)


@given(matrices=betas())
def test_sums_are_rounded_so_that_privacy_is_never_overstated(matrices: list[bs.Matrix]) -> None:
    plan = sv.Plan(
        [sv.Categorical(f"c{i}", range(m.size), matrix=m) for i, m in enumerate(matrices)]
    )
    assert Fraction(plan.bits) <= sum(Fraction(m.entropy_rate) for m in matrices)
    if math.isfinite(plan.epsilon):
        assert Fraction(plan.epsilon) >= sum(Fraction(m.epsilon) for m in matrices)


def test_perfect_secrecy_is_one() -> None:
    sizes = [3, 7, 11, 13]
    plan = sv.Plan([sv.Categorical(f"c{n}", range(n), "uniform") for n in sizes])
    assert plan.beta == plan.min_beta == 1.0
    plan.require(beta=1, min_beta=1, epsilon=0)


@given(beta=st.floats(0.01, 0.99), sizes=st.lists(st.integers(2, 40), min_size=1, max_size=5))
def test_require_on_the_boundary(beta: float, sizes: list[int]) -> None:
    made = [
        sv.Categorical(f"c{i}", range(n), "randomized_response", beta=beta)
        for i, n in enumerate(sizes)
    ]
    plan = sv.Plan(made)
    # What was asked of each attribute is kept by all together.
    plan.require(beta=beta, min_beta=beta)
    plan.require(beta=plan.beta, min_beta=plan.min_beta, epsilon=plan.epsilon)
    with pytest.raises(GuaranteeError, match=r"`beta` must be at least .* over all attributes"):
        plan.require(beta=math.nextafter(plan.beta, 2))
    with pytest.raises(GuaranteeError, match=r"column `c[0-9]`: `beta` must be at least"):
        plan.require(min_beta=math.nextafter(plan.min_beta, 2))
    with pytest.raises(GuaranteeError, match=r"`epsilon` must be at most .* for a record"):
        plan.require(epsilon=math.nextafter(plan.epsilon, 0))


def test_require_names_what_fails() -> None:
    plan = sv.Plan(
        [
            sv.Categorical("good", [0, 1], "randomized_response", beta=0.9),
            sv.Categorical("bad", [0, 1], "randomized_response", beta=0.2),
            sv.Categorical("kept", [0, 1], "uniform", missing="keep"),
        ]
    )
    with pytest.raises(
        GuaranteeError, match=r"^column `bad`: `beta` must be at least 0.5; got 0.2"
    ):
        plan.require(min_beta=0.5)
    with pytest.raises(GuaranteeError, match="in column `bad`"):
        plan.require(beta=0.99)
    with pytest.raises(GuaranteeError, match="column `kept`: who is missing is published"):
        plan.require(epsilon=100)
    with pytest.raises(ValueError, match="must be given one of beta, min_beta, epsilon, pooled"):
        plan.require()
    for wrong in (math.nan, 2.0):
        with pytest.raises(GuaranteeError):
            plan.require(beta=wrong)
    with pytest.raises(TypeError, match="`beta` must be a number; got str"):
        plan.require(beta="0.5")  # type: ignore[arg-type]


def test_numeric_attributes_wait_for_the_number_of_records() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    plan = sv.Plan([sex, sv.Numeric("income", "k_anonymous", k=5)])
    assert not plan.has_records
    assert plan.numeric is None
    assert plan.beta == plan.min_beta == plan.by_attribute["sex"].beta
    assert repr(plan) == "<Plan `plan`, 2 attributes: beta 0.6 of categories, least 0.6>"
    assert "beta depends on the number of records" in str(plan.preview())
    with pytest.raises(GuaranteeError, match="column `income`: `records` must be known"):
        plan.require(beta=0.1)
    bound = plan.for_records(1000)
    assert bound.has_records
    assert bound.categorical is not None
    assert bound.numeric is not None
    assert bound.numeric.max_bits == pytest.approx(math.log2(1000))
    assert bound.numeric.bits == pytest.approx(math.log2(5))
    assert bound.bits == pytest.approx(0.6 + math.log2(5))
    assert bound.beta == pytest.approx((0.6 + math.log2(5)) / (1 + math.log2(1000)))
    assert bound.epsilon == plan.epsilon == math.inf
    assert bound.reasons == ("column `income`: the set of values is published",)
    assert str(plan.preview(1000)).startswith(str(bound.preview()).partition("\n\n")[0])
    with pytest.raises(ValueError, match="column `income`: `records` must be known"):
        _ = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)]).beta
    with pytest.raises(ValueError, match="column `income`: "):
        plan.for_records(3)


def test_averages_count_no_bits() -> None:
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=5, how="average")]).for_records(100)
    each = plan.by_attribute["income"]
    assert each.deterministic
    assert (each.bits, each.beta) == (0.0, 0.0)
    assert plan.bits == 0
    assert plan.max_bits == pytest.approx(math.log2(100))
    assert "no noise" in str(plan.preview())


def test_groups_count_as_the_weakest() -> None:
    strong, weak = bs.randomized_response(4, beta=0.9), bs.randomized_response(4, beta=0.3)
    attribute = sv.Categorical("x", range(4), groups=("region", {"n": strong, "s": weak}))
    plan = sv.Plan([attribute], keep=["region"])
    assert plan.beta == weak.beta
    assert plan.epsilon == weak.epsilon
    assert sv.Plan([attribute], keep="*").beta == weak.beta
    with pytest.raises(ValueError, match="must be by a column that the plan keeps; got `region`"):
        sv.Plan([attribute])
    with pytest.raises(ValueError, match="`groups` must have size 4 for 's'; got 5"):
        sv.Categorical("x", range(4), groups=("region", {"n": strong, "s": bs.uniform(5)}))


def test_the_epsilon_of_groups_is_the_largest_and_not_that_of_the_smallest_beta() -> None:
    # Most reports are true under the first; under the second some truths are all but excluded.
    true, far = bs.randomized_response(9, beta=0.5), bs.geometric(9, beta=0.6)
    assert true.beta < far.beta
    assert true.epsilon < far.epsilon - 3
    attribute = sv.Categorical("x", range(9), groups=("region", {"n": true, "s": far}))
    plan = sv.Plan([attribute], keep=["region"])
    assert (plan.beta, plan.epsilon) == (true.beta, far.epsilon)
    assert plan.by_attribute["x"].epsilon == far.epsilon
    certificate = plan.protect({"x": [1, 2], "region": ["n", "s"]}).certificate
    assert certificate.to_dict()["epsilon"] == far.epsilon
    with pytest.raises(GuaranteeError, match="`epsilon` must be at most"):
        plan.require(epsilon=true.epsilon)


def test_a_joint_attribute_of_a_million_cells_costs_nothing() -> None:
    joint = sv.Joint(("a", "b"), [range(1000), range(1000)], "randomized_response", beta=0.6)
    assert joint.size == 10**6
    assert sv.Plan([joint]).beta >= 0.6


def test_impossible_cells_leave_one_law_over_the_others() -> None:
    axes = [["M", "F"], ["no", "yes"]]
    joint = sv.Joint(("a", "b"), axes, "randomized_response", beta=0.5, impossible=[("M", "yes")])
    plan = sv.Plan([joint])
    assert joint.size == 3
    assert plan.max_bits == pytest.approx(math.log2(3))
    with pytest.raises(ValueError, match="got a product of matrices"):
        sv.Joint(("a", "b"), [[0, 1], range(3)], matrix=bs.kron(bs.uniform(5), bs.uniform(1)),
                 impossible=[(0, 0)])  # fmt: skip
    mixed = bs.mix([bs.kron(bs.uniform(5), bs.uniform(1)), bs.uniform(5)], weights=[0.5, 0.5])
    with pytest.raises(ValueError, match="got a product of matrices"):
        sv.Joint(("a", "b"), [[0, 1], range(3)], matrix=mixed, impossible=[(0, 0)])
    for cells, match in (
        ([("M", "maybe")], "declared categories of `b`; got an undeclared one at position 0"),
        ([("M",)], "cells of 2 categories"),
        ([("M", "no"), ("M", "no")], "distinct"),
        ([(a, b) for a in axes[0] for b in axes[1]], "leave at least one cell"),
    ):
        with pytest.raises(ValueError, match=match):
            sv.Joint(("a", "b"), axes, "uniform", impossible=cells)
    for law in (bs.blocks([2, 1]), bs.dense([[2, 1, 1], [1, 2, 1], [1, 1, 2]])):
        sv.Joint(("a", "b"), axes, matrix=law, impossible=[("M", "yes")])


class _Mute(str):
    def __str__(self) -> str:
        raise ArithmeticError


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: loose.Categorical("x", [], "uniform"), "column `x`: .* at least one category"),
        (lambda: loose.Categorical("x", ["a", 1], "uniform"), "all of one kind; got int and str"),
        (lambda: loose.Categorical("x", [1.5], "uniform"), "all of one kind; got float"),
        (lambda: loose.Categorical("x", [1, 1], "uniform"), "distinct; got 1 twice"),
        (lambda: loose.Categorical("x", [2**63], "uniform"), "below 2\\^63"),
        (lambda: loose.Categorical("x", ["a\0"], "uniform"), "U\\+0000"),
        (lambda: loose.Categorical("x", ["\ud800"], "uniform"), "surrogate"),
        (
            lambda: loose.Categorical("x", [0, 1]),
            "must be given by one of family, matrix and groups; got none",
        ),
        (lambda: loose.Categorical("x", [0, 1], matrix=bs.uniform(3)), "must have size 2; got 3"),
        (
            lambda: loose.Categorical("x", [0, 1], "blocks", sizes=[3]),
            "`matrix` must have size 2; got 3",
        ),
        (
            lambda: loose.Categorical("x", [0], "uniform", missing="drop"),
            "`missing` must be one of",
        ),
        (lambda: loose.Joint(("a", "b"), [[0]], "uniform"), "for each of 2 columns; got 1"),
        (
            lambda: loose.Joint(tuple("abcdef"), [range(1000)] * 6, "uniform"),
            "at most 2\\^53 cells",
        ),
        (lambda: loose.Numeric("x"), "must be given by one of family and matrix; got none"),
        (lambda: loose.Numeric(_Mute("x")), "column `x`: .* one of family and matrix; got none"),
        (lambda: loose.Numeric("x", "k_anonymous", beta=math.nan), "column `x`: .* to 1; got NaN"),
        (
            lambda: loose.Numeric("x", "k_anonymous", k=2, beta=0.5),
            "column `x`: .*exactly one of k, beta, share; got k",
        ),
        (lambda: loose.Plan([]), "at least one"),
        (
            lambda: loose.Plan([loose.Numeric("x", "uniform")], drop=["x"]),
            "column `x`: must be named once; got an attribute and `drop`",
        ),
        (lambda: loose.Plan([loose.Numeric("x", "uniform")] * 2), "got an attribute twice"),
    ],
)
def test_what_makes_no_plan_is_refused(make: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        make()
    assert not str(refused.value).endswith(".")


def test_a_beta_out_of_reach_is_named_with_its_column() -> None:
    match = r"^column `x`: `beta` must be at most"
    with pytest.raises(bs.errors.OutOfReachError, match=match) as refused:
        sv.Categorical("x", range(12), "tridiagonal", beta=0.6)
    assert refused.value.most is not None


def test_a_plan_alone_imports_no_frame_library() -> None:
    """A table of lists is read by pyarrow, which looks for pandas."""
    code = (
        "import bistochastic_survey as sv, sys\n"
        "def loaded(): print(sorted({m.split('.')[0] for m in sys.modules}))\n"
        "plan = sv.Plan([sv.Categorical('x', [0, 1], 'randomized_response', beta=0.5)])\n"
        "plan.to_json(); plan.to_toml(); str(plan.preview()); loaded()\n"
        "release = sv.Release({'x': [0, 1]}, plan)\n"
        "release.estimate('x'); release.count({'x': 1}); plan.protect({'x': [0, 1]}); loaded()"
    )
    before, after = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for heavy in ("narwhals", "polars", "duckdb", "scipy", "matplotlib"):
        assert f"'{heavy}'" not in after
    assert not any(f"'{heavy}'" in before for heavy in ("pandas", "pyarrow"))


def test_one_level_is_said_to_hide_nothing(tmp_path: Path) -> None:
    one = sv.Categorical("country", ["AT"], "randomized_response", beta=0.6)
    two = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    note = "column `country`: one category: there is nothing to hide, and beta is 1"
    for attributes in ([one], [one, two]):
        plan = sv.Plan(attributes)
        table = {"country": ["AT"] * 3, "sex": ["F"] * 3}
        release = plan.protect({name: table[name] for name in plan.by_attribute})
        certificate = release.certificate
        assert note in str(plan.preview())
        assert certificate.warnings[0].startswith(note)
        # The number itself is that of perfect secrecy.
        assert plan.by_attribute["country"].beta == 1.0
        assert plan.by_attribute["country"].max_bits == 0.0
    assert "one category" not in str(sv.Plan([two]).preview())
    numbers = sv.Plan([sv.Numeric("income", "uniform")])
    assert "1 (one record)" in str(numbers.preview(1))


def test_replace_makes_the_same_plan_with_another_field() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6, unit="home")
    plan = sv.Plan(
        [sex], name="one", keep=["age"], drop=["home"], requirement={"min_beta": 0.5},
        column_labels={"sex": "Sex"}, value_labels={"sex": {"F": "female"}}, id_type="integer",
    )  # fmt: skip
    other = dataclasses.replace(plan, name="two")
    assert other.name == "two"
    assert dataclasses.replace(other, name="one") == plan
    assert hash(dataclasses.replace(other, name="one")) == hash(plan)
    assert dataclasses.replace(plan, requirement=None).requirement == {}
    for each in (other, pickle.loads(pickle.dumps(other)), copy.deepcopy(other)):
        assert (each.requirement, each.units) == ({"min_beta": 0.5}, ("home",))
        assert each.value_labels == {"sex": {"F": "female"}}


def test_the_nearest_name_is_suggested() -> None:
    given: Any = {"family": "randomized_response", "beta": 0.6}
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], **given)])
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("sex", lambda: plan.column("sx")),
        ("sex", lambda: sv.Plan(plan.attributes, column_labels={"sexx": "Sex"})),
        ("min_beta", lambda: sv.Plan(plan.attributes, requirement={"minbeta": 0.5})),
        ("epsilon", lambda: sv.Categorical("a", [1, 2], "randomized_response", epsilonn=1)),  # type: ignore[call-arg]
        ("randomized_response", lambda: sv.Categorical("a", [1, 2], "randomised_response")),  # type: ignore[arg-type]
        ("sexx", lambda: plan.protect({"sexx": ["F"]})),
        ("attributes", lambda: sv.Plan.from_json('{"version": 1, "atributes": []}')),
        ("age", lambda: sv.Plan.for_frame({"a": ["x", "y"], "age": int}, beta=0.6, keep=["agee"])),
        ("sex", lambda: plan.collector("sx")),
        ("sex", lambda: plan.collector("sex").add({"sx": "F"})),
        ("sex", lambda: sv.Release({"sex": ["F"]}, plan).estimate("sx")),
        ("mle", lambda: plan.collector("sex").estimate(method="mel")),  # type: ignore[arg-type]
    ]
    for name, call in wrong:
        with pytest.raises((ValueError, TypeError), match=f"did you mean {name}\\?$"):
            call()
    key, noted = bs.Key.generate(), sv.Plan(plan.attributes, drop=["note"])
    options: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
        ("missing", sv.Categorical, ("a", [1, 2], "uniform"), {"mising": "keep"}),
        ("unit", sv.Categorical, ("a", [1, 2], "uniform"), {"unt": "home"}),
        ("matrix", sv.Categorical, ("a", [1, 2]), {"matrx": bs.uniform(2)}),
        ("family", sv.Categorical, ("a", [1, 2]), {"famly": "uniform"}),
        ("impossible", sv.Joint, (("a", "b"), [[1, 2]] * 2, "uniform"), {"imposible": []}),
        ("output", sv.Binned, ("a", [0, 1, 2], "uniform"), {"outptu": "number"}),
        ("within", sv.Numeric, ("a", "k_anonymous"), {"k": 2, "whithin": "home"}),
        ("sex", plan.collector("sex").estimate, ("sxe",), {}),
        (
            "note",
            noted.responder(key=key, after="first").one,
            ({"sex": "F", "notes": 1},),
            {"id": 1},
        ),
    ]
    for name, call, given, named in options:
        with pytest.raises((ValueError, TypeError), match=f"did you mean {name}\\?$"):
            call(*given, **named)
    with pytest.raises(
        TypeError, match=r"`eps` must be a parameter of uniform \(none\); got a name"
    ):
        sv.Categorical("a", [1, 2], "uniform", eps=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"got `income`$"):
        plan.column("income")


def test_categories_keep_their_limit_beside_permuted_numbers() -> None:
    given: Any = {"family": "randomized_response", "epsilon": 1}
    coded = [sv.Categorical(name, ["x", "y"], **given) for name in ("a", "b")]
    said = str(sv.Plan([*coded, sv.Numeric("pay", "k_anonymous", k=3)]).preview(100))
    assert re.search(r"^Categories +beta 0.83\d+ .*, epsilon 2 per record$", said, re.M)
    assert "columns `a`, `b`: a suspicion of 1% becomes at most 6.95% with 1 record" in said
