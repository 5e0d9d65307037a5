/** Which refusals pass. Apart, because entries beside the core ask too. */

import type { TabStoreError } from "../types/errors.js";

const CODES = new Set(["OTSRowOperationConflict", "OTSCapacityUnitExhausted", "OTSSessionBusy", "OTSServerBusy"]);

/** Whether an error says that nothing was stored, and a later try may succeed. */
export function passes({ code, message }: Pick<TabStoreError, "code" | "message">): boolean {
  return CODES.has(code) || (code === "OTSQuotaExhausted" && message.startsWith("Too frequent table operations."));
}
