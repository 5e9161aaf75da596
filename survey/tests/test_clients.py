"""The JavaScript client gives the reported values of the vectors, and installs as a package.

``make test-clients`` runs all of it. In ``make test``, Node's part runs if ``node`` is installed.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

import protocol

CLIENT = Path(__file__).parents[2] / "clients" / "js"
VECTORS = CLIENT.with_name("vectors.json")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine")
needs_browser = pytest.mark.skipif(
    not os.environ.get("BISTOCHASTIC_CLIENTS"), reason="make test-clients opens a browser"
)
PAGE = """<!doctype html><meta charset="utf-8"><pre id="out">waiting</pre>
<script type="module">
import {{ check }} from "./vectors.js";
const {{ cases, wrong }} = check({vectors});
document.querySelector("#out").textContent = `done: ${{cases}} cases, ${{wrong.length}} wrong`;
</script>
"""


def copy(folder: Path, change: tuple[str, str] | None = None) -> Path:
    """The client in a folder of its own, maybe with a change."""
    for path in CLIENT.glob("*.js*"):
        shutil.copy(path, folder)
    if change is not None:
        path = folder / "bistochastic.js"
        source = path.read_text("utf-8")
        assert source.count(change[0]) >= 1
        path.write_text(source.replace(*change), "utf-8")
    return folder


def node(folder: Path) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    environment = {**os.environ, "BISTOCHASTIC_VECTORS": str(VECTORS)}
    return subprocess.run(
        [NODE, "--test", "vectors.test.js"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def run(folder: Path, script: str) -> str:
    """What a script next to the client prints."""
    assert NODE is not None
    (folder / "script.mjs").write_text(script, "utf-8")
    done = subprocess.run(
        [NODE, "script.mjs"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_client_plans_follow_their_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        files("bistochastic_survey").joinpath("schemas/client.json").read_text("utf-8")
    )
    judge = jsonschema.Draft202012Validator(schema)
    found = json.loads(VECTORS.read_text("utf-8"))
    plans = [
        each["plan"] for each in (*found["plans"], *found["tables_of_clients"], *found["id_types"])
    ]
    assert len(plans) > 20
    for plan in plans:
        judge.validate(plan)
        assert not judge.is_valid({**plan, "protocol": 2})
        assert not judge.is_valid({**plan, "key": "secret"})


@needs_node
def test_node_gives_the_values_of_all_vectors(tmp_path: Path) -> None:
    done = node(copy(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_node
def test_node_computes_the_digest_of_the_page(tmp_path: Path) -> None:
    found = json.loads(VECTORS.read_text("utf-8"))
    plans = [
        each["plan"] for each in (*found["plans"], *found["tables_of_clients"], *found["id_types"])
    ]
    script = f"""import {{ digestOf }} from "./bistochastic.js";
import {{ readFileSync }} from "node:fs";
const found = JSON.parse(readFileSync({json.dumps(str(VECTORS))}));
const all = [...found.plans, ...found.tables_of_clients, ...found.id_types];
console.log(JSON.stringify(all.map(({{ plan }}) => digestOf(plan))));"""
    said = json.loads(run(copy(tmp_path), script))
    for plan, digest in zip(plans, said, strict=True):
        used = {n: value for n, value in plan.items() if n not in ("digest", "id_type")}
        text = json.dumps(used, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert protocol.blake3(text.encode()).hex() == digest


@needs_node
def test_a_record_that_is_no_object_is_refused_without_its_values(tmp_path: Path) -> None:
    script = f"""import {{ respond }} from "./bistochastic.js";
import {{ readFileSync }} from "node:fs";
const {{ plans }} = JSON.parse(readFileSync({json.dumps(str(VECTORS))}));
const {{ plan }} = plans[0];
const said = (record) => {{
  try {{ return respond(plan, new Uint8Array(32), record, 1); }}
  catch (error) {{ return error.message; }}
}};
const given = [JSON.stringify({{ sex: "S3CRET" }}), "S3CRET", null, undefined, 731, () => "S3CRET"];
console.log(JSON.stringify(given.map(said)));"""
    must = "`record` must be an object; got "
    kinds = ["a string: JSON.parse it"] * 2 + ["null", "undefined", "number", "function"]
    assert json.loads(run(copy(tmp_path), script)) == [must + kind for kind in kinds]


@needs_node
def test_a_snapshot_of_the_heap_does_not_hold_the_key(tmp_path: Path) -> None:
    script = f"""import {{ respond }} from "./bistochastic.js";
import {{ readFileSync }} from "node:fs";
import {{ writeHeapSnapshot }} from "node:v8";
const {{ plans }} = JSON.parse(readFileSync({json.dumps(str(VECTORS))}));
const {{ plan, records: [{{ record }}] }} = plans[0];
const key = Uint8Array.from({{ length: 32 }}, (_, i) => 65 + i * 7 % 26);
globalThis.held = [plan, respond(plan, key, record, 1), respond(plan, key, record, "text")];
writeHeapSnapshot("all.heapsnapshot");"""
    run(copy(tmp_path), script)
    key = "".join(chr(65 + i * 7 % 26) for i in range(32))
    text = (tmp_path / "all.heapsnapshot").read_text("utf-8")
    # Strings of the plan are in the snapshot, so a string of the key would be.
    assert "job 19" in text
    assert key[:16] not in text


@needs_node
def test_the_client_answers_the_service_of_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    monkeypatch.setenv("FOLDER", str(tmp_path / "unused"))
    example = CLIENT.parents[1] / "examples" / "service.py"
    make_app = runpy.run_path(str(example))["make_app"]
    with testclient.TestClient(make_app(tmp_path / "counts")) as service:
        # What `await (await fetch("plan")).json()` gives, once decoded.
        script = f"""import {{ digestOf, respond }} from "./bistochastic.js";
const plan = JSON.parse({json.dumps(service.get("/plan").text)}), after = digestOf(plan);
const key = (i) => Uint8Array.from({{ length: 32 }}, (_, k) => (i * 31 + k) % 256);
const record = (i) => ({{ smokes: ["yes", "no"][i % 2], age: ["18-29", "30-64", "65+"][i % 3] }});
const one = (_, i) => respond(plan, key(i), record(i), "me", {{ after }});
const all = Array.from({{ length: 200 }}, one);
console.log(JSON.stringify(all));"""
        for record in json.loads(run(copy(tmp_path), script)):
            assert service.post("/report", json=record).status_code == 204
        assert service.get("/estimate", params={"columns": "smokes,age"}).json()["records"] == 200


TYPED = """import {{ digestOf, generateKey, respond }} from "bistochastic";
import type {{ ClientPlan, Draw }} from "bistochastic";
declare const plan: ClientPlan;
const options = {{ after: digestOf(plan) }};
const reported = respond(plan, generateKey(), {{ sex: "F", age: 25 }}, "me", options);
const sex: string | number | bigint | boolean | null | undefined = reported.sex;
function keep(draw: Draw): [string, string] | undefined {{
  return draw.form === "truth" ? draw.keep : undefined;
}}
console.log(sex, keep);
{mistake}
"""
MISTAKES = [
    "reported.income;",
    'respond(plan, "key", { sex: "F" }, 1);',
    "respond(plan, generateKey(), { sex: ['F'] }, 1);",
    "respond(plan, generateKey(), { sex: 'F' });",
    "respond(JSON.stringify(plan), generateKey(), { sex: 'F' }, 1);",
    "function runs(draw: Draw) { return draw.form === 'truth' ? draw.runs : []; }",
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the client is installed from its tarball, without a network."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on this machine")
    folder = tmp_path_factory.mktemp("installed")
    environment = {**os.environ, "npm_config_cache": str(folder / "cache")}

    def call(*words: str) -> str:
        done = subprocess.run(
            [npm, *words, "--offline"],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    packed = json.loads(call("pack", str(CLIENT), "--json"))[0]
    names = {each["path"] for each in packed["files"]}
    assert names == {"package.json", *json.loads((CLIENT / "package.json").read_text())["files"]}
    (folder / "package.json").write_text('{"name": "page", "type": "module"}', "utf-8")
    call("install", "--no-audit", "--no-fund", packed["filename"])
    return folder


def test_licences_of_the_package_are_those_of_the_repository() -> None:
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (CLIENT / name).read_bytes() == (CLIENT.parents[1] / name).read_bytes()


@needs_node
def test_the_installed_package_answers_and_names_a_plan_that_is_a_string(installed: Path) -> None:
    script = f"""import {{ digestOf, generateKey, respond }} from "bistochastic";
import {{ readFileSync }} from "node:fs";
const vectors = JSON.parse(readFileSync({json.dumps(str(VECTORS))}));
const {{ plan, records: [{{ record }}] }} = vectors.plans[0];
const names = Object.keys(respond(plan, generateKey(), record, 1, {{ after: digestOf(plan) }}));
let said = "";
try {{ digestOf(JSON.stringify(plan)); }} catch (error) {{ said = error.message; }}
console.log(JSON.stringify({{ names, said }}));"""
    found = json.loads(run(installed, script))
    assert len(found["names"]) > 5
    assert found["said"] == "`plan` must be an object; got a string: JSON.parse it"


@pytest.mark.parametrize("mistake", ["", *MISTAKES])
def test_types_of_the_installed_package_show_mistakes(installed: Path, mistake: str) -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no tsc on this machine: Debian's node-typescript has one")
    (installed / "typed.mts").write_text(TYPED.format(mistake=mistake), "utf-8")
    flags = "--strict --noEmit --target es2022 --module nodenext --moduleResolution nodenext"
    done = subprocess.run(
        [compiler, *flags.split(), "--lib", "es2022,dom", "typed.mts"],
        cwd=installed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "error" in line]
    assert len(lines) == bool(mistake), done.stdout


CHANGES = [
    ("version 1", "version 2"),
    ("0x6a09e667", "0x6a09e668"),
    ("i < 10; i++) round", "i < 9; i++) round"),
    ("KEYED = 16", "KEYED = 32"),
    ("1n << 63n", "1n << 62n"),
    ("let k = 4n", "let k = 5n"),
    ("(1n << bits) - 2n", "(1n << bits) - 1n"),
    ("size <= 256n", "size <= 255n"),
]


@needs_node
@pytest.mark.parametrize("change", CHANGES, ids=[old for old, _ in CHANGES])
def test_a_changed_constant_fails_in_node(tmp_path: Path, change: tuple[str, str]) -> None:
    assert node(copy(tmp_path, change)).returncode != 0


def in_chromium(folder: Path) -> str:
    """What a page says after running all vectors, in a browser that reaches no host."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    assert browser is not None, "Chromium is missing: make test-browser INSTALL=1 installs Debian's"
    page = folder / "page.html"
    page.write_text(PAGE.format(vectors=VECTORS.read_text("utf-8")), "utf-8")
    flags = "--headless --no-sandbox --disable-gpu --allow-file-access-from-files"
    words = [
        browser, *flags.split(), "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=60000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=200)
    found = re.search(r"<pre id=\"out\">(.*?)</pre>", done.stdout)
    assert found is not None, done.stderr
    return found[1]


@needs_browser
def test_chromium_gives_the_values_of_all_vectors(tmp_path: Path) -> None:
    said = in_chromium(copy(tmp_path))
    assert re.fullmatch(r"done: \d{3,} cases, 0 wrong", said), said


@needs_browser
def test_the_client_is_small(tmp_path: Path) -> None:
    """At most 9 kB, if esbuild is installed to minify it."""
    minifier = shutil.which("esbuild")
    if minifier is None:
        pytest.skip("no esbuild on this machine")
    words = [minifier, "--minify", "--format=esm", "--target=es2022", "bistochastic.js"]
    done = subprocess.run(words, cwd=CLIENT, capture_output=True, check=True)
    assert len(done.stdout) <= 9000
