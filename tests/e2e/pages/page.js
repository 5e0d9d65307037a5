// Puts the package on the page, with the functions that the tests' code in the page shares.

import * as tabstore from "./pkg/index.js";

/** The error of a refused call, or a note that it was not refused. */
async function refusal(call) {
  try {
    const value = await (typeof call === "function" ? call() : call);
    return { refused: false, value: String(value) };
  } catch (error) {
    const known = error instanceof tabstore.TabStoreError;
    return { refused: true, known, code: error.code, status: error.status, retryable: error.retryable, message: error.message };
  }
}

/** A row as plain objects, with its versions. */
function plain(row) {
  if (row === null) return null;
  const columns = {};
  for (const [name, cells] of Object.entries(row.columns)) columns[name] = cells.map(({ value, version }) => [value, version]);
  return { primaryKey: { ...row.primaryKey }, columns };
}

/** A text that depends on `n` and does not compress. */
function noise(n, length = 100) {
  let state = ((n + 1) * 2654435761) >>> 0;
  let text = "";
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += (state >>> 6).toString(36);
  }
  return text.slice(0, length);
}

/** Every row of a range. */
async function all(db, request) {
  const rows = [];
  for await (const page of db.scanPages(request)) rows.push(...page);
  return rows;
}

/** Opens an instance that a tab before us may still be giving back. */
async function openSoon(name, options) {
  const until = performance.now() + 5000;
  for (;;) {
    try {
      return await tabstore.open(name, options);
    } catch (error) {
      if (error.code !== "Busy" || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** The records of an object store of an instance, by the browser's own interface. */
async function rawDatabase(instance) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(`tabstore/${instance}`);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function raw(instance, store, mode, use) {
  const database = await rawDatabase(instance);
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(store, mode);
      let result;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
      use(transaction.objectStore(store), (value) => {
        result = value;
      });
    });
  } finally {
    database.close();
  }
}

/** Waits until no transaction of anybody else is under way. */
async function allEnded(instance) {
  const database = await rawDatabase(instance);
  const transaction = database.transaction([...database.objectStoreNames], "readwrite");
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  database.close();
}

/** The keys of a store's records. */
const rawKeys = (instance, store) =>
  raw(instance, store, "readonly", (records, give) => {
    records.getAllKeys().onsuccess = ({ target }) => give(target.result);
  });

const rawGet = (instance, store, key) =>
  raw(instance, store, "readonly", (records, give) => {
    records.get(key).onsuccess = ({ target }) => give(target.result);
  });

/** Replaces a record; `undefined` removes it. */
const rawPut = (instance, store, key, value) =>
  raw(instance, store, "readwrite", (records) => {
    if (value === undefined) records.delete(key);
    else records.put(value, key);
  });

/**
 * Asks for more space than there is, and gives what came of it. The browser remembers for half a minute how much space was left, and
 * looks again when somebody asks for more than that.
 */
async function look(bytes) {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("look", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("records");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  // Zeros would be compressed.
  const large = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) crypto.getRandomValues(large.subarray(at, at + 65_536));
  const outcome = await new Promise((resolve) => {
    const transaction = database.transaction("records", "readwrite");
    transaction.objectStore("records").put(large, 1);
    transaction.oncomplete = () => resolve("stored");
    transaction.onabort = () => resolve(transaction.error.name);
  });
  database.close();
  return outcome;
}

globalThis.H = { refusal, plain, noise, all, openSoon, rawKeys, rawGet, rawPut, allEnded, look };
globalThis.T = tabstore;
