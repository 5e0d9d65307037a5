//! Streams: the changes of a table's rows, kept for some hours (ST1 to ST3).
//!
//! A change and its record are in the same commit. The records of a table are rows of a tree of their own. Readers find
//! them there like any rows, and compaction removes them when they have expired. Most records say no more than their change
//! does. The log then has the change and the record's place, and the engine makes the record later with [`recorder`].
//!
//! | key of the row | column ` ` (Binary), its version the time of the record |
//! |---|---|
//! | Integer: a shard, Integer: the seqno | a record of one row, or one that names rows of a load |
//! | Integer: less than 0, a load; a row's key | a pack: records of rows up to this one |
//!
//! A shard is a partition between two cuts (ST2). A record names its shard when its write is accepted, in the order of
//! seqnos. When the partitions were cut or merged, the next write ends the shards of before and begins others. So no
//! record of a shard comes behind one of its children.
//!
//! A load takes its seqno only at its end, so the records of its rows lie apart, under its number. At its end each shard
//! gets one record that names them.

mod admin;
mod load;
mod loaded;
mod read;
mod record;
mod shards;

pub(super) use admin::set_stream;
pub use admin::{ShardDescription, StreamChange, StreamDescription, StreamPage};
pub(super) use load::StreamLoad;
pub use read::{StreamRecords, StreamStart};
pub use record::StreamRecord;
pub(super) use record::old_cells;
pub(super) use shards::{Shard, Shards};

use super::table::Table;
use crate::engine::{Engine, ShapeSeen, TreeId, Writes};
use crate::error::{Error, Result};
use crate::model::version::Retention;
use crate::model::{CellChange, ChangeKind, KeyReader, RecordPlace, RowChange, ValueRef, encode_value};
use crate::tablestore::rows::decide::Decision;
use crate::tablestore::rows::prepared::PreparedWrite;
use crate::tablestore::state::catalog;
use record::Record;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HOUR_MS: i64 = 3_600_000;
/// Expired records are looked for after this share of their life.
const TRIMS: i64 = 24;
/// Times of records are in the order of their seqnos but for this much. A record that is further ahead was made when the clock
/// was wrong.
const SLACK_MS: i64 = HOUR_MS;
/// A load takes less time, even if the device sleeps meanwhile.
const LOAD_MS: i64 = 6 * HOUR_MS;

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
pub(super) type TransactionRecord = (Vec<u8>, Vec<u8>);

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

    /// The record of a decided write. A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(super) fn record(ready: &PreparedWrite<'_, '_>, decision: &Decision) -> Vec<u8> {
        let cells = decision.own_cells(ready.write);
        let change = RowChange { kind: ready.write.kind(), stamp: decision.stamp, cells: &cells };
        let old = decision.derived.old_cells();
        Record::encode(ready.values.iter(), &change, old)
    }

    /// Writes a decided change of a row, and its record.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(super) fn write(
        &self,
        engine: &Engine,
        ready: &PreparedWrite<'_, '_>,
        decision: &Decision,
        writes: &mut Writes<'_>,
    ) {
        let place = self.place(engine, &ready.table, &ready.key, writes);
        if decision.tells_all() {
            decision.write(ready, Some(place), writes);
        } else {
            decision.write(ready, None, writes);
            writes.append_record(place, &Self::record(ready, decision));
        }
    }

    /// Writes a change of a row that the layer above has decided, and its record, with old cells if it has some.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(super) fn write_change(
        &self,
        engine: &Engine,
        table: &Table,
        (key, old): (&[u8], &[u8]),
        change: &RowChange<'_>,
        writes: &mut Writes<'_>,
    ) {
        let place = self.place(engine, table, key, writes);
        if old.is_empty() {
            return writes.change_recorded(table.tree(), key, change, place);
        }
        writes.change(table.tree(), key, change);
        let mut keys = KeyReader::default();
        let values = keys.read(key).unwrap_or_default();
        writes.append_record(place, &Record::encode(values.iter(), change, old));
    }

    /// Writes a record, together with the change of the row with this key that it is of.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(super) fn append(
        &self,
        engine: &Engine,
        table: &Table,
        (key, record): (&[u8], &[u8]),
        writes: &mut Writes<'_>,
    ) {
        let place = self.place(engine, table, key, writes);
        writes.append_record(place, record);
    }

    /// The place of the next record, for a change of the row with this key.
    fn place(&self, engine: &Engine, table: &Table, key: &[u8], writes: &mut Writes<'_>) -> RecordPlace {
        let time = self.time(engine);
        self.follow(engine, table, time, writes);
        RecordPlace { tree: self.tree, shard: self.shards.borrow().holding(key), time }
    }

    /// The time of the next record. It does not run backwards with the clock, unless that was far ahead.
    fn time(&self, engine: &Engine) -> i64 {
        let (now, last) = (engine.now_ms(), self.last_time.get());
        let time = if (now..now.saturating_add(SLACK_MS)).contains(&last) { last } else { now };
        self.last_time.set(time);
        time
    }

    /// Begins and ends shards, if partitions were cut or merged since the last record, and stores that.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(super) fn follow(&self, engine: &Engine, table: &Table, time: i64, writes: &mut Writes<'_>) {
        let mut shards = self.shards.borrow_mut();
        if let Some(boundaries) = engine.boundaries_since(table.tree(), &self.seen) {
            shards.reshape(&boundaries, time);
        }
        // A failed commit may have had the last change.
        if !shards.is_stored(engine.failures()) && !table.is_ended() && !self.ended.get() {
            writes.beside(|writes| catalog::put_stream(table, self, &shards, time, writes));
            shards.set_stored(engine.failures());
        }
    }
}

/// The record of a change, which the engine makes when it is needed. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(super) fn recorder(key: &[u8], change: &RowChange<'_>) -> Result<Vec<u8>> {
    let mut reader = KeyReader::default();
    let key = reader.read(key).ok_or_else(|| Error::internal("the key of a change that a stream records is none"))?;
    Ok(Record::encode(key.iter(), change, &[]))
}

/// Has the engine keep the stream's records. Until expired ones were marked, none is removed.
pub(super) fn keep(engine: &Engine, stream: &Stream) {
    let time_to_live = Some(i64::from(stream.hours.get()) * 3600);
    engine.set_retention(stream.tree, Retention { max_versions: 1, time_to_live });
    engine.set_floor(stream.tree, i64::MIN);
}

/// The first column of keys: the number of a load, less than 0.
fn number_key(number: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    encode_value(ValueRef::Integer(number), &mut key);
    key
}

fn row<'c>(stamp: i64, cells: &'c [CellChange<'c>]) -> RowChange<'c> {
    RowChange { kind: ChangeKind::Update, stamp, cells }
}
