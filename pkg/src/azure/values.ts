/** Entities as objects and in JSON. */

import type { BesideChecks } from "../beside.js";
import { fromBase64, toBase64 } from "../codec/base64.js";
import { setField } from "../codec/plain-object.js";
import { isBytes } from "../codec/bytes.js";
import { kindOf, shown } from "../codec/kinds.js";
import type { EdmType, EntityKey, StoredEntity, Typed, TypedValue } from "./types.js";

const EDM_TYPES: ReadonlySet<string> = new Set<EdmType>(["Binary", "Boolean", "DateTime", "Double", "Guid", "Int32", "Int64", "String"]);
/** Names of an entity that are no properties, and the service's names for them. The ETag is made of the timestamp. */
export const OWN: ReadonlyMap<string, string> = new Map([
  ["partitionKey", "PartitionKey"],
  ["rowKey", "RowKey"],
  ["timestamp", "Timestamp"],
  ["etag", "Timestamp"],
]);
/** The service's names alone. */
export const SYSTEM: ReadonlySet<string> = new Set(OWN.values());
const TYPE = "@odata.type";

/** Whether the buffer of empty bytes was given away. */
function isDetached({ buffer }: Uint8Array): boolean {
  try {
    // It throws if it was.
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

const FIRST_TIME = Date.UTC(1601, 0);
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Whether the service has a time. An invalid one is NaN. */
const isTime = (date: Date): boolean => date.getTime() >= FIRST_TIME && date.getTime() <= LAST_TIME;

/** A value and its type, as they stand in JSON; no type if JSON tells it. */
function toJson(host: BesideChecks, value: unknown, path: string): readonly [unknown, EdmType?] {
  switch (typeof value) {
    case "string":
    case "boolean":
      return [value];
    case "bigint":
      return [String(value), "Int64"];
    case "number":
      // JSON tells an Int32 and a fraction. It writes 3.0 as 3; other integral numbers, -0, NaN and the infinities need a type.
      return Object.is(value | 0, value) || value % 1 ? [value] : [Object.is(value, -0) ? "-0" : String(value), "Double"];
    case "object":
      if (value === null) return [null];
      if (value instanceof Date) {
        if (!isTime(value)) throw host.wrong(path, "a Date out of range", "a Date of the years 1601 to 9999");
        return [value.toISOString(), "DateTime"];
      }
      if (isBytes(value)) {
        if (value.byteLength === 0 && isDetached(value)) throw host.wrong(path, "a Uint8Array of a detached buffer", "a Uint8Array with its bytes");
        return [toBase64(value), "Binary"];
      }
      {
        const { type, value: inner } = value as TypedValue;
        // The engine says whether it is one of this type.
        if (EDM_TYPES.has(type)) return [toJson(host, inner, `${path}.value`)[0], type];
      }
  }
  throw host.wrong(path, kindOf(value), "a string, a number, a bigint, a boolean, a Date, a Uint8Array, null or { type, value }");
}

/** Checks the keys of an entity. */
export function keysOf(host: BesideChecks, entity: EntityKey, path: string): readonly [string, string] {
  if (typeof entity !== "object" || entity === null) throw host.wrong(path, kindOf(entity), "an object");
  const { partitionKey, rowKey } = entity;
  host.text(partitionKey, `${path}.partitionKey`);
  host.text(rowKey, `${path}.rowKey`);
  return [partitionKey, rowKey];
}

/** An entity in JSON. */
export function write(host: BesideChecks, entity: EntityKey, path: string): string {
  const [PartitionKey, RowKey] = keysOf(host, entity, path);
  const body: Record<string, unknown> = { PartitionKey, RowKey };
  for (const [name, given] of Object.entries(entity)) {
    if (OWN.has(name) || given === undefined) continue;
    if (SYSTEM.has(name) || name.includes("odata.")) throw host.wrong(`${path}.${name}`, "given", "left out: the service has another use of this name");
    const [value, type] = toJson(host, given, `${path}.${name}`);
    if (type !== undefined) setField(body, `${name}${TYPE}`, `Edm.${type}`);
    setField(body, name, value);
  }
  return JSON.stringify(body);
}

/** A property as it stands in JSON with minimal metadata. */
function fromJson(value: unknown, type: unknown): unknown {
  if (typeof value !== "string") return value;
  switch (type) {
    case "Edm.Int64":
      return BigInt(value);
    case "Edm.DateTime":
      return new Date(value);
    case "Edm.Binary":
      return fromBase64(value);
    case "Edm.Guid":
      return { type: "Guid", value };
    case "Edm.Double":
      return Number(value);
    default:
      return value;
  }
}

/** An entity of a response. */
export function read<T extends object>(json: Record<string, unknown>): StoredEntity<T> {
  const entity: Record<string, unknown> = {};
  for (const [name, column] of OWN) {
    const value = json[name === "etag" ? "odata.etag" : column];
    if (value !== undefined) entity[name] = value;
  }
  for (const [name, value] of Object.entries(json)) {
    // A property that another client has called like one of ours is left out.
    if (OWN.has(name) || SYSTEM.has(name) || name.startsWith("odata.") || name.endsWith(TYPE)) continue;
    setField(entity, name, fromJson(value, json[`${name}${TYPE}`]));
  }
  return entity as StoredEntity<T>;
}

/** A text as a literal of a filter, or as a key in a URL: a quote is doubled. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * A filter with values: strings in quotes, and dates, bytes, bigints and guids as the service writes them. Quotes around a string
 * or a date may be there already.
 *
 * @example
 * ```ts
 * import { odata } from "tabstore/azure";
 *
 * const name = "O'Hara";
 * odata`PartitionKey eq ${name} and Size gt ${3n}`;   // PartitionKey eq 'O''Hara' and Size gt 3L
 * ```
 * @throws `TypeError` for a value that has no literal.
 */
export function odata(texts: TemplateStringsArray, ...values: readonly unknown[]): string {
  let filter = "";
  texts.forEach((text, at) => {
    filter += text;
    // What is put in has both its quotes.
    const isQuoted = filter.split("'").length % 2 === 0;
    if (at < values.length) filter += isQuoted ? quotable(values[at]) : literal(values[at]);
  });
  return filter;
}

/** Bytes in hexadecimal digits. */
export const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** A value inside of quotes. */
function quotable(value: unknown): string {
  if (typeof value === "string") return quoted(value).slice(1, -1);
  if (value instanceof Date && isTime(value)) return value.toISOString();
  throw new TypeError(`A filter cannot have ${shown(value)} inside of quotes: leave them out.`);
}

function literal(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "number":
      if (!Number.isFinite(value)) break;
      // Integers beyond an Int32 are stored as Doubles.
      return Number.isInteger(value) && (value | 0) !== value && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
    case "boolean":
      return String(value);
    case "bigint":
      return `${value}L`;
    default:
      if (value instanceof Date) {
        if (!isTime(value)) break;
        return `datetime'${value.toISOString()}'`;
      }
      if (isBytes(value)) return `X'${hex(value)}'`;
      // It must not end the literal.
      if ((value as Typed | null)?.type === "Guid" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test((value as Typed).value))
        return `guid'${(value as Typed).value}'`;
  }
  throw new TypeError(`A filter cannot have ${shown(value)}.`);
}

/** The path of an entity in a URL. The name of its table has nothing to be encoded. */
export function entityPath(host: BesideChecks, table: string, [partitionKey, rowKey]: readonly [string, string]): string {
  return `${table}(PartitionKey=${encoded(host, quoted(partitionKey), "partitionKey")},RowKey=${encoded(host, quoted(rowKey), "rowKey")})`;
}

/** A text as a part of a URL. */
export function encoded(host: BesideChecks, text: string, path: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw host.wrong(path, "a string with half of a surrogate pair", "a string of whole characters");
  }
}
