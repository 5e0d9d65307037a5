//! The access policies of a table: a document that clients set, and signatures refer to.
//!
//! All of it is a gate of [`Module::Access`](crate::modules::Module::Access).

use super::xml::{self, Element, wrong};
use crate::azure::text::{append, has};
use crate::azure::{AzureResult, date_time};

/// Access policies of a table (the service's documents).
///
/// Else: `InvalidXmlDocument`.
const POLICIES: usize = 5;
/// Characters of the id of an access policy (the service's documents).
///
/// Else: `InvalidXmlDocument`.
const ID: usize = 64;
/// What a policy can give: read, add, update and delete entities.
const PERMISSIONS: &str = "raud";

/// A policy. What is not set is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// Its name.
    pub(super) id: String,
    /// From when on it is valid.
    pub(super) start: String,
    /// Until when it is valid.
    pub(super) expiry: String,
    /// Letters of what it gives.
    pub(super) permission: String,
}

/// Reads the policies of a document. Without a document there are none.
///
/// # Errors
/// `InvalidXmlDocument`.
pub(super) fn read(document: &[u8]) -> AzureResult<Vec<Policy>> {
    if document.is_empty() {
        return Ok(Vec::new());
    }
    let root = Element::read(document)?;
    if root.name != "SignedIdentifiers" || root.children.len() > POLICIES {
        return Err(wrong());
    }
    let mut policies: Vec<Policy> = Vec::with_capacity(root.children.len());
    for child in &root.children {
        let policy = read_policy(child)?;
        if policies.iter().any(|other| other.id == policy.id) {
            return Err(wrong());
        }
        policies.push(policy);
    }
    Ok(policies)
}

fn read_policy(element: &Element) -> AzureResult<Policy> {
    if element.name != "SignedIdentifier" {
        return Err(wrong());
    }
    let [id, policy] = element.fields(["Id", "AccessPolicy"])?;
    let id = id.ok_or_else(wrong)?.value()?;
    if id.is_empty() || id.chars().count() > ID {
        return Err(wrong());
    }
    let [start, expiry, permission] = match policy {
        Some(policy) => policy.fields(["Start", "Expiry", "Permission"])?,
        None => [None; 3],
    };
    let permission = permission.map_or(Ok(""), Element::value)?;
    let mut letters = permission.chars();
    while let Some(letter) = letters.next() {
        if !has(PERMISSIONS, letter) || has(letters.as_str(), letter) {
            return Err(wrong());
        }
    }
    Ok(Policy { id: id.to_owned(), start: time(start)?, expiry: time(expiry)?, permission: permission.to_owned() })
}

/// A time with seven digits after its point, as the service writes it here.
fn time(element: Option<&Element>) -> AzureResult<String> {
    let text = element.map_or(Ok(""), Element::value)?;
    if text.is_empty() {
        return Ok(String::new());
    }
    let written = date_time::format(date_time::parse(text, "").map_err(|_| wrong())?);
    let written = written.trim_end_matches('Z');
    let (seconds, fraction) = written.split_once('.').unwrap_or((written, ""));
    let zeros = "0000000".get(fraction.len()..).unwrap_or_default();
    Ok([seconds, ".", fraction, zeros, "Z"].concat())
}

/// Writes policies as a document.
pub(super) fn write(policies: &[Policy]) -> String {
    let mut out = String::from(xml::DECLARATION);
    out.push_str("<SignedIdentifiers>");
    for Policy { id, start, expiry, permission } in policies {
        out.push_str("<SignedIdentifier>");
        xml::element("Id", id, &mut out);
        let mut policy = String::new();
        for (name, value) in [("Start", start), ("Expiry", expiry), ("Permission", permission)] {
            if !value.is_empty() {
                xml::element(name, value, &mut policy);
            }
        }
        if !policy.is_empty() {
            append(&["<AccessPolicy>", &policy, "</AccessPolicy>"], &mut out);
        }
        out.push_str("</SignedIdentifier>");
    }
    out.push_str("</SignedIdentifiers>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(policy: &str) -> String {
        format!("<SignedIdentifiers><SignedIdentifier>{policy}</SignedIdentifier></SignedIdentifiers>")
    }

    #[test]
    fn policies_are_read_and_written_back() {
        let text =
            one("<Id>a&amp;b</Id><AccessPolicy><Start>2020-01-02</Start><Expiry>2020-01-03T04:05:06.78+01:00</Expiry>\
                        <Permission>ra</Permission></AccessPolicy>");
        let policies = read(text.as_bytes()).expect("policies");
        let expected = Policy {
            id: "a&b".into(),
            start: "2020-01-02T00:00:00.0000000Z".into(),
            expiry: "2020-01-03T03:05:06.7800000Z".into(),
            permission: "ra".into(),
        };
        assert_eq!(policies, [expected]);
        assert_eq!(read(write(&policies).as_bytes()), Ok(policies));
        assert_eq!(read(b""), Ok(Vec::new()));
        assert_eq!(read(b"<SignedIdentifiers />"), Ok(Vec::new()));
        assert_eq!(read(one("<Id>x</Id>").as_bytes()).expect("policies").len(), 1);
    }

    #[test]
    fn wrong_policies_are_refused() {
        let many = |count| {
            let one = |at| format!("<SignedIdentifier><Id>{at}</Id></SignedIdentifier>");
            format!("<SignedIdentifiers>{}</SignedIdentifiers>", (0..count).map(one).collect::<String>())
        };
        assert_eq!(read(many(5).as_bytes()).expect("policies").len(), 5);
        let long = one(&format!("<Id>{}</Id>", "x".repeat(65)));
        for text in [
            &many(6),
            &long,
            &many(2).replace("<Id>1", "<Id>0"),
            &one(""),
            &one("<Id/>"),
            &one("<Id>a</Id><Id>a</Id>"),
            &one("<Id>a</Id><AccessPolicy><Permission>x</Permission></AccessPolicy>"),
            &one("<Id>a</Id><AccessPolicy><Permission>rr</Permission></AccessPolicy>"),
            &one("<Id>a</Id><AccessPolicy><Start>now</Start></AccessPolicy>"),
            &one("<Id>a</Id><AccessPolicy><Other/></AccessPolicy>"),
            "<Other/>",
            "no XML",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
