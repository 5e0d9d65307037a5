// Where else code of an origin runs: workers of every kind, frames, pages with more and fewer powers. Each has all of an instance,
// and shares it with the others, or is told by name what it lacks.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { newProfile, openPage, startBare, startBrowser } from "../support/browser.mjs";
import { counts, put, refusal, startContext, use, USED } from "../support/contexts.mjs";
import { engine } from "../support/engine.mjs";
import { test, turns } from "../support/harness.mjs";
import { built, servePackage } from "../support/server.mjs";
import { open } from "../support/tabs.mjs";

const FILE = "/contexts.html";

/** A page that can start contexts. */
async function visit(t, headers) {
  const server = await servePackage(t, headers);
  // In WebKit a shared worker runs in the process of some page, also of another test.
  const browser = await startBrowser(t, { own: engine.name === "WebKit" });
  return { server, browser, page: await openPage(t, browser, server, FILE) };
}

/** Opens the instance that contexts share, with a table. */
const lead = async (options = {}) => {
  globalThis.db = await T.open("shared", options);
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "k", type: "STRING" },
      { name: "n", type: "INTEGER" },
    ],
  });
  return db.role;
};

/** Waits until the handle leads. */
const leads = async () => {
  while (db.role !== "leader") await new Promise((resolve) => setTimeout(resolve, 10));
};

for (const kind of ["dedicated worker", "shared worker", "service worker"]) {
  // A service worker can load nothing after its start.
  for (const entry of kind === "service worker" ? ["inline"] : ["index", "inline"]) {
    for (const worker of [true, false]) {
      test(
        `contexts: a ${kind} has all of an instance (${entry}, ${worker ? "by default" : "worker: false"})`,
        async (t) => {
          const { page } = await visit(t);
          const context = await startContext(page, kind, entry);
          assert.deepEqual(await context.evaluate(use, worker ? {} : { worker }), USED);
        },
        { shared: true },
      );
    }
  }

  const entry = kind === "service worker" ? "inline" : "index";

  test(
    `contexts: a ${kind} follows a page, and leads when the page goes`,
    async (t) => {
      const { server, browser, page } = await visit(t);
      const other = await openPage(t, browser, server, FILE);
      assert.equal(await page.evaluate(lead), "leader");
      const context = await startContext(other, kind, entry);
      assert.equal(await context.evaluate(open, { name: "shared" }), "follower");
      assert.equal(await context.evaluate(put, { by: "context", count: 20 }), "follower");
      await page.evaluate(put, { by: "page", count: 20 });
      assert.deepEqual(await context.evaluate(counts), { context: 20, page: 20 });
      await page.close();
      await context.evaluate(leads);
      assert.equal(await context.evaluate(put, { by: "context", from: 20, count: 20 }), "leader");
      assert.deepEqual(await context.evaluate(counts), { context: 40, page: 20 });
      await context.evaluate(() => db.close());
    },
    { shared: true },
  );

  test(
    `contexts: a page follows a ${kind}, and leads when that closes`,
    async (t) => {
      const { page } = await visit(t);
      const context = await startContext(page, kind, entry);
      assert.equal(await context.evaluate(lead), "leader");
      assert.equal(await page.evaluate(open, { name: "shared" }), "follower");
      const both = [page.evaluate(put, { by: "page", count: 50 }), context.evaluate(put, { by: "context", count: 50 })];
      assert.deepEqual(await Promise.all(both), ["follower", "leader"]);
      assert.deepEqual(await page.evaluate(counts), { context: 50, page: 50 });
      await context.evaluate(() => db.close());
      await page.evaluate(leads);
      assert.deepEqual(await page.evaluate(counts), { context: 50, page: 50 });
      await page.evaluate(() => db.close());
    },
    { shared: true },
  );
}

test(
  "contexts: a service worker that imports the default entry is told to take the inline one",
  async (t) => {
    const { page } = await visit(t);
    const context = await startContext(page, "service worker", "index");
    const told = {
      known: true,
      code: "Unavailable",
      message: "A service worker can load no code after its start, and the entry 'tabstore' does that.",
      hint: "Import 'tabstore/inline' in the service worker.",
    };
    for (const options of [{}, { storage: "memory" }]) assert.deepEqual(await context.evaluate(refusal, options), told);
    const listed = await context.evaluate(() => T.listInstances().catch(({ code, hint }) => ({ code, hint })));
    assert.deepEqual(listed, { code: told.code, hint: told.hint });
    const other = await startContext(page, "service worker", "inline");
    const wanted = await other.evaluate(refusal, { worker: true });
    assert.equal(wanted.code, "Unavailable");
    assert.match(wanted.message, /worker: false/);
  },
  { shared: true },
);

test(
  "contexts: a service worker that the browser ends while it leads and writes loses no acknowledged row, and its page goes on",
  async (t) => {
    const { browser, page } = await visit(t);
    const context = await startContext(page, "service worker", "inline");
    await context.evaluate(lead);
    assert.equal(await page.evaluate(open, { name: "shared" }), "follower");
    // It goes on after its answer, as long as the browser lets it, and the page hears of each row that is stored.
    await page.evaluate(() => {
      globalThis.heard = -1;
      new BroadcastChannel("rows").onmessage = ({ data }) => {
        globalThis.heard = data;
      };
    });
    await context.evaluate(() => {
      const rows = new BroadcastChannel("rows");
      void (async () => {
        for (let n = 0; ; n++) {
          await db.putRow({ tableName: "t", primaryKey: { k: "service", n } });
          rows.postMessage(n);
        }
      })();
    });
    await page.waitForFunction(() => heard > 50);
    const write = page.evaluate(async () => {
      let written = 0;
      for (; db.role === "follower"; written++) await db.updateRow({ tableName: "t", primaryKey: { k: "page", n: written }, increment: { times: 1 } });
      return written;
    });
    await context.release();
    await engine.endServiceWorkers(browser, page);
    const written = await write;
    const {
      heard,
      service,
      page: stored,
      twice,
    } = await page.evaluate(async () => {
      const found = { heard: globalThis.heard, service: 0, page: 0, twice: 0 };
      for await (const row of db.scan({ tableName: "t" })) {
        found[row.primaryKey.k] += 1;
        if (row.primaryKey.k === "page" && row.get("times") !== 1) found.twice += 1;
      }
      return found;
    });
    assert.ok(service >= heard + 1, `${service} rows, ${heard + 1} were acknowledged`);
    assert.deepEqual([stored, twice], [written, 0]);
    assert.deepEqual(await page.evaluate(() => health), []);
    t.note(`${service} rows of the service worker, ${heard + 1} acknowledged; ${written} of the page`);
    // It starts again, with nothing of before, and follows.
    assert.equal(await context.evaluate(open, { name: "shared" }), "follower");
    await context.evaluate(put, { by: "again", count: 5 });
    assert.equal((await page.evaluate(counts)).again, 5);
  },
  { needs: ["serviceEnds"], seconds: 90 },
);

test(
  "contexts: a frame of the same origin has all of an instance, and shares it with the page around it",
  async (t) => {
    const { page } = await visit(t);
    const seen = await page.evaluate(async (use) => {
      const frame = document.createElement("iframe");
      frame.src = "/contexts.html";
      document.body.append(frame);
      const { contentWindow: other } = frame;
      while (other.T === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
      const used = await other.eval(`(${use})`)({});
      globalThis.db = await T.open("shared", {});
      await db.createTable({
        tableName: "t",
        primaryKey: [
          { name: "k", type: "STRING" },
          { name: "n", type: "INTEGER" },
        ],
      });
      const inner = (other.db = await other.T.open("shared"));
      await inner.putRow({ tableName: "t", primaryKey: { k: "frame", n: 1 } });
      const roles = [db.role, inner.role];
      await db.close();
      while (inner.role !== "leader") await new Promise((resolve) => setTimeout(resolve, 10));
      const { count } = await inner.count({ tableName: "t" });
      await inner.close();
      return { used, roles, count };
    }, String(use));
    assert.deepEqual(seen, { used: USED, roles: ["leader", "follower"], count: 1 });
  },
  { shared: true },
);

const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

test(
  "contexts: cross-origin isolated pages have all of an instance, and share it",
  async (t) => {
    const { server, browser, page } = await visit(t, ISOLATED);
    assert.equal(await page.evaluate(() => crossOriginIsolated), true);
    for (const options of [{}, { worker: false }]) assert.deepEqual(await page.evaluate(use, options), USED, JSON.stringify(options));
    const other = await openPage(t, browser, server, FILE);
    await page.evaluate(lead);
    assert.equal(await other.evaluate(open, { name: "shared" }), "follower");
    await other.evaluate(put, { by: "other", count: 20 });
    await page.close();
    await other.evaluate(leads);
    assert.deepEqual(await other.evaluate(counts), { other: 20 });
  },
  { shared: true },
);

/** A browser that reaches a server by a name which makes no secure context. */
async function insecure(t) {
  const server = await servePackage(t);
  const { origin, args } = engine.insecure(server);
  return { server: { ...server, origin }, browser: await startBrowser(t, { args }) };
}

test(
  "contexts: a page that is no secure context has all of an instance",
  async (t) => {
    const { server, browser } = await insecure(t);
    const page = await openPage(t, browser, server, FILE);
    assert.deepEqual(await page.evaluate(() => [isSecureContext, typeof navigator.locks]), [false, "undefined"]);
    for (const options of [{}, { worker: false }]) assert.deepEqual(await page.evaluate(use, options), USED, JSON.stringify(options));
  },
  { shared: true },
);

for (const worker of turns([true, false])) {
  test(`contexts: without a secure context the tab that opens last has the instance; the other one hears why at once, and loses nothing (${worker ? "worker" : "in the page"})`, async (t) => {
    const { server, browser } = await insecure(t);
    const [one, two] = [await openPage(t, browser, server, FILE), await openPage(t, browser, server, FILE)];
    await one.evaluate(lead, { worker });
    await one.evaluate(put, { by: "one", count: 20 });
    await one.evaluate(() => {
      globalThis.ended = new Promise((resolve) =>
        db.addEventListener("health", ({ healthy, error }) => resolve([healthy, error.code, error.message, error.hint])),
      );
      // It writes until it hears.
      globalThis.acknowledged = 20;
      globalThis.writing = (async () => {
        for (;;) {
          await db.putRow({ tableName: "t", primaryKey: { k: "one", n: acknowledged } });
          acknowledged += 1;
        }
      })().catch(({ code }) => code);
    });
    assert.equal(await two.evaluate(open, { name: "shared", options: { worker } }), "leader");
    const [healthy, code, message, hint] = await one.evaluate(() => ended);
    assert.deepEqual([healthy, code], [false, "LeaderChanged"]);
    assert.match(message, /'shared'/);
    assert.match(hint, /secure context.*https.*localhost/);
    const told = await one.evaluate(async () => ({
      write: await writing,
      read: await db.getRow({ tableName: "t", primaryKey: { k: "one", n: 0 } }).catch(({ code }) => code),
      acknowledged,
    }));
    assert.deepEqual([told.write, told.read], ["LeaderChanged", "LeaderChanged"]);
    const { one: stored } = await two.evaluate(counts);
    assert.ok(stored >= told.acknowledged, `${stored} of ${told.acknowledged} acknowledged`);
    await two.evaluate(put, { by: "two", count: 5 });
    // It opens again, and has it.
    await one.evaluate(() => db.close());
    assert.equal(await one.evaluate(open, { name: "shared", options: { worker } }), "leader");
    assert.deepEqual(await one.evaluate(counts), { one: stored, two: 5 });
    await two.waitForFunction(() => health.length > 0);
  });
}

test(
  "contexts: pages of a private window have all of an instance, and share it",
  async (t) => {
    const server = await servePackage(t);
    const browser = await engine.startPrivate();
    t.after(() => browser.close());
    const [page, other] = [await openPage(t, browser, server, FILE), await openPage(t, browser, server, FILE)];
    for (const options of [{}, { worker: false }]) assert.deepEqual(await page.evaluate(use, options), USED, JSON.stringify(options));
    await page.evaluate(lead);
    assert.equal(await other.evaluate(open, { name: "shared" }), "follower");
    await other.evaluate(put, { by: "other", count: 20 });
    await page.evaluate(() => db.close());
    await other.evaluate(leads);
    assert.deepEqual(await other.evaluate(counts), { other: 20 });
  },
  { needs: ["private"] },
);

const EXTENSION = "tested@tabstore.test";

/** Writes an extension with the package and our pages to a folder. */
function writeExtension(folder, policy, background = { service_worker: "context-inline.js", type: "module" }) {
  const files = new Map([...built("pkg/dist", "pkg/"), ...built("tests/e2e/pages", ""), ["lacks.js", ""]]);
  files.set(
    "manifest.json",
    JSON.stringify({
      manifest_version: 3,
      name: "TabStore, tested",
      version: "1",
      content_security_policy: { extension_pages: policy },
      background,
      browser_specific_settings: { gecko: { id: EXTENSION } },
    }),
  );
  for (const [name, content] of files) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
}

test(
  "contexts: pages and the service worker of an extension have all of an instance, and share it",
  async (t) => {
    const folder = newProfile(t);
    writeExtension(folder, "script-src 'self' 'wasm-unsafe-eval'");
    const { context, origin } = await engine.startExtension(newProfile(t), folder);
    t.after(() => context.close());
    const page = await openPage(t, context, { origin }, FILE);
    for (const options of [{}, { worker: false }]) assert.deepEqual(await page.evaluate(use, options), USED, JSON.stringify(options));
    const service = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    assert.deepEqual(await service.evaluate(use, {}), USED);
    await page.evaluate(lead);
    assert.equal(await service.evaluate(open, { name: "shared" }), "follower");
    await service.evaluate(put, { by: "service", count: 20 });
    const popup = await openPage(t, context, { origin }, FILE);
    assert.equal(await popup.evaluate(open, { name: "shared" }), "follower");
    await page.close();
    await popup.waitForFunction(() => db.getRow({ tableName: "t", primaryKey: { k: "service", n: 0 } }).then(({ row }) => row !== null));
    assert.deepEqual(await popup.evaluate(counts), { service: 20 });
  },
  { needs: ["extensions"] },
);

test(
  "contexts: the background page of an extension has all of an instance",
  async (t) => {
    const server = await servePackage(t);
    const reported = new Promise((resolve) => server.listen("/report", (seen) => void resolve(seen)));
    const [folder, profile] = [newProfile(t), newProfile(t)];
    writeExtension(folder, "script-src 'self' 'wasm-unsafe-eval'", { scripts: ["background.js"], type: "module" });
    const report = `(seen) => fetch("${server.origin}/report", { method: "POST", mode: "no-cors", body: JSON.stringify(seen) })`;
    writeFileSync(
      path.join(folder, "background.js"),
      `import * as tabstore from "./pkg/index.js";\nglobalThis.T = tabstore;\n(${use})({}).catch(({ message }) => message).then(${report});\n`,
    );
    engine.install(profile, folder, EXTENSION);
    await startBare(t, profile, `${server.origin}/`);
    assert.deepEqual(await reported, USED);
  },
  { needs: ["installing"] },
);

test(
  "contexts: an extension whose policy allows no WebAssembly is told so by name",
  async (t) => {
    const folder = newProfile(t);
    writeExtension(folder, "script-src 'self'");
    const { context, origin } = await engine.startExtension(newProfile(t), folder);
    t.after(() => context.close());
    const page = await openPage(t, context, { origin }, FILE);
    const { known, code, message } = await page.evaluate(refusal, {});
    assert.deepEqual([known, code], [true, "Unavailable"]);
    assert.match(message, /Content Security Policy/);
    t.note(message);
  },
  { needs: ["extensions"] },
);
