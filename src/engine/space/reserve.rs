//! The state of the reserve: its stored size, and the task that fills it. `room.rs` explains its purpose.

use crate::collections::turns::Turns;
use crate::env::LocalFuture;
use crate::storage::{STAGE_BYTES, SegmentId};
use std::cell::{Cell, RefCell};

/// The segments of the reserve: its main part, the record that it is whole, its last part, the mark. Leaders' segments
/// have greater ids.
pub(crate) const MAIN: SegmentId = SegmentId(0);
pub(crate) const WHOLE: SegmentId = SegmentId(1);
pub(crate) const LAST: SegmentId = SegmentId(2);
pub(crate) const MARK: SegmentId = SegmentId(3);

/// The parts that are deleted first.
pub(crate) const FIRST_GIVEN: [SegmentId; 2] = [MAIN, WHOLE];

/// The size of the last part in a reserve of so many bytes.
pub(crate) fn last_bytes(bytes: usize) -> usize {
    (bytes / 8).min(STAGE_BYTES)
}

/// What had been given back when an attempt to store something began. What was given since may be enough for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// How often the reserve's deletion was asked for.
    pub(crate) releases: u64,
    /// Whether the second cache had given its room.
    pub(crate) second_given: bool,
}

/// The known state of the reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holding {
    #[default]
    Unknown,
    /// The store never had one.
    Never,
    Whole,
    /// It was deleted, or there was no room for it.
    Out,
}

/// The reserve.
#[derive(Default)]
pub(crate) struct Reserve {
    pub(crate) held: Cell<Holding>,
    /// Its stored bytes.
    pub(crate) bytes: Cell<u64>,
    /// Its size was compared with the wanted one.
    pub(crate) is_checked: Cell<bool>,
    pub(crate) is_marked: Cell<bool>,
    /// How often its deletion was asked for.
    pub(crate) releases: Cell<u64>,
    /// How often the storage gave back the room of what was deleted, since the last commit of writes.
    pub(crate) squeezes: Cell<u32>,
    /// Turns for filling and deleting it.
    pub(crate) turns: Turns,
    /// A background task takes care of it.
    pub(crate) at_work: Cell<bool>,
    /// The pause of that task.
    pub(crate) pause: RefCell<Option<LocalFuture<()>>>,
    /// The second cache has given its room back. It does so once.
    pub(crate) second_given: Cell<bool>,
    /// A full disk was reported: for all writes (`true`) or for those that add.
    pub(crate) told: Cell<Option<bool>>,
}

impl Reserve {
    /// A reserve of `bytes`. `is_out` if the opening itself had to delete it, except its last part.
    pub(crate) fn new(bytes: usize, is_out: bool) -> Self {
        let held = match bytes {
            0 => Holding::Whole,
            _ if is_out => Holding::Out,
            _ => Holding::Unknown,
        };
        let left = if is_out { last_bytes(bytes) as u64 } else { 0 };
        Self { held: Cell::new(held), bytes: Cell::new(left), ..Self::default() }
    }

    /// Whether its room is for deletions now, and nothing may be added.
    pub(crate) fn is_out(&self) -> bool {
        self.held.get() == Holding::Out
    }

    /// Whether it needs the background task.
    pub(crate) fn is_due(&self) -> bool {
        self.held.get() != Holding::Whole && !self.at_work.get()
    }

    /// How often its deletion was asked for.
    pub(crate) fn releases(&self) -> u64 {
        self.releases.get()
    }

    /// Stored bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Ends the pause and the task behind it, so that no timer holds the memory of a closed engine.
    pub(crate) fn end(&self) {
        let pause = self.pause.take();
        drop(pause);
    }

    pub(crate) fn set(&self, held: Holding, bytes: u64) {
        self.held.set(held);
        self.bytes.set(bytes);
    }
}
