/** Messages and metas as attribute columns, and back. Lists of texts are JSON texts. */

import { kindOf } from "../codec/kinds.js";
import type { Attributes, InputValue, Row } from "../index.js";
import type { Host } from "./check.js";

/** The most fields of a write [D1]. More would cost all messages of its batch. */
const COLUMNS = 1024;
/** What a column may add to the counted bytes of its name and value. */
const COLUMN = 16;

/** Writes and reads the fields of one schema. */
export class FieldCodec {
  private readonly lists: ReadonlySet<string>;

  constructor(
    private readonly host: Host,
    lists: readonly string[] | undefined,
  ) {
    const names = lists === undefined ? [] : host.array(lists, "lists");
    names.forEach((name, index) => host.text(name, `lists[${index}]`));
    this.lists = new Set(names as string[]);
  }

  /** The columns to write. The database judges names and values. */
  encode(given: unknown, what: string): Attributes {
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw this.host.wrong(what, kindOf(given), "an object of fields");
    const fields = given as Readonly<Record<string, unknown>>;
    const { length } = Object.keys(fields);
    if (length > COLUMNS)
      throw this.host.error("OTSParameterInvalid", `The number of attribute columns exceeds the limit, limit count: ${COLUMNS}, column count: ${length}.`);
    const special = Object.keys(fields).filter((name) => Array.isArray(fields[name]) || this.lists.has(name));
    // The database refuses objects that hide their values, so it gets the caller's own.
    if (special.length === 0) return fields as Attributes;
    const prototype = Object.getPrototypeOf(given) as object | null;
    if (prototype !== null && prototype !== Object.prototype)
      throw this.host.wrong(what, kindOf(given), "a plain object of fields, because some of them are lists");
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, special.includes(name) ? this.list(name, value, what) : (value as InputValue)]),
    );
  }

  private list(name: string, value: unknown, what: string): string {
    if (!this.lists.has(name)) {
      throw this.host.error(
        "OTSParameterInvalid",
        `The field '${name}' of '${what}' is an array; only fields in 'lists' of the schema may be.`,
        `Schema: lists: ["${name}"].`,
      );
    }
    if (!Array.isArray(value)) throw this.host.wrong(`${what}.${name}`, kindOf(value), "an array of strings, because 'lists' of the schema has it");
    const texts: readonly unknown[] = [...(value as unknown[])];
    const other = texts.findIndex((one) => typeof one !== "string");
    if (other >= 0) throw this.host.wrong(`${what}.${name}[${other}]`, kindOf(texts[other]), "a string");
    return JSON.stringify(texts);
  }

  /** The fields of a row, without its key. */
  decode(row: Row): Record<string, unknown> {
    // It keeps a column called `__proto__`.
    return Object.fromEntries(
      row.columnNames.map((name) => {
        const value = row.get(name);
        return [name, this.lists.has(name) && typeof value === "string" ? listOf(value) : value];
      }),
    );
  }
}

/** The list in a text, or the text if it is none. */
function listOf(text: string): unknown {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === "string") ? list : text;
  } catch {
    return text;
  }
}

/** At least the bytes of columns, as a batch counts them. A character has up to three bytes. */
export function bytesOf(columns: Readonly<Record<string, unknown>>): number {
  let bytes = 0;
  for (const name of Object.keys(columns)) {
    const value = columns[name];
    bytes += COLUMN + 3 * name.length;
    if (typeof value === "string") bytes += 3 * value.length;
    else if (ArrayBuffer.isView(value)) bytes += value.byteLength;
  }
  return bytes;
}
