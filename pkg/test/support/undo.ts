/** What a test has opened, and closes again when it ends. */

/** Steps for the end of the test. The last one is done first. */
export const undo: (() => unknown)[] = [];

/** Does them, one after another. A file of tests that has some says `afterEach(undoAll)`. */
export async function undoAll(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}
