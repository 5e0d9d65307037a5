//! A connection that is opened again when the browser ends it, until the data is lost for good.

use super::connection::{Connection, Fate, Missing, STORES};
use super::error::Trouble;
use super::transaction::Write;
use super::turn;
use crate::error::{Code, Error};
use crate::storage::closed;
use js_sys::{Function, Promise};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, milliseconds: u32);
}

type OnEnd = Box<dyn FnOnce(&Error)>;

/// A database and its current connection.
pub(super) struct Link {
    name: String,
    connection: RefCell<Option<Rc<Connection>>>,
    closed: Cell<bool>,
    /// The error that ended the link. It stays: a new database under our name is not ours.
    end: RefCell<Option<Error>>,
    on_end: Cell<Option<OnEnd>>,
}

impl Link {
    /// Opens the database called `name`.
    pub(super) async fn open(name: String, missing: Missing) -> Result<Rc<Self>, Trouble> {
        let (connection, end) = (RefCell::default(), RefCell::default());
        let link = Rc::new(Self { name, connection, closed: Cell::new(false), end, on_end: Cell::default() });
        let connection = match link.connect(missing).await {
            // A browser that has just recovered from a crash or from sleep fails once (`Internal error opening ...`).
            Err(Trouble::Lost(_)) => link.connect(missing).await,
            other => other,
        };
        link.connection.replace(Some(connection?));
        Ok(link)
    }

    async fn connect(self: &Rc<Self>, missing: Missing) -> Result<Rc<Connection>, Trouble> {
        let link = Rc::downgrade(self);
        let look = move || {
            if let Some(link) = link.upgrade() {
                spawn_local(link.look());
            }
        };
        Ok(Rc::new(Connection::open(&self.name, STORES, missing, look).await?))
    }

    /// Looks whether the data still exists, so that the listener hears of a loss without a call.
    async fn look(self: Rc<Self>) {
        // While a site's data is being cleared, every opening fails.
        let mut wait = 10;
        while let Err(Trouble::Lost(_)) = self.connection().await
            && wait < 500
        {
            let mut sleep = |resolve: Function, _| set_timeout(&resolve, wait);
            // It cannot fail: nothing rejects it.
            let _ = JsFuture::from(Promise::new(&mut sleep)).await;
            wait *= 2;
        }
    }

    /// Whether the connection works, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        self.connection.borrow().as_ref().is_some_and(|connection| connection.fate() == Fate::Open)
    }

    /// Whether the engine closed it.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Sets the listener that is called when the data is lost for good.
    pub(super) fn on_end(&self, listener: OnEnd) {
        match &*self.end.borrow() {
            Some(error) => listener(error),
            None => self.on_end.set(Some(listener)),
        }
    }

    /// The connection. It is opened again if it was lost.
    pub(super) async fn connection(self: &Rc<Self>) -> Result<Rc<Connection>, Trouble> {
        if let Some(error) = self.broken() {
            return Err(error.into());
        }
        let current = self.connection.borrow().clone();
        if let Some(connection) = current {
            match connection.fate() {
                Fate::Open => return Ok(connection),
                Fate::Lost => drop(self.connection.take()),
                Fate::Deleted => return Err(self.end("was deleted while it was open").into()),
                Fate::Outdated => {
                    return Err(self.end("was opened by another program, which gave it a version of its own").into());
                }
            }
        }
        // A lost database is not created again. The engine would take the empty one for its data.
        let opened = match self.connect(Missing::Refuse).await {
            Err(Trouble::Final(error)) if error.code() == Code::ObjectNotExist => {
                return Err(self.end("was deleted while it was open: the site's data was cleared").into());
            }
            other => other?,
        };
        if let Some(error) = self.broken() {
            return Err(error.into());
        }
        // Another call may have opened one meanwhile. One connection is enough.
        let mut current = self.connection.borrow_mut();
        match &*current {
            Some(connection) if connection.fate() == Fate::Open => Ok(Rc::clone(connection)),
            _ => Ok(Rc::clone(current.insert(opened))),
        }
    }

    fn broken(&self) -> Option<Error> {
        if self.closed.get() { Some(closed()) } else { self.end.borrow().clone() }
    }

    /// Ends the link for good and tells the listener.
    fn end(&self, what: &str) -> Error {
        let error = Error::new(Code::Closed, format!("the database '{}' {what}", self.name));
        self.end.replace(Some(error.clone()));
        drop(self.connection.take());
        if let Some(listener) = self.on_end.take() {
            listener(&error);
        }
        error
    }

    /// Drops a broken connection, unless it was replaced already, or the database was deleted or upgraded.
    pub(super) fn give_up(&self, connection: &Rc<Connection>) {
        let mut current = self.connection.borrow_mut();
        let known = matches!(connection.fate(), Fate::Deleted | Fate::Outdated);
        if !known && current.as_ref().is_some_and(|held| Rc::ptr_eq(held, connection)) {
            *current = None;
        }
    }

    /// Closes it at once. What waits for its turn is not done any more.
    pub(super) fn cut(&self) {
        self.closed.set(true);
        if let Some(connection) = self.connection.take() {
            connection.raw().close();
            turn::abort(connection.raw());
        }
    }

    /// Closes it.
    ///
    /// It waits for transactions: reads are answered before theirs end, and some are not awaited any more. If a worker ends
    /// before they do, WebKit never closes its connection, and every deletion of the database waits for ever.
    pub(super) async fn close(&self) {
        self.closed.set(true);
        let connection = self.connection.take();
        let Some(connection) = connection else { return };
        // An empty one that may write comes after all others.
        if let Ok(last) = Write::begin(connection.raw(), STORES, &JsValue::UNDEFINED).await {
            // The browser may have ended the connection meanwhile.
            let _ = last.finish().await;
        }
    }
}
