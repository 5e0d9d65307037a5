/** A tab that followed and leads now: its handles get sessions of its own engine, whatever they were waiting for. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { TabStoreError } from "../src/types/errors.js";
import type { EngineOptions } from "../src/host/host.js";
import { checked, leads, WaitingTab } from "./support/tab.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

const code =
  (wanted: string, message = /./) =>
  (error: unknown): boolean =>
    error instanceof TabStoreError && error.code === wanted && message.test(error.message);

afterEach(undoAll);

test("handles that wait for a session of another tab when this one begins to lead: their options are compared", async () => {
  const tab = new WaitingTab();
  const waiting = [tab.join(), tab.join({ durability: "strict" }), tab.join({ durability: "relaxed" })];
  const refused = assert.rejects(waiting[1], code("OTSParameterInvalid", /'durability' is 'strict', .* with 'relaxed'/));
  // The code for that is loaded meanwhile.
  await turn(50);
  tab.lead();
  await refused;
  const [one, , three] = await Promise.allSettled(waiting);
  assert.deepEqual([one.status, three.status], ["fulfilled", "fulfilled"]);
  assert.deepEqual(
    tab.own.map(({ closed }) => closed),
    [false, true, false],
  );
  for (const opened of [one, three]) if (opened.status === "fulfilled") await opened.value.close();
  assert.ok(tab.closed);
});

test("a tab that leads before it heard which options the last leader had: handles in other tabs that asked for others are told, the rest go on", async () => {
  const options = (durability: string): EngineOptions => ({ ...checked().engine, durability });
  const first = leads(options("strict"), 1).leader;
  const [asked, rest] = await Promise.all([new WaitingTab({ durability: "strict" }), new WaitingTab()].map((tab) => tab.join()));
  first.stop();
  const next = leads(options("relaxed"), 2);
  undo.push(
    () => next.leader.stop(),
    () => rest.close(),
  );
  await assert.rejects(asked.admin("listTable", {}), code("OTSParameterInvalid", /'durability' is 'strict', .* with 'relaxed'/));
  await rest.admin("listTable", {});
  assert.ok(asked.closedBy !== undefined && rest.closedBy === undefined);
  await turn(50);
  assert.deepEqual(next.sessions.map(({ closed }) => closed).sort(), [false, true], "a refused handle keeps no session");
});

test("a handle that is closed, or given up, while its tab begins to lead keeps no session", async () => {
  const { engine } = checked();
  const { leader } = leads(engine, 1);
  undo.push(() => leader.stop());
  const tab = new WaitingTab();
  const clients = [await tab.join(), await tab.join({}), await tab.join({})];
  leader.stop();
  const control = new AbortController();
  const given = assert.rejects(tab.join({}, control.signal), /given up/);
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  tab.lead(async (number) => {
    asked();
    if (number === clients[0].number) await held;
  });
  await isAsked;
  // The first one's session is on its way, the second one's is not yet asked for.
  const closed = [clients[0].close(), clients[1].close()];
  control.abort(new Error("given up"));
  goOn();
  await given;
  await Promise.all(closed);
  await turn(5);
  assert.equal(tab.own.filter((session) => !session.closed).length, 1);
  await clients[2].close();
  assert.ok(tab.closed);
});

test("a handle that is closed while its tab comes back from the back/forward cache, and leads, keeps no session", async () => {
  const tab = new WaitingTab();
  tab.lead();
  const clients = [await tab.join(), await tab.join({})];
  tab.report.onLost();
  tab.report.onReplaced();
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const before = tab.own.length;
  tab.lead(async () => {
    asked();
    await held;
  });
  await isAsked;
  const closed = clients[0].close();
  goOn();
  await closed;
  await turn(5);
  assert.deepEqual(
    tab.own.slice(before).map((session) => session.closed),
    [true, false],
  );
  await clients[1].close();
});

test("a clock that was moved goes along: to tabs that follow, to those that come later, and to this page's next engine", async () => {
  const { engine } = checked({ clock: { now: 5 } });
  const { leader } = leads(engine, 1);
  undo.push(() => leader.stop());
  const early = new WaitingTab();
  const clients = [await early.join()];
  assert.equal(early.inherited!.clock, 5);
  leader.tellClock(6);
  await turn(5);
  const late = new WaitingTab();
  clients.push(await late.join());
  assert.deepEqual([early.inherited!.clock, late.inherited!.clock], [6, 6]);
  leader.stop();
  for (const client of clients) await client.close();
  const own = new WaitingTab({ clock: { now: 5 } });
  own.lead();
  const client = await own.join();
  own.report.onClock(7);
  own.report.onLost();
  own.report.onReplaced();
  assert.equal(own.opened.clock, 7);
  own.lead();
  await client.close();
});
