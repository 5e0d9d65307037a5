// The programs that every app runs.

import { readFileSync } from "node:fs";

/** The first JavaScript block of the package's readme, word for word. */
export function readmeExample(readme) {
  const example = /```js\n([\s\S]*?)```/.exec(readFileSync(readme, "utf8"))?.[1];
  if (example === undefined) throw new Error("the readme has no JavaScript block");
  return example;
}

/** Runs the example, then the rest, and leaves word in `window.report`. */
export const MAIN = `
const report = (window.report = { printed: [], done: false });
const print = console.log;
console.log = (...values) => { report.printed.push(structuredClone(values)); print(...values); };
addEventListener("error", ({ message }) => (report.error ??= message));
addEventListener("unhandledrejection", ({ reason }) => (report.error ??= String(reason)));
try {
  await import("./example.js");
  report.extras = await (await import("./extras.js")).extras();
} catch (error) {
  report.error = String(error);
}
report.done = true;
`;

/** The parts that the readme's example does not use: the engine in the page's thread, the import, a second opening, instances. */
export const EXTRAS = `
import { AUTO_INCREMENT, col, createInstance, deleteInstance, describeInstance, double, inspectImport, listInstances, open, TabStoreError } from "tabstore";
import { timelines } from "tabstore/timeline";

export async function extras() {
  const db = await open("extras", { worker: false, storage: "memory", clock: () => 1469030400000 });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const file = new File(["id,name\\n1,Zo\\u00eb\\n2,b\\n"], "t.csv");
  const preview = await inspectImport(file);
  const imported = await db.importRows("t", file);
  await db.putRow({ tableName: "t", primaryKey: { id: 2n ** 60n }, attributes: { d: double(1), b: Uint8Array.of(1, 2, 3) } });
  const rows = [];
  for await (const row of db.scan({ tableName: "t" })) rows.push([row.primaryKey.id, row.get("name") ?? row.type("d"), row.version("name")]);
  const refused = await db.putRow({ tableName: "missing", primaryKey: { id: 1 } }).catch((error) => [error instanceof TabStoreError, error.code]);
  const room = { tableName: "room", identifier: [{ name: "room", type: "STRING" }] };
  const rooms = timelines(db).createTimelineStore(room);
  await rooms.prepareTables();
  const lobby = rooms.createTimelineQueue({ room: "lobby" });
  await lobby.store({ text: "hello" });
  const timeline = [await lobby.getLatestTimelineEntry()];
  try {
    timelines(db).createTimelineStore({ ...room, identifier: [] });
  } catch (error) {
    timeline.push(error instanceof TabStoreError);
  }
  await db.close();
  const closed = await db.getRow({ tableName: "t", primaryKey: { id: 1 } }).catch((error) => error.code);

  const first = await open("busy");
  const key = [{ name: "room", type: "STRING" }, { name: "id", type: "INTEGER" }];
  await first.createTable({ tableName: "chat", primaryKey: [key[0], { ...key[1], autoIncrement: true }] });
  const chat = await first.putRow({ tableName: "chat", primaryKey: { room: "a", id: AUTO_INCREMENT }, returnContent: "PRIMARY_KEY" });
  await first.createTable({ tableName: "u", primaryKey: key, definedColumns: [{ name: "by", type: "STRING" }], indexes: [{ indexName: "u_by", primaryKey: ["by"] }] });
  const tx = await first.startLocalTransaction({ tableName: "u", partitionKey: { room: "a" } });
  const waits = first.updateRow({ tableName: "u", primaryKey: { room: "a", id: 1 }, increment: { n: 1 } });
  await tx.putRow({ tableName: "u", primaryKey: { room: "a", id: 1 }, attributes: { n: 40, by: "ann" } });
  await tx.commit();
  await waits;
  const found = [];
  for await (const row of first.scan({ tableName: "u", filter: col("n").gt(40) })) found.push(row.get("n"));
  const wide = [chat.row.primaryKey.id, found, (await first.getRange({ tableName: "u_by" })).rows[0].get("by")];
  const second = await open("Busy");
  const shared = (await second.getRange({ tableName: "u" })).rows.length;
  await second.close();
  const kept = await deleteInstance("busy").catch((error) => error.code);
  await first.close();
  await (await open("busy")).close();
  await createInstance("stock", { kind: "capacity" });
  const names = (await listInstances()).map(({ name, kind }) => [name, kind]);
  const { kind } = await describeInstance("stock");
  await deleteInstance("stock");
  await deleteInstance("busy");
  const persistence = first.persistence;
  return { columns: preview.columns.map(({ name, type }) => [name, type]), imported: imported.rows, rows, refused, closed, shared, kept, names, kind, persistence, wide, timeline };
}
`;

/** The expected results of {@link EXTRAS}. */
export const EXTRAS_EXPECTED = {
  columns: [
    ["id", "INTEGER"],
    ["name", "STRING"],
  ],
  imported: 2,
  rows: [
    [1, "Zo\u00eb", 1469030400000],
    [2, "b", 1469030400000],
    [2n ** 60n, "DOUBLE", undefined],
  ],
  refused: [true, "OTSObjectNotExist"],
  closed: "Closed",
  shared: 1,
  kept: "Busy",
  names: [
    ["busy", "high-performance"],
    ["demo", "high-performance"],
    ["stock", "capacity"],
  ],
  kind: "capacity",
  persistence: "indexeddb",
  wide: [1, [41], "ann"],
  timeline: [{ sequenceId: 1, message: { text: "hello" } }, true],
};
