// A table much larger than the memory that the engine is given, checked row by row.

import { machineOf } from "./compare.mjs";
import { Large } from "./large.mjs";
import { columns, figure, markdown, megabytes, say } from "./statistics.mjs";

const MIB = 1 << 20;
/** The limit of cache, memtables and rows in progress together. */
const BUDGET = 32 * MIB;
/** The engine's fixed memory beside that: its code and stack, flush, compaction, a commit, and gaps. */
const FLOOR = 8 * MIB;
/** One memtable takes writes while up to two wait to be written. */
const MEMTABLES = 3;
const CACHE = 16 * MIB;
const MEMTABLE = 4 * MIB;
const IN_FLIGHT = BUDGET - CACHE - MEMTABLES * MEMTABLE;

/** Loads, checks, overwrites, checks, opens again, checks. */
export async function million(server, wanted) {
  const { rows } = wanted;
  const large = await Large.start(server, wanted["sqlite-idb"], { cacheBytes: CACHE, memtableBytes: MEMTABLE });
  const lines = [];
  const record = { rows, backend: wanted["sqlite-idb"] ? "SQLite" : "LevelDB", machine: machineOf(large.browser), budget: BUDGET, figures: {} };
  const head = ["", "", "unit", "wasm memory MB", "renderer's private MB", "on disk MB", "longest slice ms"];
  const step = async (what, value, unit) => {
    const uses = await large.uses();
    record.figures[what] = { value, unit, ...uses };
    lines.push([
      what,
      figure(value),
      unit,
      ...[uses.wasm, uses.renderer, uses.disk].map((bytes) => figure(megabytes(bytes))),
      figure(uses.work.longestSliceUs / 1000),
    ]);
    console.log(
      `${what}: ${figure(value)} ${unit}; wasm memory ${figure(megabytes(uses.wasm))} MB, renderer ${figure(megabytes(uses.renderer))} MB, on disk ${figure(megabytes(uses.disk))} MB`,
    );
    return uses;
  };
  console.log(
    `${rows.toLocaleString("en")} rows, IndexedDB on ${record.backend}; a budget of 32 MiB: cache ${CACHE / MIB} + ${MEMTABLES} memtables of ${MEMTABLE / MIB} + rows on their way ${IN_FLIGHT / MIB}`,
  );
  try {
    const reads = Math.min(rows, 5_000);
    await step("empty", undefined, "");
    await step("load, per row", await large.ask("load", rows, IN_FLIGHT), "us");
    await large.ask("settle");
    await step("settled", undefined, "");
    await step("random gets", await large.ask("get", reads, rows, 1), "us");
    await step("random gets, 100 a call, per row", await large.ask("getMany", Math.ceil(reads / 25), 2), "us");
    await step("scan of all, per row", await large.ask("scan"), "us");
    await step("overwriting one in ten in no order, per row", await large.ask("overwrite", IN_FLIGHT), "us");
    await large.ask("settle");
    await step("random gets again", await large.ask("get", reads, rows, 3), "us");
    await step("scan of all again, per row", await large.ask("scan"), "us");
    const { same, fresh } = await large.reopen(rows, true);
    await step("reopen and first read, engine loaded", same, "ms");
    await step("reopen and first read, new worker", fresh, "ms");
    await large.ask("get", reads, rows, 4);
    const last = await step("scan with the new worker, per row", await large.ask("scan"), "us");
    say("");
    const wasm = Math.max(...Object.values(record.figures).map((uses) => uses.wasm));
    const amplification = (last.disk / last.segments).toFixed(2);
    const summary = `Everything read was what was written. The wasm memory was ${figure(wasm / MIB)} MiB at most, for a budget of ${BUDGET / MIB} MiB and ${FLOOR / MIB} MiB that every store takes; on disk there is ${amplification} times what the segments hold.`;
    const left = [0, 2];
    console.log(`\n${columns(head, lines, left)}\n${summary}`);
    const failures = wasm > BUDGET + FLOOR ? [`wasm memory is ${figure(wasm / (BUDGET + FLOOR))} times what it may be`] : [];
    return {
      record,
      text: `${rows.toLocaleString("en")} rows, IndexedDB on ${record.backend}, budget ${BUDGET / MIB} MiB.\n\n${markdown(head, lines, left)}\n\n${summary}`,
      failures,
    };
  } finally {
    await large.stop();
  }
}
