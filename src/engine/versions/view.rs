//! The current data: the version, the memtables, and the visible seqno.

use super::dropped_trees::DroppedTrees;
use super::garbage::Garbage;
use super::manifest::Manifests;
use super::part::Segment;
use super::retentions::Retentions;
use super::snapshot::Snapshot;
use super::version::{Edit, SegmentChanges, Version};
use crate::engine::memory::memtable::Memtable;
use crate::engine::memory::overlay::Overlay;
use crate::model::TreeId;
use crate::model::version::Retention;
use crate::storage::LogNumber;
use std::collections::VecDeque;
use std::rc::Rc;

/// The current data.
pub(crate) struct View {
    pub(crate) version: Rc<Version>,
    pub(crate) manifests: Manifests,
    /// How often a segment that is still named became mostly unused.
    left_over: u64,
    pub(crate) memtable: Rc<Memtable>,
    /// Memtables that wait to be flushed, oldest first.
    pub(crate) frozen: VecDeque<Rc<Memtable>>,
    /// The newest write that ordinary reads see.
    visible_seqno: u64,
    /// Stored log records with their sizes; older leadership records are not listed.
    pub(crate) log: VecDeque<(LogNumber, u64)>,
    /// Stored segments that the version does not name.
    pub(crate) garbage: Garbage,
    pub(crate) dropped_trees: DroppedTrees,
    pub(crate) retentions: Retentions,
}

impl View {
    /// The data of a version with all writes visible, and an empty memtable.
    pub(crate) fn new(manifests: Manifests, version: Version, memtable: Memtable) -> Self {
        version.follow(&Version::default());
        Self {
            visible_seqno: version.next_seqno.max(1) - 1,
            version: Rc::new(version),
            manifests,
            left_over: 0,
            memtable: Rc::new(memtable),
            frozen: VecDeque::new(),
            log: VecDeque::new(),
            garbage: Garbage::default(),
            dropped_trees: DroppedTrees::default(),
            retentions: Retentions::default(),
        }
    }

    /// All memtables, oldest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Rc<Memtable>> {
        self.frozen.iter().chain([&self.memtable])
    }

    /// Whether nothing is in memory.
    pub(crate) fn is_flushed(&self) -> bool {
        self.memtable.is_empty() && self.frozen.is_empty()
    }

    /// The newest write that ordinary reads see.
    pub(crate) fn visible_seqno(&self) -> u64 {
        self.visible_seqno
    }

    /// Makes writes up to this one visible.
    pub(crate) fn show(&mut self, seqno: u64) {
        self.visible_seqno = self.visible_seqno.max(seqno);
    }

    /// How often a segment that is still named became mostly unused.
    pub(crate) fn left_over(&self) -> u64 {
        self.left_over
    }

    /// The data for a read of a tree, with an overlay on top; at the present instant unless `seqno` is given.
    pub(crate) fn snapshot(
        &self,
        overlay: Option<&Overlay>,
        tree: TreeId,
        seqno: Option<u64>,
        images: u64,
    ) -> Snapshot {
        let mut memtables = Vec::new();
        let mut add = |memtable: &Rc<Memtable>| {
            if !memtable.is_empty() {
                memtables.push(Rc::clone(memtable));
            }
        };
        if let Some(overlay) = overlay {
            add(&overlay.memtable);
        }
        add(&self.memtable);
        self.frozen.iter().rev().for_each(add);
        Snapshot {
            memtables,
            tree: self.version.trees.get(&tree).map(Rc::clone),
            seqno: seqno.unwrap_or(self.visible_seqno),
            images,
        }
    }

    /// The retention for a merge with nothing below it when the clock shows `now`; `whole`: it has everything newer too.
    pub(crate) fn kept(&self, tree: TreeId, whole: bool, now: i64) -> Retention {
        self.retentions.kept(tree, whole, self.version.log_start, now)
    }

    /// A new memtable takes writes; the old one waits to be flushed.
    pub(crate) fn freeze(&mut self, fresh: Memtable) {
        self.frozen.push_back(std::mem::replace(&mut self.memtable, Rc::new(fresh)));
    }

    /// Makes a stored version the current one. `added` are the segments of its edits.
    pub(crate) fn adopt(&mut self, manifests: Manifests, version: Version, added: Vec<Rc<Segment>>) {
        let SegmentChanges { unused, left_over } = version.follow(&self.version);
        self.garbage.extend(unused);
        added.into_iter().filter(|segment| segment.is_new()).for_each(|segment| self.garbage.add(segment));
        self.left_over += u64::from(left_over);
        while self.log.front().is_some_and(|(number, _)| *number < version.log_start) {
            self.log.pop_front();
        }
        self.version = Rc::new(version);
        self.manifests = manifests;
    }

    /// Remembers the segments that were staged for an edit that failed.
    pub(crate) fn doubt(&mut self, edit: &Edit) {
        self.garbage.doubt(edit, &self.version);
    }

    /// The current version is the stored one.
    pub(crate) fn settle(&mut self) {
        self.garbage.settle(&self.version);
    }
}
