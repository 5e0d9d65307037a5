//! The body of a batch: parts between boundaries, requests of HTTP inside (2.6).
//!
//! Clients differ in blank lines, line ends and the case of names, so all of that is taken. A body that stops before its last
//! boundary is not: half a batch must not be done.
//!
//! All of it is a gate of [`Module::Batches`](crate::modules::Module::Batches).

use super::headers::{media_type_of, parameter};
use crate::azure::{AzureError, AzureResult};
use crate::doors::Request;

/// The longest boundary: that of the standard, twice.
const BOUNDARY: usize = 140;

/// The requests of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Batch<'b> {
    /// One request, which must be a read.
    Read(Request<'b>),
    /// A set of changes. It may be empty.
    Changes(Vec<Request<'b>>),
}

impl<'b> Batch<'b> {
    /// Reads a batch.
    ///
    /// # Errors
    /// `InvalidInput`.
    pub(super) fn read(content_type: &str, body: &'b [u8]) -> AzureResult<Self> {
        Self::parse(content_type, body).ok_or_else(AzureError::invalid_input)
    }

    fn parse(content_type: &str, body: &'b [u8]) -> Option<Self> {
        let parts = split(body, boundary(content_type)?)?;
        let [part] = &parts[..] else { return None };
        let (headers, content) = head(part)?;
        let content_type = value(&headers, "content-type")?;
        let Some(boundary) = boundary(content_type) else {
            return Some(Self::Read(request(content_type, content)?));
        };
        let mut changes = Vec::new();
        for part in split(content, boundary)? {
            let (headers, content) = head(part)?;
            changes.push(request(value(&headers, "content-type")?, content)?);
        }
        Some(Self::Changes(changes))
    }
}

/// The boundary of a type `multipart/mixed`.
fn boundary(content_type: &str) -> Option<&str> {
    if !media_type_of(content_type).eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary = parameter(content_type, "boundary")?.trim_matches('"');
    (1..=BOUNDARY).contains(&boundary.len()).then_some(boundary)
}

/// The parts between boundaries. `None` without a last boundary.
fn split<'b>(body: &'b [u8], boundary: &str) -> Option<Vec<&'b [u8]>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (None, 0);
    while at < body.len() {
        let (line, next) = line(body, at);
        if let Some(rest) = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()))
            && let rest @ (b"" | b"--") = rest.trim_ascii()
        {
            if let Some(start) = start {
                parts.push(body.get(start..at)?);
            }
            if rest == b"--" {
                return Some(parts);
            }
            start = Some(next);
        }
        at = next;
    }
    None
}

/// The line that begins at a place, without its end, and the place of the next one.
fn line(text: &[u8], at: usize) -> (&[u8], usize) {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == b'\n');
    let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    (line.strip_suffix(b"\r").unwrap_or(line), at + end.map_or(rest.len(), |end| end + 1))
}

/// Names and values.
type Headers<'b> = Vec<(&'b str, &'b str)>;

/// The headers of a part, and its content.
fn head(part: &[u8]) -> Option<(Headers<'_>, &[u8])> {
    headers(part, skip_blank(part, 0))
}

/// The headers that begin at a place, and what follows the blank line behind them.
fn headers(text: &[u8], mut at: usize) -> Option<(Headers<'_>, &[u8])> {
    let mut headers = Vec::new();
    while at < text.len() {
        let (line, next) = line(text, at);
        at = next;
        if line.trim_ascii().is_empty() {
            break;
        }
        let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        headers.push((name.trim(), value.trim()));
    }
    Some((headers, text.get(at..).unwrap_or_default()))
}

/// The place of the next line that is not blank.
fn skip_blank(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        let (line, next) = line(text, at);
        if !line.trim_ascii().is_empty() {
            break;
        }
        at = next;
    }
    at
}

fn value<'b>(headers: &Headers<'b>, name: &str) -> Option<&'b str> {
    headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

/// A request in a part: its line, its headers, its body.
fn request<'b>(content_type: &str, content: &'b [u8]) -> Option<Request<'b>> {
    let name = media_type_of(content_type);
    if !name.eq_ignore_ascii_case("application/http") {
        return None;
    }
    let (first, next) = line(content, skip_blank(content, 0));
    let (method, rest) = std::str::from_utf8(first).ok()?.trim().split_once(' ')?;
    let (url, version) = rest.trim().rsplit_once(' ')?;
    if !version.starts_with("HTTP/") {
        return None;
    }
    let (headers, body) = headers(content, next)?;
    Some(Request { method, url: url.trim(), headers, body: body.trim_ascii() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As @azure/data-tables writes it: three line ends before a body, names in lower case.
    const BY_SDK: &str = "--batch_1\r\ncontent-type: multipart/mixed; boundary=changeset_2\r\n\r\n\r\n\
        --changeset_2\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n\
        POST https://acct.table.core.windows.net/T HTTP/1.1\r\naccept: application/json\r\nprefer: return-no-content\r\n\r\n\r\n\
        {\"PartitionKey\":\"p\"}\r\n\
        --changeset_2\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n\
        DELETE https://acct.table.core.windows.net/T(PartitionKey='p',RowKey='a b') HTTP/1.1\r\nif-match: *\r\n\r\n\r\n\
        --changeset_2--\r\n--batch_1--\r\n";

    fn read(content_type: &str, body: &str) -> Option<Vec<(String, String, String)>> {
        let requests = match Batch::read(content_type, body.as_bytes()).ok()? {
            Batch::Read(request) => vec![request],
            Batch::Changes(changes) => changes,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(requests.iter().map(|r| (r.method.to_owned(), r.url.to_owned(), text(r.body))).collect())
    }

    #[test]
    fn batches_of_all_clients_are_read() {
        let content_type = "multipart/mixed; boundary=batch_1";
        let requests = read(content_type, BY_SDK).expect("a batch");
        assert_eq!(requests[0].0, "POST");
        assert_eq!(requests[0].2, "{\"PartitionKey\":\"p\"}");
        assert_eq!(requests[1].1, "https://acct.table.core.windows.net/T(PartitionKey='p',RowKey='a b')");
        assert_eq!((requests.len(), &*requests[1].2), (2, ""));
        let same = Some(requests);
        assert_eq!(read(content_type, &BY_SDK.replace("\r\n", "\n")), same, "old clients");
        assert_eq!(read("Multipart/Mixed; Charset=x ; Boundary=\"batch_1\"", BY_SDK), same, "quotes");
        assert_eq!(read(content_type, &BY_SDK.replace("=changeset_2", "=\"changeset_2\"")), same, "quotes inside");
        assert_eq!(read(content_type, &BY_SDK.replace("content-type", "CONTENT-Type")), same, "capitals");
        assert_eq!(read(content_type, &BY_SDK.replace("\r\n\r\n\r\n", "\r\n\r\n")), same, "no more lines than needed");
        let with_length = BY_SDK.replace("accept:", "Content-Length: 20\r\naccept:");
        assert_eq!(read(content_type, &with_length), same);
        assert_eq!(read(content_type, &format!("preamble\r\n{BY_SDK}epilogue")), same);
        let empty = "--batch_1\nContent-Type: multipart/mixed; boundary=c\n\n--c--\n--batch_1--";
        assert_eq!(read(content_type, empty), Some(Vec::new()));
        let query = "--b\nContent-Type: application/http\n\nGET /T() HTTP/1.1\nAccept: application/json\n\n--b--";
        assert!(matches!(Batch::read("multipart/mixed;boundary=b", query.as_bytes()), Ok(Batch::Read(_))));
    }

    #[test]
    fn broken_batches_are_refused() {
        let content_type = "multipart/mixed; boundary=batch_1";
        for (content_type, body) in [
            ("", BY_SDK.to_owned()),
            ("application/json", BY_SDK.to_owned()),
            ("multipart/mixed", BY_SDK.to_owned()),
            ("multipart/mixed; boundary=\"\"", BY_SDK.to_owned()),
            ("multipart/mixed; boundary=batch_2", BY_SDK.to_owned()),
            (content_type, String::new()),
            (content_type, "--batch_1--".to_owned()),
            (content_type, BY_SDK.replace("--batch_1--\r\n", "")),
            (content_type, BY_SDK.replace("--changeset_2--\r\n", "")),
            (content_type, BY_SDK.replace("application/http", "text/plain")),
            (content_type, BY_SDK.replace(" HTTP/1.1", "")),
            (content_type, BY_SDK.replace("accept:", "accept")),
            (content_type, BY_SDK.replace("POST ", "POST")),
            (content_type, BY_SDK.replace("multipart/mixed; boundary=changeset_2", "multipart/mixed")),
            (content_type, BY_SDK.replace("--batch_1\r\n", &["--batch_1\r\n", BY_SDK].concat())),
        ] {
            assert_eq!(read(content_type, &body), None, "{content_type}: {body}");
        }
        for end in 0..BY_SDK.len() - "--\r\n".len() {
            assert_eq!(read(content_type, &BY_SDK[..end]), None, "cut at {end}");
        }
    }
}
