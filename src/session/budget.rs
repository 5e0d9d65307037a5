//! A limit for the requests of all sessions together, and the share of each session.
//!
//! A session may take the whole limit while others need nothing. When the whole limit is taken, a session below its
//! share may still take more. So the requests of one session never block the start of another's. All sessions together
//! take at most twice the limit.

use std::cell::Cell;

/// A number of bytes or of frames.
pub(super) struct Budget {
    most: usize,
    used: Cell<usize>,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self { most, used: Cell::new(0) }
    }

    /// Whether part of the limit is free.
    pub(super) fn is_free(&self) -> bool {
        self.used.get() < self.most
    }

    /// Whether a session that has taken `own` may take `more`, when there are `sessions` of them.
    pub(super) fn has_room(&self, own: usize, more: usize, sessions: usize) -> bool {
        let fits = |used: usize, most: usize| used.saturating_add(more) <= most;
        fits(self.used.get(), self.most) || fits(own, self.share(sessions))
    }

    /// Whether half of the limit is free, or half of the session's share. An earlier start does not pay: requests that
    /// start together share a commit.
    pub(super) fn is_half_free(&self, own: usize, sessions: usize) -> bool {
        self.used.get() <= self.most / 2 || own <= self.share(sessions) / 2
    }

    /// A session takes this much more.
    pub(super) fn take(&self, own: &Cell<usize>, more: usize) {
        own.set(own.get() + more);
        self.used.set(self.used.get() + more);
    }

    /// A session gives this much back.
    pub(super) fn give_back(&self, own: &Cell<usize>, less: usize) {
        own.set(own.get().saturating_sub(less));
        self.used.set(self.used.get().saturating_sub(less));
    }

    fn share(&self, sessions: usize) -> usize {
        self.most / sessions.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_may_take_all_or_its_share_where_others_have_taken_all() {
        let (budget, greedy, modest) = (Budget::new(100), Cell::new(0), Cell::new(0));
        assert!(budget.has_room(greedy.get(), 100, 2) && !budget.has_room(greedy.get(), 101, 2));
        budget.take(&greedy, 100);
        assert!(!budget.has_room(greedy.get(), 1, 2));
        assert!(budget.has_room(modest.get(), 50, 2) && !budget.has_room(modest.get(), 51, 2));
        budget.take(&modest, 50);
        assert!(!budget.is_half_free(greedy.get(), 2) && !budget.is_half_free(modest.get(), 2));
        budget.give_back(&modest, 25);
        assert!(
            !budget.is_half_free(greedy.get(), 2) && budget.is_half_free(modest.get(), 2),
            "its share is half free"
        );
        budget.give_back(&greedy, 75);
        assert!(budget.is_half_free(modest.get(), 2) && budget.has_room(greedy.get(), 50, 2));
    }
}
