/** Copies of a table between two databases: what is kept, what is told, what is refused, and what happens when something fails. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Database, TabStoreError } from "../src/index.js";
import { type SyncLossEvent, type SyncStageEvent, syncTable } from "../src/sync/index.js";
import { cut, KEY } from "./support/consumer.js";
import { code, load, open, random, skip } from "./support/package.js";
import { ALL, ANY_OFFSET, assertSame, dump, during, FAST, type Fault, onTwo, onWay } from "./support/sync.js";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const clock = (): { readonly clock: { readonly now: number } } => ({ clock: { now: START } });
const create = (db: Database, more: object = {}): Promise<void> =>
  db.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 3, maxVersionOffset: ANY_OFFSET, ...more });
const put = (db: Database, id: number, value: unknown = id, version?: number): Promise<unknown> =>
  db.updateRow({ tableName: "t", primaryKey: { id }, put: { v: [{ value: value as number, ...(version === undefined ? {} : { version }) }] } });

/** The error that a job ends with. */
async function refusal(options: Parameters<typeof during>[0]): Promise<TabStoreError> {
  const job = syncTable({ tableName: "t", retry: FAST, ...options });
  const error = await job.ready.then(
    () => assert.fail("it was not refused"),
    (reason: TabStoreError) => reason,
  );
  assert.equal(job.status().stage, "failed");
  await assert.rejects(job.done, error);
  await assert.rejects(job.caughtUp(), error);
  return error;
}

test(
  "a copy has all versions and all types, of rows from before the stream too, and follows what changes",
  { skip },
  onTwo(async (from, to) => {
    const { double } = await load();
    await from.createTable({
      tableName: "t",
      maxVersions: 4,
      primaryKey: [
        { name: "a", type: "STRING" },
        { name: "b", type: "BINARY" },
        { name: "c", type: "INTEGER" },
      ],
    });
    const key = (a: string, c: number | bigint): { a: string; b: Uint8Array; c: number | bigint } => ({ a, b: new Uint8Array([1, 255]), c });
    const now = Date.now();
    const all = [double(2), 2, 2n ** 62n, double(-0), 2.5, "é\u{1f600}", true, new Uint8Array([0, 9])];
    for (const [i, value] of all.entries()) {
      await from.putRow({
        tableName: "t",
        primaryKey: key("old", i),
        attributes: {
          x: [
            { value, version: now - 1000 },
            { value: all[(i + 1) % 8], version: now - 2000 },
          ],
        },
      });
    }
    await from.putRow({ tableName: "t", primaryKey: key("empty", 2n ** 60n) });
    await during({ from, to }, async (job) => {
      await job.ready;
      assert.equal(job.status().rowsCopied, 9);
      await assertSame(from, to);
      for (const [i, value] of all.entries())
        await from.updateRow({ tableName: "t", primaryKey: key("new", i), put: { x: value, y: [{ value, version: now - 3000 }] } });
      await from.updateRow({ tableName: "t", primaryKey: key("old", 1), deleteVersions: { x: [now - 1000] }, increment: { n: 5 } });
      await from.updateRow({ tableName: "t", primaryKey: key("old", 2), deleteColumns: ["x"] });
      await from.deleteRow({ tableName: "t", primaryKey: key("old", 3) });
      await from.putRow({ tableName: "t", primaryKey: key("old", 4) });
      await job.caughtUp();
      assert.equal(await assertSame(from, to), 42);
      const { stage, changesRead, lagMs, error } = job.status();
      assert.deepEqual([stage, changesRead, lagMs, error], ["following", 12, 0, null]);
      const { maxVersions, stream } = await to.describeTable("t");
      assert.deepEqual([maxVersions, stream], [4, null]);
    });
  }),
);

test(
  "a job that was stopped, or has died, goes on where it was",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    for (let at = 0; at < 1600; at += 200) {
      await from.batchWriteRow(Array.from({ length: 200 }, (_, i) => ({ tableName: "t", put: { primaryKey: { id: at + i }, attributes: { v: i } } })));
    }
    let writes = 0;
    const { way } = onWay(to, (call) => (call === "batchWriteRow" && ++writes === 5 ? "dead" : undefined));
    assert.equal((await refusal({ from, to: way })).code, "Closed");
    const before = (await dump(to, "t")).length;
    assert.ok(before > 0 && before < 3200, `${before} lines`);
    await put(from, 3, 33);
    const seen: number[] = [];
    await during({ from, to, onProgress: ({ rowsCopied }) => void seen.push(rowsCopied) }, async (job) => {
      await job.ready;
      assert.ok(seen[0] >= 500, "it does not begin anew");
      assert.equal(job.status().rowsCopied, 1600);
      await assertSame(from, to);
    });
    await from.deleteRow({ tableName: "t", primaryKey: { id: 7 } });
    await during({ from, to }, async (job) => {
      await job.ready;
      assert.deepEqual([job.status().rowsCopied, job.status().changesRead, job.status().rowsWritten], [1600, 1, 1]);
      await assertSame(from, to);
    });
  }),
);

test(
  "both ways: each side gets the changes of the other, and none comes back",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    await create(to);
    await put(from, 1, 1, 10);
    await put(to, 1, 2, 10);
    await put(to, 2, 2, 20);
    await during({ from, to, direction: "both" }, async (job) => {
      await job.ready;
      await assertSame(from, to);
      assert.deepEqual((await from.getRow({ tableName: "t", primaryKey: { id: 1 } })).row?.toObject(), { id: 1, v: 2 }, "the larger value of one version");
      await put(from, 3);
      await put(to, 4);
      await to.deleteRow({ tableName: "t", primaryKey: { id: 2 } });
      await job.caughtUp();
      await assertSame(from, to);
      const { rowsWritten } = job.status();
      for (let i = 0; i < 3; i++) await job.caughtUp();
      assert.equal(job.status().rowsWritten, rowsWritten, "nothing comes back");
      const [{ streamId }] = await from.listStream({ tableName: "t" });
      assert.ok(streamId);
    });
    // Changes of both sides while no job runs.
    await put(from, 5, "x", 50);
    await put(to, 5, "y", 50);
    await from.deleteRow({ tableName: "t", primaryKey: { id: 3 } });
    await put(to, 3, "later", Date.now() + HOUR);
    await during({ from, to, direction: "both" }, async (job) => {
      await job.ready;
      await assertSame(from, to);
      assert.equal(job.status().conflicts, 2);
      assert.equal((await from.getRow({ tableName: "t", primaryKey: { id: 5 } })).row?.get("v"), "y");
      assert.equal((await from.getRow({ tableName: "t", primaryKey: { id: 3 } })).row?.get("v"), "later");
    });
  }),
);

for (const which of ["from", "to"] as const) {
  test(
    `a full disk of the side '${which}' is waited for and told, and loses nothing`,
    { skip },
    onTwo(async (from, to) => {
      await create(from);
      await create(to);
      const { TabStoreError: Failure } = await load();
      let isFull = false;
      const full = (db: Database): Database =>
        new Proxy(db, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== "function") return value;
            const call = value.bind(target) as (...args: unknown[]) => unknown;
            if (name !== "batchWriteRow" && name !== "updateRow") return call;
            const refused = { code: "QuotaExceeded", status: 507, retryable: false, message: "The origin is full." };
            // A batch tells it by the row.
            if (name === "batchWriteRow")
              return (...args: unknown[]) =>
                isFull ? Promise.resolve((args[0] as unknown[]).map(() => ({ ok: false, error: new Failure(refused) }))) : call(...args);
            return (...args: unknown[]) => (isFull ? Promise.reject(new Failure(refused)) : call(...args));
          },
        });
      const sides = which === "from" ? { from: full(from), to } : { from, to: full(to) };
      await during({ ...sides, direction: "both" }, async (job) => {
        await job.ready;
        isFull = true;
        for (let id = 0; id < 20; id++) await put(id % 2 === 0 ? from : to, id);
        await to.putRow({ tableName: "t", primaryKey: { id: 77 } });
        const waits = new Promise<SyncStageEvent>((resolve) => job.addEventListener("stage", (event) => event.stage === "waiting" && resolve(event)));
        const caught = job.caughtUp();
        assert.equal(((await waits).error as TabStoreError).code, "QuotaExceeded");
        assert.equal(job.status().stage, "waiting");
        isFull = false;
        await caught;
        await job.caughtUp();
        assert.ok(job.status().retries > 0);
        assert.equal(job.status().error, null);
        assert.equal(await assertSame(from, to), 41);
      });
    }),
  );
}

test(
  "ST3: when changes have expired that were not carried over, the table is copied again, and says so",
  { skip },
  onTwo(async (from, to) => {
    await create(from, { stream: { enabled: true, expirationHours: 1 } });
    for (let id = 0; id < 10; id++) await put(from, id);
    await during({ from, to }, (job) => job.ready);
    await put(from, 3, 33);
    await from.deleteRow({ tableName: "t", primaryKey: { id: 4 } });
    for (const hours of [3, 6, 9]) {
      await from.setClock(START + hours * HOUR);
      await put(from, 5, hours);
    }
    const stages: string[] = [];
    await during({ from, to, clock: () => START }, async (job) => {
      job.addEventListener("stage", ({ stage, error }) => stages.push(`${stage} ${(error as TabStoreError | null)?.code ?? ""}`.trim()));
      await job.ready;
      await assertSame(from, to);
    });
    assert.deepEqual(stages, ["preparing", "following", "recopying OTSTrimmedDataAccess", "recopying", "following", "stopped"]);
    assert.equal((await to.getRow({ tableName: "t", primaryKey: { id: 4 } })).row, null);
  }, clock()),
);

test(
  "ST2: changes are followed over cuts of partitions, on both sides",
  { skip },
  onTwo(
    async (from, to) => {
      await create(from);
      await during({ from, to, direction: "both" }, async (job) => {
        await job.ready;
        await cut(from, 3);
        await job.caughtUp();
        const [{ streamId }] = await to.listStream({ tableName: "t" });
        await cut(to, 2);
        await job.caughtUp();
        await job.caughtUp();
        assert.ok((await to.describeStream({ streamId })).shards.length > 1, "there are several shards");
        await assertSame(from, to);
      });
    },
    { partitions: { splitBytes: 20_000, mergeBytes: 0 } },
  ),
);

test(
  "V6: a version that the table's window refuses is waited for, skipped, or let in",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    await create(to, { maxVersionOffset: 3600 });
    // The clock of the source is ahead.
    await put(from, 1, "soon", START + 2 * HOUR);
    await put(from, 2, "now", START);
    await during({ from, to, clock: () => START }, async (job) => {
      const waits = new Promise<SyncStageEvent>((resolve) => job.addEventListener("stage", (event) => event.stage === "waiting" && resolve(event)));
      const { error } = await waits;
      assert.match(String(error), /Invalid timestamp\. Cell:v\..*maxVersionOffset/);
      await to.setClock(START + 2 * HOUR);
      await job.ready;
      await assertSame(from, to);
    });
    await put(from, 1, "old", 5000);
    const lost: SyncLossEvent[] = [];
    await during({ from, to, outsideWindow: "skip", clock: () => START }, async (job) => {
      job.addEventListener("notKept", (event) => lost.push(event));
      await job.ready;
      assert.equal(job.status().notKept.maxVersionOffset, 1);
      assert.equal((await to.getRow({ tableName: "t", primaryKey: { id: 1 } })).row?.get("v"), "soon");
    });
    assert.deepEqual(
      lost.map(({ reason, primaryKey, column, version }) => [reason, primaryKey, column, version]),
      [["maxVersionOffset", { id: 1 }, "v", 5000]],
    );
    await put(from, 1, "older", 4000);
    await during({ from, to, outsideWindow: "raise", clock: () => START }, async (job) => {
      await job.ready;
      await assertSame(from, to);
    });
  }, clock()),
);

test(
  "V2, V4: versions beyond those that the target keeps, and expired ones, are told",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    await to.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 1, timeToLive: 86_400, maxVersionOffset: ANY_OFFSET });
    for (const version of [1, 2, 3]) await put(from, 1, version, START + version);
    await put(from, 2, "old", START - 48 * HOUR);
    await during({ from, to, clock: () => START }, async (job) => {
      await job.ready;
      assert.deepEqual(job.status().notKept, { maxVersions: 2, timeToLive: 1, maxVersionOffset: 0 });
      assert.deepEqual(await dump(to, "t"), ['["i1"]', `["i1"] v@${START + 3} INTEGER 3`]);
    });
  }, clock()),
);

test(
  "what cannot be copied is refused by name",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    const refused = async (expected: string, message: RegExp, options: object = {}): Promise<void> =>
      void code(expected, message)(await refusal({ from, to, ...options }));
    await refused("OTSObjectNotExist", /does not exist/, { tableName: "none" });
    await to.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
    await refused("OTSObjectAlreadyExist", /primary key is \(id STRING\), not \(id INTEGER\)/);
    await to.deleteTable("t");
    await to.createTable({ tableName: "t", primaryKey: KEY, definedColumns: [{ name: "v", type: "STRING" }] });
    await refused("OTSObjectAlreadyExist", /defines the column 'v' as STRING/);
    await to.createIndex({ tableName: "t", index: { indexName: "by_v", primaryKey: ["v"] } });
    await refused("OTSParameterInvalid", /cannot be copied into: it has the index 'by_v'/);
    await refused("OTSParameterInvalid", /cannot be copied from: it is an index of the table 't'/, { from: to, to: from, tableName: "by_v" });
    await to.dropIndex({ tableName: "t", indexName: "by_v" });
    await to.deleteTable("t");
    await create(to, { maxVersions: 1 });
    await refused("OTSObjectAlreadyExist", /maxVersions is 1, not 3/, { direction: "both" });
    await put(to, 9);
    await refused("OTSObjectAlreadyExist", /has rows that do not come from the table of 'demo'/);
    await during({ from, to, replace: true }, (job) => job.ready);
    assert.deepEqual(await dump(to, "t"), []);
    const keys = [
      { name: "id", type: "INTEGER" as const },
      { name: "n", type: "INTEGER" as const, autoIncrement: true },
    ];
    for (const db of [from, to]) await db.createTable({ tableName: "given", primaryKey: keys });
    await refused("OTSParameterInvalid", /cannot be copied into: the store gives its rows their 'n'/, { tableName: "given" });
    await refused("OTSParameterInvalid", /cannot be copied both ways: the store gives its rows their 'n'/, { tableName: "given", direction: "both" });
    await to.deleteTable("given");
    const { AUTO_INCREMENT } = await load();
    await from.putRow({ tableName: "given", primaryKey: { id: 1, n: AUTO_INCREMENT }, attributes: { v: 1 } });
    await during({ from, to, tableName: "given" }, async (job) => {
      await job.ready;
      assert.equal(await assertSame(from, to, "given"), 2);
    });
  }),
);

test(
  "wrong arguments are refused by name",
  { skip },
  onTwo(async (from, to) => {
    const wrong = (options: object, message: RegExp): void =>
      assert.throws(() => syncTable({ from, to, tableName: "t", ...options } as never), code("OTSParameterInvalid", message));
    wrong({ form: 1 }, /Unknown argument 'form'/);
    wrong({ to: {} }, /'to' is an object; it must be an open Database/);
    wrong({ to: from }, /'to'.*another database/);
    wrong({ tableName: 7 }, /'tableName'/);
    wrong({ tableName: "account/table" }, /'tableName'.*tabstore\/azure/);
    wrong({ direction: "from" }, /'direction' is 'from'; it must be 'to' or 'both'/);
    wrong({ outsideWindow: "drop" }, /'outsideWindow'/);
    wrong({ name: 1 }, /'name'/);
    wrong({ replace: "yes" }, /'replace'/);
    wrong({ clock: 5 }, /'clock'/);
    wrong({ onProgress: 5 }, /'onProgress'/);
    wrong({ signal: {} }, /'signal'/);
    wrong({ retry: { minDelay: -1 } }, /'retry.minDelay' is -1; it must be an integer of at least 0/);
    wrong({ retry: { most: 1 } }, /Unknown argument 'most' in 'retry'/);
    assert.throws(() => syncTable({ to, tableName: "t" } as never), /'from' is undefined; it must be an open Database/);
  }),
);

test(
  "jobs of one name take turns, and one that was overtaken is refused its place",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    const first = syncTable({ from, to, tableName: "t", retry: FAST });
    await first.ready;
    const second = syncTable({ from, to, tableName: "t", retry: FAST });
    await put(from, 1);
    await first.caughtUp();
    assert.equal(second.status().stage, "queued");
    await first.stop();
    assert.equal(first.status().stage, "stopped");
    await assert.rejects(first.caughtUp(), code("Closed", /stopped/));
    await second.ready;
    // A job holds up no other work that takes turns on the instance.
    await to.importInstance(await from.exportInstance({ tables: ["t"] }), { existing: "merge" });
    // Another program that has the same stores, where no lock is shared.
    const { way } = onWay(to, () => undefined);
    const third = syncTable({ from, to: way, tableName: "t", retry: FAST });
    await third.ready;
    await put(from, 2);
    await assert.rejects(second.done, code("OTSSequenceNumberNotMatch", /'demo\/t' is refused/));
    await third.caughtUp();
    await assertSame(from, to);
    await third.stop();
  }),
);

test(
  "a signal ends a job, also one that waits for its turn or for changes",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    await assert.rejects(syncTable({ from, to, tableName: "t", signal: AbortSignal.abort("at once") }).ready, (reason) => reason === "at once");
    const control = new AbortController();
    const { signal } = control;
    const job = syncTable({ from, to, tableName: "t", signal });
    await job.ready;
    const queued = syncTable({ from, to, tableName: "t", signal });
    control.abort("enough");
    await Promise.all([job.done, queued.done]);
    await assert.rejects(queued.ready, (reason) => reason === "enough");
    assert.deepEqual([job.status().stage, queued.status().stage], ["stopped", "stopped"]);
    // The turn is free.
    await during({ from, to }, (next) => next.ready);
    const failing = syncTable({
      from,
      to,
      tableName: "t",
      onProgress: () => {
        throw new Error("mine");
      },
    });
    await assert.rejects(failing.done, /mine/);
  }),
);

test(
  "a row beyond what one call takes is copied in pieces",
  { skip },
  onTwo(async (from, to) => {
    await create(from, { maxVersions: 1500 });
    for (let at = 0; at < 1500; at += 750) {
      await from.updateRow({ tableName: "t", primaryKey: { id: 1 }, put: { v: Array.from({ length: 750 }, (_, i) => ({ value: at + i, version: at + i })) } });
    }
    for (const name of ["a", "b", "c"])
      await from.updateRow({ tableName: "t", primaryKey: { id: 1 }, put: { [name]: [{ value: "x".repeat(1_900_000), version: 1 }] } });
    await during({ from, to }, async (job) => {
      await job.ready;
      const { row } = await to.getRow({ tableName: "t", primaryKey: { id: 1 }, maxVersions: ALL });
      assert.equal(row?.columns.v?.length, 1500);
      await assertSame(from, to);
    });
  }),
);

test(
  "tables that take no updates are copied by whole rows",
  { skip },
  onTwo(async (from, to) => {
    for (const db of [from, to]) await create(db, { allowUpdate: false });
    const row = (db: Database, id: number, cells: object): Promise<unknown> => db.putRow({ tableName: "t", primaryKey: { id }, attributes: cells as never });
    await row(from, 1, {
      v: [
        { value: 1, version: 1 },
        { value: 2, version: 2 },
      ],
    });
    await row(to, 1, { w: [{ value: 3, version: 3 }] });
    await during({ from, to, direction: "both" }, async (job) => {
      await job.ready;
      assert.equal(await assertSame(from, to), 4);
      await row(to, 1, { v: [{ value: 9, version: 9 }] });
      await row(from, 2, {});
      await job.caughtUp();
      await job.caughtUp();
      assert.equal(await assertSame(from, to), 3);
    });
  }),
);

test(
  "the built entry copies both ways",
  { skip },
  onTwo(async (from, to) => {
    const built = (await import(pathToFileURL(path.resolve("dist/sync.js")).href)) as typeof import("../src/sync/index.js");
    await create(from);
    const job = built.syncTable({ from, to, tableName: "t", direction: "both" });
    await job.ready;
    await put(from, 1, 2.5);
    await put(to, 2);
    await job.caughtUp();
    await job.stop();
    assert.equal(await assertSame(from, to), 4);
  }),
);

test("a change of a Double without a fraction says its type", { skip }, async () => {
  const { double } = await load();
  const db = await open();
  await create(db, { stream: { enabled: true, expirationHours: 1 } });
  await db.putRow({
    tableName: "t",
    primaryKey: { id: 1 },
    attributes: { a: [{ value: double(2), version: 1 }], b: [{ value: 2, version: 1 }], c: [{ value: 2.5, version: 1 }] },
  });
  for await (const { cells } of db.changes({ tableName: "t", once: true })) {
    assert.deepEqual(cells, [
      { op: "PUT", name: "a", version: 1, value: 2, type: "DOUBLE" },
      { op: "PUT", name: "b", version: 1, value: 2 },
      { op: "PUT", name: "c", version: 1, value: 2.5 },
    ]);
  }
  await db.close();
});

test(
  "calls that fail before and after they are done lose nothing while a table is copied",
  { skip },
  onTwo(async (from, to) => {
    await create(from);
    for (let id = 0; id < 700; id++) await put(from, id, id, id);
    const dice = random(3);
    const fault = (): Fault | undefined => (dice(25) === 0 ? "before" : dice(25) === 0 ? "after" : undefined);
    await during({ from: onWay(from, fault).way, to: onWay(to, fault).way, direction: "both" }, async (job) => {
      await job.ready;
      assert.ok(job.status().retries > 3);
      assert.equal(await assertSame(from, to), 1400);
    });
  }),
);
