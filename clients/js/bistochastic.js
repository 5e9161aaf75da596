// Randomize a record on the device: docs/protocol.md, version 1. No dependencies, no network, no floating point.

const CONTEXT = "bistochastic 2026-11-16 every derivation, version 1";
const IV = Uint32Array.of(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19);
const ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const START = 1, END = 2, PARENT = 4, ROOT = 8, KEYED = 16, CONTEXT_FLAG = 32, MATERIAL = 64;

const utf8 = (text) => new TextEncoder().encode(text);
const fail = (message, Kind = RangeError) => { throw new Kind(message); };
const rotate = (x, n) => (x >>> n) | (x << (32 - n));

/** Little-endian words of bytes, filled up with zeros to `count` words. */
function words(bytes, count = bytes.length / 4) {
  const out = new Uint32Array(count);
  bytes.forEach((byte, i) => { out[i >> 2] |= byte << (8 * (i & 3)); });
  return out;
}

function bytesOf(numbers) {
  const out = new Uint8Array(4 * numbers.length);
  numbers.forEach((x, i) => { for (let k = 0; k < 4; k++) out[4 * i + k] = x >>> (8 * k); });
  return out;
}

function concat(...parts) {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out;
}

/** One round of BLAKE3 or, without a message, of ChaCha20: columns, then diagonals, rotated right by p, q, r, s. */
function round(v, p, q, r, s, m = new Uint32Array(16)) {
  for (let i = 0; i < 8; i++) {
    const k = i >> 2, a = i & 3, b = 4 + (a + k) % 4, c = 8 + (a + 2 * k) % 4, d = 12 + (a + 3 * k) % 4;
    v[a] += v[b] + m[2 * i]; v[d] = rotate(v[d] ^ v[a], p); v[c] += v[d]; v[b] = rotate(v[b] ^ v[c], q);
    v[a] += v[b] + m[2 * i + 1]; v[d] = rotate(v[d] ^ v[a], r); v[c] += v[d]; v[b] = rotate(v[b] ^ v[c], s);
  }
}

// BLAKE3.
function compress(chain, block, counter, length, flags) {
  const v = Uint32Array.of(...chain, ...IV.subarray(0, 4), counter, counter / 2 ** 32, length, flags);
  for (let i = 0, m = words(block, 16); i < 7; i++, m = ORDER.map((j) => m[j])) round(v, 16, 12, 8, 7, m);
  return v.map((x, i) => (i < 8 ? x ^ v[i + 8] : x ^ chain[i - 8]));
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

// ChaCha20 with a counter and a nonce of 64 bits each, as bigints.
function chacha(key, counter, nonce) {
  const halves = [counter, nonce].flatMap((n) => [Number(n & 0xffffffffn), Number(n >> 32n & 0xffffffffn)]);
  const start = Uint32Array.of(...words(utf8("expand 32-byte k")), ...words(key), ...halves), x = start.slice();
  for (let i = 0; i < 10; i++) round(x, 16, 20, 24, 25);
  return bytesOf(x.map((word, i) => word + start[i]));
}

// The encoding: integers are `length` bytes, two's complement.
const little = (n, length) => Uint8Array.from({ length }, (_, i) => Number(BigInt(n) >> BigInt(8 * i) & 255n));
const tagged = (tag, count, ...parts) => concat([tag], little(count, 8), ...parts);
const encode = (item) =>
  item instanceof Uint8Array ? tagged(1, item.length, item)
    : typeof item === "string" ? tagged(2, utf8(item).length, utf8(item))
      : Array.isArray(item) ? tagged(4, item.length, ...item.map(encode))
        : concat([3], little(item, 16));

let contextKey;
function derive(key, purpose, labels, digest) {
  contextKey ??= words(blake3(utf8(CONTEXT), IV, CONTEXT_FLAG)).subarray(0, 8);
  const material = concat(key, encode([purpose, labels, [], digest]));
  return blake3(material, contextKey, MATERIAL).subarray(0, 32);
}

// Words are bigints.
const word = (bytes, at, length) => {
  let x = 0n;
  for (let i = length; i-- > 0;) x = x << 8n | BigInt(bytes[at + i]);
  return x;
};

function* further(key) {
  for (let n = 0n; ; n++) {
    const block = chacha(key, n, 0n);
    for (let i = 0; i < 64; i += 8) yield word(block, i, 8);
  }
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
const bitsOf = (outcomes) => (outcomes <= 256n ? 16n : outcomes <= 1n << 24n ? 32n : 64n);

function aliasTable(own, bits) {
  let k = 4n;
  while (1n << k < BigInt(own.length)) k++;
  const full = 1n << (bits - k), size = 1 << Number(k), decided = own.reduce((a, b) => a + b, 0n);
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

/** A draw of an outcome with probability count / total. */
function fromCounts(counts, total, bits) {
  const own = counts.map((count) => slots(count, total, bits)), { decided, look } = aliasTable(own, bits);
  return (x, more) => {
    if (x < decided) return look(x);
    let t = (x - decided) * total + below(total, more()), v = 0;
    while ((t -= (counts[v] << bits) - own[v] * total) >= 0n) v++;
    return BigInt(v);
  };
}

const sum = (counts) => counts.reduce((a, b) => a + b, 0n);

// One draw per form: (u, first word, further words) -> reported code.
const FORMS = {
  shift({ counts, total, size }, bits) {
    const draw = fromCounts(counts, total, bits);
    return (u, x, more) => (u + draw(x, more)) % size;
  },
  fold({ counts, total, size }, bits) {
    const even = Array.from({ length: 2 * Number(size) }, (_, j) => counts[Math.min(j, 2 * Number(size) - j)]);
    const draw = fromCounts(even, total, bits);
    return (u, x, more) => { const v = (u + draw(x, more)) % (2n * size); return least(v, 2n * size - 1n - v); };
  },
  swap({ counts, codes: [i, j] }, bits) {
    const draw = fromCounts(counts, sum(counts), bits);
    return (u, x, more) => (draw(x, more) ? (u === i ? j : u === j ? i : u) : u);
  },
  truth({ size, keep: [n, d] }, bits) {
    const stay = slots(n, d, bits), each = least(((d - n) << bits) / (d * (size - 1n)), (1n << bits) - 1n);
    const decided = stay + each * (size - 1n), small = size <= 256n;
    const table = small && aliasTable([stay, ...Array(Number(size) - 1).fill(each)], bits);
    return (u, x, more) => {
      let j;
      if (x < decided) j = small ? table.look(x) : x < stay ? 0n : 1n + (x - stay) / each;
      else {
        const words = more();
        j = (x - decided) * d + below(d, words) < (n << bits) - stay * d ? 0n : 1n + below(size - 1n, words);
      }
      return (u + j) % size;
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
      const [a, b] = [alpha(u - 1n), alpha(u)], down = slots(a, total, bits), up = slots(b, total, bits);
      if (x < down) return u - 1n;
      if (x < down + up) return u + 1n;
      const decided = down + up > (1n << bits) - 2n ? down + up : (1n << bits) - 2n;
      if (x < decided) return u;
      const t = (x - decided) * total + below(total, more()), falls = (a << bits) - down * total;
      return t < falls ? u - 1n : t < falls + (b << bits) - up * total ? u + 1n : u;
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

const spelling = (value) => (typeof value === "boolean" ? value : String(value));
const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
const wrong = (column, must, got = "one") => fail(`column \`${column.name}\`: must ${must}; got ${got}`);

/** The code of a value among the declared categories of a column. */
function codeOf(column, value) {
  if (column.breaks) {
    const [bottom = -Infinity, top = Infinity] = [column.bottom, column.top].map((end) => end && Number(end));
    const x = Math.min(Math.max(value, bottom), top), breaks = column.breaks.map(Number), open = column.open ?? [];
    const at = breaks.filter((low) => low <= x).length - !open.includes("low"), last = column.categories.length - 1;
    if (typeof value === "number" && at >= 0 && (at <= last || x === breaks.at(-1))) return BigInt(Math.min(at, last));
    wrong(column, "hold a number within the breaks", "one outside");
  }
  const kinds = column.type === "boolean" ? ["boolean"] : ["string", "number", "bigint"];
  column.codes ??= new Map(column.categories.map((category, i) => [category, BigInt(i)]));
  const code = kinds.includes(typeof value) ? column.codes.get(spelling(value)) : undefined;
  return code ?? wrong(column, "hold a declared category", "an undeclared one");
}

/** A reported category, of the type that the true value has. */
function spelled(column, code, value) {
  if (column.breaks) return column.midpoints ? Number(column.midpoints[code]) : column.categories[code];
  const category = [...column.categories, ...(column.padding ?? [])][code];
  const type = isMissing(value) ? column.type : typeof value;
  return type === "bigint" ? BigInt(category) : type === "number" || type === "integer" ? Number(category) : category;
}

const hex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const plans = new WeakMap();

/** Check a plan once and build its samplers. */
function prepare(plan) {
  if (plan?.protocol !== 1) fail(`\`plan\` must be of protocol 1; got ${plan?.protocol}`);
  if (!plans.has(plan)) {
    plans.set(plan, plan.attributes.map((attribute) => {
      const more = attribute.missing === "category" ? 1n : 0n;
      const columns = attribute.columns.map((column) => ({
        ...column, true: BigInt(column.categories.length), size: BigInt(column.categories.length + (column.padding?.length ?? 0)) + more,
      }));
      return {
        columns, more, missing: attribute.missing, groups: attribute.groups && { ...attribute.groups },
        labels: ["plan", plan.name, columns.map((column) => column.name)],
        impossible: integers(attribute.impossible ?? []),
        matrices: attribute.matrices.map(({ digest, draw }) => ({ digest: hex(digest), draw: sampler(draw), keys: new Map() })),
      };
    }));
  }
  return plans.get(plan);
}

/** The kind of an id, and its 64 bytes under a key. */
function identify(id) {
  if (typeof id === "number" && Number.isSafeInteger(id)) id = BigInt(id);
  if (typeof id === "bigint" && id >= -(1n << 63n) && id < 1n << 64n) {
    return ["integer", (key, code) => chacha(key, BigInt.asUintN(64, id), id < 0n ? code | 1n << 63n : code)];
  }
  const isString = typeof id === "string" && id.isWellFormed() && !id.endsWith("\0");
  if (!isString && !(id instanceof Uint8Array)) fail("`id` must be an integer of 64 bits, a string or bytes; got another value", TypeError);
  const raw = isString ? utf8(id) : id;
  return [isString ? "text" : "bytes", (key, code) => blake3(concat(little(code, 8), raw), words(key), KEYED)];
}

/**
 * Randomize one record. The same plan, key, record and id always give the same reported record.
 * @param {import("./bistochastic").ClientPlan} plan from `plan.client_json()`, parsed
 * @param {Uint8Array} key 32 secret bytes of this device; never share a key between devices
 * @param {Object} record column -> true value
 * @param {number|bigint|string|Uint8Array} id stable id of the person on this device
 * @param {{after?: string, redraw?: boolean}} options `after`: digest of the plan that was used before
 * @returns {Object} column -> reported value
 */
export function respond(plan, key, record, id, { after = plan.digest, redraw = false } = {}) {
  const attributes = prepare(plan);
  if (!(key instanceof Uint8Array) || key.length !== 32) fail(`\`key\` must be a Uint8Array of 32 bytes; got ${key?.length ?? typeof key}`);
  if (after !== plan.digest && !redraw) fail("`plan` must be the plan of `after`; got another digest");
  const [kind, block] = identify(id), secret = String.fromCharCode(...key) + kind, reported = new Map();
  for (const { columns, more, missing, groups, labels, impossible, matrices } of attributes) {
    const values = columns.map((column) => (column.name in record ? record[column.name] : wrong(column, "be in `record`", "none of that name")));
    const none = values.filter(isMissing).length;
    if (none && missing !== "category") {
      const all = missing === "keep" && none === values.length;
      if (!all) wrong(columns[0], "hold no missing value");
      for (const { name } of columns) reported.set(name, null);
      continue;
    }
    let cell = 0n;
    columns.forEach((column, i) => { cell = cell * column.size + (isMissing(values[i]) ? column.true : codeOf(column, values[i])); });
    if (impossible.includes(cell)) wrong(columns[0], "hold no combination declared impossible");
    const code = cell - BigInt(impossible.filter((gap) => gap < cell).length);
    const { digest, draw, keys } = matrices[groups ? codeOf(groups, record[groups.name]) : 0];
    let v = draw(code, (bytes) => {
      if (!keys.has(secret)) keys.set(secret, derive(key, "randomize id " + kind, labels, digest));
      const own = block(keys.get(secret), code);
      return [word(own, 0, bytes), () => further(own.subarray(32))];
    });
    for (const gap of impossible) if (gap <= v) v++;
    for (let i = columns.length; i-- > 0; v /= columns[i].size) {
      const column = columns[i], digit = v % column.size, absent = more && digit === column.true;
      reported.set(column.name, absent ? null : spelled(column, digit > column.true ? digit - more : digit, values[i]));
    }
  }
  const known = (name) => reported.has(name) || plan.keep === "*" || plan.keep.includes(name);
  const unknown = Object.keys(record).find((name) => !known(name) && !plan.drop.includes(name));
  if (unknown !== undefined) fail(`\`record\` must hold columns that the plan protects, keeps or drops; got \`${unknown}\``);
  return Object.fromEntries(Object.keys(record).filter((name) => !plan.drop.includes(name)).map((name) => [name, reported.has(name) ? reported.get(name) : record[name]]));
}

/** 32 secret bytes for this device, from the browser's or Node's generator. */
export const generateKey = () => crypto.getRandomValues(new Uint8Array(32));
