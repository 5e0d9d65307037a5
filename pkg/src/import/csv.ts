/** Cuts CSV as it comes into records, by the parser of Papa Parse. */

import Papa from "papaparse";

import { setField } from "../codec/page.js";
import { invalid } from "../errors.js";

const DELIMITERS = [",", "\t", ";", "|"];

/** The separator that occurs most outside quotes in the first line. */
function guessDelimiter(text: string): string {
  const counts = new Map<string, number>();
  let quoted = false;
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    else if (!quoted && (character === "\n" || character === "\r")) break;
    else if (!quoted && DELIMITERS.includes(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}

/** Splits a CSV file whose first line names the columns: texts go in, whole records come out. */
export class CsvSplitter {
  private rest = "";
  private header: string[] | undefined;
  private newline: "\r\n" | "\n" | "\r" | undefined;
  private row = 0;

  /** `delimiter` stands between fields; found out from the first line unless given. */
  constructor(private delimiter: string | undefined) {}

  /** The columns, once the first line has come. */
  get columns(): readonly string[] {
    return this.header ?? [];
  }

  /** Takes the next text. */
  push(text: string): Record<string, string>[] {
    this.rest += text;
    return this.parse(false);
  }

  /** The last record, when nothing ends it. */
  end(): Record<string, string>[] {
    return this.rest === "" ? [] : this.parse(true);
  }

  private parse(last: boolean): Record<string, string>[] {
    if (this.newline === undefined) {
      // One character more is needed to tell "\r" from "\r\n".
      const end = /\r\n|\n|\r(?=[^\n])/.exec(this.rest);
      if (end === null && !last) return [];
      this.newline = (end?.[0] ?? "\n") as "\n";
      this.delimiter ??= guessDelimiter(this.rest);
    }
    const parser = new Papa.Parser({ delimiter: this.delimiter!, newline: this.newline });
    const { data, errors, meta } = parser.parse(this.rest, 0, !last) as Papa.ParseResult<string[]>;
    this.rest = this.rest.slice(meta.cursor);
    // What looks broken in a row that has not come to its end may only be cut.
    const broken = errors.find(({ type, row = 0 }) => type === "Quotes" && (last || row < data.length));
    if (broken !== undefined) throw invalid(`Row ${this.row + (broken.row ?? 0) + (this.header === undefined ? 0 : 1)} of the CSV to import: ${broken.message}.`);
    const records: Record<string, string>[] = [];
    for (const fields of data) {
      if (this.header === undefined) this.name(fields);
      else if (fields.length > 1 || fields[0] !== "") records.push(this.record(fields));
    }
    return records;
  }

  private name(fields: readonly string[]): void {
    const header = fields.map((field) => field.trim());
    const twice = header.find((field, place) => header.indexOf(field) !== place);
    if (twice !== undefined) throw invalid(`The first line of the CSV to import names the column '${twice}' twice.`);
    this.header = header;
  }

  private record(fields: readonly string[]): Record<string, string> {
    this.row += 1;
    const header = this.header!;
    if (fields.length !== header.length) throw invalid(`Row ${this.row} of the CSV to import has ${fields.length} fields, its first line ${header.length}.`);
    const record: Record<string, string> = {};
    for (let i = 0; i < header.length; i++) setField(record, header[i], fields[i]);
    return record;
  }
}
