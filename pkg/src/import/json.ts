/** Cuts JSON, as it arrives, into pieces that can be parsed alone. */

import { setField } from "../codec/plain-object.js";
import { invalid } from "../types/errors.js";
import { Unreadable } from "./unreadable.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An integer of 16 digits or more anywhere, even inside a text: `JSON.parse` may round it. */
const LONG_INTEGER = /(?:^|[^\d.eE+])-?\d{16,}(?![\d.eE])/;
/** The start of a text, or of a literal that may be such an integer. */
const TOKEN = /"|[-+.\w]{16,}/g;
const INTEGER = /^-?[1-9]\d*$/;
const COLON = /[ \t\n\r]*:/y;

/** The end of the JSON text that begins at `open`. */
function endOfText(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return json.length;
}

/** More NULs than any text in `json` has in a row, so no text or key contains the mark. JSON writes a NUL in one way only. */
function markFor(json: string): string {
  let mark = "\\u0000";
  while (json.includes(mark)) mark += mark;
  return mark;
}

/** Whether `JSON.parse` would round a literal that is no key. */
function isLong(json: string, literal: string, end: number): boolean {
  COLON.lastIndex = end;
  return INTEGER.test(literal) && !Number.isSafeInteger(Number(literal)) && !COLON.test(json);
}

/** Turns marked texts within a value, or a value itself, back into integers. */
function unmark(root: unknown, mark: string): unknown {
  const box = [root];
  const open: object[] = [box];
  for (let value; (value = open.pop() as Record<string, unknown> | undefined) !== undefined; ) {
    for (const name of Object.keys(value)) {
      const inner = value[name];
      if (typeof inner === "string" && inner.startsWith(mark)) setField(value, name, BigInt(inner.slice(mark.length)));
      else if (typeof inner === "object" && inner !== null) open.push(inner);
    }
  }
  return box[0];
}

/**
 * `JSON.parse`, with integers beyond 2^53 as bigints. During parsing these are texts with a mark. Revivers could see the
 * source of a number, but not on all hosts, and they are called for every value.
 */
function parseJson(json: string): unknown {
  if (!LONG_INTEGER.test(json)) return JSON.parse(json);
  const mark = markFor(json);
  let marked = "";
  let done = 0;
  TOKEN.lastIndex = 0;
  for (let found; (found = TOKEN.exec(json)) !== null; ) {
    const [token] = found;
    if (token === '"') {
      TOKEN.lastIndex = endOfText(json, found.index);
    } else if (isLong(json, token, TOKEN.lastIndex)) {
      marked += `${json.slice(done, found.index)}"${mark}${token}"`;
      done = TOKEN.lastIndex;
    }
  }
  if (done === 0) return JSON.parse(json);
  let value: unknown;
  try {
    value = JSON.parse(marked + json.slice(done));
  } catch {
    // The input was already wrong, so the message must be about the input.
    return JSON.parse(json);
  }
  return unmark(value, "\0".repeat(mark.length / 6));
}

/** `JSON.stringify`, with bigints as the integers that they are. */
export function printJson(value: unknown, check: (inner: unknown) => void = () => {}): string {
  const print = (one: (integer: bigint) => unknown): string =>
    JSON.stringify(value, (_, inner: unknown) => {
      check(inner);
      return typeof inner === "bigint" ? one(inner) : inner;
    });
  let integers = 0;
  const plain = print(() => ++integers);
  if (integers === 0) return plain;
  const mark = markFor(plain);
  const nuls = "\0".repeat(mark.length / 6);
  return print((integer) => `${nuls}${integer}`).replaceAll(new RegExp(`"(?:\\\\u0000){${mark.length / 6}}(-?\\d+)"`, "g"), "$1");
}

/** What stands between the commas of an array's text, but for those in texts, arrays and objects. */
function* pieces(text: string): Generator<string> {
  let [from, depth] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    else if (code === COMMA && depth === 0) {
      yield text.slice(from, at);
      from = at + 1;
    }
  }
  yield text.slice(from);
}

const behind = (): Error => invalid("There is something after the end of the JSON array to import.");

/** Splits one big array of objects: takes texts, returns arrays of complete elements. */
export class ArraySplitter {
  private rest = "";
  private scanned = 0;
  private depth = 0;
  private inString = false;
  private state: "before" | "inside" | "after" = "before";
  private elements = 0;

  /** Takes the next text, and returns the elements that are now complete. */
  push(text: string): unknown[] {
    this.rest += text;
    const { rest } = this;
    let { depth, inString } = this;
    let at = this.scanned;
    let whole = -1;
    if (this.state === "before") {
      while (at < rest.length && isSpace(rest.charCodeAt(at))) at++;
      if (at < rest.length) {
        if (rest.charCodeAt(at) !== OPEN_BRACKET) {
          throw invalid(
            "The JSON to import must be an array of objects.",
            'Is each line an object? Give format: "ndjson". Are the rows an array within an object? Give that array: importRows(table, JSON.parse(await file.text()).rows).',
          );
        }
        this.state = "inside";
        this.rest = rest.slice(at + 1);
        this.scanned = 0;
        return this.push("");
      }
      this.scanned = at;
      return [];
    }
    for (; at < rest.length && this.state === "inside"; at++) {
      const code = rest.charCodeAt(at);
      if (inString) {
        if (code === BACKSLASH) {
          // The escaped character may come with the next text.
          if (at + 1 >= rest.length) break;
          at++;
        } else if (code === QUOTE) {
          inString = false;
        }
      } else if (code === QUOTE) {
        inString = true;
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        depth++;
      } else if (code === CLOSE_BRACE) {
        depth--;
      } else if (code === CLOSE_BRACKET) {
        if (depth === 0) {
          this.state = "after";
          whole = at;
        } else {
          depth--;
        }
      } else if (code === COMMA && depth === 0) {
        whole = at;
      }
    }
    this.depth = depth;
    this.inString = inString;
    if (whole < 0 && this.state === "after") {
      if (/\S/.test(rest)) throw behind();
      this.rest = "";
      this.scanned = 0;
      return [];
    }
    if (whole < 0) {
      this.scanned = at;
      return [];
    }
    const left = rest.slice(whole + 1);
    this.rest = this.state === "after" ? "" : left;
    this.scanned = this.state === "after" ? 0 : at - whole - 1;
    const values = this.parse(rest.slice(0, whole));
    if (this.state === "after" && /\S/.test(left)) values.push(new Unreadable(behind(), true));
    return values;
  }

  private parse(text: string): unknown[] {
    let values: unknown[];
    try {
      // Only an array without elements has nothing before its end.
      if (text.trim() === "" && (this.elements > 0 || this.state !== "after")) throw new SyntaxError();
      values = parseJson(`[${text}]`) as unknown[];
    } catch {
      values = this.upToFault(text);
    }
    this.elements += values.length;
    return values;
  }

  /** The elements before the one that is wrong, and that. Where the next one would begin, nobody knows. */
  private upToFault(text: string): unknown[] {
    const values: unknown[] = [];
    for (const piece of pieces(text)) {
      try {
        values.push(parseJson(piece));
      } catch (error) {
        values.push(new Unreadable(invalid(`Element ${this.elements + values.length + 1} of the JSON to import is wrong: ${(error as Error).message}.`), true));
        break;
      }
    }
    return values;
  }

  /** Ends the input: call it after the last text. */
  end(): void {
    if (this.state !== "after") throw invalid(`The JSON to import ends too early, after ${this.elements} whole elements.`);
  }
}

/** Splits lines, each a JSON object: takes texts, returns objects of complete lines. Empty lines are skipped. */
export class LineSplitter {
  private rest = "";
  private line = 0;

  /** Takes the next text. */
  push(text: string): unknown[] {
    // A line over many texts is joined once, not searched again and again.
    const end = text.lastIndexOf("\n");
    if (end < 0) {
      this.rest += text;
      return [];
    }
    const whole = this.rest + text.slice(0, end);
    this.rest = text.slice(end + 1);
    return this.parse(whole);
  }

  /** The last line, which may have no line end. */
  end(): unknown[] {
    const { rest } = this;
    this.rest = "";
    return rest.trim() === "" ? [] : this.parse(rest);
  }

  private parse(text: string): unknown[] {
    const values: unknown[] = [];
    for (const line of text.split("\n")) {
      this.line += 1;
      if (line.trim() === "") continue;
      try {
        values.push(parseJson(line));
      } catch (error) {
        values.push(new Unreadable(invalid(`Line ${this.line} of the source to import is not JSON: ${(error as Error).message}.`)));
      }
    }
    return values;
  }
}
