//! The accounts of an instance, their tables and entities, as rows of its engine.

use super::entity::{Entity, EntityChange};
use super::filter::Filter;
use super::group::Group;
use super::stored::StoredEntity;
use super::text::{push_number, sorted};
use super::{AzureCode, AzureError, AzureResult, key, names};
use crate::engine::{KeyRange, Origin};
use crate::error::{Code, Error};
use crate::model::{KeyValue, encode_key};
use crate::tablestore::Instance;
use crate::tablestore::foreign::{Refused, SEPARATOR, Visit};
use std::borrow::Cow;
use std::ops::Bound;

/// Entities of a page, and tables of a page of their list; a page of entities may end earlier, as a GetRange does (Z3).
///
/// Else: the page ends there, with a continuation; a larger `$top` counts as this.
pub const PAGE: usize = 1000;

/// An account of an instance: a namespace of tables (A1). It exists as soon as somebody uses it.
pub struct Account<'i> {
    instance: &'i Instance,
    name: &'i str,
}

/// Why a group of changes was refused: the change at this place, and its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The place of the change.
    pub at: usize,
    /// Its error.
    pub error: AzureError,
}

/// A page of a query.
#[derive(Clone, Debug)]
pub struct Query<'q> {
    /// The filter.
    pub filter: &'q Filter,
    /// The most entities, at most [`PAGE`].
    pub top: usize,
    /// The first key, partition key and row key, of the page. It may not exist any more.
    pub from: Option<(&'q str, &'q str)>,
    /// The last key that may be read, encoded; or its partition key alone, for the whole partition. The query ends there.
    pub last: Option<&'q [u8]>,
}

/// Documents of an account that the door keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<'s> {
    /// The properties of its table service.
    Service,
    /// The access policies of a table.
    Policies(&'s str),
}

impl<'i> Account<'i> {
    /// An account: 3 to 24 small letters and digits.
    ///
    /// # Errors
    /// `InvalidResourceName`.
    pub fn new(instance: &'i Instance, name: &'i str) -> AzureResult<Self> {
        let right =
            (3..=24).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if right { Ok(Self { instance, name }) } else { Err(AzureCode::InvalidResourceName.into()) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// The instance.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        self.instance
    }

    /// Creates a table. `origin` is its sender, for whom the answer is kept.
    ///
    /// # Errors
    /// A wrong name; `TableAlreadyExists`.
    pub async fn create_table(&self, name: &str, origin: Option<Origin>) -> AzureResult<()> {
        names::check_table(name)?;
        if let Some(known) = self.done(origin) {
            return known;
        }
        let name = self.full(name);
        let created = self.instance.clients().asked_by(origin, self.instance.foreign().create(&name, key::KEY)).await;
        created.map_err(|error| match error.code() {
            Code::ObjectAlreadyExist => AzureCode::TableAlreadyExists.into(),
            _ => error.into(),
        })
    }

    /// Deletes a table, its entities and its policies.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub async fn delete_table(&self, name: &str, origin: Option<Origin>) -> AzureResult<()> {
        if let Some(known) = self.done(origin) {
            return known;
        }
        let table = self.full(name);
        if self.instance.foreign().find(&table).is_none() {
            return Err(AzureCode::ResourceNotFound.into());
        }
        // First: a crash between the two leaves no policies without their table.
        let policies = self.key_of(Setting::Policies(name))?;
        if self.instance.foreign().document(&policies).await?.is_some() {
            self.instance.foreign().put_document(&policies, None, None).await?;
        }
        let deleted = self.instance.clients().asked_by(origin, self.instance.foreign().delete(&table)).await;
        deleted.map_err(|error| match error.code() {
            Code::ObjectNotExist => AzureCode::ResourceNotFound.into(),
            _ => error.into(),
        })
    }

    /// The outcome of a change of tables that was made before, for an earlier engine.
    fn done(&self, origin: Option<Origin>) -> Option<AzureResult<()>> {
        if self.instance.foreign().has_changed(origin) {
            return Some(Ok(()));
        }
        let refused = self.instance.foreign().recall(origin)?.err()?;
        Some(Err(match refused.error.code() {
            Code::ObjectAlreadyExist => AzureCode::TableAlreadyExists.into(),
            Code::ObjectNotExist => AzureCode::ResourceNotFound.into(),
            _ => refused.error.into(),
        }))
    }

    /// The names of tables as they were created, in the order of their names in lower case, from the first that is not
    /// before `from`.
    #[must_use]
    pub fn tables(&self, from: &str) -> Vec<String> {
        let (start, from) = (self.full(""), from.to_ascii_lowercase());
        let mut own = Vec::new();
        for name in self.instance.foreign_tables() {
            if let Some(name) = name.strip_prefix(&start) {
                let lower = name.to_ascii_lowercase();
                if lower >= from {
                    own.push((lower, name.to_owned()));
                }
            }
        }
        let lower: Vec<&str> = own.iter().map(|(lower, _)| &**lower).collect();
        sorted(&lower).into_iter().filter_map(|at| own.get(at).map(|(_, name)| name.clone())).collect()
    }

    /// The name of a table as it was created.
    ///
    /// # Errors
    /// `TableNotFound`.
    pub fn table_name(&self, name: &str) -> AzureResult<String> {
        let table = self.instance.foreign().find(&self.full(name)).ok_or(AzureCode::TableNotFound)?;
        Ok(table.name().rsplit(SEPARATOR).next().unwrap_or_default().to_owned())
    }

    /// Makes changes of entities of one partition: all or none (Z3). Returns the new timestamp of each, or `None` for one
    /// that was deleted. The caller has checked their number, keys, partition, names and values. A merged entity is checked
    /// here.
    ///
    /// # Errors
    /// The first change that fails.
    pub async fn change(
        &self,
        table: &str,
        changes: &[EntityChange<'_>],
        origin: Option<Origin>,
    ) -> Result<Vec<Option<i64>>, Refusal> {
        let refusal = |Refused { at, error }| Refusal { at, error: error.into() };
        if let Some(known) = self.instance.foreign().recall(origin) {
            return known.map_err(refusal);
        }
        let keys: Vec<_> = changes.iter().map(|change| key::encode(&change.partition_key, &change.row_key)).collect();
        let mut group = Group::new(changes, self.instance.now_ms(), self.instance.last_tick());
        self.instance.foreign().change(&self.full(table), &keys, &mut group, origin).await.map_err(refusal)
    }

    /// Visits an entity.
    ///
    /// # Errors
    /// `TableNotFound`, `ResourceNotFound`.
    pub async fn entity(
        &self,
        table: &str,
        (partition_key, row_key): (&str, &str),
        visit: &mut dyn FnMut(&dyn Entity),
    ) -> AzureResult<()> {
        let table = self.instance.foreign().readable(&self.full(table))?;
        let mut found = false;
        let key = key::encode(partition_key, row_key);
        let mut see = |row: Option<&crate::engine::RowView<'_>>| {
            let Some(row) = row else { return 0 };
            found = true;
            let entity = StoredEntity::of(partition_key, row_key, row);
            visit(&entity);
            entity.metered(key.len())
        };
        self.instance.foreign().read(&table, &key, &mut see).await?;
        if found { Ok(()) } else { Err(AzureCode::ResourceNotFound.into()) }
    }

    /// Visits a page of entities, all at one instant. Returns the key at which the next page begins. A page ends early when it
    /// has read a lot, so it may have no entity and yet a next one.
    ///
    /// # Errors
    /// `TableNotFound`.
    pub async fn query(
        &self,
        table: &str,
        query: &Query<'_>,
        visit: &mut dyn FnMut(&dyn Entity),
    ) -> AzureResult<Option<(String, String)>> {
        let table = self.instance.foreign().readable(&self.full(table))?;
        let (mut lower, upper) = query.filter.bounds();
        if let Some((partition_key, row_key)) = query.from {
            lower = lower.max(key::encode(partition_key, row_key));
        }
        if upper.as_ref().is_some_and(|upper| *upper <= lower) {
            return Ok(None);
        }
        let range = KeyRange { lower: Bound::Included(lower), upper: upper.map_or(Bound::Unbounded, Bound::Excluded) };
        let mut left = query.top.min(PAGE);
        let is_behind = |key: &[u8]| query.last.is_some_and(|last| key > last && !key.starts_with(last));
        let mut see = |key: &[u8], row: &crate::engine::RowView<'_>| {
            if left == 0 || is_behind(key) {
                return Ok(Visit::Stop);
            }
            let entity = StoredEntity::scanned(key, row);
            if query.filter.passes(&entity) {
                decoded(key)?;
                left -= 1;
                visit(&entity);
            }
            Ok(Visit::Read(entity.metered(key.len())))
        };
        let next = self.instance.foreign().scan(&table, range, &mut see).await?;
        let Some(next) = next.filter(|next| !is_behind(next)) else { return Ok(None) };
        let [partition_key, row_key] = decoded(&next)?.map(Cow::into_owned);
        Ok(Some((partition_key, row_key)))
    }

    /// A document; empty if it was never set.
    ///
    /// # Errors
    /// `TableNotFound`.
    pub async fn setting(&self, setting: Setting<'_>) -> AzureResult<Vec<u8>> {
        Ok(self.instance.foreign().document(&self.key_of(setting)?).await?.unwrap_or_default())
    }

    /// Stores a document, if the stored one is still as `expected`. Returns whether it is.
    ///
    /// # Errors
    /// `TableNotFound`.
    pub async fn set(&self, setting: Setting<'_>, expected: &[u8], document: &[u8]) -> AzureResult<bool> {
        Ok(self.instance.foreign().put_document(&self.key_of(setting)?, Some(expected), Some(document)).await?)
    }

    /// The name of a table in the instance.
    fn full(&self, table: &str) -> String {
        [self.name, table].join("/")
    }

    /// The key of a document. A table is named by its tree: a later one of its name must not get its policies, whatever was
    /// in flight when it was deleted.
    fn key_of(&self, setting: Setting<'_>) -> AzureResult<Vec<u8>> {
        let mut table = String::new();
        if let Setting::Policies(name) = setting {
            let found = self.instance.foreign().find(&self.full(name)).ok_or(AzureCode::TableNotFound)?;
            push_number(found.tree().0.into(), 1, &mut table);
        }
        let mut key = Vec::new();
        encode_key(&[KeyValue::String(self.name.to_owned()), KeyValue::String(table)], &mut key);
        Ok(key)
    }
}

/// The texts of a stored key.
fn decoded(key: &[u8]) -> Result<[Cow<'_, str>; 2], Error> {
    key::decode(key).ok_or_else(|| Error::corrupt("an entity", "its key is no text"))
}
