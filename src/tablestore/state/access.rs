//! Access keys and their rights on the instance (I6).
//!
//! Access keys are data like other data, stored with the tables. Calls of this page need none. The doors that speak a
//! protocol check them, and [`authorize`] gives the answer.

use crate::error::{Code, Error, Result};
use std::cell::RefCell;
use std::fmt;

/// A right of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Read rows, and list tables.
    Read = 1,
    /// Write rows.
    Write = 2,
    /// Change tables and indexes.
    Admin = 4,
}

impl Right {
    /// The rights by their names.
    pub const NAMES: [(&str, Self); 3] = [("read", Self::Read), ("write", Self::Write), ("admin", Self::Admin)];
}

/// Some rights. None contains another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub(crate) u32);

impl Rights {
    /// These rights.
    pub fn of(rights: &[Right]) -> Self {
        Self(rights.iter().fold(0, |all, right| all | *right as u32))
    }

    /// Whether a right is among them.
    pub fn has(self, right: Right) -> bool {
        self.0 & right as u32 != 0
    }
}

/// An access key.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// Its name in requests.
    pub id: String,
    /// The secret that signs requests.
    pub secret: String,
    /// Its rights.
    pub rights: Rights,
    /// Whether it is accepted.
    pub enabled: bool,
    /// When it was created, in ms since 1970 UTC.
    pub created: i64,
}

/// Without the secret, which must not get into a log.
impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, rights, enabled, created, .. } = self;
        write!(f, "access key {id}, {rights:?}, enabled {enabled}, created {created}")
    }
}

/// The access keys of an instance, ascending by id.
pub(crate) struct AccessKeys(RefCell<Vec<AccessKey>>);

impl AccessKeys {
    /// These keys, which ascend.
    pub(crate) fn new(keys: Vec<AccessKey>) -> Self {
        Self(RefCell::new(keys))
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<AccessKey> {
        self.0.borrow().clone()
    }

    /// Their number.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// The key with this id.
    pub(crate) fn get(&self, id: &str) -> Option<AccessKey> {
        self.0.borrow().iter().find(|key| key.id == id).cloned()
    }

    /// Adds a stored key, or changes the one with its id.
    pub(crate) fn put(&self, key: &AccessKey) {
        let mut keys = self.0.borrow_mut();
        match keys.iter_mut().find(|other| other.id == key.id) {
            Some(other) => *other = key.clone(),
            None => {
                let place = keys.partition_point(|other| other.id < key.id);
                keys.insert(place, key.clone());
            }
        }
    }

    /// Removes the key with this id.
    pub(crate) fn remove(&self, id: &str) {
        self.0.borrow_mut().retain(|key| key.id != id);
    }
}

/// Whether a request with this key (`None` if it does not exist) may do work that needs `right`. Check its signature
/// before.
///
/// # Errors
/// `OTSAuthFailed` for a key that does not exist or is disabled, `OTSNoPermissionAccess` for one without the right.
pub fn authorize(key: Option<&AccessKey>, right: Right) -> Result<()> {
    let failed = |text: &str| Err(Error::new(Code::AuthFailed, text));
    match key {
        None => failed("The AccessKeyID does not exist."),
        Some(key) if !key.enabled => failed("The AccessKeyID is disabled."),
        Some(key) if !key.rights.has(right) => Err(Error::new(
            Code::NoPermissionAccess,
            "You have no permission to access the requested resource, please contact the resource owner.",
        )),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_a_key_allows_what_its_rights_say_and_nothing_when_it_is_off_or_not_there() {
        let all = [Right::Read, Right::Write, Right::Admin];
        let key = |rights: &[Right], enabled| AccessKey {
            id: "id".into(),
            secret: "secret".into(),
            rights: Rights::of(rights),
            enabled,
            created: 0,
        };
        let refusal = |key: Option<&AccessKey>, right| {
            let error = authorize(key, right).expect_err("refused");
            assert_eq!(error.code().status(), 403);
            error.to_string()
        };
        for right in all {
            assert_eq!(refusal(None, right), "OTSAuthFailed: The AccessKeyID does not exist.");
            assert_eq!(refusal(Some(&key(&all, false)), right), "OTSAuthFailed: The AccessKeyID is disabled.");
            assert!(authorize(Some(&key(&all, true)), right).is_ok());
            assert!(authorize(Some(&key(&[right], true)), right).is_ok());
            let others: Vec<_> = all.into_iter().filter(|other| *other != right).collect();
            let text = "OTSNoPermissionAccess: You have no permission to access the requested resource, \
                        please contact the resource owner.";
            assert_eq!(refusal(Some(&key(&others, true)), right), text);
        }
    }
}
