import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { check } from "./vectors.js";

const path = process.env.BISTOCHASTIC_VECTORS ?? new URL("../vectors.json", import.meta.url);

test("all vectors give the reported values of the package", () => {
  const { cases, wrong } = check(JSON.parse(readFileSync(path)));
  assert.deepEqual(wrong, []);
  assert.ok(cases > 500, `only ${cases} cases`);
});
