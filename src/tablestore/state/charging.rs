//! Counts the units of operations (C1, C4, C6).

use super::State;
use crate::collections::turns::Turn;
use crate::model::meter::ThroughputStep;
use crate::model::version::second;
use crate::model::{ReservedThroughput, TableName};
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::Outcome;
use crate::tablestore::units::meter::{self, Consumes, StepChange};

impl State {
    /// The clock, for a metered operation: queues the meter's writes before those of the operation.
    pub(crate) fn clock(&self) -> i64 {
        let now = self.engine.clock().now_ms();
        if self.meter.is_over(second(now)) {
            self.close_second();
            self.meter.begin(second(now));
        }
        now
    }

    /// Counts the units of an operation that has not waited, on the table of that name.
    pub(crate) fn metered<T: Consumes>(&self, table: TableName<'_>, outcome: Outcome<T>) -> Outcome<T> {
        self.metered_on(self.catalog.named(table).as_deref(), outcome)
    }

    /// Counts the units of an operation on a table, or on a table that does not exist (C4).
    pub(crate) fn metered_on<T: Consumes>(&self, table: Option<&Table>, outcome: Outcome<T>) -> Outcome<T> {
        let consumed = match &outcome {
            Ok(result) => result.consumed(),
            Err(failure) => {
                // It may have been refused before it read the clock.
                self.clock();
                failure.consumed
            }
        };
        self.meter.count(table, consumed);
        outcome
    }

    /// The step of a table's reserved throughput, if it changes now.
    pub(crate) fn step(
        &self,
        table: &Table,
        before: ReservedThroughput,
        after: ReservedThroughput,
    ) -> Option<ThroughputStep> {
        let second = || second(self.clock());
        (before != after).then(|| ThroughputStep { payer: table.payer(), second: second(), before, after })
    }

    /// The changes of a step. Until the turn is dropped no bill is made, because it would have the step without the
    /// table's new state. A damaged meter stops no change of a table.
    pub(crate) async fn step_change(&self, step: ThroughputStep) -> (Option<Turn>, Option<StepChange>) {
        let turn = self.meter.turns.wait_for(&[]).await;
        let change = StepChange::new(&self.engine, step).await;
        (
            Some(turn),
            change.inspect_err(|error| log::warn!("a change of reserved throughput is not billed: {error}")).ok(),
        )
    }

    /// Moves the counts of the running second to those that wait to be stored.
    pub(crate) fn close_second(&self) {
        self.meter.close_second(self.catalog.all().values());
        meter::save_soon(&self.engine, &self.meter);
    }

    /// Stores all counts.
    pub(crate) async fn save_meter(&self) -> Turn {
        self.close_second();
        meter::save(&self.engine, &self.meter).await
    }
}
