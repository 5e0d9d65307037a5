/** Changes of entities, from the records of a table's stream. */

import { isBytes } from "../codec/bytes.js";
import type { Change, StreamRecord, Value } from "../index.js";
import type { EntityChange, EntityRecord } from "./types.js";
import { setField } from "../codec/plain-object.js";
import { hex, OWN } from "./values.js";

/** The tags of values that are stored as Binary: see `src/azure/edm.rs`. */
const INT64 = 1;
const DATE_TIME = 2;
const GUID = 3;

/** Ticks of 100 ns from 1601 to 1970, and in a millisecond. */
const UNIX_EPOCH = 116_444_736_000_000_000n;
const MILLISECOND = 10_000n;

/** A stored key: its UTF-16 units, each as UTF-8 writes a character of its size (`src/azure/key.rs`). */
function keyText(bytes: Uint8Array): string {
  const units: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++]!;
    const more = first < 0x80 ? 0 : first < 0xe0 ? 1 : 2;
    let unit = first & (0x7f >> more);
    for (let left = more; left > 0; left--) unit = (unit << 6) | (bytes[at++]! & 0x3f);
    units.push(String.fromCharCode(unit));
  }
  return units.join("");
}

/** The time without what is below a millisecond. It is counted from 1601: a quotient of a negative number would be rounded up. */
function dateOf(ticks: bigint): Date {
  return new Date(Number(ticks / MILLISECOND - UNIX_EPOCH / MILLISECOND));
}

/** The time of a timestamp, as the service writes it. */
function timestampOf(ticks: bigint): string {
  const fraction = String(ticks % 10_000_000n).padStart(7, "0");
  return `${`${dateOf(ticks).toISOString().slice(0, 19)}.${fraction}`.replace(/\.?0+$/, "")}Z`;
}

/** A stored value as an entity that is read has it. */
function propertyOf(value: Value): unknown {
  // An Int32, also where the database gives all integers as bigints.
  if (typeof value === "bigint") return Number(value);
  if (!isBytes(value)) return value;
  const [tag] = value;
  const rest = value.slice(1);
  const number = (): bigint => new DataView(rest.buffer).getBigInt64(0, true);
  switch (tag) {
    case INT64:
      return number();
    case DATE_TIME:
      return dateOf(number());
    case GUID:
      return { type: "Guid", value: hex(rest).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") };
    default:
      return rest;
  }
}

/** Puts a stored cell into an entity. What another client has called like one of our names is left out, as where entities are read. */
function put(entity: Record<string, unknown>, name: string, value: Value): void {
  if (name === "Timestamp") {
    const timestamp = timestampOf(BigInt(value as number | bigint));
    Object.assign(entity, { timestamp, etag: `W/"datetime'${timestamp.replaceAll(":", "%3A")}'"` });
  } else if (!OWN.has(name)) {
    setField(entity, name, propertyOf(value));
  }
}

/**
 * A change of an entity, from a record of the table's stream [ST2]. {@link AzureTable.changes} does so by itself. Consumers of a
 * group and `db.getStreamRecord` get records.
 *
 * @param record A record of the stream of an Azure table. It is left as it is.
 * @throws `TypeError` for a record of another table.
 * @example
 * ```ts
 * import { azure, entityChange } from "tabstore/azure";
 *
 * const orders = await azure(db, "demo").createTable<{ total: number }>("orders");
 * await orders.enableStream({ expirationHours: 24 });
 * await orders.createEntity({ partitionKey: "north", rowKey: "1", total: 12 });
 * for await (const { records, checkpoint } of db.consumer({ tableName: "demo/orders", group: "upload", type: "Stream" })) {
 *   for (const record of records) {
 *     const { type, entity } = entityChange<{ total: number }>(record);
 *     console.log(type, entity.rowKey, entity.total);   // PUT 1 12
 *   }
 *   await checkpoint();
 *   break;                                              // without it the loop waits for more
 * }
 * ```
 */
export function entityChange<T extends object = Record<string, unknown>>(record: Change): EntityChange<T>;
export function entityChange<T extends object = Record<string, unknown>>(record: StreamRecord): EntityRecord<T>;
export function entityChange(record: StreamRecord | Change): EntityRecord {
  const { type, primaryKey, cells, original, timestamp: recorded, sequence } = record;
  const key = (name: string): string => {
    const stored = primaryKey[name];
    if (!isBytes(stored)) throw new TypeError("The argument 'record' is none of an Azure table.");
    return keyText(stored);
  };
  const entity = { partitionKey: key("PartitionKey"), rowKey: key("RowKey") };
  for (const cell of cells) if (cell.op === "PUT") put(entity, cell.name, cell.value);
  const before = {};
  for (const [name, value] of Object.entries(original)) put(before, name, value);
  const change = { type, entity, original: before, recorded, sequence };
  // The token is made when it is read, so it is not enumerable.
  return "token" in record ? Object.defineProperty(change, "token", { get: () => record.token }) : change;
}
