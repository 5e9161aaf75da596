"""What notebooks show: every object has HTML, which escapes all labels and tells no value."""

from __future__ import annotations

import functools
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.audit.results import Audit
from folded import tabulated
from returned import CLASSES

NASTY = "<script>alert('x')</script>"
SECRET = "planted-secret-5417"
NUMBER = 54170093
BYTES = bytes(range(7, 39))
# Classes that have no HTML of their own, and why.
EXCEPTIONS = dict.fromkeys(
    ("Blocks", "Column", "Ids", "Rows", "RowsPerId"),
    "tools hand them over, and nobody looks",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> bs.KeySource:
    path = tmp_path_factory.mktemp("keys") / "survey.key"
    bs.Key.from_bytes(BYTES).to_file(path)
    return bs.KeySource.file(path)


def labelled() -> list[str]:
    return [NASTY, 'a"b', "c&d"]


def plan() -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical(NASTY, labelled(), "randomized_response", beta=0.6),
            sv.Joint(("a", "b"), [labelled(), [1, 2]], "randomized_response", beta=0.5),
            sv.Numeric("income", "k_anonymous", k=5),
        ],
        name=NASTY,
        keep=["town"],
        drop=["name"],
    )


def table(rows: int = 300) -> dict[str, Any]:
    """Values that must not be shown: in clear, dropped, or moved."""
    return {
        NASTY: [labelled()[i % 3] for i in range(rows)],
        "a": [labelled()[i % 3] for i in range(rows)],
        "b": [1 + i % 2 for i in range(rows)],
        "income": [NUMBER + i for i in range(rows)],
        "town": [f"{SECRET}-{i}" for i in range(rows)],
        "name": [f"{SECRET}-{i}" for i in range(rows)],
    }


def simple() -> sv.Plan:
    return sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])


def people() -> dict[str, Any]:
    return {"sex": ["F", "M", "M"] * 100, "person": [f"{SECRET}-{i}" for i in range(300)]}


@pytest.fixture(scope="module")
def objects(source: bs.KeySource, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each class, with labels and values that would show. To show one must not change it."""
    m = bs.randomized_response(3, beta=0.6)
    by_ids = simple().protect(
        people(), key=source.read(), ids=sv.Wave("person", after="first", pseudonym="who")
    )
    strata = sv.Categorical(
        "sex", ["F", "M"], groups=(NASTY, {NASTY: bs.uniform(2), "s": bs.identity(2)})
    )
    released = plan().protect(table())
    records = {"age": [NUMBER, 61, 31, 60], "ill": [SECRET, SECRET, "x", "x"]}
    masked = [float(NUMBER), 1.0, 2.0]
    audited = audit_of_numbers()
    ledger = sv.Ledger(tmp_path_factory.mktemp("ledger") / "releases")
    ledger.add(released.certificate, dataset="survey")
    labels = sv.Plan([plan().attributes[0], plan().attributes[1]], keep=["town", "income"])
    waves = {name: values for name, values in table().items() if name != "name"}
    regression = sv.Release(waves, labels).regress("income ~ b", model="linear")
    return {
        "Audit": audited,
        "Blocks": bs.backend.Blocks(),
        "Column": bs.backend.Column(NASTY, [2, 1], bs.uniform(3)),
        "Ids": bs.backend.Ids([SECRET, str(NUMBER)]),
        "Rows": bs.backend.Rows(),
        "RowsPerId": bs.backend.RowsPerId(1),
        "Design": sv.Design(weights=NASTY),
        "Wave": sv.Wave(NASTY, after="first"),
        "Central": simple().protect({"sex": ["F", "M"] * 50}, shuffle=True).certificate.central,
        "Channel": bs.Channel(warner=0.75),
        "Analysis": sv.Analysis(table(), [sv.Observed(NASTY, labelled(), bs.uniform(3))]),
        "Observed": sv.Observed(NASTY, labelled(), bs.uniform(3)),
        "Counts": tabulated(plan(), [{NASTY: NASTY, "count": 5}], NASTY),
        "Finding": next(each for each in audited.findings if each.columns == (NASTY,)),
        "Pooled": sv.audit(
            waves, labels.protect(waves), also=[labels.protect(waves)], targets=1
        ).pooled[0],
        "Scenario": sv.audit(waves, labels.protect(waves), knows=["town"], targets=1).scenarios[0],
        "Disclosure": audited.disclosures[0],
        "Giveaway": audited.giveaways[0],
        "Guess": audited.guesses[0],
        "Ledger": ledger,
        "Linkage": audited.linkages[0],
        "Neighbours": audited.neighbours[0],
        "Rate": audited.guesses[0].rate,
        "Allocation": sv.allocate([3, 4], epsilon=2)[0],
        "Choice": bs.strongest(3, records=4000, tolerance=0.05)[0],
        "Collector": plan().collector(NASTY),
        "Strongest": bs.strongest(3, records=4000, tolerance=0.05),
        "Anatomy": bs.masking.anatomize(records, quasi_identifiers=["age"], sensitive=["ill"], k=2),
        "Axis": m.estimate(counts=[3, 2, 1], categories=labelled()).axes[0],
        "Bits": plan().categorical,
        "Binned": sv.Binned(NASTY, [0, 1, 2], "uniform"),
        "ByIds": by_ids.certificate.ids,
        "Categorical": plan().attributes[0],
        "Certificate": released.certificate,
        "Classes": bs.masking.k_anonymous_classes(records, quasi_identifiers=["age", "ill"], k=2),
        "Comparison": bs.compare(m, bs.k_anonymous(6, k=3)),
        "Decomposition": bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]).decompose(),
        "Displacement": bs.k_anonymous(1000, share=0.05).displacement(),
        "Entry": m.profile()["epsilon"],
        "Estimate": m.estimate(counts=[60, 20, 10], categories={NASTY: labelled()}),
        "BatchFunction": simple().batch_function(key=source, ids=sv.Wave("person", after="first")),
        "Responder": simple().responder(key=source, after="first"),
        "PlannedColumn": simple().column("sex"),
        "ColumnFunction": simple().column("sex").function(key=source),
        "Guarantee": bs.guarantee([m, m], individuals=bs.uniform(5)),
        "Independence": sv.Release(waves, labels).test_independence(NASTY, "town"),
        "Joint": plan().attributes[1],
        "Key": source.read(),
        "KeySource": source,
        "Matrix": m,
        "Measures": plan().by_attribute[NASTY],
        "Microaggregation": bs.masking.microaggregate([float(NUMBER), 1.0, 2.0, 9.0], k=2),
        "Numeric": plan().attributes[2],
        "PermutationDistance": bs.masking.permutation_distance(masked, masked),
        "Plan": plan(),
        "Point": bs.tradeoff(3, betas=[0.5], families={NASTY: lambda _n, _b: m})[0],
        "Tradeoff": bs.tradeoff(3, betas=[0.5, 0.7], families={NASTY: lambda _n, _b: m}),
        "Preview": plan().preview(1000),
        "Profile": bs.k_anonymous(6, k=3).profile(),
        "ProtectedBatches": simple().protect_batches(pa.table({"sex": ["F", "M"]})),
        "Quantity": sv.Release({"sex": ["F"] * 60 + ["M"] * 40}, simple()).count({"sex": "F"}),
        "Ratio": sv.Release({"sex": ["F"] * 60 + ["M"] * 40}, simple()).ratio({"sex": "F"}),
        "Regression": regression,
        "Release": released,
        "ReverseMap": bs.masking.reverse_map(masked, masked),
        "Shuffled": bs.shuffled(m, 1000),
        "Spent": ledger.spent[0],
        "Groups": strata.groups,
        "TTransforms": bs.theory.t_transforms([5, 3, 1], [4, 3, 2]),
        "Transitions": sv.Release(waves, labels).transitions(
            sv.Release(waves, labels), NASTY, id_column="town", memoised=True
        ),
        "Unit": sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform", unit=NASTY)], drop=[NASTY])
        .protect({"sex": ["F"], NASTY: [SECRET]}, count_units=True)
        .certificate.units[0],
    }


@functools.cache
def audit_of_numbers() -> Audit:
    """An audit is about the data, yet shows no single value that the plan does not declare."""
    rows = 300
    frame = {
        NASTY: [labelled()[i % 3] for i in range(rows)],
        "sex": ["F", "M"] * (rows // 2),
        "income": [float(NUMBER + i) for i in range(rows)],
        "wealth": [float(NUMBER + i * i) for i in range(rows)],
        "town": [f"{SECRET}-{i % 7}" for i in range(rows)],
        "person": [f"{SECRET}-{i}" for i in range(rows)],
    }
    made = sv.Plan(
        [
            sv.Categorical(NASTY, labelled(), "randomized_response", beta=0.6),
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.5),
            sv.Numeric("income", "k_anonymous", k=5),
            sv.Numeric("wealth", "k_anonymous", k=5),
        ],
        keep=["town", "person"],
    )
    return sv.audit(frame, made.protect(frame), id_column="person")


every_class = pytest.mark.parametrize("name", CLASSES)


class Read(HTMLParser):
    """Tags in order, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self._open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._open.append(tag)
        # Nothing runs, and nothing comes from elsewhere.
        assert not [n for n, _ in attrs if n.startswith("on") or n in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {
    "div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "strong", "ul",
    "li", "code", "figure", "figcaption", "span", "pre",
}  # fmt: skip


@every_class
def test_every_class_has_html(name: str, objects: dict[str, Any]) -> None:
    if name in EXCEPTIONS:
        assert not hasattr(CLASSES[name], "_repr_html_")
        return
    found = objects[name]
    assert type(found).__name__ == name
    page = found._repr_html_()
    read = Read(page)
    assert read.tags <= ALLOWED
    assert read.text.strip()
    assert len(page) < 60_000


def test_the_objects_are_of_every_class(objects: dict[str, Any]) -> None:
    assert set(objects) == set(CLASSES) > set(EXCEPTIONS)


@every_class
def test_labels_are_escaped_and_no_value_is_shown(name: str, objects: dict[str, Any]) -> None:
    found = objects[name]
    secrets = (SECRET, str(NUMBER), str(NUMBER + 1), BYTES.hex(), repr(BYTES), str(list(BYTES)))
    page = "" if name in EXCEPTIONS else found._repr_html_()
    for text in (repr(found), str(found), page):
        for secret in secrets:
            assert secret not in text
    assert "<script" not in page.lower()
    # Where a label of that name is shown at all, it is shown as it is spelled.
    named = {
        "Analysis",
        "Audit",
        "Axis",
        "Binned",
        "Categorical",
        "Certificate",
        "Counts",
        "Design",
        "Estimate",
        "Guess",
        "Wave",
        "Linkage",
        "Measures",
        "Observed",
        "Neighbours",
        "Plan",
        "Point",
        "Preview",
        "Release",
        "Groups",
        "Independence",
        "Tradeoff",
        "Ledger",
        "Spent",
        "Transitions",
        "Unit",
        "Collector",
        "Finding",
        "Pooled",
        "Scenario",
    }
    assert ("&lt;script&gt;" in page) == (name in named)


def test_long_lists_are_cut() -> None:
    levels = [f"level {i}" for i in range(5000)]
    attribute = sv.Categorical("x", levels, "randomized_response", beta=0.6)
    strata = {f"s{i}": bs.uniform(2) for i in range(500)}
    by = sv.Categorical("y", ["F", "M"], groups=("region", strata))
    m = bs.randomized_response(5000, beta=0.6)
    estimate = m.estimate(counts=np.arange(5000), categories=levels)
    shown: list[Any] = [
        attribute, attribute.axes[0], by, by.groups, m, estimate, estimate.axes[0],
        bs.uniform(400).decompose(), sv.Plan([attribute, by], keep=["region"]),
    ]  # fmt: skip
    for each in shown:
        assert len(repr(each)) < 4000
        assert len(each._repr_html_()) < 20_000
        assert "level 2500" not in each._repr_html_()


def test_importing_the_package_stays_light() -> None:
    code = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import bistochastic as bs\n"
        "repr(bs.uniform(3))\n"
        "print(*{m.split('.')[0] for m in set(sys.modules) - before})\n"
        "print('html' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, light = said.stdout.splitlines()
    assert set(modules.split()) <= {"bistochastic", "numpy", "__future__", "threading"}
    assert light == "False"


def test_a_release_shows_its_certificate(source: bs.KeySource, objects: dict[str, Any]) -> None:
    release = objects["Release"]
    page = release._repr_html_()
    for sentence in (*release.certificate.notes, "the order of the rows"):
        assert sentence in Read(page).text
    assert Path(source.place).read_text().strip() not in page
