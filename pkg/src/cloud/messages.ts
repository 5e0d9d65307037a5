/** The messages of the Table Store service about rows, API version 2015-12-31: the numbers of fields are the service's. */

import { message } from "./protobuf.js";

export const Units = message({ read: [1, "int"], write: [2, "int"] });
/** Both a reserved throughput and what a call has consumed. */
export const Consumed = message({ units: [1, Units] });
const Condition = message({ existence: [1, "int"], column: [2, "bytes"] });
const TimeRange = message({ start: [1, "int"], end: [2, "int"], version: [3, "int"] });
const ReturnContent = message({ type: [1, "int"], columns: [2, "text", true] });
/** An error, as the body of an answer or as a row's part of one. */
export const ServiceError = message({ code: [1, "text"], message: [2, "text"] });
/** An answer without contents, and the request of ListTable. */
export const Nothing = message({});
export const TableName = message({ tableName: [1, "text"] });
/** What of a table's description orders its keys. */
export const KeyColumns = message({ meta: [1, message({ columns: [2, message({ name: [1, "text"] }), true] })] });
export const GetRow = message({
  tableName: [1, "text"],
  key: [2, "bytes"],
  columnsToGet: [3, "text", true],
  timeRange: [4, TimeRange],
  maxVersions: [5, "int"],
  filter: [7, "bytes"],
  startColumn: [8, "text"],
  endColumn: [9, "text"],
  transactionId: [11, "text"],
});
/** The answer to a read and to a write of one row. */
export const RowAnswer = message({ consumed: [1, Consumed], row: [2, "bytes"] });
/** PutRow, UpdateRow and DeleteRow alike. */
export const WriteRow = message({
  tableName: [1, "text"],
  row: [2, "bytes"],
  condition: [3, Condition],
  returns: [4, ReturnContent],
  transactionId: [5, "text"],
});
export const BatchGetRow = message({
  tables: [
    1,
    message({
      tableName: [1, "text"],
      keys: [2, "bytes", true],
      columnsToGet: [4, "text", true],
      timeRange: [5, TimeRange],
      maxVersions: [6, "int"],
      filter: [8, "bytes"],
      startColumn: [9, "text"],
      endColumn: [10, "text"],
    }),
    true,
  ],
});
export const BatchWriteRow = message({
  tables: [
    1,
    message({
      tableName: [1, "text"],
      rows: [2, message({ type: [1, "int"], row: [2, "bytes"], condition: [3, Condition], returns: [4, ReturnContent] }), true],
    }),
    true,
  ],
  transactionId: [2, "text"],
  isAtomic: [3, "bool"],
});
/** The answer to both. */
export const BatchAnswer = message({
  tables: [
    1,
    message({
      tableName: [1, "text"],
      rows: [2, message({ isOk: [1, "bool"], error: [2, ServiceError], consumed: [3, Consumed], row: [4, "bytes"] }), true],
    }),
    true,
  ],
});
export const GetRange = message({
  tableName: [1, "text"],
  direction: [2, "int"],
  columnsToGet: [3, "text", true],
  timeRange: [4, TimeRange],
  maxVersions: [5, "int"],
  limit: [6, "int"],
  start: [7, "bytes"],
  end: [8, "bytes"],
  filter: [10, "bytes"],
  startColumn: [11, "text"],
  endColumn: [12, "text"],
  transactionId: [14, "text"],
});
export const RangeAnswer = message({ consumed: [1, Consumed], rows: [2, "bytes"], next: [3, "bytes"], blockType: [5, "int"] });
export const StartTransaction = message({ tableName: [1, "text"], key: [2, "bytes"] });
export const TransactionId = message({ transactionId: [1, "text"] });
export const AnyFilter = message({ type: [1, "int"], filter: [2, "bytes"] });
export const ColumnFilter = message({
  comparator: [1, "int"],
  column: [2, "text"],
  value: [3, "bytes"],
  filterIfMissing: [4, "bool"],
  latestVersionOnly: [5, "bool"],
  rule: [6, message({ regex: [1, "text"], castType: [2, "int"] })],
});
export const CompositeFilter = message({ combinator: [1, "int"], filters: [2, AnyFilter, true] });
export const PageFilter = message({ offset: [1, "int"], limit: [2, "int"] });
