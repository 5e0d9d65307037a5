//! The URL of a request: the account, what is asked of it, and the query.
//!
//! How the account is found:
//!
//! | URL | account |
//! |---|---|
//! | `https://name.table.example/T`: the host's second label is `table` | the host's first label |
//! | any other `http` or `https` URL, `http://127.0.0.1:10002/name/T` | the first segment of the path |
//! | any other scheme, `inproc://name/T` | the host |
//!
//! A name that ends with `-secondary` is the account's secondary. A URL that is only a path needs the header `Host`.

use crate::azure::text::{replaced, split};
use crate::azure::{AzureCode, AzureError, AzureResult};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The end of the name of an account's secondary.
const SECONDARY: &str = "-secondary";

/// What a key may have in a URL as it is, beside letters and digits.
const IN_KEY: &[u8] = b"-_.~!'*";

/// The taken-apart URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url<'u> {
    /// The scheme, as it was sent.
    pub(super) scheme: &'u str,
    /// The name of the account in lower case; it may be wrong.
    pub(super) account: String,
    /// Whether its secondary is asked.
    pub(super) secondary: bool,
    /// The URL of the account, without a slash at its end.
    pub(super) base: String,
    /// The whole path, encoded: what a signature covers.
    pub(super) path: &'u str,
    /// The path below the account, encoded, without its first slash.
    pub(super) resource: &'u str,
    /// The query.
    pub(super) query: Query,
}

/// The names and values of a query, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    fn parse(text: &str) -> AzureResult<Self> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(&replaced(name, '+', " "))?, decode(&replaced(value, '+', " "))?);
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(AzureCode::InvalidQueryParameterValue.into());
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// A value.
    #[inline(never)]
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<'u> Url<'u> {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// `HostInformationNotPresent`, `InvalidInput`, `InvalidQueryParameterValue`.
    pub(super) fn parse(url: &'u str, host: Option<&'u str>) -> AzureResult<Self> {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, host, path) = match split(place, "://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
                (scheme, host, path)
            }
            None => ("http", host.unwrap_or_default(), place),
        };
        if host.is_empty() {
            return Err(AzureCode::HostInformationNotPresent.into());
        }
        // It comes back in addresses.
        if !scheme.bytes().chain(host.bytes()).all(|byte| matches!(byte, b'!'..=b'~')) {
            return Err(AzureError::invalid_input());
        }
        // Browsers keep a user's name in front of a host; it means nothing here.
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let below = path.strip_prefix('/').unwrap_or(path);
        let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let mut labels = host.split('.');
        let (first, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
        let (name, resource, in_path) = if !is_web {
            (host.rsplit_once(':').map_or(host, |(host, _)| host), below, false)
        } else if second.eq_ignore_ascii_case("table") {
            (first, below, false)
        } else {
            let (name, resource) = below.split_once('/').unwrap_or((below, ""));
            (name, resource, true)
        };
        let (account, secondary) = name.strip_suffix(SECONDARY).map_or((name, false), |account| (account, true));
        let account = account.to_ascii_lowercase();
        let base = [scheme, "://", host, if in_path { "/" } else { "" }, if in_path { name } else { "" }].concat();
        Ok(Self { scheme, account, secondary, base, path, resource, query: Query::parse(query)? })
    }

    /// Takes the URL of a request inside a batch apart: it may be relative to the account, or to the host.
    ///
    /// # Errors
    /// As [`Url::parse`]; `InvalidInput` for another account.
    pub(super) fn parse_inside(&self, url: &'u str) -> AzureResult<Self> {
        let inner = if split(url, "://").is_some() {
            Self::parse(url, None)?
        } else {
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let below = path.strip_prefix('/').unwrap_or(path);
            // A table's path has one segment. So if there are two, the first is the account.
            let resource = match below.split_once('/') {
                Some((name, resource)) if self.base.rsplit('/').next() == Some(name) => resource,
                _ => below,
            };
            Self { path, resource, query: Query::parse(query)?, ..self.clone() }
        };
        if inner.account == self.account { Ok(inner) } else { Err(AzureError::invalid_input()) }
    }

    /// The absolute URL of a table.
    pub(super) fn of_table(&self, table: &str) -> String {
        [&self.base, "/", &of_table(table)].concat()
    }
}

/// A table in a URL, below its account.
pub(super) fn of_table(table: &str) -> String {
    ["Tables('", &encode(table), "')"].concat()
}

/// An entity in a URL, below its account: `T(PartitionKey='a',RowKey='b')`.
pub(super) fn of_entity(table: &str, (partition_key, row_key): (&str, &str)) -> String {
    let quoted = |key: &str| encode(&replaced(key, '\'', "''"));
    [&*encode(table), "(PartitionKey='", &quoted(partition_key), "',RowKey='", &quoted(row_key), "')"].concat()
}

/// Encodes a part of a URL.
#[inline(never)]
pub(super) fn encode(text: &str) -> String {
    // The crate's own encoder brings a table of 768 bytes along.
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || IN_KEY.contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push('%');
            encoded.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
        }
    }
    encoded
}

/// Decodes a part of a URL.
///
/// # Errors
/// `InvalidInput` if it is no UTF-8.
#[inline(never)]
pub(super) fn decode(text: &str) -> AzureResult<String> {
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| AzureError::invalid_input())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (String, bool, String, String) {
        let url = Url::parse(url, None).expect("a URL");
        (url.account, url.secondary, url.base, url.resource.to_owned())
    }

    #[test]
    fn azure_a1_an_account_is_in_the_host_or_in_the_path() {
        for (url, account, secondary, base, resource) in [
            (
                "https://acct.table.core.windows.net/T()?x=1",
                "acct",
                false,
                "https://acct.table.core.windows.net",
                "T()",
            ),
            ("https://ACCT-secondary.table.core.windows.net", "acct", true, "", ""),
            ("http://127.0.0.1:10002/devstoreaccount1/T", "devstoreaccount1", false, "", "T"),
            ("http://127.0.0.1:10002/devstoreaccount1-secondary/?a", "devstoreaccount1", true, "", ""),
            ("http://inproc/acct", "acct", false, "http://inproc/acct", ""),
            ("http://localhost:80/acct/Tables('x')", "acct", false, "http://localhost:80/acct", "Tables('x')"),
            ("inproc://acct/T(PartitionKey='a%2Fb',RowKey='')#x", "acct", false, "inproc://acct", ""),
            ("inproc://acct:5/T", "acct", false, "inproc://acct:5", "T"),
            ("http://user:pass@acct.table.localhost/T", "acct", false, "http://acct.table.localhost", "T"),
        ] {
            let found = parsed(url);
            assert_eq!((&*found.0, found.1), (account, secondary), "{url}");
            assert!(base.is_empty() || found.2 == base, "{url}: {}", found.2);
            assert!(resource.is_empty() || found.3 == resource, "{url}: {}", found.3);
        }
        let relative = Url::parse("/acct/T?comp=acl", Some("127.0.0.1:8")).expect("a URL");
        assert_eq!((&*relative.base, relative.resource), ("http://127.0.0.1:8/acct", "T"));
        assert_eq!(relative.query.get("comp"), Some("acl"));
    }

    #[test]
    fn urls_without_a_host_and_queries_that_repeat_are_refused() {
        let refused = |url: &str| Url::parse(url, None).expect_err("refused").code;
        for url in ["", "/acct/T", "T", "http://", "https:///T", "inproc:///T"] {
            assert_eq!(refused(url), AzureCode::HostInformationNotPresent, "{url}");
        }
        assert_eq!(refused("http://a\r\nb/acct/T"), AzureCode::InvalidInput);
        assert_eq!(refused("inproc://acct/T?a=%FF"), AzureCode::InvalidInput);
        assert_eq!(refused("inproc://acct/T?$top=1&%24top=2"), AzureCode::InvalidQueryParameterValue);
    }

    #[test]
    fn a_url_inside_a_batch_is_absolute_or_relative_and_of_the_same_account() {
        let outer = Url::parse("http://127.0.0.1:10002/acct/$batch", None).expect("a URL");
        for url in ["http://127.0.0.1:10002/acct/T('a')", "/acct/T('a')", "/T('a')", "T('a')", "inproc://acct/T('a')"] {
            assert_eq!(outer.parse_inside(url).expect("a URL").resource, "T('a')", "{url}");
        }
        assert!(outer.parse_inside("http://127.0.0.1:10002/other/T('a')").is_err());
        let table_as_account = outer.parse_inside("/acct").expect("a URL");
        assert_eq!(table_as_account.resource, "acct");
    }

    #[test]
    fn azure_k6_keys_are_quoted_then_encoded() {
        let entity = of_entity("T", ("a'b", "% /\u{1F600}\"+&"));
        assert_eq!(entity, "T(PartitionKey='a''b',RowKey='%25%20%2F%F0%9F%98%80%22%2B%26')");
        assert_eq!(decode("%25%20%2f%F0%9F%98%80%zz").expect("text"), "% /\u{1F600}%zz");
    }
}
