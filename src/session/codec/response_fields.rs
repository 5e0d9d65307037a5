//! The layouts of the fields of responses. Each one's writer and reader stand side by side. Only clients read them.
//!
//! ```text
//! Consumed      uv read | uv write
//! Unsigned      uv
//! Flag          u8
//! Text          str
//! Blob          uv length | bytes, of another protocol
//! Maybe<P>      u8 0, or 1 and P
//! List<P>       uv count | each: P
//! Failure       str code | uv http status | u8 flags (1 retryable, 2 hint) | str message | [str hint]
//! NextKey       u8 count | values: a start key
//! NamedKey      u8 count | each: str name, value
//! Page          a page
//! ReturnedRow   a page of one row
//! Pages         pages of the rows, in order, up to the end of the response; at least one
//! ```
//!
//! A page belongs to one table. So a batch that returns rows of several tables has several pages, back to back.

use super::fields::{Blob, List, Maybe, Text, Unsigned};
use super::page::PageWriter;
use super::page_reader::{Page as PageRead, PageRow};
use super::request::Read;
use super::{Reader, put_bytes, put_uv};
use crate::error::Error;
use crate::format::wire;
use crate::model::{CellRef, Consumed as Units, KeyValue, RowSink, TableSchema, ValueRef};
use crate::tablestore::ReturnedRow as Row;
use std::rc::Rc;

/// The layout of a field of a response.
pub trait ResponseField {
    /// The value that the engine writes.
    type Given<'a>;
    /// The value that a client gets.
    type Gained;

    /// Writes one.
    fn put(given: Self::Given<'_>, out: &mut Vec<u8>);

    /// Reads one.
    ///
    /// # Errors
    /// Damage.
    fn read(reader: &mut Reader<'_>) -> Read<Self::Gained>;
}

/// Capacity units.
#[derive(Debug)]
pub struct Consumed;

impl ResponseField for Consumed {
    type Given<'a> = Units;
    type Gained = Units;

    fn put(given: Units, out: &mut Vec<u8>) {
        put_uv(u64::from(given.read), out);
        put_uv(u64::from(given.write), out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<Units> {
        let mut unit = || Ok(u32::try_from(reader.uv()?).unwrap_or(u32::MAX));
        Ok(Units { read: unit()?, write: unit()? })
    }
}

impl ResponseField for Unsigned {
    type Given<'a> = u64;
    type Gained = u64;

    fn put(given: u64, out: &mut Vec<u8>) {
        put_uv(given, out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<u64> {
        reader.uv()
    }
}

impl ResponseField for Text {
    type Given<'a> = &'a str;
    type Gained = String;

    fn put(given: &str, out: &mut Vec<u8>) {
        put_bytes(given.as_bytes(), out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<String> {
        Ok(reader.str()?.to_owned())
    }
}

impl ResponseField for Blob {
    type Given<'a> = &'a [u8];
    type Gained = Vec<u8>;

    fn put(given: &[u8], out: &mut Vec<u8>) {
        put_bytes(given, out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<Vec<u8>> {
        Ok(reader.bytes()?.to_vec())
    }
}

/// Yes or no.
#[derive(Debug)]
pub struct Flag;

impl ResponseField for Flag {
    type Given<'a> = bool;
    type Gained = bool;

    fn put(given: bool, out: &mut Vec<u8>) {
        out.push(u8::from(given));
    }

    fn read(reader: &mut Reader<'_>) -> Read<bool> {
        Ok(reader.u8()? == 1)
    }
}

impl<P: ResponseField> ResponseField for Maybe<P> {
    type Given<'a> = Option<P::Given<'a>>;
    type Gained = Option<P::Gained>;

    fn put(given: Option<P::Given<'_>>, out: &mut Vec<u8>) {
        out.push(u8::from(given.is_some()));
        if let Some(part) = given {
            P::put(part, out);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Read<Self::Gained> {
        if reader.u8()? == 1 { P::read(reader).map(Some) } else { Ok(None) }
    }
}

impl<P: ResponseField> ResponseField for List<P> {
    type Given<'a> = Vec<P::Given<'a>>;
    type Gained = Vec<P::Gained>;

    fn put(given: Vec<P::Given<'_>>, out: &mut Vec<u8>) {
        put_uv(given.len() as u64, out);
        given.into_iter().for_each(|part| P::put(part, out));
    }

    fn read(reader: &mut Reader<'_>) -> Read<Self::Gained> {
        let count = reader.count()?;
        (0..count).map(|_| P::read(reader)).collect()
    }
}

/// An error as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// Its code.
    pub code: String,
    /// Its HTTP status.
    pub status: u64,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The message.
    pub message: String,
    /// The hint.
    pub hint: Option<String>,
}

/// An error.
#[derive(Debug)]
pub struct Failure;

const RETRYABLE: u8 = 1;
const HINT: u8 = 2;

impl ResponseField for Failure {
    type Given<'a> = &'a Error;
    type Gained = RemoteError;

    fn put(error: &Error, out: &mut Vec<u8>) {
        put_bytes(error.code().as_str().as_bytes(), out);
        put_uv(u64::from(error.code().status()), out);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(flag(error.retryable(), RETRYABLE) | flag(error.hint().is_some(), HINT));
        put_bytes(error.message().as_bytes(), out);
        error.hint().into_iter().for_each(|hint| put_bytes(hint.as_bytes(), out));
    }

    fn read(reader: &mut Reader<'_>) -> Read<RemoteError> {
        let (code, status, flags) = (reader.str()?.to_owned(), reader.uv()?, reader.u8()?);
        let message = reader.str()?.to_owned();
        let hint = if flags & HINT != 0 { Some(reader.str()?.to_owned()) } else { None };
        Ok(RemoteError { code, status, retryable: flags & RETRYABLE != 0, message, hint })
    }
}

/// The start of the next call.
#[derive(Debug)]
pub struct NextKey;

impl ResponseField for NextKey {
    type Given<'a> = &'a [KeyValue];
    type Gained = Vec<KeyValue>;

    fn put(key: &[KeyValue], out: &mut Vec<u8>) {
        out.push(key.len() as u8);
        key.iter().for_each(|value| put_value(value, out));
    }

    fn read(reader: &mut Reader<'_>) -> Read<Vec<KeyValue>> {
        let count = reader.u8()?;
        (0..count).map(|_| read_value(reader)).collect()
    }
}

/// The start of the next call, with the names of the key's columns.
#[derive(Debug)]
pub struct NamedKey;

impl ResponseField for NamedKey {
    type Given<'a> = (&'a TableSchema, &'a [KeyValue]);
    type Gained = Vec<(String, KeyValue)>;

    fn put((schema, key): Self::Given<'_>, out: &mut Vec<u8>) {
        out.push(key.len() as u8);
        for (column, value) in schema.key().iter().zip(key) {
            put_bytes(column.name.as_bytes(), out);
            put_value(value, out);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Read<Self::Gained> {
        let count = reader.u8()?;
        (0..count).map(|_| Ok((reader.str()?.to_owned(), read_value(reader)?))).collect()
    }
}

fn put_value(value: &KeyValue, out: &mut Vec<u8>) {
    out.push(wire::value_tag(value.as_value()));
    wire::put_value(value.as_value(), out);
}

fn read_value(reader: &mut Reader<'_>) -> Read<KeyValue> {
    let tag = reader.u8()?;
    Ok(match wire::value(reader, tag)? {
        ValueRef::Integer(v) => KeyValue::Integer(v),
        ValueRef::String(v) => KeyValue::String(v.to_owned()),
        ValueRef::Binary(v) => KeyValue::Binary(v.to_vec()),
        _ => return Err(reader.damage("a key value has an unknown tag")),
    })
}

/// Rows of a table.
#[derive(Debug)]
pub struct Page;

impl ResponseField for Page {
    type Given<'a> = &'a PageWriter;
    type Gained = PageRead;

    fn put(page: &PageWriter, out: &mut Vec<u8>) {
        page.encode(out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<PageRead> {
        PageRead::read(reader)
    }
}

/// A row that a write returns.
#[derive(Debug)]
pub struct ReturnedRow;

impl ResponseField for ReturnedRow {
    type Given<'a> = &'a Row;
    type Gained = Option<PageRow>;

    fn put(row: &Row, out: &mut Vec<u8>) {
        Pages::put(vec![row], out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<Option<PageRow>> {
        Ok(PageRead::read(reader)?.rows.pop())
    }
}

/// Rows that writes return. A new page begins wherever the key's columns change.
#[derive(Debug)]
pub struct Pages;

impl ResponseField for Pages {
    type Given<'a> = Vec<&'a Row>;
    type Gained = Vec<PageRead>;

    fn put(rows: Vec<&Row>, out: &mut Vec<u8>) {
        let mut page = PageWriter::default();
        let mut current: Option<&Row> = None;
        for row in rows {
            let same = |last: &Row| {
                last.key.len() == row.key.len() && (row.key.is_empty() || Rc::ptr_eq(&last.schema, &row.schema))
            };
            if !current.is_some_and(same) {
                if current.is_some() {
                    page.encode(out);
                    page.clear();
                }
                if !row.key.is_empty() {
                    page.start(&row.schema);
                }
            }
            current = Some(row);
            let key = row.key.iter().map(KeyValue::as_value).collect::<Vec<ValueRef<'_>>>();
            let cells = row.cells.iter();
            let cells =
                cells.map(|(column, version, value)| CellRef { column, version: *version, value: value.as_ref() });
            page.row(&key, &cells.collect::<Vec<_>>());
        }
        page.encode(out);
    }

    fn read(reader: &mut Reader<'_>) -> Read<Vec<PageRead>> {
        let mut pages = Vec::new();
        while reader.left() > 0 {
            pages.push(PageRead::read(reader)?);
        }
        Ok(pages)
    }
}
