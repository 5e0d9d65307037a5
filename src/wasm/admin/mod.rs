//! Administration: all operations other than those about rows. Arguments and answers are plain objects, converted by serde.
//! The contract declares them (`session/codec/contract.rs`), in groups by the module that has their code.
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

pub(super) use crate::session::codec::contract::admin::{Core, Inspection, Occasional};
pub(super) use answers::{Answer, Members};
pub(super) use arguments::Arguments;
pub(super) use metrics::{Known, metrics};
pub(super) use options::{CreateInstance, OpenOptions};

use crate::engine::Origin;
use crate::error::Result;
use crate::session::codec::contract::admin::{Administration, Answers, Streams};
use crate::tablestore::{Changed, Instance};
use keys::{access_key, create_access_key, rights};
use std::future::Future;
use std::pin::Pin;
use wasm_bindgen::JsValue;

/// Runs an operation whose code is in the core.
pub(super) async fn run(instance: &Instance, op: Core, arguments: &Arguments) -> Result<JsValue> {
    match op {
        Core::CreateTable => instance.create_table(tables::create_table(arguments)?).await?,
        Core::ListTable => return Ok(Answer::texts(&instance.list_table()).to_js()),
        Core::Flush => instance.flush().await?,
    }
    Ok(JsValue::UNDEFINED)
}

/// An operation in progress. Those of a module are made by its own code, so that the core has none of it.
pub(super) type Boxed<'a> = Pin<Box<dyn Future<Output = Result<JsValue>> + 'a>>;

/// Runs an operation that most pages never ask for. A gate of
/// [`Module::Occasional`](crate::modules::Module::Occasional).
#[inline(never)]
pub(super) fn run_occasional<'a>(instance: &'a Instance, op: Occasional, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(occasional(instance, op, arguments))
}

/// Runs an operation on streams. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(super) fn run_streams<'a>(instance: &'a Instance, op: Streams, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(streams::run(instance, op, arguments))
}

/// Runs an operation that looks inside the store. A gate of [`Module::Inspection`](crate::modules::Module::Inspection).
#[inline(never)]
pub(super) fn run_inspection<'a>(instance: &'a Instance, op: Inspection, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(inspect::run(instance, op, arguments))
}

/// Runs an operation on the answers of clients in other tabs. A gate of
/// [`Module::Answers`](crate::modules::Module::Answers).
#[inline(never)]
pub(super) fn run_answers<'a>(instance: &'a Instance, op: Answers, arguments: &'a Arguments) -> Boxed<'a> {
    Box::pin(async move {
        match op {
            Answers::KeepAnswers => {
                let (life, client) = (arguments.get("life")?, arguments.get("client")?);
                instance.clients().keep_answers(life, client, arguments.get("stores")?).await?;
            }
            Answers::ForgetAnswers => {
                instance.clients().forget_answers(arguments.get("client")?, arguments.get("living")?).await?;
            }
        }
        Ok(JsValue::UNDEFINED)
    })
}

/// Runs a change, unless it was done before: then it gives the answer of that time. A gate of
/// [`Module::Answers`](crate::modules::Module::Answers).
#[inline(never)]
pub(super) fn run_once<'a>(
    instance: &'a Instance,
    op: Administration,
    origin: Option<Origin>,
    work: Boxed<'a>,
) -> Boxed<'a> {
    Box::pin(async move {
        let Some(changed) = instance.clients().changed_before(origin)? else {
            return instance.clients().asked_by(origin, work).await;
        };
        let Administration::Occasional(op) = op else { return Ok(JsValue::UNDEFINED) };
        Ok(match (op, changed) {
            (Occasional::UpdateTable, Changed::Table(table)) => tables::table(&table).to_js(),
            (Occasional::CreateAccessKey, Changed::AccessKey(key)) => access_key(&key, true).to_js(),
            (Occasional::UpdateAccessKey, Changed::AccessKey(key)) => access_key(&key, false).to_js(),
            _ => JsValue::UNDEFINED,
        })
    })
}

/// Its future is a gate of [`Module::Occasional`](crate::modules::Module::Occasional).
async fn occasional(instance: &Instance, op: Occasional, arguments: &Arguments) -> Result<JsValue> {
    let key_id = || arguments.get::<String>("accessKeyId");
    match op {
        Occasional::DescribeTable => return Ok(tables::table(&instance.describe_table(&arguments.table()?)?).to_js()),
        Occasional::UpdateTable => {
            let updated = instance.update_table(tables::update_table(arguments)?).await?;
            return Ok(tables::table(&updated).to_js());
        }
        Occasional::DeleteTable => instance.delete_table(&arguments.table()?).await?,
        Occasional::CreateIndex => {
            let (index, include_base_data) = tables::create_index(arguments)?;
            instance.create_index(&arguments.table()?, index, include_base_data).await?;
        }
        Occasional::DropIndex => {
            let index: String = arguments.get("indexName")?;
            instance.drop_index(&arguments.table()?, &index).await?;
        }
        Occasional::AddDefinedColumn => {
            let columns = arguments.get("columns")?;
            instance.add_defined_column(&arguments.table()?, columns).await?;
        }
        Occasional::DeleteDefinedColumn => {
            let columns: Vec<String> = arguments.get("columns")?;
            instance.delete_defined_column(&arguments.table()?, &columns).await?;
        }
        Occasional::ComputeConsumed => {
            let request = meter::compute_consumed(arguments, instance.prices())?;
            return Ok(meter::consumed(&instance.compute_consumed(&request).await?).to_js());
        }
        Occasional::ComputeStorage => {
            return Ok(meter::stored(instance.compute_storage(&arguments.table()?).await?).to_js());
        }
        Occasional::ComputeSplitPointsBySize => {
            let table = arguments.table()?;
            let splits = instance.compute_split_points_by_size(&splits::request(&table, arguments)?).await;
            return Ok(splits::splits(&splits.map_err(|failure| failure.error)?).to_js());
        }
        Occasional::CreateAccessKey => {
            return Ok(access_key(&create_access_key(instance, arguments).await?, true).to_js());
        }
        Occasional::ListAccessKeys => {
            return Ok(Answer::list(&instance.access_keys().all(), |key| access_key(key, false)).to_js());
        }
        Occasional::UpdateAccessKey => {
            let (id, enabled, rights) = (key_id()?, arguments.get("enabled")?, rights(arguments)?);
            let changed = instance.access_keys().update(&id, enabled, rights).await?;
            return Ok(access_key(&changed, false).to_js());
        }
        Occasional::Compact => instance.compact().await?,
        Occasional::DeleteAccessKey => instance.access_keys().delete(&key_id()?).await?,
        Occasional::ListForeignTable => return Ok(Answer::texts(&instance.foreign_tables()).to_js()),
        Occasional::Missing => return Ok(Answer::list(&instance.missing(), tables::missing).to_js()),
    }
    Ok(JsValue::UNDEFINED)
}
