//! What a request asks for: its operation, found in method, path and query.

use super::headers::Method;
use super::url::{Query, Url, decode};
use crate::azure::{AzureCode, AzureError, AzureResult, names};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Resource {
    /// The account.
    Account,
    /// Its batches.
    Batch,
    /// Its tables.
    Tables,
    /// A table, as an entry of `Tables`.
    Table(String),
    /// The entities of a table.
    Entities(String),
    /// An entity.
    Entity(String, EntityKey),
}

/// The keys of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntityKey {
    /// The partition key.
    pub(super) partition_key: String,
    /// The row key.
    pub(super) row_key: String,
}

impl EntityKey {
    /// Both.
    pub(super) fn pair(&self) -> (&str, &str) {
        (&self.partition_key, &self.row_key)
    }
}

/// Whether a URL is that of batches, however it is encoded.
pub(super) fn is_batch(url: &Url<'_>) -> bool {
    url.resource.starts_with(['$', '%']) && matches!(Resource::find(url.resource), Ok(Resource::Batch))
}

/// How an entity is written that the URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// PUT.
    Replace,
    /// MERGE or PATCH.
    Merge,
    /// DELETE.
    Delete,
}

/// An operation of the service (section 2.2 of its rules).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Get Table Service Properties.
    GetProperties,
    /// Set Table Service Properties.
    SetProperties,
    /// Get Table Service Stats.
    GetStats,
    /// Get Table ACL.
    GetPolicies(String),
    /// Set Table ACL.
    SetPolicies(String),
    /// Query Tables.
    QueryTables,
    /// Create Table.
    CreateTable,
    /// Get one table.
    GetTable(String),
    /// Delete Table.
    DeleteTable(String),
    /// Query Entities.
    QueryEntities(String),
    /// Insert Entity.
    InsertEntity(String),
    /// Get Entity.
    GetEntity(String, EntityKey),
    /// Update, merge, upsert or delete an entity.
    WriteEntity(String, EntityKey, Verb),
    /// Entity group transaction.
    Batch,
}

impl Operation {
    /// Whether it is about a document in XML.
    pub(super) fn is_of_document(&self) -> bool {
        matches!(
            self,
            Self::GetProperties | Self::SetProperties | Self::GetStats | Self::GetPolicies(_) | Self::SetPolicies(_)
        )
    }

    /// Finds the operation.
    ///
    /// # Errors
    /// Wrong names, keys and query parameters; `MethodNotAllowed`, `NotImplemented`.
    pub(super) fn find(method: Method, url: &Url<'_>) -> AzureResult<Self> {
        if let Some(documents) = Self::of_documents(method, url)? {
            return Ok(documents);
        }
        check_options(&url.query)?;
        let resource = Resource::find(url.resource)?;
        Ok(match (method, resource) {
            (Method::Get, Resource::Tables) => Self::QueryTables,
            (Method::Post, Resource::Tables) => Self::CreateTable,
            (Method::Get, Resource::Table(name)) => Self::GetTable(name),
            (Method::Delete, Resource::Table(name)) => Self::DeleteTable(name),
            (Method::Get, Resource::Entities(table)) => Self::QueryEntities(table),
            (Method::Post, Resource::Entities(table)) => Self::InsertEntity(table),
            (Method::Get, Resource::Entity(table, key)) => Self::GetEntity(table, key),
            (Method::Put, Resource::Entity(table, key)) => Self::WriteEntity(table, key, Verb::Replace),
            (Method::Merge, Resource::Entity(table, key)) => Self::WriteEntity(table, key, Verb::Merge),
            (Method::Delete, Resource::Entity(table, key)) => Self::WriteEntity(table, key, Verb::Delete),
            (Method::Post, Resource::Batch) => Self::Batch,
            (Method::Get, Resource::Account) => return Err(AzureCode::InvalidQueryParameterValue.into()),
            _ => return Err(AzureCode::MethodNotAllowed.into()),
        })
    }

    /// The operations that `restype` and `comp` choose: those on XML documents.
    fn of_documents(method: Method, url: &Url<'_>) -> AzureResult<Option<Self>> {
        let (restype, comp) = (url.query.get("restype"), url.query.get("comp"));
        let Some(comp) = comp else {
            return if restype.is_some() { Err(AzureCode::InvalidQueryParameterValue.into()) } else { Ok(None) };
        };
        let resource = Resource::find(url.resource)?;
        Ok(Some(match (resource, restype, comp) {
            (Resource::Account, Some("service"), "properties") => match method {
                Method::Get => Self::GetProperties,
                Method::Put => Self::SetProperties,
                _ => return Err(AzureCode::MethodNotAllowed.into()),
            },
            // Only the secondary has them.
            (Resource::Account, Some("service"), "stats") if url.secondary => match method {
                Method::Get => Self::GetStats,
                _ => return Err(AzureCode::MethodNotAllowed.into()),
            },
            (Resource::Entities(table), None, "acl") => match method {
                Method::Get => Self::GetPolicies(table),
                Method::Put => Self::SetPolicies(table),
                _ => return Err(AzureCode::MethodNotAllowed.into()),
            },
            _ => return Err(AzureCode::InvalidQueryParameterValue.into()),
        }))
    }

    /// Whether it changes nothing. A secondary does no others.
    pub(super) fn is_read(&self) -> bool {
        match self {
            Self::GetProperties
            | Self::GetStats
            | Self::GetPolicies(_)
            | Self::QueryTables
            | Self::GetTable(_)
            | Self::QueryEntities(_)
            | Self::GetEntity(..)
            // It may have a query; its changes are looked at one by one.
            | Self::Batch => true,
            Self::SetProperties
            | Self::SetPolicies(_)
            | Self::CreateTable
            | Self::DeleteTable(_)
            | Self::InsertEntity(_)
            | Self::WriteEntity(..) => false,
        }
    }
}

impl Resource {
    /// Finds what a path names, encoded and below its account.
    fn find(path: &str) -> AzureResult<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            return Ok(Self::Account);
        }
        // In keys it is refused with them.
        if path.contains('/') && !path.ends_with(')') {
            return Err(AzureCode::NotImplemented.into());
        }
        let path = decode(path)?;
        if path == "$batch" {
            return Ok(Self::Batch);
        }
        let (name, keys) = match path.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(AzureError::invalid_input)?.trim()),
            None => (&*path, ""),
        };
        if name.eq_ignore_ascii_case("Tables") {
            if keys.is_empty() {
                return Ok(Self::Tables);
            }
            let (table, "") = literal(keys)? else { return Err(AzureError::invalid_input()) };
            return Ok(Self::Table(table));
        }
        names::check_table(name)?;
        if keys.is_empty() {
            return Ok(Self::Entities(name.to_owned()));
        }
        let key = entity_key(keys)?;
        names::check_key("PartitionKey", &key.partition_key)?;
        names::check_key("RowKey", &key.row_key)?;
        Ok(Self::Entity(name.to_owned(), key))
    }
}

/// `PartitionKey='a',RowKey='b'`, in either order.
fn entity_key(text: &str) -> AzureResult<EntityKey> {
    let (mut partition_key, mut row_key) = (None, None);
    let mut rest = text;
    loop {
        let (name, value) = rest.split_once('=').ok_or_else(AzureError::invalid_input)?;
        let key = match name.trim() {
            "PartitionKey" => &mut partition_key,
            "RowKey" => &mut row_key,
            _ => return Err(AzureError::invalid_input()),
        };
        let (value, after) = literal(value.trim_start())?;
        if key.replace(value).is_some() {
            return Err(AzureError::invalid_input());
        }
        if after.is_empty() {
            break;
        }
        rest = after.strip_prefix(',').ok_or_else(AzureError::invalid_input)?;
    }
    let (Some(partition_key), Some(row_key)) = (partition_key, row_key) else {
        return Err(AzureError::invalid_input());
    };
    Ok(EntityKey { partition_key, row_key })
}

/// A text in quotes at the start, and what follows it. A quote inside is doubled.
fn literal(text: &str) -> AzureResult<(String, &str)> {
    let mut rest = text.strip_prefix('\'').ok_or_else(AzureError::invalid_input)?;
    let mut value = String::new();
    loop {
        let (before, after) = rest.split_once('\'').ok_or_else(AzureError::invalid_input)?;
        value.push_str(before);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return Ok((value, after.trim_start())),
        }
    }
}

/// Refuses options of OData that the service does not have.
fn check_options(query: &Query) -> AzureResult<()> {
    let known = ["$filter", "$select", "$top", "$format"];
    match query.names().find(|name| name.starts_with('$') && !known.contains(name)) {
        Some(_) => Err(AzureCode::NotImplemented.into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: Method, path: &str) -> AzureResult<Operation> {
        let url = format!("inproc://acct/{path}");
        let url = Url::parse(&url, None).expect("a URL");
        Operation::find(method, &url)
    }

    fn refused(method: Method, path: &str) -> AzureCode {
        found(method, path).expect_err("refused").code
    }

    fn key(partition_key: &str, row_key: &str) -> EntityKey {
        EntityKey { partition_key: partition_key.into(), row_key: row_key.into() }
    }

    #[test]
    fn every_operation_is_found() {
        use Method::{Delete, Get, Merge, Post, Put};
        let t = || "Tab".to_owned();
        for (method, path, operation) in [
            (Get, "?restype=service&comp=properties", Operation::GetProperties),
            (Put, "?comp=properties&restype=service", Operation::SetProperties),
            (Get, "Tab?comp=acl", Operation::GetPolicies(t())),
            (Put, "Tab()?comp=acl", Operation::SetPolicies(t())),
            (Get, "Tables", Operation::QueryTables),
            (Get, "tables()?$top=5", Operation::QueryTables),
            (Post, "Tables", Operation::CreateTable),
            (Get, "Tables('Tab')", Operation::GetTable(t())),
            (Delete, "Tables(%27Tab%27)", Operation::DeleteTable(t())),
            (Get, "Tab", Operation::QueryEntities(t())),
            (Get, "Tab()/", Operation::QueryEntities(t())),
            (Post, "Tab", Operation::InsertEntity(t())),
            (Get, "Tab(PartitionKey='a',RowKey='b')", Operation::GetEntity(t(), key("a", "b"))),
            (Put, "Tab(RowKey='b',PartitionKey='a')", Operation::WriteEntity(t(), key("a", "b"), Verb::Replace)),
            (Merge, "Tab(PartitionKey='',RowKey='')", Operation::WriteEntity(t(), key("", ""), Verb::Merge)),
            (
                Delete,
                "Tab( PartitionKey = 'a' , RowKey= 'b' )",
                Operation::WriteEntity(t(), key("a", "b"), Verb::Delete),
            ),
            (Post, "$batch", Operation::Batch),
            (Post, "%24batch", Operation::Batch),
        ] {
            assert_eq!(found(method, path), Ok(operation), "{path}");
        }
        let secondary = Url::parse("inproc://acct-secondary/?restype=service&comp=stats", None).expect("a URL");
        assert_eq!(Operation::find(Get, &secondary), Ok(Operation::GetStats));
    }

    #[test]
    fn azure_k6_a_quote_in_a_key_is_doubled_and_any_encoding_is_undone() {
        let path = "Tab(PartitionKey='A''aaa%22_bbbb2',RowKey='%27%27,RowKey=%27%27)%20%25+%26%F0%9F%98%80')";
        let Ok(Operation::GetEntity(_, found)) = found(Method::Get, path) else { panic!("no entity") };
        assert_eq!(found, key("A'aaa\"_bbbb2", "',RowKey=') %+&\u{1F600}"));
    }

    #[test]
    fn paths_that_name_nothing_are_refused() {
        for path in [
            "Tab('a')",
            "Tab(PartitionKey='a')",
            "Tab(PartitionKey='a',RowKey='b'",
            "Tab(PartitionKey='a',RowKey='b)",
            "Tab(PartitionKey='a',RowKey='b',)",
            "Tab(PartitionKey='a',PartitionKey='b')",
            "Tab(PartitionKey='a',RowKey='b',Other='c')",
            "Tab(PartitionKey='a'RowKey='b')",
            "Tab(PartitionKey=a,RowKey=b)",
            "Tab(partitionkey='a',rowkey='b')",
            "Tables('Tab'x)",
            "Tables(Tab)",
            "%FF",
        ] {
            assert_eq!(refused(Method::Get, path), AzureCode::InvalidInput, "{path}");
        }
        assert_eq!(refused(Method::Get, "Tab/$count"), AzureCode::NotImplemented);
        assert_eq!(refused(Method::Get, "Tab?$orderby=a"), AzureCode::NotImplemented);
        assert_eq!(refused(Method::Get, ""), AzureCode::InvalidQueryParameterValue);
        for path in ["?comp=properties", "?restype=service", "Tab?comp=lease", "?restype=service&comp=stats"] {
            assert_eq!(refused(Method::Get, path), AzureCode::InvalidQueryParameterValue, "{path}");
        }
        for (method, path) in [
            (Method::Put, "Tables"),
            (Method::Get, "$batch"),
            (Method::Delete, "Tab"),
            (Method::Post, "Tab(PartitionKey='',RowKey='')"),
            (Method::Post, "Tab?comp=acl"),
            (Method::Other, "Tab"),
        ] {
            assert_eq!(refused(method, path), AzureCode::MethodNotAllowed, "{path}");
        }
    }
}
