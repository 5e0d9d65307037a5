/** Answers and errors on the standard output and the standard error. */

import type { Answer } from "../shell/index.js";
import { answerText, errorText } from "../shell/index.js";

/** Prints an answer. What is said about JSON goes to the standard error, so that the output is JSON alone. */
export function print(answer: Answer): void {
  if (answer.kind === "none" || answer.kind === "quit") return;
  if (answer.kind === "clear") {
    if (process.stdout.isTTY) process.stdout.write("\u001b[2J\u001b[H");
    return;
  }
  if (answer.kind === "json" && answer.note !== undefined) console.error(answer.note);
  // Only a terminal has too little room.
  const columnWidth = process.stdout.isTTY ? undefined : Number.POSITIVE_INFINITY;
  console.log(answer.kind === "json" ? answer.json : answerText(answer, { columnWidth }));
}

/** Prints why a line has failed. */
export function printError(line: string, error: unknown): void {
  console.error(errorText(line, error));
}
