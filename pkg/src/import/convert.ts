/** Makes rows from a file's records: texts and JSON values become keys and attributes of the wanted types. */

import { checkArguments, checkName, record } from "../codec/check.js";
import { fromBase64 } from "../codec/base64.js";
import { setField } from "../codec/plain-object.js";
import { isBytes } from "../codec/bytes.js";
import { kindOf, shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { ImportColumn, ImportOptions, NewRow } from "../types/writer.js";
import type { KeyColumn, TableDescription } from "../types/tables.js";
import type { Attributes, InputCell, InputPrimaryKey, InputValue, ValueType } from "../types/rows.js";
import { Double } from "../types/double.js";
import { AUTO_INCREMENT } from "../types/values.js";
import { printJson } from "./json.js";
import { Names } from "./names.js";
import type { SourceRow } from "./records.js";

const COLUMN = new Set(["name", "type"]);
const INTEGER = /^[+-]?\d+$/;
const TYPES: readonly string[] = ["STRING", "INTEGER", "DOUBLE", "BOOLEAN", "BINARY"];

interface Target {
  readonly name: string;
  readonly type: ValueType | undefined;
  readonly key: boolean;
  /** Whether the table sets the type, not the caller. */
  readonly defined: boolean;
}

function bad(source: string, type: string, value: unknown): Error {
  const text = typeof value === "object" || value === undefined ? kindOf(value) : String(value);
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return invalid(`The column '${source}' cannot be read as ${type}: its value is ${typeof value === "string" ? `'${short}'` : short}.`);
}

/** Whether a value is a list of versions. */
function isCells(value: unknown): value is InputCell[] {
  return Array.isArray(value) && value.length > 0 && value.every((cell) => typeof cell === "object" && cell !== null && "value" in cell);
}

function toInteger(source: string, value: unknown): InputValue {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value !== "string" || !INTEGER.test(value.trim())) throw bad(source, "INTEGER", value);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value.trim().replace(/^\+/, ""));
}

function toDouble(source: string, value: unknown): InputValue {
  if (value instanceof Double) return value;
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
    return fromBase64(value);
  } catch {
    throw bad(source, "BINARY (base64)", value);
  }
}

/** Whether an object is one of `{}`, of any frame: JSON text has all of it. Instances of classes have a prototype that has one. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** What to do with a thing of which JSON text would lose something. */
function textAdvice(value: unknown): string {
  if (isBytes(value)) return "give it the type BINARY";
  if (value instanceof Map) return "make an object of it (Object.fromEntries)";
  if (value instanceof Set || ArrayBuffer.isView(value)) return "make an array of it (Array.from)";
  if (value instanceof ArrayBuffer) return "make a Uint8Array of it, with the type BINARY";
  if (value instanceof Blob) return "await its text() or bytes() first";
  if (typeof value === "number") return "give null or a finite number";
  return "make a text or a plain object of it";
}

/** Whether JSON text has all of a value, but for what is in it. A Date has become its ISO text before. */
function hasJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "object" && value !== null) return Array.isArray(value) || isPlain(value);
  return typeof value !== "function" && typeof value !== "symbol";
}

/** The text of a value: of an object or an array as JSON, of a Date in the form of ISO 8601. */
function toText(source: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Double) return String(value.value);
  let lossy: unknown = JSON;
  try {
    if (value instanceof Date) return value.toISOString();
    if (typeof value !== "object") return String(value);
    return printJson(value, (inner) => {
      if (hasJson(inner)) return;
      lossy = inner;
      throw new TypeError("no JSON text has all of it");
    });
  } catch {
    if (lossy === JSON) throw bad(source, "STRING", value);
    const what = typeof lossy === "number" ? String(lossy) : kindOf(lossy);
    throw invalid(`The column '${source}' cannot be stored as text: ${lossy === value ? "it holds" : "in it is"} ${what}. Here ${textAdvice(lossy)}.`);
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
      // JSON has one kind of number: one too large for an exact integer was meant as a double.
      if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return new Double(value);
      if (typeof value === "object" && !(value instanceof Uint8Array) && !(value instanceof Double)) {
        if (isCells(value)) return value;
        const advice =
          value instanceof Date
            ? "give it the type STRING to store its ISO text"
            : hasJson(value)
              ? "give it the type STRING to store it as JSON text"
              : textAdvice(value);
        throw invalid(`The column '${source}' holds ${kindOf(value)}: ${advice}, or leave it out.`);
      }
      return value as InputValue;
  }
}

/** Whether attributes are such as the writer takes. */
const isColumns = (attributes: unknown): attributes is Attributes =>
  typeof attributes === "object" && attributes !== null && [Object.prototype, null].includes(Object.getPrototypeOf(attributes));

/** The versions of an import that are stored. */
export interface KeptVersions {
  /** Earlier ones are left out. */
  readonly oldest: number;
  /** Without them the newest value is stored, with a new version. */
  readonly hasVersions: boolean;
}

const ALL: KeptVersions = { oldest: -Infinity, hasVersions: true };

/** A cell that names its type, as an export writes one where JSON would have another. */
interface TypedCell extends InputCell {
  readonly type: ValueType;
}

function isTyped(cell: object): cell is TypedCell {
  return Object.hasOwn(cell, "type") && Object.hasOwn(cell, "value") && TYPES.includes((cell as TypedCell).type);
}

/** A primary key with cells that name their types. The same object, if it has none. */
function typedKey(key: InputPrimaryKey): InputPrimaryKey {
  if (typeof key !== "object" || key === null) return key;
  let read: Record<string, InputPrimaryKey[string]> | undefined;
  for (const name of Object.keys(key)) {
    const value: unknown = key[name];
    if (typeof value !== "object" || value === null || !isTyped(value)) continue;
    read ??= { ...key };
    setField(read, name, convert(name, value.value, value.type) as never);
  }
  return read ?? key;
}

/** The value, or the versions, of an attribute. `type`: that of a defined column. `undefined`: none of the versions is kept. */
function typedValue(
  name: string,
  value: unknown,
  type: ValueType | undefined,
  { oldest, hasVersions }: KeptVersions,
): InputValue | readonly InputCell[] | undefined {
  if (!isCells(value)) {
    if (isTyped(value as object)) return convert(name, (value as TypedCell).value, (value as TypedCell).type) as InputValue;
    return type === undefined ? (value as InputValue) : convert(name, value, type);
  }
  if (type === undefined && hasVersions && oldest === -Infinity && !value.some(isTyped)) return value;
  const cells = value.flatMap((cell) => {
    if (oldest !== -Infinity && Number(cell.version) < oldest) return [];
    const { type: told, ...plain } = cell as InputCell & Partial<TypedCell>;
    const wanted = isTyped(cell) ? told : type;
    return [wanted === undefined ? cell : { ...plain, value: convert(name, cell.value, wanted) as InputValue }];
  });
  if (cells.length === 0) return undefined;
  return hasVersions ? cells : cells[0]!.value;
}

/** A value with the type that the table defines for its column; versions of it one by one. */
function convertDefined(source: string, value: unknown, type: ValueType): InputValue | readonly InputCell[] {
  if (!isCells(value)) return convert(source, value, type);
  return value.map((cell) => ({ ...cell, value: convert(source, cell.value, type) as InputValue }));
}

/** The rule for a column that the caller does not name. */
const UNNAMED: ImportColumn = { name: undefined, type: undefined };

/** Rules for making rows of a table: the target of each column of the source. */
export class Converter {
  private readonly targets = new Map<string, Target | false>();
  private readonly keyTypes: ReadonlyMap<string, KeyColumn>;
  private readonly definedTypes: ReadonlyMap<string, ValueType>;
  private readonly columns = new Map<string, ImportColumn | false>();
  private readonly rowNumber: string | undefined;
  private readonly names: Names | undefined;
  private readonly used = new Map<string, string>();

  constructor({ primaryKey, definedColumns }: Pick<TableDescription, "primaryKey" | "definedColumns">, { columns = {}, rowNumber, rename }: ImportOptions) {
    this.rowNumber = rowNumber;
    this.keyTypes = new Map(primaryKey.map((column) => [column.name, column]));
    this.definedTypes = new Map(definedColumns.map(({ name, type }) => [name, type]));
    if (rename !== undefined && rename !== "legal") throw invalid(`The argument 'rename' is ${shown(rename)}; it must be legal.`);
    if (rename !== undefined) this.names = new Names();
    record(columns, "columns");
    for (const [source, column] of Object.entries(columns)) {
      if (column === false) {
        this.columns.set(source, false);
        continue;
      }
      const { name, type } = checkArguments(column, COLUMN, `columns.${source}`);
      if (name !== undefined) checkName(name, `columns.${source}.name`);
      if (type !== undefined && !TYPES.includes(type))
        throw invalid(`The argument 'columns.${source}.type' is ${shown(type)}; it must be one of ${TYPES.join(", ")}.`);
      this.columns.set(source, { name, type });
    }
    if (rowNumber !== undefined) {
      const column = this.keyTypes.get(rowNumber);
      if (column === undefined) throw invalid(`The argument 'rowNumber' names '${rowNumber}', which is no column of the primary key.`);
      if (column.type !== "INTEGER") throw invalid(`The argument 'rowNumber' names '${rowNumber}', whose type is ${column.type}; row numbers need INTEGER.`);
      this.used.set(rowNumber, "the row's number");
    }
  }

  /** The target of a column that appears for the first time, in this record. */
  private target(source: string, given: SourceRow): Target | false {
    this.names?.add(given);
    const column = this.columns.get(source) ?? UNNAMED;
    let target: Target | false = false;
    if (column !== false) {
      const name = column.name ?? this.names?.of(source) ?? source;
      const other = this.used.get(name);
      if (other !== undefined)
        throw invalid(`The columns '${source}' and '${other}' of the source would both become '${name}': rename one by 'columns', or leave it out.`);
      this.used.set(name, source);
      const key = this.keyTypes.get(name);
      const said = key?.type ?? column.type;
      const type = said ?? this.definedTypes.get(name);
      target = { name, type, key: key !== undefined, defined: said === undefined && type !== undefined };
    }
    this.targets.set(source, target);
    return target;
  }

  /** Converts a given row: columns get the types that the table defines, and cells with a type that one. */
  typed(row: NewRow, kept: KeptVersions = ALL): NewRow {
    const { attributes, primaryKey } = row;
    const key = typedKey(primaryKey);
    // Only plain objects are read here: the writer refuses others.
    if (!isColumns(attributes)) return key === primaryKey ? row : { ...row, primaryKey: key };
    let read: Record<string, InputValue | readonly InputCell[]> | undefined;
    for (const name of Object.keys(attributes)) {
      const value: unknown = attributes[name];
      const type = this.definedTypes.get(name);
      if (value === undefined || value === null || (type === undefined && typeof value !== "object")) continue;
      const typed = typedValue(name, value, type, kept);
      if (typed === value) continue;
      read ??= { ...attributes };
      if (typed === undefined) delete read[name];
      else setField(read, name, typed);
    }
    return key === primaryKey && read === undefined ? row : { ...row, primaryKey: key, ...(read && { attributes: read }) };
  }

  /** A row with these columns in place of its own. */
  with(set: Readonly<Record<string, InputValue>> | undefined, row: NewRow): NewRow {
    // What is no row in the writer's shape is refused by the writer.
    const { attributes: own = {} } = row;
    if (set === undefined || !isColumns(own)) return row;
    const key: Record<string, unknown> = { ...row.primaryKey };
    const attributes: Record<string, unknown> = { ...own };
    for (const name of Object.keys(set)) setField(this.keyTypes.has(name) ? key : attributes, name, set[name]);
    return { ...row, primaryKey: key as InputPrimaryKey, attributes: attributes as Attributes };
  }

  /** The row of a source record; `number` is its place, from 1. `csv`: an empty text is no value. Columns of `set` may be missing. */
  row(given: SourceRow, number: number, csv: boolean, set?: object): NewRow {
    const primaryKey: Record<string, never> = {};
    const attributes: Record<string, InputValue | readonly InputCell[]> = {};
    for (const source of Object.keys(given)) {
      const target = this.targets.get(source) ?? this.target(source, given);
      if (target === false || (set !== undefined && Object.hasOwn(set, target.name))) continue;
      const value = given[source];
      if (target.key) {
        // An empty text is a legal key [T3].
        if (value === undefined || value === null) continue;
        setField(primaryKey, target.name, convert(source, value, target.type) as never);
      } else if (value !== undefined && value !== null && !(csv && value === "")) {
        setField(attributes, target.name, target.defined ? convertDefined(source, value, target.type!) : convert(source, value, target.type));
      }
    }
    if (this.rowNumber !== undefined) setField(primaryKey, this.rowNumber, number as never);
    for (const [name, { autoIncrement }] of this.keyTypes) {
      if (Object.hasOwn(primaryKey, name) || (set !== undefined && Object.hasOwn(set, name))) continue;
      if (autoIncrement) setField(primaryKey, name, AUTO_INCREMENT as never);
      else throw invalid(`No value is given for primary key name: ${name}.`);
    }
    return { primaryKey, attributes };
  }
}
