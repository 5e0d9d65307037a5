//! Entity group transactions: a batch with a set of changes of one partition, or with one read (2.6).
//!
//! A set is checked in its order up to the first change that is wrong. Only a set without one goes to the store, as a whole. Its
//! answer is a batch too: an answer for each change, or one for the change that failed.

use super::auth::{Grant, Need};
use super::entities;
use super::headers::{Level, Method, Prefer, is_client_id};
use super::multipart::Batch;
use super::reply::{Reply, guid};
use super::route::Operation;
use super::url::Url;
use super::{Door, error_level};
use crate::azure::entity::CHANGES;
use crate::azure::{AzureCode, AzureError, AzureResult, EntityChange};
use crate::doors::Request;
use crate::storage::Storage;
use std::fmt::Write;

/// The place that the service names when there are too many changes.
const TOO_MANY_AT: usize = 99;

/// A change of a set, before its body is looked at.
struct Part<'b> {
    id: Option<&'b str>,
    request: Request<'b>,
    url: Url<'b>,
    operation: Operation,
}

/// Why a set fails: the place of the change, and its error.
type Failure = (usize, AzureError);

impl<'d, S: Storage> Door<'d, S> {
    /// Does a batch.
    pub(super) async fn batch(&self, grant: &Grant) -> AzureResult<Reply> {
        let content_type = self.request.header("content-type").unwrap_or_default();
        match Batch::read(content_type, self.request.body)? {
            Batch::Read(request) => self.batched_read(grant, &request).await,
            Batch::Changes(changes) => self.batched_changes(grant, changes).await,
        }
    }

    /// Does the only read of a batch.
    async fn batched_read(&self, grant: &Grant, request: &Request<'_>) -> AzureResult<Reply> {
        let url = self.url.parse_inside(request.url)?;
        let read = async {
            let operation = Operation::find(Method::of(request)?, &url)?;
            self.read(grant, &operation, &url, request).await
        };
        let reply = match read.await {
            Ok(reply) => reply,
            Err(error) if error.engine.is_some() => return Err(error),
            Err(error) => self.stamp.refuse(&error, error_level(request, &url, error.code)),
        };
        let boundary = self.boundary("batchresponse_");
        let mut body = String::with_capacity(reply.body.len() + 512);
        begin_part(&boundary, &mut body);
        reply.write_part(&mut body);
        let _ = write!(body, "\r\n--{boundary}--\r\n");
        Ok(multipart(&boundary, body))
    }

    /// Does a set of changes.
    async fn batched_changes(
        &self,
        grant: &Grant,
        requests: Vec<(Option<&'d str>, Request<'d>)>,
    ) -> AzureResult<Reply> {
        let count = requests.len();
        let replies = match self.change_all(grant, requests).await? {
            Ok(replies) => replies,
            Err((at, error)) => {
                // One alone has no place.
                let message = if count == 1 { error.message } else { format!("{at}:{}", error.message).into() };
                vec![(None, self.stamp.refuse(&AzureError { message, ..error }, Some(Level::default())))]
            }
        };
        let (outer, inner) = (self.boundary("batchresponse_"), self.boundary("changesetresponse_"));
        let mut body = format!("--{outer}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n");
        for (id, mut reply) in replies {
            begin_part(&inner, &mut body);
            let version = if reply.headers.iter().any(|(name, _)| *name == "Location") { "3.0;" } else { "1.0;" };
            let common = [
                ("X-Content-Type-Options", "nosniff".to_owned()),
                ("Cache-Control", "no-cache".to_owned()),
                ("DataServiceVersion", version.to_owned()),
            ];
            reply.headers.splice(0..0, common);
            if let Some(id) = id.filter(|id| is_client_id(id)) {
                reply.headers.insert(0, ("Content-ID", id.to_owned()));
            }
            reply.write_part(&mut body);
            body.push_str("\r\n");
        }
        let _ = write!(body, "--{inner}--\r\n--{outer}--\r\n");
        Ok(multipart(&outer, body))
    }

    /// Makes the changes. The outer error is of the batch, the inner one of a change.
    async fn change_all(
        &self,
        grant: &Grant,
        requests: Vec<(Option<&'d str>, Request<'d>)>,
    ) -> AzureResult<Result<Vec<(Option<&'d str>, Reply)>, Failure>> {
        if requests.len() > CHANGES {
            let text = "The batch request operation exceeds the maximum 100 changes per change set.";
            return Ok(Err((TOO_MANY_AT, AzureError::new(AzureCode::InvalidInput, text))));
        }
        let (mut parts, mut unread) = (Vec::with_capacity(requests.len()), None);
        for (at, (id, request)) in requests.into_iter().enumerate() {
            match Part::read(self.url, id, request) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    unread = Some((at, error));
                    break;
                }
            }
        }
        // Something may be wrong before it.
        let (table, changes) = match (check_all(grant, &parts)?, unread) {
            (Ok(checked), None) => checked,
            (Err(failure), _) | (_, Some(failure)) => return Ok(Err(failure)),
        };
        if self.url.secondary {
            return Err(AzureCode::AuthorizationFailure.into());
        }
        let times = match self.account.change(table, &changes, self.origin).await {
            Ok(times) => times,
            Err(refusal) if refusal.error.engine.is_some() => return Err(refusal.error),
            Err(refusal) => return Ok(Err((refusal.at, refusal.error))),
        };
        let replies = parts.iter().zip(changes.iter().zip(times)).map(|(part, (change, time))| {
            let prefer = Prefer::of(&part.request);
            let content = (prefer == Some(Prefer::Content))
                .then(|| Level::accepted(&part.request, &part.url.query).ok().flatten().unwrap_or_default());
            (part.id, entities::changed(change, time, table, &part.url, content, prefer))
        });
        Ok(Ok(replies.collect()))
    }

    /// A boundary that is in no body: it has a number that was drawn.
    fn boundary(&self, start: &str) -> String {
        format!("{start}{}", guid(self.account.instance().random()))
    }
}

impl<'b> Part<'b> {
    fn read(outer: &Url<'b>, id: Option<&'b str>, request: Request<'b>) -> AzureResult<Self> {
        let url = outer.parse_inside(request.url)?;
        let operation = Operation::find(Method::of(&request)?, &url)?;
        match operation {
            Operation::InsertEntity(_) | Operation::WriteEntity(..) => Ok(Self { id, request, url, operation }),
            _ => Err(AzureError::invalid_input()),
        }
    }
}

/// The table and the changes of a set. The outer error is of who sends it, the inner one of a change.
fn check_all<'p>(
    grant: &Grant,
    parts: &'p [Part<'p>],
) -> AzureResult<Result<(&'p str, Vec<EntityChange<'p>>), Failure>> {
    let (mut first, mut changes) = (None, Vec::<EntityChange<'_>>::with_capacity(parts.len()));
    for (at, part) in parts.iter().enumerate() {
        let (table, change) = match entities::change(&part.operation, &part.request) {
            Ok(checked) => checked,
            Err(error) => return Ok(Err((at, error))),
        };
        grant.allow(&Need::to_change(change.op, table, (&change.partition_key, &change.row_key)))?;
        let expected: &str = first.get_or_insert(table);
        if !table.eq_ignore_ascii_case(expected) {
            return Ok(Err((at, AzureError::invalid_input())));
        }
        if changes.first().is_some_and(|other| other.partition_key != change.partition_key) {
            return Ok(Err((at, AzureCode::CommandsInBatchActOnDifferentPartitions.into())));
        }
        if changes.iter().any(|other| other.row_key == change.row_key) {
            return Ok(Err((at, AzureCode::InvalidDuplicateRow.into())));
        }
        changes.push(change);
    }
    Ok(Ok((first.unwrap_or_default(), changes)))
}

/// Writes what comes before the answer in a part.
fn begin_part(boundary: &str, out: &mut String) {
    let _ = write!(out, "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
}

/// The answer of a batch: it was read, whatever came of it.
fn multipart(boundary: &str, body: String) -> Reply {
    Reply { status: 202, headers: vec![("Content-Type", format!("multipart/mixed; boundary={boundary}"))], body }
}
