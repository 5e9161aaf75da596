"""What a run found, in words that can be typed."""

from __future__ import annotations

from fuzz import case as cases
from fuzz.watch import Failure, Watch


def _said(seed: str, signature: str, failure: Failure) -> str:
    alone = f", {failure.alone}" if failure.alone else ""
    lines = [
        f"{signature.split(': ')[0]}: {failure.what}",
        f"  {failure.times} times{alone}",
        f"  python tests/fuzz --seed {seed} --case {failure.number}",
        *(f"    {line[:1000]}" for line in failure.source.splitlines()),
    ]
    return "\n".join(lines)


def text(watch: Watch) -> str:
    """Every failure once, those that happened most often first."""
    found = sorted(watch.found.items(), key=lambda item: -item[1].times)
    return "\n\n".join(_said(watch.seed, signature, failure) for signature, failure in found)


def whole(watch: Watch) -> int:
    """Print what a run found; 1 where it found anything."""
    if watch.found:
        print(text(watch))
    print(f"\nseed {watch.seed}: {watch.count:,} cases, {len(watch.found)} distinct failures")
    return 1 if watch.found else 0


def one(watch: Watch, number: int) -> int:
    """Show one case and run it, watched."""
    print(cases.make(watch.seed, number).source)
    watch.last = number + 1
    watch._child(number, 1, number + 1)
    for failure in watch.found.values():
        print(f"\n{failure.what}")
    print("\nfails" if watch.found else "\nholds")
    return 1 if watch.found else 0
