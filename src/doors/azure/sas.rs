//! Shared access signatures: what somebody with a key allows somebody without one.
//!
//! A signature is of the account, or of a table. What a table's signature does not say, an access policy of the table may
//! say (`si`). All versions from 2015-04-05 on are known. The door has no network, so a request comes from 127.0.0.1, and a
//! URL of a scheme of its own needs no HTTPS.

use super::acl::Policy;
use super::need::{Level, Need};
use super::url::Url;
use crate::azure::text::{has, parse_base64, replaced};
use crate::azure::{AzureCode, AzureResult, date_time, key};
use crate::tablestore::{AccessKey, Rights};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The first version with protocols and addresses in its text.
const FIRST_VERSION: &str = "2015-04-05";
/// The first version with an encryption scope in the text of an account's signature.
const SCOPE_VERSION: &str = "2020-12-06";
/// Where requests come from.
const HERE: u32 = 0x7F00_0001;

/// A signature whose text was signed by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sas {
    scope: Scope,
    permissions: String,
    start: String,
    expiry: String,
}

/// What a signature is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scope {
    /// The account: kinds of things (`srt`).
    Account(String),
    /// A table.
    Table { name: String, policy: String, from: Option<Corner>, to: Option<Corner> },
}

/// An end of a range of entities: a partition key, and a row key or the whole partition.
type Corner = (String, Option<String>);

/// The enabled key that signed a text. A gate of [`Module::Access`](crate::modules::Module::Access).
pub(super) fn signer<'k>(keys: &'k [AccessKey], text: &str, signature: &str) -> Option<&'k AccessKey> {
    let signature = parse_base64(signature)?;
    keys.iter().filter(|key| key.enabled).find(|key| {
        let mac = Hmac::<Sha256>::new_from_slice(key.secret.as_bytes());
        // It compares in constant time.
        mac.is_ok_and(|mac| mac.chain_update(text).verify_slice(&signature).is_ok())
    })
}

/// Gates of [`Module::Access`](crate::modules::Module::Access).
impl Sas {
    /// Finds the signature in a URL, and the rights of the key that signed.
    ///
    /// # Errors
    /// `AuthenticationFailed`; `AuthorizationProtocolMismatch`, `AuthorizationSourceIPMismatch`,
    /// `AuthorizationServiceMismatch`.
    pub(super) fn find(keys: &[AccessKey], url: &Url<'_>, now: i64) -> AzureResult<(Rights, Self)> {
        let failed = AzureCode::AuthenticationFailed;
        let given = |name| url.query.get(name).unwrap_or_default();
        let version = given("sv");
        if !super::headers::is_version(version) || version < FIRST_VERSION {
            return Err(failed.into());
        }
        let (sas, text) = match url.query.get("tn") {
            Some(table) => Self::of_table(url, table),
            None => Self::of_account(url),
        };
        // A plus sign that was not encoded.
        let signature = replaced(given("sig"), ' ', "+");
        let key = signer(keys, &text, &signature).ok_or(failed)?;
        if let Scope::Table { from, to, .. } = &sas.scope {
            let alone = |end: &Option<Corner>, row_key| end.is_none() && url.query.get(row_key).is_some();
            if alone(from, "srk") || alone(to, "erk") {
                return Err(failed.into());
            }
        } else if !given("ss").contains('t') {
            return Err(AzureCode::AuthorizationServiceMismatch.into());
        }
        match given("spr") {
            "" | "https,http" | "http,https" => {}
            "https" if !url.scheme.eq_ignore_ascii_case("http") => {}
            "https" => return Err(AzureCode::AuthorizationProtocolMismatch.into()),
            _ => return Err(failed.into()),
        }
        if !given("sip").is_empty() && !has_address(given("sip"), HERE) {
            return Err(AzureCode::AuthorizationSourceIPMismatch.into());
        }
        if sas.policy().is_none() {
            sas.check_time(now)?;
        }
        Ok((key.rights, sas))
    }

    /// The signature of a table, and what it covers.
    fn of_table(url: &Url<'_>, table: &str) -> (Self, String) {
        let given = |name| url.query.get(name).unwrap_or_default();
        let corner = |partition_key, row_key| {
            let partition_key = url.query.get(partition_key).filter(|key| !key.is_empty())?;
            Some((partition_key.to_owned(), url.query.get(row_key).map(str::to_owned)))
        };
        let name = table.to_ascii_lowercase();
        let resource = ["/table/", &url.account, "/", &name].concat();
        let parts = [given("sp"), given("st"), given("se"), &resource, given("si"), given("sip"), given("spr")];
        let ends = [given("sv"), given("spk"), given("srk"), given("epk"), given("erk")];
        let text = [parts.join("\n"), ends.join("\n")].join("\n");
        let scope =
            Scope::Table { name, policy: given("si").to_owned(), from: corner("spk", "srk"), to: corner("epk", "erk") };
        (Self::new(url, scope), text)
    }

    /// The signature of an account, and what it covers.
    fn of_account(url: &Url<'_>) -> (Self, String) {
        let given = |name| url.query.get(name).unwrap_or_default();
        let names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"];
        let mut text = url.account.clone();
        text.push('\n');
        for name in names {
            text.extend([given(name), "\n"]);
        }
        if given("sv") >= SCOPE_VERSION {
            text.extend([given("ses"), "\n"]);
        }
        (Self::new(url, Scope::Account(given("srt").to_owned())), text)
    }

    fn new(url: &Url<'_>, scope: Scope) -> Self {
        let given = |name| url.query.get(name).unwrap_or_default().to_owned();
        Self { scope, permissions: given("sp"), start: given("st"), expiry: given("se") }
    }

    /// The access policy that the signature refers to: its table and its id.
    pub(super) fn policy(&self) -> Option<(&str, &str)> {
        match &self.scope {
            Scope::Table { name, policy, .. } if !policy.is_empty() => Some((name, policy)),
            _ => None,
        }
    }

    /// Adds what the access policy says. `None` if the table has no such policy.
    ///
    /// # Errors
    /// `AuthenticationFailed`.
    pub(super) fn complete(&mut self, policy: Option<&Policy>, now: i64) -> AzureResult<()> {
        let policy = policy.ok_or(AzureCode::AuthenticationFailed)?;
        let fields = [
            (&mut self.permissions, &policy.permission),
            (&mut self.start, &policy.start),
            (&mut self.expiry, &policy.expiry),
        ];
        for (own, stored) in fields {
            match (own.is_empty(), stored.is_empty()) {
                // Only one of the two may say it.
                (false, false) => return Err(AzureCode::AuthenticationFailed.into()),
                (true, false) => own.clone_from(stored),
                _ => {}
            }
        }
        self.check_time(now)
    }

    /// Refuses a signature that is not valid now. It needs an end.
    fn check_time(&self, now: i64) -> AzureResult<()> {
        let time = |text: &str| date_time::parse(text, "").ok();
        let started = self.start.is_empty() || time(&self.start).is_some_and(|start| start <= now);
        let ended = time(&self.expiry).is_none_or(|expiry| expiry <= now);
        if started && !ended { Ok(()) } else { Err(AzureCode::AuthenticationFailed.into()) }
    }

    /// Refuses what the signature does not give.
    ///
    /// # Errors
    /// The codes that begin with `Authorization`.
    pub(super) fn allow(&self, need: &Need<'_>) -> AzureResult<()> {
        match &self.scope {
            Scope::Account(types) => {
                let letter = match need.level {
                    Level::Service => 's',
                    Level::Container => 'c',
                    Level::Object => 'o',
                };
                if !has(types, letter) {
                    return Err(AzureCode::AuthorizationResourceTypeMismatch.into());
                }
            }
            Scope::Table { name, .. } => {
                if need.level != Level::Object {
                    return Err(AzureCode::AuthorizationResourceTypeMismatch.into());
                }
                let is_inside = need.key.is_none_or(|key| self.starts_before(key) && self.ends_after(key));
                if !need.table.is_some_and(|table| table.eq_ignore_ascii_case(name)) || !is_inside {
                    return Err(AzureCode::AuthorizationFailure.into());
                }
            }
        }
        let has = |letters: &&str| letters.chars().any(|letter| has(&self.permissions, letter));
        if need.letters.is_empty() || !need.letters.iter().all(has) {
            return Err(AzureCode::AuthorizationPermissionMismatch.into());
        }
        Ok(())
    }

    /// The first key that may be read.
    pub(super) fn first(&self) -> Option<(&str, &str)> {
        match &self.scope {
            Scope::Table { from: Some((partition_key, row_key)), .. } => {
                Some((partition_key, row_key.as_deref().unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// Whether the range starts at a key or before it.
    fn starts_before(&self, (partition_key, row_key): (&str, &str)) -> bool {
        self.first().is_none_or(|(first, row)| key::encode(first, row) <= key::encode(partition_key, row_key))
    }

    /// The last key that may be read, encoded; or its partition key alone, for the whole partition.
    #[must_use]
    pub(super) fn last(&self) -> Option<Vec<u8>> {
        let Scope::Table { to: Some((partition_key, row_key)), .. } = &self.scope else { return None };
        let mut last = Vec::new();
        key::encode_text(partition_key, &mut last);
        if let Some(row_key) = row_key {
            key::encode_text(row_key, &mut last);
        }
        Some(last)
    }

    /// Whether the range ends at a key or after it.
    fn ends_after(&self, (partition_key, row_key): (&str, &str)) -> bool {
        let key = key::encode(partition_key, row_key);
        self.last().is_none_or(|last| key <= last || key.starts_with(&last))
    }
}

/// Whether an address is in a range: `a` or `a-b`.
fn has_address(range: &str, address: u32) -> bool {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    matches!((number_of(first), number_of(last)), (Some(first), Some(last)) if (first..=last).contains(&address))
}

/// The number of an address: four bytes in decimal, without zeros before them.
fn number_of(address: &str) -> Option<u32> {
    let (mut number, mut count) = (0, 0);
    for part in address.split('.') {
        let is_plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part.len() == 1 || !part.starts_with('0'));
        number = number << 8 | u32::from(u8::try_from(part.parse::<i64>().ok().filter(|_| is_plain)?).ok()?);
        count += 1;
    }
    (count == 4).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::auth::tests::{SECRET, key};
    use super::*;
    use crate::azure::IfMatch;
    use crate::azure::entity::EntityOp;
    use crate::tablestore::Right;

    const ALL: [Right; 3] = [Right::Read, Right::Write, Right::Admin];
    /// The signatures are from another program that knows HMAC.
    const ACCOUNT: &str = "sv=2019-02-02&ss=t&srt=sco&sp=rwdlau&st=2016-01-01T00:00:00Z&se=2017-01-01T00:00:00Z&spr=https,http\
                           &sig=5gzsK2XVGUz4X9hLrU9gGcbvYXFOKiQzXYrjXDBJDxg%3D";
    const TABLE: &str = "sv=2019-02-02&tn=Tab&sp=raud&se=2017-01-01T00:00:00Z&spk=p1&srk=r1&epk=p2&erk=r2\
                         &sig=YBmw6sR8OxYv/yjXK/P1wHEcSWwU8Op5jmpzYBUasIA%3D";
    const WITH_POLICY: &str =
        "sv=2018-11-09&tn=tab&si=pol&spr=https&sig=bmBSoW1A8bvh%2BumjTcW/Djc0eedj38%2BEvk12OT3WRfg%3D";

    fn ticks(time: &str) -> i64 {
        date_time::parse(time, "").expect("a time")
    }

    fn found(place: &str, query: &str, time: &str) -> Result<Sas, AzureCode> {
        let url = format!("{place}?{query}");
        let url = Url::parse(&url, None).expect("a URL");
        let keys = [key("other", &ALL), key(SECRET, &ALL)];
        Sas::find(&keys, &url, ticks(time)).map(|(_, sas)| sas).map_err(|error| error.code)
    }

    fn refused(sas: &Sas, need: &Need<'_>) -> Option<AzureCode> {
        sas.allow(need).err().map(|error| error.code)
    }

    #[test]
    fn i6_a_signature_of_the_account_gives_what_it_says_while_it_is_valid() {
        let at = |time| found("https://acct.table.core.windows.net/Tables", ACCOUNT, time);
        let sas = at("2016-06-01").expect("valid");
        assert_eq!(at("2015-12-31T23:59:59Z"), Err(AzureCode::AuthenticationFailed), "too early");
        assert_eq!(at("2017-01-01"), Err(AzureCode::AuthenticationFailed), "too late");
        assert_eq!(refused(&sas, &Need::of(Right::Read, Level::Container, &["l"])), None);
        assert_eq!(refused(&sas, &Need::to_read("Tab", None)), None);
        let mismatch = Some(AzureCode::AuthorizationPermissionMismatch);
        assert_eq!(refused(&sas, &Need::of(Right::Admin, Level::Container, &["x"])), mismatch);
        assert_eq!(refused(&sas, &Need::of(Right::Admin, Level::Container, &[])), mismatch, "policies");
        let other = found("https://other.table.core.windows.net/Tables", ACCOUNT, "2016-06-01");
        assert_eq!(other, Err(AzureCode::AuthenticationFailed));
        let more =
            found("https://acct.table.core.windows.net/Tables", &ACCOUNT.replace("rwdlau", "rwdlaup"), "2016-06-01");
        assert_eq!(more, Err(AzureCode::AuthenticationFailed));

        let objects = "sv=2020-12-06&ss=bt&srt=o&sp=r&se=2017-01-01&sip=127.0.0.1-127.0.0.9&sig=XxaNJpD954xrdiR9iT+Get7TQ2fRnH9U7+LGklhumfg=";
        let objects = found("inproc://acct", objects, "2016-06-01").expect("valid");
        let types = Some(AzureCode::AuthorizationResourceTypeMismatch);
        assert_eq!(refused(&objects, &Need::of(Right::Read, Level::Service, &["r"])), types);
        assert_eq!(refused(&objects, &Need::to_read("Tab", None)), None);
        assert_eq!(refused(&objects, &Need::to_change(EntityOp::Insert, "Tab", ("", ""))), mismatch);
    }

    #[test]
    fn i6_a_signature_of_a_table_gives_its_range_of_entities() {
        let sas = found("https://acct.table.core.windows.net/tab", TABLE, "2016-06-01").expect("valid");
        let change = |op, table, key| refused(&sas, &Need::to_change(op, table, key));
        let outside = Some(AzureCode::AuthorizationFailure);
        for (key, is_inside) in [
            (("p1", "r1"), true),
            (("p1", "r"), false),
            (("p1", "z"), true),
            (("p15", ""), true),
            (("p2", "r2"), true),
            (("p2", "r20"), false),
            (("p3", ""), false),
        ] {
            let expected = if is_inside { None } else { outside };
            assert_eq!(change(EntityOp::InsertOrMerge, "TAB", key), expected, "{key:?}");
            assert_eq!(change(EntityOp::Delete(IfMatch::Any), "tab", key), expected, "{key:?}");
            assert_eq!(refused(&sas, &Need::to_read("tab", Some(key))), expected, "{key:?}");
        }
        assert_eq!(change(EntityOp::Insert, "other", ("p1", "r1")), outside);
        let types = Some(AzureCode::AuthorizationResourceTypeMismatch);
        assert_eq!(refused(&sas, &Need::of(Right::Admin, Level::Container, &["cw"])), types);
        assert_eq!(sas.first(), Some(("p1", "r1")));
        let late = found("https://acct.table.core.windows.net/tab", TABLE, "2018-01-01");
        assert_eq!(late, Err(AzureCode::AuthenticationFailed));
    }

    #[test]
    fn i6_a_policy_completes_a_signature_of_a_table() {
        let sas = || found("inproc://acct/tab", WITH_POLICY, "2016-06-01").expect("signed");
        assert_eq!(sas().policy(), Some(("tab", "pol")));
        let policy =
            Policy { id: "pol".into(), permission: "r".into(), expiry: "2017-01-01".into(), ..Policy::default() };
        let completed = |policy: Option<&Policy>, time| {
            let mut sas = sas();
            sas.complete(policy, ticks(time)).map(|()| sas).map_err(|error| error.code)
        };
        let complete = completed(Some(&policy), "2016-06-01").expect("valid");
        assert_eq!(refused(&complete, &Need::to_read("tab", None)), None);
        let mismatch = Some(AzureCode::AuthorizationPermissionMismatch);
        assert_eq!(refused(&complete, &Need::to_change(EntityOp::Insert, "tab", ("", ""))), mismatch);
        let failed = Err(AzureCode::AuthenticationFailed);
        assert_eq!(completed(None, "2016-06-01"), failed, "no such policy");
        assert_eq!(completed(Some(&policy), "2017-06-01"), failed, "the policy has ended");
        assert_eq!(completed(Some(&Policy::default()), "2016-06-01"), failed, "nothing says when it ends");
        let mut twice = found("inproc://acct/tab", TABLE, "2016-06-01").expect("valid");
        assert!(twice.complete(Some(&policy), ticks("2016-06-01")).is_err(), "both say when it ends");
    }

    #[test]
    fn i6_protocols_addresses_and_versions_that_do_not_fit_are_refused() {
        let over_http = found("http://acct.table.core.windows.net/tab", WITH_POLICY, "2016-06-01");
        assert_eq!(over_http, Err(AzureCode::AuthorizationProtocolMismatch));
        assert!(has_address("127.0.0.1", HERE) && has_address("127.0.0.0-127.0.1.0", HERE));
        assert!(!has_address("127.0.0.1.1", HERE) && !has_address("127.0.1", HERE) && !has_address("127.0.0.01", HERE));
        assert!(!has_address("127.0.0.+1", HERE) && !has_address("127.0.0.256", HERE) && !has_address("", HERE));
        assert!(
            !has_address("127.0.0.2", HERE) && !has_address("x", HERE) && !has_address("127.0.0.2-127.0.0.1", HERE)
        );
        for query in
            ["", "sig=x", "sv=2012-02-12&sig=x", "sv=abc&sig=x", "sv=2019-02-02&tn=tab", "sv=2019-02-02&tn=tab&sig=%00"]
        {
            assert_eq!(
                found("inproc://acct/tab", query, "2016-06-01"),
                Err(AzureCode::AuthenticationFailed),
                "{query}"
            );
        }
    }
}
