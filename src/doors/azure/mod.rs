//! The door of the Azure Table service: its REST protocol.
//!
//! Each request goes the same way: its URL ([`url`]), who sends it ([`auth`], [`sas`]), what it asks for ([`route`]), and the
//! operation ([`tables`], [`entities`], [`batch`], [`documents`]). Whatever is wrong becomes an answer of the service in
//! [`reply`]. Nothing here knows how entities are stored.
//!
//! All of it is a gate of [`Module::Azure`].

mod acl;
mod auth;
mod batch;
mod cors;
mod documents;
mod entities;
mod headers;
mod json;
mod json_in;
mod json_out;
mod multipart;
mod need;
mod page;
mod properties;
mod reply;
mod route;
mod sas;
mod tables;
mod url;
mod xml;

use super::{Access, Passed, Passing, Request, Response};
use crate::azure::text::split;
use crate::azure::{Account, AzureCode, AzureError, AzureResult, EntityChange, EntityOp, Setting};
use crate::engine::Origin;
use crate::error::Result;
use crate::modules::{self, Module};
use crate::tablestore::{Instance, Right};
use auth::Grant;
use headers::{Level, Method};
use need::{Level as Kind, Need};
use reply::{Reply, Stamp};
use route::Operation;
use std::pin::Pin;
use url::Url;

/// Bytes of the body of a request, a transaction included (L5).
///
/// Else: `RequestBodyTooLarge`, 413, for the request; a transaction names no change then.
const BODY: usize = 4 * 1024 * 1024;

/// A part of a request on its way that most requests do not have: it costs others no code and no room.
type Waiting<'a, T> = Pin<Box<dyn Future<Output = AzureResult<T>> + 'a>>;

/// Passes the bytes of a request through the door, and returns those of its response. The first poll tells that a module is
/// missing, if one is.
///
/// # Errors
/// Bytes that are no request; errors of the engine that are no answer to the request, such as `Closed`.
#[inline(never)]
pub fn pass<'a>(instance: &'a Instance, request: &'a [u8], origin: Option<Origin>) -> Passing<'a> {
    Box::pin(async move {
        let (request, access) = Request::read(request)?;
        Ok(respond(instance, &request, access, origin).await?.into_bytes())
    })
}

/// Answers a request, where all code is there.
///
/// # Errors
/// Errors of the engine that are no answer to the request, such as `Closed`.
pub async fn answer(
    instance: &Instance,
    request: &Request<'_>,
    access: Access<'_>,
    origin: Option<Origin>,
) -> Result<Response> {
    respond(instance, request, access, origin).await?.answered()
}

/// Answers a request, if all code is there that it needs.
async fn respond(
    instance: &Instance,
    request: &Request<'_>,
    access: Access<'_>,
    origin: Option<Origin>,
) -> Result<Passed<Response>> {
    let stamp = Stamp::new(instance.random(), instance.now_ms());
    let url = match Url::parse(request.url, request.header("host")) {
        Ok(url) => url,
        Err(error) => {
            return Ok(Passed::Answered(stamp.respond(stamp.refuse(&error, Some(Level::default())), request)));
        }
    };
    let served = match Account::new(instance, &url.account) {
        Ok(account) => {
            let door = Door { account, url: &url, request, stamp: &stamp, origin };
            if let Some(module) = door.needed_module(access) {
                return Ok(Passed::Needs(module));
            }
            Box::pin(door.serve(access)).await
        }
        Err(error) => Err(error),
    };
    let reply = match served {
        Ok(reply) => reply,
        // If it is no answer to the request, the engine has a word for the client itself.
        Err(error) => match error.unanswered() {
            Some(error) => return Err(error.clone()),
            None => stamp.refuse(&error, error_level(request, &url, error.code)),
        },
    };
    Ok(Passed::Answered(stamp.respond(reply, request)))
}

/// The level of an error in JSON, or `None` for one in XML: about documents in XML, to browsers, to those who want Atom, and about
/// a whole batch, whatever it accepts. Our own client asks for JSON by `$format`.
fn error_level(request: &Request<'_>, url: &Url<'_>, code: AzureCode) -> Option<Level> {
    let is_in_xml = url.query.get("comp").is_some()
        || request.method == "OPTIONS"
        || reply::is_about_format(code)
        || route::is_batch(url) && url.query.get("$format").is_none();
    (!is_in_xml).then(|| Level::accepted(request, &url.query).ok().flatten().unwrap_or_default())
}

/// A request in the door.
struct Door<'d> {
    account: Account<'d>,
    url: &'d Url<'d>,
    request: &'d Request<'d>,
    stamp: &'d Stamp,
    origin: Option<Origin>,
}

impl Door<'_> {
    /// The module that the request needs beside the door's own.
    fn needed_module(&self, access: Access<'_>) -> Option<Module> {
        let Self { url, request, .. } = self;
        let is_about_access = access == Access::Signed
            || request.method == "OPTIONS"
            || request.header("origin").is_some()
            || url.query.get("comp").is_some();
        if is_about_access && !modules::is_loaded(Module::Access) {
            return Some(Module::Access);
        }
        (route::is_batch(url) && !modules::is_loaded(Module::Batches)).then_some(Module::Batches)
    }

    /// Does what the request asks for.
    async fn serve(&self, access: Access<'_>) -> AzureResult<Reply> {
        let Self { url, request, .. } = self;
        if request.method == "OPTIONS" {
            // Browsers ask it without a signature. It tells nothing but the rules for their origin.
            return self.preflight().await;
        }
        let grant = self.grant(access).await?;
        let reply = match self.serve_granted(&grant).await {
            Ok(reply) => reply,
            Err(error) if error.engine.is_some() => return Err(error),
            Err(error) => self.stamp.refuse(&error, error_level(request, url, error.code)),
        };
        let origin = request.header("origin").unwrap_or_default();
        if origin.is_empty() && !self.is_to_be_told().await? {
            return Ok(reply);
        }
        self.allow(origin, reply).await
    }

    /// Whether the answer tells caches of rules for other origins, although it is for none. Few accounts have rules. So the code for
    /// them is loaded once there is one.
    async fn is_to_be_told(&self) -> AzureResult<bool> {
        if !headers::is_cached(self.request.method) {
            return Ok(false);
        }
        let document = self.account.setting(Setting::Service).await?;
        let has_rules = std::str::from_utf8(&document).is_ok_and(|document| split(document, "<CorsRule>").is_some());
        if has_rules {
            self.account.instance().load(Module::Access).await?;
        }
        Ok(has_rules)
    }

    /// Finds who sends the request.
    async fn grant(&self, access: Access<'_>) -> AzureResult<Grant> {
        let now = self.stamp.ticks();
        let grant = Grant::find(&self.account.instance().access_keys().all(), access, self.request, self.url, now)?;
        match grant.sas {
            Some(sas) if sas.policy().is_some() => Ok(Grant { sas: Some(self.complete(sas).await?), ..grant }),
            sas => Ok(Grant { sas, ..grant }),
        }
    }

    /// Does what somebody known asks for.
    async fn serve_granted(&self, grant: &Grant) -> AzureResult<Reply> {
        let Self { url, request, .. } = self;
        headers::check(request)?;
        if request.body.len() > BODY {
            return Err(AzureCode::RequestBodyTooLarge.into());
        }
        let operation = Operation::find(Method::of(request)?, url)?;
        if url.secondary && !operation.is_read() {
            let text = "Write operations are not allowed on the secondary.";
            return Err(AzureError::new(AzureCode::AuthorizationFailure, text));
        }
        match &operation {
            Operation::Batch => self.batch(grant).await,
            _ if operation.is_of_document() => self.document(grant, &operation).await,
            Operation::CreateTable | Operation::DeleteTable(_) => self.change_tables(grant, &operation).await,
            Operation::InsertEntity(_) | Operation::WriteEntity(..) => self.change_entity(grant, &operation).await,
            _ => self.read(grant, &operation, url, request).await,
        }
    }

    /// Answers a read, of the request or of one in its batch.
    async fn read(
        &self,
        grant: &Grant,
        operation: &Operation,
        url: &Url<'_>,
        request: &Request<'_>,
    ) -> AzureResult<Reply> {
        grant.allow(&match operation {
            Operation::QueryEntities(table) => Need::to_read(table, None),
            Operation::GetEntity(table, key) => Need::to_read(table, Some(key.pair())),
            _ => Need::of(Right::Read, Kind::Container, &["l"]),
        })?;
        // Without a word about formats, Atom is meant.
        let level = Level::accepted(request, &url.query)?.ok_or(AzureCode::AtomFormatNotSupported)?;
        match operation {
            Operation::QueryTables => self.query_tables(url, level),
            Operation::GetTable(name) => self.get_table(name, url, level),
            Operation::QueryEntities(table) => entities::query(&self.account, grant, table, url, level).await,
            Operation::GetEntity(table, key) => entities::get(&self.account, table, key.pair(), url, level).await,
            _ => Err(AzureError::invalid_input()),
        }
    }

    /// Changes an entity.
    async fn change_entity(&self, grant: &Grant, operation: &Operation) -> AzureResult<Reply> {
        let Self { url, request, .. } = self;
        let (table, change, content) = self.checked_change(grant, operation)?;
        let changes = std::slice::from_ref(&change);
        let done = self.account.change(table, changes, self.origin).await.map_err(|refusal| refusal.error)?;
        let time = done.first().copied().flatten();
        Ok(entities::changed(&change, time, table, url, content, headers::Prefer::of(request)))
    }

    /// The change of an entity, its table, and the level at which a new entity is written back, if it is.
    fn checked_change<'o>(
        &'o self,
        grant: &Grant,
        operation: &'o Operation,
    ) -> AzureResult<(&'o str, EntityChange<'o>, Option<Level>)> {
        let Self { url, request, .. } = self;
        grant.allow_at_least(operation)?;
        let level = Level::accepted(request, &url.query)?;
        let (table, change) = entities::change(operation, request)?;
        let key = (&*change.partition_key, &*change.row_key);
        grant.allow(&Need::to_change(change.op, table, key))?;
        if change.op != EntityOp::Insert || headers::Prefer::of(request) == Some(headers::Prefer::NoContent) {
            return Ok((table, change, None));
        }
        match level {
            Some(level) => Ok((table, change, Some(level))),
            None => Err(AzureCode::AtomFormatNotSupported.into()),
        }
    }
}
