//! The memtable: the newest rows, sorted, in memory; everything in it is also in the log.

use super::slot::{ChunkId, Slot};
use super::waiting_records::{Recorder, WaitingRecord, WaitingRecords, record_cell, record_key};
use crate::engine::rows::holds::Holds;
use crate::engine::rows::keys::{TREE_BYTES, full_key, tree_of};
use crate::engine::rows::row::DatedFragment;
use crate::error::{Error, Result};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::log::Write;
use crate::format::names::{NameBuilder, Names};
use crate::format::wire::{Damage, Decoded};
use crate::model::{RecordPlace, RowChange, TreeId};
use crate::storage::LogNumber;
use bytes::Bytes;
use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

/// Fragments are kept in chunks of this many bytes, so that growth never copies existing ones.
const CHUNK: usize = 256 << 10;

/// The most bytes that a copied fragment may grow.
const SLACK: usize = 64;

/// Fragments with a seqno from here on are in no log. Their reader sees them at every instant.
pub(crate) const PRIVATE: u64 = 1 << 63;

/// The approximate cost of a row beyond its bytes: nodes of the tree are a little more than half full, and the key is a
/// separate allocation.
const ROW_OVERHEAD: usize = (size_of::<Box<[u8]>>() + size_of::<Slots>()) * 7 / 4 + 16;

/// A memtable. Frozen ones are read and flushed. They get no rows but those of records that waited in them.
#[derive(Debug)]
pub(crate) struct Memtable {
    /// The first log record whose writes are here.
    pub(crate) first_log: LogNumber,
    /// The estimated time in which an opening replays those records, ns.
    pub(crate) replay_ns: Cell<u64>,
    rows: RefCell<Rows>,
    /// Changes whose records in streams are not made yet.
    waiting: RefCell<WaitingRecords>,
}

/// The rows of a memtable.
#[derive(Debug)]
pub(crate) struct Rows {
    rows: BTreeMap<Box<[u8]>, Slots>,
    names: NameBuilder,
    chunks: Vec<Chunk>,
    base_stamp: i64,
    bytes: usize,
    slots: u64,
}

/// The place of fragments.
#[derive(Debug)]
enum Chunk {
    /// Copied fragments, relative to the memtable's stamp and names.
    Copied(Vec<u8>),
    /// Fragments in the log record that brought them.
    Record(Box<Record>),
}

/// The payload of a log record, and the base of its fragments.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) payload: Bytes,
    pub(crate) base_stamp: i64,
    pub(crate) names: Names,
}

/// The fragments of one row.
#[derive(Debug)]
pub(crate) struct Slots {
    newest: Slot,
    /// Ascending by seqno; all older than `newest`.
    older: Vec<Slot>,
}

impl Memtable {
    pub(crate) fn new(first_log: LogNumber, base_stamp: i64) -> Self {
        let rows = Rows {
            rows: BTreeMap::new(),
            names: NameBuilder::default(),
            chunks: Vec::new(),
            base_stamp,
            bytes: 0,
            slots: 0,
        };
        Self { first_log, replay_ns: Cell::new(0), rows: RefCell::new(rows), waiting: RefCell::default() }
    }

    /// The rows, borrowed for one synchronous section.
    pub(crate) fn rows(&self) -> Ref<'_, Rows> {
        self.rows.borrow()
    }

    /// Adopts the names of a batch. Returns whether its fragments can be copied unchanged.
    pub(crate) fn adopt(&self, names: &Names) -> bool {
        self.rows.borrow_mut().names.adopt(names)
    }

    /// Adds a fragment, which must be newer than all others of its row. `adopted` is the result of [`Self::adopt`]; if it
    /// is false the fragment is read and checked.
    pub(crate) fn insert(
        &self,
        key: Box<[u8]>,
        seqno: u64,
        fragment: Fragment<'_>,
        adopted: bool,
        holds: &Holds,
    ) -> Decoded<Slot> {
        let mut rows = self.rows.borrow_mut();
        let hides_older = fragment.head().hides_older;
        let slot = rows.copy(seqno, fragment, adopted)?;
        rows.insert(key, slot, hides_older, holds);
        Ok(slot)
    }

    /// Remembers that the change in `slot` has a record in a stream. `key` is the row's, without the tree.
    pub(crate) fn record_later(&self, place: RecordPlace, key: &[u8], slot: Slot) {
        self.rows.borrow_mut().bytes += size_of::<WaitingRecord>() + key.len();
        self.waiting.borrow_mut().push(WaitingRecord { place, key: key.into(), slot });
    }

    /// Forgets the records of a stream that is gone.
    pub(crate) fn forget_records(&self, tree: TreeId) {
        self.waiting.borrow_mut().remove(tree);
    }

    /// The trees that have rows here, or get them from records.
    pub(crate) fn trees(&self) -> Vec<TreeId> {
        let mut trees = self.rows().trees();
        trees.extend(self.waiting.borrow().trees());
        trees
    }

    /// Whether records of a stream, or of any one, are not made yet.
    pub(crate) fn awaits_records(&self, of: Option<TreeId>) -> bool {
        self.waiting.borrow().has(of)
    }

    /// Makes records that wait, at most so many: those of one stream, or of all. The rows of a frozen memtable must not be
    /// read by a flush meanwhile. A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(crate) fn make_records(&self, of: Option<TreeId>, most: usize, recorder: Recorder) -> Result<()> {
        for _ in 0..most {
            let Some(record) = self.waiting.borrow_mut().pop(of) else { break };
            if let Err(error) = self.make_record(&record, recorder) {
                self.waiting.borrow_mut().put_back(record);
                return Err(error);
            }
        }
        Ok(())
    }

    fn make_record(&self, waiting: &WaitingRecord, recorder: Recorder) -> Result<()> {
        let WaitingRecord { place, key, slot } = waiting;
        let broken = |damage| Error::corrupt("a change of which a stream has a record", damage);
        let encoded = {
            let rows = self.rows.borrow();
            let mut fragment = rows.fragment(*slot).map_err(broken)?;
            let (head, mut cells) = (fragment.head(), Vec::new());
            while let Some(cell) = fragment.next_cell().map_err(broken)? {
                cells.push(cell);
            }
            recorder(key, &RowChange { kind: head.kind(), stamp: head.stamp, cells: &cells })?
        };
        self.rows.borrow_mut().insert_record(*place, slot.seqno, &encoded).map_err(broken)
    }

    /// Takes over the payload of a log record, so its fragments need no copy.
    pub(crate) fn take(&self, record: Record) -> ChunkId {
        let mut rows = self.rows.borrow_mut();
        rows.bytes += record.payload.len();
        rows.chunks.push(Chunk::Record(Box::new(record)));
        ChunkId(rows.chunks.len() as u32 - 1)
    }

    /// Adds the fragment of a write in the record `chunk`; `head` is the fragment's head. It must be newer than all
    /// others of its row.
    pub(crate) fn insert_taken(&self, write: &Write<'_>, head: FragmentHead, chunk: ChunkId, holds: &Holds) -> Slot {
        let (start, end) = (write.at as u32, (write.at + write.fragment.len()) as u32);
        let slot = Slot { seqno: write.seqno, chunk, start, end };
        self.rows.borrow_mut().insert(full_key(write.tree, write.key), slot, head.hides_older, holds);
        slot
    }

    /// Its approximate memory.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.rows.borrow();
        rows.bytes + rows.names.memory()
    }

    /// The number of its fragments.
    pub(crate) fn entries(&self) -> u64 {
        self.rows.borrow().slots
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.borrow().rows.is_empty()
    }
}

/// The error of a fragment that cannot be read. The memtable made it itself.
#[cold]
pub(crate) fn unreadable(damage: Damage) -> Error {
    Error::internal(format!("a fragment in the memtable: {damage}"))
}

/// The rows from `first` to `last` that need data older than these memtables to be whole.
pub(crate) fn dependent(memtables: &[Rc<Memtable>], first: &[u8], last: &[u8]) -> Vec<Box<[u8]>> {
    let hides = |memtable: &Rc<Memtable>, key: &[u8]| {
        let (rows, mut fragments) = (memtable.rows(), Vec::new());
        let read = rows.get(key).map(|slots| rows.fragments(slots, (0, u64::MAX), &mut fragments));
        read.is_some_and(|read| read.is_ok()) && fragments.iter().any(|dated| dated.fragment.head().hides_older)
    };
    let mut found = Vec::new();
    for memtable in memtables {
        let rows = memtable.rows();
        for (key, _) in rows.range(Bound::Included(first), Bound::Included(last)) {
            if !memtables.iter().any(|memtable| hides(memtable, key)) {
                found.push(key.clone());
            }
        }
    }
    found
}

impl Rows {
    fn copy(&mut self, seqno: u64, fragment: Fragment<'_>, adopted: bool) -> Decoded<Slot> {
        // A copy is about as long as its original.
        self.put(seqno, fragment.left(), |base, names, chunk| match adopted {
            true => {
                fragment::copy_cells(&fragment, base, names, chunk);
                Ok(())
            }
            false => fragment::copy(fragment, base, names, chunk),
        })
    }

    /// Adds the row of a stream's record.
    fn insert_record(&mut self, place: RecordPlace, seqno: u64, record: &[u8]) -> Decoded<()> {
        let head = FragmentHead { hides_older: false, marker: None, stamp: place.time };
        let slot = self.put(seqno, record.len(), |base, names, chunk| {
            fragment::encode(head, [record_cell(place.time, record)], base, names, chunk);
            Ok(())
        })?;
        self.insert(full_key(place.tree, &record_key(place.shard, seqno)), slot, false, &Holds::default());
        Ok(())
    }

    /// Adds a fragment of about this length, which `encode` appends to a chunk.
    fn put(
        &mut self,
        seqno: u64,
        length: usize,
        encode: impl FnOnce(i64, &mut NameBuilder, &mut Vec<u8>) -> Decoded<()>,
    ) -> Decoded<Slot> {
        // A full chunk must not grow: that would copy it to twice its size.
        let room = length + SLACK;
        if !matches!(self.chunks.last(), Some(Chunk::Copied(chunk)) if chunk.len() + room <= CHUNK) {
            // The first chunk grows as it fills, because a transaction often writes little.
            let room = if self.chunks.is_empty() { room.next_power_of_two() } else { room.max(CHUNK) };
            self.chunks.push(Chunk::Copied(Vec::with_capacity(room)));
        }
        let at = ChunkId(self.chunks.len() as u32 - 1);
        let Some(Chunk::Copied(chunk)) = self.chunks.last_mut() else { unreachable!("it was looked for") };
        let start = chunk.len();
        if let Err(damage) = encode(self.base_stamp, &mut self.names, chunk) {
            chunk.truncate(start);
            return Err(damage);
        }
        self.bytes += chunk.len() - start;
        Ok(Slot { seqno, chunk: at, start: start as u32, end: chunk.len() as u32 })
    }

    fn insert(&mut self, key: Box<[u8]>, slot: Slot, hides_older: bool, holds: &Holds) {
        let key_length = key.len();
        match self.rows.entry(key) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(Slots { newest: slot, older: Vec::new() });
                self.bytes += key_length + ROW_OVERHEAD;
                self.slots += 1;
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let slots = occupied.get_mut();
                if hides_older && holds.all_see(slot.seqno) {
                    // No reader can ask for the replaced fragments any more. Their bytes stay until the memtable goes.
                    self.slots -= slots.older.len() as u64;
                    slots.older.clear();
                } else {
                    let capacity = slots.older.capacity();
                    slots.older.push(slots.newest);
                    self.slots += 1;
                    self.bytes += (slots.older.capacity() - capacity) * size_of::<Slot>();
                }
                slots.newest = slot;
            }
        }
    }

    fn fragment(&self, slot: Slot) -> Decoded<Fragment<'_>> {
        let (bytes, base_stamp, names) = match self.chunks.get(slot.chunk.0 as usize) {
            Some(Chunk::Copied(bytes)) => (&bytes[..], self.base_stamp, self.names.names()),
            Some(Chunk::Record(record)) => (&record.payload[..], record.base_stamp, &record.names),
            None => (&[][..], self.base_stamp, self.names.names()),
        };
        let bytes = bytes.get(slot.start as usize..slot.end as usize).unwrap_or_default();
        Fragment::decode(bytes, base_stamp, names)
    }

    /// Appends the row's fragments with a seqno above `after` that a snapshot at `seqno` sees, newest first.
    pub(crate) fn fragments<'a>(
        &'a self,
        slots: &Slots,
        (after, seqno): (u64, u64),
        out: &mut Vec<DatedFragment<'a>>,
    ) -> Decoded<()> {
        let sees = |slot: &Slot| slot.seqno <= seqno || slot.seqno >= PRIVATE;
        let older = slots.older.get(..slots.older.partition_point(sees)).unwrap_or_default();
        let newest = Some(&slots.newest).filter(|slot| sees(slot));
        for &slot in newest.into_iter().chain(older.iter().rev()).take_while(|slot| slot.seqno > after) {
            out.push(DatedFragment { seqno: slot.seqno, fragment: self.fragment(slot)? });
        }
        Ok(())
    }

    /// The trees that have rows here.
    fn trees(&self) -> Vec<TreeId> {
        let mut trees = Vec::new();
        let mut from = Bound::Unbounded;
        while let Some((key, _)) =
            self.range(from.as_ref().map(|id: &[u8; TREE_BYTES]| &id[..]), Bound::Unbounded).next()
        {
            let Some(TreeId(id)) = tree_of(key) else { break };
            trees.push(TreeId(id));
            let Some(next) = id.checked_add(1) else { break };
            from = Bound::Included(next.to_be_bytes());
        }
        trees
    }

    /// The fragments of a row.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Slots> {
        self.rows.get(key)
    }

    /// The rows of a range, ascending.
    pub(crate) fn range(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> std::collections::btree_map::Range<'_, Box<[u8]>, Slots> {
        self.rows.range::<[u8], _>((lower, upper))
    }
}
