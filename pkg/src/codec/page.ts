/**
 * Reads pages: rows as the engine packs them. A row is decoded at its first use.
 *
 * ```text
 * header     u32 page length | u32 rows | u32 offset of row table | u32 offset of names | u32 offset of text | i64 base version
 * row data   key values in schema order | uv columns | each: uv name, uv versions | each: sv version - base, value
 * row table  each row: u32 offset of its data | u32 position of its first text
 * names      uv names | each: uv length | uv key columns | each: uv name
 * text       UTF-8 of the names, then of the rows' strings in the order in which they occur
 * ```
 *
 * Offsets count from the start of the page. Lengths and positions of texts count UTF-16 units. So the text is decoded
 * once for each page (otherwise 1.1 us for each string), and strings are cut out of it (0.1 us).
 */

import { jsonFields, setField } from "./plain-object.js";
import { local } from "../types/errors.js";
import { named } from "../types/named.js";
import type { Row } from "../types/row.js";
import type { Cell, KeyValue, Value, ValueType } from "../types/rows.js";
import { decodeText, Reader, u32At } from "./reader.js";
import { TAG } from "./contract.js";

/** The bytes of a page's header. */
export const HEADER = 28;
/** The types of values, by tag. */
const TYPES: Readonly<Record<number, ValueType>> = {
  [TAG.INTEGER]: "INTEGER",
  [TAG.DOUBLE]: "DOUBLE",
  [TAG.FALSE]: "BOOLEAN",
  [TAG.TRUE]: "BOOLEAN",
  [TAG.STRING]: "STRING",
  [TAG.BINARY]: "BINARY",
};

/** The columns of a row. Neighbours mostly have the same ones, and then share one shape. */
interface Shape {
  readonly indexes: readonly number[];
  readonly names: readonly string[];
}

/** The names of a page. The next page mostly has the same ones, because a row that is read by its key has its own page. */
interface Plan {
  /** The section of the names and their text, as in the page. */
  readonly bytes: Uint8Array;
  /** The offset of the text in them. */
  readonly split: number;
  readonly names: readonly string[];
  readonly keys: readonly string[];
  /** Whether one name is `__proto__`, which needs its own way of setting. */
  readonly odd: boolean;
  /** The columns of the last row. */
  shape: Shape;
}

/** Sections of up to this many bytes are compared and kept. */
const PLAN = 4096;
const NO_NAMES: readonly string[] = /* @__PURE__ */ Object.freeze([]);
let lastPlan: Plan = { bytes: new Uint8Array(0), split: 0, names: NO_NAMES, keys: NO_NAMES, odd: false, shape: { indexes: [], names: NO_NAMES } };

/** Whether the names of a page are the plan's. */
function fits({ bytes, split }: Plan, page: Uint8Array, namesAt: number, textAt: number, end: number): boolean {
  if (textAt - namesAt !== split || namesAt + bytes.length > end) return false;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== page[namesAt + i]) return false;
  return true;
}

/** Reads the names of a page. */
function planOf(page: Uint8Array, namesAt: number, textAt: number, end: number): Plan {
  const reader = new Reader(page, namesAt, textAt);
  const lengths: number[] = [];
  let units = 0;
  for (let left = reader.uv(); left > 0; left--) units += lengths[lengths.push(reader.uv()) - 1];
  // Finds the end of the names' text: lengths count UTF-16 units.
  let at = textAt;
  for (let left = units; at < end && (left > 0 || (page[at] & 0xc0) === 0x80); at++) {
    if ((page[at] & 0xc0) !== 0x80) left -= page[at] < 0xf0 ? 1 : 2;
  }
  const text = decodeText(page, textAt, at);
  let from = 0;
  const names = lengths.map((length) => text.substring(from, (from += length)));
  const keys: string[] = [];
  for (let left = reader.uv(); left > 0; left--) keys.push(names[reader.uv()]);
  return { bytes: page.slice(namesAt, at), split: textAt - namesAt, names, keys, odd: names.includes("__proto__"), shape: { indexes: [], names: NO_NAMES } };
}

/** Gets a version of a column: its name, the tag of its type, its version, its value. Returns true to end the visit. */
export type CellVisitor = (name: string, type: number, version: number, value: Value) => boolean;

/** A row whose cells can be visited without making objects of them. */
export interface CellRow extends Row {
  /** What has its cells, and two numbers that say to that which row is meant. */
  readonly place: readonly [Pick<Page, "eachCell">, at: number, textAt: number];
}

/** A page of rows. */
export class Page {
  /** The number of rows. */
  readonly length: number;
  private readonly base: number;
  readonly rowTable: number;
  readonly textAt: number;
  private readonly end: number;
  readonly namesAt: number;
  plan = lastPlan;
  private text: string | undefined;
  private reused: Cursor | undefined;

  /** Reads the header of the page at `start`. It ends at `limit` at the latest. */
  constructor(
    readonly bytes: Uint8Array,
    readonly start: number,
    readonly bigints: boolean,
    limit = bytes.length,
  ) {
    this.end = start + u32At(bytes, start);
    // No page is shorter than its header, so reading pages always ends.
    if (this.end < start + HEADER || this.end > limit) throw local("OTSInternalServerError", "A page of the engine ends too early.");
    this.length = u32At(bytes, start + 4);
    this.rowTable = start + u32At(bytes, start + 8);
    this.namesAt = start + u32At(bytes, start + 12);
    this.textAt = start + u32At(bytes, start + 16);
    // The parts follow each other and are all there. So no number of rows or names is larger than the page.
    const whole = start + HEADER <= this.rowTable && this.rowTable + 8 * this.length <= this.namesAt && this.namesAt <= this.textAt && this.textAt <= this.end;
    if (!whole) throw local("OTSInternalServerError", "A page of the engine ends too early.");
    this.base = (u32At(bytes, start + 24) | 0) * 4294967296 + u32At(bytes, start + 20);
  }

  /** The end of the page. */
  get next(): number {
    return this.end;
  }

  /** Decodes the text and the names, once. */
  load(): string {
    if (this.text !== undefined) return this.text;
    const { bytes, namesAt, textAt, end } = this;
    let plan = lastPlan;
    if (plan.bytes.length === 0 || !fits(plan, bytes, namesAt, textAt, end)) {
      plan = planOf(bytes, namesAt, textAt, end);
      if (plan.bytes.length <= PLAN) lastPlan = plan;
    }
    this.plan = plan;
    this.text = decodeText(bytes, namesAt + plan.bytes.length, end);
    return this.text;
  }

  /** The names of the key columns, in schema order. */
  get keyNames(): readonly string[] {
    this.load();
    return this.plan.keys;
  }

  /** All rows. */
  rows(): Row[] {
    const rows: Row[] = [];
    for (let i = 0; i < this.length; i++) rows.push(this.row(i));
    return rows;
  }

  /** One row. */
  row(index: number): Row {
    const at = this.rowTable + index * 8;
    return new PageRow(this, this.start + u32At(this.bytes, at), u32At(this.bytes, at + 4));
  }

  /** Fills in key values and newest values of the row at `at`. Returns the names of its columns. */
  decode(at: number, textAt: number, key: Value[], values: Value[]): readonly string[] {
    const cursor = this.cursor(at, textAt);
    const { plan } = this;
    for (let i = 0; i < plan.keys.length; i++) key.push(cursor.value());
    const columns = cursor.uv();
    const { shape } = plan;
    let same = shape.indexes.length === columns;
    let indexes: number[] | undefined;
    for (let i = 0; i < columns; i++) {
      const index = cursor.uv();
      if (same && shape.indexes[i] !== index) same = false;
      if (!same && indexes === undefined) indexes = shape.indexes.slice(0, i);
      indexes?.push(index);
      values.push(cursor.newest());
    }
    if (same) return shape.names;
    // Callers get this list itself, and neighbours share it.
    plan.shape = { indexes: indexes ?? [], names: Object.freeze((indexes ?? []).map((index) => plan.names[index])) };
    return plan.shape.names;
  }

  /** The row at `at` as an object. Nothing of it is kept. */
  object(at: number, textAt: number): Record<string, Value> {
    const cursor = this.cursor(at, textAt);
    const { keys, names, odd } = this.plan;
    const object: Record<string, Value> = {};
    if (odd) {
      for (let i = 0; i < keys.length; i++) setField(object, keys[i], cursor.value());
      for (let columns = cursor.uv(); columns > 0; columns--) setField(object, names[cursor.uv()], cursor.newest());
    } else {
      for (let i = 0; i < keys.length; i++) object[keys[i]] = cursor.value();
      for (let columns = cursor.uv(); columns > 0; columns--) {
        const name = names[cursor.uv()];
        object[name] = cursor.newest();
      }
    }
    return object;
  }

  /** The page's one cursor, set to the row at `at`. Each reader finishes with it before other code runs. */
  private cursor(at: number, textAt: number): Cursor {
    const text = this.load();
    const cursor = (this.reused ??= new Cursor(this.bytes, at, this.rowTable, text, textAt, this.bigints));
    cursor.at = at;
    cursor.textAt = textAt;
    return cursor;
  }

  /** Calls `visit` for every version of every column of the row at `at`, until it returns true. */
  eachCell(at: number, textAt: number, visit: CellVisitor): void {
    const cursor = this.cursor(at, textAt);
    const { keys, names } = this.plan;
    for (let i = 0; i < keys.length; i++) cursor.skipValue();
    for (let columns = cursor.uv(); columns > 0; columns--) {
      const name = names[cursor.uv()];
      for (let versions = cursor.uv(); versions > 0; versions--) {
        const version = this.base + Number(cursor.sv());
        const type = cursor.peek();
        if (visit(name, type, version, cursor.value())) return;
      }
    }
  }
}

/** Reads values. Their strings lie in the page's text. */
class Cursor extends Reader {
  constructor(
    bytes: Uint8Array,
    at: number,
    end: number,
    readonly text: string,
    public textAt: number,
    readonly bigints: boolean,
  ) {
    super(bytes, at, end);
  }

  /** The next byte, without moving past it. */
  peek(): number {
    return this.bytes[this.at];
  }

  /** Skips a varint. */
  skipVarint(): void {
    while (this.u8() > 127);
  }

  /** The newest value of a column, starting at its number of versions. */
  newest(): Value {
    let versions = this.uv();
    this.skipVarint();
    const value = this.value();
    if (versions === 1) return value;
    while (--versions > 0) {
      this.skipVarint();
      this.skipValue();
    }
    return value;
  }

  /** A value with its tag. */
  value(): Value {
    const tag = this.u8();
    switch (tag) {
      case TAG.INTEGER: {
        const value = this.sv();
        return this.bigints ? BigInt(value) : value;
      }
      case TAG.DOUBLE:
        return this.f64();
      case TAG.FALSE:
        return false;
      case TAG.TRUE:
        return true;
      case TAG.STRING: {
        const from = this.textAt;
        this.textAt = from + this.uv();
        return this.text.substring(from, this.textAt);
      }
      default:
        return this.binary();
    }
  }

  /** Skips a value. */
  skipValue(): void {
    switch (this.u8()) {
      case TAG.INTEGER:
        this.skipVarint();
        return;
      case TAG.DOUBLE:
        this.at += 8;
        return;
      case TAG.FALSE:
      case TAG.TRUE:
        return;
      case TAG.STRING:
        this.textAt += this.uv();
        return;
      default: {
        // Not `this.at += this.uv()`: that would add to the start of the length, not to its end.
        const length = this.uv();
        this.at += length;
      }
    }
  }
}

/** A row's key and newest values, after the first use. */
interface Decoded {
  readonly key: readonly Value[];
  readonly values: readonly Value[];
  readonly names: readonly string[];
}

/** A value for the caller. Bytes are copied, so that the row does not change. */
function given<V extends Value>(value: V): V {
  return value instanceof Uint8Array ? (value.slice() as V) : value;
}

function primaryKeyOf(this: PageRow): Record<string, KeyValue> {
  return this.keyObject();
}

function columnsOf(this: PageRow): Readonly<Record<string, readonly Cell[]>> {
  return this.columnsObject();
}

/** The browser's own way to define a getter. It costs half of `Object.defineProperty`, for each row that is read. */
const { __defineGetter__: defineGetter } = Object.prototype as unknown as { __defineGetter__(this: object, name: string, get: (this: never) => unknown): void };

/** A row in a page. */
export class PageRow implements CellRow {
  /** Own members, so that spreads, structured clones and tests of equality of a row see its contents. */
  declare readonly primaryKey: Record<string, KeyValue>;
  declare readonly columns: Readonly<Record<string, readonly Cell[]>>;
  #page: Page;
  #at: number;
  #textAt: number;
  #decoded: Decoded | undefined;
  #columns: Readonly<Record<string, readonly Cell[]>> | undefined;

  constructor(page: Page, at: number, textAt: number) {
    this.#page = page;
    this.#at = at;
    this.#textAt = textAt;
    defineGetter.call(this, "primaryKey", primaryKeyOf);
    defineGetter.call(this, "columns", columnsOf);
  }

  /** Its page, and where its data and its texts begin there. */
  get place(): readonly [page: Page, at: number, textAt: number] {
    return [this.#page, this.#at, this.#textAt];
  }

  /** Tells Vue to keep a row as it is: a proxy of one cannot be read. */
  get __v_skip(): true {
    return true;
  }

  #decode(): Decoded {
    if (this.#decoded !== undefined) return this.#decoded;
    const key: Value[] = [];
    const values: Value[] = [];
    const names = this.#page.decode(this.#at, this.#textAt, key, values);
    return (this.#decoded = { key, values, names });
  }

  /** The value of {@link Row.primaryKey}. */
  keyObject(): Record<string, KeyValue> {
    const { key: values } = this.#decode();
    const key: Record<string, KeyValue> = {};
    const names = this.#page.keyNames;
    for (let i = 0; i < values.length; i++) setField(key, names[i], given(values[i]) as KeyValue);
    return key;
  }

  get columnNames(): readonly string[] {
    return this.#decode().names;
  }

  /** The value of {@link Row.columns}. It is kept if it is immutable. Rows with bytes, which are mutable, are read anew. */
  columnsObject(): Readonly<Record<string, readonly Cell[]>> {
    if (this.#columns !== undefined) return this.#columns;
    const columns = Object.create(null) as Record<string, Cell[]>;
    let last: string | undefined;
    let cells: Cell[] = [];
    let bytes = false;
    this.#page.eachCell(this.#at, this.#textAt, (name, type, version, value) => {
      if (name !== last) {
        last = name;
        cells = columns[name] = [];
      }
      if (type === TAG.BINARY) bytes = true;
      cells.push(Object.freeze({ value, version }));
      return false;
    });
    for (const name in columns) Object.freeze(columns[name]);
    Object.freeze(columns);
    if (!bytes) this.#columns = columns;
    return columns;
  }

  get(name: string): Value | undefined {
    const { key, values, names } = this.#decode();
    const column = names.indexOf(name);
    if (column >= 0) return given(values[column]);
    const place = this.#page.keyNames.indexOf(name);
    return place >= 0 ? given(key[place]) : undefined;
  }

  version(name: string): number | undefined {
    let found: number | undefined;
    this.#page.eachCell(this.#at, this.#textAt, (column, _type, version) => {
      if (column !== name) return false;
      found = version;
      return true;
    });
    return found;
  }

  types(name: string): readonly ValueType[] {
    const found: ValueType[] = [];
    this.#page.eachCell(this.#at, this.#textAt, (column, type) => {
      if (column === name) found.push(TYPES[type]);
      return column !== name && found.length > 0;
    });
    return found;
  }

  type(name: string): ValueType | undefined {
    const [found] = this.types(name);
    if (found !== undefined) return found;
    const { key } = this.#decode();
    const place = this.#page.keyNames.indexOf(name);
    if (place < 0) return undefined;
    const value = key[place];
    return typeof value === "string" ? "STRING" : typeof value === "object" ? "BINARY" : "INTEGER";
  }

  toObject(): Record<string, Value> {
    if (this.#decoded === undefined) return this.#page.object(this.#at, this.#textAt);
    const { values, names } = this.#decoded;
    const object: Record<string, Value> = this.keyObject();
    for (let i = 0; i < names.length; i++) setField(object, names[i], given(values[i]));
    return object;
  }

  /** The output of Node's `console.log`. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { primaryKey: this.primaryKey, columns: this.columns };
  }

  /** For `JSON.stringify`. */
  toJSON(): Record<string, unknown> {
    return jsonFields(this.toObject());
  }
}
named(PageRow, "Row");
