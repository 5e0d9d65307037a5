//! Operations on documents in XML: properties of the service, its statistics, and the policies of tables.

use super::auth::{Grant, Level as Kind, Need};
use super::properties::Properties;
use super::reply::Reply;
use super::route::Operation;
use super::{Door, acl, xml};
use crate::azure::{AzureError, AzureResult, Setting, date_time};
use crate::storage::Storage;
use crate::tablestore::Right;

impl Operation {
    /// Whether it is one of these.
    pub(super) fn is_of_document(&self) -> bool {
        matches!(
            self,
            Self::GetProperties | Self::SetProperties | Self::GetStats | Self::GetPolicies(_) | Self::SetPolicies(_)
        )
    }
}

impl<S: Storage> Door<'_, S> {
    /// Reads a document or sets one.
    pub(super) async fn document(&self, grant: &Grant, operation: &Operation) -> AzureResult<Reply> {
        let Self { account, request, .. } = self;
        // No signature that was given away gives policies.
        grant.allow(&match operation {
            Operation::GetProperties | Operation::GetStats => Need::of(Right::Admin, Kind::Service, &["r"]),
            Operation::SetProperties => Need::of(Right::Admin, Kind::Service, &["w"]),
            _ => Need::of(Right::Admin, Kind::Container, &[]),
        })?;
        let setting = match operation {
            Operation::GetPolicies(table) | Operation::SetPolicies(table) => Setting::Policies(table),
            Operation::GetStats => return Ok(stats(self.stamp.ticks())),
            _ => Setting::Service,
        };
        let stored = account.setting(setting).await?;
        let (reply, document) = decide(operation, &stored, request.body)?;
        if let Some(document) = document {
            account.set(setting, document.as_bytes()).await?;
        }
        Ok(reply)
    }
}

/// The statistics of the service.
#[inline(never)]
fn stats(now: i64) -> Reply {
    let mut body = String::from(xml::DECLARATION);
    body.push_str("<StorageServiceStats><GeoReplication><Status>live</Status>");
    xml::element("LastSyncTime", &date_time::format_http(now), &mut body);
    body.push_str("</GeoReplication></StorageServiceStats>");
    Reply::xml(200, body)
}

/// The answer, and the document to be stored if there is one.
#[inline(never)]
fn decide(operation: &Operation, stored: &[u8], body: &[u8]) -> AzureResult<(Reply, Option<String>)> {
    Ok(match operation {
        Operation::GetProperties => (Reply::xml(200, Properties::stored(stored)?.write()), None),
        Operation::SetProperties => {
            let mut properties = Properties::stored(stored)?;
            properties.set(body)?;
            (Reply::new(202), Some(properties.write()))
        }
        Operation::GetPolicies(_) => (Reply::xml(200, acl::write(&acl::read(stored)?)), None),
        Operation::SetPolicies(_) => (Reply::new(204), Some(acl::write(&acl::read(body)?))),
        _ => return Err(AzureError::invalid_input()),
    })
}
