/** Requests as lines, and lines as requests: what is shown for a request is read as the same one. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { linesOf, requestOf, type ShellRequest, type TableKey } from "../src/shell/index.js";
import type { Attributes, Filter, InputCell, InputValue, KeyColumn, KeyType, KeyValue, RangeKey } from "../src/index.js";
import { Double, double } from "../src/types/double.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../src/types/values.js";
import { random, skip } from "./support/package.js";
import { testShell } from "./support/shell.js";

/** A value whose equals are equal for `deepEqual`: integers as bigints, doubles by their bits. */
function normal(value: unknown): unknown {
  if (typeof value === "number") return Number.isInteger(value) && !Object.is(value, -0) ? BigInt(value) : new Double(value);
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof Double) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, normal(member)]),
  );
}

const NAMES = ["a", "B_2", "_", "name", "__proto__", "constructor", "toString"];
const TEXTS = ["", "x", "it's", 'a "b"', "名前", "--attr", "back\\slash", "\n\t\u0000", "[1]", "#", "\u{1f600}", "$HOME `x`", "'", "\u2028"];
const INTEGERS = [0, -1, 86400, 2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n, 15327798534];
const DOUBLES = [0, -0, 0.1, 1, 1e300, 5e-324, -2.5, 2 ** 60, 1e21];

/** Makes random requests. */
class Maker {
  constructor(readonly next: (below: number) => number) {}

  of<T>(all: readonly T[]): T {
    return all[this.next(all.length)]!;
  }
  some<T>(make: () => T): T | undefined {
    return this.next(2) === 0 ? undefined : make();
  }
  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.next(most) }, make);
  }
  names(): string[] {
    return [...new Set(this.list(3, () => this.of(NAMES)))];
  }
  bytes(): Uint8Array {
    return Uint8Array.from({ length: this.next(5) }, () => this.next(256));
  }
  value(): InputValue {
    return this.of<() => InputValue>([
      () => this.of(TEXTS),
      () => this.of(INTEGERS),
      () => double(this.of(DOUBLES)),
      () => this.next(2) === 0,
      () => this.bytes(),
    ])();
  }
  table(): TableKey {
    const primaryKey = Array.from({ length: 1 + this.next(4) }, (_, at) => ({
      name: `k${at}`,
      type: this.of<KeyType>(["STRING", "INTEGER", "BINARY"]),
    }));
    return { tableName: this.of(["t", "mytable", "_T_9"]), primaryKey };
  }
  /** The key of a new table: the store gives the values of its last column, or those that nobody chooses. */
  schema({ primaryKey }: TableKey): KeyColumn[] {
    const own = this.of([{}, { autoIncrement: true }, { autoIncrement: true, allowChosen: true }]);
    return primaryKey.map((column, at) => (at === primaryKey.length - 1 ? { ...column, ...own } : column));
  }
  keyValue(type: KeyType): KeyValue {
    return type === "STRING" ? this.of(TEXTS) : type === "INTEGER" ? this.of(INTEGERS) : this.bytes();
  }
  key({ primaryKey }: TableKey): Record<string, KeyValue> {
    return Object.fromEntries(primaryKey.map(({ name, type }) => [name, this.keyValue(type)]));
  }
  bound({ primaryKey }: TableKey): RangeKey {
    return Object.fromEntries(primaryKey.map(({ name, type }) => [name, this.of([() => this.keyValue(type), () => INF_MIN, () => INF_MAX])()]));
  }
  attributes(): Attributes {
    const cell = (): InputCell => ({ value: this.value(), version: this.of([1, 1700000000000, 2n ** 60n]) });
    return Object.fromEntries(this.names().map((name) => [name, this.next(2) === 0 ? this.value() : this.list(3, cell)]));
  }
  filter(depth = 0): Filter {
    if (depth < 3 && this.next(3) === 0) return { operator: this.of(["NOT", "AND", "OR"] as const), filters: this.list(3, () => this.filter(depth + 1)) };
    if (this.next(6) === 0) return { offset: this.next(5), limit: 1 + this.next(5) };
    const rest = {
      passIfMissing: this.some(() => this.next(2) === 0),
      latestVersionOnly: this.some(() => this.next(2) === 0),
      valueTransferRule: this.some(() => ({ regex: this.of(["^a(\\d+)", "'\""]), castType: this.of(["INTEGER", "DOUBLE", "STRING"] as const) })),
    };
    if (this.next(4) === 0) return { column: this.of(NAMES), comparator: this.of(["EXIST", "NOT_EXIST"] as const), ...rest };
    return { column: this.of(NAMES), comparator: this.of(["EQUAL", "LESS_THAN"] as const), value: this.value(), ...rest };
  }
  condition() {
    const rowExistence = this.of([undefined, "EXPECT_EXIST", "EXPECT_NOT_EXIST"] as const);
    const column = this.some(() => this.filter());
    return rowExistence === undefined && column === undefined ? undefined : { rowExistence, column };
  }
  reading() {
    const isOne = this.next(4) === 0;
    return {
      columnsToGet: this.some(() => this.names()),
      maxVersions: isOne ? undefined : this.some(() => 1 + this.next(9)),
      timeRange: isOne ? { version: this.of(INTEGERS) } : this.some(() => ({ start: 0, end: this.of(INTEGERS) })),
      filter: this.some(() => this.filter()),
    };
  }
  settings() {
    return {
      timeToLive: this.some(() => this.of([-1, 86400])),
      maxVersions: this.some(() => 1 + this.next(5)),
      maxVersionOffset: this.some(() => 1 + this.next(100000)),
      allowUpdate: this.some(() => this.next(2) === 0),
    };
  }
  request(table: TableKey): ShellRequest {
    const { tableName } = table;
    const throughput = { read: this.next(9), write: this.next(9) };
    return this.of<() => ShellRequest>([
      () => ({
        operation: "createTable",
        request: { tableName, primaryKey: this.schema(table), ...this.settings(), reservedThroughput: this.some(() => throughput) },
      }),
      () => ({ operation: "updateTable", request: { tableName, ...this.settings(), timeToLive: -1, reservedThroughput: this.some(() => ({ write: 3 })) } }),
      () => ({ operation: "deleteTable", request: { tableName } }),
      () => ({
        operation: "putRow",
        request: { tableName, primaryKey: this.key(table), attributes: this.some(() => this.attributes()), condition: this.condition() },
      }),
      () => ({
        operation: "updateRow",
        request: {
          tableName,
          primaryKey: this.key(table),
          put: this.some(() => this.attributes()),
          deleteColumns: this.some(() => this.names()),
          deleteVersions: this.some(() => Object.fromEntries(this.names().map((name) => [name, this.list(2, () => this.of([1, 2n ** 60n]))]))),
          condition: this.condition(),
        },
      }),
      () => {
        const increment = Object.fromEntries(this.names().map((name) => [name, this.of(INTEGERS)]));
        return {
          operation: "updateRow",
          request: { tableName, primaryKey: this.key(table), increment, returnContent: { afterModify: Object.keys(increment) } },
        };
      },
      () => ({ operation: "deleteRow", request: { tableName, primaryKey: this.key(table), condition: this.condition() } }),
      () => ({ operation: "getRow", request: { tableName, primaryKey: this.key(table), ...this.reading() } }),
      () => ({
        operation: "scan",
        request: {
          tableName,
          direction: this.of([undefined, "BACKWARD"] as const),
          start: this.some(() => this.bound(table)),
          end: this.some(() => this.bound(table)),
          limit: this.some(() => 1 + this.next(100)),
          ...this.reading(),
        },
      }),
    ])();
  }
}

/** The request without an end of a range that is infinite anyway. */
function reduced({ operation, request }: ShellRequest): unknown {
  const copy: Record<string, unknown> = { ...request };
  for (const [name, rest] of [
    ["start", copy.direction === "BACKWARD" ? "max" : "min"],
    ["end", copy.direction === "BACKWARD" ? "min" : "max"],
  ] as const) {
    if (copy[name] !== undefined && Object.values(copy[name] as object).every((value: { infinity?: string }) => value.infinity === rest)) delete copy[name];
  }
  return normal({ operation, request: copy });
}

test("W2: the line of each of 5,000 random requests is read as the same request", () => {
  const made = new Maker(random(20261130));
  for (let round = 0; round < 5000; round++) {
    const table = made.table();
    const request = made.request(table);
    const { lines, leftOut } = linesOf(request, table);
    assert.deepEqual(leftOut, []);
    const line = lines.at(-1)!;
    assert.deepEqual(reduced(requestOf(line, table, double)!), reduced(request), line);
    if (lines.length > 1) assert.equal(lines[0], `use -t ${table.tableName}`);
  }
});

test("W2: the lines of requests are those of the documents", () => {
  const table: TableKey = {
    tableName: "mytable",
    primaryKey: [
      { name: "uid", type: "STRING" },
      { name: "pid", type: "INTEGER" },
    ],
  };
  const line = (request: ShellRequest): string => linesOf(request, table).lines.join("\n");
  assert.equal(
    line({ operation: "updateTable", request: { tableName: "mytable", timeToLive: 86400, maxVersions: 1 } }),
    "alter -t mytable --ttl 86400 --version 1",
  );
  assert.equal(line({ operation: "createTable", request: { ...table } }), `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`);
  assert.equal(
    line({ operation: "putRow", request: { tableName: "mytable", primaryKey: { pid: AUTO_INCREMENT, uid: "86" }, attributes: { name: "redchen" } } }),
    `use -t mytable\nput --pk '["86",null]' --attr '[{"c":"name","v":"redchen"}]'`,
  );
  assert.equal(
    line({ operation: "scan", request: { tableName: "mytable", start: { uid: "86", pid: INF_MIN }, end: { uid: "86", pid: INF_MAX }, limit: 10 } }),
    `use -t mytable\nscan --limit 10 --begin '["86"]' --end '["86"]'`,
  );
});

test("what no option says is told", () => {
  const request = {
    operation: "createTable",
    request: { tableName: "t", primaryKey: [], indexes: [], definedColumns: [{ name: "a", type: "STRING" }], enableLocalTransaction: false },
  } as const;
  assert.deepEqual(linesOf(request).leftOut, ["definedColumns", "enableLocalTransaction"]);
});

// ------------------------------------------------------------------------------------------------ completion

const made = skip ? undefined : await testShell();
after(() => made?.db.close());

test("W2: completion proposes commands, options, tables, columns, keys, files and words", { skip }, async (t) => {
  const { shell, run, files } = made!;
  await run(
    `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`,
    `create -t other --pk '[{"c":"id","t":"string"}]'`,
    "use -t mytable",
    `put --pk '["86",6771]' --attr '[{"c":"name","v":"a"},{"c":"country","v":"b"}]'`,
    `put --pk '["86",6772]' --attr '[{"c":"nature","v":"a"}]'`,
    `put --pk '["it'\\''s",1]'`,
    "use -t other",
    `put --pk '["only"]'`,
    "use -t mytable",
  );
  files.set("rows.csv", "");
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["s", ["scan"]],
    ["de", ["desc", "delete"]],
    ["  al", ["alter"]],
    ["help pu", ["put"]],
    ["drop ", ["--table", "--yes"]],
    ["drop -t x --", ["--yes"]],
    ["get --ti", ["--time_range_start", "--time_range_end", "--time_range_specific"]],
    ["use -t ", ["mytable", "other"]],
    ["use --table my", ["mytable"]],
    ["put --condition e", ["exist"]],
    ["alter --allow_update ", ["true", "false"]],
    ["get -c ", ["country", "name", "nature"]],
    ["get -c name,na", ["name,nature"]],
    ["get --pk ", [`'["86",6771]'`, `'["86",6772]'`, `'["it'\\''s",1]'`]],
    [`get --pk '["8`, [`'["86",6771]'`, `'["86",6772]'`]],
    [`get --pk '["86", 67`, [`'["86",6771]'`, `'["86",6772]'`]],
    [`get --pk '["86", 6772`, [`'["86",6772]'`]],
    [`get --pk '["86",`, [`'["86",6771]'`, `'["86",6772]'`]],
    [`get --pk ["i`, [`'["it'\\''s",1]'`]],
    ["get -t other --pk ", [`'["only"]'`]],
    [`get --pk '[nonsense`, []],
    ["import -i ro", ["rows.csv"]],
    ["put --attr ", [`'[{"c":"name","v":"x"}]'`]],
    ["nonsense ", []],
    ["get -t gone --pk ", []],
  ];
  for (const [line, texts] of cases) {
    await t.test(line, async () => {
      const { from, to, proposals } = await shell.complete(line);
      assert.deepEqual(
        proposals.map(({ text }) => text),
        texts,
      );
      assert.equal(to, line.length);
      assert.ok(from === to || !/\s/.test(line[from]!));
    });
  }
  const { from, to, proposals } = await shell.complete("use -t my -x", 9);
  assert.deepEqual([from, to, proposals[0].text], [7, 9, "mytable"]);
});
