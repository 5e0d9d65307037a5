//! What components tell those above them.

/// What a component tells, for others to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A commit is stored: the version may be another, segments may be free, a memtable may be full.
    Committed,
    /// A commit has failed for want of room.
    DiskFull,
    /// Nothing waits for a commit any more, but for writes that wait for a flush.
    NothingToCommit,
    /// A second of the steady clock is over, as an operation or a commit has found.
    SecondOver,
    /// Room was freed in the storage.
    RoomFreed,
    /// Background work may be due.
    WorkDue,
    /// The engine has ended.
    Ended,
}

/// Hears of components that do not know those above them: the engine, which wires them.
pub(crate) trait Wiring {
    /// Has the components do what follows from the news.
    fn act_on(&self, news: News);
}
