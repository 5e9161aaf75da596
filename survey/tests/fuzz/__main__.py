"""`make fuzz`: `[--seconds 60] [--seed S]` or, to see one case again, `--seed S --case N`."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[1]), str(_HERE.parents[3] / "tests")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, help="so many cases instead of so many seconds")
    parser.add_argument("--seed", default="", help="a fresh one by default")
    parser.add_argument("--case", type=int, help="run only this one, and show it")
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that one call may take")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--home", help=argparse.SUPPRESS)
    parser.add_argument("--range", type=int, nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """What a child runs, one case, or a whole run."""
    given = _arguments()
    if given.child is not None:
        from fuzz import child

        child.main(given.seed, given.child, Path(given.home), *given.range)
        return 0
    seed = given.seed or secrets.token_hex(4)
    from fuzz import case
    from fuzz.watch import Watch, report

    if given.case is not None:
        print(case.make(seed, given.case).source)
        watch = Watch(seed, given.limit)
        watch._child(given.case, 1, given.case + 1)
        for failure in watch.found.values():
            print(f"\n{failure.what}")
        print("\nfails" if watch.found else "\nholds")
        return 1 if watch.found else 0
    until = float("inf") if given.cases else time.monotonic() + given.seconds
    watch = Watch(seed, given.limit, until, given.cases or sys.maxsize)
    print(f"seed {seed}", flush=True)
    watch.run(given.children)
    watch.again()
    print(report(watch))
    print(f"\nseed {seed}: {watch.count:,} cases, {len(watch.found)} distinct failures")
    return 1 if watch.found else 0


if __name__ == "__main__":
    sys.exit(main())
