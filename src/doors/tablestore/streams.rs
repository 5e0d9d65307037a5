//! ListStream, DescribeStream, GetShardIterator and GetStreamRecord (ST1 to ST3).

use super::Door;
use super::message::{consumed, required};
use super::plain_buffer::{DELETE_ALL, DELETE_ONE, Extension, RowWriter};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Stop, parameter};
use super::stream_work::{Report, Work, work};
use crate::error::Result;
use crate::model::{ChangeKind, TableName};
use crate::modules::{self, Module};
use crate::tablestore::{ShardDescription, StreamDescription, StreamPage, StreamRecord, StreamRecords, StreamStart};

const MICROSECONDS: i64 = 1000;
/// The bits of a record's number that clients take.
const ROW_BITS: u32 = 31;
/// The status of a stream whose records can be read: every stream, once it was enabled.
const ACTIVE: i64 = 2;

impl Door<'_> {
    async fn read_stream(&self, asked: Work<'_>, write: &mut dyn FnMut(Report<'_>)) -> Answer<()> {
        if !modules::is_loaded(Module::Streams) {
            return Err(Stop::Needs(Module::Streams));
        }
        Ok(work(self.instance, asked, write).await?)
    }

    /// Lists streams.
    pub(super) async fn list_stream(&self) -> Answer<Vec<u8>> {
        let table = Fields::read(self.body)?.text(1)?;
        let table = table.map(|name| super::message::table(Some(name))).transpose()?.map(TableName::as_str);
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            let Report::Streams(streams) = report else { return };
            for stream in streams.iter().filter(|stream| is_own(&stream.table)) {
                answer.message(1, |inner| {
                    inner.text(1, &stream.id).text(2, &stream.table).number(3, time(stream));
                });
            }
        };
        self.read_stream(Work::List(table), &mut write).await?;
        Ok(answer.0)
    }

    /// Describes a stream and its shards.
    pub(super) async fn describe_stream(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let (id, limit) = (stream_id(fields.text(1)?)?, fields.short(3)?);
        let first = fields.text(2)?.map(shard).transpose()?;
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            if let Report::Page(page) = report {
                describe(&mut answer, page);
            }
        };
        self.read_stream(Work::Describe(id, first, limit), &mut write).await?;
        Ok(answer.0)
    }

    /// Gives the place in a shard where reading begins.
    pub(super) async fn get_shard_iterator(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        // Records have times in ms: the first of this time or later.
        let start = fields.number(3)?.map_or(StreamStart::Oldest, |at| {
            StreamStart::At(at.saturating_add(MICROSECONDS - 1).div_euclid(MICROSECONDS))
        });
        let (id, of) = (stream_id(fields.text(1)?)?, shard(required(fields.text(2)?)?)?);
        let mut answer = Message::default();
        let mut write = |report: Report<'_>| {
            if let Report::Iterator(iterator) = report {
                answer.text(1, iterator);
            }
        };
        self.read_stream(Work::Iterator(id, of, start), &mut write).await?;
        Ok(answer.0)
    }

    /// Reads records of a shard.
    pub(super) async fn get_stream_record(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let (iterator, limit) = (required(fields.text(1)?)?, fields.short(2)?);
        let (mut answer, mut written) = (Message::default(), Ok(()));
        let mut write = |report: Report<'_>| {
            if let Report::Records(records) = report {
                written = write_records(&mut answer, records);
            }
        };
        self.read_stream(Work::Records(iterator, limit), &mut write).await?;
        written?;
        Ok(answer.0)
    }
}

/// Whether a table is one of this data model.
fn is_own(table: &str) -> bool {
    !table.contains('/')
}

/// The id of a stream of a table of this data model.
fn stream_id(id: Option<&str>) -> Answer<&str> {
    let id = required(id)?;
    if is_own(id) { Ok(id) } else { parameter(format!("Invalid stream id: {id}.")) }
}

fn shard(id: &str) -> Answer<i64> {
    id.parse().or_else(|_| parameter(format!("Invalid shard id: {id}.")))
}

fn time(stream: &StreamDescription) -> i64 {
    stream.enabled.saturating_mul(MICROSECONDS)
}

fn describe(answer: &mut Message, page: &StreamPage) {
    let stream = &page.stream;
    answer.text(1, &stream.id).number(2, i64::from(stream.hours)).text(3, &stream.table);
    answer.number(4, time(stream)).number(5, ACTIVE);
    for ShardDescription { id, parents: [parent, sibling], .. } in &page.shards {
        answer.message(6, |inner| {
            inner.text(1, &id.to_string());
            for (field, parent) in [(2, parent), (3, sibling)] {
                if *parent > 0 {
                    inner.text(field, &parent.to_string());
                }
            }
        });
    }
    if let Some(next) = page.next {
        answer.text(7, &next.to_string());
    }
}

fn write_records(answer: &mut Message, records: &StreamRecords) -> Result<()> {
    for record in records.read()? {
        let (rows, old) = (row(&record, &records.columns), old_row(&record, &records.columns));
        answer.message(1, |inner| {
            let kind = match record.kind {
                ChangeKind::Put => 1,
                ChangeKind::Update => 2,
                ChangeKind::Delete => 3,
            };
            inner.number(1, kind).bytes(2, &rows);
            if let Some(old) = old {
                inner.bytes(3, &old);
            }
        });
    }
    if let Some(next) = &records.next {
        answer.text(2, next);
    }
    consumed(answer, 3, records.consumed);
    answer.number(4, i64::from(records.more));
    Ok(())
}

/// The buffer of a record: the changed cells, and its place in the stream.
fn row(record: &StreamRecord, columns: &[String]) -> Vec<u8> {
    let mut writer = RowWriter::default();
    writer.begin();
    let mut parts = writer.row();
    for (column, value) in columns.iter().zip(&record.key) {
        parts.key(column, value.as_ref());
    }
    for (column, version, value) in &record.cells {
        let op = match (version, value) {
            (_, Some(_)) => None,
            (Some(_), None) => Some(DELETE_ONE),
            (None, None) => Some(DELETE_ALL),
        };
        parts.attribute(column, value.as_ref().map(|value| value.as_ref()), op, *version);
    }
    let seqno = record.seqno;
    let (epoch, row) = ((seqno >> ROW_BITS) as i32 & i32::MAX, seqno as i32 & i32::MAX);
    parts.end(Some(Extension { epoch, time: record.time.saturating_mul(MICROSECONDS), row }));
    writer.bytes
}

/// The buffer of the row before, if the record has some of it.
fn old_row(record: &StreamRecord, columns: &[String]) -> Option<Vec<u8>> {
    if record.old.is_empty() {
        return None;
    }
    let mut writer = RowWriter::default();
    writer.begin();
    let mut parts = writer.row();
    for (column, value) in columns.iter().zip(&record.key) {
        parts.key(column, value.as_ref());
    }
    for (column, version, value) in &record.old {
        parts.attribute(column, Some(value.as_ref()), None, Some(*version));
    }
    parts.end(None);
    Some(writer.bytes)
}
