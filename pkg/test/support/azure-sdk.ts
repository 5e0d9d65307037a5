/** Clients of Microsoft's package for Azure tables, and what their calls are refused with. */

import assert from "node:assert/strict";

import { RestError, TableClient, TableServiceClient, type TableServiceClientOptions, type TransactionAction } from "@azure/data-tables";

import { azureHttpClient } from "../../src/azure/index.js";
import type { Database } from "../../src/index.js";

export type HttpClient = NonNullable<TableServiceClientOptions["httpClient"]>;

export const URL = "https://demo.table.core.windows.net";

export interface Fields {
  n?: number;
  text?: string;
}

/** The client of the account's service. */
export const service = (db: Database): TableServiceClient => new TableServiceClient(URL, { httpClient: azureHttpClient(db, { auth: "off" }) });

/** The client of a table that exists. */
export async function table(db: Database, name = "Things"): Promise<TableClient> {
  const client = new TableClient(URL, name, { httpClient: azureHttpClient(db, { auth: "off" }) });
  await client.createTable();
  return client;
}

/** The error of a call, which must be of the client's kind. */
export async function failure(work: Promise<unknown>): Promise<RestError> {
  const error = await work.then(
    () => assert.fail("it was done"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof RestError, String(error));
  return error;
}

export interface Details {
  odataError?: { code: string; message: { lang: string; value: string } };
}

/** The status and the code of the error of a single operation. */
export async function refusal(work: Promise<unknown>): Promise<readonly [number | undefined, string | undefined]> {
  const { statusCode, details } = await failure(work);
  return [statusCode, (details as Details).odataError?.code];
}

/** The status, the code and the index of the error of a transaction. */
export async function refused(client: TableClient, actions: TransactionAction[]): Promise<readonly unknown[]> {
  const { statusCode, code, message } = await failure(client.submitTransaction(actions));
  return [statusCode, code, Number(/^(\d+):/.exec(message)?.[1])];
}

export const rows = (count: number, partitionKey = "p"): TransactionAction[] =>
  Array.from({ length: count }, (_, n) => ["upsert", { partitionKey, rowKey: String(n).padStart(4, "0"), n }]);

/** Fills a table with so many entities of two partitions. */
export async function fill(client: TableClient, count: number): Promise<void> {
  const half = count / 2;
  for (const partitionKey of ["a", "b"]) {
    const actions = rows(half, partitionKey);
    for (let at = 0; at < half; at += 100) await client.submitTransaction(actions.slice(at, at + 100));
  }
}

export const keyOf = ({ partitionKey, rowKey }: { partitionKey?: string; rowKey?: string }): string => `${partitionKey}${rowKey}`;
export const expectedKeys = (count: number): string[] =>
  ["a", "b"].flatMap((key) => Array.from({ length: count / 2 }, (_, n) => key + String(n).padStart(4, "0")));

/** Properties without what the service adds. */
export function fields(entity: object): Record<string, unknown> {
  const { partitionKey, rowKey, timestamp, etag, "odata.metadata": metadata, ...rest } = entity as Record<string, unknown>;
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, Buffer.isBuffer(value) ? new Uint8Array(value) : value]));
}
