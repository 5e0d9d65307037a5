//! Records: how a change is written down.
//!
//! ```text
//! u8 kind · uv columns of the key · each: value · sv stamp · uv cells · each: str column · op
//! old cells to the end, each: str column · sv version, less the stamp · value
//!
//! value   u8 tag · its bytes
//! op      u8 1 put · sv version, less the stamp · value
//!         u8 2 deletion of a version · sv version, less the stamp
//!         u8 3 deletion of all versions
//! kind    0 put · 1 update · 2 delete · 3 rows of a load: uv its number · bytes first key · bytes key behind the last
//!         4 a pack, of rows of a load: to the end, each: bytes record
//! ```

use crate::error::{Error, Result};
use crate::format::wire::{self, Decoded, Reader, put_bytes, put_sv, put_uv};
use crate::model::{CellOp, ChangeKind, Consumed, RowChange, Value, ValueRef, encode_value};
use crate::tablestore::rows::old_cells::put_tagged;
use crate::tablestore::table::shards::Shard;
use crate::tablestore::units::meter::Consumes;

const PUT: u8 = 0;
const UPDATE: u8 = 1;
const DELETE: u8 = 2;
const LOAD: u8 = 3;
const PACK: u8 = 4;

/// A stored record.
pub(super) enum Record<'a> {
    /// The change of a row: its bytes.
    Row(&'a [u8]),
    /// The rows of a load whose keys lie in a range. An empty end is the end of the table.
    Load { load: u64, from: &'a [u8], to: &'a [u8] },
    /// Records of a load's rows.
    Pack(PackedRecords<'a>),
}

/// The records in a pack, in the order of their keys.
pub(super) struct PackedRecords<'a>(Reader<'a>);

impl<'a> PackedRecords<'a> {
    /// The next one.
    pub(super) fn next_record(&mut self) -> Decoded<Option<&'a [u8]>> {
        if self.0.is_empty() { Ok(None) } else { self.0.bytes().map(Some) }
    }
}

/// Begins a pack.
pub(super) fn start_pack(out: &mut Vec<u8>) {
    out.push(PACK);
}

impl<'a> Record<'a> {
    /// The record of a change. `old` are old cells, encoded.
    pub(super) fn encode<'k>(
        key: impl IntoIterator<Item = &'k ValueRef<'k>>,
        change: &RowChange<'_>,
        old: &[u8],
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        Self::put(key, change, &mut out);
        out.extend_from_slice(old);
        out
    }

    /// Appends the record of a change, without old cells.
    pub(super) fn put<'k>(key: impl IntoIterator<Item = &'k ValueRef<'k>>, change: &RowChange<'_>, out: &mut Vec<u8>) {
        out.push(match change.kind {
            ChangeKind::Put => PUT,
            ChangeKind::Update => UPDATE,
            ChangeKind::Delete => DELETE,
        });
        let place = out.len();
        out.push(0);
        for value in key {
            put_tagged(*value, out);
            // A key has few columns, so their number takes one byte.
            out[place] += 1;
        }
        put_sv(change.stamp, out);
        put_uv(change.cells.len() as u64, out);
        for cell in change.cells {
            put_bytes(cell.column.as_bytes(), out);
            match cell.op {
                CellOp::Put(version, value) => {
                    out.push(1);
                    put_sv(version.wrapping_sub(change.stamp), out);
                    put_tagged(value, out);
                }
                CellOp::DeleteVersion(version) => {
                    out.push(2);
                    put_sv(version.wrapping_sub(change.stamp), out);
                }
                CellOp::DeleteColumn => out.push(3),
            }
        }
    }

    /// The record for rows of a load in a shard.
    pub(super) fn of_load(load: u64, shard: &Shard) -> Vec<u8> {
        let mut out = vec![LOAD];
        put_uv(load, &mut out);
        put_bytes(&shard.from, &mut out);
        put_bytes(&shard.to, &mut out);
        out
    }

    pub(super) fn decode(record: &'a [u8]) -> Decoded<Self> {
        let mut reader = Reader::new(record);
        match reader.u8()? {
            PUT | UPDATE | DELETE => Ok(Self::Row(record)),
            LOAD => Ok(Self::Load { load: reader.uv()?, from: reader.bytes()?, to: reader.bytes()? }),
            PACK => Ok(Self::Pack(PackedRecords(reader))),
            _ => Err(reader.damage("a record of another kind")),
        }
    }
}

/// The key of the row that a record is of, encoded.
pub(super) fn key_of(record: &[u8]) -> Decoded<Vec<u8>> {
    let (mut reader, mut key) = (Reader::new(record), Vec::with_capacity(64));
    reader.u8()?;
    for _ in 0..reader.count()? {
        let tag = reader.u8()?;
        encode_value(wire::value(&mut reader, tag)?, &mut key);
    }
    Ok(key)
}

/// A change of a row, as its record tells it (ST1).
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// It ascends in a shard. Rows of one load share it.
    pub seqno: u64,
    /// When it was recorded, ms since 1970 UTC.
    pub time: i64,
    /// PutRow, UpdateRow or DeleteRow.
    pub kind: ChangeKind,
    /// The primary key.
    pub key: Vec<Value>,
    /// The changed cells: column, version, value. Without a value, the version was deleted; without both, all of them.
    pub cells: Vec<(String, Option<i64>, Option<Value>)>,
    /// The newest cells of the row before, of the columns that the stream was asked for.
    pub old: Vec<(String, i64, Value)>,
}

/// The result of GetStreamRecord.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamRecords {
    /// The records, one behind the other: uv seqno · sv time in ms · uv length · the record.
    pub records: Vec<u8>,
    /// How many.
    pub count: usize,
    /// The iterator behind them. None at the end of a shard that gets no more records.
    pub next: Option<String>,
    /// Whether there are more already.
    pub more: bool,
    /// The names of the key's columns.
    pub columns: Vec<String>,
    /// The cost (C1).
    pub consumed: Consumed,
}

impl Consumes for StreamRecords {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

fn tagged(reader: &mut Reader<'_>) -> Decoded<Value> {
    let tag = reader.u8()?;
    Ok(wire::value(reader, tag)?.to_owned())
}

impl StreamRecord {
    fn read(reader: &mut Reader<'_>) -> Decoded<Self> {
        let (seqno, time) = (reader.uv()?, reader.sv()?);
        let mut reader = Reader::new(reader.bytes()?);
        let kind = match reader.u8()? {
            PUT => ChangeKind::Put,
            UPDATE => ChangeKind::Update,
            DELETE => ChangeKind::Delete,
            _ => return Err(reader.damage("a record of another kind")),
        };
        let mut record = Self { seqno, time, kind, key: Vec::new(), cells: Vec::new(), old: Vec::new() };
        for _ in 0..reader.count()? {
            record.key.push(tagged(&mut reader)?);
        }
        let stamp = reader.sv()?;
        for _ in 0..reader.count()? {
            let column = reader.str()?.to_owned();
            record.cells.push(match reader.u8()? {
                1 => (column, Some(stamp.wrapping_add(reader.sv()?)), Some(tagged(&mut reader)?)),
                2 => (column, Some(stamp.wrapping_add(reader.sv()?)), None),
                _ => (column, None, None),
            });
        }
        while !reader.is_empty() {
            let column = reader.str()?.to_owned();
            record.old.push((column, stamp.wrapping_add(reader.sv()?), tagged(&mut reader)?));
        }
        Ok(record)
    }
}

impl StreamRecords {
    /// The records.
    ///
    /// # Errors
    /// `Corrupt`, if stored records are damaged.
    pub fn read(&self) -> Result<Vec<StreamRecord>> {
        let (mut reader, mut all) = (Reader::new(&self.records), Vec::with_capacity(self.count));
        while !reader.is_empty() {
            let record = StreamRecord::read(&mut reader);
            all.push(record.map_err(|damage| Error::corrupt("a record of a stream", damage))?);
        }
        Ok(all)
    }
}
