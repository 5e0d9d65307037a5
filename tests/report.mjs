// What all test programs in JavaScript share: which tier of tests is asked for, and the report that `cargo xtask test` reads. As a
// module it is a reporter of Node's test runner.

import { appendFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

/** `fast`, `gate` or `full`: CONTRIBUTING says what each has. */
export const tier = process.env.TEST_TIER ?? "gate";

/**
 * Writes what became of a test into the file that TEST_REPORT names, in the form of Rust's test programs: `name`, `event` (`ok`,
 * `failed` or `ignored`) and `exec_time` in seconds.
 */
export function report(test) {
  if (process.env.TEST_REPORT !== undefined) appendFileSync(process.env.TEST_REPORT, `${JSON.stringify({ type: "test", ...test })}\n`);
}

/** The longest time of a file of tests (ms). A file takes a minute; without a limit one that hangs would end no run. */
const LONGEST = tier === "full" ? 3_600_000 : 600_000;

/** The arguments of Node for its test runner: files side by side, told to people and to the report. */
export const RUNNER = [
  "--test",
  `--test-timeout=${LONGEST}`,
  `--test-concurrency=${availableParallelism() + 1}`,
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  `--test-reporter=${fileURLToPath(import.meta.url)}`,
  "--test-reporter-destination=stdout",
];

const EVENTS = { "test:pass": "ok", "test:fail": "failed" };

/** The reporter. A suite is no test of its own, unless it fails without one that does. */
export default async function* reporter(source) {
  const names = [];
  for await (const { type, data } of source) {
    names.length = data.nesting ?? names.length;
    if (type === "test:start") names[data.nesting] = data.name;
    if (!(type in EVENTS)) continue;
    const { details, skip, todo } = data;
    const isGroup = details.type === "suite" || details.error?.failureType === "subtestsFailed";
    if (!isGroup)
      report({
        name: [...names.slice(0, data.nesting), data.name].join(" > "),
        event: skip !== undefined || todo !== undefined ? "ignored" : EVENTS[type],
        exec_time: details.duration_ms / 1000,
      });
  }
  yield "";
}
