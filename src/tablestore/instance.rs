//! An open instance: its state, its opening and closing. Its operations are in the other files.

use super::rows::time::Stamper;
use super::state::access::AccessKey;
use super::state::answers::{self, Answers};
use super::state::transaction::Transactions;
use super::state::{catalog, salvage};
use super::stream::write::{keep, recorder};
use super::table::foreign_names::{is_foreign, may_be_foreign};
use super::table::unknown_table;
use super::table::{Index, Table};
use super::units::meter::{self, Meter};
use super::units::throttle::{Throttle, ThrottleOptions};
use crate::collections::small_map::SmallMap;
use crate::collections::turns::{Turn, Turns};
use crate::engine::{Engine, Metrics, Origin, TreeId};
use crate::env::LocalFuture;
use crate::error::{Code, Error, Result};
use crate::model::meter::Prices;
use crate::model::version::Retention;
use crate::model::{InstanceKind, Limits, TableName};
use crate::modules::Module;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Options of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceOptions {
    /// Its limits and quotas.
    pub limits: Limits,
    /// Its kind (I4).
    pub kind: InstanceKind,
    /// The price of capacity units (C3).
    pub prices: Prices,
    /// The limits of a second (C5).
    pub throttle: ThrottleOptions,
}

/// An open instance: the tables of one engine (I1).
pub struct Instance {
    /// For background work, which ends with the last holder of the instance.
    pub(super) me: Weak<Self>,
    pub(super) engine: Rc<Engine>,
    pub(super) options: InstanceOptions,
    pub(super) tables: RefCell<SmallMap<String, Rc<Table>>>,
    pub(super) next_tree: Cell<u32>,
    /// The access keys, ascending by id.
    pub(super) keys: RefCell<Vec<AccessKey>>,
    pub(super) stamper: RefCell<Stamper>,
    pub(super) transactions: Transactions,
    /// Turns for changes of the catalog.
    changing: Turns,
    pub(super) meter: Rc<Meter>,
    pub(super) answers: Answers,
    /// The sender of the change of the catalog that is being polled; see [`Instance::asked_by`].
    pub(super) asking: Cell<Option<Origin>>,
    pub(super) throttle: Throttle,
    /// The last timestamp of an entity of Azure, in its ticks.
    last_tick: Cell<i64>,
}

impl Instance {
    /// The memory limit of a memtable, bytes.
    pub fn memtable_bytes(&self) -> usize {
        self.engine.memtable_bytes()
    }

    /// Opens the instance in `engine`.
    ///
    /// # Errors
    /// `Corrupt` if the stored catalog is damaged; errors of reading it.
    pub async fn open(engine: Rc<Engine>, options: InstanceOptions) -> Result<Rc<Self>> {
        let mut catalog = catalog::load(&engine).await?;
        // Writes of tables with streams need it at once. A salvage reads all trees.
        if catalog.tables.iter().any(Table::is_streamed) || engine.is_read_only() && engine.awaits_recorder() {
            engine.load(Module::Streams).await?;
            engine.set_recorder(recorder);
        }
        if engine.is_read_only() {
            Box::pin(salvage::find_tables(&engine, &mut catalog)).await?;
        }
        Self::start_meter(&engine);
        engine.set_retention(answers::TREE, Retention { max_versions: 1, time_to_live: None });
        // Documents of the layer above never expire.
        engine.set_retention(TreeId::DOCUMENTS, Retention { max_versions: 1, time_to_live: None });
        let mut live = vec![catalog::TREE, meter::TREE, answers::TREE, TreeId::DOCUMENTS];
        let mut tables = SmallMap::default();
        for table in catalog.tables {
            engine.set_retention(table.tree(), table.options().retention());
            live.push(table.tree());
            if let Some(stream) = table.stream() {
                keep(&engine, &stream);
                live.push(stream.tree);
            }
            tables.insert(table.name().to_owned(), Rc::new(table));
        }
        engine.retain_trees(&live);
        let instance = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            options,
            tables: RefCell::new(tables),
            next_tree: Cell::new(catalog.next_tree),
            keys: RefCell::new(catalog.keys),
            stamper: RefCell::new(Stamper::new(engine.last_stamp())),
            transactions: Transactions::default(),
            changing: Turns::default(),
            meter: Rc::default(),
            answers: Answers::default(),
            asking: Cell::default(),
            throttle: Throttle::new(options.throttle),
            last_tick: Cell::default(),
            engine,
        });
        let names: Vec<_> = instance.tables.borrow().keys().cloned().collect();
        names.iter().for_each(|name| instance.relink(name));
        instance.start_builds();
        instance.trim_streams();
        Ok(instance)
    }

    /// Gives a table its indexes, in the order of their creation, then of their names.
    pub(super) fn relink(&self, base: &str) {
        let tables = self.tables.borrow();
        let Some(table) = tables.get(base) else { return };
        // Their overlays lack the rows of new indexes.
        self.transactions.end_of_table(table);
        self.engine.end_loads(table.tree());
        let indexes = tables.values().filter_map(Index::of).filter(|index| index.meta.base == base);
        let mut sorted: Vec<Index> = Vec::new();
        for index in indexes {
            let place = sorted.partition_point(|other| other.table.created() <= index.table.created());
            sorted.insert(place, index);
        }
        table.set_indexes(sorted);
    }

    /// The instance's limits.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The last timestamp of an entity of Azure, in its ticks.
    pub(crate) fn last_tick(&self) -> &Cell<i64> {
        &self.last_tick
    }

    /// The store's clock, in milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        self.engine.now_ms()
    }

    /// Loads the code of a module, unless it is there.
    ///
    /// # Errors
    /// `Unavailable` when its file cannot be had.
    pub fn load(&self, module: Module) -> LocalFuture<Result<()>> {
        self.engine.load(module)
    }

    /// Random bytes.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        self.engine.random()
    }

    /// Sets the listener for problems that do not end the instance, and for their end (`None`); see
    /// [`Engine::on_trouble`]. A problem of one table names it.
    pub fn on_trouble(&self, listener: impl Fn(Option<&Error>) + 'static) {
        let me = Weak::clone(&self.me);
        self.engine.on_trouble(move |tree, trouble| {
            let name = tree.zip(me.upgrade()).and_then(|(tree, instance)| instance.name_of(tree));
            match trouble.zip(name) {
                Some((trouble, name)) => {
                    let text = format!("Table '{name}': {}", trouble.message());
                    listener(Some(&trouble.clone().with_message(text)));
                }
                None => listener(trouble),
            }
        });
    }

    /// The name of the table whose rows a tree holds.
    pub(super) fn name_of(&self, tree: TreeId) -> Option<String> {
        let tables = self.tables.borrow();
        tables.values().find(|table| table.tree() == tree).map(|table| table.name().to_owned())
    }

    /// Flushes memory to segments.
    ///
    /// # Errors
    /// Errors of the storage.
    pub async fn flush(&self) -> Result<()> {
        drop(self.save_meter().await);
        self.engine.flush().await
    }

    /// Merges all segments, and removes data for good that no read can see (V3, V5).
    ///
    /// # Errors
    /// Errors of the storage.
    pub async fn compact(&self) -> Result<()> {
        self.start_builds();
        self.engine.compact().await
    }

    /// Closes the instance; every later operation fails with `Closed`.
    pub async fn close(&self) {
        drop(self.save_meter().await);
        self.engine.close().await;
    }

    /// The engine's metrics.
    pub fn metrics(&self) -> Metrics {
        self.engine.metrics()
    }

    /// The tree that holds a table's rows.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub fn tree_of(&self, table: TableName<'_>) -> Result<TreeId> {
        self.table(table).map(|table| table.tree())
    }

    /// Waits until every earlier change of the catalog is complete.
    pub(super) async fn change(&self) -> Turn {
        self.changing.wait_for(&[]).await
    }

    /// A table that can be read.
    pub(super) fn readable(&self, name: TableName<'_>) -> Result<Rc<Table>> {
        let table = self.table(name)?;
        if table.is_building() {
            return Err(Error::parameter("Disallow read index table in building base state"));
        }
        Ok(table)
    }

    pub(super) fn table(&self, name: TableName<'_>) -> Result<Rc<Table>> {
        let tables = self.tables.borrow();
        let own = || tables.keys().filter(|name| !is_foreign(name));
        tables.get(name.as_str()).map(Rc::clone).ok_or_else(|| unknown_table::error(name.as_str(), own()))
    }

    /// A table of this data model, or of another one: for what all of them have.
    pub(super) fn any_table(&self, name: &str) -> Result<Rc<Table>> {
        if !may_be_foreign(name) {
            return self.table(TableName::parse(name)?);
        }
        let unknown = || Error::new(Code::ObjectNotExist, "Requested table does not exist.");
        self.foreign_table(name).ok_or_else(unknown)
    }

    /// The foreign table of this name, in any case of ASCII letters.
    #[must_use]
    pub fn foreign_table(&self, name: &str) -> Option<Rc<Table>> {
        let tables = self.tables.borrow();
        let alike =
            || tables.values().find(|table| is_foreign(table.name()) && table.name().eq_ignore_ascii_case(name));
        tables.get(name).or_else(alike).map(Rc::clone)
    }

    /// The names of all foreign tables, sorted.
    #[must_use]
    pub fn foreign_tables(&self) -> Vec<String> {
        self.tables.borrow().keys().filter(|name| is_foreign(name)).cloned().collect()
    }
}
