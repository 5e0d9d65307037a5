//! Request frames: a dictionary, and requests one after another.

use super::contract::op;
use super::dictionary::{Dictionary, Names};
use super::fields::Field;
use super::numbers::VERSION;
use super::request::RequestReader;
use super::{Damage, Reader};
use crate::error::{Error, Result as Answer};
use crate::model::NameRules;
use std::cell::Cell;

/// A request frame. Its reader keeps the frame whole, because names and values borrow from it.
#[derive(Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    names: Names,
    /// The end of the requests, where the dictionary begins.
    end: usize,
    cursor: Cell<usize>,
    broken: Cell<Option<Damage>>,
    has_rule: Cell<bool>,
}

/// The first request's offset: behind the version and the dictionary's offset.
const REQUESTS: usize = 5;

/// The beginning of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The request's id.
    pub id: u64,
    /// Its operation: one of [`op`](super::contract::op).
    pub op: u8,
    /// The place of its transaction's id.
    transaction: Option<(usize, usize)>,
}

impl Frame {
    /// Reads a frame up to its dictionary.
    ///
    /// # Errors
    /// Damage.
    pub fn parse(bytes: Vec<u8>, rules: NameRules) -> Result<Self, Damage> {
        Self::parse_like(bytes, rules, &mut Dictionary::default())
    }

    /// The same. `before` is the dictionary of the frame before, read by the same rules.
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
        let names = before.read(&bytes, end, rules)?;
        Ok(Self { bytes, names, end, cursor: Cell::new(start), broken: Cell::new(None), has_rule: Cell::new(false) })
    }

    /// The bytes of the frame.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The beginning of the next request, if there is one.
    ///
    /// # Errors
    /// Damage. Damage of the request before counts too, since the start of this one is then unknown.
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
            if !op::is_for_transactions(op) {
                return Err(reader.damage("an operation cannot be part of a transaction"));
            }
            let length = reader.str()?.len();
            transaction = Some((reader.at() - length, reader.at()));
        }
        self.cursor.set(reader.at());
        Ok(Some(RequestHead { id, op, transaction }))
    }

    /// Gives the bytes of the frame back.
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

    /// Reads the payload of the last begun request by its layout, and goes past it. An error refuses a payload that is
    /// whole but wrong. `None` is damage; [`Frame::next_request`] reports it.
    pub fn payload<F: Field>(&self, head: &RequestHead) -> Option<Answer<F::Value<'_>>> {
        let mut reader = RequestReader::new(&self.names, self.reader(), head.op);
        match F::read(&mut reader) {
            Ok(request) => {
                self.cursor.set(reader.at());
                self.has_rule.set(reader.has_rule());
                let nothing = || Error::internal("a request was refused without a reason");
                Some(reader.take_refusal().map_or_else(|| request.ok_or_else(nothing), Err))
            }
            Err(damage) => {
                self.broken.set(Some(damage));
                None
            }
        }
    }

    /// Whether the last payload has a filter with a value transfer rule.
    #[must_use]
    pub fn has_rule(&self) -> bool {
        self.has_rule.get()
    }

    /// Goes back to the first request.
    pub fn rewind(&self) {
        self.go_to(REQUESTS);
    }

    /// Goes to the request that begins at this position, as [`Frame::at`] told it.
    pub fn go_to(&self, position: usize) {
        self.cursor.set(position);
        self.broken.set(None);
    }

    /// The position up to which the frame has been read.
    #[must_use]
    pub fn at(&self) -> usize {
        self.cursor.get()
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new_at(self.bytes.get(..self.end).unwrap_or_default(), self.cursor.get())
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Self::parameter(format!("Cannot deserialize the request data. In the frame, {damage}."))
    }
}
