/** The records of a source, by its format. */

import type { ImportFormat } from "../types/writer.js";
import { type CsvOptions, CsvSplitter } from "./csv.js";
import { ArraySplitter, LineSplitter } from "./json.js";
import { Unreadable } from "./unreadable.js";

/** A source's record for one row. */
export type SourceRow = Readonly<Record<string, unknown>>;

/** The records of texts in a format, and what is in the place of those that cannot be read. `columns` hears those of a CSV file. */
export async function* records(
  format: ImportFormat,
  options: CsvOptions,
  source: AsyncIterable<string>,
  columns: (names: readonly string[]) => void = () => {},
): AsyncGenerator<readonly (SourceRow | Unreadable)[], void, undefined> {
  const csv = format === "csv" ? new CsvSplitter(options) : undefined;
  const splitter = csv ?? (format === "json" ? new ArraySplitter() : new LineSplitter());
  for await (const text of source) {
    const some = splitter.push(text) as (SourceRow | Unreadable)[];
    if (some.length > 0) yield some;
    if (some.at(-1) instanceof Unreadable && (some.at(-1) as Unreadable).isLast) return;
  }
  const last = splitter.end() as (SourceRow | Unreadable)[] | undefined;
  if (csv !== undefined) columns(csv.columns);
  if (last !== undefined && last.length > 0) yield last;
}
