//! Filters of reads and conditions of writes.

use super::plain_buffer::{Payload, variant};
use super::protobuf::Fields;
use super::refusal::{Answer, Stop, parameter};
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
    let Some(depth) = depth.checked_sub(1) else { return too_many() };
    let fields = damaged(Fields::read(message))?;
    let (kind, inner) = (damaged(fields.number(1))?, damaged(fields.bytes(2))?);
    let (Some(kind), Some(inner)) = (kind, inner) else { return parameter("Deserialize filter failed.") };
    match kind {
        SINGLE => single(inner).map(Filter::Column),
        COMPOSITE => composite(inner, depth),
        PAGINATION => page(inner),
        other => parameter(format!("Invalid type of filter: {other}.")),
    }
}

fn too_many<T>() -> Answer<T> {
    parameter(format!("The count of filter exceeds the max: {}.", limits::FILTER_NODES))
}

fn single(message: &[u8]) -> Answer<ColumnFilter<'_>> {
    let fields = damaged(Fields::read(message))?;
    let (comparator, column, value) = (damaged(fields.number(1))?, damaged(fields.text(2))?, damaged(fields.bytes(3))?);
    let (filters_missing, newest) = (damaged(fields.flag(4))?, damaged(fields.flag(5))?);
    let transfer = damaged(fields.bytes(6))?.map(rule).transpose()?;
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
    let fields = damaged(Fields::read(message))?;
    let (regex, cast) = (damaged(fields.text(1))?, damaged(fields.number(2))?);
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
    let fields = damaged(Fields::read(message))?;
    let (operator, inner) = (damaged(fields.number(1))?, damaged(fields.all(2))?);
    // The engine counts all of a filter. This bounds the memory for one that it will refuse.
    if inner.len() > limits::FILTER_NODES {
        return too_many();
    }
    let children = inner.into_iter().map(|child| read_at(child, depth)).collect::<Answer<_>>()?;
    match operator {
        Some(1) => Ok(Filter::Not(children)),
        Some(2) => Ok(Filter::And(children)),
        Some(3) => Ok(Filter::Or(children)),
        Some(other) => parameter(format!("Invalid logical operator: {other}.")),
        None => parameter("Deserialize composite filter failed."),
    }
}

fn page<'a>(message: &[u8]) -> Answer<Filter<'a>> {
    let fields = damaged(Fields::read(message))?;
    let (offset, limit) = (damaged(fields.short(1))?, damaged(fields.short(2))?);
    match (offset, limit) {
        (Some(offset), Some(limit)) => Ok(Filter::Page { offset, limit }),
        _ => parameter("Deserialize column pagination filter failed."),
    }
}
