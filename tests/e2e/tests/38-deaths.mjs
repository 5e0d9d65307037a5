// A follower's write whose answer is lost with the leader, if the next engine dies while it takes its followers over.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

for (const dies of [false, true]) {
  test(`an increment that the last leader did is done once, and answered or refused by name (the next engine dies while it takes over: ${dies})`, async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const leader = await openPage(t, context, server);
    await leader.evaluate(async () => {
      globalThis.db = await T.open("gone");
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      await db.putRow({ tableName: "t", primaryKey: { k: "n" }, attributes: { n: 0 } });
    });
    const page = await openPage(t, context, server, "/trapping/");
    await page.evaluate(async () => {
      const Real = Worker;
      globalThis.armed = false;
      globalThis.kinds = [];
      globalThis.Worker = class extends Real {
        postMessage(message, ...rest) {
          kinds.push(message?.kind);
          if (armed && message?.kind === "join") {
            armed = false;
            super.postMessage("trap");
          }
          super.postMessage(message, ...rest);
        }
      };
      // Answers of the leader that are lost on their way.
      globalThis.deaf = false;
      for (const kind of [MessagePort, BroadcastChannel]) {
        const own = Object.getOwnPropertyDescriptor(kind.prototype, "onmessage");
        Object.defineProperty(kind.prototype, "onmessage", {
          ...own,
          set(run) {
            own.set.call(
              this,
              run === null
                ? null
                : (event) => {
                    if (!(deaf && event.data instanceof Uint8Array)) run(event);
                  },
            );
          },
        });
      }
      globalThis.db = await T.open("gone");
      globalThis.other = await T.open("gone");
      globalThis.health = [];
      db.addEventListener("health", ({ error }) => health.push(error?.code));
      await other.getRow({ tableName: "t", primaryKey: { k: "n" } });
      deaf = true;
      globalThis.outcome = other.updateRow({ tableName: "t", primaryKey: { k: "n" }, increment: { n: 1 } }).then(
        () => "done",
        ({ code }) => code,
      );
    });
    // The leader does it.
    await leader.evaluate(async () => {
      while (Number((await db.getRow({ tableName: "t", primaryKey: { k: "n" } })).row.get("n")) !== 1);
    });
    assert.equal(await page.evaluate(() => Promise.race([outcome, "unanswered"])), "unanswered");
    await page.evaluate((dies) => {
      deaf = false;
      armed = dies;
    }, dies);
    await leader.close();
    const seen = await page.evaluate(async () => [
      await outcome,
      Number((await db.getRow({ tableName: "t", primaryKey: { k: "n" } })).row.get("n")),
      health,
      armed,
      db.role,
      other.role,
      kinds,
    ]);
    assert.deepEqual([seen[0], seen[1]], [dies ? "LeaderChanged" : "done", 1], JSON.stringify(seen));
  });
}
