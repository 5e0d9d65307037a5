//! The list of this origin's instances: a small database of its own, `tabstore`, open only while it is used.
//!
//! A row is `{ name, kind, created, opened }`. Its key is the name in lower case, because names are unique without regard to
//! case (I2). The catalogue knows nothing of the data of an instance.

use super::connection::{Connection, Missing};
use super::error::Trouble;
use super::transaction::{Read, Write};
use super::{IdbStorage, to_number};
use crate::error::{Code, Error, Result};
use crate::model::InstanceName;
use crate::wasm::admin::Members;
use js_sys::{Array, Reflect};
use wasm_bindgen::JsValue;

const DATABASE: &str = "tabstore";
const STORE: &str = "instances";

/// The catalogue's row of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The name, spelt as at creation.
    pub name: String,
    /// The kind (I4), chosen at creation and never changed.
    pub kind: String,
    /// The time of creation, in milliseconds since 1970 UTC.
    pub created: i64,
    /// Whether it has been opened, so that its database has data. Rows of older versions do not say so.
    pub opened: bool,
}

impl Instance {
    fn to_js(&self) -> JsValue {
        let (name, kind) = (self.name.as_str(), self.kind.as_str());
        Members::default()
            .and("name", name)
            .and("kind", kind)
            .and("created", self.created)
            .and("opened", self.opened)
            .end()
            .to_js()
    }

    fn from_js(row: &JsValue) -> Result<Self> {
        let damaged = |field: &str| Error::corrupt("a row of the list of instances", format_args!("no {field}"));
        let read = |field: &str| Reflect::get(row, &JsValue::from_str(field)).map_err(|_| damaged(field));
        let text = |field: &str| read(field)?.as_string().ok_or_else(|| damaged(field));
        let created = i64::try_from(to_number(&read("created")?)?).map_err(|_| damaged("created"))?;
        let opened = read("opened")?.is_truthy();
        Ok(Self { name: text("name")?, kind: text("kind")?, created, opened })
    }
}

/// All instances, by name.
///
/// # Errors
/// `Unavailable` where there is no IndexedDB, or it does not work.
pub async fn list() -> Result<Vec<Instance>> {
    let read = async || {
        let connection = open().await?;
        let read = Read::begin(connection.raw(), &[STORE]).await?;
        let rows = read.answer(&read.store(STORE)?.get_all()?).await?;
        Ok::<_, Trouble>(Array::from(&rows).iter().map(|row| Instance::from_js(&row)).collect::<Result<Vec<_>>>()?)
    };
    read().await.map_err(|trouble| trouble.into_error("reading the list of instances"))
}

/// The instance called `name`.
///
/// # Errors
/// `OTSObjectNotExist` if there is none; else as for [`list`].
pub async fn describe(name: &InstanceName) -> Result<Instance> {
    let read = async || {
        let connection = open().await?;
        let read = Read::begin(connection.raw(), &[STORE]).await?;
        let row = read.answer(&read.store(STORE)?.get(&name.key().into())?).await?;
        Ok::<_, Trouble>(if row.is_undefined() { None } else { Some(Instance::from_js(&row)?) })
    };
    let found = read().await.map_err(|trouble| trouble.into_error("reading the list of instances"))?;
    found.ok_or_else(|| not_there(name))
}

/// Adds an instance. `most` is the greatest number of instances.
///
/// # Errors
/// `OTSObjectAlreadyExist`, `OTSQuotaExhausted`, `QuotaExceeded`; else as for [`list`].
pub async fn add(name: &InstanceName, instance: &Instance, most: u32) -> Result<()> {
    let write = async || {
        let connection = open().await?;
        let mut write = Write::begin(connection.raw(), &[STORE], &JsValue::UNDEFINED).await?;
        let store = write.store(STORE)?;
        store.add_with_key(&instance.to_js(), &name.key().into())?;
        // The transaction that adds also counts, so two tabs cannot both create the last one.
        write.guard(&store.count()?, move |count| {
            if to_number(&count)? <= u64::from(most) {
                return Ok(());
            }
            Err(Error::new(Code::QuotaExhausted, format!("Number of instances exceeds the limit: {most}.")))
        });
        write.finish().await
    };
    write().await.map_err(|trouble| match trouble {
        // `add` found that the key exists.
        Trouble::Final(error) if error.code() == Code::Fenced => {
            Error::new(Code::ObjectAlreadyExist, format!("Requested instance '{name}' already exists."))
        }
        trouble => trouble.into_error("adding to the list of instances"),
    })
}

/// Records whether an instance has been opened.
///
/// # Errors
/// As for [`list`]; `QuotaExceeded`.
pub async fn set_opened(name: &InstanceName, instance: &Instance, opened: bool) -> Result<()> {
    let row = Instance { opened, ..instance.clone() }.to_js();
    let write = async || {
        let connection = open().await?;
        let write = Write::begin(connection.raw(), &[STORE], &JsValue::UNDEFINED).await?;
        write.store(STORE)?.put_with_key(&row, &name.key().into())?;
        write.finish().await
    };
    write().await.map_err(|trouble| trouble.into_error("changing the list of instances"))
}

/// Deletes an instance: first its data, then its row. After a crash in between, the instance is still listed and can be
/// deleted again. Its data does not count as lost then.
///
/// # Errors
/// `OTSObjectNotExist` if there is none; else as for [`list`].
pub async fn delete(name: &InstanceName) -> Result<()> {
    let instance = describe(name).await?;
    if instance.opened {
        // On a full disk it may be impossible. Deletions go on all the same.
        let _ = set_opened(name, &instance, false).await;
    }
    IdbStorage::delete(name.key()).await?;
    let write = async || {
        let connection = open().await?;
        let write = Write::begin(connection.raw(), &[STORE], &JsValue::UNDEFINED).await?;
        write.store(STORE)?.delete(&name.key().into())?;
        write.finish().await
    };
    write().await.map_err(|trouble| trouble.into_error("deleting from the list of instances"))
}

pub(crate) fn not_there(name: &InstanceName) -> Error {
    Error::new(Code::ObjectNotExist, format!("Requested instance '{name}' does not exist."))
}

async fn open() -> Result<Connection, Trouble> {
    Connection::open(DATABASE, &[STORE], Missing::Create, || {}).await
}
