//! Reads the payloads of requests.
//!
//! A request that is whole but wrong (a bad name, an infinity as an attribute) is refused alone. The reader still goes
//! through all of its bytes, so it finds the next request.

use super::dictionary::Names;
use super::{Damage, Reader, tag};
use crate::error::{Error, Result as Answer};
use crate::format::wire;
use crate::model::{ColumnName, KeyInput, KeyPart, TableName, ValueRef};

/// A result of reading.
pub type Read<T> = Result<T, Damage>;

/// The greatest depth of filters: reading and dropping them is recursive.
const FILTER_DEPTH: usize = 64;

/// Reads the payload of one request.
#[derive(Debug)]
pub struct RequestReader<'f> {
    names: &'f Names,
    reader: Reader<'f>,
    op: u8,
    /// The depth of the filter that is being read.
    depth: usize,
    /// The first refusal.
    refused: Option<Error>,
    /// Whether it has a value transfer rule.
    has_rule: bool,
}

/// A value as it stands in a request.
enum Item<'f> {
    Value(ValueRef<'f>),
    InfMin,
    InfMax,
    AutoIncrement,
}

impl<'f> RequestReader<'f> {
    pub(super) fn new(names: &'f Names, reader: Reader<'f>, op: u8) -> Self {
        Self { names, reader, op, depth: 1, refused: None, has_rule: false }
    }

    pub(super) fn at(&self) -> usize {
        self.reader.at()
    }

    /// The number of the request's operation.
    pub(super) fn op(&self) -> u8 {
        self.op
    }

    pub(super) fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    pub(super) fn take_refusal(&mut self) -> Option<Error> {
        self.refused.take()
    }

    pub(super) fn note_rule(&mut self) {
        self.has_rule = true;
    }

    pub(super) fn has_rule(&self) -> bool {
        self.has_rule
    }

    pub(super) fn damage(&self, what: &'static str) -> Damage {
        self.reader.damage(what)
    }

    pub(super) fn u8(&mut self) -> Read<u8> {
        self.reader.u8()
    }

    pub(super) fn uv(&mut self) -> Read<u64> {
        self.reader.uv()
    }

    pub(super) fn sv(&mut self) -> Read<i64> {
        self.reader.sv()
    }

    pub(super) fn count(&mut self) -> Read<usize> {
        self.reader.count()
    }

    pub(super) fn str(&mut self) -> Read<&'f str> {
        self.reader.str()
    }

    pub(super) fn bytes(&mut self) -> Read<&'f [u8]> {
        self.reader.bytes()
    }

    pub(super) fn descend(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH { Err(self.damage("a filter is too deep")) } else { Ok(()) }
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn right<T>(&mut self, answer: Answer<T>) -> Option<T> {
        answer.map_err(|error| self.refuse(error)).ok()
    }

    pub(super) fn table(&mut self) -> Read<Option<TableName<'f>>> {
        let index = self.reader.uv()?;
        let name = self.names.table(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
        Ok(self.right(name))
    }

    pub(super) fn column(&mut self) -> Read<Option<ColumnName<'f>>> {
        let index = self.reader.uv()?;
        let name = self.names.column(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
        Ok(self.right(name))
    }

    pub(super) fn key(&mut self) -> Read<KeyInput<'f>> {
        let mut key = KeyInput::any_order();
        for _ in 0..self.reader.u8()? {
            let index = self.reader.uv()?;
            let name = self.names.text(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
            match self.value()? {
                Item::Value(value) => key.push(name, KeyPart::Value(value)),
                Item::InfMin => key.push(name, KeyPart::InfMin),
                Item::InfMax => key.push(name, KeyPart::InfMax),
                Item::AutoIncrement => key.push(name, KeyPart::AutoIncrement),
            }
        }
        Ok(key)
    }

    /// A value of an attribute.
    pub(super) fn attribute(&mut self) -> Read<Option<ValueRef<'f>>> {
        let wrong = match self.value()? {
            Item::Value(value) => return Ok(Some(value)),
            Item::InfMin => "VT_INF_MIN",
            Item::InfMax => "VT_INF_MAX",
            Item::AutoIncrement => "VT_AUTO_INCREMENT",
        };
        self.refuse(Error::parameter(format!("{wrong} is an invalid type for the attribute column.")));
        Ok(None)
    }

    fn value(&mut self) -> Read<Item<'f>> {
        Ok(match self.reader.u8()? {
            tag @ tag::INTEGER..=tag::BINARY => Item::Value(wire::value(&mut self.reader, tag)?),
            tag::INF_MIN => Item::InfMin,
            tag::INF_MAX => Item::InfMax,
            tag::AUTO_INCREMENT => Item::AutoIncrement,
            _ => return Err(self.reader.damage("a value has an unknown tag")),
        })
    }
}
