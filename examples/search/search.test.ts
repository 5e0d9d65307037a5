/** The search finds what a fresh index finds, whatever is written and whenever the index is stopped, stored and loaded. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { test } from "node:test";
import type { Database } from "tabstore";

import { textOf } from "../follow.ts";
import { openThings, restarted, TABLE } from "../support/writes.ts";
import { marked, type Saved, TableSearch } from "./search.ts";

const FIELDS = ["title", "text"];
const QUERIES = ["apple", "App", "aprikot", "blue zebra", "brien", "été", "uber", "Über", "東京", "green cherry bread", "old", "nothing"];

/** What is found: the same rows with the same texts, and scores that differ only by rounding. */
const found = (search: TableSearch): unknown =>
  QUERIES.map((query) =>
    search
      .search(query)
      .map(({ primaryKey, texts, words, score }) => [textOf(primaryKey), texts, words.toSorted(), score.toFixed(6)])
      .sort(),
  );

async function fresh(db: Database): Promise<TableSearch> {
  const search = new TableSearch(FIELDS);
  let rows = 0;
  for await (const _ of db.scan({ tableName: TABLE })) rows += 1;
  for await (const _ of search.follow(db, TABLE)) if (search.size === rows) break;
  return search;
}

test("ST4: an index that is stopped, stored and goes on at random finds what a fresh index finds, deletes included", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const db = await openThings(seed % 2 === 0 ? 3 : 1, seed % 2 === 0 ? 700 : 0);
    let search = new TableSearch(FIELDS);
    let saved: Saved | undefined;
    let runs = 0;
    const follower = (signal: AbortSignal) => {
      // Sometimes the page is reloaded, with what was stored last.
      if (++runs % 3 === 0) search = new TableSearch(FIELDS, saved);
      else if (runs % 3 === 1) saved = structuredClone(search.save());
      return search.follow(db, TABLE, signal);
    };
    await restarted(db, seed, { versions: true }, follower, async () => isDeepStrictEqual(found(search), found(await fresh(db))));
    assert.deepEqual(found(search), found(await fresh(db)), `seed ${seed}`);
    assert.ok(search.search("apple").length > 0 && search.search("nothing").length === 0);
    await db.close();
  }
});

test("ST4: the search finds beginnings and words with a slip, the title first, and marks what matches", async () => {
  const db = await openThings(1);
  const put = (id: number, title: string, text: string) => db.putRow({ tableName: TABLE, primaryKey: { kind: "book", id }, attributes: { title, text } });
  await put(1, "Bread and roses", "Of a strike in a mill, and of bread.");
  await put(2, "The mill", "Bread is made there; the Miller’s bread.");
  await put(3, "Stars", "Nothing of that.");
  const search = new TableSearch(FIELDS);
  for await (const _ of search.follow(db, TABLE)) if (search.size === 3) break;
  const titles = (query: string) => search.search(query).map(({ texts }) => texts.title);
  assert.deepEqual(titles("bre"), ["Bread and roses", "The mill"]);
  assert.deepEqual(titles("strke"), ["Bread and roses"]);
  assert.deepEqual(titles("bread mill").toSorted(), ["Bread and roses", "The mill"]);
  assert.deepEqual(titles(""), []);
  const [hit] = search.search("roses bre");
  assert.deepEqual(marked(hit?.texts.title ?? "", hit?.words ?? []), [
    { part: "Bread", hit: true },
    { part: " ", hit: false },
    { part: "and", hit: false },
    { part: " ", hit: false },
    { part: "roses", hit: true },
  ]);
  await db.close();
});
