// A random life whose keys and values are mostly not ASCII, beside a model of maps. It runs on any `open`: in a page, on a
// worker, in Node.

/** A small generator of numbers: the same seed gives the same life. */
export function generator(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 4294967296) * below);
  };
}

const SCRIPTS = [
  [0x80, 0x17f],
  [0x370, 0x3ff],
  [0x400, 0x4ff],
  [0x5d0, 0x5ea],
  [0x620, 0x64a],
  [0x904, 0x939],
  [0xe01, 0xe30],
  [0x3041, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xe000, 0xffff],
  [0x1f300, 0x1faff],
  [0x20000, 0x2ffff],
  [0x10000, 0x10ffff],
];
const WHOLE = [
  "",
  "\0",
  "\ufeff",
  "é",
  "µ",
  "€",
  "°C",
  "日本",
  "Ü",
  "😀",
  "👩‍👩‍👧‍👦",
  "e\u0301",
  "\u200f",
  "ﬁ",
  "İ",
  "ß",
  "\u{10ffff}",
  "\uffff",
  "\ud7ff",
  "\ue000",
  "a",
  "~",
  "null",
  "__proto__",
];

/** A text: mostly 0 to 4 characters that are not ASCII, now and then a long one of at most `longest` bytes. */
export function foreignText(below, longest) {
  const dice = below(20);
  if (dice < 4) return WHOLE[below(WHOLE.length)];
  const character = () => {
    if (below(10) === 0) return String.fromCharCode(below(128));
    const [first, last] = SCRIPTS[below(SCRIPTS.length)];
    return String.fromCodePoint(first + below(last - first + 1));
  };
  if (dice < 18) return Array.from({ length: below(5) }, character).join("");
  const characters = below(2) === 0 ? below(80) : below(Math.floor(longest / 4)) + 1;
  const one = character();
  return below(2) === 0 ? one.repeat(characters) : Array.from({ length: characters }, character).join("");
}

const utf8 = new TextEncoder();
/** A key as a text that tells keys apart. */
const name = (key) => JSON.stringify(Object.values(key).map((part) => (part instanceof Uint8Array ? [...part] : part)));
const COLUMNS = ["a", "b", "unit", "place", "_x", "Name", "constructor", "__proto__", "toString"];
const TABLES = [
  { tableName: "one", columns: [["city", "STRING"]] },
  {
    tableName: "two",
    columns: [
      ["land", "STRING"],
      ["n", "INTEGER"],
    ],
  },
  {
    tableName: "three",
    columns: [
      ["bytes", "BINARY"],
      ["word", "STRING"],
      ["last", "STRING"],
    ],
  },
];

const KEYS = new Set(TABLES.flatMap(({ columns }) => columns.map(([column]) => column)));

/**
 * Lives for some operations. `open` gives a database, again after each closing: with `reopens` it has to hold what was
 * stored. With `anyNames` columns are called anything, as under `limits: "sdk"`. Gives figures; throws what differs from the model.
 */
export async function live({ open, seed, operations, reopens, double, anyNames = false }) {
  const below = generator(seed);
  const figures = { operations: 0, texts: 0, foreign: 0, bytes: 0, reads: 0, compared: 0, refused: 0, reopened: 0 };
  const tables = new Map(TABLES.map(({ tableName, columns }) => [tableName, { columns, rows: new Map() }]));
  const text = (longest) => {
    const one = foreignText(below, longest);
    figures.texts += 1;
    if (/[^\0-\x7f]/.test(one)) figures.foreign += 1;
    figures.bytes += utf8.encode(one).length;
    return one;
  };
  let db = await open();
  for (const { tableName, columns } of TABLES) {
    await db.createTable({ tableName, primaryKey: columns.map(([column, type]) => ({ name: column, type })) });
  }

  const fail = (what, actual, expected) => {
    throw new Error(`seed ${seed}, operation ${figures.operations}: ${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  };
  const plain = (value) => (value instanceof Uint8Array ? [...value] : typeof value === "bigint" ? `${value}n` : value);
  const shown = (columns) =>
    JSON.stringify(
      Object.entries(columns)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([column, value]) => [column, plain(value)]),
    );
  /** Compares a row with what was stored when the read was asked for. */
  const same = (what, row, expected) => {
    figures.compared += 1;
    if ((row === null) !== (expected === undefined)) fail(what, row, expected);
    if (row === null) return;
    if (name(row.primaryKey) !== name(expected.key)) fail(`${what}, key`, row.primaryKey, expected.key);
    const values = Object.fromEntries(row.columnNames.map((column) => [column, row.get(column)]));
    if (shown(values) !== expected.shown) fail(what, shown(values), expected.shown);
  };

  const columnName = () => {
    const one = anyNames && below(4) > 0 ? foreignText(below, 200) : "";
    return one === "" || one.startsWith("#") || utf8.encode(one).length > 255 || KEYS.has(one) ? COLUMNS[below(COLUMNS.length)] : one;
  };
  const newKey = ({ columns }) =>
    Object.fromEntries(columns.map(([column, type]) => [column, type === "STRING" ? text(1000) : type === "INTEGER" ? below(5) : utf8.encode(text(1000))]));
  const someKey = (table) => {
    const { rows } = table;
    if (rows.size === 0 || below(3) === 0) return newKey(table);
    let place = below(Math.min(rows.size, 50));
    for (const { key } of rows.values()) if (place-- === 0) return key;
    return newKey(table);
  };
  const value = () => {
    switch (below(8)) {
      case 0:
        return below(1e6) - 5e5;
      case 1:
        return below(2) === 0;
      case 2:
        return utf8.encode(text(3000));
      case 3:
        return double(below(1000) / 4);
      default:
        return text(3000);
    }
  };
  const read = (one) => (typeof one === "object" && "value" in one ? one.value : one);
  const attributes = () => {
    const some = {};
    for (let left = below(6); left > 0; left--)
      Object.defineProperty(some, columnName(), { value: value(), enumerable: true, configurable: true, writable: true });
    return some;
  };
  const remember = (table, key, values) => {
    const expected = new Map(Object.entries(values).map(([column, one]) => [column, read(one)]));
    table.rows.set(name(key), { key, values: expected, shown: shown(Object.fromEntries(expected)) });
  };
  const put = (table) => {
    const row = { primaryKey: someKey(table), attributes: attributes() };
    remember(table, row.primaryKey, row.attributes);
    return row;
  };
  const update = (table) => {
    const primaryKey = someKey(table);
    const puts = attributes();
    const known = [...COLUMNS, ...(table.rows.get(name(primaryKey))?.values.keys() ?? [])];
    const free = known.filter((column) => !Object.hasOwn(puts, column));
    const deleteColumns = below(2) === 0 && free.length > 0 ? [free[below(free.length)]] : [];
    const old = table.rows.get(name(primaryKey));
    if (old !== undefined || Object.keys(puts).length > 0) {
      const values = new Map(old?.values);
      for (const column of deleteColumns) values.delete(column);
      for (const [column, one] of Object.entries(puts)) values.set(column, read(one));
      remember(table, primaryKey, Object.fromEntries(values));
      // A row that only updates made is gone with its last column.
      const made = old?.made ?? old === undefined;
      if (made && values.size === 0) table.rows.delete(name(primaryKey));
      else table.rows.get(name(primaryKey)).made = made;
    }
    return Object.keys(puts).length === 0 && deleteColumns.length === 0 ? undefined : { primaryKey, put: puts, deleteColumns };
  };
  const remove = (table) => {
    const primaryKey = someKey(table);
    table.rows.delete(name(primaryKey));
    return { primaryKey };
  };

  const compareAll = async () => {
    for (const [tableName, { rows }] of tables) {
      let found = 0;
      for await (const page of db.scanPages({ tableName })) {
        for (const row of page) {
          same(`scan of ${tableName}`, row, rows.get(name(row.primaryKey)));
          found += 1;
        }
      }
      if (found !== rows.size) fail(`rows of ${tableName}`, found, rows.size);
    }
  };

  const waiting = [];
  for (; figures.operations < operations; figures.operations++) {
    const [tableName, table] = [...tables][below(tables.size)];
    const dice = below(100);
    if (dice < 35) {
      waiting.push(db.putRow({ tableName, ...put(table) }));
    } else if (dice < 50) {
      const request = update(table);
      if (request !== undefined) waiting.push(db.updateRow({ tableName, ...request }));
    } else if (dice < 56) {
      waiting.push(db.deleteRow({ tableName, ...remove(table) }));
    } else if (dice < 76) {
      const key = someKey(table);
      const expected = table.rows.get(name(key));
      figures.reads += 1;
      waiting.push(db.getRow({ tableName, primaryKey: key }).then(({ row }) => same(`getRow of ${tableName}`, row, expected)));
    } else if (dice < 80) {
      const keys = Array.from({ length: 1 + below(20) }, () => someKey(table));
      const expected = keys.map((key) => table.rows.get(name(key)));
      figures.reads += keys.length;
      waiting.push(
        db
          .batchGetRow([{ tableName, primaryKeys: keys }])
          .then(([results]) =>
            results.forEach(({ ok, row, error }, i) =>
              ok ? same(`batchGetRow of ${tableName}`, row, expected[i]) : fail("batchGetRow", error.message, "a row"),
            ),
          ),
      );
    } else if (dice < 86) {
      // Each row once: which of two in a batch is the last, only the engine knows.
      const seen = new Set();
      const rows = Array.from({ length: 1 + below(30) }, () => ({ tableName, put: put(table) }))
        .reverse()
        .filter(({ put: { primaryKey } }) => !seen.has(name(primaryKey)) && seen.add(name(primaryKey)));
      waiting.push(db.batchWriteRow(rows).then((results) => results.forEach(({ ok, error }) => ok || fail("batchWriteRow", error.message, "ok"))));
    } else if (dice < 89) {
      const writer = db.writer(tableName);
      for (let left = below(below(20) === 0 ? 4000 : 300); left > 0; left--) {
        const wait = writer.put(put(table));
        if (wait) await wait;
      }
      waiting.push(writer.close());
    } else if (dice < 95) {
      // Names that no table and no column can have: refused, and nothing is stored.
      const foreign = `${WHOLE[3 + below(7)]}${text(20)}`;
      const key = newKey(table);
      const calls = [
        () => db.putRow({ tableName: foreign, primaryKey: key, attributes: { a: 1 } }),
        () => db.putRow({ tableName, primaryKey: key, attributes: { [foreign]: 1 } }),
        () => db.updateRow({ tableName, primaryKey: key, put: { [foreign]: text(10) } }),
        () => db.createTable({ tableName: foreign, primaryKey: [{ name: "id", type: "STRING" }] }),
        () => db.createTable({ tableName: "legal", primaryKey: [{ name: foreign, type: "STRING" }] }),
        () => db.getRow({ tableName, primaryKey: { [foreign]: "x" } }),
        () =>
          db
            .batchWriteRow([{ tableName, put: { primaryKey: key, attributes: { [foreign]: 1 } } }])
            .then(([{ ok, error }]) => (ok ? undefined : Promise.reject(error))),
      ];
      // There only names of tables, and of key columns that a table lacks, are a mistake.
      const wrong = anyNames ? [calls[0], calls[3], calls[5]] : calls;
      waiting.push(
        wrong[below(wrong.length)]().then(
          () => fail("a foreign name was taken", foreign, "an error"),
          (error) => {
            if (!String(error.code).startsWith("OTS")) throw error;
            figures.refused += 1;
          },
        ),
      );
    } else {
      await Promise.all(waiting.splice(0));
    }
    if (waiting.length > 200) await Promise.all(waiting.splice(0));
    if (below(1500) === 0) await db.flush();
    if (below(2500) === 0) {
      await Promise.all(waiting.splice(0));
      await compareAll();
      if (reopens) {
        await db.close();
        db = await open();
        figures.reopened += 1;
        await compareAll();
      }
    }
  }
  await Promise.all(waiting);
  await compareAll();
  for await (const damaged of db.verify({ texts: true })) {
    const { key, values } = tables.get(damaged.tableName).rows.get(name(damaged.primaryKey)) ?? fail("verify", damaged, "a row");
    const stored = damaged.place === "attribute" ? values.get(damaged.column) : key[damaged.column];
    if (!/^\0+$/.test(stored)) fail("verify", damaged, stored);
  }
  figures.rows = [...tables.values()].reduce((sum, { rows }) => sum + rows.size, 0);
  await db.close();
  return figures;
}
