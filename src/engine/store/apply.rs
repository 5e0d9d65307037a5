//! Puts stored writes into the memtable, and stored versions into the view: of this engine's commits, and of records that it
//! finds in the storage.

use super::Store;
use super::pending::{Group, PendingEdit};
use super::raw_record::RawRecord;
use crate::engine::memory::memtable::Record;
use crate::engine::rows::keys::full_key;
use crate::engine::versions::manifest::Manifests;
use crate::engine::versions::part::Segment;
use crate::engine::versions::version::Version;
use crate::error::{Error, Result};
use crate::format::fragment::Fragment;
use crate::format::record::Place;
use crate::storage::LogNumber;
use std::rc::Rc;

/// From this size on a log record is not copied at replay: the memtable takes it over.
const TAKEN_BYTES: usize = 16 << 10;

/// A commit that the storage has taken, or is about to.
pub(crate) struct StoredCommit<'c> {
    /// The number of its log record, and the bytes of that.
    pub(crate) number: LogNumber,
    pub(crate) logged: u64,
    /// The new version and its manifests, if the version changes.
    pub(crate) version: Option<(Manifests, Version)>,
    /// Segments that the edits add. The version may lack some: their trees may be gone meanwhile, or dropped by this very
    /// commit.
    pub(crate) added: Vec<Rc<Segment>>,
    pub(crate) group: Option<&'c Rc<Group>>,
    pub(crate) edits: &'c [PendingEdit],
}

impl Store {
    /// Makes a stored commit visible, and wakes those who wait for its changes.
    pub(crate) fn take_over(&self, commit: StoredCommit<'_>) -> Result<()> {
        let StoredCommit { number, logged, version, added, group, edits } = commit;
        let (bytes, writes) = group.map_or((0, 0), |group| (group.batch().len() as u64, group.batch().count()));
        self.add_record(number, logged, bytes, writes);
        if let Some((manifests, version)) = version {
            self.adopt(manifests, version, added);
        }
        if let Some(group) = group {
            self.apply(group)?;
        }
        self.freeze_if_full();
        if let Some(loaded) = edits.iter().filter_map(|edit| edit.edit.loaded).max() {
            self.view.borrow_mut().show(loaded);
            self.watches.forget();
        }
        if !self.arrivals.is_empty() {
            let of_group = |tree| group.is_some_and(|group| group.has(tree));
            let loaded = |tree| {
                let loads = edits.iter().filter(|edit| edit.edit.loaded.is_some());
                loads.flat_map(|edit| &edit.edit.add).any(|(other, ..)| *other == tree)
            };
            self.arrivals.tell(|tree| of_group(tree) || loaded(tree));
        }
        Ok(())
    }

    /// Puts the writes of a stored group into the memtable.
    fn apply(&self, group: &Rc<Group>) -> Result<()> {
        let (mut pending, mut view) = (self.line.pending.borrow_mut(), self.view.borrow_mut());
        let batch = group.batch();
        let mut writes = batch.writes();
        let broken = |_| Error::internal("a pending write cannot be read");
        let adopted = view.memtable.adopt(batch.names());
        let mut full = Vec::new();
        while let Some(write) = writes.next_write().map_err(broken)? {
            full.clear();
            full.extend_from_slice(&write.tree.0.to_be_bytes());
            full.extend_from_slice(write.key);
            self.traffic.count(&full);
            self.watches.note(write.seqno, &full);
            let key = pending.settle(group, &full).unwrap_or_else(|| full.clone().into());
            let fragment = Fragment::decode(write.fragment, batch.base_stamp(), batch.names()).map_err(broken)?;
            let slot = view.memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?;
            if let Some(place) = write.note.record
                && !view.dropped_trees.contains(place.tree)
            {
                view.memtable.record_later(place, write.key, slot);
            }
        }
        view.show(writes.next_seqno() - 1);
        pending.forget_group(group);
        self.runtime.counters.commits.add(1);
        self.runtime.counters.writes.add(batch.count());
        Ok(())
    }

    /// Adopts a log record found in the storage: its number is used, and its writes enter the memtable.
    pub(crate) fn replay(&self, logged: &RawRecord) -> Result<()> {
        let batch = logged.decode()?.batch;
        let writes = batch.as_ref().map_or(0, |batch| batch.writes.left());
        self.add_record(logged.number, logged.stored, logged.payload.len() as u64, writes);
        let Some(mut batch) = batch else { return Ok(()) };
        self.watches.forget();
        self.line.raise_stamp(batch.last_stamp);
        let broken = |damage| Error::corrupt(Place::Log(logged.number), damage);
        let view = self.view.borrow();
        let memtable = &view.memtable;
        let taken = (logged.payload.len() >= TAKEN_BYTES).then(|| {
            let (payload, names) = (logged.payload.clone(), batch.names.clone());
            memtable.take(Record { payload, base_stamp: batch.base_stamp, names })
        });
        // The record's checksum vouches for its cells.
        let adopted = taken.is_none() && memtable.adopt(&batch.names);
        while let Some(write) = batch.writes.next_write().map_err(broken)? {
            let fragment = Fragment::decode(write.fragment, batch.base_stamp, &batch.names).map_err(broken)?;
            let slot = if let Some(chunk) = taken {
                memtable.insert_taken(&write, fragment.head(), chunk, &self.holds)
            } else {
                let key = full_key(write.tree, write.key);
                memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?
            };
            if let Some(place) = write.note.record {
                memtable.record_later(place, write.key, slot);
            }
        }
        drop(view);
        let last = batch.writes.next_seqno().saturating_sub(1);
        self.view.borrow_mut().show(last);
        self.line.pending.borrow_mut().skip_to(last);
        self.freeze_if_full();
        Ok(())
    }

    /// Counts a stored log record: its bytes, compressed and raw, and its writes.
    pub(crate) fn add_record(&self, number: LogNumber, stored: u64, bytes: u64, writes: u64) {
        self.line.skip_log_to(LogNumber(number.0 + 1));
        self.view.borrow_mut().add_record(number, self.runtime.storage.has_log_in_files(), stored, bytes, writes);
    }

    /// Makes a stored version the current one. `added` are the segments of its edits.
    pub(crate) fn adopt(&self, manifests: Manifests, version: Version, added: Vec<Rc<Segment>>) {
        self.view.borrow_mut().adopt(manifests, version, added);
        self.must_search.set(true);
        self.images.clear();
    }
}
