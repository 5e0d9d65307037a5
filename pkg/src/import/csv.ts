/**
 * Cuts CSV into records as it arrives: RFC 4180, with any separator and any line ends. Empty lines are skipped.
 *
 * Our own code. Papa Parse also reads files, guesses types and runs in workers, and weighs more than the rest of the
 * import. uDSV is small but compiles functions at run time, which a strict content policy forbids.
 */

import { setField } from "../codec/page.js";
import { shown } from "../codec/kinds.js";
import { invalid } from "../errors.js";

const DELIMITERS = [",", "\t", ";", "|"];

/** The separator that occurs most outside quotes in the first line that is not empty; undefined if it goes on behind the text. */
function guessDelimiter(text: string, last: boolean): string | undefined {
  const counts = new Map<string, number>();
  let [quoted, ended] = [false, last];
  for (const character of text.replace(/^[\r\n]+/, "")) {
    if (character === '"') quoted = !quoted;
    else if (!quoted && (character === "\n" || character === "\r")) {
      ended = true;
      break;
    } else if (!quoted && DELIMITERS.includes(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  if (!ended) return undefined;
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}

/** The length of the line end at a place: of `\r\n`, `\n` or `\r`; 0 if there is none. One file may have several kinds. */
function lineEnd(text: string, at: number): number {
  if (text[at] === "\r") return text[at + 1] === "\n" ? 2 : 1;
  return text[at] === "\n" ? 1 : 0;
}

/** The end of the field whose first quote is at `open`; -1 if it is not there yet. A quote inside is written twice. */
function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

/** Splits a CSV file whose first line names the columns: takes texts, returns complete records. */
export class CsvSplitter {
  private rest = "";
  private header: string[] | undefined;
  private row = 0;

  /** `delimiter` separates fields; by default the first line decides. Throws if it is not allowed. */
  constructor(private delimiter: string | undefined) {
    if (delimiter !== undefined && (typeof delimiter !== "string" || !/^[^"\r\n]+$/.test(delimiter))) {
      throw invalid(`The argument 'delimiter' is ${shown(delimiter)}; it must be a character other than a quote and the end of a line.`);
    }
  }

  /** The columns, once the first line has come. */
  get columns(): readonly string[] {
    return this.header ?? [];
  }

  /** Takes the next text. */
  push(text: string): Record<string, string>[] {
    this.rest += text;
    return this.parse(false);
  }

  /** The last record, which may have no line end. */
  end(): Record<string, string>[] {
    return this.rest === "" ? [] : this.parse(true);
  }

  private parse(last: boolean): Record<string, string>[] {
    this.delimiter ??= guessDelimiter(this.rest, last);
    if (this.delimiter === undefined) return [];
    const records: Record<string, string>[] = [];
    for (const fields of this.cut(last)) {
      if (fields.length === 0) continue;
      if (this.header === undefined) this.name(fields);
      else records.push(this.record(fields));
    }
    return records;
  }

  /** The fields of each complete record, none for an empty line; the rest stays. */
  private *cut(last: boolean): Generator<string[]> {
    const text = this.rest;
    const delimiter = this.delimiter!;
    // The next ones; searched again only when the cursor passes them.
    let separator = -1;
    let feed = -1;
    let carriage = -1;
    const next = (what: string, known: number, at: number): number => {
      if (known >= at) return known;
      const found = text.indexOf(what, at);
      return found < 0 ? Infinity : found;
    };
    let fields: string[] = [];
    for (let at = 0; at < text.length || fields.length > 0; ) {
      if (text[at] === '"') {
        const close = closingQuote(text, at);
        let behind = close + 1;
        while (text[behind] === " " && delimiter !== " ") behind++;
        // Only the next characters tell whether the quote is the closing one, and whether the line ends there.
        if (!last && (close < 0 || text.length < behind + Math.max(delimiter.length, 2))) return;
        if (close < 0) throw this.broken("a quoted field has no closing quote");
        fields.push(text.slice(at + 1, close).replaceAll('""', '"'));
        at = behind;
        if (at < text.length && !text.startsWith(delimiter, at) && lineEnd(text, at) === 0) throw this.broken("text stands behind the closing quote of a field");
      } else {
        separator = next(delimiter, separator, at);
        feed = next("\n", feed, at);
        carriage = next("\r", carriage, at);
        const stop = Math.min(separator, feed, carriage, text.length);
        // One more character tells "\r" from "\r\n".
        if (!last && stop + 1 >= text.length && stop !== separator && stop !== feed) return;
        if (fields.length === 0 && stop === at && stop !== separator) {
          at += lineEnd(text, at);
          this.rest = text.slice(at);
          yield [];
          continue;
        }
        fields.push(text.slice(at, stop));
        at = stop;
      }
      if (text.startsWith(delimiter, at)) {
        at += delimiter.length;
        continue;
      }
      at += lineEnd(text, at);
      this.rest = text.slice(at);
      yield fields;
      fields = [];
    }
  }

  private broken(why: string): Error {
    return invalid(`Row ${this.row + (this.header === undefined ? 0 : 1)} of the CSV to import: ${why}.`);
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
