//! The capacity meter (C1 to C4, C6): what every operation on rows consumed, by table, second and hour.
//!
//! An operation adds what it consumed to its table; that is all it does. When the clock comes to another second, what was
//! counted is written to a tree of the meter's own, once for the second and once for its hour. These writes are asked for
//! before those of the operation that found the new second, and so share their commit; after reads they make a small
//! commit of their own, one a second of the clock at most. Closing and flushing write what is left, so that a crash loses
//! what the last second used and no more. Nothing waits for the meter, and when it fails nothing else does. A step of reserved
//! throughput is stored with the change of the catalog that makes it, so that a bill is never of another table than there is.
//!
//! | key of the row | column `tally` (Binary) | goes after |
//! |---|---|---|
//! | Integer 0, Integer second | [`Tally`] of the second | an hour |
//! | Integer 1, Integer hour | [`Tally`] of the hour, and when reserved throughput changed in it | 30 days |
//!
//! Rows go by the tree's time to live; those of seconds are given a version that is as much older.

use super::failure::Outcome;
use super::table::Table;
use super::{Found, Instance, RangeRead, Started, TableName, Written};
use crate::engine::turns::{Turn, Turns};
use crate::engine::{Decide, Direction, Engine, KeyRange, RowView, TreeId, Writes};
use crate::error::{Code, Error, Result};
use crate::format::tally;
use crate::model::meter::{self, Account, Consumption, HOURS, NOBODY, Period, Prices, Reserved, SECONDS, Step, Tally};
use crate::model::small_map::SmallMap;
use crate::model::version::{Retention, second};
use crate::model::{CellChange, CellOp, Consumed, KeyReader, KeyValue, ReservedThroughput, ValueRef, encode_key};
use crate::storage::Storage;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// The tree of the meter's rows. Trees of tables count from 1.
pub(super) const TREE: TreeId = TreeId::METER;
const COLUMN: &str = "tally";
/// Seconds that wait to be stored while the storage is full; the oldest go.
const MOST_WAITING: usize = 64;

/// What `computeConsumed` is asked.
#[derive(Clone, Debug)]
pub struct ComputeConsumed {
    /// The table; without one all of the instance: tables that were deleted, and requests on tables that do not exist,
    /// too.
    pub table: Option<String>,
    /// The first instant, in ms since 1970 UTC; its whole period counts. As long ago as is kept if there is none.
    pub start: Option<i64>,
    /// The instant that is not reached any more; now if there is none.
    pub end: Option<i64>,
    /// Seconds or hours.
    pub period: Period,
    /// What units cost.
    pub prices: Prices,
}

/// What `computeConsumed` tells.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumedSeries {
    /// The periods in which something was reserved or used, ascending.
    pub periods: Vec<Consumption>,
    /// Their sum.
    pub total: Consumption,
}

/// The result of an operation that consumes units.
pub(super) trait Consumes {
    /// How many.
    fn consumed(&self) -> Consumed;
}

impl Consumes for Consumed {
    fn consumed(&self) -> Consumed {
        *self
    }
}

impl Consumes for Written {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

impl Consumes for Started {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

impl Consumes for Found {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

impl Consumes for RangeRead {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// What was counted and is not stored yet.
#[derive(Debug)]
struct Counted {
    second: i64,
    uses: Vec<(Account, Consumed, ReservedThroughput)>,
}

/// The meter of an instance. Tables hold what they used in the running second.
#[derive(Debug)]
pub(super) struct Meter {
    /// The running second.
    second: Cell<i64>,
    /// What requests on tables that do not exist used in it.
    nobody: Cell<Consumed>,
    /// What requests used that were answered after their table was deleted or begun anew.
    late: RefCell<Vec<(Account, Consumed)>>,
    /// All that was used since the instance was opened.
    used: Cell<[u64; 2]>,
    waiting: RefCell<VecDeque<Counted>>,
    /// Whether a task stores what waits.
    saving: Cell<bool>,
    turns: Turns,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            second: Cell::new(i64::MIN),
            nobody: Cell::default(),
            late: RefCell::default(),
            used: Cell::default(),
            waiting: RefCell::default(),
            saving: Cell::new(false),
            turns: Turns::default(),
        }
    }
}

impl Meter {
    fn wait(&self, counted: Counted) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(counted);
    }
}

impl Counted {
    fn hour(&self) -> i64 {
        self.second.div_euclid(Period::Hour.seconds())
    }

    fn add_to(&self, second: &mut Tally, hour: &mut Tally) {
        for (account, consumed, reserved) in &self.uses {
            meter::count(second, hour, *account, *consumed, *reserved);
        }
    }
}

/// A row of the meter.
struct Place {
    period: Period,
    number: i64,
    key: Vec<u8>,
    tally: Tally,
}

impl Place {
    fn new(period: Period, number: i64) -> Self {
        Self { period, number, key: key(period, number), tally: Tally::default() }
    }

    /// The version by which the row expires.
    fn version(&self) -> i64 {
        let hours = Period::Hour.seconds();
        let goes = match self.period {
            Period::Second => self.number - (HOURS * hours - SECONDS),
            Period::Hour => self.number.saturating_add(1).saturating_mul(hours),
        };
        goes.saturating_mul(1000)
    }

    /// What is stored. What cannot be read counts as nothing.
    fn see(&mut self, row: Option<&RowView<'_>>) {
        self.tally = row.and_then(read).unwrap_or_default();
    }

    fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        let (version, record) = (self.version(), tally::encode(&self.tally));
        let cell = CellChange { column: COLUMN, op: CellOp::Put(version, ValueRef::Binary(&record)) };
        writes.replace(TREE, &self.key, Some(version), stamp, &[cell]);
    }
}

/// Adds what was counted to what is stored of its second and its hour.
struct Save<'a> {
    counted: &'a Counted,
    places: [Place; 2],
    stamp: i64,
}

impl Decide for Save<'_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        self.places.get_mut(at).into_iter().for_each(|place| place.see(row));
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let [second, hour] = &mut self.places;
        self.counted.add_to(&mut second.tally, &mut hour.tally);
        self.places.iter().for_each(|place| place.write(self.stamp, writes));
    }
}

/// A step of reserved throughput, which is stored with the change of the catalog that makes it.
pub(super) struct StepChange {
    step: Step,
    /// Its hour, and later hours with steps that never come because of it.
    places: Vec<Place>,
    stamp: i64,
}

impl StepChange {
    async fn new<S: Storage>(engine: &Engine<S>, step: Step) -> Result<Self> {
        let hour = step.second.div_euclid(Period::Hour.seconds());
        let mut places = vec![Place::new(Period::Hour, hour)];
        let mut later = |number, tally: Tally| {
            if tally.steps.iter().any(|other| step.undoes(other)) {
                places.push(Place::new(Period::Hour, number));
            }
        };
        tallies(engine, Period::Hour, [hour.saturating_add(1), i64::MAX], &mut later).await?;
        Ok(Self { step, places, stamp: engine.last_stamp() })
    }

    /// The rows that it has to see, in their order.
    pub(super) fn rows(&self) -> Vec<(TreeId, Vec<u8>)> {
        self.places.iter().map(|place| (TREE, place.key.clone())).collect()
    }

    pub(super) fn see(&mut self, at: usize, row: Option<&RowView<'_>>) {
        self.places.get_mut(at).into_iter().for_each(|place| place.see(row));
    }

    pub(super) fn write(&mut self, writes: &mut Writes<'_>) {
        let mut step = self.step;
        self.places.iter_mut().rev().for_each(|place| place.tally.undo(&mut step));
        self.places.first_mut().into_iter().for_each(|hour| hour.tally.step(step));
        self.places.iter().for_each(|place| place.write(self.stamp, writes));
    }
}

/// The tally of a row, if it has a whole one.
fn read(row: &RowView<'_>) -> Option<Tally> {
    match row.cells().first()?.value {
        ValueRef::Binary(record) => tally::decode(record).ok(),
        _ => None,
    }
}

fn key(period: Period, number: i64) -> Vec<u8> {
    let kind = match period {
        Period::Second => 0,
        Period::Hour => 1,
    };
    let mut key = Vec::with_capacity(18);
    encode_key(&[KeyValue::Integer(kind), KeyValue::Integer(number)], &mut key);
    key
}

/// Stores what waits. What does not fit into the storage goes on waiting; what fails otherwise is lost. Until the turn is
/// given back, nothing is on its way.
async fn save<S: Storage>(engine: &Engine<S>, meter: &Meter) -> Turn {
    let turn = meter.turns.take(&[]);
    turn.come().await;
    if engine.is_read_only() {
        meter.waiting.borrow_mut().clear();
        return turn;
    }
    loop {
        let Some(counted) = meter.waiting.borrow_mut().pop_front() else { return turn };
        match store(engine, &counted).await {
            Err(error) if error.code() == Code::QuotaExceeded => {
                meter.waiting.borrow_mut().push_front(counted);
                return turn;
            }
            Err(error) => log::warn!("what a second used could not be stored: {error}"),
            Ok(()) => {}
        }
    }
}

/// Stores what was counted.
async fn store<S: Storage>(engine: &Engine<S>, counted: &Counted) -> Result<()> {
    let places = [Place::new(Period::Second, counted.second), Place::new(Period::Hour, counted.hour())];
    let keys = [places[0].key.clone(), places[1].key.clone()];
    let rows = [(TREE, keys[0].as_slice()), (TREE, keys[1].as_slice())];
    engine.modify(&rows, None, &mut Save { counted, places, stamp: engine.last_stamp() }).await
}

/// Visits what is stored of the periods `[from, to)`.
async fn tallies<S: Storage>(
    engine: &Engine<S>,
    period: Period,
    [from, to]: [i64; 2],
    visit: &mut dyn FnMut(i64, Tally),
) -> Result<()> {
    let range = KeyRange { lower: Bound::Included(key(period, from)), upper: Bound::Excluded(key(period, to)) };
    let mut keys = KeyReader::default();
    let mut see = |key: &[u8], row: &RowView<'_>| {
        if let Some([_, ValueRef::Integer(number)]) = keys.read(key).as_deref()
            && let Some(tally) = read(row)
        {
            visit(*number, tally);
        }
        ControlFlow::Continue(())
    };
    engine.scan(TREE, range, Direction::Forward, &mut see).await
}

impl<S: Storage> Instance<S> {
    /// Says how long the meter's rows are kept.
    pub(super) fn start_meter(engine: &Engine<S>) {
        let thirty_days = HOURS * Period::Hour.seconds();
        engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: Some(thirty_days) });
    }

    /// The clock, for an operation that is metered: before its writes, those of the meter are asked for.
    pub(super) fn clock(&self) -> i64 {
        let now = self.engine.now_ms();
        if second(now) != self.meter.second.get() {
            self.close_second();
            self.meter.second.set(second(now));
        }
        now
    }

    /// The table that an operation is metered on, if it exists. Who waits asks before: another one may have its name then.
    pub(super) fn named(&self, table: TableName<'_>) -> Option<Rc<Table>> {
        self.tables.borrow().get(table.as_str()).map(Rc::clone)
    }

    /// Counts what an operation on the table of that name consumed, which has waited for nothing.
    pub(super) fn metered<T: Consumes>(&self, table: TableName<'_>, outcome: Outcome<T>) -> Outcome<T> {
        self.metered_on(self.named(table).as_deref(), outcome)
    }

    /// Counts what an operation on a table consumed; on a table that does not exist too (C4).
    pub(super) fn metered_on<T: Consumes>(&self, table: Option<&Table>, outcome: Outcome<T>) -> Outcome<T> {
        let consumed = match &outcome {
            Ok(result) => result.consumed(),
            Err(failure) => {
                // It may have been refused before it looked at the clock.
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

    /// The step that a table's reserved throughput makes now, if it is one.
    pub(super) fn step(&self, table: &Table, before: ReservedThroughput, after: ReservedThroughput) -> Option<Step> {
        let second = || second(self.clock());
        (before != after).then(|| Step { account: table.account(), second: second(), before, after })
    }

    /// What a step changes. Until the turn is given back, no bill is made: it would know the step and not the table's state.
    /// A damaged meter stops no change of a table.
    pub(super) async fn step_change(&self, step: Step) -> (Option<Turn>, Option<StepChange>) {
        let turn = self.meter.turns.take(&[]);
        turn.come().await;
        let change = StepChange::new(&self.engine, step).await;
        (
            Some(turn),
            change.inspect_err(|error| log::warn!("a change of reserved throughput is not billed: {error}")).ok(),
        )
    }

    /// What was counted in the running second goes to where it waits to be stored.
    pub(super) fn close_second(&self) {
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

    /// Stores everything that was counted.
    pub(super) async fn save_meter(&self) -> Turn {
        self.close_second();
        save(&self.engine, &self.meter).await
    }

    /// Read and write units used since the instance was opened.
    pub fn units_used(&self) -> [u64; 2] {
        self.meter.used.get()
    }

    /// What units cost in this instance.
    pub fn prices(&self) -> Prices {
        self.options.prices
    }

    /// What was consumed, second by second or hour by hour, and what it costs (C2, C3).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; whatever reading the meter's rows gives.
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
        // How much was reserved before a step is known from the step only, so all later ones are looked at.
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
