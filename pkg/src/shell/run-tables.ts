/** The commands about tables. */

import type { CreateTableRequest, DefinedColumn, IndexSpec, KeyColumn, TableDescription } from "../index.js";
import type { AnswerCell } from "./answer.js";
import type { Context, Untimed } from "./context.js";
import { ShellError } from "./errors.js";
import { type Json, readJsonText } from "./json.js";
import { alterRequest, createRequest } from "./request.js";
import { itemsOf, Members, schemaOf, VALUE_TYPES } from "./values.js";
import { quote } from "./words.js";

const text = (value: string): AnswerCell => ({ value, type: "STRING" });
const integer = (value: number): AnswerCell => ({ value, type: "INTEGER" });
const flag = (value: boolean): AnswerCell => ({ value, type: "BOOLEAN" });

// ------------------------------------------------------------------------------------------------ as JSON

/** A column of the key, as `desc` shows it. */
const keyColumnJson = ({ name, type, autoIncrement, allowChosen }: KeyColumn): object => ({
  C: name,
  T: type.toLowerCase(),
  Opt: autoIncrement === true ? "auto" : "none",
  ...(allowChosen === true ? { AllowChosen: true } : {}),
});

/** A table as the JSON of the official tool, with what that does not know behind it. `create -i` reads it. */
function tableJson(table: TableDescription): object {
  const { tableName, primaryKey, timeToLive, maxVersions, maxVersionOffset, allowUpdate, reservedThroughput, definedColumns, indexes, indexOf, stream } = table;
  // With an auto-increment key there are none anyway.
  const refusesTransactions = !table.enableLocalTransaction && indexOf === null && primaryKey.every(({ autoIncrement }) => autoIncrement !== true);
  return {
    Name: tableName,
    Meta: { Pk: primaryKey.map(keyColumnJson) },
    Option: { TTL: timeToLive, Version: maxVersions, MaxVersionOffset: maxVersionOffset, AllowUpdate: allowUpdate },
    CU: { Read: reservedThroughput.read, Write: reservedThroughput.write },
    ...(indexOf === null ? {} : { IndexOf: indexOf }),
    ...(refusesTransactions ? { EnableLocalTransaction: false } : {}),
    ...(definedColumns.length === 0 ? {} : { DefinedColumns: definedColumns.map(({ name, type }) => ({ C: name, T: type.toLowerCase() })) }),
    ...(indexes.length === 0
      ? {}
      : {
          Indexes: indexes.map(({ indexName, type, primaryKey, columns, timeToLive }) => ({
            Name: indexName,
            Type: type,
            Pk: primaryKey,
            Columns: columns,
            TTL: timeToLive,
          })),
        }),
    ...(stream === null ? {} : { Stream: { ExpirationHours: stream.expirationHours, OriginColumns: stream.originColumns } }),
  };
}

const WHAT = "a table is as `desc -o` writes it";

/** An integer of JSON, as a number. */
const numberOf = (members: Members | undefined, name: string): number | undefined => {
  const value = members?.integer(name);
  return value === undefined ? undefined : Number(value);
};

const names = (json: Json): string[] => itemsOf(json, "names are texts").map((item) => (item.kind === "text" ? item.value : ""));

function indexOfJson(json: Json): IndexSpec {
  const members = new Members(json, ["Name", "Type", "Pk", "Columns", "TTL"], WHAT);
  const columns = members.get("Columns");
  const timeToLive = numberOf(members, "TTL");
  return {
    indexName: members.text("Name"),
    type: members.choice("Type", ["GLOBAL", "LOCAL"]),
    primaryKey: names(members.need("Pk")),
    ...(columns === undefined ? {} : { columns: names(columns) }),
    ...(timeToLive === undefined ? {} : { timeToLive }),
  };
}

function definedOfJson(json: Json): DefinedColumn {
  const members = new Members(json, ["C", "T"], WHAT);
  members.need("T");
  return { name: members.text("C"), type: members.choice("T", VALUE_TYPES)! };
}

/** The table that a text of JSON describes. */
function readTable(json: string): CreateTableRequest {
  const members = new Members(
    readJsonText(json),
    ["Name", "Meta", "Option", "CU", "EnableLocalTransaction", "DefinedColumns", "Indexes", "Stream", "IndexOf"],
    WHAT,
  );
  const part = (name: string, known: readonly string[]): Members | undefined => {
    const json = members.get(name);
    return json === undefined ? undefined : new Members(json, known, WHAT);
  };
  const indexOf = members.get("IndexOf");
  if (indexOf !== undefined) throw new ShellError("An index comes with its table: describe that one", indexOf);
  const [options, units, stream] = [
    part("Option", ["TTL", "Version", "MaxVersionOffset", "AllowUpdate"]),
    part("CU", ["Read", "Write"]),
    part("Stream", ["ExpirationHours", "OriginColumns"]),
  ];
  const list = <T>(name: string, read: (json: Json) => T): T[] | undefined => {
    const json = members.get(name);
    return json === undefined ? undefined : itemsOf(json, WHAT).map(read);
  };
  const origin = stream?.get("OriginColumns");
  const originColumns = origin === undefined ? undefined : names(origin);
  return {
    tableName: members.text("Name"),
    primaryKey: schemaOf(new Members(members.need("Meta"), ["Pk"], WHAT).need("Pk")),
    timeToLive: numberOf(options, "TTL"),
    maxVersions: numberOf(options, "Version"),
    maxVersionOffset: numberOf(options, "MaxVersionOffset"),
    allowUpdate: options?.flag("AllowUpdate"),
    reservedThroughput: { read: numberOf(units, "Read") ?? 0, write: numberOf(units, "Write") ?? 0 },
    enableLocalTransaction: members.flag("EnableLocalTransaction"),
    definedColumns: list("DefinedColumns", definedOfJson),
    indexes: list("Indexes", indexOfJson),
    ...(stream === undefined
      ? {}
      : { stream: { enabled: true, expirationHours: numberOf(stream, "ExpirationHours") ?? 24, ...(originColumns && { originColumns }) } }),
  };
}

// ------------------------------------------------------------------------------------------------ commands

/** `create`. */
export async function create(context: Context): Promise<Untimed> {
  const { db, options, signal } = context;
  const name = options.text("table");
  options.choice("model");
  const read = options.has("input") ? await context.inputText(readTable) : createRequest(options);
  const request = name === undefined ? read : { ...read, tableName: name };
  await db.createTable({ ...request, signal });
  return { kind: "text", text: `Table ${request.tableName} is created.` };
}

/** `use`: the name of the table, once it is there. */
export async function use(context: Context): Promise<Untimed> {
  const { tableName } = await context.describe();
  return { kind: "text", text: `Table ${tableName} is used.` };
}

const spelt = (table: TableDescription): string =>
  table.primaryKey.map(({ name, type, autoIncrement }) => `${name} ${type.toLowerCase()}${autoIncrement === true ? " auto" : ""}`).join(", ");

/** `list`. */
export async function list({ db, options, signal }: Context): Promise<Untimed> {
  if (options.has("ts")) {
    if (options.has("wc")) throw new ShellError("-t and -w exclude each other", options.word("wc")!);
    return { kind: "table", columns: ["table"], rows: [], note: "There are no time series tables here." };
  }
  const tables = await db.listTable({ signal });
  if (!options.has("detail")) return { kind: "table", columns: ["table"], rows: tables.map((name) => [text(name)]) };
  const described = await Promise.all(tables.map((tableName) => db.describeTable({ tableName, signal })));
  return {
    kind: "table",
    columns: ["table", "primary key", "ttl", "version", "read_cu", "write_cu", "index of"],
    rows: described.map((table) => [
      text(table.tableName),
      text(spelt(table)),
      integer(table.timeToLive),
      integer(table.maxVersions),
      integer(table.reservedThroughput.read),
      integer(table.reservedThroughput.write),
      table.indexOf === null ? undefined : text(table.indexOf),
    ]),
  };
}

/** A table's options as rows. */
function asRows(table: TableDescription): AnswerCell[][] {
  return [
    [text("table"), text(table.tableName)],
    [text("primary key"), text(spelt(table))],
    [text("ttl"), integer(table.timeToLive)],
    [text("version"), integer(table.maxVersions)],
    [text("max_version_offset"), integer(table.maxVersionOffset)],
    [text("allow_update"), flag(table.allowUpdate)],
    [text("read_cu"), integer(table.reservedThroughput.read)],
    [text("write_cu"), integer(table.reservedThroughput.write)],
    ...(table.indexOf === null ? [] : [[text("index of"), text(table.indexOf)]]),
    ...table.indexes.map(({ indexName, primaryKey }) => [text("index"), text(`${indexName} (${primaryKey.join(", ")})`)]),
  ];
}

/** `desc`. */
export async function desc(context: Context): Promise<Untimed> {
  const format = context.options.choice("print_format") ?? "json";
  const table = await context.describe();
  const json = JSON.stringify(tableJson(table), null, 2);
  const note = context.options.has("output") ? { note: `Written to ${await context.outputText(`${json}\n`)}.` } : {};
  return format === "json" ? { kind: "json", json, ...note } : { kind: "table", columns: ["option", "value"], rows: asRows(table), ...note };
}

/** `alter`. */
export async function alter(context: Context): Promise<Untimed> {
  const { db, line, options, signal } = context;
  const request = alterRequest(line, options, context.tableName());
  const { timeToLive, maxVersions, maxVersionOffset, allowUpdate, reservedThroughput } = await context.named(() => db.updateTable({ ...request, signal }));
  const lives = timeToLive === -1 ? "data lives for ever" : `data lives ${timeToLive} seconds`;
  const keeps = `each column keeps ${maxVersions} version${maxVersions === 1 ? "" : "s"}`;
  const { read, write } = reservedThroughput;
  return {
    kind: "text",
    text:
      `Table ${request.tableName} is changed: ${lives}, ${keeps}, given versions lie within ${maxVersionOffset} seconds of now, ` +
      `update is ${allowUpdate ? "allowed" : "not allowed"}, reserved are ${read} read and ${write} write units a second.`,
  };
}

/** `drop`. */
export async function drop(context: Context): Promise<Untimed> {
  const { db, host, options, signal } = context;
  const { tableName, indexOf, indexes } = await context.describe();
  if (indexOf !== null) throw new ShellError(`${tableName} is an index of ${indexOf}: this command deletes tables`, options.word("table")!);
  if (!options.has("yes")) {
    if (host.confirm === undefined) throw new ShellError(`Nobody can be asked here: give -y, as in 'drop -t ${quote(tableName)} -y'`, context.line.place);
    const also = indexes.length === 0 ? "" : ` and its indexes (${indexes.map(({ indexName }) => indexName).join(", ")})`;
    if (!(await host.confirm(`Delete the table ${tableName} with all its rows${also}?`))) return { kind: "text", text: `Table ${tableName} is kept.` };
  }
  await db.deleteTable({ tableName, signal });
  return { kind: "text", text: `Table ${tableName} is deleted.` };
}
