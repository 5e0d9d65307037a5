//! The memtable: the newest rows, sorted, in memory; everything in it is also in the log.

use super::holds::Holds;
use super::keys::{TREE_BYTES, full_key, tree_of};
use super::row::DatedFragment;
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::log::Write;
use crate::format::names::{NameBuilder, Names};
use crate::format::wire::Decoded;
use crate::model::TreeId;
use crate::storage::LogNumber;
use bytes::Bytes;
use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

/// Fragments are kept in chunks of this many bytes, so that growing never copies what is there.
const CHUNK: usize = 256 << 10;

/// What a fragment may take more here than where it was.
const SLACK: usize = 64;

/// Fragments with a seqno from here on are in nobody's log: who has them sees them at whatever instant it looks at.
pub(super) const PRIVATE: u64 = 1 << 63;

/// What a row costs beyond its bytes, about: nodes of the tree are a little more than half full, and the key is an
/// allocation of its own.
const ROW_OVERHEAD: usize = (size_of::<Box<[u8]>>() + size_of::<Slots>()) * 7 / 4 + 16;

/// A memtable. Frozen ones are read and flushed, never written.
#[derive(Debug)]
pub(super) struct Memtable {
    /// The first log record whose writes are in here.
    pub(super) first_log: LogNumber,
    /// About how long an opening would replay those records, ns.
    pub(super) replay_ns: Cell<u64>,
    rows: RefCell<Rows>,
}

/// What a memtable holds.
#[derive(Debug)]
pub(super) struct Rows {
    rows: BTreeMap<Box<[u8]>, Slots>,
    names: NameBuilder,
    chunks: Vec<Chunk>,
    base_stamp: i64,
    bytes: usize,
    slots: u64,
}

/// Where fragments lie.
#[derive(Debug)]
enum Chunk {
    /// They were copied, and are relative to the memtable's stamp and names.
    Copied(Vec<u8>),
    /// They lie where they were read.
    Record(Box<Record>),
}

/// The payload of a log record, and what its fragments are relative to.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) payload: Bytes,
    pub(super) base_stamp: i64,
    pub(super) names: Names,
}

/// The place of a chunk among all.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkId(u32);

/// The fragments of one row.
#[derive(Debug)]
pub(super) struct Slots {
    newest: Slot,
    /// Ascending by seqno; all older than `newest`.
    older: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    seqno: u64,
    chunk: ChunkId,
    start: u32,
    end: u32,
}

impl Memtable {
    pub(super) fn new(first_log: LogNumber, base_stamp: i64) -> Self {
        let rows = Rows {
            rows: BTreeMap::new(),
            names: NameBuilder::default(),
            chunks: Vec::new(),
            base_stamp,
            bytes: 0,
            slots: 0,
        };
        Self { first_log, replay_ns: Cell::new(0), rows: RefCell::new(rows) }
    }

    /// What it holds, for one synchronous section.
    pub(super) fn rows(&self) -> Ref<'_, Rows> {
        self.rows.borrow()
    }

    /// Takes over the names of a batch; says whether its fragments can be copied as they are.
    pub(super) fn adopt(&self, names: &Names) -> bool {
        self.rows.borrow_mut().names.adopt(names)
    }

    /// Adds a fragment, which must be newer than all others of its row. `adopted` is what [`Self::adopt`] said of its
    /// names; without that the fragment is read and checked.
    pub(super) fn insert(
        &self,
        key: Box<[u8]>,
        seqno: u64,
        fragment: Fragment<'_>,
        adopted: bool,
        holds: &Holds,
    ) -> Decoded<()> {
        let mut rows = self.rows.borrow_mut();
        let hides_older = fragment.head().hides_older;
        let slot = rows.copy(seqno, fragment, adopted)?;
        rows.insert(key, slot, hides_older, holds);
        Ok(())
    }

    /// Takes over the payload of a log record, so that its fragments need not be copied.
    pub(super) fn take(&self, record: Record) -> ChunkId {
        let mut rows = self.rows.borrow_mut();
        rows.bytes += record.payload.len();
        rows.chunks.push(Chunk::Record(Box::new(record)));
        ChunkId(rows.chunks.len() as u32 - 1)
    }

    /// Adds the fragment of a write of the record `chunk`; `head` is what it says of the row. It must be newer than all others
    /// of its row.
    pub(super) fn insert_taken(&self, write: &Write<'_>, head: FragmentHead, chunk: ChunkId, holds: &Holds) {
        let (start, end) = (write.at as u32, (write.at + write.fragment.len()) as u32);
        let slot = Slot { seqno: write.seqno, chunk, start, end };
        self.rows.borrow_mut().insert(full_key(write.tree, write.key), slot, head.hides_older, holds);
    }

    /// The memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.rows.borrow();
        rows.bytes + rows.names.memory()
    }

    /// How many fragments it holds.
    pub(super) fn entries(&self) -> u64 {
        self.rows.borrow().slots
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.borrow().rows.is_empty()
    }
}

/// The rows from `first` to `last` that are not whole without what is older than these memtables.
pub(super) fn dependent(memtables: &[Rc<Memtable>], first: &[u8], last: &[u8]) -> Vec<Box<[u8]>> {
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
        // What is copied is about as long as what it is copied from. A full chunk must not grow: it would be copied
        // to twice its size.
        let room = fragment.left() + SLACK;
        if !matches!(self.chunks.last(), Some(Chunk::Copied(chunk)) if chunk.len() + room <= CHUNK) {
            // The first one grows as it is filled: what a transaction writes is often little.
            let room = if self.chunks.is_empty() { room.next_power_of_two() } else { room.max(CHUNK) };
            self.chunks.push(Chunk::Copied(Vec::with_capacity(room)));
        }
        let at = ChunkId(self.chunks.len() as u32 - 1);
        let Some(Chunk::Copied(chunk)) = self.chunks.last_mut() else { unreachable!("it was looked for") };
        let start = chunk.len();
        if adopted {
            fragment::copy_cells(&fragment, self.base_stamp, &mut self.names, chunk);
        } else if let Err(damage) = fragment::copy(fragment, self.base_stamp, &mut self.names, chunk) {
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
                    // Nobody can ask for what this replaces any more. Its bytes stay until the memtable goes.
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

    /// Appends the row's fragments that a snapshot at `seqno` sees and that were written after `after`, newest first.
    pub(super) fn fragments<'a>(
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
    pub(super) fn trees(&self) -> Vec<TreeId> {
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
    pub(super) fn get(&self, key: &[u8]) -> Option<&Slots> {
        self.rows.get(key)
    }

    /// The rows of a range, ascending.
    pub(super) fn range(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> std::collections::btree_map::Range<'_, Box<[u8]>, Slots> {
        self.rows.range::<[u8], _>((lower, upper))
    }
}
