//! Tables: created, listed, described, changed, deleted (T1 to T7, I3, I4).

use crate::store::*;
use std::rc::Rc;
use tabstore::Result;
use tabstore::model::{InstanceKind, KeyColumn, KeyType, Limits, ReservedThroughput, TableName, TableOptions};
use tabstore::storage::faults::Counts;
use tabstore::tablestore::{CreateTable, GetRow, InstanceOptions, OptionsChange, TableDescription, UpdateTable};

const INTEGER: [(&str, KeyType); 1] = [("id", KeyType::Integer)];

fn reserve(store: &Store, read: Option<i64>, write: Option<i64>) -> Result<TableDescription> {
    let request =
        UpdateTable { name: "t".into(), reserved_read: read, reserved_write: write, ..UpdateTable::default() };
    store.env.run(store.instance.update_table(request))
}

/// I1: all tables live in an instance; another one knows nothing of them.
#[test]
fn i1_instances_know_nothing_of_each_other() {
    let (mut one, mut other) = (Store::with_table(OptionsChange::default()), Store::new());
    one.put(id(1), &[cell("a", int(1))]);
    assert_eq!(other.instance.list_table(), Vec::<String>::new());
    other.create("t", &INTEGER, OptionsChange { max_versions: Some(7), ..OptionsChange::default() });
    for reopened in [false, true] {
        if reopened {
            one.reopen();
            other.reopen();
        }
        assert_eq!((one.ids(), other.ids()), (vec![1], vec![]));
        let versions = |store: &Store| store.instance.describe_table("t").expect("there").options.max_versions;
        assert_eq!((versions(&one), versions(&other)), (1, 7));
    }
    other.env.run(other.instance.delete_table("t")).expect("deleted");
    assert_eq!(one.ids(), [1]);
}

#[test]
fn t1_tables_are_created_listed_described_and_deleted() {
    let mut store = Store::new();
    let key = [("a", KeyType::String), ("b", KeyType::Integer), ("c", KeyType::Binary), ("d", KeyType::String)];
    let options = OptionsChange { time_to_live: Some(86_400), max_versions: Some(5), ..OptionsChange::default() };
    store.create("wide", &key, options);
    store.create("Wide", &INTEGER, OptionsChange::default());
    for reopened in [false, true] {
        if reopened {
            store.reopen();
        }
        assert_eq!(store.instance.list_table(), ["Wide", "wide"], "names are case-sensitive (T2)");
        let wide = store.instance.describe_table("wide").expect("there");
        assert_eq!(wide.name, "wide");
        let described = wide.schema.key().iter().map(|c| (c.name.as_str(), c.key_type)).collect::<Vec<_>>();
        assert_eq!(described, key);
        let defaults = TableOptions::default();
        assert_eq!(wide.options, TableOptions { time_to_live: 86_400, max_versions: 5, ..defaults });
        assert_eq!((wide.created, wide.last_increase, wide.last_decrease), (NOW, None, None));
        assert_eq!(store.instance.describe_table("Wide").expect("there").options, defaults, "T4: all may be omitted");
    }
    store.env.run(store.instance.delete_table("wide")).expect("deleted");
    let missing = "OTSObjectNotExist: Requested table does not exist.";
    assert_eq!(refused(store.instance.describe_table("wide")), missing);
    assert_eq!(refused(store.env.run(store.instance.delete_table("wide"))), missing);
    store.reopen();
    assert_eq!(store.instance.list_table(), ["Wide"]);
}

#[test]
fn t1_a_deleted_tables_rows_do_not_come_back_with_its_name() {
    let mut store = Store::with_table(OptionsChange::default());
    store.put(id(1), &[]);
    store.env.run(store.instance.flush()).expect("flushed");
    store.put(id(2), &[]);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert!(refused(store.write(&put("t", id(3), &[]))).starts_with("OTSObjectNotExist"));
    store.create("t", &INTEGER, OptionsChange::default());
    assert_eq!(store.ids(), [0; 0]);
    store.put(id(4), &[]);
    store.reopen();
    assert_eq!(store.ids(), [4]);
}

#[test]
fn t1_a_table_is_created_once() {
    let store = Store::with_table(OptionsChange::default());
    let exists = "OTSObjectAlreadyExist: Requested table already exists.";
    assert_eq!(refused(store.try_create("t", &INTEGER, OptionsChange::default())), exists);
    let request = || CreateTable {
        name: "two".into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        ..CreateTable::default()
    };
    let both = async {
        let (a, b) = (store.instance.create_table(request()), store.instance.create_table(request()));
        futures_util::future::join(a, b).await
    };
    let (first, second) = store.env.run(both);
    assert!(first.is_ok());
    assert_eq!(refused(second), exists, "the second of two at once");
}

#[test]
fn t2_t3_t4_wrong_tables_are_refused_and_store_nothing() {
    let mut store = Store::new();
    let five = [
        ("a", KeyType::Integer),
        ("b", KeyType::Integer),
        ("c", KeyType::Integer),
        ("d", KeyType::Integer),
        ("e", KeyType::Integer),
    ];
    let none = OptionsChange::default();
    let refusals = [
        (store.try_create("3t", &INTEGER, none), "Invalid table name: '3t'."),
        (store.try_create("", &INTEGER, none), "Invalid table name: ''."),
        (store.try_create("t", &[("#x", KeyType::Integer)], none), "Invalid column name: '#x'."),
        (store.try_create("t", &[], none), "The number of primary key columns must be in range: [1, 4]."),
        (store.try_create("t", &five, none), "The number of primary key columns must be in range: [1, 4]."),
        (store.try_create("t", &[INTEGER[0], INTEGER[0]], none), "Duplicated primary key name: 'id'."),
        (
            store.try_create("t", &INTEGER, OptionsChange { time_to_live: Some(0), ..none }),
            "TimeToLive cannot be 0 or less than -1.",
        ),
        (
            store.try_create("t", &INTEGER, OptionsChange { time_to_live: Some(3600), ..none }),
            "TimeToLive cannot be less than 86400 unless it is -1: 3600.",
        ),
        (
            store.try_create("t", &INTEGER, OptionsChange { max_versions: Some(0), ..none }),
            "The maximum versions cannot be less than or equal to 0",
        ),
        (
            store.try_create("t", &INTEGER, OptionsChange { max_version_offset: Some(0), ..none }),
            "The maximum deviation must be in range [0, INT64_MAX/1000000].",
        ),
    ];
    for (result, message) in refusals {
        assert_eq!(refused(result), format!("OTSParameterInvalid: {message}"));
    }
    store.reopen();
    assert_eq!(store.instance.list_table(), Vec::<String>::new());
}

#[test]
fn i3_an_instance_has_at_most_64_tables_unless_the_quota_is_raised() {
    let store = Store::new();
    for table in 0..64 {
        store.create(&format!("t{table}"), &INTEGER, OptionsChange::default());
    }
    let full = "OTSQuotaExhausted: Number of tables exceeds the quota:64.";
    assert_eq!(refused(store.try_create("t64", &INTEGER, OptionsChange::default())), full);
    let raised = InstanceOptions { limits: Limits { tables: 65, ..Limits::DOCUMENT }, ..InstanceOptions::default() };
    let store = Store::with(raised, store.engine_options.clone());
    for table in 0..65 {
        store.create(&format!("t{table}"), &INTEGER, OptionsChange::default());
    }
}

#[test]
fn t5_options_change_one_or_several_at_once_and_survive() {
    let mut store = Store::with_table(OptionsChange::default());
    store.put(id(1), &[]);
    // The product documents' example: several options in one call.
    let options = OptionsChange {
        time_to_live: Some(-1),
        max_versions: Some(5),
        max_version_offset: Some(86_400),
        allow_update: None,
    };
    store.set_options("t", options);
    store.set_options("t", OptionsChange { allow_update: Some(false), ..OptionsChange::default() });
    store.reopen();
    let expected = TableOptions { time_to_live: -1, max_versions: 5, max_version_offset: 86_400, allow_update: false };
    assert_eq!(store.instance.describe_table("t").expect("there").options, expected);
    assert_eq!(store.ids(), [1], "data stays");
    let wrong = UpdateTable {
        name: "t".into(),
        options: OptionsChange { max_versions: Some(9), time_to_live: Some(5), ..OptionsChange::default() },
        ..UpdateTable::default()
    };
    assert!(refused(store.env.run(store.instance.update_table(wrong))).contains("TimeToLive"));
    assert_eq!(store.instance.describe_table("t").expect("there").options, expected, "all or nothing");
    let nothing = UpdateTable { name: "t".into(), ..UpdateTable::default() };
    let message = "OTSParameterInvalid: No parameter is specified in table options.";
    assert_eq!(refused(store.env.run(store.instance.update_table(nothing))), message);
}

/// T5, V3, V5: a request before an UpdateTable finds the old options, a request after it the new ones.
#[test]
fn t5_v3_v5_rows_are_read_and_written_while_options_change_and_changes_show_at_once() {
    let mut store = Store::with_table(OptionsChange { max_versions: Some(3), ..OptionsChange::default() });
    let old = [cell_at("a", NOW - 3, int(1)), cell_at("a", NOW - 2, int(2)), cell_at("a", NOW - 1, int(3))];
    store.put(id(1), &old);
    let request = UpdateTable {
        name: "t".into(),
        options: OptionsChange { max_versions: Some(2), time_to_live: Some(86_400), ..OptionsChange::default() },
        ..UpdateTable::default()
    };
    let (before, after) = (put("t", id(2), &[]), put("t", id(3), &[]));
    let (first, described, last) = store.env.run(async {
        let writing = store.instance.write_row(&before, None);
        let changing = store.instance.update_table(request);
        futures_util::future::join3(writing, changing, store.instance.write_row(&after, None)).await
    });
    assert!(first.is_ok() && last.is_ok() && described.is_ok());
    let newest_two = ints(&[("a", NOW - 1, 3), ("a", NOW - 2, 2)]);
    assert_eq!((store.all(id(1)), store.ids()), (newest_two.clone(), vec![1, 2, 3]));
    store.reopen();
    assert_eq!(store.all(id(1)), newest_two, "after reopening");
    let more = OptionsChange { max_versions: Some(3), ..OptionsChange::default() };
    store.set_options("t", more);
    let all = ints(&[("a", NOW - 1, 3), ("a", NOW - 2, 2), ("a", NOW - 3, 1)]);
    assert_eq!(store.all(id(1)), all, "nothing has removed them yet");
    store.set_options("t", OptionsChange { max_versions: Some(2), ..OptionsChange::default() });
    store.compact();
    store.set_options("t", more);
    assert_eq!(store.all(id(1)), newest_two, "gone for good");
    // A day later all of it is too old; with a longer time to live it shows again, until it is compacted away.
    store.env.advance(86_401_000);
    assert_eq!((store.all(id(1)), store.ids()), (None, vec![]));
    let live = |seconds| OptionsChange { time_to_live: Some(seconds), ..OptionsChange::default() };
    store.set_options("t", live(3 * 86_400));
    store.reopen();
    assert_eq!((store.all(id(1)), store.ids()), (newest_two, vec![1, 2, 3]));
    store.set_options("t", live(86_400));
    store.compact();
    store.set_options("t", live(-1));
    store.reopen();
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn t6_reserved_throughput_changes_at_most_once_in_two_minutes() {
    let mut store = Store::with_table(OptionsChange::default());
    let too_soon = "OTSTooFrequentReservedThroughputAdjustment: Capacity unit adjustment is too frequent.";
    let raised = reserve(&store, Some(10), Some(5000)).expect("right after creation");
    assert_eq!(raised.throughput, ReservedThroughput { read: 10, write: 5000 });
    assert_eq!((raised.last_increase, raised.last_decrease), (Some(NOW), None));
    store.env.advance(119_999);
    assert_eq!(refused(reserve(&store, Some(5), None)), too_soon);
    store.set_options("t", OptionsChange { max_versions: Some(2), ..OptionsChange::default() });
    store.reopen();
    assert_eq!(refused(reserve(&store, Some(5), None)), too_soon, "a restart does not help");
    store.env.advance(1);
    let lowered = reserve(&store, Some(5), None).expect("two minutes later");
    assert_eq!(lowered.throughput, ReservedThroughput { read: 5, write: 5000 });
    assert_eq!((lowered.last_increase, lowered.last_decrease), (Some(NOW), Some(NOW + 120_000)));
    assert_eq!(refused(reserve(&store, None, Some(4999))), too_soon, "reads and writes share the two minutes");
    reserve(&store, Some(5), Some(5000)).expect("what is set already is no change");
    store.env.advance(120_000);
    for (read, write) in [(6, 4000), (7, 0), (0, 1), (10, 10)] {
        let both = reserve(&store, Some(read), Some(write)).expect("up and down, any number of times");
        assert_eq!((i64::from(both.throughput.read), i64::from(both.throughput.write)), (read, write));
        store.env.advance(120_000);
    }
    let missing = "OTSParameterInvalid: The value of write capacity unit can not be less then 0.";
    assert_eq!(refused(reserve(&store, None, Some(-1))), missing);
    assert_eq!(
        refused(reserve(&store, Some(5001), None)),
        "OTSParameterInvalid: The value of read capacity unit can not be more than 5000: 5001."
    );
    assert!(reserve(&store, Some(0), Some(0)).is_ok(), "down to nothing");
}

#[test]
fn i4_a_capacity_instance_refuses_reserved_throughput() {
    let options = InstanceOptions { kind: InstanceKind::Capacity, ..InstanceOptions::default() };
    let store = Store::with(options, Store::new().engine_options);
    store.create("t", &INTEGER, OptionsChange::default());
    let message = "OTSParameterInvalid: Can not reserve read capacity unit on capacity.";
    assert_eq!(refused(reserve(&store, Some(1), None)), message);
    let key = vec![KeyColumn::new("id", KeyType::Integer)];
    let request = CreateTable { name: "u".into(), key, reserved_write: Some(5), ..CreateTable::default() };
    let message = "OTSParameterInvalid: Can not reserve write capacity unit on capacity.";
    assert_eq!(refused(store.env.run(store.instance.create_table(request))), message);
    assert_eq!(store.instance.list_table(), ["t"]);
    assert!(reserve(&store, Some(0), Some(0)).is_ok(), "none is what it has");
}

#[test]
fn t7_without_allow_update_rows_are_put_and_deleted_but_not_updated() {
    let store = Store::with_table(OptionsChange { allow_update: Some(false), ..OptionsChange::default() });
    let message = "OTSParameterInvalid: Update operation is not allowed in this table";
    assert_eq!(refused(store.write(&update("t", id(1), &[add("a", None, 1)]))), message);
    store.put(id(1), &[cell("a", int(1))]);
    store.write(&delete("t", id(1))).expect("deleted");
    assert_eq!(store.ids(), [0; 0]);
    store.set_options("t", OptionsChange { allow_update: Some(true), ..OptionsChange::default() });
    store.update(id(1), &[add("a", None, 1)]);
}

/// The records that every opening needs are read at once, while the lead is taken. The first row then takes one trip more.
#[test]
fn i1_an_opening_reads_the_catalog_and_the_indexes_in_one_trip() {
    let store = Store::with_table(OptionsChange::default());
    store.create("u", &INTEGER, OptionsChange::default());
    store.put(id(1), &[cell("a", int(1))]);
    store.compact();
    let counts = Rc::new(Counts::default());
    let cold = store.opened_with(Rc::clone(&counts)).expect("opens");
    assert_eq!((cold.list_table().len(), counts.gets.get()), (2, 1));
    let request = GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options: versions(1) };
    let found = store.env.run(cold.get_row(&request, &mut Rows::default())).expect("found");
    assert_eq!((found.row, counts.gets.get()), (true, 2));
}

/// T1: tables whose rows were flushed together share a segment. What a deleted one leaves there is garbage until the rest is
/// compacted.
#[test]
fn t1_a_deleted_table_leaves_garbage_in_shared_segments_until_the_rest_is_compacted() {
    let store = Store::new();
    let noise =
        |row: i64| (0..40).map(|at| format!("{:x}", (row * 7919 + at).wrapping_mul(0x9e37_79b9))).collect::<String>();
    for (table, rows) in [("a", 40), ("b", 100)] {
        store.create(table, &[("id", KeyType::Integer)], OptionsChange::default());
        for row in 0..rows {
            store.write(&put(table, id(row), &[cell("s", text(&noise(row)))])).expect("put");
        }
    }
    store.env.run(store.instance.flush()).expect("flushed");
    // Shares are estimated: some bytes may be off.
    assert!(store.instance.metrics().dead_bytes < 100);
    let bytes = store.instance.metrics().segment_bytes;
    store.env.run(store.instance.delete_table("a")).expect("deleted");
    store.env.run_until_idle();
    let metrics = store.instance.metrics();
    let share = metrics.dead_bytes as f64 / bytes as f64;
    assert!((0.2..0.4).contains(&share), "{} of {bytes}", metrics.dead_bytes);
    store.compact();
    let metrics = store.instance.metrics();
    assert!(metrics.dead_bytes < 100, "{metrics:?}");
}
