//! Entities as the service has them, and changes of them.

use super::AzureResult;
use super::edm::EdmValue;
use super::error::AzureCode;
use super::text::utf16_length;
use std::borrow::Cow;

/// Properties of an entity besides the three of the system (L1).
///
/// Else: `TooManyProperties`.
pub const PROPERTIES: usize = 252;
/// Bytes of an entity: 4, two for each UTF-16 unit of both keys, and for each property 8, two for each unit of its name, and its
/// value: text two a unit and 4, bytes and 4, GUID 16, time, Double or Int64 8, Int32 4, Boolean 1 (L2, L3).
///
/// Else: `EntityTooLarge`, also for what a merge would make.
pub const ENTITY_BYTES: usize = 1024 * 1024;
/// Changes of one transaction, all of one partition, each of another entity (Z3).
///
/// Else: `InvalidInput` for the change at 99.
pub const CHANGES: usize = 100;

/// A stored entity, while it is visited.
pub trait Entity {
    /// Its partition key.
    fn partition_key(&self) -> &str;
    /// Its row key.
    fn row_key(&self) -> &str;
    /// Its timestamp, in ticks of 100 ns since 1601-01-01 UTC.
    fn timestamp(&self) -> i64;
    /// A property that is no key and not the timestamp.
    fn property(&self, name: &str) -> Option<EdmValue<'_>>;
    /// A property of any kind, as filters name it.
    fn value(&self, name: &str) -> Option<EdmValue<'_>> {
        match name {
            "PartitionKey" => Some(EdmValue::String(Cow::Borrowed(self.partition_key()))),
            "RowKey" => Some(EdmValue::String(Cow::Borrowed(self.row_key()))),
            "Timestamp" => Some(EdmValue::DateTime(self.timestamp())),
            _ => self.property(name),
        }
    }
    /// Passes all properties that are no key and not the timestamp, sorted by name.
    fn properties<'s>(&'s self, visit: &mut dyn FnMut(&'s str, EdmValue<'s>));
}

/// The expected state of a changed entity (2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// It exists (`*`).
    Any,
    /// It exists with this timestamp, which its ETag is made of. `None` for a well-formed ETag of no timestamp, which no
    /// entity has.
    Timestamp(Option<i64>),
}

/// The operation of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityOp {
    /// The entity must not exist.
    Insert,
    /// The entity gets these properties and no others.
    Replace(IfMatch),
    /// The entity keeps its other properties.
    Merge(IfMatch),
    /// As `Replace`, whether or not it exists.
    InsertOrReplace,
    /// As `Merge`, whether or not it exists.
    InsertOrMerge,
    /// The entity goes.
    Delete(IfMatch),
}

/// A change of one entity. Its properties are checked: names, values, keys.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityChange<'a> {
    /// The operation.
    pub op: EntityOp,
    /// The partition key.
    pub partition_key: Cow<'a, str>,
    /// The row key.
    pub row_key: Cow<'a, str>,
    /// The properties without nulls and system properties. No name comes twice.
    pub properties: Vec<(Cow<'a, str>, EdmValue<'a>)>,
}

/// The size of an entity with these keys, before its properties (L3).
#[must_use]
pub fn base_size(partition_key: &str, row_key: &str) -> usize {
    4 + 2 * (utf16_length(partition_key) + utf16_length(row_key))
}

/// The size that a property adds (L3).
#[must_use]
pub fn property_size(name: &str, value: &EdmValue<'_>) -> usize {
    let value = match value {
        EdmValue::String(text) => 2 * utf16_length(text) + 4,
        EdmValue::Binary(bytes) => bytes.len() + 4,
        EdmValue::Guid(_) => 16,
        EdmValue::DateTime(_) | EdmValue::Double(_) | EdmValue::Int64(_) => 8,
        EdmValue::Int32(_) => 4,
        EdmValue::Boolean(_) => 1,
    };
    8 + 2 * utf16_length(name) + value
}

/// Refuses an entity with too many properties or bytes (L1, L2).
///
/// # Errors
/// `TooManyProperties`, `EntityTooLarge`.
pub fn check_limits(properties: usize, bytes: usize) -> AzureResult<()> {
    if properties > PROPERTIES {
        return Err(AzureCode::TooManyProperties.into());
    }
    if bytes > ENTITY_BYTES {
        return Err(AzureCode::EntityTooLarge.into());
    }
    Ok(())
}
