//! The statements that the product must make true, each in a few words. Tests carry their ids.

/// One statement.
pub struct Statement {
    /// The id that tests carry.
    pub id: &'static str,
    /// Its text in short.
    pub says: &'static str,
}

const fn statement(id: &'static str, says: &'static str) -> Statement {
    Statement { id, says }
}

/// The groups of statements, with their headings.
pub const GROUPS: [(&str, &[Statement]); 12] = [
    ("Instances", INSTANCES),
    ("Tables", TABLES),
    ("Data model", DATA),
    ("Versions and time to live", VERSIONS),
    ("Reading and writing rows", ROWS),
    ("Partitions", PARTITIONS),
    ("Capacity units", CAPACITY),
    ("Streams", STREAMS),
    ("Timelines", TIMELINES),
    ("Azure Table service", AZURE),
    ("Ways in", WAYS_IN),
    ("Promises", PROMISES),
];

const INSTANCES: &[Statement] = &[
    statement("I1", "Instances hold all tables: they are created, listed, described, deleted."),
    statement("I2", "An instance's name: 3 to 16 letters, digits and '-', unique ignoring case, no word forbidden."),
    statement("I3", "At most 10 instances and 64 tables in each, index tables included; options raise both."),
    statement("I4", "Two kinds of instance, fixed at creation; a capacity instance reserves no throughput."),
    statement("I5", "Requests a second, mean latency and errors of each operation, and units a second, can be read."),
    statement(
        "I6",
        "Access keys with rights. A door refuses what no key allows: nothing is changed, and nothing is told of the data.",
    ),
];

const TABLES: &[Statement] = &[
    statement("T1", "Tables are created, listed, described, updated, deleted; their split points are computed."),
    statement(
        "T2",
        "Names of tables and columns: 1 to 255 bytes of letters, digits and '_', first no digit, case-sensitive.",
    ),
    statement("T3", "A primary key: 1 to 4 columns, String, Integer or Binary, all present, values up to 1 KB."),
    statement("T4", "Time to live, max versions, max version offset, allow update: their ranges and defaults."),
    statement("T5", "UpdateTable changes one or several options while the data stays readable and writable."),
    statement("T6", "Reserved throughput: 0 to 5000, changed at most once in two minutes."),
    statement("T7", "Without allow update UpdateRow is refused; PutRow and DeleteRow work."),
    statement(
        "T8",
        "An index restricts its table's time to live, updates and max versions, and has options of its own.",
    ),
];

const DATA: &[Statement] = &[
    statement("D1", "Rows in the order of their keys, with any columns or none; a column may change its type."),
    statement("D2", "String, Integer, Double, Boolean, Binary; up to 2 MB; every 64-bit integer exactly."),
    statement("D3", "Every value has a version; a column holds several."),
    statement("D4", "The documents' example of two rows is stored and read back exactly."),
];

const VERSIONS: &[Statement] = &[
    statement("V1", "A version that is not given is the store's clock."),
    statement("V2", "More versions than max versions are invisible at once and removed in the background."),
    statement("V3", "Lowering max versions hides, raising shows again, compaction is for good."),
    statement(
        "V4",
        "Expired data is invisible at once; a row with only expired data disappears; removal costs no units.",
    ),
    statement("V5", "Lowering time to live hides, raising shows again, compaction is for good."),
    statement("V6", "A version outside the window fails its row, and nothing of it is stored."),
    statement("V7", "The instants at the boundary are writable and visible as ruled."),
    statement("V8", "The newest N versions, a range of versions, or one exact version; newest first."),
    statement("V9", "Metered storage: keys and names once, 8 bytes a version where versions matter."),
    statement("V10", "The clock can be injected; the versions stamped on a row strictly increase."),
];

const ROWS: &[Statement] = &[
    statement("R1", "PutRow, UpdateRow, DeleteRow, GetRow."),
    statement("R2", "BatchGetRow of up to 100 rows, BatchWriteRow of up to 200 rows and 4 MB; each row for itself."),
    statement("R3", "GetRange both ways, at most 5000 rows or 4 MB scanned, then the next start key."),
    statement("R4", "A write of a row happens wholly or not at all, at any crash."),
    statement("R5", "A read sees every earlier write."),
    statement("R6", "Conditions, filters, pagination, columns, return content, auto-increment keys, counters."),
    statement("R7", "Transactions inside one partition key."),
    statement("R8", "Every limit has its error, and a request beyond it stores nothing (all limits: LIMITS.md)."),
];

const PARTITIONS: &[Statement] = &[
    statement("P1", "Tables are split and merged by themselves, by size and by load, and no request notices."),
    statement("P2", "Rows of one partition key value stay together; a partition may hold many of these."),
    statement("P3", "More than 10 GB under one partition key value are reported, and nothing else happens."),
    statement(
        "P4",
        "Split points for slices of a size, from metadata, each within 30 % unless one key is larger. A table below 0.7 \
         of the size, or between 1.3 and 1.4, has no such slices: it is cut into the number that comes nearest.",
    ),
];

const CAPACITY: &[Statement] = &[
    statement("C1", "A unit is 4 KB, rounded up; every operation tells what it consumed."),
    statement("C2", "Reserved throughput is a budget a second; units above it are on demand."),
    statement("C3", "Per hour reserved is averaged and on-demand summed; the meter survives, and can be priced."),
    statement("C4", "An operation on a table that does not exist costs one on-demand unit of its kind."),
    statement("C5", "Throttling, if enabled: a request over a partition key's limit is refused, and succeeds later."),
    statement("C6", "Reserving changes neither speed nor service."),
];

const STREAMS: &[Statement] = &[
    statement("ST1", "ListStream, DescribeStream, GetShardIterator, GetStreamRecord."),
    statement(
        "ST2",
        "Each committed change once, in order within a shard; shards are partitions; parents before children.",
    ),
    statement("ST3", "Retention in hours; readers go on from an iterator or a token after a restart."),
    statement("ST4", "Examples: copy into another store, compute a live aggregate, feed a search index."),
];

const TIMELINES: &[Statement] = &[
    statement("L1", "A timeline is an identifier, a meta and messages; any number of both, of any fields."),
    statement("L2", "Messages get growing ids in the order of writing; access by id, scans both ways from any id."),
    statement("L3", "Chats and feeds: store queues that readers pull, sync queues by write fan-out."),
];

const AZURE: &[Statement] = &[
    statement(
        "Z1",
        "Accounts, tables, entities, properties, by the rules of the service, not of its emulator; what it does not tell \
         is our ruling.",
    ),
    statement(
        "Z2",
        "PartitionKey, RowKey and Timestamp; eight types; no nulls; 255 properties, 1 MiB; an ETag decides between writers.",
    ),
    statement("Z3", "All operations; queries with $filter, $select, $top and continuation; entity group transactions."),
];

const WAYS_IN: &[Statement] = &[
    statement("W1", "A console page; its dialog changes a table's options by the documents' rules."),
    statement("W2", "A command line with the official tool's commands and options, in the console and in a terminal."),
    statement("W3", "Operations, options and errors of the JavaScript API have the names of the product documents."),
];

const PROMISES: &[Statement] = &[statement(
    "Q",
    "Damage is named and never data; no stop loses acknowledged data, and the next opening is quick; old stores open; \
     data may be larger than memory; a full disk gives a clear error and loses nothing.",
)];
