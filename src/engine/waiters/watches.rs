//! What has changed since a watcher last asked.
//!
//! The keys of the last writes are kept while somebody watches. So a watcher that asks again, with the place of its last
//! answer, misses nothing between two calls, and the engine keeps no state for it. A place that is not known any more
//! (after a hand-over, say) gets the answer that anything may have changed.

use crate::engine::base::latch::Latch;
use crate::engine::rows::keys::{KeyRange, TREE_BYTES};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The most bytes of keys that are kept.
const MOST_BYTES: usize = 256 << 10;
/// The bytes of a kept key beside its own.
const KEY_COST: usize = 64;
/// A watcher that missed more keys than this reads its whole range again.
const MOST_KEYS: usize = 1000;

/// A place in the order of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePlace {
    /// The record of changes that knows it. It ends with the engine, at the latest.
    pub record: u32,
    /// The newest change before it.
    pub seqno: u64,
}

/// The answer to a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedKeys {
    /// Where to go on.
    pub place: ChangePlace,
    /// The changed keys, in the order of their changes, some more than once. None: any key may have changed.
    pub keys: Option<Vec<Bytes>>,
}

/// Those that watch, and the last changes.
#[derive(Debug, Default)]
pub(crate) struct Watches(RefCell<Option<Record>>);

/// The last changes.
#[derive(Debug)]
struct Record {
    id: u32,
    /// Keys behind their trees, with the seqnos of their changes.
    changed: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// All changes after this seqno are kept.
    after: u64,
    waiting: Vec<Waiting>,
}

/// One who waits: the range, and a latch that gets the seqno of its next change.
type Waiting = (KeyRange, Rc<Latch<u64>>);

impl Watches {
    /// What has changed in a range since `place`, now that writes up to `seqno` are visible. If nobody has watched before,
    /// changes are kept from now on, under the number that `id` draws.
    pub(crate) fn look(
        &self,
        place: Option<ChangePlace>,
        range: &KeyRange,
        seqno: u64,
        id: impl FnOnce() -> u32,
    ) -> ChangedKeys {
        let mut record = self.0.borrow_mut();
        let record = record.get_or_insert_with(|| Record {
            id: id(),
            changed: VecDeque::new(),
            bytes: 0,
            after: seqno,
            waiting: Vec::new(),
        });
        let known = place.filter(|place| place.record == record.id);
        let keys = known.and_then(|place| record.since(place.seqno, range));
        ChangedKeys { place: ChangePlace { record: record.id, seqno }, keys }
    }

    /// The latch that gets the seqno of the next change of a range.
    pub(crate) fn latch(&self, range: &KeyRange) -> Rc<Latch<u64>> {
        let latch = Rc::<Latch<u64>>::default();
        if let Some(record) = &mut *self.0.borrow_mut() {
            record.waiting.push((range.clone(), Rc::clone(&latch)));
        }
        latch
    }

    /// Notes the change of a key, which is behind its tree.
    pub(crate) fn note(&self, seqno: u64, key: &[u8]) {
        let mut record = self.0.borrow_mut();
        if let Some(known) = &mut *record
            && !known.note(seqno, key)
        {
            *record = None;
        }
    }

    /// Forgets all: more has changed than keys can tell.
    pub(crate) fn forget(&self) {
        let record = self.0.take();
        record.into_iter().flat_map(|record| record.waiting).for_each(|(_, latch)| latch.set(1));
    }
}

impl Record {
    /// Returns whether somebody still watches.
    fn note(&mut self, seqno: u64, key: &[u8]) -> bool {
        // A watcher that ended has dropped its share.
        let woken = self.waiting.extract_if(.., |(range, latch)| {
            let is_here = range.contains(key);
            if is_here {
                latch.set(seqno);
            }
            is_here || Rc::strong_count(latch) == 1
        });
        woken.for_each(drop);
        self.changed.push_back((seqno, Bytes::copy_from_slice(key)));
        self.bytes += KEY_COST + key.len();
        if self.bytes <= MOST_BYTES {
            return true;
        }
        while self.bytes > MOST_BYTES / 2
            && let Some((seqno, key)) = self.changed.pop_front()
        {
            self.bytes -= KEY_COST + key.len();
            self.after = seqno;
        }
        !self.waiting.is_empty()
    }

    /// The changed keys of a range since a seqno, without their tree. None if it is too long ago, or if they are too many.
    fn since(&self, seqno: u64, range: &KeyRange) -> Option<Vec<Bytes>> {
        if seqno < self.after {
            return None;
        }
        let newer = self.changed.iter().rev().take_while(|(at, _)| *at > seqno);
        let here = newer.filter(|(_, key)| range.contains(key));
        let mut keys: Vec<Bytes> = here.take(MOST_KEYS + 1).map(|(_, key)| key.slice(TREE_BYTES..)).collect();
        keys.reverse();
        (keys.len() <= MOST_KEYS).then_some(keys)
    }
}
