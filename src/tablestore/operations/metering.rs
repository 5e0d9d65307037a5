//! Counts the units of operations, and computes their cost (C1 to C4, C6).

use crate::collections::small_map::SmallMap;
use crate::collections::turns::Turn;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::meter::{self, Consumption, HOURS, NOBODY, Period, Prices, Reserved, Tally, ThroughputStep};
use crate::model::version::{Retention, second};
use crate::model::{Consumed, ReservedThroughput, TableName};
use crate::tablestore::instance::Instance;
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::Outcome;
use crate::tablestore::units::meter::{Consumes, Counted, StepChange, TREE, save, tallies};
use std::rc::Rc;

/// The parameters of `computeConsumed`.
#[derive(Clone, Debug)]
pub struct ComputeConsumed {
    /// The table. Without one, the whole instance: also deleted tables, and requests on tables that do not exist.
    pub table: Option<String>,
    /// The first instant, in ms since 1970 UTC; its whole period counts. By default the oldest that is kept.
    pub start: Option<i64>,
    /// The end, exclusive; now by default.
    pub end: Option<i64>,
    /// Seconds or hours.
    pub period: Period,
    /// The price of units.
    pub prices: Prices,
}

/// The result of `computeConsumed`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumedSeries {
    /// The periods with reserved or used units, ascending.
    pub periods: Vec<Consumption>,
    /// Their sum.
    pub total: Consumption,
}

impl Instance {
    /// Sets how long the meter's rows are kept.
    pub(crate) fn start_meter(engine: &Engine) {
        let thirty_days = HOURS * Period::Hour.seconds();
        engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: Some(thirty_days) });
    }

    /// The clock, for a metered operation: queues the meter's writes before those of the operation.
    pub(crate) fn clock(&self) -> i64 {
        let now = self.engine.now_ms();
        if second(now) != self.meter.second.get() {
            self.close_second();
            self.meter.second.set(second(now));
        }
        now
    }

    /// The table for an operation's units, if it exists. An operation that waits must ask before, because another table
    /// may have the name afterwards.
    pub(crate) fn named(&self, table: TableName<'_>) -> Option<Rc<Table>> {
        self.tables.borrow().get(table.as_str()).map(Rc::clone)
    }

    /// Counts the units of an operation that has not waited, on the table of that name.
    pub(crate) fn metered<T: Consumes>(&self, table: TableName<'_>, outcome: Outcome<T>) -> Outcome<T> {
        self.metered_on(self.named(table).as_deref(), outcome)
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
        let [read, write] = self.meter.used.get();
        self.meter.used.set([read + u64::from(consumed.read), write + u64::from(consumed.write)]);
        match table {
            Some(table) if !table.is_ended() => table.count(consumed),
            Some(table) => self.meter.late.borrow_mut().push((table.account(), consumed)),
            None => self.meter.nobody.set(self.meter.nobody.get() + consumed),
        }
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
        (before != after).then(|| ThroughputStep { account: table.account(), second: second(), before, after })
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
        let mut uses = Vec::new();
        let nobody = self.meter.nobody.take();
        if nobody != Consumed::default() {
            uses.push((NOBODY, nobody, ReservedThroughput::default()));
        }
        let late = self.meter.late.take().into_iter();
        uses.extend(late.map(|(account, consumed)| (account, consumed, ReservedThroughput::default())));
        for table in self.tables.borrow().values() {
            let consumed = table.take_counted();
            if consumed != Consumed::default() {
                uses.push((table.account(), consumed, table.throughput()));
            }
        }
        if !uses.is_empty() {
            self.meter.wait(Counted { second: self.meter.second.get(), uses });
        }
        self.save_soon();
    }

    fn save_soon(&self) {
        if self.meter.waiting.borrow().is_empty() || self.meter.saving.replace(true) {
            return;
        }
        let (engine, meter) = (Rc::clone(&self.engine), Rc::clone(&self.meter));
        self.engine.spawn(Box::pin(async move {
            drop(save(&engine, &meter).await);
            meter.saving.set(false);
        }));
    }

    /// Stores all counts.
    pub(crate) async fn save_meter(&self) -> Turn {
        self.close_second();
        save(&self.engine, &self.meter).await
    }

    /// Read and write units used since the instance was opened.
    pub fn units_used(&self) -> [u64; 2] {
        self.meter.used.get()
    }

    /// The prices in this instance.
    pub fn prices(&self) -> Prices {
        self.options.prices
    }

    /// The consumed units, second by second or hour by hour, and their cost (C2, C3).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; errors of reading the meter's rows.
    pub async fn compute_consumed(&self, request: &ComputeConsumed) -> Result<ConsumedSeries> {
        let account = match &request.table {
            Some(name) => Some(self.table(TableName::parse(name)?)?.account()),
            None => None,
        };
        let (period, now) = (request.period, second(self.clock()));
        let seconds = period.seconds();
        let to = request.end.map_or(now.saturating_add(1), |end| second(end.saturating_add(999)));
        let to = to.div_euclid(seconds).saturating_add(i64::from(to.rem_euclid(seconds) > 0));
        let oldest = to.saturating_sub(period.kept());
        let from = request.start.map_or(oldest, |start| second(start).div_euclid(seconds).max(oldest));
        if from > to {
            return Err(Error::parameter("The start must not be after the end."));
        }
        let _turn = self.save_meter().await;
        let mut reserved = Reserved::default();
        for table in
            self.tables.borrow().values().filter(|table| account.is_none_or(|account| account == table.account()))
        {
            reserved.table(table.account(), second(table.created()), table.throughput());
        }
        let mut counted = SmallMap::<i64, Tally>::default();
        if period == Period::Second {
            tallies(&self.engine, Period::Second, [from, to], &mut |number, tally| counted.insert(number, tally))
                .await?;
        }
        // The reservation before a step is known from that step only, so all later steps are read.
        let first_hour = from.saturating_mul(seconds).div_euclid(Period::Hour.seconds());
        let mut steps = Vec::new();
        let mut hour = |number: i64, tally: Tally| {
            steps.extend_from_slice(&tally.steps);
            if period == Period::Hour && number < to {
                counted.insert(number, tally);
            }
        };
        tallies(&self.engine, Period::Hour, [first_hour, i64::MAX], &mut hour).await?;
        for waiting in self.meter.waiting.borrow().iter() {
            let (mut other, number) = (Tally::default(), waiting.second.div_euclid(seconds));
            if (from..to).contains(&number) {
                let tally = counted.entry(number);
                match period {
                    Period::Second => waiting.add_to(tally, &mut other),
                    Period::Hour => waiting.add_to(&mut other, tally),
                }
            }
        }
        for step in steps.into_iter().filter(|step| account.is_none_or(|account| account == step.account)) {
            reserved.step(step);
        }
        let (periods, total) = meter::series(period, [from, to], now, &counted, &reserved, account, &request.prices);
        Ok(ConsumedSeries { periods, total })
    }
}
