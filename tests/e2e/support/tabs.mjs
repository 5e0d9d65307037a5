// Tabs that share an instance.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "./browser.mjs";
import { servePackage } from "./server.mjs";

/** Opens an instance as `db`, and notes its events. */
export const open = async ({ name, options }) => {
  globalThis.db = await T.open(name, options);
  globalThis.roles = [];
  globalThis.health = [];
  db.addEventListener("leader", ({ role }) => roles.push(role));
  db.addEventListener("health", ({ healthy, error }) => health.push(`${healthy} ${error?.code}: ${error?.message}`));
  return db.role;
};

/** Two tabs with the instance open in both; the first one leads. */
export async function tabs(t, { options = {}, prepare = () => {}, browser = {} } = {}) {
  const server = await servePackage(t);
  const context = await startBrowser(t, browser);
  await prepare(context);
  const one = await openPage(t, context, server);
  const two = await openPage(t, context, server);
  assert.equal(await one.evaluate(open, { name: "Shared", options }), "leader");
  await one.evaluate(() =>
    db.createTable({
      tableName: "t",
      primaryKey: [
        { name: "k", type: "STRING" },
        { name: "n", type: "INTEGER" },
      ],
      enableLocalTransaction: true,
    }),
  );
  assert.equal(await two.evaluate(open, { name: "shared", options }), "follower");
  return { server, context, one, two };
}

/** Waits until one of the tabs leads, and gives their roles. A browser may tell of a page's end a little before it. */
export async function led(pages) {
  // The harness ends a test that waits for ever.
  for (;;) {
    const roles = await Promise.all(pages.map((page) => page.evaluate(() => db.role)));
    if (roles.includes("leader")) return roles;
  }
}

/** Waits until a number of a page, a global of this name, has grown by so much; or the page has noted errors, which the test finds. */
export async function grown(page, name, by) {
  const before = await page.evaluate((name) => globalThis[name], name);
  await page.waitForFunction(([name, least]) => globalThis[name] >= least || globalThis.errors?.length > 0, [name, before + by]);
}

/** How tabs reach each other: by the shared worker, or without it. */
export const WAYS = [
  ["by ports", () => {}],
  ["by channels", (context) => context.addInitScript(() => delete globalThis.SharedWorker)],
];
