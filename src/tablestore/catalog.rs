//! The catalog: the instance's tables, as rows of the system tree.
//!
//! | key of the row | column `record` (Binary) |
//! |---|---|
//! | String: a table's name | [`TableRecord`], as protobuf |
//! | Integer 0 | [`CatalogRecord`], as protobuf |
//!
//! Tree ids are never used twice, so the next one is stored in the same commit as the table that took the last.

use super::in_order::in_order;
use super::table::{Table, TableState};
use crate::engine::{Direction, Engine, KeyRange, TreeId};
use crate::error::{Error, Result};
use crate::model::version::Retention;
use crate::model::{
    CellChange, CellOp, ChangeKind, KeyColumn, KeyReader, KeyType, KeyValue, ReservedThroughput, RowChange,
    TableOptions, TableSchema, ValueRef, encode_key,
};
use crate::storage::Storage;
use prost::Message;
use std::ops::{Bound, ControlFlow};

/// The tree of the catalog's rows.
pub(super) const TREE: TreeId = TreeId(0);
const COLUMN: &str = "record";
/// What is said of a record that is no protobuf. Where exactly it is not helps nobody, and takes 1 KB to say.
const UNREADABLE: &str = "the message cannot be read";

/// What is true of all tables.
#[derive(Clone, PartialEq, Message)]
struct CatalogRecord {
    /// The tree that the next table gets.
    #[prost(uint32, tag = "1")]
    next_tree: u32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyColumnRecord {
    #[prost(string, tag = "1")]
    name: String,
    /// 1 INTEGER, 2 STRING, 3 BINARY.
    #[prost(uint32, tag = "2")]
    key_type: u32,
}

/// One table.
#[derive(Clone, PartialEq, Message)]
struct TableRecord {
    #[prost(uint32, tag = "1")]
    tree: u32,
    #[prost(message, repeated, tag = "2")]
    key: Vec<KeyColumnRecord>,
    #[prost(sint64, tag = "3")]
    time_to_live: i64,
    #[prost(sint64, tag = "4")]
    max_versions: i64,
    #[prost(sint64, tag = "5")]
    max_version_offset: i64,
    #[prost(bool, tag = "6")]
    allow_update: bool,
    #[prost(uint32, tag = "7")]
    reserved_read: u32,
    #[prost(uint32, tag = "8")]
    reserved_write: u32,
    /// ms since 1970 UTC, as all times here.
    #[prost(sint64, tag = "9")]
    created: i64,
    #[prost(sint64, optional, tag = "10")]
    last_increase: Option<i64>,
    #[prost(sint64, optional, tag = "11")]
    last_decrease: Option<i64>,
}

/// The catalog, as it was stored.
pub(super) struct Catalog {
    pub(super) tables: Vec<Table>,
    pub(super) next_tree: u32,
}

/// Reads the catalog.
pub(super) async fn load<S: Storage>(engine: &Engine<S>) -> Result<Catalog> {
    engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
    let mut catalog = Catalog { tables: Vec::new(), next_tree: 1 };
    let mut damage = None;
    let mut keys = KeyReader::default();
    let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
    engine
        .scan(TREE, all, Direction::Forward, &mut |key, row| {
            let record = row.cells().iter().find(|cell| cell.column == COLUMN).map(|cell| cell.value);
            match catalog.take(&mut keys, key, record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    damage = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
        .await?;
    damage.map_or(Ok(catalog), Err)
}

/// Stores a table; a new one together with the next tree's id and the stamp of that row.
pub(super) async fn store<S: Storage>(
    engine: &Engine<S>,
    table: &Table,
    state: TableState,
    stamp: i64,
    next_tree: Option<(u32, i64)>,
) -> Result<()> {
    let record = record_of(table, state).encode_to_vec();
    let key = key_of(table.name());
    if let Some((next_tree, counter_stamp)) = next_tree {
        let counter = CatalogRecord { next_tree }.encode_to_vec();
        let counter_key = counter_key();
        // Both are first polled together, so they share a commit.
        let counter = write(engine, &counter_key, counter_stamp, Some(&counter));
        in_order([counter, write(engine, &key, stamp, Some(&record))]).await.into_iter().collect()
    } else {
        write(engine, &key, stamp, Some(&record)).await
    }
}

/// Removes a table.
pub(super) async fn remove<S: Storage>(engine: &Engine<S>, name: &str, stamp: i64) -> Result<()> {
    write(engine, &key_of(name), stamp, None).await
}

async fn write<S: Storage>(engine: &Engine<S>, key: &[u8], stamp: i64, record: Option<&[u8]>) -> Result<()> {
    let put = record.map(|record| CellChange { column: COLUMN, op: CellOp::Put(stamp, ValueRef::Binary(record)) });
    let kind = if put.is_some() { ChangeKind::Put } else { ChangeKind::Delete };
    engine.write(TREE, key, &RowChange { kind, stamp, cells: put.as_slice() }, None).await
}

/// The catalog row of a table.
pub(super) fn key_of(table: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(table.len() + 3);
    encode_key(&[KeyValue::String(table.to_owned())], &mut key);
    key
}

/// The catalog's own row.
pub(super) fn counter_key() -> Vec<u8> {
    let mut key = Vec::with_capacity(9);
    encode_key(&[KeyValue::Integer(0)], &mut key);
    key
}

impl Catalog {
    fn take(&mut self, keys: &mut KeyReader, key: &[u8], record: Option<ValueRef<'_>>) -> Result<()> {
        let key = keys.read(key).ok_or_else(|| Error::corrupt("the catalog", "a row's key is none"))?;
        let Some(ValueRef::Binary(record)) = record else {
            return Err(Error::corrupt("the catalog", "a row has no record"));
        };
        match key[..] {
            [ValueRef::Integer(0)] => {
                let record =
                    CatalogRecord::decode(record).map_err(|_| Error::corrupt("the catalog's own row", UNREADABLE))?;
                self.next_tree = self.next_tree.max(record.next_tree);
            }
            [ValueRef::String(name)] => {
                let table = table_of(name, record)?;
                self.next_tree = self.next_tree.max(table.tree().0.saturating_add(1));
                self.tables.push(table);
            }
            _ => return Err(Error::corrupt("the catalog", "a row that is neither a table nor the counter")),
        }
        Ok(())
    }
}

fn record_of(table: &Table, state: TableState) -> TableRecord {
    let TableState { options, throughput, last_increase, last_decrease } = state;
    let key = table.schema().key().iter().map(|column| KeyColumnRecord {
        name: column.name.clone(),
        key_type: match column.key_type {
            KeyType::Integer => 1,
            KeyType::String => 2,
            KeyType::Binary => 3,
        },
    });
    TableRecord {
        tree: table.tree().0,
        key: key.collect(),
        time_to_live: options.time_to_live,
        max_versions: options.max_versions,
        max_version_offset: options.max_version_offset,
        allow_update: options.allow_update,
        reserved_read: throughput.read,
        reserved_write: throughput.write,
        created: table.created(),
        last_increase,
        last_decrease,
    }
}

fn table_of(name: &str, record: &[u8]) -> Result<Table> {
    let corrupt = |why: &dyn std::fmt::Display| Error::corrupt(format!("the catalog's row of table '{name}'"), why);
    let record = TableRecord::decode(record).map_err(|_| corrupt(&UNREADABLE))?;
    let key = record.key.into_iter().map(|column| {
        let key_type = match column.key_type {
            1 => KeyType::Integer,
            2 => KeyType::String,
            3 => KeyType::Binary,
            other => return Err(corrupt(&format!("unknown key type {other}"))),
        };
        Ok(KeyColumn { name: column.name, key_type })
    });
    let schema = TableSchema::new(key.collect::<Result<_>>()?).map_err(|why| corrupt(&why))?;
    let options = TableOptions {
        time_to_live: record.time_to_live,
        max_versions: record.max_versions,
        max_version_offset: record.max_version_offset,
        allow_update: record.allow_update,
    };
    options.check().map_err(|why| corrupt(&why))?;
    let state = TableState {
        options,
        throughput: ReservedThroughput { read: record.reserved_read, write: record.reserved_write },
        last_increase: record.last_increase,
        last_decrease: record.last_decrease,
    };
    Ok(Table::new(name.to_owned(), TreeId(record.tree), schema, record.created, state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_table_survives_its_record() {
        let column = |name: &str, key_type| KeyColumn { name: name.into(), key_type };
        let key = vec![column("a", KeyType::Binary), column("b", KeyType::Integer), column("c", KeyType::String)];
        let state = TableState {
            options: TableOptions {
                time_to_live: 86_400,
                max_versions: i64::MAX,
                max_version_offset: 7,
                allow_update: false,
            },
            throughput: ReservedThroughput { read: 5000, write: 1 },
            last_increase: Some(-5),
            last_decrease: None,
        };
        let table = Table::new("t".into(), TreeId(9), TableSchema::new(key).expect("right"), 1_469_030_400_000, state);
        let read = table_of("t", &record_of(&table, state).encode_to_vec()).expect("whole");
        assert_eq!(
            (read.name(), read.tree(), read.schema(), read.created()),
            ("t", TreeId(9), table.schema(), table.created())
        );
        assert_eq!(read.state(), state);
    }

    proptest! {
        #[test]
        fn a_damaged_record_is_named(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Err(error) = table_of("t", &bytes) {
                prop_assert!(error.message().contains("table 't'"));
            }
        }
    }
}
