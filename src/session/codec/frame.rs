//! Request frames: their dictionary, and the requests one after another.

use super::VERSION;
use super::request::RequestReader;
use super::{Damage, Reader, op};
use crate::error::{Error, Result as Answer};
use crate::model::{ColumnName, NameRules, TableName};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// A request frame. Whoever reads it keeps it whole; names and values borrow from it.
#[derive(Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    names: Rc<Vec<Name>>,
    /// Where the requests end and the dictionary begins.
    end: usize,
    cursor: Cell<usize>,
    broken: Cell<Option<Damage>>,
    rules: NameRules,
}

/// A name of the dictionary; checked when it is first used, and once for each use it can have.
#[derive(Debug)]
struct Name {
    text: String,
    column: OnceCell<bool>,
    table: OnceCell<bool>,
}

/// The dictionary of the frame before: most frames of a client have the same.
#[derive(Debug, Default)]
pub struct Dictionary {
    bytes: Vec<u8>,
    names: Rc<Vec<Name>>,
}

/// A dictionary larger than this is not kept.
const KNOWN_BYTES: usize = 1024;

impl Dictionary {
    /// The names of a dictionary that begins at `start`.
    fn read(&mut self, frame: &[u8], start: usize) -> Result<Rc<Vec<Name>>, Damage> {
        let bytes = frame.get(start..).unwrap_or_default();
        if !self.bytes.is_empty() && self.bytes == bytes {
            return Ok(Rc::clone(&self.names));
        }
        let mut reader = Reader::new_at(frame, start);
        let count = reader.count()?;
        let mut names = Vec::with_capacity(count);
        for _ in 0..count {
            let text = reader.str()?.to_owned();
            names.push(Name { text, column: OnceCell::new(), table: OnceCell::new() });
        }
        if reader.left() > 0 {
            return Err(reader.damage("there are bytes after the dictionary"));
        }
        let names = Rc::new(names);
        if bytes.len() <= KNOWN_BYTES {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.names = Rc::clone(&names);
        }
        Ok(names)
    }
}

/// Where requests begin: behind the version and the dictionary's offset.
const REQUESTS: usize = 5;

/// How a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The request's id.
    pub id: u64,
    /// What it asks for: one of [`op`](super::op).
    pub op: u8,
    /// Where the id of its transaction stands.
    transaction: Option<(usize, usize)>,
}

impl Frame {
    /// Takes a frame apart as far as its dictionary.
    ///
    /// # Errors
    /// Damage.
    pub fn parse(bytes: Vec<u8>, rules: NameRules) -> Result<Self, Damage> {
        Self::parse_like(bytes, rules, &mut Dictionary::default())
    }

    /// The same, where the frame `before` had that dictionary, by the same rules.
    ///
    /// # Errors
    /// Damage.
    pub fn parse_like(bytes: Vec<u8>, rules: NameRules, before: &mut Dictionary) -> Result<Self, Damage> {
        let mut reader = Reader::new_at(&bytes, 0);
        if reader.u8()? != VERSION {
            return Err(Damage { what: "the frame is of an unknown version", at: 0 });
        }
        let end = reader.u32()? as usize;
        let start = reader.at();
        if end < start || end > bytes.len() {
            return Err(Damage { what: "the dictionary is outside the frame", at: start });
        }
        let names = before.read(&bytes, end)?;
        Ok(Self { bytes, names, end, cursor: Cell::new(start), broken: Cell::new(None), rules })
    }

    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The beginning of the next request, if there is one.
    ///
    /// # Errors
    /// Damage, also of the request before: where this one begins is then unknown.
    pub fn next_request(&self) -> Result<Option<RequestHead>, Damage> {
        if let Some(damage) = self.broken.get() {
            return Err(damage);
        }
        if self.cursor.get() >= self.end {
            return Ok(None);
        }
        let mut reader = self.reader();
        let (id, mut op) = (reader.uv()?, reader.u8()?);
        let mut transaction = None;
        if op & op::IN_TRANSACTION != 0 {
            op &= !op::IN_TRANSACTION;
            if !matches!(op, op::PUT_ROW..=op::GET_ROW | op::GET_RANGE | op::BATCH_WRITE_ROW) {
                return Err(reader.damage("an operation cannot be part of a transaction"));
            }
            let length = reader.str()?.len();
            transaction = Some((reader.at() - length, reader.at()));
        }
        self.cursor.set(reader.at());
        Ok(Some(RequestHead { id, op, transaction }))
    }

    /// The bytes that it was made of.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The id of the transaction that a request of this frame is part of.
    #[must_use]
    pub fn transaction(&self, head: &RequestHead) -> Option<&str> {
        let (start, end) = head.transaction?;
        std::str::from_utf8(self.bytes.get(start..end)?).ok()
    }

    /// Reads the payload of the request whose beginning was read last, and goes past it. An error refuses a payload that
    /// is whole but says something wrong; `None` is damage, which [`Frame::next_request`] then tells.
    pub fn payload<'f, T>(
        &'f self,
        read: impl FnOnce(&mut RequestReader<'f>) -> Result<T, Damage>,
    ) -> Option<Answer<T>> {
        let mut reader = RequestReader::new(self, self.reader());
        match read(&mut reader) {
            Ok(request) => {
                self.cursor.set(reader.at());
                Some(reader.refusal().map_or(Ok(request), Err))
            }
            Err(damage) => {
                self.broken.set(Some(damage));
                None
            }
        }
    }

    /// Goes back to the first request.
    pub fn rewind(&self) {
        self.cursor.set(REQUESTS);
        self.broken.set(None);
    }

    /// How far the frame has been read.
    #[must_use]
    pub fn at(&self) -> usize {
        self.cursor.get()
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new_at(self.bytes.get(..self.end).unwrap_or_default(), self.cursor.get())
    }

    /// The table's name of that number.
    pub(super) fn table(&self, index: u64) -> Option<Answer<TableName<'_>>> {
        let name = self.name(index)?;
        if *name.table.get_or_init(|| TableName::parse(&name.text).is_ok()) {
            Some(Ok(TableName::known(&name.text)))
        } else {
            Some(TableName::parse(&name.text))
        }
    }

    /// The column's name of that number.
    pub(super) fn column(&self, index: u64) -> Option<Answer<ColumnName<'_>>> {
        let name = self.name(index)?;
        if *name.column.get_or_init(|| ColumnName::parse(&name.text, self.rules).is_ok()) {
            Some(Ok(ColumnName::known(&name.text)))
        } else {
            Some(ColumnName::parse(&name.text, self.rules))
        }
    }

    /// A name of that number that is not checked: one that has to be a key column's is compared with the schema.
    pub(super) fn text(&self, index: u64) -> Option<&str> {
        self.name(index).map(|name| name.text.as_str())
    }

    fn name(&self, index: u64) -> Option<&Name> {
        self.names.get(usize::try_from(index).ok()?)
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Self::parameter(format!("Cannot deserialize the request data. In the frame, {damage}."))
    }
}
