//! Tables and indexes: the arguments of their operations, and their descriptions.

use super::answers::{Answer, Members};
use super::arguments::Arguments;
use crate::error::{Error, Result};
use crate::model::{IndexKind, KeyColumn, KeyType, TableSchema};
use crate::tablestore::{
    CreateTable, IndexDescription, IndexSpec, MissingRows, PartitionDescription, StreamDescription, TableDescription,
    UpdateTable,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewKeyColumn {
    r#type: String,
    name: String,
    auto_increment: Option<bool>,
    allow_chosen: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewIndex {
    index_name: String,
    r#type: Option<IndexKind>,
    primary_key: Option<Vec<String>>,
    columns: Option<Vec<String>>,
    time_to_live: Option<i64>,
}

#[derive(Default, Deserialize)]
struct SomeThroughput {
    read: Option<i64>,
    write: Option<i64>,
}

/// The arguments of CreateTable.
pub(super) fn create_table(arguments: &Arguments) -> Result<CreateTable> {
    let (reserved_read, reserved_write) = reserved(arguments)?;
    let mut table = CreateTable {
        name: arguments.table()?,
        options: arguments.read()?,
        reserved_read,
        reserved_write,
        defined: arguments.get::<Option<_>>("definedColumns")?.unwrap_or_default(),
        local_transactions: arguments.get("enableLocalTransaction")?,
        stream: arguments.get("stream")?,
        ..CreateTable::default()
    };
    for (number, column) in arguments.get::<Vec<NewKeyColumn>>("primaryKey")?.into_iter().enumerate() {
        table.key.push(column.column(number)?);
    }
    for index in arguments.get::<Option<Vec<NewIndex>>>("indexes")?.into_iter().flatten() {
        table.indexes.push(index.spec());
    }
    Ok(table)
}

/// The arguments of UpdateTable.
pub(super) fn update_table(arguments: &Arguments) -> Result<UpdateTable> {
    let name = arguments.table()?;
    let (reserved_read, reserved_write) = reserved(arguments)?;
    let (options, stream) = (arguments.read()?, arguments.get("stream")?);
    Ok(UpdateTable { name, options, reserved_read, reserved_write, stream })
}

fn reserved(arguments: &Arguments) -> Result<(Option<i64>, Option<i64>)> {
    let units = arguments.get::<Option<SomeThroughput>>("reservedThroughput")?.unwrap_or_default();
    Ok((units.read, units.write))
}

/// The index of CreateIndex, and whether it includes the rows that exist.
pub(super) fn create_index(arguments: &Arguments) -> Result<(IndexSpec, bool)> {
    let index: NewIndex = arguments.get("index")?;
    Ok((index.spec(), arguments.get::<Option<bool>>("includeBaseData")?.unwrap_or(true)))
}

impl NewKeyColumn {
    fn column(self, number: usize) -> Result<KeyColumn> {
        let Self { r#type, name, auto_increment, allow_chosen } = self;
        let key_type = KeyType::parse(&r#type).map_err(|error| {
            let path = format!("primaryKey[{number}].type");
            error.with_argument(&path, "STRING, INTEGER or BINARY", format_args!("'{type}'"))
        })?;
        let (auto_increment, allow_chosen) = (auto_increment.unwrap_or(false), allow_chosen.unwrap_or(false));
        if allow_chosen && !auto_increment {
            return Err(Error::parameter(format!("Key column '{name}' has allowChosen without autoIncrement.")));
        }
        Ok(KeyColumn { name, key_type, auto_increment, allow_chosen })
    }
}

impl NewIndex {
    fn spec(self) -> IndexSpec {
        IndexSpec {
            name: self.index_name,
            kind: self.r#type.unwrap_or_default(),
            key: self.primary_key.unwrap_or_default(),
            columns: self.columns.unwrap_or_default(),
            time_to_live: self.time_to_live,
        }
    }
}

/// A table, `TableDescription` of the package.
pub(super) fn table(table: &TableDescription) -> Answer<'_> {
    let options = &table.options;
    let throughput = Members::default()
        .and("read", table.throughput.read)
        .and("write", table.throughput.write)
        .and("lastIncreaseTime", table.last_increase)
        .and("lastDecreaseTime", table.last_decrease)
        .end();
    Members::default()
        .and("tableName", table.name.as_str())
        .and("primaryKey", key(&table.schema))
        .and("timeToLive", options.time_to_live)
        .and("maxVersions", options.max_versions)
        .and("maxVersionOffset", options.max_version_offset)
        .and("allowUpdate", options.allow_update)
        .and("reservedThroughput", throughput)
        .and("status", "ACTIVE")
        .and("creationTime", table.created)
        .and("definedColumns", Answer::list(&table.defined, |own| column(&own.name, own.column_type.as_str()).end()))
        .and("indexes", Answer::list(&table.indexes, index))
        .and("indexOf", table.index_of.as_deref())
        .and("enableLocalTransaction", table.local_transactions)
        .and("stream", table.stream.as_ref().map(stream))
        .and("partitions", Answer::list(&table.partitions, partition))
        .end()
}

/// A stream, `StreamDescription` of the package.
pub(super) fn stream(stream: &StreamDescription) -> Answer<'_> {
    Members::default()
        .and("streamId", stream.id.as_str())
        .and("tableName", stream.table.as_str())
        .and("expirationHours", stream.hours)
        .and("creationTime", stream.enabled)
        .and("originColumns", Answer::texts(&stream.columns))
        .end()
}

/// The columns of a key.
pub(super) fn key(schema: &TableSchema) -> Answer<'_> {
    Answer::list(schema.key(), |own| {
        let column = column(&own.name, own.key_type.as_str());
        let column = if own.auto_increment { column.and("autoIncrement", true) } else { column };
        if own.allow_chosen { column.and("allowChosen", true).end() } else { column.end() }
    })
}

fn column<'a>(name: &'a str, type_name: &'a str) -> Members<'a> {
    Members::default().and("name", name).and("type", type_name)
}

fn partition(partition: &PartitionDescription) -> Answer<'_> {
    Members::default()
        .and("partitionId", partition.id)
        .and("lowerBound", partition.lower.as_ref().map(Answer::key))
        .and("upperBound", partition.upper.as_ref().map(Answer::key))
        .and("bytes", partition.bytes)
        .and("entries", partition.entries)
        .and("operationsPerSecond", partition.operations_per_second)
        .and("exceedsAdvice", partition.exceeds_advice)
        .end()
}

fn index(index: &IndexDescription) -> Answer<'_> {
    Members::default()
        .and("indexName", index.name.as_str())
        .and("type", index.kind.as_str())
        .and("primaryKey", Answer::texts(&index.key))
        .and("columns", Answer::texts(&index.columns))
        .and("timeToLive", index.time_to_live)
        .and("phase", if index.building { "FULL" } else { "INCR" })
        .and("builtRows", index.built_rows)
        .and("lagMs", index.lag_ms)
        .and("failure", index.failure.as_ref().map(Answer::error))
        .end()
}

/// Rows that cannot be read, `MissingRows` of the package.
pub(super) fn missing(missing: &MissingRows) -> Answer<'_> {
    let [from, to] = missing.keys.each_ref().map(|key| key.as_deref().map(|values| Answer::list(values, Answer::key)));
    Members::default()
        .and("tableName", missing.table.as_deref())
        .and("tree", missing.tree.map(|tree| tree.0))
        .and("from", from)
        .and("to", to)
        .and("reason", missing.error.message())
        .end()
}
