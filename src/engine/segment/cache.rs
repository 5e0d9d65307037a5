//! Decompressed blocks and segment indexes in memory, within a budget.

use super::rebuild::Rebuild;
use super::second_cache::{Second, SecondaryCache};
use crate::collections::small_map::SmallMap;
use crate::engine::base::latch::Latch;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::format::block::Block;
use crate::format::block_columns::BlockColumns;
use crate::format::record::{self, Place};
use crate::format::segment::SegmentMeta;
use crate::format::wire::Damage;
use crate::modules::Module;
use crate::storage::{AnyStorage, BlockId};
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::unsync::{Cache, DefaultLifecycle};
use rustc_hash::FxBuildHasher;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

/// A decoded record of a segment.
#[derive(Clone, Debug)]
pub(crate) enum DecodedRecord {
    Block(Rc<Block>),
    /// Some rows of a block, only pinned: those with the keys that the read asked for. Nothing walks over them.
    Rows(Rc<Block>),
    /// A block as it is stored, only in the cache: one read has taken single rows out of it.
    Stored(Rc<Bytes>),
    Meta(Rc<SegmentMeta>),
    /// Columns of a block that filters read; nothing if it has none that they can read.
    Columns(Option<Rc<BlockColumns>>),
}

/// Among the records, a block's columns have its number and this bit. No segment has as many blocks.
const COLUMNS: u32 = 1 << 31;

/// A filter compares few columns. Those of earlier filters stay beside its own up to so many.
const MOST_COLUMNS: usize = 8;

/// How a reader uses the blocks that it loads.
#[derive(Clone, Copy)]
pub(crate) enum Usage<'k> {
    /// Once, all rows: they do not go into the cache.
    Once,
    /// All rows.
    All,
    /// The rows with these keys, which ascend. The pinned blocks may have no others.
    Rows(&'k [&'k [u8]]),
}

impl Usage<'_> {
    /// Whether the cache keeps the blocks, and is asked for them.
    fn keeps(self) -> bool {
        !matches!(self, Self::Once)
    }
}

/// A record that a read needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordId {
    Block(BlockId),
    Meta(BlockId),
}

impl RecordId {
    pub(crate) fn id(self) -> BlockId {
        match self {
            Self::Block(id) | Self::Meta(id) => id,
        }
    }
}

/// The error of a block that cannot be read.
pub(crate) fn damaged(id: BlockId, damage: &Damage) -> Error {
    Error::corrupt(Place::Block(id), damage)
}

/// Records that one read keeps alive, even if the cache evicts them.
pub(crate) type Pins = SmallMap<BlockId, DecodedRecord>;

#[derive(Clone, Debug)]
struct ByMemory;

impl Weighter<BlockId, DecodedRecord> for ByMemory {
    fn weight(&self, _: &BlockId, value: &DecodedRecord) -> u64 {
        let bytes = match value {
            DecodedRecord::Block(block) | DecodedRecord::Rows(block) => block.memory(),
            DecodedRecord::Stored(record) => record.len(),
            DecodedRecord::Meta(meta) => meta.memory(),
            DecodedRecord::Columns(columns) => columns.as_ref().map_or(0, |columns| columns.memory()),
        };
        bytes.max(1) as u64
    }
}

/// The approximate size in memory of a large decoded block.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;

/// About so many times its stored size a block takes in memory.
const DECODED: u64 = 4;

/// The cache makes room for records of this size at first, in bytes.
const ITEM_BYTES: usize = 32 << 10;

/// Flush and compaction borrow from the cache's budget in this many steps. They come and go often, and each resize to an
/// uneven size costs the cache some entries.
const STEPS: u64 = 8;

/// The most steps that one piece of work may borrow.
const MOST_STEPS: u64 = 3;

/// The cache.
pub(crate) struct BlockCache {
    env: Rc<dyn Env>,
    /// The budget while nothing is lent.
    bytes: u64,
    /// Steps of the budget that background work has borrowed.
    lent: Cell<u64>,
    cache: RefCell<Cache<BlockId, DecodedRecord, ByMemory, FxBuildHasher>>,
    /// The cache behind it, in a file.
    pub(crate) second: Second,
    /// Records that are being read into the cache. Each is read and decompressed once for all readers.
    loading: RefCell<SmallMap<BlockId, Rc<Latch<Option<DecodedRecord>>>>>,
    /// Damaged indexes that were rebuilt, and those of them that are not reported yet.
    damaged: RefCell<Vec<BlockId>>,
    untold: RefCell<Vec<(BlockId, Error)>>,
    hits: Cell<u64>,
    misses: Cell<u64>,
    /// About the size in memory of the blocks that were read last. Their segments may have been written with other sizes.
    block_bytes: Cell<u64>,
}

/// Opens a stored block for a reader. Says whether it is the whole block: a reader of single rows decodes only these.
fn open_block(id: BlockId, record: &Bytes, usage: Usage<'_>) -> Result<(DecodedRecord, bool)> {
    let keys = if let Usage::Rows(keys) = usage { Some(keys) } else { None };
    match Block::open(Place::Block(id), record, keys) {
        Ok((block, true)) => Ok((DecodedRecord::Block(Rc::new(block)), true)),
        Ok((rows, false)) => Ok((DecodedRecord::Rows(Rc::new(rows)), false)),
        Err(damage) => Err(damaged(id, &damage)),
    }
}

/// Reads a block of the second cache, for a reader who keeps blocks. A whole one also goes into the first.
/// A gate of [`Module::Files`].
#[inline(never)]
fn copy(first: &BlockCache, second: &dyn SecondaryCache, id: BlockId, usage: Usage<'_>) -> Option<DecodedRecord> {
    let keys = if let Usage::Rows(keys) = usage { Some(keys) } else { None };
    let (block, is_whole) = second.read(id, keys)?;
    if !is_whole {
        return Some(DecodedRecord::Rows(Rc::new(block)));
    }
    let record = DecodedRecord::Block(Rc::new(block));
    first.insert(id, record.clone());
    Some(record)
}

/// Gate of [`Module::Occasional`]: most pages never meet a damaged index.
#[inline(never)]
fn rebuilt<'a>(
    cache: &'a BlockCache,
    storage: &'a AnyStorage,
    id: BlockId,
    error: Error,
) -> Pin<Box<dyn Future<Output = Result<DecodedRecord>> + 'a>> {
    Box::pin(cache.rebuilt(storage, id, error))
}

/// Records that are being read into a cache. Dropping this wakes everybody who waits for them.
struct Announcement<'a> {
    cache: &'a BlockCache,
    ids: &'a [BlockId],
}

impl<'a> Announcement<'a> {
    fn new(cache: &'a BlockCache, ids: &'a [BlockId]) -> Self {
        for id in ids {
            cache.loading.borrow_mut().insert(*id, Rc::default());
        }
        Self { cache, ids }
    }
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        for id in self.ids {
            let latch = self.cache.loading.borrow_mut().remove(id);
            if let Some(latch) = latch {
                latch.set(None);
            }
        }
    }
}

impl BlockCache {
    /// A cache of at most this many bytes.
    pub(crate) fn new(bytes: usize, env: Rc<dyn Env>) -> Self {
        let items = (bytes / ITEM_BYTES).max(16);
        Self {
            env,
            bytes: bytes as u64,
            lent: Cell::new(0),
            cache: RefCell::new(Cache::with(items, bytes as u64, ByMemory, FxBuildHasher, DefaultLifecycle::default())),
            second: Second::default(),
            loading: RefCell::default(),
            damaged: RefCell::default(),
            untold: RefCell::default(),
            hits: Cell::new(0),
            misses: Cell::new(0),
            block_bytes: Cell::new(BLOCK_BYTES),
        }
    }

    /// Lends `bytes` of the budget to work beside the cache, until the returned loan is dropped. A small cache lends
    /// less.
    pub(crate) fn lend(&self, bytes: u64) -> Loan<'_> {
        let steps = bytes.div_ceil((self.bytes / STEPS).max(1)).min(MOST_STEPS);
        self.resize(self.lent.get() + steps);
        Loan { cache: self, steps }
    }

    fn resize(&self, lent: u64) {
        self.lent.set(lent);
        self.cache.borrow_mut().set_capacity(self.bytes / STEPS * STEPS.saturating_sub(lent).max(1));
    }

    /// The most blocks that one reader of rows may fetch and hold at once. Of most blocks it decodes only its rows.
    pub(crate) fn most_at_once(&self) -> usize {
        usize::try_from(self.bytes / 2 / self.block_bytes.get()).unwrap_or(usize::MAX).clamp(4, 128)
    }

    /// The most stored bytes of blocks that one reader may fetch ahead.
    pub(crate) fn most_ahead(&self) -> u64 {
        self.bytes / 4 / DECODED
    }

    /// Takes the size of a block that was read into account: a larger one at once, smaller ones by and by.
    fn note_size(&self, stored: usize) {
        let before = self.block_bytes.get();
        self.block_bytes.set((before - before / 8).max(stored as u64 * DECODED).max(1));
    }

    fn get(&self, id: BlockId, pins: &Pins) -> Option<DecodedRecord> {
        if let Some(pinned) = pins.get(&id) {
            return Some(pinned.clone());
        }
        let found = self.cache.borrow_mut().get(&id).cloned();
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.set(counter.get() + 1);
        found
    }

    /// The block, if it is in memory.
    pub(crate) fn block(&self, id: BlockId, pins: &Pins) -> Result<Rc<Block>, RecordId> {
        match self.get(id, pins) {
            Some(DecodedRecord::Block(block)) => Ok(block),
            _ => Err(RecordId::Block(id)),
        }
    }

    /// The block, if it is in memory, or the rows of it that this read asked for.
    pub(crate) fn rows(&self, id: BlockId, pins: &Pins) -> Result<Rc<Block>, RecordId> {
        match self.get(id, pins) {
            Some(DecodedRecord::Block(block) | DecodedRecord::Rows(block)) => Ok(block),
            _ => Err(RecordId::Block(id)),
        }
    }

    /// The segment's index, if it is in memory.
    pub(crate) fn meta(&self, id: BlockId, pins: &Pins) -> Result<Rc<SegmentMeta>, RecordId> {
        match self.get(id, pins) {
            Some(DecodedRecord::Meta(meta)) => Ok(meta),
            _ => Err(RecordId::Meta(id)),
        }
    }

    /// The block with columns of these names, or more of them. `None` if filters have to read its rows. They are kept as records
    /// are.
    pub(crate) fn columns(&self, id: BlockId, block: &Block, names: &[&str]) -> Option<Rc<BlockColumns>> {
        let id = BlockId { block: id.block | COLUMNS, ..id };
        let known = match self.cache.borrow_mut().get(&id) {
            Some(DecodedRecord::Columns(None)) => return None,
            Some(DecodedRecord::Columns(columns)) => columns.clone(),
            _ => None,
        };
        let before: Vec<&str> = known.iter().flat_map(|known| known.names()).collect();
        if known.is_some() && names.iter().all(|name| before.contains(name)) {
            return known;
        }
        let others = before.iter().filter(|name| !names.contains(name));
        let all = names.iter().chain(others.take(MOST_COLUMNS.saturating_sub(names.len()))).copied();
        let columns = BlockColumns::read(block, all).map(Rc::new);
        self.insert(id, DecodedRecord::Columns(columns.clone()));
        columns
    }

    /// Whether it has a record. This counts as no use of it.
    pub(crate) fn holds(&self, id: BlockId) -> bool {
        self.cache.borrow().peek(&id).is_some()
    }

    /// Adds a record that was just written, so its first read finds it here.
    pub(crate) fn add_written(&self, id: BlockId, record: DecodedRecord) {
        self.keep_copy(id, &record, true);
        self.insert(id, record);
    }

    /// Ends the second cache: another tab opens its file next.
    pub(crate) fn close_second(&self) {
        if let Some(second) = self.second.get() {
            second.close();
        }
    }

    /// Gives a block to the second cache.
    fn keep_copy(&self, id: BlockId, record: &DecodedRecord, is_written: bool) {
        if let (Some(second), DecodedRecord::Block(block)) = (self.second.get(), record) {
            second.put(id, block, is_written);
        }
    }

    /// Adds a record.
    pub(crate) fn insert(&self, id: BlockId, record: DecodedRecord) {
        self.cache.borrow_mut().insert(id, record);
    }

    /// Forgets a record.
    pub(crate) fn remove(&self, id: BlockId) {
        let mut cache = self.cache.borrow_mut();
        cache.remove(&id);
        cache.remove(&BlockId { block: id.block | COLUMNS, ..id });
        if let Some(second) = self.second.get() {
            second.remove(id);
        }
    }

    /// Reads records in one trip and pins them. They also go into the cache, except for a compaction, which does not read
    /// its blocks again. If another reader is already loading a record into the cache, this waits for it. A block that the
    /// cache has as it is stored needs no trip, nor does one of the second cache.
    pub(crate) async fn load(
        &self,
        storage: &AnyStorage,
        wants: &[RecordId],
        pins: &mut Pins,
        usage: Usage<'_>,
    ) -> Result<()> {
        let mut wants = wants.to_vec();
        while !wants.is_empty() {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for want in wants.drain(..) {
                if self.pin(want.id(), None, usage, pins)? {
                    continue;
                }
                match self.loading.borrow().get(&want.id()) {
                    Some(other) => others.push((want, Rc::clone(other))),
                    None => own.push(want),
                }
            }
            if !own.is_empty() {
                self.fetch(storage, &own, pins, usage).await?;
            }
            for (want, other) in others {
                let loaded = other.wait().await;
                if !self.pin(want.id(), loaded, usage, pins)? {
                    // The other reader failed.
                    wants.push(want);
                }
            }
        }
        Ok(())
    }

    /// Pins a record of the cache, the one that another reader has just loaded, or one of the second cache. Returns whether there is
    /// one. A block that was kept as it is stored is decoded now, and kept so.
    #[inline(never)]
    fn pin(&self, id: BlockId, loaded: Option<DecodedRecord>, usage: Usage<'_>, pins: &mut Pins) -> Result<bool> {
        let cached = if usage.keeps() { self.cache.borrow_mut().get(&id).cloned() } else { None };
        let found = match cached.or(loaded) {
            // Who reads blocks once looks after the stored ones.
            None if usage.keeps() => self.second.get().and_then(|second| copy(self, &**second, id, usage)),
            found => found,
        };
        let Some(mut record) = found else { return Ok(false) };
        if let DecodedRecord::Stored(stored) = &record {
            record = open_block(id, stored, Usage::All)?.0;
            self.keep_copy(id, &record, false);
            self.insert(id, record.clone());
        }
        pins.insert(id, record);
        Ok(true)
    }

    /// Reads records in one trip and pins them, even if others are reading them.
    async fn fetch(&self, storage: &AnyStorage, wants: &[RecordId], pins: &mut Pins, usage: Usage<'_>) -> Result<()> {
        let ids: Vec<_> = wants.iter().map(|want| want.id()).collect();
        let _announced = usage.keeps().then(|| Announcement::new(self, &ids));
        let records = storage.get_blocks(&ids).await?;
        for (want, record) in wants.iter().zip(records) {
            let id = want.id();
            let place = match want {
                RecordId::Block(_) => Place::Block(id),
                RecordId::Meta(_) => Place::SegmentMeta(id),
            };
            if let (Some(record), RecordId::Block(_)) = (&record, want) {
                self.note_size(record.len());
            }
            let opened = match (&record, want) {
                (None, _) => Err(Error::corrupt(place, "it is missing")),
                (Some(record), RecordId::Block(_)) => open_block(id, record, usage),
                (Some(record), RecordId::Meta(_)) => SegmentMeta::open(place, record)
                    .map(|meta| (DecodedRecord::Meta(Rc::new(meta)), true))
                    .map_err(|damage| Error::corrupt(place, damage)),
            };
            let (pinned, is_whole) = match (opened, want) {
                (Err(error), RecordId::Meta(_))
                    if !record.as_ref().is_some_and(|record| record::is_later(place, record)) =>
                {
                    self.env.load(Module::Occasional).await?;
                    (rebuilt(self, storage, id, error).await?, true)
                }
                (opened, _) => opened?,
            };
            if usage.keeps() {
                if is_whole && matches!(usage, Usage::Rows(_)) {
                    self.keep_copy(id, &pinned, false);
                }
                let kept = match record {
                    Some(record) if !is_whole => DecodedRecord::Stored(Rc::new(record)),
                    _ => pinned.clone(),
                };
                self.insert(id, kept.clone());
                if let Some(latch) = self.loading.borrow().get(&id) {
                    latch.set(Some(kept));
                }
            }
            pins.insert(id, pinned);
        }
        Ok(())
    }

    /// Rebuilds the index `id` from the blocks before it. Returns the error of a block that cannot be read either.
    pub(crate) async fn rebuild(&self, storage: &AnyStorage, id: BlockId) -> Result<SegmentMeta> {
        let mut index = Rebuild::default();
        for block in 0..id.block {
            let block = BlockId { block, ..id };
            let (wants, mut pins) = ([RecordId::Block(block)], Pins::default());
            // Not by `load`: the caller may be reading the block into the cache, and would wait for itself. The box
            // breaks the recursion of the future's type.
            let fetching: Pin<Box<dyn Future<Output = Result<()>> + '_>> =
                Box::pin(self.fetch(storage, &wants, &mut pins, Usage::Once));
            fetching.await?;
            let loaded =
                self.block(block, &pins).map_err(|_| Error::internal("a block that was just loaded is gone"))?;
            index.add(&loaded).map_err(|damage| damaged(block, &damage))?;
        }
        index.finish(id)
    }

    /// A replacement for an index that cannot be read.
    /// Its future is a gate of [`Module::Occasional`].
    async fn rebuilt(&self, storage: &AnyStorage, id: BlockId, error: Error) -> Result<DecodedRecord> {
        let meta = self.rebuild(storage, id).await?;
        if !self.damaged.borrow().contains(&id) {
            self.damaged.borrow_mut().push(id);
            let text =
                format!("{}; it is rebuilt from the blocks each time, until compact() stores it", error.message());
            self.untold.borrow_mut().push((id, error.with_message(text)));
        }
        Ok(DecodedRecord::Meta(Rc::new(meta)))
    }

    /// The damaged indexes that were not reported yet.
    pub(crate) fn take_rebuilt(&self) -> Vec<(BlockId, Error)> {
        self.untold.take()
    }

    /// Bytes held, hits, misses.
    pub(crate) fn stats(&self) -> (u64, u64, u64) {
        (self.cache.borrow().weight(), self.hits.get(), self.misses.get())
    }
}

/// A borrowed part of the cache's budget.
pub(crate) struct Loan<'a> {
    cache: &'a BlockCache,
    steps: u64,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.cache.resize(self.cache.lent.get().saturating_sub(self.steps));
    }
}
