//! Records of changes in streams, made late.
//!
//! A stream's record has the same content as the change that it is of. So the log holds the change alone, with the place of
//! its record. The record becomes a row when somebody reads the stream, or when the change is flushed: writing costs no
//! second row. The layer above knows the bytes of a record, and sets a [`Recorder`] for that.
//!
//! A record's row has the seqno of its change, so each instant sees both or neither.

use crate::engine::Engine;
use crate::engine::memory::memtable::{Memtable, Slot};
use crate::error::{Code, Error, Result};
use crate::model::{CellChange, CellOp, RecordPlace, RowChange, TreeId, ValueRef, encode_value};
use std::collections::VecDeque;
use std::pin::Pin;

/// The column of records.
pub(crate) const RECORD_COLUMN: &str = "";

/// Records made between two looks at the clock.
const STEP: usize = 64;

/// Encodes the record of a change of the row with this key, tree left out.
///
/// # Errors
/// If the key is none.
pub type Recorder = fn(&[u8], &RowChange<'_>) -> Result<Vec<u8>>;

/// Records on their way.
type Making<'e> = Pin<Box<dyn Future<Output = Result<()>> + 'e>>;

/// A change whose record is not made yet.
#[derive(Debug)]
pub(crate) struct WaitingRecord {
    pub(crate) place: RecordPlace,
    /// The key of the changed row, tree left out.
    pub(crate) key: Box<[u8]>,
    /// The change. Its bytes stay as long as the memtable, even when a later change replaces it.
    pub(crate) slot: Slot,
}

/// The changes of a memtable whose records are not made yet, by stream. There are few streams.
#[derive(Debug, Default)]
pub(crate) struct WaitingRecords {
    streams: Vec<(TreeId, VecDeque<WaitingRecord>)>,
}

impl WaitingRecords {
    pub(crate) fn push(&mut self, record: WaitingRecord) {
        let tree = record.place.tree;
        match self.streams.iter_mut().find(|(other, _)| *other == tree) {
            Some((_, records)) => records.push_back(record),
            None => self.streams.push((tree, VecDeque::from([record]))),
        }
    }

    /// Forgets those of a stream that is gone.
    pub(crate) fn remove(&mut self, tree: TreeId) {
        self.streams.retain(|(other, _)| *other != tree);
    }

    /// The streams.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.streams.iter().map(|(tree, _)| *tree)
    }

    /// Puts one back that was popped.
    pub(crate) fn put_back(&mut self, record: WaitingRecord) {
        match self.streams.iter_mut().find(|(tree, _)| *tree == record.place.tree) {
            Some((_, records)) => records.push_front(record),
            None => self.push(record),
        }
    }

    pub(crate) fn has(&self, of: Option<TreeId>) -> bool {
        self.streams.iter().any(|(tree, _)| of.is_none_or(|of| of == *tree))
    }

    /// The next one: of one stream, or of any.
    pub(crate) fn pop(&mut self, of: Option<TreeId>) -> Option<WaitingRecord> {
        let at = self.streams.iter().position(|(tree, _)| of.is_none_or(|of| of == *tree))?;
        let (_, records) = self.streams.get_mut(at)?;
        let next = records.pop_front();
        if records.is_empty() {
            self.streams.swap_remove(at);
        }
        next
    }
}

/// The key of a record's row: its shard, and the seqno of its change.
pub(crate) fn record_key(shard: i64, seqno: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(18);
    encode_value(ValueRef::Integer(shard), &mut key);
    encode_value(ValueRef::Integer(seqno.cast_signed()), &mut key);
    key
}

/// The cell of a record's row.
pub(crate) fn record_cell(time: i64, record: &[u8]) -> CellChange<'_> {
    CellChange { column: RECORD_COLUMN, op: CellOp::Put(time, ValueRef::Binary(record)) }
}

/// The error of who needs records before anybody can make them.
pub(crate) fn too_early() -> Error {
    Error::new(Code::Unavailable, "records of streams cannot be made yet: the tables are not open")
}

impl Engine {
    /// Sets what makes records. Until then, changes with records are not flushed.
    pub fn set_recorder(&self, recorder: Recorder) {
        let first = self.recorder.replace(Some(recorder)).is_none();
        if first && !self.view.borrow().frozen.is_empty() {
            self.start_background();
        }
    }

    /// Whether stored changes have records that cannot be made yet.
    #[must_use]
    pub fn awaits_recorder(&self) -> bool {
        self.recorder.get().is_none() && self.view.borrow().memtables().any(|memtable| memtable.awaits_records(None))
    }

    /// Whether a memtable cannot be flushed before the recorder is set.
    pub(in crate::engine) fn is_too_early_for(&self, memtable: &Memtable) -> bool {
        self.recorder.get().is_none() && memtable.awaits_records(None)
    }

    /// Makes all records of a frozen memtable.
    async fn make_for_flush(&self, memtable: &Memtable, recorder: Recorder) -> Result<()> {
        while memtable.awaits_records(None) {
            memtable.make_records(None, STEP, recorder)?;
            if self.slices.is_over() {
                self.env.yield_now().await;
                self.check_alive()?;
            }
        }
        Ok(())
    }

    /// Makes the records that a reader of the tree needs, if some wait. At once: the reader's instant is chosen already, and what
    /// it must wait for too.
    pub(in crate::engine) fn make_records_of(&self, tree: TreeId) -> Result<()> {
        let view = self.view.borrow();
        for memtable in view.memtables().filter(|memtable| memtable.awaits_records(Some(tree))) {
            memtable.make_records(Some(tree), usize::MAX, self.recorder.get().ok_or_else(too_early)?)?;
        }
        Ok(())
    }

    /// Makes the records of a frozen memtable that wait, before its flush.
    pub(in crate::engine) async fn make_records_in(&self, memtable: &Memtable) -> Result<()> {
        if memtable.awaits_records(None) {
            for_flush(self, memtable, self.recorder.get().ok_or_else(too_early)?).await?;
        }
        Ok(())
    }
}

/// [`Engine::make_for_flush`]. A gate of [`Module::Streams`](crate::modules::Module::Streams): who has set a recorder has loaded
/// it.
#[inline(never)]
fn for_flush<'e>(engine: &'e Engine, memtable: &'e Memtable, recorder: Recorder) -> Making<'e> {
    Box::pin(engine.make_for_flush(memtable, recorder))
}
