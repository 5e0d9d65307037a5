//! Streams: the changes of a table's rows, kept for some hours (ST1 to ST3).
//!
//! A change and its record are in the same commit. The records of a table are rows of a tree of their own. Readers find
//! them there like any rows, and compaction removes them when they have expired.
//!
//! | key of the row | column ` ` (Binary), its version the time of the record |
//! |---|---|
//! | Integer: a shard, Integer: the seqno | a record of one row, or one that names rows of a load |
//! | Integer: less than 0, a load; the row's key | a record of one row |
//!
//! A shard is a partition between two cuts (ST2). A record names its shard when its write is accepted, in the order of
//! seqnos. When the partitions were cut or merged, the next write ends the shards of before and begins others. So no
//! record of a shard comes behind one of its children.
//!
//! A load takes its seqno only at its end, so the records of its rows lie apart, under its number. At its end each shard
//! gets one record that names them.

mod admin;
mod read;
mod record;
mod shards;

pub(super) use admin::set_stream;
pub use admin::{ShardDescription, StreamChange, StreamDescription, StreamPage};
pub use read::{StreamRecords, StreamStart};
pub use record::StreamRecord;
pub(super) use record::old_cells;
pub(super) use shards::{Shard, Shards};

use super::catalog;
use super::decide::Decision;
use super::prepared::PreparedWrite;
use super::table::Table;
use crate::engine::{BulkLoader, Engine, ShapeSeen, TreeId, Writes};
use crate::error::Result;
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef, encode_value};
use crate::storage::Storage;
use record::Record;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HOUR_MS: i64 = 3_600_000;
/// Expired records are looked for after this share of their life.
const TRIMS: i64 = 24;
/// Times of records are in the order of their seqnos but for this much. A record that is further ahead was made when the clock
/// was wrong.
const SLACK_MS: i64 = HOUR_MS;
/// A load takes less time.
const LOAD_MS: i64 = HOUR_MS;
/// The column of records.
const COLUMN: &str = "";

/// The stream of a table.
#[derive(Debug)]
pub(super) struct Stream {
    /// The tree of its records.
    pub(super) tree: TreeId,
    /// How long records are kept, in hours.
    pub(super) hours: Cell<u32>,
    /// When it was enabled, ms since 1970 UTC.
    pub(super) enabled: i64,
    /// The columns whose old values its records have too.
    pub(super) columns: RefCell<Rc<[String]>>,
    pub(super) shards: RefCell<Shards>,
    seen: ShapeSeen,
    /// The time of the newest record of this opening.
    last_time: Cell<i64>,
    /// When expired records were last looked for, and whether somebody looks for them.
    trimmed: Cell<i64>,
    trims: Cell<bool>,
    /// Whether it is being disabled: nothing of it may be stored any more.
    pub(super) ended: Cell<bool>,
}

/// A record that waits for the commit of its transaction: the key of its row, and the record.
pub(super) type WaitingRecord = (Vec<u8>, Vec<u8>);

impl Stream {
    pub(super) fn new(tree: TreeId, hours: u32, enabled: i64, columns: Vec<String>, shards: Shards) -> Self {
        Self {
            tree,
            hours: Cell::new(hours),
            enabled,
            columns: RefCell::new(columns.into()),
            shards: RefCell::new(shards),
            seen: ShapeSeen::default(),
            last_time: Cell::new(i64::MIN),
            trimmed: Cell::new(i64::MIN),
            trims: Cell::default(),
            ended: Cell::default(),
        }
    }

    /// Whether it is time to look for expired records again.
    fn is_old(&self, now: i64) -> bool {
        let pause = i64::from(self.hours.get()) * HOUR_MS / TRIMS;
        let done = self.trimmed.get();
        !(done..done.saturating_add(pause)).contains(&now)
    }

    /// The columns whose old values its records have too.
    pub(super) fn columns(&self) -> Rc<[String]> {
        Rc::clone(&self.columns.borrow())
    }

    /// The record of a decided write. A gate of [`Module::Streams`](crate::modules::Module::Streams), as the next four.
    #[inline(never)]
    pub(super) fn record(ready: &PreparedWrite<'_, '_>, decision: &Decision) -> Vec<u8> {
        let cells = decision.own_cells(ready.write);
        let change = RowChange { kind: ready.write.kind(), stamp: decision.stamp, cells: &cells };
        let old = decision.derived.old_cells();
        Record::encode(ready.values.iter(), &change, old)
    }

    /// Writes a record, together with the change of the row with this key that it is of.
    #[inline(never)]
    pub(super) fn append<S: Storage>(
        &self,
        engine: &Engine<S>,
        table: &Table,
        (key, record): (&[u8], &[u8]),
        writes: &mut Writes<'_>,
    ) {
        let time = self.time(engine);
        self.follow(engine, table, time, writes);
        let shard = self.shards.borrow().holding(key);
        writes.append(self.tree, &number_key(shard), &row(time, &[cell(time, record)]));
    }

    /// The time of the next record. It does not run backwards with the clock, unless that was far ahead.
    fn time<S: Storage>(&self, engine: &Engine<S>) -> i64 {
        let (now, last) = (engine.now_ms(), self.last_time.get());
        let time = if (now..now.saturating_add(SLACK_MS)).contains(&last) { last } else { now };
        self.last_time.set(time);
        time
    }

    /// Begins and ends shards, if partitions were cut or merged since the last record, and stores that.
    #[inline(never)]
    pub(super) fn follow<S: Storage>(&self, engine: &Engine<S>, table: &Table, time: i64, writes: &mut Writes<'_>) {
        let mut shards = self.shards.borrow_mut();
        if let Some(boundaries) = engine.boundaries_since(table.tree(), &self.seen) {
            shards.reshape(&boundaries, time);
        }
        // A failed commit may have had the last change.
        if !shards.is_stored(engine.failures()) && !table.is_ended() && !self.ended.get() {
            catalog::put_stream(table, self, &shards, time, writes);
            shards.set_stored(engine.failures());
        }
    }

    /// Adds the record of a loaded row to its load.
    #[inline(never)]
    pub(super) fn loaded<S: Storage>(
        &self,
        engine: &Engine<S>,
        load: &BulkLoader<S>,
        ready: &PreparedWrite<'_, '_>,
        change: &RowChange<'_>,
    ) -> Result<()> {
        let mut key = load_prefix(load.number_beside());
        key.extend_from_slice(&ready.key);
        // They outlive the record that names them, whose time is that of the load's end.
        let time = self.time(engine).saturating_add(LOAD_MS);
        let record = Record::encode(ready.values.iter(), change, &[]);
        load.push_beside(self.tree, &key, &row(time, &[cell(time, &record)]))
    }

    /// Has the load bring a record for each shard, when it ends.
    #[inline(never)]
    pub(super) fn follow_load<S: Storage>(self: &Rc<Self>, engine: &Rc<Engine<S>>, load: &BulkLoader<S>) {
        let (stream, engine, number) = (Rc::clone(self), Rc::downgrade(engine), load.number_beside());
        load.at_end(Box::new(move |seqno, first, last| {
            let time = engine.upgrade().map_or(stream.last_time.get(), |engine| stream.time(&engine));
            let of = |shard: &Shard| (record_key(shard.id, seqno), Record::of_load(number, shard));
            let rows: Vec<_> = stream.shards.borrow().within(first, last).map(of).collect();
            let tree = stream.tree;
            Box::new(move |put| {
                for (key, record) in rows {
                    put(tree, &key, &row(time, &[cell(time, &record)]));
                }
            })
        }));
    }
}

/// Has the engine keep the stream's records. Until expired ones were marked, none is removed.
pub(super) fn keep<S: Storage>(engine: &Engine<S>, stream: &Stream) {
    let time_to_live = Some(i64::from(stream.hours.get()) * 3600);
    engine.set_retention(stream.tree, Retention { max_versions: 1, time_to_live });
    engine.set_floor(stream.tree, i64::MIN);
}

/// The first column of keys: the number of a shard, or of a load, less than 0.
fn number_key(number: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    encode_value(ValueRef::Integer(number), &mut key);
    key
}

/// The key of a record in a shard.
fn record_key(shard: i64, seqno: u64) -> Vec<u8> {
    let mut key = number_key(shard);
    encode_value(ValueRef::Integer(seqno.cast_signed()), &mut key);
    key
}

/// The first column of the keys of a load's records.
fn load_prefix(load: u64) -> Vec<u8> {
    number_key(-load.cast_signed())
}

fn cell(time: i64, record: &[u8]) -> CellChange<'_> {
    CellChange { column: COLUMN, op: CellOp::Put(time, ValueRef::Binary(record)) }
}

fn row<'c>(stamp: i64, cells: &'c [CellChange<'c>]) -> RowChange<'c> {
    RowChange { kind: ChangeKind::Update, stamp, cells }
}
