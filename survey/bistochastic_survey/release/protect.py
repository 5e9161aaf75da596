"""``plan.protect``: a table in, a protected table and its certificate out."""

from __future__ import annotations

from bistochastic import uniform
from bistochastic_survey.plan.plan import FrameT, Plan
from bistochastic_survey.progress import Progress, watched
from bistochastic_survey.release.embedded import noted
from bistochastic_survey.release.options import Options
from bistochastic_survey.release.release import Release
from bistochastic_survey.release.run import Run
from bistochastic_survey.table.frames import opened


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
        order = uniform(rows).sample_permutation() if options.shuffle and rows else None
        data, certificate = run.drawn(piece, order), run.certificate(rows)
        found = Release(noted(data, certificate), certificate)
        done(parts)
        return found
