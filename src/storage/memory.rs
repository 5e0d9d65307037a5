//! A storage in memory: for tests, for `storage: "memory"`, and the reference of what a storage does.
//!
//! A [`MemoryStorage`] is a handle. Its clones are further handles to the same records, each with its own open or
//! closed state, as several connections to one database are: a test 'reopens' a store by cloning a handle.

use super::{BlockId, Commit, LogNumber, ManifestId, SegmentId, Storage, check_stage, closed, fenced};
use crate::error::{Code, Error, Result};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A handle to records in memory.
pub struct MemoryStorage {
    records: Rc<RefCell<Records>>,
    closed: Cell<bool>,
}

/// The records of one store.
#[derive(Clone, Default)]
struct Records {
    log: BTreeMap<LogNumber, Bytes>,
    blocks: BTreeMap<BlockId, Bytes>,
    manifests: BTreeMap<ManifestId, Bytes>,
    bytes: usize,
    quota: Option<usize>,
}

impl MemoryStorage {
    /// A new, empty store without a quota.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A new, empty store that refuses to hold more than `quota` bytes.
    #[must_use]
    pub fn with_quota(quota: usize) -> Self {
        let storage = Self::new();
        storage.set_quota(Some(quota));
        storage
    }

    /// Sets or lifts the quota. Records that are already there stay, as when a disk fills up from elsewhere.
    pub fn set_quota(&self, quota: Option<usize>) {
        self.records.borrow_mut().quota = quota;
    }

    /// The bytes of all records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records.borrow().bytes
    }

    /// A store of its own with the same records: what a crash at this moment leaves.
    #[must_use]
    pub fn image(&self) -> Self {
        let records = self.records.borrow().clone();
        Self { records: Rc::new(RefCell::new(records)), closed: Cell::new(false) }
    }

    fn open_records(&self) -> Result<&RefCell<Records>> {
        if self.closed.get() { Err(closed()) } else { Ok(&self.records) }
    }

    /// Makes a change on a copy and takes it over only if all of it worked and fits: a failed change leaves no trace.
    fn change(&self, make: impl FnOnce(&mut Draft) -> Result<()>) -> Result<()> {
        let mut records = self.open_records()?.borrow_mut();
        let mut draft = Draft::default();
        make(&mut draft)?;
        draft.apply(&mut records)
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self { records: Rc::default(), closed: Cell::new(false) }
    }
}

impl Clone for MemoryStorage {
    /// Another handle to the same records; it is open, whether this one is or not.
    fn clone(&self) -> Self {
        Self { records: Rc::clone(&self.records), closed: Cell::new(false) }
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self.records.borrow();
        f.debug_struct("MemoryStorage")
            .field("log", &records.log.len())
            .field("blocks", &records.blocks.len())
            .field("manifests", &records.manifests.len())
            .field("bytes", &records.bytes)
            .field("closed", &self.closed.get())
            .finish()
    }
}

/// What one call wants to change; checked as a whole, then applied as a whole.
#[derive(Default)]
struct Draft {
    drop_segments: Vec<SegmentId>,
    trim_log: Vec<LogNumber>,
    blocks: BTreeMap<BlockId, Bytes>,
    log: BTreeMap<LogNumber, Bytes>,
    manifest: Option<(ManifestId, Bytes)>,
}

impl Draft {
    fn apply(self, records: &mut Records) -> Result<()> {
        if let Some(taken) = self.log.keys().find(|number| records.log.contains_key(number)) {
            return Err(fenced(format_args!("log record {} is there already", taken.0)));
        }
        if let Some((id, _)) = &self.manifest
            && let Some((newest, _)) = records.manifests.last_key_value()
            && newest >= id
        {
            return Err(fenced(format_args!("manifest {} is there already (writing {})", newest.0, id.0)));
        }

        let added = self.log.values().chain(self.blocks.values()).chain(self.manifest.iter().map(|(_, bytes)| bytes));
        let added: usize = added.map(Bytes::len).sum();
        // As browsers do, count what is written before what the same transaction frees: when full, only pure
        // deletions work.
        if let Some(quota) = records.quota
            && added > 0
            && records.bytes + added > quota
        {
            let why = format!("{added} more bytes do not fit: {} of {quota} are in use", records.bytes);
            return Err(Error::new(Code::QuotaExceeded, why));
        }

        let oldest_kept = self.manifest.as_ref().map(|(id, _)| ManifestId(id.0.saturating_sub(1)));
        let dropped = self.drop_segments.iter().flat_map(|segment| records.segment(*segment).map(|(_, bytes)| bytes));
        let trimmed = self.trim_log.iter().filter_map(|number| records.log.get(number));
        let replaced = self.blocks.keys().filter_map(|id| records.blocks.get(id));
        let outdated = oldest_kept.into_iter().flat_map(|id| records.manifests.range(..id).map(|(_, bytes)| bytes));
        let freed = dropped.chain(trimmed).chain(replaced).chain(outdated).map(Bytes::len).sum::<usize>();
        records.bytes = records.bytes + added - freed;

        for segment in self.drop_segments {
            let blocks: Vec<BlockId> = records.segment(segment).map(|(id, _)| *id).collect();
            blocks.iter().for_each(|id| drop(records.blocks.remove(id)));
        }
        self.trim_log.iter().for_each(|number| drop(records.log.remove(number)));
        if let Some(oldest) = oldest_kept {
            records.manifests = records.manifests.split_off(&oldest);
        }
        records.blocks.extend(self.blocks);
        records.log.extend(self.log);
        records.manifests.extend(self.manifest);
        Ok(())
    }
}

impl Records {
    fn segment(&self, segment: SegmentId) -> impl Iterator<Item = (&BlockId, &Bytes)> {
        self.blocks.range(BlockId { segment, block: 0 }..=BlockId { segment, block: u32::MAX })
    }
}

impl Storage for MemoryStorage {
    async fn load_manifests(&self) -> Result<Vec<(ManifestId, Bytes)>> {
        let records = self.open_records()?.borrow();
        Ok(records.manifests.iter().rev().take(2).map(|(id, bytes)| (*id, bytes.clone())).collect())
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        let records = self.open_records()?.borrow();
        Ok(records.log.range(from..).map(|(number, bytes)| (*number, bytes.clone())).collect())
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        let records = self.open_records()?.borrow();
        Ok(blocks.iter().map(|id| records.blocks.get(id).cloned()).collect())
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>) -> Result<()> {
        check_stage(&blocks)?;
        self.change(|draft| {
            draft.blocks.extend(blocks.into_iter().map(|(block, bytes)| (BlockId { segment, block }, bytes)));
            Ok(())
        })
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        self.change(|draft| {
            for (number, bytes) in commit.log {
                if draft.log.insert(number, bytes).is_some() {
                    return Err(fenced(format_args!("log record {} stands twice in one commit", number.0)));
                }
            }
            draft.manifest = commit.manifest;
            draft.drop_segments = unique(commit.drop_segments);
            draft.trim_log = unique(commit.trim_log);
            Ok(())
        })
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        let records = self.open_records()?.borrow();
        let mut segments: Vec<SegmentId> = records.blocks.keys().map(|id| id.segment).collect();
        segments.dedup();
        Ok(segments)
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        self.change(|draft| {
            draft.drop_segments = unique(segments.to_vec());
            Ok(())
        })
    }

    async fn close(&self) {
        self.closed.set(true);
    }
}

fn unique<T: Ord>(mut ids: Vec<T>) -> Vec<T> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn now<T>(future: impl Future<Output = T>) -> T {
        future.now_or_never().expect("memory never waits")
    }

    fn append(number: u64, bytes: usize) -> Commit {
        Commit { log: vec![(LogNumber(number), vec![7; bytes].into())], ..Commit::default() }
    }

    /// Targets, 'quota reached in the middle of a write': nothing half-written, deletions go on, writing resumes.
    #[test]
    fn a_full_store_refuses_writes_by_name_and_takes_deletions() {
        let storage = MemoryStorage::with_quota(100);
        now(storage.commit(append(1, 60))).unwrap();
        let full = now(storage.commit(append(2, 60))).unwrap_err();
        assert_eq!(full.code(), Code::QuotaExceeded);
        assert_eq!(storage.bytes(), 60, "a refused commit must not count");
        now(storage.commit(Commit { trim_log: vec![LogNumber(1)], ..Commit::default() })).unwrap();
        assert_eq!(storage.bytes(), 0);
        now(storage.commit(append(2, 60))).unwrap();
    }

    #[test]
    fn deletions_go_on_when_the_store_is_already_over_its_quota() {
        let storage = MemoryStorage::new();
        now(storage.commit(append(1, 60))).unwrap();
        now(storage.commit(append(2, 60))).unwrap();
        storage.set_quota(Some(10));
        now(storage.commit(Commit { trim_log: vec![LogNumber(1)], ..Commit::default() })).unwrap();
        assert_eq!(storage.bytes(), 60);
    }

    #[test]
    fn an_image_lives_apart_from_its_origin() {
        let storage = MemoryStorage::new();
        now(storage.commit(append(1, 1))).unwrap();
        let image = storage.image();
        now(storage.commit(append(2, 1))).unwrap();
        assert_eq!(now(image.read_log(LogNumber(1))).unwrap().len(), 1);
        assert_eq!(now(storage.read_log(LogNumber(1))).unwrap().len(), 2);
    }

    #[test]
    fn bytes_count_every_kind_of_record_once() {
        let storage = MemoryStorage::new();
        now(storage.stage(SegmentId(1), vec![(0, vec![0; 10].into())])).unwrap();
        now(storage.stage(SegmentId(1), vec![(0, vec![0; 4].into())])).unwrap();
        assert_eq!(storage.bytes(), 4, "a replaced record counts no more");
        for id in 1..=5 {
            let manifest = Some((ManifestId(id), Bytes::from_static(b"12345")));
            now(storage.commit(Commit { manifest, ..Commit::default() })).unwrap();
        }
        assert_eq!(storage.bytes(), 14, "two manifests are kept");
        now(storage.delete_segments(&[SegmentId(1), SegmentId(1)])).unwrap();
        assert_eq!(storage.bytes(), 10);
    }
}
