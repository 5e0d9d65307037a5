/**
 * Arguments of administration, checked by name and copied. The copies that reach the engine are plain, without a
 * prototype. They can pass a port, and run no code of the caller. The engine judges the values.
 */

import { checkArguments, checkName, count, list } from "../codec/check.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { kindOf, shown } from "../codec/kinds.js";
import { wrongArgument } from "../types/errors.js";

/** Checks an argument by its name, and returns a plain copy. */
type Check = (value: unknown, argument: string) => unknown;

const text: Check = (value, argument) => {
  checkName(value, argument);
  return value;
};

const flag: Check = (value, argument) => {
  if (typeof value !== "boolean") throw wrongArgument(argument, kindOf(value), "true or false");
  return value;
};

const integer: Check = (value, argument) => {
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) throw wrongArgument(argument, shown(value), "an integer");
  return value;
};

/** A limit that allows something. */
const positive: Check = (value, argument) => {
  count(value, argument, 1);
  return value;
};

const amount: Check = (value, argument) => {
  if (typeof value !== "number" || !(value >= 0 && value < Infinity)) throw wrongArgument(argument, shown(value), "a number of at least 0");
  return value;
};

const listOf =
  (entry: Check): Check =>
  (value, argument) =>
    list(value, argument).map((one, i) => entry(one, `${argument}[${i}]`));

/** An object with these fields. Those in `needed` must be there. */
const object = (fields: Readonly<Record<string, Check>>, ...needed: string[]): Check => {
  const known = new Set(Object.keys(fields));
  return (value, argument) => {
    const given = checkArguments(value, known, argument);
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of known) {
      const field = given[name];
      if (field !== undefined || needed.includes(name)) copy[name] = fields[name](field, `${argument}.${name}`);
    }
    return copy;
  };
};

/** The arguments of a call. Messages call them by their names alone. The signal stays on this side. */
const call = (fields: Readonly<Record<string, Check>>, ...needed: string[]) => {
  const known = new Set([...Object.keys(fields), "signal"]);
  return (value: unknown, what: string): Record<string, unknown> => {
    const given = checkArguments(value, known, what);
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(fields)) {
      const field = given[name];
      if (field !== undefined || needed.includes(name)) copy[name] = fields[name](field, name);
    }
    return copy;
  };
};

const units = object({ read: integer, write: integer });
const price = object({ read: amount, write: amount });
const prices = object({ reserved: price, onDemand: price });
const throttle = object({ unitsPerSecond: positive, tableOperationsPerSecond: positive });
const partitions = object({ splitBytes: positive, mergeBytes: integer, splitOperations: integer });
const keyColumn = object({ name: text, type: text, autoIncrement: flag, allowChosen: flag }, "name", "type");
const definedColumn = object({ name: text, type: text }, "name", "type");
const index = object({ indexName: text, type: text, primaryKey: listOf(text), columns: listOf(text), timeToLive: integer }, "indexName", "primaryKey");
const stream = object({ enabled: flag, expirationHours: integer, originColumns: listOf(text) }, "enabled");
const options = { timeToLive: integer, maxVersions: integer, maxVersionOffset: integer, allowUpdate: flag, reservedThroughput: units, stream };

/** The arguments of those operations that callers ask for by their names. */
export const ARGUMENTS = {
  createTable: call(
    {
      tableName: text,
      primaryKey: listOf(keyColumn),
      ...options,
      definedColumns: listOf(definedColumn),
      indexes: listOf(index),
      enableLocalTransaction: flag,
    },
    "tableName",
    "primaryKey",
  ),
  updateTable: call({ tableName: text, ...options }, "tableName"),
  describeTable: call({ tableName: text }, "tableName"),
  deleteTable: call({ tableName: text }, "tableName"),
  createIndex: call({ tableName: text, index, includeBaseData: flag }, "tableName", "index"),
  dropIndex: call({ tableName: text, indexName: text }, "tableName", "indexName"),
  addDefinedColumn: call({ tableName: text, columns: listOf(definedColumn) }, "tableName", "columns"),
  deleteDefinedColumn: call({ tableName: text, columns: listOf(text) }, "tableName", "columns"),
  computeSplitPointsBySize: call({ tableName: text, splitSize: integer, splitSizeUnitBytes: integer, splitPointLimit: integer }, "tableName", "splitSize"),
  computeStorage: call({ tableName: text }, "tableName"),
  computeConsumed: call({ tableName: text, start: integer, end: integer, period: text, prices }),
  createAccessKey: call({ rights: listOf(text) }, "rights"),
  listAccessKeys: call({}),
  updateAccessKey: call({ accessKeyId: text, enabled: flag, rights: listOf(text) }, "accessKeyId"),
  deleteAccessKey: call({ accessKeyId: text }, "accessKeyId"),
  listStream: call({ tableName: text }),
  describeStream: call({ streamId: text, inclusiveStartShardId: text, shardLimit: integer }, "streamId"),
  getShardIterator: call({ streamId: text, shardId: text, timestamp: integer, latest: flag, beginning: flag }, "streamId", "shardId"),
  getStreamRecord: call({ shardIterator: text, limit: integer }, "shardIterator"),
  awaitStreamRecord: call({ shardIterators: listOf(text) }, "shardIterators"),
  listTable: call({}),
  metrics: call({}),
  missing: call({}),
  flush: call({}),
  compact: call({}),
} satisfies Partial<Record<AdminOperation, ReturnType<typeof call>>>;

/** Checks the option `prices` of `open`. */
export const checkPrices = (value: unknown): unknown => (value === undefined ? undefined : prices(value, "prices"));
/** Checks the option `partitions` of `open`. */
export const checkPartitions = (value: unknown): unknown => (value === undefined ? undefined : partitions(value, "partitions"));
/** Checks the option `throttle` of `open`. */
export const checkThrottle = (value: unknown): unknown => (value === undefined ? undefined : throttle(value, "throttle"));
