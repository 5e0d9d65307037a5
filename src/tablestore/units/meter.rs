//! The capacity meter (C1 to C4, C6): the units that every operation on rows consumed, by table, second and hour.
//!
//! An operation only adds its units to its table. When the clock reaches another second, the counts are written to the
//! meter's own tree, once for the second and once for its hour. These writes come before those of the operation that
//! found the new second, and so share their commit. After reads they make a small commit of their own, at most one a
//! second of the clock. Closing and flushing write the rest, so a crash loses only the last second's units. No operation
//! waits for the meter, or fails with it. A step of reserved throughput is stored with its change of the catalog, so a
//! bill always matches the tables.
//!
//! | key of the row | column `tally` (Binary) | goes after |
//! |---|---|---|
//! | Integer 0, Integer second | [`Tally`] of the second | an hour |
//! | Integer 1, Integer hour | [`Tally`] of the hour, and when reserved throughput changed in it | 30 days |
//!
//! Rows expire by the tree's time to live. Those of seconds get an older version, so they expire earlier.

use crate::collections::turns::{Turn, Turns};
use crate::engine::{Decide, Direction, Engine, KeyRange, RowView, TreeId, Writes};
use crate::error::{Code, Result};
use crate::format::tally;
use crate::model::meter::{self, HOURS, NOBODY, Payer, Period, SECONDS, Tally, ThroughputStep};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, Consumed, KeyReader, KeyValue, ReservedThroughput, ValueRef, encode_key};
use crate::tablestore::table::Table;
use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// The tree of the meter's rows. Trees of tables count from 1.
pub(crate) const TREE: TreeId = TreeId::METER;
const COLUMN: &str = "tally";
/// The most seconds that wait while the storage is full; the oldest go first.
const MOST_WAITING: usize = 64;

/// The result of an operation that consumes units.
pub(crate) trait Consumes {
    /// The units.
    fn consumed(&self) -> Consumed;
}

impl Consumes for Consumed {
    fn consumed(&self) -> Consumed {
        *self
    }
}

/// Counts that are not stored yet.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The second of the clock.
    pub(crate) second: i64,
    uses: Vec<(Payer, Consumed, ReservedThroughput)>,
}

/// The meter of an instance. Tables hold their units of the running second.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The running second.
    second: Cell<i64>,
    /// Units in it of requests on tables that do not exist.
    nobody: Cell<Consumed>,
    /// Units of requests that were answered after their table was deleted or got a new tree.
    late: RefCell<Vec<(Payer, Consumed)>>,
    /// All units since the opening.
    used: Cell<[u64; 2]>,
    waiting: RefCell<VecDeque<Counted>>,
    /// Whether a task is storing counts.
    saving: Cell<bool>,
    /// Turns for what must not see the meter half written.
    pub(crate) turns: Turns,
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
    /// Whether the running second is another one.
    pub(crate) fn is_over(&self, second: i64) -> bool {
        second != self.second.get()
    }

    /// Begins a second, once the one before is closed.
    pub(crate) fn begin(&self, second: i64) {
        self.second.set(second);
    }

    /// Read and write units since the opening.
    pub(crate) fn used(&self) -> [u64; 2] {
        self.used.get()
    }

    /// Counts units of a table, or of a request on a table that does not exist (C4).
    pub(crate) fn count(&self, table: Option<&Table>, consumed: Consumed) {
        let [read, write] = self.used.get();
        self.used.set([read + u64::from(consumed.read), write + u64::from(consumed.write)]);
        match table {
            Some(table) if !table.is_ended() => table.count(consumed),
            Some(table) => self.late.borrow_mut().push((table.payer(), consumed)),
            None => self.nobody.set(self.nobody.get() + consumed),
        }
    }

    /// Moves the counts of the running second to those that wait to be stored.
    pub(crate) fn close_second<'t>(&self, tables: impl Iterator<Item = &'t Rc<Table>>) {
        let mut uses = Vec::new();
        let nobody = self.nobody.take();
        if nobody != Consumed::default() {
            uses.push((NOBODY, nobody, ReservedThroughput::default()));
        }
        let late = self.late.take().into_iter();
        uses.extend(late.map(|(payer, consumed)| (payer, consumed, ReservedThroughput::default())));
        for table in tables {
            let consumed = table.take_counted();
            if consumed != Consumed::default() {
                uses.push((table.payer(), consumed, table.throughput()));
            }
        }
        if !uses.is_empty() {
            self.wait(Counted { second: self.second.get(), uses });
        }
    }

    fn wait(&self, counted: Counted) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(counted);
    }

    /// The counts that are not stored yet.
    pub(crate) fn waiting(&self) -> Ref<'_, VecDeque<Counted>> {
        self.waiting.borrow()
    }
}

impl Counted {
    fn hour(&self) -> i64 {
        self.second.div_euclid(Period::Hour.seconds())
    }

    pub(crate) fn add_to(&self, second: &mut Tally, hour: &mut Tally) {
        for (payer, consumed, reserved) in &self.uses {
            meter::count(second, hour, *payer, *consumed, *reserved);
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

    /// The version that determines when the row expires.
    fn version(&self) -> i64 {
        let hours = Period::Hour.seconds();
        let goes = match self.period {
            Period::Second => self.number - (HOURS * hours - SECONDS),
            Period::Hour => self.number.saturating_add(1).saturating_mul(hours),
        };
        goes.saturating_mul(1000)
    }

    /// Sees the stored row. An unreadable one counts as empty.
    fn see(&mut self, row: Option<&RowView<'_>>) {
        self.tally = row.and_then(read).unwrap_or_default();
    }

    fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        let (version, record) = (self.version(), tally::encode(&self.tally));
        let cell = CellChange { column: COLUMN, op: CellOp::Put(version, ValueRef::Binary(&record)) };
        writes.replace(TREE, &self.key, Some(version), stamp, &[cell]);
    }
}

/// Adds counts to the stored rows of their second and hour.
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

/// A step of reserved throughput, stored with its change of the catalog.
pub(crate) struct StepChange {
    step: ThroughputStep,
    /// Its hour, and later hours whose steps it cancels.
    places: Vec<Place>,
    stamp: i64,
}

impl StepChange {
    pub(crate) async fn new(engine: &Engine, step: ThroughputStep) -> Result<Self> {
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

    /// The rows that it has to see, in order.
    pub(crate) fn rows(&self) -> Vec<(TreeId, Vec<u8>)> {
        self.places.iter().map(|place| (TREE, place.key.clone())).collect()
    }

    pub(crate) fn see(&mut self, at: usize, row: Option<&RowView<'_>>) {
        self.places.get_mut(at).into_iter().for_each(|place| place.see(row));
    }

    pub(crate) fn write(&mut self, writes: &mut Writes<'_>) {
        let mut step = self.step;
        self.places.iter_mut().rev().for_each(|place| place.tally.undo(&mut step));
        self.places.first_mut().into_iter().for_each(|hour| hour.tally.step(step));
        self.places.iter().for_each(|place| place.write(self.stamp, writes));
    }
}

/// The tally of a row, if it is intact.
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

/// Sets how long the meter's rows are kept.
pub(crate) fn keep(engine: &Engine) {
    let thirty_days = HOURS * Period::Hour.seconds();
    engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: Some(thirty_days) });
}

/// Stores waiting counts in the background, unless that is under way.
pub(crate) fn save_soon(engine: &Rc<Engine>, meter: &Rc<Meter>) {
    if meter.waiting.borrow().is_empty() || meter.saving.replace(true) {
        return;
    }
    let (of, meter) = (Rc::clone(engine), Rc::clone(meter));
    engine.spawn(Box::pin(async move {
        drop(save(&of, &meter).await);
        meter.saving.set(false);
    }));
}

/// Stores waiting counts. If the storage is full they go on waiting; other failures lose them. Until the turn is dropped,
/// no other save runs.
pub(crate) async fn save(engine: &Engine, meter: &Meter) -> Turn {
    let turn = meter.turns.wait_for(&[]).await;
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
            Err(error) => log::warn!("a second's units could not be stored: {error}"),
            Ok(()) => {}
        }
    }
}

/// Stores counts.
async fn store(engine: &Engine, counted: &Counted) -> Result<()> {
    let places = [Place::new(Period::Second, counted.second), Place::new(Period::Hour, counted.hour())];
    let keys = [places[0].key.clone(), places[1].key.clone()];
    let rows = [(TREE, keys[0].as_slice()), (TREE, keys[1].as_slice())];
    engine.modify(&rows, None, &mut Save { counted, places, stamp: engine.last_stamp() }).await
}

/// Visits the stored tallies of the periods `[from, to)`.
pub(crate) async fn tallies(
    engine: &Engine,
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
