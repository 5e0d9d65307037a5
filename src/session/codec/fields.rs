//! The layouts of single fields of requests. Each is read and written side by side.
//!
//! ```text
//! Table, Column   uv, an index into the dictionary
//! Key             u8 columns | each: uv name, value
//! RangeEnd        a key; without columns: that end of the table
//! PartitionKey    a key, of the partition key only
//! value           u8 tag | INTEGER sv | DOUBLE f64 | FALSE | TRUE | STRING str | BINARY bytes | INF_MIN | INF_MAX
//!                    | AUTO_INCREMENT, in the key of a row that is put or updated
//! Attribute       a value, but none of the last three
//! Signed, Unsigned  sv, uv
//! Count           uv; a negative one is two's complement, and refused like one that comes without a frame
//! Limit           a count, 0 for none; a limit of 0 is written as -1, which is refused with the same words
//! Span            sv start, sv end
//! Text            str
//! Blob            uv length | bytes, of another protocol
//! Maybe<F>        u8 0, or 1 and F
//! List<F>         uv count | each: F
//! Batch<F>        the same
//! Boxed<F>        F
//! Deeper<F>       F, one level further down; there are at most 64
//! Row             u8 op | the row of that operation
//! RowOfLoad       a Row; one that is refused fails alone
//! ColumnFilter    Column | Comparator | Attribute, not for EXIST and NOT_EXIST
//!                    | u8 flags (1 pass if missing, 2 latest version only, 4 transfer) | [Transfer]
//! ```

use super::frame_writer::FrameWriter;
use super::numbers::tag;
use super::request::{Read, RequestReader};
use crate::error::Error;
use crate::model::filter::{ColumnFilter, Comparator, Transfer};
use crate::model::{ColumnName, KeyInput, KeyPart, TableName, ValueRef, limits};
use std::marker::PhantomData;

/// The layout of a field of a request.
pub trait Field {
    /// The value that it stands for.
    type Value<'f>;

    /// Reads one. `None` if it is whole but wrong: the reader keeps the refusal, and reading goes on behind it.
    ///
    /// # Errors
    /// Damage.
    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>>;

    /// Writes one.
    fn write(value: &Self::Value<'_>, out: &mut FrameWriter);
}

/// A place that holds a field or nothing.
pub(super) trait Holder<V> {
    fn held(&self) -> Option<&V>;
    fn hold(&mut self, value: Option<V>);
}

impl<V> Holder<V> for Option<V> {
    fn held(&self) -> Option<&V> {
        self.as_ref()
    }

    fn hold(&mut self, value: Self) {
        *self = value;
    }
}

impl<V> Holder<Self> for Vec<V> {
    fn held(&self) -> Option<&Self> {
        (!self.is_empty()).then_some(self)
    }

    fn hold(&mut self, value: Option<Self>) {
        *self = value.unwrap_or_default();
    }
}

fields! {
    /// The name of a table.
    Table: TableName<'f>, |reader| reader.table(), |table, out| out.name(table.as_str());
    /// The name of a column.
    Column: ColumnName<'f>, |reader| reader.column(), |column, out| out.name(column.as_str());
    /// The key of a row.
    Key: KeyInput<'f>, |reader| reader.key().map(Some), |key, out| write_key(key, out);
    /// An end of a range.
    RangeEnd: KeyInput<'f>, |reader| reader.key().map(Some), |key, out| write_key(key, out);
    /// The partition key of a table.
    PartitionKey: KeyInput<'f>, |reader| reader.key().map(Some), |key, out| write_key(key, out);
    /// A value of an attribute column.
    Attribute: ValueRef<'f>, |reader| reader.attribute(), |value, out| out.value(*value);
    /// A signed number.
    Signed: i64, |reader| reader.sv().map(Some), |value, out| out.sv(*value);
    /// An unsigned number.
    Unsigned: u64, |reader| reader.uv().map(Some), |value, out| out.uv(*value);
    /// A number of versions.
    Count: i64, |reader| Ok(Some(reader.uv()?.cast_signed())), |count, out| out.uv(count.cast_unsigned());
    /// A number of rows, or no limit.
    Limit: Option<i64>,
        |reader| Ok(Some(Count::read(reader)?.filter(|limit| *limit != 0))),
        |limit, out| Count::write(&limit.map_or(0, |limit| if limit == 0 { -1 } else { limit }), out);
    /// A range of versions.
    Span: (i64, i64), |reader| Ok(Some((reader.sv()?, reader.sv()?))), |span, out| { out.sv(span.0); out.sv(span.1); };
    /// A text.
    Text: &'f str, |reader| reader.str().map(Some), |text, out| out.str(text);
    /// Bytes of another protocol.
    Blob: &'f [u8], |reader| reader.bytes().map(Some), |bytes, out| out.bytes(bytes);
}

/// A field, or nothing.
#[derive(Debug)]
pub struct Maybe<F>(PhantomData<F>);

impl<F: Field> Field for Maybe<F> {
    type Value<'f> = Option<F::Value<'f>>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>> {
        match reader.u8()? {
            0 => Ok(Some(None)),
            1 => Ok(F::read(reader)?.map(Some)),
            _ => Err(reader.damage("a field is neither there nor absent")),
        }
    }

    fn write(value: &Self::Value<'_>, out: &mut FrameWriter) {
        out.u8(u8::from(value.is_some()));
        value.iter().for_each(|value| F::write(value, out));
    }
}

/// Any number of fields. Refused ones are left out.
#[derive(Debug)]
pub struct List<F>(PhantomData<F>);

impl<F: Field> Field for List<F> {
    type Value<'f> = Vec<F::Value<'f>>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>> {
        let count = reader.count()?;
        let mut list = Vec::with_capacity(count.min(1 << 12));
        for _ in 0..count {
            list.extend(F::read(reader)?);
        }
        Ok(Some(list))
    }

    fn write(value: &Self::Value<'_>, out: &mut FrameWriter) {
        out.uv(value.len() as u64);
        value.iter().for_each(|value| F::write(value, out));
    }
}

/// The tables, keys or rows of a batch. A batch with more than it may have is refused for their number. So further ones
/// take no memory.
#[derive(Debug)]
pub struct Batch<F>(PhantomData<F>);

/// One more than any batch may have.
const MOST: usize = limits::BATCH_WRITE_ROWS + 1;

impl<F: Field> Field for Batch<F> {
    type Value<'f> = Vec<F::Value<'f>>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>> {
        let count = reader.count()?;
        let mut list = Vec::with_capacity(count.min(MOST));
        for _ in 0..count {
            list.extend(F::read(reader)?);
            list.truncate(MOST);
        }
        Ok(Some(list))
    }

    fn write(value: &Self::Value<'_>, out: &mut FrameWriter) {
        List::<F>::write(value, out);
    }
}

/// A field that is rare and large.
#[derive(Debug)]
pub struct Boxed<F>(PhantomData<F>);

impl<F: Field> Field for Boxed<F> {
    type Value<'f> = Box<F::Value<'f>>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>> {
        Ok(F::read(reader)?.map(Box::new))
    }

    fn write(value: &Self::Value<'_>, out: &mut FrameWriter) {
        F::write(value, out);
    }
}

/// A field that may contain itself. Reading and dropping it are recursive.
#[derive(Debug)]
pub struct Deeper<F>(PhantomData<F>);

impl<F: Field> Field for Deeper<F> {
    type Value<'f> = F::Value<'f>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<Self::Value<'f>>> {
        reader.descend()?;
        let value = F::read(reader);
        reader.ascend();
        value
    }

    fn write(value: &Self::Value<'_>, out: &mut FrameWriter) {
        F::write(value, out);
    }
}

/// Compares one column, with the layouts of a comparator and of a transfer rule.
#[derive(Debug)]
pub struct Comparison<C, T>(PhantomData<(C, T)>);

const PASS_IF_MISSING: u8 = 1;
const LATEST_VERSION_ONLY: u8 = 2;
const TRANSFER: u8 = 4;

impl<C, T> Field for Comparison<C, T>
where
    C: for<'f> Field<Value<'f> = Comparator>,
    T: for<'f> Field<Value<'f> = Transfer<'f>>,
{
    type Value<'f> = ColumnFilter<'f>;

    fn read<'f>(reader: &mut RequestReader<'f>) -> Read<Option<ColumnFilter<'f>>> {
        let (column, comparator) = (Column::read(reader)?, C::read(reader)?);
        let compares = comparator.is_none_or(Comparator::compares);
        let value = if compares { Attribute::read(reader)? } else { None };
        let flags = reader.u8()?;
        if flags & !(PASS_IF_MISSING | LATEST_VERSION_ONLY | TRANSFER) != 0 {
            return Err(reader.damage("a filter has unknown flags"));
        }
        let mut transfer = None;
        if flags & TRANSFER != 0 {
            reader.note_rule();
            transfer = T::read(reader)?;
        }
        Ok(column.zip(comparator).map(|(column, comparator)| ColumnFilter {
            column,
            comparator,
            value,
            pass_if_missing: flags & PASS_IF_MISSING != 0,
            latest_version_only: flags & LATEST_VERSION_ONLY != 0,
            transfer,
        }))
    }

    fn write(comparison: &ColumnFilter<'_>, out: &mut FrameWriter) {
        Column::write(&comparison.column, out);
        C::write(&comparison.comparator, out);
        if comparison.comparator.compares() {
            comparison.value.iter().for_each(|value| out.value(*value));
        }
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.u8(flag(comparison.pass_if_missing, PASS_IF_MISSING)
            | flag(comparison.latest_version_only, LATEST_VERSION_ONLY)
            | flag(comparison.transfer.is_some(), TRANSFER));
        comparison.transfer.iter().for_each(|transfer| T::write(transfer, out));
    }
}

fn write_key(key: &KeyInput<'_>, out: &mut FrameWriter) {
    out.u8(key.columns().len() as u8);
    for (name, part) in key.columns() {
        out.name(name);
        match part {
            KeyPart::Value(value) => out.value(*value),
            KeyPart::InfMin => out.u8(tag::INF_MIN),
            KeyPart::InfMax => out.u8(tag::INF_MAX),
            KeyPart::AutoIncrement => out.u8(tag::AUTO_INCREMENT),
        }
    }
}

impl RequestReader<'_> {
    /// Refuses a request for a number without a meaning.
    pub(super) fn refuse_number<T>(&mut self, what: &str, number: u8) -> Option<T> {
        self.refuse(Error::parameter(format!("{what}: {number}.")));
        None
    }
}
