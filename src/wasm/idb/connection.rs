//! A connection to one IndexedDB database, and the events that end it.

use super::error::Trouble;
use crate::error::{Code, Error};
use indexed_db_futures::database::Database;
use indexed_db_futures::internals::SystemRepr as _;
use indexed_db_futures::prelude::*;
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::{Event, IdbDatabase, IdbOpenDbRequest, IdbVersionChangeEvent};

/// The version of each of our databases, for ever. Only the contents of records change, so an open tab never blocks an
/// upgrade.
const VERSION: u32 = 1;

/// The object stores of an instance's database.
pub(super) const LOG: &str = "log";
pub(super) const BLOCKS: &str = "blocks";
pub(super) const MANIFEST: &str = "manifest";
pub(super) const STORES: &[&str] = &[LOG, BLOCKS, MANIFEST];

/// A listener for events of IndexedDB.
pub(super) type Listener = Closure<dyn FnMut(Event)>;

/// Whether a missing database is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Create it.
    Create,
    /// Fail, and leave nothing behind.
    Refuse,
}

/// The event that ended a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    #[default]
    Open,
    /// The browser closed it: the site's data was cleared, the browser's process died, or a mobile browser woke up.
    Lost,
    /// Another connection deletes the database. This one was closed to allow that.
    Deleted,
    /// Another connection opens the database with a higher version. This one was closed to allow that.
    Outdated,
}

/// An open database. Dropping closes it.
pub(super) struct Connection {
    database: Database,
    fate: Rc<Cell<Fate>>,
    listeners: [(&'static str, Listener); 2],
}

impl Connection {
    /// Opens the database called `name` with the object stores `stores`. `on_end` is called when an event ends the connection.
    pub(super) async fn open(
        name: &str,
        stores: &'static [&'static str],
        missing: Missing,
        on_end: impl Fn() + 'static,
    ) -> Result<Self, Trouble> {
        let trouble = Rc::<Cell<Option<Trouble>>>::default();
        let request = Database::open(name).with_version(VERSION).build()?;
        let upgrade = {
            let (request, trouble) = (request.as_sys().clone(), Rc::clone(&trouble));
            let missing = (missing == Missing::Refuse).then(|| format!("there is no database '{name}'"));
            Listener::new(move |_| {
                if let Err(error) = upgrade(&request, stores, missing.as_deref()) {
                    trouble.set(Some(error));
                    // An aborted upgrade leaves no database.
                    let _ = request.transaction().map(|transaction| transaction.abort());
                }
            })
        };
        let upgrading = Upgrading(request.as_sys().clone());
        request.as_sys().set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
        let opened = request.await;
        drop(upgrading);
        if let Some(trouble) = trouble.take() {
            return Err(trouble);
        }
        let database = opened?;
        let fate = Rc::<Cell<Fate>>::default();
        let raw = database.as_sys();
        let on_end = Rc::new(on_end);
        let on_close = {
            let (fate, on_end) = (Rc::clone(&fate), Rc::clone(&on_end));
            Listener::new(move |_| {
                fate.set(Fate::Lost);
                on_end();
            })
        };
        let on_versionchange = {
            let (fate, raw) = (Rc::clone(&fate), raw.clone());
            Listener::new(move |event: Event| {
                let version = event.unchecked_ref::<IdbVersionChangeEvent>().new_version();
                fate.set(if version.is_none() { Fate::Deleted } else { Fate::Outdated });
                raw.close();
                on_end();
            })
        };
        let listeners = [("close", on_close), ("versionchange", on_versionchange)];
        for (event, listener) in &listeners {
            raw.add_event_listener_with_callback(event, listener.as_ref().unchecked_ref())?;
        }
        Ok(Self { database, fate, listeners })
    }

    /// The browser's object.
    pub(super) fn raw(&self) -> &IdbDatabase {
        self.database.as_sys()
    }

    /// The event that ended it.
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

/// Removes the listener before it is freed, also if the opening is no longer awaited.
struct Upgrading(IdbOpenDbRequest);

impl Drop for Upgrading {
    fn drop(&mut self) {
        self.0.set_onupgradeneeded(None);
    }
}

/// Fills a new database. The crate's own way prints errors of uncaught exceptions. That includes all code for printing
/// doubles, 20 KB.
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

/// Deletes the database called `name`. Succeeds too if there is none. Each of our connections to it closes itself when
/// it gets the event.
pub(super) async fn delete(name: &str) -> Result<(), Trouble> {
    Ok(Database::delete_by_name(name)?.await?)
}
