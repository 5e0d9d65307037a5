//! An open instance: what sessions, doors and administration call. Its methods are those of the service; each passes the
//! instance's [`State`] to the operation.

mod rows;
mod tables;

use super::foreign::ForeignTables;
use super::inspect::Inspection;
use super::operations::access_admin::AccessKeyAdmin;
use super::operations::answering::Clients;
use super::operations::build::start_builds;
use super::operations::open;
use super::state::{InstanceOptions, State};
use super::stream::Streams;
use crate::engine::{Engine, Metrics, TreeId};
use crate::env::LocalFuture;
use crate::error::{Error, Result};
use crate::model::{Limits, TableName};
use crate::modules::Module;
use std::cell::Cell;
use std::rc::{Rc, Weak};

/// An open instance: the tables of one engine (I1).
pub struct Instance {
    state: Rc<State>,
    /// The last timestamp of an entity of Azure, in its ticks.
    last_tick: Cell<i64>,
}

impl Instance {
    /// Opens the instance in `engine`.
    ///
    /// # Errors
    /// `Corrupt` if the stored catalog is damaged; errors of reading it.
    pub async fn open(engine: Rc<Engine>, options: InstanceOptions) -> Result<Rc<Self>> {
        let state = open::open(engine, options).await?;
        Ok(Rc::new(Self { state, last_tick: Cell::default() }))
    }

    /// Its access keys.
    #[must_use]
    pub fn access_keys(&self) -> AccessKeyAdmin<'_> {
        AccessKeyAdmin { state: &self.state }
    }

    /// Its clients in other tabs, whose answers may outlive the engine.
    #[must_use]
    pub fn clients(&self) -> Clients<'_> {
        Clients { state: &self.state }
    }

    /// Its tables of other data models.
    #[must_use]
    pub fn foreign(&self) -> ForeignTables<'_> {
        ForeignTables { state: &self.state }
    }

    /// The names of its tables of other data models, sorted.
    #[must_use]
    pub fn foreign_tables(&self) -> Vec<String> {
        self.state.catalog.names(true)
    }

    /// The streams of its tables.
    #[must_use]
    pub fn streams(&self) -> Streams<'_> {
        Streams { state: &self.state }
    }

    /// A look inside.
    #[must_use]
    pub fn inspect(&self) -> Inspection<'_> {
        Inspection { state: &self.state }
    }

    /// The memory limit of a memtable, bytes.
    pub fn memtable_bytes(&self) -> usize {
        self.state.engine.options().memtable_bytes
    }

    /// The instance's limits.
    pub fn limits(&self) -> &Limits {
        &self.state.options.limits
    }

    /// The last timestamp of an entity of Azure, in its ticks.
    pub(crate) fn last_tick(&self) -> &Cell<i64> {
        &self.last_tick
    }

    /// The store's clock, in milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        self.state.engine.clock().now_ms()
    }

    /// Loads the code of a module, unless it is there.
    ///
    /// # Errors
    /// `Unavailable` when its file cannot be had.
    pub fn load(&self, module: Module) -> LocalFuture<Result<()>> {
        self.state.engine.env().load(module)
    }

    /// Random bytes.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        self.state.engine.random()
    }

    /// Sets the listener for problems that do not end the instance, and for their end (`None`): a jump of the device's clock, a
    /// damaged record in a compaction, a damaged index in a read, or failed background work. A problem of one table names it.
    /// Problems that were not reported yet are reported at once.
    pub fn on_trouble(&self, listener: impl Fn(Option<&Error>) + 'static) {
        let me = Weak::clone(&self.state.me);
        self.state.engine.health().listen(move |tree, trouble| {
            let name = tree.zip(me.upgrade()).and_then(|(tree, state)| state.catalog.name_of(tree));
            match trouble.zip(name) {
                Some((trouble, name)) => {
                    let text = format!("Table '{name}': {}", trouble.message());
                    listener(Some(&trouble.clone().with_message(text)));
                }
                None => listener(trouble),
            }
        });
    }

    /// Flushes memory to segments.
    ///
    /// # Errors
    /// Errors of the storage.
    pub async fn flush(&self) -> Result<()> {
        drop(self.state.save_meter().await);
        self.state.engine.flush().await
    }

    /// Merges all segments, and removes data for good that no read can see (V3, V5).
    ///
    /// # Errors
    /// Errors of the storage.
    pub async fn compact(&self) -> Result<()> {
        start_builds(&self.state);
        self.state.engine.compact().await
    }

    /// Closes the instance; every later operation fails with `Closed`.
    pub async fn close(&self) {
        drop(self.state.save_meter().await);
        self.state.engine.close().await;
    }

    /// The engine's metrics.
    pub fn metrics(&self) -> Metrics {
        self.state.engine.metrics()
    }

    /// The tree that holds a table's rows.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub fn tree_of(&self, table: TableName<'_>) -> Result<TreeId> {
        self.state.catalog.table(table).map(|table| table.tree())
    }
}
