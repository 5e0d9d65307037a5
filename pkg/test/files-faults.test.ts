/** Storage in files whose file system fails: a full disk, short writes, and calls that fail once. Rows and their index rows stay as one. */

import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";

import type { Database } from "../src/index.js";
import { load, random, skip } from "./support/package.js";

const real = { ...fs };
/** What becomes of calls that change something below `folder`. */
const disk = { folder: "", calls: 0, isShort: false, fullFrom: Number.POSITIVE_INFINITY, failsAt: 0, isDone: false };
const ours = new Set<number>();
const fault = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

/** Does a call, unless it is to fail. */
function change<T>(isLonger: boolean, run: () => T, short: () => T = run): T {
  disk.calls += 1;
  if (disk.calls === disk.failsAt) {
    if (disk.isDone) run();
    throw fault("EIO");
  }
  if (!isLonger || disk.calls < disk.fullFrom) return run();
  // What still fits is written; the next call says that there is no more room.
  if (disk.isShort && short !== run) return short();
  throw fault("ENOSPC");
}

Object.assign(fs, {
  openSync(name: string, ...rest: [never]) {
    const fd = real.openSync(name, ...rest);
    if (disk.folder !== "" && String(name).startsWith(disk.folder)) ours.add(fd);
    return fd;
  },
  closeSync(fd: number) {
    ours.delete(fd);
    real.closeSync(fd);
  },
  writeSync(fd: number, bytes: Uint8Array, from: number, length: number, place: number) {
    const write = (count: number) => () => real.writeSync(fd, bytes, from, count, place);
    if (!ours.has(fd)) return write(length)();
    return change(place + length > real.fstatSync(fd).size, write(length), length > 1 ? write(length >> 1) : undefined);
  },
  ftruncateSync(fd: number, length: number) {
    if (!ours.has(fd)) return real.ftruncateSync(fd, length);
    change(length > real.fstatSync(fd).size, () => real.ftruncateSync(fd, length));
  },
  fdatasyncSync(fd: number) {
    if (!ours.has(fd)) return real.fdatasyncSync(fd);
    change(false, () => real.fdatasyncSync(fd));
  },
});
syncBuiltinESMExports();

/** What a row may be: its acknowledged value, and those of calls whose fate nobody knows. */
type Model = Map<number, Set<string | undefined>>;

/** An instance in a folder of its own. */
async function begin(t: TestContext): Promise<{ db: Database; again: () => Promise<Database> }> {
  const folder = real.realpathSync(real.mkdtempSync(path.join(os.tmpdir(), "tabstore-faults-")));
  t.after(() => real.rmSync(folder, { recursive: true, force: true }));
  Object.assign(disk, { folder, isShort: false, fullFrom: Number.POSITIVE_INFINITY, failsAt: 0 });
  const { open } = await load();
  const again = (): Promise<Database> => open("demo", { storage: "files", path: folder, memtableBytes: 20_000, cacheBytes: 50_000, reserveBytes: 30_000 });
  const db = await again();
  await db.createTable({
    tableName: "t",
    primaryKey: [{ name: "id", type: "INTEGER" }],
    definedColumns: [{ name: "s", type: "STRING" }],
    indexes: [{ indexName: "by", primaryKey: ["s"] }],
  });
  disk.calls = 0;
  return { db, again };
}

/** Writes some rows at once, again and again. Gives the codes of the calls that failed. */
async function work(db: Database, model: Model, below: (n: number) => number, steps: number): Promise<Set<string>> {
  const codes = new Set<string>();
  for (let step = 0; step < steps; step++) {
    const first = below(50);
    const value = `${step} `.padEnd(300, String(below(1000)));
    const write = async (ids: readonly number[], s: string | undefined, run: () => Promise<unknown>): Promise<void> => {
      try {
        await run();
        for (const id of ids) model.set(id, new Set([s]));
      } catch (error) {
        const { code } = error as { code: string };
        codes.add(code);
        // A refusal for want of room says that nothing is stored.
        if (code !== "QuotaExceeded") for (const id of ids) model.set(id, new Set([...(model.get(id) ?? [undefined]), s]));
      }
    };
    const put = (id: number) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { s: value } } });
    await Promise.all([
      write([first], value, () => db.putRow({ tableName: "t", ...put(first).put })),
      write([first + 1], value, () => db.updateRow({ tableName: "t", primaryKey: { id: first + 1 }, put: { s: value } })),
      write([first + 2, first + 3], value, () => db.atomic([put(first + 2), put(first + 3)])),
      write([first + 4], undefined, () => db.deleteRow({ tableName: "t", primaryKey: { id: first + 4 } })),
      ...(step % 6 === 5 ? [write([], undefined, () => db.flush())] : []),
    ]);
  }
  return codes;
}

/** The rows are what they may be, and so is the index. From now on they are known. */
async function check(db: Database, model: Model): Promise<void> {
  const read = async (tableName: string): Promise<[unknown, unknown][]> => {
    const rows: [number, unknown][] = [];
    for await (const row of db.scan({ tableName })) rows.push([Number(row.primaryKey.id), row.get("s")]);
    return rows.sort(([a], [b]) => a - b);
  };
  const rows = await read("t");
  assert.deepEqual(await read("by"), rows, "the index");
  const found = new Map(rows as [number, string][]);
  for (const [id, values] of model) assert.ok(values.has(found.get(id)), `row ${id} is ${found.get(id)?.slice(0, 9)}`);
  for (const id of found.keys()) assert.ok(model.has(id), `row ${id}`);
  for (const id of model.keys()) model.set(id, new Set([found.get(id)]));
}

for (const isShort of [false, true]) {
  test(`a disk that is full${isShort ? ", after a short write" : ""}: what was acknowledged stays, and with room all goes on`, { skip }, async (t) => {
    for (const fullFrom of [9, 40]) {
      const { db, again } = await begin(t);
      const [model, below]: [Model, (n: number) => number] = [new Map(), random(fullFrom)];
      Object.assign(disk, { fullFrom, isShort });
      assert.deepEqual([...(await work(db, model, below, 15))], ["QuotaExceeded"]);
      await check(db, model);
      disk.fullFrom = Number.POSITIVE_INFINITY;
      // The engine looks for room again by itself.
      for (let tries = 0; tries < 100; tries++) {
        if (!(await work(db, model, below, 1)).has("QuotaExceeded")) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.deepEqual([...(await work(db, model, below, 6))], []);
      await db.compact();
      await check(db, model);
      await db.close();
      const reopened = await again();
      await check(reopened, model);
      await reopened.close();
    }
  });
}

for (const isDone of [false, true]) {
  test(`a call of the file system that fails, ${isDone ? "although it was done" : "and was not done"}: nothing acknowledged is lost`, { skip }, async (t) => {
    for (const failsAt of [3, 12, 25]) {
      const { db, again } = await begin(t);
      const [model, below]: [Model, (n: number) => number] = [new Map(), random(failsAt)];
      Object.assign(disk, { failsAt, isDone });
      await work(db, model, below, 10);
      assert.ok(disk.calls >= failsAt, "the call was made");
      // The engine goes on, or has ended.
      await db.close().catch(() => {});
      const reopened = await again();
      await check(reopened, model);
      assert.deepEqual([...(await work(reopened, model, below, 6))], []);
      await check(reopened, model);
      await reopened.close();
    }
  });
}
