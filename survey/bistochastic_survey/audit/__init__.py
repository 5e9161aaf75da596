"""Attacks on one's own release: the only folder that sees original and release together.

``pairing`` says which row is whose, ``codes`` reads both tables, and draws releases that could have
been. The attacks are ``guesses`` of a value, ``linkage`` of a row with a person, ``scenarios`` of
intruders, ``pooling`` of records that belong together, and ``unprotected`` columns, numbers and the
order of rows; ``attack`` runs all of them. ``results`` is what comes out, ``findings`` what to act
on, and ``sentences`` shows it.

Nothing here enters a release, a certificate, a log or a warning. The function has the name of the
folder, so this file imports nothing that the package would have to wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bistochastic import Key, KeySource
    from bistochastic_survey import Release
    from bistochastic_survey.audit.results import Audit
    from bistochastic_survey.progress import Progress


def audit(
    original: Any,
    release: Release[Any],
    *,
    knows: Any = None,
    wants: Any = None,
    also: Any = (),
    id_column: str | None = None,
    pseudonym: str | None = None,
    key: Key | KeySource | None = None,
    shuffled: bool | None = None,
    confidence: float = 0.95,
    targets: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Audit:
    """Attack your own release, and compare the results with the predictions.

    ``original`` is the table before :meth:`Plan.protect`, which returned the ``release``. For a
    table that came without a certificate, ``Release(table, plan)`` makes one. What comes back is
    about the data, so keep it as confidential as these.

    Rows are matched by their order. ``id_column`` matches them by a column of both tables. If the
    release has a ``pseudonym`` in its place, the ``key`` of the release is needed, too. A release
    with a certificate knows these names. Shuffled rows are matched by unprotected columns that
    together are unique; without such columns, only predictions are made. ``shuffled=True`` says
    that a table without a certificate was shuffled. Rows that do not fit the plan raise an error.

    ``knows`` and ``wants`` describe an intruder: columns that are known of a person, and columns
    to guess. ``knows={"age": 2}`` is a number known to within 2, and ``knows=[]`` someone who knows
    only that the person is in the release. A list of such lists is several intruders. Without
    ``wants``, all protected columns that are not known are guessed.

    ``also`` lists other releases of the same file, whose reported values are pooled with these. A
    pair ``(original, release)`` in it is another wave, matched by ``id_column``. Rows of both are
    linked by their reported values, too: the last entries of ``linkages``.

    Up to 20,000 records, all rows are traced to people; of more, 2,000 random ones, or so many as
    ``targets`` says. ``seed`` chooses them. ``confidence`` is that of the intervals. ``progress``
    is as in :meth:`Plan.protect`.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> people = sv.titanic()
    >>> levels = {"class": ["1st", "2nd", "3rd", "crew"], "sex": ["male", "female"],
    ...           "age": str, "survived": str}
    >>> plan = sv.Plan.for_frame(levels, beta=0.6, keep=["age"], drop=["survived"])
    >>> key = bs.Key.insecure(1)
    >>> release = plan.protect(people, key=key, release_name="demo", allow_insecure=True)
    >>> found = sv.audit(people, release)
    >>> [round(x, 2) for x in (found.guesses[1].rate.observed, found.guesses[1].rate.predicted)]
    [0.86, 0.85]
    """
    from bistochastic_survey.audit.attack import attack

    matching = {"id_column": id_column, "pseudonym": pseudonym, "key": key, "shuffled": shuffled}
    asked = {"knows": knows, "wants": wants, "also": also}
    return attack(original, release, matching, asked, confidence, targets, seed, progress)
