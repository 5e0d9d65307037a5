//! The last pieces of background work, and why each was done. They are collected from the first time that somebody asks for them.

use crate::engine::memory::memtable::Memtable;
use crate::engine::rows::holds::Holds;
use crate::engine::rows::keys::own_key;
use crate::engine::rows::row::{self, DatedFragment, Keep};
use crate::engine::store::Store;
use crate::engine::versions::backlog::LONG_NS;
use crate::engine::versions::part::Part;
use crate::engine::versions::partition::PartitionId;
use crate::engine::work::{CompactionReason, DoneWork, MergedParts, NewPart, SplitReason, WorkLine, WorkObserver};
use crate::format::wire::Decoded;
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, TreeId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// So many events are kept.
const MOST_EVENTS: usize = 500;

/// A piece of work, done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkEvent {
    /// Its number: events are numbered from 1.
    pub number: u64,
    /// When it was done by the store's clock, ms since 1970 UTC.
    pub at: i64,
    /// How long it took, us. 0 for what is done at once.
    pub took_us: u64,
    /// What was done.
    pub work: Work,
}

/// Kinds of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A memtable was written.
    Flush {
        /// Why.
        reason: FlushReason,
        /// Its memory.
        bytes: u64,
        /// Its entries.
        entries: u64,
        /// The new parts of level 0.
        outputs: Vec<WorkPart>,
        /// Stored bytes of the new segments.
        written: u64,
        /// Cells that were not written.
        dropped: Dropped,
    },
    /// Parts were merged.
    Compaction {
        /// Their tree.
        tree: TreeId,
        /// Why.
        reason: CompactionReason,
        /// The parts that are gone.
        inputs: Vec<WorkPart>,
        /// The level of the outputs; `None` if the inputs were dropped unread.
        to: Option<u64>,
        /// The parts that came. Parts that only changed their level are inputs and outputs.
        outputs: Vec<WorkPart>,
        /// Stored bytes of the new segments; 0 if nothing was rewritten.
        written: u64,
        /// Cells that were not written again.
        dropped: Dropped,
    },
    /// A partition was cut in two.
    Split {
        /// Its tree.
        tree: TreeId,
        /// The partition in front of the cut, which keeps its id.
        left: PartitionId,
        /// The new one.
        right: PartitionId,
        /// The partition key at which the new one begins, encoded.
        at: Vec<u8>,
        /// Why.
        reason: SplitReason,
    },
    /// Two partitions became one.
    Merge {
        /// Their tree.
        tree: TreeId,
        /// The one that stays.
        left: PartitionId,
        /// The one that is gone.
        right: PartitionId,
    },
    /// An index was built over existing rows.
    IndexBuild {
        /// The index's tree.
        tree: TreeId,
        /// Rows of the base table.
        rows: u64,
    },
}

/// Why a memtable was flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// It was full.
    MemtableFull,
    /// The log was long: its replay would take an opening too long.
    LogLong,
    /// Somebody asked for it, or nothing was written for a while.
    AskedOrIdle,
}

/// A part of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPart {
    /// The segment.
    pub segment: u64,
    /// Its tree.
    pub tree: TreeId,
    /// The partition that read it. New parts have none yet: they are cut where partitions meet.
    pub partition: Option<PartitionId>,
    /// Its level.
    pub level: u64,
    /// Stored bytes, estimated.
    pub bytes: u64,
    /// Entries, estimated.
    pub entries: u64,
}

/// Cells that a flush or a compaction did not write, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// More versions than the table keeps.
    pub surplus: u64,
    /// Older than the table's time to live.
    pub expired: u64,
    /// Hidden by a deletion, or by a newer write of the row or of the same version.
    pub deleted: u64,
}

/// The events from a place on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkEvents {
    /// The events, oldest first.
    pub events: Vec<Rc<WorkEvent>>,
    /// The place behind them.
    pub position: u64,
    /// Events in front of them that are kept no more.
    pub lost: u64,
}

/// An observer that remembers what it heard.
pub(in crate::engine) trait WorkHistory: WorkObserver {
    /// The events behind a position.
    fn events(&self, position: u64) -> WorkEvents;
}

/// Collects events.
#[derive(Default)]
pub(super) struct WorkRing {
    events: RefCell<VecDeque<Rc<WorkEvent>>>,
    last: Cell<u64>,
    /// The work under way, by its line.
    under_way: [UnderWay; 3],
}

/// Work that is not stored yet.
#[derive(Default)]
struct UnderWay {
    /// When it began, us. `None`: it has merged nothing.
    began: Cell<Option<u64>>,
    dropped: Cell<Dropped>,
    done: RefCell<Option<Work>>,
}

impl UnderWay {
    fn begin(&self, at: Option<u64>) {
        self.began.set(at);
        self.dropped.take();
        self.done.take();
    }
}

impl WorkRing {
    fn drop_cells(&self, line: WorkLine, more: Dropped) {
        let slot = &self.under_way[line as usize].dropped;
        let Dropped { surplus, expired, deleted } = slot.get();
        slot.set(Dropped {
            surplus: surplus + more.surplus,
            expired: expired + more.expired,
            deleted: deleted + more.deleted,
        });
    }

    fn dropped(&self, line: WorkLine) -> Dropped {
        self.under_way[line as usize].dropped.take()
    }

    /// Work that merges nothing takes no time, and drops no cell. What began before it has failed.
    fn merges_nothing(&self, line: WorkLine) {
        self.under_way[line as usize].begin(None);
    }
}

impl WorkObserver for WorkRing {
    fn begins(&self, store: &Store, line: WorkLine) {
        self.under_way[line as usize].begin(Some(store.runtime.env.ticks_us()));
    }

    fn merges(&self, store: &Store, line: WorkLine, fragments: &[DatedFragment<'_>], keep: Keep) {
        // Damage is reported by the merge itself.
        if let Ok(dropped) = dropped(fragments, &store.holds, keep) {
            self.drop_cells(line, dropped);
        }
    }

    fn merges_piece(&self, puts: u64, merged: u64, expired: u64, surplus: u64) {
        self.drop_cells(WorkLine::Compaction, Dropped { surplus, expired, deleted: puts.saturating_sub(merged) });
    }

    fn done(&self, store: &Store, done: DoneWork<'_>) {
        let (line, work) = match done {
            DoneWork::Flush { memtable, parts, written } => {
                let work = Work::Flush {
                    reason: why_flushed(memtable, store.runtime.options.memtable_bytes),
                    bytes: memtable.bytes() as u64,
                    entries: memtable.entries(),
                    outputs: outputs(parts),
                    written,
                    dropped: self.dropped(WorkLine::Flush),
                };
                (WorkLine::Flush, work)
            }
            DoneWork::Compaction { tree, reason, inputs, to, outputs: parts, written } => {
                let is_unread = written == 0 && (to.is_none() || !parts.is_empty());
                if is_unread {
                    self.merges_nothing(WorkLine::Compaction);
                }
                let work = Work::Compaction {
                    tree,
                    reason,
                    inputs: inputs_of(tree, &inputs),
                    to: to.map(|to| to as u64),
                    outputs: outputs(parts),
                    written,
                    dropped: self.dropped(WorkLine::Compaction),
                };
                (WorkLine::Compaction, work)
            }
            DoneWork::Split { tree, left, right, at, reason } => {
                self.merges_nothing(WorkLine::Compaction);
                (WorkLine::Compaction, Work::Split { tree, left, right, at: own_key(at).to_vec(), reason })
            }
            DoneWork::Merge { tree, left, right } => {
                self.merges_nothing(WorkLine::Compaction);
                (WorkLine::Compaction, Work::Merge { tree, left, right })
            }
            DoneWork::Index { tree, rows } => (WorkLine::IndexBuild, Work::IndexBuild { tree, rows }),
        };
        self.under_way[line as usize].done.replace(Some(work));
    }

    fn stored(&self, store: &Store, line: WorkLine) {
        let slot = &self.under_way[line as usize];
        let Some(work) = slot.done.take() else { return };
        let began = slot.began.take();
        let took_us = began.map_or(0, |began| store.runtime.env.ticks_us().saturating_sub(began));
        let number = self.last.get() + 1;
        self.last.set(number);
        let mut events = self.events.borrow_mut();
        if events.len() == MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(Rc::new(WorkEvent { number, at: store.runtime.clock.now_ms(), took_us, work }));
        drop(events);
        // Those who wait for events look again.
        store.tell_work_ended();
    }
}

impl WorkHistory for WorkRing {
    fn events(&self, position: u64) -> WorkEvents {
        let events = self.events.borrow();
        let newest = self.last.get();
        // A position of another engine may be behind all events.
        let position = if position > newest { 0 } else { position };
        let first = events.front().map_or(newest + 1, |event| event.number);
        WorkEvents {
            events: events.iter().filter(|event| event.number > position).map(Rc::clone).collect(),
            position: newest,
            lost: first.saturating_sub(position + 1),
        }
    }
}

fn why_flushed(memtable: &Memtable, most: usize) -> FlushReason {
    if memtable.bytes() >= most {
        FlushReason::MemtableFull
    } else if memtable.replay_ns.get() >= LONG_NS {
        FlushReason::LogLong
    } else {
        FlushReason::AskedOrIdle
    }
}

/// Parts to merge, as events tell them.
pub(super) fn inputs_of(tree: TreeId, inputs: &MergedParts<'_>) -> Vec<WorkPart> {
    let one = |&(partition, level, part): &(PartitionId, usize, &Part)| WorkPart {
        partition: Some(partition),
        ..work_part(tree, level, part)
    };
    inputs.iter().map(one).collect()
}

fn outputs(parts: &[NewPart]) -> Vec<WorkPart> {
    parts.iter().map(|(tree, level, part)| work_part(*tree, *level, part)).collect()
}

fn work_part(tree: TreeId, level: usize, part: &Part) -> WorkPart {
    WorkPart {
        segment: part.segment.id.0,
        tree,
        partition: None,
        level: level as u64,
        bytes: part.bytes,
        entries: part.entries,
    }
}

/// The cells of a row that are not written, by why: the same decisions as those of the merge.
fn dropped(fragments: &[DatedFragment<'_>], holds: &Holds, keep: Keep) -> Decoded<Dropped> {
    let mut puts = 0;
    for dated in fragments {
        let mut fragment = dated.fragment.clone();
        while let Some(cell) = fragment.next_cell()? {
            puts += u64::from(is_put(&cell));
        }
    }
    let all_see = fragments.first().is_none_or(|newest| holds.all_see(newest.seqno));
    let mut dropped = Dropped::default();
    let mut merged = 0;
    if all_see {
        let Some(row) = row::collapse(fragments.to_vec())? else { return Ok(dropped) };
        merged = row.cells.iter().filter(|cell| is_put(cell)).count() as u64;
        if let Keep::Retained(retention, now) = keep {
            (dropped.expired, dropped.surplus) = hidden(row.cells, retention, now);
        }
    } else {
        // One entry for each instant that a reader holds; nothing is retained.
        for alike in fragments.chunk_by(|newer, older| !holds.tell_apart(newer.seqno, older.seqno)) {
            let cells = row::collapse(alike.to_vec())?.map(|row| row.cells).unwrap_or_default();
            merged += cells.iter().filter(|cell| is_put(cell)).count() as u64;
        }
    }
    dropped.deleted = puts.saturating_sub(merged);
    Ok(dropped)
}

fn is_put(cell: &CellChange<'_>) -> bool {
    matches!(cell.op, CellOp::Put(..))
}

/// How many of the merged cells of a row are expired, and how many of the others are more than the table keeps.
fn hidden(mut cells: Vec<CellChange<'_>>, retention: Retention, now: i64) -> (u64, u64) {
    let puts = cells.iter().filter(|cell| is_put(cell)).count();
    let is_expired =
        |cell: &&CellChange<'_>| matches!(cell.op, CellOp::Put(version, _) if retention.expired(version, now));
    let expired = cells.iter().filter(is_expired).count();
    row::retain_cells(&mut cells, &retention, now, None);
    (expired as u64, (puts - expired - cells.len()) as u64)
}
