// Fills the origin with data that is not TabStore's, and tells what becomes of an instance. No driver is needed.

const ROW = 8000;
const MB = 1 << 20;

/** The answer of a request that opens or deletes a database. */
const answer = (request) =>
  new Promise((resolve, reject) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) }));

/** Stores some bytes under a key; gives whether there was room. */
async function store(other, key, bytes) {
  for (;;) {
    try {
      const transaction = other.transaction("data", "readwrite");
      transaction.objectStore("data").put(bytes, key);
      return await new Promise((resolve) => Object.assign(transaction, { oncomplete: () => resolve(true), onabort: () => resolve(false) }));
    } catch (error) {
      // Firefox throws once after a refusal.
      if (error.name !== "InvalidStateError") throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function fill() {
  const request = indexedDB.open("other", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("data");
  const other = await answer(request);
  const piece = new Uint8Array(MB);
  for (let at = 0; at < MB; at += 65_536) crypto.getRandomValues(piece.subarray(at, at + 65_536));
  let pieces = 0;
  while (pieces < 2000 && (await store(other, pieces, piece))) pieces += 1;
  for (let size = 65_536; size > 1000; size >>= 2) {
    let n = 0;
    while (n < 100 && (await store(other, `${size}/${n}`, piece.subarray(0, size).slice()))) n += 1;
  }
  other.close();
  return pieces;
}

const put = (db, id) => H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { noise: H.noise(id, ROW) } }));

/** The rows, and how many of them are not as they were put. */
async function look(db) {
  const found = await H.all(db, { tableName: "t" });
  return { ids: found.map((row) => row.primaryKey.id), wrong: found.filter((row) => row.get("noise") !== H.noise(row.primaryKey.id, ROW)).length };
}

async function untilFull() {
  const db = await T.open("beside", { memtableBytes: 512 * 1024 });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const stored = new Set();
  for (let id = 0; id < 100; id++) {
    if (!(await put(db, id)).refused) stored.add(id);
  }
  await db.flush();
  const pieces = await fill();

  const refusals = [];
  // Some may fit into what is left.
  for (let id = 1000; id < 1500 && refusals.length < 3; id++) {
    const { refused, known, code } = await put(db, id);
    if (refused) refusals.push([known, code]);
    else stored.add(id);
  }
  const [before, expected] = [await look(db), [...stored]];
  const deletions = new Set();
  for (let id = 0; id < 50; id++) {
    const { refused, known, code } = await H.refusal(() => db.deleteRow({ tableName: "t", primaryKey: { id } }));
    if (!refused) stored.delete(id);
    deletions.add(refused ? `${known} ${code}` : "done");
  }
  const after = await look(db);
  await answer(indexedDB.deleteDatabase("other"));
  return { pieces, refusals, before, expected, deletions: [...deletions], after, left: [...stored] };
}

async function onceThereIsRoom() {
  const started = performance.now();
  const db = await H.openSoon("beside");
  const found = await look(db);
  let last;
  for (let id = 2000; id < 2100; id++) {
    while ((last = await put(db, id)).refused && performance.now() - started < 20_000) await new Promise((resolve) => setTimeout(resolve, 50));
    if (last.refused) break;
  }
  return { found, last, took: performance.now() - started, now: await look(db) };
}

const told = await (location.search === "" ? untilFull() : onceThereIsRoom()).catch((error) => ({ failure: `${error.code}: ${error.message} ${error.stack}` }));
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
