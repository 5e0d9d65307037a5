// The whole browser, or a tab, is killed while it writes. Acknowledged writes are there afterwards, whole.

import assert from "node:assert/strict";

import { readFileSync } from "node:fs";
import path from "node:path";

import { operation, ROWS } from "../pages/ops.js";
import { BACKENDS, newProfile, openPage, startBare, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test, times } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const SEED = Number(process.env.E2E_SEED ?? Date.now() % 1_000_000);
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The possible contents of each row, from the reserved, acknowledged and seen operations. */
class Expectation {
  // By row: the newest operation that is known to have happened, -1 for none.
  newest = Array(ROWS).fill(-1);
  start = 0;
  reserved = 0;

  acknowledge(numbers) {
    for (const n of numbers) {
      const { row } = operation(n);
      this.newest[row] = Math.max(this.newest[row], n);
    }
  }

  /** The browser has thrown everything away: nothing is known any more. */
  forget() {
    this.newest.fill(-1);
    this.start = this.reserved;
  }

  /** Compares with what a reopened instance holds, which from now on counts as known. Gives what is wrong. */
  compare(found) {
    const stored = new Map(found);
    const wrong = [];
    const later = Array.from({ length: ROWS }, () => []);
    for (let n = this.start; n < this.reserved; n++) later[operation(n).row].push(n);
    for (let row = 0; row < ROWS; row++) {
      const known = this.newest[row];
      const allowed = [known, ...later[row].filter((n) => n > known)];
      const seen = stored.get(row);
      const absent = (n) => n === -1 || operation(n).kind === "delete";
      const happened = seen === undefined ? allowed.find(absent) : allowed.find((n) => n === seen && !absent(n));
      if (happened === undefined) wrong.push(`row ${row} has ${seen}; operation ${known} was acknowledged or seen`);
      else this.newest[row] = happened;
    }
    this.start = this.reserved;
    return wrong;
  }
}

/**
 * Chromium's LevelDB goes on with the log file of a killed browser. If that file ends in the middle of a record across
 * a border of 32 KB, the start after the next takes it for corrupt. Chromium then deletes all data of the origin, of
 * every program. It happens to about one in a hundred browsers that are killed while they write at full speed. A page
 * cannot prevent it, so such a round is reported, and not counted as a loss of ours. Everything else is one.
 */
class BrowserLog {
  constructor(profile) {
    this.file = path.join(profile, "stderr.txt");
    this.read = 0;
  }

  /** The browser's messages since the last time about a LevelDB that it cannot read. */
  damage() {
    const said = readFileSync(this.file, "utf8");
    const found = said.slice(this.read).match(/Failed to open LevelDB database from .*?(Corruption: [^\n]*)/)?.[1];
    this.read = said.length;
    return found;
  }
}

for (const [place, storage, backend] of [...BACKENDS.map((backend) => [backend, "indexeddb", backend]), ["files", "files", BACKENDS[0]]]) {
  const usual = place === "LevelDB" ? 5 : 3;
  const rounds = times(usual, engine.name === "Chromium" ? Math.ceil(usual / 2) : 1);
  test(
    `R4, Q: a browser killed while it writes loses nothing acknowledged and tears no row, ${rounds} times (${place})`,
    async (t) => {
      const server = await servePackage(t);
      const profile = newProfile(t);
      const expectation = new Expectation();
      // Each round has the other size of memtable: small and large transactions, small and large records.
      const total = { acknowledged: 0, rows: 0, lost: [], torn: [], failures: [], opened: 0, segments: 0, thrownAway: [] };
      const log = new BrowserLog(profile);
      let state = SEED;
      const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
      let found;
      let acknowledged;
      let inRound = 0;
      server.listen("/found", (body) => {
        total.opened += 1;
        total.rows += body.found.length;
        total.torn.push(...body.torn);
        total.segments = Math.max(total.segments, body.segments);
        const damage = log.damage();
        if (damage !== undefined && body.found.length === 0) {
          total.thrownAway.push(`${damage} (${body.told ?? "not told"})`);
          expectation.forget();
        }
        const lost = expectation.compare(body.found);
        if (lost.length > 0) total.lost.push(`databases ${body.databases}, tables ${body.tables}, ${body.found.length} rows`, ...lost.slice(0, 10));
        found();
        return { from: expectation.reserved };
      });
      server.listen("/reserve", ({ from }) => {
        expectation.reserved = from + 300;
        return { to: expectation.reserved };
      });
      server.listen("/acknowledged", ({ numbers }) => {
        total.acknowledged += numbers.length;
        expectation.acknowledge(numbers);
        if ((inRound += numbers.length) > 60) acknowledged();
      });
      server.listen("/failed", ({ text }) => {
        total.failures.push(text);
        found();
        acknowledged();
      });

      // One round more than kills: the last one only looks.
      for (let round = 0; round <= rounds; round++) {
        const isFound = new Promise((resolve) => (found = resolve));
        const isAcknowledged = new Promise((resolve) => (acknowledged = resolve));
        inRound = 0;
        const browser = await startBare(
          t,
          profile,
          `${server.origin}/kill.html?storage=${storage}&memtable=${round % 2 === 0 ? 96 * 1024 : 1024 * 1024}`,
          backend,
        );
        const ended = browser.ended.then(() => assert.fail("the browser ended by itself"));
        ended.catch(() => {});
        const soon = (what, promise) =>
          Promise.race([promise, ended, wait(40_000).then(() => assert.fail(`round ${round} (seed ${SEED}): ${what} within 40 s`))]);
        if (round < rounds && round % 4 === 3) {
          // Some are killed while they start, open or recover.
          await Promise.race([isFound, wait(150 + random() * 600)]);
        } else {
          await soon("not opened", isFound);
          if (round < rounds) {
            await soon("not acknowledged", isAcknowledged);
            await wait(random() * 700);
          }
        }
        await browser.kill();
        assert.deepEqual(total.failures, [], `round ${round}, seed ${SEED}`);
        assert.deepEqual(total.torn, [], `round ${round}, seed ${SEED}`);
        assert.deepEqual(total.lost, [], `round ${round}, seed ${SEED}`);
      }
      if (total.thrownAway.length > 0)
        t.note(`the browser found its own files damaged and deleted them ${total.thrownAway.length} times: ${total.thrownAway.join("; ")}`);
      assert.ok(total.thrownAway.length <= Math.ceil(rounds / 20), "the browser deletes its files more often than it should");
      assert.ok(total.acknowledged > 30 * rounds, `only ${total.acknowledged} writes`);
      t.note(
        `${rounds} kills (seed ${SEED}): ${total.acknowledged} acknowledged writes, ${total.opened} reopenings, ${total.rows} rows compared, up to ${total.segments} segments; 0 lost, 0 torn, 0 failed reopenings`,
      );
    },
    { seconds: 30 + rounds * 10, needs: storage === "files" ? ["storage"] : [], repeats: true },
  );
}

test("Q: no two transactions that write are ever open at once: Chromium, killed then, would delete all data of the origin", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const { stores, most } = await page.evaluate(async () => {
    const transaction = IDBDatabase.prototype.transaction;
    const stores = new Set();
    const open = new Set();
    let most = 0;
    IDBDatabase.prototype.transaction = function (names, mode, options) {
      const made = transaction.call(this, names, mode, options);
      if (mode === "readwrite" && this.name.startsWith("tabstore/")) {
        stores.add([...made.objectStoreNames].sort().join());
        open.add(made);
        most = Math.max(most, open.size);
        for (const end of ["complete", "abort"]) made.addEventListener(end, () => open.delete(made));
      }
      return made;
    };
    const db = await T.open("one-writer", { worker: false, memtableBytes: 64 * 1024 });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    for (let round = 0; round < 30; round++) {
      await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          db.putRow({ tableName: "t", primaryKey: { id: (round * 37 + i * 11) % 500 }, attributes: { noise: H.noise(round + i, 800) } }),
        ),
      );
    }
    await db.compact();
    await db.close();
    IDBDatabase.prototype.transaction = transaction;
    return { stores: [...stores], most };
  });
  // The browser runs those that share a store one after the other.
  assert.ok(stores.length > 2, `only ${stores.join(" ")}`);
  for (const names of stores) assert.match(names, /\blog\b/, `a transaction on ${names} may run beside others`);
  t.note(`transactions on ${stores.sort().join("; ")}; up to ${most} asked for at once`);
});

/** Notes how a thread's transactions that write ask for the disk, and that its files are flushed to it. */
const noteDurability = () => {
  globalThis.asked = [];
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (names, mode, options) {
    if (mode === "readwrite" && this.name.startsWith("tabstore/")) asked.push(options?.durability);
    return transaction.call(this, names, mode, options);
  };
  const { FileSystemSyncAccessHandle } = globalThis;
  const flush = FileSystemSyncAccessHandle?.prototype.flush;
  if (flush === undefined) return;
  FileSystemSyncAccessHandle.prototype.flush = function () {
    asked.push("strict");
    return flush.call(this);
  };
};

for (const [place, needs] of [
  ["in the page", []],
  ["worker", ["workers"]],
]) {
  test(
    `R4: with durability "strict" every write asks the browser for the disk, with "relaxed" none does (${place})`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      for (const durability of ["strict", "relaxed"]) {
        await page.evaluate(
          async ([durability, worker]) => {
            globalThis.db = await T.open(durability, { durability, worker });
            await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
            // The reserve for deletions holds nothing that a loss of power could take, so it is filled without asking for the disk.
            for (let whole = false; !whole; ) {
              const { reserve } = await db.metrics();
              whole = reserve.bytes === reserve.capacity;
              if (!whole) await new Promise((resolve) => setTimeout(resolve, 20));
            }
          },
          [durability, place === "worker"],
        );
        const thread = place === "worker" ? page.workers()[0] : page;
        if (place === "worker" || durability === "strict") await thread.evaluate(noteDurability);
        const asked = () => thread.evaluate(() => asked.splice(0));
        await asked();
        for (let id = 0; id < 2; id++) {
          await page.evaluate((id) => db.putRow({ tableName: "t", primaryKey: { id } }), id);
          const found = await asked();
          if (durability === "strict") assert.ok(found.includes("strict") && !found.includes("relaxed"), `put ${id}: ${found}`);
          else assert.ok(!found.includes("strict"), `put ${id}: ${found}`);
        }
        // Blocks and the manifest of a flush too. What it deletes need not reach the disk.
        await page.evaluate(() => db.flush());
        const found = await asked();
        if (durability === "strict") assert.ok(found.filter((one) => one === "strict").length > 1, `a flush: ${found}`);
        await page.evaluate(() => db.close());
      }
    },
    { needs },
  );
}

for (const [how, method] of [
  ["importRows", "import"],
  ["a writer", "writer"],
]) {
  test(
    `R4, Q: a tab killed during an import by ${how} reopens with every acknowledged row`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t);
      const first = await openPage(t, context, server);
      let stored = 0;
      const told = new Promise((resolve) =>
        server.listen("/stored", ({ rows }) => {
          stored = Math.max(stored, rows);
          if (stored >= 15_000) resolve();
        }),
      );
      const running = first
        .evaluate(async (method) => {
          const db = await T.open("import", { memtableBytes: 1024 * 1024 });
          await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
          const onProgress = ({ rows }) => void fetch("/stored", { method: "POST", body: JSON.stringify({ rows }) });
          if (method === "import") {
            let line = 0;
            const text = new TextEncoder();
            const source = new ReadableStream({
              pull(controller) {
                const lines = line === 0 ? ["one,two,text"] : [];
                for (let i = 0; i < 500; i++) lines.push(`${++line},${line * 2},${H.noise(line, 60)}`);
                controller.enqueue(text.encode(`${lines.join("\n")}\n`));
              },
            });
            await db.importRows("t", source, { format: "csv", rowNumber: "id", onProgress, columns: { one: { type: "INTEGER" }, two: { type: "INTEGER" } } });
          } else {
            const writer = db.writer("t", { onProgress });
            for (let id = 1; ; id++) {
              const wait = writer.put({ primaryKey: { id }, attributes: { one: id, two: id * 2, text: H.noise(id, 60) } });
              if (wait) await wait;
            }
          }
        }, method)
        .catch((error) => error);
      await Promise.race([told, running.then((error) => assert.fail(`the import ended: ${error}`))]);
      await engine.kill(context, first);
      await running;

      const second = await openPage(t, context, server);
      const { found, wrong, missing, more } = await second.evaluate(async (stored) => {
        const db = await H.openSoon("import");
        let found = 0;
        const wrong = [];
        const missing = [];
        let next = 1;
        for await (const page of db.scanPages({ tableName: "t" })) {
          for (const row of page) {
            const { id } = row.primaryKey;
            for (; next < id; next++) if (next <= stored) missing.push(next);
            next = id + 1;
            found += 1;
            if (row.get("one") !== id || row.get("two") !== id * 2 || row.get("text") !== H.noise(id, 60)) wrong.push(id);
          }
        }
        // It can be written at once.
        await db.putRow({ tableName: "t", primaryKey: { id: 0 }, attributes: { one: 0 } });
        const more = (await db.getRow({ tableName: "t", primaryKey: { id: 0 } })).row?.get("one");
        await db.close();
        return { found, wrong, missing, more };
      }, stored);
      const some = (ids) => `${ids.length}: ${ids.slice(0, 5)} to ${ids.at(-1)}`;
      assert.deepEqual([wrong, missing, more], [[], [], 0], `of ${found} rows wrong ${some(wrong)}; of ${stored} acknowledged missing ${some(missing)}`);
      assert.ok(found >= stored, `${stored} rows were acknowledged, ${found} are there`);
      t.note(`${stored} rows were acknowledged when the tab died, ${found} are there`);
    },
    { needs: ["crash"] },
  );
}
