//! Creates, changes and deletes access keys (I6).

use crate::error::{Code, Error, Result};
use crate::model::limits;
use crate::tablestore::instance::Instance;
use crate::tablestore::state::access::{AccessKey, Rights};
use crate::tablestore::state::catalog;

/// Characters of ids and secrets: 5 bits each, none that looks like another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const ID_CHARACTERS: usize = 20;
const SECRET_CHARACTERS: usize = 40;

impl Instance {
    /// The access keys, in the order of their ids.
    pub fn access_keys(&self) -> Vec<AccessKey> {
        self.keys.borrow().clone()
    }

    /// The access key with this id.
    pub fn access_key(&self, id: &str) -> Option<AccessKey> {
        self.keys.borrow().iter().find(|key| key.id == id).cloned()
    }

    /// Creates an access key.
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

    /// Turns an access key on or off, or changes its rights. Returns its new state.
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
