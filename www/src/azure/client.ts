/**
 * The console's calls of the Azure Table service.
 *
 * Entities are written by `azure`. They are read by `azureHttpClient`, because the texts of its answers tell every type.
 */

import { type Database, TabStoreError } from "tabstore";
import { azure, azureAccounts, azureHttpClient, type HttpResponse } from "tabstore/azure";

import { type Entity, entityOf, type Mode, parseExactly, type Property } from "../lib/entities.ts";
import { logged } from "../state/calls.ts";

/** A table of an account in a database. */
export interface Place {
  readonly db: Database;
  readonly account: string;
  readonly table: string;
}

/** The keys of an entity. */
export type Key = Pick<Entity, "partitionKey" | "rowKey">;

/** What is asked for. */
export interface Query {
  readonly filter?: string | undefined;
  /** The properties that are read; none: all. */
  readonly select?: readonly string[] | undefined;
  readonly pageSize: number;
}

/** The place of a page behind another one. */
export type Continuation = readonly [string, string | undefined];

/** A page of entities. */
export interface EntityPage {
  readonly entities: readonly Entity[];
  /** Where the next page begins; none on the last one. */
  readonly next: Continuation | undefined;
}

const quoted = (text: string) => `'${encodeURIComponent(text).replaceAll("'", "''")}'`;

/** How an entity is called. */
export const keyText = ({ partitionKey, rowKey }: Key) => [partitionKey, rowKey].map((text) => (text === "" ? "“”" : text)).join(" / ");

/** The error of an answer, as `tabstore/azure` gives it. */
function failure({ status, bodyAsText, headers }: Pick<HttpResponse<never>, "status" | "bodyAsText" | "headers">): TabStoreError {
  const error = (JSON.parse(bodyAsText) as { readonly "odata.error": { readonly code: string; readonly message: { readonly value: string } } })["odata.error"];
  // Behind the text come the number and the time of the request.
  const [message = ""] = error.message.value.split("\nRequestId:");
  return new TabStoreError({ code: error.code, message, status, retryable: status === 503, requestId: headers.get("x-ms-request-id") });
}

/** Asks for something that is read. */
async function get({ db, account }: Omit<Place, "table">, path: string, query: Readonly<Record<string, string | undefined>> = {}) {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
  const response = await azureHttpClient(db, { auth: "off" }).sendRequest({
    method: "GET",
    url: `https://${account}.table.core.windows.net/${path}${parts.length === 0 ? "" : `?${parts.join("&")}`}`,
    headers: [
      ["Accept", "application/json;odata=minimalmetadata"],
      ["x-ms-version", "2019-02-02"],
      ["DataServiceVersion", "3.0"],
    ],
  });
  if (response.status >= 300) throw failure(response);
  return response;
}

/** The accounts that have tables. It is no request to the service, which knows its accounts elsewhere. */
export function listAccounts(db: Database): Promise<readonly string[]> {
  return azureAccounts(db);
}

/** The tables of an account. */
export function listTables(db: Database, account: string): Promise<readonly string[]> {
  return logged("QueryTables", account, async () => {
    const names: string[] = [];
    for await (const name of azure(db, account).listTables()) names.push(name);
    return names;
  });
}

/** Fails unless this is the name of an account. */
export function checkAccount(db: Database, account: string): void {
  azure(db, account);
}

/** Makes a table. */
export async function createTable({ db, account, table }: Place): Promise<void> {
  await logged("CreateTable", `${account}, ${table}`, () => azure(db, account).createTable(table));
}

/** Deletes one. */
export function deleteTable({ db, account, table }: Place): Promise<void> {
  return logged("DeleteTable", `${account}, ${table}`, () => azure(db, account).deleteTable(table));
}

/** Reads a page. The keys are always among what is read. */
export function readPage(place: Place, { filter, select, pageSize }: Query, from?: Continuation): Promise<EntityPage> {
  const subject = [place.table, filter, `top ${pageSize}`].filter(Boolean).join(", ");
  return logged("QueryEntities", subject, async () => {
    const { bodyAsText, headers } = await get(place, `${encodeURIComponent(place.table)}()`, {
      $top: String(pageSize),
      $filter: filter,
      $select: select === undefined ? undefined : [...new Set(["PartitionKey", "RowKey", ...select])].join(","),
      NextPartitionKey: from?.[0],
      NextRowKey: from?.[1],
    });
    const { value } = parseExactly(bodyAsText) as { readonly value: readonly Record<string, unknown>[] };
    const next = headers.get("x-ms-continuation-NextPartitionKey");
    return { entities: value.map(entityOf), next: next === undefined ? undefined : [next, headers.get("x-ms-continuation-NextRowKey")] };
  });
}

/** Reads an entity. */
export function readEntity(place: Place, key: Key): Promise<Entity> {
  return logged("GetEntity", `${place.table}, ${keyText(key)}`, async () => {
    const { bodyAsText } = await get(place, `${encodeURIComponent(place.table)}(PartitionKey=${quoted(key.partitionKey)},RowKey=${quoted(key.rowKey)})`);
    return entityOf(parseExactly(bodyAsText) as Record<string, unknown>);
  });
}

const given = ({ partitionKey, rowKey }: Key, properties: readonly Property[]) => ({
  ...Object.fromEntries(properties.map(({ name, type, text }) => [name, { type, value: text }])),
  partitionKey,
  rowKey,
});

const tableOf = ({ db, account, table }: Place) => azure(db, account).table(table);

/** Stores a new entity. */
export async function insert(place: Place, key: Key, properties: readonly Property[]): Promise<void> {
  await logged("InsertEntity", `${place.table}, ${keyText(key)}`, () => tableOf(place).createEntity(given(key, properties)));
}

/** Changes an entity if it has this version; `*`: any. */
export async function update(place: Place, key: Key, mode: Mode, properties: readonly Property[], etag: string): Promise<void> {
  await logged(`${mode}Entity`, `${place.table}, ${keyText(key)}`, () => tableOf(place).updateEntity(given(key, properties), mode, { etag }));
}

/** Deletes an entity if it has this version; `*`: any. */
export function remove(place: Place, { partitionKey, rowKey }: Key, etag: string): Promise<void> {
  return logged("DeleteEntity", `${place.table}, ${keyText({ partitionKey, rowKey })}`, () => tableOf(place).deleteEntity(partitionKey, rowKey, { etag }));
}

/** Another value of the same type: of a number the next one. */
function another({ name, type, text }: Property): Property | undefined {
  switch (type) {
    case "Int32":
    case "Int64":
      return { name, type, text: text === "2147483647" || text === "9223372036854775807" ? "0" : String(BigInt(text) + 1n) };
    case "Double":
      return { name, type, text: Number.isFinite(Number(text)) ? String(Number(text) + 1) : "0" };
    case "Boolean":
      return { name, type, text: String(text !== "true") };
    default:
      return undefined;
  }
}

/** Changes an entity as another client would that knows nothing of this one: a number first. Gives what it has set. */
export async function changeElsewhere(place: Place, key: Key): Promise<Property> {
  const { properties } = await readEntity(place, key);
  const changes = properties.map(another).filter((one) => one !== undefined);
  const change =
    changes.find(({ type }) => type !== "Boolean") ?? changes[0] ?? ({ name: "ChangedElsewhere", type: "DateTime", text: new Date().toISOString() } as const);
  await update(place, key, "Merge", [change], "*");
  return change;
}
