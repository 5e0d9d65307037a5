// Values, versions, order and units through the package, as an application uses it.

import assert from "node:assert/strict";

import { BACKENDS, newProfile, openPage, reload, startBrowser } from "../support/browser.mjs";
import { singles, test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const AT = 1466676354000;
const LATER = 1466762754000;

/** The product documents' example of two rows [D4]. */
async function putExample(clock) {
  const AT = 1466676354000;
  const db = await T.open("example", clock === null ? {} : { clock: { now: clock } });
  // 2016 is within the offset of a device whose clock is right.
  const maxVersionOffset = clock === null ? 20 * 365 * 86400 : 2 * 86400;
  await db.createTable({ tableName: "media", primaryKey: [{ name: "ID", type: "STRING" }], maxVersions: 2, timeToLive: -1, maxVersionOffset });
  const cell = (value, version = AT) => [{ value, version }];
  const book = await db.putRow({
    tableName: "media",
    primaryKey: { ID: "4776" },
    attributes: { Type: cell("Book"), ISBN: cell("123*45678912345"), PageCount: cell(666) },
  });
  const music = await db.putRow({
    tableName: "media",
    primaryKey: { ID: "6555" },
    attributes: {
      Type: cell("Music"),
      Length: [
        { value: 400, version: AT },
        { value: 500, version: 1466762754000 },
      ],
    },
  });
  const consumed = [book.consumed, music.consumed];
  await db.close();
  return consumed;
}

async function readExample(clock) {
  const db = await H.openSoon("example", clock === null ? {} : { clock: { now: clock } });
  const get = async (ID) => H.plain((await db.getRow({ tableName: "media", primaryKey: { ID }, maxVersions: 2 })).row);
  const rows = [await get("4776"), await get("6555")];
  const scanned = (await H.all(db, { tableName: "media", maxVersions: 2 })).map(H.plain);
  const newest = H.plain((await db.getRow({ tableName: "media", primaryKey: { ID: "6555" } })).row);
  const asked = await db.getRow({ tableName: "media", primaryKey: { ID: "6555" }, columnsToGet: ["Length"], timeRange: { version: 1466676354000 } });
  await db.close();
  return { rows, scanned, newest, exact: H.plain(asked.row) };
}

const EXAMPLE = [
  { primaryKey: { ID: "4776" }, columns: { ISBN: [["123*45678912345", AT]], PageCount: [[666, AT]], Type: [["Book", AT]] } },
  {
    primaryKey: { ID: "6555" },
    columns: {
      Length: [
        [500, LATER],
        [400, AT],
      ],
      Type: [["Music", AT]],
    },
  },
];

for (const [backend, [clock, said]] of singles(BACKENDS, [
  [1466762755000, "a clock set to 2016"],
  [null, "an offset that reaches back to 2016"],
])) {
  test(
    `D4, D3, V8: the documents' two rows are read back exactly, also after a reload and a restart (${said}, ${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const profile = newProfile(t);
      const context = await startBrowser(t, { backend, profile });
      const page = await openPage(t, context, server);
      const check = (read) => {
        assert.deepEqual(read.rows, EXAMPLE);
        assert.deepEqual(read.scanned, EXAMPLE);
        assert.deepEqual(read.newest.columns, { Length: [[500, LATER]], Type: [["Music", AT]] });
        assert.deepEqual(read.exact.columns, { Length: [[400, AT]] });
      };
      assert.deepEqual(await page.evaluate(putExample, clock), [
        { read: 0, write: 1 },
        { read: 0, write: 1 },
      ]);
      check(await page.evaluate(readExample, clock));
      await reload(page);
      check(await page.evaluate(readExample, clock));
      await context.close();
      const again = await startBrowser(t, { backend, profile });
      check(await (await openPage(t, again, server)).evaluate(readExample, clock));
    },
    { needs: ["restart"] },
  );
}

for (const worker of turns([true, false])) {
  test(`V7, V6, V10: the instants at the boundary are visible and writable exactly as ruled (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const clock = { now: 1469030400000 };
      const db = await T.open("boundary", { clock, worker });
      const DAY = 86400;
      const primaryKey = [{ name: "id", type: "STRING" }];
      await db.createTable({ tableName: "strict", primaryKey, timeToLive: DAY, maxVersionOffset: DAY, maxVersions: 10 });
      // A table that takes any version, and then gets the same time to live: the check cannot keep out cells that this hides.
      await db.createTable({ tableName: "lax", primaryKey, timeToLive: -1, maxVersionOffset: 10 * DAY, maxVersions: 10 });
      const instants = [1468944000000, 1468943999999, 1468943999000, 1469116799999, 1469116800000];
      const put = (tableName, version) =>
        H.refusal(() => db.putRow({ tableName, primaryKey: { id: String(version) }, attributes: { c: [{ value: 1, version }] } }));
      const read = async () => {
        const visible = {};
        for (const tableName of ["strict", "lax"])
          visible[tableName] = (await H.all(db, { tableName, maxVersions: 10 })).map((row) => Number(row.primaryKey.id));
        return visible;
      };
      const writable = {};
      for (const version of instants) {
        const { refused, code, message } = await put("strict", version);
        writable[version] = refused ? `${code}: ${message}` : "written";
        await put("lax", version);
      }
      const before = await read();
      await db.updateTable({ tableName: "lax", timeToLive: DAY });
      const hidden = await read();
      const moments = {};
      for (const now of [1469030400999, 1469030401000, 1469030400000]) {
        await db.setClock(now);
        moments[now] = await read();
      }
      const get = await db.getRow({ tableName: "strict", primaryKey: { id: "1468944000000" } });
      await db.close();
      return { writable, before, hidden, moments, got: H.plain(get.row) };
    }, worker);

    assert.equal(seen.writable[1468944000000], "written");
    assert.equal(seen.writable[1469116799999], "written");
    for (const version of [1468943999999, 1468943999000, 1469116800000]) {
      assert.match(seen.writable[version], /^OTSParameterInvalid: /);
      assert.match(seen.writable[version], new RegExp(`${version}|'?c'?`), "the message names the culprit");
    }
    assert.deepEqual(seen.before.strict, [1468944000000, 1469116799999], "what was refused is not stored");
    assert.deepEqual(seen.before.lax, [1468943999000, 1468943999999, 1468944000000, 1469116799999, 1469116800000]);
    assert.deepEqual(seen.hidden.lax, [1468944000000, 1469116799999, 1469116800000]);
    // Within the same second nothing changes; one second later the oldest is gone; the injected clock may go back.
    assert.deepEqual(seen.moments[1469030400999], seen.hidden);
    assert.deepEqual(seen.moments[1469030401000], { strict: [1469116799999], lax: [1469116799999, 1469116800000] });
    assert.deepEqual(seen.moments[1469030400000], seen.hidden);
    assert.deepEqual(seen.got.columns, { c: [[1, 1468944000000]] });
  });
}

for (const worker of turns([true, false])) {
  test(`D1, D2, T3: every type, every integer and any text are stored exactly, as keys and as values (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const write = async (worker) => {
      const MIN = -(2n ** 63n);
      const MAX = 2n ** 63n - 1n;
      const values = {
        max: MAX,
        min: MIN,
        justSafe: 9007199254740991,
        notSafe: 9007199254740992n,
        minusNotSafe: -9007199254740993n,
        zero: 0,
        minusOne: -1,
        half: 0.5,
        three: T.double(3),
        tiny: Number.MIN_VALUE,
        huge: T.double(Number.MAX_VALUE),
        minusZero: T.double(-0),
        yes: true,
        no: false,
        empty: "",
        ascii: "plain",
        umlaut: "Grüße",
        chinese: "表格存储",
        emoji: "🦀👩‍👩‍👧‍👦",
        nul: "a\0b",
        rtl: "שלום",
        long: "é".repeat(100_000),
        nothing: new Uint8Array(),
        bytes: Uint8Array.from({ length: 256 }, (_, i) => i),
        big: new Uint8Array(1_000_000).fill(7),
      };
      const db = await T.open("values", { worker });
      await db.createTable({
        tableName: "any",
        maxVersions: 5,
        primaryKey: [
          { name: "text", type: "STRING" },
          { name: "n", type: "INTEGER" },
          { name: "b", type: "BINARY" },
        ],
      });
      const texts = ["", "a", "a\0", "ab", "z", "é", "中文", "文", "🦀", "\u{10FFFF}", "x".repeat(1024)];
      const integers = [MIN, -1n, 0n, 1n, MAX];
      const keys = [];
      for (const text of texts) for (const n of integers) keys.push({ text, n, b: new Uint8Array([Number(n & 0xffn), 0]) });
      await Promise.all(keys.map((primaryKey) => db.putRow({ tableName: "any", primaryKey, attributes: { ok: primaryKey.text.length } })));
      await db.putRow({ tableName: "any", primaryKey: { b: new Uint8Array(), n: 5, text: "values" }, attributes: values });
      // A column may have another type in every version.
      for (const v of ["text", 5, 0.5, true, new Uint8Array([1])])
        await db.updateRow({ tableName: "any", primaryKey: { b: new Uint8Array(), n: 6, text: "values" }, put: { v } });
      await db.flush();
      await db.close();
    };
    const read = async (worker) => {
      const show = (value) => {
        if (value instanceof Uint8Array) return `bytes ${value.length} ${[...value.subarray(0, 256)].join()} ${value.reduce((sum, byte) => sum + byte, 0)}`;
        if (Object.is(value, -0)) return "number -0";
        return typeof value === "string" && value.length > 2000 ? `string of ${value.length} ${new Set(value).size} ${value[0]}` : `${typeof value} ${value}`;
      };
      const db = await H.openSoon("values", { worker });
      const row = async (options) => (await db.getRow({ tableName: "any", primaryKey: { text: "values", n: 5, b: new Uint8Array() }, ...options })).row;
      const first = await row({});
      const values = Object.fromEntries(Object.keys(first.columns).map((name) => [name, show(first.get(name))]));
      const mixed = (await db.getRow({ tableName: "any", primaryKey: { text: "values", n: 6, b: new Uint8Array() }, maxVersions: 5 })).row;
      const types = mixed.columns.v.map(({ value }) => show(value));
      const stamps = mixed.columns.v.map(({ version }) => version);
      const keys = (await H.all(db, { tableName: "any" })).map(({ primaryKey }) => [primaryKey.text, String(primaryKey.n), [...primaryKey.b]]);
      const backward = (await H.all(db, { tableName: "any", direction: "BACKWARD" })).map(({ primaryKey }) => [
        primaryKey.text,
        String(primaryKey.n),
        [...primaryKey.b],
      ]);
      await db.close();
      const always = await H.openSoon("values", { worker, integers: "bigint" });
      const bigint = (
        await always.getRow({ tableName: "any", primaryKey: { text: "values", n: 5n, b: new Uint8Array() }, columnsToGet: ["zero", "max", "three"] })
      ).row;
      const asBigint = ["zero", "max", "three"].map((name) => show(bigint.get(name)));
      await always.close();
      return { values, types, stamps, keys, backward, asBigint };
    };
    await page.evaluate(write, worker);
    await reload(page);
    const { values, types, stamps, keys, backward, asBigint } = await page.evaluate(read, worker);
    const all = Array.from({ length: 256 }, (_, i) => i);
    assert.deepEqual(values, {
      max: "bigint 9223372036854775807",
      min: "bigint -9223372036854775808",
      justSafe: "number 9007199254740991",
      notSafe: "bigint 9007199254740992",
      minusNotSafe: "bigint -9007199254740993",
      zero: "number 0",
      minusOne: "number -1",
      half: "number 0.5",
      three: "number 3",
      tiny: "number 5e-324",
      huge: "number 1.7976931348623157e+308",
      minusZero: "number -0",
      yes: "boolean true",
      no: "boolean false",
      empty: "string ",
      ascii: "string plain",
      umlaut: "string Grüße",
      chinese: "string 表格存储",
      emoji: "string 🦀👩‍👩‍👧‍👦",
      nul: "string a\0b",
      rtl: "string שלום",
      long: "string of 100000 1 é",
      nothing: "bytes 0  0",
      bytes: `bytes 256 ${all.join()} ${255 * 128}`,
      big: `bytes 1000000 ${all.map(() => 7).join()} 7000000`,
    });
    assert.deepEqual(types, ["bytes 1 1 1", "boolean true", "number 0.5", "number 5", "string text"]);
    stamps.slice(1).forEach((stamp, i) => assert.ok(stamp < stamps[i], "V10: versions of one row strictly increase"));
    assert.deepEqual(asBigint, ["bigint 0", "bigint 9223372036854775807", "number 3"]);
    // Ascending by bytes: the text's UTF-8 first.
    const order = ([a, n, b], [c, m, d]) =>
      Buffer.compare(Buffer.from(a), Buffer.from(c)) ||
      (BigInt(n) < BigInt(m) ? -1 : BigInt(n) > BigInt(m) ? 1 : Buffer.compare(Buffer.from(b), Buffer.from(d)));
    assert.equal(keys.length, 57);
    assert.deepEqual(keys, keys.toSorted(order));
    assert.deepEqual(backward, keys.toReversed());
  });
}

for (const worker of turns([true, false])) {
  test(`R5, R1, R6: calls that are not awaited happen in call order on one row, and no increment is lost (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const result = await page.evaluate(async (worker) => {
      const db = await T.open("order", { worker });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      const tableName = "t";
      const primaryKey = { k: "row" };
      const wrong = [];
      for (let round = 0; round < 50; round++) {
        const [, first, , second, , third] = await Promise.all([
          db.putRow({ tableName, primaryKey, attributes: { v: round, old: 1 } }),
          db.getRow({ tableName, primaryKey }),
          db.updateRow({ tableName, primaryKey, put: { v: round + 0.5 }, deleteColumns: ["old"] }),
          db.getRow({ tableName, primaryKey }),
          db.deleteRow({ tableName, primaryKey }),
          db.getRow({ tableName, primaryKey }),
        ]);
        const got = [first.row?.get("v"), first.row?.get("old"), second.row?.get("v"), second.row?.get("old"), third.row];
        if (JSON.stringify(got) !== JSON.stringify([round, 1, round + 0.5, undefined, null])) wrong.push({ round, got });
      }
      const counter = { k: "counter" };
      const seen = await Promise.all(
        Array.from({ length: 100 }, () => db.updateRow({ tableName, primaryKey: counter, increment: { n: 1 }, returnContent: { afterModify: ["n"] } })),
      );
      const counts = seen.map(({ row }) => row.get("n"));
      const total = (await db.getRow({ tableName, primaryKey: counter })).row.get("n");
      // One that must be the first, and many that come after it: exactly one wins.
      const races = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          H.refusal(() => db.putRow({ tableName, primaryKey: { k: "once" }, attributes: { i }, condition: { rowExistence: "EXPECT_NOT_EXIST" } })),
        ),
      );
      const once = (await db.getRow({ tableName, primaryKey: { k: "once" } })).row.get("i");
      await db.close();
      return { wrong, counts, total, once, codes: races.map(({ refused, code }) => (refused ? code : "stored")) };
    }, worker);
    assert.deepEqual(result.wrong, []);
    assert.deepEqual(
      result.counts,
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
    assert.equal(result.total, 100);
    assert.equal(result.once, 0);
    assert.deepEqual(result.codes, ["stored", ...Array(19).fill("OTSConditionCheckFail")]);
  });
}

test("R2, R3, C1: batches tell each row's own result, ranges page in both directions, and every call tells its units", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const result = await page.evaluate(async () => {
    const db = await T.open("ranges");
    const tableName = "t";
    await db.createTable({
      tableName,
      primaryKey: [
        { name: "p", type: "STRING" },
        { name: "n", type: "INTEGER" },
      ],
    });
    const put = (n, attributes = { v: n }) => ({ tableName, put: { primaryKey: { p: "p", n }, attributes } });
    const first = await db.batchWriteRow([
      ...Array.from({ length: 195 }, (_, n) => put(n)),
      { tableName: "nowhere", put: { primaryKey: { p: "p", n: 1 } } },
      put(196, { v: [{ value: 1, version: 5 }] }),
      { tableName, put: { primaryKey: { p: "p" } } },
      { tableName, update: { primaryKey: { p: "p", n: 198 }, put: { v: 198 }, condition: { rowExistence: "EXPECT_EXIST" } } },
      { tableName, delete: { primaryKey: { p: "p", n: 194 } } },
    ]);
    const outcomes = first.map(({ ok, error }) => (ok ? "ok" : error.code));
    const wrongName = await H.refusal(() => db.batchWriteRow([put(7000), put(7001, { "no-name": 1 })]));
    for (let from = 200; from < 6200; from += 200) await db.batchWriteRow(Array.from({ length: 200 }, (_, i) => put(from + i)));
    const tooMany = await H.refusal(() => db.batchWriteRow(Array.from({ length: 201 }, (_, n) => put(n))));
    const [found] = await db.batchGetRow([
      {
        tableName,
        primaryKeys: [
          { p: "p", n: 0 },
          { p: "p", n: -1 },
          { p: "p", n: 6199 },
        ],
      },
    ]);
    const walk = async (direction, limit) => {
      const seen = [];
      const pages = [];
      let start = direction === "FORWARD" ? { p: "p", n: T.INF_MIN } : { p: "p", n: T.INF_MAX };
      const end = direction === "FORWARD" ? { p: "p", n: T.INF_MAX } : { p: "p", n: T.INF_MIN };
      while (start !== null) {
        const { rows, nextStartPrimaryKey, consumed } = await db.getRange({ tableName, direction, start, end, limit });
        seen.push(...rows.map((row) => row.primaryKey.n));
        pages.push([rows.length, consumed.write]);
        start = nextStartPrimaryKey;
      }
      return { seen, pages };
    };
    const forward = await walk("FORWARD", undefined);
    const backward = await walk("BACKWARD", 2000);
    const part = await db.getRange({ tableName, start: { p: "p", n: 10 }, end: { p: "p", n: 13 } });
    // 7.6 KB written are 2 units; reading a row that is not there costs 1.
    const seven = await db.putRow({ tableName, primaryKey: { p: "q", n: 1 }, attributes: { v: "x".repeat(7600) } });
    const back = await db.getRow({ tableName, primaryKey: { p: "q", n: 1 } });
    const none = await db.getRow({ tableName, primaryKey: { p: "q", n: 2 } });
    await db.close();
    return {
      outcomes,
      wrongName,
      tooMany,
      found: found.map(({ ok, row }) => [ok, row?.get("v") ?? null]),
      forward,
      backward,
      part: part.rows.map((row) => row.get("v")),
      units: [seven.consumed, back.consumed, none.consumed],
    };
  });
  assert.deepEqual(result.outcomes, [...Array(195).fill("ok"), "OTSObjectNotExist", "OTSParameterInvalid", "OTSInvalidPK", "OTSConditionCheckFail", "ok"]);
  assert.equal(result.wrongName.code, "OTSParameterInvalid");
  assert.match(result.wrongName.message, /no-name/);
  assert.equal(result.tooMany.code, "OTSParameterInvalid");
  assert.deepEqual(result.found, [
    [true, 0],
    [true, null],
    [true, 6199],
  ]);
  const numbers = [...Array(194).keys(), ...Array.from({ length: 6000 }, (_, i) => 200 + i)];
  assert.deepEqual(result.forward.seen, numbers);
  assert.deepEqual(
    result.forward.pages.map(([rows]) => rows),
    [5000, 1194],
    "R3: cut at 5000 rows",
  );
  assert.deepEqual(result.backward.seen, numbers.toReversed());
  assert.deepEqual(result.part, [10, 11, 12]);
  assert.deepEqual(result.units, [
    { read: 0, write: 2 },
    { read: 2, write: 0 },
    { read: 1, write: 0 },
  ]);
});

test("T2, T3, T4, D2, R8: every wrong argument is refused with its code and its name, and stores nothing", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const { refusals, rows, tables, instances } = await page.evaluate(async () => {
    const db = await T.open("wrong");
    const key = [{ name: "k", type: "STRING" }];
    await db.createTable({ tableName: "t", primaryKey: key });
    const create = (options) => () => db.createTable({ tableName: "new", primaryKey: key, ...options });
    const put =
      (attributes, primaryKey = { k: "a" }) =>
      () =>
        db.putRow({ tableName: "t", primaryKey, attributes });
    const calls = {
      "table name '1st'": create({ tableName: "1st" }),
      "table name 'a-b'": create({ tableName: "a-b" }),
      "table name of 256": create({ tableName: "x".repeat(256) }),
      "table there already": create({ tableName: "t" }),
      "no key": create({ primaryKey: [] }),
      "five keys": create({ primaryKey: ["a", "b", "c", "d", "e"].map((name) => ({ name, type: "STRING" })) }),
      "key type DOUBLE": create({ primaryKey: [{ name: "k", type: "DOUBLE" }] }),
      "time to live 86399": create({ timeToLive: 86399 }),
      "max versions 0": create({ maxVersions: 0 }),
      "offset 0": create({ maxVersionOffset: 0 }),
      "reserved 5001": create({ reservedThroughput: { read: 5001, write: 0 } }),
      "unknown option": create({ maxVersion: 3 }),
      "no such table": () => db.getRow({ tableName: "nowhere", primaryKey: { k: "a" } }),
      "describe no such table": () => db.describeTable("nowhere"),
      "delete no such table": () => db.deleteTable("nowhere"),
      "no key at all": put({ v: 1 }, {}),
      "key of another name": put({ v: 1 }, { l: "a" }),
      "key too many": put({ v: 1 }, { k: "a", l: 1 }),
      "key of wrong type": put({ v: 1 }, { k: 1 }),
      "key of 1025": put({ v: 1 }, { k: "x".repeat(1025) }),
      "column 'a b'": put({ "a b": 1 }),
      "column is the key": put({ k: 1 }),
      null: put({ v: null }),
      undefined: put({ v: undefined }),
      NaN: put({ v: NaN }),
      infinity: put({ v: Infinity }),
      "2^63": put({ v: 2n ** 63n }),
      "2^53 as number": put({ v: 2 ** 53 }),
      "lone surrogate": put({ v: "\ud800" }),
      object: put({ v: {} }),
      "text of 2 MB + 1": put({ v: "x".repeat(2 * 1024 * 1024 + 1) }),
      "1025 columns": put(Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [`c${i}`, 1]))),
      "version too old": put({ v: [{ value: 1, version: 1 }] }),
      "increment of a text": async () => {
        await db.putRow({ tableName: "t", primaryKey: { k: "text" }, attributes: { v: "x" } });
        return db
          .updateRow({ tableName: "t", primaryKey: { k: "text" }, increment: { v: 1 } })
          .finally(() => db.deleteRow({ tableName: "t", primaryKey: { k: "text" } }));
      },
      "0 max versions": () => db.getRow({ tableName: "t", primaryKey: { k: "a" }, maxVersions: 0 }),
      "range upside down": () => db.getRange({ tableName: "t", start: { k: "b" }, end: { k: "a" } }),
      "instance 'ab'": () => T.open("ab"),
      "instance 'a_b'": () => T.open("a_b"),
      "instance option": () => T.open("other", { cache: 1 }),
      "instance storage": () => T.open("other", { storage: "opfs" }),
      "instance not there": () => T.open("other", { create: false }),
    };
    const refusals = {};
    for (const [what, call] of Object.entries(calls)) refusals[what] = await H.refusal(call);
    const rows = (await H.all(db, { tableName: "t" })).length;
    const tables = await db.listTable();
    await db.close();
    return { refusals, rows, tables, instances: (await T.listInstances()).map(({ name }) => name) };
  });
  const odd = {
    "table there already": "OTSObjectAlreadyExist",
    "no such table": "OTSObjectNotExist",
    "describe no such table": "OTSObjectNotExist",
    "delete no such table": "OTSObjectNotExist",
    "key of another name": "OTSInvalidPK",
    "key too many": "OTSInvalidPK",
    "key of wrong type": "OTSInvalidPK",
    "instance not there": "OTSObjectNotExist",
  };
  const wrong = [];
  for (const [what, { refused, known, code, message }] of Object.entries(refusals)) {
    if (!refused || !known || code !== (odd[what] ?? "OTSParameterInvalid") || message.length <= 10)
      wrong.push(`${what}: ${refused ? `${known ? "" : "no TabStoreError, "}${code}: ${message}` : "taken"}`);
  }
  assert.deepEqual(wrong, []);
  assert.match(refusals["column 'a b'"].message, /a b/);
  assert.match(refusals.null.message, /\bv\b/);
  assert.match(refusals["no such table"].message, /nowhere|not exist/);
  assert.equal(rows, 0);
  assert.deepEqual(tables, ["t"]);
  assert.deepEqual(instances, ["wrong"]);
});
