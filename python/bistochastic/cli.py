"""The command line: parse, call, print."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

import bistochastic
from bistochastic import _core, demo, families, paper
from bistochastic.report import compare, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic._core import Matrix

#: Parameters of the families, each with its type and the families that have it.
_NUMBERS = ("size", "k", "epsilon", "beta", "keep")
_VECTORS = ("sizes", "targets", "first_row", "alphas")


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


def _vector(text: str) -> list[Any] | int | float | Fraction:
    """Numbers separated by commas; one without a comma stands for itself."""
    numbers = [_number(part) for part in text.split(",") if part]
    return numbers if "," in text else numbers[0]


def _parameters(given: dict[str, str | None]) -> dict[str, Any]:
    values = {name: text for name, text in given.items() if text is not None}
    return {
        name: _number(text) if name in _NUMBERS else _vector(text) for name, text in values.items()
    }


def _from_words(words: str) -> Matrix:
    """A matrix from "family name=value name=value"."""
    family, *pairs = words.split()
    given: dict[str, str | None] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in (*_NUMBERS, *_VECTORS):
            known = ", ".join((*_NUMBERS, *_VECTORS))
            raise ValueError(f"`{pair}` must be name=value with a name from {known}; got another")
        given[name] = text
    return families.build(family, **_parameters(given))


class _Sentence(click.Group):
    """Errors of the package are one sentence and exit code 1, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, IndexError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Sentence)
@click.version_option(package_name="bistochastic")
def main() -> None:
    """Privacy by bistochastic matrices: exact laws, measured in bits."""


@main.command(name="demo")
@click.option("--beta", default=0.6, show_default=True, help="Share of perfect secrecy to buy.")
def _demo(beta: float) -> None:
    """What each family costs, on the 2,201 people of the Titanic."""
    click.echo(demo.report(beta))


@main.command(name="paper")
def _paper() -> None:
    """The paper's Table 1: as printed, as its text implies, and what gives the print."""
    click.echo(paper.report())


@main.command()
@click.argument("family", type=click.Choice(_core.families()))
@click.option("--size", help="Number of categories.")
@click.option("--beta", help="Share of perfect secrecy to reach.")
@click.option("--epsilon", help="Local differential privacy to keep (inf is allowed).")
@click.option("--keep", help="Probability of the truth, as 0.65 or 2/3.")
@click.option("--k", help="Smallest class.")
@click.option("--sizes", help="Class sizes, as 3,3,4.")
@click.option("--targets", help="Reported code of each code, as 1,2,0.")
@click.option("--first-row", help="First row of a circulant, as 0.6,0.3,0.1 or 3,1,1.")
@click.option("--alphas", help="One alpha, or one fewer than the size, as 0.1,0.2.")
def inspect(family: str, **given: str | None) -> None:
    """What a matrix says of itself.

    \b
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    """
    shown = facts(families.build(family, **_parameters(given)))
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        click.echo(f"{name.ljust(width)}  {text}")


@main.command(name="compare")
@click.argument("matrices", nargs=-1)
@click.option("--size", default=12, show_default=True, help="Number of categories.")
@click.option("--beta", default=0.6, show_default=True, help="Share of perfect secrecy.")
def _compare(matrices: Sequence[str], size: int, beta: float) -> None:
    """Matrices side by side; without any, the families that reach a beta.

    \b
    bistochastic compare --size 12 --beta 0.6
    bistochastic compare "k_anonymous size=12 k=3" "tridiagonal alphas=0.3 size=12"
    """
    if matrices:
        click.echo(compare(*(_from_words(words) for words in matrices)))
        return
    reached: list[Matrix] = []
    refused: dict[str, ValueError] = {}
    for name in ("randomized_response", "k_anonymous", "tridiagonal"):
        try:
            reached.append(families.build(name, size=size, beta=beta))
        except ValueError as error:
            refused[name] = error
    if not reached:
        raise next(iter(refused.values()))
    click.echo(compare(bistochastic.identity(size), *reached, bistochastic.uniform(size)))
    for name, why in refused.items():
        click.echo(f"{name}: {why}")
