/** Real texts in many scripts, imported in every way on the real engine, and compared with the file byte by byte. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Database, ImportFormat, ImportSource, KeyColumn, NewRow } from "../src/index.js";
import { open, random, skip } from "./support/package.js";

interface ForeignRow {
  readonly primaryKey: Record<string, string | number>;
  readonly attributes: Record<string, string | number | boolean>;
}
interface ForeignFile {
  readonly name: string;
  readonly format: ImportFormat;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tableName: string;
  readonly primaryKey: KeyColumn[];
  readonly rows: ForeignRow[];
}
interface Figures {
  readonly rows: number;
  readonly texts: number;
  readonly bytes: number;
  readonly scripts: Map<string, number>;
}

// The end-to-end tests, and those of the console, import the same files.
const { foreignFiles, figures, told, compareRows } = (await import(pathToFileURL(path.resolve("../tests/e2e/support/foreign-files.mjs")).href)) as {
  foreignFiles(): Promise<ForeignFile[]>;
  figures(rows: readonly ForeignRow[]): Figures;
  told(figures: Figures): string;
  compareRows(expected: readonly ForeignRow[], found: readonly ForeignRow[], where: string): number;
};
const files = skip ? [] : await foreignFiles();

/** The contents of a table. */
async function read(db: Database, tableName: string): Promise<ForeignRow[]> {
  const found: ForeignRow[] = [];
  for await (const rows of db.scanPages({ tableName })) {
    for (const row of rows)
      found.push({
        primaryKey: { ...row.primaryKey },
        attributes: Object.fromEntries(Object.keys(row.columns).map((name) => [name, row.get(name)])),
      } as ForeignRow);
  }
  return found;
}

/** Bytes in pieces that end anywhere in a character. */
function stream(bytes: Uint8Array, next: (below: number) => number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += 1 + next(next(3) === 0 ? 50 : 50_000))));
    },
  });
}

async function write(db: Database, tableName: string, rows: readonly NewRow[]): Promise<void> {
  const writer = db.writer(tableName);
  for (const row of rows) {
    const full = writer.put(row);
    if (full) await full;
  }
  assert.equal((await writer.close()).rows, rows.length);
}

async function imported(db: Database, tableName: string, source: ImportSource, format: ImportFormat, rows: number): Promise<void> {
  const result = await db.importRows(tableName, source, { format });
  assert.deepEqual([result.rows, result.skipped], [rows, 0]);
}

/** The rows in short pieces: each has a writer of its own, whose buffer grows from small, so that it ends everywhere. */
async function inPieces(rows: readonly ForeignRow[], next: (below: number) => number, put: (piece: readonly ForeignRow[]) => Promise<void>): Promise<void> {
  for (let at = 0; at < rows.length; ) {
    const piece = rows.slice(at, (at += 20 + next(60)));
    await put(piece);
  }
}

function shuffled<T>(all: readonly T[], next: (below: number) => number): T[] {
  const out = [...all];
  for (let i = out.length - 1; i > 0; i--) {
    const j = next(i + 1);
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

/** The ways of rows into a table. */
const WAYS: Record<string, (db: Database, file: ForeignFile, tableName: string, next: (below: number) => number) => Promise<void>> = {
  "importRows of the file": (db, { format, bytes, rows }, tableName) => imported(db, tableName, new Blob([bytes]), format, rows.length),
  "importRows of the file in chunks": (db, { format, bytes, rows }, tableName, next) => imported(db, tableName, stream(bytes, next), format, rows.length),
  "importRows of objects in pieces": (db, { rows }, tableName, next) =>
    inPieces(rows, next, (piece) =>
      imported(
        db,
        tableName,
        piece.map(({ primaryKey, attributes }) => ({ ...primaryKey, ...attributes })),
        "json",
        piece.length,
      ),
    ),
  "db.writer": (db, { rows }, tableName) => write(db, tableName, rows),
  "db.writer, rows in no order": (db, { rows }, tableName, next) => write(db, tableName, shuffled(rows, next)),
  "db.writer in pieces": (db, { rows }, tableName, next) => inPieces(rows, next, (piece) => write(db, tableName, piece)),
};

for (const file of files) {
  test(`D2: ${file.name}: what is imported and written is what the file says, byte by byte`, { skip }, async (t) => {
    const db = await open();
    const seed = 20261122;
    let compared = 0;
    for (const [place, [way, put]] of Object.entries(WAYS).entries()) {
      const tableName = way.replaceAll(/\W+/g, "_");
      await db.createTable({ tableName, primaryKey: file.primaryKey });
      await put(db, file, tableName, random(seed));
      // Every other way is read from segments, not from what is in memory.
      if (place % 2 === 1) await db.flush();
      compared += compareRows(file.rows, await read(db, tableName), `${file.name}, ${way}, seed ${seed}`);
      await db.deleteTable(tableName);
    }
    await db.close();
    t.diagnostic(`${file.name}: ${told(figures(file.rows))}; ${Object.keys(WAYS).length} ways, ${compared} bytes of texts compared`);
  });
}

test("D2: the files hold texts in more than ten scripts, many of one and two characters", { skip }, (t) => {
  const all = figures(files.flatMap(({ rows }) => rows));
  assert.ok(files.length >= 5 && all.scripts.size >= 10 && all.texts > 100_000, told(all));
  t.diagnostic(
    `all: ${told(all)}: ${[...all.scripts]
      .sort(([, a], [, b]) => b - a)
      .map(([script, texts]) => `${script} ${texts}`)
      .join(", ")}`,
  );
});
