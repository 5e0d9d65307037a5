//! Streams and watchers: the arguments of their operations, and the answers.

use super::answers::{Answer, Members};
use super::arguments::Arguments;
use super::{tables, watch};
use crate::error::{Error, Result};
use crate::session::codec::contract::admin::Streams;
use crate::tablestore::{Instance, ShardDescription, StreamPage, StreamStart};
use wasm_bindgen::JsValue;

/// Runs an operation.
/// Its future is a gate of [`Module::Streams`](crate::modules::Module::Streams).
pub(super) async fn run(instance: &Instance, op: Streams, arguments: &Arguments) -> Result<JsValue> {
    let text = |name: &'static str| arguments.get::<String>(name);
    match op {
        Streams::ListStream => {
            let table: Option<String> = arguments.get("tableName")?;
            Ok(Answer::list(&instance.streams().list_stream(table.as_deref())?, tables::stream).to_js())
        }
        Streams::DescribeStream => {
            let first = arguments.get::<Option<String>>("inclusiveStartShardId")?;
            let first = first.map(|id| shard(&id)).transpose()?;
            let found =
                instance.streams().describe_stream(&text("streamId")?, first, arguments.get("shardLimit")?).await?;
            Ok(page(&found).to_js())
        }
        Streams::GetShardIterator => {
            let (at, latest) = (arguments.get::<Option<i64>>("timestamp")?, arguments.get::<Option<bool>>("latest")?);
            let beginning: Option<bool> = arguments.get("beginning")?;
            let start = match (at, latest) {
                (Some(_), Some(true)) => {
                    return Err(Error::parameter(
                        "An iterator begins at a time or behind the latest record, not both.",
                    ));
                }
                (Some(at), _) => StreamStart::At(at),
                (None, Some(true)) => StreamStart::Latest,
                (None, _) if beginning == Some(true) => StreamStart::Beginning,
                (None, _) => StreamStart::Oldest,
            };
            let found =
                instance.streams().get_shard_iterator(&text("streamId")?, shard(&text("shardId")?)?, start).await?;
            Ok(found.into())
        }
        Streams::GetStreamRecord => {
            let read = instance.streams().get_stream_record(&text("shardIterator")?, arguments.get("limit")?).await;
            let read = read.map_err(|failure| failure.error)?;
            let answer = Members::default()
                .and("records", Answer::Bytes(&read.records))
                .and("nextShardIterator", read.next.as_deref())
                .and("primaryKey", Answer::texts(&read.columns))
                .and("mayMoreRecord", read.more)
                .and("consumed", Answer::pair(read.consumed.read, read.consumed.write));
            Ok(answer.end().to_js())
        }
        Streams::AwaitChange => watch::changed_rows(instance, arguments).await,
        Streams::AwaitStreamRecord => {
            let iterators: Vec<String> = arguments.get("shardIterators")?;
            instance.streams().await_stream_record(&iterators).await?;
            Ok(JsValue::UNDEFINED)
        }
    }
}

fn shard(id: &str) -> Result<i64> {
    id.parse().map_err(|_| Error::parameter(format!("Invalid shard id: {id}.")))
}

fn page(page: &StreamPage) -> Answer<'_> {
    Members::default()
        .and("stream", tables::stream(&page.stream))
        .and("shards", Answer::list(&page.shards, describe))
        .and("nextShardId", page.next.map(|id| id as f64))
        .and("lastSequence", page.last_seqno as f64)
        .end()
}

fn describe(shard: &ShardDescription) -> Answer<'_> {
    let [parent, sibling] = shard.parents.map(|id| (id > 0).then_some(id as f64));
    Members::default()
        .and("shardId", shard.id as f64)
        .and("parentId", parent)
        .and("parentSiblingId", sibling)
        .and("lowerBound", shard.lower.as_ref().map(Answer::key))
        .and("upperBound", shard.upper.as_ref().map(Answer::key))
        .and("closed", shard.closed)
        .end()
}
