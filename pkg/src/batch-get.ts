/** Reads many rows in a call, and those of them again that are refused for now. */

import type { Client } from "./client.js";
import { checkArguments } from "./codec/check.js";
import { batchGetRow as encode } from "./codec/request.js";
import { batchGetResult } from "./codec/response.js";
import { SIGNAL, signalOf, unlessAborted } from "./signals.js";
import type { BatchGetItem, BatchGetResult, CallOptions } from "./types.js";

function someFailed(results: readonly BatchGetResult[][]): boolean {
  return results.some((rows) => rows.some(({ error }) => error !== undefined));
}

/** What a batch of reads asks for, whatever the caller does with it afterwards; as it is when it cannot be copied. */
function copyOf(tables: readonly BatchGetItem[]): readonly BatchGetItem[] {
  try {
    return tables.map((table) => ({ ...table, primaryKeys: table.primaryKeys.map((key) => ({ ...key })) }));
  } catch {
    return tables;
  }
}

/** What {@link Database.batchGetRow} does: reads wait for nobody, and nobody for them. */
export async function batchGet(client: Client, tables: readonly BatchGetItem[], options: CallOptions | undefined): Promise<BatchGetResult[][]> {
  if (options !== undefined) checkArguments(options, SIGNAL, "batchGetRow");
  const { backOff } = client;
  const answer = client.request(encode, tables, batchGetResult, options);
  // Copied when it has been read, and found right: what is refused needs no copy, and has no end of entries perhaps.
  const all = backOff.on && client.isTaken ? copyOf(tables) : tables;
  const results = await answer;
  if (!someFailed(results)) return results;
  for (let tries = 1; ; tries++) {
    let delay: number | undefined;
    const left = all.map((table, at) => {
      const places = [...results[at].keys()].filter((place) => {
        const { error } = results[at][place];
        const wait = error === undefined ? undefined : backOff.delay(error, tries);
        delay ??= wait;
        return wait !== undefined;
      });
      return { at, places, asked: { ...table, primaryKeys: places.map((place) => table.primaryKeys[place]) } };
    }).filter(({ places }) => places.length > 0);
    if (delay === undefined) return results;
    await unlessAborted(new Promise((resolve) => setTimeout(resolve, delay)), signalOf(options));
    // Whoever closes gets what there is.
    if (client.closedBy !== undefined) return results;
    const again = await client.request(encode, left.map(({ asked }) => asked), batchGetResult, options);
    left.forEach(({ at, places }, i) => places.forEach((place, j) => (results[at][place] = again[i][j])));
  }
}
