/** Rows as texts. An import finds the types of the exact shape again: where JSON would have another one, a cell names it. */

import { toBase64 } from "../codec/base64.js";
import { TAG } from "../codec/contract.js";
import type { CellRow } from "../codec/page.js";
import type { KeyValue, Value } from "../types/data.js";

/** Makes the text of a row. */
export type RowPrinter = (row: CellRow) => string;

/** A number of JSON. JavaScript writes no sign of a zero. */
const number = (value: number | bigint): string => (Object.is(value, -0) ? "-0" : String(value));

/** A value as JSON has it. Bytes are base64. */
function plain(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "object") return `"${toBase64(value)}"`;
  return typeof value === "boolean" ? String(value) : number(value);
}

/** The type of a value that JSON would read as one of another type, as a member of its cell; else nothing. */
const told = (type: number, value: Value): string =>
  type === TAG.BINARY ? ',"type":"BINARY"' : type === TAG.DOUBLE && Number.isInteger(value) ? ',"type":"DOUBLE"' : "";

const keyJson = (value: KeyValue): string => (typeof value === "object" ? `{"value":${plain(value)},"type":"BINARY"}` : plain(value));

/** The exact shape: `{"primaryKey":{…},"attributes":{…}}`. `versioned`: each value has its version. `only`: the attributes. */
export const exact =
  (versioned: boolean, only?: ReadonlySet<string>): RowPrinter =>
  (row) => {
    const key = Object.entries(row.primaryKey).map(([name, value]) => `${JSON.stringify(name)}:${keyJson(value)}`);
    const [page, at, textAt] = row.place;
    let attributes = "";
    let last: string | undefined;
    page.eachCell(at, textAt, (name, type, version, value) => {
      if (only?.has(name) === false) return false;
      const isOf = name === last;
      if (!isOf) attributes += `${last === undefined ? "" : versioned ? "]," : ","}${JSON.stringify(name)}:${versioned ? "[" : ""}`;
      last = name;
      const hint = told(type, value);
      if (versioned) attributes += `${isOf ? "," : ""}{"value":${plain(value)}${hint},"version":${version}}`;
      else attributes += hint === "" ? plain(value) : `{"value":${plain(value)}${hint}}`;
      return false;
    });
    return `{"primaryKey":{${key.join(",")}},"attributes":{${attributes}${versioned && last !== undefined ? "]" : ""}}}`;
  };

/** Calls `visit` for each column of the key, and each attribute with its newest value. */
function each(row: CellRow, visit: (name: string, value: Value, type?: number) => void): void {
  for (const [name, value] of Object.entries(row.primaryKey)) visit(name, value);
  const [page, at, textAt] = row.place;
  page.eachCell(at, textAt, (name, type, _version, value) => {
    visit(name, value, type);
    return false;
  });
}

/** The plain shape: `{"id":1,"title":"x"}`. `only`: the attributes. */
export const object =
  (only?: ReadonlySet<string>): RowPrinter =>
  (row) => {
    const members: string[] = [];
    each(row, (name, value, type) => {
      if (type === undefined || only?.has(name) !== false) members.push(`${JSON.stringify(name)}:${plain(value)}`);
    });
    return `{${members.join(",")}}`;
  };

/** A field of a CSV file. An empty text has quotes: an empty field is no value. */
function field(value: Value, type: number | undefined): string {
  if (typeof value === "string") return value === "" || /[",\r\n]/.test(value) || value !== value.trim() ? `"${value.replaceAll('"', '""')}"` : value;
  if (typeof value === "object") return toBase64(value);
  const text = typeof value === "boolean" ? String(value) : number(value);
  return type === TAG.DOUBLE && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Lines of a CSV file with these columns. `stranger` hears of others. */
export function csv(columns: readonly string[], stranger: (name: string) => void): { readonly header: string; readonly line: RowPrinter } {
  const places = new Map(columns.map((name, place) => [name, place]));
  const line: RowPrinter = (row) => {
    const fields = columns.map(() => "");
    each(row, (name, value, type) => {
      const place = places.get(name);
      if (place === undefined) stranger(name);
      else fields[place] = field(value, type);
    });
    return fields.join(",");
  };
  return { header: columns.join(","), line };
}
