"""``examples/service.py``: two workers that count what devices report, from JavaScript too."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv

pytest.importorskip("fastapi")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    testclient = pytest.importorskip("fastapi.testclient")

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")
PEOPLE = [
    {"smokes": ["yes", "no"][i % 3 > 0], "age": ["18-29", "30-64", "65+"][i % 3]}
    for i in range(150)
]
SCRIPT = """
import { generateKey, respond } from "CLIENT";
const [text, people] = JSON.parse(await new Response(process.stdin).text());
const plan = JSON.parse(text);
console.log(JSON.stringify(people.map((one, i) => respond(plan, generateKey(), one, `p${i}`))));
"""


@pytest.fixture(name="service")
def _service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("FOLDER", str(tmp_path / "state"))
    return runpy.run_path(str(ROOT / "examples" / "service.py"))


@pytest.fixture(name="workers")
def _workers(service: Any, tmp_path: Path) -> Iterator[list[Any]]:
    """Two workers that share a folder."""
    with ExitStack() as stack:
        apps = [service["make_app"](tmp_path / "state") for _ in range(2)]
        yield [stack.enter_context(testclient.TestClient(app)) for app in apps]


def answers(text: str, language: str) -> list[dict[str, Any]]:
    """What 150 devices report under the plan that the service sent."""
    if language == "javascript":
        if NODE is None:
            pytest.skip("no node on this machine")
        client = (ROOT / "clients" / "js" / "bistochastic.js").as_uri()
        done = subprocess.run(
            [NODE, "--input-type=module", "--eval", SCRIPT.replace("CLIENT", client)],
            input=json.dumps([text, PEOPLE]), capture_output=True, text=True, check=True,
        )  # fmt: skip
        return list(json.loads(done.stdout))
    plan = runpy.run_path(str(ROOT / "examples" / "service.py"))["PLAN"]
    assert json.loads(text) == json.loads(plan.client_json())
    return [
        plan.responder(key=bs.Key.generate(), after="first").one(one, id=f"p{i}")
        for i, one in enumerate(PEOPLE)
    ]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_any_worker_estimates_from_what_all_of_them_counted(
    service: Any, workers: list[Any], language: str
) -> None:
    reports = answers(workers[0].get("/plan").text, language)
    for i, report in enumerate(reports):
        assert workers[i % 2].post("/report", json=report).status_code == 204
    # A worker writes what it has before it answers; the other after every 100 and at its end.
    workers[1].get("/estimate")
    found = workers[0].get("/estimate", params={"columns": "smokes,age"}).json()
    columns = {name: [report[name] for report in reports] for name in ("smokes", "age")}
    want = sv.Release(columns, service["PLAN"]).estimate("smokes", "age").to_dict()
    assert found["records"] == 150
    assert found == json.loads(json.dumps(want))


def test_what_is_wrong_is_told_to_the_caller(workers: list[Any]) -> None:
    wrong = workers[0].post("/report", json={"smokes": "maybe", "age": "65+"})
    assert wrong.status_code == 422
    assert "column `smokes`: must hold declared categories only" in wrong.json()["detail"]
    empty = workers[0].get("/estimate")
    assert empty.status_code == 422
    assert "`counts` must hold at least one record" in empty.json()["detail"]
    unknown = workers[0].get("/estimate", params={"columns": "nope"})
    assert unknown.status_code == 422
    assert "`columns` must be in one table of" in unknown.json()["detail"]
