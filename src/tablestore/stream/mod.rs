//! Streams: the changes of a table's rows, kept for some hours (ST1 to ST3).
//!
//! A change and its record are in the same commit. The records of a table are rows of a tree of their own. Readers find
//! them there like any rows, and compaction removes them when they have expired. Most records say no more than their change
//! does. The log then has the change and the record's place, and the engine makes the record later with [`recorder`](write::recorder).
//!
//! | key of the row | column ` ` (Binary), its version the time of the record |
//! |---|---|
//! | Integer: a shard, Integer: the seqno | a record of one row, or one that names rows of a load |
//! | Integer: less than 0, a load; a row's key | a pack: records of rows up to this one |
//!
//! A shard is a partition between two cuts (ST2). A record names its shard when its write is accepted, in the order of
//! seqnos. When the partitions were cut or merged, the next write ends the shards of before and begins others. So no
//! record of a shard comes behind one of its children.
//!
//! A load takes its seqno only at its end, so the records of its rows lie apart, under its number. At its end each shard
//! gets one record that names them.

pub(super) mod admin;
pub(super) mod load_packs;
mod load_pages;
pub(super) mod read;
pub(super) mod record;
mod record_rows;
pub(super) mod trim;
pub(super) mod write;

pub use admin::{ShardDescription, StreamPage};
pub use read::StreamStart;
pub use record::{StreamRecord, StreamRecords};

use super::state::State;
use super::table::descriptions::StreamDescription;
use super::units::failure::Outcome;
use crate::error::Result;

/// The streams of an instance's tables (ST1 to ST3).
#[derive(Clone, Copy)]
pub struct Streams<'i> {
    pub(crate) state: &'i State,
}

impl Streams<'_> {
    /// The streams of the instance, or that of one table, of whichever data model (ST1).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn list_stream(self, table: Option<&str>) -> Result<Vec<StreamDescription>> {
        admin::list_stream(self.state, table)
    }

    /// A stream, and its shards from `first` on (ST1, ST2).
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a wrong limit; `OTSObjectNotExist` for an unknown stream or shard; errors of storing shards.
    pub fn describe_stream(
        self,
        id: &str,
        first: Option<i64>,
        limit: Option<i64>,
    ) -> impl Future<Output = Result<StreamPage>> {
        admin::describe_stream(self.state, id, first, limit)
    }

    /// The iterator for a shard, from the oldest record on, at a time, or behind the latest (ST1, ST3).
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a malformed stream id; `OTSObjectNotExist`; errors of reading.
    pub fn get_shard_iterator(
        self,
        stream: &str,
        shard: i64,
        start: StreamStart,
    ) -> impl Future<Output = Result<String>> {
        read::get_shard_iterator(self.state, stream, shard, start)
    }

    /// The records of a shard behind an iterator, in the order of their commits (ST1, ST2). At most `limit`, and about 1 MB.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a malformed iterator or limit; `OTSObjectNotExist` if its stream or shard is gone;
    /// `OTSTrimmedDataAccess` if records behind it have expired; errors of reading.
    pub fn get_stream_record(self, iterator: &str, limit: Option<i64>) -> impl Future<Output = Outcome<StreamRecords>> {
        read::get_stream_record(self.state, iterator, limit)
    }

    /// Resolves once one of the iterators, all of one stream, has records behind it or its shard has ended; after the next
    /// change of the stream's table; or after some seconds.
    ///
    /// # Errors
    /// As for [`Streams::get_stream_record`]. Errors of an engine that has ended.
    pub fn await_stream_record(self, iterators: &[String]) -> impl Future<Output = Result<()>> {
        read::await_stream_record(self.state, iterators)
    }
}
