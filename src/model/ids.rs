//! Ids that the engine and its formats share.

/// A tree: the rows of a table partition, an index partition or a stream shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The capacity meter's. Writes of any kind may bring its rows along.
    pub const METER: Self = Self(u32::MAX);
    /// That of the answers to clients in other tabs. Writes of any kind may bring these rows along too.
    pub const ANSWERS: Self = Self(u32::MAX - 1);

    /// Whether its rows come along with those of others.
    pub(crate) fn is_aside(self) -> bool {
        self >= Self::ANSWERS
    }
}

/// The sender of a write, so that a retried request is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The client.
    pub client: u64,
    /// The client's request.
    pub request: u64,
}
