//! The weight of a tree's rows, by place: from the indexes of its segments and from the memtables, without reading any
//! block (P4).
//!
//! A [`Sampler`] cuts the rows of a new segment into stretches of some kilobytes that end with a partition. The segment's
//! index keeps the weight of each (`format/segment.rs`). So a profile is fine enough for the smallest slice that a caller
//! may ask for, however well blocks are compressed.
//!
//! A row in several sources counts about once. If a newer source also has the last row of an older stretch, all rows of
//! the stretch are assumed to be there. Their weight in the newer source is then subtracted.

use super::merge::{Merge, MergeStep};
use super::reader::Reader;
use crate::collections::sort::sort_by;
use crate::engine::memory::memtable::unreadable;
use crate::engine::rows::keys::{Direction, KeyRange, own_key, partition_of, tree_range};
use crate::engine::rows::row;
use crate::engine::segment::cache::{DecodedRecord, Pins, Usage};
use crate::engine::segment::sampler::{Sampler, weigh};
use crate::engine::versions::part::Part;
use crate::engine::versions::snapshot::Sources;
use crate::error::{Error, Result};
use crate::format::segment::{SampleWeight, SegmentMeta};
use crate::model::TreeId;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// The assumed weight of a segment without samples, as a multiple of its stored size.
const UNSAMPLED_RATIO: u64 = 3;

/// The weight of a tree's rows up to a partition, since the partition before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mass {
    /// The partition: the first column of an encoded key.
    pub partition: Vec<u8>,
    /// Bytes of encoded keys, column names and values.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

/// A source that may have newer data of an older source's rows.
enum NewerSource<'a> {
    Memtables(&'a Sources),
    Part(&'a Part, Rc<SegmentMeta>),
}

impl NewerSource<'_> {
    fn may_contain(&self, key: &[u8]) -> bool {
        match self {
            Self::Memtables(sources) => {
                let one = (Bound::Included(key), Bound::Included(key));
                sources.memtables.iter().any(|memtable| memtable.rows().range(one.0, one.1).next().is_some())
            }
            Self::Part(part, meta) => part.holds(key) && meta.may_contain(key),
        }
    }
}

impl Reader {
    /// See [`Engine::profile`](crate::engine::Engine::profile).
    pub(crate) async fn profile(&self, tree: TreeId) -> Result<Vec<Mass>> {
        self.store.ready().await?;
        let snapshot = self.store.snapshot(None, tree, None);
        let mut found: Vec<(Vec<u8>, SampleWeight)> = Vec::new();
        let in_memory = Sources { memtables: snapshot.memtables, runs: Vec::new() };
        self.profile_memory(tree, in_memory.clone(), snapshot.seqno, &mut found).await?;
        let memory_total = total(&found);
        let parts: Vec<_> = snapshot.tree.iter().flat_map(|tree| tree.parts_by_partition()).collect();
        // One partition at a time: the indexes of a large tree are large. Those of other partitions say nothing about its
        // rows.
        for partition in parts.chunk_by(|(before, _), (id, _)| before == id) {
            let parts: Vec<Rc<Part>> = partition.iter().map(|(_, part)| Rc::clone(part)).collect();
            // Each newer source, with the weight of its rows there.
            let mut newer = vec![(NewerSource::Memtables(&in_memory), memory_total)];
            for (part, meta) in parts.iter().zip(self.metas(&parts).await?) {
                let own = samples(part, &meta);
                let own_total = total(&own);
                for (key, mut weight) in own {
                    for (other, other_total) in &newer {
                        if other.may_contain(&key) {
                            let there = other_total.bytes * weight.rows / other_total.rows.max(1);
                            weight = SampleWeight { bytes: weight.bytes.saturating_sub(there), rows: 0 };
                            break;
                        }
                    }
                    found.push((key, weight));
                }
                newer.push((NewerSource::Part(part, meta), own_total));
            }
        }

        let mut sorted: Vec<&(Vec<u8>, SampleWeight)> = found.iter().collect();
        sort_by(&mut sorted, |a, b| partition_of(&a.0).cmp(partition_of(&b.0)));
        let mut masses: Vec<Mass> = Vec::new();
        for (key, weight) in sorted {
            let partition = own_key(partition_of(key));
            match masses.last_mut() {
                Some(last) if last.partition == partition => {
                    last.bytes += weight.bytes;
                    last.rows += weight.rows;
                }
                _ => masses.push(Mass { partition: partition.to_vec(), bytes: weight.bytes, rows: weight.rows }),
            }
        }
        Ok(masses)
    }

    /// The indexes of the segments of these parts. Those that are not in memory are loaded in one trip.
    pub(crate) async fn metas(&self, parts: &[Rc<Part>]) -> Result<Vec<Rc<SegmentMeta>>> {
        let (mut pins, mut wants) = (Pins::default(), Vec::new());
        for part in parts {
            let id = part.segment.meta();
            match self.store.cache.meta(id, &pins) {
                // Keep it while others are loaded.
                Ok(meta) => pins.insert(id, DecodedRecord::Meta(meta)),
                Err(want) => wants.push(want),
            }
        }
        self.load_wanted(wants, &mut pins, Usage::All).await?;
        let metas = parts.iter().map(|part| {
            let meta = self.store.cache.meta(part.segment.meta(), &pins);
            meta.map_err(|_| Error::internal("an index that was just loaded is gone"))
        });
        metas.collect()
    }

    async fn profile_memory(
        &self,
        tree: TreeId,
        sources: Sources,
        seqno: u64,
        found: &mut Vec<(Vec<u8>, SampleWeight)>,
    ) -> Result<()> {
        let all = tree_range(tree, KeyRange::ALL);
        let mut merge = Merge::new(sources, all, Direction::Forward, seqno);
        let (mut sampler, mut last) = (Sampler::default(), Vec::new());
        loop {
            let step = merge.step(&self.store.cache, &Pins::default(), &mut |key, fragments| {
                let row = row::collapse(fragments).map_err(unreadable)?;
                let weight = row.map(|row| weigh(key, row.head, &row.cells)).unwrap_or_default();
                if let Some(sample) = sampler.add(&last, key, weight) {
                    found.push((last.clone(), sample));
                }
                last.clear();
                last.extend_from_slice(key);
                Ok(ControlFlow::Continue(()))
            })?;
            if matches!(step, MergeStep::Done) {
                break;
            }
            self.runtime.env.yield_now().await;
        }
        let rest = sampler.finish();
        if rest != SampleWeight::default() {
            found.push((last, rest));
        }
        Ok(())
    }
}

fn total(found: &[(Vec<u8>, SampleWeight)]) -> SampleWeight {
    let bytes = found.iter().map(|(_, weight)| weight.bytes).sum();
    SampleWeight { bytes, rows: found.iter().map(|(_, weight)| weight.rows).sum() }
}

/// The samples of a part, or its blocks if the segment has no samples.
fn samples(part: &Part, meta: &SegmentMeta) -> Vec<(Vec<u8>, SampleWeight)> {
    let mut found: Vec<_> =
        meta.samples().filter(|(key, _)| part.holds(key)).map(|(key, of)| (key.to_vec(), of)).collect();
    if found.is_empty() {
        let firsts = (0..meta.blocks()).filter_map(|block| meta.first_key(block)).filter(|key| part.holds(key));
        let keys: Vec<&[u8]> = firsts.skip(1).chain([&*part.last_key]).collect();
        let share = |all: u64| all / keys.len() as u64;
        let weight = SampleWeight { bytes: share(part.bytes * UNSAMPLED_RATIO), rows: share(part.entries) };
        found = keys.iter().map(|key| (key.to_vec(), weight)).collect();
    }
    found
}
