//! The instances of this origin, for JavaScript: `listInstances`, `createInstance`, `describeInstance`,
//! `deleteInstance` (I1).

use super::admin::{Answer, Arguments, CreateInstance, Members, OpenOptions};
use super::env::load;
use super::error::promise;
use super::idb::IdbStorage;
use super::idb::catalogue::{self, Instance};
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::{InstanceKind, InstanceName};
use crate::modules::Module;
use futures_util::future::join;
use js_sys::{Function, Promise, Reflect};
use std::future::Future;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// All instances of this origin, as `{ name, kind, creationTime }`.
/// Its future is a gate of [`Module::Occasional`].
///
/// # Errors
/// `Unavailable` where there is no IndexedDB.
#[wasm_bindgen(js_name = listInstances)]
pub fn list_instances() -> Promise {
    occasional(async {
        let instances = catalogue::list().await?;
        Ok(Answer::list(&instances, description).to_js())
    })
}

/// Creates an instance of the given name and options `{ kind, quotas: { instances } }`.
/// Its future is a gate of [`Module::Occasional`].
///
/// # Errors
/// A wrong name or kind, `OTSObjectAlreadyExist`, `OTSQuotaExhausted`; else as for [`list_instances`].
#[wasm_bindgen(js_name = createInstance)]
pub fn create_instance(name: String, options: JsValue) -> Promise {
    occasional(async move {
        let name = InstanceName::parse(&name)?;
        let options: CreateInstance = Arguments::new(options).read()?;
        let env = super::env::BrowserEnv::new(None);
        catalogue::add(&name, &row(&name, options.kind(), &env), options.most()).await?;
        Ok(JsValue::UNDEFINED)
    })
}

/// The description of an instance, as `{ name, kind, creationTime }`.
/// Its future is a gate of [`Module::Occasional`].
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = describeInstance)]
pub fn describe_instance(name: String) -> Promise {
    occasional(async move { Ok(description(&catalogue::describe(&InstanceName::parse(&name)?).await?).to_js()) })
}

/// Deletes an instance with all its tables.
/// Its future is a gate of [`Module::Occasional`].
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = deleteInstance)]
pub fn delete_instance(name: String) -> Promise {
    occasional(async move {
        catalogue::delete(&InstanceName::parse(&name)?).await?;
        Ok(JsValue::UNDEFINED)
    })
}

/// A promise of the result of `work`, which is polled once its code is there.
fn occasional(work: impl Future<Output = Result<JsValue>> + 'static) -> Promise {
    let work: LocalFuture<Result<JsValue>> = Box::pin(work);
    promise(async move {
        load(Module::Occasional).await?;
        work.await
    })
}

/// Opens the database of an instance. Creates it if it is missing and the options allow that. Also returns its kind,
/// which only a new one takes from the options, and its row in the list of instances. A lock that is held elsewhere shows
/// after some milliseconds. Meanwhile existing data is opened, and nothing of the instance is changed.
pub(super) async fn open(
    name: &InstanceName,
    options: &OpenOptions,
    env: &dyn Env,
    granted: &Promise,
    existed: &Function,
) -> Result<(IdbStorage, InstanceKind, Instance)> {
    let early = async {
        let found = catalogue::describe(name).await;
        let storage = match &found {
            Ok(_) => IdbStorage::open_existing(name.key()).await.ok(),
            Err(_) => None,
        };
        (found, storage)
    };
    let ((mut found, storage), held) = join(early, check_lock(granted)).await;
    held?;
    if let (Ok(found), Some(storage)) = (&found, storage)
        && storage.is_open()
    {
        return Ok((storage, kind_of(found)?, found.clone()));
    }
    if found.is_ok() {
        // It was created and never opened, or another client has just deleted it.
        found = catalogue::describe(name).await;
    }
    let instance = match found {
        Err(error) if error.code() == Code::ObjectNotExist => {
            if !options.recreates() && has_existed(existed).await {
                return Err(lost(name));
            }
            if !options.creates() {
                return Err(error);
            }
            let new = options.new_instance();
            let row = row(name, new.kind(), env);
            match catalogue::add(name, &row, new.most()).await {
                // Another tab was faster.
                Err(error) if error.code() == Code::ObjectAlreadyExist => catalogue::describe(name).await?,
                added => added.map(|()| row)?,
            }
        }
        found => found?,
    };
    Ok((IdbStorage::open(name.key()).await?, kind_of(&instance)?, instance))
}

/// Whether a witness outside IndexedDB says that the instance has existed. `existed` gives a promise of that.
async fn has_existed(existed: &Function) -> bool {
    let asked = existed.call0(&JsValue::UNDEFINED).map(|answer| JsFuture::from(Promise::resolve(&answer)));
    match asked {
        Ok(answer) => answer.await.is_ok_and(|existed| existed.is_truthy()),
        Err(_) => false,
    }
}

/// The refusal to open an instance that the browser has lost.
pub(super) fn lost(name: &InstanceName) -> Error {
    Error::new(Code::DataLost, format!("The browser has lost the data of the instance '{name}'.")).with_hint(
        "It existed, and its storage is gone or empty: site data was cleared, the browser made room, or its database broke. \
         Open it with { lost: \"recreate\" } to begin anew.",
    )
}

/// Fails unless the caller has the instance's lock. It may have given the opening up, and released the lock.
pub(super) async fn check_lock(granted: &Promise) -> Result<()> {
    let held = |granted: JsValue| Reflect::get(&granted, &"held".into()).is_ok_and(|held| held.is_truthy());
    let granted = JsFuture::from(granted.clone()).await;
    granted.is_ok_and(held).then_some(()).ok_or_else(|| Error::new(Code::Busy, "somebody else has the instance open"))
}

fn row(name: &InstanceName, kind: InstanceKind, env: &dyn Env) -> Instance {
    // By the device's clock. An injected clock may have any time, also before 1970.
    Instance {
        name: name.as_str().to_owned(),
        kind: kind.as_str().to_owned(),
        created: env.now_ms().max(0),
        opened: false,
    }
}

/// The kind that the list of instances has stored.
fn kind_of(instance: &Instance) -> Result<InstanceKind> {
    parse_kind(&instance.kind, "the list of instances")
}

/// A kind that `place` has stored.
pub(super) fn parse_kind(stored: &str, place: &str) -> Result<InstanceKind> {
    let kind = InstanceKind::NAMES.into_iter().find(|(name, _)| *name == stored);
    let unknown = || Error::corrupt(place, format_args!("unknown kind '{stored}'"));
    kind.map(|(_, kind)| kind).ok_or_else(unknown)
}

/// An instance, `InstanceDescription` of the package.
fn description(instance: &Instance) -> Answer<'_> {
    Members::default()
        .and("name", instance.name.as_str())
        .and("kind", instance.kind.as_str())
        .and("creationTime", instance.created)
        .end()
}
