/** Answers and errors as plain text: columns line up, also with wide characters. */

import { toBase64 } from "../codec/base64.js";
import type { Consumed, TabStoreError } from "../index.js";
import type { Answer, AnswerCell, AnswerFacts, TableAnswer } from "./answer.js";
import { ShellError } from "./errors.js";

/** Characters that take two places of a terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f004}\u{1f0cf}\u{1f18e}-\u{1f19a}\u{1f200}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f7e0}-\u{1f7eb}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Marks on the character before, and what joins or chooses forms. */
const NONE = /\p{Mn}|\p{Me}|[\u200b-\u200d]|[\u{1f3fb}-\u{1f3ff}]/u;
/** What would move the cursor, or turn the text round. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const JOINER = "\u200d";

/** The places that a text takes in a terminal. */
export function widthOf(text: string): number {
  let [width, isJoined] = [0, false];
  for (const character of text) {
    if (!isJoined && !NONE.test(character)) width += WIDE.test(character) ? 2 : 1;
    isJoined = character === JOINER;
  }
  return width;
}

/** A text that moves no cursor: control characters are shown as escapes. */
export const visible = (text: string): string => text.replace(CONTROL, (one) => ESCAPES[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A text of at most so many places. */
function cut(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let [kept, width] = ["", 0];
  for (const character of text) {
    width += widthOf(character);
    if (width >= most) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A value as the shell shows it: bytes are base64, a Double has a fraction. */
export function cellText(cell: AnswerCell): string {
  if (cell === undefined) return "";
  const { value, type } = cell;
  if (value instanceof Uint8Array) return toBase64(value);
  if (type === "DOUBLE" && Number.isInteger(value)) return Object.is(value, -0) ? "-0.0" : /e/.test(String(value)) ? String(value) : `${value}.0`;
  return String(value);
}

const isNumber = (cell: AnswerCell): boolean => cell?.type === "INTEGER" || cell?.type === "DOUBLE";

/** Rows under headings, with so many places a column at most. */
function tableText({ columns, rows }: TableAnswer, most: number): string {
  const texts = rows.map((row) => columns.map((_, at) => cut(visible(cellText(row[at])), most)));
  const widths = columns.map((name, at) => Math.max(widthOf(name), ...texts.map((row) => widthOf(row[at]))));
  const right = columns.map((_, at) => rows.length > 0 && rows.every((row) => row[at] === undefined || isNumber(row[at])));
  const line = (row: readonly string[]): string =>
    row
      .map((text, at) => {
        const blanks = " ".repeat(widths[at] - widthOf(text));
        return right[at] ? blanks + text : text + blanks;
      })
      .join(" | ")
      .trimEnd();
  return [line(columns), widths.map((width) => "-".repeat(width)).join("-+-"), ...texts.map(line)].join("\n");
}

/** A number of things: `1 row`, `2 rows`. */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Units in words; nothing if there are none. */
function unitsText(consumed: Consumed | undefined): string | undefined {
  const parts = [
    ...(consumed === undefined || consumed.read === 0 ? [] : [counted(consumed.read, "read unit")]),
    ...(consumed === undefined || consumed.write === 0 ? [] : [counted(consumed.write, "write unit")]),
  ];
  return parts.length === 0 ? undefined : parts.join(", ");
}

/** Rows, units and time, in words. */
export function factsText(answer: AnswerFacts & { readonly rows?: readonly unknown[] }): string {
  const { rows, consumed, ms } = answer;
  return [rows && counted(rows.length, "row"), unitsText(consumed), `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`].filter(Boolean).join(", ");
}

/** How a text of an answer is made. */
export interface TextOptions {
  /** The most places of a column of a table; default 60. Longer values are cut. */
  readonly columnWidth?: number | undefined;
}

/** An answer as plain text, without a line break at its end. */
export function answerText(answer: Answer, { columnWidth = 60 }: TextOptions = {}): string {
  switch (answer.kind) {
    case "table":
      return [
        ...(answer.columns.length === 0 ? [] : [tableText(answer, columnWidth)]),
        ...(answer.note === undefined ? [] : [answer.note]),
        factsText(answer),
      ].join("\n");
    case "json":
      return [answer.json, ...(answer.note === undefined ? [] : [answer.note])].join("\n");
    case "text":
      return [answer.text, ...(answer.note === undefined ? [] : [answer.note]), ...(answer.consumed === undefined ? [] : [factsText(answer)])].join("\n");
    default:
      return "";
  }
}

/** The most places of a line in an error. */
const LINE = 120;

/** A part of the line with the wrong stretch in it, and marks below it. */
function marked(line: string, { start, end }: ShellError): string {
  const from = Math.max(0, Math.min(start - LINE / 2, line.length - LINE));
  const part = line.slice(from, from + LINE);
  const head = from === 0 ? "" : "…";
  const before = visible(head + part.slice(0, start - from));
  const wrong = visible(part.slice(start - from, Math.max(end, start + 1) - from)) || " ";
  return `${visible(head + part)}${from + LINE < line.length ? "…" : ""}\n${" ".repeat(widthOf(before))}${"^".repeat(widthOf(wrong))}`;
}

/** Why a line failed, as plain text: the wrong word is marked, and the right form is shown. */
export function errorText(line: string, error: unknown): string {
  if (error instanceof ShellError) return [marked(line, error), error.message, ...(error.usage === undefined ? [] : [`Usage: ${error.usage}`])].join("\n");
  const { code, message, hint } = error as Partial<TabStoreError>;
  // Errors of the system begin with their code.
  return `${typeof code === "string" && message?.startsWith(code) !== true ? `${code}: ` : ""}${message ?? String(error)}${hint === undefined ? "" : `\n${hint}`}`;
}
