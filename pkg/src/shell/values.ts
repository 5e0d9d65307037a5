/** Makes values, keys, columns and filters of JSON, and JSON of them. A wrong part is refused by its place. */

import { fromBase64, toBase64 } from "../codec/base64.js";
import type {
  Attributes,
  AutoIncrement,
  Double,
  Filter,
  InfMax,
  InfMin,
  InputCell,
  InputValue,
  KeyColumn,
  KeyType,
  KeyValue,
  RangeKey,
  ValueType,
} from "../index.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../types/values.js";
import { meant, ShellError, type Stretch } from "./errors.js";
import type { Json } from "./json.js";

/** Makes a Double; that of the database's own entry, whose class it is. */
export type MakeDouble = (value: number) => Double;

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;
/** A JSON number without a fraction and without an exponent. */
const WHOLE = /^-?\d+$/;

/** A mistake at a part of the JSON. */
function wrong(message: string, place: Stretch): never {
  throw new ShellError(message, place);
}

const short = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** A part of JSON in a message. */
function shownJson(json: Json): string {
  if (json.kind === "text") return `the text "${short(json.value)}"`;
  if (json.kind === "number") return short(json.value);
  if (json.kind === "boolean") return String(json.value);
  return json.kind === "null" ? "null" : `an ${json.kind}`;
}

/** An integer of 64 bits, exact: a number if it is a safe one. */
export function integerOf(digits: string, place: Stretch): number | bigint {
  const value = BigInt(digits);
  if (value < LEAST || value > MOST) wrong(`${short(digits)} does not fit 64 bits`, place);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function bytesOf(text: string, place: Stretch): Uint8Array {
  try {
    return fromBase64(text);
  } catch {
    wrong("Bytes are written in base64, which this is not", place);
  }
}

// ------------------------------------------------------------------------------------------------ members

/** The members of an object, by names without case. */
export class Members {
  private readonly byName = new Map<string, Json>();

  constructor(
    readonly json: Json,
    known: readonly string[],
    private readonly what: string,
  ) {
    if (json.kind !== "object") wrong(`${shownJson(json)} is no object: ${what}`, json);
    for (const { name, place, value } of json.members) {
      const lower = known.find((one) => one.toLowerCase() === name.toLowerCase());
      if (lower === undefined) wrong(`There is no member '${name}'${meant(name, known)} ${what}`, place);
      if (this.byName.has(lower)) wrong(`The member '${name}' stands there twice`, place);
      this.byName.set(lower, value);
    }
  }

  /** A member, if it is there. */
  get(name: string): Json | undefined {
    return this.byName.get(name);
  }

  /** A member that has to be there. */
  need(name: string): Json {
    return this.byName.get(name) ?? wrong(`The member '${name}' is missing: ${this.what}`, this.json);
  }

  /** A text. */
  text(name: string): string {
    return textOfJson(this.need(name), name);
  }

  /** One of these texts, whatever its case; `undefined` if it is not there. */
  choice<T extends string>(name: string, known: readonly T[]): T | undefined {
    const json = this.get(name);
    if (json === undefined) return undefined;
    const text = textOfJson(json, name);
    return known.find((one) => one.toLowerCase() === text.toLowerCase()) ?? wrong(`'${short(text)}' is none of ${known.join(", ")}${meant(text, known)}`, json);
  }

  /** An integer; `undefined` if it is not there. */
  integer(name: string): number | bigint | undefined {
    const json = this.get(name);
    if (json === undefined) return undefined;
    if (json.kind !== "number" || !WHOLE.test(json.value)) wrong(`${shownJson(json)} is no integer`, json);
    return integerOf(json.value, json);
  }

  /** `true` or `false`; `undefined` if it is not there. */
  flag(name: string): boolean | undefined {
    const json = this.get(name);
    if (json === undefined) return undefined;
    return json.kind === "boolean" ? json.value : wrong(`${shownJson(json)} is neither true nor false`, json);
  }
}

function textOfJson(json: Json, name: string): string {
  return json.kind === "text" ? json.value : wrong(`${shownJson(json)} is no text: '${name}' is one`, json);
}

/** The items of an array. */
export function itemsOf(json: Json, what: string): readonly Json[] {
  return json.kind === "array" ? json.items : wrong(`${shownJson(json)} is no array: ${what}`, json);
}

// ------------------------------------------------------------------------------------------------ values

/** The types of values, as options and files name them. */
export const VALUE_TYPES: readonly ValueType[] = ["INTEGER", "STRING", "BINARY", "BOOLEAN", "DOUBLE"];

/** A value of a column. Without a type it is that of the JSON: a number without a fraction is an Integer. */
function valueOfJson(json: Json, type: ValueType | undefined, double: MakeDouble): InputValue {
  const not = (kind: string): never => wrong(`${shownJson(json)} is no ${kind}`, json);
  switch (json.kind) {
    case "text":
      if (type === "BINARY") return bytesOf(json.value, json);
      return type === undefined || type === "STRING" ? json.value : not(type);
    case "number": {
      const isWhole = WHOLE.test(json.value);
      if (type === "INTEGER" || (type === undefined && isWhole)) return isWhole ? integerOf(json.value, json) : not("INTEGER");
      if (type !== undefined && type !== "DOUBLE") not(type);
      const number = Number(json.value);
      return Number.isFinite(number) ? double(number) : not("DOUBLE");
    }
    case "boolean":
      return type === undefined || type === "BOOLEAN" ? json.value : not(type);
    case "null":
      return wrong("null is no value: leave the column out", json);
    default:
      return wrong(`${shownJson(json)} is no value: give a text, a number, true or false`, json);
  }
}

const ATTRIBUTE = 'a column is {"c":"name","v":"value"}, with "t" and "ts" if need be';

/** A column with a value, and its version. */
function cellOf(json: Json, double: MakeDouble): [string, InputCell] {
  const members = new Members(json, ["c", "v", "t", "ts", "IsInt"], ATTRIBUTE);
  const isInt = members.flag("IsInt");
  const type = members.choice("t", VALUE_TYPES) ?? (isInt === undefined || members.need("v").kind !== "number" ? undefined : isInt ? "INTEGER" : "DOUBLE");
  const version = members.integer("ts");
  return [members.text("c"), { value: valueOfJson(members.need("v"), type, double), ...(version === undefined ? {} : { version }) }];
}

/** Columns to write. */
export function attributesOf(json: Json, double: MakeDouble, ignoreVersions = false): Attributes {
  const cells = new Map<string, InputCell[]>();
  for (const item of itemsOf(json, `columns are [${ATTRIBUTE.slice(ATTRIBUTE.indexOf("{"), ATTRIBUTE.indexOf("}") + 1)}, …]`)) {
    const [name, { value, version }] = cellOf(item, double);
    const cell = ignoreVersions || version === undefined ? { value } : { value, version };
    cells.set(name, [...(cells.get(name) ?? []), cell]);
  }
  const single = ([cell, ...more]: readonly InputCell[]): InputValue | undefined =>
    more.length === 0 && cell?.version === undefined ? cell?.value : undefined;
  return Object.fromEntries([...cells].map(([name, all]) => [name, single(all) ?? all]));
}

/** Versions to delete, by column. */
export function versionsOf(json: Json): Record<string, (number | bigint)[]> {
  const versions = new Map<string, (number | bigint)[]>();
  for (const item of itemsOf(json, 'versions are [{"c":"name","ts":1}, …]')) {
    const members = new Members(item, ["c", "ts"], 'a version is {"c":"name","ts":1}');
    members.need("ts");
    const name = members.text("c");
    versions.set(name, [...(versions.get(name) ?? []), members.integer("ts")!]);
  }
  return Object.fromEntries(versions);
}

/** Integers to add, by column. */
export function countersOf(json: Json): Record<string, number | bigint> {
  const counters = new Map<string, number | bigint>();
  for (const item of itemsOf(json, 'counters are [{"c":"hits","v":1}, …]')) {
    const members = new Members(item, ["c", "v"], 'a counter is {"c":"hits","v":1}');
    members.need("v");
    counters.set(members.text("c"), members.integer("v")!);
  }
  return Object.fromEntries(counters);
}

// ------------------------------------------------------------------------------------------------ keys

const spelt = (columns: readonly KeyColumn[]): string => columns.map(({ name, type }) => `${name} ${type.toLowerCase()}`).join(", ");

/** A value of a column of the key. */
function keyValueOf(json: Json, { name, type }: KeyColumn): KeyValue {
  if (type === "INTEGER") {
    if (json.kind === "number" && WHOLE.test(json.value)) return integerOf(json.value, json);
    wrong(`${shownJson(json)} is no INTEGER, which ${name} is${json.kind === "text" && WHOLE.test(json.value) ? ": write it without quotes" : ""}`, json);
  }
  if (json.kind !== "text") wrong(`${shownJson(json)} is no ${type}, which ${name} is: write it in "…"`, json);
  return type === "STRING" ? json.value : bytesOf(json.value, json);
}

/** The items of a key, of which there are enough. */
function keyItems(json: Json, columns: readonly KeyColumn[], isPart: boolean): readonly Json[] {
  const items = itemsOf(json, `a key is [${columns.map(({ type }) => (type === "INTEGER" ? "1" : '"a"')).join(", ")}]`);
  const are = `the key has ${columns.length}: ${spelt(columns)}`;
  if (items.length > columns.length) wrong(`This is one value too many: ${are}`, items[columns.length]);
  if (!isPart && items.length < columns.length) wrong(`There ${items.length === 1 ? "is 1 value" : `are ${items.length} values`}: ${are}`, json);
  return items;
}

/** A whole key; null stands for a value that the store gives. */
export function keyOf(json: Json, columns: readonly KeyColumn[], isNew: boolean): Record<string, KeyValue | AutoIncrement> {
  return Object.fromEntries(
    keyItems(json, columns, false).map((item, at): [string, KeyValue | AutoIncrement] => {
      const column = columns[at];
      if (item.kind !== "null") return [column.name, keyValueOf(item, column)];
      if (column.autoIncrement !== true) wrong(`null is for an auto-increment column, which ${column.name} is not`, item);
      if (!isNew) wrong(`null is for new rows: give the value of ${column.name}`, item);
      return [column.name, AUTO_INCREMENT];
    }),
  );
}

/** One end of a range. What is missing of it, and null, is infinite: the least value in `begin`, the greatest in `end`. */
export function boundOf(json: Json, columns: readonly KeyColumn[], rest: InfMin | InfMax): RangeKey {
  const items = keyItems(json, columns, true);
  return Object.fromEntries(
    columns.map((column, at): [string, KeyValue | InfMin | InfMax] => {
      const item = items[at];
      if (item === undefined || item.kind === "null") return [column.name, rest];
      if (item.kind !== "object") return [column.name, keyValueOf(item, column)];
      const inf = new Members(item, ["inf"], 'an infinite value is {"inf":"min"} or {"inf":"max"}').choice("inf", ["min", "max"]);
      return [column.name, inf === "min" ? INF_MIN : inf === "max" ? INF_MAX : wrong('An infinite value is {"inf":"min"} or {"inf":"max"}', item)];
    }),
  );
}

const KEY_TYPES: readonly KeyType[] = ["STRING", "INTEGER", "BINARY"];

/** The columns of a new table's key. */
export function schemaOf(json: Json): KeyColumn[] {
  const what = 'a column of the key is {"c":"uid","t":"string"}, with "opt":"auto" if the store gives its values';
  return itemsOf(json, what).map((item) => {
    const members = new Members(item, ["c", "t", "opt", "allowChosen"], what);
    members.need("t");
    const isAuto = members.choice("opt", ["none", "auto"]) === "auto";
    const allowChosen = members.flag("allowChosen");
    return {
      name: members.text("c"),
      type: members.choice("t", KEY_TYPES)!,
      ...(isAuto ? { autoIncrement: true } : {}),
      ...(allowChosen === undefined ? {} : { allowChosen }),
    };
  });
}

// ------------------------------------------------------------------------------------------------ filters

const COMPARATORS = ["EQUAL", "NOT_EQUAL", "GREATER_THAN", "GREATER_EQUAL", "LESS_THAN", "LESS_EQUAL", "EXIST", "NOT_EXIST"] as const;
const FILTER = 'a filter is {"column":"a","comparator":"EQUAL","value":1}, {"operator":"AND","filters":[…]} or {"offset":0,"limit":1}';

/** A filter. */
export function filterOf(json: Json, double: MakeDouble): Filter {
  if (json.kind !== "object") wrong(`${shownJson(json)} is no object: ${FILTER}`, json);
  const names = json.members.map(({ name }) => name.toLowerCase());
  if (names.includes("operator")) {
    const members = new Members(json, ["operator", "filters"], FILTER);
    return {
      operator: members.choice("operator", ["NOT", "AND", "OR"])!,
      filters: itemsOf(members.need("filters"), FILTER).map((one) => filterOf(one, double)),
    };
  }
  if (names.includes("limit")) {
    const members = new Members(json, ["offset", "limit"], FILTER);
    return { offset: Number(members.integer("offset") ?? 0), limit: Number(members.integer("limit")) };
  }
  const members = new Members(json, ["column", "comparator", "value", "t", "passIfMissing", "latestVersionOnly", "valueTransferRule"], FILTER);
  members.need("comparator");
  const [value, rule] = [members.get("value"), members.get("valueTransferRule")];
  const [passIfMissing, latestVersionOnly] = [members.flag("passIfMissing"), members.flag("latestVersionOnly")];
  return {
    column: members.text("column"),
    comparator: members.choice("comparator", COMPARATORS)!,
    ...(value === undefined ? {} : { value: valueOfJson(value, members.choice("t", VALUE_TYPES), double) }),
    ...(passIfMissing === undefined ? {} : { passIfMissing }),
    ...(latestVersionOnly === undefined ? {} : { latestVersionOnly }),
    ...(rule === undefined ? {} : { valueTransferRule: ruleOf(rule) }),
  };
}

function ruleOf(json: Json): { regex: string; castType: "INTEGER" | "DOUBLE" | "STRING" } {
  const what = 'a rule is {"regex":"…","castType":"INTEGER"}';
  const members = new Members(json, ["regex", "castType"], what);
  members.need("castType");
  return { regex: members.text("regex"), castType: members.choice("castType", ["INTEGER", "DOUBLE", "STRING"])! };
}

// ------------------------------------------------------------------------------------------------ and back

/** Whether a value is a Double of any entry. */
const isDouble = (value: unknown): value is Double => typeof value === "object" && value !== null && "value" in value && !(value instanceof Uint8Array);

/** A Double as JSON, which shows that it is one. JavaScript writes no sign of a zero. */
function doubleText(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return WHOLE.test(text) ? `${text}.0` : text;
}

/** A value as JSON, and the type that JSON does not show. */
export function jsonOfValue(value: InputValue): { readonly text: string; readonly type: "binary" | undefined } {
  if (value instanceof Uint8Array) return { text: `"${toBase64(value)}"`, type: "binary" };
  if (isDouble(value)) return { text: doubleText(value.value), type: undefined };
  if (typeof value === "number") return { text: Number.isSafeInteger(value) ? String(value) : doubleText(value), type: undefined };
  return { text: typeof value === "string" ? JSON.stringify(value) : String(value), type: undefined };
}

/** A value of a key, or of an end of a range, as JSON. */
export function jsonOfKeyValue(value: KeyValue | AutoIncrement | InfMin | InfMax): string {
  if (typeof value === "object" && "autoIncrement" in value) return "null";
  if (typeof value === "object" && "infinity" in value) return `{"inf":"${value.infinity}"}`;
  return jsonOfValue(value).text;
}
