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
        match operation {
            Operation::GetProperties => {
                let properties = Properties::stored(&account.setting(Setting::Service).await?)?;
                Ok(Reply::xml(200, properties.write()))
            }
            Operation::SetProperties => {
                let mut properties = Properties::stored(&account.setting(Setting::Service).await?)?;
                properties.set(request.body)?;
                account.set(Setting::Service, properties.write().as_bytes()).await?;
                Ok(Reply::new(202))
            }
            Operation::GetStats => {
                let mut body = String::from(xml::DECLARATION);
                body.push_str("<StorageServiceStats><GeoReplication><Status>live</Status>");
                xml::element("LastSyncTime", &date_time::format_http(self.stamp.ticks()), &mut body);
                body.push_str("</GeoReplication></StorageServiceStats>");
                Ok(Reply::xml(200, body))
            }
            Operation::GetPolicies(table) => {
                let policies = acl::read(&account.setting(Setting::Policies(table)).await?)?;
                Ok(Reply::xml(200, acl::write(&policies)))
            }
            Operation::SetPolicies(table) => {
                account.table_name(table)?;
                let policies = acl::read(request.body)?;
                account.set(Setting::Policies(table), acl::write(&policies).as_bytes()).await?;
                Ok(Reply::new(204))
            }
            _ => Err(AzureError::invalid_input()),
        }
    }
}
