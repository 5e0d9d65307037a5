/** The import that is on its way: one at a time. It goes on while its table, or another, is being looked at. */

import { signal } from "@preact/signals";
import type { Database, ImportOptions, ImportResult } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { logged } from "../state/calls.ts";
import { showTable } from "../state/route.ts";
import { database } from "../state/session.ts";
import { findTable, refreshTables, rowsChanged } from "../state/tables.ts";
import { forgetCutOff, leaveTrace } from "./cut-off.ts";
import { type ImportPlan, planTable, toImportOptions } from "./plan.ts";

/** An import, on its way or ended. */
export interface Job {
  /** Where it imports into: another instance knows nothing of it. */
  readonly db: Database;
  readonly tableName: string;
  /** The name of the imported file. */
  readonly source: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  /** Rows stored. */
  readonly rows: number;
  /** Rows that the source holds, where known. */
  readonly totalRows: number | undefined;
  /** Bytes read of the source. */
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** Milliseconds since it began. */
  readonly ms: number;
  /** Its result, once done. */
  readonly result: ImportResult | undefined;
  /** How many rows the table has more than before, once done. */
  readonly more: number | undefined;
  readonly error: unknown;
}

/** The import, if there is or was one. */
export const job = signal<Job | undefined>(undefined);

let abort: AbortController | undefined;

/** How often the rows shown are read again while rows come in. */
const LOOK_AGAIN_MS = 1000;

/** Asks before the page is left while rows come in. */
function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** Stops the import. Rows that are stored stay. */
export function cancelImport(): void {
  abort?.abort();
}

/** Where an import reads from. */
export interface JobSource {
  readonly blob: Blob;
  readonly name: string;
  readonly rows: number | undefined;
  /** How many rows are on their way at a time; `undefined`: as the package has it. */
  readonly inFlight?: number | undefined;
}

/** Creates the table if there is none of that name, and begins to import; returns once the table is there. */
export async function startImport(source: JobSource, format: ImportOptions["format"], plan: ImportPlan): Promise<void> {
  const db = database();
  const { tableName } = plan;
  const exists = findTable(tableName) !== undefined;
  if (!exists) {
    await logged("CreateTable", tableName, () => db.createTable(planTable(plan)));
    await refreshTables();
  }
  showTable(tableName);
  void run(source, format, plan, exists);
}

async function run(source: JobSource, format: ImportOptions["format"], plan: ImportPlan, exists: boolean): Promise<void> {
  const db = database();
  const { tableName } = plan;
  const mine = new AbortController();
  abort = mine;
  const began = performance.now();
  let looked = began;
  job.value = {
    db,
    tableName,
    source: source.name,
    state: "running",
    rows: 0,
    totalRows: source.rows,
    bytes: 0,
    totalBytes: source.blob.size,
    ms: 0,
    result: undefined,
    more: undefined,
    error: undefined,
  };
  const change = (what: Partial<Job>) => {
    if (job.value !== undefined) job.value = { ...job.value, ms: performance.now() - began, ...what };
  };
  const trace = (rows: number) => leaveTrace({ instance: db.name, tableName, source: source.name, rows });
  forgetCutOff();
  trace(0);
  addEventListener("beforeunload", ask);
  try {
    const rowsThere = async (): Promise<number> => (await db.count({ tableName, signal: mine.signal })).count;
    const before = exists ? await rowsThere() : 0;
    const result = await logged("Import", `${source.name} into ${tableName}`, () =>
      db.importRows(tableName, source.blob, {
        ...toImportOptions(plan, exists),
        format,
        signal: mine.signal,
        maxRowsInFlight: source.inFlight,
        onProgress: ({ rows, bytes, totalBytes }) => {
          change({ rows, bytes, totalBytes });
          if (performance.now() - looked < LOOK_AGAIN_MS) return;
          looked = performance.now();
          trace(rows);
          rowsChanged.value += 1;
        },
      }),
    );
    change({ state: "done", rows: result.rows, bytes: result.bytes, result });
    // The count is an answer of its own: it does not take the result's word.
    change({ more: (await rowsThere()) - before });
  } catch (error) {
    change(mine.signal.aborted ? { state: "cancelled" } : { state: "failed", error: asError(error) });
  }
  forgetCutOff();
  removeEventListener("beforeunload", ask);
  rowsChanged.value += 1;
}
