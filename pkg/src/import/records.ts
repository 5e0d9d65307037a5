/** The records of a source, by its format. */

import type { ImportFormat } from "../loads.js";
import { CsvSplitter } from "./csv.js";
import { ArraySplitter, LineSplitter } from "./json.js";

/** A source's record for one row. */
export type SourceRow = Readonly<Record<string, unknown>>;

/** The records of texts in a format. */
export async function* records(format: ImportFormat, delimiter: string | undefined, source: AsyncIterable<string>): AsyncGenerator<readonly SourceRow[], void, undefined> {
  const splitter = format === "csv" ? new CsvSplitter(delimiter) : format === "json" ? new ArraySplitter() : new LineSplitter();
  for await (const text of source) {
    const some = splitter.push(text) as SourceRow[];
    if (some.length > 0) yield some;
  }
  const last = splitter.end();
  if (last !== undefined && last.length > 0) yield last as SourceRow[];
}
