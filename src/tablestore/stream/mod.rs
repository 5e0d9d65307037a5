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
pub(super) mod load;
mod loaded;
pub(super) mod read;
pub(super) mod record;
pub(super) mod write;

pub use admin::{ShardDescription, StreamPage};
pub use read::StreamStart;
pub use record::{StreamRecord, StreamRecords};
