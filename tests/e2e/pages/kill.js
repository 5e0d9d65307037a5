// Opens an instance, reports its contents, and writes until it is killed. It tells the server each write before it, and
// each acknowledgement.

import { columns, operation, writer } from "./ops.js";
import { open } from "./pkg/index.js";

const post = async (path, body) => (await fetch(path, { method: "POST", body: JSON.stringify(body) })).json();
const tableName = "t";
const IN_FLIGHT = 60;

async function main() {
  const databases = await indexedDB.databases().then((all) => all.map(({ name }) => name), String);
  // Small limits: flushes and compactions happen all the time, and are killed too.
  const asked = new URLSearchParams(location.search);
  const options = { memtableBytes: Number(asked.get("memtable")), cacheBytes: 256 * 1024, storage: asked.get("storage") };
  let told;
  const db = await open("killed", options).catch((error) => {
    if (error.code !== "DataLost") throw error;
    told = error.message;
    return open("killed", { ...options, lost: "recreate" });
  });
  const tables = await db.listTable();
  if (!tables.includes(tableName)) await db.createTable({ tableName, primaryKey: [{ name: "row", type: "INTEGER" }] });
  const found = [];
  const torn = [];
  for await (const page of db.scanPages({ tableName })) {
    for (const row of page) {
      const values = Object.fromEntries(Object.keys(row.columns).map((name) => [name, row.get(name)]));
      const n = writer(values);
      if (n === null) torn.push(JSON.stringify([row.primaryKey, values]).slice(0, 500));
      else found.push([row.primaryKey.row, n]);
    }
  }
  const { segments } = await db.metrics();
  let { from } = await post("/found", { found, torn, segments: segments.count, databases, tables, told });

  let acknowledged = [];
  let telling = false;
  const tell = async () => {
    if (telling) return;
    telling = true;
    while (acknowledged.length > 0) {
      const numbers = acknowledged;
      acknowledged = [];
      await post("/acknowledged", { numbers });
    }
    telling = false;
  };
  const write = (n) => {
    const { row, kind } = operation(n);
    const primaryKey = { row };
    if (kind === "delete") return db.deleteRow({ tableName, primaryKey });
    if (kind === "update") return db.updateRow({ tableName, primaryKey, put: columns(n) });
    return db.putRow({ tableName, primaryKey, attributes: columns(n) });
  };

  let inFlight = 0;
  let wake = () => {};
  for (;;) {
    const { to } = await post("/reserve", { from });
    for (; from < to; from += 1) {
      if (inFlight >= IN_FLIGHT) await new Promise((resolve) => (wake = resolve));
      const n = from;
      inFlight += 1;
      write(n).then(
        () => {
          inFlight -= 1;
          acknowledged.push(n);
          void tell();
          wake();
        },
        (error) => post("/failed", { text: `operation ${n}: ${error}` }),
      );
    }
  }
}

main().catch((error) => post("/failed", { text: `${error.code}: ${error.stack ?? error}` }));
