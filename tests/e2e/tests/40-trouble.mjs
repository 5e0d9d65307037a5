// A browser that cannot store, a full disk, damaged records, data cleared behind the application's back.

import assert from "node:assert/strict";

import { BACKENDS, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

for (const [what, file] of [
  ["no IndexedDB", "/no-indexeddb/"],
  ["an IndexedDB that refuses everything", "/broken-indexeddb/"],
]) {
  test(`no silent fallback: with ${what}, open rejects with Unavailable, and memory works when asked for`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server, file);
    const seen = await page.evaluate(async () => {
      const use = async (options) => {
        const db = await T.open("memory", { storage: "memory", ...options });
        await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
        await db.putRow({ tableName: "t", primaryKey: { k: "a" }, attributes: { v: 1 } });
        const { row } = await db.getRow({ tableName: "t", primaryKey: { k: "a" } });
        const { persistence } = db;
        await db.close();
        return [persistence, row.get("v")];
      };
      const refusals = {
        worker: await H.refusal(() => T.open("demo")),
        page: await H.refusal(() => T.open("demo", { worker: false })),
        list: await H.refusal(() => T.listInstances()),
      };
      return { refusals, memory: [await use({ worker: true }), await use({ worker: false })] };
    });
    for (const [place, { refused, known, code, message }] of Object.entries(seen.refusals)) {
      assert.ok(refused && known, `${place}: ${message}`);
      assert.equal(code, "Unavailable", `${place}: ${message}`);
      assert.match(message, /IndexedDB/, place);
    }
    assert.deepEqual(seen.memory, [
      ["memory", 1],
      ["memory", 1],
    ]);
    t.note(`says: ${[...new Set(Object.values(seen.refusals).map(({ message }) => message))].join(" / ")}`);
  });
}

test(
  "no silent fallback: in a sandboxed frame, where the browser itself forbids storage, open rejects with Unavailable",
  async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    await page.evaluate(() => {
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts";
      frame.src = "/";
      document.body.append(frame);
    });
    await page.waitForFunction(() => document.querySelector("iframe").contentWindow !== null);
    let frame;
    while ((frame = page.frames().find((one) => one.parentFrame() !== null && one.url().startsWith(server.origin))) === undefined)
      await page.waitForTimeout(20);
    await frame.waitForFunction(() => globalThis.T !== undefined);
    const { worker, inPage, memory, hint } = await frame.evaluate(async () => {
      const worker = await H.refusal(() => T.open("demo"));
      const inPage = await H.refusal(() => T.open("demo", { worker: false }));
      const db = await T.open("demo", { worker: false, storage: "memory" });
      const memory = db.persistence;
      await db.close();
      const { hint } = await T.open("demo", { worker: false }).catch((error) => error);
      return { worker, inPage, memory, hint };
    });
    assert.match(hint, /allow-same-origin/);
    assert.equal(worker.code, "Unavailable", worker.message);
    assert.equal(inPage.code, "Unavailable", inPage.message);
    assert.equal(memory, "memory");
    t.note(`says: ${inPage.message}`);
  },
  { needs: ["frames"] },
);

for (const backend of BACKENDS) {
  test(
    `a full disk gives QuotaExceeded, nothing half-written, and reads go on; with room again, writing resumes (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const page = await openPage(t, context, server);
      const limit = await engine.limit(context, page, server, 6_000_000);
      const full = await page.evaluate(async () => {
        const spare = await T.open("spare");
        await spare.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "INTEGER" }] });
        for (let k = 0; k < 10; k++)
          await spare.putRow({ tableName: "t", primaryKey: { k }, attributes: { bytes: crypto.getRandomValues(new Uint8Array(65_536)) } });
        await spare.flush();
        await spare.close();

        globalThis.db = await T.open("full", { memtableBytes: 512 * 1024, cacheBytes: 512 * 1024 });
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        globalThis.stored = new Set();
        const refusals = [];
        // Some at once, so that some of a commit might be stored and others not.
        for (let id = 0; id < 20_000 && refusals.length === 0; id += 20) {
          await Promise.all(
            Array.from({ length: 20 }, async (_, i) => {
              const refusal = await H.refusal(() =>
                db.putRow({ tableName: "t", primaryKey: { id: id + i }, attributes: { one: id + i, two: id + i, noise: H.noise(id + i, 2000) } }),
              );
              if (refusal.refused) refusals.push(refusal);
              else stored.add(id + i);
            }),
          );
        }
        return { refusals, stored: stored.size };
      });
      assert.ok(full.refusals.length > 0, `${full.stored} rows went in`);
      for (const { known, code, message } of full.refusals) {
        assert.ok(known, message);
        assert.equal(code, "QuotaExceeded", message);
      }

      // Every acknowledged row is there, whole, and none that was refused; small writes are refused as well, cleanly.
      const check = () =>
        page.evaluate(async () => {
          const wrong = [];
          let found = 0;
          for (const row of await H.all(db, { tableName: "t" })) {
            const { id } = row.primaryKey;
            found += 1;
            if (!stored.has(id)) wrong.push(`${id} was refused`);
            if (row.get("one") !== id || row.get("two") !== id || row.get("noise") !== H.noise(id, 2000)) wrong.push(`${id} is torn`);
          }
          const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 7 } });
          if (row?.get("one") !== 7) wrong.push("row 7 cannot be read");
          return { wrong, missing: stored.size - found };
        });
      assert.deepEqual(await check(), { wrong: [], missing: 0 }, "while the disk is full");
      const again = await page.evaluate(async () =>
        Promise.all(
          Array.from({ length: 30 }, (_, i) =>
            H.refusal(async () => {
              const id = 100_000 + i;
              await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { one: id, two: id, noise: H.noise(id, 2000) } });
              stored.add(id);
            }),
          ),
        ),
      );
      assert.ok(
        again.every(({ refused, code }) => !refused || code === "QuotaExceeded"),
        JSON.stringify(again.find(({ code }) => code !== "QuotaExceeded")),
      );

      // Opening needs a little room, or says that there is none.
      const reopened = await page.evaluate(async () => {
        await db.close();
        return H.refusal(async () => {
          globalThis.db = await T.open("full");
          return "opened";
        });
      });
      if (reopened.refused) {
        assert.equal(reopened.code, "QuotaExceeded", reopened.message);
        t.note(`opening on the full disk: ${reopened.code}: ${reopened.message}`);
      } else {
        assert.deepEqual(await check(), { wrong: [], missing: 0 }, "after a reopening on the full disk");
        t.note("it opens on the full disk");
      }

      // Room by deleting something else of this origin. The browser may need a moment to notice.
      const freed = await page.evaluate(async () => {
        await T.deleteInstance("spare");
        const started = performance.now();
        let last;
        do {
          last = await H.refusal(async () => {
            if (db.closed) globalThis.db = await T.open("full");
            await db.putRow({ tableName: "t", primaryKey: { id: 200_000 }, attributes: { one: 200_000, two: 200_000, noise: H.noise(200_000, 2000) } });
          });
          if (last.refused) await new Promise((resolve) => setTimeout(resolve, 100));
        } while (last.refused && performance.now() - started < 3000);
        if (!last.refused) stored.add(200_000);
        return { last, took: performance.now() - started };
      });
      if (freed.last.refused) assert.equal(freed.last.code, "QuotaExceeded", freed.last.message);
      t.note(
        freed.last.refused
          ? `after another instance was deleted: ${freed.last.code}`
          : `writing resumed ${freed.took.toFixed(0)} ms after another instance was deleted`,
      );

      await limit(undefined);
      const resumed = await page.evaluate(async () => {
        if (db.closed) globalThis.db = await T.open("full");
        const ids = Array.from({ length: 500 }, (_, i) => 300_000 + i);
        await Promise.all(
          ids.map(async (id) => {
            await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { one: id, two: id, noise: H.noise(id, 2000) } });
            stored.add(id);
          }),
        );
        await db.flush();
        await db.compact();
        return stored.size;
      });
      assert.deepEqual(await check(), { wrong: [], missing: 0 }, "with room again");
      await page.evaluate(async () => {
        await db.close();
        globalThis.db = await T.open("full");
      });
      assert.deepEqual(await check(), { wrong: [], missing: 0 }, "after a reopening");
      t.note(`full after ${full.stored} rows; ${resumed} in the end`);
    },
    { needs: ["resizing"] },
  );
}

/** Two tables, each with segments of its own, and something in the log. */
const prepare = async () => {
  // A reserve lies among the blocks, and before those of rows.
  const db = await T.open("damaged", { memtableBytes: 64 * 1024 * 1024, reserveBytes: 0 });
  const blocks = {};
  // The list of tables goes into a segment of its own.
  for (const tableName of ["good", "bad"]) await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 2 });
  await db.flush();
  for (const tableName of ["good", "bad"]) {
    const before = new Set((await H.rawKeys("damaged", "blocks")).map(String));
    const writer = db.writer(tableName);
    for (let id = 0; id < 3000; id++) await writer.put({ primaryKey: { id }, attributes: { v: id, noise: H.noise(id, 120) } });
    await writer.close();
    await db.flush();
    // A busy machine merges the segments of the list of tables meanwhile: theirs is another new segment, and much shorter.
    const segments = new Map();
    for (const key of (await H.rawKeys("damaged", "blocks")).filter((key) => !before.has(String(key)))) {
      segments.set(key[0], [...(segments.get(key[0]) ?? []), key]);
    }
    blocks[tableName] = [...segments.values()].reduce((longest, one) => (one.length > longest.length ? one : longest));
  }
  await db.putRow({ tableName: "good", primaryKey: { id: 5000 }, attributes: { v: 5000, noise: H.noise(5000, 120) } });
  await db.close();
  return blocks;
};

/** Opens what is left, and reads it. */
const salvage = async () => {
  const ruin = await H.openSoon("damaged", { salvage: true });
  const right = (row) => row.get("v") === row.primaryKey.id && row.get("noise") === H.noise(row.primaryKey.id, 120);
  const result = { missing: await ruin.missing(), tables: await ruin.listTable(), rows: {}, wrong: 0 };
  for (const tableName of result.tables) {
    const {
      primaryKey: [{ name }],
    } = await ruin.describeTable(tableName);
    const rows = (await H.all(ruin, { tableName })).map((row) =>
      name === "id" ? row : { primaryKey: { id: row.primaryKey[name] }, get: (column) => row.get(column) },
    );
    result.rows[tableName] = rows.length;
    result.wrong += rows.filter((row) => !right(row)).length;
    result.write = await H.refusal(() => ruin.putRow({ tableName, primaryKey: { [name]: 1 }, attributes: { v: 0 } }));
  }
  await ruin.close();
  return result;
};

/** Opens, reads both tables in several ways, and says what came of it; data that is wrong is the one thing that must not come. */
const readAll = async (store, key, change) => {
  const original = await H.rawGet("damaged", store, key);
  const spoilt =
    change === "missing"
      ? undefined
      : change === "text"
        ? "not bytes"
        : change === "short"
          ? original.slice(0, original.length >> 1)
          : original.map((byte, i) => (i === Math.floor(change * (original.length - 1)) ? byte ^ 0x10 : byte));
  await H.rawPut("damaged", store, key, spoilt);
  let opened;
  try {
    // A worker has copies of blocks, which would hide the damage.
    opened = await H.openSoon("damaged", { cacheBytes: 128 * 1024, worker: store !== "blocks" });
  } catch (error) {
    const salvaged = await salvage();
    await H.rawPut("damaged", store, key, original);
    return { salvaged, open: { code: error.code, message: error.message, known: error instanceof T.TabStoreError } };
  }
  const right = (row) => row === null || (row.get("v") === row.primaryKey.id && row.get("noise") === H.noise(row.primaryKey.id, 120));
  const read = async (tableName) => {
    const outcome = { rows: 0, wrong: 0 };
    outcome.scan = await H.refusal(async () => {
      for await (const page of opened.scanPages({ tableName })) {
        outcome.rows += page.length;
        outcome.wrong += page.filter((row) => !right(row)).length;
      }
    });
    const gets = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        opened.getRow({ tableName, primaryKey: { id: i * 100 } }).then(
          ({ row }) => (right(row) && row !== null ? "right" : "wrong"),
          (error) => `${error.code} ${error.message}`,
        ),
      ),
    );
    outcome.gets = [...new Set(gets)];
    return outcome;
  };
  const result = { bad: await read("bad"), good: await read("good") };
  result.write = await H.refusal(() => opened.putRow({ tableName: "good", primaryKey: { id: 1 }, attributes: { v: 1, noise: H.noise(1, 120) } }));
  result.tables = await opened.listTable();
  await opened.close();
  await H.rawPut("damaged", store, key, original);
  return result;
};

for (const backend of BACKENDS) {
  test(`Q: a damaged block is named as Corrupt and never read as data; other tables stay readable (${backend})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t, { backend }), server);
    const blocks = await page.evaluate(prepare);
    assert.ok(blocks.bad.length >= 3, `only ${blocks.bad.length} blocks`);
    await page.evaluate(`globalThis.salvage = ${salvage}; globalThis.readAll = ${readAll}`);
    const damages = [0, 0.001, 0.3, 0.9, 1, "missing", "text", "short"];
    let cases = 0;
    const messages = new Set();
    for (const key of [blocks.bad[0], blocks.bad.at(-2), blocks.bad.at(-1)]) {
      for (const change of damages) {
        const what = `block ${key}, ${change}`;
        const { open, bad, good, write, tables } = await page.evaluate(([store, key, change]) => readAll(store, key, change), ["blocks", key, change]);
        assert.equal(open, undefined, `${what}: the instance does not open: ${JSON.stringify(open)}`);
        assert.equal(bad.wrong, 0, `${what}: wrong data`);
        // The last record of a segment is its index: it is made anew of the others.
        const isIndex = key === blocks.bad.at(-1);
        assert.equal(bad.scan.refused, !isIndex, `${what}: ${bad.scan.message}`);
        if (isIndex) {
          assert.deepEqual([bad.rows, bad.gets], [3000, ["right"]], what);
        } else {
          assert.equal(bad.scan.code, "Corrupt", `${what}: ${bad.scan.message}`);
          assert.ok(bad.scan.message.includes(`block ${key[1]} of segment ${key[0]}`), `${what}: the record is not named: ${bad.scan.message}`);
          messages.add(bad.scan.message);
        }
        for (const get of bad.gets) assert.match(get, /^(right$|Corrupt )/, what);
        assert.deepEqual([good.rows, good.wrong, good.scan.refused, good.gets], [3001, 0, false, ["right"]], `${what}: the other table: ${good.scan.message}`);
        assert.equal(write.refused, false, `${what}: the other table cannot be written: ${write.message}`);
        assert.deepEqual(tables, ["bad", "good"]);
        cases += 1;
      }
    }
    // Opened to be salvaged, all rows are there whose keys do not lie in the block.
    for (const key of [blocks.bad[0], blocks.bad.at(-2)]) {
      const {
        missing: all,
        rows,
        wrong,
        write,
      } = await page.evaluate(async (key) => {
        const original = await H.rawGet("damaged", "blocks", key);
        await H.rawPut(
          "damaged",
          "blocks",
          key,
          original.map((byte, i) => (i === 99 ? byte ^ 1 : byte)),
        );
        const result = await salvage();
        await H.rawPut("damaged", "blocks", key, original);
        return result;
      }, key);
      // The block may hold what the capacity meter has counted too.
      const missing = all.filter(({ tree }) => tree !== 4294967295);
      assert.equal(missing.length, 1);
      const [
        {
          tableName,
          tree,
          from: [from],
          to: [to],
          reason,
        },
      ] = missing;
      assert.ok(tableName === "bad" && tree > 0 && reason.includes(`block ${key[1]} of segment ${key[0]}`), JSON.stringify(missing));
      assert.deepEqual([rows, wrong, write.code], [{ bad: 3000 - (to - from), good: 3001 }, 0, "ReadOnly"], JSON.stringify(missing));
    }
    // Put back as it was, everything is there: damage was only noticed, nothing was thrown away.
    const { bad } = await page.evaluate(([store, key, change]) => readAll(store, key, change), ["manifest", 1e9, "missing"]);
    assert.deepEqual([bad.rows, bad.wrong, bad.gets], [3000, 0, ["right"]]);
    t.note(`${cases} damages; for example: ${[...messages][0]}`);
  });
}

test("Q: a damaged record of the log or the manifest is named as Corrupt; the instance does not open with less than it had", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  await page.evaluate(prepare);
  await page.evaluate(`globalThis.salvage = ${salvage}; globalThis.readAll = ${readAll}`);
  const keys = await page.evaluate(async () => ({ log: await H.rawKeys("damaged", "log"), manifest: await H.rawKeys("damaged", "manifest") }));
  const outcomes = [];
  for (const [store, key] of [
    ["manifest", keys.manifest.at(-1)],
    ["log", keys.log.at(-1)],
    ["log", keys.log.at(-2)],
  ]) {
    for (const change of [0, 0.5, 1, "text", "short"]) {
      const what = `${store} ${key}, ${change}`;
      const outcome = await page.evaluate(([store, key, change]) => readAll(store, key, change), [store, key, change]);
      if (outcome.open === undefined) {
        // Only allowed when nothing is lost: a log record behind what is in segments is not needed, and an older manifest may do.
        assert.deepEqual([outcome.good.rows, outcome.good.wrong, outcome.bad.rows, outcome.bad.wrong], [3001, 0, 3000, 0], `${what}: opened with other data`);
        outcomes.push(`${what}: not needed`);
      } else {
        assert.ok(outcome.open.known, `${what}: ${outcome.open.message}`);
        assert.equal(outcome.open.code, "Corrupt", `${what}: ${outcome.open.message}`);
        assert.match(outcome.open.message, new RegExp(`${store}.*\\b${key}\\b`), `${what}: ${outcome.open.message}`);
        const { missing, rows, wrong } = outcome.salvaged;
        assert.ok(
          missing.some(({ reason }) => reason.includes(`${store === "log" ? "log record" : store} ${key} is damaged`)),
          `${what}: ${JSON.stringify(missing)}`,
        );
        assert.equal(wrong, 0, what);
        if (store === "log") assert.ok(rows.bad === 3000 && rows.good >= 3000, `${what}: ${JSON.stringify(rows)}`);
        outcomes.push(outcome.open.message);
      }
    }
  }
  t.note(`${outcomes.length} damages; for example: ${outcomes[0]} / ${outcomes.at(-1)}`);
  const again = await page.evaluate(async () => {
    const db = await T.open("damaged");
    const rows = [(await H.all(db, { tableName: "good" })).length, (await H.all(db, { tableName: "bad" })).length];
    await db.close();
    return rows;
  });
  assert.deepEqual(again, [3001, 3000], "repaired by hand, everything is there");
});

test("Q: without the list of tables the instance does not open, and opened to be salvaged it gives all rows", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  await page.evaluate(prepare);
  await page.evaluate(`globalThis.salvage = ${salvage}; globalThis.readAll = ${readAll}`);
  const first = (await page.evaluate(() => H.rawKeys("damaged", "blocks")))[0];
  const { open, salvaged } = await page.evaluate((key) => readAll("blocks", key, 0.5), first);
  const record = `block ${first[1]} of segment ${first[0]} is damaged`;
  assert.ok(open?.code === "Corrupt" && open.message.includes(record), JSON.stringify(open));
  assert.deepEqual([salvaged.rows, salvaged.wrong, salvaged.write.code], [{ tree_1: 3001, tree_2: 3000 }, 0, "ReadOnly"]);
  assert.ok(salvaged.missing.length === 1 && salvaged.missing[0].tree === 0 && salvaged.missing[0].reason.includes(record), JSON.stringify(salvaged.missing));
});

test(
  "R5: when the site's data is cleared while it is open, writes are refused, not lost in silence",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const page = await openPage(t, context, server);
    await page.evaluate(async () => {
      globalThis.db = await T.open("cleared");
      globalThis.health = [];
      db.addEventListener("health", ({ error }) => health.push(error.code));
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      await db.putRow({ tableName: "t", primaryKey: { k: "a" }, attributes: { v: 1 } });
    });
    await engine.clear(context, page, server);
    const { put, lost, opened, rows, health } = await page.evaluate(async () => {
      const put = await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { k: "b" }, attributes: { v: 2 } }));
      await db.close();
      const { code: lost } = await H.refusal(() => T.open("cleared"));
      const again = await T.open("cleared", { lost: "recreate" });
      const opened = await again.listTable();
      const rows = opened.length === 0 ? 0 : (await H.all(again, { tableName: "t" })).length;
      await again.close();
      return { put, lost, opened, rows, health };
    });
    assert.equal(lost, "DataLost");
    assert.ok(put.refused, `the write was acknowledged, and afterwards there are tables ${opened} with ${rows} rows`);
    assert.ok(put.known, put.message);
    assert.equal(put.code, "Closed", put.message);
    assert.deepEqual(opened, []);
    t.note(`says: ${put.code}: ${put.message}; health events: ${health.join() || "none"}`);
  },
  { needs: ["clear"] },
);
