//! Segments to delete, once no reader uses them and it is known that no version names them.

use super::part::Segment;
use super::version::{Edit, Version};
use crate::storage::SegmentId;
use std::rc::Rc;

/// Segments to delete.
#[derive(Default)]
pub(crate) struct Garbage {
    /// No version names them, but a reader may still use them.
    obsolete: Vec<Rc<Segment>>,
    /// They were staged for commits that failed. A version may still name some of them.
    doubtful: Vec<SegmentId>,
}

impl Garbage {
    /// Adds segments that a version no longer names.
    pub(crate) fn extend(&mut self, unused: Vec<Rc<Segment>>) {
        self.obsolete.extend(unused);
    }

    /// Adds a segment that no version came to name. It may be here already: a part that only changed its level keeps its
    /// segment.
    pub(crate) fn add(&mut self, segment: Rc<Segment>) {
        if !self.holds(segment.id) {
            self.obsolete.push(segment);
        }
    }

    /// Whether it is here, so a reader may still use it.
    pub(crate) fn holds(&self, id: SegmentId) -> bool {
        self.obsolete.iter().any(|segment| segment.id == id)
    }

    /// Remembers the segments that were staged for an edit that failed.
    pub(crate) fn doubt(&mut self, edit: &Edit, version: &Version) {
        self.doubtful.extend(edit.add.iter().map(|(_, _, part)| part.segment.id));
        self.settle(version);
    }

    /// Compares with the stored version, as far as it is known.
    pub(crate) fn settle(&mut self, version: &Version) {
        let live = version.segments();
        self.doubtful.retain(|id| !live.contains_key(id));
    }

    /// Whether a segment can be deleted.
    pub(crate) fn has_free(&self, is_certain: bool) -> bool {
        let doubtful = !self.doubtful.is_empty() && is_certain;
        doubtful || self.obsolete.iter().any(|segment| Rc::strong_count(segment) == 1)
    }

    /// Takes segments that no reader uses. If the stored version is known, it also takes staged segments that no version
    /// names.
    pub(crate) fn take_free(&mut self, is_certain: bool) -> (Vec<Rc<Segment>>, Vec<SegmentId>) {
        let (free, held) =
            std::mem::take(&mut self.obsolete).into_iter().partition(|segment| Rc::strong_count(segment) == 1);
        self.obsolete = held;
        (free, if is_certain { std::mem::take(&mut self.doubtful) } else { Vec::new() })
    }

    /// Puts back segments that could not be deleted.
    pub(crate) fn put_back(&mut self, free: Vec<Rc<Segment>>, unnamed: Vec<SegmentId>) {
        self.obsolete.extend(free);
        self.doubtful.extend(unnamed);
    }
}
