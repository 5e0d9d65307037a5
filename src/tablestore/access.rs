//! Access keys: who may do what with the instance (I6).
//!
//! They are data like others, and kept with the tables. What comes from this page needs none; the doors that speak a
//! protocol check them, and [`authorize`] says what they answer.

use super::Instance;
use super::catalog;
use crate::error::{Code, Error, Result};
use crate::model::limits;
use crate::storage::Storage;
use std::fmt;

/// What a key may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To read rows, and to see which tables there are.
    Read = 1,
    /// To write rows.
    Write = 2,
    /// To change tables and indexes.
    Admin = 4,
}

impl Right {
    /// The rights by their names.
    pub const NAMES: [(&str, Self); 3] = [("read", Self::Read), ("write", Self::Write), ("admin", Self::Admin)];
}

/// Some rights. None contains another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub(super) u32);

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
    /// What requests are signed with.
    pub secret: String,
    /// What it allows.
    pub rights: Rights,
    /// Whether it is taken.
    pub enabled: bool,
    /// When it was created, in ms since 1970 UTC.
    pub created: i64,
}

/// Without the secret, which belongs into no log.
impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, rights, enabled, created, .. } = self;
        write!(f, "access key {id}, {rights:?}, enabled {enabled}, created {created}")
    }
}

/// Whether a request with this key (`None` for one that there is not) may do what needs `right`. Its signature has to be
/// checked before.
///
/// # Errors
/// `OTSAuthFailed` for a key that does not exist or is disabled, `OTSNoPermissionAccess` for one that does not allow it.
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

/// Characters of ids and secrets: 5 bits each, none that is taken for another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const ID_CHARACTERS: usize = 20;
const SECRET_CHARACTERS: usize = 40;

impl<S: Storage> Instance<S> {
    /// The access keys, in the order of their ids.
    pub fn access_keys(&self) -> Vec<AccessKey> {
        self.keys.borrow().clone()
    }

    /// The access key with this id.
    pub fn access_key(&self, id: &str) -> Option<AccessKey> {
        self.keys.borrow().iter().find(|key| key.id == id).cloned()
    }

    /// Makes an access key.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for no right at all; `OTSQuotaExhausted`.
    pub async fn create_access_key(&self, rights: Rights) -> Result<AccessKey> {
        some(rights)?;
        let _changing = self.change().await;
        let quota = limits::ACCESS_KEYS;
        if self.keys.borrow().len() >= quota {
            return Err(Error::new(Code::QuotaExhausted, format!("Number of access keys exceeds the quota:{quota}.")));
        }
        let (id, secret) =
            (text(self.engine.random::<ID_CHARACTERS>()), text(self.engine.random::<SECRET_CHARACTERS>()));
        let key = AccessKey { id, secret, rights, enabled: true, created: self.engine.now_ms() };
        self.store_key(key).await
    }

    /// Turns an access key on or off, or changes its rights; gives it as it is then.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for no right at all; `OTSObjectNotExist`.
    pub async fn update_access_key(
        &self,
        id: &str,
        enabled: Option<bool>,
        rights: Option<Rights>,
    ) -> Result<AccessKey> {
        rights.map_or(Ok(()), some)?;
        let _changing = self.change().await;
        let mut key = self.existing(id)?;
        key.enabled = enabled.unwrap_or(key.enabled);
        key.rights = rights.unwrap_or(key.rights);
        self.store_key(key).await
    }

    /// Deletes an access key.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub async fn delete_access_key(&self, id: &str) -> Result<()> {
        let _changing = self.change().await;
        self.existing(id)?;
        self.change_catalog(vec![catalog::remove_key(id)], None).await?;
        self.keys.borrow_mut().retain(|key| key.id != id);
        Ok(())
    }

    fn existing(&self, id: &str) -> Result<AccessKey> {
        self.access_key(id).ok_or_else(|| Error::new(Code::ObjectNotExist, "Requested access key does not exist."))
    }

    async fn store_key(&self, key: AccessKey) -> Result<AccessKey> {
        self.change_catalog(vec![catalog::put_key(&key)], None).await?;
        let mut keys = self.keys.borrow_mut();
        match keys.iter_mut().find(|other| other.id == key.id) {
            Some(other) => *other = key.clone(),
            None => {
                let place = keys.partition_point(|other| other.id < key.id);
                keys.insert(place, key.clone());
            }
        }
        Ok(key)
    }
}

/// Random bytes as characters.
fn text<const N: usize>(random: [u8; N]) -> String {
    random.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32))).map(|&letter| char::from(letter)).collect()
}

fn some(rights: Rights) -> Result<()> {
    if rights == Rights::default() {
        return Err(Error::parameter("An access key needs at least one of the rights read, write and admin."));
    }
    Ok(())
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
