"""Pages in a real browser: ``make test-browser``. Skipped where selenium is not installed.

Chromium opens the pages from files. Every request that it makes and every word on its console is
looked at; axe-core judges contrast, names and landmarks, on light and on dark. With
``BISTOCHASTIC_SCREENSHOTS`` pictures of the pages are left in that folder.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv

webdriver = pytest.importorskip("selenium.webdriver")

NASTY = "<script>window.planted = 1</script>"
WIDTHS = (1100, 800, 390)
SCHEMES = ("light", "dark")
PLANTED = ["report", "plan"]
NAMES = [*PLANTED, "audit"]


def program(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    assert found is not None, (
        f"none of {', '.join(names)} is installed: make test-browser INSTALL=1"
    )
    return found


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # A driver that is named is not searched for on the net.
    service = webdriver.ChromeService(program("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in NAMES}
    plan = census()
    plan.protect(people(400), shuffle=True).report(found["report"])
    plan.report(found["plan"])
    frame = people(400)
    own = sv.Plan(plan.attributes[:2], drop=[c for c in frame if c not in ("education", "sex")])
    sv.audit(frame, own.protect(frame)).report(found["audit"])
    return found


def census() -> sv.Plan:
    """A plan like one for Adult: many categories, few, classes, numbers, and a hostile name."""
    education = [NASTY, "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
                 "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school",
                 "Doctorate"]  # fmt: skip
    return sv.Plan(
        [
            sv.Categorical("education", education, "geometric", beta=0.5),
            sv.Categorical("sex", ["Female", "Male"], "randomized_response", beta=0.6),
            sv.Categorical("workclass", [f"class {i}" for i in range(9)], "k_anonymous", k=3),
            sv.Numeric("age", "k_anonymous", k=5),
        ],
        name="census",
        keep=["relationship"],
        drop=["name"],
    )


def people(n: int) -> dict[str, list[Any]]:
    levels = census().attributes[0].categories  # type: ignore[union-attr]
    return {
        "education": [levels[i % 16] for i in range(n)],
        "sex": [("Female", "Male")[i % 2] for i in range(n)],
        "workclass": [f"class {i % 9}" for i in range(n)],
        "age": [17 + i % 70 for i in range(n)],
        "relationship": ["a", "b"] * (n // 2),
        "name": ["x"] * n,
    }


def open_page(driver: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
    driver.get("about:blank")
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(path.as_uri())


every_page = pytest.mark.parametrize("name", NAMES)


@every_page
def test_no_page_complains_or_asks_the_net(driver: Any, pages: dict[str, Path], name: str) -> None:
    open_page(driver, pages[name])
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert sent == [pages[name].as_uri()]


@every_page
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(
    driver: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    open_page(driver, pages[name], width, scheme)
    _axe(driver)
    found = driver.execute_async_script(
        "var done = arguments[arguments.length - 1]; axe.run(document).then(done);"
    )
    wrong = [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in found["violations"]]
    assert not wrong
    passed = {rule["id"] for rule in found["passes"]}
    assert {"color-contrast", "landmark-one-main", "region", "html-has-lang"} <= passed
    # Nothing but its own parts is wider than the page.
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    # Captions of wider tables are read without scrolling.
    captions = "[...document.querySelectorAll('caption')]"
    right = f"return Math.max(0, ...{captions}.map(c => c.getBoundingClientRect().right))"
    assert driver.execute_script(right) <= width


# One that is wider by its nature scrolls by itself: a matrix of 16 categories on a telephone.
_CUT = """
return [...document.querySelectorAll('.bs-wide')].filter(e => e.scrollWidth > e.clientWidth
  && !(window.innerWidth < 800 && e.querySelector('.bs-heat')))
  .map(e => e.getAttribute('aria-label') || e.textContent.slice(0, 80))
"""


@every_page
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_table_has_a_cut_column(
    driver: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    open_page(driver, pages[name], width, scheme)
    driver.execute_script("document.querySelectorAll('details').forEach(e => { e.open = true })")
    _leave_picture(driver, f"{name}-{width}-{scheme}.png")
    assert driver.execute_script(_CUT) == []


def _leave_picture(driver: Any, name: str) -> None:
    folder = os.environ.get("BISTOCHASTIC_SCREENSHOTS")
    if folder is None:
        return
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / name).write_bytes(base64.b64decode(shot["data"]))


def _axe(driver: Any) -> None:
    spec = importlib.util.find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    driver.execute_script(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PLANTED)
def test_planted_labels_are_harmless(driver: Any, pages: dict[str, Path], name: str) -> None:
    open_page(driver, pages[name])
    assert driver.execute_script("return typeof window.planted") == "undefined"
    # Cut where it is long, but spelled as it is.
    drawn = "return Array.from(document.querySelectorAll('figure th'), e => e.textContent).join()"
    assert "<script>window" in driver.execute_script(drawn)


@every_page
def test_pages_are_read_by_keyboard(driver: Any, pages: dict[str, Path], name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(driver, pages[name])
    driver.find_element("tag name", "body").send_keys(Keys.TAB)
    skip = driver.switch_to.active_element
    assert skip.get_attribute("class") == "bs-skip"
    assert skip.is_displayed()
    skip.send_keys(Keys.ENTER)
    assert driver.execute_script("return document.activeElement.id") == "main"


def printed(driver: Any) -> bytes:
    options = {"preferCSSPageSize": True, "printBackground": True}
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert pdf.startswith(b"%PDF")
    return pdf


def count_of_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("keyed", [False, True])
def test_four_columns_print_on_two_pages(driver: Any, tmp_path: Path, keyed: bool) -> None:
    names = {"class": ["1st", "2nd", "3rd", "crew"], "sex": ["male", "female"],
             "age": ["child", "adult"], "survived": ["no", "yes"]}  # fmt: skip
    plan = sv.Plan.for_frame(names, beta=0.6, name="titanic")
    key: Any = {"key": bs.Key.generate(), "release_name": "2026"} if keyed else {}
    page = tmp_path / "four.html"
    plan.protect(sv.titanic(), **key).report(
        page, title="Passengers", publisher="Office", date="2026-10-01", contact="a@example.org"
    )
    open_page(driver, page)
    assert count_of_pages(printed(driver)) == 2


def test_an_audit_prints_on_two_pages_at_most(driver: Any, tmp_path: Path) -> None:
    people = sv.titanic()
    plan = sv.Plan.for_frame({name: sorted(set(c)) for name, c in people.items()}, beta=0.6)
    page = tmp_path / "audit.html"
    sv.audit(people, plan.protect(people), knows=["class"], wants=["survived"]).report(page)
    open_page(driver, page)
    assert count_of_pages(printed(driver)) <= 2
