//! Steps over several tables: rows of any tables and partition keys, all of them or none (R4, R5).

use crate::store::*;
use crate::streams::{iterator, keys, on, read, set, shards};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::{DefinedColumn, KeyColumn, KeyType, ValueRef, ValueType};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{FailAt, Hooked, Moment};
use tabstore::tablestore::{
    CreateTable, Existence, IndexSpec, Instance, InstanceOptions, OptionsChange, Outcome, RowWrite, Scope, StreamStart,
    Written,
};
use tabstore::{Code, engine::Engine};

/// A store with the tables `t`, which has a stream, and `u`, which has the index `u_by_n`.
fn store() -> Store {
    recording(&[])
}

/// The same, whose stream has the old values of these columns.
fn recording(origin_columns: &[&str]) -> Store {
    let options = Options { clock: ClockMode::Injected, reserve_bytes: 0, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    set(&store, on(24, origin_columns));
    let index = IndexSpec { name: "u_by_n".into(), key: vec!["n".into()], ..IndexSpec::default() };
    let request = CreateTable {
        name: "u".into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        defined: vec![DefinedColumn { name: "n".into(), column_type: ValueType::Integer }],
        indexes: vec![index],
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
    store
}

fn step(store: &Store, writes: &[RowWrite<'_>]) -> Outcome<Vec<Outcome<Written>>> {
    store.env.run(store.instance.write_atomic(writes, Scope::Tables, None))
}

fn codes(done: Vec<Outcome<Written>>) -> Vec<Code> {
    done.into_iter().map(|row| row.expect_err("it failed").error.code()).collect()
}

/// The ids of all rows of a table or an index.
fn rows_of(store: &Store, table: &str) -> Vec<i64> {
    let mut rows = Rows::default();
    store.env.run(store.instance.get_range(&range(table, Direction::Forward), &mut rows)).expect("read");
    ids(&rows.0)
}

/// The ids in the stream of `t`, which has one shard.
fn recorded(store: &Store) -> Vec<i64> {
    keys(&read(store, iterator(store, shards(store)[0].0, StreamStart::Beginning), 10).0)
}

#[test]
fn r4_a_step_over_tables_is_one_commit_with_index_rows_and_records() {
    let mut store = store();
    let commits = store.instance.metrics().commits;
    let writes = [
        put("t", id(1), &[cell("n", int(1))]),
        expecting(Existence::ExpectNotExist, put("u", id(1), &[cell("n", int(7))])),
        put("t", id(900), &[]),
        update("u", id(2), &[add("n", None, 8)]),
    ];
    let done = step(&store, &writes).expect("a right step");
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(store.instance.metrics().commits, commits + 1);
    store.reopen();
    assert_eq!(rows_of(&store, "t"), [1, 900]);
    assert_eq!(rows_of(&store, "u"), [1, 2]);
    assert_eq!(rows_of(&store, "u_by_n"), [1, 2], "of the rows 7 and 8");
    assert_eq!(recorded(&store), [1, 900]);
}

#[test]
fn r4_a_step_over_tables_of_which_one_row_is_refused_stores_nothing() {
    let store = store();
    store.put(id(1), &[cell("n", int(1))]);
    let refused: [(&[RowWrite<'_>], &[Code]); 4] = [
        (
            &[put("u", id(1), &[]), expecting(Existence::ExpectNotExist, put("t", id(1), &[]))],
            &[Code::ConditionCheckFail; 2],
        ),
        (&[put("t", id(2), &[]), put("none", id(1), &[])], &[Code::ObjectNotExist; 2]),
        // An index table takes no rows by itself.
        (
            &[put("t", id(2), &[]), put("u_by_n", key(&[("n", int(1)), ("id", int(1))]), &[])],
            &[Code::ParameterInvalid; 2],
        ),
        // A defined column keeps its type.
        (&[put("t", id(2), &[]), put("u", id(1), &[cell("n", text("seven"))])], &[Code::ParameterInvalid; 2]),
    ];
    for (writes, expected) in refused {
        assert_eq!(codes(step(&store, writes).expect("a right step")), expected);
        assert_eq!(rows_of(&store, "t"), [1]);
        assert_eq!(rows_of(&store, "u"), [0; 0]);
    }
}

/// R7: a row that a transaction holds refuses all of a step, wherever in it the row is.
#[test]
fn r7_a_step_over_tables_does_not_write_to_a_locked_partition_key() {
    let store = store();
    let request = CreateTable {
        name: "locked".into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        local_transactions: Some(true),
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
    let name = tabstore::model::TableName::parse("locked").expect("a name");
    let held = store.instance.start_local_transaction(name, &key(&[("id", int(5))])).expect("started");
    let (free, locked) = (put("t", id(1), &[]), put("locked", id(5), &[]));
    for (writes, held) in [([free.clone(), locked.clone()], 1), ([locked, free], 0)] {
        let done = step(&store, &writes).expect("a right step");
        let other = done[1 - held].as_ref().expect_err("refused").error.message().to_owned();
        assert_eq!(
            other,
            format!("Row {held} of the atomic batch failed: Data is being modified by the other request.")
        );
        assert_eq!(codes(done), [Code::RowOperationConflict; 2]);
        assert_eq!(rows_of(&store, "t"), [0; 0]);
    }
    store.instance.abort_transaction(&held.id).expect("aborted");
    let writes = [put("t", id(1), &[]), put("locked", id(5), &[])];
    assert!(step(&store, &writes).expect("a right step").iter().all(Result::is_ok));
}

/// R4: whatever call of the storage fails, before or after it is done, and whatever opens the storage then: both rows or neither, with
/// the index row and the record of the stream.
#[test]
fn r4_a_step_over_tables_is_whole_or_not_there_after_a_failure_at_any_call() {
    let store = store();
    let mut seen = [0, 0];
    for moment in [Moment::Before, Moment::After] {
        for call in 0..40 {
            let storage: MemoryStorage = store.storage.image();
            let failing = Hooked::new(storage.clone(), FailAt::once(call, moment));
            let done = store.env.run(async {
                let engine =
                    Engine::open(failing, Rc::new(store.env.clone()), store.engine_options.clone()).await.ok()?;
                let instance = Instance::open(engine, store.options).await.ok()?;
                let writes = [put("t", id(1), &[]), put("u", id(1), &[cell("n", int(7))])];
                let done = instance.write_atomic(&writes, Scope::Tables, None).await;
                let _ = instance.flush().await;
                done.ok()
            });
            let (options, engine_options) = (store.options, store.engine_options.clone());
            let opened = Store::over(store.env.clone(), storage.image(), options, engine_options);
            let there = ["t", "u", "u_by_n"].map(|table| rows_of(&opened, table).len());
            assert_eq!(recorded(&opened).len(), there[0], "call {call}, {moment:?}: the record of the stream");
            assert!(there == [0; 3] || there == [1; 3], "call {call}, {moment:?}: {there:?}");
            if done.is_some_and(|rows| rows.iter().all(Result::is_ok)) {
                assert_eq!(there, [1; 3], "call {call}, {moment:?}: an acknowledged step is gone");
            }
            seen[there[0]] += 1;
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "no failure met the step: {seen:?}");
}

/// Creates the table `x`, with the index `x_by_c`, whose rows have the column `blob`.
fn create_with_large_index_rows(store: &Store) {
    let request = CreateTable {
        name: "x".into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        defined: [("c", ValueType::Integer), ("blob", ValueType::Binary)]
            .map(|(name, column_type)| DefinedColumn { name: name.into(), column_type })
            .into(),
        indexes: vec![IndexSpec {
            name: "x_by_c".into(),
            key: vec!["c".into()],
            columns: vec!["blob".into()],
            ..IndexSpec::default()
        }],
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
}

/// D1: small writes may have large index rows and old values, which all wait in memory. Beyond a limit all of the batch is refused.
#[test]
fn d1_a_step_whose_derived_data_is_too_large_is_refused_and_stores_nothing() {
    let store = recording(&["blob"]);
    let blob = vec![7; 1_900_000];
    create_with_large_index_rows(&store);
    for table in ["t", "x"] {
        for n in 0..20 {
            store.write(&put(table, id(n), &[cell("blob", ValueRef::Binary(&blob))])).expect("written");
        }
        let change = |count| -> Vec<RowWrite<'static>> {
            let of = |n| if table == "t" { put(table, id(n), &[]) } else { update(table, id(n), &[add("c", None, 1)]) };
            (0..count).map(of).collect()
        };
        assert_eq!(codes(step(&store, &change(20)).expect("right")), [Code::ParameterInvalid; 20], "{table}");
        for n in 0..20 {
            let cells = store.get(table, id(n), versions(1)).expect("there");
            assert_eq!(cells.len(), 1, "{table}, {n}: as it was");
        }
        assert!(step(&store, &change(10)).expect("right").iter().all(Result::is_ok), "{table}");
        let cells = store.get(table, id(9), versions(1)).expect("there");
        assert_eq!(cells.len(), if table == "t" { 0 } else { 2 }, "{table}: half as many rows are stored");
    }
}

/// D1: where rows have to be loaded, all rows are seen again from the first one on. Their index rows count once.
#[test]
fn d1_a_step_on_rows_that_are_not_in_memory_counts_its_derived_data_once() {
    let mut store = recording(&[]);
    create_with_large_index_rows(&store);
    let blob = vec![7; 50_000];
    for n in 0..100 {
        store.write(&put("x", id(n), &[cell("blob", ValueRef::Binary(&blob))])).expect("written");
    }
    store.compact();
    store.engine_options.cache_bytes = 200_000;
    store.reopen();
    let writes: Vec<_> = (0..100).map(|n| update("x", id(n), &[add("c", None, 1)])).collect();
    let done = step(&store, &writes).expect("a right step");
    assert!(done.iter().all(Result::is_ok), "{:?}", done[0]);
    let cells = store.get("x", id(99), versions(1)).expect("there");
    assert_eq!(cells.len(), 2);
}

/// ST1: the second change of a row would be told with the value from before the first one.
#[test]
fn st1_a_row_that_comes_twice_in_a_step_is_refused_where_old_values_are_recorded() {
    let store = recording(&["n"]);
    store.put(id(1), &[cell("n", int(10))]);
    let twice =
        [update("t", id(1), &[add("n", None, 20)]), put("u", id(1), &[]), update("t", id(1), &[add("n", None, 30)])];
    assert_eq!(codes(step(&store, &twice).expect("right")), [Code::ParameterInvalid; 3]);
    assert_eq!(rows_of(&store, "u"), [0; 0]);
    let one_by_one = store.env.run(store.instance.batch_write_row(&[twice[0].clone(), twice[2].clone()], None));
    assert!(one_by_one.expect("right").iter().all(Result::is_ok), "each for itself is right");
}
