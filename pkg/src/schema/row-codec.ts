/** Rows of a table as objects of the program, and as the store has them. */

import { setField } from "../codec/field.js";
import { kindOf, shown } from "../codec/kinds.js";
import type { InputPrimaryKey, InputValue, KeyValue, PrimaryKey, Value } from "../types/data.js";
import type { Row } from "../types/row.js";
import type { PutRow, UpdateRow } from "../types/rows.js";
import { AUTO_INCREMENT } from "../types/values.js";
import type { Context } from "./context.js";
import type { Field, Layout, Order } from "./layout.js";

type Given = Readonly<Record<string, unknown>>;

/** Own fields alone: an object may inherit a `constructor`. */
const own = (given: Given, name: string): unknown => (Object.hasOwn(given, name) ? given[name] : undefined);

/** Makes requests of rows, and rows of answers. */
export class RowCodec {
  private readonly double: (value: number) => InputValue;

  constructor(
    readonly context: Context,
    readonly layout: Layout,
  ) {
    this.double = context.double;
  }

  /** A row to put. */
  put(given: unknown): PutRow {
    const row = this.known(given, "row");
    return { primaryKey: this.newKey(row), attributes: this.attributes(row) };
  }

  /** A row to merge into the one that is there. */
  merge(given: unknown): UpdateRow {
    const row = this.known(given, "row");
    return { primaryKey: this.newKey(row), put: this.attributes(row) };
  }

  /** The columns with a default that a row does not give. */
  leftToDefaults(row: Given): string[] {
    return this.layout.attributes.filter(({ name, column }) => column.presence === "default" && own(row, name) === undefined).map(({ name }) => name);
  }

  /** The changes of a row. */
  patch(given: unknown): Omit<UpdateRow, "primaryKey"> {
    const patch = this.known(given, "patch");
    const put = {};
    const deleteColumns: string[] = [];
    for (const name of Object.keys(patch)) {
      const value = own(patch, name);
      if (value === undefined) continue;
      const field = this.layout.byName.get(name)!;
      if (this.layout.key.includes(field)) throw this.wrong(field, "is in the key, which never changes: delete the row, and put another one");
      if (value !== null) setField(put, name, this.encode(field, value));
      else if (field.column.presence === "required") throw this.wrong(field, "is null, and each row must have it");
      else deleteColumns.push(name);
    }
    return { put, deleteColumns };
  }

  /** A whole key: an object, or the value of the only column. */
  key(given: unknown): PrimaryKey {
    const { key, name } = this.layout;
    const [first] = key;
    if (key.length === 1 && first.column.codec.is(given)) return this.encodedKey({ [first.name]: given });
    if (typeof given !== "object" || given === null) {
      throw this.context.wrong(
        "key",
        kindOf(given),
        key.length === 1 ? `${first.column.codec.what}, or { ${first.name} }` : `{ ${key.map((field) => field.name).join(", ")} }`,
      );
    }
    const stray = Object.keys(given).find((one) => !key.some((field) => field.name === one));
    if (stray !== undefined)
      throw this.context.error(
        "OTSParameterInvalid",
        `The key of '${name}' has no column '${stray}'.`,
        `It is { ${key.map((field) => field.name).join(", ")} }.`,
      );
    return this.encodedKey(given as Given);
  }

  /** A value of a column. */
  encode(field: Field, value: unknown): InputValue {
    const { codec } = field.column;
    if (!codec.is(value)) throw this.wrong(field, `is ${value === null || typeof value === "object" ? kindOf(value) : shown(value)}; it must be ${codec.what}`);
    return codec.encode(value, this.double);
  }

  /** The value of a stored one. */
  decode(field: Field, stored: Value): unknown {
    const value: unknown = field.column.codec.decode(stored);
    if (value !== undefined) return value;
    throw this.unreadable(field, `holds ${shown(stored)}, which is not ${field.column.codec.what}`);
  }

  /** The row of a stored one. */
  row(stored: Row, order: Order = this.layout.base): Record<string, unknown> {
    const row = {};
    // All at once: a row decodes faster so than column by column.
    const values = stored.toObject();
    for (const field of order.fields) {
      const { name, column } = field;
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined) setField(row, name, this.decode(field, value));
      else if (column.presence === "default") setField(row, name, column.initial);
      else if (column.presence === "required")
        throw this.unreadable(
          field,
          `is missing in the row with the key ${JSON.stringify(stored, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one))}`,
        );
    }
    return row;
  }

  /** The key of a row that was put. Its dates and bytes are copies. */
  keyOfNew(given: Given): Record<string, unknown> {
    const key = {};
    for (const field of this.layout.key) {
      const value = given[field.name];
      setField(key, field.name, Object(value) === value ? this.decode(field, this.encode(field, value) as Value) : value);
    }
    return key;
  }

  /** The key of a stored row. */
  keyOf(stored: PrimaryKey): Record<string, unknown> {
    const key = {};
    for (const field of this.layout.key) setField(key, field.name, this.decode(field, stored[field.name]));
    return key;
  }

  private attributes(row: Given): Record<string, InputValue> {
    const attributes: Record<string, InputValue> = {};
    for (const field of this.layout.attributes) {
      const value = own(row, field.name);
      if (value !== undefined) setField(attributes, field.name, this.encode(field, value));
      else if (field.column.presence === "default") setField(attributes, field.name, this.encode(field, field.column.initial));
      else if (field.column.presence === "required") throw this.wrong(field, "is missing, and each row must have it");
    }
    return attributes;
  }

  private newKey(row: Given): InputPrimaryKey {
    const key = {};
    for (const field of this.layout.key) {
      const value = own(row, field.name);
      setField(key, field.name, value === undefined && field.column.presence === "auto" ? AUTO_INCREMENT : this.keyValue(field, value));
    }
    return key;
  }

  private encodedKey(given: Given): PrimaryKey {
    const key = {};
    for (const field of this.layout.key) setField(key, field.name, this.keyValue(field, own(given, field.name)));
    return key;
  }

  private keyValue(field: Field, value: unknown): KeyValue {
    if (value === undefined) throw this.wrong(field, "is missing, and it is in the key");
    return this.encode(field, value) as KeyValue;
  }

  /** An object with no other columns than the table's. */
  private known(given: unknown, what: string): Given {
    if (typeof given !== "object" || given === null) throw this.context.wrong(what, kindOf(given), "an object with the columns of the table");
    for (const name of Object.keys(given)) {
      if (!this.layout.byName.has(name))
        throw this.context.error(
          "OTSParameterInvalid",
          `The table '${this.layout.name}' has no column '${name}'.`,
          `Its columns are: ${[...this.layout.byName.keys()].join(", ")}.`,
        );
    }
    return given as Given;
  }

  private wrong(field: Field, what: string): Error {
    return this.context.error("OTSParameterInvalid", `The column '${field.name}' of '${this.layout.name}' ${what}.`);
  }

  private unreadable(field: Field, what: string): Error {
    return this.context.error(
      "SchemaMismatch",
      `The column '${field.name}' of '${this.layout.name}' ${what}.`,
      `Another program wrote the row, or an earlier schema: declare the column optional or with a default, or mend the rows by db.service.`,
    );
  }
}
