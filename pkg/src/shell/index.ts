/**
 * A command line for TabStore, with the commands and options of the official Table Store tool [W2].
 *
 * This module is the entry `tabstore/shell`. It works on the public interface of a {@link Database} alone, so it goes with each of the
 * other entries, in followers, and in Node. `npx tabstore` is the same in a terminal.
 *
 * @module
 */

import type { Database } from "../index.js";
import type { ShellHost } from "./context.js";
import { Shell } from "./shell.js";

export type { Answer, AnswerCell, AnswerFacts, HostAnswer, JsonAnswer, TableAnswer, TextAnswer } from "./answer.js";
export { COMMANDS } from "./commands.js";
export type { CommandName, CommandSpec, OptionSpec, OptionType } from "./commands.js";
export type { Completion, Proposal } from "./complete.js";
export type { RunOptions, ShellHost } from "./context.js";
export { ShellError } from "./errors.js";
export type { Stretch } from "./errors.js";
export { helpOf, usageOf } from "./help.js";
export { LineHistory } from "./history.js";
export { linesOf } from "./line.js";
export type { ShellLines } from "./line.js";
export { requestOf } from "./read.js";
export type { ShellRequest, TableKey } from "./request.js";
export { Shell } from "./shell.js";
export { answerText, cellText, errorText, factsText, visible } from "./text.js";
export type { TextOptions } from "./text.js";
export type { MakeDouble } from "./values.js";
export { quote } from "./words.js";

/**
 * Makes a shell on an open database. Open it with `integers: "bigint"` where old versions of a column may have other types: then the
 * type of each value is known.
 *
 * @example
 * ```ts
 * import { double } from "tabstore";
 * import { answerText, shell } from "tabstore/shell";
 *
 * const line = shell(db, { double });
 * await line.run(`create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`);
 * await line.run("use -t mytable");
 * await line.run(`put --pk '["86", 6771]' --attr '[{"c":"name","v":"redchen"}]'`);
 * console.log(answerText(await line.run("scan --limit 10")));
 * ```
 */
export function shell(db: Database, host: ShellHost): Shell {
  return new Shell(db, host);
}
