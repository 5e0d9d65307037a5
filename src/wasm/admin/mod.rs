//! Administration: all operations other than those about rows. Arguments and answers are plain objects, converted by serde.
//!
//! The package checks the shape of arguments first, by name. Here types state the arguments of each operation.
//! [`tablestore`](crate::tablestore) checks the values.

mod answers;
mod arguments;
mod inspect;
mod keys;
mod meter;
mod metrics;
mod options;
mod splits;
mod streams;
mod tables;
mod watch;

pub(super) use answers::{Answer, Members};
pub(super) use arguments::Arguments;
pub(super) use metrics::{Known, metrics};
pub(super) use options::{CreateInstance, OpenOptions};
pub(super) use streams::is_one as is_on_streams;

use crate::engine::Origin;
use crate::error::Result;
use crate::modules::Module;
use crate::tablestore::{Changed, Instance};
use keys::{access_key, rights};
use std::future::Future;
use std::pin::Pin;
use wasm_bindgen::JsValue;

/// Runs the operation called `op` on an instance. `None` if it is none of these: [`run_occasional`] has the others.
pub(super) async fn run(instance: &Instance, op: &str, arguments: &Arguments) -> Result<Option<JsValue>> {
    let answer = match op {
        "createTable" => {
            instance.create_table(tables::create_table(arguments)?).await?;
            JsValue::UNDEFINED
        }
        "listTable" => Answer::texts(&instance.list_table()).to_js(),
        "flush" => {
            instance.flush().await?;
            JsValue::UNDEFINED
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

/// An operation in progress. Those of a module are made by its own code, so that the core has none of it.
pub(super) type Boxed<'a> = Pin<Box<dyn Future<Output = Result<JsValue>> + 'a>>;

/// Runs an operation that most pages never ask for. A gate of [`Module::Occasional`], and a caller of [`Module::Inspection`].
#[inline(never)]
pub(super) fn run_occasional<'a>(instance: &'a Instance, op: &'a str, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(occasional(instance, op, arguments))
}

/// Runs an operation on streams. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(super) fn run_streams<'a>(instance: &'a Instance, op: &'a str, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(streams::run(instance, op, arguments))
}

/// Runs an operation that looks inside the store. A gate of [`Module::Inspection`].
#[inline(never)]
fn run_inspection<'a>(instance: &'a Instance, op: &'a str, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(inspect::run(instance, op, arguments))
}

/// Runs an operation on the answers of clients in other tabs. A gate of
/// [`Module::Answers`](crate::modules::Module::Answers).
#[inline(never)]
pub(super) fn run_answers<'a>(instance: &'a Instance, op: &'a str, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(async move {
        if op == "keepAnswers" {
            let (life, client) = (arguments.get("life")?, arguments.get("client")?);
            instance.clients().keep_answers(life, client, arguments.get("stores")?).await?;
        } else {
            instance.clients().forget_answers(arguments.get("client")?, arguments.get("living")?).await?;
        }
        Ok(JsValue::UNDEFINED)
    })
}

/// Runs a change, unless it was done before: then it gives the answer of that time. A gate of
/// [`Module::Answers`](crate::modules::Module::Answers).
#[inline(never)]
pub(super) fn run_once<'a>(instance: &'a Instance, op: &'a str, origin: Option<Origin>, work: Boxed<'a>) -> Boxed<'a> {
    Box::pin(async move {
        Ok(match (op, instance.clients().changed_before(origin)?) {
            (_, None) => return instance.clients().asked_by(origin, work).await,
            ("updateTable", Some(Changed::Table(table))) => tables::table(&table).to_js(),
            ("createAccessKey", Some(Changed::AccessKey(key))) => access_key(&key, true).to_js(),
            ("updateAccessKey", Some(Changed::AccessKey(key))) => access_key(&key, false).to_js(),
            _ => JsValue::UNDEFINED,
        })
    })
}

/// Its future is a gate of [`Module::Occasional`].
/// A caller of [`Module::Inspection`].
async fn occasional(instance: &Instance, op: &str, arguments: &Arguments) -> Result<JsValue> {
    let key_id = || arguments.get::<String>("accessKeyId");
    match op {
        "describeTable" => return Ok(tables::table(&instance.describe_table(&arguments.table()?)?).to_js()),
        "updateTable" => {
            let updated = instance.update_table(tables::update_table(arguments)?).await?;
            return Ok(tables::table(&updated).to_js());
        }
        "deleteTable" => instance.delete_table(&arguments.table()?).await?,
        "createIndex" => {
            let (index, include_base_data) = tables::create_index(arguments)?;
            instance.create_index(&arguments.table()?, index, include_base_data).await?;
        }
        "dropIndex" => {
            let index: String = arguments.get("indexName")?;
            instance.drop_index(&arguments.table()?, &index).await?;
        }
        "addDefinedColumn" => {
            let columns = arguments.get("columns")?;
            instance.add_defined_column(&arguments.table()?, columns).await?;
        }
        "deleteDefinedColumn" => {
            let columns: Vec<String> = arguments.get("columns")?;
            instance.delete_defined_column(&arguments.table()?, &columns).await?;
        }
        "computeConsumed" => {
            let request = meter::compute_consumed(arguments, instance.prices())?;
            return Ok(meter::consumed(&instance.compute_consumed(&request).await?).to_js());
        }
        "computeStorage" => return Ok(meter::stored(instance.compute_storage(&arguments.table()?).await?).to_js()),
        "computeSplitPointsBySize" => {
            let table = arguments.table()?;
            let splits = instance.compute_split_points_by_size(&splits::request(&table, arguments)?).await;
            return Ok(splits::splits(&splits.map_err(|failure| failure.error)?).to_js());
        }
        "createAccessKey" => {
            let rights = rights(arguments)?.unwrap_or_default();
            return Ok(access_key(&instance.access_keys().create(rights).await?, true).to_js());
        }
        "listAccessKeys" => {
            return Ok(Answer::list(&instance.access_keys().all(), |key| access_key(key, false)).to_js());
        }
        "updateAccessKey" => {
            let (id, enabled, rights) = (key_id()?, arguments.get("enabled")?, rights(arguments)?);
            let changed = instance.access_keys().update(&id, enabled, rights).await?;
            return Ok(access_key(&changed, false).to_js());
        }
        "compact" => instance.compact().await?,
        "deleteAccessKey" => instance.access_keys().delete(&key_id()?).await?,
        "listForeignTable" => return Ok(Answer::texts(&instance.foreign_tables()).to_js()),
        "missing" => return Ok(Answer::list(&instance.missing(), tables::missing).to_js()),
        // It knows all others.
        _ => {
            instance.load(Module::Inspection).await?;
            return run_inspection(instance, op, arguments).await;
        }
    }
    Ok(JsValue::UNDEFINED)
}
