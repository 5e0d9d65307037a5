//! Segments that are to be deleted, once nobody reads them and it is known that no version names them.

use super::part::Segment;
use super::version::{Edit, Version};
use crate::storage::SegmentId;
use std::rc::Rc;

/// Segments that are to be deleted.
#[derive(Default)]
pub(super) struct Garbage {
    /// No version names them, and somebody may still read them.
    obsolete: Vec<Rc<Segment>>,
    /// They were staged for commits that failed. Of some it is not known yet whether a version names them.
    doubtful: Vec<SegmentId>,
}

impl Garbage {
    /// A version has given them up.
    pub(super) fn extend(&mut self, unused: Vec<Rc<Segment>>) {
        self.obsolete.extend(unused);
    }

    /// No version came to name it. A part that only changed its level may have been given up before.
    pub(super) fn add(&mut self, segment: Rc<Segment>) {
        if !self.holds(segment.id) {
            self.obsolete.push(segment);
        }
    }

    /// Whether it is here, and may still be read.
    pub(super) fn holds(&self, id: SegmentId) -> bool {
        self.obsolete.iter().any(|segment| segment.id == id)
    }

    /// Remembers what was staged for an edit that failed.
    pub(super) fn doubt(&mut self, edit: &Edit, version: &Version) {
        self.doubtful.extend(edit.add.iter().map(|(_, _, part)| part.segment.id));
        self.settle(version);
    }

    /// This is the version that is stored, as far as is known.
    pub(super) fn settle(&mut self, version: &Version) {
        let live = version.segments();
        self.doubtful.retain(|id| !live.contains_key(id));
    }

    /// Whether something can be deleted.
    pub(super) fn has_free(&self, is_certain: bool) -> bool {
        let doubtful = !self.doubtful.is_empty() && is_certain;
        doubtful || self.obsolete.iter().any(|segment| Rc::strong_count(segment) == 1)
    }

    /// What nobody reads any more; and if it is known what is stored, what was staged and is named by no version.
    pub(super) fn take_free(&mut self, is_certain: bool) -> (Vec<Rc<Segment>>, Vec<SegmentId>) {
        let (free, held) =
            std::mem::take(&mut self.obsolete).into_iter().partition(|segment| Rc::strong_count(segment) == 1);
        self.obsolete = held;
        (free, if is_certain { std::mem::take(&mut self.doubtful) } else { Vec::new() })
    }

    /// They could not be deleted.
    pub(super) fn put_back(&mut self, free: Vec<Rc<Segment>>, unnamed: Vec<SegmentId>) {
        self.obsolete.extend(free);
        self.doubtful.extend(unnamed);
    }
}
