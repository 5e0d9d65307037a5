/** Makes rows of what a file holds: texts and JSON values become keys and attributes of the wanted types. */

import { setField } from "../codec/page.js";
import { kindOf, shown } from "../codec/value.js";
import { invalid } from "../errors.js";
import type { ImportColumn, NewRow } from "../interface.js";
import type { KeyColumn } from "../tables.js";
import type { InputCell, InputValue, ValueType } from "../types.js";
import { AUTO_INCREMENT, Double } from "../values.js";
import { printJson } from "./json.js";

/** What a source delivers for a row. */
export type SourceRow = Readonly<Record<string, unknown>>;

const INTEGER = /^[+-]?\d+$/;
const TYPES: readonly string[] = ["STRING", "INTEGER", "DOUBLE", "BOOLEAN", "BINARY"];

interface Target {
  readonly name: string;
  readonly type: ValueType | undefined;
  readonly key: boolean;
}

function bad(source: string, type: string, value: unknown): Error {
  const text = typeof value === "string" ? `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'` : kindOf(value) === "a number" ? String(value) : kindOf(value);
  return invalid(`The column '${source}' cannot be read as ${type}: its value is ${text}.`);
}

function toInteger(source: string, value: unknown): InputValue {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value !== "string" || !INTEGER.test(value.trim())) throw bad(source, "INTEGER", value);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value.trim().replace(/^\+/, ""));
}

function toDouble(source: string, value: unknown): InputValue {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) throw bad(source, "DOUBLE", value);
  return new Double(number);
}

function toBoolean(source: string, value: unknown): InputValue {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim().toLowerCase() : "";
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw bad(source, "BOOLEAN", value);
}

function toBinary(source: string, value: unknown): InputValue {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string") throw bad(source, "BINARY", value);
  try {
    return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
  } catch {
    throw bad(source, "BINARY (base64)", value);
  }
}

function toText(source: string, value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return typeof value === "object" ? printJson(value) : String(value);
  } catch {
    throw bad(source, "STRING", value);
  }
}

function convert(source: string, value: unknown, type: ValueType | undefined): InputValue | readonly InputCell[] {
  switch (type) {
    case "STRING":
      return toText(source, value);
    case "INTEGER":
      return toInteger(source, value);
    case "DOUBLE":
      return toDouble(source, value);
    case "BOOLEAN":
      return toBoolean(source, value);
    case "BINARY":
      return toBinary(source, value);
    default:
      // JSON has one kind of number: what is too large for an exact integer was meant as a double.
      if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return new Double(value);
      if (typeof value === "object" && !(value instanceof Uint8Array) && !(value instanceof Double)) {
        if (Array.isArray(value) && value.length > 0 && value.every((cell) => typeof cell === "object" && cell !== null && "value" in cell)) return value as InputCell[];
        throw invalid(`The column '${source}' holds ${kindOf(value)}: give it the type STRING to store it as JSON text, or leave it out.`);
      }
      return value as InputValue;
  }
}

/** How to make rows of a table: which columns of the source become which of the table. */
export class Converter {
  private readonly targets = new Map<string, Target | false>();
  private readonly keyTypes: ReadonlyMap<string, KeyColumn>;
  private readonly used = new Map<string, string>();

  /** `key` is the table's primary key. */
  constructor(key: readonly KeyColumn[], private readonly columns: Readonly<Record<string, ImportColumn | false>>, private readonly rowNumber: string | undefined) {
    this.keyTypes = new Map(key.map((column) => [column.name, column]));
    for (const [source, column] of Object.entries(columns)) {
      if (column === false) continue;
      if (typeof column !== "object" || column === null) throw invalid(`The argument 'columns.${source}' is ${kindOf(column)}; it must be { name, type } or false.`);
      if (column.type !== undefined && !TYPES.includes(column.type)) throw invalid(`The argument 'columns.${source}.type' is ${shown(column.type)}; it must be one of ${TYPES.join(", ")}.`);
    }
    if (rowNumber !== undefined) {
      const column = this.keyTypes.get(rowNumber);
      if (column === undefined) throw invalid(`The argument 'rowNumber' names '${rowNumber}', which is no column of the primary key.`);
      if (column.type !== "INTEGER") throw invalid(`The argument 'rowNumber' names '${rowNumber}', whose type is ${column.type}; row numbers need INTEGER.`);
      this.used.set(rowNumber, "the row's number");
    }
  }

  private target(source: string): Target | false {
    const known = this.targets.get(source);
    if (known !== undefined) return known;
    const column = Object.hasOwn(this.columns, source) ? this.columns[source] : {};
    let target: Target | false = false;
    if (column !== false) {
      const name = column.name ?? source;
      const other = this.used.get(name);
      if (other !== undefined) throw invalid(`The columns '${source}' and '${other}' of the source would both become '${name}': rename one by 'columns', or leave it out.`);
      this.used.set(name, source);
      const key = this.keyTypes.get(name);
      target = { name, type: key?.type ?? column.type, key: key !== undefined };
    }
    this.targets.set(source, target);
    return target;
  }

  /** The row that a record of the source stands for; `number` is its place, from 1. `csv`: an empty text is no value. */
  row(record: SourceRow, number: number, csv: boolean): NewRow {
    const primaryKey: Record<string, never> = {};
    const attributes: Record<string, InputValue | readonly InputCell[]> = {};
    for (const source of Object.keys(record)) {
      const target = this.target(source);
      if (target === false) continue;
      const value = record[source];
      if (target.key) {
        // An empty text is a legal key [T3].
        if (value === undefined || value === null) continue;
        setField(primaryKey, target.name, convert(source, value, target.type) as never);
      } else if (value !== undefined && value !== null && !(csv && value === "")) {
        setField(attributes, target.name, convert(source, value, target.type));
      }
    }
    if (this.rowNumber !== undefined) setField(primaryKey, this.rowNumber, number as never);
    for (const [name, { autoIncrement }] of this.keyTypes) {
      if (Object.hasOwn(primaryKey, name)) continue;
      if (autoIncrement) setField(primaryKey, name, AUTO_INCREMENT as never);
      else throw invalid(`No value is given for primary key name: ${name}.`);
    }
    return { primaryKey, attributes };
  }
}
