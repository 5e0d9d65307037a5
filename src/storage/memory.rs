//! A storage in memory: for tests, for `storage: "memory"`, and as the reference implementation.
//!
//! A [`MemoryStorage`] is a handle. Its clones are further handles to the same records, each with its own open or closed
//! state, like several connections to one database. A test 'reopens' a store by cloning a handle.

use super::{
    BlockId, Commit, Durability, Fence, FencedStorage, Loaded, LogNumber, LogStart, ManifestId, SegmentId, Storage,
    check_stage, closed, fenced,
};
use crate::error::{Code, Error, Result};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

/// A handle to records in memory.
/// All that it does is a gate of [`Module::Occasional`](crate::modules::Module::Occasional).
pub struct MemoryStorage {
    records: Rc<RefCell<Records>>,
    closed: Cell<bool>,
}

/// The records of one store.
#[derive(Clone, Default)]
struct Records {
    /// Ascending by key. A list, because the standard library's map would add 9 KB of code to the package. An insertion
    /// moves little beside the record itself.
    records: Vec<(Key, Bytes)>,
    bytes: usize,
    quota: Option<usize>,
    fence: Fence,
}

/// The name of a record. Kinds are kept apart; records of a kind are in the order of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Block(BlockId),
    Log(LogNumber),
    Manifest(ManifestId),
}

impl Key {
    const FIRST_MANIFEST: Self = Self::Manifest(ManifestId(0));

    fn segment(segment: SegmentId) -> RangeInclusive<Self> {
        Self::Block(BlockId { segment, block: 0 })..=Self::Block(BlockId { segment, block: u32::MAX })
    }
}

impl Records {
    fn place(&self, key: Key) -> Result<usize, usize> {
        self.records.binary_search_by(|(other, _)| other.cmp(&key))
    }

    fn get(&self, key: Key) -> Option<&Bytes> {
        self.place(key).ok().map(|place| &self.records[place].1)
    }

    /// The places of the records of a range.
    fn places(&self, keys: &RangeInclusive<Key>) -> Range<usize> {
        let start = self.place(*keys.start()).unwrap_or_else(|behind| behind);
        let end = self.place(*keys.end()).map_or_else(|behind| behind, |last| last + 1);
        start..end.max(start)
    }

    fn range(&self, keys: &RangeInclusive<Key>) -> &[(Key, Bytes)] {
        &self.records[self.places(keys)]
    }

    fn put(&mut self, key: Key, bytes: Bytes) {
        self.bytes += bytes.len();
        match self.place(key) {
            Ok(place) => {
                self.bytes -= self.records[place].1.len();
                self.records[place].1 = bytes;
            }
            Err(place) => self.records.insert(place, (key, bytes)),
        }
    }

    fn delete(&mut self, keys: &RangeInclusive<Key>) {
        let deleted = self.places(keys);
        self.bytes -= self.records.drain(deleted).map(|(_, bytes)| bytes.len()).sum::<usize>();
    }
}

impl MemoryStorage {
    /// A new, empty store without a quota.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A new, empty store that holds at most `quota` bytes.
    #[must_use]
    pub fn with_quota(quota: usize) -> Self {
        let storage = Self::new();
        storage.set_quota(Some(quota));
        storage
    }

    /// Sets or lifts the quota. Existing records stay, as when other data fills a disk.
    pub fn set_quota(&self, quota: Option<usize>) {
        self.records.borrow_mut().quota = quota;
    }

    /// The bytes of all records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records.borrow().bytes
    }

    /// A separate store with the same records, as a crash at this moment would leave them.
    #[must_use]
    pub fn image(&self) -> Self {
        let records = self.records.borrow().clone();
        Self { records: Rc::new(RefCell::new(records)), closed: Cell::new(false) }
    }

    fn open_records(&self) -> Result<&RefCell<Records>> {
        if self.closed.get() { Err(closed()) } else { Ok(&self.records) }
    }

    fn change(&self, change: Change) -> Result<()> {
        change.apply(&mut self.open_records()?.borrow_mut())
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self { records: Rc::default(), closed: Cell::new(false) }
    }
}

impl Clone for MemoryStorage {
    /// Another handle to the same records. It is open, even if this one is closed.
    fn clone(&self) -> Self {
        Self { records: Rc::clone(&self.records), closed: Cell::new(false) }
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self.records.borrow();
        f.debug_struct("MemoryStorage")
            .field("records", &records.records.len())
            .field("bytes", &records.bytes)
            .field("closed", &self.closed.get())
            .finish()
    }
}

/// The changes of one call. They are checked as a whole, then applied as a whole, so a failed change leaves no trace.
#[derive(Default)]
struct Change {
    put: Vec<(Key, Bytes)>,
    /// Fails if a record is there already.
    add: Vec<(Key, Bytes)>,
    delete: Vec<RangeInclusive<Key>>,
}

impl Change {
    fn of(commit: Commit) -> Self {
        let mut delete: Vec<_> = commit.drop_segments.iter().map(|segment| Key::segment(*segment)).collect();
        delete.extend(commit.trim_log.iter().map(|number| Key::Log(*number)..=Key::Log(*number)));
        let mut add: Vec<_> = commit.log.into_iter().map(|(number, bytes)| (Key::Log(number), bytes)).collect();
        add.extend(commit.manifest.map(|(id, bytes)| (Key::Manifest(id), bytes)));
        if let Some(last) = commit.first_manifest.0.checked_sub(1) {
            delete.push(Key::FIRST_MANIFEST..=Key::Manifest(ManifestId(last)));
        }
        Self { add, delete, ..Self::default() }
    }

    fn apply(self, records: &mut Records) -> Result<()> {
        for (at, (key, _)) in self.add.iter().enumerate() {
            let taken = records.get(*key).is_some() || self.add[..at].iter().any(|(other, _)| other == key);
            let newest = records.records.last().map(|(newest, _)| newest);
            if taken || (matches!(key, Key::Manifest(_)) && newest > Some(key)) {
                return Err(fenced("its record is there already, or a newer one"));
            }
        }
        let added: usize = self.add.iter().chain(&self.put).map(|(_, bytes)| bytes.len()).sum();
        // As browsers do, count the writes before the deletions of the same transaction: on a full store, only pure
        // deletions work.
        if let Some(quota) = records.quota
            && added > 0
            && records.bytes + added > quota
        {
            let why = format!("{added} more bytes do not fit: {} of {quota} are in use", records.bytes);
            return Err(Error::new(Code::QuotaExceeded, why));
        }
        for keys in &self.delete {
            records.delete(keys);
        }
        for (key, bytes) in self.put.into_iter().chain(self.add) {
            records.put(key, bytes);
        }
        Ok(())
    }
}

impl Storage for MemoryStorage {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        let manifests: Vec<_> = {
            let records = self.open_records()?.borrow();
            let manifest = |(key, bytes): &(Key, Bytes)| match key {
                Key::Manifest(id) => Some((*id, bytes.clone())),
                _ => None,
            };
            records.records.iter().rev().map_while(manifest).collect()
        };
        let log = self.read_log(from(&manifests)?).await?;
        Ok(Loaded { manifests, log })
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        let records = self.open_records()?.borrow();
        let log = |(key, bytes): &(Key, Bytes)| match key {
            Key::Log(number) => Some((*number, bytes.clone())),
            _ => None,
        };
        Ok(records.range(&(Key::Log(from)..=Key::FIRST_MANIFEST)).iter().filter_map(log).collect())
    }

    fn newest_log(&self) -> Option<LogNumber> {
        let records = self.records.borrow();
        let behind = records.place(Key::FIRST_MANIFEST).unwrap_or_else(|place| place);
        match records.records.get(behind.checked_sub(1)?)? {
            (Key::Log(number), _) => Some(*number),
            _ => None,
        }
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        let records = self.open_records()?.borrow();
        Ok(blocks.iter().map(|id| records.get(Key::Block(*id)).cloned()).collect())
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, _: Durability) -> Result<()> {
        check_stage(&blocks)?;
        let put = blocks.into_iter().map(|(block, bytes)| (Key::Block(BlockId { segment, block }), bytes)).collect();
        self.change(Change { put, ..Change::default() })
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        self.change(Change::of(commit))
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        let records = self.open_records()?.borrow();
        let segment = |(key, _): &(Key, Bytes)| match key {
            Key::Block(id) => Some(id.segment),
            _ => None,
        };
        let mut segments: Vec<SegmentId> = records.records.iter().map_while(segment).collect();
        segments.dedup();
        Ok(segments)
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        let delete = segments.iter().map(|segment| Key::segment(*segment)).collect();
        self.change(Change { delete, ..Change::default() })
    }

    async fn close(&self) {
        self.closed.set(true);
    }
}

crate::boxed_storage!(MemoryStorage);

impl FencedStorage for MemoryStorage {
    async fn fence(&self) -> Result<Fence> {
        Ok(self.open_records()?.borrow().fence.clone())
    }

    async fn commit_behind(&self, commit: Commit, number: u64, changed: Option<&Fence>) -> Result<()> {
        let mut records = self.open_records()?.borrow_mut();
        records.fence.check(number)?;
        Change::of(commit).apply(&mut records)?;
        if let Some(changed) = changed {
            records.fence = changed.clone();
        }
        Ok(())
    }
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

    /// A quota reached in the middle of a write: nothing is half-written, deletions go on, writing resumes.
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
    fn a_raised_fence_keeps_others_out() {
        let storage = MemoryStorage::new();
        now(crate::storage::contract::a_raised_fence_keeps_others_out(&storage, &storage.clone())).unwrap();
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
        now(storage.stage(SegmentId(1), vec![(0, vec![0; 10].into())], Durability::Relaxed)).unwrap();
        now(storage.stage(SegmentId(1), vec![(0, vec![0; 4].into())], Durability::Relaxed)).unwrap();
        assert_eq!(storage.bytes(), 4, "a replaced record counts no more");
        for id in 1..=5 {
            let manifest = Some((ManifestId(id), Bytes::from_static(b"12345")));
            let first_manifest = ManifestId(id - 1);
            now(storage.commit(Commit { manifest, first_manifest, ..Commit::default() })).unwrap();
        }
        assert_eq!(storage.bytes(), 14, "the last two manifests are needed");
        now(storage.delete_segments(&[SegmentId(1), SegmentId(1)])).unwrap();
        assert_eq!(storage.bytes(), 10);
    }
}
