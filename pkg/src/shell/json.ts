/** Reads JSON and keeps where each part stands, and how each number is written: `1.0` is no integer, and 64 bits are exact. */

import { ShellError, type Stretch } from "./errors.js";
import { type Word, within } from "./words.js";

/** A part of JSON, and its place in the line. */
export type Json = Stretch &
  (
    | { readonly kind: "text"; readonly value: string }
    | { readonly kind: "number"; readonly value: string }
    | { readonly kind: "boolean"; readonly value: boolean }
    | { readonly kind: "null" }
    | { readonly kind: "array"; readonly items: readonly Json[] }
    | { readonly kind: "object"; readonly members: readonly Member[] }
  );

/** A member of an object. */
export interface Member {
  readonly name: string;
  readonly place: Stretch;
  readonly value: Json;
}

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERALS = ["true", "false", "null"] as const;
/** The word that a wrong part is shown as. */
const REST = /[^\s,:\]}]+|./y;
const DEEPEST = 64;

/** Reads one text. */
class Reader {
  private at = 0;

  constructor(
    private readonly word: Word,
    private readonly text = word.text,
  ) {}

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private skip(): void {
    this.match(SPACE);
  }

  private place(from: number): Stretch {
    return within(this.word, from, this.at);
  }

  private fail(expected: string): never {
    const from = this.at;
    const found = this.match(REST);
    throw new ShellError(
      found === undefined ? `The JSON ends too early: ${expected} is missing` : `'${found}' is wrong in the JSON: ${expected} belongs here`,
      found === undefined ? this.word : this.place(from),
    );
  }

  private expect(character: string): void {
    this.skip();
    if (this.text[this.at] !== character) this.fail(`'${character}'`);
    this.at++;
  }

  /** Whether the list goes on behind a part of it. */
  private more(close: string): boolean {
    this.skip();
    if (this.text[this.at] === ",") {
      this.at++;
      return true;
    }
    if (this.text[this.at] !== close) this.fail(`',' or '${close}'`);
    return false;
  }

  private isEmpty(close: string): boolean {
    this.at++;
    this.skip();
    return this.text[this.at] === close;
  }

  private items(depth: number): Json[] {
    const items: Json[] = [];
    if (!this.isEmpty("]"))
      do items.push(this.value(depth));
      while (this.more("]"));
    this.at++;
    return items;
  }

  private members(depth: number): Member[] {
    const members: Member[] = [];
    if (!this.isEmpty("}"))
      do members.push(this.member(depth));
      while (this.more("}"));
    this.at++;
    return members;
  }

  private member(depth: number): Member {
    this.skip();
    const from = this.at;
    const name = this.match(TEXT);
    if (name === undefined) this.fail('a name in "…"');
    const place = this.place(from);
    this.expect(":");
    return { name: JSON.parse(name) as string, place, value: this.value(depth) };
  }

  /** A part, with what is in it. */
  value(depth = 0): Json {
    this.skip();
    const from = this.at;
    if (depth > DEEPEST) this.fail("a value that is not so deep");
    const first = this.text[from];
    if (first === "[") return { kind: "array", items: this.items(depth + 1), ...this.place(from) };
    if (first === "{") return { kind: "object", members: this.members(depth + 1), ...this.place(from) };
    const text = this.match(TEXT);
    if (text !== undefined) return { kind: "text", value: JSON.parse(text) as string, ...this.place(from) };
    const digits = this.match(NUMBER);
    if (digits !== undefined) return { kind: "number", value: digits, ...this.place(from) };
    const literal = LITERALS.find((one) => this.text.startsWith(one, from));
    if (literal === undefined) this.fail('a text in "…", a number, true, false, null, [ or {');
    this.at += literal.length;
    return literal === "null" ? { kind: "null", ...this.place(from) } : { kind: "boolean", value: literal === "true", ...this.place(from) };
  }

  /** Refuses anything behind the end. */
  end(): void {
    this.skip();
    if (this.at < this.text.length) this.fail("the end");
  }
}

/** The JSON of a word. @throws {@link ShellError} at the place that is wrong. */
export function readJson(word: Word): Json {
  const reader = new Reader(word);
  const value = reader.value();
  reader.end();
  return value;
}

/** The JSON of a text that stands in no line, as in a file. */
export function readJsonText(text: string): Json {
  return readJson({ text, places: undefined, start: 0, end: text.length, open: undefined });
}
