//! The memtable: the newest rows, sorted, in memory; everything in it is also in the log.

use super::row::Dated;
use super::snapshots::Snapshots;
use super::{TREE_BYTES, TreeId, tree_of};
use crate::format::fragment::{self, Fragment};
use crate::format::names::{NameBuilder, Names};
use crate::format::wire::Decoded;
use crate::storage::LogNumber;
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;

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
    rows: RefCell<Rows>,
}

/// What a memtable holds.
#[derive(Debug)]
pub(super) struct Rows {
    rows: BTreeMap<Box<[u8]>, Slots>,
    names: NameBuilder,
    chunks: Vec<Vec<u8>>,
    base_stamp: i64,
    bytes: usize,
    slots: u64,
}

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
    chunk: u32,
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
        Self { first_log, rows: RefCell::new(rows) }
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
        snapshots: &Snapshots,
    ) -> Decoded<()> {
        self.rows.borrow_mut().insert(key, seqno, fragment, adopted, snapshots)
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

impl Rows {
    fn insert(
        &mut self,
        key: Box<[u8]>,
        seqno: u64,
        fragment: Fragment<'_>,
        adopted: bool,
        snapshots: &Snapshots,
    ) -> Decoded<()> {
        let head = fragment.head();
        // What is copied is about as long as what it is copied from. A full chunk must not grow: it would be copied to twice its size.
        let room = fragment.left() + SLACK;
        if self.chunks.last().is_none_or(|chunk| chunk.len() + room > CHUNK) {
            // The first one grows as it is filled: what a transaction writes is often little.
            let room = if self.chunks.is_empty() { room.next_power_of_two() } else { room.max(CHUNK) };
            self.chunks.push(Vec::with_capacity(room));
        }
        let at = self.chunks.len() - 1;
        let Some(chunk) = self.chunks.last_mut() else { return Ok(()) };
        let start = chunk.len();
        if adopted {
            fragment::copy_cells(&fragment, self.base_stamp, &mut self.names, chunk);
        } else if let Err(damage) = fragment::copy(fragment, self.base_stamp, &mut self.names, chunk) {
            chunk.truncate(start);
            return Err(damage);
        }
        let slot = Slot { seqno, chunk: at as u32, start: start as u32, end: chunk.len() as u32 };
        self.bytes += chunk.len() - start;
        let key_length = key.len();
        match self.rows.entry(key) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(Slots { newest: slot, older: Vec::new() });
                self.bytes += key_length + ROW_OVERHEAD;
                self.slots += 1;
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let slots = occupied.get_mut();
                if head.hides_older && snapshots.all_see(seqno) {
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
        Ok(())
    }

    fn fragment(&self, slot: Slot) -> Decoded<Fragment<'_>> {
        let chunk = self.chunks.get(slot.chunk as usize);
        let bytes = chunk.and_then(|chunk| chunk.get(slot.start as usize..slot.end as usize)).unwrap_or_default();
        Fragment::decode(bytes, self.base_stamp, self.names.names())
    }

    /// Appends the row's fragments that a snapshot at `seqno` sees and that were written after `after`, newest first.
    pub(super) fn fragments<'a>(
        &'a self,
        slots: &Slots,
        (after, seqno): (u64, u64),
        out: &mut Vec<Dated<'a>>,
    ) -> Decoded<()> {
        let sees = |slot: &Slot| slot.seqno <= seqno || slot.seqno >= PRIVATE;
        let older = slots.older.get(..slots.older.partition_point(sees)).unwrap_or_default();
        let newest = Some(&slots.newest).filter(|slot| sees(slot));
        for &slot in newest.into_iter().chain(older.iter().rev()).take_while(|slot| slot.seqno > after) {
            out.push(Dated { seqno: slot.seqno, fragment: self.fragment(slot)? });
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
