/** The space of an instance, as far as Node shows it. A browser's answers: tests/e2e. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { storage as storageOf } from "../src/open/storage.js";
import type { Metrics } from "../src/types/metrics.js";
import { code, open, skip } from "./support/package.js";

test("storage tells the stored data, and null for what the host does not tell", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const before = await db.storage();
  for (let id = 0; id < 500; id++)
    await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { s: Array.from({ length: 8 }, () => crypto.randomUUID()).join("") } });
  const logged = await db.storage();
  assert.ok(logged.live > before.live + 50_000, `${before.live} -> ${logged.live}`);
  await db.flush();
  const flushed = await db.storage();
  assert.ok(flushed.live > 50_000 && flushed.live < logged.live, `${logged.live} -> ${flushed.live}: the log is gone`);
  assert.ok(flushed.garbage < 100, "estimated");
  assert.deepEqual({ ...flushed, live: 0, garbage: 0 }, { live: 0, garbage: 0, reserve: 0, used: null, quota: null, persisted: null });
  await assert.rejects(db.persist(), code("Unavailable", /navigator\.storage\.persist/));
  await db.close();
  await assert.rejects(db.storage(), code("Closed"));
});

test("persist waits for the user, but not longer than its signal says", { skip }, async () => {
  const navigator = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const db = await open();
  try {
    let answer = (_: boolean): void => {};
    Object.defineProperty(globalThis, "navigator", {
      value: { storage: { persist: () => new Promise<boolean>((resolve) => (answer = resolve)) } },
      configurable: true,
    });
    const control = new AbortController();
    const given = assert.rejects(db.persist({ signal: control.signal }), /changed my mind/);
    const waits = db.persist();
    await new Promise((resolve) => setTimeout(resolve, 20));
    control.abort(new Error("changed my mind"));
    await given;
    await assert.rejects(db.persist({ signal: control.signal }), /changed my mind/);
    answer(true);
    assert.equal(await waits, true);
    await assert.rejects(db.persist({ sginal: control.signal } as object), code("OTSParameterInvalid", /'sginal'/));
  } finally {
    if (navigator === undefined) Reflect.deleteProperty(globalThis, "navigator");
    else Object.defineProperty(globalThis, "navigator", navigator);
    await db.close();
  }
});

test("what nothing uses of a segment is garbage, and browsers that throw tell nothing", async () => {
  const navigator = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const metrics = { segments: { bytes: 75, garbage: 25 }, log: { bytes: 5 }, reserve: { bytes: 2 } } as unknown as Metrics;
  const expected = { live: 55, garbage: 25, reserve: 2, used: null, quota: null, persisted: null };
  const refuse = (): never => {
    throw new DOMException("sandboxed", "SecurityError");
  };
  const hosts: [unknown, object][] = [
    [{}, {}],
    [{ storage: { estimate: refuse, persisted: () => Promise.reject(new TypeError("no")) } }, {}],
    [{ storage: { estimate: async () => ({ usage: 7, quota: 9 }), persisted: async () => false } }, { used: 7, quota: 9, persisted: false }],
  ];
  try {
    for (const [value, more] of hosts) {
      Object.defineProperty(globalThis, "navigator", { value, configurable: true });
      assert.deepEqual(await storageOf(metrics), { ...expected, ...more });
    }
  } finally {
    if (navigator === undefined) Reflect.deleteProperty(globalThis, "navigator");
    else Object.defineProperty(globalThis, "navigator", navigator);
  }
});
