//! Enabling and disabling streams; ListStream and DescribeStream (ST1).

use super::{Shards, Stream, recorder};
use crate::error::{Error, Result};
use crate::model::{ColumnName, KeyValue, Limits, decode_key, limits};
use crate::tablestore::foreign::{is_foreign, may_be_foreign_column};
use crate::tablestore::instance::Instance;
use crate::tablestore::state::catalog;
use crate::tablestore::table::{Table, TableState};
use serde::Deserialize;
use std::pin::Pin;
use std::rc::Rc;

/// The most shards that one DescribeStream returns.
const MOST_SHARDS: usize = 100;

/// The stream to set for a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamChange {
    /// Whether changes are recorded from now on. Disabling drops the records.
    pub enabled: bool,
    /// How long records are kept, in hours: 1 to 168. Needed to enable one.
    pub expiration_hours: Option<i64>,
    /// The columns whose old values records have too; none by default.
    pub origin_columns: Option<Vec<String>>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamDescription {
    /// Its id.
    pub id: String,
    /// Its table.
    pub table: String,
    /// How long records are kept, in hours.
    pub hours: u32,
    /// When it was enabled, ms since 1970 UTC.
    pub enabled: i64,
    /// The columns whose old values records have.
    pub columns: Vec<String>,
}

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

impl StreamChange {
    /// Checks it. `None` disables the stream. The columns of a table of another data model have other names.
    pub(in crate::tablestore) fn check(self, limits: &Limits, foreign: bool) -> Result<Option<(u32, Vec<String>)>> {
        if !self.enabled {
            let extra = self.expiration_hours.is_some_and(|hours| hours != 0) || self.origin_columns.is_some();
            let text = "A stream that is not enabled has neither an expiration time nor origin columns.";
            return if extra { Err(Error::parameter(text)) } else { Ok(None) };
        }
        let (least, most) = (limits::STREAM_HOURS.start(), limits::STREAM_HOURS.end());
        let hours = self.expiration_hours.and_then(|hours| u32::try_from(hours).ok());
        let hours = hours.filter(|hours| limits::STREAM_HOURS.contains(hours)).ok_or_else(|| {
            Error::parameter(format!("The expiration time of a stream must be in range: [{least}, {most}]."))
        })?;
        let columns = self.origin_columns.unwrap_or_default();
        for name in &columns {
            if !foreign {
                ColumnName::parse(name, limits.names)?;
            } else if !may_be_foreign_column(name) {
                return Err(Error::parameter(format!("Invalid column name: '{name}'.")));
            }
        }
        Ok(Some((hours, columns)))
    }
}

impl StreamDescription {
    pub(in crate::tablestore) fn of(table: &Table) -> Option<Self> {
        let stream = table.stream()?;
        Some(Self {
            id: stream.id(table),
            table: table.name().to_owned(),
            hours: stream.hours.get(),
            enabled: stream.enabled,
            columns: stream.columns().to_vec(),
        })
    }
}

impl Stream {
    /// The id of the stream. A stream that is enabled again has another one.
    pub(super) fn id(&self, table: &Table) -> String {
        format!("{}_{}_{}", table.name(), self.enabled, self.tree.0)
    }
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
        let stream = table.stream().filter(|stream| stream.id(&table) == id).ok_or_else(unknown)?;
        Ok((table, stream))
    }

    /// A new stream of a table. It is not the table's yet. A gate of [`Module::Streams`](crate::modules::Module::Streams).
    #[inline(never)]
    pub(in crate::tablestore) fn new_stream(&self, table: &Table, hours: u32, columns: Vec<String>) -> Rc<Stream> {
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
                super::keep(&self.engine, &stream);
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
                super::keep(&self.engine, &stream);
                stream.trimmed.set(i64::MIN);
                Ok(())
            }
        }
    }
}

/// Stores a new state of a table, and enables, changes or disables its stream. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(in crate::tablestore) fn set_stream<'a>(
    instance: &'a Instance,
    table: &'a Rc<Table>,
    state: TableState,
    change: StreamChange,
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(instance.set_stream(table, state, change))
}
