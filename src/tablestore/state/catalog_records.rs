//! The messages in the catalog's rows.

use crate::format::message::{Field, Message};
use crate::tablestore::table::shards::Shard;

/// The instance-wide record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CatalogRecord {
    /// The tree that the next table gets.
    pub(crate) next_tree: u32,
}

impl Message for CatalogRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U32(&mut self.next_tree),
            _ => return None,
        })
    }
}

/// Progress that changes while a table is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProgressRecord {
    /// The tree of the progress: another table of the same name may have existed before.
    pub(crate) tree: u32,
    /// The upper bound of values given to an auto-increment column.
    pub(crate) assigned: i64,
    /// The key of the last base row that an index build has processed.
    pub(crate) built_to: Vec<u8>,
    /// The number of processed rows.
    pub(crate) built_rows: u64,
    /// The greatest chosen value of an auto-increment column beyond those that its count follows. Absent in records of
    /// versions that did not know it.
    pub(crate) chosen: Option<i64>,
}

impl Message for ProgressRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U32(&mut self.tree),
            2 => Field::I64(&mut self.assigned),
            3 => Field::Bytes(&mut self.built_to),
            4 => Field::U64(&mut self.built_rows),
            5 => Field::MaybeI64(&mut self.chosen),
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnRecord {
    pub(crate) name: String,
    /// 1 INTEGER, 2 STRING, 3 BINARY; for defined columns also 4 DOUBLE, 5 BOOLEAN.
    pub(crate) column_type: u32,
    pub(crate) auto_increment: bool,
    /// Absent, and so false, in records of versions that let an application choose any value.
    pub(crate) assigned_only: bool,
}

impl Message for ColumnRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Text(&mut self.name),
            2 => Field::U32(&mut self.column_type),
            3 => Field::Bool(&mut self.auto_increment),
            4 => Field::Bool(&mut self.assigned_only),
            _ => return None,
        })
    }
}

/// The record that makes a table an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IndexRecord {
    pub(crate) base: String,
    /// 1 global, 2 local.
    pub(crate) kind: u32,
    /// The number of given key columns; the others are the base table's.
    pub(crate) given: u32,
    pub(crate) columns: Vec<String>,
    /// The start of its building.
    pub(crate) building_since: Option<i64>,
    /// For each column of the key: 0 for a defined column, else the place in the base table's key, from 1.
    pub(crate) sources: Vec<u32>,
    /// Only rows written behind this seqno belong to it; absent when all do.
    pub(crate) since: Option<u64>,
}

impl Message for IndexRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Text(&mut self.base),
            2 => Field::U32(&mut self.kind),
            3 => Field::U32(&mut self.given),
            4 => Field::Texts(&mut self.columns),
            5 => Field::MaybeI64(&mut self.building_since),
            6 => Field::Numbers(&mut self.sources),
            7 => Field::MaybeU64(&mut self.since),
            _ => return None,
        })
    }
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableRecord {
    pub(crate) tree: u32,
    pub(crate) key: Vec<ColumnRecord>,
    pub(crate) time_to_live: i64,
    pub(crate) max_versions: i64,
    pub(crate) max_version_offset: i64,
    pub(crate) allow_update: bool,
    pub(crate) reserved_read: u32,
    pub(crate) reserved_write: u32,
    /// ms since 1970 UTC, like all times here.
    pub(crate) created: i64,
    pub(crate) last_increase: Option<i64>,
    pub(crate) last_decrease: Option<i64>,
    pub(crate) defined: Vec<ColumnRecord>,
    /// Absent, and so false, in records of versions without transactions: there they are on.
    pub(crate) no_local_transactions: bool,
    pub(crate) index: Option<IndexRecord>,
    /// The meter's payer, if it is not the tree.
    pub(crate) payer: u32,
}

impl Message for TableRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U32(&mut self.tree),
            2 => Field::Messages(&mut self.key),
            3 => Field::I64(&mut self.time_to_live),
            4 => Field::I64(&mut self.max_versions),
            5 => Field::I64(&mut self.max_version_offset),
            6 => Field::Bool(&mut self.allow_update),
            7 => Field::U32(&mut self.reserved_read),
            8 => Field::U32(&mut self.reserved_write),
            9 => Field::I64(&mut self.created),
            10 => Field::MaybeI64(&mut self.last_increase),
            11 => Field::MaybeI64(&mut self.last_decrease),
            12 => Field::Messages(&mut self.defined),
            13 => Field::Bool(&mut self.no_local_transactions),
            14 => Field::Messages(&mut self.index),
            15 => Field::U32(&mut self.payer),
            _ => return None,
        })
    }
}

/// The stream of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StreamRecord {
    /// The tree of the table: another one of its name may have existed before.
    pub(crate) of: u32,
    /// The tree of its records.
    pub(crate) tree: u32,
    pub(crate) hours: u32,
    pub(crate) enabled: i64,
    /// The columns whose old values records have.
    pub(crate) columns: Vec<String>,
    pub(crate) last_shard: i64,
    pub(crate) shards: Vec<Shard>,
}

impl Message for StreamRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U32(&mut self.of),
            2 => Field::U32(&mut self.tree),
            3 => Field::U32(&mut self.hours),
            4 => Field::I64(&mut self.enabled),
            5 => Field::Texts(&mut self.columns),
            6 => Field::I64(&mut self.last_shard),
            7 => Field::Messages(&mut self.shards),
            _ => return None,
        })
    }
}

/// An access key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AccessKeyRecord {
    pub(crate) secret: String,
    /// 1 read, 2 write, 4 admin, added up.
    pub(crate) rights: u32,
    pub(crate) enabled: bool,
    pub(crate) created: i64,
}

impl Message for AccessKeyRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Text(&mut self.secret),
            2 => Field::U32(&mut self.rights),
            3 => Field::Bool(&mut self.enabled),
            4 => Field::I64(&mut self.created),
            _ => return None,
        })
    }
}
