/** What became of a call. */

import { TabStoreError } from "tabstore";

/** Whatever was thrown, as an error with a code and a message. */
export function asError(thrown: unknown): TabStoreError {
  if (thrown instanceof TabStoreError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new TabStoreError({ code: thrown instanceof Error ? thrown.name : "Error", status: 0, retryable: false, message });
}
