/** The calls of a database that the console writes down, and what the service calls them. */

import type { Database } from "tabstore";

import { textMember } from "./thrown.ts";

/** Their names, by the methods that make them. */
export const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ["createTable", "CreateTable"],
  ["listTable", "ListTable"],
  ["describeTable", "DescribeTable"],
  ["updateTable", "UpdateTable"],
  ["deleteTable", "DeleteTable"],
  ["putRow", "PutRow"],
  ["updateRow", "UpdateRow"],
  ["deleteRow", "DeleteRow"],
  ["getRow", "GetRow"],
  ["getRange", "GetRange"],
  ["batchGetRow", "BatchGetRow"],
  ["batchWriteRow", "BatchWriteRow"],
  ["atomic", "Atomic"],
  ["count", "CountRows"],
  ["deleteRange", "DeleteRange"],
  ["importRows", "Import"],
  ["exportRows", "Export"],
]);

/** What a call is about: its table, else the instance. */
export function subjectOf(db: Pick<Database, "name">, [first]: readonly unknown[]): string {
  if (typeof first === "string") return first;
  return textMember(first, "tableName") ?? db.name;
}
