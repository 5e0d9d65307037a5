//! CreateTable, ListTable, DescribeTable, UpdateTable and DeleteTable (T1, T4 to T6, I3).
//!
//! Changes come one after another, and show once they are durable.

use super::Instance;
use super::catalog;
use super::table::{Table, TableState};
use crate::engine::TreeId;
use crate::error::{Code, Error, Result};
use crate::model::{KeyColumn, ReservedThroughput, TableName, TableOptions, TableSchema, limits};
use crate::storage::Storage;
use std::rc::Rc;

/// What CreateTable makes.
#[derive(Clone, Debug, Default)]
pub struct CreateTable {
    /// The table's name.
    pub name: String,
    /// Its primary key.
    pub key: Vec<KeyColumn>,
    /// The options that differ from the defaults.
    pub options: OptionsChange,
    /// Reserved read units; 0 if none are given.
    pub reserved_read: Option<i64>,
    /// Reserved write units; 0 if none are given.
    pub reserved_write: Option<i64>,
}

/// Options to set; those that are `None` stay as they are (T4, T5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionsChange {
    /// See [`TableOptions::time_to_live`].
    pub time_to_live: Option<i64>,
    /// See [`TableOptions::max_versions`].
    pub max_versions: Option<i64>,
    /// See [`TableOptions::max_version_offset`].
    pub max_version_offset: Option<i64>,
    /// See [`TableOptions::allow_update`].
    pub allow_update: Option<bool>,
}

/// What UpdateTable changes.
#[derive(Clone, Debug, Default)]
pub struct UpdateTable {
    /// The table's name.
    pub name: String,
    /// Options to set.
    pub options: OptionsChange,
    /// Reserved read units to set.
    pub reserved_read: Option<i64>,
    /// Reserved write units to set.
    pub reserved_write: Option<i64>,
}

/// What DescribeTable and UpdateTable tell.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// The table's name.
    pub name: String,
    /// Its primary key.
    pub schema: Rc<TableSchema>,
    /// Its options.
    pub options: TableOptions,
    /// Its reserved throughput.
    pub throughput: ReservedThroughput,
    /// When the reserved throughput was last raised, in ms since 1970 UTC.
    pub last_increase: Option<i64>,
    /// When it was last lowered.
    pub last_decrease: Option<i64>,
    /// When the table was created.
    pub created: i64,
}

impl OptionsChange {
    fn apply(&self, to: TableOptions) -> Result<TableOptions> {
        let changed = TableOptions {
            time_to_live: self.time_to_live.unwrap_or(to.time_to_live),
            max_versions: self.max_versions.unwrap_or(to.max_versions),
            max_version_offset: self.max_version_offset.unwrap_or(to.max_version_offset),
            allow_update: self.allow_update.unwrap_or(to.allow_update),
        };
        changed.check()?;
        Ok(changed)
    }
}

impl<S: Storage> Instance<S> {
    /// Creates a table; it can be used when this resolves.
    ///
    /// # Errors
    /// A wrong name, key, option or throughput; `OTSObjectAlreadyExist`; `OTSQuotaExhausted`.
    pub async fn create_table(&self, request: CreateTable) -> Result<()> {
        TableName::parse(&request.name)?;
        let schema = TableSchema::checked(request.key, self.limits())?;
        let options = request.options.apply(TableOptions::default())?;
        let (read, write) = (request.reserved_read.unwrap_or(0), request.reserved_write.unwrap_or(0));
        let throughput = ReservedThroughput::parse(read, write, self.options.kind, self.limits())?;

        let _changing = self.change().await;
        if self.tables.borrow().contains_key(&request.name) {
            return Err(Error::new(Code::ObjectAlreadyExist, "Requested table already exists."));
        }
        let quota = self.limits().tables;
        if self.tables.borrow().len() >= quota {
            return Err(Error::new(Code::QuotaExhausted, format!("Number of tables exceeds the quota:{quota}.")));
        }
        let tree = self.next_tree.get();
        let state = TableState { options, throughput, last_increase: None, last_decrease: None };
        let table = Table::new(request.name, TreeId(tree), schema, self.engine.now_ms(), state);
        // Taken even if the commit fails: its fate may be unknown.
        self.next_tree.set(tree + 1);
        let stamp = self.catalog_stamp(&catalog::key_of(table.name())).await?;
        self.engine.set_retention(table.tree(), options.retention());
        let counter = self.catalog_stamp(&catalog::counter_key()).await?;
        self.known(catalog::store(&self.engine, &table, state, stamp, Some((tree + 1, counter))).await)?;
        self.tables.borrow_mut().insert(table.name().to_owned(), Rc::new(table));
        Ok(())
    }

    /// Passes the outcome of a change of the catalog on. If it may have been stored although it failed, what this
    /// instance knows of its tables may be wrong: it ends, and the next opening reads what is true.
    fn known(&self, outcome: Result<()>) -> Result<()> {
        if let Err(error) = &outcome
            && error.code() == Code::Unavailable
        {
            let why = error.message();
            let text =
                format!("it is not known whether a change of a table was stored ({why}): open the instance again");
            self.engine.stop(Error::new(Code::Closed, text));
        }
        outcome
    }

    /// The names of all tables, sorted.
    pub fn list_table(&self) -> Vec<String> {
        self.tables.borrow().keys().cloned().collect()
    }

    /// What is known of a table.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn describe_table(&self, name: &str) -> Result<TableDescription> {
        Ok(describe(&*self.table(TableName::parse(name)?)?))
    }

    /// Changes options and reserved throughput, while the table stays readable and writable (T5).
    ///
    /// # Errors
    /// A wrong name, option or throughput; `OTSObjectNotExist`; `OTSTooFrequentReservedThroughputAdjustment` within two
    /// minutes of the last change of throughput (T6). Then nothing is changed.
    pub async fn update_table(&self, request: UpdateTable) -> Result<TableDescription> {
        let name = TableName::parse(&request.name)?;
        if request.options == OptionsChange::default()
            && request.reserved_read.is_none()
            && request.reserved_write.is_none()
        {
            return Err(Error::parameter("No parameter is specified in table options."));
        }
        let _changing = self.change().await;
        let table = self.table(name)?;
        let before = table.state();
        let options = request.options.apply(before.options)?;
        let read = request.reserved_read.unwrap_or(i64::from(before.throughput.read));
        let write = request.reserved_write.unwrap_or(i64::from(before.throughput.write));
        let throughput = ReservedThroughput::parse(read, write, self.options.kind, self.limits())?;
        let state = TableState { options, ..adjusted(before, throughput, self.engine.now_ms())? };
        let stamp = self.catalog_stamp(&catalog::key_of(table.name())).await?;
        self.known(catalog::store(&self.engine, &table, state, stamp, None).await)?;
        table.set_state(state);
        self.engine.set_retention(table.tree(), options.retention());
        Ok(describe(&table))
    }

    /// Deletes a table and its rows.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        let name = TableName::parse(name)?;
        let _changing = self.change().await;
        let table = self.table(name)?;
        let stamp = self.catalog_stamp(&catalog::key_of(table.name())).await?;
        self.known(catalog::remove(&self.engine, table.name(), stamp).await)?;
        self.tables.borrow_mut().remove(table.name());
        self.engine.drop_tree(table.tree());
        Ok(())
    }
}

fn describe(table: &Table) -> TableDescription {
    let TableState { options, throughput, last_increase, last_decrease } = table.state();
    TableDescription {
        name: table.name().to_owned(),
        schema: Rc::clone(table.schema()),
        options,
        throughput,
        last_increase,
        last_decrease,
        created: table.created(),
    }
}

/// The state with another throughput, if it may change now (T6). Setting what is set already changes nothing.
fn adjusted(before: TableState, throughput: ReservedThroughput, now: i64) -> Result<TableState> {
    if throughput == before.throughput {
        return Ok(before);
    }
    // A clock that travelled back behind the last change does not lock the table.
    let wait = 0..limits::THROUGHPUT_CHANGE_SECONDS * 1000;
    let recent = |at: Option<i64>| at.is_some_and(|at| wait.contains(&now.saturating_sub(at)));
    if recent(before.last_increase) || recent(before.last_decrease) {
        let code = Code::TooFrequentReservedThroughputAdjustment;
        return Err(Error::new(code, "Capacity unit adjustment is too frequent."));
    }
    let old = before.throughput;
    let raised = throughput.read > old.read || throughput.write > old.write;
    let lowered = throughput.read < old.read || throughput.write < old.write;
    Ok(TableState {
        throughput,
        last_increase: if raised { Some(now) } else { before.last_increase },
        last_decrease: if lowered { Some(now) } else { before.last_decrease },
        ..before
    })
}
