//! The path of a read of one row: where it looks, where it need not look and why, and what that costs.
//!
//! A plain read pays nothing for this: the path is walked here, beside the code of reads (`engine/read/reader.rs`), over the same data and
//! by the same rules. It loads what the read would load, so a plain read that follows in the same turn finds all of it. The tests
//! compare both.

use super::Inspector;
use crate::collections::small_map::SmallMap;
use crate::engine::memory::images::Image;
use crate::engine::memory::memtable::{Memtable, unreadable};
use crate::engine::read::reader::{Look, Needs, ReadRequest, need_of};
use crate::engine::rows::keys::full_key;
use crate::engine::rows::row::{Depth, RowView, deletes_versions};
use crate::engine::segment::cache::{DecodedRecord, Pins, RecordId, Usage, damaged};
use crate::engine::versions::part::Part;
use crate::engine::versions::partition::{Partition, PartitionId};
use crate::engine::versions::snapshot::Snapshot;
use crate::error::Result;
use crate::format::block::Block;
use crate::format::record::Place;
use crate::format::segment::SegmentMeta;
use crate::model::TreeId;
use crate::model::select::Need;
use crate::storage::BlockId;
use std::rc::Rc;

/// The path of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The partition of the row; `None` if its tree has no segment yet.
    pub partition: Option<PartitionId>,
    /// The read saw all writes up to this seqno.
    pub seqno: u64,
    /// The steps, in their order.
    pub steps: Vec<TraceStep>,
    /// The fragments that were put together: a write's changes of the row, or those of several merged ones.
    pub fragments: u64,
    /// Records (blocks and indexes) that came from the storage. A read asks in one trip for all that it may need, so some may
    /// have turned out not to be needed.
    pub fetched_records: u64,
    /// Their stored bytes.
    pub fetched_bytes: u64,
}

/// A place where a read looked, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// A memtable.
    Memtable {
        /// Whether it waits to be flushed.
        is_frozen: bool,
        /// The row's fragments there.
        fragments: u64,
        /// Whether one of them hides everything older, so that the read ends here.
        ends: bool,
    },
    /// The remembered merge of a row of many pieces, which replaces everything older.
    Image,
    /// A level of the partition: so many parts of it do not have the key in their range.
    Level {
        /// The level.
        level: u64,
        /// Its parts.
        parts: u64,
        /// Those that the key is outside of. Below level 0 they are not even looked at: one search finds the only candidate.
        out_of_range: u64,
    },
    /// A part of a segment whose range has the key.
    Segment {
        /// The segment.
        segment: u64,
        /// Its level.
        level: u64,
        /// What came of it.
        verdict: Verdict,
        /// Where its index, which has the filter, came from. `None`: it was not looked at.
        index: Option<Fetch>,
        /// The blocks that the index named.
        blocks: Vec<TracedBlock>,
        /// The row's fragments there.
        fragments: u64,
        /// Whether one of them hides everything older, so that the read ends here.
        ends: bool,
    },
}

/// What came of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A newer fragment hides everything older: it was not asked.
    NotNeeded,
    /// The filter says that the key is not there.
    FilterNo,
    /// The filter says that the key may be there, and it is.
    Found,
    /// The filter says that the key may be there, but it is not.
    FalsePositive,
}

/// Where a record came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// The cache.
    Cache,
    /// The storage: so many stored bytes.
    Storage(u64),
}

/// A block that may have the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedBlock {
    /// Its number in the segment.
    pub number: u32,
    /// Where it came from. `None`: the read needs none of the columns or versions of a large row that lie there.
    pub from: Option<Fetch>,
    /// The entries of the row in it.
    pub entries: u64,
}

/// Where the records came from that this read has loaded.
type Fetched = SmallMap<BlockId, u64>;

impl Inspector<'_> {
    /// Walks the path of a read of a row, with the present instant. `needs` is what the reader needs of a large row.
    ///
    /// # Errors
    /// As for [`Engine::read`](crate::engine::Engine::read).
    pub async fn trace(self, tree: TreeId, key: &[u8], mut needs: Option<&Needs<'_>>) -> Result<Trace> {
        let keys = [full_key(tree, key)];
        let [key] = &keys;
        drop(self.order.after_pending_rows(&keys).await?);
        self.store.ready().await?;
        self.store.make_records_of(tree)?;
        let (mut pins, mut fetched) = (Pins::default(), Fetched::default());
        loop {
            let snapshot = self.store.snapshot(None, tree, None);
            let mut walk = Walk::of(self, key, needs, (&pins, &fetched));
            walk.all(&snapshot)?;
            let Walk { wants, trace, left_out, deletes_versions, .. } = walk;
            if wants.is_empty() {
                if left_out && deletes_versions {
                    // What was left out may show again: the read starts anew, and leaves no block out.
                    needs = None;
                    continue;
                }
                let fetched_bytes = fetched.values().sum();
                return Ok(Trace { fetched_records: fetched.len() as u64, fetched_bytes, ..trace });
            }
            // The snapshot keeps the segments alive meanwhile.
            self.fetch_traced(&wants, &mut pins, &mut fetched).await?;
        }
    }

    /// Reads a row by key with every version that is stored, deletions applied. A deleted row is `None`.
    ///
    /// # Errors
    /// As for [`Engine::read`](crate::engine::Engine::read).
    pub async fn read_stored(
        self,
        tree: TreeId,
        key: &[u8],
        visit: &mut dyn FnMut(usize, Option<&RowView<'_>>),
    ) -> Result<()> {
        let keys = [key];
        self.reader.read(ReadRequest { depth: Depth::Stored, ..ReadRequest::of(tree, &keys) }, visit).await
    }

    /// Loads records, and notes their stored bytes.
    async fn fetch_traced(self, wants: &[RecordId], pins: &mut Pins, fetched: &mut Fetched) -> Result<()> {
        let ids: Vec<BlockId> = wants.iter().map(|want| want.id()).filter(|id| !self.store.cache.holds(*id)).collect();
        let records = self.store.runtime.storage.get_blocks(&ids).await?;
        for (id, record) in ids.iter().zip(records) {
            let Some(record) = record else { continue };
            let is_block = wants.contains(&RecordId::Block(*id));
            let decoded = if is_block {
                Block::open(Place::Block(*id), &record, None)
                    .ok()
                    .map(|(block, _)| DecodedRecord::Block(Rc::new(block)))
            } else {
                SegmentMeta::open(Place::SegmentMeta(*id), &record).ok().map(|meta| DecodedRecord::Meta(Rc::new(meta)))
            };
            if let Some(decoded) = decoded {
                self.store.cache.insert(*id, decoded.clone());
                pins.insert(*id, decoded);
            }
            fetched.insert(*id, record.len() as u64);
        }
        // What could not be opened is loaded as any read does it: it tells the damage, or repairs an index.
        let left: Vec<RecordId> = wants.iter().copied().filter(|want| pins.get(&want.id()).is_none()).collect();
        self.reader.load_wanted(left, pins, Usage::All).await
    }
}

/// One pass over the path, with the records that are in memory.
struct Walk<'w> {
    inspector: Inspector<'w>,
    key: &'w [u8],
    pins: &'w Pins,
    fetched: &'w Fetched,
    needs: Option<&'w Needs<'w>>,
    trace: Trace,
    /// The records to load first.
    wants: Vec<RecordId>,
    /// A fragment hides everything older.
    is_complete: bool,
    /// Cells were left out that are needed if a newer version is deleted.
    left_out: bool,
    deletes_versions: bool,
}

impl<'w> Walk<'w> {
    fn of(
        inspector: Inspector<'w>,
        key: &'w [u8],
        needs: Option<&'w Needs<'w>>,
        (pins, fetched): (&'w Pins, &'w Fetched),
    ) -> Self {
        Self {
            inspector,
            key,
            pins,
            fetched,
            needs,
            trace: Trace::default(),
            wants: Vec::new(),
            is_complete: false,
            left_out: false,
            deletes_versions: false,
        }
    }

    fn all(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.trace.seqno = snapshot.seqno;
        let partition = snapshot.tree.as_ref().and_then(|tree| tree.holding(self.key));
        self.trace.partition = partition.map(|partition| partition.id);
        let look = Look {
            snapshot,
            pins: self.pins,
            needs: None,
            images: Some(&self.inspector.store.images),
            depth: Depth::Visible,
        };
        let image = self.inspector.reader.image(look, self.key);
        for (at, memtable) in snapshot.memtables.iter().enumerate() {
            self.memtable(memtable, at, snapshot.seqno, image.as_deref())?;
        }
        if image.is_some() && !self.is_complete {
            self.is_complete = true;
            self.trace.fragments += 1;
            self.trace.steps.push(TraceStep::Image);
        }
        if let Some(partition) = partition {
            self.levels(partition, snapshot.seqno)?;
        }
        Ok(())
    }

    fn memtable(&mut self, memtable: &Rc<Memtable>, at: usize, seqno: u64, image: Option<&Image>) -> Result<()> {
        if self.is_complete {
            return Ok(());
        }
        let rows = memtable.rows();
        let mut found = Vec::new();
        if let Some(slots) = rows.get(self.key) {
            let after = image.map_or(0, |image| image.seqno);
            rows.fragments(slots, (after, seqno), &mut found).map_err(unreadable)?;
        }
        let ends = found.iter().any(|dated| dated.fragment.head().hides_older);
        self.deletes_versions |= deletes_versions(&found).map_err(unreadable)?;
        self.is_complete = ends;
        self.trace.fragments += found.len() as u64;
        // The memtable that takes writes comes first, unless it is empty.
        let is_frozen = at > 0 || !Rc::ptr_eq(memtable, &self.inspector.store.view.borrow().memtable);
        self.trace.steps.push(TraceStep::Memtable { is_frozen, fragments: found.len() as u64, ends });
        Ok(())
    }

    fn levels(&mut self, partition: &Partition, seqno: u64) -> Result<()> {
        for (level, parts) in partition.levels.levels.iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
            let candidates: Vec<&Rc<Part>> = parts.iter().filter(|part| part.holds(self.key)).collect();
            let (level, all) = (level as u64, parts.len() as u64);
            if !self.is_complete {
                let out_of_range = all - candidates.len() as u64;
                self.trace.steps.push(TraceStep::Level { level, parts: all, out_of_range });
            }
            for part in candidates {
                self.part(part, level, seqno)?;
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part, level: u64, seqno: u64) -> Result<()> {
        let segment = part.segment.id.0;
        let step = |verdict, index| TraceStep::Segment {
            segment,
            level,
            verdict,
            index,
            blocks: Vec::new(),
            fragments: 0,
            ends: false,
        };
        if self.is_complete {
            self.trace.steps.push(step(Verdict::NotNeeded, None));
            return Ok(());
        }
        let meta = match self.inspector.store.cache.meta(part.segment.meta(), self.pins) {
            Ok(meta) => meta,
            Err(want) => {
                self.wants.push(want);
                return Ok(());
            }
        };
        let index = Some(self.fetch(part.segment.meta()));
        if !meta.may_contain(self.key) {
            self.trace.steps.push(step(Verdict::FilterNo, index));
            return Ok(());
        }
        let (mut blocks, mut fragments, mut ends) = (Vec::new(), 0, false);
        let numbers = meta.blocks_of(self.key);
        for number in numbers.clone() {
            let need = need_of(self.needs, &meta, &numbers, number);
            self.left_out |= need == Need::IfDeleted;
            if need != Need::Yes {
                blocks.push(TracedBlock { number, from: None, entries: 0 });
                continue;
            }
            let id = part.segment.block(number);
            let block = match self.inspector.store.cache.block(id, self.pins) {
                Ok(block) => block,
                Err(want) => {
                    self.wants.push(want);
                    continue;
                }
            };
            let entries = block.entries_of(self.key);
            blocks.push(TracedBlock { number, from: Some(self.fetch(id)), entries: entries.len() as u64 });
            for entry in entries.filter_map(|at| block.entry(at)) {
                if part.segment.seqno.unwrap_or(entry.seqno) <= seqno {
                    let mut fragment = block.fragment(&entry).map_err(|damage| damaged(id, &damage))?;
                    ends |= fragment.head().hides_older;
                    fragments += u64::from(!fragment.continues());
                    while let Some(cell) = fragment.next_unread().map_err(|damage| damaged(id, &damage))? {
                        self.deletes_versions |= cell.deletes_version();
                    }
                }
            }
        }
        let is_there = blocks.iter().any(|block| block.entries > 0);
        let verdict = if is_there { Verdict::Found } else { Verdict::FalsePositive };
        self.is_complete = ends;
        self.trace.fragments += fragments;
        self.trace.steps.push(TraceStep::Segment { segment, level, verdict, index, blocks, fragments, ends });
        Ok(())
    }

    fn fetch(&self, id: BlockId) -> Fetch {
        self.fetched.get(&id).map_or(Fetch::Cache, |bytes| Fetch::Storage(*bytes))
    }
}
