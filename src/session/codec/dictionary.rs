//! The dictionary of a request frame: the names of its tables and columns, which requests give by number.

use super::{Damage, Reader};
use crate::error::Result as Answer;
use crate::model::{ColumnName, NameRules, TableName};
use std::cell::OnceCell;
use std::rc::Rc;

/// A name of the dictionary. It is checked at its first use as a table and at its first use as a column.
#[derive(Debug)]
struct Name {
    text: String,
    column: OnceCell<bool>,
    table: OnceCell<bool>,
}

/// The dictionary of the last frame. Most frames of a client have the same one.
#[derive(Debug, Default)]
pub struct Dictionary {
    bytes: Vec<u8>,
    names: Rc<Vec<Name>>,
}

/// A dictionary larger than this is not kept.
const KNOWN_BYTES: usize = 1024;

impl Dictionary {
    /// The names of a dictionary that begins at `start`. They have to follow these rules.
    pub(super) fn read(&mut self, frame: &[u8], start: usize, rules: NameRules) -> Result<Names, Damage> {
        let bytes = frame.get(start..).unwrap_or_default();
        if !self.bytes.is_empty() && self.bytes == bytes {
            return Ok(Names { all: Rc::clone(&self.names), rules });
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
        Ok(Names { all: names, rules })
    }
}

/// The names of a frame.
#[derive(Debug)]
pub(super) struct Names {
    all: Rc<Vec<Name>>,
    rules: NameRules,
}

impl Names {
    /// The name of the table with this number.
    pub(super) fn table(&self, index: u64) -> Option<Answer<TableName<'_>>> {
        let name = self.name(index)?;
        if *name.table.get_or_init(|| TableName::parse(&name.text).is_ok()) {
            Some(Ok(TableName::known(&name.text)))
        } else {
            Some(TableName::parse(&name.text))
        }
    }

    /// The name of the column with this number.
    pub(super) fn column(&self, index: u64) -> Option<Answer<ColumnName<'_>>> {
        let name = self.name(index)?;
        if *name.column.get_or_init(|| ColumnName::parse(&name.text, self.rules).is_ok()) {
            Some(Ok(ColumnName::known(&name.text)))
        } else {
            Some(ColumnName::parse(&name.text, self.rules))
        }
    }

    /// The name with this number, unchecked. The caller compares the name of a key column with the schema.
    pub(super) fn text(&self, index: u64) -> Option<&str> {
        self.name(index).map(|name| name.text.as_str())
    }

    fn name(&self, index: u64) -> Option<&Name> {
        self.all.get(usize::try_from(index).ok()?)
    }
}
