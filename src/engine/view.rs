//! The current data: the version, the memtables, and the visible seqno.

use super::dropped_trees::DroppedTrees;
use super::garbage::Garbage;
use super::manifest::Manifests;
use super::memory::memtable::Memtable;
use super::memory::overlay::Overlay;
use super::part::Segment;
use super::retentions::Retentions;
use super::snapshot::Snapshot;
use super::version::{Edit, SegmentChanges, Version};
use crate::model::TreeId;
use crate::model::version::Retention;
use crate::storage::LogNumber;
use std::collections::VecDeque;
use std::rc::Rc;

/// The current data.
pub(super) struct View {
    pub(super) version: Rc<Version>,
    pub(super) manifests: Manifests,
    /// How often a segment that is still named became mostly unused.
    left_over: u64,
    pub(super) memtable: Rc<Memtable>,
    /// Memtables that wait to be flushed, oldest first.
    pub(super) frozen: VecDeque<Rc<Memtable>>,
    /// The newest write that ordinary reads see.
    visible_seqno: u64,
    /// Stored log records with their sizes; older leadership records are not listed.
    pub(super) log: VecDeque<(LogNumber, u64)>,
    /// Stored segments that the version does not name.
    pub(super) garbage: Garbage,
    pub(super) dropped_trees: DroppedTrees,
    pub(super) retentions: Retentions,
}

impl View {
    /// The data of a version with all writes visible, and an empty memtable.
    pub(super) fn new(manifests: Manifests, version: Version, memtable: Memtable) -> Self {
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
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Rc<Memtable>> {
        self.frozen.iter().chain([&self.memtable])
    }

    /// Whether nothing is in memory.
    pub(super) fn is_flushed(&self) -> bool {
        self.memtable.is_empty() && self.frozen.is_empty()
    }

    /// The newest write that ordinary reads see.
    pub(super) fn visible_seqno(&self) -> u64 {
        self.visible_seqno
    }

    /// Makes writes up to this one visible.
    pub(super) fn show(&mut self, seqno: u64) {
        self.visible_seqno = self.visible_seqno.max(seqno);
    }

    /// How often a segment that is still named became mostly unused.
    pub(super) fn left_over(&self) -> u64 {
        self.left_over
    }

    /// The data for a read of a tree, with an overlay on top; at the present instant unless `seqno` is given.
    pub(super) fn snapshot(
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
    pub(super) fn kept(&self, tree: TreeId, whole: bool, now: i64) -> Retention {
        self.retentions.kept(tree, whole, self.version.log_start, now)
    }

    /// A new memtable takes writes; the old one waits to be flushed.
    pub(super) fn freeze(&mut self, fresh: Memtable) {
        self.frozen.push_back(std::mem::replace(&mut self.memtable, Rc::new(fresh)));
    }

    /// Makes a stored version the current one. `added` are the segments of its edits.
    pub(super) fn adopt(&mut self, manifests: Manifests, version: Version, added: Vec<Rc<Segment>>) {
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
    pub(super) fn doubt(&mut self, edit: &Edit) {
        self.garbage.doubt(edit, &self.version);
    }

    /// The current version is the stored one.
    pub(super) fn settle(&mut self) {
        self.garbage.settle(&self.version);
    }
}
