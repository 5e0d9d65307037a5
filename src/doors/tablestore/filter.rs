//! Filters of reads and conditions of writes.

use super::plain_buffer::{Payload, variant};
use super::protobuf::Fields;
use super::refusal::{Answer, Stop, parameter};
use crate::error::Error;
use crate::format::wire::{Decoded, Reader};
use crate::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use crate::model::{ColumnName, NameRules, ValueRef, limits};
use crate::modules::{self, Module};

// The kinds of filters.
const SINGLE: i64 = 1;
const COMPOSITE: i64 = 2;
const PAGINATION: i64 = 3;

/// A filter that is no message.
fn damaged<T>(part: Decoded<T>) -> Answer<T> {
    part.or_else(|_| parameter("Deserialize filter failed."))
}

/// Reads a filter.
///
/// # Errors
/// A damaged one; a name, an operator or a type that the service does not have. The module of rules may be missing.
pub(super) fn read(message: &[u8]) -> Answer<Filter<'_>> {
    read_at(message, limits::FILTER_NODES)
}

/// The same, in so many filters less than may be in each other.
fn read_at(message: &[u8], depth: usize) -> Answer<Filter<'_>> {
    let Some(depth) = depth.checked_sub(1) else {
        return parameter(format!("The count of filter exceeds the max: {}.", limits::FILTER_NODES));
    };
    let (mut kind, mut inner) = (None, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = damaged(fields.next_field())? {
        match field {
            1 => kind = Some(damaged(value.number())?),
            2 => inner = Some(damaged(value.bytes())?),
            _ => {}
        }
    }
    let (Some(kind), Some(inner)) = (kind, inner) else { return parameter("Deserialize filter failed.") };
    match kind {
        SINGLE => single(inner).map(Filter::Column),
        COMPOSITE => composite(inner, depth),
        PAGINATION => page(inner),
        other => parameter(format!("Invalid type of filter: {other}.")),
    }
}

fn single(message: &[u8]) -> Answer<ColumnFilter<'_>> {
    let (mut comparator, mut column, mut value) = (None, None, None);
    let (mut filters_missing, mut newest, mut transfer) = (None, None, None);
    let mut fields = Fields::new(message);
    while let Some((field, given)) = damaged(fields.next_field())? {
        match field {
            1 => comparator = Some(damaged(given.number())?),
            2 => column = Some(damaged(given.text())?),
            3 => value = Some(damaged(given.bytes())?),
            4 => filters_missing = Some(damaged(given.flag())?),
            5 => newest = Some(damaged(given.flag())?),
            6 => transfer = Some(rule(damaged(given.bytes())?)?),
            _ => {}
        }
    }
    let (Some(comparator), Some(column), Some(value), Some(filters_missing), Some(newest)) =
        (comparator, column, value, filters_missing, newest)
    else {
        return parameter("Deserialize relation filter failed.");
    };
    let known = usize::try_from(comparator).ok().and_then(|number| Comparator::ALL.get(number.checked_sub(1)?));
    let Some(&comparator) = known else { return parameter(format!("Invalid relation operator: {comparator}.")) };
    let column = ColumnName::parse(column, NameRules::Sdk)?;
    let value = if comparator.compares() { Some(compared(column, value)?) } else { None };
    if transfer.is_some() && !modules::is_loaded(Module::Rules) {
        return Err(Stop::Needs(Module::Rules));
    }
    let pass_if_missing = !filters_missing;
    Ok(ColumnFilter { column, comparator, value, pass_if_missing, latest_version_only: newest, transfer })
}

/// The value that a column is compared with.
fn compared<'a>(column: ColumnName<'_>, value: &'a [u8]) -> Answer<ValueRef<'a>> {
    match variant(&mut Reader::new(value)) {
        Some(Payload::Value(value)) => Ok(value),
        Some(Payload::NoText) => parameter(format!("Value of column {column} must be UTF8 encoding.")),
        Some(other) => parameter(format!("{} is an invalid type for the attribute column.", other.type_name())),
        None => parameter("Deserialize relation filter failed."),
    }
}

fn rule(message: &[u8]) -> Answer<Transfer<'_>> {
    let (mut regex, mut cast) = (None, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = damaged(fields.next_field())? {
        match field {
            1 => regex = Some(damaged(value.text())?),
            2 => cast = Some(damaged(value.number())?),
            _ => {}
        }
    }
    let Some(regex) = regex else { return parameter("Deserialize relation filter failed.") };
    let cast = match cast {
        Some(0) => CastType::Integer,
        Some(1) => CastType::Double,
        None | Some(3) => CastType::String,
        Some(other) => return parameter(format!("Invalid cast type: {other}.")),
    };
    Ok(Transfer { regex, cast })
}

fn composite(message: &[u8], depth: usize) -> Answer<Filter<'_>> {
    let (mut operator, mut children) = (None, Vec::new());
    let mut fields = Fields::new(message);
    while let Some((field, value)) = damaged(fields.next_field())? {
        match field {
            1 => operator = Some(damaged(value.number())?),
            2 => {
                // The engine counts all of a filter; this bounds the memory for one that it will refuse.
                if children.len() >= limits::FILTER_NODES {
                    let text = format!("The count of filter exceeds the max: {}.", limits::FILTER_NODES);
                    return Err(Error::parameter(text).into());
                }
                children.push(read_at(damaged(value.bytes())?, depth)?);
            }
            _ => {}
        }
    }
    match operator {
        Some(1) => Ok(Filter::Not(children)),
        Some(2) => Ok(Filter::And(children)),
        Some(3) => Ok(Filter::Or(children)),
        Some(other) => parameter(format!("Invalid logical operator: {other}.")),
        None => parameter("Deserialize composite filter failed."),
    }
}

fn page<'a>(message: &[u8]) -> Answer<Filter<'a>> {
    let (mut offset, mut limit) = (None, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = damaged(fields.next_field())? {
        match field {
            1 => offset = Some(damaged(value.short())?),
            2 => limit = Some(damaged(value.short())?),
            _ => {}
        }
    }
    match (offset, limit) {
        (Some(offset), Some(limit)) => Ok(Filter::Page { offset, limit }),
        _ => parameter("Deserialize column pagination filter failed."),
    }
}
