/** Copies of many rows, and into files. The full tier copies a hundred thousand rows. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { KEY } from "./support/consumer.js";
import { isFull, load, skip, times } from "./support/package.js";
import { ALL, ANY_OFFSET, assertSame, during, onTwo, onWay } from "./support/sync.js";

const ROWS = times(100_000, 2000);

/** Fills a table with rows of two versions. */
async function fill(db: Database, rows: number): Promise<void> {
  await db.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 2, maxVersionOffset: ANY_OFFSET });
  const writer = db.writer("t");
  for (let id = 0; id < rows; id++) {
    const cells = (name: string) => [2, 1].map((version) => ({ value: `${name} ${id} of ${version}`, version }));
    await writer.put({ primaryKey: { id }, attributes: { a: cells("a"), b: cells("b"), n: [{ value: id, version: 1 }] } });
  }
  await writer.close();
}

test(
  "many rows are copied with their versions, though the job dies in between, while others are written",
  { skip },
  onTwo(async (from, to) => {
    await fill(from, ROWS);
    let writes = 0;
    const { way } = onWay(to, (call) => (call === "batchWriteRow" && ++writes === Math.floor(ROWS / 400) ? "dead" : undefined));
    const begin = performance.now();
    await during({ from, to: way }, async (job) => {
      for (let id = 0; job.status().stage !== "failed"; id += 7)
        await from.updateRow({ tableName: "t", primaryKey: { id: id % ROWS }, put: { n: [{ value: -id, version: 3 }] } });
      await assert.rejects(job.done);
    });
    await during({ from, to }, async (job) => {
      for (let id = 0; id < 200; id++) await from.deleteRow({ tableName: "t", primaryKey: { id: id * 5 } });
      await job.ready;
      await job.caughtUp();
      assert.equal(job.status().rowsCopied <= ROWS, true);
    });
    if (isFull) console.log(`${ROWS} rows were copied in ${Math.round(performance.now() - begin)} ms`);
    const counts = await Promise.all([from, to].map((db) => db.count({ tableName: "t" })));
    assert.deepEqual(
      counts.map(({ count }) => count),
      [ROWS - 200, ROWS - 200],
    );
    await assertSame(from, to);
  }),
);

test("a copy in files goes on after both were opened again", { skip }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-sync-"));
  const { open } = await load();
  const both = (): Promise<[Database, Database]> =>
    Promise.all([open("source", { storage: "files", path: path.join(folder, "a") }), open("copy", { storage: "files", path: path.join(folder, "b") })]);
  try {
    let [from, to] = await both();
    await fill(from, 20);
    await during({ from, to, direction: "both" }, (job) => job.ready);
    await from.updateRow({ tableName: "t", primaryKey: { id: 1 }, put: { a: [{ value: 1, version: 5 }] } });
    await to.deleteRow({ tableName: "t", primaryKey: { id: 2 } });
    await Promise.all([from.close(), to.close()]);
    [from, to] = await both();
    await during({ from, to, direction: "both" }, async (job) => {
      await job.ready;
      const { rowsCopied, changesRead } = job.status();
      assert.deepEqual([rowsCopied, changesRead], [20, 2], "it has not begun anew");
    });
    await assertSame(from, to);
    assert.equal((await from.getRow({ tableName: "t", primaryKey: { id: 2 }, maxVersions: ALL })).row, null);
    await Promise.all([from.close(), to.close()]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
