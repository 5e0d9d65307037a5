//! A commit of unknown fate, stored or not: requests that come meanwhile keep their order.

use crate::store::{NOW, Rows, cell, expecting, int, key, put, range, versions};
use futures_util::future::{join, join_all, join3};
use std::cell::Cell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Engine, Options};
use tabstore::env::Env as _;
use tabstore::env::sim::SimEnv;
use tabstore::model::{DefinedColumn, KeyColumn, KeyInput, KeyType, KeyValue, TableName, Value, ValueType};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Gates, Hooked, Moment, YieldOnce};
use tabstore::tablestore::{CreateTable, Existence, GetRow, IndexSpec, Instance, InstanceOptions, Outcome, RowWrite};
use tabstore::{Code, Error};

type Store = Rc<Instance>;

const T: &str = "t";

fn row<'a>(id: i64) -> KeyInput<'a> {
    key(&[("p", int(1)), ("id", int(id))])
}

/// A table with the row 1 and, if asked for, an index on its column `n`.
async fn with_row(env: &SimEnv, indexed: bool) -> (Store, Rc<Gates>) {
    let gates = Rc::new(Gates::default());
    let storage = Hooked::new(Hooked::new(MemoryStorage::new(), Rc::clone(&gates)), YieldOnce);
    let options = Options { clock: ClockMode::Injected, ..Options::default() };
    let engine = Engine::open(storage, Rc::new(env.clone()), options).await.expect("opens");
    let instance = Instance::open(engine, InstanceOptions::default()).await.expect("opens");
    let request = CreateTable {
        name: T.into(),
        key: ["p", "id"].map(|name| KeyColumn::new(name, KeyType::Integer)).to_vec(),
        defined: vec![DefinedColumn { name: "n".into(), column_type: ValueType::Integer }],
        indexes: indexed
            .then(|| IndexSpec { name: "by_n".into(), key: vec!["n".into()], ..IndexSpec::default() })
            .into_iter()
            .collect(),
        ..CreateTable::default()
    };
    instance.create_table(request).await.expect("created");
    instance.write_row(&put(T, row(1), &[cell("n", int(0))]), None).await.expect("written");
    (instance, gates)
}

/// A write is stored, but its answer is lost.
async fn lose(instance: &Store, gates: &Gates, write: &RowWrite<'_>) {
    gates.fail(1, |call| matches!(call, Call::Commit(_)), Moment::After, Code::Unavailable);
    let lost = instance.write_row(write, None).await;
    assert_eq!(lost.expect_err("nobody was told").error.code(), Code::Unavailable);
}

/// [`with_row`], and the answer of the last commit was lost.
async fn in_doubt(env: &SimEnv, indexed: bool) -> Store {
    let (instance, gates) = with_row(env, indexed).await;
    lose(&instance, &gates, &put(T, row(2), &[])).await;
    instance
}

/// Starts a transaction on the rows 1 and 2; gives its id.
fn start(instance: &Store) -> String {
    let table = TableName::parse(T).expect("a name");
    instance.start_local_transaction(table, &key(&[("p", int(1))])).expect("starts").id
}

/// A row with another partition key.
fn elsewhere() -> RowWrite<'static> {
    put(T, key(&[("p", int(7)), ("id", int(1))]), &[])
}

async fn read(instance: &Store, transaction: Option<&str>) -> Option<Value> {
    let mut rows = Rows::default();
    let request = GetRow { table: TableName::parse(T).expect("a name"), key: row(1), options: versions(1) };
    instance.get_row_in(transaction, &request, &mut rows).await.expect("read");
    rows.0.pop().and_then(|(_, mut cells)| cells.pop()).map(|cell| cell.2)
}

async fn scan(instance: &Store, table: &str) -> Vec<(Vec<KeyValue>, Option<Value>)> {
    let mut rows = Rows::default();
    instance.get_range(&range(table, Direction::Forward), &mut rows).await.expect("read");
    rows.0.into_iter().map(|(key, mut cells)| (key, cells.pop().map(|cell| cell.2))).collect()
}

fn five() -> Option<Value> {
    Some(Value::Integer(5))
}

#[test]
fn r5_a_read_and_a_range_that_are_asked_after_a_write_see_it_and_those_before_do_not() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let instance = in_doubt(&env, false).await;
            let write = put(T, row(1), &[cell("n", int(5))]);
            let before = join(read(&instance, None), scan(&instance, T));
            let after = join(read(&instance, None), scan(&instance, T));
            // In this order, as in one frame of a client.
            let ((before, written), after) = join(join(before, instance.write_row(&write, None)), after).await;
            written.expect("written");
            assert_eq!(
                (before.0, before.1[0].1.clone()),
                (Some(Value::Integer(0)), Some(Value::Integer(0))),
                "seed {seed}"
            );
            assert_eq!((after.0, after.1[0].1.clone()), (five(), five()), "seed {seed}");
        });
    }
}

#[test]
fn r5_writes_of_a_row_keep_their_order() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let instance = in_doubt(&env, false).await;
            let writes = [1, 2, 3].map(|n| put(T, row(1), &[cell("n", int(n))]));
            let all = join_all(writes.iter().map(|write| instance.write_row(write, None))).await;
            assert!(all.iter().all(Result::is_ok), "seed {seed}");
            assert_eq!(read(&instance, None).await, Some(Value::Integer(3)), "seed {seed}");
        });
    }
}

/// A write that was asked before a transaction began comes before all that the transaction reads.
#[test]
fn r7_nothing_of_others_lands_between_two_reads_of_a_transaction() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let instance = in_doubt(&env, false).await;
            let write = put(T, row(1), &[cell("n", int(5))]);
            let transaction = async {
                let id = start(&instance);
                let first = read(&instance, Some(&id)).await;
                instance.write_row(&elsewhere(), None).await.expect("written");
                assert_eq!((&first, &read(&instance, Some(&id)).await), (&five(), &five()), "seed {seed}");
                let more = put(T, row(1), &[cell("n", int(6))]);
                instance.write_row_in(Some(&id), &more, None).await.expect("written");
                instance.commit_transaction(&id, None).await.expect("committed");
            };
            let (written, ()) = join(instance.write_row(&write, None), transaction).await;
            written.expect("acknowledged");
            assert_eq!(read(&instance, None).await, Some(Value::Integer(6)), "seed {seed}");
        });
    }
}

/// The commit of a transaction has its place among what is asked of its rows, also while it waits.
#[test]
fn r5_r7_a_read_that_is_asked_after_a_commit_sees_it() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let (instance, gates) = with_row(&env, false).await;
            let transaction = start(&instance);
            let write = put(T, row(1), &[cell("n", int(5))]);
            instance.write_row_in(Some(&transaction), &write, None).await.expect("written");
            lose(&instance, &gates, &elsewhere()).await;
            gates.hold(|call| matches!(call, Call::Load));
            let opening = async {
                env.yield_now().await;
                gates.open();
            };
            let commit = instance.commit_transaction(&transaction, None);
            let ((committed, seen), ()) = join(join(commit, read(&instance, None)), opening).await;
            committed.expect("committed");
            assert_eq!(seen, five(), "seed {seed}");
        });
    }
}

#[test]
fn r6_r7_an_index_has_no_row_that_its_table_does_not_have() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let instance = in_doubt(&env, true).await;
            let write = put(T, row(1), &[cell("n", int(5))]);
            let transaction = async {
                let id = start(&instance);
                let seven = put(T, row(1), &[cell("n", int(7))]);
                instance.write_row_in(Some(&id), &seven, None).await.expect("written");
                instance.write_row(&elsewhere(), None).await.expect("written");
                instance.commit_transaction(&id, None).await.expect("committed");
            };
            let (written, ()) = join(instance.write_row(&write, None), transaction).await;
            written.expect("acknowledged");
            instance.compact().await.expect("compacted");
            let found: Vec<_> = scan(&instance, "by_n").await.into_iter().map(|(key, _)| key[0].clone()).collect();
            assert_eq!(found, [KeyValue::Integer(7)], "seed {seed}");
        });
    }
}

/// R6: a write in progress can be the cause of a refusal. The refusal is sent only once that write is stored. If it
/// never is, there was no cause; and later requests still come later.
#[test]
fn r6_a_condition_is_not_refused_for_a_write_that_is_then_not_stored() {
    for (seed, fails) in (0..50).flat_map(|seed| [(seed, false), (seed, true)]) {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let (instance, gates) = with_row(&env, false).await;
            gates.hold(|call| matches!(call, Call::Commit(_)));
            if fails {
                gates.fail(1, |call| matches!(call, Call::Commit(_)), Moment::Before, Code::QuotaExceeded);
            }
            let first = put(T, row(2), &[cell("n", int(1))]);
            let new = |id, n| expecting(Existence::ExpectNotExist, put(T, row(id), &[cell("n", int(n))]));
            let (alone, together) = (new(2, 2), [new(3, 3), new(2, 3)]);
            let later = put(T, row(4), &[]);
            let told = Cell::new(0);
            let counted = async |asked: Outcome<bool>| {
                told.set(told.get() + 1);
                asked
            };
            let opening = async {
                for _ in 0..20 {
                    env.yield_now().await;
                }
                assert_eq!(told.get(), 0, "seed {seed}: what was seen is not stored");
                gates.open();
            };
            let writes = join(async { counted(instance.write_row(&first, None).await.map(|_| true)).await }, async {
                counted(instance.write_row(&alone, None).await.map(|_| true)).await
            });
            let others = join(
                async {
                    counted(instance.batch_write_row_atomic(&together, None).await.map(|rows| rows[1].is_ok())).await
                },
                async { counted(instance.write_row(&later, None).await.map(|_| true)).await },
            );
            let (((first, alone), (together, _)), rows, ()) =
                join3(join(writes, others), scan(&instance, T), opening).await;
            assert_eq!((first.is_ok(), alone.is_ok()), (!fails, fails), "seed {seed}");
            assert!(!together.expect("answered"), "seed {seed}: row 2 is there by then, whoever put it");
            let n = Some(Value::Integer(if fails { 2 } else { 1 }));
            assert!(
                rows.iter().any(|(key, value)| key[1] == KeyValue::Integer(2) && *value == n),
                "seed {seed}: {rows:?}"
            );
        });
    }
}

/// Its tables may be wrong. A host that hears of it first can open a fresh instance, and ask there what is refused here.
#[test]
fn an_instance_whose_catalog_is_unknown_says_so_before_it_refuses_calls() {
    for seed in 0..50 {
        let env = SimEnv::shuffled(NOW, seed);
        env.run(async {
            let (instance, gates) = with_row(&env, false).await;
            let told = Rc::new(Cell::new(None));
            let listener = Rc::clone(&told);
            instance.on_trouble(move |trouble| listener.set(trouble.map(Error::code)));
            gates.fail(1, |call| matches!(call, Call::Commit(_)), Moment::After, Code::Unavailable);
            let request = CreateTable {
                name: "u".into(),
                key: vec![KeyColumn::new("p", KeyType::Integer)],
                ..CreateTable::default()
            };
            let later = async {
                let refused = loop {
                    if let Err(refused) = instance.write_row(&elsewhere(), None).await {
                        break refused;
                    }
                };
                assert!(told.get() == Some(Code::Closed) || refused.error.code() == Code::Unavailable, "seed {seed}");
            };
            let (created, ()) = join(instance.create_table(request), later).await;
            assert_eq!(created.expect_err("nobody was told").code(), Code::Unavailable, "seed {seed}");
            assert_eq!(told.get(), Some(Code::Closed), "seed {seed}");
        });
    }
}
