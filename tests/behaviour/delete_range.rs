//! Deleting the rows of a range in the engine (R1, R3): each for itself, in calls that go on where the one before has ended.

use crate::store::*;
use crate::streams::{iterator, keys, on, read, set, shards};
use std::rc::Rc;
use tabstore::Code;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::{DefinedColumn, KeyColumn, KeyType, KeyValue, TableName, ValueType};
use tabstore::storage::faults::{Call, Gates};
use tabstore::tablestore::{
    CountRows, CreateTable, GetRange, IndexSpec, InstanceOptions, OptionsChange, Outcome, RowCount, StreamStart,
};

fn whole<'a>(table: &'a str, filter: Option<Filter<'a>>) -> CountRows<'a> {
    let GetRange { table, start, end, .. } = range(table, Direction::Forward);
    CountRows { table, start, end, filter }
}

fn delete_range(store: &Store, request: CountRows<'_>) -> Outcome<RowCount> {
    store.env.run(store.instance.delete_range(request))
}

/// Deletes all rows of a range, in as many calls as it takes: how many, and the calls.
fn delete_all(store: &Store, request: &CountRows<'_>) -> (u64, u32) {
    let (mut request, mut rows, mut calls) = (request.clone(), 0, 0);
    loop {
        let deleted = delete_range(store, request.clone()).expect("deleted");
        (rows, calls) = (rows + deleted.rows, calls + 1);
        let Some(next) = deleted.next else { return (rows, calls) };
        let [KeyValue::Integer(next)] = next[..] else { panic!("{next:?} is no id") };
        request.start = id(next);
    }
}

/// The ids of all rows of a table or an index.
fn rows_of(store: &Store, table: &str) -> Vec<i64> {
    let (mut seen, mut start) = (Vec::new(), range(table, Direction::Forward));
    loop {
        let mut rows = Rows::default();
        let read = store.env.run(store.instance.get_range(&start, &mut rows)).expect("read");
        seen.extend(ids(&rows.0));
        let Some(next) = read.next else { return seen };
        let [KeyValue::Integer(next)] = next[..] else { panic!("{next:?} is no id") };
        start.start = id(next);
    }
}

/// A store whose table `t` has a stream and the index `by_a`.
fn store() -> Store {
    let options = Options { clock: ClockMode::Injected, reserve_bytes: 0, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    let index = IndexSpec { name: "by_a".into(), key: vec!["a".into()], ..IndexSpec::default() };
    let request = CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        defined: vec![DefinedColumn { name: "a".into(), column_type: ValueType::Integer }],
        indexes: vec![index],
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
    store
}

#[test]
fn r1_r3_the_rows_of_a_range_that_pass_are_deleted_with_their_index_rows_and_a_record_each() {
    for (from, to) in [(0, 60), (13, 41), (30, 30), (59, 60)] {
        for modulo in [None, Some(3)] {
            let mut store = store();
            for i in 0..60 {
                store.put(id(i), &[cell("a", int(i % 5))]);
                if i % 25 == 24 {
                    store.env.run(store.instance.flush()).expect("flushed");
                }
            }
            set(&store, on(24, &[]));
            let filter = modulo.map(|value| compare("a", Comparator::Equal, int(value)));
            let gone = |i: &i64| (from..to).contains(i) && modulo.is_none_or(|value| i % 5 == value);
            let request = CountRows { start: id(from), end: id(to), ..whole("t", filter) };
            let expected: Vec<i64> = (0..60).filter(gone).collect();
            let left: Vec<i64> = (0..60).filter(|i| !gone(i)).collect();
            if from == to {
                // A range without keys is refused, as a read of one is.
                assert_eq!(delete_range(&store, request).expect_err("refused").error.code(), Code::ParameterInvalid);
                continue;
            }
            assert_eq!(delete_all(&store, &request), (expected.len() as u64, 1));
            assert_eq!(rows_of(&store, "t"), left);
            let mut indexed = rows_of(&store, "by_a");
            indexed.sort_unstable();
            assert_eq!(indexed, left, "T8");
            assert_eq!(
                keys(&read(&store, iterator(&store, shards(&store)[0].0, StreamStart::Beginning), 100).0),
                expected
            );
            store.reopen();
            assert_eq!(rows_of(&store, "t"), left);
            assert_eq!(delete_all(&store, &whole("t", None)), (left.len() as u64, 1));
            assert!(rows_of(&store, "t").is_empty() && rows_of(&store, "by_a").is_empty());
        }
    }
}

/// R3: a thousand rows a call, none missed and none counted twice, also where the next call reaches another engine.
#[test]
fn r3_a_deletion_of_more_rows_than_one_call_takes_goes_on() {
    let mut store = Store::with_table(OptionsChange::default());
    for i in 0..3_500 {
        store.put(id(i), &[cell("a", int(i % 4))]);
    }
    let filter = compare("a", Comparator::Equal, int(3));
    assert_eq!(delete_all(&store, &whole("t", Some(filter))), (875, 1));
    let first = delete_range(&store, whole("t", None)).expect("deleted");
    assert_eq!(first.rows, 1000);
    assert!(first.consumed.write >= 1000 && first.consumed.read > 0, "C1: {:?}", first.consumed);
    store.reopen();
    assert_eq!(delete_all(&store, &whole("t", None)), (2625 - 1000, 2));
    assert!(rows_of(&store, "t").is_empty());
}

/// V4: data that has expired is no row, so it does not count.
#[test]
fn v4_expired_rows_do_not_count_as_deleted() {
    let store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    for i in 0..10 {
        store.put(id(i), &[cell("a", int(i))]);
        store.env.advance(10_000_000);
    }
    let there = rows_of(&store, "t").len() as u64;
    assert!(there > 0 && there < 10, "{there}");
    assert_eq!(delete_all(&store, &whole("t", None)), (there, 1));
}

/// R5: a row that is written after it was read stays, if it no longer passes; without a filter it is deleted. The rows are so large that
/// they come from storage.
#[test]
fn r5_a_row_that_changes_meanwhile_is_deleted_only_if_it_still_passes() {
    for filtered in [true, false] {
        let store = Store::with_table(OptionsChange::default());
        for i in 0..10 {
            store.put(id(i), &[cell("a", int(1)), cell("big", text(&"x".repeat(300_000)))]);
        }
        store.env.run(store.instance.flush()).expect("flushed");
        let gates = Rc::new(Gates::default());
        let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
        store.env.advance(1000);
        gates.hold(|call| matches!(call, Call::GetBlocks(_)));
        let filter = filtered.then(|| compare("a", Comparator::Equal, int(1)));
        let deleting = instance.delete_range(whole("t", filter));
        let write = put("t", id(7), &[cell("a", int(2))]);
        // The range is read as of before: its rows are still on their way.
        let changing = async {
            instance.write_row(&write, None).await.expect("changed");
            gates.open();
        };
        let (deleted, ()) = store.env.run(futures_util::future::join(deleting, changing));
        let mut left = Rows::default();
        let all = GetRange { options: versions(1), ..range("t", Direction::Forward) };
        store.env.run(instance.get_range(&all, &mut left)).expect("read");
        match filtered {
            true => assert_eq!((deleted.expect("deleted").rows, ids(&left.0)), (9, vec![7])),
            false => assert_eq!((deleted.expect("deleted").rows, ids(&left.0)), (10, vec![])),
        }
    }
}

/// R7: a row of an open transaction stays. The call says how far it came, and the next one is refused by that row.
#[test]
fn r7_a_row_that_a_transaction_holds_stays_and_the_next_call_begins_there() {
    let store = Store::with_table(OptionsChange::default());
    for i in 0..9 {
        store.put(id(i), &[]);
    }
    let table = TableName::parse("t").expect("a name");
    let held = store.instance.start_local_transaction(table, &id(4)).expect("started");
    let first = delete_range(&store, whole("t", None)).expect("some are deleted");
    assert_eq!((first.rows, first.next), (8, Some(vec![KeyValue::Integer(4)])));
    assert_eq!(rows_of(&store, "t"), [4]);
    let again = CountRows { start: id(4), ..whole("t", None) };
    assert_eq!(delete_range(&store, again.clone()).expect_err("held").error.code(), Code::RowOperationConflict);
    store.instance.abort_transaction(&held.id).expect("aborted");
    assert_eq!(delete_all(&store, &again), (1, 1));
}

/// V8: the filter judges the newest versions, as that of a range does, also where it asks for any version.
#[test]
fn v8_a_deletion_judges_the_newest_versions_as_a_count_does() {
    let store = Store::with_table(OptionsChange { max_versions: Some(3), ..OptionsChange::default() });
    for i in 0..6 {
        store.put(id(i), &[cell_at("a", NOW - 2000, int(i % 2)), cell_at("a", NOW - 1000, int(2 + i % 3))]);
    }
    let any = |value| {
        let Filter::Column(column) = compare("a", Comparator::Equal, int(value)) else { unreachable!() };
        Filter::Column(ColumnFilter { latest_version_only: false, ..column })
    };
    for filter in [any(1), Filter::Not(vec![any(2)]), Filter::Or(vec![any(0), any(3)])] {
        let counted = store.env.run(store.instance.count_rows(whole("t", Some(filter.clone())))).expect("counted").rows;
        let request = whole("t", Some(filter));
        assert_eq!(delete_all(&store, &request), (counted, 1));
    }
}

/// A row that others have deleted between its reading and its turn does not count.
#[test]
fn r3_two_deletions_at_once_count_each_row_once() {
    let store = Store::with_table(OptionsChange::default());
    (0..500).for_each(|i| store.put(id(i), &[cell("a", int(i))]));
    let both = futures_util::future::join(
        store.instance.delete_range(whole("t", None)),
        store.instance.delete_range(whole("t", None)),
    );
    let (one, other) = store.env.run(both);
    assert_eq!(one.expect("deleted").rows + other.expect("deleted").rows, 500);
}

#[test]
fn r8_a_deletion_refuses_what_a_range_and_a_deletion_refuse() {
    let store = store();
    store.put(id(1), &[cell("a", int(1))]);
    let nowhere = TableName::parse("nowhere").expect("a name");
    let code = |request| delete_range(&store, request).expect_err("refused").error.code();
    assert_eq!(code(CountRows { table: nowhere, ..whole("t", None) }), Code::ObjectNotExist);
    assert_eq!(code(CountRows { start: id(5), end: id(1), ..whole("t", None) }), Code::ParameterInvalid);
    assert_eq!(code(whole("t", Some(Filter::And(vec![])))), Code::ParameterInvalid);
    assert_eq!(code(whole("t", Some(Filter::Page { offset: 0, limit: 1 }))), Code::ParameterInvalid);
    assert_eq!(code(whole("by_a", None)), Code::ParameterInvalid, "an index is not written");
    let none = compare("a", Comparator::Equal, int(7));
    assert_eq!(code(whole("by_a", Some(none))), Code::ParameterInvalid, "also where no row passes");
    assert_eq!(rows_of(&store, "t"), [1]);
}
