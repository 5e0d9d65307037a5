/**
 * Cuts CSV into records as it arrives: RFC 4180, with any separator and any line ends. Empty lines are skipped.
 *
 * Our own code. Papa Parse also reads files, guesses types and runs in workers, and weighs more than the rest of the
 * import. uDSV is small but compiles functions at run time, which a strict content policy forbids.
 */

import { setField } from "../codec/plain-object.js";
import { shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import { Unreadable } from "./unreadable.js";

/** How a CSV file is read. */
export interface CsvOptions {
  /** What separates fields; by default the first line decides. */
  readonly delimiter?: string | undefined;
  /** Whether the first line names the columns, as it does by default. If not, they are `_1`, `_2` and so on. */
  readonly header?: boolean | undefined;
  /** The beginning of lines to skip; by default no line is. */
  readonly comment?: string | undefined;
  /** Whether repeated names get numbers, instead of an error. */
  readonly numbered?: boolean | undefined;
}

const DELIMITERS = [",", "\t", ";", "|"];

/** The separator that occurs most outside quotes in the first line; undefined if that goes on behind the text. */
function guessDelimiter(text: string, last: boolean): string | undefined {
  const counts = new Map<string, number>();
  let [quoted, ended] = [false, last];
  for (const character of text) {
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

/** The beginning of the line after the one at `at`; -1 if it has not come yet. */
function lineAfter(text: string, at: number, last: boolean): number {
  const length = text.slice(at).search(/[\r\n]/);
  if (length < 0) return last ? text.length : -1;
  const end = at + length;
  // The character behind "\r" tells its kind.
  return end + 1 < text.length || last ? end + lineEnd(text, end) : -1;
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
  private delimiter: string | undefined;
  /** Whether a line was read. */
  private begun = false;

  /** Throws if an option is not allowed. */
  constructor(private readonly options: CsvOptions = {}) {
    const { delimiter, header, comment } = options;
    if (delimiter !== undefined && (typeof delimiter !== "string" || !/^[^"\r\n]+$/.test(delimiter))) {
      throw invalid(`The argument 'delimiter' is ${shown(delimiter)}; it must be a character other than a quote and the end of a line.`);
    }
    if (comment !== undefined && (typeof comment !== "string" || !/^[^"\r\n]+$/.test(comment))) {
      throw invalid(`The argument 'comment' is ${shown(comment)}; it must be the beginning of the lines to skip, as in "#".`);
    }
    if (header !== undefined && typeof header !== "boolean") throw invalid(`The argument 'header' is ${shown(header)}; it must be true or false.`);
    this.delimiter = delimiter;
  }

  /** The columns, once the first line has come. */
  get columns(): readonly string[] {
    return this.header ?? [];
  }

  /** Takes the next text. */
  push(text: string): (Record<string, string> | Unreadable)[] {
    this.rest += text;
    return this.parse(false);
  }

  /** The last record, which may have no line end. */
  end(): (Record<string, string> | Unreadable)[] {
    return this.rest === "" ? [] : this.parse(true);
  }

  private parse(last: boolean): (Record<string, string> | Unreadable)[] {
    if (!this.begun && !this.begin(last)) return [];
    this.delimiter ??= guessDelimiter(this.rest, last);
    if (this.delimiter === undefined) return [];
    const records: (Record<string, string> | Unreadable)[] = [];
    for (const fields of this.cut(last)) {
      if (fields instanceof Unreadable) {
        if (this.isHeaderDue) throw fields.error;
        this.row += 1;
        records.push(fields);
      } else if (fields.length > 0) {
        const isFirst = this.header === undefined;
        if (isFirst) this.name(fields);
        if (!isFirst || this.options.header === false) records.push(this.record(fields));
      }
    }
    return records;
  }

  /** Whether the next line names the columns. */
  private get isHeaderDue(): boolean {
    return this.header === undefined && this.options.header !== false;
  }

  /** Skips what comes before the first line of fields. False if that has not come yet. */
  private begin(last: boolean): boolean {
    const { comment } = this.options;
    for (;;) {
      const line = /^[^\r\n]*/.exec(this.rest)![0];
      // The character behind "\r" tells its kind.
      const isWhole = last || this.rest.length > line.length + 1;
      const separator = /^sep=([^"])$/i.exec(line)?.[1];
      const isEmpty = line === "" && this.rest !== "";
      const skips = isEmpty || separator !== undefined || (comment !== undefined && line.startsWith(comment));
      if (!isWhole && (skips || this.rest.length <= Math.max(4, comment?.length ?? 0))) return false;
      if (!skips) break;
      // A spreadsheet program tells its separator so, in a line of its own.
      if (separator !== undefined) this.delimiter ??= separator;
      this.rest = this.rest.slice(line.length + lineEnd(this.rest, line.length));
    }
    this.begun = true;
    return true;
  }

  /** The fields of each complete record, none for an empty line; the rest stays. */
  private *cut(last: boolean): Generator<string[] | Unreadable> {
    const text = this.rest;
    const delimiter = this.delimiter!;
    const { comment } = this.options;
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
      if (comment !== undefined && fields.length === 0 && (text.startsWith(comment, at) || (!last && comment.startsWith(text.slice(at))))) {
        const end = lineAfter(text, at, last);
        if (end < 0) return;
        at = end;
        this.rest = text.slice(at);
        continue;
      }
      if (text[at] === '"') {
        const close = closingQuote(text, at);
        let behind = close + 1;
        while (text[behind] === " " && delimiter !== " ") behind++;
        // Only the next characters tell whether the quote is the closing one, and whether the line ends there.
        if (!last && (close < 0 || text.length < behind + Math.max(delimiter.length, 2))) return;
        if (close < 0) {
          this.rest = "";
          yield this.broken("a quoted field has no closing quote");
          return;
        }
        fields.push(text.slice(at + 1, close).replaceAll('""', '"'));
        at = behind;
        if (at < text.length && !text.startsWith(delimiter, at) && lineEnd(text, at) === 0) {
          const end = lineAfter(text, at, last);
          if (end < 0) return;
          this.rest = text.slice(end);
          at = end;
          fields = [];
          yield this.broken("text stands behind the closing quote of a field");
          continue;
        }
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

  private broken(why: string): Unreadable {
    return new Unreadable(invalid(`Row ${this.row + (this.isHeaderDue ? 0 : 1)} of the CSV to import: ${why}.`));
  }

  private name(fields: readonly string[]): void {
    const given = fields.map((field, place) => (this.options.header === false ? "" : field.trim()) || `_${place + 1}`);
    const used = new Set(given);
    const seen = new Set<string>();
    this.header = given.map((name) => {
      if (!seen.has(name)) {
        seen.add(name);
        return name;
      }
      if (this.options.numbered !== true)
        throw invalid(
          `The first line of the CSV to import names the column '${name}' twice.`,
          'Give rename: "legal": the second one becomes a column with a number behind its name.',
        );
      let other = name;
      for (let next = 2; used.has(other); next++) other = `${name}_${next}`;
      used.add(other);
      seen.add(other);
      return other;
    });
  }

  private record(fields: readonly string[]): Record<string, string> | Unreadable {
    this.row += 1;
    const header = this.header!;
    if (fields.length !== header.length)
      return new Unreadable(invalid(`Row ${this.row} of the CSV to import has ${fields.length} fields, its first line ${header.length}.`));
    const record: Record<string, string> = {};
    for (let i = 0; i < header.length; i++) setField(record, header[i], fields[i]);
    return record;
  }
}
