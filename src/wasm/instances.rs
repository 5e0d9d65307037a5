//! The instances of this origin, for JavaScript: `listInstances`, `createInstance`, `describeInstance`,
//! `deleteInstance` (I1).

use super::convert::{self, CreateOptions};
use super::error::to_js;
use super::idb::catalogue::{self, INSTANCES, Instance};
use crate::env::Env;
use crate::error::{Code, Result};
use crate::model::{InstanceKind, InstanceName};
use js_sys::Array;
use wasm_bindgen::prelude::*;

/// All instances of this origin, as `{ name, kind, creationTime }`.
///
/// # Errors
/// `Unavailable` where there is no IndexedDB.
#[wasm_bindgen(js_name = listInstances)]
pub async fn list_instances() -> Result<Array, JsValue> {
    let instances = catalogue::list().await.map_err(|error| to_js(&error))?;
    Ok(instances.iter().map(describe).collect())
}

/// Creates an instance of the given name and options `{ kind, quotas: { instances } }`.
///
/// # Errors
/// A wrong name or kind, `OTSObjectAlreadyExist`, `OTSQuotaExhausted`; else as for [`list_instances`].
#[wasm_bindgen(js_name = createInstance)]
pub async fn create_instance(name: String, options: JsValue) -> Result<(), JsValue> {
    let create = async || {
        let options: CreateOptions =
            if options.is_undefined() { CreateOptions::default() } else { convert::options(options)? };
        let name = InstanceName::parse(&name)?;
        let kind = options.kind.as_deref().map_or(Ok(InstanceKind::default()), convert::kind)?;
        let env = super::env::BrowserEnv::new(None);
        catalogue::add(&name, &row(&name, kind, &env), most(options.quotas.instances)).await
    };
    create().await.map_err(|error| to_js(&error))
}

/// What is known of an instance, as `{ name, kind, creationTime }`.
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = describeInstance)]
pub async fn describe_instance(name: String) -> Result<JsValue, JsValue> {
    let find = async || catalogue::describe(&InstanceName::parse(&name)?).await;
    find().await.map(|instance| describe(&instance)).map_err(|error| to_js(&error))
}

/// Deletes an instance with all its tables.
///
/// # Errors
/// A wrong name, `OTSObjectNotExist`; else as for [`list_instances`].
#[wasm_bindgen(js_name = deleteInstance)]
pub async fn delete_instance(name: String) -> Result<(), JsValue> {
    let delete = async || catalogue::delete(&InstanceName::parse(&name)?).await;
    delete().await.map_err(|error| to_js(&error))
}

/// Finds the instance that is opened, or makes it; returns its kind, which only a new one takes from `wanted`.
pub(super) async fn open(
    name: &InstanceName,
    create: bool,
    wanted: InstanceKind,
    quota: Option<f64>,
    env: &dyn Env,
) -> Result<InstanceKind> {
    if create && catalogue::find(name).await?.is_none() {
        match catalogue::add(name, &row(name, wanted, env), most(quota)).await {
            // Another tab was faster.
            Err(error) if error.code() == Code::ObjectAlreadyExist => {}
            other => other?,
        }
    }
    convert::kind(&catalogue::describe(name).await?.kind)
}

fn row(name: &InstanceName, kind: InstanceKind, env: &dyn Env) -> Instance {
    // The device's clock: an injected one may stand anywhere, also before 1970.
    Instance { name: name.as_str().to_owned(), kind: convert::kind_name(kind).to_owned(), created: env.now_ms().max(0) }
}

fn describe(instance: &Instance) -> JsValue {
    let fields = [
        ("name", JsValue::from_str(&instance.name)),
        ("kind", JsValue::from_str(&instance.kind)),
        ("creationTime", JsValue::from_f64(convert::number(instance.created))),
    ];
    convert::object(&fields).into()
}

fn most(quota: Option<f64>) -> u32 {
    quota.map_or(INSTANCES, count)
}

/// A count that the package gave, checked there to be a whole number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "such a cast keeps to the type's ends")]
pub(super) fn count(given: f64) -> u32 {
    given as u32
}
