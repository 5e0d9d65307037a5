//! The door of the Table Store service: its wire protocol.
//!
//! Each request goes the same way: who sends it ([`signature`]), what it asks for ([`Operation`]), and the operation ([`rows`],
//! [`batches`], [`transactions`], [`tables`], [`streams`]). A request is a message ([`protobuf`]), and its rows are buffers of
//! another form in it ([`plain_buffer`]). Whatever is wrong becomes an answer of the service ([`refusal`]). Nothing here knows how
//! rows are stored.
//!
//! All of it is a gate of [`Module::Tablestore`](crate::modules::Module::Tablestore).

mod administration;
mod batches;
mod date;
mod digest;
mod filter;
mod message;
mod plain_buffer;
mod protobuf;
mod refusal;
mod row;
mod rows;
mod signature;
mod stream_work;
mod streams;
mod tables;
mod transactions;
mod v4;

use super::{Access, Passed, Passing, Request, Response};
use crate::engine::Origin;
use crate::error::Result;
use crate::tablestore::{Instance, Right};
use message::WriteKind;
use protobuf::Message;
use refusal::{Answer, Refusal, Stop, parameter, refuse};
use signature::{Sender, Signer};

/// Bytes of the body of a request (R8).
///
/// Else: `OTSRequestBodyTooLarge`, 413, "The size of POST data is too large."
const BODY: usize = 5 * 1024 * 1024;

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
    let (id, now) = (request_id(instance.random()), instance.now_ms());
    let name = operation_name(request.url);
    let (signer, done) = match enter(instance, request, access, name, now) {
        Ok(Entered { operation, sender }) => {
            let door = Door { instance, body: request.body, origin };
            let done = match sender.allow(operation.right()) {
                Ok(()) => Box::pin(door.serve(operation)).await,
                Err(stop) => Err(stop),
            };
            (sender.signer, done)
        }
        Err(stop) => (None, Err(stop)),
    };
    let (status, body) = match done {
        Ok(body) => (200, body),
        Err(Stop::Refused(refusal)) => (refusal.status, refused(&refusal)),
        Err(Stop::Needs(module)) => return Ok(Passed::Needs(module)),
        Err(Stop::Ended(error)) => return Err(error),
    };
    // A client whose clock is not compared gets its own time back: it compares too, and the store's clock may be another one.
    let own_time = signature::header(request, "x-ots-date").filter(|own| date::parse(own).is_some());
    let time = own_time.filter(|_| access != Access::Signed).map_or_else(|| date::format(now), str::to_owned);
    Ok(Passed::Answered(seal(status, body, &id, &time, signer.as_ref(), name)))
}

/// The whole response.
fn seal(status: u16, body: Vec<u8>, id: &str, time: &str, signer: Option<&Signer>, operation: &str) -> Response {
    let digest = digest::content_md5(&body);
    let headers = [
        ("x-ots-contentmd5", &*digest),
        ("x-ots-contenttype", "protocol buffer"),
        ("x-ots-date", time),
        ("x-ots-requestid", id),
        ("Content-Type", "application/x-protobuf"),
    ];
    let signed = signer.map(|signer| signer.authorization(&headers, operation));
    let signed = signed.as_deref().map(|signed| ("Authorization", signed));
    let all = headers.into_iter().chain(signed);
    Response { status, headers: all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), body }
}

/// The body of a refusal.
fn refused(refusal: &Refusal) -> Vec<u8> {
    let mut body = Message::default();
    message::error(&mut body, refusal);
    body.0
}

/// Random bytes as the number of a request, in the service's form.
fn request_id(random: [u8; 16]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    let mut id = String::with_capacity(36);
    for (at, byte) in random.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            id.push('-');
        }
        id.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    id
}

/// The last segment of a path: some clients put that of their endpoint before it, and sign without.
fn operation_name(url: &str) -> &str {
    let end = url.bytes().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(url.len());
    let path = url.get(..end).unwrap_or_default();
    let start = path.bytes().rposition(|byte| byte == b'/').map_or(0, |at| at + 1);
    path.get(start..).unwrap_or_default()
}

/// What is known of a request that may go on.
struct Entered {
    operation: Operation,
    sender: Sender,
}

/// Checks a request up to its operation. Nothing of the instance but its keys is looked at.
fn enter(instance: &Instance, request: &Request<'_>, access: Access<'_>, name: &str, now: i64) -> Answer<Entered> {
    if request.method != "POST" {
        return refuse(
            "OTSMethodNotAllowed",
            405,
            format!("Only POST method for requests is supported, not {}.", request.method),
        );
    }
    let length = signature::header(request, "content-length").and_then(|length| length.parse::<usize>().ok());
    if request.body.len().max(length.unwrap_or_default()) > BODY {
        return refuse("OTSRequestBodyTooLarge", 413, "The size of POST data is too large.");
    }
    if length.is_some_and(|length| length != request.body.len()) {
        return refuse("OTSRequestTimeout", 408, "The request body was not received completely.");
    }
    let sender = Sender::find(instance, request, access, name, now)?;
    let Some(operation) = Operation::find(name) else { return parameter(format!("Unsupported operation: {name}.")) };
    if signature::header(request, "x-ots-request-compress-type").is_some_and(|kind| !kind.is_empty()) {
        return parameter("Compressed requests are not supported.");
    }
    Ok(Entered { operation, sender })
}

macro_rules! operations {
    ($($name:ident: $right:ident,)*) => {
        /// What a request asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Operation {
            $($name,)*
        }

        impl Operation {
            fn find(name: &str) -> Option<Self> {
                let all = [$((stringify!($name), Self::$name),)*];
                all.into_iter().find(|(other, _)| *other == name).map(|(_, operation)| operation)
            }

            /// The right that it needs.
            fn right(self) -> Right {
                match self {
                    $(Self::$name => Right::$right,)*
                }
            }
        }
    };
}

operations! {
    AbortTransaction: Write,
    AddDefinedColumn: Admin,
    BatchGetRow: Read,
    BatchWriteRow: Write,
    CommitTransaction: Write,
    ComputeSplitPointsBySize: Read,
    CreateIndex: Admin,
    CreateTable: Admin,
    DeleteDefinedColumn: Admin,
    DeleteRow: Write,
    DeleteTable: Admin,
    DescribeStream: Read,
    DescribeTable: Read,
    DropIndex: Admin,
    GetRange: Read,
    GetRow: Read,
    GetShardIterator: Read,
    GetStreamRecord: Read,
    ListSearchIndex: Read,
    ListStream: Read,
    ListTable: Read,
    PutRow: Write,
    StartLocalTransaction: Write,
    UpdateRow: Write,
    UpdateTable: Admin,
}

/// A request in the door.
struct Door<'d> {
    instance: &'d Instance,
    body: &'d [u8],
    origin: Option<Origin>,
}

impl Door<'_> {
    /// Does what the request asks for, and returns the message of its answer.
    async fn serve(&self, operation: Operation) -> Answer<Vec<u8>> {
        match operation {
            Operation::GetRow => self.get_row().await,
            Operation::PutRow => self.write_row(WriteKind::Put).await,
            Operation::UpdateRow => self.write_row(WriteKind::Update).await,
            Operation::DeleteRow => self.write_row(WriteKind::Delete).await,
            Operation::GetRange => self.get_range().await,
            Operation::BatchGetRow => self.batch_get_row().await,
            Operation::BatchWriteRow => self.batch_write_row().await,
            Operation::StartLocalTransaction => self.start_transaction().await,
            Operation::CommitTransaction => self.end_transaction(true).await,
            Operation::AbortTransaction => self.end_transaction(false).await,
            Operation::ListTable => Ok(self.list_table()),
            Operation::CreateTable => self.create_table().await,
            Operation::DescribeTable => self.describe_table().await,
            Operation::DeleteTable => self.delete_table().await,
            Operation::UpdateTable => self.update_table().await,
            Operation::ComputeSplitPointsBySize => self.compute_split_points().await,
            Operation::CreateIndex => self.create_index().await,
            Operation::DropIndex => self.drop_index().await,
            Operation::AddDefinedColumn => self.change_defined_columns(true).await,
            Operation::DeleteDefinedColumn => self.change_defined_columns(false).await,
            Operation::ListStream => self.list_stream().await,
            Operation::DescribeStream => self.describe_stream().await,
            Operation::GetShardIterator => self.get_shard_iterator().await,
            Operation::GetStreamRecord => self.get_stream_record().await,
            // No table has one.
            Operation::ListSearchIndex => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_the_last_segment_of_the_path() {
        for (url, name) in [
            ("/GetRow", "GetRow"),
            ("http://127.0.0.1:80/GetRow", "GetRow"),
            ("http://h/a/b/PutRow?x=/y", "PutRow"),
            ("/", ""),
            ("", ""),
            ("GetRow#/a", "GetRow"),
        ] {
            assert_eq!(operation_name(url), name, "{url}");
        }
        assert_eq!(Operation::find("GetRow"), Some(Operation::GetRow));
        assert_eq!(Operation::find("getrow"), None);
    }

    #[test]
    fn numbers_of_requests_have_the_services_form() {
        assert_eq!(request_id([0xA5; 16]), "a5a5a5a5-a5a5-a5a5-a5a5-a5a5a5a5a5a5");
    }
}
