"""The command line: every command and option, found by introspection of click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import click

from bistochastic_survey.cli import main
from fuzz import files, matrices, plans

# No zero bytes: what is called from a shell cannot have any.
_TEXTS = [
    "", "nan", "inf", "-1", "0", "1", "2", "0.5", "1e999", "2/3", "1/0", "x", "9" * 30, "9" * 5000,
    "4294967296", "9007199254740992", "1,2", ",", "1,,2", "\u0661", "1_0", "--", "-", "=", "a=b=c",
    "`x` must", "\udcff", "{}%s", "True", "ordinal", "é", "1e-400", "-0.0", " 3 ", "3.0", "0x3",
    "uniform", "1;2", "(" * 300,
]  # fmt: skip


def _words(rng: Random) -> str:
    """A matrix as it is written in one word: a family with its parameters, or a file."""
    n = rng.randint(1, 9)
    beta = rng.choice(["0.3", "0.6", "1", "0"])
    return repr(rng.choice([
        f"uniform size={n}", f"identity size={n}", f"randomized_response size={n} beta={beta}",
        f"k_anonymous size={n} k={rng.randint(1, n)}", f"geometric size={n} beta={beta}",
        f"tridiagonal alphas=0.3 size={n}", "circulant first_row=0.5,0.25,0.25", "blocks sizes=2,3",
        "permutation targets=2,0,1", "reflected kernel=0.5,0.25,0", "tridiagonal alphas=0.1,0.2",
        f"t_transform size={n + 1} i=0 j={n} keep=2/3", f"uniform size={rng.choice(_TEXTS)}",
        f"geometric size={n} temperature={rng.choice(_TEXTS)}",
        f"circulant first_row={rng.choice(_TEXTS)}",
        "uniform size=3 size=3", "kron matrices=1", "nonsense", "", "uniform size=4294967296",
    ])) if rng.random() < 0.6 else files.table(rng)  # fmt: skip


def _vector(read: Callable[[Random, int], str]) -> Callable[[Random], str]:
    def text(rng: Random) -> str:
        numbers = [x.strip() for x in read(rng, 4).strip("[]").split(",") if "(" not in x]
        return repr(",".join(numbers))

    return text


def _people(rng: Random) -> str:
    """A table as CSV, or as an Arrow or SPSS file, now and then with a fault."""
    if rng.random() < 0.15:
        form, data = rng.choice([
            ("arrow", "arrow()"), ("sav", "sav(False)"), ("zsav", "sav(True)"),
        ])  # fmt: skip
        return f"write('people.{form}', flip({data}, {rng.random():.4f}, {rng.randrange(256)}))"
    table = rng.choice([
        b"id,sex\n1,F\n2,M\n3,M\n", b"id,sex\n1,F\n1,M\n", b"id,sex\n", b"", b"id,sex\n1\n",
        b"id,sex\n1,\n", b"\xff\xfe", b"sex\nF\nM\n", b"id,sex\n" + 300 * b"5,F\n",
    ])  # fmt: skip
    name = rng.choice(["people.csv", "people.parquet", "people"])
    return f"write({name!r}, {table!r})"


def _plan(rng: Random) -> str:
    """A plan as TOML."""
    plan = plans.plan(rng) if rng.random() < 0.4 else plans.SIMPLE
    return f"write('plan.toml', {plan}.to_toml().encode())"


def _one(*texts: str) -> Callable[[Random], str]:
    return lambda rng: repr(rng.choice(texts))


# The text of each option by its name, as source.
DRAW: dict[str, Callable[[Random], str]] = {
    "parameters": _one("--size", "--size=3", "3", "x"),
    "target": lambda rng: rng.choice([_words(rng),
    _one("uniform", "kron", "mix", "product", "gibbs", "dense")(rng)]),
    "matrix": _words,
    "matrices": _words,
    "size": _one("1", "3", "4", "5", "12", "300", "2147483653", "4294967296", "9007199254740992"),
    "beta": _one("0.6", "0", "1", "0.25", "1/3"),
    "epsilon": _one("0", "1", "2.5", "inf", "1/3"),
    "truthfulness": _one("0.5", "1", "0"),
    "tolerance": _one("0.03", "0.5", "0"),
    "share": _one("0.1", "1"),
    "keep": _one("0.5", "2/3", "1"),
    "temperature": _one("1", "0.5", "10", "inf"),
    "k": _one("1", "2", "3"),
    "i": _one("0", "1"),
    "j": _one("2", "3"),
    "sizes": _vector(matrices.sizes),
    "targets": _vector(matrices.targets),
    "first_row": _vector(lambda rng, n: repr(matrices.floats(rng, n))),
    "alphas": _vector(matrices.alphas),
    "kernel": _vector(matrices.kernel),
    "cost": lambda rng: files.table(rng) if rng.random() < 0.7 else "'ordinal'",
    "array": files.table,
    "weights": _one("0.5,0.5", "2/3,1/3", "1"),
    "prior": _one("0.5,0.5", "0.2,0.3,0.5", "1,2,3,4", "1"),
    "mass": _one("1", "0.5"),
    "max_terms": _one("1", "5"),
    "restarts": _one("1", "3"),
    "top": _one("0", "3", "-1"),
    "outs": lambda rng: rng.choice([
        *(f"str(path('{name}'))" for name in ("out.csv", "out.parquet", "out.sav")),
        "str(path('no/out.csv'))", "'x'",
    ]),
    "out": lambda rng: rng.choice([
        *(f"str(path('{name}'))" for name in ("out.npz", "out.html", "out.csv", "no/out.csv")),
        "'x'", "'/no/such/place.csv'",
    ]),
    "file": lambda rng: rng.choice([
        _people(rng), _plan(rng),
        *(f"str(path('{name}'))" for name in ("new", "key", "no/new", ".")),
    ]),
    "knows": _one("sex", "sex,id=2", "", "x", "id=y"),
    "wants": _one("sex", "x"),
    "also": _people,
    "fail_above": _one("0.1", "0", "2"),
    "keys": _one("sex", "sex,id", "x"),
    "sensitive": _one("sex", "id"),
    "household": _one("id", "x"),
    "by": _one("sex", "sex,age", "", "x", ","),
    "where": _one("sex=F", "sex=F,M", "sex", "=", "age=1"),
    "strata": _one("sex", "age", "x"),
    "fpc": _one("5000", "0.5", "n", "9,0.5", "0"),
    "mean": _one("age", "x", "no"),
    "ratio": _one("sex=F", "sex=F,M", "x"),
    "cluster": _one("age", "id", "sex", "x"),
    "replicates": _one("age,age", "age", "id,x", ""),
    "replicate_scale": _one("0.5", "3/4", "0", "-1"),
    "method": _one("inverse", "mle", "simplex", "shrunk", "magic"),
    "population": _one("sampled", "fixed"),
    "format": _one("table", "csv", "json", "ndjson"),
    "output": lambda rng: "str(path('out'))",
    "source": _people,
    "plan": lambda rng: rng.choice([_plan(rng), _plan(rng), "str(path('no.toml'))", "'plan.json'"]),
    "codebook": lambda rng: "write('codebook.csv', b'column,category\\nsex,F\\nsex,M\\n')",
    "certificate": lambda rng: "str(path('out.json'))",
    "data": lambda rng: "str(path('titanic.csv'))",
    "key_file": lambda rng: "str(path('key'))",
    "min_beta": _one("0.1", "0"),
    "drop": _one("id", "x", "id,x"),
    "numeric": _one("age", "*", "x", "age,id"),
    "ordinal": _one("sex", "age", "x", "sex,town"),
    "missing": _one("raise", "keep", "category", "x"),
    "name": _one("survey"),
    "release_name": _one("w"),
    "unit_pseudonym": _one("sex=s", "x", "="),
    "title": _one("A title", ""),
    "publisher": _one("An office"),
    "date": _one("2026-11-18"),
    "contact": _one("a@b"),
    "id_column": _one("id", "x"),
    "after": _one("first", "x"),
    "pseudonym": _one("who", "sex"),
    "max_rows_per_id": _one("1", "2"),
    "records": _one("1", "100"),
    "original": _people,
    "release": _people,
    "separator": _one(",", ";", "tab", "|", "\\t"),
    "encoding": _one("utf-8", "latin-1", "cp1252", "utf-16", "utf-8-sig"),
    "decimal": _one(".", ","),
    "confidence": _one("0.95", "0", "0.5"),
    "design_effect": _one("1", "2.5", "0.4"),
    "seed": _one("0", "7", "-1"),
    "formula": _one("sex ~ id", "id ~ sex", "x", "id ~", "id ~ np.log(id)", "id ~ {exit(9)}"),
    "model": _one("linear", "logistic", "multinomial", "x"),
    "wave1": _people,
    "wave2": _people,
    "plan2": _plan,
}  # fmt: skip
# Options that go with a family, so that whole commands are mostly understood.
_FAMILIES = {
    "uniform": ["size"], "identity": ["size"], "randomized_response": ["size", "beta"],
    "k_anonymous": ["size", "k"], "geometric": ["size", "temperature"], "tridiagonal": ["alphas"],
    "circulant": ["first_row"], "blocks": ["sizes"], "permutation": ["targets"],
    "reflected": ["kernel"], "t_transform": ["size", "i", "j", "keep"], "gibbs": ["cost", "beta"],
    "balance": ["array"], "dense": ["array"], "kron": ["matrices", "matrices"],
    "mix": ["matrices", "matrices", "weights"], "product": ["matrices", "matrices"],
}  # fmt: skip
_SLOW = {"demo": 0.1, "key": 0.2, "inspect": 3.0}


@cache
def commands() -> tuple[tuple[tuple[str, ...], click.Command], ...]:
    """Every command with the words that lead to it."""

    def walk(words: tuple[str, ...], command: click.Command) -> Iterator[Any]:
        if isinstance(command, click.Group):
            for name in sorted(command.commands):
                yield from walk((*words, name), command.commands[name])
        else:
            yield words, command

    return tuple(walk((), main))


def _text(rng: Random, name: str, hostile: float) -> str:
    return repr(rng.choice(_TEXTS)) if rng.random() < hostile else DRAW[name](rng)


def _option(rng: Random, option: click.Parameter, hostile: float) -> list[str]:
    flag = repr(option.opts[0])
    if isinstance(option, click.Option) and option.is_flag:
        return [flag]
    return [flag, _text(rng, str(option.name), hostile)]


def arguments(rng: Random) -> tuple[str, list[str]]:
    """A command and the sources of its words."""
    known = commands()
    weights = [_SLOW.get(words[0], 1.0) for words, _ in known]
    words, command = rng.choices(known, weights)[0]
    hostile = rng.choice([0.0, 0.1, 0.3])
    out = [repr(word) for word in words]
    options = {str(p.name): p for p in command.params if isinstance(p, click.Option)}
    if words == ("inspect",) and rng.random() < 0.7:
        family = rng.choice(list(_FAMILIES))
        out.append(repr(family))
        for name in _FAMILIES[family]:
            typed = {"matrices": "matrix", "keep": "truthfulness"}.get(name, name)
            out += [repr(f"--{typed}".replace("_", "-")), _text(rng, name, hostile)]
    else:
        for p in command.params:
            if isinstance(p, click.Argument):
                many = rng.randint(0, 3) if p.nargs == -1 else 1
                out += [_text(rng, str(p.name), hostile) for _ in range(many)]
    for option in options.values():
        if rng.random() < 0.12:
            out += _option(rng, option, hostile)
    if rng.random() < 0.03:
        out.insert(rng.randrange(len(out) + 1), repr(rng.choice([*_TEXTS, "--help", "--version"])))
    return " ".join(words), out
