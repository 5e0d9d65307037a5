//! Every limit of the product in one table (R8): what it counts, and its statement or source.
//!
//! Where the documents and the official SDKs' tests differ, [`Limits::DOCUMENT`] is the default and [`Limits::SDK`] the
//! laxer choice. Quotas are fields too, so that an option can raise them.
//!
//! Each doc comment says what the limit counts, then its source in parentheses. After `Else:` it says what happens beyond
//! the limit. `cargo xtask conformance` makes docs/LIMITS.md from this.

use crate::error::{Error, Result};

/// Instances of an origin (I3; an option raises it).
///
/// Else: `OTSQuotaExhausted`, "Number of instances exceeds the limit: 10." (the text is ours)
pub const INSTANCES: u32 = 10;
/// Bytes of an instance's name (I2).
///
/// Else: `OTSParameterInvalid`, "Invalid instance name: '…'."
pub const INSTANCE_NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=16;
/// Bytes of the name of a table, an index or a column (T2).
///
/// Else: `OTSParameterInvalid`, "Invalid table name: '…'." or "Invalid column name: '…'."
pub const NAME_BYTES: std::ops::RangeInclusive<usize> = 1..=255;
/// Key columns of a table (T3).
///
/// Else: `OTSParameterInvalid`, "The number of primary key columns must be in range: [1, 4]."
pub const KEY_COLUMNS: std::ops::RangeInclusive<usize> = 1..=4;
/// Defined columns of a table (R8, documents of 2021).
///
/// Else: `OTSParameterInvalid`, "The number of defined columns must be in range: [0, 32]."
pub const DEFINED_COLUMNS: usize = 32;
/// Indexes of a table (R8, documents of 2021).
///
/// Else: `OTSParameterInvalid`, "Number of index per table exceeds the quota:5."
pub const INDEXES: usize = 5;
/// Attribute columns that an index carries (R8, documents of 2021).
///
/// Else: `OTSParameterInvalid`, "The number of attribute columns must be in range: [0, 32] in index."
pub const INDEX_COLUMNS: usize = 32;
/// Access keys of an instance (ours: no document tells).
///
/// Else: `OTSQuotaExhausted`, "Number of access keys exceeds the quota:64." (the text is ours)
pub const ACCESS_KEYS: usize = 64;
/// Characters of the id of an access key that is chosen: letters, digits, '.', '_' and '-' (ours: no document tells).
///
/// Else: `OTSParameterInvalid`, "The id of an access key must be 1 to 64 letters, digits, '.', '_' and '-'." (the text is ours)
pub const ACCESS_KEY_ID: usize = 64;
/// Characters of the secret of an access key that is chosen: visible ASCII (ours: no document tells).
///
/// Else: `OTSParameterInvalid`, "The secret of an access key must be 1 to 128 visible ASCII characters." (the text is ours)
pub const ACCESS_KEY_SECRET: usize = 128;
/// The least and the most hours for which a stream keeps its records (ST3).
///
/// Else: `OTSParameterInvalid`, "The expiration time of a stream must be in range: [1, 168]."
pub const STREAM_HOURS: std::ops::RangeInclusive<u32> = 1..=168;
/// Records that one GetStreamRecord returns (ST1).
///
/// Else: `OTSParameterInvalid`, "The limit must be in range: [1, 1000]."
pub const STREAM_RECORDS: usize = 1000;
/// Bytes of records at which a GetStreamRecord ends (ST1).
///
/// Else: the next iterator goes on.
pub const STREAM_BYTES: usize = 1024 * 1024;
/// The smallest unit of ComputeSplitPointsBySize, in bytes (P4, the SDKs' tests).
///
/// Else: `OTSParameterInvalid`, "The split_size_unit_in_byte should be greater equal than: 1048576"
pub const SPLIT_UNIT_BYTES: i64 = 1024 * 1024;
/// Bytes of a unit of ComputeSplitPointsBySize without a given size (P4).
///
/// Else: a given unit counts.
pub const SPLIT_UNIT_DEFAULT_BYTES: i64 = 100 * 1024 * 1024;
/// Bytes of a String or Binary key value (T3).
///
/// Else: `OTSParameterInvalid`, "The length of primary key column: '…' exceeds the MaxLength:1024 with CurrentLength:…."
pub const KEY_VALUE_BYTES: usize = 1024;
/// Bytes of a String or Binary attribute value (D2), and of a value that a filter or a condition compares with (R8).
///
/// Else: `OTSParameterInvalid`, "The length of attribute column: '…' exceeds the MaxLength:2097152 with CurrentLength:…."
pub const ATTRIBUTE_VALUE_BYTES: usize = 2 * 1024 * 1024;
/// Bytes that each given version adds to the data of a BatchWriteRow (R8, the SDKs' tests). Single rows do not count
/// them.
///
/// Else: see the bytes of one request's data.
pub const VERSION_BYTES: usize = 8;
/// Attribute columns of one write request (D1).
///
/// Else: `OTSParameterInvalid`, "The number of attribute columns exceeds the limit, limit count: 1024, column count: …."
pub const COLUMNS_PER_WRITE: usize = 1024;
/// Bytes of the data of one PutRow, UpdateRow or BatchWriteRow (R2; documents of 2021 for the single ones).
///
/// Else: `OTSParameterInvalid`, "The total data size of … request exceeds the limit, limit size: 4194304, data size: …."
pub const WRITE_BYTES: usize = 4 * 1024 * 1024;
/// Rows of one BatchGetRow, and its tables (R2; the tables are ours: memory).
///
/// Else: `OTSParameterInvalid`, "Rows count exceeds the upper limit: 100."
pub const BATCH_GET_ROWS: usize = 100;
/// Rows of one BatchWriteRow (R2).
///
/// Else: `OTSParameterInvalid`, "Rows count exceeds the upper limit: 200."
pub const BATCH_WRITE_ROWS: usize = 200;
/// Bytes that an atomic batch writes besides its rows: index rows, in units of 4 KiB, and old values for a stream with `originColumns`
/// (ours: memory). They may be many times its own.
///
/// Else: `OTSParameterInvalid`, "The total data size of the index rows and old values of a BatchWriteRow request exceeds the limit, limit size: 33554432, data size: …."
pub const ATOMIC_DERIVED_BYTES: usize = 32 * 1024 * 1024;
/// Rows that one GetRange scans (R3).
///
/// Else: the answer ends there, with the start of the next one.
pub const RANGE_ROWS: usize = 5000;
/// Bytes that one GetRange scans: keys and all visible cells, as capacity units count them, whichever columns the reader
/// asked for (R3).
///
/// Else: the answer ends before that row, with the start of the next one; a single larger row comes alone.
pub const RANGE_BYTES: usize = 4 * 1024 * 1024;
/// Stored rows that one GetRange visits, deleted and expired ones included. The reader does not see those, so they do not
/// count as scanned. But a long run of them must not make one call endless (ours: no document tells).
///
/// Else: the answer ends there, with the start of the next one.
pub const RANGE_VISITED_ROWS: usize = 10 * RANGE_ROWS;
/// Bytes of the stored rows that one GetRange visits, hidden cells included (ours, for the same reason).
///
/// Else: the answer ends there, with the start of the next one.
pub const RANGE_VISITED_BYTES: usize = 10 * RANGE_BYTES;
/// Nodes of one filter or column condition, composites included (R6; the documents of 2021 say 10 for a read).
///
/// Else: `OTSParameterInvalid`, "The count of filter exceeds the max: 32."
pub const FILTER_NODES: usize = 32;
/// Bytes of the regular expression of a value transfer rule (R6).
///
/// Else: `OTSParameterInvalid`, "The length of regular expression exceeds the MaxLength:256 with CurrentLength:…." (the
/// text is ours)
pub const REGEX_BYTES: usize = 256;
/// Bytes of a compiled regular expression: counted repetitions make a short text large (ours: no document tells).
///
/// Else: `OTSParameterInvalid`, "Invalid regular expression '…': compiled regex exceeded size limit."
pub const REGEX_PROGRAM_BYTES: usize = 32 * 1024;
/// The work of the regular expressions of one GetRange, in bytes of text times KB of a compiled expression. Most
/// expressions have 2 KB; one of 8 KB may still match everything that a call scans (ours: no document tells).
///
/// Else: the answer ends behind that row, with the start of the next one.
pub const RANGE_REGEX_WORK: u64 = 32 * 1024 * 1024;
/// The shortest time to live, in seconds, unless it is -1 (T4).
///
/// Else: `OTSParameterInvalid`, "TimeToLive cannot be less than 86400 unless it is -1: …." (the text is ours)
pub const TIME_TO_LIVE_SECONDS: i64 = 86_400;
/// The largest max version offset, in seconds (T4; the SDKs' tests).
///
/// Else: `OTSParameterInvalid`, "The maximum deviation must be in range [0, INT64_MAX/1000000]."
pub const MAX_VERSION_OFFSET_SECONDS: i64 = i64::MAX / 1_000_000;
/// The upper bound of all versions, in milliseconds (V1; the SDKs' tests).
///
/// Else: `OTSParameterInvalid`, "Timestamp must be in range [0, INT64_MAX/1000)."
pub const VERSION_END: i64 = i64::MAX / 1000;
/// Seconds between two changes of a table's reserved throughput (T6).
///
/// Else: `OTSTooFrequentReservedThroughputAdjustment`, "Capacity unit adjustment is too frequent."
pub const THROUGHPUT_CHANGE_SECONDS: i64 = 120;

/// The lifetime of a transaction, in milliseconds (R7).
///
/// Else: `OTSSessionNotExist`, "Session not exist or may be timeout."
pub const TRANSACTION_MS: i64 = 60_000;
/// Bytes that a transaction writes, counted as in requests (R7).
///
/// Else: `OTSOutOfTransactionDataSizeLimit`, "The total data size of the transaction exceeds the limit, limit size: 4194304, data size: …." (the text is ours)
pub const TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a transaction's records for a stream with `originColumns`, which hold old values too (ours: memory). A write is
/// refused when those before it have reached this. Of a transaction on an Azure table the old values alone are counted.
///
/// Else: as for `TRANSACTION_BYTES`, with this limit in the text; in Azure's service `RequestBodyTooLarge`.
pub const TRANSACTION_RECORD_BYTES: usize = 32 * 1024 * 1024;
/// Transactions that are open at once in an instance (R7, ours: no document tells). A transaction counts until its end or
/// until its minute is over.
///
/// Else: `OTSQuotaExhausted`, "Number of open transactions exceeds the quota:1000." (the text is ours)
pub const OPEN_TRANSACTIONS: usize = 1000;
/// Frames of requests that wait because too many requests are unanswered (ours: memory).
///
/// Else: `OTSServerBusy`, "Server is busy.", for each request of the frame; the client tries again by itself.
pub const HELD_FRAMES: usize = 65_536;
/// Memtables that the bytes of these frames fill at most, each counted as at least 4 MiB (ours: memory).
///
/// Else: as for `HELD_FRAMES`.
pub const HELD_MEMTABLES: usize = 32;
/// Bytes of storage that an instance keeps for deletions on a full disk (Q; the option `reserveBytes` sets it).
///
/// Else: writes that add are refused with `QuotaExceeded` until the disk has room for the whole reserve again.
pub const RESERVE_BYTES: usize = 2 * 1024 * 1024;
/// The estimated time in which an opening reads the log back, in milliseconds (Q, ours: no document tells).
///
/// Else: writes wait until memory is flushed to segments. If a full disk prevents that, they go on, and the log grows
/// until the memory for it is used up.
pub const REPLAY_MS: u64 = 18;

/// The rule for column names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRules {
    /// The documents' rule: `[A-Za-z_][A-Za-z0-9_]*` (T2).
    #[default]
    Document,
    /// The service's rule for the official SDKs: anything of 1 to 255 bytes that does not start with `#`. Table names
    /// stay strict.
    Sdk,
}

/// The limits that options can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The rule for column names (T2).
    ///
    /// Else: `OTSParameterInvalid`, "Invalid column name: '…'."
    pub names: NameRules,
    /// Columns of `columns_to_get` (R8; the documents say 0 to 128, the SDKs' tests read 1024).
    ///
    /// Else: `OTSParameterInvalid`, "The number of columns from the request exceeds the limit, limit count: …, column count: …."
    pub columns_to_get: usize,
    /// Tables of an instance; index tables count (I3; an option raises it).
    ///
    /// Else: `OTSQuotaExhausted`, "Number of tables exceeds the quota:64."
    pub tables: usize,
    /// Reserved units of a table, read and write each (T6; an option raises it).
    ///
    /// Else: `OTSParameterInvalid`, "The value of read capacity unit can not be more than 5000: …." (the text is ours)
    pub reserved_units: u32,
    /// Advised bytes under one partition key value, as stored (P3).
    ///
    /// Else: nothing is refused; DescribeTable reports the partition (`exceedsAdvice`).
    pub partition_key_bytes: u64,
}

impl Limits {
    /// The documents' limits.
    pub const DOCUMENT: Self = Self {
        names: NameRules::Document,
        columns_to_get: 128,
        tables: 64,
        reserved_units: 5000,
        partition_key_bytes: 10 * 1024 * 1024 * 1024,
    };

    /// The limits that the official SDKs' tests found in the service.
    pub const SDK: Self = Self { names: NameRules::Sdk, columns_to_get: 1024, ..Self::DOCUMENT };
}

/// Checks the length of a value that is put into a column, or compared with it.
pub(crate) fn check_attribute_bytes(column: &str, length: usize) -> Result<()> {
    let max = ATTRIBUTE_VALUE_BYTES;
    if length <= max {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "The length of attribute column: '{column}' exceeds the MaxLength:{max} with CurrentLength:{length}."
    )))
}

impl Default for Limits {
    fn default() -> Self {
        Self::DOCUMENT
    }
}
