//! A connection to one IndexedDB database, and what ends it.

use super::Listener;
use super::error::Trouble;
use crate::error::{Code, Error};
use js_sys::{Promise, Reflect};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbFactory, IdbOpenDbRequest};

/// The version of every database of ours, for ever: what changes is inside the records, so no open tab can ever block
/// an upgrade.
const VERSION: u32 = 1;

/// Whether a database that is not there is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Make it.
    Create,
    /// Fail, and leave nothing behind.
    Refuse,
}

/// What happened to a connection behind our back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    #[default]
    Open,
    /// The browser closed it: the site's data was cleared, its process died, a mobile browser woke up.
    Lost,
    /// Somebody deletes the database; it was closed to let them.
    Deleted,
}

/// An open database. Closed when dropped.
pub(super) struct Connection {
    database: IdbDatabase,
    fate: Rc<Cell<Fate>>,
    listeners: [(&'static str, Listener); 2],
}

impl Connection {
    /// Opens the database called `name`, which has the object stores `stores`.
    pub(super) async fn open(name: &str, stores: &'static [&'static str], missing: Missing) -> Result<Self, Trouble> {
        let trouble = Rc::<Cell<Option<Trouble>>>::default();
        let request = factory()?.open_with_u32(name, VERSION)?;
        let upgrade = {
            let (request, trouble) = (request.clone(), Rc::clone(&trouble));
            let missing = (missing == Missing::Refuse).then(|| format!("there is no database {name:?}"));
            Listener::new(move |_| {
                if let Err(error) = upgrade(&request, stores, missing.as_deref()) {
                    trouble.set(Some(error));
                    // An upgrade that is aborted leaves no database behind.
                    let _ = request.transaction().map(|transaction| transaction.abort());
                }
            })
        };
        let upgrading = Upgrading(request.clone());
        request.set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
        let opened = answer(&request).await;
        drop(upgrading);
        if let Some(trouble) = trouble.take() {
            return Err(trouble);
        }
        let database: IdbDatabase = opened?.unchecked_into();
        let fate = Rc::<Cell<Fate>>::default();
        let on_close = {
            let fate = Rc::clone(&fate);
            Listener::new(move |_| fate.set(Fate::Lost))
        };
        let on_versionchange = {
            let (fate, raw) = (Rc::clone(&fate), database.clone());
            Listener::new(move |_| {
                fate.set(Fate::Deleted);
                raw.close();
            })
        };
        let listeners = [("close", on_close), ("versionchange", on_versionchange)];
        for (event, listener) in &listeners {
            database.add_event_listener_with_callback(event, listener.as_ref().unchecked_ref())?;
        }
        Ok(Self { database, fate, listeners })
    }

    /// The browser's own object.
    pub(super) fn raw(&self) -> &IdbDatabase {
        &self.database
    }

    /// What happened to it.
    pub(super) fn fate(&self) -> Fate {
        self.fate.get()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for (event, listener) in &self.listeners {
            let _ = self.raw().remove_event_listener_with_callback(event, listener.as_ref().unchecked_ref());
        }
        self.raw().close();
    }
}

/// What IndexedDB is called wherever there is one, in pages and workers.
fn factory() -> Result<IdbFactory, Trouble> {
    let factory = Reflect::get(&js_sys::global(), &"indexedDB".into())?;
    if factory.is_object() {
        return Ok(factory.unchecked_into());
    }
    Err(Error::new(Code::Unavailable, "there is no IndexedDB here").into())
}

/// Waits until a database is open, or deleted.
async fn answer(request: &IdbOpenDbRequest) -> Result<JsValue, Trouble> {
    let answered = Promise::new(&mut |resolve, reject| {
        request.set_onsuccess(Some(&resolve));
        request.set_onerror(Some(&reject));
    });
    match JsFuture::from(answered).await {
        Ok(_) => Ok(request.result()?),
        Err(_) => Err(Trouble::of(&request.error()?.map_or(JsValue::NULL, JsValue::from))),
    }
}

/// Takes the listener off before it is freed, also when nobody waits for the opening any more.
struct Upgrading(IdbOpenDbRequest);

impl Drop for Upgrading {
    fn drop(&mut self) {
        self.0.set_onupgradeneeded(None);
    }
}

/// Fills a database that is new.
fn upgrade(request: &IdbOpenDbRequest, stores: &[&str], refuse: Option<&str>) -> Result<(), Trouble> {
    if let Some(message) = refuse {
        return Err(Error::new(Code::ObjectNotExist, message).into());
    }
    let database: IdbDatabase = request.result()?.unchecked_into();
    for store in stores {
        database.create_object_store(store)?;
    }
    Ok(())
}

/// Deletes the database called `name`; succeeds too where there is none. Every connection of ours closes itself when it
/// hears of it.
pub(super) async fn delete(name: &str) -> Result<(), Trouble> {
    answer(&factory()?.delete_database(name)?).await.map(drop)
}
