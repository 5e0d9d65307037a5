//! Operations on tables.

use super::auth::Grant;
use super::headers::{self, Level, Prefer};
use super::need::{Level as Kind, Need};
use super::reply::Reply;
use super::route::Operation;
use super::url::Url;
use super::{Door, json_in, json_out, page};
use crate::azure::{AzureCode, AzureError, AzureResult, EdmValue, Entity, Filter};
use crate::tablestore::Right;
use std::borrow::Cow;

impl Door<'_> {
    /// Creates a table or deletes one.
    pub(super) async fn change_tables(&self, grant: &Grant, operation: &Operation) -> AzureResult<Reply> {
        let Self { url, request, account, .. } = self;
        if let Operation::DeleteTable(name) = operation {
            grant.allow(&Need::of(Right::Admin, Kind::Container, &["d"]))?;
            account.delete_table(name, self.origin).await?;
            return Ok(Reply::new(204));
        }
        grant.allow(&Need::of(Right::Admin, Kind::Container, &["cw"]))?;
        headers::check_json(request)?;
        let level = Level::accepted(request, &url.query)?;
        let prefer = Prefer::of(request);
        if prefer != Some(Prefer::NoContent) && level.is_none() {
            return Err(AzureCode::AtomFormatNotSupported.into());
        }
        let name = json_in::table_name(request.body)?;
        account.create_table(&name, self.origin).await?;
        let address = url.of_table(&name);
        let reply = if prefer == Some(Prefer::NoContent) {
            Reply::new(204).with("Location", address.clone()).with("DataServiceId", address)
        } else {
            let level = level.unwrap_or_default();
            Reply::json(201, level, json_out::tables(&[name], true, level, url)).with("Location", address)
        };
        Ok(match prefer {
            Some(prefer) => reply.with("Preference-Applied", prefer.as_str()),
            None => reply,
        })
    }

    /// Lists tables.
    pub(super) fn query_tables(&self, url: &Url<'_>, level: Level) -> AzureResult<Reply> {
        let top = page::top(&url.query)?;
        let filter = Filter::parse(url.query.get("$filter").unwrap_or_default())?;
        let from = page::key_of(&url.query, "NextTableName")?.unwrap_or_default();
        let mut names = self.account.tables(&from);
        names.retain(|name| filter.passes(&TableEntry(name)));
        let next = names.get(top).map(|name| page::token(name));
        names.truncate(top);
        let reply = Reply::json(200, level, json_out::tables(&names, false, level, url));
        Ok(match next {
            Some(next) => reply.with("x-ms-continuation-NextTableName", next),
            None => reply,
        })
    }

    /// Answers whether there is a table.
    pub(super) fn get_table(&self, name: &str, url: &Url<'_>, level: Level) -> AzureResult<Reply> {
        let name = self.account.table_name(name).map_err(|error| match error.code {
            AzureCode::TableNotFound => AzureError::from(AzureCode::ResourceNotFound),
            _ => error,
        })?;
        Ok(Reply::json(200, level, json_out::tables(&[name], true, level, url)))
    }
}

/// A table, as filters see it: its only property is its name.
struct TableEntry<'t>(&'t str);

impl Entity for TableEntry<'_> {
    fn partition_key(&self) -> &str {
        ""
    }

    fn row_key(&self) -> &str {
        ""
    }

    fn timestamp(&self) -> i64 {
        0
    }

    fn property(&self, name: &str) -> Option<EdmValue<'_>> {
        (name == "TableName").then_some(EdmValue::String(Cow::Borrowed(self.0)))
    }

    fn value(&self, name: &str) -> Option<EdmValue<'_>> {
        self.property(name)
    }

    fn properties<'s>(&'s self, visit: &mut dyn FnMut(&'s str, EdmValue<'s>)) {
        visit("TableName", EdmValue::String(Cow::Borrowed(self.0)));
    }
}
