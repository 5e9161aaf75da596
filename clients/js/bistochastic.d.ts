/** Types of docs/protocol.md, version 1. */

/** One column: its declared categories as decimal strings, strings or booleans. */
export interface Column {
  name: string;
  type: "string" | "integer" | "boolean" | "number" | "date";
  categories: (string | boolean)[];
  /** Codes that are reported and never true, after the categories. */
  padding?: string[];
  /** Every value that the column may hold, with the category it stands for; null for a missing value. */
  recode?: [string | boolean, string | boolean | null][];
  /** Reported values have the type of the categories rather than of the true value. */
  relabelled?: true;
  /** Ends of the classes of numbers or dates, [low, high); the last class of numbers is closed unless it is open. */
  breaks?: string[];
  open?: ("low" | "high")[];
  /** Smaller and larger numbers are replaced by these first. */
  bottom?: string;
  top?: string;
  /** What is reported for each class, if not its label. */
  midpoints?: string[];
}

/** How a client draws from a matrix, by `form`; all integers are decimal strings. */
export type Draw =
  | { form: "certain"; size: string; targets?: string[] }
  | { form: "shift"; size: string; counts: string[]; total: string }
  | { form: "fold"; size: string; counts: string[]; total: string }
  | { form: "swap"; size: string; counts: string[]; codes: [string, string] }
  | { form: "truth"; size: string; keep: [string, string] }
  | { form: "classes"; size: string; runs: [string, string][] }
  | { form: "neighbours"; size: string; alphas: string[]; total: string }
  | { form: "rows"; size: string; counts: string[][]; total: string };

/** One draw: a column, or several that are randomized together. */
export interface Attribute {
  columns: Column[];
  missing: "raise" | "keep" | "category";
  impossible?: string[];
  groups?: Column;
  matrices: { digest: string; draw: Draw }[];
}

/** What `plan.client_json()` writes. */
export interface ClientPlan {
  protocol: 1;
  name: string;
  /** Of the publisher's plan. A device uses `digestOf` instead. */
  digest: string;
  keep: "*" | string[];
  drop: string[];
  attributes: Attribute[];
  /** The type of ids, an integer being a `number` or a `bigint`; another type throws. */
  id_type?: "string" | "integer" | "bytes";
}

export type Value = string | number | bigint | boolean | null | undefined;
export type Id = number | bigint | string | Uint8Array;

export interface Options {
  /** `digestOf` the plan that this device used before; another plan throws, whatever digest it states. */
  after?: string;
  /** Accept another plan all the same: people get new noise, and epsilon adds up. */
  redraw?: boolean;
}

/** What is reported of a record: the columns that the plan does not drop, each with a value of its own. */
export type Reported<R extends object> = { [Column in keyof R]?: Value };

/** Randomize one record; the same plan, key, record and id always give the same reported record. */
export function respond<R extends object>(
  plan: ClientPlan,
  key: Uint8Array,
  record: R & { [Column in keyof R]: Value },
  id: Id,
  options?: Options,
): Reported<R>;

/** 64 hexadecimal digits of everything that decides the reported values of a plan. Store them, and pass them as `after`. */
export function digestOf(plan: ClientPlan): string;

/** 32 secret bytes for this device. Store them in its key store, and never share them. */
export function generateKey(): Uint8Array;
