"""The command line: parse, call, print."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bistochastic
from bistochastic import families, paper
from bistochastic.cli import demo, matrix_market
from bistochastic.permutations import decomposition
from bistochastic.report import compare, down, facts, shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

# How the text of a parameter is read: a number, a vector, either, or a file with a table.
_NUMBERS = ("size", "k", "epsilon", "beta", "keep", "temperature", "i", "j")
_VECTORS = ("sizes", "targets", "first_row", "kernel", "weights")
_EITHER = ("alphas",)
_TABLES = ("cost", "array")
_FILES = (".csv", ".npy", ".npz", ".mtx")


def _number(text: str) -> int | float | Fraction:
    """A number as it is written: 3, 0.65 or 2/3."""
    try:
        if "/" in text:
            return Fraction(text)
        try:
            return int(text)
        except ValueError:
            return float(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number") from None


def _value(name: str, text: str) -> Any:
    """The value of a parameter from its text."""
    if name in _TABLES:
        return _table(text)
    if name in _VECTORS or (name in _EITHER and "," in text):
        return [_number(part) for part in text.split(",")]
    return _number(text)


def _table(path: str) -> NDArray[Any]:
    """A square table from a CSV, NPY, NPZ or Matrix Market file."""
    import numpy as np

    file = Path(path)
    kind = file.suffix.lower()
    if kind not in _FILES:
        raise ValueError(
            f"`{shown(path)}` must end in {', '.join(_FILES)}; got {kind or 'no ending'}"
        )
    if not file.is_file():
        raise ValueError(f"`{shown(path)}` must be a file; got none there")
    if kind == ".csv":
        return _csv(file)
    if kind == ".mtx":
        return matrix_market.read(file)
    try:
        loaded = np.load(file, allow_pickle=False)
        if kind == ".npy":
            return np.asarray(loaded)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise TypeError
        with loaded as arrays:
            found = [np.asarray(arrays[name]) for name in arrays.files]
    except MemoryError:
        raise
    except Exception as error:
        # Whatever a broken header makes of NumPy's parser, the file is no file of numbers.
        got = f"one that NumPy refuses ({type(error).__name__})"
        raise ValueError(
            f"`{shown(path)}` must be a whole {kind} file of numbers; got {got}"
        ) from None
    if len(found) != 1:
        raise ValueError(f"`{shown(path)}` must hold one array; got {len(found)}")
    return found[0]


def _csv(file: Path) -> NDArray[Any]:
    import numpy as np

    try:
        # A mark at the beginning, as spreadsheets write it, is no part of the first number.
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"`{shown(file)}` must be readable; got {error.strerror}") from None
    except UnicodeDecodeError as error:
        got = f"none at byte {error.start}"
        raise ValueError(f"`{shown(file)}` must be readable UTF-8 text; got {got}") from None
    rows: list[list[int | float | Fraction]] = []
    for line in (line for line in text.splitlines() if line.strip()):
        row: list[int | float | Fraction] = []
        for part in line.split(","):
            try:
                row.append(_number(part.strip()))
            except click.BadParameter:
                got = f"none in row {len(rows)}, column {len(row)}"
                raise ValueError(f"`{shown(file)}` must hold numbers; got {got}") from None
        rows.append(row)
    if not rows or len({len(row) for row in rows}) > 1:
        raise ValueError(f"`{shown(file)}` must have rows of one length; got several or none")
    numbers = [number for row in rows for number in row]
    if any(isinstance(number, float) for number in numbers):
        return np.asarray([[float(number) for number in row] for row in rows])
    return np.asarray(rows)


def _distance(text: str) -> Any:
    """A word, or a table from a file."""
    return _table(text) if _is_file(text) else text


def _is_file(words: str) -> bool:
    return words.lower().endswith(_FILES) and "=" not in words


def _from_words(words: str) -> Matrix:
    """A matrix from "family name=value name=value", or from a file."""
    if _is_file(words):
        return families.dense(_table(words))
    family, *pairs = words.split() or [""]
    given: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        known = (*_NUMBERS, *_VECTORS, *_EITHER, *_TABLES)
        if not equals or name not in known or name in given:
            got = "no =" if not equals else "a name twice" if name in given else "an unknown name"
            raise ValueError(f"`{shown(pair)}` must be name=value, once for a name; got {got}")
        given[name] = _value(name, text)
    return families.build(family, **given)


class _Sentence(click.Group):
    """Errors of the package are one sentence and exit code 1, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, IndexError, FileExistsError) as error:
            raise click.ClickException(str(error)) from error
        except (MemoryError, OverflowError) as error:
            raise click.ClickException("`size` must fit in memory; got more") from error


@click.group(cls=_Sentence)
@click.version_option(package_name="bistochastic")
def main() -> None:
    """Privacy by bistochastic matrices: exact laws, measured in bits."""


@main.command(name="demo")
@click.option("--beta", default=0.6, show_default=True, help="Share of perfect secrecy to buy.")
def _demo(beta: float) -> None:
    """What each family costs on the 2,201 people of the Titanic, and a release of them."""
    click.echo(demo.report(beta))


@main.group()
def key() -> None:
    """Keys: whoever holds one can undo the releases that were made with it."""


@key.command(name="new")
@click.argument("file", type=click.Path(path_type=Path))
def _key_new(file: Path) -> None:
    """Write a fresh key to FILE, which must not exist, and print its fingerprint."""
    fresh = bistochastic.Key.generate()
    try:
        fresh.to_file(file)
    except FileExistsError:
        raise
    except OSError as error:
        must = f"`{shown(file)}` must be a new file that can be written"
        raise ValueError(f"{must}; got {error.strerror}") from None
    click.echo(f"{shown(file)}: key {fresh.fingerprint}, readable by you alone")
    click.echo("Keep it as confidential as the original data; destroy it when no wave is due.")


@key.command(name="fingerprint")
@click.argument("file", type=click.Path(path_type=Path))
def _key_fingerprint(file: Path) -> None:
    """Print what identifies the key in FILE, which holds 64 hexadecimal digits."""
    click.echo(_key(file).fingerprint)


def _key(file: Path) -> bistochastic.Key:
    """The key in a file, of hexadecimal digits alone; what is to say of the file goes to stderr."""
    import warnings

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = bistochastic.Key.from_file(file)
        except OSError as error:
            must = f"`{shown(file)}` must be a file that can be read"
            raise ValueError(f"{must}; got {error.strerror}") from None
    for warning in said:
        click.echo(f"Warning: {warning.message}", err=True)
    return found


@main.command(name="paper")
@click.option("--markdown", is_flag=True, help="As the page docs/paper.md.")
def _paper(markdown: bool) -> None:
    """What the paper states, recomputed: as printed, as it holds, and why they differ."""
    click.echo(paper.markdown() if markdown else paper.report())


@main.command()
@click.argument("family")
@click.option("--size", help="Number of categories.")
@click.option("--beta", help="Share of perfect secrecy to reach.")
@click.option("--epsilon", help="Local differential privacy to keep (inf is allowed).")
@click.option("--keep", help="Probability of the truth, as 0.65 or 2/3.")
@click.option("--temperature", help="Temperature of a geometric or Gibbs matrix.")
@click.option("--k", help="Smallest class.")
@click.option("--i", help="One of two codes that a T-transform swaps.")
@click.option("--j", help="The other.")
@click.option("--sizes", help="Class sizes, as 3,3,4.")
@click.option("--targets", help="Reported code of each code, as 1,2,0.")
@click.option("--first-row", help="First row of a circulant, as 0.6,0.3,0.1 or 3,1,1.")
@click.option("--alphas", help="One alpha, or one fewer than the size, as 0.1,0.2.")
@click.option("--kernel", help="Kernel of a reflected matrix, as 0.5,0.25,0.")
@click.option("--cost", help="Costs of a Gibbs matrix: a CSV, NPY or NPZ file.")
@click.option("--array", help="Numbers to balance: a CSV, NPY or NPZ file.")
@click.option("--matrix", "matrices", multiple=True, help="A part of kron, mix or product.")
@click.option("--weights", help="Weights of a mix, as 0.9,0.1 or 2/3,1/3.")
@click.option("--prior", help="What an attacker believes beforehand, as 0.5,0.3,0.2.")
@click.option("--distance", help='"ordinal" for |u - v|, or a file: adds epsilon per unit of it.')
@click.option("--full", is_flag=True, help="Look at every entry, however long that takes.")
def inspect(
    family: str,
    matrices: Sequence[str],
    prior: str | None,
    distance: str | None,
    full: bool,
    **given: str | None,
) -> None:
    """What a matrix tells: FAMILY with its parameters, or a CSV, NPY or NPZ file.

    \b
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    bistochastic inspect mine.csv
    bistochastic inspect kron --matrix "uniform size=3" --matrix "k_anonymous size=12 k=3"
    bistochastic inspect geometric --size 12 --beta 0.6 --distance ordinal
    """
    if _is_file(family):
        matrix = families.dense(_table(family))
    else:
        values = {name: _value(name, text) for name, text in given.items() if text is not None}
        if matrices:
            values["matrices"] = [_from_words(words) for words in matrices]
        matrix = families.build(family, **values)
    measured = ("bits", "beta", "epsilon", "truthfulness", "ergodic")
    shown = [fact for fact in facts(matrix) if fact[0] not in measured]
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        click.echo(f"{name.ljust(width)}  {text}")
    belief = None if prior is None else _value("weights", prior)
    metric = None if distance is None else _distance(distance)
    _, *rows = repr(matrix.profile(cost=metric, prior=belief, full=full)).split("\n")
    click.echo("\n" + "\n".join(rows))


@main.command(name="compare")
@click.argument("matrices", nargs=-1)
@click.option("--size", default=12, show_default=True, help="Number of categories.")
@click.option("--beta", default=0.6, show_default=True, help="Share of perfect secrecy.")
def _compare(matrices: Sequence[str], size: int, beta: float) -> None:
    """Matrices side by side; without any, the families that reach a beta.

    \b
    bistochastic compare --size 12 --beta 0.6
    bistochastic compare "k_anonymous size=12 k=3" "tridiagonal alphas=0.3 size=12" mine.npy
    """
    if matrices:
        click.echo(compare(*(_from_words(words) for words in matrices)))
        return
    reached: list[Matrix] = []
    refused: dict[str, ValueError] = {}
    for name in ("randomized_response", "k_anonymous", "geometric", "tridiagonal"):
        try:
            reached.append(families.build(name, size=size, beta=beta))
        except ValueError as error:
            refused[name] = error
    if not reached:
        raise next(iter(refused.values()))
    click.echo(compare(bistochastic.identity(size), *reached, bistochastic.uniform(size)))
    for name, why in refused.items():
        click.echo(f"{name}: {why}")


@main.command()
@click.argument("matrix")
@click.option("--policy", default="bottleneck", show_default=True, help="bottleneck or any.")
@click.option("--bits", type=int, help="Move to the grid 2^-bits first.")
@click.option("--mass", default=1.0, show_default=True, help="Stop at this share of the whole.")
@click.option("--max-terms", type=int, help="Stop after this many terms.")
@click.option("--restarts", default=1, show_default=True, help="Ways to try; the shortest is kept.")
@click.option("--top", default=10, show_default=True, help="Terms to show.")
@click.option("--out", help="Write all terms to this NPZ or CSV file.")
def decompose(matrix: str, top: int, out: str | None, **options: Any) -> None:
    """A matrix as a weighted sum of permutations, exactly (Theorem 1).

    MATRIX is a CSV, NPY, NPZ or Matrix Market (.mtx) file, or a family with its parameters.

    \b
    bistochastic decompose mine.csv --out terms.npz
    bistochastic decompose counts.mtx --restarts 32
    bistochastic decompose "tridiagonal alphas=0.3 size=12"
    """
    if out is not None and not out.lower().endswith((".npz", ".csv")):
        got = shown(Path(out).suffix or "no ending")
        raise ValueError(f"`out` must end in .npz, .csv; got {got}")
    law = _from_words(matrix)
    if sys.stderr.isatty():
        with click.progressbar(length=1000, label="decomposing", file=sys.stderr) as bar:
            found = law.decompose(
                progress=lambda share: bar.update(int(1000 * share) - bar.pos), **options
            )
    else:
        found = law.decompose(**options)
    click.echo(found)
    if top > 0:
        header = ["term", "weight", "sum", "where 0, 1, 2, ... go"]
        click.echo(table(header, decomposition.largest(found, top)))
    if found.residual_weight:
        click.echo(f"left out: {float(found.residual_weight):.6g} of the whole")
    else:
        what = "the matrix" if found.matrix == law else "the matrix on its coarser grid"
        click.echo(f"the weights sum to 1 and the terms to {what}, exactly")
    click.echo(
        f"one permutation for a whole column hides {down(found.joint_entropy)} bits of all of it;\n"
        f"records randomized one by one hide {down(law.entropy_rate)} bits each"
    )
    if out is not None:
        try:
            if out.lower().endswith(".npz"):
                found.to_npz(out)
            else:
                decomposition.to_csv(found, out)
        except OSError as error:
            raise ValueError(f"`out` must be a file to write; got {error.strerror}") from None
        click.echo(f"written to {shown(out)}")
