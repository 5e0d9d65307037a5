/**
 * Cuts a line into words, as the shells of the cloud's tool do: blanks separate, `'…'` holds everything, `"…"` knows `\"` and `\\`,
 * a backslash takes the next character as it is. A word that begins with `[` or `{` is JSON up to its last bracket, also without quotes.
 */

import { ShellError, type Stretch } from "./errors.js";

/** A word: its text without quotes, and its place in the line. */
export interface Word extends Stretch {
  readonly text: string;
  /** The place in the line of each character of the text; `undefined` where the text is the line. */
  readonly places: readonly number[] | undefined;
  /** The quote, or the bracket, that is still open at the end of the line. */
  readonly open: "'" | '"' | "[" | undefined;
}

const BLANK = /\s/;

/** Collects a word. */
class Collector {
  text = "";
  readonly places: number[] = [];

  constructor(
    readonly line: string,
    public at: number,
  ) {}

  /** Takes a character as it is. */
  take(): void {
    this.text += this.line[this.at];
    this.places.push(this.at++);
  }

  /** Takes what a quote holds. Gives the quote if it is not closed. */
  quoted(): "'" | '"' | undefined {
    const quote = this.line[this.at++] as "'" | '"';
    while (this.at < this.line.length) {
      if (this.line[this.at] === quote) {
        this.at++;
        return undefined;
      }
      if (quote === '"' && this.line[this.at] === "\\" && /["\\]/.test(this.line[this.at + 1] ?? "")) this.at++;
      this.take();
    }
    return quote;
  }

  /** Takes JSON that stands without quotes. Gives a bracket if one is not closed. */
  json(): "[" | undefined {
    let [depth, inText] = [0, false];
    while (this.at < this.line.length) {
      const one = this.line[this.at];
      this.take();
      if (inText && one === "\\" && this.at < this.line.length) this.take();
      else if (one === '"') inText = !inText;
      else if (!inText && /[[{]/.test(one)) depth++;
      else if (!inText && /[\]}]/.test(one) && --depth === 0) return undefined;
    }
    return "[";
  }

  /** Takes one word. */
  word(): Word["open"] {
    if (/[[{]/.test(this.line[this.at])) return this.json();
    let open: Word["open"];
    while (this.at < this.line.length && !BLANK.test(this.line[this.at])) {
      const one = this.line[this.at];
      if (one === "'" || one === '"') open = this.quoted();
      else {
        if (one === "\\" && this.at + 1 < this.line.length) this.at++;
        this.take();
      }
    }
    return open;
  }
}

/** The words of a line. What is not closed at its end is open: {@link closed} refuses it. */
export function wordsOf(line: string): Word[] {
  const words: Word[] = [];
  for (let at = 0; at < line.length; ) {
    if (BLANK.test(line[at])) {
      at++;
      continue;
    }
    if (line[at] === "#") break;
    const collector = new Collector(line, at);
    const open = collector.word();
    words.push({ text: collector.text, places: collector.places, start: at, end: collector.at, open });
    at = collector.at;
  }
  return words;
}

/** Refuses a quote or a bracket that is not closed. */
export function closed(words: readonly Word[]): readonly Word[] {
  const last = words.at(-1);
  if (last?.open === undefined) return words;
  const what = last.open === "[" ? "A bracket" : `The quote ${last.open}`;
  throw new ShellError(`${what} is not closed`, last);
}

/** A part of a word, by characters of its text, as a stretch of the line. */
export function within({ places, start, end }: Word, from: number, to: number): Stretch {
  if (places === undefined) return { start: from, end: to };
  const first = places[from] ?? end;
  return { start: Math.max(first, start), end: to > from ? (places[to - 1] ?? end - 1) + 1 : first };
}

/** A text as one word of a line. */
export function quote(text: string): string {
  return /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
