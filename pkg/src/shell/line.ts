/** Makes lines of requests: what `parseLine` and `request.ts` read, the other way round. */

import type { Attributes, Condition, Filter, InputCell, InputValue, KeyColumn, RangeKey, ReadOptions, TableOptions, Throughput } from "../index.js";
import type { ShellRequest, TableKey } from "./request.js";
import { jsonOfKeyValue, jsonOfValue } from "./values.js";
import { quote } from "./words.js";

/** A request as lines. */
export interface ShellLines {
  /** The lines, one after another: a request about a row needs `use` first. */
  readonly lines: readonly string[];
  /** The parts of the request that no option says, in words. */
  readonly leftOut: readonly string[];
}

/** The pieces of a line. */
class Line {
  private readonly parts: string[];

  constructor(command: string) {
    this.parts = [command];
  }

  /** Adds an option with its value, unless there is none. */
  add(option: string, value: string | number | bigint | boolean | undefined): this {
    if (value !== undefined) this.parts.push(option, quote(String(value)));
    return this;
  }

  flag(option: string, isSet: boolean): this {
    if (isSet) this.parts.push(option);
    return this;
  }

  toString(): string {
    return this.parts.join(" ");
  }
}

const array = (items: readonly string[]): string => `[${items.join(",")}]`;

const schemaText = (columns: readonly KeyColumn[]): string =>
  array(
    columns.map(({ name, type, autoIncrement, allowChosen }) => {
      const own = `${autoIncrement === true ? ',"opt":"auto"' : ""}${allowChosen === undefined ? "" : `,"allowChosen":${allowChosen}`}`;
      return `{"c":${JSON.stringify(name)},"t":"${type.toLowerCase()}"${own}}`;
    }),
  );

const keyText = (key: Readonly<Record<string, unknown>>, { primaryKey }: TableKey): string =>
  array(primaryKey.map(({ name }) => jsonOfKeyValue(key[name] as never)));

/** A cell of `--attr`. */
function cellText(name: string, { value, version }: InputCell): string {
  const { text, type } = jsonOfValue(value);
  return `{"c":${JSON.stringify(name)},"v":${text}${type === undefined ? "" : `,"t":"${type}"`}${version === undefined ? "" : `,"ts":${version}`}}`;
}

const isCells = (value: InputValue | readonly InputCell[]): value is readonly InputCell[] => Array.isArray(value);

/** Columns as `--attr` has them. */
function attributesText(attributes: Attributes | undefined): string | undefined {
  if (attributes === undefined || Object.keys(attributes).length === 0) return undefined;
  return array(Object.entries(attributes).flatMap(([name, value]) => (isCells(value) ? value : [{ value }]).map((cell) => cellText(name, cell))));
}

/** A filter as `--filter` has it. */
function filterText(filter: Filter): string {
  if ("operator" in filter) return `{"operator":"${filter.operator}","filters":${array(filter.filters.map(filterText))}}`;
  if ("limit" in filter) return `{"offset":${filter.offset},"limit":${filter.limit}}`;
  const { column, comparator, value, passIfMissing, latestVersionOnly, valueTransferRule } = filter;
  const json = value === undefined ? undefined : jsonOfValue(value);
  const members = [
    `"column":${JSON.stringify(column)}`,
    `"comparator":"${comparator}"`,
    ...(json === undefined ? [] : [`"value":${json.text}${json.type === undefined ? "" : `,"t":"${json.type}"`}`]),
    ...Object.entries({ passIfMissing, latestVersionOnly, valueTransferRule }).flatMap(([name, member]) =>
      member === undefined ? [] : [`"${name}":${JSON.stringify(member)}`],
    ),
  ];
  return `{${members.join(",")}}`;
}

const EXISTENCE = { IGNORE: undefined, EXPECT_EXIST: "exist", EXPECT_NOT_EXIST: "not_exist" } as const;

function addCondition(line: Line, condition: Condition | undefined): Line {
  const existence = condition?.rowExistence === undefined ? undefined : EXISTENCE[condition.rowExistence];
  return line.add("--condition", existence).add("--if", condition?.column === undefined ? undefined : filterText(condition.column));
}

function addSettings(line: Line, { timeToLive, maxVersions, maxVersionOffset, allowUpdate }: TableOptions, throughput: Partial<Throughput> | undefined): Line {
  return line
    .add("--ttl", timeToLive)
    .add("--version", maxVersions)
    .add("--read_cu", throughput?.read)
    .add("--write_cu", throughput?.write)
    .add("--max_version_offset", maxVersionOffset)
    .add("--allow_update", allowUpdate);
}

function addRead(line: Line, { columnsToGet, maxVersions, timeRange, filter }: ReadOptions): Line {
  return line
    .add("--columns", columnsToGet?.join(","))
    .add("--max_version", maxVersions)
    .add("--time_range_start", timeRange?.start)
    .add("--time_range_end", timeRange?.end)
    .add("--time_range_specific", timeRange?.version)
    .add("--filter", filter === undefined ? undefined : filterText(filter));
}

/** One end of a range. Infinite values at its end that a part of a key stands for anyway are left out. */
function boundText(bound: RangeKey | undefined, { primaryKey }: TableKey, rest: "min" | "max"): string | undefined {
  if (bound === undefined) return undefined;
  const values = primaryKey.map(({ name }) => bound[name]);
  while (values.length > 0 && isInfinity(values.at(-1), rest)) values.pop();
  return values.length === 0 ? undefined : array(values.map((value) => jsonOfKeyValue(value as never)));
}

const isInfinity = (value: unknown, infinity: string): boolean =>
  typeof value === "object" && value !== null && (value as { infinity?: unknown }).infinity === infinity;

function cellsText(versions: Readonly<Record<string, readonly (number | bigint)[]>> | undefined): string | undefined {
  if (versions === undefined) return undefined;
  return array(Object.entries(versions).flatMap(([name, all]) => all.map((version) => `{"c":${JSON.stringify(name)},"ts":${version}}`)));
}

function countersText(counters: Readonly<Record<string, number | bigint>> | undefined): string | undefined {
  return counters === undefined ? undefined : array(Object.entries(counters).map(([name, value]) => `{"c":${JSON.stringify(name)},"v":${value}}`));
}

/** Parts of a request that no option says. */
function leftOutOf({ operation, request }: ShellRequest): string[] {
  const given = request as unknown as Record<string, unknown>;
  const members =
    operation === "createTable"
      ? ["definedColumns", "indexes", "stream", "enableLocalTransaction", "ifNotExists"]
      : operation === "updateTable"
        ? ["stream"]
        : ["startColumn", "endColumn", "pageRows"];
  return members.filter((name) => given[name] !== undefined && (!Array.isArray(given[name]) || (given[name] as unknown[]).length > 0));
}

function lineOf({ operation, request }: ShellRequest, table: TableKey): string {
  switch (operation) {
    case "createTable":
      return String(
        addSettings(new Line("create").add("-t", request.tableName).add("--pk", schemaText(request.primaryKey)), request, request.reservedThroughput),
      );
    case "updateTable":
      return String(addSettings(new Line("alter").add("-t", request.tableName), request, request.reservedThroughput));
    case "deleteTable":
      return String(new Line("drop").add("-t", request.tableName).flag("-y", true));
    case "putRow":
      return String(
        addCondition(new Line("put").add("--pk", keyText(request.primaryKey, table)).add("--attr", attributesText(request.attributes)), request.condition),
      );
    case "updateRow": {
      const line = new Line("update")
        .add("--pk", keyText(request.primaryKey, table))
        .add("--attr", attributesText(request.put))
        .add("--delete_columns", request.deleteColumns?.length ? request.deleteColumns.join(",") : undefined)
        .add("--delete_versions", cellsText(request.deleteVersions))
        .add("--increment", countersText(request.increment));
      return String(addCondition(line, request.condition));
    }
    case "deleteRow":
      return String(addCondition(new Line("delete").add("--pk", keyText(request.primaryKey, table)), request.condition));
    case "getRow":
      return String(addRead(new Line("get").add("--pk", keyText(request.primaryKey, table)), request));
    case "scan": {
      const backward = request.direction === "BACKWARD";
      const line = new Line("scan")
        .add("--limit", request.limit)
        .add("--begin", boundText(request.start, table, backward ? "max" : "min"))
        .add("--end", boundText(request.end, table, backward ? "min" : "max"));
      return String(addRead(line, request).flag("--backward", backward));
    }
  }
}

const ABOUT_TABLES = ["createTable", "updateTable", "deleteTable"];

/**
 * The lines of the shell that do the same as a request.
 *
 * @example
 * ```ts
 * import { linesOf } from "tabstore/shell";
 *
 * linesOf({ operation: "updateTable", request: { tableName: "mytable", timeToLive: 86400, maxVersions: 1 } }).lines
 * // ["alter -t mytable --ttl 86400 --version 1"]
 * ```
 * @param table The key of its table; a request about a table needs none.
 */
export function linesOf(request: ShellRequest, table: Pick<TableKey, "primaryKey"> = { primaryKey: [] }): ShellLines {
  const { tableName } = request.request;
  const line = lineOf(request, { tableName, primaryKey: table.primaryKey });
  return { lines: ABOUT_TABLES.includes(request.operation) ? [line] : [`use -t ${quote(tableName)}`, line], leftOut: leftOutOf(request) };
}
