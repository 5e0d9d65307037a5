//! What parts tell those above them.

/// What the commit loop has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// A commit is stored: the version may be another, segments may be free, a memtable may be full.
    Stored,
    /// A commit has failed for want of room.
    DiskFull,
    /// Nothing waits for a commit any more, but for writes that wait for a flush.
    AllDone,
}

/// What the parts of an engine tell those above them, which they do not know.
pub(crate) trait Wiring {
    /// The commit loop has come to a point at which other work may be due.
    fn committed(&self, done: Committed);

    /// A second of the steady clock is over, as an operation or a commit has found.
    fn second_over(&self);

    /// Room was freed in the storage.
    fn room_freed(&self);

    /// Background work may be due.
    fn work_due(&self);

    /// The engine has ended.
    fn ended(&self);
}
