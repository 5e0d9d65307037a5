//! Merges sources into new segments, for flush and compaction.

use super::housekeeping::Housekeeping;
use crate::engine::base::runtime::Runtime;
use crate::engine::read::large_row::{EntryMerge, LargeRow, Layer};
use crate::engine::read::merge::{MOST_AHEAD, Merge, MergeStep};
use crate::engine::read::reader::Reader;
use crate::engine::rows::holds::Holds;
use crate::engine::rows::keys::{Direction, KeyRange};
use crate::engine::rows::row::{self, Course, DatedFragment, Keep, MergedRow};
use crate::engine::segment::cache::{BLOCK_BYTES, Pins, Usage};
use crate::engine::segment::writer::{FinishedSegment, SegmentWriter};
use crate::engine::space::Space;
use crate::engine::store::Store;
use crate::engine::versions::part::Part;
use crate::engine::versions::snapshot::Sources;
use crate::engine::work::WorkLine;
use crate::error::{Error, Result};
use crate::format::wire::Damage;
use crate::model::TreeId;
use crate::storage::SegmentId;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;

/// A slice of the work ends when this many bytes wait to be staged, or when it takes too long. Other work of the thread
/// goes first then.
const SLICE_BYTES: usize = 192 << 10;

/// The number of rows between two checks of the slice's time.
const CLOCK_ROWS: u32 = 32;

/// The approximate memory of a writer: its open block in its forms, blocks that wait to be staged, the filter's keys.
const WRITER_BYTES: u64 = 3 << 20;

/// Sources to merge, and the rows to keep of them.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) sources: Sources,
    pub(crate) keep: Keep,
}

/// Writes segments.
pub(crate) struct Rewriter {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    space: Rc<Space>,
    reader: Rc<Reader>,
    house: Rc<Housekeeping>,
}

impl Rewriter {
    pub(crate) fn new(store: &Rc<Store>, space: &Rc<Space>, reader: &Rc<Reader>, house: &Rc<Housekeeping>) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            space: Rc::clone(space),
            reader: Rc::clone(reader),
            house: Rc::clone(house),
        }
    }

    /// Merges each input, and writes all of them into shared new segments. These are staged, but no manifest names them
    /// yet. Inputs come in key order. Returns the segments' parts and their stored bytes. After a failure the staged
    /// segments are deleted.
    pub(crate) async fn rewrite(&self, inputs: Vec<Input>) -> Result<(Vec<(TreeId, Rc<Part>)>, u64)> {
        let mut staged = Vec::new();
        let written = self.write_segments(inputs, &mut staged).await;
        if written.is_err() {
            self.space.discard(&staged).await;
        }
        written
    }

    /// Stages the finished records of a segment, and puts their content into the cache.
    async fn stage_ready(&self, writer: &mut SegmentWriter) -> Result<()> {
        for call in writer.take_ready(&self.store.cache) {
            self.space.stage(call).await?;
        }
        Ok(())
    }

    /// The same, once there is enough for a transaction.
    async fn stage_much(&self, writer: &mut SegmentWriter) -> Result<()> {
        if writer.ready_bytes() >= SLICE_BYTES { self.stage_ready(writer).await } else { Ok(()) }
    }

    /// Closes a segment and stages the rest of it. `None` if it is empty.
    async fn finish_segment(&self, mut writer: SegmentWriter) -> Result<Option<FinishedSegment>> {
        let Some(closed) = writer.close()? else { return Ok(None) };
        self.stage_ready(&mut writer).await?;
        Ok(Some(closed.finish(None)))
    }

    fn new_writer(&self, staged: &mut Vec<SegmentId>) -> SegmentWriter {
        let id = self.store.leadership.next_segment();
        staged.push(id);
        let cuts = self.store.view.borrow().version.boundaries();
        SegmentWriter::new(id, self.runtime.options.shape.block_bytes, self.runtime.options.form, cuts)
    }

    async fn write_segments(
        &self,
        inputs: Vec<Input>,
        staged: &mut Vec<SegmentId>,
    ) -> Result<(Vec<(TreeId, Rc<Part>)>, u64)> {
        let runs = inputs.iter().map(|input| input.sources.runs.len()).max().unwrap_or(0);
        let from_memory = runs == 0;
        let full = |writer: &SegmentWriter| writer.is_full(&self.runtime.options.shape);
        let held = if from_memory { 0 } else { (MOST_AHEAD * 4).max(runs as u64 * BLOCK_BYTES) };
        let _lent = self.store.cache.lend(WRITER_BYTES + held);
        let line = if from_memory { WorkLine::Flush } else { WorkLine::Compaction };
        let observer = self.house.observer();
        if let Some(observer) = &observer {
            observer.begins(&self.store, line);
        }
        let mut writer = self.new_writer(staged);
        let (mut parts, mut bytes, mut seen) = (Vec::new(), 0, 0u32);
        for Input { sources, keep } in inputs {
            let ahead = MOST_AHEAD / sources.runs.len().max(1) as u64;
            let mut merge = Merge::new(sources, KeyRange::ALL, Direction::Forward, u64::MAX);
            merge.read_ahead_at_most(ahead);
            if !from_memory {
                merge.piecewise();
            }
            let mut pins = Pins::default();
            loop {
                let holds = &self.store.holds;
                let mut add = |key: &[u8], fragments: Vec<DatedFragment<'_>>| {
                    if let Some(observer) = &observer {
                        observer.merges(&self.store, line, &fragments, keep);
                    }
                    let rows = kept(fragments, holds, keep);
                    let pushed = rows.and_then(|rows| if rows.is_empty() { Ok(()) } else { writer.push(key, &rows) });
                    pushed.map_err(|damage| Error::corrupt("a row to be compacted", damage))?;
                    seen = seen.wrapping_add(1);
                    let late = seen.is_multiple_of(CLOCK_ROWS) && self.runtime.slices.is_over();
                    let enough = late || writer.ready_bytes() >= SLICE_BYTES || full(&writer);
                    Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                let stopped = match merge.step(&self.store.cache, &pins, &mut add)? {
                    MergeStep::Done => break,
                    MergeStep::Stopped => true,
                    MergeStep::Large(row, held) => {
                        pins = held;
                        merge_large(self, row, keep, &mut writer).await?;
                        true
                    }
                    MergeStep::Pause => false,
                    MergeStep::Need(wants, held) => {
                        pins = held;
                        self.reader.load_records(&wants, &mut pins, Usage::Once).await?;
                        false
                    }
                };
                if stopped && full(&writer) {
                    self.runtime.env.yield_now().await;
                    let finished = std::mem::replace(&mut writer, self.new_writer(staged));
                    if let Some(finished) = self.finish_segment(finished).await? {
                        bytes += finished.bytes;
                        parts.extend(finished.parts);
                    }
                } else if stopped {
                    self.stage_ready(&mut writer).await?;
                }
                if from_memory {
                    self.house.let_compaction_catch_up().await;
                } else {
                    self.store.check_alive()?;
                }
                self.runtime.env.yield_now().await;
            }
        }
        self.runtime.env.yield_now().await;
        if let Some(finished) = self.finish_segment(writer).await? {
            bytes += finished.bytes;
            parts.extend(finished.parts);
        }
        Ok((parts, bytes))
    }

    /// Merges a large row into one entry. While a reader holds an older instant, it makes one entry for each instant.
    /// Its future is a gate of [`Module::Compaction`](crate::modules::Module::Compaction).
    async fn merge_large(&self, row: LargeRow, keep: Keep, writer: &mut SegmentWriter) -> Result<()> {
        let LargeRow { key, mut layers } = row;
        self.load_layers(&mut layers).await?;
        let heads = layers.iter().map(|layer| layer.head(&key)).collect::<Result<Vec<_>>>()?;
        let all_see = heads.first().is_none_or(|(newest, _)| self.store.holds.all_see(*newest));
        let keep = if all_see { keep } else { Keep::All };
        let (mut from, mut older) = (0, false);
        for alike in heads.chunk_by(|(newer, _), (older, _)| !self.store.holds.tell_apart(*newer, *older)) {
            let seen = alike.iter().position(|(_, head)| head.hides_older).map_or(alike.len(), |last| last + 1);
            let head = row::merged_head(alike.iter().take(seen).map(|(_, head)| *head));
            let layers = layers.get_mut(from..from + seen).unwrap_or_default();
            from += alike.len();
            let (Some(head), Some((seqno, _))) = (head, alike.first()) else { continue };
            let (seqno, course, observer) = (*seqno, Course::default(), self.house.observer());
            let mut entry = EntryMerge { key: &key, seqno, head, keep, course, older, opened: false, observer };
            while !entry.piece(layers, writer)? {
                self.stage_much(writer).await?;
                self.store.check_alive()?;
                self.runtime.env.yield_now().await;
                self.load_layers(layers).await?;
            }
            older |= entry.opened;
        }
        Ok(())
    }

    async fn load_layers(&self, layers: &mut [Layer]) -> Result<()> {
        let mut pins = Pins::default();
        let wants = layers.iter_mut().filter_map(|layer| layer.take_block(&self.store.cache, &pins)).collect();
        self.reader.load_wanted(wants, &mut pins, Usage::Once).await?;
        for layer in layers {
            // A block that is missing now is loaded when it is merged.
            let _ = layer.take_block(&self.store.cache, &pins);
        }
        Ok(())
    }
}

/// A gate of [`Module::Compaction`](crate::modules::Module::Compaction): only stored rows are large, so no flush meets them.
#[inline(never)]
fn merge_large<'a>(
    rewriter: &'a Rewriter,
    row: LargeRow,
    keep: Keep,
    writer: &'a mut SegmentWriter,
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(rewriter.merge_large(row, keep, writer))
}

/// The entries to write for a row: one merged entry, or one for each instant while a reader holds an older one.
fn kept<'a>(fragments: Vec<DatedFragment<'a>>, holds: &Holds, keep: Keep) -> Result<Vec<(u64, MergedRow<'a>)>, Damage> {
    let Some(newest) = fragments.first().map(|dated| dated.seqno) else { return Ok(Vec::new()) };
    if !holds.all_see(newest) {
        let mut rows = Vec::new();
        for alike in fragments.chunk_by(|newer, older| !holds.tell_apart(newer.seqno, older.seqno)) {
            if let (Some(newest), Some(row)) = (alike.first(), row::collapse(alike.to_vec())?) {
                rows.push((newest.seqno, row));
            }
        }
        return Ok(rows);
    }
    let merged = row::collapse(fragments)?;
    let row = match keep {
        Keep::All => merged,
        Keep::Retained(retention, now) => merged.and_then(|row| row::retain(row, &retention, now)),
    };
    Ok(row.map(|row| (newest, row)).into_iter().collect())
}
