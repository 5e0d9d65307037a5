//! Operations on entities.

use super::auth::Grant;
use super::headers::{self, Level, Prefer};
use super::json_in::Payload;
use super::json_out::{self, Context};
use super::page;
use super::reply::Reply;
use super::route::{EntityKey, Operation, Verb};
use super::sas::Sas;
use super::url::{Url, of_entity};
use crate::azure::entity::{base_size, check_limits, property_size};
use crate::azure::{
    Account, AzureCode, AzureError, AzureResult, EdmValue, Entity, EntityChange, EntityOp, Filter, Query, date_time,
    key, names,
};
use crate::doors::Request;
use std::borrow::Cow;

/// Answers a query of a table: a page of entities.
///
/// # Errors
/// Wrong options; `TableNotFound`.
pub(super) async fn query(
    account: &Account<'_>,
    grant: &Grant,
    table: &str,
    url: &Url<'_>,
    level: Level,
) -> AzureResult<Reply> {
    let top = page::top(&url.query)?;
    let select = page::select(&url.query);
    let filter = Filter::parse(url.query.get("$filter").unwrap_or_default())?;
    let next = (page::key_of(&url.query, "NextPartitionKey")?, page::key_of(&url.query, "NextRowKey")?);
    let from = match &next {
        (None, None) => None,
        (partition_key, row_key) => {
            Some((partition_key.as_deref().unwrap_or_default(), row_key.as_deref().unwrap_or_default()))
        }
    };
    let from = later(from, grant.sas.as_ref().and_then(|sas| sas.first()));
    let last = grant.sas.as_ref().and_then(Sas::last);
    let context = Context { level, url, table, select: &select };
    let mut body = String::with_capacity(4096);
    json_out::begin_page(&context, &mut body);
    let next = account
        .query(table, &Query { filter: &filter, top, from, last: last.as_deref() }, &mut |entity| {
            json_out::in_page(entity, &context, &mut body);
        })
        .await?;
    json_out::end_page(&mut body);
    let mut reply = Reply::json(200, level, body);
    if let Some((partition_key, row_key)) = next {
        reply = reply
            .with("x-ms-continuation-NextPartitionKey", page::token(&partition_key))
            .with("x-ms-continuation-NextRowKey", page::token(&row_key));
    }
    Ok(reply)
}

/// The later of two keys.
fn later<'k>(a: Option<(&'k str, &'k str)>, b: Option<(&'k str, &'k str)>) -> Option<(&'k str, &'k str)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if key::encode(a.0, a.1) < key::encode(b.0, b.1) { b } else { a }),
        _ => a.or(b),
    }
}

/// Answers a read of an entity.
///
/// # Errors
/// `TableNotFound`, `ResourceNotFound`.
pub(super) async fn get(
    account: &Account<'_>,
    table: &str,
    key: (&str, &str),
    url: &Url<'_>,
    level: Level,
) -> AzureResult<Reply> {
    let select = page::select(&url.query);
    let context = Context { level, url, table, select: &select };
    let mut reply = Reply::default();
    account
        .entity(table, key, &mut |entity| {
            let etag = date_time::etag(entity.timestamp());
            reply = Reply::json(200, level, json_out::single(entity, &context)).with("ETag", etag);
        })
        .await?;
    Ok(reply)
}

/// The change that a request asks for, and its table. It is checked as far as it can be without the store.
///
/// # Errors
/// Whatever is wrong with its headers and its body.
pub(super) fn change<'r>(operation: &'r Operation, request: &Request<'r>) -> AzureResult<(&'r str, EntityChange<'r>)> {
    let (table, change) = match operation {
        Operation::InsertEntity(table) => (table, insert(request)?),
        Operation::WriteEntity(table, key, verb) => (table, write(key, *verb, request)?),
        _ => return Err(AzureError::invalid_input()),
    };
    let sizes = change.properties.iter().map(|(name, value)| property_size(name, value));
    let bytes = base_size(&change.partition_key, &change.row_key) + sizes.sum::<usize>();
    check_limits(change.properties.len(), bytes)?;
    Ok((table, change))
}

fn insert<'r>(request: &Request<'r>) -> AzureResult<EntityChange<'r>> {
    headers::check_json(request)?;
    let Payload { partition_key, row_key, properties } = Payload::read(request.body)?;
    let (Some(partition_key), Some(row_key)) = (partition_key, row_key) else {
        return Err(AzureCode::PropertiesNeedValue.into());
    };
    names::check_key("PartitionKey", &partition_key)?;
    names::check_key("RowKey", &row_key)?;
    Ok(EntityChange { op: EntityOp::Insert, partition_key, row_key, properties })
}

fn write<'r>(key: &'r EntityKey, verb: Verb, request: &Request<'r>) -> AzureResult<EntityChange<'r>> {
    let condition = headers::condition(request)?;
    let op = match (verb, condition) {
        (Verb::Replace, None) => EntityOp::InsertOrReplace,
        (Verb::Replace, Some(condition)) => EntityOp::Replace(condition),
        (Verb::Merge, None) => EntityOp::InsertOrMerge,
        (Verb::Merge, Some(condition)) => EntityOp::Merge(condition),
        (Verb::Delete, None) => return Err(AzureCode::MissingRequiredHeader.into()),
        (Verb::Delete, Some(condition)) => EntityOp::Delete(condition),
    };
    // A body may have other keys: those of the URL count.
    let properties = if verb == Verb::Delete {
        Vec::new()
    } else {
        headers::check_json(request)?;
        Payload::read(request.body)?.properties
    };
    let (partition_key, row_key) = key.pair();
    Ok(EntityChange { op, partition_key: partition_key.into(), row_key: row_key.into(), properties })
}

/// The answer after a change. `content` is the level at which a new entity is written back, if it is.
pub(super) fn changed(
    change: &EntityChange<'_>,
    time: Option<i64>,
    table: &str,
    url: &Url<'_>,
    content: Option<Level>,
    prefer: Option<Prefer>,
) -> Reply {
    let mut reply = Reply::new(204);
    if change.op == EntityOp::Insert {
        let address = [&*url.base, "/", &of_entity(table, (&change.partition_key, &change.row_key))].concat();
        reply = match content {
            Some(level) => {
                let context = Context { level, url, table, select: &[] };
                let body = json_out::single(&Inserted { change, time: time.unwrap_or_default() }, &context);
                Reply::json(201, level, body).with("Location", address)
            }
            None => reply.with("Location", address.clone()).with("DataServiceId", address),
        };
        if let Some(prefer) = prefer {
            reply = reply.with("Preference-Applied", prefer.as_str());
        }
    }
    match time {
        Some(time) => reply.with("ETag", date_time::etag(time)),
        None => reply,
    }
}

/// A new entity, as it was just stored.
struct Inserted<'c> {
    change: &'c EntityChange<'c>,
    time: i64,
}

impl Entity for Inserted<'_> {
    fn partition_key(&self) -> &str {
        &self.change.partition_key
    }

    fn row_key(&self) -> &str {
        &self.change.row_key
    }

    fn timestamp(&self) -> i64 {
        self.time
    }

    fn property(&self, name: &str) -> Option<EdmValue<'_>> {
        self.change.properties.iter().find(|(other, _)| other == name).map(|(_, value)| borrowed(value))
    }

    fn properties<'s>(&'s self, visit: &mut dyn FnMut(&'s str, EdmValue<'s>)) {
        // A body is read in the order of its names.
        self.change.properties.iter().for_each(|(name, value)| visit(name, borrowed(value)));
    }
}

/// The same value without a copy.
fn borrowed<'v>(value: &'v EdmValue<'_>) -> EdmValue<'v> {
    match value {
        EdmValue::Binary(bytes) => EdmValue::Binary(Cow::Borrowed(bytes)),
        EdmValue::Boolean(value) => EdmValue::Boolean(*value),
        EdmValue::DateTime(ticks) => EdmValue::DateTime(*ticks),
        EdmValue::Double(value) => EdmValue::Double(*value),
        EdmValue::Guid(bytes) => EdmValue::Guid(*bytes),
        EdmValue::Int32(value) => EdmValue::Int32(*value),
        EdmValue::Int64(value) => EdmValue::Int64(*value),
        EdmValue::String(text) => EdmValue::String(Cow::Borrowed(text)),
    }
}
