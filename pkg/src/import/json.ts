/** Cuts JSON as it comes into pieces that can be parsed by themselves. */

import { invalid } from "../errors.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An integer of 16 digits or more somewhere: `JSON.parse` may round it. */
const LONG_INTEGER = /(?:^|[^\d.eE+])-?\d{16,}(?![\d.eE])/;

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

/** Keeps integers exact that a `number` would round; needs an engine that tells revivers the source text. */
const exact: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
};

/** `JSON.parse`, with integers beyond 2^53 as bigints. */
export function parseJson(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exact as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);
}

/** Splits one big array of objects: texts go in, arrays of whole elements come out. */
export class ArraySplitter {
  private rest = "";
  private scanned = 0;
  private depth = 0;
  private inString = false;
  private state: "before" | "inside" | "after" = "before";
  private elements = 0;

  /** Takes the next text, and gives the elements that have become whole. */
  push(text: string): unknown[] {
    this.rest += text;
    const { rest } = this;
    let { depth, inString } = this;
    let at = this.scanned;
    let whole = -1;
    if (this.state === "before") {
      while (at < rest.length && isSpace(rest.charCodeAt(at))) at++;
      if (at < rest.length) {
        if (rest.charCodeAt(at) !== OPEN_BRACKET) throw invalid("The JSON to import must be an array of objects; use the format 'ndjson' for one object a line.");
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
          // The escaped character may only come with the next text.
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
    if (this.state === "after" && /\S/.test(rest.slice(whole + 1))) throw invalid("There is something after the end of the JSON array to import.");
    if (whole < 0) {
      this.scanned = at;
      return [];
    }
    this.rest = this.state === "after" ? "" : rest.slice(whole + 1);
    this.scanned = this.state === "after" ? 0 : at - whole - 1;
    return this.parse(rest.slice(0, whole));
  }

  private parse(text: string): unknown[] {
    let values: unknown[];
    try {
      values = parseJson(`[${text}]`) as unknown[];
    } catch (error) {
      throw invalid(`The JSON to import is wrong somewhere in elements ${this.elements + 1} and after: ${(error as Error).message}.`);
    }
    this.elements += values.length;
    return values;
  }

  /** Says that there is no more text. */
  end(): void {
    if (this.state !== "after") throw invalid(`The JSON to import ends too early, after ${this.elements} whole elements.`);
  }
}

/** Splits lines, each a JSON object: texts go in, objects of whole lines come out. Empty lines are passed over. */
export class LineSplitter {
  private rest = "";
  private line = 0;

  /** Takes the next text. */
  push(text: string): unknown[] {
    // A line that grows over many texts is joined once, not searched again and again.
    const end = text.lastIndexOf("\n");
    if (end < 0) {
      this.rest += text;
      return [];
    }
    const whole = this.rest + text.slice(0, end);
    this.rest = text.slice(end + 1);
    return this.parse(whole);
  }

  /** The last line, when nothing ends it. */
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
        throw invalid(`Line ${this.line} of the source to import is not JSON: ${(error as Error).message}.`);
      }
    }
    return values;
  }
}
