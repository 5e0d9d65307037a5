// Engines that end in the middle of their work: in the thread of a page, and those that do not know what is stored.

import assert from "node:assert/strict";

import { load, openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led, open } from "../support/tabs.mjs";
import { noteWorkers } from "../support/workers.mjs";

/** A page whose engine can be hurt, which leads, and one that follows. */
async function hurtable(t, file, worker) {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  const one = await openPage(t, context, server, file);
  await one.evaluate(() => {
    // A trap in the page also ends the browser's own tasks.
    addEventListener("error", (event) => {
      if (event.error instanceof WebAssembly.RuntimeError) event.preventDefault();
    });
  });
  await one.evaluate(noteWorkers);
  assert.equal(await one.evaluate(open, { name: "Hurt", options: { worker } }), "leader");
  await one.evaluate(async () => {
    await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
    await db.putRow({ tableName: "t", primaryKey: { k: "n" }, attributes: { n: 0 } });
  });
  const two = await openPage(t, context, server);
  assert.equal(await two.evaluate(open, { name: "hurt", options: {} }), "follower");
  return { server, context, one, two };
}

/** Counts up without a pause, until `end`; gives the number of counts. */
const count = () => {
  globalThis.end = false;
  globalThis.counting = (async () => {
    let counts = 0;
    while (!end) {
      await Promise.all(Array.from({ length: 5 }, () => db.updateRow({ tableName: "t", primaryKey: { k: "n" }, increment: { n: 1 } })));
      counts += 5;
    }
    return counts;
  })();
};

const counted = async () => {
  end = true;
  const counts = await counting;
  const { row } = await db.getRow({ tableName: "t", primaryKey: { k: "n" } });
  return [counts, row.get("n")];
};

test("an engine that traps in the page ends the handles of that page by name; another tab leads, and its calls are all done, once", async (t) => {
  const { one, two } = await hurtable(t, "/trapping/", false);
  await two.evaluate(count);
  const seen = await one.evaluate(async () => {
    globalThis.other = await T.open("hurt", { worker: false });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const key = { tableName: "t", primaryKey: { k: "x" } };
    const before = [db.getRow(key), other.putRow(key), db.listTable(), other.flush()].map((call) => H.refusal(() => call));
    trapHere();
    const calls = [() => db.putRow(key), () => other.getRow(key), () => db.getRange({ tableName: "t" }), () => db.listTable(), () => other.metrics()];
    const all = await Promise.all([...before, ...calls.map(H.refusal)]);
    const closed = [await H.refusal(() => db.close()), await H.refusal(() => other.close())];
    const again = await H.refusal(() => T.open("hurt", { worker: false }));
    return { all, closed, again, health };
  });
  for (const { refused, known, code, message } of seen.all.slice(4)) assert.ok(refused && known && code === "OTSInternalServerError", `${code}: ${message}`);
  for (const { refused, known, message } of seen.all) assert.ok(!refused || known, message);
  assert.deepEqual(
    seen.closed.map(({ message }) => message),
    [undefined, undefined],
  );
  assert.equal(seen.again.code, "Unavailable");
  assert.match(seen.again.message, /reload the page, or open without worker: false/);
  assert.deepEqual(
    seen.health.map((one) => one.split(":")[0]),
    ["false OTSInternalServerError"],
  );
  await led([two]);
  const [counts, n] = await two.evaluate(counted);
  assert.equal(n, counts);
  // A worker of that page has a module of its own.
  assert.equal(await one.evaluate(open, { name: "hurt", options: {} }), "follower");
  await two.evaluate(() => db.close());
  await led([one]);
  t.note(`${counts} counts; the refusal: ${seen.all.at(-1).message}`);
});

test("a page whose engine has trapped gives the lock of another instance on, when it is its turn to lead: a third tab leads", async (t) => {
  const { server, context, one, two } = await hurtable(t, "/trapping/", false);
  const three = await openPage(t, context, server);
  await two.evaluate(() =>
    T.open("next")
      .then((next) => (globalThis.next = next))
      .then(() => {}),
  );
  for (const page of [one, three]) {
    await page.evaluate(async (worker) => {
      globalThis.next = await T.open("next", { worker });
      globalThis.told = new Promise((resolve) => next.addEventListener("health", ({ error }) => resolve(error.code)));
      await next.listTable();
    }, page === three);
  }
  await one.evaluate(() => {
    trapHere();
    return H.refusal(() => db.listTable());
  });
  await two.evaluate(() => next.close());
  assert.equal(await one.evaluate(() => told), "Unavailable");
  await three.waitForFunction(() => next.role === "leader");
  assert.deepEqual(await three.evaluate(() => next.listTable()), []);
});

for (const worker of turns([true, false])) {
  test(`an engine that traps while it is being opened refuses the opening by name, at any moment, and keeps the instance from nobody (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const other = await openPage(t, context, server);
    const codes = [];
    for (const delay of [0, 5, 10, 20, 40]) {
      // Nobody catches what the engine's callbacks throw, and this page may.
      const page = await context.newPage();
      await load(page, server, "/trapping/");
      codes.push(
        await page.evaluate(
          async ({ worker, delay }) => {
            const Real = Worker;
            let hurt = false;
            globalThis.Worker = class extends Real {
              postMessage(message, ...rest) {
                super.postMessage(message, ...rest);
                if (message.kind === "open" && !hurt) setTimeout(() => super.postMessage("trap"), delay);
                hurt = true;
              }
            };
            const opening = T.open("hurt", { worker });
            if (!worker) setTimeout(trapHere, delay);
            const late = async (db) => {
              await new Promise((resolve) => setTimeout(resolve, 100 + delay));
              await H.refusal(() => db.listTable());
              await db.close();
              return "too late";
            };
            return opening.then(late, ({ code }) => code);
          },
          { worker, delay },
        ),
      );
      const role = await other.evaluate(async () => {
        const db = await T.open("hurt");
        const { role } = db;
        await db.close();
        return role;
      });
      assert.equal(role, "leader");
    }
    assert.deepEqual(new Set(codes.filter((code) => code !== "too late")), new Set(["OTSInternalServerError"]));
    t.note(codes.join(", "));
  });
}

for (const worker of turns([true, false])) {
  for (const asks of ["the tab that leads", "a tab that follows"]) {
    test(`a change of a table whose fate is unknown, asked by ${asks}: a fresh engine reads what is stored, and all handles go on (${worker ? "worker" : "in the page"})`, async (t) => {
      const { one, two } = await hurtable(t, "/doubting/", worker);
      const asking = asks === "the tab that leads" ? one : two;
      await one.evaluate((worker) => void (globalThis.doubt = () => (worker ? last.postMessage("doubt") : doubtHere())), worker);
      // From the tab that leads both in one task. From the other one the meter may store a second between the two: then its commit is
      // the one of which nobody knows, the change is done as ever, and the next one is doubted.
      const tables = ["t"];
      let made;
      do {
        tables.push(`u${tables.length}`);
        if (asking === two) await one.evaluate(() => doubt());
        made = await asking.evaluate((tableName) => {
          globalThis.doubt?.();
          return H.refusal(() => db.createTable({ tableName, primaryKey: [{ name: "k", type: "STRING" }] }));
        }, tables.at(-1));
      } while (asking === two && tables.length < 6 && (await one.evaluate(() => health.length)) === 0);
      // A follower's change is asked again, and done once.
      if (asking === one) assert.equal(made.code, "LeaderChanged", made.message);
      else assert.equal(made.message, undefined);
      const [, u] = tables;
      await two.evaluate(count);
      await one.evaluate((tableName) => db.putRow({ tableName, primaryKey: { k: "one" } }), u);
      const [counts, n] = await two.evaluate(counted);
      assert.equal(n, counts);
      for (const page of [one, two]) {
        const seen = await page.evaluate(async (tableName) => [await db.listTable(), (await db.count({ tableName })).count], u);
        assert.deepEqual(seen, [tables, 1]);
      }
      assert.deepEqual(
        (await one.evaluate(() => health)).map((told) => told.split(":")[0]),
        ["true Closed", "true undefined"],
      );
      t.note(`${counts} counts`);
    });
  }
}
