/** The messages about tables and streams, which most pages never need. */

import { Consumed, Units } from "./messages.js";
import { message } from "./protobuf.js";

const KeySchema = message({ name: [1, "text"], type: [2, "int"], option: [3, "int"] });
const Column = message({ name: [1, "text"], type: [2, "int"] });
const Options = message({
  timeToLive: [1, "int"],
  maxVersions: [2, "int"],
  deviation: [5, "int"],
  allowUpdate: [6, "bool"],
});
const TableMeta = message({ tableName: [1, "text"], primaryKey: [2, KeySchema, true], definedColumns: [3, Column, true] });
const IndexMeta = message({
  name: [1, "text"],
  primaryKey: [2, "text", true],
  columns: [3, "text", true],
  updateMode: [4, "int"],
  type: [5, "int"],
  phase: [6, "int"],
});
const ThroughputDetails = message({ units: [1, Units], lastIncrease: [2, "int"], lastDecrease: [3, "int"] });
const StreamSpec = message({ enable: [1, "bool"], expirationHours: [2, "int"], originColumns: [3, "text", true] });
const StreamDetails = message({
  enable: [1, "bool"],
  streamId: [2, "text"],
  expirationHours: [3, "int"],
  lastEnableTime: [4, "int"],
  originColumns: [5, "text", true],
});
export const CreateTable = message({
  meta: [1, TableMeta],
  throughput: [2, Consumed],
  options: [3, Options],
  stream: [5, StreamSpec],
  indexes: [7, IndexMeta, true],
  enableLocalTransaction: [8, "bool"],
});
export const TableNames = message({ names: [1, "text", true] });
export const TableAnswer = message({
  meta: [1, TableMeta],
  throughput: [2, ThroughputDetails],
  options: [3, Options],
  stream: [5, StreamDetails],
  indexes: [8, IndexMeta, true],
  creationTime: [9, "int"],
});
export const UpdateTable = message({ tableName: [1, "text"], throughput: [2, Consumed], options: [3, Options], stream: [4, StreamSpec] });
export const CreateIndex = message({ tableName: [1, "text"], index: [2, IndexMeta], includeBaseData: [3, "bool"] });
export const DropIndex = message({ tableName: [1, "text"], indexName: [2, "text"] });
export const AddDefinedColumn = message({ tableName: [1, "text"], columns: [2, Column, true] });
export const DeleteDefinedColumn = message({ tableName: [1, "text"], columns: [2, "text", true] });
export const ComputeSplits = message({ tableName: [1, "text"], size: [2, "int"], unitBytes: [3, "int"], limit: [4, "int"] });
export const Splits = message({
  consumed: [1, Consumed],
  schema: [2, KeySchema, true],
  points: [3, "bytes", true],
  locations: [4, message({ location: [1, "text"], repeat: [2, "sint"] }), true],
});
export const Streams = message({ streams: [1, message({ streamId: [1, "text"], tableName: [2, "text"], creationTime: [3, "int"] }), true] });
export const DescribeStream = message({ streamId: [1, "text"], startShardId: [2, "text"], limit: [3, "int"] });
export const StreamAnswer = message({
  streamId: [1, "text"],
  expirationHours: [2, "int"],
  tableName: [3, "text"],
  creationTime: [4, "int"],
  status: [5, "int"],
  shards: [6, message({ shardId: [1, "text"], parentId: [2, "text"], parentSiblingId: [3, "text"] }), true],
  nextShardId: [7, "text"],
});
export const GetShardIterator = message({ streamId: [1, "text"], shardId: [2, "text"], timestamp: [3, "int"] });
export const ShardIterator = message({ shardIterator: [1, "text"] });
export const GetStreamRecord = message({ shardIterator: [1, "text"], limit: [2, "int"] });
export const StreamRecords = message({
  records: [1, message({ type: [1, "int"], record: [2, "bytes"], original: [3, "bytes"] }), true],
  nextShardIterator: [2, "text"],
  consumed: [3, Consumed],
  mayMoreRecord: [4, "bool"],
});
