//! The tables of an open instance, and who changes them.

use crate::collections::small_map::SmallMap;
use crate::collections::turns::{Turn, Turns};
use crate::engine::{Origin, TreeId};
use crate::error::{Code, Error, Result};
use crate::model::TableName;
use crate::tablestore::table::foreign_names::{is_foreign, may_be_foreign};
use crate::tablestore::table::{Index, Table, unknown_table};
use std::cell::{Cell, Ref, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

/// The tables of an open instance; indexes and foreign tables are among them.
pub(crate) struct Catalog {
    tables: RefCell<SmallMap<String, Rc<Table>>>,
    next_tree: Cell<u32>,
    /// Turns for changes.
    changing: Turns,
    /// The sender of the change that is being polled; see [`Catalog::asked_by`].
    asking: Cell<Option<Origin>>,
}

impl Catalog {
    pub(crate) fn new(tables: SmallMap<String, Rc<Table>>, next_tree: u32) -> Self {
        let (tables, next_tree) = (RefCell::new(tables), Cell::new(next_tree));
        Self { tables, next_tree, changing: Turns::default(), asking: Cell::default() }
    }

    /// All tables, by their names.
    pub(crate) fn all(&self) -> Ref<'_, SmallMap<String, Rc<Table>>> {
        self.tables.borrow()
    }

    /// The table of this name, of whichever data model, if there is one.
    pub(crate) fn get(&self, name: &str) -> Option<Rc<Table>> {
        self.tables.borrow().get(name).map(Rc::clone)
    }

    /// Whether this table still exists under its name: it may have been dropped, or got another tree.
    pub(crate) fn has(&self, table: &Rc<Table>) -> bool {
        self.tables.borrow().get(table.name()).is_some_and(|known| Rc::ptr_eq(known, table))
    }

    /// The table for an operation's units, if it exists. An operation that waits must ask before, because another table
    /// may have the name afterwards.
    pub(crate) fn named(&self, name: TableName<'_>) -> Option<Rc<Table>> {
        self.get(name.as_str())
    }

    /// The table of this name.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub(crate) fn table(&self, name: TableName<'_>) -> Result<Rc<Table>> {
        let tables = self.tables.borrow();
        let own = || tables.keys().filter(|name| !is_foreign(name));
        tables.get(name.as_str()).map(Rc::clone).ok_or_else(|| unknown_table::error(name.as_str(), own()))
    }

    /// A table that can be read.
    ///
    /// # Errors
    /// `OTSObjectNotExist`; `OTSParameterInvalid` for an index that is being built.
    pub(crate) fn readable(&self, name: TableName<'_>) -> Result<Rc<Table>> {
        let table = self.table(name)?;
        if table.is_building() {
            return Err(Error::parameter("Disallow read index table in building base state"));
        }
        Ok(table)
    }

    /// A table of this data model, or of another one: for what all of them have.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub(crate) fn any(&self, name: &str) -> Result<Rc<Table>> {
        if !may_be_foreign(name) {
            return self.table(TableName::parse(name)?);
        }
        self.existing_foreign(name)
    }

    /// The foreign table of this name, which has to exist.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub(crate) fn existing_foreign(&self, name: &str) -> Result<Rc<Table>> {
        let unknown = || Error::new(Code::ObjectNotExist, "Requested table does not exist.");
        self.foreign(name).ok_or_else(unknown)
    }

    /// The foreign table of this name, in any case of ASCII letters.
    pub(crate) fn foreign(&self, name: &str) -> Option<Rc<Table>> {
        let tables = self.tables.borrow();
        let alike =
            || tables.values().find(|table| is_foreign(table.name()) && table.name().eq_ignore_ascii_case(name));
        tables.get(name).or_else(alike).map(Rc::clone)
    }

    /// The names of all foreign tables, or of all others; sorted.
    pub(crate) fn names(&self, foreign: bool) -> Vec<String> {
        self.tables.borrow().keys().filter(|name| is_foreign(name) == foreign).cloned().collect()
    }

    /// The names of all tables that are neither foreign nor an index, sorted.
    pub(crate) fn base_names(&self) -> Vec<String> {
        let tables = self.tables.borrow();
        let own = tables.values().filter(|table| table.index_of().is_none() && !is_foreign(table.name()));
        own.map(|table| table.name().to_owned()).collect()
    }

    /// The name of the table whose rows a tree holds.
    pub(crate) fn name_of(&self, tree: TreeId) -> Option<String> {
        let tables = self.tables.borrow();
        tables.values().find(|table| table.tree() == tree).map(|table| table.name().to_owned())
    }

    /// The indexes of a table, in the order of their creation, then of their names.
    pub(crate) fn indexes_of(&self, base: &str) -> Vec<Index> {
        let tables = self.tables.borrow();
        let indexes = tables.values().filter_map(Index::of).filter(|index| index.meta.base == base);
        let mut sorted: Vec<Index> = Vec::new();
        for index in indexes {
            let place = sorted.partition_point(|other| other.table.created() <= index.table.created());
            sorted.insert(place, index);
        }
        sorted
    }

    /// The indexes that are not complete.
    pub(crate) fn unbuilt(&self) -> Vec<Index> {
        self.tables.borrow().values().filter(|table| table.is_building()).filter_map(Index::of).collect()
    }

    /// Refuses names that are taken, and more tables than the quota allows.
    ///
    /// # Errors
    /// `OTSObjectAlreadyExist`; `OTSQuotaExhausted`.
    pub(crate) fn check_new<'a>(&self, names: impl Iterator<Item = &'a str>, quota: usize) -> Result<()> {
        let tables = self.tables.borrow();
        let mut count = tables.keys().filter(|name| !is_foreign(name)).count();
        for name in names {
            if tables.contains_key(name) {
                let error = Error::new(Code::ObjectAlreadyExist, "Requested table already exists.");
                return Err(error.with_hint(format!("It is '{name}'. Indexes are tables too.")));
            }
            count += 1;
        }
        if count > quota {
            return Err(Error::new(Code::QuotaExhausted, format!("Number of tables exceeds the quota:{quota}.")));
        }
        Ok(())
    }

    /// The tree that [`Catalog::new_tree`] would give.
    pub(crate) fn next_tree(&self) -> u32 {
        self.next_tree.get()
    }

    /// An unused tree. Its id is used up even if its commit fails, because the outcome of that may be unknown.
    pub(crate) fn new_tree(&self) -> TreeId {
        let tree = self.next_tree.get();
        self.next_tree.set(tree + 1);
        TreeId(tree)
    }

    /// Adds a stored table; it replaces one of its name.
    pub(crate) fn insert(&self, table: &Rc<Table>) {
        self.tables.borrow_mut().insert(table.name().to_owned(), Rc::clone(table));
    }

    /// Removes the table of this name.
    pub(crate) fn remove(&self, name: &str) {
        self.tables.borrow_mut().remove(name);
    }

    /// Waits until every earlier change is complete.
    pub(crate) async fn change(&self) -> Turn {
        self.changing.wait_for(&[]).await
    }

    /// Runs a change for its sender, who is known to all that `work` polls: all changes end in one function, far below. Others
    /// do not see it, because work is polled by one task at a time.
    pub(crate) async fn asked_by<T>(&self, origin: Option<Origin>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let before = self.asking.replace(origin);
            let done = work.as_mut().poll(context);
            self.asking.set(before);
            done
        })
        .await
    }

    /// The sender of the change that is being polled.
    pub(crate) fn asker(&self) -> Option<Origin> {
        self.asking.get()
    }
}
