//! The instances of this origin, for JavaScript: `listInstances`, `createInstance`, `describeInstance`,
//! `deleteInstance` (I1).

use super::convert::{self, Arguments, OpenOptions};
use super::error::promise;
use super::idb::catalogue::{self, Instance};
use crate::env::Env;
use crate::error::{Code, Result};
use crate::model::limits::INSTANCES;
use crate::model::{InstanceKind, InstanceName};
use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;

/// All instances of this origin, as `{ name, kind, creationTime }`.
///
/// # Errors
/// `Unavailable` where there is no IndexedDB.
#[wasm_bindgen(js_name = listInstances)]
pub fn list_instances() -> Promise {
    promise(async {
        let instances = catalogue::list().await?;
        Ok(instances.iter().map(describe).collect::<Array>().into())
    })
}

/// Creates an instance of the given name and options `{ kind, quotas: { instances } }`.
///
/// # Errors
/// A wrong name or kind, `OTSObjectAlreadyExist`, `OTSQuotaExhausted`; else as for [`list_instances`].
#[wasm_bindgen(js_name = createInstance)]
pub fn create_instance(name: String, options: JsValue) -> Promise {
    promise(async move {
        let options = Arguments::new(options);
        let name = InstanceName::parse(&name)?;
        let kind = options.kind()?;
        let env = super::env::BrowserEnv::new(None);
        catalogue::add(&name, &row(&name, kind, &env), options.instances()?.unwrap_or(INSTANCES)).await?;
        Ok(JsValue::UNDEFINED)
    })
}

/// What is known of an instance, as `{ name, kind, creationTime }`.
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = describeInstance)]
pub fn describe_instance(name: String) -> Promise {
    promise(async move { Ok(describe(&catalogue::describe(&InstanceName::parse(&name)?).await?)) })
}

/// Deletes an instance with all its tables.
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = deleteInstance)]
pub fn delete_instance(name: String) -> Promise {
    promise(async move {
        catalogue::delete(&InstanceName::parse(&name)?).await?;
        Ok(JsValue::UNDEFINED)
    })
}

/// Finds the instance that is opened, or makes it; gives its kind, which only a new one takes from the options.
pub(super) async fn open(name: &InstanceName, options: &OpenOptions, env: &dyn Env) -> Result<InstanceKind> {
    let found = match catalogue::describe(name).await {
        Err(error) if options.create && error.code() == Code::ObjectNotExist => {
            let most = options.instances.unwrap_or(INSTANCES);
            match catalogue::add(name, &row(name, options.kind, env), most).await {
                // Another tab was faster.
                Err(error) if error.code() == Code::ObjectAlreadyExist => {}
                added => added?,
            }
            catalogue::describe(name).await
        }
        found => found,
    };
    convert::stored_kind(&found?.kind)
}

fn row(name: &InstanceName, kind: InstanceKind, env: &dyn Env) -> Instance {
    // The device's clock: an injected one may stand anywhere, also before 1970.
    Instance { name: name.as_str().to_owned(), kind: convert::kind_name(kind).to_owned(), created: env.now_ms().max(0) }
}

fn describe(instance: &Instance) -> JsValue {
    let fields = [
        ("name", JsValue::from_str(&instance.name)),
        ("kind", JsValue::from_str(&instance.kind)),
        ("creationTime", convert::number(instance.created)),
    ];
    convert::object(&fields).into()
}
