/** Reads many rows in one call. Rows that are refused for now are read again. */

import type { Client } from "./client.js";
import { checkArguments } from "../codec/check.js";
import { batchGetRow as encode } from "../codec/requests.js";
import { batchGetResult } from "../codec/response.js";
import { SIGNAL, signalOf, unlessAborted } from "./signals.js";
import type { BatchGetItem, BatchGetResult, CallOptions } from "../types/rows.js";

function someFailed(results: readonly BatchGetResult[][]): boolean {
  return results.some((rows) => rows.some(({ error }) => error !== undefined));
}

/** A copy of the requested rows, which the caller cannot change afterwards; the original if it cannot be copied. */
function copyOf(tables: readonly BatchGetItem[]): readonly BatchGetItem[] {
  try {
    return tables.map((table) => ({ ...table, primaryKeys: table.primaryKeys.map((key) => ({ ...key })) }));
  } catch {
    return tables;
  }
}

/** The implementation of {@link Database.batchGetRow}. Reads do not wait for other calls, and no call waits for them. */
export async function batchGet(client: Client, tables: readonly BatchGetItem[], options: CallOptions | undefined): Promise<BatchGetResult[][]> {
  if (options !== undefined) checkArguments(options, SIGNAL, "batchGetRow");
  const { backOff } = client;
  const answer = client.request(encode, tables, batchGetResult, options);
  // Copied only after it was read and accepted: a refused request needs no copy, and may have endless entries.
  const all = backOff.on && client.isTaken ? copyOf(tables) : tables;
  const results = await answer;
  if (!someFailed(results)) return results;
  for (let tries = 1; ; tries++) {
    let delay: number | undefined;
    const left = all
      .map((table, at) => {
        const places = [...results[at].keys()].filter((place) => {
          const { error } = results[at][place];
          const wait = error === undefined ? undefined : backOff.delay(error, tries);
          delay ??= wait;
          return wait !== undefined;
        });
        return { at, places, asked: { ...table, primaryKeys: places.map((place) => table.primaryKeys[place]) } };
      })
      .filter(({ places }) => places.length > 0);
    if (delay === undefined) return results;
    await unlessAborted(new Promise((resolve) => setTimeout(resolve, delay)), signalOf(options));
    // When the database closes, return the results so far.
    if (client.closedBy !== undefined) return results;
    const again = await client.request(
      encode,
      left.map(({ asked }) => asked),
      batchGetResult,
      options,
    );
    left.forEach(({ at, places }, i) => places.forEach((place, j) => (results[at][place] = again[i][j])));
  }
}
