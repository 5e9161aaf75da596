"""``examples/service.py``: two workers, one restart, and devices that answer for themselves."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv
import protocol

PATH = Path(__file__).parents[3] / "examples" / "service.py"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("FOLDER", str(tmp_path / "unused"))
    spec = importlib.util.spec_from_file_location("service", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_workers_and_a_restart_count_everything(service: Any, tmp_path: Path) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    people = [
        {"smokes": "yes" if i % 4 == 0 else "no", "age": ["18-29", "30-64", "65+"][i % 3]}
        for i in range(600)
    ]
    reported = []
    with testclient.TestClient(service.make_app(tmp_path)) as one:
        client = json.loads(one.get("/plan").json())
        for i, person in enumerate(people):
            # A key per device, which the service never sees.
            key = bytes([i % 256, i // 256]) + bytes(30)
            reported.append(protocol.respond(client, key, person, "me"))
        with testclient.TestClient(service.make_app(tmp_path)) as two:
            for i, record in enumerate(reported[:300]):
                assert (one, two)[i % 2].post("/report", json=record).status_code == 204
            refused = two.post("/report", json={"smokes": "my secret", "age": "65+"})
            assert refused.status_code == 422
            assert "secret" not in refused.text
            # All of its own 150, and of the other's 150 the 100 that were written.
            assert two.get("/estimate").json()["records"] == 150 + 100
    with testclient.TestClient(service.make_app(tmp_path)) as restarted:
        for record in reported[300:]:
            restarted.post("/report", json=record)
        found = restarted.get("/estimate", params={"columns": "smokes,age"}).json()
    want = sv.Release(
        {name: [record[name] for record in reported] for name in ("smokes", "age")}, service.PLAN
    ).estimate("smokes", "age")
    assert found == json.loads(json.dumps(want.to_dict()))
    assert found["records"] == 600


def test_python_answers_as_the_client_does(service: Any) -> None:
    client = json.loads(service.PLAN.client_json())
    raw = bytes(range(32))
    person = {"smokes": "yes", "age": "65+"}
    for id in (3, "me"):
        responder = service.PLAN.responder(key=bs.Key.from_bytes(raw), after="first")
        answer = responder.one(person, id=id)
        assert answer == protocol.respond(client, raw, person, id)
