/** Applications on a connection: typed tables, timelines, writers, imports and exports, the move of an instance, and what is refused. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { azure } from "../src/azure/index.js";
import { type ConnectOptions, connect, type Credentials, double, WriterError } from "../src/cloud/index.js";
import type { Database, LiveRows } from "../src/index.js";
import { between, define, t, type TypedDatabase } from "../src/schema/index.js";
import { timelines } from "../src/timeline/index.js";
import { connected, NOW, same, seen } from "./support/cloud.js";
import { DOOR_KEY, doorFetch } from "./support/door.js";
import { code, load, skip } from "./support/package.js";
import { ENDPOINT, SIGNER, TestService } from "./support/service.js";
import { ids } from "./support/timeline.js";

const schema = define({
  note: {
    key: "id",
    columns: { id: t.integer, title: t.text, kind: t.oneOf("city", "person"), edited: t.date, lat: t.double.optional },
    indexes: { byEdited: ["edited"], byTitle: { key: ["title"], columns: ["kind"] } },
  },
  reading: { key: ["station", "at"], columns: { station: t.text, at: t.integer, celsius: t.double, tries: t.integer.default(0) }, changesFor: 24 },
  page: { key: "name", columns: { name: t.text, text: t.text.versions(5) } },
  chat: { key: ["room", "id"], columns: { room: t.text, id: t.integer.auto, text: t.text } },
});

type Typed = TypedDatabase<typeof schema>;

/** What an application with typed tables sees. */
async function typed(db: Typed): Promise<unknown[]> {
  const all: unknown[] = [];
  const note = async (result: unknown): Promise<void> => {
    all.push(seen(await Promise.resolve(result).catch((error: unknown) => error)));
  };
  for (let id = 1; id <= 5; id++) await note(db.note.put({ id, title: `note ${id}`, kind: "city", edited: new Date(id * 1000), lat: id }));
  await note(db.note.get(1));
  await note(db.note.getMany([3, 9, 1]));
  await note(db.note.insert({ id: 1, title: "x", kind: "city", edited: new Date(0) }));
  await note(db.note.update(2, { title: "changed", lat: null }));
  await note(db.note.update(77, { title: "none" }));
  await note(db.note.by.byTitle.range({ title: "changed" }).toArray());
  await note(db.note.by.byEdited.range(between(new Date(2000), new Date(5000))).toArray());
  await note(db.note.where({ kind: "city" }).reverse().limit(2).toArray());
  await note(db.note.where(({ lat }) => lat.gt(3)).count());
  await note(db.note.upsert({ id: 9, title: "nine", kind: "person", edited: new Date(9000) }));
  await note(db.reading.put({ station: "SEA", at: 1, celsius: 12 }));
  await note(db.reading.increment({ station: "SEA", at: 1 }, "tries", 3));
  await note(db.reading.putMany([2, 3, 4].map((at) => ({ station: "SEA", at, celsius: at }))));
  await note(db.reading.range({ station: "SEA", at: between(2) }).toArray());
  const page = await db.reading.range({ station: "SEA" }).page({ limit: 2 });
  await note(page.rows);
  await note(
    db.reading
      .range({ station: "SEA" })
      .page({ limit: 2, after: page.next })
      .then(({ rows }) => rows),
  );
  await note(
    db.reading.transaction("SEA", async (rows) => {
      const row = await rows.get({ station: "SEA", at: 1 });
      await rows.update({ station: "SEA", at: 1 }, { celsius: row!.celsius + 1 });
      await rows.delete({ station: "SEA", at: 2 });
      return row!.tries;
    }),
  );
  await note(db.reading.get({ station: "SEA", at: 1 }));
  const changes: { at: number; told: unknown }[] = [];
  for await (const { type, key, columns } of db.reading.changes({ once: true })) changes.push({ at: key.at, told: [type, key, columns] });
  // Rows that are put at once have no order among each other, and a connection has several requests on their way.
  await note(changes.sort((a, b) => a.at - b.at).map(({ told }) => told));
  await db.page.put({ name: "home", text: "one" });
  await note(db.page.get("home"));
  await note(db.page.versions("home", "text").then((all) => all.map(({ value }) => value)));
  await note(db.chat.put({ room: "lobby", text: "hi" }));
  await note(
    db.atomic(({ reading }) => {
      reading.put({ station: "OSL", at: 1, celsius: 3 });
      reading.insert({ station: "OSL", at: 2, celsius: 4 });
    }),
  );
  await note(db.reading.range({ station: "OSL" }).toArray());
  await note(db.reading.export().then((file) => file.text()));
  await note(db.note.delete(1));
  await note(db.note.count());
  return all;
}

/** Runs the application with typed tables on an instance and through connections to `behind`. */
async function compareTyped(behind: Database, options: ConnectOptions, credentials: Credentials): Promise<void> {
  const package_ = await load();
  const local = await package_.open("demo", { storage: "memory", clock: { now: NOW }, schema });
  let migrated = 0;
  const first = async ({ page }: Typed): Promise<void> => {
    migrated += 1;
    await page.put({ name: "made", text: "by a migration" });
  };
  const open = () => connect(ENDPOINT, credentials, { ...options, schema, migrations: { first } });
  const remote = await open();
  await local.page.put({ name: "made", text: "by a migration" });
  const [here, there] = [await typed(local as unknown as Typed), await typed(remote)];
  for (let i = 0; i < here.length; i++) assert.deepEqual(there[i], here[i], `result ${i}`);
  assert.equal(there.length, here.length);
  assert.ok(here.filter((one) => (one as { name?: string } | undefined)?.name === "TabStoreError").length === 2, "two of the calls are refused");
  await remote.close();
  // The tables are there now, and the migration is done.
  const again = await open();
  assert.deepEqual(await again.page.get("made"), { name: "made", text: "by a migration" });
  assert.equal(migrated, 1);
  await again.close();
  await local.close();
  await behind.close();
}

test("an application with typed tables sees the same through a connection", { skip }, async () => {
  const package_ = await load();
  const behind = await package_.open("demo", { storage: "memory", clock: { now: NOW } });
  const service = new TestService(behind, package_);
  await compareTyped(behind, { fetch: service.fetch }, SIGNER);
  assert.ok(service.operations.includes("StartLocalTransaction"));
});

test("an application with typed tables sees the same through a connection, through the door", { skip }, async () => {
  const behind = await (await load()).open("demo", { storage: "memory", clock: { now: NOW } });
  await compareTyped(behind, { fetch: doorFetch(behind), verify: "always" }, DOOR_KEY);
});

test("L1: timelines work through a connection", { skip }, async () => {
  const { db, behind } = await connected();
  const store = timelines(db).createTimelineStore<{ text: string }>({ tableName: "chat", identifier: [{ name: "room", type: "STRING" }] });
  await store.prepareTables();
  const queue = store.createTimelineQueue({ room: "lobby" });
  const first = await queue.store({ text: "one" });
  await queue.store({ text: "two" });
  assert.equal((await ids(queue.scanForward())).length, 2);
  assert.deepEqual((await queue.get(first))?.message, { text: "one" });
  assert.deepEqual((await queue.getLatestTimelineEntry())?.message, { text: "two" });
  await store.close();
  await db.close();
  await behind.close();
});

const TABLE = { tableName: "row", primaryKey: [{ name: "id", type: "INTEGER" as const }], maxVersions: 3 };

same("a writer stores all rows, and says which it could not", async (db, note) => {
  await db.createTable(TABLE);
  const writer = db.writer("row", { maxRowsInFlight: 300 });
  for (let id = 0; id < 1000; id++) {
    const wait = writer.put({ primaryKey: { id }, attributes: { n: id, text: `row ${id}` } });
    if (wait) await wait;
  }
  const { rows, consumed } = await writer.close();
  await note({ rows, consumed });
  const counted = async () => (await db.count({ tableName: "row" })).count;
  await note(counted());
  const failures: number[] = [];
  const other = db.writer("row", { condition: { rowExistence: "EXPECT_NOT_EXIST" }, onFailure: ({ index }) => void failures.push(index) });
  for (const id of [999, 1000, 5, 1001]) other.put({ primaryKey: { id } });
  await note(
    other.close().catch((error: unknown) => {
      assert.ok((error as Error).name === "WriterError");
      const { stored, failed, failures, message } = error as WriterError;
      return { stored, failed, message, failures: failures.map(({ index, error }) => [index, error.code]) };
    }),
  );
  await note(failures);
  await note(counted());
  // The last of equal keys stays.
  const twice = db.writer("row");
  for (const n of [1, 2, 3]) twice.put({ primaryKey: { id: 7 }, attributes: { n } });
  await twice.close();
  await note(db.getRow({ tableName: "row", primaryKey: { id: 7 } }));
  await note((async () => twice.put({ primaryKey: { id: 1 } }))());
});

test("a row that the service refuses with its whole batch does not fail its neighbours", { skip }, async () => {
  const { db, service, behind } = await connected();
  await db.createTable(TABLE);
  const writer = db.writer("row");
  // Beyond what one value may have: the server refuses the batch.
  for (let id = 0; id < 6; id++) writer.put({ primaryKey: { id }, attributes: { text: id === 4 ? "x".repeat(2_097_153) : "ok" } });
  await assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof WriterError);
    assert.deepEqual([error.stored, error.failed, error.failures.map(({ index }) => index)], [5, 1, [4]]);
    return true;
  });
  assert.equal((await db.count({ tableName: "row" })).count, 5);
  assert.ok(service.operations.filter((one) => one === "BatchWriteRow").length > 1);
  await db.close();
  await behind.close();
});

test("a signal ends a writer: rows that have not left are dropped", { skip }, async () => {
  const { db, behind } = await connected();
  await db.createTable(TABLE);
  const control = new AbortController();
  const writer = db.writer("row", { signal: control.signal });
  writer.put({ primaryKey: { id: 1 } });
  const reason = new Error("enough");
  control.abort(reason);
  assert.throws(() => writer.put({ primaryKey: { id: 2 } }), reason);
  await assert.rejects(writer.close(), (error) => error === reason);
  assert.deepEqual(writer.progress, { rows: 0, failed: 1, pending: 0, bytes: 0 });
  await db.close();
  await behind.close();
});

same("rows of a writer are written before a later call about them", async (db, note) => {
  await db.createTable(TABLE);
  const writer = db.writer("row");
  writer.put({ primaryKey: { id: 1 }, attributes: { n: 1 } });
  await note(db.getRow({ tableName: "row", primaryKey: { id: 1 } }));
  await writer.close();
});

same("imports and exports are alike", async (db, note) => {
  await db.createTable(TABLE);
  const csv = new Blob(["id,name,celsius,wet\n1,Oslo,1.5,true\n2,Bergen,7.0,false\n"], { type: "text/csv" });
  const columns = { celsius: { type: "DOUBLE" as const }, wet: { type: "BOOLEAN" as const } };
  await note(db.importRows("row", csv, { columns }));
  await note(
    db.importRows(
      "row",
      [
        { id: 2, name: "again" },
        { id: 3, name: "new" },
      ],
      { onDuplicate: "skip" },
    ),
  );
  const text = async (options: object) => new Response(await db.exportRows("row", options)).text();
  await note(text({}));
  await note(text({ format: "csv" }));
  await note(text({ versions: "all" }));
});

test("an instance of this browser moves to the service, and back", { skip }, async () => {
  const { open } = await load();
  const local = await open("local", { storage: "memory", clock: { now: NOW } });
  await local.createTable({ ...TABLE, stream: { enabled: true, expirationHours: 24 } });
  await local.createTable({
    tableName: "order",
    primaryKey: [{ name: "id", type: "STRING" }],
    definedColumns: [{ name: "customer", type: "STRING" }],
    indexes: [{ indexName: "by_customer", primaryKey: ["customer"] }],
  });
  await local.putRow({
    tableName: "row",
    primaryKey: { id: 1 },
    attributes: {
      d: (await load()).double(2),
      v: [
        { value: 1, version: NOW - 2 },
        { value: 2, version: NOW - 1 },
      ],
    },
  });
  await local.putRow({ tableName: "order", primaryKey: { id: "a" }, attributes: { customer: "ann", b: Uint8Array.of(1) } });
  const file = await new Response(await local.exportInstance()).blob();

  const { db, behind } = await connected();
  const { tables, rows } = await db.importInstance(file);
  assert.deepEqual([tables, rows], [["order", "row"], 2]);
  const { row } = await db.getRow({ tableName: "row", primaryKey: { id: 1 }, maxVersions: 3 });
  assert.deepEqual(seen(row), seen((await local.getRow({ tableName: "row", primaryKey: { id: 1 }, maxVersions: 3 })).row));
  assert.equal(row!.type("d"), "DOUBLE");
  assert.equal((await db.getRange({ tableName: "by_customer" })).rows.length, 1);
  const [there] = await db.listStream();
  assert.equal(there?.tableName, "row");

  const back = await open("back", { storage: "memory", clock: { now: NOW } });
  await back.importInstance(await new Response(await db.exportInstance()).blob());
  assert.deepEqual(await back.listTable(), await local.listTable());
  const read = async (one: Database) => seen((await one.getRow({ tableName: "row", primaryKey: { id: 1 }, maxVersions: 3 })).row);
  assert.deepEqual(await read(back), await read(local));
  for (const one of [local, db, behind, back]) await one.close();
});

/** Versions are of the device's clock here: a live query begins a little before now. */
const REAL = { clock: undefined };

same(
  "live queries show the rows, and again after each change of them; rows that stay are the same objects",
  async (db, note) => {
    await db.createTable({ ...TABLE, stream: { enabled: true, expirationHours: 24 } });
    const put = (id: number, n: number) => db.putRow({ tableName: "row", primaryKey: { id }, attributes: { n } });
    for (let id = 1; id <= 3; id++) await put(id, id);
    const plain = ({ rows, changed }: LiveRows) => ({ rows: rows.map((row) => row.toObject()), changed });
    const live = db.watch({ tableName: "row", start: { id: 1 }, end: { id: 10 }, limit: 4 })[Symbol.asyncIterator]();
    const until = async (wanted: (step: LiveRows) => boolean): Promise<LiveRows> => {
      for (;;) {
        const step = (await live.next()).value as LiveRows;
        if (wanted(step)) return step;
      }
    };
    const first = await until(() => true);
    await note(plain(first));
    await put(2, 20);
    const second = await until(({ rows }) => rows[1]!.get("n") === 20);
    await note(plain(second));
    await note([second.rows[0] === first.rows[0], second.rows[1] === first.rows[1]]);
    await db.deleteRow({ tableName: "row", primaryKey: { id: 1 } });
    await note(plain(await until(({ rows }) => rows.length === 2)));
    await put(99, 1);
    await put(4, 4);
    await note(plain(await until(({ rows }) => rows.length === 3)));
    await live.return?.();
    // One row, which others do not wake.
    const one = db.watch({ tableName: "row", primaryKey: { id: 3 } })[Symbol.asyncIterator]();
    await note(plain((await one.next()).value as LiveRows));
    const next = one.next();
    await put(4, 5);
    await put(3, 33);
    await note(plain((await next).value as LiveRows));
    await one.return?.();
    // What a view has: a snapshot, and a listener.
    const count = db.watchCount({ tableName: "row" });
    const told = () => new Promise<number | undefined>((resolve) => void (end = count.subscribe(() => resolve(count.getSnapshot().count))));
    let end = (): void => {};
    await note(await told());
    await note(count.getSnapshot());
    end();
    const counts = count[Symbol.asyncIterator]();
    await note((await counts.next()).value);
    await put(5, 5);
    await note((await counts.next()).value);
    await counts.return?.();
    await note(db.watch({ tableName: "row", limit: 0 })[Symbol.asyncIterator]().next());
    await note(
      db
        .watch({ tableName: "none", primaryKey: { id: 1 }, limit: 1 })
        [Symbol.asyncIterator]()
        .next(),
    );
  },
  {},
  REAL,
);

test("a live query ends with its signal and with the database", { skip }, async () => {
  const { db, behind } = await connected({}, REAL);
  await db.createTable({ ...TABLE, stream: { enabled: true, expirationHours: 24 } });
  const control = new AbortController();
  const live = db.watch({ tableName: "row", signal: control.signal })[Symbol.asyncIterator]();
  assert.deepEqual((await live.next()).value, { rows: [], changed: [] });
  const reason = new Error("enough");
  const next = live.next();
  control.abort(reason);
  await assert.rejects(next, (error) => error === reason);
  const other = db.watch({ tableName: "row" })[Symbol.asyncIterator]();
  await other.next();
  const last = other.next();
  last.catch(() => {});
  await db.close();
  await assert.rejects(last, code("Closed"));
  await behind.close();
});

test("ST2: changes come while a reader waits, until it ends", { skip }, async () => {
  const { db, behind } = await connected();
  await db.createTable({ ...TABLE, stream: { enabled: true, expirationHours: 24 } });
  const found: unknown[] = [];
  const reader = db.changes({ tableName: "row" });
  const reading = (async () => {
    for await (const { type, primaryKey } of reader) {
      found.push([type, primaryKey]);
      if (found.length === 3) break;
    }
  })();
  for (let id = 0; id < 3; id++) await db.putRow({ tableName: "row", primaryKey: { id } });
  await reading;
  assert.deepEqual(
    found,
    [0, 1, 2].map((id) => ["PUT", { id }]),
  );
  const waiting = db.changes({ tableName: "row", from: "latest" });
  const next = waiting.next();
  setTimeout(() => void db.close(), 20);
  await assert.rejects(next, code("Closed"));
  await behind.close();
});

test("what the service lacks is refused by name, with what to do instead", { skip }, async () => {
  const { db, service, behind } = await connected();
  await db.createTable(TABLE);
  const put = (id: number, tableName = "row") => ({ tableName, put: { primaryKey: { id } } });
  const calls: [string, (db: Database) => unknown][] = [
    ["deleteRange", (one) => one.deleteRange({ tableName: "row" })],
    ["computeStorage", (one) => one.computeStorage("row")],
    ["computeConsumed", (one) => one.computeConsumed()],
    ["createAccessKey", (one) => one.createAccessKey({ rights: ["read"] })],
    ["listAccessKeys", (one) => one.listAccessKeys()],
    ["updateAccessKey", (one) => one.updateAccessKey({ accessKeyId: "a" })],
    ["deleteAccessKey", (one) => one.deleteAccessKey("a")],
    ["listConsumerGroups", (one) => one.listConsumerGroups()],
    ["consumer", (one) => one.consumer({ tableName: "row", group: "g", type: "Stream" })[Symbol.asyncIterator]().next()],
    ["table 'row', which has no stream", (one) => one.watch({ tableName: "row" })[Symbol.asyncIterator]().next()],
    ["table 'row', which has no stream", (one) => one.watchCount({ tableName: "row" })[Symbol.asyncIterator]().next()],
    ["verify", (one) => one.verify({ texts: true }).next()],
    ["missing", (one) => one.missing()],
    ["metrics", (one) => one.metrics()],
    ["segments", (one) => one.segments()],
    ["segment", (one) => one.segment(1)],
    ["getStoredRow", (one) => one.getStoredRow({ tableName: "row", primaryKey: { id: 1 } })],
    ["getWorkEvents", (one) => one.getWorkEvents()],
    ["workEvents", (one) => one.workEvents().next()],
    ["pauseWork", (one) => one.pauseWork()],
    ["resumeWork", (one) => one.resumeWork()],
    ["stepWork", (one) => one.stepWork()],
    ["storage", (one) => one.storage()],
    ["persist", (one) => one.persist()],
    ["compact", (one) => one.compact()],
    ["setClock", (one) => one.setClock(1)],
    ["trace", (one) => one.getRow({ tableName: "row", primaryKey: { id: 1 }, trace: true })],
    ["One step over several", (one) => one.atomic([put(1), put(2)])],
    ["One step over several", (one) => one.atomic([put(1), put(1, "other")])],
    [
      "allowChosen",
      (one) =>
        one.createTable({
          tableName: "t",
          primaryKey: [
            { name: "a", type: "STRING" },
            { name: "b", type: "INTEGER", autoIncrement: true, allowChosen: true },
          ],
        }),
    ],
    ["time to live of the index", (one) => one.createIndex({ tableName: "row", index: { indexName: "i", primaryKey: ["id"], timeToLive: 86_400 } })],
    ["Azure Table service", (one) => azure(one, "account").createTable("Things")],
  ];
  const before = service.operations.filter((one) => one !== "DescribeTable").length;
  for (const [name, call] of calls) {
    await assert.rejects(
      async () => call(db),
      (error) => {
        const { code: found, status, hint, message } = error as { code: string; status: number; hint: string; message: string };
        assert.deepEqual([found, status], ["Unsupported", 501], `${name}: ${message}`);
        assert.match(message, new RegExp(name));
        assert.ok(hint.length > 10, name);
        return true;
      },
      name,
    );
  }
  assert.equal(service.operations.filter((one) => one !== "DescribeTable").length, before, "the service is not asked");
  // A live query shows its error, and so a view of it.
  const query = db.watch({ tableName: "row" });
  await new Promise<void>((resolve) => query.subscribe(resolve));
  assert.equal((query.getSnapshot().error as { code: string }).code, "Unsupported");
  const { describe } = db.consumer({ tableName: "row", group: "g", type: "Stream" });
  await assert.rejects(describe(), code("Unsupported"));
  // These do no harm.
  await db.flush();
  await db.preload();
  db.addEventListener("health", () => {}, { once: true });
  db.removeEventListener("health", () => {});
  assert.deepEqual([db.persistence, db.role, db.closed, db.name], ["service", "leader", false, "demo"]);
  assert.equal((await db.getRow({ tableName: "row", primaryKey: { id: 1 }, trace: false })).row, null);
  await db.close();
  assert.equal(db.closed, true);
  await behind.close();
});

test("errors and Doubles of one entry of the package are those of another", { skip }, async () => {
  const local = await load();
  const cloud = (await import(pathToFileURL(path.resolve("dist/cloud.js")).href)) as typeof import("../src/cloud/index.js");
  assert.notEqual(cloud.TabStoreError, local.TabStoreError);
  const { db, behind } = await connected();
  await db.createTable(TABLE);
  // With the Double of this test's own classes, of dist/node.js and of dist/cloud.js.
  for (const of of [double, local.double, cloud.double]) await db.putRow({ tableName: "row", primaryKey: { id: 1 }, attributes: { d: of(3) } });
  assert.equal((await db.getRow({ tableName: "row", primaryKey: { id: 1 } })).row!.type("d"), "DOUBLE");
  const error: unknown = await db.getRow({ tableName: "none", primaryKey: { id: 1 } }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof local.TabStoreError && error instanceof cloud.TabStoreError && error instanceof Error);
  assert.ok(!(error instanceof local.WriterError));
  assert.ok(new cloud.WriterError({ code: "a", status: 1, retryable: false, message: "" }, 0, 0, []) instanceof local.WriterError);
  class Own extends local.TabStoreError {}
  assert.ok(!(error instanceof Own));
  assert.ok(new Own({ code: "a", status: 1, retryable: false, message: "" }) instanceof Own);
  for (const other of [undefined, null, 5, "x", {}, new Error("x")]) assert.ok(!((other as unknown) instanceof local.TabStoreError));
  await db.close();
  await behind.close();
});

test("the built entry loads its other files, which work with what it has made", { skip }, async () => {
  const built = (await import(pathToFileURL(path.resolve("dist/cloud.js")).href)) as typeof import("../src/cloud/index.js");
  const package_ = await load();
  const behind = await package_.open("demo", { storage: "memory" });
  const service = new TestService(behind, package_);
  const db = await built.connect(ENDPOINT, SIGNER, { fetch: service.fetch, pollInterval: 5 });
  await db.createTable({ ...TABLE, stream: { enabled: true, expirationHours: 24 } });
  await db.batchWriteRow([1, 2].map((id) => ({ tableName: "row", put: { primaryKey: { id }, attributes: { n: id } } })));
  const tx = await db.startLocalTransaction({ tableName: "row", partitionKey: { id: 1 } });
  await tx.updateRow({ tableName: "row", primaryKey: { id: 1 }, increment: { n: 10 } });
  await tx.commit();
  const [[{ row }]] = (await db.batchGetRow([{ tableName: "row", primaryKeys: [{ id: 1 }] }])) as unknown as [[{ row: { get(name: string): unknown } }]];
  assert.equal(row.get("n"), 11);
  assert.equal((await db.count({ tableName: "row" })).count, 2);
  const changes: string[] = [];
  for await (const { type } of db.changes({ tableName: "row", once: true })) changes.push(type);
  assert.equal(changes.length, 3);
  await db.importRows("row", [{ id: 3, n: 3 }]);
  assert.equal((await new Response(await db.exportRows("row")).text()).trim().split("\n").length, 3);
  const error: unknown = await db.deleteTable("none").catch((thrown: unknown) => thrown);
  assert.ok(error instanceof built.TabStoreError && error.code === "OTSObjectNotExist");
  await assert.rejects(db.metrics(), (thrown) => thrown instanceof built.TabStoreError && thrown.code === "Unsupported");
  await db.close();
  await behind.close();
});
