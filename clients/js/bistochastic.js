// Randomize a record on the device: docs/protocol.md, version 1. No dependencies, no network, no floating point.

const CONTEXT = "bistochastic 2026-11-16 every derivation, version 1";
const IV = Int32Array.of(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19);
const ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const START = 1, END = 2, PARENT = 4, ROOT = 8, KEYED = 16, CONTEXT_FLAG = 32, MATERIAL = 64;

const utf8 = (text) => new TextEncoder().encode(text);
const fail = (message, Kind = RangeError) => { throw new Kind(message); };
const rotate = (x, n) => (x >>> n) | (x << (32 - n));

/** Eight bytes for each bigint. */
const eights = (...numbers) => bytesOf(BigUint64Array.from(numbers));
function concat(...parts) {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out;
}

// Bytes and words share their memory, whose order the protocol fixes.
const bytesOf = (words) => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
if (bytesOf(Uint32Array.of(1))[0] !== 1) fail("`processor` must be little-endian; got a big-endian one");

/** Words of bytes, filled up with zeros to `count` words. */
function words(bytes, count = bytes.length / 4) {
  const out = new Int32Array(count);
  bytesOf(out).set(bytes);
  return out;
}

// The words of a message in the order in which each of seven rounds takes them.
const SCHEDULE = [Array.from(ORDER.keys())];
while (SCHEDULE.length < 7) SCHEDULE.push(ORDER.map((j) => SCHEDULE.at(-1)[j]));
const NOTHING = new Int32Array(16);

/** One round of BLAKE3 or, with a message of zeros, of ChaCha20: columns, then diagonals, rotated right by p, q, r, s. */
function round(v, p, q, r, s, m = NOTHING, order = ORDER) {
  for (let i = 0; i < 8; i++) {
    const k = i >> 2, a = i & 3, b = 4 + (a + k & 3), c = 8 + (a + 2 * k & 3), d = 12 + (a + 3 * k & 3);
    let w = v[a] + v[b] + m[order[2 * i]] | 0, z = rotate(v[d] ^ w, p), y = v[c] + z | 0, x = rotate(v[b] ^ y, q);
    w = w + x + m[order[2 * i + 1]] | 0; z = rotate(z ^ w, r); y = y + z | 0; x = rotate(x ^ y, s);
    v[a] = w; v[b] = x; v[c] = y; v[d] = z;
  }
}

// BLAKE3.
function compress(chain, block, counter, length, flags) {
  const v = new Int32Array(16), m = words(block, 16);
  v.set(chain);
  v.set(IV.subarray(0, 4), 8);
  v[12] = counter; v[13] = counter / 2 ** 32; v[14] = length; v[15] = flags;
  for (let i = 0; i < 7; i++) round(v, 16, 12, 8, 7, m, SCHEDULE[i]);
  for (let i = 0; i < 8; i++) { v[i] ^= v[i + 8]; v[i + 8] ^= chain[i]; }
  return v;
}

/** The arguments of the last compression of a subtree whose chunks are numbered from `first`. */
function node(data, key, flags, first) {
  if (data.length > 1024) {
    let left = 1024;
    while (2 * left < data.length) left *= 2;
    const chain = (part, at) => bytesOf(compress(...node(part, key, flags, at)).subarray(0, 8));
    const both = concat(chain(data.subarray(0, left), first), chain(data.subarray(left), first + left / 1024));
    return [key, both, 0, 64, flags | PARENT];
  }
  let chain = key, at = 0, own = flags | START;
  for (; data.length - at > 64; at += 64, own = flags) {
    chain = compress(chain, data.subarray(at, at + 64), first, 64, own).subarray(0, 8);
  }
  return [chain, data.subarray(at), first, data.length - at, own | END];
}

function blake3(data, key = IV, flags = 0) {
  const last = node(data, key, flags, 0);
  last[4] |= ROOT;
  return bytesOf(compress(...last));
}

const SIGMA = utf8("expand 32-byte k");

// ChaCha20 with a counter and a nonce of 64 bits each, as bigints modulo 2^64.
function chacha(key, counter, nonce) {
  const start = words(concat(SIGMA, key, eights(counter, nonce))), x = start.slice();
  for (let i = 0; i < 10; i++) round(x, 16, 20, 24, 25);
  for (let i = 0; i < 16; i++) x[i] += start[i];
  return bytesOf(x);
}

// The encoding of what a client derives keys from: bytes, strings and lists. A plan needs it once for each matrix.
const tagged = (tag, count, ...parts) => concat([tag], eights(BigInt(count)), ...parts);
const encode = (item) =>
  item instanceof Uint8Array ? tagged(1, item.length, item)
    : typeof item === "string" ? tagged(2, utf8(item).length, utf8(item))
      : tagged(4, item.length, ...item.map(encode));

let contextKey;
/** A key for what `label` encodes. */
function derive(key, label) {
  contextKey ??= words(blake3(utf8(CONTEXT), IV, CONTEXT_FLAG)).subarray(0, 8);
  return blake3(concat(key, label), contextKey, MATERIAL).subarray(0, 32);
}

// Words are bigints.
const wordOf = (bytes) => bytes.reduceRight((x, byte) => x << 8n | BigInt(byte), 0n);

function* further(key) {
  for (let n = 0n; ; n++) yield* new BigUint64Array(chacha(key, n, 0n).buffer);
}

/** The integer part of U n, for U in [0, 1) with the words as its digits. */
function below(n, more) {
  for (let x = 0n, bits = 64n; ; bits += 64n) {
    x = x << 64n | more.next().value;
    const least = x * n >> bits;
    if (least === ((x + 1n) * n - 1n) >> bits) return least;
  }
}

const least = (a, b) => (a < b ? a : b);
const slots = (count, total, bits) => least((count << bits) / total, (1n << bits) - 1n);
const sum = (counts) => counts.reduce((a, b) => a + b, 0n);
/** The interval that holds `x`, if intervals of these lengths follow each other from 0 on; -1 if none does. */
const place = (x, lengths) => lengths.findIndex((length) => (x -= length) < 0n);
const bitsOf = (outcomes) => (outcomes <= 256n ? 16n : outcomes <= 1n << 24n ? 32n : 64n);

function aliasTable(own, bits) {
  let k = 4n;
  while (1n << k < BigInt(own.length)) k++;
  const full = 1n << (bits - k), size = 1 << Number(k), decided = sum(own);
  const mass = Array.from({ length: size }, (_, j) => own[j] ?? 0n);
  const room = mass.map((_, j) => { const left = decided - BigInt(j) * full; return left < 0n ? 0n : least(left, full); });
  const table = mass.map((_, j) => [0n, j]);
  for (let scan = 0, large = 0; scan < size; scan++) {
    for (let column = scan; mass[column] <= room[column]; column = large) {
      if (mass[column] === room[column]) { table[column] = [0n, column]; break; }
      while (mass[large] <= room[large]) large++;
      table[column] = [mass[column], large];
      mass[large] -= room[column] - mass[column];
      if (large > scan) break;
    }
  }
  return { decided, look: (x) => { const j = Number(x / full), [threshold, alias] = table[j]; return BigInt(x % full < threshold ? j : alias); } };
}

/** The outcome of a word that the slots leave undecided. */
const undecided = (x, counts, own, total, bits, more) =>
  place((x - sum(own)) * total + below(total, more()), counts.map((count, v) => (count << bits) - own[v] * total));

/** A draw of an outcome with probability count / total. */
function fromCounts(counts, total, bits) {
  const own = counts.map((count) => slots(count, total, bits)), { decided, look } = aliasTable(own, bits);
  return (x, more) => (x < decided ? look(x) : BigInt(undecided(x, counts, own, total, bits, more)));
}

// One draw per form: (u, first word, further words) -> reported code.
const FORMS = {
  shift({ counts, total, size }, bits) {
    const draw = fromCounts(counts, total, bits);
    return (u, x, more) => (u + draw(x, more)) % size;
  },
  fold({ counts, total, size }, bits) {
    const draw = fromCounts([...counts, ...counts.slice(1, -1).reverse()], total, bits);
    return (u, x, more) => { const v = (u + draw(x, more)) % (2n * size); return least(v, 2n * size - 1n - v); };
  },
  swap({ counts, codes: [i, j] }, bits) {
    const draw = fromCounts(counts, sum(counts), bits);
    return (u, x, more) => (draw(x, more) ? (u === i ? j : u === j ? i : u) : u);
  },
  truth({ size, keep: [n, d] }, bits) {
    const stay = slots(n, d, bits), each = slots(d - n, d * (size - 1n), bits), small = size <= 256n;
    const { decided, look } = small ? aliasTable([stay, ...Array(Number(size) - 1).fill(each)], bits)
      : { decided: stay + each * (size - 1n), look: (x) => (x < stay ? 0n : 1n + (x - stay) / each) };
    return (u, x, more) => {
      if (x < decided) return (u + look(x)) % size;
      const words = more(), stays = (x - decided) * d + below(d, words) < (n << bits) - stay * d;
      return stays ? u : (u + 1n + below(size - 1n, words)) % size;
    };
  },
  classes({ runs }, bits) {
    return (u, x, more) => {
      const [first, n] = runs.findLast((run) => run[0] <= u), start = u - (u - first) % n, product = x * n;
      return start + ((product & ((1n << bits) - 1n)) >= (1n << bits) % n ? product >> bits : below(n, more()));
    };
  },
  neighbours({ size, alphas, total }, bits) {
    const alpha = (i) => (i < 0n || i >= size - 1n ? 0n : alphas[alphas.length > 1 ? Number(i) : 0]);
    return (u, x, more) => {
      // Down, up and neither, whose slots end two words before the last.
      const counts = [alpha(u - 1n), alpha(u)], own = counts.map((count) => slots(count, total, bits)), left = (1n << bits) - 2n - sum(own);
      counts.push(total - sum(counts));
      own.push(left < 0n ? 0n : left);
      const v = place(x, own);
      return u + [-1n, 1n, 0n][v < 0 ? undecided(x, counts, own, total, bits, more) : v];
    };
  },
  rows({ counts, total }, bits) {
    const draws = [];
    return (u, x, more) => (draws[u] ??= fromCounts(counts[u], total, bits))(x, more);
  },
};

const integers = (item) => (Array.isArray(item) ? item.map(integers) : BigInt(item));

/** A sampler of a matrix: (u, words) -> reported code, where `words(bytes)` gives the words of the draw. */
function sampler({ form, ...given }) {
  const fields = Object.fromEntries(Object.entries(given).map(([name, item]) => [name, integers(item)]));
  if (form === "certain") return (u) => (fields.targets ? fields.targets[u] : u);
  const bits = bitsOf(fields.size), draw = (FORMS[form] ?? fail("`form` must be one of protocol 1; got " + form))(fields, bits);
  return (u, words) => draw(u, ...words(Number(bits) / 8));
}

/** Whether a string is a day of the calendar, from 0001-01-01 on. */
const isDay = (value) => typeof value === "string" && /^(?!0000)\d{4}-\d\d-\d\d$/.test(value) && !!new Date(value).toJSON()?.startsWith(value);
const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
const wrong = (name, must, got = "one") => fail(`column \`${name}\`: must ${must}; got ${got}`);

/** A column: `code(value)` is undefined for a missing value; `say(code, value)` reports a code, typed like the true value. */
function columnOf({ name, type, categories, recode, padding = [], relabelled, breaks, open = [], bottom, top, midpoints, ...more }) {
  // One answer has no row from which a number inside its class could follow.
  if (more.output === "number") wrong(name, 'have output="interval" or output="midpoint" on a device', 'output="number"');
  for (const field of Object.keys(more)) wrong(name, "have the fields of protocol 1", `\`${field}\``);
  const dated = type === "date", read = dated ? String : Number, ends = breaks?.map(read), all = [...categories, ...padding];
  const declared = new Map(categories.map((category, i) => [category, i]));
  const codes = recode ? new Map(recode.map(([value, to]) => [value, declared.get(to)])) : declared;
  return {
    name, true: categories.length, size: all.length,
    code(value) {
      if (isMissing(value)) return undefined;
      if (breaks) {
        if (dated ? !isDay(value) : typeof value !== "number") wrong(name, `hold a ${type}`, typeof value === "string" ? "another string" : typeof value);
        const x = bottom && value < read(bottom) ? read(bottom) : top && value > read(top) ? read(top) : value;
        const at = ends.filter((low) => low <= x).length - !open.includes("low");
        // The last class of numbers is closed.
        const closed = !dated && at === categories.length && x === ends.at(-1);
        return at >= 0 && (at < categories.length || closed) ? at - closed : wrong(name, `hold a ${type} within the breaks`, "one outside");
      }
      // Integers are spelled as strings. Strings and booleans are themselves.
      const spelled = /number|bigint/.test(typeof value) ? String(value) : value;
      return codes.has(spelled) ? codes.get(spelled) : wrong(name, "hold a declared category", "an undeclared one");
    },
    say(code, value) {
      if (breaks) return midpoints ? read(midpoints[code]) : all[code];
      const like = isMissing(value) || relabelled ? type : typeof value;
      return like === "bigint" ? BigInt(all[code]) : /number|integer/.test(like) ? Number(all[code]) : all[code];
    },
  };
}

const hex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
/** JSON with sorted names and no spaces: RFC 8785, which for strings, booleans, null and 1 is this. */
const canonical = (item) => (Array.isArray(item) ? `[${item.map(canonical)}]`
  : item && typeof item === "object" ? `{${Object.keys(item).sort().map((name) => `${JSON.stringify(name)}:${canonical(item[name])}`)}}`
    : JSON.stringify(item));

const plans = new WeakMap();

/** Check a plan once and build its samplers, from a copy: from nothing but what its digest is of. */
function prepare(plan) {
  if (typeof plan === "string") fail("`plan` must be an object; got a string: JSON.parse it", TypeError);
  if (plan?.protocol !== 1) fail(`\`plan\` must be of protocol 1; got ${plan?.protocol}`);
  if (!plans.has(plan)) {
    // The type of ids decides no reported value, so a plan that names it is no other plan.
    const { digest: _, id_type: type, ...used } = plan, text = canonical(used), { name, keep, drop, attributes } = JSON.parse(text);
    if (type !== undefined && !Object.values(TYPES).includes(type)) fail("`id_type` must be string, integer or bytes; got another value");
    const digest = Array.from(blake3(utf8(text)).subarray(0, 32), (byte) => byte.toString(16).padStart(2, "0")).join("");
    plans.set(plan, { digest, type, keep, drop, attributes: attributes.map((attribute) => {
      const columns = attribute.columns.map(columnOf);
      return {
        columns, missing: attribute.missing, groups: attribute.groups && columnOf(attribute.groups),
        impossible: integers(attribute.impossible ?? []),
        matrices: attribute.matrices.map(({ digest, draw }) => {
          const label = (kind) => encode(["randomize id " + kind, ["plan", name, columns.map((column) => column.name)], [], hex(digest)]);
          return { draw: sampler(draw), labels: Object.fromEntries(Object.keys(TYPES).map((kind) => [kind, label(kind)])) };
        }),
      };
    }) });
  }
  return plans.get(plan);
}

/**
 * 64 hexadecimal digits of everything that decides reported values. Store them, and pass them as `after`.
 * The field `digest` of the plan is not used: anyone who changes the plan can copy it.
 */
export const digestOf = (plan) => prepare(plan).digest;

// The types that a plan may name, by the kind of an id.
const TYPES = { integer: "integer", text: "string", bytes: "bytes" };

/** The kind of an id, and its 64 bytes under a key. */
function identify(id) {
  if (typeof id === "number" && Number.isSafeInteger(id)) id = BigInt(id);
  if (typeof id === "bigint" && id >= -(1n << 63n) && id < 1n << 64n) {
    return ["integer", (key, code) => chacha(key, id, id < 0n ? code | 1n << 63n : code)];
  }
  const isString = typeof id === "string" && id.isWellFormed() && !id.endsWith("\0");
  if (!isString && !(id instanceof Uint8Array)) fail("`id` must be an integer of 64 bits, a string or bytes; got another value", TypeError);
  const raw = isString ? utf8(id) : id;
  if (!raw.length) fail("`id` must not be empty; got an empty one");
  return [isString ? "text" : "bytes", (key, code) => blake3(concat(eights(code), raw), words(key), KEYED)];
}

/**
 * Randomize one record. The same plan, key, record and id always give the same reported record.
 * @param {import("./bistochastic").ClientPlan} plan from `plan.client_json()`, parsed
 * @param {Uint8Array} key 32 secret bytes of this device; never share a key between devices. They are never made a string,
 *   and nothing of them is kept after the call
 * @param {Object} record column -> true value
 * @param {number|bigint|string|Uint8Array} id stable id of the person on this device, not empty
 * @param {{after?: string, redraw?: boolean}} options `after`: `digestOf` the plan that was used before
 * @returns {Object} column -> reported value
 */
export function respond(plan, key, record, id, { after, redraw = false } = {}) {
  if (record === null || typeof record !== "object") {
    // What `in` says of anything else quotes it.
    const got = typeof record === "string" ? "a string: JSON.parse it" : record === null ? "null" : typeof record;
    fail(`\`record\` must be an object; got ${got}`, TypeError);
  }
  const { digest: own, type, keep, drop, attributes } = prepare(plan);
  if (!(key instanceof Uint8Array) || key.length !== 32) fail(`\`key\` must be a Uint8Array of 32 bytes; got ${key?.length ?? typeof key}`);
  if (after !== undefined && after !== own && !redraw) fail("`plan` must be the plan of `after`; got another digest");
  const [kind, block] = identify(id), reported = new Map();
  if (type !== undefined && TYPES[kind] !== type) fail(`\`id\` must be of type ${type}, as id_type of the plan says; got ${TYPES[kind]}`, TypeError);
  for (const { columns, missing, groups, impossible, matrices } of attributes) {
    const given = columns.map(({ name, code }) => (name in record ? code(record[name]) : wrong(name, "be in `record`", "none of that name")));
    const none = given.filter(isMissing).length, more = missing === "category";
    if (none && !more) {
      if (missing !== "keep" || none < given.length) wrong(columns[0].name, "hold no missing value");
      for (const { name } of columns) reported.set(name, null);
      continue;
    }
    const sizes = columns.map(({ size }) => BigInt(size + more)), cell = columns.reduce((at, column, i) => at * sizes[i] + BigInt(given[i] ?? column.true), 0n);
    if (impossible.includes(cell)) wrong(columns[0].name, "hold no combination declared impossible");
    const code = cell - BigInt(impossible.filter((gap) => gap < cell).length);
    const group = groups ? groups.code(record[groups.name]) ?? wrong(groups.name, "hold no missing value") : 0;
    const { labels, draw } = matrices[group];
    let v = draw(code, (bytes) => {
      const drawn = block(derive(key, labels[kind]), code);
      return [wordOf(drawn.subarray(0, bytes)), () => further(drawn.subarray(32))];
    });
    for (const gap of impossible) if (gap <= v) v++;
    for (let i = columns.length; i-- > 0; v /= sizes[i]) {
      const { name, true: last, say } = columns[i], digit = Number(v % sizes[i]);
      reported.set(name, more && digit === last ? null : say(digit - (more && digit > last), record[name]));
    }
  }
  return Object.fromEntries(Object.entries(record).filter(([name]) => !drop.includes(name)).map(([name, value]) => {
    if (reported.has(name)) return [name, reported.get(name)];
    if (keep !== "*" && !keep.includes(name)) fail(`\`record\` must hold columns that the plan protects, keeps or drops; got \`${name}\``);
    return [name, value];
  }));
}

/** 32 secret bytes for this device, from the browser's or Node's generator. */
export const generateKey = () => crypto.getRandomValues(new Uint8Array(32));
