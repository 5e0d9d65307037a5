/** Tests of the entry `tabstore/azure` have these in common. */

import assert from "node:assert/strict";

import { azure, type AzureTable } from "../../src/azure/index.js";
import type { Database } from "../../src/index.js";
import { open } from "./package.js";

/** An entity of any properties, and what nobody declares. */
export type Any = Record<string, any>;

/** The items to the end. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const item of items) gathered.push(item);
  return gathered;
}

/** The error of a call. */
export const caught = (work: Promise<unknown>): Promise<any> =>
  work.then(
    (value) => assert.fail(`it was done: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

/** "ok", or the code of the error of a call: of this entry, or of Microsoft's client. */
export const settle = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: Any) => error["code"] ?? error["details"]?.odataError?.code ?? `${error["name"]}: ${error["message"]}`,
  );

/** A table in a database of its own. */
export async function things(): Promise<[Database, AzureTable<Any>]> {
  const db = await open();
  return [db, await azure(db, "demo").createTable<Any>("things")];
}
