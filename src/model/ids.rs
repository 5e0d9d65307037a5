//! Ids that the engine, its formats and the storage share.

/// A tree: the rows of a table partition, an index partition or a stream shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The capacity meter's. Writes of any kind may bring its rows along.
    pub const METER: Self = Self(u32::MAX);
    /// That of the answers to clients in other tabs. Writes of any kind may bring these rows along too.
    pub const ANSWERS: Self = Self(u32::MAX - 1);
    /// That of documents of other data models.
    pub const DOCUMENTS: Self = Self(u32::MAX - 2);

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

/// The place of a change's record in a stream. The record itself is made later, from the change (ST1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The tree of the stream's records.
    pub tree: TreeId,
    /// The shard.
    pub shard: i64,
    /// The time of the record, ms since 1970 UTC.
    pub time: i64,
}

/// What the log says of a write besides its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteNote {
    /// The request that asked for it.
    pub origin: Option<Origin>,
    /// The record that it has in a stream, if that is not a row of its own.
    pub record: Option<RecordPlace>,
}

/// The number of a log record; consecutive, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogNumber(pub u64);

/// The number of a manifest; consecutive, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestId(pub u64);

/// The id of a segment; never reused in an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u64);

/// One stored record of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The segment.
    pub segment: SegmentId,
    /// The record's number in the segment, from 0.
    pub block: u32,
}
