"""HostileError values as source code."""

from __future__ import annotations

from importlib.util import find_spec
from random import Random

from fuzz.containers import ALIKE, MISSING, OTHERS
from fuzz.hostile import METHODS, NAMES

_WHOLES = [
    "0", "1", "2", "-1", "3", "-0", "255", "256", "257", "2**16", "2**31 - 1", "2**31", "2**32",
    "2**53", "2**53 + 1", "2**62", "2**63 - 1", "2**63", "2**64 - 1", "2**64", "2**127 - 1",
    "2**127", "2**128", "-2**31", "-2**63", "-2**63 - 1", "-2**127", "-2**128", "10**30", "10**400",
    "-10**5000",
]  # fmt: skip
_REALS = [
    "math.nan", "math.inf", "-math.inf", "-0.0", "0.0", "5e-324", "-5e-324", "1e-310", "2.0**-53",
    "2.0**-54", "1 - 2.0**-53", "1 + 2.0**-52", "0.5", "1.0", "2.0", "1e16", "1e100", "1e300",
    "1e308", "-1e308", "-0.5", "1.7976931348623157e308", "1e-300", "1e-17", "36.7", "709.8",
    "746.0",
]  # fmt: skip
_EXACTS = [
    "Fraction(1, 3)", "Fraction(2, 1)", "Fraction(-1, 3)", "Fraction(1, 2**63)",
    "Fraction(1, 2**62)", "Fraction(2**200, 3)", "Fraction(1, 10**400)", "Fraction(10**400, 1)",
    "Decimal('0.5')", "Decimal('3')", "Decimal('NaN')", "Decimal('sNaN')", "Decimal('Infinity')",
    "Decimal('1e-400')", "Decimal('1e999999')", "1j", "0.5 + 0j", "complex('nan')",
    "complex(0, math.inf)",
]  # fmt: skip
_TYPES = [
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble",
]  # fmt: skip
_NUMPY = [
    *(f"np.{kind}({x})" for kind in _TYPES for x in ("0", "1", "3")),
    *(f"np.array(np.{kind}(1))" for kind in _TYPES),
    *(f"np.{kind}(0.6)" for kind in _TYPES if "int" not in kind and "bool" not in kind),
    "np.uint64(2**64 - 1)", "np.int64(-2**63)", "np.int8(-128)", "np.longdouble('1e4000')",
    "np.longdouble('nan')", "np.float32('inf')", "np.float16('nan')", "np.float16(65504)",
    "np.str_('0.5')", "np.bytes_(b'1')", "np.datetime64('2020-01-01')", "np.datetime64('NaT')",
    "np.timedelta64(1, 's')", "np.void(b'abc')", "np.array('x')", "np.array(None)",
    "np.array(Fraction(1, 2))", "np.ma.masked", "np.array(3, dtype='>i4')",
    "np.array(0.5, dtype='>f8')", "np.zeros(3)", "np.zeros((0, 3))", "np.zeros((2, 2, 2))",
    "np.array([], dtype='M8[s]')", "np.eye(2)", "np.ma.array(0.5, mask=True)",
    "np.ma.array(3, mask=False)", "np.array(2**70)", "np.float64", "np.dtype('f8')", "np",
]  # fmt: skip
_TEXTS = [
    "''", "'a'", "'0.5'", "'3'", "'\\ud800'", "'a\\0'", "'\\0'", "'\\U0001f600'", "'e\\u0301'",
    "'a' * 10**5", "'\\n'", "'`x` must be'", "'{x}%s'", "'\\u202e'", "b''", "b'3'", "b'a\\0'",
    "b'\\xff\\xfe'", "b'x' * 32", "bytearray(b'x' * 32)", "memoryview(b'x' * 32)", "bytes(32)",
    "memoryview(b'x' * 64)[::2]", "'uniform'", "'ordinal'", "'inverse'", "'bottleneck'", "'nan'",
    "'no'",
]  # fmt: skip
_OBJECTS = [
    "True", "False", "None", "...", "NotImplemented", "object()", "int", "float", "len",
    "lambda *_: 0", "[]", "()", "{}", "set()", "frozenset([1])", "{1: 2}", "[[]]", "[[], []]",
    "[None]", "[[None]]", "['a']", "[True, False]", "[0.5, 'x']", "[0.5, None]",
    "[1, 0.5, Fraction(1, 2)]", "[math.nan]", "[10**400]", "iter([1])", "(x for x in [0.5, 0.5])",
    "range(0)", "range(3)", "range(10**15)", "range(2**63, 2**63 + 2)", "hostile.nested(3)",
    "hostile.nested(40)", "hostile.nested(900)", "hostile.loop()", "hostile.longer()",
    "hostile.shrinking([0.5, 0.5])", "[hostile.raises('__float__')] * 2", "type('T', (), {})()",
    "Exception", "hostile.returns(__index__=3)", "hostile.returns(__index__='x')",
    "hostile.returns(__index__=2**200)", "hostile.returns(__float__=0.5)",
    "hostile.returns(__float__='x')", "hostile.returns(__len__=-1)",
    "hostile.returns(__len__=2**62)", "hostile.returns(__array__=None)",
    "hostile.returns(__array__=0.5)", "hostile.returns(dtype=1, ndim=0)",
    "hostile.returns(dtype=np.dtype('f8'), ndim=0, item=lambda: 1)",
    "hostile.returns(ndim=-1, dtype=None)", "hostile.returns(numerator=1, denominator=0)",
    "hostile.returns(numerator=1, denominator=-2)", "hostile.returns(numerator='a', denominator=1)",
    "hostile.returns(numerator=10**50, denominator=3)",
    "hostile.returns(__array_interface__={'shape': (2**40,), 'typestr': '<f8', 'version': 3})",
    "hostile.returns(__array_interface__=3)", "hostile.returns(__fspath__=b'x')",
    "hostile.returns(__eq__=[])", "hostile.returns(__bool__=3)",
    "hostile.returns(__len__=2, keys=None)", "hostile.returns(index=[1, 0, 2])",
    "hostile.returns(mask=True)", "hostile.number(int, 3)", "hostile.number(float, 0.5)",
    "hostile.number(str, 'a')", "hostile.number(bytes, b'x' * 32)", "bs", "bs.Matrix",
    "bs.uniform(3)", "bs.uniform(1)", "[bs.uniform(3)]", "bs.Key.insecure(1)",
    "bs.uniform(2).profile()", "bs.identity(2**53)", "[bs.uniform(3), None]",
]  # fmt: skip
# Only where the library is there: their scalars and empty objects.
_LIBRARIES = {
    "pandas": [
        "pd.NA", "pd.NaT", "pd.Timestamp(0)", "pd.Series(dtype=float)", "pd.DataFrame()",
        "pd.Index([1])", "pd.Series([0.5, 0.5])", "pd.Series(['inverse'])", "pd.Series([3])",
        "pd.RangeIndex(3)",
    ],
    "polars": [
        "pl.Series([])", "pl.Series([0.5, 0.5])", "pl.DataFrame()", "pl.col('a')", "pl.lit(3)",
        "pl.LazyFrame({'a': [1]})", "pl.Series([3])",
    ],
    "pyarrow": [
        "pa.scalar(3)", "pa.array([])", "pa.nulls(3)", "pa.array([0.5, 0.5])", "pa.table({})",
        "pa.array([[1], [2]])",
    ],
}  # fmt: skip
FRAMES = [x for library, some in _LIBRARIES.items() if find_spec(library) for x in some]
_RAISING = [f"hostile.raises({name!r})" for name in (*METHODS, *NAMES)]
_KINDS = [_WHOLES, _REALS, _EXACTS, _NUMPY, _TEXTS, _OBJECTS, _RAISING]
_KINDS += [FRAMES] if FRAMES else []

# Values of people that no message may show: out of every range that sizes have here.
SECRET_CODES = (918273645, 192837465546)
SECRET_TEXT = "Ada-7f3a91"
SECRET_KEY = bytes(range(101, 133))
SECRETS = (*map(str, SECRET_CODES), SECRET_TEXT, SECRET_KEY.hex(), repr(SECRET_KEY)[2:20])


def any_value(rng: Random) -> str:
    """Something that is seldom what was asked for."""
    return rng.choice(rng.choice(_KINDS))


def number(rng: Random) -> str:
    """A number that may be far out."""
    return rng.choice(rng.choice([_WHOLES, _REALS, _EXACTS, _NUMPY]))


def alike(rng: Random, vector: str) -> str:
    """The same numbers in another container."""
    return f"containers.{rng.choice(list(ALIKE))}({vector})"


def missing(rng: Random, vector: str) -> str:
    """The same numbers, one of them missing."""
    return f"containers.{rng.choice(list(MISSING))}({vector})"


def spoilt(rng: Random, vector: str) -> str:
    """A vector or table made into something else, or with one entry of another kind."""
    if rng.random() < 0.6:
        return f"containers.{rng.choice(list(OTHERS))}({vector})"
    return f"spoil({vector}, {rng.random():.3f}, {any_value(rng)})"
