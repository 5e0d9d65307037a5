// Pages that go while transactions are on their way. A browser may keep one of these for ever, and then nobody writes any more.

import assert from "node:assert/strict";

import { load, openPage, reload, startBrowser } from "../support/browser.mjs";
import { singles, test, times } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const ROUNDS = times(20, 5);

/** Opens the instance, writes a row, and gives how many rows there are. Then it writes and reads blocks, without a pause. */
const work = async ({ worker, round }) => {
  const began = performance.now();
  // Hardly any block stays in memory.
  const db = await T.open("left", { worker, cacheBytes: 65_536, memtableBytes: 65_536 });
  if (!(await db.listTable()).includes("t"))
    await db.createTable({
      tableName: "t",
      primaryKey: [
        { name: "round", type: "INTEGER" },
        { name: "n", type: "INTEGER" },
      ],
    });
  await db.putRow({ tableName: "t", primaryKey: { round, n: -1 } });
  const took = performance.now() - began;
  const { count } = await db.count({ tableName: "t" });
  const attributes = { noise: H.noise(round, 2000) };
  let stored = 0;
  let n = 0;
  const write = async () => {
    for (;;) {
      await db.putRow({ tableName: "t", primaryKey: { round, n: n++ }, attributes });
      stored += 1;
    }
  };
  const read = async () => {
    for (;;) await db.getRow({ tableName: "t", primaryKey: { round: Math.floor(Math.random() * (round + 1)), n: Math.floor(Math.random() * 50) } });
  };
  for (const act of [write, write, write, read, read, read, read]) act().catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 50));
  return { took, count, stored };
};

for (const [how, worker] of singles(["goes elsewhere", "is reloaded"], [true, false])) {
  test(
    `leaving: ${ROUNDS} times a page ${how} in the middle of reads and writes, and the next one writes at once and loses nothing (${worker ? "worker" : "in the page"})`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      let [slowest, acknowledged] = [0, 0];
      for (let round = 0; round < ROUNDS; round++) {
        const { took, count, stored } = await page.evaluate(work, { worker, round });
        slowest = Math.max(slowest, took);
        assert.ok(count >= acknowledged, `${count} rows in round ${round}, ${acknowledged} acknowledged`);
        acknowledged += stored + 1;
        if (how === "is reloaded") await reload(page);
        else await load(page, server, `/?${round}`);
      }
      t.note(`${acknowledged} rows acknowledged; the slowest took ${slowest.toFixed(0)} ms to open and write`);
    },
    { seconds: 30 + 2 * ROUNDS, repeats: true },
  );
}
