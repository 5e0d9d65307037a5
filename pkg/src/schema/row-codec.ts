/** Rows of a table as objects of the program, and as the store has them. */

import { setField } from "../codec/plain-object.js";
import { kindOf, shown } from "../codec/kinds.js";
import type { InputPrimaryKey, InputValue, PrimaryKey, Value } from "../types/data.js";
import type { Row } from "../types/row.js";
import type { UpdateRow } from "../types/rows.js";
import { AUTO_INCREMENT } from "../types/values.js";
import type { Context } from "./context.js";
import type { Field, Layout, Order } from "./layout.js";

type Given = Readonly<Record<string, unknown>>;

/** Own fields alone: an object may inherit a `constructor`. */
const own = (given: Given, name: string): unknown => (Object.hasOwn(given, name) ? given[name] : undefined);

/** Whether a value is stored as it is. Most are texts, integers and fractions: to ask here costs less than to ask their columns. */
function isAsStored(kind: Field["kind"], value: unknown): boolean {
  if (kind === "text") return typeof value === "string";
  if (kind === "integer") return Number.isSafeInteger(value);
  return kind === "double" && Number.isFinite(value) && !Number.isInteger(value);
}

const NO_KEY = "is missing, and it is in the key";

/** Makes requests of rows, and rows of answers. */
export class RowCodec {
  /** Columns by their places in a row that was put: the next one mostly has the same. */
  private readonly places: Field[] = [];

  constructor(
    readonly context: Context,
    readonly layout: Layout,
  ) {}

  /** A new row. One loop over what is given, and few calls in it: so a put costs little more than one without types. */
  put(given: unknown): { readonly primaryKey: InputPrimaryKey; readonly attributes: Record<string, InputValue> } {
    const row = this.object(given, "row");
    const { places } = this;
    const primaryKey: Record<string, InputValue> = {};
    const attributes: Record<string, InputValue> = {};
    let missing = this.layout.base.whole;
    let place = 0;
    let last = "";
    for (const name in row) {
      let field = places[place];
      if (field?.name !== name) {
        if (!Object.hasOwn(row, name)) break;
        field = places[place] = this.named(name);
      }
      place += 1;
      last = name;
      let value = row[name];
      if (value === undefined) continue;
      if (!isAsStored(field.kind, value)) {
        if (!Object.hasOwn(row, name)) break;
        value = this.encode(field, value);
      }
      setField(field.isKey ? primaryKey : attributes, name, value as InputValue);
      if (field.isWhole) missing -= 1;
    }
    // What is inherited comes last, and is no part of the row.
    if (place > 0 && !Object.hasOwn(row, last)) return this.put(Object.assign(Object.create(null), row));
    if (missing > 0) this.complete(primaryKey, attributes);
    return { primaryKey: primaryKey as InputPrimaryKey, attributes };
  }

  /** The columns with a default that a row does not give. */
  leftToDefaults(row: Given): string[] {
    return this.layout.attributes.filter(({ name, column }) => column.presence === "default" && own(row, name) === undefined).map(({ name }) => name);
  }

  /** The changes of a row. */
  patch(given: unknown): Omit<UpdateRow, "primaryKey"> {
    const patch = this.object(given, "patch");
    const put = {};
    const deleteColumns: string[] = [];
    for (const name of Object.keys(patch)) {
      const field = this.named(name);
      const value = patch[name];
      if (value === undefined) continue;
      if (field.isKey) throw this.wrong(field, "is in the key, which never changes: delete the row, and put another one");
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
    const primaryKey = {};
    const stored = key.length === 1 ? first.column.codec.encode(given, this.context.double) : undefined;
    if (stored !== undefined) {
      setField(primaryKey, first.name, stored);
      return primaryKey;
    }
    const shape = `{ ${key.map((field) => field.name).join(", ")} }`;
    if (typeof given !== "object" || given === null)
      throw this.context.wrong("key", kindOf(given), key.length === 1 ? `${first.column.codec.what}, or ${shape}` : shape);
    const stray = Object.keys(given).find((one) => !this.layout.byName.get(one)?.isKey);
    if (stray !== undefined) throw this.context.error("OTSParameterInvalid", `The key of '${name}' has no column '${stray}'.`, `It is ${shape}.`);
    for (const field of key) {
      const value = own(given as Given, field.name);
      if (value === undefined) throw this.wrong(field, NO_KEY);
      setField(primaryKey, field.name, this.encode(field, value));
    }
    return primaryKey;
  }

  /** A value of a column. */
  encode(field: Field, value: unknown): InputValue {
    const { codec } = field.column;
    const stored = codec.encode(value, this.context.double);
    if (stored !== undefined) return stored;
    throw this.wrong(field, `is ${value === null || typeof value === "object" ? kindOf(value) : shown(value)}; it must be ${codec.what}`);
  }

  /** The value of a stored one. */
  decode(field: Field, stored: Value): unknown {
    const value: unknown = field.column.codec.decode(stored);
    if (value !== undefined) return value;
    throw this.unreadable(field, `holds ${shown(stored)}, which is not ${field.column.codec.what}`);
  }

  /** The row of a stored one: its columns in the order of the store, those of the key first. */
  row(stored: Row, order: Order = this.layout.base): Record<string, unknown> {
    return this.read(stored.toObject(), order, stored);
  }

  /** Makes a row of the values of one, in place: most stay as they are, and a scan costs little more than one without types. */
  private read(row: Record<string, unknown>, order: Order, stored: Row): Record<string, unknown> {
    const { places } = order;
    let missing = order.whole;
    let place = 0;
    for (const name in row) {
      let field: Field | undefined = places[place];
      if (field?.name !== name) {
        field = this.fieldOf(order, name);
        if (field === undefined) {
          if (!Object.hasOwn(row, name)) break;
          // A column that the schema does not know.
          return this.read(Object.fromEntries(Object.entries(row).filter(([one]) => this.fieldOf(order, one))), order, stored);
        }
        places[place] = field;
      }
      place += 1;
      const value = row[name];
      if (!isAsStored(field.kind, value) && Object.hasOwn(row, name)) setField(row, name, this.decode(field, value as Value));
      if (field.isWhole) missing -= 1;
    }
    if (missing > 0) this.fill(row, order, stored);
    return row;
  }

  private fieldOf({ fields }: Order, name: string): Field | undefined {
    const field = this.layout.byName.get(name);
    return field && fields.includes(field) ? field : undefined;
  }

  /** Gives a row the defaults of columns that it lacks. */
  private fill(row: Record<string, unknown>, order: Order, stored: Row): void {
    for (const field of order.fields) {
      const { name, column, isWhole } = field;
      if (!isWhole || Object.hasOwn(row, name)) continue;
      if (column.presence !== "default")
        throw this.unreadable(
          field,
          `is missing in the row with the key ${JSON.stringify(stored, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one))}`,
        );
      setField(row, name, column.initial);
    }
  }

  /** The key of a row that was put, made of the key that was sent. */
  keyOfNew(sent: PrimaryKey): Record<string, unknown> {
    return this.layout.isPlainKey ? sent : this.keyOf(sent);
  }

  /** The key of a stored row. */
  keyOf(stored: PrimaryKey): Record<string, unknown> {
    const key = {};
    for (const field of this.layout.key) setField(key, field.name, this.decode(field, stored[field.name]));
    return key;
  }

  /** Adds the columns that a row does not give. */
  private complete(key: Record<string, InputValue>, attributes: Record<string, InputValue>): void {
    for (const field of this.layout.fields) {
      const { name, isKey, column } = field;
      const values = isKey ? key : attributes;
      if (column.presence === "optional" || Object.hasOwn(values, name)) continue;
      if (column.presence === "required") throw this.wrong(field, isKey ? NO_KEY : "is missing, and each row must have it");
      setField(values, name, column.presence === "auto" ? (AUTO_INCREMENT as never) : this.encode(field, column.initial));
    }
  }

  private object(given: unknown, what: string): Given {
    if (typeof given !== "object" || given === null) throw this.context.wrong(what, kindOf(given), "an object with the columns of the table");
    return given as Given;
  }

  private named(name: string): Field {
    const { byName, name: table } = this.layout;
    const field = byName.get(name);
    if (field === undefined)
      throw this.context.error("OTSParameterInvalid", `The table '${table}' has no column '${name}'.`, `Its columns are: ${[...byName.keys()].join(", ")}.`);
    return field;
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
