//! The headers of a request that change what it means: the method, formats, preferences, conditions, versions.

use super::url::Query;
use crate::azure::{AzureCode, AzureError, AzureResult, IfMatch, date_time};
use crate::doors::Request;

/// The version of the service that answers a request which names none.
pub(super) const VERSION: &str = "2019-02-02";
/// The version from which on the service knows JSON.
const JSON_VERSION: &str = "2013-08-15";
/// The longest `x-ms-client-request-id`.
const CLIENT_ID: usize = 1024;

/// A method, after `X-HTTP-Method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// MERGE, or PATCH.
    Merge,
    /// DELETE.
    Delete,
    /// A method that the service has no use for.
    Other,
}

impl Method {
    /// The method of a request.
    ///
    /// # Errors
    /// A wrong `X-HTTP-Method`.
    pub(super) fn of(request: &Request<'_>) -> AzureResult<Self> {
        let mut tunnelled = values(request, "x-http-method");
        let Some(method) = tunnelled.next() else { return Ok(Self::named(request.method)) };
        if tunnelled.next().is_some() || method.contains(',') {
            return Err(AzureCode::XMethodIncorrectCount.into());
        }
        if request.method != "POST" {
            return Err(AzureCode::XMethodNotUsingPost.into());
        }
        match Self::named(method.trim()) {
            method @ (Self::Put | Self::Merge | Self::Delete) => Ok(method),
            _ => Err(AzureCode::XMethodIncorrectValue.into()),
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "MERGE" | "PATCH" => Self::Merge,
            "DELETE" => Self::Delete,
            _ => Self::Other,
        }
    }
}

/// Whether caches keep answers to requests with this method.
pub(super) fn is_cached(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// How much an answer says about itself (2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Level {
    /// Names and values.
    None,
    /// Also ETags and types that JSON cannot tell.
    #[default]
    Minimal,
    /// Also the addresses of entities.
    Full,
}

impl Level {
    /// The `Content-Type` of a JSON body.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Self::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Self::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }

    /// The level that the request accepts. `$format` comes before `Accept`. Without both, the service would answer in
    /// Atom; `None` for that.
    ///
    /// # Errors
    /// `AtomFormatNotSupported`, `JsonFormatNotSupported`.
    pub(super) fn accepted(request: &Request<'_>, query: &Query) -> AzureResult<Option<Self>> {
        let version = request.header("x-ms-version").unwrap_or(VERSION);
        if version < JSON_VERSION {
            return Err(AzureCode::JsonFormatNotSupported.into());
        }
        match (query.get("$format"), request.header("accept")) {
            (Some("json"), _) => Ok(Some(Self::Minimal)),
            (Some(format), _) => Self::of_media_types(format).map(Some),
            (None, Some(accept)) if !accept.trim().is_empty() => Self::of_media_types(accept).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// The first of these media types that the service has.
    fn of_media_types(accept: &str) -> AzureResult<Self> {
        for media_type in accept.split(',') {
            let name = media_type_of(media_type);
            if !["application/json", "application/*", "*/*"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
                continue;
            }
            return match parameter(media_type, "odata") {
                None | Some("minimalmetadata") => Ok(Self::Minimal),
                Some("nometadata") => Ok(Self::None),
                Some("fullmetadata") => Ok(Self::Full),
                Some(_) => Err(AzureCode::JsonFormatNotSupported.into()),
            };
        }
        Err(AzureCode::AtomFormatNotSupported.into())
    }
}

/// A value without its parameters.
#[inline(never)]
pub(super) fn media_type_of(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// A parameter behind a value, by its name in any case.
#[inline(never)]
pub(super) fn parameter<'v>(value: &'v str, name: &str) -> Option<&'v str> {
    let mut parameters = value.split(';').skip(1).filter_map(|part| part.split_once('='));
    let (_, found) = parameters.find(|(other, _)| other.trim().eq_ignore_ascii_case(name))?;
    Some(found.trim())
}

/// Refuses a body that is said not to be JSON.
///
/// # Errors
/// `AtomFormatNotSupported`, `InvalidHeaderValue`.
pub(super) fn check_json(request: &Request<'_>) -> AzureResult<()> {
    let Some(content_type) = request.header("content-type") else { return Ok(()) };
    let name = media_type_of(content_type);
    if name.is_empty() || name.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let is_xml = name.to_ascii_lowercase().ends_with("xml");
    Err(if is_xml { AzureCode::AtomFormatNotSupported } else { AzureCode::InvalidHeaderValue }.into())
}

/// Refuses headers about versions and ids with values that the service does not know.
///
/// # Errors
/// `InvalidHeaderValue`.
pub(super) fn check(request: &Request<'_>) -> AzureResult<()> {
    let version = request.header("x-ms-version").is_none_or(is_version);
    let data_version = request
        .header("dataserviceversion")
        .is_none_or(|value| ["1.0", "2.0", "3.0", "3"].contains(&media_type_of(value)));
    let id = request.header("x-ms-client-request-id").is_none_or(is_client_id);
    if version && data_version && id { Ok(()) } else { Err(AzureCode::InvalidHeaderValue.into()) }
}

/// Whether a text is a date, as versions of the service are.
pub(super) fn is_version(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

/// Whether a client's id of its request may be sent back.
pub(super) fn is_client_id(text: &str) -> bool {
    text.len() <= CLIENT_ID && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// What the client prefers as the answer to a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefer {
    /// What was created.
    Content,
    /// Nothing.
    NoContent,
}

impl Prefer {
    /// The preference of a request.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        match request.header("prefer")?.trim() {
            "return-content" => Some(Self::Content),
            "return-no-content" => Some(Self::NoContent),
            _ => None,
        }
    }

    /// As in a header.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Content => "return-content",
            Self::NoContent => "return-no-content",
        }
    }
}

/// The condition of a write (2.8). `None` if there is none.
///
/// # Errors
/// `InvalidInput` for `If-None-Match`, and for what is no ETag.
pub(super) fn condition(request: &Request<'_>) -> AzureResult<Option<IfMatch>> {
    if request.header("if-none-match").is_some() {
        return Err(AzureError::invalid_input());
    }
    let mut conditions = values(request, "if-match");
    let Some(condition) = conditions.next() else { return Ok(None) };
    if conditions.next().is_some() {
        return Err(AzureError::invalid_input());
    }
    match condition.trim() {
        "*" => Ok(Some(IfMatch::Any)),
        etag => Ok(Some(IfMatch::Timestamp(date_time::parse_etag(etag)?))),
    }
}

/// All values of a header.
fn values<'a>(request: &'a Request<'_>, name: &'a str) -> impl Iterator<Item = &'a str> {
    request.headers.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(method: &'a str, headers: &[(&'a str, &'a str)]) -> Request<'a> {
        Request { method, url: "", headers: headers.to_vec(), body: b"" }
    }

    #[test]
    fn x_http_method_tunnels_through_post_only() {
        let method = |method, headers: &[_]| Method::of(&request(method, headers)).map_err(|error| error.code);
        assert_eq!(method("PATCH", &[]), Ok(Method::Merge));
        assert_eq!(method("FOO", &[]), Ok(Method::Other));
        assert_eq!(method("POST", &[("x-http-METHOD", "MERGE")]), Ok(Method::Merge));
        assert_eq!(method("PUT", &[("X-HTTP-Method", "MERGE")]), Err(AzureCode::XMethodNotUsingPost));
        assert_eq!(method("POST", &[("X-HTTP-Method", "FOO")]), Err(AzureCode::XMethodIncorrectValue));
        assert_eq!(method("POST", &[("X-HTTP-Method", "POST")]), Err(AzureCode::XMethodIncorrectValue));
        let twice = [("X-HTTP-Method", "PUT"), ("X-HTTP-Method", "PUT")];
        assert_eq!(method("POST", &twice), Err(AzureCode::XMethodIncorrectCount));
        assert_eq!(method("POST", &[("X-HTTP-Method", "PUT, MERGE")]), Err(AzureCode::XMethodIncorrectCount));
    }

    #[test]
    fn the_level_comes_from_format_then_from_accept() {
        let level = |headers: &[(&'static str, &'static str)], url: &'static str| {
            let url = super::super::url::Url::parse(url, None).expect("a URL");
            Level::accepted(&request("GET", headers), &url.query).map_err(|error| error.code)
        };
        let of = |accept| level(&[("Accept", accept)], "inproc://a/T");
        assert_eq!(of("application/json"), Ok(Some(Level::Minimal)));
        assert_eq!(of("application/json;odata=nometadata"), Ok(Some(Level::None)));
        assert_eq!(of("text/html, Application/JSON; charset=utf-8 ; odata = fullmetadata"), Ok(Some(Level::Full)));
        assert_eq!(of("*/*"), Ok(Some(Level::Minimal)));
        assert_eq!(of("application/json;odata=verbose"), Err(AzureCode::JsonFormatNotSupported));
        assert_eq!(of("application/atom+xml"), Err(AzureCode::AtomFormatNotSupported));
        assert_eq!(level(&[], "inproc://a/T"), Ok(None));
        let format = "inproc://a/T?$format=application/json;odata%3Dfullmetadata";
        assert_eq!(level(&[("Accept", "application/atom+xml")], format), Ok(Some(Level::Full)));
        assert_eq!(level(&[], "inproc://a/T?$format=json"), Ok(Some(Level::Minimal)));
        assert_eq!(level(&[], "inproc://a/T?$format=atom"), Err(AzureCode::AtomFormatNotSupported));
        let old = [("Accept", "application/json"), ("x-ms-version", "2012-02-12")];
        assert_eq!(level(&old, "inproc://a/T"), Err(AzureCode::JsonFormatNotSupported));
    }

    #[test]
    fn odd_headers_are_refused_by_name() {
        let refused = |name, value| check(&request("GET", &[(name, value)])).map_err(|error| error.code);
        let odd = Err(AzureCode::InvalidHeaderValue);
        for (name, value) in [
            ("x-ms-version", "2019-02-02"),
            ("DataServiceVersion", "3.0;NetFx"),
            ("dataserviceversion", "1.0"),
            ("x-ms-client-request-id", "a b-c"),
        ] {
            assert_eq!(refused(name, value), Ok(()), "{name}");
        }
        assert_eq!(refused("x-ms-version", "2019-2-02"), odd);
        assert_eq!(refused("DataServiceVersion", "4.0"), odd);
        assert_eq!(refused("x-ms-client-request-id", "a\r\nb"), odd);
        let json = |value| check_json(&request("POST", &[("Content-Type", value)])).map_err(|error| error.code);
        assert_eq!(json("application/json;odata=nometadata"), Ok(()));
        assert_eq!(json("application/atom+xml"), Err(AzureCode::AtomFormatNotSupported));
        assert_eq!(json("text/plain"), odd);
    }
}
