/** Rows that keep nothing else in memory. */

import { HEADER, Page, type PageRow } from "../codec/page.js";
import { u32At } from "../codec/reader.js";
import type { Row } from "../types/row.js";

const encoder = /* @__PURE__ */ new TextEncoder();

/** The names of a row's key columns, in schema order. An object would have whole numbers first. */
export function keyNames(row: Row): readonly string[] {
  return (row as PageRow).place[0].keyNames;
}

/** A copy of a row in a page of its own: a row keeps its whole page, and all pages of one answer, in memory. */
export function ownRow(row: Row): Row {
  const [page, at, textAt] = (row as PageRow).place;
  const { bytes, start, next, rowTable, namesAt, bigints } = page;
  if (page.length === 1) return new Page(bytes.slice(start, next), 0, bigints).row(0);
  const text = page.load();
  const names = bytes.subarray(namesAt, namesAt + page.plan.bytes.length);
  const textStart = namesAt + names.length;
  // The rows lie one behind the other.
  let [low, high] = [0, page.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start + u32At(bytes, rowTable + 8 * middle) <= at) low = middle + 1;
    else high = middle;
  }
  const isLast = low === page.length;
  const data = bytes.subarray(at, isLast ? rowTable : start + u32At(bytes, rowTable + 8 * low));
  const textEnd = isLast ? text.length : u32At(bytes, rowTable + 8 * low + 4);
  const isAscii = next - textStart === text.length;
  const own = isAscii ? bytes.subarray(textStart + textAt, textStart + textEnd) : encoder.encode(text.substring(textAt, textEnd));
  const table = HEADER + data.length;
  const copy = new Uint8Array(table + 8 + names.length + own.length);
  const view = new DataView(copy.buffer);
  [copy.length, 1, table, table + 8, table + 8 + page.textAt - namesAt].forEach((value, i) => view.setUint32(4 * i, value, true));
  copy.set(bytes.subarray(start + 20, start + HEADER), 20);
  copy.set(data, HEADER);
  view.setUint32(table, HEADER, true);
  copy.set(names, table + 8);
  copy.set(own, table + 8 + names.length);
  return new Page(copy, 0, bigints).row(0);
}
