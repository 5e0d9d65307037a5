//! Reads a row of a request. Every fault has the service's text.

use super::*;
use crate::format::wire::Reader;
use crate::model::ValueRef;

/// What a cell or a key column holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Payload<'a> {
    Value(ValueRef<'a>),
    /// A String that is not UTF-8.
    NoText,
    Null,
    InfMin,
    InfMax,
    AutoIncrement,
}

impl Payload<'_> {
    /// The name of its type in messages.
    pub(in super::super) fn type_name(self) -> &'static str {
        match self {
            Self::Value(value) => value.value_type().variant(),
            Self::NoText => "VT_STRING",
            Self::Null => "VT_NULL",
            Self::InfMin => "VT_INF_MIN",
            Self::InfMax => "VT_INF_MAX",
            Self::AutoIncrement => "VT_AUTO_INCREMENT",
        }
    }
}

/// A cell of a row, or a column of its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Cell<'a> {
    pub(in super::super) name: &'a str,
    pub(in super::super) value: Option<Payload<'a>>,
    pub(in super::super) op: Option<u8>,
    pub(in super::super) version: Option<i64>,
}

/// A row of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Row<'a> {
    pub(in super::super) key: Vec<Cell<'a>>,
    pub(in super::super) cells: Vec<Cell<'a>>,
    pub(in super::super) is_deleted: bool,
}

/// What is wrong with a buffer, as the service says it.
type Fault = String;

fn ends_early<T>(_: T) -> Fault {
    "Cell data broken, the data ends too early.".to_owned()
}

fn other_checksum(actual: u8, expected: u8) -> Fault {
    format!("Cell data broken, checksum is mismatch, actual: {actual} , expect: {expected}.")
}

/// Reads the parts of one row.
struct RowReader<'a> {
    reader: Reader<'a>,
    /// The tag that comes next.
    tag: Option<u8>,
    checksum: Checksum,
}

impl<'a> Row<'a> {
    /// Reads the row of a buffer.
    ///
    /// # Errors
    /// Whatever is no sound row.
    pub(in super::super) fn read(buffer: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(buffer);
        let header = reader.u32().map_err(ends_early)?;
        if header != HEADER {
            return Err(format!("Cell data broken, mismatch header, actual: {header} , expect: {HEADER}."));
        }
        let mut parts = RowReader { reader, tag: None, checksum: Checksum::new() };
        parts.advance();
        let mut row = Self::default();
        if !parts.takes(ROW_PK) {
            return Err("Cell data broken, PK is empty.".to_owned());
        }
        parts.cells(&mut row.key)?;
        if parts.takes(ROW_DATA) {
            parts.cells(&mut row.cells)?;
        }
        row.is_deleted = parts.takes(DELETE_MARKER);
        if parts.takes(EXTENSION) {
            parts.skip_extension()?;
        }
        parts.end(row.is_deleted)?;
        Ok(row)
    }
}

impl<'a> RowReader<'a> {
    fn advance(&mut self) {
        self.tag = self.reader.u8().ok();
    }

    /// Whether a part comes next; it is passed.
    fn takes(&mut self, tag: u8) -> bool {
        let comes = self.tag == Some(tag);
        if comes {
            self.advance();
        }
        comes
    }

    /// Bytes behind their length.
    fn sized(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.reader.u32().map_err(ends_early)? as usize;
        // A false length reserves no memory.
        self.reader.take(length).map_err(ends_early)
    }

    fn cells(&mut self, cells: &mut Vec<Cell<'a>>) -> Result<(), Fault> {
        // Behind a tag that was passed comes the next one at once.
        while self.tag == Some(CELL) {
            cells.push(self.cell()?);
        }
        Ok(())
    }

    fn cell(&mut self) -> Result<Cell<'a>, Fault> {
        let mut checksum = Checksum::new();
        let (mut value, mut op, mut version) = (None, None, None);
        self.advance();
        if self.tag != Some(CELL_NAME) {
            return Err("Cell data broken, the name of a cell is missing.".to_owned());
        }
        let name = self.sized()?;
        checksum.add(name);
        self.advance();
        // A name that is no text is damaged by its length.
        let shown = || std::str::from_utf8(name).unwrap_or_default();
        if self.tag == Some(CELL_VALUE) {
            let bytes = self.sized()?;
            checksum.add(bytes);
            let mut inner = Reader::new(bytes);
            let read = variant(&mut inner).filter(|_| inner.is_empty());
            value = Some(read.ok_or_else(|| format!("Cell data broken, the value of cell {} is damaged.", shown()))?);
            self.advance();
        }
        if self.tag == Some(CELL_OP) {
            op = Some(self.reader.u8().map_err(ends_early)?);
            self.advance();
        }
        if self.tag == Some(CELL_TIMESTAMP) {
            let given = self.reader.i64().map_err(ends_early)?;
            checksum.add(&given.to_le_bytes());
            version = Some(given);
            self.advance();
        }
        if let Some(op) = op {
            checksum.add(&[op]);
        }
        let expected = checksum.end();
        match self.tag {
            Some(CELL_CHECKSUM) => {}
            Some(CELL | ROW_DATA | DELETE_MARKER | ROW_CHECKSUM) | None => {
                return Err(format!("Invalid Column({}): missing checksum.", shown()));
            }
            Some(other) => return Err(format!("Cell data broken, unexpected tag: {other}.")),
        }
        let actual = self.reader.u8().map_err(ends_early)?;
        if actual != expected {
            return Err(other_checksum(actual, expected));
        }
        self.checksum.add(&[actual]);
        self.advance();
        let name = std::str::from_utf8(name).map_err(|_| format!("Invalid column name: '{}'.", shown()))?;
        Ok(Cell { name, value, op, version })
    }

    fn skip_extension(&mut self) -> Result<(), Fault> {
        self.sized()?;
        self.advance();
        Ok(())
    }

    fn end(mut self, is_deleted: bool) -> Result<(), Fault> {
        match self.tag {
            Some(ROW_CHECKSUM) => {}
            None => return Err("Invalid row: missing checksum.".to_owned()),
            Some(_) => return Err("Cell data broken, row is not end with checksum tag.".to_owned()),
        }
        let actual = self.reader.u8().map_err(|_| "Invalid row: missing checksum.".to_owned())?;
        self.checksum.add(&[u8::from(is_deleted)]);
        let expected = self.checksum.end();
        if actual == expected { Ok(()) } else { Err(other_checksum(actual, expected)) }
    }
}

/// The next value of some bytes, with its type. `None` if it is damaged.
pub(in super::super) fn variant<'a>(reader: &mut Reader<'a>) -> Option<Payload<'a>> {
    let tag = reader.u8().ok()?;
    Some(match tag {
        INTEGER => Payload::Value(ValueRef::Integer(reader.i64().ok()?)),
        DOUBLE => Payload::Value(ValueRef::Double(reader.f64().ok()?)),
        BOOLEAN => Payload::Value(ValueRef::Boolean(reader.u8().ok()? != 0)),
        STRING | BLOB => {
            let length = reader.u32().ok()? as usize;
            let bytes = reader.take(length).ok()?;
            if tag == BLOB {
                Payload::Value(ValueRef::Binary(bytes))
            } else {
                std::str::from_utf8(bytes).map_or(Payload::NoText, |text| Payload::Value(ValueRef::String(text)))
            }
        }
        NULL => Payload::Null,
        INF_MIN => Payload::InfMin,
        INF_MAX => Payload::InfMax,
        AUTO_INCREMENT => Payload::AutoIncrement,
        _ => return None,
    })
}
