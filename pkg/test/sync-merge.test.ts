/** The rules by which two sides of a table agree, and the writes that follow. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { compareKeys, compareValues, keyOfText, keyText, type Columns, type TypedValue, typed } from "../src/sync/cells.js";
import { History } from "../src/sync/history.js";
import { merge, type MergeSide, unite } from "../src/sync/merge.js";
import { plan, signatureOf, signatureOfWrite } from "../src/sync/plan.js";
import type { ChangedCell, StreamRecord } from "../src/index.js";

const columns = (cells: Record<string, Record<number, number | string>> | null): Columns | null =>
  cells &&
  new Map(
    Object.entries(cells).map(([name, versions]) => [name, new Map(Object.entries(versions).map(([version, value]) => [Number(version), typed(value)]))]),
  );

const record = (type: StreamRecord["type"], timestamp: number, ...cells: ChangedCell[]): StreamRecord => ({
  type,
  timestamp,
  cells,
  primaryKey: { id: 1 },
  original: {},
  sequence: 0,
});
const put = (name: string, version: number, value: number): ChangedCell => ({ op: "PUT", name, version, value });
const remove = (name: string, version: number): ChangedCell => ({ op: "DELETE", name, version });

/** A side: what it shows, and its records; `"own"` before a record of the job itself. */
function side(shows: Parameters<typeof columns>[0], ...records: (StreamRecord | "own")[]): MergeSide {
  const history = new History();
  records.forEach((one, i) => one !== "own" && history.add(one, records[i - 1] === "own"));
  return { columns: columns(shows), history, isUncertain: false };
}

/** What a merge decides, as plain objects. */
function decided(a: MergeSide, b: MergeSide, maxVersions = 9): object {
  const merged = merge(a, b, maxVersions);
  const plain = [...merged.columns].map(
    ([name, versions]) => [name, Object.fromEntries([...versions].map(([version, { value }]) => [version, value]))] as const,
  );
  return { ...Object.fromEntries(plain), exists: merged.exists, conflicts: merged.conflicts };
}

test("what one side has changed is taken, whatever the clocks say", () => {
  const other = side({ x: { 5: 1 } });
  assert.deepEqual(decided(side({ x: { 5: 1, 9: 2 } }, record("UPDATE", 1, put("x", 9, 2))), other), { x: { 5: 1, 9: 2 }, exists: true, conflicts: 0 });
  assert.deepEqual(decided(other, side({}, record("UPDATE", 1, remove("x", 5)))), { x: {}, exists: true, conflicts: 0 });
  // A version of the future goes with its row.
  assert.deepEqual(decided(side(null, record("DELETE", 1)), other), { x: {}, exists: false, conflicts: 0 });
});

test("of two values of one version the larger one stays, on whichever side it is", () => {
  const small = side({ x: { 5: 1 } }, record("UPDATE", 9, put("x", 5, 1)));
  const large = side({ x: { 5: 2 } }, record("UPDATE", 3, put("x", 5, 2)));
  for (const merged of [decided(small, large), decided(large, small)]) assert.deepEqual(merged, { x: { 5: 2 }, exists: true, conflicts: 1 });
  const text: TypedValue = typed("a");
  assert.ok(compareValues(text, typed(99)) > 0);
  assert.ok(compareValues(typed(2, "DOUBLE"), typed(9)) > 0, "a Double is larger than any Integer");
  assert.equal(compareValues(typed(9n), typed(9)), 0);
  const [zero, negative] = [typed(0, "DOUBLE"), typed(-0, "DOUBLE")];
  assert.ok(compareValues(zero, negative) > 0 && compareValues(negative, zero) < 0, "the zeros of a Double have an order");
});

test("a deleted row takes what the other side has put before the deletion, and leaves what was put later", () => {
  const deleted = side(null, record("DELETE", 100));
  const written = side({ x: { 90: 1, 110: 2 } }, record("UPDATE", 95, put("x", 90, 1)), record("UPDATE", 111, put("x", 110, 2)));
  for (const merged of [decided(deleted, written), decided(written, deleted)]) assert.deepEqual(merged, { x: { 110: 2 }, exists: false, conflicts: 2 });
  const column = side({}, record("UPDATE", 100, { op: "DELETE_ALL", name: "x" }));
  assert.deepEqual(decided(column, written), { x: { 110: 2 }, exists: true, conflicts: 2 });
});

test("the later of a row that was put empty and one that was deleted stays; of the same time the row", () => {
  const exists = (a: number, b: number): unknown => (decided(side({}, record("PUT", a)), side(null, record("DELETE", b))) as { exists: unknown }).exists;
  assert.deepEqual([exists(1, 2), exists(2, 1), exists(2, 2)], [false, true, true]);
});

test("a value that the job has deleted by accident comes back from its record", () => {
  const lost = side(null, record("UPDATE", 1, put("x", 7, 3)), "own", record("DELETE", 2));
  assert.deepEqual(decided(lost, side(null)), { x: { 7: 3 }, exists: false, conflicts: 0 });
  // Deleted by the application itself behind its records: what it shows counts.
  assert.deepEqual(decided(side(null, record("UPDATE", 1, put("x", 7, 3))), side(null)), { x: {}, exists: false, conflicts: 0 });
  const unknown = { ...side(null, record("UPDATE", 1, put("x", 7, 3))), isUncertain: true };
  assert.deepEqual(decided(unknown, side(null)), { x: { 7: 3 }, exists: false, conflicts: 0 });
});

test("a value that the job has put again goes, because it was deleted later", () => {
  const again = side(
    { x: { 7: 3, 50: 4 } },
    record("UPDATE", 20, remove("x", 7), remove("x", 50)),
    "own",
    record("UPDATE", 21, put("x", 7, 3), put("x", 50, 4)),
  );
  // 50 is later than its deletion.
  assert.deepEqual(decided(again, side({ x: { 7: 3, 50: 4 } })), { x: { 50: 4 }, exists: true, conflicts: 0 });
});

test("both sides keep the newest versions of both", () => {
  const [a, b] = [side({ x: { 9: 9, 7: 7 } }, record("UPDATE", 1, put("x", 9, 9))), side({ x: { 8: 8, 7: 7 } }, record("UPDATE", 1, put("x", 8, 8)))];
  assert.deepEqual(decided(a, b, 2), { x: { 9: 9, 8: 8 }, exists: true, conflicts: 0 });
  const united = unite(columns({ x: { 1: 5 }, y: { 1: 1 } }), columns({ x: { 1: 4, 2: 2 } }), 9);
  assert.deepEqual(
    [...united.columns].map(([name, versions]) => [name, ...versions.keys()]),
    [
      ["x", 1, 2],
      ["y", 1],
    ],
  );
  assert.equal(united.columns.get("x")?.get(1)?.value, 5);
});

test("a row is written with what differs alone", () => {
  const key = { id: 1 };
  const wanted = { columns: columns({ x: { 1: 1, 2: 2 }, y: { 1: 1 } })!, keepsOthers: false, exists: true };
  const [write, ...others] = plan(key, columns({ x: { 1: 1, 3: 3 }, z: { 9: 9 } }), wanted, true);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [write.kind, write.put.map(({ name, version }) => name + version), write.remove.map(({ name, version }) => name + version)],
    ["update", ["x2", "y1"], ["x3", "z9"]],
  );
  assert.deepEqual(plan(key, columns({ x: { 1: 1, 2: 2 }, y: { 1: 1 } }), wanted, true), []);
  assert.equal(plan(key, columns({ x: { 1: 1 } }), wanted, false)[0].kind, "put");
  const empty = { columns: new Map() as Columns, keepsOthers: false };
  const kinds = ([null, {}, { x: { 1: 1 } }] as const).flatMap((shows) =>
    [true, false].map((exists) =>
      plan(key, columns(shows), { ...empty, exists }, true)
        .map(({ kind }) => kind)
        .join(),
    ),
  );
  assert.deepEqual(kinds, ["create", "", "", "delete", "put", "delete"]);
  const big = plan(
    key,
    null,
    { columns: new Map([["x", new Map(Array.from({ length: 2500 }, (_, i) => [i, typed("x".repeat(1000))]))]]), keepsOthers: false, exists: true },
    true,
  );
  assert.deepEqual(
    big.map(({ put }) => put.length),
    [1000, 1000, 500],
  );
});

test("the job knows the records of its own writes", () => {
  const key = [{ name: "id", type: "INTEGER" as const }];
  const write = { key: { id: 1 }, kind: "update" as const, put: [{ name: "x", version: 5, value: typed(2, "DOUBLE") }], remove: [{ name: "y", version: 3 }] };
  const wanted = signatureOfWrite(key, write);
  assert.equal(signatureOf(key, record("UPDATE", 77, remove("y", 3), put("x", 5, 2))), wanted);
  for (const other of [
    record("PUT", 77, remove("y", 3), put("x", 5, 2)),
    record("UPDATE", 77, put("x", 5, 2)),
    record("UPDATE", 77, remove("y", 3), put("x", 5, 3)),
  ])
    assert.notEqual(signatureOf(key, other), wanted);
});

test("keys are compared as the store sorts them, and come back from their texts", () => {
  const key = [
    { name: "a", type: "STRING" as const },
    { name: "b", type: "BINARY" as const },
    { name: "c", type: "INTEGER" as const },
  ];
  const bytes = (...all: number[]): Uint8Array => new Uint8Array(all);
  const sorted = [
    { a: "", b: bytes(), c: -5 },
    { a: "a", b: bytes(1), c: 2 },
    { a: "a", b: bytes(1), c: 10n },
    { a: "a", b: bytes(1, 0), c: 1 },
    { a: "\uffee", b: bytes(200), c: 2n ** 62n },
    // In UTF-16 it would come first.
    { a: "\u{1f600}", b: bytes(), c: 0 },
    null,
  ];
  sorted.forEach((one, i) => sorted.forEach((other, j) => assert.equal(Math.sign(compareKeys(key, one, other)), Math.sign(i - j), `${i} ${j}`)));
  for (const one of sorted) if (one !== null) assert.equal(compareKeys(key, keyOfText(key, keyText(key, one)), one), 0);
});

test("a row that was deleted while the job wrote to it is no row without cells", () => {
  const deleted = side({ x: { 50: 1 } }, record("DELETE", 100), "own", record("UPDATE", 101, put("x", 50, 1)));
  assert.deepEqual(decided(deleted, side({ x: { 50: 1 } })), { x: {}, exists: false, conflicts: 0 });
});

test("of two values of one version the larger one stays, also if its side was read before the other one was there", () => {
  const large = side({ x: { 5: 2 } }, record("UPDATE", 9, put("x", 5, 2)));
  const unread = side({}, record("UPDATE", 9, put("x", 5, 1)));
  for (const merged of [decided(large, unread), decided(unread, large)]) assert.deepEqual(merged, { x: { 5: 2 }, exists: true, conflicts: 1 });
  // The job has carried the larger one over; the other one's record comes once more.
  const written = side({ x: { 5: 2 } }, record("UPDATE", 9, put("x", 5, 1)), "own", record("UPDATE", 10, put("x", 5, 2)));
  assert.deepEqual(decided(written, side({ x: { 5: 2 } })), { x: { 5: 2 }, exists: true, conflicts: 0 });
});
