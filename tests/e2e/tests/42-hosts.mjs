// Pages that lack something or forbid something, by both entries of the package.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const ENTRIES = ["index", "inline"];
const WORKS = { names: ["a", "b", "c"], instances: ["policy"], violations: [] };

function refused({ known, code, message }, pattern, what) {
  assert.ok(known, `${what}: ${message}`);
  assert.equal(code, "Unavailable", `${what}: ${message}`);
  assert.match(message, pattern, what);
}

/** A page under Trusted Types: `types` is what the header allows, `query` what the page asks for. */
async function visit(t, context, types, query) {
  const policy = "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; require-trusted-types-for 'script'";
  const server = await servePackage(t, { "content-security-policy": policy + types });
  return openPage(t, context, server, `/entry.html?${query}`);
}

test("Trusted Types: the inline entry makes a policy named tabstore, and works in a worker and in the page, twice", async (t) => {
  const context = await startBrowser(t);
  for (const types of ["", "; trusted-types tabstore"]) {
    const page = await visit(t, context, types, "entry=inline");
    for (const options of [{}, { worker: false }, { worker: true }]) {
      assert.deepEqual(await page.evaluate((given) => use(given), options), WORKS, `${types} ${JSON.stringify(options)}`);
    }
  }
});

test("Trusted Types: the default entry works in the page; its worker is refused by name, with what to do", async (t) => {
  const page = await visit(t, await startBrowser(t), "; trusted-types tabstore", "entry=index");
  const inWorker = await page.evaluate(() => use({}));
  refused(inWorker, /Trusted Types.*'trusted-types tabstore'.*tabstore\/inline.*default policy.*worker: false/, "worker");
  assert.ok(inWorker.violations.length > 0, "the browser itself says nothing: is the policy in force?");
  assert.deepEqual(await page.evaluate(() => use({ worker: false })), WORKS);
  t.note(`says: ${inWorker.message}`);
});

test("Trusted Types: with a default policy of the page both entries work, in a worker and in the page", async (t) => {
  const context = await startBrowser(t);
  for (const entry of ENTRIES) {
    const page = await visit(t, context, "; trusted-types default tabstore", `entry=${entry}&policy`);
    for (const options of [{}, { worker: false }])
      assert.deepEqual(await page.evaluate((given) => use(given), options), WORKS, `${entry} ${JSON.stringify(options)}`);
  }
});

test("Trusted Types: where no policy is allowed, the inline entry's worker is refused by the same name, and the page's thread works", async (t) => {
  const page = await visit(t, await startBrowser(t), "; trusted-types 'none'", "entry=inline");
  refused(await page.evaluate(() => use({})), /Trusted Types.*'trusted-types tabstore'/, "worker");
  assert.deepEqual(await page.evaluate(() => use({ worker: false })), WORKS);
});

test("a page without Worker runs the engine itself, and is told so when it insists; one without crypto is told that", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  for (const entry of ENTRIES) {
    const single = await openPage(t, context, server, `/no-worker/entry.html?entry=${entry}`);
    assert.equal(await single.evaluate(() => typeof Worker), "undefined");
    assert.deepEqual(await single.evaluate(() => use({})), WORKS, entry);
    refused(await single.evaluate(() => use({ worker: true })), /this host has no workers: open with worker: false/, entry);
    const predictable = await openPage(t, context, server, `/no-crypto/entry.html?entry=${entry}`);
    for (const options of [{}, { worker: false }]) refused(await predictable.evaluate((given) => use(given), options), /no crypto\.getRandomValues/, entry);
  }
});
