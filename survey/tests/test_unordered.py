"""Sets: rejected if the order is a code, sorted if it is not, and never as the process orders them.

The order of a set of strings depends on the hash seed of the process. Each argument that takes
several things is given a set in processes of several seeds: all of them say the same.
"""

from __future__ import annotations

import collections
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import bistochastic as bs
import bistochastic_survey as sv

NAMES = "{'ash', 'birch', 'cedar', 'elm', 'fir', 'oak', 'yew'}"
RR = "'randomized_response'"
COLUMN = f"sv.Categorical('x', ['a', 'b'], {RR}, keep=0.75)"
PLAN = (
    f"sv.Plan([sv.Categorical(n, ['a', 'b'], {RR}, keep=0.75) for n in ('u', 'v', 'w')], "
    "keep=['ash', 'birch', 'cedar', 'id'])"
)
FRAME = (
    "{'u': ['a', 'b', 'b'] * 8, 'v': ['a', 'b', 'a', 'b'] * 6, 'w': ['b'] * 9 + ['a'] * 15, "
    "'ash': [1, 2] * 12, 'birch': [1, 1, 2] * 8, 'cedar': [2, 1, 1, 1] * 6, 'id': list(range(24))}"
)
RELEASE = f"sv.Release({FRAME}, {PLAN})"
OBSERVED = "sv.Observed('u', ['a', 'b'], bs.Channel(warner=0.75))"
RESPONDER = f"{PLAN}.responder(key=bs.Key.generate(), after='first')"
MATRICES = "{bs.uniform(2), bs.identity(2), bs.randomized_response(2, keep=0.75)}"
KEY = "bs.Key.insecure(1)"
KEYED = "key=bs.KeySource.env('TRIED_KEY')"

# The order is a code, or pairs with the order of something else.
REFUSED = {
    "Categorical.categories": f"sv.Categorical('x', {NAMES}, {RR}, beta=0.6)",
    "Joint.columns": f"sv.Joint({{'u', 'v'}}, [['a'], ['b', 'c']], {RR}, beta=0.6)",
    "Joint.categories": f"sv.Joint(('u', 'v'), [{NAMES}, ['a']], {RR}, beta=0.6)",
    "Joint.categories ": f"sv.Joint(('u', 'v'), {{('a', 'b'), ('c', 'd')}}, {RR}, beta=0.6)",
    "Binned.breaks": f"sv.Binned('x', {{0, 18, 65}}, {RR}, beta=0.6)",
    "Binned.representatives": (
        f"sv.Binned('x', [0, 18, 65], {RR}, beta=0.6, representatives={{9, 40}})"
    ),
    "Plan.attributes": f"sv.Plan({{{COLUMN}}})",
    "Observed.categories": f"sv.Observed('x', {NAMES}, bs.uniform(7))",
    "Analysis.columns": f"sv.Analysis({FRAME}, {{{OBSERVED}}})",
    "Channel.unrelated": "bs.Channel(unrelated={0.7, 0.5})",
    "Channel.kuk": "bs.Channel(kuk={0.7, 0.2})",
    "Channel.estimate.categories": (
        "bs.Channel(warner=0.75).estimate(counts=[1, 2], categories={'no', 'yes'})"
    ),
    "Plan.for_frame.schema": f"sv.Plan.for_frame({{'x': {NAMES}}}, beta=0.6)",
    "Plan.for_frame.codebook": (
        f"sv.Plan.for_frame({{'x': str}}, codebook={{'x': frozenset({NAMES})}}, beta=0.6)"
    ),
    "Release.mean.scores": f"{RELEASE}.mean('u', {{0, 1}})",
    "Release.change.scores": f"{RELEASE}.change({RELEASE}, 'u', {{0, 1}}, id_column='id')",
    "Matrix.estimate.categories": "bs.uniform(2).estimate(counts=[1, 2], categories={'a', 'b'})",
    "allocate.sizes": "sv.allocate({2, 3}, epsilon=1)",
    "allocate.weights": "sv.allocate([2, 3], epsilon=1, weights={1, 2})",
    "allocate.min_beta": "sv.allocate([2, 3], epsilon=1, min_beta={.1, .2})",
    "blocks.sizes": "bs.blocks({2, 3})",
    "permutation.targets": "bs.permutation({0, 1})",
    "decompose_all.matrices": f"bs.decompose_all({MATRICES})",
    "guarantee.matrices": f"bs.guarantee({MATRICES})",
    "guarantee.individuals": f"bs.guarantee((), individuals={MATRICES})",
    "shuffled.matrices": f"bs.shuffled({MATRICES}, 9)",
    "kron.matrices": f"bs.kron({MATRICES})",
    "mix.matrices": f"bs.mix({MATRICES}, weights=[.2, .3, .5])",
    "backend.Column.names": "bs.backend.Column({'a', 'b'}, [0, 1], bs.uniform(2))",
    "backend.Column.matrices": f"bs.backend.Column('a', [0, 1], {MATRICES}, [0, 1])",
    "backend.Ids.joined.parts": "bs.backend.Ids.joined({('a', 'b'), ('c', 'd')})",
    "backend.Ids.of_buffers.pieces": "bs.backend.Ids.of_buffers({1, 2}, text=True)",
    "backend.Ids.take.rows": "bs.backend.Ids([1, 2]).take({0, 1})",
    "backend.draw.columns": (
        f"bs.backend.draw({{bs.backend.Column('a', [0], bs.uniform(2))}}, {KEY}, plan='p', "
        "address=bs.backend.Rows())"
    ),
    "backend.respond.names": (f"bs.backend.respond({{'a', 'b'}}, bs.uniform(2), 1, {KEY}, 'p', 7)"),
    "backend.derive.labels": f"bs.backend.derive({KEY}, 'numbers', 'p', {{'a', 'b'}}, 1)",
    "theory.majorizes.p": "bs.theory.majorizes({1, 2}, [1, 2])",
    "theory.majorizes.q": "bs.theory.majorizes([1, 2], {1, 2})",
    "theory.t_transforms.p": "bs.theory.t_transforms({1, 2}, [1, 2])",
    "theory.t_transforms.q": "bs.theory.t_transforms([1, 2], {1, 2})",
    "plot.heatmap.categories": "bs.plot.heatmap(bs.uniform(2), categories={'a', 'b'})",
    "Design.cluster": "sv.Design(cluster={'ash', 'birch'})",
    "Design.fpc": "sv.Design(cluster='id', fpc={'ash', 'birch'})",
    "Plan.require.pooled": f"{PLAN}.require(pooled={{2, 3.0}})",
    "Responder.many.records": f"{RESPONDER}.many({{1, 2}}, ids=[1, 2])",
    "Responder.many.ids": f"{RESPONDER}.many([{{'u': 0}}, {{'u': 1}}], ids={{1, 2}})",
    "Responder.columns.ids": f"{RESPONDER}.columns({{'u': [0, 1]}}, ids={{1, 2}})",
}
# The order does not matter: names are sorted, conditions and cells have an order of their own.
SORTED = {
    "difference_set.set": "bs.difference_set(5, epsilon=1, set=(7, {3, 0, 1})).to_json()",
    "Plan.keep": f"sv.Plan([{COLUMN}], keep={NAMES}).digest",
    "Plan.drop": f"sv.Plan([{COLUMN}], drop={NAMES}).digest",
    "Analysis.keep": (
        f"sv.Analysis({FRAME}, [{OBSERVED}], keep={{'ash', 'birch', 'cedar'}})"
        ".count({'u': 'a', 'ash': 1, 'birch': 1})"
    ),
    "Plan.undecided": f"sv.Plan([{COLUMN}], undecided={NAMES}).undecided",
    "Plan.units": f"sv.Plan([{COLUMN}], keep={NAMES}, units={NAMES}).digest",
    "Plan.for_frame.keep": (
        f"sv.Plan.for_frame({{'s': ['a'], **dict.fromkeys({NAMES}, str)}}, beta=0.6, "
        f"keep=frozenset({NAMES})).keep"
    ),
    "Plan.for_frame.drop": (
        f"sv.Plan.for_frame({{'s': ['a'], **dict.fromkeys(sorted({NAMES}), str)}}, beta=0.6, "
        f"drop={NAMES}).digest"
    ),
    "Plan.for_frame.numeric": (
        f"sv.Plan.for_frame({{'s': ['a'], **dict.fromkeys(sorted({NAMES}), int)}}, beta=0.6, "
        f"numeric={NAMES}).digest"
    ),
    "Plan.for_frame.ordinal": (
        f"sv.Plan.for_frame(dict.fromkeys(sorted({NAMES}), ['a', 'b']), beta=0.6, "
        f"ordinal={NAMES}).digest"
    ),
    "Joint.impossible": (
        f"sv.Plan([sv.Joint(('u', 'v'), [['a', 'b'], ['c', 'd']], {RR}, beta=0.6, "
        "impossible={('a', 'c'), ('b', 'd')})]).digest"
    ),
    "Binned.open": f"sv.Binned('x', [0, 9], {RR}, beta=0.6, open={{'low', 'high'}}).categories",
    "Plan.batch_function.row_columns": (
        f"sv.Plan([{COLUMN}], keep={NAMES}).batch_function({KEYED}, row_columns={NAMES}, "
        "release_name='r').row_columns"
    ),
    "Plan.collector.tables": f"{PLAN}.collector({{'u', 'v', 'w'}}).tables",
    "Release.covariance.columns": (
        f"{RELEASE}.covariance({{'u', 'v'}}, {{'u': [0, 1], 'v': [0, 1]}}).value"
    ),
    "Release.correlation.columns": (
        f"{RELEASE}.correlation({{'u', 'v'}}, {{'u': [0, 1], 'v': [0, 1]}}).value"
    ),
    "Release.transitions.columns": (
        f"{RELEASE}.transitions({RELEASE}, {{'u', 'v'}}, id_column='id',"
        " memoised=False).counts.shape"
    ),
    "Design.replicates": (
        f"{RELEASE}.estimate('u', design=sv.Design(weights='id', "
        "replicates={'ash', 'birch', 'cedar'}))"
    ),
    "Release.estimate.where": f"{RELEASE}.count({{'u': {{'a', 'b'}}, 'ash': {{1, 2}}}}).value",
    "strongest.family": (
        "bs.strongest(3, records=9999, tolerance=0.1, family={'geometric', 'randomized_response', "
        "'k_anonymous'})"
    ),
    "tradeoff.families": (
        "bs.tradeoff(3, families={'geometric', 'randomized_response', 'k_anonymous'}, betas=[0.5])"
    ),
    "tradeoff.betas": "str(bs.tradeoff(3, families=['geometric'], betas={.5, .7}))",
    "masking.k_anonymous_classes.quasi_identifiers": (
        "bs.masking.k_anonymous_classes({'a': [1., 2, 3, 4], 'b': [4., 1, 2, 3]}, k=2, "
        "quasi_identifiers={'a', 'b'})"
    ),
}  # fmt: skip
# Other arguments are read by the same function as one above, or have an order of their own.
LIKE = {
    r"Collector\.tables": "Plan.collector.tables",
    r"Analysis\.(covariance|correlation)\.columns": "Release.covariance.columns",
    r".*\.(where|given)": "Release.estimate.where",
    r"Plan\.on\.row_columns": "Plan.batch_function.row_columns",
    r"audit\.(knows|wants|also)": "Plan.keep",
    r"plot\.tradeoff\.families": "tradeoff.families",
    r"plot\.tradeoff\.(betas|against)": "tradeoff.betas",
    r"masking\.anatomize\.(quasi_identifiers|sensitive)": (
        "masking.k_anonymous_classes.quasi_identifiers"
    ),
}
# Arrays, which NumPy does not make from a set; tables, whose columns have names; dicts; results.
OTHER = re.compile(
    r".*\.(frame|data|later|original|release|rows|record|obj|observation|reader|X|x|y|"
    r"values|order|codes|counts|weights|cost|prior|width|low|high|top|bottom|axes|parameters|"
    r"groups|recode|missing|requirement|column_labels|value_labels|unit_pseudonym|scores|views|buffers|"
    r"progress|hashes)"
    r"|(Certificate|Estimate|Profile|backend\.read_key)\..*|masking\.([A-Z].*|\w+\.columns)|theory\.[A-Z].*"
)
SEEDS = ("1", "2", "3", "4")
TRY = """
import ast, sys, warnings
import bistochastic as bs
import bistochastic_survey as sv
warnings.simplefilter("ignore")
for line in sys.stdin.read().split("\\n\\n"):
    try:
        print(ascii(str(eval(line))))
    except Exception as error:
        print(ascii(f"{type(error).__name__}: {error}"))
"""


def tried(expressions: list[str], folder: Path) -> list[tuple[str, ...]]:
    """What each expression gives, for each hash seed."""
    bs.Key.generate().to_file(folder / "key")
    env = {**os.environ, "MPLBACKEND": "Agg", "TRIED_KEY": str(folder / "key")}
    running = [
        subprocess.run(
            [sys.executable, "-c", TRY], input="\n\n".join(expressions), text=True, check=True,
            capture_output=True, env={**env, "PYTHONHASHSEED": seed},
        ) for seed in SEEDS
    ]  # fmt: skip
    return list(zip(*(each.stdout.splitlines() for each in running), strict=True))


def test_a_set_is_rejected_if_the_order_is_a_code(tmp_path: Path) -> None:
    for name, said in zip(REFUSED, tried(list(REFUSED.values()), tmp_path), strict=True):
        assert len(set(said)) == 1, name
        assert re.match(r"['\"](Refused|RefusedType): .* must .*; got", said[0]), (name, said[0])


def test_a_set_of_names_is_sorted(tmp_path: Path) -> None:
    for name, said in zip(SORTED, tried(list(SORTED.values()), tmp_path), strict=True):
        assert len(set(said)) == 1, (name, said)
        assert not re.match(r"['\"]\w*Error", said[0]), (name, said[0])


def parameters() -> dict[str, str]:
    """All parameters of what is public, and their annotations."""
    found: dict[str, str] = {}

    def look(name: str, function: Any) -> None:
        for p in inspect.signature(function).parameters.values():
            found[f"{name}.{p.name}"] = str(p.annotation)

    inner = {n: getattr(bs, n) for n in ("backend", "plot", "masking", "theory")}
    for prefix, module in (("", bs), ("", sv), *((f"{n}.", each) for n, each in inner.items())):
        for name in module.__all__:
            one = getattr(module, name)
            if not callable(one) or is_typeddict(one):
                continue
            look(f"{prefix}{name}", one)
            called = inspect.isclass(one) and prefix in ("", "backend.")
            for method in dir(one) if called else []:
                if not method.startswith("_") and callable(getattr(one, method)):
                    look(f"{prefix}{name}.{method}", getattr(one, method))
    return found


def test_every_argument_that_takes_several_is_tried() -> None:
    several = re.compile(
        "Iterable|Sequence|Collection|ArrayLike|object|Any|Mapping|list|tuple|dict"
    )
    tried_ones = {name.strip() for name in (*REFUSED, *SORTED)}
    assert set(LIKE.values()) <= tried_ones
    missed = [
        name
        for name, annotation in parameters().items()
        if several.search(annotation)
        and name not in tried_ones
        and not any(re.fullmatch(pattern, name) for pattern in (*LIKE, OTHER.pattern))
    ]
    assert not missed


def test_containers_with_an_order_are_accepted() -> None:
    family: Any = "randomized_response"
    listed = sv.Categorical("x", ["b", "a"], family, beta=0.6)
    given: Any
    for given in (
        {"b": 1, "a": 2},
        {"b": 1, "a": 2}.keys(),
        iter(["b", "a"]),
        collections.deque(["b", "a"]),
    ):
        assert sv.Categorical("x", given, family, beta=0.6) == listed
    wrong: Any
    for wrong in ({"b", "a"}, frozenset("ba"), iter({"b", "a"})):
        with pytest.raises(TypeError, match=r"`categories` must be a list .*, in an order; got"):
            sv.Categorical("x", wrong, family, beta=0.6)
