/** A request as JavaScript for the npm package `tablestore`, the official SDK for Node. */

import type { Attributes, Condition, Filter, PrimaryKey, RangeKey, ReadOptions } from "tabstore";
import type { ShellRequest } from "tabstore/shell";

import { before, list, type Part, render } from "./document.ts";
import { cellsOf, doubleText, kindOf } from "./values.ts";

/** What the SDK cannot say of a request. */
type Notes = string[];

const object = (members: readonly (readonly [string, Part | undefined])[]): Part =>
  list(
    "{",
    members.flatMap(([name, part]) => (part === undefined ? [] : [before(`${name}: `, part)])),
    "}",
    " ",
  );
const array = (items: readonly Part[]): Part => list("[", items, "]");
const named = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) && name !== "__proto__" ? name : `[${JSON.stringify(name)}]`);

function value(given: Parameters<typeof kindOf>[0]): string {
  const of = kindOf(given);
  switch (of.kind) {
    case "text":
      return JSON.stringify(of.value);
    case "boolean":
      return String(of.value);
    case "integer":
      return Number.isSafeInteger(Number(of.value)) ? `Long.fromNumber(${of.value})` : `Long.fromString("${of.value}")`;
    case "double":
      return doubleText(of.value);
    case "bytes":
      return `Buffer.from("${btoa(String.fromCharCode(...of.value))}", "base64")`;
    case "auto":
      return "TableStore.PK_AUTO_INCR";
    default:
      return of.kind === "min" ? "TableStore.INF_MIN" : "TableStore.INF_MAX";
  }
}

const keyPart = (key: PrimaryKey | RangeKey | Readonly<Record<string, unknown>>): Part =>
  array(Object.entries(key).map(([name, one]) => `{ ${named(name)}: ${value(one as never)} }`));

function columnsPart(attributes: Attributes): Part {
  const cells = Object.entries(attributes).flatMap(([name, all]) => cellsOf(all).map((cell) => ({ name, ...cell })));
  return array(cells.map(({ name, value: one, version }) => `{ ${named(name)}: ${value(one)}${version === undefined ? "" : `, timestamp: ${version}`} }`));
}

function filterPart(filter: Filter, notes: Notes): string {
  if ("operator" in filter) {
    const parts = filter.filters.map((one) => `.addSubCondition(${filterPart(one, notes)})`).join("");
    // addSubCondition gives nothing back, so the parts are added one by one.
    return `of(TableStore.LogicalOperator.${filter.operator}, ${parts.slice(".addSubCondition(".length, -1).replaceAll(").addSubCondition(", ", ")})`;
  }
  if ("limit" in filter) return `new TableStore.ColumnPaginationFilter(${filter.limit}, ${filter.offset})`;
  const { column, comparator, value: other, passIfMissing = true, latestVersionOnly = true, valueTransferRule } = filter;
  if (other === undefined) notes.push(`the SDK has no comparator ${comparator} (of ${column})`);
  if (valueTransferRule !== undefined) notes.push(`the SDK has no rule like that of ${column}`);
  return `new TableStore.SingleColumnCondition(${JSON.stringify(column)}, ${other === undefined ? "null" : value(other)}, TableStore.ComparatorType.${comparator}, ${passIfMissing}, ${latestVersionOnly})`;
}

const conditionPart = (condition: Condition | undefined, notes: Notes): Part =>
  list(
    "new TableStore.Condition(",
    [
      `TableStore.RowExistenceExpectation.${condition?.rowExistence ?? "IGNORE"}`,
      condition?.column === undefined ? "null" : filterPart(condition.column, notes),
    ],
    ")",
  );

function returnPart(content: unknown): Part | undefined {
  if (content === "PRIMARY_KEY") return "{ returnType: TableStore.ReturnType.Primarykey }";
  if (typeof content !== "object" || content === null) return undefined;
  return `{ returnType: TableStore.ReturnType.AfterModify, returnColumns: ${JSON.stringify((content as { afterModify: string[] }).afterModify)} }`;
}

function readMembers({ columnsToGet, maxVersions, timeRange, filter }: ReadOptions, notes: Notes): [string, Part | undefined][] {
  const range =
    timeRange?.version !== undefined
      ? `{ specificTime: "${timeRange.version}" }`
      : timeRange && `{ startTime: "${timeRange.start}", endTime: "${timeRange.end}" }`;
  return [
    ["columnsToGet", columnsToGet && JSON.stringify(columnsToGet)],
    ["maxVersions", maxVersions === undefined ? undefined : String(maxVersions)],
    ["timeRange", range || undefined],
    ["columnFilter", filter && filterPart(filter, notes)],
  ];
}

type Settings = Extract<ShellRequest, { operation: "updateTable" }>["request"];

const optionsPart = ({ timeToLive, maxVersions, maxVersionOffset, allowUpdate }: Settings): Part =>
  object(
    Object.entries({ timeToLive, maxVersions, maxTimeDeviation: maxVersionOffset, allowUpdate }).map(([name, one]) => [
      name,
      one === undefined ? undefined : String(one),
    ]),
  );

const unitsPart = (units: { read?: number | undefined; write?: number | undefined } | undefined): Part | undefined =>
  units && object([["capacityUnit", object(Object.entries(units).map(([name, one]) => [name, one === undefined ? undefined : String(one)]))]]);

/** The method and its parameters. */
function call({ operation, request }: ShellRequest, notes: Notes): readonly [string, Part] {
  const tableName: [string, Part] = ["tableName", JSON.stringify(request.tableName)];
  switch (operation) {
    case "createTable": {
      const key = array(
        request.primaryKey.map(
          ({ name, type, autoIncrement }) => `{ name: ${JSON.stringify(name)}, type: "${type}"${autoIncrement === true ? ', option: "AUTO_INCREMENT"' : ""} }`,
        ),
      );
      const options = { timeToLive: -1, maxVersions: 1, ...request };
      return [
        operation,
        object([
          ["tableMeta", object([tableName, ["primaryKey", key]])],
          ["reservedThroughput", unitsPart(request.reservedThroughput ?? { read: 0, write: 0 })],
          ["tableOptions", optionsPart(options)],
        ]),
      ];
    }
    case "updateTable":
      // The SDK throws where there are no options.
      return [operation, object([tableName, ["tableOptions", optionsPart(request)], ["reservedThroughput", unitsPart(request.reservedThroughput)]])];
    case "deleteTable":
      return [operation, object([tableName])];
    case "putRow": {
      const { condition, primaryKey, attributes = {}, returnContent } = request;
      const members: [string, Part | undefined][] = [tableName, ["condition", conditionPart(condition, notes)], ["primaryKey", keyPart(primaryKey)]];
      return [operation, object([...members, ["attributeColumns", columnsPart(attributes)], ["returnContent", returnPart(returnContent)]])];
    }
    case "updateRow": {
      const { condition, primaryKey, put, deleteColumns, deleteVersions, increment, returnContent } = request;
      const versions = Object.entries(deleteVersions ?? {}).flatMap(([name, all]) => all.map((one) => `{ ${named(name)}: Long.fromString("${one}") }`));
      const counters = Object.entries(increment ?? {}).map(([name, one]) => `{ ${named(name)}: ${value(BigInt(one))} }`);
      const updates: Part[] = [
        ...(put === undefined ? [] : [object([["PUT", columnsPart(put)]])]),
        ...(versions.length === 0 ? [] : [object([["DELETE", array(versions)]])]),
        ...(deleteColumns === undefined ? [] : [object([["DELETE_ALL", JSON.stringify(deleteColumns)]])]),
        ...(counters.length === 0 ? [] : [object([["INCREMENT", array(counters)]])]),
      ];
      const members: [string, Part | undefined][] = [tableName, ["condition", conditionPart(condition, notes)], ["primaryKey", keyPart(primaryKey)]];
      return [operation, object([...members, ["updateOfAttributeColumns", array(updates)], ["returnContent", returnPart(returnContent)]])];
    }
    case "deleteRow":
      return [operation, object([tableName, ["condition", conditionPart(request.condition, notes)], ["primaryKey", keyPart(request.primaryKey)]])];
    case "getRow":
      return [operation, object([tableName, ["primaryKey", keyPart(request.primaryKey)], ...readMembers(request, notes)])];
    case "scan": {
      if (request.start === undefined || request.end === undefined) notes.push("the SDK needs both ends of a range");
      return [
        "getRange",
        object([
          tableName,
          ["direction", `TableStore.Direction.${request.direction ?? "FORWARD"}`],
          ["inclusiveStartPrimaryKey", request.start && keyPart(request.start)],
          ["exclusiveEndPrimaryKey", request.end && keyPart(request.end)],
          ["limit", request.limit === undefined ? undefined : String(request.limit)],
          ...readMembers(request, notes),
        ]),
      ];
    }
  }
}

const COMPOSITE = `function of(operator, ...parts) {
  const condition = new TableStore.CompositeCondition(operator);
  for (const part of parts) condition.addSubCondition(part);
  return condition;
}
`;

/** The program. */
export function npmSdk(request: ShellRequest, instance: string): string {
  const notes: Notes = [];
  const [method, parameters] = call(request, notes);
  const body = `client.${render(before(`${method}(`, parameters))}).then(console.log);`;
  return [
    'const TableStore = require("tablestore");',
    ...(body.includes("Long.") ? ["const { Long } = TableStore;"] : []),
    "const client = new TableStore.Client({ accessKeyId, accessKeySecret, endpoint, instancename: " + `${JSON.stringify(instance)} });`,
    ...(body.includes(" of(TableStore") ? [COMPOSITE.trimEnd()] : []),
    ...notes.map((note) => `// Left to you: ${note}.`),
    `${body}\n`,
  ].join("\n");
}
