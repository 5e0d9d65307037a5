//! Work on streams, whose code is in a module of its own. What it finds is only lent: so no code of the door is needed to drop it.

use crate::error::Result;
use crate::tablestore::{Instance, StreamDescription, StreamPage, StreamRecords, StreamStart};
use std::pin::Pin;

/// Work on the streams of a table, or on a stream.
pub(super) enum Work<'a> {
    List(Option<&'a str>),
    /// From a shard on, at most so many.
    Describe(&'a str, Option<i64>, Option<i64>),
    Iterator(&'a str, i64, StreamStart),
    /// Behind an iterator, at most so many.
    Records(&'a str, Option<i64>),
}

/// What some work tells.
pub(super) enum Report<'r> {
    Streams(&'r [StreamDescription]),
    Page(&'r StreamPage),
    Iterator(&'r str),
    Records(&'r StreamRecords),
}

/// Does it. A gate of [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(super) fn work<'a>(
    instance: &'a Instance,
    work: Work<'a>,
    tell: &'a mut dyn FnMut(Report<'_>),
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(async move {
        let streams = instance.streams();
        match work {
            Work::List(table) => tell(Report::Streams(&streams.list_stream(table)?)),
            Work::Describe(id, first, limit) => tell(Report::Page(&streams.describe_stream(id, first, limit).await?)),
            Work::Iterator(id, shard, start) => {
                tell(Report::Iterator(&streams.get_shard_iterator(id, shard, start).await?));
            }
            Work::Records(iterator, limit) => {
                let records = streams.get_stream_record(iterator, limit).await.map_err(|failure| failure.error)?;
                tell(Report::Records(&records));
            }
        }
        Ok(())
    })
}
