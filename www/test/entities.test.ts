import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { open, TabStoreError } from "tabstore";
import { azure } from "tabstore/azure";

import {
  changeElsewhere,
  type Continuation,
  createTable,
  deleteTable,
  insert,
  listTables,
  type Place,
  readEntity,
  readPage,
  remove,
  update,
} from "../src/azure/client.ts";
import { loadSample, SAMPLE_ENTITIES } from "../src/azure/samples.ts";
import { EntityTurns, FIRST, type ReadPage, type ShownPage } from "../src/azure/turns.ts";
import { differences, EDM_TYPES, type Entity, exampleFilters, leftOut, type Property, sentBy, wrongNames } from "../src/lib/entities.ts";
import { calls } from "../src/state/calls.ts";

const db = await open("console", { storage: "memory" });
after(() => db.close());

async function place(table: string): Promise<Place> {
  const made = { db, account: "demo", table };
  await createTable(made);
  return made;
}

async function failure(work: Promise<unknown>): Promise<TabStoreError> {
  return work.then(
    () => assert.fail("it was done"),
    (error: unknown) => {
      assert.ok(error instanceof TabStoreError, String(error));
      return error;
    },
  );
}

const key = { partitionKey: "a'b& ä", rowKey: "" };
const shown = ({ properties }: Entity) => properties.map(({ name, type, text }) => `${name} ${type} ${text}`);
const names = (entities: readonly Entity[]) => entities.map(({ partitionKey, rowKey }) => `${partitionKey}${rowKey}`);

test("Z1, W1: the console makes, lists and deletes tables of an account", async () => {
  const one = { db, account: "other", table: "Things" };
  await createTable(one);
  await createTable({ ...one, table: "more" });
  assert.deepEqual(await listTables(db, "OTHER"), ["more", "Things"]);
  assert.deepEqual(
    [(await failure(createTable(one))).code, calls.value[0]?.error?.code],
    ["TableAlreadyExists", "TableAlreadyExists"],
    "and the calls tell of it",
  );
  await deleteTable(one);
  assert.deepEqual(await listTables(db, "other"), ["more"]);
});

test("Z2, W1: what the console has read it writes back as it was, with every type", async () => {
  const types = await place("types");
  const properties: Property[] = [
    { name: "again", type: "Double", text: "3.0" },
    { name: "bytes", type: "Binary", text: "AQL/" },
    { name: "count", type: "Int32", text: "3" },
    { name: "date", type: "DateTime", text: "2026-01-01T00:00:00.1234567Z" },
    { name: "empty", type: "String", text: "" },
    { name: "guid", type: "Guid", text: "0f8fad5b-d9cb-469f-a165-70867728950e" },
    { name: "large", type: "Double", text: "1e+300" },
    { name: "long", type: "Int64", text: "9223372036854775807" },
    { name: "nan", type: "Double", text: "NaN" },
    { name: "text", type: "String", text: '"3.0", {"a":1.5}\\"\n-2' },
    { name: "yes", type: "Boolean", text: "true" },
  ];
  assert.deepEqual(new Set(properties.map(({ type }) => type)), new Set(EDM_TYPES));
  await insert(types, key, properties);
  const first = await readEntity(types, key);
  assert.deepEqual([first.partitionKey, first.rowKey], [key.partitionKey, key.rowKey]);
  assert.match(first.timestamp!, /^\d{4}-.*Z$/);
  assert.deepEqual(
    shown(first).filter((line) => !line.startsWith("large")),
    properties.filter(({ name }) => name !== "large").map(({ name, type, text }) => `${name} ${type} ${text}`),
  );
  await update(types, key, "Replace", first.properties, first.etag);
  const again = await readEntity(types, key);
  assert.deepEqual(again.properties, first.properties);
  assert.notEqual(again.etag, first.etag);
  // The page has the same.
  assert.deepEqual((await readPage(types, { pageSize: 10 })).entities, [again]);
  assert.deepEqual(shown((await readPage(types, { pageSize: 10, select: ["count", "missing"] })).entities[0]!), ["count Int32 3"]);
  assert.equal(
    (await failure(update(types, key, "Merge", [{ name: "count", type: "Int32", text: "three" }], "*"))).code,
    "InvalidInput",
    "the service says what is no value",
  );
});

test("Z3, W1: the sample has entities of all types, and is read page by page to its end", async () => {
  const stations = await place("stations");
  await loadSample(stations);
  const pages: Entity[][] = [];
  let next: Continuation | undefined;
  do {
    const page = await readPage(stations, { pageSize: 20 }, next);
    pages.push([...page.entities]);
    ({ next } = page);
  } while (next !== undefined);
  const all = pages.flat();
  assert.deepEqual([pages.length, all.length, new Set(names(all)).size], [Math.ceil(SAMPLE_ENTITIES / 20), SAMPLE_ENTITIES, SAMPLE_ENTITIES]);
  assert.deepEqual(new Set(all.flatMap(({ properties }) => properties.map(({ type }) => type))), new Set(EDM_TYPES));
  await loadSample(stations);
  assert.equal((await readPage(stations, { pageSize: 1000 })).entities.length, SAMPLE_ENTITIES, "it may be loaded again");
});

test("Z3, W1: pages of entities are turned forward and back; the one that was asked for last is shown", async () => {
  const stations = { db, account: "demo", table: "stations" };
  const shown: (ShownPage | unknown)[] = [];
  let wake = () => {};
  const turns = new EntityTurns((page, error) => {
    shown.push(page ?? error);
    wake();
  });
  const read: ReadPage = (from) => readPage(stations, { pageSize: 30 }, from);
  const come = () =>
    new Promise<ShownPage>((resolve) => {
      wake = () => resolve(shown.at(-1) as ShownPage);
    });
  const turn = (starts: ShownPage["starts"]) => {
    turns.to(read, starts);
    return come();
  };
  const one = await turn(FIRST);
  const two = await turn([...one.starts, one.next]);
  const three = await turn([...two.starts, two.next]);
  assert.deepEqual(
    [one, two, three].map(({ entities, starts, next }) => [entities.length, starts.length, next === undefined]),
    [
      [30, 1, false],
      [30, 2, false],
      [15, 3, true],
    ],
  );
  assert.deepEqual(names((await turn(three.starts.slice(0, -1))).entities), names(two.entities));
  // A page that comes late is not shown, and reading again reads the page that was asked for.
  const before = shown.length;
  turns.to(async (from) => setTimeout(30, await read(from)), FIRST);
  turns.to(read, two.starts);
  turns.again(read, FIRST);
  assert.deepEqual(names((await come()).entities), names(two.entities));
  await setTimeout(60);
  assert.equal(shown.length, before + 1);
  turns.to(() => Promise.reject(new Error("no")), FIRST);
  assert.match(String(await come()), /no/);
});

test("Z3, W1: each filter that the console offers finds some of the sample, and the last one has the service's error", async () => {
  const stations = { db, account: "demo", table: "stations" };
  const { entities } = await readPage(stations, { pageSize: 1000 });
  const filters = exampleFilters(entities);
  assert.ok(filters.length >= 7, filters.join("; "));
  for (const filter of filters.slice(0, -1)) {
    const found = (await readPage(stations, { pageSize: 1000, filter })).entities.length;
    assert.ok(found > 0 && found < entities.length, `${filter}: ${found}`);
  }
  const wrong = await failure(readPage(stations, { pageSize: 1000, filter: filters.at(-1) }));
  assert.deepEqual([wrong.code, wrong.status], ["InvalidInput", 400]);
  assert.match(wrong.message, /^Syntax error at position \d+ in 'PartitionKey equals '/);
  assert.doesNotMatch(wrong.message, /RequestId/);
  assert.deepEqual(exampleFilters([]), []);
});

test("Z2, W1: an entity that was changed elsewhere is neither changed nor deleted by its old version, and is by *", async () => {
  const things = await place("things");
  const value = (text: string): Property => ({ name: "n", type: "Int32", text });
  await insert(things, key, [{ name: "kept", type: "String", text: "x" }, value("1")]);
  const read = await readEntity(things, key);
  assert.deepEqual(await changeElsewhere(things, key), value("2"));
  const refused = await failure(update(things, key, "Merge", [value("7")], read.etag));
  assert.deepEqual([refused.code, refused.status], ["UpdateConditionNotSatisfied", 412]);
  assert.equal((await failure(remove(things, key, read.etag))).code, "UpdateConditionNotSatisfied");
  const now = await readEntity(things, key);
  assert.deepEqual(differences(read.properties, now.properties, { mode: "Merge", sent: [value("7")] }), [
    { name: "kept", now: now.properties[0], wanted: now.properties[0], changed: false },
    { name: "n", now: value("2"), wanted: value("7"), changed: true },
  ]);
  await update(things, key, "Merge", [value("7")], "*");
  assert.deepEqual(shown(await readEntity(things, key)), ["kept String x", "n Int32 7"]);
  await remove(things, key, "*");
  assert.equal((await failure(readEntity(things, key))).code, "ResourceNotFound");
  // An entity without numbers is changed elsewhere too.
  await azure(db, "demo").table("things").createEntity({ partitionKey: "p", rowKey: "r" });
  assert.equal((await changeElsewhere(things, { partitionKey: "p", rowKey: "r" })).type, "DateTime");
});

test("a merge sends what was changed, a replace everything; what is left out is told", () => {
  const property = (name: string, text = "1", type: Property["type"] = "Int32"): Property => ({ name, type, text });
  const stored = [property("a"), property("b"), property("c")];
  const edited = [property("a"), property("b", "1", "Double"), property("d")];
  assert.deepEqual(
    sentBy("Merge", stored, edited).map(({ name }) => name),
    ["b", "d"],
  );
  assert.deepEqual(sentBy("Replace", stored, edited), edited);
  assert.deepEqual(leftOut(stored, edited), ["c"]);
  assert.deepEqual(
    differences(stored, stored, { mode: "Replace", sent: edited }).map(({ name, wanted }) => `${name} ${wanted?.type}`),
    ["a Int32", "b Double", "c undefined", "d Int32"],
  );
  assert.deepEqual(
    differences(stored, stored, { mode: "Delete" }).map(({ wanted }) => wanted),
    [undefined, undefined, undefined],
  );
});

test("names that would be lost, or come twice, are told before anything is sent", () => {
  const named = (...all: string[]) => wrongNames(all.map((name) => ({ name, type: "String", text: "x" })));
  assert.equal(named("a", "b"), undefined);
  assert.match(named("a", "")!, /“x” has no name/);
  assert.match(named("a", "a")!, /two properties/);
  assert.equal(wrongNames([{ name: "etag", type: "String", text: "x" }], []), undefined, "a merge does not send what was not changed");
  for (const taken of ["PartitionKey", "rowKey", "Timestamp", "etag"]) assert.match(named(taken)!, new RegExp(taken));
});
