"""How long reports and their pages take: ``make bench``.

A report of 30 columns is to take at most 3 seconds, and its page to answer within a second of being
opened. The second figure takes a browser: ``make test-browser`` makes the environment for it.

Measured on two cores that others used, too: 1.6 seconds of processor time for 30 columns of 3 to 32
levels, 0.82 MB; the page answers 0.4 seconds after it is opened.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bistochastic as bs
from common import best

LAWS: tuple[Any, ...] = ("randomized_response", "geometric", "k_anonymous")
BROWSER = Path(sys.prefix) / "browser" / "bin" / "python"
# Milliseconds from the start of the navigation until the slider has its first numbers.
DRIVE = """
import json, shutil, sys
from selenium import webdriver
options = webdriver.ChromeOptions()
names = ("chromium", "chromium-browser", "google-chrome")
options.binary_location = next(filter(None, map(shutil.which, names)))
for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
    options.add_argument(word)
service = webdriver.ChromeService(shutil.which("chromedriver"))
driver = webdriver.Chrome(options=options, service=service)
found = []
for _ in range(5):
    driver.get(sys.argv[1])
    assert driver.execute_script("return document.documentElement.dataset.ready") == "yes"
    found.append(driver.execute_script(
        "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
moved = driver.execute_script(
    "var s = document.getElementById('x-beta'), t = performance.now();"
    "for (var i = 0; i <= Number(s.max); i++) { s.value = i; s.dispatchEvent(new Event('input')); }"
    "return (performance.now() - t) / (Number(s.max) + 1)")
driver.quit()
print(json.dumps([min(found), moved]))
"""


def thirty(least: int) -> bs.Plan:
    """30 columns of ``least`` to 32 levels, by three families."""
    return bs.Plan(
        [
            bs.Categorical(
                f"column {i}",
                [f"level {j} of column {i}" for j in range(min(32, least + i))],
                LAWS[i % 3],
                beta=0.5,
            )
            for i in range(30)
        ]
    )


def interactive(page: Path) -> str:
    """When the page answers, and how long a step of the slider takes; or why it is not known."""
    if not BROWSER.exists() or not shutil.which("chromedriver"):
        return "not measured: make test-browser makes the environment for it"
    done = subprocess.run(
        [str(BROWSER), "-c", DRIVE, page.as_uri()], capture_output=True, text=True
    )
    if done.returncode != 0:
        return (
            f"not measured: {(done.stderr.strip().splitlines() or ['no reason given'])[-1][:150]}"
        )
    answers, step = json.loads(done.stdout.splitlines()[-1])
    return (
        f"{answers / 1000:.2f} s until it answers (at most 1), {step:.1f} ms a step of the slider"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        for what, plan in (("3 to 32 levels", thirty(3)), ("32 levels each", thirty(32))):
            seconds = best(lambda plan=plan: plan.report(page, 10_000), 3)  # type: ignore[misc]
            size = page.stat().st_size / 1e6
            print(f"report of 30 columns, {what:<15} {seconds:6.2f} s (at most 3), {size:.2f} MB")
            print(f"    its page: {interactive(page)}")
        seconds = best(lambda: bs.explore(32, page), 3)
        size = page.stat().st_size / 1e6
        print(f"explorer of 32 levels                {seconds:6.2f} s, {size:.2f} MB")
        print(f"    its page: {interactive(page)}")


if __name__ == "__main__":
    main()
