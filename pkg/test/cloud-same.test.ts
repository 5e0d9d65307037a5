/** The same application on an instance in this process and through a connection: calls about rows and tables. */

import { AUTO_INCREMENT, double, INF_MAX, INF_MIN } from "../src/cloud/index.js";
import type { Database } from "../src/index.js";
import { col } from "../src/types/filter.js";
import { NOW, same } from "./support/cloud.js";

const READING = {
  tableName: "reading",
  primaryKey: [
    { name: "station", type: "STRING" as const },
    { name: "at", type: "INTEGER" as const },
  ],
};
const present = { passIfMissing: false };

async function filled(db: Database, rows = 12): Promise<void> {
  await db.createTable({ ...READING, maxVersions: 3 });
  for (let at = 0; at < rows; at++)
    await db.putRow({
      tableName: "reading",
      primaryKey: { at, station: at % 2 ? "SEA" : "OSL" },
      attributes: { celsius: double(at), wet: at % 3 === 0, note: `n${at}` },
    });
}

same("R1: rows of all types are put, read, updated and deleted alike", async (db, note) => {
  await note(db.createTable({ ...READING, maxVersions: 3 }));
  const primaryKey = { at: 1n, station: "Sjöbo 北" };
  const bytes = Uint8Array.of(0, 255, 7);
  const attributes = {
    i: 1,
    big: 2n ** 63n - 1n,
    low: -(2n ** 63n),
    d: 1.5,
    whole: double(3),
    t: true,
    f: false,
    s: "名\u0000",
    b: bytes,
    e: "",
    v: [
      { value: 1, version: NOW - 5 },
      { value: "two", version: NOW - 4 },
    ],
  };
  await note(db.putRow({ tableName: "reading", primaryKey, attributes, returnContent: "PRIMARY_KEY" }));
  await note(db.getRow({ tableName: "reading", primaryKey, maxVersions: 2 }));
  await note(db.getRow({ tableName: "reading", primaryKey, columnsToGet: ["i", "none"] }));
  await note(db.getRow({ tableName: "reading", primaryKey, columnsToGet: ["none"] }));
  await note(db.getRow({ tableName: "reading", primaryKey, startColumn: "e", endColumn: "s" }));
  await note(db.getRow({ tableName: "reading", primaryKey, timeRange: { version: NOW - 5 } }));
  await note(db.getRow({ tableName: "reading", primaryKey, timeRange: { start: NOW - 5, end: NOW - 3 }, maxVersions: 5 }));
  await note(
    db.updateRow({
      tableName: "reading",
      primaryKey,
      put: { i: 7, n: "new" },
      deleteColumns: ["d"],
      deleteVersions: { v: [NOW - 4] },
      increment: { hits: 5 },
      returnContent: { afterModify: ["hits"] },
    }),
  );
  await note(db.updateRow({ tableName: "reading", primaryKey, increment: { hits: -7n }, returnContent: { afterModify: ["hits"] } }));
  await note(db.getRow({ tableName: "reading", primaryKey, maxVersions: 3 }));
  await note(db.deleteRow({ tableName: "reading", primaryKey, returnContent: "PRIMARY_KEY" }));
  await note(db.getRow({ tableName: "reading", primaryKey }));
  await note(db.putRow({ tableName: "reading", primaryKey: { station: "empty", at: 0 } }));
  await note(db.getRow({ tableName: "reading", primaryKey: { station: "empty", at: 0 } }));
});

same(
  "D2: with integers bigint every integer is one, also in keys and next keys",
  async (db, note) => {
    await filled(db);
    await note(db.getRow({ tableName: "reading", primaryKey: { station: "OSL", at: 2 } }));
    await note(db.getRange({ tableName: "reading", limit: 3 }));
  },
  { integers: "bigint" },
);

same("R6: conditions and filters decide alike", async (db, note) => {
  await filled(db);
  const primaryKey = { station: "SEA", at: 3 };
  const put = (condition: object) => db.putRow({ tableName: "reading", primaryKey, attributes: { wet: true, label: "no.123" }, condition });
  await note(put({ rowExistence: "EXPECT_NOT_EXIST" }));
  await note(put({ rowExistence: "EXPECT_EXIST", column: col("celsius").gt(double(2), present) }));
  await note(put({ column: col("wet").eq(false) }));
  const filters = [
    col("wet").eq(true),
    col("wet")
      .eq(true, present)
      .or(col("celsius").lt(double(2), present)),
    col("wet").exists().not(),
    col("wet").notExists(),
    col("label").transfer("no\\.(\\d+)", "INTEGER").ge(100, present),
    col("station").eq("SEA").and({ offset: 1, limit: 1 }),
    col("note").ne("n4", { latestVersionOnly: false }),
    { offset: 0, limit: 2 },
    { operator: "OR" as const, filters: [] },
  ];
  for (const filter of filters) await note(db.getRange({ tableName: "reading", filter, maxVersions: 2 }));
  await note(db.deleteRow({ tableName: "reading", primaryKey, condition: { rowExistence: "EXPECT_NOT_EXIST" } }));
});

same("R3: ranges, pages and scans are alike in both directions, with ends and without", async (db, note) => {
  await filled(db, 30);
  const ends = { start: { at: INF_MIN, station: "OSL" }, end: { station: "OSL", at: INF_MAX } };
  await note(db.getRange({ tableName: "reading", ...ends, limit: 4 }));
  await note(db.getRange({ tableName: "reading", direction: "BACKWARD", start: ends.end, end: { station: "OSL", at: 10 }, limit: 3 }));
  await note(db.getRange({ tableName: "reading", start: ends.end, end: ends.start }));
  await note(db.getRange({ tableName: "reading", start: { station: "OSL" }, end: ends.end }));
  const collected = async (pages: AsyncIterable<unknown>) => {
    const all: unknown[] = [];
    for await (const one of pages) all.push(one);
    return all;
  };
  await note(collected(db.scan({ tableName: "reading", pageRows: 7, limit: 25 })));
  await note(collected(db.scanPages({ tableName: "reading", direction: "BACKWARD", pageRows: 8, columnsToGet: ["note"] })));
  await note(collected(db.scan({ tableName: "missing" })));
  const counted = async (call: Promise<{ count: number }>) => (await call).count;
  await note(counted(db.count({ tableName: "reading" })));
  await note(counted(db.count({ tableName: "reading", ...ends })));
  await note(counted(db.count({ tableName: "reading", filter: col("wet").eq(true, present) })));
  await note(
    counted(
      db.count({
        tableName: "reading",
        filter: col("station")
          .eq("SEA")
          .and(col("celsius").gt(double(9))),
      }),
    ),
  );
});

same("R2: batches have the same results in the same places", async (db, note) => {
  await filled(db);
  await db.createTable({ tableName: "other", primaryKey: [{ name: "id", type: "BINARY" }] });
  const id = Uint8Array.of(1, 2);
  await note(
    db.batchWriteRow([
      { tableName: "reading", put: { primaryKey: { station: "A", at: 1 }, attributes: { x: 1 }, returnContent: "PRIMARY_KEY" } },
      { tableName: "other", put: { primaryKey: { id }, attributes: { y: id } } },
      { tableName: "reading", update: { primaryKey: { station: "A", at: 2 }, increment: { n: 2 }, returnContent: { afterModify: ["n"] } } },
      { tableName: "other", delete: { primaryKey: { id: Uint8Array.of(9) } } },
      { tableName: "reading", put: { primaryKey: { station: "A", at: 3 }, condition: { rowExistence: "EXPECT_EXIST" } } },
      { tableName: "reading", delete: { primaryKey: { station: "OSL", at: 0 }, condition: { rowExistence: "EXPECT_EXIST" } } },
    ]),
  );
  await note(
    db.batchGetRow([
      {
        tableName: "reading",
        primaryKeys: [
          { at: 1, station: "A" },
          { station: "none", at: 0 },
          { station: "A", at: 2 },
        ],
      },
      { tableName: "other", primaryKeys: [{ id }], columnsToGet: ["y"] },
      { tableName: "reading", primaryKeys: [{ station: "SEA", at: 1 }], maxVersions: 2, filter: col("wet").eq(true) },
    ]),
  );
  await note(db.batchWriteRow([], {}));
  await note(db.batchGetRow([]));
  const rows = [1, 2].map((at) => ({ tableName: "reading", put: { primaryKey: { station: "B", at }, attributes: { at: double(at) } } }));
  await note(db.batchWriteRow(rows, { atomic: true }));
  await note(db.batchWriteRow([...rows, { tableName: "reading", put: { primaryKey: { station: "C", at: 1 } } }], { atomic: true }));
  await note(db.atomic(rows));
  await note(db.getRange({ tableName: "reading", start: { station: "A", at: INF_MIN }, end: { station: "D", at: INF_MIN } }));
});

same("R6: an auto-increment key is given, and returned", async (db, note) => {
  await db.createTable({
    tableName: "chat",
    primaryKey: [
      { name: "room", type: "STRING" },
      { name: "id", type: "INTEGER", autoIncrement: true },
    ],
  });
  for (const text of ["a", "b"])
    await note(db.putRow({ tableName: "chat", primaryKey: { id: AUTO_INCREMENT, room: "lobby" }, attributes: { text }, returnContent: "PRIMARY_KEY" }));
  await note(db.getRange({ tableName: "chat" }));
  await note(db.putRow({ tableName: "chat", primaryKey: { room: "lobby", id: 77 }, attributes: { text: "c" } }));
});

same("T1: tables are created, listed, changed and deleted alike", async (db, note) => {
  const order = {
    tableName: "order",
    primaryKey: [{ name: "id", type: "STRING" as const }],
    definedColumns: [
      { name: "customer", type: "STRING" as const },
      { name: "total", type: "DOUBLE" as const },
    ],
    indexes: [{ indexName: "by_customer", primaryKey: ["customer"], columns: ["total"] }],
    stream: { enabled: true as const, expirationHours: 24, originColumns: ["total"] },
    reservedThroughput: { read: 3, write: 4 },
  };
  const described = async (tableName: string) => {
    const { partitions, indexOf, enableLocalTransaction, stream, ...rest } = await db.describeTable(tableName);
    return { ...rest, stream: stream && { ...stream, streamId: "" } };
  };
  await note(db.createTable(order));
  await note(db.createTable(order));
  await note(db.createTable({ ...order, ifNotExists: true }));
  await note(db.createTable({ ...order, maxVersions: 7, ifNotExists: true }));
  await note(db.createTable({ ...READING, timeToLive: 86_400, maxVersions: 5, maxVersionOffset: 1000, allowUpdate: false }));
  // Whether it lists the tables of indexes is up to a service.
  await note(db.listTable().then((names) => names.filter((name) => !name.startsWith("by_"))));
  await note(described("order"));
  await note(described("reading"));
  await note(described("missing"));
  await note(
    db
      .updateTable({ tableName: "reading", maxVersions: 2, allowUpdate: true })
      .then(({ maxVersions, allowUpdate, timeToLive }) => [maxVersions, allowUpdate, timeToLive]),
  );
  await note(db.addDefinedColumn({ tableName: "order", columns: [{ name: "paid", type: "BOOLEAN" }] }));
  await note(db.createIndex({ tableName: "order", index: { indexName: "by_total", primaryKey: ["customer", "id"], type: "GLOBAL" } }));
  await note(db.putRow({ tableName: "order", primaryKey: { id: "1" }, attributes: { customer: "ann", total: 1.5 } }));
  await note(db.getRange({ tableName: "by_customer", start: { customer: "ann", id: INF_MIN }, end: { customer: "ann", id: INF_MAX } }));
  await note(db.putRow({ tableName: "by_customer", primaryKey: { id: "1", customer: "ann" } }));
  await note(db.dropIndex({ tableName: "order", indexName: "by_total" }));
  await note(db.dropIndex({ tableName: "order", indexName: "by_total" }));
  await note(db.deleteDefinedColumn({ tableName: "order", columns: ["paid"] }));
  await note(described("order"));
  await note(
    db
      .computeSplitPointsBySize({ tableName: "order", splitSize: 1 })
      .then(({ primaryKey, splits, consumed }) => [primaryKey, splits.map(({ lower, upper }) => [lower, upper]), consumed]),
  );
  await note(db.deleteTable("order"));
  await note(db.deleteTable("order"));
  await note(db.putRow({ tableName: "order", primaryKey: { id: "1" } }));
  // Another key: the old one is not remembered.
  await note(
    db.createTable({
      tableName: "order",
      primaryKey: [
        { name: "b", type: "INTEGER" },
        { name: "a", type: "STRING" },
      ],
    }),
  );
  await note(db.putRow({ tableName: "order", primaryKey: { a: "x", b: 1 }, returnContent: "PRIMARY_KEY" }));
});

same("R7: a transaction reads what it writes, is seen when committed, and is over then", async (db, note) => {
  await filled(db);
  const tx = await db.startLocalTransaction({ tableName: "reading", partitionKey: { station: "SEA" } });
  await note([tx.state, tx.consumed]);
  const primaryKey = { station: "SEA", at: 1 };
  await note(tx.putRow({ tableName: "reading", primaryKey, attributes: { note: "tx" } }));
  await note(tx.updateRow({ tableName: "reading", primaryKey: { station: "SEA", at: 3 }, put: { note: "tx" } }));
  await note(tx.getRow({ tableName: "reading", primaryKey }));
  await note(db.getRow({ tableName: "reading", primaryKey }));
  await note(tx.batchWriteRow([{ tableName: "reading", delete: { primaryKey: { station: "SEA", at: 5 } } }]));
  await note(tx.getRange({ tableName: "reading", start: { station: "SEA", at: INF_MIN }, end: { station: "SEA", at: INF_MAX } }));
  await note(tx.putRow({ tableName: "reading", primaryKey: { station: "OSL", at: 1 } }));
  await note(tx.commit());
  await note([tx.state]);
  await note(tx.commit());
  await note(tx.getRow({ tableName: "reading", primaryKey }));
  await note(db.getRow({ tableName: "reading", primaryKey }));
  {
    await using other = await db.startLocalTransaction({ tableName: "reading", partitionKey: { station: "SEA" } });
    await other.deleteRow({ tableName: "reading", primaryKey });
  }
  await note(db.getRow({ tableName: "reading", primaryKey }));
});

same("ST1: streams tell the same changes, with the values before", async (db, note) => {
  await db.createTable({ ...READING, maxVersions: 3, stream: { enabled: true, expirationHours: 24, originColumns: ["celsius"] } });
  const primaryKey = { station: "SEA", at: 1 };
  await db.putRow({ tableName: "reading", primaryKey, attributes: { celsius: 1.5, n: [{ value: 1, version: NOW - 9 }] } });
  await db.updateRow({
    tableName: "reading",
    primaryKey,
    put: { celsius: 2.5 },
    deleteVersions: { n: [NOW - 9] },
    deleteColumns: ["old"],
    increment: { hits: 1 },
  });
  await db.deleteRow({ tableName: "reading", primaryKey });
  const changes = async (from?: string) => {
    const all: object[] = [];
    let token = "";
    for await (const change of db.changes({ tableName: "reading", once: true, ...(from !== undefined && { from }) })) {
      const { type, primaryKey, cells, original, timestamp } = change;
      all.push({ type, primaryKey, cells, original, timestamp });
      token = change.token;
    }
    return { all, token };
  };
  const { all, token } = await changes();
  await note(all);
  await db.putRow({ tableName: "reading", primaryKey, attributes: { celsius: double(9), n: 9 } });
  await note((await changes(token)).all);
  await note(changes("nonsense"));
  const [{ streamId, ...stream }] = (await db.listStream({ tableName: "reading" })) as unknown as [{ streamId: string }];
  await note(stream);
  const { lastSequence, shards, ...described } = await db.describeStream({ streamId });
  await note({ ...described, streamId: "", shards: shards.length });
  const iterator = await db.getShardIterator({ streamId, shardId: shards[0]!.shardId });
  const { records, consumed, nextShardIterator } = await db.getStreamRecord({ shardIterator: iterator, limit: 2 });
  await note([records.map(({ type }) => type), consumed, typeof nextShardIterator]);
  await note(db.describeStream({ streamId: "none" }).catch(({ code }: { code: string }) => code));
});

same("wrong arguments are refused with the same words", async (db, note) => {
  await filled(db, 1);
  const calls: (() => unknown)[] = [
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, attributes: { a: null as never } }),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, attributes: { a: Number.NaN } }),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, attributes: { a: 2 ** 60 } }),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, attributes: { a: "\ud800" } }),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, attribute: {} } as never),
    () => db.putRow({ tableName: "reading" } as never),
    () => db.putRow(undefined as never),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: INF_MIN as never } }),
    () => db.putRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, condition: { rowExistence: "MAYBE" as never } }),
    () => (db.putRow as (...all: unknown[]) => unknown).call(db, { tableName: "reading", primaryKey: { station: "A", at: 1 } }, { signal: 1 }),
    () => db.updateRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, increment: { a: 1.5 } }),
    () => db.updateRow({ tableName: "reading", primaryKey: { station: "A", at: 1 } }),
    () => db.getRow({ tableName: 7 as never, primaryKey: { station: "A", at: 1 } }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A" } }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A", at: "1" } }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A", at: 1, more: 1 } }),
    () => db.getRow({ tableName: "none", primaryKey: { station: "A", at: 1 } }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, maxVersions: 0 }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, timeRange: { version: 1 }, maxVersions: 1 }),
    () => db.getRow({ tableName: "reading", primaryKey: { station: "A", at: 1 }, filter: { column: "a", comparator: "SAME" as never, value: 1 } }),
    () => db.getRange({ tableName: "reading", limit: 0 }),
    () => db.getRange({ tableName: "reading", direction: "UP" as never }),
    () => db.getRange({ tableName: "reading", signal: "x" as never }),
    () => db.batchWriteRow([{ tableName: "reading" } as never]),
    () => db.batchWriteRow([], { atomic: 1 as never }),
    () => db.createTable({ tableName: "t", primaryKey: [{ name: "a", type: "INTEGER", typ: 1 } as never] }),
    () => db.createTable({ ...READING, tableName: "0" }),
    () => db.createTable(undefined as never),
    () => db.describeTable({} as never),
    () => db.updateTable({ tableName: "reading", timeToLive: 5 }),
    () => db.startLocalTransaction({ tableName: "reading", partitionKey: { station: "A", at: 1 } }),
    () => db.atomic("x" as never),
    () => db.changes({ tableName: "reading", from: {} as never, once: true }).next(),
    () => db.changes({ tableName: "reading", once: true }).next(),
    () => db.scan({ tableName: "reading", pageRows: 0 }).next(),
    () => db.count({ tableName: "reading", limit: 1 } as never),
    () => db.importRows("reading", 5 as never),
    () => db.exportRows("none"),
    async () => db.writer(5 as never),
    async () => db.writer("reading", { maxRowsInFlight: 0 }),
    async () => db.addEventListener("change" as never, () => {}),
  ];
  for (const call of calls) {
    try {
      await note(call());
    } catch (error) {
      await note(error);
    }
  }
});

same("a closed database refuses calls alike, and says that it is closed", async (db, note) => {
  await filled(db, 3);
  const put = db.putRow({ tableName: "reading", primaryKey: { station: "Z", at: 1 } });
  const scan = db.scan({ tableName: "reading", pageRows: 1 });
  await scan.next();
  await db.close();
  await note(put);
  await note(scan.next());
  await note(db.closed);
  await note(db.getRow({ tableName: "reading", primaryKey: { station: "Z", at: 1 } }));
  await note(db.listTable());
  await note(db.close());
});
