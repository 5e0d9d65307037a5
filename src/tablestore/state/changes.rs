//! Stores changes of the tables, then applies them.

use super::State;
use super::catalog_rows::{self, CatalogChange};
use crate::error::{Code, Error, Result};
use crate::model::ReservedThroughput;
use crate::model::meter::ThroughputStep;
use crate::tablestore::table::{Table, TableState};
use std::rc::Rc;

impl State {
    /// Stores new tables, or tables with a new tree, together with the next tree's id. Then they exist. At most one of them has
    /// reserved throughput: the base table, since indexes have none.
    pub(crate) async fn add_tables(&self, new: Vec<Rc<Table>>) -> Result<()> {
        let mut changes = vec![catalog_rows::put_counter(self.catalog.next_tree())];
        for table in &new {
            self.engine.set_retention(table.tree(), table.options().retention());
            changes.push(catalog_rows::put(table, &table.state()));
            if let Some(stream) = table.stream() {
                stream.keep(&self.engine);
                changes.push(catalog_rows::stream(table, Some(&stream)));
            }
        }
        let step = new.iter().find_map(|table| self.step(table, ReservedThroughput::default(), table.throughput()));
        self.change_catalog(changes, step).await?;
        for table in new {
            if let Some(before) = self.catalog.get(table.name()) {
                // It replaces one with another tree, whose counted units go on.
                table.count(before.take_counted());
            }
            self.catalog.insert(&table);
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
        let answer = (&self.answers, self.catalog.asker());
        let mut outcome = catalog_rows::store(&self.engine, &changes, step, answer).await;
        if billed && outcome.as_ref().is_err_and(|error| error.code() == Code::Corrupt) {
            // The damage may be in the meter.
            outcome = catalog_rows::store(&self.engine, &changes, None, answer).await;
        }
        if let Err(error) = &outcome
            && error.code() == Code::Unavailable
        {
            let why = error.message();
            let text =
                format!("it is not known whether a change of a table was stored ({why}): open the instance again");
            let end = Error::new(Code::Closed, text);
            // Before its calls are refused: a host that opens a fresh instance asks them again there.
            self.engine.health().tell(Some(catalog_rows::TREE), end.clone());
            self.engine.stop(end);
        }
        outcome
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
        changes.push(catalog_rows::put(table, &state));
        self.change_catalog(changes, step).await?;
        self.engine.set_retention(table.tree(), state.options.retention());
        table.set_state(state);
        Ok(())
    }

    /// Removes tables and their rows.
    pub(crate) async fn remove_tables(&self, gone: &[Rc<Table>]) -> Result<()> {
        let tables = gone.iter().map(|table| catalog_rows::remove(table.name()));
        let progress = gone.iter().filter_map(|table| catalog_rows::remove_progress(table));
        let step = gone.iter().find_map(|table| self.step(table, table.throughput(), ReservedThroughput::default()));
        let ends = |ended| gone.iter().filter_map(|table| table.stream()).for_each(|stream| stream.ended.set(ended));
        let streams = gone.iter().filter(|table| table.is_streamed()).map(|table| catalog_rows::stream(table, None));
        let changes = tables.chain(progress).chain(streams).collect();
        ends(true);
        self.change_catalog(changes, step).await.inspect_err(|_| ends(false))?;
        // Units of the running second are billed to them while they exist.
        self.close_second();
        for table in gone {
            self.catalog.remove(table.name());
            table.end();
            self.transactions.end_of_table(table);
            self.engine.drop_tree(table.tree());
            if let Some(stream) = table.stream() {
                self.engine.drop_tree(stream.tree);
            }
        }
        Ok(())
    }

    /// Gives a table its indexes. Transactions and loads of it end: their overlays lack the rows of new indexes.
    pub(crate) fn relink(&self, base: &str) {
        let Some(table) = self.catalog.get(base) else { return };
        self.transactions.end_of_table(&table);
        self.engine.end_loads(table.tree());
        table.set_indexes(self.catalog.indexes_of(base));
    }
}
