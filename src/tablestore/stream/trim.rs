//! The end of expired records, and what is stored of shards.

use super::record_rows::{record_of, records_between, seqno_of};
use super::write::SLACK_MS;
use crate::engine::{Decide, Direction, Engine, RowView, Writes};
use crate::error::Result;
use crate::model::KeyReader;
use crate::tablestore::state::{State, catalog_rows};
use crate::tablestore::table::Table;
use crate::tablestore::table::shards::Shard;
use crate::tablestore::table::stream::{HOUR_MS, Stream};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;

/// Marks records that have expired, so that a reader who comes late is told, and lets compaction remove them. Does nothing
/// if that was done lately.
///
/// # Errors
/// Errors of reading, and of storing the marks. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(super) fn mark_expired<'a>(
    state: &'a State,
    table: &'a Rc<Table>,
    stream: &'a Rc<Stream>,
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(async move {
        let now = state.engine.clock().now_ms();
        if state.engine.is_read_only() || !stream.is_old(now) {
            return Ok(());
        }
        let oldest = state.engine.expiry_ms().saturating_sub(i64::from(stream.hours.get()) * HOUR_MS);
        let kept: Vec<(i64, u64)> = stream.shards.borrow().all.iter().map(|shard| (shard.id, shard.trimmed)).collect();
        let (mut marks, mut empty) = (Vec::new(), Vec::new());
        for (id, trimmed) in kept {
            let (mark, rest) = last_expired(state, stream, id, trimmed, (oldest, now.saturating_add(SLACK_MS))).await?;
            marks.extend(mark.map(|seqno| (id, seqno)));
            if !rest {
                empty.push(id);
            }
        }
        let changed = {
            let mut shards = stream.shards.borrow_mut();
            let before = shards.all.clone();
            for (id, seqno) in marks {
                shards.get_mut(id).iter_mut().for_each(|shard| shard.trimmed = seqno);
            }
            shards.forget(|shard: &Shard| {
                empty.contains(&shard.id) && shard.closed.is_some_and(|closed| closed < oldest)
            });
            let changed = shards.all != before;
            if changed {
                shards.touch();
            }
            changed
        };
        if changed {
            store_shards(state, table, stream).await?;
        }
        stream.trimmed.set(now);
        state.engine.set_floor(stream.tree, oldest.saturating_sub(SLACK_MS));
        Ok(())
    })
}

/// The seqno of the last expired record of a shard, in the order of seqnos, and whether there are others behind it. Records
/// from beyond `ahead` count as expired: the clock was wrong when they were made.
async fn last_expired(
    state: &State,
    stream: &Stream,
    shard: i64,
    after: u64,
    (oldest, ahead): (i64, i64),
) -> Result<(Option<u64>, bool)> {
    let (mut last, mut passed, mut rest, mut keys) = (None, None, false, KeyReader::default());
    let see = &mut |key: &[u8], row: &RowView<'_>| {
        let time = record_of(row).map_or(i64::MIN, |(time, _)| time);
        rest = (oldest..ahead).contains(&time);
        if rest {
            return ControlFlow::Break(());
        }
        passed = Some(seqno_of(&mut keys, key));
        if time < oldest {
            last = passed;
        }
        ControlFlow::Continue(())
    };
    state.engine.scan(stream.tree, records_between(shard, after, None), Direction::Forward, see).await?;
    // Records from the future alone stay until their time has come.
    Ok((last, rest || passed > last))
}

/// Marks expired records of all streams, in the background, where that is due.
pub(crate) fn trim_streams(state: &State) {
    state.catalog.all().values().for_each(|table| trim_soon(state, table));
}

/// Marks expired records of the stream of one table, in the background, if that is due.
pub(crate) fn trim_soon(state: &State, table: &Rc<Table>) {
    let Some(stream) =
        table.stream().filter(|stream| !stream.trims.get() && stream.is_old(state.engine.clock().now_ms()))
    else {
        return;
    };
    let Some(me) = state.me.upgrade() else { return };
    stream.trims.set(true);
    let table = Rc::clone(table);
    state.engine.spawn(Box::pin(async move {
        if let Err(error) = mark_expired(&me, &table, &stream).await {
            log::warn!("expired records of a stream stay for now: {error}");
        }
        stream.trims.set(false);
    }));
}

/// Stores the shards, if they have changed since they were stored.
pub(super) async fn store_shards(state: &State, table: &Rc<Table>, stream: &Rc<Stream>) -> Result<()> {
    if state.engine.is_read_only() || stream.shards.borrow().is_stored(state.engine.failures()) {
        return Ok(());
    }
    let key = catalog_rows::stream_key(table.name());
    let mut put = PutShards { engine: &state.engine, table, stream };
    state.engine.write_unseen(&[(catalog_rows::TREE, &key)], None, &mut put).await
}

struct PutShards<'a> {
    engine: &'a Engine,
    table: &'a Table,
    stream: &'a Stream,
}

impl Decide for PutShards<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let Self { engine, table, stream } = self;
        stream.follow(engine, table, stream.time(engine), writes);
    }
}
