/** Reads JSON character by character, slowly and exactly, to compare a faster way with. */

import { random } from "./package.js";

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Reads JSON; an integer that a `number` would round is a bigint. Throws where JSON is wrong. */
export function readJson(text: string): unknown {
  let at = 0;
  const wrong = (): never => {
    throw new SyntaxError(`wrong at ${at}`);
  };
  const space = (): void => {
    while (" \t\n\r".includes(text[at] ?? "x")) at++;
  };
  const string = (): string => {
    let out = "";
    for (at++; text[at] !== '"'; at++) {
      const character = text[at] ?? wrong();
      if (character < " ") wrong();
      if (character !== "\\") {
        out += character;
        continue;
      }
      const escaped = text[++at] ?? wrong();
      if (escaped === "u") {
        const hex = text.slice(at + 1, at + 5);
        if (!/^[0-9a-f]{4}$/i.test(hex)) wrong();
        out += String.fromCharCode(parseInt(hex, 16));
        at += 4;
      } else {
        out += ESCAPES[escaped] ?? wrong();
      }
    }
    at++;
    return out;
  };
  const value = (): unknown => {
    space();
    const first = text[at] ?? wrong();
    if (first === '"') return string();
    if (first === "[") {
      const out: unknown[] = [];
      at++;
      space();
      if (text[at] === "]") return (at++, out);
      for (;;) {
        out.push(value());
        space();
        if (text[at] === "]") return (at++, out);
        if (text[at++] !== ",") wrong();
      }
    }
    if (first === "{") {
      const out = {};
      at++;
      space();
      if (text[at] === "}") return (at++, out);
      for (;;) {
        space();
        if (text[at] !== '"') wrong();
        const name = string();
        space();
        if (text[at++] !== ":") wrong();
        Object.defineProperty(out, name, { value: value(), enumerable: true, configurable: true, writable: true });
        space();
        if (text[at] === "}") return (at++, out);
        if (text[at++] !== ",") wrong();
      }
    }
    for (const [word, meant] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (text.startsWith(word, at)) return ((at += word.length), meant);
    }
    const [number] = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/.exec(text.slice(at, at + 400)) ?? wrong();
    at += number.length;
    return /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number)) ? BigInt(number) : Number(number);
  };
  const out = value();
  space();
  return at === text.length ? out : wrong();
}

const LONG = [
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "-9007199254740993",
  "9223372036854775807",
  "-9223372036854775808",
  "9223372036854775808",
  "18446744073709551615",
  "1000000000000000000",
  "-1234567890123456789012345",
];
const PIECES = [
  "a",
  "é",
  "😀",
  '\\"',
  "\\\\",
  "\\n",
  "\\u0000",
  "\\u0000\\u0000",
  "\\\\u0000",
  "\\u00e9",
  "\\ud83d\\ude00",
  "9007199254740993",
  ":",
  "{",
  "}",
  "[",
  "]",
  ",",
  " ",
  "-",
  "1e5",
  "12345678901234567890",
];
const NAMES = ["a", "b", "1", "2", "9007199254740993", "__proto__", "constructor", "", "\\u0000", "\\u00009007199254740993", 'v\\"'];

/** A text of JSON that tries to mislead: long integers, digits in texts and names, escapes, names given twice. */
export function wildJson(seed: number): string {
  const next = random(seed);
  const pick = <T>(all: readonly T[]): T => all[next(all.length)];
  const space = (): string => pick(["", "", "", " ", "\n", "\t \r"]);
  const digits = (count: number): string => Array.from({ length: count }, () => next(10)).join("");
  const number = (): string => {
    const integer = next(2) === 0 ? pick(LONG) : `${pick(["", "-"])}${next(9) + 1}${digits(next(24))}`;
    return pick([
      integer,
      integer,
      integer,
      `${integer}.${digits(1 + next(20))}`,
      `${integer}${pick(["e", "E"])}${pick(["", "+", "-"])}${next(9)}`,
      `0.${digits(18)}`,
      `1e-${next(99)}`,
      "0",
      "-0",
    ]);
  };
  const string = (): string => `"${Array.from({ length: next(5) }, () => pick(PIECES)).join("")}"`;
  const value = (depth: number): string => {
    const kind = next(depth > 3 ? 8 : 12);
    if (kind < 4) return number();
    if (kind < 7) return string();
    if (kind === 7) return pick(["true", "false", "null"]);
    const inner = (): string => `${space()}${value(depth + 1)}${space()}`;
    if (kind < 10) return `[${Array.from({ length: next(5) }, inner).join(",") || space()}]`;
    return `{${Array.from({ length: next(6) }, () => `${space()}"${pick(NAMES)}"${space()}:${inner()}`).join(",")}}`;
  };
  return value(0);
}

/** The text with something wrong in it, mostly. */
export function spoilt(text: string, seed: number): string {
  const next = random(seed);
  const characters = [...text];
  const at = next(characters.length + 1);
  const added = ["", "0", "9007199254740993", '"', "\\", ",", ":", "-", "e5", ".5", "{", "}", "]", "é", " ", "\0", "12345678901234567890:"][next(17)];
  return [...characters.slice(0, at), added, ...characters.slice(at + next(3))].join("");
}
