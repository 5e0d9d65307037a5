//! Operations on documents in XML: properties of the service, its statistics, and the policies of tables. Also what other
//! requests need of documents: the rules for other origins, and the policy of a signature.
//!
//! The functions that are never inlined are the only way from the rest of the door to what reads XML.
//!
//! All of it is a gate of [`Module::Access`](crate::modules::Module::Access).

use super::auth::Grant;
use super::need::{Level as Kind, Need};
use super::properties::Properties;
use super::reply::Reply;
use super::route::Operation;
use super::sas::Sas;
use super::{Door, Waiting, acl, cors, xml};
use crate::azure::{AzureCode, AzureError, AzureResult, Setting, date_time};
use crate::tablestore::Right;

impl Door<'_> {
    /// Reads a document or sets one.
    #[inline(never)]
    pub(super) fn document<'a>(&'a self, grant: &'a Grant, operation: &'a Operation) -> Waiting<'a, Reply> {
        Box::pin(self.do_document(grant, operation))
    }

    /// Answers a browser that asks before it sends a request.
    #[inline(never)]
    pub(super) fn preflight(&self) -> Waiting<'_, Reply> {
        Box::pin(async { cors::preflight(&self.rules().await?, self.request) })
    }

    /// Lets a page of another origin see an answer, if a rule does.
    #[inline(never)]
    pub(super) fn allow<'a>(&'a self, origin: &'a str, mut reply: Reply) -> Waiting<'a, Reply> {
        Box::pin(async move {
            cors::allow(&self.rules().await?, origin, self.request.method, &mut reply);
            Ok(reply)
        })
    }

    /// Completes a signature with the access policy that it refers to.
    #[inline(never)]
    pub(super) fn complete(&self, mut sas: Sas) -> Waiting<'_, Sas> {
        Box::pin(async move {
            let (table, id) = sas.policy().unwrap_or_default();
            let document = match self.account.setting(Setting::Policies(table)).await {
                Ok(document) => document,
                // Whether there is such a table is nobody's business yet.
                Err(error) if error.code == AzureCode::TableNotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            let policies = acl::read(&document)?;
            let policy = policies.iter().find(|policy| policy.id == id);
            sas.complete(policy, self.stamp.ticks())?;
            Ok(sas)
        })
    }

    /// The rules for other origins.
    async fn rules(&self) -> AzureResult<Vec<cors::Rule>> {
        let document = self.account.setting(Setting::Service).await?;
        Ok(Properties::stored(&document)?.cors)
    }

    async fn do_document(&self, grant: &Grant, operation: &Operation) -> AzureResult<Reply> {
        let Self { account, request, .. } = self;
        // No signature that was given away gives policies.
        grant.allow(&match operation {
            Operation::GetProperties | Operation::GetStats => Need::of(Right::Admin, Kind::Service, &["r"]),
            Operation::SetProperties => Need::of(Right::Admin, Kind::Service, &["w"]),
            _ => Need::of(Right::Admin, Kind::Container, &[]),
        })?;
        let setting = match operation {
            Operation::GetPolicies(table) | Operation::SetPolicies(table) => Setting::Policies(table),
            Operation::GetStats => return Ok(self.stats()),
            _ => Setting::Service,
        };
        loop {
            let stored = account.setting(setting).await?;
            let (reply, document) = decide(operation, &stored, request.body)?;
            let Some(document) = document else { return Ok(reply) };
            // Another request may have set it meanwhile. A part of the properties must not bring back the other parts.
            if account.set(setting, &stored, document.as_bytes()).await? {
                return Ok(reply);
            }
        }
    }

    /// The statistics of the service.
    fn stats(&self) -> Reply {
        let mut body = String::from(xml::DECLARATION);
        body.push_str("<StorageServiceStats><GeoReplication><Status>live</Status>");
        xml::element("LastSyncTime", &date_time::format_http(self.stamp.ticks()), &mut body);
        body.push_str("</GeoReplication></StorageServiceStats>");
        Reply::xml(200, body)
    }
}

/// The answer, and the document to be stored if there is one.
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
