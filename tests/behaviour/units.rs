//! The consumption of operations (C1, C4), with the figures of the official SDKs' tests.

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::{Consumed, KeyInput, KeyType, TableName, ValueRef};
use tabstore::tablestore::{
    ColumnOp, Existence, GetRange, GetRow, OptionsChange, Outcome, ReadOptions, RowWrite, Stored, TableRead,
};

const NONE: OptionsChange =
    OptionsChange { time_to_live: None, max_versions: None, max_version_offset: None, allow_update: None };

fn cost(store: &Store, write: &RowWrite<'_>) -> (u32, u32) {
    let consumed = store.write(write).expect("written").consumed;
    (consumed.read, consumed.write)
}

fn charged<T: std::fmt::Debug>(result: Outcome<T>) -> (u32, u32) {
    let Consumed { read, write } = result.expect_err("refused").consumed;
    (read, write)
}

fn get_cost(store: &Store, key: KeyInput<'_>, options: ReadOptions<'_>) -> Outcome<u32> {
    let request = GetRow { table: TableName::parse("t").expect("a name"), key, options };
    let found = store.env.run(store.instance.get_row(&request, &mut Rows::default()))?;
    assert_eq!(found.consumed.write, 0);
    Ok(found.consumed.read)
}

fn range_cost(store: &Store, options: ReadOptions<'_>) -> u32 {
    store.range(&GetRange { options, ..range("t", Direction::Forward) }).1.consumed.read
}

#[test]
fn c1_reads_round_each_row_up() {
    let store = Store::with_table(NONE);
    let (half, whole) = ("x".repeat(2048), "x".repeat(4096));
    // 5000 bytes with the key.
    let big = "x".repeat(5000 - 11);
    store.put(id(1), &[cell("a", text(&big))]);
    assert_eq!(get_cost(&store, id(1), versions(1)).ok(), Some(2));
    store.put(id(2), &[cell("a", text(&half)), cell("b", text(&half))]);
    assert_eq!(get_cost(&store, id(2), versions(1)).ok(), Some(2));
    assert_eq!(get_cost(&store, id(2), columns(&["a"])).ok(), Some(1), "only what is returned");
    assert_eq!(get_cost(&store, id(2), columns(&["zz"])).ok(), Some(1));
    assert_eq!(get_cost(&store, id(77), versions(1)).ok(), Some(1), "a missing row");
    store.put(id(3), &[cell("a", text(&whole[..1216 - 11]))]);
    assert_eq!(get_cost(&store, id(3), versions(1)).ok(), Some(1), "1216 bytes");
    let tables = [TableRead {
        table: TableName::parse("t").expect("a name"),
        keys: vec![id(1), id(2), id(77)],
        options: versions(1),
    }];
    let mut rows = [Rows::default()];
    let results = store.env.run(store.instance.batch_get_row(&tables, &mut rows)).expect("read").remove(0);
    assert_eq!(results.iter().flatten().map(|found| found.consumed.read).sum::<u32>(), 5);
}

#[test]
fn c1_a_range_rounds_the_sum_up() {
    let store = Store::with_table(NONE);
    let value = "x".repeat(4096);
    let three = ["a", "b", "c"].map(|name| cell(name, text(&value)));
    assert_eq!(range_cost(&store, versions(1)), 1, "an empty range");
    store.put(id(1), &three);
    assert_eq!(range_cost(&store, versions(1)), 4);
    store.put(id(2), &three);
    assert_eq!(range_cost(&store, versions(1)), 7);
    assert_eq!(range_cost(&store, columns(&["a", "b"])), 5);
    assert_eq!(range_cost(&store, columns(&["zz"])), 1, "rows that are scanned but not returned weigh their key");
    assert_eq!(range_cost(&store, columns(&["c"])), 3);
}

#[test]
fn c1_writes_cost_what_they_carry_and_conditions_one_read_unit() {
    let store = Store::with_table(NONE);
    let value = "x".repeat(4096);
    let two = [cell("a", text(&value)), cell("b", text(&value))];
    assert_eq!(cost(&store, &put("t", id(1), &two)), (0, 3));
    assert_eq!(cost(&store, &expecting(Existence::ExpectExist, put("t", id(1), &two))), (1, 3));
    let op = |name| change(name, tabstore::tablestore::ColumnOp::Put { version: None, value: text(&value) });
    assert_eq!(cost(&store, &update("t", id(1), &[op("a"), op("b")])), (0, 3));
    assert_eq!(cost(&store, &expecting(Existence::ExpectExist, update("t", id(1), &[op("a"), op("b")]))), (1, 3));
    let deletes = [change("a", tabstore::tablestore::ColumnOp::DeleteColumn)];
    assert_eq!(cost(&store, &update("t", id(1), &deletes)), (0, 1), "a deleted column weighs its name");
    let version = [change("a", tabstore::tablestore::ColumnOp::DeleteVersion(NOW))];
    assert_eq!(cost(&store, &update("t", id(1), &version)), (0, 1), "so does a deleted version");
    assert_eq!(cost(&store, &update("t", id(1), &[increment("n", 1)])), (0, 1));
    assert_eq!(cost(&store, &delete("t", id(1))), (0, 1));
    assert_eq!(cost(&store, &expecting(Existence::ExpectNotExist, delete("t", id(1)))), (1, 1));
    assert_eq!(cost(&store, &put("t", id(1), &[cell("a", text(&value[..4322 - 4096]))])), (0, 1));
    let documented = "x".repeat(4322 - 11);
    assert_eq!(cost(&store, &put("t", id(1), &[cell("a", text(&documented))])), (0, 2), "4322 bytes");
    let again = expecting(Existence::ExpectExist, put("t", id(1), &[cell("a", text(&documented))]));
    assert_eq!(cost(&store, &again), (1, 2));
}

#[test]
fn c1_versions_add_nothing_but_each_counts_its_name() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), ..NONE });
    // 2 + 8 bytes of the key; 1 + 2043 of each version: two are 4098 bytes.
    let value = "x".repeat(2043);
    let versions_of = |count: i64| (0..count).map(|at| cell_at("a", NOW + at, text(&value))).collect::<Vec<_>>();
    assert_eq!(cost(&store, &put("t", id(1), &versions_of(1))), (0, 1));
    assert_eq!(cost(&store, &put("t", id(1), &versions_of(2))), (0, 2), "4098 bytes");
    assert_eq!(get_cost(&store, id(1), versions(1)).ok(), Some(1));
    assert_eq!(get_cost(&store, id(1), versions(9)).ok(), Some(2));
    let value = "x".repeat(2042);
    assert_eq!(
        cost(&store, &put("t", id(1), &[cell_at("a", NOW, text(&value)), cell_at("a", 1 + NOW, text(&value))])),
        (0, 1)
    );
    assert_eq!(get_cost(&store, id(1), versions(9)).ok(), Some(1), "4096 bytes");
}

#[test]
fn c1_rows_of_batches_are_rounded_one_by_one() {
    let store = Store::with_table(NONE);
    let (big, whole) = ("x".repeat(5000 - 11), "x".repeat(4096));
    let writes = [
        put("t", id(1), &[cell("a", text(&big))]),
        put("t", id(2), &[cell("a", int(1))]),
        expecting(Existence::ExpectNotExist, put("t", id(3), &[cell("a", text(&whole)), cell("b", text(&whole))])),
        expecting(Existence::ExpectExist, update("t", id(4), &[add("a", None, 1)])),
        expecting(Existence::ExpectNotExist, delete("t", id(5))),
        update("no", id(1), &[add("a", None, 1)]),
        delete("t", key(&[("x", int(1))])),
    ];
    let rows = store.env.run(store.instance.batch_write_row(&writes, None)).expect("written");
    let consumed = rows.into_iter().map(|row| match row {
        Ok(written) => (written.consumed.read, written.consumed.write),
        Err(failure) => (failure.consumed.read, failure.consumed.write),
    });
    let expected = [(0, 2), (0, 1), (1, 3), (1, 1), (1, 1), (0, 1), (0, 1)];
    assert_eq!(consumed.collect::<Vec<_>>(), expected);
    let read = |table, keys| TableRead { table: TableName::parse(table).expect("a name"), keys, options: versions(1) };
    let tables = [read("t", vec![id(1), id(2), key(&[("x", int(1))])]), read("no", vec![id(1), id(2)])];
    let mut sinks = [Rows::default(), Rows::default()];
    let read = store.env.run(store.instance.batch_get_row(&tables, &mut sinks)).expect("read");
    let consumed = read.into_iter().flatten().map(|row| match row {
        Ok(found) => found.consumed.read,
        Err(failure) => failure.consumed.read,
    });
    assert_eq!(consumed.collect::<Vec<_>>(), [2, 1, 1, 1, 1]);
}

#[test]
fn c4_a_batch_that_is_refused_as_a_whole_costs_nothing() {
    let store = Store::with_table(NONE);
    assert_eq!(charged(store.env.run(store.instance.batch_write_row(&[], None))), (0, 0));
    let twice = expecting(Existence::ExpectExist, put("t", id(1), &[]));
    assert_eq!(charged(store.env.run(store.instance.batch_write_row(&[twice.clone(), twice], None))), (0, 0));
    let mut none: [Rows; 0] = [];
    assert_eq!(charged(store.env.run(store.instance.batch_get_row(&[], &mut none))), (0, 0));
}

#[test]
fn c1_the_longest_key_is_two_units() {
    let store = Store::new();
    let names = ["a", "b", "c", "d"].map(|name| name.repeat(255));
    let value = "x".repeat(1024);
    let columns = [0, 1, 2, 3].map(|n| (names[n].as_str(), KeyType::String));
    store.create("t", &columns, NONE);
    let longest = key(&[0, 1, 2, 3].map(|n| (names[n].as_str(), text(&value))));
    assert_eq!(cost(&store, &put("t", longest.clone(), &[])), (0, 2));
    assert_eq!(cost(&store, &expecting(Existence::ExpectExist, delete("t", longest))), (2, 2));
}

#[test]
fn c4_refused_operations_cost_a_unit_of_their_kind() {
    let store = Store::with_table(OptionsChange { allow_update: Some(false), ..NONE });
    let changes = [add("a", None, 1)];
    assert_eq!(charged(store.write(&put("no", id(1), &[]))), (0, 1));
    assert_eq!(charged(store.write(&update("no", id(1), &changes))), (0, 1));
    assert_eq!(charged(store.write(&delete("no", id(1)))), (0, 1));
    let wrong = key(&[("x", int(1))]);
    assert_eq!(charged(store.write(&put("t", wrong.clone(), &[]))), (0, 1));
    assert_eq!(charged(store.write(&delete("t", wrong.clone()))), (0, 1));
    assert_eq!(charged(store.write(&update("t", wrong.clone(), &changes))), (1, 1));
    assert_eq!(charged(store.write(&update("t", id(1), &changes))), (1, 1), "updates are not allowed");
    assert_eq!(charged(get_cost(&store, wrong, versions(1))), (1, 0));
    let missing = GetRange { ..range("no", Direction::Forward) };
    assert_eq!(charged(store.env.run(store.instance.get_range(&missing, &mut Rows::default()))), (1, 0));
    let empty = GetRange { start: id(1), end: id(1), ..range("t", Direction::Forward) };
    assert_eq!(charged(store.env.run(store.instance.get_range(&empty, &mut Rows::default()))), (1, 0));
    assert_eq!(charged(get_cost(&store, key(&[("id", ValueRef::Boolean(true))]), versions(1))), (1, 0));
    assert_eq!(charged(store.write(&expecting(Existence::ExpectExist, put("t", id(1), &[])))), (1, 1));
    store.env.run(store.instance.close());
    assert_eq!(charged(store.write(&put("t", id(1), &[]))), (0, 0), "a fault of the service costs nothing");
}

/// V9: the documents' example, weighed where it is stored; hidden and expired data costs nothing.
#[test]
fn v9_metered_storage_of_the_documents_example_in_a_table() {
    let weigh = |store: &Store| store.env.run(store.instance.compute_storage("t")).expect("weighed");
    let store = Store::new();
    let options = OptionsChange { max_versions: Some(2), time_to_live: Some(2_592_000), ..OptionsChange::default() };
    store.create("t", &[("ID", KeyType::Integer)], options);
    let comments = ["a".repeat(100), "b".repeat(150)];
    let key = || key(&[("ID", int(1))]);
    store.put(key(), &[cell("Name", text("zhangsan")), cell("Length", int(20)), cell("Comments", text("hidden soon"))]);
    for comment in &comments {
        store.update(key(), &[change("Comments", ColumnOp::Put { version: None, value: text(comment) })]);
    }
    assert_eq!(weigh(&store), Stored { rows: 1, bytes: 334 });
    let plain = OptionsChange { max_versions: Some(1), time_to_live: Some(-1), ..OptionsChange::default() };
    store.set_options("t", plain);
    assert_eq!(weigh(&store).bytes, 194);
    store.set_options("t", options);
    store.env.set_now(NOW + 2_592_001_000);
    assert_eq!(weigh(&store), Stored::default());
    assert!(store.env.run(store.instance.compute_storage("nowhere")).is_err());
}
