//! Requests on rows, from a session or a door. Names are checked already, the rest is not.

use crate::engine::Direction;
use crate::model::select::VersionQuery;
use crate::model::{ColumnName, Filter, KeyInput, TableName, ValueRef};

/// A caller that waits is answered after this time, so that it never looks like one without an answer.
pub(crate) const MOST_WAIT_MS: u32 = 20_000;

/// The expected state of a write's row (row existence condition).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existence {
    /// Nothing.
    #[default]
    Ignore,
    /// The row exists.
    ExpectExist,
    /// The row does not exist.
    ExpectNotExist,
}

/// The content that a write returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReturnContent<'a> {
    /// Nothing.
    #[default]
    None,
    /// The row's primary key.
    PrimaryKey,
    /// These columns, which the update increments, with their new values.
    AfterModify(Vec<ColumnName<'a>>),
}

/// A cell that PutRow writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PutCell<'a> {
    /// The column.
    pub column: ColumnName<'a>,
    /// Its version (ms); the store's clock if there is none (V1).
    pub version: Option<i64>,
    /// Its value.
    pub value: ValueRef<'a>,
}

/// The change of a column by UpdateRow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnOp<'a> {
    /// Adds a version.
    Put {
        /// Its version (ms); the store's clock if there is none (V1).
        version: Option<i64>,
        /// Its value.
        value: ValueRef<'a>,
    },
    /// Deletes exactly this version.
    DeleteVersion(i64),
    /// Deletes all versions.
    DeleteColumn,
    /// Adds to the newest value, or to 0 (atomic counter).
    Increment(i64),
}

/// One change of UpdateRow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnChange<'a> {
    /// The column.
    pub column: ColumnName<'a>,
    /// The change.
    pub op: ColumnOp<'a>,
}

/// The change of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Mutation<'a> {
    /// PutRow: the row is replaced by these cells.
    Put(Vec<PutCell<'a>>),
    /// UpdateRow: these columns change.
    Update(Vec<ColumnChange<'a>>),
    /// DeleteRow.
    Delete,
}

/// PutRow, UpdateRow or DeleteRow, alone or in a batch (R1, R2).
#[derive(Clone, Debug)]
pub struct RowWrite<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The row.
    pub key: KeyInput<'a>,
    /// The expected existence of the row.
    pub condition: Existence,
    /// A condition on the row's visible cells. Not for a key that the store still has to assign.
    pub column_condition: Option<Box<Filter<'a>>>,
    /// The content to return.
    pub returns: ReturnContent<'a>,
    /// The change.
    pub mutation: Mutation<'a>,
}

/// The options of a read, for every row.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Which versions (V8).
    pub versions: VersionQuery,
    /// Which columns; all if none is named.
    pub columns: Vec<ColumnName<'a>>,
    /// The most columns that may be named; by default the instance's limit.
    pub most_columns: Option<usize>,
    /// Only columns from this one on, by bytes.
    pub start_column: Option<&'a str>,
    /// Only columns before this one, by bytes.
    pub end_column: Option<&'a str>,
    /// The filter of rows, which judges the cells selected by all of the above; and the page of their columns.
    pub filter: Option<Filter<'a>>,
}

/// GetRow (R1).
#[derive(Clone, Debug)]
pub struct GetRow<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The row.
    pub key: KeyInput<'a>,
    /// The options for it.
    pub options: ReadOptions<'a>,
}

/// The part of BatchGetRow that reads one table (R2).
#[derive(Clone, Debug)]
pub struct TableRead<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The rows.
    pub keys: Vec<KeyInput<'a>>,
    /// The options for them.
    pub options: ReadOptions<'a>,
}

/// GetRange (R3).
#[derive(Clone, Debug)]
pub struct GetRange<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The direction.
    pub direction: Direction,
    /// The start, inclusive. Without columns: that end of the table.
    pub start: KeyInput<'a>,
    /// The end, exclusive. Without columns: the other end of the table.
    pub end: KeyInput<'a>,
    /// The most rows to return.
    pub limit: Option<i64>,
    /// The options for each row.
    pub options: ReadOptions<'a>,
}
