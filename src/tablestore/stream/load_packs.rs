//! The records of a load's rows.
//!
//! A row for each record would cost as much as the rows themselves. So a load packs them: a row of the stream's tree has as
//! many records as go into [`PACK_BYTES`], and the key of the last of them.

use super::record::{Record, start_pack};
use crate::engine::{BulkLoader, Engine, record_cell, record_key};
use crate::error::Result;
use crate::format::wire::put_bytes;
use crate::model::{CellChange, ChangeKind, RowChange, ValueRef, encode_value};
use crate::tablestore::rows::prepared::PreparedWrite;
use crate::tablestore::table::shards::Shard;
use crate::tablestore::table::stream::{HOUR_MS, Stream};
use std::cell::RefCell;
use std::rc::Rc;

/// A pack with at least so many bytes is written. A reader decodes one at a time.
const PACK_BYTES: usize = 32 << 10;
/// A load takes less time, even if the device sleeps meanwhile.
const LOAD_MS: i64 = 6 * HOUR_MS;

/// The stream's side of a load.
pub(crate) struct StreamLoad {
    stream: Rc<Stream>,
    /// The load's number in the stream's tree.
    number: u64,
    open: Rc<RefCell<OpenPack>>,
}

/// A pack that takes more records.
#[derive(Default)]
struct OpenPack {
    bytes: Vec<u8>,
    /// The key of its last row.
    last: Vec<u8>,
    record: Vec<u8>,
}

/// The first column of the keys of a load's packs.
pub(super) fn load_prefix(load: u64) -> Vec<u8> {
    number_key(-load.cast_signed())
}

fn pack_key(load: u64, last: &[u8]) -> Vec<u8> {
    let mut key = load_prefix(load);
    key.extend_from_slice(last);
    key
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

/// Gates of [`Module::Streams`](crate::modules::Module::Streams).
impl StreamLoad {
    /// Has a load bring its records, and one for each shard that names them.
    #[inline(never)]
    pub(crate) fn begin(stream: &Rc<Stream>, engine: &Rc<Engine>, load: &BulkLoader) -> Self {
        let (number, open) = (load.number_beside(stream.tree), Rc::<RefCell<OpenPack>>::default());
        let begun = Self { stream: Rc::clone(stream), number, open: Rc::clone(&open) };
        let (stream, engine) = (Rc::clone(stream), Rc::downgrade(engine));
        load.at_end(Box::new(move |seqno, first, last| {
            let time = engine.upgrade().map_or(stream.last_time.get(), |engine| stream.time(&engine));
            let of = |shard: &Shard| (record_key(shard.id, seqno), time, Record::of_load(number, shard));
            let records: Vec<_> = stream.shards.borrow().within(first, last).map(of).collect();
            let tree = stream.tree;
            Box::new(move |put| {
                let open = open.take();
                let pack = (pack_key(number, &open.last), time.saturating_add(LOAD_MS), open.bytes);
                let pack = Some(pack).filter(|(.., bytes)| !bytes.is_empty());
                for (key, time, record) in pack.into_iter().chain(records) {
                    put(tree, &key, &row(time, &[record_cell(time, &record)]));
                }
            })
        }));
        begun
    }

    /// Adds the record of a loaded row.
    /// A caller of [`Module::Loads`](crate::modules::Module::Loads).
    #[inline(never)]
    pub(crate) fn push(
        &self,
        engine: &Engine,
        load: &BulkLoader,
        ready: &PreparedWrite<'_, '_>,
        change: &RowChange<'_>,
    ) -> Result<()> {
        let mut open = self.open.borrow_mut();
        let OpenPack { bytes, last, record } = &mut *open;
        if bytes.is_empty() {
            start_pack(bytes);
        }
        record.clear();
        Record::put(ready.values.iter(), change, record);
        put_bytes(record, bytes);
        last.clone_from(&ready.key);
        if bytes.len() < PACK_BYTES {
            return Ok(());
        }
        // Packs outlive the records that name them, whose time is that of the load's end.
        let time = self.stream.time(engine).saturating_add(LOAD_MS);
        let added =
            load.push_beside(self.stream.tree, &pack_key(self.number, last), &row(time, &[record_cell(time, bytes)]));
        bytes.clear();
        added
    }
}
