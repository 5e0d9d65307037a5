/** Rows that the service has given. */

import { TAG } from "../codec/contract.js";
import { jsonFields, setField } from "../codec/plain-object.js";
import type { CellRow, CellVisitor } from "../codec/page.js";
import { named } from "../types/named.js";
import type { Row } from "../types/row.js";
import type { Cell, KeyValue, PrimaryKey, Value, ValueType } from "../types/rows.js";
import { type ReadCell, type ReadRow, TYPE } from "./plain-buffer.js";

const TYPES: Readonly<Record<number, ValueType>> = {
  [TYPE.INTEGER]: "INTEGER",
  [TYPE.DOUBLE]: "DOUBLE",
  [TYPE.BOOLEAN]: "BOOLEAN",
  [TYPE.STRING]: "STRING",
  [TYPE.BLOB]: "BINARY",
};

/** The tags of types in pages of the engine, by which {@link CellRow} tells them. */
const TAGS: Readonly<Record<number, number>> = {
  [TYPE.INTEGER]: TAG.INTEGER,
  [TYPE.DOUBLE]: TAG.DOUBLE,
  [TYPE.BOOLEAN]: TAG.FALSE,
  [TYPE.STRING]: TAG.STRING,
  [TYPE.BLOB]: TAG.BINARY,
};

/** A value for the caller: a copy of bytes, and with `integers: "bigint"` a bigint. */
export function callerValue({ type, value }: Pick<ReadCell, "type" | "value">, bigints: boolean): Value {
  if (value instanceof Uint8Array) return value.slice();
  return bigints && type === TYPE.INTEGER ? BigInt(value as number) : value!;
}

/** A key for the caller. */
export function keyOf(cells: readonly ReadCell[], bigints: boolean): Record<string, KeyValue> {
  const key: Record<string, KeyValue> = {};
  for (const cell of cells) setField(key, cell.name, callerValue(cell, bigints) as KeyValue);
  return key;
}

function primaryKeyOf(this: CloudRow): PrimaryKey {
  return this.keyObject();
}

function columnsOf(this: CloudRow): Row["columns"] {
  return this.columnsObject();
}

/** A row, which looks like one of an instance in this browser. */
export class CloudRow implements CellRow {
  declare readonly primaryKey: PrimaryKey;
  declare readonly columns: Row["columns"];
  readonly #key: readonly ReadCell[];
  readonly #bigints: boolean;
  /** The versions of each column, by its name, in byte order. */
  readonly #cells = new Map<string, ReadCell[]>();

  constructor({ key, cells }: ReadRow, bigints: boolean) {
    this.#key = key;
    this.#bigints = bigints;
    for (const cell of cells) {
      const versions = this.#cells.get(cell.name);
      if (versions === undefined) this.#cells.set(cell.name, [cell]);
      else versions.push(cell);
    }
    // Own members, so that spreads, structured clones and tests of equality of a row see its contents.
    Object.defineProperty(this, "primaryKey", { get: primaryKeyOf, enumerable: true, configurable: true });
    Object.defineProperty(this, "columns", { get: columnsOf, enumerable: true, configurable: true });
  }

  /** Its cells, as the code that exports rows visits them. */
  get place(): CellRow["place"] {
    return [this, 0, 0];
  }

  eachCell(_at: number, _textAt: number, visit: CellVisitor): void {
    for (const [name, versions] of this.#cells) {
      for (const cell of versions) {
        const tag = cell.type === TYPE.BOOLEAN && cell.value === true ? TAG.TRUE : TAGS[cell.type];
        if (visit(name, tag, Number(cell.version), this.#value(cell))) return;
      }
    }
  }

  /** Tells Vue to keep a row as it is: a proxy of one cannot be read. */
  get __v_skip(): true {
    return true;
  }

  #value(cell: ReadCell): Value {
    return callerValue(cell, this.#bigints);
  }

  #newest(name: string): ReadCell | undefined {
    return this.#cells.get(name)?.[0];
  }

  /** The value of {@link Row.primaryKey}. */
  keyObject(): PrimaryKey {
    return keyOf(this.#key, this.#bigints);
  }

  /** The value of {@link Row.columns}. */
  columnsObject(): Row["columns"] {
    const columns = Object.create(null) as Record<string, readonly Cell[]>;
    for (const [name, versions] of this.#cells)
      columns[name] = Object.freeze(versions.map((cell) => Object.freeze({ value: this.#value(cell), version: Number(cell.version) })));
    return Object.freeze(columns);
  }

  get columnNames(): readonly string[] {
    return Object.freeze([...this.#cells.keys()]);
  }

  get(name: string): Value | undefined {
    const cell = this.#newest(name) ?? this.#key.find((column) => column.name === name);
    return cell && this.#value(cell);
  }

  version(name: string): number | undefined {
    const cell = this.#newest(name);
    return cell && Number(cell.version);
  }

  type(name: string): ValueType | undefined {
    const cell = this.#newest(name) ?? this.#key.find((column) => column.name === name);
    return cell && TYPES[cell.type];
  }

  types(name: string): readonly ValueType[] {
    return (this.#cells.get(name) ?? []).map(({ type }) => TYPES[type]!);
  }

  toObject(): Record<string, Value> {
    const object: Record<string, Value> = this.keyObject();
    for (const name of this.#cells.keys()) setField(object, name, this.get(name)!);
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
named(CloudRow, "Row");
