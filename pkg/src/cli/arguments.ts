/** The arguments of `npx tabstore`. */

import { parseArgs } from "node:util";

/** What the program is asked for. */
export interface Arguments {
  /** The folder of the instances; without it the instance is in memory. */
  readonly data: string | undefined;
  readonly instance: string;
  /** Lines to run; without any they come from the standard input. */
  readonly lines: readonly string[];
  /** Whether to go on behind a line that failed. */
  readonly keepGoing: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/** The text of `--help`. */
export const HELP = `Usage: tabstore [--data DIR] [--instance NAME] [-e LINE]... [--keep-going]
       tabstore console [--port N] [--open]
       tabstore serve [--data DIR] [--port N] [--azure-port N]

Runs the lines of the official Table Store tool on a TabStore database: those of -e, else those of the
standard input. In a terminal it asks for them. 'tabstore console' serves the console to your browser, and
'tabstore serve' an instance to the official SDKs.

  --data DIR        The folder of the instances. Without it the instance is in memory, and gone at the end
  --instance NAME   The instance; it is created if there is none (default: demo)
  -e, --execute LINE  A line to run; may be repeated
  --keep-going      Goes on behind a line that fails
  --version         The version of the package
  -h, --help        This

The exit code is 1 if a line has failed, and 2 for wrong arguments. 'tabstore -e help' lists the commands.`;

/** Reads the arguments. @throws An error with the reason for wrong ones. */
export function argumentsOf(given: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...given],
    options: {
      data: { type: "string" },
      instance: { type: "string", default: "demo" },
      execute: { type: "string", short: "e", multiple: true, default: [] },
      "keep-going": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", default: false },
    },
  });
  const { data, instance, execute, help, version, "keep-going": keepGoing } = values;
  return { data, instance, lines: execute, keepGoing, help, version };
}
