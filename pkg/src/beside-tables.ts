/** Tables as the entries beside the others find them. Plain functions, as in `beside.ts`. */

import type { KeyColumn, TableDescription } from "./index.js";

/** The most bytes of a text or of bytes in a key [T3]. */
export const KEY_BYTES = 1024;

/** The largest offset of versions, in seconds [V6]: a table with it takes any version. */
export const ANY_OFFSET = 9_223_372_036_854;

/** Milliseconds between two looks at an index that is being built. */
const LOOK = 20;

/** A primary key in words, to compare and to show. */
export const spelt = (key: readonly KeyColumn[]): string =>
  key.map(({ name, type, autoIncrement }) => `${name} ${type}${autoIncrement === true ? " AUTO_INCREMENT" : ""}`).join(", ");

/** Waits until these indexes of a table can be read. `there` is what was described last, if it was. @throws Why a build has failed. */
export async function untilBuilt(indexNames: readonly string[], describe: () => Promise<TableDescription>, there?: TableDescription): Promise<void> {
  for (let { indexes } = there ?? (await describe()); ; { indexes } = await describe()) {
    const building = indexes.filter(({ indexName, phase }) => phase === "FULL" && indexNames.includes(indexName));
    if (building.length === 0) return;
    const failure = building.find((index) => index.failure !== null)?.failure;
    if (failure) throw failure;
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}
