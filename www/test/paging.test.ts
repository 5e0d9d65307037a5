import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { RangeKey } from "tabstore";

import { type GetRange, type Page, pageBefore, pageFrom, PageTurns, type View } from "../src/browse/paging.ts";

/** A store of the keys 1 to 10 that keeps to the rules of GetRange [R3]. */
const store: GetRange = async ({ direction = "FORWARD", start, end, limit = 5000 }) => {
  const forward = direction === "FORWARD";
  const number = (key: RangeKey | undefined, open: number) => (key === undefined ? open : Number(key.id as bigint));
  const from = number(start, forward ? 0 : 11);
  const to = number(end, forward ? 11 : 0);
  const all = Array.from({ length: 10 }, (_, at) => at + 1).filter((id) => (forward ? id >= from && id < to : id <= from && id > to));
  if (!forward) all.reverse();
  const rows = all.slice(0, limit).map((id) => ({ primaryKey: { id: BigInt(id) } }));
  const next = all[limit];
  return { rows, nextStartPrimaryKey: next === undefined ? null : { id: BigInt(next) }, consumed: { read: 1, write: 0 } } as unknown as Awaited<
    ReturnType<GetRange>
  >;
};

const view = (change: Partial<View> = {}): View => ({
  tableName: "t",
  schema: [{ name: "id", type: "INTEGER" }],
  direction: "FORWARD",
  start: undefined,
  end: undefined,
  limit: 4,
  ...change,
});
const ids = (page: Page) => page.rows.map(({ primaryKey }) => Number(primaryKey.id));
const first = (page: Page) => page.rows[0]!.primaryKey as RangeKey;

test("R3: pages follow each other forward, and back the same way", async () => {
  const one = await pageFrom(store, view(), undefined);
  const two = await pageFrom(store, view(), one.next);
  const three = await pageFrom(store, view(), two.next);
  assert.deepEqual(
    [ids(one), ids(two), ids(three)],
    [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
    ],
  );
  assert.deepEqual([one.before, two.before, three.next], [false, true, undefined]);
  const back = await pageBefore(store, view(), first(three));
  assert.deepEqual([ids(back), back.before, back.next], [[5, 6, 7, 8], true, { id: 9n }]);
  const begin = await pageBefore(store, view(), first(back));
  assert.deepEqual([ids(begin), begin.before], [[1, 2, 3, 4], false]);
});

test("the last page is full, and has none after it", async () => {
  const last = await pageBefore(store, view(), undefined);
  assert.deepEqual([ids(last), last.before, last.next], [[7, 8, 9, 10], true, undefined]);
});

test("R3: going back stays inside the range: its start included, its end not", async () => {
  const range = view({ start: { id: 3n }, end: { id: 9n } });
  const last = await pageBefore(store, range, undefined);
  assert.deepEqual([ids(last), last.before], [[5, 6, 7, 8], true]);
  const before = await pageBefore(store, range, first(last));
  assert.deepEqual([ids(before), before.before], [[3, 4], false]);
});

test("the same backward", async () => {
  const range = view({ direction: "BACKWARD", start: { id: 9n }, end: { id: 2n } });
  const one = await pageFrom(store, range, undefined);
  assert.deepEqual([ids(one), one.next], [[9, 8, 7, 6], { id: 5n }]);
  const last = await pageBefore(store, range, undefined);
  assert.deepEqual([ids(last), last.before], [[6, 5, 4, 3], true]);
  assert.deepEqual(ids(await pageBefore(store, range, first(last))), [9, 8, 7]);
});

/** Turns of pages, and what they have shown. */
function turns() {
  const shown: number[][] = [];
  const asked = new PageTurns((page, error) => {
    shown.push(page === undefined ? [Number(error)] : ids(page));
  });
  return { shown, asked, slow: (key?: RangeKey) => async (over: View) => setTimeout(5, await pageFrom(store, over, key)) };
}

test("R3: the page that was asked for last is shown, whatever comes first", async () => {
  const { shown, asked, slow } = turns();
  asked.read(view(), slow());
  asked.read(view(), (over) => pageBefore(store, over, undefined));
  await setTimeout(20);
  assert.deepEqual(shown, [[7, 8, 9, 10]]);
});

test("R3: reading again does not lose the page that was asked for and has not come", async () => {
  const { shown, asked, slow } = turns();
  asked.read(view(), slow({ id: 5n }));
  asked.again(view(), slow());
  await setTimeout(20);
  assert.deepEqual(shown, [[5, 6, 7, 8]]);
  asked.again(view(), slow());
  await setTimeout(20);
  assert.deepEqual(
    shown,
    [
      [5, 6, 7, 8],
      [1, 2, 3, 4],
    ],
    "what is shown is read again",
  );
});

test("R3: a page that cannot be read shows its error, and only if it was asked for last", async () => {
  const { shown, asked, slow } = turns();
  asked.read(view(), () => Promise.reject(7));
  asked.read(view(), slow());
  await setTimeout(20);
  asked.read(view(), () => Promise.reject(8));
  await setTimeout(1);
  assert.deepEqual(shown, [[1, 2, 3, 4], [8]]);
});

/** A store that goes through three rows a call, and keeps the even ones. */
const sparse: GetRange = async (request) => {
  const got = await store({ ...request, limit: 3 });
  return { ...got, rows: got.rows.filter(({ primaryKey }) => Number(primaryKey.id) % 2 === 0).slice(0, request.limit) };
};
const filter = { column: "even", comparator: "EXIST" } as const;

test("R3, R6: with a filter a page goes on until it is full, and tells what that cost", async () => {
  const one = await pageFrom(sparse, view({ filter, limit: 3 }), undefined);
  assert.deepEqual([ids(one), one.consumed.read], [[2, 4, 6], 2]);
  assert.equal(one.view.filter, filter, "a page tells what it is a page of: who follows it must not take it for one of another view");
  const two = await pageFrom(sparse, view({ filter, limit: 3 }), one.next);
  assert.deepEqual([ids(two), two.next], [[8, 10], undefined]);
  assert.deepEqual(ids(await pageBefore(sparse, view({ filter, limit: 2 }), { id: 8n })), [4, 6]);
  // Backward it does not go on before the range.
  const last = await pageBefore(sparse, view({ filter, limit: 4, start: { id: 7n } }), undefined);
  assert.deepEqual([ids(last), last.before, last.consumed.read], [[8, 10], false, 2]);
});

test("R3, R6: a search that is stopped reads no more, and shows nothing", async () => {
  let calls = 0;
  const shown: unknown[] = [];
  const turns = new PageTurns((page, error) => shown.push(page ?? error));
  const never: GetRange = async () => {
    calls += 1;
    if (calls === 2) turns.stop();
    return { rows: [], nextStartPrimaryKey: { id: 1n }, consumed: { read: 1, write: 0 } };
  };
  turns.read(view({ filter }), (asked, signal) => pageFrom(never, asked, undefined, signal));
  await setTimeout(20);
  assert.deepEqual([calls, shown], [2, []]);
});
