import assert from "node:assert/strict";
import { test } from "node:test";

import type { TableDescription } from "tabstore";

import { bytes, counted, elapsed, instant, period, sentence, share, timeToLive } from "../src/lib/format.ts";
import { formatRoute, parseRoute, type Route } from "../src/lib/route.ts";
import { changedOptions, DEFAULT_OPTIONS, optionErrors, optionTexts, toOptions } from "../src/lib/table-options.ts";

test("numbers, sizes and times", () => {
  assert.equal(counted(1, "row"), "1 row");
  assert.equal(counted(231083, "row"), "231,083 rows");
  assert.deepEqual([0, 1, 1023, 1024, 5 * 1024 * 1024, 300 * 1024].map(bytes), ["0 bytes", "1 byte", "1,023 bytes", "1.0 KB", "5.0 MB", "300 KB"]);
  assert.deepEqual([0.52, 12.4, 3200, 61_000].map(elapsed), ["0.5 ms", "12 ms", "3.2 s", "1 min 1 s"]);
  assert.equal(instant(1466676354000), "2016-06-23 10:05:54.000");
  assert.deepEqual([86_400, 9000, 1_000_000_000].map(period), ["1 day", "2 h 30 min", "31 years 259 days"]);
  assert.equal(timeToLive(-1), "never expires");
  assert.deepEqual(["the site's data was cleared", "Condition check failed.", "Really?"].map(sentence), [
    "the site's data was cleared.",
    "Condition check failed.",
    "Really?",
  ]);
  assert.deepEqual([share(1, 3), share(0, 5), share(0, 0)], ["33.3 %", "0 %", "–"]);
});

test("an address comes back as it was written", () => {
  const routes: Route[] = [
    {},
    { instance: "demo" },
    { instance: "demo", table: "reading", order: "BACKWARD", start: ["SEA", "1"], end: ["", "&?#/"] },
    { instance: "lesson", clock: 1469030400000, storage: "memory", table: "t" },
    { instance: "demo", table: "reading", view: "inside" },
    { instance: "demo", view: "code" },
    { instance: "sandbox", storage: "memory", view: "inside" },
    { instance: "demo", table: "t", where: `["all",["a?#&","EQUAL","STRING","x"]]`, columns: ["b", "a,b"], rows: "100" },
    { instance: "demo", table: "t", columns: [] },
    { instance: "demo", account: "demo" },
    { instance: "demo", account: "demo", entities: "stations", filter: "Name eq 'a&b?#' and n gt 3", select: ["Name", "a,b"] },
    { step: 3 },
    { lesson: 3, step: 2, seed: 7, teacher: true },
    { lesson: 8 },
    { instance: "tour" },
    { instance: "tour", table: "flight", view: "inside" },
    { instance: "lesson", table: "t3" },
    { example: "", settings: {} },
    { example: "chat", settings: {} },
    { example: "chat", settings: { as: "Ann & Bob", room: "a/b?#" } },
  ];
  for (const route of routes) {
    const back = parseRoute(formatRoute(route));
    assert.deepEqual(Object.fromEntries(Object.entries(back).filter(([, value]) => value !== undefined)), route);
  }
  assert.equal(parseRoute("#/%zz?start=[1]&clock=soon").instance, undefined);
  assert.equal(parseRoute("#/demo/t?start=[1]&clock=soon").start, undefined);
  assert.equal(parseRoute("#/demo?entities=stations&filter=x").entities, undefined, "entities are of an account");
  assert.equal(parseRoute("#/demo?view=outside").view, undefined);
  assert.equal(parseRoute("#/examples/").example, "");
  assert.equal(parseRoute(formatRoute({ instance: "examples", table: "t" })).instance, "Examples", "an instance may have the name of the examples");
});

test("W1, T4: the form of the four attributes keeps their rules", () => {
  assert.deepEqual(optionErrors(DEFAULT_OPTIONS), {});
  assert.deepEqual(toOptions(DEFAULT_OPTIONS), { timeToLive: -1, maxVersions: 1, maxVersionOffset: 86400, allowUpdate: true });
  const wrong = { ...DEFAULT_OPTIONS, forever: false, timeToLive: "86399", maxVersions: "0", maxVersionOffset: "1.5" };
  assert.deepEqual(Object.keys(optionErrors(wrong)), ["timeToLive", "maxVersions", "maxVersionOffset"]);
  assert.deepEqual(optionErrors({ ...wrong, timeToLive: "86400", maxVersions: "2147483647", maxVersionOffset: "1000000000" }), {});
});

test("W1, T5: only what was changed is sent", () => {
  const table = { timeToLive: 86400, maxVersions: 2, maxVersionOffset: 86400, allowUpdate: true } as TableDescription;
  const texts = optionTexts(table);
  assert.deepEqual(changedOptions(table, texts), {});
  assert.deepEqual(changedOptions(table, { ...texts, forever: true, maxVersions: "5" }), { timeToLive: -1, maxVersions: 5 });
});
