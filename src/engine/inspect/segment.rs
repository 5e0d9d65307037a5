//! One segment, read from the storage: its blocks, its index, its filter, and some of its rows.

use super::Inspector;
use crate::engine::rows::keys::{full_key, own_key, tree_of};
use crate::engine::segment::cache::damaged;
use crate::engine::versions::part::Segment;
use crate::error::{Error, Result};
use crate::format::block::{Block, Entry};
use crate::format::record::Place;
use crate::format::segment::SegmentMeta;
use crate::model::{CellOp, ChangeKind, TreeId, Value};
use crate::storage::{BlockId, SegmentId};
use bytes::Bytes;
use std::rc::Rc;

/// So many blocks are read at once.
const AT_ONCE: u32 = 16;

/// The most cells of a row that are told.
const MOST_CELLS: usize = 64;

/// What to read of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentQuery<'q> {
    /// The block with the rows to tell: by default the first one.
    pub block: u32,
    /// The most rows to tell.
    pub rows: usize,
    /// A row for which to ask the filter, encoded.
    pub key: Option<(TreeId, &'q [u8])>,
}

/// The content of a segment. Sizes are stored bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentContents {
    /// Its blocks.
    pub blocks: Vec<BlockContents>,
    /// Its index, with the filter.
    pub index_bytes: u64,
    /// Its filter. `None`: every key may be there.
    pub filter: Option<FilterFacts>,
    /// Its distinct keys.
    pub keys: u64,
    /// Entries that only delete.
    pub deletes: u64,
    /// The seqnos of its oldest and its newest entry.
    pub seqnos: Option<(u64, u64)>,
    /// Whether its rows were loaded in key order, and have one seqno.
    pub is_loaded: bool,
    /// What the filter says of the key that was asked for.
    pub answer: Option<FilterAnswer>,
    /// Rows of the block that was asked for.
    pub rows: Vec<RowContents>,
}

/// A filter of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterFacts {
    /// Its bits.
    pub bits: u64,
}

/// What a filter says of a key, and whether that is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterAnswer {
    /// It is not there. That is certain.
    No,
    /// It may be there, and it is.
    Found,
    /// It may be there, but it is not.
    FalsePositive,
}

/// A block of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockContents {
    /// Its stored bytes.
    pub bytes: u64,
    /// Its entries.
    pub entries: u64,
    /// The tree of its first entry.
    pub tree: TreeId,
    /// The key of its first entry, encoded, without the tree.
    pub first_key: Vec<u8>,
    /// Whether it continues the last row of the block before.
    pub is_continued: bool,
    /// Whether it is in the cache.
    pub is_cached: bool,
}

/// One entry: the changes of a row by one write, or by several merged ones.
#[derive(Clone, Debug, PartialEq)]
pub struct RowContents {
    /// Its tree.
    pub tree: TreeId,
    /// Its key, encoded, without the tree.
    pub key: Vec<u8>,
    /// The seqno of its newest write.
    pub seqno: u64,
    /// A put replaces the row, an update changes it.
    pub kind: ChangeKind,
    /// Its cells, or the first of them: column, version, value. Without a value the version is deleted, without both the column.
    pub cells: Vec<(String, Option<i64>, Option<Value>)>,
    /// Whether there are more cells.
    pub has_more: bool,
}

impl Inspector<'_> {
    /// Reads a segment of the current version. `None` if there is none with this id.
    ///
    /// # Errors
    /// `Corrupt` with a damaged record; errors of the storage.
    pub async fn segment(self, id: u64, query: SegmentQuery<'_>) -> Result<Option<SegmentContents>> {
        self.store.ready().await?;
        // While this lives, nothing deletes the segment.
        let found = self.store.view.borrow().version.segments().get(&SegmentId(id)).map(Rc::clone);
        let Some(segment) = found else { return Ok(None) };
        match self.read_segment(&segment, query).await {
            Err(error) => {
                // The record of a replaced leader may be deleted.
                Box::pin(self.store.check_lead()).await?;
                Err(error)
            }
            read => read.map(Some),
        }
    }

    async fn read_segment(self, segment: &Segment, query: SegmentQuery<'_>) -> Result<SegmentContents> {
        let meta = self.read_index(segment).await?;
        let filter = meta.filter_bytes().map(|bytes| FilterFacts { bits: bytes as u64 * 8 });
        let mut contents = SegmentContents {
            index_bytes: u64::from(segment.index_bytes),
            filter,
            deletes: segment.tombstones,
            is_loaded: segment.seqno.is_some(),
            ..SegmentContents::default()
        };
        let key = query.key.map(|(tree, key)| full_key(tree, key));
        let (mut is_there, mut last) = (false, Vec::new());
        let mut next = 0;
        while next < segment.blocks {
            let blocks = next..segment.blocks.min(next + AT_ONCE);
            for (number, record) in blocks.clone().zip(self.read_records(segment, blocks.clone()).await?) {
                let id = segment.block(number);
                let (block, _) = Block::open(Place::Block(id), &record, None).map_err(|damage| damaged(id, &damage))?;
                contents.blocks.push(BlockContents {
                    bytes: record.len() as u64,
                    entries: block.len() as u64,
                    tree: block.key(0).and_then(tree_of).unwrap_or_default(),
                    first_key: own_key(block.key(0).unwrap_or_default()).to_vec(),
                    is_continued: meta.is_continued(number),
                    is_cached: self.store.cache.holds(id),
                });
                for entry in (0..block.len()).filter_map(|at| block.entry(at)) {
                    contents.count(segment.seqno.unwrap_or(entry.seqno), last != entry.key);
                    last.clear();
                    last.extend_from_slice(entry.key);
                }
                is_there |= key.as_ref().is_some_and(|key| !block.entries_of(key).is_empty());
                if number == query.block {
                    contents.rows = rows(&block, id, segment.seqno, query.rows)?;
                }
            }
            next = blocks.end;
            self.store.runtime.env.yield_now().await;
        }
        contents.answer = key.map(|key| match (meta.may_contain(&key), is_there) {
            (false, _) => FilterAnswer::No,
            (true, true) => FilterAnswer::Found,
            (true, false) => FilterAnswer::FalsePositive,
        });
        Ok(contents)
    }

    async fn read_index(self, segment: &Segment) -> Result<SegmentMeta> {
        let id = segment.meta();
        let place = Place::SegmentMeta(id);
        let record = self.store.runtime.storage.get_blocks(&[id]).await?.pop().flatten();
        let record = record.ok_or_else(|| Error::corrupt(place, "it is missing"))?;
        SegmentMeta::open(place, &record).map_err(|damage| Error::corrupt(place, damage))
    }

    async fn read_records(self, segment: &Segment, blocks: std::ops::Range<u32>) -> Result<Vec<Bytes>> {
        let ids: Vec<BlockId> = blocks.map(|block| segment.block(block)).collect();
        let records = self.store.runtime.storage.get_blocks(&ids).await?;
        let missing = |id: &BlockId| Error::corrupt(Place::Block(*id), "it is missing");
        ids.iter().zip(records).map(|(id, record)| record.ok_or_else(|| missing(id))).collect()
    }
}

impl SegmentContents {
    fn count(&mut self, seqno: u64, is_new_key: bool) {
        self.keys += u64::from(is_new_key);
        let (oldest, newest) = self.seqnos.unwrap_or((seqno, seqno));
        self.seqnos = Some((oldest.min(seqno), newest.max(seqno)));
    }
}

/// The first rows of a block.
fn rows(block: &Block, id: BlockId, loaded: Option<u64>, most: usize) -> Result<Vec<RowContents>> {
    let entries = (0..block.len().min(most)).filter_map(|at| block.entry(at));
    entries.map(|entry| row(block, id, &entry, loaded)).collect()
}

fn row(block: &Block, id: BlockId, entry: &Entry<'_>, loaded: Option<u64>) -> Result<RowContents> {
    let broken = |damage| damaged(id, &damage);
    let mut fragment = block.fragment(entry).map_err(broken)?;
    let (kind, mut cells) = (fragment.head().kind(), Vec::new());
    let mut has_more = false;
    while let Some(cell) = fragment.next_cell().map_err(broken)? {
        if cells.len() == MOST_CELLS {
            has_more = true;
            break;
        }
        let value = if let CellOp::Put(_, value) = cell.op { Some(value.to_owned()) } else { None };
        cells.push((cell.column.to_owned(), cell.op.version(), value));
    }
    let (tree, key) = (tree_of(entry.key).unwrap_or_default(), own_key(entry.key).to_vec());
    Ok(RowContents { tree, key, seqno: loaded.unwrap_or(entry.seqno), kind, cells, has_more })
}
