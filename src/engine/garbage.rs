//! Segments that are to be deleted, once nobody reads them and it is known that no version names them.

use super::part::Segment;
use super::version::{Edit, Version};
use crate::storage::SegmentId;
use std::cell::RefCell;
use std::rc::Rc;

/// Segments that are to be deleted.
#[derive(Default)]
pub(super) struct Garbage {
    /// No version names them, and somebody may still read them.
    obsolete: RefCell<Vec<Rc<Segment>>>,
    /// They were staged for commits that failed. Of some it is not known yet whether a version names them.
    doubtful: RefCell<Vec<SegmentId>>,
}

impl Garbage {
    /// A version has given them up.
    pub(super) fn extend(&self, unused: Vec<Rc<Segment>>) {
        self.obsolete.borrow_mut().extend(unused);
    }

    /// No version came to name it. One that only changed its level may be here already.
    pub(super) fn add(&self, segment: Rc<Segment>) {
        if !self.holds(segment.id) {
            self.obsolete.borrow_mut().push(segment);
        }
    }

    /// Whether it is here, and may still be read.
    pub(super) fn holds(&self, id: SegmentId) -> bool {
        self.obsolete.borrow().iter().any(|segment| segment.id == id)
    }

    /// Remembers what was staged for an edit that failed.
    pub(super) fn doubt(&self, edit: &Edit, version: &Version) {
        let live = version.segments();
        let staged = edit.add.iter().map(|(_, _, part)| part.segment.id);
        self.doubtful.borrow_mut().extend(staged.filter(|id| !live.contains_key(id)));
    }

    /// It is known now which version is stored.
    pub(super) fn settle(&self, version: &Version) {
        let live = version.segments();
        self.doubtful.borrow_mut().retain(|id| !live.contains_key(id));
    }

    /// Whether something can be deleted.
    pub(super) fn has_free(&self, is_certain: bool) -> bool {
        let doubtful = !self.doubtful.borrow().is_empty() && is_certain;
        doubtful || self.obsolete.borrow().iter().any(|segment| Rc::strong_count(segment) == 1)
    }

    /// What nobody reads any more; and if it is known what is stored, what was staged and is named by no version.
    pub(super) fn take_free(&self, is_certain: bool) -> (Vec<Rc<Segment>>, Vec<SegmentId>) {
        let (free, held) = self.obsolete.take().into_iter().partition(|segment| Rc::strong_count(segment) == 1);
        self.obsolete.replace(held);
        (free, if is_certain { self.doubtful.take() } else { Vec::new() })
    }

    /// They could not be deleted.
    pub(super) fn put_back(&self, free: Vec<Rc<Segment>>, unnamed: Vec<SegmentId>) {
        self.obsolete.borrow_mut().extend(free);
        self.doubtful.borrow_mut().extend(unnamed);
    }
}
