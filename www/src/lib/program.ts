/** A program that a person types: made ready to run as the body of an async function, its lines kept where they are. */

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/javascript";

import { ENTRIES, LOADER } from "./program-entries.ts";

/** A program that cannot run, with the line that is wrong, from 1. */
export class ProgramError extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/** A stretch of the text, and what stands in its place. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The line of a place in a text, from 1. */
export function lineOf(text: string, place: number): number {
  return text.slice(0, place).split(/\r\n|[\n\r\u2028\u2029]/).length;
}

const ALL = /^import\s*\*\s*as\s+([\w$]+)\s*from\s*(["'])(.+)\2\s*;?$/;
const NAMED = /^import\s*(\{[^{}]*\})\s*from\s*(["'])(.+)\2\s*;?$/;

/** The declaration that does what an import does. It has as many lines. */
function importChange(text: string, { from, to }: SyntaxNode): Change {
  const said = text.slice(from, to);
  const [, names, , entry] = NAMED.exec(said) ?? ALL.exec(said) ?? [];
  const line = lineOf(text, from);
  if (names === undefined) throw new ProgramError('Write an import here as `import { col, double } from "tabstore"`.', line);
  const known = ENTRIES.find((one) => one === entry);
  if (known === undefined) throw new ProgramError(`There is no module ${entry} here. These are there: ${ENTRIES.join(", ")}.`, line);
  return { from, to, text: `const ${names.replaceAll(/(?<=[\w$])(\s+)as(\s+)(?=[\w$])/g, "$1:$2")} = await ${LOADER}("${known}");` };
}

/** Gives the value of the last statement, if it is an expression: as a console shows it. */
function lastValue(top: SyntaxNode): readonly Change[] {
  let last = top.lastChild;
  while (last?.name === "LineComment" || last?.name === "BlockComment") last = last.prevSibling;
  const expression = last?.name === "ExpressionStatement" ? last.firstChild : null;
  if (expression === null || expression.type.isError) return [];
  return [
    { from: expression.from, to: expression.from, text: "return (" },
    { from: expression.to, to: expression.to, text: ")" },
  ];
}

/**
 * The body of an async function that does what the program says, and returns the value of its last expression. What the program declares
 * may have the names of the function's parameters. Line n of the program is line n of the body.
 *
 * @throws {ProgramError} An import that is none of {@link ENTRIES}.
 */
export function bodyOf(text: string): string {
  const top = parser.parse(text).topNode;
  const imports: Change[] = [];
  for (let node = top.firstChild; node !== null; node = node.nextSibling) {
    if (node.name === "ImportDeclaration") imports.push(importChange(text, node));
  }
  let body = "";
  let done = 0;
  for (const { from, to, text: instead } of [...imports, ...lastValue(top)].sort((a, b) => a.from - b.from)) {
    body += text.slice(done, from) + instead;
    done = to;
  }
  return `"use strict"; {${body}${text.slice(done)}\n}`;
}

/** The line at which a text stops being JavaScript, from 1; nothing where all of it is. Browsers do not tell it. */
export function wrongLine(text: string): number | undefined {
  let place: number | undefined;
  parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) place ??= from;
    },
  });
  return place === undefined ? undefined : lineOf(text, place);
}
