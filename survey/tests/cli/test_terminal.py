"""Text of others is shown as text: nothing of it moves a cursor or turns a line around."""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.cli import main
from bistochastic_survey.wording import shown, table, visible
from folded import tabulated

# ESC, BEL, a backspace, a C1 control, marks of direction, an isolate, a zero-width space and
# joiner, the Arabic letter mark, a soft hyphen, line and paragraph separators, a tag.
EVIL = (
    "e\x1b[31m\x07\x08\x9b\u202e\u202a\u2066\u2069\u200e\u200f\u200b\u200d\u061c\xad\u2028\u2029"
    "\U000e0041v"
)
KEY = bs.Key.from_bytes(bytes(range(32)))


def harmless(text: str, where: object = "") -> None:
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert not bad, (where, sorted(map(ascii, bad)), ascii(text)[:400])


def test_what_is_shown_is_harmless() -> None:
    every = "".join(map(chr, [*range(0x3000), *range(0xFE00, 0xFFFF), *range(0xE0000, 0xE0080)]))
    harmless(visible(every).replace("\\n", ""))
    assert "\n" not in visible(every)
    assert "\u3000" in visible("a\u3000b")
    assert visible("Zürich, 東京, Ω, नमस्ते") == "Zürich, 東京, Ω, नमस्ते"
    harmless(shown(EVIL))
    assert "`" not in shown("`")
    harmless(table([EVIL], [[EVIL], ["x\ny"]]))
    assert len(table([EVIL], [[EVIL], ["x\ny"]]).split("\n")) == 4


def plan_of(column: str = "c") -> sv.Plan:
    """A plan all of whose texts are foreign."""
    laws = {EVIL: bs.randomized_response(2, beta=0.6), "s": bs.identity(2)}
    return sv.Plan(
        [
            sv.Categorical(f"{EVIL}{column}", [EVIL, "b", "c"], "randomized_response", beta=0.6),
            sv.Categorical(f"{EVIL}g", [EVIL, "b"], groups=(f"{EVIL}k", laws), missing="keep"),
            sv.Joint(
                (f"{EVIL}u", f"{EVIL}v"), [[EVIL, "b"], ["x", "y"]], "blocks", sizes=[2, 1, 1]
            ),
        ],
        name=EVIL,
        keep=[f"{EVIL}k", f"{EVIL}id"],
        drop=[f"{EVIL}d"],
    )


def rows(n: int = 300) -> dict[str, list[Any]]:
    return {
        f"{EVIL}c": [EVIL, "b"] * (n // 2),
        f"{EVIL}g": [EVIL, "b"] * (n // 2),
        f"{EVIL}u": [EVIL, "b"] * (n // 2),
        f"{EVIL}v": ["x", "y"] * (n // 2),
        f"{EVIL}k": [EVIL, "s"] * (n // 2),
        f"{EVIL}id": list(range(n)),
        f"{EVIL}d": [EVIL] * n,
    }


def everything() -> Iterator[tuple[str, Any]]:
    plan = plan_of()
    yield "plan", plan
    yield "preview", plan.preview()
    for attribute in plan.attributes:
        yield "attribute", attribute
        if not isinstance(attribute, sv.Numeric):
            yield "strata", attribute.groups
            yield "labels", attribute.axes
    yield from plan.by_attribute.items()
    numeric = sv.Plan([sv.Numeric(EVIL, "k_anonymous", k=3)], name=EVIL)
    yield "numeric", numeric
    yield "numeric", numeric.attributes[0]
    yield "numeric", numeric.preview(20)
    release = plan.protect(rows(), key=KEY, release_name=EVIL)
    yield "release", release
    yield "certificate", release.certificate
    options: dict[str, Any] = {"ids": sv.Wave(f"{EVIL}id", after="first", pseudonym=f"{EVIL}p")}
    by_ids = sv.Plan(plan.attributes, name=EVIL, keep=[f"{EVIL}k"], drop=plan.drop)
    wave = by_ids.protect(rows(), key=KEY, **options)
    yield "wave", wave
    yield "ids", wave.certificate.ids
    audit = sv.audit(rows(), release)
    yield "audit", audit
    for name in type(audit).__dataclass_fields__:
        part = getattr(audit, name)
        for each in part if isinstance(part, tuple) else (part,):
            if not isinstance(each, str):
                yield f"audit.{name}", each
    estimate = sv.Release(release.data, plan).estimate(f"{EVIL}c", f"{EVIL}k", method="mle")
    yield "estimate", estimate
    yield "estimate", estimate.to_text()
    counts = tabulated(plan, {f"{EVIL}c": ["b"], "count": [3]}, f"{EVIL}c")
    yield "counts", counts
    yield "count", sv.Release(release.data, plan).count(where={f"{EVIL}c": EVIL})
    yield "source", bs.KeySource.file(EVIL, fingerprint="0" * 16)
    with pytest.raises(ValueError, match="`name` must be a string of printable") as error:
        bs.KeySource.env(EVIL, fingerprint="0" * 16)
    yield "no source", error.value


def test_reprs_and_pages_of_foreign_text_are_harmless(tmp_path: Path) -> None:
    for where, thing in everything():
        harmless(str(thing), where)
        harmless(repr(thing) if not isinstance(thing, str) else "", where)
        if hasattr(thing, "_repr_html_"):
            harmless(thing._repr_html_(), where)
    plan = plan_of()
    release = plan.protect(rows())
    release.report(tmp_path / "r.html")
    plan.report(tmp_path / "p.html")
    sv.audit(rows(), release).report(tmp_path / "a.html")
    for path in tmp_path.iterdir():
        harmless(path.read_text(encoding="utf-8"), path.name)


def test_plans_as_text_are_harmless() -> None:
    plan = plan_of()
    harmless(plan.to_toml())
    assert sv.Plan.from_toml(plan.to_toml()) == plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / EVIL.replace("\x08", "")
    place.mkdir()
    data = rows()
    text = ",".join(f'"{name}"' for name in data) + "\n"
    for row in zip(*data.values(), strict=True):
        text += ",".join(f'"{cell}"' for cell in row) + "\n"
    (place / f"{EVIL}.csv").write_text(text, encoding="utf-8", newline="")
    (place / "plan.toml").write_text(plan_of().to_toml(), encoding="utf-8")
    (place / "bad.toml").write_text(f'version = 1\nname = "{visible(EVIL)}"', encoding="utf-8")
    other = plan_of("other").to_toml()
    (place / "other.toml").write_text(other, encoding="utf-8")
    book = "column,category\n" + "".join(f'"{EVIL}{c}","{EVIL}"\n"{EVIL}{c}",b\n' for c in "cguvk")
    (place / f"{EVIL}book.csv").write_text(book, encoding="utf-8", newline="")
    return place


def run(*words: object) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = CliRunner().invoke(main, [str(word) for word in words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    harmless(found.output, words)
    for warning in caught:
        harmless(str(warning.message), words)
    return found


def test_the_shell_shows_foreign_text_harmlessly(folder: Path) -> None:
    source, out = folder / f"{EVIL}.csv", folder / f"{EVIL}out.csv"
    book, plan = folder / f"{EVIL}book.csv", folder / "plan.toml"
    beta = ("--beta", "0.6")
    assert run("plan", source, "--codebook", book, *beta).exit_code == 0
    assert (
        run("plan", source, "--codebook", book, *beta, "--out", folder / "new.toml").exit_code == 0
    )
    assert run("plan", source, "--categories-from-data", *beta, "--name", EVIL).exit_code == 0
    assert run("inspect", plan).exit_code == 0
    made = run("protect", source, out, "--plan", plan)
    assert made.exit_code == 0, made.output
    certificate = f"{out}.certificate.json"
    assert run("inspect", certificate).exit_code == 0
    assert run("report", certificate, "--out", folder / f"{EVIL}r.html").exit_code == 0
    by = f"{EVIL}c"
    for form in ("table", "json"):
        found = run("estimate", out, "--plan", plan, "--by", by, "--format", form)
        assert found.exit_code == 0, found.output
    where = f"{EVIL}u={EVIL}"
    assert run("estimate", out, "--plan", plan, "--by", by, "--where", where).exit_code != 0
    audited = run("audit", source, out, "--plan", plan)
    assert audited.exit_code == 0, audited.output
    assert run("audit", source, out, "--plan", plan, "--out", folder / "a.html").exit_code == 0


def test_errors_show_foreign_text_harmlessly(folder: Path) -> None:
    source, plan = folder / f"{EVIL}.csv", folder / "plan.toml"
    out = folder / "out.csv"
    failing: list[tuple[object, ...]] = [
        ("protect", source, out, "--plan", folder / "other.toml"),
        ("protect", source, out, "--plan", folder / "bad.toml"),
        ("protect", source, out, "--plan", folder / f"{EVIL}none.toml"),
        ("protect", folder / EVIL, out, "--plan", plan),
        ("protect", source, folder / f"x.{EVIL}", "--plan", plan),
        ("protect", source, folder / EVIL / "x.csv", "--plan", plan),
        ("protect", source, out, "--plan", plan, "--key-file", folder / EVIL),
        ("protect", source, out, "--plan", plan, "--after", EVIL),
        ("estimate", source, "--plan", plan, "--by", EVIL),
        ("estimate", source, "--plan", plan, "--by", f"{EVIL}c", "--where", f"{EVIL}=1"),
        ("estimate", source, "--plan", plan, "--by", f"{EVIL}c", "--weights", EVIL),
        ("estimate", source, "--plan", plan, "--by", f"{EVIL}c", "--method", EVIL),
        ("audit", source, source, "--plan", folder / "other.toml"),
        ("inspect", EVIL),
        ("inspect", f"{EVIL}.toml"),
        ("inspect", folder / f"{EVIL}none.json"),
        ("report", plan, "--out", folder / f"x.{EVIL}"),
        ("plan", folder / f"{EVIL}.none"),
        ("plan", source, "--codebook", source),
        ("plan", source, "--categories-from-data", "--keep", f"{EVIL}?"),
        (EVIL,),
        ("inspect", f"--{EVIL}"),
        (f"--{EVIL}", "inspect"),
        ("plan", source, "--beta", EVIL),
        ("plan", source, "--missing", EVIL),
    ]
    for words in failing:
        assert run(*words).exit_code != 0, words


def test_a_foreign_certificate_is_shown_harmlessly(folder: Path) -> None:
    certificate = plan_of().protect(rows(), key=KEY, release_name=EVIL).certificate
    data = json.loads(certificate.to_json())
    data |= {"package": f"bistochastic {EVIL}", "engine": EVIL}
    data["key"]["fingerprint"] = EVIL
    text = json.dumps(data)
    (folder / "c.json").write_text(text, encoding="utf-8")
    run("inspect", folder / "c.json")
    run("report", folder / "c.json", "--out", folder / "c.html")
    try:
        found = sv.Certificate.from_json(text)
    except ValueError as error:
        harmless(str(error))
        return
    for shown_as in (str(found), repr(found), found._repr_html_()):
        harmless(shown_as)


def test_progress_of_the_toolkit_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    from bistochastic_survey import progress

    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr(progress, "_has_place", lambda _asked: True)
    monkeypatch.setattr(progress, "_draw", lambda state, _over, _delay: drawn.append(state))
    with progress.steps() as tell:
        tell(EVIL, 0.5)
    assert drawn[0]["completed"] == 0.5
    harmless(drawn[0]["description"])


def test_data_on_a_screen_are_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = folder / "out.csv"
    run("protect", folder / f"{EVIL}.csv", out, "--plan", folder / "plan.toml")
    words = ("estimate", out, "--plan", folder / "plan.toml", "--by", f"{EVIL}c", "--format", "csv")
    piped = CliRunner().invoke(main, [str(word) for word in words])
    assert "\u202e" in piped.output
    from bistochastic_survey.cli import inputs

    class Screen:
        class stdout:  # noqa: N801
            isatty = staticmethod(lambda: True)

    monkeypatch.setattr(inputs, "sys", Screen)
    harmless(CliRunner().invoke(main, [str(word) for word in words]).output)


def test_warnings_and_errors_of_the_package_are_harmless() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sv.Plan.for_frame({f"{EVIL}a": [EVIL, "b"], f"{EVIL}t": str}, beta=0.6)
    assert caught
    for warning in caught:
        harmless(str(warning.message))
    plan = plan_of()
    strange: dict[str, Any] = {EVIL: 1}
    calls: list[Any] = [
        lambda: plan.protect({EVIL: [1]}),
        lambda: plan.protect(rows() | {f"{EVIL}c": ["?"] * 300}),
        lambda: sv.Release(rows(), plan).estimate(EVIL),
        lambda: sv.Release(rows(), plan).estimate(f"{EVIL}c", where={EVIL: 1}),
        lambda: plan.responder(key=KEY, after="first").one({EVIL: 1}, id=1),
        lambda: sv.Plan([*plan.attributes, *plan.attributes]),
        lambda: sv.Plan.from_json(json.dumps({"version": 1, EVIL: 1})),
        lambda: sv.Plan.from_toml(f'"{visible(EVIL)}" = 1'),
        lambda: sv.Certificate.from_json(json.dumps({EVIL: 1})),
        lambda: sv.Categorical(EVIL, [EVIL, EVIL], "uniform"),
        lambda: sv.Categorical("a", ["x"], EVIL),  # type: ignore[arg-type]
        lambda: sv.Categorical("a", ["x"], "uniform", **strange),
        lambda: bs.Matrix.from_json(json.dumps({EVIL: 1})),
        lambda: bs.Key.from_file(EVIL),
        lambda: tabulated(plan, {f"{EVIL}c": [EVIL, "?"], "count": [1, 1]}, f"{EVIL}c"),
        lambda: plan.report(f"x.{EVIL}"),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError, OSError)) as refused:
            call()
        harmless(str(refused.value), refused.value)


def test_a_foreign_certificate_forges_no_lines() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "identity")])
    data = json.loads(plan.protect({"sex": ["F", "M"]}).certificate.to_json())
    data["package"] += "\n\nPublished unchanged:\n  nothing\n"
    read = sv.Certificate.from_json(json.dumps(data))
    assert str(read).count("\nPublished unchanged:\n") == 1
    assert "\n  nothing" not in str(read)
