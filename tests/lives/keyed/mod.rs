//! Random lives of a table with indexes, transactions and counted keys, against a plain model. It has rows by partition
//! key, the reads and writes of transactions, and the rows of each index. Writes are in progress when everything is
//! lost. Rows have a time to live while updates are off.

pub(crate) mod model;
mod transactions;
pub(crate) mod world;

use crate::partitioning;
use model::{Change, Id, Index, Op, Rows, Val};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyInput, KeyPart, KeyValue};
use tabstore::tablestore::{Existence, OptionsChange, ReturnContent, RowWrite, Scope, UpdateTable};
use tabstore::{Code, Error};
use transactions::Open;
use world::{World, specs};

const PARTITIONS: u64 = 4;
const IDS: u64 = 6;
const HOUR: i64 = 3_600_000;

/// A write and how it came out, if it did.
type UnderWay = Rc<RefCell<Vec<(usize, bool)>>>;

struct Life {
    world: World,
    rows: Rows,
    indexes: Vec<Index>,
    /// Transactions that are open.
    open: Vec<Open>,
    time_to_live: i64,
    allow_update: bool,
    now: i64,
    /// By partition key, the key values that were assigned.
    counted: BTreeMap<i64, Vec<i64>>,
    /// The first of the keys that the life has, of partitions and of rows: each life has others.
    first: Id,
    seed: u64,
    step: u32,
}

impl Life {
    fn new(seed: u64) -> Self {
        let index = |name, key, columns| Index { name, key, columns, time_to_live: -1 };
        let indexes = vec![index("by_a", &["a", "p", "id"], &["b"]), index("by_p_b", &["p", "b", "id"], &["a", "c"])];
        let world = World::new(seed);
        world.env.take_us(crate::work_us(seed));
        Self {
            world,
            rows: Rows::default(),
            indexes,
            open: Vec::new(),
            time_to_live: -1,
            allow_update: true,
            now: crate::store::NOW,
            counted: BTreeMap::new(),
            first: ((seed * 7 % 95).cast_signed(), (seed * 11 % 93).cast_signed()),
            seed,
            step: 0,
        }
    }

    fn pick(&self, count: u64) -> u64 {
        (self.world.env.random() >> 16) % count
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {} step {}: {what}", self.seed, self.step)
    }

    /// Moves the clock: every write has a millisecond of its own, and nothing is just about to expire.
    fn pass(&mut self, ms: i64) {
        self.now += ms;
        while self.rows.on_the_edge(self.now, self.time_to_live) {
            self.now += 300_000;
        }
        self.world.env.set_now(self.now);
        self.open.retain(|open| open.is_alive(self.now));
    }

    fn id(&self) -> Id {
        (self.partition(), self.row())
    }

    fn partition(&self) -> i64 {
        self.first.0 + self.pick(PARTITIONS).cast_signed()
    }

    fn row(&self) -> i64 {
        self.first.1 + self.pick(IDS).cast_signed()
    }

    fn value(&self, column: &str) -> Val {
        match column {
            "c" => Val::Int(self.pick(5).cast_signed() - 2),
            // Few, so that rows share them, and others in each life.
            _ => Val::word((self.seed * 5 % 10_000 + self.pick(5)).cast_signed()),
        }
    }

    /// The change of a write; of the wrong type now and then, if `wrong`.
    fn change(&self) -> Change {
        let some = |life: &Self| ["a", "b", "c", "x"].into_iter().filter(|_| life.pick(5) > 1).collect::<Vec<_>>();
        match self.pick(10) {
            0..5 => Change::Put(some(self).into_iter().map(|column| (column, self.value(column))).collect()),
            5..9 => {
                let op = |column: &'static str| match self.pick(6) {
                    0..2 => (column, Op::Delete),
                    2 if column == "c" => (column, Op::Add(self.pick(9).cast_signed() - 4)),
                    _ => (column, Op::Put(self.value(column))),
                };
                let ops: Vec<_> = some(self).into_iter().map(op).collect();
                if ops.is_empty() { Change::Delete } else { Change::Update(ops) }
            }
            _ => Change::Delete,
        }
    }

    fn is_locked(&self, p: i64) -> bool {
        self.open.iter().any(|open| open.p == p)
    }

    /// A plain write, which is refused where a transaction has the rows.
    fn write(&mut self) {
        self.pass(1 + self.pick(3).cast_signed());
        let (id, change) = (self.id(), self.change());
        let outcome = self.world.write(None, id, &change);
        let updates = matches!(change, Change::Update(_));
        match outcome {
            Err(failure) if updates && !self.allow_update => self.refused(&failure.error, Code::ParameterInvalid),
            Err(failure) if self.is_locked(id.0) => self.refused(&failure.error, Code::RowOperationConflict),
            Err(failure) => self.fail(&format!("{id:?} {change:?}: {}", failure.error)),
            Ok(_) if self.is_locked(id.0) || (updates && !self.allow_update) => {
                self.fail(&format!("{id:?} {change:?} has to be refused"));
            }
            Ok(returned) => {
                let sum = self.rows.apply(id, &change, self.now);
                if sum != returned {
                    self.fail(&format!("{id:?} {change:?} came to {returned:?}, not {sum:?}"));
                }
            }
        }
        self.check_row(id);
    }

    /// A value of another type than defined, or a condition that does not hold: nothing is stored.
    fn write_refused(&mut self) {
        self.pass(1);
        let id = self.id();
        if self.is_locked(id.0) {
            return;
        }
        let wrong = Change::Put(vec![("a", Val::Int(1)), ("x", Val::Int(1))]);
        match self.world.write(None, id, &wrong) {
            Err(failure) => self.refused(&failure.error, Code::ParameterInvalid),
            Ok(_) => self.fail("a value of another type than defined has to be refused"),
        }
        let exists = self.rows.get(id, self.now, self.time_to_live).is_some();
        let right = Change::Put(vec![("a", Val::word(9))]);
        let expected = if exists { Existence::ExpectNotExist } else { Existence::ExpectExist };
        let write = RowWrite { condition: expected, ..world::write(id, &right) };
        match self.world.env.run(self.world.instance.write_row(&write, None)) {
            Err(failure) => self.refused(&failure.error, Code::ConditionCheckFail),
            Ok(_) => self.fail("the condition does not hold"),
        }
        self.check_row(id);
    }

    fn refused(&self, error: &Error, code: Code) {
        if error.code() != code {
            self.fail(&format!("refused with {error}, not with {code:?}"));
        }
    }

    /// Rows of a batch: each for itself, or all or none, of one partition key or of any.
    fn write_batch(&mut self) {
        self.pass(1);
        let scope = [None, Some(Scope::Partition), Some(Scope::Tables)][self.pick(3) as usize];
        let p = self.partition();
        let mut writes: BTreeMap<Id, Change> = BTreeMap::new();
        for _ in 0..2 + self.pick(4) {
            let id = self.id();
            let id = if scope == Some(Scope::Partition) { (p, id.1) } else { id };
            let change = match self.change() {
                Change::Update(_) if !self.allow_update => Change::Delete,
                change => change,
            };
            writes.insert(id, change);
        }
        let requests: Vec<RowWrite<'_>> = writes.iter().map(|(id, change)| world::write(*id, change)).collect();
        let instance = &self.world.instance;
        let done = match scope {
            Some(scope) => self.world.env.run(instance.write_atomic(&requests, scope, None)),
            None => self.world.env.run(instance.batch_write_row(&requests, None)),
        };
        // One row that is locked is enough to refuse all of a step.
        let refuses_all = scope.is_some() && writes.keys().any(|id| self.is_locked(id.0));
        let done = done.unwrap_or_else(|failure| self.fail(&format!("a batch failed: {}", failure.error)));
        for ((id, change), done) in writes.iter().zip(&done) {
            match done {
                Ok(_) if refuses_all || self.is_locked(id.0) => self.fail("a row that a transaction has was written"),
                Ok(_) => drop(self.rows.apply(*id, change, self.now)),
                Err(failure) if refuses_all || self.is_locked(id.0) => {
                    self.refused(&failure.error, Code::RowOperationConflict);
                }
                Err(failure) => self.fail(&format!("{id:?} {change:?}: {}", failure.error)),
            }
        }
        writes.keys().for_each(|id| self.check_row(*id));
    }

    fn check_row(&self, id: Id) {
        let expected = self.rows.get(id, self.now, self.time_to_live);
        match self.world.get(None, id) {
            Ok(read) if read == expected => {}
            other => self.fail(&format!("row {id:?} is {other:?}, not {expected:?}")),
        }
    }

    /// The whole table, and every index that is built, row by row.
    fn check_all(&self) {
        let expected = self.rows.all(self.now, self.time_to_live);
        match self.world.scan("t", None) {
            Ok(read) if read == expected => {}
            other => self.fail(&format!("the table is {other:?}, not {expected:?}")),
        }
        for index in &self.indexes {
            let expected = index.derive(self.rows.all(self.now, index.time_to_live));
            match self.world.scan(index.name, None) {
                Ok(read) if read == expected => {}
                Err(failure) if failure.error.message() == "Disallow read index table in building base state" => {}
                other => self.fail(&format!("index {} is {other:?}, not {expected:?}", index.name)),
            }
        }
    }

    /// Lets everything in the background come to its end; then every index is built.
    fn idle(&self) {
        self.world.env.run_until_idle();
        for index in &self.indexes {
            let table = self.world.instance.describe_table("t").expect("there");
            let described = table.indexes.iter().find(|other| other.name == index.name);
            if described.is_none_or(|described| described.building) {
                self.fail(&format!("index {} is not built: {described:?}", index.name));
            }
        }
        self.check_all();
    }

    /// The table's indexes changed: the writes of open transactions to them are unknown, so they end.
    fn transactions_end(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.is_over(&open.id);
        }
    }

    /// Makes the third index over what the table holds, or drops it.
    fn change_indexes(&mut self) {
        let instance = Rc::clone(&self.world.instance);
        if let Some(at) = self.indexes.iter().position(|index| index.name == "by_b_id") {
            self.world.env.run(instance.drop_index("t", "by_b_id")).expect("dropped");
            self.indexes.remove(at);
        } else {
            let [_, _, spec] = specs();
            self.world.env.run(instance.create_index("t", spec, true)).expect("created");
            let time_to_live = self.time_to_live;
            self.indexes.push(Index { name: "by_b_id", key: &["b", "id", "p"], columns: &[], time_to_live });
        }
        self.transactions_end();
    }

    fn set(&self, table: &str, options: OptionsChange) {
        let request = UpdateTable { name: table.into(), options, ..UpdateTable::default() };
        if let Err(error) = self.world.env.run(self.world.instance.update_table(request)) {
            self.fail(&format!("{table}: {options:?}: {error}"));
        }
    }

    /// Turns updates off and lets rows expire, first in the indexes (T8); or all of that back.
    fn change_time_to_live(&mut self) {
        let live = |seconds| OptionsChange { time_to_live: Some(seconds), ..OptionsChange::default() };
        if self.time_to_live == -1 {
            let seconds = (self.pick(3).cast_signed() + 1) * 86_400;
            for index in &self.indexes {
                self.set(index.name, live(seconds));
            }
            self.set("t", OptionsChange { allow_update: Some(false), ..live(seconds) });
            self.indexes.iter_mut().for_each(|index| index.time_to_live = seconds);
            (self.time_to_live, self.allow_update) = (seconds, false);
            self.pass(0);
        } else {
            // Expired data must be gone before it could show again.
            self.pass(0);
            self.world.env.run(self.world.instance.compact()).expect("compacted");
            self.rows.forget(self.now, self.time_to_live);
            self.open.iter_mut().for_each(|open| open.rows.forget(self.now, self.time_to_live));
            self.set("t", OptionsChange { allow_update: Some(true), ..live(-1) });
            (self.time_to_live, self.allow_update) = (-1, true);
            for index in &self.indexes {
                self.set(index.name, live(-1));
            }
            self.indexes.iter_mut().for_each(|index| index.time_to_live = -1);
            // The indexes are built anew.
            self.transactions_end();
        }
        self.check_all();
    }

    /// Rows whose last key column the store assigns: above all that it ever assigned for that partition key.
    fn count(&mut self) {
        self.pass(1);
        let p = self.first.0 + self.pick(3).cast_signed();
        let keys: Vec<KeyInput<'_>> = (0..1 + self.pick(3))
            .map(|_| {
                let mut key = world::partition(p);
                key.push("n", KeyPart::AutoIncrement);
                key
            })
            .collect();
        let put = |key: &KeyInput<'static>| RowWrite {
            returns: ReturnContent::PrimaryKey,
            ..crate::store::put("counted", key.clone(), &[])
        };
        let writes: Vec<_> = keys.iter().map(put).collect();
        let all = writes.iter().map(|write| self.world.instance.write_row(write, None));
        for written in self.world.env.run(futures_util::future::join_all(all)) {
            let row = written.unwrap_or_else(|failure| self.fail(&failure.error.to_string())).row;
            let Some([_, KeyValue::Integer(assigned)]) = row.as_ref().map(|row| &row.key[..]) else {
                self.fail(&format!("the assigned key is {row:?}"));
            };
            let known = self.counted.entry(p).or_default();
            if known.last().is_some_and(|last| last >= assigned) || *assigned <= 0 {
                panic!("seed {} step {}: {assigned} was assigned after {known:?}", self.seed, self.step);
            }
            known.push(*assigned);
        }
        let expected: Vec<_> = self.counted.iter().flat_map(|(p, all)| all.iter().map(|n| (*p, *n))).collect();
        let read = self.world.scan("counted", None).unwrap_or_else(|failure| self.fail(&failure.error.to_string()));
        let read: Vec<_> = read.into_iter().map(|(key, _)| key).collect();
        let expected: Vec<_> = expected.into_iter().map(|(p, n)| vec![Val::key(p), Val::Int(n)]).collect();
        if read != expected {
            self.fail(&format!("counted rows are {read:?}, not {expected:?}"));
        }
    }

    /// Everything is lost while some writes and commits are under way: each took place wholly or not at all.
    fn crash(&mut self) {
        self.pass(1);
        let done = UnderWay::default();
        let mut writes: Vec<(Vec<Id>, Rows)> = Vec::new();
        for _ in 0..self.pick(6) {
            let (id, change) = (self.id(), self.change());
            if self.is_locked(id.0) || writes.iter().any(|(ids, _)| ids.contains(&id)) {
                continue;
            }
            let change = if self.allow_update { change } else { Change::Delete };
            let mut after = self.rows.partition(id.0);
            after.apply(id, &change, self.now);
            let (instance, done, at) = (Rc::clone(&self.world.instance), Rc::clone(&done), writes.len());
            writes.push((vec![id], after));
            spawn(&self.world.env, async move {
                let written = instance.write_row(&world::write(id, &change), None).await;
                done.borrow_mut().push((at, written.is_ok()));
            });
        }
        for open in std::mem::take(&mut self.open) {
            if self.pick(2) == 0 {
                let (instance, done, at) = (Rc::clone(&self.world.instance), Rc::clone(&done), writes.len());
                let ids = (0..IDS.cast_signed()).map(|id| (open.p, self.first.1 + id)).collect();
                writes.push((ids, open.rows));
                spawn(&self.world.env, async move {
                    let written = instance.commit_transaction(&open.id, None).await;
                    done.borrow_mut().push((at, written.is_ok()));
                });
            }
        }
        let steps = self.pick(40);
        let env = self.world.env.clone();
        self.world.env.run(async {
            for _ in 0..steps {
                env.yield_now().await;
            }
        });
        self.world.reopen();
        let (done, mut unclear) = (done.take(), Vec::new());
        for (at, (ids, after)) in writes.iter().enumerate() {
            let acknowledged = done.iter().find(|(other, _)| *other == at).map(|(_, ok)| *ok);
            if acknowledged == Some(false) {
                self.fail(&format!("a write of {ids:?} failed"));
            }
            let read: Vec<_> = ids
                .iter()
                .map(|id| self.world.get(None, *id).unwrap_or_else(|failure| self.fail(&failure.error.to_string())))
                .collect();
            let is =
                |rows: &Rows| ids.iter().map(|id| rows.get(*id, self.now, self.time_to_live)).eq(read.iter().cloned());
            if acknowledged.is_none() && is(after) && is(&self.rows) {
                // It wrote what was there: nothing tells which of the two is there, and they differ in age.
                unclear.extend(ids);
            } else if is(after) {
                ids.iter().for_each(|id| self.rows.take_row(*id, after));
            } else if acknowledged.is_some() || !is(&self.rows) {
                self.fail(&format!(
                    "{ids:?} are {read:?}, neither as before nor as after a write (acknowledged: {acknowledged:?})"
                ));
            }
        }
        for id in unclear {
            if let Err(failure) = self.world.write(None, id, &Change::Delete) {
                self.fail(&format!("{id:?} cannot be deleted: {}", failure.error));
            }
            self.rows.apply(id, &Change::Delete, self.now);
        }
        self.check_all();
    }

    fn live(&mut self, steps: u32) {
        for step in 0..steps {
            self.step = step;
            match self.pick(200) {
                0..90 => self.write(),
                90..96 => self.write_refused(),
                96..106 => self.write_batch(),
                106..160 => self.transact(),
                160..168 => self.count(),
                168..174 => self.world.env.run(self.world.instance.flush()).expect("flushed"),
                174 => self.world.env.run(self.world.instance.compact()).expect("compacted"),
                175..178 => self.idle(),
                178..181 => self.change_indexes(),
                181..184 => self.change_time_to_live(),
                184..187 => self.pass(7 * HOUR * (1 + self.pick(6).cast_signed())),
                187..190 => self.crash(),
                190..194 => {
                    let changed = partitioning::change(&self.world.env, &self.world.instance);
                    self.world.env.run(changed).expect("changed");
                }
                _ => self.check_all(),
            }
        }
        self.idle();
    }
}

fn spawn(env: &SimEnv, task: impl Future<Output = ()> + 'static) {
    env.spawn(Box::pin(task));
}

/// R4, R6, R7, T8, V4: 60,000 operations on a table with indexes, in transactions and beside them. Every index agrees
/// with the table at any time, and a transaction is there wholly or not at all.
#[test]
fn r7_t8_lives_with_indexes_and_transactions_agree_with_the_model() {
    for seed in 1..=150 * crate::times() {
        Life::new(seed).live(400);
    }
}
