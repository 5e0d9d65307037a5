//! What an operation answers, and how it becomes a response or a part of one.

use super::headers::{self, Level};
use super::{json_out, xml};
use crate::azure::edm::write_guid;
use crate::azure::{AzureCode, AzureError, date_time};
use crate::doors::{Request, Response};

/// The answer of an operation, without the headers that every response has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// The status.
    pub(super) status: u16,
    /// The headers of this operation; the type of the body is among them.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The body; empty if there is none.
    pub(super) body: String,
}

impl Reply {
    /// An answer without a body.
    pub(super) fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// An answer with a body in JSON.
    pub(super) fn json(status: u16, level: Level, body: String) -> Self {
        Self { status, headers: vec![("Content-Type", level.content_type().into())], body }
    }

    /// An answer with a body in XML.
    pub(super) fn xml(status: u16, body: String) -> Self {
        Self { status, headers: vec![("Content-Type", "application/xml".into())], body }
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What is known of a request before anything is asked of it.
#[derive(Debug)]
pub(super) struct Stamp {
    /// Its number, drawn for it.
    pub(super) id: String,
    /// The clock, in ms since 1970.
    pub(super) now_ms: i64,
}

impl Stamp {
    /// A stamp of random bytes and a clock.
    pub(super) fn new(random: [u8; 16], now_ms: i64) -> Self {
        Self { id: guid(random), now_ms }
    }

    /// The clock, as times of entities are counted.
    pub(super) fn ticks(&self) -> i64 {
        self.now_ms.saturating_mul(date_time::MILLISECOND).saturating_add(date_time::UNIX_EPOCH)
    }

    /// The answer for an error, in XML or in JSON.
    pub(super) fn refuse(&self, error: &AzureError, level: Option<Level>) -> Reply {
        let time = date_time::format(self.ticks());
        let message = [&*error.message, "\nRequestId:", &self.id, "\nTime:", &time].concat();
        match level {
            Some(level) => Reply::json(error.code.status(), level, json_out::error(error, &message)),
            None => Reply::xml(error.code.status(), xml::error(error.code, &message)),
        }
    }

    /// The whole response.
    pub(super) fn respond(&self, reply: Reply, request: &Request<'_>) -> Response {
        let version = request.header("x-ms-version").filter(|version| headers::is_version(version));
        let client = request.header("x-ms-client-request-id").filter(|id| headers::is_client_id(id));
        let common = [
            ("Cache-Control", Some("no-cache")),
            ("X-Content-Type-Options", Some("nosniff")),
            ("Date", Some(&*date_time::format_http(self.ticks()))),
            ("Server", Some("TabStore")),
            ("x-ms-request-id", Some(&*self.id)),
            ("x-ms-version", Some(version.unwrap_or(headers::VERSION))),
            ("x-ms-client-request-id", client),
        ];
        let own = reply.headers.iter().map(|(name, value)| (*name, Some(value.as_str())));
        let length = reply.body.is_empty().then_some("0");
        let all = common.into_iter().chain(own).chain([("Content-Length", length)]);
        let headers = all.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        Response { status: reply.status, headers, body: reply.body.into_bytes() }
    }
}

/// Random bytes as a Guid of version 4.
pub(super) fn guid(mut random: [u8; 16]) -> String {
    random[6] = random[6] & 0x0F | 0x40;
    random[8] = random[8] & 0x3F | 0x80;
    let mut text = String::with_capacity(36);
    write_guid(random, &mut text);
    text
}

/// Whether an error can only be told in XML.
pub(super) fn is_about_format(code: AzureCode) -> bool {
    matches!(code, AzureCode::AtomFormatNotSupported | AzureCode::JsonFormatNotSupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_requests_are_guids_of_version_4() {
        assert_eq!(guid([0xFF; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(guid([0; 16]), "00000000-0000-4000-8000-000000000000");
    }
}
