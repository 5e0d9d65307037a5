import { openPage } from "./browser.mjs";

/** In the page: instances in files, and their folders. */
export const prepare = () => {
  const options = { storage: "files" };
  globalThis.F = {
    async fill(name, from, count, more) {
      const db = (globalThis.db = await T.open(name, { ...options, ...more }));
      if (from === 0) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await Promise.all(
        Array.from({ length: count }, (_, i) => db.putRow({ tableName: "t", primaryKey: { id: from + i }, attributes: { text: H.noise(from + i, 60) } })),
      );
    },
    /** The rows of an instance that are as `fill` has stored them. */
    async rows(name, more) {
      const db = (globalThis.db = await T.open(name, { ...options, ...more }));
      return (await H.all(db, { tableName: "t" })).filter((row) => row.get("text") === H.noise(row.primaryKey.id, 60)).length;
    },
    async folder(name) {
      return (await (await navigator.storage.getDirectory()).getDirectoryHandle("tabstore-files")).getDirectoryHandle(name);
    },
    async names(name) {
      const names = [];
      for await (const file of (await F.folder(name)).keys()) names.push(file);
      return names.sort();
    },
    databases: async () => (await indexedDB.databases()).map(({ name }) => name).sort(),
  };
};

/** A page with the functions above. */
export async function prepared(t, context, server) {
  const page = await openPage(t, context, server);
  await page.evaluate(prepare);
  return page;
}

export const FILES = /^(\d+\.(journal-[01]|segment-[0-9a-f]+|opened)|instance\.capacity\.\d+\.Shop)$/;
