/** A request as Python for the PyPI package `tablestore`, the official SDK. */

import type { Attributes, Condition, Filter, ReadOptions, TableDescription } from "tabstore";
import type { ShellRequest } from "tabstore/shell";

import { before, list, type Part, render } from "./document.ts";
import { cellsOf, doubleText, kindOf } from "./values.ts";

type Notes = string[];

const array = (items: readonly Part[]): Part => list("[", items, "]");
const call = (name: string, items: readonly (Part | undefined)[]): Part =>
  list(
    `${name}(`,
    items.filter((item): item is Part => item !== undefined),
    ")",
  );

/** A text. Python reads JSON's escapes but for those of half characters, which no text of a row has. */
const text = (value: string): string => JSON.stringify(value);

function value(given: Parameters<typeof kindOf>[0]): string {
  const of = kindOf(given);
  switch (of.kind) {
    case "text":
      return text(of.value);
    case "boolean":
      return of.value ? "True" : "False";
    case "integer":
      return String(of.value);
    case "double":
      return doubleText(of.value);
    case "bytes":
      return `bytearray([${[...of.value].join(", ")}])`;
    case "auto":
      return "PK_AUTO_INCR";
    default:
      return of.kind === "min" ? "INF_MIN" : "INF_MAX";
  }
}

const keyPart = (key: Readonly<Record<string, unknown>>): Part => array(Object.entries(key).map(([name, one]) => `(${text(name)}, ${value(one as never)})`));

function columnsPart(attributes: Attributes): Part {
  const cells = Object.entries(attributes).flatMap(([name, all]) => cellsOf(all).map((cell) => ({ name, ...cell })));
  return array(cells.map(({ name, value: one, version }) => `(${text(name)}, ${value(one)}${version === undefined ? "" : `, ${version}`})`));
}

function filterPart(filter: Filter, notes: Notes): string {
  if ("operator" in filter) return `composite(LogicalOperator.${filter.operator}, ${filter.filters.map((one) => filterPart(one, notes)).join(", ")})`;
  if ("limit" in filter) {
    notes.push("the SDK has no filter of columns by place");
    return "None";
  }
  const { column, comparator, value: other, passIfMissing = true, latestVersionOnly = true, valueTransferRule } = filter;
  if (other === undefined) notes.push(`check the comparator ${comparator} (of ${column}) in your version of the SDK`);
  if (valueTransferRule !== undefined) notes.push(`the rule of ${column} is a SingleColumnRegexCondition of the SDK`);
  return `SingleColumnCondition(${text(column)}, ${other === undefined ? "0" : value(other)}, ComparatorType.${comparator}, ${passIfMissing ? "True" : "False"}, ${latestVersionOnly ? "True" : "False"})`;
}

const conditionPart = (condition: Condition | undefined, notes: Notes): Part =>
  call("Condition", [
    `RowExistenceExpectation.${condition?.rowExistence ?? "IGNORE"}`,
    condition?.column === undefined ? undefined : filterPart(condition.column, notes),
  ]);

const returned = (content: unknown): string | undefined => (content === "PRIMARY_KEY" ? "ReturnType.RT_PK" : undefined);

function readParts({ columnsToGet, maxVersions, timeRange, filter }: ReadOptions, notes: Notes): (Part | undefined)[] {
  const range = timeRange?.version !== undefined ? String(timeRange.version) : timeRange && `(${timeRange.start}, ${timeRange.end})`;
  return [
    columnsToGet && `columns_to_get=${JSON.stringify(columnsToGet)}`,
    `max_version=${maxVersions ?? (timeRange === undefined ? 1 : "None")}`,
    range === undefined ? undefined : `time_range=${range}`,
    filter && before("column_filter=", filterPart(filter, notes)),
  ];
}

type Settings = Extract<ShellRequest, { operation: "updateTable" }>["request"];

/** All options: the SDK sends a default for each that is left out, and so would reset it. */
function optionsPart(given: Settings, table: Partial<TableDescription> | undefined): Part {
  const all = {
    timeToLive: -1,
    maxVersions: 1,
    maxVersionOffset: 86400,
    ...table,
    ...Object.fromEntries(Object.entries(given).filter(([, one]) => one !== undefined)),
  };
  const { timeToLive, maxVersions, maxVersionOffset, allowUpdate } = all as Pick<Settings, "timeToLive" | "maxVersions" | "maxVersionOffset" | "allowUpdate">;
  return call("TableOptions", [
    `time_to_live=${timeToLive}`,
    `max_version=${maxVersions}`,
    `max_time_deviation=${maxVersionOffset}`,
    allowUpdate === undefined ? undefined : `allow_update=${allowUpdate ? "True" : "False"}`,
  ]);
}

const unitsPart = (units: { read?: number | undefined; write?: number | undefined }): Part =>
  `ReservedThroughput(CapacityUnit(${units.read ?? 0}, ${units.write ?? 0}))`;

function body({ operation, request }: ShellRequest, table: Partial<TableDescription> | undefined, notes: Notes): Part {
  const name = text(request.tableName);
  switch (operation) {
    case "createTable": {
      const key = array(request.primaryKey.map((one) => `(${text(one.name)}, "${one.type}"${one.autoIncrement === true ? ", PK_AUTO_INCR" : ""})`));
      return call("client.create_table", [call("TableMeta", [name, key]), optionsPart(request, undefined), unitsPart(request.reservedThroughput ?? {})]);
    }
    case "updateTable": {
      const units = request.reservedThroughput;
      const full = units && { read: table?.reservedThroughput?.read, write: table?.reservedThroughput?.write, ...units };
      return call("client.update_table", [name, optionsPart(request, table), full && unitsPart(full)]);
    }
    case "deleteTable":
      return call("client.delete_table", [name]);
    case "putRow": {
      const row = call("Row", [keyPart(request.primaryKey), columnsPart(request.attributes ?? {})]);
      return call("client.put_row", [name, row, conditionPart(request.condition, notes), returned(request.returnContent)]);
    }
    case "updateRow": {
      const { put, deleteColumns, deleteVersions, increment } = request;
      const versions = Object.entries(deleteVersions ?? {}).flatMap(([column, all]) => all.map((one) => `(${text(column)}, None, ${one})`));
      const counters = Object.entries(increment ?? {}).map(([column, one]) => `(${text(column)}, ${one})`);
      const changes = list(
        "{",
        [
          ...(put === undefined ? [] : [before('"put": ', columnsPart(put))]),
          ...(versions.length === 0 ? [] : [before('"delete": ', array(versions))]),
          ...(deleteColumns === undefined ? [] : [`"delete_all": ${JSON.stringify(deleteColumns)}`]),
          ...(counters.length === 0 ? [] : [before('"increment": ', array(counters))]),
        ],
        "}",
      );
      return call("client.update_row", [
        name,
        call("Row", [keyPart(request.primaryKey), changes]),
        conditionPart(request.condition, notes),
        returned(request.returnContent),
      ]);
    }
    case "deleteRow":
      return call("client.delete_row", [name, call("Row", [keyPart(request.primaryKey)]), conditionPart(request.condition, notes)]);
    case "getRow":
      return call("client.get_row", [name, keyPart(request.primaryKey), ...readParts(request, notes)]);
    case "scan":
      if (request.start === undefined || request.end === undefined) notes.push("the SDK needs both ends of a range");
      return call("client.get_range", [
        name,
        `Direction.${request.direction ?? "FORWARD"}`,
        request.start === undefined ? "[]" : keyPart(request.start),
        request.end === undefined ? "[]" : keyPart(request.end),
        ...readParts(request, notes),
        request.limit === undefined ? undefined : `limit=${request.limit}`,
      ]);
  }
}

const COMPOSITE = `def composite(operator, *parts):
    condition = CompositeColumnCondition(operator)
    for part in parts:
        condition.add_sub_condition(part)
    return condition
`;

/** The program. `table`: what it has now, for the options that a change leaves as they are. */
export function python(request: ShellRequest, instance: string, table: Partial<TableDescription> | undefined): string {
  const notes: Notes = [];
  const code = render(body(request, table, notes));
  return [
    "from tablestore import *",
    "",
    `client = OTSClient(endpoint, access_key_id, access_key_secret, ${text(instance)})`,
    ...(code.includes("composite(") ? ["", COMPOSITE] : []),
    ...notes.map((note) => `# Left to you: ${note}.`),
    `${code}\n`,
  ].join("\n");
}
