//! Creates, changes and deletes access keys (I6).

use crate::error::{Code, Error, Result};
use crate::model::limits;
use crate::tablestore::state::State;
use crate::tablestore::state::access::{AccessKey, Rights};
use crate::tablestore::state::catalog_rows;

/// Characters of ids and secrets: 5 bits each, none that looks like another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const ID_CHARACTERS: usize = 20;
const SECRET_CHARACTERS: usize = 40;

/// The access keys of an instance (I6).
#[derive(Clone, Copy)]
pub struct AccessKeyAdmin<'i> {
    pub(crate) state: &'i State,
}

impl AccessKeyAdmin<'_> {
    /// All keys, in the order of their ids.
    #[must_use]
    pub fn all(self) -> Vec<AccessKey> {
        self.state.keys.all()
    }

    /// The key with this id.
    #[must_use]
    pub fn find(self, id: &str) -> Option<AccessKey> {
        self.state.keys.get(id)
    }

    /// Creates a key, whose id and secret nobody can guess.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for no right at all; `OTSQuotaExhausted`.
    pub async fn create(self, rights: Rights) -> Result<AccessKey> {
        let engine = &self.state.engine;
        let id = text(engine.random::<ID_CHARACTERS>());
        let secret = text(engine.random::<SECRET_CHARACTERS>());
        self.create_chosen(id, secret, rights).await
    }

    /// Creates a key with an id and a secret that its clients know already.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for no right at all, and for an id or a secret that a header cannot carry;
    /// `OTSObjectAlreadyExist` if the id is taken, whatever its secret; `OTSQuotaExhausted`.
    pub async fn create_chosen(self, id: String, secret: String, rights: Rights) -> Result<AccessKey> {
        some(rights)?;
        check_id(&id)?;
        check_secret(&secret)?;
        let state = self.state;
        let _changing = state.catalog.change().await;
        if self.find(&id).is_some() {
            return Err(Error::new(Code::ObjectAlreadyExist, "Requested access key already exists."));
        }
        let quota = limits::ACCESS_KEYS;
        if state.keys.count() >= quota {
            return Err(Error::new(Code::QuotaExhausted, format!("Number of access keys exceeds the quota:{quota}.")));
        }
        let key = AccessKey { id, secret, rights, enabled: true, created: state.engine.clock().now_ms() };
        store(state, key).await
    }

    /// Turns a key on or off, or changes its rights. Returns its new state.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for no right at all; `OTSObjectNotExist`.
    pub async fn update(self, id: &str, enabled: Option<bool>, rights: Option<Rights>) -> Result<AccessKey> {
        rights.map_or(Ok(()), some)?;
        let _changing = self.state.catalog.change().await;
        let mut key = self.existing(id)?;
        key.enabled = enabled.unwrap_or(key.enabled);
        key.rights = rights.unwrap_or(key.rights);
        store(self.state, key).await
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub async fn delete(self, id: &str) -> Result<()> {
        let _changing = self.state.catalog.change().await;
        self.existing(id)?;
        self.state.change_catalog(vec![catalog_rows::remove_key(id)], None).await?;
        self.state.keys.remove(id);
        Ok(())
    }

    fn existing(self, id: &str) -> Result<AccessKey> {
        self.find(id).ok_or_else(|| Error::new(Code::ObjectNotExist, "Requested access key does not exist."))
    }
}

async fn store(state: &State, key: AccessKey) -> Result<AccessKey> {
    state.change_catalog(vec![catalog_rows::put_key(&key)], None).await?;
    state.keys.put(&key);
    Ok(key)
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

/// Refuses an id that the header `Authorization` of an answer, `OTS id:signature`, cannot carry.
fn check_id(id: &str) -> Result<()> {
    let most = limits::ACCESS_KEY_ID;
    let is_sound = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if (1..=most).contains(&id.len()) && is_sound {
        return Ok(());
    }
    Err(Error::parameter(format!("The id of an access key must be 1 to {most} letters, digits, '.', '_' and '-'.")))
}

/// Refuses a secret that could not be typed. The text does not name it, because errors get into logs.
fn check_secret(secret: &str) -> Result<()> {
    let most = limits::ACCESS_KEY_SECRET;
    if (1..=most).contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Error::parameter(format!("The secret of an access key must be 1 to {most} visible ASCII characters.")))
}
