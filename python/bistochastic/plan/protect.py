"""``plan.protect``: a table in, a protected table and its certificate out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Unpack

from bistochastic import families
from bistochastic.adapters.frames import opened
from bistochastic.plan.carried import noted
from bistochastic.plan.keywords import FrameT, ReportOptions, taking
from bistochastic.plan.run import Run
from bistochastic.progress import watched

if TYPE_CHECKING:
    from os import PathLike

    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.options import Options
    from bistochastic.plan.plan import Plan
    from bistochastic.progress import Progress


@dataclass(frozen=True)
class Release(Generic[FrameT]):
    """A protected table and its certificate.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.protect({"sex": ["F", "M", "M"]})
    <Release of 3 records, 1 column: plan `plan`, beta 0.6>
    """

    data: FrameT
    certificate: Certificate

    @property
    def plan(self) -> Plan:
        """The plan that protected the table, as the certificate has it."""
        return self.certificate.plan

    @taking(ReportOptions)
    def report(self, path: str | PathLike[str], **options: Unpack[ReportOptions]) -> None:
        """Write an HTML report of what was done and hidden, for a board, a lawyer or a journal.

        ``path`` ends in ``.html``. The page is one file that needs nothing else. It is made from
        the certificate only, without reading a record. An existing file is replaced once the new
        one is complete.

        * ``title``: the title of the page. By default the name of the plan.
        * ``publisher``, ``date``, ``contact``: printed below the title, as given.
        * ``design_effect``: stated errors are for a simple random sample. If your design multiplies
          variances, e.g. up to 4 for households of four, say by how much. Errors grow by its root.

        >>> import bistochastic as bs, pathlib, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.protect({"sex": ["F", "M", "M"]}).report(page, publisher="Statistics Office")
        >>> "Statistics Office" in page.read_text(encoding="utf-8")
        True
        """
        self.certificate.report(path, **options)

    def __repr__(self) -> str:
        return f"<Release {self.certificate._line}>"

    def _repr_html_(self) -> str:
        from bistochastic import markup

        # Only the certificate: rows are shown on request.
        where = markup.element("p", "The protected table is in ", markup.element("code", "data"))
        return markup.fragment(where, *self.certificate._shown())


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
