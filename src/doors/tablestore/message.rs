//! Messages that many operations share.

use super::filter;
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Refusal, parameter};
use crate::model::select::VersionQuery;
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

/// The kinds of writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Put,
    Update,
    Delete,
}

/// The condition of a write.
pub(super) type Condition<'a> = (Existence, Option<Box<crate::model::Filter<'a>>>);

/// Reads the condition of a write.
///
/// # Errors
/// A wrong expectation or filter.
pub(super) fn condition(message: &[u8]) -> Answer<Condition<'_>> {
    let fields = Fields::read(message)?;
    let existence = match required(fields.number(1)?)? {
        0 => Existence::Ignore,
        1 => Existence::ExpectExist,
        2 => Existence::ExpectNotExist,
        other => return parameter(format!("Invalid row-existence expectation: {other}.")),
    };
    // Some clients send an empty one where there is none.
    let column_condition = fields.bytes(2)?.filter(|condition| !condition.is_empty());
    Ok((existence, column_condition.map(filter::read).transpose()?.map(Box::new)))
}

/// Reads what a write returns.
///
/// # Errors
/// An unknown kind; columns where none can be told.
pub(super) fn return_content(message: &[u8]) -> Answer<ReturnContent<'_>> {
    let fields = Fields::read(message)?;
    let columns = columns(&fields, 2)?;
    match fields.number(1)?.unwrap_or_default() {
        0 => Ok(ReturnContent::None),
        1 if columns.is_empty() => Ok(ReturnContent::PrimaryKey),
        1 => parameter("Return column names cannot be given when return type is RT_PK."),
        2 => Ok(ReturnContent::AfterModify(columns)),
        other => parameter(format!("Invalid return type: {other}.")),
    }
}

/// The names of columns in fields of this number.
fn columns<'a>(fields: &Fields<'a>, number: usize) -> Answer<Vec<ColumnName<'a>>> {
    let names = fields.texts(number)?.into_iter();
    names.map(|name| Ok(ColumnName::parse(name, NameRules::Sdk)?)).collect()
}

/// The numbers of the fields that all kinds of reads have.
#[derive(Clone, Copy)]
pub(super) struct ReadFields {
    /// The first of three: columns to get, a time range, max versions.
    pub(super) columns: usize,
    /// The first of three: a filter, the first column, the last one.
    pub(super) filter: usize,
}

/// The options of a read. The door takes as many columns as the service does.
///
/// # Errors
/// A wrong one.
pub(super) fn read_options<'a>(fields: &Fields<'a>, numbers: ReadFields) -> Answer<ReadOptions<'a>> {
    let ReadFields { columns: first, filter: at } = numbers;
    let mut versions = fields.bytes(first + 1)?.map_or(Ok(VersionQuery::default()), time_range)?;
    versions.max_versions = fields.short(first + 2)?;
    let message = fields.bytes(at)?.filter(|message| !message.is_empty());
    Ok(ReadOptions {
        versions,
        columns: columns(fields, first)?,
        most_columns: Some(limits::Limits::SDK.columns_to_get),
        start_column: fields.text(at + 1)?,
        end_column: fields.text(at + 2)?,
        filter: message.map(filter::read).transpose()?,
    })
}

fn time_range(message: &[u8]) -> Answer<VersionQuery> {
    let fields = Fields::read(message)?;
    let range = match (fields.number(1)?, fields.number(2)?) {
        (Some(start), Some(end)) => Some((start, end)),
        (None, None) => None,
        _ => return parameter("Start and end time must be given at the same time."),
    };
    Ok(VersionQuery { range, version: fields.number(3)?, ..VersionQuery::default() })
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
