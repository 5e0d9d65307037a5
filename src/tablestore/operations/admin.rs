//! CreateTable, ListTable, DescribeTable, UpdateTable and DeleteTable (T1, T4 to T6, I3).
//!
//! Changes run one after another, and are visible once they are durable.

use super::index_admin;
use crate::engine::TreeId;
use crate::error::{Code, Error, Result};
use crate::model::meter::ThroughputStep;
use crate::model::{ReservedThroughput, TableName, TableOptions, TableSchema, limits};
use crate::modules::Module;
use crate::tablestore::instance::Instance;
use crate::tablestore::state::catalog::{self, CatalogChange};
use crate::tablestore::stream::admin::set_stream;
use crate::tablestore::stream::write::keep;
use crate::tablestore::table::descriptions::{
    CreateTable, IndexDescription, OptionsChange, StreamDescription, TableDescription, UpdateTable,
};
use crate::tablestore::table::foreign_names::{is_foreign, may_be_foreign};
use crate::tablestore::table::{Fixed, Table, TableState};
use std::rc::Rc;

impl Instance {
    /// Creates a table with its indexes. They are usable when this returns.
    ///
    /// # Errors
    /// A wrong name, key, option, throughput, defined column or index; `OTSObjectAlreadyExist`; `OTSQuotaExhausted`.
    pub async fn create_table(&self, request: CreateTable) -> Result<()> {
        self.table_operation()?;
        TableName::parse(&request.name)?;
        let schema = TableSchema::checked(&request.name, request.key, self.limits())?;
        index_admin::check_defined(&request.defined, &schema, self.limits())?;
        let options = request.options.apply(TableOptions::default())?;
        let (read, write) = (request.reserved_read.unwrap_or(0), request.reserved_write.unwrap_or(0));
        let throughput = ReservedThroughput::parse(read, write, self.options.kind, self.limits())?;
        let stream = request.stream.map_or(Ok(None), |stream| stream.check(self.limits(), false))?;
        let mut plans = Vec::new();
        for (at, spec) in request.indexes.iter().enumerate() {
            let names = request.indexes.iter().take(at).map(|earlier| &earlier.name).chain([&request.name]);
            index_admin::check_names(spec, names)?;
            plans.push(index_admin::plan(spec, &request.name, &schema, &request.defined, &options)?);
        }
        index_admin::check_count(plans.len())?;
        index_admin::check_options(&options, plans.iter().map(|plan| plan.options.time_to_live))?;

        let _turn = self.change().await;
        if stream.is_some() {
            self.engine.load(Module::Streams).await?;
        }
        let names = request.indexes.iter().map(|spec| spec.name.as_str()).chain([request.name.as_str()]);
        self.check_new(names)?;
        let tree = self.new_tree();
        let fixed = Fixed {
            name: request.name,
            tree,
            // The meter counts by the number of the first tree, also when the table gets another one.
            account: tree.0,
            created: self.engine.now_ms(),
            local_transactions: request.local_transactions.unwrap_or(true),
            index_of: None,
        };
        let state = TableState { options, throughput, defined: request.defined.into(), ..TableState::default() };
        let table = Rc::new(Table::new(fixed, schema, state));
        if let Some((hours, columns)) = stream {
            table.set_stream(Some(self.new_stream(&table, hours, columns)));
        }
        let mut new = vec![table];
        new.extend(plans.into_iter().map(|plan| Rc::new(self.index_table(plan, None, false))));
        self.add_tables(new).await
    }

    /// Refuses names that are taken, and more tables than the quota allows.
    pub(crate) fn check_new<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        let tables = self.tables.borrow();
        let mut count = tables.keys().filter(|name| !is_foreign(name)).count();
        for name in names {
            if tables.contains_key(name) {
                let error = Error::new(Code::ObjectAlreadyExist, "Requested table already exists.");
                return Err(error.with_hint(format!("It is '{name}'. Indexes are tables too.")));
            }
            count += 1;
        }
        let quota = self.limits().tables;
        if count > quota {
            return Err(Error::new(Code::QuotaExhausted, format!("Number of tables exceeds the quota:{quota}.")));
        }
        Ok(())
    }

    /// An unused tree. Its id is used up even if its commit fails, because the outcome of that may be unknown.
    pub(crate) fn new_tree(&self) -> TreeId {
        let tree = self.next_tree.get();
        self.next_tree.set(tree + 1);
        TreeId(tree)
    }

    /// Stores new tables, or tables with a new tree, together with the next tree's id. Then they exist. At most one of them has
    /// reserved throughput: the base table, since indexes have none.
    pub(crate) async fn add_tables(&self, new: Vec<Rc<Table>>) -> Result<()> {
        let mut changes = vec![catalog::put_counter(self.next_tree.get())];
        for table in &new {
            self.engine.set_retention(table.tree(), table.options().retention());
            changes.push(catalog::put(table, &table.state()));
            if let Some(stream) = table.stream() {
                keep(&self.engine, &stream);
                changes.push(catalog::stream(table, Some(&stream)));
            }
        }
        let step = new.iter().find_map(|table| self.step(table, ReservedThroughput::default(), table.throughput()));
        self.change_catalog(changes, step).await?;
        for table in new {
            if let Some(before) = self.tables.borrow().get(table.name()) {
                // It replaces one with another tree, whose counted units go on.
                table.count(before.take_counted());
            }
            self.tables.borrow_mut().insert(table.name().to_owned(), Rc::clone(&table));
            self.relink(table.index_of().map_or(table.name(), |index| &index.base));
        }
        Ok(())
    }

    /// Stores changes of the catalog in one commit, with the record of the meter for a change of reserved throughput, if
    /// there is one. Only a damaged meter is left out. If the commit failed but may have taken effect, this instance's tables
    /// may be wrong: then the instance ends, and the next opening reads the stored state.
    pub(crate) async fn change_catalog(&self, changes: Vec<CatalogChange>, step: Option<ThroughputStep>) -> Result<()> {
        let (_turn, step) = match step {
            Some(step) => self.step_change(step).await,
            None => (None, None),
        };
        let billed = step.is_some();
        let answer = (&self.answers, self.asking.get());
        let mut outcome = catalog::store(&self.engine, &changes, step, answer).await;
        if billed && outcome.as_ref().is_err_and(|error| error.code() == Code::Corrupt) {
            // The damage may be in the meter.
            outcome = catalog::store(&self.engine, &changes, None, answer).await;
        }
        if let Err(error) = &outcome
            && error.code() == Code::Unavailable
        {
            let why = error.message();
            let text =
                format!("it is not known whether a change of a table was stored ({why}): open the instance again");
            let end = Error::new(Code::Closed, text);
            // Before its calls are refused: a host that opens a fresh instance asks them again there.
            self.engine.tell_trouble(catalog::TREE, end.clone());
            self.engine.stop(end);
        }
        outcome
    }

    /// The names of all tables, sorted.
    pub fn list_table(&self) -> Vec<String> {
        self.tables.borrow().keys().filter(|name| !is_foreign(name)).cloned().collect()
    }

    /// The description of a table, also of one of another data model.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn describe_table(&self, name: &str) -> Result<TableDescription> {
        self.table_operation()?;
        Ok(self.describe(&*self.any_table(name)?))
    }

    /// Changes options and reserved throughput, while the table stays readable and writable (T5). A table of another data model
    /// has a stream to change, and nothing else.
    ///
    /// # Errors
    /// A wrong name, option or throughput; `OTSObjectNotExist`; `OTSTooFrequentReservedThroughputAdjustment` within two
    /// minutes of the last change of throughput (T6). Then nothing changes.
    pub async fn update_table(&self, request: UpdateTable) -> Result<TableDescription> {
        self.table_operation()?;
        let changes_options = request.options != OptionsChange::default()
            || request.reserved_read.is_some()
            || request.reserved_write.is_some();
        if !may_be_foreign(&request.name) {
            TableName::parse(&request.name)?;
        } else if changes_options {
            return Err(Error::parameter("Only the stream of a table of another data model can be changed."));
        }
        if !changes_options && request.stream.is_none() {
            return Err(Error::parameter("No parameter is specified in table options."));
        }
        let _turn = self.change().await;
        let table = self.any_table(&request.name)?;
        if table.index_of().is_some() {
            return self.update_index(&table, &request).await;
        }
        let before = table.state();
        let options = request.options.apply(before.options)?;
        let read = request.reserved_read.unwrap_or(i64::from(before.throughput.read));
        let write = request.reserved_write.unwrap_or(i64::from(before.throughput.write));
        let throughput = ReservedThroughput::parse(read, write, self.options.kind, self.limits())?;
        index_admin::check_options(&options, table.indexes().iter().map(|index| index.table.options().time_to_live))?;
        let state = TableState { options, ..adjusted(before, throughput, self.engine.now_ms())? };
        match request.stream {
            None => self.set_state(&table, state).await?,
            Some(change) => {
                self.engine.load(Module::Streams).await?;
                set_stream(self, &table, state, change).await?;
            }
        }
        Ok(self.describe(&table))
    }

    /// Stores a new state of a table, then applies it.
    pub(crate) async fn set_state(&self, table: &Table, state: TableState) -> Result<()> {
        self.set_state_and(table, state, Vec::new()).await
    }

    /// The same with further changes in one commit. The table's row is the last one.
    pub(crate) async fn set_state_and(
        &self,
        table: &Table,
        state: TableState,
        mut changes: Vec<CatalogChange>,
    ) -> Result<()> {
        let step = self.step(table, table.throughput(), state.throughput);
        changes.push(catalog::put(table, &state));
        self.change_catalog(changes, step).await?;
        self.engine.set_retention(table.tree(), state.options.retention());
        table.set_state(state);
        Ok(())
    }

    /// Deletes a table, its rows and its indexes.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; `OTSParameterInvalid` for an index, which DropIndex deletes.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        self.table_operation()?;
        let name = TableName::parse(name)?;
        let _turn = self.change().await;
        let table = self.table(name)?;
        if table.index_of().is_some() {
            return Err(Error::parameter(format!("Can't delete index table directly, drop the index: '{name}'.")));
        }
        let mut gone: Vec<Rc<Table>> = table.indexes().iter().map(|index| Rc::clone(&index.table)).collect();
        gone.push(table);
        self.remove_tables(&gone).await
    }

    /// Removes tables and their rows.
    pub(crate) async fn remove_tables(&self, gone: &[Rc<Table>]) -> Result<()> {
        let tables = gone.iter().map(|table| catalog::remove(table.name()));
        let progress = gone.iter().filter_map(|table| catalog::remove_progress(table));
        let step = gone.iter().find_map(|table| self.step(table, table.throughput(), ReservedThroughput::default()));
        let ends = |ended| gone.iter().filter_map(|table| table.stream()).for_each(|stream| stream.ended.set(ended));
        let streams = gone.iter().filter(|table| table.is_streamed()).map(|table| catalog::stream(table, None));
        let changes = tables.chain(progress).chain(streams).collect();
        ends(true);
        self.change_catalog(changes, step).await.inspect_err(|_| ends(false))?;
        // Units of the running second are billed to them while they exist.
        self.close_second();
        for table in gone {
            self.tables.borrow_mut().remove(table.name());
            table.end();
            self.transactions.end_of_table(table);
            self.engine.drop_tree(table.tree());
            if let Some(stream) = table.stream() {
                self.engine.drop_tree(stream.tree);
            }
        }
        Ok(())
    }

    pub(crate) fn describe(&self, table: &Table) -> TableDescription {
        let TableState { options, throughput, last_increase, last_decrease, defined, .. } = table.state();
        let now = self.engine.now_ms();
        TableDescription {
            name: table.name().to_owned(),
            schema: Rc::clone(table.schema()),
            options,
            throughput,
            last_increase,
            last_decrease,
            created: table.created(),
            defined,
            indexes: table.indexes().iter().map(|index| IndexDescription::of(index, now)).collect(),
            index_of: table.index_of().map(|index| index.base.clone()),
            local_transactions: table.local_transactions(),
            stream: StreamDescription::of(table),
            partitions: self.partitions_of(table),
        }
    }
}

/// The state with another throughput, if it may change now (T6). Setting the current value changes nothing.
fn adjusted(before: TableState, throughput: ReservedThroughput, now: i64) -> Result<TableState> {
    if throughput == before.throughput {
        return Ok(before);
    }
    // A clock that was set back to before the last change does not lock the table.
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
