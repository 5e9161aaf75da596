"""The services of ``examples``: one counts what devices report, one randomizes by itself."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv
import protocol

EXAMPLES = Path(__file__).parents[3] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("FOLDER", str(tmp_path / "unused"))
    return load("service")


def test_two_workers_and_a_restart_count_everything(service: Any, tmp_path: Path) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    people = [
        {"smokes": "yes" if i % 4 == 0 else "no", "age": ["18-29", "30-64", "65+"][i % 3]}
        for i in range(600)
    ]
    reported = []
    with testclient.TestClient(service.make_app(tmp_path)) as one:
        client = one.get("/plan").json()
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
            for columns in ("nope", "", "smokes,,age"):
                assert two.get("/estimate", params={"columns": columns}).status_code == 422
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


def test_a_service_randomizes_by_the_ids_of_its_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    monkeypatch.delenv("KEY_FILE", raising=False)
    module = load("randomize_service")
    path = tmp_path / "survey.key"
    bs.Key.from_bytes(bytes(range(32))).to_file(path)
    monkeypatch.setenv("KEY_FILE", str(path))
    source = bs.KeySource.env("KEY_FILE")
    people = {
        f"person {i}": {"smokes": ["yes", "no"][i % 2], "age": ["18-29", "30-64", "65+"][i % 3]}
        for i in range(50)
    }
    frame: dict[str, list[Any]] = {
        "id": list(people),
        "smokes": [each["smokes"] for each in people.values()],
        "age": [each["age"] for each in people.values()],
    }
    wave = sv.Wave("id", after="first")
    want = module.PLAN.protect(frame, key=source.read(), ids=wave).data
    rows = dict(zip(people, zip(want["smokes"], want["age"], strict=True), strict=True))
    with testclient.TestClient(module.make_app(source, "first")) as one:
        facts = one.get("/health").json()
        assert facts["digest"] == module.PLAN.digest
        with testclient.TestClient(module.make_app(source, facts["digest"])) as two:
            found = one.post("/randomize", json=people).json()
            assert {id: (each["smokes"], each["age"]) for id, each in found.items()} == rows
            for id, record in list(people.items())[:9]:
                assert two.post(f"/randomize/{id}", json=record).json() == found[id]
        for wrong in ({"smokes": "my secret", "age": "65+"}, {"smokes": "yes"}):
            refused = one.post("/randomize/ann", json=wrong)
            assert refused.status_code == 422
            assert "secret" not in refused.text
        assert one.post("/randomize", json={"": people["person 1"]}).status_code == 422
        # An empty id in the path is the address of many; FastAPI itself would repeat the body.
        for route in ("/randomize/", "/randomize", "/randomize/ann"):
            for body in ('{"smokes": "my secret", "age": "65+"}', '["my secret"]', "my secret"):
                refused = one.post(route, content=body)
                assert refused.status_code == 422
                assert "secret" not in refused.text
    with pytest.raises(ValueError, match="must be the digest of this plan"):
        module.make_app(source, "0" * 64)
    monkeypatch.setenv("FINGERPRINT", facts["fingerprint"])
    assert load("randomize_service").app.title
    monkeypatch.setenv("FINGERPRINT", "0" * 16)
    with pytest.raises(ValueError, match="`key` must be the one with fingerprint 0000000000000000"):
        load("randomize_service")
    fresh = bs.KeySource.env("NO_KEY", fingerprint=source.fingerprint)
    with testclient.TestClient(module.make_app(fresh, "first")) as keyless:
        assert keyless.get("/health").status_code == 503
