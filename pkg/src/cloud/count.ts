/** Counts rows. The service has no such operation, so their keys are read. Loaded on first use. */

import { count } from "../client/scan.js";
import { has } from "../codec/check.js";
import type { Filter } from "../types/filter.js";
import type { CountRowsRequest, CountRowsResult } from "../types/rows.js";
import type { KeyNames } from "./requests.js";
import type { RowCalls } from "./row-calls.js";

/** The columns that a filter looks at. */
function columnsOf(filter: Filter): string[] {
  if (has(filter, "filters")) return (filter as { readonly filters: readonly Filter[] }).filters.flatMap(columnsOf);
  return has(filter, "column") ? [(filter as { readonly column: string }).column] : [];
}

/** The implementation of {@link Database.count}. */
export const countRows = (calls: RowCalls, request: CountRowsRequest): Promise<CountRowsResult> =>
  count(
    async ({ filter, ...stretch }) => {
      // A row comes with its key if a key column is asked for: nothing else of it is needed, but what the filter looks at.
      const columns = filter === undefined ? [] : columnsOf(filter);
      const select = (names: KeyNames) => (names === undefined ? {} : { columnsToGet: [...new Set([names[0]!, ...columns])] });
      const { rows, nextStartPrimaryKey: next, consumed } = await calls.range({ ...stretch, filter }, select);
      return { rows: rows.length, next, consumed };
    },
    calls,
    request,
    "count",
  );
