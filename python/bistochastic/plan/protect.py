"""``plan.protect``: a table in, a protected table and its certificate out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic import families
from bistochastic.adapters.frames import opened
from bistochastic.plan.carried import noted
from bistochastic.plan.release import Release
from bistochastic.plan.run import Run
from bistochastic.progress import watched

if TYPE_CHECKING:
    from bistochastic.plan.options import Options
    from bistochastic.plan.plan import FrameT, Plan
    from bistochastic.progress import Progress


def protect(
    plan: Plan, frame: FrameT, options: Options, progress: Progress = None
) -> Release[FrameT]:
    """Protect a table: see :meth:`Plan.protect`."""
    with watched("protecting", progress) as tell:
        parts, now = sum(attribute.steps for attribute in plan.attributes), 0

        def done(more: int) -> None:
            nonlocal now
            now = min(now + more, parts)
            if tell is not None:
                tell(now / parts)

        table = opened(frame)
        rows = table.rows
        run = Run(plan, table.names, options, rows=rows, done=done)
        piece = run.read(table)
        order = families.uniform(rows).sample_permutation() if options.shuffle and rows else None
        data, certificate = run.drawn(piece, order), run.certificate(rows)
        found = Release(noted(data, certificate), certificate)
        done(parts)
        return found
