// The SDK in the page: on a database of the page, and on that of the service worker.
import TableStore from "tablestore";
import { open } from "tabstore/inline";
import { tablestoreFetch, tablestoreHttpClient } from "tabstore/tablestore";

const tableMeta = { tableName: "reading", primaryKey: [{ name: "id", type: "INTEGER" }] };

/** Makes a table, and writes and reads a row. */
async function readAndWrite(instancename, endpoint, credentials) {
  const client = new TableStore.Client({ endpoint, instancename, maxRetries: 0, ...credentials });
  await client.createTable({ tableMeta, reservedThroughput: { capacityUnit: { read: 0, write: 0 } }, tableOptions: { timeToLive: -1, maxVersions: 1 } });
  const row = { tableName: "reading", primaryKey: [{ id: TableStore.Long.fromNumber(1) }] };
  await client.putRow({ ...row, condition: new TableStore.Condition(0, null), attributeColumns: [{ text: "é€😀" }, { tempMax: 12.8 }] });
  const { attributes } = (await client.getRow(row)).row;
  return attributes.map(({ columnName, columnValue }) => [columnName, columnValue]);
}

/** On a database of this page, whose requests are signed with a key of the instance. */
export async function inPage() {
  const db = await open("page");
  const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read", "write", "admin"] });
  TableStore.HttpClient.prototype.handleRequest = tablestoreHttpClient(tablestoreFetch(db)).handleRequest;
  const cells = await readAndWrite("page", "http://localhost", { accessKeyId, secretAccessKey: accessKeySecret });
  const wrong = await readAndWrite("page", "http://localhost", { accessKeyId, secretAccessKey: "wrong" }).catch(({ code, message }) => [code, message]);
  await db.close();
  return { cells, wrong };
}

/** On the database of the service worker, which answers requests to this origin. */
export async function inWorker() {
  await navigator.serviceWorker.register("worker.js", { type: "module" });
  if (navigator.serviceWorker.controller === null)
    await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  TableStore.HttpClient.prototype.handleRequest = tablestoreHttpClient((input, init) => fetch(input, init)).handleRequest;
  return readAndWrite("worker", location.origin, { accessKeyId: "id", secretAccessKey: "secret" });
}

Object.assign(globalThis, { inPage, inWorker });
