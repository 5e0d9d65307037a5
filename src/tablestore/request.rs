//! Requests on rows, as they come from a session or a door: names are right, the rest is still to be checked.

use crate::engine::Direction;
use crate::model::select::VersionQuery;
use crate::model::{ColumnName, Filter, KeyInput, TableName, ValueRef};

/// What a write expects of its row (row existence condition).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existence {
    /// Nothing.
    #[default]
    Ignore,
    /// That it exists.
    ExpectExist,
    /// That it does not.
    ExpectNotExist,
}

/// What a write gives back.
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

/// What UpdateRow does to a column.
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
    /// What happens to it.
    pub op: ColumnOp<'a>,
}

/// What is done to a row.
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
    /// What it expects of the row.
    pub condition: Existence,
    /// What else it expects of the row, of its visible cells. Not for a key that is still to be assigned.
    pub column_condition: Option<Box<Filter<'a>>>,
    /// What it gives back.
    pub returns: ReturnContent<'a>,
    /// What it does.
    pub mutation: Mutation<'a>,
}

/// What a read wants of every row.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Which versions (V8).
    pub versions: VersionQuery,
    /// Which columns; all if none is named.
    pub columns: Vec<ColumnName<'a>>,
    /// Only columns from this one on, by bytes.
    pub start_column: Option<&'a str>,
    /// Only columns before this one, by bytes.
    pub end_column: Option<&'a str>,
    /// Which rows, judged by the cells that all of the above selects; and how many of their columns.
    pub filter: Option<Filter<'a>>,
}

/// GetRow (R1).
#[derive(Clone, Debug)]
pub struct GetRow<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The row.
    pub key: KeyInput<'a>,
    /// What is wanted of it.
    pub options: ReadOptions<'a>,
}

/// The part of BatchGetRow that reads one table (R2).
#[derive(Clone, Debug)]
pub struct TableRead<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The rows.
    pub keys: Vec<KeyInput<'a>>,
    /// What is wanted of them.
    pub options: ReadOptions<'a>,
}

/// GetRange (R3).
#[derive(Clone, Debug)]
pub struct GetRange<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// Which way.
    pub direction: Direction,
    /// Where it starts, inclusive. Without columns: at that end of the table.
    pub start: KeyInput<'a>,
    /// Where it ends, exclusive. Without columns: at the other end of the table.
    pub end: KeyInput<'a>,
    /// At most so many rows.
    pub limit: Option<i64>,
    /// What is wanted of each row.
    pub options: ReadOptions<'a>,
}
