"""A case: a function of a seed and a number, written as source code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import bistochastic as bs
from fuzz import files, matrices, parameters, terminal, values
from fuzz.parameters import Scene
from fuzz.surface import MAKERS, Target, targets, weights

# Arguments that hold many numbers and may come in any container.
_VECTORS = {
    "targets", "sizes", "first_row", "alphas", "kernel", "cost", "array", "weights", "codes", "ids",
    "counts", "prior", "x", "y", "p", "q", "betas", "X",
}  # fmt: skip
_CLOSED = {"uniform", "identity", "randomized_response", "k_anonymous", "geometric"}
_CLOSED |= {"tridiagonal", "t_transform"}


@dataclass(frozen=True)
class Case:
    """What is called, and how it was made."""

    target: Target
    receiver: str
    """The source of the object whose method it is, or nothing."""
    arguments: tuple[tuple[str, str], ...]
    """Names (of a positional one, nothing) and sources."""
    valid: bool
    """Whether nothing hostile was put in."""
    plain: tuple[tuple[str, str], ...] = field(default=())
    """The same arguments with a list where ``arguments`` have another container."""
    missing: bool = False
    """Whether a value is missing, so that this must be refused."""

    @property
    def call(self) -> str:
        """What is called, as source."""
        t = self.target
        calls = {
            "terminal": "cli",
            "chain": "chain",
            "function": t.words if t.owner in ("bs", "sv") else f"bs.{t.words}",
            "static": f"CLASSES[{t.owner!r}].{t.name}",
            "operation": f"operations.{t.name}",
        }
        return calls.get(t.kind, f"it.{t.name}")

    @property
    def source(self) -> str:
        """Two lines that can be typed."""
        words = [f"{name}={source}" if name else source for name, source in self.arguments]
        listed = ", ".join(["it", *words] if self.target.kind == "operation" else words)
        call = self.call if self.target.kind == "property" else f"{self.call}({listed})"
        return f"it = {self.receiver}\n{call}" if self.receiver else call

    @property
    def is_deep(self) -> bool:
        """Whether matrices are nested so deep that their exact entries have millions of digits."""
        return any(f"operations.{how}(" in self.source for how in ("squared", "mixed", "doubled"))

    @property
    def words(self) -> str:
        terminal = self.target.kind == "terminal"
        return f"cli {self.arguments[0][1]}" if terminal else self.target.words


def make(seed: str, number: int) -> Case:
    """The case of that number."""
    rng = Random(f"{seed}/{number}")
    target = rng.choices(targets(), cum_weights=weights())[0]
    if target.kind == "terminal":
        _, words = terminal.arguments(rng)
        return Case(target, "", tuple(("", word) for word in words), False)
    if target.kind == "chain":
        return Case(target, "", (("", repr(f"{seed}/{number}")),), True)
    scene = Scene(rng, matrices.size(rng))
    case = _valid(rng, target, scene)
    luck = rng.random()
    if luck < 0.3 or not case.arguments:
        return case
    if luck < 0.34:
        return _miscalled(rng, case)
    case = _spoilt(rng, case)
    return _spoilt(rng, case) if luck > 0.93 else case


def _valid(rng: Random, target: Target, scene: Scene) -> Case:
    receiver = ""
    if target.kind in ("method", "property", "operation"):
        if target.owner == "Matrix" and rng.random() < 0.06:
            receiver = matrices.huge(rng)
            scene.size = 2**31 - 1
        else:
            receiver = MAKERS[target.owner](scene)
    if target.name == "build":
        return _built(rng, target, scene)
    given = parameters.arguments(scene, target.name, target.signature)
    if target.owner == "bs" and target.name in _CLOSED and rng.random() < 0.05:
        large = rng.choice(matrices.LARGE)
        given = [(name, large if source == str(scene.size) else source) for name, source in given]
    if target.words == "Key.from_file" and rng.random() < 0.6:
        given = [("", f"write('k', {files.key(rng)})"), *given[1:]]
    return Case(target, receiver, tuple(given), True)


def _built(rng: Random, target: Target, scene: Scene) -> Case:
    """``build`` with the parameters of a family."""
    makers = [t for t in targets() if t.owner == "bs" and t.name in _families()]
    family = rng.choice(makers)
    given = parameters.arguments(scene, family.name, family.signature)
    if family.name == "kron":
        given = [("matrices", scene.same())]
    names = iter(family.signature.parameters)
    named = tuple((name or next(names), source) for name, source in given)
    if rng.random() < 0.1:
        name = rng.choice(["total", "counts", "size", "matrices", "nonsense"])
        named += ((name, values.number(rng)),)
    unique = dict(named)
    return Case(target, "", (("", repr(family.name)), *unique.items()), True)


def _families() -> list[str]:
    from bistochastic import _core

    return [name for name in _core.families() if hasattr(bs, name)]


def _parameter(case: Case, at: int) -> str:
    """The name of an argument, positional or not."""
    name = case.arguments[at][0]
    if name:
        return name
    names = [n for n in case.target.signature.parameters if n != "self"]
    return names[at] if at < len(names) else ""


def _spoilt(rng: Random, case: Case) -> Case:
    """One argument replaced by something else."""
    at = rng.randrange(len(case.arguments))
    name, source = case.arguments[at]
    known = _parameter(case, at)
    vector = known in _VECTORS and source[:1] in "[(n"
    luck = rng.random()

    def put(new: str) -> tuple[tuple[str, str], ...]:
        return (*case.arguments[:at], (name, new), *case.arguments[at + 1 :])

    if vector and luck < 0.3 and case.valid:
        alike = put(values.alike(rng, source))
        return replace(case, arguments=alike, plain=case.arguments, valid=False)
    if vector and luck < 0.38 and case.valid:
        empty = source.replace(" ", "") in ("[]", "[[]]")
        empty = empty or source.startswith(("np.array([],", "np.arange(0"))
        there = not empty and known not in ("betas", "weights")
        return replace(case, arguments=put(values.missing(rng, source)), missing=there, valid=False)
    if vector and luck < 0.65:
        new = values.spoilt(rng, source)
    elif known in ("codes", "code", "ids", "id") and luck < 0.75:
        (first, second), text = values.SECRET_CODES, values.SECRET_TEXT
        numbers = [f"-{second}", f"{second}.5", f"Fraction({second}, 7)"]
        texts = [f"'{text}'", f"b'{text}'"]
        secret = rng.choice([f"{first}", *texts, *numbers, f"'{text}\\ud800'"])
        new = secret if known in ("code", "id") else f"[{secret}]"
    elif known == "progress":
        # What can be called may raise what it likes, so these cannot.
        new = rng.choice(["3", "'x'", "object()", "hostile.nasty(0)", "[]", "bs.uniform(2)"])
    else:
        new = values.number(rng) if rng.random() < 0.4 else values.any_value(rng)
    return replace(case, arguments=put(new), valid=False, plain=(), missing=False)


def _miscalled(rng: Random, case: Case) -> Case:
    """One argument too many, too few, or by a name that there is not."""
    args = list(case.arguments)
    match rng.randrange(3):
        case 0:
            args.pop(rng.randrange(len(args)))
        case 1:
            args.append(("nonsense", values.any_value(rng)))
        case _:
            args.insert(0, ("", values.any_value(rng)))
    return replace(case, arguments=tuple(args), valid=False)
