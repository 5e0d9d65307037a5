//! GetRow, PutRow, UpdateRow, DeleteRow and GetRange (R1, R3).

use super::Door;
use super::message::{ReadFields, WriteKind, condition, consumed, read_options, required, return_content, table};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, parameter};
use super::row::{self, Rows};
use crate::engine::Direction;
use crate::model::{KeyInput, TableName};
use crate::tablestore::{GetRange, GetRow, Mutation, ReturnContent, RowWrite};

/// Reads a write. The fields from `first` on are its row, its condition, and what it returns.
///
/// # Errors
/// Damage, or whatever is wrong without its table.
pub(super) fn write<'a>(
    kind: WriteKind,
    table: TableName<'a>,
    fields: &Fields<'a>,
    first: usize,
) -> Answer<RowWrite<'a>> {
    let row = row::read(required(fields.bytes(first)?)?)?;
    let key = row::key(&row.key)?;
    let mutation: Mutation<'a> = match kind {
        WriteKind::Put => row::put(&row)?,
        WriteKind::Update => row::update(&row)?,
        WriteKind::Delete => row::delete(&row)?,
    };
    let (condition, column_condition) = condition(required(fields.bytes(first + 1)?)?)?;
    let returns = fields.bytes(first + 2)?.map_or(Ok(ReturnContent::None), return_content)?;
    Ok(RowWrite { table, key, condition, column_condition, returns, mutation })
}

impl Door<'_> {
    /// Reads a row.
    pub(super) async fn get_row(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let options = read_options(&fields, ReadFields { columns: 3, filter: 7 })?;
        let (table, key) = (table(fields.text(1)?)?, row::key_alone(required(fields.bytes(2)?)?)?);
        let request = GetRow { table, key, options };
        let mut rows = Rows::together();
        let found = self.instance.get_row_in(fields.text(11)?, &request, &mut rows).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, found.consumed);
        answer.bytes(2, rows.bytes());
        Ok(answer.0)
    }

    /// Writes a row.
    pub(super) async fn write_row(&self, kind: WriteKind) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let write = write(kind, table(fields.text(1)?)?, &fields, 2)?;
        let written = self.instance.write_row_in(fields.text(5)?, &write, self.origin).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, written.consumed);
        if let Some(row) = &written.row {
            answer.bytes(2, &row::returned(row));
        }
        Ok(answer.0)
    }

    /// Reads a range of rows.
    pub(super) async fn get_range(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let options = read_options(&fields, ReadFields { columns: 3, filter: 10 })?;
        // A hint: answers are in plain buffers whatever it says.
        let is_matrix = fields.number(15)? == Some(1);
        if is_matrix && options.columns.is_empty() {
            return parameter("DBT_SIMPLE_ROW_MATRIX need at least one column to get.");
        }
        let direction = match required(fields.number(2)?)? {
            0 => Direction::Forward,
            1 => Direction::Backward,
            other => return parameter(format!("Invalid direction: {other}.")),
        };
        let end = |number| -> Answer<KeyInput<'_>> {
            let end = row::key_alone(required(fields.bytes(number)?)?)?;
            // To the engine, no column at all would be an end of the table.
            end.check_count()?;
            Ok(end)
        };
        let (start, end, limit) = (end(7)?, end(8)?, fields.short(6)?);
        let request = GetRange { table: table(fields.text(1)?)?, direction, start, end, limit, options };
        let mut rows = Rows::together();
        let read = self.instance.get_range_in(fields.text(14)?, &request, &mut rows).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, read.consumed);
        answer.bytes(2, rows.bytes());
        if let Some(next) = &read.next {
            answer.bytes(3, &row::key_buffer(&read.schema, next));
        }
        Ok(answer.0)
    }
}
