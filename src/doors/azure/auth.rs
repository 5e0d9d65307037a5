//! Who may do what (I6): shared keys, and what a request needs.
//!
//! The keys of an account are those of the instance. What the service's clients call the account key is the base64 of a
//! secret's bytes; so the bytes of the secret sign. A door that finds no key that signed says the same in all cases, and has
//! looked at nothing but the request and the keys.
//!
//! The date of a request is signed and not compared with the clock: a door has no network on which somebody could listen.

use super::need::{Level, Need};
use super::route::{Operation, Verb};
use super::sas::{Sas, signer};
use super::url::Url;
use crate::azure::{AzureCode, AzureResult};
use crate::doors::{Access, Request};
use crate::tablestore::{AccessKey, Right, Rights};

/// What a request may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// The rights of the key.
    pub(super) rights: Rights,
    /// The signature that was given to the client, if it has no key.
    pub(super) sas: Option<Sas>,
}

impl Grant {
    /// Finds who sends a request.
    ///
    /// # Errors
    /// `AuthenticationFailed` in all cases but those in which a signature is right and does not fit.
    pub(super) fn find(
        keys: &[AccessKey],
        access: Access<'_>,
        request: &Request<'_>,
        url: &Url<'_>,
        now: i64,
    ) -> AzureResult<Self> {
        match access {
            Access::Off => Ok(Self { rights: Rights::of(&[Right::Read, Right::Write, Right::Admin]), sas: None }),
            Access::Secret(secret) => {
                let key = keys.iter().find(|key| key.enabled && is_same(key.secret.as_bytes(), secret.as_bytes()));
                key.map(Self::of_key).ok_or_else(|| AzureCode::AuthenticationFailed.into())
            }
            Access::Signed => signed(keys, request, url, now),
        }
    }

    fn of_key(key: &AccessKey) -> Self {
        Self { rights: key.rights, sas: None }
    }

    /// `SharedKey account:signature` or `SharedKeyLite account:signature`.
    fn of_header(keys: &[AccessKey], header: &str, request: &Request<'_>, url: &Url<'_>) -> AzureResult<Self> {
        let find = || {
            let (scheme, credentials) = header.trim().split_once(' ')?;
            let (account, signature) = credentials.trim().split_once(':')?;
            let text = match scheme {
                "SharedKey" => string_to_sign(request, url, false)?,
                "SharedKeyLite" => string_to_sign(request, url, true)?,
                _ => return None,
            };
            let key = signer(keys, &text, signature)?;
            account.eq_ignore_ascii_case(&url.account).then(|| Self::of_key(key))
        };
        find().ok_or_else(|| AzureCode::AuthenticationFailed.into())
    }

    /// Refuses a change of an entity that is not allowed whatever it says: what is wrong with it is nobody else's business.
    ///
    /// # Errors
    /// See [`allow`](Self::allow).
    pub(super) fn allow_at_least(&self, operation: &Operation) -> AzureResult<()> {
        let (table, letters): (_, &'static [&'static str]) = match operation {
            Operation::InsertEntity(table) => (table, &["a"]),
            Operation::WriteEntity(table, _, Verb::Delete) => (table, &["d"]),
            Operation::WriteEntity(table, ..) => (table, &["u"]),
            _ => return Ok(()),
        };
        self.allow(&Need { table: Some(table), ..Need::of(Right::Write, Level::Object, letters) })
    }

    /// Refuses what is not allowed.
    ///
    /// # Errors
    /// `AuthorizationPermissionMismatch`, and the codes for signatures.
    pub(super) fn allow(&self, need: &Need<'_>) -> AzureResult<()> {
        if !self.rights.has(need.right) {
            return Err(AzureCode::AuthorizationPermissionMismatch.into());
        }
        self.sas.as_ref().map_or(Ok(()), |sas| sas.allow(need))
    }
}

/// Finds who signed a request. A gate of [`Module::Access`](crate::modules::Module::Access).
#[inline(never)]
fn signed(keys: &[AccessKey], request: &Request<'_>, url: &Url<'_>, now: i64) -> AzureResult<Grant> {
    match request.header("authorization") {
        Some(header) => Grant::of_header(keys, header, request, url),
        None => Sas::find(keys, url, now).map(|(rights, sas)| Grant { rights, sas: Some(sas) }),
    }
}

/// What the signature of a request covers. `None` without a date.
fn string_to_sign(request: &Request<'_>, url: &Url<'_>, is_lite: bool) -> Option<String> {
    let date = request.header("x-ms-date").or_else(|| request.header("date"))?;
    let mut text = String::new();
    if !is_lite {
        let header = |name| request.header(name).unwrap_or_default();
        text.extend([request.method, "\n", header("content-md5"), "\n", header("content-type"), "\n"]);
    }
    let path = if url.path.is_empty() { "/" } else { url.path };
    text.extend([date, "\n/", &url.account, path]);
    if let Some(comp) = url.query.get("comp") {
        text.extend(["?comp=", comp]);
    }
    Some(text)
}

/// Compares in a time that tells nothing of where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The secret of the known signatures.
    pub(in super::super) const SECRET: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789ABCDEFGH";

    pub(in super::super) fn key(secret: &str, rights: &[Right]) -> AccessKey {
        AccessKey { id: "id".into(), secret: secret.into(), rights: Rights::of(rights), enabled: true, created: 0 }
    }

    const ALL: [Right; 3] = [Right::Read, Right::Write, Right::Admin];
    const DATE: &str = "Wed, 20 Jul 2016 16:00:00 GMT";

    fn request<'a>(method: &'a str, url: &'a str, headers: &[(&'a str, &'a str)]) -> Request<'a> {
        Request { method, url, headers: headers.to_vec(), body: b"" }
    }

    fn found(keys: &[AccessKey], request: &Request<'_>) -> AzureResult<Grant> {
        let url = Url::parse(request.url, None).expect("a URL");
        Grant::find(keys, Access::Signed, request, &url, 0)
    }

    /// The signatures are from another program that knows HMAC. The account key of SDKs is
    /// `QUJDREVGR0hKS0xNTlBRUlNUVVZXWFlaMjM0NTY3ODlBQkNERUZHSA==`.
    #[test]
    fn i6_shared_keys_and_their_lite_form_sign_what_the_service_documents() {
        let keys = [key("other", &ALL), key(SECRET, &ALL)];
        let get = |url: &'static str, authorization: &'static str| {
            found(&keys, &request("GET", url, &[("x-ms-date", DATE), ("Authorization", authorization)]))
        };
        let host = "https://acct.table.core.windows.net";
        assert!(
            get(
                "https://acct.table.core.windows.net/Tables?$top=3",
                "SharedKey acct:FP7ibvMzIUZLP76XJokhy8vta3DLJ8DOd839tDwl+uY="
            )
            .is_ok()
        );
        let entity = "https://acct.table.core.windows.net/Tab(PartitionKey='a%2Fb',RowKey='')?$select=x";
        assert!(get(entity, "SharedKey acct:B7Jgjxn4WaFA7Q+//vUWEymFyuOnteYQ+5wNJHsuWWk=").is_ok());
        let properties = "https://acct.table.core.windows.net/?restype=service&comp=properties";
        assert!(get(properties, "SharedKey acct:73CND+ZYRVFIlvaFKuwJ/LTbCxzrxsSnB3gGNhK6ePA=").is_ok());
        let lite = "SharedKeyLite acct:61b+/S5NinpzwmxkefnIGgzGxRZWgASLyvFD8MowMF8=";
        assert!(get("http://127.0.0.1:10002/acct/Tab?comp=acl", lite).is_ok());
        let headers = [
            ("Content-MD5", "md5=="),
            ("content-type", "application/json;odata=nometadata"),
            ("Date", DATE),
            ("authorization", "SharedKey acct:wzymlsABO+dzw9KzE4kcdMbpLspm3OK/oF2UAWilkDE="),
        ];
        assert!(found(&keys, &request("POST", "http://127.0.0.1:10002/acct/Tab", &headers)).is_ok());

        let failed = Err(AzureCode::AuthenticationFailed);
        let sound = "SharedKey acct:FP7ibvMzIUZLP76XJokhy8vta3DLJ8DOd839tDwl+uY=";
        let tables = format!("{host}/Tables");
        let code = |request: &Request<'_>| found(&keys, request).map(|_| ()).map_err(|error| error.code);
        for (method, url, headers) in [
            ("POST", &*tables, [("x-ms-date", DATE), ("Authorization", sound)]),
            ("GET", "https://other.table.core.windows.net/Tables", [("x-ms-date", DATE), ("Authorization", sound)]),
            ("GET", "https://acct.table.core.windows.net/tables", [("x-ms-date", DATE), ("Authorization", sound)]),
            (
                "GET",
                "https://acct.table.core.windows.net/Tables?comp=acl",
                [("x-ms-date", DATE), ("Authorization", sound)],
            ),
            ("GET", &tables, [("x-ms-date", "Thu, 21 Jul 2016 16:00:00 GMT"), ("Authorization", sound)]),
            ("GET", &tables, [("x-no-date", DATE), ("Authorization", sound)]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", "SharedKey acct:FP7i")]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", "SharedKey acct:%%%")]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", "SharedKey")]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", "Bearer x:y")]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", &sound.replace("SharedKey", "SharedKeyLite"))]),
            ("GET", &tables, [("x-ms-date", DATE), ("Authorization", &sound.replace("acct", "acc"))]),
        ] {
            assert_eq!(code(&request(method, url, &headers)), failed, "{method} {url} {headers:?}");
        }
        assert_eq!(code(&request("GET", &tables, &[("x-ms-date", DATE), ("Authorization", sound)])), Ok(()));
    }

    #[test]
    fn i6_without_a_key_or_with_a_disabled_one_nothing_passes() {
        let sound = key("secret", &ALL);
        let off = AccessKey { enabled: false, ..sound.clone() };
        let request = request("GET", "inproc://acct/Tables", &[]);
        let url = Url::parse(request.url, None).expect("a URL");
        let passes =
            |keys: &[AccessKey], access| Grant::find(keys, access, &request, &url, 0).map_err(|error| error.code);
        let failed = Err(AzureCode::AuthenticationFailed);
        assert_eq!(passes(&[], Access::Secret("secret")), failed);
        assert_eq!(passes(&[], Access::Secret("")), failed);
        assert_eq!(passes(std::slice::from_ref(&sound), Access::Secret("secreT")), failed);
        assert_eq!(passes(std::slice::from_ref(&off), Access::Secret("secret")), failed);
        assert_eq!(passes(std::slice::from_ref(&sound), Access::Signed), failed);
        let allowed = passes(std::slice::from_ref(&sound), Access::Secret("secret")).expect("passes");
        assert_eq!(allowed, Grant { rights: sound.rights, sas: None });
        assert_eq!(passes(&[], Access::Off).expect("passes").rights, Rights::of(&ALL));
    }

    #[test]
    fn i6_a_key_gives_its_rights_and_no_others() {
        for right in ALL {
            let grant = Grant { rights: Rights::of(&[right]), sas: None };
            for other in ALL {
                let allowed = grant.allow(&Need::of(other, Level::Service, &[]));
                let refused = allowed.err().map(|error| error.code);
                assert_eq!(refused, (right != other).then_some(AzureCode::AuthorizationPermissionMismatch));
            }
        }
    }
}
