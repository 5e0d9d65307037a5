/** Rows in the lines of the official tool: `{"PK":{"Values":["86",6771]},"Attr":{"Values":[{"C":"name","V":"redchen","TS":1}]}}`. */

import type { Attributes, InputPrimaryKey, KeyColumn, KeyValue, Row, Value, ValueType } from "../index.js";
import { type Json, readJsonText } from "./json.js";
import { attributesOf, jsonOfKeyValue, jsonOfValue, keyOf, type MakeDouble, Members } from "./values.js";

/** A value of a row, with its type. */
export interface TypedCell {
  readonly name: string;
  readonly value: Value;
  readonly type: ValueType;
  readonly version: number;
}

/** The values of a row, newest first in each column. */
export function cellsOf(row: Row, versions: "newest" | "all"): TypedCell[] {
  // A row with bytes makes this object anew each time.
  const { columns } = row;
  return row.columnNames.flatMap((name) => {
    const types = row.types(name);
    const cells = versions === "all" ? columns[name] : columns[name].slice(0, 1);
    return cells.map(({ value, version }, at) => ({ name, value, version, type: types[at] }));
  });
}

const SHOWN: Partial<Record<ValueType, string>> = { INTEGER: "integer", DOUBLE: "double", BINARY: "binary" };

function cellJson({ name, value, type, version }: TypedCell): string {
  const text = type === "DOUBLE" ? jsonOfValue({ value } as never).text : jsonOfValue(value).text;
  const told = SHOWN[type];
  return `{"C":${JSON.stringify(name)},"V":${text}${told === undefined ? "" : `,"t":"${told}"`},"TS":${version}}`;
}

/** A row as a line. */
export function toolLine(row: Row, versions: "newest" | "all"): string {
  const key = Object.values(row.primaryKey).map((value: KeyValue) => jsonOfKeyValue(value));
  return `{"PK":{"Values":[${key.join(",")}]},"Attr":{"Values":[${cellsOf(row, versions).map(cellJson).join(",")}]}}`;
}

/** A row of a line. */
export interface ToolRow {
  readonly primaryKey: InputPrimaryKey;
  readonly attributes: Attributes;
}

const WHAT = 'a row is {"PK":{"Values":[…]},"Attr":{"Values":[…]}}';

/** The parts of a row of JSON. */
function rowOf(json: Json, columns: readonly KeyColumn[], double: MakeDouble, ignoreVersions: boolean): ToolRow {
  const members = new Members(json, ["PK", "Attr"], WHAT);
  const values = (part: Json): Json => new Members(part, ["Values"], WHAT).need("Values");
  const attributes = members.get("Attr");
  return {
    primaryKey: keyOf(values(members.need("PK")), columns, true),
    attributes: attributes === undefined ? {} : attributesOf(values(attributes), double, ignoreVersions),
  };
}

/** The row of a line. @throws {@link ShellError} at a place of the text. */
export function readToolRow(text: string, columns: readonly KeyColumn[], double: MakeDouble, ignoreVersions = false): ToolRow {
  return rowOf(readJsonText(text), columns, double, ignoreVersions);
}

/** Whether a text begins like such a line. */
export const isToolLine = (text: string): boolean => /^\ufeff?\s*\{\s*"pk"\s*:\s*\{/i.test(text);
