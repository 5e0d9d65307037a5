/** Reads a range of any length, page after page. */

import { checkArguments } from "./codec/check.js";
import { READ } from "./codec/request.js";
import { shown } from "./codec/value.js";
import { invalid } from "./errors.js";
import type { Row } from "./row.js";
import type { GetRangeRequest, GetRangeResult, RangeKey, ScanRequest } from "./types.js";

const SCAN = /* @__PURE__ */ new Set(["tableName", "direction", "start", "end", "limit", "pageRows", "signal", ...READ]);

type GetRange = (request: GetRangeRequest) => Promise<GetRangeResult>;

function check(value: number | undefined, name: string): void {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
    throw invalid(`The argument '${name}' is ${shown(value)}; it must be a positive integer.`);
  }
}

/**
 * Pages of a range. From the second page on the next one is asked for while the caller looks at the last: a caller who
 * only wants the first rows does not make the engine read twice, and one who wants all of them does not wait.
 */
export async function* scanPages(getRange: GetRange, request: ScanRequest): AsyncGenerator<readonly Row[], void, undefined> {
  const { pageRows, limit, ...range } = checkArguments(request, SCAN, "scan");
  check(pageRows, "pageRows");
  check(limit, "limit");
  let left = limit ?? Infinity;
  const ask = (start: RangeKey | undefined): Promise<GetRangeResult> => {
    const most = Math.min(left, pageRows ?? Infinity);
    return getRange({ ...range, start, limit: most === Infinity ? undefined : most });
  };
  let asked: Promise<GetRangeResult> | undefined = ask(range.start);
  for (let first = true; asked !== undefined; first = false) {
    const { rows, nextStartPrimaryKey } = await asked;
    asked = undefined;
    left -= rows.length;
    const more = nextStartPrimaryKey !== null && left > 0;
    if (more && !first) {
      asked = ask(nextStartPrimaryKey);
      // Nobody may come back for it: its failure is then nobody's business.
      asked.catch(() => {});
    }
    if (rows.length > 0) yield rows;
    if (more && asked === undefined) asked = ask(nextStartPrimaryKey);
  }
}

/** Rows of a range. */
export async function* scan(getRange: GetRange, request: ScanRequest): AsyncGenerator<Row, void, undefined> {
  for await (const rows of scanPages(getRange, request)) yield* rows;
}
