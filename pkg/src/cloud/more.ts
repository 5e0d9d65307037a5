/**
 * What not every page does with a connection: tables, streams, live queries, batches, counts, transactions, and the words of refusals. One file, because
 * an application mostly needs several of them. Loaded on first use.
 */

export { atomic, readAll, writeAll, writeEach } from "./batches.js";
export { countRows } from "./count.js";
export { watch, watchCount } from "./live.js";
export { azureRefusal, refusal, traceRefusal } from "./refused.js";
export * as streams from "./streams.js";
export * as tables from "./tables.js";
export { startTransaction } from "./transaction.js";
