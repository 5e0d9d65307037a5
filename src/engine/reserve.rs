//! What an engine knows of its reserve: how much is stored, and who sees to it. What it is for, `room.rs` tells.

use super::turns::Turns;
use crate::env::LocalFuture;
use crate::storage::{STAGE_BYTES, SegmentId};
use std::cell::{Cell, RefCell};

/// The segments of the reserve: its main part, the record that it is whole, its last part, the mark. Those of leaders have
/// greater ids.
pub(super) const MAIN: SegmentId = SegmentId(0);
pub(super) const WHOLE: SegmentId = SegmentId(1);
pub(super) const LAST: SegmentId = SegmentId(2);
pub(super) const MARK: SegmentId = SegmentId(3);

/// What is given back first.
pub(super) const FIRST_GIVEN: [SegmentId; 2] = [MAIN, WHOLE];

/// How large a reserve of so many bytes leaves the last part.
pub(super) fn last_bytes(bytes: usize) -> usize {
    (bytes / 8).min(STAGE_BYTES)
}

/// What is known of the reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holding {
    #[default]
    Unknown,
    /// The store has never had one.
    Never,
    Whole,
    /// It was given back, or there was no room for it.
    Out,
}

/// What an engine knows of its reserve.
#[derive(Default)]
pub(super) struct Reserve {
    pub(super) held: Cell<Holding>,
    /// How much of it is stored.
    pub(super) bytes: Cell<u64>,
    /// Its size was compared with the one that is wanted.
    pub(super) is_checked: Cell<bool>,
    pub(super) is_marked: Cell<bool>,
    /// How often somebody has wanted it given back.
    pub(super) releases: Cell<u64>,
    /// Whose turn it is to fill it or to give it back.
    pub(super) turns: Turns,
    /// Somebody sees to it in the background.
    pub(super) at_work: Cell<bool>,
    /// The pause that this somebody makes.
    pub(super) pause: RefCell<Option<LocalFuture<()>>>,
    /// It was told that the disk is full: for everything (`true`) or for what adds.
    pub(super) told: Cell<Option<bool>>,
}

impl Reserve {
    /// The reserve of a store that is to keep so many bytes, and had to give them back before it could be opened if it `is_out`.
    pub(super) fn new(bytes: usize, is_out: bool) -> Self {
        let held = match bytes {
            0 => Holding::Whole,
            _ if is_out => Holding::Out,
            _ => Holding::Unknown,
        };
        Self { held: Cell::new(held), ..Self::default() }
    }

    /// Whether room is kept for deletions, and nothing may be added.
    pub(super) fn is_out(&self) -> bool {
        self.held.get() == Holding::Out
    }

    /// Whether somebody should see to it.
    pub(super) fn is_due(&self) -> bool {
        self.held.get() != Holding::Whole && !self.at_work.get()
    }

    /// How often somebody has wanted it given back.
    pub(super) fn releases(&self) -> u64 {
        self.releases.get()
    }

    /// Stored bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Ends the pause and what comes behind it, so that no timer holds on to the memory of an engine that is closed.
    pub(super) fn end(&self) {
        let pause = self.pause.take();
        drop(pause);
    }

    pub(super) fn set(&self, held: Holding, bytes: u64) {
        self.held.set(held);
        self.bytes.set(bytes);
    }
}
