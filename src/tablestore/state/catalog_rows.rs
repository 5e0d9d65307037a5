//! The catalog as it is stored: the instance's tables, as rows of the system tree.
//!
//! | key of the row | column `record` (Binary) |
//! |---|---|
//! | String: a table's name | [`TableRecord`], as protobuf |
//! | Integer 0 | [`CatalogRecord`], as protobuf |
//! | String: a table's name; Integer 1 | [`ProgressRecord`], as protobuf |
//! | String: a table's name; Integer 2 | [`StreamRecord`], as protobuf |
//! | Binary: an access key's id | [`AccessKeyRecord`], as protobuf |
//!
//! Tree ids are never reused, so the next one is stored in the same commit as the table that took the last. An index is a
//! table that names its base table.

use super::access::{AccessKey, Rights};
use super::answers::Answers;
use super::catalog_records::{
    AccessKeyRecord, CatalogRecord, ColumnRecord, IndexRecord, ProgressRecord, StreamRecord, TableRecord,
};
use crate::engine::{Decide, Direction, Engine, KeyRange, Missing, Origin, RowView, TreeId, Writes, or_salvage};
use crate::error::{Error, Result};
use crate::format::message;
use crate::model::version::Retention;
use crate::model::{
    CellChange, CellOp, ChangeKind, DefinedColumn, IndexKind, KeyColumn, KeyReader, KeyType, KeyValue,
    ReservedThroughput, RowChange, TableOptions, TableSchema, ValueRef, ValueType, encode_key, tags,
};
use crate::tablestore::table::ids::{Given, Ids};
use crate::tablestore::table::shards::Shards;
use crate::tablestore::table::stream::Stream;
use crate::tablestore::table::{Fixed, IndexMeta, Table, TableState};
use crate::tablestore::units::meter::StepChange;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The tree of the catalog's rows.
pub(crate) const TREE: TreeId = TreeId(0);
const COLUMN: &str = "record";
/// The text for a record that is no protobuf. The exact place would not help, and would take 1 KB of code.
const UNREADABLE: &str = "the message cannot be read";

/// The stored catalog.
pub(crate) struct StoredCatalog {
    pub(crate) tables: Vec<Table>,
    pub(crate) next_tree: u32,
    /// Ascending by id.
    pub(crate) keys: Vec<AccessKey>,
}

/// Reads the catalog.
pub(crate) async fn load(engine: &Engine) -> Result<StoredCatalog> {
    engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
    let mut catalog = StoredCatalog { tables: Vec::new(), next_tree: 1, keys: Vec::new() };
    let mut damage = None;
    let mut keys = KeyReader::default();
    engine
        .scan(TREE, KeyRange::ALL, Direction::Forward, &mut |key, row| {
            let record = row.cells().iter().find(|cell| cell.column == COLUMN).map(|cell| cell.value);
            match catalog.take(&mut keys, key, record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) if engine.is_read_only() => {
                    engine.misses(Missing::of_tree(TREE, error));
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    damage = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
        .await
        .map_err(or_salvage)?;
    damage.map_or(Ok(catalog), |error| Err(or_salvage(error)))
}

/// A change of one row of the catalog.
pub(crate) struct CatalogChange {
    pub(crate) key: Vec<u8>,
    /// The new record; `None` deletes the row.
    record: Option<Vec<u8>>,
}

/// The change that stores a table.
pub(crate) fn put(table: &Table, state: &TableState) -> CatalogChange {
    CatalogChange { key: key_of(table.name()), record: Some(message::encode(&mut record_of(table, state))) }
}

/// The change that removes a table.
pub(crate) fn remove(name: &str) -> CatalogChange {
    CatalogChange { key: key_of(name), record: None }
}

/// The change that stores the next table's tree.
pub(crate) fn put_counter(next_tree: u32) -> CatalogChange {
    CatalogChange { key: counter_key(), record: Some(message::encode(&mut CatalogRecord { next_tree })) }
}

/// The change that stores an access key.
pub(crate) fn put_key(key: &AccessKey) -> CatalogChange {
    let AccessKey { id, secret, rights, enabled, created } = key;
    let (secret, rights) = (secret.clone(), rights.0);
    let mut record = AccessKeyRecord { secret, rights, enabled: *enabled, created: *created };
    CatalogChange { key: key_of_access(id), record: Some(message::encode(&mut record)) }
}

/// The change that removes an access key.
pub(crate) fn remove_key(id: &str) -> CatalogChange {
    CatalogChange { key: key_of_access(id), record: None }
}

/// The table or the access key of a row of the catalog.
pub(crate) fn read(key: &[u8], record: &[u8]) -> Result<StoredCatalog> {
    let mut catalog = StoredCatalog { tables: Vec::new(), next_tree: 1, keys: Vec::new() };
    catalog.take(&mut KeyReader::default(), key, Some(ValueRef::Binary(record)))?;
    Ok(catalog)
}

/// Stores changes with their step of reserved throughput, and the answer to their sender: all of them, or none.
pub(crate) async fn store(
    engine: &Engine,
    changes: &[CatalogChange],
    step: Option<StepChange>,
    answer: (&Answers, Option<Origin>),
) -> Result<()> {
    let metered = step.as_ref().map_or_else(Vec::new, StepChange::rows);
    let rows = changes.iter().map(|change| (TREE, change.key.as_slice()));
    let rows: Vec<_> = rows.chain(metered.iter().map(|(tree, key)| (*tree, key.as_slice()))).collect();
    let stamps = vec![engine.clock().now_ms(); changes.len()];
    let (answers, origin) = answer;
    let mut stamped = CatalogCommit { changes, stamps, step, answer: (answers, origin, engine.last_stamp()) };
    engine.modify(&rows, None, &mut stamped).await
}

/// Changes of the catalog, each with a stamp above that of its row.
struct CatalogCommit<'a> {
    changes: &'a [CatalogChange],
    stamps: Vec<i64>,
    /// Its rows follow the others.
    step: Option<StepChange>,
    /// Where its answer is stored, its sender, and the answer's stamp.
    answer: (&'a Answers, Option<Origin>, i64),
}

impl Decide for CatalogCommit<'_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        match (self.stamps.get_mut(at), &mut self.step) {
            (Some(stamp), _) => *stamp = row.map_or(*stamp, |row| row.stamp().saturating_add(1).max(*stamp)),
            (None, Some(step)) => step.see(at - self.stamps.len(), row),
            (None, None) => {}
        }
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        for (CatalogChange { key, record }, &stamp) in self.changes.iter().zip(&self.stamps) {
            let put = record.as_deref().map(ValueRef::Binary);
            let put = put.map(|record| CellChange { column: COLUMN, op: CellOp::Put(stamp, record) });
            let kind = if put.is_some() { ChangeKind::Put } else { ChangeKind::Delete };
            writes.change(TREE, key, &RowChange { kind, stamp, cells: put.as_slice() });
        }
        self.step.iter_mut().for_each(|step| step.write(writes));
        let (answers, origin, stamp) = self.answer;
        let last = self.changes.last().and_then(|change| Some((&change.key[..], change.record.as_deref()?)));
        answers.put_change(origin, last.unwrap_or_default(), stamp, writes);
    }
}

/// Stores the progress of auto-increment or of an index build, in the same commit as the writes that depend on it. Does
/// nothing for a deleted table, because another table may have its name.
pub(crate) fn put_progress(table: &Table, given: Option<Given>, stamp: i64, writes: &mut Writes<'_>) {
    if table.is_ended() {
        return;
    }
    let index = table.index_of();
    let mut record = ProgressRecord {
        tree: table.tree().0,
        assigned: given.map_or(0, |given| given.up_to),
        chosen: given.map(|given| given.beyond),
        built_to: index.map_or_else(Vec::new, |index| index.built_to.borrow().clone()),
        built_rows: index.map_or(0, |index| index.built_rows.get()),
    };
    put_row(&progress_key(table.name()), &message::encode(&mut record), stamp, writes);
}

/// The change that deletes a table's progress row, if there may be one.
pub(crate) fn remove_progress(table: &Table) -> Option<CatalogChange> {
    let has = table.index_of().is_some() || table.schema().auto_increment().is_some();
    has.then(|| CatalogChange { key: progress_key(table.name()), record: None })
}

/// The change that stores a table's stream, or removes it.
pub(crate) fn stream(table: &Table, stream: Option<&Stream>) -> CatalogChange {
    let record = stream.map(|stream| message::encode(&mut stream_record(table, stream, &stream.shards.borrow())));
    CatalogChange { key: stream_key(table.name()), record }
}

/// Stores a table's stream and its shards, in the same commit as writes.
pub(crate) fn put_stream(table: &Table, stream: &Stream, shards: &Shards, stamp: i64, writes: &mut Writes<'_>) {
    put_row(&stream_key(table.name()), &message::encode(&mut stream_record(table, stream, shards)), stamp, writes);
}

/// Puts a row of the catalog, beside other writes.
fn put_row(key: &[u8], record: &[u8], stamp: i64, writes: &mut Writes<'_>) {
    let put = [CellChange { column: COLUMN, op: CellOp::Put(stamp, ValueRef::Binary(record)) }];
    writes.change(TREE, key, &RowChange { kind: ChangeKind::Put, stamp, cells: &put });
}

fn stream_record(table: &Table, stream: &Stream, shards: &Shards) -> StreamRecord {
    StreamRecord {
        of: table.tree().0,
        tree: stream.tree.0,
        hours: stream.hours.get(),
        enabled: stream.enabled,
        columns: stream.columns().to_vec(),
        last_shard: shards.last_id,
        shards: shards.all.clone(),
    }
}

/// The catalog row with a table's progress.
fn progress_key(table: &str) -> Vec<u8> {
    numbered_key(table, 1)
}

/// The catalog row of a table's stream.
pub(crate) fn stream_key(table: &str) -> Vec<u8> {
    numbered_key(table, 2)
}

/// A catalog row of a table besides its own.
fn numbered_key(table: &str, number: i64) -> Vec<u8> {
    let mut key = key_of(table);
    encode_key(&[KeyValue::Integer(number)], &mut key);
    key
}

/// The catalog row of a table.
fn key_of(table: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(table.len() + 3);
    encode_key(&[KeyValue::String(table.to_owned())], &mut key);
    key
}

/// The catalog row of an access key.
fn key_of_access(id: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(id.len() + 3);
    encode_key(&[KeyValue::Binary(id.into())], &mut key);
    key
}

/// The catalog's own row.
fn counter_key() -> Vec<u8> {
    let mut key = Vec::with_capacity(9);
    encode_key(&[KeyValue::Integer(0)], &mut key);
    key
}

impl StoredCatalog {
    fn take(&mut self, keys: &mut KeyReader, key: &[u8], record: Option<ValueRef<'_>>) -> Result<()> {
        let key = keys.read(key).ok_or_else(|| Error::corrupt("the catalog", "a row's key is invalid"))?;
        let Some(ValueRef::Binary(record)) = record else {
            return Err(Error::corrupt("the catalog", "a row has no record"));
        };
        match key[..] {
            [ValueRef::Integer(0)] => {
                let record: CatalogRecord =
                    message::decode(record).map_err(|_| Error::corrupt("the catalog's own row", UNREADABLE))?;
                self.next_tree = self.next_tree.max(record.next_tree);
            }
            [ValueRef::String(name)] => {
                let mut table = table_of(name, record)?;
                // A count that was never stored does not say which values were chosen.
                table.ids = Ids::behind(0, None);
                self.next_tree = self.next_tree.max(table.tree().0.saturating_add(1));
                self.tables.push(table);
            }
            [ValueRef::String(name), ValueRef::Integer(1)] => {
                let what = || format!("the catalog's row of how far table '{name}' is");
                let record: ProgressRecord = message::decode(record).map_err(|_| Error::corrupt(what(), UNREADABLE))?;
                // The row of a table comes before its other rows.
                let table =
                    self.tables.last_mut().filter(|table| table.name() == name && table.tree().0 == record.tree);
                if let Some(table) = table {
                    table.ids = Ids::behind(record.assigned, record.chosen);
                    if let Some(index) = table.index_of() {
                        index.built_rows.set(record.built_rows);
                        index.built_to.replace(record.built_to);
                    }
                }
            }
            [ValueRef::String(name), ValueRef::Integer(2)] => {
                let what = || format!("the catalog's row of the stream of table '{name}'");
                let record: StreamRecord = message::decode(record).map_err(|_| Error::corrupt(what(), UNREADABLE))?;
                self.next_tree = self.next_tree.max(record.tree.saturating_add(1));
                let table = self.tables.last_mut().filter(|table| table.name() == name && table.tree().0 == record.of);
                if let Some(table) = table {
                    let StreamRecord { tree, hours, enabled, columns, last_shard, shards, .. } = record;
                    let shards = Shards::stored(shards, last_shard);
                    let stream = Stream::new(TreeId(tree), hours, enabled, columns, shards);
                    table.set_stream(Some(Rc::new(stream)));
                }
            }
            [ValueRef::Binary(id)] => {
                let damaged = || Error::corrupt("the catalog's row of an access key", UNREADABLE);
                let AccessKeyRecord { secret, rights, enabled, created } =
                    message::decode(record).map_err(|_| damaged())?;
                let id = String::from_utf8(id.to_vec()).map_err(|_| damaged())?;
                self.keys.push(AccessKey { id, secret, rights: Rights(rights), enabled, created });
            }
            _ => return Err(Error::corrupt("the catalog", "a row that is none of its kinds")),
        }
        Ok(())
    }
}

fn column_record(name: &str, value_type: ValueType, auto_increment: bool) -> ColumnRecord {
    let column_type = tags::CATALOG.into_iter().find(|(_, other)| *other == value_type).map_or(0, |(number, _)| number);
    ColumnRecord { name: name.to_owned(), column_type, auto_increment, assigned_only: false }
}

fn record_of(table: &Table, state: &TableState) -> TableRecord {
    let TableState { options, throughput, .. } = state;
    let key = table.schema().key().iter();
    let key = key.map(|column| ColumnRecord {
        assigned_only: column.auto_increment && !column.allow_chosen,
        ..column_record(&column.name, column.key_type.value_type(), column.auto_increment)
    });
    let defined = state.defined.iter().map(|column| column_record(&column.name, column.column_type, false));
    let index = table.index_of().map(|index| IndexRecord {
        base: index.base.clone(),
        kind: match index.kind {
            IndexKind::Global => 1,
            IndexKind::Local => 2,
        },
        given: index.key.len() as u32,
        columns: index.columns.clone(),
        building_since: state.building_since,
        sources: index.sources.iter().map(|source| source.map_or(0, |place| place as u32 + 1)).collect(),
        since: index.since,
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
        last_increase: state.last_increase,
        last_decrease: state.last_decrease,
        defined: defined.collect(),
        no_local_transactions: !table.local_transactions(),
        index,
        payer: if table.payer() == table.tree().0 { 0 } else { table.payer() },
    }
}

fn table_of(name: &str, record: &[u8]) -> Result<Table> {
    let corrupt = |why: &dyn std::fmt::Display| Error::corrupt(format!("the catalog's row of table '{name}'"), why);
    let record: TableRecord = message::decode(record).map_err(|_| corrupt(&UNREADABLE))?;
    let value_type = |number: u32| {
        let found = tags::CATALOG.into_iter().find(|(other, _)| *other == number);
        found.map(|(_, found)| found).ok_or_else(|| corrupt(&format_args!("unknown column type {number}")))
    };
    let mut key = Vec::new();
    for ColumnRecord { name, column_type, auto_increment, assigned_only } in record.key {
        let key_type = KeyType::of(value_type(column_type)?).ok_or_else(|| corrupt(&"a type that no key has"))?;
        key.push(KeyColumn { name, key_type, auto_increment, allow_chosen: auto_increment && !assigned_only });
    }
    let mut defined = Vec::new();
    for ColumnRecord { name, column_type, .. } in record.defined {
        defined.push(DefinedColumn { name, column_type: value_type(column_type)? });
    }
    if record.index.as_ref().is_some_and(|index| index.sources.len() != key.len()) {
        return Err(corrupt(&"an index whose key has other columns than it says"));
    }
    let building_since = record.index.as_ref().and_then(|index| index.building_since);
    let index_of = record.index.map(|index| IndexMeta {
        base: index.base,
        kind: if index.kind == 2 { IndexKind::Local } else { IndexKind::Global },
        key: key.iter().take(index.given as usize).map(|column| column.name.clone()).collect(),
        columns: index.columns,
        sources: index.sources.iter().map(|place| place.checked_sub(1).map(|place| place as usize)).collect(),
        since: index.since,
        ..IndexMeta::default()
    });
    let schema = if index_of.is_some() { TableSchema::of_index(key) } else { TableSchema::new(key) };
    let schema = schema.map_err(|why| corrupt(&why))?;
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
        defined: defined.into(),
        building_since,
    };
    let fixed = Fixed {
        name: name.to_owned(),
        tree: TreeId(record.tree),
        payer: if record.payer == 0 { record.tree } else { record.payer },
        created: record.created,
        local_transactions: !record.no_local_transactions,
        index_of,
    };
    Ok(Table::new(fixed, schema, state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(name: &str, key_type: KeyType) -> KeyColumn {
        KeyColumn::new(name, key_type)
    }

    fn fixed(index_of: Option<IndexMeta>) -> Fixed {
        let created = 1_469_030_400_000;
        let payer = if index_of.is_some() { 4 } else { 9 };
        Fixed { name: "t".into(), tree: TreeId(9), payer, created, local_transactions: index_of.is_some(), index_of }
    }

    fn survives(table: &Table) -> Table {
        let read = table_of("t", &message::encode(&mut record_of(table, &table.state()))).expect("whole");
        assert_eq!(format!("{read:?}"), format!("{table:?}"));
        read
    }

    fn state() -> TableState {
        TableState {
            options: TableOptions {
                time_to_live: 86_400,
                max_versions: i64::MAX,
                max_version_offset: 7,
                allow_update: false,
            },
            throughput: ReservedThroughput { read: 5000, write: 1 },
            last_increase: Some(-5),
            ..TableState::default()
        }
    }

    #[test]
    fn a_table_survives_its_record() {
        let counted = KeyColumn { auto_increment: true, ..column("b", KeyType::Integer) };
        let key = TableSchema::new(vec![column("a", KeyType::Binary), counted, column("c", KeyType::String)]);
        let types = [ValueType::Integer, ValueType::Double, ValueType::Boolean, ValueType::String, ValueType::Binary];
        let defined = types.map(|column_type| DefinedColumn { name: column_type.as_str().into(), column_type });
        let state = TableState { defined: defined.into(), ..state() };
        let read = survives(&Table::new(fixed(None), key.expect("right"), state.clone()));
        assert_eq!(read.state(), state);
        assert!(!read.local_transactions());
    }

    #[test]
    fn an_index_survives_its_record() {
        let index = IndexMeta {
            base: "base".into(),
            kind: IndexKind::Local,
            key: vec!["a".into(), "b".into()],
            columns: vec!["x".into(), "y".into()],
            sources: vec![Some(0), None, Some(1)],
            since: Some(0),
            ..IndexMeta::default()
        };
        let key = ["a", "b", "c"].map(|name| column(name, KeyType::Integer)).to_vec();
        let state = TableState { building_since: Some(-3), ..TableState::default() };
        let read = survives(&Table::new(fixed(Some(index)), TableSchema::of_index(key).expect("right"), state));
        assert!(read.is_building());
    }

    /// The record of version 0.1, without defined columns, indexes and transactions.
    #[test]
    fn golden_record_of_version_0_1() {
        let stored = [
            8, 9, 18, 5, 10, 1, 97, 16, 3, 18, 5, 10, 1, 98, 16, 1, 18, 5, 10, 1, 99, 16, 2, 24, 128, 198, 10, 32, 254,
            255, 255, 255, 255, 255, 255, 255, 255, 1, 40, 14, 56, 136, 39, 64, 1, 72, 128, 128, 200, 144, 193, 85, 80,
            9,
        ];
        let table = table_of("t", &stored).expect("whole");
        let key = [column("a", KeyType::Binary), column("b", KeyType::Integer), column("c", KeyType::String)];
        assert_eq!((table.schema().key(), table.tree(), table.created()), (&key[..], TreeId(9), 1_469_030_400_000));
        assert_eq!(table.state(), state());
        assert!(table.local_transactions() && table.index_of().is_none() && table.indexes().is_empty());
        assert_eq!(message::encode(&mut record_of(&table, &table.state())), stored, "what is new takes no bytes");
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
