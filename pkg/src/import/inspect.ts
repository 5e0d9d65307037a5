/** Reads the beginning of a file, so that a person can choose keys and types before an import. */

import { checkArguments, count } from "../codec/check.js";
import { kindOf } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { ImportPreview, ImportPreviewColumn, InspectOptions } from "../types/writer.js";
import { abortReason, signalOf } from "../client/signals.js";
import type { ValueType } from "../types/rows.js";
import { Names } from "./names.js";
import { records, type SourceRow } from "./records.js";
import { Unreadable } from "./unreadable.js";
import { type ByteSource, isBytes, openSource, texts } from "./source.js";

const OPTIONS = new Set(["format", "delimiter", "header", "comment", "rows", "signal"]);

/** An integer as text in its only printable form: no leading zeros, no plus. */
const INTEGER_TEXT = /^(?:0|-?[1-9]\d*)$/;

/** Whether a double holds an integer exactly. */
const isDouble = (integer: bigint): boolean => {
  const number = Number(integer);
  return Number.isSafeInteger(number) || (Number.isFinite(number) && BigInt(number) === integer);
};

/** The integer value of a number or text. */
function integerOf(value: unknown, csv: boolean): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (csv ? INTEGER_TEXT.test(value as string) : Number.isSafeInteger(value)) return BigInt(value as string);
  return undefined;
}

/** A type that keeps all of a value that is no integer. */
function typeOf(value: unknown, csv: boolean): ValueType {
  if (csv) {
    const text = value as string;
    // Only if nothing of the text is lost: "1.10" may be a version, and 17 digits are more than a double has. "10.0" says no more
    // than that it is a double.
    const number = Number(text);
    if (Number.isFinite(number) && (String(number) === text || `${number}.0` === text)) return "DOUBLE";
    return /^(?:true|false)$/i.test(text) ? "BOOLEAN" : "STRING";
  }
  if (typeof value === "number") return "DOUBLE";
  return typeof value === "boolean" ? "BOOLEAN" : "STRING";
}

/** The narrowest type that takes values of both types. */
function join(a: ValueType | undefined, b: ValueType): ValueType {
  if (a === undefined || a === b) return b;
  const numbers = (type: ValueType): boolean => type === "INTEGER" || type === "DOUBLE";
  return numbers(a) && numbers(b) ? "DOUBLE" : "STRING";
}

class Column {
  private joined: ValueType | undefined;
  /** Whether there is an integer that a double cannot hold. */
  private long = false;
  private readonly values = new Set<unknown>();
  seen = 0;
  unique = true;

  /** The narrowest type that keeps every value unchanged. */
  get type(): ValueType {
    return this.joined === "DOUBLE" && this.long ? "STRING" : (this.joined ?? "STRING");
  }

  see(value: unknown, csv: boolean): void {
    if (value === undefined || value === null || (csv && value === "")) return;
    this.seen += 1;
    const integer = integerOf(value, csv);
    if (integer !== undefined && !isDouble(integer)) this.long = true;
    this.joined = join(this.joined, integer === undefined ? typeOf(value, csv) : BigInt.asIntN(64, integer) === integer ? "INTEGER" : "DOUBLE");
    if (!this.unique) return;
    // In a column of texts 1 and "1" are one value. Where all are numbers, their texts differ as they do.
    const told = typeof value === "object" ? value : String(value);
    if (this.values.has(told)) {
      this.unique = false;
      this.values.clear();
    } else {
      this.values.add(told);
    }
  }
}

/** See the package's entry. */
export async function inspectImport(source: ByteSource, options: InspectOptions = {}): Promise<ImportPreview> {
  options = checkArguments(options, OPTIONS, "inspectImport");
  if (!isBytes(source)) throw invalid(`The argument 'source' is ${kindOf(source)}; it must be a Blob, File, Response or ReadableStream.`);
  const { rows: most = 10_000 } = options;
  const signal = signalOf(options);
  if (signal?.aborted) throw abortReason(signal);
  count(most, "rows", 1);
  const opened = openSource(source, options.format);
  const csv = opened.format === "csv";
  const columns = new Map<string, Column>();
  const names = new Names();
  const rows: SourceRow[] = [];
  let heading: readonly string[] = [];
  let whole = true;
  const { delimiter = opened.delimiter, header, comment } = options;
  const read = records(
    opened.format,
    { delimiter, header, comment, numbered: true },
    texts(opened.stream, () => {}, signal),
    (names) => (heading = names),
  );
  reading: for await (const batch of read) {
    signal?.throwIfAborted();
    for (const record of batch) {
      if (rows.length >= most) {
        whole = false;
        break reading;
      }
      if (record instanceof Unreadable) throw record.error;
      if (typeof record !== "object" || record === null || Array.isArray(record))
        throw invalid(`Row ${rows.length + 1} is ${kindOf(record)}; it must be an object.`);
      for (const name of Object.keys(record)) {
        let column = columns.get(name);
        if (column === undefined) {
          columns.set(name, (column = new Column()));
          names.add(record);
        }
        column.see(record[name], csv);
      }
      rows.push(record);
    }
  }
  if (rows.length === 0 && heading.length > 0) {
    names.add(Object.fromEntries(heading.map((name) => [name, ""])));
    for (const name of heading) columns.set(name, new Column());
  }
  const described: ImportPreviewColumn[] = [];
  for (const [source, column] of columns) {
    const complete = column.seen === rows.length;
    described.push({ source, name: names.of(source), type: column.type, complete, unique: complete && column.unique });
  }
  return { format: opened.format, columns: described, rows, whole };
}
