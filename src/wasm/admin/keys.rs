//! Access keys (I6).

use super::answers::{Answer, Members};
use super::arguments::{Arguments, wrong};
use crate::error::{Error, Result};
use crate::tablestore::{AccessKey, Instance, Right, Rights};

/// An access key, `AccessKey` of the package. A new one includes its secret.
pub(super) fn access_key(key: &AccessKey, new: bool) -> Answer<'_> {
    let rights = Right::NAMES.into_iter().filter(|(_, right)| key.rights.has(*right));
    let members = Members::default()
        .and("accessKeyId", key.id.as_str())
        .and("rights", Answer::List(rights.map(|(name, _)| Answer::Text(name)).collect()))
        .and("enabled", key.enabled)
        .and("creationTime", key.created);
    if new { members.and("accessKeySecret", key.secret.as_str()).end() } else { members.end() }
}

/// The argument `rights`, if it is given.
pub(super) fn rights(arguments: &Arguments) -> Result<Option<Rights>> {
    let Some(names) = arguments.get::<Option<Vec<String>>>("rights")? else { return Ok(None) };
    let right = |name: &String| {
        let found = Right::NAMES.into_iter().find(|(other, _)| other == name);
        found.map(|(_, right)| right).ok_or_else(|| wrong("rights", "read, write or admin", &format!("'{name}'")))
    };
    let rights = names.iter().map(right).collect::<Result<Vec<_>>>()?;
    Ok(Some(Rights::of(&rights)))
}

/// Makes an access key: a chosen one if both its id and its secret are given.
pub(super) async fn create_access_key(instance: &Instance, arguments: &Arguments) -> Result<AccessKey> {
    let keys = instance.access_keys();
    let rights = rights(arguments)?.unwrap_or_default();
    match (arguments.get::<Option<String>>("accessKeyId")?, arguments.get::<Option<String>>("accessKeySecret")?) {
        (None, None) => keys.create(rights).await,
        (Some(id), Some(secret)) => keys.create_chosen(id, secret, rights).await,
        _ => Err(Error::parameter("An access key has both 'accessKeyId' and 'accessKeySecret', or none of them.")),
    }
}
