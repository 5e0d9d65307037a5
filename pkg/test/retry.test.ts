/** Which calls are tried again, when that ends, and in which order they take effect. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { local, TabStoreError, toError } from "../src/types/errors.js";
import { WriterError } from "../src/types/writer-error.js";
import { BackOff } from "../src/client/retry.js";
import { AUTO_INCREMENT } from "../src/types/values.js";
import { FakeEngine, type Request } from "./support/engine.js";
import { random } from "./support/package.js";

const FAST = { attempts: 5, minDelay: 4, maxDelay: 8 };
const BUSY = ["OTSRowOperationConflict", "Data is being modified by the other request."] as const;

function open(retry: Parameters<typeof BackOff.from>[0] = FAST, auto = true): { db: OpenDatabase; engine: FakeEngine; client: Client } {
  const client = new Client(35, false, BackOff.from(retry));
  const engine = new FakeEngine(client.receive, auto);
  client.attach(engine);
  return { db: new OpenDatabase("demo", "memory", client), engine, client };
}

const put = (id: number, n = id) => ({ tableName: "t", primaryKey: { id }, attributes: { n } });
const idOf = (row: Request["rows"][number]): number => Number((row.key.id as { INTEGER: bigint }).INTEGER);
const stored = (engine: FakeEngine, id: number): number | undefined => {
  const row = [...engine.store.values()].find((one) => idOf(one) === id);
  return row && Number((row.cells[0][2] as { INTEGER: bigint }).INTEGER);
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A call that has been refused once by an engine that answers by itself from then on. */
async function refused<T>(engine: FakeEngine, call: () => Promise<T>): Promise<{ call: Promise<T> }> {
  engine.auto = false;
  const made = call();
  made.catch(() => {});
  await Promise.resolve();
  engine.answer();
  engine.auto = true;
  // In an object: a promise that is returned would be awaited.
  return { call: made };
}

/** Refuses the first `times` requests for a row. */
function refusing(engine: FakeEngine, id: number, times: number, error: readonly [string, string] = BUSY): () => number {
  let count = 0;
  engine.refuse = (row, { table }) => (table === "t" && idOf(row) === id && count++ < times ? error : undefined);
  return () => count;
}

for (const error of [
  BUSY,
  ["OTSCapacityUnitExhausted", "Capacity unit is not enough."],
  ["OTSSessionBusy", "Session is busy."],
  ["OTSServerBusy", "Server is busy."],
  ["OTSQuotaExhausted", "Too frequent table operations."],
] as const) {
  test(`C5: a call refused with ${error[0]} is made again by itself`, async () => {
    const { db, engine } = open();
    const asked = refusing(engine, 1, 3, error);
    assert.deepEqual((await db.putRow(put(1))).consumed, { read: 0, write: 1 });
    assert.equal(asked(), 4);
    assert.equal(stored(engine, 1), 1);
    assert.equal(new Set(engine.frames.flat().map(({ id }) => id)).size, 1);
  });
}

test("what cannot succeed later is not made again, nor anything with retry: false", async () => {
  const { db, engine } = open();
  for (const error of [
    ["OTSConditionCheckFail", "no"],
    ["OTSQuotaExhausted", "Number of tables exceeds the quota:64."],
    ["OTSInternalServerError", "?"],
    ["Busy", "another tab"],
  ] as const) {
    const asked = refusing(engine, 1, 100, error);
    await assert.rejects(db.putRow(put(1)), (thrown) => (thrown as TabStoreError).code === error[0]);
    assert.equal(asked(), 1);
  }
  const off = open(false);
  const asked = refusing(off.engine, 1, 100);
  await assert.rejects(off.db.putRow(put(1)), /modified by the other request/);
  assert.deepEqual(
    (
      await off.db.batchWriteRow([
        { tableName: "t", put: put1(1) },
        { tableName: "t", put: put1(2) },
      ])
    ).map(({ ok }) => ok),
    [false, true],
  );
  assert.equal(asked(), 2);
});

const put1 = (id: number) => ({ primaryKey: { id }, attributes: { n: id } });

test("after the last try a call rejects with the last error", async () => {
  const { db, engine } = open();
  const asked = refusing(engine, 1, 100);
  await assert.rejects(db.putRow(put(1)), (error) => error instanceof TabStoreError && error.code === BUSY[0] && error.retryable && error.requestId === "z-1");
  assert.equal(asked(), 5);
});

test("waits double, up to the longest, each shortened by a random part of up to a half", () => {
  const backOff = BackOff.from(undefined);
  const error = toError({ code: BUSY[0], status: 409, retryable: true, message: BUSY[1] });
  const spans = [25, 50, 100, 200, 400, 800, 1000, 1000, 1000];
  for (let round = 0; round < 50; round++) {
    spans.forEach((most, i) => {
      const delay = backOff.delay(error, i + 1)!;
      assert.ok(delay >= most / 2 && delay <= most, `${delay} of ${most}`);
    });
  }
  assert.equal(backOff.delay(error, 10), undefined);
  assert.equal(BackOff.from({ attempts: 5000, minDelay: 0 }).delay(error, 2000), 0);
  assert.equal(backOff.delay(local("Busy", "x"), 1), undefined);
});

test("the option 'retry' is checked by name", () => {
  for (const [option, message] of [
    [5, /'retry' is a number/],
    [true, /'retry' is a boolean/],
    [{ tries: 3 }, /Unknown argument 'tries' in 'retry'/],
    [{ attempts: 0 }, /'retry.attempts' is 0/],
    [{ minDelay: -1 }, /'retry.minDelay' is -1/],
    [{ maxDelay: "1s" }, /'retry.maxDelay' is '1s'/],
    [{ attempts: NaN }, /'retry.attempts' is NaN/],
  ] as const) {
    assert.throws(
      () => BackOff.from(option as never),
      (error) => error instanceof TabStoreError && message.test(error.message),
      String(message),
    );
  }
});

test("arguments are read when the call is made, not when it is made again", async () => {
  const { db, engine } = open();
  refusing(engine, 1, 2);
  const request = put(1, 7);
  const call = db.putRow(request);
  request.primaryKey.id = 2;
  request.attributes.n = 8;
  await call;
  assert.deepEqual([stored(engine, 1), stored(engine, 2)], [7, undefined]);
});

test("later calls on the row wait behind a call that is made again; others do not", async () => {
  const { db, engine } = open();
  refusing(engine, 1, 2);
  const { call: first } = await refused(engine, () => db.putRow(put(1, 10)));
  const done: string[] = [];
  const note = (what: string) => () => void done.push(what);
  const calls = [
    first.then(note("first")),
    db.putRow(put(1, 11)).then(note("second")),
    db.getRow({ tableName: "t", primaryKey: { id: 1 } }).then(({ row }) => done.push(`read ${row?.get("n")}`)),
    db.putRow(put(1, 12)).then(note("third")),
    db.putRow(put(2)).then(note("other")),
    db.putRow({ ...put(1), tableName: "u" }).then(note("other table")),
  ];
  await Promise.all(calls);
  assert.deepEqual(done, ["other", "other table", "first", "second", "read 11", "third"]);
  assert.equal((await db.getRow({ tableName: "t", primaryKey: { id: 1 } })).row?.get("n"), 12);
});

test("calls on one row that are refused together take effect in call order", async () => {
  for (let round = 0; round < 10; round++) {
    const { db, engine } = open();
    let busy = true;
    setTimeout(() => (busy = false), 3 + round);
    engine.refuse = () => (busy ? BUSY : undefined);
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => db.putRow(put(i % 3, i))));
    assert.equal(results.length, 20);
    assert.deepEqual(
      [0, 1, 2].map((id) => stored(engine, id)),
      [18, 19, 17],
    );
  }
});

test("a call is given up when one that left after it, on the same row, has been answered first", async () => {
  const { db, engine } = open();
  let count = 0;
  engine.refuse = () => (count++ === 0 ? BUSY : undefined);
  const [first, second] = await Promise.allSettled([db.putRow(put(1, 10)), db.putRow(put(1, 11))]);
  assert.equal((first as PromiseRejectedResult).reason.code, BUSY[0]);
  assert.equal(second.status, "fulfilled");
  await pause(20);
  assert.deepEqual([stored(engine, 1), engine.frames.length], [11, 1]);
});

test("a read is not given up for another that has been answered first", async () => {
  const { db, engine } = open();
  let count = 0;
  engine.refuse = (_, { op }) => (op === 4 && count++ === 0 ? ["OTSCapacityUnitExhausted", "Capacity unit is not enough."] : undefined);
  await db.putRow(put(1, 10));
  const read = () => db.getRow({ tableName: "t", primaryKey: { id: 1 } });
  const rows = await Promise.all([read(), read()]);
  assert.deepEqual(
    rows.map(({ row }) => row?.get("n")),
    [10, 10],
  );
  assert.equal(count, 3);
});

test("a read that is refused at once is made again as it was, whatever was called meanwhile", async () => {
  const { db, engine } = open(FAST, false);
  engine.direct = true;
  const submit = engine.submit.bind(engine);
  engine.submit = (frame) => {
    submit(frame);
    engine.answer();
  };
  await Promise.all([db.putRow(put(1, 10)), db.putRow(put(2, 20))]);
  let count = 0;
  engine.refuse = (_, { op }) => (op === 4 && count++ === 0 ? ["OTSCapacityUnitExhausted", "Capacity unit is not enough."] : undefined);
  const read = (id: number) => db.getRow({ tableName: "t", primaryKey: { id } });
  const rows = await Promise.all([read(1), read(2), read(2)]);
  assert.deepEqual(
    rows.map(({ row }) => row?.get("n")),
    [10, 20, 20],
  );
  assert.equal(count, 4);
});

test("the same holds for one that leaves while the first is being refused, to an engine that answers at once", async () => {
  const { db, engine } = open(FAST, false);
  let count = 0;
  engine.refuse = () => (count++ === 0 ? BUSY : undefined);
  const first = db.putRow(put(1, 10));
  await Promise.resolve();
  const submit = engine.submit.bind(engine);
  engine.submit = (frame) => {
    submit(frame);
    engine.answer();
  };
  const second = db.putRow(put(1, 11));
  engine.answer();
  await Promise.all([assert.rejects(first, (error) => (error as TabStoreError).code === BUSY[0]), second]);
  await pause(20);
  assert.deepEqual([stored(engine, 1), count], [11, 2]);
});

test("calls that leave again together are rejected together when the engine dies of the first", async () => {
  const { db, engine } = open({ ...FAST, minDelay: 0 }, false);
  engine.refuse = () => BUSY;
  const calls = [];
  for (const id of [1, 2, 3]) {
    calls.push(db.putRow(put(id)));
    await Promise.resolve();
  }
  engine.submit = () => {
    throw local("OTSInternalServerError", "gone");
  };
  for (let i = 0; i < 3; i++) engine.answer();
  for (const call of calls) await assert.rejects(call, /gone/);
});

test("R2: only those rows of a batch that were refused are written again, as rows, and results stay in place", async () => {
  const { db, engine } = open();
  const tries = new Map<number, number>();
  engine.refuse = (row) => {
    const id = idOf(row);
    tries.set(id, (tries.get(id) ?? 0) + 1);
    if (id === 4) return "no fours";
    if (id === 9) return BUSY;
    return id % 2 === 1 && tries.get(id)! < 3 ? BUSY : undefined;
  };
  const results = await db.batchWriteRow(Array.from({ length: 10 }, (_, id) => ({ tableName: "t", put: put1(id) })));
  assert.deepEqual(
    results.map((result) => (result.ok ? result.consumed.write : result.error.code)),
    [1, 1, 1, 1, "OTSParameterInvalid", 1, 1, 1, 1, BUSY[0]],
  );
  assert.deepEqual([...tries.values()], [1, 3, 1, 3, 1, 3, 1, 3, 1, 5]);
  assert.deepEqual(
    engine.frames
      .slice(1)
      .flat()
      .map(({ op }) => op)
      .filter((op) => op !== 1),
    [],
  );
});

test("a row that occurs twice in a batch keeps its order, or is given up", async () => {
  const { db, engine } = open();
  const asked = refusing(engine, 1, 1);
  const [first, second] = await db.batchWriteRow([
    { tableName: "t", put: { primaryKey: { id: 1 }, attributes: { n: 1 } } },
    { tableName: "t", put: { primaryKey: { id: 1 }, attributes: { n: 2 } } },
  ]);
  assert.deepEqual([first.ok, second.ok, stored(engine, 1), asked()], [false, true, 2, 2]);
  const both = open();
  refusing(both.engine, 1, 2);
  const results = await both.db.batchWriteRow([
    { tableName: "t", put: { primaryKey: { id: 1 }, attributes: { n: 1 } } },
    { tableName: "t", put: { primaryKey: { id: 1 }, attributes: { n: 2 } } },
  ]);
  assert.deepEqual([results[0].ok, results[1].ok, stored(both.engine, 1)], [true, true, 2]);
});

test("a batch waits behind its rows", async () => {
  const { db, engine } = open();
  refusing(engine, 1, 2);
  const { call: first } = await refused(engine, () => db.putRow(put(1, 10)));
  await Promise.all([
    first,
    db.batchWriteRow([
      { tableName: "t", put: put1(2) },
      { tableName: "t", put: { primaryKey: { id: 1 }, attributes: { n: 11 } } },
    ]),
  ]);
  assert.deepEqual(engine.order, [
    '1:{"id":{"INTEGER":"1n"}}',
    '1:{"id":{"INTEGER":"1n"}}',
    '1:{"id":{"INTEGER":"1n"}}',
    '7:{"id":{"INTEGER":"2n"}},{"id":{"INTEGER":"1n"}}',
  ]);
});

test("rows of a writer are written again, and counted once", async () => {
  const { db, engine } = open();
  const tries = new Map<number, number>();
  engine.refuse = (row) => {
    const id = idOf(row);
    tries.set(id, (tries.get(id) ?? 0) + 1);
    return id % 7 === 0 && tries.get(id)! < 3 ? BUSY : undefined;
  };
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) await writer.put(put1(id));
  const { rows, consumed } = await writer.close();
  assert.deepEqual([rows, consumed.write, engine.store.size], [1000, 1000, 1000]);
});

test("rows whose keys the store gives are nobody else's: none of them is given up for another", async () => {
  const { db, engine } = open();
  let count = 0;
  engine.refuse = () => (count++ === 0 ? BUSY : undefined);
  const request = { tableName: "t", primaryKey: { id: AUTO_INCREMENT } };
  await Promise.all([db.putRow(request), db.putRow(request)]);
  assert.equal(engine.frames.flat().length, 3);
});

test("a signal ends the tries at once, and the call never leaves again", async () => {
  const { db, engine } = open({ attempts: 10, minDelay: 20, maxDelay: 40 });
  const asked = refusing(engine, 1, 1);
  const control = new AbortController();
  const { call } = await refused(engine, () => db.putRow({ ...put(1), signal: control.signal }));
  const behind = db.putRow({ ...put(1, 5), signal: control.signal });
  const last = db.putRow(put(1, 6));
  control.abort(new Error("enough"));
  await Promise.all([assert.rejects(call, /enough/), assert.rejects(behind, /enough/)]);
  await last;
  await pause(50);
  assert.deepEqual([asked(), stored(engine, 1), engine.frames.length], [2, 6, 2]);
});

test("close waits for what is made again, and an engine that dies rejects it", async () => {
  const { db, engine } = open();
  refusing(engine, 1, 2);
  const { call } = await refused(engine, () => db.putRow(put(1)));
  await db.close();
  assert.equal((await call).consumed.write, 1);
  assert.equal(engine.closed, true);
  const dying = open();
  refusing(dying.engine, 1, 100);
  const { call: lost } = await refused(dying.engine, () => dying.db.putRow(put(1)));
  dying.client.fail(local("OTSInternalServerError", "gone"));
  await assert.rejects(lost, /gone/);
});

test("operations on tables that are too frequent are made again, in call order, without a later one before them", async () => {
  const { db, engine } = open();
  let left = 3;
  engine.admin = () => {
    if (left-- > 0) throw { code: "OTSQuotaExhausted", status: 403, retryable: true, message: "Too frequent table operations." };
    return [];
  };
  const done: string[] = [];
  const create = (tableName: string) => db.createTable({ tableName, primaryKey: [{ name: "id", type: "STRING" }] }).then(() => done.push(tableName));
  const calls = [create("a"), create("b")];
  await pause(1);
  calls.push(
    create("c"),
    db.deleteTable("a").then(() => done.push("gone")),
  );
  await Promise.all(calls);
  assert.deepEqual(done, ["a", "b", "c", "gone"]);
  left = 100;
  await assert.rejects(db.listTable(), /Too frequent/);
  const control = new AbortController();
  left = 100;
  const given = db.deleteTable({ tableName: "a", signal: control.signal });
  control.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
});

/** A random life of some rows: calls, batches and a writer, some given up, on an engine that refuses at random. */
async function life(seed: number): Promise<void> {
  const below = random(seed);
  const { db, engine } = open({ attempts: 2 + below(5), minDelay: below(4), maxDelay: 6 }, false);
  const refusals = below(8);
  const applied: [id: number, n: number][] = [];
  engine.refuse = (row, { op }) => {
    if (below(10) < refusals) return below(6) === 0 ? "no" : BUSY;
    if (op !== 4) applied.push([idOf(row), Number((row.cells[0][2] as { INTEGER: bigint }).INTEGER)]);
    return undefined;
  };
  const answering = setInterval(() => {
    for (let times = below(4); times > 0; times--) engine.answer();
  }, 1);
  const done = new Set<number>();
  const failed = new Set<number>();
  const lost = new Set<number>();
  const calls: Promise<unknown>[] = [];
  let n = 0;
  const one = (): { primaryKey: { id: number }; attributes: { n: number } } => ({ primaryKey: { id: below(4) }, attributes: { n: ++n } });
  const writer = db.writer("t");
  const written: number[] = [];
  for (let step = 0; step < 60; step++) {
    const kind = below(10);
    if (kind < 6) {
      const row = one();
      const mine = row.attributes.n;
      const control = below(8) === 0 ? new AbortController() : undefined;
      calls.push(
        db.putRow({ tableName: "t", ...row, signal: control?.signal }).then(
          () => done.add(mine),
          (error) => (error instanceof TabStoreError ? failed : lost).add(mine),
        ),
      );
      if (control) setTimeout(() => control.abort(new Error("enough")), below(10));
    } else if (kind < 8) {
      const rows = Array.from({ length: 1 + below(6) }, one);
      const first = n - rows.length + 1;
      calls.push(
        db
          .batchWriteRow(rows.map((row) => ({ tableName: "t", put: row })))
          .then((results) => results.forEach(({ ok }, i) => (ok ? done : failed).add(first + i))),
      );
    } else if (kind < 9) {
      writer.put(one());
      written.push(n);
    } else {
      calls.push(db.getRow({ tableName: "t", primaryKey: { id: below(4) } }).catch(() => {}));
    }
    if (below(3) === 0) await pause(below(4));
  }
  calls.push(
    writer.close().catch((error: unknown) => {
      assert.ok(error instanceof WriterError);
      for (const { index } of error.failures) failed.add(written[index]);
    }),
  );
  try {
    await Promise.all(calls);
    await db.close();
  } finally {
    clearInterval(answering);
  }
  for (const number of written) if (!failed.has(number)) done.add(number);
  const what = `seed ${seed}`;
  for (let id = 0; id < 4; id++) {
    const order = applied.filter(([row]) => row === id).map(([, number]) => number);
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
      `${what}: row ${id} out of call order`,
    );
  }
  const numbers = applied.map(([, number]) => number);
  assert.equal(new Set(numbers).size, numbers.length, `${what}: a call took effect twice`);
  assert.deepEqual(
    numbers.filter((number) => failed.has(number)),
    [],
    `${what}: a call took effect and failed`,
  );
  assert.deepEqual(
    [...done].filter((number) => !numbers.includes(number)),
    [],
    `${what}: a call succeeded without effect`,
  );
  assert.equal(done.size + failed.size + lost.size, n, what);
}

test("in random lives no call overtakes another on its row, none takes effect twice, and none fails that did", async () => {
  const seeds = process.env.TABSTORE_RETRY_SEED === undefined ? Array.from({ length: 60 }, (_, i) => i) : [Number(process.env.TABSTORE_RETRY_SEED)];
  // Side by side: they mostly wait.
  await Promise.all(seeds.map(life));
});
