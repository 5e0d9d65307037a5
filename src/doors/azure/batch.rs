//! Entity group transactions: a batch with a set of changes of one partition, or with one read (2.6).
//!
//! A set is checked in its order up to the first change that is wrong. Only a set without one goes to the store, as a whole. Its
//! answer is a batch too: an answer for each change, or one for the change that failed.
//!
//! All of it is a gate of [`Module::Batches`](crate::modules::Module::Batches).

use super::auth::Grant;
use super::entities;
use super::headers::{Level, Method, Prefer, is_client_id};
use super::multipart::Batch;
use super::need::Need;
use super::reply::{Reply, guid};
use super::route::Operation;
use super::url::Url;
use super::{Door, Waiting, error_level};
use crate::azure::entity::CHANGES;
use crate::azure::text::append;
use crate::azure::{AzureCode, AzureError, AzureResult, EntityChange};
use crate::doors::Request;
use crate::tablestore::Right;

/// The place that the service names when there are too many changes.
const TOO_MANY_AT: usize = 99;

/// The type of a batch and of a set, before their boundary.
const MIXED: &str = "multipart/mixed; boundary=";

/// A change of a set, before its body is looked at.
struct Part<'b> {
    request: &'b Request<'b>,
    url: Url<'b>,
    operation: Operation,
}

/// Why a set fails: the place of the change, and its error.
type Failure = (usize, AzureError);

/// A sound set: its table and its changes.
type Changes<'p> = (&'p str, Vec<EntityChange<'p>>);

impl Door<'_> {
    /// Does a batch.
    #[inline(never)]
    pub(super) fn batch<'a>(&'a self, grant: &'a Grant) -> Waiting<'a, Reply> {
        Box::pin(self.do_batch(grant))
    }

    async fn do_batch(&self, grant: &Grant) -> AzureResult<Reply> {
        let content_type = self.request.header("content-type").unwrap_or_default();
        let requests = match Batch::read(content_type, self.request.body)? {
            Batch::Read(request) => return Box::pin(self.batched_read(grant, &request)).await,
            Batch::Changes(requests) => requests,
        };
        let (parts, unread) = read_all(self.url, &requests);
        let (table, changes) = match check_all(grant, &parts, unread)? {
            Ok(sound) => sound,
            Err(failure) => return Ok(self.failed(requests.len(), failure)),
        };
        if self.url.secondary {
            return Err(AzureCode::AuthorizationFailure.into());
        }
        if changes.is_empty() {
            return Ok(self.answer_set(Vec::new()));
        }
        match self.account.change(table, &changes, self.origin).await {
            Ok(times) => Ok(self.changed(&parts, (table, &changes), times)),
            Err(refusal) if refusal.error.engine.is_some() => Err(refusal.error),
            Err(refusal) => Ok(self.failed(requests.len(), (refusal.at, refusal.error))),
        }
    }

    /// Does the only read of a batch.
    async fn batched_read(&self, grant: &Grant, request: &Request<'_>) -> AzureResult<Reply> {
        let url = self.url.parse_inside(request.url)?;
        let read = match Method::of(request).and_then(|method| Operation::find(method, &url)) {
            Ok(operation) => self.read(grant, &operation, &url, request).await,
            Err(error) => Err(error),
        };
        let reply = match read {
            Ok(reply) => reply,
            Err(error) if error.engine.is_some() => return Err(error),
            Err(error) => self.stamp.refuse(&error, error_level(request, &url, error.code)),
        };
        let boundary = self.boundary("batchresponse_");
        let mut body = String::with_capacity(reply.body.len() + 512);
        begin_part(&boundary, &mut body);
        write_part(&reply, &mut body);
        append(&["\r\n--", &boundary, "--\r\n"], &mut body);
        Ok(multipart(&boundary, body))
    }

    /// The answer for a set that failed, which had so many changes.
    fn failed(&self, count: usize, (at, error): Failure) -> Reply {
        // One alone has no place, unless it is wrong before its entity is looked at.
        let is_early = matches!(error.code, AzureCode::TableNotFound | AzureCode::MethodNotAllowed);
        let error = if count == 1 && !is_early {
            error
        } else {
            AzureError::new(error.code, format!("{at}:{}", error.message))
        };
        self.answer_set(vec![(None, self.stamp.refuse(&error, Some(Level::default())))])
    }

    /// The answer for a set whose changes were made, with these timestamps.
    fn changed(
        &self,
        parts: &[Part<'_>],
        (table, changes): (&str, &[EntityChange<'_>]),
        times: Vec<Option<i64>>,
    ) -> Reply {
        let mut replies = Vec::with_capacity(parts.len());
        for ((part, change), time) in parts.iter().zip(changes).zip(times) {
            let prefer = Prefer::of(part.request);
            let content = (prefer != Some(Prefer::NoContent))
                .then(|| Level::accepted(part.request, &part.url.query).ok().flatten().unwrap_or_default());
            replies.push((
                part.request.header("content-id"),
                entities::changed(change, time, table, &part.url, content, prefer),
            ));
        }
        self.answer_set(replies)
    }

    /// The answer for a set: an answer for each change, or one for all.
    fn answer_set(&self, replies: Vec<(Option<&str>, Reply)>) -> Reply {
        let (outer, inner) = (self.boundary("batchresponse_"), self.boundary("changesetresponse_"));
        let mut body = ["--", &outer, "\r\nContent-Type: ", MIXED, &inner, "\r\n\r\n"].concat();
        for (id, mut reply) in replies {
            begin_part(&inner, &mut body);
            let version = if reply.headers.iter().any(|(name, _)| *name == "Location") { "3.0;" } else { "1.0;" };
            let mut headers = Vec::with_capacity(reply.headers.len() + 4);
            if let Some(id) = id.filter(|id| is_client_id(id)) {
                headers.push(("Content-ID", id.to_owned()));
            }
            for (name, value) in
                [("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-cache"), ("DataServiceVersion", version)]
            {
                headers.push((name, value.to_owned()));
            }
            headers.append(&mut reply.headers);
            reply.headers = headers;
            write_part(&reply, &mut body);
            body.push_str("\r\n");
        }
        append(&["--", &inner, "--\r\n--", &outer, "--\r\n"], &mut body);
        multipart(&outer, body)
    }

    /// A boundary that is in no body: it has a number that was drawn.
    fn boundary(&self, start: &str) -> String {
        [start, &guid(self.account.instance().random())].concat()
    }
}

/// Reads the requests of a set, up to one that is none of a change.
fn read_all<'b>(outer: &Url<'b>, requests: &'b [Request<'b>]) -> (Vec<Part<'b>>, Option<Failure>) {
    let mut parts = Vec::with_capacity(requests.len());
    if requests.len() > CHANGES {
        let text = "The batch request operation exceeds the maximum 100 changes per change set.";
        return (parts, Some((TOO_MANY_AT, AzureError::new(AzureCode::InvalidInput, text))));
    }
    for (at, request) in requests.iter().enumerate() {
        match Part::read(outer, request) {
            Ok(part) => parts.push(part),
            Err(error) => return (parts, Some((at, error))),
        }
    }
    (parts, None)
}

impl<'b> Part<'b> {
    fn read(outer: &Url<'b>, request: &'b Request<'b>) -> AzureResult<Self> {
        let url = outer.parse_inside(request.url)?;
        let operation = Operation::find(Method::of(request)?, &url)?;
        match operation {
            Operation::InsertEntity(_) | Operation::WriteEntity(..) => Ok(Self { request, url, operation }),
            _ => Err(AzureError::invalid_input()),
        }
    }
}

/// The table and the changes of a set. The outer error is of who sends it, the inner one of a change. Something may be wrong
/// before the part that could not be read.
fn check_all<'p>(
    grant: &Grant,
    parts: &'p [Part<'p>],
    unread: Option<Failure>,
) -> AzureResult<Result<Changes<'p>, Failure>> {
    let (mut first, mut changes) = (None, Vec::<EntityChange<'_>>::with_capacity(parts.len()));
    // Without the right to write, nothing is said of the changes.
    if !grant.rights.has(Right::Write) {
        return Err(AzureCode::AuthorizationPermissionMismatch.into());
    }
    for (at, part) in parts.iter().enumerate() {
        grant.allow_at_least(&part.operation)?;
        let (table, change) = match entities::change(&part.operation, part.request) {
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
    Ok(match unread {
        Some(failure) => Err(failure),
        None => Ok((first.unwrap_or_default(), changes)),
    })
}

/// Writes a response as a part of a batch: its line, headers and body.
fn write_part(reply: &Reply, out: &mut String) {
    let Reply { status, headers, body } = reply;
    append(&["HTTP/1.1 ", &u64::from(*status).to_string(), " ", reason(*status), "\r\n"], out);
    for (name, value) in headers {
        append(&[name, ": ", value, "\r\n"], out);
    }
    append(&["\r\n", body], out);
}

/// The words of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        507 => "Insufficient Storage",
        _ => "Internal Server Error",
    }
}

/// Writes what comes before the answer in a part.
fn begin_part(boundary: &str, out: &mut String) {
    append(&["--", boundary, "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"], out);
}

/// The answer of a batch: it was read, whatever came of it.
fn multipart(boundary: &str, body: String) -> Reply {
    Reply { status: 202, headers: vec![("Content-Type", [MIXED, boundary].concat())], body }
}
