"""From a formula to functions of the true values: the columns of the design, one by one.

formulaic reads the formula and encodes its factors. A factor is evaluated only on the values of the
axis that has its columns, so the combinations of all axes are never written down. A column of the
design is one ``analysis.responses.Function``: a product over axes.
"""

import itertools
import keyword
import math
import re
import warnings
from typing import Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.models.records import OUTCOME, UNPROTECTED, DataFrame, Records, frame_of
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.wording import shown

# A column that is made categories, with or without options.
_CLASSES = re.compile(r"C\((`[^`]+`|\w+)(\s*,.*)?\)")
# formulaic evaluates what it reads as Python, so a formula may hold nothing else than this.
FUNCTIONS = frozenset((
    "C", "I", "exp", "exp2", "log", "log10", "log2", "np.abs", "np.ceil", "np.cos", "np.exp",
    "np.exp2", "np.expm1", "np.floor", "np.log", "np.log10", "np.log1p", "np.log2", "np.maximum",
    "np.minimum", "np.sign", "np.sin", "np.sqrt", "np.square", "np.tan", "np.tanh", "np.where",
))  # fmt: skip
_TOKEN = re.compile(
    r"(?P<quoted>`[^`\\]+`)|(?P<name>[^\W\d]\w*(?:\.\w+)*)(?P<call>\s*\()?"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<open>\()|(?P<close>\))"
    r"|(?P<operator>\*\*|//|[<>=!]=|[~+\-*/:^|&<>,])|(?P<other>\S)"
)


def needed_columns(formula: Any) -> set[str]:
    """List the columns that a formula needs."""
    return {name for term in formula for factor in term.factors for name in _columns(factor)}


def numeric_columns(formula: Any) -> set[str]:
    """List the columns of factors that are not a column made categories by ``C()``."""
    factors = [factor for term in formula for factor in term.factors]
    plain = [factor for factor in factors if not _CLASSES.fullmatch(factor.expr)]
    return {name for factor in plain for name in _columns(factor)}


def _columns(factor: Any) -> set[str]:
    from formulaic.transforms import TRANSFORMS
    from formulaic.utils.variables import get_required_variables

    if factor.eval_method.value == "lookup":
        return {factor.expr}
    if factor.eval_method.value == "literal":
        return set()
    every = get_required_variables(factor.expr)
    named = [name for name in every if "value" in name.roles or "." in name]
    return {str(name.root) for name in named} - set(TRANSFORMS)


def parse(given: object) -> tuple[str, Any, Any]:
    """Read a formula: its text, and its sides as formulaic has them."""
    text = named("formula", given)
    try:
        from formulaic import Formula
    except ImportError:
        must = "`formula` must be read by formulaic, which the extra `models` installs"
        raise ImportError(f"{must}; got no formulaic") from None
    _refuse_code(text)
    must = "be like outcome ~ a + b"
    try:
        read = Formula(text)
        left, right = read.lhs, read.rhs
        ((_alone,),) = (term.factors for term in left)
        assert list(right) is not None
    except Exception as error:
        kind = type(error).__name__
        raise Refused("formula", must, f"one that formulaic cannot read ({kind})") from None
    return text, left, right


def _refuse_code(text: str) -> None:
    """Raise an error for a formula that holds more than columns, numbers, operators and calls.

    Names, numbers and closed parentheses are operands, and an operand never follows another: that
    leaves no calls of results, no strings, and no words of Python such as ``for`` or ``lambda``.
    """
    calls: list[bool] = []
    before = ""
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup or "", token[0]
        after_operand = before in ("quoted", "name", "number", "close")
        if kind == "call":
            good = token["name"] in FUNCTIONS and not after_operand
        elif kind == "name":
            python = any(calls) and keyword.iskeyword(word) and word not in ("True", "False")
            good = "." not in word and not after_operand and not python
        elif kind == "operator":
            # Outside of a call, | makes several models of one.
            good = word != "|" or any(calls)
        else:
            good = bool(calls) if kind == "close" else kind != "other" and not after_operand
        if not good:
            must = "hold only names of columns, numbers, operators and the functions"
            cure = "" if kind == "call" else ": put names that are no words in backticks"
            got = f"`{shown(token['name'] or word)}` at character {token.start() + 1}"
            raise Refused("formula", f"{must} that regress lists", f"{got}{cure}")
        if kind in ("call", "open"):
            calls.append(kind == "call")
        elif kind == "close":
            calls.pop()
        before = kind


def terms_of(records: Records, side: Any, axis: str) -> dict[str, Function]:
    """Find the columns of one side of a formula, of which ``axis`` has the unprotected columns."""
    if axis == OUTCOME:
        ((alone,),) = (term.factors for term in side)
        number = _number(records, alone, axis)
        if number is not None:
            return {alone.expr: number}
    longest = max(len(frame) for frame in records.frames.values())
    # Every value of every axis occurs here, so formulaic sees all categories.
    columns = {
        name: frame[name].array[np.arange(longest) % len(frame)]
        for each, frame in records.frames.items()
        if each not in (OUTCOME, UNPROTECTED) or each == axis
        for name in frame
    }
    encoded: dict[tuple[str, bool], dict[str, Function]] = {}
    found: dict[str, Function] = {}
    for term in _evaluated(side, frame_of(columns, longest)).model_spec.structure:
        for scoped in term.scoped_terms:
            factors = []
            for each in scoped.factors:
                key = each.factor.expr, each.reduced
                if key not in encoded:
                    encoded[key] = _factor(records, each, axis)
                factors.append(encoded[key])
            scale = Function({axis: np.full(len(records.frames[axis]), float(scoped.scale))})
            # As formulaic and R have it, the first factor runs fastest.
            for product in itertools.product(*(part.items() for part in reversed(factors))):
                name = ":".join(name for name, _ in reversed(product)) or "Intercept"
                parts = [function for _, function in product] + [scale] * (scoped.scale != 1)
                found[name] = math.prod(parts, start=Function())
    return found


def _factor(records: Records, scoped: Any, side: str) -> dict[str, Function]:
    """Encode the columns of a factor, each as a function of the axis that it depends on."""
    from formulaic import Formula
    from formulaic.formula import SimpleFormula
    from formulaic.parser.types import Term

    factor = scoped.factor.factor
    expression = shown(factor.expr)
    plain = _number(records, factor, side)
    if plain is not None:
        return {factor.expr: plain}
    axes = records.axes_of(_columns(factor), side)
    if len(axes) > 1:
        must = "combine columns that are not protected together as a:b alone"
        raise Refused("formula", must, f"`{expression}`")
    axis = axes[0] if axes else side
    whole = SimpleFormula([*(Formula("1") if scoped.reduced else ()), Term([factor])])
    made = _evaluated(whole, records.frames[axis], expression)
    found = {}
    for name in made.columns:
        if name == "Intercept":
            continue
        values = np.asarray(made[name], dtype=np.float64)
        if not np.isfinite(values).all():
            raise Refused("formula", "give finite numbers", f"NaN or infinity in `{expression}`")
        found[str(name)] = Function({axis: values})
    return found


def _number(records: Records, factor: Any, side: str) -> Function | None:
    """Return a plain column of numbers, without formulaic; None if the factor is not one."""
    axes = records.axes_of({factor.expr}, side)
    if factor.eval_method.value != "lookup" or not axes:
        return None
    values = records.frames[axes[0]][factor.expr]
    if values.dtype.kind not in "iufb":
        return None
    return Function({axes[0]: values.to_numpy(np.float64)})


def _evaluated(formula: Any, frame: DataFrame, expression: str = "") -> Any:
    """Make a model matrix by formulaic; errors leave out its words, which may quote values."""
    where = f" in `{expression}`" * bool(expression)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return formula.get_model_matrix(frame, context={}, na_action="ignore")
    except Exception as error:
        kind = type(error).__name__
    must = "hold factors that can be computed from the columns"
    raise Refused("formula", must, f"one that cannot{where} ({kind})")
