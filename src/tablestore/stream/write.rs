//! Writes the records of a stream, in the commits of their changes.

use super::record::Record;
use crate::engine::{Engine, Writes};
use crate::error::{Error, Result};
use crate::model::{KeyReader, RecordPlace, RowChange};
use crate::tablestore::rows::decide::Decision;
use crate::tablestore::rows::prepared::PreparedWrite;
use crate::tablestore::state::catalog_rows;
use crate::tablestore::table::Table;
use crate::tablestore::table::stream::{HOUR_MS, Stream};

/// Times of records are in the order of their seqnos but for this much. A record that is further ahead was made when the clock
/// was wrong.
pub(super) const SLACK_MS: i64 = HOUR_MS;

impl Stream {
    /// The record of a decided write. A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(crate) fn record(ready: &PreparedWrite<'_, '_>, decision: &Decision) -> Vec<u8> {
        let cells = decision.own_cells(ready.write);
        let change = RowChange { kind: ready.write.kind(), stamp: decision.stamp, cells: &cells };
        let old = decision.derived.old_cells();
        Record::encode(ready.values.iter(), &change, old)
    }

    /// Writes a decided change of a row, and its record.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(crate) fn write(
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
    pub(crate) fn write_change(
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
    pub(crate) fn append(
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
    pub(super) fn time(&self, engine: &Engine) -> i64 {
        let (now, last) = (engine.clock().now_ms(), self.last_time.get());
        let time = if (now..now.saturating_add(SLACK_MS)).contains(&last) { last } else { now };
        self.last_time.set(time);
        time
    }

    /// Begins and ends shards, if partitions were cut or merged since the last record, and stores that.
    /// A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(crate) fn follow(&self, engine: &Engine, table: &Table, time: i64, writes: &mut Writes<'_>) {
        let mut shards = self.shards.borrow_mut();
        if let Some(boundaries) = engine.boundaries_since(table.tree(), &self.seen) {
            shards.reshape(&boundaries, time);
        }
        // A failed commit may have had the last change.
        if !shards.is_stored(engine.failures()) && !table.is_ended() && !self.ended.get() {
            writes.beside(|writes| catalog_rows::put_stream(table, self, &shards, time, writes));
            shards.set_stored(engine.failures());
        }
    }
}

/// The record of a change, which the engine makes when it is needed. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(crate) fn recorder(key: &[u8], change: &RowChange<'_>) -> Result<Vec<u8>> {
    let mut reader = KeyReader::default();
    let key = reader.read(key).ok_or_else(|| Error::internal("the key of a change that a stream records is none"))?;
    Ok(Record::encode(key.iter(), change, &[]))
}
