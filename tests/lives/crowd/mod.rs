//! Many clients at once, on a storage that takes its time: writes of every kind, transactions, loads, reads, flushes,
//! compactions, splits and crashes. Indexes come and go; commits fail, or have an unknown fate. Every request is
//! answered, and one order of all requests explains the answers: that in which they were asked.

mod ask;
mod history;
mod reads;
mod state;
mod transactions;
mod world;

use crate::partitioning;
use crate::store;
use ask::Clients;
use history::History;
use reads::{Keys, key_value};
use state::Time;
use std::cell::Cell;
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::env::Env;
use tabstore::model::meter::{Period, Prices};
use tabstore::model::{KeyValue, Value};
use tabstore::storage::Storage as _;
use tabstore::tablestore::{ComputeConsumed, GetRange, OptionsChange, UpdateTable};
use transactions::{Loading, Transaction};
use world::{PARTITIONS, PASSING, ROWS, World};

/// The faults that a life may have.
#[derive(Clone, Copy, PartialEq)]
enum Luck {
    /// Nothing.
    Good,
    /// Everything in memory is lost now and then.
    Crashes,
    /// That, and the disk is full now and then.
    FullDisks,
    /// That, and calls of the storage fail, of which some have taken effect.
    Faults,
}

/// A row of an index: its key, and the columns that it carries.
type IndexRow = (Vec<KeyValue>, Vec<(String, Value)>);

struct Life {
    world: World,
    tables: Vec<Keys>,
    /// By table and partition key.
    histories: Vec<Vec<History>>,
    clients: Rc<Clients>,
    transactions: Vec<Rc<Transaction>>,
    loading: Vec<Loading>,
    /// The number of the last transaction or loader.
    number: u64,
    /// Which values were written.
    next: i64,
    /// The last stamp that the store may have drawn.
    last: Time,
    now: i64,
    /// Indexes change.
    changing: Rc<Cell<bool>>,
    luck: Luck,
    seed: u64,
    step: u32,
}

impl Life {
    fn new(seed: u64, luck: Luck) -> Self {
        let (world, tables) = World::new(seed);
        world.env.take_us(crate::work_us(seed));
        let clients = Rc::<Clients>::default();
        clients.seconds.borrow_mut().push(store::NOW / 1000);
        let history = |table: &world::Table| {
            (0..PARTITIONS).map(|_| History::new(ROWS, table.rules, Rc::clone(&clients.seconds))).collect()
        };
        let histories = tables.iter().map(history).collect();
        Self {
            world,
            tables: tables.into_iter().map(Rc::new).collect(),
            histories,
            clients,
            transactions: Vec::new(),
            loading: Vec::new(),
            number: 0,
            next: 0,
            last: 0,
            now: store::NOW,
            changing: Rc::default(),
            luck,
            seed,
            step: 0,
        }
    }

    fn pick(&self, count: u64) -> u64 {
        (self.world.env.random() >> 16) % count
    }

    fn place(&self) -> (usize, usize) {
        (self.pick(self.tables.len() as u64) as usize, self.pick(PARTITIONS as u64) as usize)
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {} step {}: {what}", self.seed, self.step)
    }

    /// Moves the clock. The store's stamps lie in the first half of a second, the clients' versions in the other.
    fn pass(&mut self, ms: i64) {
        self.now += ms;
        if self.now.rem_euclid(1000) >= 400 {
            self.now = (self.now.div_euclid(1000) + 1) * 1000;
        }
        self.world.env.set_now(self.now);
        let second = self.now.div_euclid(1000);
        let mut seconds = self.clients.seconds.borrow_mut();
        if seconds.last() != Some(&second) {
            seconds.push(second);
        }
    }

    /// Lets others go on for a while.
    fn wait(&self, turns: u64) {
        let env = self.world.env.clone();
        self.world.env.run(async {
            for _ in 0..turns {
                env.yield_now().await;
            }
        });
    }

    /// Looks what clients were told.
    fn settle(&mut self) {
        if let Some(wrong) = self.clients.wrong.take() {
            self.fail(&wrong);
        }
        for table in 0..self.histories.len() {
            for partition in 0..PARTITIONS {
                if let Err(wrong) = self.histories[table][partition].settle() {
                    let name = self.tables[table].name;
                    self.fail(&format!("nothing explains what is said of {name}, partition {partition}:\n{wrong}"));
                }
            }
        }
    }

    /// Something in the background that concerns no row.
    fn upkeep(&mut self) {
        let (instance, clients, env) =
            (Rc::clone(&self.world.instance), Rc::clone(&self.clients), self.world.env.clone());
        let (what, (at, partition)) = (self.pick(10), self.place());
        let table = Rc::clone(&self.tables[at]);
        self.launch("upkeep", async move {
            let done = match what {
                0..4 => instance.flush().await,
                4 | 5 => instance.compact().await,
                6..8 => instance.split_partition(table.name, &key_value(table.partitions[partition])).await,
                _ => partitioning::change(&env, &instance).await,
            };
            if let Err(error) = done {
                clients.explains(&error, "upkeep");
            }
        });
    }

    /// Changes the indexes of a table, one change at a time.
    fn change_indexes(&mut self) {
        if self.changing.replace(true) {
            return;
        }
        let at = self.tables.iter().position(|table| table.indexed).expect("a table");
        self.transactions.iter().filter(|open| open.table == at).for_each(|open| open.doubtful.set(true));
        let (instance, clients, changing) =
            (Rc::clone(&self.world.instance), Rc::clone(&self.clients), Rc::clone(&self.changing));
        let (what, days) = (self.pick(3), self.pick(3) as i64);
        self.launch("a change of indexes", async move {
            let indexes = instance.describe_table("indexed").map(|table| table.indexes).unwrap_or_default();
            let exists = indexes.iter().any(|index| index.name == PASSING);
            let done = match what {
                0 if exists => instance.drop_index("indexed", PASSING).await,
                0 => instance.create_index("indexed", world::spec(PASSING), true).await,
                _ => {
                    let time_to_live = Some(if days == 0 { -1 } else { days * 86_400 });
                    let options = OptionsChange { time_to_live, ..OptionsChange::default() };
                    let name = indexes.first().map_or(String::new(), |index| index.name.clone());
                    instance.update_table(UpdateTable { name, options, ..UpdateTable::default() }).await.map(drop)
                }
            };
            changing.set(false);
            if let Err(error) = done {
                clients.explains(&error, "a change of indexes");
            }
        });
    }

    /// Everything in memory is lost. Unanswered requests may have been done.
    fn crash(&mut self) {
        if let Err(error) = self.world.reopen() {
            self.fail(&format!("it does not open again: {error}"));
        }
        self.clients.waiting.borrow_mut().clear();
        self.clients.units.set([0; 2]);
        self.clients.untold.set(false);
        self.clients.closed.set(false);
        self.changing.set(false);
        self.transactions.clear();
        self.loading.clear();
        for history in self.histories.iter_mut().flatten() {
            if let Err(wrong) = history.crash() {
                panic!(
                    "seed {} step {}: nothing explains what was said before a crash:\n{wrong}",
                    self.seed, self.step
                );
            }
        }
    }

    /// The storage works, and everything comes to its end: everyone is answered, and all agrees.
    fn quiet(&mut self) {
        let one_in = self.world.weather.one_in.replace(0);
        self.store_all();
        self.world.env.run_until_idle();
        self.settle();
        if self.clients.closed.get() {
            self.crash();
        }
        if !self.clients.waiting.borrow().is_empty() {
            let waiting: Vec<_> = self.clients.waiting.borrow().values().copied().collect();
            self.fail(&format!("nobody answers {waiting:?}"));
        }
        for table in 0..self.tables.len() {
            self.range(table, None, None);
        }
        self.world.env.run_until_idle();
        self.settle();
        if self.clients.closed.get() {
            // The end came to light with the first request after it.
            self.crash();
        } else if !self.histories.iter().flatten().all(History::is_settled) {
            self.fail("a range was not answered");
        } else {
            self.check_indexes();
            self.check_units();
        }
        self.world.weather.one_in.set(one_in);
    }

    /// All rows of a table or an index, in their order: key and cells.
    fn scan(&self, table: &str) -> Vec<store::Row> {
        let request = GetRange { options: store::versions(1), ..store::range(table, Direction::Forward) };
        let mut rows = store::Rows::default();
        match self.world.env.run(self.world.instance.get_range(&request, &mut rows)) {
            Ok(read) => {
                self.clients.used(read.consumed);
                assert_eq!(read.next, None);
                rows.0
            }
            Err(failure) => self.fail(&format!("{table} cannot be read: {failure}")),
        }
    }

    /// Every index is built, and agrees with its table.
    fn check_indexes(&self) {
        let instance = &self.world.instance;
        let rows = self.scan("indexed");
        let building = |index: &tabstore::tablestore::IndexDescription| index.building;
        let indexes = || instance.describe_table("indexed").expect("there").indexes;
        if indexes().iter().any(building) {
            // Work that a failing storage has stopped goes on with the next compaction.
            if let Err(error) = self.world.env.run(instance.compact()) {
                self.fail(&format!("no compaction: {error}"));
            }
            self.world.env.run_until_idle();
        }
        for index in indexes() {
            if index.building {
                self.fail(&format!("{} is not built", index.name));
            }
            let alive = |version: i64| {
                index.time_to_live == -1 || version.div_euclid(1000) >= self.now.div_euclid(1000) - index.time_to_live
            };
            let mut expected: Vec<IndexRow> = Vec::new();
            for (key, cells) in &rows {
                let value = |name: &&str| match *name {
                    "p" => Some(key[0].clone()),
                    "id" => Some(key[1].clone()),
                    _ => cells.iter().find(|cell| cell.0 == *name && alive(cell.1)).and_then(|cell| key_of(&cell.2)),
                };
                let carried = cells.iter().filter(|cell| index.columns.contains(&cell.0) && alive(cell.1));
                let carried = carried.map(|cell| (cell.0.clone(), cell.2.clone())).collect();
                if let Some(key) = world::index_key(&index.name).iter().map(value).collect::<Option<Vec<_>>>() {
                    expected.push((key, carried));
                }
            }
            let found = self.scan(&index.name).into_iter();
            let mut found: Vec<IndexRow> = found
                .map(|(key, cells)| (key, cells.into_iter().map(|(name, _, value)| (name, value)).collect()))
                .collect();
            let by_key = |a: &IndexRow, b: &IndexRow| format!("{:?}", a.0).cmp(&format!("{:?}", b.0));
            expected.sort_by(by_key);
            found.sort_by(by_key);
            if found != expected {
                self.fail(&format!("{}, {} s, is {found:?}, not {expected:?}", index.name, index.time_to_live));
            }
        }
    }

    /// The meter agrees with what clients were told (C1, C3).
    fn check_units(&self) {
        let (told, used) = (self.clients.units.get(), self.world.instance.units_used());
        let agrees = told == used || (self.clients.untold.get() && told[0] <= used[0] && told[1] <= used[1]);
        if !agrees {
            self.fail(&format!("clients were told of {told:?} units, the meter says {used:?}"));
        }
        if self.luck != Luck::Good {
            return;
        }
        let request =
            ComputeConsumed { table: None, start: None, end: None, period: Period::Hour, prices: Prices::default() };
        match self.world.env.run(self.world.instance.compute_consumed(&request)) {
            Ok(series) => {
                let stored = [series.total.consumed.read, series.total.consumed.write];
                if stored != used.map(|units| units as f64) {
                    self.fail(&format!("{used:?} units were used, {stored:?} are stored"));
                }
            }
            Err(error) => self.fail(&format!("the meter cannot be read: {error}")),
        }
    }

    /// Nothing unneeded is stored.
    fn check_space(&mut self) {
        if self.luck == Luck::Faults {
            // Segments that could not be deleted go when the store is opened again.
            self.crash();
        }
        let instance = Rc::clone(&self.world.instance);
        // Transactions that are open have the rows that are to be written.
        self.pass(61_000);
        if let Err(error) = self.world.env.run(instance.compact()) {
            self.fail(&format!("no compaction: {error}"));
        }
        // Segments that a reader held go with the next commit.
        let last = store::put("many", self.tables[1].key(0, 0), &[]);
        if let Err(failure) = self.world.env.run(instance.write_row(&last, None)) {
            self.fail(&format!("no last write: {failure}"));
        }
        self.world.env.run_until_idle();
        // The reserve's are below those of leaders.
        let mut stored = self.world.env.run(self.world.memory.list_segments()).expect("listed");
        stored.retain(|id| id.0 >> 24 > 0);
        let stored = stored.len() as u64;
        if stored != instance.metrics().segments {
            self.fail(&format!("{stored} segments are stored, {} are needed", instance.metrics().segments));
        }
    }

    /// One thing after another. Gives how many writes were acknowledged.
    fn live(mut self, steps: u32) -> u64 {
        for step in 0..steps {
            self.step = step;
            if self.pick(3) > 0 {
                self.pass(1 + self.pick(3) as i64);
            }
            match self.pick(1000) {
                0..400 => self.write(),
                400..450 => self.write_batch(),
                450..500 => self.write_atomic(),
                500..620 => {
                    let (table, partition) = self.place();
                    self.get(table, partition, None);
                }
                620..650 => self.batch_get(),
                650..700 => {
                    let (table, partition) = self.place();
                    let partition = (self.pick(2) == 0).then_some(partition);
                    self.range(table, partition, None);
                }
                700..830 => self.transact(),
                830..890 => self.load(),
                890..935 => self.upkeep(),
                935..945 => self.change_indexes(),
                945..960 => {
                    let second = [1, 20, 61, 3600, 43_200, 86_399, 86_400][self.pick(7) as usize];
                    self.pass(second * 1000);
                }
                960..980 if matches!(self.luck, Luck::FullDisks | Luck::Faults) => {
                    let one_in = [0, 0, 4, 10, 30][self.pick(5) as usize];
                    self.clients.faulty.set(true);
                    self.world.weather.one_in.set(one_in);
                    self.world.weather.full.set(self.luck == Luck::FullDisks);
                }
                980..987 if self.luck != Luck::Good => self.crash(),
                _ => self.wait(self.pick(60)),
            }
            if self.pick(2) == 0 {
                self.wait(self.pick(12));
            }
            self.settle();
            let closed = self.clients.closed.get();
            if closed && self.pick(4) == 0 {
                self.crash();
            } else if self.pick(80) == 0 || self.histories.iter().flatten().any(|history| history.doubts() > 60) {
                self.quiet();
            }
        }
        self.quiet();
        self.world.weather.one_in.set(0);
        self.check_space();
        self.clients.done.get()
    }
}

/// An attribute as part of an index key.
fn key_of(value: &Value) -> Option<KeyValue> {
    match value {
        Value::Integer(value) => Some(KeyValue::Integer(*value)),
        Value::String(text) => Some(KeyValue::String(text.to_string())),
        _ => None,
    }
}

const STEPS: u32 = 400;

fn lives(first: u64, count: u64, luck: Luck) {
    let (seeds, mut done) = (crate::seeds(first, count), 0);
    let lives = seeds.end - seeds.start;
    for seed in seeds {
        done += Life::new(seed, luck).live(STEPS);
    }
    assert!(done > 50 * lives, "{lives} lives have stored {done} writes");
}

/// R5, R6, R7, C1, C3: on a storage that works.
#[test]
fn r5_r6_r7_a_crowd_is_told_what_one_order_of_its_requests_explains() {
    lives(1, 60, Luck::Good);
}

/// R4, R5, R6, R7.
#[test]
fn r4_r5_r6_r7_so_is_one_whose_store_crashes_now_and_then() {
    lives(1001, 60, Luck::Crashes);
}

/// R4, R5, R6, R7.
#[test]
fn r4_r5_r6_r7_so_is_one_whose_disk_is_full_now_and_then() {
    lives(2001, 60, Luck::FullDisks);
}

/// R4, R5, R6, R7: it is known of some commits only later whether they are stored.
#[test]
fn r4_r5_r6_r7_so_is_one_on_a_storage_whose_calls_fail() {
    lives(3001, 80, Luck::Faults);
}
