//! Enabling and disabling streams; ListStream and DescribeStream (ST1).

use super::read::{stream_of, unknown_shard, unknown_stream, within};
use super::trim::{mark_expired, store_shards};
use super::write::recorder;
use crate::error::Result;
use crate::model::{KeyValue, decode_key};
use crate::tablestore::state::State;
use crate::tablestore::state::catalog_rows;
use crate::tablestore::table::descriptions::{StreamChange, StreamDescription};
use crate::tablestore::table::foreign_names::is_foreign;
use crate::tablestore::table::shards::Shards;
use crate::tablestore::table::stream::Stream;
use crate::tablestore::table::{Table, TableState};
use std::pin::Pin;
use std::rc::Rc;

/// The most shards that one DescribeStream returns.
const MOST_SHARDS: usize = 100;

/// A shard of a stream, as DescribeStream shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardDescription {
    /// Its id.
    pub id: i64,
    /// The shards to read before it; 0 if there is none. They may be kept no more.
    pub parents: [i64; 2],
    /// The first partition key value; none for the first shard.
    pub lower: Option<KeyValue>,
    /// The one behind it; none for the last shard.
    pub upper: Option<KeyValue>,
    /// Whether it gets no more records.
    pub closed: bool,
}

/// The result of DescribeStream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPage {
    /// The stream.
    pub stream: StreamDescription,
    /// Some of its shards, ascending by id.
    pub shards: Vec<ShardDescription>,
    /// The first shard of the next page.
    pub next: Option<i64>,
    /// The seqno of the newest write: records of later writes have higher ones.
    pub last_seqno: u64,
}

/// See [`Streams::list_stream`](super::Streams::list_stream).
pub(crate) fn list_stream(state: &State, table: Option<&str>) -> Result<Vec<StreamDescription>> {
    if let Some(name) = table {
        let table = state.catalog.any(name)?;
        return Ok(StreamDescription::of(&table).into_iter().collect());
    }
    Ok(state.catalog.all().values().filter_map(|table| StreamDescription::of(table)).collect())
}

/// See [`Streams::describe_stream`](super::Streams::describe_stream).
pub(crate) async fn describe_stream(
    state: &State,
    id: &str,
    first: Option<i64>,
    limit: Option<i64>,
) -> Result<StreamPage> {
    let most = within("The shard limit", limit, MOST_SHARDS)?;
    let (table, stream) = stream_of(state, id)?;
    mark_expired(state, &table, &stream).await?;
    store_shards(state, &table, &stream).await?;
    let shards = stream.shards.borrow();
    let behind = first.map_or(Ok(0), |first| {
        shards.all.binary_search_by_key(&first, |one| one.id).map_err(|_| unknown_shard(first))
    })?;
    let mut page = shards.all.iter().skip(behind);
    let value = |key: &[u8]| decode_key(key).and_then(|mut key| key.pop());
    let described = page.by_ref().take(most).map(|one| ShardDescription {
        id: one.id,
        parents: [one.parent, one.sibling],
        lower: value(&one.from),
        upper: value(&one.to),
        closed: one.closed.is_some(),
    });
    let described = described.collect();
    let stream = StreamDescription::of(&table).ok_or_else(|| unknown_stream(id))?;
    let last_seqno = state.engine.last_seqno();
    Ok(StreamPage { stream, shards: described, next: page.next().map(|one| one.id), last_seqno })
}

/// A new stream of a table. It is not the table's yet. A gate of [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(crate) fn new_stream(state: &State, table: &Table, hours: u32, columns: Vec<String>) -> Rc<Stream> {
    let now = state.engine.clock().now_ms();
    let stream = Stream::new(state.catalog.new_tree(), hours, now, columns, Shards::default());
    let boundaries = state.engine.boundaries_since(table.tree(), &stream.seen).unwrap_or_default();
    *stream.shards.borrow_mut() = Shards::fresh(&boundaries, now);
    stream.shards.borrow_mut().set_stored(state.engine.failures());
    state.engine.set_recorder(recorder);
    Rc::new(stream)
}

/// Stores a new state of a table, and enables, changes or disables its stream. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(crate) fn set_stream<'a>(
    state: &'a State,
    table: &'a Rc<Table>,
    new: TableState,
    change: StreamChange,
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(async move {
        let wanted = change.check(state.limits(), is_foreign(table.name()))?;
        let done = switch_stream(state, table, new, wanted).await;
        // Those that began before lack what a record needs now. They take no more writes.
        state.transactions.end_of_table(table);
        state.engine.end_loads(table.tree());
        done
    })
}

async fn switch_stream(
    state: &State,
    table: &Rc<Table>,
    new: TableState,
    wanted: Option<(u32, Vec<String>)>,
) -> Result<()> {
    match (table.stream(), wanted) {
        (None, None) => state.set_state(table, new).await,
        (Some(stream), None) => {
            stream.ended.set(true);
            let done = state.set_state_and(table, new, vec![catalog_rows::stream(table, None)]).await;
            done.inspect_err(|_| stream.ended.set(false))?;
            table.set_stream(None);
            state.engine.drop_tree(stream.tree);
            Ok(())
        }
        (None, Some((hours, columns))) => {
            let stream = new_stream(state, table, hours, columns);
            let counter = catalog_rows::put_counter(state.catalog.next_tree());
            let stored = catalog_rows::stream(table, Some(&stream));
            state.set_state_and(table, new, vec![counter, stored]).await?;
            stream.keep(&state.engine);
            table.set_stream(Some(stream));
            Ok(())
        }
        (Some(stream), Some((hours, columns))) => {
            let before = (stream.hours.replace(hours), stream.columns.replace(columns.into()));
            let stored = vec![catalog_rows::stream(table, Some(&stream))];
            if let Err(error) = state.set_state_and(table, new, stored).await {
                stream.hours.set(before.0);
                stream.columns.replace(before.1);
                return Err(error);
            }
            stream.keep(&state.engine);
            stream.trimmed.set(i64::MIN);
            Ok(())
        }
    }
}
