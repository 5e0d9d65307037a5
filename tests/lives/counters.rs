//! Compare-and-set and increments by many clients at once. The storage lets others go first at every call, and
//! sometimes fails before or after a change. No update is lost, and none counts twice.

use crate::partitioning;
use crate::store::{self, NOW};
use futures_util::future::join_all;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Engine, Options, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::{KeyColumn, KeyType, TableName, Value};
use tabstore::storage::faults::{Call, Hook, Hooked};
use tabstore::storage::{AnyStorage, MemoryStorage};
use tabstore::tablestore::{CreateTable, GetRow, Instance, InstanceOptions, OptionsChange, ReturnContent, RowWrite};
use tabstore::{Code, Error, Result};

const CLIENTS: i64 = 8;
const ROUNDS: i64 = 24;
/// The rows that they all count in.
const ROWS: i64 = 2;

/// Yields at every call; one in so many fails, half of those after it took effect.
struct Unreliable {
    env: SimEnv,
    one_in: Cell<u64>,
}

impl Unreliable {
    async fn at(&self, call: &Call) -> Result<()> {
        self.env.yield_now().await;
        let one_in = self.one_in.get();
        let fails = one_in > 0 && (self.env.random() >> 20).is_multiple_of(2 * one_in);
        if fails && matches!(call, Call::Commit(_) | Call::GetBlocks(_) | Call::Stage(..)) {
            return Err(Error::new(Code::Unavailable, "the storage was made to fail"));
        }
        Ok(())
    }
}

impl Hook for Unreliable {
    async fn before(&self, call: &Call) -> Result<()> {
        self.at(call).await
    }

    async fn after(&self, call: &Call) -> Result<()> {
        self.at(call).await
    }
}

async fn open(env: &SimEnv, storage: impl Into<AnyStorage>) -> Rc<Instance> {
    let shape = Shape::TINY;
    let options = Options {
        memtable_bytes: 3000,
        cache_bytes: 1000,
        clock: ClockMode::Injected,
        reserve_bytes: 700,
        shape,
        ..Options::default()
    };
    let engine = Engine::open(storage, Rc::new(env.clone()), options).await.expect("opens");
    Instance::open(engine, InstanceOptions::default()).await.expect("opens")
}

async fn create(instance: &Instance) {
    let key = vec![KeyColumn::new("id", KeyType::Integer)];
    let options = OptionsChange { max_versions: Some(3), ..OptionsChange::default() };
    instance
        .create_table(CreateTable { name: "t".into(), key, options, ..CreateTable::default() })
        .await
        .expect("created");
}

/// Reads two columns of a row, as often as it takes; 0 stands for what is not there.
async fn read(instance: &Instance, env: &SimEnv, row: i64, columns: [&str; 2]) -> [i64; 2] {
    loop {
        let mut rows = store::Rows::default();
        let table = TableName::parse("t").expect("a name");
        let request = GetRow { table, key: store::id(row), options: store::columns(&columns) };
        match instance.get_row(&request, &mut rows).await {
            Ok(_) => {
                let cells = rows.0.pop().map(|(_, cells)| cells).unwrap_or_default();
                return columns.map(|name| match cells.iter().find(|cell| cell.0 == name) {
                    Some((_, _, Value::Integer(value))) => *value,
                    Some(other) => panic!("{other:?} was never written"),
                    None => 0,
                });
            }
            Err(failure) => assert_eq!(failure.error.code(), Code::Unavailable, "{}", failure.error),
        }
        env.yield_now().await;
    }
}

/// The column has this value; 0 if it is not there.
fn is(column: &'static str, value: i64) -> Filter<'static> {
    Filter::Column(ColumnFilter {
        column: store::column(column),
        comparator: Comparator::Equal,
        value: Some(store::int(value)),
        pass_if_missing: value == 0,
        latest_version_only: true,
        transfer: None,
    })
}

/// One client: counts `x` up, and beside it notes in a column of its own which of its rounds it is at. So it knows after
/// a failure whether that round took place.
async fn client(instance: Rc<Instance>, env: SimEnv, me: i64, sums: Rc<RefCell<BTreeSet<(i64, i64)>>>) {
    let own = format!("own{me}");
    for round in 1..=ROUNDS {
        let row = (me + round) % ROWS;
        loop {
            let [x, mine] = read(&instance, &env, row, ["x", &own]).await;
            if mine == round {
                break;
            }
            let written = if (me + round) % 3 == 0 {
                let changes = [store::increment("x", 1), store::add(&own, None, round)];
                let returns = ReturnContent::AfterModify(vec![store::column("x")]);
                let write = RowWrite { returns, ..store::update("t", store::id(row), &changes) };
                instance.write_row(&write, None).await
            } else {
                let changes = [store::add("x", None, x + 1), store::add(&own, None, round)];
                let column_condition = Some(Box::new(is("x", x)));
                let write = RowWrite { column_condition, ..store::update("t", store::id(row), &changes) };
                instance.write_row(&write, None).await
            };
            match written {
                Ok(written) => {
                    if let Some((_, _, Value::Integer(sum))) = written.row.and_then(|row| row.cells.into_iter().next())
                    {
                        assert!(sums.borrow_mut().insert((row, sum)), "row {row} came to {sum} twice");
                    }
                    break;
                }
                Err(failure) => {
                    let code = failure.error.code();
                    assert!(matches!(code, Code::ConditionCheckFail | Code::Unavailable), "{}", failure.error);
                }
            }
        }
        match env.random() % 40 {
            0 => drop(instance.compact().await),
            1..4 => drop(instance.flush().await),
            4..7 => drop(partitioning::change(&env, &instance).await),
            7..12 => env.yield_now().await,
            _ => {}
        }
    }
}

async fn sum(instance: &Instance, env: &SimEnv) -> i64 {
    let mut sum = 0;
    for row in 0..ROWS {
        sum += read(instance, env, row, ["x", "x"]).await[0];
    }
    sum
}

fn count(seed: u64, one_in: u64) {
    let (env, memory) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
    env.run(async { create(&*open(&env, memory.clone()).await).await });
    env.run_until_idle();
    env.crash();
    // Opened on a storage that works. The later failures are the subject of this test.
    let hook = Rc::new(Unreliable { env: env.clone(), one_in: Cell::new(0) });
    let instance = env.run(open(&env, Hooked::new(memory.clone(), Rc::clone(&hook))));
    hook.one_in.set(one_in);
    let sums = Rc::default();
    let clients = (0..CLIENTS).map(|me| client(Rc::clone(&instance), env.clone(), me, Rc::clone(&sums)));
    env.run(join_all(clients));
    hook.one_in.set(0);
    assert_eq!(env.run(sum(&instance, &env)), CLIENTS * ROUNDS, "seed {seed}");
    env.crash();
    let reopened = env.run(open(&env, memory));
    assert_eq!(env.run(sum(&reopened, &env)), CLIENTS * ROUNDS, "seed {seed}, opened again");
}

/// R6: conditions and counters, beside any other writers.
#[test]
fn r6_compare_and_set_and_increments_by_many_clients_lose_nothing() {
    (1..=25 * crate::times()).for_each(|seed| count(seed, 0));
}

/// R4, R6: nor when storage calls fail, before or after they took effect.
#[test]
fn r4_r6_nothing_is_lost_or_counted_twice_when_calls_fail() {
    (100..=100 + 200 * crate::times()).for_each(|seed| count(seed, 12));
}
