//! Throttling (C5): off by default; then what is too much in a second is refused.

use crate::store::*;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::{DefinedColumn, KeyType, TableName, ValueType};
use tabstore::tablestore::{
    Existence, GetRange, GetRow, IndexSpec, InstanceOptions, OptionsChange, Outcome, RowWrite, Scope, TableRead,
    ThrottleOptions, Written,
};

const EXHAUSTED: &str = "OTSCapacityUnitExhausted: Capacity unit is not enough.";

fn throttled(units: Option<u32>, operations: Option<u32>) -> Store {
    let throttle = ThrottleOptions { units_per_second: units, table_operations_per_second: operations };
    let options = InstanceOptions { throttle, ..InstanceOptions::default() };
    let store = Store::with(options, Options { clock: ClockMode::Injected, ..Options::default() });
    store.create("t", &[("p", KeyType::String), ("id", KeyType::Integer)], OptionsChange::default());
    store
}

fn row(partition: &str, id: i64) -> tabstore::model::KeyInput<'_> {
    key(&[("p", text(partition)), ("id", int(id))])
}

fn get(store: &Store, partition: &str) -> (Outcome<u32>, usize) {
    let mut rows = Rows::default();
    let request =
        GetRow { table: TableName::parse("t").expect("a name"), key: row(partition, 1), options: versions(1) };
    let found = store.env.run(store.instance.get_row(&request, &mut rows));
    (found.map(|found| found.consumed.read), rows.0.len())
}

#[test]
fn c5_the_request_that_takes_a_partition_over_its_limit_is_refused_and_succeeds_a_second_later() {
    let store = throttled(Some(5), None);
    let big = "x".repeat(10_000);
    store.put(row("a", 1), &[cell("v", text(&big))]);
    let write = put("t", row("a", 2), &[cell("v", text(&big))]);
    let failure = store.write(&write).expect_err("3 and 3 units are above 5");
    assert_eq!((failure.to_string().as_str(), failure.error.retryable()), (EXHAUSTED, true));
    store.put(row("a", 3), &[cell("v", int(1))]);
    store.put(row("b", 1), &[cell("v", text(&big))]);
    store.env.advance(1000);
    assert_eq!(store.get("t", row("a", 2), versions(1)), None, "nothing was stored");
    store.write(&write).expect("the same request, a second later");
}

#[test]
fn c5_reads_that_are_refused_give_nothing() {
    let store = throttled(Some(4), None);
    let big = "x".repeat(5000);
    store.put(row("a", 1), &[cell("v", text(&big))]);
    store.put(row("b", 1), &[cell("v", text(&big))]);
    store.env.advance(1000);
    assert_eq!((get(&store, "a").0.ok(), get(&store, "a").0.ok()), (Some(2), Some(2)));
    let (refusal, rows) = get(&store, "a");
    assert_eq!((refused(refusal).as_str(), rows), (EXHAUSTED, 0));

    let keys = vec![row("b", 1), row("a", 1), row("b", 1), row("b", 1)];
    let tables = [TableRead { table: TableName::parse("t").expect("a name"), keys, options: versions(1) }];
    let mut sinks = [Rows::default()];
    let found = store.env.run(store.instance.batch_get_row(&tables, &mut sinks)).expect("read").remove(0);
    let told = found.iter().map(|row| row.as_ref().map_or(0, |found| found.consumed.read)).collect::<Vec<_>>();
    assert_eq!((told, sinks[0].0.len()), (vec![2, 0, 2, 0], 2), "row by row");

    let all = range("t", Direction::Forward);
    let ranged = |request: &GetRange<'_>| {
        store.env.run(store.instance.get_range(request, &mut Rows::default())).map(|read| read.consumed.read)
    };
    assert_eq!(refused(ranged(&all)), EXHAUSTED, "each partition key value that is touched");
    store.env.advance(1000);
    assert_eq!(ranged(&all).ok(), Some(3), "the sum of both rows");
    assert_eq!(get(&store, "a").0.ok(), Some(2), "of which two units are each partition's");
    assert_eq!(refused(ranged(&all)), EXHAUSTED);
    assert_eq!(get(&store, "b").0.ok(), Some(2), "what is refused uses nothing");
}

#[test]
fn c5_rows_of_a_batch_are_refused_one_by_one_and_an_atomic_batch_as_a_whole() {
    let store = throttled(Some(3), None);
    let writes = (0..5).map(|at| put("t", row("a", at), &[])).chain([put("t", row("b", 1), &[])]).collect::<Vec<_>>();
    let rows = store.env.run(store.instance.batch_write_row(&writes, None)).expect("done");
    assert_eq!(rows.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, true, false, false, true]);
    store.env.advance(1000);
    assert_eq!(store.ids(), [0, 1, 2, 1]);
    store.env.advance(1000);
    store.put(row("a", 9), &[]);
    let rows = store.env.run(store.instance.batch_write_row_atomic(&writes[2..5], None)).expect("done");
    assert!(rows.iter().all(Result::is_err));
    store.env.advance(1000);
    assert_eq!(store.ids(), [0, 1, 2, 9, 1]);
    let table = TableName::parse("t").expect("a name");
    let partition = key(&[("p", text("a"))]);
    store.put(row("a", 9), &[]);
    store.put(row("a", 9), &[]);
    assert_eq!(refused(store.instance.start_local_transaction(table, &partition)), EXHAUSTED);
}

/// C5: a step over several partition keys takes units of all of them, or of none.
#[test]
fn c5_a_refused_step_uses_nothing_of_any_partition_key() {
    let store = throttled(Some(3), None);
    let step = |rows: &[(&str, i64)]| {
        let writes: Vec<_> = rows.iter().map(|(partition, id)| put("t", row(partition, *id), &[])).collect();
        let done = store.env.run(store.instance.write_atomic(&writes, Scope::Tables, None)).expect("right");
        done.iter().map(Result::is_ok).collect::<Vec<_>>()
    };
    assert_eq!(step(&[("b", 1), ("a", 1), ("b", 2), ("b", 3), ("a", 2)]), [true; 5]);
    assert_eq!(step(&[("a", 3), ("b", 4)]), [false; 2], "b has nothing left");
    assert_eq!(step(&[("a", 3)]), [true], "of a nothing was taken");
    assert_eq!(step(&[("a", 4)]), [false]);
    store.env.advance(1000);
    assert_eq!(store.ids(), [1, 2, 3, 1, 2, 3]);
}

/// C5: the rows of five indexes are part of a write's consumption, in every way to write.
#[test]
fn c5_index_rows_count_against_the_limit_of_the_rows_partition() {
    let store = throttled(Some(20), None);
    let defined = vec![DefinedColumn { name: "v".into(), column_type: ValueType::String }];
    store.env.run(store.instance.add_defined_column("t", defined)).expect("defined");
    for name in ["i1", "i2", "i3", "i4", "i5"] {
        let index = IndexSpec { name: name.into(), key: vec!["v".into()], ..IndexSpec::default() };
        store.env.run(store.instance.create_index("t", index, false)).expect("made");
    }
    let new = |id| put("t", row("a", id), &[cell("v", text("x"))]);
    let conditional = |id| expecting(Existence::ExpectNotExist, new(id));
    let table = TableName::parse("t").expect("a name");
    let partition = key(&[("p", text("a"))]);
    // A row costs a read unit, a write unit and one for each index: two fit into a second, and three do not.
    let mut stored = 0;
    let mut second = |batch: &dyn Fn(i64) -> Vec<Outcome<Written>>, fit: usize| {
        store.env.advance(1000);
        let told = batch(stored);
        let used: u32 = told.iter().flatten().map(|row| row.consumed.read + row.consumed.write).sum();
        assert_eq!((told.iter().filter(|row| row.is_ok()).count(), used), (fit, 7 * fit as u32), "{told:?}");
        for refusal in told.into_iter().filter(Result::is_err) {
            assert!(refused(refusal).contains(EXHAUSTED));
        }
        stored += fit as i64;
    };
    second(&|first| (first..first + 3).map(|id| store.write(&new(id))).collect(), 2);
    let write_batch = |rows: &[RowWrite<'_>]| store.env.run(store.instance.batch_write_row(rows, None)).expect("right");
    second(&|first| write_batch(&[new(first), new(first + 1), new(first + 2)]), 2);
    let write_all =
        |rows: &[RowWrite<'_>]| store.env.run(store.instance.batch_write_row_atomic(rows, None)).expect("right");
    second(&|first| write_all(&[new(first), new(first + 1)]), 2);
    second(
        &|first| {
            let mut told = write_batch(&[new(first), delete("t", row("b", 1))]);
            told.truncate(1);
            // With a condition a row costs one unit more.
            told.extend(write_all(&[conditional(first + 1), conditional(first + 2)]));
            told
        },
        1,
    );
    second(
        &|first| {
            let tx = store.instance.start_local_transaction(table, &partition).expect("one unit").id;
            let inside = |id| store.env.run(store.instance.write_row_in(Some(&tx), &new(id), None));
            let mut told = (first..first + 2).map(inside).collect::<Vec<_>>();
            let over = write_batch(&[delete("t", row("a", 99))]);
            assert!(refused(over.into_iter().next().expect("one")).contains("OTSRowOperationConflict"));
            told.push(inside(first + 2));
            // The consumption so far is 15 units.
            let commit = || store.env.run(store.instance.commit_transaction(&tx, None));
            for _ in 0..5 {
                get(&store, "a").0.expect("read");
            }
            let failure = commit().expect_err("over the limit");
            assert_eq!(failure.to_string(), EXHAUSTED);
            store.env.advance(1000);
            commit().expect("it goes on, and ends a second later");
            told
        },
        2,
    );
    store.env.advance(1000);
    let expected = (0..stored).collect::<Vec<_>>();
    assert_eq!(store.ids(), expected, "what is refused stores nothing");
    for index in ["i1", "i5"] {
        store.env.advance(1000);
        assert_eq!(ids(&store.range(&range(index, Direction::Forward)).0), expected);
    }
}

#[test]
fn c5_nothing_is_refused_unless_asked_for() {
    let store = throttled(None, None);
    for _ in 0..300 {
        store.put(row("a", 1), &[]);
        store.instance.describe_table("t").expect("told");
    }
    let keys = vec![row("a", 1); 100];
    let tables = [TableRead { table: TableName::parse("t").expect("a name"), keys, options: versions(1) }];
    for _ in 0..110 {
        let found = store.env.run(store.instance.batch_get_row(&tables, &mut [Rows::default()])).expect("read");
        assert!(found[0].iter().all(Result::is_ok), "far above 10000 in a second");
    }
}

#[test]
fn c5_table_operations_have_a_limit_too() {
    let store = throttled(None, Some(3));
    store.instance.describe_table("t").expect("the second");
    store.instance.describe_table("no").expect_err("the third");
    let error = store.instance.describe_table("t").expect_err("the fourth");
    assert_eq!(error.to_string(), "OTSQuotaExhausted: Too frequent table operations.");
    assert!(error.retryable());
    store.put(row("a", 1), &[]);
    store.env.advance(1000);
    store.instance.describe_table("t").expect("a second later");
}

#[test]
fn c5_an_update_of_an_index_is_one_table_operation() {
    let store = throttled(None, Some(2));
    let index = IndexSpec { name: "i".into(), key: vec!["id".into()], ..IndexSpec::default() };
    store.env.run(store.instance.create_index("t", index, true)).expect("the second");
    for time_to_live in [86_400, -1] {
        store.env.advance(1000);
        let options = OptionsChange { time_to_live: Some(time_to_live), ..OptionsChange::default() };
        store.instance.describe_table("i").expect("the first");
        store.set_options("i", options);
    }
}
