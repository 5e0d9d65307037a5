//! Rows of requests as the engine takes them, and rows of answers.

use super::plain_buffer::{self, Cell, Payload, Row, RowWriter};
use super::refusal::{Answer, parameter};
use crate::collections::sort::sort_by;
use crate::model::{
    CellRef, ColumnName, KeyInput, KeyPart, KeyValue, NameRules, RowSink, TableSchema, ValueRef, limits,
};
use crate::tablestore::{ColumnChange, ColumnOp, Mutation, PutCell, ReturnedRow};
use std::rc::Rc;

/// The row of a buffer.
///
/// # Errors
/// Damage.
pub(super) fn read(buffer: &[u8]) -> Answer<Row<'_>> {
    Row::read(buffer).or_else(parameter)
}

/// The key of a row, in its order.
///
/// # Errors
/// A column that is more than a name and a value, or whose value is none of a key.
pub(super) fn key<'a>(cells: &[Cell<'a>]) -> Answer<KeyInput<'a>> {
    let mut key = KeyInput::new();
    for Cell { name, value, op, version } in cells {
        if name.is_empty() {
            return parameter("No name is given for primary key.");
        }
        if op.is_some() {
            return parameter(format!("OpType cannot be given for primary key name: {name}."));
        }
        if version.is_some() {
            return parameter(format!("Timestamp cannot be given for primary key name: {name}."));
        }
        key.push(
            name,
            match value {
                None => return parameter(format!("No value is given for primary key name: {name}.")),
                // As in messages about tables, such a type has no prefix here.
                Some(Payload::Value(value @ (ValueRef::Double(_) | ValueRef::Boolean(_)))) => {
                    let text = format!("{} is an invalid type for the primary key.", value.value_type().as_str());
                    return parameter(text);
                }
                Some(Payload::Value(value)) => KeyPart::Value(*value),
                Some(Payload::InfMin) => KeyPart::InfMin,
                Some(Payload::InfMax) => KeyPart::InfMax,
                Some(Payload::AutoIncrement) => KeyPart::AutoIncrement,
                Some(Payload::NoText) => return no_text(name),
                Some(Payload::Null) => return parameter("VT_NULL is an invalid type for the primary key."),
            },
        );
    }
    Ok(key)
}

fn no_text<T>(name: &str) -> Answer<T> {
    parameter(format!("Value of column {name} must be UTF8 encoding."))
}

/// The key of a buffer that has nothing else.
///
/// # Errors
/// Damage, or a wrong key.
pub(super) fn key_alone(buffer: &[u8]) -> Answer<KeyInput<'_>> {
    let row = read(buffer)?;
    if row.is_deleted {
        return parameter("Delete marker cannot be given.");
    }
    key(&row.key)
}

fn column<'a>(name: &'a str) -> Answer<ColumnName<'a>> {
    if name.is_empty() {
        return parameter("No name is given for attribute column.");
    }
    Ok(ColumnName::parse(name, NameRules::Sdk)?)
}

fn attribute<'a>(cell: &Cell<'a>) -> Answer<ValueRef<'a>> {
    match cell.value {
        Some(Payload::Value(value)) => Ok(value),
        Some(Payload::NoText) => no_text(cell.name),
        Some(other) => parameter(format!("{} is an invalid type for the attribute column.", other.type_name())),
        None => parameter("No value is given for column name."),
    }
}

/// The cells of a PutRow.
///
/// # Errors
/// A row that is deleted, a cell that is not put.
pub(super) fn put<'a>(row: &Row<'a>) -> Answer<Mutation<'a>> {
    no_marker(row)?;
    let put = |cell: &Cell<'a>| {
        if cell.op.is_some() {
            return parameter(format!("OpType cannot be given for column name:{} in PutRow.", cell.name));
        }
        Ok(PutCell { column: column(cell.name)?, version: cell.version, value: attribute(cell)? })
    };
    row.cells.iter().map(put).collect::<Answer<_>>().map(Mutation::Put)
}

/// The changes of an UpdateRow.
///
/// # Errors
/// A row that is deleted, a cell that is no change.
pub(super) fn update<'a>(row: &Row<'a>) -> Answer<Mutation<'a>> {
    no_marker(row)?;
    let changes = row.cells.iter().map(change).collect::<Answer<Vec<_>>>()?;
    in_effect(changes).map(Mutation::Update)
}

fn change<'a>(cell: &Cell<'a>) -> Answer<ColumnChange<'a>> {
    let column = column(cell.name)?;
    let no_value = || {
        if cell.value.is_some() {
            return parameter("Column value cannot be given when type is DELETE_ONE_VERSION,DELETE_ALL_VERSION.");
        }
        Ok(())
    };
    let op = match cell.op {
        None => ColumnOp::Put { version: cell.version, value: attribute(cell)? },
        Some(plain_buffer::DELETE_ONE) => {
            no_value()?;
            match cell.version {
                Some(version) => ColumnOp::DeleteVersion(version),
                None => return parameter("Timestamp must be given when type is DELETE_ONE_VERSION."),
            }
        }
        Some(plain_buffer::DELETE_ALL) => {
            no_value()?;
            if cell.version.is_some() {
                return parameter("Timestamp cannot be given when type is DELETE_ALL_VERSION.");
            }
            ColumnOp::DeleteColumn
        }
        Some(plain_buffer::INCREMENT) => match attribute(cell)? {
            ValueRef::Integer(_) if cell.version.is_some() => {
                return parameter("Timestamp cannot be given when type is INCREMENT.");
            }
            ValueRef::Integer(delta) => ColumnOp::Increment(delta),
            other => {
                let text = format!("{} is an invalid type to increment a column by.", other.value_type().variant());
                return parameter(text);
            }
        },
        Some(other) => return parameter(format!("Invalid OpType: {other} for column name:{}.", cell.name)),
    };
    Ok(ColumnChange { column, op })
}

/// The changes that have an effect: they apply one after the other, so a column that is deleted loses what was put before it.
///
/// # Errors
/// More columns than a write may have, or a hidden value that is too long: the engine does not see it.
fn in_effect(changes: Vec<ColumnChange<'_>>) -> Answer<Vec<ColumnChange<'_>>> {
    let is_deleted = |change: &&ColumnChange<'_>| change.op == ColumnOp::DeleteColumn;
    if !changes.iter().any(|change| is_deleted(&change)) {
        return Ok(changes);
    }
    let mut sorted: Vec<_> = changes.iter().collect();
    // The order is stable: the changes of a column stay in theirs.
    sort_by(&mut sorted, |a, b| a.column.cmp(&b.column));
    let same = |a: &&ColumnChange<'_>, b: &&ColumnChange<'_>| a.column == b.column;
    let (count, limit) = (sorted.chunk_by(same).count(), limits::COLUMNS_PER_WRITE);
    if count > limit {
        return parameter(format!(
            "The number of attribute columns exceeds the limit, limit count: {limit}, column count: {count}."
        ));
    }
    let mut stay = Vec::with_capacity(sorted.len());
    for of_column in sorted.chunk_by(same) {
        let deletion = of_column.iter().rposition(is_deleted).unwrap_or_default();
        for (at, change) in of_column.iter().enumerate() {
            match change.op {
                ColumnOp::Put { value, .. } if at < deletion => {
                    limits::check_attribute_bytes(change.column.as_str(), value.metered_bytes())?;
                }
                ColumnOp::DeleteColumn if at < deletion => {}
                _ => stay.push(**change),
            }
        }
    }
    Ok(stay)
}

/// A DeleteRow has a key and a marker.
///
/// # Errors
/// A row without the marker, or with cells.
pub(super) fn delete<'a>(row: &Row<'_>) -> Answer<Mutation<'a>> {
    if !row.is_deleted {
        return parameter("Invalid request of delete row: missing RowDeleteMarker in request");
    }
    if !row.cells.is_empty() {
        return parameter("Invalid delete row request: unexpected cells in request");
    }
    Ok(Mutation::Delete)
}

fn no_marker(row: &Row<'_>) -> Answer<()> {
    if row.is_deleted {
        return parameter("Invalid request of put/update row: unexpected RowDeleteMarker in request.");
    }
    Ok(())
}

/// Takes the rows of a read, and writes them as they come.
#[derive(Default)]
pub(super) struct Rows {
    names: Vec<String>,
    writer: RowWriter,
    /// The end of each row.
    ends: Vec<usize>,
    /// If each row is a buffer of its own: the bytes of all rows of the request, also of other tables.
    apart: Option<Rc<std::cell::Cell<usize>>>,
}

/// Bytes of the rows that a batch of reads has found, as written (ours: no document tells).
///
/// Else: `OTSServerBusy` for each further row that is there; clients ask for these again.
const BATCH_BYTES: usize = 16 * 1024 * 1024;

impl Rows {
    /// Rows that are in one buffer.
    pub(super) fn together() -> Self {
        Self::default()
    }

    /// Rows that are in buffers of their own. The buffer of a row is empty if `taken` bytes were too many before it.
    pub(super) fn apart(taken: &Rc<std::cell::Cell<usize>>) -> Self {
        Self { apart: Some(Rc::clone(taken)), ..Self::default() }
    }

    /// The bytes of all rows.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.writer.bytes
    }

    /// The buffers, each of one row.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| self.writer.bytes.get(*start..*end).unwrap_or_default())
    }
}

impl RowSink for Rows {
    fn start(&mut self, schema: &TableSchema) {
        self.names = schema.key().iter().map(|column| column.name.clone()).collect();
    }

    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]) {
        let start = self.writer.bytes.len();
        if self.apart.as_ref().is_some_and(|taken| taken.get() > BATCH_BYTES) {
            self.ends.push(start);
            return;
        }
        if self.apart.is_some() || self.ends.is_empty() {
            self.writer.begin();
        }
        let mut row = self.writer.row();
        for (name, value) in self.names.iter().zip(key) {
            row.key(name, *value);
        }
        for cell in cells {
            row.attribute(cell.column, Some(cell.value), None, Some(cell.version));
        }
        row.end(None);
        let end = self.writer.bytes.len();
        self.ends.push(end);
        if let Some(taken) = &self.apart {
            taken.set(taken.get() + end - start);
        }
    }
}

/// The buffer of what a write returns.
pub(super) fn returned(row: &ReturnedRow) -> Vec<u8> {
    let mut writer = RowWriter::default();
    writer.begin();
    let mut parts = writer.row();
    for (column, value) in row.schema.key().iter().zip(&row.key) {
        parts.key(&column.name, value.as_value());
    }
    for (column, version, value) in &row.cells {
        parts.attribute(column, Some(value.as_ref()), None, Some(*version));
    }
    parts.end(None);
    writer.bytes
}

/// The buffer of the first columns of a key.
pub(super) fn key_buffer(schema: &TableSchema, values: &[KeyValue]) -> Vec<u8> {
    let mut writer = RowWriter::default();
    writer.begin();
    let mut parts = writer.row();
    for (column, value) in schema.key().iter().zip(values) {
        parts.key(&column.name, value.as_value());
    }
    parts.end(None);
    writer.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_changes_of_one_column_apply_in_their_order() {
        let column = |name| ColumnName::known(name);
        let put = |name, value| ColumnChange {
            column: column(name),
            op: ColumnOp::Put { version: None, value: ValueRef::Integer(value) },
        };
        let delete = |name| ColumnChange { column: column(name), op: ColumnOp::DeleteColumn };
        let in_effect = |changes| in_effect(changes).expect("taken");
        assert_eq!(in_effect(vec![put("a", 1), delete("a")]), [delete("a")]);
        assert_eq!(in_effect(vec![delete("a"), put("a", 1)]), [delete("a"), put("a", 1)]);
        let all = vec![put("a", 1), put("b", 2), delete("a"), put("a", 3), delete("b"), delete("a"), put("a", 4)];
        assert_eq!(in_effect(all), [delete("a"), put("a", 4), delete("b")]);
    }
}
