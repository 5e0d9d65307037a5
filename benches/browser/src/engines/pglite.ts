/** PGlite: PostgreSQL compiled to WebAssembly, its files in IndexedDB. */

import { IdbFs, PGlite } from "@electric-sql/pglite";
import type { BenchRow } from "../data.js";
import { type Engine, SCAN_PAGE, type Table } from "../engine.js";

const COLUMNS = "id, name, city, note, score, count";
const put = (table: Table) =>
  `INSERT INTO ${table} (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET` +
  " name = EXCLUDED.name, city = EXCLUDED.city, note = EXCLUDED.note, score = EXCLUDED.score, count = EXCLUDED.count";

/**
 * Its storage in IndexedDB, which knows when the work that relaxed durability has left is done. Closing does not wait
 * for it, and fails or loses the last writes.
 */
class Storage extends IdbFs {
  #under = 0;

  override async syncToFs(relaxed?: boolean): Promise<void> {
    this.#under += 1;
    try {
      await super.syncToFs(relaxed);
    } finally {
      this.#under -= 1;
    }
  }

  /** Waits until nothing is under way, and nothing follows at once. */
  async idle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.#under > 0) quiet = -1;
    }
  }

  override async closeFs(): Promise<void> {
    await this.idle();
    await super.closeFs();
  }
}

/** Relaxed durability: a query is answered before IndexedDB has it. */
export async function start(): Promise<Engine> {
  let db: PGlite;
  let storage: Storage;
  return {
    async open(name, { strict = false } = {}) {
      storage = new Storage(name);
      db = await PGlite.create({ fs: storage, relaxedDurability: !strict });
      const columns = "id integer PRIMARY KEY, name text, city text, note text, score double precision, count integer";
      for (const table of ["bulk", "single", "indexed"]) await db.exec(`CREATE TABLE IF NOT EXISTS ${table} (${columns})`);
      await db.exec("CREATE INDEX IF NOT EXISTS place ON indexed (city, count)");
    },
    close: () => db.close(),
    async remove(name) {
      await new Promise<void>((resolve, reject) => {
        const request = indexedDB.deleteDatabase(`/pglite/${name}`);
        request.onsuccess = () => resolve();
        request.onerror = () => reject(request.error);
      });
    },
    put: (table, { id, name, city, note, score, count }) => db.query(put(table), [id, name, city, note, score, count]),
    async bulk(table, rows) {
      // The values have no tabs, line ends or backslashes.
      const lines = rows.map(({ id, name, city, note, score, count }) => `${id}\t${name}\t${city}\t${note}\t${score}\t${count}\n`);
      await db.query(`COPY ${table} (${COLUMNS}) FROM '/dev/blob'`, [], { blob: new Blob(lines) });
    },
    async get(table, id) {
      return (await db.query<BenchRow>(`SELECT ${COLUMNS} FROM ${table} WHERE id = $1`, [id])).rows[0];
    },
    async getMany(table, ids) {
      return (await db.query<BenchRow>(`SELECT ${COLUMNS} FROM ${table} WHERE id = ANY($1)`, [ids])).rows;
    },
    async scan(table, visit) {
      for (let last = -1; ; ) {
        const { rows } = await db.query<BenchRow>(`SELECT ${COLUMNS} FROM ${table} WHERE id > $1 ORDER BY id LIMIT ${SCAN_PAGE}`, [last]);
        visit(rows);
        if (rows.length < SCAN_PAGE) return;
        last = rows[rows.length - 1].id;
      }
    },
    settle: () => storage.idle(),
  };
}
