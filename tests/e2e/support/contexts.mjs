// Contexts other than a page: the workers that a page of pages/contexts.html starts.

/**
 * Starts a context of a page: a `dedicated worker`, a `shared worker` or a `service worker`, with one entry of the package as `T`.
 * A service worker is at work until `release`: between two calls the browser would end it, on a busy machine.
 */
export async function startContext(page, kind, entry = "index") {
  await page.evaluate((one) => start(one), { name: kind, kind, script: `/context-${entry}.js` });
  const evaluate = (body, argument) => page.evaluate((one) => ask(one), { name: kind, body: String(body), argument });
  const hold = "() => new Promise((resolve) => { globalThis.release = resolve; })";
  if (kind === "service worker") await page.evaluate((one) => void ask(one).catch(() => {}), { name: kind, body: hold });
  return { evaluate, release: () => evaluate(() => release()) };
}

/** Uses an instance in every way, and deletes it. Runs in any context. */
export async function use(options) {
  const name = "everything";
  const db = await T.open(name, options);
  const seen = { role: db.role, persistence: db.persistence };
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "k", type: "STRING" },
      { name: "n", type: "INTEGER" },
    ],
    enableLocalTransaction: true,
  });
  const key = { k: "a", n: 1 };
  await db.putRow({ tableName: "t", primaryKey: key, attributes: { v: 1, text: "took 7 ms" } });
  await db.updateRow({ tableName: "t", primaryKey: key, increment: { v: 1 } });
  seen.got = (await db.getRow({ tableName: "t", primaryKey: key })).row.get("v");
  const writer = db.writer("t");
  for (let n = 2; n <= 500; n++) await writer.put({ primaryKey: { k: "a", n }, attributes: { v: n } });
  await writer.close();
  seen.imported = (await db.importRows("t", new Blob(["k,n,v\nb,1,1\nb,2,2\n"]), { format: "csv" })).rows;
  const transaction = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "a" } });
  await transaction.putRow({ tableName: "t", primaryKey: { k: "a", n: 501 }, attributes: { v: 501 } });
  await transaction.commit();
  seen.scanned = 0;
  for await (const page of db.scanPages({ tableName: "t" })) seen.scanned += page.length;
  const valueTransferRule = { regex: "([0-9]+)", castType: "INTEGER" };
  seen.matched = (await db.count({ tableName: "t", filter: { column: "text", comparator: "EQUAL", value: 7, passIfMissing: false, valueTransferRule } })).count;
  await db.compact();
  seen.kind = (await db.metrics()).kind;
  seen.damaged = 0;
  for await (const _ of db.verify({ texts: true })) seen.damaged += 1;
  await db.storage();
  await db.close();
  seen.kept = await T.open(name, { ...options, create: false }).then(async (again) => {
    const { count } = await again.count({ tableName: "t" });
    await again.close();
    return count;
  });
  const place = options?.storage === "files" ? { storage: "files" } : {};
  await T.deleteInstance(name, place);
  seen.left = (await T.listInstances(place)).length;
  return seen;
}

/** What {@link use} gives where all of it works. */
export const USED = {
  role: "leader",
  persistence: "indexeddb",
  got: 2,
  imported: 2,
  scanned: 503,
  matched: 1,
  kind: "high-performance",
  damaged: 0,
  kept: 503,
  left: 0,
};

/** The refusal of an opening. Runs in any context. */
export async function refusal(options) {
  try {
    await T.open("refused", options);
    return "not refused";
  } catch (error) {
    return { known: error instanceof T.TabStoreError, code: error.code, message: error.message, hint: error.hint };
  }
}

/** Puts rows of a writer `by`, one after another, until `count` are acknowledged. Runs in any context. */
export async function put({ by, from = 0, count }) {
  for (let n = from; n < from + count; n++) await db.putRow({ tableName: "t", primaryKey: { k: by, n } });
  return db.role;
}

/** How many rows each writer has. Runs in any context. */
export async function counts() {
  const found = {};
  for await (const row of db.scan({ tableName: "t" })) found[row.primaryKey.k] = (found[row.primaryKey.k] ?? 0) + 1;
  return found;
}
