//! GetRow, PutRow, UpdateRow, DeleteRow and GetRange (R1, R3).

use super::Door;
use super::message::{ReadField, condition, consumed, read_field, read_options, required, return_content, table};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, parameter};
use super::row::{self, Rows};
use crate::engine::Direction;
use crate::model::TableName;
use crate::tablestore::{GetRange, GetRow, Mutation, ReturnContent, RowWrite};

/// The kinds of writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Put,
    Update,
    Delete,
}

/// Reads a write: its table, its row, its condition, what it returns.
///
/// # Errors
/// Damage, or whatever is wrong without its table.
pub(super) fn write<'a>(
    kind: WriteKind,
    table: TableName<'a>,
    buffer: &'a [u8],
    condition_message: &'a [u8],
    returns: Option<&'a [u8]>,
) -> Answer<RowWrite<'a>> {
    let row = row::read(buffer)?;
    let key = row::key(&row.key)?;
    let mutation: Mutation<'a> = match kind {
        WriteKind::Put => row::put(&row)?,
        WriteKind::Update => row::update(&row)?,
        WriteKind::Delete => row::delete(&row)?,
    };
    let (condition, column_condition) = condition(condition_message)?;
    let returns = returns.map_or(Ok(ReturnContent::None), return_content)?;
    Ok(RowWrite { table, key, condition, column_condition, returns, mutation })
}

impl Door<'_> {
    /// Reads a row.
    pub(super) async fn get_row(&self) -> Answer<Vec<u8>> {
        let (mut name, mut key, mut transaction, mut options) = (None, None, None, read_options());
        let mut fields = Fields::new(self.body);
        while let Some((number, value)) = fields.next_field()? {
            let field = match number {
                1 => {
                    name = Some(value.text()?);
                    continue;
                }
                2 => {
                    key = Some(value.bytes()?);
                    continue;
                }
                11 => {
                    transaction = Some(value.text()?);
                    continue;
                }
                3 => ReadField::Column,
                4 => ReadField::TimeRange,
                5 => ReadField::MaxVersions,
                7 => ReadField::Filter,
                8 => ReadField::Start,
                9 => ReadField::End,
                _ => continue,
            };
            read_field(&mut options, field, value)?;
        }
        let request = GetRow { table: table(name)?, key: row::key_alone(required(key)?)?, options };
        let mut rows = Rows::together();
        let found = self.instance.get_row_in(transaction, &request, &mut rows).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, found.consumed);
        answer.bytes(2, rows.bytes());
        Ok(answer.0)
    }

    /// Writes a row.
    pub(super) async fn write_row(&self, kind: WriteKind) -> Answer<Vec<u8>> {
        let (mut name, mut buffer, mut condition, mut returns, mut transaction) = (None, None, None, None, None);
        let mut fields = Fields::new(self.body);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => name = Some(value.text()?),
                2 => buffer = Some(value.bytes()?),
                3 => condition = Some(value.bytes()?),
                4 => returns = Some(value.bytes()?),
                5 => transaction = Some(value.text()?),
                _ => {}
            }
        }
        let write = write(kind, table(name)?, required(buffer)?, required(condition)?, returns)?;
        let written = self.instance.write_row_in(transaction, &write, self.origin).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, written.consumed);
        if let Some(row) = &written.row {
            answer.bytes(2, &row::returned(row));
        }
        Ok(answer.0)
    }

    /// Reads a range of rows.
    pub(super) async fn get_range(&self) -> Answer<Vec<u8>> {
        let (mut name, mut direction, mut start, mut end) = (None, None, None, None);
        let (mut limit, mut transaction, mut is_matrix, mut options) = (None, None, false, read_options());
        let mut fields = Fields::new(self.body);
        while let Some((number, value)) = fields.next_field()? {
            let field = match number {
                3 => ReadField::Column,
                4 => ReadField::TimeRange,
                5 => ReadField::MaxVersions,
                10 => ReadField::Filter,
                11 => ReadField::Start,
                12 => ReadField::End,
                _ => {
                    match number {
                        1 => name = Some(value.text()?),
                        2 => direction = Some(value.number()?),
                        6 => limit = Some(value.short()?),
                        7 => start = Some(value.bytes()?),
                        8 => end = Some(value.bytes()?),
                        14 => transaction = Some(value.text()?),
                        // A hint: answers are in plain buffers whatever it says.
                        15 => is_matrix = value.number()? == 1,
                        _ => {}
                    }
                    continue;
                }
            };
            read_field(&mut options, field, value)?;
        }
        if is_matrix && options.columns.is_empty() {
            return parameter("DBT_SIMPLE_ROW_MATRIX need at least one column to get.");
        }
        let direction = match required(direction)? {
            0 => Direction::Forward,
            1 => Direction::Backward,
            other => return parameter(format!("Invalid direction: {other}.")),
        };
        let (start, end) = (row::key_alone(required(start)?)?, row::key_alone(required(end)?)?);
        for end in [&start, &end] {
            // To the engine, no column at all would be an end of the table.
            end.check_count()?;
        }
        let request = GetRange { table: table(name)?, direction, start, end, limit, options };
        let mut rows = Rows::together();
        let read = self.instance.get_range_in(transaction, &request, &mut rows).await?;
        let mut answer = Message::default();
        consumed(&mut answer, 1, read.consumed);
        answer.bytes(2, rows.bytes());
        if let Some(next) = &read.next {
            answer.bytes(3, &row::key_buffer(&read.schema, next));
        }
        Ok(answer.0)
    }
}
