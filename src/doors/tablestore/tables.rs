//! Tables, indexes and defined columns (T1, T4 to T8, P4).

use super::Door;
use super::administration::{Report, Work, administer};
use super::message::{required, units};
use super::plain_buffer::{Payload, variant};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Stop, parameter};
use super::row::key_buffer;
use crate::format::wire::Reader;
use crate::model::{Consumed, DefinedColumn, IndexKind, KeyColumn, KeyType, TableName, TableSchema, ValueType};
use crate::modules::{self, Module};
use crate::tablestore::{
    CreateTable, IndexDescription, IndexSpec, OptionsChange, SplitRequest, Splits, StreamChange, StreamDescription,
    TableDescription, UpdateTable,
};

/// Ranges that a request for a new table names (what the service answered).
///
/// Else: `OTSParameterInvalid`, "The count of partitions cannot be greater than 10".
const PARTITIONS: usize = 10;
const MICROSECONDS: i64 = 1000;

/// The types of defined columns, by their numbers.
const DEFINED: [(i64, ValueType); 5] = [
    (1, ValueType::Integer),
    (2, ValueType::Double),
    (3, ValueType::Boolean),
    (4, ValueType::String),
    (7, ValueType::Binary),
];

// The numbers of the types of key columns.
const INTEGER: i64 = 1;
const STRING: i64 = 2;
const BINARY: i64 = 3;
/// Some clients have it, and the service never did.
const BOOLEAN: i64 = 5;

fn key_column(message: &[u8]) -> Answer<KeyColumn> {
    let fields = Fields::read(message)?;
    let key_type = match required(fields.number(2)?)? {
        INTEGER => KeyType::Integer,
        STRING => KeyType::String,
        BINARY => KeyType::Binary,
        BOOLEAN => return parameter("BOOLEAN is an invalid type for the primary key."),
        _ => return parameter("Invalid column type, only STRING,INTEGER,BINARY is allowed."),
    };
    let auto_increment = fields.number(3)? == Some(1);
    Ok(KeyColumn { auto_increment, ..KeyColumn::new(required(fields.text(1)?)?, key_type) })
}

fn defined_column(message: &[u8]) -> Answer<DefinedColumn> {
    let fields = Fields::read(message)?;
    let (name, kind) = (required(fields.text(1)?)?.to_owned(), required(fields.number(2)?)?);
    match DEFINED.into_iter().find(|(number, _)| *number == kind) {
        Some((_, column_type)) => Ok(DefinedColumn { name, column_type }),
        None => parameter(format!("Invalid type of defined column: {kind}.")),
    }
}

/// The numbers of units of a table, if they are given.
fn reserved(message: &[u8]) -> Answer<(Option<i64>, Option<i64>)> {
    let fields = Fields::read(required(Fields::read(message)?.bytes(1)?)?)?;
    Ok((fields.short(1)?, fields.short(2)?))
}

fn options(message: &[u8]) -> Answer<OptionsChange> {
    let fields = Fields::read(message)?;
    Ok(OptionsChange {
        time_to_live: fields.short(1)?,
        max_versions: fields.short(2)?,
        max_version_offset: fields.number(5)?,
        allow_update: fields.flag(6)?,
    })
}

fn stream(message: &[u8]) -> Answer<StreamChange> {
    let fields = Fields::read(message)?;
    let columns = owned(fields.texts(3)?);
    Ok(StreamChange {
        enabled: required(fields.flag(1)?)?,
        expiration_hours: fields.short(2)?,
        origin_columns: if columns.is_empty() { None } else { Some(columns) },
    })
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn index(message: &[u8]) -> Answer<IndexSpec> {
    let fields = Fields::read(message)?;
    let kind = match required(fields.number(5)?)? {
        0 => IndexKind::Global,
        1 => IndexKind::Local,
        other => return parameter(format!("Invalid index type: {other}.")),
    };
    let name = required(fields.text(1)?)?.to_owned();
    let (key, columns) = (owned(fields.texts(2)?), owned(fields.texts(3)?));
    Ok(IndexSpec { name, kind, key, columns, time_to_live: None })
}

/// Checks a range that a new table is asked to begin with. Partitions split by themselves here, so it has no other effect.
fn check_partition(message: &[u8], key: Option<&KeyColumn>) -> Answer<()> {
    let fields = Fields::read(message)?;
    for end in [fields.bytes(1)?, fields.bytes(2)?] {
        let found = match variant(&mut Reader::new(required(end)?)) {
            Some(Payload::Value(value)) => Some(value.value_type()),
            Some(Payload::InfMin | Payload::InfMax) => None,
            _ => return required(None),
        };
        if found.is_some() && found != key.map(|column| column.key_type.value_type()) {
            return parameter("The value type of partition does not match with primary key.");
        }
    }
    Ok(())
}

impl Door<'_> {
    /// Creates a table.
    pub(super) async fn create_table(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let meta = Fields::read(required(fields.bytes(1)?)?)?;
        let (reserved_read, reserved_write) = reserved(required(fields.bytes(2)?)?)?;
        let key = meta.all(2)?.into_iter().map(key_column).collect::<Answer<Vec<_>>>()?;
        let partitions = fields.all(4)?;
        if partitions.len() > PARTITIONS {
            return parameter(format!("The count of partitions cannot be greater than {PARTITIONS}"));
        }
        partitions.into_iter().try_for_each(|range| check_partition(range, key.first()))?;
        let table = CreateTable {
            name: required(meta.text(1)?)?.to_owned(),
            key,
            options: fields.bytes(3)?.map_or(Ok(OptionsChange::default()), options)?,
            reserved_read,
            reserved_write,
            defined: meta.all(3)?.into_iter().map(defined_column).collect::<Answer<_>>()?,
            indexes: fields.all(7)?.into_iter().map(index).collect::<Answer<_>>()?,
            local_transactions: Some(fields.flag(8)?.unwrap_or_default()),
            stream: fields.bytes(5)?.map(stream).transpose()?,
        };
        self.instance.create_table(table).await?;
        Ok(Vec::new())
    }

    /// Lists the tables. Clients delete what they are told here, so indexes are left out.
    pub(super) fn list_table(&self) -> Vec<u8> {
        let mut answer = Message::default();
        for name in self.instance.list_base_table() {
            answer.text(1, &name);
        }
        answer.0
    }

    /// Does administrative work, and writes what it tells.
    async fn administer(&self, work: Work<'_>, write: &mut dyn FnMut(Report<'_>)) -> Answer<()> {
        if !modules::is_loaded(Module::Occasional) {
            return Err(Stop::Needs(Module::Occasional));
        }
        Ok(administer(self.instance, work, write).await?)
    }

    /// Describes a table.
    pub(super) async fn describe_table(&self) -> Answer<Vec<u8>> {
        let [name, _] = self.names()?;
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            if let Report::Table(table) = report {
                describe(&mut answer, table);
            }
        };
        self.administer(Work::Describe(name.as_str()), &mut write).await?;
        Ok(answer.0)
    }

    /// The first two texts of a request; the first is the name of a table.
    fn names(&self) -> Answer<[TableName<'_>; 2]> {
        let fields = Fields::read(self.body)?;
        let (first, second) = (super::message::table(fields.text(1)?)?, fields.text(2)?);
        Ok([first, second.map_or(Ok(first), TableName::parse)?])
    }

    /// Deletes a table.
    pub(super) async fn delete_table(&self) -> Answer<Vec<u8>> {
        let [name, _] = self.names()?;
        self.administer(Work::Delete(name.as_str()), &mut |_| {}).await?;
        Ok(Vec::new())
    }

    /// Changes options, reserved units or the stream of a table.
    pub(super) async fn update_table(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let (reserved_read, reserved_write) = fields.bytes(2)?.map_or(Ok((None, None)), reserved)?;
        let update = UpdateTable {
            name: super::message::table(fields.text(1)?)?.as_str().to_owned(),
            options: fields.bytes(3)?.map_or(Ok(OptionsChange::default()), options)?,
            reserved_read,
            reserved_write,
            stream: fields.bytes(4)?.map(stream).transpose()?,
        };
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            if let Report::Table(table) = report {
                throughput(&mut answer, 1, table);
                table_options(&mut answer, 2, table);
                stream_details(&mut answer, 3, table.stream.as_ref());
            }
        };
        self.administer(Work::Update(update), &mut write).await?;
        Ok(answer.0)
    }

    /// Creates an index.
    pub(super) async fn create_index(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let name = super::message::table(fields.text(1)?)?.as_str();
        let spec = index(required(fields.bytes(2)?)?)?;
        let work = Work::CreateIndex(name, spec, fields.flag(3)?.unwrap_or_default());
        self.administer(work, &mut |_| {}).await?;
        Ok(Vec::new())
    }

    /// Deletes an index.
    pub(super) async fn drop_index(&self) -> Answer<Vec<u8>> {
        let [table, index] = self.names()?;
        self.administer(Work::DropIndex(table.as_str(), index.as_str()), &mut |_| {}).await?;
        Ok(Vec::new())
    }

    /// Defines columns, or takes their definition back.
    pub(super) async fn change_defined_columns(&self, adds: bool) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let name = super::message::table(fields.text(1)?)?.as_str();
        let removed = if adds { Vec::new() } else { owned(fields.texts(2)?) };
        let work = if adds {
            Work::Define(name, fields.all(2)?.into_iter().map(defined_column).collect::<Answer<_>>()?)
        } else {
            Work::Undefine(name, &removed)
        };
        self.administer(work, &mut |_| {}).await?;
        Ok(Vec::new())
    }

    /// Cuts a table into slices.
    pub(super) async fn compute_split_points(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let request = SplitRequest {
            table: super::message::table(fields.text(1)?)?.as_str(),
            split_size: required(fields.number(2)?)?,
            unit: fields.number(3)?,
            point_limit: fields.short(4)?,
        };
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            if let Report::Splits(splits) = report {
                write_splits(&mut answer, splits);
            }
        };
        self.administer(Work::Split(request), &mut write).await?;
        Ok(answer.0)
    }
}

fn describe(answer: &mut Message, table: &TableDescription) {
    answer.message(1, |meta| {
        meta.text(1, &table.name);
        key_columns(meta, 2, &table.schema);
        for column in &*table.defined {
            let number =
                DEFINED.into_iter().find(|(_, kind)| *kind == column.column_type).map_or(0, |(number, _)| number);
            meta.message(3, |inner| {
                inner.text(1, &column.name).number(2, number);
            });
        }
    });
    throughput(answer, 2, table);
    table_options(answer, 3, table);
    // It is active: a table is usable once its creation is answered.
    answer.number(4, 1);
    stream_details(answer, 5, table.stream.as_ref());
    for end in table.partitions.iter().filter_map(|partition| partition.upper.as_ref()) {
        answer.bytes(6, &key_buffer(&table.schema, std::slice::from_ref(end)));
    }
    for own in &table.indexes {
        answer.message(8, |inner| describe_index(inner, own));
    }
    answer.number(9, table.created.saturating_mul(MICROSECONDS));
}

fn key_columns(message: &mut Message, field: u64, schema: &TableSchema) {
    for column in schema.key() {
        message.message(field, |inner| {
            let kind = match column.key_type {
                KeyType::Integer => INTEGER,
                KeyType::String => STRING,
                KeyType::Binary => BINARY,
            };
            inner.text(1, &column.name).number(2, kind);
            if column.auto_increment {
                inner.number(3, 1);
            }
        });
    }
}

fn throughput(message: &mut Message, field: u64, table: &TableDescription) {
    let seconds = |ms: i64| ms.div_euclid(1000);
    message.message(field, |inner| {
        units(inner, 1, Consumed { read: table.throughput.read, write: table.throughput.write });
        // Clients cannot do without it.
        inner.number(2, seconds(table.last_increase.unwrap_or(table.created)));
        if let Some(at) = table.last_decrease {
            inner.number(3, seconds(at));
        }
    });
}

fn table_options(message: &mut Message, field: u64, table: &TableDescription) {
    let options = &table.options;
    message.message(field, |inner| {
        inner.number(1, options.time_to_live).number(2, options.max_versions);
        inner.number(5, options.max_version_offset).number(6, i64::from(options.allow_update));
    });
}

fn stream_details(message: &mut Message, field: u64, stream: Option<&StreamDescription>) {
    message.message(field, |inner| {
        inner.number(1, i64::from(stream.is_some()));
        if let Some(stream) = stream {
            inner.text(2, &stream.id);
        }
        inner.number(3, stream.map_or(0, |stream| i64::from(stream.hours)));
        inner.number(4, stream.map_or(0, |stream| stream.enabled.saturating_mul(MICROSECONDS)));
        for column in stream.into_iter().flat_map(|stream| &stream.columns) {
            inner.text(5, column);
        }
    });
}

fn describe_index(message: &mut Message, index: &IndexDescription) {
    message.text(1, &index.name);
    for column in &index.key {
        message.text(2, column);
    }
    for column in &index.columns {
        message.text(3, column);
    }
    // A local index is written with its row, and called synchronous.
    let kind = i64::from(index.kind == IndexKind::Local);
    message.number(4, kind).number(5, kind).number(6, if index.building { 1 } else { 2 });
}

fn write_splits(answer: &mut Message, splits: &Splits) {
    super::message::consumed(answer, 1, splits.consumed);
    key_columns(answer, 2, &splits.schema);
    for point in &splits.points {
        answer.bytes(3, &key_buffer(&splits.schema, std::slice::from_ref(point)));
    }
    for same in splits.locations.chunk_by(|a, b| a == b) {
        let location = same.first().map_or("", String::as_str);
        answer.message(4, |inner| {
            // The number is in zigzag.
            inner.text(1, location).number(2, 2 * same.len() as i64);
        });
    }
}
