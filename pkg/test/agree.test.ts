/** Options of openers that share an engine: what is compared, also between tabs of two releases, and what goes along. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { agree } from "../src/tabs/compare-options.js";
import { TabStoreError } from "../src/types/errors.js";
import type { EngineOptions } from "../src/host/host.js";
import type { OpenOptions } from "../src/types/rows.js";
import { checked, leads, WaitingTab } from "./support/tab.js";
import { undo, undoAll } from "./support/undo.js";

const code =
  (wanted: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof TabStoreError && error.code === wanted && message.test(error.message);
const figures = async (): Promise<unknown> => assert.fail("no figure is compared");
const { engine: OPENED } = checked();

afterEach(undoAll);

/** A leader in another tab, opened with these options, which another release may have. */
function leader(options: object, metrics: object = {}): void {
  const { leader: led } = leads(options as EngineOptions, 1, metrics);
  undo.push(() => led.stop());
}

/** Opens a handle in a tab that follows. */
async function follower(options: OpenOptions): Promise<WaitingTab> {
  const tab = new WaitingTab(options);
  const client = await tab.join();
  undo.push(() => client.close());
  return tab;
}

test("another release has another default: what counts is the value with which the engine was opened", async () => {
  leader({ ...OPENED, durability: "strict" });
  await follower({});
  await follower({ durability: "strict" });
  await assert.rejects(follower({ durability: "relaxed" }), code("OTSParameterInvalid", /'durability' is 'relaxed', .* with 'strict'\.$/));
});

test("options of another release: those that only the leader knows are its own, those that it does not know are refused by name", async () => {
  await agree("demo", {}, { ...OPENED, colour: "red", given: { colour: "red" } } as EngineOptions, figures);
  const refused = code("OTSParameterInvalid", /'colour' is 'red', but the instance 'demo' is open already, by a version of TabStore that does not know it\.$/);
  await assert.rejects(agree("demo", { colour: "red" }, OPENED, figures), refused);
  await assert.rejects(agree("demo", { "colour.dark": "red" }, OPENED, figures), code("OTSParameterInvalid", /'colour\.dark' .* does not know it\.$/));
});

test("a leader of another release: the next one opens with its options, and with its own where that release has none", async () => {
  const { limits: _, reserveBytes: __, ...known } = OPENED;
  leader({ ...known, durability: "strict", cacheBytes: 5, colour: "red", given: { colour: "red", cacheBytes: 5 } }, { reserve: { capacity: 9 } });
  const { inherited } = await follower({ reserveBytes: 9 });
  const { limits, durability, cacheBytes, reserveBytes, lost, create } = inherited!;
  assert.deepEqual(
    { limits, durability, cacheBytes, reserveBytes, lost, create },
    { limits: "document", durability: "strict", cacheBytes: 5, reserveBytes: 9, lost: "refuse", create: false },
  );
});

test("who has not asked for salvage never gets it: not in another tab, and not from another handle", async () => {
  const refused = code("OTSParameterInvalid", /'demo' is open already, with salvage: true, so it is read-only\.$/);
  leader({ ...OPENED, salvage: true, create: false });
  await assert.rejects(follower({}), refused);
  await assert.rejects(follower({ salvage: false }), refused);
  const { inherited } = await follower({ salvage: true });
  assert.equal(inherited!.salvage, true);
  const tab = new WaitingTab({ salvage: true });
  tab.lead();
  const clients = [await tab.join()];
  await assert.rejects(tab.join({}), refused);
  clients.push(await tab.join({ salvage: true }));
  for (const client of clients) await client.close();
});
