/** Errors of a program, with the line that they come from: stacks count the lines of the function that was made of the program. */

import { isError, textMember, thrownText } from "../lib/thrown.ts";
import type { Failure } from "./messages.ts";

/** The name of the program in stacks. */
export const FILE = "your-code.js";
const PLACE = new RegExp(`${FILE.replace(".", "\\.")}:(\\d+)`);

/** The line that a stack names first, as the browser counts. */
export function stackLine(stack: string | undefined): number | undefined {
  const [, line] = PLACE.exec(stack ?? "") ?? [];
  return line === undefined ? undefined : Number(line);
}

/**
 * What was thrown. `before`: the lines that the browser counts before the first one of the program; `call`: the stack of the call that it
 * comes from, for an error whose own stack does not name the program.
 */
export function failureOf(thrown: unknown, before: number, call?: string): Failure {
  if (!isError(thrown)) return { name: "Error", message: `The program threw ${thrownText(thrown)}` };
  const line = stackLine(textMember(thrown, "stack")) ?? stackLine(call);
  return {
    name: textMember(thrown, "code") || textMember(thrown, "name") || "Error",
    message: textMember(thrown, "message") ?? thrownText(thrown),
    hint: textMember(thrown, "hint"),
    line: line === undefined ? undefined : Math.max(line - before, 1),
  };
}
