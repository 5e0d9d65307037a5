//! Requests of a crowd: each is polled once when it is asked, as a session does, and goes on beside the others. Its
//! answer goes to the histories of its partition keys. Here are the writes.

use super::Life;
use super::history::{Entry, Slot, Told};
use super::state::{self, Change, Expected, Op, Write};
use super::transactions::Transaction;
use super::world::{self, COLUMNS, COUNTER, ROWS, Table};
use crate::store;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Waker};
use tabstore::env::Env;
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::{Consumed, Value};
use tabstore::tablestore::{
    ColumnChange, ColumnOp, Existence, Failure, Outcome, PutCell, ReturnContent, RowWrite, Written,
};
use tabstore::{Code, Error};

/// Whether somebody may write to a partition key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lock {
    Free,
    Held,
    /// Its transaction may have ended.
    Perhaps,
}

/// All answers together.
#[derive(Default)]
pub(super) struct Clients {
    /// Requests that wait, by number.
    pub(super) waiting: RefCell<BTreeMap<u64, &'static str>>,
    next: Cell<u64>,
    /// Read and write units.
    pub(super) units: Cell<[u64; 2]>,
    /// Somebody will never be told what was used.
    pub(super) untold: Cell<bool>,
    /// The store has to be opened again.
    pub(super) closed: Cell<bool>,
    /// An answer that is never right.
    pub(super) wrong: RefCell<Option<String>>,
    /// Calls of the storage may have failed.
    pub(super) faulty: Cell<bool>,
    /// The newest sum of a counter.
    sum: Cell<i64>,
    /// Every second that the clock has shown.
    pub(super) seconds: Rc<RefCell<Vec<i64>>>,
    /// Writes that were acknowledged.
    pub(super) done: Cell<u64>,
}

/// The known facts of a write when it is asked.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) lock: Lock,
    /// The versions that it gives lie in the table's window.
    pub(super) valid: bool,
    pub(super) conditional: bool,
    /// It is part of a transaction; whether that may be over.
    pub(super) inside: Option<bool>,
}

/// A write as the model and as the store know it.
pub(super) struct Asked {
    pub(super) write: Write,
    pub(super) request: RowWrite<'static>,
    pub(super) known: Known,
}

impl Clients {
    pub(super) fn is_wrong(&self, what: String) {
        self.wrong.borrow_mut().get_or_insert(what);
    }

    pub(super) fn used(&self, consumed: Consumed) {
        let [read, write] = self.units.get();
        self.units.set([read + u64::from(consumed.read), write + u64::from(consumed.write)]);
    }

    /// An error that a failing storage explains. Says whether something may have been stored.
    pub(super) fn explains(&self, error: &Error, what: &str) -> bool {
        match error.code() {
            Code::QuotaExceeded if self.faulty.get() => false,
            Code::Unavailable if self.faulty.get() => true,
            Code::Closed | Code::Fenced if self.faulty.get() => {
                self.closed.set(true);
                true
            }
            _ => {
                self.is_wrong(format!("{what}: {error}"));
                true
            }
        }
    }

    /// Whether a row was taken that is to be loaded.
    pub(super) fn is_taken(&self, failure: Option<&Failure>, known: Known) -> bool {
        let right = match failure.map(|failure| failure.error.code()) {
            None => known.lock != Lock::Held && known.valid,
            Some(Code::RowOperationConflict) => known.lock != Lock::Free,
            Some(Code::ParameterInvalid) => !known.valid,
            Some(_) => false,
        };
        if !right {
            self.is_wrong(format!("a row to be loaded: {failure:?}, lock {:?}, valid {}", known.lock, known.valid));
        }
        failure.is_none()
    }

    pub(super) fn told(&self, outcome: Outcome<Written>, known: Known) -> Told {
        let failure = match outcome {
            Ok(written) => {
                self.used(written.consumed);
                if known.lock == Lock::Held || !known.valid {
                    self.is_wrong(format!("a write was accepted: lock {:?}, valid {}", known.lock, known.valid));
                }
                self.done.set(self.done.get() + 1);
                let sum = match written.row.and_then(|row| row.cells.into_iter().next()) {
                    Some((_, _, Value::Integer(sum))) => Some(sum),
                    _ => None,
                };
                self.sum.set(sum.unwrap_or(self.sum.get()));
                return Told::Done(vec![sum]);
            }
            Err(failure) => failure,
        };
        self.used(failure.consumed);
        match failure.error.code() {
            Code::ConditionCheckFail if known.conditional => Told::Refused,
            Code::RowOperationConflict if known.lock != Lock::Free => Told::Nothing,
            Code::ParameterInvalid if !known.valid => Told::Nothing,
            Code::SessionNotExist if known.inside == Some(true) => Told::Nothing,
            _ if self.explains(&failure.error, "a write") && known.inside.is_none() => Told::Unknown,
            _ => Told::Nothing,
        }
    }
}

pub(super) fn slot<T>() -> Slot<T> {
    Slot::default()
}

/// The client of a slot is told once; after a crash nobody is.
pub(super) fn tell<T>(slot: &Slot<T>, what: T) {
    let _ = slot.set(what);
}

impl Life {
    /// Polls a request once, and lets it go on beside the others.
    pub(super) fn launch(&self, what: &'static str, request: impl Future<Output = ()> + 'static) {
        let clients = Rc::clone(&self.clients);
        let number = clients.next.get();
        clients.next.set(number + 1);
        clients.waiting.borrow_mut().insert(number, what);
        let mut request = Box::pin(async move {
            request.await;
            clients.waiting.borrow_mut().remove(&number);
        });
        if request.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.world.env.spawn(request);
        }
    }

    /// The place from which the seconds of a read count.
    pub(super) fn clock(&self) -> usize {
        self.clients.seconds.borrow().len() - 1
    }

    pub(super) fn lock(&self, table: usize, partition: usize) -> Lock {
        let of = |open: &&Rc<Transaction>| (open.table, open.partition) == (table, partition);
        let mut lock = Lock::Free;
        for open in self.transactions.iter().filter(of) {
            match (open.is_alive(self.now), open.doubtful.get()) {
                (true, false) => return Lock::Held,
                (true, true) => lock = Lock::Perhaps,
                (false, _) => {}
            }
        }
        lock
    }

    fn unique(&mut self, column: usize) -> i64 {
        self.next += 1;
        world::number(column, self.next)
    }

    /// A version that a client gives: often at an end of the window (V6).
    fn version(&self, table: &Table) -> i64 {
        let (now, offset) = (self.now.div_euclid(1000), table.max_version_offset);
        let age = if table.rules.time_to_live == -1 { offset } else { offset.min(table.rules.time_to_live) };
        let second = match self.pick(16) {
            0 => now - age - 1,
            1 => now + offset,
            2 => now + offset - 1,
            3..6 => now - age,
            6..9 => now - age + self.pick(4) as i64,
            _ => now + self.pick(20) as i64 - 15,
        };
        second * 1000 + 500 + self.pick(3) as i64
    }

    /// A random write of a row.
    pub(super) fn write_of(&mut self, table: usize, partition: usize, inside: Option<bool>) -> Asked {
        let (row, indexed) = (self.pick(ROWS as u64) as usize, self.tables[table].indexed);
        self.last = state::stamped(self.now, self.last);
        let stamp = self.last;
        let mut puts = Vec::new();
        for (column, name) in COLUMNS.into_iter().enumerate() {
            let chosen = match name {
                "n" => self.pick(12) == 0,
                "x" => self.pick(4) > 0,
                _ if world::INDEXED.contains(&column) => indexed && self.pick(3) > 0,
                _ => self.pick(4) == 0,
            };
            if chosen {
                let mut time = stamp;
                if !indexed && column != COUNTER && self.pick(3) == 0 {
                    time = state::given(self.version(&self.tables[table]));
                }
                puts.push((column, time, self.unique(column)));
            }
        }
        let change = match self.pick(10) {
            0..4 => Change::Put(stamp, puts),
            4..9 => {
                let puts = puts.into_iter().filter(|put| put.0 != COUNTER);
                let mut ops: Vec<(usize, Op)> =
                    puts.map(|(column, time, value)| (column, Op::Put(time, value))).collect();
                if self.pick(2) == 0 || ops.is_empty() {
                    ops.insert(0, (COUNTER, Op::Add(stamp, self.pick(9) as i64 - 4)));
                } else if self.pick(4) == 0 {
                    let column = self.pick(COLUMNS.len() as u64) as usize;
                    ops.retain(|op| op.0 != column);
                    ops.push((column, Op::Delete));
                }
                Change::Update(ops)
            }
            _ => Change::Delete,
        };
        let valid = match &change {
            Change::Put(_, puts) => puts.iter().all(|put| self.is_inside(table, put.1)),
            Change::Update(ops) => ops.iter().all(|(_, op)| match op {
                Op::Put(time, _) => self.is_inside(table, *time),
                Op::Delete | Op::Add(..) => true,
            }),
            Change::Delete => true,
        };
        let expected = match self.pick(12) {
            0 => Expected::Row,
            1 => Expected::NoRow,
            2 if indexed => Expected::Value(5, world::number(5, self.pick(3) as i64)),
            2 => Expected::Value(COUNTER, self.clients.sum.get()),
            _ => Expected::Anything,
        };
        let lock = if inside.is_some() { Lock::Free } else { self.lock(table, partition) };
        let known = Known { lock, valid, conditional: expected != Expected::Anything, inside };
        let write = Write { row, expected, change, second: self.now.div_euclid(1000) };
        let request = self.request(table, partition, &write);
        Asked { write, request, known }
    }

    /// Whether the version of a cell lies in the window of its table.
    fn is_inside(&self, table: usize, time: i64) -> bool {
        let table = &self.tables[table];
        let (now, offset) = (self.now.div_euclid(1000), table.max_version_offset);
        let age = if table.rules.time_to_live == -1 { offset } else { offset.min(table.rules.time_to_live) };
        (now - age..now + offset).contains(&state::ms(time).div_euclid(1000))
    }

    fn request(&self, table: usize, partition: usize, write: &Write) -> RowWrite<'static> {
        let table = &self.tables[table];
        let key = table.key(partition, write.row);
        let request = match &write.change {
            Change::Put(_, puts) => {
                let cell = |&(column, time, number): &(usize, i64, i64)| PutCell {
                    version: state::version(time),
                    ..store::cell(COLUMNS[column], world::value(column, number))
                };
                store::put(table.name, key, &puts.iter().map(cell).collect::<Vec<_>>())
            }
            Change::Update(ops) => {
                let change = |&(column, op): &(usize, Op)| {
                    let op = match op {
                        Op::Put(time, number) => {
                            ColumnOp::Put { version: state::version(time), value: world::value(column, number) }
                        }
                        Op::Delete => ColumnOp::DeleteColumn,
                        Op::Add(_, delta) => ColumnOp::Increment(delta),
                    };
                    store::change(COLUMNS[column], op)
                };
                let changes: Vec<ColumnChange<'static>> = ops.iter().map(change).collect();
                let counts = ops.iter().any(|(_, op)| matches!(op, Op::Add(..)));
                let returns = match counts {
                    true => ReturnContent::AfterModify(vec![store::column(COLUMNS[COUNTER])]),
                    false => ReturnContent::None,
                };
                RowWrite { returns, ..store::update(table.name, key, &changes) }
            }
            Change::Delete => store::delete(table.name, key),
        };
        let (condition, column_condition) = match write.expected {
            Expected::Anything => (Existence::Ignore, None),
            Expected::Row => (Existence::ExpectExist, None),
            Expected::NoRow => (Existence::ExpectNotExist, None),
            Expected::Value(column, number) => {
                let comparison = store::comparison(COLUMNS[column], Comparator::Equal, world::value(column, number));
                let filter = ColumnFilter { pass_if_missing: false, ..comparison };
                (Existence::Ignore, Some(Box::new(Filter::Column(filter))))
            }
        };
        RowWrite { condition, column_condition, ..request }
    }

    pub(super) fn write(&mut self) {
        let (table, partition) = self.place();
        let asked = self.write_of(table, partition, None);
        let slot = slot();
        self.histories[table][partition].ask(Entry::Write(None, vec![asked.write], Rc::clone(&slot)));
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("a write", async move {
            let outcome = instance.write_row(&asked.request, None).await;
            tell(&slot, clients.told(outcome, asked.known));
        });
    }

    /// A batch of rows of any tables, each for itself.
    pub(super) fn write_batch(&mut self) {
        let (mut rows, mut slots): (Vec<Asked>, Vec<Slot<Told>>) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for _ in 0..2 + self.pick(5) {
            let (table, partition) = self.place();
            let asked = self.write_of(table, partition, None);
            if places.contains(&(table, partition, asked.write.row)) {
                continue;
            }
            places.push((table, partition, asked.write.row));
            slots.push(slot());
            let entry = Entry::Write(None, vec![asked.write.clone()], Rc::clone(&slots[slots.len() - 1]));
            self.histories[table][partition].ask(entry);
            rows.push(asked);
        }
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("a batch", async move {
            let requests: Vec<_> = rows.iter().map(|row| row.request.clone()).collect();
            match instance.batch_write_row(&requests, None).await {
                Ok(outcomes) => {
                    for ((outcome, row), slot) in outcomes.into_iter().zip(&rows).zip(&slots) {
                        tell(slot, clients.told(outcome, row.known));
                    }
                }
                Err(failure) => {
                    slots.iter().for_each(|slot| tell(slot, clients.told(Err(failure.clone()), rows[0].known)));
                }
            }
        });
    }

    /// A batch of rows of one partition key, all or none.
    pub(super) fn write_atomic(&mut self) {
        let (table, partition) = self.place();
        let mut rows: Vec<Asked> = Vec::new();
        for _ in 0..2 + self.pick(3) {
            let asked = self.write_of(table, partition, None);
            if rows.iter().all(|other| other.write.row != asked.write.row) {
                rows.push(asked);
            }
        }
        let known = Known {
            lock: self.lock(table, partition),
            valid: rows.iter().all(|row| row.known.valid),
            conditional: rows.iter().any(|row| row.known.conditional),
            inside: None,
        };
        let slot = slot();
        let writes = rows.iter().map(|row| row.write.clone()).collect();
        self.histories[table][partition].ask(Entry::Write(None, writes, Rc::clone(&slot)));
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("an atomic batch", async move {
            let requests: Vec<_> = rows.into_iter().map(|row| row.request).collect();
            let told = match instance.batch_write_row_atomic(&requests, None).await {
                Ok(outcomes) => {
                    let all: Vec<Told> = outcomes.into_iter().map(|outcome| clients.told(outcome, known)).collect();
                    match all.iter().find(|told| !matches!(told, Told::Done(_))) {
                        Some(other) => other.clone(),
                        None => Told::Done(all.into_iter().flat_map(Told::sums).collect()),
                    }
                }
                Err(failure) => clients.told(Err(failure), known),
            };
            tell(&slot, told);
        });
    }
}
