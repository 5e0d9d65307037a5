/** `storage: "files"` in Node: instances in folders, one process at a time, and processes that are killed. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Database, OpenOptions } from "../src/index.js";
import { code, load, skip } from "./support/package.js";

const ENTRY = pathToFileURL(path.resolve("dist/node.js")).href;
const table = { tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] } as const;

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-files-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openIn(folder: string, options: OpenOptions = {}): Promise<Database> {
  const { open } = await load();
  return open("demo", { storage: "files", path: folder, ...options });
}

const put = (db: Database, id: number, value: unknown = `value ${id}`): Promise<unknown> =>
  db.putRow({ tableName: "t", primaryKey: { id }, attributes: { value: value as string } });
async function values(db: Database): Promise<Map<number, unknown>> {
  const found = new Map<number, unknown>();
  for await (const row of db.scan({ tableName: "t" })) found.set(Number(row.primaryKey.id), row.get("value"));
  return found;
}

/** Another process that runs this code on an instance `db` in the folder; it says `line` by line what the code prints. */
function other(
  t: TestContext,
  folder: string,
  body: string,
  options: OpenOptions = {},
): { readonly child: ChildProcess; readonly lines: AsyncIterableIterator<string> } {
  const text = `import { open } from ${JSON.stringify(ENTRY)}; const tell = (line) => process.stdout.write(line + "\\n");
    const db = await open("demo", ${JSON.stringify({ storage: "files", path: folder, ...options })}).catch((error) => { tell(error.code); process.exit(); });
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

/** Kills a process that runs. */
async function killed(child: ChildProcess): Promise<void> {
  assert.equal(child.exitCode, null, "it runs");
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

test("I1: an instance in files is there for the next process, with its tables, rows and kind", { skip }, async (t) => {
  const folder = newFolder(t);
  const db = await openIn(folder, { kind: "capacity" });
  assert.equal(db.persistence, "files");
  assert.equal(db.role, "leader");
  await db.createTable(table);
  for (let id = 0; id < 50; id += 1) await put(db, id);
  await db.flush();
  await put(db, 50);
  await db.close();
  assert.deepEqual(
    readdirSync(path.join(folder, "demo")).filter((name) => name.startsWith("lock")),
    [],
    "the lock is given back",
  );

  const { child, lines } = other(
    t,
    folder,
    `
    let rows = 0;
    for await (const row of db.scan({ tableName: "t" })) if (row.get("value") === "value " + row.primaryKey.id) rows += 1;
    tell(rows + " " + (await db.metrics()).kind);
    await db.putRow({ tableName: "t", primaryKey: { id: 51 }, attributes: { value: "value 51" } });
    await db.close();`,
  );
  assert.equal((await lines.next()).value, "51 capacity");
  await once(child, "exit");
  const again = await openIn(folder);
  assert.equal((await values(again)).size, 52);
  await again.compact();
  assert.equal((await values(again)).size, 52);
  await again.close();
});

test("a second opening in this process shares the engine, also by another name of the folder", { skip }, async (t) => {
  const folder = newFolder(t);
  const link = path.join(folder, "link");
  const one = await openIn(path.join(folder, "real"));
  symlinkSync(path.join(folder, "real"), link);
  const two = await openIn(link);
  const elsewhere = await openIn(path.join(folder, "Real"));
  await one.createTable(table);
  await put(one, 1);
  assert.deepEqual([...(await values(two)).keys()], [1]);
  assert.deepEqual(await elsewhere.listTable(), [], "names of folders are compared with case");
  await one.close();
  await put(two, 2);
  assert.equal((await values(two)).size, 2);
  await two.close();
  await elsewhere.close();
});

test("the folder is the one that the path named when it was given", { skip }, async (t) => {
  const folder = newFolder(t);
  const before = process.cwd();
  t.after(() => process.chdir(before));
  const { open } = await load();
  process.chdir(folder);
  const opening = open("demo", { storage: "files", path: "below" });
  process.chdir(os.tmpdir());
  const db = await opening;
  assert.ok(existsSync(path.join(folder, "below/demo/instance.json")));
  await db.close();
});

test("Busy: another process is refused while one has the instance; the lock of a dead one is taken over", { skip }, async (t) => {
  const folder = newFolder(t);
  const { child, lines } = other(t, folder, `tell("open"); setInterval(() => {}, 1000);`);
  assert.equal((await lines.next()).value, "open");
  await assert.rejects(openIn(folder), code("Busy", /demo.*another process/));
  await killed(child);
  const locks = (): string[] => readdirSync(path.join(folder, "demo")).filter((name) => /^(lock|held)-/.test(name));
  assert.equal(locks().length, 2, "the dead one has left them");
  const db = await openIn(folder);
  const refused = other(t, folder, `tell("open");`);
  assert.equal((await refused.lines.next()).value, "Busy");
  await db.close();
  assert.deepEqual(locks(), []);

  // One that only asks is waited for a while.
  const asks = path.join(folder, "demo", `lock-${process.pid}--0123`);
  writeFileSync(asks, "");
  await assert.rejects(openIn(folder), code("Busy", /demo/));
  assert.deepEqual(locks(), [path.basename(asks)], "whoever is refused leaves nothing");
  rmSync(asks);

  // The number of a dead process may be that of a live one: it has started at another time.
  const boot = existsSync("/proc/sys/kernel/random/boot_id") ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().replaceAll("-", "") : undefined;
  if (boot !== undefined) writeFileSync(path.join(folder, `demo/lock-${process.pid}-${boot}.1-0123`), "");
  await (await openIn(folder)).close();
});

test("Busy: of many that take over a dead one's lock at once, one succeeds at a time", { skip }, async (t) => {
  const folder = newFolder(t);
  const first = other(t, folder, `await db.createTable(${JSON.stringify(table)}); tell("open"); setInterval(() => {}, 1000);`);
  await first.lines.next();
  await killed(first.child);
  const start = Date.now() + 1500;
  const many = Array.from({ length: 6 }, () => {
    const text = `import { open } from ${JSON.stringify(ENTRY)};
      await new Promise((resolve) => setTimeout(resolve, ${start} - Date.now()));
      for (;;) try {
        const db = await open("demo", ${JSON.stringify({ storage: "files", path: folder })});
        await db.updateRow({ tableName: "t", primaryKey: { id: 0 }, increment: { n: 1 } });
        await db.close();
        break;
      } catch (error) { if (error.code !== "Busy") throw error; await new Promise((resolve) => setTimeout(resolve, 20)); }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", text], { stdio: ["ignore", "inherit", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    return once(child, "exit");
  });
  for (const ended of await Promise.all(many)) assert.equal(ended[0], 0);
  const db = await openIn(folder);
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 0 } });
  assert.equal(row!.get("n"), 6);
  await db.close();
});

for (const durability of ["relaxed", "strict"] as const) {
  test(`R4: a process killed while it writes loses nothing acknowledged and tears no row (${durability})`, { skip }, async (t) => {
    const folder = newFolder(t);
    const times = Number(process.env.FILES_KILLS ?? 4);
    const setUp = await openIn(folder);
    await setUp.createTable(table);
    await setUp.close();
    let next = 0;
    const acknowledged = new Set<number>();
    for (let kill = 0; kill < times; kill += 1) {
      // Small memtables, so that flushes and compactions are cut off too. Some writes are awaited, some in flight together.
      const { child, lines } = other(
        t,
        folder,
        `
        let id = ${next};
        const write = async () => { const own = id++; await db.putRow({ tableName: "t", primaryKey: { id: own }, attributes: { value: "value " + own, more: "x".repeat(200), same: "value " + own } }); return own; };
        const pause = () => new Promise((resolve) => setImmediate(resolve));
        for (;;) { tell((await write()) + ""); tell((await Promise.all(Array.from({ length: 20 }, write))).join(" ")); await pause(); }`,
        { durability, memtableBytes: 65536 },
      );
      const length = 100 + ((kill * 97) % 400);
      let dies: Promise<void> | undefined;
      const die = (): void => void (dies ??= new Promise((resolve) => setTimeout(() => resolve(killed(child)), length)));
      // Some die while they start, the others some time after 42 writes, however slow the machine is.
      if (kill % 4 === 3) die();
      let seen = 0;
      for await (const line of lines) {
        if (++seen === 4) die();
        const numbers = line.split(" ").map(Number);
        assert.ok(numbers.every(Number.isInteger), line);
        for (const id of numbers) acknowledged.add(id);
      }
      await dies;
      const db = await openIn(folder);
      const rows = new Map<number, unknown>();
      for await (const row of db.scan({ tableName: "t" })) {
        rows.set(Number(row.primaryKey.id), row.get("value"));
        assert.equal(row.get("same"), row.get("value"));
      }
      for (const id of acknowledged) assert.equal(rows.get(id), `value ${id}`, `kill ${kill}: row ${id}`);
      for (const id of rows.keys()) next = Math.max(next, id + 1);
      await db.close();
    }
    assert.ok(acknowledged.size > 20 * times, `${acknowledged.size} writes`);
    t.diagnostic(`${times} kills, ${acknowledged.size} acknowledged writes, none lost`);
  });
}

test("what is asked wrongly is refused by name, and makes no folder", { skip }, async (t) => {
  const folder = newFolder(t);
  const { open } = await load();
  await assert.rejects(open("demo", { storage: "files" }), code("OTSParameterInvalid", /'path' is missing/));
  await assert.rejects(open("demo", { storage: "files", path: "" }), code("OTSParameterInvalid", /'path' is missing/));
  await assert.rejects(open("demo", { storage: "files", path: 5 as unknown as string }), code("OTSParameterInvalid", /'path' is a number/));
  await assert.rejects(open("demo", { storage: "memory", path: folder }), code("OTSParameterInvalid", /'path' is the folder of storage: "files"/));
  await assert.rejects(open("../up", { storage: "files", path: folder }), code("OTSParameterInvalid"));
  for (const options of [{ create: false }, { salvage: true }]) await assert.rejects(openIn(folder, options), code("OTSObjectNotExist", /demo/));
  assert.deepEqual(readdirSync(folder), []);
  writeFileSync(path.join(folder, "file"), "");
  await assert.rejects(openIn(path.join(folder, "file")), code("Unavailable", /ENOTDIR|EEXIST/));

  const { open: openInBrowser, init } = (await import(pathToFileURL(path.resolve("dist/index.js")).href)) as Awaited<ReturnType<typeof load>>;
  void init;
  await assert.rejects(openInBrowser("demo", { storage: "files", path: folder }), code("OTSParameterInvalid", /'path' is for Node and Deno/));
  // Those of an origin are a browser's.
  const { listInstances, deleteInstance } = await load();
  for (const call of [listInstances({ storage: "files" }), deleteInstance("demo", { storage: "files" })]) {
    await assert.rejects(call, code("Unavailable", /no files of an origin.*Node and Deno have none: there an instance is a folder/));
  }
  await assert.rejects(listInstances({ storage: "memory" as "files" }), code("OTSParameterInvalid", /'storage' is 'memory'/));
});

test("DataLost, Corrupt: files that are gone or damaged are told", { skip }, async (t) => {
  const folder = newFolder(t);
  const files = path.join(folder, "demo");
  const db = await openIn(folder);
  await db.createTable(table);
  for (let id = 0; id < 100; id += 1) await put(db, id);
  await db.close();

  const journal = readFileSync(path.join(files, "journal-0"));
  const damaged = Buffer.from(journal);
  damaged[3]! ^= 1;
  writeFileSync(path.join(files, "journal-0"), damaged);
  await assert.rejects(openIn(folder), code("Corrupt", /the journal/));
  await assert.rejects(openIn(folder), code("Corrupt"), "an opening that failed gives the lock back and changes nothing");
  writeFileSync(path.join(files, "journal-0"), journal);
  const back = await openIn(folder);
  assert.equal((await values(back)).size, 100);
  await back.close();

  // In the middle, where the device had it: nothing is deleted or written, and a salvage has what else is there.
  const middle = Buffer.from(journal);
  middle[journal.length >> 1]! ^= 1;
  writeFileSync(path.join(files, "journal-0"), middle);
  const before = readdirSync(files);
  await assert.rejects(openIn(folder), code("Corrupt", /the journal.*not what was stored/));
  assert.deepEqual(readdirSync(files), before);
  const salvaged = await openIn(folder, { salvage: true });
  assert.ok((await values(salvaged)).size >= 90);
  await salvaged.close();
  assert.deepEqual(readFileSync(path.join(files, "journal-0")), middle);
  writeFileSync(path.join(files, "journal-0"), journal);

  rmSync(path.join(files, "journal-0"));
  rmSync(path.join(files, "journal-1"), { force: true });
  await assert.rejects(openIn(folder), code("DataLost"));
  await assert.rejects(openIn(folder), code("DataLost"));
  const fresh = await openIn(folder, { lost: "recreate" });
  assert.deepEqual(await fresh.listTable(), []);
  await fresh.close();

  truncateSync(path.join(files, "instance.json"), 5);
  await assert.rejects(openIn(folder), code("Corrupt", /instance\.json/));
});

test("Q: a journal that is shorter than at its close is refused, whatever the durability was; a salvage reads what is left", { skip }, async (t) => {
  const folder = newFolder(t);
  const db = await openIn(folder, { durability: "relaxed" });
  await db.createTable(table);
  for (let id = 0; id < 60; id++) await put(db, id);
  await db.close();
  const [name] = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => /journal-0$/.test(name));
  const journal = path.join(folder, name);
  const whole = readFileSync(journal);
  for (const left of [0.3, 0.6, 0.9]) {
    truncateSync(journal, Math.floor(whole.length * left));
    await assert.rejects(openIn(folder), code("Corrupt", /the journal.*it was closed with more than the \d+ bytes/));
    const salvaged = await openIn(folder, { salvage: true });
    const found = [...(await values(salvaged)).keys()];
    assert.deepEqual(
      found,
      found.map((_, id) => id),
    );
    assert.ok(found.length > 60 * left - 15 && found.length < 60, `${found.length} rows at ${left}`);
    await salvaged.close();
    writeFileSync(journal, whole);
  }
  const again = await openIn(folder);
  assert.equal((await values(again)).size, 60);
  await again.close();
});
