/** Tables, their indexes and their split points. */

import { ARGUMENTS } from "../codec/contract-arguments.js";
import { kindOf, shown } from "../codec/kinds.js";
import { checkSchema } from "../open/existing-table.js";
import { invalid, type TabStoreError } from "../types/errors.js";
import type { CallOptions, RangeKey, TableRequest } from "../types/rows.js";
import type { StreamDescription } from "../types/streams.js";
import type {
  AddDefinedColumnRequest,
  ComputeSplitPointsBySizeRequest,
  ComputeSplitPointsBySizeResult,
  CreateIndexRequest,
  CreateTableRequest,
  DefinedColumn,
  DeleteDefinedColumnRequest,
  DropIndexRequest,
  IndexDescription,
  IndexSpec,
  KeyColumn,
  StreamSpec,
  TableDescription,
  UpdateTableRequest,
} from "../types/tables.js";
import { INF_MAX, INF_MIN } from "../types/values.js";
import type { Connection } from "./connection.js";
import { unsupported } from "./errors.js";
import { Nothing, TableName } from "./messages.js";
import { readRows } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import * as m from "./table-messages.js";
import { consumedOf } from "./answers.js";
import { keyOf } from "./row.js";

/** The types of key columns, each at the place of its number. */
const KEY_TYPES = [, "INTEGER", "STRING", "BINARY"] as string[];
/** The types of defined columns. */
const COLUMN_TYPES = [, "INTEGER", "DOUBLE", "BOOLEAN", "STRING", , , "BINARY"] as string[];
const AUTO_INCREMENT = 1;
/** The kinds of indexes, which are also the ways in which they are updated: global ones later, local ones at once. */
const INDEX_TYPES = ["GLOBAL", "LOCAL"];
const PHASE_FULL = 1;
const SECOND = 1000;

function numberOf(types: readonly string[], type: string, argument: string): number {
  const number = types.indexOf(type);
  if (number < 0) throw invalid(`The argument '${argument}' is ${shown(type)}; it must be one of ${Object.values(types).join(", ")}.`);
  return number;
}

const definedOf = (columns: readonly DefinedColumn[] | undefined): { name: string; type: number }[] | undefined =>
  columns?.map(({ name, type }, i) => ({ name, type: numberOf(COLUMN_TYPES, type, `definedColumns[${i}].type`) }));

function indexOf({ indexName: name, type = "GLOBAL", primaryKey, columns, timeToLive = -1 }: IndexSpec): NonNullable<Fields<typeof m.CreateIndex>["index"]> {
  if (timeToLive !== -1)
    throw unsupported(`A time to live of the index '${name}'`, "An index of the service keeps what its table keeps: leave timeToLive out.");
  const number = numberOf(INDEX_TYPES, type, "index.type");
  return { name, primaryKey, columns, updateMode: number, type: number };
}

const streamOf = (stream: StreamSpec | undefined): Fields<typeof m.CreateTable>["stream"] =>
  stream && (stream.enabled ? { enable: true, expirationHours: stream.expirationHours, originColumns: stream.originColumns } : { enable: false });

/**
 * The implementation of {@link Database.createTable}. `typed`: for typed tables, which ask for `allowChosen` of each key that the store
 * gives, whether the application chooses any or not.
 */
export async function createTable(connection: Connection, request: CreateTableRequest, typed: boolean): Promise<void> {
  if (Object(request) !== request) return create(connection, request);
  const { ifNotExists, ...plain } = request;
  if (ifNotExists !== undefined && typeof ifNotExists !== "boolean")
    throw invalid(`The argument 'ifNotExists' is ${kindOf(ifNotExists)}; it must be true or false.`);
  const given = typed ? { ...plain, primaryKey: plain.primaryKey.map(({ allowChosen: _, ...column }) => column) } : plain;
  await create(connection, given).catch(async (error: TabStoreError) => {
    if (!ifNotExists || error.code !== "OTSObjectAlreadyExist") throw error;
    // It may be the name of one of its indexes that is there.
    checkSchema(given, await describeTable(connection, given.tableName).catch(() => Promise.reject(error)));
  });
}

async function create(connection: Connection, request: CreateTableRequest): Promise<void> {
  const given = ARGUMENTS.createTable(request, "createTable") as unknown as CreateTableRequest;
  const { tableName, primaryKey, definedColumns, indexes, stream, reservedThroughput: units } = given;
  const { timeToLive = -1, maxVersions = 1, maxVersionOffset = 86_400, allowUpdate } = given;
  const chosen = primaryKey.find(({ allowChosen }) => allowChosen);
  if (chosen !== undefined)
    throw unsupported(
      `allowChosen of the key column '${chosen.name}'`,
      "A table of the service gives all values of such a column itself: make it a plain INTEGER.",
    );
  const isAuto = primaryKey.some(({ autoIncrement }) => autoIncrement);
  connection.forget(tableName);
  await connection.tell(
    "CreateTable",
    m.CreateTable,
    {
      meta: {
        tableName,
        primaryKey: primaryKey.map(({ name, type, autoIncrement }, i) => ({
          name,
          type: numberOf(KEY_TYPES, type, `primaryKey[${i}].type`),
          option: autoIncrement ? AUTO_INCREMENT : undefined,
        })),
        definedColumns: definedOf(definedColumns),
      },
      throughput: { units: { read: units?.read ?? 0, write: units?.write ?? 0 } },
      options: { timeToLive, maxVersions, deviation: maxVersionOffset, allowUpdate },
      stream: streamOf(stream),
      indexes: indexes?.map(indexOf),
      // A table of the service has transactions only if it was created for them.
      enableLocalTransaction: given.enableLocalTransaction ?? (isAuto ? undefined : true),
    },
    request,
  );
}

/** The implementation of {@link Database.listTable}. */
export async function listTable(connection: Connection, options: CallOptions = {}): Promise<string[]> {
  ARGUMENTS.listTable(options, "listTable");
  const { names = [] } = await connection.ask("ListTable", Nothing, {}, m.TableNames, options);
  return [...names].sort();
}

/** The request of a call that takes a table's name or an object with it. */
const named = (request: TableRequest | string): TableRequest => (typeof request === "string" ? { tableName: request } : request);

/** The implementation of {@link Database.describeTable}. */
export async function describeTable(connection: Connection, request: TableRequest | string): Promise<TableDescription> {
  const given = named(request);
  const { tableName } = ARGUMENTS.describeTable(given, "describeTable") as unknown as TableRequest;
  return descriptionOf(await connection.ask("DescribeTable", TableName, { tableName }, m.TableAnswer, given));
}

/** The implementation of {@link Database.updateTable}. */
export async function updateTable(connection: Connection, request: UpdateTableRequest): Promise<TableDescription> {
  const given = ARGUMENTS.updateTable(request, "updateTable") as unknown as UpdateTableRequest;
  const { tableName, timeToLive, maxVersions, maxVersionOffset, allowUpdate, reservedThroughput: units, stream } = given;
  const isGiven = [timeToLive, maxVersions, maxVersionOffset, allowUpdate].some((one) => one !== undefined);
  await connection.tell(
    "UpdateTable",
    m.UpdateTable,
    {
      tableName,
      throughput: units && { units },
      options: isGiven ? { timeToLive, maxVersions, deviation: maxVersionOffset, allowUpdate } : undefined,
      stream: streamOf(stream),
    },
    request,
  );
  return describeTable(connection, { tableName, signal: request.signal });
}

/** The implementation of {@link Database.deleteTable}. */
export async function deleteTable(connection: Connection, request: TableRequest | string): Promise<void> {
  const given = named(request);
  const { tableName } = ARGUMENTS.deleteTable(given, "deleteTable") as unknown as TableRequest;
  try {
    await connection.tell("DeleteTable", TableName, { tableName }, given);
  } finally {
    connection.forget(tableName);
  }
}

/** The implementation of {@link Database.createIndex}. */
export async function createIndex(connection: Connection, request: CreateIndexRequest): Promise<void> {
  const { tableName, index, includeBaseData = true } = ARGUMENTS.createIndex(request, "createIndex") as unknown as CreateIndexRequest;
  connection.forget(index.indexName);
  await connection.tell("CreateIndex", m.CreateIndex, { tableName, index: indexOf(index), includeBaseData }, request);
}

/** The implementation of {@link Database.dropIndex}. */
export async function dropIndex(connection: Connection, request: DropIndexRequest): Promise<void> {
  const { tableName, indexName } = ARGUMENTS.dropIndex(request, "dropIndex") as unknown as DropIndexRequest;
  connection.forget(indexName);
  await connection.tell("DropIndex", m.DropIndex, { tableName, indexName }, request);
}

/** The implementation of {@link Database.addDefinedColumn}. */
export async function addDefinedColumn(connection: Connection, request: AddDefinedColumnRequest): Promise<void> {
  const { tableName, columns } = ARGUMENTS.addDefinedColumn(request, "addDefinedColumn") as unknown as AddDefinedColumnRequest;
  await connection.tell("AddDefinedColumn", m.AddDefinedColumn, { tableName, columns: definedOf(columns) }, request);
}

/** The implementation of {@link Database.deleteDefinedColumn}. */
export async function deleteDefinedColumn(connection: Connection, request: DeleteDefinedColumnRequest): Promise<void> {
  const { tableName, columns } = ARGUMENTS.deleteDefinedColumn(request, "deleteDefinedColumn") as unknown as DeleteDefinedColumnRequest;
  await connection.tell("DeleteDefinedColumn", m.DeleteDefinedColumn, { tableName, columns }, request);
}

const keyColumns = (columns: NonNullable<Fields<typeof m.TableAnswer>["meta"]>["primaryKey"] = []): KeyColumn[] =>
  columns.map(({ name, type, option }) => ({
    name: name!,
    type: KEY_TYPES[Number(type)] as KeyColumn["type"],
    ...(Number(option) === AUTO_INCREMENT ? { autoIncrement: true } : {}),
  }));

/** Seconds as milliseconds. */
const milliseconds = (seconds: number | bigint | undefined): number | null => (seconds === undefined ? null : Number(seconds) * SECOND);

/** A table's stream, if it has one. */
function streamIn(tableName: string, stream: Fields<typeof m.TableAnswer>["stream"]): StreamDescription | null {
  if (!stream?.enable || stream.streamId === undefined) return null;
  return {
    streamId: stream.streamId,
    tableName,
    expirationHours: Number(stream.expirationHours ?? 0),
    // Microseconds.
    creationTime: Math.floor(Number(stream.lastEnableTime ?? 0) / 1000),
    originColumns: stream.originColumns ?? [],
  };
}

const indexIn = ({ name, type, primaryKey = [], columns = [], phase }: NonNullable<Fields<typeof m.TableAnswer>["indexes"]>[number]): IndexDescription => ({
  indexName: name!,
  type: INDEX_TYPES[Number(type ?? 0)] as IndexDescription["type"],
  primaryKey,
  columns,
  timeToLive: -1,
  phase: Number(phase) === PHASE_FULL ? "FULL" : "INCR",
  builtRows: 0,
  lagMs: 0,
  failure: null,
});

/** A description as callers get it. What the service does not tell is as its type says. */
function descriptionOf({ meta, throughput, options, stream, indexes = [], creationTime }: Fields<typeof m.TableAnswer>): TableDescription {
  const tableName = meta?.tableName ?? "";
  const primaryKey = keyColumns(meta?.primaryKey);
  const raised = milliseconds(throughput?.lastIncrease);
  const created = creationTime === undefined ? raised : Math.floor(Number(creationTime) / 1000);
  // The service tells the table's creation as its first increase.
  const isFirst = raised !== null && created !== null && Math.floor(created / SECOND) === raised / SECOND;
  return {
    tableName,
    primaryKey,
    timeToLive: Number(options?.timeToLive ?? -1),
    maxVersions: Number(options?.maxVersions ?? 1),
    maxVersionOffset: Number(options?.deviation ?? 86_400),
    allowUpdate: options?.allowUpdate ?? true,
    reservedThroughput: {
      read: Number(throughput?.units?.read ?? 0),
      write: Number(throughput?.units?.write ?? 0),
      lastIncreaseTime: isFirst ? null : raised,
      lastDecreaseTime: milliseconds(throughput?.lastDecrease),
    },
    status: "ACTIVE",
    creationTime: created ?? 0,
    definedColumns: (meta?.definedColumns ?? []).map(({ name, type }) => ({ name: name!, type: COLUMN_TYPES[Number(type)] as DefinedColumn["type"] })),
    indexes: indexes.map(indexIn),
    indexOf: null,
    enableLocalTransaction: null,
    stream: streamIn(tableName, stream),
    partitions: [],
  };
}

/** The implementation of {@link Database.computeSplitPointsBySize}. */
export async function computeSplitPointsBySize(connection: Connection, request: ComputeSplitPointsBySizeRequest): Promise<ComputeSplitPointsBySizeResult> {
  const given = ARGUMENTS.computeSplitPointsBySize(request, "computeSplitPointsBySize") as unknown as ComputeSplitPointsBySizeRequest;
  const { tableName, splitSize: size, splitSizeUnitBytes: unitBytes, splitPointLimit: limit } = given;
  const answer = await connection.ask("ComputeSplitPointsBySize", m.ComputeSplits, { tableName, size, unitBytes, limit }, m.Splits, request);
  const primaryKey = keyColumns(answer.schema);
  const all = (value: typeof INF_MIN | typeof INF_MAX): RangeKey => Object.fromEntries(primaryKey.map(({ name }) => [name, value]));
  // Key columns at the end of a point that are INF_MIN are left out.
  const points = (answer.points ?? []).map(
    (point): RangeKey => ({ ...all(INF_MIN), ...keyOf(readRows(point)[0]?.key.filter(({ value }) => value !== undefined) ?? [], connection.bigints) }),
  );
  const places = (answer.locations ?? []).flatMap(({ location = "", repeat }) => new Array<string>(Math.max(0, Number(repeat ?? 0))).fill(location));
  const ends = [all(INF_MIN), ...points, all(INF_MAX)];
  const splits = ends.slice(1).map((upper, i) => ({ lower: ends[i], upper, location: places[i] ?? "" }));
  return { primaryKey, splits, consumed: consumedOf(answer.consumed) };
}
