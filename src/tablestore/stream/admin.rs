//! Enabling and disabling streams; ListStream and DescribeStream (ST1).

use super::write::{keep, recorder};
use crate::error::{Error, Result};
use crate::model::{KeyValue, decode_key};
use crate::tablestore::instance::Instance;
use crate::tablestore::state::catalog;
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

impl Instance {
    /// The streams of the instance, or that of one table, of whichever data model (ST1).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn list_stream(&self, table: Option<&str>) -> Result<Vec<StreamDescription>> {
        if let Some(name) = table {
            let table = self.any_table(name)?;
            return Ok(StreamDescription::of(&table).into_iter().collect());
        }
        Ok(self.tables.borrow().values().filter_map(|table| StreamDescription::of(table)).collect())
    }

    /// A stream, and its shards from `first` on (ST1, ST2).
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a wrong limit; `OTSObjectNotExist` for an unknown stream or shard; errors of storing shards.
    pub async fn describe_stream(&self, id: &str, first: Option<i64>, limit: Option<i64>) -> Result<StreamPage> {
        let most = super::read::within("The shard limit", limit, MOST_SHARDS)?;
        let (table, stream) = self.stream(id)?;
        self.trim(&table, &stream).await?;
        self.store_shards(&table, &stream).await?;
        let shards = stream.shards.borrow();
        let behind = first.map_or(Ok(0), |first| {
            shards.all.binary_search_by_key(&first, |one| one.id).map_err(|_| super::read::unknown_shard(first))
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
        let stream = StreamDescription::of(&table).ok_or_else(|| super::read::unknown_stream(id))?;
        let last_seqno = self.engine.last_seqno();
        Ok(StreamPage { stream, shards: described, next: page.next().map(|one| one.id), last_seqno })
    }

    /// The stream with this id, and its table.
    pub(super) fn stream(&self, id: &str) -> Result<(Rc<Table>, Rc<Stream>)> {
        let unknown = || super::read::unknown_stream(id);
        let name = id.rsplitn(3, '_').nth(2).ok_or_else(|| Error::parameter(format!("Invalid stream id: {id}.")))?;
        let table = self.tables.borrow().get(name).map(Rc::clone).ok_or_else(unknown)?;
        let stream = table.stream().filter(|stream| stream.id(table.name()) == id).ok_or_else(unknown)?;
        Ok((table, stream))
    }

    /// A new stream of a table. It is not the table's yet. A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(crate) fn new_stream(&self, table: &Table, hours: u32, columns: Vec<String>) -> Rc<Stream> {
        let now = self.engine.now_ms();
        let stream = Stream::new(self.new_tree(), hours, now, columns, Shards::default());
        let boundaries = self.engine.boundaries_since(table.tree(), &stream.seen).unwrap_or_default();
        *stream.shards.borrow_mut() = Shards::fresh(&boundaries, now);
        stream.shards.borrow_mut().set_stored(self.engine.failures());
        self.engine.set_recorder(recorder);
        Rc::new(stream)
    }

    /// Stores a new state of a table, and enables, changes or disables its stream.
    /// Its future is a gate of [`Module::Streams`](crate::modules::Module::Streams).
    async fn set_stream(&self, table: &Rc<Table>, state: TableState, change: StreamChange) -> Result<()> {
        let wanted = change.check(self.limits(), is_foreign(table.name()))?;
        let done = self.switch_stream(table, state, wanted).await;
        // Those that began before lack what a record needs now. They take no more writes.
        self.transactions.end_of_table(table);
        self.engine.end_loads(table.tree());
        done
    }

    async fn switch_stream(
        &self,
        table: &Rc<Table>,
        state: TableState,
        wanted: Option<(u32, Vec<String>)>,
    ) -> Result<()> {
        match (table.stream(), wanted) {
            (None, None) => self.set_state(table, state).await,
            (Some(stream), None) => {
                stream.ended.set(true);
                let done = self.set_state_and(table, state, vec![catalog::stream(table, None)]).await;
                done.inspect_err(|_| stream.ended.set(false))?;
                table.set_stream(None);
                self.engine.drop_tree(stream.tree);
                Ok(())
            }
            (None, Some((hours, columns))) => {
                let stream = self.new_stream(table, hours, columns);
                let counter = catalog::put_counter(self.next_tree.get());
                let stored = catalog::stream(table, Some(&stream));
                self.set_state_and(table, state, vec![counter, stored]).await?;
                keep(&self.engine, &stream);
                table.set_stream(Some(stream));
                Ok(())
            }
            (Some(stream), Some((hours, columns))) => {
                let before = (stream.hours.replace(hours), stream.columns.replace(columns.into()));
                let stored = vec![catalog::stream(table, Some(&stream))];
                if let Err(error) = self.set_state_and(table, state, stored).await {
                    stream.hours.set(before.0);
                    stream.columns.replace(before.1);
                    return Err(error);
                }
                keep(&self.engine, &stream);
                stream.trimmed.set(i64::MIN);
                Ok(())
            }
        }
    }
}

/// Stores a new state of a table, and enables, changes or disables its stream. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(crate) fn set_stream<'a>(
    instance: &'a Instance,
    table: &'a Rc<Table>,
    state: TableState,
    change: StreamChange,
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(instance.set_stream(table, state, change))
}
