//! Decompressed blocks and segment indexes in memory, within a budget.

use super::latch::Latch;
use super::rebuild::Rebuild;
use crate::collections::small_map::SmallMap;
use crate::error::{Error, Result};
use crate::format::block::Block;
use crate::format::record::{self, Place};
use crate::format::segment::SegmentMeta;
use crate::format::wire::Damage;
use crate::storage::{BlockId, Storage};
use quick_cache::Weighter;
use quick_cache::unsync::{Cache, DefaultLifecycle};
use rustc_hash::FxBuildHasher;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

/// A decoded record of a segment.
#[derive(Clone, Debug)]
pub(super) enum DecodedRecord {
    Block(Rc<Block>),
    Meta(Rc<SegmentMeta>),
}

/// A record that a read needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RecordId {
    Block(BlockId),
    Meta(BlockId),
}

impl RecordId {
    pub(super) fn id(self) -> BlockId {
        match self {
            Self::Block(id) | Self::Meta(id) => id,
        }
    }
}

/// A block cannot be read.
pub(super) fn damaged(id: BlockId, damage: &Damage) -> Error {
    Error::corrupt(Place::Block(id), damage)
}

/// The records that one read holds on to, whatever the cache does with them.
pub(super) type Pins = SmallMap<BlockId, DecodedRecord>;

#[derive(Clone, Debug)]
struct ByMemory;

impl Weighter<BlockId, DecodedRecord> for ByMemory {
    fn weight(&self, _: &BlockId, value: &DecodedRecord) -> u64 {
        let bytes = match value {
            DecodedRecord::Block(block) => block.memory(),
            DecodedRecord::Meta(meta) => meta.memory(),
        };
        bytes.max(1) as u64
    }
}

/// A decoded block takes so many bytes, about.
pub(super) const BLOCK_BYTES: u64 = 256 << 10;

/// What flush and compaction hold is taken from the cache's budget in steps of so many parts of it: they come and go often,
/// and the cache loses a little of what it knows whenever its size changes to something uneven.
const STEPS: u64 = 8;

/// One piece of work may take so many of them.
const MOST_STEPS: u64 = 3;

/// The cache.
pub(super) struct BlockCache {
    /// What it may take when nothing is lent.
    bytes: u64,
    /// Steps of its budget that work in the background has.
    lent: Cell<u64>,
    cache: RefCell<Cache<BlockId, DecodedRecord, ByMemory, FxBuildHasher>>,
    /// What is being read into the cache: many may need a record at once, and it is read and decompressed for all of them.
    loading: RefCell<SmallMap<BlockId, Rc<Latch<Option<DecodedRecord>>>>>,
    /// Indexes that are damaged and were rebuilt, and those of them that are to be told.
    damaged: RefCell<Vec<BlockId>>,
    untold: RefCell<Vec<(BlockId, Error)>>,
    hits: Cell<u64>,
    misses: Cell<u64>,
}

/// Records that are being read into a cache. Nobody waits for them any more when this is dropped.
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
    pub(super) fn new(bytes: usize) -> Self {
        let items = (bytes / BLOCK_BYTES as usize).max(16);
        Self {
            bytes: bytes as u64,
            lent: Cell::new(0),
            cache: RefCell::new(Cache::with(items, bytes as u64, ByMemory, FxBuildHasher, DefaultLifecycle::default())),
            loading: RefCell::default(),
            damaged: RefCell::default(),
            untold: RefCell::default(),
            hits: Cell::new(0),
            misses: Cell::new(0),
        }
    }

    /// Makes room for work that holds so many bytes beside the cache, until what is returned is dropped. A small cache gives
    /// what it can.
    pub(super) fn lend(&self, bytes: u64) -> Loan<'_> {
        let steps = bytes.div_ceil((self.bytes / STEPS).max(1)).min(MOST_STEPS);
        self.resize(self.lent.get() + steps);
        Loan { cache: self, steps }
    }

    fn resize(&self, lent: u64) {
        self.lent.set(lent);
        self.cache.borrow_mut().set_capacity(self.bytes / STEPS * STEPS.saturating_sub(lent).max(1));
    }

    /// So many blocks may be fetched at once, and held, by one reader.
    pub(super) fn most_at_once(&self) -> usize {
        usize::try_from(self.bytes / 4 / BLOCK_BYTES).unwrap_or(usize::MAX).clamp(4, 64)
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
    pub(super) fn block(&self, id: BlockId, pins: &Pins) -> Result<Rc<Block>, RecordId> {
        match self.get(id, pins) {
            Some(DecodedRecord::Block(block)) => Ok(block),
            _ => Err(RecordId::Block(id)),
        }
    }

    /// The segment's index, if it is in memory.
    pub(super) fn meta(&self, id: BlockId, pins: &Pins) -> Result<Rc<SegmentMeta>, RecordId> {
        match self.get(id, pins) {
            Some(DecodedRecord::Meta(meta)) => Ok(meta),
            _ => Err(RecordId::Meta(id)),
        }
    }

    /// Adds a record that was just written, so that the first read of it finds it here.
    pub(super) fn insert(&self, id: BlockId, record: DecodedRecord) {
        self.cache.borrow_mut().insert(id, record);
    }

    /// Forgets a record.
    pub(super) fn remove(&self, id: BlockId) {
        self.cache.borrow_mut().remove(&id);
    }

    /// Reads records in one trip and pins them. `keep` says whether they go into the cache too: what a compaction reads
    /// will not be asked for again. What somebody else is reading into the cache is waited for instead.
    pub(super) async fn load<S: Storage>(
        &self,
        storage: &S,
        wants: &[RecordId],
        pins: &mut Pins,
        keep: bool,
    ) -> Result<()> {
        let mut wants = wants.to_vec();
        while !wants.is_empty() {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for want in wants.drain(..) {
                match self.loading.borrow().get(&want.id()) {
                    Some(other) => others.push((want, Rc::clone(other))),
                    None => own.push(want),
                }
            }
            if !own.is_empty() {
                self.fetch(storage, &own, pins, keep).await?;
            }
            for (want, other) in others {
                match other.wait().await {
                    Some(cached) => pins.insert(want.id(), cached),
                    // Who was reading it could not.
                    None => wants.push(want),
                }
            }
        }
        Ok(())
    }

    /// Reads records in one trip and pins them, whoever else is reading them.
    async fn fetch<S: Storage>(&self, storage: &S, wants: &[RecordId], pins: &mut Pins, keep: bool) -> Result<()> {
        let ids: Vec<_> = wants.iter().map(|want| want.id()).collect();
        let _announced = keep.then(|| Announcement::new(self, &ids));
        let records = storage.get_blocks(&ids).await?;
        for (want, record) in wants.iter().zip(records) {
            let id = want.id();
            let place = match want {
                RecordId::Block(_) => Place::Block(id),
                RecordId::Meta(_) => Place::SegmentMeta(id),
            };
            let opened = record.as_deref().map(|record| match want {
                RecordId::Block(_) => Block::open(place, record).map(|block| DecodedRecord::Block(Rc::new(block))),
                RecordId::Meta(_) => SegmentMeta::open(place, record).map(|meta| DecodedRecord::Meta(Rc::new(meta))),
            });
            let opened = match opened {
                None => Err(Error::corrupt(place, "it is missing")),
                Some(opened) => opened.map_err(|damage| Error::corrupt(place, damage)),
            };
            let cached = match (opened, want) {
                (Err(error), RecordId::Meta(_)) if !record.is_some_and(|record| record::is_later(place, &record)) => {
                    Box::pin(self.rebuilt(storage, id, error)).await?
                }
                (opened, _) => opened?,
            };
            if keep {
                self.insert(id, cached.clone());
                if let Some(latch) = self.loading.borrow().get(&id) {
                    latch.set(Some(cached.clone()));
                }
            }
            pins.insert(id, cached);
        }
        Ok(())
    }

    /// The index that belongs to `id`, made of the blocks that lie before it. Gives the error of a block that cannot be read
    /// either.
    pub(super) async fn rebuild<S: Storage>(&self, storage: &S, id: BlockId) -> Result<SegmentMeta> {
        let mut index = Rebuild::default();
        for block in 0..id.block {
            let block = BlockId { block, ..id };
            let (wants, mut pins) = ([RecordId::Block(block)], Pins::default());
            // Not by `load`: the caller may be reading the block into the cache, and would wait for himself. A box, because
            // fetching comes to here again, as far as the compiler knows.
            let fetching: Pin<Box<dyn Future<Output = Result<()>> + '_>> =
                Box::pin(self.fetch(storage, &wants, &mut pins, false));
            fetching.await?;
            let loaded =
                self.block(block, &pins).map_err(|_| Error::internal("a block that was just loaded is gone"))?;
            index.add(&loaded).map_err(|damage| damaged(block, &damage))?;
        }
        index.finish(id)
    }

    /// What stands for an index that cannot be read.
    async fn rebuilt<S: Storage>(&self, storage: &S, id: BlockId, error: Error) -> Result<DecodedRecord> {
        let meta = self.rebuild(storage, id).await?;
        if !self.damaged.borrow().contains(&id) {
            self.damaged.borrow_mut().push(id);
            let text =
                format!("{}; it is made anew of the blocks each time, until compact() stores it", error.message());
            self.untold.borrow_mut().push((id, error.with_message(text)));
        }
        Ok(DecodedRecord::Meta(Rc::new(meta)))
    }

    /// The damaged indexes that this has not told yet.
    pub(super) fn take_rebuilt(&self) -> Vec<(BlockId, Error)> {
        self.untold.take()
    }

    /// Bytes held, lookups answered, lookups not answered.
    pub(super) fn stats(&self) -> (u64, u64, u64) {
        (self.cache.borrow().weight(), self.hits.get(), self.misses.get())
    }
}

/// A part of the cache's budget that something else uses for a while.
pub(super) struct Loan<'a> {
    cache: &'a BlockCache,
    steps: u64,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.cache.resize(self.cache.lent.get().saturating_sub(self.steps));
    }
}
