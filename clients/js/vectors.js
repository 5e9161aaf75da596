// Run the test vectors of the package: the number of cases and a line for each that differs.
import { digestOf, respond } from "./bistochastic.js";

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const READ = { integer: BigInt, text: (id) => id, bytes };

export function check(vectors) {
  const key = bytes(vectors.key), wrong = [];
  let cases = 0;
  const same = (name, got, want) => {
    cases++;
    if (JSON.stringify(got) !== JSON.stringify(want)) wrong.push(`${name}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
  };
  const fails = (name, work, start) => {
    cases++;
    try { work(); wrong.push(`${name}: no error`); } catch (error) {
      if (!error.message.startsWith(start)) wrong.push(`${name}: ${error.message}`);
    }
  };
  for (const { plan, records } of vectors.plans) {
    for (const { id, kind, record, reported } of records) same(plan.name, respond(plan, key, record, READ[kind](id)), reported);
  }
  // One table at a time, as the only column of a plan.
  for (const { plan, ids } of vectors.tables_of_clients) {
    for (const [kind, id, category, reported] of ids) {
      // The empty string has a draw, and is the id of nobody.
      if (id === "") fails("empty", () => respond(plan, key, { x: category }, ""), "`id` must not be empty");
      else same(plan.attributes[0].matrices[0].draw.form, respond(plan, key, { x: category }, READ[kind](id)).x, reported);
    }
  }
  for (const { plan, digest, records, refused } of vectors.id_types) {
    const { id_type: _, ...open } = plan;
    same("digest with a type", [digestOf(plan), digestOf(open)], [digest, digest]);
    for (const { id, kind, record, reported } of records) same(plan.id_type, respond(plan, key, record, READ[kind](id), { after: digest }), reported);
    for (const [kind, id] of refused) {
      fails(`${plan.id_type}, ${kind}`, () => respond(plan, key, records[0].record, READ[kind](id)), `\`id\` must be of type ${plan.id_type}`);
    }
    fails("type", () => digestOf({ ...plan, id_type: "text" }), "`id_type` must be string, integer or bytes");
  }
  const { plan, records: [{ record }] } = vectors.plans[0];
  fails("short key", () => respond(plan, key.subarray(1), record, 1), "`key` must be a Uint8Array of 32 bytes; got 31");
  fails("protocol 2", () => respond({ ...plan, protocol: 2 }, key, record, 1), "`plan` must be of protocol 1; got 2");
  fails("digest", () => respond(plan, key, record, 1, { after: "0" }), "`plan` must be the plan of `after`");
  same("redraw", respond(plan, key, record, 1, { after: "0", redraw: true }), respond(plan, key, record, 1));
  // A changed plan that states the old digest.
  const after = digestOf(plan), changed = structuredClone(plan), changes = {
    draw: (p) => { p.attributes[0].matrices[0].draw = { form: "certain", size: "2" }; },
    keep: (p) => { p.keep = "*"; },
    drop: (p) => { p.drop = []; },
    name: (p) => { p.name = "other"; },
    categories: (p) => { p.attributes[0].columns[0].categories.reverse(); },
    missing: (p) => { p.attributes[0].missing = "keep"; },
  };
  same("after", respond(plan, key, record, 1, { after }), respond(plan, key, record, 1));
  for (const [name, change] of Object.entries(changes)) {
    const other = structuredClone(plan);
    change(other);
    fails(name, () => respond(other, key, record, 1, { after }), "`plan` must be the plan of `after`");
  }
  // A plan is read once, so a later change of the object has no effect.
  respond(changed, key, record, 1);
  changed.keep = "*";
  fails("later", () => respond(changed, key, { ...record, more: 1 }, 1, { after }), "`record` must hold columns");
  const dated = vectors.plans[1], column = { ...dated.plan.attributes[3].columns[0] };
  for (const born of ["2000-02-31", "1999-02-29", "2000-13-01", "0000-01-01", "2000-1-01", ["2000-01-01"]]) {
    fails(`born ${born}`, () => respond(dated.plan, key, { ...dated.records[0].record, born }, 1), "column `born`: must hold a date");
  }
  const numbered = (more) => ({ ...dated.plan, attributes: [{ ...dated.plan.attributes[3], columns: [{ ...column, ...more }] }] });
  fails("number", () => respond(numbered({ output: "number" }), key, { born: "2000-01-01" }, 1), 'column `born`: must have output="interval" or output="midpoint" on a device; got output="number"');
  fails("field", () => respond(numbered({ jitter: "1" }), key, { born: "2000-01-01" }, 1), "column `born`: must have the fields of protocol 1; got `jitter`");
  fails("category", () => respond(plan, key, { ...record, sex: "secret" }, 1), "column `sex`: must hold a declared category");
  fails("column", () => respond(plan, key, { ...record, more: 1 }, 1), "`record` must hold columns that the plan protects");
  fails("absent", () => respond(plan, key, { region: "north" }, 1), "column `sex`: must be in `record`");
  fails("missing", () => respond(plan, key, { ...record, sex: null }, 1), "column `sex`: must hold no missing value");
  fails("impossible", () => respond(plan, key, { ...record, a: "x", b: 2 }, 1), "column `a`: must hold no combination");
  fails("id", () => respond(plan, key, record, 1.5), "`id` must be an integer of 64 bits");
  for (const id of ["", new Uint8Array()]) fails("empty", () => respond(plan, key, record, id), "`id` must not be empty");
  for (const id of [null, undefined]) fails("missing", () => respond(plan, key, record, id), "`id` must be an integer");
  fails("surrogate", () => respond(plan, key, record, "\ud800"), "`id` must be an integer");
  return { cases, wrong };
}
