//! Who sends a request (I6), and the signature of its response.
//!
//! There are two kinds of signatures: one with HMAC-SHA1, and one with HMAC-SHA256 and a key for one day and region, the fourth.
//! Responses are signed with HMAC-SHA1 by both keys: some clients refuse an answer without.

use super::refusal::{Answer, parameter, unauthenticated};
use super::{date, digest, v4};
use crate::collections::sort::sort_by;
use crate::doors::{Access, Request};
use crate::modules::{self, Module};
use crate::tablestore::{AccessKey, Instance, Right, authorize};

/// How much the clock of a client may differ from the store's, in milliseconds (I6).
///
/// Else: `OTSAuthFailed`, 403, "Mismatch between system time and x-ots-date: …."
const SKEW: u64 = 15 * 60 * 1000;
/// The version of the protocol.
const VERSION: &str = "2015-12-31";
/// What the headers of the protocol begin with.
const PREFIX: &str = "x-ots-";
const SIGNATURE: &str = "x-ots-signature";
const SIGNATURE_V4: &str = "x-ots-signaturev4";
/// The text behind what the fourth kind signs.
const SERVICE: &str = "ots";

/// Who sends a request.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// The key, if a request without its signature would be refused.
    key: Option<AccessKey>,
    /// What signs the response.
    pub(super) signer: Option<Signer>,
}

/// What signs a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signer {
    id: String,
    key: String,
}

impl Sender {
    /// Finds who sends a request to `/operation`, when the clock shows `now`.
    ///
    /// # Errors
    /// `OTSAuthFailed`; `OTSParameterInvalid` for a header that is missing or wrong. The module `access` may be missing.
    pub(super) fn find(
        instance: &Instance,
        request: &Request<'_>,
        access: Access<'_>,
        operation: &str,
        now: i64,
    ) -> Answer<Self> {
        if header(request, SIGNATURE_V4).is_some() && !modules::is_loaded(Module::Access) {
            return Err(super::refusal::Stop::Needs(Module::Access));
        }
        let keys = instance.access_keys();
        let id = header(request, "x-ots-accesskeyid").unwrap_or_default();
        let sender = match access {
            Access::Signed => Self::signed(keys.find(id), request, operation, now)?,
            Access::Secret(secret) => {
                let mut all = keys.all().into_iter();
                let Some(key) = all.find(|key| key.enabled && digest::is_same(&key.secret, secret)) else {
                    return unauthenticated("The AccessKeyID does not exist.");
                };
                Self { signer: Some(Signer::of(request, id, secret)), key: Some(key) }
            }
            // Whoever is unknown signs with its id.
            Access::Off => {
                let secret = keys.find(id).map_or_else(|| id.to_owned(), |key| key.secret);
                Self { signer: Some(Signer::of(request, id, &secret)), key: None }
            }
        };
        check_body(request)?;
        Ok(sender)
    }

    /// The sender of a signed request.
    fn signed(key: Option<AccessKey>, request: &Request<'_>, operation: &str, now: i64) -> Answer<Self> {
        for name in ["x-ots-date", "x-ots-apiversion", "x-ots-accesskeyid", "x-ots-instancename", "x-ots-contentmd5"] {
            required(request, name)?;
        }
        let (given, version) = (required(request, "x-ots-date")?, required(request, "x-ots-apiversion")?);
        if version != VERSION {
            return parameter(format!("Unsupported API version: {version}."));
        }
        let Some(at) = date::parse(given) else { return parameter(format!("Invalid date format: {given}.")) };
        if at.abs_diff(now) > SKEW {
            return unauthenticated(format!("Mismatch between system time and x-ots-date: {given}."));
        }
        let key = match key {
            Some(key) if key.enabled => key,
            Some(_) => return unauthenticated("The AccessKeyID is disabled."),
            None => return unauthenticated("The AccessKeyID does not exist."),
        };
        let signer = Signer::of(request, &key.id, &key.secret);
        let (text, signature) = (string_to_sign(request, operation), given_signature(request));
        let expected = match header(request, SIGNATURE_V4) {
            Some(_) => {
                if !is_day_near(required(request, "x-ots-signdate")?, at) {
                    return unauthenticated("Signature mismatch.");
                }
                required(request, "x-ots-signregion")?;
                digest::base64(&v4::signature(&signer.key, &[&text, SERVICE].concat()))
            }
            None => digest::hmac_sha1(&signer.key, &text),
        };
        if !digest::is_same(&expected, signature) {
            return unauthenticated("Signature mismatch.");
        }
        Ok(Self { key: Some(key), signer: Some(signer) })
    }

    /// Refuses what the sender may not do.
    ///
    /// # Errors
    /// `OTSNoPermissionAccess`.
    pub(super) fn allow(&self, right: Right) -> Answer<()> {
        match &self.key {
            Some(key) => Ok(authorize(Some(key), right)?),
            None => Ok(()),
        }
    }
}

impl Signer {
    /// The key that signs, for the kind of signature that the request has.
    fn of(request: &Request<'_>, id: &str, secret: &str) -> Self {
        let part = |name| header(request, name).unwrap_or_default();
        let key = match header(request, SIGNATURE_V4) {
            Some(_) => digest::base64(&v4::key(secret, part("x-ots-signdate"), part("x-ots-signregion"))),
            None => secret.to_owned(),
        };
        Self { id: id.to_owned(), key }
    }

    /// The header `Authorization` of a response to `/operation` with these headers.
    pub(super) fn authorization(&self, headers: &[(&str, &str)], operation: &str) -> String {
        let mut text = signed_headers(headers.iter().copied());
        text.extend(["/", operation]);
        ["OTS ", &self.id, ":", &digest::hmac_sha1(&self.key, &text)].concat()
    }
}

/// The value of a header, by its name in lower case.
pub(super) fn header<'r>(request: &'r Request<'_>, name: &str) -> Option<&'r str> {
    request.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_ascii())
}

fn required<'r>(request: &'r Request<'_>, name: &str) -> Answer<&'r str> {
    header(request, name).map_or_else(|| parameter(format!("Missing header: {name}.")), Ok)
}

/// Whether a key for the day `given`, `YYYYMMDD`, may sign at `at`: that day in UTC and the days beside it, as the client's own zone
/// may say. Otherwise a key that was made for one day would never end.
fn is_day_near(given: &str, at: i64) -> bool {
    let is_day = |at| date::format(at).chars().take(10).filter(|letter| *letter != '-').eq(given.chars());
    [at - date::DAY_MS, at, at + date::DAY_MS].into_iter().any(is_day)
}

fn given_signature<'r>(request: &'r Request<'_>) -> &'r str {
    header(request, SIGNATURE_V4).or_else(|| header(request, SIGNATURE)).unwrap_or_default()
}

/// Refuses a body that is another one than was sent.
fn check_body(request: &Request<'_>) -> Answer<()> {
    match header(request, "x-ots-contentmd5") {
        Some(given) if given != digest::content_md5(request.body) => {
            unauthenticated("Mismatch between MD5 value of request body and x-ots-contentmd5 in header.")
        }
        _ => Ok(()),
    }
}

/// What the signature of a request covers. The door knows no query.
fn string_to_sign(request: &Request<'_>, operation: &str) -> String {
    let mut text = ["/", operation, "\n", request.method, "\n\n"].concat();
    let headers = request.headers.iter().copied();
    text.push_str(&signed_headers(
        headers.filter(|(name, _)| !name.eq_ignore_ascii_case(SIGNATURE) && !name.eq_ignore_ascii_case(SIGNATURE_V4)),
    ));
    text
}

/// The protocol's headers, `name:value` and the end of a line each, in the order of their names.
fn signed_headers<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>) -> String {
    let own = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim_ascii()));
    let own: Vec<_> = own.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    let mut sorted: Vec<_> = own.iter().collect();
    sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
    let mut text = String::new();
    for (name, value) in sorted {
        text.extend([name, ":", value, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tablestore::Rights;

    const SECRET: &str = "testsecret";
    const NO_BODY: &str = "1B2M2Y8AsgTpgAmY7PhCfg==";
    const V4_KEY: &str = "xiWit4E7/n4uZ7XkslLqXc+Mc2m6rNqCuV8k1i2b27A=";

    fn key() -> AccessKey {
        let rights = Rights::of(&[Right::Read]);
        AccessKey { id: "testid".into(), secret: SECRET.into(), rights, enabled: true, created: 0 }
    }

    /// The headers of a request without a body, by a client that signs with `more`.
    fn headers<'h>(date: &'h str, more: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
        let common = [
            ("x-ots-apiversion", VERSION),
            ("X-Ots-InstanceName", "inst"),
            ("x-ots-contentmd5", NO_BODY),
            ("Content-Length", "0"),
            ("x-ots-date", date),
            ("x-ots-accesskeyid", "testid"),
        ];
        [&common[..], more].concat()
    }

    fn send(headers: &[(&str, &str)], now: i64) -> Result<Sender, String> {
        let request = Request { method: "POST", url: "/ListTable", headers: headers.to_vec(), body: b"" };
        let known = header(&request, "x-ots-accesskeyid") == Some("testid");
        Sender::signed(known.then(key), &request, "ListTable", now).map_err(|stop| match stop {
            super::super::refusal::Stop::Refused(refusal) => format!("{} {}", refusal.status, refusal.message),
            other => format!("{other:?}"),
        })
    }

    /// The signatures are those of the official clients.
    #[test]
    fn i6_both_kinds_of_signatures_are_those_of_the_official_clients() {
        let node = "2026-11-20T04:08:06.961Z";
        let at = date::parse(node).expect("a date");
        let sent = |date, more: &[_]| send(&headers(date, more), at);
        assert!(sent(node, &[("x-ots-signature", "1kubBGnnMPwwfY1g2WGLWPOoBB0=")]).is_ok());
        let python = "2026-11-20T04:08:48.000Z";
        let signer = sent(python, &[("x-ots-signature", "o2Gndq7M9gwg+L4kmg/brNpbt5k=")]).expect("passes").signer;
        assert_eq!(signer, Some(Signer { id: "testid".into(), key: SECRET.into() }));
        let v4 = [
            ("x-ots-signdate", "20261120"),
            ("x-ots-signregion", "cn-hangzhou"),
            ("x-ots-signaturev4", "7HZAAszycDn5XoQW7jE5WpOg3zqGtnV2QwZlHJOZg2Q="),
        ];
        let signer = sent(python, &v4).expect("passes").signer;
        assert_eq!(signer, Some(Signer { id: "testid".into(), key: V4_KEY.into() }));
    }

    #[test]
    fn i6_responses_are_signed_as_the_official_clients_expect() {
        let headers = [
            ("x-ots-contentmd5", NO_BODY),
            ("x-ots-requestid", "0005-req"),
            ("x-ots-date", "2026-11-20T04:08:48.000000Z"),
            ("x-ots-contenttype", "protocol buffer"),
            ("Content-Type", "application/x-protobuf"),
        ];
        let signed = |key: &str| Signer { id: "testid".into(), key: key.into() }.authorization(&headers, "ListTable");
        assert_eq!(signed(SECRET), "OTS testid:RJquexEni4L3pNDYnmkekV9tKdw=");
        assert_eq!(signed(V4_KEY), "OTS testid:1MinbTH9uEoZPJleDzHgpp98zDA=");
    }

    /// A key is for one day: the day of the request, or one beside it in another zone.
    #[test]
    fn i6_a_key_of_the_fourth_kind_ends_with_its_day() {
        let at = date::parse("2026-01-01T04:08:48.000Z").expect("a date");
        for (given, is_near) in [
            ("20251230", false),
            ("20251231", true),
            ("20260101", true),
            ("20260102", true),
            ("20260103", false),
            ("2026-01-01", false),
            ("", false),
        ] {
            assert_eq!(is_day_near(given, at), is_near, "{given}");
        }
    }

    #[test]
    fn i6_a_request_that_is_not_signed_as_it_is_does_not_pass() {
        let date = "2026-11-20T04:08:48.000Z";
        let (at, sound) = (date::parse(date).expect("a date"), ("x-ots-signature", "o2Gndq7M9gwg+L4kmg/brNpbt5k="));
        let refused = |headers: &[_], now| send(headers, now).expect_err("refused");
        let with = |more: &[_]| refused(&headers(date, more), at);
        assert_eq!(with(&[]), "403 Signature mismatch.");
        assert_eq!(with(&[("x-ots-signature", "o2Gndq7M9gwg+L4kmg/brNpbt5l=")]), "403 Signature mismatch.");
        assert_eq!(with(&[sound, ("x-ots-more", "1")]), "403 Signature mismatch.");
        assert_eq!(with(&[("x-ots-signaturev4", sound.1)]), "400 Missing header: x-ots-signdate.");
        for missing in 0..6 {
            let mut headers = headers(date, &[sound]);
            let (name, _) = headers.remove(missing);
            if name != "Content-Length" {
                let text = format!("400 Missing header: {}.", name.to_ascii_lowercase());
                assert_eq!(refused(&headers, at), text);
            }
        }
        let skewed = format!("403 Mismatch between system time and x-ots-date: {date}.");
        let (early, late) = (at - SKEW.cast_signed(), at + SKEW.cast_signed());
        let all = headers(date, &[sound]);
        assert!(send(&all, early).is_ok() && send(&all, late).is_ok());
        assert_eq!((refused(&all, early - 1), refused(&all, late + 1)), (skewed.clone(), skewed));
        assert_eq!(refused(&headers("yesterday", &[sound]), at), "400 Invalid date format: yesterday.");
        let mut other = headers(date, &[sound]);
        other[5].1 = "another";
        assert_eq!(refused(&other, at), "403 The AccessKeyID does not exist.");
        other = headers(date, &[sound]);
        other[0].1 = "2014-08-08";
        assert_eq!(refused(&other, at), "400 Unsupported API version: 2014-08-08.");
    }
}
