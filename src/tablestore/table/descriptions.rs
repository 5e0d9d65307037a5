//! Parameters and descriptions of tables and indexes (T1, T4 to T8).

use super::foreign_names::may_be_foreign_column;
use super::{Index, Table};
use crate::error::{Error, Result};
use crate::model::{
    ColumnName, DefinedColumn, IndexKind, KeyColumn, KeyValue, Limits, ReservedThroughput, TableOptions, TableSchema,
    limits,
};
use serde::Deserialize;
use std::rc::Rc;

/// The parameters of CreateTable.
#[derive(Clone, Debug, Default)]
pub struct CreateTable {
    /// The table's name.
    pub name: String,
    /// Its primary key.
    pub key: Vec<KeyColumn>,
    /// The options that differ from the defaults.
    pub options: OptionsChange,
    /// Reserved read units; 0 by default.
    pub reserved_read: Option<i64>,
    /// Reserved write units; 0 by default.
    pub reserved_write: Option<i64>,
    /// Its defined columns.
    pub defined: Vec<DefinedColumn>,
    /// Its indexes.
    pub indexes: Vec<IndexSpec>,
    /// Whether it allows local transactions (R7); true by default.
    pub local_transactions: Option<bool>,
    /// Its stream (ST1); none by default.
    pub stream: Option<StreamChange>,
}

/// Options to set; those that are `None` stay as they are (T4, T5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OptionsChange {
    /// See [`TableOptions::time_to_live`].
    pub time_to_live: Option<i64>,
    /// See [`TableOptions::max_versions`].
    pub max_versions: Option<i64>,
    /// See [`TableOptions::max_version_offset`].
    pub max_version_offset: Option<i64>,
    /// See [`TableOptions::allow_update`].
    pub allow_update: Option<bool>,
}

/// The parameters of UpdateTable.
#[derive(Clone, Debug, Default)]
pub struct UpdateTable {
    /// The table's name.
    pub name: String,
    /// Options to set.
    pub options: OptionsChange,
    /// Reserved read units to set.
    pub reserved_read: Option<i64>,
    /// Reserved write units to set.
    pub reserved_write: Option<i64>,
    /// The stream to enable, change or disable (ST1).
    pub stream: Option<StreamChange>,
}

/// The result of DescribeTable and UpdateTable.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// The table's name.
    pub name: String,
    /// Its primary key.
    pub schema: Rc<TableSchema>,
    /// Its options.
    pub options: TableOptions,
    /// Its reserved throughput.
    pub throughput: ReservedThroughput,
    /// When the reserved throughput was last raised, in ms since 1970 UTC.
    pub last_increase: Option<i64>,
    /// When it was last lowered.
    pub last_decrease: Option<i64>,
    /// When the table was created.
    pub created: i64,
    /// Its defined columns.
    pub defined: Rc<[DefinedColumn]>,
    /// Its indexes.
    pub indexes: Vec<IndexDescription>,
    /// The base table's name, if it is an index.
    pub index_of: Option<String>,
    /// Whether it allows local transactions.
    pub local_transactions: bool,
    /// Its stream, if one is enabled.
    pub stream: Option<StreamDescription>,
    /// Its partitions, ascending.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDescription {
    /// Its id, never reused in the instance; 0 while all rows of the table are in memory.
    pub id: u64,
    /// The least partition key value in it; none before the first partition.
    pub lower: Option<KeyValue>,
    /// The partition key value that the next one begins with; none behind the last.
    pub upper: Option<KeyValue>,
    /// Stored bytes, estimated, without data in memory.
    pub bytes: u64,
    /// Entries in them, estimated: rows, or more if rows were written several times lately.
    pub entries: u64,
    /// Operations a second on its rows in the last seconds, estimated.
    pub operations_per_second: u64,
    /// Whether its only partition key value holds more than is advised (P3).
    pub exceeds_advice: bool,
}

impl OptionsChange {
    pub(crate) fn apply(&self, to: TableOptions) -> Result<TableOptions> {
        let changed = TableOptions {
            time_to_live: self.time_to_live.unwrap_or(to.time_to_live),
            max_versions: self.max_versions.unwrap_or(to.max_versions),
            max_version_offset: self.max_version_offset.unwrap_or(to.max_version_offset),
            allow_update: self.allow_update.unwrap_or(to.allow_update),
        };
        changed.check()?;
        Ok(changed)
    }
}

/// The definition of an index.
#[derive(Clone, Debug, Default)]
pub struct IndexSpec {
    /// Its name for reads; indexes and tables share one name space.
    pub name: String,
    /// Its kind.
    pub kind: IndexKind,
    /// Its key: key columns and defined columns of the table. The rest of the table's key is added behind them.
    pub key: Vec<String>,
    /// The defined columns that it carries besides.
    pub columns: Vec<String>,
    /// Its own time to live; the table's by default (T8).
    pub time_to_live: Option<i64>,
}

/// The description of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDescription {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: IndexKind,
    /// The given columns of its key, without the added columns of the table's key.
    pub key: Vec<String>,
    /// The defined columns that it carries besides.
    pub columns: Vec<String>,
    /// Its own time to live.
    pub time_to_live: i64,
    /// Whether it is still being built. It cannot be read before it is complete.
    pub building: bool,
    /// Base rows processed so far.
    pub built_rows: u64,
    /// Milliseconds since the start of the build; 0 when it is complete.
    pub lag_ms: i64,
    /// The failure of the build; it is tried again after a while.
    pub failure: Option<Error>,
}

impl IndexDescription {
    pub(crate) fn of(index: &Index, now: i64) -> Self {
        let Index { table, meta } = index;
        let state = table.state();
        Self {
            name: table.name().to_owned(),
            kind: meta.kind,
            key: meta.key.clone(),
            columns: meta.columns.clone(),
            time_to_live: state.options.time_to_live,
            building: state.building_since.is_some(),
            built_rows: meta.built_rows.get(),
            lag_ms: state.building_since.map_or(0, |since| now.saturating_sub(since).max(0)),
            failure: meta.build.failure(),
        }
    }
}

/// The stream to set for a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamChange {
    /// Whether changes are recorded from now on. Disabling drops the records.
    pub enabled: bool,
    /// How long records are kept, in hours: 1 to 168. Needed to enable one.
    pub expiration_hours: Option<i64>,
    /// The columns whose old values records have too; none by default.
    pub origin_columns: Option<Vec<String>>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamDescription {
    /// Its id.
    pub id: String,
    /// Its table.
    pub table: String,
    /// How long records are kept, in hours.
    pub hours: u32,
    /// When it was enabled, ms since 1970 UTC.
    pub enabled: i64,
    /// The columns whose old values records have.
    pub columns: Vec<String>,
}

impl StreamChange {
    /// Checks it. `None` disables the stream. The columns of a table of another data model have other names.
    pub(crate) fn check(self, limits: &Limits, foreign: bool) -> Result<Option<(u32, Vec<String>)>> {
        if !self.enabled {
            let extra = self.expiration_hours.is_some_and(|hours| hours != 0) || self.origin_columns.is_some();
            let text = "A stream that is not enabled has neither an expiration time nor origin columns.";
            return if extra { Err(Error::parameter(text)) } else { Ok(None) };
        }
        let (least, most) = (limits::STREAM_HOURS.start(), limits::STREAM_HOURS.end());
        let hours = self.expiration_hours.and_then(|hours| u32::try_from(hours).ok());
        let hours = hours.filter(|hours| limits::STREAM_HOURS.contains(hours)).ok_or_else(|| {
            Error::parameter(format!("The expiration time of a stream must be in range: [{least}, {most}]."))
        })?;
        let columns = self.origin_columns.unwrap_or_default();
        for name in &columns {
            if !foreign {
                ColumnName::parse(name, limits.names)?;
            } else if !may_be_foreign_column(name) {
                return Err(Error::parameter(format!("Invalid column name: '{name}'.")));
            }
        }
        Ok(Some((hours, columns)))
    }
}

impl StreamDescription {
    pub(crate) fn of(table: &Table) -> Option<Self> {
        let stream = table.stream()?;
        Some(Self {
            id: stream.id(table.name()),
            table: table.name().to_owned(),
            hours: stream.hours.get(),
            enabled: stream.enabled,
            columns: stream.columns().to_vec(),
        })
    }
}
