//! Messages that many operations share.

use super::filter;
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Refusal, parameter};
use crate::model::{ColumnName, Consumed, NameRules, TableName, limits};
use crate::tablestore::{Existence, ReadOptions, ReturnContent};

/// A field that has to be there.
///
/// # Errors
/// It is not.
pub(super) fn required<T>(field: Option<T>) -> Answer<T> {
    field.map_or_else(|| parameter("Parse PBMessage from RawString failed."), Ok)
}

/// The name of a table.
///
/// # Errors
/// It is missing, or wrong.
pub(super) fn table(name: Option<&str>) -> Answer<TableName<'_>> {
    Ok(TableName::parse(required(name)?)?)
}

/// The condition of a write.
pub(super) type Condition<'a> = (Existence, Option<Box<crate::model::Filter<'a>>>);

/// Reads the condition of a write.
///
/// # Errors
/// A wrong expectation or filter.
pub(super) fn condition(message: &[u8]) -> Answer<Condition<'_>> {
    let (mut existence, mut column_condition) = (None, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next_field()? {
        match field {
            1 => existence = Some(value.number()?),
            2 => column_condition = Some(value.bytes()?),
            _ => {}
        }
    }
    let existence = match required(existence)? {
        0 => Existence::Ignore,
        1 => Existence::ExpectExist,
        2 => Existence::ExpectNotExist,
        other => return parameter(format!("Invalid row-existence expectation: {other}.")),
    };
    // Some clients send an empty one where there is none.
    let column_condition = column_condition.filter(|condition| !condition.is_empty());
    Ok((existence, column_condition.map(filter::read).transpose()?.map(Box::new)))
}

/// Reads what a write returns.
///
/// # Errors
/// An unknown kind; columns where none can be told.
pub(super) fn return_content(message: &[u8]) -> Answer<ReturnContent<'_>> {
    let (mut kind, mut columns) = (0, Vec::new());
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next_field()? {
        match field {
            1 => kind = value.number()?,
            2 => columns.push(ColumnName::parse(value.text()?, NameRules::Sdk)?),
            _ => {}
        }
    }
    match kind {
        0 => Ok(ReturnContent::None),
        1 if columns.is_empty() => Ok(ReturnContent::PrimaryKey),
        1 => parameter("Return column names cannot be given when return type is RT_PK."),
        2 => Ok(ReturnContent::AfterModify(columns)),
        other => parameter(format!("Invalid return type: {other}.")),
    }
}

/// The fields of a read that all kinds of reads have, by other numbers.
#[derive(Clone, Copy)]
pub(super) enum ReadField {
    Column,
    TimeRange,
    MaxVersions,
    Filter,
    Start,
    End,
}

/// Takes a field of a read.
///
/// # Errors
/// A wrong one.
pub(super) fn read_field<'a>(
    options: &mut ReadOptions<'a>,
    field: ReadField,
    value: super::protobuf::Value<'a>,
) -> Answer<()> {
    match field {
        ReadField::Column => {
            options.columns.push(ColumnName::parse(value.text()?, NameRules::Sdk)?);
        }
        ReadField::TimeRange => time_range(options, value.bytes()?)?,
        ReadField::MaxVersions => options.versions.max_versions = Some(value.short()?),
        ReadField::Filter => {
            let message = value.bytes()?;
            options.filter = if message.is_empty() { None } else { Some(filter::read(message)?) };
        }
        ReadField::Start => options.start_column = Some(value.text()?),
        ReadField::End => options.end_column = Some(value.text()?),
    }
    Ok(())
}

fn time_range(options: &mut ReadOptions<'_>, message: &[u8]) -> Answer<()> {
    let (mut start, mut end, mut specific) = (None, None, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next_field()? {
        match field {
            1 => start = Some(value.number()?),
            2 => end = Some(value.number()?),
            3 => specific = Some(value.number()?),
            _ => {}
        }
    }
    options.versions.version = specific;
    options.versions.range = match (start, end) {
        (Some(start), Some(end)) => Some((start, end)),
        (None, None) => None,
        _ => return parameter("Start and end time must be given at the same time."),
    };
    Ok(())
}

/// Read options of the door: it takes as many columns as the service does.
pub(super) fn read_options<'a>() -> ReadOptions<'a> {
    ReadOptions { most_columns: Some(limits::Limits::SDK.columns_to_get), ..ReadOptions::default() }
}

/// Writes consumed units. Some clients have no default for a number that is missing.
pub(super) fn consumed(message: &mut Message, field: u64, consumed: Consumed) {
    message.message(field, |inner| {
        units(inner, 1, consumed);
    });
}

/// Writes two numbers of units.
pub(super) fn units(message: &mut Message, field: u64, units: Consumed) {
    message.message(field, |inner| {
        inner.number(1, i64::from(units.read)).number(2, i64::from(units.write));
    });
}

/// Writes an error.
pub(super) fn error(message: &mut Message, refusal: &Refusal) {
    message.text(1, refusal.code).text(2, &refusal.message);
}
