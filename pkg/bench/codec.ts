/**
 * What it costs to move 10,000 rows of 6 columns (about 150 bytes) across the boundary, by several codecs: the measurement
 * by which the pages and frames of `src/codec` were chosen. JavaScript's half only; the engine's half is Rust.
 */

import { FrameWriter } from "../src/codec/frame.js";
import { Page } from "../src/codec/page.js";
import { writePut } from "../src/codec/requests.js";
import type { Value } from "../src/types/rows.js";
import { encodePage, type PageRow, type Typed } from "../test/support/bytes.js";

const ROWS = 10_000;
const ROUNDS = 15;
const BASE = 1_700_000_000_000;

type Plain = { key: Record<string, Value>; columns: Record<string, { value: Value; version: number }[]> };

function makeRows(unicode: boolean): { page: PageRow[]; plain: Plain[]; flat: Record<string, Value>[] } {
  const page: PageRow[] = [];
  const plain: Plain[] = [];
  const flat: Record<string, Value>[] = [];
  for (let i = 0; i < ROWS; i++) {
    const version = BASE + (i % 1000);
    const columns: [string, Typed, Value][] = [
      ["city", { STRING: unicode ? `Zürich ${i % 50}` : `Zurich ${i % 50}` }, unicode ? `Zürich ${i % 50}` : `Zurich ${i % 50}`],
      ["delay", { INTEGER: (i * 37) % 500 }, (i * 37) % 500],
      ["distance", { DOUBLE: i * 1.25 + 0.1 }, i * 1.25 + 0.1],
      ["late", { BOOLEAN: i % 3 === 0 }, i % 3 === 0],
      ["note", { STRING: `a text of some forty characters, no. ${i}` }, `a text of some forty characters, no. ${i}`],
      ["seq", { INTEGER: BASE + i }, BASE + i],
    ];
    const id = `row-${String(i).padStart(8, "0")}`;
    page.push({ key: [{ STRING: id }], columns: columns.map(([name, typed]) => [name, [[version, typed]]]) });
    plain.push({ key: { id }, columns: Object.fromEntries(columns.map(([name, , value]) => [name, [{ value, version }]])) });
    flat.push({ id, ...Object.fromEntries(columns.map(([name, , value]) => [name, value])) });
  }
  return { page, plain, flat };
}

let sink = 0;

/** Microseconds a row, the median of some rounds. */
function measure(body: () => number): number {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS + 3; round++) {
    const start = performance.now();
    sink += body();
    if (round >= 3) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return (times[ROUNDS >> 1] * 1000) / ROWS;
}

/** Runs all of it; gives lines of a table. */
export function runCodecBenchmark(): string[] {
  const lines: string[] = ["| direction | codec | us a row | bytes a row |", "|---|---|---|---|"];
  const add = (direction: string, codec: string, time: number, bytes: number): void => {
    lines.push(`| ${direction} | ${codec} | ${time.toFixed(3)} | ${bytes === 0 ? "" : (bytes / ROWS).toFixed(0)} |`);
  };
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  for (const unicode of [false, true]) {
    const { page, plain, flat } = makeRows(unicode);
    const out = unicode ? "out, not all ASCII" : "out";
    const json = encoder.encode(JSON.stringify(plain));
    add(out, "JSON text in bytes, parsed", measure(() => (JSON.parse(decoder.decode(json)) as Plain[]).length), json.length);
    if (!unicode) add(out, "structured clone of the same objects", measure(() => structuredClone(plain).length), 0);
    const bytes = encodePage(["id"], page, BASE);
    add(out, "page, rows not looked at", measure(() => new Page(bytes, 0, false).rows().length), bytes.length);
    add(out, "page, one column read", measure(() => {
      let sum = 0;
      for (const row of new Page(bytes, 0, false).rows()) sum += row.get("delay") as number;
      return sum;
    }), bytes.length);
    add(out, "page, every row as a plain object (toObject)", measure(() => {
      let sum = 0;
      for (const row of new Page(bytes, 0, false).rows()) sum += row.toObject().delay as number;
      return sum;
    }), bytes.length);
    add(out, "page, every version of every column (columns)", measure(() => {
      let sum = 0;
      for (const row of new Page(bytes, 0, false).rows()) sum += row.columns.delay[0].version;
      return sum;
    }), bytes.length);
    if (unicode) {
      add("in, not all ASCII", "frame", encodeFrames(flat), 0);
      continue;
    }
    add("in", "JSON text to bytes", measure(() => encoder.encode(JSON.stringify(plain)).length), json.length);
    add("in", "structured clone of the same objects", measure(() => structuredClone(flat).length), 0);
    let length = 0;
    add("in", "frame", encodeFrames(flat, (bytesOfAll) => (length = bytesOfAll)), length);
  }
  lines.push(`(${sink === 0 ? "nothing" : "all of it"} was used)`);
  return lines;
}

function encodeFrames(flat: Record<string, Value>[], size: (bytes: number) => void = () => {}): number {
  const writer = new FrameWriter();
  const rows = flat.map(({ id, ...attributes }) => ({ primaryKey: { id: id as string }, attributes }));
  return measure(() => {
    let total = 0;
    for (let i = 0; i < rows.length; i++) {
      writer.u8(1);
      writePut(writer, "table", rows[i]);
      if (i % 200 === 199) total += writer.finish().length;
    }
    size(total);
    return total;
  });
}
